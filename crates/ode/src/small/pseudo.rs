//! Pseudo-time: fast pressures integrated towards their balance with an artificial volume.

use super::dense;
use super::reduced::{Fast, Work};
use super::{InnerMethod, Settings, SmallVolumes};
use crate::{System, Trouble};

/// Room for the largest group.
#[derive(Clone, Debug)]
pub(super) struct Pseudo {
    rates: Vec<f64>,
    more_rates: Vec<f64>,
    sum: Vec<f64>,
    start: Vec<f64>,
    scales: Vec<f64>,
    block: Vec<f64>,
    step: Vec<f64>,
    pivots: Vec<usize>,
}

impl Pseudo {
    pub(super) fn new(largest: usize) -> Self {
        Self {
            rates: vec![0.0; largest],
            more_rates: vec![0.0; largest],
            sum: vec![0.0; largest],
            start: vec![0.0; largest],
            scales: vec![0.0; largest],
            block: vec![0.0; largest * largest],
            step: vec![0.0; largest],
            pivots: vec![0; largest],
        }
    }

    /// Integrates the states of a group, starting from the values in `x`, until no pressure changes by
    /// its tolerance or more in an inner step, or the time for it is over.
    pub(super) fn settle<S: System + ?Sized>(
        &mut self,
        base: &mut S,
        time: f64,
        x: &mut [f64],
        (group, fast): (&[usize], &[Fast]),
        settings: &Settings,
        work: &mut Work,
    ) -> Result<(), Trouble> {
        work.solves += 1;
        let size = group.len();
        let step = settings.inner_step;
        let most = (settings.longest_inner_time / step).ceil().max(1.0) as usize;
        if let Some(volume) = settings.pseudo_volume {
            for (scale, fast) in self.scales.iter_mut().zip(fast) {
                *scale = fast.volume / volume;
            }
        }
        for _ in 0..most {
            work.iterations += 1;
            for i in 0..size {
                self.start[i] = x[group[i]];
            }
            if settings.pseudo_volume.is_none() {
                self.choose_scales(base, time, x, group, settings, work)?;
            }
            match settings.inner_method {
                InnerMethod::Euler => self.euler(base, time, x, group, step, work)?,
                InnerMethod::RungeKutta4 => self.runge_kutta(base, time, x, group, step, work)?,
                InnerMethod::ModifiedHeun => {
                    self.modified_heun(base, time, x, group, step, work)?
                }
            }
            let mut is_steady = true;
            for i in 0..size {
                let value = x[group[i]];
                if !value.is_finite() {
                    return Err(Trouble::NotFinite(group[i]));
                }
                let is_low = value < settings.low_pressure_limit;
                let tolerance = if is_low && settings.strategy == SmallVolumes::AdvPds {
                    settings.tolerance_low
                } else {
                    settings.tolerance_high
                };
                is_steady &= (value - self.start[i]).abs() < tolerance;
            }
            if is_steady {
                return Ok(());
            }
        }
        work.unfinished += 1;
        Ok(())
    }

    /// Scales that make z = h·λ of pseudo-time about −½ (Euler: far from the limit −2, since slopes of
    /// orifices grow towards balance), −1 (Runge–Kutta) or −2 (modified Heun, whose amplification
    /// (1+z/2)/(1−z/2) vanishes there). Sums of rows bound the eigenvalues from above (Gershgorin).
    fn choose_scales<S: System + ?Sized>(
        &mut self,
        base: &mut S,
        time: f64,
        x: &[f64],
        group: &[usize],
        settings: &Settings,
        work: &mut Work,
    ) -> Result<(), Trouble> {
        let size = group.len();
        let block = &mut self.block[..size * size];
        base.some_jacobian(time, x, group, block)?;
        work.jacobians += 1;
        let reach = match settings.inner_method {
            InnerMethod::Euler => 0.5,
            InnerMethod::RungeKutta4 => 1.0,
            InnerMethod::ModifiedHeun => 2.0,
        };
        for i in 0..size {
            let sum: f64 = block[i * size..(i + 1) * size].iter().map(|entry| entry.abs()).sum();
            // A state that nothing acts on stays where it is, whatever its scale.
            self.scales[i] =
                if sum > 0.0 { reach / (sum * settings.inner_step) } else { f64::MIN_POSITIVE };
        }
        Ok(())
    }

