//! A linear system with delays: its response, its poles and zeros.

use crate::eigen::{self, Dense};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::lu::{
    LuRef, LuSymbolicParams, NumericLu, SymbolicLu, factorize_symbolic_lu,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, c64};
use nalgebra::Complex;
use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};

/// r_j(k) = X_row(j)(k − age(j)),  X = entries·r + input·u,  y = outputs·r + direct·u
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// T, s.
    pub step: f64,
    /// How many steps old each old value is, at least 1.
    pub ages: Vec<u32>,
    /// What each is an old value of; those with the same are the same signal at different times.
    pub rows: Vec<usize>,
    /// What the number that old value i comes from gets from old value j: (i, j, slope).
    pub entries: Vec<(usize, usize, f64)>,
    /// What it gets from the input.
    pub input: Vec<f64>,
    /// What each output gets from old values.
    pub outputs: Vec<Vec<(usize, f64)>>,
    /// What it gets from the input at once.
    pub direct: Vec<f64>,
}

/// States, delays written out, up to which poles and zeros are looked for.
pub const MOST_STATES: usize = 700;

/// A root of numerator or denominator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// In the plane of z.
    pub z: Complex<f64>,
    /// ln(z)/T, 1/s.
    pub s: Complex<f64>,
}

impl Root {
    fn new(z: Complex<f64>, step: f64) -> Self {
        Self { z, s: z.ln() / step }
    }

    /// |s|, rad/s.
    pub fn natural_frequency(&self) -> f64 {
        self.s.norm()
    }

    /// −Re s/|s|.
    pub fn damping_ratio(&self) -> f64 {
        -self.s.re / self.s.norm()
    }
}

impl System {
    /// Half the sampling rate, Hz.
    pub fn nyquist(&self) -> f64 {
        0.5 / self.step
    }

    /// Old values that it remembers, delays counted once.
    pub fn size(&self) -> usize {
        self.ages.len()
    }

    /// States with delays written out, one for each step of delay.
    pub fn order(&self) -> usize {
        self.chains().values().map(|&age| age as usize).sum()
    }

    /// The longest delay of each signal that is remembered.
    fn chains(&self) -> BTreeMap<usize, u32> {
        let mut chains = BTreeMap::new();
        for (&row, &age) in self.rows.iter().zip(&self.ages) {
            let longest = chains.entry(row).or_insert(age);
            *longest = age.max(*longest);
        }
        chains
    }

