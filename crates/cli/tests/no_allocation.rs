//! The step loop of every example does not allocate: counted by the allocator, for the thread that steps.

use fluxline::Session;
use fluxline_core::engine;
use fluxline_core::monitor::Tally;
use std::path::Path;

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
        let during = allocation_counter::measure(|| {
            for _ in 0..5000 {
                engine::step(plan, &mut state, &mut tally, false);
            }
        });
        assert_eq!(during.count_total, 0, "{}", path.display());
        examples += 1;
    }
    assert!(examples >= 8, "{examples} examples");
}
