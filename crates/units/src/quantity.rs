//! A number with its dimension, read from and printed as text.

use crate::dimension::display_unit_for;
use crate::number::{end_of_number, rounded, shortest};
use crate::unit::{parse_to_end, with_unit};
use crate::{Dimension, Unit, UnitError, format_in};
use std::fmt;
use std::ops::Range;

/// A physical quantity: a value in SI units and its dimension.
///
/// ```
/// use fluxline_units::{Dimension, Quantity};
///
/// let supply = Quantity::parse("120 bar")?;
/// assert_eq!(supply.value, 1.2e7);
/// assert_eq!(supply.dimension, Dimension::PRESSURE);
/// assert_eq!(supply.to_string(), "120 bar");
/// assert_eq!(supply.to_exact_string(), "1.2e7 Pa");
/// # Ok::<(), fluxline_units::QuantityError>(())
/// ```
///
/// `Display` picks the unit of the trade by dimension and size and reads back
/// within two units in the last place. With a precision (`{:.4}`) it rounds to
/// that many significant digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The value in the SI unit of the dimension.
    pub value: f64,
    /// What kind of quantity it is.
    pub dimension: Dimension,
}

impl Quantity {
    /// A quantity from its SI value.
    pub const fn new(value: f64, dimension: Dimension) -> Self {
        Self { value, dimension }
    }

    /// A plain number.
    pub const fn dimensionless(value: f64) -> Self {
        Self::new(value, Dimension::DIMENSIONLESS)
    }

    /// Reads a number and a unit, such as `120 bar`, `50 cm^3/rev`, `1e-3`, `40 degC`.
    ///
    /// Refused are decimal commas, anything that is not finite, and a number that
    /// the unit takes beyond the largest double.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let start = text.len() - text.trim_start().len();
        let signed = text.as_bytes().get(start).is_some_and(|sign| matches!(sign, b'+' | b'-'));
        let end = end_of_number(text, start + usize::from(signed))
            .ok_or_else(|| no_number(text, start))?;
        let span = start..end;
        let number: f64 = text[span.clone()].parse().map_err(|_| no_number(text, start))?;

        let rest = text[end..].trim_start();
        let scale_start = text.len() - rest.len();
        if let Some(error) = decimal_comma(text, start, end) {
            return Err(error);
        }
        let (value, dimension) = if rest.is_empty() {
            (number, Dimension::DIMENSIONLESS)
        } else {
            if second_number(rest) {
                return Err(QuantityError::SecondNumber {
                    span: scale_start..end_of_number(text, scale_start).unwrap_or(text.len()),
                });
            }
            let scale = parse_to_end(text, scale_start)?;
            (scale.to_si(number), scale.dimension)
        };
        if !value.is_finite() {
            return Err(QuantityError::TooLarge { span });
        }
        Ok(Self::new(value, dimension))
    }

    /// Text in SI units that reads back as exactly the same bits.
    pub fn to_exact_string(&self) -> String {
        with_unit(&shortest(self.value), &self.dimension.si_symbol())
    }

    fn display(&self, digits: Option<usize>) -> String {
        let unit = display_unit_for(self.value, self.dimension)
            .and_then(|symbol| Unit::parse(symbol).ok());
        let in_unit = unit.filter(|unit| unit.from_si(self.value).is_finite());
        match (in_unit, digits) {
            (Some(unit), Some(digits)) => {
                with_unit(&shortest(rounded(unit.from_si(self.value), digits)), unit.symbol())
            }
            (Some(unit), None) => format_in(self.value, &unit),
            (None, Some(digits)) => {
                with_unit(&shortest(rounded(self.value, digits)), &self.dimension.si_symbol())
            }
            (None, None) => self.to_exact_string(),
        }
    }
}

/// Whether a number follows the number: `1 000 bar`, but not `1500 1/min`.
fn second_number(rest: &str) -> bool {
    let one_over = rest.strip_prefix('1').is_some_and(|after| after.trim_start().starts_with('/'));
    rest.starts_with(|first: char| first.is_ascii_digit()) && !one_over
}

