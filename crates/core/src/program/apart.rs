//! The units of a circuit's step, each by itself: what large circuits are made of over and over.
//!
//! Where [`program`](super::program) follows numbers from unit to unit, here each unit finds its
//! numbers in the state and leaves them there. Units that do the same with other numbers are of one
//! kind, whose program counts the numbers of a unit through: code is needed once for each kind,
//! however many there are.

use super::{
    Array, Differs, Layout, Leave, Moment, Obstacle, Part, Program, Unit, Walk, Wanted, get, set,
};
use crate::circuit::Registry;
use crate::component::{ComponentType, Group};
use crate::monitor::{Figure, FigurePlaces};
use crate::plan::Plan;
use crate::state::State;
use crate::trace::{self, Node, Op, Trace, Tree, Width};
use crate::variables::Slot;
use std::collections::HashMap;

/// When in a step a unit is done. Units of a stage other than the first do not see each other's
/// results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Signals, in order.
    Signals,
    /// C-components.
    Waves,
    /// What Q-ports see of several C-ports.
    Gather,
    /// Q-components.
    Flows,
    /// What C-ports see of them.
    Scatter,
    /// Figures of the verdict.
    Figures,
}

/// A unit.
#[derive(Clone, Debug)]
pub struct Member {
    /// Index of its kind.
    pub kind: u32,
    /// What it is.
    pub part: Part,
    /// When it is done.
    pub stage: Stage,
    /// The numbers of the state that its kind counts through.
    pub slots: Vec<u32>,
    /// Its constants.
    pub constants: Vec<f64>,
}

/// All units of a step, in the engine's order, and what is copied before them.
#[derive(Debug)]
pub struct Apart {
    /// What units of each kind do. All constants are parameters.
    pub kinds: Vec<Program>,
    /// The units.
    pub members: Vec<Member>,
    /// What signals are before all units: where to, where from, and with which sign.
    pub copies: Vec<(u32, u32, f64)>,
    /// Where the numbers of the state are; figures of the verdict come after them, in the order of
    /// [`Figures::each`](crate::monitor::Figures::each), and then the parasitic effort of each place.
    pub layout: Layout,
    /// How many numbers there are in all.
    pub numbers: usize,
}

const WANTED: Wanted =
    Wanted { watch: false, width: Width::Lanes, leave: Leave::Nothing, paths: 0 };

impl Apart {
    /// Takes a step apart; circuits with several rates, with temperature or with units that cannot be
    /// followed are not.
    pub fn of(plan: &Plan, registry: &Registry, start: &State<f64>) -> Result<Self, Vec<Obstacle>> {
        let no = |why| Err(vec![Obstacle { component: None, why }]);
        if plan.thermal.is_some() {
            return no("the oil carries temperature");
        }
        let [rate] = &plan.rates[..] else { return no("it has several steps") };
        let mut walk = walk(plan, registry, start, &|_| true);
        let layout = walk.layout;
        let place = |slot: &Slot| layout.number_of(slot.at);
        let signals = layout.first(Array::Signals);
        let mut copies: Vec<(u32, u32, f64)> =
            rate.published.iter().map(|&(from, to)| (signals + to, signals + from, 1.0)).collect();
        for (slot, to) in &rate.probes {
            let Some(from) = place(slot) else { return no("a temperature is a signal") };
            copies.push((signals + to, from, slot.sign));
        }
        let figures = FigurePlaces::of(plan);
        let numbers = (layout.first(Array::Figures) + figures.count()) as usize;
        let mut all = Self { kinds: Vec::new(), members: Vec::new(), copies, layout, numbers };
        // Units that may be of one kind, each with the first of its kind.
        let mut known: HashMap<Pattern, Vec<u32>> = HashMap::new();
        for part in parts(plan) {
            let (slots, pattern) = walk.numbers_of(part, &figures);
            let alike = known.entry(pattern).or_default();
            let is_same =
                |&&first: &&u32| do_same(plan, registry, all.members[first as usize].part, part);
            let kind = match alike.iter().find(is_same) {
                Some(&first) => all.members[first as usize].kind,
                None => {
                    let program = walk.alone(part, &slots, start)?;
                    all.kinds.push(program);
                    alike.push(all.members.len() as u32);
                    all.kinds.len() as u32 - 1
                }
            };
            let mut constants = Vec::new();
            if let Some((group, member, kind)) = group_of(plan, registry, part)
                && let Some(packing) = &kind.lanes
            {
                (packing.numbers)(group, member, &mut |x| constants.push(x));
            }
            all.members.push(Member { kind, part, stage: stage(part), slots, constants });
        }
        Ok(all)
    }

