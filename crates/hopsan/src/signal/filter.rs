//! Filters: integrator, transfer functions of first and second order.

use crate::blocks::{self, Integrator, bound};
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Integrator2>(),
    ComponentType::of::<LowPass1>(),
    ComponentType::of::<HighPass1>(),
    ComponentType::of::<FirstOrderFilter>(),
    ComponentType::of::<FirstOrderTransferFunction>(),
    ComponentType::of::<LowPass2>(),
    ComponentType::of::<HighPass2>(),
    ComponentType::of::<SecondOrderFilter>(),
    ComponentType::of::<SecondOrderTransferFunction>(),
];

/// Integrates a signal by the trapezoidal rule.
///
/// y += T/2·(u + u₋); starts with its output's start value.
#[component("hopsan.SignalIntegrator2", s)]
pub struct Integrator2 {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// y — integral [any]
    #[output]
    out: Output,
    /// u₋ — signal one step ago [any]
    #[memory]
    input_1: Memory,
    /// y₋ — integral one step ago [any]
    #[memory]
    out_1: Memory,
}

impl Integrator2 {
    const INTEGRAL: Integrator = Integrator(Self::INPUT_1);
}

impl Physics for Integrator2 {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (u, y) = (io.input(Self::INPUT), io.output(Self::OUT));
        Self::INTEGRAL.start(io, u, y);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let u = io.input(Self::INPUT);
        let y = Self::INTEGRAL.step(io, u);
        io.set_output(Self::OUT, y);
    }
}

/// Transfer function of first order with limits; coefficients from s⁰ upwards.
#[derive(Clone, Copy, Debug, Constants)]
pub struct First<T> {
    numerator: [T; 2],
    denominator: [T; 2],
    low: T,
    high: T,
}

/// Transfer function of second order with limits; coefficients from s⁰ upwards.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Second<T> {
    numerator: [T; 3],
    denominator: [T; 3],
    low: T,
    high: T,
}

impl<T: Num> First<T> {
    fn start(&self, io: &mut Step<'_, T>, u: T, y: T) {
        blocks::FirstOrder(0).start(io, u, y);
    }
    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>, u: T) -> T {
        let limits = (self.low, self.high);
        blocks::FirstOrder(0).step(io, self.numerator, self.denominator, u, limits)
    }
}

impl<T: Num> Second<T> {
    fn start(&self, io: &mut Step<'_, T>, u: T, y: T) {
        blocks::SecondOrder(0).start(io, u, y, T::zero());
    }
    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>, u: T) -> T {
        let limits = (self.low, self.high);
        blocks::SecondOrder(0).step(io, self.numerator, self.denominator, u, limits)
    }
}

/// Writes [`Physics`] for transfer functions whose memory is that of their block alone. They start
/// with the input of the start and the output's start value, brought within the limits; the first
/// sample is the start value itself.
macro_rules! transfer {
    ($($type:ident: $constants:ident;)*) => {$(
        impl Physics for $type {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<$constants<f64>, Refusal> {
                Ok(self.coefficients())
            }

            fn start<T: Num>(k: &$constants<T>, io: &mut Step<'_, T>) {
                let (u, y) = (io.input(Self::INPUT), io.output(Self::OUT));
                k.start(io, u, y.min(k.high).max(k.low));
            }

            #[inline(always)]
            fn step<T: Num>(k: &$constants<T>, io: &mut Step<'_, T>) {
                let u = io.input(Self::INPUT);
                let y = k.step(io, u);
                io.set_output(Self::OUT, y);
            }
        }
    )*};
}
transfer! {
    LowPass1: First;
    HighPass1: First;
    FirstOrderFilter: First;
    FirstOrderTransferFunction: First;
    LowPass2: Second;
    HighPass2: Second;
    SecondOrderFilter: Second;
    SecondOrderTransferFunction: Second;
}

/// First-order low-pass filter.
///
/// y = u/(s/ω + 1), y_min ≤ y ≤ y_max, by the bilinear rule; starts with its output's start value.
#[component("hopsan.SignalLP1Filter", s, constants = First)]
pub struct LowPass1 {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// ω — break frequency [rad/s]
    #[parameter(name = "omega", default = "1000 rad/s")]
    pub frequency: f64,
    /// y_min — lower limit [any]
    #[parameter(name = "y_min", default = -1.5e300)]
    pub minimum: f64,
    /// y_max — upper limit [any]
    #[parameter(name = "y_max", default = 1.5e300)]
    pub maximum: f64,
    /// y — filtered signal [any]
    #[output]
    out: Output,
    /// u₋ — signal one step ago [any]
    #[memory]
    input_1: Memory,
    /// y₋ — filtered signal one step ago [any]
    #[memory]
    out_1: Memory,
}

