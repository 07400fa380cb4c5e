//! White noise as Hopsan draws it: from the C library's `rand`, which it never seeds.
//!
//! All components of a run share that one sequence. A component here keeps a copy of its own and
//! passes over the numbers that others draw before and after it in every step: its parameters
//! `draws_before` and `draws_after`, which an importer sums up with [`draws`] in the order in which
//! Hopsan runs them.

use super::block::is_zero;
use fluxline_core::component::Step;
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use std::f64::consts::TAU;

/// Words of the generator: xᵢ = xᵢ₋₃ + xᵢ₋₃₁ mod 2³².
const WORDS: usize = 31;
const SHORT_LAG: usize = 3;
const MODULUS: f64 = 4_294_967_296.0;
/// Largest number that is drawn, 2³¹ − 1.
const LARGEST: f64 = 2_147_483_647.0;

/// The words that GNU's C library begins with when no seed is given.
const FIRST: [u32; WORDS] = {
    let mut words = [1u32; WORDS];
    let mut i = 1;
    while i < WORDS {
        words[i] = ((words[i - 1] as u64 * 16807) % 2_147_483_647) as u32;
        i += 1;
    }
    // It throws the first ten rounds away; the first three words enter twice.
    let mut n = 0;
    while n < 3 + 10 * WORDS {
        let oldest = n % WORDS;
        if n >= 3 {
            let lagged = words[(n + WORDS - SHORT_LAG) % WORDS];
            words[oldest] = words[oldest].wrapping_add(lagged);
        }
        n += 1;
    }
    words
};
/// Place of the oldest of the first words.
const OLDEST: usize = (3 + 10 * WORDS) % WORDS;

/// Numbers drawn for one of normal distribution.
const DRAWS: usize = 2;

/// Numbers that a component draws in a step and at the start.
///
/// `method` and `window` are those of a `SignalSteadyStateIdentifier`; `step` is its time step.
pub fn draws(typename: &str, method: usize, window: f64, step: f64) -> usize {
    match (typename, method) {
        ("SignalNoiseGenerator" | "SignalAdditiveNoise", _) => DRAWS,
        ("SignalSteadyStateIdentifier", 1) => DRAWS * samples(window, step),
        ("SignalSteadyStateIdentifier", 2) => DRAWS,
        _ => 0,
    }
}

/// Steps that a window holds; more than can be remembered are as good as any such number.
pub(super) fn samples(window: f64, step: f64) -> usize {
    const MOST: f64 = 1e12;
    (window / step).min(MOST) as usize
}

/// A copy of the sequence in a component's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// Where it begins in the history.
    pub at: usize,
    /// Numbers that other components draw before this one in a step.
    pub before: usize,
    /// Numbers that other components draw after it.
    pub after: usize,
}

impl Sequence {
    /// Numbers of history it needs.
    pub const HISTORY: usize = WORDS + 1;

    /// Begins the sequence.
    pub fn start<T: Num>(self, io: &mut Step<'_, T>) {
        let history = &mut io.history()[self.at..self.at + Self::HISTORY];
        for (slot, word) in history.iter_mut().zip(FIRST) {
            *slot = T::of(f64::from(word));
        }
        history[WORDS] = T::of(OLDEST as f64);
    }

    /// Passes over what others draw before.
    pub fn begin_step<T: Num>(self, io: &mut Step<'_, T>) {
        self.pass(io, self.before);
    }

    /// Passes over what others draw after.
    pub fn end_step<T: Num>(self, io: &mut Step<'_, T>) {
        self.pass(io, self.after);
    }

    fn pass<T: Num>(self, io: &mut Step<'_, T>, count: usize) {
        for _ in 0..count {
            self.draw(io);
        }
    }

    /// The next number, 0 to 1.
    #[wide]
    fn draw<T: Num>(self, io: &mut Step<'_, T>) -> T {
        let words = &mut io.history()[self.at..self.at + Self::HISTORY];
        let oldest = words[WORDS].first() as usize % WORDS;
        let sum = words[oldest] + words[(oldest + WORDS - SHORT_LAG) % WORDS];
        let word = T::select(sum.lt(T::of(MODULUS)), sum, sum - MODULUS);
        words[oldest] = word;
        words[WORDS] = T::of(((oldest + 1) % WORDS) as f64);
        (word * 0.5).floor() / LARGEST
    }

    /// A number with mean 0 and variance 1 (Box and Muller).
    #[wide]
    pub fn normal<T: Num>(self, io: &mut Step<'_, T>) -> T {
        let mut first = self.draw(io);
        while is_zero(first).any() {
            first = self.draw(io);
        }
        let second = self.draw(io);
        (first.ln() * -2.0).sqrt() * (second * TAU).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::source::NoiseGenerator;
    use fluxline_core::testing::Bench;

    const SEQUENCE: Sequence = Sequence { at: 0, before: 0, after: 0 };

    /// The numbers that a C program prints on Linux when it calls `rand` without a seed.
    #[test]
    fn draws_are_those_of_the_c_library() {
        let generator = NoiseGenerator { deviation: 1.0, before: 0, after: 0 };
        let mut bench = Bench::new(&generator, 1.0);
        bench.with(|io| {
            SEQUENCE.start(io);
            for expected in [1804289383.0, 846930886.0, 1681692777.0, 1714636915.0, 1957747793.0] {
                assert_eq!(SEQUENCE.draw(io) * LARGEST, expected);
            }
        });
    }

    #[test]
    fn two_generators_share_one_sequence() {
        let alone = |before, after| {
            let generator = NoiseGenerator { deviation: 1.0, before, after };
            let mut bench = Bench::new(&generator, 1.0);
            bench.input(0, 1.0).start();
            let first = bench.output(0);
            [first, bench.step().output(0)]
        };
        let (first, second) = (alone(0, DRAWS), alone(DRAWS, 0));
        let mut single = Bench::new(&NoiseGenerator { deviation: 1.0, before: 0, after: 0 }, 1.0);
        single.input(0, 1.0).start();
        for expected in [first[0], second[0], first[1], second[1]] {
            assert_eq!(single.output(0), expected);
            single.step();
        }
    }

    #[test]
    fn noise_has_mean_0_and_the_given_deviation() {
        let generator = NoiseGenerator { deviation: 1.0, before: 0, after: 0 };
        let mut bench = Bench::new(&generator, 1.0);
        bench.input(0, 3.0).start();
        let (mut sum, mut squares, n) = (0.0, 0.0, 100_000);
        for _ in 0..n {
            let value = bench.step().output(0);
            sum += value;
            squares += value * value;
        }
        let n = f64::from(n);
        // Four standard errors: 4·σ/√n and 4·σ²·√(2/n).
        assert!((sum / n).abs() < 4.0 * 3.0 / n.sqrt());
        assert!((squares / n - 9.0).abs() < 4.0 * 9.0 * (2.0 / n).sqrt());
    }
}
