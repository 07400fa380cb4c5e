//! Stiffness of x' = f(t, x) at a point: the modes of the Jacobian J = ∂f/∂x.
//!
//! Each eigenvalue λ of J is a motion e^(λt) that the system can make on its own near the point:
//! time constant −1/Re λ, natural frequency |λ|, damping ratio −Re λ/|λ|. The ratio of the largest
//! to the smallest |λ| says how stiff the system is (Malysheva, thesis, LUT University, 2021,
//! eq. 2.33), the largest one how long a step an explicit method can take.
//!
//! Hydraulic Jacobians mix entries from 1e-8 to 1e14, and an eigenvalue solver that works on them as
//! they stand loses the slow modes. Three things prevent this: states are measured in their nominal
//! sizes; states that do not influence each other mutually are separated first, which is exact; each
//! remaining block is balanced (Parlett and Reinsch, Numerische Mathematik 13, 1969).

use nalgebra::linalg::balancing::balance_parlett_reinsch;
use nalgebra::{Complex, DMatrix, DVector, Schur};

/// What a mode does when left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Dies away.
    Decaying,
    /// Swings for ever: its damping is zero to rounding.
    Undamped,
    /// Grows: the point is unstable.
    Growing,
    /// Stays where it is: a position or an integral that nothing pulls back.
    Constant,
}

/// One eigenvalue, or a conjugate pair of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// Re λ, 1/s.
    pub real: f64,
    /// |Im λ|, rad/s; above zero for a pair.
    pub imaginary: f64,
    /// What it does.
    pub kind: Kind,
    /// The states that take part, the strongest first, with their shares: |l_i·r_i| of the left and
    /// right eigenvectors, divided by the sum over all states. They do not depend on units.
    pub participation: Vec<(usize, f64)>,
}

impl Mode {
    /// −1/Re λ, s: how fast it dies away; negative for one that grows, infinite for one that stays.
    pub fn time_constant(&self) -> f64 {
        if matches!(self.kind, Kind::Constant | Kind::Undamped) {
            f64::INFINITY
        } else {
            -1.0 / self.real
        }
    }

    /// |λ|, rad/s.
    pub fn natural_frequency(&self) -> f64 {
        self.real.hypot(self.imaginary)
    }

    /// |Im λ|, rad/s.
    pub fn damped_frequency(&self) -> f64 {
        self.imaginary
    }

    /// −Re λ/|λ|: 1 for one that does not swing, 0 for an undamped or constant one.
    pub fn damping_ratio(&self) -> f64 {
        match self.kind {
            Kind::Constant | Kind::Undamped => 0.0,
            Kind::Decaying | Kind::Growing => -self.real / self.natural_frequency(),
        }
    }

    /// Two eigenvalues in one.
    pub fn is_pair(&self) -> bool {
        self.imaginary > 0.0
    }

    /// The eigenvalues that it stands for: 1 or 2.
    pub fn multiplicity(&self) -> usize {
        if self.is_pair() { 2 } else { 1 }
    }
}

/// A solver whose step is bounded by the spectrum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplicitMethod {
    /// R(z) = 1 + z.
    Euler,
    /// R(z) = 1 + z + z²/2.
    Heun,
    /// Heun with the diagonal of the Jacobian taken implicitly (Malysheva, thesis, LUT University,
    /// 2021, eq. 4.13–4.14): a single state never limits it, couplings may.
    ModifiedHeun,
    /// R(z) = 1 + z + z²/2 + z³/6 + z⁴/24.
    RungeKutta4,
}

