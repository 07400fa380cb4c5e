//! Variable step: the step follows the parasitic pressure (Pollmeier, chapter 3).
//!
//! Steps form a ladder of doublings of the smallest, so that time stays a whole number of smallest
//! steps and constants are computed once per rung. A step whose parasitic pressure exceeds the
//! limit is taken back and repeated with half the step; after a run of quiet steps the step is
//! doubled. With each change the waves are corrected: their sum, and their difference over the
//! impedance, are kept (3.7–3.11). Lines with a true delay keep a history that belongs to one step:
//! they are refused.

use crate::circuit::{Circuit, Registry};
use crate::engine;
use crate::monitor::{Tally, Verdict};
use crate::plan::Plan;
use crate::recorder::Recorder;
use crate::run::{Ended, Outcome, Progress, sound_state, trace};
use crate::state::State;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Place};

/// One plan per step of the ladder, from the smallest up.
pub struct Ladder {
    plans: Vec<Plan>,
    limit: f64,
}

/// What a run with variable step did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepUse {
    /// Steps taken.
    pub taken: u64,
    /// Steps taken back.
    pub rejected: u64,
    /// Smallest step used, s.
    pub smallest: f64,
    /// Largest step used, s.
    pub largest: f64,
    /// Steps at the smallest size whose parasitic pressure stayed above the limit.
    pub above_limit: u64,
}

/// Quiet steps before the step is doubled, and how far below the limit "quiet" is: doubling the
/// step makes the parasitic pressure about four times as large.
const QUIET_STEPS: u32 = 8;
const QUIET: f64 = 0.2;

impl Ladder {
    /// Plans a circuit for all steps between `min_step` and `max_step`.
    pub fn new(circuit: &Circuit, registry: &Registry) -> Result<Self, Diagnostics> {
        let run = &circuit.run;
        let mut problems = Diagnostics::new();
        if run.max_step < run.min_step {
            problems.push(
                Diagnostic::error(
                    Code::BadRunTimes,
                    format!(
                        "max_step ({} s) is smaller than min_step ({} s)",
                        run.max_step, run.min_step
                    ),
                )
                .on(Place::setting("run.max_step"))
                .help("give max_step a larger value"),
            );
            return Err(problems);
        }
        let rungs = (run.max_step / run.min_step).log2().floor() as u32;
        let mut plans: Vec<Plan> = Vec::new();
        for rung in 0..=rungs.min(30) {
            let planned =
                Plan::with_step(circuit, registry, run.min_step * f64::from(1u32 << rung));
            let Some(plan) = planned.plan else {
                return Err(planned.problems);
            };
            if plans.first().is_some_and(|first| first.fingerprint != plan.fingerprint) {
                problems.push(
                    Diagnostic::error(
                        Code::StepTooLarge,
                        "a variable step cannot be used: a line or delay of this circuit is longer than a step and keeps a history",
                    )
                    .on(Place::setting("run.step_control"))
                    .help("use step_control = \"fixed\", or describe short lines by their volume"),
                );
                return Err(problems);
            }
            plans.push(plan);
        }
        Ok(Self { plans, limit: run.parasitic_limit })
    }

    /// The plan with the smallest step: names, start and layout are the same for all.
    pub fn finest(&self) -> &Plan {
        &self.plans[0]
    }

    /// Runs from the start to `stop`; samples are recorded at the first step at or after their time.
    pub fn run(
        &self,
        state: &mut State<f64>,
        stop: f64,
        recorder: &mut Recorder,
        mut go_on: impl FnMut(Progress) -> bool,
    ) -> (Outcome, StepUse) {
        let finest = self.finest();
        let unit = finest.step;
        let ticks = ((stop - finest.start) / unit).round() as u64;
        let mut usage = StepUse { smallest: f64::INFINITY, ..StepUse::default() };
        let mut tally = Tally::new(finest, state, true);
        let (mut before, mut before_tally) = (state.clone(), tally.clone());
        let mut tick = 0u64;
        let mut rung = 0usize;
        let mut quiet = 0;
        let mut ended = Ended::Done;
        recorder.record(finest.start, state);
        let mut sample = recorder.sampling.next(1, ticks);
        while tick < ticks {
            // Never step over the end; rungs are whole numbers of ticks.
            while rung > 0 && tick + (1 << rung) > ticks {
                self.change(rung, rung - 1, state, &mut tally);
                rung -= 1;
            }
            let plan = &self.plans[rung];
            before.copy_from(state);
            before_tally.clone_from(&tally);
            tally.stamp = Some(tick + (1 << rung));
            let begin = finest.start + tick as f64 * unit;
            engine::step_at(plan, state, &mut tally, begin);
            if tally.last_parasitic > self.limit && rung > 0 {
                state.copy_from(&before);
                tally.clone_from(&before_tally);
                self.change(rung, rung - 1, state, &mut tally);
                rung -= 1;
                quiet = 0;
                usage.rejected += 1;
                continue;
            }
            if !sound_state(state) {
                let time_of = |_| begin;
                if let Some(divergence) = trace(plan, state, &before, &time_of) {
                    ended = Ended::Diverged(divergence);
                }
                break;
            }
            usage.above_limit += u64::from(tally.last_parasitic > self.limit);
            tick += 1 << rung;
            usage.taken += 1;
            usage.smallest = usage.smallest.min(plan.step);
            usage.largest = usage.largest.max(plan.step);
            let time = finest.start + tick as f64 * unit;
            if tick >= sample {
                recorder.record(time, state);
                sample = recorder.sampling.next(tick + 1, ticks);
            }
            quiet = if tally.last_parasitic < QUIET * self.limit { quiet + 1 } else { 0 };
            if quiet >= QUIET_STEPS
                && rung + 1 < self.plans.len()
                && tick.is_multiple_of(1 << (rung + 1))
            {
                self.change(rung, rung + 1, state, &mut tally);
                rung += 1;
                quiet = 0;
            }
            if usage.taken.is_multiple_of(256)
                && !go_on(Progress { step: tick, steps: ticks, time })
            {
                ended = Ended::Interrupted { time };
                break;
            }
        }
        // The verdict reads stores with the constants of the finest step.
        self.change(rung, 0, state, &mut tally);
        let mut verdict = Verdict::new(finest, state, &tally);
        verdict.simulated = tick as f64 * unit;
        (Outcome { ended, verdict }, usage)
    }

    fn change(&self, from: usize, to: usize, state: &mut State<f64>, tally: &mut Tally) {
        let (old, new) = (&self.plans[from], &self.plans[to]);
        tally.change_step(old, state, old.step, new.step);
        for (old, new) in self.plans[from].rates.iter().zip(&self.plans[to].rates) {
            for (old, new) in old.c.iter().zip(new.c.iter()) {
                old.change_step(new.as_ref(), state);
            }
        }
    }
}
