//! Springs and shafts: what stores energy between two ends.
//!
//! All are one step of wave delay, c₁ = α·c₁₋ + (1 − α)·(c₂₋ + 2·Z·v₂) and the same the other way
//! round, with Z = k·T/(1 − α).

use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::PI;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<TranslationalSpring>(),
    ComponentType::of::<SpringWithSlack>(),
    ComponentType::of::<Spring>(),
    ComponentType::of::<TorsionalSpring>(),
    ComponentType::of::<RotShaft>(),
    ComponentType::of::<RotShaftOfSteel>(),
    ComponentType::of::<GearShaft>(),
];

/// One step of the wave law between ports 0 and 1, from the waves and filter memories given.
#[wide]
#[inline(always)]
fn exchange<T: Num>(io: &mut Step<'_, T>, z: T, filter: T, wave: [T; 2], kept: [T; 2]) {
    let pass = |other: usize| wave[other] + z * io.flow(other) * 2.0;
    let share = T::one() - filter;
    let fresh = [pass(1) * share + kept[0] * filter, pass(0) * share + kept[1] * filter];
    io.set_wave(0, fresh[0], z);
    io.set_wave(1, fresh[1], z);
}

/// The same with the waves at the ports.
#[inline(always)]
fn exchange_waves<T: Num>(io: &mut Step<'_, T>, z: T, filter: T) {
    let wave = [io.wave(0), io.wave(1)];
    exchange(io, z, filter, wave, wave);
}

/// Start of the shafts: waves of the efforts as they are, then one step.
#[inline(always)]
fn start_shaft<T: Num>(io: &mut Step<'_, T>, z: T, filter: T) {
    let effort = [io.effort(0), io.effort(1)];
    let wave = [effort[0] - z * io.flow(0), effort[1] - z * io.flow(1)];
    exchange(io, z, filter, wave, effort);
}

/// A factor and whatever else stays constant in a spring.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Filtered<T> {
    filter: T,
}

/// Spring without a length of its own: the force comes from the speeds alone.
///
/// Z = k·T/(1 − α);  c₁ = (1 − α)·(c₂₋ + 2·Z·v₂) + α·c₁₋,  c₂ likewise
///
/// Starts with c₁ = F₂ + Z·v₂, c₂ = F₁ + Z·v₁.
#[component("hopsan.MechanicTranslationalSpring", c, constants = Filtered)]
pub struct TranslationalSpring {
    /// one end
    #[port(name = "P1")]
    p1: Translational,
    /// other end
    #[port(name = "P2", side = "b")]
    p2: Translational,
    /// k — stiffness [N/m]
    #[input(name = "k", default = "100 N/m")]
    pub stiffness: f64,
    /// α — filter factor [–]
    #[parameter(name = "alpha", default = 0)]
    pub filter: f64,
}

impl TranslationalSpring {
    #[inline(always)]
    fn impedance<T: Num>(k: &Filtered<T>, io: &Step<'_, T>) -> T {
        io.input(Self::STIFFNESS) * io.dt / (T::one() - k.filter)
    }
}

impl Physics for TranslationalSpring {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<Filtered<f64>, Refusal> {
        Ok(Filtered { filter: self.filter })
    }

    #[wide]
    fn start<T: Num>(k: &Filtered<T>, io: &mut Step<'_, T>) {
        let z = Self::impedance(k, io);
        let [c1, c2] = [1, 0].map(|other| io.effort(other) + z * io.flow(other));
        io.set_wave(Self::P1, c1, z);
        io.set_wave(Self::P2, c2, z);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Filtered<T>, io: &mut Step<'_, T>) {
        let z = Self::impedance(k, io);
        exchange_waves(io, z, k.filter);
    }
}

/// Spring that is loose while its ends are apart: no force and no impedance for x₁ + x₂ > 0.
///
/// Otherwise Z = k·T;  c₁ = c₂₋ + 2·Z·v₂,  c₂ = c₁₋ + 2·Z·v₁
#[component("hopsan.MechanicTranslationalSpringWithSlack", c)]
pub struct SpringWithSlack {
    /// one end
    #[port(name = "P1")]
    p1: Translational,
    /// other end
    #[port(name = "P2", side = "b")]
    p2: Translational,
    /// k — stiffness [N/m]
    #[input(name = "k", default = "100 N/m")]
    pub stiffness: f64,
}

