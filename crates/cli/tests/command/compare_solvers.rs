//! `fluxline compare-solvers`, against closed forms and orders of convergence.

use crate::bench::{Bench, PUMP, RUNAWAY};
use serde_json::Value;
use std::path::PathBuf;

fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    path.display().to_string()
}

fn runs<'v>(value: &'v Value, solver: &str) -> Vec<&'v Value> {
    let all = value["runs"].as_array().unwrap();
    all.iter().filter(|run| run["solver"] == solver).collect()
}

fn error(run: &Value) -> f64 {
    run["relative_rmse"].as_f64().unwrap_or_else(|| panic!("{run}"))
}

/// A flow into a volume with a laminar leak, for which p(t) is an exponential: the reference is that
/// to its tolerance, and each solver approaches it with its order.
#[test]
fn errors_shrink_with_the_order_of_each_solver_and_the_reference_is_the_closed_form() {
    let circuit = r#"
[run]
stop = "0.2 s"
step = "1 ms"

[components.pump]
type = "hydraulic.flow_source"
flow = "6 l/min"

[components.volume]
type = "hydraulic.volume"
volume = "1 l"

[components.leak]
type = "hydraulic.laminar_orifice"
conductance = "1e-11 m^3/(s*Pa)"

[components.tank]
type = "hydraulic.tank"

[[connect]]
ends = ["pump.outlet", "volume.port"]
[[connect]]
ends = ["volume.port", "leak.inlet"]
[[connect]]
ends = ["leak.outlet", "tank.port"]
"#;
    let bench = Bench::with("leak.toml", circuit);
    let (code, value) = bench.json(&[
        "compare-solvers",
        "leak.toml",
        "--variables",
        "volume.pressure",
        "--solvers",
        "euler,heun,rk4,sdirk2,tlm,rosenbrock",
        "--steps",
        "8 ms,4 ms,2 ms",
    ]);
    assert_eq!(code, 0, "{value}");
    // τ = V/(β·G) = 62.5 ms, p_end − p_start = q/G = 100 bar; 3.2 time constants.
    let range = 1e-4 / 1e-11 * (1.0 - (-0.2_f64 * 1.6e9 * 1e-11 / 1e-3).exp());
    let scale = value["variables"][0]["scale"].as_f64().unwrap();
    assert!((scale / range - 1.0).abs() < 1e-8, "{scale} for {range}");
    let known = value["variables"][0]["known_to"].as_f64().unwrap();
    assert!(known < 1.0, "two solvers agree to {known} Pa");
    // Richardson: the ratio of errors of two steps is 2 to the order, to terms of h/τ = 0.03.
    for (solver, order) in [("euler", 1.0), ("heun", 2.0), ("rk4", 4.0), ("sdirk2", 2.0)] {
        let errors: Vec<f64> = runs(&value, solver).into_iter().map(error).collect();
        assert_eq!(errors.len(), 3);
        let measured = (errors[1] / errors[2]).log2();
        assert!((measured - order).abs() < 0.1, "{solver}: order {measured} of {errors:?}");
    }
    let waves: Vec<f64> = runs(&value, "tlm").into_iter().map(error).collect();
    assert!(waves[2] < 0.6 * waves[0], "{waves:?}");
    let adaptive: Vec<f64> = runs(&value, "rosenbrock").into_iter().map(error).collect();
    assert!(adaptive.windows(2).all(|pair| pair[1] < pair[0]), "{adaptive:?}");
    // A step of RK4 takes four evaluations, one of Euler one; a few more at the start and for samples.
    for (solver, each) in [("euler", 1), ("rk4", 4)] {
        let run = runs(&value, solver)[2];
        let (steps, evaluations) =
            (run["steps"].as_u64().unwrap(), run["evaluations"].as_u64().unwrap());
        assert_eq!(steps, 100);
        assert!((each * steps..each * steps + 10).contains(&evaluations), "{run}");
    }
    let least =
        value["runs"].as_array().unwrap().iter().map(|run| run["speed_up"].as_f64().unwrap());
    assert_eq!(least.fold(f64::INFINITY, f64::min), 1.0, "the slowest is the baseline");
}

