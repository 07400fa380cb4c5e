//! Solvers for x' = f(t, x), as lumped circuits give it: stiff, bent, sometimes jumping.
//!
//! A solver sees a [`System`] and nothing else: no component, no unit, no file. [`Driver`] is the
//! one loop around every solver: events, stops, samples.

pub mod bdf;
pub mod dormand_prince;
pub mod drive;
pub mod explicit;
mod first_step;
pub mod matrix;
pub mod method;
pub mod modes;
pub mod modified_heun;
mod newton;
mod norm;
pub mod rosenbrock;
pub mod sdirk2;
pub mod small;
pub mod solver;
pub mod system;

pub use drive::{Driver, Ending, Observer, Samples, integrate};
pub use matrix::Shifted;
pub use method::{Method, Options, build};
pub use solver::{Failure, FailureKind, Solver, Work};
pub use system::{Pattern, System, Trouble};
