//! Random signals that repeat exactly.
//!
//! There is no generator with a state: each number is a hash of the seed and of the number of its
//! interval, so that saving, restoring, lanes and threads change nothing.

use super::block::memoryless;
use super::time::{interval, next_in_period};
use fluxline_core::component::Refusal;
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::TAU;

/// Levels drawn at random, each held for a while: a pseudo-random multi-level signal for
/// identification.
///
/// y = y_min + (y_max − y_min)·i/(N − 1),  i drawn anew from 0 … N − 1 at t₀ and every P from there
#[component("signal.random_levels", s, constants = LevelConstants)]
pub struct RandomLevels {
    /// y_min — lowest level [any]
    #[input(default = 0)]
    pub lowest: f64,
    /// y_max — highest level [any]
    #[input(default = 1)]
    pub highest: f64,
    /// N — number of levels [any]
    #[parameter(default = 2, min = 2)]
    pub levels: usize,
    /// P — how long a level is held [s]
    #[parameter(default = "0.1 s", min = ">0 s")]
    pub period: f64,
    /// t₀ — a time at which a level begins; there are levels before it too [s]
    #[parameter(default = "0 s")]
    pub start: f64,
    /// – — seed: another one gives another sequence [any]
    #[parameter(default = 1, min = 0)]
    pub seed: usize,
    /// y — signal [any]
    #[output]
    out: Output,
}

fluxline_core::choice! {
    /// How noise is distributed.
    pub enum Distribution {
        /// Normal.
        Gaussian = "gaussian",
        /// Even, between ±√3 standard deviations.
        Uniform = "uniform",
    }
}

/// Noise with a given standard deviation, added to a signal.
///
/// y = u + σ·n,  n drawn anew every P: mean 0, variance 1, independent
///
/// White up to 1/(2P), with the two-sided spectral density σ²·P. The time step should divide P.
#[component(
    "signal.noise",
    s,
    constants = NoiseConstants,
    also = "hopsan:SignalNoiseGenerator",
    also = "hopsan:SignalAdditiveNoise"
)]
pub struct Noise {
    /// u — signal that noise is added to [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// σ — standard deviation [any]
    #[input(default = 1, min = 0, also = "std_dev")]
    pub standard_deviation: f64,
    /// – — gaussian or uniform [any]
    #[parameter(default = "gaussian")]
    pub distribution: Distribution,
    /// P — time from one draw to the next [s]
    #[parameter(default = "1 ms", min = ">0 s")]
    pub sample_time: f64,
    /// – — seed: another one gives another sequence [any]
    #[parameter(default = 1, min = 0)]
    pub seed: usize,
    /// y — signal with noise [any]
    #[output]
    out: Output,
}

/// Constants of [`RandomLevels`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct LevelConstants<T> {
    levels: T,
    frequency: T,
    start: T,
    seed: T,
}

/// Constants of [`Noise`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct NoiseConstants<T> {
    distribution: Distribution,
    frequency: T,
    seed: T,
}

memoryless!(RandomLevels: LevelConstants, events);
memoryless!(Noise: NoiseConstants, events);

/// The next draw; there have been draws before the start, too.
fn next_draw(time: f64, start: f64, frequency: f64) -> f64 {
    next_in_period(time, (start, 1.0 / frequency), f64::NEG_INFINITY, &[0.0])
}

impl RandomLevels {
    fn constants(&self) -> Result<LevelConstants<f64>, Refusal> {
        Ok(LevelConstants {
            levels: self.levels as f64,
            frequency: 1.0 / self.period,
            start: self.start,
            seed: self.seed as f64,
        })
    }
    fn event_after(k: &LevelConstants<f64>, time: f64) -> f64 {
        next_draw(time, k.start, k.frequency)
    }
    #[wide]
    #[inline(always)]
    fn value<T: Num>(k: &LevelConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        let index = interval(time, k.start, k.frequency);
        let draw = k.seed.apply2(index, |s, n| (uniform(s, n, 0), 0.0, 0.0));
        let level = (draw * k.levels).floor() / (k.levels - 1.0);
        u(Self::LOWEST) + (u(Self::HIGHEST) - u(Self::LOWEST)) * level
    }
}

impl Noise {
    fn constants(&self) -> Result<NoiseConstants<f64>, Refusal> {
        Ok(NoiseConstants {
            distribution: self.distribution,
            frequency: 1.0 / self.sample_time,
            seed: self.seed as f64,
        })
    }
    fn event_after(k: &NoiseConstants<f64>, time: f64) -> f64 {
        next_draw(time, 0.0, k.frequency)
    }
    #[wide]
    #[inline(always)]
    fn value<T: Num>(k: &NoiseConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        let index = interval(time, T::zero(), k.frequency);
        let draw = match k.distribution {
            Distribution::Gaussian => k.seed.apply2(index, |s, n| (gaussian(s, n), 0.0, 0.0)),
            Distribution::Uniform => {
                k.seed.apply2(index, |s, n| (12f64.sqrt() * (uniform(s, n, 0) - 0.5), 0.0, 0.0))
            }
        };
        u(Self::INPUT) + u(Self::STANDARD_DEVIATION) * draw
    }
}

