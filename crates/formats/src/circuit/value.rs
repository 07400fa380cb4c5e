//! Values of declared parameters: from what a file says to what a component takes.

use super::Loader;
use super::definition::wrong_type;
use super::overrides::GIVERS;
use super::scope::Scope;
use super::types::TypeInfo;
use crate::tree::{Item, Key, Val};
use fluxline_core::component::Declared;
use fluxline_core::declare::{ANY_UNIT, Kind, Value};
use fluxline_core::settings::RunSettings;
use fluxline_core::values::{Bound, End, Rule};
use fluxline_diagnostics::{Code, Diagnostic, Place, Span, list_names, nearest};
use fluxline_units::{
    Dimension, Expr, ExprError, Quantity, QuantityError, Unit, display_unit, format_in,
};
use std::path::Path;

/// Whose parameters are read.
pub(super) struct Owner<'o> {
    /// As its file calls it: `valve`, `run`.
    pub name: &'o str,
    /// Its key in the overrides: the full name of a component, or `[run]`.
    pub full: &'o str,
    /// Where it is declared.
    pub at: Span,
    /// A component, as opposed to a table of settings.
    pub is_component: bool,
    /// Keys beside the parameters.
    pub extra: &'o [&'o str],
    /// Where files that it names are.
    pub folder: &'o Path,
}

/// Values of all parameters, and where they were given.
pub(super) struct Values {
    pub values: Vec<Value>,
    pub spans: Vec<Option<Span>>,
    /// Inputs without a value: a signal may give them one.
    pub open_inputs: Vec<(usize, Diagnostic)>,
}

