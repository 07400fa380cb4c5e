//! Whole circuits through plan and engine, against closed forms.

use fluxline_core::builder::Builder;
use fluxline_core::circuit::Registry;
use fluxline_core::monitor::Verdict;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{Ended, run};
use fluxline_library::registry;

struct Result {
    recorder: Recorder<'static>,
    verdict: Verdict,
}

impl Result {
    fn column(&self, name: &str) -> Vec<f64> {
        self.recorder.column(name).unwrap_or_else(|| panic!("no variable {name}"))
    }
}

fn simulate(plan: &Plan, stop: f64) -> Result {
    let steps = (stop / plan.step).round() as u64;
    let mut recorder = Recorder::new(plan.variables.iter().collect(), Sampling::Every(1), steps);
    let mut state = plan.initial.clone();
    let outcome = run(plan, &mut state, steps, &mut recorder, true, |_| true);
    assert_eq!(outcome.ended, Ended::Done);
    Result { recorder, verdict: outcome.verdict }
}

/// A volume emptied through a turbulent orifice: p falls as a parabola in time,
/// √p = √p₀ − K·β/(2V)·t.
fn emptying(registry: &Registry, step: f64) -> Plan {
    let mut circuit = Builder::new(registry);
    circuit.circuit.run.step = step;
    circuit.add("vessel", "hydraulic.volume", &[("volume", "1 l"), ("start_pressure", "100 bar")]);
    circuit.add("orifice", "hydraulic.turbulent_orifice", &[("area", "0.1 mm^2")]);
    circuit.add("tank", "hydraulic.tank", &[("pressure", "0 bar")]);
    circuit.connect(&["vessel.port", "orifice.inlet"]);
    circuit.connect(&["orifice.outlet", "tank.port"]);
    circuit.plan().unwrap()
}

#[test]
fn vessel_empties_through_an_orifice_as_the_closed_form_says() {
    let registry = registry();
    let k = 0.67 * 0.1e-6 * (2.0 / 870.0f64).sqrt();
    let stop = 0.5;
    let error = |step: f64| {
        let result = simulate(&emptying(&registry, step), stop);
        // A circuit starts without flow, so half a step of outflow is missing; from then on a
        // volume with one port is the trapezoidal rule, of second order.
        let exact = ((100e5f64).sqrt() - k * 1.6e9 / (2.0 * 1e-3) * (stop - step / 2.0)).powi(2);
        (result.column("orifice.inlet.pressure").last().unwrap() - exact).abs() / 100e5
    };
    let (coarse, fine) = (error(1e-2), error(5e-3));
    assert!(fine < 1e-5, "{fine}");
    let order = (coarse / fine).log2();
    assert!((order - 2.0).abs() < 0.1, "order {order}");
}

#[test]
fn closed_circuit_keeps_its_oil_to_rounding() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.add("left", "hydraulic.volume", &[("volume", "1 l"), ("start_pressure", "100 bar")]);
    circuit.add("right", "hydraulic.volume", &[("volume", "0.3 l"), ("start_pressure", "5 bar")]);
    circuit.add("orifice", "hydraulic.turbulent_orifice", &[("area", "1 mm^2")]);
    circuit.connect(&["left.port", "orifice.inlet"]).connect(&["orifice.outlet", "right.port"]);
    let result = simulate(&circuit.plan().unwrap(), 1.0);
    assert!(result.verdict.oil_error.abs() < 1e-17, "{}", result.verdict.oil_error);
    let (left, right) = (result.column("left.pressure"), result.column("right.pressure"));
    let common = (100e5 * 1.0 + 5e5 * 0.3) / 1.3;
    assert!((left.last().unwrap() / common - 1.0).abs() < 1e-6);
    assert!((right.last().unwrap() / common - 1.0).abs() < 1e-6);
}

#[test]
fn mass_on_a_spring_swings_with_its_natural_frequency() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.circuit.run.step = 1e-3;
    circuit.add("mass", "translational.mass", &[("mass", "100 kg"), ("start_position", "0.1 m")]);
    circuit.add("spring", "translational.spring", &[("stiffness", "1000 N/m")]);
    circuit.connect(&["mass.b", "spring.a"]);
    let plan = circuit.plan();
    // the far end of the spring must be held
    assert!(plan.unwrap_err().contains("spring.b"));
}

#[test]
fn a_run_is_the_same_whatever_is_recorded() {
    let registry = registry();
    let plan = emptying(&registry, 1e-4);
    let end = |sampling: Sampling| {
        let mut state = plan.initial.clone();
        let mut recorder = Recorder::new(plan.variables.iter().collect(), sampling, 3000);
        run(&plan, &mut state, 3000, &mut recorder, true, |_| true);
        state
    };
    let (a, b) = (end(Sampling::Every(1)), end(Sampling::Even(2)));
    assert_eq!(a.bonds, b.bonds);
    assert_eq!(a.states, b.states);
}
