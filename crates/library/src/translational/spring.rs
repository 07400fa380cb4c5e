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

    #[inline(always)]
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
        new.store.change_step(&old.store, io, None);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translational::mass::{Mass, tests::mass};
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{
        Bench, assert_lanes_give_the_bits_of_scalars, start_joined, step_joined,
    };

    fn swing(step: f64) -> (Bench<Spring>, Bench<Mass>) {
        // Krus' example: 100 kg on 1000 N/m
        let spring = Spring { stiffness: 1000.0, preload: 0.0 };
        let mass = Mass { mass: 100.0, ..mass() };
        let (mut c, mut q) = (Bench::new(&spring, step), Bench::new(&mass, step));
        q.set_state(Mass::X, 0.1);
        start_joined((&mut c, Spring::A), (&mut q, Mass::B));
        (c, q)
    }

    /// With one end fixed, F is the trapezoidal rule over two steps, F(n) = F(n−2) + Z·(v(n) + v(n−2)),
    /// and v that of the mass over one. Together (2m/T)·(1−q)² + k·T·(1+q²) = 0 for a delay q, so
    /// that cos(ωT) = 1/(1 + k·T²/(2m)): undamped at every step, and for small steps
    /// ω² = k/m·(1 − (1/3 + 1/12)·k·T²/m): a third of the parasitic mass k·T² swings along, the rest
    /// is the trapezoidal rule's own share.
    #[test]
    fn the_swing_has_the_frequency_of_the_parasitic_mass() {
        for (step, parasitic) in [(0.001, 0.001), (0.1, 10.0), (1.0, 1000.0)] {
            assert!((1000.0 * step * step / parasitic - 1.0f64).abs() < 1e-12);
            let cosine = 1.0 / (1.0 + parasitic / 200.0);
            let (mut c, mut q) = swing(step);
            let mut v = [0.0; 3];
            let mut energy: f64 = 0.0;
            for n in 0..100_000 {
                step_joined((&mut c, Spring::A), (&mut q, Mass::B));
                v = [v[1], v[2], q.get_state(Mass::V)];
                // v(n) − 2·cos(ωT)·v(n−1) + v(n−2) = 0, and the invariant of this recursion
                if n > 3 {
                    let residual = v[2] - 2.0 * cosine * v[1] + v[0];
                    assert!(residual.abs() < 1e-13, "{step} {n}: {residual}");
                    let now = v[2] * v[2] + v[1] * v[1] - 2.0 * cosine * v[2] * v[1];
                    if energy == 0.0 {
                        energy = now;
                    }
                    assert!((now / energy - 1.0).abs() < 1e-6, "{step} {n}: {now} {energy}");
                }
            }
            let exact = (1000.0f64 / 100.0).sqrt();
            let share = 1.0 - 5.0 / 24.0 * parasitic / 100.0;
            let error = cosine.acos() / step / exact - share;
            assert!(error.abs() < 0.2 * (parasitic / 100.0).powi(2) + 1e-9, "{step}: {error}");
        }
    }

    #[test]
    fn a_spring_and_a_mass_conserve_energy() {
        let (mut c, mut q) = swing(0.001);
        let start = c.energy() + q.energy();
        assert!((start - 5.0).abs() < 1e-12, "½·k·x²");
        for n in 0..100_000 {
            step_joined((&mut c, Spring::A), (&mut q, Mass::B));
            c.take_bond(Spring::A, &q, Mass::B).impose_flow(Spring::B, 0.0);
            let error = (c.energy() + q.energy()) / start - 1.0;
            // the two rules differ by k·T²/m = 1e-5 within a swing; nothing accumulates
            assert!(error.abs() < 1e-5, "{n}: {error}");
        }
    }

    #[test]
    fn the_force_starts_with_the_positions() {
        let spring = Spring { stiffness: 2000.0, preload: 30.0 };
        let mut bench = Bench::new(&spring, 1e-3);
        bench.state.bonds[Spring::A].displacement = 0.02;
        bench.state.bonds[Spring::B].displacement = -0.05;
        bench.start();
        assert!((bench.effort(Spring::A) + 30.0).abs() < 1e-12);
        assert_eq!(bench.effort(Spring::A), bench.effort(Spring::B));
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] =
            [1e3, 1e4, 1e5, 1e6].map(|stiffness| Spring { stiffness, preload: 10.0 });
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond {
                flow: noise.between(-1.0, 1.0),
                displacement: noise.between(-0.1, 0.1),
                ..Bond::at_rest(0.0)
            },
            |_| 0.0,
        );
    }
}
