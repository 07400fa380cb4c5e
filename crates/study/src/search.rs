//! Searching: an optimiser asks, an ensemble answers, a log remembers.
//!
//! Every variant is computed once. The log of all of them is also the saved state: an interrupted
//! study tells the optimiser what the log holds, and so comes to where it was, bit for bit.

use crate::derivative::{gradient, rows};
use crate::ensemble::{Ensemble, Evaluation, Outcome, Reason, ReasonKind, Variant};
use crate::file::StudyFile;
use crate::fit::Fit;
use crate::journal::Journal;
use crate::metric::Metrics;
use crate::team::{self, Helpers};
use fluxline_core::variables::Variables;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics};
use fluxline_optimise::levenberg_marquardt::LevenbergMarquardt;
use fluxline_optimise::space::Space;
use fluxline_optimise::{Optimiser, Value};
use fluxline_units::{Dimension, Quantity};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;

/// Says what a run is worth.
pub trait Judge {
    /// The numbers that are kept of a run.
    fn metrics(&self, evaluation: &Evaluation) -> Vec<f64>;
    /// What they are worth.
    fn value(&self, metrics: &[f64]) -> Value;
    /// How that changes where they change by these; none where it has no derivative.
    fn slope(&self, changes: &[f64]) -> Option<f64> {
        let _ = changes;
        None
    }
}

/// The numbers kept of a run, or why there are none.
pub type Kept = Result<Vec<f64>, Reason>;

/// A variant that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Its values, in SI units.
    pub variant: Variant,
    /// What is kept of its run.
    pub outcome: Kept,
    /// What it is worth.
    pub value: Value,
}

/// Why a search ended.
#[derive(Debug)]
pub enum Ended {
    /// The method came to its end.
    Converged,
    /// As many runs as were allowed.
    Budget,
    /// From outside.
    Interrupted,
    /// The log cannot be written.
    Unwritten(io::Error),
}

/// Runs of a study: computes, remembers, logs.
pub struct Runs<'a, 'm> {
    ensemble: &'a Ensemble<'m>,
    /// Processes that share the work.
    helpers: Option<&'a dyn Helpers>,
    judge: &'a dyn Judge,
    budget: u64,
    /// What an earlier attempt has computed.
    known: Vec<Kept>,
    journal: Option<Journal>,
    /// All variants, in the order in which they were tried.
    pub log: Vec<Tried>,
    numbers: HashMap<Vec<u64>, usize>,
    best: Option<usize>,
    /// How many were simulated, not remembered.
    pub simulated: u64,
}

impl<'a, 'm> Runs<'a, 'm> {
    /// Of an ensemble, with what an earlier attempt has computed.
    pub fn new(
        ensemble: &'a Ensemble<'m>,
        judge: &'a dyn Judge,
        budget: u64,
        known: Vec<Kept>,
        journal: Option<Journal>,
    ) -> Self {
        Self {
            ensemble,
            helpers: None,
            judge,
            budget,
            known,
            journal,
            log: Vec::new(),
            numbers: HashMap::new(),
            best: None,
            simulated: 0,
        }
    }

    /// Shared with other processes, which changes no result.
    pub fn shared_with(self, helpers: Option<&'a dyn Helpers>) -> Self {
        Self { helpers, ..self }
    }

    /// The best variant so far.
    pub fn best(&self) -> Option<&Tried> {
        self.best.map(|index| &self.log[index])
    }

    /// Its number in the log.
    pub fn best_number(&self) -> Option<usize> {
        self.best
    }

    /// How many are allowed.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// The log file, to be finished or kept.
    pub fn into_journal(self) -> (Vec<Tried>, Option<Journal>) {
        (self.log, self.journal)
    }

    /// Failures by their reasons, with the first of each.
    pub fn failures(&self) -> Vec<(ReasonKind, u64, &Tried)> {
        failures(&self.log)
    }

    fn remember(&mut self, variant: Variant, outcome: Kept) -> usize {
        let value = match &outcome {
            Ok(metrics) if metrics.iter().all(|x| x.is_finite()) => self.judge.value(metrics),
            _ => Value::failed(),
        };
        let index = self.log.len();
        if !value.is_failed() && self.best.is_none_or(|best| value.beats(&self.log[best].value)) {
            self.best = Some(index);
        }
        self.log.push(Tried { variant, outcome, value });
        index
    }

