//! Temperature carried by the oil: throttling warms it, stores mix it, viscosity follows.
//!
//! Runs after the flows of each main step, only when a fluid asks for it. What flows through a
//! component without storage leaves with the mean temperature of what entered plus the power that
//! was lost in it: T_out = Σq·T/Σq + P/(ρ·c_p·Σq). A store mixes: V·dT/dt = Σq_in·(T_in − T), solved
//! implicitly. Tanks and sources deliver oil at the fluid's own temperature.

use crate::component::Group;
use crate::fluid::Fluid;
use crate::state::State;

/// A component that oil flows through.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Hydraulic bonds.
    pub bonds: Box<[u32]>,
    /// Bonds through which it exchanges other power.
    pub shafts: Box<[u32]>,
    /// All power it absorbs becomes heat: it stores none.
    pub dissipates: bool,
    /// Fluid index.
    pub fluid: u32,
}

/// Oil that mixes.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Bonds at which it meets other components.
    pub bonds: Box<[u32]>,
    /// Group and member that hold the oil, and into how many pools it is divided; `None` for a
    /// tank or source, whose temperature is fixed.
    pub store: Option<(u32, u32, f64)>,
    /// Fluid index.
    pub fluid: u32,
}

/// What is needed to carry temperature.
pub struct Thermal {
    /// Q-components.
    pub passages: Vec<Passage>,
    /// C-components.
    pub pools: Vec<Pool>,
    /// The oils.
    pub fluids: Vec<Fluid>,
    /// Present volume of a store, m³.
    pub volumes: Vec<f64>,
}

/// Smallest volume that mixes, so that a store without a known volume stays finite.
const LEAST_VOLUME: f64 = 1e-6;

impl Thermal {
    /// Carries temperature along for one step.
    pub fn step(&self, state: &mut State<f64>, dt: f64) {
        self.pass(state);
        self.mix(state, dt);
    }

    /// What flows through components leaves with another temperature.
    pub fn pass(&self, state: &mut State<f64>) {
        for passage in &self.passages {
            let fluid = &self.fluids[passage.fluid as usize];
            let (mut entering, mut warmth, mut power) = (0.0, 0.0, 0.0);
            for &b in &passage.bonds {
                let bond = &state.bonds[b as usize];
                power -= bond.effort * bond.flow;
                if bond.flow < 0.0 {
                    entering -= bond.flow;
                    warmth -= bond.flow * state.line_temperature[b as usize];
                }
            }
            for &b in &passage.shafts {
                let bond = &state.bonds[b as usize];
                power -= bond.effort * bond.flow;
            }
            let leaving = if entering > 1e-15 {
                let gained = if passage.dissipates { power.max(0.0) } else { 0.0 };
                (warmth + gained / (fluid.density * fluid.heat_capacity)) / entering
            } else {
                fluid.temperature
            };
            for &b in &passage.bonds {
                state.delivered_temperature[b as usize] = leaving;
            }
        }
    }

    /// Stores mix what was delivered to them in a step.
    pub fn mix(&self, state: &mut State<f64>, dt: f64) {
        for (pool, volume) in self.pools.iter().zip(&self.volumes) {
            let fluid = &self.fluids[pool.fluid as usize];
            let Some(&first) = pool.bonds.first() else {
                continue;
            };
            let temperature = if pool.store.is_none() {
                fluid.temperature
            } else {
                let mut volume = volume.max(LEAST_VOLUME);
                let mut warmth = volume * state.line_temperature[first as usize];
                for &b in &pool.bonds {
                    let entered = state.bonds[b as usize].flow.max(0.0) * dt;
                    volume += entered;
                    warmth += entered * state.delivered_temperature[b as usize];
                }
                warmth / volume
            };
            for &b in &pool.bonds {
                let pressure = state.bonds[b as usize].effort;
                state.line_temperature[b as usize] = temperature;
                state.viscosity[b as usize] = fluid.viscosity_at(temperature, pressure);
            }
        }
    }

    /// Reads the volumes of the stores at the start.
    pub fn measure(&mut self, groups: &[Box<dyn Group<f64>>], state: &mut State<f64>) {
        for (pool, volume) in self.pools.iter().zip(&mut self.volumes) {
            if let Some((group, member, share)) = pool.store {
                *volume = groups[group as usize].content(member as usize, state) / share;
            }
        }
    }
}
