//! What signal blocks share: their shapes and truth values.

use fluxline_core::number::Num;

/// Writes [`fluxline_core::component::Physics`] for blocks whose output follows from inputs and time
/// alone: `value(io)`, or `value(constants, io)` with constants made by `constants(&self)`.
///
/// The output is computed at the start too; `from BASE` starts with an input instead.
macro_rules! memoryless {
    (@physics $type:ident, $constants:ident, $prepare:expr, $value:expr, $first:expr) => {
        impl fluxline_core::component::Physics for $type {
            const HAS_LAW: bool = false;
            fn prepare(
                &self,
                _: &fluxline_core::component::Environment,
            ) -> Result<$constants<f64>, fluxline_core::component::Refusal> {
                $prepare(self)
            }
            fn start<T: Num>(k: &$constants<T>, io: &mut fluxline_core::component::Step<'_, T>) {
                let value = $first(k, &*io);
                io.set_output(Self::OUT, value);
            }
            #[inline(always)]
            fn step<T: Num>(k: &$constants<T>, io: &mut fluxline_core::component::Step<'_, T>) {
                let value = $value(k, &*io);
                io.set_output(Self::OUT, value);
            }
        }
    };
    ($type:ident: $constants:ident) => {
        $crate::signal::block::memoryless!(
            @physics $type, $constants, $type::constants, Self::value, Self::value
        );
    };
    ($type:ident from $base:ident) => {
        $crate::signal::block::memoryless!(
            @physics $type, NoConstants, |_: &Self| Ok(NoConstants::new()),
            |_: &NoConstants<T>, io: &Step<'_, T>| Self::value(io),
            |_: &NoConstants<T>, io: &Step<'_, T>| io.input(Self::$base)
        );
    };
    ($($type:ident)*) => {$(
        $crate::signal::block::memoryless!(
            @physics $type, NoConstants, |_: &Self| Ok(NoConstants::new()),
            |_: &NoConstants<T>, io: &Step<'_, T>| Self::value(io),
            |_: &NoConstants<T>, io: &Step<'_, T>| Self::value(io)
        );
    )*};
}
pub(super) use memoryless;

/// Writes [`fluxline_core::component::Physics`] for components that only show or hold signals.
macro_rules! inert {
    ($($type:ident)*) => {$(
        impl fluxline_core::component::Physics for $type {
            const HAS_LAW: bool = false;
            const IS_IDLE: bool = true;
            fn prepare(
                &self,
                _: &fluxline_core::component::Environment,
            ) -> Result<
                fluxline_core::component::NoConstants<f64>,
                fluxline_core::component::Refusal,
            > {
                Ok(fluxline_core::component::NoConstants::new())
            }
            #[inline(always)]
            fn step<T: fluxline_core::number::Num>(
                _: &fluxline_core::component::NoConstants<T>,
                _: &mut fluxline_core::component::Step<'_, T>,
            ) {
            }
        }
    )*};
}
pub(super) use inert;

/// Declares functions of two inputs, `out` = f(a, b), with the names, defaults and lines of
/// documentation of the inputs.
macro_rules! binary {
    ($(
        $(#[$doc:meta])*
        $type:ident, $name:tt,
        |$a:ident: $first:tt = $default_a:tt $about_a:tt,
         $b:ident: $second:tt = $default_b:tt $about_b:tt| $value:expr;
    )*) => {$(
        $(#[$doc])*
        #[fluxline_core::component($name, s)]
        pub struct $type {
            #[doc = $about_a]
            #[input(name = $first, default = $default_a)]
            pub input1: f64,
            #[doc = $about_b]
            #[input(name = $second, default = $default_b)]
            pub input2: f64,
            /// y — result [any]
            #[output]
            out: Output,
        }
        impl $type {
            #[inline(always)]
            fn value<T: Num>(io: &Step<'_, T>) -> T {
                let ($a, $b) = (io.input(Self::INPUT1), io.input(Self::INPUT2));
                $value
            }
        }
        $crate::signal::block::memoryless! { $type }
    )*};
}
pub(super) use binary;

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

/// Whether a number is exactly 0.
#[inline(always)]
pub(super) fn is_zero<T: Num>(x: T) -> T::Mask {
    x.abs().le(T::zero())
}

/// The output at the start and for a row of inputs at each step, the first of them at the start.
#[cfg(test)]
pub(super) fn sequence<M: fluxline_core::component::Physics, const N: usize>(
    component: &M,
    dt: f64,
    rows: &[[f64; N]],
) -> Vec<f64> {
    let mut bench = fluxline_core::testing::Bench::new(component, dt);
    let mut values = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        for (i, &input) in row.iter().enumerate() {
            bench.input(i, input);
        }
        if n == 0 {
            bench.start()
        } else {
            bench.step()
        };
        values.push(bench.output(0));
    }
    values
}
