//! Named parameters of a circuit: evaluated in any order, checked for circles.

use super::Loader;
use super::definition::{Definition, wrong_type};
use crate::tree::{Item, Key, Val};
use fluxline_diagnostics::{Code, Diagnostic, Span};
use fluxline_units::{Dimension, Expr, Quantity};
use std::cell::Cell;
use std::collections::HashMap;

/// The parameters that expressions of one circuit may use.
#[derive(Debug, Default)]
pub(super) struct Scope {
    index: HashMap<String, usize>,
    parameters: Vec<Named>,
}

#[derive(Debug)]
struct Named {
    /// `None` when it has an error of its own.
    value: Option<Quantity>,
    used: Cell<bool>,
}

impl Scope {
    pub fn has(&self, name: &str) -> bool {
        !self.index.is_empty() && self.index.contains_key(name)
    }

    pub fn value(&self, name: &str) -> Option<Quantity> {
        self.parameters[*self.index.get(name)?].value
    }

    pub fn mark_used(&self, name: &str) {
        if let Some(&index) = self.index.get(name) {
            self.parameters[index].used.set(true);
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.index.keys().map(String::as_str)
    }
}

/// A value that replaces the one of the definition, from the use of a sub-circuit.
#[derive(Debug)]
pub(super) struct Given {
    /// `None` when it has an error of its own.
    pub value: Option<Quantity>,
    /// The text, for messages.
    pub text: String,
    pub at: Span,
}

/// A parameter before it has a value.
struct Pending<'d> {
    key: &'d Key,
    item: &'d Item,
    expression: Option<Expr>,
    /// The parameters it needs, with their places in the text.
    needs: Vec<(usize, Span)>,
    value: Option<Quantity>,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Untouched,
    Open,
    Done,
}

