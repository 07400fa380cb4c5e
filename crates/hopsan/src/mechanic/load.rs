//! Loads with dry friction between or under masses, whose friction is part of the equations.
//!
//! Dry friction grows with the speed up to its limit, so steeply that it stops a mass within a step.
//! Positions are limited; where one is, the speed is 10⁻⁹ of what its recursion gives.

use super::body::{move_port, rubbed};
use crate::blocks::{Iterations, limit, limit_slope, solve, weights};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Mask, Num};
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<MassSpringLoad>(),
    ComponentType::of::<TwoMassLoad>(),
    ComponentType::of::<ThreeMassLoad>(),
];

/// One body between stops, as Hopsan's iterations see it: with N = F + R·v + M·clip(K·v, ±f),
/// x = clip(−G_x·N − x₋), v = (−G_v·(N + k·x) − v₋), 10⁻⁹ of it at a stop. Forces at the ports are
/// linear and follow at once.
#[derive(Clone, Copy)]
struct Stroke<T> {
    /// F — what the waves push backwards.
    push: T,
    /// R — what the impedances add per speed.
    impedance: T,
    /// M — share of the dry friction.
    friction_share: T,
    /// K — slope of the dry friction.
    slope: T,
    /// f — dry friction.
    dry: T,
    /// G_x and G_v.
    per_force: [T; 2],
    /// x₋ and v₋ — old parts.
    old: [T; 2],
    /// k — stiffness of a spring to the ground.
    stiffness: T,
    /// Stops.
    range: (T, T),
}

impl<T: Num> Stroke<T> {
    /// Position and speed after so many iterations from the speed of the last step, and from what
    /// the forces at the ports pushed then.
    #[inline(always)]
    fn iterated(&self, count: usize, v: T, push: T) -> (T, T) {
        let Self { slope, dry, stiffness, friction_share, .. } = *self;
        let ([per_x, per_v], [old_x, old_v], (low, high)) = (self.per_force, self.old, self.range);
        let (mut x, mut v, mut push) = (T::zero(), v, push);
        for weight in weights(count) {
            let rub = limit(slope * v, -dry, dry);
            let steep = limit_slope(slope * v, -dry, dry) * slope;
            let net = push + friction_share * rub;
            let free = -(per_x * net) - old_x;
            let (held, share) = (limit(free, low, high), limit_slope(free, low, high));
            // N = a + d·v at the new speed
            let a = self.push + friction_share * (rub - steep * v);
            let d = self.impedance + friction_share * steep;
            let spring = stiffness * share * per_x;
            let drive = per_v * (a + stiffness * held - spring * (a - net)) + old_v;
            let new_v = -(share * drive) / (T::one() + share * per_v * d * (T::one() - spring));
            let new_x = held - share * per_x * (a + d * new_v - net);
            x += (new_x - x) * weight;
            v += (new_v - v) * weight;
            push = self.push + self.impedance * v;
        }
        (x, v)
    }
}

/// Mass with a spring to the ground, dry and viscous friction and end stops.
///
/// m·d²x/dt² = F₁ − F₂ − k·x − b·v − clip(b_fc·m·v/T, ±f_c): the position by its own recursion over
/// two steps, the speed by the bilinear rule; f_s = k·x
#[component("hopsan.MechanicMkcload1D", q, constants = Iterations)]
pub struct MassSpringLoad {
    /// rear end
    #[port(name = "Pm1")]
    p1: Translational,
    /// front end, whose position the stops refer to
    #[port(name = "Pm2", side = "b")]
    p2: Translational,
    /// f_s — force of the spring [N]
    #[output(name = "fs", start = "1000")]
    spring_force: Signal,
    /// m — mass [kg]
    #[input(name = "mL", default = "1000 kg")]
    pub mass: f64,
    /// b — viscous friction [N*s/m]
    #[input(name = "bL", default = "10 N*s/m")]
    pub friction: f64,
    /// k — stiffness of the spring to the ground [N/m]
    #[input(name = "kL", default = "10 N/m")]
    pub stiffness: f64,
    /// f_c — dry friction [N]
    #[input(name = "fc", default = "10 N")]
    pub dry_friction: f64,
    /// b_fc — steepness of the dry friction [–]
    #[input(name = "bfc", default = 1)]
    pub steepness: f64,
    /// x_min — rear stop [m]
    #[input(name = "xmin", default = "0 m")]
    pub rear_stop: f64,
    /// x_max — front stop [m]
    #[input(name = "xmax", default = "1 m")]
    pub front_stop: f64,
    /// – — Newton iterations per step as Hopsan does them; 0 solves to convergence [–]
    #[parameter(default = 0)]
    pub iterations: usize,
    /// – — old part of the position [m]
    #[memory]
    position_part: Memory,
    /// – — old part of the position from two steps ago [m]
    #[memory]
    position_part_2: Memory,
    /// – — the same for the next step [m]
    #[memory]
    next_position_part_2: Memory,
    /// – — old part of the speed [m/s]
    #[memory]
    speed_part: Memory,
}

impl MassSpringLoad {
    /// Slope of the dry friction.
    #[inline(always)]
    fn slope<T: Num>(io: &Step<'_, T>) -> T {
        io.input(Self::STEEPNESS) * io.input(Self::MASS) / io.dt
    }

