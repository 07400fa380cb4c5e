//! What matters: derivatives of metrics, screening, and shares of variance.
//!
//! - [`derivatives`]: exact, by numbers that carry derivatives through a run.
//! - [`Screening`]: elementary effects (Morris, Technometrics 33, 1991; μ* of Campolongo, Cariboni and
//!   Saltelli 2007).
//! - [`Variance`]: Sobol indices (Saltelli et al., Computer Physics Communications 181, 2010; total ones
//!   by Jansen 1999) with confidence by bootstrap.
//!
//! Screening and variance say which points of the unit cube to evaluate, and make numbers of the
//! values; who evaluates them is another matter.

use crate::derivative::{Beginning, CENTRAL, not_exact};
use crate::ensemble::{Model, Parameter, Refused, Variant, overrides};
use crate::metric::Metrics;
use crate::random::{Purpose, bits, uniform};
use crate::sobol::{MOST_DIMENSIONS, Sobol};
use fluxline_core::circuit::Circuit;
use fluxline_core::plan::Plan;
use fluxline_core::tangent::DIRECTIONS;
use std::sync::atomic::AtomicBool;

// ---- Derivatives through a run -------------------------------------------------------------------

/// Metrics at a point, and how they change with parameters there.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivatives {
    /// The metrics, in SI units.
    pub metrics: Vec<f64>,
    /// By parameter, then by metric, in SI units; none where a metric jumps, as times of settling do.
    pub slopes: Vec<Vec<Option<f64>>>,
}

/// Relative change of a parameter over which its constants are compared.
const NEARBY: f64 = 1e-4;

fn load(
    model: &dyn Model,
    parameters: &[Parameter],
    values: &[f64],
) -> Result<(Circuit, Plan), Refused> {
    let circuit = model.load(&overrides(parameters, values))?;
    let planned = Plan::of(&circuit, model.registry());
    match planned.plan {
        Some(plan) => Ok((circuit, plan)),
        None => Err(Refused { problems: planned.problems, ..Refused::default() }),
    }
}

/// Derivatives of metrics by parameters, through the run.
pub fn derivatives(
    model: &dyn Model,
    parameters: &[Parameter],
    values: &[f64],
    metrics: &[String],
    stop: &AtomicBool,
) -> Result<Derivatives, Refused> {
    let (circuit, plan) = load(model, parameters, values)?;
    let mut beginning = Beginning::of(plan, circuit.run, model.registry())?;
    let metrics = Metrics::parse(metrics.iter().map(String::as_str), &beginning.plan.variables)?;
    for (index, (parameter, &value)) in parameters.iter().zip(values).enumerate() {
        if value == 0.0 {
            let why = "is zero: what is a small change of it is not known";
            return Err(not_exact(&format!("`{}`", parameter.name), why));
        }
        let step = NEARBY * value.abs();
        let slope = beginning.slope(&parameter.name, step, &CENTRAL, |by| {
            let mut nearby = values.to_vec();
            nearby[index] += by;
            load(model, parameters, &nearby).map(|(_, plan)| plan)
        })?;
        beginning.push(slope);
    }
    let mut found = Derivatives { metrics: Vec::new(), slopes: Vec::new() };
    for (group, values) in values.chunks(DIRECTIONS).enumerate() {
        let steps: Vec<f64> = values.iter().map(|value| NEARBY * value.abs()).collect();
        let (metrics, slopes) = beginning.metrics(group, &steps, &metrics, stop)?;
        found.metrics = metrics;
        found.slopes.extend(slopes);
    }
    Ok(found)
}

// ---- Screening ----------------------------------------------------------------------------------

/// Levels of a screening: an even number, in the middles of as many layers.
const LEVELS: u64 = 4;

/// Walks through the unit cube that change one parameter at a time, each by half of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screening {
    /// How many parameters.
    pub parameters: usize,
    /// How many walks.
    pub walks: usize,
    /// Where chance begins.
    pub seed: u64,
}

