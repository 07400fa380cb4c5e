//! `fluxline optimise`: the best values of parameters, as a study file asks.

use super::Console;
use super::study::{
    self, Found, Opened, Study, add_best_figures, at_bound, close, derivatives, derivatives_json,
    follow, shown, write_circuit, write_report,
};
use crate::args::Study as Args;
use crate::display::{Shown, columns, count, number};
use fluxline_diagnostics::Diagnostic;
use fluxline_optimise::Value;
use fluxline_optimise::nsga2::fronts;
use fluxline_plot::{Figure, Panel, Report, Series, SeriesStyle, Status, Table};
use fluxline_study::ensemble::{Ensemble, Wanted};
use fluxline_study::file::Kind;
use fluxline_study::search::{Goals, Runs, Slopes, Tried, optimise};
use fluxline_study::team::Helpers;
use serde_json::json;

pub(super) fn run(console: &Console, args: &Args) -> u8 {
    study::perform(console, args, |console| {
        let opened = study::open(console, args, Kind::Optimise, |_, _| Ok(Vec::new()))?;
        match Goals::of(&opened.study, &opened.session.plan().variables) {
            Ok(goals) => Ok(Optimisation { args, opened, goals }),
            Err(problems) => Err(console.reject(&problems, &opened.sources)),
        }
    })
}

struct Optimisation<'a> {
    args: &'a Args,
    opened: Opened,
    goals: Goals,
}

impl Study for Optimisation<'_> {
    fn opened(&self) -> &Opened {
        &self.opened
    }

    fn wanted(&self) -> Wanted {
        Wanted { metrics: self.goals.metrics.clone(), ..Wanted::default() }
    }

    fn perform(&self, console: &Console, ensemble: &Ensemble, helpers: Option<&dyn Helpers>) -> u8 {
        let Self { args, opened, goals } = self;
        search(args, opened, goals, ensemble, helpers)
            .and_then(|found| tell(console, args, opened, goals, found))
            .unwrap_or_else(|problem| console.fail(problem))
    }
}

fn search(
    args: &Args,
    opened: &Opened,
    goals: &Goals,
    ensemble: &Ensemble,
    helpers: Option<&dyn Helpers>,
) -> Result<Found, Diagnostic> {
    let units = goals.dimensions.iter().map(|one| one.si_symbol().into_owned());
    let metrics = goals.metrics.iter().cloned().zip(units).collect();
    let (journal, known) = study::journal(opened, args, metrics, "optimise")?;
    let study = &opened.study;
    let start = opened.space.encode(&opened.start);
    let mut optimiser = study
        .method
        .optimiser(&opened.space, &start, study.seed)
        .unwrap_or_else(|| unreachable!("the study file takes no method of least squares here"));
    let runs = Runs::new(ensemble, goals, study.evaluations, known, journal);
    let mut runs = runs.shared_with(helpers);
    let mut slopes = Slopes::default();
    let ended = follow(args, ensemble, &mut runs, |runs, watch| {
        optimise(runs, optimiser.as_mut(), &opened.space, &mut slopes, watch)
    });
    let mut found = close(args, ensemble.effort, runs, ended)?;
    found.slopes = slopes;
    found.ranks = helpers.map(|helpers| helpers.count() + 1);
    Ok(found)
}

/// The best compromises among all runs, by the first objective.
fn front<'f>(found: &'f Found, opened: &Opened) -> Vec<&'f Tried> {
    if !opened.study.method.method.is_pareto {
        return Vec::new();
    }
    let good: Vec<&Tried> = found.log.iter().filter(|one| one.value.is_feasible()).collect();
    let values: Vec<Value> = good.iter().map(|one| one.value.clone()).collect();
    let Some(first) = fronts(&values).into_iter().next() else { return Vec::new() };
    let mut front: Vec<&Tried> = first.into_iter().map(|i| good[i]).collect();
    front.sort_by(|a, b| a.value.objective().total_cmp(&b.value.objective()));
    front
}

fn tell(
    console: &Console,
    args: &Args,
    opened: &Opened,
    goals: &Goals,
    mut found: Found,
) -> Result<u8, Diagnostic> {
    let study = &opened.study;
    let front: Vec<Tried> = front(&found, opened).into_iter().cloned().collect();
    let best = found.best().cloned();
    if let (Some(path), Some(best)) = (&args.circuit, &best) {
        let name = args.file.file_name().unwrap_or_default().to_string_lossy();
        let comment = format!(
            "# Values by `fluxline optimise {name}`: objective {}.\n\n",
            number(best.value.objective())
        );
        write_circuit(opened, &best.variant, path, &comment)?;
        found.files.push(path.clone());
    }
    if let Some(path) = &args.report {
        let report = report(args, opened, goals, &found, &front);
        write_report(&report, path)?;
        found.files.push(path.clone());
    }
    if args.json {
        console.json(&to_json(args, opened, goals, &found, &front));
    } else {
        console.print(&to_text(console, args, opened, goals, &found, &front));
    }
    let is_good = best.is_some_and(|best| best.value.is_feasible());
    if !is_good && !args.json {
        let what = match study.constraints.is_empty() {
            true => "no run gave a value",
            false => "no run kept all constraints",
        };
        console.tell(&format!("{what}\n"));
    }
    Ok(u8::from(!is_good))
}

