//! A component's view of the state during a step.
//!
//! The step loop spends its time here: every port variable, signal and state that a component reads
//! or writes goes through a [`Step`]. Where a component's numbers lie is checked once, when it joins
//! its group; after that the accesses are unchecked. This module holds all `unsafe` code of the
//! engine. What makes it sound:
//!
//! 1. A [`Wiring`] is written by [`Wiring::new`] only, and never changes. Its record and its
//!    `Reach` are computed there together: no index of the record lies beyond the reach.
//! 2. A [`Step`] is made only from a record whose shape fits the component type (as many ports,
//!    inputs, outputs and states as it declares) and after the reach was found to lie within the
//!    state: by [`view`] for one component, by `Members::step` for a group.
//! 3. A [`Step`] borrows the state mutably for as long as it lives, so that the arrays keep their
//!    place and size and nobody else looks at them. It hands out references one at a time, each
//!    bound to a borrow of the [`Step`] itself.
//! 4. Which port, input or state a component asks for is checked on every access, against counts
//!    that are known when the program is compiled: the checks vanish once the step is inlined.
#![allow(unsafe_code, reason = "see the argument above")]

use crate::component::{Clock, Declared, Physics};
use crate::declare::Declaration;
use crate::domain::Role;
use crate::number::{Mask, Num};
use crate::state::{Bond, Faults, State};
use std::marker::PhantomData;
use std::ops::Range;

/// Numbers in a bond, all of one type and without gaps: it is `repr(C)`.
const BOND: usize = 6;
const _: () = assert!(size_of::<Bond<f64>>() == BOND * size_of::<f64>());

/// Where a record keeps what; inputs follow, then ports.
const COMPONENT: usize = 0;
const OUTPUTS: usize = 1;
const STATES: usize = 2;
const BLOCK: usize = 3;
const HEAD: usize = 4;

/// The numbers of bonds in a row: six of each, in the order of its fields.
pub(crate) fn numbers(bonds: &[Bond<f64>]) -> &[f64] {
    // SAFETY: `Bond` is `repr(C)` of `BOND` numbers, without gaps; the borrow is the same.
    unsafe { std::slice::from_raw_parts(bonds.as_ptr().cast(), bonds.len() * BOND) }
}

/// Where a number of a bond is among the numbers of all bonds. Temperature is kept elsewhere: it
/// has no place there.
pub(crate) fn place_in_bonds(bond: u32, role: Role) -> usize {
    let field = match role {
        Role::Flow => 0,
        Role::Effort => 1,
        Role::Wave => 2,
        Role::Impedance => 3,
        Role::Displacement => 4,
        Role::Dry => 5,
        Role::Temperature => return usize::MAX,
    };
    bond as usize * BOND + field
}

/// How many ports, inputs, outputs and states a component type has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// Bonds; of a type with a port that takes many connections the least.
    ports: usize,
    takes_many: bool,
    inputs: usize,
    outputs: usize,
    states: usize,
    memory: usize,
}

impl Shape {
    const fn of(declaration: &Declaration) -> Self {
        let mut inputs = 0;
        let mut i = 0;
        while i < declaration.parameters.len() {
            if declaration.parameters[i].input.is_some() {
                inputs += 1;
            }
            i += 1;
        }
        let mut ports = 0;
        let mut takes_many = false;
        i = 0;
        while i < declaration.ports.len() {
            match declaration.ports[i].many {
                true => takes_many = true,
                false => ports += 1,
            }
            i += 1;
        }
        Self {
            ports,
            takes_many,
            inputs,
            outputs: declaration.outputs.len(),
            states: declaration.states.len(),
            memory: declaration.memory.len(),
        }
    }

    /// Length of a record of a type without a port that takes many.
    const fn stride(self) -> usize {
        HEAD + self.inputs + self.ports
    }
}

struct ShapeOf<M>(PhantomData<M>);

impl<M: Declared> ShapeOf<M> {
    const SHAPE: Shape = Shape::of(M::DECLARATION);
}

/// How far into the arrays of a state a component, or a group of them, looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reach {
    bonds: usize,
    signals: usize,
    states: usize,
}

impl Reach {
    fn and(self, other: Self) -> Self {
        Self {
            bonds: self.bonds.max(other.bonds),
            signals: self.signals.max(other.signals),
            states: self.states.max(other.states),
        }
    }

    #[inline(always)]
    fn is_within(self, size: Self) -> bool {
        self.bonds <= size.bonds && self.signals <= size.signals && self.states <= size.states
    }
}

