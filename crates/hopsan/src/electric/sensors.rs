//! Sensors of voltage and current.

use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<CurrentSensor>(),
    ComponentType::of::<VoltageSensor>(),
    ComponentType::of::<NodeSensor>(),
];

/// Shows the current at a connection.
///
/// Positive out of the Q-component; as it was a step ago.
#[component("hopsan.ElectricIsensor", s)]
pub struct CurrentSensor {
    /// connection that it watches
    #[port(name = "Pel1", observes, optional)]
    p1: Electrical,
    /// i — current [A]
    #[output(name = "Piout")]
    current: Signal,
}

/// Shows the voltage at a connection.
///
/// As it was a step ago.
#[component("hopsan.ElectricUsensor", s)]
pub struct VoltageSensor {
    /// connection that it watches
    #[port(name = "Pel1", observes, optional)]
    p1: Electrical,
    /// u — voltage [V]
    #[output(name = "Puout")]
    voltage: Signal,
}

/// Shows all that a connection carries.
///
/// As it was a step ago.
#[component("hopsan.ElectricNodeSensor", s)]
pub struct NodeSensor {
    /// connection that it watches
    #[port(name = "P1", observes, optional)]
    p1: Electrical,
    /// u — voltage [V]
    #[output(name = "u")]
    voltage: Signal,
    /// i — current [A]
    #[output(name = "i")]
    current: Signal,
    /// c — wave [V]
    #[output(name = "c")]
    wave: Signal,
    /// Z — impedance [V/A]
    #[output(name = "Zc")]
    impedance: Signal,
}

/// A sensor copies variables of its connection to its outputs, at the start too.
macro_rules! copies {
    ($type:ty, $($output:ident = $variable:ident),*) => {
        impl Physics for $type {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }

            fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
                Self::step(k, io);
            }

            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                $(
                    let value = io.$variable(Self::P1);
                    io.set_output(Self::$output, value);
                )*
            }
        }
    };
}
copies!(CurrentSensor, CURRENT = flow);
copies!(VoltageSensor, VOLTAGE = effort);
copies!(NodeSensor, VOLTAGE = effort, CURRENT = flow, WAVE = wave, IMPEDANCE = impedance);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    #[test]
    fn sensors_show_the_connection() {
        let mut node = Bench::new(&NodeSensor {}, 1e-3);
        node.line(0, 5.0, 2.0).impose_flow(0, 3.0).start();
        let shown: Vec<f64> = (0..4).map(|i| node.output(i)).collect();
        assert_eq!(shown, [11.0, 3.0, 5.0, 2.0]);
        let mut current = Bench::new(&CurrentSensor {}, 1e-3);
        assert_eq!(current.line(0, 5.0, 2.0).impose_flow(0, 3.0).step().output(0), 3.0);
        let mut voltage = Bench::new(&VoltageSensor {}, 1e-3);
        assert_eq!(voltage.line(0, 5.0, 2.0).impose_flow(0, 3.0).step().output(0), 11.0);
    }
}
