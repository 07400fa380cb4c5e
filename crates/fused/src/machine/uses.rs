//! Where statements use the nodes of a program: how long each must be kept.

use crate::script::{Question, Statement};
use fluxline_core::program::Program;
use fluxline_core::trace::{Node, Op};

/// Where nodes are used, by the position of the statement.
///
/// What is computed in one branch may be computed again in another: a use counts for what was computed
/// last before it.
#[derive(Debug)]
pub struct Uses {
    /// Where the events of a node begin among all.
    begins: Vec<u32>,
    /// Twice the position, and one more for a use: otherwise it is computed there, or declared.
    all: Vec<u32>,
    /// Of each question, where it ends.
    pub ends: Vec<u32>,
}

impl Uses {
    /// The next use, at the position or after it, before it is computed again.
    pub fn next(&self, node: Node, position: u32) -> Option<u32> {
        let events = self.of(node);
        let next = events.get(events.partition_point(|&event| event < 2 * position))?;
        (next % 2 == 1).then_some(next / 2)
    }

    /// Whether a node is used after the position, before it is computed again.
    pub fn is_used_after(&self, node: Node, position: u32) -> bool {
        self.next(node, position + 1).is_some()
    }

    /// The last use of a node.
    pub fn last(&self, node: Node) -> Option<u32> {
        self.of(node).iter().rev().find(|&event| event % 2 == 1).map(|event| event / 2)
    }

    /// How often a node is used.
    pub fn count(&self, node: Node) -> usize {
        self.of(node).iter().filter(|&event| event % 2 == 1).count()
    }

    fn of(&self, node: Node) -> &[u32] {
        let node = node as usize;
        &self.all[self.begins[node] as usize..self.begins[node + 1] as usize]
    }

    /// Those of statements. Masks `by_jump` are not there: what they compare is used instead.
    pub fn new(program: &Program, statements: &[Statement], by_jump: &[bool]) -> Self {
        let mut found: Vec<(Node, u32)> = Vec::new();
        let mut ends = vec![0; statements.len()];
        let mut open: Vec<usize> = Vec::new();
        // Values that are taken over where a branch ends.
        let mut assigned: Vec<Vec<Node>> = vec![Vec::new()];
        for (position, statement) in statements.iter().enumerate() {
            let at = 2 * position as u32;
            if let Statement::Define { node, .. } = *statement {
                found.push((node, at));
            }
            let mut needs =
                |node: Node| needs(program, by_jump, node, &mut |n| found.push((n, at + 1)));
            match *statement {
                Statement::Comment(_) | Statement::Fetch { .. } | Statement::Engine { .. } => {}
                Statement::Declare(ref nodes) => {
                    found.extend(nodes.iter().map(|&node| (node, at)));
                }
                Statement::Define { node, .. } => {
                    let op = program.ops[node as usize];
                    match op {
                        _ if by_jump[node as usize] => {}
                        Op::Where(_, yes, _) => needs(yes),
                        _ => op.sources().for_each(needs),
                    }
                }
                Statement::Assign { value, .. } => {
                    needs(value);
                    if let Some(last) = assigned.last_mut() {
                        last.push(value);
                    }
                }
                Statement::Choose { mask, yes, no, .. } => {
                    [mask, yes, no].into_iter().for_each(needs)
                }
                Statement::If(question) => {
                    open.push(position);
                    assigned.push(Vec::new());
                    match question {
                        Question::Holds(mask)
                        | Question::Any(mask)
                        | Question::All(mask)
                        | Question::NotAll(mask) => needs(mask),
                        Question::LastStep | Question::Row | Question::Seen => {}
                    }
                }
                Statement::Else => {
                    let taken = assigned.last_mut().map(std::mem::take).unwrap_or_default();
                    taken.into_iter().for_each(needs);
                }
                Statement::End => {
                    let taken = assigned.pop().unwrap_or_default();
                    taken.into_iter().for_each(needs);
                    if let Some(begin) = open.pop() {
                        ends[begin] = position as u32;
                    }
                }
                Statement::Report { mask, .. } => needs(mask),
                Statement::Store { node, .. }
                | Statement::Keep { node, .. }
                | Statement::See { node, .. }
                | Statement::InRow { node, .. } => needs(node),
            }
        }
        found.sort_unstable();
        found.dedup();
        let mut begins = vec![0; program.ops.len() + 1];
        for &(node, _) in &found {
            begins[node as usize + 1] += 1;
        }
        for node in 0..program.ops.len() {
            begins[node + 1] += begins[node];
        }
        Self { begins, all: found.into_iter().map(|(_, at)| at).collect(), ends }
    }
}

/// What is there when a node is used: itself, or what a mask by jumps compares.
fn needs(program: &Program, by_jump: &[bool], node: Node, f: &mut dyn FnMut(Node)) {
    match by_jump[node as usize] {
        false => f(node),
        true => {
            for source in program.ops[node as usize].sources() {
                needs(program, by_jump, source, f);
            }
        }
    }
}

/// Which masks are asked for where they are wanted, by a comparison and a jump, of those that may be: those
/// of a single run, and those that are the same in all lanes. Masks of several comparisons are computed
/// once, without jumps.
pub fn by_jump(program: &Program, may_be: &dyn Fn(usize) -> bool) -> Vec<bool> {
    let mut by_jump = vec![false; program.ops.len()];
    for (node, &op) in program.ops.iter().enumerate() {
        by_jump[node] = may_be(node)
            && match op {
                Op::Truth(_) | Op::Less(..) | Op::LessEqual(..) => true,
                Op::Equal(..) | Op::Apart(..) => true,
                Op::Not(a) => by_jump[a as usize],
                _ => false,
            };
    }
    // What a mask that is computed once is computed from is there, too.
    for node in (0..program.ops.len()).rev() {
        if let op @ (Op::Not(_) | Op::And(..) | Op::Or(..)) = program.ops[node]
            && !by_jump[node]
        {
            op.sources().for_each(|source| by_jump[source as usize] = false);
        }
    }
    by_jump
}
