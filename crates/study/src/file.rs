//! Study files: what is varied, what is wanted, and how it is looked for.
//!
//! A study file is checked like a circuit: every problem in one pass, each with its place.

use crate::vary::quantity;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceId, SourceMap, Span, list_names};
use fluxline_formats::Override;
use fluxline_formats::results::read_problem;
use fluxline_formats::tree::{Item, Key, Table, Val, parse_document};
use fluxline_optimise::method::{self, Chosen, METHODS};
use fluxline_optimise::space::{Scale, Space, Variable};
use fluxline_units::{Dimension, Quantity, Unit};
use std::path::{Path, PathBuf};

/// What a study file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The best design: objectives and constraints.
    Optimise,
    /// The parameters that make the circuit follow measured data.
    Identify,
}

/// A parameter that a study varies.
#[derive(Clone, Debug)]
pub struct Varied {
    /// Any name that `--set` takes.
    pub name: String,
    /// Where it stands.
    pub at: Span,
    /// Of its values.
    pub dimension: Dimension,
    /// The unit its bounds are written in; empty for a plain number.
    pub unit: String,
    /// Which values it takes, in SI units.
    pub values: Variable,
    /// Where to begin, in SI units.
    pub start: Option<f64>,
}

/// Something to be made small.
#[derive(Clone, Debug)]
pub struct Objective {
    /// The metric.
    pub metric: String,
    /// Where it stands.
    pub at: Span,
    /// How much it counts.
    pub weight: f64,
    /// The value that counts as one.
    pub scale: Option<(Quantity, Span)>,
    /// To be made large instead.
    pub is_most: bool,
}

/// Something to be kept.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// As it was written.
    pub text: String,
    /// Where it stands.
    pub at: Span,
    /// A metric that is not positive where it is kept.
    pub metric: String,
    /// The size of its limit, by which a violation is measured; 1 where that is not a number.
    pub scale: f64,
}

/// An input that is replayed from the data.
#[derive(Clone, Debug)]
pub struct Input {
    /// The column.
    pub column: String,
    /// Where it stands.
    pub at: Span,
    /// The component, a `signal.table`.
    pub to: String,
}

/// A measured signal to be matched.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The column.
    pub column: String,
    /// Where it stands.
    pub at: Span,
    /// The variable of the circuit.
    pub variable: String,
    /// How much it counts.
    pub weight: f64,
    /// The difference that counts as one.
    pub scale: Option<(Quantity, Span)>,
    /// The data are so much late.
    pub shift: f64,
}

/// How differences are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The mean of their sizes.
    Absolute,
    /// The root of the mean of their squares.
    Squared,
}

/// What of the data is used, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitSettings {
    /// How differences are counted.
    pub measure: Measure,
    /// Data before this time only validate, s.
    pub from: f64,
    /// Data after this time only validate, s.
    pub to: f64,
    /// A parameter counts as determined when the 95 % interval reaches no further than this share of
    /// its value.
    pub precision: f64,
    /// Where a method takes derivatives: exact ones through the run, where the circuit has them.
    pub is_exact: bool,
    /// Time between rows of data that have no column of time, s.
    pub sampling: Option<f64>,
}

/// A study, as its file describes it.
#[derive(Clone, Debug)]
pub struct StudyFile {
    /// Headline.
    pub title: String,
    /// The circuit file.
    pub circuit: PathBuf,
    /// Where it is named.
    pub circuit_at: Span,
    /// Values that all runs share.
    pub set: Vec<(Override, Span)>,
    /// What is varied.
    pub variables: Vec<Varied>,
    /// What is to be made small.
    pub objectives: Vec<Objective>,
    /// What is to be kept.
    pub constraints: Vec<Constraint>,
    /// Measured data.
    pub data: Option<(PathBuf, Span)>,
    /// Inputs from the data.
    pub inputs: Vec<Input>,
    /// Signals to be matched.
    pub signals: Vec<Measured>,
    /// How they are matched.
    pub fit: FitSettings,
    /// How it is looked for.
    pub method: Chosen,
    /// Where the method is named.
    pub method_at: Option<Span>,
    /// Runs at most.
    pub evaluations: u64,
    /// Where chance begins.
    pub seed: u64,
}

impl StudyFile {
    /// What the coordinates of optimisers stand for.
    pub fn space(&self) -> Space {
        Space { variables: self.variables.iter().map(|one| one.values.clone()).collect() }
    }
}

/// Larger files are refused.
const MOST_BYTES: u64 = 16 << 20;

/// Reads a study file; the source map holds its text.
pub fn read(path: &Path, kind: Kind) -> (Option<StudyFile>, Diagnostics, SourceMap) {
    let mut sources = SourceMap::new();
    let name = path.display().to_string();
    let is_too_large = std::fs::metadata(path).is_ok_and(|one| one.len() > MOST_BYTES);
    if is_too_large {
        let message = format!("`{name}` cannot be read: it is larger than 16 MiB");
        return (None, Diagnostic::error(Code::FileTooLarge, message).into(), sources);
    }
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return (None, read_problem(path, &error).into(), sources),
    };
    match sources.add_bytes(&name, bytes) {
        Ok(source) => {
            let text = sources.get(source).map(|one| one.text().clone()).unwrap_or_default();
            let folder = path.parent().unwrap_or(Path::new(""));
            let (study, problems) = parse(&text, source, folder, kind);
            (study, problems, sources)
        }
        Err(problem) => (None, problem.into(), sources),
    }
}

