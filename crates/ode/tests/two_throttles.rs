//! A small volume between two throttles: the accuracy and the work that are asked for.

mod problems;

use fluxline_ode::{Driver, Method, Options, Samples, Work, build};
use problems::two_throttles::{START, TwoThrottles};

const UNTIL: f64 = 3.0;

/// p₁ every millisecond.
fn run(method: Method, options: &Options, volume: f64, seed: u64) -> (Vec<f64>, Work) {
    let mut system = TwoThrottles::new(volume, seed, UNTIL);
    let mut pressures = Vec::new();
    let mut driver = Driver::new(build(method, &system, options), 0.0, &START);
    let mut observer = |_: f64, x: &[f64]| pressures.push(x[0]);
    let result = driver.advance(&mut system, UNTIL, &mut Samples::every(0.0, 1e-3), &mut observer);
    assert!(result.is_ok(), "{method}, {volume:e} m³: {}", result.unwrap_err());
    assert_eq!(pressures.len(), 3001);
    (pressures, driver.work())
}

fn root_mean_square(a: &[f64], b: &[f64]) -> f64 {
    (a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / a.len() as f64).sqrt()
}

fn truth(volume: f64, seed: u64) -> Vec<f64> {
    let tight =
        Options { relative_tolerance: 1e-9, absolute_tolerance: 1e-8, ..Options::default() };
    run(Method::Rosenbrock, &tight, volume, seed).0
}

#[test]
fn a_converged_explicit_run_and_the_adaptive_one_agree_to_a_pascal() {
    // Seed 3: the small volume does not come near the limit of stability of Runge–Kutta at 1e-6 s.
    let (explicit, _) = run(Method::Rk4, &Options { step: 1e-6, ..Options::default() }, 1e-5, 3);
    let apart = root_mean_square(&explicit, &truth(1e-5, 3));
    assert!(apart < 1.0, "{apart} Pa");
}

#[test]
fn implicit_methods_keep_the_asked_accuracy_at_a_fraction_of_the_work() {
    // An exact Jacobian by dual numbers counts as five evaluations, one per state, twice over for
    // the elimination. Runge–Kutta at 1e-6 s takes four million evaluations per second.
    let explicit = 4e6 * UNTIL;
    let cost = |work: Work| (work.evaluations + 10 * work.jacobians) as f64;
    for seed in [1, 2, 3] {
        let truth = truth(1e-5, seed);
        for (method, options, allowed, ratio) in [
            (Method::Sdirk2, Options { step: 1e-4, ..Options::default() }, 500.0, 27.0),
            (Method::Sdirk2, Options { step: 1e-3, ..Options::default() }, 3e3, 300.0),
            (Method::Rosenbrock, Options::default(), 300.0, 500.0),
            (Method::Bdf, Options::default(), 300.0, 500.0),
        ] {
            let (pressures, work) = run(method, &options, 1e-5, seed);
            let error = root_mean_square(&pressures, &truth);
            assert!(error < allowed, "{method} {}: {error} Pa, {work:?}", options.step);
            assert!(explicit / cost(work) > ratio, "{method} {}: {work:?}", options.step);
        }
    }
}

#[test]
fn a_volume_of_a_cubic_millimetre_is_no_obstacle() {
    // Stiffness times step up to 1e7. The smaller the volume, the nearer the pressure is to the
    // balance of flows, and the smaller the error.
    for volume in [1e-6, 1e-7, 1e-8, 1e-9] {
        let truth = truth(volume, 1);
        for (method, step, allowed) in [
            (Method::Sdirk2, 1e-4, 500.0),
            (Method::Sdirk2, 1e-3, 3e3),
            (Method::Rosenbrock, 0.0, 300.0),
            (Method::Bdf, 0.0, 300.0),
        ] {
            let (pressures, work) = run(method, &Options { step, ..Options::default() }, volume, 1);
            let error = root_mean_square(&pressures, &truth);
            assert!(error < allowed, "{method} {step}, {volume:e} m³: {error} Pa, {work:?}");
        }
    }
}

#[test]
fn the_work_is_what_it_was() {
    // A change here is a change of the methods: look at it, then write down the new numbers.
    let (_, sdirk2) = run(Method::Sdirk2, &Options { step: 1e-3, ..Options::default() }, 1e-5, 1);
    let (_, rosenbrock) = run(Method::Rosenbrock, &Options::default(), 1e-5, 1);
    let about = |value: u64, recorded: u64| {
        // Rounding of another platform may turn a step.
        let apart = value.abs_diff(recorded);
        assert!(apart as f64 <= 0.05 * recorded as f64 + 2.0, "{value} instead of {recorded}");
    };
    about(sdirk2.steps, 3000);
    about(sdirk2.evaluations, 7255);
    about(sdirk2.jacobians, 54);
    about(rosenbrock.steps, 406);
    about(rosenbrock.rejected, 45);
    about(rosenbrock.evaluations, 2669);
}
