//! `fluxline identify`: the values of parameters with which a circuit follows measured data.

use super::Console;
use super::study::{
    self, Found, Opened, Study, at_bound, close, derivatives, derivatives_json, follow, run_best,
    shown, write_circuit, write_report,
};
use super::sweep::File;
use crate::args::Identify;
use crate::display::{Shown, columns, count, number, rounded, time};
use crate::session::Failure;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics};
use fluxline_formats::Override;
use fluxline_formats::results::read_csv;
use fluxline_plot::{Figure, Panel, Report, Series, SeriesStyle, Status, Table};
use fluxline_study::ensemble::{Ensemble, Evaluation, Outcome, Wanted};
use fluxline_study::file::{Kind, Measure};
use fluxline_study::fit::{Data, Fit, INTERVAL, Quality, Uncertainty, uncertainty};
use fluxline_study::search::{Judge, Runs, Slopes, least_squares, optimise};
use fluxline_study::team::Helpers;
use fluxline_units::{Dimension, Quantity};
use serde_json::json;
use std::sync::Arc;

pub(super) fn run(console: &Console, args: &Identify) -> u8 {
    study::perform(console, &args.study, |console| open(console, args))
}

fn open<'a>(console: &Console, args: &'a Identify) -> Result<Identification<'a>, u8> {
    let mut data = None;
    let opened = study::open(console, &args.study, Kind::Identify, |study, step| {
        let path = args.data.clone().or_else(|| study.data.as_ref().map(|(path, _)| path.clone()));
        let Some(path) = path else {
            let message = "the study names no measured data";
            return Err(Diagnostic::error(Code::BadStudy, message)
                .help("give them: `--data measured.csv`, or `data = \"measured.csv\"` in the file")
                .into());
        };
        let read = read_csv(&path)
            .and_then(|table| Data::new(&path.display().to_string(), &table, study.fit.sampling))
            .map_err(Diagnostics::from)?;
        let set = read.overrides(study, step)?;
        data = Some(read);
        Ok(set)
    })?;
    let Some(data) = data else { return Err(2) };
    match fit(&opened, &data) {
        Ok(fit) => Ok(Identification { args, opened, fitted: fit.fitted(), fit }),
        Err(problems) => Err(console.reject(&problems, &opened.sources)),
    }
}

struct Identification<'a> {
    args: &'a Identify,
    opened: Opened,
    /// All samples.
    fit: Fit,
    /// Those that are fitted. The search ends its runs with the last of them; what validates is looked
    /// at afterwards.
    fitted: Fit,
}

impl Study for Identification<'_> {
    fn opened(&self) -> &Opened {
        &self.opened
    }

    fn wanted(&self) -> Wanted {
        wanted(&self.fitted, 1)
    }

    fn perform(&self, console: &Console, ensemble: &Ensemble, helpers: Option<&dyn Helpers>) -> u8 {
        match self.identify(console, ensemble, helpers) {
            Ok(code) => code,
            Err(Refusal::Circuit(failure)) => console.refuse(&failure),
            Err(Refusal::Other(problem)) => console.fail(problem),
        }
    }
}

enum Refusal {
    Circuit(Failure),
    Other(Diagnostic),
}

impl From<Diagnostic> for Refusal {
    fn from(problem: Diagnostic) -> Self {
        Self::Other(problem)
    }
}

fn fit(opened: &Opened, data: &Data) -> Result<Fit, Diagnostics> {
    let study = &opened.study;
    if study.method.method.is_least_squares && study.fit.measure == Measure::Absolute {
        let message = format!(
            "the method `{}` makes squares small, and the study asks for absolute differences",
            study.method.method.name
        );
        return Err(Diagnostic::error(Code::BadStudy, message)
            .at_if(study.method_at, "chosen here")
            .help("use `measure = \"squared\"`, or a method such as `genetic_search`")
            .into());
    }
    let plan = opened.session.plan();
    let grid = (plan.start, plan.step, opened.session.steps());
    Fit::new(study, data, &plan.variables, grid)
}