/// A metric and its value as people read it.
fn measured(goals: &Goals, index: usize, x: f64) -> String {
    let symbol = goals.dimensions[index].si_symbol();
    Shown::new(if symbol.is_empty() { "1" } else { &symbol }).text(x)
}

fn constraint_state(goals: &Goals, index: usize, x: f64) -> String {
    match x <= 0.0 {
        true => format!("kept, {} to spare", measured(goals, index, -x)),
        false => format!("violated by {}", measured(goals, index, x)),
    }
}

fn to_text(
    console: &Console,
    args: &Args,
    opened: &Opened,
    goals: &Goals,
    found: &Found,
    front: &[Tried],
) -> String {
    let study = &opened.study;
    let mut text = found.head(console, opened, args);
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<9} {value}\n"));
    if let (Some(best), Some(number_of)) = (found.best(), found.best)
        && !study.method.method.is_pareto
    {
        let objective = number(best.value.objective());
        let state = if best.value.is_feasible() { "" } else { ", but violates constraints" };
        line("best", format!("{objective} in run {}{state}", count(number_of as u64)));
    }
    if study.method.method.is_pareto {
        line("front", format!("{} best compromises", count(front.len() as u64)));
    }
    if found.slopes != Slopes::default() {
        line("slopes", derivatives(&found.slopes));
    }
    for path in &found.files {
        line("written", path.display().to_string());
    }
    if study.method.method.is_pareto {
        text.push('\n');
        text.push_str(&front_table(opened, goals, front));
        return text;
    }
    let Some(best) = found.best() else { return text };
    let mut rows = vec![["variable", "best", "from", "to", ""].map(str::to_owned).to_vec()];
    for (varied, &value) in study.variables.iter().zip(&best.variant) {
        rows.push(vec![
            varied.name.clone(),
            shown(varied, value),
            shown(varied, varied.values.decode(0.0)),
            shown(varied, varied.values.decode(1.0)),
            at_bound(varied, value).to_owned(),
        ]);
    }
    text.push('\n');
    text.push_str(&columns(&rows, &[true, false, false, false, true]));
    let Ok(metrics) = &best.outcome else { return text };
    let mut rows = vec![["metric", "value"].map(str::to_owned).to_vec()];
    for (i, &x) in metrics.iter().enumerate() {
        let row = match i.checked_sub(study.objectives.len()) {
            None => vec![study.objectives[i].metric.clone(), measured(goals, i, x)],
            Some(k) => vec![study.constraints[k].text.clone(), constraint_state(goals, i, x)],
        };
        rows.push(row);
    }
    text.push('\n');
    text.push_str(&columns(&rows, &[true, true]));
    text
}

/// Some compromises from end to end of the front.
fn front_table(opened: &Opened, goals: &Goals, front: &[Tried]) -> String {
    let study = &opened.study;
    let head: Vec<String> = study
        .objectives
        .iter()
        .map(|one| one.metric.clone())
        .chain(study.variables.iter().map(|one| one.name.clone()))
        .collect();
    let mut rows = vec![head];
    for one in spread(front, 9) {
        let Ok(metrics) = &one.outcome else { continue };
        let objectives = (0..study.objectives.len()).map(|i| measured(goals, i, metrics[i]));
        let variables = study.variables.iter().zip(&one.variant).map(|(v, &x)| shown(v, x));
        rows.push(objectives.chain(variables).collect());
    }
    let is_left = vec![false; rows[0].len()];
    columns(&rows, &is_left)
}

/// At most so many of a list, ends included.
fn spread<T>(all: &[T], most: usize) -> Vec<&T> {
    match all.len() <= most {
        true => all.iter().collect(),
        false => (0..most).map(|i| &all[i * (all.len() - 1) / (most - 1)]).collect(),
    }
}

