//! A bench for one component: fixed line ends, chosen states, one step at a time.
//!
//! Component tests mount a component on it, impose waves and impedances, and compare the component's
//! own step with the generic one ([`Bench::step_generic`]) and with closed forms.

use crate::component::{Clock, Environment, Filter, Physics, Refusal, Step, Wiring, view};
use crate::declare::Causality;
use crate::fluid::{ATMOSPHERE, Fluid};
use crate::number::{Lanes, Num};
use crate::state::{Bond, State};

/// One component between line ends that the test controls.
pub struct Bench<M: Physics, T: Num = f64> {
    constants: M::Constants<T>,
    wiring: Wiring,
    /// All that changes; tests may look at and change everything.
    pub state: State<T>,
    dt: f64,
}

/// Step and oil of a bench.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Time step, s.
    pub step: f64,
    /// Oil.
    pub fluid: Fluid,
    /// Filter of lumped lines.
    pub filter: Filter,
    /// Number of bonds of each port; may be other than one for a port that takes many.
    pub places: Vec<usize>,
}

impl Surroundings {
    /// Standard oil, a step, and as many bonds as the component declares ports.
    pub fn of<M: Physics>(step: f64) -> Self {
        Self {
            step,
            fluid: Fluid::default(),
            filter: Filter::None,
            places: vec![1; M::DECLARATION.ports.len()],
        }
    }
}

impl<M: Physics> Bench<M> {
    /// Mounts a component with as many bonds as it declares ports.
    pub fn new(component: &M, step: f64) -> Self {
        Self::within(component, &Surroundings::of::<M>(step)).expect("the component is refused")
    }

    /// Mounts a component in chosen surroundings.
    pub fn within(component: &M, around: &Surroundings) -> Result<Self, Refusal> {
        let constants = component.prepare(&Environment {
            step: around.step,
            fluid: &around.fluid,
            start_pressure: ATMOSPHERE,
            bonds: around.places.iter().sum(),
            places: &around.places,
            filter: around.filter,
            driven: &[],
        })?;
        let history = M::history(&constants);
        Ok(Self::mount(constants, history, around))
    }
}

impl<M: Physics, const N: usize> Bench<M, Lanes<N>> {
    /// Mounts `N` components side by side.
    pub fn lanes(components: [&M; N], around: &Surroundings) -> Result<Self, Refusal> {
        let environment = Environment {
            step: around.step,
            fluid: &around.fluid,
            start_pressure: ATMOSPHERE,
            bonds: around.places.iter().sum(),
            places: &around.places,
            filter: around.filter,
            driven: &[],
        };
        let mut flat = Vec::new();
        let mut first = None;
        for component in components {
            let constants = component.prepare(&environment)?;
            let mut numbers = Vec::new();
            M::lift(&constants, &mut |x: f64| {
                numbers.push(x);
                x
            });
            flat.push(numbers);
            first.get_or_insert(constants);
        }
        let first = first.expect("at least one lane");
        let history = M::history(&first);
        let mut index = 0;
        let constants = M::lift(&first, &mut |_: f64| {
            let lanes = Lanes(std::array::from_fn(|lane| flat[lane][index]));
            index += 1;
            lanes
        });
        Ok(Self::mount(constants, history, around))
    }
}

impl<M: Physics, T: Num> Bench<M, T> {
    fn mount(constants: M::Constants<T>, history: usize, around: &Surroundings) -> Self {
        let declaration = M::DECLARATION;
        let (inputs, outputs) = (declaration.input_count(), declaration.outputs.len());
        let bonds: usize = around.places.iter().sum();
        let block = 2 * declaration.states.len() + declaration.memory.len() + history;
        let [ports, places]: [Vec<u32>; 2] = [bonds, inputs].map(|n| (0..n as u32).collect());
        let wiring = Wiring::new(0, &ports, &places, inputs..inputs + outputs, 0..block);
        let state = State {
            bonds: vec![Bond::at_rest(T::zero()); bonds],
            signals: vec![T::zero(); inputs + outputs],
            states: vec![T::zero(); block],
            viscosity: vec![T::of(around.fluid.viscosity); bonds],
            line_temperature: Vec::new(),
            delivered_temperature: Vec::new(),
            time: 0.0,
            step: 0,
            rest_steps: 0,
            faults: Default::default(),
        };
        Self { constants, wiring, state, dt: around.step }
    }

