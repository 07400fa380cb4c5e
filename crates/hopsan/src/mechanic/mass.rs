//! Masses with two ends, and what joins two ends without a mass.

use super::body::{Body, Glide, Inertia, move_port};
use crate::blocks::Integrator;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<TranslationalMass>(),
    ComponentType::of::<Pulley>(),
    ComponentType::of::<MassWithLever>(),
    ComponentType::of::<LosslessConnector>(),
];

/// Mass with viscous friction, a spring to the ground and end stops without bounce.
///
/// x₂ = (c₁ − c₂)/(m·s² + (B + Z₁ + Z₂)·s + k),  v₂ = (c₁ − c₂ − k·x₂)/(m·s + B + Z₁ + Z₂)
///
/// Position and speed are two recursions of their own, both by the bilinear rule. At a stop the
/// speed is 0 and both begin anew.
#[component("hopsan.MechanicTranslationalMass", q, constants = Inertia)]
pub struct TranslationalMass {
    /// rear end
    #[port(name = "P1")]
    p1: Translational,
    /// front end, whose position the stops refer to
    #[port(name = "P2", side = "b")]
    p2: Translational,
    /// m — mass [kg]
    #[parameter(name = "m", default = "100 kg")]
    pub mass: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "B", default = "10 N*s/m")]
    pub friction: f64,
    /// k — stiffness of the spring to the ground [N/m]
    #[input(name = "k", default = "0 N/m")]
    pub stiffness: f64,
    /// x_min — rear stop [m]
    #[input(name = "x_min", default = "-1e300 m")]
    pub rear_stop: f64,
    /// x_max — front stop [m]
    #[input(name = "x_max", default = "1e300 m")]
    pub front_stop: f64,
    /// – — force one step ago, for the position [N]
    #[memory]
    force_1: Memory,
    /// – — force two steps ago [N]
    #[memory]
    force_2: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// – — position two steps ago [m]
    #[memory]
    position_2: Memory,
    /// – — force one step ago, for the speed [N]
    #[memory]
    speed_force_1: Memory,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
    /// L — sum of the positions of both ends [m]
    #[memory]
    length: Memory,
    /// – — steps at an end stop [–]
    #[memory(counts = "limit")]
    stopped: Memory,
}

impl TranslationalMass {
    const BODY: Body = Body(Self::FORCE_1);
}

impl Physics for TranslationalMass {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Inertia<f64>, Refusal> {
        Ok(Inertia { inertia: self.mass })
    }

    fn start<T: Num>(k: &Inertia<T>, io: &mut Step<'_, T>) {
        let force = io.effort(Self::P1) - io.effort(Self::P2);
        let (x, v) = (io.displacement(Self::P2), io.flow(Self::P2));
        let length = io.displacement(Self::P1) + x;
        io.set_memory(Self::LENGTH, length);
        let net = force - io.input(Self::STIFFNESS) * x;
        Self::BODY.start(io, force, net, x, v);
        for port in [Self::P1, Self::P2] {
            io.bond_mut(port).dry = k.inertia;
        }
    }

    #[inline(always)]
    fn step<T: Num>(k: &Inertia<T>, io: &mut Step<'_, T>) {
        let force = io.wave(Self::P1) - io.wave(Self::P2);
        let stiffness = io.input(Self::STIFFNESS);
        let resistance = io.input(Self::FRICTION) + io.impedance(Self::P1) + io.impedance(Self::P2);
        let springs = (stiffness, stiffness);
        let motion = Self::BODY.step_sprung(io, k.inertia, resistance, springs, force);
        let stops = (io.input(Self::REAR_STOP), io.input(Self::FRONT_STOP));
        let (x, v, stopped) = Self::BODY.stop(io, force, motion, stops);
        io.count(Self::STOPPED, stopped);
        let x1 = io.memory(Self::LENGTH) - x;
        move_port(io, Self::P1, -v, x1);
        move_port(io, Self::P2, v, x);
        for port in [Self::P1, Self::P2] {
            io.bond_mut(port).dry = k.inertia;
        }
    }
}

/// Loose pulley with a mass: the rope at port 1 moves twice as far as the pulley at port 2.
///
/// x₂ = (2·c₁ − c₂)/(m·s² + (B + 4·Z₁ + Z₂)·s),  v₂ = (2·c₁ − c₂)/(m·s + B + 4·Z₁ + Z₂),
/// x₁ = −2·x₂
#[component("hopsan.MechanicPulley", q, constants = Inertia)]
pub struct Pulley {
    /// end of the rope
    #[port(name = "P1")]
    p1: Translational,
    /// the pulley's axle
    #[port(name = "P2", side = "b")]
    p2: Translational,
    /// m — mass [kg]
    #[parameter(name = "m", default = "1 kg")]
    pub mass: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "B", default = "10 N*s/m")]
    pub friction: f64,
    /// – — force one step ago, for the position [N]
    #[memory]
    force_1: Memory,
    /// – — force two steps ago [N]
    #[memory]
    force_2: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// – — position two steps ago [m]
    #[memory]
    position_2: Memory,
    /// – — force one step ago, for the speed [N]
    #[memory]
    speed_force_1: Memory,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
}

