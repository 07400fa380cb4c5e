//! CMA-ES: an evolution strategy that learns the shape of the valley (Hansen: The CMA evolution
//! strategy, a tutorial; 2016), with restarts of doubled population (Auger, Hansen 2005).
//!
//! Bounds are mirrors: a point outside the unit cube stands for its mirror image inside, so the
//! distribution itself knows no bounds.

use crate::linear::{dot, svd};
use crate::random::Random;
use crate::{Optimiser, Point, Value, ranked};

/// The search.
#[derive(Clone, Debug)]
pub struct CmaEs {
    random: Random,
    start: Point,
    first_sigma: f64,
    first_population: usize,
    tolerance: f64,
    restarts: usize,
    doubled: u32,
    state: Distribution,
    asked: Vec<Point>,
    /// Best values of the last generations, to see that nothing moves.
    history: Vec<f64>,
    has_ended: bool,
}

/// The distribution that points are drawn from.
#[derive(Clone, Debug)]
struct Distribution {
    mean: Point,
    sigma: f64,
    /// C, by columns.
    covariance: Vec<Vec<f64>>,
    /// Its eigenvectors, and the roots of its eigenvalues.
    axes: Vec<Vec<f64>>,
    lengths: Vec<f64>,
    path: Vec<f64>,
    sigma_path: Vec<f64>,
    generation: u64,
    weights: Vec<f64>,
    population: usize,
}

