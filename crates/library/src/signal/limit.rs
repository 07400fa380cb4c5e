//! Saturation and its relatives without memory: dead band, quantiser, switch.

use super::block::{Now, memoryless, sequential, truth};
use fluxline_core::component;
use fluxline_core::component::NoConstants;
use fluxline_core::number::Num;

/// Holds a signal between two limits.
///
/// y = u, at least y_min, at most y_max; the upper limit wins where they cross
///
/// Steps at a limit are counted.
#[component("signal.limit", s, also = "hopsan:SignalSaturation")]
pub struct Limit {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// y_min — lower limit [any]
    #[input(default = -1, also = "y_lower")]
    pub minimum: f64,
    /// y_max — upper limit [any]
    #[input(default = 1, also = "y_upper")]
    pub maximum: f64,
    /// y — limited signal [any]
    #[output]
    out: Output,
    /// – — steps at a limit [any]
    #[memory(counts = "limit")]
    limited: Memory,
}

/// A band around zero in which nothing passes.
///
/// y = u − u_max above the band, u − u_min below, 0 within
#[component("signal.dead_band", s, also = "hopsan:SignalDeadZone")]
pub struct DeadBand {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// u_min — lower end of the band [any]
    #[input(default = 0, also = "u_dstart")]
    pub lower: f64,
    /// u_max — upper end of the band [any]
    #[input(default = 0, also = "u_dend")]
    pub upper: f64,
    /// y — what passes [any]
    #[output]
    out: Output,
}

/// Rounds a signal to steps, as a converter does.
///
/// y = q·⌊u/q + ½⌋
#[component("signal.quantize", s)]
pub struct Quantize {
    /// u — signal [any]
    #[input(default = 0)]
    pub input: f64,
    /// q — height of a step [any]
    #[input(default = 1, min = ">0")]
    pub interval: f64,
    /// y — rounded signal [any]
    #[output]
    out: Output,
}

/// Chooses one of two signals.
///
/// y = u₂ while c ≥ c₀, else u₁
#[component("signal.switch", s, also = "hopsan:SignalDualRoute")]
pub struct Switch {
    /// u₁ — signal while the condition is false [any]
    #[input(default = 0, also = "in1")]
    pub input1: f64,
    /// u₂ — signal while the condition is true [any]
    #[input(default = 0, also = "in2")]
    pub input2: f64,
    /// c — condition [any]
    #[input(default = 0, also = "route")]
    pub condition: f64,
    /// c₀ — the condition is true from here on [any]
    #[input(default = 0.5, also = "limit")]
    pub threshold: f64,
    /// y — chosen signal [any]
    #[output]
    out: Output,
}

sequential!(Limit, counts);
memoryless! { DeadBand Quantize Switch }

impl Limit {
    fn begin<T: Num>(_: &NoConstants<T>, _: Now, _: impl Fn(usize) -> T) -> [T; 1] {
        [T::zero()]
    }
    #[inline(always)]
    fn advance<T: Num>(
        _: &NoConstants<T>,
        _: Now,
        u: impl Fn(usize) -> T,
        [limited]: [T; 1],
    ) -> (T, [T; 1]) {
        let (input, low, high) = (u(Self::INPUT), u(Self::MINIMUM), u(Self::MAXIMUM));
        let beyond = input.lt(low) | input.gt(high);
        (input.clamp(low, high), [limited + truth::<T>(beyond)])
    }
}

impl DeadBand {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        let input = u(Self::INPUT);
        input - input.clamp(u(Self::LOWER), u(Self::UPPER))
    }
}

impl Quantize {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        let (signal, step) = (u(Self::INPUT), u(Self::INTERVAL));
        // A signal may drive the height to nothing: then there are no steps.
        let rounded = (signal / step + 0.5).floor() * step;
        T::select(step.gt(T::zero()), rounded, signal)
    }
}

impl Switch {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        let second = u(Self::CONDITION).ge(u(Self::THRESHOLD));
        T::select(second, u(Self::INPUT2), u(Self::INPUT1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{lanes_match, sequence};
    use fluxline_core::testing::Bench;

    const LIMIT: Limit = Limit { input: 0.0, minimum: 0.0, maximum: 0.0 };
    const BAND: DeadBand = DeadBand { input: 0.0, lower: 0.0, upper: 0.0 };
    const ROUND: Quantize = Quantize { input: 0.0, interval: 1.0 };
    const SWITCH: Switch = Switch { input1: 0.0, input2: 0.0, condition: 0.0, threshold: 0.0 };

    #[test]
    fn limit_clips_and_counts_only_what_it_clips() {
        let rows = [-3.0, -2.0, 0.5, 1.0, 1.5].map(|u| [u, -2.0, 1.0]);
        assert_eq!(sequence(&LIMIT, 0.1, &rows), [-2.0, -2.0, 0.5, 1.0, 1.0]);
        let mut bench = Bench::new(&LIMIT, 0.1);
        bench.input(1, -2.0).input(2, 1.0).start().settle();
        for u in [-3.0, -2.0, 0.5, 1.0, 1.5] {
            bench.input(0, u).step();
        }
        assert_eq!(bench.get_state(Limit::LIMITED), 2.0);
    }

    #[test]
    fn dead_band_passes_what_exceeds_it() {
        let rows = [-3.0, -0.5, 0.0, 1.0, 4.0].map(|u| [u, -1.0, 2.0]);
        assert_eq!(sequence(&BAND, 0.1, &rows), [-2.0, 0.0, 0.0, 0.0, 2.0]);
    }

    #[test]
    fn quantiser_errs_by_half_a_step_at_most() {
        let rows = [-0.3, -0.25, 0.0, 0.24, 0.26, 7.1].map(|u| [u, 0.5]);
        assert_eq!(sequence(&ROUND, 0.1, &rows), [-0.5, 0.0, 0.0, 0.0, 0.5, 7.0]);
    }

    #[test]
    fn switch_takes_the_second_signal_from_its_threshold_on() {
        let rows = [0.0, 0.49, 0.5, 1.0].map(|c| [1.0, 2.0, c, 0.5]);
        assert_eq!(sequence(&SWITCH, 0.1, &rows), [1.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        lanes_match([LIMIT; 4]);
        lanes_match([BAND; 4]);
        lanes_match([ROUND; 4]);
        lanes_match([SWITCH; 4]);
    }
}
