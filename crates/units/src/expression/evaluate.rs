//! Computing an expression and checking its dimensions in one walk.

use super::error::operand;
use super::{Binary, Expr, ExprError, Function, Kind, NodeId, Operand, Unary};
use crate::scale::power_of;
use crate::unit::to_twelfths;
use crate::{Dimension, Quantity};
use std::ops::Range;

type Lookup<'l> = &'l dyn Fn(&str) -> Option<Quantity>;

pub(super) fn evaluate(expr: &Expr, lookup: Lookup) -> Result<Quantity, ExprError> {
    Evaluator { expr, lookup }.value(expr.root, Mode::Compute)
}

pub(super) fn check(
    expr: &Expr,
    lookup: &dyn Fn(&str) -> Option<Dimension>,
) -> Result<Dimension, ExprError> {
    let unknown = |name: &str| lookup(name).map(|dimension| Quantity::new(f64::NAN, dimension));
    let evaluator = Evaluator { expr, lookup: &unknown };
    let result = evaluator.value(expr.root, Mode::DimensionsOnly)?;
    Ok(result.dimension)
}

/// A branch that is not taken is walked for its dimensions alone: its values
/// may be anything, infinite and undefined included.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Compute,
    DimensionsOnly,
}

struct Evaluator<'e> {
    expr: &'e Expr,
    lookup: Lookup<'e>,
}

