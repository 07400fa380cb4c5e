//! A bench for one component: fixed line ends, chosen states, one step at a time.
//!
//! Component tests mount a component on it, impose waves and impedances, and compare the component's
//! own step with the generic one ([`Bench::step_generic`]) and with closed forms.

use crate::component::{Clock, Environment, Filter, Physics, Refusal, Wiring, view};
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
    /// Number of bonds; more than the declared ports for a component whose last port takes many.
    pub bonds: usize,
}

impl Surroundings {
    /// Standard oil, a step, and as many bonds as the component declares ports.
    pub fn of<M: Physics>(step: f64) -> Self {
        Self {
            step,
            fluid: Fluid::default(),
            filter: Filter::None,
            bonds: M::DECLARATION.ports.len(),
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
            bonds: around.bonds,
            filter: around.filter,
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
            bonds: around.bonds,
            filter: around.filter,
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
        let block = 2 * declaration.states.len() + declaration.memory.len() + history;
        let wiring = Wiring {
            component: 0,
            ports: (0..around.bonds as u32).collect(),
            inputs: (0..inputs as u32).collect(),
            output_offset: inputs,
            states: 0..block,
        };
        let state = State {
            bonds: vec![Bond::at_rest(T::zero()); around.bonds],
            signals: vec![T::zero(); inputs + outputs],
            states: vec![T::zero(); block],
            viscosity: vec![T::of(around.fluid.viscosity); around.bonds],
            line_temperature: Vec::new(),
            delivered_temperature: Vec::new(),
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
        self.state.signals[self.wiring.output_offset + index]
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
    /// Starts as a run does: the component's start, then rates and outputs from its law.
    pub fn begin(&mut self) -> &mut Self {
        self.start();
        let clock = self.clock();
        let io = &mut view::<M, T>(&self.wiring, &mut self.state, clock);
        crate::implicit::start::<M, T>(&self.constants, io);
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
