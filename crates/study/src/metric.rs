//! Metrics: numbers that a run is judged by, `overshoot(load.x)`, `max(load.x) - 0.2 m`.
//!
//! A metric is an expression with units over functions of signals. Signals are variables of the
//! circuit, or sums, differences and products of them. The functions are computed while the run goes
//! on, from every step; what they need to remember does not grow with the number of runs.

use crate::vary::{quantity, split};
use fluxline_core::number::Num;
use fluxline_core::state::State;
use fluxline_core::variables::{Slot, Variable, Variables};
use fluxline_diagnostics::{Code, Diagnostic, list_names, nearest};
use fluxline_units::{Dimension, Expr, Quantity, Unit};
use std::ops::Range;

/// Functions of signals, with what they are.
pub const FUNCTIONS: &[(&str, &str)] = &[
    ("max", "largest value"),
    ("min", "smallest value"),
    ("initial", "first value"),
    ("final", "last value"),
    ("mean", "mean over time"),
    ("rms", "root of the mean square over time"),
    ("peak_to_peak", "largest less smallest value"),
    ("integral", "integral over time"),
    ("overshoot", "how far it goes beyond its last value (or a given one), over the whole way"),
    (
        "settling_time",
        "time after which it stays within 2 % (or a given share) of the whole way around its last value",
    ),
    ("rise_time", "time from 10 % to 90 % of the way from its first to its last value"),
    ("iae", "integral of the absolute difference of two signals"),
    ("ise", "integral of the squared difference of two signals"),
    ("itae", "integral of time times the absolute difference of two signals"),
    ("energy", "integral of the power at a port: effort times flow"),
];

/// Samples of a signal that are kept for times of settling and rising; a longer run is kept in as
/// many blocks, each with its smallest and largest value.
const MOST_KEPT: u64 = 1 << 19;

/// One step of a signal's computation, on a stack.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    /// A variable, by its place in [`Metrics::slots`].
    Read(usize),
    Number(f64),
    Add,
    Subtract,
    Multiply,
}

/// A signal.
#[derive(Clone, Debug, PartialEq)]
struct Signal {
    ops: Vec<Op>,
}

/// Depth of the stack of a signal: every bracket needs one.
const STACK: usize = 16;

impl Signal {
    #[inline(always)]
    fn value<T: Num>(&self, read: impl Fn(usize) -> T) -> T {
        if let [Op::Read(place)] = self.ops[..] {
            return read(place);
        }
        let mut stack = [T::zero(); STACK];
        let mut top = 0;
        for op in &self.ops {
            match op {
                Op::Read(place) => {
                    stack[top] = read(*place);
                    top += 1;
                }
                Op::Number(x) => {
                    stack[top] = T::of(*x);
                    top += 1;
                }
                _ => {
                    let (a, b) = (stack[top - 2], stack[top - 1]);
                    top -= 1;
                    stack[top - 1] = match op {
                        Op::Add => a + b,
                        Op::Subtract => a - b,
                        _ => a * b,
                    };
                }
            }
        }
        stack[0]
    }
}

/// What is followed of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follow {
    Max,
    Min,
    First,
    Last,
    Sum,
    SumOfSquares,
    SumOfSizes,
    SumOfTimedSizes,
    Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gauge {
    signal: usize,
    follow: Follow,
}

/// A function of signals, by the gauges that it needs.
#[derive(Clone, Debug)]
enum Function {
    Plain(usize),
    PeakToPeak {
        max: usize,
        min: usize,
    },
    /// ∫x dt by the trapezoidal rule: all samples, less half of the first and the last.
    Integral {
        sum: usize,
        first: usize,
        last: usize,
        power: Power,
        over: Over,
    },
    Overshoot {
        max: usize,
        min: usize,
        first: usize,
        last: usize,
        target: Option<usize>,
    },
    Settling {
        trace: usize,
        first: usize,
        last: usize,
        band: f64,
    },
    Rise {
        trace: usize,
        first: usize,
        last: usize,
    },
}

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Power {
    Value,
    Square,
    Size,
    TimedSize,
}

