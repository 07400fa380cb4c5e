//! `fluxline compare-solvers`.

use super::{Console, draw, parse_time};
use crate::args::CompareSolvers;
use crate::display::{Shown, columns, count, quantity, rounded, time};
use crate::session::Failure;
use crate::work_precision::{
    Candidate, Compared, Comparison, Fineness, Request, Row, compare, is_adaptive, opener,
    parse_small_volumes, parse_solver,
};
use fluxline_core::settings::{SmallVolumeKind, SolverKind};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use fluxline_formats::Override;
use fluxline_formats::results::{OutputFile, write_problem};
use fluxline_plot::{Figure, Panel, Series, SeriesStyle};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

/// With more variables, errors of each are left to the files.
const MOST_TABLES: usize = 4;
/// A plot cannot show an error of zero.
const LEAST_DRAWN: f64 = 1e-16;

pub(super) fn run(console: &Console, args: &CompareSolvers) -> u8 {
    match compared(console, args) {
        Ok(code) => code,
        Err(failure) => console.refuse(&failure),
    }
}

fn compared(console: &Console, args: &CompareSolvers) -> Result<u8, Failure> {
    let request = request(args).map_err(without_file)?;
    let images = args.plot.as_deref().map(super::run::image_format).transpose();
    images.map_err(|problem| without_file(problem.into()))?;
    let stop = args.stop.as_ref().map(|stop| Override::new("run.stop", stop));
    let set = args.set.iter().map(|text| Override::parse(text));
    let overrides: Vec<Override> = stop.into_iter().chain(set).collect();
    let open = opener(&args.file, &overrides);
    let is_followed = io::stderr().is_terminal() && !args.json;
    let comparison = compare(&open, &request, &mut |candidate| {
        if is_followed {
            // Each takes the line of the one before.
            console.tell(&format!("\r\x1b[K{} …", candidate.in_words()));
        }
    });
    if is_followed {
        console.tell("\r\x1b[K");
    }
    let comparison = comparison?;
    let mut problems = Diagnostics::new();
    if let Some(path) = &args.plot {
        problems.extend(draw(&figure(&comparison), path).err());
    }
    if let Some(path) = &args.csv {
        problems.extend(write_csv(&comparison, path).map_err(|e| write_problem(path, &e)).err());
    }
    match args.json {
        true => console.json(&in_json(args, &comparison)),
        false => {
            let mut text = in_words(console, &comparison);
            for path in args.plot.iter().chain(&args.csv).filter(|_| problems.is_empty()) {
                text.push_str(&format!("\nwrote {}", path.display()));
            }
            if (args.plot.is_some() || args.csv.is_some()) && problems.is_empty() {
                text.push('\n');
            }
            console.print(&text);
        }
    }
    let code = console.report(&problems, &SourceMap::new());
    // A solver that fails is a result; where all fail there is none.
    let is_any_done = comparison.rows.iter().any(|row| row.failure.is_none());
    Ok(code.max(u8::from(!is_any_done)))
}

fn without_file(problems: Diagnostics) -> Failure {
    Failure { problems, sources: SourceMap::new() }
}

// ---- What is asked for --------------------------------------------------------------------------

fn request(args: &CompareSolvers) -> Result<Request, Diagnostics> {
    let mut problems = Diagnostics::new();
    let solvers: Vec<SolverKind> =
        listed(&args.solvers).filter_map(|text| problems.take(parse_solver(text))).collect();
    let steps: Vec<f64> = listed(&args.steps)
        .filter_map(|text| problems.take(positive_time("--steps", text)))
        .collect();
    let tolerances: Vec<f64> =
        listed(&args.tolerances).filter_map(|text| problems.take(tolerance(text))).collect();
    let small_volumes: Vec<SmallVolumeKind> = listed(&args.small_volumes)
        .filter_map(|text| problems.take(parse_small_volumes(text)))
        .collect();
    let reference = args.reference.as_deref().map(|text| candidate("--reference", text));
    let reference = reference.and_then(|result| problems.take(result));
    let baseline = args.baseline.as_deref().map(|text| candidate("--baseline", text));
    let baseline = baseline.and_then(|result| problems.take(result));
    let patience = problems.take(positive_time("--patience", &args.patience));
    problems.into_result(Request {
        solvers,
        small_volumes,
        steps,
        tolerances,
        reference,
        baseline,
        variables: args.variables.clone(),
        patience: patience.map(|seconds| Duration::from_secs_f64(seconds.min(1e9))),
    })
}