/// Reads a study from a text that is one of the sources; names of files are taken from `folder`.
pub fn parse(
    text: &str,
    source: SourceId,
    folder: &Path,
    kind: Kind,
) -> (Option<StudyFile>, Diagnostics) {
    let mut found = Diagnostics::new();
    let Some(table) = parse_document(text, source, &mut found) else { return (None, found) };
    let whole = Span::new(source, 0..text.len().min(1));
    let mut reader = Reader { found, kind };
    let study = reader.study(&table, whole, folder);
    let study = study.filter(|_| !reader.found.has_errors());
    (study, reader.found)
}

struct Reader {
    found: Diagnostics,
    kind: Kind,
}

fn wrong_type(name: &str, item: &Item, expected: &str) -> Diagnostic {
    let message = format!("`{name}` takes {expected}, but this is {}", item.type_name());
    Diagnostic::error(Code::WrongType, message).at(item.at, format!("expected {expected}"))
}

impl Reader {
    fn push(&mut self, problem: Diagnostic) {
        self.found.push(problem);
    }

    fn check_keys(&mut self, owner: &str, table: &Table, valid: &[&str]) {
        for (key, _) in &table.entries {
            if !valid.contains(&key.name.as_str()) {
                let message = format!("{owner} has no key `{}`", key.name);
                let problem = Diagnostic::error(Code::UnknownKey, message).at(key.at, "unknown");
                self.push(problem.suggest(&key.name, valid.iter().copied()));
            }
        }
    }

