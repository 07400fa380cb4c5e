//! Wave kernels shared by components: lumped chambers and turbulent flow between line ends.

use crate::component::{Environment, Filter, Step};
use crate::number::{Mask, Num};
use crate::wide;
use fluxline_macros::Constants;

/// Turbulent flow q = K·√|Δp|·sign(Δp) from end 1 to end 2 of two lines, solved exactly.
///
/// With Δp = Δc − Z·q, Z = Z₁ + Z₂: q = K·|Δc| / (√(|Δc| + (K·Z/2)²) + K·Z/2), which has no
/// cancellation for large impedance and is 0 for a closed edge.
#[inline(always)]
pub fn turbulent_flow<T: Num>(conductance: T, wave_difference: T, impedance_sum: T) -> T {
    // Who is known early is computed with first: nothing but the root waits for the conductance long.
    let half = conductance * (impedance_sum * 0.5);
    let drop = wave_difference.abs();
    let root = (drop + half * half).sqrt() + (half + f64::MIN_POSITIVE);
    (conductance * drop / root).with_sign_of(wave_difference)
}

/// Laminar flow q = G·Δp from end 1 to end 2 of two lines.
#[inline(always)]
pub fn laminar_flow<T: Num>(conductance: T, wave_difference: T, impedance_sum: T) -> T {
    conductance * wave_difference / (conductance * impedance_sum + 1.0)
}

/// A lumped store with N ends, one step apart: N stubs of equal impedance that meet in a point.
///
/// Z = N·T/(2·C·(1−α));  w_i = c_i + 2·Z·q_i;  c_i ← α·c_i + (1−α)·(2·w̄ − w_i)
///
/// (Pollmeier 2.25–2.27 for two ends.) With the pressure filter (6.1–6.5) w_i = p'_i + Z·q_i, where
/// p' is the low-passed pressure, and the wave itself is not filtered. Both keep C·mean(c) + T·Σq
/// exactly, so oil is conserved to rounding.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Store<T> {
    /// C — capacitance (V/β, 1/k …).
    pub capacitance: T,
    /// Z at each end.
    pub impedance: T,
    /// α of the wave filter, 0 without.
    pub wave_filter: T,
    /// α of the pressure filter, 0 without.
    pub pressure_filter: T,
    /// T — time step.
    pub dt: f64,
    /// Number of ends.
    pub ends: usize,
    /// True when the pressure filter is on: one number of history per end.
    pub filters_pressure: bool,
}

impl Store<f64> {
    /// A store with the circuit's filter.
    pub fn new(capacitance: f64, ends: usize, environment: &Environment) -> Self {
        Self::with_filter(capacitance, ends, environment.step, environment.filter)
    }

    /// A store with a filter of its own.
    pub fn with_filter(capacitance: f64, ends: usize, dt: f64, filter: Filter) -> Self {
        let (wave_filter, pressure_filter) = match filter {
            Filter::None => (0.0, 0.0),
            Filter::Wave(a) => (a, 0.0),
            Filter::Pressure(a) => (0.0, a),
        };
        Self {
            capacitance,
            impedance: ends as f64 * dt / (2.0 * capacitance * (1.0 - filter.factor())),
            wave_filter,
            pressure_filter,
            dt,
            ends,
            filters_pressure: pressure_filter > 0.0,
        }
    }

    /// Numbers of history it needs.
    pub fn history(&self) -> usize {
        if self.filters_pressure { self.ends } else { 0 }
    }
}

impl<T: Num> Store<T> {
    /// Starts all ends with one effort.
    pub fn start(&self, io: &mut Step<'_, T>, effort: T) {
        for i in 0..self.ends {
            io.start_effort(i, effort, self.impedance);
        }
        if self.filters_pressure {
            io.history()[..self.ends].fill(effort);
        }
    }

    /// New waves from the flows of the last step.
    #[inline(always)]
    pub fn scatter(&self, io: &mut Step<'_, T>) {
        let z = self.impedance;
        if self.filters_pressure {
            return self.scatter_pressure_filtered(io);
        }
        let mut sum = T::zero();
        for i in 0..self.ends {
            sum += io.wave(i) + z * io.flow(i) * 2.0;
        }
        let twice_mean = sum * (2.0 / self.ends as f64);
        let (keep, take) = (self.wave_filter, T::one() - self.wave_filter);
        for i in 0..self.ends {
            let ideal = twice_mean - io.wave(i) - z * io.flow(i) * 2.0;
            let wave = keep * io.wave(i) + take * ideal;
            io.set_wave(i, wave, z);
        }
    }

    #[wide]
    fn scatter_pressure_filtered(&self, io: &mut Step<'_, T>) {
        let (z, keep) = (self.impedance, self.pressure_filter);
        let take = T::one() - keep;
        let mut sum = T::zero();
        for i in 0..self.ends {
            let effort = io.wave(i) + z * io.flow(i);
            let filtered = take * effort + keep * io.history()[i];
            io.history()[i] = filtered;
            sum += filtered + z * io.flow(i);
        }
        let twice_mean = sum * (2.0 / self.ends as f64);
        for i in 0..self.ends {
            let leaving = io.history()[i] + z * io.flow(i);
            io.set_wave(i, twice_mean - leaving, z);
        }
    }

