//! A system without its fast states.

use super::Settings;
use super::balance::Balance;
use super::dense;
use super::pseudo::Pseudo;
use crate::{Pattern, System, Trouble};

/// A fast state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fast {
    /// Its number in the whole system.
    pub state: usize,
    /// The volume whose pressure it is, m³: pseudo-time divides it by the artificial one.
    pub volume: f64,
}

/// Why a system cannot be reduced so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unsuitable {
    /// There is no state of this number.
    NoState(usize),
    /// A state is named twice.
    Twice(usize),
    /// The volume of this state is not a positive number.
    Volume(usize, f64),
    /// A setting is not a positive number: its name and value.
    Setting(&'static str, f64),
}

/// What the fast states have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Balances solved, or runs of pseudo-time.
    pub solves: usize,
    /// Newton iterations, or steps of pseudo-time.
    pub iterations: usize,
    /// Evaluations of rates of fast states.
    pub evaluations: usize,
    /// Evaluations of their Jacobians.
    pub jacobians: usize,
    /// Runs of pseudo-time that [`Settings::longest_inner_time`] ended.
    pub unfinished: usize,
}

/// Fast states that influence each other, and the slow ones around them.
#[derive(Clone, Debug)]
struct Group {
    /// In the whole system.
    states: Vec<usize>,
    fast: Vec<Fast>,
    /// Slow states, by their reduced numbers, whose rates read the group.
    readers: Vec<usize>,
    /// Slow states that the rates of the group read.
    sources: Vec<usize>,
    /// Places in the whole Jacobian: of ∂f_group/∂group and of ∂f_group/∂sources row by row, of
    /// ∂f_readers/∂group row by row.
    inner: Vec<Option<usize>>,
    inward: Vec<Option<usize>>,
    outward: Vec<Option<usize>>,
    /// Places of (reader, source) in the reduced Jacobian, row by row.
    targets: Vec<usize>,
}

/// A slow pressure with fast neighbours.
#[derive(Clone, Debug)]
struct Neighbour {
    /// Reduced number.
    slow: usize,
    /// Number in the whole system.
    state: usize,
    /// Fast states that it exchanges flow with.
    fast: Vec<usize>,
    /// Places of (state, fast) in the whole Jacobian, and of (slow, slow) in the reduced one.
    places: Vec<usize>,
    target: usize,
}

/// The slow part of a system, its fast states replaced as [`Settings::strategy`] says.
///
/// What it reports as [`Trouble`] names states by their numbers in the whole system: a balance without
/// solution is [`Trouble::NoSolution`] with the number of the fast state and the rate that is left.
///
/// Strategies that hold fast values over a main step set them in [`Reduced::prepare_step`]. A solver
/// that does not call it gets the same by itself: the first evaluation after [`System::settle`], which
/// one-step methods make at the beginning of a step, prepares. Their right-hand side jumps from step to
/// step, which `settle` says, so they suit one-step methods with a fixed step and no others.
#[derive(Clone, Debug)]
pub struct Reduced<S> {
    base: S,
    settings: Settings,
    slow: Vec<usize>,
    fast: Vec<Fast>,
    groups: Vec<Group>,
    neighbours: Vec<Neighbour>,
    pattern: Pattern,
    /// Places of J_ss: in the whole Jacobian and in the reduced one.
    copies: Vec<(usize, usize)>,
    is_prepared: bool,
    /// The slow states when the step was prepared.
    prepared_at: Vec<f64>,
    /// The whole state; its fast part is the last solution and the start of the next.
    whole: Vec<f64>,
    whole_rates: Vec<f64>,
    whole_jacobian: Vec<f64>,
    jacobian: Vec<f64>,
    block: Vec<f64>,
    column: Vec<f64>,
    pivots: Vec<usize>,
    chosen: Vec<usize>,
    balance: Balance,
    pseudo: Pseudo,
    work: Work,
}

