//! Several variants of one circuit stepped together, one in each lane.
//!
//! Variants have the same components, connections and choices, and differ in numbers: the constants
//! and states of N plans are packed side by side, and the physics that is generic over its number
//! type steps them at once. A lane gives the bits of a run by itself; what happens to one (a stop, a
//! divergence, equations without a solution) does not touch the others.

use crate::circuit::Registry;
use crate::component::{Clock, Group, GroupOf, Physics};
use crate::instructions::{Eight, Four, Instructions, Work};
use crate::number::{Lanes, Mask, Num};
use crate::plan::Plan;
use crate::probe::{Follow, follow};
use crate::run::BEYOND_PHYSICS;
use crate::start::{Rest, Settling};
use crate::state::{Bond, State};
use crate::step::{LiesAs, Members};
use crate::wide::Vectors;
use std::array::from_fn;

/// Components of one type that are stepped together, N variants of each.
pub trait LaneGroup<const N: usize>: Send + Sync {
    /// Steps all of them.
    fn step(&self, state: &mut State<Lanes<N>>, clock: &Clock);
}

/// Makes the group of N variants from that of one: each number is replaced by what the function
/// gives for it, in order.
pub type Pack<const N: usize, I> =
    fn(&dyn Group<f64>, &mut dyn FnMut(f64) -> Lanes<N>, I) -> Option<Box<dyn LaneGroup<N>>>;

/// A group, and where in it.
pub type Place<'g> = (&'g dyn Group<f64>, usize);

/// How groups of a component type are packed.
#[derive(Clone, Copy)]
pub struct Packing {
    /// Four variants.
    pub four: Pack<4, Four>,
    /// Eight variants.
    pub eight: Pack<8, Eight>,
    /// Shows all numbers of a group in order.
    pub visit: fn(&dyn Group<f64>, &mut dyn FnMut(f64)),
    /// Whether groups of two plans differ in numbers alone.
    pub alike: fn(&dyn Group<f64>, &dyn Group<f64>) -> bool,
    /// Shows all numbers of one member in order.
    pub numbers: fn(&dyn Group<f64>, usize, &mut dyn FnMut(f64)),
    /// Whether two members differ in numbers alone, wherever they are wired.
    pub agree: fn(Place<'_>, Place<'_>) -> bool,
    /// With derivatives.
    pub follow: Follow,
}

impl Packing {
    /// That of component type `M`.
    pub const fn of<M: Physics>() -> Self {
        Self {
            four: pack::<M, 4, Four>,
            eight: pack::<M, 8, Eight>,
            visit: visit::<M>,
            alike: alike::<M>,
            numbers: numbers::<M>,
            agree: agree::<M>,
            follow: follow::<M>,
        }
    }
}

/// A number of lanes that component types are compiled for.
pub trait Width<const N: usize> {
    /// What they are computed with.
    type Instructions: Instructions;
    /// How groups of a type are packed.
    fn pack(packing: &Packing) -> Pack<N, Self::Instructions>;
}

/// The widths there are.
pub struct Widths;

impl Width<4> for Widths {
    type Instructions = Four;
    fn pack(packing: &Packing) -> Pack<4, Four> {
        packing.four
    }
}

impl Width<8> for Widths {
    type Instructions = Eight;
    fn pack(packing: &Packing) -> Pack<8, Eight> {
        packing.eight
    }
}

/// The group of component type `M`.
struct Packed<M: Physics, const N: usize, I: Vectors<N>> {
    members: Members<M, I::Number>,
    instructions: I,
}

// These are compiled for every type: what need not be is elsewhere.

fn pack<M: Physics, const N: usize, I: Vectors<N>>(
    group: &dyn Group<f64>,
    pack: &mut dyn FnMut(f64) -> Lanes<N>,
    instructions: I,
) -> Option<Box<dyn LaneGroup<N>>> {
    let group = group.as_any().downcast_ref::<GroupOf<M, f64>>()?;
    let mut members = Members::default();
    for (constants, wiring) in group.constants().iter().zip(group.wirings()) {
        if !members.push(M::lift(constants, &mut |x| I::Number::lying(pack(x))), wiring) {
            return None;
        }
    }
    Some(Box::new(Packed::<M, N, I> { members, instructions }))
}

fn visit<M: Physics>(group: &dyn Group<f64>, see: &mut dyn FnMut(f64)) {
    let Some(group) = group.as_any().downcast_ref::<GroupOf<M, f64>>() else { return };
    for constants in group.constants() {
        M::lift::<f64, f64>(constants, &mut |x| {
            see(x);
            x
        });
    }
}

