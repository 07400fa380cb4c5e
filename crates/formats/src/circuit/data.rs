//! Tabulated data: pairs and grids in the circuit file, columns of CSV files.

use super::Loader;
use super::definition::wrong_type;
use super::scope::Scope;
use super::{identity, read};
use crate::tree::{Item, Table as Entries, Val};
use fluxline_core::table::Table;
use fluxline_core::values::Rule;
use fluxline_diagnostics::{Code, Diagnostic, SourceId, Span};
use fluxline_units::{Dimension, Unit};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// After so many wrong lines a data file is not read further.
const MAX_BAD_LINES: usize = 5;

/// Two columns of a data file, with the units that the circuit gives them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Columns {
    file: PathBuf,
    x: Column,
    y: Column,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Column {
    which: Which,
    unit: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Which {
    /// Not said: the first one for x, the second one for y.
    Default(usize),
    /// From 1.
    Number(usize),
    Named(String),
}

impl Loader<'_> {
    /// A curve or a map.
    pub(super) fn table(
        &mut self,
        name: &str,
        rule: &Rule,
        item: &Item,
        scope: &Scope,
        folder: &Path,
    ) -> Option<Arc<Table>> {
        match &item.value {
            Val::Text(path) => {
                let column = |index| Column { which: Which::Default(index), unit: None };
                let file = DataFile { path, at: item.at, x_at: item.at, y_at: item.at };
                self.data_file(name, rule, &file, folder, (column(0), column(1)))
            }
            Val::List(pairs) => self.pairs(name, item, pairs, scope).map(Arc::new),
            Val::Table(entries) if entries.get("file").is_some() => {
                self.file_columns(name, rule, entries, folder)
            }
            Val::Table(entries) => self.columns(name, rule, item, entries, scope).map(Arc::new),
            _ => {
                let error = wrong_type(name, item, "a table").help(
                    "write pairs `[[0, 1], [2, 3]]`, columns `{ x = [0, 2], y = [1, 3] }` or the name of a CSV file",
                );
                self.report(error);
                None
            }
        }
    }

    fn pairs(&mut self, name: &str, item: &Item, pairs: &[Item], scope: &Scope) -> Option<Table> {
        let (mut knots, mut values) =
            (Vec::with_capacity(pairs.len()), Vec::with_capacity(pairs.len()));
        let mut places = Vec::with_capacity(pairs.len());
        let mut good = true;
        for pair in pairs {
            let Val::List(both) = &pair.value else {
                let error = wrong_type(name, pair, "a pair").help("write `[[0, 1], [2, 3]]`");
                self.report(error);
                return None;
            };
            let [x, y] = &both[..] else {
                let message =
                    format!("`{name}` takes pairs, but this list has {} entries", both.len());
                let error = Diagnostic::error(Code::TableMalformed, message)
                    .at(pair.at, "expected `[x, y]`")
                    .help(
                        "for a map over two variables write `{ x = […], y = […], z = [[…], …] }`",
                    );
                self.report(error);
                return None;
            };
            let x_value = self.entry(name, x, None, scope);
            let y_value = self.entry(name, y, None, scope);
            good &= x_value.is_some() && y_value.is_some();
            knots.extend(x_value);
            values.extend(y_value);
            places.push(x.at);
        }
        if !good || !self.check_knots(name, &knots, &places, item.at) {
            return None;
        }
        Some(Table::curve(knots, values))
    }

    /// `{ x = […], y = […] }` or, for a map, with `z` as well.
    fn columns(
        &mut self,
        name: &str,
        rule: &Rule,
        item: &Item,
        entries: &Entries,
        scope: &Scope,
    ) -> Option<Table> {
        const KEYS: [&str; 6] = ["x", "y", "z", "x_unit", "y_unit", "z_unit"];
        self.check_keys(name, entries, &KEYS);
        let is_map = entries.get("z").is_some();
        let value_unit = if is_map { "z_unit" } else { "y_unit" };
        let units = ["x_unit", "y_unit", "z_unit"].map(|key| {
            let expected = (key == value_unit).then_some(rule);
            self.unit_entry(name, entries, key, expected)
        });
        let [x_unit, y_unit, z_unit] = units;
        let (x_unit, y_unit, z_unit) = (x_unit?, y_unit?, z_unit?);
        let (knots, knot_places) = self.column(name, item, entries, "x", x_unit.as_ref(), scope)?;
        let (values, places) = self.column(name, item, entries, "y", y_unit.as_ref(), scope)?;
        if !self.check_knots(name, &knots, &knot_places, item.at) {
            return None;
        }
        let Some((_, z)) = entries.get("z") else {
            if knots.len() != values.len() {
                self.uneven(name, item.at, "x", knots.len(), "y", values.len());
                return None;
            }
            return Some(Table::curve(knots, values));
        };
        let rows = values;
        if !self.check_knots(name, &rows, &places, item.at) {
            return None;
        }
        let Val::List(lines) = &z.value else {
            let error = wrong_type(&format!("{name}.z"), z, "a list of rows")
                .help("write one row for each entry of `y`: `z = [[1, 2], [3, 4]]`");
            self.report(error);
            return None;
        };
        if lines.len() != rows.len() {
            self.uneven(name, z.at, "y", rows.len(), "z (rows)", lines.len());
            return None;
        }
        let mut values = Vec::with_capacity(rows.len() * knots.len());
        for line in lines {
            let Val::List(cells) = &line.value else {
                let error = wrong_type(&format!("{name}.z"), line, "a row of numbers");
                self.report(error.help("write one row for each entry of `y`"));
                return None;
            };
            if cells.len() != knots.len() {
                self.uneven(name, line.at, "x", knots.len(), "this row", cells.len());
                return None;
            }
            for cell in cells {
                values.push(self.entry(name, cell, z_unit.as_ref(), scope)?);
            }
        }
        Some(Table { knots, rows, values })
    }

    fn uneven(&mut self, name: &str, at: Span, a: &str, a_len: usize, b: &str, b_len: usize) {
        let message = format!("`{name}`: {a} has {a_len} entries, but {b} has {b_len}");
        let error = Diagnostic::error(Code::TableMalformed, message)
            .at(at, "must have the same length")
            .help("add or remove entries until both agree");
        self.report(error);
    }

    fn column(
        &mut self,
        name: &str,
        item: &Item,
        entries: &Entries,
        key: &str,
        unit: Option<&Unit>,
        scope: &Scope,
    ) -> Option<(Vec<f64>, Vec<Span>)> {
        let Some((_, list)) = entries.get(key) else {
            let error = Diagnostic::error(Code::MissingKey, format!("`{name}` has no `{key}`"))
                .at(item.at, format!("`{key}` is missing"))
                .help("write `{ x = [0, 2], y = [1, 3] }`, or `{ file = \"data.csv\" }`");
            self.report(error);
            return None;
        };
        let Val::List(items) = &list.value else {
            let error = wrong_type(&format!("{name}.{key}"), list, "a list of numbers");
            self.report(error.help(format!("write `{key} = [0, 1, 2]`")));
            return None;
        };
        let mut numbers = Vec::with_capacity(items.len());
        for item in items {
            numbers.extend(self.entry(name, item, unit, scope));
        }
        let places = items.iter().map(|item| item.at).collect();
        (numbers.len() == items.len()).then_some((numbers, places))
    }

    /// One number of a table, in SI units.
    fn entry(
        &mut self,
        name: &str,
        item: &Item,
        unit: Option<&Unit>,
        scope: &Scope,
    ) -> Option<f64> {
        match &item.value {
            Val::Integer(_) | Val::Float(_) => {
                let number = self.plain_number(item, &name)?.value;
                Some(unit.map_or(number, |unit| unit.to_si(number)))
            }
            Val::Text(text) => {
                let quantity = self.evaluate(&name, item, text, scope)?;
                if let Some(unit) = unit
                    && unit.dimension() != quantity.dimension
                {
                    let message = format!(
                        "`{name}`: \"{text}\" is {}, but the column is {}",
                        quantity.dimension.with_article(),
                        unit.dimension().with_article()
                    );
                    let error = Diagnostic::error(Code::WrongDimension, message)
                        .at(item.at, format!("expected a quantity in {unit}"))
                        .help("correct the unit, or leave it away: numbers count in the unit of the column");
                    self.report(error);
                    return None;
                }
                Some(quantity.value)
            }
            _ => {
                let error =
                    wrong_type(name, item, "a number").help("write a number, or \"1.5 bar\"");
                self.report(error);
                None
            }
        }
    }

    /// At least two knots, increasing but for jumps.
    fn check_knots(&mut self, name: &str, knots: &[f64], places: &[Span], at: Span) -> bool {
        if knots.len() < 2 {
            let message =
                format!("`{name}` has {} of the at least 2 points that a curve needs", knots.len());
            let error = Diagnostic::error(Code::TableTooShort, message)
                .at(at, "too short")
                .help("add points; for a constant give the same value twice");
            self.report(error);
            return false;
        }
        // Two points at one place are a jump, which some components take and others refuse; three are
        // a mistake.
        let jumps = |i: usize| i > 0 && knots[i - 1] == knots[i];
        let falls = |i: usize| knots[i + 1] < knots[i] || knots[i + 1] == knots[i] && jumps(i);
        let Some(fall) = (0..knots.len() - 1).find(|&i| falls(i)) else {
            return true;
        };
        let (before, after) = (knots[fall], knots[fall + 1]);
        let message = format!("`{name}` does not increase: {after} follows {before}");
        let place = places.get(fall + 1).copied().unwrap_or(at);
        let error = Diagnostic::error(Code::TableNotIncreasing, message)
            .at(place, "must be greater than the one before");
        let error = match place.source == at.source {
            true => error,
            false => error.also(at, format!("read for `{name}`")),
        };
        let error =
            error.help("sort the points; for a jump give two points at one place, not more");
        self.report(error);
        false
    }

    fn check_keys(&mut self, name: &str, entries: &Entries, valid: &[&str]) {
        for (key, _) in &entries.entries {
            if !valid.contains(&key.name.as_str()) {
                let message = format!("the table `{name}` has no key `{}`", key.name);
                let error = Diagnostic::error(Code::UnknownKey, message).at(key.at, "unknown");
                let error = self.suggest(error, &key.name, valid.iter().copied());
                self.report(error);
            }
        }
    }

    /// A unit given in a table: `Some(None)` when there is none, `None` when it is wrong.
    #[allow(clippy::option_option, reason = "absent and wrong are different")]
    fn unit_entry(
        &mut self,
        name: &str,
        entries: &Entries,
        key: &str,
        expected: Option<&Rule>,
    ) -> Option<Option<Unit>> {
        let Some((_, item)) = entries.get(key) else {
            return Some(None);
        };
        let Val::Text(text) = &item.value else {
            let error =
                wrong_type(&format!("{name}.{key}"), item, "a unit").help("write \"l/min\"");
            self.report(error);
            return None;
        };
        match Unit::parse(text) {
            Ok(unit) => {
                if let Some(error) = expected.and_then(|rule| unit_mismatch(name, &unit, rule)) {
                    self.report(error.at(item.at, "wrong unit"));
                    return None;
                }
                Some(Some(unit))
            }
            Err(error) => {
                let problem =
                    Diagnostic::error(Code::UnknownUnit, format!("`{name}.{key}`: {error}"))
                        .at(item.part(error.span()), "not a unit");
                let problem = match error.suggestion() {
                    Some(help) => problem.help(help),
                    None => problem,
                };
                self.report(problem);
                None
            }
        }
    }

    /// `{ file = "data.csv", x = "time", y = "flow", x_unit = "s", y_unit = "l/min" }`
    fn file_columns(
        &mut self,
        name: &str,
        rule: &Rule,
        entries: &Entries,
        folder: &Path,
    ) -> Option<Arc<Table>> {
        self.check_keys(name, entries, &["file", "x", "y", "x_unit", "y_unit"]);
        let (_, file) = entries.get("file")?;
        let Val::Text(path) = &file.value else {
            let error =
                wrong_type(&format!("{name}.file"), file, "a file name").help("put it in quotes");
            self.report(error);
            return None;
        };
        let mut column = |key: &str, unit: &str, index: usize| {
            let expected = (key == "y").then_some(rule);
            let given = self.unit_entry(name, entries, unit, expected)?;
            let unit = given.map(|unit| unit.symbol().to_owned());
            let which = match entries.get(key) {
                None => Which::Default(index),
                Some((_, item)) => match &item.value {
                    Val::Text(text) => Which::Named(text.clone()),
                    Val::Integer(number) if *number >= 1 => Which::Number(*number as usize),
                    _ => {
                        let error =
                            wrong_type(&format!("{name}.{key}"), item, "the name of a column")
                                .help("write its name in quotes, or its number, from 1");
                        self.report(error);
                        return None;
                    }
                },
            };
            Some(Column { which, unit })
        };
        let (x, y) = (column("x", "x_unit", 0), column("y", "y_unit", 1));
        let place = |key| entries.get(key).map_or(file.at, |(_, item)| item.at);
        let file = DataFile { path, at: file.at, x_at: place("x"), y_at: place("y") };
        self.data_file(name, rule, &file, folder, (x?, y?))
    }

    fn data_file(
        &mut self,
        name: &str,
        rule: &Rule,
        file: &DataFile,
        folder: &Path,
        (x, y): (Column, Column),
    ) -> Option<Arc<Table>> {
        let path = folder.join(file.path);
        let id = identity(&path);
        let source = match self.data.get(&id) {
            Some(known) => *known,
            None => {
                let source = self.read_data(name, &path, file.at);
                self.data.insert(id.clone(), source);
                source
            }
        }?;
        let columns = Columns { file: id, x, y };
        if let Some(known) = self.curves.get(&columns) {
            return known.clone();
        }
        let curve = self.read_columns(name, rule, source, &columns, file).map(Arc::new);
        self.curves.insert(columns, curve.clone());
        curve
    }

    fn read_data(&mut self, name: &str, path: &Path, at: Span) -> Option<SourceId> {
        let shown = path.display().to_string();
        match read(path) {
            Ok(bytes) => match self.sources.add_bytes(shown, bytes) {
                Ok(source) => Some(source),
                Err(error) => {
                    self.report(error);
                    None
                }
            },
            Err(error) => {
                let message = format!(
                    "the data file `{shown}` of `{name}` cannot be read: {}",
                    error.reason()
                );
                let problem = Diagnostic::error(error.code(Code::TableMissing), message)
                    .at(at, "named here")
                    .help("a path is relative to the file that names it");
                self.report(problem);
                None
            }
        }
    }

    fn read_columns(
        &mut self,
        name: &str,
        rule: &Rule,
        source: SourceId,
        columns: &Columns,
        file: &DataFile,
    ) -> Option<Table> {
        let at = file.at;
        let text = self.sources.get(source)?.text().clone();
        let mut csv = match Csv::new(&text, source) {
            Ok(csv) => csv,
            Err(error) => {
                self.report(error.also(at, format!("read for `{name}`")));
                return None;
            }
        };
        let find = |column: &Column, at: Span| csv.find(column, at).map_err(|error| *error);
        let (x, y) = match (find(&columns.x, file.x_at), find(&columns.y, file.y_at)) {
            (Ok(x), Ok(y)) => (x, y),
            (x, y) => {
                let errors = [x.err(), y.err()];
                errors.into_iter().flatten().for_each(|error| self.report(error));
                return None;
            }
        };
        if let Some(error) = y.unit.as_ref().and_then(|unit| unit_mismatch(name, unit, rule)) {
            let at = csv.header.get(y.index).map_or(at, |cell| cell.at);
            self.report(error.at(at, "wrong unit"));
            return None;
        }
        let chosen =
            !matches!((&columns.x.which, &columns.y.which), (Which::Default(_), Which::Default(_)));
        let (rows, errors) = csv.rows(&x, &y, chosen);
        if !errors.is_empty() {
            for error in errors {
                self.report(error.also(at, format!("read for `{name}`")));
            }
            return None;
        }
        let knots: Vec<f64> = rows.iter().map(|row| row.0).collect();
        let places: Vec<Span> = rows.iter().map(|row| row.2).collect();
        let values = rows.iter().map(|row| row.1).collect();
        self.check_knots(name, &knots, &places, at).then(|| Table::curve(knots, values))
    }
}

