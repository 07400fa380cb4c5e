//! Second-order system.

use super::block::{Limits, given};
use crate::stops::{hold_motion, settle_motion};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// A second-order system, such as a servo valve's spool (low-pass filter).
///
/// d²y/dt² = ω²·(K·u − y) − 2·ζ·ω·dy/dt,  y_min ≤ y ≤ y_max
///
/// Trapezoidal rule; starts at rest with its first input unless a start value is given. At a limit
/// the motion stops. Where a signal loop is opened here, the input is that of the step before.
#[component("signal.second_order", s, constants = SecondOrderConstants, also = "hopsan:SignalLP2Filter")]
pub struct SecondOrder {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// K — gain [any]
    #[parameter(default = 1)]
    pub gain: f64,
    /// ω — natural frequency [rad/s]
    #[parameter(default = "1000 rad/s", min = ">0 rad/s", also = "omega")]
    pub natural_frequency: f64,
    /// ζ — damping ratio [any]
    #[parameter(default = 1, min = 0, also = "delta")]
    pub damping: f64,
    /// y₀ — start value; at rest with the first input when absent [any]
    #[parameter(also = "out#Value")]
    pub start_value: Option<f64>,
    /// y_min — lower limit [any]
    #[parameter(default = -1e300, also = "y_min")]
    pub minimum: f64,
    /// y_max — upper limit [any]
    #[parameter(default = 1e300, also = "y_max")]
    pub maximum: f64,
    /// y — filtered signal [any]
    #[output]
    out: Output,
    /// y — filtered signal [any]
    #[state]
    filtered: State,
    /// v — its rate [1/s]
    #[state]
    velocity: State,
    /// – — steps at a limit [any]
    #[memory(counts = "limit")]
    limited: Memory,
}

/// Constants of [`SecondOrder`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct SecondOrderConstants<T> {
    gain: T,
    /// ω².
    stiffness: T,
    /// 2·ζ·ω.
    resistance: T,
    /// 1/(1 + h·2·ζ·ω + h²·ω²).
    inverse: T,
    limits: Limits<T>,
    start: T,
    start_is_given: bool,
    half_step: f64,
}

impl Physics for SecondOrder {
    fn prepare(&self, environment: &Environment) -> Result<SecondOrderConstants<f64>, Refusal> {
        let h = 0.5 * environment.step;
        let stiffness = self.natural_frequency * self.natural_frequency;
        let resistance = 2.0 * self.damping * self.natural_frequency;
        let (start_is_given, start) = given(self.start_value);
        Ok(SecondOrderConstants {
            gain: self.gain,
            stiffness,
            resistance,
            inverse: 1.0 / (1.0 + h * resistance + h * h * stiffness),
            limits: Limits::new(self.minimum, self.maximum)?,
            start,
            start_is_given,
            half_step: h,
        })
    }

    fn law<T: Num>(k: &SecondOrderConstants<T>, law: &mut Law<'_, T>) {
        let (y, v) = (law.state[Self::FILTERED], law.state[Self::VELOCITY]);
        let (shown, range) = (k.limits.hold(y), (k.limits.minimum, k.limits.maximum));
        let a = k.acceleration(k.gain * law.input[Self::INPUT], shown, v);
        law.output[Self::OUT] = shown;
        let fade = k.stiffness.sqrt() * 10.0;
        (law.rate[Self::FILTERED], law.rate[Self::VELOCITY]) = hold_motion(y, v, a, range, fade);
    }

    fn settles(k: &SecondOrderConstants<f64>) -> bool {
        k.limits.limit()
    }

    fn settle(k: &SecondOrderConstants<f64>, settle: &mut Settle<'_>) {
        settle_motion(settle.state, [Self::FILTERED, Self::VELOCITY], k.limits.pair());
    }

    fn show(k: &SecondOrderConstants<f64>, settle: &mut Settle<'_>) {
        let (y, v) = (settle.state[Self::FILTERED], settle.state[Self::VELOCITY]);
        let a = k.acceleration(k.gain * settle.input[Self::INPUT], y, v);
        let held = hold_motion(y, v, a, k.limits.pair(), 0.0) != (v, a);
        settle.count(Self::LIMITED, held);
    }

    // The step finds the limits by itself.
    fn start_law<T: Num>(k: &SecondOrderConstants<T>, law: &mut Law<'_, T>) {
        let (y, v) = (law.state[Self::FILTERED], law.state[Self::VELOCITY]);
        law.rate[Self::FILTERED] = v;
        law.rate[Self::VELOCITY] = k.acceleration(k.gain * law.input[Self::INPUT], y, v);
        law.output[Self::OUT] = y;
    }

