//! Centrifugal pumps.
//!
//! The impeller gives the head ρ·d²·ω²/4, less what the angle of the outflow takes; what is left of
//! it above the pressure rise drives the flow through the losses k_l:
//! q = A·s(2·Δ/(k_l·ρ)) + K_c·(p₁ − p₂), Δ = p₁ − p₂ + ρ·d²·ω²/4 ∓ ω·ρ²·cot(β)/(2π·b)·q,
//! with the smooth root s(x) = x/(10² + x²)^¼.

use crate::blocks::{End, root, signed_root, solve};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;
use std::f64::consts::TAU;

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<CentrifugalPump>(), ComponentType::of::<CentrifugalPumpJ>()];

/// Centrifugal pump at a given speed.
///
/// T = (B·ω·(ω + ε) + P)/(ω + ε), ε = 0.001 rad/s, with the power of flow and losses
/// P = (K_c·(p₁ − p₂) − q)·(p₁ − p₂) + k_l·ρ·q²·(q − K_c·(p₁ − p₂))/(2·A²)
///
/// Nothing is drawn from an inlet that has run dry.
#[component("hopsan.HydraulicCentrifugalPump", q)]
pub struct CentrifugalPump {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// – — not used: keeps its start value [m^3/s]
    #[output(name = "q2e")]
    raw_flow: Signal,
    /// T — torque that it takes [N*m]
    #[output(name = "torp")]
    torque: Signal,
    /// – — power that it takes [W]
    #[output(name = "Pin")]
    taken: Signal,
    /// – — power that it gives to the oil [W]
    #[output(name = "Pout")]
    given: Signal,
    /// ω — speed [rad/s]
    #[input(name = "omegap", default = "157 rad/s")]
    pub speed: f64,
    /// k_l — loss coefficient of the flow [–]
    #[input(name = "kl", default = 0.1)]
    pub loss: f64,
    /// b — width of the outlet [m]
    #[input(name = "b", default = "0.03 m")]
    pub width: f64,
    /// d — diameter [m]
    #[input(name = "d", default = "0.3 m")]
    pub diameter: f64,
    /// β — angle of the outflow [rad]
    #[input(name = "beta2", default = "1.57 rad")]
    pub angle: f64,
    /// A — flow area of the outlet [m^2]
    #[input(name = "Ap", default = "0.001 m^2")]
    pub area: f64,
    /// ρ — density [kg/m^3]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// K_c — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "Kcp", default = "1e-11 m^3/(s*Pa)")]
    pub leakage: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "Bp", default = "0.1 N*m*s/rad")]
    pub friction: f64,
}

/// Centrifugal pump with a shaft and an inertia.
///
/// J·ω' = P/(|ω| + ε) − T − B·ω by the bilinear rule, T = c + Z·ω, with P as for
/// [`CentrifugalPump`]. The angle of the outflow adds to the head. The angle of the shaft stays.
#[component("hopsan.HydraulicCentrifugalPumpJ", q)]
pub struct CentrifugalPumpJ {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// shaft
    #[port(name = "Pmr1")]
    shaft: Rotational,
    /// – — flow as if the inlet never ran dry [m^3/s]
    #[output(name = "q2e")]
    raw_flow: Signal,
    /// – — power that it takes [W]
    #[output(name = "Pin")]
    taken: Signal,
    /// – — power that it gives to the oil [W]
    #[output(name = "Pout")]
    given: Signal,
    /// k_l — loss coefficient of the flow [–]
    #[input(name = "kl", default = 0.1)]
    pub loss: f64,
    /// b — width of the outlet [m]
    #[input(name = "b", default = "0.03 m")]
    pub width: f64,
    /// d — diameter [m]
    #[input(name = "d", default = "0.3 m")]
    pub diameter: f64,
    /// β — angle of the outflow [rad]
    #[input(name = "beta2", default = "1.57 rad")]
    pub angle: f64,
    /// A — flow area of the outlet [m^2]
    #[input(name = "Ap", default = "0.001 m^2")]
    pub area: f64,
    /// ρ — density [kg/m^3]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// K_c — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "Kcp", default = "1e-11 m^3/(s*Pa)")]
    pub leakage: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "Bp", default = "0.1 N*m*s/rad")]
    pub friction: f64,
    /// J — inertia [kg*m^2]
    #[input(name = "Jp", default = "0.1 kg*m^2")]
    pub inertia: f64,
    /// – — torque that accelerates, before friction, one step ago [N*m]
    #[memory]
    drive_1: Memory,
    /// – — speed one step ago [rad/s]
    #[memory]
    speed_1: Memory,
}

/// Argument below which the root is not one, m²/s².
const SMOOTH: f64 = 10.0;
/// Flow that counts as small, m³/s.
const SMALL_FLOW: f64 = 1e-3;
/// Speed that keeps a standing shaft's torque finite, rad/s.
const SLOWEST: f64 = 0.001;

