//! Signals over time, and where signals end.
//!
//! Times are compared as they are: a step source switches in the first step whose time is not below
//! its own, rounding errors of accumulated time included.

use super::arithmetic::many;
use super::block::{inert, memoryless};
use super::noise::Sequence;
use crate::same::same_as;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::{Constants, component};
use fluxline_library::signal::constant::Time;
use std::f64::consts::{FRAC_PI_2, PI};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Constant>(),
    ComponentType::of::<StepSource>(),
    ComponentType::of::<Ramp>(),
    ComponentType::of::<Pulse>(),
    ComponentType::of::<SoftStep>(),
    ComponentType::of::<SineWave>(),
    ComponentType::of::<SquareWave>(),
    ComponentType::of::<PulseWave>(),
    ComponentType::of::<Staircase>(),
    ComponentType::of::<StepExponentialDelay>(),
    ComponentType::of::<NoiseGenerator>(),
    ComponentType::of::<AdditiveNoise>(),
    same_as!("SignalTime", Time, "The time of the run.\n\nout = t", []),
    ComponentType::of::<Timestep>(),
    ComponentType::of::<Sink>(),
    ComponentType::of::<Logger>(),
];

/// A constant: the output keeps its start value.
#[component("hopsan.SignalConstant", s)]
pub struct Constant {
    /// y — value [any]
    #[output(start = "1")]
    y: Output,
}

