//! `fluxline optimise` and `fluxline identify`.

use crate::bench::{Bench, PUMP};

const SIZING: &str = r#"
title = "Orifice sized to a pressure"
circuit = "pump.toml"
method = "nelder_mead"

[set]
run.stop = "1 s"
"fluid.density" = "870 kg/m^3"
"orifice.discharge" = 0.67

[[variable]]
name = "orifice.area"            # to be found
from = "4 mm^2"
to = "9 mm^2"

[[objective]]
metric = "abs(final(orifice.inlet.pressure) - final(orifice.outlet.pressure) - 50 bar)"
"#;

fn bench(study: &str) -> Bench {
    let bench = Bench::with("pump.toml", PUMP);
    std::fs::write(bench.path("study.toml"), study).unwrap();
    bench
}

/// A = q/(C_q·√(2Δp/ρ)), with the flow of 3e-4 m³/s after the step.
#[test]
fn an_orifice_is_sized_to_the_area_of_the_closed_form() {
    let bench = bench(SIZING);
    let (code, said) = bench.json(&["optimise", "study.toml", "--circuit", "sized.toml"]);
    assert_eq!(code, 0, "{said}");
    let area = said["best"]["variables"]["orifice.area"].as_f64().unwrap();
    let exact = 3e-4 / (0.67 * (2.0 * 50e5 / 870.0_f64).sqrt());
    assert!((area / exact - 1.0).abs() < 1e-5, "{area} instead of {exact}");
    // The circuit that is written is the one that was found, comments and all.
    let written = bench.read("sized.toml");
    assert!(written.starts_with("# Values by `fluxline optimise study.toml`"), "{written}");
    let metric = "final(orifice.inlet.pressure) - final(orifice.outlet.pressure)";
    let (code, checked) =
        bench.json(&["sweep", "sized.toml", "--vary", "volume.volume=[1 l]", "--metric", metric]);
    assert_eq!(code, 0, "{checked}");
    let pressure = checked["metrics"][0]["mean"].as_f64().unwrap();
    let objective = said["best"]["objectives"][0].as_f64().unwrap();
    assert!(((pressure - 50e5).abs() - objective).abs() < 1e-6, "{pressure} {objective}");
}

const TUNING: &str = r#"
circuit = "pump.toml"
evaluations = 300
seed = 5

[[variable]]
name = "orifice.area"
from = "4 mm^2"
to = "9 mm^2"
scale = "log"

[[variable]]
name = "volume.volume"
from = "0.1 l"
to = "2 l"

[[objective]]
metric = "settling_time(pump.outlet.pressure)"
scale = "10 ms"

[[objective]]
metric = "max(pump.outlet.pressure)"
scale = "100 bar"

[[constraint]]
keep = "max(pump.outlet.pressure) >= 30 bar"

[method]
name = "differential_evolution"
population = 20
"#;

/// A grid of 21 × 21 over the same variables has no better point that keeps the constraint.
#[test]
fn what_is_found_is_as_good_as_a_fine_grid() {
    let bench = bench(TUNING);
    let (code, said) = bench.json(&["optimise", "study.toml"]);
    assert_eq!(code, 0, "{said}");
    let best = said["best"]["objectives"][0].as_f64().unwrap();
    assert_eq!(said["best"]["feasible"], true);
    let arguments = [
        "sweep",
        "pump.toml",
        "--vary",
        "orifice.area=4 mm^2..9 mm^2:21",
        "--vary",
        "volume.volume=0.1 l..2 l:21",
        "--metric",
        "settling_time(pump.outlet.pressure)",
        "--metric",
        "max(pump.outlet.pressure)",
        "--out",
        "grid.csv",
    ];
    assert_eq!(bench.fluxline(&arguments).code, 0);
    let grid = bench.read("grid.csv");
    let objective = |line: &str| -> Option<f64> {
        let cells: Vec<f64> = line.split(',').take(5).map(|x| x.parse().unwrap()).collect();
        (cells[4] >= 30e5).then(|| cells[3] / 0.01 + cells[4] / 100e5)
    };
    let least = grid.lines().skip(1).filter_map(objective).fold(f64::INFINITY, f64::min);
    assert!(best <= least * (1.0 + 1e-9), "{best} against {least} of the grid");
}

#[test]
fn a_study_leaves_the_same_bytes_on_any_lanes_and_threads() {
    let bench = bench(TUNING);
    let mut logs = Vec::new();
    for (lanes, threads) in [("auto", "2"), ("1", "1"), ("4", "3")] {
        let arguments = [
            "optimise",
            "study.toml",
            "--out",
            "log.csv",
            "--lanes",
            lanes,
            "--threads",
            threads,
            "--evaluations",
            "90",
        ];
        let said = bench.fluxline(&arguments);
        assert_eq!(said.code, 0, "{}", said.err);
        assert!(said.out.contains("all runs used"), "{}", said.out);
        logs.push(bench.read("log.csv"));
    }
    assert_eq!(logs[0].lines().count(), 91);
    assert!(logs.iter().all(|log| *log == logs[0]));
}

