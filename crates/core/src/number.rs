//! Numbers that component physics is written in.
//!
//! Every component formula is generic over [`Num`], so one piece of physics runs on plain `f64`,
//! on [`Lanes`] (several parameter variants at once) and on [`Dual`] numbers (exact derivatives for
//! Newton, linearisation and sensitivities). Branches on values go through [`Num::select`], because
//! lanes may disagree. No operation contracts `a·b + c`: scalar and lanes give the same bits.

use crate::function::{Named, Pair};
use crate::trig;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, Mul, Neg, Not, Sub, SubAssign};

/// Truth per lane: `bool` for a single number, one flag per lane otherwise.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// True when any lane is true: guards rare paths such as cavitation and end stops.
    fn any(self) -> bool;
    /// True when every lane is true.
    fn all(self) -> bool;
    /// One bit per lane, the first lane lowest.
    fn bits(self) -> u64;
}

impl Mask for bool {
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
    #[inline(always)]
    fn all(self) -> bool {
        self
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

/// A real number as component physics sees it.
pub trait Num:
    Copy
    + Send
    + Sync
    + std::fmt::Debug
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// The result of a comparison.
    type Mask: Mask;

    /// A constant.
    fn of(value: f64) -> Self;
    /// The value of the first lane, without derivatives; for messages and tests.
    fn first(self) -> f64;
    /// √x.
    fn sqrt(self) -> Self;
    /// |x|.
    fn abs(self) -> Self;
    /// eˣ.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// xʸ for x > 0.
    fn powf(self, exponent: Self) -> Self;
    /// Sine of an angle in radians.
    fn sin(self) -> Self;
    /// Cosine of an angle in radians.
    fn cos(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Largest whole number not above x.
    fn floor(self) -> Self;

    /// x < y.
    fn lt(self, other: Self) -> Self::Mask;
    /// x ≤ y.
    fn le(self, other: Self) -> Self::Mask;
    /// `yes` where the mask holds, `no` elsewhere.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// A scalar function given with its slope, `f(x) = (value, derivative)`: the way to tables and
    /// to functions this trait does not offer.
    fn apply(self, f: impl Fn(f64) -> (f64, f64)) -> Self;
    /// The same for two arguments: `f(x, y) = (value, ∂x, ∂y)`.
    fn apply2(self, other: Self, f: impl Fn(f64, f64) -> (f64, f64, f64)) -> Self;
    /// Tangent of an angle in radians.
    #[inline(always)]
    fn tan(self) -> Self {
        self.sin() / self.cos()
    }
    /// The angle whose sine it is.
    #[inline(always)]
    fn asin(self) -> Self {
        trig::asin(self)
    }
    /// The angle whose cosine it is.
    #[inline(always)]
    fn acos(self) -> Self {
        trig::acos(self)
    }
    /// A function of the mathematics library.
    #[inline(always)]
    fn call(self, function: Named) -> Self {
        self.apply(|x| function.at(x))
    }
    /// One of two numbers.
    #[inline(always)]
    fn call2(self, other: Self, function: Pair) -> Self {
        self.apply2(other, |x, y| function.at(x, y))
    }
    /// The value of a curve through points with increasing knots: linear in between, held beyond.
    #[inline(always)]
    fn on_curve(self, knots: &[f64], values: &[f64]) -> Self {
        self.apply(|x| crate::table::interpolate(knots, values, x))
    }

    /// One of two computations of the same number: the first wherever the mask holds, and the second,
    /// which is shorter, where it holds nowhere. The first must be right for all lanes.
    #[inline(always)]
    fn where_any(
        mask: Self::Mask,
        some: impl FnOnce() -> Self,
        none: impl FnOnce() -> Self,
    ) -> Self {
        if mask.any() { some() } else { none() }
    }

    /// A component asks for the time or the number of the step: who follows it must know.
    #[inline(always)]
    fn looks_at_clock() {}

    /// Whether work must be told that it is done in vector instructions: [`Num::within`] does.
    const IS_WIDE: bool = false;
    /// Does work in the instructions of this type of number, see `fluxline_macros::wide`.
    #[inline(always)]
    fn within<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    /// x > y.
    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        other.lt(self)
    }
    /// x ≥ y.
    #[inline(always)]
    fn ge(self, other: Self) -> Self::Mask {
        other.le(self)
    }
    /// The smaller of two.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.lt(other), self, other)
    }
    /// The larger of two.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(self.gt(other), self, other)
    }
    /// x held between two bounds.
    #[inline(always)]
    fn clamp(self, low: Self, high: Self) -> Self {
        self.max(low).min(high)
    }
    /// x held between two constant bounds.
    #[inline(always)]
    fn clamp_to(self, low: f64, high: f64) -> Self {
        self.clamp(Self::of(low), Self::of(high))
    }
    /// Zero.
    #[inline(always)]
    fn zero() -> Self {
        Self::of(0.0)
    }
    /// One.
    #[inline(always)]
    fn one() -> Self {
        Self::of(1.0)
    }
    /// x².
    #[inline(always)]
    fn squared(self) -> Self {
        self * self
    }
    /// x⁻¹.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::one() / self
    }
    /// −1 for x < 0, +1 otherwise.
    #[inline(always)]
    fn sign(self) -> Self {
        Self::select(self.lt(Self::zero()), Self::of(-1.0), Self::one())
    }
    /// `self` with the sign of `other`, for `self` ≥ 0.
    #[inline(always)]
    fn with_sign_of(self, other: Self) -> Self {
        Self::select(other.lt(Self::zero()), -self, self)
    }
    /// √|x|·sign(x).
    #[inline(always)]
    fn signed_sqrt(self) -> Self {
        self.abs().sqrt().with_sign_of(self)
    }
}

