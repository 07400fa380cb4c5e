//! The parts of a circuit on threads of one machine, with the bits of a run in one piece.
//!
//! Each part steps by itself and hands its neighbours what they need through mailboxes. Where there
//! are more parts than cores, a thread steps several parts in turn. Now and then all parts stop, look at what they have and tell the first part, which hands rows on to the
//! recorder and decides how to go on. When anything is wrong in any part (a number that is not
//! sound, equations without solution, a component that asks to stop), nothing of that stretch
//! counts: it is repeated in one piece, and so ends as it would have without threads.

use crate::cut::{Cut, figures};
use crate::exchange::{Kind, Neighbours, Rare, Wire};
use crate::mailbox::{Mailbox, Patience};
use crate::rare::RareCut;
use fluxline_core::engine::{self, Exchange};
use fluxline_core::monitor::{Named, Tally, Verdict};
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{
    Divergence, Ended, LOOK_EVERY, Outcome, Progress, record_start, run_on, sound,
};
use fluxline_core::state::{Faults, State};
use fluxline_core::variables::Slot;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

type Box64 = Mailbox<AtomicU64>;

/// How threads behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// So many threads, at most one for each part.
    pub threads: usize,
    /// Keep each thread on a core of its own.
    pub pin: bool,
    /// How often to look for a message before letting others run.
    pub spins: u32,
}

impl Manner {
    /// For so many parts: a thread for each, as far as there are cores. Threads that have to share
    /// cores would wait for each other's turns in every step.
    pub fn of(parts: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Self { threads: parts.min(cores), pin: is_idle(), spins: 300 }
    }
}

/// Whether nobody else is at work on this machine. A thread that must stay on a core where others are
/// gets its turn every few milliseconds, and all parts wait for it.
fn is_idle() -> bool {
    let told = std::fs::read_to_string("/proc/loadavg").ok();
    let load = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    load.is_some_and(|load| load < 0.5)
}

/// A mailbox, and how to wait for it.
struct ThreadWire<'a> {
    mailbox: &'a Box64,
    spins: u32,
    stop: &'a AtomicBool,
}

impl Wire for ThreadWire<'_> {
    #[inline]
    fn post(&mut self, n: u64, numbers: &[f64]) {
        self.mailbox.post(n, |places| numbers.iter().for_each(|&x| places.put(x)));
    }
    #[inline]
    fn take(&mut self, n: u64, numbers: &mut [f64]) {
        let mut patience = Patience::new(self.spins, self.stop);
        self.mailbox.take(
            n,
            || patience.wait(),
            |places| numbers.iter_mut().for_each(|x| *x = places.get()),
        );
    }
}

/// What the first part decides after a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    GoOn = 1,
    Stop = 2,
    Repeat = 3,
}

/// What parts tell each other between stretches.
struct Council<'a> {
    /// Some part cannot go on.
    stop: &'a AtomicBool,
    /// Per part: the number of the last stretch it has finished, times two, plus one when all is well.
    votes: Vec<AtomicU64>,
    /// The number of the last stretch decided on, times four, plus the decision.
    decision: AtomicU64,
    /// Per part: its columns of the rows of this stretch.
    rows: Vec<Mutex<Vec<f64>>>,
    spins: u32,
}

impl Council<'_> {
    fn await_votes(&self, stretch: u64) -> Option<bool> {
        let mut all_is_well = true;
        for vote in &self.votes {
            let mut patience = Patience::new(self.spins, self.stop);
            let vote = loop {
                match vote.load(Ordering::Acquire) {
                    vote if vote >> 1 >= stretch => break vote,
                    _ if !patience.wait() => return None,
                    _ => {}
                }
            };
            all_is_well &= vote & 1 == 1;
        }
        Some(all_is_well)
    }

    fn await_decision(&self, stretch: u64) -> Option<Decision> {
        let mut patience = Patience::new(self.spins, self.stop);
        loop {
            let decision = self.decision.load(Ordering::Acquire);
            if decision >> 2 >= stretch {
                return Some(match decision & 3 {
                    1 => Decision::GoOn,
                    2 => Decision::Stop,
                    _ => Decision::Repeat,
                });
            }
            if !patience.wait() {
                return None;
            }
        }
    }
}

/// Stops the other parts when this one panics, instead of letting them wait for ever.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A part at work.
struct Seat<'a, X> {
    part: usize,
    plan: &'a Plan,
    neighbours: X,
    columns: Vec<(Slot, usize)>,
    state: State<f64>,
    tally: Tally,
    good: (State<f64>, Tally),
    rows: Vec<f64>,
}

