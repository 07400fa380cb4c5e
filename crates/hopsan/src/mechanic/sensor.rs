//! Sensors: they show one variable of the connection they watch, as it was after the last step.

use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<PositionSensor>(),
    ComponentType::of::<SpeedSensor>(),
    ComponentType::of::<ForceSensor>(),
    ComponentType::of::<AngleSensor>(),
    ComponentType::of::<AngularVelocitySensor>(),
    ComponentType::of::<TorqueSensor>(),
    ComponentType::of::<NodeSensor>(),
];

/// Declares a sensor: name, type, domain, the comment of its output, and the variables shown.
macro_rules! sensor {
    ($name:tt, $sensor:ident, $domain:ident, $doc:tt,
     $($output:ident: $output_name:tt, $output_doc:tt, $variable:ident);+) => {
        #[doc = $doc]
        #[component($name, s)]
        pub struct $sensor {
            /// connection that it watches
            #[port(name = "P1", observes, optional)]
            p1: $domain,
            $(#[doc = $output_doc]
            #[output(name = $output_name)]
            $output: Signal,)+
        }

        impl Physics for $sensor {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }

            fn start<T: Num>(constants: &NoConstants<T>, io: &mut Step<'_, T>) {
                Self::step(constants, io);
            }

            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                let values = [$(io.$variable(Self::P1)),+];
                io.set_outputs(values);
            }
        }
    };
}

sensor!("hopsan.MechanicPositionSensor", PositionSensor, Translational,
    "Shows the position at a connection.",
    value: "out", " x — position [m]", displacement);
sensor!("hopsan.MechanicSpeedSensor", SpeedSensor, Translational,
    "Shows the speed at a connection, positive out of the component that moves.",
    value: "out", " v — speed [m/s]", flow);
sensor!("hopsan.MechanicForceSensor", ForceSensor, Translational,
    "Shows the force at a connection, compression positive.",
    value: "out", " F — force [N]", effort);
sensor!("hopsan.MechanicAngleSensor", AngleSensor, Rotational,
    "Shows the angle at a connection.",
    value: "out", " θ — angle [rad]", displacement);
sensor!("hopsan.MechanicAngularVelocitySensor", AngularVelocitySensor, Rotational,
    "Shows the angular velocity at a connection, positive out of the component that turns.",
    value: "out", " ω — angular velocity [rad/s]", flow);
sensor!("hopsan.MechanicTorqueSensor", TorqueSensor, Rotational,
    "Shows the torque at a connection.",
    value: "out", " T — torque [N*m]", effort);
sensor!("hopsan.MechanicNodeSensor", NodeSensor, Translational,
    "Shows all variables of a connection.",
    force: "out_f", " F — force [N]", effort;
    speed: "out_v", " v — speed [m/s]", flow;
    position: "out_x", " x — position [m]", displacement;
    wave: "out_c", " c — wave [N]", wave;
    impedance: "out_z", " Z — impedance [N*s/m]", impedance;
    mass: "out_em", " m_e — equivalent mass [kg]", dry);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::state::Bond;
    use fluxline_core::testing::Bench;

    const BOND: Bond<f64> =
        Bond { flow: -1.5, effort: 40.0, wave: 43.0, impedance: 2.0, displacement: 0.25, dry: 7.0 };

    fn shown<M: Physics>(sensor: M) -> Vec<f64> {
        let mut bench = Bench::new(&sensor, 1e-3);
        bench.state.bonds[0] = BOND;
        bench.start();
        let at_start: Vec<f64> = bench.state.signals.clone();
        bench.step();
        assert_eq!(
            bench.state.signals, at_start,
            "it shows the start values before the first step"
        );
        assert_eq!(bench.state.bonds[0], BOND, "it only looks");
        at_start
    }

    #[test]
    fn sensors_show_the_connection_they_watch() {
        assert_eq!(shown(PositionSensor {}), [0.25]);
        assert_eq!(shown(AngleSensor {}), [0.25]);
        assert_eq!(shown(SpeedSensor {}), [-1.5]);
        assert_eq!(shown(AngularVelocitySensor {}), [-1.5]);
        assert_eq!(shown(ForceSensor {}), [40.0]);
        assert_eq!(shown(TorqueSensor {}), [40.0]);
        assert_eq!(shown(NodeSensor {}), [40.0, -1.5, 0.25, 43.0, 2.0, 7.0]);
    }
}
