//! How Hopsan moves a body: three recursions that masses and inertias are made of.

use crate::blocks::{FirstOrder, SecondOrder};
use fluxline_core::Constants;
use fluxline_core::component::Step;
use fluxline_core::number::{Mask, Num};

/// An inertia that stays constant during a run.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Inertia<T> {
    /// m or J.
    pub inertia: T,
}

/// A body whose position and speed are two recursions of their own, both by the bilinear rule:
/// x = F/(m·s² + R·s + k), v = (F − k·x)/(m·s + R).
#[derive(Clone, Copy, Debug)]
pub struct Body(
    /// Index of the first of its six remembered values: two forces and two positions, then the
    /// force and the speed that the speed is computed from.
    pub usize,
);

impl Body {
    const fn travel(self) -> SecondOrder {
        SecondOrder(self.0)
    }
    const fn speed(self) -> FirstOrder {
        FirstOrder(self.0 + SecondOrder::MEMORY)
    }

    /// Starts with a force that was constant, the force left when the spring has taken its share,
    /// position and speed.
    #[inline(always)]
    pub fn start<T: Num>(self, io: &mut Step<'_, T>, force: T, net_force: T, x: T, v: T) {
        self.travel().start(io, force, x, v);
        self.speed().start(io, net_force, v);
    }

    /// Position and speed under a force, with inertia m and resistance R.
    #[inline(always)]
    pub fn step<T: Num>(self, io: &mut Step<'_, T>, m: T, resistance: T, force: T) -> (T, T) {
        self.step_sprung(io, m, resistance, (T::zero(), T::zero()), force)
    }

    /// The same with a spring to the ground: its stiffness in the position, and in the speed.
    #[inline(always)]
    pub fn step_sprung<T: Num>(
        self,
        io: &mut Step<'_, T>,
        m: T,
        resistance: T,
        (k_travel, k_speed): (T, T),
        force: T,
    ) -> (T, T) {
        let (zero, one) = (T::zero(), T::one());
        let x = self.travel().under(io, [k_travel, resistance, m], force);
        let v = self.speed().free(io, [one, zero], [resistance, m], force - k_speed * x);
        (x, v)
    }

    /// Holds a position between stops: there the speed is 0, and both recursions begin anew.
    /// Also says where a stop holds it.
    #[inline(always)]
    pub fn stop<T: Num>(
        self,
        io: &mut Step<'_, T>,
        force: T,
        (x, v): (T, T),
        (low, high): (T, T),
    ) -> (T, T, T::Mask) {
        let held = T::select(x.lt(low), low, x);
        let stopped = x.lt(low) | held.gt(high);
        if !stopped.any() {
            return (x, v, stopped);
        }
        let held = T::select(held.gt(high), high, held);
        let v = T::select(stopped, T::zero(), v);
        for (at, fresh) in [force, force, held, held, force, T::zero()].into_iter().enumerate() {
            let old = io.memory(self.0 + at);
            io.set_memory(self.0 + at, T::select(stopped, fresh, old));
        }
        (held, v, stopped)
    }
}

/// A body by the trapezoidal rule: with a = F/m and w = R·T/m,
/// v = ((2 − w)·v₋ + T·(a + a₋))/(2 + w), x += T/2·(v + v₋).
#[derive(Clone, Copy, Debug)]
pub struct Glide(
    /// Index of the first of its three remembered values: acceleration, position, speed.
    pub usize,
);

impl Glide {
    /// Starts with an acceleration, a position and a speed.
    #[inline(always)]
    pub fn start<T: Num>(self, io: &mut Step<'_, T>, a: T, x: T, v: T) {
        io.set_memories(self.0, [a, x, v]);
    }

    /// Position and speed after an acceleration.
    #[inline(always)]
    pub fn step<T: Num>(self, io: &mut Step<'_, T>, w: T, a: T) -> (T, T) {
        let [old_a, old_x, old_v] = io.memories(self.0);
        let two = T::of(2.0);
        let v = ((two - w) * old_v + (a + old_a) * io.dt) / (two + w);
        let x = old_x + (v + old_v) * (0.5 * io.dt);
        self.start(io, a, x, v);
        (x, v)
    }

