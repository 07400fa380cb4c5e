//! Signals from the past: dead time, unit delay, sample and hold.

use super::block::{Now, given, sequential};
use super::time::interval;
use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// Dead time.
///
/// y(t) = u(t − τ), linear between steps; before t = τ the first input, or the start value
///
/// The fraction of a step is kept, so the mean delay is exact. A dead time shorter than a step uses
/// the present input. Where a signal loop is opened here, the input is that of the step before, and
/// the delay one step longer.
#[component("signal.delay", s, constants = DelayConstants, also = "hopsan:SignalTimeDelay")]
pub struct Delay {
    /// u — signal [–]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// τ — dead time [s]
    #[parameter(default = "1 s", min = "0 s", also = "deltat")]
    pub delay: f64,
    /// y₀ — output until the first input arrives; the first input when absent [–]
    #[parameter]
    pub start_value: Option<f64>,
    /// y — delayed signal [–]
    #[output]
    out: Output,
    /// y — output of the last step [–]
    #[memory]
    held: Memory,
}

/// Constants of [`Delay`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct DelayConstants<T> {
    /// Whole steps of the dead time.
    whole: usize,
    /// The rest, as a fraction of a step.
    fraction: T,
    start: T,
    start_is_given: bool,
}

/// The most steps a dead time may span: 80 MB of history.
const MOST_STEPS: f64 = 1e7;

impl Physics for Delay {
    fn prepare(&self, environment: &Environment) -> Result<DelayConstants<f64>, Refusal> {
        let steps = self.delay / environment.step;
        if steps > MOST_STEPS {
            return Err(Refusal::new(
                "delay",
                format!(
                    "a dead time of {} s is {steps:.0} steps of {} s; at most {MOST_STEPS} are kept",
                    self.delay, environment.step
                ),
                "shorten the dead time or take a larger step",
            ));
        }
        let (start_is_given, start) = given(self.start_value);
        Ok(DelayConstants {
            whole: steps.floor() as usize,
            fraction: steps - steps.floor(),
            start,
            start_is_given,
        })
    }

    fn history(k: &DelayConstants<f64>) -> usize {
        k.whole + 2
    }

    fn law<T: Num>(_: &DelayConstants<T>, law: &mut Law<'_, T>) {
        law.output[Self::OUT] = law.memory[Self::HELD];
    }

    fn start<T: Num>(k: &DelayConstants<T>, io: &mut Step<'_, T>) {
        let input = io.input(Self::INPUT);
        let first = if k.start_is_given { k.start } else { input };
        let place = io.tick as usize % (k.whole + 2);
        io.history().fill(first);
        io.history()[place] = input;
        io.set_memory(Self::HELD, first);
    }

    #[inline]
    fn step<T: Num>(k: &DelayConstants<T>, io: &mut Step<'_, T>) {
        let length = k.whole + 2;
        let now = io.tick as usize % length;
        let input = io.input(Self::INPUT);
        io.history()[now] = input;
        // `length` steps back is now, so `whole` back is two ahead and one more back is one ahead.
        let newer = io.history_at((now + 2) % length);
        let older = io.history_at((now + 1) % length);
        let out = newer + (older - newer) * k.fraction;
        io.set_memory(Self::HELD, out);
        io.set_output(Self::OUT, out);
    }

    const NO_FEEDTHROUGH: &'static [usize] = &[Self::INPUT];
}

/// Delays a signal by one step.
///
/// yₙ = uₙ₋₁
///
/// Where a signal loop is opened here, the input is that of the step before, and the delay two steps.
#[component("signal.unit_delay", s, constants = UnitDelayConstants, also = "hopsan:SignalUnitDelay")]
pub struct UnitDelay {
    /// u — signal [–]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// y₀ — output at the start; the first input when absent [–]
    #[parameter]
    pub start_value: Option<f64>,
    /// y — delayed signal [–]
    #[output]
    out: Output,
    /// u₋ — input of the last step [–]
    #[memory]
    held: Memory,
}

/// Constants of [`UnitDelay`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct UnitDelayConstants<T> {
    start: T,
    start_is_given: bool,
}

/// Samples a signal and holds it until the next sample, as a digital controller does.
///
/// y = u(k·P) for k·P ≤ t < (k + 1)·P
///
/// A sample between two steps is taken at the later one.
#[component("signal.sample_hold", s, constants = SampleConstants)]
pub struct SampleHold {
    /// u — signal [–]
    #[input(default = 0)]
    pub input: f64,
    /// P — time from sample to sample [s]
    #[parameter(default = "1 ms", min = ">0 s")]
    pub sample_time: f64,
    /// y — held signal [–]
    #[output]
    out: Output,
    /// y — last sample [–]
    #[memory]
    held: Memory,
}

