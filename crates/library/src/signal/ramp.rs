//! Transitions from one level to another: ramp and soft step.

use super::block::memoryless;
use super::time::{elapsed, first_ahead, reached};
use fluxline_core::component::Refusal;
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};
use std::f64::consts::PI;

/// A ramp from one level to another.
///
/// y = y₀ + A·x,  x = (t − t₀)/(t₁ − t₀) held between 0 and 1
#[component("signal.ramp", s, constants = RampConstants, also = "hopsan:SignalRamp")]
pub struct Ramp {
    /// y₀ — value before the ramp [any]
    #[input(default = 0, also = "y_0")]
    pub base: f64,
    /// A — height of the ramp [any]
    #[input(default = 1, also = "y_A")]
    pub amplitude: f64,
    /// t₀ — time at which the ramp begins [s]
    #[parameter(default = "1 s", also = "t_start")]
    pub start: f64,
    /// t₁ — time at which the ramp ends [s]
    #[parameter(default = "2 s", also = "t_end")]
    pub end: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// A step without jerk: half a period of a cosine from one level to another.
///
/// y = y₀ + A·(1 − cos(π·x))/2,  x = (t − t₀)/(t₁ − t₀) held between 0 and 1
#[component("signal.soft_step", s, constants = RampConstants, also = "hopsan:SignalSoftStep")]
pub struct SoftStep {
    /// y₀ — value before the step [any]
    #[input(default = 0, also = "y_0")]
    pub base: f64,
    /// A — height of the step [any]
    #[input(default = 1, also = "y_A")]
    pub amplitude: f64,
    /// t₀ — time at which the step begins [s]
    #[parameter(default = "1 s", also = "t_start")]
    pub start: f64,
    /// t₁ — time at which the step ends [s]
    #[parameter(default = "2 s", also = "t_end")]
    pub end: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// Constants of [`Ramp`] and [`SoftStep`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct RampConstants<T> {
    start: T,
    end: T,
    inverse_duration: T,
}

impl RampConstants<f64> {
    fn new(start: f64, end: f64) -> Result<Self, Refusal> {
        if end > start {
            return Ok(Self { start, end, inverse_duration: 1.0 / (end - start) });
        }
        Err(Refusal::new(
            "end",
            format!("the end ({end} s) does not come after the start ({start} s)"),
            "give end a later time than start, or use signal.step",
        ))
    }
}

impl RampConstants<f64> {
    /// Both corners.
    fn event_after(&self, time: f64) -> f64 {
        first_ahead(time, [self.start, self.end])
    }
}

impl<T: Num> RampConstants<T> {
    /// How much of the way is done, 0 to 1.
    #[inline(always)]
    fn progress(&self, time: f64) -> T {
        let way = elapsed(time, self.start) * self.inverse_duration;
        T::select(reached(time, self.end), T::one(), way)
    }
}

memoryless!(Ramp: RampConstants, events);
memoryless!(SoftStep: RampConstants, events);

impl Ramp {
    fn constants(&self) -> Result<RampConstants<f64>, Refusal> {
        RampConstants::new(self.start, self.end)
    }
    fn event_after(k: &RampConstants<f64>, time: f64) -> f64 {
        k.event_after(time)
    }
    #[inline(always)]
    fn value<T: Num>(k: &RampConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        u(Self::BASE) + u(Self::AMPLITUDE) * k.progress(time)
    }
}

impl SoftStep {
    fn constants(&self) -> Result<RampConstants<f64>, Refusal> {
        RampConstants::new(self.start, self.end)
    }
    fn event_after(k: &RampConstants<f64>, time: f64) -> f64 {
        k.event_after(time)
    }
    #[inline(always)]
    fn value<T: Num>(k: &RampConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        let rise = (T::one() - (k.progress(time) * PI).cos()) * 0.5;
        u(Self::BASE) + u(Self::AMPLITUDE) * rise
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{Source, lanes_match, refusal};

    fn ramp(start: f64, end: f64) -> Ramp {
        Ramp { base: 0.0, amplitude: 0.0, start, end }
    }

    #[test]
    fn ramp_meets_its_levels_at_its_times() {
        let values = Source::with(&ramp(0.3, 0.7), &[1.0, 4.0], 0.1).values(8);
        assert!((values[3] - 1.0).abs() < 1e-15 && (values[5] - 3.0).abs() < 1e-14);
        assert_eq!(values[7..], [5.0, 5.0]);
    }

    #[test]
    fn soft_step_begins_and_ends_without_speed() {
        let step = SoftStep { base: 0.0, amplitude: 0.0, start: 1.0, end: 2.0 };
        let dt = 1e-3;
        let values = Source::with(&step, &[-1.0, 2.0], dt).values(2100);
        assert_eq!((values[1000], values[2000]), (-1.0, 1.0));
        assert!(values[1500].abs() < 1e-14);
        // The speed a step after the start and before the end is π²·dt/2 of the height at most.
        let largest = 2.0 * PI * PI * dt * dt / 4.0 * (1.0 + 1e-3);
        assert!(values[1001] + 1.0 <= largest && 1.0 - values[1999] <= largest);
    }

    #[test]
    fn ramp_that_ends_before_it_begins_is_refused() {
        let refusal = refusal(&ramp(2.0, 1.0));
        assert_eq!(refusal.parameter, "end");
        assert!(refusal.message.contains("1 s") && refusal.message.contains("2 s"));
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        lanes_match([0.1, 0.2, 0.3, 0.4].map(|t| ramp(t, 3.0 * t)));
        lanes_match([0.1, 0.2, 0.3, 0.4].map(|t| SoftStep {
            base: 0.0,
            amplitude: 0.0,
            start: t,
            end: t + 0.37,
        }));
    }
}
