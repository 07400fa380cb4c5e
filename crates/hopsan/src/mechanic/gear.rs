//! Gears, clutches and screws with an inertia.

use super::body::move_port;
use crate::blocks::{Integrator, Iterations, SecondOrder, limit, limit_slope, weights};
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::TAU;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Gear>(),
    ComponentType::of::<GearClutch>(),
    ComponentType::of::<BallScrew>(),
    ComponentType::of::<RackAndPinion>(),
];

/// What `Gear` and `GearClutch` remember, in this order.
const START_INERTIA: usize = 0;
const START_FRICTION: usize = 1;
const SPEED_PART: usize = 2;
const ANGLE_2_PART: usize = 3;
const ANGLE_1_PART: usize = 4;

/// T/(2·J + B·T), with inertia and friction as they were at the start.
#[inline(always)]
fn gain<T: Num>(io: &Step<'_, T>) -> T {
    let (j, b) = (io.memory(START_INERTIA), io.memory(START_FRICTION));
    (j * (2.0 / io.dt) + b).recip()
}

/// Remembers the old parts of speed and angles; `torque` is what accelerates shaft 2.
#[inline(always)]
fn remember<T: Num>(io: &mut Step<'_, T>, ratio: T, torque: T, [angle_1, angle_2]: [T; 2], w: T) {
    let (j, b, h) = (io.memory(START_INERTIA), io.memory(START_FRICTION), 0.5 * io.dt);
    let speed = -(gain(io) * (torque + (j * (2.0 / io.dt) - b) * w));
    io.set_memory(SPEED_PART, speed);
    io.set_memory(ANGLE_2_PART, -angle_2 - w * h);
    io.set_memory(ANGLE_1_PART, ratio * w * h - angle_1);
}

/// Angles of both shafts when shaft 2 turns at w.
#[inline(always)]
fn angles<T: Num>(io: &Step<'_, T>, ratio: T, w: T) -> [T; 2] {
    let h = 0.5 * io.dt;
    [-(ratio * w * h) - io.memory(ANGLE_1_PART), w * h - io.memory(ANGLE_2_PART)]
}

/// Takes over inertia and friction, and remembers the start values of the model; `rub` is the torque
/// that the friction of the teeth takes then.
#[wide]
fn start<T: Num>(io: &mut Step<'_, T>, inputs: [usize; 3], sign: f64, rub: T) {
    let [ratio, inertia, friction] = inputs.map(|input| io.input(input));
    io.set_memory(START_INERTIA, inertia);
    io.set_memory(START_FRICTION, friction);
    let torque = ratio * io.effort(0) + io.effort(1) * sign - rub;
    let (angles, w) = ([io.displacement(0), io.displacement(1)], io.flow(1));
    remember(io, ratio, torque, angles, w);
}

/// Tells both shafts the equivalent inertia.
#[inline(always)]
fn tell_inertia<T: Num>(io: &mut Step<'_, T>, ratio: T) {
    let inertia = io.memory(START_INERTIA);
    io.bond_mut(0).dry = inertia / (ratio * ratio);
    io.bond_mut(1).dry = inertia;
}

