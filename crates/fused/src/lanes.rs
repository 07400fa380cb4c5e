//! Variants of a circuit side by side in compiled code.
//!
//! The code is written once for all variants. Constants in which they differ are loaded, one for each
//! lane; those in which they agree are part of the code, and every variant is compared with them
//! before it is run.

use crate::compiler::{self, By, Made, NotCompiled};
use crate::frame::frame;
use crate::library::{Code, EngineUnit};
use crate::machine;
use crate::script;
use crate::text::{self, Language, Style};
use fluxline_core::circuit::Registry;
use fluxline_core::instructions::Instructions;
use fluxline_core::lanes::{LaneUnit, Width, Widths, are_alike, on_cache_lines};
use fluxline_core::number::Lanes;
use fluxline_core::plan::Plan;
use fluxline_core::program::{
    Array, Known, Layout, Leave, Moment, Obstacle, Part, Program, Wanted, constants, get,
    program_from,
};
use fluxline_core::state::State;
use fluxline_core::trace;
use fluxline_core::variables::Slot;
use std::time::Instant;

/// Paths that are written out in each unit; beyond, both sides are computed and chosen from.
const PATHS: usize = 3;

/// The code of variants, before it is compiled.
pub struct LaneSource {
    plan: Plan,
    program: Program,
    /// Constants of the first variant.
    constants: Vec<f64>,
    lanes: usize,
    /// Numbers that are handed out after every step.
    seen: Vec<u32>,
    /// Numbers that stay what they are at the start, alike in all variants: part of the code.
    known: Known,
    /// Numbers that are the same in all variants at every step, if they are at the start: what follows
    /// from them is computed once for all lanes.
    common: Vec<bool>,
    /// For each unit, what is left to the engine.
    left: Vec<Option<(Part, Moment)>>,
}

/// A text of the code of variants.
pub struct LaneText {
    /// C.
    pub code: String,
    kept: usize,
}

/// Variants of a circuit in compiled code.
pub struct LaneCode {
    plan: Plan,
    code: Code,
    made: Made,
    constants: Vec<f64>,
    parameters: Vec<u32>,
    /// Whether a constant is loaded.
    is_loaded: Vec<bool>,
    known: Known,
    common: Vec<u32>,
    left: Vec<Option<(Part, Moment)>>,
}

impl LaneSource {
    /// Writes the code for variants of `plan` that differ from it in those constants in which it
    /// differs from some of the others. The numbers at `seen` are handed out after every step.
    pub fn of(
        plan: Plan,
        others: &[Plan],
        registry: &Registry,
        lanes: usize,
        seen: &[Slot],
    ) -> Result<Self, Vec<Obstacle>> {
        let not_alike = || vec![Obstacle { component: None, why: "variants differ in kind" }];
        let base = constants(&plan, registry).ok_or_else(not_alike)?;
        let mut differs = vec![false; base.len()];
        for other in others {
            if !are_alike(&plan, other, registry) {
                continue;
            }
            let theirs = constants(other, registry).ok_or_else(not_alike)?;
            if theirs.len() != base.len() {
                return Err(not_alike());
            }
            for (differs, (a, b)) in differs.iter_mut().zip(base.iter().zip(&theirs)) {
                *differs |= a.to_bits() != b.to_bits();
            }
        }
        let wanted =
            Wanted { watch: false, width: trace::Width::Lanes, leave: Leave::Units, paths: PATHS };
        let is_different = |index: u32| differs.get(index as usize) == Some(&true);
        let layout = Layout::of(&plan.initial);
        let alike = others.iter().filter(|other| are_alike(&plan, other, registry));
        let starts: Vec<&State<f64>> = alike.map(|other| &other.initial).collect();
        let start = &plan.initial;
        let bits = |state: &State<f64>, slot: u32| get(state, layout, slot).to_bits();
        let is_common =
            |slot: u32| starts.iter().all(|other| bits(other, slot) == bits(start, slot));
        let (program, known) =
            program_from(&plan, registry, start, wanted, &is_different, &is_common)?;
        let seen: Option<Vec<u32>> =
            seen.iter().map(|slot| program.layout.number_of(slot.at)).collect();
        let not_there = || vec![Obstacle { component: None, why: "a temperature is looked at" }];
        let seen = seen.ok_or_else(not_there)?;
        let count = layout.first(Array::Figures);
        let common = script::common_slots(&program, (0..count).map(is_common).collect());
        let left: Vec<Option<(Part, Moment)>> = program
            .units
            .iter()
            .map(|unit| match unit.tree.is_closed() {
                true => None,
                false => Some((unit.part, program.moments[unit.moment as usize])),
            })
            .collect();
        // The engine of lanes steps components; what meets between them is always followed.
        if left.iter().flatten().any(|(part, _)| !matches!(part, Part::Component { .. })) {
            return Err(program.obstacles);
        }
        Ok(Self { plan, program, constants: base, lanes, seen, known, common, left })
    }

    /// As C. What is the same in all lanes is computed once.
    pub fn text(&self) -> LaneText {
        let style = Style::of(Language::Lanes, &text::no_comment, &self.program);
        let style = Style { seen: &self.seen, common: &self.common, ..style };
        let text = text::write(&self.program, &style);
        let calls_engine = self.left.iter().any(Option::is_some);
        let code = frame(&self.plan, &text, (self.lanes, self.seen.len()), calls_engine);
        LaneText { code, kept: text.kept }
    }

    /// Runs side by side.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Nodes of the program: what writing and compiling it goes with.
    pub fn nodes(&self) -> usize {
        self.program.ops.len()
    }