    /// Mean wave: the effort of the store when nothing flows.
    #[inline(always)]
    pub fn mean_wave(&self, io: &Step<'_, T>) -> T {
        let mut sum = T::zero();
        for i in 0..self.ends {
            sum += io.wave(i);
        }
        sum * (1.0 / self.ends as f64)
    }

    /// Mean effort.
    pub fn mean_effort(&self, io: &Step<'_, T>) -> T {
        let mut sum = T::zero();
        for i in 0..self.ends {
            sum += io.effort(i);
        }
        sum * (1.0 / self.ends as f64)
    }

    /// What has been stored, C·mean(c) + T·Σq; with the pressure filter C·((1−α)·c̄ + α·p̄').
    pub fn content(&self, io: &Step<'_, T>) -> T {
        let mut flow = T::zero();
        for i in 0..self.ends {
            flow += io.flow(i);
        }
        if self.filters_pressure {
            let (keep, take) = (self.pressure_filter, T::one() - self.pressure_filter);
            let mut filtered = T::zero();
            for i in 0..self.ends {
                filtered +=
                    take * (io.wave(i) + self.impedance * io.flow(i)) + keep * io.history_at(i);
            }
            let n = 1.0 / self.ends as f64;
            return self.capacitance * (filtered * n + take * self.impedance * flow * n);
        }
        self.capacitance * self.mean_wave(io) + flow * self.dt
    }

    /// Keeps the sum of the waves and their differences over the impedance when the impedance
    /// changes from `old` (Pollmeier 3.7–3.11).
    #[inline(always)]
    pub fn correct_waves(&self, old: T, io: &mut Step<'_, T>) {
        let mean = self.mean_wave(io);
        let ratio = T::select(old.gt(T::zero()), self.impedance / old, T::one());
        for i in 0..self.ends {
            let wave = mean + (io.wave(i) - mean) * ratio;
            io.set_wave(i, wave, self.impedance);
        }
    }

    /// Takes over from a store with another step. A flow stands for half the step before and half
    /// the step after its time, but will be added for the whole of the new one: half the difference
    /// is added now, to the waves or, where one is open, to the cavity (an index of memory).
    pub fn change_step(&self, old: &Self, io: &mut Step<'_, T>, cavity: Option<usize>) {
        let mut flow = T::zero();
        for i in 0..self.ends {
            flow += io.flow(i);
        }
        let late = flow * (0.5 * (old.dt - self.dt));
        let never = T::zero().lt(T::zero());
        let open = cavity.map_or(never, |cavity| io.memory(cavity).gt(T::zero()));
        if let Some(cavity) = cavity {
            let filled = io.memory(cavity) - T::select(open, late, T::zero());
            io.set_memory(cavity, filled);
        }
        let shift = T::select(open, T::zero(), late / self.capacitance);
        self.correct_waves(old.impedance, io);
        for i in 0..self.ends {
            let wave = io.wave(i) + shift;
            io.set_wave(i, wave, T::select(open, T::zero(), self.impedance));
            if self.filters_pressure {
                io.history()[i] += shift;
            }
        }
    }

    /// Cavitation of a liquid store: a floor at the vapour pressure with the missing oil kept as a
    /// cavity, which must be filled before pressure can rise again.
    ///
    /// `cavity` and `count` are indices of memory. While the cavity is open the ends are held at
    /// the vapour pressure. C·mean(c) − cavity is conserved.
    #[inline(always)]
    pub fn cavitate(&self, io: &mut Step<'_, T>, vapour: T, cavity: usize, count: usize) {
        let open = io.memory(cavity).gt(T::zero());
        let low = self.mean_wave(io).lt(vapour);
        if (open | low).any() {
            self.cavitate_rare(io, vapour, cavity, count);
        }
    }

    /// Right after `scatter`: what is stored, over the capacitance.
    #[wide]
    fn level(&self, io: &Step<'_, T>) -> T {
        let mean = self.mean_wave(io);
        if !self.filters_pressure {
            return mean;
        }
        let mut filtered = T::zero();
        for i in 0..self.ends {
            filtered += io.history_at(i);
        }
        filtered = filtered * (1.0 / self.ends as f64);
        mean + (filtered - mean) * self.pressure_filter
    }

    #[wide]
    #[cold]
    fn cavitate_rare(&self, io: &mut Step<'_, T>, vapour: T, cavity: usize, count: usize) {
        // `scatter` has already added the inflow to the level, also above an open cavity.
        let missing = (vapour - self.level(io)) * self.capacitance + io.memory(cavity);
        let is_open = missing.gt(T::zero());
        let was_open = io.memory(cavity).gt(T::zero());
        let refilled = vapour - missing / self.capacitance;
        for i in 0..self.ends {
            let filled = T::select(was_open, refilled, io.wave(i));
            let wave = T::select(is_open, vapour, filled);
            let impedance = T::select(is_open, T::zero(), self.impedance);
            io.set_wave(i, wave, impedance);
            io.bond_mut(i).dry = T::select(is_open, self.impedance, T::zero());
            if self.filters_pressure {
                let filtered = T::select(is_open | was_open, wave, io.history_at(i));
                io.history()[i] = filtered;
            }
        }
        let missing = T::select(is_open, missing, T::zero());
        io.set_memory(cavity, missing);
        io.count(count, is_open);
    }
}
