//! Whole circuits through plan and engine, against closed forms.

use fluxline_core::builder::Builder;
use fluxline_core::circuit::Registry;
use fluxline_core::engine;
use fluxline_core::monitor::{Tally, Verdict};
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{Ended, run};
use fluxline_core::settings::FilterKind;
use fluxline_core::state::State;
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
    circuit.circuit.run.filter = FilterKind::None;
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
fn a_spring_with_a_loose_end_is_refused() {
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

/// Ports that meet, signals from port variables, and figures of the verdict in every step.
fn meeting(registry: &Registry) -> Plan {
    let mut circuit = Builder::new(registry);
    circuit.add("source", "hydraulic.flow_source", &[]);
    circuit.add("gain", "signal.gain", &[("gain", "-1e-12")]);
    circuit.add("left", "hydraulic.volume", &[("volume", "1 l"), ("start_pressure", "90 bar")]);
    circuit.add("right", "hydraulic.volume", &[("volume", "3 l"), ("start_pressure", "20 bar")]);
    circuit.add("orifice", "hydraulic.turbulent_orifice", &[("area", "0.4 mm^2")]);
    circuit.connect(&["source.outlet", "left.port", "right.port"]);
    circuit.connect(&["right.port", "orifice.inlet"]).connect(&["orifice.outlet", "left.port"]);
    circuit.drive("source.outlet.pressure", "gain.input").drive("gain.out", "source.flow");
    circuit.plan().unwrap()
}

#[test]
fn steps_taken_together_are_those_taken_one_by_one() {
    let registry = registry();
    for plan in [emptying(&registry, 1e-4), meeting(&registry)] {
        let all_steps = |take: &dyn Fn(&mut State<f64>, &mut Tally)| {
            let mut state = plan.initial.clone();
            let mut tally = Tally::new(&plan, &mut state, true);
            take(&mut state, &mut tally);
            let verdict = Verdict::new(&plan, &mut state, &tally);
            (format!("{state:?}"), format!("{verdict:?}"))
        };
        let together = all_steps(&|state, tally| {
            for count in [1, 256, 0, 743] {
                engine::steps(&plan, state, tally, count);
            }
        });
        let one_by_one = all_steps(&|state, tally| {
            (0..1000).for_each(|_| engine::step(&plan, state, tally, false));
        });
        assert_eq!(together, one_by_one);
    }
    let plan = meeting(&registry);
    assert!(!plan.rates[0].junctions.is_empty() && !plan.rates[0].probes.is_empty());
}

/// Pressure drives the flow that raises it: grows by a factor per step until it leaves physics.
fn runaway(registry: &Registry) -> Plan {
    let mut circuit = Builder::new(registry);
    circuit.add("vessel", "hydraulic.volume", &[("volume", "1 l")]);
    circuit.add("source", "hydraulic.flow_source", &[]);
    circuit.add("gain", "signal.gain", &[("gain", "1e-8")]);
    circuit.connect(&["source.outlet", "vessel.port"]);
    circuit.drive("source.outlet.pressure", "gain.input").drive("gain.out", "source.flow");
    circuit.plan().unwrap()
}

#[test]
fn divergence_names_component_variable_and_time_and_keeps_what_was_good() {
    let plan = runaway(&registry());
    let mut state = plan.initial.clone();
    let mut recorder = Recorder::new(plan.variables.iter().collect(), Sampling::Every(1), 100_000);
    let outcome = run(&plan, &mut state, 100_000, &mut recorder, true, |_| true);
    let Ended::Diverged(what) = outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(what.component, "source");
    assert_eq!(what.variable, "source.outlet.pressure");
    assert!(what.value.abs() >= 1e20 && what.last_value.abs() < 1e20);
    assert_eq!(what.last_good_step, state.step);
    assert!((what.time - what.last_good_time - 1e-4).abs() < 1e-12);
    assert!(recorder.rows().all(|row| row.iter().all(|x| x.is_finite())));
}

#[test]
fn a_run_restored_half_way_gives_the_same_bits() {
    let plan = emptying(&registry(), 1e-4);
    let none = || Recorder::new(Vec::new(), Sampling::Even(2), 4000);
    let mut whole = plan.initial.clone();
    run(&plan, &mut whole, 4000, &mut none(), true, |_| true);
    let mut half = plan.initial.clone();
    run(&plan, &mut half, 1777, &mut none(), false, |_| true);
    let mut restored = half.clone();
    run(&plan, &mut restored, 4000, &mut none(), true, |_| true);
    assert_eq!(whole.bonds, restored.bonds);
    assert_eq!(whole.states, restored.states);
    assert_eq!(whole.signals, restored.signals);
}

/// Two volumes that meet without anything between them share one pressure: the ends are joined.
#[test]
fn volumes_that_meet_directly_act_as_one() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.add("source", "hydraulic.flow_source", &[("flow", "6 l/min")]);
    circuit.add("left", "hydraulic.volume", &[("volume", "1 l"), ("start_pressure", "0 bar")]);
    circuit.add("right", "hydraulic.volume", &[("volume", "3 l"), ("start_pressure", "0 bar")]);
    circuit.connect(&["source.outlet", "left.port"]).connect(&["left.port", "right.port"]);
    let result = simulate(&circuit.plan().unwrap(), 0.4);
    // β/(V₁ + V₂)·q·t
    let expected = 1.6e9 / 4e-3 * 1e-4 * 0.4;
    for name in ["left.pressure", "right.pressure"] {
        let pressure = *result.column(name).last().unwrap();
        assert!((pressure / expected - 1.0).abs() < 2e-3, "{name}: {pressure} {expected}");
    }
    assert!(result.verdict.oil_error.abs() < 1e-17, "{}", result.verdict.oil_error);
}

