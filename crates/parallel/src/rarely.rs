//! Exchange over lines that are several steps long, as rarely as their error allows.
//!
//! A split line that is n steps long has the impedance Z* = n·Z (Pollmeier, thesis, University of
//! Bath, section 6.2). Every n-th step its ends hand each other pressure and flow, and in between
//! waves are interpolated. What that costs is the parasitic pressure between the ends, the split
//! error of section 6.4. It is about n·Z times what the flow changes by in n steps, and so grows as
//! n²; where flows jump, as they do when a run begins far from rest, it is many times what it is in
//! smooth motion.
//!
//! So n is not the same all the time. Every line begins with an exchange in every step, where it is
//! the delay line itself, and becomes longer, up to the n that is asked for, while its split error
//! stays below a bound; when that is exceeded, it goes back to every step. Whether it does follows
//! from pressures that all parts at the line have got in the same exchange: all of them come to the
//! same n, so that each sends what the others wait for.
//!
//! When n changes, so does Z, and what is under way in the line is corrected as in a line whose
//! stiffness changes: mean pressure and flows stay, and differences between the ends go with n. The
//! mean pressure over the ends is what the line holds, so that no oil is lost.

use crate::exchange::Wire;
use crate::rare::{NUMBERS, RareCut};
use fluxline_core::component::Filter;
use fluxline_core::engine::{Border, Exchange};
use fluxline_core::state::State;

/// A pressure that is small anywhere, Pa: bounds do not go below their share of it.
const LEAST_PRESSURE: f64 = 1e5;
/// Exchanges in a row whose error must be small before a line becomes longer: one may be so by
/// chance, where pressures cross each other.
const CALM: u32 = 2;

/// A split line as one of its parts sees it.
struct Here {
    /// Z of a line that is one step long.
    impedance: f64,
    /// How long it is to be, in steps.
    length: u64,
    /// Steps from the last exchange to the next, and the step of that. Lines exchange at multiples
    /// of their length, so that those of the same length do so in one message: `every` is less than
    /// `length` on the way there.
    every: u64,
    due_at: u64,
    /// Its ends exchange in this step.
    is_due: bool,
    /// Of all ends, as last exchanged: flow, filtered pressure, and pressure at the last two
    /// exchanges.
    flow: Vec<f64>,
    filtered: Vec<f64>,
    pressure: Vec<[f64; 2]>,
    /// Mean of the flows into all ends, at the last two exchanges.
    inflow: [f64; 2],
    /// The pressure of the line as the circuit's own line has it, one step from the last exchange on,
    /// and what it rises by in a step.
    line: [f64; 2],
    /// Largest pressure so far.
    largest: f64,
    /// Exchanges in a row with a small error.
    calm: u32,
    /// Where the pressure of the line is among the states, for the part that keeps it.
    state: Option<usize>,
}

impl Here {
    /// n·Z.
    fn long_impedance(&self) -> f64 {
        self.every as f64 * self.impedance
    }

    fn mean_of(values: impl Iterator<Item = f64>, ends: usize) -> f64 {
        values.sum::<f64>() / ends as f64
    }

    /// Spread over the ends, of something of their pressures at the last two exchanges.
    fn spread(&self, of: impl Fn([f64; 2]) -> f64) -> f64 {
        let values = || self.pressure.iter().map(|&two| of(two));
        let low = values().fold(f64::INFINITY, f64::min);
        values().fold(f64::NEG_INFINITY, f64::max) - low
    }

    /// Parasitic pressure as inside of parts: that of the mean of two exchanges.
    fn error(&self) -> f64 {
        self.spread(|[before, now]| 0.5 * (before + now))
    }

