//! Choices whose dear side is computed only where it is taken.
//!
//! Choices by the same mask that can be made at the same place make one block. In lanes a block asks
//! for one side (any lane that takes it pays for all); in a single run it is plain `if` and `else`.

use fluxline_core::guard::{Guards, Literal, WORTH_ASKING};
use fluxline_core::trace::{Node, Op};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Choices that are made together.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// What is asked.
    pub mask: Node,
    /// In lanes, whether the side that is spared is that where the mask holds.
    pub holds: bool,
    /// The choices, in order.
    pub members: Vec<Node>,
    /// For each, what must be there before: the mask, and what is not computed inside.
    pub outside: Vec<Vec<Node>>,
}

/// All blocks.
#[derive(Debug, Default)]
pub struct Blocks {
    blocks: Vec<Block>,
    of: HashMap<Node, usize>,
}

impl Blocks {
    /// The block that a choice belongs to.
    pub fn of(&self, node: Node) -> Option<&Block> {
        self.of.get(&node).map(|&block| &self.blocks[block])
    }

    /// Finds them. What is `fixed` is not computed in a step at all.
    pub fn new(ops: &[Op], guards: &Guards, in_lanes: bool, fixed: &dyn Fn(Node) -> bool) -> Self {
        let is_under = |node: Node, literal: Literal| guards.conditions(node).contains(&literal);
        // Choices by the same mask that are wanted under the same conditions.
        let mut alike: BTreeMap<(Node, bool, u32), Vec<Node>> = BTreeMap::new();
        for node in guards.used().filter(|&node| !fixed(node)) {
            let (mask, yes, no, is_choice) = match ops[node as usize] {
                Op::Select(mask, yes, no) => (mask, yes, no, true),
                // Only where it holds is there anything to spare.
                Op::Where(mask, yes, no) => (mask, yes, no, false),
                _ => continue,
            };
            // It stands where the mask was asked before: asking again spares nothing, and what one side
            // needs may be what the other spares.
            if [true, false].into_iter().any(|holds| is_under(node, (mask, holds))) {
                continue;
            }
            let [held, not_held] = [true, false].map(|holds| guards.spared((mask, holds)));
            let holds = !is_choice || held >= not_held;
            if (if holds { held } else { not_held }) < WORTH_ASKING {
                continue;
            }
            let is_dear = |side: Node, holds: bool| is_under(side, (mask, holds)) && !fixed(side);
            let spares = match in_lanes {
                true => is_dear(if holds { yes } else { no }, holds),
                false => is_dear(yes, true) || is_dear(no, false),
            };
            if spares {
                alike.entry((mask, holds, guards.kind(node))).or_default().push(node);
            }
        }
        let mut all = Self::default();
        for ((mask, holds, _), choices) in alike {
            let mut rest = &choices[..];
            while let Some((&first, others)) = rest.split_first() {
                let mut members = vec![first];
                let mut count = 0;
                while others.get(count).is_some_and(|&other| all.can_join(ops, &members, other)) {
                    members.push(others[count]);
                    count += 1;
                }
                rest = &others[count..];
                let is_inside = |node: Node| match in_lanes {
                    true => is_under(node, (mask, holds)),
                    false => is_under(node, (mask, true)) || is_under(node, (mask, false)),
                };
                let outside =
                    members.iter().map(|&member| outside(ops, member, is_inside, fixed)).collect();
                all.of.extend(members.iter().map(|&member| (member, all.blocks.len())));
                all.blocks.push(Block { mask, holds, members, outside });
            }
        }
        all
    }

    /// Whether a choice can be made where others are: nothing that it needs is computed from them, or
    /// comes of a unit after them. What one choice of another block needs all of that block waits for.
    fn can_join(&self, ops: &[Op], members: &[Node], choice: Node) -> bool {
        let mut waiting: Vec<Node> = ops[choice as usize].sources().collect();
        let mut seen = vec![false; ops.len()];
        while let Some(node) = waiting.pop() {
            if std::mem::replace(&mut seen[node as usize], true) {
                continue;
            }
            let comes_later = node > members[0] && matches!(ops[node as usize], Op::Result(_));
            if comes_later || members.contains(&node) {
                return false;
            }
            match self.of(node) {
                Some(block) => {
                    for &other in &block.members {
                        seen[other as usize] = true;
                        waiting.extend(ops[other as usize].sources());
                    }
                }
                None => waiting.extend(ops[node as usize].sources()),
            }
        }
        true
    }
}

