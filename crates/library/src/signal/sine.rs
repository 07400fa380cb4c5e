//! Sine.

use super::block::memoryless;
use super::time::{elapsed, first_ahead};
use fluxline_core::component::Refusal;
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};
use std::f64::consts::TAU;

/// A sine.
///
/// y = y₀ + A·sin(2π·f·(t − t₀) + φ) from t₀ on; before it the value at t₀
///
/// The frequency is meant to stay constant: a signal that drives it shifts the whole past of the
/// phase. See `signal.chirp` for a sweep.
#[component("signal.sine", s, constants = SineConstants, also = "hopsan:SignalSineWave")]
pub struct Sine {
    /// A — amplitude [any]
    #[input(default = 1, also = "y_A")]
    pub amplitude: f64,
    /// f — frequency [Hz]
    #[input(default = "1 Hz", min = "0 Hz", also = "f")]
    pub frequency: f64,
    /// φ — phase at the start [rad]
    #[input(default = "0 rad")]
    pub phase: f64,
    /// y₀ — mean value [any]
    #[input(default = 0)]
    pub offset: f64,
    /// t₀ — time at which it begins [s]
    #[input(default = "0 s", also = "t_start")]
    pub start: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// Constants of [`Sine`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct SineConstants<T> {
    /// t₀ where no signal drives it: integration stops there.
    start: T,
}

memoryless!(Sine: SineConstants, events);

impl Sine {
    fn constants(&self) -> Result<SineConstants<f64>, Refusal> {
        Ok(SineConstants { start: self.start })
    }
    fn event_after(k: &SineConstants<f64>, time: f64) -> f64 {
        first_ahead(time, [k.start])
    }
    #[inline(always)]
    fn value<T: Num>(_: &SineConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        let cycles = elapsed(time, u(Self::START)) * u(Self::FREQUENCY);
        // Whole cycles are taken off first: after k periods the value is exactly that of the start.
        let angle = (cycles - cycles.floor()) * TAU + u(Self::PHASE);
        u(Self::OFFSET) + u(Self::AMPLITUDE) * angle.sin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::Source;

    #[test]
    fn sine_passes_its_extremes_and_repeats() {
        let sine = Sine { amplitude: 0.0, frequency: 0.0, phase: 0.0, offset: 0.0, start: 0.0 };
        let values = Source::with(&sine, &[2.0, 0.5, 0.0, 1.0, 1.0], 0.5).values(10);
        assert_eq!(values[..3], [1.0; 3], "at rest before the start");
        assert_eq!((values[3], values[6]), (3.0, 1.0));
        for (value, exact) in values[2..].iter().zip([1.0, 3.0, 1.0, -1.0, 1.0, 3.0]) {
            assert!((value - exact).abs() < 1e-15);
        }
        let values = Source::with(&sine, &[2.0, 0.5, TAU / 4.0, 1.0, 1.0], 0.5).values(3);
        assert_eq!(values[0], 3.0, "a phase is held until the start");
    }
}
