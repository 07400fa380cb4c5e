//! The balance of flows of fast states: rate = 0.

use super::Settings;
use super::dense;
use super::reduced::Work;
use crate::{System, Trouble};

/// Room for the largest group.
#[derive(Clone, Debug)]
pub(super) struct Balance {
    rates: Vec<f64>,
    block: Vec<f64>,
    diagonal: Vec<f64>,
    step: Vec<f64>,
    start: Vec<f64>,
    pivots: Vec<usize>,
}

impl Balance {
    pub(super) fn new(largest: usize) -> Self {
        Self {
            rates: vec![0.0; largest],
            block: vec![0.0; largest * largest],
            diagonal: vec![0.0; largest],
            step: vec![0.0; largest],
            start: vec![0.0; largest],
            pivots: vec![0; largest],
        }
    }

    /// Solves for the states of a group, starting from the values in `x`, which become the solution.
    pub(super) fn solve<S: System + ?Sized>(
        &mut self,
        base: &mut S,
        time: f64,
        x: &mut [f64],
        group: &[usize],
        settings: &Settings,
        work: &mut Work,
    ) -> Result<(), Trouble> {
        work.solves += 1;
        if let &[state] = group {
            solve_one(base, time, x, state, settings, work)
        } else {
            self.solve_together(base, time, x, group, settings, work)
        }
    }

    /// Newton's method on all states of a group, with steps halved until the balances improve. Where
    /// that fails, each balance is solved in turn for its own state, bracketed. For flows that grow
    /// with the pressure before and fall with the pressure behind, such sweeps converge from anywhere
    /// (Ortega and Rheinboldt, Iterative Solution of Nonlinear Equations in Several Variables, 1970,
    /// section 13.5), if slowly; Newton then takes over again.
    fn solve_together<S: System + ?Sized>(
        &mut self,
        base: &mut S,
        time: f64,
        x: &mut [f64],
        group: &[usize],
        settings: &Settings,
        work: &mut Work,
    ) -> Result<(), Trouble> {
        let size = group.len();
        let (rates, step) = (&mut self.rates[..size], &mut self.step[..size]);
        let (block, diagonal) = (&mut self.block[..size * size], &mut self.diagonal[..size]);
        let (start, pivots) = (&mut self.start[..size], &mut self.pivots[..size]);
        base.some_rates(time, x, group, rates)?;
        work.evaluations += 1;
        for _ in 0..settings.most_iterations {
            work.iterations += 1;
            check(rates, group)?;
            if rates.iter().all(|&rate| rate == 0.0) {
                return Ok(());
            }
            base.some_jacobian(time, x, group, block)?;
            work.jacobians += 1;
            // Balances are weighed in pressure: what each is off by if the others stood still.
            for i in 0..size {
                diagonal[i] = block[i * size + i].abs();
            }
            let off = |rates: &[f64], diagonal: &[f64]| -> f64 {
                rates
                    .iter()
                    .zip(diagonal)
                    .map(|(rate, slope)| if *rate == 0.0 { 0.0 } else { (rate / slope).abs() })
                    .fold(0.0, f64::max)
            };
            let before = off(rates, diagonal);
            let mut improved = false;
            if before.is_finite() && dense::factor(block, pivots) {
                for i in 0..size {
                    step[i] = -rates[i];
                    start[i] = x[group[i]];
                }
                dense::solve(block, pivots, step);
                if step.iter().all(|step| step.is_finite()) {
                    let is_solved = (0..size).all(|i| {
                        step[i].abs() <= settings.balance_tolerance.max(rounding(start[i]))
                    });
                    let mut share = 1.0;
                    for _ in 0..6 {
                        for i in 0..size {
                            x[group[i]] = start[i] + share * step[i];
                        }
                        if is_solved {
                            return Ok(());
                        }
                        base.some_rates(time, x, group, rates)?;
                        work.evaluations += 1;
                        let after = off(rates, diagonal);
                        if after <= (1.0 - 0.25 * share) * before {
                            improved = true;
                            break;
                        }
                        share *= 0.5;
                    }
                    if !improved {
                        for i in 0..size {
                            x[group[i]] = start[i];
                        }
                    }
                }
            }
            if !improved {
                let mut moved: f64 = 0.0;
                for &state in group {
                    let value = x[state];
                    solve_one(base, time, x, state, settings, work)?;
                    moved = moved.max((x[state] - value).abs());
                }
                if moved <= settings.balance_tolerance * 1e-3 {
                    return Ok(());
                }
                base.some_rates(time, x, group, rates)?;
                work.evaluations += 1;
            }
        }
        let worst =
            (0..size).max_by(|&i, &j| rates[i].abs().total_cmp(&rates[j].abs())).unwrap_or(0);
        Err(Trouble::NoSolution { equation: group[worst], residual: rates[worst] })
    }
}

