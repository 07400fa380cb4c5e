//! LU factors of a large sparse matrix; the order of elimination is chosen once.
//!
//! The matrices of circuits have a handful of entries per row and no dense blocks, which the
//! column-by-column factorisation of `faer` suits better than its supernodal one.

use super::Singular;
use crate::system::Pattern;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::lu::{
    LuRef, LuSymbolicParams, NumericLu, SymbolicLu, factorize_symbolic_lu,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par};
use std::fmt;

/// I − a·J with a constant pattern.
pub struct Sparse {
    starts: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
    // Where each entry of J goes, and where the ones of I go.
    places: Vec<usize>,
    diagonal: Vec<usize>,
    symbolic: SymbolicLu<usize>,
    numeric: NumericLu<usize, f64>,
    scratch: MemBuffer,
}

impl fmt::Debug for Sparse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sparse").field("size", &self.diagonal.len()).finish_non_exhaustive()
    }
}

impl Sparse {
    /// Analyses the pattern of J; none when memory is short.
    pub fn new(pattern: &Pattern) -> Option<Self> {
        let size = pattern.size();
        let entries = (0..size).flat_map(|column| {
            let rows = pattern.column(column).map(|place| pattern.rows()[place]);
            rows.map(move |row| (row, column)).chain([(column, column)])
        });
        let whole = Pattern::new(size, entries);
        let mut places = Vec::with_capacity(pattern.len());
        for column in 0..size {
            for place in pattern.column(column) {
                places.push(whole.find(pattern.rows()[place], column)?);
            }
        }
        let diagonal = (0..size).map(|i| whole.find(i, i)).collect::<Option<Vec<_>>>()?;
        let (starts, rows) = (whole.starts().to_vec(), whole.rows().to_vec());
        let symbolic = factorize_symbolic_lu(
            SymbolicSparseColMatRef::new_checked(size, size, &starts, None, &rows),
            LuSymbolicParams {
                supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SIMPLICIAL,
                ..Default::default()
            },
        )
        .ok()?;
        let scratch = MemBuffer::try_new(StackReq::any_of(&[
            symbolic.factorize_numeric_lu_scratch::<f64>(Par::Seq, Default::default()),
            symbolic.solve_in_place_scratch::<f64>(1, Par::Seq),
        ]))
        .ok()?;
        let mut sparse = Self {
            values: vec![0.0; rows.len()],
            starts,
            rows,
            places,
            diagonal,
            symbolic,
            numeric: NumericLu::new(),
            scratch,
        };
        // The factors get their memory now, by a matrix that fills every place.
        sparse.factorise(-0.01, &vec![1.0; pattern.len()], &vec![1.0; pattern.len()]).ok()?;
        Some(sparse)
    }

    /// Factorises I − a·J, each entry of J multiplied by its ratio.
    pub fn factorise(&mut self, a: f64, ratio: &[f64], jacobian: &[f64]) -> Result<(), Singular> {
        self.values.fill(0.0);
        for &place in &self.diagonal {
            self.values[place] = 1.0;
        }
        for entry in 0..jacobian.len() {
            self.values[self.places[entry]] -= a * ratio[entry] * jacobian[entry];
        }
        if let Some(at) = self.values.iter().position(|v| !v.is_finite()) {
            return Err(Singular(self.starts.partition_point(|&start| start <= at) - 1));
        }
        let size = self.diagonal.len();
        let matrix = SparseColMatRef::new(
            SymbolicSparseColMatRef::new_checked(size, size, &self.starts, None, &self.rows),
            &self.values,
        );
        self.symbolic
            .factorize_numeric_lu(
                &mut self.numeric,
                matrix,
                Par::Seq,
                MemStack::new(&mut self.scratch),
                Default::default(),
            )
            .map(|_| ())
            .map_err(|_| Singular(0))
    }

    /// Solves in place with the factors.
    pub fn solve(&mut self, b: &mut [f64]) {
        let size = b.len();
        LuRef::new_unchecked(&self.symbolic, &self.numeric).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(b, size, 1),
            Par::Seq,
            MemStack::new(&mut self.scratch),
        );
    }
}
