//! A body with one degree of freedom: masses, inertias, and what transmits motion at a ratio.

use super::{Kernel, Settles, beyond};
use crate::friction::{Friction, FrictionModel, FrictionParameters, grip, hold};
use crate::stops::{hold_motion, settle_rate};
use fluxline_core::Constants;
use fluxline_core::component::{BalanceRole, Environment, Law, Refusal, Settle, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;

/// A rigid body whose port i moves with arm r_i: v_i = r_i·v, counted out of the body.
///
/// m·dv/dt = Σg_i − B·v − F_friction − F_load,  g_i = −r_i·F_i,  dx/dt = v
///
/// Trapezoidal rule, solved with the line ends in closed form; sticking is exact. Without mass the
/// forces balance in every step, v = (Σg_i − F_load)/B with the line ends' impedances in B. Power
/// that enters at a port is reduced by the efficiency: a load-dependent dry friction
/// (1−η)·Σ|g_i| over the ports that drive, taken at last step's velocity.
///
/// Order: ports a, b; input load (if any); states x, v, bristle deflection (if the law has one);
/// memory: steps at a stop (if it has stops), share of dry friction that holds in the lumped view.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Body<T> {
    mass: T,
    /// 1/m, 0 without mass.
    inverse_mass: T,
    /// 2·m/T.
    momentum: T,
    damping: T,
    friction: Friction<T>,
    /// Constant force against positive motion.
    weight: T,
    arms: [T; 2],
    squared_arms: [T; 2],
    /// 1 − η.
    loss: T,
    low: T,
    high: T,
    restitution: T,
    half_step: f64,
    has_load: bool,
    has_loss: bool,
    has_stops: bool,
}

/// What a [`Body`] is made from; the default is a free body without mass.
#[derive(Clone, Copy, Debug)]
pub struct BodyParameters {
    /// m.
    pub mass: f64,
    /// B.
    pub damping: f64,
    /// Dry friction; only for components with a third state.
    pub friction: Option<FrictionParameters>,
    /// Constant force against positive motion.
    pub weight: f64,
    /// Velocity out of port a and b per velocity of the body.
    pub arms: [f64; 2],
    /// η, for components that have one.
    pub efficiency: Option<f64>,
    /// Rear and front stop and the coefficient of restitution there; only for components that
    /// count stops in their first memory.
    pub stops: Option<(f64, f64, f64)>,
    /// The first input is a load against positive motion.
    pub has_load: bool,
}

impl Default for BodyParameters {
    fn default() -> Self {
        Self {
            mass: 0.0,
            damping: 0.0,
            friction: None,
            weight: 0.0,
            arms: [-1.0, 1.0],
            efficiency: None,
            stops: None,
            has_load: false,
        }
    }
}

/// Viscous friction that a body without mass has at least, N·s/m: its motion between two ideal
/// forces is defined, and nothing else notices.
const MASSLESS_DAMPING: f64 = 1e-6;

/// States.
const X: usize = 0;
const V: usize = 1;
const BRISTLES: usize = 2;
/// Memory.
const STOPPED: usize = 0;

impl Body<f64> {
    /// Computes the constants.
    pub fn new(p: &BodyParameters, environment: &Environment) -> Result<Self, Refusal> {
        let massless = p.mass == 0.0;
        let none = FrictionParameters {
            model: FrictionModel::None,
            coulomb: 0.0,
            at_rest: None,
            stribeck_velocity: 1.0,
            bristle_stiffness: 1.0,
            bristle_damping: 0.0,
        };
        let (low, high, restitution) = p.stops.unwrap_or((-1e300, 1e300, 0.0));
        Ok(Self {
            mass: p.mass,
            inverse_mass: if massless { 0.0 } else { 1.0 / p.mass },
            momentum: 2.0 * p.mass / environment.step,
            damping: p.damping.max(if massless { MASSLESS_DAMPING } else { 0.0 }),
            friction: Friction::new(p.friction.as_ref().unwrap_or(&none))?,
            weight: p.weight,
            arms: p.arms,
            squared_arms: p.arms.map(|r| r * r),
            loss: 1.0 - p.efficiency.unwrap_or(1.0),
            low,
            high,
            restitution,
            half_step: 0.5 * environment.step,
            has_load: p.has_load,
            has_loss: p.efficiency.is_some(),
            has_stops: p.stops.is_some(),
        })
    }
}

impl<T: Num> Body<T> {
    /// Load-dependent friction against positive and against negative motion.
    #[inline(always)]
    fn losses(&self, forces: [T; 2]) -> (T, T) {
        let zero = T::zero();
        if !self.has_loss {
            return (zero, zero);
        }
        let [a, b] = forces;
        (self.loss * (zero.max(a) + zero.max(b)), -(self.loss * (zero.min(a) + zero.min(b))))
    }

