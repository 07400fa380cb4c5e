//! A signal computed by a script.
//!
//! Hopsan's script language is read elsewhere; what arrives here is a program for a small stack
//! machine.

use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[ComponentType::of::<Script>()];

/// Output computed from one input by a script that runs in every step, and once at the start.
///
/// The program is the script in reverse Polish order, words separated by white space:
///
/// - a number such as `2` or `-1.5e3`, `in`, `out` (as last written) or `$i` (variable number i, from
///   0) puts a value on the stack;
/// - `=out` or `=$i` takes the top value and stores it;
/// - `+ - * / ^ < > & |` and `atan2 pow fmod min max` take two values, the second operand on top, and
///   put back one;
/// - `neg` and `cos sin tan acos asin atan cosh sinh tanh exp log log10 sqrt ceil floor abs` take one
///   and put back one.
///
/// Comparisons give 1 or 0; `&` and `|` take values above ½ as true. Variables are 0 at first and
/// keep their values from step to step; what is left on the stack is forgotten. The script
/// `b=2; a=2*b; out=a*in+3` is the program `2 =$0 2 $0 * =$1 $1 in * 3 + =out`.
#[component("hopsan.SignalNumHopSISO", s, constants = Program)]
pub struct Script {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// – — file that holds the script [–]
    #[parameter(name = "scriptfile", default = "")]
    pub file: String,
    /// – — the script as a program [–]
    #[parameter(name = "program", default = "")]
    pub program: String,
    /// y — result [any]
    #[output]
    out: Output,
}

/// A function of one number, with its slope.
type Unary = fn(f64) -> (f64, f64);
/// A function of two numbers, with its slopes.
type Binary = fn(f64, f64) -> (f64, f64, f64);

const UNARY: &[(&str, Unary)] = &[
    ("neg", |x| (-x, -1.0)),
    ("cos", |x| (x.cos(), -x.sin())),
    ("sin", |x| (x.sin(), x.cos())),
    ("tan", |x| (x.tan(), 1.0 + x.tan() * x.tan())),
    ("acos", |x| (x.acos(), -1.0 / (1.0 - x * x).sqrt())),
    ("asin", |x| (x.asin(), 1.0 / (1.0 - x * x).sqrt())),
    ("atan", |x| (x.atan(), 1.0 / (1.0 + x * x))),
    ("cosh", |x| (x.cosh(), x.sinh())),
    ("sinh", |x| (x.sinh(), x.cosh())),
    ("tanh", |x| (x.tanh(), 1.0 - x.tanh() * x.tanh())),
    ("exp", |x| (x.exp(), x.exp())),
    ("log", |x| (x.ln(), 1.0 / x)),
    ("log10", |x| (x.log10(), std::f64::consts::LOG10_E / x)),
    ("sqrt", |x| (x.sqrt(), if x > 0.0 { 0.5 / x.sqrt() } else { 0.0 })),
    ("ceil", |x| (x.ceil(), 0.0)),
    ("floor", |x| (x.floor(), 0.0)),
    ("abs", |x| (x.abs(), if x < 0.0 { -1.0 } else { 1.0 })),
];

const BINARY: &[(&str, Binary)] = &[
    ("+", |x, y| (x + y, 1.0, 1.0)),
    ("-", |x, y| (x - y, 1.0, -1.0)),
    ("*", |x, y| (x * y, y, x)),
    ("/", |x, y| (x / y, 1.0 / y, -x / (y * y))),
    ("^", power),
    ("pow", power),
    ("<", |x, y| (truth(x < y), 0.0, 0.0)),
    (">", |x, y| (truth(x > y), 0.0, 0.0)),
    ("&", |x, y| (truth(x > 0.5 && y > 0.5), 0.0, 0.0)),
    ("|", |x, y| (truth(x > 0.5 || y > 0.5), 0.0, 0.0)),
    ("atan2", |y, x| (y.atan2(x), x / (x * x + y * y), -y / (x * x + y * y))),
    ("fmod", |x, y| (x % y, 1.0, -(x / y).trunc())),
    ("min", |x, y| if y < x { (y, 0.0, 1.0) } else { (x, 1.0, 0.0) }),
    ("max", |x, y| if y > x { (y, 0.0, 1.0) } else { (x, 1.0, 0.0) }),
];

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn power(x: f64, y: f64) -> (f64, f64, f64) {
    let value = x.powf(y);
    (value, y * x.powf(y - 1.0), if x > 0.0 { value * x.ln() } else { 0.0 })
}

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Number(usize),
    Input,
    Output,
    Variable(usize),
    SetOutput,
    SetVariable(usize),
    Unary(Unary),
    Binary(Binary),
}

