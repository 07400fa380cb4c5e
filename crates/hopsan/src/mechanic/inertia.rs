//! Inertias with two shafts, and gears with an inertia.

use super::body::{Body, Inertia, move_port};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<RotationalInertia>(),
    ComponentType::of::<InertiaWithGearRatio>(),
    ComponentType::of::<InertiaWithSingleGear>(),
    ComponentType::of::<WormDrive>(),
];

/// Inertia with viscous friction, a spring to the ground and end stops without bounce.
///
/// θ₂ = (c₁ − c₂)/(J·s² + (B + Z₁ + Z₂)·s + k),  ω₂ = (c₁ − c₂ − k·θ₂)/(J·s + B + Z₁ + Z₂),
/// θ₁ = −θ₂
///
/// Angle and speed are two recursions of their own, both by the bilinear rule. The stiffness in the
/// angle is that at the start. At a stop the speed is 0 and both begin anew.
#[component("hopsan.MechanicRotationalInertia", q, constants = Inertia)]
pub struct RotationalInertia {
    /// one end
    #[port(name = "P1")]
    p1: Rotational,
    /// other end, whose angle the stops refer to
    #[port(name = "P2", side = "b")]
    p2: Rotational,
    /// J — moment of inertia [kg*m^2]
    #[parameter(name = "J", default = "0.1 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "B", default = "10 N*m*s/rad")]
    pub friction: f64,
    /// k — stiffness of the spring to the ground [N*m/rad]
    #[input(name = "k", default = "0 N*m/rad")]
    pub stiffness: f64,
    /// a_min — lower stop [rad]
    #[input(name = "a_min", default = "-1e300 rad")]
    pub lower_stop: f64,
    /// a_max — upper stop [rad]
    #[input(name = "a_max", default = "1e300 rad")]
    pub upper_stop: f64,
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
    /// – — torque one step ago, for the speed [N*m]
    #[memory]
    speed_torque_1: Memory,
    /// – — angular velocity one step ago [rad/s]
    #[memory]
    speed_1: Memory,
    /// – — stiffness at the start [N*m/rad]
    #[memory]
    start_stiffness: Memory,
    /// – — steps at an end stop [–]
    #[memory(counts = "limit")]
    stopped: Memory,
}

impl RotationalInertia {
    const BODY: Body = Body(Self::TORQUE_1);
}

impl Physics for RotationalInertia {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Inertia<f64>, Refusal> {
        Ok(Inertia { inertia: self.inertia })
    }

    fn start<T: Num>(_: &Inertia<T>, io: &mut Step<'_, T>) {
        let torque = io.effort(Self::P1) - io.effort(Self::P2);
        let stiffness = io.input(Self::STIFFNESS);
        io.set_memory(Self::START_STIFFNESS, stiffness);
        let net = torque - stiffness * io.displacement(Self::P2);
        let (angle, w) = (-io.displacement(Self::P1), -io.flow(Self::P1));
        Self::BODY.start(io, torque, net, angle, w);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Inertia<T>, io: &mut Step<'_, T>) {
        let torque = io.wave(Self::P1) - io.wave(Self::P2);
        let resistance = io.input(Self::FRICTION) + io.impedance(Self::P1) + io.impedance(Self::P2);
        let springs = (io.memory(Self::START_STIFFNESS), io.input(Self::STIFFNESS));
        let motion = Self::BODY.step_sprung(io, k.inertia, resistance, springs, torque);
        let stops = (io.input(Self::LOWER_STOP), io.input(Self::UPPER_STOP));
        let (angle, w, stopped) = Self::BODY.stop(io, torque, motion, stops);
        io.count(Self::STOPPED, stopped);
        move_port(io, Self::P1, -w, -angle);
        move_port(io, Self::P2, w, angle);
    }
}

