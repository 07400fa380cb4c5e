//! The Sobol sequence: points that fill the unit cube evenly, however many are taken.

use crate::random::{Purpose, bits};

/// Primitive polynomials over two elements, degree and inner coefficients, and the first direction
/// numbers: the first dimensions of Joe and Kuo, Constructing Sobol sequences with better
/// two-dimensional projections (2008). The first dimension needs none.
const DIRECTIONS: &[(u32, u32, &[u32])] = &[
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
    (6, 1, &[1, 3, 3, 9, 7, 49]),
    (6, 13, &[1, 1, 1, 15, 21, 21]),
    (6, 16, &[1, 3, 1, 13, 27, 49]),
    (6, 19, &[1, 1, 1, 15, 7, 5]),
    (6, 22, &[1, 3, 1, 15, 13, 25]),
    (6, 25, &[1, 1, 5, 5, 19, 61]),
    (7, 1, &[1, 3, 7, 11, 23, 15, 103]),
    (7, 4, &[1, 3, 7, 13, 13, 15, 69]),
];

/// As many parameters as it can vary.
pub const MOST_DIMENSIONS: usize = DIRECTIONS.len() + 1;

/// As many points as it has.
pub const MOST_POINTS: u64 = 1 << 32;

/// Direction numbers of one dimension, as fractions of 2³².
fn directions(dimension: usize) -> [u32; 32] {
    let mut v = [0u32; 32];
    if dimension == 0 {
        for (i, v) in v.iter_mut().enumerate() {
            *v = 1 << (31 - i);
        }
        return v;
    }
    let (degree, inner, first) = DIRECTIONS[dimension - 1];
    let s = degree as usize;
    for i in 0..32 {
        v[i] = if i < s {
            first[i] << (31 - i)
        } else {
            let mut new = v[i - s] ^ (v[i - s] >> degree);
            for k in 1..s {
                if inner >> (s - 1 - k) & 1 == 1 {
                    new ^= v[i - k];
                }
            }
            new
        };
    }
    v
}

/// A sequence in some dimensions, shifted by a seed.
#[derive(Clone, Debug)]
pub struct Sobol {
    directions: Vec<[u32; 32]>,
    shifts: Vec<u32>,
}

impl Sobol {
    /// A sequence in at most [`MOST_DIMENSIONS`]; the seed shifts it as a whole (by exclusive or),
    /// which keeps it even.
    pub fn new(dimensions: usize, seed: u64) -> Self {
        let count = dimensions.min(MOST_DIMENSIONS);
        Self {
            directions: (0..count).map(directions).collect(),
            shifts: (0..count).map(|d| bits(seed, Purpose::Shift, d, 0) as u32).collect(),
        }
    }

    /// Coordinate of a point, between 0 and 1, both excluded.
    pub fn coordinate(&self, dimension: usize, point: u64) -> f64 {
        let v = &self.directions[dimension];
        // Any point by itself, not from the one before: in the order of the Gray code.
        let gray = point ^ (point >> 1);
        let sum = (0..32).filter(|i| gray >> i & 1 == 1).fold(0, |sum, i| sum ^ v[i]);
        (f64::from(sum ^ self.shifts[dimension]) + 0.5) * (1.0 / 4_294_967_296.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first 2ᵏ points of a digital sequence lie one in each of 2ᵏ layers.
    #[test]
    fn every_layer_of_every_dimension_holds_one_point() {
        let sobol = Sobol::new(MOST_DIMENSIONS, 5);
        for dimension in 0..MOST_DIMENSIONS {
            for count in [2, 16, 256] {
                let mut seen = vec![false; count];
                for point in 0..count as u64 {
                    let layer = (sobol.coordinate(dimension, point) * count as f64) as usize;
                    assert!(!std::mem::replace(&mut seen[layer], true), "{dimension} {count}");
                }
            }
        }
    }

    /// Pairs of the first dimensions fill the boxes of a 16 × 16 grid evenly.
    #[test]
    fn pairs_of_dimensions_fill_the_square() {
        let sobol = Sobol::new(8, 1);
        for a in 0..8 {
            for b in 0..a {
                let mut boxes = [0; 256];
                for point in 0..4096 {
                    let cell = |d| (sobol.coordinate(d, point) * 16.0) as usize;
                    boxes[cell(a) * 16 + cell(b)] += 1;
                }
                assert!(boxes.iter().all(|&n| n == 16), "{a} {b}");
            }
        }
    }

    #[test]
    fn integrates_a_smooth_function_far_better_than_chance() {
        let sobol = Sobol::new(4, 0);
        let mean: f64 =
            (0..4096).map(|k| (0..4).map(|d| sobol.coordinate(d, k)).product::<f64>()).sum::<f64>()
                / 4096.0;
        assert!((mean - 1.0 / 16.0).abs() < 2e-4, "{mean}");
    }

    #[test]
    fn polynomials_are_primitive() {
        for (degree, inner, _) in DIRECTIONS {
            // x generates all 2ˢ − 1 powers modulo the polynomial, and no fewer.
            let polynomial = 1u64 << degree | u64::from(*inner) << 1 | 1;
            let (mut power, mut order) = (2u64, 1u64);
            let reduce = |p: u64| if p >> degree & 1 == 1 { p ^ polynomial } else { p };
            power = reduce(power);
            while power != 1 {
                power = reduce(power << 1);
                order += 1;
                assert!(order < 1 << degree);
            }
            assert_eq!(order, (1 << degree) - 1);
        }
    }
}
