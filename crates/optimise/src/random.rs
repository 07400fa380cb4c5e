//! Random numbers of a seed, the same on every machine.

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators; 2014): its whole
/// state is one counter.
#[derive(Clone, Debug)]
pub struct Random {
    counter: u64,
}

impl Random {
    /// Of a seed.
    pub fn new(seed: u64) -> Self {
        Self { counter: seed }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.counter;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, both excluded.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// One of 0…count − 1.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.uniform() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// Standard normal, by the method of Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.uniform())).sqrt();
        radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// 0…count − 1 in a random order.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for i in (1..count).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }

    /// So many points, one in each of as many layers of each coordinate: a Latin hypercube.
    pub fn latin_hypercube(&mut self, count: usize, dimensions: usize) -> Vec<Vec<f64>> {
        let mut points = vec![vec![0.0; dimensions]; count];
        for i in 0..dimensions {
            for (point, layer) in points.iter_mut().zip(self.order(count)) {
                point[i] = (layer as f64 + self.uniform()) / count as f64;
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the reference program by Vigna for the seed 1234567.
    #[test]
    fn the_numbers_are_those_published() {
        let mut random = Random::new(1234567);
        let found: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(found, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    /// Mean 0 and variance 1, within four standard errors of 20 000 numbers.
    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let mut random = Random::new(5);
        let n = 20_000;
        let all: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let mean = all.iter().sum::<f64>() / n as f64;
        let variance = all.iter().map(|x| x * x).sum::<f64>() / n as f64;
        assert!(mean.abs() < 4.0 / (n as f64).sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 4.0 * (2.0 / n as f64).sqrt(), "{variance}");
    }

    #[test]
    fn a_latin_hypercube_has_one_point_in_each_layer() {
        let points = Random::new(1).latin_hypercube(10, 3);
        for i in 0..3 {
            let mut layers: Vec<usize> = points.iter().map(|p| (p[i] * 10.0) as usize).collect();
            layers.sort_unstable();
            assert_eq!(layers, (0..10).collect::<Vec<_>>());
        }
    }
}
