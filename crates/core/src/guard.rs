//! Which numbers are wanted only where a mask holds.
//!
//! Physics that is computed for both sides of a choice and then chosen from leaves one side for
//! nothing. A node whose every use leads through the same side of a choice is guarded by it: code may
//! skip it where no lane takes that side. Conditions along the way add up; what is used in several
//! places is guarded by the conditions that all of them share.

use crate::trace::{Function, Node, Op};
use rustc_hash::FxHashMap as HashMap;

/// A mask, and whether it must hold.
pub type Literal = (Node, bool);

/// A condition that spares less than this is not worth asking for, in simple operations.
pub const WORTH_ASKING: u32 = 8;

/// Conditions that are remembered for one node.
const MOST_CONDITIONS: usize = 16;

/// What a node costs, in simple operations.
pub fn cost(op: Op) -> u32 {
    match op {
        Op::Div(..) => 8,
        Op::Call(Function::Sqrt, _) => 12,
        Op::Call(Function::Abs | Function::Floor, _) | Op::Neg(_) | Op::Not(_) => 1,
        Op::Call(..) | Op::Power(..) | Op::Angle(..) => 40,
        Op::Add(..) | Op::Sub(..) | Op::Mul(..) | Op::Select(..) => 1,
        Op::Less(..) | Op::LessEqual(..) | Op::Equal(..) | Op::Apart(..) => 1,
        Op::And(..) | Op::Or(..) | Op::Least(..) | Op::Largest(..) => 1,
        _ => 0,
    }
}

/// Sets of conditions that occur, each in order; the first is empty.
#[derive(Debug)]
struct Sets {
    all: Vec<Vec<Literal>>,
    known: HashMap<Vec<Literal>, u32>,
}

impl Sets {
    fn name(&mut self, set: Vec<Literal>) -> u32 {
        *self.known.entry(set).or_insert_with_key(|set| {
            self.all.push(set.clone());
            self.all.len() as u32 - 1
        })
    }
    fn with(&mut self, set: u32, literal: Literal) -> u32 {
        let mut set = self.all[set as usize].clone();
        if set.len() < MOST_CONDITIONS && !set.contains(&literal) {
            set.push(literal);
            set.sort_unstable();
        }
        self.name(set)
    }
    fn common(&mut self, a: u32, b: u32) -> u32 {
        if a == b {
            return a;
        }
        let (a, b) = (&self.all[a as usize], &self.all[b as usize]);
        let both = a.iter().filter(|literal| b.contains(literal)).copied().collect();
        self.name(both)
    }
}

/// The conditions of all nodes.
#[derive(Debug)]
pub struct Guards {
    sets: Sets,
    /// The first node that is looked at.
    begin: usize,
    /// Which set a node has; none where nothing uses it.
    of: Vec<Option<u32>>,
    /// What all nodes under a condition cost together.
    spared: HashMap<Literal, u32>,
}

impl Guards {
    /// Those of nodes from `begin` on, which `roots` want whatever holds.
    pub fn new(ops: &[Op], begin: usize, roots: impl IntoIterator<Item = Node>) -> Self {
        let known = HashMap::from_iter([(Vec::new(), 0)]);
        let mut sets = Sets { all: vec![Vec::new()], known };
        let mut of: Vec<Option<u32>> = vec![None; ops.len() - begin];
        for root in roots.into_iter().filter(|&root| root as usize >= begin) {
            of[root as usize - begin] = Some(0);
        }
        let mut spared = HashMap::default();
        // Whoever uses a node comes after it.
        for node in (begin..ops.len()).rev() {
            let Some(own) = of[node - begin] else { continue };
            for &literal in &sets.all[own as usize] {
                *spared.entry(literal).or_insert(0) += cost(ops[node]);
            }
            let mut used = |source: Node, set: u32, sets: &mut Sets| {
                let Some(place) = (source as usize).checked_sub(begin) else { return };
                let place = &mut of[place];
                *place = Some(place.map_or(set, |other| sets.common(other, set)));
            };
            match ops[node] {
                Op::Select(mask, yes, no) | Op::Where(mask, yes, no) => {
                    used(mask, own, &mut sets);
                    for (side, holds) in [(yes, true), (no, false)] {
                        let set = sets.with(own, (mask, holds));
                        used(side, set, &mut sets);
                    }
                }
                op => op.sources().for_each(|source| used(source, own, &mut sets)),
            }
        }
        Self { sets, begin, of, spared }
    }

    fn set(&self, node: Node) -> Option<u32> {
        self.of[(node as usize).checked_sub(self.begin)?]
    }