    /// A solver for responses.
    pub fn resolvent(&self) -> Resolvent<'_> {
        Resolvent::new(self)
    }

    /// What the outputs do, step by step, when the input goes from 0 to 1 at the first of them.
    pub fn step_response(&self, steps: usize) -> Vec<Vec<f64>> {
        let longest = self.ages.iter().copied().max().unwrap_or(1) as usize;
        let n = self.size();
        // X of the last steps, one after the other in a ring.
        let mut past = vec![vec![0.0; n]; longest];
        let mut responses = vec![Vec::with_capacity(steps); self.outputs.len()];
        let mut old = vec![0.0; n];
        for k in 0..steps {
            for (j, (old, &age)) in old.iter_mut().zip(&self.ages).enumerate() {
                *old = past[(k + longest - age as usize) % longest][j];
            }
            for (response, (entries, direct)) in
                responses.iter_mut().zip(self.outputs.iter().zip(&self.direct))
            {
                response.push(entries.iter().map(|&(j, c)| c * old[j]).sum::<f64>() + direct);
            }
            let new = &mut past[k % longest];
            new.copy_from_slice(&self.input);
            for &(i, j, slope) in &self.entries {
                new[i] += slope * old[j];
            }
        }
        responses
    }

    /// A, B and the rows of C, with a state for each step of delay; `None` when there are too many.
    fn written_out(&self) -> Option<(Dense, Vec<f64>, Vec<Vec<f64>>)> {
        if self.order() > MOST_STATES {
            return None;
        }
        let mut begins = BTreeMap::new();
        let mut size = 0;
        for (row, age) in self.chains() {
            begins.insert(row, size);
            size += age as usize;
        }
        let state = |j: usize| begins[&self.rows[j]] + self.ages[j] as usize - 1;
        let mut a = Dense::zeros(size, size);
        for (row, age) in self.chains() {
            let begin = begins[&row];
            for k in 1..age as usize {
                a[(begin + k, begin + k - 1)] = 1.0;
            }
        }
        // Old values of one signal get the same entries: they are set, not added.
        for &(i, j, slope) in &self.entries {
            a[(begins[&self.rows[i]], state(j))] = slope;
        }
        let mut b = vec![0.0; size];
        for (i, &slope) in self.input.iter().enumerate() {
            b[begins[&self.rows[i]]] = slope;
        }
        let outputs = self.outputs.iter().map(|entries| {
            let mut c = vec![0.0; size];
            entries.iter().for_each(|&(j, slope)| c[state(j)] += slope);
            c
        });
        Some((a, b, outputs.collect()))
    }

    /// The poles: motions that the circuit makes on its own, which the input starts and the outputs
    /// show. Those at z = 0 are delays and are left out. `None` when there are too many states.
    pub fn poles(&self) -> Option<Vec<Root>> {
        let (a, ..) = self.written_out()?;
        let all = eigen::eigenvalues(&a)?;
        Some(self.roots(all, 0))
    }

    /// The zeros of an output: where the response vanishes. `None` when there are too many states.
    ///
    /// With g = C·Aʳ⁻¹·B the first sample of the impulse response that is not zero (D for r = 0),
    /// zʳ·G(z) has the realisation (A, B, C·Aʳ, g), whose zeros are the eigenvalues of
    /// A − B·C·Aʳ/g; r of them are at z = 0.
    pub fn zeros(&self, output: usize) -> Option<Vec<Root>> {
        let (mut a, b, c) = self.written_out()?;
        let mut c = c.into_iter().nth(output)?;
        let mut first = self.direct[output];
        let mut delay = 0;
        let size = c.len();
        let times = |c: &[f64], a: &Dense| -> Vec<f64> {
            (0..size).map(|j| (0..size).map(|i| c[i] * a[(i, j)]).sum()).collect()
        };
        while first == 0.0 {
            if delay > size {
                return Some(Vec::new());
            }
            first = dot(&c, &b);
            // What cancels but for rounding is zero.
            let terms: f64 = c.iter().zip(&b).map(|(c, b)| (c * b).abs()).sum();
            if first.abs() <= 1e-12 * terms {
                first = 0.0;
            }
            c = times(&c, &a);
            delay += 1;
        }
        for i in (0..size).filter(|&i| b[i] != 0.0) {
            for j in (0..size).filter(|&j| c[j] != 0.0) {
                a[(i, j)] -= b[i] * c[j] / first;
            }
        }
        let all = eigen::eigenvalues(&a)?;
        Some(self.roots(all, delay))
    }

    /// Without those at the origin, of which so many are known; the slowest first.
    fn roots(&self, mut all: Vec<Complex<f64>>, at_origin: usize) -> Vec<Root> {
        all.sort_by(|a, b| a.norm().total_cmp(&b.norm()));
        let mut roots: Vec<Root> = all
            .into_iter()
            .skip(at_origin)
            .filter(|z| z.norm() > f64::MIN_POSITIVE)
            .map(|z| Root::new(z, self.step))
            .collect();
        let key = |root: &Root| (root.natural_frequency(), root.s.im);
        roots.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        roots
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves (diag(z^age) − entries)·r = input for one frequency after another.
pub struct Resolvent<'s> {
    system: &'s System,
    /// Pattern by columns, the diagonal included.
    starts: Vec<usize>,
    rows: Vec<usize>,
    /// −entries, scaled.
    fixed: Vec<c64>,
    values: Vec<c64>,
    diagonal: Vec<usize>,
    /// Scales of rows and columns: pressures and positions differ by ten orders.
    row_scale: Vec<f64>,
    column_scale: Vec<f64>,
    symbolic: Option<SymbolicLu<usize>>,
    numeric: NumericLu<usize, c64>,
    scratch: Option<MemBuffer>,
    /// The last solution.
    solution: Vec<c64>,
    residual: Vec<c64>,
}

impl std::fmt::Debug for Resolvent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolvent").field("size", &self.diagonal.len()).finish_non_exhaustive()
    }
}

