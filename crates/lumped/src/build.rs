//! From a plan to the graph of an evaluation: who writes what, along which connections.

use crate::frame::{self, LineEnd, Lines, Op};
use crate::layout::{Block, Layout, Place};
use crate::schedule::{Graph, Producer};
use fluxline_core::component::Group;
use fluxline_core::declare::Causality;
use fluxline_core::dependence::Dependence;
use fluxline_core::domain::{Domain, Role};
use fluxline_core::engine::Junction;
use fluxline_core::lumped::Lumped;
use fluxline_core::number::Num;
use fluxline_core::plan::Plan;
use fluxline_core::settings::Convention;
use fluxline_core::variables::{Location, Slot};
use fluxline_diagnostics::{Code, Diagnostic, Place as At};
use std::collections::HashMap;

/// Where a component is found in the plan.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    pub rate: u32,
    pub phase: Causality,
    pub group: u32,
    pub member: u32,
}

/// One end of a bond: component and which of its bonds.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub component: u32,
    pub port: usize,
}

/// The ends that share a bond.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    pub q: Option<End>,
    pub c: Option<End>,
    pub observers: Vec<End>,
}

/// Everything the view is made from.
pub struct Parts {
    pub layout: Layout,
    pub laws: Vec<Option<Box<dyn Lumped>>>,
    pub homes: Vec<Option<Home>>,
    pub discrete: Vec<bool>,
    pub bonds: Vec<Ends>,
    pub graph: Graph,
    pub lines: Lines,
    /// Bond of each line end.
    pub end_bonds: Vec<u32>,
    /// Where the effort of a bond stands, for those whose own ends do not hold it.
    pub bond_effort: HashMap<u32, Place>,
    /// Stores that share a pressure: their states, which must start equal.
    pub joined: Vec<(u32, u32)>,
}

pub fn group_of<'p>(plan: &'p Plan, home: &Home) -> &'p dyn Group<f64> {
    let rate = &plan.rates[home.rate as usize];
    let groups = match home.phase {
        Causality::S => &rate.s,
        Causality::C => &rate.c,
        Causality::Q => &rate.q,
    };
    groups[home.group as usize].as_ref()
}

