//! A whole circuit's step as a program: what [`crate::trace`] writes down when the engine's order of
//! work is followed once.
//!
//! A program is a list of [`Unit`]s (a component, or one half of a junction), each a tree of
//! decisions whose ends say what becomes of the numbers that the unit may write. Between units
//! numbers are nodes and not memory: what a C-component sends as a wave is what its neighbour
//! computes with. A unit that cannot be followed, or only in part, is left to the engine
//! ([`Unit::run`]), which finds its numbers in the state and leaves them there.

use crate::circuit::Registry;
use crate::component::{Clock, Group, GroupOf, Physics, view};
use crate::domain::Role;
use crate::monitor::{Figure, Figures};
use crate::number::{Mask, Num};
use crate::plan::Plan;
use crate::state::{Bond, Faults, State};
use crate::step::place_in_bonds;
use crate::trace::{self, Followed, Node, Op, Probe, Trace, Tree, Width};
use crate::variables::{Entry, Location};
use std::collections::HashMap;
use std::ops::Range;
use unchanging::Trial;

pub mod apart;
mod unchanging;

/// Computes one member of a group on the tape; false when the group is of another type. Constants
/// become numbers of the tape by the function, in order.
pub type Follow =
    fn(&dyn Group<f64>, usize, &mut dyn FnMut(f64) -> Trace, (&mut State<Trace>, Clock)) -> bool;

/// [`Follow`] for component type `M`.
#[cfg_attr(not(feature = "fused"), expect(dead_code, reason = "for every type, where asked for"))]
pub(crate) fn follow<M: Physics>(
    group: &dyn Group<f64>,
    member: usize,
    lift: &mut dyn FnMut(f64) -> Trace,
    (state, clock): (&mut State<Trace>, Clock),
) -> bool {
    let Some(group) = group.as_any().downcast_ref::<GroupOf<M, f64>>() else { return false };
    let (Some(constants), Some(wiring)) =
        (group.constants().get(member), group.wirings().get(member))
    else {
        return false;
    };
    let constants = M::lift(constants, lift);
    M::step(&constants, &mut view::<M, Trace>(wiring, state, clock));
    true
}

/// Where the arrays of a state begin when all its numbers are counted through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Numbers of bonds, six each.
    pub bonds: u32,
    /// Signals.
    pub signals: u32,
    /// States, rates, memory and history.
    pub states: u32,
    /// Viscosities, which do not change.
    pub viscosity: u32,
    /// Figures of the verdict, where they are watched.
    pub figures: u32,
}

/// An array of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Array {
    /// Numbers of bonds.
    Bonds,
    /// Signals.
    Signals,
    /// States, rates, memory and history.
    States,
    /// Viscosities.
    Viscosity,
    /// Figures of the verdict.
    Figures,
}

impl Layout {
    /// The numbers of a state, without figures.
    pub fn of(state: &State<f64>) -> Self {
        Self {
            bonds: 6 * state.bonds.len() as u32,
            signals: state.signals.len() as u32,
            states: state.states.len() as u32,
            viscosity: state.viscosity.len() as u32,
            figures: 0,
        }
    }