impl Loader<'_> {
    /// Reads all parameters of a component or a table of settings. What is wrong is reported, and
    /// the default stands in.
    pub(super) fn values<'i>(
        &mut self,
        owner: &Owner,
        info: &TypeInfo,
        entries: impl Iterator<Item = (&'i Key, &'i Item)>,
        scope: &Scope,
    ) -> Values {
        let mut values = info.defaults.clone();
        let mut spans: Vec<Option<Span>> = vec![None; values.len()];
        let mut overridden = Vec::new();
        let mut unknown = Vec::new();
        for index in self.overrides.of(owner.full) {
            let setting = &self.overrides.settings[index];
            if owner.extra.contains(&setting.key.as_str()) {
                continue;
            }
            setting.used.set(true);
            let key = Key { name: setting.key.clone(), at: setting.at };
            let item = setting.item.clone();
            match info.parameter(&key.name) {
                Some(parameter) => {
                    overridden.push(parameter);
                    spans[parameter] = Some(item.at);
                    if let Some(value) = self.value(owner, info, parameter, &item, scope) {
                        values[parameter] = value;
                    }
                }
                None => {
                    self.unknown_parameter(owner, info, &key, &item);
                    unknown.push(key.name);
                }
            }
        }
        for (key, item) in entries {
            let Some(parameter) = info.parameter(&key.name) else {
                if !owner.extra.contains(&key.name.as_str()) {
                    self.unknown_parameter(owner, info, key, item);
                    unknown.push(key.name.clone());
                }
                continue;
            };
            if overridden.contains(&parameter) {
                continue;
            }
            if let Some(first) = spans[parameter] {
                let name = info.declaration.parameters[parameter].name;
                let message = format!("`{}.{name}` is given twice", owner.name);
                let error = Diagnostic::error(Code::DuplicateKey, message)
                    .at(key.at, "given again here")
                    .also(first, "first given here")
                    .help(format!(
                        "`{}` is another name of `{name}`: remove one of them",
                        key.name
                    ));
                self.report(error);
                continue;
            }
            spans[parameter] = Some(item.at);
            if let Some(value) = self.value(owner, info, parameter, item, scope) {
                values[parameter] = value;
            }
        }
        let mut open_inputs = Vec::new();
        for &parameter in &info.required {
            if spans[parameter].is_none() {
                // A misspelled name is one mistake, not two.
                let name = info.declaration.parameters[parameter].name;
                if unknown.iter().take(20).any(|one| !nearest(one, [name]).is_empty()) {
                    continue;
                }
                let missing = missing_parameter(owner, info, parameter);
                match info.declaration.parameters[parameter].input {
                    Some(_) if owner.is_component => open_inputs.push((parameter, missing)),
                    _ => self.report(missing),
                }
            }
        }
        Values { values, spans, open_inputs }
    }

    fn unknown_parameter(&mut self, owner: &Owner, info: &TypeInfo, key: &Key, item: &Item) {
        let (name, declaration) = (&key.name, info.declaration);
        let mut valid: Vec<&str> = info.parameter_names().collect();
        valid.extend(owner.extra);
        if !owner.is_component {
            let error = Diagnostic::error(
                Code::UnknownKey,
                format!("`[{}]` has no key `{name}`", owner.name),
            )
            .at(key.at, "unknown");
            let error = self.suggest(error, name, valid);
            self.report(error);
            return;
        }
        if let Val::Table(table) = &item.value
            && (table.get("type").is_some() || table.get("use").is_some())
        {
            let message =
                format!("`{}.{name}` cannot be the name of a component: it has a dot", owner.name);
            let error = Diagnostic::error(Code::BadName, message)
                .at(key.at, "")
                .help(format!("name it `{0}_{name}`, or make `{0}` a sub-circuit", owner.name));
            self.report(error);
            return;
        }
        let error = Diagnostic::error(
            Code::UnknownParameter,
            format!("`{}` ({}) has no parameter `{name}`", owner.name, declaration.name),
        )
        .at(key.at, "unknown parameter")
        .on(Place::component(owner.full).parameter(name));
        let begins = |parameter: &&&str| parameter.starts_with(&format!("{name}_"));
        let named_after: Vec<&str> = valid.iter().filter(begins).take(3).copied().collect();
        let state = declaration.states.iter().find(|state| state.name == name);
        let error = if info.port(name).is_some() {
            let error = match named_after.is_empty() {
                true => error,
                false => error.help(format!("did you mean {}?", list_names(named_after))),
            };
            error.help(format!(
                "`{name}` is a port: connect it under `[[connect]]` as \"{}.{name}\"",
                owner.name
            ))
        } else if declaration.output(name).is_some() || state.is_some() {
            let error =
                error.note(format!("`{name}` is a result of `{}`, not a parameter", owner.name));
            match state.and_then(|state| info.parameter(state.start)) {
                Some(start) => error.help(format!(
                    "for its value at the start give `{}`",
                    declaration.parameters[start].name
                )),
                None => error.help("remove it"),
            }
        } else if RunSettings::DECLARATION.parameter(name).is_some() {
            error.help(format!("`{name}` is a setting of the run: move it under `[run]`"))
        } else {
            let error = self.suggest(error, name, valid);
            match error.helps().is_empty() {
                true => error
                    .help(format!("`fluxline describe {}` lists its parameters", declaration.name)),
                false => error,
            }
        };
        self.report(error);
    }

    /// The value of one parameter; `None` when something is wrong, which is then reported.
    fn value(
        &mut self,
        owner: &Owner,
        info: &TypeInfo,
        index: usize,
        item: &Item,
        scope: &Scope,
    ) -> Option<Value> {
        let parameter = &info.declaration.parameters[index];
        let rule = &info.rules.parameters[index];
        let name = Name { owner, parameter: parameter.name };
        match parameter.kind {
            Kind::Quantity | Kind::OptionalQuantity => {
                let value = self.quantity(&name, info, index, item, scope)?;
                self.in_range(&name, rule, item, value)?;
                Some(Value::Number(value))
            }
            Kind::Integer => {
                let value = self.whole(&name, item, scope)?;
                self.in_range(&name, rule, item, value)?;
                Some(Value::Number(value))
            }
            Kind::Switch => match item.value {
                Val::Switch(state) => Some(Value::Switch(state)),
                _ => {
                    let error = wrong_type(&name.to_string(), item, "a switch (true or false)")
                        .help("write `true` or `false`, without quotes");
                    self.report(error);
                    None
                }
            },
            Kind::Choice(words) => self.choice(&name, words, item).map(Value::Choice),
            Kind::Text => match &item.value {
                Val::Text(text) => Some(Value::Text(text.clone())),
                // The command line knows no quotes.
                _ if self.is_override(item) => {
                    Some(Value::Text(self.sources.slice(item.at).to_owned()))
                }
                _ => {
                    let error =
                        wrong_type(&name.to_string(), item, "a text").help("put it in quotes");
                    self.report(error);
                    None
                }
            },
            Kind::List => {
                let Val::List(items) = &item.value else {
                    let example = match display_unit(rule.unit.dimension()) {
                        Some(unit) if unit != "1" => format!("[\"1 {unit}\", \"2 {unit}\"]"),
                        _ => "[1, 2]".to_owned(),
                    };
                    let error = wrong_type(&name.to_string(), item, "a list")
                        .help(format!("write `{} = {example}`", parameter.name));
                    self.report(error);
                    return None;
                };
                let mut list = Vec::with_capacity(items.len());
                let mut good = true;
                for item in items {
                    let value = self.quantity(&name, info, index, item, scope);
                    let value = value.filter(|&x| self.in_range(&name, rule, item, x).is_some());
                    good &= value.is_some();
                    list.extend(value);
                }
                good.then_some(Value::List(list))
            }
            Kind::Table => {
                let table = self.table(&name.to_string(), rule, item, scope, owner.folder)?;
                Some(Value::Table(table))
            }
        }
    }

    fn is_override(&self, item: &Item) -> bool {
        self.sources.get(item.at.source).is_some_and(|source| GIVERS.contains(&source.name()))
    }

    /// A quantity of the parameter's dimension, in SI units.
    fn quantity(
        &mut self,
        name: &Name,
        info: &TypeInfo,
        index: usize,
        item: &Item,
        scope: &Scope,
    ) -> Option<f64> {
        let expected = info.rules.parameters[index].unit.dimension();
        match &item.value {
            Val::Integer(_) | Val::Float(_) => {
                self.plain_number(item, name).map(|number| number.value)
            }
            Val::Text(text) => {
                let quantity = self.evaluate(name, item, text, scope)?;
                if quantity.dimension == expected || info.rules.parameters[index].any_unit {
                    return Some(quantity.value);
                }
                let error = wrong_dimension(name, info, index, item, text, quantity);
                self.report(error);
                None
            }
            _ => {
                let example = example(info, index);
                let error = wrong_type(&name.to_string(), item, "a quantity")
                    .help(format!("write `{} = {example}`", name.parameter));
                self.report(error);
                None
            }
        }
    }

    fn whole(&mut self, name: &Name, item: &Item, scope: &Scope) -> Option<f64> {
        let quantity = match &item.value {
            Val::Integer(_) | Val::Float(_) => self.plain_number(item, name)?,
            Val::Text(text) => self.evaluate(name, item, text, scope)?,
            _ => {
                let error = wrong_type(&name.to_string(), item, "a whole number")
                    .help(format!("write `{} = 3`", name.parameter));
                self.report(error);
                return None;
            }
        };
        // Beyond this not every whole number is a double.
        const LIMIT: f64 = 9_007_199_254_740_992.0;
        let value = quantity.value;
        if quantity.dimension.is_dimensionless() && value.fract() == 0.0 && value.abs() < LIMIT {
            return Some(value);
        }
        let error = Diagnostic::error(
            Code::NotAnInteger,
            format!("`{name}` needs a whole number, not {quantity}"),
        )
        .at(item.at, "expected a whole number")
        .on(name.place());
        let rounded = value.round();
        let error = match quantity.dimension.is_dimensionless() && rounded.abs() < LIMIT {
            true => error.help(format!("write {rounded}, or round the expression: `round(…)`")),
            false => error.help("give a number without a unit"),
        };
        self.report(error);
        None
    }

    fn choice(
        &mut self,
        name: &Name,
        words: &'static [&'static str],
        item: &Item,
    ) -> Option<usize> {
        let Val::Text(text) = &item.value else {
            let error = wrong_type(&name.to_string(), item, "a word")
                .help(format!("use one of {}", list_names(words.iter().copied())));
            self.report(error);
            return None;
        };
        let found = words.iter().position(|word| word == text);
        if found.is_none() {
            let code = match name.owner.full {
                "[run]" => Code::UnknownSetting,
                _ => Code::NotAChoice,
            };
            let message = format!("`{name}` cannot be \"{text}\"");
            let error = Diagnostic::error(code, message)
                .at(item.at, format!("expected {}", list_names(words.iter().copied())))
                .on(name.place());
            let near = nearest(text, words.iter().copied());
            self.report(match near.first() {
                Some(near) => error.help(format!("did you mean \"{near}\"?")),
                None => error.help(format!("use one of {}", list_names(words.iter().copied()))),
            });
        }
        found
    }

    fn in_range(&mut self, name: &Name, rule: &Rule, item: &Item, value: f64) -> Option<()> {
        let Some((end, bound)) = rule.beyond(value) else {
            return Some(());
        };
        let unit = user_unit(item, rule);
        let shown = |value: f64| match &unit {
            Some(unit) => format_in(value, unit),
            None => format!("{:.6}", Quantity::new(value, rule.unit.dimension())),
        };
        let limit = |bound: Bound, end: End| match (end, bound.included) {
            (End::Min, true) => format!("at least {}", shown(bound.value)),
            (End::Min, false) => format!("greater than {}", shown(bound.value)),
            (End::Max, true) => format!("at most {}", shown(bound.value)),
            (End::Max, false) => format!("less than {}", shown(bound.value)),
        };
        let message = format!("`{name}` is {}, but must be {}", shown(value), limit(bound, end));
        let error = Diagnostic::error(Code::OutOfRange, message)
            .at(item.at, format!("must be {}", limit(bound, end)))
            .on(name.place());
        let symbol = rule.unit.symbol();
        let error = match item.value {
            Val::Integer(_) | Val::Float(_) if !matches!(symbol, "" | "1") && value != 0.0 => {
                error.note(format!("a number without a unit counts in {symbol}"))
            }
            _ => error,
        };
        let error = match (rule.min, rule.max) {
            (Some(min), Some(max)) => error.help(format!(
                "give a value of {} and {}",
                limit(min, End::Min),
                limit(max, End::Max)
            )),
            _ => error,
        };
        self.report(error);
        None
    }

    /// A number of the file as it stands; refuses `nan` and `inf`.
    pub(super) fn plain_number(
        &mut self,
        item: &Item,
        name: &dyn std::fmt::Display,
    ) -> Option<Quantity> {
        let value = match item.value {
            Val::Integer(value) => value as f64,
            Val::Float(value) => value,
            _ => return None,
        };
        if !value.is_finite() {
            let error = Diagnostic::error(Code::NotFinite, format!("`{name}` is not finite"))
                .at(item.at, "expected a number")
                .help("for \"no limit\" give a large number, such as 1e300, or leave it out");
            self.report(error);
            return None;
        }
        Some(Quantity::dimensionless(value))
    }

    /// The value of a text; reports what is wrong with it.
    pub(super) fn evaluate(
        &mut self,
        name: &dyn std::fmt::Display,
        item: &Item,
        text: &str,
        scope: &Scope,
    ) -> Option<Quantity> {
        match Expr::parse(text, &|name| scope.has(name)) {
            Ok(expression) => match expression.as_quantity() {
                Some(quantity) if quantity.value.is_finite() => Some(quantity),
                _ => self.compute(&expression, name, item, scope),
            },
            Err(error) => {
                self.expression_error(&error, name, item, scope);
                None
            }
        }
    }

    /// The value of an expression; reports what is wrong with it. Silent when it uses a parameter
    /// that has an error of its own.
    pub(super) fn compute(
        &mut self,
        expression: &Expr,
        name: &dyn std::fmt::Display,
        item: &Item,
        scope: &Scope,
    ) -> Option<Quantity> {
        let mut failed = false;
        for (name, _) in expression.names() {
            scope.mark_used(name);
            failed |= scope.has(name) && scope.value(name).is_none();
        }
        if failed {
            return None;
        }
        match expression.evaluate(&|name| scope.value(name)) {
            Ok(quantity) => Some(quantity),
            Err(error) => {
                self.expression_error(&error, name, item, scope);
                None
            }
        }
    }

    /// Reports why an expression cannot be read or computed.
    pub(super) fn expression_error(
        &mut self,
        error: &ExprError,
        name: &dyn std::fmt::Display,
        item: &Item,
        scope: &Scope,
    ) {
        let at = item.part(error.span());
        let mut code = expression_code(error);
        let is_empty = matches!(&item.value, Val::Text(text) if text.trim().is_empty());
        if is_empty {
            let error =
                Diagnostic::error(Code::UnparsableQuantity, format!("`{name}` is an empty text"))
                    .at(item.at, "expected a quantity")
                    .help("write a number and a unit, such as \"120 bar\"");
            self.report(error);
            return;
        }
        let mut reason = error.to_string();
        let mut helps: Vec<String> = error.suggestion().into_iter().collect();
        if let ExprError::UnknownName { name: unknown, after_unit, .. } = error {
            let near = match self.suggestions {
                0 => Vec::new(),
                _ => nearest(unknown, scope.names()),
            };
            self.suggestions = self.suggestions.saturating_sub(1);
            if *after_unit && near.is_empty() && !helps.is_empty() {
                code = Code::UnknownUnit;
                reason = format!("unknown unit `{unknown}`");
            } else if !near.is_empty() {
                helps.insert(0, format!("did you mean {}?", list_names(near)));
            } else if helps.is_empty() {
                let names: Vec<&str> = scope.names().collect();
                helps.push(match names.len() {
                    0 => format!("declare it: `[parameters]` with `{unknown} = …`"),
                    1..=12 => {
                        let mut names = names;
                        names.sort_unstable();
                        format!("parameters here: {}", list_names(names))
                    }
                    _ => format!("declare it under `[parameters]`: `{unknown} = …`"),
                });
            }
        }
        if helps.is_empty() {
            helps.extend(match code {
                Code::NotFinite => {
                    Some("correct the expression or the parameters that it uses".to_owned())
                }
                Code::WrongDimension => {
                    Some("check the units; a factor may be missing".to_owned())
                }
                Code::ExpressionSyntax | Code::UnparsableQuantity => Some(
                    "write a number and a unit (\"1.5 bar\") or an expression (\"2*supply + 5 bar\")"
                        .to_owned(),
                ),
                _ => None,
            });
        }
        let label = match code {
            Code::UnknownUnit => "unknown unit",
            Code::UnknownName => "unknown name",
            Code::DecimalComma => "use a point",
            _ => "here",
        };
        let mut problem = Diagnostic::error(code, format!("`{name}`: {reason}")).at(at, label);
        for help in helps {
            problem = problem.help(help);
        }
        self.report(problem);
    }
}