#[test]
fn an_interrupted_search_goes_on_to_the_same_bytes() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let bench = bench(
        &TUNING
            .replace("evaluations = 300", "evaluations = 3000\n")
            .replace("population = 20", "population = 20\ntolerance = 0"),
    );
    let arguments = ["optimise", "study.toml", "--out", "a.csv"];
    let mut child =
        bench.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let has_rows = || {
        std::fs::read_to_string(bench.path("a.csv.partial")).is_ok_and(|t| t.lines().count() > 50)
    };
    while !has_rows() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let (code, said) = bench.json(&arguments);
    assert_eq!(code, 0, "{said}");
    let (runs, simulated) = (said["runs"].as_u64().unwrap(), said["simulated"].as_u64().unwrap());
    assert!(runs == 3000 && simulated < 3000, "{said}");
    assert_eq!(bench.json(&["optimise", "study.toml", "--out", "b.csv"]).0, 0);
    assert!(bench.read("a.csv") == bench.read("b.csv"));
    assert!(!bench.path("a.csv.partial").exists());
}

#[test]
fn the_front_of_two_objectives_goes_from_one_end_to_the_other() {
    // A high pressure at the end, a low one at most: one against the other.
    let front = TUNING.replace("differential_evolution", "nsga2").replace(
        "settling_time(pump.outlet.pressure)\"\nscale = \"10 ms\"",
        "final(pump.outlet.pressure)\"\ngoal = \"most\"",
    );
    assert!(front.contains("most"));
    let bench = bench(&front);
    let arguments = ["optimise", "study.toml", "--report", "front.html"];
    let (code, said) = bench.json(&arguments);
    assert_eq!(code, 0, "{said}");
    let front = said["front"].as_array().unwrap();
    assert!(front.len() > 5, "{said}");
    // Along the front one objective falls while the other rises.
    let objectives =
        |one: &serde_json::Value| [0, 1].map(|i| one["objectives"][i].as_f64().unwrap());
    for pair in front.windows(2) {
        let ([a, b], [c, d]) = (objectives(&pair[0]), objectives(&pair[1]));
        assert!((a < c && b > d) || (a == c && b == d), "{a} {b}, {c} {d}");
    }
    assert!(bench.read("front.html").contains("Best compromises"));
}

#[test]
fn mistakes_in_a_study_are_told_where_they_are() {
    let bench = bench(TUNING);
    for (from, to, parts) in [
        (
            "\"orifice.area\"",
            "\"orifice.aera\"",
            &["study.toml:7:", "aera", "did you mean `area`"][..],
        ),
        ("pump.toml", "pmup.toml", &["study.toml:2:", "pmup.toml"]),
        ("\"4 mm^2\"", "\"4 bar\"", &["study.toml:9:", "`to` is an area"]),
        ("settling_time(pump", "settling(pump", &["study.toml:", "settling_time"]),
        ("pump.outlet.pressure) >=", "pump.outlet.presure) >=", &["study.toml:", "no variable"]),
        ("\"10 ms\"", "\"10 mm\"", &["its scale 10 mm is a length"]),
        ("scale = \"10 ms\"", "", &["objectives are added up", "nsga2"]),
        ("population = 20", "populaton = 20", &["did you mean `population`"]),
        ("[[variable]]", "[[variables]]", &["did you mean `variable`"]),
    ] {
        let text = TUNING.replacen(from, to, 2);
        assert_ne!(text, TUNING);
        std::fs::write(bench.path("study.toml"), text).unwrap();
        let said = bench.fluxline(&["optimise", "study.toml", "--out", "log.csv"]);
        assert!(matches!(said.code, 2 | 3), "{from}: {} {}", said.code, said.err);
        for part in parts {
            assert!(said.err.contains(part), "{from} → {to}: {part}\n{}", said.err);
        }
    }
    assert_eq!(bench.files(), ["pump.toml", "study.toml"]);
}

const FITTING: &str = r#"
circuit = "pump.toml"
data = "measured.csv"

[fit]
to = "0.18 s"

[[signal]]
column = "pressure"
variable = "pump.outlet.pressure"
shift = "5 ms"                   # the data are late

[[variable]]
name = "orifice.area"
from = "3 mm^2"
to = "12 mm^2"

[[variable]]
name = "volume.volume"
from = "0.1 l"
to = "5 l"
scale = "log"
"#;

