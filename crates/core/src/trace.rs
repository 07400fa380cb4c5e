//! A number that writes down how it is computed: the way from generic physics to straight-line code.
//!
//! Every operation on a [`Trace`] becomes a node of a tape; nodes that are the same are one node, and
//! what constants decide is decided with the arithmetic of a run. Simplifications keep every bit:
//! `x·1`, `a − (−b)`, `|−x|`, but never `x + 0`, which turns −0 into 0.
//!
//! Where a component asks whether a mask holds ([`Mask::any`], [`Mask::all`]), the answer is a
//! decision: it is written down, and `explore` repeats the computation with the other answer until
//! it knows the tree of all of them, or as much of it as it is allowed to. For a single run a
//! decision settles the masks that follow from it; in lanes they stay open, because lanes may
//! disagree.

use crate::function::{Named, Pair};
use crate::guard::costs_apart_from;
use crate::number::{Mask, Num};
use crate::trig;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, Mul, Neg, Not, Sub, SubAssign};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Decisions on one path: who takes more iterates, and is not followed.
const MOST_DECISIONS: usize = 40;

/// Index of a node of the tape.
pub type Node = u32;

/// Functions of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// √x.
    Sqrt,
    /// |x|.
    Abs,
    /// eˣ.
    Exp,
    /// Natural logarithm.
    Ln,
    /// Hyperbolic tangent.
    Tanh,
    /// Largest whole number not above x.
    Floor,
    /// One of the mathematics library.
    Named(Named),
}

impl Function {
    /// One number for each.
    fn number(self) -> u64 {
        match self {
            Self::Sqrt => 0,
            Self::Abs => 1,
            Self::Exp => 2,
            Self::Ln => 3,
            Self::Tanh => 4,
            Self::Floor => 5,
            Self::Named(function) => 6 + function as u64,
        }
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A number, by its bits.
    Constant(u64),
    /// A number of the state as it was when the step began.
    Load(u32),
    /// A constant that differs between variants.
    Parameter(u32),
    /// Time at the end of the step of some rate.
    Time(u32),
    /// The number of the main step, counted from 1.
    Stamp,
    /// What came of a tree of decisions, or of a component that was not traced.
    Result(u32),
    /// a + b.
    Add(Node, Node),
    /// a − b.
    Sub(Node, Node),
    /// a·b.
    Mul(Node, Node),
    /// a/b.
    Div(Node, Node),
    /// −a.
    Neg(Node),
    /// f(a).
    Call(Function, Node),
    /// aᵇ.
    Power(Node, Node),
    /// The angle of the point with ordinate a and abscissa b.
    Angle(Node, Node),
    /// The second where the mask holds, else the third.
    Select(Node, Node, Node),
    /// The second, which need not be computed where the mask holds in no lane: there it is the third.
    Where(Node, Node, Node),
    /// A mask that always or never holds.
    Truth(bool),
    /// a < b.
    Less(Node, Node),
    /// a ≤ b.
    LessEqual(Node, Node),
    /// Both masks.
    And(Node, Node),
    /// Either mask.
    Or(Node, Node),
    /// Not the mask.
    Not(Node),
    /// a < b ? a : b, which processors do at once: the last where one is not a number.
    Least(Node, Node),
    /// a > b ? a : b, likewise.
    Largest(Node, Node),
    /// a ≤ b and b ≤ a.
    Equal(Node, Node),
    /// a < b or b < a.
    Apart(Node, Node),
}

/// All of an [`Op`] in two words, which are looked up faster than the enum itself.
type Key = (u64, u64);

impl Op {
    /// What it is known by.
    fn key(self) -> Key {
        let kind = |kind: u64, more: u64| kind << 48 | more << 32;
        let of_one = |n: u64, a: Node| (u64::from(a), kind(n, 0));
        let of_two = |n: u64, a: Node, b: Node| (u64::from(a) | u64::from(b) << 32, kind(n, 0));
        match self {
            Self::Constant(bits) => (bits, kind(0, 0)),
            Self::Load(i) => of_one(1, i),
            Self::Parameter(i) => of_one(2, i),
            Self::Time(i) => of_one(3, i),
            Self::Stamp => (0, kind(4, 0)),
            Self::Result(i) => of_one(5, i),
            Self::Add(a, b) => of_two(6, a, b),
            Self::Sub(a, b) => of_two(7, a, b),
            Self::Mul(a, b) => of_two(8, a, b),
            Self::Div(a, b) => of_two(9, a, b),
            Self::Neg(a) => of_one(10, a),
            Self::Call(function, a) => (u64::from(a), kind(11, function.number())),
            Self::Power(a, b) => of_two(12, a, b),
            Self::Angle(a, b) => of_two(13, a, b),
            Self::Select(a, b, c) => {
                let (low, high) = of_two(14, a, b);
                (low, high | u64::from(c))
            }
            Self::Where(a, b, c) => {
                let (low, high) = of_two(15, a, b);
                (low, high | u64::from(c))
            }
            Self::Truth(holds) => (u64::from(holds), kind(16, 0)),
            Self::Less(a, b) => of_two(17, a, b),
            Self::LessEqual(a, b) => of_two(18, a, b),
            Self::And(a, b) => of_two(19, a, b),
            Self::Or(a, b) => of_two(20, a, b),
            Self::Not(a) => of_one(21, a),
            Self::Least(a, b) => of_two(22, a, b),
            Self::Largest(a, b) => of_two(23, a, b),
            Self::Equal(a, b) => of_two(24, a, b),
            Self::Apart(a, b) => of_two(25, a, b),
        }
    }
    /// The nodes it is computed from.
    pub fn sources(self) -> impl Iterator<Item = Node> {
        use Op::{
            Add, And, Angle, Apart, Call, Div, Equal, Largest, Least, Less, LessEqual, Mul, Neg,
            Not, Or, Power, Select, Sub, Where,
        };
        let (a, b, c) = match self {
            Neg(a) | Call(_, a) | Not(a) => (Some(a), None, None),
            Add(a, b)
            | Sub(a, b)
            | Mul(a, b)
            | Div(a, b)
            | Power(a, b)
            | Angle(a, b)
            | Less(a, b)
            | LessEqual(a, b)
            | And(a, b)
            | Or(a, b)
            | Least(a, b)
            | Largest(a, b)
            | Equal(a, b)
            | Apart(a, b) => (Some(a), Some(b), None),
            Select(a, b, c) | Where(a, b, c) => (Some(a), Some(b), Some(c)),
            _ => (None, None, None),
        };
        [a, b, c].into_iter().flatten()
    }
}

/// How far it is looked into masks for those that exclude each other.
const DEEPEST: u32 = 12;
/// How far back it is looked for what a number cannot be.
const LAST_OPERATIONS: u32 = 8;

/// A question about a mask, and what was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The mask.
    pub mask: Node,
    /// Whether it holds in any lane; otherwise in all.
    pub is_any: bool,
    /// The answer.
    pub answer: bool,
}

/// How decisions are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One run: a mask holds or does not.
    One,
    /// Several runs side by side.
    Lanes,
}

