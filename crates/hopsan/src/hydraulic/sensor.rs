//! Sensors: they look at a connection without taking part in it.
//!
//! A sensor runs with the signals: it shows what the step before has left. Its sign is that of the
//! connection, where flow counts out of the Q-component.

use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<PressureSensor>(),
    ComponentType::of::<DifferentialPressureSensor>(),
    ComponentType::of::<FlowSensor>(),
    ComponentType::of::<PowerSensor>(),
    ComponentType::of::<NodeSensor>(),
];

/// Writes [`Physics`] for sensors: `read(io)` gives all outputs, in their order.
macro_rules! sensor {
    ($($type:ident)*) => {$(
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
                io.set_outputs(Self::read(io));
            }
        }
    )*};
}
sensor! { PressureSensor DifferentialPressureSensor FlowSensor PowerSensor NodeSensor }

/// Pressure sensor.
///
/// out = p
#[component("hopsan.HydraulicPressureSensor", s)]
pub struct PressureSensor {
    /// the connection to look at
    #[port(name = "P1", observes, optional)]
    p1: Hydraulic,
    /// p — pressure [Pa]
    #[output]
    out: Output,
}

impl PressureSensor {
    #[inline(always)]
    fn read<T: Num>(io: &Step<'_, T>) -> [T; 1] {
        [io.effort(Self::P1)]
    }
}

/// Sensor of a pressure difference.
///
/// out = p₁ − p₂
#[component("hopsan.HydraulicDifferentialPressureSensor", s)]
pub struct DifferentialPressureSensor {
    /// the connection to look at
    #[port(name = "P1", observes, optional)]
    p1: Hydraulic,
    /// the connection whose pressure is taken off
    #[port(name = "P2", observes, optional)]
    p2: Hydraulic,
    /// Δp — pressure difference [Pa]
    #[output]
    out: Output,
}

impl DifferentialPressureSensor {
    #[inline(always)]
    fn read<T: Num>(io: &Step<'_, T>) -> [T; 1] {
        [io.effort(Self::P1) - io.effort(Self::P2)]
    }
}

/// Flow sensor.
///
/// out = q, out of the Q-component
#[component("hopsan.HydraulicFlowSensor", s)]
pub struct FlowSensor {
    /// the connection to look at
    #[port(name = "P1", observes, optional)]
    p1: Hydraulic,
    /// q — flow [m^3/s]
    #[output]
    out: Output,
}

impl FlowSensor {
    #[inline(always)]
    fn read<T: Num>(io: &Step<'_, T>) -> [T; 1] {
        [io.flow(Self::P1)]
    }
}

/// Sensor of hydraulic power.
///
/// out = p·q, out of the Q-component
#[component("hopsan.HydraulicPowerSensor", s)]
pub struct PowerSensor {
    /// the connection to look at
    #[port(name = "P1", observes, optional)]
    p1: Hydraulic,
    /// P — power [W]
    #[output]
    out: Output,
}

impl PowerSensor {
    #[inline(always)]
    fn read<T: Num>(io: &Step<'_, T>) -> [T; 1] {
        [io.effort(Self::P1) * io.flow(Self::P1)]
    }
}

/// Sensor of all that a connection holds.
///
/// p, q (out of the Q-component), c and Z as they are
#[component("hopsan.HydraulicNodeSensor", s)]
pub struct NodeSensor {
    /// the connection to look at
    #[port(name = "P1", observes, optional)]
    p1: Hydraulic,
    /// p — pressure [Pa]
    #[output(name = "p")]
    pressure: Output,
    /// q — flow [m^3/s]
    #[output(name = "q")]
    flow: Output,
    /// c — wave [Pa]
    #[output(name = "c")]
    wave: Output,
    /// Z — impedance [Pa*s/m^3]
    #[output(name = "Zc")]
    impedance: Output,
}

impl NodeSensor {
    #[inline(always)]
    fn read<T: Num>(io: &Step<'_, T>) -> [T; 4] {
        [io.effort(Self::P1), io.flow(Self::P1), io.wave(Self::P1), io.impedance(Self::P1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    /// The outputs, at the start and after a step, with 3 MPa and −2 m³/s at the first port.
    fn shown<M: Physics, const N: usize>(m: &M) -> [f64; N] {
        let mut bench = Bench::new(m, 1e-3);
        bench.line(0, 5e6, 1e6).impose_flow(0, -2.0).start();
        let at_start: [f64; N] = std::array::from_fn(|i| bench.output(i));
        bench.step();
        assert_eq!(std::array::from_fn(|i| bench.output(i)), at_start);
        at_start
    }

    #[test]
    fn sensors_show_the_connection_with_its_own_sign() {
        assert_eq!(shown(&PressureSensor {}), [3e6]);
        assert_eq!(shown(&FlowSensor {}), [-2.0]);
        assert_eq!(shown(&PowerSensor {}), [-6e6]);
        assert_eq!(shown(&DifferentialPressureSensor {}), [3e6]);
        assert_eq!(shown(&NodeSensor {}), [3e6, -2.0, 5e6, 1e6]);
    }
}