fn numbers<M: Physics>(group: &dyn Group<f64>, member: usize, see: &mut dyn FnMut(f64)) {
    let Some(group) = group.as_any().downcast_ref::<GroupOf<M, f64>>() else { return };
    if let Some(constants) = group.constants().get(member) {
        M::lift::<f64, f64>(constants, &mut |x| {
            see(x);
            x
        });
    }
}

fn agree<M: Physics>((one, a): Place<'_>, (other, b): Place<'_>) -> bool {
    let one = one.as_any().downcast_ref::<GroupOf<M, f64>>();
    let other = other.as_any().downcast_ref::<GroupOf<M, f64>>();
    let (Some(one), Some(other)) = (one, other) else { return false };
    match (one.constants().get(a), other.constants().get(b)) {
        (Some(one), Some(other)) => M::agrees(one, other),
        _ => false,
    }
}

fn alike<M: Physics>(one: &dyn Group<f64>, other: &dyn Group<f64>) -> bool {
    let one = one.as_any().downcast_ref::<GroupOf<M, f64>>();
    let other = other.as_any().downcast_ref::<GroupOf<M, f64>>();
    let (Some(one), Some(other)) = (one, other) else { return false };
    let mut both = one.constants().iter().zip(other.constants());
    one.wirings() == other.wirings() && both.all(|(one, other)| M::agrees(one, other))
}

/// Packs the same group of N plans; `None` when they differ in more than numbers.
fn pack_group<const N: usize, I>(
    groups: [&dyn Group<f64>; N],
    packing: &Packing,
    pack: Pack<N, I>,
    instructions: I,
) -> Option<Box<dyn LaneGroup<N>>> {
    if !groups.iter().all(|other| (packing.alike)(groups[0], *other)) {
        return None;
    }
    let mut numbers: [Vec<f64>; N] = from_fn(|_| Vec::new());
    for (group, numbers) in groups.iter().zip(&mut numbers) {
        (packing.visit)(*group, &mut |x| numbers.push(x));
    }
    if numbers.iter().any(|theirs| theirs.len() != numbers[0].len()) {
        return None;
    }
    // Constants are visited in the same order each time.
    let mut at = 0;
    let mut next = |x: f64| {
        at += 1;
        Lanes(from_fn(|lane| numbers[lane].get(at - 1).copied().unwrap_or(x)))
    };
    pack(groups[0], &mut next, instructions)
}

struct StepAll<'a, M: Physics, const N: usize, T: Num> {
    members: &'a Members<M, T>,
    state: &'a mut State<Lanes<N>>,
    clock: &'a Clock,
}

impl<M: Physics, const N: usize, T: LiesAs<Lanes<N>>> Work for StepAll<'_, M, N, T> {
    #[inline(always)]
    fn run(self) {
        self.members.step(self.state, self.clock);
    }
}

impl<M: Physics, const N: usize, I: Vectors<N>> LaneGroup<N> for Packed<M, N, I> {
    fn step(&self, state: &mut State<Lanes<N>>, clock: &Clock) {
        self.instructions.run(StepAll::<M, N, I::Number> { members: &self.members, state, clock });
    }
}

/// A group and the signals that let it be stepped.
struct Gated<const N: usize> {
    group: Box<dyn LaneGroup<N>>,
    gates: Box<[u32]>,
}

/// Steps groups in order.
fn advance<const N: usize>(groups: &[Gated<N>], state: &mut State<Lanes<N>>, clock: &Clock) {
    for group in groups {
        match group.gates.is_empty() {
            true => group.group.step(state, clock),
            false => group.step(state, clock),
        }
    }
}

impl<const N: usize> Gated<N> {
    /// Steps the lanes whose gates are open.
    #[inline(never)]
    fn step(&self, state: &mut State<Lanes<N>>, clock: &Clock) {
        let zero = Lanes::zero();
        let open = self
            .gates
            .iter()
            .fold(zero.le(zero), |open, &gate| open & state.signals[gate as usize].gt(zero));
        if open.all() {
            self.group.step(state, clock);
        } else if open.any() {
            let before = state.clone();
            self.group.step(state, clock);
            let keep = |now: &mut [Lanes<N>], before: &[Lanes<N>]| {
                for (now, &before) in now.iter_mut().zip(before) {
                    *now = Lanes::select(open, *now, before);
                }
            };
            keep(&mut state.signals, &before.signals);
            keep(&mut state.states, &before.states);
            for (now, before) in state.bonds.iter_mut().zip(&before.bonds) {
                *now = now.zip(before, |now, before| Lanes::select(open, now, before));
            }
            // Of lanes that stand still, nothing counts.
            let (now, before) = (&mut state.faults, &before.faults);
            now.unconverged_lanes =
                before.unconverged_lanes | (now.unconverged_lanes & open.bits());
            now.stopped_lanes = before.stopped_lanes | (now.stopped_lanes & open.bits());
        }
    }
}

