//! Why an expression cannot be read or computed.

use crate::nearest::listed;
use crate::unit::{is_unit, similar_units};
use crate::{Dimension, Quantity, QuantityError, display_unit};
use std::fmt;
use std::ops::Range;

/// One side of a failed operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// Where it stands.
    pub span: Range<usize>,
    /// Its dimension.
    pub dimension: Dimension,
    /// Its value as text: as written for a literal, otherwise in the display
    /// unit; the source text when only dimensions are known.
    pub shown: String,
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.dimension.with_article(), self.shown)
    }
}

/// Why an expression cannot be read or computed. All spans are byte offsets into its text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ExprError {
    /// The text exceeds [`Expr::MAX_LENGTH`](crate::Expr::MAX_LENGTH).
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The longest length allowed.
        limit: usize,
    },
    /// The nesting exceeds [`Expr::MAX_DEPTH`](crate::Expr::MAX_DEPTH).
    TooDeep {
        /// Where it does.
        span: Range<usize>,
        /// The greatest depth allowed.
        limit: usize,
    },
    /// Something else was expected here.
    Unexpected {
        /// Where.
        span: Range<usize>,
        /// What stands there; empty at the end of the text.
        found: String,
        /// What should stand there.
        expected: &'static str,
        /// What to write instead, where there is a good guess.
        help: Option<String>,
    },
    /// A number or its unit is wrong.
    Literal(QuantityError),
    /// A call of something that is not a function.
    UnknownFunction {
        /// The name called.
        name: String,
        /// Where it stands.
        span: Range<usize>,
        /// The nearest functions, best first.
        suggestions: Vec<&'static str>,
    },
    /// A function with too few or too many arguments.
    ArgumentCount {
        /// The function.
        function: &'static str,
        /// The call.
        span: Range<usize>,
        /// The number it takes: "1 argument", "2 or more arguments".
        expected: String,
        /// The number it was given.
        found: usize,
    },
    /// A name that is not a parameter. The caller knows the candidates: see [`nearest`](crate::nearest()).
    UnknownName {
        /// The name.
        name: String,
        /// Where it stands.
        span: Range<usize>,
        /// Whether it stands where a unit could continue, as in `10 l/mn`.
        after_unit: bool,
    },
    /// Two dimensions that must agree do not.
    Mismatch {
        /// What was attempted: "add", "compare", "choose between".
        operation: &'static str,
        /// The whole operation.
        span: Range<usize>,
        /// The first quantity.
        left: Box<Operand>,
        /// The second quantity.
        right: Box<Operand>,
    },
    /// A dimension where only a plain number makes sense.
    NotDimensionless {
        /// What needs a plain number: "`sin`", "an exponent".
        what: String,
        /// The quantity given.
        operand: Box<Operand>,
    },
    /// The exponent of a quantity with a dimension depends on a parameter, so
    /// that the dimension of the result would.
    VariableExponent {
        /// The exponent.
        span: Range<usize>,
        /// The base.
        base: Box<Operand>,
    },
    /// A power, root, product or quotient whose dimension cannot be expressed.
    Inexpressible {
        /// The operation.
        span: Range<usize>,
        /// The quantity it is applied to.
        base: Box<Operand>,
    },
    /// A division by zero.
    DivisionByZero {
        /// The divisor.
        span: Range<usize>,
        /// Its text.
        divisor: String,
    },
    /// A function outside the range where it is defined, such as the root of a negative number.
    OutOfDomain {
        /// The operation.
        span: Range<usize>,
        /// The rule broken: "a square root needs a value of at least 0".
        rule: &'static str,
        /// The offending value.
        operand: Box<Operand>,
    },
    /// A result that is too large for a number, or a parameter that is not finite.
    NotFinite {
        /// The sub-expression.
        span: Range<usize>,
        /// Its text.
        text: String,
    },
}

