//! Fluxline's files: circuits as people write them.
//!
//! [`load_file`] reads a circuit file (TOML with units), resolves parameters, expressions, tables
//! and sub-circuits, and gives a flat [`Circuit`] in SI units. Everything wrong with the file is
//! reported in one pass, each problem with its place and a cure. [`Document`] edits a circuit file
//! and keeps its comments.

mod circuit;
mod document;
pub mod results;
pub mod state_file;
mod tree;

pub use circuit::Override;
pub use document::Document;

use fluxline_core::circuit::{Circuit, Registry};
use fluxline_diagnostics::{Diagnostics, SourceMap};
use std::path::Path;

/// What came of reading a circuit.
#[derive(Debug)]
pub struct Loaded {
    /// The circuit; `None` when there are errors.
    pub circuit: Option<Circuit>,
    /// Errors and warnings.
    pub diagnostics: Diagnostics,
    /// All files that were read, to show the places that the diagnostics point at.
    pub sources: SourceMap,
}

/// Reads a circuit file.
pub fn load_file(path: impl AsRef<Path>, registry: &Registry, overrides: &[Override]) -> Loaded {
    circuit::load_file(path.as_ref(), registry, overrides)
}

/// Reads a circuit from a text. `name` stands for the file in messages; files that the circuit
/// names are looked for in `folder`.
pub fn load_text(
    name: &str,
    text: &str,
    folder: impl AsRef<Path>,
    registry: &Registry,
    overrides: &[Override],
) -> Loaded {
    circuit::load_text(name, text, folder.as_ref(), registry, overrides)
}
