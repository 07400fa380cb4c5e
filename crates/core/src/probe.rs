//! Steps with a signal added, or a loop cut, in front of inputs: what frequency response is made of.
//!
//! The circuit stays as it is. When the component is stepped whose input is meant, and only then, the
//! signal that it reads is another one. The same loop runs plain numbers, to measure, and
//! [`Tangent`] numbers, to linearise; without anything added it is the step of [`crate::engine`].

use crate::circuit::Registry;
use crate::component::{Clock, Group, GroupOf, Physics};
use crate::number::Num;
use crate::plan::Plan;
use crate::state::State;
use crate::step::Members;
use crate::tangent::Tangent;
use std::ops::Range;

/// Components of one type that are stepped together.
pub trait Advance<T: Num>: Send + Sync {
    /// Steps some of them: those that there are.
    fn advance(&self, members: Range<usize>, state: &mut State<T>, clock: &Clock);
}

impl Advance<f64> for &dyn Group<f64> {
    fn advance(&self, members: Range<usize>, state: &mut State<f64>, clock: &Clock) {
        self.kernel(members).run(state, clock);
    }
}

/// Makes the group that carries derivatives from the plain one: each constant is replaced by what the
/// function gives for it, in order.
pub type Follow =
    fn(&dyn Group<f64>, &mut dyn FnMut(f64) -> Tangent) -> Option<Box<dyn Advance<Tangent>>>;

struct Followed<M: Physics>(Members<M, Tangent>);

impl<M: Physics> Advance<Tangent> for Followed<M> {
    fn advance(&self, members: Range<usize>, state: &mut State<Tangent>, clock: &Clock) {
        self.0.kernel(members).run(state, clock);
    }
}

/// That of component type `M`.
pub(crate) fn follow<M: Physics>(
    group: &dyn Group<f64>,
    lift: &mut dyn FnMut(f64) -> Tangent,
) -> Option<Box<dyn Advance<Tangent>>> {
    let group = group.as_any().downcast_ref::<GroupOf<M, f64>>()?;
    let mut members = Members::default();
    for (constants, wiring) in group.constants().iter().zip(group.wirings()) {
        if !members.push(M::lift(constants, lift), wiring) {
            return None;
        }
    }
    Some(Box::new(Followed::<M>(members)))
}

/// An input of a component, in front of which a signal is added or cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Component index.
    pub component: u32,
    /// The signal that it reads there.
    pub signal: u32,
}

/// What happens to the signal at the spots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Touch {
    /// Something is added to it.
    Add,
    /// This value takes its place, and something is added to that: a loop that the signal closes is
    /// open.
    Cut(f64),
}

/// A group, and those of its members in front of which something happens.
struct Stage<'p, T> {
    group: Box<dyn Advance<T> + 'p>,
    gates: &'p [u32],
    /// Members and signals, in order of members.
    spots: Vec<(usize, u32)>,
}

struct Phases<'p, T> {
    s: Vec<Stage<'p, T>>,
    c: Vec<Stage<'p, T>>,
    q: Vec<Stage<'p, T>>,
    border_flow: Vec<T>,
}

/// A plan that is stepped with signals added or cut.
pub struct Probed<'p, T> {
    plan: &'p Plan,
    rates: Vec<Phases<'p, T>>,
    touch: Touch,
}

/// The groups of a plan in another form, phase by phase.
fn phases<'p, T: Num, E>(
    plan: &'p Plan,
    spots: &[Spot],
    mut make: impl FnMut(&'p dyn Group<f64>) -> Result<Box<dyn Advance<T> + 'p>, E>,
) -> Result<Vec<Phases<'p, T>>, E> {
    let mut stages = |groups: &'p [Box<dyn Group<f64>>]| -> Result<Vec<Stage<'p, T>>, E> {
        let there = groups.iter().map(|group| group.as_ref()).filter(|group| !group.is_empty());
        there
            .map(|group| {
                let mut touched = Vec::new();
                for member in 0..group.len() {
                    let component = group.wiring(member).component();
                    let here = spots.iter().filter(|spot| spot.component == component);
                    touched.extend(here.map(|spot| (member, spot.signal)));
                }
                Ok(Stage { group: make(group)?, gates: group.gates(), spots: touched })
            })
            .collect()
    };
    plan.rates
        .iter()
        .map(|rate| {
            Ok(Phases {
                s: stages(&rate.s)?,
                c: stages(&rate.c)?,
                q: stages(&rate.q)?,
                border_flow: vec![T::zero(); rate.borders.len()],
            })
        })
        .collect()
}

