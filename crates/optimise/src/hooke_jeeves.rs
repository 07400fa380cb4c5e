//! The pattern search of Hooke and Jeeves (Direct search solution of numerical and statistical
//! problems; 1961), with bounds, as Pollmeier (thesis, University of Bath, section 7.3.1) uses it.
//!
//! Each coordinate is varied by a step, and each improvement is kept. When a round has brought one, a
//! pattern move goes on in its direction, x_p = x_s + k·(x_n − x_s), and explores from there. When
//! nothing helps, the steps shrink. Both directions of a coordinate are asked for at once.

use crate::space::Space;
use crate::{Optimiser, Point, Value, clamp};

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The start has to be computed.
    Start,
    /// A coordinate is varied, around the best point or around the end of a pattern move.
    Explore(usize),
    /// The end of a pattern move has to be computed.
    Pattern,
    Ended,
}

/// The search.
#[derive(Clone, Debug)]
pub struct HookeJeeves {
    /// The best point before the last round.
    before: Point,
    /// The best point.
    best: (Point, Value),
    /// Where the exploration is.
    now: (Point, Value),
    is_pattern: bool,
    phase: Phase,
    asked: Vec<Point>,
    steps: Vec<f64>,
    ends: Vec<f64>,
    reduction: f64,
    pattern: f64,
}

impl HookeJeeves {
    /// From a point, with a first and a last step as shares of the range, a factor by which steps
    /// shrink, and one by which pattern moves go on.
    pub fn new(
        space: &Space,
        start: Point,
        first: f64,
        last: f64,
        reduction: f64,
        pattern: f64,
    ) -> Self {
        // A smaller step would change nothing where there are levels.
        let at_least = |share: f64| -> Vec<f64> {
            (0..space.dimensions()).map(|i| share.max(space.resolution(i))).collect()
        };
        let known = (start.clone(), Value::failed());
        Self {
            before: start,
            best: known.clone(),
            now: known,
            is_pattern: false,
            phase: Phase::Start,
            asked: Vec::new(),
            steps: at_least(first),
            ends: at_least(last),
            reduction,
            pattern,
        }
    }

    /// The best point and its value.
    pub fn best(&self) -> &(Point, Value) {
        &self.best
    }

    /// The next coordinate from this one on in which a step leads anywhere.
    fn explore(&mut self, from: usize) {
        for i in from..self.steps.len() {
            let varied = |sign: f64| {
                let mut point = self.now.0.clone();
                point[i] = clamp(point[i] + sign * self.steps[i]);
                point
            };
            let points = [varied(1.0), varied(-1.0)];
            self.asked = points.into_iter().filter(|point| point[i] != self.now.0[i]).collect();
            if !self.asked.is_empty() {
                self.phase = Phase::Explore(i);
                return;
            }
        }
        self.finish_round();
    }

    fn finish_round(&mut self) {
        if self.now.1.beats(&self.best.1) {
            self.before = std::mem::replace(&mut self.best, self.now.clone()).0;
            let moved = self.before.iter().zip(&self.best.0);
            let point: Point =
                moved.map(|(from, to)| clamp(from + self.pattern * (to - from))).collect();
            if point == self.best.0 {
                return self.explore_best();
            }
            self.asked = vec![point];
            self.phase = Phase::Pattern;
            return;
        }
        if !self.is_pattern {
            let is_over = self.steps.iter().zip(&self.ends).all(|(step, end)| step <= end);
            if is_over {
                self.phase = Phase::Ended;
                self.asked.clear();
                return;
            }
            for (step, end) in self.steps.iter_mut().zip(&self.ends) {
                *step = (*step * self.reduction).max(*end);
            }
        }
        self.explore_best();
    }

    fn explore_best(&mut self) {
        self.now = self.best.clone();
        self.is_pattern = false;
        self.explore(0);
    }
}

impl Optimiser for HookeJeeves {
    fn ask(&mut self) -> Vec<Point> {
        if self.phase == Phase::Start {
            self.asked = vec![self.best.0.clone()];
        }
        self.asked.clone()
    }

    fn tell(&mut self, values: &[Value]) {
        match self.phase {
            Phase::Start => {
                self.best.1 = values[0].clone();
                self.explore_best();
            }
            Phase::Explore(i) => {
                for (point, value) in self.asked.iter().zip(values) {
                    if value.beats(&self.now.1) {
                        self.now = (point.clone(), value.clone());
                    }
                }
                self.explore(i + 1);
            }
            Phase::Pattern => {
                self.now = (self.asked[0].clone(), values[0].clone());
                self.is_pattern = true;
                self.explore(0);
            }
            Phase::Ended => {}
        }
    }
}
