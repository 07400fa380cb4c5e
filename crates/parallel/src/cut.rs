//! A plan cut into parts: what each of them steps, and what they hand each other.
//!
//! All parts number line ends, signals and states as the whole does, and each has a state of its
//! own, in which it keeps up its own numbers and those that it needs of its neighbours. A line end
//! between a C-component of one part and a Q-component of another goes back and forth as a whole:
//! after the waves are known to the Q-side, after the flows are known back to the C-side.

use crate::parts::Partition;
use crate::ties::{Layout, Tie, clusters_of, ties, ties_of};
use fluxline_core::component::Group;
use fluxline_core::engine::{Border, Junction, RateGroup};
use fluxline_core::monitor::{Kept, Tally};
use fluxline_core::plan::Plan;
use fluxline_core::recorder::Recorder;
use fluxline_core::settings::Convention;
use fluxline_core::state::{Bond, State};
use fluxline_core::thermal::Thermal;
use fluxline_core::variables::{Location, Slot, Variables};
use fluxline_diagnostics::{Code, Diagnostic, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A plan in parts.
pub struct Cut {
    /// The parts.
    pub parts: Vec<Part>,
    /// What goes from one part to another.
    pub links: Vec<Link>,
    /// Whose numbers count: the part of each line end, signal and block of states.
    owners: Owners,
    /// The numbers of each part.
    own: Vec<Own>,
}

/// A part of a plan.
pub struct Part {
    /// What it steps.
    pub plan: Plan,
    /// What of it others wait for.
    pub border: Border,
    /// Its share in the figures of the whole.
    pub kept: Kept,
    /// How many components it steps.
    pub components: usize,
}

/// What one part hands to another in each step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The part that sends.
    pub from: usize,
    /// The part that receives.
    pub to: usize,
    /// After the waves are known.
    pub waves: Message,
    /// After the flows are known.
    pub flows: Message,
}

/// Numbers of the state that go together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Whole line ends.
    pub bonds: Vec<u32>,
    /// Signals.
    pub signals: Vec<u32>,
    /// States.
    pub states: Vec<u32>,
    /// With the temperature and viscosity of the line, or with that of what was delivered.
    heat: Option<Heat>,
    /// Sent even when it is empty, to say how far the sender is.
    always: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heat {
    OfLine,
    Delivered,
}

impl Message {
    /// Nothing is sent.
    pub fn is_empty(&self) -> bool {
        !self.always && self.len() == 0
    }

    /// How many numbers.
    pub fn len(&self) -> usize {
        self.bonds.len() * self.of_bond() + self.signals.len() + self.states.len()
    }

    /// How many numbers of each line end.
    fn of_bond(&self) -> usize {
        match self.heat {
            None => BOND,
            Some(Heat::OfLine) => BOND + 2,
            Some(Heat::Delivered) => BOND + 1,
        }
    }

    /// Takes the numbers out of a state; there is room for all of them.
    #[inline]
    pub fn read(&self, state: &State<f64>, numbers: &mut [f64]) {
        let (of_bonds, rest) = numbers.split_at_mut(self.bonds.len() * self.of_bond());
        for (numbers, &b) in of_bonds.chunks_exact_mut(self.of_bond()).zip(&self.bonds) {
            let b = b as usize;
            let bond = &state.bonds[b];
            let (whole, heat) = numbers.split_at_mut(BOND);
            whole.copy_from_slice(&[
                bond.flow,
                bond.effort,
                bond.wave,
                bond.impedance,
                bond.displacement,
                bond.dry,
            ]);
            match self.heat {
                None => {}
                Some(Heat::OfLine) => {
                    heat.copy_from_slice(&[state.line_temperature[b], state.viscosity[b]]);
                }
                Some(Heat::Delivered) => heat[0] = state.delivered_temperature[b],
            }
        }
        let (signals, states) = rest.split_at_mut(self.signals.len());
        for (x, &s) in signals.iter_mut().zip(&self.signals) {
            *x = state.signals[s as usize];
        }
        for (x, &s) in states.iter_mut().zip(&self.states) {
            *x = state.states[s as usize];
        }
    }

