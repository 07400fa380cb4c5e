//! Everything that changes during a run, in flat arrays: cheap to clone, save and restore.

use crate::domain::Role;
use crate::number::Num;

/// One end of a line: where a Q-port meets a C-port.
///
/// `flow` counts out of the Q-component into the C-component, and
/// `effort = wave + impedance·flow (+ dry·sign(flow))`.
#[derive(Clone, Copy, Debug, PartialEq)]
// Six numbers in a row: components find them by counting.
#[repr(C)]
pub struct Bond<T> {
    /// Volume flow, velocity, angular velocity, current.
    pub flow: T,
    /// Pressure, force, torque, voltage.
    pub effort: T,
    /// What the line end would push with if nothing flowed.
    pub wave: T,
    /// Resistance of the line end to flow.
    pub impedance: T,
    /// Position or angle at the end; mechanics only.
    pub displacement: T,
    /// Mechanics: dry friction that the C-side adds, as an effort against the direction of flow. The
    /// Q-side solves for it, so that sticking is exact. Oil: the impedance of a cavitated end
    /// towards another line; towards a Q-component it has none.
    pub dry: T,
}

impl<T: Num> Bond<T> {
    /// A bond at rest with a given effort.
    pub fn at_rest(effort: T) -> Self {
        let zero = T::zero();
        Self { flow: zero, effort, wave: effort, impedance: zero, displacement: zero, dry: zero }
    }
    /// Each number turned into another.
    #[inline(always)]
    pub fn map<U>(&self, f: impl Fn(T) -> U) -> Bond<U> {
        Bond {
            flow: f(self.flow),
            effort: f(self.effort),
            wave: f(self.wave),
            impedance: f(self.impedance),
            displacement: f(self.displacement),
            dry: f(self.dry),
        }
    }
    /// Each number joined with that of another bond.
    #[inline(always)]
    pub fn zip(&self, other: &Self, f: impl Fn(T, T) -> T) -> Self {
        Bond {
            flow: f(self.flow, other.flow),
            effort: f(self.effort, other.effort),
            wave: f(self.wave, other.wave),
            impedance: f(self.impedance, other.impedance),
            displacement: f(self.displacement, other.displacement),
            dry: f(self.dry, other.dry),
        }
    }
}

impl Bond<f64> {
    /// Sets a start value; the wave is what the effort is.
    pub fn start(&mut self, role: Role, value: f64) {
        match role {
            Role::Effort => (self.effort, self.wave) = (value, value),
            Role::Flow => self.flow = value,
            Role::Displacement => self.displacement = value,
            Role::Impedance => self.impedance = value,
            Role::Dry => self.dry = value,
            Role::Wave | Role::Temperature => {}
        }
    }
}

/// All that changes during a run.
#[derive(Clone, Debug)]
pub struct State<T> {
    /// Line ends.
    pub bonds: Vec<Bond<T>>,
    /// Signal values: inputs that nothing drives, outputs of all components, then the outputs of
    /// C- and Q-components of the step in progress, which become visible with the next step.
    pub signals: Vec<T>,
    /// Per component: states, their rates, memory, history.
    pub states: Vec<T>,
    /// Kinematic viscosity of the oil at each bond, m²/s.
    pub viscosity: Vec<T>,
    /// Temperature of the oil in the line at each bond, K; empty when temperature is not carried.
    pub line_temperature: Vec<T>,
    /// Temperature of the oil that the Q-component delivers at each bond, K; empty likewise.
    pub delivered_temperature: Vec<T>,
    /// Time reached, s.
    pub time: f64,
    /// Steps taken since the start.
    pub step: u64,
    /// Steps taken before the start to come to rest; delay buffers count them too.
    pub rest_steps: u64,
    /// Equations that did not converge, per run.
    pub faults: Faults,
}

impl<T: Num> State<T> {
    /// Takes over another state of the same plan without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.bonds.copy_from_slice(&other.bonds);
        self.signals.copy_from_slice(&other.signals);
        self.states.copy_from_slice(&other.states);
        self.viscosity.copy_from_slice(&other.viscosity);
        self.line_temperature.copy_from_slice(&other.line_temperature);
        self.delivered_temperature.copy_from_slice(&other.delivered_temperature);
        (self.time, self.step, self.rest_steps) = (other.time, other.step, other.rest_steps);
        self.faults = other.faults;
    }
}

/// Trouble met in the step loop, counted without stopping it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Component steps whose equations did not converge.
    pub unconverged: u64,
    /// The first component concerned, plus one; 0 when there is none.
    pub first_component: u32,
    /// The step at which it happened.
    pub first_step: u64,
    /// A component asked to stop: its index plus one.
    pub stop_requested: u32,
    /// Lanes whose equations did not converge, one bit each.
    pub unconverged_lanes: u64,
    /// Lanes in which a component asked to stop.
    pub stopped_lanes: u64,
}
