//! Signal blocks through plan and engine: order, loops, starts.

use fluxline_core::builder::Builder;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{Ended, run};
use fluxline_core::values::Rules;
use fluxline_library::registry;

/// Runs a plan and gives the columns of some variables, one value for the start and for each step.
fn simulate<const N: usize>(plan: &Plan, steps: u64, names: [&str; N]) -> [Vec<f64>; N] {
    let mut recorder = Recorder::new(plan.variables.iter().collect(), Sampling::Every(1), steps);
    let mut state = plan.initial.clone();
    let outcome = run(plan, &mut state, steps, &mut recorder, true, |_| true);
    assert_eq!(outcome.ended, Ended::Done);
    names.map(|name| recorder.column(name).unwrap_or_else(|| panic!("no variable {name}")))
}

#[test]
fn declared_units_ranges_and_defaults_are_sound() {
    for entry in fluxline_library::signal::TYPES {
        if let Err(problem) = Rules::of(entry.declaration) {
            panic!("{problem}");
        }
    }
}

/// yₙ = yₙ₋₁ + 1: a loop that a unit delay opens gains one per step, not one every second step.
#[test]
fn unit_delay_in_a_loop_delays_by_one_step() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.add("one", "signal.constant", &[("value", "1")]);
    circuit.add("sum", "signal.sum", &[]);
    circuit.add("last", "signal.unit_delay", &[("start_value", "0")]);
    circuit.drive("one.out", "sum.input1").drive("last.out", "sum.input2");
    circuit.drive("sum.out", "last.input");
    let [sum, last] = simulate(&circuit.plan().unwrap(), 100, ["sum.out", "last.out"]);
    assert_eq!((sum[100], last[100]), (100.0, 99.0));
}

/// What follows a source through a chain is its value of the same step; dead time is dead time.
#[test]
fn chain_is_seen_in_the_same_step_and_a_delay_as_late_as_it_says() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.circuit.run.step = 1e-3;
    // Written against the flow of signals: order is the engine's business.
    circuit.add("late", "signal.delay", &[("delay", "2.5 ms")]);
    circuit.add("twice", "signal.gain", &[("gain", "2")]);
    circuit.add("time", "signal.time", &[]);
    circuit.add("first", "signal.unit_delay", &[]);
    circuit.drive("time.out", "twice.input").drive("twice.out", "late.input");
    circuit.drive("twice.out", "first.input");
    let plan = circuit.plan().unwrap();
    let [twice, late, first] = simulate(&plan, 50, ["twice.out", "late.out", "first.out"]);
    for n in 0..=50 {
        let t = n as f64 * 1e-3;
        assert!((twice[n] - 2.0 * t).abs() < 1e-15);
        assert!((first[n] - 2.0 * (t - 1e-3).max(0.0)).abs() < 1e-15);
        if n >= 4 {
            assert!((late[n] - 2.0 * (t - 2.5e-3)).abs() < 1e-15, "step {n}");
        }
    }
}

/// A loop of two integrators is opened at one of them, which takes its input a step late: the
/// oscillation keeps its frequency to first order in the step.
#[test]
fn loop_of_integrators_is_opened_and_converges() {
    let registry = registry();
    let error = |step: f64| {
        let mut circuit = Builder::new(&registry);
        circuit.circuit.run.step = step;
        circuit.add("velocity", "signal.integrator", &[("start_value", "1")]);
        circuit.add("position", "signal.integrator", &[("gain", "-1 1/s")]);
        circuit.drive("velocity.out", "position.input").drive("position.out", "velocity.input");
        let steps = (1.0 / step).round() as u64;
        let [velocity] = simulate(&circuit.plan().unwrap(), steps, ["velocity.out"]);
        assert_eq!(velocity[0], 1.0);
        (velocity[steps as usize] - 1f64.cos()).abs()
    };
    let order = (error(1e-3) / error(5e-4)).log2();
    assert!((order - 1.0).abs() < 0.05, "order {order}");
}

/// A PI controller round a first-order plant ends without error, and the start is a state of rest:
/// filters begin at their first input.
#[test]
fn control_loop_settles_without_error() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.circuit.run.step = 1e-3;
    circuit.add(
        "reference",
        "signal.step",
        &[("base", "2"), ("amplitude", "3"), ("time", "0.5 s")],
    );
    circuit.add(
        "controller",
        "signal.pid",
        &[("proportional_gain", "2"), ("integral_time", "0.2 s"), ("start_integral", "1")],
    );
    circuit.add(
        "plant",
        "signal.first_order",
        &[("gain", "2"), ("time_constant", "0.1 s"), ("start_value", "2")],
    );
    circuit.add("filter", "signal.second_order", &[("natural_frequency", "500 rad/s")]);
    circuit.drive("reference.out", "controller.reference");
    circuit.drive("plant.out", "controller.measured");
    circuit.drive("controller.out", "plant.input").drive("plant.out", "filter.input");
    let [plant, filter] = simulate(&circuit.plan().unwrap(), 3000, ["plant.out", "filter.out"]);
    assert!(plant[..500].iter().chain(&filter[..500]).all(|y| (y - 2.0).abs() < 1e-12));
    assert!((plant[3000] - 5.0).abs() < 1e-4 && (filter[3000] - 5.0).abs() < 1e-4);
}

/// Two unlike random sources through the engine repeat bit for bit.
#[test]
fn random_signals_repeat_exactly() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.add("levels", "signal.random_levels", &[("levels", "5"), ("period", "2 ms")]);
    circuit.add("noise", "signal.noise", &[("seed", "9")]);
    circuit.drive("levels.out", "noise.input");
    let plan = circuit.plan().unwrap();
    let [first] = simulate(&plan, 500, ["noise.out"]);
    let [second] = simulate(&plan, 500, ["noise.out"]);
    assert_eq!(first, second);
    assert!(first.iter().any(|y| *y != first[0]));
}
