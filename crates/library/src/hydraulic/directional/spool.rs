//! Spool motion: from the signal to the position that sets the openings.

use crate::stops::{hold_motion, settle_motion, settle_rate};
use fluxline_core::component::{Law, Refusal, Settle, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::{Constants, choice};

choice! {
    /// How the spool follows its command.
    pub enum SpoolDynamics {
        /// At once, or along a ramp where a rate limit is given.
        None = "none",
        /// dx/dt = ω·(u − x)
        FirstOrder = "first_order",
        /// d²x/dt² = ω²·(u − x) − 2·δ·ω·dx/dt
        SecondOrder = "second_order",
    }
}

/// Index of the signal among the inputs of every directional valve.
pub const SIGNAL: usize = 0;
/// Index of the position among the states.
pub const X: usize = 0;
/// Index of the velocity among the states.
pub const V: usize = 1;
/// Index of the command held by hysteresis in memory.
pub const COMMAND: usize = 0;
/// Index of the count of limited steps in memory.
pub const LIMITED: usize = 1;

/// What users say about a spool.
#[derive(Clone, Copy, Debug)]
pub struct SpoolData {
    /// Signal at full stroke.
    pub rated_signal: f64,
    /// Part of the signal without effect.
    pub dead_band: f64,
    /// Width of the hysteresis, part of the stroke.
    pub hysteresis: f64,
    /// Kind of dynamics.
    pub dynamics: SpoolDynamics,
    /// ω, rad/s.
    pub natural_frequency: f64,
    /// δ.
    pub damping: f64,
    /// Strokes per second.
    pub max_rate: Option<f64>,
    /// Where the stroke begins: −1 for valves with a centre position, 0 for two positions.
    pub low: f64,
}

/// Constants of a spool, position −1…1 or 0…1.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Spool<T> {
    dynamics: SpoolDynamics,
    has_max_rate: bool,
    per_signal: T,
    dead_band: T,
    dead_band_scale: T,
    half_hysteresis: T,
    low: T,
    max_rate: T,
    omega: T,
    omega_squared: T,
    two_delta_omega: T,
    /// Reciprocal of the implicit factor of the trapezoidal rule.
    inverse: T,
    /// 1/T.
    per_step: f64,
    half_step: f64,
}

impl SpoolData {
    /// Constants for a time step.
    pub fn prepare(&self, step: f64) -> Result<Spool<f64>, Refusal> {
        let (omega, delta, half_step) = (self.natural_frequency, self.damping, 0.5 * step);
        if self.rated_signal == 0.0 {
            return Err(Refusal::new(
                "rated_signal",
                "the signal at full stroke is 0, so no signal moves the spool",
                "give the signal that opens the valve fully, such as 1 or 10",
            ));
        }
        let implicit = match self.dynamics {
            SpoolDynamics::None => 1.0,
            SpoolDynamics::FirstOrder => 1.0 + omega * half_step,
            SpoolDynamics::SecondOrder => {
                1.0 + 2.0 * delta * omega * half_step + omega * omega * half_step * half_step
            }
        };
        Ok(Spool {
            dynamics: self.dynamics,
            has_max_rate: self.max_rate.is_some(),
            per_signal: 1.0 / self.rated_signal,
            dead_band: self.dead_band,
            dead_band_scale: 1.0 / (1.0 - self.dead_band),
            half_hysteresis: 0.5 * self.hysteresis,
            low: self.low,
            max_rate: self.max_rate.unwrap_or(1e300),
            omega,
            omega_squared: omega * omega,
            two_delta_omega: 2.0 * delta * omega,
            inverse: 1.0 / implicit,
            per_step: 1.0 / step,
            half_step,
        })
    }
}

impl Spool<f64> {
    /// Whether stops or hysteresis ask for [`Spool::settle`]. A well-damped spool meets no stop: what
    /// its filter makes of commands within the stroke stays within it.
    pub fn settles(&self) -> bool {
        let swings = self.two_delta_omega < 2.0 * self.omega || self.has_max_rate;
        self.half_hysteresis > 0.0 || (self.dynamics == SpoolDynamics::SecondOrder && swings)
    }

    /// Puts the spool back onto its stops and renews the command behind the hysteresis.
    pub fn settle(&self, settle: &mut Settle<'_>) {
        settle.memory[COMMAND] = self.command(settle.input[SIGNAL], settle.memory[COMMAND]);
        if self.dynamics == SpoolDynamics::SecondOrder {
            settle_motion(settle.state, [X, V], (self.low, 1.0));
            settle_rate(&mut settle.state[V], (-self.max_rate, self.max_rate));
        } else {
            settle_rate(&mut settle.state[X], (self.low, 1.0));
        }
    }