fn wanted(fit: &Fit, refined: u64) -> Wanted {
    Wanted {
        record: fit.signals.iter().map(|one| one.variable.clone()).collect(),
        steps: fit.steps.iter().map(|step| step * refined).collect::<Vec<_>>().into(),
        ..Wanted::default()
    }
}

impl Identification<'_> {
    fn identify(
        &self,
        console: &Console,
        ensemble: &Ensemble,
        helpers: Option<&dyn Helpers>,
    ) -> Result<u8, Refusal> {
        let Self { args, opened, fit, fitted } = self;
        let study = &opened.study;
        let metric = |one: &fluxline_study::fit::Signal| {
            let what = match study.fit.measure {
                Measure::Absolute => "mean absolute difference",
                Measure::Squared => "RMS difference",
            };
            (format!("{what} of {}", one.variable), one.unit.clone())
        };
        let metrics = fit.signals.iter().map(metric).collect();
        let told = format!("{fit:?}");
        let (journal, known) = study::journal(opened, &args.study, metrics, &told)?;
        let mut runs =
            Runs::new(ensemble, fitted, study.evaluations, known, journal).shared_with(helpers);
        let start = opened.space.encode(&opened.start);
        let mut slopes = match study.fit.is_exact {
            true => Slopes::default(),
            false => Slopes::by_differences("the study asks for differences"),
        };
        let ended = follow(&args.study, ensemble, &mut runs, |runs, watch| {
            let method = &study.method;
            if let Some(mut method) = method.least_squares(&start, study.seed) {
                return least_squares(runs, &mut method, &opened.space, fitted, &mut slopes, watch);
            }
            match method.optimiser(&opened.space, &start, study.seed) {
                Some(mut optimiser) => {
                    optimise(runs, optimiser.as_mut(), &opened.space, &mut slopes, watch)
                }
                None => unreachable!("every method is one or the other"),
            }
        });
        let mut found = close(&args.study, ensemble.effort, runs, ended)?;
        found.ranks = helpers.map(|helpers| helpers.count() + 1);
        let slopes = study.method.method.is_least_squares.then_some(slopes);
        let Some(best) = found.best().cloned() else {
            console.print(&found.head(console, opened, &args.study));
            console.tell("no run gave a value\n");
            return Ok(1);
        };
        let whole =
            study::ensemble(opened, &args.study, wanted(fit, 1), 1).map_err(Refusal::Circuit)?;
        let Some(learned) = learn(opened, fit, &whole, &best.variant, slopes) else {
            let problem = Diagnostic::error(Code::Interrupted, "interrupted after the search");
            return Err(problem.into());
        };
        if let Some(path) = &args.study.circuit {
            let name = args.study.file.file_name().unwrap_or_default().to_string_lossy();
            let comment = format!("# Values by `fluxline identify {name}`.\n\n");
            write_circuit(opened, &best.variant, path, &comment)?;
            found.files.push(path.clone());
        }
        if let Some(path) = &args.study.report {
            let report = report(args, opened, fit, &found, &best.variant, &learned);
            write_report(&report, path)?;
            found.files.push(path.clone());
        }
        match args.study.json {
            true => console.json(&to_json(args, opened, fit, &found, &best.variant, &learned)),
            false => {
                console.print(&to_text(
                    console,
                    args,
                    opened,
                    fit,
                    &found,
                    &best.variant,
                    &learned,
                ));
            }
        }
        Ok(0)
    }
}

/// What is learned at the values that were found.
struct Learned {
    evaluation: Evaluation,
    objective: f64,
    fitted: Vec<Quality>,
    validated: Vec<Option<Quality>>,
    /// RMS of what half the step changes, for each signal.
    step_errors: Vec<f64>,
    /// The largest difference between the two ends of a volume, and where.
    parasitic: Option<(f64, String, f64)>,
    uncertainty: Uncertainty,
    /// Change of the objective when a parameter changes by −20, −10, 10 and 20 %, as a share.
    sensitivity: Vec<[f64; 4]>,
    /// How a method of least squares came by its derivatives.
    slopes: Option<Slopes>,
}

