//! From a program to text: statements of C or Rust.
//!
//! Every node that is needed becomes a local constant, where it is first needed. Nodes that depend on
//! nothing that changes during a run are computed once, before it (`K`). A number of the state is
//! loaded when the step begins and stored when it ends; one that no step begins with is stored after
//! the last step only, and what it alone needs is computed only then. What is wanted only where a mask
//! holds, and costs more than to ask, stands in a block of its own (`blocks`).

use crate::blocks::{Block, Blocks};
use crate::frame::moments;
use crate::order::{Pace, Queue, latency, urgency};
use fluxline_core::guard::Guards;
use fluxline_core::program::{Array, End, Event, Layout, Part, Program, Unit};
use fluxline_core::trace::{Function, Node, Op, Tree};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Statements of a block that count as written on the way through: not both sides, nor what is rare.
const LONGEST_BLOCK: usize = 18;

/// What is not yet written.
#[derive(Default)]
struct Missing {
    /// Of how many others its sources are.
    waits_for: usize,
    /// Who waits for it.
    users: Vec<Node>,
    /// Of a block, those choices that somebody asks for here.
    wanted: Vec<Node>,
    /// When what it needs is there.
    from: u32,
}

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

/// Which nodes are the same in all lanes, when these slots are: what depends on time and on them alone.
pub fn common_nodes(program: &Program, slots: &[bool]) -> Vec<bool> {
    let mut common = vec![false; program.ops.len()];
    for (node, &op) in program.ops.iter().enumerate() {
        common[node] = match op {
            Op::Constant(_) | Op::Truth(_) | Op::Time(_) | Op::Stamp => true,
            Op::Load(slot) => slots.get(slot as usize) == Some(&true),
            Op::Parameter(_) | Op::Result(_) => false,
            _ => op.sources().all(|source| common[source as usize]),
        };
    }
    common
}

/// Of slots that are the same in all lanes at the start, those that stay so.
pub fn common_slots(program: &Program, mut slots: Vec<bool>) -> Vec<bool> {
    loop {
        let common = common_nodes(program, &slots);
        let mut is_done = true;
        for (is_common, &end) in slots.iter_mut().zip(&program.finals) {
            is_done &= !*is_common || common[end as usize];
            *is_common &= common[end as usize];
        }
        if is_done {
            return slots;
        }
    }
}

/// Writes a program.
pub fn write(program: &Program, style: &Style<'_>) -> Text {
    let mut writer = Writer::new(program, style);
    writer.find_uses();
    writer.share_roots();
    writer.find_blocks();
    writer.prepare();
    let prepare = std::mem::take(&mut writer.out);
    writer.emitted.fill(false);
    writer.hold();
    writer.step();
    let around = writer.around();
    let (kept, statements) = (writer.kept.len(), writer.statements);
    Text { prepare, step: writer.out, around, kept, statements }
}

struct Writer<'a> {
    program: &'a Program,
    style: &'a Style<'a>,
    /// Whether a node is used in the step.
    used: Vec<bool>,
    /// Whether a node is the same in all steps.
    is_fixed: Vec<bool>,
    is_mask: Vec<bool>,
    /// Whether a node is the same in all lanes, and computed once for all of them.
    is_common: Vec<bool>,
    /// Where a fixed node is kept.
    kept: HashMap<Node, usize>,
    /// Slots that units which the engine may do look at.
    shared: Vec<bool>,
    /// Slots that a step begins with.
    loaded: Vec<bool>,
    /// Slots that are held in locals from step to step.
    held: BTreeSet<u32>,
    /// Choices of which one side is computed only where it is taken.
    blocks: Blocks,
    /// How urgent each node is.
    urgency: Vec<u32>,
    pace: Pace,
    /// Which nodes have a name in the scope that is being written.
    emitted: Vec<bool>,
    scopes: Vec<Vec<Node>>,
    out: String,
    statements: usize,
    /// Square roots in lanes that are written, where divider and multipliers take turns in them.
    roots: Option<usize>,
    in_step: bool,
}

