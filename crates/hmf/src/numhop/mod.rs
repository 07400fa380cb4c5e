//! NumHop, the small expression language of parameters and scripts.
//!
//! Its rules are those of its interpreter, which splits a text at operators from the loosest to the tightest:
//! `=`, then `+ - |`, then `* / &`, then `^ < >`. Hence `-2^2` is −4 and `a+1<2` is a+(1<2); at most one of `^ < >`
//! may stand in a row, two operators may not meet (`2*-3`) except signs, and the arguments of a function are cut at
//! the first comma, so that a function with a comma cannot stand inside another. White space means nothing,
//! statements end with `;` or the line, `#` starts a comment, and the value is that of the last statement.
//!
//! A text is read once into a [`Program`], a list of steps for a stack machine over numbered variables, and can then
//! be evaluated any number of times without allocation:
//!
//! ```
//! use fluxline_hmf::numhop::Program;
//!
//! let program = Program::parse("a = 2*in; out = a + 3").unwrap();
//! let mut values = vec![0.0; program.variables().len()];
//! values[program.slot("in").unwrap()] = 5.0;
//! let mut stack = Vec::with_capacity(program.stack());
//! assert_eq!(program.evaluate(&mut values, &mut stack), 13.0);
//! assert_eq!(values[program.slot("out").unwrap()], 13.0);
//! ```
//!
//! Names may hold dots (`self.p`, `valve.P1.Pressure`); whoever evaluates decides what they mean. `pi` is a constant.

mod parse;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

/// Longer statements are refused: no one writes them, and reading them would take long.
pub const MAX_STATEMENT: usize = 1 << 16;
/// Longer scripts are refused.
pub const MAX_SCRIPT: usize = 16 << 20;
/// Parentheses within parentheses.
pub const MAX_NESTING: usize = 250;

type OfOne = fn(f64) -> f64;
type OfTwo = fn(f64, f64) -> f64;

/// Functions of one argument.
const ONE: &[(&str, OfOne)] = &[
    ("cos", f64::cos),
    ("sin", f64::sin),
    ("tan", f64::tan),
    ("acos", f64::acos),
    ("asin", f64::asin),
    ("atan", f64::atan),
    ("cosh", f64::cosh),
    ("sinh", f64::sinh),
    ("tanh", f64::tanh),
    ("exp", f64::exp),
    ("log", f64::ln),
    ("log10", f64::log10),
    ("sqrt", f64::sqrt),
    ("ceil", f64::ceil),
    ("floor", f64::floor),
    ("abs", f64::abs),
];

/// Functions of two arguments.
const TWO: &[(&str, OfTwo)] = &[
    ("atan2", f64::atan2),
    ("pow", f64::powf),
    ("fmod", |a, b| a % b),
    // Those of the C++ library: with a NaN, the first argument.
    ("min", |a, b| if b < a { b } else { a }),
    ("max", |a, b| if a < b { b } else { a }),
];

#[derive(Clone, Copy, Debug)]
enum Step {
    Constant(f64),
    Load(u32),
    /// Leaves the value on the stack.
    Store(u32),
    Negate,
    Add,
    Subtract,
    Or,
    Multiply,
    Divide,
    And,
    Power,
    Less,
    Greater,
    One(u8),
    Two(u8),
}

/// One statement of a program.
#[derive(Clone, Debug)]
pub struct Statement {
    steps: Range<usize>,
    /// Where it stands in the text.
    pub range: Range<usize>,
    /// Variables that it reads before it has itself assigned them, each once.
    pub reads: Vec<usize>,
    /// Variables that it assigns, each once.
    pub writes: Vec<usize>,
}

/// A text that has been understood.
#[derive(Clone, Debug)]
pub struct Program {
    steps: Vec<Step>,
    variables: Vec<String>,
    statements: Vec<Statement>,
    stack: usize,
}

/// Why a text is no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong, without a full stop.
    pub message: String,
    /// Where, as bytes of the text.
    pub range: Range<usize>,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}

impl Program {
    /// Reads a text. One without any statement is an error.
    pub fn parse(text: &str) -> Result<Program, SyntaxError> {
        parse::parse(text)
    }

