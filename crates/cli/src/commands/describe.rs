//! `fluxline describe`: everything a component declares about itself.

use super::Console;
use crate::args::Describe;
use fluxline_core::component::Declared;
use fluxline_core::declare::{Causality, Declaration, Kind, Parameter, Port, Variable};
use fluxline_core::settings::{
    FluidSettings, LineDefaults, RecordSettings, RunSettings, SolverSettings,
};
use fluxline_diagnostics::{Code, Diagnostic};
use serde_json::{Value, json};

/// The tables of a circuit file that are declared like components.
const SETTINGS: [&Declaration; 5] = [
    RunSettings::DECLARATION,
    SolverSettings::DECLARATION,
    FluidSettings::DECLARATION,
    LineDefaults::DECLARATION,
    RecordSettings::DECLARATION,
];

pub(super) fn run(console: &Console, args: &Describe) -> u8 {
    let registry = crate::registry();
    let types = || registry.types().iter().map(|one| one.declaration);
    let Some(name) = &args.name else {
        // The types of imported models have a page of their own.
        let is_shown = |d: &&Declaration| args.json || d.domain_name() != "hopsan";
        let all: Vec<&Declaration> = types().filter(is_shown).chain(SETTINGS).collect();
        if args.json {
            console.json(&Value::from(all.iter().map(|d| to_json(d)).collect::<Vec<_>>()));
        } else if args.markdown {
            console.print(&reference(&all));
        } else {
            let texts: Vec<String> = all.iter().map(|d| to_text(d, console)).collect();
            console.print(&texts.join("\n\n"));
        }
        return 0;
    };
    let by_name = |d: &&Declaration| d.name == name;
    // A name of another tool finds its counterpart here.
    let by_alias = |d: &&Declaration| {
        d.aliases.iter().any(|alias| alias == name || alias.split(':').next_back() == Some(name))
    };
    let found = types().chain(SETTINGS).find(by_name).or_else(|| types().find(by_alias));
    let Some(declaration) = found else {
        let message = format!("there is no component type `{name}`");
        let problem = Diagnostic::error(Code::UnknownComponentType, message);
        let short = name.rsplit('.').next().unwrap_or(name);
        let names: Vec<&str> = types().chain(SETTINGS).map(|d| d.name).collect();
        let near = fluxline_diagnostics::nearest(name, names.iter().copied());
        let same_end = names.iter().filter(|n| n.rsplit('.').next() == Some(short)).copied();
        let all: Vec<&str> = same_end.chain(near).collect();
        let problem = match all.is_empty() {
            true => problem.help("`fluxline list` shows all component types"),
            false => {
                problem.help(format!("did you mean {}?", fluxline_diagnostics::list_names(all)))
            }
        };
        return console.fail(problem);
    };
    if args.json {
        console.json(&to_json(declaration));
    } else if args.markdown {
        console.print(&to_markdown(declaration, 1));
    } else {
        console.print(&to_text(declaration, console));
    }
    0
}

fn is_setting(declaration: &Declaration) -> bool {
    SETTINGS.iter().any(|one| one.name == declaration.name)
}

fn causality(causality: Causality) -> &'static str {
    match causality {
        Causality::C => "C: stores, gives pressure or force",
        Causality::Q => "Q: solves for flow or motion",
        Causality::S => "S: computes signals",
    }
}

/// What may be written for a parameter: default, range and choices.
fn values(parameter: &Parameter) -> String {
    let mut parts = Vec::new();
    match parameter.default {
        Some(default) => parts.push(format!("default {default}")),
        None if parameter.required() => parts.push("required".to_owned()),
        None => parts.push("optional".to_owned()),
    }
    let open = |text: &str, sign: char| text.strip_prefix(sign).map(|t| t.trim().to_owned());
    let min = parameter.min.map(|text| match open(text, '>') {
        Some(bound) => format!("more than {bound}"),
        None => format!("{text} or more"),
    });
    let max = parameter.max.map(|text| match open(text, '<') {
        Some(bound) => format!("less than {bound}"),
        None => format!("{text} at most"),
    });
    match (parameter.min, parameter.max) {
        (Some(low), Some(high)) if !low.starts_with('>') && !high.starts_with('<') => {
            parts.push(format!("{low} to {high}"));
        }
        _ => parts.extend(min.into_iter().chain(max)),
    }
    match parameter.kind {
        Kind::Choice(words) => parts.push(format!("one of {}", words.join(", "))),
        Kind::Integer => parts.push("whole number".to_owned()),
        Kind::Switch => parts.push("true or false".to_owned()),
        Kind::Text => parts.push("text".to_owned()),
        Kind::List => parts.push("list of numbers".to_owned()),
        Kind::Table => parts.push("table or CSV file".to_owned()),
        Kind::Quantity | Kind::OptionalQuantity => {}
    }
    if parameter.input.is_some() {
        parts.push("a signal may drive it".to_owned());
    }
    parts.join(", ")
}

