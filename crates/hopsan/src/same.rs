//! Hopsan types that a type of the library computes exactly: the same component under another name,
//! with Hopsan's names and defaults.

use fluxline_core::declare::{Counts, Kind, Parameter, Port, Side, Variable};
use fluxline_core::domain::Domain;

// Elements to fill arrays with before they are written; never seen.
const PORT: Port = Port {
    name: "",
    meaning: "",
    domain: Domain::Hydraulic,
    many: false,
    optional: false,
    observes: false,
    side: Side::A,
    aliases: &[],
};
const PARAMETER: Parameter = Parameter {
    name: "",
    symbol: "",
    meaning: "",
    unit: "1",
    kind: Kind::Quantity,
    default: None,
    min: None,
    max: None,
    aliases: &[],
    input: None,
};
const VARIABLE: Variable = Variable {
    name: "",
    symbol: "",
    meaning: "",
    unit: "1",
    start: "0",
    counts: Counts::Nothing,
    aliases: &[],
};

/// A name of Hopsan's for a name of the library's, with another default where it differs.
pub(crate) struct Name {
    pub hopsan: &'static str,
    pub native: &'static str,
    pub default: Option<&'static str>,
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

const fn find(names: &[Name], native: &str) -> Option<usize> {
    let mut i = 0;
    while i < names.len() {
        if is_same(names[i].native, native) {
            return Some(i);
        }
        i += 1;
    }
    None
}

const fn renamed(names: &[Name], native: &'static str) -> &'static str {
    match find(names, native) {
        Some(i) => names[i].hopsan,
        None => native,
    }
}

/// Ports under their new names.
pub(crate) const fn ports<const N: usize>(native: &[Port], names: &[Name]) -> [Port; N] {
    let mut all = [PORT; N];
    let mut i = 0;
    while i < N {
        all[i] = native[i];
        all[i].name = renamed(names, native[i].name);
        all[i].aliases = &[];
        i += 1;
    }
    all
}

/// Parameters under their new names, with their new defaults.
pub(crate) const fn parameters<const N: usize>(
    native: &[Parameter],
    names: &[Name],
) -> [Parameter; N] {
    let mut all = [PARAMETER; N];
    let mut i = 0;
    while i < N {
        all[i] = native[i];
        all[i].aliases = &[];
        if let Some(name) = find(names, native[i].name) {
            all[i].name = names[name].hopsan;
            if names[name].default.is_some() {
                all[i].default = names[name].default;
            }
        }
        i += 1;
    }
    all
}

/// States, outputs or memory under their new names; start values that are parameters follow them.
pub(crate) const fn variables<const N: usize>(
    native: &[Variable],
    names: &[Name],
) -> [Variable; N] {
    let mut all = [VARIABLE; N];
    let mut i = 0;
    while i < N {
        all[i] = native[i];
        all[i].name = renamed(names, native[i].name);
        all[i].start = renamed(names, native[i].start);
        all[i].aliases = &[];
        i += 1;
    }
    all
}

/// The entry of a library type under Hopsan's name.
///
/// `same_as!("SignalGain", Gain, "Multiplies a signal.", ["k" = "gain" ("1"), "in" = "input", "out" = "output"])`:
/// each name of Hopsan's, that of the library's port, parameter or output, and the default where it
/// differs. Parameters that are not listed keep their names and defaults.
macro_rules! same_as {
    ($name:literal, $native:ty, $doc:literal, [$($hopsan:literal = $own:literal $(($default:literal))?),* $(,)?]) => {{
        use fluxline_core::component::{ComponentType, Declared};
        use fluxline_core::declare::Declaration;
        use $crate::same::{Name, parameters, ports, variables};
        const NATIVE: &Declaration = <$native as Declared>::DECLARATION;
        const NAMES: &[Name] = &[$(Name {
            hopsan: $hopsan,
            native: $own,
            default: same_as!(@default $($default)?),
        }),*];
        static DECLARATION: Declaration = Declaration {
            name: concat!("hopsan.", $name),
            doc: $doc,
            causality: NATIVE.causality,
            aliases: &[],
            ports: &ports::<{ NATIVE.ports.len() }>(NATIVE.ports, NAMES),
            parameters: &parameters::<{ NATIVE.parameters.len() }>(NATIVE.parameters, NAMES),
            states: &variables::<{ NATIVE.states.len() }>(NATIVE.states, NAMES),
            outputs: &variables::<{ NATIVE.outputs.len() }>(NATIVE.outputs, NAMES),
            memory: &variables::<{ NATIVE.memory.len() }>(NATIVE.memory, NAMES),
        };
        ComponentType { declaration: &DECLARATION, ..ComponentType::of::<$native>() }
    }};
    (@default $default:literal) => { Some($default) };
    (@default) => { None };
}
pub(crate) use same_as;
