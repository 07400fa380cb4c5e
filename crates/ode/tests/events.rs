//! Jumps are hit exactly and not seen early; stops are found; fixed steps keep to their grid.

mod problems;

use fluxline_ode::{
    Driver, Ending, FailureKind, Method, Observer, Options, Pattern, Samples, System, Trouble,
    build,
};
use problems::Problem;

const SWITCH: f64 = 0.3777;

/// A first-order lag of 0.1 s whose input jumps from 0 to 1 at an awkward time.
fn switched_lag() -> impl System {
    let mut problem = Problem::new(
        1,
        |t: f64, x: &[f64], f: &mut [f64]| {
            f[0] = (if t >= SWITCH { 1.0 } else { 0.0 } - x[0]) / 0.1;
        },
        |_: f64, _: &[f64], j: &mut [f64]| j[0] = -10.0,
    );
    problem.events = vec![SWITCH];
    problem
}

fn switched_lag_solution(t: f64) -> f64 {
    if t < SWITCH { 0.0 } else { 1.0 - (-(t - SWITCH) / 0.1).exp() }
}

#[test]
fn an_input_that_jumps_is_not_seen_early_by_any_method() {
    for &method in Method::ALL {
        let mut system = switched_lag();
        let options = Options { step: 1e-3, ..Options::default() };
        let solver = build(method, &system, &options);
        let mut driver = Driver::new(solver, 0.0, &[0.0]);
        // Up to the jump the state stays exactly at zero: any early look would lift it.
        let mut hits = Hits::default();
        driver.advance(&mut system, SWITCH, &mut Samples::none(), &mut hits).unwrap();
        assert_eq!(driver.time(), SWITCH, "{method}");
        assert_eq!(driver.state(), [0.0], "{method}");
        driver.advance(&mut system, 1.0, &mut Samples::none(), &mut hits).unwrap();
        assert!(hits.switch, "{method}");
        // Fixed step h, time constant T: (h/T)^order/2 at most; adaptive: some steps' tolerance.
        let error = (driver.state()[0] - switched_lag_solution(1.0)).abs();
        assert!(error < if method == Method::Euler { 5e-3 } else { 5e-4 }, "{method}: {error:e}");
    }
}

#[test]
fn a_jump_inside_a_step_costs_no_order() {
    // Runge–Kutta with steps of 1/20 time constant: 0.05⁵/120 per step, over ten time constants
    // less than 1e-7 in all; a jump smeared over a step would leave 1e-2.
    let mut system = switched_lag();
    let options = Options { step: 5e-3, ..Options::default() };
    let mut driver = Driver::new(build(Method::Rk4, &system, &options), 0.0, &[0.0]);
    let mut worst: f64 = 0.0;
    let mut observer =
        |t: f64, x: &[f64]| worst = worst.max((x[0] - switched_lag_solution(t)).abs());
    driver.advance(&mut system, 1.0, &mut Samples::every(0.0, 5e-3), &mut observer).unwrap();
    assert!(worst < 1e-7, "{worst:e}");
}

#[derive(Default)]
struct Hits {
    switch: bool,
    times: Vec<f64>,
    samples: Vec<f64>,
}

impl<S: ?Sized> Observer<S> for Hits {
    fn sample(&mut self, _: &mut S, time: f64, _: &[f64]) {
        self.samples.push(time);
    }

    fn kept(&mut self, _: &mut S, time: f64, _: &[f64]) -> bool {
        self.switch |= time == SWITCH;
        self.times.push(time);
        true
    }
}

#[test]
fn fixed_steps_keep_to_their_grid_and_only_an_event_divides_one() {
    let mut system = switched_lag();
    let options = Options { step: 1e-2, ..Options::default() };
    let mut driver = Driver::new(build(Method::Heun, &system, &options), 0.0, &[0.0]);
    let mut hits = Hits::default();
    driver.advance(&mut system, 1.0, &mut Samples::every(0.0, 0.1), &mut hits).unwrap();
    let mut expected: Vec<f64> = (1..=100).map(|n| n as f64 * 1e-2).collect();
    expected.insert(37, SWITCH);
    assert_eq!(hits.times, expected);
    let samples: Vec<f64> = (0..=10).map(|n| n as f64 * 0.1).collect();
    for (sample, expected) in hits.samples.iter().zip(&samples) {
        assert!((sample - expected).abs() < 1e-15);
    }
    assert_eq!(hits.samples.len(), 11);
}

#[test]
fn a_run_in_pieces_gives_the_bits_of_a_run_in_one() {
    for &method in Method::ALL.iter().filter(|method| !method.is_adaptive()) {
        let options = Options { step: 1e-2, ..Options::default() };
        let mut results = Vec::new();
        for pieces in [1, 10] {
            let mut system = switched_lag();
            let mut driver = Driver::new(build(method, &system, &options), 0.0, &[0.25]);
            for n in 1..=pieces {
                let until = n as f64 / pieces as f64;
                driver.advance(&mut system, until, &mut Samples::none(), &mut ()).unwrap();
            }
            results.push(driver.state().to_vec());
        }
        assert_eq!(results[0], results[1], "{method}");
    }
}

/// A mass thrown at a hard stop at 1 m, where it stays: x' = v, v' = a.
struct Thrown {
    pattern: Pattern,
    has_landed: bool,
}

impl System for Thrown {
    fn size(&self) -> usize {
        2
    }

    fn rates(&mut self, _: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        let at_rest = self.has_landed;
        rates[0] = if at_rest { 0.0 } else { x[1] };
        rates[1] = if at_rest { 0.0 } else { 2.0 };
        Ok(())
    }

    fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    fn jacobian(&mut self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        values[0] = if self.has_landed { 0.0 } else { 1.0 };
        Ok(())
    }

