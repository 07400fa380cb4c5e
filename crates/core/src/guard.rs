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
    /// What came of a set and one more condition, and of two sets: asked for again and again.
    with: HashMap<(u32, Literal), u32>,
    common: HashMap<(u32, u32), u32>,
}

impl Sets {
    fn new() -> Self {
        let known = HashMap::from_iter([(Vec::new(), 0)]);
        let (with, common) = (HashMap::default(), HashMap::default());
        Self { all: vec![Vec::new()], known, with, common }
    }
    fn name(&mut self, set: Vec<Literal>) -> u32 {
        *self.known.entry(set).or_insert_with_key(|set| {
            self.all.push(set.clone());
            self.all.len() as u32 - 1
        })
    }
    fn with(&mut self, set: u32, literal: Literal) -> u32 {
        if let Some(&found) = self.with.get(&(set, literal)) {
            return found;
        }
        let mut more = self.all[set as usize].clone();
        if more.len() < MOST_CONDITIONS && !more.contains(&literal) {
            more.push(literal);
            more.sort_unstable();
        }
        let found = self.name(more);
        self.with.insert((set, literal), found);
        found
    }
    fn common(&mut self, a: u32, b: u32) -> u32 {
        if a == b {
            return a;
        }
        if a == 0 || b == 0 {
            return 0;
        }
        if let Some(&found) = self.common.get(&(a, b)) {
            return found;
        }
        let (one, other) = (&self.all[a as usize], &self.all[b as usize]);
        let both = one.iter().filter(|literal| other.contains(literal)).copied().collect();
        let found = self.name(both);
        self.common.insert((a, b), found);
        found
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
    /// What the nodes of each set cost together.
    costs: Vec<u32>,
    /// What all nodes under a condition cost together.
    spared: HashMap<Literal, u32>,
}

impl Guards {
    /// Those of nodes from `begin` on, which `roots` want whatever holds.
    pub fn new(ops: &[Op], begin: usize, roots: impl IntoIterator<Item = Node>) -> Self {
        Self::about(ops, begin, roots, |_| true)
    }

    /// The same, with conditions about some masks only.
    fn about(
        ops: &[Op],
        begin: usize,
        roots: impl IntoIterator<Item = Node>,
        mut counts: impl FnMut(Node) -> bool,
    ) -> Self {
        let mut sets = Sets::new();
        let mut of: Vec<Option<u32>> = vec![None; ops.len() - begin];
        for root in roots.into_iter().filter(|&root| root as usize >= begin) {
            of[root as usize - begin] = Some(0);
        }
        let mut costs: Vec<u32> = Vec::new();
        // Whoever uses a node comes after it.
        for node in (begin..ops.len()).rev() {
            let Some(own) = of[node - begin] else { continue };
            costs.resize(sets.all.len(), 0);
            costs[own as usize] += cost(ops[node]);
            let mut used = |source: Node, set: u32, sets: &mut Sets| {
                let Some(place) = (source as usize).checked_sub(begin) else { return };
                let place = &mut of[place];
                *place = Some(place.map_or(set, |other| sets.common(other, set)));
            };
            match ops[node] {
                Op::Select(mask, yes, no) | Op::Where(mask, yes, no) if counts(mask) => {
                    used(mask, own, &mut sets);
                    for (side, holds) in [(yes, true), (no, false)] {
                        let set = sets.with(own, (mask, holds));
                        used(side, set, &mut sets);
                    }
                }
                op => op.sources().for_each(|source| used(source, own, &mut sets)),
            }
        }
        let mut spared = HashMap::default();
        for (set, &cost) in sets.all.iter().zip(&costs) {
            for &literal in set {
                *spared.entry(literal).or_insert(0) += cost;
            }
        }
        Self { sets, begin, of, costs, spared }
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

    /// The nodes that are used, in order.
    pub fn used(&self) -> impl Iterator<Item = Node> {
        (self.begin as Node..).zip(&self.of).filter(|(_, set)| set.is_some()).map(|(node, _)| node)
    }
}

/// What it costs to compute what `roots` want of nodes from `begin` on: whatever `mask` is, if all
/// conditions about it are asked for that are worth it, and all of it.
pub fn costs_apart_from(
    ops: &[Op],
    begin: usize,
    roots: impl IntoIterator<Item = Node>,
    mask: Node,
) -> (u32, u32) {
    let about = questions(ops, mask);
    let mut known: HashMap<Node, bool> = HashMap::default();
    let is_about = |other: Node| {
        let look = || questions(ops, other).iter().any(|one| about.contains(one));
        *known.entry(other).or_insert_with(look)
    };
    let guards = Guards::about(ops, begin, roots, is_about);
    let is_spared = |literal: Literal| guards.spared(literal) >= WORTH_ASKING;
    let is_set_spared: Vec<bool> =
        guards.sets.all.iter().map(|set| set.iter().any(|&literal| is_spared(literal))).collect();
    let counted = guards.costs.iter().zip(&is_set_spared).filter(|(_, is_spared)| !**is_spared);
    let sum: u32 = counted.map(|(cost, _)| cost).sum();
    // What is chosen where it is asked costs no choice of its own.
    let chosen = guards.used().filter(|&node| match ops[node as usize] {
        Op::Select(mask, ..) | Op::Where(mask, ..) => {
            !is_set_spared[guards.kind(node) as usize]
                && (is_spared((mask, true)) || is_spared((mask, false)))
        }
        _ => false,
    });
    let choices: u32 = chosen.map(|node| cost(ops[node as usize])).sum();
    (sum - choices, guards.costs.iter().sum())
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
        assert_eq!(costs_apart_from(&ops, 0, [6], 2).0, 2);
        // Another question spares nothing of it.
        let other = Op::Less(1, 0);
        let ops = [&ops[..], &[other, Op::And(2, 7)]].concat();
        assert_eq!(costs_apart_from(&ops, 0, [6], 7).0, 3 + cost(root) + cost(Op::Div(3, 1)));
        assert_eq!(costs_apart_from(&ops, 0, [6], 8).0, 2);
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
