//! Newton's method for one implicit stage, safeguarded.
//!
//! Solves X = b + a·f(t, X) by corrections (I − a·J)·δ = b + a·f(t, X) − X.
//!
//! The matrix of an earlier point is used as long as corrections shrink quickly with it (simplified
//! Newton); then it is renewed at the present point (full Newton), and corrections are shortened
//! until the next one would be smaller. Corrections, not residuals, are compared, all with the same
//! matrix: that is the natural monotonicity test (Deuflhard, Newton Methods for Nonlinear Problems,
//! 2004, section 3.3), which does not change with the units of the equations, while the residual of
//! a small volume is its pressure error times a stiffness of up to 10⁷. On the square root of an
//! orifice it refuses the correction that jumps over the pressure on the other side.

use crate::matrix::Shifted;
use crate::method::Options;
use crate::norm::Scale;
use crate::solver::{FailureKind, Work};
use crate::system::{System, Trouble};

/// Corrections are shortened to no less than this part.
const SHORTEST: f64 = 1.0 / 1024.0;
/// From this ratio of successive corrections on the matrix is renewed.
const SLOW: f64 = 0.3;
/// More corrections than this in a stage, and the matrix is renewed before the next step.
const MANY: usize = 2;

/// Why a stage was not solved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unsolved {
    pub kind: FailureKind,
    pub state: Option<usize>,
    pub residual: f64,
    pub allowed: f64,
}

impl From<Trouble> for Unsolved {
    fn from(trouble: Trouble) -> Self {
        Self::plain(FailureKind::Trouble(trouble))
    }
}

impl Unsolved {
    fn plain(kind: FailureKind) -> Self {
        Self { kind, state: None, residual: f64::NAN, allowed: f64::NAN }
    }
}

#[derive(Debug)]
pub(crate) struct Newton {
    matrix: Shifted,
    pub jacobian: Vec<f64>,
    // The a that the matrix was factorised with; not a number when there is no matrix.
    factorised: f64,
    // Whether the Jacobian is from the present step, and whether it served badly.
    pub is_recent: bool,
    served_badly: bool,
    has_jacobian: bool,
    // Expected ratio of the error left to the last correction.
    rate: f64,
    tolerance: f64,
    iterations: usize,
    pub scale: Scale,
    residual: Vec<f64>,
    correction: Vec<f64>,
    trial: Vec<f64>,
    trial_residual: Vec<f64>,
    trial_correction: Vec<f64>,
}

impl Newton {
    pub fn new(system: &dyn System, options: &Options) -> Self {
        let zeros = || vec![0.0; system.size()];
        Self {
            matrix: Shifted::new(system),
            jacobian: vec![0.0; system.pattern().len()],
            factorised: f64::NAN,
            is_recent: false,
            served_badly: false,
            has_jacobian: false,
            rate: 1.0,
            tolerance: options.newton_tolerance,
            iterations: options.newton_iterations.max(1),
            scale: Scale::new(system, options),
            residual: zeros(),
            correction: zeros(),
            trial: zeros(),
            trial_residual: zeros(),
            trial_correction: zeros(),
        }
    }

    /// After a jump the Jacobian of before is a poor guess.
    pub fn forget(&mut self) {
        self.has_jacobian = false;
        self.factorised = f64::NAN;
        self.rate = 1.0;
    }

    fn renew(
        &mut self,
        system: &mut dyn System,
        time: f64,
        a: f64,
        x: &[f64],
        work: &mut Work,
    ) -> Result<(), Unsolved> {
        self.factorised = f64::NAN;
        self.has_jacobian = false;
        system.jacobian(time, x, &mut self.jacobian)?;
        work.jacobians += 1;
        self.has_jacobian = true;
        self.is_recent = true;
        self.served_badly = false;
        self.factorise(a, work)
    }

    fn factorise(&mut self, a: f64, work: &mut Work) -> Result<(), Unsolved> {
        self.factorised = f64::NAN;
        self.matrix.factorise(a, &self.jacobian).map_err(|singular| Unsolved {
            state: Some(singular.0),
            ..Unsolved::plain(FailureKind::Singular)
        })?;
        work.factorisations += 1;
        self.factorised = a;
        Ok(())
    }