/// The nodes, and where the present computation stands.
#[derive(Debug)]
pub struct Tape {
    ops: Vec<Op>,
    /// What each would be in the first step: tells which answers to expect.
    values: Vec<f64>,
    known: HashMap<Key, Node>,
    width: Width,
    /// Answers to give, then those that are expected.
    script: Vec<bool>,
    path: Vec<Decision>,
    /// What is settled on this path, by mask; in lanes for the question "any" and "all" each.
    facts: HashMap<(Node, bool), bool>,
    /// True when both sides of every decision after the script are computed.
    is_cautious: bool,
    /// Questions of which both sides are always computed, because that costs little.
    cheap: HashSet<(Node, bool)>,
    /// Why the present computation cannot be followed.
    refusal: Option<&'static str>,
    /// What it was told last since then.
    says_yes: bool,
    /// Masks whose lanes were asked for, in order.
    asked: Vec<Node>,
    /// Whether somebody asked for the time or the number of the step.
    has_seen_clock: bool,
    /// What stands for time, and which time it is.
    time: (u64, u32, f64),
    results: u32,
    most: usize,
}

impl Default for Tape {
    fn default() -> Self {
        Self {
            ops: Vec::new(),
            values: Vec::new(),
            known: HashMap::default(),
            width: Width::One,
            script: Vec::new(),
            path: Vec::new(),
            facts: HashMap::default(),
            is_cautious: false,
            cheap: HashSet::default(),
            refusal: None,
            says_yes: false,
            asked: Vec::new(),
            has_seen_clock: false,
            time: (f64::NAN.to_bits(), 0, 0.0),
            results: 0,
            most: usize::MAX,
        }
    }
}

thread_local! {
    static TAPE: RefCell<Tape> = RefCell::new(Tape::default());
}

fn with<R>(f: impl FnOnce(&mut Tape) -> R) -> R {
    TAPE.with(|tape| f(&mut tape.borrow_mut()))
}