impl<'s> Resolvent<'s> {
    fn new(system: &'s System) -> Self {
        let n = system.size();
        let mut columns: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); n];
        for (i, column) in columns.iter_mut().enumerate() {
            column.insert(i, 0.0);
        }
        for &(i, j, slope) in &system.entries {
            *columns[j].entry(i).or_insert(0.0) -= slope;
        }
        let (row_scale, column_scale) = equilibrate(&columns);
        let (mut starts, mut rows, mut fixed) = (vec![0], Vec::new(), Vec::new());
        let mut diagonal = vec![0; n];
        for (j, column) in columns.iter().enumerate() {
            for (&i, &value) in column {
                if i == j {
                    diagonal[j] = rows.len();
                }
                rows.push(i);
                fixed.push(c64::new(value * row_scale[i] * column_scale[j], 0.0));
            }
            starts.push(rows.len());
        }
        let symbolic = (n > 0).then(|| {
            let parameters = LuSymbolicParams {
                supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SIMPLICIAL,
                ..Default::default()
            };
            let pattern = SymbolicSparseColMatRef::new_checked(n, n, &starts, None, &rows);
            factorize_symbolic_lu(pattern, parameters).ok()
        });
        let symbolic = symbolic.flatten();
        let scratch = symbolic.as_ref().and_then(|symbolic| {
            MemBuffer::try_new(StackReq::any_of(&[
                symbolic.factorize_numeric_lu_scratch::<c64>(Par::Seq, Default::default()),
                symbolic.solve_in_place_scratch::<c64>(1, Par::Seq),
            ]))
            .ok()
        });
        Self {
            system,
            values: fixed.clone(),
            starts,
            rows,
            fixed,
            diagonal,
            row_scale,
            column_scale,
            symbolic,
            numeric: NumericLu::new(),
            scratch,
            solution: vec![c64::new(0.0, 0.0); n],
            residual: vec![c64::new(0.0, 0.0); n],
        }
    }

    /// The response of all outputs at a frequency, Hz: complex amplitudes for an input of amplitude 1.
    /// Not a number where the circuit has a pole right there.
    pub fn at(&mut self, frequency: f64) -> Vec<Complex<f64>> {
        let angle = TAU * frequency * self.system.step;
        self.at_z(Complex::new(angle.cos(), angle.sin()), angle)
    }

    fn at_z(&mut self, z: Complex<f64>, angle: f64) -> Vec<Complex<f64>> {
        let system = self.system;
        let n = system.size();
        let direct = || system.direct.iter().map(|&d| Complex::new(d, 0.0));
        if n == 0 {
            return direct().collect();
        }
        let nothing = || vec![Complex::new(f64::NAN, f64::NAN); system.outputs.len()];
        self.values.copy_from_slice(&self.fixed);
        for (i, &place) in self.diagonal.iter().enumerate() {
            // z^a by its angle, so that long delays do not add up rounding.
            let turned = match system.ages[i] {
                1 => z,
                age => {
                    let angle = (angle * f64::from(age)) % (2.0 * PI);
                    Complex::new(angle.cos(), angle.sin())
                }
            } * (self.row_scale[i] * self.column_scale[i]);
            self.values[place] += c64::new(turned.re, turned.im);
        }
        let (Some(symbolic), Some(scratch)) = (&self.symbolic, &mut self.scratch) else {
            return nothing();
        };
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &self.starts, None, &self.rows);
        let matrix = SparseColMatRef::new(pattern, &self.values);
        let factorised = symbolic.factorize_numeric_lu(
            &mut self.numeric,
            matrix,
            Par::Seq,
            MemStack::new(scratch),
            Default::default(),
        );
        if factorised.is_err() {
            return nothing();
        }
        let mut solve = |b: &mut [c64]| {
            LuRef::new_unchecked(symbolic, &self.numeric).solve_in_place_with_conj(
                Conj::No,
                MatMut::from_column_major_slice_mut(b, n, 1),
                Par::Seq,
                MemStack::new(scratch),
            );
        };
        for i in 0..n {
            self.solution[i] = c64::new(system.input[i] * self.row_scale[i], 0.0);
        }
        solve(&mut self.solution);
        // Once more with what is left.
        for i in 0..n {
            self.residual[i] = c64::new(system.input[i] * self.row_scale[i], 0.0);
        }
        for j in 0..n {
            for place in self.starts[j]..self.starts[j + 1] {
                self.residual[self.rows[place]] -= self.values[place] * self.solution[j];
            }
        }
        solve(&mut self.residual);
        for (solution, correction) in self.solution.iter_mut().zip(&self.residual) {
            *solution += *correction;
        }
        let old = |j: usize| {
            let r = self.solution[j] * c64::new(self.column_scale[j], 0.0);
            Complex::new(r.re, r.im)
        };
        let outputs = system.outputs.iter().zip(direct());
        outputs
            .map(|(entries, direct)| {
                entries.iter().map(|&(j, c)| old(j) * c).sum::<Complex<f64>>() + direct
            })
            .collect()
    }
}

