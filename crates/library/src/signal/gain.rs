//! Gain.

use fluxline_core::component;
use fluxline_core::component::{Environment, Law, NoConstants, Physics, Refusal, Step};
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

impl Physics for Gain {
    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }
    fn law<T: Num>(_: &NoConstants<T>, law: &mut Law<'_, T>) {
        law.output[Self::OUT] = law.input[Self::GAIN] * law.input[Self::INPUT];
    }
    #[inline]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let product = io.input(Self::GAIN) * io.input(Self::INPUT);
        io.set_output(Self::OUT, product);
    }
}
