//! Matching a circuit with measured data: signals at the times of the data, differences, and what
//! they say of the parameters.

use crate::ensemble::Evaluation;
use crate::file::{FitSettings, Measure, Measured, StudyFile};
use crate::search::Judge;
use fluxline_core::variables::{Variable, Variables};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Span};
use fluxline_formats::Override;
use fluxline_formats::results::{ResultTable, name_and_unit};
use fluxline_optimise::Value;
use fluxline_optimise::linear::{dot, svd};
use fluxline_optimise::space::{Scale, Space, Variable as Values};
use fluxline_units::{Dimension, Quantity, Unit};
use std::sync::Arc;

/// Measured data, in SI units.
#[derive(Clone, Debug)]
pub struct Data {
    /// The file.
    pub name: String,
    /// Times, s.
    pub times: Vec<f64>,
    columns: Vec<Column>,
}

#[derive(Clone, Debug)]
struct Column {
    header: String,
    /// Of the unit in the header, if there is one.
    dimension: Option<Dimension>,
    values: Vec<f64>,
}

impl Data {
    /// Takes units from the headers, `pressure [bar]`, and converts to SI. Data without a column of
    /// time need the time between their rows, s.
    pub fn new(name: &str, table: &ResultTable, sampling: Option<f64>) -> Result<Self, Diagnostic> {
        let wrong = |message: String| Diagnostic::error(Code::BadData, message);
        let read = |index: usize| -> Result<Column, Diagnostic> {
            let header = table.names[index].clone();
            let unit = match name_and_unit(&header).1 {
                None => None,
                Some(text) => Some(Unit::parse(text).map_err(|error| {
                    wrong(format!("`{name}`, column `{header}`: {error}"))
                        .help("write units as in circuit files: `pressure [bar]`")
                })?),
            };
            let si = |x: &f64| unit.as_ref().map_or(*x, |unit| unit.to_si(*x));
            let values = table.columns[index].iter().map(si).collect();
            Ok(Column { header, dimension: unit.map(|unit| unit.dimension()), values })
        };
        if let Some(between) = sampling {
            if table.has_time() {
                let own = &table.names[table.time];
                let message = format!(
                    "`{name}` has a column of time, `{own}`, and the study says how far rows are apart"
                );
                let help = "leave `sampling` out, or remove the column from the data";
                return Err(wrong(message).help(help));
            }
            let columns: Vec<Column> =
                (0..table.names.len()).map(read).collect::<Result<_, Diagnostic>>()?;
            let rows = columns.first().map_or(0, |column| column.values.len());
            let times = (0..rows).map(|row| row as f64 * between).collect();
            return Ok(Self { name: name.to_owned(), times, columns });
        }
        let time = read(table.time)?;
        if time.dimension.is_some_and(|one| one != Dimension::TIME) {
            return Err(wrong(format!("`{name}`: the column `{}` is no time", time.header)));
        }
        if let Some(row) = time.values.windows(2).position(|pair| pair[0] >= pair[1]) {
            let message = format!(
                "`{name}`: times do not rise: row {} has {} s, and the next one {} s",
                row + 1,
                time.values[row],
                time.values[row + 1]
            );
            if !table.has_time() {
                return Err(wrong(message)
                    .note(format!(
                        "no column is called `time`; `{}`, the first, was taken",
                        time.header
                    ))
                    .help("for rows at equal distances: `sampling = \"1 ms\"` under `[fit]`"));
            }
            return Err(wrong(message).help("sort the rows by time, and remove those given twice"));
        }
        if time.values.len() < 2 || !time.values.iter().all(|t| t.is_finite()) {
            return Err(wrong(format!("`{name}` holds no times to compare at")));
        }
        let others = (0..table.names.len()).filter(|&index| index != table.time);
        let columns = others.map(read).collect::<Result<_, _>>()?;
        Ok(Self { name: name.to_owned(), times: time.values, columns })
    }

