//! Speed of the example circuits: real-time factor, cost per step, and what the verdict's balances
//! cost, each the least of several repeats in one run.
//!
//! `cargo bench -p fluxline --bench examples`

use fluxline::Session;
use fluxline_core::engine;
use fluxline_core::monitor::Tally;
use std::path::Path;
use std::time::Instant;

fn seconds(session: &Session, steps: u64, watched: bool) -> f64 {
    let plan = session.plan();
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let mut state = plan.initial.clone();
        let mut tally = Tally::new(plan, &mut state, watched);
        let begin = Instant::now();
        for _ in 0..steps {
            engine::step(plan, &mut state, &mut tally, false);
        }
        best = best.min(begin.elapsed().as_secs_f64());
    }
    best
}

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the examples are in the repository")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    println!(
        "{:28} {:>10} {:>9} {:>13} {:>10}",
        "", "real time", "ns/step", "ns/component", "balances"
    );
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(session) = Session::open(&file, &[]) else {
            println!("{name:28} does not load");
            continue;
        };
        let plan = session.plan();
        let steps = session.steps().min(30_000);
        let (bare, watched) = (seconds(&session, steps, false), seconds(&session, steps, true));
        let per_step = watched * 1e9 / steps as f64;
        println!(
            "{name:28} {:>8.0} × {per_step:>9.0} {:>13.1} {:>9.2} ×",
            steps as f64 * plan.step / watched,
            per_step / plan.component_count() as f64,
            watched / bare,
        );
    }
}