    /// What units like a member do that differ in these of their constants.
    pub fn with_constants(
        &self,
        plan: &Plan,
        registry: &Registry,
        start: &State<f64>,
        member: usize,
        differs: Differs<'_>,
    ) -> Result<Program, Vec<Obstacle>> {
        let mut walk = walk(plan, registry, start, differs);
        let Member { part, slots, .. } = &self.members[member];
        walk.alone(*part, slots, start)
    }
}

fn walk<'a>(
    plan: &'a Plan,
    registry: &'a Registry,
    start: &State<f64>,
    differs: Differs<'a>,
) -> Walk<'a> {
    let mut walk = Walk::new(plan, registry, start, WANTED, differs, &|_| false);
    walk.moments.push(Moment { rate: 0, sub: 0, of: 1, dt: plan.step });
    walk
}

fn stage(part: Part) -> Stage {
    match part {
        Part::Component { phase: 0, .. } => Stage::Signals,
        Part::Component { phase: 1, .. } => Stage::Waves,
        Part::Component { .. } => Stage::Flows,
        Part::Gather(_) => Stage::Gather,
        Part::Scatter(_) => Stage::Scatter,
        Part::Figure(_) => Stage::Figures,
    }
}

/// All units of a plan with one rate, in the engine's order.
fn parts(plan: &Plan) -> Vec<Part> {
    let rate = &plan.rates[0];
    let mut all = Vec::new();
    let phase = |phase: u8, all: &mut Vec<Part>| {
        let groups = [&rate.s, &rate.c, &rate.q][phase as usize];
        for (at, group) in groups.iter().enumerate() {
            all.extend((0..group.len()).map(|member| Part::Component {
                component: group.wiring(member).component(),
                phase,
                group: at as u32,
                member: member as u32,
            }));
        }
    };
    let junctions = 0..rate.junctions.len() as u32;
    phase(0, &mut all);
    phase(1, &mut all);
    all.extend(junctions.clone().map(Part::Gather));
    phase(2, &mut all);
    all.extend(junctions.map(Part::Scatter));
    all.extend(Figure::all(plan).into_iter().map(Part::Figure));
    all
}

/// What units have in common that may be of one kind: what they are, and which of their numbers are the
/// same.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Pattern {
    stage: Stage,
    /// The type of a component; a meeting by its domain.
    name: &'static str,
    /// Whether there is a Q-port, and the directions of ends without one, or of flows.
    meeting: (bool, Vec<u64>),
    /// The numbers in the order in which they are reached, counted through.
    numbers: Vec<u32>,
}

/// The group of a component, where in it, and its type.
fn group_of<'p>(
    plan: &'p Plan,
    registry: &Registry,
    part: Part,
) -> Option<(&'p dyn Group<f64>, usize, ComponentType)> {
    let Part::Component { component, phase, group, member } = part else { return None };
    let rate = &plan.rates[0];
    let groups = [&rate.s, &rate.c, &rate.q][phase as usize];
    let kind = registry.get(plan.variables.entries[component as usize].declaration.name)?;
    Some((groups[group as usize].as_ref(), member as usize, kind))
}

