//! Circuits of the library against closed forms, and linearised against simulated.

use fluxline_core::circuit::{Circuit, Registry};
use fluxline_core::engine;
use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
use fluxline_core::probe::{Probed, Touch, When};
use fluxline_core::start::come_to_rest;
use fluxline_core::state::State;
use fluxline_response::Complex;
use fluxline_response::linear::{Point, Side, linearise, signal_at};
use fluxline_response::loops::{decibel, grid, margins};
use fluxline_response::measure::{Excitation, by_multisine, by_sines};
use fluxline_response::place::{Input, Output, find_input};
use fluxline_response::system::System;
use std::f64::consts::{PI, TAU};

struct Setting {
    registry: Registry,
    plan: Plan,
    state: State<f64>,
}

fn circuit(text: &str, registry: &Registry) -> Circuit {
    let loaded = fluxline_formats::load_text("test.toml", text, "", registry, &[]);
    let told = loaded.diagnostics.render(&loaded.sources, false, 100);
    loaded.circuit.unwrap_or_else(|| panic!("{told}"))
}

impl Setting {
    /// At rest.
    fn new(text: &str) -> Self {
        let mut setting = Self::at_start(text);
        let rest = come_to_rest(&setting.plan, &mut setting.state, 100.0, 1e-7, || true);
        assert!(rest.reached, "{rest:?}");
        setting
    }
    fn at_start(text: &str) -> Self {
        let registry = fluxline_library::registry();
        let circuit = circuit(text, &registry);
        let planned = Plan::of(&circuit, &registry);
        let plan = planned.plan.unwrap_or_else(|| panic!("{:?}", planned.problems));
        let state = plan.initial.clone();
        Self { registry, plan, state }
    }
    fn point(&self) -> Point<'_> {
        let Self { registry, plan, state } = self;
        Point { plan, registry, state, time: plan.start }
    }
    fn input(&self, name: &str) -> Input {
        find_input(&self.plan, name).unwrap_or_else(|problem| panic!("{problem}"))
    }
    fn outputs(&self, names: &[&str]) -> Vec<Output> {
        let find = |name: &&str| self.plan.variables.find(name).unwrap_or_else(|| panic!("{name}"));
        names.iter().map(find).map(Output::from).collect()
    }
    fn system(&self, input: &str, outputs: &[&str]) -> System {
        linearise(self.point(), Side::Above, &self.input(input), Touch::Add, &self.outputs(outputs))
            .unwrap_or_else(|problem| panic!("{problem}"))
    }
    /// L of a loop, with negative feedback.
    fn cut(&self, at: &str) -> System {
        let input = self.input(at);
        let touch = Touch::Cut(signal_at(self.point(), &input));
        let mut system =
            linearise(self.point(), Side::Above, &input, touch, &[Output::returned(&input)])
                .unwrap();
        system.direct[0] *= -1.0;
        system.outputs[0].iter_mut().for_each(|(_, slope)| *slope *= -1.0);
        system
    }
}

/// Density 870 kg/m³ and bulk modulus 1.6·10⁹ Pa; length so that the delay is so many steps.
fn line(steps: f64) -> String {
    let speed = (1.6e9f64 / 870.0).sqrt();
    let length = speed * steps * 1e-4;
    format!(
        r#"
[run]
stop = "1 s"
step = "0.1 ms"
start_pressure = "100 bar"
[fluid]
density = "870 kg/m^3"
bulk_modulus = "1.6 GPa"
[components.drive]
type = "hydraulic.flow_source"
flow = "0 l/min"
[components.end]
type = "hydraulic.flow_source"
flow = "0 l/min"
[[connect]]
ends = ["drive.outlet", "end.outlet"]
line = {{ name = "pipe", length = "{length} m", bore = "20 mm" }}
"#
    )
}

/// A line without losses between two flows: p₁ = Z·coth(iωτ)·q₁, p₂ = Z/sinh(iωτ)·q₁, at all
/// frequencies below the Nyquist frequency, wherever a delay is a whole number of steps.
#[test]
fn a_lossless_line_answers_with_the_closed_form_up_to_the_nyquist_frequency() {
    let area = PI * 0.01 * 0.01;
    let impedance = (870.0f64 * 1.6e9).sqrt() / area;
    for steps in [1.0, 2.0, 3.0, 37.0] {
        let setting = Setting::at_start(&line(steps));
        let outputs = ["drive.outlet.pressure", "end.outlet.pressure"];
        let system = setting.system("drive.flow", &outputs);
        let mut resolvent = system.resolvent();
        let mut worst = 0.0f64;
        for i in 1..=997 {
            let frequency = 5000.0 * f64::from(i) / 997.3;
            let angle = Complex::new(0.0, TAU * frequency * steps * 1e-4);
            let exact = [impedance / angle.tanh(), impedance / angle.sinh()];
            // Next to a pole any rounding of its place is seen: errors count against Z too.
            for (found, exact) in resolvent.at(frequency).into_iter().zip(exact) {
                let scale = exact.norm().max(impedance);
                let near = 1.0 / angle.sinh().norm().min(1.0);
                worst = worst.max((found - exact).norm() / scale / near);
            }
        }
        println!("{steps} steps: {worst:e}");
        assert!(worst < 1e-9, "{steps} steps: {worst:e}");
    }
}

