//! Circuits as graphs: tasks with work, and the lines between them.
//!
//! A task is a component, or several that stay together. Its weight is the work of a step; the
//! weight of an edge is the number of lines between two tasks, whose waves and flows have to be
//! handed over each step when the tasks run in different parts (Pollmeier, section 5.2.3).

use crate::cost::Costs;
use crate::ties::{Layout, clusters};
use fluxline_core::plan::Plan;
use fluxline_core::variables::Location;
use std::collections::HashMap;

/// Tasks and what they exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    work: Vec<f64>,
    /// Neighbours of task i are `neighbours[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    neighbours: Vec<(u32, f64)>,
}

impl Graph {
    /// Tasks with their work, ns, and edges between them with numbers of lines. Edges between the
    /// same tasks are added up, those from a task to itself left out.
    pub fn new(work: Vec<f64>, edges: impl IntoIterator<Item = (u32, u32, f64)>) -> Self {
        let mut sorted: Vec<(u32, u32, f64)> = edges
            .into_iter()
            .filter(|&(a, b, _)| a != b)
            .flat_map(|(a, b, lines)| [(a, b, lines), (b, a, lines)])
            .collect();
        // Stable: lines are added up in the order given, so that sums have the same bits.
        sorted.sort_by_key(|&(a, b, _)| (a, b));
        let mut starts = vec![0; work.len() + 1];
        let mut neighbours: Vec<(u32, f64)> = Vec::with_capacity(sorted.len());
        let mut last = None;
        for (a, b, lines) in sorted {
            match neighbours.last_mut() {
                Some(edge) if last == Some((a, b)) => edge.1 += lines,
                _ => {
                    neighbours.push((b, lines));
                    starts[a as usize + 1] += 1;
                }
            }
            last = Some((a, b));
        }
        for i in 0..work.len() {
            starts[i + 1] += starts[i];
        }
        Self { work, starts, neighbours }
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.work.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.work.is_empty()
    }

    /// Work of a task, ns per step.
    pub fn work(&self, task: usize) -> f64 {
        self.work[task]
    }

    /// Work of all tasks, ns per step.
    pub fn total_work(&self) -> f64 {
        self.work.iter().sum()
    }

    /// Tasks that a task exchanges lines with, and how many.
    pub fn neighbours(&self, task: usize) -> &[(u32, f64)] {
        &self.neighbours[self.starts[task] as usize..self.starts[task + 1] as usize]
    }

    /// Each edge once: its tasks and its lines.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, f64)> {
        (0..self.len()).flat_map(move |a| {
            let up = self.neighbours(a).iter().filter(move |&&(b, _)| b as usize > a);
            up.map(move |&(b, lines)| (a as u32, b, lines))
        })
    }

    /// The same with tasks joined: `group_of` tells the group of each task.
    pub fn join(&self, group_of: &[u32], groups: usize) -> Self {
        let mut work = vec![0.0; groups];
        for (task, &group) in group_of.iter().enumerate() {
            work[group as usize] += self.work[task];
        }
        let edges = self.edges().map(|(a, b, n)| (group_of[a as usize], group_of[b as usize], n));
        Self::new(work, edges)
    }

    /// Joins tasks that have one neighbour only with that neighbour, again and again: leaves, and
    /// chains that end in them (Pollmeier, section 5.6.1). No group gets more work than `most`, so
    /// that a circuit that is all leaves still can be cut.
    pub fn group_leaves(&self, most: f64) -> (Vec<u32>, usize) {
        let mut sets = Sets::new(self.len());
        let mut work = self.work.clone();
        let mut open: Vec<usize> = (0..self.len()).map(|i| self.neighbours(i).len()).collect();
        let mut is_open = vec![true; self.len()];
        let mut leaves: Vec<usize> = (0..self.len()).filter(|&i| open[i] == 1).collect();
        while let Some(leaf) = leaves.pop() {
            if !is_open[leaf] || open[leaf] != 1 {
                continue;
            }
            let stem = self.neighbours(leaf).iter().map(|&(j, _)| j as usize).find(|&j| is_open[j]);
            let Some(stem) = stem else { continue };
            let (a, b) = (sets.find(leaf), sets.find(stem));
            if work[a] + work[b] > most {
                continue;
            }
            let joined = work[a] + work[b];
            sets.join(a, b);
            work[sets.find(a)] = joined;
            is_open[leaf] = false;
            open[stem] -= 1;
            if open[stem] == 1 {
                leaves.push(stem);
            }
        }
        sets.numbered()
    }
}

/// Sets of things that belong together.
#[derive(Clone, Debug)]
pub struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    /// Each thing alone.
    pub fn new(count: usize) -> Self {
        Self { parent: (0..count as u32).collect() }
    }

    /// The thing that stands for its set.
    pub fn find(&mut self, thing: usize) -> usize {
        let mut root = thing;
        while self.parent[root] as usize != root {
            root = self.parent[root] as usize;
        }
        let mut at = thing;
        while self.parent[at] as usize != root {
            at = std::mem::replace(&mut self.parent[at], root as u32) as usize;
        }
        root
    }

    /// Makes one set of two.
    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        // The smaller number stands for both: the result does not depend on the order of joining.
        self.parent[a.max(b)] = a.min(b) as u32;
    }

    /// The number of the set of each thing, in order of their first things, and how many there are.
    pub fn numbered(&mut self) -> (Vec<u32>, usize) {
        let mut number = vec![u32::MAX; self.parent.len()];
        let mut of = Vec::with_capacity(self.parent.len());
        let mut count = 0;
        for thing in 0..self.parent.len() {
            let root = self.find(thing);
            if number[root] == u32::MAX {
                number[root] = count;
                count += 1;
            }
            of.push(number[root]);
        }
        (of, count as usize)
    }
}

