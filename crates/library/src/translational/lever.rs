//! Lever.

use crate::mechanics::body::{Body, BodyParameters};
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// A lever on a fixed pivot, for small angles.
///
/// J·dω/dt = F_a·l_a − F_b·l_b − B·ω,  v_a = l_a·ω,  v_b = l_b·ω
///
/// Both ends move the same way when the arms have the same sign; with the pivot between them l_b is
/// negative. Without inertia F_a·l_a = F_b·l_b in every step; a lever without inertia has at least
/// 1e-6 N·m·s/rad of viscous friction, which decides its speed between two ideal forces.
#[component("translational.lever", q, constants = Body)]
pub struct Lever {
    /// rear end
    #[port]
    a: Translational,
    /// front end
    #[port]
    b: Translational,
    /// l_a — distance of port a from the pivot [m]
    #[parameter(default = "1 m", min = ">0 m")]
    pub arm_a: f64,
    /// l_b — distance of port b from the pivot, negative when the pivot is between the ends [m]
    #[parameter(default = "1 m")]
    pub arm_b: f64,
    /// J — moment of inertia about the pivot [kg*m^2]
    #[parameter(default = "0 kg*m^2", min = "0 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction of the pivot [N*m*s/rad]
    #[parameter(default = "0 N*m*s/rad", min = "0 N*m*s/rad")]
    pub damping: f64,
    /// φ₀ — angle at the start [rad]
    #[parameter(default = "0 rad")]
    pub start_angle: f64,
    /// φ — angle [rad]
    #[state(start = "start_angle")]
    angle: State,
    /// ω — speed [rad/s]
    #[state]
    speed: State,
}

impl Lever {
    fn kernel(&self, environment: &Environment) -> Result<Body<f64>, Refusal> {
        if self.arm_b == 0.0 {
            return Err(Refusal::new(
                "arm_b",
                format!(
                    "port b is on the pivot (arm_b = 0 m, arm_a = {} m): it cannot move",
                    self.arm_a
                ),
                "give arm_b a length, negative when the pivot is between the ends",
            ));
        }
        Body::new(
            &BodyParameters {
                mass: self.inertia,
                damping: self.damping,
                arms: [-self.arm_a, self.arm_b],
                ..Default::default()
            },
            environment,
        )
    }
}

physics_of_kernel!(Lever, Body);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Bench, Surroundings, assert_lanes_give_the_bits_of_scalars};
    use proptest::prelude::*;

    fn lever(arm_b: f64, inertia: f64) -> Lever {
        Lever { arm_a: 0.5, arm_b, inertia, damping: 0.0, start_angle: 0.0 }
    }

    #[test]
    fn a_lever_without_inertia_transmits_force_by_its_arms() {
        for arm_b in [1.5, -1.5, 0.1] {
            let mut bench = Bench::new(&lever(arm_b, 0.0), 1e-3);
            bench.line(Lever::A, 300.0, 1e4).line(Lever::B, 40.0, 5e3).step();
            let (fa, fb) = (bench.effort(Lever::A), bench.effort(Lever::B));
            assert!((fa * 0.5 - fb * arm_b).abs() < 1e-6, "{fa} {fb}");
            assert!((bench.flow(Lever::B) + bench.flow(Lever::A) * arm_b / 0.5).abs() < 1e-12);
            let power = fa * bench.flow(Lever::A) + fb * bench.flow(Lever::B);
            assert!(power.abs() < 1e-6, "{power} W stay in the lever");
        }
    }

    #[test]
    fn a_lever_turns_with_the_moment() {
        // J·dω/dt = F_a·l_a − F_b·l_b = 100·0.5 − 20·(−1.5) = 80 N·m on 4 kg·m²
        let mut bench = Bench::new(&lever(-1.5, 4.0), 1e-3);
        bench.line(Lever::A, 100.0, 0.0).line(Lever::B, 20.0, 0.0).settle();
        for _ in 0..100 {
            bench.step();
        }
        assert!((bench.get_state(Lever::SPEED) - 2.0).abs() < 1e-12);
        assert!((bench.state.bonds[Lever::B].displacement + 1.5 * 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_port_on_the_pivot_is_refused() {
        let around = Surroundings::of::<Lever>(1e-3);
        let refusal = Bench::within(&lever(0.0, 0.0), &around).map(|_| ()).unwrap_err();
        assert_eq!(refusal.parameter, "arm_b");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] = [0.0, 0.1, 1.0, 10.0].map(|inertia| lever(inertia - 0.5, inertia));
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond {
                wave: noise.between(-500.0, 500.0),
                impedance: noise.between(0.0, 1000.0),
                ..Bond::at_rest(0.0)
            },
            |_| 0.0,
        );
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_generic_step(
            ca in -1e4..1e4f64, cb in -1e4..1e4f64, za in 1.0..1e5f64, zb in 0.0..1e5f64,
            arm_b in 0.1..3.0f64, inertia in prop_oneof![Just(0.0), 0.1..10.0f64], speed in -2.0..2.0f64,
        ) {
            let component = lever(arm_b, inertia);
            let mount = || {
                let mut bench = Bench::new(&component, 1e-3);
                bench.line(Lever::A, ca, za).line(Lever::B, cb, zb).set_state(Lever::SPEED, speed);
                bench
            };
            let (mut closed, mut generic) = (mount(), mount());
            closed.step();
            generic.step_generic();
            // Without inertia the stiffer end decides alone, and rounding may keep the generic step from
            // its tolerance.
            prop_assume!(generic.state.faults.unconverged == 0);
            for port in 0..2 {
                let (c, g) = (closed.flow(port), generic.flow(port));
                prop_assert!((c - g).abs() <= 1e-8 * (1.0 + g.abs()), "{c} {g}");
            }
        }
    }
}