/// What a choice needs that is not computed inside its block, nor before the first step.
fn outside(
    ops: &[Op],
    member: Node,
    is_inside: impl Fn(Node) -> bool,
    fixed: &dyn Fn(Node) -> bool,
) -> Vec<Node> {
    let mut waiting: Vec<Node> = ops[member as usize].sources().collect();
    let mut found: Vec<Node> = Vec::new();
    let mut seen = HashSet::new();
    while let Some(node) = waiting.pop() {
        let is_loaded = matches!(ops[node as usize], Op::Load(_) | Op::Parameter(_));
        if !seen.insert(node) || fixed(node) && !is_loaded {
            continue;
        }
        match is_inside(node) {
            true => waiting.extend(ops[node as usize].sources()),
            false => found.push(node),
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::trace::Function;

    #[test]
    fn choices_by_one_mask_make_one_block_unless_one_needs_the_other() {
        let root = Op::Call(Function::Sqrt, 0);
        let ops = [
            Op::Load(0),
            Op::Load(1),
            Op::Less(0, 1),
            root,
            Op::Div(3, 1),
            Op::Select(2, 3, 0),
            Op::Select(2, 4, 1),
            Op::Add(5, 6),
            Op::Div(7, 0),
            Op::Div(8, 1),
            Op::Select(2, 9, 7),
        ];
        let guards = Guards::new(&ops, 0, [10]);
        for in_lanes in [true, false] {
            let blocks = Blocks::new(&ops, &guards, in_lanes, &|_| false);
            let both = blocks.of(5).expect("a block");
            assert_eq!(both.members, [5, 6]);
            assert_eq!(both.outside, [[0, 2].to_vec(), [0, 1, 2].to_vec()]);
            let last = blocks.of(10).expect("another");
            assert_eq!((&last.members[..], &last.outside[0][..]), (&[10][..], &[0, 1, 2, 7][..]));
        }
    }

    #[test]
    fn what_is_computed_before_the_first_step_is_not_waited_for_but_what_is_loaded_is() {
        let ops = [
            Op::Load(0),
            Op::Load(1),
            Op::Less(0, 1),
            Op::Div(1, 0),
            Op::Div(3, 0),
            Op::Mul(1, 1),
            Op::Select(2, 4, 5),
        ];
        let guards = Guards::new(&ops, 0, [6]);
        // The second number stays what it is, and so does its square.
        let blocks = Blocks::new(&ops, &guards, true, &|node| [1, 5].contains(&node));
        assert_eq!(blocks.of(6).map(|block| &block.outside[0][..]), Some(&[0, 1, 2][..]));
    }

    #[test]
    fn a_mask_is_not_asked_again_where_it_was_asked() {
        // 6 is wanted where mask 2 holds, and chooses by it.
        let dear = |of: Node| Op::Div(of, 1);
        let ops = [
            Op::Load(0),
            Op::Load(1),
            Op::Less(0, 1),
            dear(0),
            dear(3),
            dear(4),
            Op::Select(2, 4, 5),
            dear(6),
            Op::Select(2, 7, 0),
        ];
        let guards = Guards::new(&ops, 0, [8]);
        for in_lanes in [true, false] {
            let blocks = Blocks::new(&ops, &guards, in_lanes, &|_| false);
            assert!(blocks.of(6).is_none() && blocks.of(8).is_some());
        }
    }

    #[test]
    fn two_blocks_do_not_wait_for_each_other() {
        // Choices by mask 2 are nodes 5 and 10, by mask 3 nodes 7 and 12: 12 needs 5, and 10 needs 7.
        let dear = |of: Node| Op::Div(of, 1);
        let ops = [
            Op::Load(0),
            Op::Load(1),
            Op::Less(0, 1),
            Op::Less(1, 0),
            dear(0),
            Op::Select(2, 4, 1),
            Op::Div(1, 0),
            Op::Select(3, 6, 0),
            Op::Mul(7, 7),
            dear(8),
            Op::Select(2, 9, 8),
            dear(5),
            Op::Select(3, 11, 5),
        ];
        let guards = Guards::new(&ops, 0, [10, 12]);
        let blocks = Blocks::new(&ops, &guards, true, &|_| false);
        assert_eq!(blocks.of(5).map(|block| &block.members[..]), Some(&[5, 10][..]));
        assert_eq!(blocks.of(7).map(|block| &block.members[..]), Some(&[7][..]));
        assert_eq!(blocks.of(12).map(|block| &block.members[..]), Some(&[12][..]));
    }
}