/// What becomes of an integral.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Nothing,
    Time,
    TimeThenRoot,
}

/// A metric, ready to be computed.
#[derive(Clone, Debug)]
pub struct Metric {
    /// As it was written.
    pub text: String,
    /// Its dimension.
    pub dimension: Dimension,
    expression: Expr,
    /// Its functions, called `_0`, `_1` … in the expression, with their dimensions.
    functions: Vec<(Function, Dimension)>,
}

impl Metric {
    /// Whether it changes smoothly with what a run does: times that are counted in steps jump.
    pub fn is_smooth(&self) -> bool {
        let jumps = |function: &Function| {
            matches!(function, Function::Settling { .. } | Function::Rise { .. })
        };
        !self.functions.iter().any(|(function, _)| jumps(function))
    }
}

/// The metrics of a study.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Them.
    pub all: Vec<Metric>,
    /// The variables that they look at, each once.
    slots: Vec<Slot>,
    signals: Vec<Signal>,
    gauges: Vec<Gauge>,
}

fn wrong(text: &str, message: String) -> Diagnostic {
    Diagnostic::error(Code::BadMetric, message).note(format!("in the metric `{text}`"))
}

impl Metrics {
    /// The variables that they look at, each once.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The place of a variable among those that are looked at.
    fn place(&mut self, slot: Slot) -> usize {
        self.slots.iter().position(|other| *other == slot).unwrap_or_else(|| {
            self.slots.push(slot);
            self.slots.len() - 1
        })
    }

    /// Reads metrics of a circuit.
    pub fn parse<'t>(
        texts: impl IntoIterator<Item = &'t str>,
        variables: &Variables,
    ) -> Result<Self, Diagnostic> {
        let mut metrics = Self::default();
        for text in texts {
            let mut reader = Reader {
                text,
                variables,
                metrics: &mut metrics,
                functions: Vec::new(),
                calls: Vec::new(),
            };
            let plain = reader.replace_functions(text)?;
            let (functions, calls) = (reader.functions, reader.calls);
            let index = |name: &str| name.strip_prefix('_').and_then(|n| n.parse::<usize>().ok());
            let is_known = |name: &str| index(name).is_some_and(|i| i < functions.len());
            let help = "functions of signals are max, min, final, mean, rms, overshoot, settling_time and others; `max(load.x) - 0.2 m` is a metric";
            let expression = Expr::parse(&plain, &is_known)
                .map_err(|error| wrong(text, with_calls(&error.to_string(), &calls)).help(help))?;
            let dimension_of = |name: &str| index(name).map(|i| functions[i].1);
            let dimension = expression
                .check(&dimension_of)
                .map_err(|error| wrong(text, with_calls(&error.to_string(), &calls)).help(help))?;
            if functions.is_empty() {
                return Err(wrong(text, format!("`{text}` looks at no signal")).help(help));
            }
            metrics.all.push(Metric { text: text.to_owned(), dimension, expression, functions });
        }
        Ok(metrics)
    }

    fn gauge(&mut self, signal: usize, follow: Follow) -> usize {
        let gauge = Gauge { signal, follow };
        self.gauges.iter().position(|one| *one == gauge).unwrap_or_else(|| {
            self.gauges.push(gauge);
            self.gauges.len() - 1
        })
    }

    fn signal(&mut self, signal: Signal) -> usize {
        self.signals.iter().position(|one| *one == signal).unwrap_or_else(|| {
            self.signals.push(signal);
            self.signals.len() - 1
        })
    }
}

struct Reader<'a> {
    text: &'a str,
    variables: &'a Variables,
    metrics: &'a mut Metrics,
    functions: Vec<(Function, Dimension)>,
    /// How they are written.
    calls: Vec<String>,
}

