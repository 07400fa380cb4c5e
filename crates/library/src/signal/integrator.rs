//! Integrator.

use super::block::{Limits, is_true};
use crate::stops::settle_rate;
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// Integrates a signal, between limits that it does not wind up against.
///
/// dy/dt = K·u,  y_min ≤ y ≤ y_max;  y = y₀ while the reset is true
///
/// Trapezoidal rule. At a limit the integrator stands still until the signal turns. Where a signal
/// loop is opened here, the input is that of the step before.
#[component("signal.integrator", s, constants = IntegratorConstants, also = "hopsan:SignalIntegrator2")]
pub struct Integrator {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// – — back to the start value while true [any]
    #[input(default = 0)]
    pub reset: f64,
    /// K — gain [1/s]
    #[parameter(default = "1 1/s")]
    pub gain: f64,
    /// y₀ — start value [any]
    #[parameter(default = 0, also = "out#Value")]
    pub start_value: f64,
    /// y_min — lower limit [any]
    #[parameter(default = -1e300)]
    pub minimum: f64,
    /// y_max — upper limit [any]
    #[parameter(default = 1e300)]
    pub maximum: f64,
    /// y — integral [any]
    #[output]
    out: Output,
    /// y — integral [any]
    #[state(start = "start_value")]
    integral: State,
    /// – — steps at a limit [any]
    #[memory(counts = "limit")]
    limited: Memory,
}

/// Constants of [`Integrator`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct IntegratorConstants<T> {
    gain: T,
    start: T,
    limits: Limits<T>,
    half_step: f64,
}

impl Physics for Integrator {
    fn prepare(&self, environment: &Environment) -> Result<IntegratorConstants<f64>, Refusal> {
        let limits = Limits::new(self.minimum, self.maximum)?;
        if limits.beyond(self.start_value) {
            return Err(Refusal::new(
                "start_value",
                format!(
                    "the start value ({}) lies outside of the limits ({} to {})",
                    self.start_value, self.minimum, self.maximum
                ),
                "start within the limits",
            ));
        }
        Ok(IntegratorConstants {
            gain: self.gain,
            start: self.start_value,
            limits,
            half_step: 0.5 * environment.step,
        })
    }

    fn law<T: Num>(k: &IntegratorConstants<T>, law: &mut Law<'_, T>) {
        let (y, zero) = (law.state[Self::INTEGRAL], T::zero());
        let reset = is_true(law.input[Self::RESET]);
        let rate = k.limits.hold_rate(y, k.gain * law.input[Self::INPUT]);
        law.rate[Self::INTEGRAL] = T::select(reset, zero, rate);
        law.output[Self::OUT] = T::select(reset, k.start, k.limits.hold(y));
    }

    // The trapezoidal rule goes on from the rate at the start, also out of a reset.
    fn start_law<T: Num>(k: &IntegratorConstants<T>, law: &mut Law<'_, T>) {
        let y = law.state[Self::INTEGRAL];
        law.rate[Self::INTEGRAL] = k.limits.hold_rate(y, k.gain * law.input[Self::INPUT]);
        law.output[Self::OUT] = y;
    }

    fn settles(_: &IntegratorConstants<f64>) -> bool {
        true
    }

    fn settle(k: &IntegratorConstants<f64>, settle: &mut Settle<'_>) {
        let y = &mut settle.state[Self::INTEGRAL];
        settle_rate(y, k.limits.pair());
        if is_true(settle.input[Self::RESET]) {
            *y = k.start;
        }
    }

    fn show(k: &IntegratorConstants<f64>, settle: &mut Settle<'_>) {
        let rate = k.gain * settle.input[Self::INPUT];
        let held = k.limits.hold_rate(settle.state[Self::INTEGRAL], rate) != rate;
        settle.count(Self::LIMITED, held && !is_true(settle.input[Self::RESET]));
    }

    fn start<T: Num>(k: &IntegratorConstants<T>, io: &mut Step<'_, T>) {
        io.set_state(Self::INTEGRAL, k.start);
    }

    #[inline]
    fn step<T: Num>(k: &IntegratorConstants<T>, io: &mut Step<'_, T>) {
        let rate = k.gain * io.input(Self::INPUT);
        let free = io.state(Self::INTEGRAL) + (io.rate(Self::INTEGRAL) + rate) * k.half_step;
        let reset = is_true(io.input(Self::RESET));
        let y = T::select(reset, k.start, k.limits.hold(free));
        io.count(Self::LIMITED, k.limits.beyond(free) & !reset);
        io.set_state(Self::INTEGRAL, y);
        io.set_rate(Self::INTEGRAL, k.limits.hold_rate(y, rate));
        io.set_output(Self::OUT, y);
    }

    const NO_FEEDTHROUGH: &'static [usize] = &[Self::INPUT];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{
        closed_form_is_generic, lanes_match, order, refusal, respond, sequence,
    };
    use fluxline_core::testing::Bench;

    fn integrator() -> Integrator {
        Integrator {
            input: 0.0,
            reset: 0.0,
            gain: 2.0,
            start_value: 0.5,
            minimum: -1e300,
            maximum: 1e300,
        }
    }

    #[test]
    fn trapezoids_are_exact_for_a_ramp_and_second_order_for_a_sine() {
        // ∫2t dt from 0.5: exact up to rounding.
        let values = respond(&integrator(), 0.01, 100, |t| t);
        assert!((values[100] - 1.5).abs() < 1e-13);
        let exact = 0.5 + 2.0 * (1.0 - 3f64.cos()) / 3.0;
        let order = order(&integrator(), 1.0, |t| (3.0 * t).sin(), exact);
        assert!((order - 2.0).abs() < 0.01, "{order}");
    }

    #[test]
    fn integrator_leaves_its_limit_as_soon_as_the_signal_turns() {
        let limited = Integrator { maximum: 1.0, ..integrator() };
        let mut bench = Bench::new(&limited, 0.1);
        bench.input(0, 1.0).start().settle();
        for _ in 0..50 {
            bench.step();
        }
        assert_eq!(bench.output(0), 1.0);
        assert_eq!(bench.state.states[2 + Integrator::LIMITED], 48.0, "counted from step 3 on");
        // The first step of the way back has one end only: T/2·K·u, then T·K·u.
        bench.input(0, -1.0).step();
        assert!((bench.output(0) - 0.9).abs() < 1e-15);
        bench.step();
        assert!((bench.output(0) - 0.7).abs() < 1e-15);
    }

    #[test]
    fn reset_holds_the_start_value_and_integration_goes_on_from_there() {
        let rows = [[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 0.0]];
        let values = sequence(&integrator(), 0.25, &rows);
        assert_eq!(values, [0.5, 1.0, 0.5, 0.5, 1.0]);
    }

    #[test]
    fn start_outside_of_the_limits_and_crossed_limits_are_refused() {
        let outside = Integrator { minimum: 1.0, ..integrator() };
        assert_eq!(refusal(&outside).parameter, "start_value");
        let crossed = Integrator { minimum: 1.0, maximum: 0.0, ..integrator() };
        assert_eq!(refusal(&crossed).parameter, "maximum");
    }

    #[test]
    fn step_is_the_generic_step_and_lanes_give_the_bits_of_scalars() {
        closed_form_is_generic(&integrator(), 0.1, 1.0);
        lanes_match([1.0, -2.0, 3.0, 0.5].map(|gain| Integrator {
            gain,
            maximum: 0.6,
            minimum: 0.4,
            ..integrator()
        }));
    }
}
