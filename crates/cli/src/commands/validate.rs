//! `fluxline validate`: validation files of Hopsan.
//!
//! The model is run, recorded as it says; for each variable the stored results are interpolated at
//! the recorded times, and |1 − value/stored| must stay within the tolerance wherever the stored
//! value is not 0. A second run must give the same bits.

use super::Console;
use super::compare::percent;
use crate::args::Validate;
use crate::session::{Failure, Quiet, Recording, Session};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use fluxline_hmf::hvc::{self, Table, Validation, interpolate};
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;

/// Stored values below this are 0, as Hopsan sees it.
const ZERO_REFERENCE: f64 = 1e-10;
/// Values below this are 0.
const ZERO_VALUE: f64 = 1e-100;

/// How one variable agrees.
struct Judged {
    model: PathBuf,
    name: String,
    tolerance: f64,
    worst: f64,
    time: f64,
    value: f64,
    stored: f64,
    repeats: bool,
}

impl Judged {
    fn passes(&self) -> bool {
        self.worst <= self.tolerance && self.repeats
    }
}

pub(super) fn run(console: &Console, args: &Validate) -> u8 {
    let (mut sources, mut problems) = (SourceMap::new(), Diagnostics::new());
    let validations = hvc::load_file(&args.file, &mut sources, &mut problems);
    let Some(validations) = validations.filter(|_| !problems.has_errors()) else {
        return console.refuse(&Failure { problems, sources });
    };
    let mut judged = Vec::new();
    let mut tables: HashMap<PathBuf, Table> = HashMap::new();
    for validation in &validations {
        for variable in &validation.variables {
            if !tables.contains_key(&variable.data)
                && let Some(table) = Table::load_file(&variable.data, &mut sources, &mut problems)
            {
                tables.insert(variable.data.clone(), table);
            }
        }
        if problems.has_errors() {
            break;
        }
        match judge(validation, &tables, &mut problems) {
            Ok(all) => judged.extend(all),
            Err(failure) => return console.refuse(&failure),
        }
    }
    if problems.has_errors() {
        return console.refuse(&Failure { problems, sources });
    }
    let passed = !judged.is_empty() && judged.iter().all(Judged::passes);
    match args.json {
        true => console.json(&in_json(args, &judged, passed)),
        false => console.print(&in_words(args, &judged, passed)),
    }
    u8::from(!passed)
}

fn judge(
    validation: &Validation,
    tables: &HashMap<PathBuf, Table>,
    problems: &mut Diagnostics,
) -> Result<Vec<Judged>, Failure> {
    let session = Session::open(&validation.model, &[])?;
    // Some files put the name of the model in front.
    let short = |name: &str| match session.plan().variables.find(name) {
        Some(variable) => Some(variable.name),
        None => {
            let (_, rest) = name.split_once('$')?;
            session.plan().variables.find(rest).map(|variable| variable.name)
        }
    };
    let mut known = Vec::new();
    for variable in &validation.variables {
        match short(&variable.name) {
            Some(name) => known.push((variable, name)),
            None => {
                let message =
                    format!("`{}` has no variable `{}`", validation.model.display(), variable.name);
                let error = Diagnostic::error(Code::UnknownVariable, message);
                problems.push(error.at(variable.span, "unknown"));
            }
        }
    }
    if problems.has_errors() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = known.iter().map(|(_, name)| name.clone()).collect();
    let record = || {
        let wanted = Recording { record: names.clone(), ..Recording::default() };
        let fail = |problems| Failure { problems, sources: session.sources.clone() };
        let chosen = session.recording(&wanted).map_err(fail)?;
        let completed = session.run(chosen, None, Vec::new(), &mut Quiet);
        match completed.failure.clone() {
            Some(problem) => Err(fail(problem.into())),
            None => Ok(completed),
        }
    };
    let (first, second) = (record()?, record()?);
    let times = first.times();
    let mut all = Vec::new();
    for (variable, name) in known {
        let Some(table) = tables.get(&variable.data) else { continue };
        let Some((stored_times, stored)) = problems.take(table.series(variable)) else { continue };
        let (Some(values), Some(again)) = (first.column(&name), second.column(&name)) else {
            continue;
        };
        let repeats = values.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits());
        let mut judged = Judged {
            model: validation.model.clone(),
            name,
            tolerance: variable.tolerance,
            worst: 0.0,
            time: f64::NAN,
            value: f64::NAN,
            stored: f64::NAN,
            repeats,
        };
        for (&time, &value) in times.iter().zip(&values) {
            let stored = interpolate(stored_times, stored, time);
            if value.abs() < ZERO_VALUE || stored.abs() < ZERO_REFERENCE {
                continue;
            }
            let deviation = (1.0 - value / stored).abs();
            let deviation = if deviation.is_nan() { f64::INFINITY } else { deviation };
            if deviation > judged.worst {
                (judged.worst, judged.time) = (deviation, time);
                (judged.value, judged.stored) = (value, stored);
            }
        }
        all.push(judged);
    }
    Ok(all)
}

fn in_json(args: &Validate, judged: &[Judged], passed: bool) -> serde_json::Value {
    let finite = |x: f64| if x.is_finite() { json!(x) } else { json!(null) };
    let variables: Vec<_> = judged
        .iter()
        .map(|j| {
            json!({
                "model": j.model.display().to_string(),
                "name": j.name,
                "tolerance": j.tolerance,
                "deviation": finite(j.worst),
                "time": finite(j.time),
                "value": finite(j.value),
                "reference": finite(j.stored),
                "repeats": j.repeats,
                "passed": j.passes(),
            })
        })
        .collect();
    json!({ "file": args.file.display().to_string(), "passed": passed, "variables": variables })
}

fn in_words(args: &Validate, judged: &[Judged], passed: bool) -> String {
    let mut text = String::new();
    for j in judged {
        let mark = if j.passes() { "ok" } else { "FAILED" };
        text.push_str(&format!(
            "  {mark:6}  {}  largest deviation {} of {} allowed",
            j.name,
            percent(j.worst),
            percent(j.tolerance)
        ));
        if !j.passes() && j.worst > j.tolerance {
            text.push_str(&format!(", at {:.6} s: {:.7e} for {:.7e}", j.time, j.value, j.stored));
        }
        if !j.repeats {
            text.push_str(", a second run differs");
        }
        text.push('\n');
    }
    let count = judged.iter().filter(|j| !j.passes()).count();
    text.push_str(&match passed {
        true => format!("{}: {} variables agree\n", args.file.display(), judged.len()),
        false => {
            format!("{}: {count} of {} variables deviate\n", args.file.display(), judged.len())
        }
    });
    text
}
