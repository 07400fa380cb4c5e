//! Choices whose dear side is computed only where it is taken.
//!
//! Choices by the same mask that can be made at the same place make one block. In lanes a block asks
//! for one side (any lane that takes it pays for all); in a single run it is plain `if` and `else`.

use fluxline_core::guard::{Guards, Literal, WORTH_ASKING};
use fluxline_core::trace::{Node, Op};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeMap;

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

impl Block {
    /// What must be there before one of its choices.
    pub fn outside_of(&self, member: Node) -> Option<&[Node]> {
        let at = self.members.iter().position(|&other| other == member)?;
        self.outside.get(at).map(|outside| &outside[..])
    }
}

/// Which nodes a search has met; the next one begins without forgetting them one by one.
struct Met {
    by: Vec<u32>,
    search: u32,
}

impl Met {
    fn of(nodes: usize) -> Self {
        Self { by: vec![0; nodes], search: 0 }
    }
    fn forget(&mut self) {
        self.search += 1;
    }
    /// Whether it is met for the first time.
    fn insert(&mut self, node: Node) -> bool {
        std::mem::replace(&mut self.by[node as usize], self.search) != self.search
    }
}

/// All blocks.
#[derive(Debug, Default)]
pub struct Blocks {
    blocks: Vec<Block>,
    /// Which block each node belongs to, counted from 1; none of those beyond the end.
    of: Vec<u32>,
}

impl Blocks {
    /// The block that a choice belongs to.
    pub fn of(&self, node: Node) -> Option<&Block> {
        self.index_of(node).map(|block| &self.blocks[block])
    }

    /// Which block it is.
    pub fn index_of(&self, node: Node) -> Option<usize> {
        self.of.get(node as usize)?.checked_sub(1).map(|block| block as usize)
    }

    /// How long it takes through each block, from what is there before it to its last choice.
    pub fn ways_through(
        &self,
        ops: &[Op],
        fixed: &dyn Fn(Node) -> bool,
        latency: &dyn Fn(Op) -> u32,
    ) -> Vec<u32> {
        let mut ways = Ways { blocks: self, ops, fixed, latency, found: Vec::new() };
        ways.found.resize(self.blocks.len(), None);
        (0..self.blocks.len()).map(|block| ways.through(block)).collect()
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
        let mut all = Self { blocks: Vec::new(), of: vec![0; ops.len()] };
        let met = &mut Met::of(ops.len());
        for ((mask, holds, _), choices) in alike {
            let mut rest = &choices[..];
            while let Some((&first, others)) = rest.split_first() {
                let mut members = vec![first];
                let mut count = 0;
                while others
                    .get(count)
                    .is_some_and(|&other| all.can_join(ops, &members, other, met))
                {
                    members.push(others[count]);
                    count += 1;
                }
                rest = &others[count..];
                let is_inside = |node: Node| match in_lanes {
                    true => is_under(node, (mask, holds)),
                    false => is_under(node, (mask, true)) || is_under(node, (mask, false)),
                };
                let outside = members
                    .iter()
                    .map(|&member| outside(ops, member, is_inside, fixed, met))
                    .collect();
                let number = all.blocks.len() as u32 + 1;
                members.iter().for_each(|&member| all.of[member as usize] = number);
                all.blocks.push(Block { mask, holds, members, outside });
            }
        }
        all
    }

    /// Whether a choice can be made where others are: nothing that it needs is computed from them, or
    /// comes of a unit after them. What one choice of another block needs all of that block waits for.
    fn can_join(&self, ops: &[Op], members: &[Node], choice: Node, met: &mut Met) -> bool {
        let mut waiting: Vec<Node> = ops[choice as usize].sources().collect();
        met.forget();
        while let Some(node) = waiting.pop() {
            if !met.insert(node) {
                continue;
            }
            let comes_later = node > members[0] && matches!(ops[node as usize], Op::Result(_));
            if comes_later || members.contains(&node) {
                return false;
            }
            match self.of(node) {
                Some(block) => {
                    for &other in &block.members {
                        met.insert(other);
                        waiting.extend(ops[other as usize].sources());
                    }
                }
                None => waiting.extend(ops[node as usize].sources()),
            }
        }
        true
    }
}

/// Finds how long blocks take, each once, though they stand in one another.
struct Ways<'a> {
    blocks: &'a Blocks,
    ops: &'a [Op],
    fixed: &'a dyn Fn(Node) -> bool,
    latency: &'a dyn Fn(Op) -> u32,
    found: Vec<Option<u32>>,
}

impl Ways<'_> {
    fn through(&mut self, block: usize) -> u32 {
        if let Some(way) = self.found[block] {
            return way;
        }
        let Block { members, outside, .. } = &self.blocks.blocks[block];
        let mut known: HashMap<Node, u32> = HashMap::default();
        known.extend(outside.iter().flatten().map(|&node| (node, 0)));
        let longest = members.iter().map(|&node| self.to(node, block, &mut known)).max();
        *self.found[block].insert(longest.unwrap_or(0))
    }

    /// To a node within a block.
    fn to(&mut self, node: Node, block: usize, known: &mut HashMap<Node, u32>) -> u32 {
        if let Some(&way) = known.get(&node) {
            return way;
        }
        if (self.fixed)(node) {
            return 0;
        }
        let way = match self.blocks.index_of(node).filter(|&inner| inner != block) {
            Some(inner) => {
                let outside = self.blocks.blocks[inner].outside_of(node).unwrap_or_default();
                let before = outside.iter().map(|&n| self.to(n, block, known)).max();
                before.unwrap_or(0) + self.through(inner)
            }
            None => {
                let op = self.ops[node as usize];
                let before = op.sources().map(|n| self.to(n, block, known)).max();
                before.unwrap_or(0) + (self.latency)(op)
            }
        };
        known.insert(node, way);
        way
    }
}

/// What a choice needs that is not computed inside its block, nor before the first step.
fn outside(
    ops: &[Op],
    member: Node,
    is_inside: impl Fn(Node) -> bool,
    fixed: &dyn Fn(Node) -> bool,
    met: &mut Met,
) -> Vec<Node> {
    let mut waiting: Vec<Node> = ops[member as usize].sources().collect();
    let mut found: Vec<Node> = Vec::new();
    met.forget();
    while let Some(node) = waiting.pop() {
        let is_loaded = matches!(ops[node as usize], Op::Load(_) | Op::Parameter(_));
        if !met.insert(node) || fixed(node) && !is_loaded {
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
    fn the_way_through_a_block_leads_through_those_within_it() {
        // Where mask 2 holds: a root, and by mask 3 another root of it; then the product of both.
        let root = |of: Node| Op::Call(Function::Sqrt, of);
        let ops = [
            Op::Load(0),
            Op::Load(1),
            Op::Less(0, 1),
            Op::Less(1, 0),
            root(0),
            root(4),
            Op::Select(3, 5, 1),
            Op::Mul(4, 6),
            Op::Select(2, 7, 0),
        ];
        let guards = Guards::new(&ops, 0, [8]);
        let blocks = Blocks::new(&ops, &guards, false, &|_| false);
        let [outer, inner] = [8, 6].map(|node| blocks.index_of(node).expect("a block"));
        let latency = |op: Op| match op {
            Op::Call(..) => 20,
            Op::Mul(..) => 4,
            _ => 1,
        };
        let ways = blocks.ways_through(&ops, &|_| false, &latency);
        assert_eq!(ways[inner], 20 + 1);
        assert_eq!(ways[outer], 20 + (20 + 1) + 4 + 1);
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
