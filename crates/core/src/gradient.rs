//! Numbers that carry several derivatives at once: exact Jacobians in few sweeps.

use crate::number::Num;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// Directions that a [`Gradient`] follows at once.
pub const DIRECTIONS: usize = 4;

/// A number with its derivatives in [`DIRECTIONS`] directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient {
    /// The value.
    pub value: f64,
    /// The derivatives.
    pub slope: [f64; DIRECTIONS],
}

impl Gradient {
    /// A number that depends on nothing.
    #[inline(always)]
    pub const fn constant(value: f64) -> Self {
        Self { value, slope: [0.0; DIRECTIONS] }
    }

    /// value with slopes scaled by the derivative of the function it came from.
    #[inline(always)]
    fn chain(self, value: f64, derivative: f64) -> Self {
        Self { value, slope: self.slope.map(|s| s * derivative) }
    }

    /// The slopes of a·self + b·other.
    #[inline(always)]
    fn blend(self, a: f64, other: Self, b: f64) -> [f64; DIRECTIONS] {
        std::array::from_fn(|i| self.slope[i] * a + other.slope[i] * b)
    }
}

impl Add for Gradient {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let slope = std::array::from_fn(|i| self.slope[i] + other.slope[i]);
        Self { value: self.value + other.value, slope }
    }
}
impl Sub for Gradient {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let slope = std::array::from_fn(|i| self.slope[i] - other.slope[i]);
        Self { value: self.value - other.value, slope }
    }
}
impl Mul for Gradient {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let slope = self.blend(other.value, other, self.value);
        Self { value: self.value * other.value, slope }
    }
}
impl Div for Gradient {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let inverse = 1.0 / other.value;
        let value = self.value / other.value;
        Self { value, slope: self.blend(inverse, other, -value * inverse) }
    }
}
impl Neg for Gradient {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { value: -self.value, slope: self.slope.map(|s| -s) }
    }
}
impl AddAssign for Gradient {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl SubAssign for Gradient {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
impl Add<f64> for Gradient {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: f64) -> Self {
        Self { value: self.value + other, slope: self.slope }
    }
}
impl Sub<f64> for Gradient {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: f64) -> Self {
        Self { value: self.value - other, slope: self.slope }
    }
}
impl Mul<f64> for Gradient {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: f64) -> Self {
        self.chain(self.value * other, other)
    }
}
impl Div<f64> for Gradient {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: f64) -> Self {
        self.chain(self.value / other, 1.0 / other)
    }
}

impl Num for Gradient {
    type Mask = bool;
    #[inline(always)]
    fn of(value: f64) -> Self {
        Self::constant(value)
    }
    #[inline(always)]
    fn first(self) -> f64 {
        self.value
    }
    /// As for [`crate::number::Dual`], the slope at 0 is reported as 0.
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, if root > 0.0 { 0.5 / root } else { 0.0 })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        if self.value < 0.0 { -self } else { self }
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let e = self.value.exp();
        self.chain(e, e)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.chain(self.value.ln(), 1.0 / self.value)
    }
    #[inline(always)]
    fn powf(self, exponent: Self) -> Self {
        let power = self.value.powf(exponent.value);
        let by_base = power * exponent.value / self.value;
        let by_exponent = power * self.value.ln();
        Self { value: power, slope: self.blend(by_base, exponent, by_exponent) }
    }
    #[inline(always)]
    fn sin(self) -> Self {
        self.chain(Num::sin(self.value), Num::cos(self.value))
    }
    #[inline(always)]
    fn cos(self) -> Self {
        self.chain(Num::cos(self.value), -Num::sin(self.value))
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        let t = self.value.tanh();
        self.chain(t, 1.0 - t * t)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Self::constant(self.value.floor())
    }
    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self.value < other.value
    }
    #[inline(always)]
    fn le(self, other: Self) -> bool {
        self.value <= other.value
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn apply(self, f: impl Fn(f64) -> (f64, f64)) -> Self {
        let (value, slope) = f(self.value);
        self.chain(value, slope)
    }
    #[inline(always)]
    fn apply2(self, other: Self, f: impl Fn(f64, f64) -> (f64, f64, f64)) -> Self {
        let (value, by_x, by_y) = f(self.value, other.value);
        Self { value, slope: self.blend(by_x, other, by_y) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Dual;
    use proptest::prelude::*;

    fn sample<T: Num>(x: T, y: T) -> T {
        let root = (x * x + y.abs() + 1.0).sqrt();
        let power = root.powf(T::of(0.3) + y.tanh() * 0.1) / (y - 7.0);
        T::select(x.lt(y), power * x.sin(), power - (y * 0.2).exp())
            + (x - y).signed_sqrt() * y.cos()
            + (root + 2.0).ln()
    }

    proptest! {
        #[test]
        fn slopes_are_those_of_single_duals(x in -3.0..3.0f64, y in -3.0..3.0f64) {
            prop_assume!((x - y).abs() > 1e-2);
            let seed = |value, i: usize| {
                let mut g = Gradient::constant(value);
                g.slope[i] = 1.0;
                g
            };
            let both = sample(seed(x, 0), seed(y, 2));
            let by_x = sample(Dual::variable(x), Dual::constant(y));
            let by_y = sample(Dual::constant(x), Dual::variable(y));
            prop_assert_eq!(both.value, by_x.value);
            prop_assert!((both.slope[0] - by_x.slope).abs() <= 1e-12 * (1.0 + by_x.slope.abs()));
            prop_assert!((both.slope[2] - by_y.slope).abs() <= 1e-12 * (1.0 + by_y.slope.abs()));
            prop_assert_eq!([both.slope[1], both.slope[3]], [0.0, 0.0]);
        }
    }
}
