//! What signal blocks share: their shapes, truth values and limits.

use crate::stops;
use fluxline_core::Constants;
use fluxline_core::component::Refusal;
use fluxline_core::number::{Mask, Num};

/// Time as a block with memory sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// Time at the end of the step, s.
    pub time: f64,
    /// Length of the step, s; 0 outside of steps.
    pub dt: f64,
}

/// Writes [`fluxline_core::component::Physics`] for blocks whose output is a function of inputs and time:
/// `value(constants, time, input)`. Sources whose output jumps or bends also say when next:
/// `event_after(constants, time)`.
macro_rules! memoryless {
    (@physics $type:ident, $constants:ident, $prepare:expr $(, $($events:tt)*)?) => {
        impl fluxline_core::component::Physics for $type {
            fn prepare(
                &self,
                _: &fluxline_core::component::Environment,
            ) -> Result<$constants<f64>, fluxline_core::component::Refusal> {
                $prepare(self)
            }
            #[fluxline_core::wide]
            fn law<T: Num>(k: &$constants<T>, law: &mut fluxline_core::component::Law<'_, T>) {
                let input = &law.input;
                law.output[Self::OUT] = Self::value(k, law.time(), |i| input[i]);
            }
            #[fluxline_core::wide]
            #[inline(always)]
            fn step<T: Num>(k: &$constants<T>, io: &mut fluxline_core::component::Step<'_, T>) {
                let value = Self::value(k, io.time(), |i| io.input(i));
                io.set_output(Self::OUT, value);
            }
            $($($events)*)?
        }
    };
    ($type:ident: $constants:ident, events) => {
        $crate::signal::block::memoryless!(
            @physics $type, $constants, $type::constants,
            fn next_event(k: &$constants<f64>, time: f64) -> f64 {
                $type::event_after(k, time)
            }
        );
    };
    ($type:ident: $constants:ident) => {
        $crate::signal::block::memoryless!(@physics $type, $constants, $type::constants);
    };
    ($($type:ident)*) => {$(
        $crate::signal::block::memoryless!(@physics $type, NoConstants, |_| Ok(NoConstants::new()));
    )*};
}
pub(super) use memoryless;

/// Writes [`fluxline_core::component::Physics`] for blocks that remember `N` numbers from step to step:
/// `begin(constants, now, input) → memory` and
/// `advance(constants, now, input, memory) → (output, memory)`. They advance in main steps, unless
/// all that they remember is a count, on which the output does not depend (`counts`).
macro_rules! sequential {
    (@physics $type:ident, $constants:ident, $n:literal, $prepare:expr, $($lumped:tt)*) => {
        impl fluxline_core::component::Physics for $type {
            fn prepare(
                &self,
                _: &fluxline_core::component::Environment,
            ) -> Result<$constants<f64>, fluxline_core::component::Refusal> {
                $prepare(self)
            }
            #[fluxline_core::wide]
            fn law<T: Num>(k: &$constants<T>, law: &mut fluxline_core::component::Law<'_, T>) {
                let memory: [T; $n] = std::array::from_fn(|i| law.memory[i]);
                let now = $crate::signal::block::Now { time: law.time(), dt: 0.0 };
                let input = &law.input;
                law.output[Self::OUT] = Self::advance(k, now, |i| input[i], memory).0;
            }
            #[fluxline_core::wide]
            fn start<T: Num>(k: &$constants<T>, io: &mut fluxline_core::component::Step<'_, T>) {
                let now = $crate::signal::block::Now { time: io.time(), dt: 0.0 };
                let memory: [T; $n] = Self::begin(k, now, |i| io.input(i));
                for (i, value) in memory.into_iter().enumerate() {
                    io.set_memory(i, value);
                }
            }
            #[fluxline_core::wide]
            #[inline(always)]
            fn step<T: Num>(k: &$constants<T>, io: &mut fluxline_core::component::Step<'_, T>) {
                let memory: [T; $n] = std::array::from_fn(|i| io.memory(i));
                let now = $crate::signal::block::Now { time: io.time(), dt: io.dt };
                let (out, memory) = Self::advance(k, now, |i| io.input(i), memory);
                for (i, value) in memory.into_iter().enumerate() {
                    io.set_memory(i, value);
                }
                io.set_output(Self::OUT, out);
            }
            $($lumped)*
        }
    };
    (@discrete $type:ident, $constants:ident, $n:literal, $prepare:expr) => {
        $crate::signal::block::sequential!(
            @physics $type, $constants, $n, $prepare,
            fn is_discrete(_: &$constants<f64>) -> bool {
                true
            }
        );
    };
    (@counting $type:ident, $constants:ident, $prepare:expr) => {
        $crate::signal::block::sequential!(
            @physics $type, $constants, 1, $prepare,
            fn show(k: &$constants<f64>, settle: &mut fluxline_core::component::Settle<'_>) {
                let now = $crate::signal::block::Now { time: settle.time, dt: 0.0 };
                let input = settle.input;
                let (_, [count]) = Self::advance(k, now, |i| input[i], [settle.memory[0]]);
                settle.memory[0] = count;
            }
        );
    };
    ($type:ident: $constants:ident, counts) => {
        $crate::signal::block::sequential!(@counting $type, $constants, $type::constants);
    };
    ($type:ident, counts) => {
        $crate::signal::block::sequential!(@counting $type, NoConstants, |_| Ok(NoConstants::new()));
    };
    ($type:ident: $constants:ident, memory $n:literal) => {
        $crate::signal::block::sequential!(@discrete $type, $constants, $n, $type::constants);
    };
    ($type:ident, memory $n:literal) => {
        $crate::signal::block::sequential!(
            @discrete $type, NoConstants, $n, |_| Ok(NoConstants::new())
        );
    };
}
pub(super) use sequential;