/// Gear with an inertia at shaft 2.
///
/// J·dω₂/dt = g·T₁ − T₂ − B·ω₂ by the bilinear rule;  ω₁ = −g·ω₂
///
/// Inertia and viscous friction are taken over at the start. The friction of the teeth, µ·T₁·clip((ω₁ +
/// g·ω₂)/ω_c, ±1), acts on a difference of speeds that is 0, so it does nothing once the step is solved.
/// Hopsan's iterations see it with ω₁ of the iteration before: its slope holds them back.
#[component("hopsan.MechanicGear", q, constants = Iterations)]
pub struct Gear {
    /// driving shaft
    #[port(name = "Pmr1")]
    p1: Rotational,
    /// driven shaft
    #[port(name = "Pmr2", side = "b")]
    p2: Rotational,
    /// g — gear ratio ω₁/ω₂ [–]
    #[input(name = "gearRatio", default = 1)]
    pub ratio: f64,
    /// J — moment of inertia at shaft 2 [kg*m^2]
    #[input(name = "Jg", default = "1 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction at shaft 2 [N*m*s/rad]
    #[input(name = "Bg", default = "0 N*m*s/rad")]
    pub friction: f64,
    /// µ — friction of the teeth, without effect on the solution [–]
    #[input(name = "myfric", default = 0.01)]
    pub teeth_friction: f64,
    /// ω_c — speed at which that friction is full, without effect on the solution [rad/s]
    #[input(name = "wc", default = "1 rad/s")]
    pub full_friction_speed: f64,
    /// – — Newton iterations per step as Hopsan does them; 0 solves to convergence [–]
    #[parameter(default = 0)]
    pub iterations: usize,
    /// – — moment of inertia at the start [kg*m^2]
    #[memory]
    start_inertia: Memory,
    /// – — viscous friction at the start [N*m*s/rad]
    #[memory]
    start_friction: Memory,
    /// – — old part of the speed [rad/s]
    #[memory]
    speed_part: Memory,
    /// – — old part of the angle of shaft 2 [rad]
    #[memory]
    angle_2_part: Memory,
    /// – — old part of the angle of shaft 1 [rad]
    #[memory]
    angle_1_part: Memory,
}

impl Physics for Gear {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Iterations<f64>, Refusal> {
        Ok(Iterations::new(self.iterations))
    }

    fn start<T: Num>(k: &Iterations<T>, io: &mut Step<'_, T>) {
        let rub = if k.count == 0 {
            T::zero()
        } else {
            let slip = io.flow(Self::P1) + io.input(Self::RATIO) * io.flow(Self::P2);
            let rub = limit(slip / io.input(Self::FULL_FRICTION_SPEED), -T::one(), T::one());
            io.input(Self::TEETH_FRICTION) * io.effort(Self::P1) * rub
        };
        start(io, [Self::RATIO, Self::INERTIA, Self::FRICTION], -1.0, rub);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Iterations<T>, io: &mut Step<'_, T>) {
        let ratio = io.input(Self::RATIO);
        let w = if k.count == 0 { Self::solved(io) } else { Self::iterated(io, k.count) };
        let angles = angles(io, ratio, w);
        move_port(io, Self::P1, -(ratio * w), angles[0]);
        move_port(io, Self::P2, w, angles[1]);
        let torque = ratio * io.effort(Self::P1) - io.effort(Self::P2);
        remember(io, ratio, torque, angles, w);
        tell_inertia(io, ratio);
    }
}

impl Gear {
    /// Speed of shaft 2.
    #[inline(always)]
    fn solved<T: Num>(io: &Step<'_, T>) -> T {
        let (ratio, gain) = (io.input(Self::RATIO), gain(io));
        let drive = ratio * io.wave(Self::P1) - io.wave(Self::P2);
        let impedance = ratio * ratio * io.impedance(Self::P1) + io.impedance(Self::P2);
        (gain * drive - io.memory(Self::SPEED_PART)) / (T::one() + gain * impedance)
    }

    /// The same in Hopsan's iterations from the last step: T₁, T₂ and the angles are linear and follow
    /// at once, ω₁ stays behind by an iteration.
    #[wide]
    #[inline(always)]
    fn iterated<T: Num>(io: &Step<'_, T>, count: usize) -> T {
        let (ratio, gain, one) = (io.input(Self::RATIO), gain(io), T::one());
        let [c1, c2] = [Self::P1, Self::P2].map(|port| io.wave(port));
        let [z1, z2] = [Self::P1, Self::P2].map(|port| io.impedance(port));
        let friction = io.input(Self::TEETH_FRICTION);
        let full = io.input(Self::FULL_FRICTION_SPEED);
        let (mut w1, mut w, mut torque) =
            (io.flow(Self::P1), io.flow(Self::P2), io.effort(Self::P1));
        for weight in weights(count) {
            let slip = (w1 + ratio * w) / full;
            let passed = ratio - friction * limit(slip, -one, one);
            let held = friction * torque * limit_slope(slip, -one, one) * ratio / full;
            let drive = passed * c1 - c2 + held * w;
            let impedance = passed * ratio * z1 + z2 + held;
            let new = (gain * drive - io.memory(Self::SPEED_PART)) / (one + gain * impedance);
            w += (new - w) * weight;
            w1 = -(ratio * w);
            torque = c1 + z1 * w1;
        }
        w
    }
}

