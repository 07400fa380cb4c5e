//! The order of an evaluation.
//!
//! Every number is given (states, time), moved along a connection, written by a law, or fixed by a
//! constraint. What depends on what is known (see [`fluxline_core::dependence`]), so laws are put in
//! an order in which each number is there before it is read; a law may run twice when half of what
//! it writes is needed for the other half (a volume's pressure before its flows). Where numbers
//! depend on themselves, the smallest such sets become clusters: some of their connections are torn
//! and solved for.

use crate::frame::Op;
use crate::layout::Place;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

/// Who writes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Producer {
    /// Nobody: a state, a constant, the output of a discrete part.
    Given,
    /// The law of a component.
    Law(u32),
    /// One of the moves.
    Move(u32),
    /// It is such that two others are equal.
    Constraint,
}

/// What writes what, and what it needs for that.
#[derive(Debug, Default)]
pub struct Graph {
    /// Per place.
    pub producers: Vec<Producer>,
    /// Per place: what it depends on; of a constraint, the two numbers that must be equal.
    pub needs: Vec<Vec<Place>>,
    /// Connections.
    pub moves: Vec<Op>,
    /// Places that are better torn than others: the smaller the better.
    pub rank: Vec<u8>,
}

/// An operation and what is known after it.
#[derive(Clone, Debug)]
pub struct Item {
    /// The operation.
    pub op: Op,
    /// What it provides.
    pub provides: Vec<Place>,
}

/// Numbers that depend on themselves.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// What is solved for.
    pub unknowns: Vec<Place>,
    /// Pairs that must be equal.
    pub equal: Vec<(Place, Place)>,
    /// What follows from the unknowns.
    pub ops: Vec<Op>,
    /// Components whose laws take part.
    pub components: Vec<u32>,
    /// Numbers from elsewhere that connections inside read.
    pub reads: Vec<Place>,
    /// What all of it depends on from outside.
    pub needs: Vec<Place>,
}

/// The order of a whole evaluation.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Operations.
    pub items: Vec<Item>,
    /// Clusters.
    pub clusters: Vec<Cluster>,
    /// Places added for torn connections.
    pub scratch: u32,
}

/// Places that nothing determines.
#[derive(Clone, Debug)]
pub struct Undetermined(pub Vec<Place>);

fn redirected(op: &Op, place: Place) -> Op {
    let mut op = op.clone();
    match &mut op {
        Op::Copy { to, .. }
        | Op::Negate { to, .. }
        | Op::Sum { to, .. }
        | Op::Line { to, .. }
        | Op::LineFlow { to, .. }
        | Op::Rest { to, .. } => *to = place,
        Op::Law(_) | Op::Solve(_) => {}
    }
    op
}

/// Finds the order.
pub fn schedule(graph: &Graph) -> Result<Schedule, Undetermined> {
    Scheduler::new(graph).run()
}

struct Scheduler<'a> {
    graph: &'a Graph,
    known: Vec<bool>,
    /// Needs that are not known yet.
    pending: Vec<u32>,
    dependents: Vec<Vec<Place>>,
    /// Per component: places its law writes.
    written: HashMap<u32, Vec<Place>>,
    ready_moves: VecDeque<Place>,
    whole_laws: VecDeque<u32>,
    /// Components of which something is ready that others wait for.
    partial_laws: BTreeSet<u32>,
    schedule: Schedule,
}

impl<'a> Scheduler<'a> {
    fn new(graph: &'a Graph) -> Self {
        let size = graph.producers.len();
        let known: Vec<bool> = graph.producers.iter().map(|p| *p == Producer::Given).collect();
        let mut dependents = vec![Vec::new(); size];
        let mut pending = vec![0; size];
        let mut written: HashMap<u32, Vec<Place>> = HashMap::new();
        for place in 0..size {
            if known[place] {
                continue;
            }
            for &need in &graph.needs[place] {
                if !known[need as usize] {
                    pending[place] += 1;
                    dependents[need as usize].push(place as Place);
                }
            }
            if let Producer::Law(component) = graph.producers[place] {
                written.entry(component).or_default().push(place as Place);
            }
        }
        Self {
            graph,
            known,
            pending,
            dependents,
            written,
            ready_moves: VecDeque::new(),
            whole_laws: VecDeque::new(),
            partial_laws: BTreeSet::new(),
            schedule: Schedule::default(),
        }
    }