/// A thread, with the parts that it steps.
struct Worker<'a, 'c, X> {
    split: &'a Cut,
    council: &'c Council<'c>,
    seats: Vec<Seat<'a, X>>,
    sampling: Sampling,
    step: u64,
    steps: u64,
    stretch: u64,
}

impl<X: Exchange> Worker<'_, '_, X> {
    /// Steps on to the next look, and votes.
    fn advance(&mut self) {
        for seat in &mut self.seats {
            seat.good.0.copy_from(&seat.state);
            seat.good.1.copy_from(&seat.tally);
            seat.rows.clear();
        }
        let end = (self.step + LOOK_EVERY).min(self.steps);
        let mut sample = self.sampling.next(self.step + 1, self.steps);
        while self.step < end {
            let pause = sample.min(end);
            while self.step < pause {
                // All parts of a thread go through each third together: none waits for another.
                for seat in &mut self.seats {
                    engine::part_waves(seat.plan, &mut seat.state, &mut seat.neighbours);
                }
                for Seat { plan, state, tally, neighbours, .. } in &mut self.seats {
                    engine::part_flows(plan, state, tally, neighbours);
                }
                for Seat { plan, state, tally, neighbours, .. } in &mut self.seats {
                    engine::part_end(plan, state, tally, neighbours);
                }
                self.step += 1;
            }
            if self.step == sample {
                for seat in &mut self.seats {
                    seat.rows.extend(seat.columns.iter().map(|(slot, _)| slot.read(&seat.state)));
                }
                sample = self.sampling.next(self.step + 1, self.steps);
            }
        }
        self.stretch += 1;
        for seat in &mut self.seats {
            let is_well = seat.state.faults == Faults::default()
                && seat.rows.iter().all(|x| x.is_finite())
                && self.split.is_sound(seat.part, &seat.state);
            if let Ok(mut rows) = self.council.rows[seat.part].lock() {
                std::mem::swap(&mut *rows, &mut seat.rows);
            }
            self.council.votes[seat.part]
                .store(self.stretch << 1 | u64::from(is_well), Ordering::Release);
        }
    }

    /// Steps until all is done or decided otherwise.
    fn follow(&mut self) {
        while self.step < self.steps {
            self.advance();
            if self.council.await_decision(self.stretch) != Some(Decision::GoOn) {
                return;
            }
        }
    }

    /// The same, for the part that decides.
    fn lead(
        &mut self,
        plan: &Plan,
        columns: &[Vec<(Slot, usize)>],
        recorder: &mut Recorder,
        go_on: &mut dyn FnMut(Progress) -> bool,
    ) -> (Ended, bool) {
        let time_of = |step: u64| plan.start + step as f64 * plan.step;
        let mut row = vec![0.0; recorder.variables.len() + 1];
        while self.step < self.steps {
            let begin = self.step;
            self.advance();
            let decide = |decision: Decision| {
                let word = self.stretch << 2 | decision as u64;
                self.council.decision.store(word, Ordering::Release);
            };
            match self.council.await_votes(self.stretch) {
                Some(true) => {}
                Some(false) => {
                    decide(Decision::Repeat);
                    return (Ended::Done, true);
                }
                // Another part panics; so shall this one, when it is joined.
                None => return (Ended::Done, false),
            }
            let mut taken = 0;
            let mut sample = self.sampling.next(begin + 1, self.steps);
            while sample <= self.step {
                row[0] = time_of(sample);
                for (rows, columns) in self.council.rows.iter().zip(columns) {
                    if let Ok(rows) = rows.lock() {
                        let own = rows[taken * columns.len()..].iter();
                        own.zip(columns).for_each(|(x, (_, place))| row[*place] = *x);
                    }
                }
                recorder.take_row(&row);
                taken += 1;
                if sample == self.steps {
                    break;
                }
                sample = self.sampling.next(sample + 1, self.steps);
            }
            let time = time_of(self.step);
            let progress = Progress { step: self.step, steps: self.steps, time };
            if recorder.has_failed() {
                decide(Decision::Stop);
                return (Ended::SinkFailed, false);
            }
            if !go_on(progress) {
                decide(Decision::Stop);
                return (Ended::Interrupted { time }, false);
            }
            decide(Decision::GoOn);
        }
        (Ended::Done, false)
    }
}

impl<X> Seat<'_, X> {
    /// What counts of a part.
    fn hand_over(&self, job: &Job, repeat: bool, whole: &mut State<f64>, tally: &mut Tally) {
        let (state, figures) = match repeat {
            true => (&self.good.0, &self.good.1),
            false => (&self.state, &self.tally),
        };
        job.split.take_in(self.part, state, whole);
        let part = &job.split.parts[self.part];
        tally.take_in(job.plan, &part.plan, &part.kept, figures);
    }
}

