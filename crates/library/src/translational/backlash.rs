//! Play between two ends.

use crate::mechanics::contact::Contact;
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// Play: a spring and a damper that act only beyond a gap.
///
/// δ = x_a − x_b;  F = k·(δ ∓ g/2) + B·dδ/dt beyond ±g/2, 0 within
///
/// The force never pulls back into the gap, also where damping is strong. While in contact it is a
/// delay line of one step, Z = k·T + B, with the parasitic mass 4/3·k·T².
#[component("translational.backlash", c, constants = Contact)]
pub struct Backlash {
    /// rear end
    #[port]
    a: Translational,
    /// front end
    #[port]
    b: Translational,
    /// g — gap: free travel in all [m]
    #[parameter(default = "1 mm", min = "0 m")]
    pub gap: f64,
    /// k — stiffness of the contact [N/m]
    #[parameter(default = "1e6 N/m", min = ">0 N/m")]
    pub stiffness: f64,
    /// B — damping of the contact [N*s/m]
    #[parameter(default = "0 N*s/m", min = "0 N*s/m")]
    pub damping: f64,
    /// – — 1 in contact [–]
    #[memory]
    closed: Memory,
    /// c_a − c_b — difference of the elastic waves [N]
    #[memory]
    difference: Memory,
    /// v_a₋ — last velocity at the rear end [m/s]
    #[memory]
    last_velocity_a: Memory,
    /// v_b₋ — last velocity at the front end [m/s]
    #[memory]
    last_velocity_b: Memory,
}

impl Backlash {
    fn kernel(&self, environment: &Environment) -> Result<Contact<f64>, Refusal> {
        Ok(Contact::new(self.stiffness, self.damping, self.gap, environment))
    }
}

physics_of_kernel!(Backlash, Contact);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translational::mass::{Mass, tests::mass};
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{
        Bench, assert_lanes_give_the_bits_of_scalars, start_joined, step_joined,
    };

    fn play(damping: f64) -> Backlash {
        Backlash { gap: 0.02, stiffness: 2e5, damping }
    }

    #[test]
    fn within_the_gap_motion_is_free() {
        let (mut c, mut q) = (Bench::new(&play(0.0), 1e-3), Bench::new(&mass(), 1e-3));
        q.set_state(Mass::X, -0.0099).set_state(Mass::V, 0.1);
        start_joined((&mut c, 0), (&mut q, Mass::B));
        for _ in 0..197 {
            step_joined((&mut c, 0), (&mut q, Mass::B));
            assert_eq!((c.effort(0), q.get_state(Mass::V)), (0.0, 0.1));
        }
    }

    #[test]
    fn pressed_beyond_the_gap_it_is_a_spring() {
        // 400 N on 2e5 N/m: 2 mm beyond half the gap, either way
        for force in [400.0, -400.0f64] {
            let damped = play(2000.0);
            let (mut c, mut q) = (Bench::new(&damped, 1e-3), Bench::new(&mass(), 1e-3));
            q.line(Mass::A, force, 0.0);
            start_joined((&mut c, 0), (&mut q, Mass::B));
            for _ in 0..5000 {
                step_joined((&mut c, 0), (&mut q, Mass::B));
            }
            let expected = 0.012 * force.signum();
            assert!((q.get_state(Mass::X) - expected).abs() < 1e-9);
            assert!((q.effort(Mass::B) - force).abs() < 1e-6);
        }
    }

    /// A mass that rattles in the gap, undamped, at ωT = √(k/m)·T.
    fn rattle(step: f64, damping: f64) -> (f64, f64) {
        let element = play(damping);
        let (mut c, mut q) = (Bench::new(&element, step), Bench::new(&mass(), step));
        q.set_state(Mass::V, 0.3);
        start_joined((&mut c, 0), (&mut q, Mass::B));
        let (mut pull, mut contacts): (f64, usize) = (0.0, 0);
        let mut before = 0.3;
        for _ in 0..(20.0 / step) as usize {
            step_joined((&mut c, 0), (&mut q, Mass::B));
            c.take_bond(0, &q, Mass::B);
            let side = q.get_state(Mass::X).signum();
            pull = pull.max(-q.effort(Mass::B) * side);
            let v = q.get_state(Mass::V);
            contacts += usize::from(v * before < 0.0);
            before = v;
        }
        assert!(contacts > 50, "{contacts} contacts");
        ((c.energy() + q.energy()) / (0.5 * 50.0 * 0.09), pull)
    }

    #[test]
    fn a_rattle_keeps_its_energy_and_never_sticks() {
        // ωT = 0.063 and 0.0063: each contact errs by at most (ωT)²/8, of either sign; hundreds add
        // up like a random walk
        for (step, tolerance) in [(1e-3, 0.02), (1e-4, 2e-4)] {
            let (energy, pull) = rattle(step, 0.0);
            assert!((energy - 1.0).abs() < tolerance, "{step}: {energy}");
            // wrong force at most k·T²·a, with a = v·ω in the contact; the wave of the far end adds
            // as much
            let bound = 2.0 * 2e5 * step * step * 0.3 * 63.2;
            assert!(pull <= bound, "{step}: {pull} N of {bound} N");
        }
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] = [0.0, 1.0, 10.0, 1e3].map(play);
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond {
                flow: noise.between(-1.0, 1.0),
                displacement: noise.between(-0.02, 0.02),
                ..Bond::at_rest(0.0)
            },
            |_| 0.0,
        );
    }
}
