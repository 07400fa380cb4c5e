//! Logic: gates, comparisons, latches, counters. A signal above one half is true.

use super::block::{binary, is_true, truth};
use super::noise::{Sequence, samples};
use crate::blocks::limit;
use crate::same::same_as;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use fluxline_library::signal::logic::{Inverse, Xor};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<And>(),
    ComponentType::of::<Or>(),
    same_as!(
        "SignalXor",
        Xor,
        "True when one of two conditions is, but not both.\n\nout = in1 ⊕ in2",
        ["in1" = "input1", "in2" = "input2"]
    ),
    same_as!("SignalNot", Inverse, "True when a condition is not.\n\nout = ¬in", ["in" = "input"]),
    ComponentType::of::<GreaterThan>(),
    ComponentType::of::<SmallerThan>(),
    ComponentType::of::<Counter>(),
    ComponentType::of::<SrLatch>(),
    ComponentType::of::<JkLatch>(),
    ComponentType::of::<StopSimulation>(),
    ComponentType::of::<SteadyStateIdentifier>(),
];

binary! {
    /// True when both conditions are.
    ///
    /// out = in1 ∧ in2
    And, "hopsan.SignalAnd",
    |a: "in1" = 0 "u₁ — condition [any]", b: "in2" = 0 "u₂ — condition [any]"|
    truth(is_true(a) & is_true(b));

    /// True when at least one of two conditions is.
    ///
    /// out = in1 ∨ in2
    Or, "hopsan.SignalOr",
    |a: "in1" = 0 "u₁ — condition [any]", b: "in2" = 0 "u₂ — condition [any]"|
    truth(is_true(a) | is_true(b));

    /// True while a signal is above a limit.
    ///
    /// out = 1 for in > x_limit, else 0
    GreaterThan, "hopsan.SignalGreaterThan",
    |u: "in" = 0 "u — signal [any]", limit: "x_limit" = 0 "x_lim — limit [any]"|
    truth(u.gt(limit));

    /// True while a signal is below a limit.
    ///
    /// out = 1 for in < x_limit, else 0
    SmallerThan, "hopsan.SignalSmallerThan",
    |u: "in" = 0 "u — signal [any]", limit: "x_limit" = 0 "x_lim — limit [any]"|
    truth(u.lt(limit));
}

/// Counts how often a condition changes.
///
/// out = number of changes to true (`r`) and to false (`f`); the condition starts as false
#[component("hopsan.SignalCounter", s, constants = CounterConstants)]
pub struct Counter {
    /// u — condition [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// – — count changes to true [–]
    #[parameter(name = "r", default = "true")]
    pub rising: bool,
    /// – — count changes to false [–]
    #[parameter(name = "f", default = "true")]
    pub falling: bool,
    /// y — changes so far [–]
    #[output]
    out: Output,
    /// – — condition one step ago [–]
    #[memory]
    before: Memory,
}

/// Constants of [`Counter`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct CounterConstants<T> {
    rising: bool,
    falling: bool,
    none: NoConstants<T>,
}

impl Physics for Counter {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<CounterConstants<f64>, Refusal> {
        let (rising, falling) = (self.rising, self.falling);
        Ok(CounterConstants { rising, falling, none: NoConstants::new() })
    }

    fn start<T: Num>(_: &CounterConstants<T>, io: &mut Step<'_, T>) {
        io.set_output(Self::OUT, T::zero());
        io.set_memory(Self::BEFORE, T::zero());
    }

    #[inline(always)]
    fn step<T: Num>(k: &CounterConstants<T>, io: &mut Step<'_, T>) {
        let (now, before) = (is_true(io.input(Self::INPUT)), is_true(io.memory(Self::BEFORE)));
        let mut count = io.output(Self::OUT);
        if k.rising {
            count += truth::<T>(now & !before);
        }
        if k.falling {
            count += truth::<T>(!now & before);
        }
        io.set_output(Self::OUT, count);
        io.set_memory(Self::BEFORE, truth(now));
    }
}

/// A value held between 0 and 1.
#[inline(always)]
fn unit<T: Num>(x: T) -> T {
    limit(x, T::zero(), T::one())
}

