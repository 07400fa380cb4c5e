//! Electric machines with a shaft.

use super::pass_current;
use crate::blocks::{limit, limit_slope, solve};
use crate::held::Held;
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Motor>(),
    ComponentType::of::<MotorGear>(),
    ComponentType::of::<MotorGearScrewLink>(),
    ComponentType::of::<AcMachine>(),
];

/// Terminals and shaft, the same ports in all machines.
const P1: usize = 0;
const P2: usize = 1;
const SHAFT: usize = 2;

/// Share of the dry friction that acts at a speed.
#[inline(always)]
fn friction_share<T: Num>(speed: T, full: T) -> T {
    limit(speed / full, T::of(-1.0), T::one())
}

/// Current through an armature: i₂ = (c₁ − c₂ − e)/(R + Z₁ + Z₂).
#[derive(Clone, Copy)]
struct Armature<T> {
    voltage: T,
    resistance: T,
}

impl<T: Num> Armature<T> {
    #[inline(always)]
    fn at(io: &Step<'_, T>, resistance: T) -> Self {
        Self {
            voltage: io.wave(P1) - io.wave(P2),
            resistance: resistance + io.impedance(P1) + io.impedance(P2),
        }
    }

    #[inline(always)]
    fn current(self, back_voltage: Dual<T>) -> Dual<T> {
        (Dual::constant(self.voltage) - back_voltage) / Dual::constant(self.resistance)
    }
}

/// Writes shaft and terminals; gives electric and mechanical power.
#[inline(always)]
fn finish<T: Num>(io: &mut Step<'_, T>, speed: T, angle: T, current: T) -> (T, T) {
    pass_current(io, P1, P2, current);
    let torque = io.wave(SHAFT) + io.impedance(SHAFT) * speed;
    io.set_motion(SHAFT, speed, angle, torque);
    (current * (io.effort(P1) - io.effort(P2)), torque * speed)
}

/// Angle by the trapezoidal rule.
#[inline(always)]
fn turned<T: Num>(io: &Step<'_, T>, speed: T) -> T {
    io.displacement(SHAFT) + (io.flow(SHAFT) + speed) * (0.5 * io.dt)
}

/// A direct-current motor with a gear, as its shaft sees it.
#[derive(Clone, Copy)]
struct Drive<T> {
    /// Torque at the shaft per current.
    constant: T,
    /// Voltage per speed of the shaft.
    back_constant: T,
    resistance: T,
    inertia: T,
    damping: T,
    dry_torque: T,
    /// Friction per torque at the shaft.
    load_friction: T,
    full_friction_speed: T,
}

impl<T: Num> Drive<T> {
    /// Torque against the motion, without viscous friction.
    #[inline(always)]
    fn load<U: Num>(self, of: impl Fn(T) -> U, speed: U, current: U, torque: U) -> U {
        let friction = of(self.dry_torque) + of(self.load_friction) * torque.abs();
        torque - of(self.constant) * current
            + friction * friction_share(speed, of(self.full_friction_speed))
    }

    /// What the bilinear rule remembers: (T·load − (2·J − B·T)·ω)/(2·J + B·T).
    #[wide]
    #[inline(always)]
    fn delayed(self, io: &Step<'_, T>) -> T {
        let (speed, torque) = (io.flow(SHAFT), io.effort(SHAFT));
        let load = self.load(|x| x, speed, io.flow(P2), torque);
        let (twice_inertia, damping) = (self.inertia * 2.0, self.damping * io.dt);
        (load * io.dt - (twice_inertia - damping) * speed) / (twice_inertia + damping)
    }

    /// One step; gives current, electric and mechanical power.
    #[wide]
    #[inline(always)]
    fn step(self, io: &mut Step<'_, T>, delayed: usize) -> (T, T, T) {
        let armature = Armature::at(io, self.resistance);
        let gain = T::of(io.dt) / (self.inertia * 2.0 + self.damping * io.dt);
        let (wave, impedance) = (io.wave(SHAFT), io.impedance(SHAFT));
        let before = io.memory(delayed);
        let of = Dual::constant;
        let current = |speed: Dual<T>| armature.current(of(self.back_constant) * speed);
        let guess = [io.flow(SHAFT)];
        let [speed] = solve(io, guess, [1e-3], |&[speed]| {
            let torque = of(wave) + of(impedance) * speed;
            [speed + of(gain) * self.load(of, speed, current(speed), torque) + of(before)]
        });
        let current = current(of(speed)).value;
        let angle = turned(io, speed);
        let (electric, mechanical) = finish(io, speed, angle, current);
        let remembered = self.delayed(io);
        io.set_memory(delayed, remembered);
        (current, electric, mechanical)
    }
}

