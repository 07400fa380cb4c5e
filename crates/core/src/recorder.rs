//! Recording: chosen variables, evenly sampled or every n-th step, in bounded memory.

use crate::circuit::Pattern;
use crate::domain::Role;
use crate::plan::Plan;
use crate::state::State;
use crate::step::{Picks, are_finite, numbers, place_in_bonds};
use crate::variables::{Location, Slot, Variable};
use std::collections::HashMap;

/// Where recorded rows go besides memory.
pub trait Sink {
    /// Takes a row: time, then the values in the order of the variables.
    fn row(&mut self, row: &[f64]) -> std::io::Result<()>;
}

/// Which steps are recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// So many samples, spread as evenly as whole steps allow; first and last step included.
    Even(usize),
    /// Every n-th step, and the last.
    Every(u64),
    /// As `Even`, but from a later step on.
    EvenFrom {
        /// So many samples.
        samples: usize,
        /// Step of the first.
        first: u64,
    },
}

impl Sampling {
    /// The first step at or after `step` that is recorded, in a run of `steps`.
    pub fn next(self, step: u64, steps: u64) -> u64 {
        match self {
            Sampling::Even(samples) if samples >= 2 && samples as u64 <= steps => {
                let intervals = samples as u64 - 1;
                sample_at(first_sample(step, intervals, steps), intervals, steps).0.min(steps)
            }
            Sampling::Even(_) => step.min(steps),
            Sampling::EvenFrom { samples, first } => {
                let first = first.min(steps);
                first + Sampling::Even(samples).next(step.saturating_sub(first), steps - first)
            }
            Sampling::Every(n) => (step.div_ceil(n.max(1)) * n.max(1)).min(steps),
        }
    }

    /// The steps that are recorded, from the first at or after `step`.
    pub fn from(self, step: u64, steps: u64) -> Samples {
        let next = self.next(step, steps);
        let (first, intervals) = match self {
            Sampling::Even(samples) => (0, samples as u64),
            Sampling::EvenFrom { samples, first } => (first.min(steps), samples as u64),
            Sampling::Every(n) => {
                return Samples { next, steps, whole: n.max(1), part: 0, of: 1, rest: 0 };
            }
        };
        let span = steps - first;
        if !(2..=span).contains(&intervals) {
            return Samples { next, steps, whole: 1, part: 0, of: 1, rest: 0 };
        }
        // The next sample adds 2·span/(2·n), and of what is left over as much as makes a step.
        let n = intervals - 1;
        let of = 2 * n;
        let (_, rest) = sample_at(first_sample(next - first, n, span), n, span);
        let twice = 2 * u128::from(span);
        let [whole, part] = [twice / u128::from(of), twice % u128::from(of)];
        let narrow = |x: u128| u64::try_from(x).unwrap_or(u64::MAX);
        Samples { next, steps, whole: narrow(whole), part: narrow(part), of, rest }
    }

    /// Number of rows of a run of `steps`.
    pub fn rows(self, steps: u64) -> u64 {
        match self {
            Sampling::Even(samples) => (samples as u64).min(steps + 1),
            Sampling::EvenFrom { samples, first } => {
                Sampling::Even(samples).rows(steps - first.min(steps))
            }
            Sampling::Every(n) => steps / n.max(1) + 1 + u64::from(!steps.is_multiple_of(n.max(1))),
        }
    }
}

/// Step of sample k of n + 1 over a span of steps, and what is left over, in parts of 2·n:
/// round(k·span/n) = (2·k·span + n)/(2·n). Products of two long numbers are longer.
fn sample_at(k: u64, n: u64, span: u64) -> (u64, u64) {
    let (wide, of) = (2 * u128::from(k) * u128::from(span) + u128::from(n), 2 * u128::from(n));
    ((wide / of) as u64, (wide % of) as u64)
}

/// The first such sample at a step or after it.
fn first_sample(step: u64, n: u64, span: u64) -> u64 {
    let at = |k: u64| sample_at(k, n, span).0;
    let mut k = (u128::from(step) * u128::from(n) / u128::from(span)) as u64;
    while at(k) < step {
        k += 1;
    }
    while k > 0 && at(k - 1) >= step {
        k -= 1;
    }
    k
}

