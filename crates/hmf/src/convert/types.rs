//! What the evaluation of parameters must know of component types, from their declarations.

use crate::evaluate::{Kind, Types};
use fluxline_core::circuit::Registry;
use fluxline_core::declare::{self, Declaration};

/// Constants without effect that have the name of an input: type and name.
const SHADOWED: &[(&str, &str)] = &[("MechanicGearShaft", "alpha")];

/// The types of a registry under Hopsan's names.
#[derive(Debug)]
pub struct RegistryTypes<'r>(pub &'r Registry);

impl RegistryTypes<'_> {
    fn declaration(&self, typename: &str) -> Option<&'static Declaration> {
        super::nets::declaration(self.0, typename)
    }
}

impl Types for RegistryTypes<'_> {
    fn knows(&self, typename: &str) -> bool {
        self.declaration(typename).is_some()
    }

    fn kind(&self, typename: &str, parameter: &str) -> Option<Kind> {
        let declaration = self.declaration(typename)?;
        if SHADOWED.contains(&(typename, parameter)) {
            return Some(Kind::Double);
        }
        let Some((port, variable)) = parameter.split_once('#') else {
            let found = declaration.parameters.iter();
            let found = found.filter(|p| p.input.is_none()).find(|p| p.name == parameter)?;
            return Some(match found.kind {
                declare::Kind::Integer => Kind::Integer,
                declare::Kind::Switch => Kind::Bool,
                declare::Kind::Choice(words) => Kind::Conditional(words.len()),
                declare::Kind::Text | declare::Kind::Table => Kind::Text,
                _ => Kind::Double,
            });
        };
        let is_input = || {
            declaration.parameters.iter().any(|p| p.input.is_some() && p.name == port)
                || declaration.outputs.iter().any(|o| o.name == port)
        };
        let is_port_variable = || {
            let port = declaration.ports.iter().find(|p| p.name == port);
            port.is_some_and(|p| p.domain.hopsan_variables().iter().any(|v| v.name == variable))
        };
        ((variable == "Value" && is_input()) || is_port_variable()).then_some(Kind::Double)
    }

    fn default(&self, typename: &str, parameter: &str) -> Option<String> {
        let declaration = self.declaration(typename)?;
        let name = parameter.strip_suffix("#Value").unwrap_or(parameter);
        let found = declaration.parameters.iter().find(|p| p.name == name)?;
        let value = fluxline_units::Quantity::parse(found.default?).ok()?;
        Some(format!("{:?}", value.value))
    }

    fn names(&self, typename: &str) -> Vec<String> {
        let Some(declaration) = self.declaration(typename) else { return Vec::new() };
        let full = |p: &declare::Parameter| match p.input {
            Some(_) => format!("{}#Value", p.name),
            None => p.name.to_owned(),
        };
        declaration.parameters.iter().map(full).collect()
    }
}
