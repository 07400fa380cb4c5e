//! What a run is judged by: parasitic error, balances of oil and energy, limits, cavitation.

use crate::declare::Counts;
use crate::domain::Role;
use crate::number::Num;
use crate::plan::{Plan, Watch};
use crate::state::State;
use crate::variables::Location;
use std::ops::Range;

/// A sum that does not lose small parts (Neumaier).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    /// Adds a number.
    #[inline(always)]
    pub fn add(&mut self, x: f64) {
        let t = self.total + x;
        self.lost +=
            if self.total.abs() >= x.abs() { (self.total - t) + x } else { (x - t) + self.total };
        self.total = t;
    }
    /// The sum.
    pub fn value(&self) -> f64 {
        self.total + self.lost
    }
}

/// Running figures of a run.
#[derive(Clone, Debug)]
pub struct Tally {
    /// False switches all figures off, for benchmarks.
    pub enabled: bool,
    /// There is something to add up.
    watches: bool,
    /// Per rate, for the engine: flow over the border summed over sub-steps.
    pub border_flow: Vec<Vec<f64>>,
    previous_effort: Vec<f64>,
    previous_chamber: Vec<f64>,
    /// Per lumped line, then per chamber: largest parasitic effort, and the step at which it
    /// occurred.
    pub parasitic: Vec<(f64, u64)>,
    /// Largest parasitic effort of oil lines in the last step, Pa.
    pub last_parasitic: f64,
    /// Per rate and place at the edge of the circuit: oil that entered, and the sum of its magnitude.
    /// Each place has its own, so that the sums do not depend on who computes them.
    inflow: Vec<Vec<(Sum, f64)>>,
    /// Per store: work done on it, and the sum of its magnitude.
    work: Vec<(Sum, f64)>,
    content_at_start: f64,
    energy_at_start: Vec<f64>,
    begun_at: u64,
    /// The number that events of this step are filed under, where it is not the step number.
    pub(crate) stamp: Option<u64>,
}

impl Tally {
    /// Begins at a state.
    pub fn new(plan: &Plan, state: &mut State<f64>, enabled: bool) -> Self {
        let watch = &plan.watch;
        let mut tally = Self {
            enabled,
            watches: watch.has_figures(),
            border_flow: plan.rates.iter().map(|r| vec![0.0; r.borders.len()]).collect(),
            previous_effort: Vec::new(),
            previous_chamber: vec![0.0; watch.chambers.len()],
            parasitic: vec![(0.0, 0); watch.lumped.len() + watch.chambers.len()],
            last_parasitic: 0.0,
            inflow: (watch.boundary.iter())
                .map(|places| vec![(Sum::default(), 0.0); places.len()])
                .collect(),
            work: vec![(Sum::default(), 0.0); watch.stores.len()],
            content_at_start: 0.0,
            energy_at_start: Vec::new(),
            begun_at: state.step,
            stamp: None,
        };
        if enabled {
            for (_, bonds) in &watch.lumped {
                tally.previous_effort.extend(bonds.iter().map(|&b| state.bonds[b as usize].effort));
            }
            tally.content_at_start = content(plan, state);
            tally.energy_at_start = energies(plan, state);
        }
        tally
    }

    /// Whether there is anything to do after a step.
    pub(crate) fn adds_up(&self) -> bool {
        self.enabled && self.watches
    }

    /// The step changes: the last flows stand for half the old and half the new step.
    pub(crate) fn change_step(&mut self, plan: &Plan, state: &State<f64>, old: f64, new: f64) {
        for (rate, boundary) in plan.watch.boundary.iter().enumerate() {
            let more = 0.5 * (new - old) / f64::from(plan.rates[rate].divisor);
            for (&(bond, sign), (inflow, _)) in boundary.iter().zip(&mut self.inflow[rate]) {
                inflow.add(state.bonds[bond as usize].flow * sign * more);
            }
        }
    }

