//! Levenberg–Marquardt for sums of squares, with bounds (Marquardt 1963; Moré 1978).
//!
//! With residuals r, derivatives J and the lengths D of its columns, the step solves
//! ((J/D)ᵀ(J/D) + λI)·D·δ = −(J/D)ᵀr. One singular value decomposition of J/D gives it for every λ,
//! δ = −D⁻¹·V·diag(σ/(σ²+λ))·Uᵀ·r, so several are tried at once. Coordinates at a bound that the step
//! would cross are held. Points are asked for in batches, as by an [`Optimiser`](crate::Optimiser);
//! what is told of each is the whole vector of residuals.

use crate::linear::{Svd, dot, svd};
use crate::quasi_newton::differences;
use crate::random::Random;
use crate::{Point, clamp};

/// The residuals of a point; `None` when it could not be computed.
pub type Residuals = Option<Vec<f64>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Points spread over the space, to begin from the best of them.
    Sample,
    /// Both sides of each coordinate.
    Derivatives,
    /// Steps with some λ.
    Steps,
    Ended,
}

/// How it goes about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Points to choose the beginning from, beside the start.
    pub samples: usize,
    /// The step of differences, as a share of the range.
    pub difference: f64,
    /// It ends when a step brings less than this share, or is shorter than this share of the range.
    pub tolerance: f64,
    /// Iterations at most.
    pub iterations: u64,
    /// Points that it goes on from after the first has ended; the best of the samples first.
    pub starts: usize,
}

/// The search.
#[derive(Clone, Debug)]
pub struct LevenbergMarquardt {
    settings: Settings,
    point: Point,
    residuals: Vec<f64>,
    cost: f64,
    jacobian: Vec<Vec<f64>>,
    lambda: f64,
    phase: Phase,
    asked: Vec<Point>,
    lambdas: Vec<f64>,
    iteration: u64,
    /// Samples that were not begun from, best last.
    waiting: Vec<(Point, Vec<f64>)>,
    best: Option<(Point, f64)>,
}

/// λ is tried at these multiples of the last one, and beyond when none of them helps.
const AROUND: [f64; 4] = [0.01, 0.1, 1.0, 10.0];

impl LevenbergMarquardt {
    /// From a point.
    pub fn new(start: &[f64], settings: Settings, seed: u64) -> Self {
        let mut asked = Random::new(seed).latin_hypercube(settings.samples.max(1), start.len());
        asked.truncate(settings.samples);
        asked.insert(0, start.to_vec());
        Self {
            settings,
            point: start.to_vec(),
            residuals: Vec::new(),
            cost: f64::INFINITY,
            jacobian: Vec::new(),
            lambda: 1e-2,
            phase: Phase::Sample,
            asked,
            lambdas: Vec::new(),
            iteration: 0,
            waiting: Vec::new(),
            best: None,
        }
    }

    /// The best point, and half the sum of its squares.
    pub fn best(&self) -> Option<(&Point, f64)> {
        self.best.as_ref().map(|(point, cost)| (point, *cost))
    }

    /// The points to compute; none at the end.
    pub fn ask(&mut self) -> Vec<Point> {
        self.asked.clone()
    }

    /// The point at which derivatives are needed next: whoever has them need not compute the points
    /// that are asked for.
    pub fn wants_derivatives(&self) -> Option<&Point> {
        (self.phase == Phase::Derivatives).then_some(&self.point)
    }

    /// The derivatives of all residuals there, by coordinate, in place of what was asked for.
    pub fn tell_derivatives(&mut self, jacobian: Vec<Vec<f64>>) {
        if self.phase == Phase::Derivatives {
            self.jacobian = jacobian;
            self.ask_steps();
        }
    }

    /// What they gave.
    pub fn tell(&mut self, told: &[Residuals]) {
        for (point, residuals) in self.asked.iter().zip(told) {
            let cost = cost(residuals);
            if cost.is_finite() && self.best.as_ref().is_none_or(|best| cost < best.1) {
                self.best = Some((point.clone(), cost));
            }
        }
        match self.phase {
            Phase::Sample => {
                let samples = std::mem::take(&mut self.asked);
                let mut found: Vec<(Point, Vec<f64>)> = samples
                    .into_iter()
                    .zip(told)
                    .filter_map(|(point, residuals)| {
                        let residuals = residuals.clone().filter(|r| half_square(r).is_finite())?;
                        Some((point, residuals))
                    })
                    .collect();
                found.sort_by(|a, b| half_square(&b.1).total_cmp(&half_square(&a.1)));
                let keep = found.len().saturating_sub(self.settings.starts.max(1));
                self.waiting = found.split_off(keep);
                self.begin_next();
            }
            Phase::Derivatives => self.take_derivatives(told),
            Phase::Steps => self.take_step(told),
            Phase::Ended => {}
        }
    }