/// Declares latches by their next state, a function of the conditions to set and to reset and of
/// the state; all may lie between 0 and 1.
macro_rules! latches {
    ($($(#[$doc:meta])* $type:ident, $name:tt, |$set:ident, $reset:ident, $state:ident| $next:expr;)*) => {$(
        $(#[$doc])*
        #[fluxline_core::component($name, s)]
        pub struct $type {
            /// s — condition that sets it [any]
            #[input(name = "setCond", default = 0)]
            pub set: f64,
            /// r — condition that resets it [any]
            #[input(name = "resetCond", default = 0)]
            pub reset: f64,
            /// Q — state [–]
            #[output(name = "Qstate")]
            state: Output,
            /// – — the opposite of the state [–]
            #[output(name = "notQstate", start = "1")]
            opposite: Output,
        }
        impl Physics for $type {
            const HAS_LAW: bool = false;
            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }
            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                let ($set, $reset) = (io.input(Self::SET), io.input(Self::RESET));
                let $state = io.output(Self::STATE);
                let next = unit($next);
                io.set_output(Self::STATE, next);
                io.set_output(Self::OPPOSITE, T::one() - next);
            }
        }
    )*};
}

/// What setting and resetting, and neither of them, make of the state.
#[inline(always)]
fn set_or_reset<T: Num>(set: T, reset: T, state: T) -> T {
    let (not_set, not_reset) = (T::one() - unit(set), T::one() - unit(reset));
    unit(set * not_reset) - unit(reset * not_set) + unit(state * unit(not_reset * not_set))
}

latches! {
    /// Latch that is set and reset; both at once reset it.
    ///
    /// Q = s·r̄ + Q·s̄·r̄
    SrLatch, "hopsan.SignalSRlatch",
    |set, reset, state| set_or_reset(set, reset, state);

    /// Latch that is set and reset; both at once turn it over in every step.
    ///
    /// Q = s·r̄ + Q̄·s·r + Q·s̄·r̄
    JkLatch, "hopsan.SignalJKlatch",
    |set, reset, state| {
        let turned = unit((T::one() - unit(state)) * unit(reset * set));
        set_or_reset(set, reset, state) + turned
    };
}

/// Stops the run when a condition becomes true.
#[component("hopsan.SignalStopSimulation", s)]
pub struct StopSimulation {
    /// u — condition [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// – — what Hopsan says then [–]
    #[parameter(default = "")]
    pub message: String,
}

impl Physics for StopSimulation {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let asked = is_true(io.input(Self::INPUT));
        if asked.any() {
            io.request_stop(asked);
        }
    }
}

/// Tells whether a signal has come to rest.
///
/// method 0: max − min over the last wl < tol
///
/// method 1: with noise of deviation sd added, the variance over the last wl is less than tol times
/// the mean square of the differences from sample to sample
///
/// method 2: with noise of deviation sd added, R < tol:  R = (2 − l1)·l2·(u − ū)²/δ²,
/// δ² ← l3·(u − u₋)² + (1 − l3)·δ²₋,  ū ← l1·u + (1 − l1)·ū₋
///
/// The window begins full of zeros. The noise is that of `hopsan.SignalNoiseGenerator`: a component
/// draws 2 numbers for each normal one, with method 1 one normal number for each sample of the
/// window.
#[component("hopsan.SignalSteadyStateIdentifier", s, constants = SteadyStateConstants)]
pub struct SteadyStateIdentifier {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// – — below which it is at rest [any]
    #[input(name = "tol", default = 1)]
    pub tolerance: f64,
    /// – — length of the window [s]
    #[input(name = "wl", default = "0.1 s")]
    pub window: f64,
    /// σ — standard deviation of the noise that is added [any]
    #[input(name = "sd", default = 0.01)]
    pub deviation: f64,
    /// λ₁ — weight of a new sample in the mean [–]
    #[input(name = "l1", default = 0.1)]
    pub mean_weight: f64,
    /// λ₂ — weight of a new sample in the variance [–]
    #[input(name = "l2", default = 0.1)]
    pub variance_weight: f64,
    /// λ₃ — weight of a new sample in the mean square of the differences [–]
    #[input(name = "l3", default = 0.1)]
    pub difference_weight: f64,
    /// – — method: 0 range, 1 ratio of variances, 2 ratio of filtered variances [–]
    #[parameter(default = 0)]
    pub method: usize,
    /// – — numbers that other components draw before this one in a step [–]
    #[parameter(name = "draws_before", default = 0)]
    pub before: usize,
    /// – — numbers that other components draw after this one in a step [–]
    #[parameter(name = "draws_after", default = 0)]
    pub after: usize,
    /// y — 1 at rest, else 0 [–]
    #[output]
    out: Output,
    /// – — place of the next sample in the window [–]
    #[memory]
    next: Memory,
    /// u₋ — signal one step ago, with noise [any]
    #[memory]
    signal_1: Memory,
    /// ū — filtered signal [any]
    #[memory]
    mean: Memory,
    /// δ² — filtered square of the differences [any]
    #[memory]
    difference: Memory,
}