/// A step in time.
///
/// out = y_0 for t < t_step, y_0 + y_A from then on
#[component("hopsan.SignalStep", s)]
pub struct StepSource {
    /// y₀ — value before the step [any]
    #[input(name = "y_0", default = 0)]
    pub base: f64,
    /// y_A — height of the step [any]
    #[input(name = "y_A", default = 1)]
    pub amplitude: f64,
    /// t_step — time of the step [s]
    #[input(name = "t_step", default = "1 s")]
    pub time: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// A ramp from one value to another.
///
/// out = y_0 + y_A·(t − t_start)/(t_end − t_start), held before and after; starts with y_0
#[component("hopsan.SignalRamp", s)]
pub struct Ramp {
    /// y₀ — value before the ramp [any]
    #[input(name = "y_0", default = 0)]
    pub base: f64,
    /// y_A — height of the ramp [any]
    #[input(name = "y_A", default = 1)]
    pub amplitude: f64,
    /// t_start — time at which it begins [s]
    #[input(name = "t_start", default = "1 s")]
    pub begin: f64,
    /// t_end — time at which it ends [s]
    #[input(name = "t_end", default = "2 s")]
    pub end: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// One pulse.
///
/// out = y_0 + y_A for t_start ≤ t + T/2 < t_end, else y_0; starts with y_0
#[component("hopsan.SignalPulse", s)]
pub struct Pulse {
    /// y₀ — value outside of the pulse [any]
    #[input(name = "y_0", default = 0)]
    pub base: f64,
    /// y_A — height of the pulse [any]
    #[input(name = "y_A", default = 1)]
    pub amplitude: f64,
    /// t_start — time at which it begins [s]
    #[input(name = "t_start", default = "1 s")]
    pub begin: f64,
    /// t_end — time at which it ends [s]
    #[input(name = "t_end", default = "2 s")]
    pub end: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// A smooth step: half a cosine from one value to another.
///
/// out = y_0 + y_A/2·(1 + sin(π·(t − t_start)/(t_end − t_start) − π/2)), held before and after;
/// starts with y_0
#[component("hopsan.SignalSoftStep", s)]
pub struct SoftStep {
    /// t_start — time at which it begins [s]
    #[input(name = "t_start", default = "1 s")]
    pub begin: f64,
    /// t_end — time at which it ends [s]
    #[input(name = "t_end", default = "2 s")]
    pub end: f64,
    /// y₀ — value before the step [any]
    #[input(name = "y_0", default = 0)]
    pub base: f64,
    /// y_A — height of the step [any]
    #[input(name = "y_A", default = 1)]
    pub amplitude: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// A sine.
///
/// out = y_A·sin(2π·f·(t − t_start − y_offset)) from t_start on, 0 before
#[component("hopsan.SignalSineWave", s)]
pub struct SineWave {
    /// f — frequency [Hz]
    #[input(name = "f", default = "1 Hz")]
    pub frequency: f64,
    /// y_A — amplitude [any]
    #[input(name = "y_A", default = 1)]
    pub amplitude: f64,
    /// y_offset — time by which it lags [s]
    #[input(name = "y_offset", default = "0 s")]
    pub lag: f64,
    /// t_start — time at which it begins [s]
    #[input(name = "t_start", default = "0 s")]
    pub begin: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// A square wave.
///
/// out = y_0 + y_A where sin(2π·f·(t − t_start)) ≥ 0, else y_0 − y_A; y_0 before t_start and at the
/// start
#[component("hopsan.SignalSquareWave", s)]
pub struct SquareWave {
    /// y₀ — mean value [any]
    #[input(name = "y_0", default = 0)]
    pub base: f64,
    /// y_A — amplitude [any]
    #[input(name = "y_A", default = 1)]
    pub amplitude: f64,
    /// f — frequency [Hz]
    #[input(name = "f", default = "1 Hz")]
    pub frequency: f64,
    /// t_start — time at which it begins [s]
    #[input(name = "t_start", default = "0 s")]
    pub begin: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// A train of pulses.
///
/// τ = t − t_start + T/2;  out = y_0 + y_A where τ > 0 and τ mod dT < D·dT, else y_0; starts with y_0
#[component("hopsan.SignalPulseWave", s)]
pub struct PulseWave {
    /// y₀ — value between the pulses [any]
    #[input(name = "y_0", default = 0)]
    pub base: f64,
    /// y_A — height of the pulses [any]
    #[input(name = "y_A", default = 1)]
    pub amplitude: f64,
    /// t_start — time at which the first begins [s]
    #[input(name = "t_start", default = "0 s")]
    pub begin: f64,
    /// dT — time from pulse to pulse [s]
    #[input(name = "dT", default = "1 s")]
    pub period: f64,
    /// D — part of the time that a pulse takes [–]
    #[input(name = "D", default = 0.5)]
    pub duty: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// Stairs upwards.
///
/// out = H_step·⌊max(t − T_start + min(T, W_step)/2, 0)/W_step⌋; starts with the output's start value
#[component("hopsan.SignalStaircase", s)]
pub struct Staircase {
    /// T_start — time at which it begins [s]
    #[input(name = "T_start", default = "0 s")]
    pub begin: f64,
    /// H_step — height of a stair [any]
    #[input(name = "H_step", default = 1)]
    pub height: f64,
    /// W_step — width of a stair [s]
    #[input(name = "W_step", default = "1 s")]
    pub width: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// A step that dies away.
///
/// out = y_0 for t < t_step, then y_0 + y_A·exp(−(t − t_step)/tao); starts with y_0
#[component("hopsan.SignalStepExponentialDelay", s)]
pub struct StepExponentialDelay {
    /// y₀ — value before the step and long after it [any]
    #[input(name = "y_0", default = 0)]
    pub base: f64,
    /// y_A — height of the step [any]
    #[input(name = "y_A", default = 1)]
    pub amplitude: f64,
    /// τ — time constant [s]
    #[input(name = "tao", default = "1 s")]
    pub decay: f64,
    /// t_step — time of the step [s]
    #[input(name = "t_step", default = "1 s")]
    pub time: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// White noise, a new number in every step.
///
/// out = std_dev·n,  n of mean 0 and variance 1
///
/// The numbers are those that Hopsan draws on Linux. Where several components draw, each is told how
/// many numbers the others take in a step before and after it: two for each normal number.
#[component("hopsan.SignalNoiseGenerator", s, constants = NoiseConstants)]
pub struct NoiseGenerator {
    /// σ — standard deviation [any]
    #[input(name = "std_dev", default = 1)]
    pub deviation: f64,
    /// – — numbers that other components draw before this one in a step [–]
    #[parameter(name = "draws_before", default = 0)]
    pub before: usize,
    /// – — numbers that other components draw after this one in a step [–]
    #[parameter(name = "draws_after", default = 0)]
    pub after: usize,
    /// y — noise [any]
    #[output]
    out: Output,
}

/// Adds white noise to a signal, a new number in every step.
///
/// out = in + std_dev·n,  n of mean 0 and variance 1, as that of `hopsan.SignalNoiseGenerator`
#[component("hopsan.SignalAdditiveNoise", s, constants = NoiseConstants)]
pub struct AdditiveNoise {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// σ — standard deviation [any]
    #[input(name = "std_dev", default = 1)]
    pub deviation: f64,
    /// – — numbers that other components draw before this one in a step [–]
    #[parameter(name = "draws_before", default = 0)]
    pub before: usize,
    /// – — numbers that other components draw after this one in a step [–]
    #[parameter(name = "draws_after", default = 0)]
    pub after: usize,
    /// y — signal with noise [any]
    #[output]
    out: Output,
}

/// Constants of [`NoiseGenerator`] and [`AdditiveNoise`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct NoiseConstants<T> {
    sequence: Sequence,
    none: NoConstants<T>,
}

/// The time step.
///
/// ts = T
#[component("hopsan.SignalTimestep", s)]
pub struct Timestep {
    /// T — time step [s]
    #[output(name = "ts")]
    out: Output,
}

many! {
    /// The end of signals that are only looked at.
    Sink, "hopsan.SignalSink" {
        in_1 "in" = 0, in_2 "in_2" = 0, in_3 "in_3" = 0, in_4 "in_4" = 0, in_5 "in_5" = 0,
        in_6 "in_6" = 0, in_7 "in_7" = 0, in_8 "in_8" = 0, in_9 "in_9" = 0, in_10 "in_10" = 0,
        in_11 "in_11" = 0, in_12 "in_12" = 0, in_13 "in_13" = 0, in_14 "in_14" = 0,
        in_15 "in_15" = 0, in_16 "in_16" = 0,
        right_1 "in_right" = 0, right_2 "in_right_2" = 0, right_3 "in_right_3" = 0,
        right_4 "in_right_4" = 0, right_5 "in_right_5" = 0, right_6 "in_right_6" = 0,
        right_7 "in_right_7" = 0, right_8 "in_right_8" = 0, right_9 "in_right_9" = 0,
        right_10 "in_right_10" = 0, right_11 "in_right_11" = 0, right_12 "in_right_12" = 0,
        right_13 "in_right_13" = 0, right_14 "in_right_14" = 0, right_15 "in_right_15" = 0,
        right_16 "in_right_16" = 0,
        bottom "in_bottom" = 0,
    }
}

many! {
    /// Signals that Hopsan writes to a file while it runs. Here results are recorded instead, and
    /// nothing is written.
    Logger, "hopsan.SignalLogger" {
        in_1 "in" = 0, in_2 "in_2" = 0, in_3 "in_3" = 0, in_4 "in_4" = 0, in_5 "in_5" = 0,
        in_6 "in_6" = 0, in_7 "in_7" = 0, in_8 "in_8" = 0, in_9 "in_9" = 0, in_10 "in_10" = 0,
        in_11 "in_11" = 0, in_12 "in_12" = 0, in_13 "in_13" = 0, in_14 "in_14" = 0,
        in_15 "in_15" = 0, in_16 "in_16" = 0,
    }
    /// dt — time between two samples, 0 for every step [s]
    #[input(name = "dt", default = "0 s")]
    pub interval: f64,
    /// – — file that Hopsan writes [–]
    #[parameter(default = "")]
    pub path: String,
    /// – — kind of file: 0 columns, 1 rows, 2 columns as Hopsan's own, 3 PLO [–]
    #[parameter(default = 0)]
    pub filetype: usize,
    /// – — names of the signals, with commas between them [–]
    #[parameter(default = "")]
    pub names: String,
    /// – — other names of the signals [–]
    #[parameter(default = "")]
    pub aliases: String,
    /// – — units of the signals [–]
    #[parameter(default = "")]
    pub units: String,
}

inert! { Constant Sink Logger }
memoryless! { StepSource SineWave Timestep }
memoryless!(Ramp from BASE);
memoryless!(Pulse from BASE);
memoryless!(SoftStep from BASE);
memoryless!(SquareWave from BASE);
memoryless!(PulseWave from BASE);
memoryless!(StepExponentialDelay from BASE);

impl StepSource {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let base = io.input(Self::BASE);
        let before = T::of(io.time()).lt(io.input(Self::TIME));
        T::select(before, base, base + io.input(Self::AMPLITUDE))
    }
}

/// y₀ before, y₀ + A after, `between` in the time between.
#[inline(always)]
fn passage<T: Num>(time: f64, (begin, end): (T, T), (base, height): (T, T), between: T) -> T {
    let t = T::of(time);
    T::select(t.lt(begin), base, T::select(t.lt(end), between, base + height))
}

impl Ramp {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let (begin, end) = (io.input(Self::BEGIN), io.input(Self::END));
        let (base, height) = (io.input(Self::BASE), io.input(Self::AMPLITUDE));
        let between = (T::of(io.time()) - begin) / (end - begin) * height + base;
        passage(io.time(), (begin, end), (base, height), between)
    }
}

impl SoftStep {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let (begin, end) = (io.input(Self::BEGIN), io.input(Self::END));
        let (base, height) = (io.input(Self::BASE), io.input(Self::AMPLITUDE));
        let angle = (T::of(io.time()) - begin) * (T::of(PI) / (end - begin)) - FRAC_PI_2;
        let between = base + height * 0.5 * angle.sin() + height * 0.5;
        passage(io.time(), (begin, end), (base, height), between)
    }
}

impl Pulse {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let t = T::of(io.time()) + 0.5 * io.dt;
        let base = io.input(Self::BASE);
        let during = t.ge(io.input(Self::BEGIN)) & t.lt(io.input(Self::END));
        T::select(during, base + io.input(Self::AMPLITUDE), base)
    }
}

impl SineWave {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let (t, begin) = (T::of(io.time()), io.input(Self::BEGIN));
        let angle = (t - begin - io.input(Self::LAG)) * 2.0 * PI * io.input(Self::FREQUENCY);
        T::select(t.lt(begin), T::zero(), io.input(Self::AMPLITUDE) * angle.sin())
    }
}

impl SquareWave {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let (t, begin) = (T::of(io.time()), io.input(Self::BEGIN));
        let (base, height) = (io.input(Self::BASE), io.input(Self::AMPLITUDE));
        // The sign of the sine decides at the half periods, as rounded as it is there.
        let angle = (t - begin) * 2.0 * PI * io.input(Self::FREQUENCY);
        // Elsewhere the number of the half period tells the sign without a sine.
        let halves = angle * PI.recip();
        let whole = halves.floor();
        let part = halves - whole;
        let is_far =
            part.gt(T::of(1e-6)) & part.lt(T::of(1.0 - 1e-6)) & halves.abs().lt(T::of(1e6));
        let upper = if is_far.all() {
            (whole - (whole * 0.5).floor() * 2.0).lt(T::of(0.5))
        } else {
            angle.sin().ge(T::zero())
        };
        T::select(t.lt(begin), base, T::select(upper, base + height, base - height))
    }
}

impl PulseWave {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let t = T::of(io.time()) - io.input(Self::BEGIN) + 0.5 * io.dt;
        let (base, period) = (io.input(Self::BASE), io.input(Self::PERIOD));
        let high = (t - (t / period).floor() * period).lt(io.input(Self::DUTY) * period);
        T::select(t.gt(T::zero()) & high, base + io.input(Self::AMPLITUDE), base)
    }
}

impl Physics for Staircase {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let width = io.input(Self::WIDTH);
        let t = T::of(io.time()) - io.input(Self::BEGIN) + T::of(io.dt).min(width) * 0.5;
        let stairs = (t.max(T::zero()) / width).floor();
        let value = io.input(Self::HEIGHT) * stairs;
        io.set_output(Self::OUT, value);
    }
}