impl LowPass1 {
    fn coefficients(&self) -> First<f64> {
        First {
            numerator: [1.0, 0.0],
            denominator: [1.0, 1.0 / self.frequency],
            low: bound(self.minimum),
            high: bound(self.maximum),
        }
    }
}

/// First-order high-pass filter.
///
/// y = u·(s/ω)/(s/ω + 1), y_min ≤ y ≤ y_max, by the bilinear rule; starts with its output's start
/// value.
#[component("hopsan.SignalHP1Filter", s, constants = First)]
pub struct HighPass1 {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// ω — break frequency [rad/s]
    #[parameter(name = "omega", default = "1000 rad/s")]
    pub frequency: f64,
    /// y_min — lower limit [any]
    #[parameter(name = "y_min", default = -1.5e300)]
    pub minimum: f64,
    /// y_max — upper limit [any]
    #[parameter(name = "y_max", default = 1.5e300)]
    pub maximum: f64,
    /// y — filtered signal [any]
    #[output]
    out: Output,
    /// u₋ — signal one step ago [any]
    #[memory]
    input_1: Memory,
    /// y₋ — filtered signal one step ago [any]
    #[memory]
    out_1: Memory,
}

impl HighPass1 {
    fn coefficients(&self) -> First<f64> {
        let slope = 1.0 / self.frequency;
        First {
            numerator: [0.0, slope],
            denominator: [1.0, slope],
            low: bound(self.minimum),
            high: bound(self.maximum),
        }
    }
}

/// First-order filter with gain, one zero and one pole.
///
/// y = k·u·(s/ω_num + 1)/(s/ω_den + 1), y_min ≤ y ≤ y_max, by the bilinear rule; starts with its
/// output's start value.
#[component("hopsan.SignalFirstOrderFilter", s, constants = First)]
pub struct FirstOrderFilter {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// k — gain [any]
    #[parameter(name = "k", default = 1)]
    pub gain: f64,
    /// ω_num — break frequency of the zero [rad/s]
    #[parameter(name = "omega_num", default = "1e10 rad/s")]
    pub zero: f64,
    /// ω_den — break frequency of the pole [rad/s]
    #[parameter(name = "omega_den", default = "1000 rad/s")]
    pub pole: f64,
    /// y_min — lower limit [any]
    #[parameter(name = "y_min", default = -1.5e300)]
    pub minimum: f64,
    /// y_max — upper limit [any]
    #[parameter(name = "y_max", default = 1.5e300)]
    pub maximum: f64,
    /// y — filtered signal [any]
    #[output]
    out: Output,
    /// u₋ — signal one step ago [any]
    #[memory]
    input_1: Memory,
    /// y₋ — filtered signal one step ago [any]
    #[memory]
    out_1: Memory,
}

impl FirstOrderFilter {
    fn coefficients(&self) -> First<f64> {
        First {
            numerator: [self.gain, self.gain / self.zero],
            denominator: [1.0, 1.0 / self.pole],
            low: bound(self.minimum),
            high: bound(self.maximum),
        }
    }
}

/// Transfer function of first order.
///
/// y = u·(a₁·s + a₀)/(b₁·s + b₀), by the bilinear rule; starts with its output's start value.
#[component("hopsan.SignalFirstOrderTransferFunction", s, constants = First)]
pub struct FirstOrderTransferFunction {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// a₁ — factor of s in the numerator [any]
    #[parameter(name = "a_1", default = 1)]
    pub a1: f64,
    /// a₀ — constant of the numerator [any]
    #[parameter(name = "a_0", default = 1)]
    pub a0: f64,
    /// b₁ — factor of s in the denominator [any]
    #[parameter(name = "b_1", default = 1)]
    pub b1: f64,
    /// b₀ — constant of the denominator [any]
    #[parameter(name = "b_0", default = 1)]
    pub b0: f64,
    /// y — answer [any]
    #[output]
    out: Output,
    /// u₋ — signal one step ago [any]
    #[memory]
    input_1: Memory,
    /// y₋ — answer one step ago [any]
    #[memory]
    out_1: Memory,
}

