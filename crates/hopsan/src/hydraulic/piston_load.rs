//! Pistons and motors with the load they move, and a piston between two volumes.

use crate::blocks::{End, limit, limit_slope, root};
use fluxline_core::component;
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::{Dual, Mask, Num};
use fluxline_core::wide;
use std::f64::consts::TAU;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<PistonMass>(),
    ComponentType::of::<PistonSpringMass>(),
    ComponentType::of::<MotorInertia>(),
    ComponentType::of::<Piston>(),
];

/// Speed that counts as small in the search for it, m/s or rad/s.
const SMALL_SPEED: f64 = 1e-4;

/// Two chambers that a moving part displaces oil from, with leakage between them.
#[derive(Clone, Copy)]
struct Chambers<T> {
    ends: [End<T>; 2],
    /// Oil displaced out of the first and into the second per travel.
    displaced: [T; 2],
    leakage: T,
    /// Pressures are not below 0.
    clips: bool,
}

impl<T: Num> Chambers<T> {
    /// Pressures for a speed: p₁ = c₁ − Z₁·(A₁·v + C·Δp), p₂ = c₂ + Z₂·(A₂·v + C·Δp).
    #[wide]
    #[inline(always)]
    fn pressures(&self, v: Dual<T>) -> [Dual<T>; 2] {
        let c = Dual::constant;
        let [z1, z2] = self.ends.map(|end| end.impedance);
        // Without leakage.
        let p1 = c(self.ends[0].wave) - c(z1 * self.displaced[0]) * v;
        let p2 = c(self.ends[1].wave) + c(z2 * self.displaced[1]) * v;
        let drop = (p1 - p2) * c((T::one() + self.leakage * (z1 + z2)).recip());
        let wet = [p1 - drop * c(z1 * self.leakage), p2 + drop * c(z2 * self.leakage)];
        if !self.clips {
            return wet;
        }
        let zero = Dual::zero();
        let dry = wet.map(|p| p.lt(zero));
        if !(dry[0] | dry[1]).any() {
            return wet;
        }
        let alone1 = (p1 * c((T::one() + self.leakage * z1).recip())).max(zero);
        let alone2 = (p2 * c((T::one() + self.leakage * z2).recip())).max(zero);
        [
            Dual::select(dry[0], zero, Dual::select(dry[1], alone1, wet[0])),
            Dual::select(dry[1], zero, Dual::select(dry[0], alone2, wet[1])),
        ]
    }

    /// Writes flows and pressures at ports 0 and 1.
    #[wide]
    #[inline(always)]
    fn write(&self, io: &mut Step<'_, T>, v: T) {
        let p = self.pressures(Dual::constant(v)).map(|p| p.value);
        let leak = self.leakage * (p[0] - p[1]);
        let flows = [-(self.displaced[0] * v) - leak, self.displaced[1] * v + leak];
        for port in [0, 1] {
            let bond = io.bond_mut(port);
            bond.flow = flows[port];
            bond.effort = p[port];
        }
    }
}

/// What the past decides of a position and a speed, each negated: the position takes a part of the
/// last step and a part of the one before. Four remembered values from this index on.
#[derive(Clone, Copy)]
pub(crate) struct Past(pub usize);

impl Past {
    /// Remembers the parts of this step.
    #[inline(always)]
    fn push<T: Num>(self, io: &mut Step<'_, T>, last: T, before: T, speed: T) {
        io.set_memory(self.0 + 1, io.memory(self.0 + 2));
        io.set_memory(self.0, last);
        io.set_memory(self.0 + 2, before);
        io.set_memory(self.0 + 3, speed);
    }
    /// Remembers the parts of the start, as if it had been so for ever.
    fn start<T: Num>(self, io: &mut Step<'_, T>, last: T, before: T, speed: T) {
        self.push(io, last, before, speed);
        io.set_memory(self.0 + 1, before);
    }
    #[inline(always)]
    fn position<T: Num>(self, io: &Step<'_, T>) -> T {
        io.memory(self.0) + io.memory(self.0 + 1)
    }
    #[inline(always)]
    fn speed<T: Num>(self, io: &Step<'_, T>) -> T {
        io.memory(self.0 + 3)
    }
}

