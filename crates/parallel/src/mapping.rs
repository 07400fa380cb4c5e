//! Components mapped onto parts, by whichever method does it better, and what that is expected to
//! cost.

use crate::cost::Costs;
use crate::genetic::{self, Evolution};
use crate::graph::Tasks;
use crate::load::{Links, Load, Time, slowest};
use crate::multilevel;
use crate::parts::Partition;
use fluxline_core::plan::Plan;

/// How a split is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Levels of ever fewer tasks.
    Multilevel,
    /// Evolution.
    Genetic,
    /// Both, of which the better one counts.
    Both,
}

impl Method {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Multilevel => "multilevel",
            Self::Genetic => "genetic",
            Self::Both => "both",
        }
    }
}

/// What one part has to do in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Its components.
    pub components: usize,
    /// Its time, ns.
    pub time: Time,
    /// Lines whose other end is in another part.
    pub lines: f64,
    /// Parts that it exchanges with.
    pub neighbours: usize,
}

/// A partition and what it is expected to cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// Which component runs where.
    pub partition: Partition,
    /// The method that found it.
    pub method: Method,
    /// What each part has to do.
    pub shares: Vec<Share>,
    /// Lines between parts.
    pub cut_lines: f64,
    /// Time of a step in one part, ns.
    pub serial: f64,
    /// Time of a step, ns: that of the slowest part.
    pub step: f64,
}

impl Mapping {
    /// How many times faster than in one part.
    pub fn speed_up(&self) -> f64 {
        match self.step > 0.0 {
            true => self.serial / self.step,
            false => 1.0,
        }
    }

    /// The slowest part.
    pub fn slowest(&self) -> Option<&Share> {
        self.shares.iter().max_by(|a, b| a.time.total().total_cmp(&b.time.total()))
    }

    /// A partition that is given, with what it is expected to cost.
    pub fn of(tasks: &Tasks, links: &Links, partition: Partition, method: Method) -> Self {
        let parts = partition.parts;
        let load = Load::new(&tasks.components, links, parts, partition.part_of.clone());
        let mut components = vec![0; parts];
        for &part in &partition.part_of {
            components[part as usize] += 1;
        }
        let crowd = links.crowd.factor(parts);
        let shares: Vec<Share> = (0..parts)
            .map(|part| {
                let Time { work, exchange } = load.times(part);
                Share {
                    components: components[part],
                    time: Time { work: crowd * work, exchange },
                    lines: load.lines_of(part),
                    neighbours: load.neighbours_of(part),
                }
            })
            .collect();
        Self {
            method,
            cut_lines: load.cut_lines(),
            serial: tasks.components.total_work(),
            step: shares.iter().map(|share| share.time.total()).fold(0.0, f64::max),
            shares,
            partition,
        }
    }
}

/// Maps a circuit onto parts. The same seed gives the same mapping.
pub fn map(tasks: &Tasks, links: &Links, parts: usize, method: Method, seed: u64) -> Mapping {
    // Leaves go with what they hang on, as long as that leaves enough to choose from.
    let most = tasks.graph.total_work() / (8 * parts.max(1)) as f64;
    let (group_of, groups) = tasks.graph.group_leaves(most);
    let grouped = tasks.graph.join(&group_of, groups);
    let carry = |of_group: &[u32]| -> Vec<u32> {
        group_of.iter().map(|&group| of_group[group as usize]).collect()
    };
    let by_levels = || {
        let split = carry(&multilevel::split(&grouped, links, parts, seed));
        multilevel::improve(&tasks.graph, links, parts, split, &mut fastrand::Rng::with_seed(seed))
    };
    let by_evolution = || {
        let split = genetic::split(&grouped, links, parts, seed, &Evolution::default()).part_of;
        multilevel::improve(
            &tasks.graph,
            links,
            parts,
            carry(&split),
            &mut fastrand::Rng::with_seed(seed),
        )
    };
    let (part_of, method) = match method {
        Method::Multilevel => (by_levels(), method),
        Method::Genetic => (by_evolution(), method),
        Method::Both => {
            let (levels, evolved) = (by_levels(), by_evolution());
            let time = |part_of: &[u32]| slowest(&tasks.graph, links, parts, part_of);
            match time(&evolved) < time(&levels) {
                true => (evolved, Method::Genetic),
                false => (levels, Method::Multilevel),
            }
        }
    };
    let partition = Partition { part_of: tasks.spread(&in_order(part_of, parts, links)), parts };
    Mapping::of(tasks, links, partition, method)
}

/// Parts of a plan by what types cost on an ordinary machine: for those who have nothing measured, or
/// must come to the same parts on different machines.
pub fn evenly(plan: &Plan, parts: usize) -> Partition {
    let costs = Costs::typical();
    map(&Tasks::of(plan, costs), &costs.links(), parts, Method::Multilevel, 1).partition
}

/// Parts numbered in the order of their first tasks, where their numbers mean nothing: equal splits
/// look equal.
fn in_order(part_of: Vec<u32>, parts: usize, links: &Links) -> Vec<u32> {
    if !links.is_symmetric() {
        return part_of;
    }
    let mut number = vec![u32::MAX; parts];
    let mut next = 0;
    let renumbered = part_of.into_iter().map(|part| {
        let number = &mut number[part as usize];
        if *number == u32::MAX {
            *number = next;
            next += 1;
        }
        *number
    });
    renumbered.collect()
}
