//! Circuits from code: the same components and texts as in a file.
//!
//! ```ignore
//! let mut circuit = Builder::new(&registry);
//! circuit.add("pump", "hydraulic.flow_source", &[("flow", "10 l/min")]);
//! circuit.add("tank", "hydraulic.tank", &[]);
//! circuit.add("orifice", "hydraulic.turbulent_orifice", &[("area", "5 mm^2")]);
//! circuit.connect(&["pump.outlet", "orifice.inlet"]).line("hydraulic.volume", &[("volume", "1 l")]);
//! circuit.connect(&["orifice.outlet", "tank.port"]);
//! let plan = circuit.plan()?;
//! ```

use crate::circuit::{Circuit, Connection, Drive, Instance, PortEnd, Registry, Source};
use crate::component::ComponentType;
use crate::declare::{Kind, Value};
use crate::fluid::Fluid;
use crate::plan::Plan;
use crate::table::Table;
use crate::values::{Rules, default_settings};
use fluxline_units::{Expr, Quantity};
use std::collections::HashMap;
use std::sync::Arc;

/// Builds a circuit step by step; mistakes are collected and told by [`Builder::plan`].
pub struct Builder<'r> {
    registry: &'r Registry,
    /// The circuit so far; settings may be changed freely.
    pub circuit: Circuit,
    names: HashMap<String, usize>,
    mistakes: Vec<String>,
}

impl<'r> Builder<'r> {
    /// An empty circuit with default settings.
    ///
    /// # Panics
    /// Only if the settings declared in this crate had no defaults, which a test excludes.
    pub fn new(registry: &'r Registry) -> Self {
        Self {
            registry,
            circuit: Circuit {
                title: String::new(),
                run: default_settings().expect("run settings have defaults"),
                solver: default_settings().expect("solver settings have defaults"),
                lines: default_settings().expect("line settings have defaults"),
                fluids: vec![Fluid::default()],
                rates: vec![1],
                components: Vec::new(),
                connections: Vec::new(),
                drives: Vec::new(),
                offers: Vec::new(),
                record: Vec::new(),
                recording: default_settings().expect("record settings have defaults"),
                plots: Vec::new(),
            },
            names: HashMap::new(),
            mistakes: Vec::new(),
        }
    }

    /// Adds a component with parameters as texts.
    pub fn add(&mut self, name: &str, kind: &str, parameters: &[(&str, &str)]) -> &mut Self {
        if let Some(instance) = self.instance(name, kind, parameters) {
            self.names.insert(name.to_owned(), self.circuit.components.len());
            self.circuit.components.push(instance);
        }
        self
    }

    /// Gives the last component a table of pairs.
    pub fn table(&mut self, parameter: &str, pairs: &[(f64, f64)]) -> &mut Self {
        let (knots, values) = pairs.iter().copied().unzip();
        if let Some(instance) = self.circuit.components.last_mut() {
            match instance.declaration().parameter(parameter) {
                Some(p) => instance.values[p] = Value::Table(Arc::new(Table::curve(knots, values))),
                None => self.mistakes.push(format!("`{}` has no `{parameter}`", instance.name)),
            }
        }
        self
    }

    /// Puts the last component on a smaller step: so many sub-steps per main step.
    pub fn sub_steps(&mut self, divisor: u32) -> &mut Self {
        let rate = match self.circuit.rates.iter().position(|&r| r == divisor) {
            Some(rate) => rate,
            None => {
                self.circuit.rates.push(divisor);
                self.circuit.rates.len() - 1
            }
        };
        if let Some(instance) = self.circuit.components.last_mut() {
            instance.rate = rate;
        }
        self
    }

    fn instance(
        &mut self,
        name: &str,
        kind: &str,
        parameters: &[(&str, &str)],
    ) -> Option<Instance> {
        let Some(kind) = self.registry.get(kind) else {
            self.mistakes.push(format!("`{name}` has the unknown type `{kind}`"));
            return None;
        };
        match values(kind, parameters) {
            Ok(values) => Some(Instance {
                name: name.to_owned(),
                kind,
                value_spans: vec![None; values.len()],
                starts: Vec::new(),
                disabled: false,
                gates: Vec::new(),
                values,
                fluid: 0,
                rate: 0,
                span: None,
            }),
            Err(mistake) => {
                self.mistakes.push(format!("`{name}`: {mistake}"));
                None
            }
        }
    }

    /// Connects power ports.
    pub fn connect(&mut self, ports: &[&str]) -> &mut Self {
        let ends: Vec<PortEnd> = ports.iter().filter_map(|p| self.port(p)).collect();
        self.circuit.connections.push(Connection { ends, line: None, span: None });
        self
    }

