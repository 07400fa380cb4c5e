//! Sensors of gas: each copies one quantity of a line, as it was left by the step before.

use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<PressureSensor>(),
    ComponentType::of::<EnergyFlowSensor>(),
    ComponentType::of::<TemperatureSensor>(),
    ComponentType::of::<MassFlowSensor>(),
];

macro_rules! sensor {
    ($(#[$doc:meta])* $name:literal $type:ident { $($output:tt)* } $read:ident) => {
        $(#[$doc])*
        #[component($name, s)]
        pub struct $type {
            /// line that is observed
            #[port(name = "Pp1", observes, optional)]
            line: Pneumatic,
            $($output)*
        }

        impl Physics for $type {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }

            fn start<T: Num>(constants: &NoConstants<T>, io: &mut Step<'_, T>) {
                Self::step(constants, io);
            }

            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                io.set_output(Self::VALUE, io.$read(Self::LINE));
            }
        }
    };
}

sensor! {
    /// Pressure of gas.
    "hopsan.PneumaticPsensor" PressureSensor {
        /// p — pressure [Pa]
        #[output(name = "out")]
        value: Signal,
    } effort
}

sensor! {
    /// Energy flow of gas.
    "hopsan.PneumaticdEsensor" EnergyFlowSensor {
        /// Ė — energy flow [W]
        #[output(name = "out")]
        value: Signal,
    } flow
}

sensor! {
    /// Temperature of gas.
    "hopsan.PneumaticTsensor" TemperatureSensor {
        /// T — temperature [K]
        #[output(name = "out")]
        value: Signal,
    } dry
}

sensor! {
    /// Mass flow of gas.
    "hopsan.PneumaticQmsensor" MassFlowSensor {
        /// q_m — mass flow [kg/s]
        #[output(name = "out")]
        value: Signal,
    } displacement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bench;
    use fluxline_core::state::Bond;

    fn reading<M: Physics>(bond: Bond<f64>) -> f64 {
        let mut sensor = bench::<M>(1e-3, &[]);
        sensor.state.bonds[0] = bond;
        sensor.start();
        sensor.output(0)
    }

    #[test]
    fn each_sensor_reads_its_quantity() {
        let mut bond = Bond::at_rest(1e5);
        (bond.flow, bond.displacement, bond.dry) = (2.0, 3.0, 4.0);
        assert_eq!(reading::<PressureSensor>(bond), 1e5);
        assert_eq!(reading::<EnergyFlowSensor>(bond), 2.0);
        assert_eq!(reading::<MassFlowSensor>(bond), 3.0);
        assert_eq!(reading::<TemperatureSensor>(bond), 4.0);
    }
}