/// Direct-current motor.
///
/// J_m·dω/dt = Kₑ·i₂ − M − B_m·ω − T_m0·clip(ω/ω_c, ±1) by the bilinear rule;
/// i₂ = (u₁ − u₂ − Kₑ·ω)/R_a;  dθ/dt = ω
///
/// All inputs are read at the start.
#[component("hopsan.ElectricMotor", q)]
pub struct Motor {
    /// plus terminal
    #[port(name = "Pel1")]
    p1: Electrical,
    /// minus terminal
    #[port(name = "Pel2")]
    p2: Electrical,
    /// shaft
    #[port(name = "Pmr1", side = "b")]
    shaft: Rotational,
    /// Kₑ — motor constant [V*s/rad]
    #[input(name = "Ke", default = "0.13 V*s/rad")]
    pub constant: f64,
    /// R_a — resistance of the armature [V/A]
    #[input(name = "Ra", default = "0.04 V/A")]
    pub resistance: f64,
    /// T_m0 — dry friction [N*m]
    #[input(name = "Tm0", default = "0 N*m")]
    pub dry_torque: f64,
    /// ω_c — speed from which dry friction acts in full [rad/s]
    #[input(name = "wc", default = "1 rad/s")]
    pub full_friction_speed: f64,
    /// B_m — viscous friction [N*m*s/rad]
    #[input(name = "Bm", default = "0.0012 N*m*s/rad")]
    pub damping: f64,
    /// J_m — moment of inertia [kg*m^2]
    #[input(name = "Jm", default = "1 kg*m^2")]
    pub inertia: f64,
    /// M_m — torque of the motor after its friction [N*m]
    #[output(name = "tormg")]
    torque: Signal,
    /// P_in — electric power taken in [W]
    #[output(name = "Pin")]
    electric_power: Signal,
    /// P_out — power at the shaft [W]
    #[output(name = "Pout")]
    mechanical_power: Signal,
    /// – — old part of the speed's bilinear rule [rad/s]
    #[memory]
    delayed: Memory,
}

impl Motor {
    const HELD: Held = Held::inputs(Self::CONSTANT, Self::INERTIA);

    #[wide]
    fn drive<T: Num>(io: &Step<'_, T>) -> Drive<T> {
        let held = |input| Self::HELD.get(io, input);
        Drive {
            constant: held(Self::CONSTANT),
            back_constant: held(Self::CONSTANT),
            resistance: held(Self::RESISTANCE),
            inertia: held(Self::INERTIA),
            damping: held(Self::DAMPING),
            dry_torque: held(Self::DRY_TORQUE),
            load_friction: T::zero(),
            full_friction_speed: held(Self::FULL_FRICTION_SPEED),
        }
    }
}

impl Physics for Motor {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
        let delayed = Self::drive(io).delayed(io);
        io.set_memory(Self::DELAYED, delayed);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let drive = Self::drive(io);
        let (current, electric, mechanical) = drive.step(io, Self::DELAYED);
        let speed = io.flow(SHAFT);
        let torque = current * drive.constant
            - drive.damping * speed
            - drive.dry_torque * friction_share(speed, drive.full_friction_speed);
        io.set_output(Self::TORQUE, torque);
        io.set_output(Self::ELECTRIC_POWER, electric);
        io.set_output(Self::MECHANICAL_POWER, mechanical);
    }
}