/// A shaft with inertia and viscous friction: J·ω̇ = −M − B·ω, θ and ω as recursions of their own.
#[derive(Clone, Copy)]
pub(crate) struct Shaft<T> {
    pub past: Past,
    pub inertia: T,
    pub friction: T,
}

impl<T: Num> Shaft<T> {
    #[wide]
    fn parts(&self, dt: f64, moment: T, angle: T, speed: T) -> [T; 3] {
        let (j, b) = (self.inertia, self.friction * dt);
        let divisor = j * 2.0 + b;
        [
            (moment * (dt * dt) - j * angle * 4.0) / divisor,
            (moment * (0.5 * dt * dt) + (j * 2.0 - b) * angle) / divisor,
            (moment * dt - (j * 2.0 - b) * speed) / divisor,
        ]
    }
    /// Starts with the moment against it, its angle and its speed.
    pub fn start(&self, io: &mut Step<'_, T>, moment: T, angle: T, speed: T) {
        let [last, before, slow] = self.parts(io.dt, moment, angle, speed);
        self.past.start(io, last, before, slow);
    }
    /// Speed = given − gain·moment.
    #[inline(always)]
    pub fn speed(&self, io: &Step<'_, T>) -> (T, T) {
        let gain = (self.inertia * 2.0 + self.friction * io.dt).recip() * io.dt;
        (-self.past.speed(io), gain)
    }
    /// Takes the step with the moment and the speed found; gives the angle.
    #[inline(always)]
    pub fn finish(&self, io: &mut Step<'_, T>, moment: T, speed: T) -> T {
        let divisor = self.inertia * 4.0 + self.friction * (2.0 * io.dt);
        let angle = -(moment * (io.dt * io.dt)) / divisor - self.past.position(io);
        let [last, before, slow] = self.parts(io.dt, moment, angle, speed);
        self.past.push(io, last, before, slow);
        angle
    }
}

/// A piston with its load.
struct Load<T> {
    areas: [T; 2],
    leakage: T,
    viscous: T,
    mass: T,
    stiffness: T,
    /// Largest dry friction and its steepness around rest.
    dry: [T; 2],
    stops: [T; 2],
    past: Past,
    /// Port of the load.
    port: usize,
    /// Pressures are not below 0. Otherwise the impedance of the load counts as viscous friction.
    clips: bool,
}

impl<T: Num> Load<T> {
    #[inline(always)]
    fn friction(&self, dt: f64, v: Dual<T>) -> Dual<T> {
        let c = Dual::constant;
        limit(c(self.dry[1] * self.mass / dt) * v, c(-self.dry[0]), c(self.dry[0]))
    }

    /// Divisor of the speed.
    #[inline(always)]
    fn inertia(&self, io: &Step<'_, T>) -> T {
        let beside = if self.clips { T::zero() } else { io.impedance(self.port) };
        self.mass * 2.0 + (self.viscous + beside) * io.dt
    }

    /// Parts for later steps; `force` against the piston includes friction but not the spring.
    #[wide]
    fn parts(&self, io: &Step<'_, T>, force: T, x: T, v: T) -> [T; 3] {
        let (dt, m) = (io.dt, self.mass);
        let spring = self.stiffness * (dt * dt);
        let divisor = m * 4.0 + spring;
        let push = force * (dt * dt);
        [
            (push * 2.0 + (spring * 2.0 - m * 8.0) * x) / divisor,
            push / divisor + x,
            ((force + self.stiffness * x) * dt - m * v * 2.0) / self.inertia(io),
        ]
    }

    fn start(&self, io: &mut Step<'_, T>, p: [T; 2], load: T) {
        let (x, v) = (io.displacement(self.port), io.flow(self.port));
        let force = load - self.areas[0] * p[0]
            + self.areas[1] * p[1]
            + self.viscous * v
            + self.friction(io.dt, Dual::constant(v)).value;
        let [last, before, speed] = self.parts(io, force, x, v);
        self.past.start(io, last, before, speed);
    }

