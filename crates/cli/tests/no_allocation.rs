//! The step loop of every example does not allocate: counted by the allocator itself.

use fluxline::Session;
use fluxline_core::engine;
use fluxline_core::monitor::Tally;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
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

// One test alone in this program: another thread would be counted too.
#[test]
fn no_example_allocates_while_it_steps() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut examples = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let Ok(session) = Session::open(&path, &[]) else { panic!("{} loads", path.display()) };
        let plan = session.plan();
        let mut state = plan.initial.clone();
        let mut tally = Tally::new(plan, &mut state, true);
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..5000 {
            engine::step(plan, &mut state, &mut tally, false);
        }
        let during = ALLOCATIONS.load(Ordering::Relaxed) - before;
        assert_eq!(during, 0, "{}", path.display());
        examples += 1;
    }
    assert!(examples >= 8, "{examples} examples");
}
