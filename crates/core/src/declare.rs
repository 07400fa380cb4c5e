//! What a component declares about itself: the one table that documentation, checks, error
//! messages, the command line and importers read.

use crate::domain::Domain;
use crate::table::Table;
use std::sync::Arc;

/// The unit of a parameter or variable that may be of any dimension, in SI units: signals carry
/// pressures, positions and plain numbers alike.
pub const ANY_UNIT: &str = "any";

/// How a component takes part in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Causality {
    /// Stores: turns the flows of the last step into waves and impedances.
    C,
    /// Solves: turns waves into flows and efforts.
    Q,
    /// Signals: runs before both, in order of dependency.
    S,
}

/// Everything a component says about itself.
#[derive(Debug)]
pub struct Declaration {
    /// Type name in circuit files, `domain.name`.
    pub name: &'static str,
    /// The documentation comment: one sentence, then equations, assumptions, source.
    pub doc: &'static str,
    /// Its part in a step.
    pub causality: Causality,
    /// Names in other tools, as `tool:Name`.
    pub aliases: &'static [&'static str],
    /// Power ports.
    pub ports: &'static [Port],
    /// Parameters, including inputs.
    pub parameters: &'static [Parameter],
    /// Continuous states: have a rate.
    pub states: &'static [Variable],
    /// Signal outputs.
    pub outputs: &'static [Variable],
    /// What else is remembered from step to step.
    pub memory: &'static [Variable],
}

impl Declaration {
    /// First sentence of the documentation.
    pub fn summary(&self) -> &'static str {
        self.doc.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or("")
    }
    /// Index of a parameter by name or by its name in another tool.
    pub fn parameter(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|p| p.name == name || p.aliases.contains(&name))
    }
    /// The parameters that a signal may drive, in input order.
    pub fn inputs(&self) -> impl Iterator<Item = (usize, &'static Parameter)> {
        self.parameters.iter().enumerate().filter(|(_, p)| p.input.is_some())
    }
    /// Number of inputs.
    pub fn input_count(&self) -> usize {
        self.inputs().count()
    }
    /// Index of an output by name.
    pub fn output(&self, name: &str) -> Option<usize> {
        self.outputs.iter().position(|o| o.name == name || o.aliases.contains(&name))
    }
    /// The group of the type: `hydraulic` of `hydraulic.tank`.
    pub fn domain_name(&self) -> &'static str {
        self.name.split('.').next().unwrap_or("")
    }
}

/// A power port.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// Name in circuit files.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Its domain.
    pub domain: Domain,
    /// Takes any number of connections; at most one such port, the last.
    pub many: bool,
    /// May stay unconnected.
    pub optional: bool,
    /// Looks at a connection without taking part in it: a sensor.
    pub observes: bool,
    /// For mechanics: the end of the component's axis it sits at.
    pub side: Side,
    /// Names in other tools.
    pub aliases: &'static [&'static str],
}

/// An end of a component's axis, which runs from a to b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The rear (left) end.
    A,
    /// The front (right) end.
    B,
}

/// A parameter, possibly one that a signal may drive.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in circuit files.
    pub name: &'static str,
    /// Symbol in the equations.
    pub symbol: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// SI unit.
    pub unit: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Value when the file does not give one, as it would be written in a file.
    pub default: Option<&'static str>,
    /// Smallest allowed value; with a leading `>` the bound itself is excluded.
    pub min: Option<&'static str>,
    /// Largest allowed value; with a leading `<` the bound itself is excluded.
    pub max: Option<&'static str>,
    /// Names in other tools.
    pub aliases: &'static [&'static str],
    /// Position among the inputs when a signal may drive it.
    pub input: Option<usize>,
}

impl Parameter {
    /// A value must be given in the file.
    pub fn required(&self) -> bool {
        self.default.is_none() && !matches!(self.kind, Kind::OptionalQuantity)
    }
}

/// A state, an output or a remembered value.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Name in circuit files and results.
    pub name: &'static str,
    /// Symbol in the equations.
    pub symbol: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// SI unit.
    pub unit: &'static str,
    /// Start value: a quantity, or the name of a parameter.
    pub start: &'static str,
    /// What a remembered value counts for the verdict.
    pub counts: Counts,
    /// Names in other tools.
    pub aliases: &'static [&'static str],
}

/// What a remembered value means to the verdict of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Nothing: it is plain memory.
    Nothing,
    /// Steps in which a limit (end stop, saturation) was active.
    Limit,
    /// Steps in which oil had cavitated.
    Cavitation,
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number with a unit.
    Quantity,
    /// A number with a unit, or nothing.
    OptionalQuantity,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Switch,
    /// One of several words.
    Choice(&'static [&'static str]),
    /// Free text.
    Text,
    /// A list of numbers with one unit.
    List,
    /// Pairs or a grid of numbers, given in the file or as a CSV file.
    Table,
}

/// A parameter's value after units and expressions have been resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not given (optional quantity).
    Absent,
    /// In SI units.
    Number(f64),
    /// A switch.
    Switch(bool),
    /// Position in the list of choices.
    Choice(usize),
    /// Text.
    Text(String),
    /// Numbers in SI units.
    List(Vec<f64>),
    /// Tabulated data in SI units.
    Table(Arc<Table>),
}

/// A Rust type that a parameter field may have.
pub trait ParameterValue: Sized {
    /// Its kind in the declaration.
    const KIND: Kind;
    /// Reads it from a resolved value; `None` when the value is of another kind, which the checks
    /// have excluded.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! parameter_value {
    ($($type:ty, $kind:expr, $pattern:pat => $result:expr;)*) => {$(
        impl ParameterValue for $type {
            const KIND: Kind = $kind;
            fn from_value(value: &Value) -> Option<Self> {
                match value { $pattern => Some($result), _ => None }
            }
        }
    )*};
}
parameter_value! {
    f64, Kind::Quantity, Value::Number(x) => *x;
    usize, Kind::Integer, Value::Number(x) => *x as usize;
    bool, Kind::Switch, Value::Switch(x) => *x;
    String, Kind::Text, Value::Text(x) => x.clone();
    Vec<f64>, Kind::List, Value::List(x) => x.clone();
    Arc<Table>, Kind::Table, Value::Table(x) => x.clone();
}
impl ParameterValue for Option<f64> {
    const KIND: Kind = Kind::OptionalQuantity;
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(x) => Some(Some(*x)),
            Value::Absent => Some(None),
            _ => None,
        }
    }
}

/// Declares an enum whose variants are the words a parameter may take.
///
/// ```
/// fluxline_core::choice! {
///     /// How flow depends on pressure drop.
///     pub enum FlowLaw {
///         /// q ~ √Δp
///         Turbulent = "turbulent",
///         /// q ~ Δp
///         Laminar = "laminar",
///     }
/// }
/// ```
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$vmeta])* $variant),* }
        impl $name {
            /// The word that stands for it in files.
            #[allow(dead_code, reason = "not every choice is printed")]
            $vis fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word),*
                }
            }
        }
        impl $crate::declare::ParameterValue for $name {
            const KIND: $crate::declare::Kind = $crate::declare::Kind::Choice(&[$($word),*]);
            fn from_value(value: &$crate::declare::Value) -> Option<Self> {
                match value {
                    $crate::declare::Value::Choice(i) => [$($name::$variant),*].get(*i).copied(),
                    _ => None,
                }
            }
        }
    };
}