    /// Puts the numbers into a state.
    #[inline]
    pub fn write(&self, state: &mut State<f64>, numbers: &[f64]) {
        let (of_bonds, rest) = numbers.split_at(self.bonds.len() * self.of_bond());
        for (numbers, &b) in of_bonds.chunks_exact(self.of_bond()).zip(&self.bonds) {
            let b = b as usize;
            let (whole, heat) = numbers.split_at(BOND);
            if let &[flow, effort, wave, impedance, displacement, dry] = whole {
                state.bonds[b] = Bond { flow, effort, wave, impedance, displacement, dry };
            }
            match self.heat {
                None => {}
                Some(Heat::OfLine) => {
                    (state.line_temperature[b], state.viscosity[b]) = (heat[0], heat[1]);
                }
                Some(Heat::Delivered) => state.delivered_temperature[b] = heat[0],
            }
        }
        let (signals, states) = rest.split_at(self.signals.len());
        for (&x, &s) in signals.iter().zip(&self.signals) {
            state.signals[s as usize] = x;
        }
        for (&x, &s) in states.iter().zip(&self.states) {
            state.states[s as usize] = x;
        }
    }
}

/// Numbers of a line end.
const BOND: usize = 6;

/// Numbers that a part keeps up, and that count.
///
/// Neighbours tend to have neighbouring numbers, so that these are few ranges.
#[derive(Default)]
struct Own {
    bonds: Vec<Range<usize>>,
    signals: Vec<Range<usize>>,
    blocks: Vec<Range<usize>>,
}

/// Adds numbers that follow all that are there.
fn add(ranges: &mut Vec<Range<usize>>, next: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == next.start => last.end = next.end,
        _ => ranges.push(next),
    }
}

fn each(ranges: &[Range<usize>]) -> impl Iterator<Item = usize> {
    ranges.iter().cloned().flatten()
}

fn copy<T: Copy>(ranges: &[Range<usize>], from: &[T], to: &mut [T]) {
    for range in ranges {
        to[range.clone()].copy_from_slice(&from[range.clone()]);
    }
}

struct Owners {
    bonds: Vec<u32>,
    signals: Vec<u32>,
    /// Begin, end and part of each component's states.
    blocks: Vec<(u32, u32, u32)>,
}

/// Where the C-side and the Q-side of each line end are.
struct Sides {
    c: Vec<Option<u32>>,
    q: Vec<Option<u32>>,
}

impl Cut {
    /// Cuts a plan. Components that must stay together and do not are an error.
    pub fn new(plan: &Plan, partition: &Partition) -> Result<Self, Diagnostic> {
        Self::without(plan, partition, &[])
    }

    /// The same without some lines, whose ends are looked after elsewhere.
    pub(crate) fn without(
        plan: &Plan,
        partition: &Partition,
        removed: &[u32],
    ) -> Result<Self, Diagnostic> {
        let layout = Layout::of(plan);
        let part_of = &partition.part_of;
        if part_of.len() != plan.component_count() {
            let message = format!(
                "the partition has {} components, the circuit {}",
                part_of.len(),
                plan.component_count()
            );
            return Err(Diagnostic::error(Code::BadPartition, message)
                .help("partition the circuit as it is now: `fluxline partition`"));
        }
        for tie in ties_of(plan, &layout) {
            if part_of[tie.a as usize] != part_of[tie.b as usize] {
                return Err(torn(plan, partition, tie));
            }
        }
        let mut sides = sides(plan, &layout, part_of);
        for &line in removed {
            for &b in &plan.variables.entries[line as usize].bonds {
                let b = b as usize;
                sides.c[b] = sides.q[b].or(sides.c[b]);
            }
        }
        let links = links(plan, &layout, part_of, &sides);
        let parts = (0..partition.parts)
            .map(|part| cut_out(plan, &layout, partition, removed, &sides, &links, part as u32))
            .collect();
        let owners = owners(plan, &layout, part_of, &sides);
        let mut own: Vec<Own> = (0..partition.parts).map(|_| Own::default()).collect();
        for (b, &owner) in owners.bonds.iter().enumerate() {
            add(&mut own[owner as usize].bonds, b..b + 1);
        }
        for (s, &owner) in owners.signals.iter().enumerate() {
            add(&mut own[owner as usize].signals, s..s + 1);
        }
        for &(begin, end, owner) in &owners.blocks {
            add(&mut own[owner as usize].blocks, begin as usize..end as usize);
        }
        Ok(Self { parts, links, owners, own })
    }

