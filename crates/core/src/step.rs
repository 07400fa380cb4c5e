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
//!    state: by [`view`] for one component, by [`Kernel::run`] for a group, by [`Part::step`] for
//!    the groups of a phase, by `Bound::new` for those of many steps.
//! 3. A [`Step`] borrows the state mutably for as long as it lives, so that the arrays keep their
//!    place and size and nobody else looks at them. It hands out references one at a time, each
//!    bound to a borrow of the [`Step`] itself.
//! 4. Which port, input or state a component asks for is checked on every access, against counts
//!    that are known when the program is compiled: the checks vanish once the step is inlined.
//! 5. A [`Kernel`] points at constants and records of a group that stays borrowed. A [`Phase`] owns
//!    its groups, in boxes of their own, and hands out shared references only, so that what its
//!    kernels point at stays where it is and what it is.
//! 6. Numbers side by side are stepped as another type than the state keeps them as; `LiesAs`, which
//!    only types of the same layout implement, says which may stand for which.
//! 7. `Picks` note how far they reach when they are made, and look whether that is there before
//!    they copy.
#![allow(unsafe_code, reason = "see the argument above")]

use crate::component::{Clock, Declared, Group, Physics};
use crate::declare::Declaration;
use crate::domain::Role;
use crate::number::{Mask, Num};
use crate::state::{Bond, Faults, State};
use std::marker::PhantomData;
use std::ops::{Deref, Range};

/// Numbers in a bond, all of one type and without gaps: it is `repr(C)`.
const BOND: usize = 6;
const _: () = assert!(size_of::<Bond<f64>>() == BOND * size_of::<f64>());

/// Where a record keeps what; inputs follow, then ports.
const COMPONENT: usize = 0;
const OUTPUTS: usize = 1;
const STATES: usize = 2;
const BLOCK: usize = 3;
const PORTS: usize = 4;
const HEAD: usize = 5;

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

/// A number of an array, where it goes in a row, and its sign there.
#[derive(Clone, Copy, Debug)]
struct Pick {
    at: u32,
    place: u32,
    sign: f64,
}

/// Numbers of an array that are copied into a row together.
#[derive(Debug, Default)]
pub(crate) struct Picks {
    picks: Vec<Pick>,
    /// No number lies beyond this in the array, nor in the row.
    reach: [usize; 2],
}

impl Picks {
    /// Adds a number.
    pub(crate) fn push(&mut self, at: u32, place: u32, sign: f64) {
        let [array, row] = self.reach;
        self.reach = [array.max(at as usize + 1), row.max(place as usize + 1)];
        self.picks.push(Pick { at, place, sign });
    }

    /// Copies them; what the array does not have reads as not a number.
    #[inline(never)]
    pub(crate) fn copy(&self, array: &[f64], row: &mut [f64]) {
        if self.reach[0] > array.len() || self.reach[1] > row.len() {
            for &Pick { at, place, sign } in &self.picks {
                row[place as usize] = array.get(at as usize).map_or(f64::NAN, |x| sign * x);
            }
            return;
        }
        let (array, row) = (array.as_ptr(), row.as_mut_ptr());
        for &Pick { at, place, sign } in &self.picks {
            // SAFETY: no pick lies beyond the reach, which was just found to lie within both.
            unsafe { *row.add(place as usize) = sign * *array.add(at as usize) }
        }
    }
}

/// Whether all of these are finite.
pub(crate) fn are_finite(numbers: &[f64]) -> bool {
    #[cfg(all(feature = "wide", target_arch = "x86_64"))]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the machine has AVX2 and FMA.
        return unsafe { are_finite_with_avx2(numbers) };
    }
    look_for_infinite(numbers, |x, sum| 0.0 * x + sum)
}

/// 0·x is 0, or not a number where x is infinite or none; sums keep that, and so many of them do not
/// wait for each other.
#[inline(always)]
fn look_for_infinite(numbers: &[f64], add: impl Fn(f64, f64) -> f64) -> bool {
    let (chunks, rest) = numbers.as_chunks::<32>();
    let mut sums = [0.0; 32];
    for chunk in chunks {
        for (sum, &x) in sums.iter_mut().zip(chunk) {
            *sum = add(x, *sum);
        }
    }
    sums.iter().chain(rest).fold(true, |all, x| all & x.is_finite())
}