impl FirstOrderTransferFunction {
    fn coefficients(&self) -> First<f64> {
        First {
            numerator: [self.a0, self.a1],
            denominator: [self.b0, self.b1],
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
        }
    }
}

/// s²/ω² + 2·δ·s/ω + 1, from s⁰ upwards.
fn oscillator(frequency: f64, damping: f64) -> [f64; 3] {
    [1.0, 2.0 * damping / frequency, 1.0 / (frequency * frequency)]
}

/// Second-order low-pass filter.
///
/// y = u/(s²/ω² + 2·δ·s/ω + 1), y_min ≤ y ≤ y_max, by the bilinear rule; starts with its output's
/// start value.
#[component("hopsan.SignalLP2Filter", s, constants = Second)]
pub struct LowPass2 {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// ω — break frequency [rad/s]
    #[parameter(name = "omega", default = "1000 rad/s")]
    pub frequency: f64,
    /// δ — damping [–]
    #[parameter(name = "delta", default = 1)]
    pub damping: f64,
    /// y_min — lower limit [any]
    #[parameter(name = "y_min", default = -1.5e300)]
    pub minimum: f64,
    /// y_max — upper limit [any]
    #[parameter(name = "y_max", default = 1.5e300)]
    pub maximum: f64,
    /// y — filtered signal [any]
    #[output]
    out: Output,
    /// u₋ — signal one step ago [any]
    #[memory]
    input_1: Memory,
    /// u₋₋ — signal two steps ago [any]
    #[memory]
    input_2: Memory,
    /// y₋ — filtered signal one step ago [any]
    #[memory]
    out_1: Memory,
    /// y₋₋ — filtered signal two steps ago [any]
    #[memory]
    out_2: Memory,
}

impl LowPass2 {
    fn coefficients(&self) -> Second<f64> {
        Second {
            numerator: [1.0, 0.0, 0.0],
            denominator: oscillator(self.frequency, self.damping),
            low: bound(self.minimum),
            high: bound(self.maximum),
        }
    }
}

/// Second-order high-pass filter.
///
/// y = u·(s²/ω²)/(s²/ω² + 2·δ·s/ω + 1), y_min ≤ y ≤ y_max, by the bilinear rule; starts with its
/// output's start value.
#[component("hopsan.SignalHP2Filter", s, constants = Second)]
pub struct HighPass2 {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// ω — break frequency [rad/s]
    #[parameter(name = "omega", default = "1000 rad/s")]
    pub frequency: f64,
    /// δ — damping [–]
    #[parameter(name = "delta", default = 1)]
    pub damping: f64,
    /// y_min — lower limit [any]
    #[parameter(name = "y_min", default = -1.5e300)]
    pub minimum: f64,
    /// y_max — upper limit [any]
    #[parameter(name = "y_max", default = 1.5e300)]
    pub maximum: f64,
    /// y — filtered signal [any]
    #[output]
    out: Output,
    /// u₋ — signal one step ago [any]
    #[memory]
    input_1: Memory,
    /// u₋₋ — signal two steps ago [any]
    #[memory]
    input_2: Memory,
    /// y₋ — filtered signal one step ago [any]
    #[memory]
    out_1: Memory,
    /// y₋₋ — filtered signal two steps ago [any]
    #[memory]
    out_2: Memory,
}

impl HighPass2 {
    fn coefficients(&self) -> Second<f64> {
        let denominator = oscillator(self.frequency, self.damping);
        Second {
            numerator: [0.0, 0.0, denominator[2]],
            denominator,
            low: bound(self.minimum),
            high: bound(self.maximum),
        }
    }
}

