//! Circuits in parts: the same results on any number of threads and ranks.

use crate::bench::{Bench, PUMP};
use std::path::{Path, PathBuf};

/// Two pumps, each with its load, joined by an orifice between two volumes.
pub const PAIR: &str = r#"
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

/// All circuit files below a folder; those that ask for something of a circuit are none.
pub fn circuits(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "toml")
                && std::fs::read_to_string(&path).unwrap().contains("[components.")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

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
fn a_model_of_hopsan_has_the_same_rows_on_1_2_3_4_and_8_threads() {
    let bench = Bench::new();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hopsan/position_servo.hmf");
    let rows = |name: &str, more: &[&str]| {
        let mut all = vec!["run", model, "--quiet", "--stop", "1 s", "--csv", name];
        all.extend(more);
        let said = bench.fluxline(&all);
        assert_eq!(said.code, 0, "{}", said.err);
        bench.read(name)
    };
    let whole = rows("one.csv", &[]);
    for threads in ["1", "2", "3", "4", "8"] {
        assert!(whole == rows("parts.csv", &["--threads", threads]), "{threads} threads");
    }
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
    assert!(said.out.contains(" exchanges)"), "{}", said.out);
    let strictly = ["--partition", "halves.toml", "--exchange-every", "10", "--exchange-strictly"];
    let said = run(&bench, "strictly", &strictly);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("(exchange every 10 steps)"), "{}", said.out);
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
    let said = bench.fluxline(&["sweep", "pair.toml", "--vary", "v1.volume=1 l, 2 l", "--mpi"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("--features mpi"), "{}", said.err);
    let said = bench.fluxline(&["optimise", "study.toml", "--mpi"]);
    assert!(said.err.contains("--features mpi"), "{}", said.err);
}