/// The parts between commas.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn positive_time(option: &str, text: &str) -> Result<f64, Diagnostic> {
    let seconds = parse_time(option, text)?;
    if seconds > 0.0 {
        return Ok(seconds);
    }
    let message = format!("`{option}` must be above zero, but is {text}");
    Err(Diagnostic::error(Code::OutOfRange, message).help("give a time such as \"0.1 ms\""))
}

fn tolerance(text: &str) -> Result<f64, Diagnostic> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 0.1 => Ok(value),
        _ => {
            let message = format!("`{text}` is no tolerance: a number above 0, up to 0.1");
            Err(Diagnostic::error(Code::OutOfRange, message).help("give one such as 1e-5"))
        }
    }
}

/// `rk4@1 us`, `rosenbrock@1e-9`, `rk4+advpds@0.1 ms`.
fn candidate(option: &str, text: &str) -> Result<Candidate, Diagnostic> {
    let (name, fineness) = match text.split_once('@') {
        Some((name, fineness)) => (name, Some(fineness.trim())),
        None => (text, None),
    };
    let (name, small_volumes) = match name.split_once('+') {
        Some((name, small)) => (name, parse_small_volumes(small)?),
        None => (name, SmallVolumeKind::Integrate),
    };
    let solver = parse_solver(name)?;
    let fineness = match (is_adaptive(solver), fineness) {
        (true, None) => Fineness::Tolerance(1e-10),
        (true, Some(text)) => Fineness::Tolerance(tolerance(text)?),
        (false, Some(text)) => Fineness::Step(positive_time(option, text)?),
        (false, None) => {
            let message = format!("`{option} {text}` has no step");
            return Err(Diagnostic::error(Code::OutOfRange, message)
                .help(format!("say how finely it works: {option} \"{text}@1 us\"")));
        }
    };
    Ok(Candidate { solver, small_volumes, fineness })
}

// ---- Text ---------------------------------------------------------------------------------------

/// A share of the range.
fn share(x: Option<f64>) -> String {
    match x {
        Some(x) if x == 0.0 || x >= 1e-3 => format!("{} %", rounded(100.0 * x, 3)),
        Some(x) => format!("{x:.1e}"),
        None => String::new(),
    }
}

fn seconds(x: f64) -> String {
    let (value, unit) = if x < 1.0 { (1e3 * x, "ms") } else { (x, "s") };
    format!("{} {unit}", rounded(value, 3))
}

fn in_words(console: &Console, comparison: &Comparison) -> String {
    let mut text = console.strong(&format!("{}: solvers compared", comparison.title));
    text.push('\n');
    let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:<17} {value}\n"));
    line(
        "samples",
        &format!("{}, one each {}", count(comparison.samples as u64), time(comparison.interval)),
    );
    line("reference", &comparison.reference.in_words());
    if let Some(check) = &comparison.check {
        let listed: Vec<String> = comparison
            .variables
            .iter()
            .filter(|variable| variable.known_to != Some(0.0))
            .take(MOST_TABLES)
            .map(|variable| {
                let known = variable.known_to.unwrap_or(f64::NAN);
                format!("{} to {}", variable.name, quantity(known, variable.unit))
            })
            .collect();
        let worst = comparison
            .uncertainty()
            .map_or(String::new(), |x| format!("; {} of the range at worst", share(Some(x))));
        line("known", &format!("{}{worst}", listed.join(", ")));
        line("", &format!("by the largest difference from {}", check.in_words()));
    }
    for note in &comparison.notes {
        line("note", note);
    }
    if let Some(baseline) = &comparison.baseline {
        line("speed-up over", &baseline.in_words());
    }
    text.push_str(&work_table(comparison));
    let failed: Vec<String> = comparison
        .rows
        .iter()
        .filter_map(|row| {
            Some(format!("  {}: {}\n", row.candidate.in_words(), row.failure.as_ref()?))
        })
        .collect();
    if !failed.is_empty() {
        text.push_str(&format!("\n  failed\n{}", failed.concat()));
    }
    // What is given has no error, whoever computes it.
    let differs = |index: &usize| {
        comparison
            .rows
            .iter()
            .any(|row| row.deviations.get(*index).is_some_and(|d| d.largest > 0.0))
    };
    let (shown, same): (Vec<usize>, Vec<usize>) =
        (0..comparison.variables.len()).partition(differs);
    for &index in shown.iter().take(MOST_TABLES) {
        text.push_str(&error_table(comparison, index, &comparison.variables[index]));
    }
    if !same.is_empty() && comparison.rows.iter().any(|row| row.failure.is_none()) {
        let names = same.iter().map(|&index| comparison.variables[index].name.as_str());
        let names = fluxline_diagnostics::list_names(names);
        text.push_str(&format!("\n  the same in all runs: {names}\n"));
    }
    let more = shown.len().saturating_sub(MOST_TABLES);
    if more > 0 {
        text.push_str(&format!("\n  errors of {more} more variables: --csv, --json\n"));
    }
    text
}

