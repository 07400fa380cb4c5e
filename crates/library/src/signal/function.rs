//! Functions of one signal (and the angle of two).

use super::block::{Now, memoryless, sequential, truth};
use fluxline_core::component::{NoConstants, Refusal};
use fluxline_core::function::Pair;
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The size of a signal.
///
/// y = |u|
#[component("signal.absolute", s, also = "hopsan:SignalAbsoluteValue")]
pub struct Absolute {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// y — size [any]
    #[output]
    out: Output,
}

/// The sign of a signal.
///
/// y = −1, 0 or 1
#[component("signal.sign", s, also = "hopsan:SignalSign")]
pub struct Sign {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// y — sign [any]
    #[output]
    out: Output,
}

/// Square root that keeps the sign.
///
/// y = √|u|·sign(u)
#[component("signal.sqrt", s, also = "hopsan:SignalSqrt")]
pub struct Sqrt {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// y — root [any]
    #[output]
    out: Output,
}

/// A power of the size of a signal.
///
/// y = |u|ⁿ, or |u|ⁿ·sign(u)
///
/// With n < 0 and u = 0 the result is infinite.
#[component("signal.power", s, constants = PowerConstants, also = "hopsan:SignalPower")]
pub struct Power {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// n — exponent [any]
    #[input(default = 2, also = "x")]
    pub exponent: f64,
    /// – — give the result the sign of the signal [any]
    #[parameter(default = "false")]
    pub keep_sign: bool,
    /// y — power [any]
    #[output]
    out: Output,
}

/// Constants of [`Power`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct PowerConstants<T> {
    keep_sign: bool,
    none: NoConstants<T>,
}

/// The angle of a point.
///
/// y = atan2(u₁, u₂), −π to π
#[component("signal.atan2", s, also = "hopsan:SignalAtan2")]
pub struct Atan2 {
    /// u₁ — ordinate [any]
    #[input(default = 0, also = "inY")]
    pub input1: f64,
    /// u₂ — abscissa [any]
    #[input(default = 1, also = "inX")]
    pub input2: f64,
    /// y — angle [rad]
    #[output]
    out: Output,
}

fluxline_core::choice! {
    /// Functions of one variable.
    pub enum Kind {
        /// Sine.
        Sin = "sin",
        /// Cosine.
        Cos = "cos",
        /// Tangent.
        Tan = "tan",
        /// Inverse sine.
        Asin = "asin",
        /// Inverse cosine.
        Acos = "acos",
        /// Inverse tangent.
        Atan = "atan",
        /// Hyperbolic sine.
        Sinh = "sinh",
        /// Hyperbolic cosine.
        Cosh = "cosh",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Exponential.
        Exp = "exp",
        /// Natural logarithm.
        Ln = "ln",
        /// Logarithm to base 10.
        Log10 = "log10",
        /// Square.
        Square = "square",
        /// Largest whole number not above.
        Floor = "floor",
        /// Smallest whole number not below.
        Ceiling = "ceiling",
        /// Nearest whole number; halves away from zero.
        Round = "round",
    }
}

/// An elementary function.
///
/// y = f(u);  angles in rad
///
/// Outside of the domain of f (inverse sine and cosine: −1 to 1; logarithms: above 10⁻³⁰⁰) the
/// signal is taken as the edge of the domain and counted as a limit.
#[component("signal.function", s, constants = FunctionConstants)]
pub struct Function {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// f — function: sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, exp, ln, log10, square, floor, ceiling or round [any]
    #[parameter]
    pub function: Kind,
    /// y — value of the function [any]
    #[output]
    out: Output,
    /// – — steps outside of the domain [any]
    #[memory(counts = "limit")]
    limited: Memory,
}

/// Constants of [`Function`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct FunctionConstants<T> {
    function: Kind,
    none: NoConstants<T>,
}

memoryless! { Absolute Sign Sqrt Atan2 }
memoryless!(Power: PowerConstants);
sequential!(Function: FunctionConstants, counts);

impl Absolute {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        u(Self::INPUT).abs()
    }
}

impl Sign {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        let (input, zero) = (u(Self::INPUT), T::zero());
        truth::<T>(input.gt(zero)) - truth::<T>(input.lt(zero))
    }
}

impl Sqrt {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        u(Self::INPUT).signed_sqrt()
    }
}

impl Power {
    fn constants(&self) -> Result<PowerConstants<f64>, Refusal> {
        Ok(PowerConstants { keep_sign: self.keep_sign, none: NoConstants::new() })
    }
    #[inline(always)]
    fn value<T: Num>(k: &PowerConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        let input = u(Self::INPUT);
        let power = input.abs().call2(u(Self::EXPONENT), Pair::Power);
        if k.keep_sign { power.with_sign_of(input) } else { power }
    }
}

impl Atan2 {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        u(Self::INPUT1).call2(u(Self::INPUT2), Pair::Atan2)
    }
}

