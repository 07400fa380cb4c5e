//! Gain.

use super::block::memoryless;
use fluxline_core::component;
use fluxline_core::component::NoConstants;
use fluxline_core::number::Num;

/// Multiplies a signal by a constant.
///
/// y = K·u
#[component("signal.gain", s, also = "hopsan:SignalGain")]
pub struct Gain {
    /// u — signal [–]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// K — gain [–]
    #[input(default = 1, also = "k")]
    pub gain: f64,
    /// y — product [–]
    #[output]
    out: Output,
}

memoryless! { Gain }

impl Gain {
    #[inline(always)]
    fn value<T: Num>(_: &NoConstants<T>, _: f64, u: impl Fn(usize) -> T) -> T {
        u(Self::GAIN) * u(Self::INPUT)
    }
}