/// Direct-current motor with a gear and a load.
///
/// (J_L + g²·J_m)·dω/dt = g·Kₑ·i₂ − M − (B_L + g²·B_m)·ω − (g·T_m0 + μ·|M|)·clip(ω/ω_c, ±1) by the
/// bilinear rule;  i₂ = (u₁ − u₂ − g·Kₑ·ω)/R_a;  dθ/dt = ω
///
/// All inputs but the gear ratio are read at the start.
#[component("hopsan.ElectricMotorGear", q)]
pub struct MotorGear {
    /// plus terminal
    #[port(name = "Pel1")]
    p1: Electrical,
    /// minus terminal
    #[port(name = "Pel2")]
    p2: Electrical,
    /// shaft behind the gear
    #[port(name = "Pmr1", side = "b")]
    shaft: Rotational,
    /// g — turns of the motor per turn of the shaft [–]
    #[input(name = "gearRatio", default = 1)]
    pub gear_ratio: f64,
    /// Kₑ — motor constant [V*s/rad]
    #[input(name = "Ke", default = "0.13 V*s/rad")]
    pub constant: f64,
    /// R_a — resistance of the armature [V/A]
    #[input(name = "Ra", default = "0.04 V/A")]
    pub resistance: f64,
    /// T_m0 — dry friction of the motor [N*m]
    #[input(name = "Tm0", default = "0 N*m")]
    pub dry_torque: f64,
    /// ω_c — speed of the shaft from which dry friction acts in full [rad/s]
    #[input(name = "wc", default = "1 rad/s")]
    pub full_friction_speed: f64,
    /// B_m — viscous friction of the motor [N*m*s/rad]
    #[input(name = "Bm", default = "0.0012 N*m*s/rad")]
    pub damping: f64,
    /// J_m — moment of inertia of the motor [kg*m^2]
    #[input(name = "Jm", default = "0.1 kg*m^2")]
    pub inertia: f64,
    /// B_L — viscous friction of the load [N*m*s/rad]
    #[input(name = "BL", default = "0 N*m*s/rad")]
    pub load_damping: f64,
    /// J_L — moment of inertia of the load [kg*m^2]
    #[input(name = "JL", default = "1 kg*m^2")]
    pub load_inertia: f64,
    /// μ — friction per torque at the shaft [–]
    #[input(name = "myfric", default = 0.01)]
    pub load_friction: f64,
    /// ω_m — speed of the motor [rad/s]
    #[output(name = "wm")]
    motor_speed: Signal,
    /// M_m — torque of the motor after its friction [N*m]
    #[output(name = "tormg")]
    torque: Signal,
    /// P_in — electric power taken in [W]
    #[output(name = "Pin")]
    electric_power: Signal,
    /// P_out — power at the shaft [W]
    #[output(name = "Pout")]
    mechanical_power: Signal,
    /// – — old part of the speed's bilinear rule [rad/s]
    #[memory]
    delayed: Memory,
}

impl MotorGear {
    const HELD: Held = Held::inputs(Self::CONSTANT, Self::LOAD_FRICTION);

    #[wide]
    fn drive<T: Num>(io: &Step<'_, T>) -> Drive<T> {
        let held = |input| Self::HELD.get(io, input);
        let gear = io.input(Self::GEAR_RATIO);
        Drive {
            constant: gear * held(Self::CONSTANT),
            back_constant: gear * held(Self::CONSTANT),
            resistance: held(Self::RESISTANCE),
            inertia: held(Self::LOAD_INERTIA) + gear * gear * held(Self::INERTIA),
            damping: held(Self::LOAD_DAMPING) + gear * gear * held(Self::DAMPING),
            dry_torque: gear * held(Self::DRY_TORQUE),
            load_friction: held(Self::LOAD_FRICTION),
            full_friction_speed: held(Self::FULL_FRICTION_SPEED),
        }
    }
}

impl Physics for MotorGear {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
        let delayed = Self::drive(io).delayed(io);
        io.set_memory(Self::DELAYED, delayed);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (current, electric, mechanical) = Self::drive(io).step(io, Self::DELAYED);
        let held = |input| Self::HELD.get(io, input);
        let speed = io.flow(SHAFT);
        let motor_speed = io.input(Self::GEAR_RATIO) * speed;
        let torque = current * held(Self::CONSTANT)
            - held(Self::DAMPING) * motor_speed
            - held(Self::DRY_TORQUE) * friction_share(speed, held(Self::FULL_FRICTION_SPEED));
        io.set_output(Self::MOTOR_SPEED, motor_speed);
        io.set_output(Self::TORQUE, torque);
        io.set_output(Self::ELECTRIC_POWER, electric);
        io.set_output(Self::MECHANICAL_POWER, mechanical);
    }
}