/// The name of a parameter in messages: `relief.cracking_pressure`.
pub(super) struct Name<'n> {
    owner: &'n Owner<'n>,
    parameter: &'static str,
}

impl Name<'_> {
    fn place(&self) -> Place {
        match self.owner.is_component {
            true => Place::component(self.owner.name).parameter(self.parameter),
            false => Place::setting(self.to_string()),
        }
    }
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.owner.name, self.parameter)
    }
}

fn expression_code(error: &ExprError) -> Code {
    match error {
        ExprError::Literal(error) => match error {
            QuantityError::DecimalComma { .. } => Code::DecimalComma,
            QuantityError::TooLarge { .. } => Code::NotFinite,
            QuantityError::Unit(fluxline_units::UnitError::Unknown { .. }) => Code::UnknownUnit,
            _ => Code::UnparsableQuantity,
        },
        ExprError::UnknownFunction { .. } | ExprError::UnknownName { .. } => Code::UnknownName,
        ExprError::Mismatch { .. }
        | ExprError::NotDimensionless { .. }
        | ExprError::VariableExponent { .. }
        | ExprError::Inexpressible { .. } => Code::WrongDimension,
        ExprError::DivisionByZero { .. }
        | ExprError::OutOfDomain { .. }
        | ExprError::NotFinite { .. } => Code::NotFinite,
        _ => Code::ExpressionSyntax,
    }
}

