//! `fluxline stiffness`, against closed forms and published limits.

use crate::bench::{Bench, PUMP, SWING};
use serde_json::Value;
use std::path::PathBuf;

fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    path.display().to_string()
}

fn limit<'v>(value: &'v Value, solver: &str) -> &'v Value {
    let limits = value["limits"].as_array().unwrap();
    limits.iter().find(|limit| limit["solver"] == solver).unwrap()
}

fn is_near(value: &Value, expected: f64, tolerance: f64) {
    let value = value.as_f64().unwrap();
    assert!((value / expected - 1.0).abs() <= tolerance, "{value} for {expected}");
}

/// The pump delivers q₀ into V; the orifice q = K·√Δp takes q₀ at rest. There its slope is K²/(2·q₀),
/// so that λ = −β/V·K²/(2·q₀), with K = C_q·A·√(2/ρ), C_q = 0.67, β = 1.6 GPa, ρ = 870 kg/m³. Rest is
/// known to 1e-6 of the flow per second, and the time constant is 20 ms: seven digits.
#[test]
fn a_volume_with_an_orifice_has_the_time_constant_of_its_slope() {
    let bench = Bench::with("pump.toml", PUMP);
    let (code, value) = bench.json(&["stiffness", "pump.toml", "--steady"]);
    assert_eq!((code, &value["point"]), (0, &"at rest".into()));
    let (bulk, density, volume, area, flow) = (1.6e9, 870.0_f64, 1e-3, 5e-6, 1e-4);
    let conductance = 0.67 * area * (2.0 / density).sqrt();
    let rate = bulk / volume * conductance * conductance / (2.0 * flow);
    let modes = value["modes"].as_array().unwrap();
    let moving: Vec<&Value> = modes.iter().filter(|mode| mode["kind"] == "decaying").collect();
    assert_eq!(moving.len(), 1, "{modes:?}");
    is_near(&moving[0]["real"], -rate, 1e-6);
    is_near(&moving[0]["time_constant"], 1.0 / rate, 1e-6);
    assert_eq!(moving[0]["states"][0]["state"], "volume.pressure");
    // z = −2 and the root of z³ + 4z² + 12z + 24 (Hairer and Wanner II, section IV.2).
    is_near(&limit(&value, "euler")["stable_step"], 2.0 / rate, 1e-6);
    is_near(&limit(&value, "rk4")["stable_step"], 2.785_293_563_405_282 / rate, 1e-6);
    assert!(limit(&value, "modified-heun")["stable_step"].is_null(), "there is no limit");
    assert_eq!(limit(&value, "rk4")["step_is_stable"], true);
    // Three times the flow, a third of the slope.
    let (code, value) =
        bench.json(&["stiffness", "pump.toml", "--at", "0.2 s", "--set", "run.stop=10 s"]);
    assert_eq!(code, 0);
    is_near(&value["time"], 0.2, 1e-12);
    let (_, late) = bench.json(&["stiffness", "pump.toml", "--at", "3 s"]);
    let modes = late["modes"].as_array().unwrap();
    let moving = modes.iter().find(|mode| mode["kind"] == "decaying").unwrap();
    is_near(&moving["real"], -rate / 3.0, 1e-6);
}