fn work_table(comparison: &Comparison) -> String {
    let header = [
        "solver",
        "step or tol.",
        "RMSE/range",
        "largest/range",
        "time",
        "speed-up",
        "steps",
        "evaluations",
        "Jacobians",
    ];
    let names_worst = comparison.variables.len() > 1;
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    if names_worst {
        rows[0].push("worst".to_owned());
    }
    for row in &comparison.rows {
        let mut cells = vec![row.candidate.name(), row.candidate.fineness()];
        if row.failure.is_some() {
            cells.push("failed".to_owned());
            rows.push(cells);
            continue;
        }
        let work = row.effort.as_ref().map(|effort| effort.work);
        cells.extend([
            share(row.relative_rmse),
            share(row.relative_largest),
            seconds(row.seconds),
            row.speed_up.map_or(String::new(), |x| rounded(x, 3)),
            count(row.steps),
            work.map_or("–".to_owned(), |work| count(work.evaluations)),
            work.map_or("–".to_owned(), |work| count(work.jacobians)),
        ]);
        if let Some(worst) = row.worst.filter(|_| names_worst) {
            cells.push(comparison.variables[worst].name.clone());
        }
        rows.push(cells);
    }
    let left = [true, false, false, false, false, false, false, false, false, true];
    let mut text = format!("\n{}", columns(&rows, &left));
    let idle: Vec<String> = comparison
        .rows
        .iter()
        .filter(|row| row.candidate.small_volumes != SmallVolumeKind::Integrate)
        .filter(|row| row.failure.is_none() && row.small.is_empty())
        .map(|row| row.candidate.in_words())
        .collect();
    if !idle.is_empty() {
        text.push_str(&format!(
            "\n  no volume was replaced by {}: none is small against the step\n  \
             name them: --set \"solver.small=NAME\"; `fluxline stiffness` finds them\n",
            idle.join(", ")
        ));
    }
    text
}

fn error_table(comparison: &Comparison, index: usize, variable: &Compared) -> String {
    let shown = Shown::new(variable.unit);
    let unit = match shown.symbol() {
        "" => String::new(),
        symbol => format!(" [{symbol}]"),
    };
    // A difference in a unit with an offset, such as degrees, has none.
    let of = |x: f64| rounded(shown.of(x) - shown.of(0.0), 3);
    let header = [
        format!("{}{unit}", variable.name),
        "step or tol.".to_owned(),
        "RMSE".to_owned(),
        "largest".to_owned(),
        "ITAE [s²]".to_owned(),
    ];
    let mut rows = vec![header.to_vec()];
    for row in comparison.rows.iter().filter(|row| row.failure.is_none()) {
        let found = &row.deviations[index];
        rows.push(vec![
            row.candidate.name(),
            row.candidate.fineness(),
            of(found.rmse),
            of(found.largest),
            of(found.itae),
        ]);
    }
    format!("\n{}", columns(&rows, &[true]))
}

// ---- Files --------------------------------------------------------------------------------------

fn finite(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { Value::Null }
}

fn candidate_in_json(candidate: &Candidate) -> Value {
    let (step, tolerance) = match candidate.fineness {
        Fineness::Step(step) => (Some(step), None),
        Fineness::Tolerance(tolerance) => (None, Some(tolerance)),
    };
    json!({
        "solver": candidate.solver.word(),
        "small_volumes": candidate.small_volumes.word(),
        "step": step,
        "tolerance": tolerance,
    })
}

fn row_in_json(comparison: &Comparison, row: &Row) -> Value {
    let mut value = candidate_in_json(&row.candidate);
    let work = row.effort.as_ref().map(|effort| effort.work);
    let errors: Vec<Value> = comparison
        .variables
        .iter()
        .zip(&row.deviations)
        .map(|(variable, found)| {
            json!({
                "variable": variable.name,
                "rmse": finite(found.rmse),
                "largest": finite(found.largest),
                "itae": finite(found.itae),
                "relative_rmse": finite(found.rmse / variable.scale),
                "relative_largest": finite(found.largest / variable.scale),
            })
        })
        .collect();
    value["failure"] = json!(row.failure);
    value["replaced_volumes"] = json!(row.small);
    value["worst_variable"] = json!(row.worst.map(|worst| &comparison.variables[worst].name));
    value["seconds"] = finite(row.seconds);
    value["speed_up"] = json!(row.speed_up);
    value["relative_rmse"] = json!(row.relative_rmse);
    value["relative_largest"] = json!(row.relative_largest);
    value["steps"] = json!(row.steps);
    value["rejected"] = json!(work.map(|work| work.rejected));
    value["evaluations"] = json!(work.map(|work| work.evaluations));
    value["jacobians"] = json!(work.map(|work| work.jacobians));
    value["factorisations"] = json!(work.map(|work| work.factorisations));
    value["newton_iterations"] = json!(work.map(|work| work.newton_iterations));
    value["errors"] = json!(errors);
    value
}

