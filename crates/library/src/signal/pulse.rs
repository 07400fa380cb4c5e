//! Pulses: one, and trains of them.

use super::block::memoryless;
use super::time::{ahead, first_ahead, interval, next_in_period, reached};
use fluxline_core::component::Refusal;
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// A single pulse.
///
/// y = y₀ + A for t₀ ≤ t < t₁, else y₀
#[component("signal.pulse", s, constants = PulseConstants, also = "hopsan:SignalPulse")]
pub struct Pulse {
    /// y₀ — value outside of the pulse [any]
    #[input(default = 0, also = "y_0")]
    pub base: f64,
    /// A — height of the pulse [any]
    #[input(default = 1, also = "y_A")]
    pub amplitude: f64,
    /// t₀ — time at which the pulse begins [s]
    #[parameter(default = "1 s", also = "t_start")]
    pub start: f64,
    /// t₁ — time at which the pulse ends [s]
    #[parameter(default = "2 s", also = "t_end")]
    pub end: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// A train of pulses.
///
/// y = y₀ + A in the first part D of each period from t₀ on, else y₀
#[component("signal.pulse_train", s, constants = TrainConstants, also = "hopsan:SignalPulseWave")]
pub struct PulseTrain {
    /// y₀ — value between the pulses [any]
    #[input(default = 0, also = "y_0")]
    pub base: f64,
    /// A — height of the pulses [any]
    #[input(default = 1, also = "y_A")]
    pub amplitude: f64,
    /// t₀ — time of the first pulse [s]
    #[parameter(default = "0 s", also = "t_start")]
    pub start: f64,
    /// P — time from one pulse to the next [s]
    #[parameter(default = "1 s", min = ">0 s", also = "dT")]
    pub period: f64,
    /// D — width of a pulse over the period [any]
    #[input(default = 0.5, min = 0, max = 1, also = "D")]
    pub duty: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// Constants of [`Pulse`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct PulseConstants<T> {
    start: T,
    end: T,
}

/// Constants of [`PulseTrain`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct TrainConstants<T> {
    start: T,
    period: T,
    frequency: T,
    /// D where no signal drives it: integration stops there.
    duty: T,
}

memoryless!(Pulse: PulseConstants, events);
memoryless!(PulseTrain: TrainConstants, events);

impl Pulse {
    fn constants(&self) -> Result<PulseConstants<f64>, Refusal> {
        let (start, end) = (self.start, self.end);
        if end <= start {
            return Err(Refusal::new(
                "end",
                format!("the end ({end} s) does not come after the start ({start} s)"),
                "give end a later time than start",
            ));
        }
        Ok(PulseConstants { start, end })
    }
    fn event_after(k: &PulseConstants<f64>, time: f64) -> f64 {
        first_ahead(time, [k.start, k.end])
    }
    #[inline(always)]
    fn value<T: Num>(k: &PulseConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        let high = reached(time, k.start) & !reached(time, k.end);
        u(Self::BASE) + T::select(high, u(Self::AMPLITUDE), T::zero())
    }
}

impl PulseTrain {
    fn constants(&self) -> Result<TrainConstants<f64>, Refusal> {
        Ok(TrainConstants {
            start: self.start,
            period: self.period,
            frequency: 1.0 / self.period,
            duty: self.duty,
        })
    }
    fn event_after(k: &TrainConstants<f64>, time: f64) -> f64 {
        next_in_period(time, (k.start, k.period), 0.0, &[0.0, k.duty])
    }
    #[inline(always)]
    fn value<T: Num>(k: &TrainConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        let index = interval(time, k.start, k.frequency);
        let end = k.start + (index + u(Self::DUTY)) * k.period;
        let high = index.ge(T::zero()) & T::of(ahead(time)).lt(end);
        u(Self::BASE) + T::select(high, u(Self::AMPLITUDE), T::zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{Source, lanes_match, refusal};

    fn pulse(start: f64, end: f64) -> Pulse {
        Pulse { base: 0.0, amplitude: 0.0, start, end }
    }
    fn train(start: f64, period: f64) -> PulseTrain {
        PulseTrain { base: 0.0, amplitude: 0.0, start, period, duty: 0.0 }
    }

    #[test]
    fn pulse_lasts_from_its_start_to_just_before_its_end() {
        let values = Source::with(&pulse(0.3, 0.6), &[1.0, 2.0], 0.1).values(8);
        assert_eq!(values, [1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0]);
    }

    /// Over 10 000 periods each pulse has its 3 steps of 10: rounding of time shifts none.
    #[test]
    fn train_keeps_its_period_and_width_for_long() {
        let values = Source::with(&train(0.2, 1e-3), &[0.0, 1.0, 0.3], 1e-4).values(102_000);
        for (n, value) in values.iter().enumerate() {
            let high = n >= 2000 && (n - 2000) % 10 < 3;
            assert_eq!(*value, f64::from(u8::from(high)), "step {n}");
        }
    }

    #[test]
    fn pulse_without_width_is_refused() {
        assert_eq!(refusal(&pulse(1.0, 1.0)).parameter, "end");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        lanes_match([0.1, 0.2, 0.3, 0.4].map(|t| pulse(t, 2.0 * t)));
        lanes_match([0.01, 0.02, 0.03, 0.04].map(|t| train(3.0 * t, t)));
    }
}
