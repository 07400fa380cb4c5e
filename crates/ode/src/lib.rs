//! Solvers for x' = f(t, x), as lumped circuits give it: stiff, bent, sometimes jumping.
//!
//! A solver sees a [`System`] and nothing else: no component, no unit, no file.

pub mod modes;
pub mod small;
pub mod system;

pub use system::{Pattern, System, Trouble};
