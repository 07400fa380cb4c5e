//! From a program to statements: what is computed, in which order, and where a choice is worth asking.
//!
//! Every node that is needed becomes a statement, where it is first needed. Nodes that depend on
//! nothing that changes during a run are computed once, before it, and kept. A number of the state is
//! loaded when the step begins and stored when it ends; one that no step begins with is stored after
//! the last step only, and what it alone needs is computed only then. What is wanted only where a mask
//! holds, and costs more than to ask, stands in a block of its own (`blocks`).
//!
//! Statements are written down as text by [`crate::text`], or as instructions by [`crate::machine`].

use crate::blocks::{Block, Blocks};
use crate::order::{Pace, Queue, latency, urgency};
use crate::text::{Among, Language, Style};
use fluxline_core::guard::Guards;
use fluxline_core::program::{Array, End, Event, Part, Program, Unit};
use fluxline_core::trace::{Function, Node, Op, Tree};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;

/// Statements of a block that count as written on the way through: not both sides, nor what is rare.
const LONGEST_BLOCK: usize = 18;

/// Nodes that are declared in a line.
pub(crate) const DECLARED: usize = 12;

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

/// What is asked before statements that need not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Does a mask hold, of a single run or the same in all lanes?
    Holds(Node),
    /// Does it hold in any lane?
    Any(Node),
    /// In all lanes?
    All(Node),
    /// Not in all of them?
    NotAll(Node),
    /// Is this the last step of a stretch?
    LastStep,
    /// Is there a row to be written?
    Row,
    /// Does anybody look at the state after this step?
    Seen,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// What the following is.
    Comment(String),
    /// These are assigned further down.
    Declare(Vec<Node>),
    /// A node, from its sources; a root may be found by multiplication.
    Define {
        /// The node.
        node: Node,
        /// Whether by multiplication, as `roots` tells.
        by_product: bool,
    },
    /// A declared node takes the value of another.
    Assign {
        /// The node.
        to: Node,
        /// The other.
        value: Node,
    },
    /// A declared node takes one of two values, lane by lane.
    Choose {
        /// The node.
        to: Node,
        /// Which.
        mask: Node,
        /// Where it holds.
        yes: Node,
        /// Elsewhere.
        no: Node,
    },
    /// The following is done where the answer is yes.
    If(Question),
    /// The following is done where it is no.
    Else,
    /// The end of what is done after a question.
    End,
    /// A number of the state takes the value of a node.
    Store {
        /// The number.
        slot: u32,
        /// The node.
        node: Node,
    },
    /// What the engine has left in the state.
    Fetch {
        /// The node.
        result: Node,
        /// The number.
        slot: u32,
    },
    /// A component reports something, in some lanes.
    Report {
        /// What.
        event: Event,
        /// Who.
        component: u32,
        /// When.
        moment: u32,
        /// Where.
        mask: Node,
    },
    /// The engine does a unit.
    Engine {
        /// The unit.
        unit: usize,
        /// When.
        moment: u32,
    },
    /// A number is kept for all steps.
    Keep {
        /// Where.
        place: usize,
        /// The node.
        node: Node,
    },
    /// A number is handed out after every step.
    See {
        /// Where.
        at: usize,
        /// The node.
        node: Node,
    },
    /// A number goes into a row.
    InRow {
        /// Where.
        at: usize,
        /// The node.
        node: Node,
        /// With the opposite sign.
        negative: bool,
    },
}

/// Where the stores and what is handed out begin with which a step ends.
pub fn tail(step: &[Statement]) -> usize {
    let is_end = |s: &&Statement| matches!(s, Statement::Store { .. } | Statement::See { .. });
    step.len() - step.iter().rev().take_while(is_end).count()
}