    /// Computes variants; numbers in the log, in their order. `watch` sees each new one.
    pub fn evaluate(
        &mut self,
        variants: Vec<Variant>,
        watch: &mut dyn FnMut(&Self),
    ) -> Result<Vec<usize>, Ended> {
        let key = |variant: &Variant| variant.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        // New ones, each once.
        let mut new: Vec<Variant> = Vec::new();
        let keys: Vec<Vec<u64>> = variants.iter().map(key).collect();
        for (variant, key) in variants.into_iter().zip(&keys) {
            if !self.numbers.contains_key(key) {
                self.numbers.insert(key.clone(), self.log.len() + new.len());
                new.push(variant);
            }
        }
        let allowed = (self.budget - self.log.len() as u64).min(new.len() as u64) as usize;
        let is_cut = allowed < new.len();
        new.truncate(allowed);
        self.run(new, watch, &mut |_, _| {})?;
        match is_cut {
            true => Err(Ended::Budget),
            false => Ok(keys.iter().map(|key| self.numbers[key]).collect()),
        }
    }

    /// Computes variants, each of them anew, and hands whole evaluations on.
    pub fn evaluate_whole(
        &mut self,
        variants: Vec<Variant>,
        watch: &mut dyn FnMut(&Self),
    ) -> Result<Vec<Option<Evaluation>>, Ended> {
        let allowed = (self.budget - self.log.len() as u64).min(variants.len() as u64) as usize;
        let is_cut = allowed < variants.len();
        let mut all: Vec<Option<Evaluation>> = vec![None; variants.len()];
        let known = std::mem::take(&mut self.known);
        let logged = known.len();
        // Only what is logged is known: all is computed again, but not written again.
        let journal = self.journal.take();
        let already = logged.saturating_sub(self.log.len()).min(allowed);
        let mut variants: Vec<Variant> = variants.into_iter().take(allowed).collect();
        let rest = variants.split_off(already);
        let first = self.run(variants, watch, &mut |i, one| all[i] = Some(one));
        self.journal = journal;
        let second =
            first.and_then(|()| self.run(rest, watch, &mut |i, one| all[already + i] = Some(one)));
        self.known = known;
        second?;
        if is_cut { Err(Ended::Budget) } else { Ok(all) }
    }

    fn run(
        &mut self,
        variants: Vec<Variant>,
        watch: &mut dyn FnMut(&Self),
        whole: &mut dyn FnMut(usize, Evaluation),
    ) -> Result<(), Ended> {
        let mut variants = variants;
        let begin = self.log.len();
        let remembered = self.known.len().saturating_sub(begin).min(variants.len());
        let rest = variants.split_off(remembered);
        for variant in variants {
            let outcome = self.known[self.log.len()].clone();
            self.remember(variant, outcome);
        }
        if rest.is_empty() {
            return Ok(());
        }
        let mut failure = None;
        let mut count = 0;
        let (ensemble, helpers, judge) = (self.ensemble, self.helpers, self.judge);
        let variant = |i: usize| rest[i].clone();
        let mut hand_on = |i: usize, outcome: Outcome| {
            count += 1;
            self.simulated += 1;
            let kept = outcome.as_ref().map(|one| judge.metrics(one)).map_err(Clone::clone);
            if let Some(journal) = &mut self.journal {
                let row = kept.clone().map(|metrics| Evaluation { metrics, rows: Vec::new() });
                if let Err(error) = journal.add(&rest[i], &row)
                    && failure.is_none()
                {
                    failure = Some(error);
                    ensemble.stop.store(true, Ordering::Relaxed);
                }
            }
            self.remember(rest[i].clone(), kept);
            if let Ok(evaluation) = outcome {
                whole(i, evaluation);
            }
            watch(self);
        };
        match helpers {
            None => ensemble.evaluate_each(rest.len(), &variant, &mut hand_on),
            Some(helpers) => {
                team::evaluate_each(ensemble, helpers, rest.len(), &variant, &mut hand_on);
            }
        }
        match failure {
            Some(error) => Err(Ended::Unwritten(error)),
            None if count < rest.len() => Err(Ended::Interrupted),
            None => Ok(()),
        }
    }
}