    /// Copies a part's own numbers into a state of the whole.
    pub fn take_in(&self, part: usize, from: &State<f64>, whole: &mut State<f64>) {
        let own = &self.own[part];
        copy(&own.bonds, &from.bonds, &mut whole.bonds);
        copy(&own.bonds, &from.viscosity, &mut whole.viscosity);
        if !whole.line_temperature.is_empty() {
            copy(&own.bonds, &from.line_temperature, &mut whole.line_temperature);
            copy(&own.bonds, &from.delivered_temperature, &mut whole.delivered_temperature);
        }
        copy(&own.signals, &from.signals, &mut whole.signals);
        copy(&own.blocks, &from.states, &mut whole.states);
        (whole.time, whole.step, whole.rest_steps) = (from.time, from.step, from.rest_steps);
    }

    /// Takes a part's own numbers out of its state, one by one.
    pub fn read_own(&self, part: usize, state: &State<f64>, mut put: impl FnMut(f64)) {
        let own = &self.own[part];
        let heat = !state.line_temperature.is_empty();
        for b in each(&own.bonds) {
            let x = &state.bonds[b];
            for number in [x.flow, x.effort, x.wave, x.impedance, x.displacement, x.dry] {
                put(number);
            }
            put(state.viscosity[b]);
            if heat {
                put(state.line_temperature[b]);
                put(state.delivered_temperature[b]);
            }
        }
        each(&own.signals).for_each(|s| put(state.signals[s]));
        own.blocks.iter().flat_map(|block| &state.states[block.clone()]).for_each(|&x| put(x));
    }

    /// Puts a part's own numbers into a state of the whole.
    pub fn write_own(&self, part: usize, state: &mut State<f64>, mut next: impl FnMut() -> f64) {
        let own = &self.own[part];
        let heat = !state.line_temperature.is_empty();
        for b in each(&own.bonds) {
            let x = &mut state.bonds[b];
            for place in [
                &mut x.flow,
                &mut x.effort,
                &mut x.wave,
                &mut x.impedance,
                &mut x.displacement,
                &mut x.dry,
            ] {
                *place = next();
            }
            state.viscosity[b] = next();
            if heat {
                state.line_temperature[b] = next();
                state.delivered_temperature[b] = next();
            }
        }
        each(&own.signals).for_each(|s| state.signals[s] = next());
        for block in &own.blocks {
            state.states[block.clone()].iter_mut().for_each(|x| *x = next());
        }
    }

    /// Whether all own numbers of a part are within anything that machines do.
    pub fn is_sound(&self, part: usize, state: &State<f64>) -> bool {
        let sound = fluxline_core::run::sound;
        let own = &self.own[part];
        let bonds = |range: &Range<usize>| {
            let mut bonds = state.bonds[range.clone()].iter();
            bonds.all(|b| sound(b.effort) && sound(b.flow) && sound(b.wave))
        };
        own.bonds.iter().all(bonds)
            && own.blocks.iter().all(|b| state.states[b.clone()].iter().all(|&x| sound(x)))
            && own.signals.iter().all(|s| state.signals[s.clone()].iter().all(|x| x.is_finite()))
    }

    /// What of a recorder's rows each part reads: where from, and where to.
    pub fn columns(&self, recorder: &Recorder) -> Vec<Vec<(Slot, usize)>> {
        let mut columns = vec![Vec::new(); self.parts.len()];
        for (i, variable) in recorder.variables.iter().enumerate() {
            let owner = match variable.slot.at {
                Location::Bond(bond, _) => self.owners.bonds[bond as usize],
                Location::Signal(signal) => self.owners.signals[signal as usize],
                Location::State(state) => {
                    let blocks = &self.owners.blocks;
                    let after = blocks.partition_point(|block| block.1 <= state);
                    blocks.get(after).map_or(0, |block| block.2)
                }
            };
            columns[owner as usize].push((variable.slot, i + 1));
        }
        columns
    }