fn wrong_dimension(
    name: &Name,
    info: &TypeInfo,
    index: usize,
    item: &Item,
    text: &str,
    found: Quantity,
) -> Diagnostic {
    let expected = info.rules.parameters[index].unit.dimension();
    let message = format!(
        "`{name}` is {}, but \"{text}\" is {}",
        expected.with_article(),
        found.dimension.with_article()
    );
    let error = Diagnostic::error(Code::WrongDimension, message)
        .at(
            item.at,
            format!("expected {} such as {}", expected.with_article(), example(info, index)),
        )
        .on(name.place());
    if found.dimension.is_dimensionless() {
        let unit =
            display_unit(expected).map_or_else(|| expected.si_symbol().to_string(), str::to_owned);
        let error = match text.trim().parse::<f64>() {
            Ok(number) => error.help(format!("give it a unit: \"{number} {unit}\"")),
            Err(_) => error,
        };
        return error.note("a number without quotes counts in SI units");
    }
    let fits = |(other, _): &(usize, &'static str)| {
        *other != index && info.rules.parameters[*other].unit.dimension() == found.dimension
    };
    let others: Vec<&str> =
        info.parameter_names().enumerate().filter(fits).map(|(_, name)| name).take(3).collect();
    if expected == Dimension::AREA && found.dimension == Dimension::LENGTH {
        return error.help(format!("for the area of that diameter write \"pi/4 * ({text})^2\""));
    }
    match others.is_empty() || !name.owner.is_component {
        true => error,
        false => error.help(format!("did you mean {}?", list_names(others))),
    }
}

