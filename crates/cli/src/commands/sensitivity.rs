//! `fluxline sensitivity`: which parameters matter to which metrics.

use super::run::{INTERRUPTED, listen};
use super::sweep::File;
use super::{Console, draw};
use crate::args::{Sensitivity as Arguments, SensitivityMethod as Method};
use crate::display::{columns, count, counted, quantity, rounded};
use crate::session::{Failure, Session};
use fluxline_core::circuit::Circuit;
use fluxline_core::declare::Value as Given;
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::Override;
use fluxline_formats::results::{OutputFile, write_problem};
use fluxline_plot::{Figure, Panel, Series};
use fluxline_study::ensemble::{Effort, Ensemble, Outcome, Parameter, Refused, Variant, Wanted};
use fluxline_study::sensitivity::{
    Derivatives, Effect, Index, Screening, Variance, at, derivatives,
};
use fluxline_study::vary::{self, Values, Vary};
use fluxline_units::{Dimension, Unit};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Spread of a parameter that comes without one: its value, less and more by this share.
const SPREAD: f64 = 0.1;

/// What was found for all metrics.
enum Found {
    Local(Derivatives),
    /// By metric, then by parameter.
    Screened(Vec<Vec<Option<Effect>>>),
    Shared(Vec<Option<Vec<Index>>>),
}

struct Answer<'a> {
    args: &'a Arguments,
    title: String,
    vary: Vec<Vary>,
    /// Values of the parameters where derivatives are taken.
    nominal: Variant,
    /// Metrics and their SI units.
    metrics: Vec<(String, String)>,
    found: Found,
    runs: usize,
    failed: Vec<String>,
    seconds: f64,
}

pub(super) fn run(console: &Console, args: &Arguments) -> u8 {
    let set: Vec<Override> = args.set.iter().map(|text| Override::parse(text)).collect();
    let session = match Session::open(&args.file, &set) {
        Ok(session) => session,
        Err(failure) => return console.refuse(&failure),
    };
    if !args.json {
        console.report(&session.warnings, &session.sources);
    }
    match look(console, args, &session, set) {
        Ok(code) => code,
        Err(Refused { problems, sources }) => console.refuse(&Failure { problems, sources }),
    }
}

/// The value of a parameter of a component, and its dimension.
fn value_of(circuit: &Circuit, name: &str) -> Option<(f64, Dimension)> {
    let plain = name.strip_prefix("components.").unwrap_or(name);
    let plain = plain.strip_suffix("#Value").unwrap_or(plain);
    let at = plain.rfind(['.', '#'])?;
    let owner = plain[..at].replace('$', ".");
    let lines = circuit.connections.iter().filter_map(|connection| connection.line.as_ref());
    let instance = circuit.components.iter().chain(lines).find(|one| one.name == owner)?;
    let declaration = instance.declaration();
    let parameter = declaration.parameter(&plain[at + 1..])?;
    let unit = Unit::parse(declaration.parameters[parameter].unit);
    let dimension = unit.map_or(Dimension::DIMENSIONLESS, |unit| unit.dimension());
    match instance.values[parameter] {
        Given::Number(value) => Some((value, dimension)),
        _ => None,
    }
}

/// The number that `--set` or the file gives to a name of its own, as those under `[parameters]`.
fn written(file: &File, name: &str) -> Option<(f64, Dimension)> {
    let set = file.set.iter().rev().find_map(|one| {
        let (key, value) = one.text().split_once('=')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    });
    let in_file = || fluxline_formats::Document::parse(file.text.as_ref()?).ok()?.get(name);
    let found = vary::quantity(&set.or_else(in_file)?).ok()?;
    Some((found.value, found.dimension))
}

/// A parameter as it was given: a name alone varies around its value in the file.
fn parse(circuit: &Circuit, file: &File, text: &str, spread: f64) -> Result<Vary, Diagnostic> {
    if text.contains('=') {
        let vary = Vary::parse(text)?;
        if let Some(word) = vary.words().first() {
            let message = format!("`{}` takes words, such as `{word}`", vary.name);
            return Err(Diagnostic::error(Code::BadVariation, message)
                .note("sensitivity is how far metrics follow numbers")
                .help("give a range of numbers, or compare the words with `fluxline sweep`"));
        }
        return Ok(vary);
    }
    let name = text.trim();
    let found = value_of(circuit, name).or_else(|| written(file, name));
    let Some((value, dimension)) = found else {
        let message = format!("the file gives no number for `{name}`");
        return Err(Diagnostic::error(Code::BadVariation, message).help(
            "name a parameter of a component, such as load.mass, or say what values it takes: \"name=1 bar..3 bar\"",
        ));
    };
    if value == 0.0 {
        let message = format!("`{name}` is zero in the file: how far it varies is not known");
        return Err(Diagnostic::error(Code::BadVariation, message)
            .help(format!("say what values it takes: \"{name}=LOW..HIGH\"")));
    }
    let (a, b) = (value * (1.0 - spread), value * (1.0 + spread));
    let values = Values::Uniform { low: a.min(b), high: a.max(b) };
    Ok(Vary { name: name.to_owned(), values, dimension })
}

