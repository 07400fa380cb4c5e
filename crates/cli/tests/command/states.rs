//! Saved states: a run that is cut in two is the same run.

use crate::bench::{Bench, PUMP, SWING};

#[test]
fn a_run_restored_half_way_gives_the_same_rows() {
    for (circuit, half, full) in [(PUMP, "0.11 s", "0.2 s"), (SWING, "0.7 s", "2 s")] {
        let bench = Bench::with("c.toml", circuit);
        let run = |more: &[&str]| {
            let all: Vec<&str> =
                ["run", "c.toml", "--quiet", "--every", "1"].iter().chain(more).copied().collect();
            let said = bench.fluxline(&all);
            assert_eq!(said.code, 0, "{}", said.err);
        };
        run(&["--stop", full, "--csv", "whole.csv", "--save-state", "whole"]);
        run(&["--stop", half, "--csv", "first.csv", "--save-state", "half"]);
        run(&[
            "--stop",
            full,
            "--csv",
            "second.csv",
            "--from-state",
            "half",
            "--save-state",
            "joined",
        ]);
        let (whole, first, second) =
            (bench.read("whole.csv"), bench.read("first.csv"), bench.read("second.csv"));
        let whole: Vec<&str> = whole.lines().collect();
        let first: Vec<&str> = first.lines().collect();
        let second: Vec<&str> = second.lines().collect();
        // Both parts hold a header and the row at which they meet.
        assert_eq!(first.last(), second.get(1));
        let joined: Vec<&str> = first.iter().chain(&second[2..]).copied().collect();
        assert_eq!(whole, joined);
        assert_eq!(
            std::fs::read(bench.path("whole")).unwrap(),
            std::fs::read(bench.path("joined")).unwrap()
        );
    }
}

#[test]
fn a_state_of_another_circuit_is_refused() {
    let bench = Bench::with("pump.toml", PUMP);
    bench.write("swing.toml", SWING);
    assert_eq!(bench.fluxline(&["run", "pump.toml", "--save-state", "s", "--quiet"]).code, 0);
    let error = |circuit: &str, more: &[&str]| {
        let all: Vec<&str> =
            ["run", circuit, "--from-state", "s"].iter().chain(more).copied().collect();
        let (code, verdict) = bench.json(&all);
        (code, verdict["errors"][0]["code"].as_str().unwrap_or("").to_owned())
    };
    assert_eq!(error("swing.toml", &[]), (2, "F1102".to_owned()));
    assert_eq!(error("pump.toml", &["--step", "0.2 ms"]), (2, "F1102".to_owned()));
    assert_eq!(error("pump.toml", &["--stop", "0.1 s"]), (2, "F0701".to_owned()));
}

#[test]
fn a_damaged_state_is_refused_wherever_the_damage_is() {
    let bench = Bench::with("pump.toml", PUMP);
    assert_eq!(bench.fluxline(&["run", "pump.toml", "--save-state", "s", "--quiet"]).code, 0);
    let good = std::fs::read(bench.path("s")).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(bench.path("s"), bytes).unwrap();
        let (code, verdict) = bench.json(&["run", "pump.toml", "--from-state", "s"]);
        assert_eq!((code, verdict["errors"][0]["code"].as_str()), (2, Some("F1101")));
    };
    for length in [0, 5, 8, 12, 60, good.len() / 2, good.len() - 1] {
        refused(&good[..length]);
    }
    for at in [0, 9, 15, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        refused(&bad);
    }
    assert_eq!(bench.json(&["run", "pump.toml", "--from-state", "missing"]).0, 3);
}
