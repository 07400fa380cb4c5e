//! The parts of a circuit on the ranks of an MPI job, with the bits of a run in one piece.
//!
//! Every rank reads the circuit, plans and cuts it, and steps its own part. The first rank gathers
//! rows, figures and the last state. A stretch in which anything goes wrong on any rank is repeated
//! in one piece by the first rank, and so ends as it would have on one machine.

use super::{Ranks, tag};
use crate::cut::{Cut, figures};
use crate::exchange::{Kind, Neighbours, Wire};
use crate::rare::RareCut;
use crate::rarely::{Judged, Rare};
use crate::threads::SplitError;
use fluxline_core::engine::{self, Exchange};
use fluxline_core::monitor::{Tally, Verdict};
use fluxline_core::plan::Plan;
use fluxline_core::recorder::Recorder;
use fluxline_core::run::{Ended, LOOK_EVERY, Outcome, Progress, record_start, run_on};
use fluxline_core::state::{Faults, State};
use fluxline_core::variables::Slot;
/// The way to or from a rank.
struct MpiWire<'a> {
    ranks: &'a Ranks,
    rank: usize,
    tag: i32,
}

impl Wire for MpiWire<'_> {
    fn post(&mut self, _: u64, numbers: &[f64]) {
        self.ranks.send(self.rank, self.tag, numbers);
    }
    fn take(&mut self, _: u64, numbers: &mut [f64]) {
        self.ranks.receive_into(self.rank, self.tag, numbers);
    }
}

/// What the first rank decides after a stretch.
const GO_ON: u8 = 1;
const STOP: u8 = 2;
const REPEAT: u8 = 3;

/// What a run needs on every rank.
struct Job<'a, 'r> {
    ranks: &'a Ranks,
    plan: &'a Plan,
    split: &'a Cut,
    steps: u64,
    recorder: &'a mut Recorder<'r>,
    go_on: &'a mut dyn FnMut(Progress) -> bool,
}

/// Runs a plan on all ranks, one part each. The outcome and the state are those of the whole on the
/// first rank, and of no meaning on the others.
pub fn run(
    ranks: &Ranks,
    plan: &Plan,
    split: &Cut,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    mut go_on: impl FnMut(Progress) -> bool,
) -> Outcome {
    let mut tally = Tally::new(plan, state, true);
    record_start(plan, state, steps, recorder);
    let part = ranks.rank();
    let wire = |link: usize, kind: Kind| {
        let link = &split.links[link];
        let other = if link.from == part { link.to } else { link.from };
        MpiWire { ranks, rank: other, tag: kind as i32 }
    };
    let mut exchange = Neighbours::new(split, part, wire);
    let mut job = Job { ranks, plan, split, steps, recorder, go_on: &mut go_on };
    let (mut ended, repeat) = step_all(&mut job, &mut exchange, state, &mut tally, |_, _| {});
    if repeat && part == 0 {
        ended = run_on(plan, state, steps, recorder, &mut tally, &mut go_on);
    }
    Outcome { ended, verdict: Verdict::new(plan, state, &tally) }
}

/// The same with an exchange every n-th step; see [`crate::threads::run_rarely`].
pub fn run_rarely(
    ranks: &Ranks,
    plan: &Plan,
    rare: &RareCut,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    mut go_on: impl FnMut(Progress) -> bool,
) -> (Outcome, SplitError) {
    let begun_at = state.step;
    let mut tally = Tally::new(plan, state, true);
    record_start(plan, state, steps, recorder);
    let part = ranks.rank();
    let wire = |from: usize, to: usize| {
        let other = if from == part { to } else { from };
        MpiWire { ranks, rank: other, tag: Kind::Flows as i32 }
    };
    let mut exchange = Rare::new(rare, part, state, wire);
    let mut job = Job { ranks, plan, split: &rare.split, steps, recorder, go_on: &mut go_on };
    let mut errors: Vec<f64> = Vec::new();
    let (mut ended, repeat) =
        step_all(&mut job, &mut exchange, state, &mut tally, |x, state| x.restore(state));
    let stepped = begun_at..state.step;
    // Counts of this size are exact as numbers.
    for &Judged { line, worst, step, exchanges } in exchange.judged() {
        errors.extend([line as f64, worst, step as f64, exchanges as f64]);
    }
    if repeat && part == 0 {
        // From the last sound state on in one piece, which tells what is wrong if it is the circuit.
        ended = run_on(plan, state, steps, recorder, &mut tally, &mut go_on);
    }
    let all = ranks.gather(&errors, tag::ERRORS).concat();
    let judged = all.chunks_exact(4).map(|four| Judged {
        line: four[0] as usize,
        worst: four[1],
        step: four[2] as u64,
        exchanges: four[3] as u64,
    });
    let error = SplitError::of(plan, rare, stepped, judged);
    (Outcome { ended, verdict: Verdict::new(plan, state, &tally) }, error)
}