fn is_mask(op: Op) -> bool {
    matches!(
        op,
        Op::Truth(_)
            | Op::Less(..)
            | Op::LessEqual(..)
            | Op::Equal(..)
            | Op::Apart(..)
            | Op::And(..)
            | Op::Or(..)
            | Op::Not(_)
    )
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

impl<'a> Writer<'a> {
    fn new(program: &'a Program, style: &'a Style<'a>) -> Self {
        let count = program.ops.len();
        let mut is_fixed = vec![false; count];
        for (node, &op) in program.ops.iter().enumerate() {
            is_fixed[node] = match op {
                Op::Constant(_) | Op::Parameter(_) | Op::Truth(_) => true,
                Op::Load(slot) if style.among.is_some() => {
                    style.among.is_some_and(|among| (among.is_fixed)(slot))
                }
                Op::Load(slot) if program.layout.place(slot).0 != Array::Figures => {
                    program.finals.get(slot as usize).is_some_and(|&end| end == node as Node)
                }
                Op::Load(_) | Op::Time(_) | Op::Stamp | Op::Result(_) => false,
                _ => op.sources().all(|source| is_fixed[source as usize]),
            };
        }
        let is_common = match style.language {
            Language::Lanes if style.among.is_none() => common_nodes(program, style.common),
            _ => vec![false; count],
        };
        let pace = match style.language {
            Language::Lanes => Pace::LANES,
            Language::C | Language::Rust => Pace::SINGLE,
        };
        let slots = program.finals.len();
        let mut shared = vec![false; slots];
        for unit in program.units.iter().filter(|unit| !unit.tree.is_closed()) {
            for &(slot, _) in &unit.reach {
                shared[slot as usize] = true;
            }
        }
        Self {
            program,
            style,
            used: vec![false; count],
            is_fixed,
            is_mask: program.ops.iter().map(|&op| is_mask(op)).collect(),
            is_common,
            kept: HashMap::new(),
            shared,
            loaded: vec![false; slots],
            held: BTreeSet::new(),
            blocks: Blocks::default(),
            urgency: urgency(program, pace),
            pace,
            emitted: vec![false; count],
            scopes: vec![Vec::new()],
            out: String::new(),
            statements: 0,
            roots: None,
            in_step: false,
        }
    }

    fn op(&self, node: Node) -> Op {
        self.program.ops[node as usize]
    }

    fn is_load_of(&self, node: Node, slot: u32) -> bool {
        self.op(node) == Op::Load(slot)
    }

    /// What units want.
    fn wanted_by_units(&self) -> Vec<Node> {
        fn of_tree(tree: &Tree<End>, roots: &mut Vec<Node>) {
            match tree {
                Tree::Open => {}
                Tree::Leaf(end) => {
                    roots.extend(&end.values);
                    roots.extend(end.events.iter().map(|&(_, mask)| mask));
                }
                Tree::Branch { mask, yes, no, .. } => {
                    roots.push(*mask);
                    of_tree(yes, roots);
                    of_tree(no, roots);
                }
            }
        }
        let mut roots: Vec<Node> = Vec::new();
        for unit in &self.program.units {
            of_tree(&unit.tree, &mut roots);
            if !unit.tree.is_closed() {
                let before =
                    unit.reach.iter().filter(|&&(slot, node)| !self.is_load_of(node, slot));
                roots.extend(before.map(|&(_, node)| node));
            }
        }
        roots
    }

    /// Numbers that a step changes: those that the next begins with, and those that only whoever looks
    /// on between steps sees.
    fn changed(&self) -> [Vec<(u32, Node)>; 2] {
        let (always, at_last) = (0..)
            .zip(&self.program.finals)
            .filter(|&(slot, &node)| !self.is_load_of(node, slot))
            .map(|(slot, &node)| (slot, node))
            .partition(|&(slot, _)| {
                let is_read = |among: Among<'_>| (among.is_read)(slot);
                self.loaded[slot as usize]
                    || self.shared[slot as usize]
                    || self.style.among.is_some_and(is_read)
            });
        [always, at_last]
    }

    /// All nodes that a step needs, and which fixed ones it reads from `K`.
    fn find_uses(&mut self) {
        let mut roots = self.wanted_by_units();
        for (slot, &node) in self.program.finals.iter().enumerate() {
            if !self.is_load_of(node, slot as u32) {
                roots.push(node);
            }
        }
        roots.extend(self.seen());
        roots.extend(self.row().iter().map(|&(node, _)| node));
        while let Some(node) = roots.pop() {
            if std::mem::replace(&mut self.used[node as usize], true) {
                continue;
            }
            if self.is_fixed[node as usize] && self.is_worth_keeping(node) {
                let next = self.kept.len();
                self.kept.entry(node).or_insert(next);
                continue;
            }
            roots.extend(self.op(node).sources());
        }
        // In the order of the nodes, whatever the way they were found.
        let mut kept: Vec<Node> = self.kept.keys().copied().collect();
        kept.sort_unstable();
        self.kept = kept.into_iter().enumerate().map(|(i, node)| (node, i)).collect();
        for (node, &op) in self.program.ops.iter().enumerate() {
            if let Op::Load(slot) = op
                && self.used[node]
            {
                self.loaded[slot as usize] = true;
            }
        }
    }

    /// Whether roots in lanes are worth [finding by multiplication](crate::roots): where the divider has
    /// more to do than the units for everything else. It takes some 24 cycles for eight roots and 16
    /// for eight quotients; of the rest two are done in a cycle.
    fn share_roots(&mut self) {
        let (mut divider, mut others) = (0, 0);
        for (&op, _) in self.program.ops.iter().zip(&self.used).filter(|&(_, &used)| used) {
            match op {
                Op::Call(Function::Sqrt, _) => divider += 24,
                Op::Div(..) => divider += 16,
                Op::Constant(_) | Op::Truth(_) | Op::Load(_) | Op::Parameter(_) => {}
                _ => others += 1,
            }
        }
        self.roots = (2 * divider > others).then_some(0);
    }

    /// What is handed out after every step.
    fn seen(&self) -> Vec<Node> {
        self.style.seen.iter().map(|&slot| self.program.finals[slot as usize]).collect()
    }

    /// What is written to a row, with its sign.
    fn row(&self) -> Vec<(Node, f64)> {
        let row = self.style.row.unwrap_or_default().iter();
        row.map(|&(slot, sign)| (self.program.finals[slot as usize], sign)).collect()
    }

    /// What the last step alone wants does not count: it is computed where it is wanted.
    fn find_blocks(&mut self) {
        let [always, _] = self.changed();
        let mut roots = self.wanted_by_units();
        roots.extend(always.into_iter().map(|(_, node)| node));
        roots.extend(self.seen());
        let ops = &self.program.ops;
        let guards = Guards::new(ops, 0, roots);
        let is_fixed = |node: Node| self.is_fixed[node as usize];
        let in_lanes = self.style.language == Language::Lanes;
        self.blocks = Blocks::new(ops, &guards, in_lanes, &is_fixed);
    }

    fn is_worth_keeping(&self, node: Node) -> bool {
        !matches!(self.op(node), Op::Constant(_) | Op::Truth(_) | Op::Load(_) | Op::Parameter(_))
    }

    fn indent(&mut self) {
        for _ in 0..=self.scopes.len().min(6) {
            self.out.push_str("    ");
        }
    }

    fn line(&mut self, text: &str) {
        self.indent();
        self.out.push_str(text);
        self.out.push('\n');
        self.statements += 1;
    }

    /// How a node is written where it is used.
    fn name(&self, node: Node) -> String {
        let is_elsewhere = matches!(self.op(node), Op::Constant(_) | Op::Truth(_))
            || self.in_step && self.kept.contains_key(&node);
        match (self.is_common[node as usize] && !is_elsewhere, self.is_mask[node as usize]) {
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
            _ => match (self.in_step, self.kept.get(&node)) {
                (true, Some(place)) => {
                    let kept = match (self.style.language, language) {
                        (_, Language::Lanes) => format!("GET(K, {place})"),
                        // That of the first lane.
                        (Language::Lanes, _) => format!("K[LANES * {place}]"),
                        _ => format!("K[{place}]"),
                    };
                    match (self.is_mask[node as usize], language) {
                        (true, Language::Lanes) => format!("LESS(ALL(0.0), {kept})"),
                        (true, _) => format!("({kept} > 0.0)"),
                        (false, _) => kept,
                    }
                }
                _ => format!("{}{node}", if self.is_mask[node as usize] { 'm' } else { 'v' }),
            },
        }
    }

    fn place(&self, slot: u32) -> String {
        match self.held.contains(&slot) {
            true => self.local(slot),
            false => place(self.style.language, self.program.layout, slot),
        }
    }

    fn local(&self, slot: u32) -> String {
        let (array, at) = self.program.layout.place(slot);
        format!("{}{at}", letter(array).to_ascii_lowercase())
    }

    /// Holds numbers that go from step to step in locals, which a compiler keeps in registers where it
    /// can: the way through memory is part of the chain that a step waits for.
    fn hold(&mut self) {
        let is_closed = self.program.units.iter().all(|unit| unit.tree.is_closed());
        if self.style.row.is_some() && is_closed {
            let [always, _] = self.changed();
            self.held = always.into_iter().map(|(slot, _)| slot).collect();
        }
    }

    /// Declares what is held, and brings it back.
    fn around(&self) -> [String; 2] {
        let place = |slot: u32| place(self.style.language, self.program.layout, slot);
        let mut around = [String::new(), String::new()];
        for &slot in &self.held {
            let (local, place) = (self.local(slot), place(slot));
            let _ = writeln!(around[0], "    double {local} = {place};");
            let _ = writeln!(around[1], "    {place} = {local};");
        }
        around
    }

    fn expression(&self, node: Node) -> String {
        let is_common = self.is_common[node as usize];
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
                    Function::Sqrt if self.roots.is_some_and(|written| written % 2 == 0) => {
                        ("__builtin_sqrt", "sqrt", "PRODUCT_ROOT")
                    }
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

    fn is_known(&self, node: Node) -> bool {
        matches!(self.op(node), Op::Constant(_) | Op::Truth(_))
            || self.emitted[node as usize]
            || self.in_step && self.kept.contains_key(&node)
    }

    /// Writes all that a node needs, and itself, in the present scope.
    fn need(&mut self, node: Node) {
        self.need_all(&[node]);
    }

    /// Writes all that nodes need, and themselves, in the present scope, in an order that keeps a
    /// processor busy ([`crate::order`]). A number of the state is loaded where it is first used.
    fn need_all(&mut self, nodes: &[Node]) {
        // What is missing, under the node or the first of the block it belongs to.
        let mut missing: BTreeMap<Node, Missing> = BTreeMap::new();
        let mut waiting: Vec<(Node, Option<Node>)> = nodes.iter().map(|&n| (n, None)).collect();
        while let Some((node, user)) = waiting.pop() {
            if self.is_known(node) {
                continue;
            }
            let place = self.block_of(node).map_or(node, |block| block.members[0]);
            let entry = missing.entry(place).or_default();
            let waits = user.filter(|user| !entry.users.contains(user));
            entry.users.extend(waits);
            if !entry.wanted.contains(&node) {
                entry.wanted.push(node);
                match self.outside(node) {
                    Some(outside) => waiting.extend(outside.iter().map(|&n| (n, Some(place)))),
                    None => waiting.extend(self.op(node).sources().map(|n| (n, Some(place)))),
                }
            }
            if let Some(user) = waits {
                missing.entry(user).or_default().waits_for += 1;
            }
        }
        // Loads wait for nothing, and come with whoever is first to use them.
        let is_load = |writer: &Self, node: Node| matches!(writer.op(node), Op::Load(_));
        let mut loads: HashMap<Node, Vec<Node>> = HashMap::new();
        let mut queue = Queue::default();
        let first: Vec<Node> =
            missing.iter().filter(|(_, m)| m.waits_for == 0).map(|(&n, _)| n).collect();
        for node in first {
            if !is_load(self, node) {
                queue.push(node, 0);
                continue;
            }
            let users = missing.get_mut(&node).map(|m| std::mem::take(&mut m.users));
            for user in users.into_iter().flatten() {
                loads.entry(user).or_default().push(node);
                if let Some(entry) = missing.get_mut(&user) {
                    entry.waits_for -= 1;
                    if entry.waits_for == 0 {
                        queue.push(user, 0);
                    }
                }
            }
        }
        while let Some(node) = queue.pop(&self.urgency) {
            let before = self.statements;
            for load in loads.remove(&node).unwrap_or_default() {
                if !self.emitted[load as usize] {
                    self.define(load);
                }
            }
            let Some(entry) = missing.remove(&node) else { continue };
            let latency = self.latency(node, &entry.wanted);
            match self.block_of(node).map(|b| (b.mask, b.holds)) {
                Some(question) => {
                    let mut members = entry.wanted;
                    members.sort_unstable();
                    self.block(question, &members);
                }
                None => self.define(node),
            }
            let written = (self.statements - before).min(LONGEST_BLOCK);
            let there = queue.written(written, latency);
            for user in entry.users {
                if let Some(entry) = missing.get_mut(&user) {
                    entry.waits_for -= 1;
                    entry.from = entry.from.max(there);
                    if entry.waits_for == 0 {
                        queue.push(user, entry.from);
                    }
                }
            }
        }
        for &node in nodes {
            if !self.is_known(node) {
                self.define(node);
            }
        }
    }

    fn block_of(&self, node: Node) -> Option<&Block> {
        self.blocks.of(node).filter(|_| self.in_step)
    }

    /// What a choice that is made in a block needs from outside.
    fn outside(&self, node: Node) -> Option<&[Node]> {
        let block = self.block_of(node)?;
        let at = block.members.iter().position(|&member| member == node)?;
        block.outside.get(at).map(|outside| &outside[..])
    }

    /// What the numbers of a statement or block take once what they need is there.
    fn latency(&self, node: Node, wanted: &[Node]) -> u32 {
        if self.block_of(node).is_none() {
            return latency(self.op(node), self.pace);
        }
        let mut known: HashMap<Node, u32> = HashMap::new();
        for outside in wanted.iter().filter_map(|&node| self.outside(node)) {
            known.extend(outside.iter().map(|&node| (node, 0)));
        }
        wanted.iter().map(|&node| self.way_inside(node, &mut known)).max().unwrap_or(0)
    }

    fn way_inside(&self, node: Node, known: &mut HashMap<Node, u32>) -> u32 {
        if let Some(&way) = known.get(&node) {
            return way;
        }
        if self.is_known(node) {
            return 0;
        }
        let op = self.op(node);
        let before = op.sources().map(|source| self.way_inside(source, known)).max().unwrap_or(0);
        let way = before + latency(op, self.pace);
        known.insert(node, way);
        way
    }

    fn name_in_scope(&mut self, node: Node) {
        self.emitted[node as usize] = true;
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(node);
        }
    }

    /// Writes a node whose sources are there.
    fn define(&mut self, node: Node) {
        let is_common = self.is_common[node as usize];
        let language = if is_common { Language::C } else { self.style.language };
        let kind = match (language, self.is_mask[node as usize]) {
            (Language::Rust, _) => "let ",
            (Language::C, false) => "const double ",
            (Language::C, true) => "const int ",
            (Language::Lanes, false) => "const numbers ",
            (Language::Lanes, true) => "const mask ",
        };
        let name = self.name_in(node, language);
        if let (Language::Lanes, Op::Call(Function::Sqrt, _)) = (language, self.op(node)) {
            self.roots = self.roots.map(|written| written + 1);
        }
        let text = format!("{kind}{name} = {};", self.expression(node));
        self.line(&text);
        self.name_in_scope(node);
    }

    /// Writes choices by a mask of which one side is computed only where it is taken.
    fn block(&mut self, (mask, holds): (Node, bool), choices: &[Node]) {
        let sides = |select: Node| match self.program.ops[select as usize] {
            Op::Select(_, yes, no) | Op::Where(_, yes, no) => (yes, no),
            _ => (select, select),
        };
        let members: Vec<(Node, Node, Node)> =
            choices.iter().map(|&m| (m, sides(m).0, sides(m).1)).collect();
        self.declare(choices);
        // A mask that is the same in all lanes is one of a single run.
        let lanes = self.style.language == Language::Lanes && !self.is_common[mask as usize];
        let mask = if lanes { self.name(mask) } else { self.name_of_choice(mask) };
        let question = match (self.style.language, holds) {
            (Language::Rust, _) => format!("if {mask} {{"),
            (Language::Lanes, true) if lanes => format!("if (ANY_OF({mask})) {{"),
            (Language::Lanes, false) if lanes => format!("if (!ALL_OF({mask})) {{"),
            _ => format!("if ({mask}) {{"),
        };
        self.line(&question);
        self.open();
        // In lanes one side is taken by all or chosen from; in a single run either side is taken.
        let first: Vec<Node> =
            members.iter().map(|&(_, yes, no)| if holds || !lanes { yes } else { no }).collect();
        self.need_all(&first);
        for (&(member, yes, no), &first) in members.iter().zip(&first) {
            let is_chosen = matches!(self.op(member), Op::Select(..));
            let value = match lanes && is_chosen {
                true => format!("CHOOSE({mask}, {}, {})", self.name(yes), self.name(no)),
                false => self.value_for(member, first),
            };
            let text = format!("{} = {value};", self.name_of_choice(member));
            self.line(&text);
        }
        self.close();
        self.line("} else {");
        self.open();
        let second: Vec<Node> =
            members.iter().map(|&(_, yes, no)| if holds || !lanes { no } else { yes }).collect();
        self.need_all(&second);
        for (&(member, ..), &second) in members.iter().zip(&second) {
            let value = self.value_for(member, second);
            let text = format!("{} = {value};", self.name_of_choice(member));
            self.line(&text);
        }
        self.close();
        self.line("}");
        for &member in choices {
            self.name_in_scope(member);
        }
    }

    /// How a node is written where it is given its value, or asked about.
    fn name_of_choice(&self, node: Node) -> String {
        match self.is_common[node as usize] {
            true => self.name_of_one(node),
            false => self.name(node),
        }
    }

    /// How a node is written where another takes its value.
    fn value_for(&self, node: Node, value: Node) -> String {
        match self.is_common[node as usize] {
            true => self.name_of_one(value),
            false => self.name(value),
        }
    }

    /// Declares numbers that are written further down.
    fn declare(&mut self, nodes: &[Node]) {
        let (common, own): (Vec<Node>, Vec<Node>) =
            nodes.iter().partition(|&&node| self.is_common[node as usize]);
        for (nodes, language) in [(common, Language::C), (own, self.style.language)] {
            let names: Vec<String> = nodes.iter().map(|&n| self.name_in(n, language)).collect();
            for names in names.chunks(12) {
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

    fn open(&mut self) {
        self.scopes.push(Vec::new());
    }

    fn close(&mut self) {
        for node in self.scopes.pop().unwrap_or_default() {
            self.emitted[node as usize] = false;
        }
    }

    fn prepare(&mut self) {
        let mut kept: Vec<(usize, Node)> = self.kept.iter().map(|(&n, &i)| (i, n)).collect();
        kept.sort_unstable();
        for (place, node) in kept {
            self.need(node);
            let name = self.name(node);
            let text = match (self.style.language, self.is_mask[node as usize]) {
                (Language::Lanes, true) => {
                    format!("SET(K, {place}, CHOOSE({name}, ALL(1.0), ALL(0.0)));")
                }
                (Language::Lanes, false) => format!("SET(K, {place}, {name});"),
                (Language::C, true) => format!("K[{place}] = {name} ? 1.0 : 0.0;"),
                (Language::Rust, true) => {
                    format!("K[{place}] = if {name} {{ 1.0 }} else {{ 0.0 }};")
                }
                _ => format!("K[{place}] = {name};"),
            };
            self.line(&text);
        }
    }

    fn store(&self, slot: u32, node: Node) -> String {
        let (place, name) = (self.place(slot), self.name(node));
        match self.style.language {
            Language::Lanes => {
                let (array, at) = self.program.layout.place(slot);
                format!("SET({}, {at}, {name});", letter(array))
            }
            _ => format!("{place} = {name};"),
        }
    }

    fn step(&mut self) {
        self.in_step = true;
        // What the engine may change in the middle of the step is loaded before.
        for node in 0..self.program.ops.len() as Node {
            if let Op::Load(slot) = self.op(node)
                && self.used[node as usize]
                && self.shared.get(slot as usize) == Some(&true)
            {
                self.need(node);
            }
        }
        for (index, unit) in self.program.units.iter().enumerate() {
            self.unit(index, unit);
        }
        let [always, at_last] = self.changed();
        let seen = self.seen();
        let mut ends: Vec<Node> = always.iter().map(|&(_, node)| node).collect();
        ends.extend(&seen);
        self.need_all(&ends);
        let row = self.row();
        if !at_last.is_empty() || !row.is_empty() {
            self.line(match self.style.language {
                Language::Rust => "if left == 1 {",
                _ => "if (left == 1) {",
            });
            self.open();
            let mut ends: Vec<Node> = at_last.iter().map(|&(_, node)| node).collect();
            ends.extend(row.iter().map(|&(node, _)| node));
            self.need_all(&ends);
            if !row.is_empty() {
                self.line("if (row < rows) {");
                // Time stands before the values.
                self.line(&format!("    double *const to = W + row * {};", row.len() + 1));
                for (at, &(node, sign)) in row.iter().enumerate() {
                    let minus = if sign < 0.0 { "-" } else { "" };
                    let text = format!("    to[{at}] = {minus}{};", self.name(node));
                    self.line(&text);
                }
                self.line("}");
            }
            if self.style.row.is_some() {
                // Nobody looks at the state before.
                self.line("if (row == rows || (row + 1 == rows && stretches[rows] == 0)) {");
            }
            for &(slot, node) in &at_last {
                let text = self.store(slot, node);
                self.line(&text);
            }
            if self.style.row.is_some() {
                self.line("}");
            }
            self.close();
            self.line("}");
        }
        for (slot, node) in always {
            let text = self.store(slot, node);
            self.line(&text);
        }
        for (at, &node) in seen.iter().enumerate() {
            let text = format!("SET(W, {at}, {});", self.name(node));
            self.line(&text);
        }
    }

    fn unit(&mut self, index: usize, unit: &Unit) {
        if let Some(comment) = (self.style.comment)(unit) {
            self.line(&format!("// {comment}"));
        }
        let used = unit.results.iter().map(|&(_, node)| node);
        let used: Vec<Node> = used.filter(|&node| self.used[node as usize]).collect();
        self.declare(&used);
        self.tree(index, unit, &unit.tree);
        for &(_, node) in &unit.results {
            self.name_in_scope(node);
        }
    }

    fn tree(&mut self, index: usize, unit: &Unit, tree: &Tree<End>) {
        match tree {
            Tree::Open => self.by_engine(index, unit),
            Tree::Leaf(end) => self.end(unit, end),
            Tree::Branch { mask, is_any, yes, no } => {
                self.need(*mask);
                let name = self.name_of_choice(*mask);
                let question = match (self.style.language, is_any) {
                    (Language::Rust, _) => format!("if {name} {{"),
                    (Language::C, _) => format!("if ({name}) {{"),
                    _ if self.is_common[*mask as usize] => format!("if ({name}) {{"),
                    (Language::Lanes, true) => format!("if (ANY_OF({name})) {{"),
                    (Language::Lanes, false) => format!("if (ALL_OF({name})) {{"),
                };
                self.line(&question);
                self.open();
                self.tree(index, unit, yes);
                self.close();
                self.line("} else {");
                self.open();
                self.tree(index, unit, no);
                self.close();
                self.line("}");
            }
        }
    }

    fn end(&mut self, unit: &Unit, end: &End) {
        let component = match unit.part {
            Part::Component { component, .. } => component,
            _ => 0,
        };
        let component = match self.style.among {
            Some(among) => among.component.to_owned(),
            None => component.to_string(),
        };
        let tick = &self.style.ticks[unit.moment as usize];
        for &(event, mask) in &end.events {
            let name = match event {
                Event::Unconverged => "unconverged",
                Event::Stop => "stop",
            };
            self.need(mask);
            let mask = self.name(mask);
            let text = match self.style.language {
                Language::Lanes => {
                    format!(
                        "if (ANY_OF({mask})) {name}(faults, {component}, {tick}, BITS({mask}));"
                    )
                }
                Language::C => format!("if ({mask}) {name}(faults, {component}, {tick}, 1);"),
                Language::Rust => {
                    format!("if {mask} {{ {name}(faults, {component}, {tick}); }}")
                }
            };
            self.line(&text);
        }
        let pairs: Vec<(Node, Node)> = unit
            .results
            .iter()
            .zip(&end.values)
            .map(|(&(_, result), &value)| (result, value))
            .filter(|&(result, _)| self.used[result as usize])
            .collect();
        let values: Vec<Node> = pairs.iter().map(|&(_, value)| value).collect();
        self.need_all(&values);
        for (result, value) in pairs {
            let text = format!("{} = {};", self.name(result), self.name(value));
            self.line(&text);
        }
    }

    /// The engine finds what it needs in the state, and leaves its results there.
    fn by_engine(&mut self, index: usize, unit: &Unit) {
        let before: Vec<(u32, Node)> = unit
            .reach
            .iter()
            .copied()
            .filter(|&(slot, node)| !self.is_load_of(node, slot))
            .collect();
        for &(_, node) in &before {
            self.need(node);
        }
        for (slot, node) in before {
            let text = self.store(slot, node);
            self.line(&text);
        }
        let time = &self.style.times[unit.moment as usize];
        let text = format!("engine(context, {index}, {time}, tick);");
        self.line(&text);
        for &(slot, result) in &unit.results {
            if self.used[result as usize] {
                let text = format!("{} = {};", self.name(result), self.place(slot));
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