struct LaneRate<const N: usize> {
    s: Vec<Gated<N>>,
    c: Vec<Gated<N>>,
    q: Vec<Gated<N>>,
    border_flow: Vec<Lanes<N>>,
}

/// Same layout and clock, and no temperature to carry, which only single runs do.
fn have_one_frame(one: &Plan, other: &Plan) -> bool {
    (one.fingerprint, one.convention, one.rates.len())
        == (other.fingerprint, other.convention, other.rates.len())
        && one.start.to_bits() == other.start.to_bits()
        && one.step.to_bits() == other.step.to_bits()
        && one.thermal.is_none()
        && other.thermal.is_none()
}

/// Whether two plans differ in numbers alone, so that they can run side by side.
pub fn are_alike(one: &Plan, other: &Plan, registry: &Registry) -> bool {
    let plan = one;
    let groups_are = |one: &[Box<dyn Group<f64>>], other: &[Box<dyn Group<f64>>]| {
        let group_is = |one: &dyn Group<f64>, other: &dyn Group<f64>| {
            if one.is_empty() || other.is_empty() {
                return one.is_empty() && other.is_empty();
            }
            let component = one.wiring(0).component() as usize;
            let name = plan.variables.entries[component].declaration.name;
            let packing = registry.get(name).and_then(|kind| kind.lanes);
            one.gates() == other.gates() && packing.is_some_and(|p| (p.alike)(one, other))
        };
        one.len() == other.len()
            && one.iter().zip(other).all(|(one, other)| group_is(one.as_ref(), other.as_ref()))
    };
    have_one_frame(one, other)
        && one.rates.iter().zip(&other.rates).all(|(one, other)| {
            groups_are(&one.s, &other.s)
                && groups_are(&one.c, &other.c)
                && groups_are(&one.q, &other.q)
        })
}

/// One component of N plans side by side: what code leaves to the engine.
pub struct LaneUnit<const N: usize>(Gated<N>);

impl<const N: usize> LaneUnit<N> {
    /// Packs a member of a group of plans that are alike; `None` when they are not.
    pub fn of<I: Instructions>(
        plans: &[&Plan; N],
        registry: &Registry,
        instructions: I,
        rate: usize,
        (phase, group, member): (u8, usize, usize),
    ) -> Option<Self>
    where
        Widths: Width<N, Instructions = I>,
    {
        let select = |plan: &Plan| {
            let rate = plan.rates.get(rate)?;
            let groups = [&rate.s, &rate.c, &rate.q][usize::from(phase)];
            let group = groups.get(group).filter(|group| member < group.len())?;
            Some(group.select(&[member]))
        };
        let alone: Option<Vec<Box<dyn Group<f64>>>> =
            plans.iter().map(|plan| select(plan)).collect();
        let alone = alone?;
        let component = alone[0].wiring(0).component() as usize;
        let kind = registry.get(plans[0].variables.entries[component].declaration.name)?;
        let packing = kind.lanes.as_ref()?;
        let same = from_fn(|lane| alone[lane].as_ref());
        let group = pack_group(same, packing, Widths::pack(packing), instructions)?;
        Some(Self(Gated { group, gates: alone[0].gates().into() }))
    }

    /// Steps it.
    pub fn step(&self, state: &mut State<Lanes<N>>, clock: &Clock) {
        advance(std::slice::from_ref(&self.0), state, clock);
    }
}

/// N plans side by side.
pub struct LanePlan<'p, const N: usize> {
    /// That of the first lane: what is the same for all.
    plan: &'p Plan,
    rates: Vec<LaneRate<N>>,
}

