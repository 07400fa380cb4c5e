//! Blocks of functional flow diagrams: functions that begin, end and hand over to the next.
//!
//! A trigger is a rise of a signal by more than ½ from one step to the next; a block is on while its
//! state is 1.

use crate::blocks::on_positive;
use crate::same::same_as;
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Function>(),
    ComponentType::of::<AndIn>(),
    ComponentType::of::<OrIn>(),
    same_as!(
        "SignalFFBloop",
        OrIn,
        "End of a loop: goes on, or back to its beginning.\n\nstate = 1 for one step after a trigger at in0; out0 = state while divert < ½, out1 = state while divert > ½",
        []
    ),
    ComponentType::of::<And>(),
    ComponentType::of::<Or>(),
    ComponentType::of::<LoopIn>(),
];

/// 1 where a signal is above one half.
#[inline(always)]
fn is_on<T: Num>(signal: T) -> T {
    on_positive(signal - 0.5)
}

/// State after a step: a trigger wins over an end, and without both it stays.
#[inline(always)]
fn next_state<T: Num>(state: T, set: T, end: T) -> T {
    is_on(is_on(state) + set * 2.0 - end)
}

/// Writes [`Physics`] for blocks that remember all inputs and nothing else beside their outputs.
macro_rules! block {
    ($($type:ident [$($input:ident => $old:ident),*];)*) => {$(
        impl Physics for $type {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }

            fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                $(io.set_memory(Self::$old, io.input(Self::$input));)*
            }

            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                Self::advance(io);
                $(io.set_memory(Self::$old, io.input(Self::$input));)*
            }
        }
    )*};
}
block! {
    Function [SET => SET_1, EXIT => EXIT_1, LEAVE => LEAVE_1];
    AndIn [IN0 => IN0_1];
    OrIn [IN0 => IN0_1];
    And [IN0 => IN0_1, IN1 => IN1_1];
    Or [IN0 => IN0_1, IN1 => IN1_1];
    LoopIn [IN0 => IN0_1, IN1 => IN1_1];
}

/// A function of a flow diagram: on from a trigger until it is ended.
///
/// state = 1 from a trigger at set until exit + exitb rises over the last exit, or a trigger at
/// leave; exiting = exitingb = state₋ at a trigger at exit
#[component("hopsan.SignalFFB", s)]
pub struct Function {
    /// – — begins the function [–]
    #[input(name = "set", default = 0)]
    pub set: f64,
    /// – — ends the function and hands over [–]
    #[input(name = "exit", default = 0)]
    pub exit: f64,
    /// – — ends the function [–]
    #[input(name = "exitb", default = 0)]
    pub exitb: f64,
    /// – — ends the function without handing over [–]
    #[input(name = "leave", default = 0)]
    pub leave: f64,
    /// – — 1 while the function is on [–]
    #[output]
    state: Output,
    /// – — 1 in the step of handing over [–]
    #[output]
    exiting: Output,
    /// – — the same once more [–]
    #[output]
    exitingb: Output,
    /// – — begin one step ago [–]
    #[memory]
    set_1: Memory,
    /// – — exit one step ago [–]
    #[memory]
    exit_1: Memory,
    /// – — leave one step ago [–]
    #[memory]
    leave_1: Memory,
}

impl Function {
    #[inline(always)]
    fn advance<T: Num>(io: &mut Step<'_, T>) {
        let old = io.output(Self::STATE);
        let exit = io.input(Self::EXIT) - io.memory(Self::EXIT_1);
        let set = is_on(io.input(Self::SET) - io.memory(Self::SET_1));
        let leave = is_on(io.input(Self::LEAVE) - io.memory(Self::LEAVE_1));
        let end = is_on(exit + io.input(Self::EXITB)) + leave;
        let exiting = old * is_on(exit);
        io.set_output(Self::STATE, next_state(old, set, end));
        io.set_output(Self::EXITING, exiting);
        io.set_output(Self::EXITINGB, exiting);
    }
}

/// Beginning of parallel branches: hands over to both.
///
/// state = out0 = out1 = 1 for one step after a trigger at in0
#[component("hopsan.SignalFFBandIn", s)]
pub struct AndIn {
    /// – — trigger [–]
    #[input(name = "in0", default = 0)]
    pub in0: f64,
    /// – — 1 while the block is on [–]
    #[output]
    state: Output,
    /// – — trigger of the first branch [–]
    #[output]
    out0: Output,
    /// – — trigger of the second branch [–]
    #[output]
    out1: Output,
    /// – — trigger one step ago [–]
    #[memory]
    in0_1: Memory,
}