fn look(
    console: &Console,
    args: &Arguments,
    session: &Session,
    set: Vec<Override>,
) -> Result<u8, Refused> {
    let file = File::open(&args.file, set)?;
    let vary = args
        .parameters
        .iter()
        .map(|text| parse(&session.circuit, &file, text, SPREAD))
        .collect::<Result<Vec<_>, _>>()?;
    for (i, one) in vary.iter().enumerate() {
        let name = vary::plain_name(&one.name);
        if vary[..i].iter().any(|before| vary::plain_name(&before.name) == name) {
            let message = format!("`{}` is named twice", one.name);
            return Err(Diagnostic::error(Code::BadDesign, message)
                .help("name every parameter once")
                .into());
        }
    }
    let parameters: Vec<Parameter> = vary.iter().map(Parameter::of).collect();
    let nominal: Variant = vary.iter().map(middle).collect();
    let wanted = Wanted { metrics: args.metrics.clone(), ..Wanted::default() };
    let mut ensemble = Ensemble::new(&file, parameters.clone(), wanted, [nominal.clone()])?;
    ensemble.effort = Effort {
        threads: args.threads.unwrap_or(0) as usize,
        lanes: args.lanes.parse().unwrap_or(0),
    };
    let metrics: Vec<(String, String)> = ensemble
        .metrics()
        .all
        .iter()
        .map(|metric| (metric.text.clone(), metric.dimension.si_symbol().into_owned()))
        .collect();
    listen();
    let begun = Instant::now();
    let is_over = AtomicBool::new(false);
    let mut failed = Vec::new();
    let (found, runs) = std::thread::scope(|scope| {
        let (is_over, ensemble) = (&is_over, &ensemble);
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                if INTERRUPTED.load(Ordering::Relaxed) {
                    ensemble.stop.store(true, Ordering::Relaxed);
                }
                std::thread::park_timeout(Duration::from_millis(50));
            }
        });
        let found = find(args, &file, ensemble, &parameters, &vary, &nominal, &mut failed);
        is_over.store(true, Ordering::Relaxed);
        found
    })?;
    let answer = Answer {
        args,
        title: session.circuit.title.clone(),
        vary,
        nominal,
        metrics,
        found,
        runs,
        failed,
        seconds: begun.elapsed().as_secs_f64(),
    };
    if let Some(path) = &args.csv {
        answer.csv(path)?;
    }
    if let Some(path) = &args.plot {
        draw(&answer.tornado(), path)?;
    }
    match args.json {
        true => console.json(&answer.to_json()),
        false => console.print(&answer.to_text(console)),
    }
    Ok(0)
}

/// Where derivatives are taken.
fn middle(vary: &Vary) -> f64 {
    match &vary.values {
        Values::Levels(levels) if levels.len() == 1 => levels[0],
        Values::Levels(levels) => levels.iter().sum::<f64>() / levels.len() as f64,
        _ => vary.quantile(0.5),
    }
}