/// Changes of parameters in the table of sensitivities.
const CHANGES: [f64; 4] = [-0.2, -0.1, 0.1, 0.2];

/// Steps of the differences for the derivatives at the optimum, as a share of the range.
const DIFFERENCE: f64 = 1e-3;

fn learn(
    opened: &Opened,
    fit: &Fit,
    ensemble: &Ensemble,
    best: &[f64],
    slopes: Option<Slopes>,
) -> Option<Learned> {
    let space = &opened.space;
    let n = best.len();
    let point = space.encode(best);
    let mut variants = vec![best.to_vec()];
    let mut sides = Vec::new();
    for i in 0..n {
        for sign in [1.0, -1.0] {
            let mut moved = point.clone();
            moved[i] = (moved[i] + sign * DIFFERENCE).clamp(0.0, 1.0);
            sides.push(moved[i]);
            variants.push(space.decode(&moved));
        }
    }
    for i in 0..n {
        for change in CHANGES {
            let mut moved = best.to_vec();
            moved[i] *= 1.0 + change;
            variants.push(moved);
        }
    }
    let mut outcomes = ensemble.evaluate(&variants).into_iter();
    let evaluation = outcomes.next()?.ok()?;
    let around: Vec<Outcome> = outcomes.by_ref().take(2 * n).collect();
    let residuals = fit.residuals(&evaluation);
    let jacobian: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let side = |k: usize| match &around[k] {
                Ok(one) => (sides[k], fit.residuals(one)),
                Err(_) => (point[i], residuals.clone()),
            };
            let ((x, above), (y, below)) = (side(2 * i), side(2 * i + 1));
            let slope = |(a, b): (&f64, &f64)| if x == y { 0.0 } else { (a - b) / (x - y) };
            above.iter().zip(&below).map(slope).collect()
        })
        .collect();
    let precision = opened.study.fit.precision;
    let uncertainty = uncertainty(fit, space, &point, &residuals, &jacobian, precision);
    let worth = |one: &Evaluation| fit.value(&fit.metrics(one)).objective();
    let objective = worth(&evaluation);
    let sensitivity = (0..n)
        .map(|_| {
            CHANGES.map(|_| match outcomes.next() {
                Some(Ok(one)) => worth(&one) / objective - 1.0,
                _ => f64::NAN,
            })
        })
        .collect();
    let all = 0..fit.signals.len();
    Some(Learned {
        objective,
        fitted: all.clone().filter_map(|i| fit.quality(&evaluation, i, true)).collect(),
        validated: all.clone().map(|i| fit.quality(&evaluation, i, false)).collect(),
        step_errors: step_errors(opened, fit, best, &evaluation)
            .unwrap_or_else(|| vec![f64::NAN; fit.signals.len()]),
        parasitic: run_best(opened, best, |_, completed| {
            let worst = completed.outcome.verdict.parasitic_pressure.as_ref();
            worst.map(|(worst, at)| (worst.value, worst.component.clone(), *at))
        })
        .flatten(),
        uncertainty,
        sensitivity,
        slopes,
        evaluation,
    })
}

/// What half the step changes: the error of the step itself, beside which a difference from the data
/// is that of the model.
fn step_errors(
    opened: &Opened,
    fit: &Fit,
    best: &[f64],
    evaluation: &Evaluation,
) -> Option<Vec<f64>> {
    let half = Quantity::new(0.5 * opened.session.plan().step, Dimension::TIME);
    let mut set = opened.file.set.clone();
    set.push(Override::new("run.step", &half.to_exact_string()));
    let file = File::open(&opened.study.circuit, set).ok()?;
    let example = [best.to_vec()];
    let ensemble =
        Ensemble::new(&file, opened.parameters.clone(), wanted(fit, 2), example.clone()).ok()?;
    let finer = ensemble.evaluate(&example).pop()?.ok()?;
    let error = |i: usize| {
        let (coarse, fine) = (fit.simulated(evaluation, i), fit.simulated(&finer, i));
        let squares = coarse.iter().zip(&fine).map(|(a, b)| (a - b) * (a - b));
        (squares.sum::<f64>() / coarse.len() as f64).sqrt()
    };
    Some((0..fit.signals.len()).map(error).collect())
}

