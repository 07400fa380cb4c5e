//! Sums, products and the like.

use super::block::{binary, is_zero, memoryless};
use crate::blocks;
use crate::same::same_as;
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_library::signal::arithmetic::Difference;
use fluxline_library::signal::function::Absolute;
use fluxline_library::signal::gain::Gain;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    same_as!(
        "SignalGain",
        Gain,
        "Multiplies a signal by a constant.\n\nout = k·in",
        ["in" = "input", "k" = "gain"]
    ),
    ComponentType::of::<Add>(),
    same_as!(
        "SignalSubtract",
        Difference,
        "The difference of two signals.\n\nout = in1 − in2",
        ["in1" = "input1", "in2" = "input2"]
    ),
    ComponentType::of::<Multiply>(),
    ComponentType::of::<Divide>(),
    ComponentType::of::<Sum>(),
    ComponentType::of::<Sub>(),
    ComponentType::of::<Max>(),
    ComponentType::of::<Min>(),
    same_as!(
        "SignalAbsoluteValue",
        Absolute,
        "The size of a signal.\n\nout = |in|",
        ["in" = "input"]
    ),
    ComponentType::of::<Square>(),
    ComponentType::of::<Sign>(),
];

binary! {
    /// Adds two signals.
    ///
    /// out = in1 + in2
    Add, "hopsan.SignalAdd",
    |a: "in1" = 0 "u₁ — signal [any]", b: "in2" = 0 "u₂ — signal [any]"| a + b;

    /// Multiplies two signals.
    ///
    /// out = in1·in2
    Multiply, "hopsan.SignalMultiply",
    |a: "in1" = 1 "u₁ — signal [any]", b: "in2" = 1 "u₂ — signal [any]"| a * b;
}

/// Divides one signal by another.
///
/// out = in1/in2
///
/// A divisor of 0 gives 0 at the start; later the run stops.
#[component("hopsan.SignalDivide", s)]
pub struct Divide {
    /// u₁ — dividend [any]
    #[input(name = "in1", default = 0)]
    pub dividend: f64,
    /// u₂ — divisor [any]
    #[input(name = "in2", default = 0)]
    pub divisor: f64,
    /// y — quotient [any]
    #[output]
    out: Output,
}

impl Physics for Divide {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let divisor = io.input(Self::DIVISOR);
        let quotient = io.input(Self::DIVIDEND) / divisor;
        io.set_output(Self::OUT, T::select(is_zero(divisor), T::zero(), quotient));
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let divisor = io.input(Self::DIVISOR);
        let impossible = is_zero(divisor);
        if impossible.any() {
            io.request_stop(impossible);
        }
        let quotient = io.input(Self::DIVIDEND) / divisor;
        io.set_output(Self::OUT, quotient);
    }
}

/// The square of a signal.
///
/// out = in²
#[component("hopsan.SignalSquare", s)]
pub struct Square {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// y — square [any]
    #[output]
    out: Output,
}

/// The sign of a signal.
///
/// out = 1 for in ≥ 0, else −1
#[component("hopsan.SignalSign", s)]
pub struct Sign {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// y — sign [any]
    #[output]
    out: Output,
}

memoryless! { Square Sign }

impl Square {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        io.input(Self::INPUT).squared()
    }
}

impl Sign {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        blocks::sign(io.input(Self::INPUT))
    }
}

/// Most signals that one input of many takes.
pub(super) const MANY: usize = 16;