/// Constants of [`SteadyStateIdentifier`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct SteadyStateConstants<T> {
    /// Samples in the window, which begins the history; a copy with noise follows.
    samples: usize,
    method: usize,
    sequence: Sequence,
    none: NoConstants<T>,
}

impl SteadyStateIdentifier {
    /// Puts the signal into the window; gives the place of the oldest sample.
    #[wide]
    fn remember<T: Num>(samples: usize, io: &mut Step<'_, T>) -> usize {
        let (at, u) = (io.memory(Self::NEXT).first() as usize % samples, io.input(Self::INPUT));
        io.history()[at] = u;
        let next = (at + 1) % samples;
        io.set_memory(Self::NEXT, T::of(next as f64));
        next
    }

    /// Whether the range of the window is small.
    #[wide]
    fn range_is_small<T: Num>(samples: usize, io: &mut Step<'_, T>) -> T::Mask {
        Self::remember(samples, io);
        let window = &io.history()[..samples];
        let (mut low, mut high) = (window[0], window[0]);
        for &sample in window {
            low = low.min(sample);
            high = high.max(sample);
        }
        (high - low).lt(io.input(Self::TOLERANCE))
    }

    /// Whether the variance of the window is small against that of its differences.
    #[wide]
    fn variance_is_small<T: Num>(k: &SteadyStateConstants<T>, io: &mut Step<'_, T>) -> T::Mask {
        let n = k.samples;
        let oldest = Self::remember(n, io);
        let deviation = io.input(Self::DEVIATION);
        for i in 0..n {
            let noise = k.sequence.normal(io) * deviation;
            let history = io.history();
            history[n + i] = history[i] + noise;
        }
        let noisy = &io.history()[n..2 * n];
        let mean = noisy.iter().fold(T::zero(), |sum, &x| sum + x) / n as f64;
        let spread = noisy.iter().fold(T::zero(), |sum, &x| sum + (x - mean).squared());
        let mut jumps = T::zero();
        for i in 0..n - 1 {
            let (earlier, later) = (noisy[(oldest + i) % n], noisy[(oldest + i + 1) % n]);
            jumps += (later - earlier).squared();
        }
        let freedom = n as f64 - 1.0;
        ratio(spread / freedom, jumps / freedom).lt(io.input(Self::TOLERANCE))
    }

    /// The same with filters in place of a window.
    #[wide]
    fn filtered_is_small<T: Num>(k: &SteadyStateConstants<T>, io: &mut Step<'_, T>) -> T::Mask {
        let noise = k.sequence.normal(io) * io.input(Self::DEVIATION);
        let u = io.input(Self::INPUT) + noise;
        let (keep, l3) = (io.input(Self::MEAN_WEIGHT), io.input(Self::DIFFERENCE_WEIGHT));
        let (before, mean) = (io.memory(Self::SIGNAL_1), io.memory(Self::MEAN));
        let variance = io.input(Self::VARIANCE_WEIGHT) * (u - mean).squared();
        let difference =
            l3 * (u - before).squared() + (T::one() - l3) * io.memory(Self::DIFFERENCE);
        io.set_memory(Self::SIGNAL_1, u);
        io.set_memory(Self::MEAN, keep * u + (T::one() - keep) * mean);
        io.set_memory(Self::DIFFERENCE, difference);
        let scaled = (T::of(2.0) - keep) / 2.0 * variance;
        ratio(scaled, difference / 2.0).lt(io.input(Self::TOLERANCE))
    }
}

