//! A quasi-Newton method with bounds: BFGS (Nocedal, Wright: Numerical optimization, chapter 6) on the
//! coordinates that are free, with derivatives as they are told, or from central differences.
//!
//! A coordinate at a bound that the gradient pushes against is held there. Points of the line search
//! are projected into the cube, and many lengths are asked for at once, as are all points of a
//! gradient: both fill the lanes of an ensemble. It has no notion of constraints.

use crate::linear::dot;
use crate::{Optimiser, Point, Value, clamp};

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    /// The start itself.
    Start,
    /// Both sides of each coordinate.
    Gradient,
    /// Points along a direction, of lengths that are powers of two.
    Line,
    Ended,
}

/// The search.
#[derive(Clone, Debug)]
pub struct QuasiNewton {
    point: Point,
    value: f64,
    gradient: Vec<f64>,
    /// The inverse of the second derivatives, by rows.
    inverse: Vec<Vec<f64>>,
    is_fresh: bool,
    /// The last step and the gradient before it.
    last: Option<(Vec<f64>, Vec<f64>)>,
    direction: Vec<f64>,
    longest: f64,
    difference: f64,
    tolerance: f64,
    phase: Phase,
    asked: Vec<Point>,
}

/// Lengths tried at once: 4, 2, 1 … 1/512.
const LENGTHS: usize = 12;

impl QuasiNewton {
    /// From a point, with the step of differences and a tolerance of the gradient and of the
    /// progress, as shares.
    pub fn new(start: &[f64], difference: f64, tolerance: f64) -> Self {
        let mut one = Self {
            point: start.to_vec(),
            value: f64::INFINITY,
            gradient: Vec::new(),
            inverse: Vec::new(),
            is_fresh: true,
            last: None,
            direction: Vec::new(),
            longest: 4.0,
            difference,
            tolerance,
            phase: Phase::Start,
            asked: vec![start.to_vec()],
        };
        one.forget();
        one
    }

    fn forget(&mut self) {
        let n = self.point.len();
        self.inverse =
            (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        self.is_fresh = true;
    }

    fn ask_gradient(&mut self) {
        self.asked = differences(&self.point, self.difference);
        self.phase = Phase::Gradient;
    }

    fn take_gradient(&mut self, gradient: Vec<f64>) {
        self.gradient = gradient;
        if self.gradient.iter().any(|g| !g.is_finite()) || !self.value.is_finite() {
            return self.end();
        }
        self.update();
        self.ask_line();
    }

    /// Held at a bound.
    fn is_held(&self, i: usize) -> bool {
        let (x, g) = (self.point[i], self.gradient[i]);
        (x <= 0.0 && g > 0.0) || (x >= 1.0 && g < 0.0)
    }

    fn end(&mut self) {
        self.phase = Phase::Ended;
        self.asked.clear();
    }

    fn ask_line(&mut self) {
        let n = self.point.len();
        let free: Vec<f64> =
            (0..n).map(|i| if self.is_held(i) { 0.0 } else { self.gradient[i] }).collect();
        let size = free.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
        if size <= self.tolerance * (1.0 + self.value.abs()) || !size.is_finite() {
            return self.end();
        }
        let mut direction: Vec<f64> = (0..n)
            .map(|i| if self.is_held(i) { 0.0 } else { -dot(&self.inverse[i], &free) })
            .collect();
        if dot(&direction, &free) >= 0.0 {
            self.forget();
            direction = free.iter().map(|g| -g).collect();
        }
        if self.is_fresh {
            // No idea of the length yet: a tenth of the range at most.
            let most = direction.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
            direction.iter_mut().for_each(|d| *d *= 0.1 / most);
        }
        self.direction = direction;
        let along = |k: usize| {
            let length = self.longest * libm::exp2(-(k as f64));
            let at = |(x, d): (&f64, &f64)| clamp(x + length * d);
            self.point.iter().zip(&self.direction).map(at).collect()
        };
        self.asked = (0..LENGTHS).map(along).collect();
        self.phase = Phase::Line;
    }

    /// BFGS: H ← (I − ρsyᵀ)H(I − ρysᵀ) + ρssᵀ, ρ = 1/(yᵀs).
    fn update(&mut self) {
        let Some((s, before)) = self.last.take() else { return };
        let y: Vec<f64> = self.gradient.iter().zip(&before).map(|(g, b)| g - b).collect();
        let curvature = dot(&s, &y);
        if curvature <= 1e-12 * dot(&s, &s).sqrt() * dot(&y, &y).sqrt() {
            return;
        }
        let n = s.len();
        if self.is_fresh {
            let scale = curvature / dot(&y, &y);
            (0..n).for_each(|i| self.inverse[i][i] = scale);
        }
        self.is_fresh = false;
        let hy: Vec<f64> = self.inverse.iter().map(|row| dot(row, &y)).collect();
        let factor = (1.0 + dot(&y, &hy) / curvature) / curvature;
        for i in 0..n {
            for j in 0..n {
                let mixed = (hy[i] * s[j] + s[i] * hy[j]) / curvature;
                self.inverse[i][j] += factor * s[i] * s[j] - mixed;
            }
        }
    }
}

/// Both sides of each coordinate, as far as the bounds leave room.
pub(crate) fn differences(point: &[f64], step: f64) -> Vec<Point> {
    let mut points = Vec::with_capacity(2 * point.len() + 1);
    for i in 0..point.len() {
        for sign in [1.0, -1.0] {
            let mut varied = point.to_vec();
            varied[i] = clamp(varied[i] + sign * step);
            points.push(varied);
        }
    }
    points
}

impl Optimiser for QuasiNewton {
    fn ask(&mut self) -> Vec<Point> {
        self.asked.clone()
    }

    fn tell(&mut self, values: &[Value]) {
        match self.phase {
            Phase::Start => {
                self.value = values[0].objective();
                self.ask_gradient();
            }
            Phase::Gradient => {
                let slope = |i: usize| {
                    let between = self.asked[2 * i][i] - self.asked[2 * i + 1][i];
                    (values[2 * i].objective() - values[2 * i + 1].objective()) / between
                };
                let gradient = (0..self.point.len()).map(slope).collect();
                self.take_gradient(gradient);
            }
            Phase::Line => {
                let best =
                    (0..values.len()).min_by(|&a, &b| values[a].compare(&values[b])).unwrap_or(0);
                let value = values[best].objective();
                let gain = self.value - value;
                if gain > 0.0 && !values[best].is_failed() {
                    let to = self.asked[best].clone();
                    let step = to.iter().zip(&self.point).map(|(a, b)| a - b).collect();
                    self.last = Some((step, self.gradient.clone()));
                    let is_over = gain <= self.tolerance * self.tolerance * self.value.abs();
                    (self.point, self.value) = (to, value);
                    self.longest = 4.0;
                    match is_over {
                        true => self.end(),
                        false => self.ask_gradient(),
                    }
                } else if !self.is_fresh {
                    self.forget();
                    self.longest = 4.0;
                    self.ask_line();
                } else if self.longest > 1e-6 {
                    self.longest *= libm::exp2(-(LENGTHS as f64));
                    self.ask_line();
                } else {
                    self.end();
                }
            }
            Phase::Ended => {}
        }
    }

    fn wants_derivatives(&self) -> Option<&Point> {
        (self.phase == Phase::Gradient).then_some(&self.point)
    }

    fn tell_derivatives(&mut self, slopes: Vec<f64>) {
        if self.phase == Phase::Gradient {
            self.take_gradient(slopes);
        }
    }
}
