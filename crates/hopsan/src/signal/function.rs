//! Functions of one signal or two.

use super::block::{binary, truth};
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::function::{Named, Pair};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Sin>(),
    ComponentType::of::<Cos>(),
    ComponentType::of::<Tan>(),
    ComponentType::of::<Asin>(),
    ComponentType::of::<Acos>(),
    ComponentType::of::<Atan>(),
    ComponentType::of::<Atan2>(),
    ComponentType::of::<Sinh>(),
    ComponentType::of::<Cosh>(),
    ComponentType::of::<Tanh>(),
    ComponentType::of::<Exp>(),
    ComponentType::of::<Log>(),
    ComponentType::of::<Log10>(),
    ComponentType::of::<Power>(),
    ComponentType::of::<Sqrt>(),
    ComponentType::of::<Ceil>(),
    ComponentType::of::<Floor>(),
    ComponentType::of::<Round>(),
];

/// Declares functions of one signal.
macro_rules! unary {
    ($($(#[$doc:meta])* $type:ident, $name:tt, |$x:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        #[fluxline_core::component($name, s)]
        pub struct $type {
            /// u — signal [any]
            #[input(name = "in", default = 0)]
            pub input: f64,
            /// y — value of the function [any]
            #[output]
            out: Output,
        }
        impl $type {
            #[inline(always)]
            fn value<T: Num>(io: &Step<'_, T>) -> T {
                let $x = io.input(Self::INPUT);
                $value
            }
        }
        $crate::signal::block::memoryless! { $type }
    )*};
}

unary! {
    /// Sine of an angle in radians.
    Sin, "hopsan.SignalSin", |x| x.sin();
    /// Cosine of an angle in radians.
    Cos, "hopsan.SignalCos", |x| x.cos();
    /// Tangent of an angle in radians.
    Tan, "hopsan.SignalTan", |x| x.tan();
    /// Inverse tangent, −π/2 to π/2.
    Atan, "hopsan.SignalAtan", |x| x.call(Named::Atan);
    /// Hyperbolic sine.
    Sinh, "hopsan.SignalSinh", |x| x.call(Named::Sinh);
    /// Hyperbolic cosine.
    Cosh, "hopsan.SignalCosh", |x| x.call(Named::Cosh);
    /// Hyperbolic tangent.
    Tanh, "hopsan.SignalTanh", |x| x.tanh();
    /// Exponential.
    Exp, "hopsan.SignalExp", |x| x.exp();
    /// Smallest whole number that is not below.
    Ceil, "hopsan.SignalCeil", |x| x.call(Named::Ceil);
    /// Largest whole number that is not above.
    Floor, "hopsan.SignalFloor", |x| x.floor();
    /// Nearest whole number; halves away from zero.
    Round, "hopsan.SignalRound", |x| x.call(Named::Round);
}

/// Declares functions that are not defined everywhere: where they are not, the output is a given
/// value and `error` is 1.
macro_rules! partial {
    ($($(#[$doc:meta])* $type:ident, $name:tt,
       |$x:ident| $value:expr, $outside:expr => $replacement:expr;)*) => {$(
        $(#[$doc])*
        #[fluxline_core::component($name, s)]
        pub struct $type {
            /// u — signal [any]
            #[input(name = "in", default = 0)]
            pub input: f64,
            /// y — value of the function [any]
            #[output]
            out: Output,
            /// – — 1 where the function is not defined [–]
            #[output]
            error: Output,
        }
        impl Physics for $type {
            const HAS_LAW: bool = false;
            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }
            fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
                Self::step(k, io);
            }
            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                let $x = io.input(Self::INPUT);
                let outside = $outside;
                let replacement = $replacement;
                let value: T = $value;
                io.set_output(Self::OUT, T::select(outside, replacement, value));
                io.set_output(Self::ERROR, truth(outside));
            }
        }
    )*};
}

/// Where a number is beyond ±1.
#[inline(always)]
fn beyond_one<T: Num>(x: T) -> T::Mask {
    x.abs().gt(T::one())
}

partial! {
    /// Inverse sine.
    ///
    /// out = asin(in);  beyond ±1 that of the edge, and `error` is 1
    Asin, "hopsan.SignalAsin", |x| x.asin(),
    beyond_one(x) => T::of(1.0_f64.asin()).with_sign_of(x);

    /// Inverse cosine.
    ///
    /// out = acos(in);  beyond ±1 that of the edge, and `error` is 1
    Acos, "hopsan.SignalAcos", |x| x.acos(),
    beyond_one(x) => T::select(x.lt(T::zero()), T::of((-1.0_f64).acos()), T::zero());

    /// Natural logarithm.
    ///
    /// out = ln(in);  at and below 0 the output is 0 and `error` is 1
    Log, "hopsan.SignalLog", |x| x.ln(),
    x.le(T::zero()) => T::zero();

    /// Logarithm to base 10.
    ///
    /// out = lg(in);  at and below 0 the output is 0 and `error` is 1
    Log10, "hopsan.SignalLog10", |x| x.call(Named::Log10),
    x.le(T::zero()) => T::zero();

    /// Square root.
    ///
    /// out = √in;  below 0 the output is 0 and `error` is 1
    Sqrt, "hopsan.SignalSqrt", |x| x.sqrt(),
    x.lt(T::zero()) => T::zero();
}

