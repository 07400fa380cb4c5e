//! How large a change is, measured by the tolerances.

use crate::method::Options;
use crate::system::System;

/// What a change of each state is compared with: a·nominal + r·|x|.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    relative: f64,
    absolute: Vec<f64>,
}

impl Scale {
    pub fn new(system: &dyn System, options: &Options) -> Self {
        let absolute =
            (0..system.size()).map(|i| options.absolute_tolerance * system.nominal(i)).collect();
        Self { relative: options.relative_tolerance, absolute }
    }

    /// What is allowed for one state whose size is `value`.
    pub fn allowed(&self, state: usize, value: f64) -> f64 {
        self.absolute[state] + self.relative * value.abs()
    }

    /// The largest of |change|/allowed, and where. The maximum, not a mean: a tolerance then means
    /// the same for a state whatever else is in the circuit. Not a number counts as infinite.
    pub fn worst(&self, change: &[f64], x: &[f64]) -> (f64, usize) {
        let mut worst = (0.0, 0);
        for i in 0..change.len() {
            let ratio = change[i].abs() / self.allowed(i, x[i]);
            if ratio.is_nan() {
                return (f64::INFINITY, i);
            }
            if ratio > worst.0 {
                worst = (ratio, i);
            }
        }
        worst
    }

    /// As [`Scale::worst`], where the larger of two states counts.
    pub fn worst_of_two(&self, change: &[f64], x: &[f64], y: &[f64]) -> (f64, usize) {
        let mut worst = (0.0, 0);
        for i in 0..change.len() {
            let ratio = change[i].abs() / self.allowed(i, x[i].abs().max(y[i].abs()));
            if ratio.is_nan() {
                return (f64::INFINITY, i);
            }
            if ratio > worst.0 {
                worst = (ratio, i);
            }
        }
        worst
    }
}

/// The first entry that is no finite number.
pub(crate) fn not_finite(x: &[f64]) -> Option<usize> {
    // One multiplication per entry and no branch where all is well.
    let sum: f64 = x.iter().map(|v| v * 0.0).sum();
    if sum == 0.0 { None } else { x.iter().position(|v| !v.is_finite()) }
}

/// Where a step that is asked for ends: at the limit when it would come close to it, half-way when
/// a sliver would be left for the next one.
pub(crate) fn end_of_step(time: f64, step: f64, limit: f64) -> f64 {
    let left = limit - time;
    if step * (1.0 + 1e-6) >= left {
        limit
    } else if 2.0 * step > left && 1.1 * step < left {
        time + 0.5 * left
    } else if 1.1 * step >= left {
        limit
    } else {
        time + step
    }
}