/// Where a component's numbers are in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// Head, signal of each input, place of each port's bond counted in numbers.
    record: Box<[u32]>,
    inputs: usize,
    /// Where its outputs begin and how many there may be.
    outputs: Range<usize>,
    reach: Reach,
}

impl Wiring {
    /// Wires a component: the bond of each port, the signal of each input, the signals its outputs
    /// are written to, and its block of states, rates, memory and history.
    ///
    /// # Panics
    ///
    /// When an index is too large for 32 bits, which no circuit that fits into memory reaches.
    pub fn new(
        component: u32,
        ports: &[u32],
        inputs: &[u32],
        outputs: Range<usize>,
        states: Range<usize>,
    ) -> Self {
        let small = |x: usize| u32::try_from(x).expect("a circuit that fits into memory");
        let block = states.end.saturating_sub(states.start);
        let mut record = vec![component, small(outputs.start), small(states.start), small(block)];
        record.extend_from_slice(inputs);
        record.extend(ports.iter().map(|&port| small(port as usize * BOND)));
        let beyond = |indices: &[u32]| indices.iter().map(|&i| i as usize + 1).max().unwrap_or(0);
        let reach = Reach {
            bonds: beyond(ports),
            signals: beyond(inputs).max(outputs.end).max(outputs.start),
            states: states.start + block,
        };
        Self { record: record.into(), inputs: inputs.len(), outputs, reach }
    }

    /// Component index in the circuit.
    pub fn component(&self) -> u32 {
        self.record[COMPONENT]
    }

    /// Bond of each port.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = u32> {
        self.record[HEAD + self.inputs..].iter().map(|slot| slot / BOND as u32)
    }

    /// Where its outputs begin.
    pub fn output_offset(&self) -> usize {
        self.outputs.start
    }

    fn fits(&self, shape: Shape) -> bool {
        let ports = self.record.len() - HEAD - self.inputs;
        let block = self.record[BLOCK] as usize;
        (ports == shape.ports || shape.takes_many && ports > shape.ports)
            && self.inputs == shape.inputs
            && self.outputs.end.saturating_sub(self.outputs.start) >= shape.outputs
            && block >= 2 * shape.states + shape.memory
    }
}

/// A state that components are stepped in: its arrays, and the time.
///
/// Made anew for every phase of a step; nothing else looks at the state while it lives.
pub struct Arena<'a, T> {
    bonds: *mut T,
    signals: *mut T,
    states: *mut T,
    /// How long the arrays are.
    size: Reach,
    viscosity: &'a [T],
    faults: &'a mut Faults,
    clock: Clock,
}

impl<'a, T: Num> Arena<'a, T> {
    /// Opens a state at a time.
    #[inline(always)]
    pub fn new(state: &'a mut State<T>, clock: &Clock) -> Self {
        Self {
            bonds: state.bonds.as_mut_ptr().cast(),
            signals: state.signals.as_mut_ptr(),
            states: state.states.as_mut_ptr(),
            size: Reach {
                bonds: state.bonds.len(),
                signals: state.signals.len(),
                states: state.states.len(),
            },
            viscosity: &state.viscosity,
            faults: &mut state.faults,
            clock: *clock,
        }
    }

    /// A signal.
    #[inline]
    pub fn signal(&self, index: usize) -> T {
        assert!(index < self.size.signals);
        // SAFETY: there are so many signals.
        unsafe { *self.signals.add(index) }
    }
}

/// The members of a group, all of type `M`: constants, and all wiring in one array.
pub(crate) struct Members<M: Declared, T: Num> {
    /// As many as there are records.
    constants: Vec<M::Constants<T>>,
    records: Vec<u32>,
    /// Where each record begins, and the end.
    begins: Vec<usize>,
    reach: Reach,
}

impl<M: Declared, T: Num> Default for Members<M, T> {
    fn default() -> Self {
        let (constants, records) = (Vec::new(), Vec::new());
        Self { constants, records, begins: vec![0], reach: Reach::default() }
    }
}

impl<M: Declared, T: Num> Members<M, T> {
    /// Adds a component; false when the wiring does not fit its declaration.
    pub(crate) fn push(&mut self, constants: M::Constants<T>, wiring: &Wiring) -> bool {
        if !wiring.fits(ShapeOf::<M>::SHAPE) {
            return false;
        }
        self.records.extend_from_slice(&wiring.record);
        self.begins.push(self.records.len());
        self.reach = self.reach.and(wiring.reach);
        self.constants.push(constants);
        true
    }