/// A delay of n + f steps is (1 − f)·z⁻ⁿ + f·z⁻⁽ⁿ⁺¹⁾: the only thing that the discrete line adds.
#[test]
fn fractions_of_a_step_are_interpolated_and_nothing_else() {
    let impedance = (870.0f64 * 1.6e9).sqrt() / (PI * 0.01 * 0.01);
    let setting = Setting::at_start(&line(12.3));
    let system = setting.system("drive.flow", &["drive.outlet.pressure"]);
    let mut resolvent = system.resolvent();
    for i in 1..=500 {
        let frequency = 9.97 * f64::from(i);
        let z = Complex::new(0.0, TAU * frequency * 1e-4).exp();
        let delay = z.powi(-12) * 0.7 + z.powi(-13) * 0.3;
        let round = delay * delay;
        let exact = (round + 1.0) / (-round + 1.0) * impedance;
        let found = resolvent.at(frequency)[0];
        assert!((found - exact).norm() < 1e-8 * exact.norm().max(impedance), "{frequency}");
    }
}

/// K/(s(s+1)(s+2)) around a loop, which signals pass in two steps.
fn textbook(gain: f64, step: &str) -> Setting {
    Setting::at_start(&format!(
        r#"
[run]
stop = "1 s"
step = "{step}"
[components.reference]
type = "signal.constant"
value = 0
[components.error]
type = "signal.difference"
[components.integrator]
type = "signal.integrator"
gain = "{gain} 1/s"
[components.slow]
type = "signal.first_order"
time_constant = "1 s"
[components.fast]
type = "signal.first_order"
time_constant = "0.5 s"
gain = 0.5
[[connect]]
from = "reference.out"
to = "error.input1"
[[connect]]
from = "error.out"
to = "integrator.input"
[[connect]]
from = "integrator.out"
to = "slow.input"
[[connect]]
from = "slow.out"
to = "fast.input"
[[connect]]
from = "fast.out"
to = "error.input2"
"#
    ))
}

fn judged(system: &System, from: f64, to: f64) -> fluxline_response::loops::Margins {
    let mut resolvent = system.resolvent();
    let all: Vec<_> =
        grid(from, to, 300, []).into_iter().map(|f| (f, resolvent.at(f)[0])).collect();
    margins(&all, &mut |f| resolvent.at(f)[0])
}

/// Gain margin 6/K at √2 rad/s, and for K = 1 a phase margin of 53.4109° at 0.4457 rad/s, wherever the
/// loop is cut.
#[test]
fn margins_of_a_textbook_loop_are_right_to_four_digits_wherever_it_is_cut() {
    let setting = textbook(1.0, "2 us");
    let mut w2 = 0.2f64;
    for _ in 0..50 {
        w2 -= (w2 * (w2 + 1.0) * (w2 + 4.0) - 1.0) / (3.0 * w2 * w2 + 10.0 * w2 + 4.0);
    }
    let w = w2.sqrt();
    let phase = 90.0 - w.atan().to_degrees() - (w / 2.0).atan().to_degrees();
    for at in ["error.input2", "integrator.input", "fast.input"] {
        let found = judged(&setting.cut(at), 1e-3, 10.0);
        let gain = found.gain().unwrap();
        assert!((gain.gain_margin / 6.0 - 1.0).abs() < 5e-5, "{at}: {gain:?}");
        assert!((gain.frequency * TAU / 2f64.sqrt() - 1.0).abs() < 5e-5);
        let margin = found.phase().unwrap();
        assert!((margin.phase_margin / phase - 1.0).abs() < 5e-5, "{at}: {margin:?} {phase}");
        assert!((margin.frequency * TAU / w - 1.0).abs() < 5e-5);
    }
}

/// The gain margin is where the closed loop begins to swing by itself.
#[test]
fn a_loop_made_stronger_by_its_gain_margin_has_a_pole_on_the_unit_circle() {
    let margin = judged(&textbook(1.0, "10 us").cut("error.input2"), 1e-3, 10.0).gain().unwrap();
    let largest = |gain: f64| {
        let system = textbook(gain, "10 us").system("error.input2", &["fast.out"]);
        let poles = system.poles().unwrap();
        poles.into_iter().max_by(|a, b| a.z.norm().total_cmp(&b.z.norm())).unwrap()
    };
    let swinging = largest(margin.gain_margin);
    // In 1/s: the step is 10 us.
    assert!(swinging.s.re.abs() < 1e-6, "{swinging:?}");
    assert!((swinging.s.im.abs() / TAU / margin.frequency - 1.0).abs() < 1e-5);
    assert!(largest(margin.gain_margin * 0.99).s.re < -1e-3);
    assert!(largest(margin.gain_margin * 1.01).s.re > 1e-3);
}