#[test]
fn files_hold_every_run_and_variable() {
    let bench = Bench::with("pump.toml", PUMP);
    let said = bench.fluxline(&[
        "compare-solvers",
        "pump.toml",
        "--variables",
        "volume.pressure",
        "orifice.inlet.flow",
        "--solvers",
        "tlm,rk4,rosenbrock",
        "--steps",
        "1 ms,0.1 ms",
        "--tolerances",
        "1e-4",
        "--baseline",
        "rk4@0.1 ms",
        "--csv",
        "work.csv",
        "--plot",
        "work.svg",
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("speed-up over     rk4 at 0.1 ms"), "{}", said.out);
    assert!(said.out.contains("volume.pressure [bar]"), "{}", said.out);
    let table = bench.read("work.csv");
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 1 + 5 * 2, "{table}");
    let width = rows[0].split(',').count();
    assert!(rows.iter().all(|row| row.split(',').count() == width), "{table}");
    let svg = bench.read("work.svg");
    assert!(svg.contains("rosenbrock") && svg.contains("the reference is known to"));
}

/// The small volume of circuit 1 a hundred times smaller: RK4 at 0.1 ms is lost, and with the volume
/// solved in balance it is not.
#[test]
fn small_volumes_are_compared_in_the_same_table_and_a_failure_is_a_row() {
    let bench = Bench::new();
    let file = example("lumped/circuit1.toml");
    let (code, value) = bench.json(&[
        "compare-solvers",
        &file,
        "--stop",
        "0.1 s",
        "--set",
        "small.volume=1e-7 m^3",
        "--solvers",
        "rk4,sdirk2",
        "--steps",
        "0.1 ms",
        "--small-volumes",
        "integrate,algebraic",
        "--variables",
        "large.pressure",
    ]);
    assert_eq!(code, 0, "{value}");
    let rk4 = runs(&value, "rk4");
    assert_eq!(rk4.len(), 2);
    let is_lost = !rk4[0]["failure"].is_null() || error(rk4[0]) > 0.1;
    assert!(is_lost, "{}", rk4[0]);
    assert_eq!(rk4[1]["small_volumes"], "algebraic");
    assert!(error(rk4[1]) < 1e-3, "{}", rk4[1]);
    assert_eq!(rk4[1]["replaced_volumes"][0], "small.pressure");
    assert!(error(runs(&value, "sdirk2")[0]) < 1e-2);
    // The volume as it is settles in 25 µs: not small against a step of 10 µs, which is told.
    let said = bench.fluxline(&[
        "compare-solvers",
        &file,
        "--stop",
        "0.02 s",
        "--solvers",
        "rk4",
        "--steps",
        "10 us",
        "--small-volumes",
        "algebraic",
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        said.out.contains("no volume was replaced by rk4 + algebraic at 10 µs"),
        "{}",
        said.out
    );
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_reason() {
    let bench = Bench::with("pump.toml", PUMP);
    for (arguments, part) in [
        (vec!["--solvers", "rk5"], "`rk5` is no solver"),
        (vec!["--steps", "3"], "is a time"),
        (vec!["--steps", "-1 ms"], "unexpected argument"),
        (vec!["--steps", "0 ms"], "above zero"),
        (vec!["--tolerances", "2"], "no tolerance"),
        (vec!["--small-volumes", "none"], "no treatment of small volumes"),
        (vec!["--reference", "rk4"], "has no step"),
        (vec!["--variables", "volume.presure"], "no variable `volume.presure` to compare"),
        (vec!["--steps", "0.1 ms, 0.314159265 ms"], "no common multiple"),
        (vec!["--steps", "100 ms"], "common samples"),
        (vec!["--plot", "work.gif"], "neither an SVG nor a PNG"),
    ] {
        let all: Vec<&str> =
            ["compare-solvers", "pump.toml"].into_iter().chain(arguments).collect();
        let said = bench.fluxline(&all);
        assert_eq!(said.code, 2, "{all:?}: {}{}", said.out, said.err);
        assert!(said.err.contains(part), "{all:?}: {}", said.err);
    }
    // Nothing gets through: there is no truth to compare with.
    let bench = Bench::with("runaway.toml", RUNAWAY);
    let said = bench.fluxline(&["compare-solvers", "runaway.toml", "--patience", "2 s"]);
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.err.contains("there is no reference"), "{}", said.err);
}