    /// The array that a number is in, and where in it.
    pub fn place(self, slot: u32) -> (Array, u32) {
        let mut at = slot;
        for (array, length) in [
            (Array::Bonds, self.bonds),
            (Array::Signals, self.signals),
            (Array::States, self.states),
            (Array::Viscosity, self.viscosity),
        ] {
            if at < length {
                return (array, at);
            }
            at -= length;
        }
        (Array::Figures, at)
    }
    /// Where a variable is among all numbers; temperature is not there.
    pub fn number_of(self, location: Location) -> Option<u32> {
        Some(match location {
            Location::Bond(_, Role::Temperature) => return None,
            Location::Bond(bond, role) => place_in_bonds(bond, role) as u32,
            Location::Signal(signal) => self.first(Array::Signals) + signal,
            Location::State(index) => self.first(Array::States) + index,
        })
    }
    /// What a component reaches, in the order in which it is declared.
    fn reach(self, entry: &Entry) -> Reach {
        let (signals, states) = (self.first(Array::Signals), self.first(Array::States));
        let mut bonds: Vec<u32> = Vec::with_capacity(entry.bonds.len());
        for &bond in &entry.bonds {
            if !bonds.contains(&bond) {
                bonds.push(bond);
            }
        }
        let mut slots: Vec<u32> = bonds.iter().flat_map(|&bond| 6 * bond..6 * bond + 6).collect();
        let outputs = entry.declaration.outputs.len() as u32;
        slots.extend((entry.written..entry.written + outputs).map(|i| signals + i));
        let long = long_history(entry);
        let is_long = long.is_some();
        let kept = long.map_or(entry.block, |history| history.start - entry.states);
        slots.extend((entry.states..entry.states + kept).map(|i| states + i));
        let read = entry.inputs.iter().map(|&i| signals + i).collect();
        Reach { slots, read, is_long }
    }
    /// Where an array begins when all numbers are counted through.
    pub fn first(self, array: Array) -> u32 {
        let lengths = [0, self.bonds, self.signals, self.states, self.viscosity];
        lengths[..=array as usize].iter().sum()
    }
}

/// A time that units compute with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// The rate.
    pub rate: u32,
    /// Which sub-step of the main step.
    pub sub: u32,
    /// Of how many.
    pub of: u32,
    /// Length of the sub-step, s.
    pub dt: f64,
}

impl Moment {
    /// The clock at this moment of main step `tick` (from 1), at a time.
    pub fn clock(&self, time: f64, tick: u64) -> Clock {
        let tick = (tick - 1) * u64::from(self.of) + u64::from(self.sub) + 1;
        Clock { time, dt: self.dt, tick }
    }
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A component: phase 0 signals, 1 C, 2 Q; its group, and where in it.
    Component {
        /// Component index.
        component: u32,
        /// Phase.
        phase: u8,
        /// Group of the phase.
        group: u32,
        /// Position in the group.
        member: u32,
    },
    /// What a Q-port sees of all C-ports that it meets.
    Gather(u32),
    /// What they see of it.
    Scatter(u32),
    /// What a place adds to the figures of the verdict.
    Figure(Figure),
}

/// What a component reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its equations did not converge.
    Unconverged,
    /// It asked to stop.
    Stop,
}

/// The end of a path through a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// What becomes of each number of [`Unit::results`].
    pub values: Vec<Node>,
    /// What was reported, and in which lanes.
    pub events: Vec<(Event, Node)>,
}

/// A piece of the step.
#[derive(Clone, Debug)]
pub struct Unit {
    /// What it is.
    pub part: Part,
    /// When: index of [`Program::moments`].
    pub moment: u32,
    /// Numbers that it may read or write, with what they are before it.
    pub reach: Vec<(u32, Node)>,
    /// What it does; where the tree is open, the engine does it.
    pub tree: Tree<End>,
    /// Numbers that come out differently on different paths: slot, and the node that stands for the
    /// result.
    pub results: Vec<(u32, Node)>,
}

impl Unit {
    /// Has the engine compute it, in main step `tick` (from 1) at a time.
    pub fn run(&self, plan: &Plan, moment: &Moment, state: &mut State<f64>, time: f64, tick: u64) {
        let rate = &plan.rates[moment.rate as usize];
        let clock = moment.clock(time, tick);
        match self.part {
            Part::Component { phase, group, member, .. } => {
                let groups = [&rate.s, &rate.c, &rate.q][phase as usize];
                groups[group as usize].step_one(member as usize, state, clock);
            }
            Part::Gather(junction) => {
                rate.junctions[junction as usize].gather(&mut state.bonds, moment.dt);
            }
            Part::Scatter(junction) => {
                rate.junctions[junction as usize].scatter(&mut state.bonds);
            }
            // The engine adds up all of them, with the tally.
            Part::Figure(_) => {}
        }
    }
}

