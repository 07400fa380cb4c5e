//! Periodic waves with corners: square and triangle.

use super::block::memoryless;
use super::time::{ahead, first_ahead, next_in_period, phase, reached};
use fluxline_core::component::Refusal;
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// A square wave.
///
/// y = y₀ + A in the first half of each period from t₀ on, y₀ − A in the second, y₀ before t₀
#[component("signal.square", s, constants = WaveConstants, also = "hopsan:SignalSquareWave")]
pub struct Square {
    /// y₀ — mean value [any]
    #[input(default = 0, also = "y_0")]
    pub base: f64,
    /// A — amplitude [any]
    #[input(default = 1, also = "y_A")]
    pub amplitude: f64,
    /// f — frequency [Hz]
    #[input(default = "1 Hz", min = ">0 Hz", also = "f")]
    pub frequency: f64,
    /// t₀ — time at which it begins [s]
    #[input(default = "0 s", also = "t_start")]
    pub start: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// A triangle wave, in phase with a sine.
///
/// y = y₀ + A·tri(f·(t − t₀)) from t₀ on: 0, 1, 0, −1 at the quarters of a period; y₀ before t₀
#[component("signal.triangle", s, constants = WaveConstants)]
pub struct Triangle {
    /// y₀ — mean value [any]
    #[input(default = 0)]
    pub base: f64,
    /// A — amplitude [any]
    #[input(default = 1)]
    pub amplitude: f64,
    /// f — frequency [Hz]
    #[input(default = "1 Hz", min = ">0 Hz")]
    pub frequency: f64,
    /// t₀ — time at which it begins [s]
    #[input(default = "0 s")]
    pub start: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// Constants of [`Square`] and [`Triangle`]: what integration stops by where no signal drives it.
#[derive(Clone, Copy, Debug, Constants)]
pub struct WaveConstants<T> {
    start: T,
    period: T,
}

memoryless!(Square: WaveConstants, events);
memoryless!(Triangle: WaveConstants, events);

impl WaveConstants<f64> {
    fn event_after(&self, time: f64, shares: &[f64]) -> f64 {
        let corner = next_in_period(time, (self.start, self.period), 0.0, shares);
        first_ahead(time, [self.start, corner])
    }
}

impl Square {
    fn constants(&self) -> Result<WaveConstants<f64>, Refusal> {
        Ok(WaveConstants { start: self.start, period: 1.0 / self.frequency })
    }
    fn event_after(k: &WaveConstants<f64>, time: f64) -> f64 {
        k.event_after(time, &[0.0, 0.5])
    }
    #[inline(always)]
    fn value<T: Num>(_: &WaveConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        let start = u(Self::START);
        let cycles = (T::of(ahead(time)) - start) * u(Self::FREQUENCY);
        let amplitude = u(Self::AMPLITUDE);
        let first_half = (cycles - cycles.floor()).lt(T::of(0.5));
        let swing = T::select(first_half, amplitude, -amplitude);
        u(Self::BASE) + T::select(reached(time, start), swing, T::zero())
    }
}

impl Triangle {
    fn constants(&self) -> Result<WaveConstants<f64>, Refusal> {
        Ok(WaveConstants { start: self.start, period: 1.0 / self.frequency })
    }
    fn event_after(k: &WaveConstants<f64>, time: f64) -> f64 {
        k.event_after(time, &[0.25, 0.75])
    }
    #[inline(always)]
    fn value<T: Num>(_: &WaveConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        let start = u(Self::START);
        let x = phase(time, start, u(Self::FREQUENCY));
        // 4x up to a quarter, 2 − 4x to three quarters, 4x − 4 to the end.
        let rise = x * 4.0;
        let swing = rise.min((T::of(2.0) - rise).max(rise - 4.0));
        let swing = T::select(reached(time, start), swing, T::zero());
        u(Self::BASE) + u(Self::AMPLITUDE) * swing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{Source, lanes_match};

    fn square() -> Square {
        Square { base: 0.0, amplitude: 0.0, frequency: 0.0, start: 0.0 }
    }
    fn triangle() -> Triangle {
        Triangle { base: 0.0, amplitude: 0.0, frequency: 0.0, start: 0.0 }
    }

    #[test]
    fn square_wave_changes_side_every_half_period() {
        let values = Source::with(&square(), &[1.0, 2.0, 250.0, 0.01], 1e-4).values(100_000);
        for (n, value) in values.iter().enumerate() {
            let expected = match n {
                0..100 => 1.0,
                n if (n - 100) % 40 < 20 => 3.0,
                _ => -1.0,
            };
            assert_eq!(*value, expected, "step {n}");
        }
    }

    #[test]
    fn triangle_wave_meets_its_corners() {
        let values = Source::with(&triangle(), &[1.0, 2.0, 0.25, 1.0], 0.5).values(13);
        let exact = [1.0, 1.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0, -1.0, 0.0, 1.0, 2.0, 3.0, 2.0];
        for (value, exact) in values.iter().zip(exact) {
            assert!((value - exact).abs() < 1e-14);
        }
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        lanes_match([(); 4].map(|()| square()));
        lanes_match([(); 4].map(|()| triangle()));
    }
}
