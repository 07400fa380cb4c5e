//! Unit expressions such as `l/min/sqrt(bar)`: grammar, conversion, printing.
//!
//! ```text
//! unit     = power { ("*" | "·" | "/" | " ") power }
//! power    = factor [ "^" exponent | superscript ]
//! factor   = symbol | "1/" … | "(" unit ")" | "sqrt(" unit ")" | "√" factor
//! exponent = [sign] number | "(" [sign] whole [ "/" whole ] ")"
//! ```
//!
//! Products and quotients are read from left to right: `J/kg*K` is (J/kg)·K.
//! A product by a mere space after a quotient (`J/kg K`) is refused, because
//! half of its readers take it for J/(kg·K). `cm3` is read as `cm^3`.

use crate::dimension::PARTS;
use crate::nearest::{listed, nearest};
use crate::number::{end_of_number, rounded, shortest};
use crate::scale::{Scale, shifted};
use crate::symbols::{lookup, other_spelling, unit_symbols};
use crate::{Dimension, Quantity};
use std::fmt;
use std::ops::Range;

const MAX_DEPTH: usize = 32;
/// Beyond this a unit is garbage, and its scale would overflow anyway.
const MAX_EXPONENT: i32 = 99;

/// A unit of measurement: its text, its dimension and its conversion to SI.
///
/// ```
/// use fluxline_units::Unit;
///
/// let unit = Unit::parse("l/min")?;
/// assert_eq!(unit.to_si(60.0), 1e-3);
/// assert_eq!(unit.from_si(1e-3), 60.0);
/// # Ok::<(), fluxline_units::UnitError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    symbol: String,
    multiplier: f64,
    divisor: f64,
    offset: f64,
    dimension: Dimension,
}

impl Unit {
    /// Reads a unit expression; blanks around it are ignored. `"1"` is the unit
    /// of a dimensionless number.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        let symbol = text.trim();
        if symbol.is_empty() {
            return Err(UnitError::Empty { position: text.len() });
        }
        let scale = if symbol == "1" {
            Scale::ONE
        } else {
            let start = text.len() - text.trim_start().len();
            parse_to_end(text, start)?
        };
        Ok(Self::from_scale(symbol, scale))
    }

    fn from_scale(symbol: &str, scale: Scale) -> Self {
        Self {
            symbol: symbol.to_string(),
            multiplier: scale.multiplier(),
            divisor: scale.divisor(),
            offset: scale.offset,
            dimension: scale.dimension,
        }
    }

    /// The text the unit was read from.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// The dimension of quantities in this unit.
    pub fn dimension(&self) -> Dimension {
        self.dimension
    }

    /// Converts a value in this unit to SI.
    pub fn to_si(&self, value: f64) -> f64 {
        shifted(value, self.offset) * self.multiplier / self.divisor
    }

    /// Converts an SI value to this unit.
    pub fn from_si(&self, value: f64) -> f64 {
        value * self.divisor / self.multiplier - self.offset
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.symbol)
    }
}

impl std::str::FromStr for Unit {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Self::parse(text)
    }
}

/// Prints an SI value in a unit: `format_in(1.2e7, &bar)` is `"120 bar"`.
///
/// Takes the fewest digits that read back as exactly the same value. Where no
/// decimal number in this unit does (the unit's grid is coarser there), the text
/// reads back within two units in the last place. The dimension is the caller's
/// concern: the value is taken to be in the SI unit of `unit`.
pub fn format_in(value_si: f64, unit: &Unit) -> String {
    with_unit(&shortest(digits_in(value_si, unit)), &unit.symbol)
}

pub(crate) fn with_unit(number: &str, symbol: &str) -> String {
    if symbol == "1" { number.to_string() } else { format!("{number} {symbol}") }
}

/// The value in `unit` that reads back as `value_si`, with as few digits as possible.
fn digits_in(value_si: f64, unit: &Unit) -> f64 {
    let value = unit.from_si(value_si);
    // A conversion leaves noise in the last digits (1500.0000000000002 rpm);
    // fewer digits often hit the same SI value.
    for candidate in [value, value.next_up(), value.next_down()] {
        for digits in 1..=17 {
            let candidate = rounded(candidate, digits);
            if unit.to_si(candidate) == value_si {
                return candidate;
            }
        }
    }
    value
}