fn is_plain(symbol: &str) -> bool {
    matches!(symbol, "" | "–" | "-" | "1")
}

fn port_notes(port: &Port) -> String {
    let mut notes = vec![port.domain.name()];
    notes.extend(port.many.then_some("any number of connections"));
    notes.extend(port.optional.then_some("may stay open"));
    notes.extend(port.observes.then_some("only measures"));
    notes.join(", ")
}

/// Aligned rows: all cells but the last are padded. Where that is too wide, the last cell stands on
/// a line of its own.
fn columns(rows: &[Vec<String>], most: usize) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let is_wide = widths.iter().map(|width| width + 2).sum::<usize>() > most && count > 2;
    let aligned = if is_wide { count - 1 } else { count };
    let mut out = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths).take(aligned) {
            line.push_str(&format!(" {cell:<width$} "));
        }
        out.push_str(line.trim_end());
        out.push('\n');
        for rest in row[aligned..].iter().filter(|rest| !rest.is_empty()) {
            out.push_str(&format!("      {rest}\n"));
        }
    }
    out
}

/// The first sentence of the documentation, on one line.
pub(super) fn summary(declaration: &Declaration) -> String {
    let first = declaration.doc.trim().split("\n\n").next().unwrap_or("");
    let text = first.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let end = text.find(". ").map_or(text.len(), |end| end + 1);
    text[..end].to_owned()
}

fn to_text(declaration: &Declaration, console: &Console) -> String {
    let mut out = format!("{}\n\n", console.strong(declaration.name));
    for line in declaration.doc.trim().lines() {
        out.push_str(&format!("{}\n", line.trim_end()));
    }
    let mut section = |heading: &str, rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            out.push_str(&format!(
                "\n{}\n{}",
                console.strong(heading),
                columns(&rows, console.width)
            ));
        }
    };
    let ports = declaration.ports.iter();
    section(
        "Ports",
        ports.map(|p| vec![p.name.to_owned(), p.meaning.to_owned(), port_notes(p)]).collect(),
    );
    let symbol = |text: &str| if is_plain(text) { String::new() } else { text.to_owned() };
    let unit = |text: &str| if is_plain(text) { String::new() } else { format!("[{text}]") };
    let parameters = declaration.parameters.iter().map(|p| {
        vec![p.name.to_owned(), symbol(p.symbol), p.meaning.to_owned(), unit(p.unit), values(p)]
    });
    let heading = if is_setting(declaration) { "Settings" } else { "Parameters" };
    section(heading, parameters.collect());
    for (heading, variables) in [
        ("States", declaration.states),
        ("Outputs", declaration.outputs),
        ("Memory", declaration.memory),
    ] {
        let rows = variables
            .iter()
            .map(|v| vec![v.name.to_owned(), symbol(v.symbol), v.meaning.to_owned(), unit(v.unit)]);
        section(heading, rows.collect());
    }
    let mut domains: Vec<_> = declaration.ports.iter().map(|p| p.domain).collect();
    domains.dedup();
    if !domains.is_empty() {
        let rows = domains.iter().map(|domain| {
            let names: Vec<&str> = domain.variables().iter().map(|v| v.name).collect();
            vec![domain.name().to_owned(), names.join(", "), domain.sign_rule().to_owned()]
        });
        section("Variables at ports", rows.collect());
    }
    if !is_setting(declaration) {
        let mut rows =
            vec![vec!["part in a step".to_owned(), causality(declaration.causality).to_owned()]];
        if !declaration.aliases.is_empty() {
            rows.push(vec!["also known as".to_owned(), declaration.aliases.join(", ")]);
        }
        section("Other", rows);
    }
    out
}

/// The component reference of the book: all types by domain, then the settings.
fn reference(all: &[&Declaration]) -> String {
    let mut out = String::from("# Component reference\n");
    let mut domain = "";
    for declaration in all {
        let heading = if is_setting(declaration) { "settings" } else { declaration.domain_name() };
        if heading != domain {
            domain = heading;
            let mut letters = domain.chars();
            let title: String =
                letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect());
            out.push_str(&format!("\n## {title}\n"));
        }
        out.push('\n');
        out.push_str(&to_markdown(declaration, 3));
    }
    out
}

