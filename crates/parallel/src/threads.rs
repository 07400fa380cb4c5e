//! The parts of a circuit on threads of one machine, with the bits of a run in one piece.
//!
//! Each part steps by itself and hands its neighbours what they need through mailboxes. Where there
//! are more parts than cores, a thread steps several parts in turn. Now and then all parts stop, look
//! at what they have and tell the first part, which hands rows on to the recorder and decides how to
//! go on. When anything is wrong in any part (a number that is not sound, equations without solution,
//! a component that asks to stop), nothing of that stretch counts: it is repeated in one piece, and
//! so ends as it would have without threads.
//!
//! Threads that have to share their cores with other programs wait for each other's turns in every
//! step, and can so be many times slower than one thread. So the first steps are taken by one thread,
//! to know what that takes; when several turn out slower, one goes on with all parts, and several are
//! tried again later. A part has the same bits on any thread.

use crate::cut::{Cut, figures};
use crate::exchange::{Kind, Neighbours, Wire};
use crate::mailbox::{Mailbox, Patience};
use crate::rare::RareCut;
use crate::rarely::{Judged, Rare};
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
use std::time::{Duration, Instant};

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
    /// Whether one thread goes on with all parts while several are slower.
    pub gives_way: bool,
}

impl Manner {
    /// For so many parts: a thread for each, as far as there are cores. Threads that have to share
    /// cores would wait for each other's turns in every step.
    pub fn of(parts: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Self { threads: parts.min(cores), pin: is_idle(), spins: 300, gives_way: true }
    }
}

/// Whether nobody else is at work on this machine. A thread that must stay on a core where others are
/// gets its turn every few milliseconds, and all parts wait for it.
fn is_idle() -> bool {
    busy_elsewhere() == Some(0)
}

/// Cores for threads to stay on, where nobody else is at work.
pub(crate) fn free_cores() -> Vec<core_affinity::CoreId> {
    match is_idle() {
        true => core_affinity::get_core_ids().unwrap_or_default(),
        false => Vec::new(),
    }
}

/// Keeps this thread on a core; where that is refused, it runs wherever there is room.
pub(crate) fn stay_on(core: Option<&core_affinity::CoreId>) {
    if let Some(&core) = core {
        core_affinity::set_for_current(core);
    }
}

/// How many threads of other programs want a core right now: the least of some looks, as many only
/// come and go. `None` where the system does not tell.
pub fn busy_elsewhere() -> Option<usize> {
    let look = || {
        // "0.20 0.18 0.12 3/402 1234": three of 402 want a core, this one included.
        let told = std::fs::read_to_string("/proc/loadavg").ok()?;
        let running: usize = told.split(' ').nth(3)?.split('/').next()?.parse().ok()?;
        Some(running.saturating_sub(1))
    };
    let mut least = look()?;
    for _ in 0..4 {
        if least == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
        least = least.min(look()?);
    }
    Some(least)
}

/// A mailbox, and how to wait for it.
struct ThreadWire<'a> {
    mailbox: &'a Box64,
    spins: u32,
    stop: &'a AtomicBool,
    /// So many waits more in which the core is not handed over, because others keep it for long.
    crowded: u32,
}

/// Waits until a thread tries again to hand its core over.
const CROWDED: u32 = 1000;

impl Wire for ThreadWire<'_> {
    #[inline]
    fn post(&mut self, n: u64, numbers: &[f64]) {
        self.mailbox.post(n, |places| places.put_all(numbers));
    }
    #[inline]
    fn take(&mut self, n: u64, numbers: &mut [f64]) {
        let mut patience = match self.crowded {
            0 => Patience::new(self.spins, self.stop),
            _ => Patience::among_others(self.spins, self.stop),
        };
        self.mailbox.take(n, || patience.wait(), |places| places.get_all(numbers));
        self.crowded = match self.crowded {
            0 if patience.was_away() => CROWDED,
            waits => waits.saturating_sub(1),
        };
    }
}

/// What the first part decides after a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    GoOn = 0,
    Stop = 1,
    Repeat = 2,
    /// One thread goes on with all parts.
    Together = 3,
}

/// What parts tell each other between stretches.
struct Council<'a> {
    /// Some part cannot go on.
    stop: &'a AtomicBool,
    /// Per part: the number of the last stage it has finished, times two, plus one when all is well.
    votes: Vec<AtomicU64>,
    /// The number of the last stage decided on, times four, plus the decision.
    decision: AtomicU64,
    /// Steps of the next stage.
    stage_steps: AtomicU64,
    /// Per part: its columns of the rows of this stretch.
    rows: Vec<Mutex<Vec<f64>>>,
    spins: u32,
}

