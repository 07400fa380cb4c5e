//! Elastic shaft.

use crate::mechanics::elastic::Elastic;
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// An elastic shaft, damped where wanted.
///
/// M = M₀ + k·(φ_a − φ_b) + B·(ω_a − ω_b),  positive when a turns ahead of b
///
/// As a delay line of one step: Z = k·T/(1−α) + B, with the parasitic inertia k·T²; passive for every
/// B. The torque at the start is that of the start angles; M₀ is the torque where both ends stand at 0.
/// Krus, lecture slides on transmission line modelling (Linköping University).
#[component("rotational.shaft", c, constants = Elastic, also = "hopsan:MechanicRotShaft")]
pub struct Shaft {
    /// rear end
    #[port(also = "Pmr1")]
    a: Rotational,
    /// front end
    #[port(also = "Pmr2")]
    b: Rotational,
    /// k — torsional stiffness [N*m/rad]
    #[parameter(default = "1e4 N*m/rad", min = ">0 N*m/rad", also = "Ks")]
    pub stiffness: f64,
    /// B — damping [N*m*s/rad]
    #[parameter(default = "0 N*m*s/rad", min = "0 N*m*s/rad")]
    pub damping: f64,
    /// M₀ — torque with both ends at 0 [N*m]
    #[parameter(default = "0 N*m")]
    pub preload: f64,
    /// M_k — elastic torque [N*m]
    #[state]
    torque: State,
    /// c_a — elastic wave at the rear end [N*m]
    #[memory]
    wave_a: Memory,
    /// c_b — elastic wave at the front end [N*m]
    #[memory]
    wave_b: Memory,
    /// ω_a₋ — last speed at the rear end [rad/s]
    #[memory]
    last_speed_a: Memory,
    /// ω_b₋ — last speed at the front end [rad/s]
    #[memory]
    last_speed_b: Memory,
}

impl Shaft {
    fn kernel(&self, environment: &Environment) -> Result<Elastic<f64>, Refusal> {
        Ok(Elastic::new(self.stiffness, self.damping, self.preload, environment))
    }
}

physics_of_kernel!(Shaft, Elastic);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotational::inertia::{Inertia, tests::inertia};
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Bench, assert_lanes_give_the_bits_of_scalars};

    /// Twist of a shaft between two inertias of 2 kg·m², after `end`.
    fn twist(step: f64, end: f64) -> f64 {
        let shaft = Shaft { stiffness: 800.0, damping: 4.0, preload: 0.0 };
        let mut c = Bench::new(&shaft, step);
        let (mut first, mut second) = (Bench::new(&inertia(), step), Bench::new(&inertia(), step));
        first.set_state(Inertia::ANGLE, 0.1).start();
        second.start();
        c.take_bond(0, &first, Inertia::B).take_bond(1, &second, Inertia::A).start();
        assert!((c.effort(0) - 80.0).abs() < 1e-12, "wound up by the start angles");
        first.take_bond(Inertia::B, &c, 0).settle();
        second.take_bond(Inertia::A, &c, 1).settle();
        for _ in 0..(end / step).round() as usize {
            c.take_bond(0, &first, Inertia::B).take_bond(1, &second, Inertia::A).step();
            first.take_bond(Inertia::B, &c, 0).step();
            second.take_bond(Inertia::A, &c, 1).step();
        }
        first.get_state(Inertia::ANGLE) - second.get_state(Inertia::ANGLE)
    }

    #[test]
    fn two_inertias_swing_against_each_other_with_order_one() {
        // reduced inertia 1 kg·m²: δ = B/2 = 2/s, ω² = 800 − 4; the damper's delay costs one order
        let omega = 796f64.sqrt();
        let exact = 0.1 * (-2f64).exp() * (omega.cos() + 2.0 / omega * omega.sin());
        let errors = [1e-4, 5e-5, 2.5e-5].map(|step| (twist(step, 1.0) - exact).abs());
        for pair in errors.windows(2) {
            assert!(((pair[0] / pair[1]).log2() - 1.0).abs() < 0.15, "{errors:?}");
        }
        assert!(errors[2] < 1e-6, "{errors:?}");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] = [0.0, 1.0, 10.0, 1e3].map(|damping| Shaft {
            stiffness: 1e3 * (1.0 + damping),
            damping,
            preload: 0.0,
        });
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond {
                flow: noise.between(-10.0, 10.0),
                displacement: noise.between(-0.1, 0.1),
                ..Bond::at_rest(0.0)
            },
            |_| 0.0,
        );
    }
}