    fn clock(&self) -> Clock {
        Clock { time: self.state.step as f64 * self.dt, dt: self.dt, tick: self.state.step }
    }

    /// The constants in use.
    pub fn constants(&self) -> &M::Constants<T> {
        &self.constants
    }
    /// Sets the line end at a port.
    pub fn line(&mut self, port: usize, wave: T, impedance: T) -> &mut Self {
        self.state.bonds[port].wave = wave;
        self.state.bonds[port].impedance = impedance;
        self
    }
    /// Sets an input.
    pub fn input(&mut self, index: usize, value: T) -> &mut Self {
        self.state.signals[index] = value;
        self
    }
    /// Sets a state.
    pub fn set_state(&mut self, index: usize, value: T) -> &mut Self {
        self.state.states[index] = value;
        self
    }
    /// A state.
    pub fn get_state(&self, index: usize) -> T {
        self.state.states[index]
    }
    /// An output.
    pub fn output(&self, index: usize) -> T {
        self.state.signals[self.wiring.output_offset() + index]
    }
    /// Flow out of a Q-component at a port (into a C-component).
    pub fn flow(&self, port: usize) -> T {
        self.state.bonds[port].flow
    }
    /// Imposes the flow into a C-component at a port; sets the effort that follows.
    pub fn impose_flow(&mut self, port: usize, flow: T) -> &mut Self {
        let bond = &mut self.state.bonds[port];
        bond.flow = flow;
        bond.effort = bond.wave + bond.impedance * flow;
        self
    }
    /// Effort at a port.
    pub fn effort(&self, port: usize) -> T {
        self.state.bonds[port].effort
    }
    /// Calls the component's start.
    pub fn start(&mut self) -> &mut Self {
        let clock = self.clock();
        M::start(&self.constants, &mut view::<M, T>(&self.wiring, &mut self.state, clock));
        self
    }
    /// Rates and outputs at the start, from the law.
    pub fn settle(&mut self) -> &mut Self {
        let clock = self.clock();
        let io = &mut view::<M, T>(&self.wiring, &mut self.state, clock);
        crate::implicit::start::<M, T>(&self.constants, io);
        self
    }
    /// Copies a line end from another bench: how tests join components, see [`start_joined`].
    pub fn take_bond<N: Physics>(
        &mut self,
        port: usize,
        from: &Bench<N, T>,
        from_port: usize,
    ) -> &mut Self {
        self.state.bonds[port] = from.state.bonds[from_port];
        self
    }
    /// One step as the component takes it.
    pub fn step(&mut self) -> &mut Self {
        self.state.step += 1;
        let clock = self.clock();
        M::step(&self.constants, &mut view::<M, T>(&self.wiring, &mut self.state, clock));
        self
    }
    /// One step by the generic solver.
    pub fn step_generic(&mut self) -> &mut Self {
        self.state.step += 1;
        let clock = self.clock();
        let io = &mut view::<M, T>(&self.wiring, &mut self.state, clock);
        crate::implicit::step::<M, T>(&self.constants, io);
        self
    }
    /// Lends the component's view of the state.
    pub fn with(&mut self, f: impl FnOnce(&mut Step<'_, T>)) -> &mut Self {
        self.at(self.clock().time, f)
    }
    /// The same at a time of its own.
    pub fn at(&mut self, time: f64, f: impl FnOnce(&mut Step<'_, T>)) -> &mut Self {
        let clock = Clock { time, ..self.clock() };
        f(&mut view::<M, T>(&self.wiring, &mut self.state, clock));
        self
    }
    /// Energy stored, J.
    pub fn energy(&mut self) -> T {
        let clock = self.clock();
        M::energy(&self.constants, &view::<M, T>(&self.wiring, &mut self.state, clock))
    }
    /// Oil held, m³.
    pub fn content(&mut self) -> T {
        let clock = self.clock();
        M::content(&self.constants, &view::<M, T>(&self.wiring, &mut self.state, clock))
    }
}

/// Starts a C-component and a Q-component that meet at one port each, in the engine's order.
pub fn start_joined<C: Physics, Q: Physics, T: Num>(
    (c, c_port): (&mut Bench<C, T>, usize),
    (q, q_port): (&mut Bench<Q, T>, usize),
) {
    q.start();
    c.take_bond(c_port, q, q_port).start();
    q.take_bond(q_port, c, c_port).settle();
}

/// One step of a C-component and a Q-component that meet at one port each, in the engine's order.
pub fn step_joined<C: Physics, Q: Physics, T: Num>(
    (c, c_port): (&mut Bench<C, T>, usize),
    (q, q_port): (&mut Bench<Q, T>, usize),
) {
    c.take_bond(c_port, q, q_port).step();
    q.take_bond(q_port, c, c_port).step();
}

/// Numbers that look random and are the same in every run.
#[derive(Clone, Debug)]
pub struct Noise(u64);

impl Noise {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }
    /// The next number between two bounds (Marsaglia's xorshift).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + (high - low) * (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Checks that four components stepped in lanes give the bits that they give one by one.
///
/// Each step has new line ends and inputs. A C-component keeps its own waves, a Q-component its own
/// motion.
///
/// # Panics
/// When a bit differs, or a component is refused.
pub fn assert_lanes_give_the_bits_of_scalars<M: Physics>(
    components: [&M; 4],
    step: f64,
    mut line_end: impl FnMut(&mut Noise) -> Bond<f64>,
    mut input: impl FnMut(&mut Noise) -> f64,
) {
    let around = Surroundings::of::<M>(step);
    let mount = |m: &&M| Bench::within(*m, &around).expect("the component is refused");
    let mut scalars: Vec<Bench<M>> = components.iter().map(mount).collect();
    let mut lanes = Bench::lanes(components, &around).expect("the component is refused");
    let numbers = |state: &State<f64>| -> Vec<u64> {
        let bonds = state
            .bonds
            .iter()
            .flat_map(|b| [b.flow, b.effort, b.wave, b.impedance, b.displacement, b.dry]);
        let rest = state.signals.iter().chain(&state.states).copied();
        bonds.chain(rest).map(f64::to_bits).collect()
    };
    let is_c = M::DECLARATION.causality == Causality::C;
    let mut noise = Noise::new(1);
    for n in 0..200 {
        for (lane, scalar) in scalars.iter_mut().enumerate() {
            for (port, bond) in scalar.state.bonds.iter_mut().enumerate() {
                let new = line_end(&mut noise);
                if is_c {
                    bond.flow = new.flow;
                    bond.effort = bond.wave + bond.impedance * new.flow;
                    bond.displacement = new.displacement;
                } else {
                    bond.wave = new.wave;
                    bond.impedance = new.impedance;
                    bond.dry = new.dry;
                }
                let wide = &mut lanes.state.bonds[port];
                wide.flow.0[lane] = bond.flow;
                wide.effort.0[lane] = bond.effort;
                wide.wave.0[lane] = bond.wave;
                wide.impedance.0[lane] = bond.impedance;
                wide.displacement.0[lane] = bond.displacement;
                wide.dry.0[lane] = bond.dry;
            }
            for i in 0..M::DECLARATION.input_count() {
                let value = input(&mut noise);
                scalar.state.signals[i] = value;
                lanes.state.signals[i].0[lane] = value;
            }
        }
        if n == 0 {
            lanes.start();
            for scalar in &mut scalars {
                scalar.start();
            }
        }
        lanes.step();
        for (lane, scalar) in scalars.iter_mut().enumerate() {
            scalar.step();
            let mut alone = scalar.state.clone();
            let expected = numbers(&alone);
            for (i, bond) in lanes.state.bonds.iter().enumerate() {
                alone.bonds[i] = Bond {
                    flow: bond.flow.0[lane],
                    effort: bond.effort.0[lane],
                    wave: bond.wave.0[lane],
                    impedance: bond.impedance.0[lane],
                    displacement: bond.displacement.0[lane],
                    dry: bond.dry.0[lane],
                };
            }
            alone.signals = lanes.state.signals.iter().map(|x| x.0[lane]).collect();
            alone.states = lanes.state.states.iter().map(|x| x.0[lane]).collect();
            assert_eq!(numbers(&alone), expected, "step {n}, lane {lane}");
        }
    }
}