/// Largest whole number not above x, without a call: not every processor that this is compiled for
/// has an instruction for it.
#[inline(always)]
fn floor(x: f64) -> f64 {
    /// From here on all numbers are whole: 2⁵².
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    // A sum with 2⁵² has no room for a fraction; a zero keeps its sign.
    let nearest = ((x.abs() + WHOLE) - WHOLE).copysign(x);
    let below = if nearest > x { nearest - 1.0 } else { nearest };
    if x.abs() < WHOLE { below } else { x }
}

impl Num for f64 {
    type Mask = bool;
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn first(self) -> f64 {
        self
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f64::ln(self)
    }
    #[inline(always)]
    fn powf(self, exponent: Self) -> Self {
        f64::powf(self, exponent)
    }
    #[inline(always)]
    fn sin(self) -> Self {
        trig::sin(self)
    }
    #[inline(always)]
    fn cos(self) -> Self {
        trig::cos(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        f64::tanh(self)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        floor(self)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self < other
    }
    #[inline(always)]
    fn le(self, other: Self) -> bool {
        self <= other
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask {
            // Stays a branch, which a processor guesses, while a choice by arithmetic waits for the mask
            // and for both sides: most are limits, which are rarely met or rarely left.
            std::hint::cold_path();
            yes
        } else {
            no
        }
    }
    #[inline(always)]
    fn apply(self, f: impl Fn(f64) -> (f64, f64)) -> Self {
        f(self).0
    }
    #[inline(always)]
    fn apply2(self, other: Self, f: impl Fn(f64, f64) -> (f64, f64, f64)) -> Self {
        f(self, other).0
    }
}

/// A number with one derivative: `value + slope·ε`, ε² = 0.
#[derive(Clone, Copy, Debug)]
pub struct Dual<T> {
    /// The value.
    pub value: T,
    /// The derivative in the direction that is being followed.
    pub slope: T,
}

impl<T: Num> Dual<T> {
    /// The variable the derivative is taken of.
    #[inline(always)]
    pub fn variable(value: T) -> Self {
        Self { value, slope: T::one() }
    }
    /// A number that does not depend on the variable.
    #[inline(always)]
    pub fn constant(value: T) -> Self {
        Self { value, slope: T::zero() }
    }
}

macro_rules! dual_operator {
    ($($trait:ident $method:ident |$a:ident, $b:ident| $slope:expr;)*) => {$(
        impl<T: Num> $trait for Dual<T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                Self { value: $a.value.$method($b.value), slope: $slope }
            }
        }
        impl<T: Num> $trait<f64> for Dual<T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: f64) -> Self {
                $trait::$method(self, Self::constant(T::of(other)))
            }
        }
    )*};
}
dual_operator! {
    Add add |a, b| a.slope + b.slope;
    Sub sub |a, b| a.slope - b.slope;
    Mul mul |a, b| a.slope * b.value + a.value * b.slope;
    Div div |a, b| (a.slope - a.value / b.value * b.slope) / b.value;
}
impl<T: Num> Neg for Dual<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { value: -self.value, slope: -self.slope }
    }
}
impl<T: Num> AddAssign for Dual<T> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl<T: Num> SubAssign for Dual<T> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<T: Num> Num for Dual<T> {
    type Mask = T::Mask;
    const IS_WIDE: bool = T::IS_WIDE;
    #[inline(always)]
    fn within<R>(work: impl FnOnce() -> R) -> R {
        T::within(work)
    }
    #[inline(always)]
    fn looks_at_clock() {
        T::looks_at_clock();
    }
    #[inline(always)]
    fn of(value: f64) -> Self {
        Self::constant(T::of(value))
    }
    #[inline(always)]
    fn first(self) -> f64 {
        self.value.first()
    }
    /// The slope at 0 is infinite; it is reported as 0 there so that a closed orifice does not turn
    /// a Jacobian into NaN.
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        let slope = self.slope * 0.5 / root;
        Self { value: root, slope: T::select(root.gt(T::zero()), slope, T::zero()) }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self::select(self.value.lt(T::zero()), -self, self)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let e = self.value.exp();
        Self { value: e, slope: self.slope * e }
    }
    #[inline(always)]
    fn ln(self) -> Self {
        Self { value: self.value.ln(), slope: self.slope / self.value }
    }
    #[inline(always)]
    fn powf(self, exponent: Self) -> Self {
        let power = self.value.powf(exponent.value);
        let slope =
            power * (exponent.value * self.slope / self.value + exponent.slope * self.value.ln());
        Self { value: power, slope }
    }
    #[inline(always)]
    fn sin(self) -> Self {
        Self { value: self.value.sin(), slope: self.slope * self.value.cos() }
    }
    #[inline(always)]
    fn cos(self) -> Self {
        Self { value: self.value.cos(), slope: -(self.slope * self.value.sin()) }
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        let t = self.value.tanh();
        Self { value: t, slope: self.slope * (T::one() - t * t) }
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Self::constant(self.value.floor())
    }
    #[inline(always)]
    fn lt(self, other: Self) -> Self::Mask {
        self.value.lt(other.value)
    }
    #[inline(always)]
    fn le(self, other: Self) -> Self::Mask {
        self.value.le(other.value)
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self {
            value: T::select(mask, yes.value, no.value),
            slope: T::select(mask, yes.slope, no.slope),
        }
    }
    #[inline(always)]
    fn apply(self, f: impl Fn(f64) -> (f64, f64)) -> Self {
        let slope = self.value.apply(|x| (f(x).1, 0.0));
        Self { value: self.value.apply(f), slope: self.slope * slope }
    }
    #[inline(always)]
    fn apply2(self, other: Self, f: impl Fn(f64, f64) -> (f64, f64, f64)) -> Self {
        let by_x = self.value.apply2(other.value, |x, y| (f(x, y).1, 0.0, 0.0));
        let by_y = self.value.apply2(other.value, |x, y| (f(x, y).2, 0.0, 0.0));
        Self {
            value: self.value.apply2(other.value, f),
            slope: self.slope * by_x + other.slope * by_y,
        }
    }
}