    /// Renews the position of a spool that follows at once, and counts limits.
    pub fn show(&self, settle: &mut Settle<'_>) {
        let command = self.command(settle.input[SIGNAL], settle.memory[COMMAND]);
        settle.memory[COMMAND] = command;
        let target = Num::clamp(command, self.low, 1.0);
        if self.dynamics == SpoolDynamics::None && !self.has_max_rate {
            settle.state[X] = target;
        }
        settle.count(LIMITED, command != target);
    }
}

impl<T: Num> Spool<T> {
    /// Where the signal wants the spool: dead band, then hysteresis around the last command.
    #[inline(always)]
    fn command(&self, signal: T, last: T) -> T {
        let u = signal * self.per_signal;
        let beyond = (u.abs() - self.dead_band).max(T::zero()) * self.dead_band_scale;
        let u = beyond.with_sign_of(u);
        last.clamp(u - self.half_hysteresis, u + self.half_hysteresis)
    }

    #[inline(always)]
    fn within_rate(&self, rate: T) -> T {
        rate.clamp(-self.max_rate, self.max_rate)
    }

    /// Writes the rates of the continuous law and gives the position.
    pub fn law(&self, law: &mut Law<'_, T>) -> T {
        let command = self.command(law.input[SIGNAL], law.memory[COMMAND]);
        let target = command.clamp(self.low, T::one());
        let (x, v) = (law.state[X], law.state[V]);
        let shown = x.clamp(self.low, T::one());
        law.rate[V] = T::zero();
        law.rate[X] = match self.dynamics {
            SpoolDynamics::None if !self.has_max_rate => {
                law.rate[X] = T::zero();
                return target;
            }
            SpoolDynamics::None => self.within_rate((target - shown) * self.per_step),
            SpoolDynamics::FirstOrder => self.within_rate((target - shown) * self.omega),
            SpoolDynamics::SecondOrder => {
                let acceleration = self.omega_squared * (target - shown) - self.two_delta_omega * v;
                let fast = v.abs().ge(self.max_rate) & (acceleration * v).gt(T::zero());
                let acceleration = T::select(fast, T::zero(), acceleration);
                let range = (self.low, T::one());
                let speed = self.within_rate(v);
                let fade = self.omega * 10.0;
                let (rate, acceleration) = hold_motion(x, speed, acceleration, range, fade);
                law.rate[V] = acceleration;
                rate
            }
        };
        shown
    }

    /// One step by the trapezoidal rule; gives the new position.
    #[inline(always)]
    pub fn step(&self, io: &mut Step<'_, T>) -> T {
        let command = self.command(io.input(SIGNAL), io.memory(COMMAND));
        io.set_memory(COMMAND, command);
        let (low, high, h) = (self.low, T::one(), self.half_step);
        let target = command.clamp(low, high);
        let beyond = command.lt(low) | command.gt(high);
        let old = io.state(X);
        let (mut x, limited);
        match self.dynamics {
            SpoolDynamics::None => {
                x = target;
                limited = beyond;
                if self.has_max_rate {
                    let reach = self.max_rate * (2.0 * h);
                    x = old + (target - old).clamp(-reach, reach);
                    io.set_rate(X, (x - old) * self.per_step);
                }
            }
            SpoolDynamics::FirstOrder => {
                let start = old + io.rate(X) * h;
                x = (start + self.omega * target * h) * self.inverse;
                let free = (target - x) * self.omega;
                let rate = self.within_rate(free);
                x = T::select(free.abs().gt(self.max_rate), start + rate * h, x);
                limited = beyond | x.lt(low) | x.gt(high);
                x = x.clamp(low, high);
                io.set_rate(X, rate);
            }
            SpoolDynamics::SecondOrder => {
                let start = old + io.rate(X) * h;
                let pull = io.rate(V) + self.omega_squared * (target - start);
                let free = (io.state(V) + pull * h) * self.inverse;
                let mut v = self.within_rate(free);
                x = start + v * h;
                let acceleration = self.omega_squared * (target - x) - self.two_delta_omega * v;
                let stopped = x.lt(low) | x.gt(high);
                let held = stopped | free.abs().gt(self.max_rate);
                x = x.clamp(low, high);
                v = T::select(stopped, T::zero(), v);
                limited = beyond | stopped;
                io.set_state(V, v);
                io.set_rate(X, v);
                io.set_rate(V, T::select(held, T::zero(), acceleration));
            }
        }
        if limited.any() {
            io.count(LIMITED, limited);
        }
        io.set_state(X, x);
        x
    }
}
