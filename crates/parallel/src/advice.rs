//! Whether it pays to run a circuit in parts, measured on this machine before the run.
//!
//! A step in one piece takes as long as some steps do. In parts it takes the time of the slowest
//! part, with what it exchanges, by costs that are measured on this machine and kept.

use crate::cost;
use crate::graph::Tasks;
use crate::mapping::{Mapping, Method, map};
use crate::parts::Partition;
use crate::threads::busy_elsewhere;
use fluxline_core::engine;
use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
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
/// What it takes to find parts, to cut the plan and to begin, at least and for each component: measured
/// with generated circuits of 10³ to 10⁶ components.
const PREPARATION: Duration = Duration::from_millis(60);
const PREPARATION_EACH: Duration = Duration::from_micros(1);
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
    let busy = busy_elsewhere().unwrap_or(0);
    let free = cores.saturating_sub(busy);
    if free < 2 {
        return Advice::Serial(format!("other programs keep {busy} of {cores} cores busy"));
    }
    let serial = step_time(plan);
    let whole = Duration::from_secs_f64((serial * steps as f64).min(1e9));
    let preparation = PREPARATION + PREPARATION_EACH * components as u32;
    // At best, and by as much again, so that little is lost where it turns out less.
    let saved = whole.mul_f64(1.0 - 1.0 / free as f64);
    if saved < 2 * preparation {
        return Advice::Serial(format!(
            "the run takes about {:.0} ms, and to find parts {:.0} ms",
            whole.as_secs_f64() * 1e3,
            preparation.as_secs_f64() * 1e3
        ));
    }
    let (costs, _) = cost::known(plan, cost::cache_path().as_deref(), false);
    let tasks = Tasks::of(plan, &costs);
    if tasks.graph.len() < 2 {
        return Advice::Serial("its components cannot be separated".to_owned());
    }
    let most = free.min(components / LEAST_PER_PART).max(2);
    let mut best: Option<Mapping> = None;
    for parts in 2..=most {
        let found = map(&tasks, &costs.links(), parts, Method::Multilevel, 1);
        if best.as_ref().is_none_or(|best| found.step < best.step) {
            best = Some(found);
        }
    }
    let micro = |seconds: f64| format!("{:.2} µs", seconds * 1e6);
    match best {
        Some(best) if best.speed_up() > LEAST_GAIN => {
            let why = format!(
                "a step takes {} in one piece; predicted speed-up {:.2}",
                micro(serial),
                best.speed_up()
            );
            Advice::Parts(best.partition, why)
        }
        Some(best) => {
            let exchange = best.slowest().map_or(0.0, |share| share.time.exchange);
            Advice::Serial(format!(
                "a step takes {}; in {} parts it is predicted to take {}, {} of it for messages",
                micro(serial),
                best.partition.parts,
                micro(serial / best.speed_up()),
                micro(exchange * 1e-9)
            ))
        }
        None => Advice::Serial("its components cannot be separated".to_owned()),
    }
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