impl StepExponentialDelay {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let (t, begin) = (T::of(io.time()), io.input(Self::TIME));
        let base = io.input(Self::BASE);
        if t.lt(begin).all() {
            return base;
        }
        let left = (-(t - begin) / io.input(Self::DECAY)).exp();
        T::select(t.lt(begin), base, base + io.input(Self::AMPLITUDE) * left)
    }
}

impl Timestep {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        T::of(io.dt)
    }
}

/// Writes [`Physics`] for noise on top of a signal.
macro_rules! noisy {
    ($($type:ident, |$io:ident| $signal:expr;)*) => {$(
        impl Physics for $type {
            const HAS_LAW: bool = false;
            fn prepare(&self, _: &Environment) -> Result<NoiseConstants<f64>, Refusal> {
                let sequence = Sequence { at: 0, before: self.before, after: self.after };
                Ok(NoiseConstants { sequence, none: NoConstants::new() })
            }
            fn history(_: &NoiseConstants<f64>) -> usize {
                Sequence::HISTORY
            }
            fn start<T: Num>(k: &NoiseConstants<T>, io: &mut Step<'_, T>) {
                k.sequence.start(io);
                Self::step(k, io);
            }
            #[inline(always)]
            fn step<T: Num>(k: &NoiseConstants<T>, $io: &mut Step<'_, T>) {
                k.sequence.begin_step($io);
                let noise = k.sequence.normal($io) * $io.input(Self::DEVIATION);
                k.sequence.end_step($io);
                let value = $signal + noise;
                $io.set_output(Self::OUT, value);
            }
        }
    )*};
}

