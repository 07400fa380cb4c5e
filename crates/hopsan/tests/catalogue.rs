//! Every type against the catalogue of the program it stands for: names, kinds and defaults of ports,
//! inputs, parameters and outputs.
//!
//! The catalogue is data beside the repository; where it is not there, nothing is compared and the
//! test says so.

use fluxline_core::declare::{Causality, Kind};
use fluxline_units::Quantity;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

fn catalogue() -> Option<Value> {
    let given = std::env::var_os("FLUXLINE_SHARED").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let file = given.unwrap_or_else(beside).join("hopsan/catalogue.json");
    let text = std::fs::read_to_string(file).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// Six digits, as the catalogue has.
fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-5 * a.abs().max(b.abs())
}

#[test]
fn types_have_the_names_and_defaults_of_the_catalogue() {
    let Some(catalogue) = catalogue() else {
        eprintln!("skipped: the catalogue is not there");
        return;
    };
    let known: HashMap<&str, &Value> =
        list(&catalogue, "components").map(|c| (text(c, "typename"), c)).collect();
    let mut wrong = Vec::new();
    let mut seen = HashSet::new();
    for kind in fluxline_hopsan::types() {
        let declaration = kind.declaration;
        let name = declaration.name.strip_prefix("hopsan.").unwrap();
        let mut say = |message: String| wrong.push(format!("{name}: {message}"));
        if !seen.insert(name) {
            say("declared twice".to_owned());
        }
        let Some(entry) = known.get(name) else {
            say("not in the catalogue".to_owned());
            continue;
        };
        let causality = match declaration.causality {
            Causality::C => "C",
            Causality::Q => "Q",
            Causality::S => "S",
        };
        if text(entry, "cqs") != causality {
            say(format!("is {causality}, not {}", text(entry, "cqs")));
        }
        for port in list(entry, "ports") {
            let (port_name, port_type) = (text(port, "name"), text(port, "porttype"));
            let found = declaration.ports.iter().find(|p| p.name == port_name);
            let is_signal = text(port, "nodetype").starts_with("NodeSignal");
            match (is_signal, port_type) {
                (true, "WritePort") => {
                    if declaration.output(port_name).is_none() {
                        say(format!("has no output {port_name}"));
                    }
                }
                (true, _) => {
                    let is_input = |p: &fluxline_core::declare::Parameter| {
                        p.name == port_name && p.input.is_some()
                    };
                    if !declaration.parameters.iter().any(is_input) {
                        say(format!("has no input {port_name}"));
                    }
                }
                (false, _) => match found {
                    None => say(format!("has no port {port_name}")),
                    Some(found) => {
                        if found.many != port_type.contains("MultiPort") {
                            say(format!("port {port_name} takes many: {}", found.many));
                        }
                        if found.observes != port_type.starts_with("Read") {
                            say(format!("port {port_name} observes: {}", found.observes));
                        }
                        let required = port["required"].as_bool().unwrap_or(false);
                        if required == found.optional && !found.many {
                            say(format!("port {port_name} is optional: {}", found.optional));
                        }
                    }
                },
            }
        }
        let number = |text: &str| Quantity::parse(text).ok().map(|q| q.value);
        for input in list(entry, "inputs") {
            let wanted = input["default"].as_f64();
            let found = declaration
                .parameters
                .iter()
                .find(|p| p.name == text(input, "name") && p.input.is_some());
            let default = found.and_then(|p| p.default).and_then(number);
            if let (Some(a), Some(b)) = (default, wanted)
                && !is_close(a, b)
            {
                say(format!("input {} has the default {a}, not {b}", text(input, "name")));
            }
        }
        for parameter in list(entry, "parameters") {
            let (parameter_name, wanted) = (text(parameter, "name"), text(parameter, "default"));
            let found = declaration.parameters.iter().find(|p| p.name == parameter_name);
            let Some(found) = found else {
                say(format!("has no parameter {parameter_name}"));
                continue;
            };
            let default = found.default.unwrap_or_default();
            let same = match found.kind {
                Kind::Text | Kind::Switch => default == wanted,
                Kind::Choice(_) => true,
                _ => match (number(default), wanted.parse::<f64>()) {
                    (Some(a), Ok(b)) => is_close(a, b),
                    _ => default == wanted,
                },
            };
            if !same && found.input.is_none() {
                say(format!("parameter {parameter_name} has the default {default}, not {wanted}"));
            }
        }
        for output in list(entry, "outputs") {
            let found = declaration.outputs.iter().find(|o| o.name == text(output, "name"));
            let start = found.and_then(|o| number(o.start)).unwrap_or(0.0);
            let wanted = output["start_value"].as_f64().unwrap_or(0.0);
            if found.is_some() && !is_close(start, wanted) {
                say(format!("output {} starts at {start}, not {wanted}", text(output, "name")));
            }
        }
    }
    let missing: Vec<&str> = list(&catalogue, "components")
        .map(|c| text(c, "typename"))
        .filter(|n| !seen.contains(n))
        .collect();
    println!("{} types; not here: {}", seen.len(), missing.join(" "));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