    fn text<'t>(&mut self, table: &'t Table, key: &str) -> Option<(&'t str, &'t Item)> {
        let (_, item) = table.get(key)?;
        match &item.value {
            Val::Text(text) => Some((text, item)),
            _ => {
                self.push(wrong_type(key, item, "a text").help("put it in quotes"));
                None
            }
        }
    }

    fn required<'t>(
        &mut self,
        owner: &str,
        table: &'t Table,
        at: Span,
        key: &str,
        example: &str,
    ) -> Option<(&'t str, &'t Item)> {
        if table.get(key).is_none() {
            let message = format!("{owner} has no `{key}`");
            let problem = Diagnostic::error(Code::MissingKey, message).at(at, "here");
            self.push(problem.help(format!("add `{key} = {example}`")));
            return None;
        }
        self.text(table, key)
    }

    fn number(&mut self, table: &Table, key: &str) -> Option<(f64, Span)> {
        let (_, item) = table.get(key)?;
        let value = match &item.value {
            Val::Integer(whole) => *whole as f64,
            Val::Float(x) if x.is_finite() => *x,
            _ => {
                self.push(wrong_type(key, item, "a number"));
                return None;
            }
        };
        Some((value, item.at))
    }

    fn whole(&mut self, table: &Table, key: &str, least: u64) -> Option<u64> {
        let (value, at) = self.number(table, key)?;
        if value.fract() != 0.0 || value < least as f64 || value > 1e15 {
            let message = format!("`{key}` is a whole number, {least} or more, not {value}");
            self.push(Diagnostic::error(Code::OutOfRange, message).at(at, "out of range"));
            return None;
        }
        Some(value as u64)
    }

    fn switch(&mut self, table: &Table, key: &str) -> bool {
        match table.get(key) {
            None => false,
            Some((_, item)) => match item.value {
                Val::Switch(state) => state,
                _ => {
                    self.push(wrong_type(key, item, "true or false"));
                    false
                }
            },
        }
    }

    /// A number, or a text with a unit; with the unit as written.
    fn quantity(&mut self, name: &str, item: &Item) -> Option<(Quantity, String)> {
        match &item.value {
            Val::Integer(whole) => Some((Quantity::dimensionless(*whole as f64), String::new())),
            Val::Float(x) if x.is_finite() => Some((Quantity::dimensionless(*x), String::new())),
            Val::Text(text) => match quantity(text) {
                Ok(found) => {
                    let trimmed = text.trim_start();
                    let end = trimmed
                        .find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c)))
                        .unwrap_or(trimmed.len());
                    let unit = trimmed[end..].trim();
                    let fits = Unit::parse(unit).is_ok_and(|u| u.dimension() == found.dimension);
                    Some((found, if fits { unit.to_owned() } else { String::new() }))
                }
                Err(reason) => {
                    let message = format!("`{name}`: {reason}");
                    self.push(
                        Diagnostic::error(Code::UnparsableQuantity, message)
                            .at(item.at, "not a quantity")
                            .help("write a number, or a number with a unit in quotes: \"120 bar\""),
                    );
                    None
                }
            },
            _ => {
                self.push(wrong_type(name, item, "a quantity"));
                None
            }
        }
    }

    fn of_dimension(
        &mut self,
        table: &Table,
        key: &str,
        dimension: Dimension,
        example: &str,
    ) -> Option<f64> {
        let (_, item) = table.get(key)?;
        let (found, _) = self.quantity(key, item)?;
        if found.dimension != dimension {
            let message = format!(
                "`{key}` is {}, but {found} is {}",
                dimension.with_article(),
                found.dimension.with_article()
            );
            let problem = Diagnostic::error(Code::WrongDimension, message);
            self.push(problem.at(item.at, format!("expected a value such as {example}")));
            return None;
        }
        Some(found.value)
    }

    /// The tables of `[[name]]`.
    fn tables<'t>(&mut self, table: &'t Table, name: &str) -> Vec<(Span, &'t Table)> {
        let Some((key, item)) = table.get(name) else { return Vec::new() };
        let Val::List(items) = &item.value else {
            let problem = wrong_type(name, item, "a list of tables");
            self.push(problem.help(format!("begin each with `[[{name}]]`")));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in items {
            match &item.value {
                Val::Table(inner) => {
                    let first = inner.entries.first().map_or(key.at, |(key, _)| key.at);
                    tables.push((first, inner));
                }
                _ => self.push(wrong_type(name, item, "a table")),
            }
        }
        tables
    }

    fn study(&mut self, table: &Table, whole: Span, folder: &Path) -> Option<StudyFile> {
        let common = ["title", "circuit", "set", "variable", "method", "evaluations", "seed"];
        let own: &[&str] = match self.kind {
            Kind::Optimise => &["objective", "constraint"],
            Kind::Identify => &["data", "input", "signal", "fit"],
        };
        let valid: Vec<&str> = common.iter().chain(own).copied().collect();
        self.check_keys("the study", table, &valid);
        let title = self.text(table, "title").map_or(String::new(), |(text, _)| text.to_owned());
        let circuit = self.required("the study", table, whole, "circuit", "\"servo.toml\"");
        let set = self.set(table);
        let tables = self.tables(table, "variable");
        let variables: Vec<Varied> =
            tables.iter().filter_map(|(at, table)| self.variable(*at, table)).collect();
        for (i, one) in variables.iter().enumerate() {
            if let Some(first) = variables[..i].iter().find(|first| first.name == one.name) {
                let problem = Diagnostic::error(
                    Code::DuplicateKey,
                    format!("`{}` is varied twice", one.name),
                );
                self.push(problem.at(one.at, "again here").also(first.at, "first here"));
            }
        }
        if tables.is_empty() {
            self.push(
                Diagnostic::error(Code::BadStudy, "the study varies nothing")
                    .at(whole, "there is no `[[variable]]`")
                    .help("add `[[variable]]` with `name = \"valve.diameter\"`, `from = \"5 mm\"`, `to = \"15 mm\"`"),
            );
        }
        let objectives: Vec<Objective> = self
            .tables(table, "objective")
            .into_iter()
            .filter_map(|(at, table)| self.objective(at, table))
            .collect();
        let constraints = self
            .tables(table, "constraint")
            .into_iter()
            .filter_map(|(at, table)| self.constraint(at, table))
            .collect();
        let inputs = self
            .tables(table, "input")
            .into_iter()
            .filter_map(|(at, table)| self.input(at, table))
            .collect();
        let signals: Vec<Measured> = self
            .tables(table, "signal")
            .into_iter()
            .filter_map(|(at, table)| self.signal(at, table))
            .collect();
        match self.kind {
            Kind::Optimise if table.get("objective").is_none() => self.push(
                Diagnostic::error(Code::BadStudy, "the study has nothing to make small")
                    .at(whole, "there is no `[[objective]]`")
                    .help("add `[[objective]]` with `metric = \"itae(load.x - reference.out)\"`"),
            ),
            Kind::Identify if table.get("signal").is_none() => self.push(
                Diagnostic::error(Code::BadStudy, "the study has no signal to match")
                    .at(whole, "there is no `[[signal]]`")
                    .help(
                        "add `[[signal]]` with `column = \"position\"` and `variable = \"load.x\"`",
                    ),
            ),
            _ => {}
        }
        let fit = self.fit(table);
        let data = self.text(table, "data").map(|(text, item)| (folder.join(text), item.at));
        let method = self.method(table, &variables, &objectives, table.get("constraint"));
        let evaluations = self.whole(table, "evaluations", 1).unwrap_or(1_000_000);
        let seed = self.whole(table, "seed", 0).unwrap_or(1);
        let (circuit, circuit_at) = circuit?;
        let (method, method_at) = method?;
        Some(StudyFile {
            title,
            circuit: folder.join(circuit),
            circuit_at: circuit_at.at,
            set,
            variables,
            objectives,
            constraints,
            data,
            inputs,
            signals,
            fit,
            method,
            method_at,
            evaluations,
            seed,
        })
    }

    /// `[set]`: names as `--set` takes them, at any depth.
    fn set(&mut self, table: &Table) -> Vec<(Override, Span)> {
        let Some((_, item)) = table.get("set") else { return Vec::new() };
        let Val::Table(inner) = &item.value else {
            self.push(wrong_type("set", item, "a table"));
            return Vec::new();
        };
        let mut all = Vec::new();
        self.set_inside(inner, "", &mut all);
        all
    }

    fn set_inside(&mut self, table: &Table, prefix: &str, all: &mut Vec<(Override, Span)>) {
        for (key, item) in &table.entries {
            let name = format!("{prefix}{}", key.name);
            let value = match &item.value {
                Val::Text(text) => text.clone(),
                Val::Integer(whole) => whole.to_string(),
                Val::Float(x) => format!("{x:?}"),
                Val::Switch(state) => state.to_string(),
                Val::Table(inner) => {
                    self.set_inside(inner, &format!("{name}."), all);
                    continue;
                }
                Val::Date | Val::List(_) => {
                    self.push(wrong_type(&name, item, "a value"));
                    continue;
                }
            };
            all.push((Override::new(&name, &value), key.at));
        }
    }

    fn variable(&mut self, at: Span, table: &Table) -> Option<Varied> {
        let keys = ["name", "from", "to", "scale", "start", "integer", "values"];
        self.check_keys("a variable", table, &keys);
        let (name, name_item) =
            self.required("a variable", table, at, "name", "\"valve.diameter\"")?;
        let (values, dimension, unit) = match table.get("values") {
            Some((_, item)) => {
                for key in ["from", "to", "scale", "integer"] {
                    if let Some((key, _)) = table.get(key) {
                        let message = format!("`{}` does not go with `values`", key.name);
                        let problem = Diagnostic::error(Code::BadStudy, message);
                        self.push(problem.at(key.at, "remove it, or the list"));
                    }
                }
                self.catalogue(item)?
            }
            None => self.range(name, at, table)?,
        };
        let start = match table.get("start") {
            None => None,
            Some((_, item)) => {
                let (start, _) = self.quantity("start", item)?;
                if !self.is_alike("start", item.at, &start, dimension) {
                    return None;
                }
                let (low, high) = (values.decode(0.0), values.decode(1.0));
                if !(low..=high).contains(&start.value) {
                    let of = |x: f64| Quantity::new(x, dimension);
                    let message = format!(
                        "`{name}` begins at {start}, outside its range from {} to {}",
                        of(low),
                        of(high)
                    );
                    self.push(Diagnostic::error(Code::OutOfRange, message).at(item.at, "outside"));
                    return None;
                }
                Some(start.value)
            }
        };
        Some(Varied { name: name.to_owned(), at: name_item.at, dimension, unit, values, start })
    }

    fn is_alike(&mut self, key: &str, at: Span, found: &Quantity, dimension: Dimension) -> bool {
        let is_alike = found.dimension == dimension;
        if !is_alike {
            let message = format!(
                "`{key}` is {}, but the other values are {}",
                found.dimension.with_article(),
                dimension.with_article()
            );
            let problem = Diagnostic::error(Code::WrongDimension, message);
            self.push(problem.at(at, "of another kind"));
        }
        is_alike
    }

    fn catalogue(&mut self, item: &Item) -> Option<(Variable, Dimension, String)> {
        let Val::List(items) = &item.value else {
            self.push(
                wrong_type("values", item, "a list")
                    .help("write `values = [\"28 cm^3/rev\", \"45 cm^3/rev\"]`"),
            );
            return None;
        };
        let mut all: Vec<f64> = Vec::new();
        let mut first: Option<(Dimension, String)> = None;
        for item in items {
            let (found, unit) = self.quantity("values", item)?;
            let (dimension, _) = first.get_or_insert((found.dimension, unit));
            let dimension = *dimension;
            if !self.is_alike("values", item.at, &found, dimension) {
                return None;
            }
            all.push(found.value);
        }
        let Some((dimension, unit)) = first else {
            let problem = Diagnostic::error(Code::BadStudy, "the list of values is empty");
            self.push(problem.at(item.at, "nothing to choose from"));
            return None;
        };
        all.sort_by(f64::total_cmp);
        all.dedup();
        Some((Variable::Catalogue(all), dimension, unit))
    }

    fn range(
        &mut self,
        name: &str,
        at: Span,
        table: &Table,
    ) -> Option<(Variable, Dimension, String)> {
        let mut end = |key: &str| -> Option<(Quantity, String, Span)> {
            match table.get(key) {
                None => {
                    let message = format!("the variable `{name}` has no `{key}`");
                    let problem = Diagnostic::error(Code::MissingKey, message).at(at, "here");
                    self.push(problem.help(
                        "give a range `from = \"5 mm\"`, `to = \"15 mm\"`, or a list `values = […]`",
                    ));
                    None
                }
                Some((_, item)) => {
                    let (found, unit) = self.quantity(key, item)?;
                    Some((found, unit, item.at))
                }
            }
        };
        let (low, high) = (end("from"), end("to"));
        let ((low, unit, low_at), (high, high_unit, high_at)) = (low?, high?);
        if !self.is_alike("to", high_at, &high, low.dimension) {
            return None;
        }
        if low.value >= high.value {
            let message = format!("the range of `{name}`, {low} to {high}, is empty");
            let problem =
                Diagnostic::error(Code::BadStudy, message).at(high_at, "not above `from`");
            self.push(problem.also(low_at, "`from`").help("give the lower value to `from`"));
            return None;
        }
        let scale = match self.text(table, "scale") {
            None => Scale::Linear,
            Some(("linear", _)) => Scale::Linear,
            Some(("log", _)) if low.value > 0.0 => Scale::Log,
            Some(("log", item)) => {
                let message = format!("a logarithmic range begins above zero, not at {low}");
                let problem =
                    Diagnostic::error(Code::OutOfRange, message).at(item.at, "chosen here");
                self.push(problem.also(low_at, "begins here"));
                return None;
            }
            Some((other, item)) => {
                let message = format!("there is no scale `{other}`");
                let problem = Diagnostic::error(Code::NotAChoice, message).at(item.at, "unknown");
                self.push(problem.suggest(other, ["linear", "log"]));
                return None;
            }
        };
        let unit = if unit.is_empty() { high_unit } else { unit };
        if !self.switch(table, "integer") {
            let values = Variable::Continuous { low: low.value, high: high.value, scale };
            return Some((values, low.dimension, unit));
        }
        // Whole numbers of the unit that the bounds are written in.
        let one = Unit::parse(&unit).map_or(1.0, |unit| unit.to_si(1.0) - unit.to_si(0.0));
        let whole = |x: f64| {
            let n = (x / one).round();
            ((n * one - x).abs() <= 1e-9 * x.abs().max(one)).then_some(n as i64)
        };
        let (Some(first), Some(last)) = (whole(low.value), whole(high.value)) else {
            let message = format!("the range of `{name}` does not begin and end at whole numbers");
            let problem = Diagnostic::error(Code::NotAnInteger, message);
            self.push(problem.at(low_at, "begins here").also(high_at, "ends here"));
            return None;
        };
        const MOST: i64 = 1_000_000;
        if first.abs().max(last.abs()) > MOST {
            let message = format!("the whole numbers of `{name}` go beyond {MOST}");
            let problem = Diagnostic::error(Code::OutOfRange, message);
            self.push(problem.at(low_at, "from here").also(high_at, "to here"));
            return None;
        }
        Some((Variable::Integer { low: first, high: last, unit: one }, low.dimension, unit))
    }

    fn weight(&mut self, table: &Table) -> Option<f64> {
        match self.number(table, "weight") {
            None => table.get("weight").is_none().then_some(1.0),
            Some((weight, _)) if weight > 0.0 => Some(weight),
            Some((weight, at)) => {
                let message = format!("a weight is positive, not {weight}");
                self.push(Diagnostic::error(Code::OutOfRange, message).at(at, "out of range"));
                None
            }
        }
    }

    fn scale(&mut self, table: &Table) -> Option<(Quantity, Span)> {
        let (_, item) = table.get("scale")?;
        let (found, _) = self.quantity("scale", item)?;
        if found.value <= 0.0 {
            let message = format!("a scale is positive, not {found}");
            self.push(Diagnostic::error(Code::OutOfRange, message).at(item.at, "out of range"));
            return None;
        }
        Some((found, item.at))
    }

    fn objective(&mut self, at: Span, table: &Table) -> Option<Objective> {
        self.check_keys("an objective", table, &["metric", "weight", "scale", "goal"]);
        let example = "\"itae(load.x - reference.out)\"";
        let (metric, item) = self.required("an objective", table, at, "metric", example)?;
        let is_most = match self.text(table, "goal") {
            None | Some(("least", _)) => false,
            Some(("most", _)) => true,
            Some((other, item)) => {
                let message = format!("there is no goal `{other}`");
                let problem = Diagnostic::error(Code::NotAChoice, message).at(item.at, "unknown");
                self.push(problem.suggest(other, ["least", "most"]));
                false
            }
        };
        Some(Objective {
            metric: metric.to_owned(),
            at: item.at,
            weight: self.weight(table)?,
            scale: self.scale(table),
            is_most,
        })
    }

    fn constraint(&mut self, at: Span, table: &Table) -> Option<Constraint> {
        self.check_keys("a constraint", table, &["keep"]);
        let example = "\"max(cylinder.a.pressure) <= 250 bar\"";
        let (text, item) = self.required("a constraint", table, at, "keep", example)?;
        let sides = text
            .split_once("<=")
            .or_else(|| text.split_once('≤'))
            .map(|(less, more)| (less.trim(), more.trim()))
            .or_else(|| {
                let (more, less) = text.split_once(">=").or_else(|| text.split_once('≥'))?;
                Some((less.trim(), more.trim()))
            });
        let Some((less, more)) = sides.filter(|(a, b)| !a.is_empty() && !b.is_empty()) else {
            let message = format!("`{text}` does not say what is at most, or at least, what");
            let problem =
                Diagnostic::error(Code::BadMetric, message).at(item.at, "no `<=` or `>=`");
            self.push(problem.help(format!("write {example}")));
            return None;
        };
        // A violation counts in sizes of the limit, if that is a number.
        let limit = [more, less].into_iter().find_map(|side| quantity(side).ok());
        let scale = limit.map(|one| one.value.abs()).filter(|size| *size > 0.0).unwrap_or(1.0);
        let metric = format!("({less}) - ({more})");
        Some(Constraint { text: text.to_owned(), at: item.at, metric, scale })
    }

    fn input(&mut self, at: Span, table: &Table) -> Option<Input> {
        self.check_keys("an input", table, &["column", "to"]);
        let (column, item) = self.required("an input", table, at, "column", "\"demand\"")?;
        let (to, _) = self.required("an input", table, at, "to", "\"demand\"")?;
        Some(Input { column: column.to_owned(), at: item.at, to: to.to_owned() })
    }

    fn signal(&mut self, at: Span, table: &Table) -> Option<Measured> {
        let keys = ["column", "variable", "weight", "scale", "shift"];
        self.check_keys("a signal", table, &keys);
        let (column, item) = self.required("a signal", table, at, "column", "\"position\"")?;
        let variable = match table.get("variable") {
            None => column.to_owned(),
            Some(_) => self.text(table, "variable")?.0.to_owned(),
        };
        let shift = match table.get("shift") {
            None => 0.0,
            Some(_) => self.of_dimension(table, "shift", Dimension::TIME, "\"2 ms\"")?,
        };
        Some(Measured {
            column: column.to_owned(),
            at: item.at,
            variable,
            weight: self.weight(table)?,
            scale: self.scale(table),
            shift,
        })
    }

    fn fit(&mut self, table: &Table) -> FitSettings {
        let mut fit = FitSettings {
            measure: Measure::Squared,
            from: f64::NEG_INFINITY,
            to: f64::INFINITY,
            precision: 0.02,
            is_exact: true,
            sampling: None,
        };
        let Some((_, item)) = table.get("fit") else { return fit };
        let Val::Table(inner) = &item.value else {
            self.push(wrong_type("fit", item, "a table"));
            return fit;
        };
        let keys = ["measure", "from", "to", "precision", "derivatives", "sampling"];
        self.check_keys("`[fit]`", inner, &keys);
        match self.text(inner, "measure") {
            None | Some(("squared", _)) => {}
            Some(("absolute", _)) => fit.measure = Measure::Absolute,
            Some((other, item)) => {
                let message = format!("there is no measure `{other}`");
                let problem = Diagnostic::error(Code::NotAChoice, message).at(item.at, "unknown");
                self.push(problem.suggest(other, ["squared", "absolute"]));
            }
        }
        match self.text(inner, "derivatives") {
            None | Some(("exact", _)) => {}
            Some(("differences", _)) => fit.is_exact = false,
            Some((other, item)) => {
                let message = format!("there are no derivatives `{other}`");
                let problem = Diagnostic::error(Code::NotAChoice, message).at(item.at, "unknown");
                self.push(problem.suggest(other, ["exact", "differences"]));
            }
        }
        let mut time = |key: &str| self.of_dimension(inner, key, Dimension::TIME, "\"2 s\"");
        fit.from = time("from").unwrap_or(fit.from);
        fit.to = time("to").unwrap_or(fit.to);
        fit.sampling = time("sampling");
        if let Some(between) = fit.sampling.filter(|between| *between <= 0.0) {
            let message = format!("`sampling` is {between} s, but rows are more than 0 s apart");
            let at = inner.get("sampling").map(|(_, item)| item.at);
            let problem = Diagnostic::error(Code::BadStudy, message);
            self.push(problem.at_if(at, "the time from a row to the next, such as \"1 ms\""));
        }
        if let Some((precision, _)) = self.number(inner, "precision") {
            fit.precision = precision;
        }
        if fit.from >= fit.to {
            let problem = Diagnostic::error(Code::BadStudy, "the time to fit is empty");
            self.push(problem.at(item.at, "`from` is not before `to`"));
        }
        fit
    }

    fn method(
        &mut self,
        table: &Table,
        variables: &[Varied],
        objectives: &[Objective],
        constraint: Option<&(Key, Item)>,
    ) -> Option<(Chosen, Option<Span>)> {
        let is_for = |one: &&method::Method| match self.kind {
            Kind::Optimise => !one.is_least_squares,
            Kind::Identify => !one.is_pareto,
        };
        let names: Vec<&str> = METHODS.iter().filter(is_for).map(|one| one.name).collect();
        let usual = match self.kind {
            Kind::Optimise => "differential_evolution",
            Kind::Identify => "levenberg_marquardt",
        };
        let (name, at, inner) = match table.get("method") {
            None => (usual, None, None),
            Some((_, item)) => match &item.value {
                Val::Text(name) => (name.as_str(), Some(item.at), None),
                Val::Table(inner) => {
                    let at = inner.entries.first().map_or(item.at, |(key, _)| key.at);
                    let example = format!("\"{usual}\"");
                    let (name, item) = self.required("`[method]`", inner, at, "name", &example)?;
                    (name, Some(item.at), Some(inner))
                }
                _ => {
                    self.push(wrong_type("method", item, "a table or the name of a method"));
                    return None;
                }
            },
        };
        let Some(found) = method::find(name).filter(|one| names.contains(&one.name)) else {
            let message = match method::find(name) {
                Some(_) if self.kind == Kind::Optimise => {
                    format!("the method `{name}` fits residuals: it is for `fluxline identify`")
                }
                Some(_) => format!("the method `{name}` is for `fluxline optimise`"),
                None => format!("there is no method `{name}`"),
            };
            let problem = Diagnostic::error(Code::NotAChoice, message).at_if(at, "unknown here");
            self.push(problem.suggest(name, names.iter().copied()));
            return None;
        };
        let mut chosen = Chosen::new(found);
        if let Some(inner) = inner {
            let settings: Vec<&str> = found.settings.iter().map(|one| one.name).collect();
            let valid: Vec<&str> = ["name"].into_iter().chain(settings).collect();
            self.check_keys(&format!("the method `{name}`"), inner, &valid);
            for setting in found.settings {
                let Some((value, at)) = self.number(inner, setting.name) else { continue };
                if !chosen.set(setting.name, value) {
                    let whole = if setting.is_whole { "a whole number " } else { "" };
                    let message = format!(
                        "`{}` ({}) is {whole}from {} to {}, not {value}",
                        setting.name, setting.meaning, setting.least, setting.most
                    );
                    let problem = Diagnostic::error(Code::OutOfRange, message);
                    self.push(problem.at(at, "out of range"));
                }
            }
        }
        let able = |can: &dyn Fn(&method::Method) -> bool| {
            let able = METHODS.iter().filter(is_for_kind(self.kind)).filter(|one| can(one));
            list_names(able.map(|one| one.name))
        };
        let mut refuse = |what: String, also: Option<Span>, able: String| {
            let mut problem = Diagnostic::error(Code::BadStudy, what).at_if(at, "chosen here");
            if let Some(also) = also {
                problem = problem.also(also, "given here");
            }
            self.found.push(problem.help(format!("choose one of {able}")));
        };
        if let Some((key, _)) = constraint.filter(|_| !found.takes_constraints) {
            let able = able(&|one| {
                one.takes_constraints && one.is_pareto == (objectives.len() > 1 && found.is_pareto)
            });
            refuse(format!("the method `{name}` knows no constraints"), Some(key.at), able);
        }
        if let Some(one) = variables.iter().find(|one| one.values.levels().is_some())
            && !found.takes_levels
        {
            let able = able(&|one| one.takes_levels);
            let what =
                format!("the method `{name}` cannot choose among the levels of `{}`", one.name);
            refuse(what, Some(one.at), able);
        }
        if found.is_pareto && objectives.len() < 2 && self.kind == Kind::Optimise {
            let able = able(&|one| !one.is_pareto);
            refuse(format!("the method `{name}` is for two objectives or more"), None, able);
        }
        Some((chosen, at))
    }
}

