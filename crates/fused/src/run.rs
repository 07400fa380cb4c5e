//! Runs stepped by compiled code.

use crate::compiler::{self, By, Made, NotCompiled};
use crate::frame::frame;
use crate::library::Code;
use crate::machine;
use crate::script::{Script, script};
use crate::text::{self, Language, Style};
use fluxline_core::circuit::Registry;
use fluxline_core::monitor::{Figures, Tally};
use fluxline_core::plan::Plan;
use fluxline_core::program::{
    Known, Layout, Leave, Obstacle, Part, Program, Unit, Wanted, get, program_from,
};
use fluxline_core::recorder::{Rows, distinct};
use fluxline_core::run::{ByEngine, Stepper, row_by_row};
use fluxline_core::state::State;
use fluxline_core::trace::Width;
use fluxline_core::variables::{Slot, Variable};
use std::time::Instant;

/// Paths that are written out in each unit; what lies beyond is done by the engine.
const PATHS: usize = 12;

/// A single run's code, before it is compiled.
#[derive(Debug)]
pub struct Source {
    program: Program,
    script: Script,
    watch: bool,
    /// Numbers that stay what they are at the start: they are part of the code.
    known: Known,
    /// What is written to rows, with signs.
    row: Vec<(u32, f64)>,
}

/// Where rows of variables are read from; nowhere when one is in no array that code sees.
fn row_of(variables: &[Variable], layout: Layout) -> Vec<(u32, f64)> {
    let place = |slot: &Slot| Some((layout.number_of(slot.at)?, slot.sign));
    distinct(variables).0.iter().map(place).collect::<Option<_>>().unwrap_or_default()
}

/// Why a circuit has no code: what cannot be followed.
pub type Untraced = Vec<Obstacle>;

impl Source {
    /// Writes the code of a circuit, for runs that begin with `start` and record `variables`; with
    /// `watch` the figures of the verdict are computed, too.
    pub fn of(
        plan: &Plan,
        registry: &Registry,
        start: &State<f64>,
        variables: &[Variable],
        watch: bool,
    ) -> Result<Self, Untraced> {
        let wanted = Wanted { watch, width: Width::One, leave: Leave::Paths, paths: PATHS };
        let (program, known) = program_from(plan, registry, start, wanted, &|_| false, &|_| true)?;
        let row = row_of(variables, program.layout);
        let script = script(&program, &style(&program, &row));
        Ok(Self { program, script, watch, known, row })
    }

    /// Statements.
    pub fn statements(&self) -> usize {
        self.script.lines
    }

    /// As C.
    pub fn text(&self, plan: &Plan) -> String {
        let text = text::print(&self.program, &style(&self.program, &self.row), &self.script);
        let calls_engine = self.program.units.iter().any(|unit| !unit.tree.is_closed());
        frame(plan, &text, (1, 0), calls_engine)
    }

    /// Components, of those in all, that are left to the engine altogether.
    pub fn left_to_engine(&self) -> &[Obstacle] {
        &self.program.obstacles
    }

    /// Of all units, those that are followed and those whose rare paths are left to the engine.
    pub fn followed(&self) -> (usize, usize) {
        let is_whole = |unit: &&Unit| unit.tree.is_closed();
        let open = |unit: &&Unit| !unit.tree.is_closed() && !unit.tree.leaves().is_empty();
        let units = &self.program.units;
        (units.iter().filter(is_whole).count(), units.iter().filter(open).count())
    }