/// A pump, a line with delay and friction, a volume and orifices.
const MACHINE: &str = r#"
[run]
stop = "1 s"
step = "0.1 ms"
start_pressure = "60 bar"
[fluid]
density = "870 kg/m^3"
bulk_modulus = "1.6 GPa"
viscosity = "30 mm^2/s"
[components.pump]
type = "hydraulic.flow_source"
flow = "20 l/min"
[components.gate]
type = "hydraulic.orifice"
area = "6 mm^2"
[components.tank]
type = "hydraulic.tank"
[components.leak]
type = "hydraulic.laminar_orifice"
conductance = "0.02 l/min/bar"
[[connect]]
ends = ["pump.outlet", "gate.inlet"]
line = { name = "pipe", length = "2.61 m", bore = "12 mm", friction = "laminar" }
[components.outlet]
type = "hydraulic.orifice"
area = "8 mm^2"
[[connect]]
from = "gate.outlet"
to = ["leak.inlet", "outlet.inlet"]
line = { name = "middle", volume = "0.3 l" }
[[connect]]
ends = ["leak.outlet", "tank.port"]
[[connect]]
ends = ["outlet.outlet", "tank.port"]
"#;

/// The linearised step response is what a small step does in the simulation.
fn follows_a_small_step(setting: &Setting, input: &str, output: &str, size: f64, steps: usize) {
    let system = setting.system(input, &[output]);
    let linear = &system.step_response(steps)[0];
    let spots = setting.input(input).spots;
    let slot = setting.plan.variables.find(output).unwrap().slot;
    let run = |push: f64| -> Vec<f64> {
        let mut probed = Probed::plain(&setting.plan, &spots, Touch::Add);
        let mut state = setting.state.clone();
        (0..steps)
            .map(|k| {
                let tick = state.rest_steps + state.step + 1 + k as u64;
                let when = When::held(setting.plan.start, tick);
                probed.step(&mut state, when, push);
                slot.read(&state)
            })
            .collect()
    };
    let (up, down) = (run(size), run(-size));
    let largest = linear.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    assert!(largest > 0.0);
    for (k, linear) in linear.iter().enumerate() {
        let measured = (up[k] - down[k]) / (2.0 * size);
        assert!(
            (measured - linear).abs() < 2e-6 * largest,
            "{input} to {output}, step {k}: {measured} {linear}"
        );
    }
}

#[test]
fn a_line_with_friction_and_orifices_follow_a_small_step_as_linearised() {
    let setting = Setting::new(MACHINE);
    // One part in 10⁵ of the flow: second order in that.
    follows_a_small_step(&setting, "pump.flow", "outlet.inlet.pressure", 3e-9, 3000);
    follows_a_small_step(&setting, "leak.conductance", "pump.outlet.pressure", 1e-16, 3000);
}

/// The servo of the examples, away from where its valve is closed.
fn servo() -> Setting {
    let text = std::fs::read_to_string("../../examples/position_servo.toml").unwrap();
    let mut setting = Setting::new(&text);
    let mut tally = Tally::new(&setting.plan, &mut setting.state, false);
    // On its way: the valve is open and the load moves.
    for _ in 0..7000 {
        engine::step(&setting.plan, &mut setting.state, &mut tally, false);
    }
    setting
}

/// Away from rest, the circuit moves on by itself, but small steps still add what was linearised, at
/// first: one step of a run has no time to change the derivatives.
#[test]
fn a_moving_servo_is_linearised_where_it_is() {
    let setting = servo();
    let point = Point { time: setting.plan.start + 0.7, ..setting.point() };
    let input = setting.input("valve.signal");
    let outputs = setting.outputs(&["valve.x", "cylinder.a.pressure", "load.v"]);
    let system = linearise(point, Side::Above, &input, Touch::Add, &outputs).unwrap();
    let steps = 6;
    let linear = system.step_response(steps);
    let run = |push: f64| -> Vec<Vec<f64>> {
        let mut probed = Probed::plain(&setting.plan, &input.spots, Touch::Add);
        let mut state = setting.state.clone();
        let mut all = vec![Vec::new(); outputs.len()];
        for k in 0..steps as u64 {
            let tick = state.rest_steps + state.step + 1 + k;
            probed.step(&mut state, When::held(point.time, tick), push);
            for (all, output) in all.iter_mut().zip(&outputs) {
                all.push(output.slot.unwrap().read(&state));
            }
        }
        all
    };
    let (up, down) = (run(1e-6), run(-1e-6));
    for (i, linear) in linear.iter().enumerate() {
        let largest = linear.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(largest > 0.0, "{}", outputs[i].name);
        for k in 0..steps {
            let measured = (up[i][k] - down[i][k]) / 2e-6;
            let off = (measured - linear[k]).abs() / largest;
            assert!(off < 2e-2 && (k > 0 || off < 1e-5), "{} {k}: {off:e}", outputs[i].name);
        }
    }
}