/// Why a unit is not followed.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// The component; junctions have none.
    pub component: Option<u32>,
    /// Why.
    pub why: &'static str,
}

/// What the engine may do in the place of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Nothing.
    Nothing,
    /// Units that cannot be followed.
    Units,
    /// Those, and rare paths of others.
    Paths,
}

/// What a program is wanted for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// With the figures of the verdict.
    pub watch: bool,
    /// One run, or several side by side.
    pub width: Width,
    /// What is left to the engine.
    pub leave: Leave,
    /// Paths that are explored in each unit.
    pub paths: usize,
}

/// A circuit's step.
#[derive(Debug)]
pub struct Program {
    /// All nodes.
    pub ops: Vec<Op>,
    /// The work, in order.
    pub units: Vec<Unit>,
    /// What each number is at the end of the step, by slot.
    pub finals: Vec<Node>,
    /// Where the numbers are.
    pub layout: Layout,
    /// The times that occur; the first is the end of the main step.
    pub moments: Vec<Moment>,
    /// What is left to the engine, and why.
    pub obstacles: Vec<Obstacle>,
    /// Constants that differ between variants: place in the order in which all constants are seen.
    pub parameters: Vec<u32>,
}

/// Where among the states a component's history is, if it is longer than is followed: it stays where it
/// is, and only the engine looks at it.
fn long_history(entry: &Entry) -> Option<Range<u32>> {
    let declared = 2 * entry.declaration.states.len() + entry.declaration.memory.len();
    let history = entry.states + declared as u32..entry.states + entry.block;
    (history.len() > LONGEST_HISTORY).then_some(history)
}

/// Longest history that is followed number by number.
const LONGEST_HISTORY: usize = 256;
/// Nodes that one unit may take.
const MOST_IN_UNIT: usize = 20_000;
/// Numbers of a state that is followed at all.
const MOST_NUMBERS: usize = 1_000_000;

/// All constants of a plan in the order in which a program sees them, where types are compiled for
/// lanes.
pub fn constants(plan: &Plan, registry: &Registry) -> Option<Vec<f64>> {
    let mut all = Vec::new();
    let mut see = |groups: &[Box<dyn Group<f64>>]| {
        for group in groups.iter().filter(|group| !group.is_empty()) {
            let component = group.wiring(0).component() as usize;
            let name = plan.variables.entries[component].declaration.name;
            let packing = registry.get(name)?.lanes?;
            (packing.visit)(group.as_ref(), &mut |x| all.push(x));
        }
        Some(())
    };
    let (main, faster) = plan.rates.split_first()?;
    see(&main.s)?;
    see(&main.c)?;
    for fast in faster {
        see(&fast.s)?;
        see(&fast.c)?;
        see(&fast.q)?;
    }
    see(&main.q)?;
    Some(all)
}

/// Which constants differ between variants: asked for each constant in the order of the program.
pub type Differs<'a> = &'a dyn Fn(u32) -> bool;

/// Follows the step of a circuit. `start` tells what to expect: paths that it takes come first.
///
/// Without the engine's help, what cannot be followed is told.
pub fn program(
    plan: &Plan,
    registry: &Registry,
    start: &State<f64>,
    wanted: Wanted,
    differs: Differs<'_>,
) -> Result<Program, Vec<Obstacle>> {
    can_be_followed(plan, start)?;
    let mut walk = Walk::new(plan, registry, start, wanted, differs, &|_| false);
    walk.main_step();
    walk.finish()
}

fn can_be_followed(plan: &Plan, start: &State<f64>) -> Result<(), Vec<Obstacle>> {
    let not = |why| Err(vec![Obstacle { component: None, why }]);
    match start.states.len() + start.signals.len() + 6 * start.bonds.len() {
        _ if plan.thermal.is_some() => not("the oil carries temperature"),
        MOST_NUMBERS.. => not("the circuit is too large"),
        _ => Ok(()),
    }
}