    #[wide]
    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let (c, dt) = (Dual::constant, io.dt);
        let chambers = Chambers {
            ends: [End::at(io, 0), End::at(io, 1)],
            displaced: self.areas,
            leakage: self.leakage,
            clips: self.clips,
        };
        let (wave, z) = (io.wave(self.port), io.impedance(self.port));
        let (past_x, past_v) = (self.past.position(io), self.past.speed(io));
        let gain = T::of(dt) / self.inertia(io);
        let beside = if self.clips { T::zero() } else { z };
        let ride = T::of(dt * dt) / (self.mass * 4.0 + self.stiffness * (dt * dt));
        // Force against the piston without viscous friction, and position before its stops.
        let motion = |v: Dual<T>| {
            let p = chambers.pressures(v);
            let force = c(wave) + c(z) * v - c(self.areas[0]) * p[0]
                + c(self.areas[1]) * p[1]
                + self.friction(dt, v);
            let x = -((force + c(self.viscous) * v) * c(ride)) - c(past_x);
            (force, x)
        };
        let [low, high] = self.stops;
        let speed = |v: Dual<T>| {
            let (force, x) = motion(v);
            let x = limit(x, c(low), c(high));
            -((force - c(beside) * v + c(self.stiffness) * x) * c(gain)) - c(past_v)
        };
        let everywhere = (T::of(f64::NEG_INFINITY), T::of(f64::INFINITY));
        let guess = io.flow(self.port);
        let mut v = root(io, everywhere, guess, SMALL_SPEED, |v| v - speed(v));
        let slope = limit_slope(motion(c(v)).1.value, low, high);
        let stopped = slope.lt(T::one());
        if stopped.any() {
            let slowed = root(io, everywhere, v, SMALL_SPEED, |v| v - c(slope) * speed(v));
            v = T::select(stopped, slowed, v);
        }
        chambers.write(io, v);
        let (force, x) = motion(c(v));
        let x = limit(x.value, low, high);
        let [last, before, slow] = self.parts(io, force.value + self.viscous * v, x, v);
        self.past.push(io, last, before, slow);
        io.set_motion(self.port, v, x, wave + z * v);
    }
}

/// Piston with a mass as its load.
///
/// m·ẍ = A₁·p₁ − A₂·p₂ − (b_L + b_p)·ẋ − F, x_min ≤ x ≤ x_max;  q₁ = −A₁·ẋ − C·(p₁ − p₂),
/// q₂ = A₂·ẋ + C·(p₁ − p₂)
///
/// Position and speed are two recursions of their own; at a stop the speed all but vanishes.
/// Pressures may be below 0.
#[component("hopsan.HydraulicPistonMload", q)]
pub struct PistonMass {
    /// chamber that extends
    #[port(name = "P1")]
    p1: Hydraulic,
    /// chamber that retracts
    #[port(name = "P2")]
    p2: Hydraulic,
    /// load
    #[port(name = "Pmp")]
    load: Translational,
    /// A₁ — area of the first chamber, read at the start [m²]
    #[input(name = "A1", default = "0.001 m^2")]
    pub area_1: f64,
    /// A₂ — area of the second chamber, read at the start [m²]
    #[input(name = "A2", default = "0.001 m^2")]
    pub area_2: f64,
    /// s — stroke, without effect [m]
    #[input(name = "SL", default = "0.5 m")]
    pub stroke: f64,
    /// C — leakage between the chambers, read at the start [m³/(s*Pa)]
    #[input(name = "Cip", default = "0 m^3/(s*Pa)")]
    pub leakage: f64,
    /// b_p — viscous friction of the piston, read at the start [N*s/m]
    #[input(name = "bp", default = "0 N*s/m")]
    pub piston_friction: f64,
    /// m — mass, read at the start [kg]
    #[input(name = "mL", default = "1000 kg")]
    pub mass: f64,
    /// b_L — viscous friction of the load, read at the start [N*s/m]
    #[input(name = "bL", default = "0 N*s/m")]
    pub load_friction: f64,
    /// F_c — dry friction, without effect [N]
    #[input(name = "fc", default = "10 N")]
    pub dry_friction: f64,
    /// – — steepness of the dry friction, without effect [–]
    #[input(name = "bfc", default = 1)]
    pub steepness: f64,
    /// x_min — rear stop, read at the start [m]
    #[input(name = "xmin", default = "0 m")]
    pub rear_stop: f64,
    /// x_max — front stop, read at the start [m]
    #[input(name = "xmax", default = "0.5 m")]
    pub front_stop: f64,
    /// A₁ — area of the first chamber [m²]
    #[memory]
    kept_area_1: Memory,
    /// A₂ — area of the second chamber [m²]
    #[memory]
    kept_area_2: Memory,
    /// C — leakage [m³/(s*Pa)]
    #[memory]
    kept_leakage: Memory,
    /// b — viscous friction of piston and load [N*s/m]
    #[memory]
    kept_friction: Memory,
    /// m — mass [kg]
    #[memory]
    kept_mass: Memory,
    /// x_min — rear stop [m]
    #[memory]
    kept_rear: Memory,
    /// x_max — front stop [m]
    #[memory]
    kept_front: Memory,
    /// – — part of the position that the last step decides, negated [m]
    #[memory]
    delayed_1: Memory,
    /// – — part of the position that the step before it decides, negated [m]
    #[memory]
    delayed_2: Memory,
    /// – — what `delayed_2` becomes after the next step [m]
    #[memory]
    waiting: Memory,
    /// – — part of the speed that the last step decides, negated [m/s]
    #[memory]
    delayed_speed: Memory,
}

