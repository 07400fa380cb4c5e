//! The parts of a circuit on threads of one machine, with the bits of a run in one piece.
//!
//! Each part steps by itself and hands its neighbours what they need through mailboxes. Where there
//! are more parts than cores, a thread steps several parts in turn. Now and then all parts stop, look at what they have and tell the first part, which hands rows on to the
//! recorder and decides how to go on. When anything is wrong in any part (a number that is not
//! sound, equations without solution, a component that asks to stop), nothing of that stretch
//! counts: it is repeated in one piece, and so ends as it would have without threads.

use crate::mailbox::{Mailbox, Patience};
use crate::split::{Link, Message, Split, figures};
use fluxline_core::engine::{self, Border, Exchange};
use fluxline_core::monitor::{Tally, Verdict};
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{Ended, LOOK_EVERY, Outcome, Progress, record_start, run_on};
use fluxline_core::state::{Faults, State};
use fluxline_core::variables::Slot;
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
        Self { threads: parts.min(cores), pin: true, spins: 300 }
    }
}

/// A link and its mailboxes.
struct Line {
    waves: Option<Box64>,
    flows: Option<Box64>,
}

impl Line {
    fn new(link: &Link) -> Self {
        let mailbox =
            |message: &Message| (!message.is_empty()).then(|| Mailbox::new(message.len()));
        Self { waves: mailbox(&link.waves), flows: mailbox(&link.flows) }
    }
}

/// A message and its mailbox.
type Route<'a> = (&'a Message, &'a Box64);

/// What a part exchanges with its neighbours.
struct Neighbours<'a> {
    border: Border,
    /// Number of the step, from 1.
    step: u64,
    waves: (Vec<Route<'a>>, Vec<Route<'a>>),
    flows: (Vec<Route<'a>>, Vec<Route<'a>>),
    spins: u32,
    stop: &'a AtomicBool,
}

impl<'a> Neighbours<'a> {
    fn new(
        split: &'a Split,
        lines: &'a [Line],
        part: usize,
        spins: u32,
        stop: &'a AtomicBool,
    ) -> Self {
        fn routes<'a>(
            split: &'a Split,
            lines: &'a [Line],
            belongs: impl Fn(&Link) -> bool,
            pick: impl Fn(&'a Link, &'a Line) -> (&'a Message, &'a Option<Box64>),
        ) -> Vec<Route<'a>> {
            let both = split.links.iter().zip(lines).filter(|(link, _)| belongs(link));
            let picked = both.map(|(link, line)| pick(link, line));
            picked.filter_map(|(message, mailbox)| Some((message, mailbox.as_ref()?))).collect()
        }
        let sent = |link: &Link| link.from == part;
        let received = |link: &Link| link.to == part;
        let waves = |link: &'a Link, line: &'a Line| (&link.waves, &line.waves);
        let flows = |link: &'a Link, line: &'a Line| (&link.flows, &line.flows);
        Self {
            border: split.parts[part].border,
            step: 0,
            waves: (routes(split, lines, sent, waves), routes(split, lines, received, waves)),
            flows: (routes(split, lines, sent, flows), routes(split, lines, received, flows)),
            spins,
            stop,
        }
    }

    #[inline]
    fn post(routes: &[Route], step: u64, state: &State<f64>) {
        for (message, mailbox) in routes {
            mailbox.post(step, |places| message.read(state, |x| places.put(x)));
        }
    }

    #[inline]
    fn take(&self, routes: &[Route], state: &mut State<f64>) {
        for (message, mailbox) in routes {
            let mut patience = Patience::new(self.spins, self.stop);
            // When another part has failed, what is computed from here on does not count.
            mailbox.take(
                self.step,
                || patience.wait(),
                |places| message.write(state, || places.get()),
            );
        }
    }
}

