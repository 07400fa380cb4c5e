//! When code of its own pays for a run.

use crate::compiler::{self, NotCompiled};
use crate::lanes::LaneSource;
use crate::run::{Fused, Source};
use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use fluxline_core::program::Obstacle;
use fluxline_core::state::State;

/// What the engine spends on a component in a step, s, and what part of it code spares: rough, of
/// machines of the day.
const PER_COMPONENT: f64 = 5e-9;
const SPARED: f64 = 0.5;
/// Following and writing a circuit, and opening what was compiled: below this nothing is spared.
const LEAST_GAIN: f64 = 0.01;
/// What a compiler takes: to begin with, and per statement, s.
const COMPILER_STARTS: f64 = 0.05;
const PER_STATEMENT: f64 = 2e-4;
const PER_STATEMENT_IN_LANES: f64 = 4e-4;
/// Statements that a compiler is asked to take in one function.
pub const MOST_STATEMENTS: usize = 60_000;

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

/// The code of a run of so many steps, or why it has none. With `anyway` it need not pay.
pub fn for_run(
    plan: &Plan,
    registry: &Registry,
    start: &State<f64>,
    steps: u64,
    anyway: bool,
) -> Result<Fused, WhyNot> {
    let components = plan.component_count();
    let gain = steps as f64 * components as f64 * PER_COMPONENT * SPARED;
    if !anyway && gain < LEAST_GAIN {
        return Err(WhyNot::DoesNotPay);
    }
    let source = Source::of(plan, registry, start, true).map_err(WhyNot::NotFollowed)?;
    if source.statements > MOST_STATEMENTS {
        return Err(WhyNot::TooLong(source.statements));
    }
    if !anyway {
        if 2 * source.left_to_engine().len() > components {
            return Err(WhyNot::MostlyEngine);
        }
        let cost = COMPILER_STARTS + PER_STATEMENT * source.statements as f64;
        if gain < cost && compiler::kept(&source.code).is_none() {
            return Err(WhyNot::DoesNotPay);
        }
    }
    source.compile().map_err(WhyNot::NotCompiled)
}

/// What variants side by side spend on a component in a step, s, each; and what code spares of a step,
/// per statement: 63 of 79 ns on a servo of 990 statements, 140 of 195 ns on an open centre of 2,600.
const PER_COMPONENT_IN_LANES: f64 = 5e-9;
const SPARED_PER_STATEMENT: f64 = 5e-11;

/// Whether code for so many variants of so many steps is worth following them.
pub fn may_pay_for_variants(runs: usize, steps: u64, components: usize) -> bool {
    runs as f64 * steps as f64 * components as f64 * PER_COMPONENT_IN_LANES > COMPILER_STARTS
}

/// From how many variants on it is worth compiling, once it is written; none where it is too long.
pub fn pays_from(source: &LaneSource, steps: u64) -> Option<usize> {
    if source.statements > MOST_STATEMENTS {
        return None;
    }
    if compiler::kept(&source.code).is_some() {
        return Some(0);
    }
    let statements = source.statements as f64;
    let cost = COMPILER_STARTS + PER_STATEMENT_IN_LANES * statements;
    Some((cost / (steps as f64 * statements * SPARED_PER_STATEMENT)).ceil() as usize)
}