    /// How long the line is from now on.
    ///
    /// The spread of this exchange alone decides, as that of the mean would not see an error that
    /// changes sign from exchange to exchange; and what both ends have in common: where flows change
    /// by Δq from exchange to exchange, the line answers Z*·Δq/4 too early in between, and the filter
    /// lags by about as much.
    fn judge_length(&mut self, most: u64, share: f64) {
        let common = 0.5 * self.long_impedance() * (self.inflow[1] - self.inflow[0]).abs();
        let error = self.spread(|[_, now]| now) + common;
        let of_ends = self.pressure.iter().map(|&[_, now]| now.abs());
        self.largest = of_ends.fold(self.largest, f64::max);
        let bound = share * self.largest;
        // As it would be at full length: it grows with the square.
        let error = error * (self.length as f64 / self.every as f64).powi(2);
        if error > bound {
            (self.calm, self.length) = (0, 1);
        } else if 4.0 * error > bound {
            self.calm = 0;
        } else {
            self.calm += 1;
            if self.calm >= CALM {
                (self.calm, self.length) = (0, (2 * self.length).min(most));
            }
        }
    }

    /// Changes the steps to the next exchange, which is how long the line is until then; the same
    /// pressure and flows in the mean.
    fn change_interval(&mut self, every: u64) {
        if every == self.every {
            return;
        }
        let ratio = every as f64 / self.every as f64;
        let ends = self.pressure.len();
        let middle = Self::mean_of(self.pressure.iter().map(|&[_, now]| now), ends);
        for (pressure, filtered) in self.pressure.iter_mut().zip(&mut self.filtered) {
            // What the filter lags behind is what pressure changes by from exchange to exchange.
            let lag = ratio * (pressure[1] - *filtered);
            pressure[1] = middle + ratio * (pressure[1] - middle);
            *filtered = pressure[1] - lag;
        }
        self.every = every;
    }
}

/// An own end of a split line.
struct OwnEnd {
    bond: usize,
    here: usize,
    end: usize,
    /// The wave at the last exchange, and what it rises by in each step since.
    wave: f64,
    rise: f64,
    /// The step of that exchange.
    since: u64,
    /// n·Z.
    impedance: f64,
}

/// The way to or from another part, with the ends of lines that go over it.
struct Route<W> {
    /// Split line here, and end.
    ends: Vec<(usize, usize)>,
    wire: W,
    /// Messages so far.
    messages: u64,
    numbers: Vec<f64>,
}

impl<W> Route<W> {
    fn new(ends: Vec<(usize, usize)>, wire: W) -> Self {
        Self { numbers: Vec::with_capacity(NUMBERS * ends.len()), ends, wire, messages: 0 }
    }
}

/// What became of a split line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Its number among the split lines.
    pub line: usize,
    /// Largest parasitic pressure between its ends, Pa, and the step, counted from the beginning.
    pub worst: f64,
    /// The step.
    pub step: u64,
    /// How often its ends have exchanged.
    pub exchanges: u64,
}

/// Exchange with the neighbours as rarely as the error allows, at most every n-th step.
pub struct Rare<W> {
    most: u64,
    /// Bound of the split error, as a share of the largest pressure; infinite where n is kept
    /// whatever the error.
    share: f64,
    /// The filter of the circuit's lines, which acts on what is exchanged.
    filter: Filter,
    steps: u64,
    /// The step of the next exchange of any line: nothing is to be done before it but to go on with
    /// waves.
    due_at: u64,
    lines: Vec<Here>,
    own: Vec<OwnEnd>,
    sent: Vec<Route<W>>,
    received: Vec<Route<W>>,
    judged: Vec<Judged>,
}