pub fn parts(plan: &Plan) -> Result<Parts, Diagnostic> {
    if plan.convention == Convention::Hopsan {
        return Err(refusal("a model with Hopsan's conventions is defined by its steps").help(
            "run it with `solver = \"tlm\"`; circuits of Fluxline's own components take any solver",
        ));
    }
    let layout = Layout::of(plan);
    let count = plan.component_count();
    let mut laws: Vec<Option<Box<dyn Lumped>>> = (0..count).map(|_| None).collect();
    let mut homes = vec![None; count];
    for (rate, groups) in plan.rates.iter().enumerate() {
        let phases =
            [(Causality::S, &groups.s), (Causality::C, &groups.c), (Causality::Q, &groups.q)];
        for (phase, groups) in phases {
            for (group, members) in groups.iter().enumerate() {
                for member in 0..members.len() {
                    let component = members.wiring(member).component() as usize;
                    laws[component] = Some(members.lumped(member));
                    homes[component] = Some(Home {
                        rate: rate as u32,
                        phase,
                        group: group as u32,
                        member: member as u32,
                    });
                }
            }
        }
    }
    for (component, law) in laws.iter().enumerate() {
        let entry = &plan.variables.entries[component];
        if law.as_ref().is_some_and(|law| !law.has_law()) {
            let message = format!(
                "`{}` ({}) is defined by its steps and has no continuous law",
                entry.name, entry.declaration.name
            );
            return Err(refusal(&message)
                .on(At::component(&entry.name))
                .help("run the circuit with `solver = \"tlm\"`, or use another component"));
        }
    }
    let discrete = laws.iter().map(|law| law.as_ref().is_some_and(|l| l.is_discrete())).collect();
    let mut bonds = vec![Ends::default(); plan.initial.bonds.len()];
    for (component, entry) in plan.variables.entries.iter().enumerate() {
        for (port, &bond) in entry.bonds.iter().enumerate() {
            let end = End { component: component as u32, port };
            let ends = &mut bonds[bond as usize];
            let declared = &entry.declaration.ports[entry.port_of(port).0];
            match (declared.observes, entry.declaration.causality) {
                (true, _) | (_, Causality::S) => ends.observers.push(end),
                (false, Causality::C) => ends.c = Some(end),
                (false, Causality::Q) => ends.q = Some(end),
            }
        }
    }
    let size = layout.size as usize;
    let mut parts = Parts {
        graph: Graph {
            producers: vec![Producer::Given; size],
            needs: vec![Vec::new(); size],
            moves: Vec::new(),
            rank: vec![u8::MAX; size],
        },
        layout,
        laws,
        homes,
        discrete,
        bonds,
        lines: Lines::default(),
        end_bonds: Vec::new(),
        bond_effort: HashMap::new(),
        joined: Vec::new(),
    };
    for component in 0..count {
        parts.add_law(plan, component);
    }
    let mut in_junction = vec![false; parts.bonds.len()];
    let junctions: Vec<&Junction> = plan.rates.iter().flat_map(|r| &r.junctions).collect();
    for junction in &junctions {
        for &bond in junction.q.iter().chain(&junction.c) {
            in_junction[bond as usize] = true;
        }
    }
    for bond in 0..parts.bonds.len() {
        if !in_junction[bond] {
            parts.add_bond(bond as u32);
        }
    }
    for junction in junctions {
        parts.add_junction(plan, junction)?;
    }
    for bond in 0..parts.bonds.len() {
        parts.add_observers(bond);
    }
    parts.add_signals(plan);
    Ok(parts)
}

/// A circuit that has no lumped view.
pub fn refusal(message: &str) -> Diagnostic {
    Diagnostic::error(Code::NotLumped, message)
}

/// First guesses to tear: pressures and forces that Q-components see.
const RANK_EFFORT: u8 = 0;
const RANK_FLOW: u8 = 1;
const RANK_SIGNAL: u8 = 2;

impl Parts {
    fn block(&self, end: End) -> &Block {
        &self.layout.blocks[end.component as usize]
    }
    fn effort(&self, end: End) -> Place {
        self.block(end).effort(end.port)
    }
    fn flow(&self, end: End) -> Place {
        self.block(end).flow(end.port)
    }
    fn displacement(&self, end: End) -> Place {
        self.block(end).displacement(end.port)
    }
    fn is_discrete(&self, end: End) -> bool {
        self.discrete[end.component as usize]
    }

    /// Enters what a law writes and what that depends on.
    fn add_law(&mut self, plan: &Plan, component: usize) {
        let Some(law) = &self.laws[component] else { return };
        if self.discrete[component] {
            return;
        }
        let block = self.layout.blocks[component];
        let causality = plan.variables.entries[component].declaration.causality;
        let mut values: Vec<Dependence> =
            initial_values(plan, component, &block).into_iter().map(Dependence::of).collect();
        // Sources: states, inputs, and what ports bring.
        let ports = block.ports as usize;
        let mut sources: Vec<Place> = (0..block.states as usize).map(|i| block.state(i)).collect();
        sources.extend((0..block.inputs as usize).map(|i| block.input(i)));
        if causality != Causality::C {
            sources.extend((0..ports).map(|port| block.effort(port)));
        }
        if causality != Causality::Q {
            sources.extend((0..ports).map(|port| block.flow(port)));
            sources.extend((0..ports).map(|port| block.displacement(port)));
        }
        for (index, &place) in sources.iter().enumerate() {
            let value = &mut values[(place - block.begin) as usize];
            *value = Dependence::source(value.first(), index);
        }
        let local = Block { begin: 0, ..block };
        frame::evaluate(&mut values, &local, law.as_ref(), plan.start);
        let mut written: Vec<Place> =
            (0..block.outputs as usize).map(|i| block.output(i)).collect();
        written.extend((0..block.states as usize).map(|i| block.rate(i)));
        match causality {
            Causality::C => written.extend((0..ports).map(|port| block.effort(port))),
            Causality::Q => {
                written.extend((0..ports).map(|port| block.flow(port)));
                written.extend((0..ports).map(|port| block.displacement(port)));
            }
            Causality::S => {}
        }
        for place in written {
            let value = values[(place - block.begin) as usize];
            let needs = sources.iter().enumerate().filter(|(index, _)| value.on(*index));
            self.graph.needs[place as usize] = needs.map(|(_, &source)| source).collect();
            self.graph.producers[place as usize] = Producer::Law(component as u32);
        }
    }