    fn begin_next(&mut self) {
        match self.waiting.pop() {
            None => {
                self.phase = Phase::Ended;
                self.asked.clear();
            }
            Some((point, residuals)) => {
                self.cost = half_square(&residuals);
                (self.point, self.residuals) = (point, residuals);
                self.lambda = 1e-2;
                self.iteration = 0;
                self.ask_derivatives();
            }
        }
    }

    fn ask_derivatives(&mut self) {
        self.iteration += 1;
        if self.iteration > self.settings.iterations {
            return self.begin_next();
        }
        self.asked = differences(&self.point, self.settings.difference);
        self.phase = Phase::Derivatives;
    }

    fn take_derivatives(&mut self, told: &[Residuals]) {
        let n = self.point.len();
        self.jacobian = (0..n)
            .map(|i| {
                let (above, below) = (2 * i, 2 * i + 1);
                // Where one side fails, the other one serves.
                let centre = (self.point[i], Some(&self.residuals));
                let side = |k: usize| match &told[k] {
                    Some(residuals) => (self.asked[k][i], Some(residuals)),
                    None => centre,
                };
                let ((x, r), (y, s)) = (side(above), side(below));
                let between = x - y;
                let (Some(r), Some(s)) = (r, s) else { return Vec::new() };
                let slope = |(a, b): (&f64, &f64)| {
                    if between == 0.0 { 0.0 } else { (a - b) / between }
                };
                r.iter().zip(s).map(slope).collect()
            })
            .collect();
        self.ask_steps();
    }

    fn ask_steps(&mut self) {
        self.lambdas = AROUND.iter().map(|factor| factor * self.lambda).collect();
        let decomposition = self.decompose(&vec![true; self.point.len()]);
        self.asked = self.lambdas.iter().map(|&lambda| self.step(&decomposition, lambda)).collect();
        self.phase = Phase::Steps;
    }

    /// The free columns of J/D, decomposed, with their numbers and lengths.
    fn decompose(&self, is_free: &[bool]) -> (Svd, Vec<(usize, f64)>) {
        let length = |i: usize| dot(&self.jacobian[i], &self.jacobian[i]).sqrt();
        let columns: Vec<(usize, f64)> = (0..is_free.len())
            .filter(|&i| is_free[i])
            .map(|i| (i, length(i)))
            .filter(|(_, length)| *length > 0.0 && length.is_finite())
            .collect();
        let scaled: Vec<Vec<f64>> = columns
            .iter()
            .map(|&(i, length)| self.jacobian[i].iter().map(|x| x / length).collect())
            .collect();
        (svd(&scaled), columns)
    }

    fn step(&self, (svd, columns): &(Svd, Vec<(usize, f64)>), lambda: f64) -> Point {
        let mut delta = vec![0.0; self.point.len()];
        for (k, sigma) in svd.sigma.iter().enumerate() {
            let share = -sigma / (sigma * sigma + lambda) * dot(&svd.u[k], &self.residuals);
            for (&(i, length), v) in columns.iter().zip(&svd.v[k]) {
                delta[i] += share * v / length;
            }
        }
        // Those that the step pushes out are held, and the others go on without them.
        let is_out = |i: usize| {
            (self.point[i] <= 0.0 && delta[i] < 0.0) || (self.point[i] >= 1.0 && delta[i] > 0.0)
        };
        if columns.iter().any(|&(i, _)| is_out(i)) {
            let mut is_free = vec![false; self.point.len()];
            columns.iter().for_each(|&(i, _)| is_free[i] = !is_out(i));
            if is_free.iter().any(|&free| free) {
                return self.step(&self.decompose(&is_free), lambda);
            }
        }
        self.point.iter().zip(&delta).map(|(x, d)| clamp(x + d)).collect()
    }

    fn take_step(&mut self, told: &[Residuals]) {
        let costs: Vec<f64> = told.iter().map(cost).collect();
        let best = (0..costs.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap_or(0);
        let tolerance = self.settings.tolerance;
        if costs[best] < self.cost {
            let gain = (self.cost - costs[best]) / self.cost;
            let moved = self.asked[best].iter().zip(&self.point).map(|(a, b)| (a - b).abs());
            let moved = moved.fold(0.0, f64::max);
            let is_over = gain < tolerance || moved < 1e-3 * tolerance || costs[best] == 0.0;
            self.point = self.asked[best].clone();
            self.residuals = told[best].clone().unwrap_or_default();
            self.cost = costs[best];
            self.lambda = self.lambdas[best].clamp(1e-12, 1e8);
            match is_over {
                true => self.begin_next(),
                false => self.ask_derivatives(),
            }
        } else if self.lambda < 1e6 {
            self.lambda *= 1e3;
            self.ask_steps();
        } else {
            self.begin_next();
        }
    }
}

fn half_square(residuals: &[f64]) -> f64 {
    0.5 * dot(residuals, residuals)
}

fn cost(residuals: &Residuals) -> f64 {
    let cost = residuals.as_ref().map_or(f64::INFINITY, |r| half_square(r));
    if cost.is_nan() { f64::INFINITY } else { cost }
}
