//! Random programs compute what going through their nodes one by one computes, bit for bit.

use super::generator::{self, Target};
use super::shims::Shims;
use super::{kind, target};
use crate::library::Code;
use crate::script::{common_slots, script};
use crate::text::{Language, Style, no_comment};
use fluxline_core::function::Named;
use fluxline_core::number::Num;
use fluxline_core::program::{Layout, Moment, Program};
use fluxline_core::trace::{Function, Node, Op};

/// Numbers by chance (Marsaglia's xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
    fn number(&mut self) -> f64 {
        let special = [0.0, -0.0, 1.0, f64::INFINITY, f64::NAN, 1e300, -1e-300, 0.5];
        match self.below(8) {
            0 => special[self.below(special.len())],
            _ => (self.below(2_000_001) as f64 - 1e6) / 1e5,
        }
    }
    fn of(&mut self, nodes: &[Node]) -> Node {
        // Mostly a late one: chains, and some that are wanted much later.
        let late = nodes.len().saturating_sub(1 + self.below(12));
        let any = self.below(nodes.len());
        nodes[if self.below(3) == 0 { any } else { late }]
    }
}

const SLOTS: u32 = 24;
/// So many of them depend on nothing but each other and time.
const COMMON: u32 = 12;

/// A program without units: all is wanted by numbers that go on to the next step.
fn program(seed: u64, nodes: usize, calls: bool) -> Program {
    let chance = &mut Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut ops: Vec<Op> = (0..SLOTS).map(Op::Load).collect();
    let (mut numbers, mut masks): (Vec<Node>, Vec<Node>) = ((0..COMMON).collect(), Vec::new());
    ops.push(Op::Time(0));
    numbers.push(SLOTS);
    let mut common = Vec::new();
    while ops.len() < nodes {
        if common.is_empty() && ops.len() > nodes / 3 {
            common = numbers.clone();
            numbers.extend(COMMON..SLOTS);
        }
        let [a, b, c] = [(); 3].map(|()| chance.of(&numbers));
        let is_mask_wanted = chance.below(4) == 0;
        let (op, is_mask) = match chance.below(13) {
            _ if is_mask_wanted => {
                let compared =
                    [Op::Less(a, b), Op::LessEqual(a, b), Op::Equal(a, b), Op::Apart(a, b)];
                let joined = match masks.len() {
                    0 => None,
                    _ => {
                        let [m, n] = [(); 2].map(|()| chance.of(&masks));
                        [None, Some(Op::And(m, n)), Some(Op::Or(m, n)), Some(Op::Not(m))]
                            [chance.below(4)]
                    }
                };
                (joined.unwrap_or(compared[chance.below(4)]), true)
            }
            0 => (Op::Constant(chance.number().to_bits()), false),
            1 | 2 => (Op::Add(a, b), false),
            3 => (Op::Sub(a, b), false),
            4 | 5 => (Op::Mul(a, b), false),
            6 => (Op::Div(a, b), false),
            7 => (Op::Neg(a), false),
            8 => {
                let plain = [Function::Sqrt, Function::Abs, Function::Floor];
                let others = [Function::Exp, Function::Named(Named::Atan), Function::Tanh];
                match calls && chance.below(3) == 0 {
                    true => (Op::Call(others[chance.below(3)], a), false),
                    false => (Op::Call(plain[chance.below(3)], a), false),
                }
            }
            9 => (Op::Least(a, b), false),
            10 => (Op::Largest(a, b), false),
            11 if calls && chance.below(4) == 0 => (Op::Angle(a, b), false),
            _ if masks.is_empty() => (Op::Add(b, c), false),
            _ => (Op::Select(chance.of(&masks), b, c), false),
        };
        let node = ops.len() as Node;
        ops.push(op);
        if is_mask { masks.push(node) } else { numbers.push(node) }
    }
    // Some numbers stay, some change places, one is what another was.
    let finals = (0..SLOTS).map(|slot| match chance.below(6) {
        0 => slot,
        1 => slot / COMMON * COMMON + (slot + 1) % COMMON,
        _ if slot < COMMON => chance.of(&common),
        _ => chance.of(&numbers),
    });
    let finals = finals.collect();
    let layout = Layout { bonds: 0, signals: 0, states: SLOTS, viscosity: 0, figures: 0 };
    let moments = vec![Moment { rate: 0, sub: 0, of: 1, dt: 0.25 }];
    let (units, obstacles, parameters) = (Vec::new(), Vec::new(), Vec::new());
    Program { ops, units, finals, layout, moments, obstacles, parameters }
}

