//! Sensors for linear motion.
//!
//! They watch a connection without taking part in it. Motion counts out of the mass, lever or source
//! (the component that moves) into what is attached to it: at a mass's port b the value is along the
//! mass's axis, at port a against it. A signal input can also be wired to `mass.x` directly.

use crate::mechanics::source::sensor;
use fluxline_core::component;
use fluxline_core::component::NoConstants;

/// Shows the position at a connection.
///
/// Positive when it moves out of the component that moves, which is along the axis at its port b.
#[component("translational.position_sensor", s, also = "hopsan:MechanicPositionSensor")]
pub struct PositionSensor {
    /// connection that it watches
    #[port(observes, also = "P1")]
    port: Translational,
    /// x — position [m]
    #[output]
    out: Output,
}

sensor!(PositionSensor, displacement);

/// Shows the velocity at a connection.
///
/// Positive when it moves out of the component that moves, which is along the axis at its port b.
#[component("translational.velocity_sensor", s, also = "hopsan:MechanicSpeedSensor")]
pub struct VelocitySensor {
    /// connection that it watches
    #[port(observes, also = "P1")]
    port: Translational,
    /// v — velocity [m/s]
    #[output]
    out: Output,
}

sensor!(VelocitySensor, flow);

/// Shows the force at a connection.
///
/// Positive when the connection is compressed.
#[component("translational.force_sensor", s, also = "hopsan:MechanicForceSensor")]
pub struct ForceSensor {
    /// connection that it watches
    #[port(observes, also = "P1")]
    port: Translational,
    /// F — force, compression positive [N]
    #[output]
    out: Output,
}

sensor!(ForceSensor, effort);

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
        shows!(PositionSensor, 0.25);
        shows!(VelocitySensor, -1.5);
        shows!(ForceSensor, 40.0);
    }
}