    fn column(&self, name: &str, at: Span) -> Result<&Column, Diagnostic> {
        let is_it = |one: &&Column| one.header == name || name_and_unit(&one.header).0 == name;
        self.columns.iter().find(is_it).ok_or_else(|| {
            let message = format!("the data in `{}` have no column `{name}`", self.name);
            let names: Vec<&str> =
                self.columns.iter().map(|one| name_and_unit(&one.header).0).collect();
            Diagnostic::error(Code::BadData, message).at(at, "not in the data").suggest(name, names)
        })
    }

    /// What replays the inputs of a study, and makes the run as long as the data: values to set.
    pub fn overrides(&self, study: &StudyFile, step: f64) -> Result<Vec<Override>, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut all = Vec::new();
        for input in &study.inputs {
            let Some(column) = problems.take(self.column(&input.column, input.at)) else {
                continue;
            };
            let known: Vec<(f64, f64)> = (self.times.iter().copied())
                .zip(column.values.iter().copied())
                .filter(|(_, x)| x.is_finite())
                .collect();
            // Between equal values a point changes nothing, not even bits: the table is shorter.
            let is_flat = |i: usize| {
                i > 0
                    && i + 1 < known.len()
                    && known[i - 1].1 == known[i].1
                    && known[i].1 == known[i + 1].1
            };
            let kept = || (0..known.len()).filter(|&i| !is_flat(i)).map(|i| known[i]);
            let list = |each: Vec<String>| format!("[{}]", each.join(", "));
            let x = list(kept().map(|(t, _)| format!("{t:?}")).collect());
            let y = list(kept().map(|(_, x)| format!("{x:?}")).collect());
            all.push(Override::new(
                &format!("{}.table", input.to),
                &format!("{{ x = {x}, y = {y} }}"),
            ));
        }
        let has_stop = study.set.iter().any(|(one, _)| one.text().starts_with("run.stop="));
        if let (false, Some(last)) = (has_stop, self.times.last()) {
            // The step that covers the last sample.
            let steps = (last / step - 1e-6).ceil().max(1.0);
            let stop = Quantity::new(steps * step, Dimension::TIME);
            all.push(Override::new("run.stop", &stop.to_exact_string()));
        }
        problems.into_result(all)
    }
}

/// A signal of the circuit beside its data.
#[derive(Clone, Debug)]
pub struct Signal {
    /// The variable of the circuit.
    pub variable: String,
    /// The column of the data.
    pub column: String,
    /// SI unit.
    pub unit: String,
    /// Times of the data, on the clock of the circuit, s.
    pub times: Vec<f64>,
    /// The data.
    pub values: Vec<f64>,
    /// Which of them are fitted; the others validate.
    pub is_fitted: Vec<bool>,
    /// How much it counts.
    pub weight: f64,
    /// The difference that counts as one.
    pub scale: f64,
    /// The rows before each time, and which part of the way to the next one.
    places: Vec<(usize, f64)>,
}

/// How well a signal is met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Samples.
    pub samples: usize,
    /// Mean size of the difference.
    pub absolute: f64,
    /// Root of its mean square.
    pub rms: f64,
    /// 1 − RMS over the standard deviation of the data: 1 is perfect, 0 as good as a constant.
    pub fit: f64,
}

/// What is matched, and where.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Signals.
    pub signals: Vec<Signal>,
    /// Steps of the run at which all of them are needed.
    pub steps: Arc<[u64]>,
    measure: Measure,
}

fn deviation(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count).sqrt()
}