/// # Safety
///
/// On a machine that has AVX2 and FMA.
#[cfg(all(feature = "wide", target_arch = "x86_64"))]
#[target_feature(enable = "avx2,fma")]
unsafe fn are_finite_with_avx2(numbers: &[f64]) -> bool {
    look_for_infinite(numbers, |x, sum| x.mul_add(0.0, sum))
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
    fn is_within<T>(self, state: &State<T>) -> bool {
        self.bonds <= state.bonds.len()
            && self.signals <= state.signals.len()
            && self.states <= state.states.len()
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
        let (begins, count) = ([small(outputs.start), small(states.start)], small(ports.len()));
        let mut record = vec![component, begins[0], begins[1], small(block), count];
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

    /// Gives a member other constants.
    pub(crate) fn replace(&mut self, member: usize, constants: M::Constants<T>) {
        if let Some(old) = self.constants.get_mut(member) {
            *old = constants;
        }
    }

    /// What the components have hoisted out of the step.
    pub(crate) fn constants(&self) -> &[M::Constants<T>] {
        &self.constants
    }

    /// Some members, those that there are, as the step loop calls them.
    pub(crate) fn kernel(&self, members: Range<usize>) -> Kernel<'_, T>
    where
        M: Physics,
    {
        let end = members.end.min(self.constants.len());
        let begin = members.start.min(end);
        Kernel {
            call: Call {
                run: if begin < end { best::<M, T>() } else { nothing },
                constants: self.constants[begin..].as_ptr().cast(),
                records: self.records[self.begins[begin]..].as_ptr(),
                count: end - begin,
            },
            reach: self.reach,
            is_idle: M::IS_IDLE,
            gates: &[],
            group: PhantomData,
        }
    }

    /// Steps all members. Not by a closure: what the compiler does not inline into this is not
    /// compiled for the instructions of its caller.
    #[inline(always)]
    pub(crate) fn step<S>(&self, state: &mut State<S>, clock: &Clock)
    where
        M: Physics,
        T: LiesAs<S>,
    {
        assert!(self.reach.is_within(state), "a state of another plan");
        let (constants, records) = (self.constants.as_ptr(), self.records.as_ptr());
        if !self.constants.is_empty() {
            // SAFETY: `push` has added constants and a record of this shape for each member, there is
            // one at least, and the reach of all records lies within the state.
            unsafe { step_each::<M, T, S>(constants, records, self.constants.len(), state, clock) }
        }
    }
}

/// Numbers that lie in memory as those of a state do, and may stand for them.
///
/// # Safety
///
/// Same size, same alignment, and every value of one is a value of the other.
pub(crate) unsafe trait LiesAs<S>: Num {
    /// The same numbers.
    fn lying(stored: S) -> Self;
}

// SAFETY: the same type.
unsafe impl<T: Num> LiesAs<T> for T {
    fn lying(stored: T) -> Self {
        stored
    }
}

/// Steps members that follow each other.
///
/// # Safety
///
/// Constants and records are those of `count` members of a group of `M`, at least one, and the reach
/// of the records lies within the state.
#[inline(always)]
unsafe fn step_each<M: Physics, T: LiesAs<S>, S>(
    mut constants: *const M::Constants<T>,
    mut record: *const u32,
    count: usize,
    state: &mut State<S>,
    clock: &Clock,
) {
    let shape = ShapeOf::<M>::SHAPE;
    let bonds: *mut T = state.bonds.as_mut_ptr().cast();
    let signals: *mut T = state.signals.as_mut_ptr().cast();
    let states: *mut T = state.states.as_mut_ptr().cast();
    // SAFETY: numbers of the same layout; the borrow is the same.
    let viscosity = unsafe {
        std::slice::from_raw_parts(state.viscosity.as_ptr().cast(), state.viscosity.len())
    };
    let mut left = count;
    loop {
        // SAFETY: the record is of this shape and lies within the arrays, so that outputs and states
        // begin there; while some are left, constants and record that follow belong to the next
        // member. The state stays borrowed as long as the step lives.
        unsafe {
            let ports = if shape.takes_many { *record.add(PORTS) as usize } else { shape.ports };
            let io = &mut Step {
                bonds,
                signals,
                outputs: signals.add(*record.add(OUTPUTS) as usize),
                states: states.add(*record.add(STATES) as usize),
                record,
                viscosity,
                port_count: ports,
                shape,
                faults: &mut state.faults,
                time: clock.time,
                dt: clock.dt,
                tick: clock.tick,
            };
            M::step(&*constants, io);
            left -= 1;
            if left == 0 {
                return;
            }
            constants = constants.add(1);
            record = record.add(HEAD + shape.inputs + ports);
        }
    }
}

/// Code that steps members of a group: constants of the first, its record, how many there are.
type Run<T> = unsafe fn(*const (), *const u32, usize, &mut State<T>, &Clock);

/// Of a group without members.
fn nothing<T>(_: *const (), _: *const u32, _: usize, _: &mut State<T>, _: &Clock) {}

/// With the plain instructions of the architecture.
///
/// # Safety
///
/// As [`step_each`].
unsafe fn plain<M: Physics, T: Num>(
    constants: *const (),
    records: *const u32,
    count: usize,
    state: &mut State<T>,
    clock: &Clock,
) {
    // SAFETY: what the caller keeps to.
    unsafe { step_each::<M, T, T>(constants.cast(), records, count, state, clock) }
}

/// With instructions that name where the result goes and choose without masks: a number at a time
/// as before, in a fifth fewer of them.
///
/// # Safety
///
/// As [`step_each`], on a machine that has AVX2.
#[cfg(all(feature = "wide", target_arch = "x86_64"))]
#[target_feature(enable = "avx2")]
unsafe fn with_avx2<M: Physics, T: Num>(
    constants: *const (),
    records: *const u32,
    count: usize,
    state: &mut State<T>,
    clock: &Clock,
) {
    // SAFETY: what the caller keeps to.
    unsafe { step_each::<M, T, T>(constants.cast(), records, count, state, clock) }
}

/// The best code for this machine.
fn best<M: Physics, T: Num>() -> Run<T> {
    #[cfg(all(feature = "wide", target_arch = "x86_64"))]
    if std::arch::is_x86_feature_detected!("avx2") {
        return with_avx2::<M, T>;
    }
    plain::<M, T>
}

/// A call of the step loop.
#[derive(Clone, Copy)]
struct Call<T> {
    run: Run<T>,
    constants: *const (),
    records: *const u32,
    count: usize,
}

// SAFETY: it only reads what it points at, which is that of a group; groups are `Send + Sync`.
unsafe impl<T> Send for Call<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Call<T> {}

/// Members of a group as the step loop calls them.
pub struct Kernel<'g, T> {
    call: Call<T>,
    reach: Reach,
    /// Nothing is done in a step.
    is_idle: bool,
    /// Signals that must be positive.
    gates: &'g [u32],
    group: PhantomData<&'g ()>,
}