/// Whether two units with the same pattern do the same with their numbers.
fn do_same(plan: &Plan, registry: &Registry, one: Part, other: Part) -> bool {
    match (group_of(plan, registry, one), group_of(plan, registry, other)) {
        (Some((one, a, kind)), Some((other, b, _))) => {
            kind.lanes.as_ref().is_some_and(|packing| (packing.agree)((one, a), (other, b)))
        }
        // Of a meeting or a figure the pattern says all.
        (None, None) => true,
        _ => false,
    }
}

impl Walk<'_> {
    /// Follows one unit, with its numbers counted through.
    fn alone(
        &mut self,
        part: Part,
        slots: &[u32],
        start: &State<f64>,
    ) -> Result<Program, Vec<Obstacle>> {
        trace::begin(self.wanted.width, usize::MAX);
        if let Part::Figure(figure) = part {
            return Ok(self.figure(figure, slots));
        }
        for (i, &slot) in slots.iter().enumerate() {
            let value = get(start, self.layout, slot);
            set(&mut self.state, self.layout, slot, Trace::load(i as u32, value));
        }
        self.constants = 0;
        self.parameters.clear();
        self.lifted.clear();
        let plan = self.plan;
        match part {
            Part::Component { phase, group, member, .. } => {
                let rate = &plan.rates[0];
                let groups = [&rate.s, &rate.c, &rate.q][phase as usize];
                let at = (phase, group as usize, member as usize);
                self.component(groups[group as usize].as_ref(), at, 0);
            }
            _ => self.junction(0, part, 0),
        }
        let finals: Vec<Node> =
            slots.iter().map(|&slot| get(&self.state, self.layout, slot).node()).collect();
        let ops = trace::end();
        let unit = self.units.pop();
        let obstacles = std::mem::take(&mut self.obstacles);
        let Some(Unit { moment, tree, results, .. }) = unit.filter(|_| obstacles.is_empty()) else {
            return Err(obstacles);
        };
        let local = |slot: u32| slots.iter().position(|&other| other == slot).unwrap_or(0) as u32;
        let results = results.into_iter().map(|(slot, node)| (local(slot), node)).collect();
        let unit = Unit { part, moment, reach: Vec::new(), tree, results };
        Ok(self.program_of(unit, ops, finals))
    }

    /// A figure of the verdict: the numbers that it looks at come first.
    fn figure(&self, figure: Figure, slots: &[u32]) -> Program {
        let all: Vec<Trace> = (0..slots.len() as u32).map(|i| Trace::load(i, 0.0)).collect();
        let (seen, own) = FigurePlaces::of(self.plan).reach(figure);
        let place = |slot: u32| slots.iter().position(|&other| other == slot).unwrap_or(0);
        let seen: Vec<Trace> =
            seen.iter().filter_map(|&at| Some(all[place(self.layout.number_of(at)?)])).collect();
        let first = self.layout.first(Array::Figures);
        let at: Vec<usize> = own.iter().map(|&number| place(first + number)).collect();
        let mut own: Vec<Trace> = at.iter().map(|&at| all[at]).collect();
        figure.after(self.plan, &seen, &mut own, Trace::stamp());
        let mut finals: Vec<Node> = all.iter().map(|number| number.node()).collect();
        for (&at, number) in at.iter().zip(&own) {
            finals[at] = number.node();
        }
        let tree = Tree::Leaf(super::End { values: Vec::new(), events: Vec::new() });
        let part = Part::Figure(figure);
        let unit = Unit { part, moment: 0, reach: Vec::new(), tree, results: Vec::new() };
        self.program_of(unit, trace::end(), finals)
    }

    fn program_of(&self, unit: Unit, ops: Vec<Op>, finals: Vec<Node>) -> Program {
        let bonds = finals.len() as u32;
        Program {
            ops,
            units: vec![unit],
            finals,
            layout: Layout { bonds, signals: 0, states: 0, viscosity: 0, figures: 0 },
            moments: self.moments.clone(),
            obstacles: Vec::new(),
            parameters: self.parameters.clone(),
        }
    }

    /// Numbers that a unit may read or write, each once, and their pattern.
    fn numbers_of(&self, part: Part, figures: &FigurePlaces<'_>) -> (Vec<u32>, Pattern) {
        let rate = &self.plan.rates[0];
        let (name, meeting, reached) = match part {
            Part::Component { component, phase, group, .. } => {
                let entry = &self.plan.variables.entries[component as usize];
                let reach = self.layout.reach(entry);
                let [viscosity, signals] =
                    [Array::Viscosity, Array::Signals].map(|array| self.layout.first(array));
                let groups = [&rate.s, &rate.c, &rate.q][phase as usize];
                let gates = groups[group as usize].gates();
                let mut reached: Vec<u32> = entry.bonds.iter().map(|&bond| 6 * bond).collect();
                reached.extend(reach.slots);
                reached.extend(reach.read);
                reached.extend(entry.bonds.iter().map(|&bond| viscosity + bond));
                reached.extend(gates.iter().map(|&gate| signals + gate));
                (entry.declaration.name, (false, Vec::new()), reached)
            }
            Part::Figure(figure) => {
                let (seen, own) = figures.reach(figure);
                let mut reached: Vec<u32> =
                    seen.iter().filter_map(|&at| self.layout.number_of(at)).collect();
                let first = self.layout.first(Array::Figures);
                reached.extend(own.iter().map(|&number| first + number));
                let (name, signs) = match figure {
                    Figure::Inflow(i) => {
                        let (_, sign) = self.plan.watch.boundary[0][i as usize];
                        ("inflow", vec![sign.to_bits()])
                    }
                    Figure::Work(_) => ("work", Vec::new()),
                    Figure::Line(_) => ("line", Vec::new()),
                    Figure::Chamber(_) => ("chamber", Vec::new()),
                };
                (name, (false, signs), reached)
            }
            Part::Gather(index) | Part::Scatter(index) => {
                let junction = &rate.junctions[index as usize];
                let bonds = junction.q.iter().chain(&junction.c);
                let directions = junction.directions.iter().map(|x| x.to_bits()).collect();
                (
                    junction.domain.name(),
                    (junction.q.is_some(), directions),
                    bonds.flat_map(|&bond| 6 * bond..6 * bond + 6).collect(),
                )
            }
        };
        let mut slots: Vec<u32> = Vec::with_capacity(reached.len());
        let mut place: HashMap<u32, u32> = HashMap::with_capacity(reached.len());
        let mut numbers = Vec::with_capacity(reached.len());
        for slot in reached {
            let next = slots.len() as u32;
            numbers.push(*place.entry(slot).or_insert_with(|| {
                slots.push(slot);
                next
            }));
        }
        (slots, Pattern { stage: stage(part), name, meeting, numbers })
    }
}