/// Gear with an inertia at shaft 2 and a clutch at shaft 1, which passes on no more than T_max.
///
/// J·dω₂/dt = g·T₁ + T₂ − B·ω₂ by the bilinear rule;  T₁ = clip(c₁ − g·Z₁·ω₂, ±T_max),
/// ω₁ = (T₁ − c₁)/Z₁;  T₂ = c₂ + Z₂·ω₂
///
/// Inertia and viscous friction are taken over at the start. The angle of shaft 1 is that of the
/// gear. The friction of the teeth is not used.
#[component("hopsan.MechanicGearClutch", q, constants = Iterations)]
pub struct GearClutch {
    /// driving shaft
    #[port(name = "Pmr1")]
    p1: Rotational,
    /// driven shaft
    #[port(name = "Pmr2", side = "b")]
    p2: Rotational,
    /// g — gear ratio [–]
    #[input(name = "gearRatio", default = 1)]
    pub ratio: f64,
    /// T_max — largest torque of the clutch [N*m]
    #[input(name = "tmax", default = "500 N*m")]
    pub most_torque: f64,
    /// J — moment of inertia at shaft 2 [kg*m^2]
    #[input(name = "Jg", default = "1 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction at shaft 2 [N*m*s/rad]
    #[input(name = "Bg", default = "0 N*m*s/rad")]
    pub friction: f64,
    /// µ — not used [–]
    #[input(name = "myfric", default = 0.01)]
    pub unused_friction: f64,
    /// ω_c — not used [rad/s]
    #[input(name = "wc", default = "1 rad/s")]
    pub unused_speed: f64,
    /// – — Newton iterations per step as Hopsan does them; 0 solves to convergence [–]
    #[parameter(default = 0)]
    pub iterations: usize,
    /// – — moment of inertia at the start [kg*m^2]
    #[memory]
    start_inertia: Memory,
    /// – — viscous friction at the start [N*m*s/rad]
    #[memory]
    start_friction: Memory,
    /// – — old part of the speed [rad/s]
    #[memory]
    speed_part: Memory,
    /// – — old part of the angle of shaft 2 [rad]
    #[memory]
    angle_2_part: Memory,
    /// – — old part of the angle of shaft 1 [rad]
    #[memory]
    angle_1_part: Memory,
}

impl Physics for GearClutch {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Iterations<f64>, Refusal> {
        Ok(Iterations::new(self.iterations))
    }

    fn start<T: Num>(_: &Iterations<T>, io: &mut Step<'_, T>) {
        start(io, [Self::RATIO, Self::INERTIA, Self::FRICTION], 1.0, T::zero());
    }

    #[inline(always)]
    fn step<T: Num>(k: &Iterations<T>, io: &mut Step<'_, T>) {
        let ratio = io.input(Self::RATIO);
        let (w, held) = if k.count == 0 { Self::solved(io) } else { Self::iterated(io, k.count) };
        let (c1, z1) = (io.wave(Self::P1), io.impedance(Self::P1));
        let angles = angles(io, ratio, w);
        io.set_motion(Self::P1, (held - c1) / z1, angles[0], held);
        move_port(io, Self::P2, w, angles[1]);
        let torque = ratio * held + io.effort(Self::P2);
        remember(io, ratio, torque, angles, w);
        tell_inertia(io, ratio);
    }
}