    fn add_move(&mut self, op: Op, to: Place, needs: Vec<Place>, rank: u8) {
        let index = self.graph.moves.len() as u32;
        self.graph.moves.push(op);
        self.graph.producers[to as usize] = Producer::Move(index);
        self.graph.needs[to as usize] = needs;
        self.graph.rank[to as usize] = rank;
    }

    fn copy(&mut self, from: Place, to: Place, rank: u8) {
        self.add_move(Op::Copy { from, to }, to, vec![from], rank);
    }

    fn new_end(&mut self, bond: u32) -> u32 {
        self.lines.ends.push(LineEnd::default());
        self.end_bonds.push(bond);
        self.lines.ends.len() as u32 - 1
    }

    /// Motion goes from bodies to what they move.
    fn copy_motion(&mut self, q: End, c: End) {
        self.copy(self.flow(q), self.flow(c), RANK_FLOW);
        self.copy(self.displacement(q), self.displacement(c), RANK_FLOW);
    }

    fn add_bond(&mut self, bond: u32) {
        // An open end keeps the effort it starts with; nothing flows into an unconnected store.
        let Ends { q: Some(q), c: Some(c), .. } = self.bonds[bond as usize] else { return };
        if self.is_discrete(c) {
            let end = self.new_end(bond);
            self.add_line_meeting(vec![end], Some(self.flow(q)), self.effort(q));
        } else {
            self.copy(self.effort(c), self.effort(q), RANK_EFFORT);
        }
        self.copy_motion(q, c);
    }

    fn add_line_meeting(&mut self, ends: Vec<u32>, flow: Option<Place>, to: Place) {
        self.lines.meetings.push(ends.into());
        let meeting = self.lines.meetings.len() as u32 - 1;
        self.add_move(Op::Line { meeting, flow, to }, to, flow.into_iter().collect(), RANK_EFFORT);
    }

    fn add_junction(&mut self, plan: &Plan, junction: &Junction) -> Result<(), Diagnostic> {
        let q = junction.q.and_then(|bond| self.bonds[bond as usize].q);
        let takers: Vec<(u32, End)> = junction
            .c
            .iter()
            .filter_map(|&bond| Some((bond, self.bonds[bond as usize].c?)))
            .collect();
        match (q, junction.domain.is_mechanical()) {
            (Some(q), true) => {
                let terms: Box<[Place]> = takers.iter().map(|&(_, c)| self.effort(c)).collect();
                let to = self.effort(q);
                let needs = terms.to_vec();
                self.add_move(Op::Sum { terms, to }, to, needs, RANK_EFFORT);
                for (_, c) in takers {
                    self.copy_motion(q, c);
                }
                Ok(())
            }
            (None, true) => {
                let names = takers.iter().map(|(_, c)| plan.name(c.component));
                let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                let message = format!(
                    "{} meet without a body between them: nothing gives their motion",
                    names.join(" and ")
                );
                let first = takers.first().map_or("", |(_, c)| plan.name(c.component));
                Err(refusal(&message).on(At::component(first)).help(
                    "put a mass between them (a small one will do), or run with `solver = \"tlm\"`",
                ))
            }
            (q, false) => self.add_pressure_node(plan, junction.domain, q, takers),
        }
    }

