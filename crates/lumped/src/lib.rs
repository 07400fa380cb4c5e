//! The lumped view: a circuit without line delays, as x' = f(t, x).
//!
//! The same laws that the wave engine steps are evaluated with zero impedance: C-components give
//! efforts from their states, Q-components answer with flows, and the rates of all states follow.
//! [`view::View`] finds the order in which that works, solves what depends on itself on the way
//! (line ends with true delay, joined volumes, friction in short lines), and gives solvers exact
//! sparse derivatives. Lines that keep their delay and blocks with memory advance in main steps.

mod build;
mod frame;
mod layout;
pub mod machine;
pub mod run;
mod schedule;
pub mod setup;
mod sparsity;
pub mod view;
