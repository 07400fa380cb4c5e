//! All numbers of an evaluation, and the operations that fill them.

use crate::layout::{Block, Place};
use fluxline_core::component::Law;
use fluxline_core::lumped::{Evaluate, Lumped};

/// One operation of an evaluation.
#[derive(Clone, Debug)]
pub enum Op {
    /// The law of a component; what it writes of what it cannot know yet is renewed later.
    Law(u32),
    /// A connection.
    Copy {
        /// From.
        from: Place,
        /// To.
        to: Place,
    },
    /// A connection that turns the sign.
    Negate {
        /// From.
        from: Place,
        /// To.
        to: Place,
    },
    /// Efforts that add up at a body.
    Sum {
        /// Summands.
        terms: Box<[Place]>,
        /// Where the sum goes.
        to: Place,
    },
    /// Ends of delay lines under one pressure: p = c + Z·q.
    Line {
        /// The meeting of ends.
        meeting: u32,
        /// Flow into them.
        flow: Option<Place>,
        /// Their pressure.
        to: Place,
    },
    /// What one end of a delay line takes at a pressure: q = (p − c)/Z.
    LineFlow {
        /// The end.
        end: u32,
        /// Pressure.
        effort: Place,
        /// Flow into it.
        to: Place,
    },
    /// What is left of a flow for the last taker.
    Rest {
        /// What arrives.
        from: Option<Place>,
        /// What others take.
        minus: Box<[Place]>,
        /// The rest.
        to: Place,
    },
    /// Numbers that depend on themselves.
    Solve(u32),
}

/// The end of a delay line during a main step: the wave changes linearly, the impedance stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineEnd {
    /// Wave at the begin of the main step, and at its end.
    pub wave: [f64; 2],
    /// Impedance.
    pub impedance: f64,
}

/// What stays fixed between main steps.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// All ends.
    pub ends: Vec<LineEnd>,
    /// Ends that meet at one pressure.
    pub meetings: Vec<Box<[u32]>>,
    /// Begin of the main step, and one over its length.
    pub begin: f64,
    /// 1/T.
    pub per_step: f64,
}

impl Lines {
    fn share(&self, time: f64) -> f64 {
        ((time - self.begin) * self.per_step).clamp(0.0, 1.0)
    }

    /// Wave at an end.
    pub fn wave(&self, end: u32, time: f64) -> f64 {
        let [old, new] = self.ends[end as usize].wave;
        old + (new - old) * self.share(time)
    }

    /// Wave and impedance of several ends under one pressure: 1/Z = Σ1/Z_i, c/Z = Σc_i/Z_i. An end
    /// without impedance (vapour) decides alone.
    fn meeting(&self, meeting: u32, time: f64) -> (f64, f64) {
        let (mut admittance, mut inflow) = (0.0, 0.0);
        for &end in &self.meetings[meeting as usize] {
            let z = self.ends[end as usize].impedance;
            let wave = self.wave(end, time);
            if z <= 0.0 {
                return (wave, 0.0);
            }
            admittance += 1.0 / z;
            inflow += wave / z;
        }
        (inflow / admittance, 1.0 / admittance)
    }
}

/// Runs one operation other than `Solve`.
#[inline]
pub fn apply<T: Evaluate>(
    op: &Op,
    values: &mut [T],
    blocks: &[Block],
    laws: &[Option<Box<dyn Lumped>>],
    lines: &Lines,
    time: f64,
) {
    match op {
        Op::Law(component) => {
            if let Some(law) = &laws[*component as usize] {
                evaluate(values, &blocks[*component as usize], law.as_ref(), time);
            }
        }
        Op::Copy { from, to } => values[*to as usize] = values[*from as usize],
        Op::Negate { from, to } => values[*to as usize] = -values[*from as usize],
        Op::Sum { terms, to } => {
            let sum = terms.iter().fold(T::zero(), |sum, &term| sum + values[term as usize]);
            values[*to as usize] = sum;
        }
        Op::Line { meeting, flow, to } => {
            let (wave, impedance) = lines.meeting(*meeting, time);
            let flow = flow.map_or(T::zero(), |place| values[place as usize]);
            values[*to as usize] = flow * impedance + wave;
        }
        Op::LineFlow { end, effort, to } => {
            let z = lines.ends[*end as usize].impedance;
            let over = values[*effort as usize] - lines.wave(*end, time);
            values[*to as usize] = if z > 0.0 { over / z } else { T::zero() };
        }
        Op::Rest { from, minus, to } => {
            let all = from.map_or(T::zero(), |place| values[place as usize]);
            let rest = minus.iter().fold(all, |rest, &taken| rest - values[taken as usize]);
            values[*to as usize] = rest;
        }
        Op::Solve(_) => {}
    }
}

/// Evaluates the law of a component in its block.
#[inline]
pub fn evaluate<T: Evaluate>(values: &mut [T], block: &Block, law: &dyn Lumped, time: f64) {
    let (ports, states) = (block.ports as usize, block.states as usize);
    let rest = &mut values[block.range()];
    let (effort, rest) = rest.split_at_mut(ports);
    let (flow, rest) = rest.split_at_mut(ports);
    let (displacement, rest) = rest.split_at_mut(ports);
    let (input, rest) = rest.split_at_mut(block.inputs as usize);
    let (output, rest) = rest.split_at_mut(block.outputs as usize);
    let (state, rest) = rest.split_at_mut(states);
    let (rate, rest) = rest.split_at_mut(states);
    let (memory, viscosity) = rest.split_at_mut(block.memory as usize);
    let time = time.into();
    let mut law_view =
        Law { effort, flow, displacement, state, rate, memory, input, output, viscosity, time };
    T::evaluate(law, &mut law_view);
}