    /// After the flows of a (sub-)step of a rate are known.
    #[inline(always)]
    pub(crate) fn after(&mut self, plan: &Plan, rate: usize, state: &State<f64>, dt: f64) {
        if self.adds_up() {
            self.add_up(plan, rate, state, dt);
        }
    }

    fn add_up(&mut self, plan: &Plan, rate: usize, state: &State<f64>, dt: f64) {
        for (&(bond, sign), (inflow, size)) in
            plan.watch.boundary[rate].iter().zip(&mut self.inflow[rate])
        {
            let volume = state.bonds[bond as usize].flow * sign * dt;
            inflow.add(volume);
            *size += volume.abs();
        }
        for (store, bonds) in &plan.watch.store_bonds[rate] {
            let mut power = 0.0;
            for &b in bonds {
                let bond = &state.bonds[b as usize];
                power += bond.effort * bond.flow;
            }
            let (sum, size) = &mut self.work[*store as usize];
            sum.add(power * dt);
            *size += (power * dt).abs();
        }
        if rate == 0 && !self.parasitic.is_empty() {
            self.parasitic(plan, state);
        }
    }

    /// p_par = spread over the ends of (p(t) + p(t − T))/2 (Pollmeier 3.4, for any number of ends):
    /// the mean of two steps, without which it would mostly show the ringing of neighbours.
    fn parasitic(&mut self, plan: &Plan, state: &State<f64>) {
        let mut previous = self.previous_effort.iter_mut();
        self.last_parasitic = 0.0;
        let stamp = self.stamp.unwrap_or(state.step + 1);
        let (lines, chambers) = self.parasitic.split_at_mut(plan.watch.lumped.len());
        for ((_, bonds), worst) in plan.watch.lumped.iter().zip(lines) {
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for (&b, before) in bonds.iter().zip(previous.by_ref()) {
                let effort = state.bonds[b as usize].effort;
                let both = effort + *before;
                *before = effort;
                low = if both < low { both } else { low };
                high = if both > high { both } else { high };
            }
            let spread = 0.5 * (high - low);
            if spread > worst.0 {
                *worst = (spread, stamp);
            }
            if spread > self.last_parasitic {
                self.last_parasitic = spread;
            }
        }
        // The far end of a chamber lies as far below its mean pressure as the port above.
        for (((_, bond, mean), worst), before) in
            plan.watch.chambers.iter().zip(chambers).zip(&mut self.previous_chamber)
        {
            let apart = state.bonds[*bond as usize].effort - state.states[*mean as usize];
            let spread = (apart + *before).abs();
            *before = apart;
            if spread > worst.0 {
                *worst = (spread, stamp);
            }
            if spread > self.last_parasitic {
                self.last_parasitic = spread;
            }
        }
    }
}

/// The running figures of a [`Tally`] in any kind of number, for whoever computes a step otherwise
/// than the engine: the same sums in the same order.
#[derive(Clone, Debug)]
pub struct Figures<T> {
    previous_effort: Vec<T>,
    previous_chamber: Vec<T>,
    /// Largest parasitic effort, and the number of the step.
    parasitic: Vec<[T; 2]>,
    /// Largest at the last step.
    pub last_parasitic: T,
    /// Per rate and place: total, what it has lost, sum of magnitudes.
    inflow: Vec<Vec<[T; 3]>>,
    /// Total, what it has lost, sum of magnitudes.
    work: Vec<[T; 3]>,
}

/// [`Sum::add`].
fn add<T: Num>(total: &mut T, lost: &mut T, x: T) {
    let t = *total + x;
    let (kept, other) = ((*total - t) + x, (x - t) + *total);
    *lost += T::select(x.abs().le(total.abs()), kept, other);
    *total = t;
}

impl<T: Num> Figures<T> {
    /// All zero.
    pub fn of(plan: &Plan) -> Self {
        let (watch, zero) = (&plan.watch, T::zero());
        Self {
            previous_effort: vec![zero; watch.lumped.iter().map(|(_, bonds)| bonds.len()).sum()],
            previous_chamber: vec![zero; watch.chambers.len()],
            parasitic: vec![[zero; 2]; watch.lumped.len() + watch.chambers.len()],
            last_parasitic: zero,
            inflow: (watch.boundary.iter()).map(|places| vec![[zero; 3]; places.len()]).collect(),
            work: vec![[zero; 3]; watch.stores.len()],
        }
    }

