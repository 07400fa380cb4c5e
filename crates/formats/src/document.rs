//! A circuit file to be edited: comments and layout stay.

use crate::tree::parse_document;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use toml_edit::{DocumentMut, Item, Table, Value};

/// A circuit file as text that can be changed value by value.
///
/// ```
/// use fluxline_formats::Document;
///
/// let mut file = Document::parse("[components.relief]\ncracking_pressure = \"120 bar\" # from the data sheet\n")?;
/// assert_eq!(file.get("relief.cracking_pressure").as_deref(), Some("120 bar"));
/// file.set("relief.cracking_pressure", "130 bar")?;
/// assert_eq!(file.to_string(), "[components.relief]\ncracking_pressure = \"130 bar\" # from the data sheet\n");
/// # Ok::<(), fluxline_diagnostics::Diagnostic>(())
/// ```
#[derive(Clone, Debug)]
pub struct Document {
    toml: DocumentMut,
    /// The text as it was read; none once a value has changed.
    unchanged: Option<String>,
    /// Lines end as on Windows.
    is_crlf: bool,
}

impl Document {
    /// Reads a file. The error is that of the syntax alone; [`load_text`](crate::load_text) says
    /// more.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        // Also refuses nesting that would exhaust the stack.
        let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
        let source = sources.add("", text);
        parse_document(text, source, &mut found);
        if let Some(error) = found.sorted().first() {
            let at = error.primary().and_then(|label| sources.describe(label.span));
            let message = format!(
                "{} (at {})",
                error.message(),
                at.unwrap_or_default().trim_start_matches(':')
            );
            return Err(Diagnostic::error(error.code(), message));
        }
        let toml = text.parse().map_err(|error: toml_edit::TomlError| {
            Diagnostic::error(Code::InvalidToml, format!("not valid TOML: {}", error.message()))
        })?;
        // What prints the tables knows one end of line only.
        let is_crlf = 2 * text.matches("\r\n").count() > text.matches('\n').count();
        Ok(Self { toml, unchanged: Some(text.to_owned()), is_crlf })
    }

    /// The value at a name, as written but without quotes. Names are those of
    /// [`Override`](crate::Override).
    pub fn get(&self, name: &str) -> Option<String> {
        let mut item = self.toml.as_item();
        for part in path(name) {
            item = item.get(part)?;
        }
        let value = item.as_value()?;
        Some(match value.as_str() {
            Some(text) => text.to_owned(),
            None => {
                let mut value = value.clone();
                value.decor_mut().clear();
                value.to_string()
            }
        })
    }

    /// Changes or adds the value at a name. Numbers, `true`, `false`, lists and inline tables are
    /// written as such, all else as a text. The table must exist.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Diagnostic> {
        let parts: Vec<String> = path(name).into_iter().map(str::to_owned).collect();
        let missing = |what: &str| {
            let message = format!("the file has no `{what}` to set `{name}` in");
            Diagnostic::error(Code::BadOverride, message)
        };
        let Some((key, tables)) = parts.split_last() else {
            return Err(missing(name));
        };
        let mut table: &mut dyn toml_edit::TableLike = self.toml.as_table_mut();
        for part in tables {
            // The settings of a circuit may all be left out.
            let is_section = matches!(
                part.as_str(),
                "run" | "solver" | "lines" | "record" | "fluid" | "parameters"
            );
            if is_section && table.get(part).is_none() {
                table.insert(part, Item::Table(Table::new()));
            }
            table = table
                .get_mut(part)
                .and_then(Item::as_table_like_mut)
                .ok_or_else(|| missing(part))?;
        }
        let mut new = read(value);
        match table.get_mut(key).and_then(Item::as_value_mut) {
            Some(old) => {
                *new.decor_mut() = old.decor().clone();
                *old = new;
            }
            None => drop(table.insert(key, Item::Value(new))),
        }
        self.unchanged = None;
        Ok(())
    }
}

impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.unchanged {
            Some(text) => f.write_str(text),
            None if self.is_crlf => {
                let text = self.toml.to_string().replace("\r\n", "\n");
                f.write_str(&text.replace('\n', "\r\n"))
            }
            None => self.toml.fmt(f),
        }
    }
}

/// The keys that lead to a name.
fn path(name: &str) -> Vec<&str> {
    let parts: Vec<&str> = name.split('.').collect();
    match parts[..] {
        ["title"] => parts,
        [_] => [vec!["parameters"], parts].concat(),
        [
            "run" | "solver" | "lines" | "record" | "parameters" | "fluid" | "fluids"
            | "components" | "subcircuits",
            ..,
        ] => parts,
        [..] => [vec!["components"], parts].concat(),
    }
}

fn read(text: &str) -> Value {
    let text = text.trim();
    let number = text.parse::<f64>().is_ok_and(f64::is_finite);
    let literal =
        number || text == "true" || text == "false" || text.starts_with(['[', '{', '"', '\'']);
    match text.parse::<Value>() {
        Ok(value) if literal => value,
        _ => Value::from(text),
    }
}
