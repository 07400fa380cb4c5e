//! Components that must run in the same part.
//!
//! Within a step, parts hand each other waves and flows at line ends, and what C- and Q-components
//! show to others, who read it one step later. Everything that is needed earlier ties components
//! together: signals, which run through in one step; several components that look at one line end;
//! meetings of ports; whatever runs with a smaller step, but for its lines to the main step.

use fluxline_core::declare::Causality;
use fluxline_core::domain::Role;
use fluxline_core::plan::Plan;
use fluxline_core::settings::Convention;
use fluxline_core::variables::Location;
use std::collections::HashMap;

/// Why two components must run in the same part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// One reads a signal of the other in the same step.
    Signal,
    /// They look at the same line end.
    LineEnd,
    /// They meet with others at one place.
    Meeting,
    /// They run with a smaller step.
    SmallStep,
    /// One is stepped only while an output of the other is positive.
    Gate,
    /// One reads the temperature of the other.
    Temperature,
    /// They hand each other something that parts which exchange rarely cannot.
    Rarely,
}

impl Why {
    /// In words, after two names.
    pub fn in_words(self) -> &'static str {
        match self {
            Why::Signal => "a signal goes from one to the other within a step",
            Why::LineEnd => "both are attached to the same end of a line",
            Why::Meeting => "both meet at one junction",
            Why::SmallStep => "they are joined within a sub-circuit with a smaller step",
            Why::Gate => "one is stepped only while an output of the other is positive",
            Why::Temperature => "one reads the temperature of the other",
            Why::Rarely => "only lumped volumes of oil join parts that exchange rarely",
        }
    }
}

/// Two components that must run in the same part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tie {
    /// One component.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Why.
    pub why: Why,
}

/// What a plan says of each component and line end, for splitting it.
pub(crate) struct Layout {
    /// Rate of each component; `None` when it is left out of the run.
    pub rate: Vec<Option<usize>>,
    /// Components at each bond: C, Q, S.
    pub at_bond: Vec<[Vec<u32>; 3]>,
    /// Component that writes each signal, as others see it.
    pub source: HashMap<u32, u32>,
    /// Where each signal that is read from a port or state comes from, and its rate.
    pub probe: HashMap<u32, (Location, usize)>,
    /// Components that read each signal.
    pub readers: HashMap<u32, Vec<u32>>,
}

impl Layout {
    pub fn of(plan: &Plan) -> Self {
        let entries = &plan.variables.entries;
        let mut rate = vec![None; entries.len()];
        let mut gated = Vec::new();
        for (r, groups) in plan.rates.iter().enumerate() {
            for group in groups.s.iter().chain(&groups.c).chain(&groups.q) {
                for i in 0..group.len() {
                    let component = group.wiring(i).component();
                    rate[component as usize] = Some(r);
                    gated.extend(group.gates().iter().map(|&gate| (gate, component)));
                }
            }
        }
        let mut at_bond = vec![<[Vec<u32>; 3]>::default(); plan.blank.bonds.len()];
        let mut source = HashMap::new();
        let mut readers: HashMap<u32, Vec<u32>> = HashMap::new();
        for (i, entry) in entries.iter().enumerate() {
            let i = i as u32;
            for o in 0..entry.declaration.outputs.len() as u32 {
                source.insert(entry.outputs + o, i);
            }
            if rate[i as usize].is_none() {
                continue;
            }
            let kind = match entry.declaration.causality {
                Causality::C => 0,
                Causality::Q => 1,
                Causality::S => 2,
            };
            for &bond in &entry.bonds {
                at_bond[bond as usize][kind].push(i);
            }
            for &input in &entry.inputs {
                readers.entry(input).or_default().push(i);
            }
        }
        for (gate, component) in gated {
            readers.entry(gate).or_default().push(component);
        }
        let mut probe = HashMap::new();
        for (r, groups) in plan.rates.iter().enumerate() {
            for (slot, to) in &groups.probes {
                probe.insert(*to, (slot.at, r));
            }
        }
        Self { rate, at_bond, source, probe, readers }
    }

    /// The component that a state belongs to.
    pub fn owner_of_state(plan: &Plan, state: u32) -> Option<u32> {
        // Blocks of states stand in the order of the components.
        let entries = &plan.variables.entries;
        let after = entries.partition_point(|entry| entry.states <= state);
        // Components without states share their begin with the next.
        (0..after)
            .rev()
            .find(|&i| state < entries[i].states + entries[i].block && entries[i].states <= state)
            .map(|i| i as u32)
    }
}