impl Tape {
    fn intern(&mut self, op: Op, value: f64) -> Node {
        let next = self.ops.len() as Node;
        match self.known.entry(op.key()) {
            Entry::Occupied(known) => *known.get(),
            // Whatever comes is not used.
            Entry::Vacant(_) if self.refusal.is_some() => 0,
            Entry::Vacant(_) if self.ops.len() >= self.most => {
                self.refusal = Some("its step is too long");
                0
            }
            Entry::Vacant(place) => {
                place.insert(next);
                self.ops.push(op);
                self.values.push(value);
                next
            }
        }
    }
    fn number(&mut self, value: f64) -> Node {
        self.intern(Op::Constant(value.to_bits()), value)
    }
    fn constant(&self, node: Node) -> Option<f64> {
        match self.ops[node as usize] {
            Op::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }
    fn value(&self, node: Node) -> f64 {
        self.values[node as usize]
    }
    fn negated(&self, node: Node) -> Option<Node> {
        match self.ops[node as usize] {
            Op::Neg(a) => Some(a),
            _ => None,
        }
    }
    fn binary(&mut self, op: fn(Node, Node) -> Op, a: Node, b: Node, value: f64) -> Node {
        match (self.constant(a), self.constant(b)) {
            (Some(_), Some(_)) => self.number(value),
            _ => self.intern(op(a, b), value),
        }
    }
    /// Whether a number is never −0, as far as its last operations tell.
    fn is_never_minus_zero(&self, node: Node, depth: u32) -> bool {
        let never = |node: Node| depth > 0 && self.is_never_minus_zero(node, depth - 1);
        match self.ops[node as usize] {
            Op::Constant(bits) => bits != (-0.0_f64).to_bits(),
            // A sum is −0 only where both are, a difference where −0 − 0 is.
            Op::Add(a, b) => never(a) || never(b),
            Op::Sub(a, _) => never(a),
            Op::Select(_, a, b) => never(a) && never(b),
            Op::Where(_, a, _) => never(a),
            _ => self.is_without_sign(node, depth),
        }
    }
    /// Whether a number is never below 0 nor −0, as far as its last operations tell.
    fn is_without_sign(&self, node: Node, depth: u32) -> bool {
        let without = |node: Node| depth > 0 && self.is_without_sign(node, depth - 1);
        let is_positive = |node: Node| self.constant(node).is_some_and(|x| x > 0.0);
        match self.ops[node as usize] {
            Op::Constant(bits) => f64::from_bits(bits) >= 0.0 && bits != (-0.0_f64).to_bits(),
            Op::Call(Function::Abs, _) => true,
            Op::Call(Function::Sqrt, a) | Op::Where(_, a, _) => without(a),
            Op::Mul(a, b) => a == b || without(a) && without(b),
            Op::Add(a, b) | Op::Div(a, b) => without(a) && without(b),
            Op::Select(mask, yes, no) => match self.ops[mask as usize] {
                // The larger of two.
                Op::Less(low, x) if x == yes && low == no => without(low),
                Op::Less(x, low) if x == no && low == yes => is_positive(low),
                _ => without(yes) && without(no),
            },
            _ => false,
        }
    }
    /// Whether a number is 0 of either sign, as long as all numbers are finite: own code takes 0·x for 0.
    /// A run whose numbers are not finite ends, and is repeated by the engine to find out why.
    fn is_zero(&self, node: Node, depth: u32) -> bool {
        let is_zero = |node: Node| depth > 0 && self.is_zero(node, depth - 1);
        match self.ops[node as usize] {
            Op::Constant(bits) => f64::from_bits(bits) == 0.0,
            Op::Mul(a, b) => is_zero(a) || is_zero(b),
            Op::Neg(a) | Op::Call(Function::Abs, a) => is_zero(a),
            _ => false,
        }
    }
    /// Whether to add a number, or to take it away, leaves another what it is.
    fn is_nothing_to(&self, nothing: Node, other: Node) -> bool {
        self.is_zero(nothing, LAST_OPERATIONS) && self.is_never_minus_zero(other, LAST_OPERATIONS)
    }
    fn commuting(&mut self, op: fn(Node, Node) -> Op, a: Node, b: Node, value: f64) -> Node {
        self.binary(op, a.min(b), a.max(b), value)
    }
    fn add(&mut self, a: Node, b: Node) -> Node {
        let value = self.value(a) + self.value(b);
        let is_nothing = |x: Option<f64>| x.is_some_and(|x| x == 0.0 && x.is_sign_negative());
        if is_nothing(self.constant(b)) {
            return a;
        }
        if is_nothing(self.constant(a)) {
            return b;
        }
        for (a, b) in [(a, b), (b, a)] {
            if self.is_nothing_to(a, b) {
                return b;
            }
            // a + (0 − x) = a − x.
            if let Op::Sub(zero, x) = self.ops[b as usize]
                && self.constant(zero) == Some(0.0)
                && self.is_never_minus_zero(a, LAST_OPERATIONS)
            {
                return self.sub(a, x);
            }
        }
        match (self.negated(a), self.negated(b)) {
            (_, Some(b)) => self.binary(Op::Sub, a, b, value),
            (Some(a), None) => self.binary(Op::Sub, b, a, value),
            _ => self.commuting(Op::Add, a, b, value),
        }
    }
    fn sub(&mut self, a: Node, b: Node) -> Node {
        let value = self.value(a) - self.value(b);
        if self.constant(b).is_some_and(|b| b == 0.0 && b.is_sign_positive())
            || self.is_nothing_to(b, a)
        {
            return a;
        }
        match self.negated(b) {
            Some(b) => self.commuting(Op::Add, a, b, value),
            None => self.binary(Op::Sub, a, b, value),
        }
    }
    fn mul(&mut self, a: Node, b: Node) -> Node {
        let value = self.value(a) * self.value(b);
        for (one, other) in [(a, b), (b, a)] {
            if self.constant(one) == Some(1.0) {
                return other;
            }
            if self.constant(one) == Some(-1.0) {
                return self.neg(other);
            }
            if let Some(product) = self.scaled(one, other) {
                return product;
            }
        }
        match (self.negated(a), self.negated(b)) {
            (Some(a), Some(b)) => self.commuting(Op::Mul, a, b, value),
            (Some(positive), None) => {
                let product = self.mul(positive, b);
                self.neg(product)
            }
            (None, Some(positive)) => {
                let product = self.mul(a, positive);
                self.neg(product)
            }
            _ => self.commuting(Op::Mul, a, b, value),
        }
    }
    /// 2ⁿ·(x·c) = x·(2ⁿ·c), and c·(x·2ⁿ) likewise, which is exact: one multiplication is enough.
    fn scaled(&mut self, scale: Node, product: Node) -> Option<Node> {
        let scale = self.constant(scale)?;
        let Op::Mul(a, b) = self.ops[product as usize] else { return None };
        let (constant, x) = match (self.constant(a), self.constant(b)) {
            (Some(constant), None) => (constant, b),
            (None, Some(constant)) => (constant, a),
            _ => return None,
        };
        if !is_power_of_two(scale) && !is_power_of_two(constant) {
            return None;
        }
        let constant = constant * scale;
        if !constant.is_normal() {
            return None;
        }
        let constant = self.number(constant);
        Some(self.mul(constant, x))
    }
    fn div(&mut self, a: Node, b: Node) -> Node {
        if let Some(by) = self.constant(b).filter(|&by| is_power_of_two(by)) {
            let factor = self.number(by.recip());
            return self.mul(a, factor);
        }
        self.binary(Op::Div, a, b, self.value(a) / self.value(b))
    }
    fn neg(&mut self, a: Node) -> Node {
        match (self.constant(a), self.negated(a)) {
            (Some(x), _) => self.number(-x),
            (_, Some(a)) => a,
            _ => self.intern(Op::Neg(a), -self.value(a)),
        }
    }
    fn call(&mut self, function: Function, a: Node) -> Node {
        let x = self.value(a);
        let value = match function {
            Function::Sqrt => Num::sqrt(x),
            Function::Abs => Num::abs(x),
            Function::Exp => Num::exp(x),
            Function::Ln => Num::ln(x),
            Function::Tanh => Num::tanh(x),
            Function::Floor => Num::floor(x),
            Function::Named(function) => function.at(x).0,
        };
        if self.constant(a).is_some() {
            return self.number(value);
        }
        if function == Function::Abs {
            if let Some(a) = self.negated(a) {
                return self.call(function, a);
            }
            if matches!(self.ops[a as usize], Op::Call(Function::Abs, _)) {
                return a;
            }
        }
        self.intern(Op::Call(function, a), value)
    }
    fn truth(&mut self, holds: bool) -> Node {
        self.intern(Op::Truth(holds), f64::from(u8::from(holds)))
    }
    /// What is known of a mask.
    fn settled(&self, mask: Node) -> Option<bool> {
        match self.ops[mask as usize] {
            Op::Truth(holds) => Some(holds),
            _ if self.width == Width::One => self.facts.get(&(mask, true)).copied(),
            _ => None,
        }
    }
    fn mask(&mut self, op: Op, holds: bool) -> Node {
        let mask = self.intern(op, f64::from(u8::from(holds)));
        match self.settled(mask) {
            Some(holds) => self.truth(holds),
            None => mask,
        }
    }
    fn compare(&mut self, op: fn(Node, Node) -> Op, a: Node, b: Node, holds: bool) -> Node {
        match (self.constant(a), self.constant(b)) {
            (Some(_), Some(_)) => self.truth(holds),
            // Nothing is beyond the infinite.
            (Some(f64::INFINITY), _) | (_, Some(f64::NEG_INFINITY))
                if matches!(op(a, b), Op::Less(..)) =>
            {
                self.truth(false)
            }
            _ => self.mask(op(a, b), holds),
        }
    }
    fn holds(&self, mask: Node) -> bool {
        self.value(mask) != 0.0
    }
    /// Whether masks ask for a number that is above one constant and below another that is not.
    fn is_nowhere(&self, above: Node, below: Node, depth: u32) -> bool {
        let constants = |low: Node, high: Node| self.constant(low).zip(self.constant(high));
        let (is_at_end, y, high) = match self.ops[below as usize] {
            Op::Less(y, high) => (false, y, high),
            Op::LessEqual(y, high) => (true, y, high),
            _ => return false,
        };
        match self.ops[above as usize] {
            Op::Less(low, x) | Op::LessEqual(low, x) if x == y => {
                constants(low, high).is_some_and(|(low, high)| low > high)
            }
            // Not below, or not a number.
            Op::Not(mask) => match self.ops[mask as usize] {
                Op::LessEqual(x, low) if x == y => {
                    constants(low, high).is_some_and(|(low, high)| low >= high)
                }
                Op::Less(x, low) if x == y => constants(low, high)
                    .is_some_and(|(low, high)| low > high || low == high && !is_at_end),
                _ => false,
            },
            Op::And(one, other) if depth > 0 => {
                self.is_nowhere(one, below, depth - 1) || self.is_nowhere(other, below, depth - 1)
            }
            _ => false,
        }
    }
    fn both(&mut self, a: Node, b: Node) -> Node {
        match (self.settled(a), self.settled(b)) {
            (Some(false), _) | (_, Some(false)) => self.truth(false),
            (Some(true), _) => b,
            (_, Some(true)) => a,
            _ if a == b => a,
            _ if self.is_nowhere(a, b, DEEPEST) || self.is_nowhere(b, a, DEEPEST) => {
                self.truth(false)
            }
            _ => {
                let holds = self.holds(a) && self.holds(b);
                self.mask(Op::And(a.min(b), a.max(b)), holds)
            }
        }
    }
    fn either(&mut self, a: Node, b: Node) -> Node {
        match (self.settled(a), self.settled(b)) {
            (Some(true), _) | (_, Some(true)) => self.truth(true),
            (Some(false), _) => b,
            (_, Some(false)) => a,
            _ if a == b => a,
            _ => {
                let holds = self.holds(a) || self.holds(b);
                self.mask(Op::Or(a.min(b), a.max(b)), holds)
            }
        }
    }
    fn not(&mut self, a: Node) -> Node {
        match (self.settled(a), self.ops[a as usize]) {
            (Some(holds), _) => self.truth(!holds),
            (_, Op::Not(a)) => a,
            _ => {
                let holds = !self.holds(a);
                self.mask(Op::Not(a), holds)
            }
        }
    }
    fn select(&mut self, mask: Node, yes: Node, no: Node) -> Node {
        match self.settled(mask) {
            Some(true) => yes,
            Some(false) => no,
            None if yes == no => yes,
            None => {
                // One side of a mask and its opposite are the same choice.
                if let Op::Not(mask) = self.ops[mask as usize] {
                    return self.select(mask, no, yes);
                }
                // What the same mask has chosen before is known.
                if let Op::Select(other, chosen, _) = self.ops[yes as usize]
                    && other == mask
                {
                    return self.select(mask, chosen, no);
                }
                if let Op::Select(other, _, chosen) = self.ops[no as usize]
                    && other == mask
                {
                    return self.select(mask, yes, chosen);
                }
                let value = if self.holds(mask) { self.value(yes) } else { self.value(no) };
                self.intern(Op::Select(mask, yes, no), value)
            }
        }
    }
    /// The first, or the second where a mask holds in no lane.
    fn either_way(&mut self, mask: Node, some: Node, none: Node) -> Node {
        let is_about = |other: Node| match self.ops[mask as usize] {
            Op::Not(opposite) => other == mask || other == opposite,
            _ => other == mask,
        };
        match self.ops[some as usize] {
            // It chooses by itself, and the choice may take the place of this one.
            Op::Select(other, ..) if is_about(other) => self.select(mask, some, none),
            _ if self.width == Width::One || some == none => self.select(mask, some, none),
            _ => {
                let value = if self.holds(mask) { self.value(some) } else { self.value(none) };
                self.intern(Op::Where(mask, some, none), value)
            }
        }
    }
    /// Settles what follows from an answer.
    fn learn(&mut self, mask: Node, is_any: bool, answer: bool) {
        if self.width == Width::Lanes {
            self.facts.insert((mask, is_any), answer);
            // All lanes imply any; no lane implies not all.
            if answer != is_any {
                self.facts.insert((mask, !is_any), answer);
            }
            return;
        }
        self.facts.insert((mask, true), answer);
        match (self.ops[mask as usize], answer) {
            (Op::And(a, b), true) | (Op::Or(a, b), false) => {
                self.learn(a, true, answer);
                self.learn(b, true, answer);
            }
            (Op::Not(a), _) => self.learn(a, true, !answer),
            _ => {}
        }
    }

    fn decide(&mut self, mask: Node, is_any: bool) -> bool {
        // What comes is not used. Where it is not left (see `answer`) it has to end: whoever waits for
        // yes, or for no, is given it.
        if self.refusal.is_some() {
            self.says_yes = !self.says_yes;
            return self.says_yes;
        }
        if let Some(holds) = self.settled(mask) {
            return holds;
        }
        if let Op::Not(mask) = self.ops[mask as usize] {
            return !self.decide(mask, !is_any);
        }
        let key = (mask, is_any || self.width == Width::One);
        if let Some(&answer) = self.facts.get(&key) {
            return answer;
        }
        let is_cautious = self.is_cautious && self.path.len() >= self.script.len();
        if is_cautious || self.cheap.contains(&(mask, is_any)) {
            return is_any;
        }
        if self.path.len() >= MOST_DECISIONS {
            self.refusal.get_or_insert("it iterates long");
            return is_any;
        }
        let expected = self.holds(mask);
        let answer = self.script.get(self.path.len()).copied().unwrap_or(expected);
        self.path.push(Decision { mask, is_any, answer });
        self.learn(mask, is_any, answer);
        answer
    }
}

/// Whether a product with it is exact, apart from numbers at the ends of the range.
fn is_power_of_two(x: f64) -> bool {
    const FRACTION: u64 = (1 << (f64::MANTISSA_DIGITS - 1)) - 1;
    x.is_normal() && x > 0.0 && x.to_bits() & FRACTION == 0 && x.recip().is_normal()
}

/// A number on the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace(Node);

/// A mask on the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceMask(Node);

impl Trace {
    /// Its node.
    pub fn node(self) -> Node {
        self.0
    }
    /// The number that a node computes.
    pub fn at(node: Node) -> Self {
        Self(node)
    }
    /// A number of the state, with what it is at the start.
    pub(crate) fn load(slot: u32, value: f64) -> Self {
        with(|tape| Self(tape.intern(Op::Load(slot), value)))
    }
    /// A constant that differs between variants, with what it is in the first.
    pub(crate) fn parameter(index: u32, value: f64) -> Self {
        with(|tape| Self(tape.intern(Op::Parameter(index), value)))
    }
    /// The number of the step.
    pub(crate) fn stamp() -> Self {
        with(|tape| Self(tape.intern(Op::Stamp, 1.0)))
    }
    /// What a tree gives, with what it is in the first step.
    pub(crate) fn result(value: f64) -> Self {
        with(|tape| {
            tape.results += 1;
            let op = Op::Result(tape.results - 1);
            Self(tape.intern(op, value))
        })
    }
    /// What it would be in the first step.
    pub(crate) fn expected(self) -> f64 {
        with(|tape| tape.value(self.0))
    }
}

/// A computation that cannot be followed is left, up to [`follow_at`], as soon as it asks something:
/// who iterates would go on for long.
fn answer(mask: Node, is_any: bool) -> bool {
    let (answer, is_refused) = with(|tape| (tape.decide(mask, is_any), tape.refusal.is_some()));
    if is_refused && cfg!(panic = "unwind") {
        // Without the message of a panic: it is none.
        resume_unwind(Box::new(()));
    }
    answer
}

impl Mask for TraceMask {
    fn any(self) -> bool {
        answer(self.0, true)
    }
    fn all(self) -> bool {
        answer(self.0, false)
    }
    fn bits(self) -> u64 {
        with(|tape| tape.asked.push(self.0));
        1
    }
}
impl BitAnd for TraceMask {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        with(|tape| Self(tape.both(self.0, other.0)))
    }
}
impl BitOr for TraceMask {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        with(|tape| Self(tape.either(self.0, other.0)))
    }
}
impl Not for TraceMask {
    type Output = Self;
    fn not(self) -> Self {
        with(|tape| Self(tape.not(self.0)))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident;)*) => {$(
        impl $trait for Trace {
            type Output = Self;
            #[inline(never)]
            fn $method(self, other: Self) -> Self {
                with(|tape| Self(tape.$method(self.0, other.0)))
            }
        }
        impl $trait<f64> for Trace {
            type Output = Self;
            #[inline(never)]
            fn $method(self, other: f64) -> Self {
                self.$method(Self::of(other))
            }
        }
    )*};
}
operators! { Add add; Sub sub; Mul mul; Div div; }