/// Numbers of the state that stay what they are at the start, and their bits.
pub type Known = Vec<(u32, u64)>;

/// Times that a step is followed at most, with fewer numbers taken for constants every time.
const ROUNDS: usize = 8;

/// Follows the step of a circuit, as [`program`] does, and takes numbers that no step changes for
/// constants: what is computed from them is computed now, and questions about them are answered. Such
/// a program holds for runs that begin with these numbers, which are told.
///
/// `may` tells which numbers may be taken so.
pub fn program_from(
    plan: &Plan,
    registry: &Registry,
    start: &State<f64>,
    wanted: Wanted,
    differs: Differs<'_>,
    may: &dyn Fn(u32) -> bool,
) -> Result<(Program, Known), Vec<Obstacle>> {
    can_be_followed(plan, start)?;
    let layout = Layout::of(start);
    let count = layout.first(Array::Figures);
    // All that may be constant is taken for it, until a step proves that it stays so.
    let mut trial = Trial::new(plan, start);
    for _ in 0..ROUNDS {
        trial.run();
        let changes = trial.changes();
        let is_known = |slot: u32| !changes[slot as usize] && may(slot);
        let mut walk = Walk::new(plan, registry, start, wanted, differs, &is_known);
        walk.main_step();
        let program = walk.finish()?;
        let known: Vec<u32> = (0..count).filter(|&slot| is_known(slot)).collect();
        let stays =
            |slot: u32| program.ops[program.finals[slot as usize] as usize] == Op::Load(slot);
        let changed: Vec<u32> = known.iter().copied().filter(|&slot| !stays(slot)).collect();
        if changed.is_empty() {
            let bits = |slot: u32| get(start, layout, slot).to_bits();
            return Ok((program, known.iter().map(|&slot| (slot, bits(slot))).collect()));
        }
        changed.iter().for_each(|&slot| trial.note(slot));
    }
    Ok((program(plan, registry, start, wanted, differs)?, Vec::new()))
}

struct Walk<'a> {
    plan: &'a Plan,
    registry: &'a Registry,
    wanted: Wanted,
    differs: Differs<'a>,
    state: State<Trace>,
    figures: Figures<Trace>,
    layout: Layout,
    units: Vec<Unit>,
    moments: Vec<Moment>,
    obstacles: Vec<Obstacle>,
    parameters: Vec<u32>,
    /// Constants seen so far.
    constants: u32,
    /// Those of the last component.
    lifted: Vec<f64>,
    begin: f64,
    /// Numbers that are taken for constants, and where they are kept.
    known: Vec<(u32, Trace)>,
}

/// Numbers that a component may write, and others that it reads.
struct Reach {
    slots: Vec<u32>,
    read: Vec<u32>,
    /// It remembers more than is followed.
    is_long: bool,
}