/// The unit that a signal is shown in.
fn shown_unit(unit: &str) -> Shown {
    Shown::new(if unit.is_empty() { "1" } else { unit })
}

fn percent(x: f64) -> String {
    match x.is_finite() {
        true => format!("{} %", rounded(100.0 * x, 3)),
        false => "–".to_owned(),
    }
}

/// Values, their 95 % intervals, and whether the data determine them.
fn parameter_rows(opened: &Opened, best: &[f64], learned: &Learned) -> Vec<Vec<String>> {
    let found = &learned.uncertainty;
    let study = &opened.study;
    let row = |i: usize| {
        let varied = &study.variables[i];
        let share = INTERVAL * found.errors[i] / best[i].abs();
        let verdict = match found.is_determined[i] {
            true => "determined".to_owned(),
            false => match partner(found, i) {
                Some((j, c)) => format!(
                    "NOT determined; goes with {} ({})",
                    study.variables[j].name,
                    rounded(c, 2)
                ),
                None => "NOT determined".to_owned(),
            },
        };
        vec![
            varied.name.clone(),
            shown(varied, best[i]),
            format!("± {}", percent(share)),
            verdict,
            at_bound(varied, best[i]).to_owned(),
        ]
    };
    (0..best.len()).map(row).collect()
}

/// The parameter that another one is most correlated with, if it is by much.
fn partner(found: &Uncertainty, i: usize) -> Option<(usize, f64)> {
    let others = (0..found.errors.len()).filter(|&j| j != i).map(|j| (j, found.correlation[i][j]));
    others.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).filter(|(_, c)| c.abs() > 0.9)
}

const SIGNAL_COLUMNS: [&str; 8] =
    ["signal", "fitted", "mean |difference|", "RMS", "fit", "step error", "validated", "RMS there"];

fn signal_rows(fit: &Fit, learned: &Learned) -> Vec<Vec<String>> {
    let row = |i: usize| {
        let signal = &fit.signals[i];
        let unit = shown_unit(&signal.unit);
        let (fitted, validated) = (learned.fitted[i], learned.validated[i]);
        vec![
            signal.variable.clone(),
            count(fitted.samples as u64),
            unit.text(fitted.absolute),
            unit.text(fitted.rms),
            percent(fitted.fit),
            unit.text(learned.step_errors[i]),
            validated.map_or("–".to_owned(), |one| count(one.samples as u64)),
            validated.map_or("–".to_owned(), |one| unit.text(one.rms)),
        ]
    };
    (0..fit.signals.len()).map(row).collect()
}

fn sensitivity_rows(opened: &Opened, learned: &Learned) -> Vec<Vec<String>> {
    let names = opened.study.variables.iter().map(|one| one.name.clone());
    let row = |(name, changes): (String, &[f64; 4])| {
        let cells = changes.iter().map(|&x| match x.is_finite() {
            true => format!("{}{} %", if x < 0.0 { "" } else { "+" }, rounded(100.0 * x, 3)),
            false => "–".to_owned(),
        });
        std::iter::once(name).chain(cells).collect()
    };
    names.zip(&learned.sensitivity).map(row).collect()
}

const SENSITIVITY_COLUMNS: [&str; 5] =
    ["objective, when this changes by", "-20 %", "-10 %", "+10 %", "+20 %"];

