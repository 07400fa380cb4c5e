//! Moving mass.

use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::{Constants, component};

/// A mass that moves along its axis, with viscous and dry friction, end stops and a load force.
///
/// m·dv/dt = F_a − F_b − B·v − F_c·sign(v) − F_load,  dx/dt = v
///
/// Trapezoidal rule, solved with the line ends in closed form; sticking is exact. At a stop the
/// mass loses its velocity (no rebound). Krus, lecture slides (Linköping University).
#[component("translational.mass", q, constants = MassConstants, also = "hopsan:MechanicTranslationalMass")]
pub struct Mass {
    /// rear end
    #[port(optional, also = "P1")]
    a: Translational,
    /// front end
    #[port(optional, also = "P2")]
    b: Translational,
    /// m — mass [kg]
    #[parameter(default = "100 kg", min = ">0 kg", also = "m")]
    pub mass: f64,
    /// B — viscous friction [N*s/m]
    #[parameter(default = "0 N*s/m", min = "0 N*s/m", also = "B")]
    pub damping: f64,
    /// F_c — dry friction [N]
    #[parameter(default = "0 N", min = "0 N")]
    pub dry_friction: f64,
    /// x_min — rear stop [m]
    #[parameter(default = "-1e300 m", also = "x_min")]
    pub min_position: f64,
    /// x_max — front stop [m]
    #[parameter(default = "1e300 m", also = "x_max")]
    pub max_position: f64,
    /// x₀ — position at the start [m]
    #[parameter(default = "0 m")]
    pub start_position: f64,
    /// v₀ — velocity at the start [m/s]
    #[parameter(default = "0 m/s")]
    pub start_velocity: f64,
    /// F_load — force against positive motion, such as weight [N]
    #[input(default = "0 N")]
    pub load: f64,
    /// x — position [m]
    #[state(start = "start_position")]
    x: State,
    /// v — velocity [m/s]
    #[state(start = "start_velocity")]
    v: State,
    /// – — steps at a stop [–]
    #[memory(counts = "limit")]
    stopped: Memory,
}

/// Constants of [`Mass`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct MassConstants<T> {
    inverse_mass: T,
    mass: T,
    /// T/(2·m).
    half_step_per_mass: T,
    damping: T,
    dry_friction: T,
    min_position: T,
    max_position: T,
    start_position: T,
    start_velocity: T,
    half_step: f64,
}

impl Physics for Mass {
    fn prepare(&self, environment: &Environment) -> Result<MassConstants<f64>, Refusal> {
        if self.min_position >= self.max_position {
            return Err(Refusal::new(
                "max_position",
                format!(
                    "the front stop ({} m) is not in front of the rear stop ({} m)",
                    self.max_position, self.min_position
                ),
                "give max_position a larger value than min_position",
            ));
        }
        Ok(MassConstants {
            inverse_mass: 1.0 / self.mass,
            mass: self.mass,
            half_step_per_mass: 0.5 * environment.step / self.mass,
            damping: self.damping,
            dry_friction: self.dry_friction,
            min_position: self.min_position,
            max_position: self.max_position,
            start_position: self.start_position,
            start_velocity: self.start_velocity,
            half_step: 0.5 * environment.step,
        })
    }

    fn law<T: Num>(k: &MassConstants<T>, law: &mut Law<'_, T>) {
        let v = law.state[Self::V];
        let drive =
            law.effort[Self::A] - law.effort[Self::B] - law.input[Self::LOAD] - k.damping * v;
        // In the continuous view dry friction is smoothed below 10 µm/s.
        let friction = k.dry_friction * (v / 1e-5).clamp_to(-1.0, 1.0);
        law.rate[Self::V] = (drive - friction) * k.inverse_mass;
        law.rate[Self::X] = v;
        law.flow[Self::A] = -v;
        law.flow[Self::B] = v;
        law.displacement[Self::A] = -law.state[Self::X];
        law.displacement[Self::B] = law.state[Self::X];
    }

    fn start<T: Num>(k: &MassConstants<T>, io: &mut Step<'_, T>) {
        let (x, v) = (k.start_position, k.start_velocity);
        for (port, sign) in [(Self::A, -1.0), (Self::B, 1.0)] {
            let effort = io.effort(port);
            io.set_motion(port, v * sign, x * sign, effort);
        }
    }