    /// Shows every number, always in the same order.
    pub fn each(&mut self, mut see: impl FnMut(&mut T)) {
        self.previous_effort.iter_mut().for_each(&mut see);
        self.previous_chamber.iter_mut().for_each(&mut see);
        self.parasitic.as_flattened_mut().iter_mut().for_each(&mut see);
        see(&mut self.last_parasitic);
        let places = self.inflow.iter_mut().flat_map(|places| places.as_flattened_mut());
        places.for_each(&mut see);
        self.work.as_flattened_mut().iter_mut().for_each(&mut see);
    }

    /// As the engine does after a (sub-)step of a rate; `stamp` is the number of the main step.
    pub fn after(&mut self, plan: &Plan, rate: usize, state: &State<T>, dt: f64, stamp: T) {
        let places = plan.watch.boundary[rate].iter().zip(&mut self.inflow[rate]);
        for (&(bond, sign), sums) in places {
            add_to(sums, state.bonds[bond as usize].flow * sign * dt);
        }
        for (store, bonds) in &plan.watch.store_bonds[rate] {
            let ends = bonds.iter().map(|&b| &state.bonds[b as usize]);
            let power = power_of(ends.map(|bond| (bond.effort, bond.flow)));
            add_to(&mut self.work[*store as usize], power * dt);
        }
        if rate > 0 || self.parasitic.is_empty() {
            return;
        }
        self.last_parasitic = T::zero();
        let mut note = |worst: &mut [T; 2], spread: T| {
            note(worst, spread, stamp);
            self.last_parasitic = larger(self.last_parasitic, spread);
        };
        let mut previous = &mut self.previous_effort[..];
        let (lines, chambers) = self.parasitic.split_at_mut(plan.watch.lumped.len());
        for ((_, bonds), worst) in plan.watch.lumped.iter().zip(lines) {
            let (own, others) = previous.split_at_mut(bonds.len());
            previous = others;
            note(worst, spread_of(bonds.iter().map(|&b| state.bonds[b as usize].effort), own));
        }
        for (((_, bond, mean), worst), before) in
            plan.watch.chambers.iter().zip(chambers).zip(&mut self.previous_chamber)
        {
            let ends = (state.bonds[*bond as usize].effort, state.states[*mean as usize]);
            note(worst, spread_inside(ends, before));
        }
    }
}

/// Adds to total, what it has lost, and sum of magnitudes.
fn add_to<T: Num>([total, lost, size]: &mut [T; 3], x: T) {
    add(total, lost, x);
    *size += x.abs();
}

/// Σ p·q.
fn power_of<T: Num>(ends: impl Iterator<Item = (T, T)>) -> T {
    let mut power = T::zero();
    for (effort, flow) in ends {
        power += effort * flow;
    }
    power
}

/// Parasitic effort of a line, see [`Tally`].
fn spread_of<T: Num>(efforts: impl Iterator<Item = T>, previous: &mut [T]) -> T {
    let (mut low, mut high) = (T::of(f64::INFINITY), T::of(f64::NEG_INFINITY));
    for (effort, before) in efforts.zip(previous) {
        let both = effort + *before;
        *before = effort;
        low = T::select(both.lt(low), both, low);
        high = T::select(both.gt(high), both, high);
    }
    (high - low) * 0.5
}

/// That of a chamber.
fn spread_inside<T: Num>((effort, mean): (T, T), before: &mut T) -> T {
    let apart = effort - mean;
    let spread = (apart + *before).abs();
    *before = apart;
    spread
}

fn note<T: Num>(worst: &mut [T; 2], spread: T, stamp: T) {
    let is_worse = spread.gt(worst[0]);
    let [value, when] = *worst;
    *worst = [T::select(is_worse, spread, value), T::select(is_worse, stamp, when)];
}

