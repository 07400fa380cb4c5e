//! How soon a circuit has code of its own: following its step, putting statements in order, writing
//! instructions; the least of several repeats, in milliseconds, and from how many steps on that pays.
//!
//! `cargo bench -p fluxline --bench following [-- FILE …]`

use fluxline::Session;
use fluxline_fused::run::Source;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn least(repeats: u32, mut work: impl FnMut() -> f64) -> f64 {
    (0..repeats).map(|_| work()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut files: Vec<PathBuf> = std::env::args().skip(1).filter(|a| a != "--bench").map(PathBuf::from).collect();
    if files.is_empty() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        files = std::fs::read_dir(folder)
            .expect("the examples are in the repository")
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|e| e == "toml"))
            .collect();
        files.sort();
    }
    println!("{:34} {:>10} {:>8} {:>8}", "", "components", "follow", "write");
    let repeats = std::env::var("REPEATS").ok().and_then(|r| r.parse().ok()).unwrap_or(15);
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let session = match Session::open(&file, &[]) {
            Ok(session) => session,
            Err(_) => {
                println!("{name:34} does not load");
                continue;
            }
        };
        let plan = session.plan();
        let follow = || Source::of(plan, session.registry(), &plan.initial, &[], true);
        let followed = least(repeats, || {
            let begin = Instant::now();
            let source = follow();
            let took = begin.elapsed().as_secs_f64();
            drop(source);
            took
        });
        let written = least(repeats.min(5), || {
            let Ok(source) = follow() else { return f64::NAN };
            let begin = Instant::now();
            let code = source.assemble(plan);
            let took = begin.elapsed().as_secs_f64();
            drop(code);
            took
        });
        println!("{name:34} {:>10} {:>8.3} {:>8.3}", plan.component_count(), 1e3 * followed, 1e3 * written);
    }
}