/// Which numbers of its own a program reads.
pub fn reads(program: &Program) -> Vec<bool> {
    let mut used = vec![false; program.ops.len()];
    let mut wanted: Vec<Node> = Vec::new();
    for (slot, &node) in program.finals.iter().enumerate() {
        if program.ops[node as usize] != Op::Load(slot as u32) {
            wanted.push(node);
        }
    }
    fn of_tree(tree: &Tree<super::End>, wanted: &mut Vec<Node>) {
        match tree {
            Tree::Open => {}
            Tree::Leaf(end) => {
                wanted.extend(&end.values);
                wanted.extend(end.events.iter().map(|&(_, mask)| mask));
            }
            Tree::Branch { mask, yes, no, .. } => {
                wanted.push(*mask);
                of_tree(yes, wanted);
                of_tree(no, wanted);
            }
        }
    }
    program.units.iter().for_each(|unit| of_tree(&unit.tree, &mut wanted));
    while let Some(node) = wanted.pop() {
        if !std::mem::replace(&mut used[node as usize], true) {
            wanted.extend(program.ops[node as usize].sources());
        }
    }
    let mut reads = vec![false; program.finals.len()];
    for (node, &op) in program.ops.iter().enumerate() {
        if let Op::Load(slot) = op
            && used[node]
        {
            reads[slot as usize] = true;
        }
    }
    reads
}