/// The larger of two; what is no number is not.
pub fn larger<T: Num>(most: T, x: T) -> T {
    T::select(x.gt(most), x, most)
}

/// Where figures are among the numbers that [`Figures::each`] shows, of a circuit with one rate.
#[derive(Debug)]
pub struct FigurePlaces<'p> {
    watch: &'p Watch,
    /// Where the previous efforts of each line begin, and where those of chambers.
    previous: Vec<u32>,
    /// Where the worst parasitic efforts, the inflows and the work begin, and how many there are.
    worst: u32,
    inflow: u32,
    work: u32,
    count: u32,
}

impl<'p> FigurePlaces<'p> {
    /// Those of a plan.
    pub fn of(plan: &'p Plan) -> Self {
        let watch = &plan.watch;
        let mut previous = vec![0];
        for (_, bonds) in &watch.lumped {
            previous.push(previous[previous.len() - 1] + bonds.len() as u32);
        }
        let (lines, chambers) = (watch.lumped.len() as u32, watch.chambers.len() as u32);
        let worst = previous[previous.len() - 1] + chambers;
        let inflow = worst + 2 * (lines + chambers) + 1;
        let work = inflow + 3 * watch.boundary[0].len() as u32;
        let count = work + 3 * watch.stores.len() as u32;
        Self { watch, previous, worst, inflow, work, count }
    }

    /// How many there are, the parasitic effort of each place at present included, which come last.
    pub fn count(&self) -> u32 {
        self.count + self.parasitic().len() as u32
    }

    /// The parasitic efforts at present.
    pub fn parasitic(&self) -> Range<u32> {
        let places = self.watch.lumped.len() + self.watch.chambers.len();
        self.count..self.count + places as u32
    }

    /// The numbers of the state that a figure looks at, and its own.
    pub fn reach(&self, figure: Figure) -> (Vec<Location>, Vec<u32>) {
        let effort = |&bond: &u32| Location::Bond(bond, Role::Effort);
        let flow = |bond: u32| Location::Bond(bond, Role::Flow);
        let three = |first: u32| (first..first + 3).collect();
        let worst = |at: u32| [self.worst + 2 * at, self.worst + 2 * at + 1, self.count + at];
        match figure {
            Figure::Inflow(i) => {
                (vec![flow(self.watch.boundary[0][i as usize].0)], three(self.inflow + 3 * i))
            }
            Figure::Work(i) => {
                let (store, bonds) = &self.watch.store_bonds[0][i as usize];
                let seen = bonds.iter().flat_map(|bond| [effort(bond), flow(*bond)]).collect();
                (seen, three(self.work + 3 * store))
            }
            Figure::Line(i) => {
                let at = i as usize;
                let previous = self.previous[at]..self.previous[at + 1];
                let bonds = &self.watch.lumped[at].1;
                (bonds.iter().map(effort).collect(), previous.chain(worst(i)).collect())
            }
            Figure::Chamber(i) => {
                let (_, bond, mean) = &self.watch.chambers[i as usize];
                let lines = self.watch.lumped.len();
                let mut own = vec![self.previous[lines] + i];
                own.extend(worst(lines as u32 + i));
                (vec![effort(bond), Location::State(*mean)], own)
            }
        }
    }
}

/// What one place of a circuit adds to the figures in a main step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Figure {
    /// Oil over the edge of the circuit.
    Inflow(u32),
    /// Work of a store.
    Work(u32),
    /// Parasitic effort of a line.
    Line(u32),
    /// Parasitic effort of a chamber.
    Chamber(u32),
}

impl Figure {
    /// All of a circuit with one rate, in the order of the engine.
    pub fn all(plan: &Plan) -> Vec<Self> {
        let watch = &plan.watch;
        let mut all: Vec<Self> = (0..watch.boundary[0].len() as u32).map(Self::Inflow).collect();
        all.extend((0..watch.store_bonds[0].len() as u32).map(Self::Work));
        all.extend((0..watch.lumped.len() as u32).map(Self::Line));
        all.extend((0..watch.chambers.len() as u32).map(Self::Chamber));
        all
    }

