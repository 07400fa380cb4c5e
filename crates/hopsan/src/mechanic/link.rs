//! Links that turn straight motion into rotation.

use super::body::move_port;
use crate::blocks::{limit, limit_slope, solve};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[ComponentType::of::<Link>(), ComponentType::of::<Link2>()];

/// Where a link remembers the old parts of its recursions.
const SPEED_PART: usize = 0;
const ANGLE_PART: usize = 1;
const ANGLE_PART_2: usize = 2;
const NEXT_ANGLE_PART_2: usize = 3;

/// A link as it is in this step; the last of its ports is the shaft, the others are straight.
struct Crank<T> {
    inertia: T,
    friction: T,
    length: T,
    offset: T,
    limits: (T, T),
}

/// Waves that drive a link: sum at its straight ports, and at the shaft.
#[derive(Clone, Copy)]
struct Drive<N> {
    wave: N,
    impedance: N,
    shaft_wave: N,
    shaft_impedance: N,
}

impl<T: Num> Crank<T> {
    #[inline(always)]
    fn drive(io: &Step<'_, T>) -> Drive<T> {
        let shaft = io.port_count() - 1;
        let (mut wave, mut impedance) = (T::zero(), T::zero());
        for port in 0..shaft {
            wave += io.wave(port);
            impedance += io.impedance(port);
        }
        let (shaft_wave, shaft_impedance) = (io.wave(shaft), io.impedance(shaft));
        Drive { wave, impedance, shaft_wave, shaft_impedance }
    }

    /// Remembers the old parts: net torque without and with viscous friction, speed, angle.
    #[inline(always)]
    fn remember(&self, io: &mut Step<'_, T>, torque: T, w: T, angle: T) {
        let (j, b, t) = (self.inertia, self.friction, io.dt);
        let net = torque + b * w;
        let speed = (torque * t + (b * t - j * 2.0) * w) / (j * 2.0 + b * t);
        let half = net * (0.25 * t * t) / j;
        let before = io.memory(NEXT_ANGLE_PART_2);
        for (at, value) in [
            (SPEED_PART, speed),
            (ANGLE_PART, half * 2.0 - angle * 2.0),
            (ANGLE_PART_2, before),
            (NEXT_ANGLE_PART_2, half + angle),
        ] {
            io.set_memory(at, value);
        }
    }

    fn start(&self, io: &mut Step<'_, T>) {
        let shaft = io.port_count() - 1;
        let mut force = T::zero();
        for port in 0..shaft {
            force += io.effort(port);
        }
        let (w, angle) = (io.flow(shaft), io.displacement(shaft));
        let torque = io.effort(shaft) - force * self.length * angle.cos();
        // twice, so that both old parts of the angle are those of the start
        self.remember(io, torque, w, angle);
        self.remember(io, torque, w, angle);
        self.step(io);
    }

    #[wide]
    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let shaft = io.port_count() - 1;
        let t = io.dt;
        let drive = Self::drive(io);
        let old_speed = io.memory(SPEED_PART);
        let old_angle = io.memory(ANGLE_PART) + io.memory(ANGLE_PART_2);
        let denominator = self.inertia * 2.0 + self.friction * t;
        let (per_speed, per_angle) =
            (denominator.recip() * t, self.inertia.recip() * (0.25 * t * t));
        // the angle where nothing limits it; the speed follows from it in closed form
        let guess = [io.displacement(shaft)];
        let of = Dual::constant;
        let lifted = Drive {
            wave: of(drive.wave),
            impedance: of(drive.impedance),
            shaft_wave: of(drive.shaft_wave),
            shaft_impedance: of(drive.shaft_impedance),
        };
        let [free] = solve(io, guess, [1.0], |&[angle]| {
            let arm = of(self.length) * angle.cos();
            let w = lifted.speed(arm, of(old_speed), of(per_speed), Dual::of(1.0));
            let net = lifted.torque(arm, w) + of(self.friction) * w;
            [angle + net * of(per_angle) + of(old_angle)]
        });
        let angle = limit(free, self.limits.0, self.limits.1);
        let slope = limit_slope(angle, self.limits.0, self.limits.1);
        let arm = self.length * angle.cos();
        let w = drive.speed(arm, old_speed, per_speed, slope);
        self.remember(io, drive.torque(arm, w), w, angle);
        let (x, v) = (self.offset - self.length * angle.sin(), -(arm * w));
        for port in 0..shaft {
            move_port(io, port, v, x);
            io.bond_mut(port).dry = self.inertia / (arm * arm);
        }
        move_port(io, shaft, w, angle);
        io.bond_mut(shaft).dry = self.inertia;
    }
}

