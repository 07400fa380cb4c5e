//! `fluxline run --solver`.

use super::bench::Bench;

const SERVO: &str = include_str!("../../../../examples/position_servo.toml");

/// Where the load ends, m.
fn position(verdict: &serde_json::Value) -> f64 {
    let variables = verdict["variables"].as_array().unwrap();
    variables.iter().find(|v| v["name"] == "load.x").unwrap()["end"].as_f64().unwrap()
}

#[test]
fn every_solver_moves_the_servo_to_the_same_place() {
    let bench = Bench::new();
    bench.write("servo.toml", SERVO);
    let place = |solver: &str| {
        let (code, value) = bench.json(&["run", "servo.toml", "--solver", solver, "--stop", "1 s"]);
        assert_eq!(code, 0, "{solver}: {value}");
        position(&value)
    };
    let waves = place("tlm");
    for solver in ["sdirk2", "rosenbrock", "bdf", "auto"] {
        let x = place(solver);
        // Of a way of 150 mm, within the error of the wave method at this step.
        assert!((x - waves).abs() < 2e-5, "{solver}: {x}, waves {waves}");
    }
}

#[test]
fn a_verdict_tells_what_the_solver_did() {
    let bench = Bench::new();
    bench.write("servo.toml", SERVO);
    let (code, value) = bench.json(&["run", "servo.toml", "--solver", "sdirk2", "--stop", "0.1 s"]);
    assert_eq!(code, 0, "{value}");
    let solver = &value["solver"];
    assert_eq!(solver["method"], "sdirk2");
    assert!(solver["evaluations"].as_u64().unwrap() >= 2000, "{solver}");
    assert!(solver["oil_in_m3"].as_f64().unwrap() > 0.0, "{solver}");
    assert!(value["oil_balance"].is_null());
    let said = bench.fluxline(&["run", "servo.toml", "--solver", "auto", "--stop", "0.1 s"]);
    assert!(said.out.contains("solver            tlm: "), "{}", said.out);
}

#[test]
fn a_saved_state_goes_on_with_another_solver() {
    let bench = Bench::new();
    bench.write("servo.toml", SERVO);
    let first = ["run", "servo.toml", "--solver", "sdirk2", "--stop", "0.4 s"];
    let said = bench.fluxline(&[&first[..], &["--save-state", "half", "--quiet"]].concat());
    assert_eq!(said.code, 0, "{}", said.err);
    let (_, whole) = bench.json(&["run", "servo.toml", "--solver", "sdirk2", "--stop", "1 s"]);
    let rest = ["run", "servo.toml", "--stop", "1 s", "--from-state", "half", "--json"];
    for solver in ["modified-heun", "rosenbrock"] {
        let step = ["--solver", solver, "--step", "0.1 ms"];
        let said = bench.fluxline(&[&rest[..], &step[..]].concat());
        assert_eq!(said.code, 0, "{}", said.err);
        let value: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        let x = position(&value);
        assert!((x - position(&whole)).abs() < 1e-6, "{solver}: {x}");
    }
}