    /// Stores and line ends under one pressure.
    fn add_pressure_node(
        &mut self,
        plan: &Plan,
        domain: Domain,
        q: Option<End>,
        takers: Vec<(u32, End)>,
    ) -> Result<(), Diagnostic> {
        let (lines, mut stores): (Vec<_>, Vec<_>) =
            takers.into_iter().partition(|&(_, c)| self.is_discrete(c));
        // What decides the pressure: an ideal source, else a store whose pressure is a state.
        stores.sort_by_key(|&(_, c)| self.graph.needs[self.effort(c) as usize].len());
        let arriving = q.map(|q| self.flow(q));
        let ends: Vec<u32> = lines.iter().map(|&(bond, _)| self.new_end(bond)).collect();
        let Some(&(_, first)) = stores.first() else {
            // Without a Q-port the pressure stands where the first end shows it.
            let to = match q {
                Some(q) => self.effort(q),
                None => self.effort(lines[0].1),
            };
            self.add_line_meeting(ends.clone(), arriving, to);
            self.bond_effort.extend(lines.iter().map(|&(bond, _)| (bond, to)));
            for (&end, &(_, c)) in ends.iter().zip(&lines) {
                let flow = self.flow(c);
                let op = Op::LineFlow { end, effort: to, to: flow };
                self.add_move(op, flow, vec![to], RANK_FLOW);
            }
            return Ok(());
        };
        let pressure = self.effort(first);
        if let Some(q) = q {
            self.copy(pressure, self.effort(q), RANK_EFFORT);
        }
        self.bond_effort.extend(lines.iter().map(|&(bond, _)| (bond, pressure)));
        let mut taken = Vec::new();
        for (&end, &(_, c)) in ends.iter().zip(&lines) {
            let flow = self.flow(c);
            let op = Op::LineFlow { end, effort: pressure, to: flow };
            self.add_move(op, flow, vec![pressure], RANK_FLOW);
            taken.push(flow);
        }
        for &(_, c) in &stores[1..] {
            let flow = self.flow(c);
            let equal = self.equal_efforts(plan, first, c, domain)?;
            self.graph.producers[flow as usize] = Producer::Constraint;
            self.graph.needs[flow as usize] = equal.to_vec();
            taken.push(flow);
        }
        let to = self.flow(first);
        let mut needs = taken.clone();
        needs.extend(arriving);
        let op = Op::Rest { from: arriving, minus: taken.into(), to };
        self.add_move(op, to, needs, RANK_FLOW);
        Ok(())
    }

    /// The numbers whose equality gives two stores one pressure: their pressures where flow changes
    /// them at once, else the rates of the states that are their pressures.
    fn equal_efforts(
        &mut self,
        plan: &Plan,
        first: End,
        other: End,
        domain: Domain,
    ) -> Result<[Place; 2], Diagnostic> {
        let depends_on_flow =
            |end: End| self.graph.needs[self.effort(end) as usize].contains(&self.flow(end));
        if depends_on_flow(first) || depends_on_flow(other) {
            return Ok([self.effort(first), self.effort(other)]);
        }
        let state_of = |end: End| {
            let block = self.block(end);
            match self.graph.needs[self.effort(end) as usize][..] {
                [place] if place >= block.state(0) && place < block.rate(0) => {
                    Some((place - block.state(0)) as usize)
                }
                _ => None,
            }
        };
        match (state_of(first), state_of(other)) {
            (Some(a), Some(b)) => {
                let (block_a, block_b) = (*self.block(first), *self.block(other));
                self.joined.push((block_a.first_state + a as u32, block_b.first_state + b as u32));
                Ok([block_a.rate(a), block_b.rate(b)])
            }
            _ => {
                let message = format!(
                    "`{}` and `{}` meet directly, and both fix the {} there",
                    plan.name(first.component),
                    plan.name(other.component),
                    domain.variables()[0].name,
                );
                Err(refusal(&message).on(At::component(plan.name(other.component))).help(
                    "put an orifice between them, or run the circuit with `solver = \"tlm\"`",
                ))
            }
        }
    }

