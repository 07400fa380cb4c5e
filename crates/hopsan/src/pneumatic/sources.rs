//! Sources of gas.

use super::set_gas;
use crate::blocks::End;
use fluxline_core::component;
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<PressureSource>(), ComponentType::of::<MassFlowSource>()];

/// Gas of given pressure and temperature.
///
/// c = p, Z = 0, T = T_in, from the first step on.
#[component("hopsan.PneumaticPTsrc", c)]
pub struct PressureSource {
    /// outlet
    #[port(name = "Pp1")]
    outlet: Pneumatic,
    /// p — pressure [Pa]
    #[input(name = "pinput", default = "1e5 Pa")]
    pub pressure: f64,
    /// T — temperature [K]
    #[input(name = "Tinput", default = "273 K")]
    pub temperature: f64,
}

impl Physics for PressureSource {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (p, t) = (io.input(Self::PRESSURE), io.input(Self::TEMPERATURE));
        io.set_wave(Self::OUTLET, p, T::zero());
        io.bond_mut(Self::OUTLET).dry = t;
    }
}

/// Given mass flow of gas.
///
/// Ė = c_v·q_m·T_in for gas that is delivered, c_v·q_m·T of the line for gas that is taken.
#[component("hopsan.PneumaticQsrc", q)]
pub struct MassFlowSource {
    /// outlet
    #[port(name = "Pp1")]
    outlet: Pneumatic,
    /// q_m — mass flow [kg/s]
    #[input(name = "qminput", default = "0 kg/s")]
    pub mass_flow: f64,
    /// T — temperature [K]
    #[input(name = "Tinput", default = "273 K")]
    pub temperature: f64,
    /// c_v — heat capacity at constant volume, read at the start [J/(kg*K)]
    #[input(name = "cv", default = "718 J/(kg*K)")]
    pub heat_capacity: f64,
    /// c_v — heat capacity at constant volume [J/(kg*K)]
    #[memory]
    kept_capacity: Memory,
}

impl Physics for MassFlowSource {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        io.set_memory(Self::KEPT_CAPACITY, io.input(Self::HEAT_CAPACITY));
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let q = io.input(Self::MASS_FLOW);
        let (own, line) = (io.input(Self::TEMPERATURE), io.dry(Self::OUTLET));
        let t = T::select(q.gt(T::zero()), own, line);
        let energy = io.memory(Self::KEPT_CAPACITY) * q * t;
        let p = End::at(io, Self::OUTLET).effort(energy);
        set_gas(io, Self::OUTLET, energy, q, p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bench;

    #[test]
    fn sources_deliver_gas_with_the_energy_of_its_temperature() {
        let mut source = bench::<PressureSource>(1e-3, &[(PressureSource::PRESSURE, 3e5)]);
        source.line(0, 1e5, 7.0).start();
        assert_eq!(source.state.bonds[0].wave, 1e5);
        source.step();
        let bond = &source.state.bonds[0];
        assert_eq!((bond.wave, bond.impedance, bond.dry), (3e5, 0.0, 273.0));

        let mut source = bench::<MassFlowSource>(1e-3, &[]);
        source.line(0, 1e5, 2.0).start();
        source.state.bonds[0].dry = 500.0;
        for (flow, energy) in [(0.1, 718.0 * 0.1 * 273.0), (-0.1, -718.0 * 0.1 * 500.0)] {
            source.input(MassFlowSource::MASS_FLOW, flow).step();
            let bond = &source.state.bonds[0];
            assert!((bond.flow - energy).abs() < 1e-9);
            assert_eq!((bond.displacement, bond.effort), (flow, 1e5 + 2.0 * bond.flow));
        }
    }
}