/// The odd number nearest to 2⁶⁴ over the golden ratio: spreads successive counts over all bits.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64 bits in which every bit depends on every other (Steele, Lea and Flood 2014,
/// with Stafford's constants).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number between 0 and 1, both excluded: one of two for each interval.
fn uniform(seed: f64, index: f64, which: u64) -> f64 {
    let count = (index as i64 as u64).wrapping_mul(2).wrapping_add(which);
    let key = mix((seed as u64).wrapping_add(GOLDEN));
    let bits = mix(key.wrapping_add(count.wrapping_mul(GOLDEN)));
    // 52 bits and a half: 53 bits would round to 1 at the upper end.
    ((bits >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

/// A normally distributed number (Box and Muller 1958).
fn gaussian(seed: f64, index: f64) -> f64 {
    let radius = (-2.0 * uniform(seed, index, 0).ln()).sqrt();
    radius * (TAU * uniform(seed, index, 1)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{Source, lanes_match};
    use fluxline_core::testing::Bench;

    fn noise(distribution: Distribution, seed: usize) -> Noise {
        Noise { input: 0.0, standard_deviation: 0.0, distribution, sample_time: 2e-3, seed }
    }
    fn levels(levels: usize, seed: usize) -> RandomLevels {
        RandomLevels { lowest: 0.0, highest: 0.0, levels, period: 0.05, start: 0.0, seed }
    }
    const BOTH: [Distribution; 2] = [Distribution::Gaussian, Distribution::Uniform];

    /// All bounds are five standard errors of the estimate for n independent draws.
    #[test]
    fn noise_has_its_mean_variance_and_no_memory() {
        let n = 100_000;
        for (distribution, fourth) in [(BOTH[0], 3.0), (BOTH[1], 1.8)] {
            let values = Source::with(&noise(distribution, 7), &[1.0, 2.0], 2e-3).values(n - 1);
            let (count, sigma) = (n as f64, 2.0);
            let mean = values.iter().sum::<f64>() / count;
            assert!((mean - 1.0).abs() < 5.0 * sigma / count.sqrt());
            let moment = |power: i32| {
                let sum: f64 = values.iter().map(|v| ((v - 1.0) / sigma).powi(power)).sum();
                sum / count
            };
            // Var(n²) = E n⁴ − 1; E n⁴ is 3 for the normal, 9/5 for the even distribution.
            assert!((moment(2) - 1.0).abs() < 5.0 * ((fourth - 1.0) / count).sqrt());
            assert!((moment(4) - fourth).abs() < 0.2);
            for lag in [1, 2, 3, 10, 1000] {
                let pairs = values.iter().zip(&values[lag..]);
                let sum: f64 = pairs.map(|(a, b)| (a - 1.0) * (b - 1.0) / 4.0).sum();
                assert!((sum / count).abs() < 5.0 / count.sqrt(), "lag {lag}");
            }
        }
    }

    #[test]
    fn noise_is_held_for_its_sample_time() {
        let values = Source::with(&noise(BOTH[0], 7), &[0.0, 1.0], 1e-4).values(20_000);
        for (i, chunk) in values.chunks(20).enumerate() {
            assert!(chunk.iter().all(|v| *v == chunk[0]), "draw {i}");
        }
        assert_ne!(values[0], values[20]);
    }

    /// Half way through a run, a restored state continues with the same bits.
    #[test]
    fn same_seed_gives_the_same_bits_and_another_seed_others() {
        let run = |seed| Source::with(&noise(BOTH[0], seed), &[0.0, 1.0], 2e-3).values(999);
        let (first, other) = (run(7), run(8));
        assert_eq!(first, run(7));
        let product: f64 = first.iter().zip(&other).map(|(a, b)| a * b).sum();
        assert!(product.abs() / 1000.0 < 5.0 / 1000f64.sqrt(), "seeds are independent");

        let mut late = Bench::new(&noise(BOTH[0], 7), 2e-3);
        late.state.step = 499;
        late.input(1, 1.0);
        let rest: Vec<f64> = (500..1000).map(|_| late.step().output(0)).collect();
        assert_eq!(rest, first[500..]);
    }

    #[test]
    fn levels_are_visited_equally_often() {
        let n = 5;
        let values = Source::with(&levels(n, 3), &[-1.0, 3.0], 0.05).values(49_999);
        let mut visits = vec![0.0; n];
        for value in &values {
            let level = (value + 1.0) / 4.0 * (n - 1) as f64;
            assert_eq!(level, level.round());
            visits[level as usize] += 1.0;
        }
        // Five standard errors of a binomial count: 5·√(50 000·0.2·0.8) = 447.
        assert!(visits.iter().all(|v: &f64| (v - 10_000.0).abs() < 447.0), "{visits:?}");
    }

    /// The same sequence, two steps later, with another level before it.
    #[test]
    fn levels_begin_at_their_start() {
        let late = RandomLevels { start: 0.02, ..levels(1000, 3) };
        let at = |source: &RandomLevels| Source::with(source, &[0.0, 1.0], 0.01).values(1000);
        let (early, late) = (at(&levels(1000, 3)), at(&late));
        assert_eq!(early[..999], late[2..]);
        assert_eq!(late[0], late[1]);
        assert_ne!(late[1], late[2]);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars_with_a_seed_each() {
        for distribution in BOTH {
            lanes_match([1, 2, 3, 4].map(|seed| noise(distribution, seed)));
        }
        lanes_match([1, 2, 3, 4].map(|seed| levels(2 + seed, seed)));
    }
}