/// Constants of [`SampleHold`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct SampleConstants<T> {
    frequency: T,
}

sequential!(UnitDelay: UnitDelayConstants, memory 1, late INPUT);
sequential!(SampleHold: SampleConstants, memory 1);

impl UnitDelay {
    fn constants(&self) -> Result<UnitDelayConstants<f64>, Refusal> {
        let (start_is_given, start) = given(self.start_value);
        Ok(UnitDelayConstants {
            start,
            start_is_given,
        })
    }
    fn begin<T: Num>(k: &UnitDelayConstants<T>, _: Now, u: impl Fn(usize) -> T) -> [T; 1] {
        [if k.start_is_given {
            k.start
        } else {
            u(Self::INPUT)
        }]
    }
    #[inline(always)]
    fn advance<T: Num>(
        _: &UnitDelayConstants<T>,
        _: Now,
        u: impl Fn(usize) -> T,
        [held]: [T; 1],
    ) -> (T, [T; 1]) {
        (held, [u(Self::INPUT)])
    }
}

impl SampleHold {
    fn constants(&self) -> Result<SampleConstants<f64>, Refusal> {
        Ok(SampleConstants {
            frequency: 1.0 / self.sample_time,
        })
    }
    fn begin<T: Num>(_: &SampleConstants<T>, _: Now, u: impl Fn(usize) -> T) -> [T; 1] {
        [u(Self::INPUT)]
    }
    #[inline(always)]
    fn advance<T: Num>(
        k: &SampleConstants<T>,
        now: Now,
        u: impl Fn(usize) -> T,
        [held]: [T; 1],
    ) -> (T, [T; 1]) {
        let count = |time| interval(time, T::zero(), k.frequency);
        let sampled = count(now.time - now.dt).lt(count(now.time));
        let out = T::select(sampled, u(Self::INPUT), held);
        (out, [out])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{lanes_match, refusal, respond};

    fn delay(delay: f64) -> Delay {
        Delay {
            input: 0.0,
            delay,
            start_value: None,
        }
    }
    const UNIT: UnitDelay = UnitDelay {
        input: 0.0,
        start_value: None,
    };
    fn sampler(sample_time: f64) -> SampleHold {
        SampleHold {
            input: 0.0,
            sample_time,
        }
    }

    /// A ramp is met exactly by linear interpolation, for whole and broken numbers of steps.
    #[test]
    fn dead_time_keeps_its_fraction_of_a_step() {
        for tau in [0.0, 0.004, 0.01, 0.025, 0.3, 0.3333] {
            let values = respond(&delay(tau), 0.01, 100, |t| 1.0 + 2.0 * t);
            for (n, value) in values.iter().enumerate() {
                let exact = 1.0 + 2.0 * (n as f64 * 0.01 - tau).max(0.0);
                // The corner at the first input is cut where it falls between two steps.
                let near = (n as f64 * 0.01 - tau).abs() < 0.01;
                let tolerance = if near { 2.0 * 0.01 / 4.0 } else { 1e-13 };
                assert!(
                    (value - exact).abs() <= tolerance,
                    "{tau}: step {n}: {value} {exact}"
                );
            }
        }
    }

    #[test]
    fn start_value_lasts_for_the_dead_time() {
        let delayed = Delay {
            start_value: Some(-5.0),
            ..delay(0.03)
        };
        let values = respond(&delayed, 0.01, 5, |t| 1.0 + t);
        assert_eq!(values[..3], [-5.0; 3]);
        assert!((values[3] - 1.0).abs() < 1e-14 && (values[4] - 1.01).abs() < 1e-14);
    }

    #[test]
    fn unit_delay_gives_the_last_input() {
        let values = respond(&UNIT, 1.0, 4, |t| t * t);
        assert_eq!(values, [0.0, 0.0, 1.0, 4.0, 9.0]);
        let from = UnitDelay {
            start_value: Some(7.0),
            ..UNIT
        };
        assert_eq!(respond(&from, 1.0, 3, |t| t)[..2], [7.0, 7.0]);
    }

    /// Samples fall on every fifth step for 20 000 steps, whatever the rounding of time.
    #[test]
    fn samples_are_held_and_none_is_missed() {
        let values = respond(&sampler(5e-4), 1e-4, 20_000, |t| (t * 1e4).round());
        for (n, value) in values.iter().enumerate() {
            assert_eq!(*value, (n / 5 * 5) as f64);
        }
    }

    #[test]
    fn history_that_does_not_fit_is_refused() {
        assert_eq!(refusal(&delay(1e5)).parameter, "delay");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        lanes_match([0.03, 0.031, 0.035, 0.039].map(delay));
        lanes_match([UNIT; 4]);
        lanes_match([0.02, 0.03, 0.035, 0.1].map(sampler));
    }
}