impl<'a> Walk<'a> {
    fn new(
        plan: &'a Plan,
        registry: &'a Registry,
        start: &State<f64>,
        wanted: Wanted,
        differs: Differs<'a>,
        is_known: &dyn Fn(u32) -> bool,
    ) -> Self {
        trace::begin(wanted.width, usize::MAX);
        let mut slot = 0;
        let mut known = Vec::new();
        let mut next = |value: f64| {
            slot += 1;
            let load = Trace::load(slot - 1, value);
            if !is_known(slot - 1) {
                return load;
            }
            known.push((slot - 1, load));
            Trace::of(value)
        };
        let mut state = State {
            bonds: Vec::with_capacity(start.bonds.len()),
            signals: Vec::new(),
            states: Vec::new(),
            viscosity: Vec::new(),
            line_temperature: Vec::new(),
            delivered_temperature: Vec::new(),
            time: start.time,
            step: start.step,
            rest_steps: start.rest_steps,
            faults: Faults::default(),
        };
        for bond in &start.bonds {
            // In the order of its fields.
            state.bonds.push(Bond {
                flow: next(bond.flow),
                effort: next(bond.effort),
                wave: next(bond.wave),
                impedance: next(bond.impedance),
                displacement: next(bond.displacement),
                dry: next(bond.dry),
            });
        }
        state.signals = start.signals.iter().map(|&x| next(x)).collect();
        state.states = start.states.iter().map(|&x| next(x)).collect();
        state.viscosity = start.viscosity.iter().map(|&x| next(x)).collect();
        let mut figures = Figures::of(plan);
        let mut count = 0;
        let mut layout = Layout::of(start);
        let first = layout.first(Array::Figures);
        figures.each(|number| {
            *number = Trace::load(first + count, 0.0);
            count += 1;
        });
        layout.figures = if wanted.watch { count } else { 0 };
        let (begin, _) = plan.times(start);
        Self {
            plan,
            registry,
            wanted,
            differs,
            state,
            figures,
            layout,
            units: Vec::new(),
            moments: Vec::new(),
            obstacles: Vec::new(),
            parameters: Vec::new(),
            constants: 0,
            lifted: Vec::new(),
            begin,
            known,
        }
    }

    /// The order is that of [`crate::engine::step`].
    fn main_step(&mut self) {
        let plan = self.plan;
        let main = &plan.rates[0];
        self.moments.push(Moment { rate: 0, sub: 0, of: 1, dt: plan.step });
        main.publish(&mut self.state);
        self.phase(0, 0, 0);
        self.phase(0, 1, 0);
        for (rate, fast) in plan.rates.iter().enumerate().skip(1) {
            let n = fast.divisor;
            let dt = plan.step / f64::from(n);
            let mut sums = vec![Trace::zero(); fast.borders.len()];
            let constants = self.constants;
            for sub in 0..n {
                // The constants of each sub-step are the same.
                self.constants = constants;
                let moment = self.moments.len() as u32;
                self.moments.push(Moment { rate: rate as u32, sub, of: n, dt });
                fast.publish(&mut self.state);
                self.phase(rate, 0, moment);
                self.phase(rate, 1, moment);
                self.flows(rate, moment);
                for (sum, &bond) in sums.iter_mut().zip(&fast.borders) {
                    *sum += self.state.bonds[bond as usize].flow;
                }
                self.watch(rate, dt);
            }
            for (&sum, &bond) in sums.iter().zip(&fast.borders) {
                self.state.bonds[bond as usize].flow = sum / f64::from(n);
            }
        }
        self.flows(0, 0);
        self.watch(0, plan.step);
    }

    fn watch(&mut self, rate: usize, dt: f64) {
        if self.wanted.watch {
            self.figures.after(self.plan, rate, &self.state, dt, Trace::stamp());
        }
    }

    fn flows(&mut self, rate: usize, moment: u32) {
        let count = self.plan.rates[rate].junctions.len() as u32;
        for junction in 0..count {
            self.junction(rate, Part::Gather(junction), moment);
        }
        self.phase(rate, 2, moment);
        for junction in 0..count {
            self.junction(rate, Part::Scatter(junction), moment);
        }
    }

    fn junction(&mut self, rate: usize, part: Part, moment: u32) {
        let (Part::Gather(index) | Part::Scatter(index)) = part else { return };
        let junction = &self.plan.rates[rate].junctions[index as usize];
        let bonds: Vec<u32> = junction.q.iter().chain(&junction.c).copied().collect();
        let slots: Vec<u32> = bonds.iter().flat_map(|&bond| 6 * bond..6 * bond + 6).collect();
        let dt = self.moments[moment as usize].dt;
        self.unit(part, None, moment, slots, &[], &mut |state, _| match part {
            Part::Gather(_) => {
                junction.gather(&mut state.bonds, dt);
                true
            }
            _ => {
                junction.scatter(&mut state.bonds);
                true
            }
        });
    }