    /// Lines cut: line ends whose sides run in different parts.
    pub fn lines_cut(&self) -> usize {
        self.links.iter().map(|link| link.waves.bonds.len()).sum()
    }
}

/// The error for a partition that tears components apart.
fn torn(plan: &Plan, partition: &Partition, tie: Tie) -> Diagnostic {
    let Tie { a, b, why } = tie;
    let part = |component: u32| partition.part_of[component as usize];
    let message = format!(
        "`{}` runs in part {} and `{}` in part {}, but they belong together",
        plan.name(a),
        part(a),
        plan.name(b),
        part(b)
    );
    Diagnostic::error(Code::BadPartition, message)
        .on(Place::component(plan.name(a)))
        .note(why.in_words())
        .help(format!("give both the same part, or a `signal.unit_delay` between them where it is a signal; `fluxline partition` respects this: part {}", part(a)))
}

/// The part of a meeting: that of its Q-component, of an observer, or of its first line.
fn home(junction: &Junction, layout: &Layout, part_of: &[u32]) -> u32 {
    let bonds = || junction.q.iter().chain(&junction.c).map(|&b| &layout.at_bond[b as usize]);
    let first = bonds().flat_map(|at| &at[1]).chain(bonds().flat_map(|at| &at[0])).next();
    first.map_or(0, |&component| part_of[component as usize])
}

fn sides(plan: &Plan, layout: &Layout, part_of: &[u32]) -> Sides {
    let side = |kind: usize| -> Vec<Option<u32>> {
        let first = |at: &[Vec<u32>; 3]| at[kind].first().map(|&c| part_of[c as usize]);
        layout.at_bond.iter().map(first).collect()
    };
    let mut sides = Sides { c: side(0), q: side(1) };
    for junction in plan.rates.iter().flat_map(|rate| &rate.junctions) {
        for &b in junction.q.iter().chain(&junction.c) {
            sides.q[b as usize] = Some(home(junction, layout, part_of));
        }
    }
    sides
}

/// Parts that look at a line end at the beginning of a step.
fn lookers(layout: &Layout, part_of: &[u32]) -> BTreeSet<(u32, u32)> {
    let part = |component: u32| part_of[component as usize];
    let mut all = BTreeSet::new();
    for (b, at) in layout.at_bond.iter().enumerate() {
        all.extend(at[2].iter().map(|&s| (b as u32, part(s))));
    }
    for (signal, &(location, _)) in &layout.probe {
        if let Location::Bond(bond, _) = location {
            let readers = layout.readers.get(signal).into_iter().flatten();
            all.extend(readers.map(|&reader| (bond, part(reader))));
        }
    }
    all
}