impl Pulley {
    const BODY: Body = Body(Self::FORCE_1);
}

impl Physics for Pulley {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Inertia<f64>, Refusal> {
        Ok(Inertia { inertia: self.mass })
    }

    fn start<T: Num>(k: &Inertia<T>, io: &mut Step<'_, T>) {
        let force = io.effort(Self::P1) * 2.0 - io.effort(Self::P2);
        let (x, v) = (io.displacement(Self::P1) * -0.5, io.flow(Self::P1) * -0.5);
        Self::BODY.start(io, force, force, x, v);
        for port in [Self::P1, Self::P2] {
            io.bond_mut(port).dry = k.inertia;
        }
    }

    #[inline(always)]
    fn step<T: Num>(k: &Inertia<T>, io: &mut Step<'_, T>) {
        let force = io.wave(Self::P1) * 2.0 - io.wave(Self::P2);
        let resistance =
            io.input(Self::FRICTION) + io.impedance(Self::P1) * 4.0 + io.impedance(Self::P2);
        let (x, v) = Self::BODY.step(io, k.inertia, resistance, force);
        move_port(io, Self::P1, v * -2.0, x * -2.0);
        move_port(io, Self::P2, v, x);
    }
}

/// Ratio of a lever.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Ratio<T> {
    ratio: T,
}

/// Mass at the end of a lever that is driven nearer to its pivot.
///
/// w = (L₁ + L₂)/L₁;  m·dv₂/dt = c₁/w − c₂ − (B + Z₁/w² + Z₂)·v₂ by the trapezoidal rule,
/// v₁ = −v₂/w
#[component("hopsan.MechanicTranslationalMassWithLever", q, constants = Ratio)]
pub struct MassWithLever {
    /// where the lever is driven
    #[port(name = "P1")]
    p1: Translational,
    /// its end, with the mass
    #[port(name = "P2", side = "b")]
    p2: Translational,
    /// L₁ — from the pivot to port 1 [m]
    #[parameter(name = "L_1", default = "1 m")]
    pub inner_length: f64,
    /// L₂ — from port 1 to port 2 [m]
    #[parameter(name = "L_2", default = "1 m")]
    pub outer_length: f64,
    /// m — mass [kg]
    #[input(name = "m", default = "1 kg")]
    pub mass: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "B", default = "10 N*s/m")]
    pub friction: f64,
    /// – — acceleration one step ago [m/s²]
    #[memory]
    acceleration_1: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
}

impl MassWithLever {
    const BODY: Glide = Glide(Self::ACCELERATION_1);

    #[inline(always)]
    fn tell_mass<T: Num>(ratio: T, io: &mut Step<'_, T>) {
        let mass = io.input(Self::MASS);
        io.bond_mut(Self::P1).dry = mass * ratio;
        io.bond_mut(Self::P2).dry = mass;
    }
}

impl Physics for MassWithLever {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Ratio<f64>, Refusal> {
        Ok(Ratio { ratio: (self.inner_length + self.outer_length) / self.inner_length })
    }

    fn start<T: Num>(k: &Ratio<T>, io: &mut Step<'_, T>) {
        let a = (io.effort(Self::P1) - io.effort(Self::P2)) / io.input(Self::MASS);
        let (x, v) = (-io.displacement(Self::P1) * k.ratio, -io.flow(Self::P1) * k.ratio);
        Self::BODY.start(io, a, x, v);
        let bond = io.bond_mut(Self::P2);
        (bond.displacement, bond.flow) = (x, v);
        Self::tell_mass(k.ratio, io);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Ratio<T>, io: &mut Step<'_, T>) {
        let m = io.input(Self::MASS);
        let z1 = io.impedance(Self::P1) / (k.ratio * k.ratio);
        let damping = (io.input(Self::FRICTION) + z1 + io.impedance(Self::P2)) / m * io.dt;
        let a = (io.wave(Self::P1) / k.ratio - io.wave(Self::P2)) / m;
        let (x, v) = Self::BODY.step(io, damping, a);
        move_port(io, Self::P1, -v / k.ratio, -x / k.ratio);
        move_port(io, Self::P2, v, x);
        Self::tell_mass(k.ratio, io);
    }
}

/// Joins two springs or actuators without a mass between them.
///
/// v₂ = (c₁ − c₂)/(Z₁ + Z₂),  x₂ by the trapezoidal rule
#[component("hopsan.MechanicTranslationalLosslessConnector", q)]
pub struct LosslessConnector {
    /// one end
    #[port(name = "P1")]
    p1: Translational,
    /// other end
    #[port(name = "P2", side = "b")]
    p2: Translational,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// L — sum of the positions of both ends [m]
    #[memory]
    length: Memory,
}