    /// Denominators of position and speed.
    #[inline(always)]
    fn denominators<T: Num>(io: &Step<'_, T>) -> (T, T) {
        let (m, b, t) = (io.input(Self::MASS), io.input(Self::FRICTION), io.dt);
        let k = io.input(Self::STIFFNESS);
        (m * 4.0 + (b * 2.0 + k * t) * t, m * 2.0 + b * t)
    }

    /// Remembers the old parts, from what pushes backwards at the ports, position and speed.
    #[inline(always)]
    fn remember<T: Num>(io: &mut Step<'_, T>, push: T, x: T, v: T) {
        let (m, b, t) = (io.input(Self::MASS), io.input(Self::FRICTION), io.dt);
        let k = io.input(Self::STIFFNESS);
        let dry = io.input(Self::DRY_FRICTION);
        let push = push + limit(Self::slope(io) * v, -dry, dry);
        let (by_position, by_speed) = Self::denominators(io);
        let before = io.memory(Self::NEXT_POSITION_PART_2);
        let t2 = t * t;
        let part = (push * (2.0 * t2) - m * x * 8.0 + k * x * (2.0 * t2)) / by_position;
        let part_2 = (push * t2 + m * x * 4.0 - b * x * (2.0 * t) + k * x * t2) / by_position;
        let speed = (push * t - m * v * 2.0 + b * v * t + k * x * t) / by_speed;
        for (at, value) in [
            (Self::POSITION_PART, part),
            (Self::POSITION_PART_2, before),
            (Self::NEXT_POSITION_PART_2, part_2),
            (Self::SPEED_PART, speed),
        ] {
            io.set_memory(at, value);
        }
    }
}

impl Physics for MassSpringLoad {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Iterations<f64>, Refusal> {
        Ok(Iterations::new(self.iterations))
    }

    fn start<T: Num>(_: &Iterations<T>, io: &mut Step<'_, T>) {
        let push = io.effort(Self::P2) - io.effort(Self::P1);
        let (x, v) = (io.displacement(Self::P2), io.flow(Self::P2));
        // twice, so that both old parts of the position are those of the start
        Self::remember(io, push, x, v);
        Self::remember(io, push, x, v);
    }

    #[inline(always)]
    fn step<T: Num>(constants: &Iterations<T>, io: &mut Step<'_, T>) {
        let (t, k) = (io.dt, io.input(Self::STIFFNESS));
        let push = io.wave(Self::P2) - io.wave(Self::P1);
        let impedance = io.impedance(Self::P1) + io.impedance(Self::P2);
        let (by_position, by_speed) = Self::denominators(io);
        let (slope, dry) = (Self::slope(io), io.input(Self::DRY_FRICTION));
        let old_position = io.memory(Self::POSITION_PART) + io.memory(Self::POSITION_PART_2);
        let old_speed = io.memory(Self::SPEED_PART);
        let (low, high) = (io.input(Self::REAR_STOP), io.input(Self::FRONT_STOP));
        let (x, v) = if constants.count == 0 {
            // free of the stops: the position is linear in the speed and goes into its recursion
            let gain = by_speed.recip() * t;
            let free_gain = gain * (T::one() - k * (t * t) / by_position);
            let p = gain * k * old_position - free_gain * push - old_speed;
            let v = rubbed(p, free_gain * impedance, free_gain, slope, dry);
            let resisting = push + impedance * v + limit(slope * v, -dry, dry);
            let x = limit(-(resisting * (t * t) / by_position) - old_position, low, high);
            let share = limit_slope(x, low, high);
            let held = share.lt(T::one());
            let v = if held.any() {
                let p = (-(gain * (push + k * x)) - old_speed) * share;
                let gain = gain * share;
                T::select(held, rubbed(p, gain * impedance, gain, slope, dry), v)
            } else {
                v
            };
            (x, v)
        } else {
            let stroke = Stroke {
                push,
                impedance,
                friction_share: T::one(),
                slope,
                dry,
                per_force: [by_position.recip() * (t * t), by_speed.recip() * t],
                old: [old_position, old_speed],
                stiffness: k,
                range: (low, high),
            };
            let pushed = io.effort(Self::P2) - io.effort(Self::P1);
            stroke.iterated(constants.count, io.flow(Self::P2), pushed)
        };
        move_port(io, Self::P1, -v, -x);
        move_port(io, Self::P2, v, x);
        let push = io.effort(Self::P2) - io.effort(Self::P1);
        Self::remember(io, push, x, v);
        io.set_output(Self::SPRING_FORCE, k * x);
        let mass = io.input(Self::MASS);
        for port in [Self::P1, Self::P2] {
            io.bond_mut(port).dry = mass;
        }
    }
}