fn links(plan: &Plan, layout: &Layout, part_of: &[u32], sides: &Sides) -> Vec<Link> {
    #[derive(Default)]
    struct Draft {
        waves: BTreeSet<u32>,
        flows: BTreeSet<u32>,
        signals: BTreeSet<u32>,
        states: BTreeSet<u32>,
    }
    let mut drafts: BTreeMap<(u32, u32), Draft> = BTreeMap::new();
    for b in 0..sides.c.len() {
        if let (Some(c), Some(q)) = (sides.c[b], sides.q[b])
            && c != q
        {
            drafts.entry((c, q)).or_default().waves.insert(b as u32);
            drafts.entry((q, c)).or_default().flows.insert(b as u32);
        }
    }
    for (bond, looker) in lookers(layout, part_of) {
        let Some(fresh) = sides.q[bond as usize].or(sides.c[bond as usize]) else { continue };
        // The C-side has it at the end of a step as well.
        if looker != fresh && sides.c[bond as usize] != Some(looker) {
            drafts.entry((fresh, looker)).or_default().flows.insert(bond);
        }
    }
    let part = |component: u32| part_of[component as usize];
    let readers = |signal: u32| layout.readers.get(&signal).into_iter().flatten().copied();
    for &(from, to) in plan.rates.iter().flat_map(|rate| &rate.published) {
        let Some(&source) = layout.source.get(&to) else { continue };
        for reader in readers(to).map(part).filter(|&reader| reader != part(source)) {
            drafts.entry((part(source), reader)).or_default().signals.insert(from);
        }
    }
    for (&signal, &(location, _)) in &layout.probe {
        let Location::State(state) = location else { continue };
        let Some(owner) = Layout::owner_of_state(plan, state) else { continue };
        for reader in readers(signal).map(part).filter(|&reader| reader != part(owner)) {
            drafts.entry((part(owner), reader)).or_default().states.insert(state);
        }
    }
    // Whoever sends must hear from the receiver at least once a step: see `mailbox`.
    let pairs: Vec<(u32, u32)> = drafts.keys().copied().collect();
    for (from, to) in pairs {
        drafts.entry((to, from)).or_default();
    }
    let heat = |kind: Heat| plan.thermal.is_some().then_some(kind);
    let links = drafts.into_iter().map(|((from, to), draft)| {
        let waves = Message {
            bonds: draft.waves.into_iter().collect(),
            heat: heat(Heat::OfLine),
            ..Message::default()
        };
        let mut flows = Message {
            bonds: draft.flows.into_iter().collect(),
            signals: draft.signals.into_iter().collect(),
            states: draft.states.into_iter().collect(),
            heat: heat(Heat::Delivered),
            always: false,
        };
        flows.always = waves.is_empty();
        Link { from: from as usize, to: to as usize, waves, flows }
    });
    links.collect()
}

/// The groups of a part: first those that others wait for, then the rest.
fn chosen(
    groups: &[Box<dyn Group<f64>>],
    belongs: impl Fn(u32) -> bool,
    is_border: impl Fn(u32) -> bool,
) -> (Vec<Box<dyn Group<f64>>>, usize) {
    let mut found = Vec::new();
    let mut border = 0;
    for outer in [true, false] {
        for group in groups {
            let own = |&i: &usize| {
                let component = group.wiring(i).component();
                belongs(component) && is_border(component) == outer
            };
            let members: Vec<usize> = (0..group.len()).filter(own).collect();
            if !members.is_empty() {
                found.push(group.select(&members));
            }
        }
        if outer {
            border = found.len();
        }
    }
    (found, border)
}

