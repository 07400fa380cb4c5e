//! Pressure-controlled pump, and a fuel tank.

use super::g_valves::{SMALL_FLOW, ends, pressures, write_flow};
use crate::blocks::{limit, root};
use fluxline_core::component;
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;
use std::f64::consts::TAU;

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<ControlledPump>(), ComponentType::of::<FuelTank>()];

/// Pump whose regulator keeps its pressure a difference above that of a pilot.
///
/// (L_e·s + R_e)·(τ·s + 1)·q̇_p = (1 + s/ω_e)·s·(p₃ + Δp − p₂), limited to the rates
/// −Q·√(p₂₋/p_n)/T_m … Q·√(p₂₋/p_n)/T_p, Q = q_max − q_min; q_p is its integral between
/// q_min = ε_min·q_max and q_max = D·ω/2π;  q₂ = q_p − K·(p₂ − p₁), ε = q_p/q_max
///
/// L_e and R_e grow with √(p_n/p₂₋) and ω_n/ω, ω_e = ω₁·ω/ω_n. Pressures are not below 0.
#[component("hopsan.HydraulicPressureControlledPumpG", q)]
pub struct ControlledPump {
    /// suction
    #[port(name = "P1")]
    p1: Hydraulic,
    /// delivery
    #[port(name = "P2")]
    p2: Hydraulic,
    /// pilot
    #[port(name = "P3")]
    p3: Hydraulic,
    /// q_p — flow of the pump before leakage [m³/s]
    #[output(name = "qp")]
    pumped: Signal,
    /// q̇_p — rate of the flow [m^3/s^2]
    #[output(name = "dqp")]
    rate: Signal,
    /// ε — setting [–]
    #[output(name = "eps")]
    setting: Signal,
    /// Δp — pressure difference that is kept [Pa]
    #[input(name = "pdif", default = "2e7 Pa")]
    pub difference: f64,
    /// ω — speed of the pump [rad/s]
    #[input(name = "speed", default = "157 rad/s")]
    pub speed: f64,
    /// ρ — density of the oil, without effect [kg/m³]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// – — least flow, without effect [m³/s]
    #[input(name = "qmin", default = "0 m^3/s")]
    pub least_flow: f64,
    /// D — displacement per revolution [m³]
    #[input(name = "Dp", default = "3e-4 m^3")]
    pub displacement: f64,
    /// ε_min — least setting [–]
    #[input(name = "epsmin", default = 0)]
    pub least_setting: f64,
    /// L — inductance of the regulator [kg/m^4]
    #[input(name = "Lp", default = "1.83e10 kg/m^4")]
    pub inductance: f64,
    /// R — resistance of the regulator [Pa*s/m^3]
    #[input(name = "Rp", default = "1.68e10 Pa*s/m^3")]
    pub resistance: f64,
    /// ω₁ — break frequency of the regulator [rad/s]
    #[input(name = "wp1", default = "13.3 rad/s")]
    pub frequency: f64,
    /// K — leakage [m³/(s*Pa)]
    #[input(name = "Kcp", default = "1e-12 m^3/(s*Pa)")]
    pub leakage: f64,
    /// τ — time constant of the control valve [s]
    #[input(name = "tauv", default = "0.05 s")]
    pub valve_time: f64,
    /// T_p — shortest time to full flow [s]
    #[input(name = "Tp", default = "0.001 s")]
    pub rise_time: f64,
    /// T_m — shortest time to least flow [s]
    #[input(name = "Tm", default = "0.001 s")]
    pub fall_time: f64,
    /// p_n — nominal pressure [Pa]
    #[input(name = "pnom", default = "7e6 Pa")]
    pub nominal_pressure: f64,
    /// ω_n — nominal speed [rad/s]
    #[input(name = "speednom", default = "157 rad/s")]
    pub nominal_speed: f64,
    /// – — part of the rate that the last step decides, negated [m^3/s^2]
    #[memory]
    delayed_1: Memory,
    /// – — part of the rate that the step before it decides, negated [m^3/s^2]
    #[memory]
    delayed_2: Memory,
    /// – — what `delayed_2` becomes after the next step [m^3/s^2]
    #[memory]
    waiting: Memory,
    /// – — part of the flow that the last step decides, negated [m³/s]
    #[memory]
    delayed_flow: Memory,
}

/// The regulator at the speed and pressure of a step.
struct Regulator<T> {
    inductance: T,
    resistance: T,
    frequency: T,
    valve_time: T,
    /// Least and largest rate.
    rates: (T, T),
    /// Least and largest flow.
    flows: (T, T),
}