impl Neg for Trace {
    type Output = Self;
    #[inline(never)]
    fn neg(self) -> Self {
        with(|tape| Self(tape.neg(self.0)))
    }
}
impl AddAssign for Trace {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl SubAssign for Trace {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

macro_rules! functions {
    ($($name:ident $function:ident;)*) => {$(
        #[inline(never)]
        fn $name(self) -> Self {
            with(|tape| Self(tape.call(Function::$function, self.0)))
        }
    )*};
}

/// Longest curve that is written out.
const MOST_KNOTS: usize = 24;

const NOT_FOLLOWED: &str = "it computes with a table or a function of its own";

impl Num for Trace {
    type Mask = TraceMask;
    #[inline(never)]
    fn of(value: f64) -> Self {
        with(|tape| {
            let (bits, index, start) = tape.time;
            match value.to_bits() == bits {
                true => Self(tape.intern(Op::Time(index), start)),
                false => Self(tape.number(value)),
            }
        })
    }
    /// Of a number that may change there is no value: whoever asks cannot be followed.
    fn first(self) -> f64 {
        with(|tape| {
            if tape.constant(self.0).is_none() {
                tape.refusal.get_or_insert("it counts by the value of a signal or state");
            }
            tape.value(self.0)
        })
    }
    functions! {
        sqrt Sqrt; abs Abs; exp Exp; ln Ln; tanh Tanh; floor Floor;
    }
    #[inline(never)]
    fn powf(self, exponent: Self) -> Self {
        with(|tape| {
            let value = Num::powf(tape.value(self.0), tape.value(exponent.0));
            Self(tape.binary(Op::Power, self.0, exponent.0, value))
        })
    }
    #[inline(never)]
    fn lt(self, other: Self) -> TraceMask {
        with(|tape| {
            let holds = tape.value(self.0) < tape.value(other.0);
            TraceMask(tape.compare(Op::Less, self.0, other.0, holds))
        })
    }
    #[inline(never)]
    fn le(self, other: Self) -> TraceMask {
        with(|tape| {
            let holds = tape.value(self.0) <= tape.value(other.0);
            TraceMask(tape.compare(Op::LessEqual, self.0, other.0, holds))
        })
    }
    #[inline(never)]
    fn select(mask: TraceMask, yes: Self, no: Self) -> Self {
        with(|tape| Self(tape.select(mask.0, yes.0, no.0)))
    }
    /// Both, and a choice: the way on is the same after it. In lanes the first is right for all of them,
    /// so that nothing need be chosen.
    fn where_any(
        mask: TraceMask,
        some: impl FnOnce() -> Self,
        none: impl FnOnce() -> Self,
    ) -> Self {
        match with(|tape| tape.settled(mask.0)) {
            Some(false) => none(),
            Some(true) => some(),
            None => {
                let (some, none) = (some(), none());
                with(|tape| Self(tape.either_way(mask.0, some.0, none.0)))
            }
        }
    }
    /// Which stretch of the curve is chosen by halves, with the numbers of the stretch as constants.
    fn on_curve(self, knots: &[f64], values: &[f64]) -> Self {
        let (count, is_known) = (knots.len(), with(|tape| tape.constant(self.0).is_some()));
        if is_known || !(2..=MOST_KNOTS).contains(&count) {
            return self.apply(|x| crate::table::interpolate(knots, values, x));
        }
        let end = |x: f64| Self::of(crate::table::interpolate(knots, values, x).0);
        // Begin, width, value and rise of the stretch between two knots.
        fn stretch(x: Trace, knots: &[f64], values: &[f64], from: usize, to: usize) -> [Trace; 4] {
            if to - from == 1 {
                let (width, rise) = (knots[to] - knots[from], values[to] - values[from]);
                return [knots[from], width, values[from], rise].map(Trace::of);
            }
            let middle = (from + to) / 2;
            let is_below = x.lt(Trace::of(knots[middle]));
            let below = stretch(x, knots, values, from, middle);
            let above = stretch(x, knots, values, middle, to);
            std::array::from_fn(|i| Trace::select(is_below, below[i], above[i]))
        }
        let [begin, width, value, rise] = stretch(self, knots, values, 0, count - 1);
        let between = value + (self - begin) / width * rise;
        let is_above = self.ge(Self::of(knots[count - 1]));
        let is_inside = self.gt(Self::of(knots[0]));
        let (low, high) = (end(knots[0]), end(knots[count - 1]));
        Self::select(is_inside, Self::select(is_above, high, between), low)
    }
    fn looks_at_clock() {
        with(|tape| tape.has_seen_clock = true);
    }
    fn sin(self) -> Self {
        trig::sin(self)
    }
    fn cos(self) -> Self {
        trig::cos(self)
    }
    #[inline(never)]
    fn call(self, function: Named) -> Self {
        with(|tape| Self(tape.call(Function::Named(function), self.0)))
    }
    #[inline(never)]
    fn call2(self, other: Self, function: Pair) -> Self {
        with(|tape| {
            let value = function.at(tape.value(self.0), tape.value(other.0)).0;
            let op = match function {
                Pair::Atan2 => Op::Angle,
                Pair::Power => Op::Power,
            };
            Self(tape.binary(op, self.0, other.0, value))
        })
    }
    fn apply(self, f: impl Fn(f64) -> (f64, f64)) -> Self {
        let (known, value) = with(|tape| (tape.constant(self.0).is_some(), tape.value(self.0)));
        if !known {
            with(|tape| {
                tape.refusal.get_or_insert(NOT_FOLLOWED);
            });
            return self;
        }
        Self::of(f(value).0)
    }
    fn apply2(self, other: Self, f: impl Fn(f64, f64) -> (f64, f64, f64)) -> Self {
        let known = |x: Self| with(|tape| (tape.constant(x.0).is_some(), tape.value(x.0)));
        let ((one, x), (two, y)) = (known(self), known(other));
        if !(one && two) {
            with(|tape| {
                tape.refusal.get_or_insert(NOT_FOLLOWED);
            });
            return self;
        }
        Self::of(f(x, y).0)
    }
}

/// Begins a tape; numbers of an older one mean nothing from here on.
pub(crate) fn begin(width: Width, most: usize) {
    with(|tape| *tape = Tape { width, most, ..Tape::default() });
    // Node 0 is there, whatever comes.
    Trace::of(0.0);
}

/// Allows so many more nodes.
pub(crate) fn allow(more: usize) {
    with(|tape| tape.most = tape.ops.len().saturating_add(more));
}

/// Ends the tape: all nodes.
pub(crate) fn end() -> Vec<Op> {
    let mut ops = with(|tape| std::mem::take(tape).ops);
    shorten(&mut ops);
    ops
}

/// Puts one operation for two where a processor has one that gives the same bits.
fn shorten(ops: &mut [Op]) {
    for node in 0..ops.len() {
        let at = |node: Node| ops[node as usize];
        ops[node] = match ops[node] {
            Op::Select(mask, yes, no) => match at(mask) {
                Op::Less(a, b) if (yes, no) == (a, b) => Op::Least(a, b),
                Op::Less(a, b) if (yes, no) == (b, a) => Op::Largest(b, a),
                _ => continue,
            },
            Op::And(one, other) => match (at(one), at(other)) {
                (Op::LessEqual(a, b), Op::LessEqual(c, d)) if (a, b) == (d, c) => Op::Equal(a, b),
                _ => continue,
            },
            Op::Or(one, other) => match (at(one), at(other)) {
                (Op::Less(a, b), Op::Less(c, d)) if (a, b) == (d, c) => Op::Apart(a, b),
                _ => continue,
            },
            _ => continue,
        };
    }
}

/// What computes once: a time and a step number to compute with come from whoever explores. Who looks
/// at them says so by [`Num::looks_at_clock`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// What stands for time.
    pub time: f64,
    /// What stands for the number of the step.
    pub tick: u64,
}

/// Whoever computes with time or the step number by itself, and not as a number of the tape, gives
/// something else for each of these. The first times are before and after all that happens in runs.
const PROBES: [Probe; 3] = [
    Probe { time: 3.141_592_053_589_793e7, tick: 1_000_003 },
    Probe { time: -2.718_281_123_828_459e7, tick: 5_000_010 },
    Probe { time: 1.732_050_118_075_688_8e-9, tick: 1 },
];

/// A tree of decisions with what was computed at its ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree<L> {
    /// An end.
    Leaf(L),
    /// Not explored.
    Open,
    /// A question, and what follows from either answer.
    Branch {
        /// The mask.
        mask: Node,
        /// Whether it holds in any lane; otherwise in all.
        is_any: bool,
        /// When so.
        yes: Box<Tree<L>>,
        /// When not.
        no: Box<Tree<L>>,
    },
}