/// The elementary effects of a parameter on a metric: of going through half of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// μ* — mean of the sizes: how much it matters.
    pub size: f64,
    /// μ — mean: in which direction.
    pub mean: f64,
    /// σ — standard deviation: how much that depends on the others, or on where it is.
    pub deviation: f64,
    /// Standard error of μ*.
    pub error: f64,
}

impl Screening {
    /// Points in all.
    pub fn runs(&self) -> usize {
        self.walks * (self.parameters + 1)
    }

    /// The order in which a walk changes parameters, and where it begins: levels of the lower half,
    /// and whether it goes down from the upper one.
    fn walk(&self, walk: usize) -> (Vec<usize>, Vec<(u64, bool)>) {
        let chance = |parameter: usize| bits(self.seed, Purpose::Order, parameter, walk as u64);
        let mut order: Vec<usize> = (0..self.parameters).collect();
        order.sort_by_key(|&parameter| chance(parameter));
        let begins = (0..self.parameters).map(|parameter| {
            let chance = bits(self.seed, Purpose::Value, parameter, walk as u64);
            (chance % (LEVELS / 2), chance >> 32 & 1 == 1)
        });
        (order, begins.collect())
    }

    /// A point, each coordinate above 0 and below 1.
    pub fn point(&self, run: usize) -> Vec<f64> {
        let (walk, moves) = (run / (self.parameters + 1), run % (self.parameters + 1));
        let (order, begins) = self.walk(walk);
        let mut point = vec![0.0; self.parameters];
        for (position, &parameter) in order.iter().enumerate() {
            let (level, is_down) = begins[parameter];
            let is_up = (position < moves) != is_down;
            let level = level + if is_up { LEVELS / 2 } else { 0 };
            point[parameter] = (level as f64 + 0.5) / LEVELS as f64;
        }
        point
    }

    /// The effects of all parameters on a metric, from its values at all points; a walk with a value
    /// that is not a number counts as far as it is known. `None` where nothing is.
    pub fn effects(&self, values: &[f64]) -> Vec<Option<Effect>> {
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); self.parameters];
        for walk in 0..self.walks {
            let (order, begins) = self.walk(walk);
            let begin = walk * (self.parameters + 1);
            for (position, &parameter) in order.iter().enumerate() {
                let change = values[begin + position + 1] - values[begin + position];
                let effect = if begins[parameter].1 { -change } else { change };
                if effect.is_finite() {
                    all[parameter].push(effect);
                }
            }
        }
        let effect = |effects: &Vec<f64>| {
            let n = effects.len() as f64;
            if effects.is_empty() {
                return None;
            }
            let mean = effects.iter().sum::<f64>() / n;
            let size = effects.iter().map(|e| e.abs()).sum::<f64>() / n;
            let spread = |middle: f64, of: fn(f64) -> f64| {
                let squares: f64 = effects.iter().map(|&e| (of(e) - middle).powi(2)).sum();
                (squares / (n - 1.0).max(1.0)).sqrt()
            };
            Some(Effect {
                size,
                mean,
                deviation: spread(mean, |e| e),
                error: spread(size, f64::abs) / n.sqrt(),
            })
        };
        all.iter().map(effect).collect()
    }
}

// ---- Variance -----------------------------------------------------------------------------------

/// Two samples A and B of the unit cube, and for each parameter A with the column of B.
#[derive(Clone, Debug)]
pub struct Variance {
    /// How many parameters.
    pub parameters: usize,
    /// Points of A; a power of two is best.
    pub points: usize,
    /// Where chance begins.
    pub seed: u64,
    sobol: Option<Sobol>,
}

/// A number with its interval of confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// 95 % of resampled estimates are above this …
    pub low: f64,
    /// … and below this: 2.5 % on each side.
    pub high: f64,
}

/// The shares of a parameter in the variance of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Index {
    /// S — by itself: what would vanish, on average, if it were known.
    pub first: Estimate,
    /// S_T — with all it does together with others: what would be left if all others were known.
    pub total: Estimate,
}

/// Resamples of a bootstrap.
const RESAMPLES: u64 = 500;

