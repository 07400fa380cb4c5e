//! The component contract: declaration, physics, and the step they give.
//!
//! A component is a struct with one `#[component]` declaration ([`Declared`]), constants that are
//! computed once ([`Physics::prepare`]) and a law ([`Physics::law`]): flows and rates as functions
//! of efforts, states and inputs. The law alone is enough to run: [`crate::implicit::step`] solves
//! it together with the line ends and the trapezoidal rule. Components that are stepped often give
//! a closed form ([`Physics::step`]), which tests hold to the generic one.

use crate::declare::{Causality, Declaration, Value};
use crate::fluid::Fluid;
use crate::lanes::Packing;
use crate::lumped::{LawOf, Lumped};
use crate::number::Num;
use crate::program::Follow;
use crate::state::State;
use crate::step::Members;
use std::any::Any;
use std::ops::Range;

pub use crate::step::{Kernel, Phase, Step, Wiring, view};

/// What the `#[component]` attribute writes for a component.
pub trait Declared: Sized + Send + Sync + 'static {
    /// The table that everything else reads.
    const DECLARATION: &'static Declaration;
    /// Numbers hoisted out of the step, per number type.
    type Constants<T: Num>: Send + Sync;
    /// Reads the parameters from values that have been checked against the declaration.
    fn from_values(values: &[Value]) -> Option<Self>;
    /// The same constants in another number type.
    fn lift<T: Num, U: Num>(
        constants: &Self::Constants<T>,
        f: &mut dyn FnMut(T) -> U,
    ) -> Self::Constants<U>;
    /// Whether constants differ in numbers alone, so that they can stand side by side in lanes.
    fn agrees<T: Num>(one: &Self::Constants<T>, other: &Self::Constants<T>) -> bool;
}

/// Constants of a component that has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoConstants<T>(std::marker::PhantomData<T>);

impl<T: Num> NoConstants<T> {
    /// Nothing, of any number type.
    pub const fn new() -> Self {
        Self(std::marker::PhantomData)
    }
    /// Nothing, in another number type.
    pub fn map<U: Num>(&self, f: &mut dyn FnMut(T) -> U) -> NoConstants<U> {
        let _ = f;
        NoConstants::new()
    }
    /// They do.
    pub fn agrees(&self, other: &Self) -> bool {
        let _ = other;
        true
    }
}

/// What a component is told about its surroundings when its constants are computed.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// Time step, s.
    pub step: f64,
    /// The oil at its ports.
    pub fluid: &'a Fluid,
    /// Pressure that oil starts at where a component does not say, Pa.
    pub start_pressure: f64,
    /// How many bonds its ports have in all.
    pub bonds: usize,
    /// How many of them each declared port has: one, or as many as are connected to a port that
    /// takes many. The bonds of the first port come first.
    pub places: &'a [usize],
    /// How lumped lines are filtered.
    pub filter: Filter,
    /// Which inputs signals drive; where nothing is known, any of them may change.
    pub driven: &'a [bool],
}

impl Environment<'_> {
    /// True when no signal drives any of these inputs: what follows from them is constant, and
    /// their values are those of the component's parameters.
    pub fn holds(&self, inputs: &[usize]) -> bool {
        inputs.iter().all(|&input| self.driven.get(input) == Some(&false))
    }
}

/// Filter of lumped lines, which damps their parasitic resonance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filter {
    /// Undamped.
    None,
    /// The wave is filtered (Pollmeier 2.25–2.27), factor α.
    Wave(f64),
    /// Only the pressure part is filtered (Pollmeier 6.1–6.5), factor α.
    Pressure(f64),
}

impl Filter {
    /// α, 0 when undamped.
    pub fn factor(self) -> f64 {
        match self {
            Filter::None => 0.0,
            Filter::Wave(a) | Filter::Pressure(a) => a,
        }
    }
}

/// Why a component cannot be built from parameters that are each in range.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The parameter to point at.
    pub parameter: &'static str,
    /// What is wrong, with both values.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Refusal {
    /// A refusal that points at a parameter.
    pub fn new(
        parameter: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { parameter, message: message.into(), help: help.into() }
    }
}