/// Signals above one half are true.
#[inline(always)]
pub(super) fn is_true<T: Num>(signal: T) -> T::Mask {
    signal.gt(T::of(0.5))
}

/// 1 for true, 0 for false.
#[inline(always)]
pub(super) fn truth<T: Num>(mask: T::Mask) -> T {
    T::select(mask, T::one(), T::zero())
}

/// One where the masks differ.
#[inline(always)]
pub(super) fn differ<M: Mask>(a: M, b: M) -> M {
    (a & !b) | (!a & b)
}

/// Whether an optional start value is given, and its value.
pub(super) fn given(start: Option<f64>) -> (bool, f64) {
    (start.is_some(), start.unwrap_or(0.0))
}

/// The range that an output is held in.
#[derive(Clone, Copy, Debug, Constants)]
pub(super) struct Limits<T> {
    pub minimum: T,
    pub maximum: T,
}

impl Limits<f64> {
    /// Whether there are any: without, they are ±10³⁰⁰.
    pub fn limit(&self) -> bool {
        self.minimum > -1e299 || self.maximum < 1e299
    }
    /// Both, lower first.
    pub fn pair(&self) -> (f64, f64) {
        (self.minimum, self.maximum)
    }
    /// Limits from the parameters `minimum` and `maximum`.
    pub fn new(minimum: f64, maximum: f64) -> Result<Self, Refusal> {
        if minimum < maximum {
            return Ok(Self { minimum, maximum });
        }
        Err(Refusal::new(
            "maximum",
            format!("the upper limit ({maximum}) is not above the lower limit ({minimum})"),
            "give maximum a larger value than minimum",
        ))
    }
}

impl<T: Num> Limits<T> {
    /// The value held within the limits.
    #[inline(always)]
    pub fn hold(&self, value: T) -> T {
        value.clamp(self.minimum, self.maximum)
    }
    /// Where a value lies outside.
    #[inline(always)]
    pub fn beyond(&self, value: T) -> T::Mask {
        value.lt(self.minimum) | value.gt(self.maximum)
    }
    /// The rate of a state that stops at the limits: none outwards.
    #[inline(always)]
    pub fn hold_rate(&self, value: T, rate: T) -> T {
        stops::hold_rate(value, rate, (self.minimum, self.maximum))
    }
}
