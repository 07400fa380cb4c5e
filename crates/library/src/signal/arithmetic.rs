//! Arithmetic on several signals.

use super::block::{Now, memoryless, sequential, truth};
use fluxline_core::component::{NoConstants, Refusal};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// Adds up to eight signals, each with a gain of its own (−1 subtracts).
///
/// y = Σ kᵢ·uᵢ
#[component(
    "signal.sum",
    s,
    constants = SumConstants,
    also = "hopsan:SignalAdd",
    also = "hopsan:SignalSum"
)]
pub struct Sum {
    /// u₁ — signal [any]
    #[input(default = 0, also = "in1", also = "in")]
    pub input1: f64,
    /// u₂ — signal [any]
    #[input(default = 0, also = "in2")]
    pub input2: f64,
    /// u₃ — signal [any]
    #[input(default = 0)]
    pub input3: f64,
    /// u₄ — signal [any]
    #[input(default = 0)]
    pub input4: f64,
    /// u₅ — signal [any]
    #[input(default = 0)]
    pub input5: f64,
    /// u₆ — signal [any]
    #[input(default = 0)]
    pub input6: f64,
    /// u₇ — signal [any]
    #[input(default = 0)]
    pub input7: f64,
    /// u₈ — signal [any]
    #[input(default = 0)]
    pub input8: f64,
    /// k₁ — gain of u₁ [any]
    #[parameter(default = 1)]
    pub gain1: f64,
    /// k₂ — gain of u₂ [any]
    #[parameter(default = 1)]
    pub gain2: f64,
    /// k₃ — gain of u₃ [any]
    #[parameter(default = 1)]
    pub gain3: f64,
    /// k₄ — gain of u₄ [any]
    #[parameter(default = 1)]
    pub gain4: f64,
    /// k₅ — gain of u₅ [any]
    #[parameter(default = 1)]
    pub gain5: f64,
    /// k₆ — gain of u₆ [any]
    #[parameter(default = 1)]
    pub gain6: f64,
    /// k₇ — gain of u₇ [any]
    #[parameter(default = 1)]
    pub gain7: f64,
    /// k₈ — gain of u₈ [any]
    #[parameter(default = 1)]
    pub gain8: f64,
    /// y — sum [any]
    #[output]
    out: Output,
}

/// Constants of [`Sum`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct SumConstants<T> {
    gains: [T; 8],
}

/// The difference of two signals.
///
/// y = u₁ − u₂
#[component("signal.difference", s, also = "hopsan:SignalSubtract")]
pub struct Difference {
    /// u₁ — signal [any]
    #[input(default = 0, also = "in1")]
    pub input1: f64,
    /// u₂ — signal that is taken off [any]
    #[input(default = 0, also = "in2")]
    pub input2: f64,
    /// y — difference [any]
    #[output]
    out: Output,
}

/// The product of up to four signals.
///
/// y = u₁·u₂·u₃·u₄
#[component("signal.product", s, also = "hopsan:SignalMultiply")]
pub struct Product {
    /// u₁ — signal [any]
    #[input(default = 1, also = "in1")]
    pub input1: f64,
    /// u₂ — signal [any]
    #[input(default = 1, also = "in2")]
    pub input2: f64,
    /// u₃ — signal [any]
    #[input(default = 1)]
    pub input3: f64,
    /// u₄ — signal [any]
    #[input(default = 1)]
    pub input4: f64,
    /// y — product [any]
    #[output]
    out: Output,
}

/// The quotient of two signals.
///
/// y = u₁/u₂
///
/// A divisor smaller than ε is taken as ε with its sign (+ at 0) and counted as a limit.
#[component("signal.divide", s, constants = DivideConstants, also = "hopsan:SignalDivide")]
pub struct Divide {
    /// u₁ — dividend [any]
    #[input(default = 0, also = "in1")]
    pub input1: f64,
    /// u₂ — divisor [any]
    #[input(default = 1, also = "in2")]
    pub input2: f64,
    /// ε — smallest size of the divisor [any]
    #[parameter(default = 1e-9, min = ">0")]
    pub smallest_divisor: f64,
    /// y — quotient [any]
    #[output]
    out: Output,
    /// – — steps with too small a divisor [any]
    #[memory(counts = "limit")]
    limited: Memory,
}

/// Constants of [`Divide`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct DivideConstants<T> {
    smallest: T,
}

/// The smallest of up to four signals.
///
/// y = min(u₁, u₂, u₃, u₄)
#[component("signal.minimum", s, also = "hopsan:SignalMin")]
pub struct Minimum {
    /// u₁ — signal [any]
    #[input(also = "in")]
    pub input1: f64,
    /// u₂ — signal [any]
    #[input(default = 1e300)]
    pub input2: f64,
    /// u₃ — signal [any]
    #[input(default = 1e300)]
    pub input3: f64,
    /// u₄ — signal [any]
    #[input(default = 1e300)]
    pub input4: f64,
    /// y — smallest [any]
    #[output]
    out: Output,
}

/// The largest of up to four signals.
///
/// y = max(u₁, u₂, u₃, u₄)
#[component("signal.maximum", s, also = "hopsan:SignalMax")]
pub struct Maximum {
    /// u₁ — signal [any]
    #[input(also = "in")]
    pub input1: f64,
    /// u₂ — signal [any]
    #[input(default = -1e300)]
    pub input2: f64,
    /// u₃ — signal [any]
    #[input(default = -1e300)]
    pub input3: f64,
    /// u₄ — signal [any]
    #[input(default = -1e300)]
    pub input4: f64,
    /// y — largest [any]
    #[output]
    out: Output,
}

