//! Parts that exchange every n-th step only, for machines with slow connections.
//!
//! Here is where such parts are cut: at lumped volumes of oil, which are made several steps long.
//! How they then exchange is told in [`crate::rarely`].

use crate::cost::Costs;
use crate::cut::Cut;
use crate::graph::Tasks;
use crate::mapping::{Method, map};
use crate::parts::Partition;
use crate::ties::{Layout, Tie, Why, clusters_of, ties_of};
use fluxline_core::component::Filter;
use fluxline_core::declare::Causality;
use fluxline_core::domain::Domain;
use fluxline_core::plan::Plan;
use fluxline_core::state::Bond;
use fluxline_diagnostics::{Code, Diagnostic, Place};
use std::collections::{BTreeMap, BTreeSet};

/// A line between parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitLine {
    /// The component.
    pub component: u32,
    /// Its ends, and the part of each.
    pub bonds: Vec<u32>,
    /// The part of each end.
    pub parts: Vec<u32>,
    /// Where its pressure is among the states.
    pub pressure_state: u32,
}

/// Numbers of an end of a split line that are exchanged: pressure and flow.
pub(crate) const NUMBERS: usize = 2;

/// The bound of the split error where none is given, as a share of the largest pressure.
///
/// The ends of a line are off its mean pressure by half of the split error. Resonances that a hard
/// start leaves behind go on with what was wrong in the beginning: with this bound, pressures of the
/// dual transmission among the examples stay within 0.06 % of the largest one, and exchanges are 1.25
/// times as many as with a fixed n of 10.
pub const SPLIT_ERROR: f64 = 1e-4;

/// A plan in parts that exchange rarely.
pub struct RareCut {
    /// The parts; nothing goes between them but at split lines.
    pub split: Cut,
    /// The lines between them.
    pub lines: Vec<SplitLine>,
    /// Exchange every so many steps, where the bound allows it.
    pub every: u32,
    /// Where the split error of a line exceeds this share of its largest pressure, its ends exchange
    /// more often; infinite for those who want `every` whatever it costs.
    pub bound: f64,
    /// The filter of the circuit's lines.
    pub filter: Filter,
}

/// Whether a line can be split: a lumped volume of oil of constant stiffness.
fn can_be_split(plan: &Plan, layout: &Layout, component: usize) -> bool {
    let entry = &plan.variables.entries[component];
    let declaration = entry.declaration;
    ["hydraulic.volume", "hydraulic.line"].contains(&declaration.name)
        && layout.rate[component] == Some(0)
        && declaration.ports.iter().all(|port| port.domain == Domain::Hydraulic)
        && plan.watch.lumped.iter().any(|(lumped, _)| *lumped as usize == component)
        // At a meeting the line's end is not its neighbour's.
        && !plan.rates.iter().flat_map(|rate| &rate.junctions).any(|junction| {
            junction.q.iter().chain(&junction.c).any(|b| entry.bonds.contains(b))
        })
}

/// Components that must run in the same part when parts exchange rarely: all but those at lumped
/// volumes.
pub fn rare_ties(plan: &Plan) -> Vec<Tie> {
    let layout = Layout::of(plan);
    let mut ties = ties_of(plan, &layout);
    let mut tie = |a: u32, b: u32, why: Why| {
        if a != b {
            ties.push(Tie { a, b, why });
        }
    };
    let is_splittable: Vec<bool> =
        (0..plan.component_count()).map(|i| can_be_split(plan, &layout, i)).collect();
    for [c, q, s] in &layout.at_bond {
        for &c in c.iter().filter(|&&c| !is_splittable[c as usize]) {
            q.iter().for_each(|&q| tie(c, q, Why::Rarely));
        }
        // Whoever looks at a line end stays at it.
        for &s in s {
            q.iter().chain(c).take(1).for_each(|&other| tie(s, other, Why::Rarely));
        }
    }
    for junction in plan.rates.iter().flat_map(|rate| &rate.junctions) {
        let bonds = junction.q.iter().chain(&junction.c);
        let all: Vec<u32> =
            bonds.flat_map(|&b| layout.at_bond[b as usize].iter().flatten()).copied().collect();
        all.windows(2).for_each(|two| tie(two[0], two[1], Why::Rarely));
    }
    for (signal, readers) in &layout.readers {
        let source = layout.source.get(signal).copied();
        let probed = layout.probe.get(signal).and_then(|(location, _)| match location {
            fluxline_core::variables::Location::Bond(bond, _) => {
                let [c, q, _] = &layout.at_bond[*bond as usize];
                q.first().or(c.first()).copied()
            }
            fluxline_core::variables::Location::State(state) => {
                Layout::owner_of_state(plan, *state)
            }
            fluxline_core::variables::Location::Signal(_) => None,
        });
        for &reader in readers {
            if let Some(source) = source.or(probed) {
                tie(source, reader, Why::Rarely);
            }
        }
    }
    ties
}