impl AndIn {
    #[inline(always)]
    fn advance<T: Num>(io: &mut Step<'_, T>) {
        let set = is_on(io.input(Self::IN0) - io.memory(Self::IN0_1));
        let state = next_state(io.output(Self::STATE), set, is_on(io.output(Self::OUT0)));
        for output in [Self::STATE, Self::OUT0, Self::OUT1] {
            io.set_output(output, state);
        }
    }
}

/// Beginning of alternative branches: hands over to one of them.
///
/// state = 1 for one step after a trigger at in0; out0 = state while divert < ½, out1 = state while
/// divert > ½
#[component("hopsan.SignalFFBorIn", s)]
pub struct OrIn {
    /// – — trigger [–]
    #[input(name = "in0", default = 0)]
    pub in0: f64,
    /// – — 1 for the second branch [–]
    #[input(name = "divert", default = 0)]
    pub divert: f64,
    /// – — 1 while the block is on [–]
    #[output]
    state: Output,
    /// – — trigger of the first branch [–]
    #[output]
    out0: Output,
    /// – — trigger of the second branch [–]
    #[output]
    out1: Output,
    /// – — trigger one step ago [–]
    #[memory]
    in0_1: Memory,
}

impl OrIn {
    #[inline(always)]
    fn advance<T: Num>(io: &mut Step<'_, T>) {
        let set = is_on(io.input(Self::IN0) - io.memory(Self::IN0_1));
        let end = is_on(io.output(Self::OUT0) + io.output(Self::OUT1));
        let state = next_state(io.output(Self::STATE), set, end);
        let divert = io.input(Self::DIVERT);
        io.set_output(Self::STATE, state);
        io.set_output(Self::OUT0, state * on_positive(T::of(0.5) - divert));
        io.set_output(Self::OUT1, state * is_on(divert));
    }
}

/// What a block that joins two branches remembers of them: places in its memory and outputs.
struct Joint {
    in0: (usize, usize),
    in1: (usize, usize),
    waiting: [usize; 2],
    state: usize,
    exiting: usize,
}

impl Joint {
    /// Each branch waits from its trigger until the joint hands over; `hand_over` says when, from
    /// what waited one step ago.
    #[wide]
    #[inline(always)]
    fn advance<T: Num>(&self, io: &mut Step<'_, T>, hand_over: impl Fn(T, T) -> T) {
        let end = is_on(io.output(self.exiting));
        let old = self.waiting.map(|at| io.memory(at));
        let set =
            [self.in0, self.in1].map(|(now, before)| is_on(io.input(now) - io.memory(before)));
        let new: [T; 2] = std::array::from_fn(|i| next_state(old[i], set[i], end));
        for (at, waiting) in self.waiting.into_iter().zip(new) {
            io.set_memory(at, waiting);
        }
        io.set_output(self.exiting, hand_over(old[0], old[1]));
        io.set_output(self.state, is_on(new[0] + new[1]));
    }
}

macro_rules! joint {
    ($($type:ident)*) => {$(
        impl $type {
            const JOINT: Joint = Joint {
                in0: (Self::IN0, Self::IN0_1),
                in1: (Self::IN1, Self::IN1_1),
                waiting: [Self::WAITING0, Self::WAITING1],
                state: Self::STATE,
                exiting: Self::EXITING,
            };
        }
    )*};
}
joint! { And Or LoopIn }

/// End of parallel branches: hands over when both have come.
///
/// Each branch waits from its trigger until the block hands over; exiting = 1 one step after both
/// wait, state = 1 while one waits
#[component("hopsan.SignalFFBand", s)]
pub struct And {
    /// – — trigger of the first branch [–]
    #[input(name = "in0", default = 0)]
    pub in0: f64,
    /// – — trigger of the second branch [–]
    #[input(name = "in1", default = 0)]
    pub in1: f64,
    /// – — 1 while the block is on [–]
    #[output]
    state: Output,
    /// – — 1 in the step of handing over [–]
    #[output]
    exiting: Output,
    /// – — first trigger one step ago [–]
    #[memory]
    in0_1: Memory,
    /// – — second trigger one step ago [–]
    #[memory]
    in1_1: Memory,
    /// – — 1 while the first branch waits [–]
    #[memory]
    waiting0: Memory,
    /// – — 1 while the second branch waits [–]
    #[memory]
    waiting1: Memory,
}

impl And {
    #[wide]
    #[inline(always)]
    fn advance<T: Num>(io: &mut Step<'_, T>) {
        Self::JOINT.advance(io, |a, b| a * b);
    }
}