/// The physics of a component, written once for every number type.
pub trait Physics: Declared {
    /// Computes what stays constant during a run.
    fn prepare(&self, environment: &Environment) -> Result<Self::Constants<f64>, Refusal>;

    /// The continuous law. A Q-component reads efforts, states and inputs and writes flows (out of
    /// the component), displacements and rates; a C-component reads flows and displacements and
    /// writes efforts and rates; all write outputs.
    fn law<T: Num>(constants: &Self::Constants<T>, law: &mut Law<'_, T>) {
        let _ = (constants, law);
    }

    /// The law where the wave method starts: rates and outputs of step 0. The same, except where a
    /// step knows more than rates can say: that a body rests in spite of what pulls at it.
    fn start_law<T: Num>(constants: &Self::Constants<T>, law: &mut Law<'_, T>) {
        Self::law(constants, law);
    }

    /// Whether the continuous law is given. A component that is defined by its step, such as one
    /// that keeps to another program's discretisation, has none: only the wave method runs it, and
    /// its [`Physics::start`] also sets its outputs.
    const HAS_LAW: bool = true;

    /// Whether the component advances in main steps also where other components are integrated with
    /// steps of their own: delays, samplers and blocks with memory, lines that keep their delay.
    fn is_discrete(constants: &Self::Constants<f64>) -> bool {
        let _ = constants;
        false
    }

    /// The next time after `time` at which the law jumps or bends by itself (a step, a corner of a
    /// ramp): integration stops there and goes on from the other side. Blocks of signals know such
    /// times; everything else says never.
    fn next_event(constants: &Self::Constants<f64>, time: f64) -> f64 {
        let _ = (constants, time);
        f64::INFINITY
    }

    /// Whether [`Physics::settle`] does anything.
    fn settles(constants: &Self::Constants<f64>) -> bool {
        let _ = constants;
        false
    }

    /// After a step of an integrator: puts states that ran past a stop back onto it and renews what
    /// the law remembers. Only for components whose law has hard stops or memory.
    fn settle(constants: &Self::Constants<f64>, settle: &mut Settle<'_>) {
        let _ = (constants, settle);
    }

    /// After a main step, for the results of an integrator: counts where a limit or vapour was met,
    /// and renews states and memory that the law does not read, such as the position of a spool
    /// that follows its command at once.
    fn show(constants: &Self::Constants<f64>, settle: &mut Settle<'_>) {
        let _ = (constants, settle);
    }

    /// States that are the pressure of a volume of oil, with that volume, m³, where it stands at the
    /// start: what makes circuits stiff when it is small.
    fn volumes(constants: &Self::Constants<f64>) -> Vec<(usize, f64)> {
        let _ = constants;
        Vec::new()
    }

    /// One time step with line ends `effort = wave + impedance·flow`. C-components must give it.
    #[inline]
    fn step<T: Num>(constants: &Self::Constants<T>, io: &mut Step<'_, T>) {
        crate::implicit::step::<Self, T>(constants, io);
    }

    /// Sets what the declaration's start values do not: waves of C-components, motion that
    /// Q-components impose. Q-components are started first, then C, then S.
    fn start<T: Num>(constants: &Self::Constants<T>, io: &mut Step<'_, T>) {
        let _ = (constants, io);
    }

    /// Numbers of history kept beside the declared memory (delay buffers).
    fn history(constants: &Self::Constants<f64>) -> usize {
        let _ = constants;
        0
    }

    /// Changes the waves when the step changes from the one of `old`: keeps their sum and their
    /// difference over the impedance (Pollmeier 3.7–3.11). Only C-components hold waves.
    fn change_step<T: Num>(
        old: &Self::Constants<T>,
        new: &Self::Constants<T>,
        io: &mut Step<'_, T>,
    ) {
        let _ = (old, new, io);
    }

    /// Energy stored, J; for the balance.
    fn energy<T: Num>(constants: &Self::Constants<T>, io: &Step<'_, T>) -> T {
        let _ = (constants, io);
        T::zero()
    }

    /// Oil held, as volume at reference pressure, m³; for the balance.
    fn content<T: Num>(constants: &Self::Constants<T>, io: &Step<'_, T>) -> T {
        let _ = (constants, io);
        T::zero()
    }