impl<'g, T: Num> Kernel<'g, T> {
    /// The same, only while signals are positive.
    pub fn gated(self, gates: &'g [u32]) -> Self {
        Self { gates, ..self }
    }

    /// Whether a step does nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Steps them.
    ///
    /// # Panics
    ///
    /// When the state is that of another plan.
    pub fn run(&self, state: &mut State<T>, clock: &Clock) {
        assert!(self.reach.is_within(state), "a state of another plan");
        if are_open(self.gates, state) {
            let Call { run, constants, records, count } = self.call;
            // SAFETY: made by `Members::kernel` from members of a group that stays borrowed; the
            // code is what this machine has; the reach was just found to lie within the state.
            unsafe { run(constants, records, count, state, clock) }
        }
    }
}

/// Whether all of these signals are positive.
fn are_open<T: Num>(gates: &[u32], state: &State<T>) -> bool {
    gates.iter().all(|&gate| state.signals[gate as usize].first() > 0.0)
}

/// Groups that are stepped one after the other, as the step loop calls them.
pub struct Phase<T: Num> {
    groups: Vec<Box<dyn Group<T>>>,
    /// One for each group that does anything in a step.
    calls: Vec<Call<T>>,
    /// Signals that must be positive, for each call; none where nothing is gated.
    gates: Vec<Box<[u32]>>,
    /// How many calls the groups before each make.
    begins: Vec<usize>,
    /// How far all of them look.
    reach: Reach,
}

