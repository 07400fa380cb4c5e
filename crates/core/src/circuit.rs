//! A circuit as its author described it: flat, resolved to SI units, with the places in the file
//! where each thing was said.

use crate::component::ComponentType;
use crate::declare::{Declaration, Port, Value};
use crate::domain::{Domain, PortVariable, Role};
use crate::fluid::Fluid;
use crate::settings::{LineDefaults, RecordSettings, RunSettings, SolverSettings};
use fluxline_diagnostics::Span;
use std::collections::HashMap;

/// The component types there are.
#[derive(Debug, Default)]
pub struct Registry {
    types: Vec<ComponentType>,
    by_name: HashMap<&'static str, usize>,
}

impl Registry {
    /// A registry of these types.
    pub fn new(types: impl IntoIterator<Item = ComponentType>) -> Self {
        let mut registry = Self::default();
        for entry in types {
            registry.by_name.insert(entry.declaration.name, registry.types.len());
            registry.types.push(entry);
        }
        registry
    }
    /// A type by its name.
    pub fn get(&self, name: &str) -> Option<ComponentType> {
        self.by_name.get(name).map(|&i| self.types[i])
    }
    /// All types, in order of registration.
    pub fn types(&self) -> &[ComponentType] {
        &self.types
    }
}

/// What a user described.
#[derive(Debug)]
pub struct Circuit {
    /// Title for reports.
    pub title: String,
    /// How to run it.
    pub run: RunSettings,
    /// What integrates it.
    pub solver: SolverSettings,
    /// Lines that the file leaves open.
    pub lines: LineDefaults,
    /// The oils; components refer to them by position. Never empty.
    pub fluids: Vec<Fluid>,
    /// Sub-steps per main step, one entry per rate; the first is 1.
    pub rates: Vec<u32>,
    /// All components, sub-circuits resolved: `boom.valve`.
    pub components: Vec<Instance>,
    /// Power connections.
    pub connections: Vec<Connection>,
    /// Signal connections.
    pub drives: Vec<Drive>,
    /// Names that sub-circuits offer for what is inside them.
    pub offers: Vec<Offer>,
    /// Patterns of variables to record; empty means the default set.
    pub record: Vec<Pattern>,
    /// How often to record.
    pub recording: RecordSettings,
    /// Plots to draw.
    pub plots: Vec<Plot>,
}

/// A name that a sub-circuit offers for a port, output or input of a component inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Full name of the sub-circuit and of what it offers: `boom.p`.
    pub name: String,
    /// The component.
    pub component: usize,
    /// What it is there: the name of a port, an output or an input.
    pub part: &'static str,
}

/// A component in a circuit.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Full name: `boom.valve`.
    pub name: String,
    /// Its type.
    pub kind: ComponentType,
    /// A value for each declared parameter.
    pub values: Vec<Value>,
    /// Its oil.
    pub fluid: usize,
    /// Its rate.
    pub rate: usize,
    /// Where it was declared.
    pub span: Option<Span>,
    /// Where each parameter was given; `None` for defaults.
    pub value_spans: Vec<Option<Span>>,
    /// What its ports and outputs start with, where the file says so.
    pub starts: Vec<StartValue>,
    /// Left out of the run: its ports and outputs keep what they start with.
    pub disabled: bool,
    /// Outputs that must be positive for it to be stepped; otherwise it stands still.
    pub gates: Vec<Gate>,
}

/// An output that lets components be stepped while it is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Component index.
    pub component: usize,
    /// Output index.
    pub output: usize,
}

/// A value that a port or an output starts with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StartValue {
    /// A number of the bonds at a port.
    Port {
        /// Port index.
        port: usize,
        /// Which number.
        role: Role,
        /// In SI units.
        value: f64,
    },
    /// An output.
    Output {
        /// Output index.
        output: usize,
        /// In SI units.
        value: f64,
    },
}

impl Instance {
    /// Its declaration.
    pub fn declaration(&self) -> &'static Declaration {
        self.kind.declaration
    }
}

/// A port of a component.
#[derive(Clone, Copy, Debug)]
pub struct PortEnd {
    /// Component index.
    pub component: usize,
    /// Port index in the declaration.
    pub port: usize,
    /// For a port that takes many connections: which one, from 1; `None` takes the next free one.
    pub place: Option<u32>,
    /// Where it was written.
    pub span: Option<Span>,
}

/// Power ports that meet.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The ports.
    pub ends: Vec<PortEnd>,
    /// The line between them when the file gives one: a C-component whose ports take the ends.
    pub line: Option<Instance>,
    /// Where it was written.
    pub span: Option<Span>,
}

/// Where a signal comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// An output of a component.
    Output {
        /// Component index.
        component: usize,
        /// Output index.
        output: usize,
    },
    /// A state of a component.
    State {
        /// Component index.
        component: usize,
        /// State index.
        state: usize,
    },
    /// A variable at a power port, with the sign users see.
    Port {
        /// Component index.
        component: usize,
        /// Port index.
        port: usize,
        /// Which of a many-port's connections, from 1.
        place: u32,
        /// Which variable.
        variable: PortVariable,
    },
}

/// A signal that drives an input.
#[derive(Clone, Copy, Debug)]
pub struct Drive {
    /// Where it comes from.
    pub from: Source,
    /// Component driven.
    pub component: usize,
    /// Input index.
    pub input: usize,
    /// Where it was written.
    pub span: Option<Span>,
}

/// A pattern of variable names, with `*` for any run of characters.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// The text.
    pub text: String,
    /// Where it was written.
    pub span: Option<Span>,
}

impl Pattern {
    /// A pattern from the command line or from code.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), span: None }
    }
    /// True when the name fits.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.text.split('*');
        let first = parts.next().unwrap_or("");
        let Some(mut rest) = name.strip_prefix(first) else {
            return false;
        };
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return rest.is_empty();
        }
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        true
    }
}

/// A plot to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Title.
    pub title: String,
    /// Variables, by name or pattern.
    pub variables: Vec<Pattern>,
}

/// The type that stands for a connection of a domain when the file gives no line: type name,
/// parameter, value.
pub fn default_line(
    domain: Domain,
    lines: &LineDefaults,
) -> Option<(&'static str, &'static str, f64)> {
    match domain {
        Domain::Hydraulic => Some(("hydraulic.volume", "volume", lines.volume)),
        Domain::Translational => Some(("translational.spring", "stiffness", lines.stiffness)),
        Domain::Rotational => Some(("rotational.shaft", "stiffness", lines.torsional_stiffness)),
        _ => None,
    }
}

/// Full name of a port of a component, with the place for a port that takes many connections.
pub fn port_name(port: &Port, place: u32) -> String {
    if port.many { format!("{}{place}", port.name) } else { port.name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        let fits = |p: &str, n: &str| Pattern::new(p).matches(n);
        assert!(fits("*", "pump.outlet.pressure"));
        assert!(fits("pump.*", "pump.outlet.pressure"));
        assert!(fits("*.pressure", "pump.outlet.pressure"));
        assert!(fits("p*.o*.pressure", "pump.outlet.pressure"));
        assert!(fits("mass.x", "mass.x"));
        assert!(!fits("mass.x", "mass.xx"));
        assert!(!fits("*.flow", "pump.outlet.pressure"));
        assert!(!fits("aa*aa", "aaa"));
    }
}