/// A load on a spring and a damper that a force moves: linear.
const LOAD: &str = r#"
[run]
stop = "1 s"
step = "1 ms"
[components.load]
type = "translational.mass"
mass = "20 kg"
[components.suspension]
type = "translational.spring_damper"
stiffness = "2000 N/m"
damping = "60 N*s/m"
[components.ground]
type = "translational.fixed"
[components.force]
type = "translational.force_source"
force = "0 N"
[[connect]]
from = "ground.port"
to = "suspension.a"
[[connect]]
from = "suspension.b"
to = "load.a"
[[connect]]
from = "force.b"
to = "load.a"
"#;

#[test]
fn linearised_and_measured_responses_of_a_linear_circuit_agree() {
    let setting = Setting::at_start(LOAD);
    let (input, outputs) = (setting.input("force.force"), setting.outputs(&["load.x"]));
    let system = setting.system("force.force", &["load.x"]);
    let mut resolvent = system.resolvent();
    let frequencies = grid(0.2, 100.0, 15, []);
    let excitation = Excitation { amplitude: 50.0, tolerance: 1e-7, most_periods: 40 };
    let point = setting.point();
    let by_many =
        by_multisine(point, &input, Touch::Add, &outputs, &frequencies, &excitation).unwrap();
    let one_by_one =
        by_sines(point, &input, Touch::Add, &outputs, &frequencies, &excitation).unwrap();
    for measured in by_many.points.iter().chain(&one_by_one.points) {
        let ratio = measured.response[0] / resolvent.at(measured.frequency)[0];
        // Asked for are 0.1 dB and 1°; the circuit is linear, so that only settling is left.
        assert!(decibel(ratio.norm()).abs() < 1e-3, "{measured:?} {ratio}");
        assert!(ratio.arg().to_degrees().abs() < 1e-2, "{measured:?} {ratio}");
    }
    assert!(by_many.distortion[0] < 1e-5);
    // m·s² + d·s + k, below a twentieth of the sampling rate to the order of the step squared.
    for frequency in [0.5, 1.5915, 5.0] {
        let s = Complex::new(0.0, TAU * frequency);
        let exact = 1.0 / (s * s * 20.0 + s * 60.0 + 2000.0);
        let ratio = resolvent.at(frequency)[0].norm() / exact.norm();
        assert!((ratio - 1.0).abs() < 5e-3, "{frequency}: {ratio}");
    }
}

#[test]
fn what_is_not_linear_is_told_apart() {
    let setting = Setting::new(MACHINE);
    let (input, outputs) = (setting.input("pump.flow"), setting.outputs(&["pump.outlet.pressure"]));
    let distortion = |amplitude: f64| {
        let excitation = Excitation { amplitude, tolerance: 1e-4, most_periods: 30 };
        by_sines(setting.point(), &input, Touch::Add, &outputs, &[20.0], &excitation)
            .unwrap()
            .distortion[0]
    };
    // A square root: the second harmonic grows with the amplitude.
    let (small, large) = (distortion(3e-7), distortion(3e-5));
    assert!((large / small / 100.0 - 1.0).abs() < 0.1, "{small:e} {large:e}");
}

#[test]
fn inputs_that_are_not_there_are_told_with_those_that_are() {
    let setting = Setting::at_start(LOAD);
    let told = find_input(&setting.plan, "force.forse").unwrap_err().to_string();
    assert!(told.contains("`force` has no input `forse`"), "{told}");
    let told = find_input(&setting.plan, "forze.force").unwrap_err().to_string();
    assert!(told.contains("no component"), "{told}");
}

#[test]
fn a_circuit_with_too_many_steps_of_delay_is_not_linearised() {
    let setting = Setting::at_start(&line(40_000.0));
    let outputs = setting.outputs(&["end.outlet.pressure"]);
    let told =
        linearise(setting.point(), Side::Above, &setting.input("drive.flow"), Touch::Add, &outputs)
            .unwrap_err();
    assert_eq!(told.code(), fluxline_diagnostics::Code::NoLinearisation);
    assert!(told.to_string().contains("at most 60000"), "{told}");
}
