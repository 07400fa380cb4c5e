//! Hydraulic motors with a shaft: those with an inertia of their own (Q) and a machine whose oil is
//! a line (C).

use super::pump::{BehindLeakage, kept_to_waves};
use crate::blocks::{End, limit};
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::TAU;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<FixedDisplacementMotorQ>(),
    ComponentType::of::<VariableDisplacementMotorQ>(),
    ComponentType::of::<MachineC>(),
];

/// Motor with a fixed displacement, leakage between its ports, an inertia and viscous friction.
///
/// J·ω' = D·(p₁ − p₂) − T₃ − B·ω,  q₁ = −D·ω − C_l·(p₁ − p₂),  q₂ = −q₁
///
/// The waves are seen through the leakage; flow through the motor is kept to what leaves no pressure
/// negative. Speed and angle start at 0.
#[component("hopsan.HydraulicFixedDisplacementMotorQ", q)]
pub struct FixedDisplacementMotorQ {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2")]
    p2: Hydraulic,
    /// shaft
    #[port(name = "P3")]
    shaft: Rotational,
    /// D — displacement per revolution [m^3]
    #[input(name = "D_m", default = "5e-5 m^3")]
    pub displacement: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "B_m", default = "0 N*m*s/rad")]
    pub friction: f64,
    /// C_l — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "C_lm", default = "1e-12 m^3/(s*Pa)")]
    pub leakage: f64,
    /// J — inertia of motor and load [kg*m^2]
    #[input(name = "J_m", default = "0.1 kg*m^2")]
    pub inertia: f64,
    /// – — acceleration that waves give, one step ago [rad/s^2]
    #[memory]
    drive_1: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
    /// – — speed one step ago [rad/s]
    #[memory]
    speed_1: Memory,
}

/// [`FixedDisplacementMotorQ`] with a displacement that is set between −1 and 1 by a signal.
#[component("hopsan.HydraulicVariableDisplacementMotorQ", q)]
pub struct VariableDisplacementMotorQ {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2")]
    p2: Hydraulic,
    /// shaft
    #[port(name = "P3")]
    shaft: Rotational,
    /// D — displacement per revolution [m^3]
    #[input(name = "D_m", default = "5e-5 m^3")]
    pub displacement: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "B_m", default = "0 N*m*s/rad")]
    pub friction: f64,
    /// C_l — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "C_im", default = "1e-12 m^3/(s*Pa)")]
    pub leakage: f64,
    /// J — inertia of motor and load [kg*m^2]
    #[input(name = "J_m", default = "0.1 kg*m^2")]
    pub inertia: f64,
    /// ε — setting of the displacement [–]
    #[input(name = "eps", default = 1)]
    pub setting: f64,
    /// – — acceleration that waves give, one step ago [rad/s^2]
    #[memory]
    drive_1: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
    /// – — speed one step ago [rad/s]
    #[memory]
    speed_1: Memory,
}

/// Pump or motor whose volumes are lines, with a displacement that is set between −1 and 1.
///
/// Z = β·T/(V·(1−α)), α = 0.1;  q_p1 = D·ω − C_l·(p_p1 − p_p2), q_p2 = −q_p1;  each volume is a line
/// between its port and the machine;  c₃ = D·(c_p1 − c_p2),  Z₃ = D²·(Z₁ + Z₂) + B
///
/// The waves that act on the shaft take no part of negative pressures. The filters of the ports and
/// of the machine's side remember the wave of two steps ago. Volumes are at least
/// β·T²·D²/(0.1·J·(1−α)), with the values of the start.
#[component("hopsan.HydraulicMachineC", c, constants = EquivalentInertia)]
pub struct MachineC {
    /// first port
    #[port(name = "P1")]
    p1: Hydraulic,
    /// second port
    #[port(name = "P2")]
    p2: Hydraulic,
    /// shaft
    #[port(name = "P3")]
    shaft: Rotational,
    /// ε — setting of the displacement [–]
    #[input(name = "eps", default = 1)]
    pub setting: f64,
    /// β — bulk modulus [Pa]
    #[input(name = "Beta_e", default = "1e9 Pa")]
    pub bulk_modulus: f64,
    /// V₁ — volume at the first port [m^3]
    #[input(name = "V_1", default = "0.005 m^3")]
    pub volume_1: f64,
    /// V₂ — volume at the second port [m^3]
    #[input(name = "V_2", default = "0.005 m^3")]
    pub volume_2: f64,
    /// D — displacement per revolution [m^3]
    #[input(name = "D_m", default = "5e-5 m^3")]
    pub displacement: f64,
    /// C_l — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "C_lm", default = "1e-12 m^3/(s*Pa)")]
    pub leakage: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "B_m", default = "0 N*m*s/rad")]
    pub friction: f64,
    /// J — inertia that loads the shaft [kg*m^2]
    #[parameter(name = "J_em", default = "1 kg*m^2")]
    pub inertia: f64,
    /// – — smallest volume that is stable [m^3]
    #[memory]
    smallest: Memory,
    /// – — wave at the machine's side of the first volume [Pa]
    #[memory]
    inner_1: Memory,
    /// – — wave at the machine's side of the second volume [Pa]
    #[memory]
    inner_2: Memory,
    /// – — the first of them one step earlier [Pa]
    #[memory]
    inner_old_1: Memory,
    /// – — the second of them one step earlier [Pa]
    #[memory]
    inner_old_2: Memory,
    /// – — wave at the first port one step earlier [Pa]
    #[memory]
    outer_old_1: Memory,
    /// – — wave at the second port one step earlier [Pa]
    #[memory]
    outer_old_2: Memory,
    /// – — wave that acts on the shaft from the first volume [Pa]
    #[memory]
    acting_1: Memory,
    /// – — wave that acts on the shaft from the second volume [Pa]
    #[memory]
    acting_2: Memory,
}

