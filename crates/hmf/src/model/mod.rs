//! What a model file holds, with types and places but nothing evaluated.

mod read;

pub(crate) use read::Reader;

use crate::versions::Conversions;
use fluxline_diagnostics::Span;
use std::collections::HashMap;
use std::path::PathBuf;

/// A model file.
#[derive(Debug)]
pub struct Model {
    /// The outermost system.
    pub root: System,
    /// The file, as the user named it.
    pub file: PathBuf,
    /// Version of the format, as `0.4`.
    pub format_version: String,
    /// Version of the core of the program that saved it, as `2.20.0.20200515.1608`; `0` if the file does not say.
    pub core_version: String,
    /// Version of its user interface.
    pub gui_version: String,
    /// Who made it and what it is.
    pub info: Info,
    /// Component libraries that the file asks for.
    pub libraries: Vec<String>,
    /// What the file holds beyond the model.
    pub leftovers: Vec<Leftover>,
}

/// Who made a model and what it is; empty where the file does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Who made it.
    pub author: String,
    /// Where to write to.
    pub email: String,
    /// For whom they work.
    pub affiliation: String,
    /// What it is.
    pub description: String,
}

/// Elements without a place in the model: text boxes, plots, the set-up of an optimisation.
#[derive(Clone, Debug)]
pub struct Leftover {
    /// Path of the system, as `Sub$Inner`; empty for the root.
    pub system: String,
    /// The element, as `objects/textboxwidget` or `hopsangui/optimization`.
    pub element: String,
    /// Each occurrence, whole; its text is `sources.slice(span)`.
    pub spans: Vec<Span>,
}

/// What a system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemKind {
    /// Always simulated.
    Subsystem,
    /// Simulated while its input `on` is positive.
    Conditional,
}

/// When a system is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Start in seconds; only the root's counts.
    pub start: f64,
    /// Stop in seconds; only the root's counts.
    pub stop: f64,
    /// Time step in seconds.
    pub step: f64,
    /// Whether a nested system takes the step of the system around it.
    pub inherit: bool,
}

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Log {
    /// Number of samples; 0 records nothing.
    pub samples: i64,
    /// Time of the first one in seconds.
    pub start: f64,
}

/// A system: components and systems, connected.
#[derive(Debug)]
pub struct System {
    /// Unique among the objects, parameters and aliases of the system around it.
    pub name: String,
    /// The name in the file.
    pub original_name: String,
    /// What it is.
    pub kind: SystemKind,
    /// Name of a preset.
    pub subtypename: String,
    /// Whether it is left out of the simulation.
    pub disabled: bool,
    /// For a system from another file, that file as the model names it.
    pub external: Option<String>,
    /// Folder against which its file names are relative.
    pub folder: PathBuf,
    /// When it is simulated.
    pub times: Times,
    /// What is recorded.
    pub log: Log,
    /// Its parameters, each name once; names with a `#` are start values of its ports.
    pub parameters: Vec<SystemParameter>,
    /// Short names of variables.
    pub aliases: Vec<Alias>,
    /// The script that sets parameters before the simulation.
    pub script: Option<Script>,
    /// Components, systems and ports, in the order of the file.
    pub objects: Vec<Object>,
    /// Connections whose ends exist, in the order of the file.
    pub connections: Vec<Connection>,
    /// Where it is drawn.
    pub pose: Option<Pose>,
    /// What its file's version asks to be converted.
    pub conversions: Conversions,
    /// Where it stands.
    pub span: Span,
    pub(crate) by_name: HashMap<String, usize>,
}

/// A parameter of a system.
#[derive(Clone, Debug)]
pub struct SystemParameter {
    /// Its name.
    pub name: String,
    /// Its value, as it stands in the file.
    pub text: String,
    /// `double`, `integer`, `bool`, `string`, `textblock` or `filepath`.
    pub kind: String,
    /// Quantity or unit, for display only: values are in SI units.
    pub quantity: String,
    /// What it is.
    pub description: String,
    /// Whether the file's version lets other parameters of the same system be named without `self.`.
    pub bare_self: bool,
    /// Where the value stands.
    pub span: Span,
}

/// A short name of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The short name.
    pub name: String,
    /// The component, by its name in the model.
    pub component: String,
    /// The port.
    pub port: String,
    /// The variable.
    pub variable: String,
    /// Where it stands.
    pub span: Span,
}

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its text.
    pub text: String,
    /// Where its element stands.
    pub span: Span,
}

