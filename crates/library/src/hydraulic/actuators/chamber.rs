//! One chamber of a cylinder: a lumped store with ends for the port, the piston and the leakage,
//! whose volume and stiffness change.
//!
//! dp/dt = β/V·(Σq − dV/dt);  Z = N·β·T/(2·V·(1−α)),  N ends
//!
//! The same scattering, filters and cavitation as `fluxline_core::wave::Store`, which has its ends at
//! ports only. When Z changes, the sum of the waves and their differences over Z are kept (Pollmeier
//! 3.7–3.11). A cavity holds its ends at the vapour pressure without impedance once it is larger than
//! what flows in two steps. Smaller ones keep the impedance, except for a piston that draws away: a
//! void that is all but full would otherwise be filled through no resistance, and the shock of its
//! closing would feed on itself where steps are coarse. `packed` sums V/β·Δp as the waves show it, less the cavity, so that a lost wave would
//! show in the balance of oil.

use fluxline_core::Constants;
use fluxline_core::component::{Environment, Filter, Step};
use fluxline_core::fluid::Stiffness;
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;

/// The end at the port.
pub const PORT: usize = 0;
/// The end at the piston.
pub const PISTON: usize = 1;
/// The end of the leakage, where there is any.
pub const LEAK: usize = 2;
const ENDS: usize = 3;

// History of a chamber.
const WAVE: usize = 0;
const FILTERED: usize = WAVE + ENDS;
const IMPEDANCE: usize = FILTERED + ENDS;
const CAVITY: usize = IMPEDANCE + 1;
const PACKED: usize = CAVITY + 1;
const MEAN_FLOW: usize = PACKED + 1;
const WORK: usize = MEAN_FLOW + 1;
/// Numbers of history that a chamber keeps.
pub const SIZE: usize = WORK + 1;

/// Constants that all chambers of a cylinder share.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Chamber<T> {
    stiffness: Stiffness<T>,
    /// N·T/(2·(1−α)).
    impedance_per_stiffness: T,
    wave_filter: T,
    pressure_filter: T,
    vapour_pressure: T,
    filters_pressure: bool,
    ends: usize,
    dt: f64,
}

impl Chamber<f64> {
    /// A chamber with two ends, or three when it leaks.
    pub fn new(ends: usize, environment: &Environment) -> Self {
        let (wave_filter, pressure_filter) = match environment.filter {
            Filter::None => (0.0, 0.0),
            Filter::Wave(a) => (a, 0.0),
            Filter::Pressure(a) => (0.0, a),
        };
        let take = 1.0 - environment.filter.factor();
        Self {
            stiffness: environment.fluid.stiffness(),
            impedance_per_stiffness: ends as f64 * environment.step / (2.0 * take),
            wave_filter,
            pressure_filter,
            vapour_pressure: environment.fluid.vapour_pressure,
            filters_pressure: pressure_filter > 0.0,
            ends,
            dt: environment.step,
        }
    }
}

/// What a chamber shows at its ends in the coming step.
#[derive(Clone, Copy, Debug)]
pub struct Ends<T> {
    /// Waves.
    pub wave: [T; ENDS],
    /// Impedances, 0 while vapour fills the chamber.
    pub impedance: [T; ENDS],
    /// Mean pressure.
    pub pressure: T,
}

impl<T: Num> Chamber<T> {
    /// β at a pressure.
    #[inline(always)]
    pub fn stiffness(&self, pressure: T) -> T {
        self.stiffness.at(pressure)
    }
    /// Vapour pressure.
    #[inline(always)]
    pub fn vapour_pressure(&self) -> T {
        self.vapour_pressure
    }
    /// True while vapour fills a part of the chamber.
    #[inline(always)]
    pub fn is_open(&self, io: &Step<'_, T>, at: usize) -> T::Mask {
        io.history_at(at + CAVITY).gt(T::zero())
    }
    /// Impedance of an end when no vapour is near.
    #[inline(always)]
    pub fn impedance(&self, io: &Step<'_, T>, at: usize) -> T {
        io.history_at(at + IMPEDANCE)
    }
    /// ∫V/β dp less the cavity, m³.
    #[inline(always)]
    pub fn packed(&self, io: &Step<'_, T>, at: usize) -> T {
        io.history_at(at + PACKED)
    }

    /// ∫V/β·p dp: the work of compression since the start, J.
    #[inline(always)]
    pub fn work(&self, io: &Step<'_, T>, at: usize) -> T {
        io.history_at(at + WORK)
    }

    /// Fills the chamber at a pressure.
    pub fn start(&self, io: &mut Step<'_, T>, at: usize, pressure: T, volume: T) {
        let impedance = self.impedance_per_stiffness * self.stiffness.at(pressure) / volume;
        let history = &mut io.history()[at..at + SIZE];
        history.fill(T::zero());
        history[WAVE..IMPEDANCE].fill(pressure);
        history[IMPEDANCE] = impedance;
    }

    #[inline(always)]
    fn mean(&self, waves: &[T; ENDS]) -> T {
        let mut sum = waves[0] + waves[1];
        if self.ends == ENDS {
            sum += waves[2];
        }
        sum * (1.0 / self.ends as f64)
    }

    /// What the chamber holds over its capacitance.
    #[inline(always)]
    fn level(&self, waves: &[T; ENDS], filtered: &[T; ENDS]) -> T {
        let mean = self.mean(waves);
        if self.filters_pressure {
            mean + (self.mean(filtered) - mean) * self.pressure_filter
        } else {
            mean
        }
    }

