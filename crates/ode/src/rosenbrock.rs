//! RODAS: a linearly implicit method of six stages, order 4 with an estimate of order 3, L-stable,
//! with steps chosen by tolerance.
//!
//! (I − hγJ)·u_i = hγ·f(t₀ + α_i·h, x₀ + Σ a_ij·u_j) + γ·Σ c_ij·u_j + h²·γ·γ_i·∂f/∂t
//!
//! Hairer & Wanner, Solving ODEs II, IV.7 (equations 7.25'), coefficients of section IV.10. No
//! equations are iterated: one Jacobian and one factorisation per step. The method is stiffly
//! accurate: the fifth and sixth stages are evaluated at approximations of the end of the step, and
//! the last u is the estimate of the error. On the square-root law of orifices inner stages of a
//! step that is too long overshoot; the estimate sees it and the step is shortened.

use crate::explicit::part_of_step;
use crate::first_step::{Start, first_step};
use crate::matrix::Shifted;
use crate::method::Options;
use crate::norm::{Scale, end_of_step, not_finite};
use crate::solver::{Failure, FailureKind, Solver, Work, left_of};
use crate::system::{System, Trouble};

const GAMMA: f64 = 0.25;
/// Σ_j α_ij: where in the step the stages are.
const ALPHA: [f64; 6] = [0.0, 0.386, 0.21, 0.63, 1.0, 1.0];
/// Σ_j γ_ij: weights of ∂f/∂t.
const GAMMAS: [f64; 6] = [0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0];
/// a_ij. The row of the result is that of the sixth stage with a last 1.
const A: [[f64; 5]; 6] = [
    [0.0; 5],
    [1.544, 0.0, 0.0, 0.0, 0.0],
    [0.9466785280815826, 0.2557011698983284, 0.0, 0.0, 0.0],
    [3.314825187068521, 2.896124015972201, 0.9986419139977817, 0.0, 0.0],
    [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 0.0],
    [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1.0],
];
/// c_ij.
const C: [[f64; 5]; 6] = [
    [0.0; 5],
    [-5.6688, 0.0, 0.0, 0.0, 0.0],
    [-2.430093356833875, -0.2063599157091915, 0.0, 0.0, 0.0],
    [-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0.0, 0.0],
    [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616, 0.0],
    [
        8.083246795921522,
        -7.981132988064893,
        -31.52159432874371,
        16.31930543123136,
        -6.058818238834054,
    ],
];
/// The two bends of the continuous extension, of order 3.
const D: [[f64; 5]; 2] = [
    [
        10.12623508344586,
        -7.487995877610167,
        -34.80091861555747,
        -7.992771707568823,
        1.025137723295662,
    ],
    [
        -0.6762803392801253,
        6.087714651680015,
        16.43084320892478,
        24.76722511418386,
        -6.594389125716872,
    ],
];

/// The next step aims at this part of what the estimate allows.
const SAFETY: f64 = 0.9;
/// A step is at most so many times the last.
const GROWTH: f64 = 6.0;
/// A step that fails is at least divided by less than this.
const SHRINKAGE: f64 = 5.0;

/// The adaptive method for stiff systems.
#[derive(Debug)]
pub struct Rosenbrock {
    scale: Scale,
    max_step: f64,
    min_step: f64,
    first_step: Option<f64>,
    // The step to try next; none after a restart.
    proposal: Option<f64>,
    // Length and error of the last step that was kept, for the predictive controller.
    last: Option<(f64, f64)>,
    work: Work,
    matrix: Shifted,
    jacobian: Vec<f64>,
    begin: f64,
    end: f64,
    before: Vec<f64>,
    after: Vec<f64>,
    rates: Vec<f64>,
    by_time: Vec<f64>,
    stage: Vec<f64>,
    slope: Vec<f64>,
    u: [Vec<f64>; 6],
    // The stages of the last step that was kept have been turned into these.
    bend: [Vec<f64>; 2],
}

