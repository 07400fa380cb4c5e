//! The factor of a unit, kept apart so that it loses no digit.

use crate::Dimension;
use crate::dimension::PARTS;

/// Larger powers of ten leave the range of the doubles.
const MAX_TEN: i32 = 300;

/// The factor of a unit: `numerator/denominator · 10^ten`, with an offset.
///
/// The three parts stay separate while units are combined. A single factor
/// would round: `l/min` is 1/60000, which no double holds, but dividing by
/// 60000 is correctly rounded; and `kg` is 10³·10⁻³, which must be exactly 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub numerator: f64,
    pub denominator: f64,
    pub ten: i32,
    /// Added to the value, in this unit, before the factor: 273.15 for `degC`.
    pub offset: f64,
    pub dimension: Dimension,
}

impl Scale {
    pub const ONE: Self = Self::of(1.0, 0, Dimension::DIMENSIONLESS);

    pub const fn of(numerator: f64, ten: i32, dimension: Dimension) -> Self {
        Self { numerator, denominator: 1.0, ten, offset: 0.0, dimension }
    }

    pub const fn over(self, denominator: f64) -> Self {
        Self { denominator, ..self }
    }

    pub const fn with_offset(self, offset: f64) -> Self {
        Self { offset, ..self }
    }

    /// A product; offsets do not survive, since only a difference can be multiplied.
    pub fn times(self, other: Self) -> Option<Self> {
        Self {
            numerator: self.numerator * other.numerator,
            denominator: self.denominator * other.denominator,
            ten: self.ten.checked_add(other.ten)?,
            offset: 0.0,
            dimension: self.dimension.checked_mul(other.dimension)?,
        }
        .reduced()
    }

    pub fn reciprocal(self) -> Option<Self> {
        Some(Self {
            numerator: self.denominator,
            denominator: self.numerator,
            ten: -self.ten,
            offset: 0.0,
            dimension: Dimension::DIMENSIONLESS.checked_div(self.dimension)?,
        })
    }

    /// A power, the exponent counted in twelfths.
    pub fn power(self, twelfths: i32) -> Option<Self> {
        let ten_twelfths = self.ten.checked_mul(twelfths)?;
        let parts = i32::from(PARTS);
        let (ten, rest) = (ten_twelfths.div_euclid(parts), ten_twelfths.rem_euclid(parts));
        let (numerator, denominator) = if twelfths >= 0 {
            (self.numerator, self.denominator)
        } else {
            (self.denominator, self.numerator)
        };
        let size = twelfths.checked_abs()?;
        Self {
            numerator: power_of(numerator, size) * power_of(10.0, rest),
            denominator: power_of(denominator, size),
            ten,
            offset: 0.0,
            dimension: self.dimension.checked_pow(twelfths)?,
        }
        .reduced()
    }

    fn reduced(mut self) -> Option<Self> {
        if self.numerator == self.denominator {
            self.numerator = 1.0;
            self.denominator = 1.0;
        }
        let sound = self.numerator.is_normal()
            && self.denominator.is_normal()
            && self.ten.abs() <= MAX_TEN
            && self.multiplier().is_normal()
            && self.divisor().is_normal();
        sound.then_some(self)
    }

    pub fn multiplier(&self) -> f64 {
        self.numerator * ten_to(self.ten.max(0))
    }

    pub fn divisor(&self) -> f64 {
        self.denominator * ten_to((-self.ten).max(0))
    }

    pub fn to_si(self, value: f64) -> f64 {
        shifted(value, self.offset) * self.multiplier() / self.divisor()
    }
}

/// `value + offset`, but without touching a value that has no offset: -0 + 0 is +0.
pub(crate) fn shifted(value: f64, offset: f64) -> f64 {
    if offset == 0.0 { value } else { value + offset }
}

fn ten_to(exponent: i32) -> f64 {
    // Exact as doubles up to 10²².
    const EXACT: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    match usize::try_from(exponent).ok().and_then(|i| EXACT.get(i)) {
        Some(&exact) => exact,
        None => power_of(10.0, exponent.saturating_mul(i32::from(PARTS))),
    }
}

/// `base` to a power counted in twelfths. Whole powers multiply and halves take
/// a square root, so that the usual cases are the same on every platform.
pub(crate) fn power_of(base: f64, twelfths: i32) -> f64 {
    let parts = i32::from(PARTS);
    if base == 1.0 || twelfths == 0 {
        return 1.0;
    }
    if twelfths == parts / 2 {
        return base.sqrt();
    }
    if twelfths % parts == 0 {
        let mut exponent = (twelfths / parts).unsigned_abs();
        let (mut square, mut result) = (base, 1.0);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result *= square;
            }
            exponent >>= 1;
            if exponent > 0 {
                square *= square;
            }
        }
        return if twelfths < 0 { 1.0 / result } else { result };
    }
    base.powf(f64::from(twelfths) / f64::from(parts))
}
