//! `fluxline sweep`.

use crate::bench::{Bench, PUMP, RUNAWAY};

const METRICS: [&str; 6] = [
    "--metric",
    "max(pump.outlet.pressure)",
    "--metric",
    "settling_time(volume.port1.pressure)",
    "--metric",
    "mean(orifice.inlet.flow) / 1 l/min",
];

fn sweep<'a>(vary: &[&'a str], rest: &[&'a str]) -> Vec<&'a str> {
    let vary = vary.iter().flat_map(|one| ["--vary", one]);
    ["sweep", "pump.toml"]
        .into_iter()
        .chain(vary)
        .chain(METRICS)
        .chain(rest.iter().copied())
        .collect()
}

/// A row's bits are those of a run by itself, whatever the lanes and threads.
#[test]
fn results_are_those_of_single_runs_on_any_lanes_and_threads() {
    let bench = Bench::with("pump.toml", PUMP);
    let vary = ["orifice.area=4 mm^2..9 mm^2", "volume.volume=lognormal(1 l, 0.3)"];
    let mut tables = Vec::new();
    for (lanes, threads) in [("auto", "2"), ("1", "1"), ("4", "3"), ("8", "1")] {
        let rest = [
            "--runs",
            "21",
            "--seed",
            "3",
            "--lanes",
            lanes,
            "--threads",
            threads,
            "--out",
            "a.csv",
        ];
        let said = bench.fluxline(&sweep(&vary, &rest));
        assert_eq!(said.code, 0, "{}", said.err);
        tables.push(bench.read("a.csv"));
    }
    assert!(tables.iter().all(|table| *table == tables[0]));
    let header = tables[0].lines().next().unwrap();
    assert!(
        header.starts_with("run,orifice.area,volume.volume,max(pump.outlet.pressure)"),
        "{header}"
    );
    let row: Vec<&str> = tables[0].lines().nth(8).unwrap().split(',').collect();
    assert_eq!(row[0], "7");
    let set = [format!("orifice.area={} m^2", row[1]), format!("volume.volume={} m^3", row[2])];
    let arguments = [
        "run",
        "pump.toml",
        "--set",
        &set[0],
        "--set",
        &set[1],
        "--every",
        "1",
        "--csv",
        "one.csv",
        "--record",
        "pump.outlet.pressure",
    ];
    assert_eq!(bench.fluxline(&arguments).code, 0);
    let csv = bench.read("one.csv");
    let pressures =
        csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<f64>().unwrap());
    let most = pressures.fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(most.to_bits(), row[3].parse::<f64>().unwrap().to_bits());
}

#[test]
fn every_design_gives_its_runs() {
    let bench = Bench::with("pump.toml", PUMP);
    for (vary, rest, runs) in [
        ("orifice.area=4 mm^2..9 mm^2:5", &[][..], 5),
        ("orifice.area=[4 mm^2, 5 mm^2]", &["--design", "grid"][..], 2),
        ("orifice.area=4 mm^2..9 mm^2", &["--design", "sobol", "--runs", "8"][..], 8),
        ("orifice.area=normal(5 mm^2, 0.2 mm^2)", &["--design", "random", "--runs", "6"][..], 6),
        ("orifice.area=uniform(4 mm^2, 9 mm^2)", &["--design", "lhs", "--runs", "6"][..], 6),
    ] {
        let (code, said) = bench.json(&sweep(&[vary], rest));
        assert_eq!(code, 0, "{said}");
        assert_eq!((&said["runs"], &said["done"]), (&runs.into(), &runs.into()), "{said}");
        let metric = &said["metrics"][0];
        assert_eq!(metric["unit"], "Pa");
        assert!(metric["min"].as_f64().unwrap() <= metric["mean"].as_f64().unwrap());
    }
}

/// Rows with words are those of runs with the same `--set`.
#[test]
fn choices_and_texts_are_varied_and_results_show_their_words() {
    let bench = Bench::with("pump.toml", PUMP);
    let vary = ["run.begin=[rest, values]", "title=[\"one, two\", three]", "orifice.area=[5 mm^2]"];
    let metric = ["--metric", "initial(pump.outlet.pressure)", "--out", "a.csv"];
    for lanes in ["1", "8"] {
        let said = bench.fluxline(&sweep(&vary, &[&metric[..], &["--lanes", lanes]].concat()));
        assert_eq!(said.code, 0, "{}", said.err);
        let table = bench.read("a.csv");
        let rows: Vec<&str> = table.lines().skip(1).collect();
        let begins =
            ["0,rest,\"one, two\",", "1,rest,three,", "2,values,\"one, two\",", "3,values,three,"];
        for (row, begin) in rows.iter().zip(begins) {
            assert!(row.starts_with(begin), "{row}");
        }
        for (row, begin) in [(rows[1], "rest"), (rows[3], "values")] {
            let set = format!("run.begin={begin}");
            let (_, run) = bench.json(&["run", "pump.toml", "--set", &set]);
            let variables = run["variables"].as_array().unwrap();
            let pressure =
                variables.iter().find(|one| one["name"] == "pump.outlet.pressure").unwrap();
            let initial: f64 = row.split(',').nth_back(1).unwrap().parse().unwrap();
            assert_eq!(Some(initial), pressure["start"].as_f64(), "{row}");
        }
    }
    // Also by chance, and in an unfinished table that is read again.
    let some = [&metric[..], &["--runs", "16", "--design", "random"]].concat();
    assert_eq!(bench.fluxline(&sweep(&vary, &some)).code, 0);
    let table = bench.read("a.csv");
    assert_eq!(
        table.lines().filter(|row| row.contains(",rest,") || row.contains(",values,")).count(),
        16
    );
}