fn to_markdown(declaration: &Declaration, level: usize) -> String {
    let marks = "#".repeat(level);
    let mut out = format!("{marks} `{}`\n\n", declaration.name);
    out.push_str(&paragraphs(declaration.doc));
    let mut table = |heading: &str, columns: &[&str], rows: Vec<Vec<String>>| {
        if rows.is_empty() {
            return;
        }
        out.push_str(&format!("\n**{heading}**\n\n| {} |\n", columns.join(" | ")));
        out.push_str(&format!("|{}\n", "---|".repeat(columns.len())));
        for row in rows {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    };
    let code = |text: &str| format!("`{text}`");
    let symbol = |text: &str| if is_plain(text) { String::new() } else { text.to_owned() };
    table(
        "Ports",
        &["port", "meaning", "domain"],
        declaration
            .ports
            .iter()
            .map(|p| vec![code(p.name), p.meaning.to_owned(), port_notes(p)])
            .collect(),
    );
    table(
        if is_setting(declaration) { "Settings" } else { "Parameters" },
        &["name", "symbol", "meaning", "unit", "values"],
        declaration
            .parameters
            .iter()
            .map(|p| {
                vec![
                    code(p.name),
                    symbol(p.symbol),
                    p.meaning.to_owned(),
                    symbol(p.unit),
                    values(p),
                ]
            })
            .collect(),
    );
    let variable =
        |v: &Variable| vec![code(v.name), symbol(v.symbol), v.meaning.to_owned(), symbol(v.unit)];
    for (heading, variables) in [("States", declaration.states), ("Outputs", declaration.outputs)] {
        table(
            heading,
            &["name", "symbol", "meaning", "unit"],
            variables.iter().map(variable).collect(),
        );
    }
    if !declaration.aliases.is_empty() {
        let names: Vec<String> = declaration.aliases.iter().map(|alias| code(alias)).collect();
        out.push_str(&format!("\nAlso known as: {}.\n", names.join(", ")));
    }
    out
}

/// A documentation comment as Markdown: a paragraph without a full stop is an equation and keeps
/// its lines.
fn paragraphs(doc: &str) -> String {
    let mut out = String::new();
    for paragraph in doc.trim().split("\n\n") {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
        let is_equation = lines.iter().all(|line| line.contains(['=', '≤', '≥', '→']))
            && !lines.last().is_some_and(|line| line.ends_with('.'));
        if !out.is_empty() {
            out.push('\n');
        }
        if is_equation {
            out.push_str(&format!("```text\n{}\n```\n", lines.join("\n")));
        } else {
            out.push_str(&format!("{}\n", lines.join("\n")));
        }
    }
    out
}

fn to_json(declaration: &Declaration) -> Value {
    let variable = |v: &Variable| json!({ "name": v.name, "symbol": v.symbol, "meaning": v.meaning, "unit": v.unit, "start": v.start, "aliases": v.aliases });
    let variables = |all: &[Variable]| all.iter().map(variable).collect::<Vec<_>>();
    let port = |p: &Port| {
        let at: Vec<Value> = p
            .domain
            .variables()
            .iter()
            .map(|v| json!({ "name": v.name, "unit": v.unit }))
            .collect();
        json!({
            "name": p.name,
            "meaning": p.meaning,
            "domain": p.domain.name(),
            "many": p.many,
            "optional": p.optional,
            "observes": p.observes,
            "aliases": p.aliases,
            "variables": at,
        })
    };
    let parameter = |p: &Parameter| {
        let (kind, choices) = match p.kind {
            Kind::Quantity => ("quantity", None),
            Kind::OptionalQuantity => ("optional_quantity", None),
            Kind::Integer => ("integer", None),
            Kind::Switch => ("switch", None),
            Kind::Choice(words) => ("choice", Some(words)),
            Kind::Text => ("text", None),
            Kind::List => ("list", None),
            Kind::Table => ("table", None),
        };
        json!({
            "name": p.name,
            "symbol": p.symbol,
            "meaning": p.meaning,
            "unit": p.unit,
            "kind": kind,
            "choices": choices,
            "default": p.default,
            "min": p.min,
            "max": p.max,
            "required": p.required(),
            "input": p.input.is_some(),
            "aliases": p.aliases,
        })
    };
    json!({
        "name": declaration.name,
        "domain": declaration.domain_name(),
        "summary": summary(declaration),
        "doc": declaration.doc,
        "causality": if is_setting(declaration) { Value::Null } else { json!(format!("{:?}", declaration.causality)) },
        "aliases": declaration.aliases,
        "ports": declaration.ports.iter().map(port).collect::<Vec<_>>(),
        "parameters": declaration.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "states": variables(declaration.states),
        "outputs": variables(declaration.outputs),
        "memory": variables(declaration.memory),
    })
}
