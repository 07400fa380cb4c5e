//! Orders of convergence, balances and repeatability of whole circuits.
//!
//! Self-convergence: with results u at steps T, T/2 and T/4, compared at common times, the order is
//! log₂(|u_T − u_T/2| / |u_T/2 − u_T/4|). Documented orders: docs/src/theory.md. Measured ones may
//! differ by 0.15, since at these steps the next term of the error still shows.

mod trial;

use trial::{Trial, deviation, range, run, run_at, text};

fn connections(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(a, b)| format!("[[connect]]\nfrom = \"{a}\"\nto = \"{b}\"\n")).collect()
}

/// Pressure that swings, three orifices, two volumes.
fn network() -> String {
    let mut text = String::from(
        r#"
[run]
stop = "0.2 s"
begin = "rest"
rest_tolerance = "1e-9 1/s"
filter = "none"
[components.wave]
type = "signal.sine"
amplitude = "20 bar"
offset = "100 bar"
frequency = "10 Hz"
[components.source]
type = "hydraulic.pressure_source"
[components.first]
type = "hydraulic.orifice"
diameter = "2 mm"
[components.second]
type = "hydraulic.orifice"
diameter = "2 mm"
[components.third]
type = "hydraulic.orifice"
diameter = "2 mm"
[components.left]
type = "hydraulic.volume"
volume = "1 l"
[components.right]
type = "hydraulic.volume"
volume = "0.5 l"
[components.tank]
type = "hydraulic.tank"
"#,
    );
    text += &connections(&[
        ("wave.out", "source.pressure"),
        ("source.port", "first.inlet"),
        ("first.outlet", "left.port"),
        ("left.port", "second.inlet"),
        ("second.outlet", "right.port"),
        ("right.port", "third.inlet"),
        ("third.outlet", "tank.port"),
    ]);
    text
}

/// Pump with a setting that swings so little that nothing cavitates, volume, motor, shaft, inertia.
fn drive() -> String {
    let mut text = String::from(
        r#"
[run]
stop = "0.5 s"
begin = "rest"
rest_tolerance = "1e-8 1/s"
rest_limit = "300 s"
filter = "none"
start_pressure = "20 bar"
[components.wave]
type = "signal.sine"
amplitude = 0.01
offset = 0.6
frequency = "4 Hz"
[components.pump]
type = "hydraulic.variable_pump"
displacement = "20 cm^3/rev"
volumetric_efficiency = 0.93
[components.motor]
type = "hydraulic.fixed_motor"
displacement = "20 cm^3/rev"
volumetric_efficiency = 0.93
viscous_friction = "0.02 N*m*s/rad"
start_speed = "80 rad/s"
[components.wheel]
type = "rotational.inertia"
inertia = "0.2 kg*m^2"
damping = "0.2 N*m*s/rad"
start_speed = "80 rad/s"
[components.tank]
type = "hydraulic.tank"
[[connect]]
from = "pump.outlet"
to = "motor.a"
line = { name = "hose", volume = "0.5 l" }
[[connect]]
from = "motor.shaft"
to = "wheel.a"
line = { stiffness = "2e3 N*m/rad" }
"#,
    );
    text += &connections(&[
        ("wave.out", "pump.setting"),
        ("tank.port", "pump.inlet"),
        ("motor.b", "tank.port"),
    ]);
    text
}

/// Three masses in a row, let go from a stretched position; damping as given.
fn chain(damping: &str) -> String {
    let mut text = format!(
        r#"
[run]
stop = "1 s"
[components.one]
type = "translational.mass"
mass = "10 kg"
start_position = "10 mm"
[components.two]
type = "translational.mass"
mass = "20 kg"
[components.three]
type = "translational.mass"
mass = "5 kg"
[components.first]
type = "translational.spring_damper"
stiffness = "1e4 N/m"
damping = "{damping}"
[components.second]
type = "translational.spring_damper"
stiffness = "2e4 N/m"
damping = "{damping}"
[components.last]
type = "translational.spring"
stiffness = "1e4 N/m"
[components.wall]
type = "translational.fixed"
"#
    );
    text += &connections(&[
        ("one.b", "first.a"),
        ("first.b", "two.a"),
        ("two.b", "second.a"),
        ("second.b", "three.a"),
        ("three.b", "last.a"),
        ("last.b", "wall.port"),
    ]);
    text
}