impl ExprError {
    /// The bytes at fault.
    pub fn span(&self) -> Range<usize> {
        match self {
            Self::TooLong { length, .. } => 0..*length,
            Self::Literal(error) => error.span(),
            Self::NotDimensionless { operand, .. } => operand.span.clone(),
            Self::TooDeep { span, .. }
            | Self::Unexpected { span, .. }
            | Self::UnknownFunction { span, .. }
            | Self::ArgumentCount { span, .. }
            | Self::UnknownName { span, .. }
            | Self::Mismatch { span, .. }
            | Self::VariableExponent { span, .. }
            | Self::Inexpressible { span, .. }
            | Self::DivisionByZero { span, .. }
            | Self::OutOfDomain { span, .. }
            | Self::NotFinite { span, .. } => span.clone(),
        }
    }

    /// What to write instead, where there is a good guess.
    pub fn suggestion(&self) -> Option<String> {
        match self {
            Self::TooLong { .. } | Self::TooDeep { .. } => {
                Some("split the expression into several parameters".to_string())
            }
            Self::Unexpected { help, .. } => help.clone(),
            Self::Literal(error) => error.suggestion(),
            Self::UnknownFunction { suggestions, .. } => {
                listed(suggestions).map(|names| format!("did you mean {names}?"))
            }
            Self::UnknownName { name, after_unit, .. } => {
                if is_unit(name) {
                    Some(format!("a unit is read only after a number: `1 {name}`"))
                } else if *after_unit {
                    listed(&similar_units(name)).map(|names| format!("if a unit is meant: {names}"))
                } else {
                    None
                }
            }
            Self::Mismatch { left, right, .. } => {
                let (number, other) = if left.dimension.is_dimensionless() {
                    (left, right)
                } else if right.dimension.is_dimensionless() {
                    (right, left)
                } else {
                    return None;
                };
                let unit = display_unit(other.dimension)?;
                number.shown.parse::<f64>().ok()?;
                Some(format!("give the number a unit, such as `{} {unit}`", number.shown))
            }
            Self::VariableExponent { .. } => Some("write the exponent as a number".to_string()),
            _ => None,
        }
    }
}

/// An operand for messages.
pub(super) fn operand(
    text: &str,
    span: Range<usize>,
    quantity: Quantity,
    is_literal: bool,
) -> Box<Operand> {
    let shown = if is_literal || !quantity.value.is_finite() {
        text[span.clone()].to_string()
    } else {
        format!("{quantity:.6}")
    };
    Box::new(Operand { span, dimension: quantity.dimension, shown })
}

impl From<QuantityError> for ExprError {
    fn from(error: QuantityError) -> Self {
        Self::Literal(error)
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { length, limit } => {
                write!(f, "the expression has {length} bytes; at most {limit} are allowed")
            }
            Self::TooDeep { limit, .. } => {
                write!(f, "the expression is nested more than {limit} levels deep")
            }
            Self::Unexpected { found, expected, .. } if found.is_empty() => {
                write!(f, "the expression ends where {expected} is expected")
            }
            Self::Unexpected { found, expected, .. } => {
                write!(f, "found `{found}` where {expected} is expected")
            }
            Self::Literal(error) => error.fmt(f),
            Self::UnknownFunction { name, .. } => write!(f, "unknown function `{name}`"),
            Self::ArgumentCount { function, expected, found, .. } => {
                write!(f, "`{function}` takes {expected}, but {found} given")
            }
            Self::UnknownName { name, .. } => write!(f, "unknown name `{name}`"),
            Self::Mismatch { operation: "subtract", left, right, .. } => {
                write!(f, "cannot subtract {right} from {left}")
            }
            Self::Mismatch { operation, left, right, .. } => {
                write!(f, "cannot {operation} {left} and {right}")
            }
            Self::NotDimensionless { what, operand } => {
                write!(f, "{what} needs a dimensionless number, not {operand}")
            }
            Self::VariableExponent { base, .. } => write!(
                f,
                "the exponent of {base} depends on a parameter; the dimension of the result would change with it"
            ),
            Self::Inexpressible { base, .. } => {
                write!(f, "the result of this operation on {base} has no expressible dimension")
            }
            Self::DivisionByZero { divisor, .. } => write!(f, "division by zero: `{divisor}` is 0"),
            Self::OutOfDomain { rule, operand, .. } => write!(f, "{rule}, not {}", operand.shown),
            Self::NotFinite { text, .. } => write!(f, "`{text}` is too large or not a number"),
        }
    }
}

impl std::error::Error for ExprError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Literal(error) => Some(error),
            _ => None,
        }
    }
}