/// Quotient of two variances, of which neither counts as 0.
#[inline(always)]
fn ratio<T: Num>(a: T, b: T) -> T {
    let least = T::of(f64::MIN_POSITIVE);
    a.abs().max(least) / b.abs().max(least)
}

impl Physics for SteadyStateIdentifier {
    const HAS_LAW: bool = false;

    fn prepare(&self, environment: &Environment) -> Result<SteadyStateConstants<f64>, Refusal> {
        let samples = samples(self.window, environment.step);
        if samples <= 2 {
            return Err(Refusal::new(
                "wl",
                format!(
                    "a window of {} s holds {samples} steps of {} s",
                    self.window, environment.step
                ),
                "give wl three steps or more",
            ));
        }
        let sequence = Sequence { at: 2 * samples, before: self.before, after: self.after };
        let method = self.method;
        Ok(SteadyStateConstants { samples, method, sequence, none: NoConstants::new() })
    }

    fn history(k: &SteadyStateConstants<f64>) -> usize {
        k.sequence.at + Sequence::HISTORY
    }

    fn start<T: Num>(k: &SteadyStateConstants<T>, io: &mut Step<'_, T>) {
        let u = io.input(Self::INPUT);
        io.set_memory(Self::SIGNAL_1, u);
        io.set_memory(Self::MEAN, u);
        k.sequence.start(io);
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(k: &SteadyStateConstants<T>, io: &mut Step<'_, T>) {
        k.sequence.begin_step(io);
        let at_rest = match k.method {
            0 => Self::range_is_small(k.samples, io),
            1 => Self::variance_is_small(k, io),
            2 => Self::filtered_is_small(k, io),
            _ => return,
        };
        k.sequence.end_step(io);
        io.set_output(Self::OUT, truth(at_rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::block::sequence;
    use crate::signal::noise::draws;
    use fluxline_core::testing::Bench;

    #[test]
    fn gates_follow_their_truth_tables() {
        let table = [[0.0, 0.5], [0.4, 1.0], [1.0, 0.0], [1.0, 0.6]];
        let and = And { input1: 0.0, input2: 0.0 };
        assert_eq!(sequence(&and, 1.0, &table), [0.0, 0.0, 0.0, 1.0]);
        let or = Or { input1: 0.0, input2: 0.0 };
        assert_eq!(sequence(&or, 1.0, &table), [0.0, 1.0, 1.0, 1.0]);
        let rows = [[1.0, 2.0], [2.0, 2.0], [3.0, 2.0]];
        let greater = GreaterThan { input1: 0.0, input2: 0.0 };
        assert_eq!(sequence(&greater, 1.0, &rows), [0.0, 0.0, 1.0]);
        let smaller = SmallerThan { input1: 0.0, input2: 0.0 };
        assert_eq!(sequence(&smaller, 1.0, &rows), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_counter_counts_the_edges_it_is_told_to() {
        let rows = [[1.0], [1.0], [0.0], [1.0], [0.0], [0.0]];
        let counter = |rising, falling| Counter { input: 0.0, rising, falling };
        // The start does not look at the input: the first edge is seen in the first step.
        let both = sequence(&counter(true, true), 1.0, &rows);
        assert_eq!(both, [0.0, 1.0, 2.0, 3.0, 4.0, 4.0]);
        assert_eq!(sequence(&counter(true, false), 1.0, &rows), [0.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
        assert_eq!(sequence(&counter(false, true), 1.0, &rows), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn latches_hold_set_reset_and_turn_over() {
        let rows = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0]];
        let sr = sequence(&SrLatch { set: 0.0, reset: 0.0 }, 1.0, &rows);
        assert_eq!(sr, [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        let jk = sequence(&JkLatch { set: 0.0, reset: 0.0 }, 1.0, &rows);
        assert_eq!(jk, [0.0, 1.0, 1.0, 0.0, 1.0, 0.0]);
        let mut sr = Bench::new(&SrLatch { set: 0.0, reset: 0.0 }, 1.0);
        sr.state.signals[2] = 1.0;
        sr.start().step();
        assert_eq!((sr.output(0), sr.output(1)), (1.0, 0.0), "the start value is held");
    }

    #[test]
    fn a_true_condition_stops_the_run() {
        let mut stop = Bench::new(&StopSimulation { input: 0.0, message: String::new() }, 1.0);
        stop.input(0, 0.5).start().step();
        assert_eq!(stop.state.faults.stop_requested, 0);
        stop.input(0, 0.6).step();
        assert_eq!(stop.state.faults.stop_requested, 1);
    }

    fn identifier(method: usize) -> SteadyStateIdentifier {
        SteadyStateIdentifier {
            input: 0.0,
            tolerance: 0.0,
            window: 0.4,
            deviation: 0.0,
            mean_weight: 0.0,
            variance_weight: 0.0,
            difference_weight: 0.0,
            method,
            before: 0,
            after: 0,
        }
    }

    /// Noise and window are the same in all lanes, the signal is not.
    #[test]
    fn lanes_give_the_bits_of_scalars() {
        for method in 0..3 {
            fluxline_core::testing::assert_lanes_give_the_bits_of_scalars(
                [&identifier(method); 4],
                0.1,
                |_| unreachable!("a signal has no line ends"),
                |noise| noise.between(0.0, 1.0),
            );
        }
    }

    #[test]
    fn a_step_is_out_of_the_window_after_its_length() {
        // Four samples, all 0 at first; the start takes the first of them.
        let rows = [[5.0, 0.5], [5.0, 0.5], [5.0, 0.5], [5.0, 0.5], [5.4, 0.5], [5.6, 0.5]];
        assert_eq!(sequence(&identifier(0), 0.1, &rows), [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
        let short = SteadyStateIdentifier { window: 0.2, ..identifier(0) };
        let refused = Bench::within(
            &short,
            &fluxline_core::testing::Surroundings::of::<SteadyStateIdentifier>(0.1),
        );
        assert!(refused.is_err_and(|refusal| refusal.parameter == "wl"));
    }

    /// Two of them in one run with a tolerance of ½ and noise of deviation 1, the one with filters
    /// first. The expected bits are those of the recursions written in C with its own `rand`.
    #[test]
    fn two_of_them_share_the_noise() {
        let name = "SignalSteadyStateIdentifier";
        let first = SteadyStateIdentifier { after: draws(name, 1, 0.4, 0.1), ..identifier(2) };
        let second = SteadyStateIdentifier { before: draws(name, 2, 0.4, 0.1), ..identifier(1) };
        let rows = [[0.0, 0.5, 0.4, 1.0, 0.5, 0.5, 0.5]; 24];
        let bits = |component| -> String {
            let values = sequence(component, 0.1, &rows);
            values.iter().map(|&x| if x > 0.5 { '1' } else { '0' }).collect()
        };
        assert_eq!(bits(&first), "000010010010010111011101");
        assert_eq!(bits(&second), "101100101011101000100111");
    }

    /// A ramp of four samples 1, 2, 3, 4: variance 5/3, mean square of the differences 1.
    #[test]
    fn a_ramp_has_a_larger_variance_than_its_differences() {
        let ramp = |tolerance: f64| {
            let rows = [1.0, 2.0, 3.0, 4.0].map(|x| [x, tolerance, 0.4, 0.0]);
            sequence(&identifier(1), 0.1, &rows)[3]
        };
        assert_eq!((ramp(1.66), ramp(1.67)), (0.0, 1.0));
    }

    /// One step of method 2 by hand: u from 1 to 3 with λ₁ = λ₂ = λ₃ = ½ and without noise.
    #[test]
    fn filtered_variances_are_compared() {
        // At the start u = ū: both variances count as the least number, their ratio is 1. Then
        // (2 − ½)/2·½·2² = 1.5 over ½·½·2² = 1.
        let values = |tolerance: f64| {
            let rows = [1.0, 3.0].map(|x| [x, tolerance, 0.4, 0.0, 0.5, 0.5, 0.5]);
            sequence(&identifier(2), 0.1, &rows)
        };
        assert_eq!(values(1.49), [1.0, 0.0]);
        assert_eq!(values(1.51), [1.0, 1.0]);
    }
}