impl<'p> Probed<'p, f64> {
    /// The plan itself.
    pub fn plain(plan: &'p Plan, spots: &[Spot], touch: Touch) -> Self {
        let same = |group: &'p dyn Group<f64>| -> Result<Box<dyn Advance<f64> + 'p>, ()> {
            Ok(Box::new(group))
        };
        let rates = phases(plan, spots, same).unwrap_or_default();
        Self { plan, rates, touch }
    }
}

impl<'p> Probed<'p, Tangent> {
    /// The plan with derivatives: `lift` is asked for each constant, in order of phases, groups and
    /// members, and gives it with its own. The component of a type that is not compiled for this is
    /// told.
    pub fn following(
        plan: &'p Plan,
        registry: &Registry,
        spots: &[Spot],
        touch: Touch,
        lift: &mut dyn FnMut(f64) -> Tangent,
    ) -> Result<Self, u32> {
        let rates = phases(plan, spots, |group| {
            let component = group.wiring(0).component();
            let name = plan.variables.entries[component as usize].declaration.name;
            let packing = registry.get(name).and_then(|kind| kind.lanes).ok_or(component)?;
            (packing.follow)(group, lift).ok_or(component).map(|group| group as Box<_>)
        })?;
        Ok(Self { plan, rates, touch })
    }
}

/// The constants of all components, in the order in which [`Probed::following`] asks for them.
pub fn constants(plan: &Plan, registry: &Registry) -> Result<Vec<f64>, u32> {
    let mut all = Vec::new();
    for rate in &plan.rates {
        for group in [&rate.s, &rate.c, &rate.q].into_iter().flatten() {
            if group.is_empty() {
                continue;
            }
            let component = group.wiring(0).component();
            let name = plan.variables.entries[component as usize].declaration.name;
            let packing = registry.get(name).and_then(|kind| kind.lanes).ok_or(component)?;
            (packing.visit)(group.as_ref(), &mut |x| all.push(x));
        }
    }
    Ok(all)
}

impl<T: Num> Stage<'_, T> {
    fn step(&self, state: &mut State<T>, clock: &Clock, touch: Touch, push: T, seen: &mut T) {
        if self.gates.iter().any(|&gate| state.signals[gate as usize].first() <= 0.0) {
            return;
        }
        let mut next = 0;
        let mut spots = &self.spots[..];
        while let Some(&(member, _)) = spots.first() {
            let here = spots.iter().take_while(|spot| spot.0 == member).count();
            self.group.advance(next..member, state, clock);
            let (now, later) = spots.split_at(here);
            let mut kept = [T::zero(); MOST_SPOTS];
            for (&(_, signal), kept) in now.iter().zip(&mut kept) {
                let place = &mut state.signals[signal as usize];
                (*kept, *seen) = (*place, *place);
                *place = match touch {
                    Touch::Add => *place + push,
                    Touch::Cut(held) => push + held,
                };
            }
            self.group.advance(member..member + 1, state, clock);
            for (&(_, signal), kept) in now.iter().zip(kept).rev() {
                state.signals[signal as usize] = kept;
            }
            next = member + 1;
            spots = later;
        }
        self.group.advance(next..usize::MAX, state, clock);
    }
}

/// Inputs of one component that one signal may be added to.
const MOST_SPOTS: usize = 16;

/// When a step is taken.
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// Time at the begin of the step, s.
    pub begin: f64,
    /// Time at its end; that of the begin where time stands still.
    pub end: f64,
    /// Number of the step, from 1: delay buffers count by it.
    pub tick: u64,
}

impl When {
    /// A step for which time stands still.
    pub fn held(time: f64, tick: u64) -> Self {
        Self { begin: time, end: time, tick }
    }
}

