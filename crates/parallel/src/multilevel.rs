//! Splitting by levels: join, split the little graph, improve on the way back.
//!
//! Tasks with many lines between them are joined in pairs, level by level, until few are left
//! (heavy-edge matching: Karypis and Kumar, "A fast and high quality multilevel scheme for
//! partitioning irregular graphs", SIAM J. Sci. Comput. 20, 1998). The smallest graph is split in
//! several ways; the best is carried back level by level, and on each one tasks move to where the
//! slowest part becomes faster. What is minimised is not the number of cut lines under a balance,
//! as usual, but the time of the slowest part, exchange included (Pollmeier, equation 5.3).

use crate::bisect;
use crate::graph::Graph;
use crate::load::{Links, Load};
use fastrand::Rng;

/// Splits a graph. The same seed gives the same split.
pub fn split(graph: &Graph, links: &Links, parts: usize, seed: u64) -> Vec<u32> {
    if parts <= 1 || graph.is_empty() {
        return vec![0; graph.len()];
    }
    let mut rng = Rng::with_seed(seed);
    let levels = coarsen(graph, parts, &mut rng);
    let coarsest = levels.last().map_or(graph, |level| &level.graph);
    let mut part_of = split_small(coarsest, links, parts, &mut rng);
    for at in (0..levels.len()).rev() {
        let finer = if at == 0 { graph } else { &levels[at - 1].graph };
        let carried = levels[at].group_of.iter().map(|&group| part_of[group as usize]).collect();
        part_of = improve(finer, links, parts, carried, &mut rng);
    }
    // One part alone beats any split that pays more for exchange than it gains.
    let alone = graph.total_work();
    match crate::load::slowest(graph, links, parts, &part_of) < alone {
        true => part_of,
        false => vec![0; graph.len()],
    }
}

/// A graph, and the group in it of each task of the finer one.
pub(crate) struct Level {
    pub graph: Graph,
    pub group_of: Vec<u32>,
}

/// Joins tasks until some per part are left.
fn coarsen(graph: &Graph, parts: usize, rng: &mut Rng) -> Vec<Level> {
    coarsen_to(graph, (12 * parts).max(48), rng)
}

/// Joins tasks until not many more than `wanted` are left.
pub(crate) fn coarsen_to(graph: &Graph, wanted: usize, rng: &mut Rng) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    // No group grows beyond what balance allows.
    let most = 2.0 * graph.total_work() / wanted as f64;
    loop {
        let now = levels.last().map_or(graph, |level| &level.graph);
        if now.len() <= wanted {
            break;
        }
        let (group_of, groups) = match_pairs(now, most, rng);
        if groups as f64 > 0.95 * now.len() as f64 {
            break;
        }
        let graph = now.join(&group_of, groups);
        levels.push(Level { graph, group_of });
    }
    levels
}

/// Pairs each task with the neighbour it has most lines with, by work; tasks whose neighbours are
/// all taken with another one of the same neighbour.
fn match_pairs(graph: &Graph, most: f64, rng: &mut Rng) -> (Vec<u32>, usize) {
    const FREE: u32 = u32::MAX;
    let n = graph.len();
    let mut order: Vec<usize> = (0..n).collect();
    rng.shuffle(&mut order);
    // Those with few neighbours have few to choose from.
    order.sort_by_key(|&i| graph.neighbours(i).len());
    let mut mate = vec![FREE; n];
    let small = graph.total_work() * 1e-12 + f64::MIN_POSITIVE;
    for &i in &order {
        if mate[i] != FREE {
            continue;
        }
        let mut best: Option<(f64, u32)> = None;
        for &(j, lines) in graph.neighbours(i) {
            let work = graph.work(j as usize);
            if mate[j as usize] == FREE && graph.work(i) + work <= most {
                let pull = lines / (work + small);
                if best.is_none_or(|(other, _)| pull > other) {
                    best = Some((pull, j));
                }
            }
        }
        if let Some((_, j)) = best {
            mate[i] = j;
            mate[j as usize] = i as u32;
        }
    }
    // Leaves of a hub.
    for hub in 0..n {
        let mut waiting: Option<usize> = None;
        for &(j, _) in graph.neighbours(hub) {
            let j = j as usize;
            if mate[j] != FREE {
                continue;
            }
            match waiting {
                Some(i) if graph.work(i) + graph.work(j) <= most => {
                    mate[i] = j as u32;
                    mate[j] = i as u32;
                    waiting = None;
                }
                Some(_) => {}
                None => waiting = Some(j),
            }
        }
    }
    let mut group_of = vec![FREE; n];
    let mut groups = 0;
    for i in 0..n {
        if group_of[i] == FREE {
            group_of[i] = groups;
            if mate[i] != FREE {
                group_of[mate[i] as usize] = groups;
            }
            groups += 1;
        }
    }
    (group_of, groups as usize)
}