/// J — inertia that loads the shaft of [`MachineC`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct EquivalentInertia<T> {
    inertia: T,
}

/// J·ω' + B·ω = T by the bilinear rule, and its angle by the trapezoidal rule; remembers T/J, angle
/// and speed.
#[derive(Clone, Copy, Debug)]
struct Rotor(usize);

impl Rotor {
    fn start<T: Num>(self, io: &mut Step<'_, T>) {
        for i in 0..3 {
            io.set_memory(self.0 + i, T::zero());
        }
    }

    /// Speed and angle after this step.
    #[inline(always)]
    fn step<T: Num>(self, io: &mut Step<'_, T>, torque: T, inertia: T, damping: T) -> (T, T) {
        let [u1, y1, s1] = io.memories(self.0);
        let (per_inertia, dt) = (inertia.recip(), io.dt);
        let (u, w) = (torque * per_inertia, damping * per_inertia * dt);
        let s = (s1 * (-w + 2.0) + (u + u1) * dt) / (w + 2.0);
        let y = y1 + (s + s1) * (0.5 * dt);
        io.set_memories(self.0, [u, y, s]);
        (s, y)
    }
}

/// A motor as its inputs give it; its ports are 0, 1 and the shaft 2.
struct Motor<T> {
    /// Displacement per radian.
    displacement: T,
    friction: T,
    leakage: T,
    inertia: T,
    rotor: Rotor,
}

impl<T: Num> Motor<T> {
    #[wide]
    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let [one, two, shaft] = [0, 1, 2].map(|port| End::at(io, port));
        let d = self.displacement;
        let behind = BehindLeakage::new(self.leakage, one, two);
        let [c1, c2] = behind.waves;
        let damping = self.friction + (one.impedance + two.impedance) * d * d + shaft.impedance;
        let torque = (c1 - c2) * d - shaft.wave;
        let (speed, angle) = self.rotor.step(io, torque, self.inertia, damping);
        let seen = |wave: T, end: End<T>| End { wave, impedance: end.impedance * behind.share };
        let (one, two) = (seen(c1, one), seen(c2, two));
        let flow = kept_to_waves(d * speed, one, two);
        let (p1, p2) = (one.effort(-flow), two.effort(flow));
        let through = flow + self.leakage * (p1 - p2);
        for (port, flow, pressure) in [(0, -through, p1), (1, through, p2)] {
            let bond = io.bond_mut(port);
            bond.flow = flow;
            bond.effort = pressure;
        }
        io.set_motion(2, speed, angle, shaft.effort(speed));
    }
}

impl Physics for FixedDisplacementMotorQ {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Rotor(Self::DRIVE_1).start(io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Motor {
            displacement: io.input(Self::DISPLACEMENT) * (1.0 / TAU),
            friction: io.input(Self::FRICTION),
            leakage: io.input(Self::LEAKAGE),
            inertia: io.input(Self::INERTIA),
            rotor: Rotor(Self::DRIVE_1),
        }
        .step(io);
    }
}

impl Physics for VariableDisplacementMotorQ {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Rotor(Self::DRIVE_1).start(io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let setting = limit(io.input(Self::SETTING), T::of(-1.0), T::one());
        Motor {
            displacement: io.input(Self::DISPLACEMENT) * (1.0 / TAU) * setting,
            friction: io.input(Self::FRICTION),
            leakage: io.input(Self::LEAKAGE),
            inertia: io.input(Self::INERTIA),
            rotor: Rotor(Self::DRIVE_1),
        }
        .step(io);
    }
}