impl Variance {
    /// Samples by a Sobol sequence where it has enough dimensions, by chance otherwise.
    pub fn new(parameters: usize, points: usize, seed: u64) -> Self {
        let sobol = (2 * parameters <= MOST_DIMENSIONS).then(|| Sobol::new(2 * parameters, seed));
        Self { parameters, points, seed, sobol }
    }

    /// Points in all.
    pub fn runs(&self) -> usize {
        self.points * (self.parameters + 2)
    }

    fn coordinate(&self, dimension: usize, point: usize) -> f64 {
        match &self.sobol {
            Some(sobol) => sobol.coordinate(dimension, point as u64),
            None => uniform(self.seed, dimension, point as u64),
        }
    }

    /// A point: rows of A, B, then A with a column of B, next to each other.
    pub fn point(&self, run: usize) -> Vec<f64> {
        let (row, which) = (run / (self.parameters + 2), run % (self.parameters + 2));
        (0..self.parameters)
            .map(|parameter| {
                let is_b = which == 1 || which == parameter + 2;
                let dimension = if is_b { self.parameters + parameter } else { parameter };
                self.coordinate(dimension, row)
            })
            .collect()
    }

    /// The indices of all parameters for a metric, from its values at all points; rows with a value
    /// that is not a number are left out. `None` where the metric does not vary.
    pub fn indices(&self, values: &[f64]) -> Option<Vec<Index>> {
        let rows: Vec<&[f64]> = values
            .chunks_exact(self.parameters + 2)
            .filter(|row| row.iter().all(|x| x.is_finite()))
            .collect();
        let n = rows.len();
        let whole = self.estimates(&rows, &mut (0..n))?;
        // Rows are drawn again with replacement; each resample is the same on every machine.
        let mut resampled: Vec<Vec<(f64, f64)>> = Vec::new();
        for resample in 0..RESAMPLES {
            let draw = |i: u64| {
                (uniform(self.seed ^ 0x5E5A_3D1E, resample as usize, i) * n as f64) as usize
            };
            let mut chosen = (0..n as u64).map(|i| draw(i).min(n - 1));
            resampled.extend(self.estimates(&rows, &mut chosen));
        }
        let index = |parameter: usize| {
            let estimate = |of: fn(&(f64, f64)) -> f64| {
                let mut all: Vec<f64> = resampled.iter().map(|one| of(&one[parameter])).collect();
                all.sort_by(f64::total_cmp);
                let quantile =
                    |u: f64| all.get(((all.len() - 1) as f64 * u).round() as usize).copied();
                let value = of(&whole[parameter]);
                Estimate {
                    value,
                    low: quantile(0.025).unwrap_or(value),
                    high: quantile(0.975).unwrap_or(value),
                }
            };
            Index { first: estimate(|one| one.0), total: estimate(|one| one.1) }
        };
        Some((0..self.parameters).map(index).collect())
    }

    /// First-order and total indices from some rows.
    ///
    /// With means taken off: S_i = ⟨f(B)·(f(AB_i) − f(A))⟩/V, S_Ti = ⟨(f(A) − f(AB_i))²⟩/(2·V).
    fn estimates(
        &self,
        rows: &[&[f64]],
        chosen: &mut dyn Iterator<Item = usize>,
    ) -> Option<Vec<(f64, f64)>> {
        let chosen: Vec<&[f64]> = chosen.map(|i| rows[i]).collect();
        let n = chosen.len() as f64;
        if chosen.len() < 2 {
            return None;
        }
        let mean = chosen.iter().map(|row| row[0] + row[1]).sum::<f64>() / (2.0 * n);
        let squares: f64 =
            chosen.iter().map(|row| (row[0] - mean).powi(2) + (row[1] - mean).powi(2)).sum();
        let variance = squares / (2.0 * n);
        // A metric that differs by rounding alone does not vary.
        if variance.sqrt() <= 1e-12 * mean.abs() || variance <= 0.0 {
            return None;
        }
        let of = |parameter: usize| {
            let (mut first, mut total) = (0.0, 0.0);
            for row in &chosen {
                let change = row[parameter + 2] - row[0];
                first += (row[1] - mean) * change;
                total += change * change;
            }
            (first / n / variance, total / (2.0 * n) / variance)
        };
        Some((0..self.parameters).map(of).collect())
    }
}