    /// Has its text compiled while `go_on` says so, or finds what it became before.
    pub fn compile(
        self,
        text: &str,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Fused, NotCompiled> {
        let (made, code) = compiler::make(text, go_on, |library| {
            let kept = self.script.kept.len();
            Code::open(library, self.program.layout, kept, 0, (1, self.row.len()))
        })?;
        Ok(self.with(code, made))
    }

    /// Writes its instructions, without a compiler.
    pub fn assemble(self, plan: &Plan) -> Result<Fused, NotCompiled> {
        let begin = Instant::now();
        let code = machine::make(plan, &self.program, &self.script, 0, (1, self.row.len()))?;
        let made = Made { took: Some(begin.elapsed()), by: By::Fluxline };
        Ok(self.with(code, made))
    }

    fn with(self, code: Code, made: Made) -> Fused {
        let kept = vec![0.0; code.kept()];
        let figures = vec![0.0; self.program.layout.figures as usize];
        Fused { source: self, code, made, kept, figures, by_engine: false, has_row: false }
    }
}

/// How a single run that writes rows is written.
fn style<'a>(program: &Program, row: &'a [(u32, f64)]) -> Style<'a> {
    Style { row: Some(row), ..Style::of(Language::C, &text::no_comment, program) }
}

/// A run's code, compiled.
#[derive(Debug)]
pub struct Fused {
    source: Source,
    code: Code,
    made: Made,
    kept: Vec<f64>,
    figures: Vec<f64>,
    /// The run begins with another state than the code was written for.
    by_engine: bool,
    /// The rows of the code are those that are wanted.
    has_row: bool,
}

impl Fused {
    /// What the compiler took; nothing when the code was there.
    pub fn made(&self) -> &Made {
        &self.made
    }

    /// What it was compiled from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    fn steps(
        &mut self,
        plan: &Plan,
        state: &mut State<f64>,
        stretches: &[u64],
        rows: (&mut [f64], usize),
    ) {
        let Source { program, .. } = &self.source;
        let whole = (plan, &program.units[..], &program.moments[..]);
        self.code.advance(whole, state, &mut self.figures, &self.kept, stretches, rows);
    }

    /// Names of the components that the engine steps, each once.
    pub fn engine_steps<'p>(&self, plan: &'p Plan) -> Vec<&'p str> {
        let units = self.source.program.units.iter();
        let mut all: Vec<u32> = units
            .filter(|unit| unit.tree.leaves().is_empty())
            .filter_map(|unit| match unit.part {
                Part::Component { component, .. } => Some(component),
                _ => None,
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|component| plan.name(component)).collect()
    }
}

impl Stepper for Fused {
    fn begin(&mut self, plan: &Plan, state: &State<f64>, tally: &Tally) {
        assert_eq!(tally.enabled, self.source.watch, "code for another kind of run");
        let layout = self.source.program.layout;
        let is_so = |&(slot, bits): &(u32, u64)| get(state, layout, slot).to_bits() == bits;
        self.by_engine = !self.source.known.iter().all(is_so);
        if self.by_engine {
            return;
        }
        self.code.prepare(&mut state.clone(), &[], &mut self.kept);
        if self.source.watch {
            let mut at = 0;
            let figures = &mut self.figures;
            tally.figures(plan).each(|number| {
                figures[at] = *number;
                at += 1;
            });
        }
    }

    fn look_at(&mut self, variables: &[Variable]) {
        let Source { program, row, .. } = &self.source;
        self.has_row = !row.is_empty() && row_of(variables, program.layout) == *row;
    }

    fn advance(&mut self, plan: &Plan, state: &mut State<f64>, tally: &mut Tally, steps: u64) {
        if self.by_engine {
            return ByEngine.advance(plan, state, tally, steps);
        }
        self.steps(plan, state, &[steps], (&mut [], 0));
    }

    fn advance_to_rows(
        &mut self,
        plan: &Plan,
        state: &mut State<f64>,
        tally: &mut Tally,
        rows: &mut Rows<'_>,
    ) {
        if self.by_engine || !self.has_row {
            return row_by_row(self, plan, state, tally, rows);
        }
        let (stretches, width) = (rows.stretches(), rows.width());
        self.steps(plan, state, stretches, (rows.numbers(), width));
    }

    fn end(&mut self, plan: &Plan, tally: &mut Tally) {
        if self.source.watch && !self.by_engine {
            let mut figures: Figures<f64> = Figures::of(plan);
            let mut at = 0;
            figures.each(|number| {
                *number = self.figures[at];
                at += 1;
            });
            tally.take(&figures);
        }
    }
}
