//! Stiff problems against closed forms and published values.

mod problems;

use fluxline_ode::{Driver, Method, Options, Samples, System, Work, build};
use problems::{fast_to_slow, robertson, van_der_pol};

fn run<S: System>(
    system: &mut S,
    method: Method,
    options: &Options,
    until: f64,
    x: &[f64],
) -> (Vec<f64>, Work) {
    let solver = build(method, system, options);
    let mut driver = Driver::new(solver, 0.0, x);
    driver.advance(system, until, &mut Samples::none(), &mut ()).unwrap();
    (driver.state().to_vec(), driver.work())
}

const IMPLICIT: [Method; 3] = [Method::Sdirk2, Method::Rosenbrock, Method::Bdf];

#[test]
fn a_fast_state_that_starts_far_off_is_soon_where_the_closed_form_says() {
    // x = cos t + d·e^(−λt), a hundred thousand times faster than the driving signal.
    for method in IMPLICIT {
        let options = Options { step: 1e-3, ..Options::default() };
        let (x, work) = run(&mut fast_to_slow(1e5), method, &options, 1.0, &[11.0]);
        // Fixed step: the remaining error of a method of stiff order q on this problem is below
        // h^(q+1) (Hairer & Wanner, IV.15), here 1e-6; adaptive: the tolerance.
        assert!((x[0] - 1f64.cos()).abs() < 2e-4, "{method}: {} {work:?}", x[0]);
        assert!(work.steps <= 1010, "{method}: {work:?}");
    }
}

#[test]
fn implicit_steps_a_thousand_times_the_time_constant_damp_at_once() {
    // R(−1000): for Alexander's method (1 + (1−2γ)z)/(1 − γz)² → 4.8e-3 ; any L-stable method ≪ 1.
    for (method, bound) in [(Method::Sdirk2, 5e-3), (Method::ModifiedHeun, 1.0)] {
        let options = Options { step: 1.0, relative_tolerance: 1e-9, ..Options::default() };
        let mut system = problems::Problem::new(
            1,
            |_: f64, x: &[f64], f: &mut [f64]| f[0] = -1000.0 * x[0],
            |_: f64, _: &[f64], j: &mut [f64]| j[0] = -1000.0,
        );
        let (x, _) = run(&mut system, method, &options, 1.0, &[1.0]);
        assert!(x[0].abs() < bound, "{method}: {}", x[0]);
    }
}

#[test]
fn robertsons_reaction_ends_at_the_published_values() {
    // At t = 40: 0.7158, 9.185e-6, 0.2842 (example cvRoberts of SUNDIALS); the further digits are
    // those of SciPy 1.17, Radau at a tolerance of 3e-13.
    let options = Options {
        relative_tolerance: 1e-7,
        absolute_tolerance: 1e-9,
        step: 1e-2,
        ..Options::default()
    };
    for (method, allowed) in
        [(Method::Rosenbrock, 1e-6), (Method::Bdf, 1e-5), (Method::Sdirk2, 1e-5)]
    {
        let (y, work) = run(&mut robertson(), method, &options, 40.0, &[1.0, 0.0, 0.0]);
        for (y, exact) in y.iter().zip([0.715827068719, 9.185534764558e-6, 0.284163745746]) {
            assert!((y / exact - 1.0).abs() < allowed, "{method}: {y} for {exact}; {work:?}");
        }
    }
}

#[test]
fn van_der_pols_oscillator_ends_at_the_published_values() {
    // ε = 1e-6 from (2, −0.66) to t = 2: 1.7061677, −0.8928097 (Hairer & Wanner, IV.10; SciPy 1.17,
    // Radau at 1e-11: 1.7061674, −0.8928100). On the slow manifold y₂ = y₁/(1 − y₁²), whose slope is
    // about 1 there; the errors of the steps add up over the run.
    let options =
        Options { relative_tolerance: 1e-6, absolute_tolerance: 1e-6, ..Options::default() };
    for method in [Method::Rosenbrock, Method::Bdf] {
        let (y, work) = run(&mut van_der_pol(1e-6), method, &options, 2.0, &[2.0, -0.66]);
        assert!((y[0] - 1.7061677).abs() < 2e-5, "{method}: {} {work:?}", y[0]);
        assert!((y[1] + 0.8928097).abs() < 6e-5, "{method}: {} {work:?}", y[1]);
    }
}

#[test]
fn a_fixed_implicit_step_goes_round_the_oscillator_without_failing() {
    // Jumps of van der Pol's oscillator with ε = 1e-6 at a step of 1e-3: thousands of times the
    // fast time constant.
    let options = Options { step: 1e-3, ..Options::default() };
    let (y, work) = run(&mut van_der_pol(1e-6), Method::Sdirk2, &options, 11.0, &[2.0, -0.66]);
    assert!(y[0].is_finite() && y[1].is_finite(), "{y:?}");
    // A jump that one step does not solve is solved in parts of it.
    assert_eq!(work.steps, 11_000);
}

#[test]
fn steps_grow_where_a_circuit_has_come_to_rest_at_any_tolerance() {
    // A small volume between two throttles, p₁' = c₁·(k·√(p_s − p₁) − k·√(p₁ − p₂)), and a large one
    // that drains: at rest p_s/3 lies across each of the three.
    let (supply, k) = (1.5e7f64, 5.6e-7);
    let (small, large) = (1.5e9 / 1e-7, 1.5e9 / 1e-3);
    let rest = [2.0 / 3.0 * supply, supply / 3.0];
    for relative in [1e-5, 1e-7, 1e-9, 1e-11] {
        let options = Options {
            relative_tolerance: relative,
            absolute_tolerance: relative,
            step: 1e-4,
            ..Options::default()
        };
        for method in [Method::Rosenbrock, Method::Bdf] {
            let mut system = problems::Problem::new(
                2,
                |_: f64, p: &[f64], f: &mut [f64]| {
                    let first = k * (supply - p[0]).abs().sqrt();
                    let second = k * (p[0] - p[1]).abs().sqrt();
                    f[0] = small * (first - second);
                    f[1] = large * (second - k * p[1].abs().sqrt());
                },
                |_: f64, p: &[f64], j: &mut [f64]| {
                    let slope = |drop: f64| 0.5 * k / drop.abs().sqrt();
                    let (first, second) = (slope(supply - p[0]), slope(p[0] - p[1]));
                    j[0] = -small * (first + second);
                    j[1] = small * second;
                    j[2] = large * second;
                    j[3] = -large * (second + slope(p[1]));
                },
            );
            let solver = build(method, &system, &options);
            // Late enough for the first steps to be near the rounding of time.
            let mut driver = Driver::new(solver, 0.3, &[9e6, 4e6]);
            driver.advance(&mut system, 10.0, &mut Samples::none(), &mut ()).unwrap();
            let (p, work) = (driver.state(), driver.work());

            for (p, rest) in p.iter().zip(rest) {
                assert!(
                    (p / rest - 1.0).abs() < 10.0 * relative,
                    "{method} {relative}: {p} {rest}"
                );
            }
            // Steps of a transient grow in number with the tolerance to the power −1/4 or less (the
            // order of Rosenbrock's method); at rest there are next to none.
            let most = 300.0 * relative.powf(-0.25) / 1e-5f64.powf(-0.25);
            assert!(((work.steps + work.rejected) as f64) < most, "{method} {relative}: {work:?}");
        }
    }
}