/// The most variables a program may have.
const MOST_VARIABLES: usize = 1000;

/// A program that has been read, with its numbers.
#[derive(Clone, Debug)]
pub struct Program<T> {
    instructions: Box<[Instruction]>,
    numbers: Box<[T]>,
    variables: usize,
    /// Most values on the stack.
    depth: usize,
}

impl<T: Num> Program<T> {
    /// The same program in another number type.
    pub fn map<U: Num>(&self, f: &mut dyn FnMut(T) -> U) -> Program<U> {
        Program {
            instructions: self.instructions.clone(),
            numbers: self.numbers.iter().map(|&x| f(x)).collect(),
            variables: self.variables,
            depth: self.depth,
        }
    }

    /// Whether they differ in numbers alone.
    #[wide]
    pub fn agrees(&self, other: &Self) -> bool {
        self.variables == other.variables
            && self.instructions.len() == other.instructions.len()
            && self.instructions.iter().zip(&other.instructions).all(|(one, other)| one.is(other))
    }
}

impl Instruction {
    /// Whether it does the same. Two functions at one place do, whatever their names.
    fn is(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Self::Number(a), Self::Number(b))
            | (Self::Variable(a), Self::Variable(b))
            | (Self::SetVariable(a), Self::SetVariable(b)) => a == b,
            (Self::Unary(a), Self::Unary(b)) => std::ptr::fn_addr_eq(a, b),
            (Self::Binary(a), Self::Binary(b)) => std::ptr::fn_addr_eq(a, b),
            (one, other) => std::mem::discriminant(&one) == std::mem::discriminant(&other),
        }
    }
}

/// Index of variable `$i`.
fn variable(word: &str) -> Option<usize> {
    word.strip_prefix('$')?.parse().ok().filter(|&i| i < MOST_VARIABLES)
}

fn function<F: Copy>(table: &[(&str, F)], word: &str) -> Option<F> {
    table.iter().find(|(name, _)| *name == word).map(|&(_, f)| f)
}

impl Program<f64> {
    /// Reads a program; the word that is wrong otherwise, and why.
    fn read(text: &str) -> Result<Self, (&str, &'static str)> {
        let (mut instructions, mut numbers) = (Vec::new(), Vec::new());
        let (mut variables, mut depth, mut height) = (0, 0, 0usize);
        for word in text.split_whitespace() {
            let assigned = word.strip_prefix('=');
            let (instruction, takes, gives) = if word == "in" {
                (Instruction::Input, 0, 1)
            } else if word == "out" {
                (Instruction::Output, 0, 1)
            } else if assigned == Some("out") {
                (Instruction::SetOutput, 1, 0)
            } else if let Some(i) = variable(word) {
                (Instruction::Variable(i), 0, 1)
            } else if let Some(i) = assigned.and_then(variable) {
                (Instruction::SetVariable(i), 1, 0)
            } else if let Some(f) = function(UNARY, word) {
                (Instruction::Unary(f), 1, 1)
            } else if let Some(f) = function(BINARY, word) {
                (Instruction::Binary(f), 2, 1)
            } else if let Ok(x) = word.parse() {
                numbers.push(x);
                (Instruction::Number(numbers.len() - 1), 0, 1)
            } else {
                return Err((word, "is no instruction"));
            };
            if let Instruction::Variable(i) | Instruction::SetVariable(i) = instruction {
                variables = variables.max(i + 1);
            }
            height = height.checked_sub(takes).ok_or((word, "lacks an operand"))? + gives;
            depth = depth.max(height);
            instructions.push(instruction);
        }
        Ok(Self { instructions: instructions.into(), numbers: numbers.into(), variables, depth })
    }
}

impl Physics for Script {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Program<f64>, Refusal> {
        Program::read(&self.program).map_err(|(word, why)| {
            Refusal::new(
                "program",
                format!("`{word}` {why}"),
                "write the script in reverse Polish order, such as `in 2 * =out`",
            )
        })
    }