    fn run(mut self) -> Result<Schedule, Undetermined> {
        for place in 0..self.known.len() {
            if !self.known[place] && self.pending[place] == 0 {
                self.is_ready(place as Place);
            }
        }
        loop {
            if let Some(place) = self.ready_moves.pop_front() {
                if let Producer::Move(index) = self.graph.producers[place as usize] {
                    self.emit(self.graph.moves[index as usize].clone(), vec![place]);
                }
            } else if let Some(component) = self.whole_laws.pop_front() {
                self.evaluate(component);
            } else if let Some(component) = self.partial_laws.pop_first() {
                self.evaluate(component);
            } else if self.known.iter().all(|&known| known) {
                return Ok(self.schedule);
            } else {
                self.solve_what_depends_on_itself()?;
            }
        }
    }

    /// What a component's law can give now and has not given yet.
    fn evaluate(&mut self, component: u32) {
        let places = &self.written[&component];
        let ready = |&&p: &&Place| !self.known[p as usize] && self.pending[p as usize] == 0;
        let provides: Vec<Place> = places.iter().filter(ready).copied().collect();
        if !provides.is_empty() {
            self.partial_laws.remove(&component);
            self.emit(Op::Law(component), provides);
        }
    }

    fn emit(&mut self, op: Op, provides: Vec<Place>) {
        for &place in &provides {
            self.known[place as usize] = true;
        }
        for &place in &provides {
            for dependent in std::mem::take(&mut self.dependents[place as usize]) {
                self.pending[dependent as usize] -= 1;
                if self.pending[dependent as usize] == 0 && !self.known[dependent as usize] {
                    self.is_ready(dependent);
                }
            }
        }
        self.schedule.items.push(Item { op, provides });
    }

    fn is_ready(&mut self, place: Place) {
        match self.graph.producers[place as usize] {
            Producer::Move(_) => self.ready_moves.push_back(place),
            Producer::Law(component) => {
                let places = &self.written[&component];
                let is_open = |&p: &Place| !self.known[p as usize] && self.pending[p as usize] > 0;
                if !places.iter().any(is_open) {
                    self.whole_laws.push_back(component);
                } else if !self.dependents[place as usize].is_empty() {
                    self.partial_laws.insert(component);
                }
            }
            Producer::Given | Producer::Constraint => {}
        }
    }

    fn solve_what_depends_on_itself(&mut self) -> Result<(), Undetermined> {
        let unknown: Vec<Place> =
            (0..self.known.len()).filter(|&p| !self.known[p]).map(|p| p as Place).collect();
        let components = strong_components(&unknown, |place| &self.graph.needs[place as usize]);
        let mut found = false;
        for scope in components {
            let inside: HashSet<Place> = scope.iter().copied().collect();
            let waits = |&p: &Place| {
                let needs = &self.graph.needs[p as usize];
                needs.iter().any(|n| !self.known[*n as usize] && !inside.contains(n))
            };
            if scope.len() < 2 || scope.iter().any(waits) {
                continue;
            }
            let cluster = self.cluster(&scope, &inside)?;
            let index = self.schedule.clusters.len() as u32;
            self.schedule.clusters.push(cluster);
            self.emit(Op::Solve(index), scope);
            found = true;
        }
        if found { Ok(()) } else { Err(Undetermined(unknown)) }
    }