/// Two masses on a spring swing against each other with ω² = k/m₁ + k/m₂; RK4 reaches 2√2 on the
/// imaginary axis, Euler and Heun nothing. m₁ is the default of 100 kg.
#[test]
fn two_masses_on_a_spring_have_their_frequency_and_no_damping() {
    let bench = Bench::with("swing.toml", SWING);
    let (code, value) = bench.json(&["stiffness", "swing.toml"]);
    assert_eq!(code, 0);
    let omega = (1e4_f64 / 100.0 + 1e4 / 1000.0).sqrt();
    let mode = &value["modes"][0];
    assert_eq!((&mode["kind"], &mode["damping_ratio"]), (&"undamped".into(), &0.0.into()));
    is_near(&mode["natural_frequency_hz"], omega / std::f64::consts::TAU, 1e-12);
    is_near(&limit(&value, "rk4")["stable_step"], 8.0_f64.sqrt() / omega, 1e-12);
    let said = bench.fluxline(&["stiffness", "swing.toml"]);
    assert!(said.out.contains("euler and heun let undamped oscillations grow"), "{}", said.out);
    // With a damper beside the spring, 2·ζ·ω = c·(1/m₁ + 1/m₂).
    let damped = SWING.replace(
        "translational.spring\"",
        "translational.spring_damper\"\ndamping = \"200 N*s/m\"",
    );
    bench.write("damped.toml", &damped);
    let (code, value) = bench.json(&["stiffness", "damped.toml"]);
    assert_eq!(code, 0, "{value}");
    let mode = &value["modes"][0];
    is_near(&mode["natural_frequency_hz"], omega / std::f64::consts::TAU, 1e-9);
    is_near(&mode["damping_ratio"], 200.0 * (1.0 / 100.0 + 1.0 / 1000.0) / (2.0 * omega), 1e-9);
}

/// Åman (thesis, Lappeenranta University of Technology, 2011), Table 3.1, at rest with the two-regime
/// orifice: 2.352, 2.168 and 1.717 ms, within 1 %.
#[test]
fn rk4_on_the_cylinder_drive_at_rest_is_stable_to_the_published_circuits_limits() {
    let bench = Bench::new();
    let file = example("lumped/cylinder_drive.toml");
    for (diameter, expected) in [("1 mm", 2.352e-3), ("2 mm", 2.168e-3), ("3 mm", 1.717e-3)] {
        let set = format!("second.diameter={diameter}");
        let arguments =
            ["stiffness", &file, "--steady", "--set", &set, "--set", "run.rest_limit=600 s"];
        let (code, value) = bench.json(&arguments);
        assert_eq!(code, 0, "{value}");
        is_near(&limit(&value, "rk4")["stable_step"], expected, 0.01);
        assert_eq!(limit(&value, "rk4")["set_by"], "volume1.pressure");
    }
}

/// A volume of a hundredth between two orifices: without it RK4 steps far further, and with both
/// slopes in series the limit follows from what is left.
#[test]
fn a_small_volume_is_found_and_its_price_told() {
    let bench = Bench::new();
    let file = example("lumped/circuit1.toml");
    let (code, value) = bench.json(&["stiffness", &file, "--at", "0.1 s"]);
    assert_eq!(code, 0);
    let volumes = value["volumes"].as_array().unwrap();
    assert_eq!(volumes.len(), 2);
    assert_eq!(
        (&volumes[0]["name"], &volumes[0]["is_small"]),
        (&"small.pressure".into(), &true.into())
    );
    assert_eq!(volumes[1]["is_small"], false);
    // dq/dp = q/(2Δp) of each orifice at the pressures of that time.
    let pressure = |i: usize| value["states"][i]["value"].as_f64().unwrap();
    let (supply, small, large) = (14e6, pressure(0), pressure(1));
    let slope = |k: f64, drop: f64| k / (2.0 * drop.sqrt());
    let (g1, g2, g3) =
        (slope(5.62e-7, supply - small), slope(5.73e-7, small - large), slope(5.62e-7, large));
    let bulk = 1.5e9;
    is_near(&volumes[0]["time_constant"], 1e-5 / (bulk * (g1 + g2)), 1e-9);
    let left = bulk / 1e-3 * (g3 + g1 * g2 / (g1 + g2));
    is_near(&volumes[0]["rk4_stable_step_without"], 2.785_293_563_405_282 / left, 1e-9);
    // Too small for the step: the advice says what to do.
    let set = ["--set", "small.volume=1e-7 m^3"];
    let said = bench.fluxline(&["stiffness", &file, "--at", "0.1 s", set[0], set[1]]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("--small-volumes algebraic"), "{}", said.out);
    assert!(said.out.contains("times too long"), "{}", said.out);
}

