//! Spectra of recorded signals: amplitudes, power densities, transfer functions and coherence.
//!
//! Averages of windowed segments that overlap by half (Welch, IEEE Transactions on Audio and
//! Electroacoustics 15, 1967).

use crate::fourier::transform_real;
use nalgebra::Complex;
use std::f64::consts::TAU;

/// How the ends of a segment are faded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Not at all: right for whole periods.
    Rectangular,
    /// Raised cosine: good for most.
    Hann,
    /// Four terms (Harris 1978): leakage below −92 dB, for small lines beside large ones.
    BlackmanHarris,
    /// Five terms: amplitudes right within 0.1 % wherever a line falls.
    FlatTop,
}

impl Window {
    fn terms(self) -> &'static [f64] {
        match self {
            Self::Rectangular => &[1.0],
            Self::Hann => &[0.5, 0.5],
            Self::BlackmanHarris => &[0.358_75, 0.488_29, 0.141_28, 0.011_68],
            Self::FlatTop => {
                &[0.215_578_95, 0.416_631_58, 0.277_263_158, 0.083_578_947, 0.006_947_368]
            }
        }
    }

    /// Its values for a segment.
    pub fn values(self, length: usize) -> Vec<f64> {
        (0..length)
            .map(|i| {
                let angle = TAU * i as f64 / length as f64;
                let signed = |k: usize, a: f64| if k % 2 == 1 { -a } else { a };
                let terms = self.terms().iter().enumerate();
                terms.map(|(k, &a)| signed(k, a) * (k as f64 * angle).cos()).sum()
            })
            .collect()
    }
}

/// How a signal is cut into segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Samples of a segment.
    pub length: usize,
    /// How its ends are faded.
    pub window: Window,
}

/// The spectrum of a signal.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Hz, from 0.
    pub frequency: Vec<f64>,
    /// Amplitude of a sine at the frequency that would look like this.
    pub amplitude: Vec<f64>,
    /// One-sided power density: unit²/Hz.
    pub density: Vec<f64>,
    /// Segments that were averaged.
    pub segments: usize,
}

/// How one signal follows from another.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// Hz, from 0.
    pub frequency: Vec<f64>,
    /// S_xy/S_xx: right where noise is in the output alone.
    pub response: Vec<Complex<f64>>,
    /// |S_xy|²/(S_xx·S_yy): the share of the output that follows from the input linearly.
    pub coherence: Vec<f64>,
    /// Segments that were averaged.
    pub segments: usize,
}

/// Transforms of segments, each without its mean, that overlap by half.
fn segments(values: &[f64], cut: &Cut) -> Vec<Vec<Complex<f64>>> {
    let window = cut.window.values(cut.length);
    let hop = if cut.window == Window::Rectangular { cut.length } else { cut.length.div_ceil(2) };
    let mut all = Vec::new();
    let mut begin = 0;
    while begin + cut.length <= values.len() {
        let part = &values[begin..begin + cut.length];
        let mean = part.iter().sum::<f64>() / cut.length as f64;
        let faded = part.iter().zip(&window).map(|(x, w)| (x - mean) * w);
        let mut transform = transform_real(faded);
        transform.truncate(cut.length / 2 + 1);
        all.push(transform);
        begin += hop;
    }
    all
}

fn frequencies(cut: &Cut, interval: f64) -> Vec<f64> {
    (0..=cut.length / 2).map(|i| i as f64 / (cut.length as f64 * interval)).collect()
}

/// The mean of a product over segments, bin by bin.
fn mean(x: &[Vec<Complex<f64>>], y: &[Vec<Complex<f64>>]) -> Vec<Complex<f64>> {
    let bins = x.first().map_or(0, Vec::len);
    let of_bin = |i: usize| -> Complex<f64> {
        x.iter().zip(y).map(|(x, y)| x[i].conj() * y[i]).sum::<Complex<f64>>() / x.len() as f64
    };
    (0..bins).map(of_bin).collect()
}

/// The spectrum of a signal that was sampled at an interval, s. A segment must fit into it.
pub fn spectrum(values: &[f64], interval: f64, cut: &Cut) -> Spectrum {
    let parts = segments(values, cut);
    let window = cut.window.values(cut.length);
    let sum: f64 = window.iter().sum();
    let squares: f64 = window.iter().map(|w| w * w).sum();
    let power: Vec<f64> = mean(&parts, &parts).iter().map(|p| p.re).collect();
    // Negative frequencies are folded onto positive ones, but for those that are their own mirror.
    let sided = |i: usize| if i == 0 || 2 * i == cut.length { 1.0 } else { 2.0 };
    let amplitude = power.iter().enumerate().map(|(i, p)| sided(i) * p.sqrt() / sum).collect();
    let density = power.iter().enumerate().map(|(i, p)| sided(i) * p * interval / squares);
    Spectrum {
        frequency: frequencies(cut, interval),
        amplitude,
        density: density.collect(),
        segments: parts.len(),
    }
}