/// α — filter factor of [`MachineC`]'s waves.
const FILTER: f64 = 0.1;
/// Share of the stiffness at which oil against an inertia would become unstable.
const STIFFNESS_SHARE: f64 = 0.1;

impl MachineC {
    #[wide]
    #[inline(always)]
    fn impedances<T: Num>(io: &Step<'_, T>) -> [T; 2] {
        let impedance = |volume: usize| {
            let volume = io.input(volume).max(io.memory(Self::SMALLEST));
            io.input(Self::BULK_MODULUS) * (io.dt / (1.0 - FILTER)) / volume
        };
        [impedance(Self::VOLUME_1), impedance(Self::VOLUME_2)]
    }
}

impl Physics for MachineC {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<EquivalentInertia<f64>, Refusal> {
        Ok(EquivalentInertia { inertia: self.inertia })
    }

    fn start<T: Num>(k: &EquivalentInertia<T>, io: &mut Step<'_, T>) {
        let full = io.input(Self::DISPLACEMENT) / TAU;
        let smallest = io.input(Self::BULK_MODULUS) * full * full / k.inertia
            * (io.dt * io.dt / (STIFFNESS_SHARE * (1.0 - FILTER)));
        io.set_memory(Self::SMALLEST, smallest);
        let z = Self::impedances(io);
        let d = full * io.input(Self::SETTING);
        let (leakage, speed) = (io.input(Self::LEAKAGE), io.flow(Self::SHAFT));
        let p = [io.effort(Self::P1), io.effort(Self::P2)];
        let through = d * speed - leakage * (p[0] - p[1]);
        for (i, displaced) in [through, -through].into_iter().enumerate() {
            let outer = p[i] - z[i] * io.flow(i);
            let inner = p[i] - z[i] * displaced;
            io.set_wave(i, outer, z[i]);
            io.set_memory(Self::OUTER_OLD_1 + i, outer);
            for at in [Self::INNER_1, Self::INNER_OLD_1, Self::ACTING_1] {
                io.set_memory(at + i, inner);
            }
        }
        let wave = io.effort(Self::SHAFT);
        io.set_wave(Self::SHAFT, wave, d * d * (z[0] + z[1]) + io.input(Self::FRICTION));
    }