    /// Solves X = b + a·f(t, X); `x` holds the guess and receives the solution.
    pub fn solve(
        &mut self,
        system: &mut dyn System,
        time: f64,
        a: f64,
        base: &[f64],
        x: &mut [f64],
        work: &mut Work,
    ) -> Result<(), Unsolved> {
        let size = x.len();
        // Whether the Jacobian is the one at x.
        let mut is_exact = false;
        if !self.has_jacobian || (self.served_badly && !self.is_recent) {
            self.renew(system, time, a, x, work)?;
            is_exact = true;
            self.rate = 1.0;
        } else if self.factorised.is_nan() || (self.factorised - a).abs() > 1e-3 * a {
            // Steps of a grid differ by rounding: no reason for another matrix.
            self.factorise(a, work)?;
            self.rate = 1.0;
        }
        residual(system, time, a, base, x, &mut self.residual)?;
        work.evaluations += 1;
        self.correction.copy_from_slice(&self.residual);
        self.matrix.solve(&mut self.correction);
        work.newton_iterations += 1;
        let (mut norm, mut worst) = self.scale.worst(&self.correction, x);
        let mut used = 0;
        for _ in 0..self.iterations {
            if self.rate * norm <= self.tolerance {
                for i in 0..size {
                    x[i] += self.correction[i];
                }
                // Forgets slowly what it learned (Hairer & Wanner, Solving ODEs II, IV.8).
                self.rate = self.rate.max(1e-6).powf(0.8);
                self.served_badly = used > MANY;
                return Ok(());
            }
            let mut part = 1.0;
            let next = loop {
                for i in 0..size {
                    self.trial[i] = x[i] + part * self.correction[i];
                }
                let (trial, left) = (&self.trial, &mut self.trial_residual);
                work.evaluations += 1;
                // Where f has no value the correction was too long.
                let next = match residual(system, time, a, base, trial, left) {
                    Ok(()) => {
                        self.trial_correction.copy_from_slice(&self.trial_residual);
                        self.matrix.solve(&mut self.trial_correction);
                        work.newton_iterations += 1;
                        self.scale.worst(&self.trial_correction, &self.trial)
                    }
                    Err(_) => (f64::INFINITY, worst),
                };
                if next.0 <= (1.0 - 0.01 * part) * norm {
                    break next;
                }
                if !is_exact {
                    self.renew(system, time, a, x, work)?;
                    is_exact = true;
                    self.correction.copy_from_slice(&self.residual);
                    self.matrix.solve(&mut self.correction);
                    work.newton_iterations += 1;
                    (norm, worst) = self.scale.worst(&self.correction, x);
                    part = 1.0;
                    continue;
                }
                part *= 0.5;
                if part < SHORTEST {
                    return Err(self.unsolved(worst, x));
                }
            };
            used += 1;
            let ratio = if part == 1.0 { next.0 / norm } else { 1.0 };
            (norm, worst) = next;
            x.copy_from_slice(&self.trial);
            std::mem::swap(&mut self.residual, &mut self.trial_residual);
            std::mem::swap(&mut self.correction, &mut self.trial_correction);
            is_exact = false;
            self.rate = ratio / (1.0 - ratio).max(1e-3);
            if ratio > SLOW && self.rate * norm > self.tolerance {
                self.renew(system, time, a, x, work)?;
                is_exact = true;
                self.correction.copy_from_slice(&self.residual);
                self.matrix.solve(&mut self.correction);
                work.newton_iterations += 1;
                (norm, worst) = self.scale.worst(&self.correction, x);
                self.rate = 1.0;
            }
        }
        Err(self.unsolved(worst, x))
    }

    fn unsolved(&mut self, worst: usize, x: &[f64]) -> Unsolved {
        let residual = self.correction[worst].abs();
        let allowed = self.tolerance * self.scale.allowed(worst, x[worst]);
        self.forget();
        Unsolved { kind: FailureKind::NewtonFailed, state: Some(worst), residual, allowed }
    }
}

/// b + a·f(t, X) − X.
fn residual(
    system: &mut dyn System,
    time: f64,
    a: f64,
    base: &[f64],
    x: &[f64],
    left: &mut [f64],
) -> Result<(), Trouble> {
    system.rates(time, x, left)?;
    for i in 0..x.len() {
        left[i] = base[i] + a * left[i] - x[i];
    }
    Ok(())
}
