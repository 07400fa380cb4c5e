//! Every method converges with its order, also on problems that depend on time.

mod problems;

use fluxline_ode::{Driver, Method, Options, Samples, System, build};
use problems::{smooth, smooth_solution};

/// Largest error at the end, and at samples inside the steps.
fn errors(method: Method, step: f64, relative: f64) -> (f64, f64) {
    let mut system = smooth();
    let options = Options {
        step,
        relative_tolerance: relative,
        absolute_tolerance: relative,
        newton_tolerance: 1e-3,
        ..Options::default()
    };
    let solver = build(method, &system, &options);
    let mut driver = Driver::new(solver, 0.0, &smooth_solution(0.0));
    let mut inside: f64 = 0.0;
    let mut observer = |time: f64, x: &[f64]| {
        for (x, exact) in x.iter().zip(smooth_solution(time)) {
            inside = inside.max((x - exact).abs());
        }
    };
    driver.advance(&mut system, 2.0, &mut Samples::every(0.0, 0.00937), &mut observer).unwrap();
    let end = smooth_solution(2.0);
    let error = (0..2).map(|i| (driver.state()[i] - end[i]).abs()).fold(0.0, f64::max);
    (error, inside)
}

#[test]
fn fixed_steps_converge_with_their_order() {
    for (method, order) in [
        (Method::Euler, 1.0),
        (Method::Heun, 2.0),
        (Method::ModifiedHeun, 2.0),
        (Method::Rk4, 4.0),
        (Method::Sdirk2, 2.0),
    ] {
        let coarse = errors(method, 2.0 / 64.0, 1e-10);
        let fine = errors(method, 2.0 / 128.0, 1e-10);
        // The next term of the error is a step smaller: it moves the order by about h.
        let measured = (coarse.0 / fine.0).log2();
        assert!((measured - order).abs() < 0.15, "{method}: order {measured}");
        let measured = (coarse.1 / fine.1).log2();
        assert!((measured - order).abs() < 0.25, "{method}: order {measured} between steps");
    }
}

/// One step of an adaptive method after the other, all of the same length.
fn with_equal_steps(method: Method, steps: usize) -> f64 {
    let mut system = smooth();
    let options = Options {
        relative_tolerance: 1e6,
        absolute_tolerance: 1e6,
        first_step: Some(1.0),
        ..Options::default()
    };
    let mut solver = build(method, &system, &options);
    let mut x = smooth_solution(0.0);
    let mut time = 0.0;
    for n in 1..=steps {
        let limit = 2.0 * n as f64 / steps as f64;
        while time < limit {
            time = solver.step(&mut system as &mut dyn System, time, &mut x, limit).unwrap();
        }
    }
    assert_eq!(solver.work().steps as usize, steps);
    let end = smooth_solution(2.0);
    (0..2).map(|i| (x[i] - end[i]).abs()).fold(0.0, f64::max)
}

#[test]
fn adaptive_methods_converge_with_their_order_where_f_depends_on_time() {
    for (method, order) in [(Method::Rosenbrock, 4.0), (Method::AdaptiveExplicit, 5.0)] {
        let (coarse, fine) = (with_equal_steps(method, 40), with_equal_steps(method, 80));
        let measured = (coarse / fine).log2();
        // For the Rosenbrock method the next term is still the larger one here, which can only add
        // to the measured order; a wrong weight of ∂f/∂t would leave order 2.
        assert!(measured > order - 0.1, "{method}: order {measured}, {coarse:e} {fine:e}");
    }
}

#[test]
fn a_tighter_tolerance_gives_a_smaller_error_inside_steps_too() {
    for method in [Method::Rosenbrock, Method::AdaptiveExplicit] {
        let mut last = f64::INFINITY;
        for tolerance in [1e-3, 1e-5, 1e-7] {
            let (end, inside) = errors(method, 0.0, tolerance);
            // Errors of steps add up along the run, amplified by e^∫J, here less than e².
            assert!(end < 20.0 * tolerance, "{method} at {tolerance:e}: {end:e}");
            assert!(inside < 100.0 * tolerance, "{method} at {tolerance:e}: {inside:e} inside");
            assert!(end < 0.2 * last, "{method} at {tolerance:e}: {end:e} after {last:e}");
            last = end;
        }
    }
}

#[test]
fn backward_differences_follow_their_tolerance_over_four_decades() {
    // Their errors all point to one side, and the first steps are of order 1: SciPy's BDF of the same
    // formulas ends 10, 33 and 10 times the tolerance away.
    let ends = [1e-3, 1e-5, 1e-7].map(|tolerance| {
        let (end, inside) = errors(Method::Bdf, 0.0, tolerance);
        assert!(end < 33.0 * tolerance, "at {tolerance:e}: {end:e}");
        assert!(inside < 100.0 * tolerance, "at {tolerance:e}: {inside:e} inside");
        end
    });
    assert!(ends[2] < 1e-3 * ends[0], "{ends:?}");
}
