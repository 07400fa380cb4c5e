//! Result files.

use crate::bench::{Bench, PUMP, SWING};

#[test]
fn csv_has_names_and_si_units_from_start_to_end() {
    let bench = Bench::with("pump.toml", PUMP);
    let record = ["--record", "pump.outlet.*", "--record", "volume.pressure"];
    let mut all = vec!["run", "pump.toml", "--csv", "a.csv", "--samples", "11"];
    all.extend(record);
    assert_eq!(bench.fluxline(&all).code, 0);
    let csv = bench.read("a.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("time,pump.outlet.pressure,pump.outlet.flow"), "{}", lines[0]);
    assert!(lines[0].ends_with(",volume.pressure"));
    assert_eq!(lines.len(), 12);
    assert!(lines[1].starts_with("0,101325,0,"), "{}", lines[1]);
    // Flow counts into a component, so out of a pump it is negative.
    assert!(lines[11].starts_with("0.2,") && lines[11].contains(",-0.0003"), "{}", lines[11]);
    assert_eq!(bench.files(), ["a.csv", "pump.toml"]);
}

#[test]
fn csv_goes_to_standard_output() {
    let bench = Bench::with("pump.toml", PUMP);
    let said = bench.fluxline(&["run", "pump.toml", "--csv", "-", "--every", "1000"]);
    assert_eq!(said.code, 0);
    assert_eq!(said.out.lines().count(), 4);
    assert!(said.out.starts_with("time,") && said.err.contains("done"), "{}", said.err);
    assert_eq!(bench.fluxline(&["run", "pump.toml", "--csv", "-", "--json"]).code, 2);
}

#[test]
fn recording_does_not_change_the_run() {
    for circuit in [PUMP, SWING] {
        let bench = Bench::with("c.toml", circuit);
        let run = |name: &str, more: &[&str]| {
            let all = ["run", "c.toml", "--save-state", name, "--quiet"];
            let all: Vec<&str> = all.iter().chain(more).copied().collect();
            assert_eq!(bench.fluxline(&all).code, 0);
            std::fs::read(bench.path(name)).unwrap()
        };
        let plain = run("plain", &["--samples", "2"]);
        let recorded = run("recorded", &["--every", "1", "--csv", "all.csv", "--report", "r.html"]);
        assert_eq!(plain, recorded);
    }
}

#[test]
fn an_unwritable_file_is_found_before_the_run() {
    let bench = Bench::with("pump.toml", PUMP);
    for option in ["--csv", "--report", "--save-state"] {
        let (code, verdict) = bench.json(&["run", "pump.toml", option, "no/such/folder/file"]);
        assert_eq!(code, 3);
        assert_eq!(verdict["errors"][0]["code"], "F1002");
        assert_eq!(verdict["steps"], 0);
    }
    assert_eq!(bench.files(), ["pump.toml"]);
    assert_eq!(bench.fluxline(&["run", "missing.toml"]).code, 3);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_run_and_says_so() {
    let bench = Bench::with("pump.toml", PUMP);
    let arguments = ["run", "pump.toml", "--csv", "/dev/full", "--every", "1", "--save-state", "s"];
    let (code, verdict) = bench.json(&arguments);
    assert_eq!((code, &verdict["errors"][0]["code"]), (3, &"F1003".into()));
    assert_eq!(verdict["ended"], "not_written");
    // The state is kept, so that the run can go on from there.
    assert_eq!(bench.files(), ["pump.toml", "s"]);
}

#[test]
fn a_file_beyond_all_measure_is_refused() {
    let bench = Bench::with("pump.toml", PUMP);
    let huge = ["run", "pump.toml", "--stop", "1e6 s", "--every", "1", "--csv", "a.csv"];
    let (code, verdict) = bench.json(&huge);
    assert_eq!((code, &verdict["errors"][0]["code"]), (2, &"F0705".into()));
    assert_eq!(bench.files(), ["pump.toml"]);
}

#[test]
fn an_old_file_survives_a_run_that_is_refused() {
    let bench = Bench::with("bad.toml", "[components.a]\ntype = \"no.such\"\n");
    bench.write("a.csv", "old");
    assert_eq!(bench.fluxline(&["run", "bad.toml", "--csv", "a.csv"]).code, 2);
    assert_eq!(bench.read("a.csv"), "old");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_format_that_this_build_leaves_out_is_told() {
    let bench = Bench::with("pump.toml", PUMP);
    let said = bench.fluxline(&["run", "pump.toml", "--parquet", "a.parquet"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("F1204") && said.err.contains("--features parquet"), "{}", said.err);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_files_are_written() {
    let bench = Bench::with("pump.toml", PUMP);
    let said = bench.fluxline(&["run", "pump.toml", "--parquet", "a.parquet"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(std::fs::read(bench.path("a.parquet")).unwrap().starts_with(b"PAR1"));
}
