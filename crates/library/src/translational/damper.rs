//! Viscous damper.

use crate::mechanics::physics_of_kernel;
use crate::mechanics::resistance::Resistance;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// A viscous damper between two ends.
///
/// F = B·(v_a − v_b),  compression positive
///
/// Z = B with the other end's velocity of the last two steps: passive for every B; exact with one end at
/// rest, of first order in the step otherwise.
#[component("translational.damper", c, constants = Resistance)]
pub struct Damper {
    /// rear end
    #[port]
    a: Translational,
    /// front end
    #[port]
    b: Translational,
    /// B — damping [N*s/m]
    #[parameter(default = "1000 N*s/m", min = "0 N*s/m")]
    pub damping: f64,
    /// v_a₋ — last velocity at the rear end [m/s]
    #[memory]
    last_velocity_a: Memory,
    /// v_b₋ — last velocity at the front end [m/s]
    #[memory]
    last_velocity_b: Memory,
}

impl Damper {
    fn kernel(&self, environment: &Environment) -> Result<Resistance<f64>, Refusal> {
        Ok(Resistance::new(self.damping, environment))
    }
}

physics_of_kernel!(Damper, Resistance);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translational::mass::{Mass, tests::mass};
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Bench, Noise, assert_lanes_give_the_bits_of_scalars};
    use proptest::prelude::*;

    /// Two masses of 50 kg and `light` kg coupled by a damper, the first at 1 m/s; velocities at `end`.
    fn coupled(damping: f64, light: f64, step: f64, end: f64) -> [f64; 2] {
        let mut damper = Bench::new(&Damper { damping }, step);
        let mut first = Bench::new(&mass(), step);
        let light = Mass { mass: light, ..mass() };
        let mut second = Bench::new(&light, step);
        first.set_state(Mass::V, 1.0).start();
        second.start();
        damper.take_bond(0, &first, Mass::B).take_bond(1, &second, Mass::A).start();
        first.take_bond(Mass::B, &damper, 0).settle();
        second.take_bond(Mass::A, &damper, 1).settle();
        for _ in 0..(end / step).round() as usize {
            damper.take_bond(0, &first, Mass::B).take_bond(1, &second, Mass::A).step();
            first.take_bond(Mass::B, &damper, 0).step();
            second.take_bond(Mass::A, &damper, 1).step();
        }
        [first.get_state(Mass::V), second.get_state(Mass::V)]
    }

    #[test]
    fn two_masses_come_to_one_speed_with_order_one() {
        // v₁ − v₂ = e^(−B·t·(1/m₁ + 1/m₂)), momentum kept: here e^(−4·0.5)
        let exact = (-2f64).exp();
        let errors = [1e-2, 5e-3, 2.5e-3, 1.25e-3].map(|step| {
            let [v1, v2] = coupled(100.0, 50.0, step, 0.5);
            v1 - v2 - exact
        });
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((order - 1.0).abs() < 0.1, "{errors:?}");
        }
    }

    #[test]
    fn any_damping_between_any_masses_is_stable() {
        // Where B·T exceeds a mass its trapezoidal rule rings about the common speed: bounded, and
        // not growing.
        for damping in [1.0, 1e3, 1e6, 1e9] {
            for light in [1e-3, 1.0, 50.0] {
                let largest = |ends: std::ops::Range<usize>| {
                    ends.map(|n| coupled(damping, light, 1e-3, n as f64 * 1e-3))
                        .fold(0f64, |most, [v1, v2]| most.max(v1.abs()).max(v2.abs()))
                };
                let (early, late) = (largest(0..20), largest(3000..3020));
                assert!(late <= early && early < 3.0, "{damping} {light}: {early} {late}");
            }
        }
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] = [0.0, 1.0, 1e3, 1e6].map(|damping| Damper { damping });
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond { flow: noise.between(-1.0, 1.0), ..Bond::at_rest(0.0) },
            |_| 0.0,
        );
    }

    proptest! {
        /// Whatever the motion, a damper never gives back more than it has taken.
        #[test]
        fn a_damper_is_passive(seed in 0u64..1000, damping in 0.0..1e6f64) {
            let mut bench = Bench::new(&Damper { damping }, 1e-3);
            bench.start();
            let mut noise = Noise::new(seed);
            let mut taken = 0.0;
            for _ in 0..100 {
                bench.step();
                for port in 0..2 {
                    bench.impose_flow(port, noise.between(-1.0, 1.0));
                    taken += bench.effort(port) * bench.flow(port);
                }
                prop_assert!(taken >= -1e-9 * damping);
            }
        }

        #[test]
        fn the_force_is_that_of_the_difference_of_velocities(va in -5.0..5.0f64, vb in -5.0..5.0f64) {
            let mut bench = Bench::new(&Damper { damping: 300.0 }, 1e-3);
            bench.impose_flow(0, va).impose_flow(1, vb).start().step();
            bench.impose_flow(0, va).impose_flow(1, vb);
            for port in 0..2 {
                prop_assert!((bench.effort(port) - 300.0 * (va + vb)).abs() < 1e-9);
            }
        }
    }
}
