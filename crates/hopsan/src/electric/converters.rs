//! Converters between two voltages.

use crate::blocks::{limit, solve};
use crate::held::Held;
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<CurrentController>(), ComponentType::of::<PulseWidthModulator>()];

/// Converter that draws a wanted current and passes its power on.
///
/// (1 + s/ω_f)·i₁ = −i_ref·(u₁ − u₂)/clip(u₁ − u₂, u_min, u_max) by the bilinear rule;
/// i₂ = −i₁·(clip(u₁, u_min, u_max) + R·i₁)/clip(u₂, u_min, u_max)
///
/// The limits of current have no effect. All inputs but i_ref are read at the start.
#[component("hopsan.ElectricIcontroller", q)]
pub struct CurrentController {
    /// side whose current is controlled
    #[port(name = "Pel1")]
    p1: Electrical,
    /// side that gets the power
    #[port(name = "Pel2")]
    p2: Electrical,
    /// i_ref — wanted current into the converter at Pel1 [A]
    #[input(name = "iref", default = "0 A")]
    pub wanted_current: f64,
    /// R — resistance that costs power [V/A]
    #[input(name = "resist", default = "0.01 V/A")]
    pub resistance: f64,
    /// ω_f — break frequency of the current control [rad/s]
    #[input(name = "wf", default = "10 rad/s")]
    pub bandwidth: f64,
    /// u_min — least voltage reckoned with [V]
    #[input(name = "umin", default = "1 V")]
    pub least_voltage: f64,
    /// u_max — largest voltage reckoned with [V]
    #[input(name = "umax", default = "1000 V")]
    pub largest_voltage: f64,
    /// i_max — without effect [A]
    #[input(name = "imax", default = "10000 A")]
    pub largest_current: f64,
    /// i_min — without effect [A]
    #[input(name = "imin", default = "0.01 A")]
    pub least_current: f64,
    /// – — old part of the current's bilinear rule [A]
    #[memory]
    delayed: Memory,
}

impl CurrentController {
    const HELD: Held = Held::inputs(Self::RESISTANCE, Self::LARGEST_VOLTAGE);

    /// T·ω_f and the limits of voltage.
    #[wide]
    fn constants<T: Num>(io: &Step<'_, T>) -> (T, T, T) {
        let held = |input| Self::HELD.get(io, input);
        let angle = held(Self::BANDWIDTH) * io.dt;
        (angle, held(Self::LEAST_VOLTAGE), held(Self::LARGEST_VOLTAGE))
    }

    #[wide]
    fn remember<T: Num>(io: &mut Step<'_, T>) {
        let (angle, low, high) = Self::constants(io);
        let difference = io.effort(Self::P1) - io.effort(Self::P2);
        let wanted = io.input(Self::WANTED_CURRENT) * difference / limit(difference, low, high);
        let delayed = (angle * wanted + (angle - 2.0) * io.flow(Self::P1)) / (angle + 2.0);
        io.set_memory(Self::DELAYED, delayed);
    }
}

impl Physics for CurrentController {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
        Self::remember(io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (angle, low, high) = Self::constants(io);
        let share = io.input(Self::WANTED_CURRENT) * angle / (angle + 2.0);
        let resistance = Self::HELD.get(io, Self::RESISTANCE);
        let delayed = io.memory(Self::DELAYED);
        let (c1, z1) = (io.wave(Self::P1), io.impedance(Self::P1));
        let (c2, z2) = (io.wave(Self::P2), io.impedance(Self::P2));
        let of = Dual::constant;
        let held = |u: Dual<T>| limit(u, of(low), of(high));
        let guess = [io.flow(Self::P1), io.flow(Self::P2)];
        let [i1, i2] = solve(io, guess, [1e-3, 1e-3], |&[i1, i2]| {
            let (u1, u2) = (of(c1) + of(z1) * i1, of(c2) + of(z2) * i2);
            let difference = u1 - u2;
            [
                i1 + of(share) * difference / held(difference) + of(delayed),
                i2 + i1 * (i1 * of(resistance) + held(u1)) / held(u2),
            ]
        });
        io.set_flow(Self::P1, i1);
        io.set_flow(Self::P2, i2);
        Self::remember(io);
    }
}