impl LosslessConnector {
    const POSITION: Integrator = Integrator(Self::SPEED_1);
}

impl Physics for LosslessConnector {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let x2 = io.displacement(Self::P2);
        let length = io.displacement(Self::P1) + x2;
        io.set_memory(Self::LENGTH, length);
        let v2 = -io.flow(Self::P1);
        Self::POSITION.start(io, v2, x2);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let impedance = io.impedance(Self::P1) + io.impedance(Self::P2);
        let v = (io.wave(Self::P1) - io.wave(Self::P2)) / impedance;
        let x = Self::POSITION.step(io, v);
        let x1 = io.memory(Self::LENGTH) - x;
        move_port(io, Self::P1, -v, x1);
        move_port(io, Self::P2, v, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const DT: f64 = 1e-3;

    fn mass(m: f64) -> TranslationalMass {
        TranslationalMass {
            mass: m,
            friction: 0.0,
            stiffness: 0.0,
            rear_stop: 0.0,
            front_stop: 0.0,
        }
    }

    #[test]
    fn a_mass_that_is_released_gains_speed_by_impulse_and_moves_double_in_the_first_step() {
        let mut bench = Bench::new(&mass(2.0), DT);
        bench.input(TranslationalMass::REAR_STOP, -1e300).input(TranslationalMass::FRONT_STOP, 0.1);
        bench.state.bonds[0].displacement = 0.5;
        for bond in &mut bench.state.bonds {
            bond.effort = 0.0;
        }
        bench.state.bonds[0].effort = 10.0;
        bench.start().line(0, 10.0, 0.0).line(1, 0.0, 0.0).step();
        assert!((bench.flow(1) - 5.0 * DT).abs() < 1e-15);
        assert!((bench.state.bonds[1].displacement - 5.0 * DT * DT).abs() < 1e-15);
        assert_eq!(bench.state.bonds[0].dry, 2.0, "the equivalent mass is told to both sides");
        for _ in 1..1000 {
            bench.step();
            let [rear, front] = [bench.state.bonds[0], bench.state.bonds[1]];
            assert_eq!(rear.flow, -front.flow);
            assert_eq!(rear.displacement, 0.5 - front.displacement);
        }
        // x = ½·a·t² reaches 0.1 m after 0.2 s
        assert_eq!(bench.state.bonds[1].displacement, 0.1);
        assert_eq!(bench.flow(1), 0.0);
        bench.line(0, -10.0, 0.0).step();
        assert_eq!(bench.flow(1), 0.0, "the remembered force cancels the new one");
        bench.step();
        assert!(bench.flow(1) < 0.0, "it leaves the stop without sticking");
    }

    #[test]
    fn a_pulley_halves_the_way_and_doubles_the_force() {
        let mut bench = Bench::new(&Pulley { mass: 1.0, friction: 0.0 }, DT);
        bench.start().line(0, 5.0, 0.0).line(1, 10.0, 0.0).step();
        assert_eq!(bench.flow(1), 0.0, "twice the rope's force balances the load");
        bench.line(0, 6.0, 20.0).line(1, 10.0, 30.0);
        for _ in 0..5000 {
            bench.step();
        }
        // steady: 2·(6 − 20·2·v) = 10 + 30·v
        let v = 2.0 / (4.0 * 20.0 + 30.0);
        assert!((bench.flow(1) - v).abs() < 1e-12);
        assert!((bench.flow(0) + 2.0 * v).abs() < 1e-12);
        assert!((2.0 * bench.effort(0) - bench.effort(1)).abs() < 1e-9);
    }

    #[test]
    fn a_lever_passes_on_power() {
        let lever =
            MassWithLever { inner_length: 1.0, outer_length: 2.0, mass: 1.0, friction: 0.0 };
        let mut bench = Bench::new(&lever, DT);
        bench.input(MassWithLever::MASS, 1.0).start();
        bench.line(0, 30.0, 50.0).line(1, 4.0, 8.0);
        for _ in 0..20_000 {
            bench.step();
        }
        let power = bench.effort(0) * bench.flow(0) + bench.effort(1) * bench.flow(1);
        assert!(power.abs() < 1e-9, "steady, without friction: {power}");
        assert!((bench.flow(1) / bench.flow(0) + 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_connector_without_mass_balances_its_forces() {
        let mut bench = Bench::new(&LosslessConnector {}, DT);
        bench.state.bonds[0].displacement = 2.0;
        bench.start().line(0, 70.0, 3.0).line(1, 10.0, 5.0).step();
        assert_eq!(bench.effort(0), bench.effort(1));
        assert_eq!(bench.flow(1), 60.0 / 8.0);
        assert_eq!(bench.state.bonds[1].displacement, 0.5 * DT * 60.0 / 8.0);
        assert_eq!(bench.state.bonds[0].displacement, 2.0 - 0.5 * DT * 60.0 / 8.0);
    }
}
