//! Numbers that carry derivatives through whole steps: linearisation and sensitivities.
//!
//! Component types are compiled for [`crate::gradient::Gradient`] where solvers of lumped circuits
//! evaluate their laws, fast. Their steps are compiled for this number, whose operations are calls:
//! a hundred kinds of components then cost little to build, and the few steps that are linearised
//! can afford it.

use crate::number::Num;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// Directions that a [`Tangent`] follows at once.
pub const DIRECTIONS: usize = 8;

/// A number with its derivatives in [`DIRECTIONS`] directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tangent {
    /// The value.
    pub value: f64,
    /// The derivatives.
    pub slope: [f64; DIRECTIONS],
}

/// A slope scaled by a derivative; what does not move does not, however steep the function is.
#[inline(always)]
fn scaled(slope: f64, derivative: f64) -> f64 {
    if slope == 0.0 { 0.0 } else { slope * derivative }
}

impl Tangent {
    /// A number that depends on nothing.
    #[inline]
    pub const fn constant(value: f64) -> Self {
        Self { value, slope: [0.0; DIRECTIONS] }
    }

    /// The number that derivatives in one direction are taken of.
    pub const fn variable(value: f64, direction: usize) -> Self {
        let mut one = Self::constant(value);
        one.slope[direction] = 1.0;
        one
    }

    /// Whether it moves in any direction.
    pub fn moves(&self) -> bool {
        self.slope.iter().any(|&slope| slope != 0.0)
    }

    #[inline(never)]
    fn chain(&self, value: f64, derivative: f64) -> Self {
        Self { value, slope: self.slope.map(|slope| scaled(slope, derivative)) }
    }

    #[inline(never)]
    fn blend(&self, other: &Self, value: f64, by_self: f64, by_other: f64) -> Self {
        let slope = |i: usize| scaled(self.slope[i], by_self) + scaled(other.slope[i], by_other);
        Self { value, slope: std::array::from_fn(slope) }
    }
}

impl Add for Tangent {
    type Output = Self;
    #[inline(never)]
    fn add(self, other: Self) -> Self {
        let slope = std::array::from_fn(|i| self.slope[i] + other.slope[i]);
        Self { value: self.value + other.value, slope }
    }
}
impl Sub for Tangent {
    type Output = Self;
    #[inline(never)]
    fn sub(self, other: Self) -> Self {
        let slope = std::array::from_fn(|i| self.slope[i] - other.slope[i]);
        Self { value: self.value - other.value, slope }
    }
}
impl Mul for Tangent {
    type Output = Self;
    #[inline(never)]
    fn mul(self, other: Self) -> Self {
        self.blend(&other, self.value * other.value, other.value, self.value)
    }
}
impl Div for Tangent {
    type Output = Self;
    #[inline(never)]
    fn div(self, other: Self) -> Self {
        let inverse = 1.0 / other.value;
        let value = self.value / other.value;
        self.blend(&other, value, inverse, -value * inverse)
    }
}
impl Neg for Tangent {
    type Output = Self;
    #[inline(never)]
    fn neg(self) -> Self {
        Self { value: -self.value, slope: self.slope.map(|slope| -slope) }
    }
}
impl AddAssign for Tangent {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl SubAssign for Tangent {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
impl Add<f64> for Tangent {
    type Output = Self;
    #[inline]
    fn add(mut self, other: f64) -> Self {
        self.value += other;
        self
    }
}
impl Sub<f64> for Tangent {
    type Output = Self;
    #[inline]
    fn sub(mut self, other: f64) -> Self {
        self.value -= other;
        self
    }
}
impl Mul<f64> for Tangent {
    type Output = Self;
    #[inline]
    fn mul(self, other: f64) -> Self {
        self.chain(self.value * other, other)
    }
}
impl Div<f64> for Tangent {
    type Output = Self;
    #[inline]
    fn div(self, other: f64) -> Self {
        self.chain(self.value / other, 1.0 / other)
    }
}

impl Num for Tangent {
    type Mask = bool;
    #[inline]
    fn of(value: f64) -> Self {
        Self::constant(value)
    }
    #[inline]
    fn first(self) -> f64 {
        self.value
    }
    /// As for [`crate::number::Dual`], the slope at 0 is reported as 0.
    #[inline(never)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, if root > 0.0 { 0.5 / root } else { 0.0 })
    }
    #[inline(never)]
    fn abs(self) -> Self {
        if self.value < 0.0 { -self } else { self }
    }
    #[inline(never)]
    fn exp(self) -> Self {
        let e = self.value.exp();
        self.chain(e, e)
    }
    #[inline(never)]
    fn ln(self) -> Self {
        self.chain(self.value.ln(), 1.0 / self.value)
    }
    #[inline(never)]
    fn powf(self, exponent: Self) -> Self {
        let power = self.value.powf(exponent.value);
        let by_base = exponent.value * self.value.powf(exponent.value - 1.0);
        self.blend(&exponent, power, by_base, power * self.value.ln())
    }
    #[inline(never)]
    fn sin(self) -> Self {
        self.chain(Num::sin(self.value), Num::cos(self.value))
    }
    #[inline(never)]
    fn cos(self) -> Self {
        self.chain(Num::cos(self.value), -Num::sin(self.value))
    }
    #[inline(never)]
    fn tanh(self) -> Self {
        let t = self.value.tanh();
        self.chain(t, 1.0 - t * t)
    }
    #[inline]
    fn floor(self) -> Self {
        Self::constant(self.value.floor())
    }
    #[inline]
    fn lt(self, other: Self) -> bool {
        self.value < other.value
    }
    #[inline]
    fn le(self, other: Self) -> bool {
        self.value <= other.value
    }
    #[inline]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[inline]
    fn apply(self, f: impl Fn(f64) -> (f64, f64)) -> Self {
        let (value, slope) = f(self.value);
        self.chain(value, slope)
    }
    #[inline]
    fn apply2(self, other: Self, f: impl Fn(f64, f64) -> (f64, f64, f64)) -> Self {
        let (value, by_x, by_y) = f(self.value, other.value);
        self.blend(&other, value, by_x, by_y)
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
            let both = sample(Tangent::variable(x, 0), Tangent::variable(y, 6));
            let by_x = sample(Dual::variable(x), Dual::constant(y));
            let by_y = sample(Dual::constant(x), Dual::variable(y));
            prop_assert_eq!(both.value, by_x.value);
            prop_assert!((both.slope[0] - by_x.slope).abs() <= 1e-12 * (1.0 + by_x.slope.abs()));
            prop_assert!((both.slope[6] - by_y.slope).abs() <= 1e-12 * (1.0 + by_y.slope.abs()));
            prop_assert_eq!(both.slope[1..6].to_vec(), vec![0.0; 5]);
        }
    }

    #[test]
    fn what_does_not_move_stays_so_where_slopes_are_infinite() {
        let still = Tangent::constant(0.0);
        let root = still.powf(Tangent::constant(0.5));
        assert_eq!((root.value, root.slope), (0.0, [0.0; DIRECTIONS]));
        assert!(!still.ln().moves() && Tangent::variable(1.0, 3).ln().moves());
    }
}