    /// Tears connections of a set that depends on itself until the rest follows.
    fn cluster(
        &mut self,
        scope: &[Place],
        inside: &HashSet<Place>,
    ) -> Result<Cluster, Undetermined> {
        let graph = self.graph;
        let producer = |p: Place| graph.producers[p as usize];
        let mut torn: Vec<Place> =
            scope.iter().copied().filter(|&p| producer(p) == Producer::Constraint).collect();
        let ops = loop {
            let (ops, left) = self.follow(scope, &torn);
            if left.is_empty() {
                break ops;
            }
            let loops = strong_components(&left, |place| &graph.needs[place as usize]);
            let candidates = loops.iter().filter(|l| l.len() > 1).flatten();
            let best = candidates
                .filter(|&&p| matches!(producer(p), Producer::Move(_)))
                .min_by_key(|&&p| (graph.rank[p as usize], p));
            match best {
                Some(&place) => torn.push(place),
                None => return Err(Undetermined(left)),
            }
        };
        let mut cluster = Cluster {
            unknowns: torn.clone(),
            equal: Vec::new(),
            ops,
            components: Vec::new(),
            reads: Vec::new(),
            needs: Vec::new(),
        };
        for &place in &torn {
            match producer(place) {
                Producer::Move(index) => {
                    let scratch = graph.producers.len() as u32 + self.schedule.scratch;
                    self.schedule.scratch += 1;
                    cluster.ops.push(redirected(&graph.moves[index as usize], scratch));
                    cluster.equal.push((scratch, place));
                }
                _ => {
                    let needs = &graph.needs[place as usize];
                    cluster.equal.push((needs[0], needs[1]));
                }
            }
        }
        for op in &cluster.ops {
            match op {
                Op::Law(component) => cluster.components.push(*component),
                Op::Copy { from, .. } | Op::Negate { from, .. } => cluster.reads.push(*from),
                Op::Sum { terms, .. } => cluster.reads.extend(terms),
                Op::Line { flow, .. } => cluster.reads.extend(flow),
                Op::LineFlow { effort, .. } => cluster.reads.push(*effort),
                Op::Rest { from, minus, .. } => {
                    cluster.reads.extend(from);
                    cluster.reads.extend(minus);
                }
                Op::Solve(_) => {}
            }
        }
        cluster.reads.extend(cluster.equal.iter().flat_map(|&(a, b)| [a, b]));
        cluster.components.sort_unstable();
        cluster.components.dedup();
        let scratch = graph.producers.len() as u32;
        cluster.reads.retain(|place| *place < scratch && !inside.contains(place));
        let outside = scope.iter().flat_map(|&p| &graph.needs[p as usize]);
        let outside: BTreeSet<Place> =
            outside.copied().filter(|place| !inside.contains(place)).collect();
        cluster.needs = outside.into_iter().collect();
        Ok(cluster)
    }

    /// What follows when some numbers of a set are taken as known: operations, and what is left.
    fn follow(&self, scope: &[Place], torn: &[Place]) -> (Vec<Op>, Vec<Place>) {
        let graph = self.graph;
        let mut known: HashSet<Place> = torn.iter().copied().collect();
        let mut ops = Vec::new();
        let mut left: Vec<Place> = scope.iter().copied().filter(|p| !known.contains(p)).collect();
        loop {
            let is_known = |p: &Place| self.known[*p as usize] || known.contains(p);
            let ready: Vec<Place> = left
                .iter()
                .copied()
                .filter(|&p| graph.needs[p as usize].iter().all(is_known))
                .collect();
            let moved = ready.iter().find_map(|&p| match graph.producers[p as usize] {
                Producer::Move(index) => Some((p, index)),
                _ => None,
            });
            if let Some((place, index)) = moved {
                ops.push(graph.moves[index as usize].clone());
                known.insert(place);
            } else {
                let law_of = |p: Place| match graph.producers[p as usize] {
                    Producer::Law(component) => Some(component),
                    _ => None,
                };
                // The component of which least is missing.
                let missing = |component: u32| {
                    let open = left.iter().filter(|&&p| law_of(p) == Some(component));
                    open.filter(|p| !ready.contains(p)).count()
                };
                let next = ready
                    .iter()
                    .filter_map(|&p| law_of(p))
                    .min_by_key(|&component| (missing(component), component));
                let Some(component) = next else {
                    return (ops, left);
                };
                ops.push(Op::Law(component));
                known.extend(ready.iter().copied().filter(|&p| law_of(p) == Some(component)));
            }
            left.retain(|p| !known.contains(p));
        }
    }
}