/// Why a text is not a unit. All positions are byte offsets into the text that was read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UnitError {
    /// There is no unit at all.
    Empty {
        /// Where one was expected.
        position: usize,
    },
    /// A symbol that is not a unit.
    Unknown {
        /// The symbol as written.
        symbol: String,
        /// Where it stands.
        span: Range<usize>,
        /// The nearest units, best first.
        suggestions: Vec<&'static str>,
    },
    /// Something else was expected here.
    Unexpected {
        /// Where.
        span: Range<usize>,
        /// What stands there; empty at the end of the text.
        found: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// A blank between two units after a quotient: `J/kg K`.
    AmbiguousProduct {
        /// The part from the quotient to the second unit.
        span: Range<usize>,
    },
    /// The exponent of a unit is not a number, not a multiple of 1/12, or too large.
    Exponent {
        /// The exponent.
        span: Range<usize>,
    },
    /// Parentheses nested too deeply.
    TooDeep {
        /// The parenthesis that is one too many.
        span: Range<usize>,
    },
    /// The unit as a whole is too large or too small to compute with.
    OutOfRange {
        /// The unit.
        span: Range<usize>,
    },
}

impl UnitError {
    /// The bytes at fault.
    pub fn span(&self) -> Range<usize> {
        match self {
            Self::Empty { position } => *position..*position,
            Self::Unknown { span, .. }
            | Self::Unexpected { span, .. }
            | Self::AmbiguousProduct { span }
            | Self::Exponent { span }
            | Self::TooDeep { span }
            | Self::OutOfRange { span } => span.clone(),
        }
    }

    /// What to write instead, where there is a good guess.
    pub fn suggestion(&self) -> Option<String> {
        match self {
            Self::Unknown { suggestions, .. } => listed(suggestions).map(|names| format!("did you mean {names}?")),
            Self::AmbiguousProduct { .. } => {
                Some("put the divisor in parentheses, as in `J/(kg*K)`, or write `*`".to_string())
            }
            Self::Exponent { .. } => {
                Some("write a number such as `^2`, `^-1` or `^(1/2)`; for a power of a value, `(3 mm)^n`".to_string())
            }
            _ => None,
        }
    }

    /// Whether the text may still make sense as something other than a unit.
    /// Inside an expression such an error ends the unit instead of failing.
    pub(crate) fn may_be_no_unit(&self) -> bool {
        !matches!(
            self,
            Self::AmbiguousProduct { .. } | Self::Exponent { .. } | Self::OutOfRange { .. }
        )
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { .. } => write!(f, "a unit is missing"),
            Self::Unknown { symbol, .. } => write!(f, "unknown unit `{symbol}`"),
            Self::Unexpected { found, expected, .. } if found.is_empty() => {
                write!(f, "the unit ends where {expected} is expected")
            }
            Self::Unexpected { found, expected, .. } => {
                write!(f, "found `{found}` where {expected} is expected")
            }
            Self::AmbiguousProduct { .. } => {
                write!(
                    f,
                    "a blank after a quotient is ambiguous: `J/kg K` could be J/(kg*K) or (J/kg)*K"
                )
            }
            Self::Exponent { .. } => write!(
                f,
                "the exponent of a unit must be a number, a multiple of 1/12 between -{MAX_EXPONENT} and {MAX_EXPONENT}"
            ),
            Self::TooDeep { .. } => write!(f, "more than {MAX_DEPTH} nested parentheses in a unit"),
            Self::OutOfRange { .. } => {
                write!(f, "the unit is too large or too small to compute with")
            }
        }
    }
}

impl std::error::Error for UnitError {}

/// Reads a unit that must reach to the end of the text.
pub(crate) fn parse_to_end(text: &str, start: usize) -> Result<Scale, UnitError> {
    let mut parser = UnitParser::new(text, start, None);
    let scale = parser.product()?;
    parser.skip_blanks();
    if parser.position < text.len() {
        return Err(parser.unexpected("an operator or the end of the unit"));
    }
    Ok(scale)
}

/// Reads the longest unit at `start` and returns it with its end.
///
/// The unit ends before the first operator that is not followed by a unit, or is
/// followed by a name for which `is_name` holds. Directly after the number, and
/// after a mere blank, a name would make no sense, so the unit wins there.
pub(crate) fn parse_longest(
    text: &str,
    start: usize,
    is_name: &dyn Fn(&str) -> bool,
) -> Result<(Scale, usize), UnitError> {
    let mut parser = UnitParser::new(text, start, Some(is_name));
    let scale = parser.product()?;
    Ok((scale, parser.position))
}

pub(crate) fn starts_symbol(letter: char) -> bool {
    letter.is_alphabetic() || matches!(letter, '°' | '%' | '‰' | '℃' | '℉' | '_')
}

/// The end of the word at `start`: a unit symbol or a dotted name.
pub(crate) fn end_of_word(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut letters = text[start..].chars().peekable();
    while let Some(letter) = letters.next() {
        let dot_in_name =
            letter == '.' && end > start && letters.peek().is_some_and(|&next| starts_symbol(next));
        if !(starts_symbol(letter) || (end > start && letter.is_ascii_digit()) || dot_in_name) {
            break;
        }
        end += letter.len_utf8();
    }
    end
}