/// Steps that are recorded, one after the other, without a division.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    next: u64,
    steps: u64,
    /// From one to the next: whole steps, and `part`/`of` of one.
    whole: u64,
    part: u64,
    of: u64,
    /// What is left over, in the same parts.
    rest: u64,
}

impl Samples {
    /// The next one.
    #[inline]
    pub fn at(&self) -> u64 {
        self.next
    }

    /// Goes on to the one after it.
    #[inline]
    pub fn go_on(&mut self) {
        self.rest += self.part;
        let carry = self.rest >= self.of;
        self.rest -= if carry { self.of } else { 0 };
        let apart = self.whole.saturating_add(u64::from(carry));
        self.next = self.next.saturating_add(apart).min(self.steps);
    }
}

/// The most numbers kept in memory; beyond it rows only go to the sink.
pub const MOST_IN_MEMORY: usize = 25_000_000;

/// Numbers of rows that are taken at once where they only go to the sink, unless one row has more.
const ROOM: usize = 8192;

/// Which array of the state a variable is in (bonds, signals, states, temperatures), and where.
fn source(slot: &Slot) -> (usize, usize) {
    match slot.at {
        Location::Bond(bond, Role::Temperature) => (3, bond as usize),
        Location::Bond(bond, role) => (0, place_in_bonds(bond, role)),
        Location::Signal(signal) => (1, signal as usize),
        Location::State(state) => (2, state as usize),
    }
}

/// Places in the state that variables are read from, each once and in their order; and which of them
/// each variable is.
pub fn distinct(variables: &[Variable]) -> (Vec<Slot>, Vec<usize>) {
    let mut slots: Vec<Slot> = Vec::new();
    let mut found: HashMap<(Location, u64), usize> = HashMap::new();
    let places = variables.iter().map(|variable| {
        let slot = variable.slot;
        *found.entry((slot.at, slot.sign.to_bits())).or_insert_with(|| {
            slots.push(slot);
            slots.len() - 1
        })
    });
    let places = places.collect();
    (slots, places)
}

/// What is recorded from each array of the state. Ports that are connected show the same numbers: a
/// row holds each once.
#[derive(Debug, Default)]
struct Columns {
    /// Of a row as it is kept, with its time.
    width: usize,
    arrays: [Picks; 4],
    /// Where each variable stands in such a row.
    places: Vec<usize>,
}

impl Columns {
    fn new(variables: &[Variable]) -> Self {
        let (slots, mut places) = distinct(variables);
        // Behind the time.
        places.iter_mut().for_each(|place| *place += 1);
        let mut columns = Self { width: slots.len() + 1, places, ..Self::default() };
        // What has no place in a state reads as not a number.
        let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        for (i, slot) in slots.iter().enumerate() {
            let (array, at) = source(slot);
            let (at, place) = (small(at), small(i + 1));
            columns.arrays[array].push(at, place, slot.sign);
        }
        columns
    }

    /// Fills a row.
    fn read(&self, state: &State<f64>, row: &mut [f64]) {
        let arrays =
            [numbers(&state.bonds), &state.signals, &state.states, &state.line_temperature];
        for (picks, array) in self.arrays.iter().zip(arrays) {
            picks.copy(array, row);
        }
    }

    /// Writes time and the values of all variables, from a row as it is kept.
    fn show(&self, row: &[f64], whole: &mut [f64]) {
        whole[0] = row[0];
        for (value, &place) in whole[1..].iter_mut().zip(&self.places) {
            *value = row[place];
        }
    }
}

/// Recorded variables and their rows.
pub struct Recorder<'a> {
    /// What is recorded.
    pub variables: Vec<Variable>,
    /// Which steps.
    pub sampling: Sampling,
    columns: Columns,
    /// Room for all rows as they are kept; those recorded come first.
    rows: Vec<f64>,
    used: usize,
    in_memory: bool,
    /// Where rows are that only go to the sink.
    room: Vec<f64>,
    /// A row of all variables, for the sink.
    row: Vec<f64>,
    sink: Option<Box<dyn Sink + 'a>>,
    recorded: u64,
    failure: Option<std::io::Error>,
}

