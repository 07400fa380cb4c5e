//! The first step of an adaptive method.

use crate::norm::Scale;
use crate::solver::Work;
use crate::system::{System, Trouble};

/// What the first step is found from, besides the system.
pub(crate) struct Start<'a> {
    pub time: f64,
    pub limit: f64,
    pub max_step: f64,
    /// Order of the estimate of the error.
    pub order: usize,
    pub x: &'a [f64],
    pub rates: &'a [f64],
}

/// A step from the sizes of x, x' and x'', measured by the tolerances (Hairer, Nørsett & Wanner,
/// Solving ODEs I, II.4). The last two arguments are room to work in.
pub(crate) fn first_step(
    system: &mut dyn System,
    scale: &Scale,
    start: &Start<'_>,
    work: &mut Work,
    stage: &mut [f64],
    slope: &mut [f64],
) -> Result<f64, Trouble> {
    let Start { time, limit, max_step, order, x, rates } = *start;
    let (size, _) = scale.worst(x, x);
    let (speed, _) = scale.worst(rates, x);
    let guess = if size < 1e-5 || speed < 1e-5 { 1e-6 } else { 0.01 * size / speed };
    let guess = guess.min(limit - time).min(max_step);
    for i in 0..x.len() {
        stage[i] = x[i] + guess * rates[i];
    }
    // Within the step, so never past the limit.
    system.rates(time + 0.5 * guess, stage, slope)?;
    work.evaluations += 1;
    for i in 0..x.len() {
        slope[i] = (slope[i] - rates[i]) / guess;
    }
    let (bend, _) = scale.worst(slope, x);
    let fastest = speed.max(bend.sqrt());
    let step =
        if fastest <= 1e-15 { 1e-3 } else { 0.01f64.powf(1.0 / (order as f64 + 1.0)) / fastest };
    Ok(step.min(100.0 * guess))
}