/// `N` numbers side by side: `N` variants of one circuit stepped together. Aligned, so that four of
/// them never lie across a cache line. In plain loops, for any machine and for what is done outside of
/// components; where the machine has vector instructions, those step in types that name them.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Lanes<const N: usize>(pub [f64; N]);

// Plain loops: closures handed to functions of the standard library are not always inlined, and then
// compiled without the wide instructions of the caller.
macro_rules! each_lane {
    ($i:ident: $value:expr) => {{
        let mut all = [Default::default(); N];
        let mut $i = 0;
        while $i < N {
            all[$i] = $value;
            $i += 1;
        }
        all
    }};
}

/// One flag per lane: all bits set, or none. As wide as the numbers that they choose between: flags
/// of other sizes keep the compiler from using vector instructions throughout.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct LaneMask<const N: usize>([u64; N]);

#[inline(always)]
fn flag(holds: bool) -> u64 {
    u64::from(holds).wrapping_neg()
}

impl<const N: usize> Mask for LaneMask<N> {
    #[inline(always)]
    fn any(self) -> bool {
        let mut any = 0;
        for i in 0..N {
            any |= self.0[i];
        }
        any != 0
    }
    #[inline(always)]
    fn all(self) -> bool {
        let mut all = u64::MAX;
        for i in 0..N {
            all &= self.0[i];
        }
        all != 0
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        let mut bits = 0;
        for i in 0..N {
            bits |= (self.0[i] & 1) << i;
        }
        bits
    }
}
impl<const N: usize> BitAnd for LaneMask<N> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(each_lane!(i: self.0[i] & other.0[i]))
    }
}
impl<const N: usize> BitOr for LaneMask<N> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(each_lane!(i: self.0[i] | other.0[i]))
    }
}
impl<const N: usize> Not for LaneMask<N> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self(each_lane!(i: !self.0[i]))
    }
}

macro_rules! lane_operator {
    ($($trait:ident $method:ident;)*) => {$(
        impl<const N: usize> $trait for Lanes<N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(each_lane!(i: self.0[i].$method(other.0[i])))
            }
        }
        impl<const N: usize> $trait<f64> for Lanes<N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: f64) -> Self {
                Self(each_lane!(i: self.0[i].$method(other)))
            }
        }
    )*};
}
lane_operator! { Add add; Sub sub; Mul mul; Div div; }

