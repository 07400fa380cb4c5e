//! The L-stable singly diagonally implicit method of two stages and order 2, fixed step.
//!
//! X₁ = x₀ + h·γ·f(t₀ + γh, X₁)
//! X₂ = x₀ + h·(1−γ)·f(t₀ + γh, X₁) + h·γ·f(t₁, X₂),  x₁ = X₂,  γ = 1 − 1/√2
//!
//! Alexander (SIAM J. Numer. Anal. 14, 1977); Hairer & Wanner, Solving ODEs II, IV.6. Both stages
//! have the same matrix. The last stage is the result, so a state that is infinitely fast ends on
//! its equilibrium. A step that Newton's method does not solve is taken in halves, quarters and so
//! on; the work of a step is bounded.

use crate::explicit::{end_of_fixed_step, part_of_step};
use crate::method::Options;
use crate::newton::{Newton, Unsolved};
use crate::norm::not_finite;
use crate::solver::{Failure, FailureKind, Solver, Work, left_of};
use crate::system::System;

const GAMMA: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;

/// The implicit method of fixed step.
#[derive(Debug)]
pub struct Sdirk2 {
    step: f64,
    halvings: u32,
    work: Work,
    newton: Newton,
    // Place of each ∂f_i/∂x_i in the Jacobian, where there is one.
    diagonal: Vec<Option<usize>>,
    begin: f64,
    end: f64,
    before: Vec<f64>,
    after: Vec<f64>,
    // Slope at the end of the last step, and half the second derivative over it.
    slope: Vec<f64>,
    bend: Vec<f64>,
    has_past: bool,
    current: Vec<f64>,
    base: Vec<f64>,
    guess: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Sdirk2 {
    /// For a system, with the step and the limits of Newton's method from the options.
    pub fn new(system: &dyn System, options: &Options) -> Self {
        let size = system.size();
        let pattern = system.pattern();
        let zeros = || vec![0.0; size];
        Self {
            step: options.step,
            halvings: options.halvings.min(30),
            work: Work::default(),
            newton: Newton::new(system, options),
            diagonal: (0..size).map(|i| pattern.find(i, i)).collect(),
            begin: 0.0,
            end: 0.0,
            before: zeros(),
            after: zeros(),
            slope: zeros(),
            bend: zeros(),
            has_past: false,
            current: zeros(),
            base: zeros(),
            guess: zeros(),
            first: zeros(),
            second: zeros(),
        }
    }

    /// One undivided step from `current`; leaves its end in `second` and renews the past.
    fn advance(&mut self, system: &mut dyn System, time: f64, end: f64) -> Result<(), Unsolved> {
        let size = self.current.len();
        let step = end - time;
        let a = GAMMA * step;
        for i in 0..size {
            let ahead = if self.has_past { a * (self.slope[i] + a * self.bend[i]) } else { 0.0 };
            self.guess[i] = self.current[i] + ahead;
        }
        self.first.copy_from_slice(&self.guess);
        let Self { newton, current, first, work, .. } = self;
        newton.solve(system, time + a, a, current, first, work)?;
        for i in 0..size {
            let rise = self.first[i] - self.current[i];
            self.base[i] = self.current[i] + (1.0 - GAMMA) / GAMMA * rise;
            // The guess for the second stage: the parabola of the past carried on through the first
            // stage where it had foreseen that; a line where there is no past; and where a state is
            // faster than the step and has just jumped, the place where it landed.
            let miss = (self.first[i] - self.guess[i]).abs();
            let is_foreseen =
                miss <= 0.5 * rise.abs() || miss <= self.newton.scale.allowed(i, self.first[i]);
            self.second[i] = if self.has_past && is_foreseen {
                let drift = step * self.slope[i];
                self.current[i] + drift + (rise - GAMMA * drift) / (GAMMA * GAMMA)
            } else if self.diagonal[i].is_some_and(|d| a * self.newton.jacobian[d] < -1.0) {
                self.first[i]
            } else {
                self.current[i] + rise / GAMMA
            };
        }
        let Self { newton, base, second, work, .. } = self;
        newton.solve(system, left_of(time, end), a, base, second, work)?;
        for i in 0..size {
            self.slope[i] = (self.second[i] - self.base[i]) / a;
            self.bend[i] =
                (self.current[i] - self.second[i] + step * self.slope[i]) / (step * step);
        }
        self.has_past = true;
        Ok(())
    }

    /// The whole step, divided where it must be; leaves the result in `current`.
    fn advance_divided(
        &mut self,
        system: &mut dyn System,
        time: f64,
        end: f64,
    ) -> Result<(), Failure> {
        // Positions in units of the smallest part, so that the parts add up to the whole exactly.
        let whole = 1u64 << self.halvings;
        let at = |done: u64| {
            if done == whole { end } else { time + (end - time) * (done as f64 / whole as f64) }
        };
        let (mut done, mut part) = (0, whole);
        while done < whole {
            let (from, to) = (at(done), at(done + part));
            self.newton.is_recent = false;
            match self.advance(system, from, to) {
                Ok(()) => {
                    std::mem::swap(&mut self.current, &mut self.second);
                    done += part;
                    // Longer again, where the grid of halves allows.
                    if part < whole && done % (2 * part) == 0 {
                        part *= 2;
                    }
                }
                Err(unsolved) => {
                    self.has_past = false;
                    self.newton.forget();
                    self.work.rejected += 1;
                    if part == 1 {
                        let Unsolved { kind, state, residual, allowed } = unsolved;
                        let plain = Failure::plain(kind, from, to - from, state);
                        return Err(Failure { residual, allowed, ..plain });
                    }
                    part /= 2;
                }
            }
        }
        Ok(())
    }
}

impl Solver for Sdirk2 {
    fn step(
        &mut self,
        system: &mut dyn System,
        time: f64,
        x: &mut [f64],
        limit: f64,
    ) -> Result<f64, Failure> {
        let end = end_of_fixed_step(time, self.step, limit);
        if self.end != time || *x != *self.after {
            self.has_past = false;
        }
        self.current.copy_from_slice(x);
        self.advance_divided(system, time, end)?;
        if let Some(state) = not_finite(&self.current) {
            self.restart();
            return Err(Failure::plain(FailureKind::NotFinite, time, end - time, Some(state)));
        }
        self.before.copy_from_slice(x);
        self.after.copy_from_slice(&self.current);
        (self.begin, self.end) = (time, end);
        self.work.steps += 1;
        x.copy_from_slice(&self.after);
        Ok(end)
    }

    /// The parabola through both ends with the slope at the end, which is smooth even where a fast
    /// state has jumped within the step.
    fn interpolate(&self, time: f64, x: &mut [f64]) {
        let step = self.end - self.begin;
        let s = part_of_step(self.begin, self.end, time);
        for i in 0..x.len() {
            let (a, b) = (self.before[i], self.after[i]);
            let late = b - a - step * self.slope[i];
            x[i] = (1.0 - s) * a + s * b + s * (1.0 - s) * late;
        }
    }

    fn restart(&mut self) {
        self.has_past = false;
        self.newton.forget();
    }

    fn work(&self) -> Work {
        self.work
    }

    fn order(&self) -> usize {
        2
    }

    fn fixed_step(&self) -> Option<f64> {
        Some(self.step)
    }

    /// A stop that is met up to a step late costs the order: what moves on from there is late for
    /// good.
    fn tries_at_stops(&self) -> usize {
        2
    }
}