fn find(
    args: &Arguments,
    file: &File,
    ensemble: &Ensemble,
    parameters: &[Parameter],
    vary: &[Vary],
    nominal: &Variant,
    failed: &mut Vec<String>,
) -> Result<(Found, usize), Refused> {
    let count = parameters.len();
    let mut evaluate = |runs: usize, variant: &(dyn Fn(usize) -> Variant + Sync)| {
        let mut values = vec![vec![f64::NAN; runs]; ensemble.metrics().all.len()];
        let mut done = 0;
        ensemble.evaluate_each(runs, variant, &mut |run, outcome: Outcome| {
            done += 1;
            match outcome {
                Ok(evaluation) => {
                    for (all, x) in values.iter_mut().zip(evaluation.metrics) {
                        all[run] = x;
                    }
                }
                Err(reason) => failed.push(reason.message),
            }
        });
        match done == runs {
            true => Ok(values),
            false => Err(Refused::from(Diagnostic::error(
                Code::Interrupted,
                format!("interrupted after {done} of {runs} runs"),
            ))),
        }
    };
    let no_spread = |what: &str| -> Result<(), Refused> {
        let one = vary.iter().find(|one| one.levels() == Some(1));
        match one {
            None => Ok(()),
            Some(one) => Err(Diagnostic::error(
                Code::BadDesign,
                format!("{what} varies parameters, and `{}` has one value", one.name),
            )
            .help(format!("give a range: \"{}=LOW..HIGH\"", one.name))
            .into()),
        }
    };
    match args.method {
        Method::Exact => {
            let stop = &ensemble.stop;
            let found = derivatives(file, parameters, nominal, &args.metrics, stop)?;
            Ok((Found::Local(found), 1))
        }
        Method::Differences => {
            let runs = 2 * count + 1;
            let changed = |run: usize| {
                let mut values = nominal.clone();
                if run > 0 {
                    let (parameter, sign) = ((run - 1) / 2, [-1.0, 1.0][(run - 1) % 2]);
                    values[parameter] += sign * args.step * values[parameter].abs();
                }
                values
            };
            let values = evaluate(runs, &changed)?;
            let slope = |parameter: usize, metric: usize| {
                let (low, high) =
                    (values[metric][2 * parameter + 1], values[metric][2 * parameter + 2]);
                let slope = (high - low) / (2.0 * args.step * nominal[parameter].abs());
                slope.is_finite().then_some(slope)
            };
            let found = Derivatives {
                metrics: values.iter().map(|all| all[0]).collect(),
                slopes: (0..count)
                    .map(|parameter| (0..values.len()).map(|m| slope(parameter, m)).collect())
                    .collect(),
            };
            Ok((Found::Local(found), runs))
        }
        Method::Morris => {
            no_spread("a screening")?;
            let walks = args.runs.map_or(20, |runs| (runs as usize).div_ceil(count + 1)).max(2);
            let study = Screening { parameters: count, walks, seed: args.seed };
            let values = evaluate(study.runs(), &|run| at(vary, &study.point(run)))?;
            let found = values.iter().map(|values| study.effects(values)).collect();
            Ok((Found::Screened(found), study.runs()))
        }
        Method::Sobol => {
            no_spread("an analysis of variance")?;
            let points = args.runs.map_or(512, |runs| (runs as usize).div_ceil(count + 2)).max(2);
            let study = Variance::new(count, points, args.seed);
            let values = evaluate(study.runs(), &|run| at(vary, &study.point(run)))?;
            let found = values.iter().map(|values| study.indices(values)).collect();
            Ok((Found::Shared(found), study.runs()))
        }
    }
}