impl<L> Tree<L> {
    /// The ends.
    pub fn leaves(&self) -> Vec<&L> {
        match self {
            Tree::Leaf(leaf) => vec![leaf],
            Tree::Open => Vec::new(),
            Tree::Branch { yes, no, .. } => {
                let mut all = yes.leaves();
                all.extend(no.leaves());
                all
            }
        }
    }
    /// Whether all of it is explored.
    pub fn is_closed(&self) -> bool {
        match self {
            Tree::Leaf(_) => true,
            Tree::Open => false,
            Tree::Branch { yes, no, .. } => yes.is_closed() && no.is_closed(),
        }
    }
}

/// A computation, and the masks whose lanes it asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed<R> {
    /// What it gave.
    pub result: R,
    /// Masks, in order.
    pub asked: Vec<Node>,
}

type Path<R> = (Vec<Decision>, Followed<R>);

/// A tree, or why a computation cannot be followed.
type Found<R> = Result<Tree<Followed<R>>, &'static str>;

/// Computes along one path; the reason when it cannot be followed.
fn follow<R>(
    script: &[bool],
    time: (u32, f64),
    is_cautious: bool,
    compute: &mut dyn FnMut(Probe) -> R,
) -> Result<Path<R>, &'static str> {
    follow_at(PROBES[0], script, time, is_cautious, compute)
}

