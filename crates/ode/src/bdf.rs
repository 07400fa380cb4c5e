//! Backward differentiation of orders 1 to 5, step and order chosen by tolerance.
//!
//! The numerical differentiation formulas of Shampine and Reichelt (SIAM J. Sci. Comput. 18, 1997,
//! section 2), with backward differences ∇ʲx kept on a grid of equal steps:
//!
//! (I − c·J)·δ = c·f(t₁, x) − ψ − d,  c = h/((1 − κ_k)·γ_k),  ψ = Σ γ_j·∇ʲx/((1 − κ_k)·γ_k)
//!
//! where x is the prediction Σ ∇ʲx plus d. One system of equations per step, and a matrix that
//! lasts for many steps: the cheapest method per step for large smooth circuits; each event sends
//! it back to order 1.

use crate::explicit::part_of_step;
use crate::first_step::{Start, first_step};
use crate::matrix::Shifted;
use crate::method::Options;
use crate::norm::{Scale, not_finite};
use crate::solver::{Failure, FailureKind, Solver, Work, left_of};
use crate::system::{System, Trouble};

const HIGHEST: usize = 5;
const ROWS: usize = HIGHEST + 3;
/// κ of the formulas; that of order 5 is the plain backward formula.
const KAPPA: [f64; 6] = [0.0, -0.1850, -1.0 / 9.0, -0.0823, -0.0415, 0.0];
const ITERATIONS: usize = 4;
const LEAST_FACTOR: f64 = 0.2;
const LARGEST_FACTOR: f64 = 10.0;

/// γ_k = Σ_{j≤k} 1/j.
fn gamma(k: usize) -> f64 {
    (1..=k).map(|j| 1.0 / j as f64).sum()
}

fn alpha(k: usize) -> f64 {
    (1.0 - KAPPA[k]) * gamma(k)
}

/// The error of a step is this times ∇^{k+1}x.
fn error_constant(k: usize) -> f64 {
    KAPPA[k] * gamma(k) + 1.0 / (k as f64 + 1.0)
}

/// The method of backward differences.
#[derive(Debug)]
pub struct Bdf {
    scale: Scale,
    max_step: f64,
    min_step: f64,
    first_step: Option<f64>,
    newton_tolerance: f64,
    // Corrections below this are rounding, in the norm of the tolerances.
    rounding: f64,
    work: Work,
    matrix: Shifted,
    jacobian: Vec<f64>,
    has_jacobian: bool,
    is_factorised: bool,
    // Step and order of the differences; the step is zero after a restart.
    step: f64,
    order: usize,
    // Steps taken without a change of step or order.
    equal: usize,
    differences: [Vec<f64>; ROWS],
    begin: f64,
    end: f64,
    before: Vec<f64>,
    after: Vec<f64>,
    // The polynomial of the last step.
    kept: [Vec<f64>; HIGHEST + 1],
    kept_order: usize,
    kept_step: f64,
    predicted: Vec<f64>,
    psi: Vec<f64>,
    x: Vec<f64>,
    d: Vec<f64>,
    correction: Vec<f64>,
    rates: Vec<f64>,
}

/// How Newton's method ended.
enum Solved {
    After(usize),
    Not { worst: usize },
}

impl Bdf {
    /// For a system, with the tolerances of the options.
    pub fn new(system: &dyn System, options: &Options) -> Self {
        let zeros = || vec![0.0; system.size()];
        let relative = options.relative_tolerance;
        Self {
            scale: Scale::new(system, options),
            max_step: options.max_step,
            min_step: options.min_step,
            first_step: options.first_step,
            newton_tolerance: (10.0 * f64::EPSILON / relative).max(relative.sqrt().min(0.03)),
            rounding: 100.0 * f64::EPSILON / relative,
            work: Work::default(),
            matrix: Shifted::new(system),
            jacobian: vec![0.0; system.pattern().len()],
            has_jacobian: false,
            is_factorised: false,
            step: 0.0,
            order: 1,
            equal: 0,
            differences: std::array::from_fn(|_| zeros()),
            begin: 0.0,
            end: 0.0,
            before: zeros(),
            after: zeros(),
            kept: std::array::from_fn(|_| zeros()),
            kept_order: 0,
            kept_step: 1.0,
            predicted: zeros(),
            psi: zeros(),
            x: zeros(),
            d: zeros(),
            correction: zeros(),
            rates: zeros(),
        }
    }

