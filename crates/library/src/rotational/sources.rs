//! Imposed torques and rotation, and the frame.

use crate::mechanics::physics_of_kernel;
use crate::mechanics::source::{Motion, ideal_effort, no_motion};
use fluxline_core::component;
use fluxline_core::component::{Environment, NoConstants, Refusal};

/// An ideal torque.
///
/// A positive torque turns the body in front of the source forwards, whatever its speed.
#[component("rotational.torque_source", c, also = "hopsan:MechanicTorqueTransformer")]
pub struct TorqueSource {
    /// shaft that drives
    #[port(also = "P1")]
    b: Rotational,
    /// M — torque on the attached body [N*m]
    #[input(default = "0 N*m", also = "T")]
    pub torque: f64,
}

ideal_effort!(TorqueSource);

/// A shaft that turns with a given speed, whatever the torque.
///
/// dφ/dt = ω by the trapezoidal rule.
#[component("rotational.speed_source", q, constants = Motion, also = "hopsan:MechanicAngularVelocityTransformer")]
pub struct SpeedSource {
    /// shaft that turns
    #[port(also = "out")]
    b: Rotational,
    /// ω — speed [rad/s]
    #[input(default = "1500 rpm", also = "omega")]
    pub speed: f64,
    /// φ₀ — angle at the start [rad]
    #[parameter(default = "0 rad")]
    pub start_angle: f64,
    /// φ — angle [rad]
    #[state(start = "start_angle")]
    angle: State,
}

impl SpeedSource {
    fn kernel(&self, environment: &Environment) -> Result<Motion<f64>, Refusal> {
        Ok(Motion::new(environment))
    }
}

physics_of_kernel!(SpeedSource, Motion);

/// A fixed frame: does not turn, any number of connections. Its angle is 0.
#[component("rotational.fixed", q)]
pub struct Fixed {
    /// connections, any number
    #[port(many)]
    port: Rotational,
}

no_motion!(Fixed);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    #[test]
    fn a_torque_source_drives_at_any_speed() {
        let mut bench = Bench::new(&TorqueSource { torque: 0.0 }, 1e-3);
        bench.input(TorqueSource::TORQUE, 12.0).start().step();
        for speed in [-3.0, 0.0, 3.0] {
            assert_eq!(bench.impose_flow(0, speed).effort(0), 12.0);
        }
    }

    #[test]
    fn a_speed_source_turns_whatever_the_torque() {
        let source = SpeedSource { speed: 0.0, start_angle: 0.0 };
        let mut bench = Bench::new(&source, 1e-3);
        bench.input(0, 157.0).start();
        for _ in 0..1000 {
            bench.line(0, 500.0, 10.0).step();
        }
        assert_eq!(bench.flow(0), 157.0);
        assert!((bench.get_state(0) - 157.0).abs() < 1e-9);
        assert_eq!(bench.effort(0), 500.0 + 1570.0);
    }

    #[test]
    fn a_frame_does_not_turn() {
        let mut bench = Bench::new(&Fixed {}, 1e-3);
        bench.line(0, 1e6, 1e3).step();
        assert_eq!((bench.flow(0), bench.effort(0)), (0.0, 1e6));
    }
}
