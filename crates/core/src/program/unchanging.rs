//! Numbers of the state that no step changes, as far as trying tells.
//!
//! To follow a step takes a thousand times as long as to take it. So what may be constant is found out
//! by the engine first: the numbers that change are shaken, steps are taken at all times of a run, and
//! whatever changes with them is shaken, too. A number that comes through this need not be constant (a
//! relief valve may not have opened); that is seen when the step is followed. But one that does change
//! cannot be, so that nothing is lost.

use super::{Array, Layout, get, long_history, set};
use crate::engine;
use crate::monitor::Tally;
use crate::plan::Plan;
use crate::state::State;

/// Steps in a row in which nothing new changes, after which no more are tried, and steps in all.
const QUIET: usize = 12;
const MOST: usize = 400;
/// Main steps between two that are tried, more every time: far enough to meet what begins late.
const APART: u64 = 7;

pub(super) struct Trial<'a> {
    plan: &'a Plan,
    start: &'a State<f64>,
    layout: Layout,
    state: State<f64>,
    tally: Tally,
    /// Whether each number changes.
    changes: Vec<bool>,
    /// The same, as a list.
    changing: Vec<u32>,
    /// Those that go from component to component: memory alone, such as that of a long pipe, may go on
    /// changing number by number.
    seen: usize,
    chance: u64,
}

impl<'a> Trial<'a> {
    pub(super) fn new(plan: &'a Plan, start: &'a State<f64>) -> Self {
        let layout = Layout::of(start);
        let mut state = start.clone();
        let tally = Tally::new(plan, &mut state, false);
        let changes = vec![false; layout.first(Array::Figures) as usize];
        let mut trial = Self {
            plan,
            start,
            layout,
            state,
            tally,
            changes,
            changing: Vec::new(),
            seen: 0,
            chance: 1,
        };
        // What only the engine sees may change whenever it likes.
        let states = layout.first(Array::States);
        for history in plan.variables.entries.iter().filter_map(long_history) {
            history.for_each(|i| trial.note(states + i));
        }
        trial
    }

    pub(super) fn changes(&self) -> &[bool] {
        &self.changes
    }

    /// A number turned out to change.
    pub(super) fn note(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.changes[slot as usize], true) {
            self.changing.push(slot);
            self.seen += usize::from(slot < self.layout.bonds + self.layout.signals);
        }
    }

    /// Tries until nothing new changes any more.
    pub(super) fn run(&mut self) {
        let (mut quiet, mut far) = (0, 0);
        for _ in 0..MOST {
            if quiet == QUIET {
                return;
            }
            let known = self.seen;
            // The first steps are those of the run.
            if far > 0 {
                self.shake();
            }
            engine::step(self.plan, &mut self.state, &mut self.tally, false);
            self.look();
            quiet = if self.seen > known { 0 } else { quiet + 1 };
            far += APART << quiet.min(20);
            self.state.step = self.start.step + far;
            self.state.time = self.start.time + far as f64 * self.plan.step;
        }
    }

    /// What has changed is noted; what is not finite begins anew.
    fn look(&mut self) {
        let mut found = Vec::new();
        let mut slot = 0;
        let mut look = |now: &mut f64, start: f64| {
            if now.to_bits() != start.to_bits() {
                if !self.changes[slot as usize] {
                    found.push(slot);
                }
                if !now.is_finite() {
                    *now = start;
                }
            }
            slot += 1;
        };
        for (bond, start) in self.state.bonds.iter_mut().zip(&self.start.bonds) {
            look(&mut bond.flow, start.flow);
            look(&mut bond.effort, start.effort);
            look(&mut bond.wave, start.wave);
            look(&mut bond.impedance, start.impedance);
            look(&mut bond.displacement, start.displacement);
            look(&mut bond.dry, start.dry);
        }
        for (array, start) in [
            (&mut self.state.signals, &self.start.signals),
            (&mut self.state.states, &self.start.states),
        ] {
            array.iter_mut().zip(start).for_each(|(now, &start)| look(now, start));
        }
        found.into_iter().for_each(|slot| self.note(slot));
    }

    /// From 0 to 1.
    fn by_chance(&mut self) -> f64 {
        // Steele, Lea and Flood (2014): SplitMix64.
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.chance;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Changes what goes from component to component; what they keep to themselves changes with it.
    fn shake(&mut self) {
        let Layout { bonds, signals, .. } = self.layout;
        for i in 0..self.changing.len() {
            let slot = self.changing[i];
            if slot >= bonds + signals {
                continue;
            }
            let (how, size) = (self.by_chance(), self.by_chance());
            let now = get(&self.state, self.layout, slot);
            // Impedance and friction keep their sign.
            let is_positive = slot < bonds && matches!(slot % 6, 3 | 5);
            let new = match how {
                _ if is_positive => now * (0.5 + size),
                ..0.4 => now * (1.0 + 0.2 * (size - 0.5)),
                ..0.7 => now * 4.0 * (size - 0.5),
                // From a hundredth of a millimetre to a hundred bar.
                _ => now + (how - 0.85).signum() * 10_f64.powf(-5.0 + 12.0 * size),
            };
            set(&mut self.state, self.layout, slot, new);
        }
    }
}
