//! What a part hands its neighbours: every step, or rarely.
//!
//! How numbers travel is left to a [`Wire`]: a mailbox between threads, messages between processes.

use crate::cut::{Cut, Message};
use crate::rare::{RareCut, SplitLine};
use fluxline_core::engine::{Border, Exchange};
use fluxline_core::state::State;

/// A way from one part to another, or back.
pub trait Wire {
    /// Posts message `n`.
    fn post(&mut self, n: u64, numbers: &[f64]);
    /// Waits for message `n`; leaves the numbers alone when it will not come, because a part has
    /// failed.
    fn take(&mut self, n: u64, numbers: &mut [f64]);
}

/// Which of the two messages of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// After the waves are known.
    Waves,
    /// After the flows are known; the only one of parts that exchange rarely.
    Flows,
}

/// A message and its way.
struct Route<'a, W> {
    message: &'a Message,
    wire: W,
    numbers: Vec<f64>,
}

impl<W: Wire> Route<'_, W> {
    #[inline]
    fn post(&mut self, n: u64, state: &State<f64>) {
        self.numbers.clear();
        self.message.read(state, |x| self.numbers.push(x));
        self.wire.post(n, &self.numbers);
    }
    #[inline]
    fn take(&mut self, n: u64, state: &mut State<f64>) {
        self.numbers.resize(self.message.len(), 0.0);
        self.wire.take(n, &mut self.numbers);
        let mut numbers = self.numbers.iter().copied();
        self.message.write(state, || numbers.next().unwrap_or_default());
    }
}

/// Exchange with the neighbours in every step.
pub struct Neighbours<'a, W> {
    border: Border,
    /// Number of the step, from 1.
    step: u64,
    sent: [Vec<Route<'a, W>>; 2],
    received: [Vec<Route<'a, W>>; 2],
}

impl<'a, W: Wire> Neighbours<'a, W> {
    /// The neighbours of a part; `wire` gives the way of a link's message.
    pub fn new(split: &'a Cut, part: usize, mut wire: impl FnMut(usize, Kind) -> W) -> Self {
        let mut sent = [Vec::new(), Vec::new()];
        let mut received = [Vec::new(), Vec::new()];
        for (i, link) in split.links.iter().enumerate() {
            let routes = match part {
                _ if link.from == part => &mut sent,
                _ if link.to == part => &mut received,
                _ => continue,
            };
            for (k, (kind, message)) in
                [(Kind::Waves, &link.waves), (Kind::Flows, &link.flows)].into_iter().enumerate()
            {
                if !message.is_empty() {
                    let numbers = Vec::with_capacity(message.len());
                    routes[k].push(Route { message, wire: wire(i, kind), numbers });
                }
            }
        }
        Self { border: split.parts[part].border, step: 0, sent, received }
    }
}

impl<W: Wire> Exchange for Neighbours<'_, W> {
    fn border(&self) -> Border {
        self.border
    }
    #[inline]
    fn post_waves(&mut self, state: &State<f64>) {
        self.step += 1;
        self.sent[0].iter_mut().for_each(|route| route.post(self.step, state));
    }
    #[inline]
    fn take_waves(&mut self, state: &mut State<f64>) {
        self.received[0].iter_mut().for_each(|route| route.take(self.step, state));
    }
    #[inline]
    fn post_flows(&mut self, state: &State<f64>) {
        self.sent[1].iter_mut().for_each(|route| route.post(self.step, state));
    }
    #[inline]
    fn take_flows(&mut self, state: &mut State<f64>) {
        self.received[1].iter_mut().for_each(|route| route.take(self.step, state));
    }
}

