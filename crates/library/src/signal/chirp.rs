//! Swept sine.

use super::block::memoryless;
use super::time::{elapsed, first_ahead};
use fluxline_core::component::Refusal;
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};
use std::f64::consts::TAU;

fluxline_core::choice! {
    /// How the frequency of a sweep rises.
    pub enum Sweep {
        /// In proportion to time.
        Linear = "linear",
        /// In octaves per second.
        Logarithmic = "logarithmic",
    }
}

/// A sine whose frequency sweeps from one value to another, for frequency responses.
///
/// y = y₀ + A·sin(2π·∫f dt),  f = f₀ + (f₁ − f₀)·x (linear) or f₀·(f₁/f₀)ˣ (logarithmic),
/// x = (t − t₀)/D
///
/// The phase is continuous; after the sweep the last frequency goes on.
#[component("signal.chirp", s, constants = ChirpConstants)]
pub struct Chirp {
    /// A — amplitude [any]
    #[input(default = 1)]
    pub amplitude: f64,
    /// y₀ — mean value [any]
    #[input(default = 0)]
    pub offset: f64,
    /// f₀ — frequency at the start [Hz]
    #[parameter(default = "0.1 Hz", min = ">0 Hz")]
    pub start_frequency: f64,
    /// f₁ — frequency at the end [Hz]
    #[parameter(default = "100 Hz", min = ">0 Hz")]
    pub end_frequency: f64,
    /// t₀ — time at which the sweep begins [s]
    #[parameter(default = "0 s")]
    pub start: f64,
    /// D — how long the sweep takes [s]
    #[parameter(default = "10 s", min = ">0 s")]
    pub duration: f64,
    /// – — how the frequency changes: linear or logarithmic [any]
    #[parameter(default = "logarithmic")]
    pub sweep: Sweep,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// Constants of [`Chirp`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct ChirpConstants<T> {
    start_frequency: T,
    end_frequency: T,
    start: T,
    duration: T,
    /// ln(f₁/f₀).
    growth: T,
    sweep: Sweep,
}

memoryless!(Chirp: ChirpConstants, events);

impl Chirp {
    fn constants(&self) -> Result<ChirpConstants<f64>, Refusal> {
        Ok(ChirpConstants {
            start_frequency: self.start_frequency,
            end_frequency: self.end_frequency,
            start: self.start,
            duration: self.duration,
            growth: (self.end_frequency / self.start_frequency).ln(),
            sweep: self.sweep,
        })
    }
    /// The sweep begins and ends.
    fn event_after(k: &ChirpConstants<f64>, time: f64) -> f64 {
        first_ahead(time, [k.start, k.start + k.duration])
    }
    #[inline(always)]
    fn value<T: Num>(k: &ChirpConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        let since = elapsed(time, k.start);
        let x = (since / k.duration).min(T::one());
        let mean = match k.sweep {
            Sweep::Linear => {
                k.start_frequency * x + (k.end_frequency - k.start_frequency) * x.squared() * 0.5
            }
            Sweep::Logarithmic => k.start_frequency * x.apply2(k.growth, integral_of_growth),
        };
        let beyond = (since - k.duration).max(T::zero());
        let cycles = mean * k.duration + k.end_frequency * beyond;
        let angle = (cycles - cycles.floor()) * TAU;
        u(Self::OFFSET) + u(Self::AMPLITUDE) * angle.sin()
    }
}

/// ∫₀ˣ e^(g·s) ds = (e^(g·x) − 1)/g with its slopes; x where g vanishes.
fn integral_of_growth(x: f64, g: f64) -> (f64, f64, f64) {
    if g.abs() < 1e-9 {
        return (x + 0.5 * g * x * x, 1.0 + g * x, 0.5 * x * x);
    }
    let (value, power) = ((g * x).exp_m1() / g, (g * x).exp());
    (value, power, (x * power - value) / g)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{Source, lanes_match};

    fn chirp(start_frequency: f64, end_frequency: f64, sweep: Sweep) -> Chirp {
        Chirp {
            amplitude: 0.0,
            offset: 0.0,
            start_frequency,
            end_frequency,
            start: 0.5,
            duration: 2.0,
            sweep,
        }
    }

    /// The phase, unwrapped from the zero crossings, has the slope the sweep promises.
    #[test]
    fn frequency_sweeps_as_promised_and_then_stays() {
        let dt = 1e-5;
        for sweep in [Sweep::Linear, Sweep::Logarithmic] {
            let values = Source::with(&chirp(5.0, 50.0, sweep), &[1.0, 0.0], dt).values(300_000);
            let crossings: Vec<f64> = (1..values.len())
                .filter(|&n| values[n - 1] < 0.0 && values[n] >= 0.0)
                .map(|n| dt * (n as f64 - values[n] / (values[n] - values[n - 1])))
                .collect();
            assert!(crossings.len() > 50);
            for pair in crossings.windows(2) {
                let (measured, middle) = (1.0 / (pair[1] - pair[0]), 0.5 * (pair[0] + pair[1]));
                let x = ((middle - 0.5) / 2.0).min(1.0);
                let expected = match sweep {
                    Sweep::Linear => 5.0 + 45.0 * x,
                    Sweep::Logarithmic => 5.0 * 10f64.powf(x),
                };
                // A period of a sweep is its frequency at the middle up to (ḟ/f²)²/8 of itself: 2 %.
                assert!((measured / expected - 1.0).abs() < 0.02, "{measured} {expected}");
            }
        }
    }

    #[test]
    fn sweep_between_equal_frequencies_is_a_sine() {
        for sweep in [Sweep::Linear, Sweep::Logarithmic] {
            let values = Source::with(&chirp(5.0, 5.0, sweep), &[2.0, 1.0], 1e-3).values(4000);
            for (n, value) in values.iter().enumerate().skip(500) {
                let exact = 1.0 + 2.0 * (TAU * 5.0 * (n as f64 * 1e-3 - 0.5)).sin();
                assert!((value - exact).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        for sweep in [Sweep::Linear, Sweep::Logarithmic] {
            lanes_match([1.0, 2.0, 5.0, 7.0].map(|f| chirp(f, 5.0, sweep)));
        }
    }
}