impl ExplicitMethod {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Euler, Self::Heun, Self::ModifiedHeun, Self::RungeKutta4];

    /// The largest r for which |R(ρ·e^(iφ))| ≤ 1 for all 0 < ρ ≤ r, where `real` and `imaginary`
    /// give the direction e^(iφ). Infinite where there is no limit, zero where no step is stable.
    ///
    /// [`ExplicitMethod::ModifiedHeun`] on a single eigenvalue is the trapezoidal rule,
    /// R(z) = (1 + z/2)/(1 − z/2): no limit in the left half-plane.
    pub fn stability_limit(self, real: f64, imaginary: f64) -> f64 {
        let size = real.hypot(imaginary);
        if size == 0.0 {
            return f64::INFINITY;
        }
        match self {
            Self::ModifiedHeun => return if real <= 0.0 { f64::INFINITY } else { 0.0 },
            // |R(iy)|² = 1 + y² and 1 + y⁴/4: the axis lies outside, which rounding would hide.
            Self::Euler | Self::Heun if real >= 0.0 => return 0.0,
            _ => {}
        }
        let direction = Complex::new(real / size, imaginary / size);
        let is_stable = |radius: f64| {
            let z = direction * radius;
            // R − 1, so that |R|² − 1 = 2·Re(R − 1) + |R − 1|² keeps its digits near zero.
            let excess = match self {
                Self::Euler | Self::ModifiedHeun => z,
                Self::Heun => z * (z / 2.0 + 1.0),
                Self::RungeKutta4 => z * (z * (z * (z / 24.0 + 1.0 / 6.0) + 0.5) + 1.0),
            };
            2.0 * excess.re + excess.norm_sqr() <= 0.0
        };
        // No region of these methods reaches further than 3 from the origin.
        const SCAN: f64 = 0.01;
        let first_unstable =
            (1..=400).map(|i| f64::from(i) * SCAN).find(|&r| !is_stable(r)).unwrap_or(4.0);
        let (mut stable, mut unstable) = (first_unstable - SCAN, first_unstable);
        while stable < 0.5 * (stable + unstable) && 0.5 * (stable + unstable) < unstable {
            let middle = 0.5 * (stable + unstable);
            if is_stable(middle) { stable = middle } else { unstable = middle }
        }
        stable
    }
}

/// How long a step may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StableStep {
    /// The longest step for which no mode that ought to die away grows, s; infinite without limit.
    pub step: f64,
    /// Which of the modes sets it; none where the limit is infinite, or comes from couplings and not
    /// from one mode ([`ExplicitMethod::ModifiedHeun`]).
    pub mode: Option<usize>,
    /// Eigenvalues that were left out: those that grow or stay by themselves, and undamped ones where
    /// the method has no stable step for them.
    pub ignored: usize,
}

/// Why there are no modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoModes {
    /// The matrix is not n×n for n nominal sizes.
    Shape,
    /// An entry is infinite or not a number: its row and column.
    NotFinite(usize, usize),
    /// The QR iteration did not end.
    NoConvergence,
    /// States that are to take their steady values have none.
    Singular,
}

/// The modes of a system at a point.
#[derive(Clone, Debug)]
pub struct Modes {
    modes: Vec<Mode>,
    /// The Jacobian in nominal sizes.
    scaled: DMatrix<f64>,
    /// Which state each of its rows is.
    states: Vec<usize>,
}

impl Modes {
    /// From the Jacobian, row by row, and the nominal sizes of the states.
    pub fn new(jacobian: &[f64], nominal: &[f64]) -> Result<Self, NoModes> {
        let size = nominal.len();
        if jacobian.len() != size * size {
            return Err(NoModes::Shape);
        }
        // A nominal size that is no size must not spoil the matrix.
        let measure = |i: usize| {
            let nominal = nominal[i].abs();
            if nominal.is_normal() { nominal } else { 1.0 }
        };
        let scaled = DMatrix::from_fn(size, size, |row, column| {
            jacobian[row * size + column] * (measure(column) / measure(row))
        });
        for row in 0..size {
            for column in 0..size {
                if !scaled[(row, column)].is_finite() {
                    return Err(NoModes::NotFinite(row, column));
                }
            }
        }
        let states: Vec<usize> = (0..size).collect();
        Self::of(scaled, states)
    }

    fn of(scaled: DMatrix<f64>, states: Vec<usize>) -> Result<Self, NoModes> {
        let mut modes = Vec::new();
        for block in mutual_blocks(&scaled) {
            modes_of_block(&scaled, &block, &mut modes)?;
        }
        modes.sort_by(|a, b| b.natural_frequency().total_cmp(&a.natural_frequency()));
        for (state, _) in modes.iter_mut().flat_map(|mode| &mut mode.participation) {
            *state = states[*state];
        }
        Ok(Self { modes, scaled, states })
    }

