//! Rack and pinion, drum and rope.

use crate::mechanics::body::{Body, BodyParameters};
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// Rotation to translation: a pinion on a rack, a winch drum with its rope, a wheel on a road.
///
/// v = r·ω;  J·dω/dt = M − r·F − B·ω − M_loss
///
/// M_loss as in `rotational.gear`. Without inertia M = r·F in every step, and there is at least
/// 1e-6 N·m·s/rad of viscous friction.
#[component("rotational.rack_pinion", q, constants = Body)]
pub struct RackPinion {
    /// shaft of the pinion
    #[port]
    a: Rotational,
    /// front end of the rack
    #[port]
    b: Translational,
    /// r — radius of the pinion [m]
    #[parameter(default = "0.1 m", min = ">0 m")]
    pub radius: f64,
    /// η — efficiency [–]
    #[parameter(default = 1, min = ">0", max = 1)]
    pub efficiency: f64,
    /// J — moment of inertia, the rack's mass times r² included [kg*m^2]
    #[parameter(default = "0 kg*m^2", min = "0 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction, referred to the shaft [N*m*s/rad]
    #[parameter(default = "0 N*m*s/rad", min = "0 N*m*s/rad")]
    pub damping: f64,
    /// φ₀ — angle at the start [rad]
    #[parameter(default = "0 rad")]
    pub start_angle: f64,
    /// ω₀ — speed at the start [rad/s]
    #[parameter(default = "0 rad/s")]
    pub start_speed: f64,
    /// φ — angle [rad]
    #[state(start = "start_angle")]
    angle: State,
    /// ω — speed [rad/s]
    #[state(start = "start_speed")]
    speed: State,
    /// – — share of the losses that holds it (lumped solvers) [–]
    #[memory]
    held: Memory,
}

impl RackPinion {
    fn kernel(&self, environment: &Environment) -> Result<Body<f64>, Refusal> {
        Body::new(
            &BodyParameters {
                mass: self.inertia,
                damping: self.damping,
                arms: [-1.0, self.radius],
                efficiency: Some(self.efficiency),
                ..Default::default()
            },
            environment,
        )
    }
}

physics_of_kernel!(RackPinion, Body);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Bench, assert_lanes_give_the_bits_of_scalars};

    fn winch(efficiency: f64, inertia: f64) -> RackPinion {
        RackPinion {
            radius: 0.25,
            efficiency,
            inertia,
            damping: 0.0,
            start_angle: 0.0,
            start_speed: 0.0,
        }
    }

    #[test]
    fn torque_over_radius_is_force_and_no_power_is_lost() {
        let mut bench = Bench::new(&winch(1.0, 0.0), 1e-3);
        bench.line(0, 500.0, 1.0).line(1, 800.0, 3.0).step();
        let (torque, force) = (bench.effort(0), bench.effort(1));
        assert!((torque - 0.25 * force).abs() < 1e-3, "{torque} {force}");
        assert!((bench.flow(1) + 0.25 * bench.flow(0)).abs() < 1e-12);
        let power = torque * bench.flow(0) + force * bench.flow(1);
        // what the least viscous friction takes: 1e-6·ω²
        let friction = 1e-6 * bench.flow(0) * bench.flow(0);
        assert!((power + friction).abs() < 1e-8, "{power} {friction}");
    }

    #[test]
    fn a_winch_lifts_its_load() {
        // M − r·F = 500 − 0.25·1600 = 100 N·m on 50 kg·m²
        let mut bench = Bench::new(&winch(1.0, 50.0), 1e-3);
        bench.line(0, 500.0, 0.0).line(1, 1600.0, 0.0).settle();
        for _ in 0..1000 {
            bench.step();
        }
        assert!((bench.get_state(RackPinion::SPEED) - 2.0).abs() < 1e-12);
        assert!((bench.state.bonds[1].displacement - 0.25).abs() < 1e-12);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] = [(0.0, 1.0), (0.1, 0.9), (1.0, 0.5), (0.0, 0.7)]
            .map(|(inertia, efficiency)| winch(efficiency, inertia));
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond {
                wave: noise.between(-500.0, 500.0),
                impedance: noise.between(0.0, 10.0),
                ..Bond::at_rest(0.0)
            },
            |_| 0.0,
        );
    }
}
