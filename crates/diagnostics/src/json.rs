//! Diagnostics as JSON for scripts and editors.
//!
//! Written by hand: a dozen lines of escaping weigh less than a dependency of the bottom layer. Keys are always
//! present (`null` where there is nothing to say) and always in the same order.

use std::fmt::Write;

use crate::{Diagnostic, Diagnostics, SourceMap, Span};

impl Diagnostic {
    /// The diagnostic as one JSON object on one line.
    ///
    /// `line`, `column`, `end_line` and `end_column` count from 1, columns in characters; the end is one past the last
    /// character.
    pub fn to_json(&self, sources: &SourceMap) -> String {
        let mut out = String::from("{");
        pair(&mut out, "code", |out| string(out, self.code().as_str()));
        pair(&mut out, "severity", |out| string(out, &self.severity().to_string()));
        pair(&mut out, "message", |out| string(out, self.message()));
        location(&mut out, sources, self.primary().map(|label| label.span));
        pair(&mut out, "label", |out| {
            optional(out, self.primary().map(|label| label.text.as_str()))
        });
        let place = self.place();
        pair(&mut out, "component", |out| {
            optional(out, place.and_then(|place| place.component.as_deref()))
        });
        pair(&mut out, "port", |out| optional(out, place.and_then(|place| place.port.as_deref())));
        pair(&mut out, "parameter", |out| {
            optional(out, place.and_then(|place| place.parameter.as_deref()))
        });
        pair(&mut out, "related", |out| {
            list(out, self.secondary(), |out, label| {
                out.push('{');
                location(out, sources, Some(label.span));
                pair(out, "label", |out| string(out, &label.text));
                out.push('}');
            });
        });
        pair(&mut out, "notes", |out| list(out, self.notes(), |out, note| string(out, note)));
        pair(&mut out, "help", |out| list(out, self.helps(), |out, help| string(out, help)));
        out.push('}');
        out
    }
}

impl Diagnostics {
    /// All diagnostics as one JSON object, one diagnostic per line, by file and position.
    pub fn to_json(&self, sources: &SourceMap) -> String {
        let mut out = String::from("{");
        pair(&mut out, "exit_code", |out| number(out, self.exit_code().into()));
        pair(&mut out, "errors", |out| number(out, self.errors() as u64));
        pair(&mut out, "warnings", |out| number(out, self.warnings() as u64));
        pair(&mut out, "diagnostics", |out| {
            list(out, &self.sorted(), |out, diagnostic| {
                out.push('\n');
                out.push_str(&diagnostic.to_json(sources));
            });
        });
        let more: Vec<_> = self.more().collect();
        pair(&mut out, "more", |out| {
            list(out, &more, |out, &(code, severity, count)| {
                out.push('{');
                pair(out, "code", |out| string(out, code.as_str()));
                pair(out, "severity", |out| string(out, &severity.to_string()));
                pair(out, "count", |out| number(out, count as u64));
                out.push('}');
            });
        });
        out.push_str("}\n");
        out
    }
}

fn location(out: &mut String, sources: &SourceMap, span: Option<Span>) {
    let found = span.and_then(|span| Some((sources.get(span.source)?, span)));
    pair(out, "file", |out| optional(out, found.map(|(source, _)| source.name())));
    let ends = found.map(|(source, span)| {
        let range = source.clamp(span);
        (source.position(range.start as u32), source.position(range.end as u32))
    });
    let keys = ["line", "column", "end_line", "end_column"];
    let values = ends.map(|(start, end)| [start.line, start.column, end.line, end.column]);
    for (index, key) in keys.into_iter().enumerate() {
        pair(out, key, |out| match values {
            Some(values) => number(out, values[index].into()),
            None => out.push_str("null"),
        });
    }
}

fn pair(out: &mut String, key: &str, value: impl FnOnce(&mut String)) {
    if !out.ends_with('{') {
        out.push(',');
    }
    string(out, key);
    out.push(':');
    value(out);
}

fn list<T>(out: &mut String, items: &[T], mut item: impl FnMut(&mut String, &T)) {
    out.push('[');
    for (index, one) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        item(out, one);
    }
    out.push(']');
}

fn optional(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => string(out, text),
        None => out.push_str("null"),
    }
}

fn number(out: &mut String, value: u64) {
    let _ = write!(out, "{value}");
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Beyond what JSON demands: some readers of lines break at these too.
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}
