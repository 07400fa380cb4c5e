//! Signals from the past: dead time, unit delay, sample and hold.
//!
//! Dead time and unit delay run after all signals, with the Q-components: what they write is seen in
//! the next step. So they open a signal loop where they stand, and delay by the same time inside a
//! loop and outside.

use super::block::{Now, given, sequential};
use super::time::interval;
use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// Dead time of at least one step.
///
/// y(t) = u(t − τ), linear between steps; before t = τ the first input, or the start value
///
/// The fraction of a step is kept, so the mean delay is exact. Opens signal loops.
#[component("signal.delay", q, constants = DelayConstants, also = "hopsan:SignalTimeDelay")]
pub struct Delay {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// τ — dead time [s]
    #[parameter(default = "1 s", min = ">0 s", also = "deltat")]
    pub delay: f64,
    /// y₀ — output until the first input arrives; the first input when absent [any]
    #[parameter]
    pub start_value: Option<f64>,
    /// y — delayed signal [any]
    #[output]
    out: Output,
    /// y — output for the next step [any]
    #[memory]
    held: Memory,
}

/// Constants of [`Delay`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct DelayConstants<T> {
    /// Whole steps of the dead time, less the one that every output takes to be seen.
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
        let (delay, step) = (self.delay, environment.step);
        // One step written in two ways, such as 1e-4 s and 0.1 ms, is still one step.
        if steps < 1.0 - 1e-9 {
            return Err(Refusal::new(
                "delay",
                format!("a dead time of {delay} s is shorter than the time step of {step} s"),
                "take a smaller step, or leave the delay out",
            ));
        }
        if steps > MOST_STEPS {
            return Err(Refusal::new(
                "delay",
                format!(
                    "a dead time of {delay} s is {steps:.0} steps of {step} s; at most {MOST_STEPS} are kept"
                ),
                "shorten the dead time or take a larger step",
            ));
        }
        let stored = (steps - 1.0).max(0.0);
        let (start_is_given, start) = given(self.start_value);
        Ok(DelayConstants {
            whole: stored.floor() as usize,
            fraction: stored - stored.floor(),
            start,
            start_is_given,
        })
    }

    fn is_discrete(_: &DelayConstants<f64>) -> bool {
        true
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
        let place = io.tick() as usize % (k.whole + 2);
        io.history().fill(first);
        io.history()[place] = input;
        io.set_memory(Self::HELD, first);
    }

    #[inline(always)]
    fn step<T: Num>(k: &DelayConstants<T>, io: &mut Step<'_, T>) {
        let length = k.whole + 2;
        let now = io.tick() as usize % length;
        let input = io.input(Self::INPUT);
        io.history()[now] = input;
        // `length` steps back is now, so `whole` back is two ahead and one more back is one ahead.
        let newer = io.history_at((now + 2) % length);
        let older = io.history_at((now + 1) % length);
        let out = newer + (older - newer) * k.fraction;
        io.set_memory(Self::HELD, out);
        io.set_output(Self::OUT, out);
    }
}

/// Delays a signal by one step.
///
/// yₙ = uₙ₋₁;  until the second step the first input, or the start value
///
/// Opens signal loops.
#[component("signal.unit_delay", q, constants = UnitDelayConstants, also = "hopsan:SignalUnitDelay")]
pub struct UnitDelay {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// y₀ — output until the second step; the first input when absent [any]
    #[parameter]
    pub start_value: Option<f64>,
    /// y — delayed signal [any]
    #[output]
    out: Output,
    /// u — input, for the next step [any]
    #[memory]
    held: Memory,
}

/// Constants of [`UnitDelay`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct UnitDelayConstants<T> {
    start: T,
    start_is_given: bool,
}

impl Physics for UnitDelay {
    fn prepare(&self, _: &Environment) -> Result<UnitDelayConstants<f64>, Refusal> {
        let (start_is_given, start) = given(self.start_value);
        Ok(UnitDelayConstants { start, start_is_given })
    }

    fn is_discrete(_: &UnitDelayConstants<f64>) -> bool {
        true
    }

