//! Whether it pays to run a circuit in parts, measured on this machine before the run.
//!
//! A step in one piece takes as long as some steps do. In parts it takes the share of the largest
//! part, and two messages between neighbours: there and back once takes what a pair of threads needs
//! to hand each other a number.

use crate::cut::Cut;
use crate::mailbox::{Mailbox, Patience};
use crate::parts::Partition;
use fluxline_core::engine;
use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

/// What to do.
pub enum Advice {
    /// Stay in one piece, and why.
    Serial(String),
    /// Run in these parts, and why.
    Parts(Partition, String),
}

/// Fewer components than this in a part are not worth a look.
const LEAST_PER_PART: usize = 50;
/// Runs shorter than this are over before threads are at work.
const LEAST_TIME: Duration = Duration::from_millis(40);
/// Time to hand over a number of a message, s: a cache line of eight in some 50 ns.
const PER_NUMBER: f64 = 6e-9;
/// So much faster it must be predicted to be, to make up for what the prediction does not know.
const LEAST_GAIN: f64 = 1.15;

/// Advises how to run so many steps of a plan on this machine.
pub fn advise(plan: &Plan, steps: u64) -> Advice {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let components = plan.component_count();
    if cores < 2 {
        return Advice::Serial("this machine has one core".to_owned());
    }
    if components < 2 * LEAST_PER_PART {
        return Advice::Serial(format!(
            "{components} components are too few for two threads, which pay from about {} on",
            4 * LEAST_PER_PART
        ));
    }
    let serial = step_time(plan);
    let whole = Duration::from_secs_f64((serial * steps as f64).min(1e9));
    if whole < LEAST_TIME {
        return Advice::Serial(format!(
            "the run takes about {:.1} ms, which threads would not shorten",
            whole.as_secs_f64() * 1e3
        ));
    }
    let round_trip = round_trip();
    let mut best: Option<(f64, Partition)> = None;
    let most = cores.min(components / LEAST_PER_PART);
    for parts in 2..=most.max(2) {
        let partition = Partition::in_order(plan, parts);
        let Ok(split) = Cut::new(plan, &partition) else { continue };
        let time = predicted(&split, serial, components, round_trip);
        if best.as_ref().is_none_or(|(least, _)| time < *least) {
            best = Some((time, partition));
        }
    }
    let micro = |seconds: f64| format!("{:.2} µs", seconds * 1e6);
    match best {
        Some((time, partition)) if serial > LEAST_GAIN * time => {
            let why = format!(
                "a step takes {} in one piece; predicted speed-up {:.2}",
                micro(serial),
                serial / time
            );
            Advice::Parts(partition, why)
        }
        Some((time, partition)) => Advice::Serial(format!(
            "a step takes {}; in {} parts it is predicted to take {}, {} of it for messages",
            micro(serial),
            partition.parts,
            micro(time),
            micro(round_trip)
        )),
        None => Advice::Serial("its components cannot be separated".to_owned()),
    }
}

/// Predicted time per step, s.
fn predicted(split: &Cut, serial: f64, components: usize, round_trip: f64) -> f64 {
    let time = |part: usize| {
        let own = split.parts[part].components as f64 / components as f64 * serial;
        let links = split.links.iter().filter(|link| link.from == part || link.to == part);
        let numbers: usize = links.map(|link| link.waves.len() + link.flows.len()).sum();
        own + numbers as f64 * PER_NUMBER
    };
    let slowest = (0..split.parts.len()).map(time).fold(0.0, f64::max);
    // Waves there, flows back.
    slowest + round_trip
}

/// Time of a step in one piece, s.
fn step_time(plan: &Plan) -> f64 {
    let mut state = plan.initial.clone();
    let mut tally = Tally::new(plan, &mut state, true);
    let mut best = f64::INFINITY;
    // The first steps touch memory for the first time; interruptions only ever add.
    for _ in 0..5 {
        let begun = Instant::now();
        for _ in 0..10 {
            engine::step(plan, &mut state, &mut tally, false);
        }
        best = best.min(begun.elapsed().as_secs_f64() / 10.0);
    }
    best
}

/// Time for a number to another thread and back, s, at best: with the machine busy, waiting
/// threads give way and the run takes longer in one piece as well.
fn round_trip() -> f64 {
    const ROUNDS: u64 = 200;
    let (there, back) = (Mailbox::<AtomicU64>::new(1), Mailbox::<AtomicU64>::new(1));
    let stop = AtomicBool::new(false);
    let take = |mailbox: &Mailbox<AtomicU64>, n: u64| {
        let mut patience = Patience::new(300, &stop);
        let mut number = 0.0;
        mailbox.take(n, || patience.wait(), |places| number = places.get());
        number
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..=8 * ROUNDS {
                let number = take(&there, n);
                back.post(n, |places| places.put(number));
            }
        });
        let mut best = f64::INFINITY;
        for trial in 0..8 {
            let begun = Instant::now();
            for n in trial * ROUNDS + 1..=(trial + 1) * ROUNDS {
                there.post(n, |places| places.put(n as f64));
                take(&back, n);
            }
            best = best.min(begun.elapsed().as_secs_f64() / ROUNDS as f64);
        }
        best
    })
}
