//! Problems with known answers.

// Each test program uses some of these.
#![allow(dead_code)]

use fluxline_ode::{Pattern, System, Trouble};

/// A system from closures, with a dense Jacobian.
pub struct Problem<F, J> {
    pub rates: F,
    pub jacobian: J,
    pub pattern: Pattern,
    pub nominal: Vec<f64>,
    pub events: Vec<f64>,
}

impl<F, J> Problem<F, J>
where
    F: FnMut(f64, &[f64], &mut [f64]),
    // Row by row.
    J: FnMut(f64, &[f64], &mut [f64]),
{
    pub fn new(size: usize, rates: F, jacobian: J) -> Self {
        let nominal = vec![1.0; size];
        Self { rates, jacobian, pattern: Pattern::dense(size), nominal, events: Vec::new() }
    }
}

impl<F, J> System for Problem<F, J>
where
    F: FnMut(f64, &[f64], &mut [f64]),
    J: FnMut(f64, &[f64], &mut [f64]),
{
    fn size(&self) -> usize {
        self.pattern.size()
    }

    fn rates(&mut self, time: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        (self.rates)(time, x, rates);
        Ok(())
    }

    fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    fn jacobian(&mut self, time: f64, x: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        (self.jacobian)(time, x, values);
        // From rows to columns, in place.
        let size = self.pattern.size();
        for i in 0..size {
            for j in 0..i {
                values.swap(i * size + j, j * size + i);
            }
        }
        Ok(())
    }

    fn nominal(&self, state: usize) -> f64 {
        self.nominal[state]
    }

    fn next_event(&self, time: f64) -> f64 {
        self.events.iter().copied().find(|&event| event > time).unwrap_or(f64::INFINITY)
    }
}

/// x' = −x² + y·cos t + …, chosen so that x = e^(sin t), y = 1/(1+t) solve it: smooth, nonlinear,
/// dependent on time, coupled.
///
/// x' = x·cos t + x·y − x/(1+t),  y' = −y² + (x − e^(sin t))·y.
pub fn smooth() -> impl System {
    Problem::new(
        2,
        |t: f64, x: &[f64], f: &mut [f64]| {
            f[0] = x[0] * t.cos() + x[0] * x[1] - x[0] / (1.0 + t);
            f[1] = -x[1] * x[1] + (x[0] - t.sin().exp()) * x[1];
        },
        |t: f64, x: &[f64], j: &mut [f64]| {
            j[0] = t.cos() + x[1] - 1.0 / (1.0 + t);
            j[1] = x[0];
            j[2] = x[1];
            j[3] = -2.0 * x[1] + x[0] - t.sin().exp();
        },
    )
}

/// The solution of [`smooth`].
pub fn smooth_solution(t: f64) -> [f64; 2] {
    [t.sin().exp(), 1.0 / (1.0 + t)]
}

/// x' = −λ·(x − cos t) − sin t, whose solution from cos t + d decays to cos t (Prothero and
/// Robinson).
pub fn fast_to_slow(lambda: f64) -> impl System {
    Problem::new(
        1,
        move |t: f64, x: &[f64], f: &mut [f64]| f[0] = -lambda * (x[0] - t.cos()) - t.sin(),
        move |_: f64, _: &[f64], j: &mut [f64]| j[0] = -lambda,
    )
}

/// Van der Pol's oscillator in the form of Hairer & Wanner, Solving ODEs II, IV.10:
/// y₁' = y₂, y₂' = ((1 − y₁²)·y₂ − y₁)/ε.
pub fn van_der_pol(epsilon: f64) -> impl System {
    Problem::new(
        2,
        move |_: f64, y: &[f64], f: &mut [f64]| {
            f[0] = y[1];
            f[1] = ((1.0 - y[0] * y[0]) * y[1] - y[0]) / epsilon;
        },
        move |_: f64, y: &[f64], j: &mut [f64]| {
            j[0] = 0.0;
            j[1] = 1.0;
            j[2] = (-2.0 * y[0] * y[1] - 1.0) / epsilon;
            j[3] = (1.0 - y[0] * y[0]) / epsilon;
        },
    )
}

/// Robertson's reaction (Hairer & Wanner, Solving ODEs II, IV.1).
pub fn robertson() -> impl System {
    let mut problem = Problem::new(
        3,
        |_: f64, y: &[f64], f: &mut [f64]| {
            f[0] = -0.04 * y[0] + 1e4 * y[1] * y[2];
            f[2] = 3e7 * y[1] * y[1];
            f[1] = -f[0] - f[2];
        },
        |_: f64, y: &[f64], j: &mut [f64]| {
            j.copy_from_slice(&[
                -0.04,
                1e4 * y[2],
                1e4 * y[1],
                0.04,
                -1e4 * y[2] - 6e7 * y[1],
                -1e4 * y[1],
                0.0,
                6e7 * y[1],
                0.0,
            ]);
        },
    );
    // The second concentration stays below 4e-5.
    problem.nominal = vec![1.0, 1e-4, 1.0];
    problem
}

pub mod two_throttles;