fn to_text(
    console: &Console,
    args: &Identify,
    opened: &Opened,
    fit: &Fit,
    found: &Found,
    best: &[f64],
    learned: &Learned,
) -> String {
    let mut text = found.head(console, opened, &args.study);
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<9} {value}\n"));
    if let Some(slopes) = &learned.slopes {
        line("slopes", derivatives(slopes));
    }
    line("best", number(learned.objective));
    if let Some((value, component, at)) = &learned.parasitic {
        line(
            "parasitic",
            format!("{} in `{component}` at t = {}", Shown::new("Pa").text(*value), time(*at)),
        );
    }
    for path in &found.files {
        line("written", path.display().to_string());
    }
    let with_head = |head: &[&str], rows: Vec<Vec<String>>| {
        let head = head.iter().map(|&text| text.to_owned()).collect();
        std::iter::once(head).chain(rows).collect::<Vec<Vec<String>>>()
    };
    text.push('\n');
    let rows =
        with_head(&["parameter", "value", "95 %", "", ""], parameter_rows(opened, best, learned));
    text.push_str(&columns(&rows, &[true, false, false, true, true]));
    text.push('\n');
    text.push_str(&columns(&with_head(&SIGNAL_COLUMNS, signal_rows(fit, learned)), &[true]));
    text.push('\n');
    let rows = with_head(&SENSITIVITY_COLUMNS, sensitivity_rows(opened, learned));
    text.push_str(&columns(&rows, &[true]));
    text
}

fn to_json(
    args: &Identify,
    opened: &Opened,
    fit: &Fit,
    found: &Found,
    best: &[f64],
    learned: &Learned,
) -> serde_json::Value {
    let study = &opened.study;
    let quality = |one: &Quality| json!({ "samples": one.samples, "absolute": one.absolute, "rms": one.rms, "fit": one.fit });
    let parameters: Vec<_> = (0..best.len())
        .map(|i| {
            let error = learned.uncertainty.errors[i];
            json!({
                "name": study.variables[i].name,
                "unit": study.variables[i].dimension.si_symbol(),
                "value": best[i],
                "standard_error": error.is_finite().then_some(error),
                "determined": learned.uncertainty.is_determined[i],
                "sensitivity": learned.sensitivity[i],
                "correlation": learned.uncertainty.correlation[i],
            })
        })
        .collect();
    let signals: Vec<_> = (0..fit.signals.len())
        .map(|i| {
            json!({
                "variable": fit.signals[i].variable,
                "column": fit.signals[i].column,
                "unit": fit.signals[i].unit,
                "fitted": quality(&learned.fitted[i]),
                "validated": learned.validated[i].as_ref().map(quality),
                "step_error": learned.step_errors[i],
            })
        })
        .collect();
    json!({
        "file": args.study.file.display().to_string(),
        "circuit": study.circuit.display().to_string(),
        "method": study.method.method.name,
        "seed": study.seed,
        "runs": found.log.len(),
        "simulated": found.simulated,
        "ended": found.ended,
        "seconds": found.seconds,
        "runs_per_second": found.simulated as f64 / found.seconds.max(1e-9),
        "derivatives": learned.slopes.as_ref().map(derivatives_json),
        "objective": learned.objective,
        "parasitic_pressure": learned.parasitic.as_ref().map(|(value, ..)| value),
        "parameters": parameters,
        "signals": signals,
        "files": found.files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
    })
}