    /// Gives the last connection a line.
    pub fn line(&mut self, kind: &str, parameters: &[(&str, &str)]) -> &mut Self {
        let name = format!("line{}", self.circuit.connections.len());
        let line = self.instance(&name, kind, parameters);
        if let Some(connection) = self.circuit.connections.last_mut() {
            connection.line = line;
        }
        self
    }

    /// Drives an input by an output, a state or a port variable.
    pub fn drive(&mut self, from: &str, to: &str) -> &mut Self {
        let target = to.rsplit_once('.').and_then(|(component, input)| {
            let component = *self.names.get(component)?;
            let declaration = self.circuit.components[component].declaration();
            Some((component, declaration.parameters[declaration.parameter(input)?].input?))
        });
        match (self.source(from), target) {
            (Some(from), Some((component, input))) => {
                self.circuit.drives.push(Drive { from, component, input, span: None });
            }
            _ => self.mistakes.push(format!("`{from}` cannot drive `{to}`")),
        }
        self
    }

    fn source(&self, from: &str) -> Option<Source> {
        let (component, name) = from.rsplit_once('.')?;
        if let Some(&index) = self.names.get(component) {
            let declaration = self.circuit.components[index].declaration();
            if let Some(output) = declaration.output(name) {
                return Some(Source::Output { component: index, output });
            }
            let state = declaration.states.iter().position(|s| s.name == name)?;
            return Some(Source::State { component: index, state });
        }
        let (component, port) = component.rsplit_once('.')?;
        let component = *self.names.get(component)?;
        let declared = self.circuit.components[component].declaration().ports;
        let port = declared.iter().position(|p| p.name == port)?;
        let variable = *declared[port].domain.variables().iter().find(|v| v.name == name)?;
        Some(Source::Port { component, port, place: 1, variable })
    }

    fn port(&mut self, path: &str) -> Option<PortEnd> {
        let found = path.rsplit_once('.').and_then(|(component, port)| {
            let component = *self.names.get(component)?;
            let ports = self.circuit.components[component].declaration().ports;
            let port = ports.iter().position(|p| p.name == port)?;
            Some(PortEnd { component, port, place: None, span: None })
        });
        if found.is_none() {
            self.mistakes.push(format!("there is no port `{path}`"));
        }
        found
    }

    /// Checks the circuit and lays it out.
    pub fn plan(&self) -> Result<Plan, String> {
        if !self.mistakes.is_empty() {
            return Err(self.mistakes.join("\n"));
        }
        let planned = Plan::of(&self.circuit, self.registry);
        planned.plan.ok_or_else(|| {
            planned.problems.iter().map(|p| p.to_string()).collect::<Vec<_>>().join("\n")
        })
    }
}

fn values(kind: ComponentType, parameters: &[(&str, &str)]) -> Result<Vec<Value>, String> {
    let declaration = kind.declaration;
    let rules = Rules::of(declaration).map_err(|e| e.to_string())?;
    let mut all: Vec<Value> = rules.parameters.iter().map(|r| r.default.clone()).collect();
    for (name, text) in parameters {
        let index = declaration
            .parameter(name)
            .ok_or_else(|| format!("{} has no parameter `{name}`", declaration.name))?;
        let rule = &rules.parameters[index];
        all[index] = match declaration.parameters[index].kind {
            Kind::Switch => Value::Switch(*text == "true"),
            Kind::Choice(words) => Value::Choice(
                words
                    .iter()
                    .position(|w| w == text)
                    .ok_or_else(|| format!("`{name}` is one of {}", words.join(", ")))?,
            ),
            Kind::Text => Value::Text((*text).to_owned()),
            Kind::List => {
                Value::List(text.split(',').map(number).collect::<Result<Vec<f64>, _>>()?)
            }
            Kind::Table => return Err(format!("`{name}` is a table: use Builder::table")),
            _ => {
                let quantity = quantity(text)?;
                let fits = rule.any_unit
                    || quantity.dimension == rule.unit.dimension()
                    || quantity.dimension.is_dimensionless();
                if !fits {
                    return Err(format!(
                        "`{name}` = \"{text}\" is {}, not {}",
                        quantity.dimension.with_article(),
                        rule.unit.dimension().with_article()
                    ));
                }
                if let Some((_, bound)) = rule.beyond(quantity.value) {
                    return Err(format!(
                        "`{name}` = \"{text}\" is beyond {} {}",
                        bound.value, rule.unit
                    ));
                }
                Value::Number(quantity.value)
            }
        };
    }
    Ok(all)
}

fn quantity(text: &str) -> Result<Quantity, String> {
    let expression = Expr::parse(text, &|_| false).map_err(|e| e.to_string())?;
    expression.evaluate(&|_| None).map_err(|e| e.to_string())
}

fn number(text: &str) -> Result<f64, String> {
    quantity(text).map(|q| q.value)
}
