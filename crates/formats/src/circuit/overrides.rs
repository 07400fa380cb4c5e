//! Values given from outside, such as by `--set relief.cracking_pressure=130 bar`.

use super::Loader;
use super::definition::DefinitionId;
use crate::tree::{self, Item, Val};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap, Span};
use std::cell::Cell;
use std::collections::HashMap;

/// A value that replaces one of the file, given as `name=value`.
///
/// | name | sets |
/// |---|---|
/// | `relief.cracking_pressure` | a parameter of a component, also within sub-circuits: `boom.valve.area` |
/// | `boom.bore` | a parameter of a sub-circuit where it is used |
/// | `supply`, `parameters.supply` | a parameter of the circuit |
/// | `run.stop`, `fluid.density`, `fluids.brake.density`, `lines.volume`, `record.samples` | a setting |
/// | `title` | the title |
///
/// The value is read as in a file, without quotes: `130 bar`, `2*supply`, `true`, `[1, 2]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    argument: String,
    /// Where the `=` is.
    equals: Option<usize>,
    /// Who gave it, as messages call it.
    giver: &'static str,
}

/// Who gives values from outside.
pub(super) const GIVERS: [&str; 2] = ["--set", "variant"];

impl Override {
    /// From a name and a value.
    pub fn new(name: &str, value: &str) -> Self {
        Self { argument: format!("{name}={value}"), equals: Some(name.len()), giver: GIVERS[0] }
    }

    /// From a name and a value of a variant, which a study chose.
    pub fn of_variant(name: &str, value: &str) -> Self {
        Self { giver: GIVERS[1], ..Self::new(name, value) }
    }

    /// From the argument of `--set`. One without `=` is reported when the circuit is loaded.
    pub fn parse(argument: &str) -> Self {
        Self { argument: argument.to_owned(), equals: argument.find('='), giver: GIVERS[0] }
    }

    /// As it was given: `name=value`.
    pub fn text(&self) -> &str {
        &self.argument
    }
}

/// One value to set.
#[derive(Debug)]
pub(super) struct Setting {
    /// The whole name.
    pub path: String,
    /// Last part of the name.
    pub key: String,
    /// Where the name stands.
    pub at: Span,
    pub item: Item,
    pub used: Cell<bool>,
}

/// All values to set, by what they belong to: the full name of a component, or a header such as
/// `[run]`.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    pub settings: Vec<Setting>,
    by_owner: HashMap<String, Vec<usize>>,
}

impl Overrides {
    pub fn new(given: &[Override], sources: &mut SourceMap, found: &mut Diagnostics) -> Self {
        let mut overrides = Self::default();
        for one in given {
            let source = sources.add(one.giver, one.argument.as_str());
            let text = &one.argument;
            let Some(equals) = one.equals else {
                found.push(
                    Diagnostic::error(Code::BadOverride, format!("`--set {text}` has no value"))
                        .at(sources.span(source, 0..text.len()), "expected `name=value`")
                        .help("quote the whole if the value holds blanks: --set \"relief.cracking_pressure=140 bar\""),
                );
                continue;
            };
            let path = text[..equals].trim();
            let start = text[..equals].len() - text[..equals].trim_start().len();
            let at = sources.span(source, start..start + path.len());
            let Some((owner, key)) = owner_of(path) else {
                found.push(
                    Diagnostic::error(
                        Code::BadOverride,
                        format!("`{} {text}` does not name anything to set", one.giver),
                    )
                    .at(sources.span(source, 0..equals), "expected a name")
                    .help("write --set \"component.parameter=value\""),
                );
                continue;
            };
            let value = text[equals + 1..].trim_end();
            let from = equals + 1 + value.len() - value.trim_start().len();
            let range = from..equals + 1 + value.len();
            let Some(item) = item(text, range, source, found) else {
                continue;
            };
            // A later one replaces an earlier one.
            let entries = overrides.by_owner.entry(owner).or_default();
            let settings = &overrides.settings;
            entries.retain(|&index: &usize| {
                let same = settings[index].key == key;
                settings[index].used.set(settings[index].used.get() || same);
                !same
            });
            entries.push(overrides.settings.len());
            overrides.settings.push(Setting {
                path: path.to_owned(),
                key: key.to_owned(),
                at,
                item,
                used: Cell::new(false),
            });
        }
        overrides
    }

    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// Gives what one owner has to another.
    pub fn join(&mut self, from: &str, to: &str) {
        if let Some(indices) = self.by_owner.remove(from) {
            self.by_owner.entry(to.to_owned()).or_default().extend(indices);
        }
    }