impl Kind {
    /// The interval on which the function is defined.
    fn domain(self) -> (f64, f64) {
        match self {
            Kind::Asin | Kind::Acos => (-1.0, 1.0),
            Kind::Ln | Kind::Log10 => (1e-300, f64::INFINITY),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }
    /// Value and slope.
    fn at(self, x: f64) -> (f64, f64) {
        match self {
            Kind::Sin => (x.sin(), x.cos()),
            Kind::Cos => (x.cos(), -x.sin()),
            Kind::Tan => (x.tan(), 1.0 + x.tan() * x.tan()),
            Kind::Asin => (x.asin(), 1.0 / (1.0 - x * x).sqrt()),
            Kind::Acos => (x.acos(), -1.0 / (1.0 - x * x).sqrt()),
            Kind::Atan => (x.atan(), 1.0 / (1.0 + x * x)),
            Kind::Sinh => (x.sinh(), x.cosh()),
            Kind::Cosh => (x.cosh(), x.sinh()),
            Kind::Tanh => (x.tanh(), 1.0 - x.tanh() * x.tanh()),
            Kind::Exp => (x.exp(), x.exp()),
            Kind::Ln => (x.ln(), 1.0 / x),
            Kind::Log10 => (x.log10(), 1.0 / (x * std::f64::consts::LN_10)),
            Kind::Square => (x * x, 2.0 * x),
            Kind::Floor => (x.floor(), 0.0),
            Kind::Ceiling => (x.ceil(), 0.0),
            Kind::Round => (x.round(), 0.0),
        }
    }
}

impl Function {
    fn constants(&self) -> Result<FunctionConstants<f64>, Refusal> {
        Ok(FunctionConstants { function: self.function, none: NoConstants::new() })
    }
    fn begin<T: Num>(_: &FunctionConstants<T>, _: Now, _: impl Fn(usize) -> T) -> [T; 1] {
        [T::zero()]
    }
    #[wide]
    #[inline(always)]
    fn advance<T: Num>(
        k: &FunctionConstants<T>,
        _: Now,
        u: impl Fn(usize) -> T,
        [limited]: [T; 1],
    ) -> (T, [T; 1]) {
        let (low, high) = k.function.domain();
        let input = u(Self::INPUT);
        let outside = input.lt(T::of(low)) | input.gt(T::of(high));
        let value = input.clamp_to(low, high).apply(|x| k.function.at(x));
        (value, [limited + truth::<T>(outside)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{lanes_match, respond, sequence};
    use fluxline_core::testing::Bench;
    use std::f64::consts::PI;

    const ALL: [Kind; 16] = [
        Kind::Sin,
        Kind::Cos,
        Kind::Tan,
        Kind::Asin,
        Kind::Acos,
        Kind::Atan,
        Kind::Sinh,
        Kind::Cosh,
        Kind::Tanh,
        Kind::Exp,
        Kind::Ln,
        Kind::Log10,
        Kind::Square,
        Kind::Floor,
        Kind::Ceiling,
        Kind::Round,
    ];
    fn function(function: Kind) -> Function {
        Function { input: 0.0, function }
    }
    fn power_of(keep_sign: bool) -> Power {
        Power { input: 0.0, exponent: 0.0, keep_sign }
    }

    #[test]
    fn functions_have_the_slopes_they_claim() {
        let h = 1e-6;
        for kind in ALL {
            for x in [0.13, 0.45, 0.81] {
                let difference = (kind.at(x + h).0 - kind.at(x - h).0) / (2.0 * h);
                let slope = kind.at(x).1;
                assert!((slope - difference).abs() < 1e-8 * (1.0 + slope.abs()), "{kind:?}");
            }
        }
        for (x, n) in [(0.3, 1.7), (2.0, -0.4)] {
            let (_, by_x, by_n) = Pair::Power.at(x, n);
            let difference = (Pair::Power.at(x + h, n).0 - Pair::Power.at(x - h, n).0) / (2.0 * h);
            assert!((by_x - difference).abs() < 1e-8);
            let difference = (Pair::Power.at(x, n + h).0 - Pair::Power.at(x, n - h).0) / (2.0 * h);
            assert!((by_n - difference).abs() < 1e-8);
        }
    }

    #[test]
    fn outside_of_its_domain_a_function_is_held_at_the_edge() {
        let mut asin = Bench::new(&function(Kind::Asin), 0.1);
        asin.input(0, 1.5).start().settle().step();
        assert_eq!((asin.output(0), asin.get_state(0)), (PI / 2.0, 1.0));
        let mut ln = Bench::new(&function(Kind::Ln), 0.1);
        ln.input(0, -1.0).start().settle().step();
        assert!(ln.output(0).is_finite() && ln.get_state(0) == 1.0);
    }

    #[test]
    fn roots_and_powers_keep_or_drop_the_sign() {
        let input = Absolute { input: 0.0 };
        assert_eq!(respond(&input, 1.0, 2, |t| t - 1.0), [1.0, 0.0, 1.0]);
        let input = Sign { input: 0.0 };
        assert_eq!(respond(&input, 1.0, 2, |t| t - 1.0), [-1.0, 0.0, 1.0]);
        let input = Sqrt { input: 0.0 };
        assert_eq!(respond(&input, 1.0, 8, |t| t - 4.0)[0], -2.0);
        let rows = [[-3.0, 3.0], [2.0, 0.5], [0.0, 2.0]];
        let root = 2f64.sqrt();
        assert_eq!(sequence(&power_of(false), 1.0, &rows), [27.0, root, 0.0]);
        assert_eq!(sequence(&power_of(true), 1.0, &rows), [-27.0, root, 0.0]);
        let angle = Atan2 { input1: 0.0, input2: 0.0 };
        assert_eq!(sequence(&angle, 1.0, &[[1.0, 0.0], [0.0, -1.0]]), [PI / 2.0, PI]);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        for kind in ALL {
            lanes_match([kind; 4].map(function));
        }
        lanes_match([true; 4].map(power_of));
        lanes_match([(); 4].map(|()| Sqrt { input: 0.0 }));
        lanes_match([(); 4].map(|()| Sign { input: 0.0 }));
    }
}
