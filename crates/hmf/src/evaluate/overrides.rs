//! Settings from outside: the command line, a list of parameters, a parameter file.

use super::*;
use crate::names::sanitised;

/// A setting from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// `Component#parameter`, `Component#port#Variable`, `Sub$Component#parameter`, `self#name` for a parameter of
    /// the model itself, `Sub$self#name` for one of a system in it.
    pub name: String,
    /// The value, as it would stand in the file.
    pub value: String,
    /// Where it stands, if in a file.
    pub span: Option<Span>,
    /// Type and preset that the component must have, where a parameter file says so.
    pub expected: Option<(String, String)>,
}

impl Override {
    /// Reads `name=value`.
    pub fn parse(text: &str) -> Result<Override, Diagnostic> {
        let parts = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        match parts {
            Some((name, value)) if name.contains('#') && !value.is_empty() => {
                Ok(Override::new(name, value))
            }
            Some((name, value)) if !value.is_empty() => {
                let message =
                    format!("`{name}` is not the name of a parameter in an imported model");
                Err(Diagnostic::error(Code::BadImportedSetting, message).help(format!(
                    "`{name}#parameter={value}` sets a component, `self#{name}={value}` the model"
                )))
            }
            _ => {
                let message =
                    format!("\"{}\" is not of the form `name=value`", value::shortened(text));
                Err(Diagnostic::error(Code::BadImportedSetting, message)
                    .help("for example `Valve#x_vmax=0.02` or `self#supply=210e5`"))
            }
        }
    }

    /// A setting without a place in a file.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Override { name: name.into(), value: value.into(), span: None, expected: None }
    }
}

impl Evaluator<'_, '_> {
    pub(super) fn set_from_outside(&mut self, model: &Model, setting: &Override) {
        match self.target(model, setting) {
            Ok(Some(id)) => {
                let cell = &mut self.cells[id];
                cell.text = Cow::Owned(setting.value.clone());
                cell.origin = Origin::Override;
                cell.span = setting.span;
                cell.is_default = false;
                cell.bare_self = false;
                cell.plan = None;
            }
            Ok(None) => {}
            Err(error) => self.found.push(error),
        }
    }

    fn target(&mut self, model: &Model, setting: &Override) -> Result<Option<CellId>, Diagnostic> {
        let name = setting.name.as_str();
        let unknown = |what: String| {
            Diagnostic::error(Code::UnknownImportedName, format!("`{name}` cannot be set: {what}"))
                .at_if(setting.span, "")
        };
        let (path, parameter) = match model.without_root(name).split_once('#') {
            Some((path, parameter)) if !parameter.is_empty() => (path, parameter),
            _ => {
                return Err(unknown(
                    "there is no `#` with the name of a parameter after it".into(),
                ));
            }
        };
        let mut owner = Owner::System(0);
        let mut rest = path.split('$').peekable();
        while let Some(part) = rest.next() {
            let Owner::System(id) = owner else {
                return Err(unknown(format!("a component has nothing named `{part}` in it")));
            };
            if part == "self"
                && rest.peek().is_none()
                && self.systems[id].system.find("self").is_none()
            {
                break;
            }
            let system = self.systems[id].system;
            let index = system.find(part).or_else(|| system.find(&sanitised(part)));
            owner = match index.and_then(|index| self.systems[id].objects[index]) {
                Some(owner) => owner,
                None => {
                    let error = unknown(format!("there is no component `{part}`"));
                    self.suggestions += 1;
                    if self.suggestions > value::MAX_SUGGESTIONS {
                        return Err(error);
                    }
                    let names = system.objects.iter().map(Object::name).chain(["self"]);
                    return Err(error.suggest(part, names));
                }
            };
        }
        if let Some((typename, preset)) = &setting.expected {
            let (is_type, is_preset) = match owner {
                Owner::System(id) => {
                    let system = self.systems[id].system;
                    let own = match system.kind {
                        crate::model::SystemKind::Subsystem => "Subsystem",
                        crate::model::SystemKind::Conditional => "ConditionalSubsystem",
                    };
                    (own.to_owned(), system.subtypename.clone())
                }
                Owner::Component(id) => {
                    let component = self.components[id].component;
                    (component.typename.clone(), component.subtypename.clone())
                }
            };
            if (typename, preset) != (&is_type, &is_preset) {
                let show = |name: &str, preset: &str| match preset {
                    "" => name.to_owned(),
                    preset => format!("{name}/{preset}"),
                };
                return Err(unknown(format!(
                    "it is for a `{}`, but the component is a `{}`",
                    show(typename, preset),
                    show(&is_type, &is_preset)
                )));
            }
        }
        if let Some(cell) = self.of_owner(owner, parameter) {
            return Ok(Some(cell));
        }
        let names: Vec<String> = match owner {
            Owner::System(id) => {
                self.systems[id].parameters.keys().map(|name| name.to_string()).collect()
            }
            Owner::Component(id) => {
                let scope = &self.components[id];
                let typename = scope.component.typename.clone();
                if let Some((full, kind)) = self.full_name(&typename, parameter, scope.is_known) {
                    let full = full.into_owned();
                    return Ok(Some(self.give_parameter(id, full, kind, String::new(), false)));
                }
                let own = scope.parameters.keys().map(|name| name.to_string());
                own.chain(self.types.names(&typename)).collect()
            }
        };
        let error = unknown(format!("there is no parameter `{parameter}`"));
        self.suggestions += 1;
        if self.suggestions > value::MAX_SUGGESTIONS {
            return Err(error);
        }
        let mut names = names;
        names.sort();
        names.dedup();
        Err(error.suggest(parameter, names.iter().map(String::as_str)))
    }
}