/// One Q-port that feeds two volumes: pressure is shared, flow splits by size.
#[test]
fn a_source_between_two_volumes_splits_its_flow_by_their_size() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.add("source", "hydraulic.flow_source", &[("flow", "6 l/min")]);
    circuit.add("left", "hydraulic.volume", &[("volume", "1 l")]);
    circuit.add("right", "hydraulic.volume", &[("volume", "3 l")]);
    circuit.connect(&["source.outlet", "left.port", "right.port"]);
    let result = simulate(&circuit.plan().unwrap(), 0.1);
    let flow = |name: &str| *result.column(name).last().unwrap();
    assert!((flow("left.port1.flow") - 0.25e-4).abs() < 1e-9);
    assert!((flow("right.port1.flow") - 0.75e-4).abs() < 1e-9);
    assert!((flow("source.outlet.flow") + 1e-4).abs() < 1e-15, "out of the source");
}

/// A part with a smaller step: oil crosses the border without loss, and the result converges to
/// that of the small step everywhere.
#[test]
fn sub_steps_lose_no_oil_at_the_border() {
    let registry = registry();
    let build = |divisor: u32| {
        let mut circuit = Builder::new(&registry);
        circuit.circuit.run.step = 1e-3;
        circuit.add(
            "left",
            "hydraulic.volume",
            &[("volume", "1 l"), ("start_pressure", "100 bar")],
        );
        circuit.add("orifice", "hydraulic.turbulent_orifice", &[("area", "2 mm^2")]);
        circuit.sub_steps(divisor);
        circuit.add(
            "right",
            "hydraulic.volume",
            &[("volume", "0.2 l"), ("start_pressure", "5 bar")],
        );
        circuit.sub_steps(divisor);
        circuit.connect(&["left.port", "orifice.inlet"]).connect(&["orifice.outlet", "right.port"]);
        circuit.plan().unwrap()
    };
    let plan = build(10);
    assert_eq!(plan.rates[1].divisor, 10);
    assert_eq!(plan.rates[1].borders.len(), 1);
    let result = simulate(&plan, 0.5);
    assert!(result.verdict.oil_error.abs() < 1e-17, "{}", result.verdict.oil_error);
    let common = (100e5 * 1.0 + 5e5 * 0.2) / 1.2;
    assert!((result.column("right.pressure").last().unwrap() / common - 1.0).abs() < 1e-6);
}

#[test]
fn a_signal_loop_is_told_as_a_walk() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    for name in ["first", "second", "third"] {
        circuit.add(name, "signal.gain", &[]);
    }
    circuit.drive("first.out", "second.input").drive("second.out", "third.input");
    circuit.drive("third.out", "first.input");
    let problem = circuit.plan().unwrap_err();
    // Where the walk begins is of no matter; its direction and its members are.
    let names = ["`first`", "`second`", "`third`"];
    let walks = (0..3).map(|i| [0, 1, 2, 3].map(|k| names[(i + k) % 3]).join(" → "));
    assert!(walks.into_iter().any(|walk| problem.contains(&walk)), "{problem}");
}

#[test]
fn ideal_sources_that_meet_are_refused() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.add("high", "hydraulic.pressure_source", &[]).add("low", "hydraulic.tank", &[]);
    circuit.connect(&["high.port", "low.port"]);
    assert!(circuit.plan().unwrap_err().contains("ideal sources"));
}