    /// Components that are left to the engine.
    pub fn left_to_engine(&self) -> &[Obstacle] {
        &self.program.obstacles
    }

    /// Whether most of them are.
    pub(crate) fn is_mostly_engine(&self) -> bool {
        2 * self.program.obstacles.len() > self.plan.component_count()
    }

    /// Has its text compiled while `go_on` says so, or finds what it became before.
    pub fn compile(
        self,
        text: &LaneText,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<LaneCode, NotCompiled> {
        let count = self.program.parameters.len();
        let (made, code) = compiler::make(&text.code, go_on, |library| {
            let (layout, each) = (self.program.layout, (self.lanes, self.seen.len()));
            Code::open(library, layout, text.kept, count, each)
        })?;
        Ok(self.with(code, made))
    }

    /// Writes its instructions, without a compiler.
    pub fn assemble(self) -> Result<LaneCode, NotCompiled> {
        let begin = Instant::now();
        let style = Style::of(Language::Lanes, &text::no_comment, &self.program);
        let script = script::script(
            &self.program,
            &Style { seen: &self.seen, common: &self.common, ..style },
        );
        let (count, each) = (self.program.parameters.len(), (self.lanes, self.seen.len()));
        let code = machine::make(&self.plan, &self.program, &script, count, each)?;
        Ok(self.with(code, Made { took: Some(begin.elapsed()), by: By::Fluxline }))
    }

    fn with(self, code: Code, made: Made) -> LaneCode {
        let mut is_loaded = vec![false; self.constants.len()];
        for &index in &self.program.parameters {
            is_loaded[index as usize] = true;
        }
        let Self { plan, program, constants, known, common, left, .. } = self;
        let common = (0..).zip(&common).filter(|&(_, &is_common)| is_common);
        let common = common.map(|(slot, _)| slot).collect();
        let parameters = program.parameters;
        LaneCode { plan, code, made, constants, parameters, is_loaded, known, common, left }
    }
}

impl LaneCode {
    /// What the compiler took; nothing when the code was there.
    pub fn made(&self) -> &Made {
        &self.made
    }

    /// How many it steps at once.
    pub fn lanes(&self) -> usize {
        self.code.lanes()
    }

    /// Variants that are alike, in the lanes of the code, each with where it begins; `None` when one of
    /// them differs from it in more than what is loaded.
    pub fn run<const N: usize>(
        &self,
        plans: &[&Plan; N],
        starts: &[&State<f64>; N],
        registry: &Registry,
    ) -> Option<LaneRun<'_, N>>
    where
        Widths: Width<N>,
    {
        if self.lanes() != N {
            return None;
        }
        if !are_alike(&self.plan, plans[0], registry) {
            return None;
        }
        debug_assert!(plans.iter().all(|plan| are_alike(plans[0], plan, registry)));
        let mut parameters = on_cache_lines(vec![Lanes([0.0; N]); self.parameters.len()]);
        for (lane, plan) in plans.iter().enumerate() {
            let (start, layout) = (starts[lane], Layout::of(&plan.initial));
            let is_so = |&(slot, bits): &(u32, u64)| get(start, layout, slot).to_bits() == bits;
            let is_common = |&slot: &u32| {
                let [one, other] = [start, starts[0]].map(|state| get(state, layout, slot));
                one.to_bits() == other.to_bits()
            };
            if !self.known.iter().all(is_so) || !self.common.iter().all(is_common) {
                return None;
            }
            let theirs = constants(plan, registry)?;
            let is_same = theirs.len() == self.constants.len()
                && std::iter::zip(&theirs, &self.constants)
                    .zip(&self.is_loaded)
                    .all(|((a, b), is_loaded)| *is_loaded || a.to_bits() == b.to_bits());
            if !is_same {
                return None;
            }
            for (place, &index) in self.parameters.iter().enumerate() {
                parameters[place].0[lane] = theirs[index as usize];
            }
        }
        let kept = on_cache_lines(vec![Lanes([0.0; N]); self.code.kept()]);
        let mut units: Vec<Option<EngineUnit<N>>> = Vec::new();
        if self.left.iter().any(Option::is_some) {
            let instructions = <Widths as Width<N>>::Instructions::all().pop()?;
            for left in &self.left {
                units.push(match *left {
                    Some((Part::Component { phase, group, member, .. }, moment)) => {
                        let place = (phase, group as usize, member as usize);
                        let rate = moment.rate as usize;
                        let unit = LaneUnit::of(plans, registry, instructions, rate, place)?;
                        Some(EngineUnit { unit, moment })
                    }
                    _ => None,
                });
            }
        }
        Some(LaneRun { code: &self.code, parameters, kept, units })
    }
}

/// N variants that are being run.
pub struct LaneRun<'c, const N: usize> {
    code: &'c Code,
    parameters: Vec<Lanes<N>>,
    kept: Vec<Lanes<N>>,
    /// What the engine does, by unit.
    units: Vec<Option<EngineUnit<N>>>,
}

impl<const N: usize> LaneRun<'_, N> {
    /// Before the first step.
    pub fn begin(&mut self, state: &mut State<Lanes<N>>) {
        self.code.prepare(state, &self.parameters, &mut self.kept);
    }

    /// Takes so many steps. What the code was asked for goes to `seen`, after every step all of it.
    ///
    /// # Panics
    ///
    /// When `seen` has not the room for it.
    pub fn advance(&mut self, state: &mut State<Lanes<N>>, steps: u64, seen: &mut [Lanes<N>]) {
        self.code.advance_lanes(&self.units, state, &self.parameters, &self.kept, steps, seen);
    }
}