impl Physics for SpringWithSlack {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let z = io.input(Self::STIFFNESS) * io.dt;
        for port in [Self::P1, Self::P2] {
            io.bond_mut(port).impedance = z;
        }
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let z = io.input(Self::STIFFNESS) * io.dt;
        let loose = (io.displacement(Self::P1) + io.displacement(Self::P2)).gt(T::zero());
        exchange_waves(io, z, T::zero());
        if loose.any() {
            for port in [Self::P1, Self::P2] {
                let bond = io.bond_mut(port);
                bond.wave = T::select(loose, T::zero(), bond.wave);
                bond.impedance = T::select(loose, T::zero(), bond.impedance);
            }
        }
    }
}

/// Spring with a free length: its waves are drawn slowly towards the force of its compression.
///
/// Z = K·T/(1 − α);  c₁ = (1 − α)·(c₂₋ + 2·Z·v₂) + α·c₁₋ − ε·((F₁ + F₂)/2 − K·(x₁ + x₂ − x₀)),
/// c₂ likewise
///
/// Starts with the force of its compression and takes one step.
#[component("hopsan.MechanicSpring", c)]
pub struct Spring {
    /// one end
    #[port(name = "Pm1")]
    p1: Translational,
    /// other end
    #[port(name = "Pm2", side = "b")]
    p2: Translational,
    /// K — stiffness [N/m]
    #[input(name = "Ks", default = "100 N/m")]
    pub stiffness: f64,
    /// x₀ — sum of the positions of both ends where it is unloaded [m]
    #[input(name = "x0", default = "0 m")]
    pub free_length: f64,
    /// ε — share of the drift that is taken away in a step [–]
    #[input(name = "eps", default = 0.005)]
    pub pull: f64,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0.05)]
    pub filter: f64,
}

impl Spring {
    #[inline(always)]
    fn load<T: Num>(io: &Step<'_, T>) -> T {
        let length = io.displacement(Self::P1) + io.displacement(Self::P2);
        io.input(Self::STIFFNESS) * (length - io.input(Self::FREE_LENGTH))
    }
    #[inline(always)]
    fn impedance<T: Num>(io: &Step<'_, T>) -> T {
        io.input(Self::STIFFNESS) * io.dt / (T::one() - io.input(Self::FILTER))
    }
    #[inline(always)]
    fn exchange<T: Num>(io: &mut Step<'_, T>, wave: [T; 2], kept: [T; 2]) {
        let (z, filter) = (Self::impedance(io), io.input(Self::FILTER));
        let mean = (io.effort(Self::P1) + io.effort(Self::P2)) * 0.5;
        let drift = io.input(Self::PULL) * (mean - Self::load(io));
        exchange(io, z, filter, wave, kept);
        for port in [Self::P1, Self::P2] {
            io.bond_mut(port).wave -= drift;
        }
    }
}

impl Physics for Spring {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (load, z) = (Self::load(io), Self::impedance(io));
        let wave = [Self::P1, Self::P2].map(|port| load - z * io.flow(port));
        let kept = [Self::P1, Self::P2].map(|port| io.effort(port));
        Self::exchange(io, wave, kept);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let wave = [io.wave(Self::P1), io.wave(Self::P2)];
        Self::exchange(io, wave, wave);
    }
}

/// Impedance that stays constant during a run.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Impedance<T> {
    impedance: T,
}

/// Torsional spring: Z = k·T;  c₁ = c₂₋ + 2·Z·ω₂,  c₂ = c₁₋ + 2·Z·ω₁.
#[component("hopsan.MechanicTorsionalSpring", c, constants = Impedance)]
pub struct TorsionalSpring {
    /// one end
    #[port(name = "P1")]
    p1: Rotational,
    /// other end
    #[port(name = "P2", side = "b")]
    p2: Rotational,
    /// k — stiffness [N*m/rad]
    #[parameter(name = "k", default = "100 N*m/rad")]
    pub stiffness: f64,
}

impl Physics for TorsionalSpring {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, environment: &Environment) -> Result<Impedance<f64>, Refusal> {
        Ok(Impedance { impedance: self.stiffness * environment.step })
    }

    fn start<T: Num>(k: &Impedance<T>, io: &mut Step<'_, T>) {
        for port in [Self::P1, Self::P2] {
            io.bond_mut(port).impedance = k.impedance;
        }
    }

    #[inline(always)]
    fn step<T: Num>(k: &Impedance<T>, io: &mut Step<'_, T>) {
        exchange_waves(io, k.impedance, T::zero());
    }
}

