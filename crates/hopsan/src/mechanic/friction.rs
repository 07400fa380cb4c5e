//! Bodies with any number of ends, and bodies with dry friction.
//!
//! All are moved by the trapezoidal rule. The ends of port 1 point one way, those of port 2 the
//! other; the position is that of the first end of port 2.

use super::body::{Glide, halts, leaves, move_port};
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<MultiPortTranslationalMass>(),
    ComponentType::of::<RotationalInertiaMultiPort>(),
    ComponentType::of::<MassWithCoulombFriction>(),
    ComponentType::of::<MassWithCoulombFrictionAndMultiPorts>(),
    ComponentType::of::<InertiaWithCoulombFriction>(),
];

/// How many ends there are at port 1 and in all, and the inertia where it is constant.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Ends<T> {
    first: usize,
    all: usize,
    inertia: T,
}

impl Ends<f64> {
    fn new(environment: &Environment, inertia: f64) -> Self {
        let first = environment.places.first().copied().unwrap_or(1);
        Self { first, all: environment.bonds, inertia }
    }
}

/// What a body with many ends feels: net wave, and all impedances.
#[wide]
#[inline(always)]
fn load<T: Num>(first: usize, io: &Step<'_, T>) -> (T, T) {
    let sum = |ports: std::ops::Range<usize>| {
        let mut sums = (T::zero(), T::zero());
        for port in ports {
            sums = (sums.0 + io.wave(port), sums.1 + io.impedance(port));
        }
        sums
    };
    let (one, two) = (sum(0..first), sum(first..io.port_count()));
    (one.0 - two.0, one.1 + two.1)
}

/// Keeps the positions that the ends start at in the history buffer, and tells them the inertia.
#[inline(always)]
fn remember_ends<T: Num>(io: &mut Step<'_, T>, inertia: T) {
    for port in 0..io.port_count() {
        let x = io.displacement(port);
        io.history()[port] = x;
        io.bond_mut(port).dry = inertia;
    }
}

/// Moves all ends with the first of port 2, and tells them the inertia.
#[inline(always)]
fn move_ends<T: Num>(first: usize, io: &mut Step<'_, T>, inertia: T, (x, v): (T, T)) {
    let start = io.history_at(first);
    for port in 0..io.port_count() {
        let own = io.history_at(port);
        if port < first {
            move_port(io, port, -v, own + start - x);
        } else {
            move_port(io, port, v, own - start + x);
        }
        io.bond_mut(port).dry = inertia;
    }
}

/// Mass with any number of ends on either side, viscous friction and end stops.
///
/// m·dv/dt = Σc₁ − Σc₂ − (B + ΣZ)·v by the trapezoidal rule. At a stop only the speed against it is
/// lost.
#[component("hopsan.MechanicMultiPortTranslationalMass", q, constants = Ends)]
pub struct MultiPortTranslationalMass {
    /// rear ends
    #[port(name = "P1", many)]
    p1: Translational,
    /// front ends; the stops refer to the first
    #[port(name = "P2", many, side = "b")]
    p2: Translational,
    /// m — mass [kg]
    #[input(name = "m", default = "100 kg")]
    pub mass: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "B", default = "10 N*s/m")]
    pub friction: f64,
    /// x_min — rear stop [m]
    #[input(name = "x_min", default = "-1e300 m")]
    pub rear_stop: f64,
    /// x_max — front stop [m]
    #[input(name = "x_max", default = "1e300 m")]
    pub front_stop: f64,
    /// – — acceleration one step ago [m/s^2]
    #[memory]
    acceleration_1: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
    /// – — steps at an end stop [–]
    #[memory(counts = "limit")]
    stopped: Memory,
}

impl Physics for MultiPortTranslationalMass {
    const HAS_LAW: bool = false;

    fn prepare(&self, environment: &Environment) -> Result<Ends<f64>, Refusal> {
        Ok(Ends::new(environment, 0.0))
    }

    fn history(k: &Ends<f64>) -> usize {
        k.all
    }

