//! Circuits in parts: the same results on any number of threads and ranks.

use crate::bench::{Bench, PUMP};

/// Two pumps, each with its load, joined by an orifice between two volumes.
const PAIR: &str = r#"
title = "Two pumps"
[run]
stop = "50 ms"
step = "0.01 ms"
[components.p1]
type = "hydraulic.flow_source"
flow = "20 l/min"
[components.p2]
type = "hydraulic.flow_source"
flow = "10 l/min"
[components.v1]
type = "hydraulic.volume"
volume = "1 l"
[components.v2]
type = "hydraulic.volume"
volume = "0.5 l"
[components.across]
type = "hydraulic.orifice"
diameter = "3 mm"
[components.o1]
type = "hydraulic.orifice"
diameter = "2 mm"
[components.o2]
type = "hydraulic.orifice"
diameter = "2.5 mm"
[components.t1]
type = "hydraulic.tank"
[components.t2]
type = "hydraulic.tank"
[[connect]]
ends = ["p1.outlet", "v1.port"]
[[connect]]
ends = ["o1.inlet", "v1.port"]
[[connect]]
ends = ["o1.outlet", "t1.port"]
[[connect]]
ends = ["v1.port", "across.inlet"]
[[connect]]
ends = ["across.outlet", "v2.port"]
[[connect]]
ends = ["p2.outlet", "v2.port"]
[[connect]]
ends = ["o2.inlet", "v2.port"]
[[connect]]
ends = ["o2.outlet", "t2.port"]
"#;

const HALVES: &str = "parts = 2\n[part_of]\np1 = 0\np2 = 1\nv1 = 0\nv2 = 1\nacross = 1\n\
                      o1 = 0\no2 = 1\nt1 = 0\nt2 = 1\n";

fn run(bench: &Bench, name: &str, more: &[&str]) -> crate::bench::Said {
    let (csv, state) = (format!("{name}.csv"), format!("{name}.state"));
    let mut all = vec!["run", "pair.toml", "--csv", &csv, "--save-state", &state];
    all.extend(more);
    bench.fluxline(&all)
}

#[test]
fn rows_and_states_are_the_same_on_1_2_3_and_8_threads_and_with_given_parts() {
    let bench = Bench::with("pair.toml", PAIR);
    bench.write("halves.toml", HALVES);
    assert_eq!(run(&bench, "one", &[]).code, 0);
    let ways: [(&str, &[&str]); 5] = [
        ("two", &["--threads", "2"]),
        ("three", &["--threads", "3"]),
        ("eight", &["--threads", "8"]),
        ("auto", &["--threads", "auto"]),
        ("halves", &["--partition", "halves.toml"]),
    ];
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    for (name, more) in ways {
        let said = run(&bench, name, more);
        assert_eq!(said.code, 0, "{}", said.err);
        assert!(said.out.contains("  parallel "), "{}", said.out);
        assert!(read(&format!("{name}.csv")) == read("one.csv"), "{name}");
        assert!(read(&format!("{name}.state")) == read("one.state"), "{name}");
    }
}

#[test]
fn a_model_of_hopsan_has_the_same_rows_in_parts() {
    let bench = Bench::new();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hopsan/position_servo.hmf");
    let rows = |name: &str, more: &[&str]| {
        let mut all = vec!["run", model, "--quiet", "--csv", name];
        all.extend(more);
        let said = bench.fluxline(&all);
        assert_eq!(said.code, 0, "{}", said.err);
        bench.read(name)
    };
    let whole = rows("one.csv", &[]);
    assert!(whole == rows("three.csv", &["--threads", "3"]));
}