/// An impeller between two line ends.
#[derive(Clone, Copy)]
struct Impeller<T> {
    ends: [End<T>; 2],
    area: T,
    leakage: T,
    /// 2/(k_l·ρ).
    gain: T,
    /// k_l·ρ/(2·A²).
    loss: T,
    /// ρ·d²/4.
    head: T,
    /// ±ρ²·cot(β)/(2π·b).
    slip: T,
}

macro_rules! impeller {
    ($io:expr, $sign:expr) => {{
        let u = |i: usize| $io.input(i);
        let (density, area, angle) = (u(Self::DENSITY), u(Self::AREA), u(Self::ANGLE));
        Impeller {
            ends: [End::at($io, Self::P1), End::at($io, Self::P2)],
            area,
            leakage: u(Self::LEAKAGE),
            gain: T::of(2.0) / (u(Self::LOSS) * density),
            loss: u(Self::LOSS) * density / (area * area * 2.0),
            head: density * u(Self::DIAMETER).squared() * 0.25,
            slip: density * density * angle.cos() / (angle.sin() * u(Self::WIDTH)) * ($sign / TAU),
        }
    }};
}

impl<T: Num> Impeller<T> {
    #[inline(always)]
    fn pressures(&self, q: Dual<T>) -> [Dual<T>; 2] {
        let [one, two] = self.ends;
        let (c, zero) = (Dual::constant, Dual::zero());
        [
            (c(one.wave) - c(one.impedance) * q).max(zero),
            (c(two.wave) + c(two.impedance) * q).max(zero),
        ]
    }

    /// q less the flow that its pressures drive: rises with q.
    #[inline(always)]
    fn residual(&self, q: Dual<T>, speed: Dual<T>) -> Dual<T> {
        let c = Dual::constant;
        let [p1, p2] = self.pressures(q);
        let left = p1 - p2 + c(self.head) * speed * speed + c(self.slip) * speed * q;
        let driven = signed_root(c(self.gain) * left, Dual::of(SMOOTH));
        q - c(self.leakage) * (p1 - p2) - c(self.area) * driven
    }

    /// Power of flow and losses.
    #[inline(always)]
    fn power(&self, q: Dual<T>) -> Dual<T> {
        let c = Dual::constant;
        let [p1, p2] = self.pressures(q);
        let (drop, leakage) = (p1 - p2, c(self.leakage));
        (leakage * drop - q) * drop + c(self.loss) * q * q * (q - leakage * drop)
    }

    /// Flow at a speed, for ends as they are.
    #[wide]
    #[inline(always)]
    fn flow(&self, io: &mut Step<'_, T>, speed: T, guess: T) -> T {
        let [one, two] = self.ends;
        // No more than without impedances.
        let drop = one.wave.abs() + two.wave.abs() + self.head * speed * speed;
        let most = self.leakage * drop + self.area * (self.gain * drop).sqrt();
        let speed = Dual::constant(speed);
        root(io, (-most, most), guess, SMALL_FLOW, |q| self.residual(q, speed))
    }

    /// Writes flow and pressures; an inlet that would run dry gives no more than it has.
    #[wide]
    #[inline(always)]
    fn set(&self, io: &mut Step<'_, T>, q: T) -> (T, [T; 2]) {
        let one = self.ends[0];
        let zero = T::zero();
        let has = T::select(one.impedance.gt(zero), one.wave / one.impedance, zero).max(zero);
        let dry = q.gt(zero) & one.effort(-q).le(zero);
        let q = T::select(dry, has, q);
        let p = self.pressures(Dual::constant(q)).map(|p| p.value);
        for (port, flow) in [-q, q].into_iter().enumerate() {
            let bond = io.bond_mut(port);
            bond.flow = flow;
            bond.effort = p[port];
        }
        (q, p)
    }
}

impl Physics for CentrifugalPump {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let impeller = impeller!(io, -1.0);
        let (speed, guess) = (io.input(Self::SPEED), io.flow(Self::P2));
        let q = impeller.flow(io, speed, guess);
        let (q, [p1, p2]) = impeller.set(io, q);
        let power = impeller.power(Dual::constant(q)).value;
        let torque = io.input(Self::FRICTION) * speed + power / (speed + SLOWEST);
        io.set_output(Self::TORQUE, torque);
        io.set_output(Self::TAKEN, speed * torque);
        io.set_output(Self::GIVEN, (p2 - p1) * q);
    }
}

impl CentrifugalPumpJ {
    /// P/(|ω| + ε) − T.
    #[wide]
    fn drive<T: Num>(
        impeller: &Impeller<T>,
        q: Dual<T>,
        speed: Dual<T>,
        torque: Dual<T>,
    ) -> Dual<T> {
        impeller.power(q) / (speed.abs() + SLOWEST) - torque
    }
}