fn to_json(
    args: &Args,
    opened: &Opened,
    goals: &Goals,
    found: &Found,
    front: &[Tried],
) -> serde_json::Value {
    let study = &opened.study;
    let tried = |one: &Tried| {
        let variables: serde_json::Map<_, _> = study
            .variables
            .iter()
            .zip(&one.variant)
            .map(|(varied, x)| (varied.name.clone(), json!(x)))
            .collect();
        let metrics: serde_json::Map<_, _> = goals
            .metrics
            .iter()
            .zip(one.outcome.iter().flatten())
            .map(|(name, x)| (name.clone(), json!(x)))
            .collect();
        json!({
            "objectives": one.value.objectives,
            "feasible": one.value.is_feasible(),
            "variables": variables,
            "metrics": metrics,
        })
    };
    json!({
        "file": args.file.display().to_string(),
        "circuit": study.circuit.display().to_string(),
        "method": study.method.method.name,
        "seed": study.seed,
        "runs": found.log.len(),
        "simulated": found.simulated,
        "ended": found.ended,
        "seconds": found.seconds,
        "runs_per_second": found.simulated as f64 / found.seconds.max(1e-9),
        "derivatives": (found.slopes != Slopes::default()).then(|| derivatives_json(&found.slopes)),
        "best_run": found.best,
        "best": found.best().map(tried),
        "front": front.iter().map(tried).collect::<Vec<_>>(),
        "files": found.files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
    })
}

fn report(args: &Args, opened: &Opened, goals: &Goals, found: &Found, front: &[Tried]) -> Report {
    let study = &opened.study;
    let title = match study.title.is_empty() {
        true => args.file.display().to_string(),
        false => study.title.clone(),
    };
    let mut report = Report::new(title)
        .fact("study", args.file.display().to_string())
        .fact("circuit", study.circuit.display().to_string())
        .fact("method", study.method.method.summary)
        .fact("seed", study.seed.to_string())
        .fact("Fluxline", env!("CARGO_PKG_VERSION"));
    let runs =
        format!("{} in {:.3} s, {}", count(found.log.len() as u64), found.seconds, found.ended);
    report = report.verdict("Runs", runs, Status::Info);
    for (kind, number, first) in fluxline_study::search::failures(&found.log) {
        let why = first.outcome.as_ref().err().map_or("", |reason| &reason.message);
        let word = kind.word().replace('_', " ");
        report = report.verdict("Failed", format!("{number} {word}: {why}"), Status::Warn);
    }
    let best = found.best();
    let status = match best.is_some_and(|best| best.value.is_feasible()) {
        true => Status::Ok,
        false => Status::Fail,
    };
    let objective = best.map_or("none".to_owned(), |best| number(best.value.objective()));
    report = report.verdict("Best objective", objective, status);
    if let Some(best) = best {
        let mut table = Table::new(["variable", "best", "from", "to", ""]);
        for (varied, &value) in study.variables.iter().zip(&best.variant) {
            table = table.row([
                varied.name.clone(),
                shown(varied, value),
                shown(varied, varied.values.decode(0.0)),
                shown(varied, varied.values.decode(1.0)),
                at_bound(varied, value).to_owned(),
            ]);
        }
        report = report.section("The best design").table(table.caption("Variables"));
        if let Ok(metrics) = &best.outcome {
            let mut table = Table::new(["metric", "value"]);
            for (i, &x) in metrics.iter().enumerate() {
                table = match i.checked_sub(study.objectives.len()) {
                    None => table.row([study.objectives[i].metric.clone(), measured(goals, i, x)]),
                    Some(k) => table
                        .row([study.constraints[k].text.clone(), constraint_state(goals, i, x)]),
                };
            }
            report = report.table(table.caption("Objectives and constraints"));
        }
        report = add_best_figures(report, opened, &best.variant);
    }
    if let [first, second, ..] = &goals.metrics[..]
        && !front.is_empty()
    {
        let unit = |i: usize| {
            let shown = Shown::new(&goals.dimensions[i].si_symbol());
            (shown.symbol().to_owned(), shown)
        };
        let ((x_unit, x), (y_unit, y)) = (unit(0), unit(1));
        let labelled = |name: &str, unit: &str| match unit.is_empty() {
            true => name.to_owned(),
            false => format!("{name} [{unit}]"),
        };
        let of = |one: &Tried, i: usize| one.outcome.as_ref().map_or(f64::NAN, |m| m[i]);
        let points = |all: &[Tried]| -> (Vec<f64>, Vec<f64>) {
            (
                all.iter().map(|one| x.of(of(one, 0))).collect(),
                all.iter().map(|one| y.of(of(one, 1))).collect(),
            )
        };
        let ((all_x, all_y), (front_x, front_y)) = (points(&found.log), points(front));
        let panel = Panel::new(labelled(second, &y_unit))
            .series(Series::new("all runs", all_x, all_y).style(SeriesStyle::Points))
            .series(Series::new("front", front_x, front_y).style(SeriesStyle::Marked));
        let figure = Figure::new("Best compromises", labelled(first, &x_unit)).panel(panel);
        report = report.section("Front").figure(figure);
    }
    report = report.section("How it was found");
    if front.is_empty() {
        report = report.figure(found.convergence());
    }
    report = report.figure(found.variables(study));
    let text = opened.sources.iter().next().map(|(_, source)| source.text().to_string());
    report.section("Study").preformatted(text.unwrap_or_default())
}
