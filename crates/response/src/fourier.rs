//! The discrete Fourier transform, of any length.
//!
//! Powers of two by Cooley and Tukey (1965); other lengths as a convolution of such a length
//! (Bluestein 1970). Some hundred transforms of a few thousand numbers are all that is asked of it.

use nalgebra::Complex;
use std::f64::consts::{PI, TAU};

type C = Complex<f64>;

/// X_h = Σ x_k·exp(−2πi·h·k/n).
pub fn transform(mut x: Vec<C>) -> Vec<C> {
    let n = x.len();
    if n <= 1 {
        return x;
    }
    if n.is_power_of_two() {
        radix_two(&mut x);
        return x;
    }
    // h·k = (h² + k² − (h − k)²)/2: a convolution with a chirp. k² is taken modulo 2n before it is
    // multiplied, so that its angle keeps all digits.
    let chirp: Vec<C> = (0..n as u128)
        .map(|k| {
            let turned = (k * k % (2 * n as u128)) as f64;
            C::new(0.0, -PI * turned / n as f64).exp()
        })
        .collect();
    let length = (2 * n - 1).next_power_of_two();
    let zero = C::new(0.0, 0.0);
    let (mut a, mut b) = (vec![zero; length], vec![zero; length]);
    for k in 0..n {
        a[k] = x[k] * chirp[k];
        b[k] = chirp[k].conj();
        b[(length - k) % length] = chirp[k].conj();
    }
    radix_two(&mut a);
    radix_two(&mut b);
    // Back by the transform of the conjugate.
    for (a, b) in a.iter_mut().zip(&b) {
        *a = (*a * b).conj();
    }
    radix_two(&mut a);
    (0..n).map(|h| a[h].conj() / length as f64 * chirp[h]).collect()
}

/// That of real numbers.
pub fn transform_real(x: impl IntoIterator<Item = f64>) -> Vec<C> {
    transform(x.into_iter().map(|x| C::new(x, 0.0)).collect())
}

fn radix_two(x: &mut [C]) {
    let n = x.len();
    let bits = n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - bits);
        if i < j {
            x.swap(i, j);
        }
    }
    let turns: Vec<C> = (0..n / 2).map(|k| C::new(0.0, -TAU * k as f64 / n as f64).exp()).collect();
    let mut size = 2;
    while size <= n {
        let (half, stride) = (size / 2, n / size);
        for block in x.chunks_exact_mut(size) {
            let (low, high) = block.split_at_mut(half);
            for k in 0..half {
                let turned = high[k] * turns[k * stride];
                high[k] = low[k] - turned;
                low[k] += turned;
            }
        }
        size *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_gives_the_sum_that_defines_it() {
        for n in [1usize, 2, 3, 8, 12, 17, 100, 128, 243] {
            let x: Vec<C> = (0..n)
                .map(|k| C::new((k as f64 * 1.3).sin() + 0.2, (k as f64 * 0.7).cos()))
                .collect();
            let found = transform(x.clone());
            for (h, found) in found.iter().enumerate() {
                let turn = |k: usize| C::new(0.0, -TAU * (h * k % n) as f64 / n as f64).exp();
                let exact: C = x.iter().enumerate().map(|(k, x)| x * turn(k)).sum();
                assert!((found - exact).norm() < 1e-12 * n as f64, "{n} {h}");
            }
        }
    }
}
