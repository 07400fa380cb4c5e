//! How Fluxline reports a problem to its user.
//!
//! Every other layer reports through this one: a [`Diagnostic`] carries a stable [`Code`], says what is wrong, points
//! at the place in the file (a [`Span`] into a [`SourceMap`]) and proposes a cure. [`Diagnostics`] gathers them, so
//! that one check of a circuit shows all its mistakes, and turns them into text for people, JSON for scripts and an
//! exit code for shells.
//!
//! ```
//! use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
//!
//! let mut sources = SourceMap::new();
//! let file = sources.add("servo.toml", "cracking_pressure = \"120 l/min\"\n");
//! let mut found = Diagnostics::new();
//! found.push(
//!     Diagnostic::error(Code::WrongDimension, "`relief.cracking_pressure` is a pressure, but \"120 l/min\" is a volume flow")
//!         .at(sources.span(file, 20..31), "expected a pressure such as \"120 bar\", \"12 MPa\"")
//!         .help("did you mean `nominal_flow`?"),
//! );
//! assert_eq!(
//!     found.render(&sources, false, 100),
//!     "error[F0302]: `relief.cracking_pressure` is a pressure, but \"120 l/min\" is a volume flow
//!  --> servo.toml:1:21
//!   |
//! 1 | cracking_pressure = \"120 l/min\"
//!   |                     ^^^^^^^^^^^ expected a pressure such as \"120 bar\", \"12 MPa\"
//! help: did you mean `nominal_flow`?
//! "
//! );
//! assert_eq!(found.exit_code(), 2);
//! ```

mod code;
mod collector;
mod diagnostic;
mod json;
mod render;
mod source;
mod suggest;

pub use code::{Category, Code, CodeInfo, Severity, UnknownCode, book_page};
pub use collector::Diagnostics;
pub use diagnostic::{Diagnostic, Label, Place};
pub use source::{Position, Source, SourceId, SourceMap, Span};
pub use suggest::{list_names, nearest};