/// What stands in a system.
#[derive(Debug)]
pub enum Object {
    /// A component.
    Component(Component),
    /// A system.
    System(Box<System>),
    /// A port of the system itself.
    Port(SystemPort),
}

/// A component.
#[derive(Clone, Debug)]
pub struct Component {
    /// Unique among the objects, parameters and aliases of its system.
    pub name: String,
    /// The name in the file.
    pub original_name: String,
    /// Its type, by its present name.
    pub typename: String,
    /// Name of a preset.
    pub subtypename: String,
    /// Whether it is left out of the simulation.
    pub disabled: bool,
    /// Its parameters in the order of the file; of two with the same name the later counts.
    pub parameters: Vec<Parameter>,
    /// Quantities of signal ports: port, quantity.
    pub quantities: Vec<(String, String)>,
    /// Where it is drawn.
    pub pose: Option<Pose>,
    /// Where it stands.
    pub span: Span,
}

/// A parameter of a component.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its present name: `m`, `P1#Pressure`, `k#Value` or `k` for the same.
    pub name: String,
    /// Its value, as it stands in the file.
    pub text: String,
    /// Where the value stands.
    pub span: Span,
    /// Where the name stands.
    pub name_span: Span,
}

/// A port of a system, seen from inside.
#[derive(Clone, Debug)]
pub struct SystemPort {
    /// Its name.
    pub name: String,
    /// The name in the file.
    pub original_name: String,
    /// Where it is drawn.
    pub pose: Option<Pose>,
    /// Where it stands.
    pub span: Span,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// One end.
    pub start: End,
    /// The other end.
    pub end: End,
    /// Where it stands.
    pub span: Span,
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Index of the object in the same system: a component, a nested system, or a port of the system itself.
    pub object: usize,
    /// The port of the component or nested system; for a port of the system itself its own name.
    pub port: String,
}

/// Where something is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// To the right, in pixels.
    pub x: f64,
    /// Down, in pixels.
    pub y: f64,
    /// Turned clockwise, in degrees.
    pub angle: f64,
    /// Whether it is mirrored.
    pub flipped: bool,
}

impl Model {
    /// A full name such as `Sub$Component#Port#Variable` without the name of the model in front, which some files
    /// write and others leave out.
    pub fn without_root<'a>(&self, name: &'a str) -> &'a str {
        match name.split_once('$') {
            Some((first, rest))
                if self.root.find(first).is_none()
                    && (first == self.root.name || first == self.root.original_name) =>
            {
                rest
            }
            _ => name,
        }
    }
}

impl Object {
    /// Its name in the model.
    pub fn name(&self) -> &str {
        match self {
            Object::Component(component) => &component.name,
            Object::System(system) => &system.name,
            Object::Port(port) => &port.name,
        }
    }

    /// Its name in the file.
    pub fn original_name(&self) -> &str {
        match self {
            Object::Component(component) => &component.original_name,
            Object::System(system) => &system.original_name,
            Object::Port(port) => &port.original_name,
        }
    }

    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Object::Component(component) => component.span,
            Object::System(system) => system.span,
            Object::Port(port) => port.span,
        }
    }
}

impl System {
    /// The index of the object of this name: first the name in the model, then the name in the file.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The object of this name.
    pub fn object(&self, name: &str) -> Option<&Object> {
        self.find(name).map(|index| &self.objects[index])
    }

    /// The components directly in it.
    pub fn components(&self) -> impl Iterator<Item = &Component> {
        self.objects.iter().filter_map(|object| match object {
            Object::Component(component) => Some(component),
            _ => None,
        })
    }

    /// The systems directly in it.
    pub fn systems(&self) -> impl Iterator<Item = &System> {
        self.objects.iter().filter_map(|object| match object {
            Object::System(system) => Some(system.as_ref()),
            _ => None,
        })
    }

    /// Its ports.
    pub fn ports(&self) -> impl Iterator<Item = &SystemPort> {
        self.objects.iter().filter_map(|object| match object {
            Object::Port(port) => Some(port),
            _ => None,
        })
    }

    /// Components in it and in all nested systems.
    pub fn count_components(&self) -> usize {
        // Nesting is limited when a model is read, so this cannot run away.
        self.components().count() + self.systems().map(System::count_components).sum::<usize>()
    }
}

/// A name as the program of origin writes it: `Sub$Inner$Component`.
pub(crate) fn join(system: &str, name: &str) -> String {
    if system.is_empty() { name.to_owned() } else { format!("{system}${name}") }
}