/// Direct-current motor with a gear and a screw that turns a link between stops.
///
/// With λ = l_a/pitch and J = J_L + g·J_m:  J·d²θ/dt² = g·Kₑ·i₂ − M − g²·(λ² + B_m)·ω −
/// (g·T_m0 + λ²·(g²·μ_g + μ_s)·|M|)·clip(ω/ω_c, ±1);  i₂ = (u₁ − u₂ − g·λ·Kₑ·ω)/R_a
///
/// The angle follows the force by (1 + z)² weights and is held between its stops; the speed is a
/// bilinear rule of its own, times 10⁻⁹ at a stop. All inputs but the gear ratio are read at the
/// start; B_L has no effect.
#[component("hopsan.ElectricMotorGearScrewLink", q)]
pub struct MotorGearScrewLink {
    /// plus terminal
    #[port(name = "Pel1")]
    p1: Electrical,
    /// minus terminal
    #[port(name = "Pel2")]
    p2: Electrical,
    /// link
    #[port(name = "Pmr1", side = "b")]
    shaft: Rotational,
    /// g — turns of the motor per turn of the screw [–]
    #[input(name = "gearRatio", default = 1)]
    pub gear_ratio: f64,
    /// Kₑ — motor constant [V*s/rad]
    #[input(name = "Ke", default = "0.13 V*s/rad")]
    pub constant: f64,
    /// R_a — resistance of the armature [V/A]
    #[input(name = "Ra", default = "0.04 V/A")]
    pub resistance: f64,
    /// T_m0 — dry friction of the motor [N*m]
    #[input(name = "Tm0", default = "0 N*m")]
    pub dry_torque: f64,
    /// ω_c — speed of the link from which dry friction acts in full [rad/s]
    #[input(name = "wc", default = "1 rad/s")]
    pub full_friction_speed: f64,
    /// B_m — viscous friction of the motor [N*m*s/rad]
    #[input(name = "Bm", default = "0.0012 N*m*s/rad")]
    pub damping: f64,
    /// J_m — moment of inertia of the motor [kg*m^2]
    #[input(name = "Jm", default = "1 kg*m^2")]
    pub inertia: f64,
    /// μ_g — friction of the gear per torque [–]
    #[input(name = "myg", default = 0.01)]
    pub gear_friction: f64,
    /// μ_s — friction of the screw per torque [–]
    #[input(name = "mys", default = 0.001)]
    pub screw_friction: f64,
    /// B_L — without effect [N*m*s/rad]
    #[input(name = "BL", default = "0 N*m*s/rad")]
    pub load_damping: f64,
    /// J_L — moment of inertia of the link [kg*m^2]
    #[input(name = "JL", default = "1 kg*m^2")]
    pub load_inertia: f64,
    /// – — travel of the screw per angle [m/rad]
    #[input(name = "pitch", default = "0.0008 m/rad")]
    pub pitch: f64,
    /// θ_min — least angle [rad]
    #[input(name = "thetamin", default = "-0.5 rad")]
    pub rear_stop: f64,
    /// θ_max — largest angle [rad]
    #[input(name = "thetamax", default = "0.5 rad")]
    pub front_stop: f64,
    /// l_a — length of the arm [m]
    #[input(name = "la", default = "0.08 m")]
    pub arm: f64,
    /// ω_m — gear ratio times speed of the link [rad/s]
    #[output(name = "wm")]
    motor_speed: Signal,
    /// M_m — torque of the motor after its friction [N*m]
    #[output(name = "tormg")]
    torque: Signal,
    /// P_in — electric power taken in [W]
    #[output(name = "Pin")]
    electric_power: Signal,
    /// P_out — power at the link [W]
    #[output(name = "Pout")]
    mechanical_power: Signal,
    /// – — old part of the speed's bilinear rule [rad/s]
    #[memory]
    delayed_speed: Memory,
    /// – — part of the angle that is one step old [rad]
    #[memory]
    delayed_angle_1: Memory,
    /// – — part of the angle that is two steps old [rad]
    #[memory]
    delayed_angle_2: Memory,
    /// – — part of the angle that will be two steps old [rad]
    #[memory]
    next_angle_2: Memory,
}

impl MotorGearScrewLink {
    const HELD: Held = Held::inputs(Self::CONSTANT, Self::ARM);

