//! The step loop does not allocate: counted by the allocator itself.

use fluxline_core::builder::Builder;
use fluxline_core::engine;
use fluxline_core::monitor::Tally;
use fluxline_library::registry;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: hands every call on to the system allocator unchanged; it only counts.
#[allow(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_thousand_steps_allocate_nothing() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.add("source", "hydraulic.flow_source", &[("flow", "10 l/min")]);
    circuit.add("orifice", "hydraulic.turbulent_orifice", &[]);
    circuit.add("tank", "hydraulic.tank", &[]);
    circuit.add("step", "signal.step", &[("time", "0.01 s"), ("amplitude", "1e-5")]);
    circuit.drive("step.out", "orifice.area");
    circuit.connect(&["source.outlet", "orifice.inlet"]);
    circuit.connect(&["orifice.outlet", "tank.port"]);
    circuit.add("mass", "translational.mass", &[("start_velocity", "1 m/s")]);
    circuit.add("other", "translational.mass", &[]);
    circuit.connect(&["mass.b", "other.a"]);
    let plan = circuit.plan().unwrap();
    let mut state = plan.initial.clone();
    let mut tally = Tally::new(&plan, &mut state, true);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..1000 {
        engine::step(&plan, &mut state, &mut tally, false);
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
    assert!(state.step == 1000);
}