    /// Variables, then the stack.
    fn history(k: &Program<f64>) -> usize {
        k.variables + k.depth
    }

    fn start<T: Num>(k: &Program<T>, io: &mut Step<'_, T>) {
        io.history().fill(T::zero());
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Program<T>, io: &mut Step<'_, T>) {
        // One above the top value.
        let mut top = k.variables;
        for instruction in &k.instructions {
            let value = match *instruction {
                Instruction::Number(i) => k.numbers[i],
                Instruction::Input => io.input(Self::INPUT),
                Instruction::Output => io.output(Self::OUT),
                Instruction::Variable(i) => io.history_at(i),
                Instruction::SetOutput => {
                    top -= 1;
                    let value = io.history_at(top);
                    io.set_output(Self::OUT, value);
                    continue;
                }
                Instruction::SetVariable(i) => {
                    top -= 1;
                    let value = io.history_at(top);
                    io.history()[i] = value;
                    continue;
                }
                Instruction::Unary(f) => {
                    top -= 1;
                    io.history_at(top).apply(f)
                }
                Instruction::Binary(f) => {
                    top -= 2;
                    io.history_at(top).apply2(io.history_at(top + 1), f)
                }
            };
            io.history()[top] = value;
            top += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    fn script(program: &str) -> Script {
        Script { input: 0.0, file: String::new(), program: program.to_owned() }
    }
    fn run(program: &str, input: f64) -> f64 {
        Bench::new(&script(program), 1e-3).input(0, input).start().output(0)
    }

    #[test]
    fn program_computes_what_the_script_says_from_the_start_on() {
        let mut bench = Bench::new(&script("2 =$0 2 $0 * =$1 $1 in * 3 + =out"), 1e-3);
        assert_eq!(bench.input(0, 5.0).start().output(0), 23.0);
        assert_eq!(bench.input(0, -1.0).step().output(0), -1.0);
    }

    #[test]
    fn variables_and_output_are_remembered() {
        let mut bench = Bench::new(&script("$0 in + =$0 out $0 max =out"), 1e-3);
        let sums: Vec<f64> = [1.0, 2.0, -5.0, 3.0]
            .iter()
            .enumerate()
            .map(|(n, &x)| {
                bench.input(0, x);
                if n == 0 { bench.start() } else { bench.step() }.output(0)
            })
            .collect();
        assert_eq!(sums, [1.0, 3.0, 3.0, 3.0]);
    }

    #[test]
    fn operators_take_the_second_operand_from_the_top() {
        assert_eq!(run("in 3 - =out", 10.0), 7.0);
        assert_eq!(run("8 in / 2 ^ =out", 4.0), 4.0);
        assert_eq!(run("in neg 3 fmod =out", 7.0), -1.0);
        assert_eq!(run("in 3 < 0.6 & in 100 > | =out", 2.0), 1.0);
        assert_eq!(run("in 0 atan2 =out", 1.0), std::f64::consts::FRAC_PI_2);
        assert_eq!(run("-2 3 pow in min =out", 1.0), -8.0);
    }

    /// Every slope against a central difference, at a point inside of every domain.
    #[test]
    fn functions_have_their_slopes() {
        let (x, y, h) = (0.37, 0.82, 1e-6);
        let close = |slope: f64, ahead: f64, behind: f64| {
            (slope - (ahead - behind) / (2.0 * h)).abs() < 1e-8
        };
        for (name, f) in UNARY {
            assert!(close(f(x).1, f(x + h).0, f(x - h).0), "{name}");
        }
        for (name, f) in BINARY {
            assert!(close(f(x, y).1, f(x + h, y).0, f(x - h, y).0), "{name}");
            assert!(close(f(x, y).2, f(x, y + h).0, f(x, y - h).0), "{name}");
        }
    }

    #[test]
    fn words_that_mean_nothing_or_lack_operands_are_refused() {
        let refusal = |program: &str| {
            let around = Surroundings::of::<Script>(1e-3);
            Bench::within(&script(program), &around).err().map(|r| r.message)
        };
        assert_eq!(refusal("in 2 * =in").as_deref(), Some("`=in` is no instruction"));
        assert_eq!(refusal("in +").as_deref(), Some("`+` lacks an operand"));
        assert_eq!(refusal("$1000").as_deref(), Some("`$1000` is no instruction"));
        assert_eq!(refusal(""), None);
    }
}