#[test]
fn over_a_run_the_limit_follows_the_operating_point() {
    let bench = Bench::with("pump.toml", PUMP);
    let arguments = ["stiffness", "pump.toml", "--over", "5", "--plot", "over.svg"];
    let (code, value) = bench.json(&arguments);
    assert_eq!(code, 0);
    let points = value["points"].as_array().unwrap();
    let times: Vec<f64> = points.iter().map(|point| point["time"].as_f64().unwrap()).collect();
    for (time, expected) in times.iter().zip([0.0, 0.05, 0.1, 0.15, 0.2]) {
        assert!((time - expected).abs() < 1e-9, "{times:?}");
    }
    // More flow, more pressure drop, a flatter characteristic: slower.
    let limit = |i: usize| points[i]["stable_steps"]["rk4"].as_f64().unwrap();
    assert!(limit(4) > 1.5 * limit(2), "{points:?}");
    assert!(bench.read("over.svg").contains("condition number"));
    // The same state as when it is looked at alone.
    let (_, alone) = bench.json(&["stiffness", "pump.toml", "--at", "0.15 s"]);
    let rk4 = alone["limits"].as_array().unwrap().iter().find(|l| l["solver"] == "rk4").unwrap();
    is_near(&rk4["stable_step"], limit(3), 1e-12);
}

#[test]
fn lines_with_delay_are_said_to_be_no_part_of_the_modes() {
    let bench = Bench::new();
    let file = example("water_hammer.toml");
    let said = bench.fluxline(&["stiffness", &file, "--plot", "modes.png"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("not part of it    lines with delay"), "{}", said.out);
    assert!(said.out.contains("--solver tlm"), "{}", said.out);
    assert!(bench.exists("modes.png"));
}

#[test]
fn what_cannot_be_looked_at_is_refused_with_a_reason() {
    let bench = Bench::with("pump.toml", PUMP);
    for (arguments, code, part) in [
        (vec!["--at", "soon"], 2, "is not a number"),
        (vec!["--at", "3 bar"], 2, "is a time"),
        (vec!["--at=-1 s"], 2, "before the start"),
        (vec!["--plot", "modes.gif"], 2, "neither an SVG nor a PNG"),
        (vec!["--over", "5", "--set", "run.step_control=variable"], 2, "variable step"),
        (vec!["--over", "1"], 2, "invalid value"),
        (vec!["--at", "1 s", "--steady"], 2, "cannot be used with"),
    ] {
        let all: Vec<&str> = ["stiffness", "pump.toml"].into_iter().chain(arguments).collect();
        let said = bench.fluxline(&all);
        assert_eq!(said.code, code, "{all:?}: {}{}", said.out, said.err);
        assert!(said.err.contains(part), "{all:?}: {}", said.err);
    }
}

/// K/(2√Δp) has no value at Δp = 0; a tenth of a pascal beside it there is one.
#[test]
fn a_square_root_at_zero_pressure_drop_is_not_taken_for_a_slow_circuit() {
    let circuit = PUMP
        .replace(
            "hydraulic.turbulent_orifice\"\narea = \"5 mm^2\"",
            "hydraulic.orifice\"\nlaw = \"turbulent\"\ndiameter = \"2 mm\"",
        )
        .replace("base = 1e-4", "base = 0");
    let bench = Bench::with("root.toml", &circuit);
    let said = bench.fluxline(&["stiffness", "root.toml"]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("right next to it the fastest 1/|λ| is"), "{}", said.out);
    assert!(said.out.contains("--solver rosenbrock"), "{}", said.out);
    let (_, value) = bench.json(&["stiffness", "root.toml", "--at", "0.2 s"]);
    assert!(value["fastest_time_constant_beside"].is_null(), "{value}");
}