    /// What is to be set for an owner.
    pub fn of(&self, owner: &str) -> Vec<usize> {
        match self.is_empty() {
            true => Vec::new(),
            false => self.by_owner.get(owner).cloned().unwrap_or_default(),
        }
    }
}

/// What a name belongs to, and its last part.
fn owner_of(path: &str) -> Option<(String, &str)> {
    let parts: Vec<&str> = path.split('.').collect();
    if parts.iter().any(|part| part.trim().is_empty()) {
        return None;
    }
    Some(match parts[..] {
        ["title"] => ("[title]".to_owned(), path),
        [name] => ("[parameters]".to_owned(), name),
        [section @ ("run" | "solver" | "lines" | "record" | "parameters" | "fluid"), name] => {
            (format!("[{section}]"), name)
        }
        ["fluids", fluid, name] => (format!("[fluids.{fluid}]"), name),
        ["components", ref rest @ .., name] if !rest.is_empty() => (rest.join("."), name),
        [ref rest @ .., name] => (rest.join("."), name),
        [] => return None,
    })
}

/// A value as in a file, where a text needs no quotes.
fn item(
    text: &str,
    range: std::ops::Range<usize>,
    source: fluxline_diagnostics::SourceId,
    found: &mut Diagnostics,
) -> Option<Item> {
    let value = &text[range.clone()];
    let at = Span::new(source, range.clone());
    if value.starts_with(['[', '{', '"', '\'']) {
        return tree::parse_value(text, range, source, found);
    }
    let number = value.parse::<f64>().ok().filter(|x| x.is_finite());
    let value = match (value, number) {
        ("true", _) => Val::Switch(true),
        ("false", _) => Val::Switch(false),
        (_, Some(number)) => match value.parse() {
            Ok(whole) => Val::Integer(whole),
            Err(_) => Val::Float(number),
        },
        _ => Val::Text(value.to_owned()),
    };
    Some(Item { at, value })
}

impl Loader<'_> {
    /// Reports values that nothing in the circuit took.
    pub(super) fn report_unused_overrides(&mut self, root: DefinitionId) {
        let overrides = std::mem::take(&mut self.overrides);
        for setting in overrides.settings.iter().filter(|setting| !setting.used.get()) {
            let path = setting.path.strip_prefix("components.").unwrap_or(&setting.path);
            let definition = self.definitions[root].clone();
            let names = definition.parameters.iter().map(|(key, _)| key.name.as_str());
            let Some((owner, _)) = path.rsplit_once('.') else {
                let message = format!("the circuit has no parameter `{path}`");
                let error = Diagnostic::error(Code::UnknownParameter, message)
                    .at(setting.at, "unknown parameter")
                    .note("a parameter of a component is written `component.parameter`");
                let error = self.suggest(error, path, names);
                self.found.push(error);
                continue;
            };
            let error = if owner == "parameters" {
                let message = format!("the circuit has no parameter `{}`", setting.key);
                let error = Diagnostic::error(Code::UnknownParameter, message)
                    .at(setting.at, "unknown parameter");
                self.suggest(error, &setting.key, names)
            } else if owner.starts_with("fluids.") || owner == "fluid" {
                let message = format!("the circuit has no fluid for `{path}`");
                Diagnostic::error(Code::UnknownParameter, message).at(setting.at, "unknown fluid")
            } else {
                let message = format!("the circuit has no component `{owner}`");
                let error = Diagnostic::error(Code::UnknownComponent, message)
                    .at(setting.at, "unknown component");
                let parts = definition.parts.iter().map(|part| part.key.name.clone());
                let all: Vec<String> =
                    self.components.iter().map(|c| c.name.clone()).chain(parts).collect();
                self.suggest(error, owner, all.iter().map(String::as_str))
            };
            self.found.push(error);
        }
        self.overrides = overrides;
    }
}
