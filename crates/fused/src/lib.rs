//! Circuits as straight-line code.
//!
//! The step of a whole circuit, written down by [`fluxline_core::program`], becomes instructions, C or
//! Rust: no calls, no indices, no memory between components. [`script`] puts its statements in order.
//! [`machine`] writes them as instructions of the processor, at once. [`text`] writes them as text, and
//! [`compiler`] has the compiler of the machine make a library of C and keeps it for the next time.
//! [`library`] opens and calls either, [`run`] steps a run with it, [`lanes`] several variants at once,
//! and [`choice`] tells when that pays. [`export`] writes whole sources for those who embed a circuit
//! elsewhere.
//!
//! The code does the arithmetic of the engine in the engine's order, and the compiler is told to keep
//! to it (no contraction of a·b + c, no rearrangement), so that results agree bit for bit.

pub mod alike;
mod blocks;
mod bundle;
mod cache;
pub mod choice;
pub mod compiler;
pub mod export;
mod frame;
pub mod lanes;
pub mod library;
pub mod machine;
mod order;
mod roots;
pub mod run;
pub mod script;
pub mod text;