fn filters() -> String {
    let mut text = String::from(
        r#"
[run]
stop = "1 s"
[components.wave]
type = "signal.sine"
frequency = "3 Hz"
[components.low]
type = "signal.first_order"
time_constant = "50 ms"
[components.swing]
type = "signal.second_order"
natural_frequency = "40 rad/s"
damping = 0.3
"#,
    );
    text += &connections(&[("wave.out", "low.input"), ("low.out", "swing.input")]);
    text
}

/// A line of (40 + 1/3)·1 ms: the fraction is ⅓ or ⅔ at 1, ½ and ¼ ms, so f·(1 − f) stays the same.
fn long_line() -> String {
    let length = (40.0 + 1.0 / 3.0) * 1e-3 * (1.6e9f64 / 870.0).sqrt();
    let mut text = format!(
        r#"
[run]
stop = "0.4 s"
begin = "rest"
rest_tolerance = "1e-9 1/s"
start_pressure = "50 bar"
[components.wave]
type = "signal.sine"
amplitude = "5 bar"
offset = "50 bar"
frequency = "10 Hz"
phase = "-90 deg"
[components.source]
type = "hydraulic.pressure_source"
[components.orifice]
type = "hydraulic.orifice"
diameter = "4 mm"
[components.tank]
type = "hydraulic.tank"
[[connect]]
from = "source.port"
to = "orifice.inlet"
line = {{ name = "line", length = "{length:?} m", bore = "20 mm" }}
"#
    );
    text += &connections(&[("wave.out", "source.pressure"), ("orifice.outlet", "tank.port")]);
    text
}

struct Orders {
    runs: [Trial; 3],
}

impl Orders {
    fn of(circuit: &str, settings: &[(&str, &str)], step: f64, at: f64, record: &[&str]) -> Self {
        let run = |part: f64| run_at(circuit, settings, step * part, at, record);
        let runs = [run(1.0), run(0.5), run(0.25)];
        // an order is that of a smooth solution
        assert!(runs.iter().all(|run| run.verdict.cavitation.is_empty()));
        Self { runs }
    }

    fn assert(&self, what: &str, variable: &str, order: f64) {
        let [a, b, c] = [0, 1, 2].map(|i| self.runs[i].column(variable));
        let (first, second) = (deviation(a, b) / range(c), deviation(b, c) / range(c));
        let measured = (first / second).log2();
        println!("{what} {variable}: {first:.1e}, {second:.1e}, order {measured:.2} ({order})");
        assert!(
            (measured - order).abs() < 0.15,
            "{what} {variable}: order {measured}, not {order}"
        );
    }

    fn assert_oil_kept(&self, what: &str) {
        for run in &self.runs {
            let error = run.verdict.relative_oil_error();
            assert!(error <= 1e-12, "{what}: {error:e}");
        }
    }

    /// The balance of energy closes with the step: work is summed as power times step, a rule of
    /// first order.
    fn assert_energy_closes(&self, what: &str) {
        let errors = [0, 1, 2].map(|i| self.runs[i].verdict.relative_energy_error());
        let order = (errors[0] / errors[2]).log2() / 2.0;
        println!("{what} energy: {errors:?}, order {order:.2} (1)");
        assert!((order - 1.0).abs() < 0.15, "{what}: {errors:?}");
    }
}

#[test]
fn orifices_and_volumes_converge_with_the_square_of_the_step() {
    let all = ["left.port1.pressure", "second.inlet.pressure", "third.inlet.flow"];
    let found = Orders::of(&network(), &[], 1e-3, 2e-3, &all);
    found.assert_energy_closes("network");
    for variable in all {
        found.assert("network", variable, 2.0);
    }
    found.assert_oil_kept("network");
}

/// The state of a volume is its mean wave, the pressure half a step before that at its ports.
#[test]
fn pressure_state_of_a_volume_is_half_a_step_behind_its_ports() {
    let found = Orders::of(&network(), &[], 1e-3, 2e-3, &["left.pressure", "left.port*.pressure"]);
    found.assert("state", "left.pressure", 1.0);
    // lag in steps: least squares of the difference on the slope, over the finest run
    let run = run_at(&network(), &[], 2.5e-4, 2.5e-4, &["left.pressure", "left.port*.pressure"]);
    let (state, one, two) = (
        run.column("left.pressure"),
        run.column("left.port1.pressure"),
        run.column("left.port2.pressure"),
    );
    let (mut above, mut below) = (0.0, 0.0);
    for i in 1..state.len() - 1 {
        let mean = |i: usize| 0.5 * (one[i] + two[i]);
        let slope = 0.5 * (mean(i + 1) - mean(i - 1));
        above += (mean(i) - state[i]) * slope;
        below += slope * slope;
    }
    let lag = above / below;
    println!("state of a volume: {lag:.3} steps behind");
    assert!((lag - 0.5).abs() < 0.01, "{lag}");
}