impl<T: Num> Default for Phase<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T: Num> From<Vec<Box<dyn Group<T>>>> for Phase<T> {
    fn from(groups: Vec<Box<dyn Group<T>>>) -> Self {
        let all = || groups.iter().map(|group| group.kernel(0..usize::MAX));
        let reach = all().fold(Reach::default(), |reach, kernel| reach.and(kernel.reach));
        let mut count = 0;
        let begins = all()
            .map(|kernel| {
                count += usize::from(!kernel.is_idle);
                count - usize::from(!kernel.is_idle)
            })
            .collect();
        let kernels = || all().filter(|kernel| !kernel.is_idle);
        let calls = kernels().map(|kernel| kernel.call).collect();
        let gates = match kernels().any(|kernel| !kernel.gates.is_empty()) {
            true => kernels().map(|kernel| kernel.gates.into()).collect(),
            false => Vec::new(),
        };
        // The calls outlive the borrow of the groups, which stay in their boxes and unchanged for as
        // long as the calls live.
        Self { calls, gates, begins, reach, groups }
    }
}

impl<T: Num> Deref for Phase<T> {
    type Target = [Box<dyn Group<T>>];
    fn deref(&self) -> &Self::Target {
        &self.groups
    }
}

impl<'p, T: Num> IntoIterator for &'p Phase<T> {
    type Item = &'p Box<dyn Group<T>>;
    type IntoIter = std::slice::Iter<'p, Box<dyn Group<T>>>;
    fn into_iter(self) -> Self::IntoIter {
        self.groups.iter()
    }
}

impl<T: Num> Phase<T> {
    /// Changes members of the groups, whose number and wiring stay.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut [Box<dyn Group<T>>])) {
        let mut groups = std::mem::take(&mut self.groups);
        change(&mut groups);
        *self = Self::from(groups);
    }
    /// All groups.
    #[inline(always)]
    pub fn all(&self) -> Part<'_, T> {
        let Self { groups, calls, gates, reach, .. } = self;
        Part { groups, calls, gates, reach: *reach }
    }
    /// The first so many groups, and the rest.
    pub fn split_at(&self, first: usize) -> (Part<'_, T>, Part<'_, T>) {
        let groups = self.groups.split_at(first);
        let first = self.begins.get(first).copied().unwrap_or(self.calls.len());
        let calls = self.calls.split_at(first);
        let gates = self.gates.split_at(first.min(self.gates.len()));
        let reach = self.reach;
        (
            Part { groups: groups.0, calls: calls.0, gates: gates.0, reach },
            Part { groups: groups.1, calls: calls.1, gates: gates.1, reach },
        )
    }
}

/// Some groups of a phase that follow each other.
#[derive(Clone, Copy)]
pub struct Part<'p, T: Num> {
    groups: &'p [Box<dyn Group<T>>],
    calls: &'p [Call<T>],
    gates: &'p [Box<[u32]>],
    reach: Reach,
}

impl<'p, T: Num> Part<'p, T> {
    /// The groups.
    pub fn groups(&self) -> &'p [Box<dyn Group<T>>] {
        self.groups
    }
    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
    /// Steps all of them.
    ///
    /// # Panics
    ///
    /// When the state is that of another plan.
    #[inline(always)]
    pub fn step(&self, state: &mut State<T>, clock: &Clock) {
        assert!(self.reach.is_within(state), "a state of another plan");
        // SAFETY: the calls of a phase come from the kernels of the groups it owns, and live as long
        // as the phase; the reach of all of them was just found to lie within the state.
        unsafe {
            match self.gates {
                [] => run_all(self.calls, state, clock),
                gates => run_open(self.calls, gates, state, clock),
            }
        }
    }
}