impl<S: System> Reduced<S> {
    /// Leaves `fast` out of a system. `pressures` are the states that are pressures of volumes, fast
    /// ones among them or not: flows between a fast and a slow one of them are held over a main step by
    /// strategies that hold. `initial` is a whole state, from which the fast values start.
    pub fn new(
        base: S,
        settings: Settings,
        fast: &[Fast],
        pressures: &[usize],
        initial: &[f64],
    ) -> Result<Self, Unsuitable> {
        let size = base.size();
        let fast = if settings.strategy.is_held() || settings.strategy.is_solved() {
            check(size, &settings, fast)?;
            fast
        } else {
            &[]
        };
        if initial.len() != size {
            return Err(Unsuitable::NoState(initial.len().min(size)));
        }
        let mut reduced_number: Vec<Option<usize>> = vec![Some(0); size];
        for fast in fast {
            reduced_number[fast.state] = None;
        }
        let slow: Vec<usize> = (0..size).filter(|&state| reduced_number[state].is_some()).collect();
        for (number, &state) in slow.iter().enumerate() {
            reduced_number[state] = Some(number);
        }
        let whole_pattern = base.pattern();
        let mut groups = group(whole_pattern, fast);
        let neighbours = if settings.strategy.is_held() {
            neighbours(whole_pattern, fast, &slow, pressures)
        } else {
            Vec::new()
        };

        let mut entries = Vec::new();
        for (column, &state) in slow.iter().enumerate() {
            for place in whole_pattern.column(state) {
                if let Some(row) = reduced_number[whole_pattern.rows()[place]] {
                    entries.push((row, column));
                }
            }
        }
        if settings.strategy.is_solved() {
            for group in &mut groups {
                group.find_surroundings(whole_pattern, &slow);
                for &row in &group.readers {
                    entries.extend(group.sources.iter().map(|&column| (row, column)));
                }
            }
        }
        entries.extend(neighbours.iter().map(|neighbour| (neighbour.slow, neighbour.slow)));
        let pattern = Pattern::new(slow.len(), entries);

        let mut copies = Vec::new();
        for (column, &state) in slow.iter().enumerate() {
            for place in whole_pattern.column(state) {
                let row = reduced_number[whole_pattern.rows()[place]];
                if let Some(target) = row.and_then(|row| pattern.find(row, column)) {
                    copies.push((place, target));
                }
            }
        }
        for group in &mut groups {
            group.targets = group
                .readers
                .iter()
                .flat_map(|&row| group.sources.iter().map(move |&column| (row, column)))
                .filter_map(|(row, column)| pattern.find(row, column))
                .collect();
        }
        let neighbours = neighbours
            .into_iter()
            .filter_map(|mut neighbour| {
                neighbour.target = pattern.find(neighbour.slow, neighbour.slow)?;
                Some(neighbour)
            })
            .collect();

        let largest = groups.iter().map(|group| group.states.len()).max().unwrap_or(0);
        Ok(Self {
            settings,
            fast: fast.to_vec(),
            groups,
            neighbours,
            copies,
            is_prepared: false,
            prepared_at: vec![0.0; slow.len()],
            whole: initial.to_vec(),
            whole_rates: vec![0.0; size],
            whole_jacobian: vec![0.0; whole_pattern.len()],
            jacobian: vec![0.0; pattern.len()],
            block: vec![0.0; largest * largest],
            column: vec![0.0; fast.len()],
            pivots: vec![0; largest],
            chosen: Vec::with_capacity(slow.len()),
            balance: Balance::new(largest),
            pseudo: Pseudo::new(largest),
            work: Work::default(),
            pattern,
            slow,
            base,
        })
    }

    /// The whole system.
    pub fn base(&self) -> &S {
        &self.base
    }

    /// The whole system, to change it.
    pub fn base_mut(&mut self) -> &mut S {
        &mut self.base
    }

    /// Gives the whole system back.
    pub fn into_base(self) -> S {
        self.base
    }

    /// The states that remain: reduced number → number in the whole system.
    pub fn slow_states(&self) -> &[usize] {
        &self.slow
    }

    /// The states that are left out.
    pub fn fast_states(&self) -> &[Fast] {
        &self.fast
    }

    /// Fast states that are solved together, by their numbers in the whole system.
    pub fn groups(&self) -> impl Iterator<Item = &[usize]> {
        self.groups.iter().map(|group| group.states.as_slice())
    }

    /// What the fast states have cost so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// The slow part of a whole state.
    pub fn gather(&self, whole: &[f64], slow: &mut [f64]) {
        for (value, &state) in slow.iter_mut().zip(&self.slow) {
            *value = whole[state];
        }
    }

