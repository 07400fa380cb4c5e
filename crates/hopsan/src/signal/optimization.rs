//! Functions that optimisers are tried on.

use super::block::memoryless;
use fluxline_core::component::{ComponentType, NoConstants, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::{E, PI, TAU};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Function2D>(),
    ComponentType::of::<Function5D>(),
    ComponentType::of::<Function6D>(),
];

/// A function of two variables with a known minimum.
///
/// 0 Ackley, 1 Beale, 2 Booth, 3 Bukin 6, 4 cross-in-tray, 5 Easom, 6 egg holder, 7 Goldstein–Price,
/// 8 Hölder table, 9 Lévi, 10 Matyas, 11 McCormick, 12 peaks, 13 Rosenbrock, 14 Schaffer 2,
/// 15 Schaffer 4, 16 sphere, 17 Styblinski–Tang, 18 three-hump camel; others give 0.
///
/// Three are as Hopsan has them, not the literature: Beale's first constant is 15, not 1.5, the second
/// sine of the egg holder has no root in it, and the cosine of Schaffer 4 is not squared.
#[component("hopsan.OptimizationTestFunction2D", s, constants = Choice)]
pub struct Function2D {
    /// x — first variable [any]
    #[input(default = 0)]
    pub x: f64,
    /// y — second variable [any]
    #[input(default = 0)]
    pub y: f64,
    /// – — number of the function [–]
    #[parameter(default = 0)]
    pub function: usize,
    /// f — value of the function [any]
    #[output]
    out: Output,
}

/// A function of five variables with a known minimum.
///
/// 0 Rosenbrock, 1 sphere, 2 Styblinski–Tang; others give 0
#[component("hopsan.OptimizationTestFunction5D", s, constants = Choice)]
pub struct Function5D {
    /// x₁ — first variable [any]
    #[input(default = 0)]
    pub x1: f64,
    /// x₂ — second variable [any]
    #[input(default = 0)]
    pub x2: f64,
    /// x₃ — third variable [any]
    #[input(default = 0)]
    pub x3: f64,
    /// x₄ — fourth variable [any]
    #[input(default = 0)]
    pub x4: f64,
    /// x₅ — fifth variable [any]
    #[input(default = 0)]
    pub x5: f64,
    /// – — number of the function [–]
    #[parameter(default = 0)]
    pub function: usize,
    /// f — value of the function [any]
    #[output]
    out: Output,
}

/// A function of six variables with a known minimum.
///
/// 0 Rosenbrock, 1 sphere, 2 Styblinski–Tang; others give 0
#[component("hopsan.OptimizationTestFunction6D", s, constants = Choice)]
pub struct Function6D {
    /// x₁ — first variable [any]
    #[input(default = 0)]
    pub x1: f64,
    /// x₂ — second variable [any]
    #[input(default = 0)]
    pub x2: f64,
    /// x₃ — third variable [any]
    #[input(default = 0)]
    pub x3: f64,
    /// x₄ — fourth variable [any]
    #[input(default = 0)]
    pub x4: f64,
    /// x₅ — fifth variable [any]
    #[input(default = 0)]
    pub x5: f64,
    /// x₆ — sixth variable [any]
    #[input(default = 0)]
    pub x6: f64,
    /// – — number of the function [–]
    #[parameter(default = 0)]
    pub function: usize,
    /// f — value of the function [any]
    #[output]
    out: Output,
}

/// Which function it is.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Choice<T> {
    function: usize,
    none: NoConstants<T>,
}

macro_rules! functions {
    ($($type:ident: $n:literal, $value:expr;)*) => {$(
        impl $type {
            fn constants(&self) -> Result<Choice<f64>, Refusal> {
                Ok(Choice { function: self.function, none: NoConstants::new() })
            }
            #[wide]
            #[inline(always)]
            fn value<T: Num>(k: &Choice<T>, io: &Step<'_, T>) -> T {
                let point: [T; $n] = std::array::from_fn(|i| io.input(i));
                $value(k.function, point)
            }
        }
        memoryless!($type: Choice);
    )*};
}

