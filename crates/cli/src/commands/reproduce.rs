//! `fluxline reproduce`.

use super::Console;
use crate::args::Reproduce;
use crate::display::rounded;
use crate::reproduce::{Band, CASES, Case, Extent, Figure};
use fluxline_diagnostics::{Code, Diagnostic, SourceMap};
use serde_json::{Value, json};

pub(super) fn run(console: &Console, args: &Reproduce) -> u8 {
    let name = match &args.case {
        Some(name) if !args.list => name,
        _ => return list(console, args.json),
    };
    let Some(case) = CASES.iter().find(|case| case.name == name) else {
        let message = format!("there is no published case `{name}`");
        let problem = Diagnostic::error(Code::UnknownCase, message);
        return console.fail(problem.suggest(name, CASES.iter().map(|case| case.name)));
    };
    let registry = crate::registry();
    let extent = Extent { registry: &registry, is_whole: !args.brief, seeds: args.seeds };
    let figures = match (case.run)(&extent) {
        Ok(figures) => figures,
        Err(problems) => return console.report(&problems, &SourceMap::new()),
    };
    if args.json {
        console.json(&to_json(case, &figures));
    } else {
        console.print(&to_text(case, &figures, console));
    }
    u8::from(!figures.iter().all(Figure::agrees))
}

fn list(console: &Console, as_json: bool) -> u8 {
    if as_json {
        let entry =
            |case: &Case| json!({ "name": case.name, "title": case.title, "source": case.source });
        console.json(&Value::from(CASES.iter().map(entry).collect::<Vec<_>>()));
        return 0;
    }
    let width = CASES.iter().map(|case| case.name.len()).max().unwrap_or(0);
    let line = |case: &Case| {
        format!("{:<width$}  {}\n{:width$}  {}\n", case.name, case.title, "", case.source)
    };
    console.print(&CASES.iter().map(line).collect::<String>());
    0
}

fn to_text(case: &Case, figures: &[Figure], console: &Console) -> String {
    let mut out = format!("{}\n{}\n\n", console.strong(case.title), case.source);
    let mut rows = vec![["", "reference", "Fluxline", "unit", "band", "", ""].map(str::to_owned)];
    for figure in figures {
        rows.push([
            figure.quantity.clone(),
            figure.reference.map_or("–".to_owned(), |value| rounded(value, 7)),
            rounded(figure.ours, 7),
            figure.unit.to_owned(),
            figure.band.to_string(),
            verdict(figure).to_owned(),
            format!("({})", figure.origin),
        ]);
    }
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    for [quantity, reference, ours, unit, band, verdict, origin] in &rows {
        let line = format!(
            "  {quantity:<0$}  {reference:>1$}  {ours:>2$}  {unit:<3$}  {band:>4$}  {verdict:<5$}  {origin}",
            widths[0], widths[1], widths[2], widths[3], widths[4], widths[5]
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    let judged = figures.iter().filter(|figure| figure.band != Band::Any).count();
    let outside = figures.iter().filter(|figure| !figure.agrees()).count();
    out.push_str(&match outside {
        0 if judged == figures.len() => format!("\nall {judged} figures agree\n"),
        0 => format!("\nall {judged} figures that have a band agree\n"),
        _ => format!("\n{outside} of {} figures lie outside their band\n", figures.len()),
    });
    out
}

/// What is said of a figure: one without a band is only shown.
fn verdict(figure: &Figure) -> &'static str {
    match (figure.agrees(), figure.band) {
        (false, _) => "DIFFERS",
        (true, Band::Any) => "shown",
        (true, _) => "agrees",
    }
}

fn to_json(case: &Case, figures: &[Figure]) -> Value {
    let entry = |figure: &Figure| {
        json!({
            "quantity": figure.quantity,
            "reference": figure.reference,
            "origin": figure.origin.to_string(),
            "ours": figure.ours,
            "unit": figure.unit,
            "band": figure.band.to_string(),
            "agrees": figure.agrees(),
        })
    };
    json!({
        "name": case.name,
        "title": case.title,
        "source": case.source,
        "agrees": figures.iter().all(Figure::agrees),
        "figures": figures.iter().map(entry).collect::<Vec<_>>(),
    })
}
