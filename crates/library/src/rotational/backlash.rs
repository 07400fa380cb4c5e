//! Angular play.

use crate::mechanics::contact::Contact;
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// Angular play, such as that of teeth or splines: elastic beyond a gap.
///
/// δ = φ_a − φ_b;  M = k·(δ ∓ g/2) + B·dδ/dt beyond ±g/2, 0 within
///
/// The torque never pulls back into the gap, also where damping is strong. While in contact it is a
/// delay line of one step, Z = k·T + B, with the parasitic inertia 4/3·k·T².
#[component("rotational.backlash", c, constants = Contact)]
pub struct Backlash {
    /// rear end
    #[port]
    a: Rotational,
    /// front end
    #[port]
    b: Rotational,
    /// g — gap: free travel in all [rad]
    #[parameter(default = "0.01 rad", min = "0 rad")]
    pub gap: f64,
    /// k — stiffness of the contact [N*m/rad]
    #[parameter(default = "1e4 N*m/rad", min = ">0 N*m/rad")]
    pub stiffness: f64,
    /// B — damping of the contact [N*m*s/rad]
    #[parameter(default = "0 N*m*s/rad", min = "0 N*m*s/rad")]
    pub damping: f64,
    /// – — 1 in contact [–]
    #[memory]
    closed: Memory,
    /// c_a − c_b — difference of the elastic waves [N*m]
    #[memory]
    difference: Memory,
    /// ω_a₋ — last speed at the rear end [rad/s]
    #[memory]
    last_speed_a: Memory,
    /// ω_b₋ — last speed at the front end [rad/s]
    #[memory]
    last_speed_b: Memory,
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
    use crate::rotational::inertia::{Inertia, tests::inertia};
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Bench, assert_lanes_give_the_bits_of_scalars};

    #[test]
    fn a_driven_wheel_moves_once_the_play_is_taken_up() {
        // the driver turns freely by half the play, then carries the wheel along; speeds meet
        let step = 1e-4;
        let play = Backlash { gap: 0.1, stiffness: 1e4, damping: 40.0 };
        let mut c = Bench::new(&play, step);
        let (mut driver, mut wheel) = (Bench::new(&inertia(), step), Bench::new(&inertia(), step));
        driver.set_state(Inertia::SPEED, 1.0).start();
        wheel.start();
        c.take_bond(0, &driver, Inertia::B).take_bond(1, &wheel, Inertia::A).start();
        for n in 1..=40_000 {
            c.take_bond(0, &driver, Inertia::B).take_bond(1, &wheel, Inertia::A).step();
            driver.take_bond(Inertia::B, &c, 0).step();
            wheel.take_bond(Inertia::A, &c, 1).step();
            let (w1, w2) = (driver.get_state(Inertia::SPEED), wheel.get_state(Inertia::SPEED));
            if n < 499 {
                assert_eq!((w1, w2), (1.0, 0.0), "{n}: 0.05 rad at 1 rad/s");
            }
            // what the ends differ by is the parasitic inertia, 4/3·k·T² = 1.3e-4 kg·m² of 2
            assert!((w1 + w2 - 1.0).abs() < 1e-3, "{n}: momentum {}", w1 + w2);
        }
        assert!(wheel.get_state(Inertia::ANGLE) > 1.5, "it was carried along");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] =
            [0.0, 1.0, 10.0, 1e3].map(|damping| Backlash { gap: 0.02, stiffness: 1e4, damping });
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond {
                flow: noise.between(-10.0, 10.0),
                displacement: noise.between(-0.02, 0.02),
                ..Bond::at_rest(0.0)
            },
            |_| 0.0,
        );
    }
}