impl<'p, const N: usize> LanePlan<'p, N> {
    /// Packs plans; `None` when they differ in more than numbers, or when they carry temperature,
    /// which only single runs do.
    pub fn of<I: Instructions>(
        plans: &[&'p Plan; N],
        registry: &Registry,
        instructions: I,
    ) -> Option<Self>
    where
        Widths: Width<N, Instructions = I>,
    {
        let plan = *plans.first()?;
        if !plans.iter().all(|other| have_one_frame(plan, other)) {
            return None;
        }
        let mut rates = Vec::with_capacity(plan.rates.len());
        for rate in 0..plan.rates.len() {
            let pack = |groups: [&[Box<dyn Group<f64>>]; N]| -> Option<Vec<Gated<N>>> {
                let count = groups[0].len();
                if groups.iter().any(|groups| groups.len() != count) {
                    return None;
                }
                let mut packed = Vec::with_capacity(count);
                for index in 0..count {
                    let same = groups.map(|groups| groups[index].as_ref());
                    if same[0].is_empty() || same[0].kernel(0..usize::MAX).is_idle() {
                        continue;
                    }
                    let component = same[0].wiring(0).component() as usize;
                    let kind = registry.get(plan.variables.entries[component].declaration.name)?;
                    let gates = same[0].gates();
                    if same.iter().any(|group| group.gates() != gates) {
                        return None;
                    }
                    let packing = kind.lanes.as_ref()?;
                    let group = pack_group(same, packing, Widths::pack(packing), instructions)?;
                    packed.push(Gated { group, gates: gates.into() });
                }
                Some(packed)
            };
            rates.push(LaneRate {
                s: pack(plans.map(|plan| &plan.rates[rate].s[..]))?,
                c: pack(plans.map(|plan| &plan.rates[rate].c[..]))?,
                q: pack(plans.map(|plan| &plan.rates[rate].q[..]))?,
                border_flow: vec![Lanes::zero(); plan.rates[rate].borders.len()],
            });
        }
        Some(Self { plan, rates })
    }

    /// One main step. `frozen` holds time at the start, to come to rest.
    ///
    /// The order is that of [`crate::engine::step`].
    pub fn step(&mut self, state: &mut State<Lanes<N>>, frozen: bool) {
        let plan = self.plan;
        let (begin, end) = plan.times(state);
        let tick = state.step + state.rest_steps + 1;
        let Some((main, faster)) = self.rates.split_first_mut() else { return };
        let time = if frozen { plan.start } else { end };
        let clock = Clock { time, dt: plan.step, tick };
        plan.rates[0].publish(state);
        advance(&main.s, state, &clock);
        advance(&main.c, state, &clock);
        for (fast, common) in faster.iter_mut().zip(&plan.rates[1..]) {
            let n = common.divisor;
            let dt = plan.step / f64::from(n);
            fast.border_flow.fill(Lanes::zero());
            for sub in 0..n {
                let time = if frozen { plan.start } else { begin + f64::from(sub + 1) * dt };
                let tick = (tick - 1) * u64::from(n) + u64::from(sub) + 1;
                let clock = Clock { time, dt, tick };
                common.publish(state);
                advance(&fast.s, state, &clock);
                advance(&fast.c, state, &clock);
                for junction in &common.junctions {
                    junction.gather(&mut state.bonds, dt);
                }
                advance(&fast.q, state, &clock);
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
        advance(&main.q, state, &clock);
        for junction in &plan.rates[0].junctions {
            junction.scatter(&mut state.bonds);
        }
        state.step += 1;
        if !frozen {
            state.time = end;
        }
    }

    /// Brings each lane to rest from its own start, see [`crate::start::come_to_rest`]: how it came
    /// to rest, and the state in which it did.
    pub fn come_to_rest(
        &mut self,
        starts: [&State<f64>; N],
        limit: f64,
        tolerance: f64,
        mut go_on: impl FnMut() -> bool,
    ) -> [(Rest, State<f64>); N] {
        let mut state = pack_states(starts);
        let mut results: [(Rest, State<f64>); N] =
            from_fn(|lane| (Rest::default(), starts[lane].clone()));
        let mut settling: [Settling; N] = from_fn(|_| Settling::new(self.plan, limit, tolerance));
        let mut is_open = [true; N];
        let mut before: [State<f64>; N] = from_fn(|lane| starts[lane].clone());
        let mut after = before[0].clone();
        while is_open.contains(&true) {
            for _ in 0..settling[0].interval() {
                self.step(&mut state, true);
                state.step -= 1;
                state.rest_steps += 1;
            }
            let goes_on = go_on();
            for lane in (0..N).filter(|&lane| is_open[lane]).collect::<Vec<_>>() {
                extract(&state, lane, &mut after);
                if !settling[lane].look(self.plan, &before[lane], &after, || goes_on) {
                    is_open[lane] = false;
                    let (rest, state) = &mut results[lane];
                    settling[lane].finish(self.plan, &mut after);
                    *rest = settling[lane].rest();
                    state.copy_from(&after);
                }
                before[lane].copy_from(&after);
            }
        }
        results
    }
}

/// States of runs by themselves, side by side. Step and time are those of the first.
pub fn pack_states<const N: usize>(states: [&State<f64>; N]) -> State<Lanes<N>> {
    let pack = |of: fn(&State<f64>) -> &[f64]| -> Vec<Lanes<N>> {
        let numbers = 0..of(states[0]).len();
        on_cache_lines(numbers.map(|i| Lanes(states.map(|state| of(state)[i]))).collect())
    };
    let bond = |i: usize| {
        let number = |of: fn(&Bond<f64>) -> f64| Lanes(states.map(|state| of(&state.bonds[i])));
        Bond {
            flow: number(|b| b.flow),
            effort: number(|b| b.effort),
            wave: number(|b| b.wave),
            impedance: number(|b| b.impedance),
            displacement: number(|b| b.displacement),
            dry: number(|b| b.dry),
        }
    };
    State {
        bonds: on_cache_lines((0..states[0].bonds.len()).map(bond).collect()),
        signals: pack(|state| &state.signals),
        states: pack(|state| &state.states),
        viscosity: pack(|state| &state.viscosity),
        line_temperature: pack(|state| &state.line_temperature),
        delivered_temperature: pack(|state| &state.delivered_temperature),
        time: states[0].time,
        step: states[0].step,
        rest_steps: states[0].rest_steps,
        faults: Default::default(),
    }
}

/// What a cache line holds, in bytes.
const CACHE_LINE: usize = 64;
/// Places that are tried.
const TRIES: usize = 8;

/// Moves numbers to where a cache line begins, if such a place is found: eight lanes fill a line, and
/// would lie across two of them everywhere.
pub fn on_cache_lines<T: Clone>(mut numbers: Vec<T>) -> Vec<T> {
    // Those that are not taken are held until one is, for they would be found again.
    let mut others = Vec::new();
    while !numbers.as_ptr().addr().is_multiple_of(CACHE_LINE) && others.len() < TRIES {
        let elsewhere = numbers.clone();
        others.push(std::mem::replace(&mut numbers, elsewhere));
    }
    numbers
}

/// The state of one lane, into one of the same layout.
pub fn extract<const N: usize>(state: &State<Lanes<N>>, lane: usize, into: &mut State<f64>) {
    let copy = |into: &mut [f64], from: &[Lanes<N>]| {
        for (into, from) in into.iter_mut().zip(from) {
            *into = from.0[lane];
        }
    };
    for (into, from) in into.bonds.iter_mut().zip(&state.bonds) {
        *into = from.map(|x| x.0[lane]);
    }
    copy(&mut into.signals, &state.signals);
    copy(&mut into.states, &state.states);
    copy(&mut into.viscosity, &state.viscosity);
    copy(&mut into.line_temperature, &state.line_temperature);
    copy(&mut into.delivered_temperature, &state.delivered_temperature);
    (into.time, into.step, into.rest_steps) = (state.time, state.step, state.rest_steps);
    into.faults = Default::default();
}

/// Puts the numbers of one lane in place of those of another, which has gone wrong: infinities and
/// numbers that are none slow the arithmetic of all.
pub fn replace_lane<const N: usize>(state: &mut State<Lanes<N>>, lane: usize, by: usize) {
    let replace = |x: &mut Lanes<N>| x.0[lane] = x.0[by];
    for bond in &mut state.bonds {
        *bond = bond.map(|mut x| {
            replace(&mut x);
            x
        });
    }
    for numbers in [
        &mut state.signals,
        &mut state.states,
        &mut state.viscosity,
        &mut state.line_temperature,
        &mut state.delivered_temperature,
    ] {
        numbers.iter_mut().for_each(replace);
    }
}

/// Lanes in which something is infinite, not a number or beyond physics, one bit each; of a single
/// run, the first bit.
pub fn unsound<T: Num>(state: &State<T>) -> u64 {
    let limit = T::of(BEYOND_PHYSICS);
    let mut sound = T::zero().le(T::zero());
    for bond in &state.bonds {
        for x in [bond.effort, bond.flow, bond.wave] {
            sound = sound & x.abs().lt(limit);
        }
    }
    for x in &state.states {
        sound = sound & x.abs().lt(limit);
    }
    for x in &state.signals {
        sound = sound & x.abs().lt(T::of(f64::INFINITY));
    }
    (!sound).bits()
}
