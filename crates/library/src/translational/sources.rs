//! Imposed forces and motion, and the wall.

use crate::mechanics::physics_of_kernel;
use crate::mechanics::source::{Follower, Motion, ideal_effort, no_motion};
use fluxline_core::component;
use fluxline_core::component::{Environment, NoConstants, Refusal};

/// An ideal force.
///
/// A positive force pushes the body in front of the source, whatever its velocity.
#[component("translational.force_source", c, also = "hopsan:MechanicForceTransformer")]
pub struct ForceSource {
    /// end that pushes
    #[port(also = "P1")]
    b: Translational,
    /// F — force on the attached body [N]
    #[input(default = "0 N", also = "F")]
    pub force: f64,
}

ideal_effort!(ForceSource);

/// An end that moves with a given velocity, whatever the force.
///
/// A positive velocity moves it out of the source, towards what is attached. dx/dt = v by the
/// trapezoidal rule.
#[component("translational.velocity_source", q, constants = Motion, also = "hopsan:MechanicVelocityTransformer")]
pub struct VelocitySource {
    /// end that moves
    #[port(also = "Pm1")]
    b: Translational,
    /// v — velocity [m/s]
    #[input(default = "0 m/s", also = "v")]
    pub velocity: f64,
    /// x₀ — position at the start [m]
    #[parameter(default = "0 m")]
    pub start_position: f64,
    /// x — position [m]
    #[state(start = "start_position")]
    x: State,
}

impl VelocitySource {
    fn kernel(&self, environment: &Environment) -> Result<Motion<f64>, Refusal> {
        Ok(Motion::new(environment))
    }
}

physics_of_kernel!(VelocitySource, Motion);

/// An end that follows a given position, whatever the force.
///
/// dx/dt = v,  dv/dt = ω²·(u − x) − 2·ω·v
///
/// A critically damped filter gives every input, jumps too, a finite velocity: a step is followed
/// without overshoot, a ramp with a lag of 2/ω.
#[component("translational.position_source", q, constants = Follower)]
pub struct PositionSource {
    /// end that moves
    #[port]
    b: Translational,
    /// u — position to follow [m]
    #[input(default = "0 m")]
    pub position: f64,
    /// ω — natural frequency of the filter [rad/s]
    #[parameter(default = "600 rad/s", min = ">0 rad/s")]
    pub natural_frequency: f64,
    /// x₀ — position at the start; that of the input when not given [m]
    #[parameter]
    pub start_position: Option<f64>,
    /// x — position [m]
    #[state(start = "start_position")]
    x: State,
    /// v — velocity [m/s]
    #[state]
    v: State,
}

impl PositionSource {
    fn kernel(&self, environment: &Environment) -> Result<Follower<f64>, Refusal> {
        Ok(Follower::new(self.natural_frequency, self.start_position, environment))
    }
}

physics_of_kernel!(PositionSource, Follower);

/// A wall: does not move, any number of connections. Its position is 0.
#[component(
    "translational.fixed",
    q,
    also = "hopsan:MechanicFixedPosition",
    also = "hopsan:MechanicFixedPositionMultiPort"
)]
pub struct Fixed {
    /// connections, any number
    #[port(many, also = "Pm1")]
    port: Translational,
}