/// A vessel that flow leaves from the first moment on: half a step of outflow is missing.
#[test]
fn start_in_motion_costs_half_a_step() {
    let mut circuit = String::from(
        r#"
[run]
stop = "0.2 s"
filter = "none"
[components.vessel]
type = "hydraulic.volume"
start_pressure = "100 bar"
[components.outlet]
type = "hydraulic.turbulent_orifice"
area = "0.1 mm^2"
[components.tank]
type = "hydraulic.tank"
"#,
    );
    circuit += &connections(&[("vessel.port", "outlet.inlet"), ("outlet.outlet", "tank.port")]);
    let found = Orders::of(&circuit, &[], 1e-3, 1e-2, &["outlet.inlet.pressure"]);
    found.assert("start", "outlet.inlet.pressure", 1.0);
}

#[test]
fn filtered_volumes_converge_with_the_step() {
    for filter in ["wave", "pressure"] {
        let settings = [("run.filter", filter)];
        let found = Orders::of(&network(), &settings, 6.25e-5, 2e-3, &["left.port1.pressure"]);
        found.assert(filter, "left.port1.pressure", 1.0);
        found.assert_oil_kept(filter);
    }
}

#[test]
fn valve_controlled_cylinder_converges_with_the_square_of_the_step() {
    let all = ["load.x", "load.v"];
    let found = Orders::of(&text("servo_open.toml"), &[], 1e-4, 5e-3, &all);
    for variable in all {
        found.assert("cylinder", variable, 2.0);
    }
    found.assert_oil_kept("cylinder");
}

#[test]
fn pump_and_motor_with_inertia_converge_with_the_square_of_the_step() {
    let all = ["wheel.speed", "motor.speed", "motor.a.pressure"];
    let found = Orders::of(&drive(), &[], 5e-4, 5e-3, &all);
    for variable in all {
        found.assert("drive", variable, 2.0);
    }
    found.assert_oil_kept("drive");
}

#[test]
fn masses_on_springs_converge_with_the_square_of_the_step() {
    let all = ["one.x", "two.x", "three.v"];
    let found = Orders::of(&chain("0 N*s/m"), &[], 1e-3, 1e-2, &all);
    for variable in all {
        found.assert("springs", variable, 2.0);
    }
    found.assert_energy_closes("springs");
}

/// A damper sees the velocity of its other end as the mean of the last two steps; with that end at
/// rest it is exact.
#[test]
fn dampers_between_moving_bodies_converge_with_the_step_and_at_a_wall_with_its_square() {
    let all = ["one.x", "two.x"];
    let between = Orders::of(&chain("200 N*s/m"), &[], 2.5e-4, 1e-2, &all);
    let plain = "type = \"translational.spring\"\nstiffness = \"1e4 N/m\"";
    let damped =
        "type = \"translational.spring_damper\"\nstiffness = \"1e4 N/m\"\ndamping = \"200 N*s/m\"";
    let circuit = chain("0 N*s/m");
    assert!(circuit.contains(plain));
    let at_wall = Orders::of(&circuit.replace(plain, damped), &[], 2.5e-4, 1e-2, &all);
    for variable in all {
        between.assert("damper between masses", variable, 1.0);
        at_wall.assert("damper at a wall", variable, 2.0);
    }
}

#[test]
fn signal_filters_converge_with_the_square_of_the_step() {
    let found = Orders::of(&filters(), &[], 2e-3, 2e-2, &["low.out", "swing.out"]);
    found.assert("filters", "low.out", 2.0);
    found.assert("filters", "swing.out", 2.0);
}

#[test]
fn smooth_waves_in_a_line_converge_with_the_square_of_the_step() {
    let all = ["orifice.inlet.pressure"];
    let found = Orders::of(&long_line(), &[], 1e-3, 2e-3, &all);
    found.assert_energy_closes("line");
    found.assert("line", all[0], 2.0);
    found.assert_oil_kept("line");
}