    #[wide]
    fn drive<T: Num>(io: &Step<'_, T>) -> Drive<T> {
        let held = |input| Self::HELD.get(io, input);
        let gear = io.input(Self::GEAR_RATIO);
        let lever = held(Self::ARM) / held(Self::PITCH);
        let (square, constant) = (gear * gear, gear * held(Self::CONSTANT));
        Drive {
            constant,
            back_constant: constant * lever,
            resistance: held(Self::RESISTANCE),
            inertia: held(Self::LOAD_INERTIA) + gear * held(Self::INERTIA),
            damping: square * (lever * lever + held(Self::DAMPING)),
            dry_torque: gear * held(Self::DRY_TORQUE),
            load_friction: lever
                * lever
                * (square * held(Self::GEAR_FRICTION) + held(Self::SCREW_FRICTION)),
            full_friction_speed: held(Self::FULL_FRICTION_SPEED),
        }
    }

    #[wide]
    fn remember<T: Num>(io: &mut Step<'_, T>) {
        let drive = Self::drive(io);
        let (speed, angle) = (io.flow(SHAFT), io.displacement(SHAFT));
        let old_speed = drive.delayed(io);
        io.set_memory(Self::DELAYED_SPEED, old_speed);
        let load = drive.load(|x| x, speed, io.flow(P2), io.effort(SHAFT));
        let pull = (load + drive.damping * speed) * (0.25 * io.dt * io.dt) / drive.inertia;
        io.set_memory(Self::DELAYED_ANGLE_1, (pull - angle) * 2.0);
        let older = io.memory(Self::NEXT_ANGLE_2);
        io.set_memory(Self::DELAYED_ANGLE_2, older);
        io.set_memory(Self::NEXT_ANGLE_2, pull + angle);
    }
}

impl Physics for MotorGearScrewLink {
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
        let first = io.memory(Self::NEXT_ANGLE_2);
        io.set_memory(Self::DELAYED_ANGLE_2, first);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let drive = Self::drive(io);
        let held = |input| Self::HELD.get(io, input);
        let (low, high) = (held(Self::REAR_STOP), held(Self::FRONT_STOP));
        let armature = Armature::at(io, drive.resistance);
        let (wave, impedance) = (io.wave(SHAFT), io.impedance(SHAFT));
        let gain = T::of(io.dt) / (drive.inertia * 2.0 + drive.damping * io.dt);
        let pull = T::of(0.25 * io.dt * io.dt) / drive.inertia;
        let before = io.memory(Self::DELAYED_SPEED);
        let old_angle = io.memory(Self::DELAYED_ANGLE_1) + io.memory(Self::DELAYED_ANGLE_2);
        let of = Dual::constant;
        let current = |speed: Dual<T>| armature.current(of(drive.back_constant) * speed);
        let load = |speed: Dual<T>| {
            let torque = of(wave) + of(impedance) * speed;
            drive.load(of, speed, current(speed), torque)
        };
        let free_angle = |speed: T| {
            let moved = load(of(speed)).value + drive.damping * speed;
            -(pull * moved) - old_angle
        };
        // At a stop the speed all but vanishes, which may bring the angle back inside: the speed
        // jumps with the angle. Free motion holds if it ends inside.
        let guess = io.flow(SHAFT);
        let speed_with = |io: &mut Step<'_, T>, slope: T| {
            solve(io, [guess * slope], [1e-6], |&[speed]| {
                [speed + of(slope) * (of(gain) * load(speed) + of(before))]
            })[0]
        };
        let free = speed_with(io, T::one());
        let slope = limit_slope(free_angle(free), low, high);
        let speed = speed_with(io, slope);
        let angle = limit(free_angle(speed), low, high);
        let current = current(of(speed)).value;
        let (electric, mechanical) = finish(io, speed, angle, current);
        Self::remember(io);
        let held = |input| Self::HELD.get(io, input);
        let motor_speed = io.input(Self::GEAR_RATIO) * speed;
        let torque = current * held(Self::CONSTANT)
            - held(Self::DAMPING) * motor_speed
            - held(Self::DRY_TORQUE) * friction_share(speed, held(Self::FULL_FRICTION_SPEED));
        io.set_output(Self::MOTOR_SPEED, motor_speed);
        io.set_output(Self::TORQUE, torque);
        io.set_output(Self::ELECTRIC_POWER, electric);
        io.set_output(Self::MECHANICAL_POWER, mechanical);
    }
}