/// Splits a small graph: from several beginnings, the best.
fn split_small(graph: &Graph, links: &Links, parts: usize, rng: &mut Rng) -> Vec<u32> {
    let tries = (3000 / graph.len().max(1)).clamp(4, 100);
    let mut best: Option<(f64, f64, Vec<u32>)> = None;
    for number in 0..tries {
        let begin = match number % 4 {
            0 => heaviest_first(graph, parts),
            1 => (0..graph.len()).map(|_| rng.u32(..parts as u32)).collect(),
            _ => bisect::split(graph, parts, rng),
        };
        let mut load = Load::new(graph, links, parts, begin);
        settle(&mut load, rng);
        consider(&mut best, load);
    }
    // Some tasks of the best are thrown about, and settle anew.
    for _ in 0..2 * tries {
        let Some((_, _, part_of)) = &best else { break };
        let mut load = Load::new(graph, links, parts, part_of.clone());
        for _ in 0..(graph.len() / 5).clamp(2, 20) {
            load.shift(rng.usize(..graph.len()), rng.u32(..parts as u32));
        }
        settle(&mut load, rng);
        consider(&mut best, load);
    }
    best.map(|(_, _, part_of)| part_of).unwrap_or_default()
}

fn consider(best: &mut Option<(f64, f64, Vec<u32>)>, load: Load) {
    let (slowest, sum) = (load.slowest(), load.sum());
    let is_better = best.as_ref().is_none_or(|(time, all, _)| {
        slowest < time * (1.0 - 1e-12) || slowest <= *time && sum < *all
    });
    if is_better {
        *best = Some((slowest, sum, load.into_parts()));
    }
}

/// Moves and swaps until neither helps.
pub(crate) fn settle(load: &mut Load, rng: &mut Rng) {
    for _ in 0..20 {
        refine(load, rng, 10);
        if !swap(load) && !rename(load) {
            break;
        }
    }
}

/// Lets parts change places where not all are equally near; tells whether any did.
fn rename(load: &mut Load) -> bool {
    const MOST: u32 = 16;
    let parts = load.parts() as u32;
    if load.links().is_symmetric() || parts > MOST {
        return false;
    }
    let mut any = false;
    for p in 0..parts {
        for q in 0..p {
            let now = (load.slowest(), load.sum());
            load.rename(p, q);
            let then = (load.slowest(), load.sum());
            let is_better =
                then.0 < now.0 * (1.0 - 1e-9) || then.0 <= now.0 && then.1 < now.1 * (1.0 - 1e-9);
            match is_better {
                true => any = true,
                false => load.rename(p, q),
            }
        }
    }
    any
}

/// The heaviest task to the part with the least work, and so on: for graphs without lines this is
/// within a third of the best (Graham, 1969).
fn heaviest_first(graph: &Graph, parts: usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..graph.len()).collect();
    order.sort_by(|&a, &b| graph.work(b).total_cmp(&graph.work(a)).then(a.cmp(&b)));
    let mut work = vec![0.0; parts];
    let mut part_of = vec![0; graph.len()];
    for task in order {
        let least = (0..parts).min_by(|&a, &b| f64::total_cmp(&work[a], &work[b])).unwrap_or(0);
        work[least] += graph.work(task);
        part_of[task] = least as u32;
    }
    part_of
}

