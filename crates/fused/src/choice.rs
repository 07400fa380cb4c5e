//! When code of its own pays for a run.

use crate::alike::{Alike, AlikeSource};
use crate::compiler::{self, Made, NotCompiled};
use crate::lanes::{LaneCode, LaneSource};
use crate::machine;
use crate::run::{Fused as FusedRun, Source};
use fluxline_core::circuit::Registry;
use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
use fluxline_core::program::Obstacle;
use fluxline_core::recorder::Rows;
use fluxline_core::run::Stepper;
use fluxline_core::settings::Fused;
use fluxline_core::state::State;
use fluxline_core::variables::Variable;

/// What the engine spends on a component in a step, s, and what part of it code spares: rough, of
/// machines of the day.
const PER_COMPONENT: f64 = 5e-9;
const SPARED: f64 = 0.5;
/// What part a compiler's code spares beyond that of instructions that are written here.
const SPARED_BY_COMPILER: f64 = 0.05;
/// Following and writing a circuit, and opening what was compiled: below this nothing is spared.
const LEAST_GAIN: f64 = 0.01;
/// What following takes per component, s: of the whole step in one piece, instructions included, and
/// where kinds are followed once. The former is 0.05 to 0.15 ms for most types, and up to 1 ms
/// for valves that are solved by iteration, where code spares more, too.
const FOLLOWING: f64 = 1.25e-4;
const FOLLOWING_KINDS: f64 = 2e-5;
/// What a compiler takes: to begin with, and per statement, s.
const COMPILER_STARTS: f64 = 0.05;
const PER_STATEMENT: f64 = 2e-4;
const PER_STATEMENT_IN_LANES: f64 = 4e-4;
/// Statements that a compiler is asked to take in one function.
pub const MOST_STATEMENTS: usize = 60_000;
/// Statements that a component has at least, in the mean.
const LEAST_STATEMENTS: usize = 20;

/// Why a run has no code of its own.
#[derive(Debug)]
pub enum WhyNot {
    /// It would take longer to compile than it spares.
    DoesNotPay,
    /// The circuit cannot be followed.
    NotFollowed(Vec<Obstacle>),
    /// Too little of it can be.
    MostlyEngine,
    /// It is too long for a compiler.
    TooLong(usize),
    /// It was not compiled.
    NotCompiled(NotCompiled),
}

impl std::fmt::Display for WhyNot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DoesNotPay => f.write_str("it would not pay"),
            Self::NotFollowed(all) => f.write_str(all.first().map_or("", |first| first.why)),
            Self::MostlyEngine => f.write_str("most components cannot be followed"),
            Self::TooLong(count) => write!(f, "{count} statements are too many for a compiler"),
            Self::NotCompiled(why) => why.fmt(f),
        }
    }
}

/// From so many components on it is worth looking for those that are alike.
const MANY: usize = 64;
/// So many units at a time are worth it: one by one they go without memory in between.
const AT_A_TIME: f64 = 3.0;

/// Code of a circuit's own, of either kind.
pub enum OwnCode {
    /// The whole step in one piece.
    Whole(Box<FusedRun>),
    /// Units that are alike side by side.
    Alike(Box<Alike>),
}

impl OwnCode {
    /// What the compiler took; nothing when the code was there.
    pub fn made(&self) -> &Made {
        match self {
            Self::Whole(code) => code.made(),
            Self::Alike(code) => code.made(),
        }
    }

    /// Statements of the code.
    pub fn statements(&self) -> usize {
        match self {
            Self::Whole(code) => code.source().statements(),
            Self::Alike(code) => code.source().statements,
        }
    }

    /// Names of the components that the engine steps.
    pub fn engine_steps<'p>(&self, plan: &'p Plan) -> Vec<&'p str> {
        match self {
            Self::Whole(code) => code.engine_steps(plan),
            Self::Alike(_) => Vec::new(),
        }
    }
}