impl Evaluator<'_> {
    // The depth of the recursion is bounded by the parser's: long chains of
    // operators lean to the left and are walked in a loop.
    fn value(&self, id: NodeId, mode: Mode) -> Result<Quantity, ExprError> {
        let node = &self.expr.nodes[id as usize];
        let result = match &node.kind {
            Kind::Literal(quantity) => *quantity,
            Kind::Name { after_unit } => {
                let name = &self.expr.text[node.span()];
                (self.lookup)(name).ok_or_else(|| ExprError::UnknownName {
                    name: name.to_string(),
                    span: node.span(),
                    after_unit: *after_unit,
                })?
            }
            Kind::Unary(operator, inner) => self.unary(*operator, *inner, mode)?,
            Kind::Binary(..) => return self.chain(id, mode),
            Kind::Call(function, arguments) => {
                let arguments =
                    &self.expr.arguments[arguments.start as usize..arguments.end as usize];
                self.call(*function, arguments, node.span(), mode)?
            }
        };
        self.finite(result, id, mode)
    }

    fn finite(&self, result: Quantity, id: NodeId, mode: Mode) -> Result<Quantity, ExprError> {
        if mode == Mode::Compute && !result.value.is_finite() {
            let span = self.span(id);
            let text = self.expr.text[span.clone()].to_string();
            return Err(ExprError::NotFinite { span, text });
        }
        Ok(result)
    }

    fn span(&self, id: NodeId) -> Range<usize> {
        self.expr.nodes[id as usize].span()
    }

    fn operand(&self, id: NodeId, quantity: Quantity) -> Box<Operand> {
        let is_literal = matches!(self.expr.nodes[id as usize].kind, Kind::Literal(_));
        operand(&self.expr.text, self.span(id), quantity, is_literal)
    }

    fn unary(&self, operator: Unary, inner: NodeId, mode: Mode) -> Result<Quantity, ExprError> {
        let value = self.value(inner, mode)?;
        Ok(match operator {
            Unary::Plus => value,
            Unary::Minus => Quantity::new(-value.value, value.dimension),
            Unary::Not => {
                let truth = self.plain(inner, value, || "`not`".to_string())?;
                truth_value(truth == 0.0)
            }
        })
    }

    /// An operator together with all operators down its left side.
    fn chain(&self, id: NodeId, mode: Mode) -> Result<Quantity, ExprError> {
        let mut links = Vec::new();
        let mut first = id;
        while let Kind::Binary(operator, left, right) = self.expr.nodes[first as usize].kind {
            links.push((first, operator, left, right));
            first = left;
        }
        let mut value = self.value(first, mode)?;
        for (link, operator, left, right) in links.into_iter().rev() {
            let result = self.binary(link, operator, (left, value), right, mode)?;
            value = self.finite(result, link, mode)?;
        }
        Ok(value)
    }

    fn binary(
        &self,
        id: NodeId,
        operator: Binary,
        (left_id, left): (NodeId, Quantity),
        right_id: NodeId,
        mode: Mode,
    ) -> Result<Quantity, ExprError> {
        use Binary::*;
        if let And | Or = operator {
            return self.logic(operator, (left_id, left), right_id, mode);
        }
        if operator == Power {
            return self.power(self.span(id), (left_id, left), right_id, mode);
        }
        let right = self.value(right_id, mode)?;
        let (l, r) = (left.value, right.value);
        let same =
            |operation| self.same(operation, self.span(id), (left_id, left), (right_id, right));
        let inexpressible =
            || ExprError::Inexpressible { span: self.span(id), base: self.operand(left_id, left) };
        Ok(match operator {
            Add => {
                same("add")?;
                Quantity::new(l + r, left.dimension)
            }
            Subtract => {
                same("subtract")?;
                Quantity::new(l - r, left.dimension)
            }
            Multiply => {
                let dimension =
                    left.dimension.checked_mul(right.dimension).ok_or_else(inexpressible)?;
                Quantity::new(l * r, dimension)
            }
            Divide => {
                let dimension =
                    left.dimension.checked_div(right.dimension).ok_or_else(inexpressible)?;
                if r == 0.0 && mode == Mode::Compute {
                    let span = self.span(right_id);
                    let divisor = self.expr.text[span.clone()].to_string();
                    return Err(ExprError::DivisionByZero { span, divisor });
                }
                Quantity::new(l / r, dimension)
            }
            _ => {
                same("compare")?;
                truth_value(match operator {
                    Less => l < r,
                    LessOrEqual => l <= r,
                    Greater => l > r,
                    GreaterOrEqual => l >= r,
                    Equal => l == r,
                    _ => l != r,
                })
            }
        })
    }

    fn logic(
        &self,
        operator: Binary,
        (left_id, left): (NodeId, Quantity),
        right_id: NodeId,
        mode: Mode,
    ) -> Result<Quantity, ExprError> {
        let word = if operator == Binary::And { "`and`" } else { "`or`" };
        let left = self.plain(left_id, left, || word.to_string())? != 0.0;
        let decided = left == (operator == Binary::Or);
        let right_mode = if decided { Mode::DimensionsOnly } else { mode };
        let right = self.value(right_id, right_mode)?;
        let right = self.plain(right_id, right, || word.to_string())? != 0.0;
        Ok(truth_value(if decided { left } else { right }))
    }

    fn power(
        &self,
        span: Range<usize>,
        (base_id, base): (NodeId, Quantity),
        exponent_id: NodeId,
        mode: Mode,
    ) -> Result<Quantity, ExprError> {
        // The dimension needs the exponent, so it is computed even where values do not matter.
        let has_dimension = !base.dimension.is_dimensionless();
        let exponent_span = self.span(exponent_id);
        if has_dimension && self.names_within(&exponent_span) {
            return Err(ExprError::VariableExponent {
                span: exponent_span,
                base: self.operand(base_id, base),
            });
        }
        let exponent_mode = if has_dimension { Mode::Compute } else { mode };
        let exponent = self.value(exponent_id, exponent_mode)?;
        let exponent = self.plain(exponent_id, exponent, || "an exponent".to_string())?;
        let twelfths = to_twelfths(exponent);

        let dimension = if has_dimension {
            let dimension = twelfths.and_then(|twelfths| base.dimension.checked_pow(twelfths));
            dimension.ok_or_else(|| ExprError::Inexpressible {
                span: span.clone(),
                base: self.operand(base_id, base),
            })?
        } else {
            Dimension::DIMENSIONLESS
        };
        if mode == Mode::Compute {
            let broken = if base.value == 0.0 && exponent < 0.0 {
                Some("a negative power needs a base other than 0")
            } else if base.value < 0.0 && exponent.fract() != 0.0 {
                Some("a fractional power needs a base of at least 0")
            } else {
                None
            };
            if let Some(rule) = broken {
                return Err(self.out_of_domain(span, rule, base_id, base));
            }
        }
        // Small powers as products: the same on every platform.
        let value = match twelfths {
            Some(twelfths) if exponent.abs() <= 16.0 && to_exact(twelfths) == exponent => {
                power_of(base.value, twelfths)
            }
            _ => base.value.powf(exponent),
        };
        Ok(Quantity::new(value, dimension))
    }

    fn call(
        &self,
        function: Function,
        arguments: &[NodeId],
        span: Range<usize>,
        mode: Mode,
    ) -> Result<Quantity, ExprError> {
        if function == Function::If {
            return self.choice(arguments, span, mode);
        }
        let first_id = arguments[0];
        let first = self.value(first_id, mode)?;
        let x = first.value;
        let broken = |rule| Err(self.out_of_domain(span.clone(), rule, first_id, first));
        let strict = mode == Mode::Compute;
        match function {
            Function::Sqrt => {
                let dimension =
                    first.dimension.checked_pow(6).ok_or_else(|| ExprError::Inexpressible {
                        span: span.clone(),
                        base: self.operand(first_id, first),
                    })?;
                if strict && x < 0.0 {
                    return broken("a square root needs a value of at least 0");
                }
                return Ok(Quantity::new(x.sqrt(), dimension));
            }
            Function::Abs => return Ok(Quantity::new(x.abs(), first.dimension)),
            Function::Sign => {
                let sign = if x == 0.0 { 0.0 } else { x.signum() };
                return Ok(Quantity::dimensionless(sign));
            }
            Function::Min | Function::Max => {
                let mut best = x;
                for &id in &arguments[1..] {
                    let next = self.value(id, mode)?;
                    let (operation, better) = if function == Function::Min {
                        ("take the minimum of", next.value < best)
                    } else {
                        ("take the maximum of", next.value > best)
                    };
                    self.same(operation, span.clone(), (first_id, first), (id, next))?;
                    if better {
                        best = next.value;
                    }
                }
                return Ok(Quantity::new(best, first.dimension));
            }
            Function::Atan2 => {
                let second_id = arguments[1];
                let second = self.value(second_id, mode)?;
                self.same("take the angle of", span, (first_id, first), (second_id, second))?;
                return Ok(Quantity::dimensionless(x.atan2(second.value)));
            }
            _ => {}
        }
        if function == Function::Pow {
            return self.power(span, (first_id, first), arguments[1], mode);
        }
        let x = self.plain(first_id, first, || format!("`{}`", function.name()))?;
        let result = match function {
            Function::Sin => x.sin(),
            Function::Cos => x.cos(),
            Function::Tan => x.tan(),
            Function::Asin | Function::Acos => {
                if strict && x.abs() > 1.0 {
                    return broken("an arc sine or cosine needs a value from -1 to 1");
                }
                if function == Function::Asin { x.asin() } else { x.acos() }
            }
            Function::Atan => x.atan(),
            Function::Exp => x.exp(),
            Function::Ln | Function::Log10 => {
                if strict && x <= 0.0 {
                    return broken("a logarithm needs a value above 0");
                }
                if function == Function::Ln { x.ln() } else { x.log10() }
            }
            Function::Floor => x.floor(),
            Function::Ceil => x.ceil(),
            _ => x.round(),
        };
        Ok(Quantity::dimensionless(result))
    }

    fn choice(
        &self,
        arguments: &[NodeId],
        span: Range<usize>,
        mode: Mode,
    ) -> Result<Quantity, ExprError> {
        let [condition_id, then_id, else_id] = *arguments else {
            // The parser has counted the arguments.
            return Ok(Quantity::dimensionless(f64::NAN));
        };
        let condition = self.value(condition_id, mode)?;
        let condition =
            self.plain(condition_id, condition, || "the condition of `if`".to_string())?;
        let holds = condition != 0.0;
        let mode_if = |taken: bool| if taken { mode } else { Mode::DimensionsOnly };
        let then_value = self.value(then_id, mode_if(holds))?;
        let else_value = self.value(else_id, mode_if(!holds))?;
        self.same("choose between", span, (then_id, then_value), (else_id, else_value))?;
        Ok(if holds { then_value } else { else_value })
    }

    /// The value of a quantity that must be a plain number.
    fn plain(
        &self,
        id: NodeId,
        quantity: Quantity,
        what: impl Fn() -> String,
    ) -> Result<f64, ExprError> {
        if quantity.dimension.is_dimensionless() {
            return Ok(quantity.value);
        }
        Err(ExprError::NotDimensionless { what: what(), operand: self.operand(id, quantity) })
    }

    fn same(
        &self,
        operation: &'static str,
        span: Range<usize>,
        (left_id, left): (NodeId, Quantity),
        (right_id, right): (NodeId, Quantity),
    ) -> Result<(), ExprError> {
        if left.dimension == right.dimension {
            return Ok(());
        }
        Err(ExprError::Mismatch {
            operation,
            span,
            left: self.operand(left_id, left),
            right: self.operand(right_id, right),
        })
    }

    fn out_of_domain(
        &self,
        span: Range<usize>,
        rule: &'static str,
        id: NodeId,
        value: Quantity,
    ) -> ExprError {
        ExprError::OutOfDomain { span, rule, operand: self.operand(id, value) }
    }

    fn names_within(&self, span: &Range<usize>) -> bool {
        let names = self.expr.nodes.iter().filter(|node| matches!(node.kind, Kind::Name { .. }));
        names.into_iter().any(|node| span.start <= node.span().start && node.span().end <= span.end)
    }
}

fn to_exact(twelfths: i32) -> f64 {
    f64::from(twelfths) / 12.0
}

fn truth_value(holds: bool) -> Quantity {
    Quantity::dimensionless(if holds { 1.0 } else { 0.0 })
}