/// A step, node by node.
fn step(program: &Program, state: &mut [f64], time: f64) {
    let mut values: Vec<f64> = Vec::with_capacity(program.ops.len());
    for &op in &program.ops {
        let v = |node: Node| values[node as usize];
        let holds = |node: Node| values[node as usize] != 0.0;
        let truth = |holds: bool| f64::from(u8::from(holds));
        values.push(match op {
            Op::Constant(bits) => f64::from_bits(bits),
            Op::Load(slot) => state[slot as usize],
            Op::Time(_) => time,
            Op::Add(a, b) => v(a) + v(b),
            Op::Sub(a, b) => v(a) - v(b),
            Op::Mul(a, b) => v(a) * v(b),
            Op::Div(a, b) => v(a) / v(b),
            Op::Neg(a) => -v(a),
            Op::Call(Function::Sqrt, a) => v(a).sqrt(),
            Op::Call(Function::Abs, a) => v(a).abs(),
            Op::Call(Function::Floor, a) => v(a).floor(),
            Op::Call(Function::Exp, a) => Num::exp(v(a)),
            Op::Call(Function::Tanh, a) => Num::tanh(v(a)),
            Op::Call(Function::Named(named), a) => named.at(v(a)).0,
            Op::Angle(a, b) => v(a).atan2(v(b)),
            Op::Select(mask, a, b) => {
                if holds(mask) {
                    v(a)
                } else {
                    v(b)
                }
            }
            Op::Less(a, b) => truth(v(a) < v(b)),
            Op::LessEqual(a, b) => truth(v(a) <= v(b)),
            Op::Equal(a, b) => truth(v(a) == v(b)),
            Op::Apart(a, b) => truth(v(a) < v(b) || v(a) > v(b)),
            Op::And(a, b) => truth(holds(a) && holds(b)),
            Op::Or(a, b) => truth(holds(a) || holds(b)),
            Op::Not(a) => truth(!holds(a)),
            Op::Least(a, b) => {
                if v(a) < v(b) {
                    v(a)
                } else {
                    v(b)
                }
            }
            Op::Largest(a, b) => {
                if v(a) > v(b) {
                    v(a)
                } else {
                    v(b)
                }
            }
            other => panic!("{other:?} is not drawn"),
        });
    }
    for (number, &end) in state.iter_mut().zip(&program.finals) {
        *number = values[end as usize];
    }
}

fn compare(seed: u64, lanes: usize, other: impl Fn(Target) -> Target) {
    let (nodes, calls) = (40 + (seed as usize % 5) * 120, seed.is_multiple_of(3));
    let Some(kind) = kind(lanes) else {
        eprintln!("skipped: the processor has no instructions for {lanes} lanes");
        return;
    };
    let program = program(seed, nodes, calls);
    let language = if lanes == 1 { Language::C } else { Language::Lanes };
    let row: [(u32, f64); 0] = [];
    let style = Style::of(language, &no_comment, &program);
    let common = common_slots(&program, (0..SLOTS).map(|slot| slot < COMMON).collect());
    assert!(common.iter().filter(|&&is_common| is_common).count() == COMMON as usize);
    let style = Style { row: (lanes == 1).then_some(&row[..]), common: &common, ..style };
    let script = script(&program, &style);
    let times = generator::Times { start: 2.0, step: 0.25, adds_up: seed.is_multiple_of(2) };
    let (target, shims) = (other(target(kind)), Shims::of(lanes));
    let machine = generator::generate(&program, &script, target, (times, 0), &shims).expect("code");
    let code = Code::of(machine, program.layout, script.kept.len(), 0, (lanes, 0)).expect("memory");
    let chance = &mut Chance(seed + 77);
    let mut alone: Vec<Vec<f64>> =
        (0..lanes).map(|_| (0..SLOTS).map(|_| chance.number()).collect()).collect();
    for lane in 1..lanes {
        let (first, others) = alone.split_at_mut(lane);
        others[0][..COMMON as usize].copy_from_slice(&first[0][..COMMON as usize]);
    }
    let mut beside: Vec<f64> =
        (0..SLOTS as usize).flat_map(|slot| alone.iter().map(move |one| one[slot])).collect();
    let steps = 5;
    code.run_alone(&mut beside, 2.0, steps);
    for (lane, state) in alone.iter_mut().enumerate() {
        for tick in 1..=steps {
            step(&program, state, 2.0 + tick as f64 * 0.25);
        }
        for (slot, &right) in state.iter().enumerate() {
            let found = beside[slot * lanes + lane];
            let is_same = found.to_bits() == right.to_bits() || found.is_nan() && right.is_nan();
            assert!(is_same, "seed {seed}, lane {lane} of {lanes}, slot {slot}: {found} {right}");
        }
    }
}

#[test]
fn programs_by_chance_compute_what_their_nodes_say() {
    for seed in 1..=300 {
        for lanes in [1, 4, 8] {
            compare(seed, lanes, |target| target);
        }
        // As on other processors.
        compare(seed, 1, |target| Target { registers: 15, ..target });
        compare(seed, 1, |target| Target { guesses_least: !target.guesses_least, ..target });
    }
}
