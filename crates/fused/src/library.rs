//! Code of a circuit, opened and called: all `unsafe` code of this crate, but for the call of one function
//! that is compiled for AVX-512, in `roots`, and for what instructions call, in `machine::shims`.
//!
//! What makes it sound:
//!
//! 1. A library is opened only from a path that [`crate::compiler::make`] gave for text that
//!    [`crate::run`] wrote, which is as the compiler left it and in a folder that nobody else writes to:
//!    it has the two functions below, of these types, and nothing that runs when it is opened.
//!    Instructions come from [`crate::machine`] alone, which writes those that this processor has; they
//!    lie in memory that nobody can write to any more, begin with the two functions, save the registers
//!    that callers want back, and write to their own stack and the arrays of their `Frame` alone.
//! 2. The code reads and writes its arrays at indices below the lengths of the layout it was written
//!    for; `Code::prepare` and `Code::advance` compare the lengths of what they hand over.
//! 3. The state is handed over as raw pointers that come from one exclusive borrow, which lasts as
//!    long as the call; when the code calls the engine back, the engine works on that same state by
//!    the pointer it was given, and the code does not touch it before the engine returns.
#![allow(unsafe_code, reason = "see the argument above")]

use crate::compiler::NotCompiled;
use fluxline_core::lanes::LaneUnit;
use fluxline_core::number::Lanes;
use fluxline_core::plan::Plan;
use fluxline_core::program::{Layout, Moment, Unit};
use fluxline_core::state::{Bond, Faults, State};
use std::ffi::c_void;
use std::path::Path;

/// What the code reports, as in `struct faults` of the C text.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawFaults {
    pub unconverged: u64,
    pub first_step: u64,
    pub unconverged_lanes: u64,
    pub stopped_lanes: u64,
    pub first_component: u32,
    pub stop_requested: u32,
}

impl RawFaults {
    fn of(faults: &Faults) -> Self {
        let &Faults {
            unconverged,
            first_component,
            first_step,
            stop_requested,
            unconverged_lanes,
            stopped_lanes,
        } = faults;
        Self {
            unconverged,
            first_step,
            unconverged_lanes,
            stopped_lanes,
            first_component,
            stop_requested,
        }
    }
    fn given(&self) -> Faults {
        Faults {
            unconverged: self.unconverged,
            first_component: self.first_component,
            first_step: self.first_step,
            stop_requested: self.stop_requested,
            unconverged_lanes: self.unconverged_lanes,
            stopped_lanes: self.stopped_lanes,
        }
    }
}

/// Where a run stands, as in `struct clock`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawClock {
    time: f64,
    step: u64,
    rest: u64,
}

type Prepare =
    unsafe extern "C" fn(*const f64, *const f64, *const f64, *const f64, *const f64, *mut f64);
type Engine = extern "C" fn(*mut c_void, u32, f64, u64);
type Steps = unsafe extern "C" fn(
    *mut f64,
    *mut f64,
    *mut f64,
    *const f64,
    *mut f64,
    *const f64,
    *const f64,
    *mut f64,
    *mut RawClock,
    *mut RawFaults,
    *const u64,
    u64,
    Engine,
    *mut c_void,
);

/// What instructions are given, in one place.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "constants are theirs"))]
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Frame {
    pub bonds: *mut f64,
    pub signals: *mut f64,
    pub states: *mut f64,
    pub viscosity: *const f64,
    pub figures: *mut f64,
    pub parameters: *const f64,
    pub kept: *mut f64,
    /// Where numbers are handed out, or the first value of the first row.
    pub seen: *mut f64,
    pub clock: *mut RawClock,
    pub faults: *mut RawFaults,
    pub stretches: *const u64,
    pub rows: u64,
    pub engine: Option<Engine>,
    pub context: *mut c_void,
    pub constants: *const u64,
}

/// Constants as they lie in cache lines.
#[cfg(target_arch = "x86_64")]
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default)]
struct Line([u64; 8]);

