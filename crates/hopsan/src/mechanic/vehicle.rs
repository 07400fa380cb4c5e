//! A vehicle on its wheels, its engine, and the forks of a truck.

use super::body::{Body, move_port};
use crate::blocks::limit;
use crate::signal::lookup::{Grid, curve};
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};
use std::sync::Arc;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Vehicle>(),
    ComponentType::of::<CombustionEngine>(),
    ComponentType::of::<Forks>(),
];

/// Acceleration of gravity as Hopsan has it, m/s².
const GRAVITY: f64 = 9.82;

/// Vehicle on two driven axles, with rolling and air resistance.
///
/// m·dv/dt = (T₁ + T₂)/r − f_d − f_r by the bilinear rule, with f_d = ½·ρ·c_d·A·v₋·|v₋| and
/// f_r = clip(m·v₋/T, ±g·c_fr·m) of the speed one step ago;  ω = −v/r, but the angle counts +v/r
#[component("hopsan.MechanicVehicle1D", q)]
pub struct Vehicle {
    /// one axle
    #[port(name = "Pmr1")]
    p1: Rotational,
    /// other axle
    #[port(name = "Pmr2")]
    p2: Rotational,
    /// v — speed [m/s]
    #[output(name = "vc")]
    speed: Signal,
    /// x — position [m]
    #[output(name = "xc")]
    position: Signal,
    /// f_d — air resistance [N]
    #[output(name = "fd")]
    drag: Signal,
    /// f_r — rolling resistance [N]
    #[output(name = "fr")]
    rolling: Signal,
    /// m — mass [kg]
    #[input(name = "Mc", default = "1000 kg")]
    pub mass: f64,
    /// c_fr — coefficient of rolling resistance [–]
    #[input(name = "cfr", default = 0.02)]
    pub rolling_coefficient: f64,
    /// c_d·A — drag area [m^2]
    #[input(name = "CdA", default = "0.5 m^2")]
    pub drag_area: f64,
    /// r — radius of the wheels [m]
    #[input(name = "rwheel", default = "1 m")]
    pub radius: f64,
    /// ρ — density of the air [kg/m^3]
    #[input(name = "rho", default = "1.25 kg/m^3")]
    pub density: f64,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
    /// – — old part of the speed [m/s]
    #[memory]
    speed_part: Memory,
    /// – — old part of the position [m]
    #[memory]
    position_part: Memory,
    /// – — old part of the angle [rad]
    #[memory]
    angle_part: Memory,
}

impl Vehicle {
    /// Air and rolling resistance at the speed of the last step.
    #[inline(always)]
    fn resistance<T: Num>(io: &Step<'_, T>) -> (T, T) {
        let (v, m) = (io.memory(Self::SPEED_1), io.input(Self::MASS));
        let drag = io.input(Self::DRAG_AREA) * io.input(Self::DENSITY) * v * v.abs() * 0.5;
        let most = io.input(Self::ROLLING_COEFFICIENT) * m * GRAVITY;
        (drag, limit(m * v / io.dt, -most, most))
    }

    #[inline(always)]
    fn remember<T: Num>(io: &mut Step<'_, T>, resistance: T, [v, x, angle]: [T; 3]) {
        let (r, h) = (io.input(Self::RADIUS), 0.5 * io.dt);
        let torque = io.effort(Self::P1) + io.effort(Self::P2);
        let speed = (resistance - torque / r) * h / io.input(Self::MASS) - v;
        for (at, value) in [
            (Self::SPEED_1, v),
            (Self::SPEED_PART, speed),
            (Self::POSITION_PART, -(v * h) - x),
            (Self::ANGLE_PART, -(v * h) / r - angle),
        ] {
            io.set_memory(at, value);
        }
    }
}