/// A split line as one of its parts sees it.
struct Here<'a> {
    line: &'a SplitLine,
    /// Z* = n·Z at all ends.
    impedance: f64,
    /// Of all ends, as last exchanged: what runs into the line, p* + Z*·q.
    arriving: Vec<f64>,
    /// Of all ends: filtered pressure; pressure at the last two exchanges.
    filtered: Vec<f64>,
    pressure: Vec<[f64; 2]>,
    /// Mean of what arrived, at the last two exchanges: the pressure of the line.
    mean: [f64; 2],
    /// Where the pressure of the line is among the states, for the part that keeps it.
    state: Option<usize>,
}

/// An own end of a split line.
struct OwnEnd {
    bond: usize,
    here: usize,
    end: usize,
    /// The wave at the last two exchanges.
    wave: [f64; 2],
}

struct RareRoute<W> {
    /// Cut line here, and end.
    ends: Vec<(usize, usize)>,
    wire: W,
    numbers: Vec<f64>,
}

/// Exchange with the neighbours every n-th step (Pollmeier, section 6.2): split lines are n steps
/// long, Z* = n·Z, and between exchanges their waves are interpolated.
pub struct Rare<'a, W> {
    every: u64,
    filter: f64,
    /// Steps since the last exchange, and exchanges so far.
    since: u64,
    exchanges: u64,
    lines: Vec<Here<'a>>,
    own: Vec<OwnEnd>,
    sent: Vec<RareRoute<W>>,
    received: Vec<RareRoute<W>>,
    /// Per split line here: its number, and the largest parasitic pressure between its ends.
    errors: Vec<(usize, f64, u64)>,
}

