//! Validation files (`.hvc`) and their data (`.hvd`, `.csv`).

use crate::number;
use crate::xml::{self, Element};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap, Span};
use std::path::{Path, PathBuf};

/// What a validation compares when the file does not say: the second column, within one per cent.
const COLUMN: usize = 1;
const TOLERANCE: f64 = 0.01;

/// A comparison of a model with stored results.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The model file.
    pub model: PathBuf,
    /// What is compared.
    pub variables: Vec<Variable>,
}

/// A variable with its stored results.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// `Component#Port#Variable`, with `Sub$` in front for each system around it. Some files put the name of the
    /// model in front as well, see [`Model::without_root`](crate::Model::without_root).
    pub name: String,
    /// The file with the results.
    pub data: PathBuf,
    /// Column of the times, from 0.
    pub time_column: usize,
    /// Column of the values, from 0.
    pub column: usize,
    /// Largest relative deviation.
    pub tolerance: f64,
    /// Where it stands.
    pub span: Span,
}

/// A table of numbers, by columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Vec<f64>>,
}

/// Reads a validation file of format 0.1 or 0.2. `None` comes with an error.
pub fn load_file(
    path: &Path,
    sources: &mut SourceMap,
    found: &mut Diagnostics,
) -> Option<Vec<Validation>> {
    let bytes = found.take(xml::read_bytes(path))?;
    load_bytes(path, bytes, sources, found)
}

/// Reads a validation file from bytes; `path` says what its names of files are relative to.
pub fn load_bytes(
    path: &Path,
    bytes: Vec<u8>,
    sources: &mut SourceMap,
    found: &mut Diagnostics,
) -> Option<Vec<Validation>> {
    let name = path.display().to_string();
    let document = xml::parse(&name, bytes, sources, found)?;
    let root = document.root();
    if root.name() != "hopsanvalidationconfiguration" {
        let message =
            format!("`{name}` is not a validation file: its root element is `{}`", root.name());
        let error = Diagnostic::error(Code::NotAnImport, message);
        found.push(error.at(root.span(), "expected `<hopsanvalidationconfiguration>`"));
        return None;
    }
    let version = root.attribute("hvcversion").unwrap_or_default();
    let is_old = match version {
        "0.1" => true,
        "0.2" => false,
        other => {
            let message =
                format!("`{name}` is of version \"{other}\"; versions 0.1 and 0.2 can be read");
            let error = Diagnostic::error(Code::BadValidation, message);
            found.push(error.at(root.attribute_span("hvcversion"), ""));
            return None;
        }
    };
    let mut reader = Reader { path, found };
    let mut validations = Vec::new();
    for element in root.children_named("validation") {
        let Some(model) = reader.file(element.child("modelfile")) else {
            let error = Diagnostic::error(Code::BadValidation, "a validation names no model file");
            reader.found.push(error.at(element.span(), "expected a `<modelfile>` in here"));
            continue;
        };
        let variables = if is_old { reader.old(element) } else { reader.present(element) };
        validations.push(Validation { model, variables });
    }
    if validations.is_empty() && !reader.found.has_errors() {
        let message = format!("`{name}` holds no validation");
        found.push(Diagnostic::error(Code::BadValidation, message).at(root.span(), ""));
    }
    (!validations.is_empty()).then_some(validations)
}

struct Reader<'a> {
    path: &'a Path,
    found: &'a mut Diagnostics,
}