impl Answer<'_> {
    /// The change of a metric with one more percent of a parameter.
    fn per_percent(&self, local: &Derivatives, parameter: usize, metric: usize) -> Option<f64> {
        Some(0.01 * self.nominal[parameter] * local.slopes[parameter][metric]?)
    }

    /// Parameters by their importance for a metric.
    fn order(&self, metric: usize) -> Vec<usize> {
        let weight = |parameter: usize| {
            let weight = match &self.found {
                Found::Local(local) => self.per_percent(local, parameter, metric).map(f64::abs),
                Found::Screened(all) => all[metric][parameter].map(|effect| effect.size),
                Found::Shared(all) => all[metric].as_ref().map(|all| all[parameter].total.value),
            };
            weight.unwrap_or(f64::NEG_INFINITY)
        };
        let mut order: Vec<usize> = (0..self.vary.len()).collect();
        order.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
        order
    }

    fn to_text(&self, console: &Console) -> String {
        let how = match self.args.method {
            Method::Exact => "exact derivatives through the run",
            Method::Differences => "differences of runs",
            Method::Morris => "screening by elementary effects",
            Method::Sobol => "shares of variance",
        };
        let mut text = console.strong(&format!("{}: sensitivity, {how}", self.title));
        let failed = match self.failed.len() {
            0 => String::new(),
            failed => format!(", {} failed ({})", count(failed as u64), self.failed[0]),
        };
        text.push_str(&format!(
            "\n  {} in {} s{failed}\n",
            counted(self.runs as u64, "run"),
            rounded(self.seconds, 3)
        ));
        for (metric, (name, unit)) in self.metrics.iter().enumerate() {
            let mut rows = vec![self.header(name)];
            for parameter in self.order(metric) {
                rows.push(self.row(metric, parameter, unit));
            }
            let mut left = vec![false; rows[0].len()];
            left[0] = true;
            if let Found::Local(local) = &self.found {
                let at = quantity(local.metrics[metric], unit);
                text.push_str(&format!("\n  {name} = {at}\n"));
            } else {
                text.push('\n');
            }
            text.push_str(&columns(&rows, &left));
            if let Found::Shared(all) = &self.found
                && all[metric].is_none()
            {
                text.push_str("  it does not vary\n");
            }
        }
        for path in [&self.args.csv, &self.args.plot].into_iter().flatten() {
            text.push_str(&format!("wrote {}\n", path.display()));
        }
        text
    }

    fn header(&self, metric: &str) -> Vec<String> {
        let head: &[&str] = match self.found {
            Found::Local(_) => {
                &["parameter", "value", "change for +1 %", "in % of it", "derivative"]
            }
            Found::Screened(_) => &["parameter", "size μ*", "± error", "mean μ", "spread σ"],
            Found::Shared(_) => &["parameter", "alone S", "95 %", "in all S_T", "95 %"],
        };
        let mut head: Vec<String> = head.iter().map(|&text| text.to_owned()).collect();
        if !matches!(self.found, Found::Local(_)) {
            head[0] = metric.to_owned();
        }
        head
    }

    fn row(&self, metric: usize, parameter: usize, unit: &str) -> Vec<String> {
        let none = || "–".to_owned();
        let mut row = vec![self.vary[parameter].name.clone()];
        match &self.found {
            Found::Local(local) => {
                let symbol = self.vary[parameter].dimension.si_symbol();
                row.push(quantity(self.nominal[parameter], &symbol));
                match self.per_percent(local, parameter, metric) {
                    None => row.extend([none(), none(), none()]),
                    Some(change) => {
                        row.push(quantity(change, unit));
                        let share = 100.0 * change / local.metrics[metric].abs();
                        row.push(if share.is_finite() { rounded(share, 4) } else { none() });
                        let slope = local.slopes[parameter][metric].unwrap_or(f64::NAN);
                        row.push(format!("{} SI", rounded(slope, 6)));
                    }
                }
            }
            Found::Screened(all) => match all[metric][parameter] {
                None => row.extend([none(), none(), none(), none()]),
                Some(effect) => row.extend(
                    [effect.size, effect.error, effect.mean, effect.deviation]
                        .map(|x| quantity(x, unit)),
                ),
            },
            Found::Shared(all) => match &all[metric] {
                None => row.extend([none(), none(), none(), none()]),
                Some(indices) => {
                    for estimate in [indices[parameter].first, indices[parameter].total] {
                        row.push(format!("{:.4}", estimate.value));
                        row.push(format!("{:.3} … {:.3}", estimate.low, estimate.high));
                    }
                }
            },
        }
        row
    }

    fn to_json(&self) -> Value {
        let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
        let metrics: Vec<Value> = self
            .metrics
            .iter()
            .enumerate()
            .map(|(metric, (name, unit))| {
                let of = |parameter: usize| {
                    let mut value = json!({
                        "name": self.vary[parameter].name,
                        "unit": self.vary[parameter].dimension.si_symbol(),
                        "value": self.nominal[parameter],
                    });
                    match &self.found {
                        Found::Local(local) => {
                            let slope = local.slopes[parameter][metric];
                            value["derivative"] = slope.map_or(Value::Null, finite);
                        }
                        Found::Screened(all) => {
                            if let Some(effect) = all[metric][parameter] {
                                value["size"] = finite(effect.size);
                                value["size_error"] = finite(effect.error);
                                value["mean"] = finite(effect.mean);
                                value["deviation"] = finite(effect.deviation);
                            }
                        }
                        Found::Shared(all) => {
                            if let Some(indices) = &all[metric] {
                                let index = indices[parameter];
                                for (key, one) in [("first", index.first), ("total", index.total)] {
                                    value[key] = json!({"value": finite(one.value),
                                        "low": finite(one.low), "high": finite(one.high)});
                                }
                            }
                        }
                    }
                    value
                };
                let value = match &self.found {
                    Found::Local(local) => finite(local.metrics[metric]),
                    _ => Value::Null,
                };
                json!({
                    "metric": name,
                    "unit": unit,
                    "value": value,
                    "parameters": (0..self.vary.len()).map(of).collect::<Vec<_>>(),
                })
            })
            .collect();
        json!({
            "file": self.args.file.display().to_string(),
            "method": match self.args.method {
                Method::Exact => "exact",
                Method::Differences => "differences",
                Method::Morris => "morris",
                Method::Sobol => "sobol",
            },
            "runs": self.runs,
            "failed": self.failed.len(),
            "seconds": self.seconds,
            "metrics": metrics,
        })
    }

    fn csv(&self, path: &Path) -> Result<(), Diagnostic> {
        let head = match self.found {
            Found::Local(_) => "value,derivative,change for +1 %",
            Found::Screened(_) => "size,size error,mean,deviation",
            Found::Shared(_) => "first,first low,first high,total,total low,total high",
        };
        let mut text = format!("metric,unit,parameter,parameter unit,{head}\n");
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        for (metric, (name, unit)) in self.metrics.iter().enumerate() {
            for (parameter, vary) in self.vary.iter().enumerate() {
                let numbers: Vec<f64> = match &self.found {
                    Found::Local(local) => vec![
                        self.nominal[parameter],
                        local.slopes[parameter][metric].unwrap_or(f64::NAN),
                        self.per_percent(local, parameter, metric).unwrap_or(f64::NAN),
                    ],
                    Found::Screened(all) => all[metric][parameter]
                        .map_or(vec![f64::NAN; 4], |e| vec![e.size, e.error, e.mean, e.deviation]),
                    Found::Shared(all) => all[metric].as_ref().map_or(vec![f64::NAN; 6], |all| {
                        let Index { first, total } = all[parameter];
                        vec![first.value, first.low, first.high, total.value, total.low, total.high]
                    }),
                };
                let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
                text.push_str(&format!(
                    "{},{unit},{},{},{}\n",
                    quoted(name),
                    quoted(&vary.name),
                    vary.dimension.si_symbol(),
                    numbers.join(",")
                ));
            }
        }
        let write = || {
            let mut file = OutputFile::create(path)?;
            file.write_all(text.as_bytes())?;
            file.finish()
        };
        write().map_err(|error| write_problem(path, &error))
    }

    /// Bars by importance, the longest on top, one diagram for each metric.
    fn tornado(&self) -> Figure {
        let label = match self.found {
            Found::Local(_) => "change of the metric, parameters from −1 % to +1 % [%]",
            Found::Screened(_) => "effect of half the range [% of the largest]",
            Found::Shared(_) => "share of the variance: alone, and in all",
        };
        let mut figure = Figure::new(format!("{}: sensitivity", self.title), label).marker("", 0.0);
        for (metric, (name, _)) in self.metrics.iter().enumerate() {
            let mut panel = Panel::new(name.clone());
            let order = self.order(metric);
            let last = order.len() - 1;
            for (place, &parameter) in order.iter().enumerate() {
                let height = (last - place) as f64;
                let spans: Vec<(f64, f64, f64)> = match &self.found {
                    Found::Local(local) => {
                        let change = self.per_percent(local, parameter, metric).unwrap_or(0.0);
                        let at = local.metrics[metric].abs();
                        let share = if at > 0.0 { 100.0 * change / at } else { change };
                        vec![(-share, share, 0.35)]
                    }
                    Found::Screened(all) => {
                        let size = |p: usize| all[metric][p].map_or(0.0, |e| e.size);
                        let largest =
                            order.iter().map(|&p| size(p)).fold(f64::MIN_POSITIVE, f64::max);
                        vec![(0.0, 100.0 * size(parameter) / largest, 0.35)]
                    }
                    Found::Shared(all) => all[metric].as_ref().map_or(Vec::new(), |all| {
                        let index = all[parameter];
                        vec![(0.0, index.total.value, 0.35), (0.0, index.first.value, 0.2)]
                    }),
                };
                for (from, to, half) in spans {
                    let x = vec![from, to, to, from, from];
                    let y = [-half, -half, half, half, -half].map(|h| height + h).to_vec();
                    panel = panel.series(Series::new(self.vary[parameter].name.clone(), x, y));
                }
                panel = panel.reference(self.vary[parameter].name.clone(), height);
            }
            figure = figure.panel(panel.limits_y(-0.7, last as f64 + 0.7));
        }
        figure
    }
}