/// Declares components whose inputs take many signals: `name`, `name_2` … `name_16`.
macro_rules! many {
    (
        $(#[$doc:meta])*
        $type:ident, $name:tt { $($field:ident $input:tt = $default:tt,)* } $($rest:tt)*
    ) => {
        $(#[$doc])*
        #[fluxline_core::component($name, s)]
        pub struct $type {
            $(
                /// u — signal [any]
                #[input(name = $input, default = $default)]
                pub $field: f64,
            )*
            $($rest)*
        }
    };
}
pub(super) use many;

/// Declares the sixteen inputs `in` … `in_16`, the first with a default of 0.
macro_rules! gathering {
    ($($(#[$doc:meta])* $type:ident, $name:tt, $default:tt;)*) => {$(
        many! {
            $(#[$doc])*
            $type, $name {
                in_1 "in" = 0, in_2 "in_2" = $default, in_3 "in_3" = $default,
                in_4 "in_4" = $default, in_5 "in_5" = $default, in_6 "in_6" = $default,
                in_7 "in_7" = $default, in_8 "in_8" = $default, in_9 "in_9" = $default,
                in_10 "in_10" = $default, in_11 "in_11" = $default, in_12 "in_12" = $default,
                in_13 "in_13" = $default, in_14 "in_14" = $default, in_15 "in_15" = $default,
                in_16 "in_16" = $default,
            }
            /// y — result [any]
            #[output]
            out: Output,
        }
        memoryless! { $type }
    )*};
}

gathering! {
    /// Adds many signals.
    ///
    /// out = Σ inᵢ
    Sum, "hopsan.SignalSum", 0;

    /// The largest of many signals.
    ///
    /// out = max inᵢ
    Max, "hopsan.SignalMax", "-1e300";

    /// The smallest of many signals.
    ///
    /// out = min inᵢ
    Min, "hopsan.SignalMin", "1e300";
}

impl Sum {
    #[wide]
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        (1..MANY).fold(io.input(0), |sum, i| sum + io.input(i))
    }
}

impl Max {
    #[wide]
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        (1..MANY).fold(io.input(0), |largest, i| largest.max(io.input(i)))
    }
}

impl Min {
    #[wide]
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        (1..MANY).fold(io.input(0), |smallest, i| smallest.min(io.input(i)))
    }
}

many! {
    /// Adds many signals and takes many off.
    ///
    /// out = Σ insumᵢ − Σ insubᵢ
    Sub, "hopsan.SignalSub" {
        sum_1 "insum" = 0, sum_2 "insum_2" = 0, sum_3 "insum_3" = 0, sum_4 "insum_4" = 0,
        sum_5 "insum_5" = 0, sum_6 "insum_6" = 0, sum_7 "insum_7" = 0, sum_8 "insum_8" = 0,
        sum_9 "insum_9" = 0, sum_10 "insum_10" = 0, sum_11 "insum_11" = 0,
        sum_12 "insum_12" = 0, sum_13 "insum_13" = 0, sum_14 "insum_14" = 0,
        sum_15 "insum_15" = 0, sum_16 "insum_16" = 0,
        sub_1 "insub" = 0, sub_2 "insub_2" = 0, sub_3 "insub_3" = 0, sub_4 "insub_4" = 0,
        sub_5 "insub_5" = 0, sub_6 "insub_6" = 0, sub_7 "insub_7" = 0, sub_8 "insub_8" = 0,
        sub_9 "insub_9" = 0, sub_10 "insub_10" = 0, sub_11 "insub_11" = 0,
        sub_12 "insub_12" = 0, sub_13 "insub_13" = 0, sub_14 "insub_14" = 0,
        sub_15 "insub_15" = 0, sub_16 "insub_16" = 0,
    }
    /// y — result [any]
    #[output]
    out: Output,
}

memoryless! { Sub }

impl Sub {
    #[wide]
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let sum = (1..MANY).fold(io.input(Self::SUM_1), |sum, i| sum + io.input(i));
        (0..MANY).fold(sum, |sum, i| sum - io.input(Self::SUB_1 + i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::block::sequence;
    use fluxline_core::component::Declared;
    use fluxline_core::declare::Value;
    use fluxline_core::testing::Bench;

    fn plain<M: Declared>() -> M {
        let zeros = vec![Value::Number(0.0); M::DECLARATION.parameters.len()];
        M::from_values(&zeros).expect("numbers only")
    }

    #[test]
    fn arithmetic_is_that_of_numbers_from_the_start_on() {
        let rows = [[3.0, -2.0], [-0.5, 8.0]];
        assert_eq!(sequence(&plain::<Add>(), 0.1, &rows), [1.0, 7.5]);
        assert_eq!(sequence(&plain::<Multiply>(), 0.1, &rows), [-6.0, -4.0]);
        assert_eq!(sequence(&plain::<Square>(), 0.1, &[[3.0], [-2.0]]), [9.0, 4.0]);
        assert_eq!(sequence(&plain::<Sign>(), 0.1, &[[0.0], [-2.0]]), [1.0, -1.0]);
        let row: [f64; 16] = std::array::from_fn(|i| (i as f64 - 3.0) * 2.0);
        assert_eq!(sequence(&plain::<Sum>(), 0.1, &[row]), [144.0]);
        assert_eq!(sequence(&plain::<Max>(), 0.1, &[row]), [24.0]);
        assert_eq!(sequence(&plain::<Min>(), 0.1, &[row]), [-6.0]);
        let row: [f64; 32] = std::array::from_fn(|i| i as f64);
        assert_eq!(sequence(&plain::<Sub>(), 0.1, &[row]), [-256.0]);
    }

    #[test]
    fn unconnected_inputs_do_not_count() {
        for (declaration, expected) in
            [(Max::DECLARATION, "-1e300"), (Min::DECLARATION, "1e300"), (Sum::DECLARATION, "0")]
        {
            let inputs = declaration.parameters;
            assert_eq!(inputs.len(), MANY);
            assert_eq!((inputs[0].name, inputs[0].default), ("in", Some("0")));
            assert_eq!((inputs[15].name, inputs[15].default), ("in_16", Some(expected)));
        }
        let subtracted = &Sub::DECLARATION.parameters[Sub::SUB_1];
        assert_eq!(subtracted.name, "insub");
    }

    #[test]
    fn division_by_zero_gives_zero_at_the_start_and_stops_the_run_later() {
        let mut divide = Bench::new(&plain::<Divide>(), 0.1);
        divide.input(0, 3.0).start();
        assert_eq!((divide.output(0), divide.state.faults.stop_requested), (0.0, 0));
        divide.input(1, 2.0).step();
        assert_eq!((divide.output(0), divide.state.faults.stop_requested), (1.5, 0));
        divide.input(1, 0.0).step();
        assert_eq!(divide.state.faults.stop_requested, 1);
    }
}