fn follow_at<R>(
    probe: Probe,
    script: &[bool],
    (which, start): (u32, f64),
    is_cautious: bool,
    compute: &mut dyn FnMut(Probe) -> R,
) -> Result<Path<R>, &'static str> {
    with(|tape| {
        tape.script.clear();
        tape.script.extend(script);
        tape.path.clear();
        tape.facts.clear();
        tape.asked.clear();
        tape.refusal = None;
        tape.is_cautious = is_cautious;
        tape.time = (probe.time.to_bits(), which, start);
    });
    // What it leaves half done is written anew before the next time.
    let result = catch_unwind(AssertUnwindSafe(|| compute(probe)));
    let (refusal, path, asked) = with(|tape| {
        tape.facts.clear();
        tape.time.0 = f64::NAN.to_bits();
        let (path, asked) = (&mut tape.path, &mut tape.asked);
        (tape.refusal.take(), std::mem::take(path), std::mem::take(asked))
    });
    match (refusal, result) {
        // After a refusal numbers mean nothing, nor does what becomes of them.
        (Some(why), _) => Err(why),
        (None, Ok(result)) => Ok((path, Followed { result, asked })),
        (None, Err(panic)) => resume_unwind(panic),
    }
}

/// Computes along a path that becomes part of a tree: at any time and in any step it must be the same.
fn follow_at_any_time<R: PartialEq>(
    script: &[bool],
    time: (u32, f64),
    is_cautious: bool,
    compute: &mut dyn FnMut(Probe) -> R,
) -> Result<Path<R>, &'static str> {
    with(|tape| tape.has_seen_clock = false);
    let first = follow(script, time, is_cautious, compute)?;
    if !with(|tape| tape.has_seen_clock) {
        return Ok(first);
    }
    for probe in &PROBES[1..] {
        if follow_at(*probe, script, time, is_cautious, compute)? != first {
            return Err("it computes with time or the number of the step by itself");
        }
    }
    Ok(first)
}

/// What it costs to compute both sides of a decision, at most, for there to be none, in simple
/// operations. What only one side wants and is worth a question of its own ([`crate::guard`]) does not
/// count.
const CHEAP: u32 = 10;

/// Both sides may take so much more than one, in simple operations: more than this iterates.
const MOST_OF_BOTH: u32 = 800;
/// And so many new nodes, dead ones and constants among them.
const MOST_NODES_OF_BOTH: usize = 3000;

/// What a path costs beyond nodes that were there before `begin`: what is computed whatever a mask is,
/// and all of it.
fn path_cost<R: Results>((decisions, followed): &Path<R>, begin: usize, mask: Node) -> (u32, u32) {
    let mut roots = Vec::new();
    followed.result.nodes(&mut roots);
    roots.extend(decisions.iter().map(|decision| decision.mask));
    roots.extend(&followed.asked);
    with(|tape| costs_apart_from(&tape.ops, begin, roots, mask))
}

/// What a computation gives, as nodes.
pub(crate) trait Results: PartialEq {
    /// Appends them.
    fn nodes(&self, into: &mut Vec<Node>);
}

impl Results for Trace {
    fn nodes(&self, into: &mut Vec<Node>) {
        into.push(self.0);
    }
}

/// Finds the decisions that need not be made, along the expected path: those of which one side
/// computes little more than the other.
fn spare_cheap_decisions<R: Results>(
    time: (u32, f64),
    begin: usize,
    compute: &mut dyn FnMut(Probe) -> R,
) {
    let mut judged = HashSet::default();
    let Ok(mut path) = follow(&[], time, false, compute) else { return };
    loop {
        let next = path.0.iter().position(|d| !judged.contains(&(d.mask, d.is_any)));
        let Some(at) = next else { break };
        let Decision { mask, is_any, answer } = path.0[at];
        judged.insert((mask, is_any));
        let mut script: Vec<bool> = path.0[..at].iter().map(|d| d.answer).collect();
        // What iterates would go on computing both sides of every iteration.
        let most = with(|tape| {
            tape.cheap.insert((mask, is_any));
            let most = tape.most;
            tape.most = most.min(tape.ops.len() + MOST_NODES_OF_BOTH);
            most
        });
        let both = follow(&script, time, false, compute);
        with(|tape| {
            tape.cheap.remove(&(mask, is_any));
            tape.most = most;
        });
        let Ok(both) = both else { continue };
        // Where no lane asks for more: that may be the path that is expected.
        let (least, least_of_all) = match answer == is_any {
            false => path_cost(&path, begin, mask),
            true => {
                script.push(!is_any);
                let Ok(short) = follow(&script, time, false, compute) else { continue };
                path_cost(&short, begin, mask)
            }
        };
        let (usual, all) = path_cost(&both, begin, mask);
        if usual <= least + CHEAP && all <= 3 * least_of_all + MOST_OF_BOTH {
            with(|tape| tape.cheap.insert((mask, is_any)));
            path = both;
        }
    }
}

/// Nodes after which no further path is looked for.
const MOST_EXPLORED: usize = 1200;
/// So many paths are wanted whatever they cost.
pub(crate) const MANY: usize = 50;

/// Computes with all answers, at most so many paths; those with the fewest unexpected answers come
/// first. The expected path must be one that can be followed.
///
/// What is left is open; with `fill` it is computed with both sides of all further decisions, between
/// which masks choose.
pub(crate) fn explore<R: Results>(
    time: (u32, f64),
    most: usize,
    fill: bool,
    compute: &mut dyn FnMut(Probe) -> R,
) -> Found<R> {
    let mut paths: Vec<Path<R>> = Vec::new();
    let mut waiting: VecDeque<Vec<bool>> = VecDeque::from([Vec::new()]);
    let begin = with(|tape| {
        tape.cheap.clear();
        tape.ops.len()
    });
    spare_cheap_decisions(time, begin, compute);
    let begin = with(|tape| tape.ops.len());
    while let Some(script) = waiting.pop_front() {
        let grown = with(|tape| tape.ops.len()) - begin;
        if paths.len() >= most || (grown > MOST_EXPLORED && most < MANY) {
            break;
        }
        let (decisions, followed) = match follow_at_any_time(&script, time, false, compute) {
            Ok(path) => path,
            // What is rare may stay closed.
            Err(_) if !paths.is_empty() => continue,
            Err(why) => return Err(why),
        };
        // Those with one more unexpected answer than this; the queue keeps them in order.
        for at in script.len()..decisions.len() {
            let mut other: Vec<bool> = decisions[..at].iter().map(|d| d.answer).collect();
            other.push(!decisions[at].answer);
            waiting.push_back(other);
        }
        paths.push((decisions, followed));
    }
    let mut rest = |script: &[bool]| match fill {
        true => Ok(Tree::Leaf(follow_at_any_time(script, time, true, compute)?.1)),
        false => Ok(Tree::Open),
    };
    tree(paths, &mut Vec::new(), &mut rest)
}