impl Physics for Vehicle {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (v, x) = (io.output(Self::SPEED), io.output(Self::POSITION));
        io.set_memory(Self::SPEED_1, v);
        let (drag, rolling) = Self::resistance(io);
        let angle = io.displacement(Self::P1);
        Self::remember(io, drag + rolling, [v, x, angle]);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (m, r, h) = (io.input(Self::MASS), io.input(Self::RADIUS), 0.5 * io.dt);
        let (drag, rolling) = Self::resistance(io);
        let wave = io.wave(Self::P1) + io.wave(Self::P2);
        let impedance = io.impedance(Self::P1) + io.impedance(Self::P2);
        let gain = m.recip() * h;
        let v = (gain * (wave / r - drag - rolling) - io.memory(Self::SPEED_PART))
            / (T::one() + gain * impedance / (r * r));
        let x = v * h - io.memory(Self::POSITION_PART);
        let angle = v * h / r - io.memory(Self::ANGLE_PART);
        for port in [Self::P1, Self::P2] {
            move_port(io, port, -(v / r), angle);
            io.bond_mut(port).dry = m * r * r;
        }
        Self::remember(io, drag + rolling, [v, x, angle]);
        for (output, value) in
            [(Self::SPEED, v), (Self::POSITION, x), (Self::DRAG, drag), (Self::ROLLING, rolling)]
        {
            io.set_output(output, value);
        }
    }
}

/// Power and largest torque of an engine.
#[derive(Clone, Debug, Constants)]
pub struct Engine<T> {
    power: T,
    torque: Arc<Grid>,
}

/// Combustion engine: full power at any speed, up to the torque that its characteristic allows.
///
/// c = clip(−u·P_max/ω, 0, T_max(ω)), without impedance; T_max linear between the points of a table
///
/// The table is the text of the file of characteristics: speed and largest torque in each row.
#[component("hopsan.CombustionEngine", c, constants = Engine)]
pub struct CombustionEngine {
    /// shaft
    #[port(name = "P1")]
    p1: Rotational,
    /// u — throttle [–]
    #[input(name = "in", default = 0)]
    pub throttle: f64,
    /// P_max — power [W]
    #[parameter(name = "P_max", default = "150000 W")]
    pub power: f64,
    /// – — file that the text comes from [–]
    #[parameter(
        name = "Characteristics",
        default = "../componentLibraries/defaultLibrary/Special/CombustionEngine.csv"
    )]
    pub file: String,
    /// – — rows of speed and largest torque: what is in the file [–]
    #[parameter(default = "")]
    pub text: String,
}

impl Physics for CombustionEngine {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<Engine<f64>, Refusal> {
        Ok(Engine { power: self.power, torque: Arc::new(curve(&self.text)?) })
    }

    fn start<T: Num>(_: &Engine<T>, io: &mut Step<'_, T>) {
        io.set_wave(Self::P1, T::zero(), T::zero());
    }

    #[inline(always)]
    fn step<T: Num>(k: &Engine<T>, io: &mut Step<'_, T>) {
        let w = io.flow(Self::P1);
        let torque = -(io.input(Self::THROTTLE) * k.power) / w;
        let wave = limit(torque, T::zero(), k.torque.at([w]));
        io.set_wave(Self::P1, wave, T::zero());
    }
}

/// Measures of the forks.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Measures<T> {
    wheel: T,
    mass: T,
    half_stroke: T,
    arm: T,
    inertia: T,
}