    /// Adds a step up, as [`Figures::after`]: from what it looks at, to its own numbers.
    pub fn after<T: Num>(self, plan: &Plan, seen: &[T], own: &mut [T], stamp: T) {
        let dt = plan.step;
        match (self, seen, own) {
            (Self::Inflow(i), &[flow], [total, lost, size]) => {
                let (_, sign) = plan.watch.boundary[0][i as usize];
                let mut sums = [*total, *lost, *size];
                add_to(&mut sums, flow * sign * dt);
                [*total, *lost, *size] = sums;
            }
            (Self::Work(_), _, [total, lost, size]) => {
                let mut sums = [*total, *lost, *size];
                let ends = seen.chunks_exact(2).map(|end| (end[0], end[1]));
                add_to(&mut sums, power_of(ends) * dt);
                [*total, *lost, *size] = sums;
            }
            (Self::Line(_), _, [previous @ .., worst, when, now]) => {
                *now = spread_of(seen.iter().copied(), previous);
                let mut both = [*worst, *when];
                note(&mut both, *now, stamp);
                [*worst, *when] = both;
            }
            (Self::Chamber(_), &[effort, mean], [before, worst, when, now]) => {
                *now = spread_inside((effort, mean), before);
                let mut both = [*worst, *when];
                note(&mut both, *now, stamp);
                [*worst, *when] = both;
            }
            _ => {}
        }
    }
}

impl Tally {
    /// The running figures, to be carried on elsewhere.
    pub fn figures(&self, plan: &Plan) -> Figures<f64> {
        let mut figures = Figures::of(plan);
        figures.previous_effort.copy_from_slice(&self.previous_effort);
        figures.previous_chamber.copy_from_slice(&self.previous_chamber);
        for (to, &(spread, step)) in figures.parasitic.iter_mut().zip(&self.parasitic) {
            *to = [spread, step as f64];
        }
        figures.last_parasitic = self.last_parasitic;
        let places = figures.inflow.iter_mut().flatten().zip(self.inflow.iter().flatten());
        for (to, (sum, size)) in places {
            *to = [sum.total, sum.lost, *size];
        }
        for (to, (sum, size)) in figures.work.iter_mut().zip(&self.work) {
            *to = [sum.total, sum.lost, *size];
        }
        figures
    }

    /// Takes the running figures back.
    pub fn take(&mut self, figures: &Figures<f64>) {
        self.previous_effort.copy_from_slice(&figures.previous_effort);
        self.previous_chamber.copy_from_slice(&figures.previous_chamber);
        for (to, &[spread, step]) in self.parasitic.iter_mut().zip(&figures.parasitic) {
            *to = (spread, step as u64);
        }
        self.last_parasitic = figures.last_parasitic;
        let places = self.inflow.iter_mut().flatten().zip(figures.inflow.iter().flatten());
        for ((sum, size), &[total, lost, sizes]) in places {
            (*sum, *size) = (Sum { total, lost }, sizes);
        }
        for ((sum, size), &[total, lost, sizes]) in self.work.iter_mut().zip(&figures.work) {
            (*sum, *size) = (Sum { total, lost }, sizes);
        }
    }
}

/// What of a circuit's figures a part of it keeps: places in the lists of the whole [`Watch`].
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Lumped lines.
    pub lumped: Vec<u32>,
    /// Chambers.
    pub chambers: Vec<u32>,
    /// Per rate: places at the edge of the circuit.
    pub boundary: Vec<Vec<u32>>,
}

impl Watch {
    /// Whether steps have anything to add up.
    fn has_figures(&self) -> bool {
        self.boundary.iter().any(|bonds| !bonds.is_empty())
            || self.store_bonds.iter().any(|stores| !stores.is_empty())
            || !(self.lumped.is_empty() && self.chambers.is_empty())
    }

