//! The simplex of Nelder and Mead (1965) in the unit cube, with factors that fit the number of
//! coordinates (Gao, Han: Implementing the Nelder–Mead simplex algorithm with adaptive parameters;
//! 2012).

use crate::{Optimiser, Point, Value, clamp, ranked};

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    /// All corners have to be computed, or all but the best.
    Corners(usize),
    Reflect,
    Expand(Point, Value),
    Contract,
    Ended,
}

/// The search.
#[derive(Clone, Debug)]
pub struct NelderMead {
    corners: Vec<(Point, Value)>,
    asked: Vec<Point>,
    phase: Phase,
    tolerance: f64,
    /// Restarts from the best point that are left: a simplex can collapse where there is no minimum.
    restarts: usize,
    size: f64,
}

impl NelderMead {
    /// Around a point, with a first size and a last size as shares of the range.
    pub fn new(start: &[f64], size: f64, tolerance: f64, restarts: usize) -> Self {
        let corners: Vec<Point> = simplex(start, size);
        Self {
            asked: corners,
            corners: Vec::new(),
            phase: Phase::Corners(0),
            tolerance,
            restarts,
            size,
        }
    }

    fn n(&self) -> f64 {
        (self.corners.len() - 1) as f64
    }

    /// The middle of all corners but the worst.
    fn centroid(&self) -> Point {
        let kept = &self.corners[..self.corners.len() - 1];
        let mean = |i: usize| kept.iter().map(|(p, _)| p[i]).sum::<f64>() / kept.len() as f64;
        (0..kept[0].0.len()).map(mean).collect()
    }

    /// A point on the way from the worst corner through the centroid: −1 is the worst corner.
    fn through_centroid(&self, factor: f64) -> Point {
        let worst = &self.corners[self.corners.len() - 1].0;
        let at = |(c, w): (&f64, &f64)| clamp(c + factor * (c - w));
        self.centroid().iter().zip(worst).map(at).collect()
    }

    fn begin(&mut self) {
        let values: Vec<Value> = self.corners.iter().map(|(_, value)| value.clone()).collect();
        self.corners = ranked(&values).into_iter().map(|i| self.corners[i].clone()).collect();
        let best = &self.corners[0].0;
        let far = |(point, _): &(Point, Value)| {
            let size = |(a, b): (&f64, &f64)| (a - b).abs();
            point.iter().zip(best).map(size).fold(0.0, f64::max)
        };
        if self.corners.iter().map(far).fold(0.0, f64::max) < self.tolerance {
            match self.restarts {
                0 => {
                    self.phase = Phase::Ended;
                    self.asked.clear();
                }
                _ => {
                    self.restarts -= 1;
                    self.size *= 0.5;
                    self.asked = simplex(best, self.size).split_off(1);
                    self.corners.truncate(1);
                    self.phase = Phase::Corners(1);
                }
            }
            return;
        }
        self.asked = vec![self.through_centroid(1.0)];
        self.phase = Phase::Reflect;
    }

    fn replace_worst(&mut self, point: Point, value: Value) {
        let last = self.corners.len() - 1;
        self.corners[last] = (point, value);
        self.begin();
    }
}

fn simplex(start: &[f64], size: f64) -> Vec<Point> {
    let mut corners = vec![start.to_vec()];
    for i in 0..start.len() {
        let mut point = start.to_vec();
        // Towards the inside.
        point[i] = clamp(if point[i] + size <= 1.0 { point[i] + size } else { point[i] - size });
        corners.push(point);
    }
    corners
}

impl Optimiser for NelderMead {
    fn ask(&mut self) -> Vec<Point> {
        self.asked.clone()
    }

    fn tell(&mut self, values: &[Value]) {
        match self.phase.clone() {
            Phase::Corners(kept) => {
                self.corners.truncate(kept);
                let new = self.asked.iter().cloned().zip(values.iter().cloned());
                self.corners.extend(new);
                self.begin();
            }
            Phase::Reflect => {
                let (point, value) = (self.asked[0].clone(), values[0].clone());
                let last = self.corners.len() - 1;
                if value.beats(&self.corners[0].1) {
                    self.asked = vec![self.through_centroid(1.0 + 2.0 / self.n())];
                    self.phase = Phase::Expand(point, value);
                } else if value.beats(&self.corners[last - 1].1) {
                    self.replace_worst(point, value);
                } else {
                    let inner = 0.75 - 0.5 / self.n();
                    let is_outside = value.beats(&self.corners[last].1);
                    if is_outside {
                        self.corners[last] = (point, value);
                        // The reflected corner is the worst now: −γ leads back outside.
                    }
                    self.asked = vec![self.through_centroid(-inner)];
                    self.phase = Phase::Contract;
                }
            }
            Phase::Expand(point, value) => match values[0].beats(&value) {
                true => self.replace_worst(self.asked[0].clone(), values[0].clone()),
                false => self.replace_worst(point, value),
            },
            Phase::Contract => {
                let last = self.corners.len() - 1;
                if values[0].beats(&self.corners[last].1) {
                    self.replace_worst(self.asked[0].clone(), values[0].clone());
                } else {
                    let shrink = (1.0 - 1.0 / self.n()).max(0.5);
                    let best = self.corners[0].0.clone();
                    let towards = |(point, _): &(Point, Value)| -> Point {
                        point.iter().zip(&best).map(|(x, b)| b + shrink * (x - b)).collect()
                    };
                    self.asked = self.corners[1..].iter().map(towards).collect();
                    self.phase = Phase::Corners(1);
                }
            }
            Phase::Ended => {}
        }
    }
}