fn is_for_kind(kind: Kind) -> impl Fn(&&'static method::Method) -> bool {
    move |one| match kind {
        Kind::Optimise => !one.is_least_squares,
        Kind::Identify => !one.is_pareto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, kind: Kind) -> String {
        let mut sources = SourceMap::new();
        let source = sources.add("study.toml", text);
        let (study, problems) = parse(text, source, Path::new("folder"), kind);
        match problems.has_errors() {
            true => problems.render(&sources, false, 200),
            false => format!("{study:?}"),
        }
    }

    const GOOD: &str =
        "circuit = \"servo.toml\"\n[[variable]]\nname = \"gain\"\nfrom = 1\nto = 9\n";

    #[test]
    fn ranges_levels_and_whole_numbers_are_read_with_their_units() {
        let text = "circuit = \"servo.toml\"\nseed = 3\nevaluations = 500\nmethod = \"genetic\"\n\
            [set]\nrun.stop = \"2 s\"\n\"load.mass\" = \"3 kg\"\n\
            [[variable]]\nname = \"valve.diameter\"\nfrom = \"5 mm\"\nto = \"15 mm\"\nscale = \"log\"\nstart = \"8 mm\"\n\
            [[variable]]\nname = \"pump.displacement\"\nvalues = [\"45 cm^3/rev\", \"28 cm^3/rev\"]\n\
            [[variable]]\nname = \"teeth\"\nfrom = 10\nto = 20\ninteger = true\n\
            [[objective]]\nmetric = \"max(load.x)\"\ngoal = \"most\"\nscale = \"10 mm\"\nweight = 2\n\
            [[constraint]]\nkeep = \"max(cylinder.a.pressure) <= 250 bar\"\n";
        let mut sources = SourceMap::new();
        let source = sources.add("study.toml", text);
        let (study, problems) = parse(text, source, Path::new("f"), Kind::Optimise);
        assert!(!problems.has_errors(), "{}", problems.render(&sources, false, 100));
        let study = study.unwrap();
        assert_eq!(study.circuit, Path::new("f/servo.toml"));
        assert_eq!(study.set[0].0.text(), "run.stop=2 s");
        assert_eq!(study.set[1].0.text(), "load.mass=3 kg");
        assert_eq!(
            study.variables[0].values,
            Variable::Continuous { low: 0.005, high: 0.015, scale: Scale::Log }
        );
        assert_eq!(study.variables[0].start, Some(0.008));
        let Variable::Catalogue(sizes) = &study.variables[1].values else { panic!() };
        assert!(sizes[0] < sizes[1]);
        assert_eq!(study.variables[2].values, Variable::Integer { low: 10, high: 20, unit: 1.0 });
        assert_eq!(study.constraints[0].scale, 2.5e7);
        assert_eq!(study.constraints[0].metric, "(max(cylinder.a.pressure)) - (250 bar)");
        assert!(study.objectives[0].is_most && study.objectives[0].weight == 2.0);
        assert_eq!((study.seed, study.evaluations), (3, 500));
        assert_eq!(study.method.method.name, "genetic");
    }

    proptest::proptest! {
        /// No text makes the reader panic: pieces of a study, torn out and put together again.
        #[test]
        fn any_text_is_read_or_refused(
            cuts in proptest::collection::vec((0usize..400, 0usize..60, 0usize..400), 1..6),
            number in proptest::prelude::any::<f64>(),
        ) {
            let mut text = format!(
                "{GOOD}integer = true\nstart = {number:?}\n[[variable]]\nname = \"a.b\"\nvalues = [\"1 mm\", {number:?}]\n\
                 [[objective]]\nmetric = \"max(a)\"\nscale = \"2 bar\"\n[[constraint]]\nkeep = \"max(a) <= {number:?}\"\n\
                 [method]\nname = \"genetic\"\nmembers = 9\n[[signal]]\ncolumn = \"p\"\nshift = \"1 s\"\n[fit]\nto = \"1 s\"\n"
            );
            for (from, length, to) in cuts {
                let from = text.floor_char_boundary(from.min(text.len()));
                let end = text.floor_char_boundary((from + length).min(text.len()));
                let piece: String = text.drain(from..end).collect();
                let to = text.floor_char_boundary(to.min(text.len()));
                text.insert_str(to, &piece);
            }
            for kind in [Kind::Optimise, Kind::Identify] {
                let mut sources = SourceMap::new();
                let source = sources.add("study.toml", text.as_str());
                let (study, problems) = parse(&text, source, Path::new(""), kind);
                assert!(study.is_some() != problems.has_errors());
                problems.render(&sources, false, 100);
            }
        }
    }

    #[test]
    fn mistakes_are_told_where_they_are() {
        let objective = "[[objective]]\nmetric = \"max(a)\"\n";
        for (text, part) in [
            (format!("cicuit = 1\n{GOOD}{objective}"), "did you mean `circuit`?"),
            (format!("circuit = \"a.toml\"\n{objective}"), "varies nothing"),
            (GOOD.to_owned(), "nothing to make small"),
            (
                format!("{}{objective}", GOOD.replace("to = 9", "to = \"9 bar\"")),
                "`to` is a pressure",
            ),
            (format!("{}{objective}", GOOD.replace("to = 9", "to = 0")), "is empty"),
            (format!("{}scale = \"lg\"\n{objective}", GOOD), "there is no scale `lg`"),
            (
                format!("{}{objective}", GOOD.replace("from = 1", "scale = \"log\"\nfrom = -1")),
                "begins above zero",
            ),
            (
                format!("{GOOD}[[variable]]\nname = \"gain\"\nfrom = 1\nto = 2\n{objective}"),
                "`gain` is varied twice",
            ),
            (format!("method = \"genetics\"\n{GOOD}{objective}"), "did you mean `genetic`"),
            (format!("method = \"levenberg_marquardt\"\n{GOOD}{objective}"), "fluxline identify"),
            (format!("method = \"nsga2\"\n{GOOD}{objective}"), "two objectives or more"),
            (
                format!(
                    "method = \"quasi_newton\"\n{GOOD}{objective}[[constraint]]\nkeep = \"max(a) <= 1\"\n"
                ),
                "knows no constraints",
            ),
            (
                format!("method = {{ name = \"genetic\", members = 2 }}\n{GOOD}{objective}"),
                "is a whole number from 4 to",
            ),
            (
                format!("{GOOD}{objective}[[constraint]]\nkeep = \"max(a) < 1\"\n"),
                "no `<=` or `>=`",
            ),
            (format!("seed = 1.5\n{GOOD}{objective}"), "whole number"),
            (format!("{GOOD}{objective}weight = -1\n"), "a weight is positive"),
        ] {
            let told = told(&text, Kind::Optimise);
            assert!(told.contains(part) && told.contains("study.toml:"), "{text}\n{told}");
        }
    }
}