functions! {
    Function2D: 2, of_two;
    Function5D: 5, of_many;
    Function6D: 6, of_many;
}

#[wide]
fn of_many<T: Num, const N: usize>(function: usize, x: [T; N]) -> T {
    match function {
        0 => rosenbrock(x),
        1 => sphere(x),
        2 => styblinski_tang(x),
        _ => T::zero(),
    }
}

#[wide]
fn rosenbrock<T: Num, const N: usize>(x: [T; N]) -> T {
    x.windows(2).fold(T::zero(), |sum, pair| {
        sum + (T::one() - pair[0]).squared() + (pair[1] - pair[0].squared()).squared() * 100.0
    })
}

#[wide]
fn sphere<T: Num, const N: usize>(x: [T; N]) -> T {
    x.iter().fold(T::zero(), |sum, &x| sum + x.squared())
}

#[wide]
fn styblinski_tang<T: Num, const N: usize>(x: [T; N]) -> T {
    let each = |x: T| x.squared().squared() - x.squared() * 16.0 + x * 5.0;
    x.iter().fold(T::zero(), |sum, &x| sum + each(x)) / 2.0
}

#[wide]
fn of_two<T: Num>(function: usize, [x, y]: [T; 2]) -> T {
    let (xx, yy) = (x.squared(), y.squared());
    let (one, radius) = (T::one(), (xx + yy).sqrt());
    let sine = |cycles: f64, x: T| (x * (cycles * TAU)).sin().squared();
    match function {
        0 => {
            let (distance, ripples) = (((xx + yy) * 0.5).sqrt(), (x * TAU).cos() + (y * TAU).cos());
            T::of(20.0 + E) - (distance * -0.2).exp() * 20.0 - (ripples * 0.5).exp()
        }
        1 => {
            let term = |constant: f64, power: T| (T::of(constant) - x + x * power).squared();
            term(15.0, y) + term(2.25, yy) + term(2.625, yy * y)
        }
        2 => (x + y * 2.0 - 7.0).squared() + (x * 2.0 + y - 5.0).squared(),
        3 => (y - xx * 0.01).abs().sqrt() * 100.0 + (x + 10.0).abs() * 0.01,
        4 => {
            let tray = x.sin() * y.sin() * (T::of(100.0) - radius / PI).abs().exp();
            (tray.abs() + 1.0).powf(T::of(0.1)) * -0.0001
        }
        5 => {
            let distance = (x - PI).squared() + (y - PI).squared();
            -(x.cos() * y.cos() * (-distance).exp())
        }
        6 => {
            let height = y + 47.0;
            -(height * (height + x / 2.0).abs().sqrt().sin()) - x * (x - height).abs().sin()
        }
        7 => {
            let first = xx * 3.0 - x * 14.0 - y * 14.0 + x * y * 6.0 + yy * 3.0 + 19.0;
            let second = xx * 12.0 - x * 32.0 + y * 48.0 - x * y * 36.0 + yy * 27.0 + 18.0;
            ((x + y + 1.0).squared() * first + 1.0)
                * ((x * 2.0 - y * 3.0).squared() * second + 30.0)
        }
        8 => -(x.sin() * y.cos() * (one - radius / PI).abs().exp()).abs(),
        9 => {
            sine(1.5, x)
                + (x - 1.0).squared() * (sine(1.5, y) + 1.0)
                + (y - 1.0).squared() * (sine(1.0, y) + 1.0)
        }
        10 => (xx + yy) * 0.26 - x * y * 0.48,
        11 => (x + y).sin() + (x - y).squared() - x * 1.5 + y * 2.5 + 1.0,
        12 => {
            let around = |a: f64, b: f64| (-(x + a).squared() - (y + b).squared()).exp();
            (one - x).squared() * around(0.0, 1.0) * 3.0
                - (x / 5.0 - xx * x - yy * yy * y) * around(0.0, 0.0) * 10.0
                - around(1.0, 0.0) / 3.0
        }
        13 => rosenbrock([x, y]),
        14 | 15 => {
            let wave = if function == 14 {
                (xx - yy).sin().squared()
            } else {
                (xx - yy).abs().sin().cos()
            };
            (wave - 0.5) / ((xx + yy) * 0.001 + 1.0).squared() + 0.5
        }
        16 => sphere([x, y]),
        17 => styblinski_tang([x, y]),
        18 => xx * 2.0 - xx.squared() * 1.05 + xx.squared() * xx / 6.0 + x * y + yy,
        _ => T::zero(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::block::sequence;

    /// Minima from the literature (Jamil and Yang, 2013), and points worked out by hand for the
    /// functions that Hopsan has in a form of its own.
    #[test]
    fn functions_of_two_variables_have_their_known_values() {
        let hyperbola =
            (2.25 - 3.0 + 3.0 * 0.25_f64).powi(2) + (2.625 - 3.0 + 3.0 * 0.125_f64).powi(2);
        let schaffer = 0.5 + (1.0_f64.cos() - 0.5) / (1.0 + 0.0005 * PI).powi(2);
        for (function, x, y, expected, tolerance) in [
            (0, 0.0, 0.0, 0.0, 1e-14),
            (1, 3.0, 0.5, 13.5 * 13.5 + hyperbola, 1e-12),
            (2, 1.0, 3.0, 0.0, 0.0),
            (3, -10.0, 1.0, 0.0, 0.0),
            (4, 1.349406608602084, 1.349406608602084, -2.062611870822739, 1e-9),
            (5, PI, PI, -1.0, 1e-15),
            (6, 0.0, -46.0, -1.0_f64.sin(), 1e-15),
            (7, 0.0, -1.0, 3.0, 0.0),
            (8, 8.05502347, 9.66459002, -19.2085025678, 1e-9),
            (9, 1.0, 1.0, 0.0, 1e-28),
            (10, 0.0, 0.0, 0.0, 0.0),
            (11, -0.547197551196598, -1.547197551196598, -1.913222954981037, 1e-14),
            (12, 0.228279, -1.625535, -6.551133, 1e-6),
            (13, 1.0, 1.0, 0.0, 0.0),
            (14, 0.0, 0.0, 0.0, 0.0),
            (15, 0.0, (PI / 2.0).sqrt(), schaffer, 1e-15),
            (16, 3.0, 4.0, 25.0, 0.0),
            (17, -2.903534, -2.903534, -78.332331, 1e-6),
            (18, 1.0, 0.0, 2.0 - 1.05 + 1.0 / 6.0, 1e-15),
            (19, 1.0, 1.0, 0.0, 0.0),
        ] {
            let component = Function2D { x: 0.0, y: 0.0, function };
            let value = sequence(&component, 0.1, &[[x, y]])[0];
            assert!((value - expected).abs() <= tolerance, "{function}: {value}");
        }
    }

    #[test]
    fn functions_of_many_variables_have_their_known_values() {
        let minimum = -39.166165703771; // per variable, at −2.903534
        for (function, x, expected) in
            [(0, 1.0, 0.0), (1, 2.0, 4.0), (2, -2.903534027771177, minimum), (3, 1.0, 0.0)]
        {
            let [x1, x2, x3, x4, x5, x6] = [0.0; 6];
            let five = Function5D { x1, x2, x3, x4, x5, function };
            let six = Function6D { x1, x2, x3, x4, x5, x6, function };
            let (five, six) =
                (sequence(&five, 0.1, &[[x; 5]])[0], sequence(&six, 0.1, &[[x; 6]])[0]);
            assert!((five - 5.0 * expected).abs() < 1e-9, "{function}: {five}");
            assert!((six - 6.0 * expected).abs() < 1e-9, "{function}: {six}");
        }
        let chain = Function5D { x1: 0.0, x2: 0.0, x3: 0.0, x4: 0.0, x5: 0.0, function: 0 };
        // (1−2)² + 100·(1−4)² for the first pair, (1−1)² + 100·(0−1)² for the second, then 1 each.
        assert_eq!(sequence(&chain, 0.1, &[[2.0, 1.0, 0.0, 0.0, 0.0]]), [901.0 + 100.0 + 2.0]);
    }
}