/// The statements of a program.
#[derive(Debug)]
pub struct Script {
    /// Before a run.
    pub prepare: Vec<Statement>,
    /// In every step.
    pub step: Vec<Statement>,
    /// Where fixed nodes are kept.
    pub kept: HashMap<Node, usize>,
    /// Slots that are held in locals from step to step.
    pub held: BTreeSet<u32>,
    /// Whether a node is a mask.
    pub is_mask: Vec<bool>,
    /// Whether a node is the same in all lanes, and computed once for all of them.
    pub is_common: Vec<bool>,
    /// Slots that units which the engine may do look at.
    pub shared: Vec<bool>,
    /// How urgent each node is.
    pub urgency: Vec<u32>,
    /// Numbers in a row.
    pub in_row: usize,
    /// Lines in all: what a compiler's time goes with.
    pub lines: usize,
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

/// Puts the statements of a program in order.
pub fn script(program: &Program, style: &Style<'_>) -> Script {
    let mut writer = Writer::new(program, style);
    writer.find_uses();
    writer.share_roots();
    writer.find_blocks();
    writer.prepare();
    let prepare = std::mem::take(&mut writer.out);
    writer.emitted.fill(false);
    writer.hold();
    writer.step();
    let in_row = style.row.map_or(0, <[_]>::len);
    let Writer { out, kept, held, is_mask, is_common, shared, urgency, lines, .. } = writer;
    Script { prepare, step: out, kept, held, is_mask, is_common, shared, urgency, in_row, lines }
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
    /// How long it takes through each block.
    ways_through: Vec<u32>,
    /// Which nodes have a name in the scope that is being written.
    emitted: Vec<bool>,
    scopes: Vec<Vec<Node>>,
    out: Vec<Statement>,
    lines: usize,
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
            kept: HashMap::default(),
            shared,
            loaded: vec![false; slots],
            held: BTreeSet::new(),
            blocks: Blocks::default(),
            urgency: urgency(program, pace),
            pace,
            ways_through: Vec::new(),
            emitted: vec![false; count],
            scopes: vec![Vec::new()],
            out: Vec::new(),
            lines: 0,
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
        self.ways_through = self.blocks.ways_through(ops, &is_fixed, &|op| latency(op, self.pace));
    }

    fn is_worth_keeping(&self, node: Node) -> bool {
        !matches!(self.op(node), Op::Constant(_) | Op::Truth(_) | Op::Load(_) | Op::Parameter(_))
    }

    /// A statement that is a line of text.
    fn put(&mut self, statement: Statement) {
        self.out.push(statement);
        self.lines += 1;
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
        let mut missing: HashMap<Node, Missing> = HashMap::default();
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
                match self.block_of(node).and_then(|block| block.outside_of(node)) {
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
        let mut loads: HashMap<Node, Vec<Node>> = HashMap::default();
        let mut queue = Queue::default();
        let mut first: Vec<Node> =
            missing.iter().filter(|(_, m)| m.waits_for == 0).map(|(&n, _)| n).collect();
        first.sort_unstable();
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
            let before = self.lines;
            for load in loads.remove(&node).unwrap_or_default() {
                if !self.emitted[load as usize] {
                    self.define(load);
                }
            }
            let Some(entry) = missing.remove(&node) else { continue };
            let latency = self.latency(node);
            match self.block_of(node).map(|b| (b.mask, b.holds)) {
                Some(question) => {
                    let mut members = entry.wanted;
                    members.sort_unstable();
                    self.block(question, &members);
                }
                None => self.define(node),
            }
            let written = (self.lines - before).min(LONGEST_BLOCK);
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

    /// What the numbers of a statement or block take once what they need is there.
    fn latency(&self, node: Node) -> u32 {
        let block = self.blocks.index_of(node).filter(|_| self.in_step);
        block.map_or_else(|| latency(self.op(node), self.pace), |block| self.ways_through[block])
    }

    fn name_in_scope(&mut self, node: Node) {
        self.emitted[node as usize] = true;
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(node);
        }
    }

    /// A node whose sources are there.
    fn define(&mut self, node: Node) {
        let in_lanes = self.style.language == Language::Lanes && !self.is_common[node as usize];
        let mut by_product = false;
        if let (true, Op::Call(Function::Sqrt, _)) = (in_lanes, self.op(node))
            && let Some(written) = &mut self.roots
        {
            *written += 1;
            by_product = *written % 2 == 0;
        }
        self.put(Statement::Define { node, by_product });
        self.name_in_scope(node);
    }

    /// Choices by a mask of which one side is computed only where it is taken.
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
        self.ask(match (lanes, holds) {
            (true, true) => Question::Any(mask),
            (true, false) => Question::NotAll(mask),
            (false, _) => Question::Holds(mask),
        });
        // In lanes one side is taken by all or chosen from; in a single run either side is taken.
        let first: Vec<Node> =
            members.iter().map(|&(_, yes, no)| if holds || !lanes { yes } else { no }).collect();
        self.need_all(&first);
        for (&(to, yes, no), &value) in members.iter().zip(&first) {
            let is_chosen = matches!(self.op(to), Op::Select(..));
            self.put(match lanes && is_chosen {
                true => Statement::Choose { to, mask, yes, no },
                false => Statement::Assign { to, value },
            });
        }
        self.otherwise();
        let second: Vec<Node> =
            members.iter().map(|&(_, yes, no)| if holds || !lanes { no } else { yes }).collect();
        self.need_all(&second);
        for (&(to, ..), &value) in members.iter().zip(&second) {
            self.put(Statement::Assign { to, value });
        }
        self.end_of_question();
        for &member in choices {
            self.name_in_scope(member);
        }
    }