    /// What the balances and the error measure must know.
    const ROLE: BalanceRole = BalanceRole::Through;

    /// Chambers that are lumped lines between a port and the inside of the component, as pairs of
    /// port and state (their mean pressure): they enter the error measure too.
    fn chambers(constants: &Self::Constants<f64>) -> &'static [(usize, usize)] {
        let _ = constants;
        &[]
    }

    /// Does nothing in a step: what it has written at the start holds.
    const IS_IDLE: bool = false;

    /// A long chain of roots and divisions: it is begun before the others of its phase, which a
    /// processor computes while it waits.
    const BEGINS_EARLY: bool = false;

    /// Inputs whose present value the outputs do not need: where a signal loop may be opened.
    const NO_FEEDTHROUGH: &'static [usize] = &[];

    /// A store that gives back what was put in: its energy enters the balance. A line with friction
    /// or a cylinder with leakage says no.
    fn is_lossless(constants: &Self::Constants<f64>) -> bool {
        let _ = constants;
        true
    }

    /// The C-side is a lumped line between its bonds: the difference of efforts between them is
    /// the parasitic error. A line with true delay says no.
    fn is_lumped(constants: &Self::Constants<f64>) -> bool {
        let _ = constants;
        false
    }
}

/// How a component enters the balances of oil and energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceRole {
    /// What enters leaves: valves, orifices.
    Through,
    /// Holds oil or energy, see [`Physics::content`] and [`Physics::energy`].
    Storage,
    /// The edge of the circuit: tanks and sources.
    Boundary,
}

/// What the continuous law reads and writes. All slices are by port, state, input or output index.
pub struct Law<'a, T> {
    /// Efforts at the ports.
    pub effort: &'a mut [T],
    /// Flows out of a Q-component into its lines (into a C-component).
    pub flow: &'a mut [T],
    /// Positions at mechanical ports.
    pub displacement: &'a mut [T],
    /// States.
    pub state: &'a [T],
    /// Rates of the states.
    pub rate: &'a mut [T],
    /// Remembered values, as they were at the last step.
    pub memory: &'a [T],
    /// Inputs.
    pub input: &'a [T],
    /// Outputs.
    pub output: &'a mut [T],
    /// Kinematic viscosity at the ports, m²/s.
    pub viscosity: &'a [T],
    /// Time: see [`Law::time`].
    pub time: AtTime,
}

impl<T: Num> Law<'_, T> {
    /// Time, s.
    #[inline(always)]
    pub fn time(&self) -> f64 {
        T::looks_at_clock();
        self.time.0
    }
}

/// A time, s, that is told to who asks for it: whoever does not ask does the same at any time.
#[derive(Clone, Copy, Debug)]
pub struct AtTime(f64);

impl From<f64> for AtTime {
    fn from(time: f64) -> Self {
        Self(time)
    }
}

/// What [`Physics::settle`] and [`Physics::show`] see and may change.
pub struct Settle<'a> {
    /// States, to be put back onto stops.
    pub state: &'a mut [f64],
    /// What is remembered.
    pub memory: &'a mut [f64],
    /// Efforts at the ports.
    pub effort: &'a [f64],
    /// Flows, as in [`Law::flow`].
    pub flow: &'a [f64],
    /// Positions at mechanical ports.
    pub displacement: &'a [f64],
    /// Inputs.
    pub input: &'a [f64],
    /// Outputs.
    pub output: &'a [f64],
    /// Time, s.
    pub time: f64,
}

impl Settle<'_> {
    /// Adds one to a remembered count where something holds.
    pub fn count(&mut self, index: usize, holds: bool) {
        self.memory[index] += f64::from(u8::from(holds));
    }
}

/// Time as a component sees it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Time at the end of the step, s.
    pub time: f64,
    /// Step length, s.
    pub dt: f64,
    /// Step number, from 1.
    pub tick: u64,
}