/// Asynchronous machine on alternating current.
///
/// Slip s = 1 − N_p·ω/f and its law k(s) = 2·g·s/(s² + g²):
/// J_m·dω/dt = Kₑ·k·i₂ − M − B_m·ω − T_m0·clip(ω/ω_c, ±1);  i₂ = (u₁ − u₂ − Kₑ·k·ω)/R_a;  dθ/dt = ω
///
/// The bilinear rule is applied to the torque balance times D = f²·(s² + g²), and each of its two
/// halves is divided by its own W = f²·(1 + g²)·(2·J_m + B_m·T) + 2·T·f·N_p·(g·Kₑ·i₂ − M − friction).
/// For a small inertia near the pull-out slip these weights leave no solution nearby; such steps are
/// reported as not converged. All inputs but f are read at the start.
#[component("hopsan.ElectricACmachine", q)]
pub struct AcMachine {
    /// plus terminal
    #[port(name = "Pel1")]
    p1: Electrical,
    /// minus terminal
    #[port(name = "Pel2")]
    p2: Electrical,
    /// shaft
    #[port(name = "Pmr1", side = "b")]
    shaft: Rotational,
    /// f — frequency of the supply, as an angular speed [rad/s]
    #[input(name = "freq", default = "50 rad/s")]
    pub frequency: f64,
    /// Kₑ — machine constant [V*s/rad]
    #[input(name = "Ke", default = "0.13 V*s/rad")]
    pub constant: f64,
    /// R_a — resistance of the winding [V/A]
    #[input(name = "Ra", default = "0.04 V/A")]
    pub resistance: f64,
    /// T_m0 — dry friction [N*m]
    #[input(name = "Tm0", default = "0 N*m")]
    pub dry_torque: f64,
    /// ω_c — speed from which dry friction acts in full [rad/s]
    #[input(name = "wc", default = "1 rad/s")]
    pub full_friction_speed: f64,
    /// N_p — number of pole pairs [–]
    #[input(name = "Np", default = 6)]
    pub pole_pairs: f64,
    /// g — slip of the largest torque [–]
    #[input(name = "gmax", default = 0.05)]
    pub pull_out_slip: f64,
    /// B_m — viscous friction [N*m*s/rad]
    #[input(name = "Bm", default = "0.0012 N*m*s/rad")]
    pub damping: f64,
    /// J_m — moment of inertia [kg*m^2]
    #[input(name = "Jm", default = "1 kg*m^2")]
    pub inertia: f64,
    /// M_m — torque of the machine after its friction [N*m]
    #[output(name = "tormg")]
    torque: Signal,
    /// s — slip [–]
    #[output(name = "gslip")]
    slip: Signal,
    /// P_in — electric power taken in [W]
    #[output(name = "Pin")]
    electric_power: Signal,
    /// P_out — power at the shaft [W]
    #[output(name = "Pout")]
    mechanical_power: Signal,
    /// – — old part of the speed's bilinear rule [rad/s]
    #[memory]
    delayed: Memory,
}

/// Constants of an asynchronous machine at the present frequency.
#[derive(Clone, Copy)]
struct Slipping<T> {
    frequency: T,
    constant: T,
    dry_torque: T,
    full_friction_speed: T,
    pole_pairs: T,
    pull_out_slip: T,
    damping: T,
    inertia: T,
}

impl<T: Num> Slipping<T> {
    /// f²·(s² + g²) and the slip.
    #[inline(always)]
    fn weight<U: Num>(self, of: impl Fn(T) -> U, speed: U) -> (U, U) {
        let slip = U::one() - of(self.pole_pairs / self.frequency) * speed;
        let square = slip * slip + of(self.pull_out_slip * self.pull_out_slip);
        (of(self.frequency * self.frequency) * square, slip)
    }

    /// Machine constant at a slip: torque per current, voltage per speed.
    #[inline(always)]
    fn effective<U: Num>(self, of: impl Fn(T) -> U, speed: U) -> U {
        let (weight, slip) = self.weight(&of, speed);
        let frequency = of(self.frequency);
        of(self.constant * self.pull_out_slip * 2.0) * slip * frequency * frequency / weight
    }

    /// One half of the bilinear rule; `direction` is +1 for the new half, −1 for the old one.
    #[inline(always)]
    fn half<U: Num>(
        self,
        of: impl Fn(T) -> U,
        dt: f64,
        direction: f64,
        [speed, current, torque]: [U; 3],
    ) -> U {
        let braking =
            torque + of(self.dry_torque) * friction_share(speed, of(self.full_friction_speed));
        let (weight, _) = self.weight(&of, speed);
        let driving = self.effective(&of, speed) * current;
        let inertia = of(self.inertia * (2.0 * direction) + self.damping * dt);
        let balance = (inertia * speed + (braking - driving) * dt) * weight;
        let pole_rate = of(self.pole_pairs * self.frequency * (2.0 * dt));
        let still = self.frequency
            * self.frequency
            * (self.pull_out_slip * self.pull_out_slip + 1.0)
            * (self.inertia * 2.0 + self.damping * dt);
        balance
            / (of(still) + pole_rate * (of(self.pull_out_slip * self.constant) * current - braking))
    }
}