/// Why one attempt was not kept.
enum Refusal {
    Inexact { error: f64, state: usize },
    NotFinite(usize),
    Singular(usize),
    Trouble(Trouble),
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl Rosenbrock {
    /// For a system, with the tolerances of the options.
    pub fn new(system: &dyn System, options: &Options) -> Self {
        let zeros = || vec![0.0; system.size()];
        Self {
            scale: Scale::new(system, options),
            max_step: options.max_step,
            min_step: options.min_step,
            first_step: options.first_step,
            proposal: options.first_step,
            last: None,
            work: Work::default(),
            matrix: Shifted::new(system),
            jacobian: vec![0.0; system.pattern().len()],
            begin: 0.0,
            end: 0.0,
            before: zeros(),
            after: zeros(),
            rates: zeros(),
            by_time: zeros(),
            stage: zeros(),
            slope: zeros(),
            u: std::array::from_fn(|_| zeros()),
            bend: [zeros(), zeros()],
        }
    }

    /// One attempt from `x`: leaves the end in `stage`, returns the estimate of the error.
    fn attempt(
        &mut self,
        system: &mut dyn System,
        time: f64,
        x: &[f64],
        end: f64,
        is_autonomous: bool,
    ) -> Result<f64, Refusal> {
        let size = x.len();
        let step = end - time;
        let a = GAMMA * step;
        self.matrix
            .factorise(a, &self.jacobian)
            .map_err(|singular| Refusal::Singular(singular.0))?;
        self.work.factorisations += 1;
        for k in 0..6 {
            if k == 0 {
                self.stage.copy_from_slice(x);
                self.slope.copy_from_slice(&self.rates);
            } else {
                for i in 0..size {
                    let mut sum = x[i];
                    for j in 0..k {
                        sum += A[k][j] * self.u[j][i];
                    }
                    self.stage[i] = sum;
                }
                if let Some(state) = not_finite(&self.stage) {
                    return Err(Refusal::NotFinite(state));
                }
                let at = if ALPHA[k] == 1.0 { left_of(time, end) } else { time + ALPHA[k] * step };
                system.rates(at, &self.stage, &mut self.slope)?;
                self.work.evaluations += 1;
            }
            let (known, rest) = self.u.split_at_mut(k);
            let u = &mut rest[0];
            for i in 0..size {
                let mut sum = 0.0;
                for j in 0..k {
                    sum += C[k][j] * known[j][i];
                }
                u[i] = a * self.slope[i] + GAMMA * sum;
            }
            if !is_autonomous && GAMMAS[k] != 0.0 {
                for i in 0..size {
                    u[i] += step * a * GAMMAS[k] * self.by_time[i];
                }
            }
            self.matrix.solve(u);
        }
        for i in 0..size {
            self.stage[i] += self.u[5][i];
        }
        if let Some(state) = not_finite(&self.stage) {
            return Err(Refusal::NotFinite(state));
        }
        let (error, state) = self.scale.worst_of_two(&self.u[5], x, &self.stage);
        if error <= 1.0 { Ok(error) } else { Err(Refusal::Inexact { error, state }) }
    }

    /// Keeps the attempt: the stages become the continuous extension.
    fn keep(&mut self, time: f64, x: &mut [f64], end: f64) {
        self.before.copy_from_slice(x);
        self.after.copy_from_slice(&self.stage);
        for (bend, weights) in self.bend.iter_mut().zip(&D) {
            for i in 0..x.len() {
                bend[i] = (0..5).map(|j| weights[j] * self.u[j][i]).sum();
            }
        }
        (self.begin, self.end) = (time, end);
        self.work.steps += 1;
        x.copy_from_slice(&self.after);
    }

    fn failure(&self, refusal: Refusal, time: f64, step: f64) -> Failure {
        match refusal {
            Refusal::Inexact { state, .. } => Failure {
                residual: self.u[5][state].abs(),
                allowed: self.scale.allowed(state, self.stage[state]),
                ..Failure::plain(FailureKind::StepTooSmall, time, step, Some(state))
            },
            Refusal::NotFinite(state) => {
                Failure::plain(FailureKind::NotFinite, time, step, Some(state))
            }
            Refusal::Singular(state) => {
                Failure::plain(FailureKind::Singular, time, step, Some(state))
            }
            Refusal::Trouble(trouble) => {
                Failure::plain(FailureKind::Trouble(trouble), time, step, None)
            }
        }
    }
}

impl Solver for Rosenbrock {
    fn step(
        &mut self,
        system: &mut dyn System,
        time: f64,
        x: &mut [f64],
        limit: f64,
    ) -> Result<f64, Failure> {
        let trouble = |t| Failure::plain(FailureKind::Trouble(t), time, 0.0, None);
        system.rates(time, x, &mut self.rates).map_err(trouble)?;
        system.jacobian(time, x, &mut self.jacobian).map_err(trouble)?;
        self.work.evaluations += 1;
        self.work.jacobians += 1;
        // Shorter steps would be rounding: the time must move.
        let shortest = self.min_step.max(16.0 * f64::EPSILON * time.abs());
        let mut step = match self.proposal {
            Some(step) => step,
            None => {
                let Self { scale, work, stage, slope, rates, max_step, .. } = &mut *self;
                let start = Start { time, limit, max_step: *max_step, order: 3, x, rates };
                first_step(system, scale, &start, work, stage, slope).map_err(trouble)?
            }
        }
        .min(self.max_step)
        .max(shortest);
        let is_autonomous = system.is_autonomous(time);
        if !is_autonomous {
            // ∂f/∂t by a difference towards the inside of the step. A millionth of the step keeps
            // what the difference lacks (half of it times ∂²f/∂t²) as far below the error of the
            // step as rounding of f.
            let inside = step.min(limit - time);
            let small = (1e-6 * inside).max(64.0 * f64::EPSILON * time.abs()).min(0.5 * inside);
            let later = time + small;
            if later > time && later < limit {
                system.rates(later, x, &mut self.by_time).map_err(trouble)?;
                self.work.evaluations += 1;
                for i in 0..x.len() {
                    self.by_time[i] = (self.by_time[i] - self.rates[i]) / (later - time);
                }
            } else {
                self.by_time.fill(0.0);
            }
        }
        let mut was_refused = false;
        loop {
            let end = end_of_step(time, step, limit);
            let tried = end - time;
            let refusal = match self.attempt(system, time, x, end, is_autonomous) {
                Ok(error) => {
                    self.keep(time, x, end);
                    // Gustafsson's predictive controller (Hairer & Wanner, Solving ODEs II, IV.8).
                    let error = error.max(1e-8);
                    let mut growth = SAFETY / error.powf(0.25);
                    if let Some((last_step, last_error)) = self.last {
                        let trend = (last_error / (error * error)).powf(0.25) * tried / last_step;
                        growth = growth.min(SAFETY * trend);
                    }
                    let most = if was_refused { 1.0 } else { GROWTH };
                    let next = tried * growth.clamp(1.0 / SHRINKAGE, most);
                    // A step cut short by the limit says nothing against the longer proposal.
                    self.proposal = Some(if tried < step { next.max(step) } else { next });
                    self.last = Some((tried, error.max(0.01)));
                    return Ok(end);
                }
                Err(refusal) => refusal,
            };
            self.work.rejected += 1;
            was_refused = true;
            step = match refusal {
                Refusal::Inexact { error, .. } if error.is_finite() => {
                    tried * (SAFETY / error.powf(0.25)).clamp(1.0 / SHRINKAGE, 0.9)
                }
                _ => tried / SHRINKAGE,
            };
            if step < shortest {
                return Err(self.failure(refusal, time, tried));
            }
        }
    }