impl PistonMass {
    #[wide]
    #[inline(always)]
    fn parts<T: Num>(io: &Step<'_, T>) -> Load<T> {
        let m = |i| io.memory(i);
        Load {
            areas: [m(Self::KEPT_AREA_1), m(Self::KEPT_AREA_2)],
            leakage: m(Self::KEPT_LEAKAGE),
            viscous: m(Self::KEPT_FRICTION),
            mass: m(Self::KEPT_MASS),
            stiffness: T::zero(),
            dry: [T::zero(); 2],
            stops: [m(Self::KEPT_REAR), m(Self::KEPT_FRONT)],
            past: Past(Self::DELAYED_1),
            port: Self::LOAD,
            clips: false,
        }
    }
}

impl Physics for PistonMass {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        for (kept, input) in [
            (Self::KEPT_AREA_1, Self::AREA_1),
            (Self::KEPT_AREA_2, Self::AREA_2),
            (Self::KEPT_LEAKAGE, Self::LEAKAGE),
            (Self::KEPT_FRICTION, Self::LOAD_FRICTION),
            (Self::KEPT_MASS, Self::MASS),
            (Self::KEPT_REAR, Self::REAR_STOP),
            (Self::KEPT_FRONT, Self::FRONT_STOP),
        ] {
            io.set_memory(kept, io.input(input));
        }
        let friction = io.input(Self::LOAD_FRICTION) + io.input(Self::PISTON_FRICTION);
        io.set_memory(Self::KEPT_FRICTION, friction);
        let effort = |port| End::at(io, port).effort(io.flow(port));
        let (p, force) = ([effort(Self::P1), effort(Self::P2)], effort(Self::LOAD));
        Self::parts(io).start(io, p, force);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::parts(io).step(io);
    }
}