/// A data file as the circuit names it.
struct DataFile<'f> {
    path: &'f str,
    at: Span,
    /// Where its columns are named.
    x_at: Span,
    y_at: Span,
}

/// The error for values of another kind than the parameter's; a parameter without unit takes any.
fn unit_mismatch(name: &str, unit: &Unit, rule: &Rule) -> Option<Diagnostic> {
    let expected: Dimension = rule.unit.dimension();
    let wrong = !expected.is_dimensionless() && unit.dimension() != expected;
    wrong.then(|| {
        let message = format!(
            "`{name}` is {}, but {unit} is the unit of {}",
            expected.with_article(),
            unit.dimension().with_article()
        );
        Diagnostic::error(Code::WrongDimension, message)
            .help("use another column, or correct the unit")
    })
}

/// A cell of a CSV file.
struct Cell<'t> {
    text: &'t str,
    at: Span,
}

/// A column that has been found.
struct Found {
    index: usize,
    unit: Option<Unit>,
}

/// A text of columns, with an optional header.
struct Csv<'t> {
    text: &'t str,
    source: SourceId,
    separator: u8,
    header: Vec<Cell<'t>>,
    /// Where the data begin.
    start: usize,
}

impl<'t> Csv<'t> {
    fn new(text: &'t str, source: SourceId) -> Result<Self, Diagnostic> {
        let mut csv = Self { text, source, separator: b',', header: Vec::new(), start: 0 };
        if text.starts_with('\u{feff}') {
            csv.start = '\u{feff}'.len_utf8();
        }
        let Some((start, line)) = csv.lines().next() else {
            return Err(Diagnostic::error(Code::TableTooShort, "the data file is empty")
                .at(Span::new(source, 0..0), "no data")
                .help("is it the right file?"));
        };
        csv.separator = [b'\t', b';', b',']
            .into_iter()
            .find(|separator| line.as_bytes().contains(separator))
            .unwrap_or(b',');
        let cells = csv.cells(start, line);
        // A decimal comma makes no header of a line of numbers.
        let is_number = |cell: &Cell| cell.text.replace(',', ".").parse::<f64>().is_ok();
        if !cells.iter().any(is_number) {
            csv.header = cells;
            csv.start = start + line.len();
        }
        Ok(csv)
    }

