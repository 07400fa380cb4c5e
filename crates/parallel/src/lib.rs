//! One large circuit on several threads and machines.
//!
//! Lines decouple the components of a circuit by their delay: within a step no component needs what
//! another one computes in it, but for the waves at its own ports. So a circuit can be cut at its
//! lines and its parts be run side by side, with the same bits as in one piece. A [`Partition`] says
//! which component runs in which part, a [`Cut`](cut::Cut) is the plan cut accordingly, and
//! [`threads::run`] runs it. Which cut is a good one is found by [`mapping::map`], from what steps,
//! lines and synchronisations [`cost`].

pub mod advice;
mod bisect;
pub mod cost;
pub mod cut;
pub mod exchange;
pub mod exhaustive;
pub mod generate;
pub mod genetic;
pub mod graph;
pub mod load;
pub mod mailbox;
pub mod mapping;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod multilevel;
#[cfg(test)]
mod optimality;
mod parts;
pub mod picture;
pub mod predict;
pub mod published;
pub mod rare;
pub mod rarely;
pub mod threads;
pub mod ties;

pub use parts::Partition;