fn cut_out(
    plan: &Plan,
    layout: &Layout,
    partition: &Partition,
    removed: &[u32],
    sides: &Sides,
    links: &[Link],
    part: u32,
) -> Part {
    let part_of = &partition.part_of;
    let has = |component: u32| part_of[component as usize] == part && !removed.contains(&component);
    // Order matters in Hopsan, and temperature follows all flows: there nothing is put first.
    let in_order = plan.convention == Convention::Hopsan || plan.thermal.is_some();
    let mut waited = vec![[false; 2]; plan.blank.bonds.len()];
    for link in links.iter().filter(|link| link.from == part as usize) {
        link.waves.bonds.iter().for_each(|&b| waited[b as usize][0] = true);
        link.flows.bonds.iter().for_each(|&b| waited[b as usize][1] = true);
    }
    let shown: BTreeSet<u32> = (links.iter().filter(|link| link.from == part as usize))
        .flat_map(|link| link.flows.signals.iter().chain(&link.flows.states).copied())
        .collect();
    let is_border = |component: u32, phase: usize| {
        let entry = &plan.variables.entries[component as usize];
        let shows = || {
            let outputs = entry.declaration.outputs.len() as u32;
            (entry.written..entry.written + outputs).any(|s| shown.contains(&s))
                || (entry.outputs..entry.outputs + outputs).any(|s| shown.contains(&s))
                || (entry.states..entry.states + entry.block).any(|s| shown.contains(&s))
        };
        in_order || entry.bonds.iter().any(|&b| waited[b as usize][phase]) || shows()
    };
    // A meeting hands on the flows of its lines, so the components at it come first too.
    let mut at_border_meeting = BTreeSet::new();
    let mut meetings = [Vec::new(), Vec::new()];
    for junction in &plan.rates[0].junctions {
        if home(junction, layout, part_of) != part {
            continue;
        }
        let bonds = || junction.q.iter().chain(&junction.c);
        let is_outer = in_order || bonds().any(|&b| waited[b as usize][1]);
        if is_outer {
            at_border_meeting
                .extend(bonds().flat_map(|&b| layout.at_bond[b as usize][1].iter().copied()));
        }
        meetings[usize::from(!is_outer)].push(junction.clone());
    }
    let mut border = Border { junctions: meetings[0].len(), ..Border::ALL };
    let readers = |signal: u32| layout.readers.get(&signal).into_iter().flatten().copied();
    let mut components = 0;
    let rates: Vec<RateGroup> = (plan.rates.iter().enumerate())
        .map(|(rate, groups)| {
            let (s, _) = chosen(&groups.s, has, |_| true);
            let (c, c_border) = chosen(&groups.c, has, |i| rate > 0 || is_border(i, 0));
            let (q, q_border) = chosen(&groups.q, has, |i| {
                rate > 0 || is_border(i, 1) || at_border_meeting.contains(&i)
            });
            if rate == 0 {
                (border.c, border.q) = (c_border, q_border);
            }
            components += s.iter().chain(&c).chain(&q).map(|group| group.len()).sum::<usize>();
            let owner = |to: u32| layout.source.get(&to).copied();
            RateGroup {
                s: s.into(),
                c: c.into(),
                q: q.into(),
                junctions: match rate {
                    0 => meetings.iter_mut().flat_map(std::mem::take).collect(),
                    _ => (groups.junctions.iter())
                        .filter(|junction| home(junction, layout, part_of) == part)
                        .cloned()
                        .collect(),
                },
                published: (groups.published.iter())
                    .filter(|&&(_, to)| owner(to).is_some_and(has) || readers(to).any(has))
                    .copied()
                    .collect(),
                probes: (groups.probes.iter())
                    .filter(|(_, to)| readers(*to).any(has))
                    .cloned()
                    .collect(),
                borders: (groups.borders.iter())
                    .filter(|&&b| sides.q[b as usize] == Some(part))
                    .copied()
                    .collect(),
                divisor: groups.divisor,
            }
        })
        .collect();
    let at = |bonds: &[u32], side: &[Option<u32>]| {
        bonds.first().is_some_and(|&b| side[b as usize] == Some(part))
    };
    let thermal = plan.thermal.as_ref().map(|thermal| {
        let own_pools = || {
            let both = thermal.pools.iter().zip(&thermal.volumes);
            both.filter(|(pool, _)| at(&pool.bonds, &sides.c))
        };
        Thermal {
            passages: (thermal.passages.iter())
                .filter(|passage| at(&passage.bonds, &sides.q))
                .cloned()
                .collect(),
            pools: own_pools().map(|(pool, _)| pool.clone()).collect(),
            fluids: thermal.fluids.clone(),
            volumes: own_pools().map(|(_, volume)| *volume).collect(),
        }
    });
    let (watch, kept) = plan.watch.part(has, |bond, sign| {
        let side = if sign < 0.0 { &sides.c } else { &sides.q };
        side[bond as usize] == Some(part)
    });
    let nothing = State {
        bonds: Vec::new(),
        signals: Vec::new(),
        states: Vec::new(),
        viscosity: Vec::new(),
        line_temperature: Vec::new(),
        delivered_temperature: Vec::new(),
        time: plan.start,
        step: 0,
        rest_steps: 0,
        faults: Default::default(),
    };
    let plan = Plan {
        title: plan.title.clone(),
        start: plan.start,
        step: plan.step,
        convention: plan.convention,
        rates,
        thermal,
        // Names and start values are those of the whole.
        variables: Variables {
            entries: Vec::new(),
            by_name: Default::default(),
            carries_temperature: plan.variables.carries_temperature,
            convention: plan.convention,
            offers: Default::default(),
        },
        watch,
        blank: nothing.clone(),
        initial: nothing,
        fingerprint: plan.fingerprint,
    };
    Part { plan, border, kept, components }
}

