//! Halving again and again: a first split with few cut lines.
//!
//! A half grows from a task at the rim, always by the task next to it that cuts least; then tasks
//! change sides one by one, the best first and also where that costs something for now, and the best
//! of all sides seen on the way counts (Fiduccia and Mattheyses, "A linear-time heuristic for
//! improving network partitions", Design Automation Conference, 1982).

use crate::graph::Graph;
use fastrand::Rng;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Splits a graph into parts of about equal work.
pub(crate) fn split(graph: &Graph, parts: usize, rng: &mut Rng) -> Vec<u32> {
    let mut part_of = vec![0; graph.len()];
    let mut side = vec![Side::Out; graph.len()];
    let mut left: Vec<(Vec<u32>, u32, usize)> = vec![((0..graph.len() as u32).collect(), 0, parts)];
    while let Some((tasks, first, parts)) = left.pop() {
        if parts <= 1 || tasks.is_empty() {
            tasks.iter().for_each(|&task| part_of[task as usize] = first);
            continue;
        }
        let half = parts / 2;
        let (low, high) = halve(graph, &tasks, half as f64 / parts as f64, &mut side, rng);
        left.push((low, first, half));
        left.push((high, first + half as u32, parts - half));
    }
    part_of
}

/// Where a task is while a set of them is halved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Not in the set.
    Out,
    Low,
    High,
}

/// A task that may change sides, by what that gains.
struct Candidate {
    gain: f64,
    task: u32,
    /// Outdated when the task has a later one.
    stamp: u32,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        // Ties by number: the same order on every machine.
        self.gain.total_cmp(&other.gain).then(other.task.cmp(&self.task))
    }
}

/// Two sets, the first with about this share of the work. `side` is `Out` everywhere, and is left so.
fn halve(
    graph: &Graph,
    tasks: &[u32],
    share: f64,
    side: &mut [Side],
    rng: &mut Rng,
) -> (Vec<u32>, Vec<u32>) {
    tasks.iter().for_each(|&task| side[task as usize] = Side::High);
    let total: f64 = tasks.iter().map(|&task| graph.work(task as usize)).sum();
    let wanted = share * total;
    let mut work = grow(graph, tasks, wanted, side, rng);
    for _ in 0..4 {
        if !pass(graph, tasks, wanted, total, &mut work, side) {
            break;
        }
    }
    let (low, high) = tasks.iter().partition(|&&task| side[task as usize] == Side::Low);
    tasks.iter().for_each(|&task| side[task as usize] = Side::Out);
    (low, high)
}

/// Lines that change from cut to whole, less those that change the other way, when a task changes
/// sides.
fn gain(graph: &Graph, side: &[Side], task: usize) -> f64 {
    let own = side[task];
    let of = |&(other, lines): &(u32, f64)| match side[other as usize] {
        Side::Out => 0.0,
        other if other == own => -lines,
        _ => lines,
    };
    graph.neighbours(task).iter().map(of).sum()
}

/// Lets the low side grow from the rim to the wanted work, and gives what it has.
fn grow(graph: &Graph, tasks: &[u32], wanted: f64, side: &mut [Side], rng: &mut Rng) -> f64 {
    let mut heap = BinaryHeap::new();
    let mut stamps = std::collections::HashMap::new();
    let mut work = 0.0;
    let mut order: Vec<u32> = tasks.to_vec();
    rng.shuffle(&mut order);
    let mut next = order.into_iter();
    loop {
        // A task next to what has grown; else, where all that hangs together is in, one at a rim.
        let task = loop {
            match heap.pop() {
                Some(Candidate { task, stamp, .. }) => {
                    if side[task as usize] == Side::High && stamps.get(&task) == Some(&stamp) {
                        break Some(task);
                    }
                }
                None => {
                    let seed = next.find(|&task| side[task as usize] == Side::High);
                    break seed.map(|task| rim(graph, task, side));
                }
            }
        };
        let Some(task) = task else { return work };
        let more = graph.work(task as usize);
        // Not beyond what is wanted by more than it would be short of it.
        if work + more - wanted > wanted - work {
            if heap.is_empty() {
                return work;
            }
            continue;
        }
        side[task as usize] = Side::Low;
        work += more;
        for &(other, _) in graph.neighbours(task as usize) {
            if side[other as usize] == Side::High {
                let stamp = stamps.entry(other).or_insert(0u32);
                *stamp += 1;
                let gain = gain(graph, side, other as usize);
                heap.push(Candidate { gain, task: other, stamp: *stamp });
            }
        }
    }
}

/// A task far from the given one, among those on the high side that hang together with it.
fn rim(graph: &Graph, from: u32, side: &[Side]) -> u32 {
    let mut last = from;
    for _ in 0..2 {
        let mut seen = std::collections::HashSet::from([last]);
        let mut queue = std::collections::VecDeque::from([last]);
        while let Some(task) = queue.pop_front() {
            last = task;
            for &(other, _) in graph.neighbours(task as usize) {
                if side[other as usize] == Side::High && seen.insert(other) {
                    queue.push_back(other);
                }
            }
        }
    }
    last
}

/// Lets every task change sides once, the best first, and goes back to the best state on the way;
/// tells whether that is better than before.
fn pass(
    graph: &Graph,
    tasks: &[u32],
    wanted: f64,
    total: f64,
    work: &mut f64,
    side: &mut [Side],
) -> bool {
    // Balance within some per cent, or as well as now.
    let slack = (0.03 * wanted.min(total - wanted)).max((*work - wanted).abs() * (1.0 + 1e-9));
    let mut stamps = std::collections::HashMap::with_capacity(tasks.len());
    let mut heap = BinaryHeap::with_capacity(tasks.len());
    for &task in tasks {
        let at_border = graph.neighbours(task as usize).iter().any(|&(other, _)| {
            side[other as usize] != Side::Out && side[other as usize] != side[task as usize]
        });
        if at_border {
            stamps.insert(task, 0u32);
            heap.push(Candidate { gain: gain(graph, side, task as usize), task, stamp: 0 });
        }
    }
    const DONE: u32 = u32::MAX;
    let mut moved: Vec<u32> = Vec::new();
    let (mut sum, mut best, mut best_at, mut best_work) = (0.0, 1e-9, 0, *work);
    let mut now = *work;
    // Beyond that many steps without a gain there is none to come.
    while moved.len() < best_at + 200 {
        let Some(Candidate { gain: own, task, stamp }) = heap.pop() else { break };
        if stamps.get(&task) != Some(&stamp) {
            continue;
        }
        let more = graph.work(task as usize);
        let then = if side[task as usize] == Side::Low { now - more } else { now + more };
        if (then - wanted).abs() > slack {
            continue;
        }
        now = then;
        side[task as usize] = flip(side[task as usize]);
        stamps.insert(task, DONE);
        moved.push(task);
        sum += own;
        if sum > best {
            (best, best_at, best_work) = (sum, moved.len(), now);
        }
        for &(other, _) in graph.neighbours(task as usize) {
            if side[other as usize] == Side::Out {
                continue;
            }
            let stamp = stamps.entry(other).or_insert(0);
            if *stamp != DONE {
                *stamp += 1;
                let gain = gain(graph, side, other as usize);
                heap.push(Candidate { gain, task: other, stamp: *stamp });
            }
        }
    }
    for &task in &moved[best_at..] {
        side[task as usize] = flip(side[task as usize]);
    }
    *work = best_work;
    best_at > 0
}

fn flip(side: Side) -> Side {
    match side {
        Side::Low => Side::High,
        _ => Side::Low,
    }
}