    fn phase(&mut self, rate: usize, phase: u8, moment: u32) {
        let rates = &self.plan.rates[rate];
        let groups = [&rates.s, &rates.c, &rates.q][phase as usize];
        for (at, group) in groups.iter().enumerate() {
            for member in 0..group.len() {
                self.component(group.as_ref(), (phase, at, member), moment);
            }
        }
    }

    fn component(
        &mut self,
        group: &dyn Group<f64>,
        (phase, at, member): (u8, usize, usize),
        moment: u32,
    ) {
        let component = group.wiring(member).component();
        let entry = &self.plan.variables.entries[component as usize];
        let signals = self.layout.first(Array::Signals);
        let Reach { slots, read, is_long } = self.layout.reach(entry);
        let part = Part::Component { component, phase, group: at as u32, member: member as u32 };
        let follow = self.registry.get(entry.declaration.name).and_then(|kind| kind.follow);
        let dt = self.moments[moment as usize].dt;
        let gates = group.gates();
        if is_long || follow.is_none() || (!gates.is_empty() && self.wanted.width == Width::Lanes) {
            let why = match (is_long, follow) {
                (true, _) => "it remembers a long history",
                (_, None) => "its type was not compiled for it",
                _ => "it stands still at times",
            };
            // Its constants are counted all the same.
            let kind = self.registry.get(entry.declaration.name);
            if let Some(packing) = kind.and_then(|kind| kind.lanes) {
                (packing.numbers)(group, member, &mut |_| {
                    if (self.differs)(self.constants) && !self.parameters.contains(&self.constants)
                    {
                        self.parameters.push(self.constants);
                    }
                    self.constants += 1;
                });
            }
            return self.leave(part, Some(component), why, moment, slots, &read);
        }
        let Some(follow) = follow else { return };
        let first = self.constants;
        let (differs, mut parameters) = (self.differs, std::mem::take(&mut self.parameters));
        let mut lifted = std::mem::take(&mut self.lifted);
        let mut constants = 0;
        let reached = slots.clone();
        let layout = self.layout;
        let step = &mut |state: &mut State<Trace>, probe: Probe| {
            let zero = Trace::zero();
            let open = gates
                .iter()
                .fold(zero.le(zero), |open, &gate| open & state.signals[gate as usize].gt(zero));
            if !open.any() {
                return true;
            }
            constants = 0;
            lifted.clear();
            let mut lift = |value: f64| {
                let index = first + constants;
                constants += 1;
                lifted.push(value);
                if !differs(index) {
                    return Trace::of(value);
                }
                let place = parameters.iter().position(|&p| p == index).unwrap_or_else(|| {
                    parameters.push(index);
                    parameters.len() - 1
                });
                Trace::parameter(place as u32, value)
            };
            let clock = Clock { time: probe.time, dt, tick: probe.tick };
            let before: Vec<Trace> = match open.all() {
                true => Vec::new(),
                false => reached.iter().map(|&slot| get(state, layout, slot)).collect(),
            };
            let is_followed = follow(group, member, &mut lift, (&mut *state, clock));
            for (&slot, &before) in reached.iter().zip(&before) {
                let now = get(state, layout, slot);
                set(state, layout, slot, Trace::select(open, now, before));
            }
            is_followed
        };
        let gates: Vec<u32> = gates.iter().map(|&gate| signals + gate).collect();
        let read = [read, gates].concat();
        self.unit(part, Some(component), moment, slots, &read, step);
        self.parameters = parameters;
        self.lifted = lifted;
        self.constants = first + constants;
    }