no_motion!(Fixed);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::component::Physics;
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Bench, assert_lanes_give_the_bits_of_scalars};
    use proptest::prelude::*;

    #[test]
    fn a_force_source_pushes_at_any_speed() {
        let mut bench = Bench::new(&ForceSource { force: 0.0 }, 1e-3);
        bench.input(ForceSource::FORCE, 250.0).start().step();
        for v in [-3.0, 0.0, 3.0] {
            assert_eq!(bench.impose_flow(0, v).effort(0), 250.0);
        }
    }

    #[test]
    fn a_velocity_source_moves_whatever_the_force() {
        let source = VelocitySource { velocity: 0.0, start_position: 0.0 };
        let mut bench = Bench::new(&source, 1e-3);
        bench.input(0, 0.2).set_state(0, 0.1).start();
        for n in 0..1000 {
            bench.line(0, 1e5, 1e3 * n as f64).step();
        }
        assert_eq!(bench.flow(0), 0.2);
        assert!((bench.get_state(0) - 0.3).abs() < 1e-12);
        assert_eq!(bench.effort(0), 1e5 + 999e3 * 0.2);
    }

    fn follower(natural_frequency: f64) -> PositionSource {
        PositionSource { position: 0.0, natural_frequency, start_position: None }
    }

    #[test]
    fn a_position_source_follows_a_jump_without_overshoot() {
        // x = 1 − (1 + ωt)·e^(−ωt)
        let errors = [1e-3, 5e-4].map(|step| {
            let mut bench = Bench::new(&follower(20.0), step);
            bench.input(0, 0.0).start().input(0, 1.0).settle();
            let mut worst = 0f64;
            for n in 1..=(1.0 / step) as usize {
                bench.step();
                let s = 20.0 * n as f64 * step;
                worst = worst.max((bench.get_state(0) - (1.0 - (1.0 + s) * (-s).exp())).abs());
                assert!(bench.get_state(0) <= 1.0 + 1e-12);
            }
            worst
        });
        assert!((errors[0] / errors[1] - 4.0).abs() < 0.2, "order 2: {errors:?}");
    }

    #[test]
    fn a_position_source_lags_a_ramp_by_two_over_its_frequency() {
        let mut bench = Bench::new(&follower(100.0), 1e-3);
        bench.input(0, 0.5).start();
        assert_eq!(bench.state.bonds[0].displacement, 0.5, "it starts where the input is");
        for n in 1..=1000 {
            bench.input(0, 0.5 + 0.3 * n as f64 * 1e-3).step();
        }
        assert!((bench.flow(0) - 0.3).abs() < 1e-12);
        assert!((bench.get_state(0) - (0.8 - 0.3 * 0.02)).abs() < 1e-12);
    }

    #[test]
    fn a_wall_does_not_move() {
        let mut bench = Bench::new(&Fixed {}, 1e-3);
        bench.line(0, 1e6, 1e3).step();
        assert_eq!((bench.flow(0), bench.effort(0)), (0.0, 1e6));
        assert_eq!(Fixed::ROLE, fluxline_core::component::BalanceRole::Boundary);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let line_end = |noise: &mut fluxline_core::testing::Noise| Bond {
            wave: noise.between(-500.0, 500.0),
            impedance: noise.between(0.0, 1000.0),
            flow: noise.between(-1.0, 1.0),
            ..Bond::at_rest(0.0)
        };
        let [a, b, c, d] = [1.0, 10.0, 1e3, 1e5].map(follower);
        assert_lanes_give_the_bits_of_scalars([&a, &b, &c, &d], 1e-3, line_end, |noise| {
            noise.between(-1.0, 1.0)
        });
        let velocity = VelocitySource { velocity: 0.0, start_position: 0.0 };
        assert_lanes_give_the_bits_of_scalars([&velocity; 4], 1e-3, line_end, |noise| {
            noise.between(-1.0, 1.0)
        });
        assert_lanes_give_the_bits_of_scalars(
            [&ForceSource { force: 0.0 }; 4],
            1e-3,
            line_end,
            |noise| noise.between(-1.0, 1.0),
        );
        assert_lanes_give_the_bits_of_scalars([&Fixed {}; 4], 1e-3, line_end, |_| 0.0);
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_generic_step(
            frequency in 1.0..1e4f64, u in -1.0..1.0f64, x in -1.0..1.0f64, v in -1.0..1.0f64,
        ) {
            let component = follower(frequency);
            let mount = || {
                let mut bench = Bench::new(&component, 1e-3);
                bench.input(0, u).set_state(0, x).set_state(1, v).settle();
                bench
            };
            let (mut closed, mut generic) = (mount(), mount());
            closed.step();
            generic.step_generic();
            for i in 0..4 {
                let (c, g) = (closed.get_state(i), generic.get_state(i));
                prop_assert!((c - g).abs() <= 1e-9 * (1.0 + frequency * frequency), "{i}: {c} {g}");
            }
        }
    }
}
