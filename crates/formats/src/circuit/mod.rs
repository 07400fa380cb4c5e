//! From a circuit file to a circuit: reading, evaluating, expanding, checking.

mod connect;
mod data;
mod definition;
mod expand;
mod overrides;
mod scope;
mod start_values;
mod types;
mod value;

pub use overrides::Override;

use crate::tree;
use crate::{Draft, Loaded};
use definition::{Definition, DefinitionId};
use fluxline_core::circuit::{Circuit, Connection, Drive, Instance, Offer, Registry};
use fluxline_core::fluid::Fluid;
use fluxline_core::settings::Convention;
use fluxline_core::table;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceId, SourceMap, Span};
use fluxline_units::Dimension;
use overrides::Overrides;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use types::TypeInfo;

/// Larger files are refused.
const MAX_FILE: u64 = 64 << 20;
/// Sub-circuits within sub-circuits.
const MAX_NESTING: usize = 32;
/// Components and uses of sub-circuits in all: nested sub-circuits multiply.
const MAX_PARTS: usize = 2_000_000;
/// So many unknown names get a suggestion. Each one is compared with all valid names, which in a
/// large broken file would take longer than reading it.
const MAX_SUGGESTIONS: usize = 100;

pub(crate) fn load_file(path: &Path, registry: &Registry, overrides: &[Override]) -> Loaded {
    let mut loader = Loader::new(registry, overrides);
    let name = path.display().to_string();
    let root = match read(path) {
        Ok(bytes) => match loader.sources.add_bytes(&name, bytes) {
            Ok(source) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                let root = loader.define(source, &name, folder);
                loader.files.insert(identity(path), root);
                root
            }
            Err(error) => {
                loader.found.push(error);
                None
            }
        },
        Err(error) => {
            let message = format!("`{name}` cannot be read: {}", error.reason());
            loader.found.push(Diagnostic::error(error.code(Code::CannotRead), message));
            None
        }
    };
    loader.finish(root, &stem(path))
}

pub(crate) fn load_text(
    name: &str,
    text: &str,
    folder: &Path,
    registry: &Registry,
    overrides: &[Override],
) -> Loaded {
    load_text_after(SourceMap::new(), name, text, folder, registry, overrides)
}

pub(crate) fn load_text_after(
    sources: SourceMap,
    name: &str,
    text: &str,
    folder: &Path,
    registry: &Registry,
    overrides: &[Override],
) -> Loaded {
    let mut loader = Loader::after(sources, registry, overrides);
    let root = if text.len() as u64 > MAX_FILE {
        let message = format!("`{name}` cannot be read: {}", ReadError::TooLarge.reason());
        loader.found.push(Diagnostic::error(Code::FileTooLarge, message));
        None
    } else {
        let source = loader.sources.add(name, text);
        loader.define(source, name, folder)
    };
    loader.finish(root, &stem(Path::new(name)))
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_default()
}

/// What a file is known by, whatever path leads to it.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Why a file cannot be read.
enum ReadError {
    TooLarge,
    System(std::io::Error),
}

impl ReadError {
    fn reason(&self) -> String {
        match self {
            Self::TooLarge => format!("it is larger than {} MiB", MAX_FILE >> 20),
            Self::System(error) if error.kind() == std::io::ErrorKind::NotFound => {
                "there is no such file".to_owned()
            }
            Self::System(error) => error.to_string(),
        }
    }

    /// `missing` when the file is not there.
    fn code(&self, missing: Code) -> Code {
        match self {
            Self::TooLarge => Code::FileTooLarge,
            Self::System(error) if error.kind() == std::io::ErrorKind::NotFound => missing,
            Self::System(_) => Code::CannotRead,
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    let file = std::fs::File::open(path).map_err(ReadError::System)?;
    let mut bytes = Vec::new();
    // Not by the size that the system states: special files state none.
    let mut limited = file.take(MAX_FILE + 1);
    limited.read_to_end(&mut bytes).map_err(ReadError::System)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(ReadError::TooLarge);
    }
    Ok(bytes)
}

/// The use of a sub-circuit that is being expanded.
struct Use {
    /// Full name of the part.
    name: String,
    at: Span,
    definition: DefinitionId,
}

/// All that is known while a circuit is read.
struct Loader<'r> {
    registry: &'r Registry,
    sources: SourceMap,
    found: Diagnostics,
    suggestions: usize,
    overrides: Overrides,
    definitions: Vec<Rc<Definition>>,
    /// Circuit files by identity; `None` for those that cannot be read.
    files: HashMap<PathBuf, Option<DefinitionId>>,
    /// Data files by identity.
    data: HashMap<PathBuf, Option<SourceId>>,
    /// Curves read from data files.
    curves: HashMap<data::Columns, Option<Arc<table::Table>>>,
    types: HashMap<&'static str, Option<Rc<TypeInfo>>>,
    dimensions: HashMap<&'static str, Option<Dimension>>,
    /// The circuit itself.
    root: DefinitionId,
    root_source: Option<SourceId>,
    /// From the outermost to the innermost sub-circuit.
    chain: Vec<Use>,
    parts: usize,
    main_step: Option<f64>,
    convention: Convention,

    fluids: Vec<Fluid>,
    /// Equal fluids are one: their positions by what they are.
    fluid_index: HashMap<String, usize>,
    rates: Vec<u32>,
    components: Vec<Instance>,
    /// Of each component.
    infos: Vec<Rc<TypeInfo>>,
    connections: Vec<Connection>,
    drives: Vec<Drive>,
    offers: Vec<Offer>,
    /// Where each driven input is driven.
    driven: HashMap<(usize, usize), Span>,
    line_names: HashSet<String>,
    /// How many lines begin at a port; one that takes many connections may have thousands.
    line_numbers: HashMap<String, usize>,
    /// Inputs without a value: component, parameter, and the error unless a signal drives it.
    open_inputs: Vec<(usize, usize, Diagnostic)>,
    /// Where settings such as `run.step` are given.
    places: HashMap<String, Span>,
    /// All components and connections are known, if not their values.
    is_whole: bool,
}