impl<T: Num> Probed<'_, T> {
    /// One main step, with `push` at the spots: the signal that was found at the last of them. The
    /// state's own count of steps and temperatures stay as they are.
    ///
    /// The order is that of [`crate::engine::step`].
    pub fn step(&mut self, state: &mut State<T>, when: When, push: T) -> T {
        let (plan, touch) = (self.plan, self.touch);
        let mut seen = T::zero();
        let Some((main, faster)) = self.rates.split_first_mut() else { return seen };
        let is_held = when.end == when.begin;
        let clock = Clock { time: when.end, dt: plan.step, tick: when.tick };
        plan.rates[0].publish(state);
        for stage in main.s.iter().chain(&main.c) {
            stage.step(state, &clock, touch, push, &mut seen);
        }
        for (fast, common) in faster.iter_mut().zip(&plan.rates[1..]) {
            let n = common.divisor;
            let dt = plan.step / f64::from(n);
            fast.border_flow.fill(T::zero());
            for sub in 0..n {
                let later = if is_held { 0.0 } else { f64::from(sub + 1) * dt };
                let tick = (when.tick - 1) * u64::from(n) + u64::from(sub) + 1;
                let clock = Clock { time: when.begin + later, dt, tick };
                common.publish(state);
                for stage in fast.s.iter().chain(&fast.c) {
                    stage.step(state, &clock, touch, push, &mut seen);
                }
                for junction in &common.junctions {
                    junction.gather(&mut state.bonds, dt);
                }
                for stage in &fast.q {
                    stage.step(state, &clock, touch, push, &mut seen);
                }
                for junction in &common.junctions {
                    junction.scatter(&mut state.bonds);
                }
                for (sum, &bond) in fast.border_flow.iter_mut().zip(&common.borders) {
                    *sum += state.bonds[bond as usize].flow;
                }
            }
            for (&sum, &bond) in fast.border_flow.iter().zip(&common.borders) {
                state.bonds[bond as usize].flow = sum / f64::from(n);
            }
        }
        for junction in &plan.rates[0].junctions {
            junction.gather(&mut state.bonds, plan.step);
        }
        for stage in &main.q {
            stage.step(state, &clock, touch, push, &mut seen);
        }
        for junction in &plan.rates[0].junctions {
            junction.scatter(&mut state.bonds);
        }
        seen
    }
}

/// A state in another number type.
pub fn lifted<T: Num>(state: &State<f64>, mut f: impl FnMut(f64) -> T) -> State<T> {
    let mut lift = |numbers: &[f64]| -> Vec<T> { numbers.iter().map(|&x| f(x)).collect() };
    let bonds = lift(crate::step::numbers(&state.bonds));
    let bond = |six: &[T]| crate::state::Bond {
        flow: six[0],
        effort: six[1],
        wave: six[2],
        impedance: six[3],
        displacement: six[4],
        dry: six[5],
    };
    State {
        bonds: bonds.chunks_exact(6).map(bond).collect(),
        signals: lift(&state.signals),
        states: lift(&state.states),
        viscosity: lift(&state.viscosity),
        line_temperature: lift(&state.line_temperature),
        delivered_temperature: lift(&state.delivered_temperature),
        time: state.time,
        step: state.step,
        rest_steps: state.rest_steps,
        faults: Default::default(),
    }
}

/// Numbers of a state that a step reads and writes: those of bonds, signals, and blocks of components.
pub fn count_numbers<T>(state: &State<T>) -> usize {
    6 * state.bonds.len() + state.signals.len() + state.states.len()
}

/// One of them, in the order of [`count_numbers`].
pub fn number_mut<T>(state: &mut State<T>, index: usize) -> &mut T {
    let bonds = 6 * state.bonds.len();
    if index < bonds {
        let bond = &mut state.bonds[index / 6];
        return match index % 6 {
            0 => &mut bond.flow,
            1 => &mut bond.effort,
            2 => &mut bond.wave,
            3 => &mut bond.impedance,
            4 => &mut bond.displacement,
            _ => &mut bond.dry,
        };
    }
    let signals = state.signals.len();
    match index - bonds {
        i if i < signals => &mut state.signals[i],
        i => &mut state.states[i - signals],
    }
}

/// All of them, with their places.
pub fn numbers<T: Copy>(state: &State<T>) -> impl Iterator<Item = (usize, T)> + '_ {
    let bonds = state
        .bonds
        .iter()
        .flat_map(|b| [b.flow, b.effort, b.wave, b.impedance, b.displacement, b.dry]);
    bonds.chain(state.signals.iter().copied()).chain(state.states.iter().copied()).enumerate()
}
