//! One component: its parameters, the files it names, what it starts with.

use super::nets::declaration;
use super::text::{key, plain, quoted};
use super::{Spot, Writer, comment};
use crate::evaluate::{Evaluated, Value};
use crate::model::{Component, join};
use fluxline_core::declare::{Causality, Declaration, Kind, Parameter};
use fluxline_core::domain::{Domain, Role};
use fluxline_diagnostics::{Code, Diagnostic, Place};
use fluxline_units::Quantity;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// Types that are written with the two iterations per step that Hopsan makes do with: solved to
/// convergence, their results differ visibly from the model's.
const TWO_ITERATIONS: &[&str] = &[
    "HydraulicAckumulator",
    "MechanicGear",
    "MechanicGearClutch",
    "MechanicM2load1D",
    "MechanicMkcload1D",
    "PneumaticMachine",
    "PneumaticOrifice",
];

impl Writer<'_> {
    pub(super) fn component(&mut self, component: &Component, given: &[Evaluated], spot: &Spot) {
        let &Spot { path, prefix, driven, is_connected, shared, .. } = spot;
        let Some(declaration) = declaration(self.registry, &component.typename) else {
            if is_connected {
                let entry = self.unsupported.entry(component.typename.clone());
                let name = join(path, &component.name);
                entry.or_insert((0, component.span, name)).0 += 1;
            } else {
                let name = join(path, &component.name);
                self.skipped.push((name, component.typename.clone(), component.span));
            }
            return;
        };
        let name = key(&component.name);
        let _ = writeln!(self.out, "\n[{prefix}components.{name}]");
        let _ = writeln!(self.out, "type = \"{}\"", declaration.name);
        if component.disabled {
            let _ = writeln!(self.out, "disabled = true");
        }
        let by_name: HashMap<&str, &Evaluated> =
            given.iter().map(|given| (given.name.as_str(), given)).collect();
        for parameter in declaration.parameters {
            if let Some(input) = parameter.name.strip_suffix("_connected") {
                if driven.contains(input) {
                    let _ = writeln!(self.out, "{} = true", parameter.name);
                }
                continue;
            }
            if driven.contains(parameter.name) {
                continue;
            }
            let full = match parameter.input {
                Some(_) => format!("{}#Value", parameter.name),
                None => parameter.name.to_owned(),
            };
            let Some(given) = by_name.get(full.as_str()) else { continue };
            let reference = given.expression.as_deref().map(str::trim);
            if let Some(name) = reference.filter(|name| shared.contains_key(name)) {
                let _ = writeln!(self.out, "{} = {}", key(parameter.name), quoted(name));
            } else if let Some(text) = self.value(parameter, &given.value) {
                let comment = match (&given.expression, &given.value) {
                    (Some(expression), Value::Number(value)) => comment("", expression, *value),
                    _ => String::new(),
                };
                let _ = writeln!(self.out, "{} = {text}{comment}", key(parameter.name));
            }
        }
        if TWO_ITERATIONS.contains(&component.typename.as_str())
            && declaration.parameters.iter().any(|parameter| parameter.name == "iterations")
        {
            let _ = writeln!(self.out, "iterations = 2");
        }
        if let Some(&(before, after)) = self.draws.get(&join(path, &component.name)) {
            for (name, count) in [("draws_before", before), ("draws_after", after)] {
                if count > 0 {
                    let _ = writeln!(self.out, "{name} = {count}");
                }
            }
        }
        self.file_contents(component, declaration, &by_name, spot);
        let starts = self.start_values(declaration, given, spot);
        if !starts.is_empty() {
            let _ = writeln!(self.out, "start_values = {{ {} }}", starts.join(", "));
        }
        self.drawing(component.pose);
    }

    /// What stands in a file that the component names: the text of a table, or the program of a
    /// script. A circuit file holds it itself, so that it stands alone.
    fn file_contents(
        &mut self,
        component: &Component,
        declaration: &'static Declaration,
        given: &HashMap<&str, &Evaluated>,
        spot: &Spot,
    ) {
        let has = |name: &str| declaration.parameters.iter().any(|p| p.name == name);
        // A file that was never chosen has the name that the type came with.
        let default = |name: &str| {
            declaration.parameters.iter().find(|p| p.name == name).and_then(|p| p.default)
        };
        let named = |name: &str| match given.get(name).map(|given| (&given.value, given.span)) {
            Some((Value::Text(file), span))
                if !file.trim().is_empty() && default(name) != Some(file.trim()) =>
            {
                Some((file.trim(), span))
            }
            _ => None,
        };
        let (file, is_script) = match (named("filename"), named("scriptfile")) {
            (Some(file), _) if has("filename") && has("text") => (file, false),
            (_, Some(file)) if has("program") => (file, true),
            _ => return,
        };
        let (name, span) = file;
        let path = spot.folder.join(name.replace('\\', "/"));
        let text = match crate::xml::read_bytes(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(problem) => {
                let problem = problem.at_if(span.or(Some(component.span)), "named here");
                self.problems.push(problem.on(Place::component(&component.name)));
                return;
            }
        };
        if !is_script {
            let _ = writeln!(self.out, "text = {}", quoted(&text));
            return;
        }
        match crate::numhop::Program::parse(&text) {
            Ok(program) => {
                let _ = writeln!(self.out, "program = {}", quoted(&program.in_reverse_polish()));
            }
            Err(error) => {
                let line = 1 + text[..error.range.start.min(text.len())].matches('\n').count();
                let message = format!("`{}`, line {line}: {error}", path.display());
                self.problems.push(
                    Diagnostic::error(Code::BadExpression, message)
                        .at(span.unwrap_or(component.span), "the script is named here")
                        .on(Place::component(&component.name)),
                );
            }
        }
    }

    /// A parameter's value as a circuit file writes it; nothing when it is the default.
    fn value(&mut self, parameter: &Parameter, value: &Value) -> Option<String> {
        let default = parameter.default;
        match (parameter.kind, value) {
            (Kind::Quantity | Kind::OptionalQuantity, Value::Number(x)) => {
                let is_default = default
                    .and_then(|text| Quantity::parse(text).ok())
                    .is_some_and(|default| default.value.to_bits() == x.to_bits());
                (!is_default).then(|| self.texts.number(*x, parameter.unit))
            }
            (Kind::Quantity | Kind::OptionalQuantity, Value::Integer(i)) => Some(plain(*i as f64)),
            (Kind::Integer, Value::Integer(i)) => {
                (default != Some(i.to_string().as_str())).then(|| i.to_string())
            }
            (Kind::Integer, Value::Number(x)) => Some(plain(x.round())),
            (Kind::Switch, Value::Bool(on)) => {
                (default != Some(if *on { "true" } else { "false" })).then(|| on.to_string())
            }
            (Kind::Text | Kind::Table, Value::Text(text)) => {
                (default != Some(text.as_str())).then(|| quoted(text))
            }
            (Kind::Integer, Value::Choice(i)) => {
                (default != Some(i.to_string().as_str())).then(|| i.to_string())
            }
            (Kind::Choice(words), Value::Choice(i)) => {
                let word = words.get(*i)?;
                (default != Some(*word)).then(|| quoted(word))
            }
            _ => None,
        }
    }

    /// Start values of the outputs and, for components that store, of the ports.
    fn start_values(
        &mut self,
        declaration: &'static Declaration,
        given: &[Evaluated],
        spot: &Spot,
    ) -> Vec<String> {
        let mut outputs = Vec::new();
        let mut ports: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        // At the border of a system that stores, the system's start values take the place of these.
        let border = |port: &str| spot.borders.get(&(spot.index, port.to_owned()));
        let is_own = |given: &&Evaluated| {
            given.name.split_once('#').is_none_or(|(port, _)| border(port).is_none())
        };
        let from_system = declaration.ports.iter().filter_map(|port| border(port.name)).flatten();
        for given in given.iter().filter(is_own).chain(from_system) {
            let Some((port, variable)) = given.name.split_once('#') else { continue };
            let Value::Number(value) = given.value else { continue };
            if variable == "Value"
                && let Some(output) = declaration.outputs.iter().find(|o| o.name == port)
            {
                let default = Quantity::parse(output.start).map_or(0.0, |q| q.value);
                if value != default {
                    let text = self.texts.number(value, output.unit);
                    outputs.push(format!("{} = {text}", key(port)));
                }
            } else if declaration.causality == Causality::C
                && let Some(index) =
                    declaration.ports.iter().position(|p| p.name == port && !p.observes)
            {
                let domain = declaration.ports[index].domain;
                let known = domain.hopsan_variables().iter().find(|v| v.name == variable);
                let Some(known) = known else { continue };
                let default = match (domain, known.role) {
                    (Domain::Hydraulic | Domain::Pneumatic, Role::Effort) => 1e5,
                    (Domain::Hydraulic, Role::Displacement) => 293.0,
                    (Domain::Pneumatic, Role::Dry) => 293.0,
                    (Domain::Translational, Role::Dry) => 1.0,
                    _ => 0.0,
                };
                // Temperature and heat flow of oil mean nothing to any but the dummies.
                let is_idle = domain == Domain::Hydraulic
                    && matches!(known.role, Role::Displacement | Role::Dry)
                    && !declaration.name.contains("Dummy");
                if known.role != Role::Wave && !is_idle && value != default {
                    let text = self.texts.number(value, known.unit);
                    ports.entry(index).or_default().push(format!("{variable} = {text}"));
                }
            }
        }
        let ports = ports.into_iter().map(|(index, variables)| {
            format!("{} = {{ {} }}", key(declaration.ports[index].name), variables.join(", "))
        });
        ports.chain(outputs).collect()
    }
}
