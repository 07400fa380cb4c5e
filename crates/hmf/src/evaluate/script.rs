//! Scripts of systems, which set parameters before all are evaluated.

use super::value::{MAX_SUGGESTIONS, shortened};
use super::*;
use crate::number;

/// What a name in a script means.
enum Meaning {
    Parameter(CellId),
    /// A variable of the script itself, or nothing at all.
    Local,
    Unknown,
}

impl Evaluator<'_, '_> {
    /// Runs all scripts; a system's comes before those within it.
    pub(super) fn run_scripts(&mut self) {
        // Systems were added in this order.
        for system in 0..self.systems.len() {
            if self.systems[system].system.script.is_some() {
                self.run_script(system);
            }
        }
    }

    fn run_script(&mut self, system: usize) {
        let Some(script) = &self.systems[system].system.script else { return };
        let path = match self.systems[system].path.as_str() {
            "" => "the model".to_owned(),
            path => format!("`{path}`"),
        };
        let program = match Program::parse(&script.text) {
            Ok(program) => program,
            // A script of comments only.
            Err(error) if error.range == (0..script.text.len()) => return,
            Err(error) => {
                let before = &script.text[..error.range.start.min(script.text.len())];
                let line = before.matches('\n').count() + 1;
                let message = format!(
                    "line {line} of the script of {path} cannot be read: {}",
                    error.message
                );
                let culprit = script.text.lines().nth(line - 1).unwrap_or("").trim();
                self.found.push(
                    Diagnostic::error(Code::BadExpression, message)
                        .at(script.span, "in this script")
                        .note(format!("the line is: {}", shortened(culprit))),
                );
                return;
            }
        };
        let mut values = vec![0.0; program.variables().len()];
        let mut is_local = vec![false; program.variables().len()];
        for statement in program.statements() {
            let mut is_whole = true;
            for &slot in &statement.reads {
                if is_local[slot] {
                    continue;
                }
                let name = &program.variables()[slot];
                match self.in_script(system, name, false) {
                    Meaning::Parameter(cell) => {
                        match self.evaluate(cell).and_then(|value| value.number()) {
                            Some(value) => values[slot] = value,
                            None => is_whole = false,
                        }
                    }
                    _ => {
                        self.unknown_in_script(system, name, statement.range.clone());
                        is_whole = false;
                    }
                }
            }
            if !is_whole {
                continue;
            }
            let mut stack = std::mem::take(&mut self.stack);
            program.run(statement, &mut values, &mut stack);
            self.stack = stack;
            for &slot in &statement.writes {
                let name = &program.variables()[slot];
                match self.in_script(system, name, true) {
                    Meaning::Parameter(cell) => self.assign(system, cell, values[slot]),
                    Meaning::Local => is_local[slot] = true,
                    Meaning::Unknown => {
                        self.unknown_in_script(system, name, statement.range.clone())
                    }
                }
            }
        }
    }

    fn assign(&mut self, system: usize, id: CellId, value: f64) {
        let span = self.systems[system].system.script.as_ref().map(|script| script.span);
        if self.cells[id].origin == Origin::Override {
            let message = format!(
                "`{}` was set from outside, but a script of the model sets it again",
                self.describe(id)
            );
            let warning = Diagnostic::warning(Code::IgnoredParameter, message);
            self.found.push(warning.at_if(span, "in this script"));
        }
        let cell = &mut self.cells[id];
        cell.text = Cow::Owned(number::text(value));
        cell.origin = Origin::Script;
        cell.span = span;
        cell.is_default = false;
        cell.plan = None;
        self.epoch += 1;
    }

    fn in_script(&mut self, system: usize, name: &str, is_target: bool) -> Meaning {
        let known = |cell: Option<CellId>| cell.map_or(Meaning::Unknown, Meaning::Parameter);
        if let Some(rest) = name.strip_prefix("self.") {
            return known(self.of_owner(Owner::System(system), &rest.replacen('.', "#", 1)));
        }
        let scope = &self.systems[system];
        let model = scope.system;
        if model.conversions.bare_self
            && let Some(&cell) = scope.parameters.get(name.replace('.', "#").as_str())
        {
            return Meaning::Parameter(cell);
        }
        let alias = scope.aliases.get(name).map(|&index| &model.aliases[index]);
        let (component, parameter) = match (alias, name.split_once('.')) {
            (Some(alias), _) => {
                (alias.component.as_str(), format!("{}#{}", alias.port, alias.variable))
            }
            (None, Some((component, rest))) => (component, rest.replacen('.', "#", 1)),
            (None, None) if is_target => return Meaning::Local,
            (None, None) => {
                let parent = scope.parent;
                return known(self.outwards(parent, name, |kind| kind == Kind::Double));
            }
        };
        let owner = model.find(component).and_then(|index| scope.objects[index]);
        let Some(owner) = owner else { return Meaning::Unknown };
        let cell = self.of_owner(owner, &parameter);
        let cell = match (cell, owner) {
            // Not in the file, but its type has it: there is nothing to read, but it can be set.
            (None, Owner::Component(id)) if is_target => {
                let typename = &self.components[id].component.typename;
                let full = self.full_name(typename, &parameter, self.components[id].is_known);
                full.map(|(full, kind)| (full.into_owned(), kind))
                    .map(|(full, kind)| self.give_parameter(id, full, kind, String::new(), false))
            }
            (cell, _) => cell,
        };
        known(cell)
    }

    fn unknown_in_script(&mut self, system: usize, name: &str, range: std::ops::Range<usize>) {
        let scope = &self.systems[system];
        let Some(script) = &scope.system.script else { return };
        self.suggestions += 1;
        if self.suggestions > MAX_SUGGESTIONS {
            let message = format!("a script uses `{name}`, which is not known there");
            let error = Diagnostic::error(Code::UnknownNameInExpression, message);
            self.found.push(error.at(script.span, "in this script"));
            return;
        }
        let line = script.text[..range.start].matches('\n').count() + 1;
        let place = match scope.path.as_str() {
            "" => "the model".to_owned(),
            path => format!("`{path}`"),
        };
        let statement = shortened(script.text[range].trim());
        let message = format!(
            "line {line} of the script of {place}, \"{statement}\", uses `{name}`, which is not known there"
        );
        let mut names: Vec<String> =
            scope.parameters.keys().map(|name| format!("self.{name}")).collect();
        let (component, parameter) = name.split_once('.').unwrap_or((name, ""));
        match scope.system.find(component).and_then(|index| scope.objects[index]) {
            Some(Owner::Component(id)) if !parameter.is_empty() => {
                let own = self.components[id].parameters.keys();
                names.extend(own.map(|own| format!("{component}.{}", own.replace('#', "."))));
            }
            _ => names.extend(scope.system.objects.iter().map(|object| object.name().to_owned())),
        }
        names.sort();
        let error = Diagnostic::error(Code::UnknownNameInExpression, message)
            .at(script.span, "in this script");
        self.found.push(error.suggest(name, names.iter().map(String::as_str)));
    }
}