/// Second-order filter with gain, two zeros and two poles.
///
/// y = k·u·(s²/ω₁² + 2·δ₁·s/ω₁ + 1)/(s²/ω₂² + 2·δ₂·s/ω₂ + 1), y_min ≤ y ≤ y_max, by the bilinear
/// rule; starts with its output's start value.
#[component("hopsan.SignalSecondOrderFilter", s, constants = Second)]
pub struct SecondOrderFilter {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// k — gain [any]
    #[parameter(name = "k", default = 1)]
    pub gain: f64,
    /// ω₁ — break frequency of the zeros [rad/s]
    #[parameter(name = "omega_1", default = "1e10 rad/s")]
    pub zero: f64,
    /// δ₁ — damping of the zeros [–]
    #[parameter(name = "delta_1", default = 1)]
    pub zero_damping: f64,
    /// ω₂ — break frequency of the poles [rad/s]
    #[parameter(name = "omega_2", default = "1000 rad/s")]
    pub pole: f64,
    /// δ₂ — damping of the poles [–]
    #[parameter(name = "delta_2", default = 1)]
    pub pole_damping: f64,
    /// y_min — lower limit [any]
    #[parameter(name = "y_min", default = -1.5e300)]
    pub minimum: f64,
    /// y_max — upper limit [any]
    #[parameter(name = "y_max", default = 1.5e300)]
    pub maximum: f64,
    /// y — filtered signal [any]
    #[output]
    out: Output,
    /// u₋ — signal one step ago [any]
    #[memory]
    input_1: Memory,
    /// u₋₋ — signal two steps ago [any]
    #[memory]
    input_2: Memory,
    /// y₋ — filtered signal one step ago [any]
    #[memory]
    out_1: Memory,
    /// y₋₋ — filtered signal two steps ago [any]
    #[memory]
    out_2: Memory,
}

impl SecondOrderFilter {
    fn coefficients(&self) -> Second<f64> {
        Second {
            numerator: oscillator(self.zero, self.zero_damping).map(|c| self.gain * c),
            denominator: oscillator(self.pole, self.pole_damping),
            low: bound(self.minimum),
            high: bound(self.maximum),
        }
    }
}

/// Transfer function of second order.
///
/// y = u·(a₂·s² + a₁·s + a₀)/(b₂·s² + b₁·s + b₀), by the bilinear rule; starts with its output's
/// start value.
#[component("hopsan.SignalSecondOrderTransferFunction", s, constants = Second)]
pub struct SecondOrderTransferFunction {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// a₂ — factor of s² in the numerator [any]
    #[parameter(name = "a_2", default = 1)]
    pub a2: f64,
    /// a₁ — factor of s in the numerator [any]
    #[parameter(name = "a_1", default = 1)]
    pub a1: f64,
    /// a₀ — constant of the numerator [any]
    #[parameter(name = "a_0", default = 1)]
    pub a0: f64,
    /// b₂ — factor of s² in the denominator [any]
    #[parameter(name = "b_2", default = 1)]
    pub b2: f64,
    /// b₁ — factor of s in the denominator [any]
    #[parameter(name = "b_1", default = 1)]
    pub b1: f64,
    /// b₀ — constant of the denominator [any]
    #[parameter(name = "b_0", default = 1)]
    pub b0: f64,
    /// y — answer [any]
    #[output]
    out: Output,
    /// u₋ — signal one step ago [any]
    #[memory]
    input_1: Memory,
    /// u₋₋ — signal two steps ago [any]
    #[memory]
    input_2: Memory,
    /// y₋ — answer one step ago [any]
    #[memory]
    out_1: Memory,
    /// y₋₋ — answer two steps ago [any]
    #[memory]
    out_2: Memory,
}

