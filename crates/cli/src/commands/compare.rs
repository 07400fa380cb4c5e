//! `fluxline compare`.

use super::Console;
use crate::args::Compare;
use crate::session::{Failure, Session};
use fluxline_core::plan::Plan;
use fluxline_core::run::Ended;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics};
use fluxline_formats::Override;
use fluxline_formats::results::{
    Comparison, Deviation, ResultTable, compare, name_and_unit, read_csv,
};
use fluxline_units::Unit;
use serde_json::json;

/// Variables within the tolerance that are listed besides those beyond it.
const SHOWN: usize = 10;

pub(super) fn run(console: &Console, args: &Compare) -> u8 {
    let overrides: Vec<Override> = args.set.iter().map(|text| Override::parse(text)).collect();
    let session = match Session::open(&args.model, &overrides) {
        Ok(session) => session,
        Err(failure) => return console.refuse(&failure),
    };
    let reference = match read_csv(&args.reference) {
        Ok(reference) => reference,
        Err(problem) => return console.fail(problem),
    };
    let problems = wrong_units(session.plan(), &reference, &args.reference.display().to_string());
    if problems.has_errors() {
        return console.refuse(&Failure { problems, sources: session.sources });
    }
    if !args.json {
        console.report(&session.warnings, &session.sources);
    }
    let comparison = compare(session.plan(), session.steps(), &reference, || true);
    if comparison.deviations.is_empty() {
        let message = format!(
            "no column of `{}` is a variable of `{}`",
            args.reference.display(),
            args.model.display()
        );
        let names: Vec<_> = session.plan().variables.iter().take(3).map(|v| v.name).collect();
        return console.fail(
            Diagnostic::error(Code::UnknownVariable, message).help(format!(
                "columns must be named like variables, such as {}",
                names.join(", ")
            )),
        );
    }
    let passed = passes(&comparison, args.tolerance);
    if args.json {
        console.json(&in_json(args, &comparison, passed));
    } else {
        console.print(&in_words(args, &comparison, passed));
    }
    u8::from(!passed)
}

/// Units in the header that are none, or not those of their variables. A signal takes any.
fn wrong_units(plan: &Plan, reference: &ResultTable, file: &str) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for (index, header) in reference.names.iter().enumerate() {
        let (name, Some(unit)) = name_and_unit(header) else { continue };
        let expected = match plan.variables.find(name) {
            _ if index == reference.time => "s",
            Some(variable) => variable.unit,
            None => continue,
        };
        let known = Unit::parse(expected).ok();
        let problem = match Unit::parse(unit) {
            Err(_) => Diagnostic::error(
                Code::UnknownUnit,
                format!("the column `{header}` of `{file}` has an unknown unit"),
            ),
            Ok(found)
                if expected != "1" && known.is_some_and(|k| k.dimension() != found.dimension()) =>
            {
                Diagnostic::error(
                    Code::WrongDimension,
                    format!(
                        "the column `{header}` of `{file}` is in {unit}, but `{name}` counts in {expected}"
                    ),
                )
            }
            Ok(_) => continue,
        };
        problems.push(problem.help("correct the unit; without one, numbers are SI"));
    }
    problems
}

fn passes(comparison: &Comparison, tolerance: f64) -> bool {
    comparison.ended == Ended::Done && comparison.samples > 0 && comparison.worst() <= tolerance
}

/// How many variables are not within the tolerance; what is not a number is not.
fn beyond(comparison: &Comparison, tolerance: f64) -> usize {
    let all = &comparison.deviations;
    all.len() - all.iter().filter(|d| d.deviation <= tolerance).count()
}

fn in_json(args: &Compare, comparison: &Comparison, passed: bool) -> serde_json::Value {
    let finite = |x: f64| if x.is_finite() { json!(x) } else { json!(null) };
    let variables: Vec<_> = comparison
        .deviations
        .iter()
        .map(|d| {
            json!({
                "name": d.name,
                "unit": d.unit,
                "deviation": finite(d.deviation),
                "largest_difference": finite(d.largest_difference),
                "scale": d.scale,
                "time": finite(d.time),
                "value": finite(d.value),
                "reference": finite(d.reference),
                "within": d.deviation <= args.tolerance,
            })
        })
        .collect();
    json!({
        "model": args.model.display().to_string(),
        "reference": args.reference.display().to_string(),
        "tolerance": args.tolerance,
        "passed": passed,
        "worst": finite(comparison.worst()),
        "worst_variable": comparison.deviations.first().map(|d| d.name.clone()),
        "compared": comparison.deviations.len(),
        "beyond": beyond(comparison, args.tolerance),
        "samples": comparison.samples,
        "outside": comparison.outside,
        "missing": comparison.missing,
        "ended": ended(&comparison.ended),
        "variables": variables,
    })
}

fn ended(ended: &Ended) -> String {
    match ended {
        Ended::Done => "done".to_owned(),
        Ended::Diverged(d) => {
            format!("diverged: {} of {} at {} s", d.variable, d.component, d.time)
        }
        Ended::Unconverged { component, time } => {
            format!("not converged: {component} at {time} s")
        }
        Ended::Failed(found) => {
            format!("{} gave up at {} s: {}", found.solver, found.time, found.what)
        }
        Ended::Stopped { component, time } => format!("stopped by {component} at {time} s"),
        Ended::Interrupted { time } => format!("interrupted at {time} s"),
        Ended::SinkFailed => "not written".to_owned(),
    }
}

/// A table of the worst variables.
pub(super) fn table<'d>(deviations: impl Iterator<Item = &'d Deviation>) -> String {
    let mut text = String::new();
    for d in deviations {
        text.push_str(&format!(
            "  {:>10}  {}  at {:.6} s: {:.7e} for {:.7e} {}\n",
            percent(d.deviation),
            d.name,
            d.time,
            d.value,
            d.reference,
            if d.unit == "1" { "" } else { d.unit },
        ));
    }
    text
}

/// A share in per cent, with few digits.
pub(super) fn percent(x: f64) -> String {
    let percent = 100.0 * x;
    if percent == 0.0 || (1e-4..1e4).contains(&percent) {
        format!("{percent:.4} %")
    } else {
        format!("{percent:.1e} %")
    }
}

fn in_words(args: &Compare, comparison: &Comparison, passed: bool) -> String {
    let beyond = beyond(comparison, args.tolerance);
    let mut text = String::from("   deviation  variable, where it deviates most\n");
    text.push_str(&table(comparison.deviations.iter().take(beyond.max(SHOWN))));
    let rest = comparison.deviations.len() - beyond.max(SHOWN).min(comparison.deviations.len());
    if rest > 0 {
        text.push_str(&format!("  … and {rest} more that agree better\n"));
    }
    if !comparison.missing.is_empty() {
        text.push_str(&format!(
            "not in the model, and not compared: {}\n",
            comparison.missing.join(", ")
        ));
    }
    if comparison.outside > 0 {
        text.push_str(&format!(
            "{} samples of the reference lie outside the time of the run\n",
            comparison.outside
        ));
    }
    if comparison.ended != Ended::Done {
        text.push_str(&format!("the run ended early: {}\n", ended(&comparison.ended)));
    }
    text.push_str(&format!(
        "{}: {} variables at {} times, {} beyond {}; worst {}\n",
        if passed { "agrees" } else { "deviates" },
        comparison.deviations.len(),
        comparison.samples,
        beyond,
        percent(args.tolerance),
        percent(comparison.worst()),
    ));
    text
}