impl<T: Num> Regulator<T> {
    #[wide]
    #[inline(always)]
    fn at(io: &Step<'_, T>) -> Self {
        type Pump = ControlledPump;
        let u = |i| io.input(i);
        let slow = u(Pump::SPEED).max(T::of(0.1)) / u(Pump::NOMINAL_SPEED);
        // An empty outlet would make the regulator infinitely stiff.
        let root = (io.effort(Pump::P2).max(T::of(1e-9)) / u(Pump::NOMINAL_PRESSURE)).sqrt();
        let most = u(Pump::DISPLACEMENT) * u(Pump::SPEED) / TAU;
        let least = most * u(Pump::LEAST_SETTING);
        let range = (most - least) * root;
        Self {
            inductance: u(Pump::INDUCTANCE) / (slow * root),
            resistance: u(Pump::RESISTANCE) / (slow * root),
            frequency: u(Pump::FREQUENCY) * slow,
            valve_time: u(Pump::VALVE_TIME),
            rates: (-range / u(Pump::FALL_TIME), range / u(Pump::RISE_TIME)),
            flows: (least, most),
        }
    }

    /// Divisor of the rate's recursion.
    #[inline(always)]
    fn divisor(&self, dt: f64) -> T {
        (self.inductance * 2.0 + self.resistance * dt)
            * (self.valve_time * 2.0 + dt)
            * self.frequency
    }

    /// Remembers what later steps need; `lack` is the pressure that is missing.
    #[inline(always)]
    fn remember(&self, io: &mut Step<'_, T>, lack: T, rate: T, flow: T) {
        type Pump = ControlledPump;
        let (dt, w) = (io.dt, self.frequency);
        let (l, r, tau) = (self.inductance, self.resistance, self.valve_time);
        let divisor = self.divisor(dt);
        let last = lack * 8.0 + w * rate * (r * (2.0 * dt * dt) - l * tau * 8.0);
        let before = lack * (w * (2.0 * dt) - 4.0)
            + w * rate * (r * (dt * dt) + l * tau * 4.0 - (l + r * tau) * (2.0 * dt));
        io.set_memory(Pump::DELAYED_2, io.memory(Pump::WAITING));
        io.set_memory(Pump::DELAYED_1, last / divisor);
        io.set_memory(Pump::WAITING, before / divisor);
        io.set_memory(Pump::DELAYED_FLOW, -(rate * (0.5 * dt)) - flow);
    }
}

impl Physics for ControlledPump {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(constants: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (rate, flow) = (io.output(Self::RATE), io.output(Self::PUMPED));
        let lack = io.effort(Self::P3) + io.input(Self::DIFFERENCE) - io.effort(Self::P2);
        Regulator::at(io).remember(io, lack, rate, flow);
        io.set_memory(Self::DELAYED_2, io.memory(Self::WAITING));
        Self::step(constants, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (k, dt, c) = (Regulator::at(io), io.dt, Dual::constant);
        let (pilot, leakage) = (io.wave(Self::P3), io.input(Self::LEAKAGE));
        let wanted = pilot + io.input(Self::DIFFERENCE);
        let ends = ends(io, [Self::P1, Self::P2], false);
        let gain = (k.frequency * dt + 2.0) * 2.0 / k.divisor(dt);
        let delayed = io.memory(Self::DELAYED_1) + io.memory(Self::DELAYED_2);
        let delayed_flow = io.memory(Self::DELAYED_FLOW);
        let rate = |p2: Dual<T>| {
            limit((c(wanted) - p2) * c(gain) - c(delayed), c(k.rates.0), c(k.rates.1))
        };
        let pumped =
            |rate: Dual<T>| limit(rate * (0.5 * dt) - c(delayed_flow), c(k.flows.0), c(k.flows.1));
        let everywhere = (T::of(f64::NEG_INFINITY), T::of(f64::INFINITY));
        let guess = io.flow(Self::P2);
        let q = root(io, everywhere, guess, SMALL_FLOW, |q| {
            let p = pressures(ends, q);
            q + c(leakage) * (p[1] - p[0]) - pumped(rate(p[1]))
        });
        let p = write_flow(io, ends, q);
        let rate = rate(c(p[1]));
        let (rate, flow) = (rate.value, pumped(rate).value);
        k.remember(io, wanted - p[1], rate, flow);
        let bond = io.bond_mut(Self::P3);
        bond.flow = T::zero();
        bond.effort = pilot;
        io.set_output(Self::PUMPED, flow);
        io.set_output(Self::RATE, rate);
        // A pump that stands still has no setting; Hopsan's is 0/0.
        let stands = k.flows.1.abs().le(T::zero());
        io.set_output(Self::SETTING, T::select(stands, T::zero(), flow / k.flows.1));
    }
}

/// Fuel tank under gravity: its pressure falls with the fuel that is left.
///
/// ṁ_used = −ρ·q, 0 ≤ m_used ≤ m₀ + 10⁻⁴ kg;  m = m₀ − m_used;  c = p₀ + ρ·g·h·m/m_max while m > 0,
/// else 0;  Z = 0
#[component("hopsan.HydraulicFuelTankG", c)]
pub struct FuelTank {
    /// outlet
    #[port(name = "PT")]
    outlet: Hydraulic,
    /// m — fuel that is left [kg]
    #[output(name = "massfuel")]
    left: Signal,
    /// m_used — fuel that was used [kg]
    #[output(name = "consfuel")]
    used: Signal,
    /// g — acceleration along the height of the tank [m/s^2]
    #[input(name = "gx", default = "9.82 m/s^2")]
    pub gravity: f64,
    /// ρ — density of the fuel, read at the start [kg/m³]
    #[input(name = "rhofuel", default = "700 kg/m^3")]
    pub density: f64,
    /// p₀ — pressure above the fuel, read at the start [Pa]
    #[input(name = "p0", default = "1e5 Pa")]
    pub pressure: f64,
    /// h — height of the full tank, read at the start [m]
    #[input(name = "hf", default = "5 m")]
    pub height: f64,
    /// m₀ — fuel at the start [kg]
    #[input(name = "massfuel0", default = "1000 kg")]
    pub initial: f64,
    /// m_max — fuel of the full tank, read at the start [kg]
    #[input(name = "massfuelmax", default = "1000 kg")]
    pub capacity: f64,
    /// ρ — density of the fuel [kg/m³]
    #[memory]
    kept_density: Memory,
    /// p₀ — pressure above the fuel [Pa]
    #[memory]
    kept_pressure: Memory,
    /// – — height per fuel [m/kg]
    #[memory]
    kept_height: Memory,
    /// m₀ — fuel at the start [kg]
    #[memory]
    kept_initial: Memory,
    /// q — flow of the step before [m³/s]
    #[memory]
    flow_1: Memory,
}

impl Physics for FuelTank {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        for (kept, input) in [
            (Self::KEPT_DENSITY, Self::DENSITY),
            (Self::KEPT_PRESSURE, Self::PRESSURE),
            (Self::KEPT_INITIAL, Self::INITIAL),
        ] {
            io.set_memory(kept, io.input(input));
        }
        io.set_memory(Self::KEPT_HEIGHT, io.input(Self::HEIGHT) / io.input(Self::CAPACITY));
        io.set_memory(Self::FLOW_1, io.flow(Self::OUTLET));
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (rho, initial) = (io.memory(Self::KEPT_DENSITY), io.memory(Self::KEPT_INITIAL));
        let q = io.flow(Self::OUTLET);
        let used = io.output(Self::USED) - rho * (q + io.memory(Self::FLOW_1)) * (0.5 * io.dt);
        let used = limit(used, T::zero(), initial + 1e-4);
        let left = initial - used;
        let height = io.memory(Self::KEPT_HEIGHT) * left;
        let p = io.memory(Self::KEPT_PRESSURE) + io.input(Self::GRAVITY) * height * rho;
        let wave = T::select(left.gt(T::zero()), p, T::zero());
        io.set_wave(Self::OUTLET, wave, T::zero());
        io.set_memory(Self::FLOW_1, q);
        io.set_output(Self::USED, used);
        io.set_output(Self::LEFT, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, bench};

