//! Logic without memory. A signal above one half is true; results are 1 and 0.

use super::block::{differ, is_true, memoryless, truth};
use fluxline_core::component::{NoConstants, Refusal};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// True when all of up to four conditions are.
///
/// y = u₁ ∧ u₂ ∧ u₃ ∧ u₄
#[component("signal.and", s, also = "hopsan:SignalAnd")]
pub struct And {
    /// u₁ — condition [–]
    #[input(default = 1, also = "in1")]
    pub input1: f64,
    /// u₂ — condition [–]
    #[input(default = 1, also = "in2")]
    pub input2: f64,
    /// u₃ — condition [–]
    #[input(default = 1)]
    pub input3: f64,
    /// u₄ — condition [–]
    #[input(default = 1)]
    pub input4: f64,
    /// y — 1 when true [–]
    #[output]
    out: Output,
}

/// True when at least one of up to four conditions is.
///
/// y = u₁ ∨ u₂ ∨ u₃ ∨ u₄
#[component("signal.or", s, also = "hopsan:SignalOr")]
pub struct Or {
    /// u₁ — condition [–]
    #[input(default = 0, also = "in1")]
    pub input1: f64,
    /// u₂ — condition [–]
    #[input(default = 0, also = "in2")]
    pub input2: f64,
    /// u₃ — condition [–]
    #[input(default = 0)]
    pub input3: f64,
    /// u₄ — condition [–]
    #[input(default = 0)]
    pub input4: f64,
    /// y — 1 when true [–]
    #[output]
    out: Output,
}

/// True when one of two conditions is, but not both.
///
/// y = u₁ ⊕ u₂
#[component("signal.xor", s, also = "hopsan:SignalXor")]
pub struct Xor {
    /// u₁ — condition [–]
    #[input(default = 0, also = "in1")]
    pub input1: f64,
    /// u₂ — condition [–]
    #[input(default = 0, also = "in2")]
    pub input2: f64,
    /// y — 1 when true [–]
    #[output]
    out: Output,
}

/// True when a condition is not.
///
/// y = ¬u
#[component("signal.not", s, also = "hopsan:SignalNot")]
pub struct Inverse {
    /// u — condition [–]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// y — 1 when true [–]
    #[output]
    out: Output,
}

fluxline_core::choice! {
    /// A relation of two numbers.
    pub enum Relation {
        /// Greater.
        Greater = ">",
        /// Greater or equal.
        GreaterOrEqual = ">=",
        /// Less.
        Less = "<",
        /// Less or equal.
        LessOrEqual = "<=",
        /// Equal within the tolerance.
        Equal = "=",
        /// Apart by more than the tolerance.
        Different = "!=",
    }
}

/// Compares two signals.
///
/// y = 1 where u₁ > u₂ (or ≥, <, ≤; =, ≠ within ε), else 0
#[component("signal.compare", s, constants = CompareConstants, also = "hopsan:SignalGreaterThan")]
pub struct Compare {
    /// u₁ — signal [–]
    #[input(default = 0, also = "in")]
    pub input1: f64,
    /// u₂ — what it is compared with [–]
    #[input(default = 0, also = "x_limit")]
    pub input2: f64,
    /// – — relation: >, >=, <, <=, = or != [–]
    #[parameter(default = ">")]
    pub relation: Relation,
    /// ε — how far apart equal signals may be [–]
    #[parameter(default = 0, min = 0)]
    pub tolerance: f64,
    /// y — 1 when true [–]
    #[output]
    out: Output,
}

/// Constants of [`Compare`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct CompareConstants<T> {
    relation: Relation,
    tolerance: T,
}

memoryless! { And Or Xor Inverse }
memoryless!(Compare: CompareConstants);

impl And {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        truth(is_true(u(0)) & is_true(u(1)) & is_true(u(2)) & is_true(u(3)))
    }
}

impl Or {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        truth(is_true(u(0)) | is_true(u(1)) | is_true(u(2)) | is_true(u(3)))
    }
}

impl Xor {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        truth(differ(is_true(u(Self::INPUT1)), is_true(u(Self::INPUT2))))
    }
}

impl Inverse {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        truth(!is_true(u(Self::INPUT)))
    }
}

impl Compare {
    fn constants(&self) -> Result<CompareConstants<f64>, Refusal> {
        Ok(CompareConstants { relation: self.relation, tolerance: self.tolerance })
    }
    #[inline(always)]
    fn value<T: Num>(k: &CompareConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        let (a, b) = (u(Self::INPUT1), u(Self::INPUT2));
        let equal = (a - b).abs().le(k.tolerance);
        truth(match k.relation {
            Relation::Greater => a.gt(b),
            Relation::GreaterOrEqual => a.ge(b),
            Relation::Less => a.lt(b),
            Relation::LessOrEqual => a.le(b),
            Relation::Equal => equal,
            Relation::Different => !equal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{lanes_match, respond, sequence};

    const AND: And = And { input1: 1.0, input2: 1.0, input3: 1.0, input4: 1.0 };
    const OR: Or = Or { input1: 0.0, input2: 0.0, input3: 0.0, input4: 0.0 };
    const XOR: Xor = Xor { input1: 0.0, input2: 0.0 };
    const ALL: [Relation; 6] = [
        Relation::Greater,
        Relation::GreaterOrEqual,
        Relation::Less,
        Relation::LessOrEqual,
        Relation::Equal,
        Relation::Different,
    ];
    fn compare(relation: Relation) -> Compare {
        Compare { input1: 0.0, input2: 0.0, relation, tolerance: 0.1 }
    }

    #[test]
    fn gates_follow_their_truth_tables() {
        let table = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
        assert_eq!(
            sequence(&AND, 1.0, &table.map(|[a, b]| [a, b, 1.0, 1.0])),
            [0.0, 0.0, 0.0, 1.0]
        );
        assert_eq!(sequence(&OR, 1.0, &table.map(|[a, b]| [0.0, a, 0.0, b])), [0.0, 1.0, 1.0, 1.0]);
        assert_eq!(sequence(&XOR, 1.0, &table), [0.0, 1.0, 1.0, 0.0]);
        let not = Inverse { input: 0.0 };
        assert_eq!(respond(&not, 0.5, 2, |t| t), [1.0, 1.0, 0.0], "one half is not true");
    }

    #[test]
    fn comparisons_hold_on_their_side_of_equality() {
        let rows = [[1.0, 2.0], [2.0, 2.0], [3.0, 2.0], [2.05, 2.0]];
        let expected = [
            [0.0, 0.0, 1.0, 1.0],
            [0.0, 1.0, 1.0, 1.0],
            [1.0, 0.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 1.0],
            [1.0, 0.0, 1.0, 0.0],
        ];
        for (relation, expected) in ALL.into_iter().zip(expected) {
            assert_eq!(sequence(&compare(relation), 1.0, &rows), expected, "{relation:?}");
        }
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        lanes_match([AND; 4]);
        lanes_match([OR; 4]);
        lanes_match([XOR; 4]);
        for relation in ALL {
            lanes_match([relation; 4].map(compare));
        }
    }
}
