//! Fluxline's core: numbers, domains, the component contract, circuits, plans and the TLM engine.

// Lets the declarations of this crate use the same attributes as everybody's.
extern crate self as fluxline_core;

pub mod builder;
pub mod circuit;
pub mod component;
pub mod declare;
pub mod dependence;
pub mod domain;
pub mod engine;
pub mod fluid;
pub mod function;
pub mod gradient;
pub mod guard;
pub mod implicit;
pub mod instructions;
pub mod lanes;
pub mod lumped;
pub mod monitor;
pub mod number;
pub mod plan;
pub mod probe;
pub mod program;
pub mod recorder;
pub mod run;
pub mod settings;
pub mod start;
pub mod state;
pub mod step;
pub mod table;
pub mod tangent;
pub mod testing;
pub mod thermal;
pub mod trace;
pub mod trig;
pub mod values;
pub mod variable;
pub mod variables;
pub mod wave;
mod wide;

pub use fluxline_macros::{Constants, component, wide};