    /// Leaves a unit to the engine.
    fn leave(
        &mut self,
        part: Part,
        component: Option<u32>,
        why: &'static str,
        moment: u32,
        slots: Vec<u32>,
        read: &[u32],
    ) {
        self.obstacles.push(Obstacle { component, why });
        let before = |walk: &Self, slot: u32| (slot, get(&walk.state, walk.layout, slot).node());
        let reach = slots.iter().chain(read).map(|&slot| before(self, slot)).collect();
        let mut results = Vec::with_capacity(slots.len());
        for slot in slots {
            let expected = get(&self.state, self.layout, slot).expected();
            let result = Trace::result(expected);
            set(&mut self.state, self.layout, slot, result);
            results.push((slot, result.node()));
        }
        self.units.push(Unit { part, moment, reach, tree: Tree::Open, results });
    }

    /// Follows a unit that may write `slots` and reads `read`, too.
    fn unit(
        &mut self,
        part: Part,
        component: Option<u32>,
        moment: u32,
        slots: Vec<u32>,
        read: &[u32],
        step: &mut dyn FnMut(&mut State<Trace>, Probe) -> bool,
    ) {
        let layout = self.layout;
        let before: Vec<Trace> = slots.iter().map(|&slot| get(&self.state, layout, slot)).collect();
        let state = &mut self.state;
        trace::allow(MOST_IN_UNIT);
        let mut compute = |probe: Probe| {
            for (&slot, &value) in slots.iter().zip(&before) {
                set(state, layout, slot, value);
            }
            state.faults = Faults::default();
            let is_followed = step(state, probe);
            let after: Vec<Node> =
                slots.iter().map(|&slot| get(state, layout, slot).node()).collect();
            (after, state.faults.unconverged, state.faults.stop_requested > 0, is_followed)
        };
        let expected = match self.moments[moment as usize] {
            Moment { of: 1, dt, .. } => self.begin + dt,
            Moment { sub, dt, .. } => self.begin + f64::from(sub + 1) * dt,
        };
        let time = (moment, expected);
        let fill = self.wanted.leave != Leave::Paths;
        let found = trace::explore(time, self.wanted.paths, fill, &mut compute);
        trace::allow(usize::MAX);
        for (&slot, &value) in slots.iter().zip(&before) {
            set(state, layout, slot, value);
        }
        state.faults = Faults::default();
        let found = found.and_then(|tree| match tree.leaves().iter().all(|end| end.result.3) {
            true => Ok(tree),
            false => Err("its type was not compiled for it"),
        });
        let tree = match found {
            Ok(tree) => tree,
            Err(why) => return self.leave(part, component, why, moment, slots, read),
        };
        if tree.leaves().iter().any(|end| events(end).is_none()) {
            let why = "it reports several things at once";
            return self.leave(part, component, why, moment, slots, read);
        }
        // Where all paths agree, the number is the node itself.
        let first: Vec<Node> = tree.leaves().first().map_or(Vec::new(), |end| end.result.0.clone());
        let is_closed = tree.is_closed();
        let differs: Vec<usize> = (0..slots.len())
            .filter(|&i| {
                // The engine may write any of them.
                !is_closed || tree.leaves().iter().any(|end| end.result.0[i] != first[i])
            })
            .collect();
        let mut results = Vec::with_capacity(differs.len());
        for (i, &slot) in slots.iter().enumerate() {
            let mut node = Trace::at(first[i]);
            if differs.contains(&i) {
                node = Trace::result(node.expected());
                results.push((slot, node.node()));
            }
            set(&mut self.state, layout, slot, node);
        }
        let tree = convert(tree, &differs);
        let own = slots.iter().zip(&before).map(|(&slot, value)| (slot, value.node()));
        let others = read.iter().map(|&slot| (slot, get(&self.state, layout, slot).node()));
        let reach = own.chain(others).collect();
        self.units.push(Unit { part, moment, reach, tree, results });
    }

