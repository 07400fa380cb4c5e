//! A run: steps, samples, checks, and an end that is told.

use crate::engine::{self, Offence};
use crate::monitor::{Tally, Verdict};
use crate::plan::Plan;
use crate::recorder::{Recorder, Rows};
use crate::settings::Convention;
use crate::state::State;
use crate::step::are_finite;
use crate::variables::{Location, Variable};

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// At the stop time.
    Done,
    /// Something became infinite or not a number; the state is that of the last good step.
    Diverged(Divergence),
    /// A component's equations have no solution near the last one.
    Unconverged {
        /// Component name.
        component: String,
        /// Time, s.
        time: f64,
    },
    /// A solver of the lumped view found no acceptable step; the state is that of the last good one.
    Failed(SolverFailure),
    /// A component asked to stop.
    Stopped {
        /// Component name.
        component: String,
        /// Time, s.
        time: f64,
    },
    /// The user asked to stop.
    Interrupted {
        /// Time reached, s.
        time: f64,
    },
    /// The recorder's sink failed.
    SinkFailed,
}

/// What diverged, where and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// Component name.
    pub component: String,
    /// Variable name.
    pub variable: String,
    /// Its unit.
    pub unit: &'static str,
    /// Its value.
    pub value: f64,
    /// Its value at the last good step.
    pub last_value: f64,
    /// Time at which it happened, s.
    pub time: f64,
    /// The last good step.
    pub last_good_step: u64,
    /// Time of the last good step, s.
    pub last_good_time: f64,
}

/// Why a solver could not go on.
#[derive(Clone, Debug, PartialEq)]
pub struct SolverFailure {
    /// The solver.
    pub solver: &'static str,
    /// What happened, such as "its error stays too large however short the step".
    pub what: String,
    /// The state that is worst off: its component, its name and its unit.
    pub state: Option<(String, String, &'static str)>,
    /// What is left of its equation, in its unit, and what would have been little enough.
    pub residual: Option<(f64, f64)>,
    /// Where the step that failed began, s.
    pub time: f64,
    /// Its length, s.
    pub step: f64,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Steps taken.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Time reached, s.
    pub time: f64,
}

/// A finished run.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// Its judgement.
    pub verdict: Verdict,
}

/// Steps between looks at the state for numbers that are not sound.
pub const LOOK_EVERY: u64 = 256;

/// Efforts and states beyond this are divergence, whatever the machine.
pub(crate) const BEYOND_PHYSICS: f64 = 1e20;

/// What takes the steps of a run: the engine, or code that does the same.
pub trait Stepper {
    /// Before the first step.
    fn begin(&mut self, plan: &Plan, state: &State<f64>, tally: &Tally);
    /// Of the numbers of the state only these are looked at, but for when it is asked to [settle].
    ///
    /// [settle]: Stepper::settle
    fn look_at(&mut self, _: &[Variable]) {}
    /// Brings all numbers of the state up to date.
    fn settle(&mut self, _: &mut State<f64>) {}
    /// Takes so many steps.
    fn advance(&mut self, plan: &Plan, state: &mut State<f64>, tally: &mut Tally, steps: u64);
    /// The same, with rows of what is looked at on the way.
    fn advance_to_rows(
        &mut self,
        plan: &Plan,
        state: &mut State<f64>,
        tally: &mut Tally,
        rows: &mut Rows<'_>,
    ) {
        row_by_row(self, plan, state, tally, rows);
    }
    /// After the last step: the tally is complete.
    fn end(&mut self, plan: &Plan, tally: &mut Tally);
}

/// Takes the steps up to each row, reads it, and goes on.
pub fn row_by_row<S: Stepper + ?Sized>(
    stepper: &mut S,
    plan: &Plan,
    state: &mut State<f64>,
    tally: &mut Tally,
    rows: &mut Rows<'_>,
) {
    let Some((&rest, stretches)) = rows.stretches().split_last() else { return };
    for (row, &steps) in stretches.iter().enumerate() {
        stepper.advance(plan, state, tally, steps);
        rows.read(row, state);
    }
    if rest > 0 {
        stepper.advance(plan, state, tally, rest);
    }
}

/// Steps by the engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByEngine;

impl Stepper for ByEngine {
    fn begin(&mut self, _: &Plan, _: &State<f64>, _: &Tally) {}
    #[inline(always)]
    fn advance(&mut self, plan: &Plan, state: &mut State<f64>, tally: &mut Tally, steps: u64) {
        engine::steps(plan, state, tally, steps);
    }
    fn end(&mut self, _: &Plan, _: &mut Tally) {}
}

/// Runs from `state` until step `steps`, counted from the start of the circuit's time.
///
/// `go_on` is called now and then and stops the run when it returns false. The step loop itself
/// does not allocate.
pub fn run(
    plan: &Plan,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    watch: bool,
    go_on: impl FnMut(Progress) -> bool,
) -> Outcome {
    run_by(&mut ByEngine, plan, state, steps, recorder, watch, go_on)
}

/// The same with another stepper.
pub fn run_by(
    stepper: &mut impl Stepper,
    plan: &Plan,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    watch: bool,
    mut go_on: impl FnMut(Progress) -> bool,
) -> Outcome {
    let mut tally = Tally::new(plan, state, watch);
    record_start(plan, state, steps, recorder);
    stepper.look_at(&recorder.variables);
    stepper.begin(plan, state, &tally);
    let ended = go_on_by(stepper, plan, state, steps, recorder, &mut tally, &mut go_on);
    stepper.end(plan, &mut tally);
    Outcome { ended, verdict: Verdict::new(plan, state, &tally) }
}