impl<'a> Recorder<'a> {
    /// Records `variables` over a run of `steps`.
    pub fn new(variables: Vec<Variable>, sampling: Sampling, steps: u64) -> Self {
        let columns = Columns::new(&variables);
        let width = columns.width;
        let size = (sampling.rows(steps) as u128 * width as u128).min(usize::MAX as u128) as usize;
        let in_memory = size <= MOST_IN_MEMORY;
        // The first touch of memory costs more than recording: it is done before the step loop.
        let mut rows = Vec::new();
        rows.resize(if in_memory { size } else { 0 }, f64::NAN);
        Self {
            columns,
            rows,
            used: 0,
            in_memory,
            room: vec![0.0; if in_memory { 0 } else { width * (ROOM / width).max(1) }],
            row: vec![0.0; variables.len() + 1],
            variables,
            sampling,
            sink: None,
            recorded: 0,
            failure: None,
        }
    }

    /// Also streams rows to a sink.
    pub fn with_sink(mut self, sink: Box<dyn Sink + 'a>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// True when rows are kept in memory, so that they can be plotted.
    pub fn keeps_rows(&self) -> bool {
        self.in_memory
    }

    /// Number of rows recorded.
    pub fn len(&self) -> u64 {
        self.recorded
    }

    /// True when nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.recorded == 0
    }

    fn kept(&self) -> impl Iterator<Item = &[f64]> {
        self.rows[..self.used].chunks_exact(self.columns.width)
    }

    /// The recorded rows: time, then the values.
    pub fn rows(&self) -> impl Iterator<Item = Vec<f64>> {
        self.kept().map(|row| {
            let mut whole = self.row.clone();
            self.columns.show(row, &mut whole);
            whole
        })
    }

    /// Recorded times.
    pub fn times(&self) -> Vec<f64> {
        self.kept().map(|row| row[0]).collect()
    }

    /// One recorded variable.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let index = self.variables.iter().position(|v| v.name == name)?;
        let place = self.columns.places[index];
        Some(self.kept().map(|row| row[place]).collect())
    }

    /// True when the sink has failed.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// An error of the sink, once.
    pub fn take_failure(&mut self) -> Option<std::io::Error> {
        self.failure.take()
    }

    /// Takes a row that was read elsewhere: time, then the values; all of them finite.
    pub fn take_row(&mut self, row: &[f64]) {
        hand_on(&mut self.sink, &mut self.failure, row);
        if self.in_memory {
            let kept = self.used..self.used + self.columns.width;
            if self.rows.len() < kept.end {
                self.rows.resize(kept.end, 0.0);
            }
            let kept = &mut self.rows[kept];
            kept[0] = row[0];
            for (&place, &value) in self.columns.places.iter().zip(&row[1..]) {
                kept[place] = value;
            }
            self.used += self.columns.width;
        }
        self.recorded += 1;
    }

    /// Records a row; false when it holds something that is not a number, which is not recorded.
    pub fn record(&mut self, time: f64, state: &State<f64>) -> bool {
        self.record_rows(&[0, 0], std::iter::once(time), |rows| rows.read(0, state))
    }

    /// How many rows of the next steps can be taken at once.
    pub(crate) fn room(&self) -> usize {
        match self.in_memory {
            true => usize::MAX,
            false => self.room.len() / self.columns.width,
        }
    }

    /// Records rows that `take_steps` writes after each of these stretches of steps but the last, at
    /// these times; false when one holds something that is not a number: only those before it are
    /// recorded.
    pub(crate) fn record_rows(
        &mut self,
        stretches: &[u64],
        times: impl Iterator<Item = f64>,
        take_steps: impl FnOnce(&mut Rows<'_>),
    ) -> bool {
        let width = self.columns.width;
        let size = stretches.len().saturating_sub(1) * width;
        // Kept rows are written where they stay.
        if self.in_memory && self.rows.len() < self.used + size {
            self.rows.resize(self.used + size, 0.0);
        }
        let numbers = match self.in_memory {
            true => &mut self.rows[self.used..self.used + size],
            false => &mut self.room[..size],
        };
        for (row, time) in numbers.chunks_exact_mut(width).zip(times) {
            row[0] = time;
        }
        take_steps(&mut Rows { stretches, columns: &self.columns, numbers: &mut *numbers });
        let all_finite = are_finite(numbers);
        for row in numbers.chunks_exact(width) {
            if !all_finite && !are_finite(row) {
                return false;
            }
            if self.sink.is_some() {
                self.columns.show(row, &mut self.row);
                hand_on(&mut self.sink, &mut self.failure, &self.row);
            }
            if self.in_memory {
                self.used += width;
            }
            self.recorded += 1;
        }
        true
    }
}