/// Code that can be called, and what keeps it where it is.
enum Functions {
    /// What a compiler has made.
    Compiled { prepare: Prepare, steps: Steps, _library: libloading::Library },
    /// Instructions that were written here, and their constants.
    #[cfg(target_arch = "x86_64")]
    Written { code: memmap2::Mmap, steps: usize, constants: Vec<Line> },
}

/// The two functions of code that was written here.
#[cfg(target_arch = "x86_64")]
type Written = unsafe extern "sysv64" fn(*const Frame);

impl Functions {
    /// # Safety
    ///
    /// The arrays are as long as the code was written for, and nobody else looks at them meanwhile.
    unsafe fn prepare(&self, frame: &mut Frame) {
        match self {
            Self::Compiled { prepare, .. } => {
                let Frame { bonds, signals, states, viscosity, parameters, kept, .. } = *frame;
                // SAFETY: what the caller keeps to.
                unsafe { prepare(bonds, signals, states, viscosity, parameters, kept) }
            }
            #[cfg(target_arch = "x86_64")]
            Self::Written { code, constants, .. } => {
                frame.constants = constants.as_ptr().cast();
                // SAFETY: the first function begins where the code does, and is of this type.
                unsafe {
                    let prepare: Written = std::mem::transmute(code.as_ptr());
                    prepare(frame);
                }
            }
        }
    }

    /// # Safety
    ///
    /// As [`Self::prepare`].
    unsafe fn steps(&self, frame: &mut Frame) {
        match self {
            Self::Compiled { steps, .. } => {
                let &mut Frame { bonds, signals, states, viscosity, figures, .. } = frame;
                let &mut Frame { parameters, kept, seen, clock, faults, .. } = frame;
                let &mut Frame { stretches, rows, engine, context, .. } = frame;
                let engine = engine.unwrap_or(no_engine);
                // SAFETY: what the caller keeps to.
                unsafe {
                    steps(
                        bonds, signals, states, viscosity, figures, parameters, kept, seen, clock,
                        faults, stretches, rows, engine, context,
                    );
                }
            }
            #[cfg(target_arch = "x86_64")]
            Self::Written { code, steps, constants } => {
                frame.constants = constants.as_ptr().cast();
                // SAFETY: the second function begins there, and is of this type.
                unsafe {
                    let steps: Written = std::mem::transmute(code.as_ptr().add(*steps));
                    steps(frame);
                }
            }
        }
    }
}

extern "C" fn no_engine(_: *mut c_void, _: u32, _: f64, _: u64) {}

/// Compiled code of a program.
pub struct Code {
    functions: Functions,
    layout: Layout,
    kept: usize,
    parameters: usize,
    /// Runs side by side.
    lanes: usize,
    /// Numbers that are handed out: of lanes after every step, of a single run in a row.
    seen: usize,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// What the code needs to know to call the engine back.
struct Context<'a> {
    plan: &'a Plan,
    units: &'a [Unit],
    moments: &'a [Moment],
    state: *mut State<f64>,
    faults: *mut RawFaults,
}

extern "C" fn engine(context: *mut c_void, unit: u32, time: f64, tick: u64) {
    // SAFETY: the pointer is the one that `Code::advance` gave to the code, to a context that
    // outlives the call. The state and the faults it points to are borrowed exclusively by that call,
    // which waits.
    let (context, state, faults) = unsafe {
        let context = &*context.cast::<Context<'_>>();
        (context, &mut *context.state, &mut *context.faults)
    };
    let Some(unit) = context.units.get(unit as usize) else { return };
    state.faults = faults.given();
    unit.run(context.plan, &context.moments[unit.moment as usize], state, time, tick);
    *faults = RawFaults::of(&state.faults);
}

/// What code for runs side by side needs to know to call the engine back.
struct LaneContext<'a, const N: usize> {
    /// For each unit of the program, what the engine does in its place.
    units: &'a [Option<EngineUnit<N>>],
    state: *mut State<Lanes<N>>,
    faults: *mut RawFaults,
}

/// A unit that the engine steps in lanes, and when.
pub struct EngineUnit<const N: usize> {
    /// The unit.
    pub unit: LaneUnit<N>,
    /// Its moment.
    pub moment: Moment,
}