/// Which components must run in the same part, and why.
pub fn ties(plan: &Plan) -> Vec<Tie> {
    ties_of(plan, &Layout::of(plan))
}

pub(crate) fn ties_of(plan: &Plan, layout: &Layout) -> Vec<Tie> {
    let mut ties = Vec::new();
    let mut tie = |a: u32, b: u32, why: Why| {
        if a != b {
            ties.push(Tie { a, b, why });
        }
    };
    let entries = &plan.variables.entries;
    let is_hopsan = plan.convention == Convention::Hopsan;
    let is_slow = |i: u32| layout.rate[i as usize].is_none_or(|rate| rate == 0);
    let each_two = |all: &[u32], why: Why, tie: &mut dyn FnMut(u32, u32, Why)| {
        all.windows(2).for_each(|two| tie(two[0], two[1], why));
    };
    for [c, q, s] in &layout.at_bond {
        each_two(c, Why::LineEnd, &mut tie);
        each_two(q, Why::LineEnd, &mut tie);
        if let (Some(&c), Some(&q)) = (c.first(), q.first())
            && !is_slow(c)
        {
            tie(c, q, Why::SmallStep);
        }
        for &s in s.iter().filter(|&&s| !is_slow(s)) {
            for &other in c.iter().chain(q) {
                tie(s, other, Why::SmallStep);
            }
        }
    }
    for (rate, groups) in plan.rates.iter().enumerate() {
        for junction in &groups.junctions {
            let bonds = junction.q.iter().chain(&junction.c);
            let at = bonds.map(|&b| &layout.at_bond[b as usize]);
            let all: Vec<u32> = match rate {
                // Lines may lead to other parts.
                0 => at.flat_map(|[_, q, _]| q).copied().collect(),
                _ => at.flatten().flatten().copied().collect(),
            };
            each_two(&all, Why::Meeting, &mut tie);
        }
    }
    let mut signals: Vec<(&u32, &Vec<u32>)> = layout.readers.iter().collect();
    signals.sort_unstable();
    for (signal, readers) in signals {
        for &reader in readers {
            if let Some(&source) = layout.source.get(signal) {
                let is_gate = !entries[reader as usize].inputs.contains(signal);
                let why = match () {
                    () if is_gate => Why::Gate,
                    () if !is_slow(reader) || !is_slow(source) => Why::SmallStep,
                    () if is_hopsan
                        || entries[source as usize].declaration.causality == Causality::S =>
                    {
                        Why::Signal
                    }
                    () => continue,
                };
                tie(source, reader, why);
            } else if let Some(&(location, rate)) = layout.probe.get(signal) {
                let at = |bond: u32| &layout.at_bond[bond as usize];
                match location {
                    Location::Bond(bond, Role::Temperature) => {
                        at(bond)[0].iter().for_each(|&c| tie(c, reader, Why::Temperature));
                    }
                    _ if rate == 0 && !is_hopsan => {}
                    Location::Bond(bond, _) => {
                        let [c, q, _] = at(bond);
                        c.iter().chain(q).for_each(|&c| tie(c, reader, Why::SmallStep));
                    }
                    Location::State(state) => {
                        if let Some(owner) = Layout::owner_of_state(plan, state) {
                            tie(owner, reader, Why::SmallStep);
                        }
                    }
                    Location::Signal(_) => {}
                }
            }
        }
    }
    ties
}

/// Clusters of tied components: a number for each component, from 0 in order of first members.
pub fn clusters(plan: &Plan) -> Vec<u32> {
    clusters_of(plan.component_count(), &ties(plan))
}

pub(crate) fn clusters_of(components: usize, ties: &[Tie]) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..components as u32).collect();
    fn root(parent: &mut [u32], mut i: u32) -> u32 {
        while parent[i as usize] != i {
            parent[i as usize] = parent[parent[i as usize] as usize];
            i = parent[i as usize];
        }
        i
    }
    for tie in ties {
        let (a, b) = (root(&mut parent, tie.a), root(&mut parent, tie.b));
        parent[a.max(b) as usize] = a.min(b);
    }
    let mut number = vec![u32::MAX; components];
    let mut count = 0;
    (0..components as u32)
        .map(|i| {
            let root = root(&mut parent, i) as usize;
            if number[root] == u32::MAX {
                number[root] = count;
                count += 1;
            }
            number[root]
        })
        .collect()
}