/// Hands a row to a sink, unless it has failed.
fn hand_on(
    sink: &mut Option<Box<dyn Sink + '_>>,
    failure: &mut Option<std::io::Error>,
    row: &[f64],
) {
    if let Some(sink) = sink
        && failure.is_none()
        && let Err(error) = sink.row(row)
    {
        *failure = Some(error);
    }
}

/// Rows that are recorded on the way through the next steps.
pub struct Rows<'a> {
    stretches: &'a [u64],
    columns: &'a Columns,
    numbers: &'a mut [f64],
}

impl<'a> Rows<'a> {
    /// Steps up to each row, one after the other, and those that are left after the last row.
    pub fn stretches(&self) -> &'a [u64] {
        self.stretches
    }

    /// How far rows are apart in [`Rows::numbers`].
    pub fn width(&self) -> usize {
        self.columns.width
    }

    /// All rows, one after the other: time, which is there, then what the [`distinct`] places hold.
    pub fn numbers(&mut self) -> &mut [f64] {
        self.numbers
    }

    /// Reads the values of a row from a state.
    pub fn read(&mut self, row: usize, state: &State<f64>) {
        let width = self.columns.width;
        self.columns.read(state, &mut self.numbers[row * width..(row + 1) * width]);
    }
}

/// Chooses variables by pattern; without patterns the default set. Returns the patterns that
/// matched nothing, too.
pub fn choose<'p>(plan: &Plan, patterns: &'p [Pattern]) -> (Vec<Variable>, Vec<&'p Pattern>) {
    if patterns.is_empty() {
        return (plan.variables.iter().filter(|v| v.by_default).collect(), Vec::new());
    }
    let mut used = vec![false; patterns.len()];
    let mut exact: Vec<Variable> = Vec::new();
    // Names without a wildcard are looked up; only wildcards look at every variable.
    for (pattern, used) in patterns.iter().zip(&mut used) {
        if !pattern.text.contains('*')
            && let Some(variable) = plan.variables.find(&pattern.text)
        {
            *used = true;
            exact.push(variable);
        }
    }
    let mut chosen: Vec<Variable> = Vec::new();
    if patterns.iter().any(|p| p.text.contains('*')) {
        for variable in plan.variables.iter() {
            let mut hit = exact.iter().any(|v| v.name == variable.name);
            for (pattern, used) in patterns.iter().zip(&mut used) {
                // Waves and impedances are internal: only a name that asks for them gets them.
                let internal = !variable.by_default
                    && !pattern.text.contains("wave")
                    && !pattern.text.contains("impedance")
                    && pattern.text.starts_with('*');
                if pattern.text.contains('*') && !internal && pattern.matches(&variable.name) {
                    *used = true;
                    hit = true;
                }
            }
            if hit {
                chosen.push(variable);
            }
        }
    } else {
        for variable in exact {
            if !chosen.iter().any(|v| v.name == variable.name) {
                chosen.push(variable);
            }
        }
    }
    let unused = patterns.iter().zip(used).filter(|(_, u)| !u).map(|(p, _)| p).collect();
    (chosen, unused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(sampling: Sampling, total: u64) -> Vec<u64> {
        let mut all = vec![0];
        while *all.last().unwrap() < total {
            all.push(sampling.next(all.last().unwrap() + 1, total));
        }
        all
    }

    #[test]
    fn samples_without_divisions_are_those_with_them() {
        let kinds = [2usize, 3, 7, 100, 999, 1000, 1001, 2048]
            .into_iter()
            .flat_map(|samples| {
                let from = |first| Sampling::EvenFrom { samples, first };
                [Sampling::Even(samples), from(0), from(123), from(900), from(5000)]
            })
            .chain([1, 2, 5, 333, 5000, u64::MAX].map(Sampling::Every));
        for sampling in kinds {
            for (begin, steps) in [(1, 1000), (17, 1000), (1, 999), (500, 10_007), (3, 4)] {
                let mut samples = sampling.from(begin, steps);
                let mut expected = sampling.next(begin, steps);
                while expected < steps {
                    assert_eq!(samples.at(), expected, "{sampling:?} of {steps}");
                    expected = sampling.next(expected + 1, steps);
                    samples.go_on();
                }
                assert_eq!(samples.at(), steps, "{sampling:?} of {steps}");
            }
        }
        let mut long = Sampling::Even(3).from(1, 1 << 60);
        assert_eq!(long.at(), 1 << 59);
        long.go_on();
        assert_eq!(long.at(), 1 << 60);
    }

    #[test]
    fn even_samples_are_spread_over_the_whole_run() {
        assert_eq!(steps(Sampling::Even(5), 10), [0, 3, 5, 8, 10]);
        assert_eq!(steps(Sampling::Even(2048), 10_000).len(), 2048);
        assert_eq!(steps(Sampling::Even(2048), 10_000).last(), Some(&10_000));
        assert_eq!(steps(Sampling::Even(100), 7), (0..=7).collect::<Vec<_>>());
    }

    #[test]
    fn every_nth_step_includes_the_last() {
        assert_eq!(steps(Sampling::Every(4), 10), [0, 4, 8, 10]);
        assert_eq!(Sampling::Every(4).rows(10), 4);
        assert_eq!(Sampling::Every(5).rows(10), 3);
    }

    fn variable(name: &str, signal: u32, sign: f64) -> Variable {
        let slot = Slot { at: Location::Signal(signal), sign };
        Variable { name: name.into(), unit: "", meaning: "", slot, by_default: true }
    }

    struct Kept(std::rc::Rc<std::cell::RefCell<Vec<Vec<f64>>>>);

    impl Sink for Kept {
        fn row(&mut self, row: &[f64]) -> std::io::Result<()> {
            self.0.borrow_mut().push(row.to_vec());
            Ok(())
        }
    }

    /// Two variables of one place, and one of the other sign: three columns, of which two are kept.
    /// Rows are the same in memory, in the sink of a run that is kept and in that of one too long for
    /// memory; one with something that is not a number ends them.
    #[test]
    fn rows_hold_each_place_once_and_show_all_variables() {
        let variables =
            || vec![variable("a", 7, 1.0), variable("b", 7, -1.0), variable("c", 7, 1.0)];
        assert_eq!(distinct(&variables()).1, [0, 1, 0]);
        for steps in [10, MOST_IN_MEMORY as u64] {
            let taken = std::rc::Rc::default();
            let mut recorder = Recorder::new(variables(), Sampling::Every(1), steps)
                .with_sink(Box::new(Kept(std::rc::Rc::clone(&taken))));
            assert_eq!(recorder.keeps_rows(), steps == 10);
            let times = || [0.1, 0.2, 0.3, 0.4].into_iter();
            let is_sound = recorder.record_rows(&[1, 1, 1, 1, 0], times(), |rows| {
                assert_eq!((rows.stretches().len(), rows.width()), (5, 3));
                for (row, value) in rows.numbers().chunks_mut(3).zip([1.0, 2.0, f64::NAN, 4.0]) {
                    row[1..].copy_from_slice(&[value, -value]);
                }
            });
            assert!(!is_sound);
            recorder.take_row(&[0.5, 5.0, -5.0, 5.0]);
            let expected = vec![
                vec![0.1, 1.0, -1.0, 1.0],
                vec![0.2, 2.0, -2.0, 2.0],
                vec![0.5, 5.0, -5.0, 5.0],
            ];
            assert_eq!(*taken.borrow(), expected);
            assert_eq!(recorder.len(), 3);
            if recorder.keeps_rows() {
                assert_eq!(recorder.rows().collect::<Vec<_>>(), expected);
                assert_eq!(recorder.column("b"), Some(vec![-1.0, -2.0, -5.0]));
                assert_eq!(recorder.times(), [0.1, 0.2, 0.5]);
            }
        }
    }
}