impl<'r> Loader<'r> {
    fn new(registry: &'r Registry, overrides: &[Override]) -> Self {
        Self::after(SourceMap::new(), registry, overrides)
    }

    fn after(mut sources: SourceMap, registry: &'r Registry, overrides: &[Override]) -> Self {
        let mut found = Diagnostics::new();
        let overrides = Overrides::new(overrides, &mut sources, &mut found);
        Self {
            registry,
            sources,
            found,
            suggestions: MAX_SUGGESTIONS,
            overrides,
            definitions: Vec::new(),
            files: HashMap::new(),
            data: HashMap::new(),
            curves: HashMap::new(),
            types: HashMap::new(),
            dimensions: HashMap::new(),
            root: 0,
            root_source: None,
            chain: Vec::new(),
            parts: 0,
            main_step: None,
            convention: Convention::Fluxline,
            fluids: Vec::new(),
            fluid_index: HashMap::new(),
            rates: vec![1],
            components: Vec::new(),
            infos: Vec::new(),
            connections: Vec::new(),
            drives: Vec::new(),
            offers: Vec::new(),
            driven: HashMap::new(),
            line_names: HashSet::new(),
            line_numbers: HashMap::new(),
            open_inputs: Vec::new(),
            places: HashMap::new(),
            is_whole: true,
        }
    }

    /// Reads the definition of a circuit file.
    fn define(&mut self, source: SourceId, name: &str, folder: &Path) -> Option<DefinitionId> {
        self.root_source.get_or_insert(source);
        let text = self.sources.get(source)?.text().clone();
        let table = tree::parse_document(&text, source, &mut self.found)?;
        let mut reader = definition::Reader {
            definitions: &mut self.definitions,
            found: &mut self.found,
            folder: Rc::from(folder),
        };
        let before = reader.found.errors();
        let id = reader.definition(name, table, None, true);
        self.is_whole &= self.found.errors() == before;
        Some(id)
    }

    /// Adds a problem; inside a sub-circuit it also shows where that is used.
    fn report(&mut self, problem: Diagnostic) {
        let problem = match self.chain.last() {
            Some(inner) => {
                problem.also(inner.at, format!("in the sub-circuit used here as `{}`", inner.name))
            }
            None => problem,
        };
        self.found.push(problem);
    }

    /// Adds the help for an unknown name, unless there have been too many.
    fn suggest<'a>(
        &mut self,
        problem: Diagnostic,
        name: &str,
        valid: impl IntoIterator<Item = &'a str>,
    ) -> Diagnostic {
        if self.suggestions == 0 {
            return problem;
        }
        self.suggestions -= 1;
        problem.suggest(name, valid)
    }

    /// The dimension of a declared unit.
    fn dimension(&mut self, unit: &'static str) -> Option<Dimension> {
        let parse = || fluxline_units::Unit::parse(unit).ok().map(|unit| unit.dimension());
        *self.dimensions.entry(unit).or_insert_with(parse)
    }

    fn finish(mut self, root: Option<DefinitionId>, stem: &str) -> Loaded {
        let circuit = root.and_then(|root| self.circuit(root, stem));
        let is_sound = !self.found.has_errors();
        let (circuit, draft) = match is_sound {
            true => (circuit, None),
            false => (None, circuit.map(|circuit| Draft { circuit, is_whole: self.is_whole })),
        };
        Loaded {
            circuit,
            draft,
            places: self.places,
            diagnostics: self.found,
            sources: self.sources,
        }
    }

    /// Where things stand that the file leaves out.
    fn start_of_file(&self) -> Span {
        let first = || self.sources.iter().next().map(|(id, _)| id);
        let source = self.root_source.or_else(first);
        Span::new(source.expect("a file has been read"), 0..0)
    }

    fn circuit(&mut self, root: DefinitionId, stem: &str) -> Option<Circuit> {
        self.root = root;
        let settings = self.expand_root(root);
        for (component, parameter, missing) in std::mem::take(&mut self.open_inputs) {
            if self.driven.contains_key(&(component, parameter)) {
                self.components[component].values[parameter] =
                    fluxline_core::declare::Value::Number(0.0);
            } else {
                self.found.push(missing);
            }
        }
        self.report_unused_overrides(root);
        let definition = self.definitions[root].clone();
        if definition.parts.is_empty() && !self.found.has_errors() {
            let error = Diagnostic::error(Code::EmptyCircuit, "the circuit has no components")
                .help("add one: `[components.tank]` with `type = \"hydraulic.tank\"`");
            let at = self.start_of_file();
            self.found.push(error.at(at, ""));
        }
        let settings = settings?;
        Some(Circuit {
            title: settings.title.unwrap_or_else(|| stem.to_owned()),
            run: settings.run,
            solver: settings.solver,
            lines: settings.lines,
            fluids: std::mem::take(&mut self.fluids),
            rates: std::mem::take(&mut self.rates),
            components: std::mem::take(&mut self.components),
            connections: std::mem::take(&mut self.connections),
            drives: std::mem::take(&mut self.drives),
            offers: std::mem::take(&mut self.offers),
            record: settings.record,
            recording: settings.recording,
            plots: settings.plots,
        })
    }
}
