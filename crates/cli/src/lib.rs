//! Fluxline as a library: open a circuit, run it, judge it. The `fluxline` command is built on
//! nothing else.
//!
//! ```
//! use fluxline::{Quiet, Recording, Session};
//!
//! let text = r#"
//!     [run]
//!     stop = "0.1 s"
//!     [components.pump]
//!     type = "hydraulic.flow_source"
//!     [components.orifice]
//!     type = "hydraulic.turbulent_orifice"
//!     [components.tank]
//!     type = "hydraulic.tank"
//!     [[connect]]
//!     from = "pump.outlet"
//!     to = "orifice.inlet"
//!     [[connect]]
//!     from = "orifice.outlet"
//!     to = "tank.port"
//! "#;
//! let session = Session::from_text("test.toml", text, &[]).map_err(|f| f.problems)?;
//! let recording = session.recording(&Recording { record: vec!["pump.*".into()], ..Default::default() })?;
//! let completed = session.run(recording, None, Vec::new(), &mut Quiet);
//! assert!(completed.failure.is_none());
//! assert!(completed.recorder.column("pump.outlet.pressure").is_some());
//! # Ok::<(), fluxline_diagnostics::Diagnostics>(())
//! ```

mod args;
mod commands;
pub mod display;
pub mod figures;
pub mod import;
mod parallel;
#[cfg(feature = "mpi")]
mod ranks;
pub mod report;
pub mod reproduce;
mod session;
pub mod stiffness;
pub mod terminal_plot;
pub mod verdict;
pub mod work_precision;

use fluxline_core::circuit::Registry;

/// All component types: those of the library, and those that models of other programs need.
pub fn registry() -> Registry {
    let library = fluxline_library::registry();
    Registry::new(library.types().iter().copied().chain(fluxline_hopsan::types()))
}

pub use commands::main;
pub use session::{
    Chosen, Compiled, Completed, Engine, Extremes, Failure, Quiet, Recording, Session, Solver,
    Watcher,
};
