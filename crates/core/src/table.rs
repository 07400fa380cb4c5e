//! Tabulated data: curves over one variable, maps over two.

use crate::number::Num;

/// Columns of numbers in SI units: knots and values of a curve, or a grid.
///
/// A curve has one row of `values`; a map has one row per entry of `rows`. Between knots it is
/// linear; beyond the ends the end value holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Increasing knots of the first variable (columns of a map).
    pub knots: Vec<f64>,
    /// Increasing knots of the second variable; empty for a curve.
    pub rows: Vec<f64>,
    /// Values, row by row.
    pub values: Vec<f64>,
}

impl Table {
    /// A curve through points.
    pub fn curve(knots: Vec<f64>, values: Vec<f64>) -> Self {
        Self { knots, rows: Vec::new(), values }
    }

    /// Value and slope of the curve at `x`.
    pub fn at(&self, x: f64) -> (f64, f64) {
        interpolate(&self.knots, &self.values, x)
    }

    /// The same where it is known how many knots are at `x` or before it.
    pub fn at_passed(&self, x: f64, passed: usize) -> (f64, f64) {
        interpolate_in(&self.knots, &self.values, x, || passed)
    }

    /// The curve at a number of any kind.
    #[inline(always)]
    pub fn along<T: Num>(&self, x: T) -> T {
        x.on_curve(&self.knots, &self.values)
    }

    /// Value and both slopes of the map at (`x`, `y`), `x` along the columns.
    pub fn at2(&self, x: f64, y: f64) -> (f64, f64, f64) {
        let n = self.knots.len();
        let row = |i: usize| interpolate(&self.knots, &self.values[i * n..(i + 1) * n], x);
        if self.rows.len() < 2 {
            let (value, slope) = row(0);
            return (value, slope, 0.0);
        }
        let (i, f, width) = locate(&self.rows, y);
        let ((v0, s0), (v1, s1)) = (row(i), row(i + 1));
        let by_y = if width > 0.0 { (v1 - v0) / width } else { 0.0 };
        (v0 + f * (v1 - v0), s0 + f * (s1 - s0), by_y)
    }
}

/// The interval that holds `x`: its index, the position in it (0…1) and its width, 0 outside.
fn locate(knots: &[f64], x: f64) -> (usize, f64, f64) {
    locate_in(knots, x, || knots.partition_point(|&k| k <= x))
}

/// The same, with how many knots are at `x` or before it.
#[inline(always)]
fn locate_in(knots: &[f64], x: f64, passed: impl FnOnce() -> usize) -> (usize, f64, f64) {
    let last = knots.len() - 1;
    if x.is_nan() || x <= knots[0] {
        return (0, 0.0, 0.0);
    }
    if x >= knots[last] {
        return (last - 1, 1.0, 0.0);
    }
    let i = passed() - 1;
    let width = knots[i + 1] - knots[i];
    (i, (x - knots[i]) / width, width)
}

pub(crate) fn interpolate(knots: &[f64], values: &[f64], x: f64) -> (f64, f64) {
    interpolate_in(knots, values, x, || knots.partition_point(|&k| k <= x))
}

#[inline(always)]
fn interpolate_in(
    knots: &[f64],
    values: &[f64],
    x: f64,
    passed: impl FnOnce() -> usize,
) -> (f64, f64) {
    if knots.len() < 2 {
        return (values.first().copied().unwrap_or(0.0), 0.0);
    }
    let (i, f, width) = locate_in(knots, x, passed);
    let rise = values[i + 1] - values[i];
    (values[i] + f * rise, if width > 0.0 { rise / width } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_is_linear_between_knots_and_held_beyond() {
        let curve = Table::curve(vec![0.0, 1.0, 3.0], vec![0.0, 10.0, 30.0]);
        assert_eq!(curve.at(2.0), (20.0, 10.0));
        assert_eq!(curve.at(-1.0), (0.0, 0.0));
        assert_eq!(curve.at(9.0), (30.0, 0.0));
        assert_eq!(curve.at(1.0), (10.0, 10.0));
        for (x, passed) in [(2.0, 2), (-1.0, 0), (9.0, 3), (1.0, 2), (0.0, 1), (3.0, 3)] {
            assert_eq!(curve.at_passed(x, passed), curve.at(x));
        }
    }

    #[test]
    fn map_reproduces_a_bilinear_function() {
        let f = |x: f64, y: f64| 1.0 + 2.0 * x + 3.0 * y + 4.0 * x * y;
        let (xs, ys) = (vec![0.0, 1.0, 2.0], vec![0.0, 0.5, 2.0]);
        let values = ys.iter().flat_map(|&y| xs.iter().map(move |&x| f(x, y))).collect();
        let map = Table { knots: xs, rows: ys, values };
        let (v, dx, dy) = map.at2(1.25, 0.75);
        assert!((v - f(1.25, 0.75)).abs() < 1e-12);
        assert!((dx - (2.0 + 4.0 * 0.75)).abs() < 1e-12);
        assert!((dy - (3.0 + 4.0 * 1.25)).abs() < 1e-12);
    }
}