/// Elastic shaft: Z = K·T/(1 − α);  c₁ = (1 − α)·(c₂₋ + 2·Z·ω₂) + α·c₁₋,  c₂ likewise.
///
/// Starts with c = T − Z·ω and takes one step.
#[component("hopsan.MechanicRotShaft", c)]
pub struct RotShaft {
    /// one end
    #[port(name = "Pmr1")]
    p1: Rotational,
    /// other end
    #[port(name = "Pmr2", side = "b")]
    p2: Rotational,
    /// K — stiffness [N*m/rad]
    #[input(name = "Ks", default = "1000 N*m/rad")]
    pub stiffness: f64,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0.1)]
    pub filter: f64,
}

impl RotShaft {
    #[inline(always)]
    fn impedance<T: Num>(io: &Step<'_, T>) -> T {
        io.input(Self::STIFFNESS) * io.dt / (T::one() - io.input(Self::FILTER))
    }
}

impl Physics for RotShaft {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (z, filter) = (Self::impedance(io), io.input(Self::FILTER));
        start_shaft(io, z, filter);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (z, filter) = (Self::impedance(io), io.input(Self::FILTER));
        exchange_waves(io, z, filter);
    }
}

/// Elastic hollow shaft given by its measures: K = π/32·(d_y⁴ − d_i⁴)·G/l, else as `MechanicRotShaft`.
#[component("hopsan.MechanicRotShaftG", c)]
pub struct RotShaftOfSteel {
    /// one end
    #[port(name = "Pmr1")]
    p1: Rotational,
    /// other end
    #[port(name = "Pmr2", side = "b")]
    p2: Rotational,
    /// d_y — outer diameter [m]
    #[input(name = "dy", default = "0.02 m")]
    pub outer_diameter: f64,
    /// d_i — inner diameter [m]
    #[input(name = "di", default = "0 m")]
    pub inner_diameter: f64,
    /// l — length [m]
    #[input(name = "len", default = "0.1 m")]
    pub length: f64,
    /// G — shear modulus [Pa]
    #[input(name = "G", default = "7.93e10 Pa")]
    pub shear_modulus: f64,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0.1)]
    pub filter: f64,
}

impl RotShaftOfSteel {
    #[wide]
    #[inline(always)]
    fn impedance<T: Num>(io: &Step<'_, T>) -> T {
        let power = |input: usize| io.input(input).squared().squared();
        let section = power(Self::OUTER_DIAMETER) - power(Self::INNER_DIAMETER);
        let stiffness =
            section * (PI / 32.0) * io.input(Self::SHEAR_MODULUS) / io.input(Self::LENGTH);
        stiffness * io.dt / (T::one() - io.input(Self::FILTER))
    }
}

impl Physics for RotShaftOfSteel {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (z, filter) = (Self::impedance(io), io.input(Self::FILTER));
        start_shaft(io, z, filter);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (z, filter) = (Self::impedance(io), io.input(Self::FILTER));
        exchange_waves(io, z, filter);
    }
}

/// Elastic shaft with a gear at its first end, of ratio g = ω₁/ω₂.
///
/// Z₂ = K·T/(1 − α), Z₁ = Z₂/g²;  f₁ ← (1 − α)·(c₂ + 2·Z₂·ω₂) + α·f₁,
/// f₂ ← (1 − α)·g·(c₁ + 2·Z₁·ω₁) + α·f₂;  the waves are the f of the step before, c₁ = f₁/g, c₂ = f₂
///
/// Stiffness and filter factor are taken over at the start. Because its waves come a step late, the
/// shaft is softer than K by 2 − α.
#[component("hopsan.MechanicGearShaft", c)]
pub struct GearShaft {
    /// geared end
    #[port(name = "Pmr1")]
    p1: Rotational,
    /// other end
    #[port(name = "Pmr2", side = "b")]
    p2: Rotational,
    /// g — ratio of the speeds at ports 1 and 2 [–]
    #[input(name = "gearRatio", default = 1)]
    pub ratio: f64,
    /// K — stiffness at port 2 [N*m/rad]
    #[input(name = "Ks", default = "1000 N*m/rad")]
    pub stiffness: f64,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0.9)]
    pub filter: f64,
    /// – — stiffness at the start [N*m/rad]
    #[memory]
    start_stiffness: Memory,
    /// – — filter factor at the start [–]
    #[memory]
    start_filter: Memory,
    /// c₁ — wave at port 1 [N*m]
    #[memory]
    wave_1: Memory,
    /// c₂ — wave at port 2 [N*m]
    #[memory]
    wave_2: Memory,
    /// f₁ — filtered wave towards port 1 [N*m]
    #[memory]
    filtered_1: Memory,
    /// f₂ — filtered wave towards port 2 [N*m]
    #[memory]
    filtered_2: Memory,
}