/// What is to be run.
struct Job<'a> {
    plan: &'a Plan,
    split: &'a Cut,
    manner: Manner,
    steps: u64,
}

/// Runs a plan in parts from `state` until step `steps`: as [`fluxline_core::run::run`], with the
/// same bits.
#[allow(clippy::too_many_arguments, reason = "as the run in one piece, and the parts")]
pub fn run(
    plan: &Plan,
    split: &Cut,
    manner: Manner,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    watch: bool,
    mut go_on: impl FnMut(Progress) -> bool,
) -> Outcome {
    let mut tally = Tally::new(plan, state, watch);
    record_start(plan, state, steps, recorder);
    let ended = match split.parts.len() {
        0 | 1 => run_on(plan, state, steps, recorder, &mut tally, &mut go_on),
        _ => {
            let job = Job { plan, split, manner, steps };
            let mailboxes: Vec<[Box64; 2]> = (split.links.iter())
                .map(|link| [&link.waves, &link.flows].map(|message| Mailbox::new(message.len())))
                .collect();
            let stop = AtomicBool::new(false);
            let wire = |link: usize, kind: Kind| ThreadWire {
                mailbox: &mailboxes[link][kind as usize],
                spins: manner.spins,
                stop: &stop,
            };
            let neighbours = |part: usize| Neighbours::new(split, part, wire);
            let (mut ended, repeat, seats) =
                crew(&job, &stop, neighbours, state, &tally, recorder, &mut go_on);
            for seat in &seats {
                seat.hand_over(&job, repeat, state, &mut tally);
            }
            if repeat {
                ended = run_on(plan, state, steps, recorder, &mut tally, &mut go_on);
            }
            ended
        }
    };
    Outcome { ended, verdict: Verdict::new(plan, state, &tally) }
}

/// What came of exchanging rarely.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitError {
    /// The worst split line, its parasitic pressure in Pa, and the time, s.
    pub worst: Option<(Named, f64)>,
    /// Lines that were split.
    pub lines: usize,
}

/// Runs a plan in parts that exchange every n-th step. The result depends on the parts and on n, not
/// on the number of threads.
#[allow(clippy::too_many_arguments, reason = "as the run in one piece, and the parts")]
pub fn run_rarely(
    plan: &Plan,
    rare: &RareCut,
    manner: Manner,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    watch: bool,
    mut go_on: impl FnMut(Progress) -> bool,
) -> (Outcome, SplitError) {
    let begun_at = state.step;
    let mut tally = Tally::new(plan, state, watch);
    record_start(plan, state, steps, recorder);
    let job = Job { plan, split: &rare.split, manner, steps };
    let mailboxes: BTreeMap<(usize, usize), Box64> =
        rare.sizes().into_iter().map(|(way, size)| (way, Mailbox::new(size))).collect();
    let stop = AtomicBool::new(false);
    let wire = |from: usize, to: usize| ThreadWire {
        mailbox: &mailboxes[&(from, to)],
        spins: manner.spins,
        stop: &stop,
    };
    let begin = state.clone();
    let neighbours = |part: usize| Rare::new(rare, part, &begin, wire);
    let (mut ended, repeat, seats) =
        crew(&job, &stop, neighbours, state, &tally, recorder, &mut go_on);
    if repeat {
        ended = first_fault(&job, &seats, state);
    }
    let mut error = SplitError { worst: None, lines: rare.lines.len() };
    for mut seat in seats {
        let state_of = if repeat { &mut seat.good.0 } else { &mut seat.state };
        seat.neighbours.restore(state_of);
        seat.hand_over(&job, repeat, state, &mut tally);
        for &(line, value, exchange) in seat.neighbours.split_errors() {
            if value > error.worst.as_ref().map_or(0.0, |(worst, _)| worst.value) {
                let component = plan.name(rare.lines[line].component).to_owned();
                let step = begun_at + exchange * u64::from(rare.every);
                let time = plan.start + step as f64 * plan.step;
                error.worst = Some((Named { component, value }, time));
            }
        }
    }
    (Outcome { ended, verdict: Verdict::new(plan, state, &tally) }, error)
}