/// What a number of this size cannot resolve.
fn rounding(value: f64) -> f64 {
    4.0 * f64::EPSILON * value.abs()
}

fn check(rates: &[f64], group: &[usize]) -> Result<(), Trouble> {
    match rates.iter().position(|rate| !rate.is_finite()) {
        Some(at) => Err(Trouble::NotFinite(group[at])),
        None => Ok(()),
    }
}

/// One balance for one pressure.
///
/// The rate falls as the pressure rises, so its sign says on which side the solution lies, and the
/// points visited form a bracket that only shrinks. The neighbours' pressures are walls that no step
/// crosses. Newton's step is taken where it stays inside. Where it would cross a wall, which is what
/// it does on Q = K√Δp once Δp is more than four times its final value, Newton's step in s = √|p − wall|
/// is taken, in which that law is linear. Where both fail, the bracket is halved.
fn solve_one<S: System + ?Sized>(
    base: &mut S,
    time: f64,
    x: &mut [f64],
    state: usize,
    settings: &Settings,
    work: &mut Work,
) -> Result<(), Trouble> {
    let which = [state];
    let (mut low_wall, mut high_wall) = base.bounds(time, x, state);
    if low_wall > high_wall {
        std::mem::swap(&mut low_wall, &mut high_wall);
    }
    if x[state] < low_wall || x[state] > high_wall {
        // The neighbours have moved past the last solution.
        x[state] = match (low_wall.is_finite(), high_wall.is_finite()) {
            (true, true) => 0.5 * (low_wall + high_wall),
            (true, false) => low_wall,
            _ => high_wall,
        };
    }
    let (mut below, mut above) = (f64::NEG_INFINITY, f64::INFINITY);
    let (mut last_move, mut move_before) = (f64::INFINITY, f64::INFINITY);
    let mut stride = settings.tolerance_high.max(1.0);
    let mut rate = [0.0];
    let mut slope = [0.0];
    for _ in 0..settings.most_iterations {
        work.iterations += 1;
        let value = x[state];
        base.some_rates(time, x, &which, &mut rate)?;
        work.evaluations += 1;
        let rate = rate[0];
        if !rate.is_finite() {
            return Err(Trouble::NotFinite(state));
        }
        if rate == 0.0 {
            return Ok(());
        }
        let rises = rate > 0.0;
        if rises {
            below = value;
        } else {
            above = value;
        }
        if above - below <= rounding(value) {
            return Ok(());
        }
        base.some_jacobian(time, x, &which, &mut slope)?;
        work.jacobians += 1;
        // Positive or vanishing slopes, and the infinite one of a pure root at its wall, tell nothing.
        let step = if slope[0] < 0.0 { -rate / slope[0] } else { f64::NAN };
        let step = if step == 0.0 { f64::NAN } else { step };
        let wall = if rises { high_wall } else { low_wall };
        let room = (wall - value).abs();
        let nearest = (value - low_wall).abs().min((high_wall - value).abs());
        // Near a wall the flow is as sensitive as the distance to it is small.
        let tolerance = settings.balance_tolerance.min(1e-4 * nearest).max(rounding(value));
        let inside = |candidate: f64| candidate > below && candidate < above;
        if step.abs() <= tolerance && step.abs() < room {
            x[state] = value + step;
            return Ok(());
        }
        if room <= rounding(value) && room.is_finite() {
            // The balance asks to go beyond the neighbour: something else drives this volume.
            if rises {
                high_wall = f64::INFINITY;
            } else {
                low_wall = f64::NEG_INFINITY;
            }
        }
        let wall = if rises { high_wall } else { low_wall };
        let room = (wall - value).abs();
        let mut candidate = value + step;
        if step.abs() >= room {
            let factor = (1.0 - step.abs() / (2.0 * room)).max(0.01);
            candidate = wall + (value - wall) * factor * factor;
        }
        let is_bracketed = below.is_finite() && above.is_finite();
        // Newton that does not at least halve its steps every other time is going round in circles.
        let is_slow = is_bracketed && (candidate - value).abs() > 0.5 * move_before;
        if !inside(candidate) || is_slow {
            let far = if rises { above.min(high_wall) } else { below.max(low_wall) };
            candidate = if far.is_finite() {
                0.5 * (value + far)
            } else {
                stride *= 10.0;
                if rises { value + stride } else { value - stride }
            };
        }
        move_before = last_move;
        last_move = (candidate - value).abs();
        x[state] = candidate;
    }
    base.some_rates(time, x, &which, &mut rate)?;
    Err(Trouble::NoSolution { equation: state, residual: rate[0] })
}