/// Scales that bring the largest entry of each row and column near 1 (Ruiz 2001), as powers of two.
fn equilibrate(columns: &[BTreeMap<usize, f64>]) -> (Vec<f64>, Vec<f64>) {
    let n = columns.len();
    let (mut rows, mut cols) = (vec![1.0f64; n], vec![1.0f64; n]);
    let power = |x: f64| 2f64.powi(x.log2().round() as i32);
    for _ in 0..12 {
        let (mut row_max, mut col_max) = (vec![0.0f64; n], vec![0.0f64; n]);
        for (j, column) in columns.iter().enumerate() {
            for (&i, &value) in column {
                // The diagonal holds a power of z, of size 1, beside what is there.
                let size = (value.abs() + f64::from(u8::from(i == j))) * rows[i] * cols[j];
                row_max[i] = row_max[i].max(size);
                col_max[j] = col_max[j].max(size);
            }
        }
        for i in 0..n {
            rows[i] /= power(row_max[i].sqrt());
            cols[i] /= power(col_max[i].sqrt());
        }
    }
    (rows, cols)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y(k) = 1.6·y(k−1) − 0.8·y(k−2) + u(k−3) + 0.5·u(k−4), by hand: X₀ = u, X₁ = y.
    fn second_order() -> System {
        System {
            step: 0.01,
            ages: vec![3, 4, 1, 2],
            rows: vec![0, 0, 1, 1],
            entries: vec![
                (2, 0, 1.0),
                (2, 1, 0.5),
                (2, 2, 1.6),
                (2, 3, -0.8),
                (3, 0, 1.0),
                (3, 1, 0.5),
                (3, 2, 1.6),
                (3, 3, -0.8),
            ],
            input: vec![1.0, 1.0, 0.0, 0.0],
            outputs: vec![vec![(0, 1.0), (1, 0.5), (2, 1.6), (3, -0.8)]],
            direct: vec![0.0],
        }
    }

    #[test]
    fn the_response_is_the_transfer_function_on_the_unit_circle() {
        let system = second_order();
        let mut resolvent = system.resolvent();
        for frequency in [0.01, 0.7, 3.0, 12.5, 41.0, 49.9] {
            let z = Complex::new(0.0, TAU * frequency * 0.01).exp();
            let exact = (z + 0.5) / (z * z * (z * z - z * 1.6 + 0.8));
            let found = resolvent.at(frequency)[0];
            assert!((found - exact).norm() < 1e-13 * exact.norm(), "{frequency}: {found} {exact}");
        }
    }

    #[test]
    fn poles_and_zeros_are_the_roots_of_denominator_and_numerator() {
        let system = second_order();
        let poles = system.poles().unwrap();
        assert_eq!(poles.len(), 2);
        for pole in poles {
            let p = pole.z * pole.z - pole.z * 1.6 + 0.8;
            assert!(p.norm() < 1e-12, "{pole:?}");
        }
        let zeros = system.zeros(0).unwrap();
        let zeros: Vec<_> = zeros.iter().filter(|zero| zero.z.norm() > 1e-3).collect();
        assert_eq!(zeros.len(), 1);
        assert!((zeros[0].z + 0.5).norm() < 1e-12);
    }

    #[test]
    fn the_step_response_follows_the_recursion() {
        let system = second_order();
        let found = &system.step_response(50)[0];
        let mut y = vec![0.0; 50];
        for k in 0..50 {
            let u = |i: usize| if k >= i { 1.0 } else { 0.0 };
            let old = |i: usize| if k >= i { y[k - i] } else { 0.0 };
            y[k] = 1.6 * old(1) - 0.8 * old(2) + u(3) + 0.5 * u(4);
            assert!((found[k] - y[k]).abs() < 1e-12);
        }
    }
}
