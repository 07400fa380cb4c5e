//! The methods by name, and their settings.

use crate::bdf::Bdf;
use crate::dormand_prince::DormandPrince;
use crate::explicit::{Explicit, Tableau};
use crate::modified_heun::ModifiedHeun;
use crate::rosenbrock::Rosenbrock;
use crate::sdirk2::Sdirk2;
use crate::solver::Solver;
use crate::system::System;
use std::fmt;
use std::str::FromStr;

/// A way to integrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Explicit Euler, fixed step, order 1.
    Euler,
    /// Heun, explicit, fixed step, order 2.
    Heun,
    /// Heun with one Newton iteration per state, fixed step, order 2.
    ModifiedHeun,
    /// The classical Runge–Kutta method, explicit, fixed step, order 4.
    Rk4,
    /// Singly diagonally implicit, L-stable, fixed step, order 2.
    Sdirk2,
    /// Rosenbrock, linearly implicit, L-stable, adaptive, order 4.
    Rosenbrock,
    /// Backward differences, implicit, adaptive, orders 1 to 5.
    Bdf,
    /// Dormand and Prince's Runge–Kutta method, explicit, adaptive, order 5.
    AdaptiveExplicit,
}

impl Method {
    /// Every method.
    pub const ALL: &[Self] = &[
        Self::Euler,
        Self::Heun,
        Self::ModifiedHeun,
        Self::Rk4,
        Self::Sdirk2,
        Self::Rosenbrock,
        Self::Bdf,
        Self::AdaptiveExplicit,
    ];

    /// The name a user writes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Euler => "euler",
            Self::Heun => "heun",
            Self::ModifiedHeun => "modified-heun",
            Self::Rk4 => "rk4",
            Self::Sdirk2 => "sdirk2",
            Self::Rosenbrock => "rosenbrock",
            Self::Bdf => "bdf",
            Self::AdaptiveExplicit => "adaptive-explicit",
        }
    }

    /// Whether steps are chosen by tolerance.
    pub fn is_adaptive(self) -> bool {
        matches!(self, Self::Rosenbrock | Self::Bdf | Self::AdaptiveExplicit)
    }

    /// Whether the step is limited by the fastest time constant.
    pub fn is_explicit(self) -> bool {
        matches!(self, Self::Euler | Self::Heun | Self::Rk4 | Self::AdaptiveExplicit)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMethod(pub String);

impl fmt::Display for UnknownMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no solver; there are ", self.0)?;
        for (i, method) in Method::ALL.iter().enumerate() {
            write!(f, "{}{method}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownMethod {}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|method| method.name() == name)
            .ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

/// Settings of solvers. A method reads those that concern it.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// h — step of the methods that keep to a grid, in s, default 1e-4: a tenth of the millisecond in
    /// which valves and chambers of ordinary circuits answer.
    pub step: f64,
    /// Error allowed per step relative to the state, default 1e-5: on the flow control valve of
    /// Malysheva (thesis, LUT University, 2021) pressures of 10 MPa then stay within some 40 Pa of
    /// the converged ones; with 1e-4 they are off by up to 600 Pa, for two thirds of the work.
    pub relative_tolerance: f64,
    /// Error allowed per step near zero, in units of [`System::nominal`], default 1e-4.
    pub absolute_tolerance: f64,
    /// Longest step of an adaptive method, in s, default unlimited.
    pub max_step: f64,
    /// Shortest step of an adaptive method, in s, default 1e-15; rounding of the time sets a bound of
    /// its own.
    pub min_step: f64,
    /// First step of an adaptive method, in s; without it the method chooses.
    pub first_step: Option<f64>,
    /// How far below the tolerances Newton's method solves, default 0.1: errors of the solution must
    /// not be seen among those of the step.
    pub newton_tolerance: f64,
    /// Newton iterations per stage, default 20; the square root of an orifice needs most of them
    /// when a flow has just reversed.
    pub newton_iterations: usize,
    /// How often a step of the fixed-step implicit method may be halved when it is not solved,
    /// default 10 (down to 1/1024); 0 gives the tightest bound on the work of a step.
    pub halvings: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            step: 1e-4,
            relative_tolerance: 1e-5,
            absolute_tolerance: 1e-4,
            max_step: f64::INFINITY,
            min_step: 1e-15,
            first_step: None,
            newton_tolerance: 0.1,
            newton_iterations: 20,
            halvings: 10,
        }
    }
}

/// A solver for a system; everything it needs is allocated here.
pub fn build(method: Method, system: &dyn System, options: &Options) -> Box<dyn Solver> {
    match method {
        Method::Euler => Box::new(Explicit::new(Tableau::Euler, system.size(), options.step)),
        Method::Heun => Box::new(Explicit::new(Tableau::Heun, system.size(), options.step)),
        Method::Rk4 => Box::new(Explicit::new(Tableau::Rk4, system.size(), options.step)),
        Method::ModifiedHeun => Box::new(ModifiedHeun::new(system, options.step)),
        Method::Sdirk2 => Box::new(Sdirk2::new(system, options)),
        Method::Rosenbrock => Box::new(Rosenbrock::new(system, options)),
        Method::Bdf => Box::new(Bdf::new(system, options)),
        Method::AdaptiveExplicit => Box::new(DormandPrince::new(system, options)),
    }
}