    /// What a part watches, with its figures at the same places: component by component, and for the
    /// edge of the circuit by bond and sign.
    pub fn part(
        &self,
        has: impl Fn(u32) -> bool,
        has_edge: impl Fn(u32, f64) -> bool,
    ) -> (Watch, Kept) {
        let mut kept = Kept::default();
        let mut part = Watch { stores: self.stores.clone(), ..Watch::default() };
        for (i, (component, bonds)) in self.lumped.iter().enumerate() {
            if has(*component) {
                kept.lumped.push(i as u32);
                part.lumped.push((*component, bonds.clone()));
            }
        }
        for (i, chamber) in self.chambers.iter().enumerate() {
            if has(chamber.0) {
                kept.chambers.push(i as u32);
                part.chambers.push(*chamber);
            }
        }
        for stores in &self.store_bonds {
            let own = stores.iter().filter(|(s, _)| has(self.stores[*s as usize].component));
            part.store_bonds.push(own.cloned().collect());
        }
        for places in &self.boundary {
            let own = |&i: &u32| has_edge(places[i as usize].0, places[i as usize].1);
            let own: Vec<u32> = (0..places.len() as u32).filter(own).collect();
            part.boundary.push(own.iter().map(|&i| places[i as usize]).collect());
            kept.boundary.push(own);
        }
        part.counters = self.counters.iter().filter(|c| has(c.0)).copied().collect();
        (part, kept)
    }
}

impl Tally {
    /// The figures of a part, to be carried on there.
    pub fn part(&self, whole: &Plan, part: &Plan, kept: &Kept) -> Self {
        let own = |places: &[u32], figures: &[(f64, u64)], from: usize| -> Vec<(f64, u64)> {
            places.iter().filter_map(|&i| figures.get(from + i as usize).copied()).collect()
        };
        let mut parasitic = own(&kept.lumped, &self.parasitic, 0);
        parasitic.extend(own(&kept.chambers, &self.parasitic, whole.watch.lumped.len()));
        let mut previous_effort = Vec::new();
        for range in kept.efforts(&whole.watch).map(|(range, _)| range) {
            previous_effort.extend(self.previous_effort.get(range).unwrap_or(&[]));
        }
        Self {
            enabled: self.enabled,
            watches: part.watch.has_figures(),
            border_flow: part.rates.iter().map(|r| vec![0.0; r.borders.len()]).collect(),
            previous_effort,
            previous_chamber: kept
                .chambers
                .iter()
                .map(|&i| self.previous_chamber[i as usize])
                .collect(),
            parasitic,
            last_parasitic: 0.0,
            inflow: kept
                .boundary
                .iter()
                .zip(&self.inflow)
                .map(|(own, all)| own.iter().map(|&i| all[i as usize]).collect())
                .collect(),
            work: self.work.clone(),
            content_at_start: 0.0,
            energy_at_start: Vec::new(),
            begun_at: self.begun_at,
            stamp: None,
        }
    }

