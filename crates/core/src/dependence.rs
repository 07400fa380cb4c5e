//! A number that remembers what it was computed from: the structure of a law without its values.
//!
//! Whatever branch a value would take, both sides count: masks answer "some, not all" to every
//! question about numbers that may change, so a law that skips rare paths visits them too. A
//! dependence found here may vanish at some operating point, but none is missed. What is decided by
//! constants alone is decided: a factor of zero and the branch of a body without mass stay out.

#![allow(clippy::suspicious_arithmetic_impl, reason = "sources are united whatever the operation")]

use crate::number::{Mask, Num};
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, Mul, Neg, Not, Sub, SubAssign};

/// Bits of a set of sources; the last stands for all that do not find room.
pub const SOURCES: usize = 128;

/// A value and the sources it depends on.
#[derive(Clone, Copy, Debug)]
pub struct Dependence {
    value: f64,
    sources: u128,
}

impl Dependence {
    /// A number that is a source itself.
    pub fn source(value: f64, index: usize) -> Self {
        Self { value, sources: 1 << index.min(SOURCES - 1) }
    }

    /// Whether it depends on a source.
    pub fn on(self, index: usize) -> bool {
        self.sources >> index.min(SOURCES - 1) & 1 == 1
    }

    fn with(value: f64, sources: u128) -> Self {
        Self { value, sources }
    }

    /// Zero whatever happens.
    fn is_zero(self) -> bool {
        self.sources == 0 && self.value == 0.0
    }

    fn compare(self, other: Self, is_so: bool) -> Decision {
        match self.sources | other.sources {
            0 => Decision::Made(is_so),
            sources => Decision::Open(sources),
        }
    }
}

/// A decision: made by constants, or open and dependent on sources.
#[derive(Clone, Copy, Debug)]
pub enum Decision {
    /// Always this.
    Made(bool),
    /// Up to these sources.
    Open(u128),
}

impl Mask for Decision {
    fn any(self) -> bool {
        !matches!(self, Decision::Made(false))
    }
    fn all(self) -> bool {
        matches!(self, Decision::Made(true))
    }
    fn bits(self) -> u64 {
        u64::from(self.any())
    }
}
impl BitAnd for Decision {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        match (self, other) {
            (Decision::Made(false), _) | (_, Decision::Made(false)) => Decision::Made(false),
            (Decision::Made(true), rest) | (rest, Decision::Made(true)) => rest,
            (Decision::Open(a), Decision::Open(b)) => Decision::Open(a | b),
        }
    }
}
impl BitOr for Decision {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        !(!self & !other)
    }
}
impl Not for Decision {
    type Output = Self;
    fn not(self) -> Self {
        match self {
            Decision::Made(is_so) => Decision::Made(!is_so),
            open => open,
        }
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident;)*) => {$(
        impl $trait for Dependence {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Self::with(self.value.$method(other.value), self.sources | other.sources)
            }
        }
        impl $trait<f64> for Dependence {
            type Output = Self;
            fn $method(self, other: f64) -> Self {
                Self::with(self.value.$method(other), self.sources)
            }
        }
    )*};
}
operators! { Add add; Sub sub; Div div; }

impl Mul for Dependence {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::with(0.0, 0);
        }
        Self::with(self.value * other.value, self.sources | other.sources)
    }
}
impl Mul<f64> for Dependence {
    type Output = Self;
    fn mul(self, other: f64) -> Self {
        self * Self::with(other, 0)
    }
}

impl Neg for Dependence {
    type Output = Self;
    fn neg(self) -> Self {
        Self::with(-self.value, self.sources)
    }
}
impl AddAssign for Dependence {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl SubAssign for Dependence {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

macro_rules! functions {
    ($($name:ident)*) => {$(
        fn $name(self) -> Self {
            Self::with(Num::$name(self.value), self.sources)
        }
    )*};
}

impl Num for Dependence {
    type Mask = Decision;
    fn of(value: f64) -> Self {
        Self::with(value, 0)
    }
    fn first(self) -> f64 {
        self.value
    }
    functions! { sqrt abs exp ln sin cos tanh floor }
    fn powf(self, exponent: Self) -> Self {
        Self::with(self.value.powf(exponent.value), self.sources | exponent.sources)
    }
    fn lt(self, other: Self) -> Decision {
        self.compare(other, self.value < other.value)
    }
    fn le(self, other: Self) -> Decision {
        self.compare(other, self.value <= other.value)
    }
    fn select(mask: Decision, yes: Self, no: Self) -> Self {
        match mask {
            Decision::Made(true) => yes,
            Decision::Made(false) => no,
            Decision::Open(by) => Self::with(yes.value, by | yes.sources | no.sources),
        }
    }
    fn apply(self, f: impl Fn(f64) -> (f64, f64)) -> Self {
        Self::with(f(self.value).0, self.sources)
    }
    fn apply2(self, other: Self, f: impl Fn(f64, f64) -> (f64, f64, f64)) -> Self {
        Self::with(f(self.value, other.value).0, self.sources | other.sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_branch_count_and_so_does_what_decides() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| Dependence::source(1.0, i));
        let chosen = Dependence::select(a.lt(b), c.sqrt() * 2.0, Dependence::zero());
        assert!([0, 1, 2].iter().all(|&i| chosen.on(i)) && !chosen.on(3));
        assert!(!(Dependence::of(3.0) * 2.0).on(0));
        // What constants decide is decided.
        let light = Dependence::select(Dependence::of(0.0).lt(Dependence::of(1.0)), c, d);
        assert!(light.on(2) && !light.on(3) && !(Dependence::of(0.0) * d).on(3));
        assert!((d / c).on(3) && (d / c).on(2));
        // More sources than bits: the last bit is shared.
        assert!(Dependence::source(0.0, 300).on(127) && Dependence::source(0.0, 300).on(250));
    }
}