impl Fit {
    /// Matches the signals of a study with variables of its circuit, whose run has this step and so
    /// many of them.
    pub fn new(
        study: &StudyFile,
        data: &Data,
        variables: &Variables,
        (start, step, count): (f64, f64, u64),
    ) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut found = Vec::new();
        for one in &study.signals {
            let signal = match_signal(one, data, variables, &study.fit);
            found.extend(problems.take(signal));
        }
        let end = start + count as f64 * step;
        let mut steps: Vec<u64> = Vec::new();
        for signal in &mut found {
            // What lies outside the run cannot be compared.
            let is_inside: Vec<bool> = signal
                .times
                .iter()
                .map(|&t| t >= start - 1e-9 * step && t <= end + 1e-6 * step)
                .collect();
            let mut keep = is_inside.iter();
            signal.times.retain(|_| *keep.next().unwrap_or(&false));
            let mut keep = is_inside.iter();
            signal.values.retain(|_| *keep.next().unwrap_or(&false));
            let mut keep = is_inside.iter();
            signal.is_fitted.retain(|_| *keep.next().unwrap_or(&false));
            if !signal.is_fitted.contains(&true) {
                let own = study.signals.iter().find(|one| one.variable == signal.variable);
                let message = format!(
                    "no sample of `{}` lies in the time to fit: the run goes from {start} s to {end} s",
                    signal.column
                );
                let problem = Diagnostic::error(Code::BadData, message);
                problems.push(
                    problem
                        .at_if(own.map(|one| one.at), "nothing to compare")
                        .help("look at the times of the data, at `run.stop` and at `[fit]`"),
                );
            }
            for &time in &signal.times {
                let (below, part) = place(time, start, step, count);
                steps.push(below);
                if part > 0.0 {
                    steps.push(below + 1);
                }
            }
        }
        if problems.has_errors() {
            return Err(problems);
        }
        steps.sort_unstable();
        steps.dedup();
        for signal in &mut found {
            let of = |&time: &f64| {
                let (below, part) = place(time, start, step, count);
                (steps.binary_search(&below).unwrap_or(0), part)
            };
            signal.places = signal.times.iter().map(of).collect();
        }
        Ok(Self { signals: found, steps: steps.into(), measure: study.fit.measure })
    }

    /// The samples that are fitted, alone: a search needs no step after the last of them.
    pub fn fitted(&self) -> Self {
        let mut signals = self.signals.clone();
        let mut needed: Vec<usize> = Vec::new();
        for signal in &mut signals {
            let kept: Vec<usize> =
                (0..signal.times.len()).filter(|&i| signal.is_fitted[i]).collect();
            signal.times = kept.iter().map(|&i| signal.times[i]).collect();
            signal.values = kept.iter().map(|&i| signal.values[i]).collect();
            signal.places = kept.iter().map(|&i| signal.places[i]).collect();
            signal.is_fitted = vec![true; kept.len()];
            for &(row, part) in &signal.places {
                needed.push(row);
                needed.extend((part > 0.0).then_some(row + 1));
            }
        }
        needed.sort_unstable();
        needed.dedup();
        for place in signals.iter_mut().flat_map(|signal| &mut signal.places) {
            place.0 = needed.binary_search(&place.0).unwrap_or(0);
        }
        let steps: Vec<u64> = needed.iter().map(|&row| self.steps[row]).collect();
        Self { signals, steps: steps.into(), measure: self.measure }
    }

    /// What the circuit gave for a signal, at the times of the data.
    pub fn simulated(&self, evaluation: &Evaluation, signal: usize) -> Vec<f64> {
        self.at_samples(&evaluation.rows, signal)
    }

    /// How well a signal is met, by the samples that are fitted or by the others; `None` where there
    /// are none.
    pub fn quality(
        &self,
        evaluation: &Evaluation,
        signal: usize,
        is_fitted: bool,
    ) -> Option<Quality> {
        let own = &self.signals[signal];
        let simulated = self.simulated(evaluation, signal);
        let chosen: Vec<usize> =
            (0..own.values.len()).filter(|&i| own.is_fitted[i] == is_fitted).collect();
        if chosen.is_empty() {
            return None;
        }
        let count = chosen.len() as f64;
        let differences = || chosen.iter().map(|&i| simulated[i] - own.values[i]);
        let absolute = differences().map(f64::abs).sum::<f64>() / count;
        let rms = (differences().map(|d| d * d).sum::<f64>() / count).sqrt();
        let values: Vec<f64> = chosen.iter().map(|&i| own.values[i]).collect();
        let fit = 1.0 - rms / deviation(&values);
        Some(Quality { samples: chosen.len(), absolute, rms, fit })
    }

    /// Differences of all fitted samples, weighted so that the sum of their squares is the square of
    /// the objective.
    pub fn residuals(&self, evaluation: &Evaluation) -> Vec<f64> {
        let mut all = Vec::new();
        for (index, signal) in self.signals.iter().enumerate() {
            let factor = self.factor(index);
            let simulated = self.simulated(evaluation, index);
            let samples = simulated.iter().zip(&signal.values).zip(&signal.is_fitted);
            all.extend(samples.filter(|(_, fitted)| **fitted).map(|((a, b), _)| factor * (a - b)));
        }
        all
    }

    /// How residuals change where the recorded rows change by these.
    pub fn residual_slopes(&self, rows: &[f64]) -> Vec<f64> {
        let mut all = Vec::new();
        for (index, signal) in self.signals.iter().enumerate() {
            let slopes = self.at_samples(rows, index);
            let factor = self.factor(index);
            let fitted = slopes.iter().zip(&signal.is_fitted).filter(|(_, fitted)| **fitted);
            all.extend(fitted.map(|(slope, _)| factor * slope));
        }
        all
    }

    /// The weight of a residual of a signal: the sum of squares of all is the square of the objective.
    fn factor(&self, index: usize) -> f64 {
        let signal = &self.signals[index];
        let count = signal.is_fitted.iter().filter(|&&fitted| fitted).count() as f64;
        (signal.weight / count).sqrt() / signal.scale
    }

    /// A column of recorded rows, at the times of the data.
    fn at_samples(&self, rows: &[f64], signal: usize) -> Vec<f64> {
        let width = self.signals.len() + 1;
        let row = |at: usize| rows[at * width + 1 + signal];
        let value = |&(at, part): &(usize, f64)| match part > 0.0 {
            true => row(at) + part * (row(at + 1) - row(at)),
            false => row(at),
        };
        self.signals[signal].places.iter().map(value).collect()
    }

    /// How many residuals each signal has.
    fn counts(&self) -> Vec<usize> {
        let count = |one: &Signal| one.is_fitted.iter().filter(|&&fitted| fitted).count();
        self.signals.iter().map(count).collect()
    }
}