/// A value as a file would give it, in quotes.
fn example(info: &TypeInfo, index: usize) -> String {
    let (parameter, rule) = (&info.declaration.parameters[index], &info.rules.parameters[index]);
    let dimension: Dimension = rule.unit.dimension();
    match (parameter.default, display_unit(dimension)) {
        (Some(text), _)
            if Expr::parse(text, &|_| false).is_ok_and(|e| {
                e.as_quantity()
                    .is_some_and(|q| q.dimension == dimension && !dimension.is_dimensionless())
            }) =>
        {
            format!("\"{text}\"")
        }
        (_, Some(unit)) if !dimension.is_dimensionless() => format!("\"1 {unit}\""),
        (_, None) if !dimension.is_dimensionless() => format!("\"1 {}\"", dimension.si_symbol()),
        (Some(text), _) if text.parse::<f64>().is_ok() => text.to_owned(),
        _ => "0.5".to_owned(),
    }
}

fn missing_parameter(owner: &Owner, info: &TypeInfo, index: usize) -> Diagnostic {
    let parameter = &info.declaration.parameters[index];
    let example = match parameter.kind {
        Kind::Quantity | Kind::OptionalQuantity => example(info, index),
        Kind::Integer => "3".to_owned(),
        Kind::Switch => "true".to_owned(),
        Kind::Choice(words) => format!("\"{}\"", words.first().unwrap_or(&"")),
        Kind::Text => "\"…\"".to_owned(),
        Kind::List => format!("[{}]", example(info, index)),
        Kind::Table => "[[0, 0], [1, 1]]".to_owned(),
    };
    let (name, unit) = (parameter.name, parameter.unit);
    let kind = match owner.is_component {
        true => format!(" ({})", info.declaration.name),
        false => String::new(),
    };
    let message = format!("`{}`{kind} needs a value for `{name}`", owner.name);
    let meaning = match unit {
        "1" | ANY_UNIT => parameter.meaning.to_owned(),
        _ => format!("{} [{unit}]", parameter.meaning),
    };
    Diagnostic::error(Code::MissingKey, message)
        .at(owner.at, format!("`{name}` is missing"))
        .on(Place::component(owner.name).parameter(name))
        .note(format!("`{name}` is the {meaning}"))
        .help(format!("add `{name} = {example}`"))
}

/// The unit in which the user wrote a quantity; `None` for an expression.
fn user_unit(item: &Item, rule: &Rule) -> Option<Unit> {
    let Val::Text(text) = &item.value else {
        return Some(rule.unit.clone());
    };
    Quantity::parse(text).ok()?;
    let number = text.trim_start().trim_start_matches(['+', '-']);
    let bytes = number.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let exponent = matches!(bytes[end], b'e' | b'E')
            && bytes.get(end + 1).is_some_and(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-'));
        if exponent {
            end += 2;
        } else if bytes[end].is_ascii_digit() || bytes[end] == b'.' {
            end += 1;
        } else {
            break;
        }
    }
    Unit::parse(&number[end..]).ok()
}