    /// The whole state at a point: with fast values as the strategy gives them there.
    pub fn expand(&mut self, time: f64, x: &[f64], whole: &mut [f64]) -> Result<(), Trouble> {
        self.set_fast(time, x)?;
        whole.copy_from_slice(&self.whole);
        Ok(())
    }

    /// Starts the search for fast values from those of a whole state, and forgets held ones.
    pub fn start_from(&mut self, whole: &[f64]) {
        self.whole.copy_from_slice(whole);
        self.is_prepared = false;
    }

    /// The volume of a fast state has changed, m³.
    pub fn set_volume(&mut self, state: usize, volume: f64) {
        let groups = self.groups.iter_mut().flat_map(|group| &mut group.fast);
        for fast in self.fast.iter_mut().chain(groups).filter(|fast| fast.state == state) {
            fast.volume = volume;
        }
    }

    /// Before a main step from (time, x): sets the fast values that are held over it. Nothing to do for
    /// strategies that do not hold.
    pub fn prepare_step(&mut self, time: f64, x: &[f64]) -> Result<(), Trouble> {
        if !self.settings.strategy.is_held() {
            return Ok(());
        }
        self.set_slow(x);
        for group in &self.groups {
            let states = (group.states.as_slice(), group.fast.as_slice());
            self.pseudo.settle(
                &mut self.base,
                time,
                &mut self.whole,
                states,
                &self.settings,
                &mut self.work,
            )?;
        }
        self.prepared_at.copy_from_slice(x);
        self.is_prepared = true;
        Ok(())
    }

    fn set_slow(&mut self, x: &[f64]) {
        for (&value, &state) in x.iter().zip(&self.slow) {
            self.whole[state] = value;
        }
    }

    /// Makes `whole` the whole state at a point.
    fn set_fast(&mut self, time: f64, x: &[f64]) -> Result<(), Trouble> {
        self.set_slow(x);
        if self.settings.strategy.is_solved() {
            for number in 0..self.groups.len() {
                self.solve_group(number, time)?;
            }
        } else if self.settings.strategy.is_held() && !self.is_prepared {
            self.prepare_step(time, x)?;
        }
        Ok(())
    }

    fn solve_group(&mut self, number: usize, time: f64) -> Result<(), Trouble> {
        let states = &self.groups[number].states;
        // A search that fails must not spoil the start of the next one.
        for (kept, &state) in self.column.iter_mut().zip(states) {
            *kept = self.whole[state];
        }
        let (base, whole) = (&mut self.base, &mut self.whole);
        let result = self.balance.solve(base, time, whole, states, &self.settings, &mut self.work);
        if result.is_err() {
            for (&kept, &state) in self.column.iter().zip(states) {
                self.whole[state] = kept;
            }
        }
        result
    }

    /// The rate of a slow pressure whose flows to fast neighbours are held: flows between volumes follow
    /// the difference of their pressures, so the fast pressure is moved along with the slow one.
    fn held_rate(&mut self, number: usize, time: f64, x: &[f64]) -> Result<Option<f64>, Trouble> {
        let neighbour = &self.neighbours[number];
        let moved = x[neighbour.slow] - self.prepared_at[neighbour.slow];
        if moved == 0.0 {
            return Ok(None);
        }
        for (kept, &state) in self.column.iter_mut().zip(&neighbour.fast) {
            *kept = self.whole[state];
            self.whole[state] += moved;
        }
        let mut rate = [0.0];
        let result = self.base.some_rates(time, &self.whole, &[neighbour.state], &mut rate);
        for (&kept, &state) in self.column.iter().zip(&neighbour.fast) {
            self.whole[state] = kept;
        }
        result.map(|()| Some(rate[0]))
    }
}

impl<S: System> System for Reduced<S> {
    fn size(&self) -> usize {
        self.slow.len()
    }

    fn rates(&mut self, time: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        self.set_fast(time, x)?;
        self.base.rates(time, &self.whole, &mut self.whole_rates)?;
        for (rate, &state) in rates.iter_mut().zip(&self.slow) {
            *rate = self.whole_rates[state];
        }
        for number in 0..self.neighbours.len() {
            if let Some(rate) = self.held_rate(number, time, x)? {
                rates[self.neighbours[number].slow] = rate;
            }
        }
        Ok(())
    }

    fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// J_ss − J_sf·J_ff⁻¹·J_fs where fast values are solved (implicit function theorem), J_ss where
    /// they are held. Held flows add ∂f_i/∂p_fast to the diagonal, which cancels the throttle between;
    /// away from the beginning of the step this is taken at the fast pressure that was held.
    fn jacobian(&mut self, time: f64, x: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        self.set_fast(time, x)?;
        self.base.jacobian(time, &self.whole, &mut self.whole_jacobian)?;
        let whole = &self.whole_jacobian;
        values.fill(0.0);
        for &(place, target) in &self.copies {
            values[target] = whole[place];
        }
        for neighbour in &self.neighbours {
            for &place in &neighbour.places {
                values[neighbour.target] += whole[place];
            }
        }
        if !self.settings.strategy.is_solved() {
            return Ok(());
        }
        let entry = |place: Option<usize>| place.map_or(0.0, |place| whole[place]);
        for group in &self.groups {
            let size = group.states.len();
            let block = &mut self.block[..size * size];
            let (pivots, column) = (&mut self.pivots[..size], &mut self.column[..size]);
            for (value, &place) in block.iter_mut().zip(&group.inner) {
                *value = entry(place);
            }
            if !dense::factor(block, pivots) {
                // Closed off on all sides: its pressure stays, whatever the slow states do.
                continue;
            }
            let sources = group.sources.len();
            for source in 0..sources {
                for i in 0..size {
                    column[i] = entry(group.inward[i * sources + source]);
                }
                dense::solve(block, pivots, column);
                for reader in 0..group.readers.len() {
                    let through: f64 = (0..size)
                        .map(|i| entry(group.outward[reader * size + i]) * column[i])
                        .sum();
                    values[group.targets[reader * sources + source]] -= through;
                }
            }
        }
        Ok(())
    }

    fn some_rates(
        &mut self,
        time: f64,
        x: &[f64],
        which: &[usize],
        rates: &mut [f64],
    ) -> Result<(), Trouble> {
        self.set_fast(time, x)?;
        self.chosen.clear();
        self.chosen.extend(which.iter().map(|&number| self.slow[number]));
        self.base.some_rates(time, &self.whole, &self.chosen, rates)?;
        for number in 0..self.neighbours.len() {
            let slow = self.neighbours[number].slow;
            if let Some(place) = which.iter().position(|&state| state == slow)
                && let Some(rate) = self.held_rate(number, time, x)?
            {
                rates[place] = rate;
            }
        }
        Ok(())
    }

    fn some_jacobian(
        &mut self,
        time: f64,
        x: &[f64],
        which: &[usize],
        block: &mut [f64],
    ) -> Result<(), Trouble> {
        let mut values = std::mem::take(&mut self.jacobian);
        let result = self.jacobian(time, x, &mut values);
        for (i, &row) in which.iter().enumerate() {
            for (j, &column) in which.iter().enumerate() {
                let place = self.pattern.find(row, column);
                block[i * which.len() + j] = place.map_or(0.0, |place| values[place]);
            }
        }
        self.jacobian = values;
        result
    }

    fn nominal(&self, state: usize) -> f64 {
        self.base.nominal(self.slow[state])
    }