impl GearShaft {
    #[inline(always)]
    fn impedances<T: Num>(io: &Step<'_, T>) -> (T, T) {
        let ratio = io.input(Self::RATIO);
        let z =
            io.memory(Self::START_STIFFNESS) * io.dt / (T::one() - io.memory(Self::START_FILTER));
        (z / (ratio * ratio), z)
    }
}

impl Physics for GearShaft {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        for (memory, input) in
            [(Self::START_STIFFNESS, Self::STIFFNESS), (Self::START_FILTER, Self::FILTER)]
        {
            let value = io.input(input);
            io.set_memory(memory, value);
        }
        let (ratio, (z1, z2)) = (io.input(Self::RATIO), Self::impedances(io));
        let (torque_1, torque_2) = (io.effort(Self::P1), io.effort(Self::P2));
        let c1 = ratio * torque_1 - z1 * io.flow(Self::P1);
        let c2 = torque_2 - z2 * io.flow(Self::P2);
        io.set_memory(Self::WAVE_1, c1);
        io.set_memory(Self::WAVE_2, c2);
        io.set_memory(Self::FILTERED_1, torque_1 / ratio);
        io.set_memory(Self::FILTERED_2, torque_2);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (ratio, (z1, z2)) = (io.input(Self::RATIO), Self::impedances(io));
        let keep = io.memory(Self::START_FILTER);
        let take = T::one() - keep;
        let to_1 = io.memory(Self::WAVE_2) + z2 * io.flow(Self::P2) * 2.0;
        let to_2 = (io.memory(Self::WAVE_1) + z1 * io.flow(Self::P1) * 2.0) * ratio;
        let (old_1, old_2) = (io.memory(Self::FILTERED_1), io.memory(Self::FILTERED_2));
        let (c1, c2) = (old_1 / ratio, old_2);
        io.set_wave(Self::P1, c1, z1);
        io.set_wave(Self::P2, c2, z2);
        for (at, value) in [
            (Self::WAVE_1, c1),
            (Self::WAVE_2, c2),
            (Self::FILTERED_1, take * to_1 + keep * old_1),
            (Self::FILTERED_2, take * to_2 + keep * old_2),
        ] {
            io.set_memory(at, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const DT: f64 = 1e-3;

    /// Force of a spring whose port 1 moves at `v` for a number of steps, then rests.
    fn pressed<M: Physics>(bench: &mut Bench<M>, v: f64, steps: usize) -> [f64; 2] {
        for i in 0..steps + 400 {
            bench.impose_flow(0, if i < steps { v } else { 0.0 }).impose_flow(1, 0.0).step();
        }
        bench.impose_flow(0, 0.0).impose_flow(1, 0.0);
        [bench.effort(0), bench.effort(1)]
    }

    fn assert_both(found: [f64; 2], expected: f64) {
        let mean = 0.5 * (found[0] + found[1]);
        assert!((mean / expected - 1.0).abs() < 1e-9, "{found:?} instead of {expected}");
    }

    #[test]
    fn springs_push_with_stiffness_times_the_way_they_were_pressed() {
        let way = 20.0 * DT * 0.3;
        for filter in [0.0, 0.3] {
            let mut bench = Bench::new(&TranslationalSpring { stiffness: 0.0, filter }, DT);
            bench.input(0, 5000.0).start();
            assert_both(pressed(&mut bench, 0.3, 20), 5000.0 * way);
        }
        let mut bench = Bench::new(&TorsionalSpring { stiffness: 700.0 }, DT);
        bench.start();
        assert_both(pressed(&mut bench, 0.3, 20), 700.0 * way);
        let mut bench = Bench::new(&RotShaft { stiffness: 0.0, filter: 0.0 }, DT);
        bench.input(0, 900.0).input(1, 0.1).start();
        assert_both(pressed(&mut bench, 0.3, 20), 900.0 * way);
    }

    #[test]
    fn a_shaft_starts_with_the_torque_of_the_model_and_its_first_step_done() {
        let mut bench = Bench::new(&RotShaft { stiffness: 0.0, filter: 0.0 }, DT);
        bench.input(0, 1000.0).input(1, 0.1);
        (bench.state.bonds[0].effort, bench.state.bonds[0].flow) = (5.0, 0.2);
        (bench.state.bonds[1].effort, bench.state.bonds[1].flow) = (7.0, -0.4);
        bench.start();
        let z = 1000.0 * DT / 0.9;
        assert_eq!(bench.state.bonds[0].impedance, z);
        assert!((bench.state.bonds[0].wave - (0.9 * (7.0 - z * 0.4) + 0.1 * 5.0)).abs() < 1e-14);
        assert!((bench.state.bonds[1].wave - (0.9 * (5.0 + z * 0.2) + 0.1 * 7.0)).abs() < 1e-14);
    }

    #[test]
    fn a_steel_shaft_is_as_stiff_as_its_section() {
        let shaft = RotShaftOfSteel {
            outer_diameter: 0.0,
            inner_diameter: 0.0,
            length: 0.0,
            shear_modulus: 0.0,
            filter: 0.0,
        };
        let mut bench = Bench::new(&shaft, DT);
        for (i, value) in [0.02, 0.01, 0.5, 8e10, 0.0].into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.start();
        let polar = PI / 32.0 * (0.02f64.powi(4) - 0.01f64.powi(4));
        let z = polar * 8e10 / 0.5 * DT;
        assert!((bench.state.bonds[1].impedance / z - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_loose_spring_neither_pushes_nor_resists() {
        let mut bench = Bench::new(&SpringWithSlack { stiffness: 0.0 }, DT);
        bench.input(0, 5000.0).start();
        let loaded = pressed(&mut bench, 0.3, 20);
        assert_both(loaded, 5000.0 * 20.0 * DT * 0.3);
        bench.state.bonds[0].displacement = 1e-6;
        bench.step();
        assert_eq!((bench.state.bonds[0].wave, bench.state.bonds[0].impedance), (0.0, 0.0));
    }

    #[test]
    fn a_spring_with_a_free_length_settles_at_the_force_of_its_compression() {
        let spring = Spring { stiffness: 0.0, free_length: 0.0, pull: 0.0, filter: 0.0 };
        let mut bench = Bench::new(&spring, DT);
        for (i, value) in [2000.0, 0.05, 0.005, 0.05].into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.state.bonds[0].displacement = 0.04;
        bench.state.bonds[1].displacement = 0.03;
        bench.start();
        for _ in 0..5000 {
            bench.impose_flow(0, 0.0).impose_flow(1, 0.0).step();
        }
        assert!((bench.state.bonds[0].wave - 2000.0 * 0.02).abs() < 1e-6);
    }

    #[test]
    fn a_geared_shaft_turns_torque_by_its_ratio() {
        let mut bench = Bench::new(&GearShaft { ratio: 0.0, stiffness: 0.0, filter: 0.0 }, DT);
        bench.input(0, 4.0).input(1, 1000.0).input(2, 0.5).start();
        bench.step();
        assert_eq!(bench.state.bonds[0].wave, 0.0);
        for _ in 0..50 {
            bench.impose_flow(0, 0.0).impose_flow(1, 0.2).step();
        }
        for _ in 0..400 {
            bench.impose_flow(0, 0.0).impose_flow(1, 0.0).step();
        }
        // the waves' extra step makes it softer by 2 − α
        let torque = 1000.0 * 50.0 * DT * 0.2 / 1.5;
        let [first, second] = [bench.state.bonds[0], bench.state.bonds[1]];
        assert!((first.wave * 4.0 / second.wave - 1.0).abs() < 1e-9);
        assert!((second.wave / torque - 1.0).abs() < 1e-9);
        assert_eq!(first.impedance * 16.0, second.impedance);
    }
}