impl Judge for Fit {
    fn metrics(&self, evaluation: &Evaluation) -> Vec<f64> {
        let of = |index: usize| {
            let quality = self.quality(evaluation, index, true)?;
            Some(match self.measure {
                Measure::Absolute => quality.absolute,
                Measure::Squared => quality.rms,
            })
        };
        (0..self.signals.len()).map(|index| of(index).unwrap_or(f64::NAN)).collect()
    }

    fn value(&self, metrics: &[f64]) -> Value {
        let shares = self.signals.iter().zip(metrics).map(|(one, x)| (one.weight, x / one.scale));
        Value::of(match self.measure {
            Measure::Absolute => shares.map(|(weight, x)| weight * x).sum(),
            Measure::Squared => shares.map(|(weight, x)| weight * x * x).sum::<f64>().sqrt(),
        })
    }
}

/// The step before a time, and which part of the way to the next.
fn place(time: f64, start: f64, step: f64, count: u64) -> (u64, f64) {
    let position = ((time - start) / step).clamp(0.0, count as f64);
    // Tables have some digits of time only.
    let nearest = position.round();
    if (position - nearest).abs() < 1e-6 * nearest.max(1.0) {
        return (nearest as u64, 0.0);
    }
    (position.floor() as u64, position - position.floor())
}