impl Physics for CentrifugalPumpJ {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let c = Dual::constant;
        let mut impeller = impeller!(io, 1.0);
        // Start pressures, whatever the flow.
        for (port, end) in impeller.ends.iter_mut().enumerate() {
            *end = End { wave: io.effort(port), impedance: T::zero() };
        }
        let (flow, speed) = (io.output(Self::RAW_FLOW), io.flow(Self::SHAFT));
        let torque = io.effort(Self::SHAFT);
        let drive = Self::drive(&impeller, c(flow), c(speed), c(torque)).value;
        io.set_memory(Self::DRIVE_1, drive);
        io.set_memory(Self::SPEED_1, speed);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (c, dt) = (Dual::constant, io.dt);
        let impeller = impeller!(io, 1.0);
        let shaft = End::at(io, Self::SHAFT);
        let (inertia, friction) = (io.input(Self::INERTIA) * 2.0, io.input(Self::FRICTION) * dt);
        let before = io.memory(Self::SPEED_1);
        let kept = io.memory(Self::DRIVE_1) * dt + (inertia - friction) * before;
        let guess = io.flow(Self::P2);
        let guess = impeller.flow(io, before, guess);
        let torque = |speed: Dual<T>| c(shaft.wave) + c(shaft.impedance) * speed;
        let [q, speed] = solve(io, [guess, before], [SMALL_FLOW, 1.0], |&[q, speed]| {
            let drive = Self::drive(&impeller, q, speed, torque(speed));
            let turned = (drive * dt + c(kept)) / c(inertia + friction);
            [impeller.residual(q, speed), speed - turned]
        });
        io.set_output(Self::RAW_FLOW, q);
        let (q, [p1, p2]) = impeller.set(io, q);
        let torque = torque(c(speed));
        let drive = Self::drive(&impeller, c(q), c(speed), torque).value;
        io.set_memory(Self::DRIVE_1, drive);
        io.set_memory(Self::SPEED_1, speed);
        let bond = io.bond_mut(Self::SHAFT);
        bond.flow = speed;
        bond.effort = torque.value;
        io.set_output(Self::TAKEN, -(torque.value * speed));
        io.set_output(Self::GIVEN, (p2 - p1) * q);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const INPUTS: [f64; 8] = [0.1, 0.03, 0.3, 1.3, 1e-3, 870.0, 1e-11, 0.1];

    #[test]
    fn flow_follows_from_head_losses_and_leakage() {
        let [loss, width, diameter, angle, area, density, leakage, friction] = INPUTS;
        let pump = CentrifugalPump {
            speed: 0.0,
            loss,
            width,
            diameter,
            angle,
            area,
            density,
            leakage,
            friction,
        };
        let mut bench = Bench::new(&pump, 1e-3);
        let speed = 157.0;
        bench.input(0, speed);
        for (i, value) in INPUTS.into_iter().enumerate() {
            bench.input(i + 1, value);
        }
        bench.start();
        for (c1, c2) in [(1e5, 1e5), (1e5, 4e5), (1e5, 9e5)] {
            bench.line(0, c1, 1e7).line(1, c2, 1e8).step();
            assert_eq!(bench.state.faults.unconverged, 0);
            let (q, rise) = (bench.flow(1), bench.effort(1) - bench.effort(0));
            let head = density * diameter * diameter / 4.0 * speed * speed
                - speed * density * density / angle.tan() / (TAU * width) * q;
            let x: f64 = 2.0 * (head - rise) / (loss * density);
            let driven = area * x / (100.0 + x * x).powf(0.25);
            assert!((q - driven + leakage * rise).abs() < 1e-12, "{q}");
            let p = |bond: usize| bench.effort(bond);
            let given = bench.output(CentrifugalPump::GIVEN);
            assert!((given - (p(1) - p(0)) * q).abs() < 1e-9);
        }
    }

    #[test]
    fn the_shaft_of_a_pump_takes_what_friction_and_flow_take() {
        type Pump = CentrifugalPumpJ;
        let [loss, width, diameter, angle, area, density, leakage, friction] = INPUTS;
        let pump =
            Pump { loss, width, diameter, angle, area, density, leakage, friction, inertia: 0.1 };
        let mut bench = Bench::new(&pump, 1e-3);
        for (i, value) in INPUTS.into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.input(Pump::INERTIA, 0.1);
        bench.start();
        for _ in 0..20_000 {
            bench.line(0, 1e5, 1e6).line(1, 4e5, 1e6).line(2, 100.0, 2.0).step();
        }
        assert_eq!(bench.state.faults.unconverged, 0);
        let (q, speed) = (bench.flow(1), bench.flow(2));
        let drop = bench.effort(0) - bench.effort(1);
        let power = (leakage * drop - q) * drop
            + loss * density / (2.0 * area * area) * q * q * (q - leakage * drop);
        let torque = 100.0 + 2.0 * speed;
        assert!((power / (speed.abs() + SLOWEST) - torque - friction * speed).abs() < 1e-6);
        assert!((bench.output(Pump::TAKEN) + torque * speed).abs() < 1e-9);
    }
}