memoryless!(Sum: SumConstants);
memoryless! { Difference Product Minimum Maximum }
sequential!(Divide: DivideConstants, counts);

impl Sum {
    fn constants(&self) -> Result<SumConstants<f64>, Refusal> {
        Ok(SumConstants {
            gains: [
                self.gain1, self.gain2, self.gain3, self.gain4, self.gain5, self.gain6, self.gain7,
                self.gain8,
            ],
        })
    }
    #[wide]
    #[inline(always)]
    fn value<T: Num>(k: &SumConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        let first = k.gains[0] * u(Self::INPUT1);
        (1..8).fold(first, |sum, i| sum + k.gains[i] * u(i))
    }
}

impl Difference {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        u(Self::INPUT1) - u(Self::INPUT2)
    }
}

impl Product {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        u(Self::INPUT1) * u(Self::INPUT2) * u(Self::INPUT3) * u(Self::INPUT4)
    }
}

impl Minimum {
    #[wide]
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        (1..4).fold(u(0), |smallest, i| smallest.min(u(i)))
    }
}

impl Maximum {
    #[wide]
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        (1..4).fold(u(0), |largest, i| largest.max(u(i)))
    }
}

impl Divide {
    fn constants(&self) -> Result<DivideConstants<f64>, Refusal> {
        Ok(DivideConstants { smallest: self.smallest_divisor })
    }
    fn begin<T: Num>(_: &DivideConstants<T>, _: Now, _: impl Fn(usize) -> T) -> [T; 1] {
        [T::zero()]
    }
    #[inline(always)]
    fn advance<T: Num>(
        k: &DivideConstants<T>,
        _: Now,
        u: impl Fn(usize) -> T,
        [limited]: [T; 1],
    ) -> (T, [T; 1]) {
        let divisor = u(Self::INPUT2);
        let small = divisor.abs().lt(k.smallest);
        let safe = T::select(small, k.smallest.with_sign_of(divisor), divisor);
        (u(Self::INPUT1) / safe, [limited + truth::<T>(small)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{lanes_match, sequence};
    use fluxline_core::testing::Bench;

    fn sum(gains: [f64; 8]) -> Sum {
        let [gain1, gain2, gain3, gain4, gain5, gain6, gain7, gain8] = gains;
        Sum {
            input1: 0.0,
            input2: 0.0,
            input3: 0.0,
            input4: 0.0,
            input5: 0.0,
            input6: 0.0,
            input7: 0.0,
            input8: 0.0,
            gain1,
            gain2,
            gain3,
            gain4,
            gain5,
            gain6,
            gain7,
            gain8,
        }
    }
    const DIFFERENCE: Difference = Difference { input1: 0.0, input2: 0.0 };
    const PRODUCT: Product = Product { input1: 1.0, input2: 1.0, input3: 1.0, input4: 1.0 };
    const MINIMUM: Minimum = Minimum { input1: 0.0, input2: 0.0, input3: 0.0, input4: 0.0 };
    const MAXIMUM: Maximum = Maximum { input1: 0.0, input2: 0.0, input3: 0.0, input4: 0.0 };
    const DIVIDE: Divide = Divide { input1: 0.0, input2: 0.0, smallest_divisor: 1e-3 };

    #[test]
    fn arithmetic_is_that_of_numbers() {
        let gains = [1.0, -1.0, 2.0, 0.5, 1.0, 1.0, 1.0, -3.0];
        let values = sequence(&sum(gains), 0.1, &[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]);
        assert_eq!(values, [1.0 - 2.0 + 6.0 + 2.0 + 5.0 + 6.0 + 7.0 - 24.0]);
        let rows = [[3.0, -2.0, 1.5, 4.0], [0.5, 8.0, 9.0, -7.0]];
        assert_eq!(sequence(&PRODUCT, 0.1, &rows), [-36.0, -252.0]);
        assert_eq!(sequence(&MINIMUM, 0.1, &rows), [-2.0, -7.0]);
        assert_eq!(sequence(&MAXIMUM, 0.1, &rows), [4.0, 9.0]);
        assert_eq!(sequence(&DIFFERENCE, 0.1, &[[3.0, 5.0]]), [-2.0]);
    }

    #[test]
    fn small_divisors_are_limited_and_counted() {
        let rows = [[6.0, 3.0], [6.0, 0.0], [6.0, -1e-9], [6.0, -2.0]];
        assert_eq!(sequence(&DIVIDE, 0.1, &rows), [2.0, 6e3, -6e3, -3.0]);
        let mut bench = Bench::new(&DIVIDE, 0.1);
        bench.start().settle().step().input(1, 1.0).step();
        assert_eq!(bench.get_state(Divide::LIMITED), 1.0);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        lanes_match([1.0, -2.0, 0.3, 7.0].map(|k| sum([k; 8])));
        lanes_match([DIFFERENCE; 4]);
        lanes_match([PRODUCT; 4]);
        lanes_match([MINIMUM; 4]);
        lanes_match([MAXIMUM; 4]);
        lanes_match(
            [1e-3, 1e-2, 0.1, 0.5].map(|smallest_divisor| Divide { smallest_divisor, ..DIVIDE }),
        );
    }
}