struct UnitParser<'t> {
    text: &'t str,
    position: usize,
    depth: usize,
    /// Set inside an expression, where the unit ends before what is no unit.
    is_name: Option<&'t dyn Fn(&str) -> bool>,
    /// Whether a name would make sense here: after an operator outside all
    /// parentheses, and in the parentheses that follow it.
    names_allowed: bool,
}

impl<'t> UnitParser<'t> {
    fn new(text: &'t str, position: usize, is_name: Option<&'t dyn Fn(&str) -> bool>) -> Self {
        Self { text, position, depth: 0, is_name, names_allowed: false }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.position..].chars().next()
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.position..];
        self.position += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.position += wanted.len_utf8();
        }
        found
    }

    fn unexpected(&self, expected: &'static str) -> UnitError {
        let found = self.peek().map(String::from).unwrap_or_default();
        UnitError::Unexpected { span: self.position..self.position + found.len(), found, expected }
    }

    fn product(&mut self) -> Result<Scale, UnitError> {
        self.skip_blanks();
        let start = self.position;
        let mut scale = if self.is_one_over() {
            self.position += 1;
            Scale::ONE
        } else {
            self.power()?
        };
        let mut quotient_at = None;
        loop {
            let end = self.position;
            self.skip_blanks();
            let operator = self.position;
            let (divide, by_blank) = match self.peek() {
                Some(sign @ ('*' | '·' | '⋅' | '×')) => {
                    self.position += sign.len_utf8();
                    (false, false)
                }
                Some('/') => {
                    self.position += 1;
                    (true, false)
                }
                Some(letter) if starts_symbol(letter) || matches!(letter, '(' | '√') => {
                    (false, true)
                }
                _ => {
                    self.position = end;
                    return Ok(scale);
                }
            };
            if self.depth == 0 {
                self.names_allowed = !by_blank;
            }
            let factor = match self.power() {
                Ok(factor) => factor,
                Err(error) if self.is_name.is_some() && error.may_be_no_unit() => {
                    self.position = end;
                    return Ok(scale);
                }
                Err(error) => return Err(error),
            };
            if let (true, Some(quotient)) = (by_blank, quotient_at) {
                return Err(UnitError::AmbiguousProduct { span: quotient..self.position });
            }
            let factor = if divide {
                quotient_at = Some(operator);
                factor.reciprocal()
            } else {
                Some(factor)
            };
            scale = factor
                .and_then(|factor| scale.times(factor))
                .ok_or(UnitError::OutOfRange { span: start..self.position })?;
        }
    }

    /// Whether a `1/` opens the unit, as in `1/min`.
    fn is_one_over(&self) -> bool {
        self.text[self.position..]
            .strip_prefix('1')
            .is_some_and(|rest| rest.trim_start().starts_with('/'))
    }

    fn power(&mut self) -> Result<Scale, UnitError> {
        self.skip_blanks();
        let start = self.position;
        let base = self.factor()?;
        let end = self.position;
        self.skip_blanks();
        let exponent_start = self.position;
        let twelfths = if self.take('^') {
            self.skip_blanks();
            self.exponent()
        } else if self.peek().is_some_and(|digit| superscript(digit).is_some()) {
            self.superscripts()
        } else {
            self.position = end;
            return Ok(base);
        };
        let twelfths = twelfths.filter(|_| {
            // `mm^2^2` or `mm^2²`: nobody agrees on what that is.
            let rest = self.text[self.position..].trim_start();
            !rest.starts_with('^') && !rest.starts_with(|digit| superscript(digit).is_some())
        });
        let Some(twelfths) = twelfths else {
            let end = self.position + self.peek().map_or(0, char::len_utf8);
            return Err(UnitError::Exponent { span: exponent_start..end });
        };
        base.power(twelfths).ok_or(UnitError::OutOfRange { span: start..self.position })
    }

    fn factor(&mut self) -> Result<Scale, UnitError> {
        let start = self.position;
        match self.peek() {
            Some('(') => self.parenthesis(),
            Some('√') => {
                self.position += '√'.len_utf8();
                self.enter(start)?;
                let inner = self.factor();
                self.depth -= 1;
                self.root(inner?, start)
            }
            Some(letter) if starts_symbol(letter) => {
                let end = end_of_word(self.text, start);
                let word = &self.text[start..end];
                let before_parenthesis = self.text[end..].trim_start().starts_with('(');
                if word == "sqrt" && before_parenthesis {
                    self.position = end;
                    self.skip_blanks();
                    let inner = self.parenthesis()?;
                    return self.root(inner, start);
                }
                // `min(a, b)` is a call, not a minute.
                let is_taken = self.is_name.is_some_and(|is_name| {
                    (self.names_allowed && is_name(word))
                        || (before_parenthesis && crate::expression::is_function(word))
                });
                let scale = if is_taken { None } else { symbol_scale(word) };
                match scale {
                    Some(scale) => {
                        self.position = end;
                        Ok(scale)
                    }
                    None => Err(UnitError::Unknown {
                        symbol: word.to_string(),
                        span: start..end,
                        // Inside an expression most of these errors are dropped.
                        suggestions: if self.is_name.is_some() {
                            Vec::new()
                        } else {
                            similar_units(word)
                        },
                    }),
                }
            }
            _ => Err(self.unexpected("a unit")),
        }
    }

    fn enter(&mut self, start: usize) -> Result<(), UnitError> {
        if self.depth == MAX_DEPTH {
            let end = start + self.text[start..].chars().next().map_or(0, char::len_utf8);
            return Err(UnitError::TooDeep { span: start..end });
        }
        self.depth += 1;
        Ok(())
    }

    fn parenthesis(&mut self) -> Result<Scale, UnitError> {
        self.enter(self.position)?;
        self.position += 1;
        let inner = self.product();
        self.depth -= 1;
        let inner = inner?;
        self.skip_blanks();
        if self.take(')') { Ok(inner) } else { Err(self.unexpected("`)`")) }
    }

    fn root(&self, inner: Scale, start: usize) -> Result<Scale, UnitError> {
        inner
            .power(i32::from(PARTS) / 2)
            .ok_or(UnitError::OutOfRange { span: start..self.position })
    }

    /// An exponent in twelfths; `None` when it is not one.
    fn exponent(&mut self) -> Option<i32> {
        if self.take('(') {
            self.skip_blanks();
            let top = self.signed_number()?;
            self.skip_blanks();
            let bottom = if self.take('/') {
                self.skip_blanks();
                self.signed_number()?
            } else {
                1.0
            };
            self.skip_blanks();
            if !self.take(')') {
                return None;
            }
            exponent_twelfths(top / bottom)
        } else {
            exponent_twelfths(self.signed_number()?)
        }
    }

    fn signed_number(&mut self) -> Option<f64> {
        let start = self.position;
        if !self.take('-') {
            self.take('+');
        }
        let end = end_of_number(self.text, self.position)?;
        self.position = end;
        self.text[start..end].parse().ok()
    }

    fn superscripts(&mut self) -> Option<i32> {
        let negative = self.take('⁻');
        let mut value: i32 = 0;
        let mut digits = 0;
        while let Some(digit) = self.peek().and_then(superscript).filter(|&digit| digit >= 0) {
            self.position += self.peek()?.len_utf8();
            value = value.checked_mul(10)?.checked_add(digit)?;
            digits += 1;
        }
        let whole = if negative { -value } else { value };
        (digits > 0).then_some(())?;
        exponent_twelfths(f64::from(whole))
    }
}