    /// Takes in the flows of the last step, then adapts to the new volume.
    #[wide]
    #[inline(always)]
    pub fn step(&self, io: &mut Step<'_, T>, at: usize, flow: &[T; ENDS], volume: T) -> Ends<T> {
        let mut wave: [T; ENDS] = std::array::from_fn(|i| io.history_at(at + WAVE + i));
        let mut filtered: [T; ENDS] = std::array::from_fn(|i| io.history_at(at + FILTERED + i));
        let z = io.history_at(at + IMPEDANCE);
        let mut cavity = io.history_at(at + CAVITY);
        let before = self.level(&wave, &filtered);
        // Z = impedance_per_stiffness/C
        let capacitance = self.impedance_per_stiffness / z;

        let mut leaving = [T::zero(); ENDS];
        for i in 0..self.ends {
            leaving[i] = if self.filters_pressure {
                let effort = wave[i] + z * flow[i];
                filtered[i] = effort + (filtered[i] - effort) * self.pressure_filter;
                filtered[i] + z * flow[i]
            } else {
                wave[i] + z * flow[i] * 2.0
            };
        }
        let twice_mean = self.mean(&leaving) * 2.0;
        for i in 0..self.ends {
            let ideal = twice_mean - leaving[i];
            wave[i] = ideal + (wave[i] - ideal) * self.wave_filter;
        }

        let was_open = cavity.gt(T::zero());
        let old_cavity = cavity;
        let mut open = was_open;
        if (was_open | self.mean(&wave).lt(self.vapour_pressure)).any() {
            let concerned = was_open | self.mean(&wave).lt(self.vapour_pressure);
            let vapour = self.vapour_pressure;
            let missing = (vapour - self.level(&wave, &filtered)) * capacitance + cavity;
            open = concerned & missing.gt(T::zero());
            let refilled = vapour - missing / capacitance;
            for i in 0..self.ends {
                let closed = T::select(was_open, refilled, wave[i]);
                wave[i] = T::select(open, vapour, closed);
                filtered[i] = T::select(open | was_open, wave[i], filtered[i]);
            }
            cavity = T::select(open, missing, T::zero());
        }
        let gained = capacitance * (self.level(&wave, &filtered) - before) - (cavity - old_cavity);

        let pressure = self.mean(&wave);
        let new = self.impedance_per_stiffness * self.stiffness.at(pressure) / volume;
        let ratio = new / z;
        for wave in wave.iter_mut().take(self.ends) {
            let corrected = pressure + (*wave - pressure) * ratio;
            *wave = T::select(open, *wave, corrected);
        }
        let mean_flow = (io.history_at(at + MEAN_FLOW) + flow[PORT].abs()) * 0.5;
        let mut impedance = [new; ENDS];
        if open.any() {
            let passing = mean_flow + flow[PISTON].abs() + flow[LEAK].abs();
            let large = open & cavity.gt(passing * (2.0 * self.dt));
            let drawn = open & flow[PISTON].lt(T::zero());
            impedance = [T::select(large, T::zero(), new); ENDS];
            impedance[PISTON] = T::select(large | drawn, T::zero(), new);
        }

        let history = &mut io.history()[at..at + SIZE];
        history[WAVE..WAVE + ENDS].copy_from_slice(&wave);
        history[FILTERED..FILTERED + ENDS].copy_from_slice(&filtered);
        history[IMPEDANCE] = new;
        history[CAVITY] = cavity;
        history[WORK] += gained * (before + pressure) * 0.5;
        history[PACKED] += gained;
        history[MEAN_FLOW] = mean_flow;
        Ends { wave, impedance, pressure }
    }

    /// The ends as they are, without a step.
    #[wide]
    #[inline(always)]
    pub fn ends(&self, io: &Step<'_, T>, at: usize) -> Ends<T> {
        let wave: [T; ENDS] = std::array::from_fn(|i| io.history_at(at + WAVE + i));
        Ends { wave, impedance: [io.history_at(at + IMPEDANCE); ENDS], pressure: self.mean(&wave) }
    }

    /// Adapts the waves to a new step.
    #[wide]
    pub fn change_step(old: &Self, new: &Self, io: &mut Step<'_, T>, at: usize, inflow: T) {
        let ratio = new.impedance_per_stiffness / old.impedance_per_stiffness;
        let wave: [T; ENDS] = std::array::from_fn(|i| io.history_at(at + WAVE + i));
        let mean = new.mean(&wave);
        // A flow stands for half the step before and half the step after its time.
        let late = inflow * (0.5 * (old.dt - new.dt));
        let open = new.is_open(io, at);
        let history = &mut io.history()[at..at + SIZE];
        let take = T::one() - old.wave_filter - old.pressure_filter;
        let per_volume = history[IMPEDANCE] * take * (2.0 / (old.ends as f64 * old.dt));
        let shift = T::select(open, T::zero(), late * per_volume);
        for (i, wave) in wave.into_iter().enumerate() {
            history[WAVE + i] = mean + (wave - mean) * ratio + shift;
            history[FILTERED + i] += shift;
        }
        history[CAVITY] -= T::select(open, late, T::zero());
        history[PACKED] += late;
        history[IMPEDANCE] = history[IMPEDANCE] * ratio;
    }
}