fn report(
    args: &Identify,
    opened: &Opened,
    fit: &Fit,
    found: &Found,
    best: &[f64],
    learned: &Learned,
) -> Report {
    let study = &opened.study;
    let title = match study.title.is_empty() {
        true => args.study.file.display().to_string(),
        false => study.title.clone(),
    };
    let undetermined: Vec<&str> = (0..best.len())
        .filter(|&i| !learned.uncertainty.is_determined[i])
        .map(|i| study.variables[i].name.as_str())
        .collect();
    let mut report = Report::new(title)
        .fact("study", args.study.file.display().to_string())
        .fact("circuit", study.circuit.display().to_string())
        .fact("method", study.method.method.summary)
        .fact("seed", study.seed.to_string())
        .fact("Fluxline", env!("CARGO_PKG_VERSION"));
    let runs =
        format!("{} in {:.3} s, {}", count(found.log.len() as u64), found.seconds, found.ended);
    if let Some(slopes) = &learned.slopes {
        report = report.verdict("Derivatives", derivatives(slopes), Status::Info);
    }
    report = report.verdict("Runs", runs, Status::Info).verdict(
        "Objective",
        number(learned.objective),
        Status::Info,
    );
    report = match undetermined.is_empty() {
        true => report.verdict("Parameters", "all determined", Status::Ok),
        false => report.verdict(
            "Not determined",
            format!(
                "{} (condition {})",
                undetermined.join(", "),
                rounded(learned.uncertainty.condition, 2)
            ),
            Status::Warn,
        ),
    };
    if let Some((value, component, at)) = &learned.parasitic {
        let text = format!("{} in {component} at {}", Shown::new("Pa").text(*value), time(*at));
        report = report.verdict("Parasitic pressure", text, Status::Info);
    }
    let table = |caption: &str, head: &[&str], rows: Vec<Vec<String>>| {
        let table = Table::new(head.iter().copied());
        rows.into_iter().fold(table, Table::row).caption(caption)
    };
    report = report
        .section("Parameters")
        .table(table(
            "Values with 95 % intervals",
            &["parameter", "value", "95 %", "", ""],
            parameter_rows(opened, best, learned),
        ))
        .section("Signals")
        .text(
            "The step error is what half the time step changes: a difference from the data that is \
             larger is one of the model.",
        )
        .table(table("How well they are met", &SIGNAL_COLUMNS, signal_rows(fit, learned)));
    for (i, signal) in fit.signals.iter().enumerate() {
        let unit = shown_unit(&signal.unit);
        let label = |what: &str| match unit.symbol() {
            "" => what.to_owned(),
            symbol => format!("{what} [{symbol}]"),
        };
        let times: Arc<[f64]> = signal.times.clone().into();
        let in_unit = |all: &[f64]| all.iter().map(|&x| unit.of(x)).collect::<Vec<f64>>();
        let simulated = learned_signal(fit, learned, i);
        let differences: Vec<f64> = simulated
            .iter()
            .zip(&signal.values)
            .map(|(a, b)| unit.of(a - b) - unit.of(0.0))
            .collect();
        let mut figure = Figure::new(signal.variable.clone(), "time [s]")
            .panel(
                Panel::new(label(&signal.column))
                    .series(
                        Series::new("measured", times.clone(), in_unit(&signal.values))
                            .style(SeriesStyle::Points),
                    )
                    .series(Series::new("simulated", times.clone(), in_unit(&simulated))),
            )
            .panel(Panel::new(label("difference")).series(Series::new(
                "simulated − measured",
                times,
                differences,
            )));
        for (name, at) in [("fit from", study.fit.from), ("fit to", study.fit.to)] {
            if at.is_finite() {
                figure = figure.marker(name, at);
            }
        }
        report = report.figure(figure);
    }
    let head: Vec<&str> =
        [""].into_iter().chain(study.variables.iter().map(|one| one.name.as_str())).collect();
    let correlations = (0..best.len())
        .map(|i| {
            let cells = learned.uncertainty.correlation[i].iter().map(|c| format!("{c:.2}"));
            std::iter::once(study.variables[i].name.clone()).chain(cells).collect()
        })
        .collect();
    report = report
        .section("What matters")
        .table(table(
            "Sensitivity of the objective",
            &SENSITIVITY_COLUMNS,
            sensitivity_rows(opened, learned),
        ))
        .table(table("Correlation of the parameters", &head, correlations))
        .section("How it was found")
        .figure(found.convergence())
        .figure(found.variables(study));
    let text = opened.sources.iter().next().map(|(_, source)| source.text().to_string());
    report.section("Study").preformatted(text.unwrap_or_default())
}

fn learned_signal(fit: &Fit, learned: &Learned, signal: usize) -> Vec<f64> {
    fit.simulated(&learned.evaluation, signal)
}