    /// What the components have hoisted out of the step.
    pub(crate) fn constants(&self) -> &[M::Constants<T>] {
        &self.constants
    }

    /// Steps some members, those that there are. Not by a closure: what the compiler does not inline
    /// into this loop is not compiled for the instructions of its caller.
    #[inline(always)]
    pub(crate) fn step(&self, members: Range<usize>, arena: &mut Arena<'_, T>)
    where
        M: Physics,
    {
        assert!(self.reach.is_within(arena.size), "a state of another plan");
        let shape = ShapeOf::<M>::SHAPE;
        for index in members.start..members.end.min(self.constants.len()) {
            // SAFETY: `push` has added constants, a record of this shape and its begin for each
            // index below the length. The reach of all records lies within the arrays that the
            // arena's pointers belong to, and the arena stays borrowed as long as the step lives.
            unsafe {
                let (begin, ports) = if shape.takes_many {
                    let begin = *self.begins.get_unchecked(index);
                    let end = *self.begins.get_unchecked(index + 1);
                    (begin, end - begin - HEAD - shape.inputs)
                } else {
                    (index * shape.stride(), shape.ports)
                };
                let record = self.records.as_ptr().add(begin);
                let io = &mut Step {
                    bonds: arena.bonds,
                    signals: arena.signals,
                    outputs: arena.signals.add(*record.add(OUTPUTS) as usize),
                    states: arena.states.add(*record.add(STATES) as usize),
                    record,
                    viscosity: arena.viscosity,
                    port_count: ports,
                    shape,
                    faults: arena.faults,
                    time: arena.clock.time,
                    dt: arena.clock.dt,
                    tick: arena.clock.tick,
                };
                M::step(self.constants.get_unchecked(index), io);
            }
        }
    }
}

/// Lends one component its view of the state.
///
/// # Panics
///
/// When the wiring is that of another type, or the state that of another plan.
pub fn view<'a, M: Declared, T: Num>(
    wiring: &'a Wiring,
    state: &'a mut State<T>,
    clock: Clock,
) -> Step<'a, T> {
    let shape = ShapeOf::<M>::SHAPE;
    assert!(wiring.fits(shape), "the wiring of another type");
    let arena = Arena::new(state, &clock);
    assert!(wiring.reach.is_within(arena.size), "a state of another plan");
    // SAFETY: the record is of this shape and its reach lies within the arrays, as was just found;
    // the state stays borrowed as long as the step lives.
    let (outputs, states) = unsafe {
        (
            arena.signals.add(wiring.record[OUTPUTS] as usize),
            arena.states.add(wiring.record[STATES] as usize),
        )
    };
    Step {
        bonds: arena.bonds,
        signals: arena.signals,
        outputs,
        states,
        record: wiring.record.as_ptr(),
        viscosity: arena.viscosity,
        port_count: wiring.record.len() - HEAD - shape.inputs,
        shape,
        faults: arena.faults,
        time: clock.time,
        dt: clock.dt,
        tick: clock.tick,
    }
}

/// A component's view of the state during a step.
pub struct Step<'a, T> {
    /// All bonds, as numbers.
    bonds: *mut T,
    /// All signals.
    signals: *mut T,
    /// The component's outputs, among the signals.
    outputs: *mut T,
    /// The component's block of states, rates, memory and history.
    states: *mut T,
    /// Its record: head, inputs, ports.
    record: *const u32,
    viscosity: &'a [T],
    port_count: usize,
    shape: Shape,
    faults: &'a mut Faults,
    /// Time at the end of this step, s.
    pub time: f64,
    /// Length of this step, s.
    pub dt: f64,
    /// Number of this step, from 1; start values are step 0.
    pub tick: u64,
}

#[cold]
#[inline(never)]
#[track_caller]
fn undeclared(index: usize, count: usize) -> ! {
    panic!("number {index} of {count} that the component declares");
}

