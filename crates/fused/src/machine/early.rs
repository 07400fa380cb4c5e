//! Numbers of the state are stored as soon as that can be.
//!
//! A step ends with storing what it has changed. All at once at the end, stores keep a processor busy
//! that can do nothing else meanwhile, and what is stored has taken registers, or a place on the stack,
//! until then. So a number is stored when it is computed, or when what was there before is used for
//! the last time.

use super::uses::Uses;
use crate::script::{Script, Statement, tail};
use fluxline_core::program::Program;
use fluxline_core::trace::{Node, Op};
use rustc_hash::FxHashMap as HashMap;

/// The statements of a step, with stores where they can be first; but for those that are `last`.
pub fn stores(
    program: &Program,
    script: &Script,
    by_jump: &[bool],
    last: &dyn Fn(u32) -> bool,
) -> Vec<Statement> {
    let step = &script.step;
    let tail = tail(step);
    let uses = Uses::new(program, step, by_jump);
    let outside = outside_of_questions(&step[..tail]);
    // From which statement on a node is there for all that follow.
    let mut known: HashMap<Node, usize> = HashMap::default();
    for (position, statement) in step[..tail].iter().enumerate() {
        match *statement {
            Statement::Define { node, .. } if outside[position] == position => {
                known.insert(node, position);
            }
            Statement::Assign { to, .. }
            | Statement::Choose { to, .. }
            | Statement::Fetch { result: to, .. } => {
                known.insert(to, outside[position]);
            }
            _ => {}
        }
    }
    let loads: HashMap<u32, Node> = (0..)
        .zip(&program.ops)
        .filter_map(|(node, &op)| match op {
            Op::Load(slot) => Some((slot, node)),
            _ => None,
        })
        .collect();
    // Stores that follow each statement.
    let mut after: HashMap<usize, Vec<Statement>> = HashMap::default();
    let mut rest = Vec::new();
    for statement in &step[tail..] {
        let early = match *statement {
            Statement::Store { slot, node }
                if script.shared.get(slot as usize) != Some(&true) && !last(slot) =>
            {
                let used = loads.get(&slot).and_then(|&load| uses.last(load));
                let used = used.map_or(Some(0), |at| outside.get(at as usize).copied());
                known.get(&node).zip(used).map(|(&known, used)| known.max(used))
            }
            _ => None,
        };
        match early {
            Some(position) => after.entry(position).or_default().push(statement.clone()),
            None => rest.push(statement.clone()),
        }
    }
    let mut all = Vec::with_capacity(step.len());
    for (position, statement) in step[..tail].iter().enumerate() {
        all.push(statement.clone());
        all.append(&mut after.remove(&position).unwrap_or_default());
    }
    all.append(&mut rest);
    all
}

/// For each statement the end of the outermost question around it, or itself.
fn outside_of_questions(statements: &[Statement]) -> Vec<usize> {
    let mut outside: Vec<usize> = (0..statements.len()).collect();
    let (mut depth, mut begin) = (0, 0);
    for (position, statement) in statements.iter().enumerate() {
        match statement {
            Statement::If(_) => {
                if depth == 0 {
                    begin = position;
                }
                depth += 1;
            }
            Statement::End => {
                depth -= 1;
                if depth == 0 {
                    outside[begin..=position].fill(position);
                }
            }
            _ => {}
        }
    }
    outside
}