/// The error for a comma right after the number that spans `start..end`, if there is one.
pub(crate) fn decimal_comma(text: &str, start: usize, end: usize) -> Option<QuantityError> {
    let after = text[end..].strip_prefix(',')?;
    let mut digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let mut corrected = format!("{}.{}", &text[start..end], after);
    // `1,234.5` and `1,234,567`: between thousands.
    let mut rest = &after[digits..];
    if digits == 3 && rest.starts_with(['.', ',']) {
        while let Some(next) = rest.strip_prefix(['.', ',']) {
            let more = next.bytes().take_while(u8::is_ascii_digit).count();
            digits += 1 + more;
            rest = &next[more..];
        }
        corrected = format!("{}{}", &text[start..end], after.replace(',', ""));
    }
    Some(QuantityError::DecimalComma {
        span: start..end + 1 + digits,
        corrected: corrected.trim_end().to_string(),
    })
}

fn no_number(text: &str, start: usize) -> QuantityError {
    let rest = text[start..].trim_end();
    let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
    QuantityError::NoNumber { span: start..start + length, found: rest[..length].to_string() }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display(f.precision()))
    }
}

impl std::str::FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::parse(text)
    }
}

/// Why a text is not a quantity. All positions are byte offsets into the text that was read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum QuantityError {
    /// The text does not start with a number; `nan` and `inf` are not numbers here.
    NoNumber {
        /// The first word.
        span: Range<usize>,
        /// Its text; empty when there is none.
        found: String,
    },
    /// A decimal comma.
    DecimalComma {
        /// The number with its comma.
        span: Range<usize>,
        /// The quantity with a point instead.
        corrected: String,
    },
    /// A second number follows, as in `1 000 bar`.
    SecondNumber {
        /// The second number.
        span: Range<usize>,
    },
    /// The value exceeds the largest double, about 1.8e308.
    TooLarge {
        /// The number.
        span: Range<usize>,
    },
    /// The unit is wrong.
    Unit(UnitError),
}

impl QuantityError {
    /// The bytes at fault.
    pub fn span(&self) -> Range<usize> {
        match self {
            Self::NoNumber { span, .. }
            | Self::DecimalComma { span, .. }
            | Self::SecondNumber { span }
            | Self::TooLarge { span } => span.clone(),
            Self::Unit(error) => error.span(),
        }
    }

    /// What to write instead, where there is a good guess.
    pub fn suggestion(&self) -> Option<String> {
        match self {
            Self::NoNumber { .. } => {
                Some("write a number and a unit, such as `120 bar`".to_string())
            }
            Self::DecimalComma { corrected, .. } => Some(format!("write `{corrected}`")),
            Self::SecondNumber { .. } => {
                Some("write all digits together (`1000 bar`) and per minute as `1/min`".to_string())
            }
            Self::TooLarge { .. } => None,
            Self::Unit(error) => error.suggestion(),
        }
    }
}

impl From<UnitError> for QuantityError {
    fn from(error: UnitError) -> Self {
        Self::Unit(error)
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber { found, .. } if found.is_empty() => write!(f, "a number is missing"),
            Self::NoNumber { found, .. } => write!(f, "`{found}` is not a number"),
            Self::DecimalComma { .. } => write!(f, "a comma is no decimal sign; use a point"),
            Self::SecondNumber { .. } => {
                write!(f, "a second number follows the first where a unit is expected")
            }
            Self::TooLarge { .. } => {
                write!(f, "the value is larger than any number the simulator can hold")
            }
            Self::Unit(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for QuantityError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unit(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_dimension_prints_exactly_in_si() {
        for dimension in crate::dimension::named() {
            for value in [0.1, -1.0 / 3.0, 6.02e23, f64::MIN_POSITIVE, -0.0] {
                let quantity = Quantity::new(value, dimension);
                let read = Quantity::parse(&quantity.to_exact_string()).unwrap();
                assert_eq!(read.value.to_bits(), value.to_bits(), "{}", quantity.to_exact_string());
                assert_eq!(read.dimension, dimension);
            }
        }
    }

    #[test]
    fn an_overflow_in_the_display_unit_falls_back_to_si() {
        let flow = Quantity::new(f64::MAX, Dimension::VOLUME_FLOW);
        assert_eq!(flow.to_string(), "1.7976931348623157e308 m^3/s");
    }
}