impl Exchange for Neighbours<'_> {
    fn border(&self) -> Border {
        self.border
    }
    #[inline]
    fn post_waves(&mut self, state: &State<f64>) {
        self.step += 1;
        Self::post(&self.waves.0, self.step, state);
    }
    #[inline]
    fn take_waves(&mut self, state: &mut State<f64>) {
        self.take(&self.waves.1, state);
    }
    #[inline]
    fn post_flows(&mut self, state: &State<f64>) {
        Self::post(&self.flows.0, self.step, state);
    }
    #[inline]
    fn take_flows(&mut self, state: &mut State<f64>) {
        self.take(&self.flows.1, state);
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
struct Council {
    /// Some part cannot go on.
    stop: AtomicBool,
    /// Per part: the number of the last stretch it has finished, times two, plus one when all is well.
    votes: Vec<AtomicU64>,
    /// The number of the last stretch decided on, times four, plus the decision.
    decision: AtomicU64,
    /// Per part: its columns of the rows of this stretch.
    rows: Vec<Mutex<Vec<f64>>>,
    spins: u32,
}

impl Council {
    fn await_votes(&self, stretch: u64) -> Option<bool> {
        let mut all_is_well = true;
        for vote in &self.votes {
            let mut patience = Patience::new(self.spins, &self.stop);
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
        let mut patience = Patience::new(self.spins, &self.stop);
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
struct Seat<'a> {
    part: usize,
    plan: &'a Plan,
    neighbours: Neighbours<'a>,
    columns: &'a [(Slot, usize)],
    state: State<f64>,
    tally: Tally,
    good: (State<f64>, Tally),
    rows: Vec<f64>,
}

/// A thread, with the parts that it steps.
struct Worker<'a> {
    split: &'a Split,
    council: &'a Council,
    seats: Vec<Seat<'a>>,
    sampling: Sampling,
    step: u64,
    steps: u64,
    stretch: u64,
}

impl Worker<'_> {
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

    /// What counts of its parts.
    fn hand_over(&self, repeat: bool, plan: &Plan, whole: &mut State<f64>, tally: &mut Tally) {
        for seat in &self.seats {
            let (state, figures) = match repeat {
                true => (&seat.good.0, &seat.good.1),
                false => (&seat.state, &seat.tally),
            };
            self.split.take_in(seat.part, state, whole);
            let part = &self.split.parts[seat.part];
            tally.take_in(plan, &part.plan, &part.kept, figures);
        }
    }
}

/// Runs a plan in parts, one thread each, from `state` until step `steps`: as
/// [`fluxline_core::run::run`], with the same bits.
pub fn run(
    plan: &Plan,
    split: &Split,
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
        _ => in_parts(plan, split, manner, state, steps, recorder, &mut tally, &mut go_on),
    };
    Outcome { ended, verdict: Verdict::new(plan, state, &tally) }
}

#[allow(clippy::too_many_arguments, reason = "as the run that it is a part of")]
fn in_parts(
    plan: &Plan,
    split: &Split,
    manner: Manner,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    tally: &mut Tally,
    go_on: &mut dyn FnMut(Progress) -> bool,
) -> Ended {
    let count = split.parts.len();
    let council = Council {
        stop: AtomicBool::new(false),
        votes: (0..count).map(|_| AtomicU64::new(0)).collect(),
        decision: AtomicU64::new(0),
        rows: (0..count).map(|_| Mutex::new(Vec::new())).collect(),
        spins: manner.spins,
    };
    let lines: Vec<Line> = split.links.iter().map(Line::new).collect();
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
            neighbours: Neighbours::new(split, &lines, part, manner.spins, &council.stop),
            columns: &columns[part],
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
    let others: Vec<Worker> = (1..threads).map(worker).collect();
    let (mut ended, repeat, others) = std::thread::scope(|scope| {
        let threads: Vec<_> = (others.into_iter().enumerate())
            .map(|(i, mut worker)| {
                let core = cores.get(i + 1).copied();
                scope.spawn(move || {
                    let _alarm = Alarm(&worker.council.stop);
                    if let Some(core) = core {
                        // Where it is refused, the thread runs wherever there is room.
                        core_affinity::set_for_current(core);
                    }
                    worker.follow();
                    worker
                })
            })
            .collect();
        let _alarm = Alarm(&council.stop);
        let (ended, repeat) = first.lead(plan, &columns, recorder, go_on);
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(worker) => worker,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (ended, repeat, threads.into_iter().map(join).collect::<Vec<Worker>>())
    });
    for worker in std::iter::once(&first).chain(&others) {
        worker.hand_over(repeat, plan, state, tally);
    }
    if repeat {
        ended = run_on(plan, state, steps, recorder, tally, go_on);
    }
    ended
}