    #[inline]
    fn step<T: Num>(k: &MassConstants<T>, io: &mut Step<'_, T>) {
        let (old_x, old_v) = (io.state(Self::X), io.state(Self::V));
        let (za, zb) = (io.impedance(Self::A), io.impedance(Self::B));
        let drive = io.wave(Self::A) - io.wave(Self::B) - io.input(Self::LOAD);
        let dry = k.dry_friction + io.dry(Self::A) + io.dry(Self::B);
        let resistance = k.damping + za + zb;
        // v·(1 + T/2m·R) = v₀ + T/2·a₀ + T/2m·(drive − dry·sign(v))
        let pull = old_v + io.rate(Self::V) * k.half_step + drive * k.half_step_per_mass;
        let hold = dry * k.half_step_per_mass;
        let free = (pull.abs() - hold).max(T::zero()).with_sign_of(pull);
        let mut v = free / (resistance * k.half_step_per_mass + 1.0);
        let friction = T::select(v.lt(T::zero()), -dry, dry);
        let moving = v.abs().gt(T::zero());
        let mut acceleration =
            T::select(moving, (drive - resistance * v - friction) * k.inverse_mass, T::zero());
        let mut x = old_x + (old_v + v) * k.half_step;
        let (low, high) = (x.lt(k.min_position), x.gt(k.max_position));
        if (low | high).any() {
            let at_stop = low | high;
            x = x.clamp(k.min_position, k.max_position);
            v = T::select(at_stop, T::zero(), v);
            acceleration = T::select(at_stop, T::zero(), acceleration);
            io.count(Self::STOPPED, at_stop);
        }
        io.set_state(Self::X, x);
        io.set_state(Self::V, v);
        io.set_rate(Self::X, v);
        io.set_rate(Self::V, acceleration);
        // Friction of a line that holds the mass takes what is missing to balance, at most `dry`.
        let (force_a, force_b) = (io.wave(Self::A) - za * v, io.wave(Self::B) + zb * v);
        io.set_motion(Self::A, -v, -x, force_a - io.dry(Self::A) * Self::direction(v));
        io.set_motion(Self::B, v, x, force_b + io.dry(Self::B) * Self::direction(v));
    }

    const ROLE: BalanceRole = BalanceRole::Storage;

    fn energy<T: Num>(k: &MassConstants<T>, io: &Step<'_, T>) -> T {
        io.state(Self::V).squared() * k.mass * 0.5
    }
}

impl Mass {
    fn direction<T: Num>(v: T) -> T {
        let zero = T::zero();
        T::select(v.gt(zero), T::one(), T::select(v.lt(zero), T::of(-1.0), zero))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;
    use proptest::prelude::*;

    fn mass() -> Mass {
        Mass {
            mass: 50.0,
            damping: 0.0,
            dry_friction: 0.0,
            min_position: -1e300,
            max_position: 1e300,
            start_position: 0.0,
            start_velocity: 0.0,
            load: 0.0,
        }
    }

    #[test]
    fn constant_force_accelerates_as_newton_says() {
        let mut bench = Bench::new(&mass(), 1e-3);
        bench.line(Mass::A, 100.0, 0.0).line(Mass::B, 0.0, 0.0).set_state(2 + Mass::V, 2.0);
        for _ in 0..1000 {
            bench.step();
        }
        assert!((bench.get_state(Mass::V) - 2.0).abs() < 1e-12);
        assert!((bench.get_state(Mass::X) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn dry_friction_holds_until_it_is_overcome() {
        let mut bench = Bench::new(&Mass { dry_friction: 20.0, ..mass() }, 1e-3);
        bench.line(Mass::A, 19.9, 1e3).line(Mass::B, 0.0, 1e3);
        for _ in 0..100 {
            bench.step();
        }
        assert_eq!(bench.get_state(Mass::V), 0.0);
        bench.line(Mass::A, 20.1, 1e3).step();
        assert!(bench.get_state(Mass::V) > 0.0);
    }

    #[test]
    fn mass_stops_at_its_stop_and_stays() {
        let mut bench = Bench::new(&Mass { max_position: 0.1, ..mass() }, 1e-3);
        bench.line(Mass::A, 1000.0, 0.0);
        for _ in 0..1000 {
            bench.step();
        }
        assert_eq!(bench.get_state(Mass::X), 0.1);
        assert_eq!(bench.get_state(Mass::V), 0.0);
        assert!(bench.state.states[4] > 0.0, "stops are counted");
    }

    proptest! {
        /// The closed form is the generic implicit step, where nothing sticks or stops.
        #[test]
        fn closed_form_equals_the_generic_step(
            ca in -1e4..1e4f64, cb in -1e4..1e4f64, za in 0.0..1e5f64, zb in 0.0..1e5f64,
            v in -2.0..2.0f64, a in -10.0..10.0f64, damping in 0.0..1e3f64, load in -1e3..1e3f64,
        ) {
            let component = Mass { damping, ..mass() };
            let mount = || {
                let mut bench = Bench::new(&component, 1e-3);
                bench.line(Mass::A, ca, za).line(Mass::B, cb, zb).input(Mass::LOAD, load);
                bench.set_state(Mass::V, v).set_state(Mass::X, 0.3);
                bench.set_state(2 + Mass::V, a).set_state(2 + Mass::X, v);
                bench
            };
            let (mut closed, mut generic) = (mount(), mount());
            closed.step();
            generic.step_generic();
            for i in 0..4 {
                let (c, g) = (closed.get_state(i), generic.get_state(i));
                prop_assert!((c - g).abs() <= 1e-10 * (1.0 + g.abs()), "state {i}: {c} {g}");
            }
            for port in 0..2 {
                let (c, g) = (closed.effort(port), generic.effort(port));
                prop_assert!((c - g).abs() <= 1e-9 * (1.0 + g.abs()));
            }
        }
    }
}