    /// The modes that are left when some states follow the others at once, always in their steady
    /// state: those of J_ss − J_sf·J_ff⁻¹·J_fs, with s for the states that stay and f for the fast
    /// ones (Åman, thesis, Lappeenranta University of Technology, 2011, section 2.1; Kokotović, Khalil
    /// and O'Reilly, Singular Perturbation Methods in Control, chapter 2). States keep their numbers.
    pub fn without(&self, fast: &[usize]) -> Result<Self, NoModes> {
        let (fast, slow): (Vec<usize>, Vec<usize>) =
            (0..self.states.len()).partition(|&i| fast.contains(&self.states[i]));
        if fast.is_empty() {
            return Ok(self.clone());
        }
        if slow.is_empty() {
            return Self::new(&[], &[]);
        }
        let part = |rows: &[usize], columns: &[usize]| {
            DMatrix::from_fn(rows.len(), columns.len(), |i, j| self.scaled[(rows[i], columns[j])])
        };
        let follow = part(&fast, &fast).lu().solve(&part(&fast, &slow)).ok_or(NoModes::Singular)?;
        let scaled = part(&slow, &slow) - part(&slow, &fast) * follow;
        if let Some(at) = scaled.iter().position(|entry| !entry.is_finite()) {
            // Stored column by column.
            let (row, column) = (slow[at % slow.len()], slow[at / slow.len()]);
            return Err(NoModes::NotFinite(self.states[row], self.states[column]));
        }
        Self::of(scaled, slow.into_iter().map(|i| self.states[i]).collect())
    }

