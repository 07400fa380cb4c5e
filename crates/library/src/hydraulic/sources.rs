//! The edges of a circuit: tanks and ideal sources.

use fluxline_core::component;
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, Law, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::Num;

/// The component types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Tank>(),
    ComponentType::of::<PressureSource>(),
    ComponentType::of::<FlowSource>(),
];

/// A tank: constant pressure, any number of ports.
#[component(
    "hydraulic.tank",
    c,
    also = "hopsan:HydraulicTankC",
    also = "hopsan:HydraulicMultiTankC"
)]
pub struct Tank {
    /// connections, any number
    #[port(many, also = "P1")]
    port: Hydraulic,
    /// p — pressure, absolute [Pa]
    #[input(default = "1.01325 bar", min = "0 bar", also = "p")]
    pub pressure: f64,
}

/// An ideal pressure source: a pressure that a signal may drive, any number of ports.
#[component("hydraulic.pressure_source", c, also = "hopsan:HydraulicPressureSourceC")]
pub struct PressureSource {
    /// connections, any number
    #[port(many, also = "P1")]
    port: Hydraulic,
    /// p — pressure, absolute [Pa]
    #[input(default = "100 bar", min = "0 bar", also = "p")]
    pub pressure: f64,
}

macro_rules! ideal_pressure {
    ($($type:ident)*) => {$(
        impl Physics for $type {
            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }
            fn law<T: Num>(_: &NoConstants<T>, law: &mut Law<'_, T>) {
                law.effort.fill(law.input[Self::PRESSURE]);
            }
            fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                for port in 0..io.port_count() {
                    let pressure = io.input(Self::PRESSURE);
                    io.start_effort(port, pressure, T::zero());
                }
            }
            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                let pressure = io.input(Self::PRESSURE);
                for port in 0..io.port_count() {
                    io.set_wave(port, pressure, T::zero());
                }
            }
            const ROLE: BalanceRole = BalanceRole::Boundary;
        }
    )*};
}
ideal_pressure! { Tank PressureSource }

/// An ideal flow source: pushes a flow into the line, whatever the pressure.
#[component("hydraulic.flow_source", q, also = "hopsan:HydraulicFlowSourceQ")]
pub struct FlowSource {
    /// where the flow leaves
    #[port(also = "P1")]
    outlet: Hydraulic,
    /// q — flow out of the source [m³/s]
    #[input(default = "10 l/min", also = "q")]
    pub flow: f64,
}

impl Physics for FlowSource {
    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }
    fn law<T: Num>(_: &NoConstants<T>, law: &mut Law<'_, T>) {
        law.flow[Self::OUTLET] = law.input[Self::FLOW];
    }
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let flow = io.input(Self::FLOW);
        io.set_flow(Self::OUTLET, flow);
    }
    const ROLE: BalanceRole = BalanceRole::Boundary;
}