impl<T: Num> Step<'_, T> {
    /// Number of bonds at the ports.
    #[inline(always)]
    pub fn port_count(&self) -> usize {
        self.port_count
    }
    /// Number of inputs.
    #[inline(always)]
    pub fn input_count(&self) -> usize {
        self.shape.inputs
    }
    /// Where the bond of a port begins among the numbers of all bonds.
    #[inline(always)]
    fn slot(&self, port: usize) -> usize {
        if port >= self.port_count {
            undeclared(port, self.port_count);
        }
        // SAFETY: the record holds `port_count` ports behind its head and inputs.
        unsafe { *self.record.add(HEAD + self.shape.inputs + port) as usize }
    }
    #[inline(always)]
    fn bond(&self, port: usize) -> &Bond<T> {
        // SAFETY: the bond lies within the reach, which lies within the array; `Bond` is `repr(C)`
        // of `BOND` numbers, and the reference lives no longer than the borrow of this step.
        unsafe { &*self.bonds.add(self.slot(port)).cast::<Bond<T>>() }
    }
    /// The line end at a port, to change several of its numbers.
    #[inline(always)]
    pub fn bond_mut(&mut self, port: usize) -> &mut Bond<T> {
        // SAFETY: as `bond`, and the step is borrowed mutably.
        unsafe { &mut *self.bonds.add(self.slot(port)).cast::<Bond<T>>() }
    }
    /// Wave at a port.
    #[inline(always)]
    pub fn wave(&self, port: usize) -> T {
        self.bond(port).wave
    }
    /// Impedance at a port.
    #[inline(always)]
    pub fn impedance(&self, port: usize) -> T {
        self.bond(port).impedance
    }
    /// Dry friction at a port.
    #[inline(always)]
    pub fn dry(&self, port: usize) -> T {
        self.bond(port).dry
    }
    /// Flow out of a Q-component into its line (into a C-component).
    #[inline(always)]
    pub fn flow(&self, port: usize) -> T {
        self.bond(port).flow
    }
    /// Effort at a port.
    #[inline(always)]
    pub fn effort(&self, port: usize) -> T {
        self.bond(port).effort
    }
    /// Position at a mechanical port.
    #[inline(always)]
    pub fn displacement(&self, port: usize) -> T {
        self.bond(port).displacement
    }
    /// Kinematic viscosity of the oil at a port, m²/s.
    #[inline(always)]
    pub fn viscosity(&self, port: usize) -> T {
        self.viscosity[self.slot(port) / BOND]
    }
    /// A Q-component's result at a port without dry friction: flow, and the effort that follows.
    #[inline(always)]
    pub fn set_flow(&mut self, port: usize, flow: T) {
        let bond = self.bond_mut(port);
        bond.flow = flow;
        bond.effort = bond.wave + bond.impedance * flow;
    }
    /// A Q-component's result at a mechanical port: velocity, position and force.
    #[inline(always)]
    pub fn set_motion(&mut self, port: usize, velocity: T, displacement: T, effort: T) {
        let bond = self.bond_mut(port);
        bond.flow = velocity;
        bond.displacement = displacement;
        bond.effort = effort;
    }
    /// A C-component's result at a port.
    #[inline(always)]
    pub fn set_wave(&mut self, port: usize, wave: T, impedance: T) {
        let bond = self.bond_mut(port);
        bond.wave = wave;
        bond.impedance = impedance;
    }
    /// Starts a C-port with a given effort at rest (or with the flow that a Q-component started).
    #[inline(always)]
    pub fn start_effort(&mut self, port: usize, effort: T, impedance: T) {
        let bond = self.bond_mut(port);
        bond.impedance = impedance;
        bond.effort = effort;
        bond.wave = effort - impedance * bond.flow;
    }
    /// An input: the parameter's value, or the signal that drives it.
    #[inline(always)]
    pub fn input(&self, index: usize) -> T {
        if index >= self.shape.inputs {
            undeclared(index, self.shape.inputs);
        }
        // SAFETY: the record holds the inputs behind its head, and each lies within the reach.
        unsafe { *self.signals.add(*self.record.add(HEAD + index) as usize) }
    }
    #[inline(always)]
    fn output_place(&self, index: usize) -> *mut T {
        if index >= self.shape.outputs {
            undeclared(index, self.shape.outputs);
        }
        // SAFETY: the outputs, as many as the type declares, lie within the reach.
        unsafe { self.outputs.add(index) }
    }
    /// An output as last written.
    #[inline(always)]
    pub fn output(&self, index: usize) -> T {
        // SAFETY: see `output_place`.
        unsafe { *self.output_place(index) }
    }
    /// Writes an output.
    #[inline(always)]
    pub fn set_output(&mut self, index: usize, value: T) {
        // SAFETY: see `output_place`; the step is borrowed mutably.
        unsafe { *self.output_place(index) = value }
    }
    /// A place in the part of the block that begins at `begin` and has `count` numbers, all of them
    /// declared.
    #[inline(always)]
    fn state_place(&self, begin: usize, index: usize, count: usize) -> *mut T {
        if index >= count {
            undeclared(index, count);
        }
        // SAFETY: the block has at least two numbers for each state and one for each memory.
        unsafe { self.states.add(begin + index) }
    }
    /// A state.
    #[inline(always)]
    pub fn state(&self, index: usize) -> T {
        // SAFETY: see `state_place`.
        unsafe { *self.state_place(0, index, self.shape.states) }
    }
    /// Writes a state.
    #[inline(always)]
    pub fn set_state(&mut self, index: usize, value: T) {
        // SAFETY: see `state_place`; the step is borrowed mutably.
        unsafe { *self.state_place(0, index, self.shape.states) = value }
    }
    /// Rate of a state at the last step.
    #[inline(always)]
    pub fn rate(&self, index: usize) -> T {
        // SAFETY: see `state_place`.
        unsafe { *self.state_place(self.shape.states, index, self.shape.states) }
    }
    /// Writes the rate of a state.
    #[inline(always)]
    pub fn set_rate(&mut self, index: usize, value: T) {
        // SAFETY: see `state_place`; the step is borrowed mutably.
        unsafe { *self.state_place(self.shape.states, index, self.shape.states) = value }
    }
    /// A remembered value.
    #[inline(always)]
    pub fn memory(&self, index: usize) -> T {
        // SAFETY: see `state_place`.
        unsafe { *self.state_place(2 * self.shape.states, index, self.shape.memory) }
    }
    /// Writes a remembered value.
    #[inline(always)]
    pub fn set_memory(&mut self, index: usize, value: T) {
        // SAFETY: see `state_place`; the step is borrowed mutably.
        unsafe { *self.state_place(2 * self.shape.states, index, self.shape.memory) = value }
    }
    /// Adds one to a remembered count where the mask holds.
    #[inline(always)]
    pub fn count(&mut self, index: usize, mask: T::Mask) {
        let more = T::select(mask, T::one(), T::zero());
        let counted = self.memory(index) + more;
        self.set_memory(index, counted);
    }
    #[inline(always)]
    fn history_place(&self) -> *mut T {
        // SAFETY: history follows in the same block; it may be empty.
        unsafe { self.states.add(2 * self.shape.states + self.shape.memory) }
    }
    /// Length of the history buffer.
    #[inline(always)]
    pub fn history_len(&self) -> usize {
        // SAFETY: the head of the record; `fits` has found the block not shorter than this.
        let block = unsafe { *self.record.add(BLOCK) as usize };
        block - 2 * self.shape.states - self.shape.memory
    }
    /// One number of the history buffer.
    #[inline(always)]
    pub fn history_at(&self, index: usize) -> T {
        // SAFETY: as many numbers follow as `history_len` tells.
        unsafe { std::slice::from_raw_parts(self.history_place(), self.history_len())[index] }
    }
    /// The component's history buffer.
    #[inline(always)]
    pub fn history(&mut self) -> &mut [T] {
        // SAFETY: as `history_at`; the step is borrowed mutably for as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.history_place(), self.history_len()) }
    }
    /// Component index in the circuit.
    #[inline(always)]
    fn component(&self) -> u32 {
        // SAFETY: the head of the record.
        unsafe { *self.record.add(COMPONENT) }
    }
    /// Reports that the component's equations did not converge in this step, and in which lanes.
    #[inline(always)]
    pub fn unconverged(&mut self, lanes: T::Mask) {
        let component = self.component();
        self.faults.note_unconverged(component, self.tick, lanes.bits());
    }
    /// Asks the engine to stop after this step, and in which lanes.
    #[inline(always)]
    pub fn request_stop(&mut self, lanes: T::Mask) {
        let component = self.component();
        self.faults.note_stop(component, lanes.bits());
    }
}