#[test]
fn a_small_circuit_stays_in_one_piece_and_says_why() {
    let bench = Bench::with("pump.toml", PUMP);
    let said = bench.fluxline(&["run", "pump.toml", "--threads", "auto"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("too few for two threads") || said.out.contains("one core"));
}

#[test]
fn rare_exchange_tells_its_error() {
    let bench = Bench::with("pair.toml", PAIR);
    bench.write("halves.toml", HALVES);
    let said = run(&bench, "rare", &["--partition", "halves.toml", "--exchange-every", "10"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("split error"), "{}", said.out);
    assert!(said.out.contains("in `v1`") && said.out.contains("every 10 steps"), "{}", said.out);
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let bench = Bench::with("pair.toml", PAIR);
    bench.write("old.toml", &HALVES.replace("o1 = 0", "o9 = 0"));
    let said = bench.fluxline(&["run", "pair.toml", "--partition", "old.toml"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1501") && said.err.contains("old.toml:"), "{}", said.err);
    for (more, part) in [
        (&["--threads", "2", "--solver", "rk4"][..], "a lumped solver"),
        (&["--exchange-every", "10"], "no parts"),
        (&["--partition", "missing.toml"], "missing.toml"),
        (&["--threads", "none"], "whole number"),
    ] {
        let all: Vec<&str> = ["run", "pair.toml"].iter().chain(more).copied().collect();
        let said = bench.fluxline(&all);
        assert!(said.code >= 2 && said.err.contains(part), "{part}: {}", said.err);
    }
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_build_without_mpi_says_so() {
    let bench = Bench::with("pair.toml", PAIR);
    let said = bench.fluxline(&["run", "pair.toml", "--mpi"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("--features mpi"), "{}", said.err);
    println!(
        "skipped: MPI is tested by `cargo test -p fluxline --features mpi --test command parallel`"
    );
}

#[cfg(feature = "mpi")]
mod mpi {
    use super::*;
    use std::process::{Command, Output};

    /// Starts so many ranks; `None`, visibly, where there is no mpirun.
    fn mpirun(bench: &Bench, ranks: usize, more: &[&str]) -> Option<Output> {
        let ranks = ranks.to_string();
        let started = Command::new("mpirun")
            .args(["--oversubscribe", "-n", &ranks, env!("CARGO_BIN_EXE_fluxline"), "run"])
            .args(more)
            .arg("--mpi")
            .current_dir(bench.path("."))
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            // Ranks that share a core must give way while they wait.
            .env("OMPI_MCA_mpi_yield_when_idle", "1")
            .output();
        match started {
            Ok(output) => Some(output),
            Err(error) => {
                println!("skipped: mpirun cannot be started: {error}");
                None
            }
        }
    }

    #[test]
    fn rows_and_states_are_the_same_on_1_2_and_4_ranks() {
        let bench = Bench::with("pair.toml", PAIR);
        assert_eq!(run(&bench, "one", &[]).code, 0);
        let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
        for ranks in [1, 2, 4] {
            let more = ["pair.toml", "--csv", "r.csv", "--save-state", "r.state"];
            let Some(output) = mpirun(&bench, ranks, &more) else { return };
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(read("r.csv") == read("one.csv"), "{ranks} ranks");
            assert!(read("r.state") == read("one.state"), "{ranks} ranks");
        }
    }

    #[test]
    fn a_rank_that_cannot_read_its_circuit_ends_all_with_one_message() {
        let bench = Bench::with("pair.toml", PAIR);
        // Each rank reads the file of its own number; the second one is not there.
        let script = "exec \"$0\" run c$OMPI_COMM_WORLD_RANK.toml --mpi";
        bench.write("c0.toml", PAIR);
        bench.write("c2.toml", PAIR);
        let started = Command::new("mpirun")
            .args(["--oversubscribe", "-n", "3", "sh", "-c", script])
            .arg(env!("CARGO_BIN_EXE_fluxline"))
            .current_dir(bench.path("."))
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_mpi_yield_when_idle", "1")
            .output();
        let Ok(output) = started else { return println!("skipped: no mpirun") };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(said.contains("on MPI rank 1") && said.contains("c1.toml"), "{said}");
        assert_eq!(said.matches("error[").count(), 1, "{said}");
    }
}