    /// Differences of the same polynomial on another grid: ∇' = (R(factor)·R(1))ᵀ·∇.
    fn rescale(&mut self, factor: f64) {
        let k = self.order;
        let table = |factor: f64| {
            let mut r = [[0.0; HIGHEST + 1]; HIGHEST + 1];
            for j in 0..=k {
                r[0][j] = 1.0;
                for i in 1..=k {
                    r[i][j] = if j == 0 {
                        0.0
                    } else {
                        r[i - 1][j] * (i as f64 - 1.0 - factor * j as f64) / i as f64
                    };
                }
            }
            r
        };
        let (r, u) = (table(factor), table(1.0));
        let mut product = [[0.0; HIGHEST + 1]; HIGHEST + 1];
        for i in 0..=k {
            for j in 0..=k {
                product[i][j] = (0..=k).map(|m| r[i][m] * u[m][j]).sum();
            }
        }
        for state in 0..self.x.len() {
            let old: [f64; HIGHEST + 1] =
                std::array::from_fn(|j| if j <= k { self.differences[j][state] } else { 0.0 });
            for j in 0..=k {
                self.differences[j][state] = (0..=k).map(|i| product[i][j] * old[i]).sum();
            }
        }
        self.step *= factor;
        self.equal = 0;
        self.is_factorised = false;
    }

    fn begin_anew(
        &mut self,
        system: &mut dyn System,
        time: f64,
        x: &[f64],
        limit: f64,
    ) -> Result<(), Trouble> {
        system.rates(time, x, &mut self.rates)?;
        self.work.evaluations += 1;
        self.step = match self.first_step {
            Some(step) => step,
            None => {
                let Self { scale, work, predicted, correction, rates, max_step, .. } = &mut *self;
                let start = Start { time, limit, max_step: *max_step, order: 1, x, rates };
                first_step(system, scale, &start, work, predicted, correction)?
            }
        };
        self.order = 1;
        self.equal = 0;
        self.differences[0].copy_from_slice(x);
        for i in 0..x.len() {
            self.differences[1][i] = self.step * self.rates[i];
            for row in 2..ROWS {
                self.differences[row][i] = 0.0;
            }
        }
        self.has_jacobian = false;
        self.is_factorised = false;
        Ok(())
    }

    fn newton(&mut self, system: &mut dyn System, at: f64, c: f64) -> Result<Solved, Trouble> {
        self.x.copy_from_slice(&self.predicted);
        self.d.fill(0.0);
        let (mut last, mut rate) = (f64::NAN, f64::NAN);
        let mut worst = 0;
        for iteration in 0..ITERATIONS {
            system.rates(at, &self.x, &mut self.correction)?;
            self.work.evaluations += 1;
            for i in 0..self.x.len() {
                self.correction[i] = c * self.correction[i] - self.psi[i] - self.d[i];
            }
            self.matrix.solve(&mut self.correction);
            self.work.newton_iterations += 1;
            let norm;
            (norm, worst) = self.scale.worst(&self.correction, &self.predicted);
            // At rest a correction is some units in the last place and does not shrink any more; a
            // rate of convergence found from it would refuse every step.
            if norm <= self.rounding {
                return Ok(Solved::After(iteration + 1));
            }
            if iteration > 0 {
                rate = norm / last;
            }
            let left = (ITERATIONS - iteration) as i32;
            if !norm.is_finite()
                || rate >= 1.0
                || rate.powi(left) / (1.0 - rate) * norm > self.newton_tolerance
            {
                break;
            }
            for i in 0..self.x.len() {
                self.x[i] += self.correction[i];
                self.d[i] += self.correction[i];
            }
            if norm == 0.0 || rate / (1.0 - rate) * norm < self.newton_tolerance {
                return Ok(Solved::After(iteration + 1));
            }
            last = norm;
        }
        Ok(Solved::Not { worst })
    }