    /// Takes over other figures of the same part without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.previous_effort.copy_from_slice(&other.previous_effort);
        self.previous_chamber.copy_from_slice(&other.previous_chamber);
        self.parasitic.copy_from_slice(&other.parasitic);
        for (own, other) in self.inflow.iter_mut().zip(&other.inflow) {
            own.copy_from_slice(other);
        }
        self.work.copy_from_slice(&other.work);
        self.last_parasitic = other.last_parasitic;
    }

    /// Takes over the figures that a part has carried on.
    pub fn take_in(&mut self, whole: &Plan, part: &Plan, kept: &Kept, figures: &Tally) {
        let lines = whole.watch.lumped.len();
        let places = kept.lumped.iter().map(|&i| i as usize);
        let places = places.chain(kept.chambers.iter().map(|&i| lines + i as usize));
        for (place, figure) in places.zip(&figures.parasitic) {
            self.parasitic[place] = *figure;
        }
        if self.enabled {
            for (range, own) in kept.efforts(&whole.watch) {
                self.previous_effort[range].copy_from_slice(&figures.previous_effort[own]);
            }
        }
        for (&i, value) in kept.chambers.iter().zip(&figures.previous_chamber) {
            self.previous_chamber[i as usize] = *value;
        }
        for ((own, all), part) in kept.boundary.iter().zip(&mut self.inflow).zip(&figures.inflow) {
            for (&i, figure) in own.iter().zip(part) {
                all[i as usize] = *figure;
            }
        }
        for (store, _) in part.watch.store_bonds.iter().flatten() {
            self.work[*store as usize] = figures.work[*store as usize];
        }
    }

    /// The figures as numbers, to be sent to another process; [`Tally::from_numbers`] reads them.
    pub fn to_numbers(&self) -> Vec<u64> {
        let mut all = Vec::new();
        all.extend(self.parasitic.iter().flat_map(|(value, step)| [value.to_bits(), *step]));
        all.extend(self.previous_effort.iter().chain(&self.previous_chamber).map(|x| x.to_bits()));
        let sums = self.inflow.iter().flatten().chain(&self.work);
        all.extend(sums.flat_map(|(sum, size)| [sum.total, sum.lost, *size].map(f64::to_bits)));
        all
    }

    /// Reads figures of the same part; false when there are not as many.
    pub fn from_numbers(&mut self, numbers: &[u64]) -> bool {
        let mut numbers = numbers.iter().copied();
        let mut read = || -> Option<()> {
            for (value, step) in &mut self.parasitic {
                (*value, *step) = (f64::from_bits(numbers.next()?), numbers.next()?);
            }
            for x in self.previous_effort.iter_mut().chain(&mut self.previous_chamber) {
                *x = f64::from_bits(numbers.next()?);
            }
            for (sum, size) in self.inflow.iter_mut().flatten().chain(&mut self.work) {
                for x in [&mut sum.total, &mut sum.lost, size] {
                    *x = f64::from_bits(numbers.next()?);
                }
            }
            Some(())
        };
        read().is_some() && numbers.next().is_none()
    }
}

impl Kept {
    /// Where the last efforts of the kept lines are in the whole, and in the part.
    fn efforts(&self, whole: &Watch) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let begins: Vec<usize> = (whole.lumped.iter())
            .scan(0, |at, (_, bonds)| {
                *at += bonds.len();
                Some(*at - bonds.len())
            })
            .collect();
        let mut own = 0;
        let ranges: Vec<_> = (self.lumped.iter())
            .map(|&i| {
                let (begin, len) = (begins[i as usize], whole.lumped[i as usize].1.len());
                own += len;
                (begin..begin + len, own - len..own)
            })
            .collect();
        ranges.into_iter()
    }
}

fn content(plan: &Plan, state: &mut State<f64>) -> f64 {
    let mut sum = Sum::default();
    for m in plan.watch.stores.iter().filter(|m| m.holds_oil && m.is_c) {
        let group = &plan.rates[m.rate as usize].c[m.group as usize];
        sum.add(group.content(m.member as usize, state));
    }
    sum.value()
}

fn energies(plan: &Plan, state: &mut State<f64>) -> Vec<f64> {
    plan.watch
        .stores
        .iter()
        .map(|m| {
            let rate = &plan.rates[m.rate as usize];
            let groups = if m.is_c { &rate.c } else { &rate.q };
            groups[m.group as usize].energy(m.member as usize, state)
        })
        .collect()
}

/// A component and a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Component name.
    pub component: String,
    /// The number.
    pub value: f64,
}

