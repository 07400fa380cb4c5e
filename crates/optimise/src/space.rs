//! What the coordinates of the unit cube stand for.

use crate::{Point, clamp};

/// How a coordinate is spread over its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// Evenly in the logarithm: for values whose order of magnitude is sought.
    Log,
}

/// Which values a variable takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Variable {
    /// Everything between two values.
    Continuous {
        /// The least.
        low: f64,
        /// The largest.
        high: f64,
        /// How it is spread.
        scale: Scale,
    },
    /// Whole multiples of a unit between two of them.
    Integer {
        /// The least, in units.
        low: i64,
        /// The largest, in units.
        high: i64,
        /// What one is.
        unit: f64,
    },
    /// One of these, in rising order.
    Catalogue(Vec<f64>),
}

impl Variable {
    /// How many values it takes; `None` for all between two.
    pub fn levels(&self) -> Option<usize> {
        match self {
            Self::Continuous { .. } => None,
            Self::Integer { low, high, .. } => Some((high - low + 1).max(1) as usize),
            Self::Catalogue(values) => Some(values.len()),
        }
    }

    /// The value at a coordinate. The ends are met exactly.
    pub fn decode(&self, u: f64) -> f64 {
        let u = clamp(u);
        let level = |count: usize| ((u * count as f64) as usize).min(count - 1);
        match self {
            Self::Continuous { low, high, .. } if u == 0.0 || low == high => *low,
            Self::Continuous { high, .. } if u == 1.0 => *high,
            Self::Continuous { low, high, scale: Scale::Linear } => low + (high - low) * u,
            Self::Continuous { low, high, scale: Scale::Log } => {
                (low * libm::exp(u * libm::log(high / low))).clamp(*low, *high)
            }
            Self::Integer { low, unit, .. } => {
                (low + level(self.levels().unwrap_or(1)) as i64) as f64 * unit
            }
            Self::Catalogue(values) => values[level(values.len())],
        }
    }

    /// A coordinate of a value, the nearest one where it is out of range or between two levels.
    pub fn encode(&self, value: f64) -> f64 {
        let middle = |index: usize, count: usize| (index as f64 + 0.5) / count as f64;
        clamp(match self {
            Self::Continuous { low, high, .. } if low == high => 0.5,
            Self::Continuous { low, high, scale: Scale::Linear } => (value - low) / (high - low),
            Self::Continuous { low, high, scale: Scale::Log } => {
                libm::log(value.max(*low) / low) / libm::log(high / low)
            }
            Self::Integer { low, high, unit } => {
                let index = ((value / unit).round() as i64).clamp(*low, *high) - low;
                middle(index as usize, self.levels().unwrap_or(1))
            }
            Self::Catalogue(values) => {
                let far = |&i: &usize, &j: &usize| {
                    (values[i] - value).abs().total_cmp(&(values[j] - value).abs())
                };
                middle((0..values.len()).min_by(far).unwrap_or(0), values.len())
            }
        })
    }
}

/// What all coordinates stand for.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Space {
    /// One for each coordinate.
    pub variables: Vec<Variable>,
}

impl Space {
    /// Variables that take everything between 0 and 1.
    pub fn unit(dimensions: usize) -> Self {
        let one = Variable::Continuous { low: 0.0, high: 1.0, scale: Scale::Linear };
        Self { variables: vec![one; dimensions] }
    }

    /// How many coordinates.
    pub fn dimensions(&self) -> usize {
        self.variables.len()
    }

    /// The values at a point.
    pub fn decode(&self, point: &[f64]) -> Vec<f64> {
        self.variables.iter().zip(point).map(|(variable, &u)| variable.decode(u)).collect()
    }

    /// A point with these values.
    pub fn encode(&self, values: &[f64]) -> Point {
        self.variables.iter().zip(values).map(|(variable, &x)| variable.encode(x)).collect()
    }

    /// Steps of a coordinate smaller than this may change nothing; 0 where each one counts.
    pub fn resolution(&self, coordinate: usize) -> f64 {
        self.variables[coordinate].levels().map_or(0.0, |count| 1.0 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_range_are_met_exactly() {
        for scale in [Scale::Linear, Scale::Log] {
            let one = Variable::Continuous { low: 0.1, high: 0.7, scale };
            assert_eq!((one.decode(0.0), one.decode(1.0)), (0.1, 0.7));
            assert_eq!((one.decode(-1.0), one.decode(2.0)), (0.1, 0.7));
            for x in [0.1, 0.2, 0.5, 0.7] {
                assert!((one.decode(one.encode(x)) - x).abs() < 1e-15);
            }
        }
        let decades = Variable::Continuous { low: 1e-3, high: 1e3, scale: Scale::Log };
        assert!((decades.decode(0.5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn levels_are_all_met_and_come_back() {
        let whole = Variable::Integer { low: -2, high: 3, unit: 0.5 };
        let found: Vec<f64> = (0..6).map(|i| whole.decode((i as f64 + 0.5) / 6.0)).collect();
        assert_eq!(found, [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5]);
        let sizes = Variable::Catalogue(vec![28.0, 45.0, 56.0]);
        for x in [28.0, 45.0, 56.0] {
            assert_eq!(sizes.decode(sizes.encode(x)), x);
        }
        assert_eq!(sizes.decode(sizes.encode(50.0)), 45.0);
        assert_eq!(sizes.decode(1.0), 56.0);
    }
}