    fn start<T: Num>(k: &Ends<T>, io: &mut Step<'_, T>) {
        let mass = io.input(Self::MASS);
        let (x, v) = (io.displacement(k.first), io.flow(k.first));
        Glide(Self::ACCELERATION_1).start(io, T::zero(), x, v);
        remember_ends(io, mass);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Ends<T>, io: &mut Step<'_, T>) {
        let body = Glide(Self::ACCELERATION_1);
        let mass = io.input(Self::MASS);
        let (force, impedance) = load(k.first, io);
        let damping = (io.input(Self::FRICTION) + impedance) / mass * io.dt;
        let motion = body.step(io, damping, force / mass);
        let stops = (io.input(Self::REAR_STOP), io.input(Self::FRONT_STOP));
        let (x, v, stopped) = body.stop(io, T::zero(), motion, stops, leaves);
        io.count(Self::STOPPED, stopped);
        move_ends(k.first, io, mass, (x, v));
    }
}

/// Inertia with any number of shafts on either side, viscous friction and end stops.
///
/// J·dω/dt = Σc₁ − Σc₂ − (B + ΣZ)·ω by the trapezoidal rule, from rest at angle 0 whatever the
/// shafts start with: they turn by as much as it does.
#[component("hopsan.MechanicRotationalInertiaMultiPort", q, constants = Ends)]
pub struct RotationalInertiaMultiPort {
    /// shafts on one side
    #[port(name = "P1", many)]
    p1: Rotational,
    /// shafts on the other side
    #[port(name = "P2", many, side = "b")]
    p2: Rotational,
    /// J — moment of inertia [kg*m^2]
    #[input(name = "J", default = "100 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "B", default = "10 N*m*s/rad")]
    pub friction: f64,
    /// a_min — lower stop [rad]
    #[input(name = "a_min", default = "-1e300 rad")]
    pub lower_stop: f64,
    /// a_max — upper stop [rad]
    #[input(name = "a_max", default = "1e300 rad")]
    pub upper_stop: f64,
    /// – — angular acceleration one step ago [rad/s^2]
    #[memory]
    acceleration_1: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
    /// – — angular velocity one step ago [rad/s]
    #[memory]
    speed_1: Memory,
    /// – — steps at an end stop [–]
    #[memory(counts = "limit")]
    stopped: Memory,
}

impl Physics for RotationalInertiaMultiPort {
    const HAS_LAW: bool = false;

    fn prepare(&self, environment: &Environment) -> Result<Ends<f64>, Refusal> {
        Ok(Ends::new(environment, 0.0))
    }

    fn history(k: &Ends<f64>) -> usize {
        k.all
    }

    fn start<T: Num>(_: &Ends<T>, io: &mut Step<'_, T>) {
        let inertia = io.input(Self::INERTIA);
        Glide(Self::ACCELERATION_1).start(io, T::zero(), T::zero(), T::zero());
        remember_ends(io, inertia);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Ends<T>, io: &mut Step<'_, T>) {
        let body = Glide(Self::ACCELERATION_1);
        let inertia = io.input(Self::INERTIA);
        let (torque, impedance) = load(k.first, io);
        let damping = (io.input(Self::FRICTION) + impedance) / inertia * io.dt;
        let motion = body.step(io, damping, torque / inertia);
        let stops = (io.input(Self::LOWER_STOP), io.input(Self::UPPER_STOP));
        let (angle, w, stopped) = body.stop(io, T::zero(), motion, stops, halts);
        io.count(Self::STOPPED, stopped);
        move_ends(k.first, io, inertia, (angle, w));
    }
}

