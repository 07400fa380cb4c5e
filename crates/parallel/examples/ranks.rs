//! Runs circuits on the ranks of an MPI job and in one piece, and compares all bits:
//!
//! ```text
//! cargo build -p fluxline-parallel --features mpi --example ranks
//! mpirun -n 4 target/debug/examples/ranks 2000 examples/two_actuators.toml examples/accumulator.toml
//! ```
//!
//! Exits with 1 when a bit differs.

use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run;
use fluxline_parallel::cut::Cut;
use fluxline_parallel::mapping::evenly;
use fluxline_parallel::mpi::{self, Ranks};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

static STOP: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let (Some(steps), files) = (given.next().and_then(|text| text.parse().ok()), given) else {
        eprintln!("usage: ranks STEPS CIRCUIT.toml...");
        return ExitCode::from(2);
    };
    let Some(ranks) = Ranks::join(&STOP) else {
        eprintln!("MPI cannot be started");
        return ExitCode::from(3);
    };
    let mut all_are_equal = true;
    for path in files {
        match compare(&ranks, &path, steps) {
            Some(is_equal) => all_are_equal &= is_equal,
            None => return ExitCode::from(2),
        }
    }
    ExitCode::from(u8::from(!all_are_equal))
}

/// Whether all is equal, on the first rank; `None` where there is no circuit.
fn compare(ranks: &Ranks, path: &str, steps: u64) -> Option<bool> {
    let registry = fluxline_library::registry();
    let loaded = fluxline_formats::load_file(path, &registry, &[]);
    let plan = loaded.circuit.and_then(|circuit| Plan::of(&circuit, &registry).plan);
    // All ranks go on, or none.
    if ranks.ask_all(u64::from(plan.is_none())).contains(&1) {
        eprintln!("rank {}: {path} is {}", ranks.rank(), plan.map_or("no circuit", |_| "fine"));
        return None;
    }
    let plan = plan?;
    let cut = match Cut::new(&plan, &evenly(&plan, ranks.count())) {
        Ok(cut) => cut,
        Err(problem) => {
            eprintln!("{problem}");
            return None;
        }
    };
    let record = || {
        let variables = plan.variables.iter().filter(|variable| variable.by_default).collect();
        Recorder::new(variables, Sampling::Every(7), steps)
    };
    let (mut rows, mut state) = (record(), plan.initial.clone());
    let begun = std::time::Instant::now();
    let outcome = mpi::run(ranks, &plan, &cut, &mut state, steps, &mut rows, |_| true);
    let on_ranks = begun.elapsed();
    if ranks.rank() > 0 {
        return Some(true);
    }
    let (mut alone, mut whole) = (record(), plan.initial.clone());
    let begun = std::time::Instant::now();
    let expected = run::run(&plan, &mut whole, steps, &mut alone, true, |_| true);
    let in_one_piece = begun.elapsed();
    let bits = |rows: &Recorder| rows.rows().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
    let same_rows = bits(&rows) == bits(&alone);
    let same_state = format!("{state:?}") == format!("{whole:?}");
    let same_outcome = format!("{outcome:?}") == format!("{expected:?}");
    println!(
        "{path}: {} components, {} steps on {} ranks, {} line ends cut: rows {}, state {}, verdict {}; {on_ranks:.2?} on ranks, {in_one_piece:.2?} in one piece",
        plan.component_count(),
        whole.step,
        ranks.count(),
        cut.lines_cut(),
        if same_rows { "equal" } else { "DIFFER" },
        if same_state { "equal" } else { "DIFFERS" },
        if same_outcome { "equal" } else { "DIFFERS" },
    );
    Some(same_rows && same_state && same_outcome)
}