/// A message with functions as they are written in place of their names in the expression.
fn with_calls(message: &str, calls: &[String]) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let parts = message.split_inclusive(|c| !is_word(c)).map(|part| {
        let word = part.trim_end_matches(|c| !is_word(c));
        let index = word.strip_prefix('_').and_then(|number| number.parse::<usize>().ok());
        match index.and_then(|index| calls.get(index)) {
            Some(call) => format!("{call}{}", &part[word.len()..]),
            None => part.to_owned(),
        }
    });
    parts.collect()
}

impl Reader<'_> {
    /// The expression with a name of its own in place of each function of signals.
    fn replace_functions(&mut self, text: &str) -> Result<String, Diagnostic> {
        let mut plain = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '#' | '$');
            if !(first.is_ascii_alphabetic() || first == '_') {
                // A number keeps its exponent: `1e5` holds no name.
                let end = match first.is_ascii_digit() {
                    true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                    false => first.len_utf8(),
                };
                plain.push_str(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let Some(inside) = in_brackets(after) else {
                plain.push_str(word);
                rest = after;
                continue;
            };
            let arguments = split(inside);
            // Of several values, `max` and `min` are those of expressions.
            let is_function = FUNCTIONS.iter().any(|(name, _)| *name == word)
                && !(matches!(word, "max" | "min") && arguments.len() != 1);
            if is_function {
                let function = self.function(word, &arguments)?;
                plain.push_str(&format!("_{}", self.functions.len()));
                self.functions.push(function);
                self.calls.push(format!("{word}({inside})"));
            } else {
                let names: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
                let near = nearest(word, names.iter().copied());
                if !near.is_empty() && !["max", "min", "abs", "sqrt"].contains(&word) {
                    let message = format!("there is no function `{word}`");
                    let near = list_names(near);
                    return Err(wrong(self.text, message).help(format!("did you mean {near}?")));
                }
                let inner = self.replace_functions(inside)?;
                plain.push_str(&format!("{word}({inner})"));
            }
            rest = &after[inside.len() + 2..];
        }
        Ok(plain)
    }

    fn function(
        &mut self,
        name: &str,
        arguments: &[&str],
    ) -> Result<(Function, Dimension), Diagnostic> {
        let text = self.text;
        let count = |least: usize, most: usize| match (least..=most).contains(&arguments.len()) {
            true => Ok(()),
            false => {
                let number = match least == most {
                    true => format!("{least}"),
                    false => format!("{least} or {most}"),
                };
                let message = format!("`{name}` takes {number} arguments, not {}", arguments.len());
                let help = "the first is a signal, such as load.x or load.x - reference.out";
                Err(wrong(text, message).help(help))
            }
        };
        let overflow = || wrong(text, "its unit has too large an exponent".to_owned());
        let times = |a: Dimension, b: Dimension| a.checked_mul(b).ok_or_else(overflow);
        let time = Dimension::TIME;
        match name {
            "overshoot" | "settling_time" => count(1, 2)?,
            "iae" | "ise" | "itae" => count(1, 2)?,
            _ => count(1, 1)?,
        }
        if name == "energy" {
            let (signal, dimension) = self.power(arguments[0])?;
            let function = self.integral(signal, Power::Value, Over::Nothing);
            return Ok((function, times(dimension, time)?));
        }
        let difference;
        let argument = match (name, arguments) {
            ("iae" | "ise" | "itae", [one, reference]) => {
                difference = format!("({one}) - ({reference})");
                difference.as_str()
            }
            _ => arguments[0],
        };
        let (signal, dimension) = self.signal(argument)?;
        let first = self.metrics.gauge(signal, Follow::First);
        let last = self.metrics.gauge(signal, Follow::Last);
        Ok(match name {
            "max" => (Function::Plain(self.metrics.gauge(signal, Follow::Max)), dimension),
            "min" => (Function::Plain(self.metrics.gauge(signal, Follow::Min)), dimension),
            "initial" => (Function::Plain(first), dimension),
            "final" => (Function::Plain(last), dimension),
            "mean" => (self.integral(signal, Power::Value, Over::Time), dimension),
            "rms" => (self.integral(signal, Power::Square, Over::TimeThenRoot), dimension),
            "integral" => {
                (self.integral(signal, Power::Value, Over::Nothing), times(dimension, time)?)
            }
            "iae" => (self.integral(signal, Power::Size, Over::Nothing), times(dimension, time)?),
            "ise" => {
                let square = times(dimension, dimension)?;
                (self.integral(signal, Power::Square, Over::Nothing), times(square, time)?)
            }
            "itae" => {
                let moment = times(times(dimension, time)?, time)?;
                (self.integral(signal, Power::TimedSize, Over::Nothing), moment)
            }
            "peak_to_peak" => {
                let max = self.metrics.gauge(signal, Follow::Max);
                let min = self.metrics.gauge(signal, Follow::Min);
                (Function::PeakToPeak { max, min }, dimension)
            }
            "overshoot" => {
                let max = self.metrics.gauge(signal, Follow::Max);
                let min = self.metrics.gauge(signal, Follow::Min);
                let target = match arguments.get(1) {
                    None => None,
                    Some(target) => {
                        let (target, other) = self.signal(target)?;
                        let is_plain = other.is_dimensionless() || dimension.is_dimensionless();
                        if other != dimension && !is_plain {
                            return Err(self.differ(arguments, dimension, other));
                        }
                        Some(self.metrics.gauge(target, Follow::Last))
                    }
                };
                let function = Function::Overshoot { max, min, first, last, target };
                (function, Dimension::DIMENSIONLESS)
            }
            "settling_time" => {
                let band = match arguments.get(1) {
                    None => 0.02,
                    Some(band) => match quantity(band) {
                        Ok(band) if band.dimension.is_dimensionless() && band.value > 0.0 => {
                            band.value
                        }
                        _ => {
                            let message =
                                format!("`{band}` is not a share of the whole way, such as 0.02");
                            return Err(wrong(text, message));
                        }
                    },
                };
                let trace = self.metrics.gauge(signal, Follow::Trace);
                (Function::Settling { trace, first, last, band }, time)
            }
            _ => {
                let trace = self.metrics.gauge(signal, Follow::Trace);
                (Function::Rise { trace, first, last }, time)
            }
        })
    }

    fn differ(&self, arguments: &[&str], one: Dimension, other: Dimension) -> Diagnostic {
        let message = format!(
            "`{}` is {}, but `{}` is {}",
            arguments[0],
            one.with_article(),
            arguments[1],
            other.with_article()
        );
        wrong(self.text, message)
    }

    fn integral(&mut self, signal: usize, power: Power, over: Over) -> Function {
        let follow = match power {
            Power::Value => Follow::Sum,
            Power::Square => Follow::SumOfSquares,
            Power::Size => Follow::SumOfSizes,
            Power::TimedSize => Follow::SumOfTimedSizes,
        };
        Function::Integral {
            sum: self.metrics.gauge(signal, follow),
            first: self.metrics.gauge(signal, Follow::First),
            last: self.metrics.gauge(signal, Follow::Last),
            power,
            over,
        }
    }

    /// Effort times flow at a port.
    fn power(&mut self, port: &str) -> Result<(usize, Dimension), Diagnostic> {
        let pairs = [
            (".pressure", ".flow"),
            (".force", ".velocity"),
            (".torque", ".speed"),
            (".voltage", ".current"),
            ("#Pressure", "#Flow"),
            ("#Force", "#Velocity"),
            ("#Torque", "#AngularVelocity"),
            ("#Voltage", "#Current"),
        ];
        let found = pairs.iter().find_map(|(effort, flow)| {
            let effort = self.variables.find(&format!("{port}{effort}"))?;
            let flow = self.variables.find(&format!("{port}{flow}"))?;
            Some((effort, flow))
        });
        let Some((effort, flow)) = found else {
            let message = format!("there is no port `{port}` that power flows through");
            let help = "name a port, such as energy(pump.outlet), or integrate a product: integral(pump.outlet.pressure * pump.outlet.flow)";
            return Err(wrong(self.text, message).help(help));
        };
        let [one, other] = [effort.slot, flow.slot].map(|slot| self.metrics.place(slot));
        let ops = vec![Op::Read(one), Op::Read(other), Op::Multiply];
        let watts = product(dimension(&effort), dimension(&flow)).flatten();
        Ok((self.metrics.signal(Signal { ops }), watts.unwrap_or(Dimension::DIMENSIONLESS)))
    }

    fn signal(&mut self, text: &str) -> Result<(usize, Dimension), Diagnostic> {
        let mut parser = SignalParser { rest: text, ops: Vec::new(), reader: self, depth: 0 };
        let dimension = parser.sum()?.unwrap_or(Dimension::DIMENSIONLESS);
        let (rest, ops) = (parser.rest.trim(), parser.ops);
        if !rest.is_empty() {
            return Err(self.not_a_signal(text, rest));
        }
        let (mut height, mut highest) = (0usize, 0);
        for op in &ops {
            match op {
                Op::Read(_) | Op::Number(_) => height += 1,
                _ => height -= 1,
            }
            highest = highest.max(height);
        }
        if highest > STACK {
            return Err(wrong(self.text, format!("`{text}` is nested too deeply")));
        }
        Ok((self.metrics.signal(Signal { ops }), dimension))
    }

    fn not_a_signal(&self, text: &str, at: &str) -> Diagnostic {
        let message = format!("`{text}` cannot be read as a signal at `{at}`");
        wrong(self.text, message)
            .help("signals are variables, quantities, and their sums, differences and products: load.x - reference.out, load.x - 0.2 m")
    }
}