// Only the faults are handed on, not the step: it stays in registers.
impl Faults {
    #[cold]
    #[inline(never)]
    fn note_unconverged(&mut self, component: u32, step: u64, lanes: u64) {
        self.unconverged_lanes |= lanes;
        if self.unconverged == 0 {
            self.first_component = component + 1;
            self.first_step = step;
        }
        self.unconverged += 1;
    }
    #[cold]
    #[inline(never)]
    fn note_stop(&mut self, component: u32, lanes: u64) {
        self.stopped_lanes |= lanes;
        if self.stop_requested == 0 {
            self.stop_requested = component + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::{Environment, GroupOf, NoConstants, Physics, Refusal};
    use fluxline_macros::component;

    /// Adds what its ports carry to its memory, and hands the sum on.
    #[component("test.adder", q)]
    #[expect(dead_code, reason = "laws read inputs by their place")]
    struct Adder {
        /// many
        #[port(many)]
        ends: Hydraulic,
        /// g — gain [–]
        #[input(default = 1)]
        pub gain: f64,
        /// Σ — sum [–]
        #[output]
        total: Output,
        /// Σ — sum so far [–]
        #[memory]
        sum: Memory,
    }

    impl Physics for Adder {
        const HAS_LAW: bool = false;
        fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
            Ok(NoConstants::new())
        }
        fn history(_: &NoConstants<f64>) -> usize {
            2
        }
        fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
            for i in 0..io.port_count() {
                let sum = io.memory(Self::SUM) + io.wave(i) * io.input(Self::GAIN);
                io.set_memory(Self::SUM, sum);
                io.set_flow(i, sum);
            }
            let last = io.history_len() - 1;
            io.history()[last] = io.memory(Self::SUM);
            let total = io.history_at(last);
            io.set_output(Self::TOTAL, total);
        }
    }