/// Forks of a truck: a traverse that a shaft drives by a wheel, and a rotation that two cylinders
/// drive by an arm, each with viscous friction and end stops.
///
/// x = (c₁/r)/(m·s² + (B + Z₁/r²)·s), v likewise;  θ₁ = −x/r
/// a = ((c₂ − c₃)·r₂)/(J·s² + (B_rot + (Z₂ + Z₃)·r₂²)·s), ω likewise;  x₂ = −a·r₂ − s_l/2,
/// x₃ = a·r₂ − s_l/2
///
/// The memory of position and angle starts with their own values as speeds.
#[component("hopsan.Forks", q, constants = Measures)]
pub struct Forks {
    /// shaft of the traverse
    #[port(name = "P1")]
    p1: Rotational,
    /// one cylinder of the rotation
    #[port(name = "P2")]
    p2: Translational,
    /// other cylinder of the rotation
    #[port(name = "P3")]
    p3: Translational,
    /// x — position of the traverse [m]
    #[output(name = "x", start = "-0.6")]
    position: Signal,
    /// a — angle of the rotation [rad]
    #[output(name = "a", start = "1.5707963267949")]
    angle: Signal,
    /// – — not used [any]
    #[output(name = "debug")]
    debug: Signal,
    /// r — radius of the wheel of the traverse [m]
    #[parameter(name = "r", default = "0.1 m")]
    pub wheel: f64,
    /// m — mass of the traverse [kg]
    #[parameter(name = "m", default = "100 kg")]
    pub mass: f64,
    /// s_l — stroke of the cylinders [m]
    #[parameter(name = "sl", default = "1 m")]
    pub stroke: f64,
    /// r₂ — arm of the cylinders [m]
    #[parameter(name = "r2", default = "0.1 m")]
    pub arm: f64,
    /// J — moment of inertia of the rotation [kg*m^2]
    #[parameter(name = "J", default = "0.2 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction of the traverse [N*s/m]
    #[input(name = "B", default = "10 N*s/m")]
    pub friction: f64,
    /// x_min — smallest position of the traverse [m]
    #[input(name = "x_min", default = "-0.6 m")]
    pub least_position: f64,
    /// x_max — largest position of the traverse [m]
    #[input(name = "x_max", default = "0.6 m")]
    pub most_position: f64,
    /// B_rot — viscous friction of the rotation [N*m*s/rad]
    #[input(name = "Brot", default = "10 N*m*s/rad")]
    pub turn_friction: f64,
    /// a_min — smallest angle of the rotation [rad]
    #[input(name = "a_min", default = "-1.5707963267949 rad")]
    pub least_angle: f64,
    /// a_max — largest angle of the rotation [rad]
    #[input(name = "a_max", default = "1.5707963267949 rad")]
    pub most_angle: f64,
    /// – — force one step ago, for the position [N]
    #[memory]
    force_1: Memory,
    /// – — force two steps ago [N]
    #[memory]
    force_2: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// – — position two steps ago [m]
    #[memory]
    position_2: Memory,
    /// – — force one step ago, for the speed [N]
    #[memory]
    speed_force_1: Memory,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
    /// – — torque one step ago, for the angle [N*m]
    #[memory]
    torque_1: Memory,
    /// – — torque two steps ago [N*m]
    #[memory]
    torque_2: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
    /// – — angle two steps ago [rad]
    #[memory]
    angle_2: Memory,
    /// – — torque one step ago, for the angular velocity [N*m]
    #[memory]
    turn_torque_1: Memory,
    /// – — angular velocity one step ago [rad/s]
    #[memory]
    turn_1: Memory,
}

impl Forks {
    const TRAVERSE: Body = Body(Self::FORCE_1);
    const ROTATION: Body = Body(Self::TORQUE_1);
}

impl Physics for Forks {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Measures<f64>, Refusal> {
        Ok(Measures {
            wheel: self.wheel,
            mass: self.mass,
            half_stroke: 0.5 * self.stroke,
            arm: self.arm,
            inertia: self.inertia,
        })
    }

    fn start<T: Num>(k: &Measures<T>, io: &mut Step<'_, T>) {
        let (x, a) = (io.output(Self::POSITION), io.output(Self::ANGLE));
        // the shaft's angle in place of its torque: so it is in the original
        let force = io.displacement(Self::P1) / k.wheel;
        let torque = (io.effort(Self::P2) - io.effort(Self::P3)) * k.arm;
        Self::TRAVERSE.start(io, force, force, x, x);
        Self::ROTATION.start(io, torque, torque, a, a);
        // the speeds themselves start at rest
        io.set_memory(Self::SPEED_1, T::zero());
        io.set_memory(Self::TURN_1, T::zero());
        for port in [Self::P2, Self::P3] {
            io.bond_mut(port).displacement = a * k.arm - k.half_stroke;
        }
    }

