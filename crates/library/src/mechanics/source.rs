//! Imposed motion and force.

use super::{Kernel, Settles};
use fluxline_core::Constants;
use fluxline_core::component::{BalanceRole, Environment, Law, Step};
use fluxline_core::number::Num;

/// A velocity that a signal gives; the position follows by the trapezoidal rule.
///
/// Order: port; input velocity; state position.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Motion<T> {
    /// T/2.
    half_step: T,
}

impl Motion<f64> {
    /// For a step.
    pub fn new(environment: &Environment) -> Self {
        Self { half_step: 0.5 * environment.step }
    }
}

impl Settles for Motion<f64> {}

impl<T: Num> Kernel<T> for Motion<T> {
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn law(&self, law: &mut Law<'_, T>) {
        law.flow[0] = law.input[0];
        law.rate[0] = law.input[0];
        law.displacement[0] = law.state[0];
    }

    fn start(&self, io: &mut Step<'_, T>) {
        let (v, x, effort) = (io.input(0), io.state(0), io.effort(0));
        io.set_rate(0, v);
        io.set_motion(0, v, x, effort);
    }

    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let v = io.input(0);
        let x = io.state(0) + self.half_step * (io.rate(0) + v);
        let effort = io.wave(0) + io.impedance(0) * v;
        io.set_state(0, x);
        io.set_rate(0, v);
        io.set_motion(0, v, x, effort);
    }
}

/// A position that follows a signal through a critically damped filter.
///
/// dx/dt = v,  dv/dt = ω²·(u − x) − 2·ω·v
///
/// Order: port; input u; states x, v.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Follower<T> {
    frequency: T,
    /// 1/(1 + ω·T/2)².
    share: T,
    /// T/2.
    half_step: T,
    start: T,
    has_start: bool,
}

impl Follower<f64> {
    /// A filter of natural frequency ω that starts at `start`, or where the input is.
    pub fn new(frequency: f64, start: Option<f64>, environment: &Environment) -> Self {
        let half_step = 0.5 * environment.step;
        let root = 1.0 + frequency * half_step;
        Self {
            frequency,
            share: 1.0 / (root * root),
            half_step,
            start: start.unwrap_or(0.0),
            has_start: start.is_some(),
        }
    }
}

impl<T: Num> Follower<T> {
    #[inline(always)]
    fn acceleration(&self, target: T, x: T, v: T) -> T {
        self.frequency * (self.frequency * (target - x) - v * 2.0)
    }
}

impl Settles for Follower<f64> {}

impl<T: Num> Kernel<T> for Follower<T> {
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn law(&self, law: &mut Law<'_, T>) {
        let (x, v) = (law.state[0], law.state[1]);
        law.flow[0] = v;
        law.displacement[0] = x;
        law.rate[0] = v;
        law.rate[1] = self.acceleration(law.input[0], x, v);
    }

    fn start(&self, io: &mut Step<'_, T>) {
        let x = if self.has_start { self.start } else { io.input(0) };
        let effort = io.effort(0);
        io.set_state(0, x);
        io.set_state(1, T::zero());
        io.set_motion(0, T::zero(), x, effort);
    }

    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let (target, h) = (io.input(0), self.half_step);
        let (old_x, old_v) = (io.state(0), io.state(1));
        // the trapezoidal rule with x eliminated
        let distance = target - old_x - h * old_v;
        let v = (old_v + h * (io.rate(1) + self.frequency.squared() * distance)) * self.share;
        let x = old_x + h * (old_v + v);
        let effort = io.wave(0) + io.impedance(0) * v;
        io.set_state(0, x);
        io.set_state(1, v);
        io.set_rate(0, v);
        io.set_rate(1, self.acceleration(target, x, v));
        io.set_motion(0, v, x, effort);
    }
}

/// Gives C-components with one port the force of their first input.
macro_rules! ideal_effort {
    ($component:ident) => {
        impl ::fluxline_core::component::Physics for $component {
            fn prepare(
                &self,
                _: &::fluxline_core::component::Environment,
            ) -> Result<NoConstants<f64>, ::fluxline_core::component::Refusal> {
                Ok(NoConstants::new())
            }
            fn law<T: ::fluxline_core::number::Num>(
                _: &NoConstants<T>,
                law: &mut ::fluxline_core::component::Law<'_, T>,
            ) {
                law.effort[0] = law.input[0];
            }
            fn start<T: ::fluxline_core::number::Num>(
                _: &NoConstants<T>,
                io: &mut ::fluxline_core::component::Step<'_, T>,
            ) {
                let effort = io.input(0);
                io.start_effort(0, effort, T::zero());
            }
            #[inline]
            fn step<T: ::fluxline_core::number::Num>(
                _: &NoConstants<T>,
                io: &mut ::fluxline_core::component::Step<'_, T>,
            ) {
                let effort = io.input(0);
                io.set_wave(0, effort, T::zero());
            }
            const ROLE: ::fluxline_core::component::BalanceRole =
                ::fluxline_core::component::BalanceRole::Boundary;
        }
    };
}
pub(crate) use ideal_effort;

/// Gives Q-components with any number of ports no motion.
macro_rules! no_motion {
    ($component:ident) => {
        impl ::fluxline_core::component::Physics for $component {
            fn prepare(
                &self,
                _: &::fluxline_core::component::Environment,
            ) -> Result<NoConstants<f64>, ::fluxline_core::component::Refusal> {
                Ok(NoConstants::new())
            }
            fn law<T: ::fluxline_core::number::Num>(
                _: &NoConstants<T>,
                law: &mut ::fluxline_core::component::Law<'_, T>,
            ) {
                law.flow.fill(T::zero());
                law.displacement.fill(T::zero());
            }
            #[inline]
            fn step<T: ::fluxline_core::number::Num>(
                _: &NoConstants<T>,
                io: &mut ::fluxline_core::component::Step<'_, T>,
            ) {
                for port in 0..io.port_count() {
                    let (still, force) = (T::zero(), io.wave(port));
                    io.set_motion(port, still, still, force);
                }
            }
            const ROLE: ::fluxline_core::component::BalanceRole =
                ::fluxline_core::component::BalanceRole::Boundary;
        }
    };
}
pub(crate) use no_motion;

/// Gives S-components that watch a port a number of it as output.
macro_rules! sensor {
    ($component:ident, $variable:ident) => {
        impl ::fluxline_core::component::Physics for $component {
            fn prepare(
                &self,
                _: &::fluxline_core::component::Environment,
            ) -> Result<NoConstants<f64>, ::fluxline_core::component::Refusal> {
                Ok(NoConstants::new())
            }
            fn law<T: ::fluxline_core::number::Num>(
                _: &NoConstants<T>,
                law: &mut ::fluxline_core::component::Law<'_, T>,
            ) {
                law.output[0] = law.$variable[0];
            }
            fn start<T: ::fluxline_core::number::Num>(
                _: &NoConstants<T>,
                io: &mut ::fluxline_core::component::Step<'_, T>,
            ) {
                let value = io.$variable(0);
                io.set_output(0, value);
            }
            #[inline]
            fn step<T: ::fluxline_core::number::Num>(
                _: &NoConstants<T>,
                io: &mut ::fluxline_core::component::Step<'_, T>,
            ) {
                let value = io.$variable(0);
                io.set_output(0, value);
            }
        }
    };
}
pub(crate) use sensor;
