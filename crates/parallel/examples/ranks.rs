//! Runs a circuit on the ranks of an MPI job and in one piece, and compares all bits:
//!
//! ```text
//! cargo build -p fluxline-parallel --features mpi --example ranks
//! mpirun -n 4 target/debug/examples/ranks examples/two_actuators.toml 2000
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

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let (Some(path), steps) = (given.next(), given.next()) else {
        eprintln!("usage: ranks CIRCUIT.toml [STEPS]");
        return ExitCode::from(2);
    };
    let steps = steps.and_then(|text| text.parse().ok()).unwrap_or(1000);
    let Some(ranks) = Ranks::join() else {
        eprintln!("MPI cannot be started");
        return ExitCode::from(3);
    };
    let registry = fluxline_library::registry();
    let loaded = fluxline_formats::load_file(&path, &registry, &[]);
    let plan = loaded.circuit.and_then(|circuit| Plan::of(&circuit, &registry).plan);
    // All ranks go on, or none.
    if ranks.ask_all(u64::from(plan.is_none())).contains(&1) {
        eprintln!("rank {}: {path} is {}", ranks.rank(), plan.map_or("no circuit", |_| "fine"));
        return ExitCode::from(2);
    }
    let Some(plan) = plan else { return ExitCode::from(2) };
    let cut = match Cut::new(&plan, &evenly(&plan, ranks.count())) {
        Ok(cut) => cut,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let record = || {
        let variables = plan.variables.iter().filter(|variable| variable.by_default).collect();
        Recorder::new(variables, Sampling::Every(7), steps)
    };
    let (mut rows, mut state) = (record(), plan.initial.clone());
    let begun = std::time::Instant::now();
    let outcome = mpi::run(&ranks, &plan, &cut, &mut state, steps, &mut rows, |_| true);
    let on_ranks = begun.elapsed();
    if ranks.rank() > 0 {
        return ExitCode::SUCCESS;
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
    ExitCode::from(u8::from(!(same_rows && same_state && same_outcome)))
}
