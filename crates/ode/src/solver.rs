//! What every solver offers, what it costs, and how it fails.

use crate::system::{System, Trouble};
use std::fmt;

/// Takes steps of x' = f(t, x), one at a time.
pub trait Solver {
    /// One accepted step from `time`, never beyond `limit`; returns where it ends and leaves the
    /// state there in `x`.
    ///
    /// A step that reaches the limit ends there exactly. What is evaluated at the end of a step is
    /// the left limit of f (the time handed to f is a relative 2·10⁻¹² earlier), so that a
    /// signal that jumps at the limit is not seen early. When a step fails, `x` is as it was.
    fn step(
        &mut self,
        system: &mut dyn System,
        time: f64,
        x: &mut [f64],
        limit: f64,
    ) -> Result<f64, Failure>;

    /// The state inside the last step, exact at both of its ends.
    fn interpolate(&self, time: f64, x: &mut [f64]);

    /// Forgets the past, because the future does not continue it.
    fn restart(&mut self);

    /// Takes the last step back: the next one begins where that one began, with a nearer limit.
    fn take_back(&mut self) {
        self.restart();
    }

    /// What has been spent since the beginning.
    fn work(&self) -> Work;

    /// Order of convergence of the steps.
    fn order(&self) -> usize;

    /// The step of a method that keeps to a grid; none for one that chooses its steps by tolerance.
    fn fixed_step(&self) -> Option<f64>;

    /// Whether steps are chosen by tolerance.
    fn is_adaptive(&self) -> bool {
        self.fixed_step().is_none()
    }

    /// How often a step that has run past a stop is taken again so that it ends there; zero for a
    /// method whose steps end on the grid whatever happens.
    fn tries_at_stops(&self) -> usize {
        if self.is_adaptive() { 12 } else { 0 }
    }
}

/// The time handed to f for its left limit at the end of a step. Sources of signals count an event
/// as reached a relative 10⁻¹² early, so that rounding does not upset them: this is earlier still.
pub(crate) fn left_of(begin: f64, end: f64) -> f64 {
    let early = end - 2e-12 * end.abs();
    if early > begin { early } else { end.next_down() }
}

/// Counts of what a solver has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Steps that were kept.
    pub steps: u64,
    /// Steps that were thrown away: too inexact, or not solved.
    pub rejected: u64,
    /// Evaluations of f.
    pub evaluations: u64,
    /// Evaluations of ∂f/∂x.
    pub jacobians: u64,
    /// Factorisations of a matrix.
    pub factorisations: u64,
    /// Solutions of a linear system within Newton's method.
    pub newton_iterations: u64,
}

/// Why a solver cannot go on. The state before the step is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failure {
    /// What happened.
    pub kind: FailureKind,
    /// Where the step that failed began, s.
    pub time: f64,
    /// Length of the step that failed, s.
    pub step: f64,
    /// The state that is worst off, where one can be named.
    pub state: Option<usize>,
    /// What is left, in the unit of the state: the estimated error of the step
    /// ([`FailureKind::StepTooSmall`]), the last correction of Newton's method
    /// ([`FailureKind::NewtonFailed`]); not a number otherwise.
    pub residual: f64,
    /// What would have been small enough, in the unit of the state.
    pub allowed: f64,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FailureKind {
    /// The error stays too large however short the step.
    StepTooSmall,
    /// The equations of an implicit step were not solved within the allowed iterations, nor with
    /// the step divided.
    NewtonFailed,
    /// A state became infinite or not a number.
    NotFinite,
    /// The matrix of an implicit step is singular.
    Singular,
    /// f itself could not be evaluated.
    Trouble(Trouble),
}

impl Failure {
    /// A failure without a residual.
    pub(crate) fn plain(kind: FailureKind, time: f64, step: f64, state: Option<usize>) -> Self {
        let state = match kind {
            FailureKind::Trouble(Trouble::NotFinite(at)) => Some(at),
            _ => state,
        };
        Self { kind, time, step, state, residual: f64::NAN, allowed: f64::NAN }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, step, residual, allowed, .. } = self;
        match self.kind {
            FailureKind::StepTooSmall => write!(
                f,
                "at {time} s a step of {step:e} s is still too inexact: error {residual:e}, \
                 allowed {allowed:e}"
            )?,
            FailureKind::NewtonFailed => write!(
                f,
                "the step of {step:e} s from {time} s was not solved: last correction \
                 {residual:e}, allowed {allowed:e}"
            )?,
            FailureKind::NotFinite => {
                write!(f, "the step of {step:e} s from {time} s gives no finite number")?;
            }
            FailureKind::Singular => {
                write!(f, "the matrix of the step of {step:e} s from {time} s is singular")?;
            }
            FailureKind::Trouble(Trouble::NotFinite(_)) => {
                write!(f, "within {step:e} s from {time} s a rate of change is not finite")?;
            }
            FailureKind::Trouble(Trouble::NoSolution { equation, residual }) => write!(
                f,
                "within {step:e} s from {time} s the inner equations {equation} have no solution: \
                 {residual:e} is left"
            )?,
        }
        match self.state {
            Some(state) => write!(f, " (state {state})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}