    fn euler<S: System + ?Sized>(
        &mut self,
        base: &mut S,
        time: f64,
        x: &mut [f64],
        group: &[usize],
        step: f64,
        work: &mut Work,
    ) -> Result<(), Trouble> {
        let rates = &mut self.rates[..group.len()];
        base.some_rates(time, x, group, rates)?;
        work.evaluations += 1;
        for (i, &state) in group.iter().enumerate() {
            x[state] += step * self.scales[i] * rates[i];
        }
        Ok(())
    }

    fn runge_kutta<S: System + ?Sized>(
        &mut self,
        base: &mut S,
        time: f64,
        x: &mut [f64],
        group: &[usize],
        step: f64,
        work: &mut Work,
    ) -> Result<(), Trouble> {
        let size = group.len();
        let (rates, sum) = (&mut self.rates[..size], &mut self.sum[..size]);
        sum.fill(0.0);
        // Share of a stage in the result, and how far the next stage goes with it.
        for (share, reach) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)] {
            base.some_rates(time, x, group, rates)?;
            work.evaluations += 1;
            for i in 0..size {
                let rate = self.scales[i] * rates[i];
                sum[i] += share / 6.0 * rate;
                x[group[i]] = self.start[i] + reach * step * rate;
            }
        }
        for i in 0..size {
            x[group[i]] = self.start[i] + step * sum[i];
        }
        Ok(())
    }

    /// With rates f and Jacobian J, both scaled: (I − hJ)·(p̂ − p) = h·f, then
    /// (I − hĴ/2)·(p⁺ − p) = h/2·(f + f̂ + Ĵ·(p − p̂)), which are (4.13) and (4.14) rearranged.
    fn modified_heun<S: System + ?Sized>(
        &mut self,
        base: &mut S,
        time: f64,
        x: &mut [f64],
        group: &[usize],
        step: f64,
        work: &mut Work,
    ) -> Result<(), Trouble> {
        let size = group.len();
        let (rates, next) = (&mut self.rates[..size], &mut self.more_rates[..size]);
        let (block, change) = (&mut self.block[..size * size], &mut self.step[..size]);
        let pivots = &mut self.pivots[..size];
        base.some_rates(time, x, group, rates)?;
        base.some_jacobian(time, x, group, block)?;
        for i in 0..size {
            change[i] = step * self.scales[i] * rates[i];
        }
        implicit(block, &self.scales, step);
        if !dense::factor(block, pivots) {
            return Err(Trouble::NoSolution { equation: group[0], residual: rates[0] });
        }
        dense::solve(block, pivots, change);
        for i in 0..size {
            x[group[i]] = self.start[i] + change[i];
        }
        base.some_rates(time, x, group, next)?;
        base.some_jacobian(time, x, group, block)?;
        work.evaluations += 2;
        work.jacobians += 2;
        for i in 0..size {
            let back: f64 = (0..size).map(|j| -block[i * size + j] * change[j]).sum();
            self.sum[i] = 0.5 * step * self.scales[i] * (rates[i] + next[i] + back);
        }
        implicit(block, &self.scales, 0.5 * step);
        if !dense::factor(block, pivots) {
            return Err(Trouble::NoSolution { equation: group[0], residual: next[0] });
        }
        let change = &mut self.sum[..size];
        dense::solve(block, pivots, change);
        for i in 0..size {
            x[group[i]] = self.start[i] + change[i];
        }
        Ok(())
    }
}

/// J becomes I − h·S·J.
fn implicit(block: &mut [f64], scales: &[f64], step: f64) {
    let size = block.len().isqrt();
    for i in 0..size {
        for j in 0..size {
            let identity = if i == j { 1.0 } else { 0.0 };
            let entry = &mut block[i * size + j];
            *entry = identity - step * scales[i] * *entry;
        }
    }
}