    /// The prediction, and ψ.
    fn predict(&mut self) {
        let k = self.order;
        let a = alpha(k);
        for i in 0..self.x.len() {
            self.predicted[i] = (0..=k).map(|j| self.differences[j][i]).sum();
            self.psi[i] = (1..=k).map(|j| gamma(j) * self.differences[j][i]).sum::<f64>() / a;
        }
    }

    /// Keeps the step that is in `x` and `d`: new differences, and the polynomial for samples.
    fn keep(&mut self, time: f64, x: &mut [f64], end: f64) {
        let k = self.order;
        self.before.copy_from_slice(x);
        for i in 0..x.len() {
            self.differences[k + 2][i] = self.d[i] - self.differences[k + 1][i];
            self.differences[k + 1][i] = self.d[i];
            for row in (0..=k).rev() {
                self.differences[row][i] += self.differences[row + 1][i];
            }
        }
        // So that the next step recognises its beginning.
        self.differences[0].copy_from_slice(&self.x);
        self.after.copy_from_slice(&self.x);
        x.copy_from_slice(&self.x);
        for row in 0..=k {
            self.kept[row].copy_from_slice(&self.differences[row]);
        }
        (self.kept_order, self.kept_step) = (k, self.step);
        (self.begin, self.end) = (time, end);
        self.work.steps += 1;
        self.equal += 1;
    }

    /// Step and order for what follows, after enough equal steps to compare orders.
    fn choose(&mut self, error: f64, safety: f64) {
        let k = self.order;
        if self.equal < k + 1 {
            return;
        }
        let norm = |order: usize| {
            let (worst, _) = self.scale.worst(&self.differences[order + 1], &self.after);
            error_constant(order) * worst
        };
        let factor = |error: f64, order: usize| error.max(1e-20).powf(-1.0 / (order as f64 + 1.0));
        let mut best = (factor(error, k), k);
        if k > 1 {
            let lower = factor(norm(k - 1), k - 1);
            if lower > best.0 {
                best = (lower, k - 1);
            }
        }
        if k < HIGHEST {
            let higher = factor(norm(k + 1), k + 1);
            if higher > best.0 {
                best = (higher, k + 1);
            }
        }
        self.order = best.1;
        let factor = (safety * best.0).min(LARGEST_FACTOR).min(self.max_step / self.step);
        self.rescale(factor);
    }
}