/// The judgement of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Steps taken.
    pub steps: u64,
    /// Simulated time, s.
    pub simulated: f64,
    /// Worst parasitic pressure of oil lines, Pa, and the time at which it occurred.
    pub parasitic_pressure: Option<(Named, f64)>,
    /// Worst parasitic force or torque of springs and shafts.
    pub parasitic_force: Option<(Named, f64)>,
    /// Oil that entered, left and changed in store: what does not add up, m³.
    pub oil_error: f64,
    /// Oil that crossed the edge of the circuit, m³.
    pub oil_throughput: f64,
    /// Oil held at the end, m³.
    pub oil_held: f64,
    /// Work done on stores minus what they hold, J.
    pub energy_error: f64,
    /// Energy that went through stores, J.
    pub energy_throughput: f64,
    /// Steps at a limit, per component.
    pub limits: Vec<Named>,
    /// Steps with cavitation, per component.
    pub cavitation: Vec<Named>,
    /// Component steps whose equations did not converge, and the first component concerned.
    pub unconverged: Option<Named>,
}

impl Verdict {
    /// Judges a run from its figures and its last state.
    pub fn new(plan: &Plan, state: &mut State<f64>, tally: &Tally) -> Self {
        let steps = state.step - tally.begun_at;
        let mut verdict = Self { steps, simulated: steps as f64 * plan.step, ..Self::default() };
        let named = |component: u32, value: f64| Named {
            component: plan.name(component).to_owned(),
            value,
        };
        let lines = plan.watch.lumped.iter().map(|(component, _)| component);
        let chambers = plan.watch.chambers.iter().map(|(component, ..)| component);
        for (component, &(value, step)) in lines.chain(chambers).zip(&tally.parasitic) {
            let entry = &plan.variables.entries[*component as usize];
            let place = if entry.declaration.ports[0].domain.is_mechanical() {
                &mut verdict.parasitic_force
            } else {
                &mut verdict.parasitic_pressure
            };
            if place.as_ref().is_none_or(|(worst, _)| value > worst.value) {
                *place = Some((named(*component, value), plan.start + step as f64 * plan.step));
            }
        }
        if tally.enabled {
            verdict.oil_held = content(plan, state);
            let mut inflow = Sum::default();
            for (entered, size) in tally.inflow.iter().flatten() {
                inflow.add(entered.total);
                inflow.add(entered.lost);
                verdict.oil_throughput += size;
            }
            verdict.oil_error = verdict.oil_held - tally.content_at_start - inflow.value();
            let now = energies(plan, state);
            for (store, _) in plan.watch.store_bonds.iter().flatten() {
                let s = *store as usize;
                let (work, size) = &tally.work[s];
                verdict.energy_error += (now[s] - tally.energy_at_start[s] - work.value()).abs();
                verdict.energy_throughput += size;
            }
        }
        let counted = Self::counted(plan, state);
        (verdict.limits, verdict.cavitation) = (counted.limits, counted.cavitation);
        if state.faults.unconverged > 0 {
            let first = state.faults.first_component.saturating_sub(1);
            verdict.unconverged = Some(named(first, state.faults.unconverged as f64));
        }
        verdict
    }

    /// Only what a state has counted: steps at limits and with cavitation.
    pub fn counted(plan: &Plan, state: &State<f64>) -> Self {
        let mut verdict = Self::default();
        for &(component, at, counts) in &plan.watch.counters {
            let value = state.states[at as usize];
            if value > 0.0 {
                let named = Named { component: plan.name(component).to_owned(), value };
                match counts {
                    Counts::Limit => verdict.limits.push(named),
                    Counts::Cavitation => verdict.cavitation.push(named),
                    Counts::Nothing => {}
                }
            }
        }
        verdict
    }

    /// Oil that does not add up, relative to what went through (or is held).
    pub fn relative_oil_error(&self) -> f64 {
        relative(self.oil_error, self.oil_throughput.max(self.oil_held.abs()))
    }

    /// Enough energy went through lossless stores to judge the balance.
    pub fn judges_energy(&self) -> bool {
        self.energy_throughput > 1e-6
    }

    /// Energy that does not add up, relative to what went through stores.
    pub fn relative_energy_error(&self) -> f64 {
        relative(self.energy_error, self.energy_throughput)
    }
}

fn relative(error: f64, size: f64) -> f64 {
    if size > 0.0 { error.abs() / size } else { 0.0 }
}
