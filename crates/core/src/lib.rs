//! Fluxline's core: numbers, domains, the component contract, circuits, plans and the TLM engine.

// Lets the declarations of this crate use the same attributes as everybody's.
extern crate self as fluxline_core;

pub mod circuit;
pub mod component;
pub mod declare;
pub mod domain;
pub mod fluid;
pub mod implicit;
pub mod number;
pub mod settings;
pub mod state;
pub mod table;
pub mod testing;
pub mod values;
pub mod wave;

pub use fluxline_macros::{Constants, component};
