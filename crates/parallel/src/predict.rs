//! How fast a circuit would run on more processors, as far as the costs tell.
//!
//! Everything here is predicted: from costs that were measured on one machine, or that are given for
//! another one. Measurements stand elsewhere.

use crate::graph::Tasks;
use crate::load::{Links, Price};
use crate::mapping::{Mapping, Method, map};

/// A prediction for some number of processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Processors, one part each.
    pub parts: usize,
    /// Time of a step, ns.
    pub step: f64,
    /// Work of the slowest part, ns per step.
    pub work: f64,
    /// Exchange of the slowest part, ns per step.
    pub exchange: f64,
    /// How many times faster than one processor.
    pub speed_up: f64,
}

impl Point {
    /// Of a mapping.
    pub fn of(mapping: &Mapping) -> Self {
        let slowest = mapping.slowest().map(|share| share.time).unwrap_or_default();
        Self {
            parts: mapping.partition.parts,
            step: mapping.step,
            work: slowest.work,
            exchange: slowest.exchange,
            speed_up: mapping.speed_up(),
        }
    }
}

/// Predicted speed for several numbers of processors, in rising order. Where more of them would be
/// slower, some stay idle.
pub fn curve(tasks: &Tasks, links: &Links, counts: &[usize], seed: u64) -> Vec<Point> {
    let mut best: Option<Point> = None;
    let mut points = Vec::with_capacity(counts.len());
    for &parts in counts {
        let found = Point::of(&map(tasks, links, parts, Method::Multilevel, seed));
        let kept = match best {
            Some(best) if best.step <= found.step => best,
            _ => found,
        };
        best = Some(kept);
        points.push(Point { parts, ..kept });
    }
    points
}

/// The number of parts, of up to `most`, that is expected to be fastest, with its mapping: 1 where
/// none gains at least a part `worth` of the time (0.05 for 5 %).
pub fn choose(tasks: &Tasks, links: &Links, most: usize, worth: f64, seed: u64) -> Mapping {
    let mut best = map(tasks, links, 1, Method::Multilevel, seed);
    let serial = best.step;
    for parts in 2..=most.max(1) {
        let found = map(tasks, links, parts, Method::Multilevel, seed);
        if found.step < best.step && found.step < (1.0 - worth) * serial {
            best = found;
        }
    }
    best
}

/// How many components a circuit needs for several parts to be faster than one: work of n·c ns
/// against n·c/parts and the exchange, so that n = exchange/(c·(1 − 1/parts)).
///
/// `work` is that of a component, ns; each part shares `lines` lines with `neighbours` others.
pub fn break_even(work: f64, parts: usize, lines: f64, neighbours: usize, price: &Price) -> f64 {
    let exchange = lines * price.line + neighbours as f64 * price.neighbour;
    exchange / (work * (1.0 - 1.0 / parts as f64))
}