extern "C" fn engine_in_lanes<const N: usize>(
    context: *mut c_void,
    unit: u32,
    time: f64,
    tick: u64,
) {
    // SAFETY: as in `engine`; `Code::advance_lanes` gave the pointer, with as many lanes.
    let (context, state, faults) = unsafe {
        let context = &*context.cast::<LaneContext<'_, N>>();
        (context, &mut *context.state, &mut *context.faults)
    };
    let Some(Some(EngineUnit { unit, moment })) = context.units.get(unit as usize) else { return };
    state.faults = faults.given();
    unit.step(state, &moment.clock(time, tick));
    *faults = RawFaults::of(&state.faults);
}

/// A state in some kind of number, as the code sees it.
struct Arrays {
    bonds: *mut f64,
    signals: *mut f64,
    states: *mut f64,
    viscosity: *const f64,
}

fn arrays<T>(state: &mut State<T>, layout: Layout) -> Arrays {
    assert!(
        6 * state.bonds.len() == layout.bonds as usize
            && state.signals.len() == layout.signals as usize
            && state.states.len() == layout.states as usize
            && state.viscosity.len() == layout.viscosity as usize,
        "a state of another plan"
    );
    const { assert!(size_of::<Bond<f64>>() == 6 * size_of::<f64>()) };
    Arrays {
        bonds: state.bonds.as_mut_ptr().cast(),
        signals: state.signals.as_mut_ptr().cast(),
        states: state.states.as_mut_ptr().cast(),
        viscosity: state.viscosity.as_ptr().cast(),
    }
}

impl Code {
    /// Opens what was compiled from the text of a program.
    pub(crate) fn open(
        library: &Path,
        layout: Layout,
        kept: usize,
        parameters: usize,
        (lanes, seen): (usize, usize),
    ) -> Result<Self, NotCompiled> {
        let failed = |e: libloading::Error| NotCompiled::NotOpened(e.to_string());
        // SAFETY: see the first point above.
        unsafe {
            let library = libloading::Library::new(library).map_err(failed)?;
            let prepare = *library.get::<Prepare>(b"fluxline_prepare\0").map_err(failed)?;
            let steps = *library.get::<Steps>(b"fluxline_steps\0").map_err(failed)?;
            let functions = Functions::Compiled { prepare, steps, _library: library };
            Ok(Self { functions, layout, kept, parameters, lanes, seen })
        }
    }

