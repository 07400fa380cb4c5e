//! Names of inputs and outputs, and where they are in a plan.

use fluxline_core::declare::Causality;
use fluxline_core::plan::Plan;
use fluxline_core::probe::Spot;
use fluxline_core::variables::{Slot, Variable};
use fluxline_diagnostics::{Code, Diagnostic, list_names};

/// A signal that something can be added to.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// As the user called it.
    pub name: String,
    /// Its SI unit.
    pub unit: &'static str,
    /// The inputs of components in front of which it is.
    pub spots: Vec<Spot>,
    /// Whether a signal of the circuit drives it: a loop can be cut there.
    pub is_driven: bool,
}

/// What is looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Full name.
    pub name: String,
    /// Its SI unit.
    pub unit: &'static str,
    /// Where it is; none for the signal that comes back to where the loop was cut.
    pub slot: Option<Slot>,
}

impl From<Variable> for Output {
    fn from(variable: Variable) -> Self {
        Self { name: variable.name, unit: variable.unit, slot: Some(variable.slot) }
    }
}

impl Output {
    /// What comes back to a cut.
    pub fn returned(input: &Input) -> Self {
        Self { name: format!("{} (returned)", input.name), unit: input.unit, slot: None }
    }
}

/// Splits `boom.valve.signal`, or `boom$valve#signal#Value` as Hopsan writes it, into a component and
/// what it has.
fn owner(plan: &Plan, name: &str) -> Option<(usize, String)> {
    let name = name.replace(['#', '$'], ".");
    let name = name.strip_suffix(".value").or(name.strip_suffix(".Value")).unwrap_or(&name);
    name.rmatch_indices('.').find_map(|(dot, _)| {
        let index = *plan.variables.by_name.get(&name[..dot])?;
        Some((index, name[dot + 1..].to_owned()))
    })
}

/// An input of a component, or an output whose readers then all see what is added.
pub fn find_input(plan: &Plan, name: &str) -> Result<Input, Diagnostic> {
    let unknown = |message: String, names: Vec<String>| {
        let problem = Diagnostic::error(Code::NoSuchInput, message);
        match names.is_empty() {
            true => problem.help("name an input of a component, such as valve.signal; `fluxline describe TYPE` lists them"),
            false => problem.help(format!(
                "signals can be added to {}",
                list_names(names.iter().map(String::as_str))
            )),
        }
    };
    let Some((component, part)) = owner(plan, name) else {
        let near = plan.variables.suggestions(name);
        let problem = Diagnostic::error(
            Code::NoSuchInput,
            format!("there is no component with an input `{name}`"),
        );
        return Err(match near.is_empty() {
            true => problem.help("name a component and its input, such as valve.signal"),
            false => {
                problem.help(format!("near it: {}", list_names(near.iter().map(String::as_str))))
            }
        });
    };
    let entry = &plan.variables.entries[component];
    let mut inputs = entry.declaration.inputs().enumerate();
    if let Some((i, (_, parameter))) = inputs.find(|(_, (_, parameter))| parameter.name == part) {
        let signal = entry.inputs[i];
        return Ok(Input {
            name: name.to_owned(),
            unit: if parameter.unit == fluxline_core::declare::ANY_UNIT {
                "1"
            } else {
                parameter.unit
            },
            spots: vec![Spot { component: component as u32, signal }],
            is_driven: is_output(plan, signal),
        });
    }
    let outputs = entry.declaration.outputs;
    if let Some(output) = outputs.iter().position(|output| output.name == part) {
        let signal = entry.outputs + output as u32;
        let mut spots = Vec::new();
        for (reader, other) in plan.variables.entries.iter().enumerate() {
            if other.inputs.contains(&signal) {
                spots.push(Spot { component: reader as u32, signal });
            }
        }
        if spots.is_empty() {
            return Err(unknown(
                format!("nothing reads `{name}`: what is added to it goes nowhere"),
                Vec::new(),
            ));
        }
        let unit = outputs[output].unit;
        return Ok(Input {
            name: name.to_owned(),
            unit: if unit == fluxline_core::declare::ANY_UNIT { "1" } else { unit },
            spots,
            is_driven: true,
        });
    }
    let mut names: Vec<String> =
        entry.declaration.inputs().map(|(_, p)| format!("{}.{}", entry.name, p.name)).collect();
    if entry.declaration.causality == Causality::S {
        names.extend(outputs.iter().map(|o| format!("{}.{}", entry.name, o.name)));
    }
    Err(unknown(format!("`{}` has no input `{part}`", entry.name), names))
}

/// Whether a signal is written by a component or a probe, and not a constant of its own.
fn is_output(plan: &Plan, signal: u32) -> bool {
    let probed = plan.rates.iter().any(|rate| {
        rate.probes.iter().any(|(_, to)| *to == signal)
            || rate.published.iter().any(|(_, to)| *to == signal)
    });
    probed
        || plan.variables.entries.iter().any(|entry| {
            let count = entry.declaration.outputs.len() as u32;
            (entry.outputs..entry.outputs + count).contains(&signal)
        })
}

/// What the number of a state with this place is called (see [`fluxline_core::probe::numbers`]).
pub fn name_of(plan: &Plan, index: usize) -> String {
    use fluxline_core::domain::Role;
    use fluxline_core::variables::Location;
    let (bonds, signals) = (6 * plan.blank.bonds.len(), plan.blank.signals.len());
    let is_it = |at: &Location| match *at {
        Location::Bond(bond, role) => {
            let field = match role {
                Role::Flow => 0,
                Role::Effort => 1,
                Role::Wave => 2,
                Role::Impedance => 3,
                Role::Displacement => 4,
                Role::Dry => 5,
                Role::Temperature => return false,
            };
            index == 6 * bond as usize + field
        }
        Location::Signal(signal) => index == bonds + signal as usize,
        Location::State(state) => index == bonds + signals + state as usize,
    };
    if let Some(variable) = plan.variables.iter().find(|variable| is_it(&variable.slot.at)) {
        return variable.name;
    }
    let owner = plan.variables.entries.iter().find(|entry| match index < bonds {
        true => entry.bonds.contains(&((index / 6) as u32)),
        false => index.checked_sub(bonds + signals).is_some_and(|at| {
            (entry.states as usize..(entry.states + entry.block) as usize).contains(&at)
        }),
    });
    owner.map_or_else(|| "a signal".to_owned(), |entry| entry.name.clone())
}
