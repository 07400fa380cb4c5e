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
pub mod tree;

pub use circuit::Override;
pub use document::Document;

use fluxline_core::circuit::{Circuit, Registry};
use fluxline_diagnostics::{Diagnostics, SourceMap, Span};
use std::collections::HashMap;
use std::path::Path;

/// What came of reading a circuit.
#[derive(Debug)]
pub struct Loaded {
    /// The circuit; `None` when there are errors.
    pub circuit: Option<Circuit>,
    /// What could be read of a circuit with errors, for further checks; it must not be run.
    pub draft: Option<Draft>,
    /// Where settings such as `run.step` are given.
    pub places: HashMap<String, Span>,
    /// Errors and warnings.
    pub diagnostics: Diagnostics,
    /// All files that were read, to show the places that the diagnostics point at.
    pub sources: SourceMap,
}

/// What could be read of a circuit with errors. Defaults stand in for values that are wrong.
#[derive(Debug)]
pub struct Draft {
    /// What could be read.
    pub circuit: Circuit,
    /// All components and connections are there; only values are wrong.
    pub is_whole: bool,
}

/// Reads a circuit file.
pub fn load_file(path: impl AsRef<Path>, registry: &Registry, overrides: &[Override]) -> Loaded {
    circuit::load_file(path.as_ref(), registry, overrides)
}

/// Reads a circuit from a text that was made from other files; problems point into `sources` too.
pub fn load_converted(
    sources: SourceMap,
    name: &str,
    text: &str,
    folder: impl AsRef<Path>,
    registry: &Registry,
    overrides: &[Override],
) -> Loaded {
    circuit::load_text_after(sources, name, text, folder.as_ref(), registry, overrides)
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