/// A circuit as a graph: components, and the tasks that may be spread over parts.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// Components and their lines.
    pub components: Graph,
    /// Components that stay together as one task each.
    pub graph: Graph,
    /// The task of each component.
    pub task_of: Vec<u32>,
    /// Components that no wish of a user has tied, as sets; for those who tie more.
    ties: Sets,
}

impl Tasks {
    /// The graph of a plan. What must run in one part is one task, see [`crate::ties`].
    pub fn of(plan: &Plan, costs: &Costs) -> Self {
        Self::weighted(plan, costs, &vec![1.0; plan.initial.bonds.len()])
    }

    /// The same where line ends count for more or less than one line.
    pub fn weighted(plan: &Plan, costs: &Costs, weight: &[f64]) -> Self {
        let components = components(plan, costs, weight);
        let mut ties = Sets::new(components.len());
        let mut first: HashMap<u32, usize> = HashMap::new();
        for (component, cluster) in clusters(plan).into_iter().enumerate() {
            let first = *first.entry(cluster).or_insert(component);
            ties.join(first, component);
        }
        Self::tied(components, ties)
    }

    fn tied(components: Graph, mut ties: Sets) -> Self {
        let (task_of, tasks) = ties.numbered();
        let graph = components.join(&task_of, tasks);
        Self { components, graph, task_of, ties }
    }

    /// The same with further components kept together, as their user wants it.
    pub fn with_groups(&self, groups: &[Vec<usize>]) -> Self {
        let mut ties = self.ties.clone();
        for group in groups {
            for pair in group.windows(2) {
                ties.join(pair[0], pair[1]);
            }
        }
        Self::tied(self.components.clone(), ties)
    }

    /// The part of each component, from that of each task.
    pub fn spread(&self, part_of_task: &[u32]) -> Vec<u32> {
        self.task_of.iter().map(|&task| part_of_task[task as usize]).collect()
    }
}

/// Work per step of each component, and the lines between them.
fn components(plan: &Plan, costs: &Costs, weight: &[f64]) -> Graph {
    let entries = &plan.variables.entries;
    let mut work = vec![0.0; entries.len()];
    for rate in &plan.rates {
        for group in rate.s.iter().chain(&rate.c).chain(&rate.q) {
            for i in 0..group.len() {
                let component = group.wiring(i).component() as usize;
                let each = costs.of_type(entries[component].declaration.name);
                work[component] += each * f64::from(rate.divisor);
            }
        }
    }
    let layout = Layout::of(plan);
    let mut edges: Vec<(u32, u32, f64)> = Vec::new();
    for ([c, q, sensors], &weight) in layout.at_bond.iter().zip(weight) {
        if let (Some(&c), Some(&q)) = (c.first(), q.first()) {
            edges.push((c, q, weight));
        }
        if let Some(&seen) = q.first().or(c.first()) {
            edges.extend(sensors.iter().map(|&sensor| (seen, sensor, 1.0)));
        }
    }
    for junction in plan.rates.iter().flat_map(|rate| &rate.junctions) {
        let end = |bond: u32| {
            let [c, q, _] = &layout.at_bond[bond as usize];
            q.first().or(c.first()).copied()
        };
        // Without a Q-port the first line stands for the place where all meet.
        let centre = junction.q.or(junction.c.first().copied()).and_then(end);
        for other in junction.c.iter().filter_map(|&bond| end(bond)) {
            edges.extend(centre.map(|centre| (centre, other, 1.0)));
        }
    }
    for (from, to) in signals(plan, &layout) {
        // One number where a line has six.
        edges.push((from, to, 1.0 / LINE_NUMBERS));
    }
    Graph::new(work, edges)
}

/// Numbers that belong to a line: wave, impedance, dry friction, effort, flow, displacement.
pub(crate) const LINE_NUMBERS: f64 = 6.0;

/// Who reads signals of whom.
fn signals(plan: &Plan, layout: &Layout) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for (&signal, readers) in &layout.readers {
        let source = match (layout.source.get(&signal), layout.probe.get(&signal)) {
            (Some(&source), _) => Some(source),
            (None, Some(&(Location::Bond(bond, _), _))) => {
                let [c, q, _] = &layout.at_bond[bond as usize];
                q.first().or(c.first()).copied()
            }
            (None, Some(&(Location::State(state), _))) => Layout::owner_of_state(plan, state),
            _ => None,
        };
        if let Some(source) = source {
            found.extend(readers.iter().map(|&reader| (source, reader)));
        }
    }
    // The same sums whatever the order of a map.
    found.sort_unstable();
    found
}