/// Components of one type that are stepped together.
pub trait Group<T: Num>: Send + Sync {
    /// Some of them, those that there are, as the step loop calls them.
    fn kernel(&self, members: Range<usize>) -> Kernel<'_, T>;
    /// Starts one of them.
    fn start_one(&self, index: usize, state: &mut State<T>, clock: Clock);
    /// Evaluates the continuous law of one of them into the outputs and rates at the start.
    fn start_law(&self, index: usize, state: &mut State<T>, clock: Clock);
    /// Energy stored in one of them, J.
    fn energy(&self, index: usize, state: &mut State<T>) -> T;
    /// Oil held by one of them, m³.
    fn content(&self, index: usize, state: &mut State<T>) -> T;
    /// The continuous law of one of them.
    fn lumped(&self, index: usize) -> Box<dyn Lumped>;
    /// Adapts the waves of all to a new step; `new` holds the same components in the same order.
    fn change_step(&self, new: &dyn Group<T>, state: &mut State<T>);
    /// How many there are.
    fn len(&self) -> usize;
    /// True when there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Where one of them is wired.
    fn wiring(&self, index: usize) -> &Wiring;
    /// A group of some of them, wired to the same places: for parts of a circuit.
    fn select(&self, members: &[usize]) -> Box<dyn Group<T>>;
    /// Signals that must be positive for them to be stepped.
    fn gates(&self) -> &[u32] {
        &[]
    }
    /// For the plan, which adds members.
    fn as_any(&self) -> &dyn Any;
    /// For the plan, which adds members.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Num> dyn Group<T> + '_ {
    /// Steps all of them.
    pub fn step(&self, state: &mut State<T>, clock: &Clock) {
        self.kernel(0..usize::MAX).run(state, clock);
    }
    /// Steps one of them: to trace a divergence.
    pub fn step_one(&self, index: usize, state: &mut State<T>, clock: Clock) {
        self.kernel(index..index + 1).run(state, &clock);
    }
}

/// The group of component type `M`.
pub struct GroupOf<M: Declared, T: Num> {
    members: Members<M, T>,
    wiring: Vec<Wiring>,
}

impl<M: Declared, T: Num> Default for GroupOf<M, T> {
    fn default() -> Self {
        Self { members: Members::default(), wiring: Vec::new() }
    }
}

impl<M: Physics, T: Num> GroupOf<M, T> {
    /// What the components have hoisted out of the step.
    pub(crate) fn constants(&self) -> &[M::Constants<T>] {
        self.members.constants()
    }
    /// Where each of them is wired.
    pub(crate) fn wirings(&self) -> &[Wiring] {
        &self.wiring
    }
    /// Adds a component; false when the wiring is that of another type.
    pub fn push(&mut self, constants: M::Constants<T>, wiring: Wiring) -> bool {
        let fits = self.members.push(constants, &wiring);
        if fits {
            self.wiring.push(wiring);
        }
        fits
    }
}

const REST: Clock = Clock { time: 0.0, dt: 0.0, tick: 0 };