/// Piston with a mass, a spring and dry friction as its load.
///
/// m·ẍ + k·x = A₁·p₁ − A₂·p₂ − (b_L + b_p)·ẋ − clip(b·m·ẋ/T, ±F_c) − F, x_min ≤ x ≤ x_max;
/// q₁ = −A₁·ẋ − C·(p₁ − p₂), q₂ = A₂·ẋ + C·(p₁ − p₂)
///
/// Position and speed are two recursions of their own; at a stop the speed all but vanishes.
/// Pressures are not below 0.
#[component("hopsan.HydraulicPistonMkload", q)]
pub struct PistonSpringMass {
    /// chamber that extends
    #[port(name = "P1")]
    p1: Hydraulic,
    /// chamber that retracts
    #[port(name = "P2")]
    p2: Hydraulic,
    /// load
    #[port(name = "Pmp")]
    load: Translational,
    /// A₁ — area of the first chamber [m²]
    #[input(name = "A1", default = "0.001 m^2")]
    pub area_1: f64,
    /// A₂ — area of the second chamber [m²]
    #[input(name = "A2", default = "0.001 m^2")]
    pub area_2: f64,
    /// s — stroke, without effect [m]
    #[input(name = "SL", default = "0.5 m")]
    pub stroke: f64,
    /// C — leakage between the chambers [m³/(s*Pa)]
    #[input(name = "Cip", default = "0 m^3/(s*Pa)")]
    pub leakage: f64,
    /// b_p — viscous friction of the piston [N*s/m]
    #[input(name = "bp", default = "0 N*s/m")]
    pub piston_friction: f64,
    /// m — mass [kg]
    #[input(name = "mL", default = "1000 kg")]
    pub mass: f64,
    /// b_L — viscous friction of the load [N*s/m]
    #[input(name = "bL", default = "0 N*s/m")]
    pub load_friction: f64,
    /// k — stiffness of the spring [N/m]
    #[input(name = "kL", default = "0 N/m")]
    pub stiffness: f64,
    /// F_c — dry friction [N]
    #[input(name = "fc", default = "10 N")]
    pub dry_friction: f64,
    /// b — steepness of the dry friction [–]
    #[input(name = "bfc", default = 1)]
    pub steepness: f64,
    /// x_min — rear stop [m]
    #[input(name = "xmin", default = "0 m")]
    pub rear_stop: f64,
    /// x_max — front stop [m]
    #[input(name = "xmax", default = "0.5 m")]
    pub front_stop: f64,
    /// – — part of the position that the last step decides, negated [m]
    #[memory]
    delayed_1: Memory,
    /// – — part of the position that the step before it decides, negated [m]
    #[memory]
    delayed_2: Memory,
    /// – — what `delayed_2` becomes after the next step [m]
    #[memory]
    waiting: Memory,
    /// – — part of the speed that the last step decides, negated [m/s]
    #[memory]
    delayed_speed: Memory,
}

impl PistonSpringMass {
    #[wide]
    #[inline(always)]
    fn parts<T: Num>(io: &Step<'_, T>) -> Load<T> {
        let u = |i| io.input(i);
        Load {
            areas: [u(Self::AREA_1), u(Self::AREA_2)],
            leakage: u(Self::LEAKAGE),
            viscous: u(Self::LOAD_FRICTION) + u(Self::PISTON_FRICTION),
            mass: u(Self::MASS),
            stiffness: u(Self::STIFFNESS),
            dry: [u(Self::DRY_FRICTION), u(Self::STEEPNESS)],
            stops: [u(Self::REAR_STOP), u(Self::FRONT_STOP)],
            past: Past(Self::DELAYED_1),
            port: Self::LOAD,
            clips: true,
        }
    }
}

impl Physics for PistonSpringMass {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (p, force) = ([io.effort(Self::P1), io.effort(Self::P2)], io.effort(Self::LOAD));
        Self::parts(io).start(io, p, force);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::parts(io).step(io);
    }
}

/// Motor with an inertia as its load.
///
/// J·ω̇ = D·(p₁ − p₂) − M − B·ω, D = D_m/2π;  q₂ = −q₁ = D·ω + C·(p₁ − p₂)
///
/// Angle and speed are two recursions of their own. Pressures are not below 0.
#[component("hopsan.HydraulicMotorJload", q)]
pub struct MotorInertia {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2")]
    p2: Hydraulic,
    /// shaft
    #[port(name = "Pm1")]
    shaft: Rotational,
    /// D_m — displacement per revolution, read at the start [m³]
    #[input(name = "Dm", default = "5e-5 m^3")]
    pub displacement: f64,
    /// C — leakage, read at the start [m³/(s*Pa)]
    #[input(name = "Cim", default = "0 m^3/(s*Pa)")]
    pub leakage: f64,
    /// B — viscous friction, read at the start [N*m*s]
    #[input(name = "Bm", default = "0 N*m*s")]
    pub friction: f64,
    /// J — inertia, read at the start [kg*m^2]
    #[input(name = "Jm", default = "0.1 kg*m^2")]
    pub inertia: f64,
    /// D — displacement per radian [m³]
    #[memory]
    kept_displacement: Memory,
    /// C — leakage [m³/(s*Pa)]
    #[memory]
    kept_leakage: Memory,
    /// B — viscous friction [N*m*s]
    #[memory]
    kept_friction: Memory,
    /// J — inertia [kg*m^2]
    #[memory]
    kept_inertia: Memory,
    /// – — part of the angle that the last step decides, negated [rad]
    #[memory]
    delayed_1: Memory,
    /// – — part of the angle that the step before it decides, negated [rad]
    #[memory]
    delayed_2: Memory,
    /// – — what `delayed_2` becomes after the next step [rad]
    #[memory]
    waiting: Memory,
    /// – — part of the speed that the last step decides, negated [rad/s]
    #[memory]
    delayed_speed: Memory,
}