impl Solver for Bdf {
    fn step(
        &mut self,
        system: &mut dyn System,
        time: f64,
        x: &mut [f64],
        limit: f64,
    ) -> Result<f64, Failure> {
        let trouble = |t| Failure::plain(FailureKind::Trouble(t), time, 0.0, None);
        // Shorter steps would be rounding: the time must move.
        let shortest = self.min_step.max(16.0 * f64::EPSILON * time.abs());
        if self.step == 0.0 || self.end != time || *x != *self.after {
            self.begin_anew(system, time, x, limit).map_err(trouble)?;
        }
        let longest = self.max_step.max(shortest);
        if self.step > longest {
            self.rescale(longest / self.step);
        } else if self.step < shortest {
            // With room: the shortest step grows with time, and one that is raised before every step
            // is never the same often enough for a longer one to be chosen.
            self.rescale((2.0 * shortest).min(longest) / self.step);
        }
        let mut is_present = false;
        loop {
            let mut end = time + self.step;
            if end >= limit || 1.0001 * self.step >= limit - time {
                end = limit;
                let factor = (end - time) / self.step;
                if (factor - 1.0).abs() > 1e-9 {
                    self.rescale(factor);
                }
            }
            let tried = end - time;
            let late = left_of(time, end);
            self.predict();
            let c = tried / alpha(self.order);
            let mut refusal = None;
            let mut iterations = 0;
            loop {
                if !self.has_jacobian {
                    let at = system.jacobian(late, &self.predicted, &mut self.jacobian);
                    if let Err(t) = at {
                        refusal = Some(trouble(t));
                        break;
                    }
                    self.work.jacobians += 1;
                    self.has_jacobian = true;
                    is_present = true;
                    self.is_factorised = false;
                }
                if !self.is_factorised {
                    if let Err(singular) = self.matrix.factorise(c, &self.jacobian) {
                        let state = Some(singular.0);
                        refusal = Some(Failure::plain(FailureKind::Singular, time, tried, state));
                        break;
                    }
                    self.work.factorisations += 1;
                    self.is_factorised = true;
                }
                match self.newton(system, late, c) {
                    Ok(Solved::After(count)) => iterations = count,
                    Ok(Solved::Not { .. }) | Err(_) if !is_present => {
                        self.has_jacobian = false;
                        continue;
                    }
                    Ok(Solved::Not { worst }) => {
                        let kind = FailureKind::NewtonFailed;
                        let allowed = self.scale.allowed(worst, self.predicted[worst]);
                        refusal = Some(Failure {
                            residual: self.correction[worst].abs(),
                            allowed: self.newton_tolerance * allowed,
                            ..Failure::plain(kind, time, tried, Some(worst))
                        });
                    }
                    Err(t) => refusal = Some(trouble(t)),
                }
                break;
            }
            let mut factor = 0.5;
            if refusal.is_none() {
                let most = 2 * ITERATIONS;
                let safety = 0.9 * (most + 1) as f64 / (most + iterations) as f64;
                let constant = error_constant(self.order);
                let (worst, state) = self.scale.worst(&self.d, &self.x);
                let error = constant * worst;
                if error <= 1.0 && not_finite(&self.x).is_none() {
                    self.keep(time, x, end);
                    self.choose(error, safety);
                    return Ok(end);
                }
                factor = (safety * error.powf(-1.0 / (self.order as f64 + 1.0)))
                    .clamp(LEAST_FACTOR, 0.9);
                refusal = Some(Failure {
                    residual: constant * self.d[state].abs(),
                    allowed: self.scale.allowed(state, self.x[state]),
                    ..Failure::plain(FailureKind::StepTooSmall, time, tried, Some(state))
                });
            }
            self.work.rejected += 1;
            if tried * factor < shortest
                && let Some(failure) = refusal
            {
                self.restart();
                return Err(failure);
            }
            self.rescale(factor);
        }
    }

    /// The polynomial through the last k+1 points: Σ ∇ʲx·Π (1 + s/m).
    fn interpolate(&self, time: f64, x: &mut [f64]) {
        if time <= self.begin {
            x.copy_from_slice(&self.before);
            return;
        }
        let part = part_of_step(self.begin, self.end, time);
        // In steps, from the end of the last one: between −1 and 0.
        let s = (part - 1.0) * (self.end - self.begin) / self.kept_step;
        let mut product = 1.0;
        x.copy_from_slice(&self.kept[0]);
        for j in 1..=self.kept_order {
            product *= (s + j as f64 - 1.0) / j as f64;
            for i in 0..x.len() {
                x[i] += product * self.kept[j][i];
            }
        }
    }

    fn restart(&mut self) {
        self.step = 0.0;
    }

    fn take_back(&mut self) {
        self.restart();
        self.work.steps -= 1;
        self.work.rejected += 1;
    }

    fn work(&self) -> Work {
        self.work
    }

    fn order(&self) -> usize {
        HIGHEST
    }

    fn fixed_step(&self) -> Option<f64> {
        None
    }
}
