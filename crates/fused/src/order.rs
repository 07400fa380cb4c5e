//! In which order statements are written.
//!
//! A step is longer than what a processor looks ahead over (some hundred instructions), and through it
//! runs a chain in which everything waits for what is before it: a root, a division, another root, on
//! to the next step. Written component by component, the chain stands in one place, and the processor
//! has nothing else in view while it waits there. So statements are written as by a processor that
//! takes a few at a time: of all whose numbers are there, first those from which the way to the end of
//! the next steps is longest; the others fill the time in between.

use fluxline_core::program::Program;
use fluxline_core::trace::{Function, Node, Op};

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time is counted in statements: how many of them are taken in one cycle, and how many cycles what
/// they compute takes. Fewer are taken in lanes, where units that divide and take roots are what is
/// short; and a single run is branches, which are guessed: whoever waits for a mask or for the least of
/// two waits for nothing.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    statements: u32,
    guesses: bool,
}

impl Pace {
    /// Of a single run.
    pub const SINGLE: Self = Self { statements: 4, guesses: true };
    /// Of several side by side.
    pub const LANES: Self = Self { statements: 2, guesses: false };
}

/// Steps that are looked ahead: enough for a chain that goes on from step to step to show.
const STEPS_AHEAD: usize = 3;

/// What a number takes from its sources on, in the time of statements: as usual in processors of the
/// day.
pub fn latency(op: Op, pace: Pace) -> u32 {
    let cycles = match op {
        // Held in a register from the last step on.
        Op::Load(_) if pace.guesses => 0,
        Op::Load(_) => 5,
        Op::Add(..) | Op::Sub(..) if pace.guesses => 3,
        Op::Add(..) | Op::Sub(..) | Op::Mul(..) => 4,
        Op::Less(..) | Op::LessEqual(..) | Op::Equal(..) | Op::Apart(..) if pace.guesses => 0,
        Op::Least(..) | Op::Largest(..) | Op::Select(..) if pace.guesses => 0,
        Op::Less(..) | Op::LessEqual(..) | Op::Equal(..) | Op::Apart(..) => 4,
        Op::Least(..) | Op::Largest(..) => 2,
        Op::Div(..) => 14,
        Op::Call(Function::Sqrt, _) => 18,
        Op::Call(Function::Floor, _) => 8,
        Op::Call(Function::Abs, _) => 1,
        Op::Call(..) | Op::Power(..) | Op::Angle(..) => 60,
        _ => 1,
    };
    cycles * pace.statements
}

/// How urgent nodes are: the longest way from where each begins, through this step and the next ones.
/// Earlier nodes are more urgent by one for each in between: what belongs together stays together, and
/// less has to be kept in the meantime.
pub fn urgency(program: &Program, pace: Pace) -> Vec<u32> {
    let count = program.ops.len();
    // What a unit that is done in several ways may end with.
    let mut behind: Vec<(Node, Node)> = Vec::new();
    for unit in &program.units {
        for end in unit.tree.leaves() {
            let results = unit.results.iter().map(|&(_, result)| result);
            behind.extend(results.zip(end.values.iter().copied()));
        }
    }
    behind.sort_unstable();
    let mut ways = vec![0; count];
    for _ in 0..STEPS_AHEAD {
        let mut after = vec![0_u32; count];
        for (load, &op) in program.ops.iter().enumerate() {
            // The way goes on where the next step begins with a number.
            if let Op::Load(slot) = op
                && let Some(&end) = program.finals.get(slot as usize)
                && end as usize != load
            {
                let way = &mut after[end as usize];
                *way = (*way).max(ways[load]);
            }
        }
        for node in (0..count).rev() {
            let op = program.ops[node];
            let way = after[node] + latency(op, pace);
            after[node] = way;
            let begin = behind.partition_point(|&(result, _)| (result as usize) < node);
            let chosen = behind[begin..].iter().take_while(|&&(result, _)| result as usize == node);
            for source in op.sources().chain(chosen.map(|&(_, value)| value)) {
                let other = &mut after[source as usize];
                *other = (*other).max(way);
            }
        }
        ways = after;
    }
    ways.iter().enumerate().map(|(node, way)| way + (count - node) as u32).collect()
}

/// Statements of one place as they become ready, and time as it passes.
#[derive(Debug, Default)]
pub struct Queue {
    now: u32,
    /// Those whose numbers are on their way, and when they are there.
    waiting: BinaryHeap<Reverse<(u32, Node)>>,
    /// Those that can be written, and how urgent they are; among equals, in order.
    ready: BinaryHeap<(u32, Reverse<Node>)>,
}

impl Queue {
    /// A statement can be written from a time on.
    pub fn push(&mut self, node: Node, from: u32) {
        self.waiting.push(Reverse((from, node)));
    }

    /// The next to be written.
    pub fn pop(&mut self, urgency: &[u32]) -> Option<Node> {
        if self.ready.is_empty() {
            let Reverse((from, _)) = *self.waiting.peek()?;
            self.now = self.now.max(from);
        }
        while let Some(&Reverse((from, node))) = self.waiting.peek()
            && from <= self.now
        {
            self.waiting.pop();
            self.ready.push((urgency[node as usize], Reverse(node)));
        }
        self.ready.pop().map(|(_, Reverse(node))| node)
    }

    /// So many statements have been written: when what they compute is there.
    pub fn written(&mut self, statements: usize, latency: u32) -> u32 {
        self.now += statements as u32;
        self.now + latency
    }
}