    fn nominal(&self, _: usize) -> f64 {
        1e-6
    }

    fn settle(&mut self, _: f64, x: &mut [f64]) -> bool {
        let lands = x[0] >= 1.0 && !self.has_landed;
        if lands {
            x.copy_from_slice(&[1.0, 0.0]);
            self.has_landed = true;
        }
        lands
    }

    fn overrun(&mut self, _: f64, x: &[f64]) -> f64 {
        if self.has_landed { 0.0 } else { (x[0] - 1.0) / 1e-6 }
    }
}

#[derive(Default)]
struct Landing(f64);

impl Observer<Thrown> for Landing {
    fn kept(&mut self, system: &mut Thrown, time: f64, _: &[f64]) -> bool {
        self.0 = time;
        !system.has_landed
    }
}

#[test]
fn an_adaptive_method_lands_on_a_stop_within_what_may_be_overrun() {
    for &method in Method::ALL.iter().filter(|method| method.is_adaptive()) {
        let pattern = Pattern::new(2, [(0, 1)]);
        let mut system = Thrown { pattern, has_landed: false };
        let options = Options { relative_tolerance: 1e-8, ..Options::default() };
        let solver = build(method, &system, &options);
        let mut driver = Driver::new(solver, 0.0, &[0.0, 0.0]);
        let mut landing = Landing::default();
        let ending = driver.advance(&mut system, 5.0, &mut Samples::none(), &mut landing).unwrap();
        assert_eq!(ending, Ending::Stopped);
        // x = t² reaches 1 at 1 s with 2 m/s: 1e-6 m are 5e-7 s.
        assert!((landing.0 - 1.0).abs() <= 5.1e-7, "{method}: {}", landing.0);
        assert_eq!(driver.state(), [1.0, 0.0]);
        // Backward differences begin with order 1, where the tolerance asks for short steps.
        let most = if method == Method::Bdf { 250 } else { 30 };
        assert!(driver.work().steps < most, "{method}: {:?}", driver.work());
    }
}

/// A mass thrown at a wall at 1 m, which takes its speed and lets it go again: x' = v, v' = 2 m/s² till
/// then and −2 m/s² after.
struct Returned(Thrown);

impl System for Returned {
    fn size(&self) -> usize {
        2
    }

    fn rates(&mut self, _: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        rates[0] = x[1];
        // Not constant, or the method would be exact.
        rates[1] = if self.0.has_landed { -2.0 } else { 2.0 } - 0.1 * x[1];
        Ok(())
    }

    fn pattern(&self) -> &Pattern {
        &self.0.pattern
    }

    fn jacobian(&mut self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        values.copy_from_slice(&[1.0, -0.1]);
        Ok(())
    }

    fn settle(&mut self, time: f64, x: &mut [f64]) -> bool {
        self.0.settle(time, x)
    }

    fn overrun(&mut self, time: f64, x: &[f64]) -> f64 {
        1e3 * self.0.overrun(time, x)
    }
}

#[test]
fn the_implicit_fixed_step_keeps_its_order_through_a_stop() {
    // v = (a/c)·(1 − e^(−ct)) both ways, and x its integral; the wall is met where x = 1.
    let drag = 0.1;
    let way = |t: f64| 2.0 / drag * (t - (1.0 - (-drag * t).exp()) / drag);
    let (mut early, mut late) = (1.0, 1.1);
    for _ in 0..60 {
        let middle = 0.5 * (early + late);
        if way(middle) < 1.0 { early = middle } else { late = middle }
    }
    let expected = 1.0 - way(2.0 - early);
    let error = |step: f64| {
        let pattern = Pattern::new(2, [(0, 1), (1, 1)]);
        let mut system = Returned(Thrown { pattern, has_landed: false });
        let options = Options { step, ..Options::default() };
        let mut driver = Driver::new(build(Method::Sdirk2, &system, &options), 0.0, &[0.0, 0.0]);
        driver.advance(&mut system, 2.0, &mut Samples::none(), &mut ()).unwrap();
        // The grid is met again after the stop: a few steps more than without it.
        assert!(driver.work().steps <= (2.0 / step).round() as u64 + 3);
        (driver.state()[0] - expected).abs()
    };
    let errors = [0.04, 0.02, 0.01].map(error);
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.7..2.3).contains(&order), "{errors:?}");
    }
}

#[test]
fn a_state_that_runs_away_is_named_and_the_run_stands_before_it() {
    // x' = x² from 1 is infinite at 1 s.
    for &method in Method::ALL {
        let mut system = Problem::new(
            2,
            |_: f64, x: &[f64], f: &mut [f64]| {
                f[0] = 0.0;
                f[1] = x[1] * x[1];
            },
            |_: f64, x: &[f64], j: &mut [f64]| j.copy_from_slice(&[0.0, 0.0, 0.0, 2.0 * x[1]]),
        );
        let options = Options { step: 1e-3, ..Options::default() };
        let mut driver = Driver::new(build(method, &system, &options), 0.0, &[0.0, 1.0]);
        let failure = driver.advance(&mut system, 2.0, &mut Samples::none(), &mut ());
        // The implicit Euler step of the modified method damps nothing where ∂f/∂x > 0, so it, too,
        // runs away.
        let failure = failure.unwrap_err();
        assert_eq!(failure.state, Some(1), "{method}: {failure}");
        assert!(failure.kind != FailureKind::Singular || method == Method::Sdirk2, "{method}");
        // An implicit step may fail in one of its parts.
        let after = failure.time - driver.time();
        assert!((0.0..1e-3).contains(&after), "{method}: {failure}");
        assert!(driver.time() < 1.05, "{method}: {failure}");
        assert!(driver.state()[1].is_finite(), "{method}");
    }
}