impl AcMachine {
    const HELD: Held = Held::inputs(Self::CONSTANT, Self::INERTIA);

    #[wide]
    fn slipping<T: Num>(io: &Step<'_, T>) -> Slipping<T> {
        let held = |input| Self::HELD.get(io, input);
        Slipping {
            frequency: io.input(Self::FREQUENCY),
            constant: held(Self::CONSTANT),
            dry_torque: held(Self::DRY_TORQUE),
            full_friction_speed: held(Self::FULL_FRICTION_SPEED),
            pole_pairs: held(Self::POLE_PAIRS),
            pull_out_slip: held(Self::PULL_OUT_SLIP),
            damping: held(Self::DAMPING),
            inertia: held(Self::INERTIA),
        }
    }

    #[wide]
    fn remember<T: Num>(io: &mut Step<'_, T>) {
        let now = [io.flow(SHAFT), io.flow(P2), io.effort(SHAFT)];
        let delayed = Self::slipping(io).half(|x| x, io.dt, -1.0, now);
        io.set_memory(Self::DELAYED, delayed);
    }
}

impl Physics for AcMachine {
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
        let machine = Self::slipping(io);
        let armature = Armature::at(io, Self::HELD.get(io, Self::RESISTANCE));
        let (wave, impedance) = (io.wave(SHAFT), io.impedance(SHAFT));
        let (before, dt) = (io.memory(Self::DELAYED), io.dt);
        let of = Dual::constant;
        let current = |speed: Dual<T>| armature.current(machine.effective(of, speed) * speed);
        let guess = [io.flow(SHAFT)];
        let [speed] = solve(io, guess, [1e-3], |&[speed]| {
            let torque = of(wave) + of(impedance) * speed;
            [machine.half(of, dt, 1.0, [speed, current(speed), torque]) + of(before)]
        });
        let current = current(of(speed)).value;
        let angle = turned(io, speed);
        let (electric, mechanical) = finish(io, speed, angle, current);
        Self::remember(io);
        let torque = machine.effective(|x| x, speed) * current
            - machine.damping * speed
            - machine.dry_torque * friction_share(speed, machine.full_friction_speed);
        io.set_output(Self::TORQUE, torque);
        io.set_output(Self::SLIP, machine.weight(|x| x, speed).1);
        io.set_output(Self::ELECTRIC_POWER, electric);
        io.set_output(Self::MECHANICAL_POWER, mechanical);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    fn inputs<M: Physics>(bench: &mut Bench<M>, values: &[f64]) {
        for (i, &value) in values.iter().enumerate() {
            bench.input(i, value);
        }
    }

