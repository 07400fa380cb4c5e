//! Start values of ports and outputs: `start_values = { p1 = { pressure = "20 bar" }, out = 0.5 }`.

use super::Loader;
use super::scope::Scope;
use crate::circuit::definition::wrong_type;
use crate::tree::{Item, Key, Val};
use fluxline_core::circuit::StartValue;
use fluxline_core::declare::{ANY_UNIT, Declaration};
use fluxline_core::domain::Role;
use fluxline_diagnostics::{Code, Diagnostic};

impl Loader<'_> {
    /// Reads the start values of a component.
    pub(super) fn start_values(
        &mut self,
        component: &str,
        declaration: &'static Declaration,
        item: &Item,
        scope: &Scope,
    ) -> Vec<StartValue> {
        let mut all = Vec::new();
        let Val::Table(table) = &item.value else {
            let error = wrong_type(&format!("{component}.start_values"), item, "a table")
                .help("write `start_values = { port = { pressure = \"20 bar\" } }`");
            self.report(error);
            return all;
        };
        for (key, item) in &table.entries {
            let full = format!("{component}.start_values.{}", key.name);
            if let Some(output) = declaration.output(&key.name) {
                let unit = declaration.outputs[output].unit;
                let value = self.start_value(&full, unit, item, scope);
                all.extend(value.map(|value| StartValue::Output { output, value }));
            } else if let Some(port) = declaration.ports.iter().position(|p| p.name == key.name) {
                let Val::Table(table) = &item.value else {
                    let error = wrong_type(&full, item, "a table of its variables")
                        .help(format!("write `{} = {{ pressure = \"20 bar\" }}`", key.name));
                    self.report(error);
                    continue;
                };
                for (key, item) in &table.entries {
                    let Some((role, unit)) = self.started_variable(declaration, port, &full, key)
                    else {
                        continue;
                    };
                    let value =
                        self.start_value(&format!("{full}.{}", key.name), unit, item, scope);
                    all.extend(value.map(|value| StartValue::Port { port, role, value }));
                }
            } else {
                let names = declaration.ports.iter().map(|p| p.name);
                let names = names.chain(declaration.outputs.iter().map(|o| o.name));
                let message = format!(
                    "`{component}` ({}) has no port or output `{}`",
                    declaration.name, key.name
                );
                let error = Diagnostic::error(Code::UnknownPort, message)
                    .at(key.at, "unknown")
                    .help("start values belong to a port's variables or to an output");
                let error = self.suggest(error, &key.name, names);
                self.report(error);
            }
        }
        all
    }

    fn started_variable(
        &mut self,
        declaration: &'static Declaration,
        port: usize,
        full: &str,
        key: &Key,
    ) -> Option<(Role, &'static str)> {
        let domain = declaration.ports[port].domain;
        let all = || domain.hopsan_variables().iter().chain(domain.variables());
        let found = all().find(|variable| variable.name == key.name);
        if found.is_none() {
            let message =
                format!("`{full}` has no variable `{}`: the port is {}", key.name, domain.name());
            let error = Diagnostic::error(Code::UnknownVariable, message).at(key.at, "unknown");
            let error = self.suggest(error, &key.name, all().map(|variable| variable.name));
            self.report(error);
        }
        found.map(|variable| (variable.role, variable.unit))
    }

    fn start_value(
        &mut self,
        name: &str,
        unit: &'static str,
        item: &Item,
        scope: &Scope,
    ) -> Option<f64> {
        match &item.value {
            Val::Integer(_) | Val::Float(_) => self.plain_number(item, &name).map(|q| q.value),
            Val::Text(text) => {
                let quantity = self.evaluate(&name, item, text, scope)?;
                if unit == ANY_UNIT || self.dimension(unit) == Some(quantity.dimension) {
                    return Some(quantity.value);
                }
                let message = format!("`{name}` is {quantity}, but counts in {unit}");
                let error = Diagnostic::error(Code::WrongDimension, message)
                    .at(item.at, format!("expected a value in {unit}"));
                self.report(error);
                None
            }
            _ => {
                let error = wrong_type(name, item, "a quantity")
                    .help("write a number, or a quantity in quotes");
                self.report(error);
                None
            }
        }
    }
}