/// Two masses that slide on each other, with dry friction and stops between them.
///
/// With M = m₁ + m₂, x₃ the distance by which they are drawn together and x_t their common motion:
/// M·dv_t/dt = F₁ − F₂;  m₁·m₂·d²x₃/dt² = m₁·F₂ + m₂·F₁ − M·(F₃ + clip(2·b_fc·m₁·m₂·v₃/(M·T), ±f_c)),
/// x₃ by its own recursion over two steps, limited to [−x_pmax, −x_pmin];
/// v₁ = −v_t − m₂/M·v₃, v₂ = v_t − m₁/M·v₃
///
/// The force at port 1 is taken with the speed of port 2. The viscous friction b_L is not used. Takes
/// one step at the start.
#[component("hopsan.MechanicM2load1D", q, constants = Iterations)]
pub struct TwoMassLoad {
    /// rear mass
    #[port(name = "Pm1")]
    p1: Translational,
    /// front mass
    #[port(name = "Pm2", side = "b")]
    p2: Translational,
    /// what acts between both
    #[port(name = "Pm3")]
    p3: Translational,
    /// v_t — common speed [m/s]
    #[output(name = "vt")]
    common_speed: Signal,
    /// x_t — common position [m]
    #[output(name = "xt")]
    common_position: Signal,
    /// m₁ — rear mass [kg]
    #[input(name = "m1", default = "1000 kg")]
    pub mass_1: f64,
    /// m₂ — front mass [kg]
    #[input(name = "m2", default = "1000 kg")]
    pub mass_2: f64,
    /// b_L — not used [N*s/m]
    #[input(name = "bL", default = "10 N*s/m")]
    pub unused_friction: f64,
    /// f_c — dry friction between both [N]
    #[input(name = "fc", default = "10 N")]
    pub dry_friction: f64,
    /// b_fc — steepness of the dry friction [–]
    #[input(name = "bfc", default = 1)]
    pub steepness: f64,
    /// x_pmin — smallest distance [m]
    #[input(name = "xpmin", default = "0 m")]
    pub least_distance: f64,
    /// x_pmax — largest distance [m]
    #[input(name = "xpmax", default = "1 m")]
    pub most_distance: f64,
    /// – — Newton iterations per step as Hopsan does them; 0 solves to convergence [–]
    #[parameter(default = 0)]
    pub iterations: usize,
    /// – — old part of the speed between both [m/s]
    #[memory]
    speed_part: Memory,
    /// – — old part of the distance [m]
    #[memory]
    position_part: Memory,
    /// – — old part of the distance from two steps ago [m]
    #[memory]
    position_part_2: Memory,
    /// – — the same for the next step [m]
    #[memory]
    next_position_part_2: Memory,
    /// – — old part of the common speed [m/s]
    #[memory]
    common_speed_part: Memory,
    /// – — old part of the common position [m]
    #[memory]
    common_position_part: Memory,
}

/// Motion of two masses: of each other, and common.
#[derive(Clone, Copy)]
struct Pair<T> {
    x: T,
    v: T,
    common_x: T,
    common_v: T,
}

impl TwoMassLoad {
    /// Slope of the dry friction.
    #[inline(always)]
    fn slope<T: Num>(io: &Step<'_, T>) -> T {
        let (m1, m2) = (io.input(Self::MASS_1), io.input(Self::MASS_2));
        io.input(Self::STEEPNESS) * m1 * m2 * (2.0 / io.dt) / (m1 + m2)
    }

    /// Remembers the old parts, from the forces at the ports and the motion.
    #[wide]
    #[inline(always)]
    fn remember<T: Num>(io: &mut Step<'_, T>, pair: Pair<T>) {
        let (m1, m2, t) = (io.input(Self::MASS_1), io.input(Self::MASS_2), io.dt);
        let (sum, product) = (m1 + m2, m1 * m2);
        let [f1, f2, f3] = [Self::P1, Self::P2, Self::P3].map(|port| io.effort(port));
        let dry = io.input(Self::DRY_FRICTION);
        let rub = limit(Self::slope(io) * pair.v, -dry, dry);
        let apart = (f3 + rub) * sum - f2 * m1 - f1 * m2;
        let half = apart * (0.25 * t * t) / product;
        let before = io.memory(Self::NEXT_POSITION_PART_2);
        for (at, value) in [
            (Self::SPEED_PART, apart * (0.5 * t) / product - pair.v),
            (Self::POSITION_PART, half * 2.0 - pair.x * 2.0),
            (Self::POSITION_PART_2, before),
            (Self::NEXT_POSITION_PART_2, half + pair.x),
            (Self::COMMON_SPEED_PART, (f2 - f1) * (0.5 * t) / sum - pair.common_v),
            (Self::COMMON_POSITION_PART, -(pair.common_v * (0.5 * t)) - pair.common_x),
        ] {
            io.set_memory(at, value);
        }
    }
}

impl Physics for TwoMassLoad {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Iterations<f64>, Refusal> {
        Ok(Iterations::new(self.iterations))
    }