/// Declares a mass with dry friction: name, type, comment, what its ports take, and the force that
/// its memory starts with.
macro_rules! rubbing_mass {
    ($name:tt, $mass:ident, $doc:tt, [$($many:ident)?], $start_force:expr) => {
        #[doc = $doc]
        ///
        /// m·dv/dt = c₁ − c₂ − (B + Z₁ + Z₂)·v ∓ f_k by the trapezoidal rule while it moves; at rest
        /// it stays until the waves differ by f_s. At a stop only the speed against it is lost.
        #[component($name, q, constants = Ends)]
        pub struct $mass {
            /// rear end
            #[port(name = "P1", $($many)?)]
            p1: Translational,
            /// front end, whose position the stops refer to
            #[port(name = "P2", side = "b", $($many)?)]
            p2: Translational,
            /// m — mass [kg]
            #[parameter(name = "m", default = "100 kg")]
            pub mass: f64,
            /// B — viscous friction [N*s/m]
            #[input(name = "b", default = "10 N*s/m")]
            pub friction: f64,
            /// f_s — dry friction that holds it at rest [N]
            #[input(name = "f_s", default = "50 N")]
            pub static_friction: f64,
            /// f_k — dry friction while it moves [N]
            #[input(name = "f_k", default = "45 N")]
            pub kinetic_friction: f64,
            /// x_min — rear stop [m]
            #[input(name = "x_min", default = "-1e300 m")]
            pub rear_stop: f64,
            /// x_max — front stop [m]
            #[input(name = "x_max", default = "1e300 m")]
            pub front_stop: f64,
            /// – — acceleration one step ago [m/s^2]
            #[memory]
            acceleration_1: Memory,
            /// – — position one step ago [m]
            #[memory]
            position_1: Memory,
            /// – — speed one step ago [m/s]
            #[memory]
            speed_1: Memory,
            /// – — direction of motion, 0 at rest [–]
            #[memory]
            direction: Memory,
            /// – — steps at an end stop [–]
            #[memory(counts = "limit")]
            stopped: Memory,
        }

        impl Physics for $mass {
            const HAS_LAW: bool = false;

            fn prepare(&self, environment: &Environment) -> Result<Ends<f64>, Refusal> {
                Ok(Ends::new(environment, self.mass))
            }

            fn history(k: &Ends<f64>) -> usize {
                k.all
            }

            fn start<T: Num>(k: &Ends<T>, io: &mut Step<'_, T>) {
                let (x, v) = (io.displacement(k.first), io.flow(k.first));
                let force: T = $start_force(io);
                Glide(Self::ACCELERATION_1).start(io, force, x, v);
                io.set_memory(Self::DIRECTION, T::zero());
                remember_ends(io, k.inertia);
            }

            #[inline(always)]
            fn step<T: Num>(k: &Ends<T>, io: &mut Step<'_, T>) {
                let body = Glide(Self::ACCELERATION_1);
                let (force, impedance) = load(k.first, io);
                let damping = (io.input(Self::FRICTION) + impedance) / k.inertia * io.dt;
                let dry = (
                    io.input(Self::STATIC_FRICTION) / k.inertia,
                    io.input(Self::KINETIC_FRICTION) / k.inertia,
                );
                let motion = body.step_rubbing(io, damping, force / k.inertia, dry);
                let stops = (io.input(Self::REAR_STOP), io.input(Self::FRONT_STOP));
                let (x, v, stopped) = body.stop(io, T::zero(), motion, stops, leaves);
                io.count(Self::STOPPED, stopped);
                move_ends(k.first, io, k.inertia, (x, v));
            }
        }
    };
}

rubbing_mass!(
    "hopsan.MechanicTranslationalMassWithCoulombFriction",
    MassWithCoulombFriction,
    "Mass with dry and viscous friction and end stops.",
    [],
    // a force where an acceleration is remembered: so it is in the original
    |io: &Step<'_, T>| io.effort(0) - io.effort(1)
);
rubbing_mass!(
    "hopsan.MechanicTranslationalMassWithCoulombFrictionAndMultiPorts",
    MassWithCoulombFrictionAndMultiPorts,
    "Mass with any number of ends on either side, dry and viscous friction and end stops.",
    [many],
    |_: &Step<'_, T>| T::zero()
);

/// Dry friction of an inertia.
#[derive(Clone, Copy, Debug, Constants)]
pub struct DryFriction<T> {
    stick: T,
    slide: T,
}

/// Inertia with dry and viscous friction and end stops.
///
/// J·dω/dt = c₁ − c₂ − (B + Z₁ + Z₂)·ω ∓ t_k by the trapezoidal rule while it moves; at rest it stays
/// until the waves differ by t_s. Dry friction is related to the inertia at the start. θ₁ = −θ₂.
#[component("hopsan.MechanicRotationalInertiaWithCoulombFriction", q, constants = DryFriction)]
pub struct InertiaWithCoulombFriction {
    /// one end
    #[port(name = "P1")]
    p1: Rotational,
    /// other end, whose angle the stops refer to
    #[port(name = "P2", side = "b")]
    p2: Rotational,
    /// J — moment of inertia [kg*m^2]
    #[input(name = "J", default = "1 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "B", default = "10 N*m*s/rad")]
    pub friction: f64,
    /// t_s — dry friction that holds it at rest [N*m]
    #[parameter(name = "t_s", default = "50 N*m")]
    pub static_friction: f64,
    /// t_k — dry friction while it moves [N*m]
    #[parameter(name = "t_k", default = "45 N*m")]
    pub kinetic_friction: f64,
    /// a_min — lower stop [rad]
    #[input(name = "a_min", default = "-1e300 rad")]
    pub lower_stop: f64,
    /// a_max — upper stop [rad]
    #[input(name = "a_max", default = "1e300 rad")]
    pub upper_stop: f64,
    /// – — angular acceleration one step ago [rad/s^2]
    #[memory]
    acceleration_1: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
    /// – — angular velocity one step ago [rad/s]
    #[memory]
    speed_1: Memory,
    /// – — direction of motion, 0 at rest [–]
    #[memory]
    direction: Memory,
    /// – — moment of inertia at the start [kg*m^2]
    #[memory]
    start_inertia: Memory,
    /// – — steps at an end stop [–]
    #[memory(counts = "limit")]
    stopped: Memory,
}