    /// The lines that hold something, with their offsets.
    fn lines(&self) -> impl Iterator<Item = (usize, &'t str)> + use<'t> {
        let mut at = self.start;
        let text = self.text;
        text[self.start..].split_inclusive('\n').filter_map(move |line| {
            let start = at;
            at += line.len();
            let content = line.trim();
            let blank = content.is_empty() || content.starts_with('#');
            (!blank).then(|| (start, line.trim_end_matches(['\n', '\r'])))
        })
    }

    fn cells(&self, start: usize, line: &'t str) -> Vec<Cell<'t>> {
        let mut cells = Vec::new();
        let (mut from, mut quoted) = (0, false);
        let bytes = line.as_bytes();
        for at in 0..=bytes.len() {
            if at < bytes.len() && bytes[at] == b'"' {
                quoted = !quoted;
            }
            if at == bytes.len() || (bytes[at] == self.separator && !quoted) {
                let raw = &line[from..at];
                let text = raw.trim();
                let offset = start + from + (raw.len() - raw.trim_start().len());
                let place = Span::new(self.source, offset..offset + text.len());
                cells.push(Cell { text: text.trim_matches('"').trim(), at: place });
                from = at + 1;
            }
        }
        while cells.len() > 1 && cells.last().is_some_and(|cell| cell.text.is_empty()) {
            cells.pop();
        }
        cells
    }

    /// Finds a column, and its unit: as the circuit says, else as the header says.
    fn find(&self, column: &Column, at: Span) -> Result<Found, Box<Diagnostic>> {
        let names: Vec<&str> = self.header.iter().map(|cell| split_unit(cell.text).0).collect();
        let index = match &column.which {
            Which::Default(index) => *index,
            Which::Number(number) if !self.header.is_empty() && *number > self.header.len() => {
                let message = format!(
                    "the data file has {} columns, so there is no column {number}",
                    self.header.len()
                );
                let error = Diagnostic::error(Code::TableMalformed, message).at(at, "too large");
                let columns = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
                return Err(Box::new(
                    error.help(format!("its columns, from 1 on: {}", columns.join(", "))),
                ));
            }
            Which::Number(number) => number - 1,
            Which::Named(wanted) => {
                let same = |name: &&str| name.eq_ignore_ascii_case(wanted);
                names.iter().position(same).ok_or_else(|| {
                    let message = match self.header.is_empty() {
                        true => format!("the data file has no header with a column `{wanted}`"),
                        false => format!("the data file has no column `{wanted}`"),
                    };
                    let error =
                        Diagnostic::error(Code::TableMalformed, message).at(at, "not found");
                    Box::new(match self.header.is_empty() {
                        true => error.help("name columns by number, from 1: `x = 1`"),
                        false => error.suggest(wanted, names.iter().copied()),
                    })
                })?
            }
        };
        let unit = match (&column.unit, self.header.get(index)) {
            (Some(unit), _) => Unit::parse(unit).ok(),
            (None, Some(cell)) => match split_unit(cell.text).1 {
                Some(unit) => Some(Unit::parse(unit).map_err(|error| {
                    let message = format!("the header `{}` names no unit: {error}", cell.text);
                    let problem = Diagnostic::error(Code::UnknownUnit, message)
                        .at(cell.at, "unknown unit")
                        .also(at, "read for this table");
                    Box::new(match error.suggestion() {
                        Some(help) => problem.help(help),
                        None => problem,
                    })
                })?),
                None => None,
            },
            (None, None) => None,
        };
        Ok(Found { index, unit })
    }

    /// Both columns in SI units, with the place of the first.
    fn rows(
        &mut self,
        x: &Found,
        y: &Found,
        chosen: bool,
    ) -> (Vec<(f64, f64, Span)>, Vec<Diagnostic>) {
        let (mut rows, mut errors) = (Vec::new(), Vec::new());
        let most = match (self.header.len(), chosen) {
            (0, false) => 2,
            (0, true) => usize::MAX,
            (columns, _) => columns,
        };
        for (start, line) in self.lines() {
            if errors.len() >= MAX_BAD_LINES {
                break;
            }
            let cells = self.cells(start, line);
            if cells.len() > most {
                let message = format!("{} columns where {most} are expected", cells.len());
                let error = Diagnostic::error(Code::TableMalformed, message)
                    .at(cells[most].at, "one too many")
                    .note("decimal commas would look like this: write 1.5, not 1,5");
                errors.push(match self.header.is_empty() {
                    true => {
                        error.help("say which columns are meant: `{ file = \"…\", x = 1, y = 2 }`")
                    }
                    false => error.help("remove the cell, or give its column a name in the header"),
                });
                continue;
            }
            let end = Span::new(self.source, start + line.len()..start + line.len());
            let both = [x, y].map(|column| number(&cells, column, end));
            match both {
                [Ok(x), Ok(y)] => rows.push((x.0, y.0, x.1)),
                [x, y] => errors.extend([x.err(), y.err()].into_iter().flatten()),
            }
        }
        (rows, errors)
    }
}

fn number(cells: &[Cell], column: &Found, end: Span) -> Result<(f64, Span), Diagnostic> {
    let Some(cell) = cells.get(column.index) else {
        let message = format!("column {} is missing in this line", column.index + 1);
        return Err(Diagnostic::error(Code::TableMalformed, message)
            .at(end, "the line ends here")
            .help("columns are separated by commas, semicolons or tabs"));
    };
    match cell.text.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            Ok((column.unit.as_ref().map_or(value, |unit| unit.to_si(value)), cell.at))
        }
        _ if cell.text.replace(',', ".").parse::<f64>().is_ok_and(f64::is_finite) => {
            let message = format!("`{}` has a decimal comma", cell.text);
            Err(Diagnostic::error(Code::DecimalComma, message)
                .at(cell.at, "use a point")
                .help(format!("write {}", cell.text.replace(',', "."))))
        }
        _ if cell.text.is_empty() => Err(Diagnostic::error(Code::TableMalformed, "an empty cell")
            .at(cell.at, "expected a number")
            .help("fill in the number, or remove the line")),
        _ => {
            let shown: String = cell.text.chars().take(40).collect();
            Err(Diagnostic::error(Code::TableMalformed, format!("`{shown}` is not a number"))
                .at(cell.at, "expected a number")
                .help("correct the cell, or begin a comment line with `#`"))
        }
    }
}

/// Name and unit of a header such as `flow [l/min]` or `flow (l/min)`.
fn split_unit(text: &str) -> (&str, Option<&str>) {
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some(inner) = text.strip_suffix(close)
            && let Some((name, unit)) = inner.split_once(open)
        {
            let unit = unit.trim();
            return (name.trim(), (!unit.is_empty() && unit != "-").then_some(unit));
        }
    }
    (text, None)
}
