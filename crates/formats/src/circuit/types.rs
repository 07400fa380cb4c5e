//! What the loader knows about a component type, prepared once per type.

use super::Loader;
use fluxline_core::circuit::Registry;
use fluxline_core::component::ComponentType;
use fluxline_core::declare::{Declaration, Value};
use fluxline_core::values::Rules;
use fluxline_diagnostics::{Code, Diagnostic, Place, list_names, nearest};
use std::collections::HashMap;
use std::rc::Rc;

/// A declaration with its units, ranges and defaults read, and its names in maps.
#[derive(Debug)]
pub(super) struct TypeInfo {
    pub declaration: &'static Declaration,
    pub rules: Rules,
    /// [`Value::Absent`] where a file must give one.
    pub defaults: Vec<Value>,
    /// Parameters that a file must give.
    pub required: Vec<usize>,
    parameters: HashMap<&'static str, usize>,
    ports: HashMap<&'static str, usize>,
}

impl TypeInfo {
    /// A parameter by its name or its name in another tool.
    pub fn parameter(&self, name: &str) -> Option<usize> {
        self.parameters.get(name).copied()
    }

    /// A port by its name or its name in another tool.
    pub fn port(&self, name: &str) -> Option<usize> {
        self.ports.get(name).copied()
    }

    /// Names of all parameters.
    pub fn parameter_names(&self) -> impl Iterator<Item = &'static str> {
        self.declaration.parameters.iter().map(|p| p.name)
    }
}

impl Loader<'_> {
    /// What is known about a declaration; `None`, reported, when the declaration is wrong.
    pub(super) fn info(&mut self, declaration: &'static Declaration) -> Option<Rc<TypeInfo>> {
        if let Some(known) = self.types.get(declaration.name) {
            return known.clone();
        }
        let info = match Rules::of(declaration) {
            Ok(rules) => Some(Rc::new(prepare(declaration, rules))),
            Err(error) => {
                let error = Diagnostic::error(Code::UnparsableQuantity, error.to_string())
                    .on(Place::component(declaration.name))
                    .note("this is a mistake in the component library, not in the circuit");
                self.found.push(error);
                None
            }
        };
        self.types.insert(declaration.name, info.clone());
        info
    }

    /// A component type by name; reports an unknown one.
    pub(super) fn component_type(
        &mut self,
        name: &super::definition::End,
    ) -> Option<(ComponentType, Rc<TypeInfo>)> {
        let Some(kind) = self.registry.get(&name.text) else {
            let registry = self.registry;
            let error = Diagnostic::error(
                Code::UnknownComponentType,
                format!("there is no component type `{}`", name.text),
            )
            .at(name.at, "unknown type");
            let error = match by_other_name(registry, &name.text) {
                Some(known) => error.help(format!("in Fluxline it is called `{known}`")),
                None => {
                    let names = registry.types().iter().map(|kind| kind.declaration.name);
                    let error = self.suggest_type(error, &name.text, names);
                    match error.helps().is_empty() {
                        true => error.help("`fluxline list` shows all types; `fluxline list pump` those with that word"),
                        false => error,
                    }
                }
            };
            self.report(error);
            return None;
        };
        Some((kind, self.info(kind.declaration)?))
    }
}

impl Loader<'_> {
    /// The nearest types. What follows the domain counts: the domain alone makes any two alike.
    fn suggest_type(
        &mut self,
        error: Diagnostic,
        name: &str,
        types: impl Iterator<Item = &'static str>,
    ) -> Diagnostic {
        let types: Vec<&str> = types.collect();
        let wanted = last(name);
        let near = match self.suggestions {
            0 => Vec::new(),
            _ => nearest(wanted, types.iter().map(|one| last(one))),
        };
        self.suggestions = self.suggestions.saturating_sub(1);
        // In the domain that is named, if it has one that fits.
        let fits = |one: &&&str| near.iter().any(|near| *near == last(one));
        let domain = |one: &&&str| {
            name.split_once('.').is_some_and(|(domain, _)| one.starts_with(&format!("{domain}.")))
        };
        let own: Vec<&str> = types.iter().filter(fits).filter(domain).copied().collect();
        let mut all = match own.is_empty() {
            true => types.iter().filter(fits).copied().collect(),
            false => own,
        };
        all.sort_by_key(|one| near.iter().position(|near| *near == last(one)));
        all.truncate(3);
        match all.is_empty() {
            true => error,
            false => error.help(format!("did you mean {}?", list_names(all))),
        }
    }
}

/// A type without its domain.
fn last(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

/// The type that bears a name in another tool, or without its domain.
fn by_other_name(registry: &Registry, name: &str) -> Option<&'static str> {
    let fits = |declaration: &Declaration| {
        let own = declaration.name.split_once('.').is_some_and(|(_, last)| last == name);
        let aliases = declaration.aliases.iter();
        own || aliases.into_iter().any(|alias| {
            *alias == name || alias.split_once(':').is_some_and(|(_, last)| last == name)
        })
    };
    let mut types = registry.types().iter().map(|kind| kind.declaration);
    types.find(|declaration| fits(declaration)).map(|declaration| declaration.name)
}

fn prepare(declaration: &'static Declaration, rules: Rules) -> TypeInfo {
    let mut parameters = HashMap::new();
    let mut ports = HashMap::new();
    // Own names last, so that they win over names of other tools.
    for (index, parameter) in declaration.parameters.iter().enumerate() {
        parameters.extend(parameter.aliases.iter().map(|alias| (*alias, index)));
    }
    for (index, port) in declaration.ports.iter().enumerate() {
        ports.extend(port.aliases.iter().map(|alias| (*alias, index)));
    }
    parameters.extend(declaration.parameters.iter().enumerate().map(|(i, p)| (p.name, i)));
    ports.extend(declaration.ports.iter().enumerate().map(|(i, p)| (p.name, i)));
    let required = declaration.parameters.iter().enumerate();
    let required = required.filter(|(_, p)| p.required()).map(|(i, _)| i).collect();
    TypeInfo {
        declaration,
        defaults: rules.parameters.iter().map(|rule| rule.default.clone()).collect(),
        rules,
        required,
        parameters,
        ports,
    }
}