    /// Lays instructions into memory.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn of(
        machine: crate::machine::Machine,
        layout: Layout,
        kept: usize,
        parameters: usize,
        (lanes, seen): (usize, usize),
    ) -> Result<Self, NotCompiled> {
        let failed =
            |e: std::io::Error| NotCompiled::NotWritten(format!("no memory to run them in: {e}"));
        let crate::machine::Machine { code, constants, steps } = machine;
        let mut memory = memmap2::MmapMut::map_anon(code.len()).map_err(failed)?;
        memory.copy_from_slice(&code);
        let code = memory.make_exec().map_err(failed)?;
        let line = |words: &[u64]| {
            let mut line = Line::default();
            line.0[..words.len()].copy_from_slice(words);
            line
        };
        let constants = constants.chunks(8).map(line).collect();
        let functions = Functions::Written { code, steps, constants };
        Ok(Self { functions, layout, kept, parameters, lanes, seen })
    }

    fn frame<T>(&self, to: &Arrays, parameters: &[T], kept: *mut f64) -> Frame {
        Frame {
            bonds: to.bonds,
            signals: to.signals,
            states: to.states,
            viscosity: to.viscosity,
            figures: std::ptr::null_mut(),
            parameters: parameters.as_ptr().cast(),
            kept,
            seen: std::ptr::null_mut(),
            clock: std::ptr::null_mut(),
            faults: std::ptr::null_mut(),
            stretches: std::ptr::null(),
            rows: 0,
            engine: None,
            context: std::ptr::null_mut(),
            constants: std::ptr::null(),
        }
    }

    /// How many numbers are kept from step to step that do not change, in each lane.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Runs side by side.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Computes what stays the same during a run.
    pub(crate) fn prepare<T>(&self, state: &mut State<T>, parameters: &[T], kept: &mut [T]) {
        assert_eq!(size_of::<T>(), self.lanes * size_of::<f64>());
        assert_eq!((parameters.len(), kept.len()), (self.parameters, self.kept));
        let to = arrays(state, self.layout);
        let mut frame = self.frame(&to, parameters, kept.as_mut_ptr().cast());
        // SAFETY: the arrays are as long as the code was written for.
        unsafe { self.functions.prepare(&mut frame) }
    }

    /// Takes the steps of a single run up to each row, and those after the last one. `figures` is as
    /// long as the layout says; rows are as far apart as `width` says, each with its time first. Of code
    /// that writes rows, numbers that no step begins with are brought up to date in the end.
    pub(crate) fn advance(
        &self,
        (plan, units, moments): (&Plan, &[Unit], &[Moment]),
        state: &mut State<f64>,
        figures: &mut [f64],
        kept: &[f64],
        stretches: &[u64],
        (rows, width): (&mut [f64], usize),
    ) {
        assert_eq!(self.lanes, 1);
        let Some(count) = stretches.len().checked_sub(1) else { return };
        if count > 0 {
            assert!(width == self.seen + 1 && rows.len() == count * width, "other rows");
        }
        // The first value of a row stands behind its time.
        let first = match count {
            0 => std::ptr::null_mut(),
            _ => rows[1..].as_mut_ptr(),
        };
        let state: *mut State<f64> = state;
        // SAFETY: the pointer comes from the exclusive borrow that this call holds; the borrow made
        // here ends before the code runs.
        let (to, mut clock, mut faults) = unsafe { self.open_state(&mut *state) };
        assert_eq!((figures.len(), kept.len()), (self.layout.figures as usize, self.kept()));
        let mut context = Context { plan, units, moments, state, faults: &raw mut faults };
        let mut frame = Frame {
            figures: figures.as_mut_ptr(),
            seen: first,
            clock: &raw mut clock,
            faults: context.faults,
            stretches: stretches.as_ptr(),
            rows: count as u64,
            engine: Some(engine),
            context: (&raw mut context).cast(),
            // Steps only read them.
            ..self.frame::<f64>(&to, &[], kept.as_ptr().cast_mut())
        };
        // SAFETY: the arrays are as long as the code was written for. They belong to the state, which
        // is borrowed by this call and reached by its pointer alone until the code returns.
        unsafe {
            self.functions.steps(&mut frame);
            close_state(&mut *state, clock, faults);
        }
    }

    /// Takes so many steps of runs side by side. What is handed out after each goes to `seen`.
    pub(crate) fn advance_lanes<const N: usize>(
        &self,
        units: &[Option<EngineUnit<N>>],
        state: &mut State<Lanes<N>>,
        parameters: &[Lanes<N>],
        kept: &[Lanes<N>],
        steps: u64,
        seen: &mut [Lanes<N>],
    ) {
        assert_eq!(N, self.lanes);
        assert_eq!(seen.len() as u64, steps * self.seen as u64);
        assert_eq!((parameters.len(), kept.len()), (self.parameters, self.kept));
        let state: *mut State<Lanes<N>> = state;
        // SAFETY: the pointer comes from the exclusive borrow that this call holds; the borrow made
        // here ends before the code runs.
        let (to, mut clock, mut faults) = unsafe { self.open_state(&mut *state) };
        let mut context = LaneContext { units, state, faults: &raw mut faults };
        let mut frame = Frame {
            seen: seen.as_mut_ptr().cast(),
            clock: &raw mut clock,
            faults: context.faults,
            stretches: &raw const steps,
            engine: Some(engine_in_lanes::<N>),
            context: (&raw mut context).cast(),
            // Steps only read them.
            ..self.frame(&to, parameters, kept.as_ptr().cast_mut().cast())
        };
        // SAFETY: the arrays are as long as the code was written for. They belong to the state, which
        // is borrowed by this call and reached by its pointer alone until the code returns.
        unsafe {
            self.functions.steps(&mut frame);
            close_state(&mut *state, clock, faults);
        }
    }

    /// Takes so many steps of a program that has nothing but states.
    #[cfg(all(test, target_arch = "x86_64"))]
    pub(crate) fn run_alone(&self, states: &mut [f64], time: f64, steps: u64) {
        assert_eq!(states.len(), self.layout.states as usize * self.lanes);
        let mut kept = vec![0.0; self.kept * self.lanes];
        let nothing = std::ptr::null_mut();
        let to = Arrays {
            bonds: nothing,
            signals: nothing,
            states: states.as_mut_ptr(),
            viscosity: nothing,
        };
        let (mut clock, mut faults) =
            (RawClock { time, step: 0, rest: 0 }, RawFaults::of(&Faults::default()));
        let mut frame = Frame {
            clock: &raw mut clock,
            faults: &raw mut faults,
            stretches: &raw const steps,
            ..self.frame::<f64>(&to, &[], kept.as_mut_ptr())
        };
        // SAFETY: states are as many as the code was written for, and there is nothing else.
        unsafe {
            self.functions.prepare(&mut frame);
            self.functions.steps(&mut frame);
        }
    }

    fn open_state<T>(&self, state: &mut State<T>) -> (Arrays, RawClock, RawFaults) {
        let to = arrays(state, self.layout);
        let clock = RawClock { time: state.time, step: state.step, rest: state.rest_steps };
        let faults = RawFaults::of(&state.faults);
        (to, clock, faults)
    }
}