fn match_signal(
    one: &Measured,
    data: &Data,
    variables: &Variables,
    fit: &FitSettings,
) -> Result<Signal, Diagnostic> {
    let column = data.column(&one.column, one.at)?;
    let Some(variable) = variables.find(&one.variable) else {
        let message = format!("the circuit has no variable `{}` to match", one.variable);
        let all: Vec<Variable> = variables.iter().collect();
        return Err(Diagnostic::error(Code::UnknownVariable, message)
            .at(one.at, "to be matched")
            .suggest(&one.variable, all.iter().map(|variable| variable.name.as_str())));
    };
    let dimension = Unit::parse(variable.unit).map_or(Dimension::DIMENSIONLESS, |u| u.dimension());
    // Signals and plain numbers stand for anything.
    if let Some(own) = column.dimension
        && own != dimension
        && !dimension.is_dimensionless()
    {
        let message = format!(
            "the column `{}` is {}, but `{}` is {}",
            column.header,
            own.with_article(),
            variable.name,
            dimension.with_article()
        );
        return Err(Diagnostic::error(Code::BadData, message).at(one.at, "matched here").help(
            "match it with another variable, or correct the unit in the header of the data",
        ));
    }
    let unit = match dimension.is_dimensionless() {
        true => column.dimension.unwrap_or(dimension),
        false => dimension,
    };
    let known: Vec<usize> =
        (0..data.times.len()).filter(|&i| column.values[i].is_finite()).collect();
    let times: Vec<f64> = known.iter().map(|&i| data.times[i] - one.shift).collect();
    let values: Vec<f64> = known.iter().map(|&i| column.values[i]).collect();
    let scale = match &one.scale {
        Some((scale, at)) if scale.dimension != unit => {
            let message = format!(
                "`{}` is {}, but its scale {scale} is {}",
                one.column,
                unit.with_article(),
                scale.dimension.with_article()
            );
            return Err(Diagnostic::error(Code::WrongDimension, message).at(*at, "of another kind"));
        }
        Some((scale, _)) => scale.value,
        // A difference as large as the signal itself varies.
        None => Some(deviation(&values)).filter(|x| *x > 0.0).unwrap_or(1.0),
    };
    Ok(Signal {
        variable: variable.name,
        column: one.column.clone(),
        unit: unit.si_symbol().into_owned(),
        is_fitted: times.iter().map(|t| (fit.from..=fit.to).contains(t)).collect(),
        times,
        values,
        weight: one.weight,
        scale,
        places: Vec::new(),
    })
}

/// What the data say of the parameters.
#[derive(Clone, Debug)]
pub struct Uncertainty {
    /// Standard errors, in SI units; infinite where nothing is known.
    pub errors: Vec<f64>,
    /// Correlations.
    pub correlation: Vec<Vec<f64>>,
    /// Determined to the precision that was asked for.
    pub is_determined: Vec<bool>,
    /// Largest over smallest singular value of the scaled derivatives: how many digits the least
    /// known combination of parameters loses.
    pub condition: f64,
}

/// Half-width of a 95 % interval in standard errors.
pub const INTERVAL: f64 = 1.96;

