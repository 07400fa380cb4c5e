//! Sensors for rotation.
//!
//! They watch a connection without taking part in it. Motion counts out of the inertia, gear or source
//! (the component that moves) into what is attached to it: at a inertia's port b the value is along the
//! inertia's axis, at port a against it. A signal input can also be wired to `inertia.angle` directly.

use crate::mechanics::source::sensor;
use fluxline_core::component;
use fluxline_core::component::NoConstants;

/// Shows the angle at a connection.
///
/// Positive when it moves out of the component that moves, which is along the axis at its port b.
#[component("rotational.angle_sensor", s, also = "hopsan:MechanicAngleSensor")]
pub struct AngleSensor {
    /// connection that it watches
    #[port(observes, also = "P1")]
    port: Rotational,
    /// φ — angle [rad]
    #[output]
    out: Output,
}

sensor!(AngleSensor, displacement);

/// Shows the speed at a connection.
///
/// Positive when it moves out of the component that moves, which is along the axis at its port b.
#[component("rotational.speed_sensor", s, also = "hopsan:MechanicAngularVelocitySensor")]
pub struct SpeedSensor {
    /// connection that it watches
    #[port(observes, also = "P1")]
    port: Rotational,
    /// ω — speed [rad/s]
    #[output]
    out: Output,
}

sensor!(SpeedSensor, flow);

/// Shows the torque at a connection.
///
/// Positive when the component that moves turns what is attached to it forwards.
#[component("rotational.torque_sensor", s, also = "hopsan:MechanicTorqueSensor")]
pub struct TorqueSensor {
    /// connection that it watches
    #[port(observes, also = "P1")]
    port: Rotational,
    /// M — torque [N*m]
    #[output]
    out: Output,
}

sensor!(TorqueSensor, effort);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    #[test]
    fn sensors_show_the_connection() {
        macro_rules! shows {
            ($type:ident, $value:expr) => {
                let mut bench = Bench::new(&$type {}, 1e-3);
                let bond = &mut bench.state.bonds[0];
                (bond.displacement, bond.flow, bond.effort) = (0.25, -1.5, 40.0);
                let before = *bond;
                bench.step();
                assert_eq!(bench.output(0), $value);
                assert_eq!(bench.state.bonds[0], before, "it only looks");
            };
        }
        shows!(AngleSensor, 0.25);
        shows!(SpeedSensor, -1.5);
        shows!(TorqueSensor, 40.0);
    }
}
