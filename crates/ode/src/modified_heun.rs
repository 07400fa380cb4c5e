//! Heun's method with one Newton iteration per state, fixed step.
//!
//! A linearised implicit Euler step predicts, a linearised trapezoidal step corrects:
//!
//! x̂ = x₀ + h·f₀/(1 − h·d₀)
//! x₁ = x̂ + (x₀ − x̂ + h/2·(f₀ + f̂))/(1 − h/2·d̂)
//!
//! with d = ∂f_i/∂x_i of each state alone. Malysheva (thesis, LUT University, 2021), equations 4.13
//! and 4.14 (with the unhatted pressure in the numerator of 4.13), after Ellman, who gives them for
//! one pressure. Where d is positive it counts as zero: a state that runs away by itself is not
//! helped by damping, and 1 − h·d could vanish. Whatever is put for d, the order stays 2, because x̂
//! is off by h² only and the iteration shrinks that by a factor of order h. Coupling between states
//! is left explicit: two small volumes next to each other can still be unstable.

use crate::explicit::{end_of_fixed_step, part_of_step};
use crate::norm::not_finite;
use crate::solver::{Failure, FailureKind, Solver, Work, left_of};
use crate::system::{System, Trouble};

/// The modified method of Heun.
#[derive(Clone, Debug)]
pub struct ModifiedHeun {
    step: f64,
    work: Work,
    begin: f64,
    end: f64,
    before: Vec<f64>,
    after: Vec<f64>,
    predicted: Vec<f64>,
    slope_before: Vec<f64>,
    slope: Vec<f64>,
    jacobian: Vec<f64>,
    // Place of each ∂f_i/∂x_i in the Jacobian, where there is one.
    diagonal: Vec<Option<usize>>,
}

impl ModifiedHeun {
    /// For a system, with a step.
    pub fn new(system: &dyn System, step: f64) -> Self {
        let size = system.size();
        let pattern = system.pattern();
        let zeros = || vec![0.0; size];
        Self {
            step,
            work: Work::default(),
            begin: 0.0,
            end: 0.0,
            before: zeros(),
            after: zeros(),
            predicted: zeros(),
            slope_before: zeros(),
            slope: zeros(),
            jacobian: vec![0.0; pattern.len()],
            diagonal: (0..size).map(|i| pattern.find(i, i)).collect(),
        }
    }

    fn damping(&self, state: usize) -> f64 {
        self.diagonal[state].map_or(0.0, |place| self.jacobian[place].min(0.0))
    }

    fn advance(&mut self, system: &mut dyn System, time: f64, end: f64) -> Result<(), Trouble> {
        let step = end - time;
        let late = left_of(time, end);
        system.rates(time, &self.before, &mut self.slope_before)?;
        system.jacobian(time, &self.before, &mut self.jacobian)?;
        for i in 0..self.before.len() {
            let rise = step * self.slope_before[i] / (1.0 - step * self.damping(i));
            self.predicted[i] = self.before[i] + rise;
        }
        system.rates(late, &self.predicted, &mut self.slope)?;
        system.jacobian(late, &self.predicted, &mut self.jacobian)?;
        for i in 0..self.before.len() {
            let missing = self.before[i] - self.predicted[i]
                + 0.5 * step * (self.slope_before[i] + self.slope[i]);
            self.after[i] = self.predicted[i] + missing / (1.0 - 0.5 * step * self.damping(i));
        }
        self.work.evaluations += 2;
        self.work.jacobians += 2;
        Ok(())
    }
}

impl Solver for ModifiedHeun {
    fn step(
        &mut self,
        system: &mut dyn System,
        time: f64,
        x: &mut [f64],
        limit: f64,
    ) -> Result<f64, Failure> {
        let end = end_of_fixed_step(time, self.step, limit);
        let step = end - time;
        self.before.copy_from_slice(x);
        self.advance(system, time, end)
            .map_err(|t| Failure::plain(FailureKind::Trouble(t), time, step, None))?;
        if let Some(state) = not_finite(&self.after) {
            return Err(Failure::plain(FailureKind::NotFinite, time, step, Some(state)));
        }
        (self.begin, self.end) = (time, end);
        self.work.steps += 1;
        x.copy_from_slice(&self.after);
        Ok(end)
    }

    /// A line: the slopes of a state that is much faster than the step would lead far astray, and a
    /// line is off by h² only, as the method is.
    fn interpolate(&self, time: f64, x: &mut [f64]) {
        let s = part_of_step(self.begin, self.end, time);
        for i in 0..x.len() {
            x[i] = (1.0 - s) * self.before[i] + s * self.after[i];
        }
    }

    fn restart(&mut self) {}

    fn work(&self) -> Work {
        self.work
    }

    fn order(&self) -> usize {
        2
    }

    fn fixed_step(&self) -> Option<f64> {
        Some(self.step)
    }
}