    /// Which nodes have the same conditions: those with the same number.
    pub fn kind(&self, node: Node) -> u32 {
        self.set(node).unwrap_or(0)
    }

    /// What must hold for a node to be wanted.
    pub fn conditions(&self, node: Node) -> &[Literal] {
        &self.sets.all[self.kind(node) as usize]
    }

    /// What nodes under a condition cost together.
    pub fn spared(&self, literal: Literal) -> u32 {
        self.spared.get(&literal).copied().unwrap_or(0)
    }

    /// What is computed whatever `mask` is, if all conditions are asked for that are worth it.
    pub fn cost_apart_from(&self, ops: &[Op], mask: Node) -> u32 {
        let about = questions(ops, mask);
        let is_about = |other: Node| questions(ops, other).iter().any(|one| about.contains(one));
        let mut known: HashMap<Literal, bool> = HashMap::default();
        let mut is_spared = |literal: Literal| {
            *known
                .entry(literal)
                .or_insert_with(|| self.spared(literal) >= WORTH_ASKING && is_about(literal.0))
        };
        let mut sum = 0;
        for node in self.used() {
            // What is chosen where it is asked costs no choice of its own.
            let is_chosen = match ops[node as usize] {
                Op::Select(mask, ..) | Op::Where(mask, ..) => {
                    is_spared((mask, true)) || is_spared((mask, false))
                }
                _ => false,
            };
            if !is_chosen && !self.conditions(node).iter().any(|&literal| is_spared(literal)) {
                sum += cost(ops[node as usize]);
            }
        }
        sum
    }

    /// The nodes that are used, in order.
    pub fn used(&self) -> impl Iterator<Item = Node> {
        (self.begin as Node..).zip(&self.of).filter(|(_, set)| set.is_some()).map(|(node, _)| node)
    }
}

/// The comparisons that a mask is made of.
fn questions(ops: &[Op], mask: Node) -> Vec<Node> {
    let (mut waiting, mut found) = (vec![mask], Vec::new());
    while let Some(node) = waiting.pop() {
        match ops[node as usize] {
            Op::And(..) | Op::Or(..) | Op::Not(_) => waiting.extend(ops[node as usize].sources()),
            _ if !found.contains(&node) => found.push(node),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x, y, a mask; then what is computed from them.
    fn tape(more: &[Op]) -> Vec<Op> {
        [&[Op::Load(0), Op::Load(1), Op::Less(0, 1)], more].concat()
    }

    #[test]
    fn what_only_one_side_of_a_choice_uses_is_guarded_by_it() {
        let root = Op::Call(Function::Sqrt, 0);
        let ops = tape(&[root, Op::Div(3, 1), Op::Mul(0, 1), Op::Select(2, 4, 5)]);
        let guards = Guards::new(&ops, 0, [6]);
        for (node, conditions) in
            [(6, &[][..]), (2, &[]), (0, &[]), (3, &[(2, true)]), (4, &[(2, true)])]
        {
            assert_eq!(guards.conditions(node), conditions, "{node}");
        }
        assert_eq!(guards.conditions(5), [(2, false)]);
        assert_eq!(guards.spared((2, true)), cost(root) + cost(Op::Div(3, 1)));
        // The product is too cheap to ask for.
        assert_eq!(guards.cost_apart_from(&ops, 2), 2);
        // Another question spares nothing of it.
        let other = Op::Less(1, 0);
        let ops = [&ops[..], &[other, Op::And(2, 7)]].concat();
        let guards = Guards::new(&ops, 0, [6]);
        assert_eq!(guards.cost_apart_from(&ops, 7), 3 + cost(root) + cost(Op::Div(3, 1)));
        assert_eq!(guards.cost_apart_from(&ops, 8), 2);
    }

    #[test]
    fn uses_share_the_conditions_that_all_of_them_have() {
        // Node 4 is used under (2, yes) and, further, under both (2, yes) and (3, no).
        let ops = tape(&[
            Op::Less(1, 0),
            Op::Mul(0, 0),
            Op::Select(3, 1, 4),
            Op::Add(4, 5),
            Op::Select(2, 6, 0),
        ]);
        let guards = Guards::new(&ops, 0, [7]);
        assert_eq!(guards.conditions(4), [(2, true)]);
        assert_eq!(guards.conditions(5), [(2, true)]);
        assert_eq!(guards.conditions(3), [(2, true)]);
        // Used elsewhere, too.
        let guards = Guards::new(&ops, 0, [7, 4]);
        assert_eq!(guards.conditions(4), []);
        assert!(guards.used().any(|node| node == 4));
        assert!(!Guards::new(&ops, 0, [4]).used().any(|node| node == 5));
    }
}