impl<const N: usize> Neg for Lanes<N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(each_lane!(i: -self.0[i]))
    }
}
impl<const N: usize> AddAssign for Lanes<N> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl<const N: usize> SubAssign for Lanes<N> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<const N: usize> Num for Lanes<N> {
    type Mask = LaneMask<N>;
    #[inline(always)]
    fn of(value: f64) -> Self {
        Self([value; N])
    }
    #[inline(always)]
    fn first(self) -> f64 {
        self.0[0]
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(each_lane!(i: self.0[i].sqrt()))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(each_lane!(i: self.0[i].abs()))
    }
    #[inline(always)]
    fn exp(self) -> Self {
        Self(each_lane!(i: self.0[i].exp()))
    }
    #[inline(always)]
    fn ln(self) -> Self {
        Self(each_lane!(i: self.0[i].ln()))
    }
    #[inline(always)]
    fn powf(self, exponent: Self) -> Self {
        Self(each_lane!(i: self.0[i].powf(exponent.0[i])))
    }
    #[inline(always)]
    fn sin(self) -> Self {
        trig::sin(self)
    }
    #[inline(always)]
    fn cos(self) -> Self {
        trig::cos(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        Self(each_lane!(i: self.0[i].tanh()))
    }
    #[inline(always)]
    fn floor(self) -> Self {
        // Compiled where there is an instruction for it; the bits are those of the other.
        Self(each_lane!(i: self.0[i].floor()))
    }
    #[inline(always)]
    fn lt(self, other: Self) -> LaneMask<N> {
        LaneMask(each_lane!(i: flag(self.0[i] < other.0[i])))
    }
    #[inline(always)]
    fn le(self, other: Self) -> LaneMask<N> {
        LaneMask(each_lane!(i: flag(self.0[i] <= other.0[i])))
    }
    #[inline(always)]
    fn select(mask: LaneMask<N>, yes: Self, no: Self) -> Self {
        Self(each_lane!(i: {
            let (yes, no) = (yes.0[i].to_bits(), no.0[i].to_bits());
            f64::from_bits((mask.0[i] & yes) | (!mask.0[i] & no))
        }))
    }
    #[inline(always)]
    fn apply(self, f: impl Fn(f64) -> (f64, f64)) -> Self {
        // Lanes often agree, as about the time: a table is looked up once then.
        let first = self.0[0].to_bits();
        if self.0.iter().all(|x| x.to_bits() == first) {
            return Self([f(self.0[0]).0; N]);
        }
        Self(each_lane!(i: f(self.0[i]).0))
    }
    #[inline(always)]
    fn apply2(self, other: Self, f: impl Fn(f64, f64) -> (f64, f64, f64)) -> Self {
        Self(each_lane!(i: f(self.0[i], other.0[i]).0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample<T: Num>(x: T, y: T) -> T {
        let root = (x * x + y.abs() + 1.0).sqrt();
        let power = root.powf(T::of(0.3) + y.tanh() * 0.1);
        T::select(x.lt(y), power * x.sin(), power - (y * 0.2).exp())
            + (x - y).signed_sqrt() * y.cos()
            + (root + 2.0).ln()
    }

    proptest! {
        #[test]
        fn dual_slope_equals_the_central_difference(x in -3.0..3.0f64, y in -3.0..3.0f64) {
            prop_assume!((x - y).abs() > 1e-2 && y.abs() > 1e-2);
            let h = 1e-6;
            let difference = (sample(x + h, y) - sample(x - h, y)) / (2.0 * h);
            let dual = sample(Dual::variable(x), Dual::constant(y)).slope;
            prop_assert!((dual - difference).abs() < 1e-5 * (1.0 + dual.abs()));
            let difference = (sample(x, y + h) - sample(x, y - h)) / (2.0 * h);
            let dual = sample(Dual::constant(x), Dual::variable(y)).slope;
            prop_assert!((dual - difference).abs() < 1e-5 * (1.0 + dual.abs()));
        }

        #[test]
        fn floor_gives_the_bits_of_the_standard_library(x in prop::num::f64::ANY, y in -9.0..9.0f64) {
            for x in [x, y, y.round(), 0.0 * y, 4_503_599_627_370_495.5 + y] {
                prop_assert_eq!(Num::floor(x).to_bits(), f64::floor(x).to_bits());
            }
        }

        #[test]
        fn lanes_give_the_bits_of_scalars(xs in prop::array::uniform4(-9.0..9.0f64), ys in prop::array::uniform4(-9.0..9.0f64)) {
            let lanes = sample(Lanes(xs), Lanes(ys)).0;
            for i in 0..4 {
                prop_assert_eq!(lanes[i].to_bits(), sample(xs[i], ys[i]).to_bits());
            }
        }
    }
}