impl GearClutch {
    /// Speed of shaft 2 and torque of the clutch.
    #[inline(always)]
    fn solved<T: Num>(io: &Step<'_, T>) -> (T, T) {
        let (ratio, gain) = (io.input(Self::RATIO), gain(io));
        let (c1, z1) = (io.wave(Self::P1), io.impedance(Self::P1));
        let (c2, z2) = (io.wave(Self::P2), io.impedance(Self::P2));
        let old = io.memory(Self::SPEED_PART);
        let most = io.input(Self::MOST_TORQUE);
        let sticking =
            (gain * (ratio * c1 + c2) - old) / (T::one() + gain * (ratio * ratio * z1 - z2));
        let torque = c1 - ratio * z1 * sticking;
        let held = limit(torque, -most, most);
        let slips = held.lt(torque) | torque.lt(held);
        let w = if slips.any() {
            let slipping = (gain * (ratio * held + c2) - old) / (T::one() - gain * z2);
            T::select(slips, slipping, sticking)
        } else {
            sticking
        };
        (w, held)
    }

    /// The same in Hopsan's iterations from the last step: ω₁, T₂ and the angles are linear and follow
    /// at once, T₁ is linear only between the limits.
    #[wide]
    #[inline(always)]
    fn iterated<T: Num>(io: &Step<'_, T>, count: usize) -> (T, T) {
        let (ratio, gain) = (io.input(Self::RATIO), gain(io));
        let [c1, c2] = [Self::P1, Self::P2].map(|port| io.wave(port));
        let [z1, z2] = [Self::P1, Self::P2].map(|port| io.impedance(port));
        let (old, most) = (io.memory(Self::SPEED_PART), io.input(Self::MOST_TORQUE));
        let (mut w, mut held) = (io.flow(Self::P2), io.effort(Self::P1));
        for weight in weights(count) {
            let torque = c1 - ratio * z1 * w;
            let falls = limit_slope(torque, -most, most) * ratio * z1;
            let torque = limit(torque, -most, most);
            let drive = gain * (ratio * (torque + falls * w) + c2) - old;
            let new = drive / (T::one() + gain * (ratio * falls - z2));
            let new_held = torque - falls * (new - w);
            w += (new - w) * weight;
            held += (new_held - held) * weight;
        }
        (w, held)
    }
}

/// Spring to the ground at the shaft of a screw or pinion.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Grounded<T> {
    stiffness: T,
}

/// What `BallScrew` and `RackAndPinion` remember: the speed's recursion, its integral, and the
/// inertia at the start.
const SHAFT_SPEED: SecondOrder = SecondOrder(0);
const SHAFT_ANGLE: Integrator = Integrator(SecondOrder::MEMORY);
const SHAFT_INERTIA: usize = SecondOrder::MEMORY + Integrator::MEMORY;

fn start_shaft<T: Num>(io: &mut Step<'_, T>, inertia: T, ratio: T) {
    io.set_memory(SHAFT_INERTIA, inertia);
    SHAFT_SPEED.start(io, T::zero(), T::zero(), T::zero());
    SHAFT_ANGLE.start(io, T::zero(), T::zero());
    io.bond_mut(0).dry = inertia * ratio;
}

/// Turns the shaft at port 1 and pushes what port 0 moves. `ratio` turns the wave at port 0 into a
/// torque, `travel` is its way per radian.
#[inline(always)]
fn step_shaft<T: Num>(
    k: &Grounded<T>,
    io: &mut Step<'_, T>,
    (ratio, travel): (T, T),
    friction: T,
    inertia: T,
) {
    let zero = T::zero();
    let (wave, impedance) = (io.wave(0) * ratio, io.impedance(0) * ratio * ratio);
    let denominator =
        [k.stiffness, friction + impedance + io.impedance(1), io.memory(SHAFT_INERTIA)];
    let drive = wave - io.wave(1);
    let w = SHAFT_SPEED.free(io, [zero, T::one(), zero], denominator, drive);
    let angle = SHAFT_ANGLE.step(io, w);
    let v = -(w * travel);
    io.set_motion(0, v, -(angle * travel), (wave + impedance * v) / ratio);
    move_port(io, 1, w, angle);
    io.bond_mut(0).dry = inertia * ratio;
}

