//! Parameters from files of their own: `.hpf`, and lists of `name,value`.
//!
//! Both become [`Override`]s for [`evaluate`](crate::evaluate::evaluate), which finds what they name.

use crate::evaluate::Override;
use crate::xml::{self, Element};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap, Span};
use std::path::Path;

/// Systems within systems.
const MAX_NESTING: usize = 64;

/// Reads a `.hpf`. Components are meant by name and must have the type that the file says.
pub fn load_file(
    path: &Path,
    sources: &mut SourceMap,
    found: &mut Diagnostics,
) -> Option<Vec<Override>> {
    let bytes = found.take(xml::read_bytes(path))?;
    load_bytes(&path.display().to_string(), bytes, sources, found)
}

/// Reads a `.hpf` from bytes.
pub fn load_bytes(
    name: &str,
    bytes: Vec<u8>,
    sources: &mut SourceMap,
    found: &mut Diagnostics,
) -> Option<Vec<Override>> {
    let document = xml::parse(name, bytes, sources, found)?;
    let root = document.root();
    if root.name() != "hopsanparameterfile" {
        let message =
            format!("`{name}` is not a parameter file: its root element is `{}`", root.name());
        let error = Diagnostic::error(Code::NotAnImport, message);
        found.push(error.at(root.span(), "expected `<hopsanparameterfile>`"));
        return None;
    }
    let mut overrides = Vec::new();
    let Some(first) = root.children().find(|child| matches!(child.name(), "system" | "component"))
    else {
        let message = format!("`{name}` holds neither a system nor a component");
        found.push(
            Diagnostic::error(Code::NotAnImport, message).at(root.span(), "expected in here"),
        );
        return None;
    };
    // What is still to be read: the element, the path of the system around it, and the path of itself.
    let own = match first.name() {
        "system" => "self".to_owned(),
        _ => first.attribute("name").unwrap_or_default().to_owned(),
    };
    let mut waiting = vec![(first, String::new(), own, 0)];
    while let Some((element, around, own, depth)) = waiting.pop() {
        let attribute = |name| element.attribute(name).unwrap_or_default().to_owned();
        let expected = (attribute("typename"), attribute("subtypename"));
        for parameter in element.children_named("parameters").flat_map(Element::children) {
            let name = parameter.attribute("name").filter(|name| !name.is_empty());
            let (Some(parameter_name), Some(value)) = (name, parameter.attribute("value")) else {
                let message = "a parameter lacks its name or value and is ignored";
                found
                    .push(Diagnostic::warning(Code::IgnoredPart, message).at(parameter.span(), ""));
                continue;
            };
            overrides.push(Override {
                name: format!("{own}#{parameter_name}"),
                value: value.to_owned(),
                span: Some(parameter.attribute_span("value")),
                expected: Some(expected.clone()),
            });
        }
        if element.name() != "system" {
            continue;
        }
        if depth >= MAX_NESTING {
            let message = format!("systems are nested more than {MAX_NESTING} deep");
            let error = Diagnostic::error(Code::FileTooLarge, message);
            found.push(error.at(element.span(), "here the limit is passed"));
            continue;
        }
        let inside: Vec<Element<'_>> =
            element.children_named("objects").flat_map(Element::children).collect();
        // Backwards, because the last one put in comes out first.
        for part in inside.into_iter().rev() {
            let name = part.attribute("name").unwrap_or_default();
            let path = crate::model::join(&around, name);
            match part.name() {
                "component" => waiting.push((part, around.clone(), path, depth + 1)),
                "system" => waiting.push((part, path.clone(), format!("{path}$self"), depth + 1)),
                _ => {}
            }
        }
    }
    Some(overrides)
}

/// Reads a list: a line for each parameter, `Component#parameter,value`; lines that start with `#` are comments.
pub fn load_list(
    path: &Path,
    sources: &mut SourceMap,
    found: &mut Diagnostics,
) -> Option<Vec<Override>> {
    let bytes = found.take(xml::read_bytes(path))?;
    let name = path.display().to_string();
    let source = found.take(sources.add_bytes(name, bytes))?;
    let text = sources.get(source)?.text().clone();
    let mut overrides = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.trim_end().len();
        start += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let span = Span::new(source, range);
        match line.split_once(',').map(|(name, value)| (name.trim(), value.trim())) {
            Some((name, value)) if name.contains('#') && !value.is_empty() => {
                overrides.push(Override { span: Some(span), ..Override::new(name, value) });
            }
            _ => found.push(
                Diagnostic::error(
                    Code::BadImportedSetting,
                    "a line is not of the form `Component#parameter,value`",
                )
                .at(span, "this line")
                .help("comments start with `#`"),
            ),
        }
    }
    Some(overrides)
}
