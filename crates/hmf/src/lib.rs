//! Hopsan model files: read, and all their parameters evaluated.
//!
//! This crate knows the files, not the physics. [`load_file`] reads a `.hmf` into a [`Model`]: systems, components,
//! connections and raw parameter texts, each with its place, names made unique and old names converted.
//! [`evaluate::evaluate`] then gives every parameter its value, with the types of components described by a
//! [`Types`] of the caller:
//!
//! ```
//! use fluxline_hmf::{Kind, Object, ObjectValues, Types, Value, evaluate, load_text};
//!
//! struct Gains;
//! impl Types for Gains {
//!     fn knows(&self, typename: &str) -> bool {
//!         typename == "SignalGain"
//!     }
//!     fn kind(&self, typename: &str, parameter: &str) -> Option<Kind> {
//!         (typename == "SignalGain" && parameter == "k#Value").then_some(Kind::Double)
//!     }
//! }
//!
//! let text = r#"<hopsanmodelfile hmfversion="0.4" hopsancoreversion="2.20.0">
//!   <system typename="Subsystem" name="Servo">
//!     <parameters><parameter name="stiffness" value="2e5" type="double"/></parameters>
//!     <objects><component typename="SignalGain" name="Gain">
//!       <parameters><parameter name="k" value="2*stiffness"/></parameters>
//!     </component></objects>
//!   </system>
//! </hopsanmodelfile>"#;
//! let mut loaded = load_text("servo.hmf", text);
//! let model = loaded.model.unwrap();
//! let values = evaluate(&model, &Gains, &[], &mut loaded.diagnostics);
//! assert!(loaded.diagnostics.is_empty());
//! let (Object::Component(gain), ObjectValues::Component(parameters)) = (&model.root.objects[0], &values.root.objects[0])
//! else { panic!() };
//! assert_eq!((gain.name.as_str(), parameters[0].name.as_str()), ("Gain", "k#Value"));
//! assert_eq!(parameters[0].value, Value::Number(4e5));
//! assert_eq!(parameters[0].expression.as_deref(), Some("2*stiffness"));
//! ```
//!
//! Whatever the program of origin refuses for a reason of its own (old versions, names with spaces, a component
//! called `Time`) is read here; what has no meaning at all is an error with its place, never a panic.

pub mod convert;
pub mod evaluate;
pub mod hpf;
pub mod hvc;
pub mod model;
mod names;
pub mod number;
pub mod numhop;
pub mod versions;
pub mod xml;

pub use evaluate::{
    Evaluated, Kind, ObjectValues, Origin, Override, SystemValues, Types, Unknown, Value, Values,
    evaluate,
};
pub use model::{Component, Connection, End, Model, Object, Pose, System, SystemKind, SystemPort};
pub use names::sanitised;

use fluxline_diagnostics::{Diagnostics, SourceMap};
use std::path::Path;

/// A model file, read.
#[derive(Debug)]
pub struct Loaded {
    /// The model; `None` if the file could not be read at all. There may be errors also with a model.
    pub model: Option<Model>,
    /// All files that were read.
    pub sources: SourceMap,
    /// What was found wrong or odd.
    pub diagnostics: Diagnostics,
}

/// Reads a model file.
pub fn load_file(path: &Path) -> Loaded {
    let mut loaded =
        Loaded { model: None, sources: SourceMap::new(), diagnostics: Diagnostics::new() };
    if let Some(bytes) = loaded.diagnostics.take(xml::read_bytes(path)) {
        let folder = path.parent().unwrap_or(Path::new(""));
        let reader = model::Reader::new(&mut loaded.sources, &mut loaded.diagnostics);
        loaded.model = reader.model(path, bytes, folder);
    }
    loaded
}

/// Reads a model from bytes; other files that it names are looked for in `folder`.
pub fn load_bytes(name: &str, bytes: Vec<u8>, folder: &Path) -> Loaded {
    let mut loaded =
        Loaded { model: None, sources: SourceMap::new(), diagnostics: Diagnostics::new() };
    let reader = model::Reader::new(&mut loaded.sources, &mut loaded.diagnostics);
    loaded.model = reader.model(Path::new(name), bytes, folder);
    loaded
}

/// Reads a model from a text.
pub fn load_text(name: &str, text: &str) -> Loaded {
    load_bytes(name, text.as_bytes().to_vec(), Path::new(""))
}