    /// The names of all variables; a variable's slot is its place in this list.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The slot of a variable.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|variable| variable == name)
    }

    /// The variables that must have a value before: those read before they are assigned, each once.
    pub fn inputs(&self) -> Vec<usize> {
        let mut is_known = vec![false; self.variables.len()];
        let mut inputs = Vec::new();
        for statement in &self.statements {
            for &slot in &statement.reads {
                if !std::mem::replace(&mut is_known[slot], true) {
                    inputs.push(slot);
                }
            }
            statement.writes.iter().for_each(|&slot| is_known[slot] = true);
        }
        inputs
    }

    /// The statements, in order.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The largest number of values that are on the stack at once.
    pub fn stack(&self) -> usize {
        self.stack
    }

    /// Gives a variable another name; if that exists already, the two are still two.
    pub fn rename(&mut self, slot: usize, name: String) {
        if let Some(variable) = self.variables.get_mut(slot) {
            *variable = name;
        }
    }

    /// The value of the last statement. Assigned variables keep their new values in `values`, which has one value per
    /// variable; missing ones count as zero. The stack only saves allocations: it is cleared first.
    pub fn evaluate(&self, values: &mut [f64], stack: &mut Vec<f64>) -> f64 {
        self.statements.iter().fold(0.0, |_, statement| self.run(statement, values, stack))
    }

    /// The program in reverse Polish order, as `hopsan.SignalNumHopSISO` takes it: variables that are
    /// not its input `in` or its output `out` are numbered.
    pub fn in_reverse_polish(&self) -> String {
        let word = |slot: u32| match self.variables.get(slot as usize).map(String::as_str) {
            Some(name @ ("in" | "out")) => name.to_owned(),
            _ => format!("${slot}"),
        };
        let mut words: Vec<String> = Vec::new();
        for statement in &self.statements {
            let steps = &self.steps[statement.steps.clone()];
            for (index, step) in steps.iter().enumerate() {
                match *step {
                    Step::Constant(value) => words.push(format!("{value:?}")),
                    Step::Load(slot) => words.push(word(slot)),
                    Step::Store(slot) => {
                        words.push(format!("={}", word(slot)));
                        // The value goes on to what stands to the left: `a = b = 2`.
                        if index + 1 < steps.len() {
                            words.push(word(slot));
                        }
                    }
                    Step::One(function) => words.push(ONE[usize::from(function)].0.to_owned()),
                    Step::Two(function) => words.push(TWO[usize::from(function)].0.to_owned()),
                    Step::Negate => words.push("neg".to_owned()),
                    Step::Add => words.push("+".to_owned()),
                    Step::Subtract => words.push("-".to_owned()),
                    Step::Or => words.push("|".to_owned()),
                    Step::Multiply => words.push("*".to_owned()),
                    Step::Divide => words.push("/".to_owned()),
                    Step::And => words.push("&".to_owned()),
                    Step::Power => words.push("^".to_owned()),
                    Step::Less => words.push("<".to_owned()),
                    Step::Greater => words.push(">".to_owned()),
                }
            }
        }
        words.join(" ")
    }

    /// The value of one statement.
    pub fn run(&self, statement: &Statement, values: &mut [f64], stack: &mut Vec<f64>) -> f64 {
        stack.clear();
        for step in &self.steps[statement.steps.clone()] {
            let value = match *step {
                Step::Constant(value) => value,
                Step::Load(slot) => values.get(slot as usize).copied().unwrap_or(0.0),
                Step::Store(slot) => {
                    let value = stack.pop().unwrap_or(0.0);
                    if let Some(variable) = values.get_mut(slot as usize) {
                        *variable = value;
                    }
                    value
                }
                Step::Negate => 0.0 - stack.pop().unwrap_or(0.0),
                Step::One(function) => ONE[usize::from(function)].1(stack.pop().unwrap_or(0.0)),
                binary => {
                    let right = stack.pop().unwrap_or(0.0);
                    let left = stack.pop().unwrap_or(0.0);
                    combine(binary, left, right)
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(0.0)
    }
}

fn combine(step: Step, left: f64, right: f64) -> f64 {
    let is_true = |value: f64| value > 0.5;
    let number = |statement: bool| f64::from(u8::from(statement));
    match step {
        Step::Add => left + right,
        Step::Subtract => left - right,
        Step::Or => number(is_true(left) || is_true(right)),
        Step::Multiply => left * right,
        Step::Divide => left / right,
        Step::And => number(is_true(left) && is_true(right)),
        Step::Power => left.powf(right),
        Step::Less => number(left < right),
        Step::Greater => number(left > right),
        Step::Two(function) => TWO[usize::from(function)].1(left, right),
        // The others take one value and never come here.
        _ => right,
    }
}

/// The names of all functions.
pub fn functions() -> impl Iterator<Item = &'static str> {
    ONE.iter().map(|function| function.0).chain(TWO.iter().map(|function| function.0))
}