/// The dimension of a variable. Signals and plain numbers have none: they stand for anything.
fn dimension(variable: &Variable) -> Option<Dimension> {
    let dimension = Unit::parse(variable.unit).ok()?.dimension();
    (!dimension.is_dimensionless()).then_some(dimension)
}

/// Of a product; `None` when an exponent is too large.
fn product(one: Option<Dimension>, other: Option<Dimension>) -> Option<Option<Dimension>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Some(one.checked_mul(other)?)),
        (one, other) => Some(one.or(other)),
    }
}

/// What stands in the brackets that a text begins with.
fn in_brackets(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('(')?;
    let mut depth = 1;
    for (at, c) in inside.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return Some(&inside[..at]);
        }
    }
    None
}

struct SignalParser<'a, 'r, 'v> {
    rest: &'a str,
    ops: Vec<Op>,
    reader: &'r mut Reader<'v>,
    depth: usize,
}

impl SignalParser<'_, '_, '_> {
    fn take(&mut self, signs: &[char]) -> Option<char> {
        let trimmed = self.rest.trim_start();
        let first = trimmed.chars().next().filter(|c| signs.contains(c))?;
        self.rest = &trimmed[first.len_utf8()..];
        Some(first)
    }

    fn sum(&mut self) -> Result<Option<Dimension>, Diagnostic> {
        let mut sum = self.product()?;
        while let Some(sign) = self.take(&['+', '-', '−']) {
            let other = self.product()?;
            if let (Some(dimension), Some(other)) = (sum, other)
                && dimension != other
            {
                let message = format!(
                    "{} and {} cannot be added or subtracted",
                    dimension.with_article(),
                    other.with_article()
                );
                return Err(wrong(self.reader.text, message));
            }
            sum = sum.or(other);
            self.ops.push(if sign == '+' { Op::Add } else { Op::Subtract });
        }
        Ok(sum)
    }

    fn product(&mut self) -> Result<Option<Dimension>, Diagnostic> {
        let mut dimension = self.factor()?;
        while self.take(&['*', '·']).is_some() {
            let other = self.factor()?;
            let Some(both) = product(dimension, other) else {
                let message = "its unit has too large an exponent".to_owned();
                return Err(wrong(self.reader.text, message));
            };
            dimension = both;
            self.ops.push(Op::Multiply);
        }
        Ok(dimension)
    }

    fn factor(&mut self) -> Result<Option<Dimension>, Diagnostic> {
        if self.take(&['(']).is_some() {
            self.depth += 1;
            if self.depth > STACK {
                return Err(wrong(self.reader.text, "it is nested too deeply".to_owned()));
            }
            let dimension = self.sum()?;
            if self.take(&[')']).is_none() {
                return Err(self.reader.not_a_signal(self.rest, "the end: a bracket is open"));
            }
            self.depth -= 1;
            return Ok(dimension);
        }
        let text = self.rest.trim_start();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '#' | '$');
        let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        let Some(variable) = self.reader.variables.find(word) else {
            if let Some((quantity, rest)) = leading_quantity(text) {
                self.rest = rest;
                self.ops.push(Op::Number(quantity.value));
                let dimension = quantity.dimension;
                return Ok((!dimension.is_dimensionless()).then_some(dimension));
            }
            if word.is_empty() {
                return Err(self.reader.not_a_signal(text, text));
            }
            let message = format!("there is no variable `{word}`");
            let near = self.reader.variables.suggestions(word);
            let mut problem = wrong(self.reader.text, message);
            if !near.is_empty() {
                let near = list_names(near.iter().map(String::as_str));
                problem = problem.help(format!("did you mean {near}?"));
            }
            return Err(problem);
        };
        let place = self.reader.metrics.place(variable.slot);
        self.ops.push(Op::Read(place));
        Ok(dimension(&variable))
    }
}

