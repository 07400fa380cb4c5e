//! The matrix of every implicit step, I − a·∂f/∂x, factorised.

pub mod dense;
pub mod sparse;

use crate::system::{Pattern, System};
use dense::Dense;
use sparse::Sparse;

/// Up to this many states the dense factorisation is used: it skips multipliers that are zero, and
/// its memory (13 kB) stays in the fastest cache.
pub const LARGEST_DENSE: usize = 40;

/// I − a·J, factorised, for a J of constant pattern.
///
/// Pressures in pascals stand next to positions in metres. The unknowns are therefore measured in
/// units of [`System::nominal`], N⁻¹·(I − a·J)·N, so that the choice of pivots compares like with
/// like.
#[derive(Debug)]
pub struct Shifted {
    pattern: Pattern,
    nominal: Vec<f64>,
    // n_column/n_row of each entry.
    ratio: Vec<f64>,
    factors: Factors,
}

#[derive(Debug)]
enum Factors {
    Dense(Dense),
    Sparse(Box<Sparse>),
}

/// A matrix without an inverse: the column at which that showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Singular(pub usize);

impl Shifted {
    /// Room for the matrix of a system; the pattern is analysed once.
    pub fn new(system: &dyn System) -> Self {
        let nominal = (0..system.size()).map(|i| system.nominal(i)).collect();
        Self::with(system.pattern().clone(), nominal, LARGEST_DENSE)
    }

    /// As [`Shifted::new`], dense up to so many states.
    pub fn with(pattern: Pattern, nominal: Vec<f64>, largest_dense: usize) -> Self {
        let size = pattern.size();
        // Zero or nonsense would make every entry so.
        let nominal: Vec<f64> =
            nominal.iter().map(|&n| if n > 0.0 && n.is_finite() { n } else { 1.0 }).collect();
        let mut ratio = vec![0.0; pattern.len()];
        for column in 0..size {
            for place in pattern.column(column) {
                ratio[place] = nominal[column] / nominal[pattern.rows()[place]];
            }
        }
        let sparse = if size > largest_dense { Sparse::new(&pattern) } else { None };
        let factors = match sparse {
            Some(sparse) => Factors::Sparse(Box::new(sparse)),
            None => Factors::Dense(Dense::new(size)),
        };
        Self { pattern, nominal, ratio, factors }
    }

    /// Factorises I − a·J.
    pub fn factorise(&mut self, a: f64, jacobian: &[f64]) -> Result<(), Singular> {
        let Self { pattern, ratio, factors, .. } = self;
        match factors {
            Factors::Dense(dense) => {
                dense.clear();
                let size = pattern.size();
                let entries = dense.entries();
                for column in 0..size {
                    entries[column * size + column] = 1.0;
                    for place in pattern.column(column) {
                        let row = pattern.rows()[place];
                        entries[row * size + column] -= a * ratio[place] * jacobian[place];
                    }
                }
                dense.factorise()
            }
            Factors::Sparse(sparse) => sparse.factorise(a, ratio, jacobian),
        }
    }

    /// Solves (I − a·J)·x = b in place. What is not finite in the factors shows in the solution.
    pub fn solve(&mut self, b: &mut [f64]) {
        for (b, n) in b.iter_mut().zip(&self.nominal) {
            *b /= n;
        }
        match &mut self.factors {
            Factors::Dense(dense) => dense.solve(b),
            Factors::Sparse(sparse) => sparse.solve(b),
        }
        for (b, n) in b.iter_mut().zip(&self.nominal) {
            *b *= n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }

    /// A chain of states with units from 1e-9 to 1e9, each tied to its neighbours.
    fn chain(size: usize) -> (Pattern, Vec<f64>, Vec<f64>) {
        let mut seed = 7;
        let entries = (0..size).flat_map(|i| {
            [Some((i, i)), (i > 0).then(|| (i, i - 1)), (i + 1 < size).then_some((i, i + 1))]
                .into_iter()
                .flatten()
        });
        let pattern = Pattern::new(size, entries);
        let nominal: Vec<f64> = (0..size).map(|_| 10f64.powf(18.0 * noise(&mut seed))).collect();
        let mut jacobian = vec![0.0; pattern.len()];
        for column in 0..size {
            for place in pattern.column(column) {
                let row = pattern.rows()[place];
                let own = if row == column { -3.0 } else { noise(&mut seed) };
                jacobian[place] = own * nominal[row] / nominal[column];
            }
        }
        (pattern, nominal, jacobian)
    }

    /// (I − a·J)·x − b in units of nominal, against the size of its terms: rounding of an
    /// elimination whose multipliers stay below 1 is some units in the last place per state.
    fn worst_residual(size: usize, largest_dense: usize) -> f64 {
        let (pattern, nominal, jacobian) = chain(size);
        let mut matrix = Shifted::with(pattern.clone(), nominal.clone(), largest_dense);
        let mut seed = 11;
        let mut worst: f64 = 0.0;
        for a in [1e-3, 0.7, 1e3] {
            matrix.factorise(a, &jacobian).unwrap();
            let b: Vec<f64> = nominal.iter().map(|n| n * noise(&mut seed)).collect();
            let mut x = b.clone();
            matrix.solve(&mut x);
            let mut left: Vec<f64> = x.iter().zip(&b).map(|(x, b)| x - b).collect();
            for column in 0..size {
                for place in pattern.column(column) {
                    left[pattern.rows()[place]] -= a * jacobian[place] * x[column];
                }
            }
            for i in 0..size {
                worst = worst.max(left[i].abs() / nominal[i]);
            }
        }
        worst
    }

    #[test]
    fn a_dense_solution_satisfies_its_equations_whatever_the_units() {
        let worst = worst_residual(30, 40);
        assert!(worst < 30.0 * 4.0 * f64::EPSILON, "{worst:e}");
    }

    #[test]
    fn a_sparse_solution_satisfies_its_equations_whatever_the_units() {
        let worst = worst_residual(300, 40);
        assert!(worst < 300.0 * 4.0 * f64::EPSILON, "{worst:e}");
    }

    #[test]
    fn dense_and_sparse_agree() {
        let (pattern, nominal, jacobian) = chain(60);
        let mut dense = Shifted::with(pattern.clone(), nominal.clone(), 100);
        let mut sparse = Shifted::with(pattern, nominal.clone(), 10);
        dense.factorise(0.3, &jacobian).unwrap();
        sparse.factorise(0.3, &jacobian).unwrap();
        let (mut x, mut y) = (nominal.clone(), nominal.clone());
        dense.solve(&mut x);
        sparse.solve(&mut y);
        for i in 0..60 {
            assert!((x[i] - y[i]).abs() < 1e-13 * nominal[i], "{i}: {} {}", x[i], y[i]);
        }
    }

    #[test]
    fn a_singular_matrix_is_refused() {
        // I − 1·I = 0.
        let pattern = Pattern::new(2, [(0, 0), (1, 1)]);
        let mut matrix = Shifted::with(pattern, vec![1.0, 1.0], 40);
        assert_eq!(matrix.factorise(1.0, &[1.0, 1.0]), Err(Singular(0)));
        assert_eq!(matrix.factorise(1.0, &[0.5, f64::NAN]), Err(Singular(1)));
    }
}