/// Failures by their reasons, with the first of each.
pub fn failures(log: &[Tried]) -> Vec<(ReasonKind, u64, &Tried)> {
    let mut all: Vec<(ReasonKind, u64, &Tried)> = Vec::new();
    for tried in log {
        if let Err(reason) = &tried.outcome {
            match all.iter_mut().find(|(kind, ..)| *kind == reason.kind) {
                Some((_, count, _)) => *count += 1,
                None => all.push((reason.kind, 1, tried)),
            }
        }
    }
    all
}

/// Where there are levels only, a method may ask for what is known already for ever.
const MOST_IDLE: u32 = 300;

/// Lets an optimiser ask until it ends. One that wants derivatives gets exact ones, through the run, as
/// long as parameters and objective have them and `slopes` refuses nothing.
pub fn optimise(
    runs: &mut Runs,
    optimiser: &mut dyn Optimiser,
    space: &Space,
    slopes: &mut Slopes,
    watch: &mut dyn FnMut(&Runs),
) -> Ended {
    let mut idle = 0;
    loop {
        if slopes.refusal.is_none()
            && let Some(point) = optimiser.wants_derivatives()
        {
            let judge = runs.judge;
            let whole = |all: &Vec<f64>| judge.slope(all);
            match gradient(runs.ensemble, space, point) {
                Ok(found) => match found.slopes.iter().map(whole).collect() {
                    Some(objective) => {
                        slopes.exact += found.runs as u64;
                        optimiser.tell_derivatives(objective);
                    }
                    None => slopes.refuse("the objective has no derivatives"),
                },
                Err(_) if runs.ensemble.stop.load(Ordering::Relaxed) => return Ended::Interrupted,
                Err(refused) => slopes.refuse(&refused.first_error()),
            }
            continue;
        }
        let points = optimiser.ask();
        if points.is_empty() || idle > MOST_IDLE {
            return Ended::Converged;
        }
        let variants = points.iter().map(|point| space.decode(point)).collect();
        let before = runs.log.len();
        match runs.evaluate(variants, watch) {
            Ok(numbers) => {
                idle = if runs.log.len() == before { idle + 1 } else { 0 };
                let values: Vec<Value> =
                    numbers.iter().map(|&number| runs.log[number].value.clone()).collect();
                optimiser.tell(&values);
            }
            Err(ended) => return ended,
        }
    }
}

/// How a method came by its derivatives.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Slopes {
    /// Runs that carried derivatives.
    pub exact: u64,
    /// Why there are none of them, or no more: then by differences of runs.
    pub refusal: Option<String>,
}

impl Slopes {
    fn refuse(&mut self, why: &str) {
        self.refusal = Some(why.to_owned());
    }

    /// Differences of runs from the beginning.
    pub fn by_differences(why: &str) -> Self {
        Self { exact: 0, refusal: Some(why.to_owned()) }
    }
}

/// Lets a method of least squares ask until it ends. Derivatives are exact, through the run, as long as
/// the parameters have them and `slopes` refuses nothing; otherwise differences of runs.
pub fn least_squares(
    runs: &mut Runs,
    method: &mut LevenbergMarquardt,
    space: &Space,
    fit: &Fit,
    slopes: &mut Slopes,
    watch: &mut dyn FnMut(&Runs),
) -> Ended {
    let residuals = |one: &Evaluation| fit.residuals(one);
    loop {
        if slopes.refusal.is_none()
            && let Some(point) = method.wants_derivatives().cloned()
        {
            match rows(runs.ensemble, space, &point) {
                Ok(found) => {
                    slopes.exact += found.runs as u64;
                    let by = |rows: &Vec<f64>| fit.residual_slopes(rows);
                    method.tell_derivatives(found.slopes.iter().map(by).collect());
                }
                Err(_) if runs.ensemble.stop.load(Ordering::Relaxed) => return Ended::Interrupted,
                Err(refused) => slopes.refuse(&refused.first_error()),
            }
            continue;
        }
        let points = method.ask();
        if points.is_empty() {
            return Ended::Converged;
        }
        let variants = points.iter().map(|point| space.decode(point)).collect();
        match runs.evaluate_whole(variants, watch) {
            Ok(all) => {
                let told: Vec<_> = all.iter().map(|one| one.as_ref().map(&residuals)).collect();
                method.tell(&told);
            }
            Err(ended) => return ended,
        }
    }
}

