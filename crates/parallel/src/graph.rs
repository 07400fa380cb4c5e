//! Circuits as graphs: tasks with work, and the lines between them.
//!
//! A task is a component, or several that stay together. Its weight is the work of a step; the
//! weight of an edge is the number of lines between two tasks, whose waves and flows have to be
//! handed over each step when the tasks run in different parts (Pollmeier, section 5.2.3).

use crate::cost::Costs;
use fluxline_core::declare::Causality;
use fluxline_core::plan::Plan;
use fluxline_core::settings::Convention;
use fluxline_core::variables::Location;
use std::collections::BTreeMap;

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
    /// The graph of a plan. What must run in one part is one task, see [`ties`].
    pub fn of(plan: &Plan, costs: &Costs) -> Self {
        let components = components(plan, costs);
        Self::tied(components, ties(plan))
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
fn components(plan: &Plan, costs: &Costs) -> Graph {
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
    let mut edges = Vec::new();
    let owners = owners(plan);
    let mut connect = |a: u32, b: u32, lines: f64| edges.push((a, b, lines));
    for ends in &owners {
        for pair in ends.ends().windows(2) {
            connect(pair[0], pair[1], 1.0);
        }
    }
    for rate in &plan.rates {
        for junction in &rate.junctions {
            let of = |bond: u32| owners[bond as usize].first();
            let centre = junction.q.or(junction.c.first().copied()).and_then(of);
            for end in junction.c.iter().filter_map(|&bond| of(bond)) {
                if let Some(centre) = centre {
                    connect(centre, end, 1.0);
                }
            }
        }
    }
    for (from, to, _) in signals(plan) {
        // One number where a line has six.
        connect(from, to, 1.0 / LINE_NUMBERS);
    }
    Graph::new(work, edges)
}

/// Numbers that belong to a line: wave, impedance, dry friction, effort, flow, displacement.
pub(crate) const LINE_NUMBERS: f64 = 6.0;

/// The components at a bond: a Q-end, a C-end, or one alone; and sensors that look at it.
#[derive(Clone, Debug, Default)]
struct AtBond {
    ends: [u32; 2],
    count: usize,
    sensors: Vec<u32>,
}

impl AtBond {
    fn ends(&self) -> &[u32] {
        &self.ends[..self.count]
    }
    fn first(&self) -> Option<u32> {
        self.ends().first().copied()
    }
}

fn owners(plan: &Plan) -> Vec<AtBond> {
    let mut owners = vec![AtBond::default(); plan.blank.bonds.len()];
    for (component, entry) in plan.variables.entries.iter().enumerate() {
        let is_sensor = entry.declaration.causality == Causality::S;
        for &bond in &entry.bonds {
            let at = &mut owners[bond as usize];
            match at.count {
                0 | 1 if !is_sensor => {
                    at.ends[at.count] = component as u32;
                    at.count += 1;
                }
                _ => at.sensors.push(component as u32),
            }
        }
    }
    owners
}

/// Who reads signals of whom: from, to, and whether what is read was written a step earlier.
fn signals(plan: &Plan) -> Vec<(u32, u32, bool)> {
    let entries = &plan.variables.entries;
    let mut writer: BTreeMap<u32, (u32, bool)> = BTreeMap::new();
    for (component, entry) in entries.iter().enumerate() {
        let is_late =
            plan.convention == Convention::Fluxline && entry.declaration.causality != Causality::S;
        for output in 0..entry.declaration.outputs.len() as u32 {
            writer.insert(entry.outputs + output, (component as u32, is_late));
        }
    }
    let owners = owners(plan);
    for rate in &plan.rates {
        for (slot, signal) in &rate.probes {
            let component = match slot.at {
                Location::Bond(bond, _) => owners[bond as usize].first(),
                Location::State(at) => {
                    // Components stand in the order of their states.
                    let after = entries.partition_point(|entry| entry.states <= at);
                    let holds = |c: &usize| at < entries[*c].states + entries[*c].block;
                    (0..after).rev().find(holds).map(|c| c as u32)
                }
                Location::Signal(signal) => writer.get(&signal).map(|&(component, _)| component),
            };
            if let Some(component) = component {
                writer.insert(*signal, (component, true));
            }
        }
    }
    let mut found = Vec::new();
    for (component, entry) in entries.iter().enumerate() {
        for input in &entry.inputs {
            if let Some(&(from, is_late)) = writer.get(input)
                && from as usize != component
            {
                found.push((from, component as u32, is_late));
            }
        }
    }
    for rate in &plan.rates {
        for group in rate.s.iter().chain(&rate.c).chain(&rate.q) {
            for gate in group.gates() {
                if let Some(&(from, is_late)) = writer.get(gate) {
                    let members = (0..group.len()).map(|i| group.wiring(i).component());
                    found.extend(members.map(|to| (from, to, is_late)));
                }
            }
        }
    }
    found
}

/// Components that must run in the same part: those that read a signal in the step in which it is
/// written; those that meet without a line between them; those with a smaller step and their lines;
/// all of them where temperature is carried through the circuit.
pub fn ties(plan: &Plan) -> Sets {
    let entries = &plan.variables.entries;
    let mut sets = Sets::new(entries.len());
    if plan.thermal.is_some() {
        for component in 1..entries.len() {
            sets.join(0, component);
        }
        return sets;
    }
    let mut is_fast = vec![false; entries.len()];
    for rate in plan.rates.iter().skip(1) {
        for group in rate.s.iter().chain(&rate.c).chain(&rate.q) {
            for i in 0..group.len() {
                is_fast[group.wiring(i).component() as usize] = true;
            }
        }
    }
    let fast = |component: u32| is_fast[component as usize];
    for (from, to, is_late) in signals(plan) {
        if !is_late || fast(from) || fast(to) {
            sets.join(from as usize, to as usize);
        }
    }
    let owners = owners(plan);
    for at in &owners {
        // A line with a smaller step belongs to what it joins.
        if let &[a, b] = at.ends()
            && (fast(a) || fast(b))
        {
            sets.join(a as usize, b as usize);
        }
        // Sensors go with what they look at.
        if let Some(first) = at.first() {
            at.sensors.iter().for_each(|&sensor| sets.join(first as usize, sensor as usize));
        }
    }
    for rate in &plan.rates {
        for junction in &rate.junctions {
            let of = |bond: u32| owners[bond as usize].first();
            let ends: Vec<u32> =
                junction.c.iter().chain(&junction.q).filter_map(|&b| of(b)).collect();
            // Without a Q-port there is none to compute the meeting but all of its lines together.
            if junction.q.is_none() || ends.iter().any(|&c| fast(c)) {
                for pair in ends.windows(2) {
                    sets.join(pair[0] as usize, pair[1] as usize);
                }
            }
        }
    }
    sets
}
