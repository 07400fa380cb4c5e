//! `fluxline plot`.

use super::Console;
use super::run::image_format;
use crate::args::Plot;
use crate::figures::{Curve, figure};
use fluxline_core::circuit::{Pattern, Registry};
use fluxline_core::domain::Domain;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use fluxline_formats::results::{OutputFile, ResultTable, read_csv, write_problem};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) fn run(console: &Console, args: &Plot) -> u8 {
    match draw(args) {
        Ok(text) => {
            console.print(&text);
            0
        }
        Err(problems) => console.report(&problems, &SourceMap::new()),
    }
}

fn draw(args: &Plot) -> Result<String, Diagnostics> {
    let output = args.output.clone().unwrap_or_else(|| default_output(&args.result));
    let is_png = image_format(&output)?;
    let table = read_csv(&args.result)?;
    let chosen = choose(&table, &args.variables)?;
    let registry = crate::registry();
    let curves = chosen
        .into_iter()
        .map(|index| Curve {
            name: table.names[index].clone(),
            unit: unit_of(&table.names[index], &registry).unwrap_or_default().to_owned(),
            values: table.columns[index].clone(),
        })
        .collect();
    let stem = args.result.file_stem().unwrap_or_default().to_string_lossy();
    let title = args.title.as_deref().unwrap_or(&stem);
    let (figure, left_out) = figure(title, table.columns[table.time].clone(), curves);
    let natural = figure.natural_size();
    let (width, height) = (args.width.unwrap_or(natural.0), args.height.unwrap_or(natural.1));
    let image = if is_png {
        figure.to_png(width, height, 2.0).map_err(io::Error::other)
    } else {
        Ok(figure.to_svg(width, height).into_bytes())
    };
    image
        .and_then(|image| {
            let mut file = OutputFile::create(&output)?;
            file.write_all(&image)?;
            file.finish()
        })
        .map_err(|error| write_problem(&output, &error))?;
    let more =
        if left_out > 0 { format!(" ({left_out} variables left out)") } else { String::new() };
    Ok(format!("wrote {}{more}\n", output.display()))
}

fn default_output(result: &Path) -> PathBuf {
    result.with_extension("svg")
}

/// Columns that the names and patterns ask for.
pub(super) fn choose(table: &ResultTable, wanted: &[String]) -> Result<Vec<usize>, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut chosen: Vec<usize> = Vec::new();
    for text in wanted {
        let pattern = Pattern::new(text);
        let all = 0..table.names.len();
        let hits = all.filter(|&i| i != table.time && pattern.matches(&table.names[i]));
        let new: Vec<usize> = hits.collect();
        if new.is_empty() {
            let names = (0..table.names.len())
                .filter(|&i| i != table.time)
                .map(|i| table.names[i].as_str());
            let problem = Diagnostic::error(
                Code::UnknownVariable,
                format!("the results hold no variable `{text}`"),
            );
            problems.push(suggest(problem, text, names.collect()));
        }
        chosen.extend(new.into_iter().filter(|i| !chosen.contains(i)).collect::<Vec<_>>());
    }
    problems.into_result(chosen)
}

/// Near names; those of the same component where the whole is too far off.
fn suggest(problem: Diagnostic, text: &str, names: Vec<&str>) -> Diagnostic {
    let near = fluxline_diagnostics::nearest(text, names.iter().copied());
    let component = text.split('.').next().unwrap_or(text);
    let same: Vec<&str> = names
        .iter()
        .filter(|name| name.split('.').next() == Some(component))
        .take(12)
        .copied()
        .collect();
    match (near.is_empty(), same.is_empty()) {
        (true, false) => {
            problem.help(format!("recorded of it: {}", fluxline_diagnostics::list_names(same)))
        }
        _ => problem.suggest(text, names),
    }
}

/// The SI unit of a variable of a result file, by the last part of its name; `None` where types
/// differ on it.
pub(super) fn unit_of(name: &str, registry: &Registry) -> Option<&'static str> {
    let (owner, last) = name.rsplit_once('.')?;
    if owner.contains('.') {
        let at_ports = Domain::ALL.iter().flat_map(|domain| domain.variables());
        let mut units = at_ports
            .filter(|v| v.name == last && v.name != "wave" && v.name != "impedance")
            .map(|v| v.unit);
        if let Some(unit) = units.next() {
            return Some(unit);
        }
    }
    let mut found = None;
    for declaration in registry.types().iter().map(|one| one.declaration) {
        let variables =
            declaration.states.iter().chain(declaration.outputs).chain(declaration.memory);
        let inputs = declaration.inputs().map(|(_, p)| (p.name, p.unit));
        let named = variables.map(|v| (v.name, v.unit)).chain(inputs).filter(|(n, _)| *n == last);
        for (_, unit) in named {
            if found.is_some_and(|other| other != unit) {
                return None;
            }
            found = Some(unit);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_from_names() {
        let registry = crate::registry();
        assert_eq!(unit_of("pump.outlet.pressure", &registry), Some("Pa"));
        assert_eq!(unit_of("boom.cylinder.rod.position", &registry), Some("m"));
        assert!(unit_of("mass.stopped", &registry).is_some());
        assert_eq!(unit_of("speed", &registry), None);
        assert_eq!(unit_of("pump.outlet.wave", &registry), None);
    }
}