impl Stepper for OwnCode {
    fn begin(&mut self, plan: &Plan, state: &State<f64>, tally: &Tally) {
        match self {
            Self::Whole(code) => code.begin(plan, state, tally),
            Self::Alike(code) => code.begin(plan, state, tally),
        }
    }
    fn look_at(&mut self, variables: &[Variable]) {
        match self {
            Self::Whole(code) => code.look_at(variables),
            Self::Alike(code) => code.look_at(variables),
        }
    }
    fn settle(&mut self, state: &mut State<f64>) {
        match self {
            Self::Whole(code) => code.settle(state),
            Self::Alike(code) => code.settle(state),
        }
    }
    fn advance(&mut self, plan: &Plan, state: &mut State<f64>, tally: &mut Tally, steps: u64) {
        match self {
            Self::Whole(code) => code.advance(plan, state, tally, steps),
            Self::Alike(code) => code.advance(plan, state, tally, steps),
        }
    }
    fn advance_to_rows(
        &mut self,
        plan: &Plan,
        state: &mut State<f64>,
        tally: &mut Tally,
        rows: &mut Rows<'_>,
    ) {
        match self {
            Self::Whole(code) => code.advance_to_rows(plan, state, tally, rows),
            Self::Alike(code) => code.advance_to_rows(plan, state, tally, rows),
        }
    }
    fn end(&mut self, plan: &Plan, tally: &mut Tally) {
        match self {
            Self::Whole(code) => code.end(plan, tally),
            Self::Alike(code) => code.end(plan, tally),
        }
    }
}

/// What code spares a run, s; everything where it is wanted anyway.
#[derive(Clone, Copy)]
struct Gain(f64);

impl Gain {
    fn of(components: usize, steps: u64, wanted: Fused) -> Self {
        match wanted {
            Fused::Auto => Self(steps as f64 * components as f64 * PER_COMPONENT * SPARED),
            _ => Self(f64::INFINITY),
        }
    }
    /// What a compiler spares beyond instructions that are there.
    fn of_compiler(components: usize, steps: u64, wanted: Fused) -> Self {
        match wanted {
            Fused::Compiled => Self(f64::INFINITY),
            _ => Self(steps as f64 * components as f64 * PER_COMPONENT * SPARED_BY_COMPILER),
        }
    }
    fn pays(self, cost: f64) -> bool {
        self.0 >= cost
    }
    /// Whether it pays to compile a text, for so long a time; nothing where it was compiled before.
    fn pays_for(self, code: &str, compiling: f64) -> bool {
        self.pays(COMPILER_STARTS + compiling) || compiler::is_kept(code)
    }
}