impl Council<'_> {
    fn await_votes(&self, stage: u64) -> Option<bool> {
        let mut all_is_well = true;
        for vote in &self.votes {
            let mut patience = Patience::new(self.spins, self.stop);
            let vote = loop {
                match vote.load(Ordering::Acquire) {
                    vote if vote >> 1 >= stage => break vote,
                    _ if !patience.wait() => return None,
                    _ => {}
                }
            };
            all_is_well &= vote & 1 == 1;
        }
        Some(all_is_well)
    }

    fn await_decision(&self, stage: u64) -> Option<Decision> {
        let mut patience = Patience::new(self.spins, self.stop);
        loop {
            let decision = self.decision.load(Ordering::Acquire);
            if decision >> 2 >= stage {
                return Some(match decision & 3 {
                    0 => Decision::GoOn,
                    1 => Decision::Stop,
                    2 => Decision::Repeat,
                    _ => Decision::Together,
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
    at: At,
    steps: u64,
}

/// How far the parts are.
#[derive(Clone, Copy)]
struct At {
    step: u64,
    /// Where the stretch begins that may have to be repeated.
    begin: u64,
    /// Number of the last stage. Stretches have one, or several where the pace is watched.
    stage: u64,
}

impl<X: Exchange> Worker<'_, '_, X> {
    /// Where the stretch ends: at the same steps as in one piece.
    fn stretch_end(&self) -> u64 {
        (self.at.begin + LOOK_EVERY).min(self.steps)
    }

    /// Steps on to the end of a stage, and votes.
    fn advance(&mut self) {
        if self.at.step == self.at.begin {
            for seat in &mut self.seats {
                self.split.take_in(seat.part, &seat.state, &mut seat.good.0);
                seat.good.1.copy_from(&seat.tally);
                seat.rows.clear();
            }
        }
        let stage_steps = self.council.stage_steps.load(Ordering::Relaxed);
        let end = (self.at.step + stage_steps).min(self.stretch_end());
        let mut sample = self.sampling.next(self.at.step + 1, self.steps);
        while self.at.step < end {
            let pause = sample.min(end);
            while self.at.step < pause {
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
                self.at.step += 1;
            }
            if self.at.step == sample {
                for seat in &mut self.seats {
                    seat.rows.extend(seat.columns.iter().map(|(slot, _)| slot.read(&seat.state)));
                }
                sample = self.sampling.next(self.at.step + 1, self.steps);
            }
        }
        self.at.stage += 1;
        let is_whole = self.at.step == self.stretch_end();
        for seat in &mut self.seats {
            let mut is_well = true;
            if is_whole {
                is_well = seat.state.faults == Faults::default()
                    && seat.rows.iter().all(|x| x.is_finite())
                    && self.split.is_sound(seat.part, &seat.state);
                if let Ok(mut rows) = self.council.rows[seat.part].lock() {
                    std::mem::swap(&mut *rows, &mut seat.rows);
                }
            }
            self.council.votes[seat.part]
                .store(self.at.stage << 1 | u64::from(is_well), Ordering::Release);
        }
    }

    /// A new stretch begins where the last one ends.
    fn turn_over(&mut self) {
        if self.at.step == self.stretch_end() {
            self.at.begin = self.at.step;
        }
    }

    /// Steps until all is done or decided otherwise.
    fn follow(&mut self) {
        while self.at.step < self.steps {
            self.advance();
            let decision = self.council.await_decision(self.at.stage);
            self.turn_over();
            if decision != Some(Decision::GoOn) {
                return;
            }
        }
    }

    /// The same, for the thread that decides.
    fn lead(
        &mut self,
        plan: &Plan,
        columns: &[Vec<(Slot, usize)>],
        recorder: &mut Recorder,
        pace: &mut Pace,
        go_on: &mut dyn FnMut(Progress) -> bool,
    ) -> Led {
        let time_of = |step: u64| plan.start + step as f64 * plan.step;
        let mut row = vec![0.0; recorder.variables.len() + 1];
        while self.at.step < self.steps {
            let (begun, from) = (Instant::now(), self.at.step);
            self.council.stage_steps.store(pace.stage_steps, Ordering::Relaxed);
            self.advance();
            let stage = self.at.stage;
            let decide = |decision: Decision| {
                self.council.decision.store(stage << 2 | decision as u64, Ordering::Release);
            };
            match self.council.await_votes(stage) {
                Some(true) => {}
                Some(false) => {
                    decide(Decision::Repeat);
                    return Led::Ended(Ended::Done, true);
                }
                // Another part panics; so shall this one, when it is joined.
                None => return Led::Ended(Ended::Done, false),
            }
            let pauses = pace.judge(self.at.step - from, begun.elapsed());
            if self.at.step == self.stretch_end() {
                let mut taken = 0;
                let mut sample = self.sampling.next(self.at.begin + 1, self.steps);
                while sample <= self.at.step {
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
                let time = time_of(self.at.step);
                let progress = Progress { step: self.at.step, steps: self.steps, time };
                if recorder.has_failed() {
                    decide(Decision::Stop);
                    return Led::Ended(Ended::SinkFailed, false);
                }
                if !go_on(progress) {
                    decide(Decision::Stop);
                    return Led::Ended(Ended::Interrupted { time }, false);
                }
            }
            // Followers read it after the decision.
            self.council.stage_steps.store(pace.stage_steps, Ordering::Relaxed);
            decide(if pauses { Decision::Together } else { Decision::GoOn });
            self.turn_over();
            if pauses && self.at.step < self.steps {
                return Led::Paused;
            }
        }
        Led::Ended(Ended::Done, false)
    }
}

/// What came of leading.
enum Led {
    /// How it ended, and whether the last stretch is to be repeated in one piece.
    Ended(Ended, bool),
    /// The parts change hands.
    Paused,
}

/// Whether several threads are faster than one, right now.
struct Pace {
    /// Several at work, or one with all parts.
    is_spread: bool,
    /// Steps until the next look at the clock.
    stage_steps: u64,
    /// What a step takes one thread, s.
    alone: f64,
    /// Stages since the parts changed hands.
    stages: u32,
    /// Stages in a row in which several were slower.
    slow: u32,
    /// Steps that one thread still takes before several are tried again; and how often that has
    /// been in vain.
    left: u64,
    in_vain: u32,
}

impl Pace {
    /// Stages in which the pace is found out, in steps, at most.
    const TRIAL: u64 = 8;
    /// They need not be longer than this, s: a step of a large circuit is.
    const TRIAL_TIME: f64 = 2e-4;
    /// Such stages of one thread in the beginning, after a first step that does not count, because
    /// it touches everything for the first time.
    const TRIALS: u64 = 3;
    /// What threads may be slower before they give way; they are not worth it much earlier.
    const TOLERATED: f64 = 1.03;

    fn new(manner: &Manner, threads: usize) -> Self {
        let gives_way = manner.gives_way && threads > 1;
        Self {
            is_spread: threads > 1 && !gives_way,
            stage_steps: if gives_way { 1 } else { LOOK_EVERY },
            alone: f64::INFINITY,
            stages: 0,
            slow: 0,
            left: if gives_way { 1 + Self::TRIALS * Self::TRIAL } else { u64::MAX },
            in_vain: 0,
        }
    }

    /// After a stage that took so long: whether the parts are to change hands.
    fn judge(&mut self, steps: u64, took: Duration) -> bool {
        let each = took.as_secs_f64() / steps.max(1) as f64;
        self.stages += 1;
        if !self.is_spread {
            if self.left == u64::MAX {
                return false;
            }
            if self.stages > 1 {
                self.alone = self.alone.min(each);
            } else if self.stage_steps == 1 {
                let trial = (Self::TRIAL_TIME / each.max(1e-9)) as u64;
                self.stage_steps = trial.clamp(1, Self::TRIAL);
                self.left = 1 + Self::TRIALS * self.stage_steps;
            }
            self.left = self.left.saturating_sub(steps);
            return self.left == 0;
        }
        if self.alone.is_infinite() {
            return false;
        }
        // Threads have to begin first.
        if self.stages == 1 {
            return false;
        }
        if each > Self::TOLERATED * self.alone {
            self.slow += 1;
            self.stage_steps = Self::TRIAL;
            return self.slow >= 3;
        }
        (self.slow, self.stage_steps) = (0, (2 * self.stage_steps).min(LOOK_EVERY));
        if self.stage_steps == LOOK_EVERY {
            self.in_vain = 0;
        }
        false
    }

    /// The parts change hands.
    fn change(&mut self) {
        (self.stages, self.slow) = (0, 0);
        if self.is_spread {
            // Ever longer, so that trying costs little.
            self.left = (16 * LOOK_EVERY) << self.in_vain.min(8);
            self.in_vain += 1;
            (self.stage_steps, self.alone) = (LOOK_EVERY, f64::INFINITY);
        } else {
            self.stage_steps = Self::TRIAL;
        }
        self.is_spread = !self.is_spread;
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
                crowded: 0,
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
    /// How often the ends of a line have exchanged, over all lines.
    pub exchanges: u64,
    /// How often they would have with an exchange in every step.
    pub every_step: u64,
}

impl SplitError {
    /// Of split lines of a run that began at a step and has come to another one.
    pub(crate) fn of(
        plan: &Plan,
        rare: &RareCut,
        steps: std::ops::Range<u64>,
        judged: impl Iterator<Item = Judged>,
    ) -> Self {
        let every_step = rare.lines.len() as u64 * steps.end.saturating_sub(steps.start);
        let mut error = Self { worst: None, lines: rare.lines.len(), exchanges: 0, every_step };
        for Judged { line, worst: value, step, exchanges } in judged {
            error.exchanges += exchanges;
            if value > error.worst.as_ref().map_or(0.0, |(worst, _)| worst.value) {
                let component = plan.name(rare.lines[line].component).to_owned();
                let time = plan.start + (steps.start + step) as f64 * plan.step;
                error.worst = Some((Named { component, value }, time));
            }
        }
        error
    }
}

/// Runs a plan in parts that exchange every n-th step where that is good enough. The result depends on the parts and on n, not
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
        crowded: 0,
    };
    let begin = state.clone();
    let neighbours = |part: usize| Rare::new(rare, part, &begin, wire);
    let (mut ended, repeat, seats) =
        crew(&job, &stop, neighbours, state, &tally, recorder, &mut go_on);
    if repeat {
        ended = first_fault(&job, &seats, state);
    }
    let mut judged = Vec::new();
    for mut seat in seats {
        let state_of = if repeat { &mut seat.good.0 } else { &mut seat.state };
        seat.neighbours.restore(state_of);
        seat.hand_over(&job, repeat, state, &mut tally);
        judged.extend_from_slice(seat.neighbours.judged());
    }
    let error = SplitError::of(plan, rare, begun_at..state.step, judged.into_iter());
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
        stage_steps: AtomicU64::new(LOOK_EVERY),
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
    let mut seats: Vec<Seat<'a, X>> = (0..count).map(seat).collect();
    let threads = manner.threads.clamp(1, count);
    let mut pace = Pace::new(&manner, threads);
    let mut at = At { step: state.step, begin: state.step, stage: 0 };
    loop {
        let threads = if pace.is_spread { threads } else { 1 };
        council.stage_steps.store(pace.stage_steps, Ordering::Relaxed);
        let mut left = seats.into_iter();
        // Neighbouring parts tend to have neighbouring numbers.
        let mut workers: Vec<Worker<'a, '_, X>> = (0..threads)
            .map(|thread| Worker {
                split,
                council: &council,
                seats: {
                    let own = (thread + 1) * count / threads - thread * count / threads;
                    left.by_ref().take(own).collect()
                },
                sampling,
                at,
                steps,
            })
            .collect();
        let mut first = workers.remove(0);
        let (led, others) = std::thread::scope(|scope| {
            let threads: Vec<_> = (workers.into_iter().enumerate())
                .map(|(i, mut worker)| {
                    let core = cores.get(i + 1).copied();
                    scope.spawn(move || {
                        let _alarm = Alarm(worker.council.stop);
                        stay_on(core.as_ref());
                        worker.follow();
                        worker
                    })
                })
                .collect();
            let _alarm = Alarm(stop);
            let led = first.lead(plan, &columns, recorder, &mut pace, go_on);
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(worker) => worker,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            (led, threads.into_iter().map(join).collect::<Vec<Worker<'a, '_, X>>>())
        });
        at = first.at;
        seats = first.seats;
        seats.extend(others.into_iter().flat_map(|worker| worker.seats));
        match led {
            Led::Ended(ended, repeat) => return (ended, repeat, seats),
            Led::Paused => pace.change(),
        }
    }
}