/// Pulse-width modulated converter, averaged over its pulses.
///
/// τ = clip(tfac, 0, 1);  u₁₀ = u₁ + i₁·(R₁ + (R₀ − R₁)·τ);  u₂ = τ·u₁₀;
/// i₁ = −i₂·clip(u₂, u_min, u_max)/clip(u₁₀, u_min, u_max)
///
/// All inputs but tfac are read at the start.
#[component("hopsan.ElectricPWMdceq", q)]
pub struct PulseWidthModulator {
    /// side of the full voltage
    #[port(name = "Pel1")]
    p1: Electrical,
    /// side of the modulated voltage
    #[port(name = "Pel2")]
    p2: Electrical,
    /// τ — share of time that the switch is closed [–]
    #[input(name = "tfac", default = 1)]
    pub share: f64,
    /// R₀ — resistance when always closed [V/A]
    #[input(name = "resist0", default = "0.01 V/A")]
    pub closed_resistance: f64,
    /// R₁ — resistance when always open [V/A]
    #[input(name = "resist1", default = "10 V/A")]
    pub open_resistance: f64,
    /// u_min — least voltage reckoned with [V]
    #[input(name = "umin", default = "0.01 V")]
    pub least_voltage: f64,
    /// u_max — largest voltage reckoned with [V]
    #[input(name = "umax", default = "1000 V")]
    pub largest_voltage: f64,
    /// u₁₀ — voltage behind the resistance [V]
    #[output(name = "uel10")]
    inner_voltage: Signal,
}

impl PulseWidthModulator {
    const HELD: Held = Held::inputs(Self::CLOSED_RESISTANCE, Self::LARGEST_VOLTAGE);
}

impl Physics for PulseWidthModulator {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let held = |input| Self::HELD.get(io, input);
        let share = limit(io.input(Self::SHARE), T::zero(), T::one());
        let (open, closed) = (held(Self::OPEN_RESISTANCE), held(Self::CLOSED_RESISTANCE));
        let (low, high) = (held(Self::LEAST_VOLTAGE), held(Self::LARGEST_VOLTAGE));
        let (c1, c2) = (io.wave(Self::P1), io.wave(Self::P2));
        let (z1, z2) = (io.impedance(Self::P1), io.impedance(Self::P2));
        let resistance = z1 + open + (closed - open) * share;
        let of = Dual::constant;
        let currents = |inner: Dual<T>| {
            let outer = inner * of(share);
            let i2 = (outer - of(c2)) / of(z2);
            let ratio = limit(outer, of(low), of(high)) / limit(inner, of(low), of(high));
            (-(i2 * ratio), i2)
        };
        let guess = [io.output(Self::INNER_VOLTAGE)];
        let [inner] = solve(io, guess, [1e-3], |&[inner]| {
            [inner - of(c1) - of(resistance) * currents(inner).0]
        });
        let (i1, i2) = currents(of(inner));
        io.set_flow(Self::P1, i1.value);
        let bond = io.bond_mut(Self::P2);
        bond.flow = i2.value;
        bond.effort = inner * share;
        io.set_output(Self::INNER_VOLTAGE, inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    #[test]
    fn a_current_controller_draws_its_current_with_a_lag_and_passes_the_power_on() {
        let component = CurrentController {
            wanted_current: 0.0,
            resistance: 0.01,
            bandwidth: 10.0,
            least_voltage: 1.0,
            largest_voltage: 1000.0,
            largest_current: 1e4,
            least_current: 0.01,
        };
        let mut bench = Bench::new(&component, 1e-3);
        let values = [0.0, 0.01, 10.0, 1.0, 1000.0, 1e4, 0.01];
        for (i, value) in values.into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.line(0, 48.0, 0.1).line(1, 12.0, 0.2).start();
        bench.input(0, 5.0);
        for _ in 0..100 {
            bench.step();
            let (i1, i2) = (bench.flow(0), bench.flow(1));
            let (u1, u2) = (bench.effort(0), bench.effort(1));
            assert!(
                (i2 * u2 + i1 * (u1 + 0.01 * i1)).abs() < 1e-9,
                "power out = power in less loss"
            );
        }
        // A step into the first-order lag, half a step late by the bilinear rule.
        let expected = -5.0 * (1.0 - (-10.0f64 * (0.1 - 0.5e-3)).exp());
        assert!((bench.flow(0) - expected).abs() < 1e-4, "{} {expected}", bench.flow(0));
    }

    #[test]
    fn a_modulator_is_a_transformer_with_loss() {
        let component = PulseWidthModulator {
            share: 0.5,
            closed_resistance: 0.01,
            open_resistance: 10.0,
            least_voltage: 0.01,
            largest_voltage: 1000.0,
        };
        let mut bench = Bench::new(&component, 1e-3);
        for (i, value) in [0.5, 0.01, 10.0, 0.01, 1000.0].into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.start().line(0, 48.0, 0.1).line(1, 0.0, 20.0).step();
        let inner = bench.output(0);
        // i₂ = 0.5·u/20, i₁ = −0.5·i₂, u = 48 + i₁·(0.1 + 5.005)
        assert!((inner - 48.0 / (1.0 + 0.25 / 20.0 * 5.105)).abs() < 1e-10);
        assert!((bench.effort(1) - 0.5 * inner).abs() < 1e-12);
        assert!((bench.flow(0) + 0.5 * bench.flow(1)).abs() < 1e-12);
        assert!((bench.effort(0) - (48.0 + 0.1 * bench.flow(0))).abs() < 1e-12);
    }
}