impl<'a, W: Wire> Rare<'a, W> {
    /// The neighbours of a part, beginning from a state; `wire` gives the way from one part to
    /// another.
    pub fn new(
        rare: &'a RareCut,
        part: usize,
        state: &State<f64>,
        mut wire: impl FnMut(usize, usize) -> W,
    ) -> Self {
        let mut lines = Vec::new();
        let mut own = Vec::new();
        let mut errors = Vec::new();
        let mut others = std::collections::BTreeMap::<usize, [Vec<(usize, usize)>; 2]>::new();
        for (number, line) in rare.lines.iter().enumerate() {
            if !line.parts.contains(&(part as u32)) {
                continue;
            }
            let bond = |end: usize| &state.bonds[line.bonds[end] as usize];
            let ends = line.bonds.len();
            let impedance = rare.every as f64 * bond(0).impedance;
            let pressure: Vec<f64> = (0..ends)
                .map(|end| bond(end).wave + bond(end).impedance * bond(end).flow)
                .collect();
            let arriving: Vec<f64> =
                (0..ends).map(|end| pressure[end] + impedance * bond(end).flow).collect();
            let mean = arriving.iter().sum::<f64>() / ends as f64;
            let here = lines.len();
            for end in 0..ends {
                let of = line.parts[end] as usize;
                if of == part {
                    let wave = 2.0 * mean - arriving[end];
                    let bond = line.bonds[end] as usize;
                    own.push(OwnEnd { bond, here, end, wave: [wave; 2] });
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
                errors.push((number, 0.0, 0));
            }
            lines.push(Here {
                line,
                impedance,
                arriving,
                filtered: pressure.clone(),
                pressure: pressure.iter().map(|&p| [p; 2]).collect(),
                mean: [mean; 2],
                state: keeps.then_some(line.pressure_state as usize),
            });
        }
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for (other, [out, back]) in others {
            let route = |ends: Vec<(usize, usize)>, wire: W| RareRoute {
                numbers: vec![0.0; 2 * ends.len()],
                ends,
                wire,
            };
            sent.push(route(out, wire(part, other)));
            received.push(route(back, wire(other, part)));
        }
        let (every, filter) = (u64::from(rare.every), rare.filter);
        Self { every, filter, since: 0, exchanges: 0, lines, own, sent, received, errors }
    }

    /// Number, largest parasitic pressure in Pa, and its exchange, of split lines that this part
    /// judges.
    pub fn split_errors(&self) -> &[(usize, f64, u64)] {
        &self.errors
    }

    /// New waves from what all ends have sent.
    fn renew(&mut self) {
        let mut judged = self.errors.iter_mut();
        for here in &mut self.lines {
            let ends = here.arriving.len() as f64;
            let mean = here.arriving.iter().sum::<f64>() / ends;
            here.mean = [here.mean[1], mean];
            if here.state.is_none() {
                continue;
            }
            // p_par as inside of parts: the spread over the ends of the mean of two exchanges.
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for &[before, now] in &here.pressure {
                low = low.min(before + now);
                high = high.max(before + now);
            }
            let spread = 0.5 * (high - low);
            if let Some((_, worst, at)) = judged.next()
                && spread > *worst
            {
                (*worst, *at) = (spread, self.exchanges);
            }
        }
        for own in &mut self.own {
            let here = &self.lines[own.here];
            own.wave = [own.wave[1], 2.0 * here.mean[1] - here.arriving[own.end]];
        }
    }

    /// Puts the ends of split lines back to the impedance of the circuit, with the same pressures
    /// and flows.
    pub fn restore(&self, state: &mut State<f64>) {
        for own in &self.own {
            let impedance = self.lines[own.here].impedance / self.every as f64;
            let bond = &mut state.bonds[own.bond];
            let pressure = bond.wave + bond.impedance * bond.flow;
            (bond.impedance, bond.wave) = (impedance, pressure - impedance * bond.flow);
        }
    }

    /// The split lines that it keeps.
    pub fn kept(&self) -> impl Iterator<Item = &SplitLine> {
        self.lines.iter().filter(|here| here.state.is_some()).map(|here| here.line)
    }
}

impl<W: Wire> Exchange for Rare<'_, W> {
    fn border(&self) -> Border {
        Border::ALL
    }
    fn post_waves(&mut self, _: &State<f64>) {}
    /// Between exchanges waves run linearly from the last but one to the last.
    #[inline]
    fn take_waves(&mut self, state: &mut State<f64>) {
        self.since += 1;
        let part = self.since as f64 / self.every as f64;
        for own in &self.own {
            let bond = &mut state.bonds[own.bond];
            bond.wave = own.wave[0] + (own.wave[1] - own.wave[0]) * part;
            bond.impedance = self.lines[own.here].impedance;
        }
        for here in &self.lines {
            if let Some(at) = here.state {
                state.states[at] = here.mean[0] + (here.mean[1] - here.mean[0]) * part;
            }
        }
    }
    #[inline]
    fn post_flows(&mut self, state: &State<f64>) {
        if self.since < self.every {
            return;
        }
        self.exchanges += 1;
        for own in &self.own {
            let here = &mut self.lines[own.here];
            let bond = &state.bonds[own.bond];
            let pressure = bond.wave + here.impedance * bond.flow;
            // The filter acts on what is exchanged, not on every step.
            let filtered = (1.0 - self.filter) * pressure + self.filter * here.filtered[own.end];
            here.filtered[own.end] = filtered;
            here.pressure[own.end] = [here.pressure[own.end][1], pressure];
            here.arriving[own.end] = filtered + here.impedance * bond.flow;
        }
        for route in &mut self.sent {
            for (two, &(here, end)) in route.numbers.chunks_exact_mut(2).zip(&route.ends) {
                let here = &self.lines[here];
                two.copy_from_slice(&[here.arriving[end], here.pressure[end][1]]);
            }
            route.wire.post(self.exchanges, &route.numbers);
        }
    }
    #[inline]
    fn take_flows(&mut self, _: &mut State<f64>) {
        if self.since < self.every {
            return;
        }
        self.since = 0;
        for route in &mut self.received {
            route.wire.take(self.exchanges, &mut route.numbers);
            for (two, &(here, end)) in route.numbers.chunks_exact(2).zip(&route.ends) {
                let here = &mut self.lines[here];
                here.arriving[end] = two[0];
                here.pressure[end] = [here.pressure[end][1], two[1]];
            }
        }
        self.renew();
    }
}
