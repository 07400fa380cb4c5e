//! Optimisers that know nothing of what they optimise.
//!
//! An [`Optimiser`] asks for a batch of points and is told their values, again and again. The points
//! of a batch may be computed at the same time, in any order and on any number of cores. What is
//! asked for depends on the seed and on the values told alone. So a log of all values is a saved
//! state: an optimiser that is told the logged values once more stands where it stood, to the bit.
//!
//! Points lie in the unit cube; a [`Space`](space::Space) gives them their meaning. Values are
//! compared by the rules of Deb ([`Value::compare`]).
//!
//! The methods are written here, not taken from a library: those at hand call the function
//! themselves, one point at a time, which leaves the lanes of an ensemble empty; and few of them know
//! constraints or can be resumed.

pub mod cma_es;
pub mod complex;
pub mod differential_evolution;
pub mod genetic;
pub mod hooke_jeeves;
pub mod levenberg_marquardt;
pub mod linear;
pub mod method;
pub mod nelder_mead;
pub mod nsga2;
pub mod particle_swarm;
pub mod quasi_newton;
pub mod random;
pub mod space;

use std::cmp::Ordering;

/// A point of the unit cube.
pub type Point = Vec<f64>;

/// What a point is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Less is better, in each of them.
    pub objectives: Vec<f64>,
    /// By how much constraints are violated, all together; 0 when none is, infinite when the point
    /// could not be computed.
    pub violation: f64,
}

impl Value {
    /// Something that is no number counts as failed.
    pub fn new(objectives: Vec<f64>, violation: f64) -> Self {
        match objectives.iter().any(|f| f.is_nan()) || violation.is_nan() {
            true => Self::failed(),
            false => Self { objectives, violation: violation.max(0.0) },
        }
    }

    /// Of a single objective without constraints.
    pub fn of(objective: f64) -> Self {
        Self::new(vec![objective], 0.0)
    }

    /// Of a point that could not be computed: worse than any that could.
    pub fn failed() -> Self {
        Self { objectives: Vec::new(), violation: f64::INFINITY }
    }

    /// Nothing could be computed.
    pub fn is_failed(&self) -> bool {
        self.violation == f64::INFINITY
    }

    /// No constraint is violated.
    pub fn is_feasible(&self) -> bool {
        self.violation == 0.0
    }

    /// The first objective; infinite when it failed.
    pub fn objective(&self) -> f64 {
        self.objectives.first().copied().unwrap_or(f64::INFINITY)
    }

    /// Which of two values is better: the lesser. A point that keeps all constraints is better than
    /// one that does not; of two that do not, the one that violates them less; of two that do, the
    /// one with the lower objective (Deb: An efficient constraint handling method for genetic
    /// algorithms; 2000). There are no weights to choose.
    pub fn compare(&self, other: &Self) -> Ordering {
        let objective = || self.objective().total_cmp(&other.objective());
        self.violation.total_cmp(&other.violation).then_with(objective)
    }

    /// Better than the other one.
    pub fn beats(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Less
    }

    /// At least as good in every objective and better in one; by the same rules for constraints.
    pub fn dominates(&self, other: &Self) -> bool {
        if self.violation != other.violation {
            return self.violation < other.violation;
        }
        if self.is_failed() || !self.is_feasible() {
            return false;
        }
        let pairs = || self.objectives.iter().zip(&other.objectives);
        pairs().all(|(a, b)| a <= b) && pairs().any(|(a, b)| a < b)
    }
}

/// Looks for the least value.
pub trait Optimiser {
    /// The next points to compute, in the unit cube; none when it has come to an end.
    fn ask(&mut self) -> Vec<Point>;

    /// The values of the points asked for, in their order.
    fn tell(&mut self, values: &[Value]);

    /// The point at which derivatives of the objective would spare it what it is about to ask for.
    fn wants_derivatives(&self) -> Option<&Point> {
        None
    }

    /// The derivatives at that point, by coordinate.
    fn tell_derivatives(&mut self, slopes: Vec<f64>) {
        let _ = slopes;
    }
}

/// The best point so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Where.
    pub point: Point,
    /// How good.
    pub value: Value,
    /// How many points were computed before it.
    pub evaluation: u64,
}

/// Runs an optimiser on a function until it ends or has used its budget; gives the best point and the
/// number of points computed.
pub fn minimise(
    optimiser: &mut dyn Optimiser,
    budget: u64,
    function: &mut dyn FnMut(&[f64]) -> Value,
) -> (Option<Best>, u64) {
    let (mut best, mut count): (Option<Best>, u64) = (None, 0);
    while count < budget {
        let points = optimiser.ask();
        if points.is_empty() {
            break;
        }
        let values: Vec<Value> = points.iter().map(|point| function(point)).collect();
        for (point, value) in points.iter().zip(&values) {
            if best.as_ref().is_none_or(|best| value.beats(&best.value)) {
                let (point, value) = (point.clone(), value.clone());
                best = Some(Best { point, value, evaluation: count });
            }
            count += 1;
        }
        optimiser.tell(&values);
    }
    (best, count)
}

/// Numbers of points in the order of their values, best first; equal ones keep their order.
pub(crate) fn ranked(values: &[Value]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].compare(&values[b]));
    order
}

/// A coordinate back in 0…1.
pub(crate) fn clamp(x: f64) -> f64 {
    if x.is_nan() { 0.5 } else { x.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_its_constraints_is_better_than_what_does_not() {
        let good = Value::new(vec![5.0], 0.0);
        let better = Value::new(vec![4.0], 0.0);
        let slightly = Value::new(vec![0.0], 0.1);
        let badly = Value::new(vec![-9.0], 2.0);
        let order = [&better, &good, &slightly, &badly, &Value::failed()];
        for pair in order.windows(2) {
            assert!(pair[0].beats(pair[1]) && !pair[1].beats(pair[0]));
        }
        assert!(Value::of(f64::NAN).is_failed());
        assert!(!good.dominates(&good) && better.dominates(&good) && good.dominates(&slightly));
    }
}