    /// The same with dry friction, which holds up to `stick` and slows by `slide` (both over the
    /// inertia). One more value is remembered after the three: the direction of motion.
    ///
    /// A body at rest begins to move in the step after the one in which it broke loose; one that
    /// would turn round stops for a step.
    #[inline(always)]
    pub fn step_rubbing<T: Num>(
        self,
        io: &mut Step<'_, T>,
        w: T,
        a: T,
        (stick, slide): (T, T),
    ) -> (T, T) {
        let [old_a, old_x, old_v, way] = io.memories(self.0);
        let (zero, one, two) = (T::zero(), T::one(), T::of(2.0));
        let (forward, backward) = (way.gt(zero), way.lt(zero));
        let at_rest = !(forward | backward);
        let net = a - way * slide;
        let turning = -((two - w) / io.dt) * old_v - old_a;
        let stops = (forward & turning.gt(net)) | (backward & turning.lt(net));
        let moves = !(at_rest | stops);
        let slid = ((two - w) * old_v + (net + old_a) * io.dt) / (two + w);
        let v = T::select(moves, slid, T::select(stops, zero, old_v));
        let x = T::select(moves, old_x + (v + old_v) * (0.5 * io.dt), old_x);
        let loose = T::select(a.ge(stick), one, T::select(a.le(-stick), -one, zero));
        let way = T::select(at_rest, loose, T::select(stops, zero, way));
        self.start(io, T::select(moves, net, old_a), x, v);
        io.set_memory(self.0 + 3, way);
        (x, v)
    }

    /// Holds a position between stops, where the remembered acceleration becomes `a` and the speed
    /// what `rebound` makes of it: away from the rear stop (true) or the front stop (false). Also
    /// says where a stop holds it.
    #[inline(always)]
    pub fn stop<T: Num>(
        self,
        io: &mut Step<'_, T>,
        a: T,
        (x, v): (T, T),
        (low, high): (T, T),
        rebound: impl Fn(T, bool) -> T,
    ) -> (T, T, T::Mask) {
        let under = x.lt(low);
        let (held, left) = (T::select(under, low, x), T::select(under, rebound(v, true), v));
        let over = held.gt(high);
        let stopped = under | over;
        if stopped.any() {
            let (x, v) = (T::select(over, high, held), T::select(over, rebound(left, false), left));
            let a = T::select(stopped, a, io.memory(self.0));
            self.start(io, a, x, v);
            return (x, v, stopped);
        }
        (x, v, stopped)
    }
}

/// Speed at a stop that lets the body leave freely.
#[inline(always)]
pub fn leaves<T: Num>(v: T, at_rear: bool) -> T {
    if at_rear { v.max(T::zero()) } else { v.min(T::zero()) }
}

/// Speed at a stop that takes all of it.
#[inline(always)]
pub fn halts<T: Num>(_: T, _: bool) -> T {
    T::zero()
}

/// Writes the motion of a port: speed, position and the force that follows.
#[inline(always)]
pub fn move_port<T: Num>(io: &mut Step<'_, T>, port: usize, v: T, x: T) {
    let force = io.wave(port) + io.impedance(port) * v;
    io.set_motion(port, v, x, force);
}

/// v of (1 + Q)·v + R·clip(K·v, ±f) = P: a body with dry friction that grows steeply with the
/// speed up to f.
#[inline(always)]
pub fn rubbed<T: Num>(p: T, q: T, r: T, k: T, friction: T) -> T {
    let stuck = p / (T::one() + q + r * k);
    let f = friction.abs();
    let slides = (k * stuck).abs().gt(f);
    let against = f.with_sign_of(k * stuck);
    T::select(slides, (p - r * against) / (T::one() + q), stuck)
}