    fn law<T: Num>(_: &UnitDelayConstants<T>, law: &mut Law<'_, T>) {
        law.output[Self::OUT] = law.memory[Self::HELD];
    }

    fn start<T: Num>(k: &UnitDelayConstants<T>, io: &mut Step<'_, T>) {
        let input = io.input(Self::INPUT);
        io.set_memory(Self::HELD, if k.start_is_given { k.start } else { input });
    }

    #[inline(always)]
    fn step<T: Num>(_: &UnitDelayConstants<T>, io: &mut Step<'_, T>) {
        let input = io.input(Self::INPUT);
        io.set_memory(Self::HELD, input);
        io.set_output(Self::OUT, input);
    }
}

/// Samples a signal and holds it until the next sample, as a digital controller does.
///
/// y = u(k·P) for k·P ≤ t < (k + 1)·P
///
/// A sample between two steps is taken at the later one.
#[component("signal.sample_hold", s, constants = SampleConstants)]
pub struct SampleHold {
    /// u — signal [any]
    #[input(default = 0)]
    pub input: f64,
    /// P — time from sample to sample [s]
    #[parameter(default = "1 ms", min = ">0 s")]
    pub sample_time: f64,
    /// y — held signal [any]
    #[output]
    out: Output,
    /// y — last sample [any]
    #[memory]
    held: Memory,
}

/// Constants of [`SampleHold`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct SampleConstants<T> {
    frequency: T,
}

sequential!(SampleHold: SampleConstants, memory 1);

impl SampleHold {
    fn constants(&self) -> Result<SampleConstants<f64>, Refusal> {
        Ok(SampleConstants { frequency: 1.0 / self.sample_time })
    }
    fn begin<T: Num>(_: &SampleConstants<T>, _: Now, u: impl Fn(usize) -> T) -> [T; 1] {
        [u(Self::INPUT)]
    }
    #[wide]
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
        Delay { input: 0.0, delay, start_value: None }
    }
    const UNIT: UnitDelay = UnitDelay { input: 0.0, start_value: None };
    fn sampler(sample_time: f64) -> SampleHold {
        SampleHold { input: 0.0, sample_time }
    }

    /// A ramp is met exactly by linear interpolation, for whole and broken numbers of steps. What is
    /// written in step n is seen in step n + 1.
    #[test]
    fn dead_time_keeps_its_fraction_of_a_step() {
        for tau in [0.01, 0.014, 0.025, 0.3, 0.3333] {
            let values = respond(&delay(tau), 0.01, 100, |t| 1.0 + 2.0 * t);
            for (n, value) in values.iter().enumerate() {
                let since = (n as f64 + 1.0) * 0.01 - tau;
                // The corner at the first input is cut where it falls between two steps.
                let tolerance = if since.abs() < 0.01 { 2.0 * 0.01 / 4.0 } else { 1e-13 };
                let exact = 1.0 + 2.0 * since.max(0.0);
                assert!((value - exact).abs() <= tolerance, "{tau}: step {n}: {value} {exact}");
            }
        }
    }

    #[test]
    fn start_value_lasts_for_the_dead_time() {
        let delayed = Delay { start_value: Some(-5.0), ..delay(0.03) };
        let values = respond(&delayed, 0.01, 5, |t| 1.0 + t);
        assert_eq!(values[..2], [-5.0; 2]);
        assert!((values[2] - 1.0).abs() < 1e-14 && (values[3] - 1.01).abs() < 1e-14);
        let from = UnitDelay { start_value: Some(7.0), ..UNIT };
        assert_eq!(respond(&from, 1.0, 2, |t| t), [7.0, 1.0, 2.0]);
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
    fn dead_times_too_long_and_too_short_are_refused() {
        assert!(refusal(&delay(1e5)).message.contains("100000000 steps"));
        assert!(refusal(&delay(1e-4)).message.contains("0.001 s"));
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        lanes_match([0.03, 0.031, 0.035, 0.039].map(delay));
        lanes_match([UNIT; 4]);
        lanes_match([0.02, 0.03, 0.035, 0.1].map(sampler));
    }
}