#[test]
fn only_variables_that_are_asked_for_are_kept() {
    let plotted = format!("{PUMP}\n[[plot]]\nvariables = [\"volume.pressure\"]\n");
    let bench = Bench::with("pump.toml", &plotted);
    let rest = ["--record", "pump.outlet.pressure", "--samples", "3", "--out", "a.csv"];
    assert_eq!(bench.fluxline(&sweep(&["orifice.area=4 mm^2..9 mm^2:3"], &rest)).code, 0);
    let signals = bench.read("a.signals.csv");
    assert_eq!(signals.lines().next(), Some("run,time,pump.outlet.pressure"));
    assert_eq!(signals.lines().count(), 1 + 3 * 3, "{signals}");
}

#[test]
fn a_failed_run_is_told_with_its_reason_and_the_others_go_on() {
    let bench = Bench::with("runaway.toml", RUNAWAY);
    let arguments = [
        "sweep",
        "runaway.toml",
        "--vary",
        "feedback.gain=[1e-8, 1e-12, 0, 1e-8]",
        "--metric",
        "max(pump.outlet.pressure)",
        "--out",
        "a.csv",
    ];
    let (code, said) = bench.json(&arguments);
    assert_eq!(code, 0, "{said}");
    assert_eq!((&said["done"], &said["failures"]["diverged"]), (&2.into(), &2.into()), "{said}");
    let table = bench.read("a.csv");
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert!(rows[0].contains("diverged: `"), "{}", rows[0]);
    assert!(rows[1].ends_with(',') && rows[2].ends_with(','), "{table}");
    let none = [
        "sweep",
        "runaway.toml",
        "--set",
        "feedback.gain=0",
        "--vary",
        "orifice.area=[-1 mm^2, 5 mm^2]",
    ];
    let (code, said) = bench.json(&none);
    assert_eq!((code, &said["failures"]["refused"]), (0, &1.into()), "{said}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_study_goes_on_to_the_same_bytes() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let bench = Bench::with("pump.toml", PUMP);
    let rest = |out| {
        ["--runs", "3000", "--record", "pump.outlet.pressure", "--samples", "5", "--out", out]
    };
    let interrupted = sweep(&["orifice.area=4 mm^2..9 mm^2"], &rest("a.csv"));
    let mut child =
        bench.command(&interrupted).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let has_rows = || {
        std::fs::read_to_string(bench.path("a.csv.partial")).is_ok_and(|t| t.lines().count() > 20)
    };
    while !has_rows() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    // As a crash would leave it: a row that is torn, signals of a run that is not finished.
    for (name, text) in
        [("a.csv.partial", "17,0.0"), ("a.signals.csv.partial", "2999,0.0,1.0\n2999")]
    {
        let mut file = std::fs::File::options().append(true).open(bench.path(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
    // What is not its own is not gone on with.
    let signals = std::fs::read(bench.path("a.signals.csv.partial")).unwrap();
    std::fs::write(bench.path("a.signals.csv.partial"), "rubbish\n").unwrap();
    let said = bench.fluxline(&interrupted);
    assert!(said.code == 2 && said.err.contains("F1404"), "{}", said.err);
    // Some of what its rows belong to is lost.
    std::fs::write(bench.path("a.signals.csv.partial"), &signals[..signals.len() * 2 / 3]).unwrap();
    let (code, said) = bench.json(&interrupted);
    assert_eq!(code, 0, "{said}");
    let resumed = said["resumed"].as_u64().unwrap();
    assert!((10..3000).contains(&resumed), "{said}");
    assert_eq!(said["done"], 3000);

    let whole = sweep(&["orifice.area=4 mm^2..9 mm^2"], &rest("b.csv"));
    assert_eq!(bench.json(&whole).1["resumed"], 0);
    assert!(bench.read("a.csv") == bench.read("b.csv"));
    assert!(bench.read("a.signals.csv") == bench.read("b.signals.csv"));
    let expected = ["a.csv", "a.signals.csv", "b.csv", "b.signals.csv", "pump.toml"];
    assert_eq!(bench.files(), expected);
}

#[test]
fn a_result_file_that_cannot_get_its_name_is_told_before_anything_runs() {
    let bench = Bench::with("pump.toml", PUMP);
    let rest = ["--record", "pump.outlet.pressure", "--out", "a.csv"];
    let arguments = sweep(&["orifice.area=4 mm^2..9 mm^2:3"], &rest);
    for folder in ["a.csv", "a.signals.csv"] {
        std::fs::create_dir(bench.path(folder)).unwrap();
        let said = bench.fluxline(&arguments);
        assert_eq!(said.code, 3, "{}", said.err);
        assert!(said.err.contains(folder) && said.err.contains("folder"), "{}", said.err);
        std::fs::remove_dir(bench.path(folder)).unwrap();
        assert_eq!(bench.files(), ["pump.toml"]);
    }
}

#[test]
fn results_of_another_study_are_not_mixed() {
    let bench = Bench::with("pump.toml", PUMP);
    std::fs::write(bench.path("a.csv.partial"), "# fluxline study 0123456789abcdef\nrun,x\n")
        .unwrap();
    let arguments = sweep(&["orifice.area=4 mm^2..9 mm^2:3"], &["--out", "a.csv"]);
    let said = bench.fluxline(&arguments);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("error[F1404]") && said.err.contains("--restart"), "{}", said.err);
    assert_eq!(bench.fluxline(&[&arguments[..], &["--restart"]].concat()).code, 0);
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let bench = Bench::with("pump.toml", PUMP);
    for (arguments, parts) in [
        (&["--vary", "orifice.aera=1..2:2"][..], &["orifice.aera", "area"][..]),
        (&["--vary", "orifice.area=1 bar..2 bar:2"], &["is a pressure"]),
        (&["--vary", "orifice.area=1 mm^2..2 mm^2"], &["number of runs", "--runs"]),
        (
            &["--vary", "orifice.area=[5 mm^2]", "--metric", "maximum(pump.outlet.pressure)"],
            &["no function", "max"],
        ),
        (
            &["--vary", "orifice.area=[5 mm^2]", "--metric", "max(pump.outlet.presure)"],
            &["no variable", "pressure"],
        ),
        (
            &["--vary", "orifice.area=[5 mm^2]", "--metric", "max(pump.outlet.pressure) - 1 m"],
            &["in the metric `"],
        ),
        (&["--vary", "orifice.area=[5 mm^2]", "--out", "a.txt"], &["neither a CSV nor a Parquet"]),
        (
            &["--vary", "orifice.area=[5 mm^2]", "--set", "run.step_control=variable"],
            &["fixed step"],
        ),
        (&["--vary", "run.step_control=[fixed, variable]"], &["fixed step"]),
        (&["--vary", "run.begin=[values, restt]"], &["restt", "did you mean", "variant:1:"]),
        (&["--vary", "orifice.area=[true, false]"], &["orifice.area", "variant:1:"]),
        (
            &["--vary", "orifice.area=[5 mm^2]", "--set", "components.orifice.area=5 mm^2"],
            &["both set and varied"],
        ),
        (&["--vary", "orifice.area=[5 mm^2]", "--record", "pump.outlet.pressure"], &["--out"]),
        (&["--vary", "orifice.area=[5 mm^2]", "--record", "pmup.*", "--out", "a.csv"], &["pmup"]),
        (
            &["--vary", "orifice.area=[5 mm^2]", "--metric", "max(pump.outlet.pressure) - 1 m"],
            &["(max(pump.outlet.pressure))"],
        ),
    ] {
        let all: Vec<&str> =
            ["sweep", "pump.toml"].into_iter().chain(arguments.iter().copied()).collect();
        let said = bench.fluxline(&all);
        assert_eq!(said.code, 2, "{arguments:?} {}", said.err);
        for part in parts {
            assert!(said.err.contains(part), "{part} in {}", said.err);
        }
    }
}

/// What is kept does not grow with the number of runs.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_flat() {
    let bench = Bench::with("pump.toml", PUMP);
    let memory = |runs: &str| {
        let rest = ["--runs", runs, "--out", "a.csv", "--threads", "2", "--set", "run.stop=10 ms"];
        let (code, said) = bench.json(&sweep(&["orifice.area=4 mm^2..9 mm^2"], &rest));
        assert_eq!(code, 0, "{said}");
        said["peak_memory_bytes"].as_f64().unwrap()
    };
    let (few, many) = (memory("200"), memory("4000"));
    assert!(many < 1.1 * few + 2e6, "{few} {many}");
}
