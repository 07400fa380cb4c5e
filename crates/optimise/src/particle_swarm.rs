//! A particle swarm (Kennedy, Eberhart 1995) with the constriction of Clerc and Kennedy (2002):
//! v ← χ·(v + φ/2·r₁·(own best − x) + φ/2·r₂·(best neighbour − x)), φ = 4.1, χ = 0.7298. Particles see
//! their neighbours on a ring, so that news travels slowly and more than one valley is looked into.

use crate::differential_evolution::extent;
use crate::random::Random;
use crate::{Optimiser, Point, Value};

#[derive(Clone, Debug)]
struct Particle {
    point: Point,
    velocity: Point,
    best: (Point, Value),
}

/// The search.
#[derive(Clone, Debug)]
pub struct ParticleSwarm {
    random: Random,
    particles: Vec<Particle>,
    neighbours: usize,
    tolerance: f64,
    has_ended: bool,
}

const CONSTRICTION: f64 = 0.729_843_788_1;
const ATTRACTION: f64 = 2.05;

impl ParticleSwarm {
    /// So many particles, each of which sees so many on either side.
    pub fn new(start: &[f64], count: usize, neighbours: usize, tolerance: f64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut points = random.latin_hypercube(count.max(3), start.len());
        points[0] = start.to_vec();
        let particles = points
            .into_iter()
            .map(|point| {
                let velocity = point.iter().map(|x| 0.5 * (random.uniform() - x)).collect();
                Particle { best: (point.clone(), Value::failed()), velocity, point }
            })
            .collect();
        Self { random, particles, neighbours, tolerance, has_ended: false }
    }
}

impl Optimiser for ParticleSwarm {
    fn ask(&mut self) -> Vec<Point> {
        match self.has_ended {
            true => Vec::new(),
            false => self.particles.iter().map(|particle| particle.point.clone()).collect(),
        }
    }

    fn tell(&mut self, values: &[Value]) {
        for (particle, value) in self.particles.iter_mut().zip(values) {
            if value.beats(&particle.best.1) {
                particle.best = (particle.point.clone(), value.clone());
            }
        }
        if extent(self.particles.iter().map(|particle| &particle.best.0)) < self.tolerance {
            self.has_ended = true;
            return;
        }
        let count = self.particles.len();
        let bests: Vec<(Point, Value)> = self.particles.iter().map(|p| p.best.clone()).collect();
        for (i, particle) in self.particles.iter_mut().enumerate() {
            let around =
                (0..=2 * self.neighbours).map(|k| (i + count + k - self.neighbours) % count);
            let leader = around.min_by(|&a, &b| bests[a].1.compare(&bests[b].1)).unwrap_or(i);
            for k in 0..particle.point.len() {
                let (x, v) = (particle.point[k], particle.velocity[k]);
                let own = ATTRACTION * self.random.uniform() * (bests[i].0[k] - x);
                let shared = ATTRACTION * self.random.uniform() * (bests[leader].0[k] - x);
                let velocity = CONSTRICTION * (v + own + shared);
                let next = x + velocity;
                // A particle that meets a bound stops there and turns back.
                let is_inside = (0.0..=1.0).contains(&next);
                particle.velocity[k] = if is_inside { velocity } else { -0.5 * velocity };
                particle.point[k] = crate::clamp(next);
            }
        }
    }
}
