//! Expressions with units over named parameters.

mod error;
mod evaluate;
mod parse;

pub use error::{ExprError, Operand};

use crate::{Dimension, Quantity};
use std::fmt;
use std::ops::Range;

/// An expression over quantities and named parameters, such as `pi/4 * bore^2`.
///
/// Operators, from loosest to tightest: `or`, `and`, `not`, comparisons
/// (`< <= > >= == !=`, not chained), `+ -`, `* /`, unary minus, `^` (from the
/// right). Functions: `sqrt abs min max sin cos tan asin acos atan atan2 exp ln
/// log10 pow floor ceil round sign if`. Constants: `pi`, `gravity`
/// (9.80665 m/s²), `true` (1), `false` (0); a parameter of the same name hides
/// `pi` and `gravity`. A truth value is a plain number: 0 is false, all else true.
///
/// Parameters are names, possibly dotted: `pump.displacement`.
///
/// ```
/// use fluxline_units::{Expr, Quantity};
///
/// let expr = Expr::parse("2*supply + 10 bar", &|name| name == "supply")?;
/// let value = expr.evaluate(&|_| Quantity::parse("120 bar").ok())?;
/// assert_eq!(value.to_string(), "250 bar");
/// # Ok::<(), fluxline_units::ExprError>(())
/// ```
///
/// # Where a unit ends
///
/// In `2 * a / m`, is `m` a parameter or a metre? A unit is read only directly
/// after a number. From there it continues through `*`, `·` and `/` as long as
/// the next word is a unit and is *not* a parameter of the scope. The first word
/// after the number is always a unit, since a number and a name side by side
/// mean nothing else:
///
/// | text                | read as                                         |
/// |---------------------|-------------------------------------------------|
/// | `2 * a / m`         | 2·a divided by the parameter `m`                |
/// | `10 bar / 2`        | (10 bar)/2                                      |
/// | `10 l/min * k`      | (10 l/min)·k                                    |
/// | `10 N / m`          | 10 N/m; (10 N)/m where `m` is a parameter       |
/// | `2 m`               | two metres, even where `m` is a parameter       |
/// | `3 mm^2`            | three square millimetres, not (3 mm)²           |
/// | `10 l/min(a, b)`    | (10 l) divided by the smaller of `a` and `b`    |
///
/// A minus in front of a temperature with an offset belongs to the number:
/// `-40 degC` is 233.15 K.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    text: String,
    // An arena rather than boxes: a sum of thousands of terms is a tree as deep,
    // and dropping nested boxes would overflow the stack.
    nodes: Vec<Node>,
    arguments: Vec<NodeId>,
    root: NodeId,
}

type NodeId = u32;

#[derive(Clone, Debug, PartialEq)]
struct Node {
    kind: Kind,
    start: u32,
    end: u32,
}