    /// The modes, the largest |λ| first.
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// How many eigenvalues are of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.modes.iter().filter(|mode| mode.kind == kind).map(Mode::multiplicity).sum()
    }

    /// |λ|max/|λ|min (Malysheva, thesis, LUT University, 2021, eq. 2.33), over all modes but the
    /// constant ones, for which the ratio means nothing. None where no mode is left.
    pub fn condition_number(&self) -> Option<f64> {
        let mut moving = self
            .modes
            .iter()
            .filter(|mode| mode.kind != Kind::Constant)
            .map(Mode::natural_frequency);
        let largest = moving.next()?;
        Some(largest / moving.next_back().unwrap_or(largest))
    }

    /// The longest stable step of a method: |R(h·λ)| ≤ 1 for every mode that dies away, and for
    /// undamped ones where the method allows any step at all.
    pub fn largest_stable_step(&self, method: ExplicitMethod) -> Result<StableStep, NoModes> {
        let mut result = StableStep {
            step: f64::INFINITY,
            mode: None,
            ignored: self.count(Kind::Growing) + self.count(Kind::Constant),
        };
        if method == ExplicitMethod::ModifiedHeun {
            result.step = self.modified_heun_limit()?;
            return Ok(result);
        }
        for (number, mode) in self.modes.iter().enumerate() {
            let limit = match mode.kind {
                Kind::Growing | Kind::Constant => continue,
                Kind::Decaying => method.stability_limit(mode.real, mode.imaginary),
                Kind::Undamped => {
                    let limit = method.stability_limit(0.0, mode.imaginary);
                    if limit == 0.0 {
                        result.ignored += mode.multiplicity();
                        continue;
                    }
                    limit
                }
            };
            let step = limit / mode.natural_frequency();
            if step < result.step {
                result.step = step;
                result.mode = Some(number);
            }
        }
        Ok(result)
    }

    /// With D the negative part of J's diagonal, one step of modified Heun is x ← M(h)·x,
    ///   x̂ = x + (I − hD)⁻¹·hJ·x,
    ///   M·x = x + (I − hD/2)⁻¹·h/2·(J·x + J·x̂ + D·(x − x̂)),
    /// so the limit is where the spectral radius of M passes 1. Looked for from steps far below to
    /// far above the fastest mode; eigenvalues that grow by themselves may do so.
    fn modified_heun_limit(&self) -> Result<f64, NoModes> {
        const REACH: f64 = 1e6;
        let Some(fastest) = self.modes.first().map(Mode::natural_frequency) else {
            return Ok(f64::INFINITY);
        };
        if fastest == 0.0 {
            return Ok(f64::INFINITY);
        }
        let size = self.scaled.nrows();
        let mut balanced = self.scaled.clone();
        balance_parlett_reinsch(&mut balanced);
        let diagonal = DVector::from_fn(size, |i, _| balanced[(i, i)].min(0.0));
        let growing = self.count(Kind::Growing);
        // M couples what J couples: the same sets of states.
        let blocks = mutual_blocks(&balanced);
        let is_stable = |step: f64| -> Result<bool, NoModes> {
            let whole = DMatrix::from_fn(size, size, |i, j| {
                step * balanced[(i, j)] / (1.0 - step * diagonal[i])
            });
            // J·x + J·x̂ + D·(x − x̂) = (2J + (J − D)·W)·x with x̂ = x + W·x.
            let mut off = balanced.clone();
            for i in 0..size {
                off[(i, i)] -= diagonal[i];
            }
            let sum = &balanced * 2.0 + &off * &whole;
            let amplification = DMatrix::from_fn(size, size, |i, j| {
                let identity = if i == j { 1.0 } else { 0.0 };
                identity + 0.5 * step * sum[(i, j)] / (1.0 - 0.5 * step * diagonal[i])
            });
            // Rounding of eigenvalues near 1, and of defective ones, which is the root of it.
            const ROUNDING: f64 = 1e-7;
            let mut outside = 0;
            for block in &blocks {
                let block = amplification.select_rows(block).select_columns(block);
                let values = eigenvalues(block)?;
                outside += values.iter().filter(|value| value.norm() > 1.0 + ROUNDING).count();
            }
            Ok(outside <= growing)
        };
        let (mut stable, mut step) = (0.0, 0.05 / fastest);
        while step <= REACH / fastest {
            if is_stable(step)? {
                stable = step;
                step *= 1.25;
                continue;
            }
            let mut unstable = step;
            for _ in 0..30 {
                let middle = 0.5 * (stable + unstable);
                if is_stable(middle)? { stable = middle } else { unstable = middle }
            }
            return Ok(stable);
        }
        Ok(f64::INFINITY)
    }
}

/// Sets of states that influence each other in both directions, directly or through others. Ordered
/// by them the matrix is block triangular, so its eigenvalues are those of the blocks, and the
/// product l_i·r_i of an eigenvalue is zero outside its block.
fn mutual_blocks(matrix: &DMatrix<f64>) -> Vec<Vec<usize>> {
    let size = matrix.nrows();
    let words = size.div_ceil(64);
    // Who is reached from whom, by Warshall's closure on rows of bits.
    let mut reached = vec![0_u64; size * words];
    for row in 0..size {
        for column in 0..size {
            if row == column || matrix[(row, column)] != 0.0 {
                reached[row * words + column / 64] |= 1 << (column % 64);
            }
        }
    }
    let has = |reached: &[u64], from: usize, to: usize| {
        reached[from * words + to / 64] >> (to % 64) & 1 == 1
    };
    let mut via_row = vec![0_u64; words];
    for via in 0..size {
        via_row.copy_from_slice(&reached[via * words..(via + 1) * words]);
        for from in 0..size {
            if has(&reached, from, via) {
                for (word, more) in reached[from * words..].iter_mut().zip(&via_row) {
                    *word |= more;
                }
            }
        }
    }
    let mut placed = vec![false; size];
    let mut blocks = Vec::new();
    for first in 0..size {
        if placed[first] {
            continue;
        }
        let block: Vec<usize> = (first..size)
            .filter(|&other| has(&reached, first, other) && has(&reached, other, first))
            .collect();
        for &state in &block {
            placed[state] = true;
        }
        blocks.push(block);
    }
    blocks
}

/// Enough for any matrix that converges at all; QR usually needs two or three per eigenvalue.
const ITERATIONS_PER_EIGENVALUE: usize = 100;

