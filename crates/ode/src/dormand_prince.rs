//! The explicit method of Dormand and Prince: order 5 with an estimate of order 4, steps chosen by
//! tolerance.
//!
//! Hairer, Nørsett & Wanner, Solving ODEs I, II.4 (Table 4.6) and II.6 (continuous extension of
//! order 4). The last of its seven stages is the first of the next step. On stiff circuits the
//! estimate holds the step at the limit of stability: it works, slowly.

use crate::explicit::part_of_step;
use crate::first_step::{Start, first_step};
use crate::method::Options;
use crate::norm::{Scale, end_of_step, not_finite};
use crate::solver::{Failure, FailureKind, Solver, Work, left_of};
use crate::system::{System, Trouble};

const C: [f64; 7] = [0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];
/// The last row is the result.
const A: [[f64; 6]; 7] = [
    [0.0; 6],
    [0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0],
    [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0],
    [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0, 0.0, 0.0],
    [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0, 0.0],
    [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
/// Order 5 less order 4.
const ERROR: [f64; 7] = [
    71.0 / 57600.0,
    0.0,
    -71.0 / 16695.0,
    71.0 / 1920.0,
    -17253.0 / 339200.0,
    22.0 / 525.0,
    -1.0 / 40.0,
];
/// The highest bend of the continuous extension.
const BEND: [f64; 7] = [
    -12715105075.0 / 11282082432.0,
    0.0,
    87487479700.0 / 32700410799.0,
    -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0,
    -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0,
];

const SAFETY: f64 = 0.9;
const GROWTH: f64 = 5.0;
const SHRINKAGE: f64 = 5.0;

/// The adaptive explicit method.
#[derive(Debug)]
pub struct DormandPrince {
    scale: Scale,
    max_step: f64,
    min_step: f64,
    first_step: Option<f64>,
    proposal: Option<f64>,
    work: Work,
    begin: f64,
    end: f64,
    before: Vec<f64>,
    after: Vec<f64>,
    // The last stage of the last step is still the first of the next.
    slope_is_known: bool,
    stage: Vec<f64>,
    error: Vec<f64>,
    k: [Vec<f64>; 7],
    // Of the last step that was kept.
    slope_before: Vec<f64>,
    slope_after: Vec<f64>,
    bend: Vec<f64>,
}

impl DormandPrince {
    /// For a system, with the tolerances of the options.
    pub fn new(system: &dyn System, options: &Options) -> Self {
        let zeros = || vec![0.0; system.size()];
        Self {
            scale: Scale::new(system, options),
            max_step: options.max_step,
            min_step: options.min_step,
            first_step: options.first_step,
            proposal: options.first_step,
            work: Work::default(),
            begin: 0.0,
            end: 0.0,
            before: zeros(),
            after: zeros(),
            slope_is_known: false,
            stage: zeros(),
            error: zeros(),
            k: std::array::from_fn(|_| zeros()),
            slope_before: zeros(),
            slope_after: zeros(),
            bend: zeros(),
        }
    }

    /// One attempt from `x`: leaves the end in `stage`; the error by the tolerances, and the worst.
    fn attempt(
        &mut self,
        system: &mut dyn System,
        time: f64,
        x: &[f64],
        end: f64,
    ) -> Result<(f64, usize), Trouble> {
        let step = end - time;
        for stage in 1..7 {
            for i in 0..x.len() {
                let sum: f64 = (0..stage).map(|j| A[stage][j] * self.k[j][i]).sum();
                self.stage[i] = x[i] + step * sum;
            }
            if let Some(state) = not_finite(&self.stage) {
                return Ok((f64::INFINITY, state));
            }
            let at = if C[stage] == 1.0 { left_of(time, end) } else { time + C[stage] * step };
            system.rates(at, &self.stage, &mut self.k[stage])?;
            self.work.evaluations += 1;
        }
        for i in 0..x.len() {
            let sum: f64 = (0..7).map(|j| ERROR[j] * self.k[j][i]).sum();
            self.error[i] = step * sum;
        }
        Ok(self.scale.worst_of_two(&self.error, x, &self.stage))
    }
}

impl Solver for DormandPrince {
    fn step(
        &mut self,
        system: &mut dyn System,
        time: f64,
        x: &mut [f64],
        limit: f64,
    ) -> Result<f64, Failure> {
        let trouble = |t| Failure::plain(FailureKind::Trouble(t), time, 0.0, None);
        if self.slope_is_known && self.end == time && *x == *self.after {
            self.k[0].copy_from_slice(&self.slope_after);
        } else {
            system.rates(time, x, &mut self.k[0]).map_err(trouble)?;
            self.work.evaluations += 1;
        }
        self.slope_is_known = false;
        // Shorter steps would be rounding: the time must move.
        let shortest = self.min_step.max(16.0 * f64::EPSILON * time.abs());
        let mut step = match self.proposal {
            Some(step) => step,
            None => {
                let Self { scale, work, stage, error, k, max_step, .. } = &mut *self;
                let rates = &k[0];
                let start = Start { time, limit, max_step: *max_step, order: 4, x, rates };
                first_step(system, scale, &start, work, stage, error).map_err(trouble)?
            }
        }
        .min(self.max_step)
        .max(shortest);
        let mut most = GROWTH;
        loop {
            let end = end_of_step(time, step, limit);
            let tried = end - time;
            let result = self.attempt(system, time, x, end);
            if let Ok((error, _)) = result
                && error <= 1.0
            {
                let growth = (SAFETY / error.max(1e-10).powf(0.2)).clamp(1.0 / SHRINKAGE, most);
                // A step cut short by the limit says nothing against the longer proposal.
                let next = tried * growth;
                self.proposal = Some(if tried < step { next.max(step) } else { next });
                self.before.copy_from_slice(x);
                self.after.copy_from_slice(&self.stage);
                self.slope_before.copy_from_slice(&self.k[0]);
                self.slope_after.copy_from_slice(&self.k[6]);
                for i in 0..x.len() {
                    let sum: f64 = (0..7).map(|j| BEND[j] * self.k[j][i]).sum();
                    self.bend[i] = tried * sum;
                }
                (self.begin, self.end) = (time, end);
                self.slope_is_known = true;
                self.work.steps += 1;
                x.copy_from_slice(&self.after);
                return Ok(end);
            }
            self.work.rejected += 1;
            most = 1.0;
            step = match result {
                Ok((error, _)) if error.is_finite() => {
                    tried * (SAFETY / error.powf(0.2)).clamp(1.0 / SHRINKAGE, 0.9)
                }
                _ => tried / SHRINKAGE,
            };
            if step < shortest {
                return Err(match result {
                    Err(trouble) => {
                        Failure::plain(FailureKind::Trouble(trouble), time, tried, None)
                    }
                    Ok((error, state)) if error.is_finite() => Failure {
                        residual: self.error[state].abs(),
                        allowed: self.scale.allowed(state, self.stage[state]),
                        ..Failure::plain(FailureKind::StepTooSmall, time, tried, Some(state))
                    },
                    Ok((_, state)) => {
                        Failure::plain(FailureKind::NotFinite, time, tried, Some(state))
                    }
                });
            }
        }
    }

    fn interpolate(&self, time: f64, x: &mut [f64]) {
        let step = self.end - self.begin;
        let s = part_of_step(self.begin, self.end, time);
        let r = 1.0 - s;
        for i in 0..x.len() {
            let (a, b) = (self.before[i], self.after[i]);
            let early = step * self.slope_before[i] - (b - a);
            let late = (b - a) - step * self.slope_after[i] - early;
            x[i] = r * a + s * b + s * r * (early + s * (late + r * self.bend[i]));
        }
    }

    fn restart(&mut self) {
        self.proposal = self.first_step;
        self.slope_is_known = false;
    }

    /// The proposal still holds: the step was exact enough, only too long.
    fn take_back(&mut self) {
        self.slope_is_known = false;
        self.work.steps -= 1;
        self.work.rejected += 1;
    }

    fn work(&self) -> Work {
        self.work
    }

    fn order(&self) -> usize {
        5
    }

    fn fixed_step(&self) -> Option<f64> {
        None
    }
}