impl SecondOrderTransferFunction {
    fn coefficients(&self) -> Second<f64> {
        Second {
            numerator: [self.a0, self.a1, self.a2],
            denominator: [self.b0, self.b1, self.b2],
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const FREE: f64 = blocks::UNLIMITED;

    /// Outputs after each step for an input that jumps from `before` to `after` with the first step.
    fn jump<M: Physics>(m: &M, dt: f64, before: f64, after: f64, y0: f64, n: usize) -> Vec<f64> {
        let mut bench = Bench::new(m, dt);
        bench.input(0, before).with(|io| io.set_output(0, y0)).start();
        assert_eq!(bench.output(0), y0, "the first sample is the start value");
        bench.input(0, after);
        (0..n).map(|_| bench.step().output(0)).collect()
    }

    #[test]
    fn integral_of_a_jump_grows_by_half_a_step_and_then_by_whole_ones() {
        assert_eq!(jump(&Integrator2 { input: 0.0 }, 0.25, 0.0, 2.0, 1.0, 3), [1.25, 1.75, 2.25]);
    }

    #[test]
    fn low_pass_and_high_pass_of_one_frequency_add_up_to_the_signal() {
        let low = LowPass1 { input: 0.0, frequency: 20.0, minimum: -FREE, maximum: FREE };
        let high = HighPass1 { input: 0.0, frequency: 20.0, minimum: -FREE, maximum: FREE };
        let (low, high) =
            (jump(&low, 0.01, 0.0, 3.0, 0.0, 50), jump(&high, 0.01, 0.0, 3.0, 0.0, 50));
        // By hand, with ωT = 0.2: y₁ = u·0.2/2.2, then y ← y·1.8/2.2 + u·0.4/2.2.
        assert!((low[0] - 3.0 * 0.2 / 2.2).abs() < 1e-15);
        assert!((low[1] - (low[0] * 1.8 + 3.0 * 0.4) / 2.2).abs() < 1e-15);
        for (low, high) in low.iter().zip(&high) {
            assert!((low + high - 3.0).abs() < 1e-14);
        }
    }

    #[test]
    fn filter_with_zero_and_pole_is_the_transfer_function_written_out() {
        let first = FirstOrderFilter {
            input: 0.0,
            gain: 3.0,
            zero: 5.0,
            pole: 50.0,
            minimum: -FREE,
            maximum: FREE,
        };
        let same = FirstOrderTransferFunction { input: 0.0, a1: 0.6, a0: 3.0, b1: 0.02, b0: 1.0 };
        let (a, b) =
            (jump(&first, 1e-3, 1.0, 2.0, 0.5, 100), jump(&same, 1e-3, 1.0, 2.0, 0.5, 100));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12));
        // In the long run the gain alone is left.
        assert!((jump(&first, 1e-3, 1.0, 2.0, 0.5, 1000)[999] - 6.0).abs() < 1e-6);
    }

    #[test]
    fn second_order_filters_share_low_band_and_high_parts() {
        let (frequency, damping, dt) = (30.0, 0.4, 1e-3);
        let low = LowPass2 { input: 0.0, frequency, damping, minimum: -FREE, maximum: FREE };
        let high = HighPass2 { input: 0.0, frequency, damping, minimum: -FREE, maximum: FREE };
        let band = SecondOrderTransferFunction {
            input: 0.0,
            a2: 0.0,
            a1: 2.0 * damping / frequency,
            a0: 0.0,
            b2: 1.0 / (frequency * frequency),
            b1: 2.0 * damping / frequency,
            b0: 1.0,
        };
        let all = SecondOrderFilter {
            input: 0.0,
            gain: 1.0,
            zero: frequency,
            zero_damping: damping,
            pole: frequency,
            pole_damping: damping,
            minimum: -FREE,
            maximum: FREE,
        };
        let parts = [
            jump(&low, dt, 0.0, 2.0, 0.0, 400),
            jump(&band, dt, 0.0, 2.0, 0.0, 400),
            jump(&high, dt, 0.0, 2.0, 0.0, 400),
        ];
        let whole = jump(&all, dt, 0.0, 2.0, 0.0, 400);
        for n in 0..400 {
            let sum: f64 = parts.iter().map(|part| part[n]).sum();
            assert!((sum - 2.0).abs() < 1e-11 && (whole[n] - 2.0).abs() < 1e-11);
        }
        // The damped oscillation in closed form; the bilinear rule errs by (ωT)²/12 at most.
        let omega = frequency * f64::sqrt(1.0 - damping * damping);
        let t = 200.0 * dt - 0.5 * dt;
        let decay = (-damping * frequency * t).exp();
        let exact =
            1.0 - decay * ((omega * t).cos() + damping * frequency / omega * (omega * t).sin());
        assert!((parts[0][199] / 2.0 - exact).abs() < 1e-3);
    }

    #[test]
    fn filter_leaves_its_limit_from_the_limit_itself() {
        let low = LowPass1 { input: 0.0, frequency: 20.0, minimum: -FREE, maximum: 0.5 };
        let mut bench = Bench::new(&low, 0.01);
        bench.input(0, 1.0).with(|io| io.set_output(0, 0.9)).start().step();
        // Starts from the limit: (0.4 + 0.5·1.8)/2.2 > 0.5 stays there.
        assert_eq!(bench.output(0), 0.5);
        bench.input(0, -1.0).step();
        // (0.2·(−1) + 0.2·1 + 1.8·0.5)/2.2
        assert!((bench.output(0) - 0.9 / 2.2).abs() < 1e-15);
    }
}
