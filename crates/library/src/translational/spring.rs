//! Linear spring.

use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wave::Store;
use fluxline_core::{Constants, component};

/// Linear spring between two ends.
///
/// F = F₀ + k·(x_a − x_b),  compression positive
///
/// As a delay line of one step: Z = k·T/(1−α), with the parasitic mass k·T². The force at the start
/// is that of the start positions; F₀ is the force where both ends stand at 0.
/// Krus, lecture slides on transmission line modelling (Linköping University).
#[component("translational.spring", c, constants = SpringConstants, also = "hopsan:MechanicTranslationalSpring")]
pub struct Spring {
    /// rear end
    #[port(also = "P1")]
    a: Translational,
    /// front end
    #[port(also = "P2")]
    b: Translational,
    /// k — stiffness [N/m]
    #[parameter(default = "1e5 N/m", min = ">0 N/m", also = "k")]
    pub stiffness: f64,
    /// F₀ — force with both ends at position 0, compression positive [N]
    #[parameter(default = "0 N")]
    pub preload: f64,
    /// F — force, compression positive [N]
    #[state]
    force: State,
}

/// Constants of [`Spring`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct SpringConstants<T> {
    store: Store<T>,
    stiffness: T,
    preload: T,
}

impl Physics for Spring {
    fn prepare(&self, environment: &Environment) -> Result<SpringConstants<f64>, Refusal> {
        Ok(SpringConstants {
            store: Store::new(1.0 / self.stiffness, 2, environment),
            stiffness: self.stiffness,
            preload: self.preload,
        })
    }

    // Both ends' velocities count into the spring, so their sum is the rate of compression.
    fn law<T: Num>(k: &SpringConstants<T>, law: &mut Law<'_, T>) {
        law.effort.fill(law.state[Self::FORCE]);
        law.rate[Self::FORCE] = k.stiffness * (law.flow[Self::A] + law.flow[Self::B]);
    }

    fn start<T: Num>(k: &SpringConstants<T>, io: &mut Step<'_, T>) {
        let compression = io.displacement(Self::A) + io.displacement(Self::B);
        let force = k.preload + k.stiffness * compression;
        k.store.start(io, force);
        io.set_state(Self::FORCE, force);
    }

    #[inline]
    fn step<T: Num>(k: &SpringConstants<T>, io: &mut Step<'_, T>) {
        k.store.scatter(io);
        let force = k.store.mean_wave(io);
        io.set_state(Self::FORCE, force);
    }

    fn change_step<T: Num>(
        old: &SpringConstants<T>,
        new: &SpringConstants<T>,
        io: &mut Step<'_, T>,
    ) {
        new.store.correct_waves(old.store.impedance, io);
    }

    fn history(k: &SpringConstants<f64>) -> usize {
        k.store.history()
    }

    fn is_lumped(_: &SpringConstants<f64>) -> bool {
        true
    }

    const ROLE: BalanceRole = BalanceRole::Storage;

    fn energy<T: Num>(k: &SpringConstants<T>, io: &Step<'_, T>) -> T {
        k.store.mean_effort(io).squared() * k.store.capacitance * 0.5
    }
}