impl<M: Physics, T: Num> Group<T> for GroupOf<M, T> {
    fn kernel(&self, members: Range<usize>) -> Kernel<'_, T> {
        self.members.kernel(members)
    }
    fn start_one(&self, index: usize, state: &mut State<T>, clock: Clock) {
        let io = &mut view::<M, T>(&self.wiring[index], state, clock);
        M::start(&self.members.constants()[index], io);
    }
    fn start_law(&self, index: usize, state: &mut State<T>, clock: Clock) {
        if !M::HAS_LAW {
            return;
        }
        let io = &mut view::<M, T>(&self.wiring[index], state, clock);
        crate::implicit::start::<M, T>(&self.members.constants()[index], io);
    }
    fn energy(&self, index: usize, state: &mut State<T>) -> T {
        M::energy(&self.members.constants()[index], &view::<M, T>(&self.wiring[index], state, REST))
    }
    fn content(&self, index: usize, state: &mut State<T>) -> T {
        M::content(
            &self.members.constants()[index],
            &view::<M, T>(&self.wiring[index], state, REST),
        )
    }
    fn lumped(&self, index: usize) -> Box<dyn Lumped> {
        let constants = M::lift(&self.members.constants()[index], &mut T::first);
        Box::new(LawOf::<M>::new(&constants))
    }
    fn change_step(&self, new: &dyn Group<T>, state: &mut State<T>) {
        let Some(new) = new.as_any().downcast_ref::<Self>() else {
            return;
        };
        let pairs = self.members.constants().iter().zip(new.members.constants());
        for ((old, new), wiring) in pairs.zip(&self.wiring) {
            M::change_step(old, new, &mut view::<M, T>(wiring, state, REST));
        }
    }
    fn len(&self) -> usize {
        self.wiring.len()
    }
    fn wiring(&self, index: usize) -> &Wiring {
        &self.wiring[index]
    }
    fn select(&self, members: &[usize]) -> Box<dyn Group<T>> {
        let mut chosen = Self::default();
        for &index in members {
            let constants = M::lift(&self.members.constants()[index], &mut |x: T| x);
            // What fitted once fits again.
            let fits = chosen.push(constants, self.wiring[index].clone());
            debug_assert!(fits);
        }
        Box::new(chosen)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// Components that are stepped only while signals are positive.
pub struct Gated<T: Num> {
    /// The components.
    pub group: Box<dyn Group<T>>,
    /// The signals.
    pub gates: Box<[u32]>,
}

impl<T: Num> Group<T> for Gated<T> {
    fn kernel(&self, members: Range<usize>) -> Kernel<'_, T> {
        self.group.kernel(members).gated(&self.gates)
    }
    fn start_one(&self, index: usize, state: &mut State<T>, clock: Clock) {
        self.group.start_one(index, state, clock);
    }
    fn start_law(&self, index: usize, state: &mut State<T>, clock: Clock) {
        self.group.start_law(index, state, clock);
    }
    fn energy(&self, index: usize, state: &mut State<T>) -> T {
        self.group.energy(index, state)
    }
    fn content(&self, index: usize, state: &mut State<T>) -> T {
        self.group.content(index, state)
    }
    fn lumped(&self, index: usize) -> Box<dyn Lumped> {
        self.group.lumped(index)
    }
    fn change_step(&self, new: &dyn Group<T>, state: &mut State<T>) {
        self.group.change_step(new, state);
    }
    fn len(&self) -> usize {
        self.group.len()
    }
    fn wiring(&self, index: usize) -> &Wiring {
        self.group.wiring(index)
    }
    fn select(&self, members: &[usize]) -> Box<dyn Group<T>> {
        Box::new(Self { group: self.group.select(members), gates: self.gates.clone() })
    }
    fn gates(&self) -> &[u32] {
        &self.gates
    }
    fn as_any(&self) -> &dyn Any {
        self.group.as_any()
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self.group.as_any_mut()
    }
}

/// A component type as the registry holds it.
#[derive(Clone, Copy)]
pub struct ComponentType {
    /// Its declaration.
    pub declaration: &'static Declaration,
    /// Builds a component from checked values.
    pub build: fn(&[Value]) -> Option<Box<dyn Component>>,
    /// How variants of it are stepped side by side, where that is compiled.
    pub lanes: Option<Packing>,
    /// How its step is written down for fused code, where that is compiled.
    pub follow: Option<Follow>,
}

impl ComponentType {
    /// The entry of a component for a registry.
    pub const fn of<M: Physics>() -> Self {
        Self {
            declaration: M::DECLARATION,
            build: |values| Some(Box::new(Built(M::from_values(values)?)) as Box<dyn Component>),
            // Every type once more for each number of lanes and set of instructions: a large part of
            // a build, for those who run ensembles.
            #[cfg(feature = "lanes")]
            lanes: Some(Packing::of::<M>()),
            #[cfg(not(feature = "lanes"))]
            lanes: None,
            #[cfg(feature = "fused")]
            follow: Some(crate::program::follow::<M>),
            #[cfg(not(feature = "fused"))]
            follow: None,
        }
    }
}

impl std::fmt::Debug for ComponentType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.declaration.name)
    }
}

/// A component with its parameters, of any type.
pub trait Component: Send + Sync {
    /// Its effort does not depend on flow: a tank or an ideal source.
    fn is_ideal_source(&self) -> bool;
    /// Computes the constants for a step and an oil.
    fn prepare(&self, environment: &Environment) -> Result<Box<dyn Prepared>, Refusal>;
}