impl MotorInertia {
    #[inline(always)]
    fn load<T: Num>(io: &Step<'_, T>) -> Shaft<T> {
        Shaft {
            past: Past(Self::DELAYED_1),
            inertia: io.memory(Self::KEPT_INERTIA),
            friction: io.memory(Self::KEPT_FRICTION),
        }
    }
}

impl Physics for MotorInertia {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let d = io.input(Self::DISPLACEMENT) / TAU;
        io.set_memory(Self::KEPT_DISPLACEMENT, d);
        for (kept, input) in [
            (Self::KEPT_LEAKAGE, Self::LEAKAGE),
            (Self::KEPT_FRICTION, Self::FRICTION),
            (Self::KEPT_INERTIA, Self::INERTIA),
        ] {
            io.set_memory(kept, io.input(input));
        }
        let moment = io.effort(Self::SHAFT) - d * (io.effort(Self::P1) - io.effort(Self::P2));
        let (angle, speed) = (io.displacement(Self::SHAFT), io.flow(Self::SHAFT));
        Self::load(io).start(io, moment, angle, speed);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (c, d) = (Dual::constant, io.memory(Self::KEPT_DISPLACEMENT));
        let chambers = Chambers {
            ends: [End::at(io, Self::P1), End::at(io, Self::P2)],
            displaced: [d; 2],
            leakage: io.memory(Self::KEPT_LEAKAGE),
            clips: true,
        };
        let load = Self::load(io);
        let end = End::at(io, Self::SHAFT);
        let (given, gain) = load.speed(io);
        let moment = |w: Dual<T>| {
            let p = chambers.pressures(w);
            c(end.wave) + c(end.impedance) * w - c(d) * (p[0] - p[1])
        };
        let everywhere = (T::of(f64::NEG_INFINITY), T::of(f64::INFINITY));
        let guess = io.flow(Self::SHAFT);
        let speed =
            root(io, everywhere, guess, SMALL_SPEED, |w| w - c(given) + c(gain) * moment(w));
        chambers.write(io, speed);
        let angle = load.finish(io, moment(c(speed)).value, speed);
        io.set_motion(Self::SHAFT, speed, angle, end.effort(speed));
    }
}

/// Piston between two volumes, without mass: it turns pressures into a force.
///
/// V₁ = V₀₁ + A₁·clip(−x, 0, s), V₂ = V₀₂ + A₂·clip(s + x, 0, s), Z_i = β·T/((1−α)·V_i); each volume
/// is a line between its port and the piston, whose flows are A₁·v and −A₂·v;
/// c₃ = A₁·c_p1 − A₂·c_p2, Z₃ = A₁²·Z₁ + A₂²·Z₂
#[component("hopsan.HydraulicPiston", c)]
pub struct Piston {
    /// chamber that extends
    #[port(name = "P1")]
    p1: Hydraulic,
    /// chamber that retracts
    #[port(name = "P2")]
    p2: Hydraulic,
    /// rod
    #[port(name = "Pm1")]
    rod: Translational,
    /// A₁ — area of the first chamber [m²]
    #[input(name = "A1", default = "0.001 m^2")]
    pub area_1: f64,
    /// A₂ — area of the second chamber [m²]
    #[input(name = "A2", default = "0.001 m^2")]
    pub area_2: f64,
    /// V₀₁ — dead volume of the first chamber [m³]
    #[input(name = "V01", default = "0.001 m^3")]
    pub dead_1: f64,
    /// V₀₂ — dead volume of the second chamber [m³]
    #[input(name = "V02", default = "0.001 m^3")]
    pub dead_2: f64,
    /// s — stroke [m]
    #[input(name = "SL", default = "0.5 m")]
    pub stroke: f64,
    /// β — effective bulk modulus [Pa]
    #[input(name = "betae", default = "17e6 Pa")]
    pub bulk_modulus: f64,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0)]
    pub filter: f64,
    /// c_p1 — wave at the piston's first face [Pa]
    #[memory]
    face_1: Memory,
    /// c_p2 — wave at the piston's second face [Pa]
    #[memory]
    face_2: Memory,
}

