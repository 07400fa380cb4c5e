//! Statements as text: C or Rust.
//!
//! Nodes become local constants, what is kept stands in `K`.

use crate::frame::moments;
use crate::script::{DECLARED, Question, Script, Statement, script};
use fluxline_core::program::{Array, Event, Layout, Program, Unit};
use fluxline_core::trace::{Function, Node, Op};
use std::fmt::Write;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C, one run.
    C,
    /// C, several runs side by side, in macros that know how many.
    Lanes,
    /// Rust, one run.
    Rust,
}

/// The parts of a program as text.
#[derive(Clone, Debug)]
pub struct Text {
    /// What is computed before a run, into `K`.
    pub prepare: String,
    /// The step, as the body of a loop.
    pub step: String,
    /// Before the loop and after it: numbers of the state that are held in locals meanwhile.
    pub around: [String; 2],
    /// Numbers in `K`.
    pub kept: usize,
    /// Statements in all: what a compiler's time goes with.
    pub statements: usize,
}

/// How code is written around the program.
pub struct Style<'a> {
    /// The language.
    pub language: Language,
    /// What to say of a unit.
    pub comment: &'a dyn Fn(&Unit) -> Option<String>,
    /// The expression for the time of each moment.
    pub times: Vec<String>,
    /// That for the number of the step of a moment.
    pub ticks: Vec<String>,
    /// Numbers of the state that code for lanes hands out after every step, into `W`.
    pub seen: &'a [u32],
    /// Numbers of the state, with their signs, that code for a single run writes to rows, after the
    /// last step before each. Those that no step begins with are brought up to date after the last.
    pub row: Option<&'a [(u32, f64)]>,
    /// Slots that are the same in all lanes, at every step.
    pub common: &'a [bool],
    /// The program is that of one unit among others.
    pub among: Option<Among<'a>>,
}

impl<'a> Style<'a> {
    /// The step of a program and nothing else.
    pub fn of(
        language: Language,
        comment: &'a dyn Fn(&Unit) -> Option<String>,
        program: &Program,
    ) -> Self {
        let (times, ticks) = moments(&program.moments);
        Self { language, comment, times, ticks, seen: &[], row: None, common: &[], among: None }
    }
}

/// Says nothing of a unit.
pub fn no_comment(_: &Unit) -> Option<String> {
    None
}

/// What the others do with the numbers of a unit that is written by itself.
#[derive(Clone, Copy)]
pub struct Among<'a> {
    /// Nobody writes it.
    pub is_fixed: &'a dyn Fn(u32) -> bool,
    /// Somebody reads it.
    pub is_read: &'a dyn Fn(u32) -> bool,
    /// The expression for the components of the unit.
    pub component: &'a str,
}

/// Writes a program.
pub fn write(program: &Program, style: &Style<'_>) -> Text {
    print(program, style, &script(program, style))
}

/// Writes statements of a program that were put in order in this style.
pub fn print(program: &Program, style: &Style<'_>, script: &Script) -> Text {
    let mut printer =
        Printer { program, style, script, out: String::new(), depth: 0, in_step: false };
    printer.statements(&script.prepare);
    let prepare = std::mem::take(&mut printer.out);
    printer.in_step = true;
    printer.statements(&script.step);
    let around = printer.around();
    Text { prepare, step: printer.out, around, kept: script.kept.len(), statements: script.lines }
}

/// A number that reads back as the same bits in both languages.
pub fn literal(language: Language, value: f64) -> String {
    if value.is_nan() {
        return match language {
            Language::Rust => "f64::NAN".into(),
            _ => "__builtin_nan(\"\")".into(),
        };
    }
    if value.is_infinite() {
        let text = match language {
            Language::Rust => "f64::INFINITY",
            _ => "__builtin_inf()",
        };
        return if value < 0.0 { format!("(-{text})") } else { text.into() };
    }
    // The shortest digits that read back as the same number.
    let text = format!("{value:?}");
    if value.is_sign_negative() { format!("({text})") } else { text }
}