impl<W: Wire> Rare<W> {
    /// The neighbours of a part, beginning from a state; `wire` gives the way from one part to
    /// another.
    pub fn new(
        rare: &RareCut,
        part: usize,
        state: &State<f64>,
        mut wire: impl FnMut(usize, usize) -> W,
    ) -> Self {
        let most = u64::from(rare.every);
        let mut lines = Vec::new();
        let mut own = Vec::new();
        let mut judged = Vec::new();
        let mut others = std::collections::BTreeMap::<usize, [Vec<(usize, usize)>; 2]>::new();
        for (number, line) in rare.lines.iter().enumerate() {
            if !line.parts.contains(&(part as u32)) {
                continue;
            }
            let bonds = || line.bonds.iter().map(|&b| &state.bonds[b as usize]);
            let here = lines.len();
            for (end, of) in line.parts.iter().map(|&p| p as usize).enumerate() {
                if of == part {
                    let bond = line.bonds[end] as usize;
                    let (wave, rise, since, impedance) = (0.0, 0.0, 0, 0.0);
                    own.push(OwnEnd { bond, here, end, wave, rise, since, impedance });
                    for other in line.parts.iter().map(|&p| p as usize).filter(|&p| p != part) {
                        let ends = &mut others.entry(other).or_default()[0];
                        if !ends.contains(&(here, end)) {
                            ends.push((here, end));
                        }
                    }
                } else {
                    others.entry(of).or_default()[1].push((here, end));
                }
            }
            // The first part at a line keeps its pressure and judges its error.
            let keeps = line.parts[0] as usize == part;
            if keeps {
                judged.push(Judged { line: number, worst: 0.0, step: 0, exchanges: 0 });
            }
            let pressure: Vec<f64> = bonds().map(|b| b.wave + b.impedance * b.flow).collect();
            lines.push(Here {
                impedance: bonds().next().map_or(0.0, |bond| bond.impedance),
                length: if rare.is_bounded() { 1 } else { most },
                every: if rare.is_bounded() { 1 } else { most },
                due_at: 0,
                is_due: true,
                inflow: [Here::mean_of(bonds().map(|bond| bond.flow), pressure.len()); 2],
                flow: bonds().map(|bond| bond.flow).collect(),
                filtered: pressure.clone(),
                pressure: pressure.iter().map(|&p| [p; 2]).collect(),
                line: [0.0; 2],
                largest: LEAST_PRESSURE,
                calm: 0,
                state: keeps.then_some(line.pressure_state as usize),
            });
        }
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for (other, [out, back]) in others {
            sent.push(Route::new(out, wire(part, other)));
            received.push(Route::new(back, wire(other, part)));
        }
        let (share, filter) = (rare.bound, rare.filter);
        let (steps, due_at) = (0, 0);
        let mut new =
            Self { most, share, filter, steps, due_at, lines, own, sent, received, judged };
        new.renew_waves();
        new
    }

    /// What became of the split lines that this part judges.
    pub fn judged(&self) -> &[Judged] {
        &self.judged
    }

    /// Puts the ends of split lines back to the impedance of the circuit, with the same pressures
    /// and flows.
    pub fn restore(&self, state: &mut State<f64>) {
        for own in &self.own {
            let impedance = self.lines[own.here].impedance;
            let bond = &mut state.bonds[own.bond];
            let pressure = bond.wave + bond.impedance * bond.flow;
            (bond.impedance, bond.wave) = (impedance, pressure - impedance * bond.flow);
        }
    }

    /// After an exchange: how long lines are from now on, and what went wrong so far.
    fn judge(&mut self) {
        let mut judged = self.judged.iter_mut();
        for here in &mut self.lines {
            let judged = here.state.and_then(|_| judged.next());
            if !here.is_due {
                continue;
            }
            let inflow = Here::mean_of(here.flow.iter().copied(), here.flow.len());
            here.inflow = [here.inflow[1], inflow];
            let error = here.error();
            if let Some(judged) = judged {
                judged.exchanges += 1;
                if error > judged.worst {
                    (judged.worst, judged.step) = (error, self.steps);
                }
            }
            if self.share.is_finite() {
                here.judge_length(self.most, self.share);
                here.change_interval(here.length - self.steps % here.length);
            }
        }
    }