/// Steps the part of this rank to the end, or until something happens. On the first rank the state
/// and figures become those of the whole: of the last step, or of the last good one, when true tells
/// that it is to be repeated.
fn step_all<X: Exchange>(
    job: &mut Job<'_, '_>,
    exchange: &mut X,
    state: &mut State<f64>,
    tally: &mut Tally,
    restore: impl Fn(&X, &mut State<f64>),
) -> (Ended, bool) {
    let Job { ranks, plan, split, steps, .. } = *job;
    let part = ranks.rank();
    let own = &split.parts[part];
    let columns: Vec<Vec<(Slot, usize)>> = split.columns(job.recorder);
    let sampling = job.recorder.sampling;
    let mut mine = figures(plan, own, tally);
    let mut now = state.clone();
    let mut good = (now.clone(), mine.clone());
    let mut rows: Vec<f64> = Vec::new();
    let mut row = vec![0.0; job.recorder.variables.len() + 1];
    let time_of = |step: u64| plan.start + step as f64 * plan.step;
    let mut ended = Ended::Done;
    let mut repeat = false;
    while now.step < steps {
        split.take_in(part, &now, &mut good.0);
        good.1.copy_from(&mine);
        rows.clear();
        let begin = now.step;
        let end = (begin + LOOK_EVERY).min(steps);
        let mut sample = sampling.next(begin + 1, steps);
        while now.step < end {
            engine::part_waves(&own.plan, &mut now, exchange);
            engine::part_flows(&own.plan, &mut now, &mut mine, exchange);
            engine::part_end(&own.plan, &mut now, &mut mine, exchange);
            if now.step == sample {
                rows.extend(columns[part].iter().map(|(slot, _)| slot.read(&now)));
                sample = sampling.next(now.step + 1, steps);
            }
        }
        let is_well = now.faults == Faults::default()
            && rows.iter().all(|x| x.is_finite())
            && split.is_sound(part, &now);
        // Each tells whether it is well, and its rows.
        rows.push(f64::from(u8::from(is_well)));
        let all_rows = ranks.gather(&rows, tag::ROWS);
        let mut decision = GO_ON;
        if part == 0 && all_rows.iter().any(|rows| rows.last() != Some(&1.0)) {
            decision = REPEAT;
        } else if part == 0 {
            let mut taken = 0;
            let mut sample = sampling.next(begin + 1, steps);
            while sample <= now.step {
                row[0] = time_of(sample);
                for (rows, columns) in all_rows.iter().zip(&columns) {
                    let values = rows[taken * columns.len()..].iter();
                    values.zip(columns).for_each(|(x, (_, place))| row[*place] = *x);
                }
                job.recorder.take_row(&row);
                taken += 1;
                if sample == steps {
                    break;
                }
                sample = sampling.next(sample + 1, steps);
            }
            let time = time_of(now.step);
            if job.recorder.has_failed() {
                (ended, decision) = (Ended::SinkFailed, STOP);
            } else if !(job.go_on)(Progress { step: now.step, steps, time }) {
                (ended, decision) = (Ended::Interrupted { time }, STOP);
            }
        }
        match part {
            0 => (1..ranks.count()).for_each(|to| ranks.send(to, tag::DECISION, &[decision])),
            _ => ranks.receive_into(0, tag::DECISION, &mut decision),
        }
        repeat = decision == REPEAT;
        if decision != GO_ON {
            break;
        }
    }
    let (last, last_figures) = if repeat { (&mut good.0, &good.1) } else { (&mut now, &mine) };
    restore(exchange, last);
    let mut numbers = Vec::new();
    split.read_own(part, last, |x| numbers.push(x));
    let all = ranks.gather(&numbers, tag::STATE);
    let figures_of_all = ranks.gather(&last_figures.to_numbers(), tag::FIGURES);
    for (part, (numbers, words)) in all.iter().zip(&figures_of_all).enumerate() {
        let mut numbers = numbers.iter().copied();
        split.write_own(part, state, || numbers.next().unwrap_or(f64::NAN));
        let of = &split.parts[part];
        let mut theirs = figures(plan, of, tally);
        if theirs.from_numbers(words) {
            tally.take_in(plan, &of.plan, &of.kept, &theirs);
        }
    }
    (state.time, state.step) = (last.time, last.step);
    (ended, repeat)
}
