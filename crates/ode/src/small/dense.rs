//! Small dense equations without allocation.

/// Factors a row-major matrix in place, P·A = L·U with the largest pivot of each column. False when a
/// pivot vanishes or is not a number.
pub(super) fn factor(matrix: &mut [f64], pivots: &mut [usize]) -> bool {
    let size = pivots.len();
    for column in 0..size {
        let mut best = column;
        for row in column + 1..size {
            if matrix[row * size + column].abs() > matrix[best * size + column].abs() {
                best = row;
            }
        }
        pivots[column] = best;
        if best != column {
            for j in 0..size {
                matrix.swap(best * size + j, column * size + j);
            }
        }
        let pivot = matrix[column * size + column];
        if pivot == 0.0 || !pivot.is_finite() {
            return false;
        }
        for row in column + 1..size {
            let factor = matrix[row * size + column] / pivot;
            matrix[row * size + column] = factor;
            if factor != 0.0 {
                for j in column + 1..size {
                    matrix[row * size + j] -= factor * matrix[column * size + j];
                }
            }
        }
    }
    true
}

/// A·x = b with the factors; b becomes x.
pub(super) fn solve(factors: &[f64], pivots: &[usize], b: &mut [f64]) {
    let size = pivots.len();
    // Whole rows were swapped, multipliers too, so all swaps come first.
    for row in 0..size {
        b.swap(row, pivots[row]);
    }
    for row in 1..size {
        for j in 0..row {
            b[row] -= factors[row * size + j] * b[j];
        }
    }
    for row in (0..size).rev() {
        for j in row + 1..size {
            b[row] -= factors[row * size + j] * b[j];
        }
        b[row] /= factors[row * size + row];
    }
}

#[cfg(test)]
mod tests {
    use super::{factor, solve};

    #[test]
    fn a_matrix_that_needs_every_swap_is_solved() {
        let matrix = [0.0, 2.0, 1.0, 1.0, 0.0, 3.0, 4.0, 1.0, 0.0];
        let x = [1.0, -2.0, 0.5];
        let mut b: Vec<f64> =
            (0..3).map(|i| (0..3).map(|j| matrix[3 * i + j] * x[j]).sum()).collect();
        let (mut factors, mut pivots) = (matrix, [0; 3]);
        assert!(factor(&mut factors, &mut pivots));
        solve(&factors, &pivots, &mut b);
        for (found, expected) in b.iter().zip(x) {
            assert!((found - expected).abs() < 1e-15);
        }
        assert!(!factor(&mut [1.0, 2.0, 2.0, 4.0], &mut [0; 2]));
    }
}