impl Distribution {
    fn new(mean: Point, sigma: f64, population: usize) -> Self {
        let n = mean.len();
        let identity: Vec<Vec<f64>> =
            (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let half = (population as f64 + 1.0) / 2.0;
        let raw: Vec<f64> =
            (1..=population / 2).map(|i| libm::log(half) - libm::log(i as f64)).collect();
        let sum: f64 = raw.iter().sum();
        Self {
            mean,
            sigma,
            covariance: identity.clone(),
            axes: identity,
            lengths: vec![1.0; n],
            path: vec![0.0; n],
            sigma_path: vec![0.0; n],
            generation: 0,
            weights: raw.iter().map(|w| w / sum).collect(),
            population,
        }
    }

    fn draw(&self, random: &mut Random) -> Point {
        let n = self.mean.len();
        let z: Vec<f64> = self.lengths.iter().map(|length| length * random.normal()).collect();
        let along = |i: usize| (0..n).map(|k| self.axes[k][i] * z[k]).sum::<f64>();
        (0..n).map(|i| self.mean[i] + self.sigma * along(i)).collect()
    }

    /// Learns from the points of a generation, best first.
    fn learn(&mut self, best: &[&Point]) {
        let n = self.mean.len();
        let size = n as f64;
        let mu_eff = 1.0 / self.weights.iter().map(|w| w * w).sum::<f64>();
        let c_sigma = (mu_eff + 2.0) / (size + mu_eff + 5.0);
        let damping = 1.0 + 2.0 * (((mu_eff - 1.0) / (size + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma;
        let c_c = (4.0 + mu_eff / size) / (size + 4.0 + 2.0 * mu_eff / size);
        let c_1 = 2.0 / ((size + 1.3) * (size + 1.3) + mu_eff);
        let c_mu = (1.0 - c_1)
            .min(2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((size + 2.0) * (size + 2.0) + mu_eff));
        let expected = size.sqrt() * (1.0 - 1.0 / (4.0 * size) + 1.0 / (21.0 * size * size));
        let steps: Vec<Vec<f64>> = best
            .iter()
            .take(self.weights.len())
            .map(|point| (0..n).map(|i| (point[i] - self.mean[i]) / self.sigma).collect())
            .collect();
        let mean_step: Vec<f64> = (0..n)
            .map(|i| self.weights.iter().zip(&steps).map(|(w, y)| w * y[i]).sum::<f64>())
            .collect();
        for (m, y) in self.mean.iter_mut().zip(&mean_step) {
            *m += self.sigma * y;
        }
        // C^(−1/2)·y: along the axes, each divided by its length.
        let mut whitened = vec![0.0; n];
        for (axis, length) in self.axes.iter().zip(&self.lengths) {
            let share = dot(axis, &mean_step) / length;
            whitened.iter_mut().zip(axis).for_each(|(w, a)| *w += share * a);
        }
        let gain = (c_sigma * (2.0 - c_sigma) * mu_eff).sqrt();
        for (p, w) in self.sigma_path.iter_mut().zip(&whitened) {
            *p = (1.0 - c_sigma) * *p + gain * w;
        }
        self.generation += 1;
        let length = dot(&self.sigma_path, &self.sigma_path).sqrt();
        let fading = 1.0 - libm::pow(1.0 - c_sigma, 2.0 * self.generation as f64);
        let is_steady = length / fading.sqrt() < (1.4 + 2.0 / (size + 1.0)) * expected;
        let gain = if is_steady { (c_c * (2.0 - c_c) * mu_eff).sqrt() } else { 0.0 };
        for (p, y) in self.path.iter_mut().zip(&mean_step) {
            *p = (1.0 - c_c) * *p + gain * y;
        }
        let loss = if is_steady { 0.0 } else { c_1 * c_c * (2.0 - c_c) };
        for i in 0..n {
            for j in 0..=i {
                let rank_mu: f64 =
                    self.weights.iter().zip(&steps).map(|(w, y)| w * y[i] * y[j]).sum();
                let kept = (1.0 - c_1 - c_mu + loss) * self.covariance[j][i];
                let entry = kept + c_1 * self.path[i] * self.path[j] + c_mu * rank_mu;
                self.covariance[i][j] = entry;
                self.covariance[j][i] = entry;
            }
        }
        self.sigma *= libm::exp((c_sigma / damping * (length / expected - 1.0)).min(1.0));
        let found = svd(&self.covariance);
        self.axes = found.v;
        let largest = found.sigma[0];
        self.lengths = found.sigma.iter().map(|s| s.max(1e-16 * largest).sqrt()).collect();
    }

    fn extent(&self) -> f64 {
        self.sigma * self.lengths[0]
    }
}

/// The mirror image in 0…1.
fn mirrored(x: f64) -> f64 {
    let x = x.rem_euclid(2.0);
    if x > 1.0 { 2.0 - x } else { x }
}

impl CmaEs {
    /// Around a point, with a first standard deviation as share of the range; `population` 0 for
    /// what suits the number of coordinates.
    pub fn new(
        start: &[f64],
        sigma: f64,
        population: usize,
        tolerance: f64,
        restarts: usize,
        seed: u64,
    ) -> Self {
        let usual = 4 + (3.0 * libm::log(start.len() as f64)) as usize;
        let population = if population == 0 { usual } else { population.max(4) };
        let mut one = Self {
            random: Random::new(seed),
            start: start.to_vec(),
            first_sigma: sigma,
            first_population: population,
            tolerance,
            restarts,
            doubled: 0,
            state: Distribution::new(start.to_vec(), sigma, population),
            asked: Vec::new(),
            history: Vec::new(),
            has_ended: false,
        };
        one.draw();
        one
    }

    fn draw(&mut self) {
        self.asked =
            (0..self.state.population).map(|_| self.state.draw(&mut self.random)).collect();
    }

    fn has_settled(&self) -> bool {
        let n = self.start.len();
        let window = 10 + (30 * n).div_ceil(self.state.population);
        let is_flat = self.history.len() > window && {
            let last = &self.history[self.history.len() - window..];
            let high = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let low = last.iter().copied().fold(f64::INFINITY, f64::min);
            low.is_infinite() || high - low <= 1e-13 * (high.abs() + low.abs())
        };
        let spread = self.state.lengths[0] / self.state.lengths[n - 1];
        is_flat || self.state.extent() < self.tolerance || spread > 1e7 || self.state.sigma > 1e3
    }
}

impl Optimiser for CmaEs {
    fn ask(&mut self) -> Vec<Point> {
        match self.has_ended {
            true => Vec::new(),
            false => {
                let inside = |point: &Point| point.iter().map(|&x| mirrored(x)).collect();
                self.asked.iter().map(inside).collect()
            }
        }
    }

    fn tell(&mut self, values: &[Value]) {
        let order = ranked(values);
        self.history.push(values[order[0]].objective());
        let best: Vec<&Point> = order.iter().map(|&i| &self.asked[i]).collect();
        self.state.learn(&best);
        if self.has_settled() {
            if self.restarts == 0 {
                self.has_ended = true;
                return;
            }
            self.restarts -= 1;
            self.doubled += 1;
            let n = self.start.len();
            let mean: Point = (0..n).map(|_| self.random.uniform()).collect();
            let population = self.first_population << self.doubled.min(16);
            self.state = Distribution::new(mean, self.first_sigma, population);
            self.history.clear();
        }
        self.draw();
    }
}