/// Objectives and constraints of a study.
#[derive(Clone, Debug)]
pub struct Goals {
    /// The metrics: of the objectives, then of the constraints.
    pub metrics: Vec<String>,
    /// Dimensions of the metrics.
    pub dimensions: Vec<Dimension>,
    /// Factors of the objectives: weight over scale, negative for what is to be made large.
    factors: Vec<f64>,
    /// What violations are measured by.
    scales: Vec<f64>,
    is_pareto: bool,
}

impl Goals {
    /// Reads the metrics of a study; each problem is shown where the study file has it.
    pub fn of(study: &StudyFile, variables: &Variables) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut dimension = |metric: &str, at| match Metrics::parse([metric], variables) {
            Ok(read) => read.all.first().map(|one| one.dimension),
            Err(problem) => {
                problems.push(problem.at(at, "cannot be computed"));
                None
            }
        };
        let of_objectives: Vec<Option<Dimension>> =
            study.objectives.iter().map(|one| dimension(&one.metric, one.at)).collect();
        let of_constraints: Vec<Option<Dimension>> =
            study.constraints.iter().map(|one| dimension(&one.metric, one.at)).collect();
        let is_pareto = study.method.method.is_pareto;
        let several = study.objectives.len() > 1 && !is_pareto;
        for (one, dimension) in study.objectives.iter().zip(&of_objectives) {
            let Some(dimension) = dimension else { continue };
            match &one.scale {
                Some((scale, at)) if scale.dimension != *dimension => {
                    let message = format!(
                        "`{}` is {}, but its scale {scale} is {}",
                        one.metric,
                        dimension.with_article(),
                        scale.dimension.with_article()
                    );
                    let example = Quantity::new(1.0, *dimension).to_exact_string();
                    problems.push(
                        Diagnostic::error(Code::WrongDimension, message)
                            .at(*at, format!("expected a value such as \"{example}\"")),
                    );
                }
                None if several && !dimension.is_dimensionless() => {
                    let example = Quantity::new(1.0, *dimension).to_exact_string();
                    let message = format!(
                        "objectives are added up, and `{}` is {}",
                        one.metric,
                        dimension.with_article()
                    );
                    problems.push(
                        Diagnostic::error(Code::BadStudy, message)
                            .at(one.at, "has no scale")
                            .help(format!("say what counts as one: `scale = \"{example}\"`"))
                            .help("or look for the best compromises: `method = \"nsga2\"`"),
                    );
                }
                _ => {}
            }
        }
        if problems.has_errors() {
            return Err(problems);
        }
        let factor = |one: &crate::file::Objective| {
            let scale = one.scale.map_or(1.0, |(scale, _)| scale.value);
            one.weight / if one.is_most { -scale } else { scale }
        };
        let texts = study.objectives.iter().map(|one| one.metric.clone());
        Ok(Self {
            metrics: texts.chain(study.constraints.iter().map(|one| one.metric.clone())).collect(),
            dimensions: of_objectives.into_iter().chain(of_constraints).flatten().collect(),
            factors: study.objectives.iter().map(factor).collect(),
            scales: study.constraints.iter().map(|one| one.scale).collect(),
            is_pareto,
        })
    }
}

impl Judge for Goals {
    fn metrics(&self, evaluation: &Evaluation) -> Vec<f64> {
        evaluation.metrics.clone()
    }

    fn value(&self, metrics: &[f64]) -> Value {
        let (objectives, constraints) = metrics.split_at(self.factors.len());
        let each = objectives.iter().zip(&self.factors).map(|(x, factor)| x * factor);
        let objectives = match self.is_pareto {
            true => each.collect(),
            false => vec![each.sum()],
        };
        let beyond = constraints.iter().zip(&self.scales).map(|(x, scale)| x.max(0.0) / scale);
        Value::new(objectives, beyond.sum())
    }

    fn slope(&self, changes: &[f64]) -> Option<f64> {
        let is_plain = !self.is_pareto && self.scales.is_empty();
        is_plain.then(|| changes.iter().zip(&self.factors).map(|(x, factor)| x * factor).sum())
    }
}