/// Ball screw with an inertia at its shaft and an efficiency each way.
///
/// ω = s·(g·c₁ − c₂)/(J·s² + (B + g²·Z₁ + Z₂)·s + k);  v = −ω·L/2π;  g = L/(2π·η₁) when the shaft
/// drives, L·η₂/2π when the nut does (its torque of the last step is larger)
///
/// Starts from rest at 0. The inertia in the recursion is that at the start.
#[component("hopsan.MechanicBallScrew", q, constants = Grounded)]
pub struct BallScrew {
    /// nut
    #[port(name = "P1")]
    p1: Translational,
    /// shaft
    #[port(name = "P2")]
    p2: Rotational,
    /// L — lead, way per revolution [m]
    #[input(name = "L", default = "0.001 m")]
    pub lead: f64,
    /// η₁ — efficiency when the shaft drives [–]
    #[input(name = "ny", default = 0.9)]
    pub forward_efficiency: f64,
    /// η₂ — efficiency when the nut drives [–]
    #[input(name = "ny2", default = 0.8)]
    pub backward_efficiency: f64,
    /// J — moment of inertia [kg*m^2]
    #[input(name = "J", default = "1 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "B", default = "10 N*m*s/rad")]
    pub friction: f64,
    /// k — stiffness of a spring to the ground [N*m/rad]
    #[parameter(name = "k", default = "0 N*m/rad")]
    pub stiffness: f64,
    /// – — torque one step ago [N*m]
    #[memory]
    torque_1: Memory,
    /// – — torque two steps ago [N*m]
    #[memory]
    torque_2: Memory,
    /// – — angular velocity one step ago [rad/s]
    #[memory]
    speed_1: Memory,
    /// – — angular velocity two steps ago [rad/s]
    #[memory]
    speed_2: Memory,
    /// – — angular velocity one step ago, for the angle [rad/s]
    #[memory]
    turned_speed_1: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
    /// – — moment of inertia at the start [kg*m^2]
    #[memory]
    start_inertia: Memory,
}

impl Physics for BallScrew {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Grounded<f64>, Refusal> {
        Ok(Grounded { stiffness: self.stiffness })
    }

    fn start<T: Num>(_: &Grounded<T>, io: &mut Step<'_, T>) {
        let ratio = io.input(Self::LEAD) / (io.input(Self::FORWARD_EFFICIENCY) * TAU);
        let inertia = io.input(Self::INERTIA);
        start_shaft(io, inertia, ratio);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Grounded<T>, io: &mut Step<'_, T>) {
        let travel = io.input(Self::LEAD) / TAU;
        let forward = travel / io.input(Self::FORWARD_EFFICIENCY);
        let impedance = io.impedance(Self::P1) * forward * forward;
        let nut = io.wave(Self::P1) * forward + io.flow(Self::P1) / travel * impedance;
        let shaft = io.wave(Self::P2) + io.flow(Self::P2) * io.impedance(Self::P2);
        let backward = travel * io.input(Self::BACKWARD_EFFICIENCY);
        let ratio = T::select(nut.gt(shaft), backward, forward);
        let (friction, inertia) = (io.input(Self::FRICTION), io.input(Self::INERTIA));
        step_shaft(k, io, (ratio, travel), friction, inertia);
    }
}

/// Rack and pinion with an inertia at the pinion.
///
/// ω = s·(g·c₁ − c₂)/(J·s² + (B + g²·Z₁ + Z₂)·s + k);  v = −g·ω
///
/// The force is (g·c₁ + g²·Z₁·v)/g. Starts from rest at 0. The inertia in the recursion is that at
/// the start.
#[component("hopsan.MechanicRackAndPinion", q, constants = Grounded)]
pub struct RackAndPinion {
    /// rack
    #[port(name = "P1")]
    p1: Translational,
    /// pinion
    #[port(name = "P2")]
    p2: Rotational,
    /// g — way of the rack per radian [m]
    #[input(name = "omega", default = "1 m")]
    pub ratio: f64,
    /// J — moment of inertia [kg*m^2]
    #[input(name = "J", default = "1 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "B", default = "10 N*m*s/rad")]
    pub friction: f64,
    /// k — stiffness of a spring to the ground [N*m/rad]
    #[parameter(name = "k", default = "0 N*m/rad")]
    pub stiffness: f64,
    /// – — torque one step ago [N*m]
    #[memory]
    torque_1: Memory,
    /// – — torque two steps ago [N*m]
    #[memory]
    torque_2: Memory,
    /// – — angular velocity one step ago [rad/s]
    #[memory]
    speed_1: Memory,
    /// – — angular velocity two steps ago [rad/s]
    #[memory]
    speed_2: Memory,
    /// – — angular velocity one step ago, for the angle [rad/s]
    #[memory]
    turned_speed_1: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
    /// – — moment of inertia at the start [kg*m^2]
    #[memory]
    start_inertia: Memory,
}