/// What went wrong in a stretch of parts that exchange rarely: it cannot be repeated in one piece.
/// The state is left at the last good step.
fn first_fault<X>(job: &Job, seats: &[Seat<'_, X>], state: &State<f64>) -> Ended {
    let plan = job.plan;
    let time_of = |step: u64| plan.start + step as f64 * plan.step;
    let mut bad = state.clone();
    let mut good = state.clone();
    let mut faults: Vec<Faults> = Vec::new();
    for seat in seats {
        job.split.take_in(seat.part, &seat.state, &mut bad);
        job.split.take_in(seat.part, &seat.good.0, &mut good);
        faults.push(seat.state.faults);
    }
    let variables = plan.variables.entries.iter().map(|entry| entry.variables(&plan.variables));
    for (component, variables) in variables.enumerate() {
        let unsound = variables.iter().find(|v| !sound(v.slot.read(&bad)));
        if let Some(variable) = unsound {
            return Ended::Diverged(Divergence {
                component: plan.name(component as u32).to_owned(),
                variable: variable.name.clone(),
                unit: variable.unit,
                value: variable.slot.read(&bad),
                last_value: variable.slot.read(&good),
                time: time_of(bad.step),
                last_good_step: good.step,
                last_good_time: time_of(good.step),
            });
        }
    }
    let first = faults.iter().filter(|fault| fault.unconverged > 0);
    if let Some(first) = first.min_by_key(|fault| (fault.first_step, fault.first_component)) {
        let component = plan.name(first.first_component.saturating_sub(1)).to_owned();
        return Ended::Unconverged { component, time: time_of(first.first_step) };
    }
    let stopped = faults.iter().map(|fault| fault.stop_requested).filter(|&one| one > 0).min();
    let component = plan.name(stopped.unwrap_or(1) - 1).to_owned();
    Ended::Stopped { component, time: time_of(bad.step) }
}

/// Steps all parts until the end or until something happens: how it ended, whether the last stretch
/// is to be repeated, and the parts.
#[allow(clippy::type_complexity, reason = "three things that belong to one run")]
fn crew<'a, X: Exchange + Send>(
    job: &Job<'a>,
    stop: &AtomicBool,
    neighbours: impl Fn(usize) -> X,
    state: &State<f64>,
    tally: &Tally,
    recorder: &mut Recorder,
    go_on: &mut dyn FnMut(Progress) -> bool,
) -> (Ended, bool, Vec<Seat<'a, X>>) {
    let Job { plan, split, manner, steps } = *job;
    let count = split.parts.len();
    let council = Council {
        stop,
        votes: (0..count).map(|_| AtomicU64::new(0)).collect(),
        decision: AtomicU64::new(0),
        rows: (0..count).map(|_| Mutex::new(Vec::new())).collect(),
        spins: manner.spins,
    };
    let columns = split.columns(recorder);
    let cores = match manner.pin {
        true => core_affinity::get_core_ids().unwrap_or_default(),
        false => Vec::new(),
    };
    let sampling = recorder.sampling;
    let seat = |part: usize| {
        let figures = figures(plan, &split.parts[part], tally);
        Seat {
            part,
            plan: &split.parts[part].plan,
            neighbours: neighbours(part),
            columns: columns[part].clone(),
            state: state.clone(),
            good: (state.clone(), figures.clone()),
            tally: figures,
            rows: Vec::new(),
        }
    };
    let threads = manner.threads.clamp(1, count);
    let worker = |thread: usize| Worker {
        split,
        council: &council,
        // Neighbouring parts tend to have neighbouring numbers.
        seats: (thread * count / threads..(thread + 1) * count / threads).map(seat).collect(),
        sampling,
        step: state.step,
        steps,
        stretch: 0,
    };
    let mut first = worker(0);
    let others: Vec<Worker<'a, '_, X>> = (1..threads).map(worker).collect();
    let (ended, repeat, others) = std::thread::scope(|scope| {
        let threads: Vec<_> = (others.into_iter().enumerate())
            .map(|(i, mut worker)| {
                let core = cores.get(i + 1).copied();
                scope.spawn(move || {
                    let _alarm = Alarm(worker.council.stop);
                    if let Some(core) = core {
                        // Where it is refused, the thread runs wherever there is room.
                        core_affinity::set_for_current(core);
                    }
                    worker.follow();
                    worker
                })
            })
            .collect();
        let _alarm = Alarm(stop);
        let (ended, repeat) = first.lead(plan, &columns, recorder, go_on);
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(worker) => worker,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (ended, repeat, threads.into_iter().map(join).collect::<Vec<Worker<'a, '_, X>>>())
    });
    let mut seats = first.seats;
    seats.extend(others.into_iter().flat_map(|worker| worker.seats));
    (ended, repeat, seats)
}
