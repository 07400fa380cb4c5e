//! How soon a circuit has code of its own: following its step and putting statements in order, and
//! writing instructions; the first time, as in a run, and the least of several repeats, in milliseconds.
//!
//! `cargo bench -p fluxline --bench following [-- FILE …]`

use fluxline::Session;
use fluxline_fused::run::Source;
use std::path::{Path, PathBuf};
use std::time::Instant;

const REPEATS: usize = 15;

/// What work takes, ms.
fn timed<R>(work: impl FnOnce() -> R) -> (R, f64) {
    let begin = Instant::now();
    let result = work();
    (result, begin.elapsed().as_secs_f64() * 1e3)
}

fn main() {
    let given = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut files: Vec<PathBuf> = given.map(PathBuf::from).collect();
    if files.is_empty() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        files = std::fs::read_dir(folder)
            .expect("the examples are in the repository")
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|e| e == "toml"))
            .collect();
        files.sort();
    }
    println!(
        "{:34} {:>10} {:>9} {:>8} {:>9} {:>8}",
        "", "components", "follow", "(first)", "write", "(first)"
    );
    let registry = fluxline::registry();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(session) = Session::open(&file, &[]) else {
            println!("{name:34} does not load");
            continue;
        };
        let plan = session.plan();
        let mut times = Vec::new();
        for _ in 0..REPEATS {
            let (source, follow) = timed(|| Source::of(plan, &registry, &plan.initial, &[], true));
            let Ok(source) = source else { break };
            let (code, write) = timed(|| source.assemble(plan));
            // Without instructions for this processor there is nothing to measure.
            if code.is_err() {
                break;
            }
            times.push([follow, write]);
        }
        let Some([follow, write]) = times.first() else {
            println!("{name:34} has no instructions");
            continue;
        };
        let least = |i: usize| times.iter().map(|t| t[i]).fold(f64::INFINITY, f64::min);
        let count = plan.component_count();
        println!(
            "{name:34} {count:>10} {:>9.3} {follow:>8.3} {:>9.3} {write:>8.3}",
            least(0),
            least(1)
        );
    }
}
