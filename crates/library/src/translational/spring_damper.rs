//! Spring with damping.

use crate::mechanics::elastic::Elastic;
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// A spring with a damper beside it.
///
/// F = F₀ + k·(x_a − x_b) + B·(v_a − v_b),  compression positive
///
/// As a delay line of one step: Z = k·T/(1−α) + B, with the parasitic mass k·T²; passive for every
/// B. The force at the start is that of the start positions; F₀ is the force where both ends stand at 0.
/// Krus, lecture slides on transmission line modelling (Linköping University).
#[component("translational.spring_damper", c, constants = Elastic)]
pub struct SpringDamper {
    /// rear end
    #[port]
    a: Translational,
    /// front end
    #[port]
    b: Translational,
    /// k — stiffness [N/m]
    #[parameter(default = "1e5 N/m", min = ">0 N/m")]
    pub stiffness: f64,
    /// B — damping [N*s/m]
    #[parameter(default = "0 N*s/m", min = "0 N*s/m")]
    pub damping: f64,
    /// F₀ — force with both ends at 0 [N]
    #[parameter(default = "0 N")]
    pub preload: f64,
    /// F_k — elastic force, compression positive [N]
    #[state]
    force: State,
    /// c_a — elastic wave at the rear end [N]
    #[memory]
    wave_a: Memory,
    /// c_b — elastic wave at the front end [N]
    #[memory]
    wave_b: Memory,
    /// v_a₋ — last velocity at the rear end [m/s]
    #[memory]
    last_velocity_a: Memory,
    /// v_b₋ — last velocity at the front end [m/s]
    #[memory]
    last_velocity_b: Memory,
}

impl SpringDamper {
    fn kernel(&self, environment: &Environment) -> Result<Elastic<f64>, Refusal> {
        Ok(Elastic::new(self.stiffness, self.damping, self.preload, environment))
    }
}

physics_of_kernel!(SpringDamper, Elastic);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translational::mass::{Mass, tests::mass};
    use fluxline_core::component::{Filter, Physics};
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{
        Bench, Noise, Surroundings, assert_lanes_give_the_bits_of_scalars, start_joined,
        step_joined,
    };
    use proptest::prelude::*;

    /// Position after one second of a mass of 50 kg that starts at 0.1 m and 0.5 m/s.
    fn decay(steps: usize) -> f64 {
        let step = 1.0 / steps as f64;
        let element = SpringDamper { stiffness: 5000.0, damping: 200.0, preload: 0.0 };
        let (mut c, mut q) = (Bench::new(&element, step), Bench::new(&mass(), step));
        q.set_state(Mass::X, 0.1).set_state(Mass::V, 0.5);
        start_joined((&mut c, SpringDamper::A), (&mut q, Mass::B));
        for _ in 0..steps {
            step_joined((&mut c, SpringDamper::A), (&mut q, Mass::B));
        }
        q.get_state(Mass::X)
    }

    #[test]
    fn a_damped_swing_converges_with_order_two() {
        // x = e^(−δt)·(x₀·cos ωt + (v₀ + δx₀)/ω·sin ωt), δ = B/2m = 2/s, ω² = k/m − δ² = 96/s²
        let (delta, omega) = (2f64, 96f64.sqrt());
        let exact =
            (-delta).exp() * (0.1 * omega.cos() + (0.5 + delta * 0.1) / omega * omega.sin());
        let errors = [500, 1000, 2000].map(|n| (decay(n) - exact).abs());
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((order - 2.0).abs() < 0.1, "{errors:?}");
        }
        assert!(errors[2] < 1e-5, "{errors:?}");
    }

    #[test]
    fn the_force_at_constant_speed_is_spring_and_damper() {
        for filter in [Filter::None, Filter::Wave(0.2), Filter::Pressure(0.2)] {
            let element = SpringDamper { stiffness: 5000.0, damping: 200.0, preload: 7.0 };
            let around = Surroundings { filter, ..Surroundings::of::<SpringDamper>(1e-3) };
            let mut bench = Bench::within(&element, &around).unwrap();
            bench.impose_flow(0, 0.3).impose_flow(1, -0.1).start();
            for _ in 0..1000 {
                bench.step();
                bench.impose_flow(0, 0.3).impose_flow(1, -0.1);
            }
            // 1 s at 0.2 m/s: 7 + 5000·0.2 + 200·0.2; a filter lags by some steps of 1 N
            let lag = if filter == Filter::None { 1e-9 } else { 2.0 };
            for port in 0..2 {
                let force = bench.effort(port);
                assert!((force - 1047.0).abs() < lag, "{filter:?}: {force}");
            }
        }
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] = [0.0, 1.0, 10.0, 1e3].map(|damping| SpringDamper {
            stiffness: 1e4 * (1.0 + damping),
            damping,
            preload: 10.0,
        });
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

    #[test]
    fn a_change_of_step_keeps_the_force() {
        let element = SpringDamper { stiffness: 5000.0, damping: 0.0, preload: 0.0 };
        let mut bench = Bench::new(&element, 1e-3);
        bench.state.bonds[0].displacement = 0.1;
        bench.start();
        let coarse = *Bench::new(&element, 4e-3).constants();
        let fine = *bench.constants();
        let force = bench.effort(0);
        bench.with(|io| SpringDamper::change_step(&fine, &coarse, io));
        assert_eq!(bench.state.bonds[0].wave, force);
        assert_eq!(bench.state.bonds[0].impedance, 20.0);
    }

    proptest! {
        /// Whatever the motion, it never gives back more than it has taken.
        #[test]
        fn spring_and_damper_are_passive(seed in 0u64..1000, damping in 0.0..1e5f64, alpha in 0.0..0.9f64) {
            let element = SpringDamper { stiffness: 1e5, damping, preload: 0.0 };
            let around = Surroundings {
                filter: Filter::Wave(alpha),
                ..Surroundings::of::<SpringDamper>(1e-3)
            };
            let mut bench = Bench::within(&element, &around).unwrap();
            bench.start();
            let mut noise = Noise::new(seed);
            let mut taken = 0.0;
            for _ in 0..100 {
                bench.step();
                for port in 0..2 {
                    bench.impose_flow(port, noise.between(-1.0, 1.0));
                    taken += bench.effort(port) * bench.flow(port);
                }
                prop_assert!(taken >= -1e-6, "{taken}");
            }
        }
    }
}
