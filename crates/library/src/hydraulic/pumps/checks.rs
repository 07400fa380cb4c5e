//! Checks that every component with a step of its own passes, with random surroundings.

use fluxline_core::component::Physics;
use fluxline_core::declare::{Counts, Variable};
use fluxline_core::number::Lanes;
use fluxline_core::testing::{Bench, Surroundings};
use std::ops::Range;

const STEP: f64 = 1e-4;

/// A repeatable source of numbers (xorshift).
pub struct Numbers(u64);

impl Numbers {
    pub fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
    pub fn within(&mut self, range: &Range<f64>) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let part = (self.0 >> 11) as f64 / (1u64 << 53) as f64;
        range.start + (range.end - range.start) * part
    }
    /// An impedance: none in one case of four.
    fn impedance(&mut self, range: &Range<f64>) -> f64 {
        if self.within(&(0.0..1.0)) < 0.25 { 0.0 } else { self.within(range) }
    }
}

/// Ranges of what surrounds a component: inputs, and wave and impedance of each port.
pub struct Around<'a> {
    pub inputs: &'a [Range<f64>],
    pub lines: &'a [(Range<f64>, Range<f64>)],
}

/// Four components side by side give the bits of four alone, step after step.
pub fn lanes_give_the_bits_of_scalars<M: Physics>(components: [M; 4], around: &Around) {
    let mut numbers = Numbers::new();
    let mut lanes = Bench::lanes(components.each_ref(), &Surroundings::of::<M>(STEP)).unwrap();
    let mut scalars = components.each_ref().map(|c| Bench::new(c, STEP));
    for _ in 0..500 {
        for (i, range) in around.inputs.iter().enumerate() {
            let values = [(); 4].map(|()| numbers.within(range));
            lanes.input(i, Lanes(values));
            for (bench, value) in scalars.iter_mut().zip(values) {
                bench.input(i, value);
            }
        }
        for (port, (wave, impedance)) in around.lines.iter().enumerate() {
            let waves = [(); 4].map(|()| numbers.within(wave));
            let impedances = [(); 4].map(|()| numbers.impedance(impedance));
            lanes.line(port, Lanes(waves), Lanes(impedances));
            for (lane, bench) in scalars.iter_mut().enumerate() {
                bench.line(port, waves[lane], impedances[lane]);
            }
        }
        lanes.step();
        for (lane, bench) in scalars.iter_mut().enumerate() {
            bench.step();
            for port in 0..around.lines.len() {
                let (l, s) = (lanes.flow(port).0[lane], bench.flow(port));
                assert_eq!(l.to_bits(), s.to_bits(), "flow {port}: {l} {s}");
                let (l, s) = (lanes.effort(port).0[lane], bench.effort(port));
                assert_eq!(l.to_bits(), s.to_bits(), "effort {port}: {l} {s}");
            }
            for (l, s) in lanes.state.states.iter().zip(&bench.state.states) {
                assert_eq!(l.0[lane].to_bits(), s.to_bits());
            }
            for (l, s) in lanes.state.signals.iter().zip(&bench.state.signals) {
                assert_eq!(l.0[lane].to_bits(), s.to_bits());
            }
        }
    }
}

/// The component's own step is the generic one, wherever nothing is limited or cavitates. `states`
/// and their `rates` start within ranges. Gives how many cases were compared.
pub fn own_step_equals_the_generic_step<M: Physics>(
    component: &M,
    around: &Around,
    states: &[(Range<f64>, Range<f64>)],
    tolerance: f64,
) -> usize {
    let mut numbers = Numbers::new();
    let count = M::DECLARATION.states.len();
    let mut compared = 0;
    for _ in 0..500 {
        let mut own = Bench::new(component, STEP);
        let mut generic = Bench::new(component, STEP);
        for (i, range) in around.inputs.iter().enumerate() {
            let value = numbers.within(range);
            own.input(i, value);
            generic.input(i, value);
        }
        for (port, (wave, impedance)) in around.lines.iter().enumerate() {
            let (c, z) = (numbers.within(wave), numbers.impedance(impedance));
            own.line(port, c, z);
            generic.line(port, c, z);
        }
        for (i, (state, rate)) in states.iter().enumerate() {
            let (x, v) = (numbers.within(state), numbers.within(rate));
            own.set_state(i, x).set_state(count + i, v);
            generic.set_state(i, x).set_state(count + i, v);
        }
        own.step();
        let counted = |(i, memory): (usize, &Variable)| {
            memory.counts != Counts::Nothing && own.state.states[2 * count + i] != 0.0
        };
        if M::DECLARATION.memory.iter().enumerate().any(counted) {
            continue;
        }
        generic.step_generic();
        if generic.state.faults.unconverged > 0 {
            continue;
        }
        compared += 1;
        let near = |a: f64, b: f64, size: f64| (a - b).abs() <= tolerance * (size + b.abs());
        for i in 0..2 * count {
            let (o, g) = (own.get_state(i), generic.get_state(i));
            assert!(near(o, g, 1.0), "state {i}: {o} {g}");
        }
        for port in 0..around.lines.len() {
            let (o, g) = (own.flow(port), generic.flow(port));
            let small = M::DECLARATION.ports[port].domain.small_flow();
            assert!(near(o, g, small), "flow {port}: {o} {g}");
            let (o, g) = (own.effort(port), generic.effort(port));
            assert!(near(o, g, 1e3), "effort {port}: {o} {g}");
        }
        for i in 0..M::DECLARATION.outputs.len() {
            let (o, g) = (own.output(i), generic.output(i));
            assert!(near(o, g, 1.0), "output {i}: {o} {g}");
        }
    }
    compared
}
