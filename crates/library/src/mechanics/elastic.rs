//! A spring with a damper beside it: springs and shafts.

use super::resistance::{remember, velocity_of_the_other_end};
use super::{Kernel, Settles};
use fluxline_core::Constants;
use fluxline_core::component::{BalanceRole, Environment, Law, Step};
use fluxline_core::number::Num;
use fluxline_core::wave::Store;
use fluxline_core::wide;

/// F = F₀ + k·(x_a − x_b) + B·(v_a − v_b), compression positive.
///
/// The spring is a delay line of one step, Z = k·T/(1−α), with the parasitic mass k·T². The damper
/// adds to impedance and waves as in [`super::resistance::Resistance`]; both parts are passive, so
/// their sum is, for every B.
///
/// Order: ports a, b; state: elastic force; memory: elastic waves at a, b, last velocities at a, b.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Elastic<T> {
    store: Store<T>,
    stiffness: T,
    damping: T,
    preload: T,
}

const FORCE: usize = 0;
const WAVES: usize = 0;
const VELOCITIES: usize = 2;

impl Elastic<f64> {
    /// A spring of stiffness k with damping B, and force F₀ where both ends stand at 0.
    pub fn new(stiffness: f64, damping: f64, preload: f64, environment: &Environment) -> Self {
        Self { store: Store::new(1.0 / stiffness, 2, environment), stiffness, damping, preload }
    }
}

impl<T: Num> Elastic<T> {
    /// Changes the waves of the spring alone, then adds the damper.
    #[inline(always)]
    fn renew(
        &self,
        io: &mut Step<'_, T>,
        others: [T; 2],
        change: impl FnOnce(&Store<T>, &mut Step<'_, T>),
    ) {
        for port in 0..2 {
            let elastic = io.memory(WAVES + port);
            io.set_wave(port, elastic, self.store.impedance);
        }
        change(&self.store, io);
        let force = self.store.mean_wave(io);
        io.set_state(FORCE, force);
        for (port, other) in others.into_iter().enumerate() {
            let elastic = io.wave(port);
            io.set_memory(WAVES + port, elastic);
            io.set_wave(port, elastic + self.damping * other, self.store.impedance + self.damping);
        }
    }
}

impl Settles for Elastic<f64> {}

impl<T: Num> Kernel<T> for Elastic<T> {
    const ROLE: BalanceRole = BalanceRole::Storage;
    fn is_lossless(&self) -> bool {
        self.damping.first() == 0.0
    }

    const LUMPED: bool = true;

    // Both ends' velocities count into the spring, so their sum is the rate of compression.
    fn law(&self, law: &mut Law<'_, T>) {
        let compression_rate = law.flow[0] + law.flow[1];
        law.effort.fill(law.state[FORCE] + self.damping * compression_rate);
        law.rate[FORCE] = self.stiffness * compression_rate;
    }

    fn start(&self, io: &mut Step<'_, T>) {
        let compression = io.displacement(0) + io.displacement(1);
        let force = self.preload + self.stiffness * compression;
        let damping = self.damping * (io.flow(0) + io.flow(1));
        self.store.start(io, force);
        io.set_state(FORCE, force);
        remember(io, VELOCITIES);
        for port in 0..2 {
            let elastic = io.wave(port);
            io.set_memory(WAVES + port, elastic);
            io.start_effort(port, force + damping, self.store.impedance + self.damping);
        }
    }

    #[wide]
    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let others = velocity_of_the_other_end(io, VELOCITIES);
        self.renew(io, others, |store, io| store.scatter(io));
    }

    #[wide]
    fn change_step(&self, old: &Self, io: &mut Step<'_, T>) {
        let others = [io.flow(1), io.flow(0)];
        self.renew(io, others, |store, io| {
            store.change_step(&old.store, io, None);
        });
    }

    fn energy(&self, io: &Step<'_, T>) -> T {
        let waves = io.memory(WAVES) + io.memory(WAVES + 1);
        let rate = io.flow(0) + io.flow(1);
        let force = (waves + self.store.impedance * rate) * 0.5;
        force.squared() * self.store.capacitance * 0.5
    }

    fn history(&self) -> usize {
        self.store.ends * usize::from(self.store.filters_pressure)
    }
}