    fn add_observers(&mut self, bond: usize) {
        let Ends { q, c, observers } = self.bonds[bond].clone();
        for observer in observers {
            if let Some(end) = q.or(c) {
                self.copy(self.effort(end), self.effort(observer), RANK_SIGNAL);
                self.copy(self.flow(end), self.flow(observer), RANK_SIGNAL);
                self.copy(self.displacement(end), self.displacement(observer), RANK_SIGNAL);
            }
        }
    }

    fn add_signals(&mut self, plan: &Plan) {
        let mut sources: HashMap<u32, (Place, bool)> = HashMap::new();
        let mut state_places: HashMap<u32, Place> = HashMap::new();
        for (entry, block) in plan.variables.entries.iter().zip(&self.layout.blocks) {
            for output in 0..block.outputs {
                sources.insert(entry.outputs + output, (block.output(output as usize), false));
            }
            for state in 0..block.states {
                state_places.insert(entry.states + state, block.state(state as usize));
            }
        }
        for rate in &plan.rates {
            for (slot, signal) in &rate.probes {
                if let Some(place) = self.probed(slot, &state_places) {
                    sources.insert(*signal, (place, slot.sign < 0.0));
                }
            }
        }
        for (component, entry) in plan.variables.entries.iter().enumerate() {
            let block = self.layout.blocks[component];
            for (input, signal) in entry.inputs.iter().enumerate() {
                let to = block.input(input);
                match sources.get(signal) {
                    Some(&(from, true)) => {
                        self.add_move(Op::Negate { from, to }, to, vec![from], RANK_SIGNAL);
                    }
                    Some(&(from, false)) => self.copy(from, to, RANK_SIGNAL),
                    None => {}
                }
            }
        }
    }

    fn probed(&self, slot: &Slot, states: &HashMap<u32, Place>) -> Option<Place> {
        match slot.at {
            Location::State(index) => states.get(&index).copied(),
            Location::Signal(_) => None,
            Location::Bond(bond, role) => {
                let ends = &self.bonds[bond as usize];
                let end = ends.q.or(ends.c)?;
                match role {
                    Role::Effort => Some(self.effort(end)),
                    Role::Flow => Some(self.flow(end)),
                    Role::Displacement => Some(self.displacement(end)),
                    Role::Wave | Role::Impedance | Role::Temperature | Role::Dry => None,
                }
            }
        }
    }
}

/// The numbers of a component's block in the start state of the plan.
pub fn initial_values(plan: &Plan, component: usize, block: &Block) -> Vec<f64> {
    let (entry, state) = (&plan.variables.entries[component], &plan.initial);
    let mut values = Vec::with_capacity(block.range().len());
    let bond = |&b: &u32| &state.bonds[b as usize];
    values.extend(entry.bonds.iter().map(|b| bond(b).effort));
    values.extend(entry.bonds.iter().map(|b| bond(b).flow));
    values.extend(entry.bonds.iter().map(|b| bond(b).displacement));
    values.extend(entry.inputs.iter().map(|&signal| state.signals[signal as usize]));
    let outputs = entry.outputs as usize;
    values.extend_from_slice(&state.signals[outputs..outputs + block.outputs as usize]);
    let (first, states) = (entry.states as usize, block.states as usize);
    let own = &state.states[first..first + 2 * states + block.memory as usize];
    values.extend_from_slice(own);
    values.extend(entry.bonds.iter().map(|&b| state.viscosity[b as usize]));
    values
}