/// The scale of a word; a trailing digit is an exponent (`cm3`).
fn symbol_scale(word: &str) -> Option<Scale> {
    if let Some(scale) = lookup(word) {
        return Some(scale);
    }
    let digit = word.chars().next_back()?.to_digit(10).filter(|digit| *digit >= 2)?;
    let base = lookup(&word[..word.len() - 1])?;
    base.power(i32::try_from(digit).ok()? * i32::from(PARTS))
}

pub(crate) fn is_unit(word: &str) -> bool {
    symbol_scale(word).is_some()
}

pub(crate) fn similar_units(word: &str) -> Vec<&'static str> {
    match other_spelling(word) {
        Some(known) => known.to_vec(),
        None => nearest(word, unit_symbols().iter().copied()),
    }
}

/// The value of a superscript digit; -1 for the superscript minus.
fn superscript(letter: char) -> Option<i32> {
    Some(match letter {
        '⁻' => -1,
        '⁰' => 0,
        '¹' => 1,
        '²' => 2,
        '³' => 3,
        '⁴' => 4,
        '⁵' => 5,
        '⁶' => 6,
        '⁷' => 7,
        '⁸' => 8,
        '⁹' => 9,
        _ => return None,
    })
}

/// An exponent counted in twelfths; `None` when it is not a multiple or too large.
fn exponent_twelfths(exponent: f64) -> Option<i32> {
    (exponent.abs() <= f64::from(MAX_EXPONENT)).then_some(())?;
    to_twelfths(exponent)
}

/// A number counted in twelfths, forgiving the rounding of 1/3 and the like.
pub(crate) fn to_twelfths(number: f64) -> Option<i32> {
    let parts = number * f64::from(PARTS);
    let whole = parts.round();
    ((parts - whole).abs() <= 1e-9 && whole.abs() <= 1e6).then_some(whole as i32)
}

impl Quantity {
    /// The number in `unit`, or `None` when the unit has another dimension.
    pub fn in_unit(&self, unit: &Unit) -> Option<f64> {
        (unit.dimension == self.dimension).then(|| unit.from_si(self.value))
    }
}