/// Parts that are stepped again and again with one state: how far they look is checked once.
pub(crate) struct Bound<'s, 'p, T: Num, const N: usize> {
    state: &'s mut State<T>,
    calls: [&'p [Call<T>]; N],
    reach: Reach,
}

impl<'s, 'p, T: Num, const N: usize> Bound<'s, 'p, T, N> {
    /// None where something is gated.
    ///
    /// # Panics
    ///
    /// When the state is that of another plan.
    pub(crate) fn new(parts: [Part<'p, T>; N], state: &'s mut State<T>) -> Option<Self> {
        let reach = parts.iter().fold(Reach::default(), |reach, part| reach.and(part.reach));
        assert!(reach.is_within(state), "a state of another plan");
        let is_gated = parts.iter().any(|part| !part.gates.is_empty());
        (!is_gated).then(|| Self { state, calls: parts.map(|part| part.calls), reach })
    }
    /// Steps a part.
    #[inline(always)]
    pub(crate) fn step(&mut self, part: usize, clock: &Clock) {
        for call in self.calls[part] {
            // SAFETY: as `Part::step`; the reach was found to lie within this state by `new` and after
            // each work that was done `with` it.
            unsafe { (call.run)(call.constants, call.records, call.count, self.state, clock) }
        }
    }
    /// The state.
    #[inline(always)]
    pub(crate) fn state(&self) -> &State<T> {
        self.state
    }
    /// Does work on the state between steps.
    #[inline(always)]
    pub(crate) fn with(&mut self, work: impl FnOnce(&mut State<T>)) {
        work(self.state);
        assert!(self.reach.is_within(self.state), "a state of another plan");
    }
    /// A main step is done.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, time: f64) {
        self.state.step += 1;
        self.state.time = time;
    }
}

/// Makes calls one after the other. A function of its own, so that nothing else takes registers.
///
/// # Safety
///
/// What they point at is there, and their reach lies within the state.
#[inline(never)]
unsafe fn run_all<T>(calls: &[Call<T>], state: &mut State<T>, clock: &Clock) {
    for call in calls {
        // SAFETY: what the caller keeps to.
        unsafe { (call.run)(call.constants, call.records, call.count, state, clock) }
    }
}

/// Makes those whose gates are open.
///
/// # Safety
///
/// As [`run_all`].
#[inline(never)]
unsafe fn run_open<T: Num>(
    calls: &[Call<T>],
    gates: &[Box<[u32]>],
    state: &mut State<T>,
    clock: &Clock,
) {
    for (call, gates) in calls.iter().zip(gates) {
        if are_open(gates, state) {
            // SAFETY: what the caller keeps to.
            unsafe { (call.run)(call.constants, call.records, call.count, state, clock) }
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
    assert!(wiring.reach.is_within(state), "a state of another plan");
    let signals = state.signals.as_mut_ptr();
    // SAFETY: the record is of this shape and its reach lies within the arrays, as was just found;
    // the state stays borrowed as long as the step lives.
    let (outputs, states) = unsafe {
        (
            signals.add(wiring.record[OUTPUTS] as usize),
            state.states.as_mut_ptr().add(wiring.record[STATES] as usize),
        )
    };
    Step {
        bonds: state.bonds.as_mut_ptr().cast(),
        signals,
        outputs,
        states,
        record: wiring.record.as_ptr(),
        viscosity: &state.viscosity,
        port_count: wiring.record.len() - HEAD - shape.inputs,
        shape,
        faults: &mut state.faults,
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
    time: f64,
    /// Length of this step, s.
    pub dt: f64,
    tick: u64,
}

#[cold]
#[inline(never)]
#[track_caller]
fn undeclared(index: usize, count: usize) -> ! {
    panic!("number {index} of {count} that the component declares");
}

impl<T: Num> Step<'_, T> {
    /// Time at the end of this step, s.
    #[inline(always)]
    pub fn time(&self) -> f64 {
        T::looks_at_clock();
        self.time
    }
    /// Time, for who hands it on and looks no further.
    #[inline(always)]
    pub(crate) fn untold_time(&self) -> f64 {
        self.time
    }
    /// Number of this step, from 1; start values are step 0.
    #[inline(always)]
    pub fn tick(&self) -> u64 {
        T::looks_at_clock();
        self.tick
    }
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
    /// Writes the first outputs.
    #[inline(always)]
    pub fn set_outputs<const N: usize>(&mut self, values: [T; N]) {
        for (index, &value) in values.iter().enumerate() {
            self.set_output(index, value);
        }
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
    /// Remembered values that follow each other.
    #[inline(always)]
    pub fn memories<const N: usize>(&self, from: usize) -> [T; N] {
        let mut values = [T::zero(); N];
        for (i, value) in values.iter_mut().enumerate() {
            *value = self.memory(from + i);
        }
        values
    }
    /// Writes remembered values that follow each other.
    #[inline(always)]
    pub fn set_memories<const N: usize>(&mut self, from: usize, values: [T; N]) {
        for (i, &value) in values.iter().enumerate() {
            self.set_memory(from + i, value);
        }
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
    fn picks_copy_numbers_and_read_what_is_not_there_as_no_number() {
        let mut picks = Picks::default();
        picks.push(2, 0, -1.0);
        picks.push(0, 2, 1.0);
        let mut row = [0.0; 3];
        picks.copy(&[5.0, 6.0, 7.0], &mut row);
        assert_eq!(row, [-7.0, 0.0, 5.0]);
        picks.copy(&[5.0], &mut row);
        assert!(row[0].is_nan() && row[2] == 5.0);
    }

    #[test]
    fn members_see_their_own_numbers_and_no_others() {
        let (group, mut state) = (pair(), state(3));
        let group: &dyn Group<f64> = &group;
        group.step(&mut state, &CLOCK);
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
        let group = pair();
        let group: &dyn Group<f64> = &group;
        group.step(&mut state(2), &CLOCK);
    }

    #[test]
    fn a_phase_steps_its_groups_in_order_and_those_whose_gates_are_open() {
        use crate::component::Gated;
        let groups = || -> Vec<Box<dyn Group<f64>>> {
            let gated = Gated { group: Box::new(pair()), gates: [1].into() };
            vec![Box::new(pair()), Box::new(gated)]
        };
        let phase = Phase::from(groups());
        for (gate, times) in [(3.0, 2), (0.0, 1)] {
            let (mut whole, mut apart, mut by_hand) = (state(3), state(3), state(3));
            for state in [&mut whole, &mut apart, &mut by_hand] {
                state.signals[1] = gate;
            }
            phase.all().step(&mut whole, &CLOCK);
            let (first, rest) = phase.split_at(1);
            first.step(&mut apart, &CLOCK);
            rest.step(&mut apart, &CLOCK);
            (0..times).for_each(|_| phase[0].step(&mut by_hand, &CLOCK));
            assert_eq!(whole.states, by_hand.states);
            assert_eq!(apart.states, by_hand.states);
        }
    }

    #[test]
    #[should_panic(expected = "a state of another plan")]
    fn a_phase_refuses_a_state_that_is_too_small() {
        Phase::from(vec![Box::new(pair()) as Box<dyn Group<f64>>])
            .all()
            .step(&mut state(2), &CLOCK);
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

    #[test]
    fn what_is_not_finite_is_found_wherever_it_stands() {
        for count in [0, 1, 31, 32, 33, 104] {
            let mut numbers = vec![1e300; count];
            assert!(are_finite(&numbers));
            for at in 0..count {
                for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let right = std::mem::replace(&mut numbers[at], wrong);
                    assert!(!are_finite(&numbers), "{wrong} at {at} of {count}");
                    assert!(!look_for_infinite(&numbers, |x, sum| 0.0 * x + sum));
                    numbers[at] = right;
                }
            }
        }
    }
}