    /// Those of the whole system, unless a neighbour is fast: that one gives way.
    fn bounds(&mut self, time: f64, x: &[f64], state: usize) -> (f64, f64) {
        let whole = self.slow[state];
        let pattern = self.base.pattern();
        if self.fast.iter().any(|fast| pattern.find(whole, fast.state).is_some()) {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        self.set_slow(x);
        self.base.bounds(time, &self.whole, whole)
    }

    fn next_event(&self, time: f64) -> f64 {
        self.base.next_event(time)
    }

    fn settle(&mut self, time: f64, x: &mut [f64]) -> bool {
        self.set_slow(x);
        self.is_prepared = false;
        let jumps = self.base.settle(time, &mut self.whole);
        for (value, &state) in x.iter_mut().zip(&self.slow) {
            *value = self.whole[state];
        }
        // Held values are about to be renewed, and f jumps with them.
        jumps || !self.groups.is_empty() && self.settings.strategy.is_held()
    }

    fn overrun(&mut self, time: f64, x: &[f64]) -> f64 {
        self.set_slow(x);
        self.base.overrun(time, &self.whole)
    }
}

impl Group {
    fn find_surroundings(&mut self, pattern: &Pattern, slow: &[usize]) {
        let (states, size) = (&self.states, self.states.len());
        self.readers = (0..slow.len())
            .filter(|&row| states.iter().any(|&state| pattern.find(slow[row], state).is_some()))
            .collect();
        self.sources = (0..slow.len())
            .filter(|&column| {
                states.iter().any(|&state| pattern.find(state, slow[column]).is_some())
            })
            .collect();
        let (readers, sources) = (&self.readers, &self.sources);
        self.inner = (0..size * size)
            .map(|place| pattern.find(states[place / size], states[place % size]))
            .collect();
        self.inward = states
            .iter()
            .flat_map(|&row| sources.iter().map(move |&column| pattern.find(row, slow[column])))
            .collect();
        self.outward = readers
            .iter()
            .flat_map(|&row| states.iter().map(move |&column| pattern.find(slow[row], column)))
            .collect();
    }
}

/// Fast states that influence each other, directly or through other fast ones, are one group.
fn group(pattern: &Pattern, fast: &[Fast]) -> Vec<Group> {
    let mut group_of: Vec<usize> = (0..fast.len()).collect();
    for i in 0..fast.len() {
        for j in 0..fast.len() {
            let (a, b) = (group_of[i], group_of[j]);
            if a != b && pattern.find(fast[i].state, fast[j].state).is_some() {
                for number in &mut group_of {
                    if *number == a.max(b) {
                        *number = a.min(b);
                    }
                }
            }
        }
    }
    let mut groups = Vec::new();
    for number in 0..fast.len() {
        let fast: Vec<Fast> =
            (0..fast.len()).filter(|&i| group_of[i] == number).map(|i| fast[i]).collect();
        if !fast.is_empty() {
            groups.push(Group {
                states: fast.iter().map(|fast| fast.state).collect(),
                fast,
                readers: Vec::new(),
                sources: Vec::new(),
                inner: Vec::new(),
                inward: Vec::new(),
                outward: Vec::new(),
                targets: Vec::new(),
            });
        }
    }
    groups
}

/// Slow pressures that a fast one depends on and that depend on it.
fn neighbours(
    pattern: &Pattern,
    fast: &[Fast],
    slow: &[usize],
    pressures: &[usize],
) -> Vec<Neighbour> {
    let mut found = Vec::new();
    for (number, &state) in slow.iter().enumerate() {
        if !pressures.contains(&state) {
            continue;
        }
        let (mut others, mut places) = (Vec::new(), Vec::new());
        for fast in fast {
            if let Some(place) = pattern.find(state, fast.state)
                && pattern.find(fast.state, state).is_some()
            {
                others.push(fast.state);
                places.push(place);
            }
        }
        if !others.is_empty() {
            found.push(Neighbour { slow: number, state, fast: others, places, target: 0 });
        }
    }
    found
}

fn check(size: usize, settings: &Settings, fast: &[Fast]) -> Result<(), Unsuitable> {
    for (number, one) in fast.iter().enumerate() {
        if one.state >= size {
            return Err(Unsuitable::NoState(one.state));
        }
        if fast[..number].iter().any(|other| other.state == one.state) {
            return Err(Unsuitable::Twice(one.state));
        }
        if !is_positive(one.volume) {
            return Err(Unsuitable::Volume(one.state, one.volume));
        }
    }
    let positive = [
        ("pseudo_volume", settings.pseudo_volume.unwrap_or(1.0)),
        ("inner_step", settings.inner_step),
        ("tolerance_high", settings.tolerance_high),
        ("tolerance_low", settings.tolerance_low),
        ("longest_inner_time", settings.longest_inner_time),
        ("balance_tolerance", settings.balance_tolerance),
        ("most_iterations", settings.most_iterations as f64),
    ];
    match positive.iter().find(|(_, value)| !is_positive(*value)) {
        Some(&(name, value)) => Err(Unsuitable::Setting(name, value)),
        None => Ok(()),
    }
}

fn is_positive(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}