/// End of alternative branches: hands over when one has come.
///
/// Each branch waits from its trigger until the block hands over; exiting = 1 one step after one
/// waits, state = 1 while one waits
#[component("hopsan.SignalFFBor", s)]
pub struct Or {
    /// – — trigger of the first branch [–]
    #[input(name = "in0", default = 0)]
    pub in0: f64,
    /// – — trigger of the second branch [–]
    #[input(name = "in1", default = 0)]
    pub in1: f64,
    /// – — 1 while the block is on [–]
    #[output]
    state: Output,
    /// – — 1 in the step of handing over [–]
    #[output]
    exiting: Output,
    /// – — stays at its start value [–]
    #[output]
    exitingb0: Output,
    /// – — stays at its start value [–]
    #[output]
    exitingb1: Output,
    /// – — first trigger one step ago [–]
    #[memory]
    in0_1: Memory,
    /// – — second trigger one step ago [–]
    #[memory]
    in1_1: Memory,
    /// – — 1 while the first branch waits [–]
    #[memory]
    waiting0: Memory,
    /// – — 1 while the second branch waits [–]
    #[memory]
    waiting1: Memory,
}

impl Or {
    #[wide]
    #[inline(always)]
    fn advance<T: Num>(io: &mut Step<'_, T>) {
        Self::JOINT.advance(io, |a, b| is_on(a + b));
    }
}

/// Beginning of a loop: hands over when it is entered or comes round.
///
/// Each way in waits from its trigger until the block hands over; exiting = 1 one step after one
/// waits, state = 1 while one waits
#[component("hopsan.SignalFFBloopIn", s)]
pub struct LoopIn {
    /// – — trigger from before the loop [–]
    #[input(name = "in0", default = 0)]
    pub in0: f64,
    /// – — trigger from the end of the loop [–]
    #[input(name = "in1", default = 0)]
    pub in1: f64,
    /// – — 1 while the block is on [–]
    #[output]
    state: Output,
    /// – — 1 in the step of handing over [–]
    #[output]
    exiting: Output,
    /// – — first trigger one step ago [–]
    #[memory]
    in0_1: Memory,
    /// – — second trigger one step ago [–]
    #[memory]
    in1_1: Memory,
    /// – — 1 while the first way in waits [–]
    #[memory]
    waiting0: Memory,
    /// – — 1 while the second way in waits [–]
    #[memory]
    waiting1: Memory,
}

impl LoopIn {
    #[wide]
    #[inline(always)]
    fn advance<T: Num>(io: &mut Step<'_, T>) {
        Self::JOINT.advance(io, |a, b| is_on(a + b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    /// The first outputs for rows of inputs: the first row at the start, the others one step each.
    fn sequence<M: Physics, const N: usize, const K: usize>(
        m: &M,
        rows: &[[f64; N]],
    ) -> Vec<[f64; K]> {
        let mut bench = Bench::new(m, 1e-3);
        let mut values = Vec::new();
        for (n, row) in rows.iter().enumerate() {
            for (i, &value) in row.iter().enumerate() {
                bench.input(i, value);
            }
            if n == 0 {
                bench.start();
                continue;
            }
            bench.step();
            values.push(std::array::from_fn(|i| bench.output(i)));
        }
        values
    }

    #[test]
    fn function_is_on_from_its_trigger_to_its_exit_and_hands_over_once() {
        let function = Function { set: 0.0, exit: 0.0, exitb: 0.0, leave: 0.0 };
        let rows = [
            [1.0, 0.0, 0.0, 0.0], // on from the start is no trigger
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 1.0],
            [1.0, 0.0, 0.0, 1.0],
            [1.0, 0.0, 1.0, 1.0],
        ];
        let [off, on, handed] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]];
        let expected = [off, off, on, handed, off, on, off, off, on, off];
        assert_eq!(sequence::<_, 4, 3>(&function, &rows), expected);
    }

    #[test]
    fn parallel_branches_begin_together_and_end_with_the_later() {
        let rows = [0.0, 1.0, 1.0, 0.0, 1.0].map(|x| [x]);
        let begin = sequence::<_, 1, 3>(&AndIn { in0: 0.0 }, &rows);
        assert_eq!(begin, [[1.0; 3], [0.0; 3], [0.0; 3], [1.0; 3]]);
        let rows = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]];
        let end = sequence::<_, 2, 2>(&And { in0: 0.0, in1: 0.0 }, &rows);
        assert_eq!(end, [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
    }

    #[test]
    fn alternative_goes_one_way_and_ends_with_the_first_to_come() {
        let rows = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]];
        let begin = sequence::<_, 2, 3>(&OrIn { in0: 0.0, divert: 0.0 }, &rows);
        assert_eq!(begin, [[1.0, 1.0, 0.0], [0.0; 3], [1.0, 0.0, 1.0], [0.0; 3]]);
        let rows = [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]];
        let expected = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]];
        assert_eq!(sequence::<_, 2, 2>(&Or { in0: 0.0, in1: 0.0 }, &rows), expected);
        assert_eq!(sequence::<_, 2, 2>(&LoopIn { in0: 0.0, in1: 0.0 }, &rows), expected);
    }
}
