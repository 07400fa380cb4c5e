//! Small dense systems of equations, for clusters.

/// A factorised matrix.
#[derive(Clone, Debug, Default)]
pub struct Factors {
    size: usize,
    values: Vec<f64>,
    swaps: Vec<usize>,
}

impl Factors {
    /// Room for a matrix of a size.
    pub fn new(size: usize) -> Self {
        Self { size, values: vec![0.0; size * size], swaps: vec![0; size] }
    }

    /// The matrix to be factorised, row by row.
    pub fn matrix(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Gaussian elimination with partial pivoting; false when the matrix is singular.
    pub fn factorise(&mut self) -> bool {
        let (n, a) = (self.size, &mut self.values);
        for column in 0..n {
            let size = |row: usize| a[row * n + column].abs();
            let pivot = (column..n)
                .fold(column, |best, row| if size(row) > size(best) { row } else { best });
            self.swaps[column] = pivot;
            if size(pivot) == 0.0 || !size(pivot).is_finite() {
                return false;
            }
            if pivot != column {
                for j in 0..n {
                    a.swap(pivot * n + j, column * n + j);
                }
            }
            let inverse = 1.0 / a[column * n + column];
            for row in column + 1..n {
                let factor = a[row * n + column] * inverse;
                a[row * n + column] = factor;
                for j in column + 1..n {
                    a[row * n + j] -= factor * a[column * n + j];
                }
            }
        }
        true
    }

    /// Solves for a right side, in place.
    pub fn solve(&self, b: &mut [f64]) {
        let (n, a) = (self.size, &self.values);
        for column in 0..n {
            b.swap(column, self.swaps[column]);
        }
        for row in 1..n {
            for j in 0..row {
                b[row] -= a[row * n + j] * b[j];
            }
        }
        for row in (0..n).rev() {
            for j in row + 1..n {
                b[row] -= a[row * n + j] * b[j];
            }
            b[row] /= a[row * n + row];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_that_needs_pivots_is_solved() {
        let matrix = [0.0, 2.0, 1.0, 1.0, 1.0, 0.0, 4.0, 0.0, 3.0];
        let x = [1.0, -2.0, 3.0];
        let mut b: Vec<f64> =
            (0..3).map(|i| (0..3).map(|j| matrix[3 * i + j] * x[j]).sum()).collect();
        let mut factors = Factors::new(3);
        factors.matrix().copy_from_slice(&matrix);
        assert!(factors.factorise());
        factors.solve(&mut b);
        assert!(b.iter().zip(x).all(|(b, x)| (b - x).abs() < 1e-14));
    }
}
