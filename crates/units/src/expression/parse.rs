//! The expression parser: precedence climbing straight over the text.

use super::{
    Binary, Expr, ExprError, FUNCTIONS, Function, Kind, Node, NodeId, Unary, is_function,
    is_keyword,
};
use crate::nearest::nearest;
use crate::number::end_of_number;
use crate::quantity::decimal_comma;
use crate::unit::{end_of_word, parse_longest, similar_units, starts_symbol};
use crate::{Dimension, Quantity, QuantityError, UnitError};

/// Standard acceleration of gravity, 3rd CGPM (1901), exact.
const STANDARD_GRAVITY: f64 = 9.80665;

/// Binding powers: an operator takes operands that bind tighter than itself.
mod binding {
    pub const OR: u8 = 1;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 5;
    pub const COMPARISON: u8 = 7;
    pub const SUM: u8 = 9;
    pub const PRODUCT: u8 = 11;
    pub const SIGN: u8 = 13;
    pub const POWER: u8 = 15;
}

pub(super) fn parse(text: &str, is_parameter: &dyn Fn(&str) -> bool) -> Result<Expr, ExprError> {
    if text.len() > Expr::MAX_LENGTH {
        return Err(ExprError::TooLong { length: text.len(), limit: Expr::MAX_LENGTH });
    }
    let mut parser = Parser {
        text,
        position: 0,
        depth: 0,
        is_parameter,
        nodes: Vec::new(),
        arguments: Vec::new(),
        unit_end: None,
        open_calls: 0,
    };
    let root = parser.expression(0)?;
    parser.skip_blanks();
    if parser.position < text.len() {
        return Err(parser.unexpected_after_operand());
    }
    Ok(Expr { text: text.to_string(), nodes: parser.nodes, arguments: parser.arguments, root })
}

