//! What tests of component types share.

use fluxline_core::component::Physics;
use fluxline_core::declare::Value;
use fluxline_core::testing::Bench;
use fluxline_core::values::defaults;

/// A component with its default values on a bench, but for some inputs.
pub fn bench<M: Physics>(dt: f64, set: &[(usize, f64)]) -> Bench<M> {
    bench_in(0, dt, set)
}

/// The same for an implicit component that does so many iterations per step.
pub fn bench_in<M: Physics>(iterations: usize, dt: f64, set: &[(usize, f64)]) -> Bench<M> {
    let mut values = defaults(M::DECLARATION).expect("defaults can be read");
    for (parameter, value) in M::DECLARATION.parameters.iter().zip(&mut values) {
        if parameter.name == "iterations" {
            *value = Value::Number(iterations as f64);
        }
    }
    let component = M::from_values(&values).expect("defaults suit the type");
    let mut bench = Bench::new(&component, dt);
    for (parameter, value) in M::DECLARATION.parameters.iter().zip(&values) {
        if let (Some(input), &Value::Number(value)) = (parameter.input, value) {
            bench.input(input, value);
        }
    }
    for &(input, value) in set {
        bench.input(input, value);
    }
    bench
}

/// Asserts of an implicit component that Hopsan's iterations lead to the solution: the second leaves
/// a third of what the first does, and what 60 leave is rounding. `to_step` brings the component to
/// the step that is looked at.
#[track_caller]
pub fn assert_iterations_lead_to_the_solution<M: Physics>(
    dt: f64,
    to_step: impl Fn(&mut Bench<M>),
) {
    let after = |iterations: usize| {
        let mut bench = bench_in::<M>(iterations, dt, &[]);
        to_step(&mut bench);
        bench.step();
        assert_eq!(bench.state.faults.unconverged, 0);
        bench.state.bonds
    };
    let solved = after(0);
    let left = |iterations: usize| {
        let far = |x: f64, solved: f64| (x - solved).abs() / solved.abs();
        let both = after(iterations).into_iter().zip(&solved);
        both.map(|(x, s)| far(x.flow, s.flow).max(far(x.effort, s.effort))).fold(0.0, f64::max)
    };
    let [one, two, many] = [1, 2, 60].map(left);
    assert!(many < 1e-9, "{many} is left in the end");
    assert!(one > 1e-6 && two > 0.25 * one && two < 0.45 * one, "{two} is left of {one}");
}

/// Asserts that two numbers agree, relative to their size.
#[track_caller]
pub fn assert_near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * a.abs().max(b.abs()), "{a} for {b}");
}
