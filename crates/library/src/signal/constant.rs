//! Constant, and time itself.

use super::block::memoryless;
use fluxline_core::component;
use fluxline_core::component::NoConstants;
use fluxline_core::number::Num;

/// A constant.
///
/// y = C
#[component("signal.constant", s, also = "hopsan:SignalConstant")]
pub struct Constant {
    /// C — value [–]
    #[input(default = 0, also = "y#Value")]
    pub value: f64,
    /// y — signal [–]
    #[output(also = "y")]
    out: Output,
}

/// The time of the run.
///
/// y = t
#[component("signal.time", s, also = "hopsan:SignalTime")]
pub struct Time {
    /// t — time [s]
    #[output]
    out: Output,
}

memoryless! { Constant Time }

impl Constant {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        u(Self::VALUE)
    }
}

impl Time {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, time: f64, _: impl Fn(usize) -> T) -> T {
        T::of(time)
    }
}
