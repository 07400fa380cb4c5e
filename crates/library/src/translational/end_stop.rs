//! One-sided contact with the ground.

use crate::mechanics::contact::Stop;
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// A spring and a damper to the ground that a body meets after some travel: an elastic end stop, a
/// buffer, a load that an actuator presses against.
///
/// F = k·(x − x₀) + B·v for x > x₀, 0 before; it pushes back and never pulls
///
/// x counts out of the attached body towards the stop: at a mass's port b it is the mass's position,
/// at port a its negative. Z = k·T/2 + B while in contact, which is the trapezoidal rule. The load
/// springs of Pollmeier's two-actuator circuit (thesis, University of Bath, figure 3.1).
#[component("translational.end_stop", c, constants = Stop)]
pub struct EndStop {
    /// where the body arrives
    #[port]
    a: Translational,
    /// x₀ — position at which the body touches [m]
    #[parameter(default = "0 m")]
    pub position: f64,
    /// k — stiffness [N/m]
    #[parameter(default = "1e7 N/m", min = ">0 N/m")]
    pub stiffness: f64,
    /// B — damping [N*s/m]
    #[parameter(default = "0 N*s/m", min = "0 N*s/m")]
    pub damping: f64,
}

impl EndStop {
    fn kernel(&self, environment: &Environment) -> Result<Stop<f64>, Refusal> {
        Ok(Stop::new(self.stiffness, self.damping, self.position, environment))
    }
}

physics_of_kernel!(EndStop, Stop);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translational::mass::{Mass, tests::mass};
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{
        Bench, assert_lanes_give_the_bits_of_scalars, start_joined, step_joined,
    };

    fn stop(damping: f64) -> EndStop {
        EndStop { position: 0.05, stiffness: 5e6, damping }
    }

    #[test]
    fn a_mass_rebounds_after_half_a_period() {
        // contact lasts π·√(m/k) = 9.93 ms and gives back all of the speed
        let step = 1e-5;
        let (mut c, mut q) = (Bench::new(&stop(0.0), step), Bench::new(&mass(), step));
        q.set_state(Mass::V, 2.0);
        start_joined((&mut c, 0), (&mut q, Mass::B));
        let mut touching = 0;
        for _ in 0..5000 {
            step_joined((&mut c, 0), (&mut q, Mass::B));
            touching += usize::from(q.effort(Mass::B) > 0.0);
            assert!(q.effort(Mass::B) > -5e6 * step * step * 2.0 * 316.0);
        }
        let expected = std::f64::consts::PI * (50.0f64 / 5e6).sqrt();
        assert!((touching as f64 * step - expected).abs() < 2.0 * step);
        // (ωT)²/8 at entry and at exit
        assert!((q.get_state(Mass::V) + 2.0).abs() < 1e-5);
    }

    #[test]
    fn a_pressed_body_rests_on_the_spring_and_leaves_without_being_held() {
        let (mut c, mut q) = (Bench::new(&stop(2e4), 1e-4), Bench::new(&mass(), 1e-4));
        q.line(Mass::A, 1e4, 0.0);
        start_joined((&mut c, 0), (&mut q, Mass::B));
        for _ in 0..50_000 {
            step_joined((&mut c, 0), (&mut q, Mass::B));
        }
        // 10 kN on 5e6 N/m: 2 mm beyond the stop
        assert!((q.get_state(Mass::X) - 0.052).abs() < 1e-9);
        q.line(Mass::A, -1e4, 0.0);
        let mut held = 0;
        for _ in 0..1000 {
            step_joined((&mut c, 0), (&mut q, Mass::B));
            // one step of the wrong sign at most, (k·T/2 + B)·T·a with a = 2·10 kN/50 kg
            assert!(q.effort(Mass::B) >= -(5e6 * 5e-5 + 2e4) * 1e-4 * 400.0);
            held += usize::from(q.effort(Mass::B) < 0.0);
        }
        assert!(held <= 1);
        assert_eq!(q.effort(Mass::B), 0.0);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] = [0.0, 1.0, 10.0, 1e3].map(stop);
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond {
                flow: noise.between(-1.0, 1.0),
                displacement: noise.between(0.0, 0.1),
                ..Bond::at_rest(0.0)
            },
            |_| 0.0,
        );
    }
}