/// The quantity that a text begins with, and what follows: the longest, since units have `*` and `/`, too.
fn leading_quantity(text: &str) -> Option<(Quantity, &str)> {
    const LONGEST: usize = 80;
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let ends = text.char_indices().map(|(at, _)| at).skip(1).chain([text.len()]);
    let ends: Vec<usize> = ends.take_while(|at| *at <= LONGEST && is_number).collect();
    ends.into_iter().rev().find_map(|end| {
        let (quantity, rest) = text.split_at(end);
        // Not in the middle of a word.
        let is_cut = quantity.ends_with(char::is_alphanumeric)
            && rest
                .starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '#' | '$'));
        if is_cut {
            return None;
        }
        Quantity::parse(quantity.trim_end()).ok().map(|quantity| (quantity, rest))
    })
}

/// What the metrics of runs in progress have seen, one lane each.
#[derive(Clone, Debug)]
pub struct Meters<T> {
    values: Vec<T>,
    /// Room for a signal over several steps.
    several: Vec<T>,
    gauges: Vec<T>,
    /// Of each gauge that traces: the smallest and largest values of blocks.
    traces: Vec<Trace<T>>,
    samples: u64,
    block: u64,
}

#[derive(Clone, Debug)]
struct Trace<T> {
    gauge: usize,
    low: Vec<T>,
    high: Vec<T>,
}