/// Sets of places that depend on each other, those that others need first (Tarjan).
fn strong_components<'g>(
    places: &[Place],
    needs: impl Fn(Place) -> &'g Vec<Place>,
) -> Vec<Vec<Place>> {
    const UNSEEN: u32 = u32::MAX;
    let index_of: HashMap<Place, usize> =
        places.iter().enumerate().map(|(index, &place)| (place, index)).collect();
    let mut order = vec![UNSEEN; places.len()];
    let mut low = vec![0u32; places.len()];
    let mut on_stack = vec![false; places.len()];
    let (mut stack, mut found, mut counter) = (Vec::new(), Vec::new(), 0u32);
    for root in 0..places.len() {
        if order[root] != UNSEEN {
            continue;
        }
        let mut walk = vec![(root, 0usize)];
        while let Some((node, next)) = walk.pop() {
            if next == 0 {
                order[node] = counter;
                low[node] = counter;
                counter += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            let needed = needs(places[node]);
            let mut next = next;
            let mut descended = false;
            while next < needed.len() {
                let other = index_of.get(&needed[next]).copied();
                next += 1;
                match other {
                    Some(other) if order[other] == UNSEEN => {
                        walk.push((node, next));
                        walk.push((other, 0));
                        descended = true;
                        break;
                    }
                    Some(other) if on_stack[other] => low[node] = low[node].min(order[other]),
                    _ => {}
                }
            }
            if descended {
                continue;
            }
            if low[node] == order[node] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    component.push(places[member]);
                    if member == node {
                        break;
                    }
                }
                component.sort_unstable();
                found.push(component);
            }
            if let Some(&(parent, _)) = walk.last() {
                low[parent] = low[parent].min(low[node]);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(producers: Vec<Producer>, needs: Vec<Vec<Place>>, moves: Vec<Op>) -> Graph {
        let rank = vec![0; producers.len()];
        Graph { producers, needs, moves, rank }
    }

    #[test]
    fn a_law_runs_twice_when_half_of_it_is_needed_for_the_other_half() {
        // A volume: pressure 1 from state 0, rate 2 from flow 3; an orifice: flow 4 from pressure 5.
        let g = graph(
            vec![
                Producer::Given,
                Producer::Law(0),
                Producer::Law(0),
                Producer::Move(1),
                Producer::Law(1),
                Producer::Move(0),
            ],
            vec![vec![], vec![0], vec![0, 3], vec![4], vec![5], vec![1]],
            vec![Op::Copy { from: 1, to: 5 }, Op::Copy { from: 4, to: 3 }],
        );
        let schedule = schedule(&g).unwrap();
        let laws: Vec<u32> = schedule
            .items
            .iter()
            .filter_map(|item| match item.op {
                Op::Law(component) => Some(component),
                _ => None,
            })
            .collect();
        assert_eq!(laws, [0, 1, 0]);
        assert!(schedule.clusters.is_empty());
    }

    #[test]
    fn what_depends_on_itself_is_torn_at_one_connection() {
        // A line end: pressure 1 from flow 2; a valve: flow 2 from pressure 1.
        let g = graph(
            vec![Producer::Given, Producer::Move(0), Producer::Law(0)],
            vec![vec![], vec![2], vec![1]],
            vec![Op::Line { meeting: 0, flow: Some(2), to: 1 }],
        );
        let schedule = schedule(&g).unwrap();
        let [cluster] = &schedule.clusters[..] else {
            panic!("one cluster");
        };
        assert_eq!(cluster.unknowns, [1]);
        assert_eq!(cluster.equal, [(3, 1)]);
        assert!(matches!(cluster.ops[..], [Op::Law(0), Op::Line { to: 3, .. }]));
    }
}