    #[inline(always)]
    fn step<T: Num>(_: &EquivalentInertia<T>, io: &mut Step<'_, T>) {
        let z = Self::impedances(io);
        let setting = limit(io.input(Self::SETTING), T::of(-1.0), T::one());
        let d = io.input(Self::DISPLACEMENT) * (1.0 / TAU) * setting;
        let (leakage, zero) = (io.input(Self::LEAKAGE), T::zero());
        let ideal = d * io.flow(Self::SHAFT);
        let inner = [io.memory(Self::INNER_1), io.memory(Self::INNER_2)];
        let crossed = leakage * (inner[1] * z[0] + inner[0] * z[1]);
        let share = (leakage * (z[0] + z[1]) + 1.0).recip();
        let p = [
            (inner[0] + ideal * z[0] + crossed) * share,
            (inner[1] - ideal * z[1] + crossed) * share,
        ];
        let through = ideal - leakage * (p[0].max(zero) - p[1].max(zero));
        for (i, displaced) in [through, -through].into_iter().enumerate() {
            let from_port = io.wave(i) + z[i] * io.flow(i) * 2.0;
            let from_machine = p[i] + z[i] * displaced;
            let acting = io.effort(i).max(zero) + z[i] * io.flow(i);
            let outer = io.wave(i);
            // Each end gets what the other sent; the filter's old value is one step older still.
            for (old, now, arrived, at) in [
                (Self::INNER_OLD_1, inner[i], from_port, Some(Self::INNER_1)),
                (Self::OUTER_OLD_1, outer, from_machine, None),
            ] {
                let wave = io.memory(old + i) * FILTER + arrived * (1.0 - FILTER);
                io.set_memory(old + i, now);
                match at {
                    Some(at) => io.set_memory(at + i, wave),
                    None => io.set_wave(i, wave, z[i]),
                }
            }
            let acting = io.memory(Self::ACTING_1 + i) * FILTER + acting * (1.0 - FILTER);
            io.set_memory(Self::ACTING_1 + i, acting);
        }
        let wave = (io.memory(Self::ACTING_1) - io.memory(Self::ACTING_2)) * d;
        io.set_wave(Self::SHAFT, wave, d * d * (z[0] + z[1]) + io.input(Self::FRICTION));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const D: f64 = 5e-5;

    #[test]
    fn a_motor_runs_where_pressure_and_friction_balance() {
        type Motor = VariableDisplacementMotorQ;
        let motor =
            Motor { displacement: 0.0, friction: 0.0, leakage: 0.0, inertia: 0.0, setting: 0.0 };
        let mut bench = Bench::new(&motor, 1e-3);
        let (leakage, friction) = (1e-11, 0.2);
        for (input, value) in [
            (Motor::DISPLACEMENT, D),
            (Motor::FRICTION, friction),
            (Motor::LEAKAGE, leakage),
            (Motor::INERTIA, 0.1),
            (Motor::SETTING, 0.8),
        ] {
            bench.input(input, value);
        }
        bench.start();
        for _ in 0..50_000 {
            bench.line(0, 1e7, 1e10).line(1, 1e6, 1e10).line(2, 5.0, 0.0).step();
        }
        let (speed, d) = (bench.flow(2), 0.8 * D / TAU);
        let drop = bench.effort(0) - bench.effort(1);
        // The waves lose to the leakage, the impedances that brake the shaft do not.
        let share = 1.0 / (1.0 + leakage * 2e10);
        let expected = (d * share * 9e6 - 5.0) / (friction + d * d * 2e10);
        assert!((speed / expected - 1.0).abs() < 1e-9);
        assert!((drop - share * (9e6 - 2e10 * d * speed)).abs() < 1e-3);
        assert!((bench.flow(1) - (d * speed + leakage * drop)).abs() < 1e-12);
        assert_eq!(bench.flow(0), -bench.flow(1));
    }

    #[test]
    fn a_motor_that_is_driven_leaves_no_pressure_negative() {
        type Motor = FixedDisplacementMotorQ;
        let motor = Motor { displacement: 0.0, friction: 0.0, leakage: 0.0, inertia: 0.0 };
        let mut bench = Bench::new(&motor, 1e-3);
        bench.input(Motor::DISPLACEMENT, D).input(Motor::INERTIA, 0.1).start();
        let mut driven = 0.0;
        for _ in 0..2000 {
            bench.line(0, 1e5, 1e10).line(1, 1e5, 1e10).line(2, -50.0, 0.1).step();
            assert!(bench.effort(0) > -1e-6);
            driven += bench.flow(2) * 1e-3;
        }
        assert!((bench.flow(0) + 1e5 / 1e10).abs() < 1e-15);
        // The angle is the integral of the speed, by another rule.
        assert!((bench.state.bonds[2].displacement / driven - 1.0).abs() < 1e-2);
    }

    #[test]
    fn a_machine_turns_pressure_into_torque_and_speed_into_flow() {
        let machine = MachineC {
            setting: 0.0,
            bulk_modulus: 0.0,
            volume_1: 0.0,
            volume_2: 0.0,
            displacement: 0.0,
            leakage: 0.0,
            friction: 0.0,
            inertia: 1.0,
        };
        let dt = 1e-3;
        let mut bench = Bench::new(&machine, dt);
        for (input, value) in [
            (MachineC::SETTING, 0.5),
            (MachineC::BULK_MODULUS, 1e9),
            (MachineC::VOLUME_1, 5e-3),
            (MachineC::VOLUME_2, 4e-3),
            (MachineC::DISPLACEMENT, D),
            (MachineC::FRICTION, 0.3),
        ] {
            bench.input(input, value);
        }
        let (speed, d) = (20.0, 0.5 * D / TAU);
        let z1 = 1e9 * dt / (0.9 * 5e-3);
        bench.state.bonds[0].effort = 6e6;
        bench.state.bonds[1].effort = 1e6;
        for (port, flow) in [-d * speed, d * speed, speed].into_iter().enumerate() {
            bench.state.bonds[port].flow = flow;
        }
        bench.start();
        // What the machine moves flows in and out of the ports: all stays as it is.
        for _ in 0..400 {
            bench.impose_flow(0, -d * speed).impose_flow(1, d * speed).impose_flow(2, speed).step();
        }
        let [one, two, shaft] = [0, 1, 2].map(|i| bench.state.bonds[i]);
        assert!((one.impedance / z1 - 1.0).abs() < 1e-12);
        let pressure =
            |bond: fluxline_core::state::Bond<f64>| bond.wave + bond.impedance * bond.flow;
        let torque = shaft.wave + shaft.impedance * speed;
        let expected = d * (pressure(one) - pressure(two)) + 0.3 * speed;
        assert!((torque - expected).abs() < 1e-6 * expected.abs(), "{torque} {expected}");
        assert!((pressure(one) - 6e6).abs() < 1e-3 && (pressure(two) - 1e6).abs() < 1e-3);
    }
}