impl<T: Num> Trace<T> {
    /// Notes a sample, by its number.
    #[inline(always)]
    fn note(&mut self, x: T, sample: u64, block: u64) {
        match (self.low.last_mut(), self.high.last_mut()) {
            (Some(low), Some(high)) if !sample.is_multiple_of(block) => {
                *low = T::select(x.lt(*low), x, *low);
                *high = T::select(x.gt(*high), x, *high);
            }
            _ => {
                self.low.push(x);
                self.high.push(x);
            }
        }
    }
}

impl<T: Num> Meters<T> {
    /// For runs of so many steps.
    pub fn new(metrics: &Metrics, steps: u64) -> Self {
        let block = (steps + 1).div_ceil(MOST_KEPT).max(1);
        let traced = metrics.gauges.iter().enumerate().filter(|(_, g)| g.follow == Follow::Trace);
        Self {
            values: vec![T::zero(); metrics.signals.len()],
            several: Vec::new(),
            gauges: vec![T::zero(); metrics.gauges.len()],
            traces: traced
                .map(|(gauge, _)| Trace { gauge, low: Vec::new(), high: Vec::new() })
                .collect(),
            samples: 0,
            block,
        }
    }

    /// Begins again.
    pub fn clear(&mut self) {
        self.samples = 0;
        for trace in &mut self.traces {
            trace.low.clear();
            trace.high.clear();
        }
    }