/// A split of a finer graph, made better.
pub(crate) fn improve(
    graph: &Graph,
    links: &Links,
    parts: usize,
    part_of: Vec<u32>,
    rng: &mut Rng,
) -> Vec<u32> {
    let mut load = Load::new(graph, links, parts, part_of);
    refine(&mut load, rng, 8);
    if graph.len() <= 150 {
        settle(&mut load, rng);
    }
    load.into_parts()
}

/// Passes over all tasks: each moves to the part next to it where that helps most; those of the
/// slowest part also to the fastest one.
pub(crate) fn refine(load: &mut Load, rng: &mut Rng, passes: usize) {
    let mut order: Vec<usize> = (0..load.graph().len()).collect();
    let mut next_to = Vec::new();
    for _ in 0..passes {
        rng.shuffle(&mut order);
        let mut moved = 0;
        let (mut fastest, mut slowest) = extremes(load);
        for &task in &order {
            load.parts_next_to(task, &mut next_to);
            let own = load.part_of()[task];
            if own as usize == slowest
                && !next_to.contains(&(fastest as u32))
                && own as usize != fastest
            {
                next_to.push(fastest as u32);
            }
            let mut best: Option<(f64, f64, u32)> = None;
            for &to in &next_to {
                let change = load.look(task, to);
                if !change.is_gain() {
                    continue;
                }
                let gain =
                    (change.slowest_now - change.slowest_then, change.sum_now - change.sum_then);
                if best.is_none_or(|b| gain.0 > b.0 || gain.0 == b.0 && gain.1 > b.1) {
                    best = Some((gain.0, gain.1, to));
                }
            }
            if let Some((_, _, to)) = best {
                load.shift(task, to);
                moved += 1;
                if own as usize == slowest || moved % 64 == 0 {
                    (fastest, slowest) = extremes(load);
                }
            }
        }
        if moved == 0 {
            break;
        }
    }
}

/// The fastest and the slowest part.
fn extremes(load: &Load) -> (usize, usize) {
    let by_time = |a: &usize, b: &usize| load.time(*a).total_cmp(&load.time(*b));
    let fastest = (0..load.parts()).min_by(by_time).unwrap_or(0);
    let slowest = (0..load.parts()).max_by(by_time).unwrap_or(0);
    (fastest, slowest)
}

/// Exchanges tasks of the slowest part with tasks of others, and moves them anywhere, as long as
/// the slowest part gets faster; tells whether any did.
fn swap(load: &mut Load) -> bool {
    let mut any = false;
    'again: for _ in 0..load.graph().len() {
        let (_, slowest) = extremes(load);
        let now = (load.slowest(), load.sum());
        let is_better = |load: &Load| {
            let then = (load.slowest(), load.sum());
            then.0 < now.0 * (1.0 - 1e-9) || then.0 <= now.0 && then.1 < now.1 * (1.0 - 1e-9)
        };
        let mine: Vec<usize> =
            (0..load.graph().len()).filter(|&i| load.part_of()[i] as usize == slowest).collect();
        let others: Vec<usize> =
            (0..load.graph().len()).filter(|&i| load.part_of()[i] as usize != slowest).collect();
        // Larger graphs have moves enough.
        if mine.len() * others.len() > 20_000 || load.parts() > 64 {
            return any;
        }
        for &a in &mine {
            for to in 0..load.parts() as u32 {
                load.shift(a, to);
                if is_better(load) {
                    any = true;
                    continue 'again;
                }
                load.shift(a, slowest as u32);
            }
            for &b in &others {
                let other = load.part_of()[b];
                load.shift(a, other);
                load.shift(b, slowest as u32);
                if is_better(load) {
                    any = true;
                    continue 'again;
                }
                load.shift(b, other);
                load.shift(a, slowest as u32);
            }
        }
        break;
    }
    any
}