impl Node {
    fn span(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Literal(Quantity),
    /// A parameter; its name is the text of the span.
    Name {
        /// Whether it stands where a unit could continue, as in `10 l/mn`.
        after_unit: bool,
    },
    Unary(Unary, NodeId),
    Binary(Binary, NodeId, NodeId),
    /// A function and its arguments, a range of the argument list.
    Call(Function, Range<u32>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Unary {
    Plus,
    Minus,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Binary {
    Or,
    And,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

impl Binary {
    fn is_comparison(self) -> bool {
        use Binary::*;
        matches!(self, Less | LessOrEqual | Greater | GreaterOrEqual | Equal | NotEqual)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Sqrt,
    Abs,
    Min,
    Max,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atan2,
    Exp,
    Ln,
    Log10,
    Pow,
    Floor,
    Ceil,
    Round,
    Sign,
    If,
}

static FUNCTIONS: [(&str, Function); 20] = [
    ("sqrt", Function::Sqrt),
    ("abs", Function::Abs),
    ("min", Function::Min),
    ("max", Function::Max),
    ("sin", Function::Sin),
    ("cos", Function::Cos),
    ("tan", Function::Tan),
    ("asin", Function::Asin),
    ("acos", Function::Acos),
    ("atan", Function::Atan),
    ("atan2", Function::Atan2),
    ("exp", Function::Exp),
    ("ln", Function::Ln),
    ("log10", Function::Log10),
    ("pow", Function::Pow),
    ("floor", Function::Floor),
    ("ceil", Function::Ceil),
    ("round", Function::Round),
    ("sign", Function::Sign),
    ("if", Function::If),
];

impl Function {
    fn named(name: &str) -> Option<Self> {
        let found = FUNCTIONS.iter().find(|(known, _)| *known == name);
        found.map(|&(_, function)| function)
    }

    fn name(self) -> &'static str {
        let found = FUNCTIONS.iter().find(|(_, known)| *known == self);
        found.map_or("", |&(name, _)| name)
    }

    /// The least and the greatest number of arguments.
    fn arity(self) -> (usize, usize) {
        match self {
            Self::Min | Self::Max => (2, usize::MAX),
            Self::Atan2 | Self::Pow => (2, 2),
            Self::If => (3, 3),
            _ => (1, 1),
        }
    }
}

pub(crate) fn is_function(name: &str) -> bool {
    Function::named(name).is_some()
}

fn is_keyword(name: &str) -> bool {
    matches!(name, "and" | "or" | "not" | "true" | "false")
}

/// Whether a name is a function or a word of the expression language, so that no
/// parameter can bear it.
pub fn is_reserved(name: &str) -> bool {
    is_keyword(name) || is_function(name)
}

impl Expr {
    /// Longer texts are refused.
    pub const MAX_LENGTH: usize = 8192;
    /// Deeper nesting of parentheses, calls, signs and powers is refused.
    pub const MAX_DEPTH: usize = 200;

    /// Reads an expression. `is_parameter` says which names are parameters of the
    /// scope; it decides where a unit ends. Other names are kept and reported on evaluation.
    pub fn parse(text: &str, is_parameter: &dyn Fn(&str) -> bool) -> Result<Self, ExprError> {
        parse::parse(text, is_parameter)
    }

    /// The text the expression was read from; all spans are byte offsets into it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parameters referred to, with the bytes where they stand, in the order
    /// of the text; a name used twice comes twice.
    pub fn names(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.nodes
            .iter()
            .filter(|node| matches!(node.kind, Kind::Name { .. }))
            .map(|node| (&self.text[node.span()], node.span()))
    }

    /// The quantity, when the text is nothing but one, such as `-3.5 bar`.
    pub fn as_quantity(&self) -> Option<Quantity> {
        let quantity = |id: NodeId| match self.nodes[id as usize].kind {
            Kind::Literal(quantity) => Some(quantity),
            _ => None,
        };
        match self.nodes[self.root as usize].kind {
            Kind::Unary(Unary::Minus, inner) => {
                quantity(inner).map(|inner| Quantity::new(-inner.value, inner.dimension))
            }
            Kind::Unary(Unary::Plus, inner) => quantity(inner),
            _ => quantity(self.root),
        }
    }

    /// Computes the value; `lookup` gives the value of each parameter.
    ///
    /// Both branches of an `if` are checked for their dimensions, but only the
    /// chosen one is computed: `if(x > 0, 1/x, 0)` is sound. The same holds for
    /// the right side of `and` and `or`.
    pub fn evaluate(
        &self,
        lookup: &dyn Fn(&str) -> Option<Quantity>,
    ) -> Result<Quantity, ExprError> {
        evaluate::evaluate(self, lookup)
    }

    /// Checks the dimensions without values and returns that of the result.
    pub fn check(
        &self,
        lookup: &dyn Fn(&str) -> Option<Dimension>,
    ) -> Result<Dimension, ExprError> {
        evaluate::check(self, lookup)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}