    #[test]
    fn a_motor_runs_up_to_the_speed_where_torque_balances_friction() {
        let component = Motor {
            constant: 0.13,
            resistance: 0.04,
            dry_torque: 0.1,
            full_friction_speed: 1.0,
            damping: 0.01,
            inertia: 0.01,
        };
        let mut bench = Bench::new(&component, 1e-3);
        inputs(&mut bench, &[0.13, 0.04, 0.1, 1.0, 0.01, 0.01]);
        bench.start().line(0, 12.0, 0.0).line(1, 0.0, 0.0).line(2, 0.5, 0.0);
        for _ in 0..5000 {
            bench.step();
        }
        let speed = (12.0 * 0.13 / 0.04 - 0.6) / (0.13 * 0.13 / 0.04 + 0.01);
        assert!((bench.flow(2) - speed).abs() < 1e-9);
        // Power taken in is lost in the armature, in friction and at the shaft.
        let current = bench.flow(1);
        let lost = 0.04 * current * current + 0.01 * speed * speed + 0.1 * speed;
        assert!((bench.output(1) - bench.output(2) - lost).abs() < 1e-6);
        assert!((bench.output(0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_gear_divides_speed_and_multiplies_torque() {
        let component = MotorGear {
            gear_ratio: 10.0,
            constant: 0.13,
            resistance: 0.04,
            dry_torque: 0.0,
            full_friction_speed: 1.0,
            damping: 0.01,
            inertia: 0.01,
            load_damping: 0.5,
            load_inertia: 1.0,
            load_friction: 0.1,
        };
        let mut bench = Bench::new(&component, 1e-3);
        inputs(&mut bench, &[10.0, 0.13, 0.04, 0.0, 1.0, 0.01, 0.01, 0.5, 1.0, 0.1]);
        bench.start().line(0, 12.0, 0.0).line(1, 0.0, 0.0).line(2, 5.0, 0.0);
        for _ in 0..5000 {
            bench.step();
        }
        let speed = (12.0 * 1.3 / 0.04 - 5.5) / (1.3 * 1.3 / 0.04 + 0.5 + 1.0);
        assert!((bench.flow(2) - speed).abs() < 1e-9);
        assert!((bench.output(0) - 10.0 * speed).abs() < 1e-8);
    }

    #[test]
    fn an_asynchronous_machine_takes_in_what_it_gives_and_loses() {
        let component = AcMachine {
            frequency: 50.0,
            constant: 0.13,
            resistance: 0.04,
            dry_torque: 0.0,
            full_friction_speed: 1.0,
            pole_pairs: 6.0,
            pull_out_slip: 0.05,
            damping: 0.0012,
            inertia: 0.1,
        };
        let mut bench = Bench::new(&component, 1e-3);
        inputs(&mut bench, &[50.0, 0.13, 0.04, 0.0, 1.0, 6.0, 0.05, 0.0012, 0.1]);
        bench.start().line(0, 12.0, 0.0).line(1, 0.0, 0.0).line(2, 1.0, 0.0);
        for _ in 0..20000 {
            bench.step();
        }
        let (speed, current) = (bench.flow(2), bench.flow(1));
        let slip = 1.0 - 6.0 * speed / 50.0;
        assert!((bench.output(1) - slip).abs() < 1e-12);
        let constant = 0.13 * 2.0 / (slip / 0.05 + 0.05 / slip);
        assert!((constant * current - 1.0 - 0.0012 * speed).abs() < 1e-9, "torques balance");
        assert!((current - (12.0 - constant * speed) / 0.04).abs() < 1e-7, "voltages balance");
    }

    fn screw_values() -> [f64; 15] {
        [1.0, 0.13, 0.04, 0.0, 1.0, 0.0012, 1.0, 0.0, 0.0, 0.0, 1.0, 0.02, -0.5, 0.5, 0.08]
    }

    fn screw() -> Bench<MotorGearScrewLink> {
        let [g, ke, ra, tm0, wc, bm, jm, myg, mys, bl, jl, pitch, low, high, la] = screw_values();
        let component = MotorGearScrewLink {
            gear_ratio: g,
            constant: ke,
            resistance: ra,
            dry_torque: tm0,
            full_friction_speed: wc,
            damping: bm,
            inertia: jm,
            gear_friction: myg,
            screw_friction: mys,
            load_damping: bl,
            load_inertia: jl,
            pitch,
            rear_stop: low,
            front_stop: high,
            arm: la,
        };
        let mut bench = Bench::new(&component, 1e-3);
        inputs(&mut bench, &screw_values());
        bench
    }

    #[test]
    fn a_screw_link_reaches_its_steady_speed_and_then_its_stop() {
        let mut bench = screw();
        bench.start().line(0, 1.0, 0.0).line(1, 0.0, 0.0).line(2, 0.0, 0.0);
        for _ in 0..1000 {
            bench.step();
        }
        // Steady: Kₑ·i = (λ² + B_m)·ω with i = (u − λ·Kₑ·ω)/R_a and λ = 4.
        let speed = 0.13 / 0.04 / (16.0 + 0.0012 + 0.13 * 0.52 / 0.04);
        assert!((bench.flow(2) - speed).abs() < 1e-3 * speed, "{} {speed}", bench.flow(2));
        let drift = bench.flow(2) * 1e-3;
        let before = bench.state.bonds[2].displacement;
        bench.step();
        assert!((bench.state.bonds[2].displacement - before - drift).abs() < 1e-3 * drift);
        for _ in 0..4000 {
            bench.step();
        }
        assert_eq!(bench.state.bonds[2].displacement, 0.5);
        assert!(bench.flow(2).abs() < 1e-8);
    }
}