    fn start<T: Num>(constants: &Iterations<T>, io: &mut Step<'_, T>) {
        let pair = Pair {
            x: io.displacement(Self::P3),
            v: io.flow(Self::P3),
            common_x: io.output(Self::COMMON_POSITION),
            common_v: io.output(Self::COMMON_SPEED),
        };
        // twice, so that both old parts of the distance are those of the start
        Self::remember(io, pair);
        Self::remember(io, pair);
        Self::step(constants, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(constants: &Iterations<T>, io: &mut Step<'_, T>) {
        let (m1, m2, t) = (io.input(Self::MASS_1), io.input(Self::MASS_2), io.dt);
        let (sum, product) = (m1 + m2, m1 * m2);
        let [c1, c2, c3] = [Self::P1, Self::P2, Self::P3].map(|port| io.wave(port));
        let [z1, z2, z3] = [Self::P1, Self::P2, Self::P3].map(|port| io.impedance(port));
        // everything is linear in v₃ but the friction: v_t = a + b·v₃, v₂ = a + e·v₃
        let per_common = sum.recip() * (0.5 * t);
        let damped = T::one() + per_common * (z1 + z2);
        let a = (per_common * (c1 - c2) - io.memory(Self::COMMON_SPEED_PART)) / damped;
        let b = per_common * (z1 + z2) * m1 / sum / damped;
        let e = b - m1 / sum;
        let apart = sum * c3 - m1 * (c2 + z2 * a) - m2 * (c1 - z1 * a);
        let damping = sum * z3 + (m2 * z1 - m1 * z2) * e;
        let gain = product.recip() * (0.5 * t);
        let (slope, dry) = (Self::slope(io), io.input(Self::DRY_FRICTION));
        let (low, high) = (-io.input(Self::MOST_DISTANCE), -io.input(Self::LEAST_DISTANCE));
        let old = io.memory(Self::POSITION_PART) + io.memory(Self::POSITION_PART_2);
        let (x, v) = if constants.count == 0 {
            let p = -(gain * apart) - io.memory(Self::SPEED_PART);
            let v = rubbed(p, gain * damping, gain * sum, slope, dry);
            let net = apart + damping * v + sum * limit(slope * v, -dry, dry);
            let x = limit(-(net * gain * (0.5 * t)) - old, low, high);
            let share = limit_slope(x, low, high);
            let held = share.lt(T::one());
            let v = if held.any() {
                let gain = gain * share;
                T::select(held, rubbed(p * share, gain * damping, gain * sum, slope, dry), v)
            } else {
                v
            };
            (x, v)
        } else {
            let stroke = Stroke {
                push: apart,
                impedance: damping,
                friction_share: sum,
                slope,
                dry,
                per_force: [gain * (0.5 * t), gain],
                old: [old, io.memory(Self::SPEED_PART)],
                stiffness: T::zero(),
                range: (low, high),
            };
            let [f1, f2, f3] = [Self::P1, Self::P2, Self::P3].map(|port| io.effort(port));
            let pushed = sum * f3 - m1 * f2 - m2 * f1;
            stroke.iterated(constants.count, io.flow(Self::P3), pushed)
        };
        let common_v = a + b * v;
        let common_x = common_v * (0.5 * t) - io.memory(Self::COMMON_POSITION_PART);
        let (v1, v2) = (-common_v - m2 / sum * v, common_v - m1 / sum * v);
        let (x1, x2) = (-common_x - m2 / sum * x, common_x - m1 / sum * x);
        io.set_motion(Self::P1, v1, x1, c1 - z1 * v2);
        move_port(io, Self::P2, v2, x2);
        move_port(io, Self::P3, v, x);
        Self::remember(io, Pair { x, v, common_x, common_v });
        io.set_output(Self::COMMON_SPEED, common_v);
        io.set_output(Self::COMMON_POSITION, common_x);
        io.bond_mut(Self::P1).dry = m1;
        io.bond_mut(Self::P2).dry = m2;
    }
}

/// Three masses: the second and third slide on the first and all on the ground, each contact with
/// dry and viscous friction, and each with stops.
///
/// With v out of the masses: m₁·dv₁/dt = −F₁ − b₁·v₁ − b₁₂·(v₁ − v₂) − b₁₃·(v₁ − v₃) + f₁ + f₁₂ + f₁₃,
/// m₂·dv₂/dt = −F₂ − b₂·v₂ − b₁₂·(v₂ − v₁) + f₂ − f₁₂, the third likewise, by the bilinear rule;
/// dry friction f = clip(−2·b_fc·m·v/T, ±f_c), between two masses with m₁·m₂/(m₁ + m₂) and their
/// difference of speed; x = clip(∫v)
#[component("hopsan.MechanicM3load1D", q)]
pub struct ThreeMassLoad {
    /// first mass
    #[port(name = "Pm1")]
    p1: Translational,
    /// second mass
    #[port(name = "Pm2")]
    p2: Translational,
    /// third mass
    #[port(name = "Pm3")]
    p3: Translational,
    /// – — position of the first mass [m]
    #[output(name = "m1Position")]
    position_1: Signal,
    /// – — position of the second mass [m]
    #[output(name = "m2Position")]
    position_2: Signal,
    /// – — position of the third mass [m]
    #[output(name = "m3Position")]
    position_3: Signal,
    /// – — speed of the first mass [m/s]
    #[output(name = "m1Velocity")]
    speed_1: Signal,
    /// – — speed of the second mass [m/s]
    #[output(name = "m2Velocity")]
    speed_2: Signal,
    /// – — speed of the third mass [m/s]
    #[output(name = "m3Velocity")]
    speed_3: Signal,
    /// – — friction of the first mass on the ground [N]
    #[output(name = "m1FrictionForce")]
    friction_force_1: Signal,
    /// – — friction of the second mass on the ground [N]
    #[output(name = "m2FrictionForce")]
    friction_force_2: Signal,
    /// – — friction of the third mass on the ground [N]
    #[output(name = "m3FrictionForce")]
    friction_force_3: Signal,
    /// – — friction between the first and the second mass [N]
    #[output(name = "m12FrictionForce")]
    friction_force_12: Signal,
    /// – — friction between the first and the third mass [N]
    #[output(name = "m13FrictionForce")]
    friction_force_13: Signal,
    /// f_c1 — dry friction of the first mass on the ground [N]
    #[input(name = "m1FrictionCoulomb", default = "10 N")]
    pub dry_friction_1: f64,
    /// f_c2 — dry friction of the second mass on the ground [N]
    #[input(name = "m2FrictionCoulomb", default = "10 N")]
    pub dry_friction_2: f64,
    /// f_c3 — dry friction of the third mass on the ground [N]
    #[input(name = "m3FrictionCoulomb", default = "10 N")]
    pub dry_friction_3: f64,
    /// f_c12 — dry friction between the first and the second mass [N]
    #[input(name = "m12FrictionCoulomb", default = "10 N")]
    pub dry_friction_12: f64,
    /// f_c13 — dry friction between the first and the third mass [N]
    #[input(name = "m13FrictionCoulomb", default = "10 N")]
    pub dry_friction_13: f64,
    /// m₁ — first mass [kg]
    #[input(name = "m1Mass", default = "10 kg")]
    pub mass_1: f64,
    /// m₂ — second mass [kg]
    #[input(name = "m2Mass", default = "1 kg")]
    pub mass_2: f64,
    /// m₃ — third mass [kg]
    #[input(name = "m3Mass", default = "1 kg")]
    pub mass_3: f64,
    /// b₁ — viscous friction of the first mass on the ground [N*s/m]
    #[input(name = "m1FrictionViscousCoeff", default = "10 N*s/m")]
    pub friction_1: f64,
    /// b₂ — viscous friction of the second mass on the ground [N*s/m]
    #[input(name = "m2FrictionViscousCoeff", default = "10 N*s/m")]
    pub friction_2: f64,
    /// b₃ — viscous friction of the third mass on the ground [N*s/m]
    #[input(name = "m3FrictionViscousCoeff", default = "10 N*s/m")]
    pub friction_3: f64,
    /// b₁₂ — viscous friction between the first and the second mass [N*s/m]
    #[input(name = "m12FrictionViscousCoeff", default = "10 N*s/m")]
    pub friction_12: f64,
    /// b₁₃ — viscous friction between the first and the third mass [N*s/m]
    #[input(name = "m13FrictionViscousCoeff", default = "10 N*s/m")]
    pub friction_13: f64,
    /// b_fc — steepness of the dry friction [–]
    #[input(name = "bfc", default = 1)]
    pub steepness: f64,
    /// – — rear stop of the first mass [m]
    #[input(name = "m1PositionLimitNeg", default = "-1000 m")]
    pub rear_stop_1: f64,
    /// – — front stop of the first mass [m]
    #[input(name = "m1PositionLimitPos", default = "1000 m")]
    pub front_stop_1: f64,
    /// – — added to the position shown for the first mass [m]
    #[input(name = "m1PositionOffset", default = "0 m")]
    pub offset_1: f64,
    /// – — 1 or −1: direction in which the motion of the first mass is shown [–]
    #[input(name = "m1Direction", default = 1)]
    pub direction_1: f64,
    /// – — rear stop of the second mass [m]
    #[input(name = "m2PositionLimitNeg", default = "-1000 m")]
    pub rear_stop_2: f64,
    /// – — front stop of the second mass [m]
    #[input(name = "m2PositionLimitPos", default = "1000 m")]
    pub front_stop_2: f64,
    /// – — added to the position shown for the second mass [m]
    #[input(name = "m2PositionOffset", default = "0 m")]
    pub offset_2: f64,
    /// – — 1 or −1: direction in which the motion of the second mass is shown [–]
    #[input(name = "m2Direction", default = 1)]
    pub direction_2: f64,
    /// – — rear stop of the third mass [m]
    #[input(name = "m3PositionLimitNeg", default = "-1000 m")]
    pub rear_stop_3: f64,
    /// – — front stop of the third mass [m]
    #[input(name = "m3PositionLimitPos", default = "1000 m")]
    pub front_stop_3: f64,
    /// – — added to the position shown for the third mass [m]
    #[input(name = "m3PositionOffset", default = "0 m")]
    pub offset_3: f64,
    /// – — 1 or −1: direction in which the motion of the third mass is shown [–]
    #[input(name = "m3Direction", default = 1)]
    pub direction_3: f64,
    /// – — old part of the speed of the first mass [m/s]
    #[memory]
    speed_part_1: Memory,
    /// – — old part of the speed of the second mass [m/s]
    #[memory]
    speed_part_2: Memory,
    /// – — old part of the speed of the third mass [m/s]
    #[memory]
    speed_part_3: Memory,
    /// – — old part of the position of the first mass [m]
    #[memory]
    position_part_1: Memory,
    /// – — old part of the position of the second mass [m]
    #[memory]
    position_part_2: Memory,
    /// – — old part of the position of the third mass [m]
    #[memory]
    position_part_3: Memory,
}

/// The three masses as they are in this step.
#[derive(Clone, Copy)]
struct Three<N> {
    mass: [N; 3],
    /// On the ground, then between 1 and 2, 1 and 3.
    dry: [N; 5],
    viscous: [N; 5],
    steepness: N,
    half_step: f64,
}

impl<T: Num> Three<T> {
    #[wide]
    fn of(io: &Step<'_, T>) -> Self {
        type M = ThreeMassLoad;
        Self {
            mass: std::array::from_fn(|i| io.input(M::MASS_1 + i)),
            dry: std::array::from_fn(|i| io.input(M::DRY_FRICTION_1 + i)),
            viscous: std::array::from_fn(|i| io.input(M::FRICTION_1 + i)),
            steepness: io.input(M::STEEPNESS),
            half_step: 0.5 * io.dt,
        }
    }
}

impl<N: Num> Three<N> {
    /// Dry friction at the five contacts.
    #[inline(always)]
    fn dry(&self, v: [N; 3]) -> [N; 5] {
        let [m1, m2, m3] = self.mass;
        let pairs = [
            (m1, v[0]),
            (m2, v[1]),
            (m3, v[2]),
            (m1 * m2 / (m1 + m2), v[0] - v[1]),
            (m1 * m3 / (m1 + m3), v[0] - v[2]),
        ];
        std::array::from_fn(|i| {
            let (mass, v) = pairs[i];
            let force = -(self.steepness * mass * v) / self.half_step;
            limit(force, -self.dry[i], self.dry[i])
        })
    }

    /// T/2 over the denominators of the speeds: per m + T/2·Σb.
    #[inline(always)]
    fn gain(&self) -> [N; 3] {
        let h = self.half_step;
        let [b1, b2, b3, b12, b13] = self.viscous;
        let resistance = [b1 + b12 + b13, b2 + b12, b3 + b13];
        std::array::from_fn(|i| (self.mass[i] + resistance[i] * h).recip() * h)
    }

    /// What pushes each mass beside the viscous friction of its own speed.
    #[inline(always)]
    fn push(&self, force: [N; 3], v: [N; 3]) -> [N; 3] {
        let [f1, f2, f3, f12, f13] = self.dry(v);
        let (b12, b13) = (self.viscous[3], self.viscous[4]);
        [
            b12 * v[1] + b13 * v[2] + f1 + f12 + f13 - force[0],
            b12 * v[0] + f2 - f12 - force[1],
            b13 * v[0] + f3 - f13 - force[2],
        ]
    }

    fn lifted(&self) -> Three<Dual<N>> {
        Three {
            mass: self.mass.map(Dual::constant),
            dry: self.dry.map(Dual::constant),
            viscous: self.viscous.map(Dual::constant),
            steepness: Dual::constant(self.steepness),
            half_step: self.half_step,
        }
    }
}

impl ThreeMassLoad {
    /// Remembers the old parts, from the forces at the ports and the motion.
    #[wide]
    #[inline(always)]
    fn remember<T: Num>(io: &mut Step<'_, T>, x: [T; 3], v: [T; 3]) {
        let three = Three::of(io);
        let h = three.half_step;
        let push = three.push(std::array::from_fn(|port| io.effort(port)), v);
        let gain = three.gain();
        let [b1, b2, b3, b12, b13] = three.viscous;
        let resistance = [b1 + b12 + b13, b2 + b12, b3 + b13];
        for i in 0..3 {
            let kept = three.mass[i] / h - resistance[i];
            io.set_memory(Self::SPEED_PART_1 + i, -(gain[i] * (push[i] + kept * v[i])));
            io.set_memory(Self::POSITION_PART_1 + i, -(v[i] * h) - x[i]);
        }
    }

    /// Position of a mass that moves at a speed.
    #[inline(always)]
    fn position<T: Num>(io: &Step<'_, T>, i: usize, v: T) -> (T, T) {
        let (low, high) =
            (io.input(Self::REAR_STOP_1 + 4 * i), io.input(Self::FRONT_STOP_1 + 4 * i));
        let x = limit(v * (0.5 * io.dt) - io.memory(Self::POSITION_PART_1 + i), low, high);
        (x, limit_slope(x, low, high))
    }
}

impl Physics for ThreeMassLoad {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (x, v) =
            (std::array::from_fn(|i| io.displacement(i)), std::array::from_fn(|i| io.flow(i)));
        Self::remember(io, x, v);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let three = Three::of(io);
        let (lifted, gain) = (three.lifted(), three.gain().map(Dual::constant));
        let wave: [_; 3] = std::array::from_fn(|i| Dual::constant(io.wave(i)));
        let impedance: [_; 3] = std::array::from_fn(|i| Dual::constant(io.impedance(i)));
        let old: [_; 3] = std::array::from_fn(|i| Dual::constant(io.memory(i)));
        let mut v: [T; 3] = std::array::from_fn(|i| io.flow(i));
        let mut share = [T::one(); 3];
        // a mass that would pass its stop is held there, which may free or hold another
        let mut settled = T::one().lt(T::zero());
        for _ in 0..3 {
            let new = solve(io, v, [1.0; 3], |v| {
                let force = std::array::from_fn(|i| wave[i] + impedance[i] * v[i]);
                let push = lifted.push(force, *v);
                std::array::from_fn(|i| {
                    v[i] - Dual::constant(share[i]) * (gain[i] * push[i] - old[i])
                })
            });
            // A lane that has settled stays as it is, so that lanes give the bits of scalars.
            v = std::array::from_fn(|i| T::select(settled, v[i], new[i]));
            let found: [T; 3] = std::array::from_fn(|i| {
                let found = Self::position(io, i, v[i]).1;
                T::select(share[i].lt(T::one()), share[i], found)
            });
            let changes = (0..3).fold(T::one().lt(T::zero()), |any, i| any | found[i].lt(share[i]));
            share = std::array::from_fn(|i| T::select(settled, share[i], found[i]));
            settled = settled | !changes;
            if settled.all() {
                break;
            }
        }
        let x: [T; 3] = std::array::from_fn(|i| Self::position(io, i, v[i]).0);
        let dry = three.dry(v);
        for i in 0..3 {
            move_port(io, i, v[i], x[i]);
            io.bond_mut(i).dry = three.mass[i];
            let direction = io.input(Self::DIRECTION_1 + 4 * i);
            let shown = io.input(Self::OFFSET_1 + 4 * i) - direction * x[i];
            io.set_output(Self::POSITION_1 + i, shown);
            io.set_output(Self::SPEED_1 + i, -(direction * v[i]));
            let rub = three.viscous[i] * v[i] - dry[i];
            io.set_output(Self::FRICTION_FORCE_1 + i, direction * rub);
        }
        for i in [1, 2] {
            let rub = dry[2 + i] - three.viscous[2 + i] * (v[0] - v[i]);
            io.set_output(Self::FRICTION_FORCE_12 + i - 1, rub);
        }
        Self::remember(io, x, v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const DT: f64 = 1e-3;

    fn mounted<M: Physics>(load: &M, inputs: &[f64]) -> Bench<M> {
        let mut bench = Bench::new(load, DT);
        for (i, value) in inputs.iter().enumerate() {
            bench.input(i, *value);
        }
        bench
    }

    fn sprung(iterations: usize) -> MassSpringLoad {
        MassSpringLoad {
            mass: 0.0,
            friction: 0.0,
            stiffness: 0.0,
            dry_friction: 0.0,
            steepness: 0.0,
            rear_stop: 0.0,
            front_stop: 0.0,
            iterations,
        }
    }

    #[test]
    fn each_step_of_a_sprung_load_satisfies_both_recursions() {
        let (m, b, k, fc) = (10.0, 40.0, 2000.0, 25.0);
        let mut bench = mounted(&sprung(0), &[m, b, k, fc, 1.0, -9.0, 9.0]);
        bench.state.bonds[1].displacement = 0.02;
        bench.start();
        let mut last = Vec::new();
        for i in 0..300 {
            let wave = if i < 150 { 120.0 } else { -90.0 };
            bench.line(0, wave, 15.0).line(1, 5.0, 6.0).step();
            let (v, x) = (bench.flow(1), bench.state.bonds[1].displacement);
            assert_eq!(bench.output(0), k * x);
            let rub = (m * v / DT).clamp(-fc, fc);
            let drive = bench.effort(0) - bench.effort(1) - rub;
            last.push((x, v, drive));
            if let [.., (x2, _, f2), (x1, v1, f1), (x, v, f)] = last[..] {
                let net = f - b * v - k * x + f1 - b * v1 - k * x1;
                assert!((m * (v - v1) - 0.5 * DT * net).abs() < 1e-9);
                let bent = m * (x - 2.0 * x1 + x2) / (DT * DT);
                let spring = k * (x + 2.0 * x1 + x2) / 4.0;
                let friction = b * (x - x2) / (2.0 * DT);
                let drive = (f + 2.0 * f1 + f2) / 4.0;
                assert!((bent + friction + spring - drive).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn a_sprung_load_rests_while_friction_is_enough_and_stops_at_its_stop() {
        let mut bench = mounted(&sprung(0), &[10.0, 0.0, 0.0, 25.0, 1.0, 0.0, 0.1]);
        bench.state.bonds[1].displacement = 0.05;
        bench.start().line(0, 24.0, 0.0);
        for _ in 0..1000 {
            bench.step();
        }
        assert!(bench.flow(1).abs() < 25.0 * DT / 10.0, "it creeps within the steep part");
        bench.line(0, 500.0, 0.0);
        for _ in 0..200 {
            bench.step();
        }
        assert_eq!(bench.state.bonds[1].displacement, 0.1);
        assert!(bench.flow(1).abs() < 1e-8);
    }

    fn pair(iterations: usize) -> TwoMassLoad {
        TwoMassLoad {
            mass_1: 0.0,
            mass_2: 0.0,
            unused_friction: 0.0,
            dry_friction: 0.0,
            steepness: 0.0,
            least_distance: 0.0,
            most_distance: 0.0,
            iterations,
        }
    }

    #[test]
    fn hopsans_iterations_are_exact_for_loads_that_slide_between_their_stops() {
        let inputs = [10.0, 40.0, 2000.0, 25.0, 1.0, -9.0, 9.0];
        let mut sprung = [0, 2].map(|count| mounted(&sprung(count), &inputs));
        let inputs = [30.0, 20.0, 0.0, 4.0, 1.0, -9.0, 9.0];
        let mut pairs = [0, 2].map(|count| mounted(&pair(count), &inputs));
        for bench in &mut sprung {
            bench.state.bonds[0].flow = -1.0;
            bench.state.bonds[1].flow = 1.0;
            bench.start().line(0, 120.0, 15.0).line(1, 5.0, 6.0);
        }
        for bench in &mut pairs {
            bench.state.bonds[2].flow = 1.0;
            bench.line(0, 70.0, 3.0).line(1, 20.0, 5.0).line(2, -10.0, 8.0).start();
        }
        for _ in 0..50 {
            for bench in &mut sprung {
                bench.step();
            }
            for bench in &mut pairs {
                bench.step();
            }
            assert!((sprung[0].flow(1) - sprung[1].flow(1)).abs() < 1e-9);
            assert!((pairs[0].flow(0) - pairs[1].flow(0)).abs() < 1e-9);
            assert!((pairs[0].flow(2) - pairs[1].flow(2)).abs() < 1e-9);
        }
        assert!(sprung[0].flow(1) > 0.1 && pairs[0].flow(2) > 0.1);
    }

    #[test]
    fn hopsans_iterations_leave_a_stop_by_a_third_of_a_billionth_of_a_change_of_force() {
        let (m, more) = (10.0, 500.0);
        let mut bench = mounted(&sprung(2), &[m, 0.0, 0.0, 25.0, 1.0, 0.0, 1.0]);
        bench.start().line(0, -1000.0, 0.0);
        for _ in 0..20 {
            bench.step();
        }
        assert!(bench.state.bonds[1].displacement.abs() < 1e-25);
        bench.line(0, -1000.0 - more, 0.0).step();
        let left = -0.33 * 1e-9 * DT * DT / (4.0 * m) * more;
        assert!((bench.state.bonds[1].displacement / left - 1.0).abs() < 1e-6);
    }

    #[test]
    fn two_masses_keep_the_law_of_their_common_motion_and_of_their_distance() {
        let (m1, m2, fc) = (30.0, 20.0, 4.0);
        let mut bench = mounted(&pair(0), &[m1, m2, 0.0, fc, 1.0, 0.0, 1.0]);
        bench.state.bonds[2].displacement = -0.5;
        bench.start().line(0, 70.0, 3.0).line(1, 20.0, 5.0).line(2, 10.0, 8.0);
        let (sum, product) = (m1 + m2, m1 * m2);
        let mut last = Vec::new();
        for _ in 0..100 {
            bench.step();
            let [f1, f2, f3] = [0, 1, 2].map(|port| bench.effort(port));
            let (v3, x3) = (bench.flow(2), bench.state.bonds[2].displacement);
            let rub = (2.0 * product * v3 / (sum * DT)).clamp(-fc, fc);
            let together = m1 * f2 + m2 * f1 - sum * (f3 + rub);
            assert!((bench.flow(0) + bench.output(0) + m2 / sum * v3).abs() < 1e-14);
            assert!((f1 - 70.0 + 3.0 * bench.flow(1)).abs() < 1e-12, "with the speed of port 2");
            last.push((f1 - f2, bench.output(0), together, v3, x3));
            if let [.., two, one, now] = last[..] {
                assert!((sum * (now.1 - one.1) - 0.5 * DT * (now.0 + one.0)).abs() < 1e-10);
                assert!((product * (now.3 - one.3) - 0.5 * DT * (now.2 + one.2)).abs() < 1e-8);
                let bent = product * (now.4 - 2.0 * one.4 + two.4) / (DT * DT);
                assert!((bent - (now.2 + 2.0 * one.2 + two.2) / 4.0).abs() < 1e-3);
            }
        }
    }

    fn three() -> ThreeMassLoad {
        let values: Vec<_> = ThreeMassLoad::DEFAULTS
            .iter()
            .map(|&value| fluxline_core::declare::Value::Number(value))
            .collect();
        fluxline_core::component::Declared::from_values(&values).unwrap()
    }

    impl ThreeMassLoad {
        const DEFAULTS: [f64; 26] = [
            10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1.0, 1.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1.0,
            -1000.0, 1000.0, 0.0, 1.0, -1000.0, 1000.0, 0.0, 1.0, -1000.0, 1000.0, 0.0, 1.0,
        ];
    }

    #[test]
    fn momentum_of_three_masses_comes_from_their_forces_and_the_ground_alone() {
        let mut bench = mounted(&three(), &ThreeMassLoad::DEFAULTS);
        bench.start().line(0, -200.0, 30.0).line(1, 50.0, 2.0).line(2, -60.0, 1.0);
        let mut last: Option<(f64, f64)> = None;
        for _ in 0..200 {
            bench.step();
            let v = [0, 1, 2].map(|port| bench.flow(port));
            let momentum = 10.0 * v[0] + v[1] + v[2];
            let outer: f64 = (0..3).map(|i| -bench.effort(i) - bench.output(6 + i)).sum();
            if let Some((momentum_1, outer_1)) = last {
                assert!((momentum - momentum_1 - 0.5 * DT * (outer + outer_1)).abs() < 1e-10);
            }
            last = Some((momentum, outer));
        }
        assert_eq!(bench.state.faults.unconverged, 0);
        assert!(bench.output(3) < -1.0, "{}", bench.output(3));
    }

    #[test]
    fn a_mass_of_three_is_held_by_its_stop() {
        let mut values = ThreeMassLoad::DEFAULTS;
        values[ThreeMassLoad::FRONT_STOP_1] = 0.05;
        let mut bench = mounted(&three(), &values);
        bench.start().line(0, -300.0, 0.0);
        for _ in 0..500 {
            bench.step();
        }
        assert_eq!(bench.state.bonds[0].displacement, 0.05);
        assert!(bench.flow(0).abs() < 1e-6);
        assert_eq!(bench.state.faults.unconverged, 0);
    }
}
