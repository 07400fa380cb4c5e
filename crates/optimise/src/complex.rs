//! Complex-RF: the complex method of Box (1965) with randomisation and a forgetting factor (Krus,
//! Andersson: Optimizing optimization for design optimization; 2003).
//!
//! The worst of a cloud of points is reflected through the middle of the others. While it stays the
//! worst, it is drawn back, more and more towards the best: with ε = (n_r/(n_r+k−1))^((n_r+k−1)/n_r)
//! after k retreats, n_r = 4, the new point is half-way to ε·centroid + (1−ε)·best, and is shifted
//! along their difference by chance. Randomisation moves every new point by a share of the cloud's
//! extent, which keeps it from collapsing. Forgetting makes old values grow worse, so that a cloud
//! leaves points that were good by chance: f ← f + (f_max − f_min)·(1 − (α/2)^(γ/m)) at every turn.

use crate::random::Random;
use crate::{Optimiser, Point, Value, clamp};

/// The search.
#[derive(Clone, Debug)]
pub struct Complex {
    random: Random,
    cloud: Vec<(Point, Value)>,
    asked: Vec<Point>,
    /// The point that moves, and how often it was drawn back; none at the beginning.
    moving: Option<(usize, u32)>,
    reflection: f64,
    randomisation: f64,
    forgetting: f64,
    tolerance: f64,
    has_ended: bool,
}

impl Complex {
    /// A cloud of so many points, one of them the start; with its factors and the last size of the
    /// cloud.
    pub fn new(
        start: &[f64],
        points: usize,
        [reflection, randomisation, forgetting, tolerance]: [f64; 4],
        seed: u64,
    ) -> Self {
        let mut random = Random::new(seed);
        let mut asked = random.latin_hypercube(points.max(start.len() + 1), start.len());
        asked[0] = start.to_vec();
        Self {
            random,
            cloud: Vec::new(),
            asked,
            moving: None,
            reflection,
            randomisation,
            forgetting,
            tolerance,
            has_ended: false,
        }
    }

    fn worst(&self) -> usize {
        let all = 0..self.cloud.len();
        all.max_by(|&a, &b| self.cloud[a].1.compare(&self.cloud[b].1)).unwrap_or(0)
    }

    fn best(&self) -> usize {
        let all = 0..self.cloud.len();
        all.min_by(|&a, &b| self.cloud[a].1.compare(&self.cloud[b].1)).unwrap_or(0)
    }

    /// How far the cloud extends in a coordinate.
    fn extent(&self, i: usize) -> f64 {
        let all = || self.cloud.iter().map(|(point, _)| point[i]);
        all().fold(f64::NEG_INFINITY, f64::max) - all().fold(f64::INFINITY, f64::min)
    }

    fn centroid_without(&self, left_out: usize) -> Point {
        let count = (self.cloud.len() - 1) as f64;
        let others = || self.cloud.iter().enumerate().filter(|(i, _)| *i != left_out);
        let mean = |k: usize| others().map(|(_, (point, _))| point[k]).sum::<f64>() / count;
        (0..self.cloud[0].0.len()).map(mean).collect()
    }

    fn randomised(&mut self, mut point: Point) -> Point {
        let largest = (0..point.len()).map(|i| self.extent(i)).fold(0.0, f64::max);
        for x in &mut point {
            *x = clamp(*x + self.randomisation * largest * (self.random.uniform() - 0.5));
        }
        point
    }

    fn reflect(&mut self) {
        let worst = self.worst();
        let largest = (0..self.cloud[0].0.len()).map(|i| self.extent(i)).fold(0.0, f64::max);
        if largest < self.tolerance {
            self.has_ended = true;
            self.asked.clear();
            return;
        }
        let centroid = self.centroid_without(worst);
        let from = &self.cloud[worst].0;
        let through = centroid.iter().zip(from).map(|(c, w)| clamp(c + self.reflection * (c - w)));
        let point = through.collect();
        self.asked = vec![self.randomised(point)];
        self.moving = Some((worst, 0));
    }

    fn forget(&mut self) {
        let feasible = || self.cloud.iter().filter(|(_, value)| value.is_feasible());
        let all = || feasible().map(|(_, value)| value.objective());
        let range = all().fold(f64::NEG_INFINITY, f64::max) - all().fold(f64::INFINITY, f64::min);
        if !range.is_finite() || self.forgetting == 0.0 {
            return;
        }
        let power = self.forgetting / self.cloud.len() as f64;
        let grown = range * (1.0 - libm::pow(self.reflection / 2.0, power));
        for (_, value) in &mut self.cloud {
            if value.is_feasible() {
                value.objectives[0] += grown;
            }
        }
    }
}

impl Optimiser for Complex {
    fn ask(&mut self) -> Vec<Point> {
        if self.has_ended { Vec::new() } else { self.asked.clone() }
    }

    fn tell(&mut self, values: &[Value]) {
        let Some((moving, retreats)) = self.moving else {
            self.cloud = self.asked.iter().cloned().zip(values.iter().cloned()).collect();
            return self.reflect();
        };
        self.cloud[moving] = (self.asked[0].clone(), values[0].clone());
        if self.worst() != moving {
            self.forget();
            return self.reflect();
        }
        let k = f64::from(retreats + 1);
        const HOLD: f64 = 4.0;
        // Beyond some retreats the point is at the best one.
        if retreats > 40 {
            self.forget();
            return self.reflect();
        }
        let share = (HOLD + k - 1.0) / HOLD;
        let epsilon = libm::pow(1.0 / share, share);
        let centroid = self.centroid_without(moving);
        let best = &self.cloud[self.best()].0;
        let kick = (1.0 - epsilon) * (2.0 * self.random.uniform() - 1.0);
        let from = &self.cloud[moving].0;
        let point = (0..from.len())
            .map(|i| {
                let aim = epsilon * centroid[i] + (1.0 - epsilon) * best[i];
                clamp(0.5 * (from[i] + aim) + 0.5 * kick * (centroid[i] - best[i]))
            })
            .collect();
        self.asked = vec![self.randomised(point)];
        self.moving = Some((moving, retreats + 1));
    }
}