impl Physics for RackAndPinion {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Grounded<f64>, Refusal> {
        Ok(Grounded { stiffness: self.stiffness })
    }

    fn start<T: Num>(_: &Grounded<T>, io: &mut Step<'_, T>) {
        let (inertia, ratio) = (io.input(Self::INERTIA), io.input(Self::RATIO));
        start_shaft(io, inertia, ratio);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Grounded<T>, io: &mut Step<'_, T>) {
        let ratio = io.input(Self::RATIO);
        let (friction, inertia) = (io.input(Self::FRICTION), io.input(Self::INERTIA));
        step_shaft(k, io, (ratio, ratio), friction, inertia);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const DT: f64 = 1e-3;

    fn mounted<M: Physics>(gear: &M, inputs: &[f64]) -> Bench<M> {
        let mut bench = Bench::new(gear, DT);
        for (i, value) in inputs.iter().enumerate() {
            bench.input(i, *value);
        }
        bench
    }

    fn gear(iterations: usize) -> Gear {
        Gear {
            ratio: 0.0,
            inertia: 0.0,
            friction: 0.0,
            teeth_friction: 0.0,
            full_friction_speed: 0.0,
            iterations,
        }
    }

    fn clutch(iterations: usize) -> GearClutch {
        GearClutch {
            ratio: 0.0,
            most_torque: 0.0,
            inertia: 0.0,
            friction: 0.0,
            unused_friction: 0.0,
            unused_speed: 0.0,
            iterations,
        }
    }

    #[test]
    fn a_gear_obeys_newton_by_the_bilinear_rule() {
        let (g, j, b) = (3.0, 2.0, 0.5);
        let mut bench = mounted(&gear(0), &[g, j, b, 0.01, 1.0]);
        bench.start().line(0, 40.0, 6.0).line(1, 15.0, 8.0).step();
        bench.input(1, 99.0);
        for _ in 0..50 {
            let (w_1, angle_1) = (bench.flow(1), bench.state.bonds[1].displacement);
            let net_1 = g * bench.effort(0) - bench.effort(1) - b * w_1;
            bench.step();
            let w = bench.flow(1);
            let net = g * bench.effort(0) - bench.effort(1) - b * w;
            assert!((j * (w - w_1) - 0.5 * DT * (net + net_1)).abs() < 1e-12);
            let turned = bench.state.bonds[1].displacement - angle_1;
            assert!((turned - 0.5 * DT * (w + w_1)).abs() < 1e-15);
            let first = bench.state.bonds[0];
            assert!((first.displacement + g * bench.state.bonds[1].displacement).abs() < 1e-12);
            assert!((first.flow + g * w).abs() < 1e-12);
            assert_eq!((first.dry, bench.state.bonds[1].dry), (j / 9.0, j));
        }
    }

    #[test]
    fn a_clutch_slips_at_its_largest_torque_and_sticks_below() {
        let (g, j) = (2.0, 5.0);
        let mut bench = mounted(&clutch(0), &[g, 10.0, j, 0.0, 0.0, 1.0]);
        bench.start().line(0, 100.0, 4.0).line(1, 3.0, 0.5).step();
        for _ in 0..20 {
            let (w_1, net_1) = (bench.flow(1), g * bench.effort(0) + bench.effort(1));
            bench.step();
            let (w, net) = (bench.flow(1), g * bench.effort(0) + bench.effort(1));
            assert!((j * (w - w_1) - 0.5 * DT * (net + net_1)).abs() < 1e-12);
            assert_eq!(bench.effort(0), 10.0);
            assert!((bench.effort(0) - 100.0 - 4.0 * bench.flow(0)).abs() < 1e-12);
            assert!(bench.flow(0) < -g * w - 1.0, "the driving shaft runs ahead");
        }
        bench.line(0, 5.0, 4.0).step();
        assert!((bench.flow(0) + g * bench.flow(1)).abs() < 1e-12, "it sticks");
    }

    #[test]
    fn hopsans_iterations_of_a_gear_end_where_its_speed_stays() {
        let run = |iterations, friction, steps| {
            let mut bench = mounted(&gear(iterations), &[3.0, 0.2, 0.5, friction, 1.0]);
            bench.start().line(0, 40.0, 6.0).line(1, 15.0, 8.0);
            for _ in 0..steps {
                bench.step();
            }
            bench.flow(1)
        };
        // linear without friction of the teeth: the first iteration is exact
        assert!((run(2, 0.0, 5) / run(0, 0.0, 5) - 1.0).abs() < 1e-14);
        assert!((run(2, 0.01, 5) / run(0, 0.01, 5) - 1.0).abs() > 1e-6);
        assert!((run(2, 0.01, 500) / run(0, 0.01, 500) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn hopsans_iterations_of_a_clutch_are_exact_while_it_sticks_or_slips() {
        let mut benches =
            [0, 2].map(|count| mounted(&clutch(count), &[2.0, 10.0, 5.0, 0.0, 0.0, 1.0]));
        for (wave, steps) in [(5.0, 20), (100.0, 20)] {
            for bench in &mut benches {
                if wave < 10.0 {
                    bench.start();
                }
                bench.line(0, wave, 4.0).line(1, 3.0, 0.5);
                for _ in 0..steps {
                    bench.step();
                }
            }
            let [solved, iterated] = &benches;
            for port in [0, 1] {
                assert!((solved.flow(port) - iterated.flow(port)).abs() < 1e-9);
                assert!((solved.effort(port) - iterated.effort(port)).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn a_ball_screw_has_its_efficiency_each_way() {
        let screw = BallScrew {
            lead: 0.0,
            forward_efficiency: 0.0,
            backward_efficiency: 0.0,
            inertia: 0.0,
            friction: 0.0,
            stiffness: 0.0,
        };
        let lead = 0.02;
        for (load, driven) in [(100.0, true), (10_000.0, false)] {
            let mut bench = mounted(&screw, &[lead, 0.9, 0.8, 0.1, 0.0]);
            bench.start().line(0, load, 0.0).line(1, 1.0, 0.5);
            for _ in 0..5000 {
                bench.step();
            }
            let [nut, shaft] = [0, 1].map(|port| bench.effort(port) * bench.flow(port));
            let efficiency = if driven { -nut / shaft } else { -shaft / nut };
            let expected = if driven { 0.9 } else { 0.8 };
            assert!((efficiency - expected).abs() < 1e-9, "{efficiency}");
            let turned = bench.state.bonds[1].displacement;
            assert!((bench.state.bonds[0].displacement + turned * lead / TAU).abs() < 1e-12);
        }
    }

    #[test]
    fn a_rack_moves_by_the_angle_of_its_pinion() {
        let rack = RackAndPinion { ratio: 0.0, inertia: 0.0, friction: 0.0, stiffness: 0.0 };
        let mut bench = mounted(&rack, &[0.1, 2.0, 0.0]);
        bench.start().line(0, 50.0, 0.0);
        for n in 1..100 {
            bench.step();
            // J·ω' = 0.1·50, of which the first step sees half
            assert!((bench.flow(1) - 2.5 * (n as f64 - 0.5) * DT).abs() < 1e-12);
        }
        assert_eq!(bench.state.bonds[0].displacement, -0.1 * bench.state.bonds[1].displacement);
        assert_eq!(bench.state.bonds[0].dry, 0.2);
    }
}
