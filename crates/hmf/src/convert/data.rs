//! What a model holds beyond its circuit, so that it is not lost.

use super::text::quoted;
use crate::model::{Model, System, join};
use fluxline_diagnostics::{SourceMap, Span};
use std::fmt::Write;

/// What has no counterpart, so that it is not lost.
pub(super) fn write(
    out: &mut String,
    model: &Model,
    sources: &SourceMap,
    skipped: &[(String, String, Span)],
    kept: &mut Vec<String>,
) {
    let _ = writeln!(out, "\n# What the model holds beyond the circuit; not looked at.");
    let _ = writeln!(out, "[data.hopsan]");
    let _ = writeln!(out, "format = {}", quoted(&model.format_version));
    let _ = writeln!(out, "core = {}", quoted(&model.core_version));
    let info = &model.info;
    for (name, text) in
        [("author", &info.author), ("email", &info.email), ("affiliation", &info.affiliation)]
    {
        if !text.trim().is_empty() {
            let _ = writeln!(out, "{name} = {}", quoted(text.trim()));
        }
    }
    for (name, typename, span) in skipped {
        let _ = writeln!(out, "\n[[data.hopsan.component]]");
        let _ = writeln!(out, "name = {}", quoted(name));
        let _ = writeln!(out, "type = {}", quoted(typename));
        let _ = writeln!(out, "xml = {}", quoted(sources.slice(*span)));
        kept.push(format!("`{name}` ({typename})"));
    }
    write_aliases(out, &model.root, "");
    for leftover in &model.leftovers {
        let _ = writeln!(out, "\n[[data.hopsan.element]]");
        if !leftover.system.is_empty() {
            let _ = writeln!(out, "system = {}", quoted(&leftover.system));
        }
        let _ = writeln!(out, "element = {}", quoted(&leftover.element));
        let texts: Vec<String> =
            leftover.spans.iter().map(|&span| quoted(sources.slice(span))).collect();
        let _ = writeln!(out, "xml = [{}]", texts.join(", "));
        let count = leftover.spans.len();
        let place = if leftover.system.is_empty() {
            String::new()
        } else {
            format!(" in `{}`", leftover.system)
        };
        kept.push(format!("{count} × {}{place}", leftover.element));
    }
}

/// Short names of variables, for whoever looks for them.
fn write_aliases(out: &mut String, system: &System, path: &str) {
    for alias in &system.aliases {
        let variable = join(path, &alias.component);
        let variable = format!("{variable}#{}#{}", alias.port, alias.variable);
        let _ = writeln!(out, "\n[[data.hopsan.alias]]");
        let _ = writeln!(out, "name = {}", quoted(&join(path, &alias.name)));
        let _ = writeln!(out, "variable = {}", quoted(&variable));
    }
    for nested in system.systems() {
        write_aliases(out, nested, &join(path, &nested.name));
    }
}