    /// Looks at the state at a time since the start.
    #[inline(always)]
    pub fn look(&mut self, metrics: &Metrics, state: &State<T>, time: f64) {
        for (value, signal) in self.values.iter_mut().zip(&metrics.signals) {
            *value = signal.value(|place| metrics.slots[place].read(state));
        }
        let is_first = self.samples == 0;
        for (gauge, seen) in metrics.gauges.iter().zip(&mut self.gauges) {
            let x = self.values[gauge.signal];
            if is_first {
                *seen = match gauge.follow {
                    Follow::SumOfSquares => x * x,
                    Follow::SumOfSizes => x.abs(),
                    Follow::SumOfTimedSizes => x.abs() * time,
                    _ => x,
                };
                continue;
            }
            match gauge.follow {
                Follow::Max => *seen = T::select(x.gt(*seen), x, *seen),
                Follow::Min => *seen = T::select(x.lt(*seen), x, *seen),
                Follow::First | Follow::Trace => {}
                Follow::Last => *seen = x,
                Follow::Sum => *seen += x,
                Follow::SumOfSquares => *seen += x * x,
                Follow::SumOfSizes => *seen += x.abs(),
                Follow::SumOfTimedSizes => *seen += x.abs() * time,
            }
        }
        for trace in &mut self.traces {
            let x = self.values[metrics.gauges[trace.gauge].signal];
            trace.note(x, self.samples, self.block);
        }
        self.samples += 1;
    }

    /// Looks at steps of these numbers, after a first look: at the numbers of all variables
    /// ([`Metrics::slots`]) as they are in the state, step by step.
    pub fn look_at(&mut self, metrics: &Metrics, seen: &[T], steps: Range<u64>, dt: f64) {
        let (width, count) = (metrics.slots.len(), (steps.end - steps.start) as usize);
        let time = |step: usize| (steps.start + step as u64) as f64 * dt;
        let mut values = std::mem::take(&mut self.several);
        for (number, signal) in metrics.signals.iter().enumerate() {
            let read =
                |step: usize, place: usize| seen[step * width + place] * metrics.slots[place].sign;
            // Where only the end counts, only the end is computed.
            let of_signal = || metrics.gauges.iter().filter(|gauge| gauge.signal == number);
            let ends = |gauge: &Gauge| matches!(gauge.follow, Follow::First | Follow::Last);
            let first = if of_signal().all(ends) { count.saturating_sub(1) } else { 0 };
            values.clear();
            values.extend((first..count).map(|step| signal.value(|place| read(step, place))));
            let gauges = metrics.gauges.iter().zip(&mut self.gauges);
            for (gauge, seen) in gauges.filter(|(gauge, _)| gauge.signal == number) {
                // One choice for all steps, in the order of steps.
                match gauge.follow {
                    Follow::First | Follow::Trace => {}
                    Follow::Last => *seen = values.last().copied().unwrap_or(*seen),
                    Follow::Max => {
                        values.iter().for_each(|&x| *seen = T::select(x.gt(*seen), x, *seen));
                    }
                    Follow::Min => {
                        values.iter().for_each(|&x| *seen = T::select(x.lt(*seen), x, *seen));
                    }
                    Follow::Sum => values.iter().for_each(|&x| *seen += x),
                    Follow::SumOfSquares => values.iter().for_each(|&x| *seen += x * x),
                    Follow::SumOfSizes => values.iter().for_each(|&x| *seen += x.abs()),
                    Follow::SumOfTimedSizes => {
                        let all = values.iter().enumerate();
                        all.for_each(|(step, &x)| *seen += x.abs() * time(step));
                    }
                }
            }
            let traces = self.traces.iter_mut();
            for trace in traces.filter(|trace| metrics.gauges[trace.gauge].signal == number) {
                for (sample, &x) in (self.samples..).zip(&values) {
                    trace.note(x, sample, self.block);
                }
            }
        }
        self.samples += count as u64;
        self.several = values;
    }