    fn interpolate(&self, time: f64, x: &mut [f64]) {
        let s = part_of_step(self.begin, self.end, time);
        let r = 1.0 - s;
        for i in 0..x.len() {
            let bend = self.bend[0][i] + s * self.bend[1][i];
            x[i] = r * self.before[i] + s * self.after[i] + s * r * bend;
        }
    }

    fn restart(&mut self) {
        self.proposal = self.first_step;
        self.last = None;
    }

    /// The proposal still holds: the step was exact enough, only too long.
    fn take_back(&mut self) {
        self.last = None;
        self.work.steps -= 1;
        self.work.rejected += 1;
    }

    fn work(&self) -> Work {
        self.work
    }

    fn order(&self) -> usize {
        4
    }

    fn fixed_step(&self) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Matrix = [[f64; 6]; 6];

    fn product(a: &Matrix, b: &Matrix) -> Matrix {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..6).map(|k| a[i][k] * b[k][j]).sum()))
    }

    /// Γ, α, β = α + Γ and the weights b, from the coefficients as they are used:
    /// Γ⁻¹ = I/γ − C, α = A·Γ, b = m·Γ.
    fn original() -> (Matrix, Matrix, Matrix, [f64; 6]) {
        let mut inverse = [[0.0; 6]; 6];
        let mut a = [[0.0; 6]; 6];
        for i in 0..6 {
            inverse[i][i] = 1.0 / GAMMA;
            for j in 0..i {
                inverse[i][j] = -C[i][j];
                a[i][j] = A[i][j];
            }
        }
        // Lower triangular: forward substitution per column.
        let mut gamma = [[0.0; 6]; 6];
        for j in 0..6 {
            for i in j..6 {
                let unit = if i == j { 1.0 } else { 0.0 };
                let known: f64 = (j..i).map(|k| inverse[i][k] * gamma[k][j]).sum();
                gamma[i][j] = (unit - known) / inverse[i][i];
            }
        }
        let alpha = product(&a, &gamma);
        let beta = std::array::from_fn(|i| std::array::from_fn(|j| alpha[i][j] + gamma[i][j]));
        let result = [A[5][0], A[5][1], A[5][2], A[5][3], 1.0, 1.0];
        let b = std::array::from_fn(|j| (0..6).map(|i| result[i] * gamma[i][j]).sum());
        (gamma, alpha, beta, b)
    }

    #[test]
    fn the_coefficients_satisfy_the_conditions_of_order_four() {
        // Hairer & Wanner, Solving ODEs II, Table IV.7.1, with β including its diagonal; the printed
        // coefficients carry 16 digits, products of some tens of them 14.
        let (gamma, alpha, beta, b) = original();
        let sum = |m: &Matrix, i: usize| -> f64 { m[i].iter().sum() };
        let al: [f64; 6] = std::array::from_fn(|i| sum(&alpha, i));
        let be: [f64; 6] = std::array::from_fn(|i| sum(&beta, i));
        let apply = |m: &Matrix, v: &[f64; 6]| -> [f64; 6] {
            std::array::from_fn(|i| (0..6).map(|j| m[i][j] * v[j]).sum())
        };
        let weigh = |v: [f64; 6]| -> f64 { (0..6).map(|i| b[i] * v[i]).sum() };
        let bb = apply(&beta, &be);
        let squares = al.map(|v| v * v);
        let ab = apply(&alpha, &be);
        for (name, value, exact) in [
            ("b", weigh([1.0; 6]), 1.0),
            ("bβ", weigh(be), 1.0 / 2.0),
            ("bα²", weigh(squares), 1.0 / 3.0),
            ("bββ", weigh(bb), 1.0 / 6.0),
            ("bα³", weigh(al.map(|v| v * v * v)), 1.0 / 4.0),
            ("bααβ", weigh(std::array::from_fn(|i| al[i] * ab[i])), 1.0 / 8.0),
            ("bβα²", weigh(apply(&beta, &squares)), 1.0 / 12.0),
            ("bβββ", weigh(apply(&beta, &bb)), 1.0 / 24.0),
        ] {
            assert!((value - exact).abs() < 1e-13, "{name}: {value} instead of {exact}");
        }
        for i in 0..6 {
            assert!((al[i] - ALPHA[i]).abs() < 1e-13, "α of stage {i}: {}", al[i]);
            let own: f64 = gamma[i].iter().sum();
            assert!((own - GAMMAS[i]).abs() < 1e-13, "γ of stage {i}: {own}");
        }
    }
}