    /// New waves at own ends, from what all ends have sent: from p − Z*·q now linearly to what arrives
    /// from the others at the next exchange.
    fn renew_waves(&mut self) {
        let of_waves = match self.filter {
            Filter::Wave(factor) => factor,
            Filter::None | Filter::Pressure(_) => 0.0,
        };
        for here in self.lines.iter_mut().filter(|here| here.is_due) {
            let ends = here.flow.len();
            let now = Here::mean_of(here.pressure.iter().map(|&[_, now]| now), ends);
            let lag =
                (now - Here::mean_of(here.filtered.iter().copied(), ends)) / here.every as f64;
            // Z is 1/(1 − α) times that of the volume.
            let rise = 2.0 * (1.0 - self.filter.factor()) * here.impedance * here.inflow[1];
            // The mean of waves that are filtered: α·(p̄ − Z·q̄) + (1 − α)·(p̄ + Z·q̄).
            let ahead = (1.0 - 2.0 * of_waves) * here.impedance * here.inflow[1];
            here.line = [now - lag + ahead, rise];
        }
        for own in &mut self.own {
            let here = &self.lines[own.here];
            if here.is_due {
                let turned = here.long_impedance() * here.flow[own.end];
                let arriving = here.filtered[own.end] + turned;
                let filtered = Here::mean_of(here.filtered.iter().copied(), here.flow.len());
                let mean = filtered + here.long_impedance() * here.inflow[1];
                let now = here.pressure[own.end][1] - turned;
                let then = of_waves * now + (1.0 - of_waves) * (2.0 * mean - arriving);
                (own.wave, own.rise) = match here.every {
                    // The line of the circuit itself.
                    1 => (then, 0.0),
                    every => (now, (then - now) / every as f64),
                };
                (own.since, own.impedance) = (self.steps, here.long_impedance());
            }
        }
        for here in self.lines.iter_mut().filter(|here| here.is_due) {
            (here.is_due, here.due_at) = (false, self.steps + here.every);
        }
        self.due_at = self.lines.iter().map(|here| here.due_at).min().unwrap_or(u64::MAX);
    }
}

impl<W: Wire> Exchange for Rare<W> {
    fn border(&self) -> Border {
        Border::ALL
    }
    fn post_waves(&mut self, _: &State<f64>) {}
    /// Between exchanges waves run linearly from one to the next.
    #[inline]
    fn take_waves(&mut self, state: &mut State<f64>) {
        self.steps += 1;
        for own in &self.own {
            let bond = &mut state.bonds[own.bond];
            bond.wave = own.wave + own.rise * (self.steps - own.since) as f64;
            bond.impedance = own.impedance;
        }
        for here in &self.lines {
            if let Some(at) = here.state {
                let since = self.steps + here.every - here.due_at;
                state.states[at] = here.line[0] + here.line[1] * (since - 1) as f64;
            }
        }
    }
    #[inline]
    fn post_flows(&mut self, state: &State<f64>) {
        if self.steps != self.due_at {
            return;
        }
        for here in &mut self.lines {
            here.is_due = here.due_at == self.steps;
        }
        for own in &self.own {
            let here = &mut self.lines[own.here];
            if here.is_due {
                let bond = &state.bonds[own.bond];
                let pressure = bond.wave + bond.impedance * bond.flow;
                here.flow[own.end] = bond.flow;
                here.pressure[own.end] = [here.pressure[own.end][1], pressure];
            }
        }
        for route in &mut self.sent {
            route.numbers.clear();
            for &(here, end) in &route.ends {
                let here = &self.lines[here];
                if here.is_due {
                    route.numbers.extend([here.pressure[end][1], here.flow[end]]);
                }
            }
            if !route.numbers.is_empty() {
                route.messages += 1;
                route.wire.post(route.messages, &route.numbers);
            }
        }
    }
    #[inline]
    fn take_flows(&mut self, _: &mut State<f64>) {
        if self.steps != self.due_at {
            return;
        }
        for route in &mut self.received {
            let due = route.ends.iter().filter(|(here, _)| self.lines[*here].is_due).count();
            if due == 0 {
                continue;
            }
            route.messages += 1;
            route.numbers.resize(NUMBERS * due, 0.0);
            route.wire.take(route.messages, &mut route.numbers);
            let mut numbers = route.numbers.chunks_exact(NUMBERS);
            for &(here, end) in &route.ends {
                let here = &mut self.lines[here];
                if here.is_due
                    && let Some(two) = numbers.next()
                {
                    here.pressure[end] = [here.pressure[end][1], two[0]];
                    here.flow[end] = two[1];
                }
            }
        }
        let keep = match self.filter {
            Filter::Pressure(factor) => factor,
            Filter::None | Filter::Wave(_) => 0.0,
        };
        for here in self.lines.iter_mut().filter(|here| here.is_due) {
            // The filter acts on what is exchanged, not on every step; all parts apply it to all ends.
            for (filtered, &[_, pressure]) in here.filtered.iter_mut().zip(&here.pressure) {
                *filtered = (1.0 - keep) * pressure + keep * *filtered;
            }
        }
        self.judge();
        self.renew_waves();
    }
}