/// The code of a run of so many steps in which units that are alike are stepped side by side; `None`
/// where few are. Where it is more than [`Fused::Auto`] that is wanted, it need not pay. The compiler
/// works while `go_on` says so.
pub fn alike_for_run(
    plan: &Plan,
    registry: &Registry,
    start: &State<f64>,
    steps: u64,
    wanted: Fused,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Alike>, WhyNot> {
    let components = plan.component_count();
    let gain = Gain::of(components, steps, wanted);
    if !gain.pays(LEAST_GAIN) {
        return Err(WhyNot::DoesNotPay);
    }
    if components < MANY || !gain.pays(components as f64 * FOLLOWING_KINDS) {
        return Ok(None);
    }
    let Ok(source) = AlikeSource::of(plan, registry, start, AT_A_TIME) else { return Ok(None) };
    if source.statements > MOST_STATEMENTS {
        return Ok(None);
    }
    if !gain.pays_for(&source.code, PER_STATEMENT_IN_LANES * source.statements as f64) {
        return Err(WhyNot::DoesNotPay);
    }
    source.compile(go_on).map(Some).map_err(WhyNot::NotCompiled)
}

/// The code of a run of so many steps that records `variables`, or why it has none. Where it is more
/// than [`Fused::Auto`] that is wanted, it need not pay. The compiler works while `go_on` says so.
pub fn for_run(
    plan: &Plan,
    registry: &Registry,
    start: &State<f64>,
    variables: &[Variable],
    steps: u64,
    wanted: Fused,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<OwnCode, WhyNot> {
    let can_assemble = machine::is_there(1) && wanted != Fused::Compiled;
    match alike_for_run(plan, registry, start, steps, wanted, go_on) {
        Ok(Some(code)) => return Ok(OwnCode::Alike(Box::new(code))),
        Ok(None) => {}
        Err(why @ WhyNot::NotCompiled(NotCompiled::Interrupted)) => return Err(why),
        // In one piece there is another way.
        Err(_) if can_assemble => {}
        Err(why) => return Err(why),
    }
    let components = plan.component_count();
    let gain = Gain::of(components, steps, wanted);
    if components * LEAST_STATEMENTS > MOST_STATEMENTS {
        return Err(WhyNot::TooLong(components * LEAST_STATEMENTS));
    }
    if !gain.pays(components as f64 * FOLLOWING) {
        return Err(WhyNot::DoesNotPay);
    }
    if can_assemble {
        machine::get_ready();
    }
    let source = Source::of(plan, registry, start, variables, true).map_err(WhyNot::NotFollowed)?;
    let statements = source.statements();
    if statements > MOST_STATEMENTS {
        return Err(WhyNot::TooLong(statements));
    }
    if wanted == Fused::Auto && 2 * source.left_to_engine().len() > components {
        return Err(WhyNot::MostlyEngine);
    }
    let compiling = COMPILER_STARTS + PER_STATEMENT * statements as f64;
    let code = if can_assemble {
        let is_long = Gain::of_compiler(components, steps, wanted).pays(compiling);
        let text = (is_long && compiler::find().is_some()).then(|| source.text(plan));
        match text {
            Some(text) => source.compile(&text, go_on),
            None => source.assemble(plan),
        }
    } else {
        let text = source.text(plan);
        if !gain.pays_for(&text, PER_STATEMENT * statements as f64) {
            return Err(WhyNot::DoesNotPay);
        }
        source.compile(&text, go_on)
    };
    Ok(OwnCode::Whole(Box::new(code.map_err(WhyNot::NotCompiled)?)))
}

/// What variants side by side spend on a component in a step, s, each, and what part code spares.
const PER_COMPONENT_IN_LANES: f64 = 1.4e-9;
const SPARED_IN_LANES: f64 = 0.5;
/// The same per node of a program: 17 of 29 ns on a servo of 1,000 nodes, 20 of 60 ns on an open centre of
/// 2,200; and what a compiler's code spares beyond that of instructions that are written here.
const SPARED_PER_NODE: f64 = 1e-11;
const SPARED_PER_NODE_BY_COMPILER: f64 = 1.5e-12;
/// What instructions take to write, s per node.
const PER_NODE: f64 = 1.5e-6;

/// Whether code for so many variants of so many steps is worth following them.
pub fn may_pay_for_variants(runs: usize, steps: u64, components: usize, lanes: usize) -> bool {
    let each = components as f64 * PER_COMPONENT_IN_LANES * SPARED_IN_LANES;
    let cost = match machine::is_there(lanes) {
        true => components as f64 * FOLLOWING,
        false => COMPILER_STARTS,
    };
    runs as f64 * steps as f64 * each > cost
}

/// From how many variants on it is worth writing or compiling, once it is followed; none where it is too
/// long.
pub fn pays_from(source: &LaneSource, steps: u64) -> Option<usize> {
    if source.nodes() > MOST_STATEMENTS || source.is_mostly_engine() {
        return None;
    }
    let nodes = source.nodes() as f64;
    let cost = match machine::is_there(source.lanes()) {
        true => PER_NODE * nodes,
        false if compiler::is_kept(&source.text().code) => 0.0,
        false => COMPILER_STARTS + PER_STATEMENT_IN_LANES * nodes,
    };
    Some((cost / (steps as f64 * nodes * SPARED_PER_NODE)).ceil() as usize)
}

/// The code of so many variants of so many steps on so many threads.
pub fn for_variants(
    source: LaneSource,
    (runs, steps, threads): (usize, u64, usize),
    wanted: Fused,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<LaneCode, NotCompiled> {
    let nodes = source.nodes() as f64;
    let spared = runs as f64 * steps as f64 * nodes * SPARED_PER_NODE_BY_COMPILER;
    // While the compiler works, all threads wait.
    let is_long = spared > threads as f64 * (COMPILER_STARTS + PER_STATEMENT_IN_LANES * nodes);
    let compiles = match machine::is_there(source.lanes()) {
        true => wanted == Fused::Compiled || is_long && compiler::find().is_some(),
        false => true,
    };
    match compiles {
        true => {
            let text = source.text();
            source.compile(&text, go_on)
        }
        false => source.assemble(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_code_pays_from_as_many_steps_on_as_the_book_says() {
        for components in [5, 50] {
            let pays = |steps: u64, wanted: Fused| {
                Gain::of(components, steps, wanted).pays(components as f64 * FOLLOWING)
            };
            assert!(pays(50_100, Fused::Auto) && !pays(49_900, Fused::Auto));
            assert!(pays(1, Fused::On) && pays(1, Fused::Compiled));
        }
    }
}