fn in_json(args: &CompareSolvers, comparison: &Comparison) -> Value {
    let variables: Vec<Value> = comparison
        .variables
        .iter()
        .map(|one| {
            json!({
                "name": one.name,
                "unit": one.unit,
                "scale": one.scale,
                "known_to": one.known_to,
            })
        })
        .collect();
    let rows: Vec<Value> = comparison.rows.iter().map(|row| row_in_json(comparison, row)).collect();
    json!({
        "file": args.file.display().to_string(),
        "samples": comparison.samples,
        "interval": comparison.interval,
        "reference": candidate_in_json(&comparison.reference),
        "checked_by": comparison.check.as_ref().map(candidate_in_json),
        "baseline": comparison.baseline.as_ref().map(candidate_in_json),
        "notes": comparison.notes,
        "variables": variables,
        "runs": rows,
    })
}

/// A field of a CSV file: quoted where it must be.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn write_csv(comparison: &Comparison, path: &Path) -> io::Result<()> {
    let mut file = OutputFile::create(path)?;
    writeln!(
        file,
        "solver,small_volumes,step [s],tolerance,seconds,speed_up,steps,rejected,evaluations,\
         jacobians,factorisations,newton_iterations,variable,unit,rmse,largest,itae,relative_rmse,\
         relative_largest,failure"
    )?;
    for row in &comparison.rows {
        let candidate = &row.candidate;
        let (step, tolerance) = match candidate.fineness {
            Fineness::Step(step) => (format!("{step:e}"), String::new()),
            Fineness::Tolerance(tolerance) => (String::new(), format!("{tolerance:e}")),
        };
        let begin = format!(
            "{},{},{step},{tolerance}",
            candidate.solver.word(),
            candidate.small_volumes.word()
        );
        if let Some(failure) = &row.failure {
            writeln!(file, "{begin},,,,,,,,,,,,,,,,{}", field(failure))?;
            continue;
        }
        let work = match row.effort.as_ref().map(|effort| effort.work) {
            Some(work) => format!(
                "{},{},{},{},{}",
                work.rejected,
                work.evaluations,
                work.jacobians,
                work.factorisations,
                work.newton_iterations
            ),
            None => ",,,,".to_owned(),
        };
        let speed_up = row.speed_up.map_or(String::new(), |x| format!("{x}"));
        for (variable, found) in comparison.variables.iter().zip(&row.deviations) {
            writeln!(
                file,
                "{begin},{:e},{speed_up},{},{work},{},{},{:e},{:e},{:e},{:e},{:e},",
                row.seconds,
                row.steps,
                field(&variable.name),
                field(variable.unit),
                found.rmse,
                found.largest,
                found.itae,
                found.rmse / variable.scale,
                found.largest / variable.scale
            )?;
        }
    }
    file.finish()
}

/// Error over time, a curve for each solver: the lower left is where one wants to be.
fn figure(comparison: &Comparison) -> Figure {
    let mut panel = Panel::new("worst RMSE relative to range").log_y();
    let mut names: Vec<String> = Vec::new();
    for row in &comparison.rows {
        let name = row.candidate.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for row in comparison.rows.iter().filter(|row| row.candidate.name() == name) {
            if let Some(error) = row.relative_rmse {
                x.push(row.seconds);
                y.push(error.max(LEAST_DRAWN));
            }
        }
        if !x.is_empty() {
            panel = panel.series(Series::new(name, x, y).style(SeriesStyle::Marked));
        }
    }
    if let Some(known) = comparison.uncertainty().filter(|&known| known > 0.0) {
        panel = panel.reference("the reference is known to", known);
    }
    let mut figure =
        Figure::new(format!("{}: work and precision", comparison.title), "time to compute [s]")
            .log_x();
    let done = || comparison.rows.iter().filter(|row| row.failure.is_none());
    let (least, most) = done().fold((f64::INFINITY, 0.0_f64), |(least, most), row| {
        (least.min(row.seconds), most.max(row.seconds))
    });
    if least <= most {
        // Room for the dots at both ends.
        figure = figure.limits_x(least / 1.5, most * 1.5);
    }
    figure.panel(panel)
}