impl Reader<'_> {
    /// The file that an element names, relative to the validation file.
    fn file(&self, element: Option<Element<'_>>) -> Option<PathBuf> {
        let text = element?.text().trim();
        if text.is_empty() {
            return None;
        }
        let text = if cfg!(windows) { text.to_owned() } else { text.replace('\\', "/") };
        Some(self.path.parent().unwrap_or(Path::new("")).join(text))
    }

    fn old(&mut self, validation: Element<'_>) -> Vec<Variable> {
        let mut variables = Vec::new();
        for component in validation.children_named("component") {
            for port in component.children_named("port") {
                for variable in port.children_named("variable") {
                    let names = [component, port, variable].map(|part| part.attribute("name"));
                    let [Some(component), Some(port), Some(name)] = names else {
                        self.nameless(variable);
                        continue;
                    };
                    let data = self.file(variable.child("csvfile"));
                    let data = data.unwrap_or_else(|| self.path.with_extension("csv"));
                    let name = format!("{component}#{port}#{name}");
                    variables.push(self.variable(variable, name, data, 0));
                }
            }
        }
        variables
    }

    fn present(&mut self, validation: Element<'_>) -> Vec<Variable> {
        let data = self.file(validation.child("hvdfile"));
        let data = data.unwrap_or_else(|| self.path.with_extension("hvd"));
        let mut variables = Vec::new();
        for variable in validation.children_named("variable") {
            let Some(name) = variable.attribute("name") else {
                self.nameless(variable);
                continue;
            };
            let time_column = self.column(variable, "timecolumn", 0);
            variables.push(self.variable(variable, name.to_owned(), data.clone(), time_column));
        }
        variables
    }

    fn variable(
        &mut self,
        element: Element<'_>,
        name: String,
        data: PathBuf,
        time_column: usize,
    ) -> Variable {
        let column = self.column(element, "column", COLUMN);
        let tolerance = match element.child("tolerance") {
            None => TOLERANCE,
            Some(child) => match number::whole(child.text().trim()) {
                Some(tolerance) if tolerance >= 0.0 => tolerance,
                _ => {
                    let message =
                        format!("the tolerance of `{name}` is \"{}\"", child.text().trim());
                    let error = Diagnostic::error(Code::BadValidation, message);
                    self.found.push(error.at(child.span(), "expected a number from 0"));
                    TOLERANCE
                }
            },
        };
        Variable { name, data, time_column, column, tolerance, span: element.span() }
    }

    fn column(&mut self, element: Element<'_>, name: &str, default: usize) -> usize {
        let Some(child) = element.child(name) else { return default };
        child.text().trim().parse().unwrap_or_else(|_| {
            let message = format!("`{name}` is \"{}\", which is no column", child.text().trim());
            let error = Diagnostic::error(Code::BadValidation, message);
            self.found.push(error.at(child.span(), "columns are counted from 0"));
            default
        })
    }

    fn nameless(&mut self, element: Element<'_>) {
        let message = "a variable lacks the name of its component, its port or itself";
        self.found.push(Diagnostic::error(Code::BadValidation, message).at(element.span(), ""));
    }
}

impl Table {
    /// Reads a table: numbers with commas between them, a line for each row, no heading.
    pub fn load_file(
        path: &Path,
        sources: &mut SourceMap,
        found: &mut Diagnostics,
    ) -> Option<Table> {
        let bytes = found.take(xml::read_bytes(path))?;
        Table::load_bytes(&path.display().to_string(), bytes, sources, found)
    }

    /// Reads a table from bytes.
    pub fn load_bytes(
        name: &str,
        bytes: Vec<u8>,
        sources: &mut SourceMap,
        found: &mut Diagnostics,
    ) -> Option<Table> {
        let source = found.take(sources.add_bytes(name, bytes))?;
        let text = sources.get(source)?.text().clone();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let at = start;
            start += line.len();
            let line = line.trim_end();
            let line = line.strip_suffix(',').unwrap_or(line);
            if line.trim().is_empty() {
                continue;
            }
            let is_first = columns.is_empty();
            let mut count = 0;
            let mut cell_start = at;
            for cell in line.split(',') {
                let range = cell_start..cell_start + cell.len();
                cell_start += cell.len() + 1;
                let Some(value) = number::whole(cell.trim()) else {
                    let message =
                        format!("`{name}` holds \"{}\" where a number should be", cell.trim());
                    let error = Diagnostic::error(Code::BadValidation, message);
                    found.push(error.at(Span::new(source, range), "not a number"));
                    return None;
                };
                if is_first {
                    columns.push(Vec::new());
                }
                if let Some(column) = columns.get_mut(count) {
                    column.push(value);
                }
                count += 1;
            }
            if count != columns.len() {
                let message = format!(
                    "a row of `{name}` has {count} values, but those before have {}",
                    columns.len()
                );
                let error = Diagnostic::error(Code::BadValidation, message);
                found.push(error.at(Span::new(source, at..at + line.len()), ""));
                return None;
            }
        }
        if columns.is_empty() {
            let message = format!("`{name}` holds no data");
            found.push(Diagnostic::error(Code::BadValidation, message));
            return None;
        }
        Some(Table { columns })
    }

    /// The times and values of a variable.
    pub fn series(&self, variable: &Variable) -> Result<(&[f64], &[f64]), Diagnostic> {
        let column = |index: usize| {
            self.columns.get(index).map(Vec::as_slice).ok_or_else(|| {
                let message = format!(
                    "`{}` is in column {index} of `{}`, which has {} columns",
                    variable.name,
                    variable.data.display(),
                    self.columns.len()
                );
                let error = Diagnostic::error(Code::BadValidation, message);
                error.at(variable.span, "columns are counted from 0")
            })
        };
        Ok((column(variable.time_column)?, column(variable.column)?))
    }
}

/// The value at a time: on the straight line between the samples around it, held before the first and after the last.
/// NaN without samples.
pub fn interpolate(times: &[f64], values: &[f64], time: f64) -> f64 {
    let after = times.partition_point(|&sample| sample <= time);
    let value = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    if after == 0 {
        return value(0);
    }
    if after >= times.len() {
        return value(times.len() - 1);
    }
    let (t0, t1) = (times[after - 1], times[after]);
    let (v0, v1) = (value(after - 1), value(after));
    v0 + (v1 - v0) * (time - t0) / (t1 - t0)
}