impl Physics for Piston {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(constants: &NoConstants<T>, io: &mut Step<'_, T>) {
        for (port, face) in [(Self::P1, Self::FACE_1), (Self::P2, Self::FACE_2)] {
            let p = io.effort(port);
            io.bond_mut(port).wave = p;
            io.set_memory(face, p);
        }
        Self::step(constants, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let areas = [io.input(Self::AREA_1), io.input(Self::AREA_2)];
        let dead = [io.input(Self::DEAD_1), io.input(Self::DEAD_2)];
        let (s, keep) = (io.input(Self::STROKE), io.input(Self::FILTER));
        let (x, v) = (io.displacement(Self::ROD), io.flow(Self::ROD));
        let travel = [limit(-x, T::zero(), s), limit(s + x, T::zero(), s)];
        let flows = [areas[0] * v, -(areas[1] * v)];
        let stiffness = io.input(Self::BULK_MODULUS) * io.dt / (T::one() - keep);
        let (mut wave, mut impedance) = (T::zero(), T::zero());
        for (i, sign) in [(0, 1.0), (1, -1.0)] {
            let face = Self::FACE_1 + i;
            let z = stiffness / (dead[i] + areas[i] * travel[i]);
            let (old, old_face) = (io.wave(i), io.memory(face));
            let mix = |old: T, fresh: T| (T::one() - keep) * fresh + keep * old;
            let at_face = mix(old_face, old + z * io.flow(i) * 2.0);
            let at_port = mix(old, old_face + z * flows[i] * 2.0);
            io.set_wave(i, at_port, z);
            io.set_memory(face, at_face);
            wave += areas[i] * at_face * sign;
            impedance += areas[i] * areas[i] * z;
        }
        io.set_wave(Self::ROD, wave, impedance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, bench};
    use fluxline_core::testing::Bench;

    const DT: f64 = 1e-3;

    #[test]
    fn under_constant_force_speed_and_travel_are_those_of_the_recursion() {
        let mut piston = bench::<PistonMass>(DT, &[]);
        piston.line(2, -500.0, 0.0).start();
        for n in 1..=50 {
            piston.line(2, -500.0, 0.0).step();
            let n = f64::from(n);
            assert_near(piston.flow(2), n * DT * 0.5, 1e-9);
            assert_near(
                piston.state.bonds[2].displacement,
                n * (n + 1.0) / 2.0 * DT * DT * 0.5,
                1e-9,
            );
        }
        assert_near(piston.flow(0), -1e-3 * piston.flow(2), 1e-12);
        assert_near(piston.flow(1), 1e-3 * piston.flow(2), 1e-12);
    }

    /// Both pistons between the same lines for a while.
    fn travel<M: Physics>(piston: &mut Bench<M>, steps: usize) -> Vec<[f64; 4]> {
        let mut path = Vec::new();
        piston.start();
        for n in 0..steps {
            let wave = 2e6 + 1e6 * (0.02 * n as f64).sin();
            piston.line(0, wave, 1e9).line(1, 1e6, 2e9).line(2, 100.0, 300.0).step();
            let bond = &piston.state.bonds[2];
            path.push([bond.displacement, bond.flow, bond.effort, piston.flow(0)]);
        }
        assert_eq!(piston.state.faults.unconverged, 0);
        path
    }

    #[test]
    fn without_spring_and_dry_friction_both_pistons_move_alike() {
        let mut plain = bench::<PistonMass>(
            DT,
            &[(PistonMass::LEAKAGE, 1e-12), (PistonMass::LOAD_FRICTION, 50.0)],
        );
        let mut sprung = bench::<PistonSpringMass>(
            DT,
            &[
                (PistonSpringMass::LEAKAGE, 1e-12),
                (PistonSpringMass::PISTON_FRICTION, 50.0),
                (PistonSpringMass::DRY_FRICTION, 0.0),
            ],
        );
        plain.line(2, 0.0, 300.0);
        sprung.line(2, 0.0, 300.0);
        for (a, b) in travel(&mut plain, 400).into_iter().zip(travel(&mut sprung, 400)) {
            for (a, b) in a.into_iter().zip(b) {
                assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} for {b}");
            }
        }
    }

    #[test]
    fn a_spring_holds_the_piston_where_it_balances_the_pressures() {
        let set = [(PistonSpringMass::STIFFNESS, 1e5), (PistonSpringMass::LOAD_FRICTION, 2e4)];
        let mut piston = bench::<PistonSpringMass>(DT, &set);
        piston.start();
        for _ in 0..20_000 {
            piston.line(0, 2e7, 1e8).line(1, 1e6, 1e8).line(2, 0.0, 0.0).step();
        }
        // Position and speed, each a recursion of its own, need not agree: a rest of speed may
        // stay. The forces balance with the friction that it gives.
        let (x, v) = (piston.state.bonds[2].displacement, piston.flow(2));
        let friction = 2e4 * v + (1000.0 * v / DT).clamp(-10.0, 10.0);
        let push = (piston.effort(0) - piston.effort(1)) * 1e-3;
        assert_near(1e5 * x + friction, push, 1e-6);
        assert!(v.abs() < 1e-3 && (x - 0.19).abs() < 1e-3, "{x} {v}");
    }

    #[test]
    fn at_a_stop_the_piston_stands_and_a_dry_chamber_has_no_pressure() {
        let mut piston = bench::<PistonSpringMass>(DT, &[(PistonSpringMass::MASS, 1.0)]);
        piston.start();
        for _ in 0..2000 {
            piston.line(0, 1e6, 1e7).line(1, -1e5, 1e7).line(2, 0.0, 0.0).step();
        }
        assert_eq!(piston.state.bonds[2].displacement, 0.5);
        assert!(piston.flow(2).abs() < 1e-6);
        assert_eq!(piston.effort(1), 0.0);
    }

    #[test]
    fn a_motor_spins_up_with_the_torque_of_its_pressures() {
        let mut motor = bench::<MotorInertia>(DT, &[]);
        motor.state.bonds[0].effort = 1e7;
        motor.start();
        for n in 1..=50 {
            motor.line(0, 1e7, 0.0).line(1, 0.0, 0.0).line(2, 0.0, 0.0).step();
            let n = f64::from(n);
            let gain = DT * 5e-5 / TAU * 1e7 / 0.1;
            assert_near(motor.flow(2), n * gain, 1e-9);
            assert_near(motor.state.bonds[2].displacement, n * (n + 1.0) / 2.0 * DT * gain, 1e-9);
        }
        assert_near(motor.flow(1), 5e-5 / TAU * motor.flow(2), 1e-12);
    }

    #[test]
    fn a_closed_chamber_stiffens_by_its_volume_and_pushes_with_its_area() {
        let mut piston = bench::<Piston>(DT, &[(Piston::AREA_2, 5e-4)]);
        for port in 0..2 {
            piston.state.bonds[port].effort = 1e5;
        }
        piston.start();
        let steps = 100;
        for _ in 0..steps {
            piston.impose_flow(0, 1e-6).step();
        }
        let mean = (piston.effort(0) + piston.state.states[Piston::FACE_1]) / 2.0;
        let rise = 17e6 / 1e-3 * 1e-6 * DT * f64::from(steps);
        assert!((mean - 1e5 - rise).abs() < 2.0 * rise / f64::from(steps), "{mean}");
        let (z1, z2) = (17e6 * DT / 1e-3, 17e6 * DT / (1e-3 + 5e-4 * 0.5));
        assert_near(piston.state.bonds[2].impedance, 1e-6 * z1 + 2.5e-7 * z2, 1e-12);
        let face = |i| piston.state.states[Piston::FACE_1 + i];
        assert_near(piston.state.bonds[2].wave, 1e-3 * face(0) - 5e-4 * face(1), 1e-12);
    }
}