    fn state(bonds: usize) -> State<f64> {
        State {
            bonds: (1..=bonds).map(|i| Bond::at_rest(i as f64)).collect(),
            signals: vec![2.0, 3.0, 0.0, 0.0],
            states: vec![0.0; 6],
            viscosity: Vec::new(),
            line_temperature: Vec::new(),
            delivered_temperature: Vec::new(),
            time: 0.0,
            step: 0,
            rest_steps: 0,
            faults: Faults::default(),
        }
    }

    const CLOCK: Clock = Clock { time: 0.0, dt: 1.0, tick: 1 };

    fn pair() -> GroupOf<Adder, f64> {
        let mut group = GroupOf::<Adder, f64>::default();
        assert!(group.push(NoConstants::new(), Wiring::new(0, &[0, 2], &[0], 2..3, 0..3)));
        assert!(group.push(NoConstants::new(), Wiring::new(1, &[1], &[1], 3..4, 3..6)));
        group
    }

    #[test]
    fn members_see_their_own_numbers_and_no_others() {
        use crate::component::Group;
        let (group, mut state) = (pair(), state(3));
        let group: &dyn Group<f64> = &group;
        group.step(&mut Arena::new(&mut state, &CLOCK));
        assert_eq!(state.signals, [2.0, 3.0, 8.0, 6.0]);
        assert_eq!(state.states, [8.0, 0.0, 8.0, 6.0, 0.0, 6.0]);
        assert_eq!([0, 1, 2].map(|i| state.bonds[i].flow), [2.0, 6.0, 8.0]);
        group.step_one(1, &mut state, CLOCK);
        assert_eq!(state.signals, [2.0, 3.0, 8.0, 12.0]);
        // A member that is not there is not stepped.
        group.step_one(2, &mut state, CLOCK);
        assert_eq!(state.faults, Faults::default());
    }

    #[test]
    #[should_panic(expected = "a state of another plan")]
    fn a_state_that_is_too_small_is_refused() {
        use crate::component::Group;
        let group = pair();
        let group: &dyn Group<f64> = &group;
        group.step(&mut Arena::new(&mut state(2), &CLOCK));
    }

    #[test]
    #[should_panic(expected = "a state of another plan")]
    fn one_component_refuses_a_state_that_is_too_small() {
        view::<Adder, f64>(&Wiring::new(0, &[0], &[9], 2..3, 0..3), &mut state(3), CLOCK);
    }

    #[test]
    fn wiring_that_does_not_fit_the_declaration_is_refused() {
        let mut group = GroupOf::<Adder, f64>::default();
        for wiring in [
            Wiring::new(0, &[0], &[], 2..3, 0..3),
            Wiring::new(0, &[0], &[0], 2..2, 0..3),
            Wiring::new(0, &[0], &[0], 2..3, 0..0),
        ] {
            assert!(!group.push(NoConstants::new(), wiring));
        }
    }

    #[test]
    #[should_panic(expected = "number 1 of 1 that the component declares")]
    fn a_port_that_is_not_there_is_refused() {
        let wiring = Wiring::new(0, &[0], &[0], 2..3, 0..3);
        view::<Adder, f64>(&wiring, &mut state(3), CLOCK).wave(1);
    }
}