impl<N: Num> Drive<N> {
    /// Torque that the link takes from both sides.
    #[inline(always)]
    fn torque(self, arm: N, w: N) -> N {
        self.shaft_wave + self.shaft_impedance * w - arm * (self.wave - arm * self.impedance * w)
    }
    /// Speed by the bilinear rule, times `slope` where the angle is limited.
    #[inline(always)]
    fn speed(self, arm: N, old: N, per_speed: N, slope: N) -> N {
        let impedance = self.shaft_impedance + arm * arm * self.impedance;
        let wanted = -(per_speed * (self.shaft_wave - arm * self.wave) + old);
        slope * wanted / (N::one() + slope * per_speed * impedance)
    }
}

/// Link with an inertia, driven by a force at its end.
///
/// J·dω/dt = l·cos θ·F₁ − T₂ − B·ω;  v₁ = −l·ω·cos θ, x₁ = x₀ − l·sin θ
///
/// Speed by the bilinear rule, angle by its own recursion over two steps, limited; at a limit the
/// speed is 10⁻⁹ of its value. Takes one step at the start.
#[component("hopsan.MechanicJLink", q)]
pub struct Link {
    /// where the force acts
    #[port(name = "Pm1")]
    p1: Translational,
    /// shaft
    #[port(name = "Pmr2")]
    p2: Rotational,
    /// J — moment of inertia [kg*m^2]
    #[input(name = "JL", default = "1 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "BL", default = "1 N*m*s/rad")]
    pub friction: f64,
    /// l — length of the link [m]
    #[input(name = "link", default = "0.1 m")]
    pub length: f64,
    /// x₀ — position at angle 0 [m]
    #[input(name = "x0", default = "-0.1 m")]
    pub offset: f64,
    /// θ₀ — not used [rad]
    #[input(name = "theta0", default = "0.1 rad")]
    pub unused_angle: f64,
    /// θ_min — smallest angle [rad]
    #[input(name = "thetamin", default = "-1.05 rad")]
    pub least_angle: f64,
    /// θ_max — largest angle [rad]
    #[input(name = "thetamax", default = "1.05 rad")]
    pub most_angle: f64,
    /// – — old part of the speed [rad/s]
    #[memory]
    speed_part: Memory,
    /// – — old part of the angle [rad]
    #[memory]
    angle_part: Memory,
    /// – — old part of the angle from two steps ago [rad]
    #[memory]
    angle_part_2: Memory,
    /// – — the same for the next step [rad]
    #[memory]
    next_angle_part_2: Memory,
}

/// Link with an inertia, driven by forces from both sides of its end: as `MechanicJLink` with
/// F₀ + F₁.
#[component("hopsan.MechanicJLink2", q)]
pub struct Link2 {
    /// where one force acts
    #[port(name = "Pm0")]
    p0: Translational,
    /// where the other force acts
    #[port(name = "Pm1")]
    p1: Translational,
    /// shaft
    #[port(name = "Pmr2")]
    p2: Rotational,
    /// J — moment of inertia [kg*m^2]
    #[input(name = "JL", default = "1 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "BL", default = "1 N*m*s/rad")]
    pub friction: f64,
    /// l — length of the link [m]
    #[input(name = "link", default = "0.1 m")]
    pub length: f64,
    /// x₀ — position at angle 0 [m]
    #[input(name = "x0", default = "-0.1 m")]
    pub offset: f64,
    /// θ_min — smallest angle [rad]
    #[input(name = "thetamin", default = "-1.05 rad")]
    pub least_angle: f64,
    /// θ_max — largest angle [rad]
    #[input(name = "thetamax", default = "1.05 rad")]
    pub most_angle: f64,
    /// – — old part of the speed [rad/s]
    #[memory]
    speed_part: Memory,
    /// – — old part of the angle [rad]
    #[memory]
    angle_part: Memory,
    /// – — old part of the angle from two steps ago [rad]
    #[memory]
    angle_part_2: Memory,
    /// – — the same for the next step [rad]
    #[memory]
    next_angle_part_2: Memory,
}