    fn start<T: Num>(k: &SecondOrderConstants<T>, io: &mut Step<'_, T>) {
        let rest = k.gain * io.input(Self::INPUT);
        let y = if k.start_is_given { k.start } else { rest };
        io.set_state(Self::FILTERED, k.limits.hold(y));
        io.set_state(Self::VELOCITY, T::zero());
    }

    #[inline]
    fn step<T: Num>(k: &SecondOrderConstants<T>, io: &mut Step<'_, T>) {
        let h = k.half_step;
        let target = k.gain * io.input(Self::INPUT);
        // y = y₀ + h·(v₀ + v),  v = v₀ + h·(a₀ + ω²·(target − y) − 2ζω·v)
        let (old, old_v) = (io.state(Self::FILTERED), io.state(Self::VELOCITY));
        let coast = old + old_v * h;
        let push = old_v + (io.rate(Self::VELOCITY) + k.stiffness * (target - coast)) * h;
        let v = push * k.inverse;
        let free = coast + v * h;
        let beyond = k.limits.beyond(free);
        io.count(Self::LIMITED, beyond);
        let y = k.limits.hold(free);
        let v = T::select(beyond, T::zero(), v);
        let a = k.acceleration(target, y, v);
        io.set_state(Self::FILTERED, y);
        io.set_state(Self::VELOCITY, v);
        io.set_rate(Self::FILTERED, v);
        // At a limit nothing accelerates outwards.
        io.set_rate(Self::VELOCITY, T::select(beyond, k.limits.hold_rate(y, a), a));
        io.set_output(Self::OUT, y);
    }

    const NO_FEEDTHROUGH: &'static [usize] = &[Self::INPUT];
}

impl<T: Num> SecondOrderConstants<T> {
    #[inline(always)]
    fn acceleration(&self, target: T, y: T, v: T) -> T {
        self.stiffness * (target - y) - self.resistance * v
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{closed_form_is_generic, lanes_match, order, respond};

    pub(crate) fn system(natural_frequency: f64, damping: f64) -> SecondOrder {
        SecondOrder {
            input: 0.0,
            gain: 2.0,
            natural_frequency,
            damping,
            start_value: None,
            minimum: -1e300,
            maximum: 1e300,
        }
    }

    /// Free oscillation from y₀ at rest: y = y₀·e^(−ζωt)·(cos ω_d·t + ζω/ω_d·sin ω_d·t).
    #[test]
    fn free_oscillation_is_met_to_second_order() {
        let (omega, zeta, t) = (10.0, 0.2, 1.0);
        let free = SecondOrder { start_value: Some(1.0), ..system(omega, zeta) };
        let damped = omega * (1.0f64 - zeta * zeta).sqrt();
        let decay = (-zeta * omega * t).exp();
        let exact = decay * ((damped * t).cos() + zeta * omega / damped * (damped * t).sin());
        let order = order(&free, t, |_| 0.0, exact);
        assert!((order - 2.0).abs() < 0.01, "{order}");
    }

    #[test]
    fn undamped_oscillation_keeps_its_amplitude() {
        let free = SecondOrder { start_value: Some(1.0), ..system(50.0, 0.0) };
        let values = respond(&free, 1e-3, 100_000, |_| 0.0);
        let last = values[99_000..].iter().fold(0.0f64, |m, v| m.max(v.abs()));
        // Eight samples near the crest at worst: 1 − cos(ωT/2) below the amplitude.
        assert!((last - 1.0).abs() < 4e-4, "{last}");
    }

    #[test]
    fn constant_input_is_rest_and_gain_is_exact() {
        let values = respond(&system(50.0, 0.3), 1e-3, 100, |_| 3.0);
        assert!(values.iter().all(|v| *v == 6.0));
    }

    #[test]
    fn limit_stops_the_motion_and_lets_go_at_once() {
        let limited = SecondOrder { maximum: 1.0, ..system(50.0, 0.3) };
        let values = respond(&limited, 1e-3, 400, |t| if t > 0.0 && t < 0.2 { 1.0 } else { 0.0 });
        assert!(values.iter().all(|v| *v <= 1.0));
        assert_eq!(values[199], 1.0);
        assert!(values[200] < 1.0);
    }

    #[test]
    fn step_is_the_generic_step_and_lanes_give_the_bits_of_scalars() {
        for (omega, zeta) in [(1.0, 0.1), (100.0, 0.7), (1e4, 2.0)] {
            closed_form_is_generic(&system(omega, zeta), 1e-3, omega * omega);
        }
        lanes_match(
            [1.0, 10.0, 50.0, 300.0]
                .map(|omega| SecondOrder { maximum: 0.5, ..system(omega, 0.4) }),
        );
    }
}