    #[inline(always)]
    fn step<T: Num>(k: &Measures<T>, io: &mut Step<'_, T>) {
        let force = io.wave(Self::P1) / k.wheel;
        let resistance = io.input(Self::FRICTION) + io.impedance(Self::P1) / (k.wheel * k.wheel);
        let motion = Self::TRAVERSE.step(io, k.mass, resistance, force);
        let stops = (io.input(Self::LEAST_POSITION), io.input(Self::MOST_POSITION));
        let (x, v, _) = Self::TRAVERSE.stop(io, force, motion, stops);
        move_port(io, Self::P1, -(v / k.wheel), -(x / k.wheel));

        let torque = (io.wave(Self::P2) - io.wave(Self::P3)) * k.arm;
        let impedance = (io.impedance(Self::P2) + io.impedance(Self::P3)) * k.arm * k.arm;
        let resistance = io.input(Self::TURN_FRICTION) + impedance;
        let motion = Self::ROTATION.step(io, k.inertia, resistance, torque);
        let stops = (io.input(Self::LEAST_ANGLE), io.input(Self::MOST_ANGLE));
        let (a, w, _) = Self::ROTATION.stop(io, torque, motion, stops);
        move_port(io, Self::P2, -(w * k.arm), -(a * k.arm) - k.half_stroke);
        move_port(io, Self::P3, w * k.arm, a * k.arm - k.half_stroke);
        io.set_output(Self::POSITION, x);
        io.set_output(Self::ANGLE, a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    const DT: f64 = 1e-3;

    #[test]
    fn a_vehicle_settles_where_its_drive_balances_rolling_and_drag() {
        let vehicle = Vehicle {
            mass: 0.0,
            rolling_coefficient: 0.0,
            drag_area: 0.0,
            radius: 0.0,
            density: 0.0,
        };
        let mut bench = Bench::new(&vehicle, 0.1);
        for (i, value) in [10.0, 0.02, 0.5, 0.3, 1.25].into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.start().line(0, 3.0, 0.0).line(1, 6.0, 0.0).step();
        // first step: half of 9/0.3 N at rest
        assert!((bench.output(0) - 0.05 * 30.0 / 10.0).abs() < 1e-12);
        for _ in 0..10_000 {
            bench.step();
        }
        let rolling = 9.82 * 0.02 * 10.0;
        let v = ((30.0 - rolling) / (0.5 * 1.25 * 0.5f64)).sqrt();
        assert!((bench.output(0) / v - 1.0).abs() < 1e-9);
        assert!((bench.output(3) / rolling - 1.0).abs() < 1e-12);
        assert!((bench.flow(0) + bench.output(0) / 0.3).abs() < 1e-9);
        assert!((bench.state.bonds[1].displacement * 0.3 / bench.output(1) - 1.0).abs() < 1e-9);
        assert!((bench.state.bonds[0].dry - 0.9).abs() < 1e-12);
    }

    #[test]
    fn an_engine_gives_its_power_up_to_its_largest_torque() {
        let engine = CombustionEngine {
            throttle: 0.0,
            power: 1000.0,
            file: String::new(),
            text: "-200, 10\n-100, 20\n0, 20\n".to_owned(),
        };
        let mut bench = Bench::new(&engine, DT);
        bench.input(0, 0.8).start();
        for (w, torque) in [(-50.0, 16.0), (-30.0, 20.0), (-150.0, 800.0 / 150.0), (10.0, 0.0)] {
            bench.impose_flow(0, w).step();
            assert!((bench.state.bonds[0].wave - torque).abs() < 1e-12, "{w} rad/s");
        }
        let empty = CombustionEngine { text: String::new(), ..engine };
        let around = Surroundings::of::<CombustionEngine>(DT);
        assert_eq!(Bench::within(&empty, &around).err().unwrap().parameter, "text");
    }

    #[test]
    fn forks_pass_on_power_in_both_motions() {
        let forks = Forks {
            wheel: 0.2,
            mass: 50.0,
            stroke: 0.5,
            arm: 0.3,
            inertia: 2.0,
            friction: 0.0,
            least_position: 0.0,
            most_position: 0.0,
            turn_friction: 0.0,
            least_angle: 0.0,
            most_angle: 0.0,
        };
        let mut bench = Bench::new(&forks, DT);
        for (i, value) in [8.0, -1e9, 1e9, 5.0, -1e9, 1e9].into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.start().line(0, 10.0, 1.0).line(1, 70.0, 3.0).line(2, 20.0, 4.0);
        for _ in 0..60_000 {
            bench.step();
        }
        // steady: 10/0.2 = (8 + 1/0.04)·v, (70 − 20)·0.3 = (5 + 7·0.09)·ω
        let (v, w) = (50.0 / 33.0, 15.0 / 5.63);
        assert!((bench.flow(0) + v / 0.2).abs() < 1e-9);
        assert!((bench.flow(1) + 0.3 * w).abs() < 1e-9 && (bench.flow(2) - 0.3 * w).abs() < 1e-9);
        let power = bench.effort(0) * bench.flow(0) + 8.0 * v * v;
        assert!(power.abs() < 1e-6);
        bench.input(Forks::MOST_ANGLE, 1.0).step();
        assert_eq!((bench.output(1), bench.flow(1)), (1.0, 0.0));
        assert!((bench.state.bonds[1].displacement + 0.3 + 0.25).abs() < 1e-12);
    }
}