macro_rules! link {
    ($($link:ident)+) => {$(
        impl $link {
            #[inline(always)]
            fn crank<T: Num>(io: &Step<'_, T>) -> Crank<T> {
                Crank {
                    inertia: io.input(Self::INERTIA),
                    friction: io.input(Self::FRICTION),
                    length: io.input(Self::LENGTH),
                    offset: io.input(Self::OFFSET),
                    limits: (io.input(Self::LEAST_ANGLE), io.input(Self::MOST_ANGLE)),
                }
            }
        }

        impl Physics for $link {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }

            fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                Self::crank(io).start(io);
            }

            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                Self::crank(io).step(io);
            }
        }
    )+};
}
link!(Link Link2);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const DT: f64 = 1e-3;
    const J: f64 = 2.0;
    const B: f64 = 3.0;
    const L: f64 = 0.4;

    fn link() -> Bench<Link> {
        let link = Link {
            inertia: 0.0,
            friction: 0.0,
            length: 0.0,
            offset: 0.0,
            unused_angle: 0.0,
            least_angle: 0.0,
            most_angle: 0.0,
        };
        let mut bench = Bench::new(&link, DT);
        for (i, value) in [J, B, L, 0.1, 0.0, -1.0, 1.0].into_iter().enumerate() {
            bench.input(i, value);
        }
        bench
    }

    #[test]
    fn each_step_satisfies_the_recursion_of_the_link() {
        let mut bench = link();
        bench.state.bonds[1].displacement = 0.3;
        bench.start().line(0, 500.0, 80.0).line(1, 20.0, 7.0);
        let mut last = Vec::new();
        for _ in 0..20 {
            bench.step();
            let (w, angle) = (bench.flow(1), bench.state.bonds[1].displacement);
            let arm = L * angle.cos();
            assert!((bench.flow(0) + arm * w).abs() < 1e-12);
            assert!((bench.state.bonds[0].displacement - (0.1 - L * angle.sin())).abs() < 1e-12);
            assert!((bench.state.bonds[0].dry - J / (arm * arm)).abs() < 1e-9);
            let net = arm * bench.effort(0) - bench.effort(1) - B * w;
            last.push((w, angle, net));
            if let [.., (_, angle_2, net_2), (w_1, angle_1, net_1), (w, angle, net)] = last[..] {
                assert!((J * (w - w_1) - 0.5 * DT * (net + net_1)).abs() < 1e-12);
                let bent = angle - 2.0 * angle_1 + angle_2;
                let pull = 0.25 * DT * DT * (net + 2.0 * net_1 + net_2);
                assert!((J * bent - pull).abs() < 1e-12);
            }
        }
        assert!(bench.flow(1) > 0.1);
    }

    #[test]
    fn a_link_at_its_limit_hardly_moves() {
        let mut bench = link();
        bench.start().line(0, 5000.0, 0.0);
        for _ in 0..200 {
            bench.step();
        }
        assert_eq!(bench.state.bonds[1].displacement, 1.0);
        assert!(bench.flow(1).abs() < 1e-6);
    }

    #[test]
    fn a_link_driven_from_both_sides_feels_the_sum() {
        let both = Link2 {
            inertia: 0.0,
            friction: 0.0,
            length: 0.0,
            offset: 0.0,
            least_angle: 0.0,
            most_angle: 0.0,
        };
        let mut both = Bench::new(&both, DT);
        for (i, value) in [J, B, L, 0.1, -1.0, 1.0].into_iter().enumerate() {
            both.input(i, value);
        }
        both.start().line(0, 200.0, 30.0).line(1, 300.0, 50.0).line(2, 20.0, 7.0);
        let mut one = link();
        one.start().line(0, 500.0, 80.0).line(1, 20.0, 7.0);
        for _ in 0..20 {
            one.step();
            both.step();
            assert!((one.flow(1) - both.flow(2)).abs() < 1e-14);
        }
    }
}