    /// Writes position and velocity to both ports; `grip` is the share of the line's dry friction
    /// that acts, from −1 to 1.
    #[inline(always)]
    fn move_ports(&self, io: &mut Step<'_, T>, x: T, v: T, grip: T) {
        for port in 0..2 {
            let arm = self.arms[port];
            let bond = io.bond_mut(port);
            bond.flow = arm * v;
            bond.displacement = arm * x;
            bond.effort = bond.wave + bond.impedance * bond.flow + bond.dry * (grip * arm.sign());
        }
    }
}

/// What a body does where it stands.
struct Motion<T> {
    velocity: T,
    acceleration: T,
    /// What is left of the drive where dry friction holds, N.
    beyond_hold: T,
    /// The share of dry friction that acts: at rest, what it takes to hold the body.
    share: T,
    deflection_rate: T,
}

impl<T: Num> Body<T> {
    /// Where the share of dry friction that holds is remembered.
    #[inline(always)]
    fn held(&self) -> usize {
        usize::from(self.has_stops)
    }

    /// Motion by efforts, load, states and memory.
    #[wide]
    #[inline(always)]
    fn motion(&self, effort: &[T], input: &[T], state: &[T], memory: &[T]) -> Motion<T> {
        let forces = [0, 1].map(|port| -(self.arms[port] * effort[port]));
        let mut drive = forces[0] + forces[1] - self.weight;
        if self.has_load {
            drive -= input[0];
        }
        let (up, down) = self.losses(forces);
        let floating = beyond(drive, up, down) / self.damping;
        let v = T::select(self.mass.gt(T::zero()), state[V], floating);
        let deflection = if self.friction.has_bristles() { state[BRISTLES] } else { T::zero() };
        // What neither rubs nor loses has nothing to remember.
        let held = memory.get(self.held()).copied().unwrap_or(T::zero());
        let (friction, deflection_rate) = self.friction.law(v, deflection, held);
        let share = grip(v, held);
        let loss = T::select(share.lt(T::zero()), down, up) * share;
        let sliding = drive - self.damping * v - friction - loss;
        let dry = self.friction.dry(v);
        let most = dry + T::select(drive.lt(T::zero()), down, up);
        let holding = drive / (most + f64::MIN_POSITIVE);
        Motion {
            share: T::select(v.abs().le(T::zero()), holding, share),
            velocity: v,
            acceleration: sliding * self.inverse_mass,
            beyond_hold: beyond(drive - friction, dry + up, dry + down),
            deflection_rate,
        }
    }

    fn write(&self, law: &mut Law<'_, T>, x: T, motion: &Motion<T>) {
        law.rate[X] = motion.velocity;
        law.rate[V] = motion.acceleration;
        // A component without friction may have no third state.
        if let Some(rate) = law.rate.get_mut(BRISTLES) {
            *rate = motion.deflection_rate;
        }
        for port in 0..2 {
            law.flow[port] = self.arms[port] * motion.velocity;
            law.displacement[port] = self.arms[port] * x;
        }
    }
}

impl Settles for Body<f64> {
    fn settles(&self) -> bool {
        let stops = self.has_stops && (self.low > -1e299 || self.high < 1e299);
        stops || self.friction.sticks() || self.has_loss
    }

    // As in a step: what the drive alone gives within two main steps is no impact.
    fn settle(&self, settle: &mut Settle<'_>) {
        let motion = self.motion(settle.effort, settle.input, settle.state, settle.memory);
        if let Some(held) = settle.memory.get_mut(self.held()) {
            *held = hold(motion.share, motion.velocity);
        }
        if !self.has_stops {
            return;
        }
        settle_rate(&mut settle.state[X], (self.low, self.high));
        let (x, v) = (settle.state[X], settle.state[V]);
        if (x <= self.low && v < 0.0) || (x >= self.high && v > 0.0) {
            let impact = v.abs() > motion.acceleration.abs() * (4.0 * self.half_step);
            settle.state[V] = if impact { -(self.restitution * v) } else { 0.0 };
        }
    }

    fn show(&self, settle: &mut Settle<'_>) {
        let motion = self.motion(settle.effort, settle.input, settle.state, settle.memory);
        settle.state[V] = motion.velocity;
        if self.has_stops {
            let (x, a) = (settle.state[X], motion.acceleration);
            let pressed = (x <= self.low && a < 0.0) || (x >= self.high && a > 0.0);
            settle.count(STOPPED, pressed);
        }
    }
}

impl<T: Num> Kernel<T> for Body<T> {
    const ROLE: BalanceRole = BalanceRole::Storage;