struct Parser<'t> {
    text: &'t str,
    position: usize,
    depth: usize,
    is_parameter: &'t dyn Fn(&str) -> bool,
    nodes: Vec<Node>,
    arguments: Vec<NodeId>,
    /// The end of the unit read last, to tell a mistyped unit from a name.
    unit_end: Option<usize>,
    open_calls: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.position..]
    }

    fn skip_blanks(&mut self) {
        self.position = self.text.len() - self.rest().trim_start().len();
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        self.skip_blanks();
        let found = self.peek() == Some(wanted);
        if found {
            self.position += wanted.len_utf8();
        }
        found
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) -> NodeId {
        // The length limit keeps positions and node numbers far below u32::MAX.
        self.nodes.push(Node { kind, start: start as u32, end: end as u32 });
        (self.nodes.len() - 1) as NodeId
    }

    fn start_of(&self, id: NodeId) -> usize {
        self.nodes[id as usize].start as usize
    }

    fn end_of(&self, id: NodeId) -> usize {
        self.nodes[id as usize].end as usize
    }

    fn unexpected(&self, expected: &'static str, help: Option<String>) -> ExprError {
        let end = match self.peek() {
            Some(first) if starts_symbol(first) => end_of_word(self.text, self.position),
            Some(first) if first.is_ascii_digit() => {
                end_of_number(self.text, self.position).unwrap_or(self.position + 1)
            }
            first => self.position + first.map_or(0, char::len_utf8),
        };
        ExprError::Unexpected {
            span: self.position..end,
            found: self.text[self.position..end].to_string(),
            expected,
            help,
        }
    }

    /// What stands after a complete operand but is no operator.
    fn unexpected_after_operand(&self) -> ExprError {
        let rest = self.rest();
        let help = if rest.starts_with('=') {
            Some("compare with `==`")
        } else if rest.starts_with("&&") || rest.starts_with("||") {
            Some("write `and`, `or`")
        } else if rest.starts_with(',') {
            Some("use a point as the decimal sign; a comma separates the arguments of a function")
        } else if rest.starts_with(starts_symbol) {
            Some("a unit is read only directly after a number; write `*` for a product")
        } else {
            None
        };
        self.unexpected("an operator or the end", help.map(String::from))
    }

    fn expression(&mut self, least: u8) -> Result<NodeId, ExprError> {
        if self.depth == Expr::MAX_DEPTH {
            let end = self.position + self.peek().map_or(0, char::len_utf8);
            return Err(ExprError::TooDeep { span: self.position..end, limit: Expr::MAX_DEPTH });
        }
        self.depth += 1;
        let result = self.operators(least);
        self.depth -= 1;
        result
    }

    fn operators(&mut self, least: u8) -> Result<NodeId, ExprError> {
        let mut left = self.prefix()?;
        let mut compared = false;
        loop {
            self.skip_blanks();
            let Some((operator, length)) = self.operator() else {
                return Ok(left);
            };
            let (binds, right_binds) = match operator {
                Binary::Or => (binding::OR, binding::OR + 1),
                Binary::And => (binding::AND, binding::AND + 1),
                Binary::Add | Binary::Subtract => (binding::SUM, binding::SUM + 1),
                Binary::Multiply | Binary::Divide => (binding::PRODUCT, binding::PRODUCT + 1),
                // From the right: 2^3^2 is 2^9.
                Binary::Power => (binding::POWER, binding::POWER),
                _ => (binding::COMPARISON, binding::COMPARISON + 1),
            };
            if binds < least {
                return Ok(left);
            }
            if operator.is_comparison()
                && std::mem::replace(&mut compared, operator.is_comparison())
            {
                return Err(self.unexpected(
                    "`and`, `or` or the end",
                    Some("comparisons cannot be chained: write `a < b and b < c`".to_string()),
                ));
            }
            self.position += length;
            let right = self.expression(right_binds)?;
            let (start, end) = (self.start_of(left), self.end_of(right));
            left = self.push(Kind::Binary(operator, left, right), start, end);
        }
    }

    /// The operator at the position and its length.
    fn operator(&self) -> Option<(Binary, usize)> {
        const SIGNS: [(&str, Binary); 14] = [
            ("<=", Binary::LessOrEqual),
            (">=", Binary::GreaterOrEqual),
            ("==", Binary::Equal),
            ("!=", Binary::NotEqual),
            ("<", Binary::Less),
            (">", Binary::Greater),
            ("+", Binary::Add),
            ("-", Binary::Subtract),
            ("*", Binary::Multiply),
            ("·", Binary::Multiply),
            ("⋅", Binary::Multiply),
            ("×", Binary::Multiply),
            ("/", Binary::Divide),
            ("^", Binary::Power),
        ];
        let rest = self.rest();
        for (sign, operator) in SIGNS {
            if rest.starts_with(sign) {
                return Some((operator, sign.len()));
            }
        }
        match &rest[..end_of_word(rest, 0)] {
            "and" => Some((Binary::And, 3)),
            "or" => Some((Binary::Or, 2)),
            _ => None,
        }
    }

    fn prefix(&mut self) -> Result<NodeId, ExprError> {
        self.skip_blanks();
        let start = self.position;
        match self.peek() {
            Some('-') => self.minus(),
            Some('+') => {
                self.position += 1;
                self.unary(Unary::Plus, binding::SIGN, start)
            }
            Some('(') => {
                self.position += 1;
                let inner = self.expression(0)?;
                self.close()?;
                // The parentheses belong to the text of the operand in messages;
                // names and literals keep their own.
                let end = self.position;
                let node = &mut self.nodes[inner as usize];
                if matches!(node.kind, Kind::Name { .. } | Kind::Literal(_)) {
                    return Ok(self.push(Kind::Unary(Unary::Plus, inner), start, end));
                }
                (node.start, node.end) = (start as u32, end as u32);
                Ok(inner)
            }
            Some('0'..='9' | '.') => self.literal(start).map(|(node, _)| node),
            Some(first) if first.is_ascii_alphabetic() || first == '_' => self.word(),
            Some('*') if start > 0 && self.text[..start].ends_with('*') => {
                Err(self.unexpected("a value", Some("a power is written `^`".to_string())))
            }
            Some('!') => Err(self.unexpected("a value", Some("write `not`".to_string()))),
            _ => Err(self.unexpected("a value", None)),
        }
    }

    fn unary(&mut self, operator: Unary, binds: u8, start: usize) -> Result<NodeId, ExprError> {
        let inner = self.expression(binds)?;
        let end = self.end_of(inner);
        Ok(self.push(Kind::Unary(operator, inner), start, end))
    }

    /// A minus sign. It belongs to the number when the unit has an offset:
    /// -40 degC is 233.15 K and not the negative of 313.15 K.
    fn minus(&mut self) -> Result<NodeId, ExprError> {
        let start = self.position;
        self.position += 1;
        let operand = self.position;
        self.skip_blanks();
        if matches!(self.peek(), Some('0'..='9' | '.')) {
            let (node, has_offset) = self.literal(start)?;
            if has_offset {
                return Ok(node);
            }
            self.nodes.pop();
        }
        self.position = operand;
        self.unary(Unary::Minus, binding::SIGN, start)
    }

    fn close(&mut self) -> Result<(), ExprError> {
        if self.take(')') {
            return Ok(());
        }
        let comma = self.rest().starts_with(',');
        let help = match comma {
            true => Some("use a point as the decimal sign".to_string()),
            false => self.rest().trim().is_empty().then(|| "add the missing `)`".to_string()),
        };
        Err(self.unexpected("an operator or `)`", help))
    }

    /// A number with its unit, and whether that unit has an offset. The node
    /// starts at `start`, where a minus sign may stand.
    fn literal(&mut self, start: usize) -> Result<(NodeId, bool), ExprError> {
        let first = self.position;
        let Some(end) = end_of_number(self.text, first) else {
            return Err(self.unexpected("a value", None));
        };
        // Inside a call a comma separates arguments: `max(1,5)`.
        let after_comma = self.text.as_bytes().get(end + 1);
        if self.open_calls == 0
            && after_comma.is_some_and(u8::is_ascii_digit)
            && let Some(error) = decimal_comma(self.text, first, end)
        {
            return Err(error.into());
        }
        let too_large = || ExprError::Literal(QuantityError::TooLarge { span: first..end });
        let number: f64 = self.text[first..end].parse().map_err(|_| too_large())?;
        self.position = end;

        let negative = start < first;
        let mut quantity = Quantity::dimensionless(number);
        let mut has_offset = false;
        if let Some((scale, unit_end)) = self.unit_after_number()? {
            has_offset = scale.offset != 0.0;
            let number = if negative && has_offset { -number } else { number };
            quantity = Quantity::new(scale.to_si(number), scale.dimension);
            self.position = unit_end;
            self.unit_end = Some(unit_end);
        }
        if !quantity.value.is_finite() {
            return Err(too_large());
        }
        Ok((self.push(Kind::Literal(quantity), start, self.position), has_offset))
    }

    fn unit_after_number(&self) -> Result<Option<(crate::scale::Scale, usize)>, ExprError> {
        let at = self.text.len() - self.rest().trim_start().len();
        let rest = &self.text[at..];
        let Some(first) = rest.chars().next() else {
            return Ok(None);
        };
        let one_over =
            rest.strip_prefix('1').is_some_and(|rest| rest.trim_start().starts_with('/'));
        if !(starts_symbol(first) || matches!(first, '(' | '√') || one_over) {
            return Ok(None);
        }
        let word = &self.text[at..end_of_word(self.text, at)];
        if matches!(word, "and" | "or") {
            return Ok(None);
        }
        match parse_longest(self.text, at, self.is_parameter) {
            Ok((_, end)) if one_over && end == at + 1 => {
                // `1500 1/mn`: two numbers in a row make sense only with a unit below the line.
                let below = self.text.len() - rest[1..].trim_start()[1..].trim_start().len();
                let word = &self.text[below..end_of_word(self.text, below)];
                if word.is_empty() || (self.is_parameter)(word) {
                    return Ok(None);
                }
                Err(QuantityError::Unit(UnitError::Unknown {
                    symbol: word.to_string(),
                    span: below..below + word.len(),
                    suggestions: similar_units(word),
                })
                .into())
            }
            Ok(unit) => Ok(Some(unit)),
            Err(error) if !error.may_be_no_unit() => Err(QuantityError::Unit(error).into()),
            Err(_) if word.is_empty() => Ok(None),
            Err(_) if (self.is_parameter)(word) || is_function(word) || is_keyword(word) => {
                Err(ExprError::Unexpected {
                    span: at..at + word.len(),
                    found: word.to_string(),
                    expected: "a unit or an operator",
                    help: Some(format!("for a product, write `* {word}`")),
                })
            }
            Err(_) => Err(QuantityError::Unit(UnitError::Unknown {
                symbol: word.to_string(),
                span: at..at + word.len(),
                suggestions: similar_units(word),
            })
            .into()),
        }
    }

    /// A name, a constant, a call or `not`.
    fn word(&mut self) -> Result<NodeId, ExprError> {
        let start = self.position;
        let end = end_of_name(self.text, start);
        let name = &self.text[start..end];
        self.position = end;
        if name == "not" {
            return self.unary(Unary::Not, binding::NOT, start);
        }
        if self.rest().trim_start().starts_with('(') {
            return self.call(name, start);
        }
        let constant = match name {
            "true" => Some(Quantity::dimensionless(1.0)),
            "false" => Some(Quantity::dimensionless(0.0)),
            _ if (self.is_parameter)(name) => None,
            "pi" => Some(Quantity::dimensionless(std::f64::consts::PI)),
            "gravity" => Some(Quantity::new(STANDARD_GRAVITY, Dimension::ACCELERATION)),
            _ => None,
        };
        if let Some(constant) = constant {
            return Ok(self.push(Kind::Literal(constant), start, end));
        }
        if is_keyword(name) || is_function(name) {
            self.position = start;
            let help =
                is_function(name).then(|| format!("`{name}` is a function: write `{name}(…)`"));
            return Err(self.unexpected("a value", help));
        }
        let after_unit = self.unit_end.is_some_and(|unit_end| {
            let between = self.text[unit_end..start].trim();
            matches!(between, "*" | "/" | "·")
        });
        Ok(self.push(Kind::Name { after_unit }, start, end))
    }

    fn call(&mut self, name: &str, start: usize) -> Result<NodeId, ExprError> {
        let Some(function) = Function::named(name) else {
            return Err(ExprError::UnknownFunction {
                name: name.to_string(),
                span: start..self.position,
                suggestions: nearest(name, FUNCTIONS.iter().map(|(known, _)| *known)),
            });
        };
        self.take('(');
        self.open_calls += 1;
        let mut arguments: Vec<NodeId> = Vec::new();
        if !self.take(')') {
            loop {
                arguments.push(self.expression(0)?);
                if !self.take(',') {
                    break;
                }
            }
            if !self.take(')') {
                let help = self.rest().trim().is_empty().then(|| "add the missing `)`".to_string());
                return Err(self.unexpected("an operator, `,` or `)`", help));
            }
        }
        self.open_calls -= 1;
        let (least, most) = function.arity();
        if !(least..=most).contains(&arguments.len()) {
            return Err(ExprError::ArgumentCount {
                function: function.name(),
                span: start..self.position,
                expected: match (least, most) {
                    (1, 1) => "1 argument".to_string(),
                    (_, usize::MAX) => format!("{least} or more arguments"),
                    _ => format!("{least} arguments"),
                },
                found: arguments.len(),
            });
        }
        let from = self.arguments.len() as u32;
        self.arguments.extend(arguments);
        let range = from..self.arguments.len() as u32;
        Ok(self.push(Kind::Call(function, range), start, self.position))
    }
}

/// The end of the dotted ASCII name at `start`.
fn end_of_name(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let opens = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    let mut end = start;
    while opens(end)
        || bytes.get(end).is_some_and(|b| b.is_ascii_digit() || (*b == b'.' && opens(end + 1)))
    {
        end += 1;
    }
    end
}
