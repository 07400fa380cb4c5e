//! What a solver integrates.

/// x' = f(t, x).
///
/// Evaluations may keep guesses of inner unknowns (`&mut self`), but results must not depend on
/// them beyond rounding.
pub trait System {
    /// Number of states.
    fn size(&self) -> usize;

    /// f(t, x).
    fn rates(&mut self, time: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble>;

    /// The rates of some states only, in the order of `which`.
    fn some_rates(
        &mut self,
        time: f64,
        x: &[f64],
        which: &[usize],
        rates: &mut [f64],
    ) -> Result<(), Trouble> {
        let mut all = vec![0.0; self.size()];
        self.rates(time, x, &mut all)?;
        for (rate, &state) in rates.iter_mut().zip(which) {
            *rate = all[state];
        }
        Ok(())
    }

    /// Which entries of ∂f/∂x may differ from zero.
    fn pattern(&self) -> &Pattern;

    /// ∂f/∂x at a point, in the order of the pattern.
    fn jacobian(&mut self, time: f64, x: &[f64], values: &mut [f64]) -> Result<(), Trouble>;

    /// ∂f_i/∂x_j for i and j among `which`, dense, row by row.
    fn some_jacobian(
        &mut self,
        time: f64,
        x: &[f64],
        which: &[usize],
        block: &mut [f64],
    ) -> Result<(), Trouble> {
        let mut values = vec![0.0; self.pattern().len()];
        self.jacobian(time, x, &mut values)?;
        let pattern = self.pattern();
        for (i, &row) in which.iter().enumerate() {
            for (j, &column) in which.iter().enumerate() {
                block[i * which.len() + j] =
                    pattern.find(row, column).map_or(0.0, |place| values[place]);
            }
        }
        Ok(())
    }

    /// The size of change of a state that matters: what an absolute tolerance is measured in.
    fn nominal(&self, state: usize) -> f64 {
        let _ = state;
        1.0
    }

    /// Bounds that the balance of flows of a pressure lies between, whatever its own value is: the
    /// pressures of its neighbours.
    fn bounds(&mut self, time: f64, x: &[f64], state: usize) -> (f64, f64) {
        let _ = (time, x, state);
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    /// The next time after `time` at which f jumps or bends by itself.
    fn next_event(&self, time: f64) -> f64 {
        let _ = time;
        f64::INFINITY
    }

    /// Whether f depends on x alone from `time` to the next event: spares the Rosenbrock method its
    /// evaluation for ∂f/∂t.
    fn is_autonomous(&self, time: f64) -> bool {
        let _ = time;
        false
    }

    /// Called after every step that is kept: puts states back onto stops, renews what is remembered.
    /// True when the future is no longer the smooth continuation of the past.
    fn settle(&mut self, time: f64, x: &mut [f64]) -> bool {
        let _ = (time, x);
        false
    }

    /// How far `x` has run past stops that [`System::settle`] would put it back onto, in units of
    /// [`System::nominal`]: a step that runs far past is taken again, shorter.
    fn overrun(&mut self, time: f64, x: &[f64]) -> f64 {
        let _ = (time, x);
        0.0
    }
}

impl<S: System + ?Sized> System for &mut S {
    fn size(&self) -> usize {
        (**self).size()
    }

    fn rates(&mut self, time: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        (**self).rates(time, x, rates)
    }

    fn some_rates(
        &mut self,
        time: f64,
        x: &[f64],
        which: &[usize],
        rates: &mut [f64],
    ) -> Result<(), Trouble> {
        (**self).some_rates(time, x, which, rates)
    }

    fn pattern(&self) -> &Pattern {
        (**self).pattern()
    }

    fn jacobian(&mut self, time: f64, x: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        (**self).jacobian(time, x, values)
    }

    fn some_jacobian(
        &mut self,
        time: f64,
        x: &[f64],
        which: &[usize],
        block: &mut [f64],
    ) -> Result<(), Trouble> {
        (**self).some_jacobian(time, x, which, block)
    }

    fn nominal(&self, state: usize) -> f64 {
        (**self).nominal(state)
    }

    fn bounds(&mut self, time: f64, x: &[f64], state: usize) -> (f64, f64) {
        (**self).bounds(time, x, state)
    }

    fn next_event(&self, time: f64) -> f64 {
        (**self).next_event(time)
    }

    fn is_autonomous(&self, time: f64) -> bool {
        (**self).is_autonomous(time)
    }

    fn settle(&mut self, time: f64, x: &mut [f64]) -> bool {
        (**self).settle(time, x)
    }

    fn overrun(&mut self, time: f64, x: &[f64]) -> f64 {
        (**self).overrun(time, x)
    }
}

/// Why f has no value at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// A rate is infinite or not a number: the state concerned.
    NotFinite(usize),
    /// Inner equations found no solution: a number by which the system knows them, and how much
    /// they miss.
    NoSolution {
        /// Which equations.
        equation: usize,
        /// What is left of them.
        residual: f64,
    },
}

/// The places of a sparse matrix that may differ from zero, column by column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    size: usize,
    starts: Vec<usize>,
    rows: Vec<usize>,
}

impl Pattern {
    /// From pairs of row and column, in any order.
    pub fn new(size: usize, entries: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut columns = vec![Vec::new(); size];
        for (row, column) in entries {
            columns[column].push(row);
        }
        let (mut starts, mut rows) = (vec![0], Vec::new());
        for column in &mut columns {
            column.sort_unstable();
            column.dedup();
            rows.append(column);
            starts.push(rows.len());
        }
        Self { size, starts, rows }
    }

    /// Every entry.
    pub fn dense(size: usize) -> Self {
        Self::new(size, (0..size * size).map(|i| (i / size, i % size)))
    }

    /// Rows and columns of the matrix.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Nothing but zeros.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Where each column begins; one more than there are columns.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Row of each entry.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The places of a column.
    pub fn column(&self, column: usize) -> std::ops::Range<usize> {
        self.starts[column]..self.starts[column + 1]
    }

    /// The place of an entry.
    pub fn find(&self, row: usize, column: usize) -> Option<usize> {
        let range = self.column(column);
        let begin = range.start;
        self.rows[range].binary_search(&row).ok().map(|at| begin + at)
    }
}