/// Data of the circuit itself, in other units, late and at other times: the parameters come back. Where
/// only the product of two is seen, both are named.
#[test]
fn parameters_come_back_from_data_and_those_that_cannot_are_named() {
    let bench = bench(FITTING);
    let arguments = [
        "run",
        "pump.toml",
        "--set",
        "orifice.area=7.3 mm^2",
        "--set",
        "volume.volume=0.8 l",
        "--record",
        "pump.outlet.pressure",
        "--every",
        "13",
        "--csv",
        "run.csv",
    ];
    assert_eq!(bench.fluxline(&arguments).code, 0);
    let mut data = "time [ms],pressure [bar]\n".to_owned();
    for line in bench.read("run.csv").lines().skip(1) {
        let (time, pressure) = line.split_once(',').unwrap();
        let (time, pressure): (f64, f64) = (time.parse().unwrap(), pressure.parse().unwrap());
        data.push_str(&format!("{:?},{:?}\n", time * 1e3 + 5.0, pressure / 1e5));
    }
    std::fs::write(bench.path("measured.csv"), data).unwrap();
    let arguments = ["identify", "study.toml", "--report", "fit.html", "--out", "log.csv"];
    let (code, said) = bench.json(&arguments);
    assert_eq!(code, 0, "{said}");
    for (i, exact) in [7.3e-6, 0.8e-3].into_iter().enumerate() {
        let parameter = &said["parameters"][i];
        let value = parameter["value"].as_f64().unwrap();
        assert!((value / exact - 1.0).abs() < 1e-5, "{parameter}");
        assert_eq!(parameter["determined"], true, "{parameter}");
    }
    assert!(said["signals"][0]["validated"]["samples"].as_u64().unwrap() > 5, "{said}");
    let rms = said["signals"][0]["fitted"]["rms"].as_f64().unwrap();
    let step_error = said["signals"][0]["step_error"].as_f64().unwrap();
    assert!(rms < 100.0 && step_error > rms, "{rms} {step_error}");
    // With exact derivatives, which one run carries for up to eight parameters, fewer runs come to the
    // same values as with differences.
    let differing = FITTING.replace("[fit]\n", "[fit]\nderivatives = \"differences\"\n");
    std::fs::write(bench.path("differing.toml"), differing).unwrap();
    let (code, other) = bench.json(&["identify", "differing.toml"]);
    assert_eq!(code, 0, "{other}");
    let runs = |said: &serde_json::Value| {
        said["runs"].as_u64().unwrap() + said["derivatives"]["exact_runs"].as_u64().unwrap()
    };
    assert!(said["derivatives"]["exact_runs"].as_u64().unwrap() > 0, "{said}");
    assert_eq!(other["derivatives"]["exact_runs"], 0);
    assert!(runs(&said) < runs(&other), "{} {}", runs(&said), runs(&other));
    let report = bench.read("fit.html");
    assert!(report.contains("exact, through"), "how derivatives were taken is told");
    assert!(report.contains("Sensitivity of the objective") && report.contains("measured"));

    let product = FITTING.replace(
        "[[variable]]\nname = \"volume.volume\"\nfrom = \"0.1 l\"\nto = \"5 l\"\nscale = \"log\"\n",
        "[[variable]]\nname = \"orifice.discharge\"\nfrom = 0.5\nto = 0.9\n",
    );
    std::fs::write(bench.path("product.toml"), product).unwrap();
    let arguments = ["identify", "product.toml", "--set", "volume.volume=0.8 l"];
    let said = bench.fluxline(&arguments);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("NOT determined; goes with orifice.discharge (-1)"), "{}", said.out);
}

#[test]
fn mistakes_in_data_are_told() {
    let bench = bench(FITTING);
    for (data, parts) in [
        ("time,presure [bar]\n0,1\n1,2\n", &["F1406", "no column `pressure`", "`presure`"][..]),
        ("time,pressure [mm]\n0,1\n1,2\n", &["F1406", "is a length", "pump.outlet.pressure"]),
        ("time,pressure\n5,1\n6,2\n", &["F1406", "no sample of `pressure`"]),
        ("time,pressure\n0,1\n0,2\n", &["F1406", "do not rise"]),
    ] {
        std::fs::write(bench.path("measured.csv"), data).unwrap();
        let said = bench.fluxline(&["identify", "study.toml", "--set", "run.stop=0.2 s"]);
        assert_eq!(said.code, 2, "{data}: {}", said.err);
        for part in parts {
            assert!(said.err.contains(part), "{data}: {part}\n{}", said.err);
        }
    }
    let said = bench.fluxline(&["identify", "study.toml", "--data", "nowhere.csv"]);
    assert_eq!(said.code, 3, "{}", said.err);
}

/// Measured data of a hydraulic crane actuator, free run on the half that is not fitted. Linear models
/// stay near 0.95; the bar for a good model is 0.47.
#[test]
fn the_measured_actuator_is_predicted_better_than_by_linear_models() {
    let beside = "../../../shared/data/actuator/actuator.csv";
    let shared = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(beside);
    if !shared.exists() {
        eprintln!("skipped: {} is not there", shared.display());
        return;
    }
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/studies");
    let bench = Bench::new();
    for name in ["actuator.toml", "actuator_model.toml"] {
        std::fs::copy(examples.join(name), bench.path(name)).unwrap();
    }
    let data = shared.to_str().unwrap();
    let (code, said) = bench.json(&["identify", "actuator.toml", "--data", data]);
    assert_eq!(code, 0, "{said}");
    let validated = &said["signals"][0]["validated"];
    assert!(validated["samples"] == 512, "{said}");
    assert!(validated["rms"].as_f64().unwrap() <= 0.47, "{said}");
}