    fn ask(&mut self, question: Question) {
        self.put(Statement::If(question));
        self.scopes.push(Vec::new());
    }

    fn otherwise(&mut self) {
        self.close();
        self.put(Statement::Else);
        self.scopes.push(Vec::new());
    }

    fn end_of_question(&mut self) {
        self.close();
        self.put(Statement::End);
    }

    fn close(&mut self) {
        for node in self.scopes.pop().unwrap_or_default() {
            self.emitted[node as usize] = false;
        }
    }

    /// Numbers that are assigned further down.
    fn declare(&mut self, nodes: &[Node]) {
        if !nodes.is_empty() {
            self.out.push(Statement::Declare(nodes.to_vec()));
            let common = nodes.iter().filter(|&&node| self.is_common[node as usize]).count();
            self.lines += common.div_ceil(DECLARED) + (nodes.len() - common).div_ceil(DECLARED);
        }
    }

    fn prepare(&mut self) {
        let mut kept: Vec<(usize, Node)> = self.kept.iter().map(|(&n, &i)| (i, n)).collect();
        kept.sort_unstable();
        for (place, node) in kept {
            self.need(node);
            self.put(Statement::Keep { place, node });
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
            self.ask(Question::LastStep);
            let mut ends: Vec<Node> = at_last.iter().map(|&(_, node)| node).collect();
            ends.extend(row.iter().map(|&(node, _)| node));
            self.need_all(&ends);
            if !row.is_empty() {
                self.ask(Question::Row);
                for (at, &(node, sign)) in row.iter().enumerate() {
                    self.put(Statement::InRow { at, node, negative: sign < 0.0 });
                }
                self.end_of_question();
            }
            // With rows nobody looks at the state before.
            let is_rarely_seen = self.style.row.is_some();
            if is_rarely_seen {
                self.ask(Question::Seen);
            }
            for &(slot, node) in &at_last {
                self.put(Statement::Store { slot, node });
            }
            if is_rarely_seen {
                self.end_of_question();
            }
            self.end_of_question();
        }
        for (slot, node) in always {
            self.put(Statement::Store { slot, node });
        }
        for (at, &node) in seen.iter().enumerate() {
            self.put(Statement::See { at, node });
        }
    }

    fn unit(&mut self, index: usize, unit: &Unit) {
        if let Some(comment) = (self.style.comment)(unit) {
            self.put(Statement::Comment(comment));
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
            &Tree::Branch { mask, is_any, ref yes, ref no } => {
                self.need(mask);
                let in_lanes = self.style.language == Language::Lanes;
                self.ask(match (in_lanes && !self.is_common[mask as usize], is_any) {
                    (false, _) => Question::Holds(mask),
                    (true, true) => Question::Any(mask),
                    (true, false) => Question::All(mask),
                });
                self.tree(index, unit, yes);
                self.otherwise();
                self.tree(index, unit, no);
                self.end_of_question();
            }
        }
    }

    fn end(&mut self, unit: &Unit, end: &End) {
        let component = match unit.part {
            Part::Component { component, .. } => component,
            _ => 0,
        };
        for &(event, mask) in &end.events {
            self.need(mask);
            self.put(Statement::Report { event, component, moment: unit.moment, mask });
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
        for (to, value) in pairs {
            self.put(Statement::Assign { to, value });
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
            self.put(Statement::Store { slot, node });
        }
        self.put(Statement::Engine { unit: index, moment: unit.moment });
        for &(slot, result) in &unit.results {
            if self.used[result as usize] {
                self.put(Statement::Fetch { result, slot });
            }
        }
    }
}
