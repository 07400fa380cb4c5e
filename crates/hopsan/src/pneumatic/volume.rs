//! Volumes of gas.

use fluxline_core::component;
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::Num;
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[ComponentType::of::<Volume>()];

/// Volume of gas with two ports that exchanges heat with its surroundings.
///
/// Z = R·T_s/((c_v + R)·V·(1−α)), T_s the step;  ṁ = q_m1 + q_m2;  p̄ = max(p₁ + p₂, p_min)/2;
/// T = p̄·V/(m₋·R) at both ports;  c₁ = c₂₋ + 2·Z·(Ė₂ + h/2) + Z·h/2 with h = k_a·(T₀ − T), c₂ likewise
///
/// α enters the impedance only.
#[component("hopsan.PneumaticVolume2", c)]
pub struct Volume {
    /// first port
    #[port(name = "Pp1")]
    p1: Pneumatic,
    /// second port
    #[port(name = "Pp2")]
    p2: Pneumatic,
    /// m — mass of the gas [kg]
    #[output(name = "mass", start = "0.001 kg")]
    mass: Signal,
    /// V — volume, read at the start [m³]
    #[input(name = "V", default = "1e-3 m^3")]
    pub volume: f64,
    /// R — gas constant, read at the start [J/(kg*K)]
    #[input(name = "R", default = "287 J/(kg*K)")]
    pub gas_constant: f64,
    /// c_v — heat capacity at constant volume, read at the start [J/(kg*K)]
    #[input(name = "cv", default = "718 J/(kg*K)")]
    pub heat_capacity: f64,
    /// k_a — heat transfer to the surroundings, read at the start [W/K]
    #[input(name = "ka", default = "0 W/K")]
    pub heat_transfer: f64,
    /// T₀ — temperature of the surroundings, read at the start [K]
    #[input(name = "T0", default = "300 K")]
    pub surroundings: f64,
    /// α — filter factor, read at the start [–]
    #[input(name = "alpha", default = 0.1)]
    pub filter: f64,
    /// p_min — least sum of the pressures, read at the start [Pa]
    #[input(name = "pmin", default = "1 Pa")]
    pub least_pressure: f64,
    /// Z — impedance [Pa*s/J]
    #[memory]
    impedance: Memory,
    /// – — temperature per pressure at unit mass [K*kg/Pa]
    #[memory]
    heating: Memory,
    /// k_a — heat transfer [W/K]
    #[memory]
    kept_transfer: Memory,
    /// T₀ — temperature of the surroundings [K]
    #[memory]
    kept_surroundings: Memory,
    /// p_min — least sum of the pressures [Pa]
    #[memory]
    kept_least: Memory,
    /// m — mass of the gas [kg]
    #[memory]
    held: Memory,
    /// – — mass flow in at the step before [kg/s]
    #[memory]
    inflow_1: Memory,
}

impl Physics for Volume {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (v, r) = (io.input(Self::VOLUME), io.input(Self::GAS_CONSTANT));
        let capacity = (io.input(Self::HEAT_CAPACITY) + r) * v;
        let z = r * io.dt / (capacity * (T::one() - io.input(Self::FILTER)));
        io.set_memory(Self::IMPEDANCE, z);
        io.set_memory(Self::HEATING, v / r);
        for (kept, input) in [
            (Self::KEPT_TRANSFER, Self::HEAT_TRANSFER),
            (Self::KEPT_SURROUNDINGS, Self::SURROUNDINGS),
            (Self::KEPT_LEAST, Self::LEAST_PRESSURE),
        ] {
            io.set_memory(kept, io.input(input));
        }
        let pressure = io.effort(Self::P1) + io.effort(Self::P2);
        let temperature = io.dry(Self::P1) + io.dry(Self::P2);
        io.set_memory(Self::HELD, pressure * v / (r * temperature));
        let inflow = io.displacement(Self::P1) + io.displacement(Self::P2);
        io.set_memory(Self::INFLOW_1, inflow);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (z, held) = (io.memory(Self::IMPEDANCE), io.memory(Self::HELD));
        let sum = (io.effort(Self::P1) + io.effort(Self::P2)).max(io.memory(Self::KEPT_LEAST));
        let t = sum * 0.5 * io.memory(Self::HEATING) / held;
        let heat = io.memory(Self::KEPT_TRANSFER) * (io.memory(Self::KEPT_SURROUNDINGS) - t);
        let across =
            |port: usize| io.wave(port) + z * (io.flow(port) * 2.0 + heat) + z * heat * 0.5;
        let (c1, c2) = (across(Self::P2), across(Self::P1));
        let inflow = io.displacement(Self::P1) + io.displacement(Self::P2);
        let held = held + (inflow + io.memory(Self::INFLOW_1)) * (0.5 * io.dt);
        io.set_memory(Self::HELD, held);
        io.set_memory(Self::INFLOW_1, inflow);
        for (port, wave) in [(Self::P1, c1), (Self::P2, c2)] {
            io.set_wave(port, wave, z);
            io.bond_mut(port).dry = t;
        }
        io.set_output(Self::MASS, held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, bench};

    #[test]
    fn mass_is_kept_and_the_gas_stays_ideal() {
        let mut volume = bench::<Volume>(1e-3, &[(Volume::HEAT_TRANSFER, 5.0)]);
        for bond in &mut volume.state.bonds {
            (bond.effort, bond.wave, bond.dry) = (2e5, 2e5, 300.0);
        }
        volume.start();
        let start = 2e5 * 1e-3 / (287.0 * 300.0);
        let mut waves = [2e5, 2e5];
        let (mut held, mut last) = (start, 0.0);
        let z = 287.0 * 1e-3 / (1005.0 * 1e-3 * 0.9);
        for n in 1..=100 {
            let inflow = 1e-3 * (0.1 * f64::from(n)).sin();
            let energy = [1005.0 * inflow * 300.0, 20.0];
            for port in 0..2 {
                volume.impose_flow(port, energy[port]);
            }
            volume.state.bonds[0].displacement = inflow;
            let p = (volume.effort(0) + volume.effort(1)) / 2.0;
            volume.step();
            let t = p * 1e-3 / (held * 287.0);
            held += 0.5e-3 * (inflow + last);
            last = inflow;
            let heat = 5.0 * (300.0 - t);
            waves = [
                waves[1] + z * (2.0 * energy[1] + 1.5 * heat),
                waves[0] + z * (2.0 * energy[0] + 1.5 * heat),
            ];
            assert_near(volume.output(Volume::MASS), held, 1e-12);
            for port in 0..2 {
                let bond = &volume.state.bonds[port];
                assert_near(bond.dry, t, 1e-12);
                assert_near(bond.wave, waves[port], 1e-12);
                assert_near(bond.impedance, z, 1e-12);
            }
        }
    }
}