impl Loader<'_> {
    /// Evaluates the parameters of a circuit; `given` replaces some of them.
    pub(super) fn scope(
        &mut self,
        definition: &Definition,
        mut given: HashMap<String, Given>,
        is_root: bool,
    ) -> Scope {
        if definition.parameters.is_empty() {
            return Scope::default();
        }
        let mut scope = Scope::default();
        for (key, _) in &definition.parameters {
            let index = scope.parameters.len();
            scope.index.insert(key.name.clone(), index);
            scope.parameters.push(Named { value: None, used: Cell::new(false) });
        }
        // Values from the command line stand in place of those of the file.
        let mut replaced: HashMap<&str, Item> = HashMap::new();
        if is_root {
            for index in self.overrides.of("[parameters]") {
                let setting = &self.overrides.settings[index];
                if let Some((key, _)) =
                    definition.parameters.iter().find(|(key, _)| key.name == setting.key)
                {
                    setting.used.set(true);
                    replaced.insert(&key.name, setting.item.clone());
                }
            }
        }

        let mut pending: Vec<Pending> = Vec::with_capacity(definition.parameters.len());
        for (key, item) in &definition.parameters {
            let item = replaced.get(key.name.as_str()).unwrap_or(item);
            pending.push(match given.get(&key.name) {
                Some(given) => Pending {
                    key,
                    item,
                    expression: None,
                    needs: Vec::new(),
                    value: given.value,
                    state: State::Done,
                },
                None => self.pending(key, item, &scope),
            });
        }
        for start in 0..pending.len() {
            self.settle(start, &mut pending, &mut scope);
        }
        for (index, parameter) in pending.iter().enumerate() {
            scope.parameters[index].value = parameter.value;
        }
        for (key, item) in &definition.parameters {
            let new = match (given.remove(&key.name), replaced.get(key.name.as_str())) {
                (Some(given), _) => given,
                (None, Some(new)) => Given {
                    value: scope.value(&key.name),
                    text: self.sources.slice(new.at).to_owned(),
                    at: new.at,
                },
                (None, None) => continue,
            };
            if !self.check_replacement(key, item, &new, &scope) {
                silence(&mut scope, &pending, &key.name);
            }
        }
        scope
    }

    /// A value that replaces another must be of the same kind.
    fn check_replacement(&mut self, key: &Key, item: &Item, new: &Given, scope: &Scope) -> bool {
        let dimension = match &item.value {
            Val::Text(text) => {
                let lookup = |name: &str| scope.value(name).map(|value| value.dimension);
                let expression = Expr::parse(text, &|name| scope.has(name)).ok();
                expression.and_then(|expression| expression.check(&lookup).ok())
            }
            Val::Integer(_) | Val::Float(_) => Some(Dimension::DIMENSIONLESS),
            _ => None,
        };
        if let (Some(expected), Some(value)) = (dimension, new.value)
            && value.dimension != expected
        {
            let message = format!(
                "`{}` is {}, but `{}` is {}",
                key.name,
                expected.with_article(),
                new.text,
                value.dimension.with_article()
            );
            let error = Diagnostic::error(Code::WrongDimension, message)
                .at(new.at, format!("expected {}", expected.with_article()))
                .also(item.at, "the value that it replaces");
            self.report(error);
            return false;
        }
        true
    }

    fn pending<'d>(&mut self, key: &'d Key, item: &'d Item, scope: &Scope) -> Pending<'d> {
        let mut pending = Pending {
            key,
            item,
            expression: None,
            needs: Vec::new(),
            value: None,
            state: State::Done,
        };
        match &item.value {
            Val::Integer(_) | Val::Float(_) => pending.value = self.plain_number(item, &key.name),
            Val::Text(text) => match Expr::parse(text, &|name| scope.has(name)) {
                Ok(expression) => {
                    pending.value = expression.as_quantity();
                    if pending.value.is_none() {
                        pending.needs = expression
                            .names()
                            .filter_map(|(name, at)| Some((*scope.index.get(name)?, item.part(at))))
                            .collect();
                        pending.expression = Some(expression);
                        pending.state = State::Untouched;
                    }
                }
                Err(error) => self.expression_error(&error, &key.name, item, scope),
            },
            _ => {
                let error = wrong_type(&format!("parameters.{}", key.name), item, "a quantity")
                    .help("write \"120 bar\", an expression or a number");
                self.report(error);
            }
        }
        pending
    }

    /// Evaluates a parameter after those that it needs. Not recursive: a generated file may hold
    /// chains of any length.
    fn settle(&mut self, start: usize, pending: &mut [Pending], scope: &mut Scope) {
        if pending[start].state != State::Untouched {
            return;
        }
        pending[start].state = State::Open;
        let mut stack = vec![(start, 0)];
        while let Some((index, next)) = stack.last_mut() {
            let index = *index;
            if let Some(&(need, _)) = pending[index].needs.get(*next) {
                *next += 1;
                match pending[need].state {
                    State::Done => {}
                    State::Untouched => {
                        pending[need].state = State::Open;
                        stack.push((need, 0));
                    }
                    State::Open => {
                        let from = stack.iter().position(|(at, _)| *at == need).unwrap_or(0);
                        let circle: Vec<(usize, usize)> = stack[from..].to_vec();
                        self.circle(&circle, pending);
                        // All of it has no value; what depends on it stays silent.
                        for (member, _) in circle {
                            pending[member].state = State::Done;
                            pending[member].expression = None;
                        }
                    }
                }
                continue;
            }
            stack.pop();
            for at in 0..pending[index].needs.len() {
                let need = pending[index].needs[at].0;
                scope.parameters[need].value = pending[need].value;
            }
            if let Some(expression) = pending[index].expression.take() {
                let (item, name) = (pending[index].item, &pending[index].key.name);
                pending[index].value = self.compute(&expression, name, item, scope);
            }
            pending[index].state = State::Done;
        }
    }

    /// Reports a circle: each member with the place where it names the next.
    fn circle(&mut self, circle: &[(usize, usize)], pending: &[Pending]) {
        let names: Vec<&str> =
            circle.iter().map(|(index, _)| pending[*index].key.name.as_str()).collect();
        let message = match names[..] {
            [one] => format!("the parameter `{one}` depends on itself"),
            _ => {
                const SHOWN: usize = 12;
                let mut walk: Vec<String> =
                    names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
                if names.len() > SHOWN {
                    walk.push(format!("… ({} more)", names.len() - SHOWN));
                }
                walk.push(format!("`{}`", names[0]));
                format!("parameters depend on each other in a circle: {}", walk.join(" → "))
            }
        };
        let mut error = Diagnostic::error(Code::CircularParameters, message);
        for (step, (index, next)) in circle.iter().enumerate().take(6) {
            let Some((_, at)) = pending[*index].needs.get(next.saturating_sub(1)) else {
                continue;
            };
            let target = names[(step + 1) % names.len()];
            let text = format!("`{}` needs `{target}`", names[step]);
            error = if step == 0 { error.at(*at, text) } else { error.also(*at, text) };
        }
        self.report(error.help("give one of them a value of its own"));
    }

    /// Warns of parameters on which nothing depends.
    pub(super) fn warn_unused(&mut self, definition: &Definition, scope: &Scope) {
        for (key, _) in &definition.parameters {
            let index = scope.index.get(&key.name);
            if index.is_some_and(|&index| !scope.parameters[index].used.get()) {
                let message = format!("nothing depends on the parameter `{}`", key.name);
                self.found.push(
                    Diagnostic::warning(Code::UnusedParameter, message)
                        .at(key.at, "not used")
                        .help("use it in an expression, or remove it"),
                );
            }
        }
    }
}

/// Takes the value from a parameter and from all that depend on it, so that one mistake is
/// reported once.
fn silence(scope: &mut Scope, pending: &[Pending], name: &str) {
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); pending.len()];
    for (index, parameter) in pending.iter().enumerate() {
        for (need, _) in &parameter.needs {
            dependents[*need].push(index);
        }
    }
    let mut open: Vec<usize> = scope.index.get(name).copied().into_iter().collect();
    let mut seen = vec![false; pending.len()];
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut seen[index], true) {
            scope.parameters[index].value = None;
            open.append(&mut dependents[index]);
        }
    }
}
