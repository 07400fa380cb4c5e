//! Studies: a circuit run many times with other values of its parameters.
//!
//! A [`Design`](design::Design) says which values each run takes, [`Metrics`](metric::Metrics) what
//! is kept of it, and an [`Ensemble`](ensemble::Ensemble) runs variants, several at a time in the
//! lanes of vector instructions and on all cores. A variant gives the bits of a run by itself,
//! however many run with it; one that fails is told with its reason and does not disturb the others.

pub mod derivative;
pub mod design;
pub mod ensemble;
pub mod file;
pub mod fit;
pub mod journal;
pub mod metric;
pub mod random;
pub mod search;
pub mod sensitivity;
pub mod sobol;
pub mod team;
pub mod vary;