    fn finish(mut self) -> Result<Program, Vec<Obstacle>> {
        if self.wanted.leave == Leave::Nothing && !self.obstacles.is_empty() {
            return Err(self.obstacles);
        }
        let count = self.layout.first(Array::Figures);
        let mut finals: Vec<Node> =
            (0..count).map(|slot| get(&self.state, self.layout, slot).node()).collect();
        if self.wanted.watch {
            self.figures.each(|number| finals.push(number.node()));
        }
        // What stays as it is needs no storing, neither after the step nor for the engine.
        for &(slot, load) in &self.known {
            let start = Trace::of(load.expected()).node();
            let end = &mut finals[slot as usize];
            if *end == start {
                *end = load.node();
            }
        }
        let known: HashMap<u32, Trace> = self.known.iter().copied().collect();
        for (slot, node) in self.units.iter_mut().flat_map(|unit| &mut unit.reach) {
            if let Some(load) = known.get(slot)
                && *node == Trace::of(load.expected()).node()
            {
                *node = load.node();
            }
        }
        Ok(Program {
            ops: trace::end(),
            units: self.units,
            finals,
            layout: self.layout,
            moments: self.moments,
            obstacles: self.obstacles,
            parameters: self.parameters,
        })
    }
}

/// Numbers after the unit, equations that did not converge, whether it asked to stop, whether it was
/// followed.
type Outcome = (Vec<Node>, u64, bool, bool);

impl trace::Results for Outcome {
    fn nodes(&self, into: &mut Vec<Node>) {
        into.extend(&self.0);
    }
}

/// What was reported on a path; `None` when reports and masks cannot be told apart.
fn events(end: &Followed<Outcome>) -> Option<Vec<(Event, Node)>> {
    let (unconverged, stop) = (end.result.1, end.result.2);
    let event = match (unconverged, stop) {
        (0, false) if end.asked.is_empty() => return Some(Vec::new()),
        (0, true) => Event::Stop,
        (n, false) if n == end.asked.len() as u64 => Event::Unconverged,
        _ => return None,
    };
    Some(end.asked.iter().map(|&mask| (event, mask)).collect())
}

fn convert(tree: Tree<Followed<Outcome>>, results: &[usize]) -> Tree<End> {
    match tree {
        Tree::Open => Tree::Open,
        Tree::Leaf(end) => Tree::Leaf(End {
            values: results.iter().map(|&i| end.result.0[i]).collect(),
            events: events(&end).unwrap_or_default(),
        }),
        Tree::Branch { mask, is_any, yes, no } => Tree::Branch {
            mask,
            is_any,
            yes: Box::new(convert(*yes, results)),
            no: Box::new(convert(*no, results)),
        },
    }
}

fn number<T>(state: &mut State<T>, layout: Layout, slot: u32) -> &mut T {
    let (array, at) = layout.place(slot);
    let at = at as usize;
    match array {
        Array::Bonds => {
            let bond = &mut state.bonds[at / 6];
            match at % 6 {
                0 => &mut bond.flow,
                1 => &mut bond.effort,
                2 => &mut bond.wave,
                3 => &mut bond.impedance,
                4 => &mut bond.displacement,
                _ => &mut bond.dry,
            }
        }
        Array::Signals => &mut state.signals[at],
        Array::States => &mut state.states[at],
        Array::Viscosity | Array::Figures => &mut state.viscosity[at],
    }
}

/// Puts a number into a state.
pub fn set<T>(state: &mut State<T>, layout: Layout, slot: u32, value: T) {
    *number(state, layout, slot) = value;
}

/// A number of a state.
pub fn get<T: Copy>(state: &State<T>, layout: Layout, slot: u32) -> T {
    let (array, at) = layout.place(slot);
    let at = at as usize;
    match array {
        Array::Bonds => {
            let bond = &state.bonds[at / 6];
            [bond.flow, bond.effort, bond.wave, bond.impedance, bond.displacement, bond.dry][at % 6]
        }
        Array::Signals => state.signals[at],
        Array::States => state.states[at],
        Array::Viscosity | Array::Figures => state.viscosity[at],
    }
}