/// A component with its constants, of any type, ready to be put into a group.
pub trait Prepared: Send {
    /// History it needs beside declared memory.
    fn history(&self) -> usize;
    /// See [`Physics::is_lumped`].
    fn is_lumped(&self) -> bool;
    /// See [`Physics::is_lossless`].
    fn is_lossless(&self) -> bool;
    /// See [`Physics::ROLE`].
    fn role(&self) -> BalanceRole;
    /// See [`Physics::chambers`].
    fn chambers(&self) -> &'static [(usize, usize)];
    /// See [`Physics::BEGINS_EARLY`].
    fn begins_early(&self) -> bool;
    /// See [`Physics::NO_FEEDTHROUGH`].
    fn no_feedthrough(&self) -> &'static [usize];
    /// Its causality.
    fn causality(&self) -> Causality;
    /// An empty group for components of this type.
    fn new_group(&self) -> Box<dyn Group<f64>>;
    /// Joins a group of the same type; false when the group is of another type.
    fn join(&mut self, group: &mut dyn Group<f64>, wiring: Wiring) -> bool;
    /// Whether it fits where a member of a group is: the same type, as much history, watched alike.
    fn is_laid_out_as(&self, group: &dyn Group<f64>, member: usize) -> bool;
    /// Takes the place of a member that is laid out as it is.
    fn replace(&mut self, group: &mut dyn Group<f64>, member: usize);
}

struct Built<M>(M);

impl<M: Physics> Component for Built<M> {
    fn is_ideal_source(&self) -> bool {
        M::ROLE == BalanceRole::Boundary && M::DECLARATION.causality == Causality::C
    }
    fn prepare(&self, environment: &Environment) -> Result<Box<dyn Prepared>, Refusal> {
        let constants = self.0.prepare(environment)?;
        Ok(Box::new(Ready::<M> { constants: Some(constants) }))
    }
}

struct Ready<M: Declared> {
    constants: Option<M::Constants<f64>>,
}

impl<M: Physics> Prepared for Ready<M> {
    fn history(&self) -> usize {
        self.constants.as_ref().map_or(0, M::history)
    }
    fn is_lumped(&self) -> bool {
        self.constants.as_ref().is_some_and(M::is_lumped)
    }
    fn is_lossless(&self) -> bool {
        self.constants.as_ref().is_none_or(M::is_lossless)
    }
    fn role(&self) -> BalanceRole {
        M::ROLE
    }
    fn chambers(&self) -> &'static [(usize, usize)] {
        self.constants.as_ref().map_or(&[], M::chambers)
    }
    fn begins_early(&self) -> bool {
        M::BEGINS_EARLY
    }
    fn no_feedthrough(&self) -> &'static [usize] {
        M::NO_FEEDTHROUGH
    }
    fn causality(&self) -> Causality {
        M::DECLARATION.causality
    }
    fn new_group(&self) -> Box<dyn Group<f64>> {
        Box::new(GroupOf::<M, f64>::default())
    }
    fn join(&mut self, group: &mut dyn Group<f64>, wiring: Wiring) -> bool {
        match (group.as_any_mut().downcast_mut::<GroupOf<M, f64>>(), self.constants.take()) {
            (Some(group), Some(constants)) => group.push(constants, wiring),
            _ => false,
        }
    }
    fn is_laid_out_as(&self, group: &dyn Group<f64>, member: usize) -> bool {
        let group = group.as_any().downcast_ref::<GroupOf<M, f64>>();
        let old = group.and_then(|group| group.constants().get(member));
        old.zip(self.constants.as_ref()).is_some_and(|(old, new)| {
            M::history(old) == M::history(new)
                && M::is_lumped(old) == M::is_lumped(new)
                && M::is_lossless(old) == M::is_lossless(new)
                && M::chambers(old) == M::chambers(new)
        })
    }
    fn replace(&mut self, group: &mut dyn Group<f64>, member: usize) {
        let group = group.as_any_mut().downcast_mut::<GroupOf<M, f64>>();
        if let (Some(group), Some(constants)) = (group, self.constants.take()) {
            group.members.replace(member, constants);
        }
    }
}