fn owners(plan: &Plan, layout: &Layout, part_of: &[u32], sides: &Sides) -> Owners {
    let bonds = sides.c.iter().zip(&sides.q).map(|(c, q)| c.or(*q).unwrap_or(0)).collect();
    let mut signals = vec![0; plan.blank.signals.len()];
    for (entry, &part) in plan.variables.entries.iter().zip(part_of) {
        for o in 0..entry.declaration.outputs.len() {
            signals[entry.outputs as usize + o] = part;
        }
    }
    for rate in &plan.rates {
        for &(from, to) in &rate.published {
            signals[from as usize] = signals[to as usize];
        }
    }
    for signal in layout.probe.keys() {
        let first = layout.readers.get(signal).and_then(|readers| readers.first());
        signals[*signal as usize] = first.map_or(0, |&reader| part_of[reader as usize]);
    }
    let blocks = plan.variables.entries.iter().zip(part_of);
    let mut blocks: Vec<(u32, u32, u32)> = blocks
        .map(|(entry, &part)| (entry.states, entry.states + entry.block, part))
        .filter(|(begin, end, _)| begin < end)
        .collect();
    blocks.sort_unstable();
    Owners { bonds, signals, blocks }
}

impl Partition {
    /// A plain partition: tied components stay together, neighbours are kept close, and all parts
    /// have about as many components.
    pub fn in_order(plan: &Plan, parts: usize) -> Self {
        in_order(plan, parts, &ties(plan))
    }
}

fn in_order(plan: &Plan, parts: usize, ties: &[Tie]) -> Partition {
    let layout = Layout::of(plan);
    let components = plan.component_count();
    let cluster = clusters_of(components, ties);
    let count = cluster.iter().max().map_or(0, |&last| last as usize + 1);
    let mut neighbours: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); count];
    let mut weight = vec![0usize; count];
    cluster.iter().for_each(|&c| weight[c as usize] += 1);
    let of = |component: &u32| cluster[*component as usize];
    let join = |a: u32, b: u32, neighbours: &mut Vec<BTreeSet<u32>>| {
        if a != b {
            neighbours[a as usize].insert(b);
            neighbours[b as usize].insert(a);
        }
    };
    for at in &layout.at_bond {
        let all: Vec<u32> = at.iter().flatten().map(of).collect();
        all.windows(2).for_each(|two| join(two[0], two[1], &mut neighbours));
    }
    for junction in plan.rates.iter().flat_map(|rate| &rate.junctions) {
        let bonds = junction.q.iter().chain(&junction.c);
        let all: Vec<u32> =
            bonds.flat_map(|&b| layout.at_bond[b as usize].iter().flatten()).map(of).collect();
        all.windows(2).for_each(|two| join(two[0], two[1], &mut neighbours));
    }
    // Breadth first from the first of each connected piece, cut into equal lengths.
    let mut is_seen = vec![false; count];
    let mut order = Vec::with_capacity(count);
    for begin in 0..count {
        if std::mem::replace(&mut is_seen[begin], true) {
            continue;
        }
        let mut next = order.len();
        order.push(begin);
        while next < order.len() {
            for &n in &neighbours[order[next]] {
                if !std::mem::replace(&mut is_seen[n as usize], true) {
                    order.push(n as usize);
                }
            }
            next += 1;
        }
    }
    let mut part_of_cluster = vec![0u32; count];
    let mut before = 0;
    for cluster in order {
        let middle = before + weight[cluster] / 2;
        part_of_cluster[cluster] =
            ((middle * parts / components.max(1)) as u32).min(parts as u32 - 1);
        before += weight[cluster];
    }
    let part_of = cluster.iter().map(|&c| part_of_cluster[c as usize]).collect();
    Partition { part_of, parts }
}

/// The figures of a part, taken over from those of the whole.
pub(crate) fn figures(whole: &Plan, part: &Part, tally: &Tally) -> Tally {
    tally.part(whole, &part.plan, &part.kept)
}
