//! Masses.

use crate::blocks::{FirstOrder, SecondOrder};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[ComponentType::of::<TranslationalMass>()];

/// Mass with viscous friction, a spring to the ground and end stops without bounce.
///
/// x₂ = (c₁ − c₂)/(m·s² + (B + Z₁ + Z₂)·s + k),  v₂ = (c₁ − c₂ − k·x₂)/(m·s + B + Z₁ + Z₂)
///
/// Position and speed are two recursions of their own, both by the bilinear rule. At a stop the
/// speed is 0 and both begin anew.
#[component("hopsan.MechanicTranslationalMass", q)]
pub struct TranslationalMass {
    /// rear end
    #[port(name = "P1")]
    p1: Translational,
    /// front end, whose position the stops refer to
    #[port(name = "P2", side = "b")]
    p2: Translational,
    /// m — mass [kg]
    #[input(name = "m", default = "100 kg")]
    pub mass: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "B", default = "10 N*s/m")]
    pub friction: f64,
    /// k — stiffness of the spring to the ground [N/m]
    #[input(name = "k", default = "0 N/m")]
    pub stiffness: f64,
    /// x_min — rear stop [m]
    #[input(name = "x_min", default = "0 m")]
    pub rear_stop: f64,
    /// x_max — front stop [m]
    #[input(name = "x_max", default = "1 m")]
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
    const TRAVEL: SecondOrder = SecondOrder(Self::FORCE_1);
    const SPEED: FirstOrder = FirstOrder(Self::SPEED_FORCE_1);
}

impl Physics for TranslationalMass {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let force = io.effort(Self::P1) - io.effort(Self::P2);
        let (x, v) = (io.displacement(Self::P2), io.flow(Self::P2));
        let length = io.displacement(Self::P1) + x;
        io.set_memory(Self::LENGTH, length);
        Self::TRAVEL.start(io, force, x, v);
        Self::SPEED.start(io, force - io.input(Self::STIFFNESS) * x, v);
        for port in [Self::P1, Self::P2] {
            io.bond_mut(port).dry = io.input(Self::MASS);
        }
    }

    #[inline]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (c1, c2) = (io.wave(Self::P1), io.wave(Self::P2));
        let (m, k) = (io.input(Self::MASS), io.input(Self::STIFFNESS));
        let resistance = io.input(Self::FRICTION) + io.impedance(Self::P1) + io.impedance(Self::P2);
        let (zero, one) = (T::zero(), T::one());
        let force = c1 - c2;
        let x = Self::TRAVEL.free(io, [one, zero, zero], [k, resistance, m], force);
        let v = Self::SPEED.free(io, [one, zero], [resistance, m], force - k * x);
        let (low, high) = (io.input(Self::REAR_STOP), io.input(Self::FRONT_STOP));
        let (at_rear, at_front) = (x.lt(low), x.gt(high));
        let stopped = at_rear | at_front;
        let (mut x, mut v) = (x, v);
        if stopped.any() {
            x = T::select(at_rear, low, T::select(at_front, high, x));
            v = T::select(stopped, zero, v);
            let keep = |io: &mut Step<'_, T>, at: usize, fresh: T| {
                let old = io.memory(at);
                io.set_memory(at, T::select(stopped, fresh, old));
            };
            for (at, fresh) in [
                (Self::FORCE_1, force),
                (Self::FORCE_2, force),
                (Self::POSITION_1, x),
                (Self::POSITION_2, x),
                (Self::SPEED_FORCE_1, force),
                (Self::SPEED_1, zero),
            ] {
                keep(io, at, fresh);
            }
            io.count(Self::STOPPED, stopped);
        }
        let x1 = io.memory(Self::LENGTH) - x;
        let (f1, f2) = (c1 - io.impedance(Self::P1) * v, c2 + io.impedance(Self::P2) * v);
        io.set_motion(Self::P1, -v, x1, f1);
        io.set_motion(Self::P2, v, x, f2);
        for port in [Self::P1, Self::P2] {
            io.bond_mut(port).dry = m;
        }
    }
}