    /// The metrics of one lane, in SI units; `lane` reads its number. Steps have the length `dt`.
    pub fn results(&self, metrics: &Metrics, dt: f64, lane: impl Fn(T) -> f64) -> Vec<f64> {
        let seen = |gauge: usize| lane(self.gauges[gauge]);
        let duration = self.samples.saturating_sub(1) as f64 * dt;
        let trace = |gauge: usize| {
            let trace = self.traces.iter().find(|trace| trace.gauge == gauge);
            let range = |i: usize| trace.map(|t| (lane(t.low[i]), lane(t.high[i])));
            (0..trace.map_or(0, |t| t.low.len())).filter_map(range).collect::<Vec<(f64, f64)>>()
        };
        let block = self.block as f64 * dt;
        let value = |function: &Function| match *function {
            Function::Plain(gauge) => seen(gauge),
            Function::PeakToPeak { max, min } => seen(max) - seen(min),
            Function::Integral { sum, first, last, power, over } => {
                let summed = |x: f64, time: f64| match power {
                    Power::Value => x,
                    Power::Square => x * x,
                    Power::Size => x.abs(),
                    Power::TimedSize => x.abs() * time,
                };
                let ends = summed(seen(first), 0.0) + summed(seen(last), duration);
                let integral = (seen(sum) - 0.5 * ends) * dt;
                match over {
                    Over::Nothing => integral,
                    // A run of no steps has one sample.
                    _ if duration <= 0.0 && power == Power::Square => seen(last).abs(),
                    _ if duration <= 0.0 => seen(last),
                    Over::Time => integral / duration,
                    Over::TimeThenRoot => (integral / duration).sqrt(),
                }
            }
            Function::Overshoot { max, min, first, last, target } => {
                let target = target.map_or(seen(last), seen);
                let way = target - seen(first);
                let beyond = if way < 0.0 { target - seen(min) } else { seen(max) - target };
                if beyond > 0.0 { beyond / way.abs() } else { 0.0 }
            }
            Function::Settling { trace: gauge, first, last, band } => {
                let (first, last) = (seen(first), seen(last));
                let allowed = band * (last - first).abs();
                let is_outside =
                    |&(low, high): &(f64, f64)| low < last - allowed || high > last + allowed;
                let outside = trace(gauge).iter().rposition(is_outside);
                outside.map_or(0.0, |at| ((at + 1) as f64 * block).min(duration))
            }
            Function::Rise { trace: gauge, first, last } => {
                let (first, last) = (seen(first), seen(last));
                let way = last - first;
                let all = trace(gauge);
                let reached = |share: f64| {
                    let level = first + share * way;
                    all.iter().position(
                        |&(low, high)| {
                            if way < 0.0 { low <= level } else { high >= level }
                        },
                    )
                };
                match (reached(0.1), reached(0.9)) {
                    (Some(from), Some(to)) => (to - from) as f64 * block,
                    _ => 0.0,
                }
            }
        };
        metrics
            .all
            .iter()
            .map(|metric| {
                let values: Vec<f64> = metric.functions.iter().map(|(f, _)| value(f)).collect();
                if let [only] = values[..]
                    && metric.expression.text() == "_0"
                {
                    return only;
                }
                let look_up = |name: &str| {
                    let index: usize = name.strip_prefix('_')?.parse().ok()?;
                    Some(Quantity::new(*values.get(index)?, metric.functions[index].1))
                };
                metric.expression.evaluate(&look_up).map_or(f64::NAN, |result| result.value)
            })
            .collect()
    }
}
