//! LU factors of a small matrix, row by row, with partial pivoting.

use super::Singular;

/// A square matrix and, once factorised, its LU factors in the same place.
#[derive(Clone, Debug)]
pub struct Dense {
    size: usize,
    entries: Vec<f64>,
    // Row that was exchanged with each row in turn.
    exchanged: Vec<usize>,
}

impl Dense {
    /// A matrix of zeros.
    pub fn new(size: usize) -> Self {
        Self { size, entries: vec![0.0; size * size], exchanged: vec![0; size] }
    }

    /// Sets every entry to zero.
    pub fn clear(&mut self) {
        self.entries.fill(0.0);
    }

    /// The entries, row by row.
    pub fn entries(&mut self) -> &mut [f64] {
        &mut self.entries
    }

    /// Replaces the entries by the factors.
    pub fn factorise(&mut self) -> Result<(), Singular> {
        let n = self.size;
        for k in 0..n {
            let mut pivot_row = k;
            let mut largest = self.entries[k * n + k].abs();
            for row in k + 1..n {
                let candidate = self.entries[row * n + k].abs();
                if candidate > largest {
                    (pivot_row, largest) = (row, candidate);
                }
            }
            if !(largest > 0.0 && largest.is_finite()) {
                return Err(Singular(k));
            }
            self.exchanged[k] = pivot_row;
            if pivot_row != k {
                for column in 0..n {
                    self.entries.swap(k * n + column, pivot_row * n + column);
                }
            }
            let inverse = 1.0 / self.entries[k * n + k];
            let (upper, lower) = self.entries.split_at_mut((k + 1) * n);
            let pivot = &upper[k * n + k + 1..];
            for row in lower.chunks_exact_mut(n) {
                // Circuits are sparse: most multipliers are zero.
                if row[k] == 0.0 {
                    continue;
                }
                let multiplier = row[k] * inverse;
                row[k] = multiplier;
                for (entry, above) in row[k + 1..].iter_mut().zip(pivot) {
                    *entry -= multiplier * above;
                }
            }
        }
        Ok(())
    }

    /// Solves in place with the factors.
    pub fn solve(&self, b: &mut [f64]) {
        let n = self.size;
        // Whole rows were exchanged, multipliers too: so all exchanges come first.
        for k in 0..n {
            b.swap(k, self.exchanged[k]);
        }
        for row in 1..n {
            let factors = &self.entries[row * n..row * n + row];
            let known: f64 = factors.iter().zip(&b[..row]).map(|(l, b)| l * b).sum();
            b[row] -= known;
        }
        for row in (0..n).rev() {
            let factors = &self.entries[row * n + row..(row + 1) * n];
            let known: f64 = factors[1..].iter().zip(&b[row + 1..]).map(|(u, b)| u * b).sum();
            b[row] = (b[row] - known) / factors[0];
        }
    }
}