noisy! {
    NoiseGenerator, |io| T::zero();
    AdditiveNoise, |io| io.input(Self::INPUT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::component::Declared;
    use fluxline_core::declare::Value;
    use fluxline_core::testing::{Bench, assert_lanes_give_the_bits_of_scalars};

    /// The output at the start and after each step, with constant parameters.
    fn over_time<M: Physics>(inputs: &[f64], dt: f64, steps: usize) -> Vec<f64> {
        let values: Vec<_> = inputs.iter().map(|&x| Value::Number(x)).collect();
        let component = M::from_values(&values).expect("numbers only");
        let mut bench = Bench::new(&component, dt);
        for (i, &input) in inputs.iter().take(M::DECLARATION.input_count()).enumerate() {
            bench.input(i, input);
        }
        let first = bench.start().output(0);
        std::iter::once(first).chain((0..steps).map(|_| bench.step().output(0))).collect()
    }

    #[test]
    fn sources_that_switch_do_so_on_their_side_of_the_threshold() {
        // Steps of ½ s are exact: no rounding decides here.
        assert_eq!(over_time::<StepSource>(&[2.0, 3.0, 0.5], 0.5, 2), [2.0, 5.0, 5.0]);
        assert_eq!(over_time::<StepSource>(&[2.0, 3.0, 0.0], 0.5, 0), [5.0]);
        let ramp = over_time::<Ramp>(&[1.0, 4.0, 0.5, 1.5], 0.5, 4);
        assert_eq!(ramp, [1.0, 1.0, 3.0, 5.0, 5.0]);
        assert_eq!(over_time::<Ramp>(&[1.0, 4.0, -1.0, 1.0], 0.5, 1), [1.0, 4.0]);
        // Half a step ahead of its times, so that 0.75 s and 1.75 s are met at 0.5 s and 1.5 s.
        let pulse = over_time::<Pulse>(&[1.0, 2.0, 0.75, 1.75], 0.5, 4);
        assert_eq!(pulse, [1.0, 3.0, 3.0, 1.0, 1.0]);
        let train = over_time::<PulseWave>(&[1.0, 2.0, 0.5, 1.0, 0.5], 0.5, 6);
        assert_eq!(train, [1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0]);
        let stairs = over_time::<Staircase>(&[0.5, 2.0, 1.0], 0.5, 6);
        assert_eq!(stairs, [0.0, 0.0, 0.0, 2.0, 2.0, 4.0, 4.0]);
    }

    /// Ten times 0.1 s add up to an ulp below 1 s: the step is seen in the eleventh step.
    #[test]
    fn step_is_compared_with_the_time_as_it_was_accumulated() {
        let source = StepSource { base: 0.0, amplitude: 1.0, time: 1.0 };
        let mut bench = Bench::new(&source, 0.1);
        bench.input(StepSource::AMPLITUDE, 1.0).input(StepSource::TIME, 1.0);
        let mut time = 0.0;
        for n in 1..=11 {
            time += 0.1;
            bench.at(time, |io| StepSource::step(&NoConstants::new(), io));
            assert_eq!(bench.output(0), if n < 11 { 0.0 } else { 1.0 });
        }
    }

    #[test]
    fn smooth_sources_follow_their_curves() {
        let soft = over_time::<SoftStep>(&[1.0, 2.0, 1.0, 4.0], 0.5, 5);
        for (value, exact) in soft.iter().zip([1.0, 1.0, 1.0, 3.0, 5.0, 5.0]) {
            assert!((value - exact).abs() < 1e-15);
        }
        // A quarter of a second of lag at 1 Hz turns the sine into −cosine; it is cut, not held.
        let sine = over_time::<SineWave>(&[1.0, 2.0, 0.25, 0.5], 0.25, 6);
        for (value, exact) in sine.iter().zip([0.0, 0.0, -2.0, 0.0, 2.0, 0.0, -2.0]) {
            assert!((value - exact).abs() < 1e-14);
        }
        let decay = over_time::<StepExponentialDelay>(&[1.0, 2.0, 0.5, 0.25], 0.25, 3);
        assert_eq!(decay, [1.0, 3.0, 1.0 + 2.0 * (-0.5_f64).exp(), 1.0 + 2.0 * (-1.0_f64).exp()]);
    }

    #[test]
    fn square_wave_starts_with_its_mean_and_follows_the_sign_of_a_sine() {
        let square = over_time::<SquareWave>(&[1.0, 2.0, 1.0, 0.0], 0.25, 5);
        // At half a period the rounded sine is 1.2e-16, above 0.
        assert_eq!(square, [1.0, 3.0, 3.0, -1.0, -1.0, 3.0]);
    }

    #[test]
    fn noise_is_added_to_a_signal() {
        let added = over_time::<AdditiveNoise>(&[5.0, 2.0, 0.0, 0.0], 0.1, 3);
        let alone = over_time::<NoiseGenerator>(&[2.0, 0.0, 0.0], 0.1, 3);
        for (added, alone) in added.iter().zip(alone) {
            assert_eq!(*added, 5.0 + alone);
        }
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        fn check<M: Physics>() {
            let numbers = vec![Value::Number(0.0); M::DECLARATION.parameters.len()];
            let component = M::from_values(&numbers).expect("numbers only");
            assert_lanes_give_the_bits_of_scalars(
                [&component; 4],
                0.01,
                |_| unreachable!("a signal has no line ends"),
                |noise| noise.between(0.0, 2.0),
            );
        }
        check::<StepSource>();
        check::<Ramp>();
        check::<Pulse>();
        check::<SoftStep>();
        check::<SineWave>();
        check::<SquareWave>();
        check::<PulseWave>();
        check::<Staircase>();
        check::<StepExponentialDelay>();
        check::<AdditiveNoise>();
    }

    #[test]
    fn a_constant_keeps_its_start_value() {
        let mut constant = Bench::new(&Constant {}, 0.1);
        constant.state.signals[0] = 7.0;
        assert_eq!(constant.start().step().output(0), 7.0);
        assert_eq!(Constant::DECLARATION.outputs[0].start, "1");
        assert_eq!(over_time::<Timestep>(&[], 0.1, 1), [0.1, 0.1]);
    }
}