fn eigenvalues(mut matrix: DMatrix<f64>) -> Result<DVector<Complex<f64>>, NoModes> {
    balance_parlett_reinsch(&mut matrix);
    let iterations = ITERATIONS_PER_EIGENVALUE * matrix.nrows().max(1);
    Schur::try_new(matrix, f64::EPSILON, iterations)
        .map(|schur| schur.complex_eigenvalues())
        .ok_or(NoModes::NoConvergence)
}

fn modes_of_block(
    scaled: &DMatrix<f64>,
    block: &[usize],
    modes: &mut Vec<Mode>,
) -> Result<(), NoModes> {
    if let &[state] = block {
        let real = scaled[(state, state)];
        let kind = match real.total_cmp(&0.0) {
            _ if real == 0.0 => Kind::Constant,
            std::cmp::Ordering::Less => Kind::Decaying,
            _ => Kind::Growing,
        };
        modes.push(Mode { real, imaginary: 0.0, kind, participation: vec![(state, 1.0)] });
        return Ok(());
    }
    let size = block.len();
    let mut matrix = DMatrix::from_fn(size, size, |i, j| scaled[(block[i], block[j])]);
    balance_parlett_reinsch(&mut matrix);
    // The backward error of QR: what of an eigenvalue is rounding (Golub and Van Loan, section 7.5).
    let rounding = 8.0 * size as f64 * f64::EPSILON * matrix.norm();
    for value in eigenvalues(matrix.clone())?.iter() {
        if value.im < 0.0 {
            continue;
        }
        let (value, participation) = participation(&matrix, *value, rounding, block);
        let kind = if value.norm() <= rounding {
            Kind::Constant
        } else if value.re.abs() <= rounding && value.im > 0.0 {
            Kind::Undamped
        } else if value.re > 0.0 {
            Kind::Growing
        } else {
            Kind::Decaying
        };
        modes.push(Mode { real: value.re, imaginary: value.im.abs(), kind, participation });
    }
    Ok(())
}

/// Eigenvectors by inverse iteration, the eigenvalue made better by the quotient lᵀBr/lᵀr, and the
/// shares of the states.
fn participation(
    matrix: &DMatrix<f64>,
    value: Complex<f64>,
    rounding: f64,
    block: &[usize],
) -> (Complex<f64>, Vec<(usize, f64)>) {
    let size = matrix.nrows();
    let whole = matrix.map(|entry| Complex::new(entry, 0.0));
    let shift = value + Complex::new(rounding, 0.0);
    let vector = |matrix: &DMatrix<Complex<f64>>| {
        let mut shifted = matrix.clone();
        for i in 0..size {
            shifted[(i, i)] -= shift;
        }
        let factors = shifted.lu();
        // No symmetry of the circuit is orthogonal to this start.
        let mut vector =
            DVector::from_fn(size, |i, _| Complex::new(1.0 + 0.1 * (i as f64).sin(), 0.0));
        for _ in 0..3 {
            if let Some(next) = factors.solve(&vector) {
                let norm = next.norm();
                if norm.is_finite() && norm > 0.0 {
                    vector = next / Complex::new(norm, 0.0);
                }
            }
        }
        vector
    };
    let right = vector(&whole);
    let left = vector(&whole.transpose());
    let product = left.dot(&right);
    let mut better = value;
    if product.norm() > 1e-6 {
        let quotient = left.dot(&(&whole * &right)) / product;
        // A pair stays a pair and a single one real; a quotient far off is of another eigenvalue.
        if (quotient - value).norm() <= 1e-6 * value.norm() {
            better = if value.im == 0.0 { Complex::new(quotient.re, 0.0) } else { quotient };
        }
    }
    let shares: Vec<f64> = (0..size).map(|i| (left[i] * right[i]).norm()).collect();
    let sum: f64 = shares.iter().sum();
    let even = 1.0 / size as f64;
    let mut shares: Vec<(usize, f64)> = block
        .iter()
        .zip(shares)
        .map(|(&state, share)| (state, if sum > 0.0 { share / sum } else { even }))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    (better, shares)
}
