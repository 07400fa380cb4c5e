//! The singular value decomposition of small matrices, the same bits on every machine.

/// A = U·diag(σ)·Vᵀ, with the singular values in falling order.
#[derive(Clone, Debug)]
pub struct Svd {
    /// The left vectors, one after the other; zero where σ is.
    pub u: Vec<Vec<f64>>,
    /// Singular values.
    pub sigma: Vec<f64>,
    /// The right vectors, one after the other.
    pub v: Vec<Vec<f64>>,
}

/// The product of two vectors.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Decomposes a matrix of columns by rotations of pairs of columns (Hestenes 1958), which finds small
/// singular values to high relative accuracy. Eigenvalues and vectors of a symmetric positive matrix
/// are its singular values and vectors.
pub fn svd(columns: &[Vec<f64>]) -> Svd {
    let n = columns.len();
    let mut a: Vec<Vec<f64>> = columns.to_vec();
    let mut v: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    const SWEEPS: usize = 60;
    for _ in 0..SWEEPS {
        let mut is_orthogonal = true;
        for p in 0..n {
            for q in p + 1..n {
                let (alpha, beta, gamma) =
                    (dot(&a[p], &a[p]), dot(&a[q], &a[q]), dot(&a[p], &a[q]));
                if gamma.abs() <= 1e-15 * (alpha * beta).sqrt() || gamma == 0.0 {
                    continue;
                }
                is_orthogonal = false;
                let zeta = (beta - alpha) / (2.0 * gamma);
                let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let c = 1.0 / (1.0 + t * t).sqrt();
                let s = c * t;
                for matrix in [&mut a, &mut v] {
                    let (left, right) = matrix.split_at_mut(q);
                    for (x, y) in left[p].iter_mut().zip(&mut right[0]) {
                        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                    }
                }
            }
        }
        if is_orthogonal {
            break;
        }
    }
    let norms: Vec<f64> = a.iter().map(|column| dot(column, column).sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| norms[j].total_cmp(&norms[i]));
    let unit = |i: usize| {
        let scale = if norms[i] > 0.0 { 1.0 / norms[i] } else { 0.0 };
        a[i].iter().map(|x| x * scale).collect()
    };
    Svd {
        u: order.iter().map(|&i| unit(i)).collect(),
        sigma: order.iter().map(|&i| norms[i]).collect(),
        v: order.iter().map(|&i| v[i].clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_product_of_the_parts_is_the_matrix() {
        let mut random = Random::new(3);
        let columns: Vec<Vec<f64>> =
            (0..6).map(|_| (0..9).map(|_| random.normal()).collect()).collect();
        let Svd { u, sigma, v } = svd(&columns);
        for j in 0..6 {
            for i in 0..9 {
                let product: f64 = (0..6).map(|k| u[k][i] * sigma[k] * v[k][j]).sum();
                assert!((product - columns[j][i]).abs() < 1e-13);
            }
        }
        for a in 0..6 {
            for b in 0..6 {
                let expected = f64::from(u8::from(a == b));
                assert!((dot(&u[a], &u[b]) - expected).abs() < 1e-13);
                assert!((dot(&v[a], &v[b]) - expected).abs() < 1e-13);
            }
        }
    }

    /// The Hilbert matrix of order 5: its smallest eigenvalue is 3.287 928 772 171 7e-6 (Fettis and
    /// Caslin, tables).
    #[test]
    fn eigenvalues_of_the_hilbert_matrix_are_those_of_the_tables() {
        let columns: Vec<Vec<f64>> =
            (0..5).map(|i| (0..5).map(|j| 1.0 / (i + j + 1) as f64).collect()).collect();
        let sigma = svd(&columns).sigma;
        assert!((sigma[0] - 1.567_050_691_098_2).abs() < 1e-12, "{sigma:?}");
        assert!((sigma[4] - 3.287_928_772_171_7e-6).abs() < 1e-15, "{sigma:?}");
    }

    #[test]
    fn a_column_of_zeros_has_no_singular_value() {
        let found = svd(&[vec![1.0, 1.0], vec![0.0, 0.0]]);
        assert_eq!(found.sigma[1], 0.0);
        assert_eq!(found.v[1], [0.0, 1.0]);
    }
}