/// Records the state that a run begins with, unless the recorder has something already.
pub fn record_start(plan: &Plan, state: &State<f64>, steps: u64, recorder: &mut Recorder) {
    if recorder.is_empty() && recorder.sampling.next(state.step, steps) == state.step {
        recorder.record(plan.start + state.step as f64 * plan.step, state);
    }
}

/// Carries a run on from a state and its figures.
pub fn run_on(
    plan: &Plan,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    tally: &mut Tally,
    go_on: &mut dyn FnMut(Progress) -> bool,
) -> Ended {
    go_on_by(&mut ByEngine, plan, state, steps, recorder, tally, go_on)
}

fn go_on_by(
    stepper: &mut impl Stepper,
    plan: &Plan,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    tally: &mut Tally,
    go_on: &mut dyn FnMut(Progress) -> bool,
) -> Ended {
    let mut good = state.clone();
    let mut ended = Ended::Done;
    let time_of = |step: u64| plan.start + step as f64 * plan.step;
    let mut samples = recorder.sampling.from(state.step + 1, steps);
    let mut stretches: Vec<u64> = Vec::with_capacity(LOOK_EVERY as usize + 1);
    while state.step < steps {
        good.copy_from(state);
        let end = (state.step + LOOK_EVERY).min(steps);
        let mut is_sound = true;
        while state.step < end && is_sound {
            let begin = state.step;
            stretches.clear();
            let mut upto = begin;
            while samples.at() <= end && upto < end && stretches.len() < recorder.room() {
                stretches.push(samples.at() - upto);
                upto = samples.at();
                samples.go_on();
            }
            stretches.push(if samples.at() > end { end - upto } else { 0 });
            let times = stretches.iter().scan(begin, |step, stretch| {
                *step += stretch;
                Some(time_of(*step))
            });
            is_sound = recorder.record_rows(&stretches, times, |rows| {
                stepper.advance_to_rows(plan, state, tally, rows);
            });
        }
        stepper.settle(state);
        if (!is_sound || !sound_state(state))
            && let Some(divergence) = trace(plan, state, &good, &time_of)
        {
            ended = Ended::Diverged(divergence);
            break;
        }
        // Hopsan goes on whatever is left; such a model is told about it in the end.
        if state.faults.unconverged > 0 && plan.convention == Convention::Fluxline {
            let component = plan.name(state.faults.first_component.saturating_sub(1)).to_owned();
            ended = Ended::Unconverged { component, time: time_of(state.faults.first_step) };
            break;
        }
        if state.faults.stop_requested > 0 {
            let component = plan.name(state.faults.stop_requested - 1).to_owned();
            ended = Ended::Stopped { component, time: time_of(state.step) };
            break;
        }
        if recorder.has_failed() {
            ended = Ended::SinkFailed;
            break;
        }
        if !go_on(Progress { step: state.step, steps, time: time_of(state.step) }) {
            ended = Ended::Interrupted { time: time_of(state.step) };
            break;
        }
    }
    ended
}

/// Whether a number is within anything that machines do.
pub fn sound(x: f64) -> bool {
    x.abs() < BEYOND_PHYSICS
}

/// Whether all of a state is: no number waits for another, as nearly all states are.
pub(crate) fn sound_state(state: &State<f64>) -> bool {
    let bonds = state
        .bonds
        .iter()
        .fold(true, |all, b| all & sound(b.effort) & sound(b.flow) & sound(b.wave));
    let states = state.states.iter().fold(true, |all, &x| all & sound(x));
    bonds & states && are_finite(&state.signals)
}

/// Goes back to the last sound state and repeats step by step to find who went wrong first; leaves
/// the state at the last good step.
pub(crate) fn trace(
    plan: &Plan,
    state: &mut State<f64>,
    good: &State<f64>,
    time_of: &dyn Fn(u64) -> f64,
) -> Option<Divergence> {
    let bad = state.step;
    state.copy_from(good);
    let mut last = good.clone();
    let component_is_sound = |plan: &Plan, state: &State<f64>, component: u32| {
        variables_of(plan, component).iter().all(|v| sound(v.slot.read(state)))
    };
    while state.step < bad {
        last.copy_from(state);
        let begin = time_of(state.step);
        let offence = engine::trace(plan, state, begin, &component_is_sound);
        if let Some(Offence { component, time, .. }) = offence {
            let variables = variables_of(plan, component);
            let culprit =
                variables.iter().find(|v| !sound(v.slot.read(state))).or(variables.first());
            let divergence = Divergence {
                component: plan.name(component).to_owned(),
                variable: culprit.map_or(String::new(), |v| v.name.clone()),
                unit: culprit.map_or("", |v| v.unit),
                value: culprit.map_or(f64::NAN, |v| v.slot.read(state)),
                last_value: culprit.map_or(f64::NAN, |v| v.slot.read(&last)),
                time,
                last_good_step: last.step,
                last_good_time: time_of(last.step),
            };
            state.copy_from(&last);
            return Some(divergence);
        }
    }
    None
}

/// What a component writes: not the inputs, which may be somebody else's fault.
fn variables_of(plan: &Plan, component: u32) -> Vec<Variable> {
    let entry = &plan.variables.entries[component as usize];
    let inputs = &entry.inputs;
    entry
        .variables(&plan.variables)
        .into_iter()
        .filter(|v| !matches!(v.slot.at, Location::Signal(s) if inputs.contains(&s)))
        .collect()
}