/// From the derivatives of the weighted residuals, by coordinates of the unit cube, at the optimum.
///
/// With J = U·Σ·Vᵀ and P = V·Σ⁻¹·Uᵀ, a small error e of the data moves the parameters by P·e. The
/// covariance is P·diag(s²)·Pᵀ, with the mean square s² of each signal's own residuals, so it also
/// holds where the weights are not those of the noise (White 1980).
pub fn uncertainty(
    fit: &Fit,
    space: &Space,
    point: &[f64],
    residuals: &[f64],
    jacobian: &[Vec<f64>],
    precision: f64,
) -> Uncertainty {
    let n = point.len();
    let counts = fit.counts();
    let total: usize = counts.iter().sum();
    let freedom = total as f64 / total.saturating_sub(n).max(1) as f64;
    let mut noise = Vec::with_capacity(total);
    let mut begin = 0;
    for count in counts {
        let own = &residuals[begin..begin + count];
        let variance = freedom * dot(own, own) / count as f64;
        noise.extend(std::iter::repeat_n(variance, count));
        begin += count;
    }
    // Columns of one length: a parameter on a large scale is not a well known one.
    let lengths: Vec<f64> = jacobian.iter().map(|column| dot(column, column).sqrt()).collect();
    let scaled: Vec<Vec<f64>> = jacobian
        .iter()
        .zip(&lengths)
        .map(|(column, &length)| {
            let factor = if length > 0.0 { 1.0 / length } else { 0.0 };
            column.iter().map(|x| x * factor).collect()
        })
        .collect();
    let parts = svd(&scaled);
    // Derivatives by differences have some digits only: a combination that they show no more of than
    // this cannot be told from none.
    let is_seen = |sigma: f64| sigma > 1e-5 * parts.sigma[0];
    let is_hidden = |i: usize| {
        let hides = |(v, &sigma): (&Vec<f64>, &f64)| !is_seen(sigma) && v[i].abs() > 1e-4;
        lengths[i] == 0.0 || parts.v.iter().zip(&parts.sigma).any(hides)
    };
    let pseudo: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let mut row = vec![0.0; total];
            for (k, &sigma) in parts.sigma.iter().enumerate() {
                if is_seen(sigma) {
                    let factor = parts.v[k][i] / sigma / lengths[i];
                    row.iter_mut().zip(&parts.u[k]).for_each(|(x, u)| *x += factor * u);
                }
            }
            row
        })
        .collect();
    let variance =
        |i: usize| (0..total).map(|k| pseudo[i][k] * pseudo[i][k] * noise[k]).sum::<f64>();
    let deviations: Vec<f64> =
        (0..n).map(|i| if is_hidden(i) { f64::INFINITY } else { variance(i).sqrt() }).collect();
    let values = space.decode(point);
    let slope = |i: usize| match &space.variables[i] {
        Values::Continuous { low, high, scale: Scale::Log } => values[i] * (high / low).ln(),
        Values::Continuous { low, high, .. } => high - low,
        Values::Integer { low, high, unit } => (high - low) as f64 * unit,
        Values::Catalogue(all) => all[all.len() - 1] - all[0],
    };
    let errors: Vec<f64> = (0..n).map(|i| deviations[i] * slope(i)).collect();
    // Correlations by the directions alone, so that they also tell what cannot be told apart.
    let along = |i: usize, j: usize| {
        let term = |(v, sigma): (&Vec<f64>, &f64)| v[i] * v[j] / (sigma * sigma).max(1e-24);
        parts.v.iter().zip(&parts.sigma).map(term).sum::<f64>()
    };
    let correlation = (0..n)
        .map(|i| (0..n).map(|j| along(i, j) / (along(i, i) * along(j, j)).sqrt()).collect())
        .collect();
    let is_determined = errors
        .iter()
        .zip(&values)
        .map(|(error, value)| INTERVAL * error <= precision * value.abs())
        .collect();
    let least = parts.sigma.last().copied().unwrap_or(0.0);
    Uncertainty { errors, correlation, is_determined, condition: parts.sigma[0] / least }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_optimise::random::Random;

    fn line(count: usize) -> Fit {
        let signal = Signal {
            variable: "y".to_owned(),
            column: "y".to_owned(),
            unit: String::new(),
            times: Vec::new(),
            values: vec![0.0; count],
            is_fitted: vec![true; count],
            weight: 1.0,
            scale: 1.0,
            places: Vec::new(),
        };
        Fit { signals: vec![signal], steps: Arc::from([]), measure: Measure::Squared }
    }

    /// A straight line y = a + b·x through points with noise: the standard errors of a and b in
    /// closed form, s²·(XᵀX)⁻¹.
    #[test]
    fn standard_errors_of_a_straight_line_are_those_of_the_closed_form() {
        let count = 50;
        let x: Vec<f64> = (0..count).map(|i| i as f64 / 10.0).collect();
        let mut random = Random::new(2);
        let residuals: Vec<f64> = (0..count).map(|_| 0.1 * random.normal()).collect();
        let jacobian = [vec![1.0; count], x.clone()];
        let space = Space::unit(2);
        let found = uncertainty(&line(count), &space, &[0.5, 0.5], &residuals, &jacobian, 0.02);
        let n = count as f64;
        let (sx, sxx) = (x.iter().sum::<f64>(), dot(&x, &x));
        let determinant = n * sxx - sx * sx;
        let variance = dot(&residuals, &residuals) / (n - 2.0);
        let exact = [variance * sxx / determinant, variance * n / determinant];
        for (error, exact) in found.errors.iter().zip(exact) {
            assert!((error / exact.sqrt() - 1.0).abs() < 1e-10, "{error} {exact}");
        }
        let correlation = -sx / (n * sxx).sqrt();
        assert!((found.correlation[0][1] - correlation).abs() < 1e-10);
    }

    /// Two parameters that only their sum is seen of, and one that nothing is seen of.
    #[test]
    fn parameters_that_the_data_do_not_show_are_not_determined() {
        let count = 20;
        let x: Vec<f64> = (0..count).map(|i| (i as f64).sin()).collect();
        let almost: Vec<f64> = x.iter().map(|x| x * (1.0 + 1e-9)).collect();
        let jacobian = [x.clone(), almost, vec![0.0; count], vec![1.0; count]];
        let residuals: Vec<f64> = (0..count).map(|i| 1e-3 * (i as f64 * 1.7).cos()).collect();
        let found =
            uncertainty(&line(count), &Space::unit(4), &[0.5; 4], &residuals, &jacobian, 0.02);
        assert_eq!(found.is_determined, [false, false, false, true], "{found:?}");
        assert!((found.correlation[0][1] + 1.0).abs() < 1e-6, "{found:?}");
        assert!(found.errors[2].is_infinite());
    }

    #[test]
    fn data_take_their_units_from_the_header() {
        let text = "time [ms],pressure [bar],plain\n0,10,1\n10,20,\n20,30,3\n";
        let table = fluxline_formats::results::parse_csv(text.as_bytes(), "a.csv").unwrap();
        let data = Data::new("a.csv", &table, None).unwrap();
        assert_eq!(data.times, [0.0, 0.01, 0.02]);
        assert_eq!(data.columns[0].values, [1e6, 2e6, 3e6]);
        assert!(data.columns[1].values[1].is_nan());
        let wrong = |text: &str| {
            let table = fluxline_formats::results::parse_csv(text.as_bytes(), "a.csv").unwrap();
            Data::new("a.csv", &table, None).unwrap_err().to_string()
        };
        assert!(wrong("time [bar],a\n0,1\n1,2\n").contains("no time"));
        assert!(wrong("time,a\n0,1\n0,2\n").contains("do not rise"));
        assert!(wrong("time,a [mbr]\n0,1\n1,2\n").contains("mbr"));
    }

    #[test]
    fn data_without_a_column_of_time_are_sampled_evenly() {
        let read = |text: &str, sampling| {
            let table = fluxline_formats::results::parse_csv(text.as_bytes(), "a.csv").unwrap();
            Data::new("a.csv", &table, sampling)
        };
        let data = read("u,p [bar]\n5,10\n5,20\n4,30\n", Some(0.25)).unwrap();
        assert_eq!(data.times, [0.0, 0.25, 0.5]);
        assert_eq!(data.columns[0].values, [5.0, 5.0, 4.0]);
        assert_eq!(data.columns[1].values, [1e6, 2e6, 3e6]);
        // Without, the cure is told; with both, one has to go.
        let problem = read("u,p\n5,10\n5,20\n", None).unwrap_err();
        assert!(problem.helps().iter().any(|help| help.contains("sampling")), "{problem}");
        assert!(read("t,p\n0,10\n1,20\n", Some(1.0)).is_err());
    }
}