/// Declares a gear with an inertia at its second shaft: name, type, comment, default of the
/// inertia, and the ratio at the start and in a step with the net torque that it passes on.
macro_rules! gear {
    ($name:tt, $gear:ident, $inertia:tt, [$($doc:tt),+], $start:expr, $ratio:expr, $net:expr) => {
        $(#[doc = $doc])+
        #[component($name, q, constants = Inertia)]
        pub struct $gear {
            /// driving shaft
            #[port(name = "P1")]
            p1: Rotational,
            /// driven shaft
            #[port(name = "P2", side = "b")]
            p2: Rotational,
            /// U — gear ratio [–]
            #[input(name = "omega", default = 1)]
            pub ratio: f64,
            /// B — viscous friction [N*m*s/rad]
            #[input(name = "B", default = "10 N*m*s/rad")]
            pub friction: f64,
            /// J — moment of inertia at shaft 2 [kg*m^2]
            #[parameter(name = "J", default = $inertia)]
            pub inertia: f64,
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
            /// – — torque one step ago, for the speed [N*m]
            #[memory]
            speed_torque_1: Memory,
            /// – — angular velocity one step ago [rad/s]
            #[memory]
            speed_1: Memory,
        }

        impl Physics for $gear {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<Inertia<f64>, Refusal> {
                Ok(Inertia { inertia: self.inertia })
            }

            fn start<T: Num>(_: &Inertia<T>, io: &mut Step<'_, T>) {
                let ratio: T = $start(io.input(Self::RATIO));
                let torque = ratio * io.effort(Self::P1) - io.effort(Self::P2);
                let (angle, w) = (io.displacement(Self::P2), io.flow(Self::P2));
                Body(Self::TORQUE_1).start(io, torque, torque, angle, w);
            }

            #[inline(always)]
            fn step<T: Num>(k: &Inertia<T>, io: &mut Step<'_, T>) {
                let ratio: T = $ratio(io.input(Self::RATIO));
                let resistance = io.input(Self::FRICTION)
                    + ratio * ratio * io.impedance(Self::P1)
                    + io.impedance(Self::P2);
                let torque: T = $net(ratio * io.wave(Self::P1) - io.wave(Self::P2));
                let (angle, w) = Body(Self::TORQUE_1).step(io, k.inertia, resistance, torque);
                move_port(io, Self::P1, -w * ratio, -angle * ratio);
                move_port(io, Self::P2, w, angle);
            }
        }
    };
}

gear!(
    "hopsan.MechanicRotationalInertiaWithGearRatio",
    InertiaWithGearRatio,
    "1 kg*m^2",
    [
        "Gear of two stages with an inertia at shaft 2: both shafts turn the same way.",
        "",
        "θ₂ = (U·c₁ − c₂)/(J·s² + R·s), ω₂ = (U·c₁ − c₂)/(J·s + R), R = B + U²·Z₁ + Z₂; ω₁ = −U·ω₂"
    ],
    |u: T| u,
    |u: T| u,
    |torque: T| torque
);
gear!(
    "hopsan.MechanicRotationalInertiaWithSingleGear",
    InertiaWithSingleGear,
    "0.1 kg*m^2",
    [
        "Gear of one stage with an inertia at shaft 2: the shafts turn opposite ways.",
        "",
        "As `MechanicRotationalInertiaWithGearRatio` with the negative ratio."
    ],
    |u: T| -u,
    |u: T| -u,
    |torque: T| torque
);
gear!(
    "hopsan.MechanicWormDrive",
    WormDrive,
    "0.1 kg*m^2",
    [
        "Worm gear with an inertia at shaft 2, which cannot be driven from there: a negative net",
        "torque does nothing.",
        "",
        "As `MechanicRotationalInertiaWithGearRatio` with max(U·c₁ − c₂, 0); its memory starts with",
        "the negative ratio."
    ],
    |u: T| -u,
    |u: T| u,
    |torque: T| torque.max(T::zero())
);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const DT: f64 = 1e-3;

    #[test]
    fn an_inertia_under_torque_and_friction_follows_the_exponential() {
        let inertia = RotationalInertia {
            inertia: 0.5,
            friction: 0.0,
            stiffness: 0.0,
            lower_stop: 0.0,
            upper_stop: 0.0,
        };
        let mut bench = Bench::new(&inertia, DT);
        bench.input(RotationalInertia::FRICTION, 2.0);
        bench.input(RotationalInertia::LOWER_STOP, -1e300);
        bench.input(RotationalInertia::UPPER_STOP, 1e300);
        bench.state.bonds[0].effort = 12.0;
        bench.start().line(0, 12.0, 1.0).line(1, 0.0, 3.0);
        for _ in 0..100 {
            bench.step();
        }
        // J·ω' = 12 − (2 + 1 + 3)·ω
        let expected = 2.0 * (1.0 - (-0.1f64 * 6.0 / 0.5).exp());
        assert!((bench.flow(1) / expected - 1.0).abs() < 1e-4);
        assert_eq!(bench.state.bonds[0].displacement, -bench.state.bonds[1].displacement);
        bench.input(RotationalInertia::UPPER_STOP, 0.05).step();
        assert_eq!((bench.state.bonds[1].displacement, bench.flow(1)), (0.05, 0.0));
    }

    #[test]
    fn gears_pass_on_power_and_turn_by_their_ratio() {
        fn steady<M: Physics>(gear: &M, ratio: f64) -> f64 {
            let mut bench = Bench::new(gear, DT);
            bench.input(0, ratio).start().line(0, 8.0, 2.0).line(1, -3.0, 5.0);
            for _ in 0..5000 {
                bench.step();
            }
            let power = bench.effort(0) * bench.flow(0) + bench.effort(1) * bench.flow(1);
            assert!(power.abs() < 1e-9, "steady, without friction: {power}");
            assert!((bench.state.bonds[0].displacement.abs() > 0.0));
            bench.flow(0) / bench.flow(1)
        }
        let two = InertiaWithGearRatio { ratio: 0.0, friction: 0.0, inertia: 1.0 };
        let one = InertiaWithSingleGear { ratio: 0.0, friction: 0.0, inertia: 1.0 };
        let worm = WormDrive { ratio: 0.0, friction: 0.0, inertia: 1.0 };
        assert!((steady(&two, 3.0) + 3.0).abs() < 1e-12);
        assert!((steady(&one, 3.0) - 3.0).abs() < 1e-12);
        assert!((steady(&worm, 3.0) + 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_worm_drive_is_not_driven_backwards() {
        let worm = WormDrive { ratio: 0.0, friction: 0.0, inertia: 1.0 };
        let mut bench = Bench::new(&worm, DT);
        bench.input(0, 10.0).start().line(0, 0.0, 0.0).line(1, 100.0, 0.0);
        for _ in 0..10 {
            bench.step();
        }
        assert_eq!(bench.flow(1), 0.0);
    }
}