    #[test]
    fn more_lack_of_pressure_gives_more_flow_by_the_resistance_of_the_regulator() {
        let mut pump = bench::<ControlledPump>(1e-3, &[]);
        let lines = [(1e5, 0.0), (2.1e7, 0.0), (1e6, 1e9)];
        for (port, (wave, impedance)) in lines.into_iter().enumerate() {
            pump.line(port, wave, impedance).impose_flow(port, 0.0);
        }
        pump.start();
        assert_eq!(pump.output(ControlledPump::PUMPED), 0.0);
        pump.input(ControlledPump::DIFFERENCE, 2e7 + 1e6);
        let mut before = 0.0;
        for _ in 0..40_000 {
            pump.step();
            let q = pump.output(ControlledPump::PUMPED);
            let rate = pump.output(ControlledPump::RATE);
            assert!(rate <= 3e-4 * 157.0 / TAU * f64::sqrt(3.0) / 1e-3 * (1.0 + 1e-12));
            assert!(q >= before - 1e-9);
            before = q;
        }
        assert_eq!(pump.state.faults.unconverged, 0);
        let q = pump.output(ControlledPump::PUMPED);
        assert_near(q, 1e6 / (1.68e10 / f64::sqrt(3.0)), 1e-6);
        assert_near(pump.output(ControlledPump::SETTING), q / (3e-4 * 157.0 / TAU), 1e-12);
        assert_near(pump.flow(1), q - 1e-12 * (2.1e7 - 1e5), 1e-9);
        assert_eq!((pump.flow(2), pump.effort(2)), (0.0, 1e6));
    }

    #[test]
    fn a_tank_loses_weight_and_pressure_until_it_is_empty() {
        let mut tank = bench::<FuelTank>(0.1, &[]);
        tank.start();
        for _ in 0..100 {
            tank.impose_flow(0, -0.1).step();
        }
        // The first step takes the mean of no flow and the flow.
        let left = 1000.0 - 700.0 * 0.1 * (10.0 - 0.05);
        assert_near(tank.output(FuelTank::LEFT), left, 1e-12);
        let pressure = 1e5 + 700.0 * 9.82 * 5.0 * left / 1000.0;
        assert_near(tank.state.bonds[0].wave, pressure, 1e-12);
        for _ in 0..50 {
            tank.impose_flow(0, -0.1).step();
        }
        assert_eq!(tank.state.bonds[0].wave, 0.0);
    }
}