binary! {
    /// The angle of a point.
    ///
    /// out = atan2(inY, inX), −π to π
    Atan2, "hopsan.SignalAtan2",
    |y: "inY" = 0 "u₁ — ordinate [any]", x: "inX" = 0 "u₂ — abscissa [any]"|
    y.call2(x, Pair::Atan2);

    /// A power of the size of a signal.
    ///
    /// out = |in|^x
    Power, "hopsan.SignalPower",
    |u: "in" = 0 "u — signal [any]", n: "x" = 0 "n — exponent [any]"|
    u.abs().call2(n, Pair::Power);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::block::sequence;
    use fluxline_core::testing::Bench;
    use std::f64::consts::PI;

    /// Identities that tie the functions together, from the start on.
    #[test]
    fn functions_fulfil_their_identities() {
        for x in [-0.7, 0.0, 0.4, 0.9] {
            let of = |value: Vec<f64>| value[0];
            let rows = [[x]];
            let (s, c) = (
                of(sequence(&Sin { input: 0.0 }, 0.1, &rows)),
                of(sequence(&Cos { input: 0.0 }, 0.1, &rows)),
            );
            assert!((s * s + c * c - 1.0).abs() < 1e-15);
            assert!((of(sequence(&Tan { input: 0.0 }, 0.1, &rows)) - s / c).abs() < 1e-15);
            let back = of(sequence(&Asin { input: 0.0 }, 0.1, &[[s]]));
            assert!((back - x).abs() < 1e-15);
            let other = of(sequence(&Acos { input: 0.0 }, 0.1, &[[s]]));
            assert!((back + other - PI / 2.0).abs() < 1e-15);
            let (sh, ch) = (
                of(sequence(&Sinh { input: 0.0 }, 0.1, &rows)),
                of(sequence(&Cosh { input: 0.0 }, 0.1, &rows)),
            );
            let e = of(sequence(&Exp { input: 0.0 }, 0.1, &rows));
            assert!((sh + ch - e).abs() < 1e-15);
            assert!((of(sequence(&Tanh { input: 0.0 }, 0.1, &rows)) - sh / ch).abs() < 1e-15);
            assert!((of(sequence(&Log { input: 0.0 }, 0.1, &[[e]])) - x).abs() < 1e-15);
            let lg = of(sequence(&Log10 { input: 0.0 }, 0.1, &[[e]]));
            assert!((lg - x / 10.0_f64.ln()).abs() < 1e-15);
            let angle = of(sequence(&Atan { input: 0.0 }, 0.1, &[[s / c]]));
            assert!((angle - x).abs() < 1e-15);
            let point = Atan2 { input1: 0.0, input2: 0.0 };
            assert!((of(sequence(&point, 0.1, &[[s, c]])) - x).abs() < 1e-15);
        }
        let point = Atan2 { input1: 0.0, input2: 0.0 };
        assert_eq!(sequence(&point, 0.1, &[[0.0, 0.0], [0.0, -1.0]]), [0.0, PI]);
    }

    #[test]
    fn powers_take_the_size_of_the_base() {
        let power = Power { input1: 0.0, input2: 0.0 };
        let rows = [[-3.0, 3.0], [4.0, 0.5], [0.0, 0.0]];
        assert_eq!(sequence(&power, 0.1, &rows), [27.0, 2.0, 1.0]);
        let halves = [[-2.5], [2.5], [0.4]];
        assert_eq!(sequence(&Round { input: 0.0 }, 0.1, &halves), [-3.0, 3.0, 0.0]);
        assert_eq!(sequence(&Floor { input: 0.0 }, 0.1, &halves), [-3.0, 2.0, 0.0]);
        assert_eq!(sequence(&Ceil { input: 0.0 }, 0.1, &halves), [-2.0, 3.0, 1.0]);
    }

    fn at<M: Physics>(component: &M, x: f64) -> (f64, f64) {
        let mut bench = Bench::new(component, 0.1);
        bench.input(0, x).start();
        (bench.output(0), bench.output(1))
    }

    #[test]
    fn outside_of_its_domain_a_function_reports_an_error() {
        assert_eq!(at(&Asin { input: 0.0 }, -1.5), (-PI / 2.0, 1.0));
        assert_eq!(at(&Asin { input: 0.0 }, 1.0), (PI / 2.0, 0.0));
        assert_eq!(at(&Acos { input: 0.0 }, 1.5), (0.0, 1.0));
        assert_eq!(at(&Acos { input: 0.0 }, -1.5), (PI, 1.0));
        assert_eq!(at(&Log { input: 0.0 }, 0.0), (0.0, 1.0));
        assert_eq!(at(&Log10 { input: 0.0 }, -1.0), (0.0, 1.0));
        assert_eq!(at(&Sqrt { input: 0.0 }, -1.0), (0.0, 1.0));
        assert_eq!(at(&Sqrt { input: 0.0 }, 0.0), (0.0, 0.0));
        assert_eq!(at(&Sqrt { input: 0.0 }, 9.0), (3.0, 0.0));
    }
}
