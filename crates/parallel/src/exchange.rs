//! What a part hands its neighbours in every step.
//!
//! How numbers travel is left to a [`Wire`]: a mailbox between threads, messages between processes.

use crate::cut::{Cut, Message};
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
        self.message.read(state, &mut self.numbers);
        self.wire.post(n, &self.numbers);
    }
    #[inline]
    fn take(&mut self, n: u64, state: &mut State<f64>) {
        self.wire.take(n, &mut self.numbers);
        self.message.write(state, &self.numbers);
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
                    let numbers = vec![0.0; message.len()];
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