/// Writes statements.
struct Printer<'a> {
    program: &'a Program,
    style: &'a Style<'a>,
    script: &'a Script,
    out: String,
    /// Questions around what is being written.
    depth: usize,
    in_step: bool,
}

impl Printer<'_> {
    fn op(&self, node: Node) -> Op {
        self.program.ops[node as usize]
    }

    fn is_mask(&self, node: Node) -> bool {
        self.script.is_mask[node as usize]
    }

    fn is_common(&self, node: Node) -> bool {
        self.script.is_common[node as usize]
    }

    fn line(&mut self, text: &str) {
        for _ in 0..=(1 + self.depth).min(6) {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// How a node is written where it is used.
    fn name(&self, node: Node) -> String {
        let is_elsewhere = matches!(self.op(node), Op::Constant(_) | Op::Truth(_))
            || self.in_step && self.script.kept.contains_key(&node);
        match (self.is_common(node) && !is_elsewhere, self.is_mask(node)) {
            (true, true) => format!("SPREAD(m{node})"),
            (true, false) => format!("ALL(v{node})"),
            _ => self.name_in(node, self.style.language),
        }
    }

    /// How it is written where one number stands for all lanes.
    fn name_of_one(&self, node: Node) -> String {
        self.name_in(node, Language::C)
    }

    fn name_in(&self, node: Node, language: Language) -> String {
        match self.op(node) {
            Op::Constant(bits) => {
                let text = literal(language, f64::from_bits(bits));
                if language == Language::Lanes { format!("ALL({text})") } else { text }
            }
            Op::Truth(holds) => match (language, holds) {
                (Language::Rust, _) => holds.to_string(),
                (Language::C, _) => u8::from(holds).to_string(),
                (Language::Lanes, true) => "EVERY".into(),
                (Language::Lanes, false) => "NONE".into(),
            },
            _ => match (self.in_step, self.script.kept.get(&node)) {
                (true, Some(place)) => {
                    let kept = match (self.style.language, language) {
                        (_, Language::Lanes) => format!("GET(K, {place})"),
                        // That of the first lane.
                        (Language::Lanes, _) => format!("K[LANES * {place}]"),
                        _ => format!("K[{place}]"),
                    };
                    match (self.is_mask(node), language) {
                        (true, Language::Lanes) => format!("LESS(ALL(0.0), {kept})"),
                        (true, _) => format!("({kept} > 0.0)"),
                        (false, _) => kept,
                    }
                }
                _ => format!("{}{node}", if self.is_mask(node) { 'm' } else { 'v' }),
            },
        }
    }

    fn place(&self, slot: u32) -> String {
        match self.script.held.contains(&slot) {
            true => self.local(slot),
            false => place(self.style.language, self.program.layout, slot),
        }
    }

    fn local(&self, slot: u32) -> String {
        let (array, at) = self.program.layout.place(slot);
        format!("{}{at}", letter(array).to_ascii_lowercase())
    }

    /// Declares what is held, and brings it back.
    fn around(&self) -> [String; 2] {
        let place = |slot: u32| place(self.style.language, self.program.layout, slot);
        let mut around = [String::new(), String::new()];
        for &slot in &self.script.held {
            let (local, place) = (self.local(slot), place(slot));
            let _ = writeln!(around[0], "    double {local} = {place};");
            let _ = writeln!(around[1], "    {place} = {local};");
        }
        around
    }

    fn expression(&self, node: Node, by_product: bool) -> String {
        let is_common = self.is_common(node);
        let n = |node| if is_common { self.name_of_one(node) } else { self.name(node) };
        let lanes = self.style.language == Language::Lanes && !is_common;
        let rust = self.style.language == Language::Rust;
        match self.op(node) {
            Op::Constant(_) | Op::Truth(_) => n(node),
            Op::Load(slot) if is_common => {
                let (array, at) = self.program.layout.place(slot);
                format!("{}[LANES * {at}]", letter(array))
            }
            Op::Load(slot) => self.place(slot),
            Op::Parameter(index) if lanes => format!("GET(P, {index})"),
            Op::Parameter(index) => format!("P[{index}]"),
            Op::Time(moment) => {
                let time = &self.style.times[moment as usize];
                if lanes { format!("ALL({time})") } else { time.clone() }
            }
            Op::Stamp => match (rust, lanes) {
                (true, _) => "(step + 1) as f64".into(),
                (_, true) => "ALL((double)(step + 1))".into(),
                _ => "(double)(step + 1)".into(),
            },
            Op::Result(_) => n(node),
            Op::Add(a, b) => format!("{} + {}", n(a), n(b)),
            Op::Sub(a, b) => format!("{} - {}", n(a), n(b)),
            Op::Mul(a, b) => format!("{} * {}", n(a), n(b)),
            Op::Div(a, b) => format!("{} / {}", n(a), n(b)),
            Op::Neg(a) => format!("-{}", n(a)),
            Op::Call(Function::Named(function), a) => {
                let name = function.name();
                match (rust, lanes) {
                    (true, _) => format!("f64::{name}({})", n(a)),
                    (_, true) => format!("EACH({name}, {})", n(a)),
                    _ => format!("{name}({})", n(a)),
                }
            }
            Op::Call(function, a) => {
                let (c, method, macros) = match function {
                    Function::Sqrt if by_product => ("__builtin_sqrt", "sqrt", "PRODUCT_ROOT"),
                    Function::Sqrt => ("__builtin_sqrt", "sqrt", "ROOT"),
                    Function::Abs => ("__builtin_fabs", "abs", "SIZE"),
                    Function::Exp => ("exp", "exp", "EACH(exp, "),
                    Function::Ln => ("log", "ln", "EACH(log, "),
                    Function::Tanh => ("tanh", "tanh", "EACH(tanh, "),
                    // Those by name are above.
                    Function::Floor | Function::Named(_) => ("__builtin_floor", "floor", "WHOLE"),
                };
                match (rust, lanes) {
                    (true, _) => format!("f64::{method}({})", n(a)),
                    (_, true) if macros.ends_with(' ') => format!("{macros}{})", n(a)),
                    (_, true) => format!("{macros}({})", n(a)),
                    _ => format!("{c}({})", n(a)),
                }
            }
            Op::Power(a, b) if rust => format!("f64::powf({}, {})", n(a), n(b)),
            Op::Power(a, b) if lanes => format!("PAIRS(pow, {}, {})", n(a), n(b)),
            Op::Power(a, b) => format!("pow({}, {})", n(a), n(b)),
            Op::Angle(a, b) if rust => format!("f64::atan2({}, {})", n(a), n(b)),
            Op::Angle(a, b) if lanes => format!("PAIRS(atan2, {}, {})", n(a), n(b)),
            Op::Angle(a, b) => format!("atan2({}, {})", n(a), n(b)),
            Op::Select(mask, yes, no) if rust => {
                format!("if {} {{ {} }} else {{ {} }}", n(mask), n(yes), n(no))
            }
            Op::Select(mask, yes, no) if lanes => {
                format!("CHOOSE({}, {}, {})", n(mask), n(yes), n(no))
            }
            Op::Where(_, yes, _) => n(yes),
            Op::Select(mask, yes, no) => format!("{} ? {} : {}", n(mask), n(yes), n(no)),
            Op::Least(a, b) if rust => {
                let (a, b) = (n(a), n(b));
                format!("if {a} < {b} {{ {a} }} else {{ {b} }}")
            }
            Op::Largest(a, b) if rust => {
                let (a, b) = (n(a), n(b));
                format!("if {a} > {b} {{ {a} }} else {{ {b} }}")
            }
            // The macros of these names are those of lanes.
            Op::Least(a, b) if is_common => format!("{0} < {1} ? {0} : {1}", n(a), n(b)),
            Op::Largest(a, b) if is_common => format!("{0} > {1} ? {0} : {1}", n(a), n(b)),
            Op::Apart(a, b) if is_common => format!("({0} < {1}) | ({0} > {1})", n(a), n(b)),
            Op::Least(a, b) => format!("LEAST({}, {})", n(a), n(b)),
            Op::Largest(a, b) => format!("LARGEST({}, {})", n(a), n(b)),
            Op::Equal(a, b) if lanes => format!("EQUAL({}, {})", n(a), n(b)),
            Op::Apart(a, b) if rust => {
                let (a, b) = (n(a), n(b));
                format!("({a} < {b}) | ({a} > {b})")
            }
            Op::Equal(a, b) => format!("{} == {}", n(a), n(b)),
            Op::Apart(a, b) => format!("APART({}, {})", n(a), n(b)),
            Op::Less(a, b) if lanes => format!("LESS({}, {})", n(a), n(b)),
            Op::LessEqual(a, b) if lanes => format!("NOT_ABOVE({}, {})", n(a), n(b)),
            Op::And(a, b) if lanes => format!("BOTH({}, {})", n(a), n(b)),
            Op::Or(a, b) if lanes => format!("EITHER({}, {})", n(a), n(b)),
            Op::Not(a) if lanes => format!("NOT({})", n(a)),
            Op::Less(a, b) => format!("{} < {}", n(a), n(b)),
            Op::LessEqual(a, b) => format!("{} <= {}", n(a), n(b)),
            Op::And(a, b) => format!("{} & {}", n(a), n(b)),
            Op::Or(a, b) => format!("{} | {}", n(a), n(b)),
            Op::Not(a) => format!("!{}", n(a)),
        }
    }

    /// Writes statements one after the other.
    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        let language = self.style.language;
        let text = match *statement {
            Statement::Comment(ref text) => format!("// {text}"),
            Statement::Declare(ref nodes) => return self.declare(nodes),
            Statement::Define { node, by_product } => self.definition(node, by_product),
            Statement::Assign { to, value } => {
                format!("{} = {};", self.name_of_choice(to), self.value_for(to, value))
            }
            Statement::Choose { to, mask, yes, no } => {
                let [to, mask] = [self.name_of_choice(to), self.name(mask)];
                format!("{to} = CHOOSE({mask}, {}, {});", self.name(yes), self.name(no))
            }
            Statement::If(question) => {
                let text = self.question(question);
                self.line(&text);
                self.depth += 1;
                if question == Question::Row {
                    // Time stands before the values.
                    let width = self.script.in_row + 1;
                    self.line(&format!("double *const to = W + row * {width};"));
                }
                return;
            }
            Statement::Else => {
                self.depth -= 1;
                self.line("} else {");
                self.depth += 1;
                return;
            }
            Statement::End => {
                self.depth -= 1;
                "}".into()
            }
            Statement::Store { slot, node } => match language {
                Language::Lanes => {
                    let (array, at) = self.program.layout.place(slot);
                    format!("SET({}, {at}, {});", letter(array), self.name(node))
                }
                _ => format!("{} = {};", self.place(slot), self.name(node)),
            },
            Statement::Fetch { result, slot } => {
                format!("{} = {};", self.name(result), self.place(slot))
            }
            Statement::Report { event, component, moment, mask } => {
                self.report(event, component, moment, mask)
            }
            Statement::Engine { unit, moment } => {
                format!("engine(context, {unit}, {}, tick);", self.style.times[moment as usize])
            }
            Statement::Keep { place, node } => self.keep(place, node),
            Statement::See { at, node } => format!("SET(W, {at}, {});", self.name(node)),
            Statement::InRow { at, node, negative } => {
                let minus = if negative { "-" } else { "" };
                format!("to[{at}] = {minus}{};", self.name(node))
            }
        };
        self.line(&text);
    }

    fn definition(&self, node: Node, by_product: bool) -> String {
        let is_common = self.is_common(node);
        let language = if is_common { Language::C } else { self.style.language };
        let kind = match (language, self.is_mask(node)) {
            (Language::Rust, _) => "let ",
            (Language::C, false) => "const double ",
            (Language::C, true) => "const int ",
            (Language::Lanes, false) => "const numbers ",
            (Language::Lanes, true) => "const mask ",
        };
        let name = self.name_in(node, language);
        format!("{kind}{name} = {};", self.expression(node, by_product))
    }

    fn question(&self, question: Question) -> String {
        let rust = self.style.language == Language::Rust;
        match question {
            Question::Holds(mask) if rust => format!("if {} {{", self.name_of_choice(mask)),
            Question::Holds(mask) => format!("if ({}) {{", self.name_of_choice(mask)),
            Question::Any(mask) => format!("if (ANY_OF({})) {{", self.name(mask)),
            Question::All(mask) => format!("if (ALL_OF({})) {{", self.name(mask)),
            Question::NotAll(mask) => format!("if (!ALL_OF({})) {{", self.name(mask)),
            Question::LastStep if rust => "if left == 1 {".into(),
            Question::LastStep => "if (left == 1) {".into(),
            Question::Row => "if (row < rows) {".into(),
            Question::Seen => {
                "if (row == rows || (row + 1 == rows && stretches[rows] == 0)) {".into()
            }
        }
    }

    fn report(&self, event: Event, component: u32, moment: u32, mask: Node) -> String {
        let component = match self.style.among {
            Some(among) => among.component.to_owned(),
            None => component.to_string(),
        };
        let tick = &self.style.ticks[moment as usize];
        let name = match event {
            Event::Unconverged => "unconverged",
            Event::Stop => "stop",
        };
        let mask = self.name(mask);
        match self.style.language {
            Language::Lanes => {
                format!("if (ANY_OF({mask})) {name}(faults, {component}, {tick}, BITS({mask}));")
            }
            Language::C => format!("if ({mask}) {name}(faults, {component}, {tick}, 1);"),
            Language::Rust => {
                format!("if {mask} {{ {name}(faults, {component}, {tick}); }}")
            }
        }
    }

    fn keep(&self, place: usize, node: Node) -> String {
        let name = self.name(node);
        match (self.style.language, self.is_mask(node)) {
            (Language::Lanes, true) => {
                format!("SET(K, {place}, CHOOSE({name}, ALL(1.0), ALL(0.0)));")
            }
            (Language::Lanes, false) => format!("SET(K, {place}, {name});"),
            (Language::C, true) => format!("K[{place}] = {name} ? 1.0 : 0.0;"),
            (Language::Rust, true) => {
                format!("K[{place}] = if {name} {{ 1.0 }} else {{ 0.0 }};")
            }
            _ => format!("K[{place}] = {name};"),
        }
    }

    /// How a node is written where it is given its value, or asked about.
    fn name_of_choice(&self, node: Node) -> String {
        self.value_for(node, node)
    }

    /// How a node is written where another takes its value.
    fn value_for(&self, node: Node, value: Node) -> String {
        match self.is_common(node) {
            true => self.name_of_one(value),
            false => self.name(value),
        }
    }

    /// Declares numbers that are written further down.
    fn declare(&mut self, nodes: &[Node]) {
        let (common, own): (Vec<Node>, Vec<Node>) =
            nodes.iter().partition(|&&node| self.is_common(node));
        for (nodes, language) in [(common, Language::C), (own, self.style.language)] {
            let names: Vec<String> = nodes.iter().map(|&n| self.name_in(n, language)).collect();
            for names in names.chunks(DECLARED) {
                let text = match language {
                    Language::Rust => {
                        let all: Vec<String> =
                            names.iter().map(|name| format!("let {name};")).collect();
                        all.join(" ")
                    }
                    Language::C => format!("double {};", names.join(", ")),
                    Language::Lanes => format!("numbers {};", names.join(", ")),
                };
                self.line(&text);
            }
        }
    }
}

/// The name of an array in the code.
pub fn letter(array: Array) -> char {
    match array {
        Array::Bonds => 'B',
        Array::Signals => 'S',
        Array::States => 'X',
        Array::Viscosity => 'V',
        Array::Figures => 'F',
    }
}

/// How a number of the state is written.
pub fn place(language: Language, layout: Layout, slot: u32) -> String {
    let (array, at) = layout.place(slot);
    let mut text = String::new();
    let _ = match language {
        Language::Lanes => write!(text, "GET({}, {at})", letter(array)),
        _ => write!(text, "{}[{at}]", letter(array)),
    };
    text
}