impl Physics for InertiaWithCoulombFriction {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<DryFriction<f64>, Refusal> {
        Ok(DryFriction { stick: self.static_friction, slide: self.kinetic_friction })
    }

    fn start<T: Num>(_: &DryFriction<T>, io: &mut Step<'_, T>) {
        let torque = io.effort(Self::P1) - io.effort(Self::P2);
        let (angle, w) = (io.displacement(Self::P2), io.flow(Self::P2));
        Glide(Self::ACCELERATION_1).start(io, torque, angle, w);
        io.set_memory(Self::DIRECTION, T::zero());
        let inertia = io.input(Self::INERTIA);
        io.set_memory(Self::START_INERTIA, inertia);
    }

    #[inline(always)]
    fn step<T: Num>(k: &DryFriction<T>, io: &mut Step<'_, T>) {
        let body = Glide(Self::ACCELERATION_1);
        let inertia = io.input(Self::INERTIA);
        let (torque, impedance) = load(1, io);
        let damping = (io.input(Self::FRICTION) + impedance) / inertia * io.dt;
        let a = torque / inertia;
        let start_inertia = io.memory(Self::START_INERTIA);
        let dry = (k.stick / start_inertia, k.slide / start_inertia);
        let motion = body.step_rubbing(io, damping, a, dry);
        let stops = (io.input(Self::LOWER_STOP), io.input(Self::UPPER_STOP));
        let (angle, w, stopped) = body.stop(io, a, motion, stops, halts);
        io.count(Self::STOPPED, stopped);
        move_port(io, Self::P1, -w, -angle);
        move_port(io, Self::P2, w, angle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    const DT: f64 = 1e-3;

    fn around<M: Physics>(places: [usize; 2]) -> Surroundings {
        Surroundings { places: places.to_vec(), ..Surroundings::of::<M>(DT) }
    }

    #[test]
    fn a_mass_with_many_ends_feels_the_sum_of_their_waves_and_moves_them_together() {
        type Mass = MultiPortTranslationalMass;
        let mass = Mass { mass: 0.0, friction: 0.0, rear_stop: 0.0, front_stop: 0.0 };
        let mut bench = Bench::within(&mass, &around::<Mass>([2, 1])).unwrap();
        bench.input(Mass::MASS, 4.0).input(Mass::FRICTION, 1.0);
        bench.input(Mass::REAR_STOP, -1e300).input(Mass::FRONT_STOP, 0.5);
        for (port, x) in [0.1, 0.2, 0.3].into_iter().enumerate() {
            bench.state.bonds[port].displacement = x;
        }
        bench.start();
        bench.line(0, 30.0, 2.0).line(1, 20.0, 3.0).line(2, 10.0, 4.0).step();
        // m·dv/dt = 40 − (1 + 2 + 3 + 4)·v, the force ramping up within the first step
        let v = 0.5 * DT * 40.0 / 4.0 / (1.0 + 0.5 * DT * 10.0 / 4.0);
        assert!((bench.flow(2) / v - 1.0).abs() < 1e-12);
        assert_eq!(bench.flow(0), bench.flow(1));
        let x = [0, 1, 2].map(|port| bench.state.bonds[port].displacement);
        assert!((x[0] + x[2] - 0.4).abs() < 1e-15 && (x[1] + x[2] - 0.5).abs() < 1e-15);
        for _ in 0..1000 {
            bench.step();
        }
        assert_eq!((bench.state.bonds[2].displacement, bench.flow(2)), (0.5, 0.0));
    }

    #[test]
    fn an_inertia_with_many_shafts_turns_them_all_by_the_same_angle() {
        type Wheel = RotationalInertiaMultiPort;
        let wheel = Wheel { inertia: 0.0, friction: 0.0, lower_stop: 0.0, upper_stop: 0.0 };
        let mut bench = Bench::within(&wheel, &around::<Wheel>([1, 2])).unwrap();
        bench.input(Wheel::INERTIA, 2.0).input(Wheel::LOWER_STOP, -9.0);
        bench.input(Wheel::UPPER_STOP, 9.0);
        bench.state.bonds[2].displacement = 5.0;
        bench.start().line(0, 8.0, 0.0).step().step();
        // a = 4 after a step of ramp: ω = 4·1.5·T
        assert!((bench.flow(2) - 6.0 * DT).abs() < 1e-15);
        let turned = bench.state.bonds[1].displacement;
        assert!((bench.state.bonds[2].displacement - 5.0 - turned).abs() < 1e-15);
        assert_eq!(bench.state.bonds[0].displacement, -turned);
        assert_eq!(bench.state.bonds[1].dry, 2.0);
    }

    #[test]
    fn dry_friction_holds_slows_and_stops() {
        type Mass = MassWithCoulombFriction;
        let mass = Mass {
            mass: 2.0,
            friction: 0.0,
            static_friction: 0.0,
            kinetic_friction: 0.0,
            rear_stop: 0.0,
            front_stop: 0.0,
        };
        let mut bench = Bench::new(&mass, DT);
        for (i, value) in [0.0, 50.0, 40.0, -1.0, 1.0].into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.start().line(0, 49.9, 0.0);
        for _ in 0..100 {
            bench.step();
        }
        assert_eq!(bench.flow(1), 0.0, "held");
        bench.line(0, 60.0, 0.0).step();
        assert_eq!(bench.flow(1), 0.0, "broken loose, moves with the next step");
        for _ in 0..100 {
            bench.step();
        }
        // a = (60 − 40)/2, half of it in the first step
        assert!((bench.flow(1) - 10.0 * 99.5 * DT).abs() < 1e-12);
        bench.line(0, 0.0, 0.0);
        for _ in 0..48 {
            bench.step();
        }
        assert!(bench.flow(1) > 0.0, "slowed by 20 m/s²");
        for _ in 0..4 {
            bench.step();
        }
        assert_eq!(bench.flow(1), 0.0, "it stops and does not turn back");
        let still = bench.state.bonds[1].displacement;
        bench.step();
        assert_eq!(bench.state.bonds[1].displacement, still);
    }

    #[test]
    fn relatives_with_dry_friction_move_alike() {
        type Many = MassWithCoulombFrictionAndMultiPorts;
        let values = [3.0, 50.0, 40.0, -1e300, 1e300];
        let many = Many {
            mass: 2.0,
            friction: 0.0,
            static_friction: 0.0,
            kinetic_friction: 0.0,
            rear_stop: 0.0,
            front_stop: 0.0,
        };
        let mut many = Bench::within(&many, &around::<Many>([2, 1])).unwrap();
        for (i, value) in values.into_iter().enumerate() {
            many.input(i, value);
        }
        many.start().line(0, 40.0, 1.0).line(1, 60.0, 1.0).line(2, 10.0, 1.0);
        type Wheel = InertiaWithCoulombFriction;
        let wheel = Wheel {
            inertia: 0.0,
            friction: 0.0,
            static_friction: 50.0,
            kinetic_friction: 40.0,
            lower_stop: 0.0,
            upper_stop: 0.0,
        };
        let mut wheel = Bench::new(&wheel, DT);
        for (i, value) in [2.0, 3.0, -1e300, 1e300].into_iter().enumerate() {
            wheel.input(i, value);
        }
        wheel.start().line(0, 100.0, 2.0).line(1, 10.0, 1.0);
        for _ in 0..50 {
            many.step();
            wheel.step();
            assert_eq!(many.flow(2), wheel.flow(1));
        }
        assert!(many.flow(2) > 0.0);
        assert!(
            (many.state.bonds[2].displacement - wheel.state.bonds[1].displacement).abs() < 1e-15
        );
    }
}