/// A point of the unit cube as values of parameters.
pub fn at(vary: &[crate::vary::Vary], point: &[f64]) -> Variant {
    vary.iter().zip(point).map(|(vary, &u)| vary.quantile(u)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// Ishigami and Homma (1990): f = sin x₁ + a·sin² x₂ + b·x₃⁴·sin x₁ with a = 7, b = 0.1, whose
    /// indices are known in closed form.
    fn ishigami(u: &[f64]) -> f64 {
        let x: Vec<f64> = u.iter().map(|u| PI * (2.0 * u - 1.0)).collect();
        x[0].sin() + 7.0 * x[1].sin().powi(2) + 0.1 * x[2].powi(4) * x[0].sin()
    }

    #[test]
    fn sobol_indices_of_the_ishigami_function_are_right_within_one_percent() {
        let (a, b) = (7.0, 0.1);
        let v1 = 0.5 * (1.0 + b * PI.powi(4) / 5.0).powi(2);
        let v2 = a * a / 8.0;
        let v13 = b * b * PI.powi(8) * (1.0 / 18.0 - 1.0 / 50.0);
        let v = v1 + v2 + v13;
        let exact = [(v1, v1 + v13), (v2, v2), (0.0, v13)].map(|(s, t)| (s / v, t / v));
        let study = Variance::new(3, 1 << 13, 7);
        let values: Vec<f64> = (0..study.runs()).map(|run| ishigami(&study.point(run))).collect();
        let found = study.indices(&values).unwrap();
        for (found, (first, total)) in found.iter().zip(exact) {
            assert!((found.first.value - first).abs() < 0.01, "{found:?} {first}");
            assert!((found.total.value - total).abs() < 0.01, "{found:?} {total}");
            assert!(found.first.low <= found.first.value && found.first.value <= found.first.high);
            assert!((found.total.low..=found.total.high).contains(&total), "{found:?} {total}");
        }
    }

    #[test]
    fn a_metric_that_does_not_vary_has_no_indices_and_failures_are_left_out() {
        let study = Variance::new(2, 64, 1);
        assert_eq!(study.indices(&vec![3.0; study.runs()]), None);
        let mut values: Vec<f64> = (0..study.runs()).map(|run| study.point(run)[0] * 5.0).collect();
        values[7] = f64::NAN;
        let found = study.indices(&values).unwrap();
        assert!((found[0].total.value - 1.0).abs() < 0.1 && found[1].total.value == 0.0);
    }

    /// A linear function has its slopes as effects, without spread; a product has spread.
    #[test]
    fn screening_tells_linear_effects_from_those_that_interact() {
        let study = Screening { parameters: 4, walks: 20, seed: 3 };
        let f = |u: &[f64]| 6.0 * u[0] - 2.0 * u[1] + 10.0 * u[2] * u[3];
        let values: Vec<f64> = (0..study.runs()).map(|run| f(&study.point(run))).collect();
        let found: Vec<Effect> = study.effects(&values).into_iter().flatten().collect();
        let half = 0.5;
        assert!((found[0].mean - 6.0 * half).abs() < 1e-12 && found[0].deviation < 1e-12);
        assert!((found[1].mean + 2.0 * half).abs() < 1e-12);
        assert!((found[1].size - 2.0 * half).abs() < 1e-12);
        assert!(found[2].deviation > 0.5 && found[3].deviation > 0.5);
        // Each walk changes every parameter once.
        for walk in 0..study.walks {
            let points: Vec<_> = (0..5).map(|i| study.point(walk * 5 + i)).collect();
            for pair in points.windows(2) {
                let changed = pair[0].iter().zip(&pair[1]).filter(|(a, b)| a != b).count();
                assert_eq!(changed, 1);
            }
            assert!(points[0].iter().zip(&points[4]).all(|(a, b)| (a - b).abs() == 0.5));
        }
    }
}