    // Ports move as the position does, so that no oil is lost where a stop holds.
    fn law(&self, law: &mut Law<'_, T>) {
        let mut motion = self.motion(law.effort, law.input, law.state, law.memory);
        let mut x = law.state[X];
        if self.has_stops {
            let (v, a) = (motion.velocity, motion.acceleration);
            let range = (self.low, self.high);
            (motion.velocity, motion.acceleration) = hold_motion(x, v, a, range, T::zero());
            x = x.clamp(self.low, self.high);
        }
        self.write(law, x, &motion);
    }

    // At rest dry friction takes what the drive gives, up to its amplitude; the step finds stops.
    fn start_law(&self, law: &mut Law<'_, T>) {
        let mut motion = self.motion(law.effort, law.input, law.state, law.memory);
        let rests = motion.velocity.abs().le(T::zero());
        let at_rest = motion.beyond_hold * self.inverse_mass;
        motion.acceleration = T::select(rests, at_rest, motion.acceleration);
        self.write(law, law.state[X], &motion);
    }

    fn start(&self, io: &mut Step<'_, T>) {
        let (x, v) = (io.state(X), io.state(V));
        for port in 0..2 {
            let (arm, effort) = (self.arms[port], io.effort(port));
            io.set_motion(port, arm * v, arm * x, effort);
        }
    }

    #[wide]
    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let zero = T::zero();
        let (old_x, old_v) = (io.state(X), io.state(V));
        let mut drive = -(self.arms[0] * io.wave(0)) - self.arms[1] * io.wave(1) - self.weight;
        if self.has_load {
            drive -= io.input(0);
        }
        let mut resistance = self.damping
            + self.squared_arms[0] * io.impedance(0)
            + self.squared_arms[1] * io.impedance(1);
        let line_dry = self.arms[0].abs() * io.dry(0) + self.arms[1].abs() * io.dry(1);
        let dry = self.friction.dry(old_v) + line_dry;
        let (mut hold_up, mut hold_down) = (dry, dry);
        if self.has_loss {
            let (up, down) = self.losses([0, 1].map(|port| {
                let arm = self.arms[port];
                -(arm * (io.wave(port) + io.impedance(port) * arm * old_v))
            }));
            hold_up += up;
            hold_down += down;
        }
        let bristles = if self.friction.has_bristles() {
            let bristles = self.friction.bristles(io.state(BRISTLES), old_v, io.dt);
            drive -= bristles.wave;
            resistance += bristles.impedance;
            Some(bristles)
        } else {
            None
        };

        // v·(2m/T + R) = 2m/T·v₀ + m·a₀ + drive − dry·sign(v)
        let pull = self.momentum * old_v + self.mass * io.rate(V) + drive;
        let mut v = beyond(pull, hold_up, hold_down) / (self.momentum + resistance);
        let acceleration_at = |v: T| {
            let friction = T::select(v.lt(zero), -hold_down, hold_up);
            let sliding = (drive - resistance * v - friction) * self.inverse_mass;
            T::select(v.abs().le(zero), zero, sliding)
        };
        let mut acceleration = acceleration_at(v);
        let mut x = old_x + (old_v + v) * self.half_step;
        if self.has_stops {
            let at_stop = x.lt(self.low) | x.gt(self.high);
            if at_stop.any() {
                x = T::select(at_stop, x.clamp(self.low, self.high), x);
                // What the drive alone gives within two steps is no impact: no rebound.
                let impact = v.abs().gt(acceleration.abs() * (4.0 * self.half_step));
                let after = T::select(impact, -(self.restitution * v), zero);
                v = T::select(at_stop, after, v);
                acceleration = T::select(at_stop, acceleration_at(v), acceleration);
                io.count(STOPPED, at_stop);
            }
        }
        io.set_state(X, x);
        io.set_state(V, v);
        io.set_rate(X, v);
        io.set_rate(V, acceleration);
        if let Some(bristles) = bristles {
            let deflection = bristles.deflection_at(v);
            io.set_state(BRISTLES, deflection);
            io.set_rate(BRISTLES, self.friction.law(v, deflection, zero).1);
        }
        let mut grip = zero;
        if line_dry.gt(zero).any() {
            let hold = T::select(pull.lt(zero), hold_down, hold_up);
            let held = (pull / (hold + f64::MIN_POSITIVE)).clamp_to(-1.0, 1.0);
            grip = T::select(v.abs().le(zero), held, v.sign());
        }
        self.move_ports(io, x, v, grip);
    }

    fn energy(&self, io: &Step<'_, T>) -> T {
        let bristles = if self.friction.has_bristles() {
            self.friction.energy(io.state(BRISTLES))
        } else {
            T::zero()
        };
        self.mass * io.state(V).squared() * 0.5 + self.weight * io.state(X) + bristles
    }
}