#[test]
fn accumulator_converges_with_the_square_of_the_step_and_throttled_with_the_step() {
    let all = ["load.x", "load.v"];
    let plain = Orders::of(&text("accumulator.toml"), &[], 5e-4, 1e-2, &all);
    plain.assert_energy_closes("accumulator");
    let throttled = Orders::of(&text("accumulator_throttled.toml"), &[], 1.5625e-5, 1e-2, &all);
    for variable in all {
        plain.assert("accumulator", variable, 2.0);
        throttled.assert("throttled", variable, 1.0);
    }
    plain.assert_oil_kept("accumulator");
    throttled.assert_oil_kept("throttled");
}

#[test]
fn feedback_from_a_power_port_converges_with_the_step() {
    let found = Orders::of(&text("servo_closed.toml"), &[], 1e-4, 1e-2, &["load.x"]);
    found.assert("servo", "load.x", 1.0);
    found.assert_oil_kept("servo");
}

/// Every example, through the command: same text twice, cut in two, and with little recorded.
#[test]
fn examples_repeat_to_the_bit_whatever_is_recorded_and_wherever_they_are_cut() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let folder = std::env::temp_dir().join(format!("fluxline-repeat-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let mut circuits: Vec<_> =
        std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    circuits.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    circuits.sort();
    assert!(circuits.len() >= 6, "{circuits:?}");
    for path in circuits {
        let run = |more: &[&str]| {
            let done = std::process::Command::new(env!("CARGO_BIN_EXE_fluxline"))
                .current_dir(&folder)
                .arg("run")
                .arg(&path)
                .arg("--quiet")
                .args(more)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{}: {said}", path.display());
        };
        let session = fluxline::Session::open(&path, &[]).unwrap();
        let (settings, steps) = (&session.circuit.run, session.steps());
        let half = format!("{:?} s", settings.start + (steps / 2) as f64 * session.plan().step);
        run(&["--every", "7", "--csv", "a.csv", "--save-state", "a"]);
        run(&["--every", "7", "--csv", "b.csv", "--save-state", "b"]);
        run(&["--samples", "2", "--save-state", "c"]);
        run(&["--stop", &half, "--save-state", "half"]);
        run(&["--from-state", "half", "--save-state", "d"]);
        assert!(read("a.csv") == read("b.csv"), "{}: other text", path.display());
        for other in ["b", "c", "d"] {
            assert!(read("a") == read(other), "{}: state {other}", path.display());
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The parasitic limit holds once the valve is open. In the ramp before it the pressure falls behind
/// by half of what the step has grown, ½·(T − T₀)·dp/dt, which the parasitic pressure does not show:
/// the flow at a change of step is counted for the old step, not for the mean of old and new.
#[test]
fn variable_step_keeps_to_the_limit_at_the_valve_and_lags_half_its_growth_in_a_ramp() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/relief_line.toml");
    let circuit = std::fs::read_to_string(path).unwrap();
    let (pressure, limit, smallest) = ("relief.inlet.pressure", 0.1e5, 1e-5);
    let fixed = run(&circuit, &[("run.step", "10 us")], 1, &[pressure]);
    let settings = [
        ("run.step_control", "variable"),
        ("run.min_step", "10 us"),
        ("run.max_step", "1 ms"),
        ("run.parasitic_limit", "0.1 bar"),
    ];
    let variable = run(&circuit, &settings, 1, &[pressure]);
    let used = variable.step_use.as_ref().unwrap();
    let (mut ramp, mut after) = (0.0f64, 0.0f64);
    for (&t, &p) in variable.times.iter().zip(variable.column(pressure)) {
        let at = ((t / smallest).round() as usize).min(fixed.times.len() - 1);
        let off = (p - fixed.column(pressure)[at]).abs();
        // open from 0.1191 s on
        let place = if t < 0.125 { &mut ramp } else { &mut after };
        *place = place.max(off);
    }
    let slope = 8900e5 * (10e-3 / 60.0) / (std::f64::consts::FRAC_PI_4 * 0.025 * 0.025 * 3.0);
    let lag = 0.5 * (used.largest - smallest) * slope;
    println!("variable step: {used:?}, ramp {ramp:.0} Pa ({lag:.0}), after {after:.1} Pa");
    assert!(after < limit, "{after}");
    assert!(ramp < limit + lag, "{ramp} {lag}");
    assert!(used.taken + used.rejected < fixed.verdict.steps, "{used:?}");
    assert!(variable.verdict.relative_oil_error() <= 1e-12);
}
