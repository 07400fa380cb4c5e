//! The discrete Fourier transform, of any length.

use nalgebra::Complex;
use rustfft::FftPlanner;

/// X_h = Σ x_k·exp(−2πi·h·k/n) of real numbers, for h from 0 to n − 1.
pub fn transform_real(x: impl IntoIterator<Item = f64>) -> Vec<Complex<f64>> {
    let mut x: Vec<Complex<f64>> = x.into_iter().map(|x| Complex::new(x, 0.0)).collect();
    FftPlanner::new().plan_fft_forward(x.len()).process(&mut x);
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn every_length_gives_the_sum_that_defines_it() {
        for n in [1usize, 2, 3, 8, 12, 17, 100, 128, 243] {
            let x: Vec<f64> = (0..n).map(|k| (k as f64 * 1.3).sin() + 0.2).collect();
            let found = transform_real(x.clone());
            for (h, found) in found.iter().enumerate() {
                let turn = |k: usize| Complex::new(0.0, -TAU * (h * k % n) as f64 / n as f64).exp();
                let exact: Complex<f64> = x.iter().enumerate().map(|(k, x)| turn(k) * *x).sum();
                assert!((found - exact).norm() < 1e-12 * n as f64, "{n} {h}");
            }
        }
    }
}