impl Partition {
    /// Parts that exchange rarely: about equal work, cut where volumes are large, since the split
    /// error falls with the volume. The same on every machine.
    pub fn for_rare_exchange(plan: &Plan, parts: usize) -> Self {
        let costs = Costs::typical();
        let cluster = clusters_of(plan.component_count(), &rare_ties(plan));
        let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (component, &cluster) in cluster.iter().enumerate() {
            groups.entry(cluster).or_default().push(component);
        }
        let groups: Vec<Vec<usize>> = groups.into_values().collect();
        let tasks = Tasks::weighted(plan, costs, &stiffness(plan)).with_groups(&groups);
        map(&tasks, &costs.links(), parts, Method::Multilevel, 1).partition
    }
}

/// How stiff each line end is: its impedance over that of the middle one of all.
fn stiffness(plan: &Plan) -> Vec<f64> {
    let impedance = |bond: &Bond<f64>| bond.impedance;
    let mut all: Vec<f64> = plan.initial.bonds.iter().map(impedance).filter(|&z| z > 0.0).collect();
    all.sort_by(f64::total_cmp);
    let middle = all.get(all.len() / 2).copied().unwrap_or(1.0);
    let of = |bond: &Bond<f64>| (bond.impedance / middle).clamp(0.05, 20.0);
    plan.initial.bonds.iter().map(of).collect()
}

impl RareCut {
    /// The same with exchanges every n-th step, whatever the error.
    pub fn strictly(self) -> Self {
        Self { bound: f64::INFINITY, ..self }
    }

    /// Whether lines exchange more often where that is needed.
    pub fn is_bounded(&self) -> bool {
        self.bound.is_finite()
    }

    /// How many numbers go from one part to another at an exchange.
    pub fn sizes(&self) -> BTreeMap<(usize, usize), usize> {
        let mut sizes = BTreeMap::new();
        for line in &self.lines {
            let others: BTreeSet<u32> = line.parts.iter().copied().collect();
            for &from in &line.parts {
                for &to in others.iter().filter(|&&to| to != from) {
                    *sizes.entry((from as usize, to as usize)).or_default() += NUMBERS;
                }
            }
        }
        sizes
    }

    /// Cuts a plan at lumped volumes; anything else that goes from part to part is an error.
    pub fn new(
        plan: &Plan,
        partition: &Partition,
        every: u32,
        filter: Filter,
    ) -> Result<Self, Diagnostic> {
        let layout = Layout::of(plan);
        let mut part_of = partition.part_of.clone();
        let mut lines = Vec::new();
        for (component, entry) in plan.variables.entries.iter().enumerate() {
            if entry.declaration.causality != Causality::C || layout.rate[component].is_none() {
                continue;
            }
            let own = partition.part_of[component];
            let part = |&bond: &u32| {
                let q = layout.at_bond[bond as usize][1].first();
                q.map_or(own, |&q| partition.part_of[q as usize])
            };
            let parts: Vec<u32> = entry.bonds.iter().map(part).collect();
            if parts.iter().all(|&part| part == own) {
                continue;
            }
            if !can_be_split(plan, &layout, component) {
                return Err(uncut(plan, component, every));
            }
            part_of[component] = parts[0];
            if parts.iter().all(|&part| part == parts[0]) {
                // All its neighbours are in one part: it moves there.
                continue;
            }
            lines.push(SplitLine {
                component: component as u32,
                bonds: entry.bonds.to_vec(),
                parts,
                pressure_state: entry.states,
            });
        }
        let moved = Partition { part_of, parts: partition.parts };
        let split_lines: Vec<u32> = lines.iter().map(|line| line.component).collect();
        let split = Cut::without(plan, &moved, &split_lines)?;
        if let Some(link) = split.links.iter().find(|l| l.waves.len() + l.flows.len() > 0) {
            let message =
                format!("something goes from part {} to part {} in every step", link.from, link.to);
            return Err(Diagnostic::error(Code::BadPartition, message)
                .note("parts that exchange rarely may only be joined by lumped volumes of oil")
                .help("exchange every step, or let `fluxline run --threads N --exchange-every n` choose the parts"));
        }
        Ok(Self { split, lines, every, bound: SPLIT_ERROR, filter })
    }
}

fn uncut(plan: &Plan, component: usize, every: u32) -> Diagnostic {
    let entry = &plan.variables.entries[component];
    let message = format!(
        "`{}` ({}) cannot be split between parts that exchange every {every} steps",
        entry.name, entry.declaration.name
    );
    Diagnostic::error(Code::BadPartition, message)
        .on(Place::component(&entry.name))
        .note("only lumped volumes of oil can, with one component at each of their ports")
        .help("give its neighbours the same part, or exchange every step")
}
