//! Explicit methods of fixed step: Euler, Heun, Runge–Kutta.
//!
//! Euler: x₁ = x₀ + h·f(t₀, x₀).
//! Heun: x̂ = x₀ + h·f(t₀, x₀), x₁ = x₀ + h/2·(f(t₀, x₀) + f(t₁, x̂)).
//! Runge–Kutta: x₁ = x₀ + h·(s₁ + 2s₂ + 2s₃ + s₄)/6 with slopes at the beginning, twice in the
//! middle, and at the end. Malysheva (thesis, LUT University, 2021), equations 4.4–4.12.
//!
//! Each is stable only while h·|λ| of the fastest eigenvalue stays below about 2 (Runge–Kutta 2.785
//! on the negative axis).

use crate::norm::not_finite;
use crate::solver::{Failure, FailureKind, Solver, Work, left_of};
use crate::system::System;

/// Which of the explicit methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tableau {
    /// Order 1.
    Euler,
    /// Order 2.
    Heun,
    /// Order 4.
    Rk4,
}

/// An explicit method of fixed step.
#[derive(Clone, Debug)]
pub struct Explicit {
    tableau: Tableau,
    step: f64,
    work: Work,
    begin: f64,
    end: f64,
    before: Vec<f64>,
    after: Vec<f64>,
    slope_before: Vec<f64>,
    slope_after: Vec<f64>,
    // The slope at the end of the last step is still the one at the beginning of the next.
    slope_is_known: bool,
    stage: Vec<f64>,
    slope: Vec<f64>,
    sum: Vec<f64>,
}

impl Explicit {
    /// A method for so many states.
    pub fn new(tableau: Tableau, size: usize, step: f64) -> Self {
        let zeros = || vec![0.0; size];
        Self {
            tableau,
            step,
            work: Work::default(),
            begin: 0.0,
            end: 0.0,
            before: zeros(),
            after: zeros(),
            slope_before: zeros(),
            slope_after: zeros(),
            slope_is_known: false,
            stage: zeros(),
            slope: zeros(),
            sum: zeros(),
        }
    }

    fn advance(
        &mut self,
        system: &mut dyn System,
        time: f64,
        end: f64,
    ) -> Result<(), crate::system::Trouble> {
        let step = end - time;
        // The left limit at the end: see `Solver::step`.
        let late = left_of(time, end);
        let Self { before, after, slope_before, slope_after, stage, slope, sum, work, .. } = self;
        let size = before.len();
        match self.tableau {
            Tableau::Euler => {
                for i in 0..size {
                    after[i] = before[i] + step * slope_before[i];
                }
            }
            Tableau::Heun => {
                for i in 0..size {
                    stage[i] = before[i] + step * slope_before[i];
                }
                system.rates(late, stage, slope)?;
                work.evaluations += 1;
                for i in 0..size {
                    after[i] = before[i] + 0.5 * step * (slope_before[i] + slope[i]);
                }
            }
            Tableau::Rk4 => {
                sum.copy_from_slice(slope_before);
                slope.copy_from_slice(slope_before);
                let middle = time + 0.5 * step;
                for (part, at, weight) in [(0.5, middle, 2.0), (0.5, middle, 2.0), (1.0, late, 1.0)]
                {
                    for i in 0..size {
                        stage[i] = before[i] + part * step * slope[i];
                    }
                    system.rates(at, stage, slope)?;
                    for i in 0..size {
                        sum[i] += weight * slope[i];
                    }
                }
                work.evaluations += 3;
                for i in 0..size {
                    after[i] = before[i] + step / 6.0 * sum[i];
                }
                // Needed for the cubic between the ends, and again as the first slope of the next
                // step: it costs nothing.
                if not_finite(after).is_none() {
                    system.rates(late, after, slope_after)?;
                    work.evaluations += 1;
                }
            }
        }
        Ok(())
    }
}

impl Solver for Explicit {
    fn step(
        &mut self,
        system: &mut dyn System,
        time: f64,
        x: &mut [f64],
        limit: f64,
    ) -> Result<f64, Failure> {
        let end = end_of_fixed_step(time, self.step, limit);
        let step = end - time;
        let trouble = |t| Failure::plain(FailureKind::Trouble(t), time, step, None);
        let is_known = self.slope_is_known && self.end == time && *x == *self.after;
        self.slope_is_known = false;
        self.before.copy_from_slice(x);
        if is_known {
            std::mem::swap(&mut self.slope_before, &mut self.slope_after);
        } else {
            system.rates(time, x, &mut self.slope_before).map_err(trouble)?;
            self.work.evaluations += 1;
        }
        self.advance(system, time, end).map_err(trouble)?;
        if let Some(state) = not_finite(&self.after) {
            return Err(Failure::plain(FailureKind::NotFinite, time, step, Some(state)));
        }
        (self.begin, self.end) = (time, end);
        self.slope_is_known = self.tableau == Tableau::Rk4;
        self.work.steps += 1;
        x.copy_from_slice(&self.after);
        Ok(end)
    }

    /// Through both ends: a line (Euler), a parabola with the slope at the beginning (Heun), a cubic
    /// with both slopes (Runge–Kutta).
    fn interpolate(&self, time: f64, x: &mut [f64]) {
        let step = self.end - self.begin;
        let s = part_of_step(self.begin, self.end, time);
        for i in 0..x.len() {
            let (a, b) = (self.before[i], self.after[i]);
            let line = (1.0 - s) * a + s * b;
            let early = step * self.slope_before[i] - (b - a);
            x[i] = match self.tableau {
                Tableau::Euler => line,
                Tableau::Heun => line + s * (1.0 - s) * early,
                Tableau::Rk4 => {
                    let late = (b - a) - step * self.slope_after[i];
                    line + s * (1.0 - s) * ((1.0 - s) * early + s * late)
                }
            };
        }
    }

    fn restart(&mut self) {
        self.slope_is_known = false;
    }

    fn work(&self) -> Work {
        self.work
    }

    fn order(&self) -> usize {
        match self.tableau {
            Tableau::Euler => 1,
            Tableau::Heun => 2,
            Tableau::Rk4 => 4,
        }
    }

    fn fixed_step(&self) -> Option<f64> {
        Some(self.step)
    }
}

/// Where a step of fixed length ends: the limit, when rounding alone lies between.
pub(crate) fn end_of_fixed_step(time: f64, step: f64, limit: f64) -> f64 {
    if step * (1.0 + 1e-6) >= limit - time { limit } else { time + step }
}

/// The part of a step that has passed, between 0 and 1.
pub(crate) fn part_of_step(begin: f64, end: f64, time: f64) -> f64 {
    if end > begin { ((time - begin) / (end - begin)).clamp(0.0, 1.0) } else { 1.0 }
}