/// The tree of paths that begin with the same answers; what no path leads to is up to `rest`.
fn tree<R>(
    mut paths: Vec<Path<R>>,
    begin: &mut Vec<bool>,
    rest: &mut dyn FnMut(&[bool]) -> Found<R>,
) -> Found<R> {
    let depth = begin.len();
    let Some((decisions, _)) = paths.first() else { return rest(begin) };
    let Some(&Decision { mask, is_any, .. }) = decisions.get(depth) else {
        return match paths.pop() {
            Some((_, followed)) => Ok(Tree::Leaf(followed)),
            None => rest(begin),
        };
    };
    let (yes, no): (Vec<_>, Vec<_>) =
        paths.into_iter().partition(|(decisions, _)| decisions[depth].answer);
    let mut side = |paths, answer| {
        begin.push(answer);
        let found = tree(paths, begin, rest);
        begin.pop();
        found.map(Box::new)
    };
    Ok(Tree::Branch { mask, is_any, yes: side(yes, true)?, no: side(no, false)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn inputs() -> [Trace; 2] {
        begin(Width::One, usize::MAX);
        [Trace::load(0, 1.0), Trace::load(1, -2.0)]
    }

    #[test]
    fn the_same_computation_is_one_node_and_constants_are_folded() {
        let [x, y] = inputs();
        assert_eq!(x * y + 3.0, Trace::of(3.0) + y * x);
        assert_eq!(x - (-y), x + y);
        assert_eq!((-x).abs() * 1.0, x.abs());
        assert_eq!(Trace::of(2.0).sqrt(), Trace::of(2f64.sqrt()));
        assert_eq!(-x * y, -(x * y));
        // −0 + 0 is 0.
        assert_ne!(x + 0.0, x);
        assert_eq!(x - 0.0, x);
        assert_eq!(Trace::select(x.lt(y), y, y), y);
    }

    #[test]
    fn what_cannot_be_minus_zero_needs_no_zero_added() {
        let [x, y] = inputs();
        assert_eq!((x * x + y) + 0.0, x * x + y);
        assert_eq!(Trace::zero() + (Trace::of(1.0) - x), Trace::of(1.0) - x);
        assert_ne!(x * y + 0.0, x * y);
        assert_ne!((x - y) + 0.0, x - y);
        // Roots, quotients and products of what has no sign; the larger of two.
        let size = (x * x) / y.max(Trace::of(2.0)) + x.abs().sqrt();
        assert_eq!(size + 0.0, size);
        assert_ne!(x.max(y) + 0.0, x.max(y));
    }

    #[test]
    fn a_source_without_impedance_keeps_its_pressure_whatever_flows() {
        let [q, y] = inputs();
        let (pressure, zero) = (Trace::of(1e5), Trace::zero());
        assert_eq!(pressure + zero * q, pressure);
        assert_eq!(pressure - (-(zero * q) * 0.5), pressure);
        assert_eq!(pressure + (zero - q), pressure - q);
        // What may be −0 becomes 0 where 0 is added.
        assert_ne!(y + zero * q, y);
    }

    #[test]
    fn what_is_right_for_all_lanes_is_not_chosen_from() {
        begin(Width::Lanes, usize::MAX);
        let [x, y] = [Trace::load(0, 1.0), Trace::load(1, -2.0)];
        let open = x.gt(Trace::zero());
        let flow = Trace::where_any(open, || dear(x), Trace::zero);
        let chosen = Trace::where_any(open, || Trace::select(open, dear(y), x), || x);
        let ops = end();
        assert!(matches!(ops[flow.node() as usize], Op::Where(..)));
        assert!(matches!(ops[chosen.node() as usize], Op::Select(..)));
        // Where the mask does not hold a single run takes the other side.
        begin(Width::One, usize::MAX);
        let x = Trace::load(0, 1.0);
        let flow = Trace::where_any(x.gt(Trace::zero()), || dear(x), Trace::zero);
        assert!(matches!(end()[flow.node() as usize], Op::Select(..)));
    }

    #[test]
    fn masks_that_exclude_each_other_hold_nowhere() {
        let [x, y] = inputs();
        let [one, two] = [1.0, 2.0].map(Trace::of);
        let never = x.lt(Trace::of(f64::NEG_INFINITY));
        assert_eq!(x.ge(two) & x.le(one), never);
        assert_eq!((y.gt(one) & !x.le(two)) & x.le(one), never);
        assert_eq!(!x.lt(one) & x.lt(one), never);
        assert_ne!(!x.lt(one) & x.le(one), never);
        assert_ne!(x.ge(one) & x.le(one), never);
        assert_ne!(x.ge(two) & y.le(one), never);
    }

    #[test]
    fn two_operations_become_one_of_the_same_bits() {
        let [x, y] = inputs();
        let least = Trace::select(x.lt(y), x, y).node() as usize;
        let largest = Trace::select(x.lt(y), y, x).node() as usize;
        let other = Trace::select(x.lt(y), y, y + x).node() as usize;
        let equal = (x.le(y) & x.ge(y)).0 as usize;
        let apart = (x.lt(y) | x.gt(y)).0 as usize;
        let ops = end();
        let (x, y) = (x.node(), y.node());
        assert_eq!(ops[least], Op::Least(x, y));
        assert_eq!(ops[largest], Op::Largest(y, x));
        assert!(matches!(ops[other], Op::Select(..)));
        assert!(matches!(ops[equal], Op::Equal(..)));
        assert!(matches!(ops[apart], Op::Apart(..)));
    }

    /// Worth a decision.
    fn dear(x: Trace) -> Trace {
        x.exp().exp()
    }

    #[test]
    fn every_answer_is_explored_and_settles_what_follows_from_it() {
        let law = |x: Trace, y: Trace| {
            let (low, far) = (x.lt(Trace::zero()), y.gt(x));
            if (low | far).any() {
                let chosen = dear(Trace::select(low, x, y));
                // Below here nothing is chosen twice.
                return match low.all() {
                    true => Trace::select(low, chosen, y),
                    false => dear(Trace::select(low, y, chosen) * 2.0),
                };
            }
            Trace::select(low, y, x)
        };
        let [x, y] = inputs();
        let tree = explore((0, 0.0), 10, false, &mut |_| law(x, y)).expect("can be followed");
        let ends: Vec<Trace> = tree.leaves().iter().map(|leaf| leaf.result).collect();
        assert!(tree.is_closed());
        let chosen = dear(Trace::select(x.lt(Trace::zero()), x, y));
        assert_eq!(ends, [chosen, dear(chosen * 2.0), x]);
        // The expected path first: x = 1 is not below 0, y = −2 is not above x. On a new tape, since
        // what is there already costs nothing.
        let [x, y] = inputs();
        let part = explore((0, 0.0), 1, false, &mut |_| law(x, y)).expect("can be followed");
        assert!(!part.is_closed());
        assert_eq!(part.leaves()[0].result, x);
    }

    #[test]
    fn in_lanes_an_answer_settles_nothing_but_itself() {
        let follow = |most: usize, fill: bool| {
            begin(Width::Lanes, usize::MAX);
            let [x, y] = [Trace::load(0, 1.0), Trace::load(1, 2.0)];
            let mut law = |_: Probe| {
                let low = x.lt(Trace::zero());
                if low.any() { dear(Trace::select(low, x, y)) } else { y }
            };
            let tree = explore((0, 0.0), most, fill, &mut law).expect("can be followed");
            (tree, dear(Trace::select(x.lt(Trace::zero()), x, y)))
        };
        let (tree, low) = follow(10, false);
        assert_eq!(tree.leaves().len(), 2);
        assert_eq!(tree.leaves()[0].result, low);
        // The expected path, and all others in one.
        assert_eq!(follow(1, true).0, tree);
    }

    #[test]
    fn what_costs_little_is_computed_and_not_decided() {
        let [x, y] = inputs();
        let mut law = |_: Probe| {
            let low = x.lt(y);
            if low.any() { Trace::select(low, x * y, y) } else { y }
        };
        let tree = explore((0, 0.0), 9, false, &mut law).expect("can be followed");
        let end = Trace::select(x.lt(y), x * y, y);
        assert_eq!(tree.leaves().len(), 1);
        assert_eq!(tree.leaves()[0].result, end);
    }

    #[test]
    fn what_a_choice_guards_is_not_decided_whatever_it_costs() {
        for width in [Width::One, Width::Lanes] {
            begin(width, usize::MAX);
            let [x, y] = [Trace::load(0, 1.0), Trace::load(1, 2.0)];
            let mut law = |_: Probe| {
                let low = x.lt(y);
                if low.any() { Trace::select(low, dear(x), y) } else { y }
            };
            let tree = explore((0, 0.0), 9, false, &mut law).expect("can be followed");
            assert_eq!(tree.leaves().len(), 1);
            assert_eq!(tree.leaves()[0].result, Trace::select(x.lt(y), dear(x), y));
        }
    }

    #[test]
    fn who_computes_with_time_by_himself_is_found_out() {
        let [x, _] = inputs();
        let time = (3, 0.5);
        let look = |now: Probe| {
            Trace::looks_at_clock();
            now
        };
        let fair = explore(time, 9, false, &mut |now: Probe| x * Trace::of(look(now).time));
        assert!(fair.is_ok());
        for unfair in [
            &mut (|now: Probe| x * (look(now).time + 1e-3)) as &mut dyn FnMut(Probe) -> Trace,
            &mut |now: Probe| if look(now).time > 2.0 { x } else { -x },
            &mut |now: Probe| if look(now).time > 0.0 { x } else { -x },
            &mut |now: Probe| x * (look(now).tick % 7) as f64,
        ] {
            assert!(explore(time, 9, false, unfair).is_err());
        }
        // So is who wants a value that is not there yet.
        assert!(explore(time, 9, false, &mut |_| x * x.first()).is_err());
        assert!(explore(time, 9, false, &mut |_| x.apply(|x| (x.asin(), 0.0))).is_err());
        assert!(
            explore(time, 9, false, &mut |_| Trace::of(0.5).apply(|x| (x.asin(), 0.0))).is_ok()
        );
    }

    #[test]
    fn who_asks_until_an_answer_comes_is_refused_and_not_waited_for() {
        for is_asked_above in [false, true] {
            let [x, _] = inputs();
            let endless = explore((0, 0.0), 5, false, &mut |_| {
                let (mut y, far) = (x, Trace::of(1e300));
                while if is_asked_above { !y.gt(far).any() } else { y.lt(far).any() } {
                    y = y + 1.0;
                }
                y
            });
            assert!(endless.is_err());
        }
    }

    /// Where programs are built to abort, nothing can be left by unwinding.
    #[test]
    fn who_was_refused_and_cannot_be_left_is_told_yes_and_no_in_turn() {
        let [x, y] = inputs();
        let mask = x.lt(y).0;
        with(|tape| tape.refusal = Some("for a reason"));
        let answers: Vec<bool> = (0..4).map(|_| with(|tape| tape.decide(mask, true))).collect();
        assert_eq!(answers, [true, false, true, false]);
        with(|tape| tape.refusal = None);
    }

    #[test]
    fn every_operation_has_a_key_of_its_own() {
        use Op::{
            Add, And, Angle, Apart, Call, Constant, Div, Equal, Largest, Least, Less, LessEqual,
            Load, Mul, Neg, Not, Or, Parameter, Power, Result, Select, Stamp, Sub, Time, Truth,
            Where,
        };
        let mut all = vec![Stamp, Truth(false), Truth(true)];
        for a in [0, 1, 7, Node::MAX] {
            all.extend([Load(a), Parameter(a), Time(a), Result(a), Neg(a), Not(a)]);
            all.push(Constant(u64::from(a)));
            let functions =
                [Function::Sqrt, Function::Abs, Function::Exp, Function::Ln, Function::Tanh];
            all.extend(functions.map(|function| Call(function, a)));
            all.push(Call(Function::Floor, a));
            let named = [
                Named::Sin,
                Named::Cos,
                Named::Atan,
                Named::Sinh,
                Named::Cosh,
                Named::Log10,
                Named::Ceil,
                Named::Round,
            ];
            all.extend(named.map(|function| Call(Function::Named(function), a)));
            for b in [0, 2, Node::MAX] {
                all.extend([Add(a, b), Sub(a, b), Mul(a, b), Div(a, b), Power(a, b), Angle(a, b)]);
                all.extend([Less(a, b), LessEqual(a, b), And(a, b), Or(a, b)]);
                all.extend([Least(a, b), Largest(a, b), Equal(a, b), Apart(a, b)]);
                all.extend([0, 3, Node::MAX].map(|c| Select(a, b, c)));
                all.extend([0, 3, Node::MAX].map(|c| Where(a, b, c)));
            }
        }
        let keys: HashSet<Key> = all.iter().map(|op| op.key()).collect();
        let ops: HashSet<Op> = all.iter().copied().collect();
        assert_eq!((keys.len(), ops.len()), (all.len(), all.len()));
    }

    #[test]
    fn a_panic_of_who_is_followed_is_not_taken_for_a_refusal() {
        let [x, _] = inputs();
        let panics = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let mut law = |_: Probe| -> Trace { resume_unwind(Box::new("of its own")) };
            explore((0, 0.0), 5, false, &mut law).is_ok()
        }));
        assert_eq!(panics.unwrap_err().downcast_ref(), Some(&"of its own"));
        // What comes next is followed as if nothing had been.
        assert!(explore((0, 0.0), 5, false, &mut |_| x * 2.0).is_ok());
    }

    #[test]
    fn an_iteration_is_followed_as_far_as_allowed() {
        let [x, _] = inputs();
        let longest = Cell::new(0);
        let tree = explore((0, 0.0), 5, false, &mut |_| {
            let mut y = x;
            for i in 0..60 {
                if y.squared().lt(Trace::of(1e-3)).all() {
                    break;
                }
                longest.set(longest.get().max(i));
                y = y * 0.5 + dear(y) * 1e-300;
            }
            y
        });
        let tree = tree.expect("can be followed");
        assert_eq!(tree.leaves().len(), 5);
        assert!(!tree.is_closed());
    }
}