fn close_state<T>(state: &mut State<T>, clock: RawClock, faults: RawFaults) {
    (state.time, state.step) = (clock.time, clock.step);
    state.faults = faults.given();
}

type PrepareAlike = unsafe extern "C" fn(*mut f64, *const u64);
type StepAlike = unsafe extern "C" fn(*mut f64, *const u64, *mut RawClock, *mut RawFaults, u64);

/// Compiled code of a circuit whose units are done side by side.
///
/// It works on one memory, by a table: which [`crate::alike`] made together with the code, and which
/// names no place beyond the memory that was made with them.
pub struct AlikeCode {
    prepare: PrepareAlike,
    steps: StepAlike,
    /// Keeps the functions where they are.
    _library: libloading::Library,
}

impl std::fmt::Debug for AlikeCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AlikeCode").finish_non_exhaustive()
    }
}

impl AlikeCode {
    /// Opens what was compiled.
    pub(crate) fn open(library: &Path) -> Result<Self, NotCompiled> {
        let failed = |e: libloading::Error| NotCompiled::NotOpened(e.to_string());
        // SAFETY: see the first point above.
        unsafe {
            let library = libloading::Library::new(library).map_err(failed)?;
            let prepare = *library.get::<PrepareAlike>(b"fluxline_prepare\0").map_err(failed)?;
            let steps = *library.get::<StepAlike>(b"fluxline_steps\0").map_err(failed)?;
            Ok(Self { prepare, steps, _library: library })
        }
    }

    /// Computes what stays the same during a run.
    pub(crate) fn prepare(&self, memory: &mut [f64], table: &[u64]) {
        // SAFETY: memory and table were made with the code, see above.
        unsafe { (self.prepare)(memory.as_mut_ptr(), table.as_ptr()) }
    }

    /// Takes so many steps.
    pub(crate) fn advance(
        &self,
        memory: &mut [f64],
        table: &[u64],
        state: &mut State<f64>,
        steps: u64,
    ) {
        let mut clock = RawClock { time: state.time, step: state.step, rest: state.rest_steps };
        let mut faults = RawFaults::of(&state.faults);
        // SAFETY: memory and table were made with the code, see above.
        unsafe {
            (self.steps)(memory.as_mut_ptr(), table.as_ptr(), &mut clock, &mut faults, steps);
        }
        close_state(state, clock, faults);
    }
}
