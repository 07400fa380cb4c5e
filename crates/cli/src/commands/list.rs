//! `fluxline list`.

use super::Console;
use super::describe::summary;
use crate::args::List;
use fluxline_core::declare::Declaration;
use serde_json::{Value, json};

pub(super) fn run(console: &Console, args: &List) -> u8 {
    let registry = crate::registry();
    let word = args.word.as_deref().unwrap_or("").to_lowercase();
    let fits = |declaration: &Declaration| {
        let texts = [declaration.name, &summary(declaration)];
        texts.iter().chain(declaration.aliases).any(|text| text.to_lowercase().contains(&word))
    };
    // The types of imported models are many, and nobody builds with them.
    let is_shown = |declaration: &Declaration| {
        args.json || !word.is_empty() || declaration.domain_name() != "hopsan"
    };
    let mut found: Vec<&Declaration> = registry
        .types()
        .iter()
        .map(|one| one.declaration)
        .filter(|d| fits(d) && is_shown(d))
        .collect();
    // Domains in the order of the library, names in that of the alphabet.
    let order = |name: &str| {
        let first = registry.types().iter().position(|t| t.declaration.domain_name() == name);
        first.unwrap_or(usize::MAX)
    };
    found.sort_by_key(|d| (order(d.domain_name()), d.name));
    if args.json {
        console.json(&Value::from(found.iter().map(|d| entry(d)).collect::<Vec<_>>()));
        return 0;
    }
    if found.is_empty() {
        console.tell(&format!(
            "no component type has \"{word}\" in its name or description; `fluxline list` shows all\n"
        ));
        return 2;
    }
    let width = found.iter().map(|d| d.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    let mut domain = "";
    for declaration in &found {
        if declaration.domain_name() != domain {
            if !domain.is_empty() {
                out.push('\n');
            }
            domain = declaration.domain_name();
            out.push_str(&format!("{}\n", console.strong(domain)));
        }
        out.push_str(&format!("  {:<width$}  {}\n", declaration.name, summary(declaration)));
    }
    if word.is_empty() {
        let imported = registry.types().iter();
        let count = imported.filter(|t| t.declaration.domain_name() == "hopsan").count();
        out.push_str(&format!(
            "\n{}\n  {count} types for models that come from Hopsan: `fluxline list hopsan`\n",
            console.strong("hopsan")
        ));
    }
    console.print(&out);
    0
}

fn entry(declaration: &Declaration) -> Value {
    json!({
        "name": declaration.name,
        "domain": declaration.domain_name(),
        "summary": summary(declaration),
        "aliases": declaration.aliases,
    })
}