/// How `y` follows from `x`, both sampled at the same times.
pub fn transfer(x: &[f64], y: &[f64], interval: f64, cut: &Cut) -> Transfer {
    let (of_x, of_y) = (segments(x, cut), segments(y, cut));
    let (xx, yy, xy) = (mean(&of_x, &of_x), mean(&of_y, &of_y), mean(&of_x, &of_y));
    let response = xy.iter().zip(&xx).map(|(xy, xx)| xy / xx.re).collect();
    let coherence = xy
        .iter()
        .zip(xx.iter().zip(&yy))
        .map(|(xy, (xx, yy))| xy.norm_sqr() / (xx.re * yy.re))
        .collect();
    Transfer { frequency: frequencies(cut, interval), response, coherence, segments: of_x.len() }
}

/// Values at even intervals, by straight lines between samples whose times are uneven.
pub fn resample(
    times: &[f64],
    values: &[f64],
    begin: f64,
    interval: f64,
    count: usize,
) -> Vec<f64> {
    let mut at = 0;
    (0..count)
        .map(|i| {
            let t = begin + i as f64 * interval;
            while at + 2 < times.len() && times[at + 1] <= t {
                at += 1;
            }
            let share = (t - times[at]) / (times[at + 1] - times[at]);
            values[at] + (values[at + 1] - values[at]) * share.clamp(0.0, 1.0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sine(n: usize, dt: f64, f: f64, a: f64) -> Vec<f64> {
        (0..n).map(|i| a * (TAU * f * i as f64 * dt).sin()).collect()
    }

    #[test]
    fn a_sine_on_a_line_has_its_amplitude_in_every_window() {
        let x = sine(4096, 1e-3, 125.0, 3.0);
        for window in [Window::Rectangular, Window::Hann, Window::BlackmanHarris, Window::FlatTop] {
            let found = spectrum(&x, 1e-3, &Cut { length: 1024, window });
            let bin = 128;
            assert!((found.frequency[bin] - 125.0).abs() < 1e-12);
            assert!((found.amplitude[bin] - 3.0).abs() < 1e-9, "{window:?}");
        }
    }

    #[test]
    fn a_flat_top_shows_amplitudes_between_lines_to_a_thousandth() {
        for shift in [0.1, 0.25, 0.5] {
            let x = sine(2048, 1e-3, (128.0 + shift) / 1.024, 2.0);
            let found = spectrum(&x, 1e-3, &Cut { length: 1024, window: Window::FlatTop });
            let peak = found.amplitude.iter().fold(0.0f64, |m, &a| m.max(a));
            assert!((peak / 2.0 - 1.0).abs() < 1.2e-3, "{shift}: {peak}");
        }
    }

    /// Parseval: the density integrates to the variance.
    #[test]
    fn the_density_of_noise_integrates_to_its_variance() {
        // White by a hash of the place.
        let noise = |i: u64| {
            let mut x = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let x: Vec<f64> = (1..=65536).map(noise).collect();
        let found = spectrum(&x, 0.01, &Cut { length: 512, window: Window::Hann });
        let total: f64 = found.density.iter().sum::<f64>() * found.frequency[1];
        // Uniform over 1: 1/12; 65536 samples tell the variance to 0.4 %.
        assert!((total * 12.0 - 1.0).abs() < 0.02, "{total}");
        assert_eq!(found.segments, 255);
    }

    #[test]
    fn the_transfer_of_a_filter_is_found_from_noise_with_a_coherence_of_one() {
        // y(k) = 0.9·y(k−1) + 0.1·x(k), driven by a sum of many sines that fit the segment.
        let n = 1 << 14;
        let length = 1024;
        let x: Vec<f64> = (0..n)
            .map(|i| {
                (1..400)
                    .map(|h| {
                        let phase = (h * h) as f64 * 0.37;
                        (TAU * (h * i % length) as f64 / length as f64 + phase).cos()
                    })
                    .sum()
            })
            .collect();
        let mut y = vec![0.0; n];
        for k in 1..n {
            y[k] = 0.9 * y[k - 1] + 0.1 * x[k];
        }
        let (x, y) = (&x[4096..], &y[4096..]);
        let found = transfer(x, y, 1e-3, &Cut { length, window: Window::Rectangular });
        for bin in [1, 17, 250, 399] {
            let z = Complex::new(0.0, TAU * bin as f64 / length as f64).exp();
            let exact = z * 0.1 / (z - 0.9);
            assert!((found.response[bin] - exact).norm() < 1e-9, "{bin}");
            assert!((found.coherence[bin] - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn straight_lines_are_resampled_exactly() {
        let times = [0.0, 0.1, 0.15, 0.4, 1.0];
        let values = times.map(|t| 3.0 * t - 1.0);
        let found = resample(&times, &values, 0.0, 0.25, 5);
        for (i, x) in found.into_iter().enumerate() {
            assert!((x - (0.75 * i as f64 - 1.0)).abs() < 1e-15);
        }
    }
}
