//! Resistors, capacitors, coils and a switch.

use super::pass_current;
use crate::held::Held;
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Resistor>(),
    ComponentType::of::<VarResistor>(),
    ComponentType::of::<Switch>(),
    ComponentType::of::<Capacitance2>(),
    ComponentType::of::<CapacitanceMultiPort>(),
    ComponentType::of::<Inductance>(),
    ComponentType::of::<InductanceC>(),
];

/// Resistor whose conductance is set at the start.
///
/// i₂ = G·(c₁ − c₂)/(1 + G·(Z₁ + Z₂)),  i₁ = −i₂
#[component("hopsan.ElectricResistor", q)]
pub struct Resistor {
    /// one end
    #[port(name = "Pel1")]
    p1: Electrical,
    /// other end
    #[port(name = "Pel2")]
    p2: Electrical,
    /// G — conductance, read at the start [A/V]
    #[input(name = "Conduct", default = "0.1 A/V")]
    pub conductance: f64,
}

impl Resistor {
    const HELD: Held = Held::inputs(Self::CONDUCTANCE, Self::CONDUCTANCE);
}

impl Physics for Resistor {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let conductance = Self::HELD.get(io, Self::CONDUCTANCE);
        conduct(io, Self::P1, Self::P2, conductance);
    }
}

/// Resistor whose conductance may be driven.
///
/// i₂ = G·(c₁ − c₂)/(1 + G·(Z₁ + Z₂)),  i₁ = −i₂
#[component("hopsan.ElectricVarResistor", q)]
pub struct VarResistor {
    /// one end
    #[port(name = "Pel1")]
    p1: Electrical,
    /// other end
    #[port(name = "Pel2")]
    p2: Electrical,
    /// G — conductance [A/V]
    #[input(name = "Conduct", default = "0.1 A/V")]
    pub conductance: f64,
}

impl Physics for VarResistor {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let conductance = io.input(Self::CONDUCTANCE);
        conduct(io, Self::P1, Self::P2, conductance);
    }
}

#[inline(always)]
fn conduct<T: Num>(io: &mut Step<'_, T>, p1: usize, p2: usize, conductance: T) {
    let impedance = io.impedance(p1) + io.impedance(p2);
    let current = (io.wave(p1) - io.wave(p2)) * conductance / (T::one() + conductance * impedance);
    pass_current(io, p1, p2, current);
}

/// Switch without resistance.
///
/// i₂ = (c₁ − c₂)/(Z₁ + Z₂) while state > ½, else 0;  i₁ = −i₂
#[component("hopsan.ElectricSwitch", q)]
pub struct Switch {
    /// one contact
    #[port(name = "Pel1")]
    p1: Electrical,
    /// other contact
    #[port(name = "Pel2")]
    p2: Electrical,
    /// s — closed above one half [–]
    #[input(name = "state", default = 0.1)]
    pub closed: f64,
}

impl Physics for Switch {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let closed = io.input(Self::CLOSED).gt(T::of(0.5));
        let impedance = io.impedance(Self::P1) + io.impedance(Self::P2);
        let current = (io.wave(Self::P1) - io.wave(Self::P2)) / impedance;
        pass_current(io, Self::P1, Self::P2, T::select(closed, current, T::zero()));
    }
}

/// Waves of a two-port C-component that reflects nothing of its own: each end gets what the other
/// sent a step ago, filtered.
///
/// c₁ ← α·c₁ + (1−α)·(c₂ + 2·Z·i₂), with the impedance of the step before.
#[wide]
#[inline(always)]
fn exchange<T: Num>(io: &mut Step<'_, T>, p1: usize, p2: usize, filter: T, impedance: T) {
    let sent = |port: usize| io.wave(port) + io.impedance(port) * io.flow(port) * 2.0;
    let new =
        |port: usize, other: usize| filter * io.wave(port) + (T::one() - filter) * sent(other);
    let (c1, c2) = (new(p1, p2), new(p2, p1));
    io.set_wave(p1, c1, impedance);
    io.set_wave(p2, c2, impedance);
}

/// Capacitor to the ground between two connections.
///
/// Z = T/(C·(1−α));  c₁ ← α·c₁ + (1−α)·(c₂ + 2·Z·i₂), and the same with 1 and 2 exchanged
///
/// Z is 0 until the first step.
#[component("hopsan.ElectricCapacitance2", c)]
pub struct Capacitance2 {
    /// one connection
    #[port(name = "Pel1")]
    p1: Electrical,
    /// other connection
    #[port(name = "Pel2")]
    p2: Electrical,
    /// C — capacitance, read at the start [A*s/V]
    #[input(name = "Cc", default = "0.0001 A*s/V")]
    pub capacitance: f64,
    /// α — filter factor, read at the start [–]
    #[input(name = "alpha", default = 0.1)]
    pub filter: f64,
}

impl Capacitance2 {
    const HELD: Held = Held::inputs(Self::CAPACITANCE, Self::FILTER);
}

impl Physics for Capacitance2 {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let filter = Self::HELD.get(io, Self::FILTER);
        let capacitance = Self::HELD.get(io, Self::CAPACITANCE);
        let impedance = T::of(io.dt) / ((T::one() - filter) * capacitance);
        exchange(io, Self::P1, Self::P2, filter, impedance);
    }
}

/// Coil as a line: inductance with the small capacitance that a step of delay brings along.
///
/// Z = (1−α)·L/T;  c₁ ← α·c₁ + (1−α)·(c₂ + 2·Z·i₂), and the same with 1 and 2 exchanged;
/// C = T²/L
#[component("hopsan.ElectricInductanceC", c)]
pub struct InductanceC {
    /// one end
    #[port(name = "Pel1")]
    p1: Electrical,
    /// other end
    #[port(name = "Pel2")]
    p2: Electrical,
    /// L — inductance [V*s/A]
    #[input(name = "Induct", default = "0.1 V*s/A")]
    pub inductance: f64,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0.1)]
    pub filter: f64,
    /// C — stray capacitance that comes with the step [A*s/V]
    #[output(name = "Cp")]
    stray_capacitance: Signal,
}

impl Physics for InductanceC {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (inductance, filter) = (io.input(Self::INDUCTANCE), io.input(Self::FILTER));
        let impedance = (T::one() - filter) * inductance / io.dt;
        exchange(io, Self::P1, Self::P2, filter, impedance);
        io.set_output(Self::STRAY_CAPACITANCE, T::of(io.dt * io.dt) / inductance);
    }
}

/// Capacitor to the ground with any number of connections.
///
/// Z = N·T/(2·C·(1−α)) at the start;  ū = Σ(c_i + 2·Z·i_i)/N;
/// c_i ← α·c_i + (1−α)·(2·ū − c_i − 2·Z·i_i)
///
/// The start current is shared by the connections.
#[component("hopsan.ElectricCapacitanceMultiPort", c, constants = Capacitor)]
pub struct CapacitanceMultiPort {
    /// the connections
    #[port(name = "Pel1", many)]
    p1: Electrical,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0.3)]
    pub filter: f64,
    /// C — capacitance [A*s/V]
    #[parameter(name = "Capacitance", default = "0.0001 A*s/V")]
    pub capacitance: f64,
}

/// What stays of a capacitor.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Capacitor<T> {
    /// N·T/(2·C)
    unfiltered_impedance: T,
}

impl Physics for CapacitanceMultiPort {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, environment: &Environment) -> Result<Capacitor<f64>, Refusal> {
        let ports = environment.bonds as f64;
        Ok(Capacitor { unfiltered_impedance: ports * environment.step / (2.0 * self.capacitance) })
    }

    fn start<T: Num>(k: &Capacitor<T>, io: &mut Step<'_, T>) {
        let impedance = k.unfiltered_impedance / (T::one() - io.input(Self::FILTER));
        let count = io.port_count();
        for i in 0..count {
            let bond = io.bond_mut(i);
            bond.flow = bond.flow / count as f64;
            bond.wave = bond.effort;
            bond.impedance = impedance;
        }
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &Capacitor<T>, io: &mut Step<'_, T>) {
        let sent = |io: &Step<'_, T>, i: usize| io.wave(i) + io.impedance(i) * io.flow(i) * 2.0;
        let mut sum = T::zero();
        for i in 0..io.port_count() {
            sum += sent(io, i);
        }
        let twice_mean = sum * (2.0 / io.port_count() as f64);
        let filter = io.input(Self::FILTER);
        for i in 0..io.port_count() {
            let ideal = twice_mean - sent(io, i);
            io.bond_mut(i).wave = filter * io.wave(i) + (T::one() - filter) * ideal;
        }
    }
}

/// Coil between two connections.
///
/// L·di₂/dt = u₁ − u₂ by the trapezoidal rule,  i₁ = −i₂
#[component("hopsan.ElectricInductance", q)]
pub struct Inductance {
    /// one end
    #[port(name = "Pel1")]
    p1: Electrical,
    /// other end
    #[port(name = "Pel2")]
    p2: Electrical,
    /// L — inductance, read at the start [V*s/A]
    #[input(name = "Induct", default = "0.1 V*s/A")]
    pub inductance: f64,
}

impl Inductance {
    const HELD: Held = Held::inputs(Self::INDUCTANCE, Self::INDUCTANCE);
}

impl Physics for Inductance {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (p1, p2) = (Self::P1, Self::P2);
        let gain = T::of(0.5 * io.dt) / Self::HELD.get(io, Self::INDUCTANCE);
        let before = io.flow(p2) + gain * (io.effort(p1) - io.effort(p2));
        let impedance = io.impedance(p1) + io.impedance(p2);
        let current = (before + gain * (io.wave(p1) - io.wave(p2))) / (T::one() + gain * impedance);
        pass_current(io, p1, p2, current);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    #[test]
    fn a_resistor_obeys_ohm_and_keeps_the_conductance_it_started_with() {
        let mut bench = Bench::new(&Resistor { conductance: 0.1 }, 1e-3);
        bench.input(0, 0.1).start().line(0, 12.0, 2.0).line(1, 3.0, 1.0);
        bench.input(0, 5.0).step();
        assert!((bench.flow(1) - 0.1 * (bench.effort(0) - bench.effort(1))).abs() < 1e-14);
        assert_eq!(bench.flow(0), -bench.flow(1));
        let mut driven = Bench::new(&VarResistor { conductance: 0.1 }, 1e-3);
        driven.start().line(0, 12.0, 2.0).line(1, 3.0, 1.0).input(0, 5.0).step();
        assert!((driven.flow(1) - 5.0 * (driven.effort(0) - driven.effort(1))).abs() < 1e-13);
    }

    #[test]
    fn an_open_switch_carries_nothing_even_between_ideal_sources() {
        let mut bench = Bench::new(&Switch { closed: 0.0 }, 1e-3);
        bench.input(0, 0.5).line(0, 12.0, 0.0).line(1, 3.0, 0.0).step();
        assert_eq!((bench.flow(0), bench.flow(1)), (0.0, 0.0));
        bench.input(0, 0.51).line(0, 12.0, 2.0).line(1, 3.0, 1.0).step();
        assert_eq!(bench.flow(1), 3.0);
        assert_eq!(bench.effort(0), bench.effort(1));
    }

    #[test]
    fn a_capacitor_charges_by_i_t_over_c() {
        let mut bench = Bench::new(&Capacitance2 { capacitance: 1e-4, filter: 0.1 }, 1e-4);
        bench.input(0, 1e-4).input(1, 0.1).start();
        for _ in 0..1000 {
            bench.impose_flow(0, 0.5).impose_flow(1, 0.25).step();
        }
        // The wave of a constant current runs one step behind the voltage: the slope is exact.
        let before = bench.state.bonds[0].wave;
        bench.step();
        let slope = (bench.state.bonds[0].wave - before) / 1e-4;
        assert!((slope - 0.75 / 1e-4).abs() < 1e-6 * slope, "{slope}");
    }

    #[test]
    fn a_capacitor_with_many_connections_shares_its_start_current_and_conserves_charge() {
        let mut around = Surroundings::of::<CapacitanceMultiPort>(1e-4);
        around.places = vec![3];
        let component = CapacitanceMultiPort { filter: 0.3, capacitance: 1e-4 };
        let mut bench = Bench::within(&component, &around).unwrap();
        for bond in &mut bench.state.bonds {
            (bond.flow, bond.effort) = (6.0, 12.0);
        }
        bench.input(0, 0.3).start();
        assert_eq!(bench.flow(1), 2.0);
        assert_eq!(bench.state.bonds[2].wave, 12.0);
        for i in 0..3 {
            bench.impose_flow(i, 0.0);
        }
        bench.impose_flow(0, 1.0).step();
        for i in 0..3 {
            bench.impose_flow(i, 0.0);
        }
        for _ in 0..200 {
            bench.step();
        }
        assert!((bench.state.bonds[1].wave - 13.0).abs() < 1e-9, "ΔU = i·T/C = 1 V");
    }

    #[test]
    fn a_coil_integrates_its_voltage() {
        let mut bench = Bench::new(&Inductance { inductance: 0.1 }, 1e-3);
        bench.input(0, 0.1).start().line(0, 5.0, 0.0).line(1, 3.0, 0.0);
        for _ in 0..100 {
            bench.step();
        }
        // The first step sees no voltage at its beginning: half a step is missing.
        assert!((bench.flow(1) - 2.0 / 0.1 * 0.0995).abs() < 1e-12);
    }

    #[test]
    fn a_coil_as_a_line_swaps_waves_and_tells_its_stray_capacitance() {
        let mut bench = Bench::new(&InductanceC { inductance: 0.1, filter: 0.0 }, 1e-3);
        bench.input(0, 0.1).input(1, 0.0).start();
        assert!((bench.output(0) - 1e-5).abs() < 1e-18);
        bench.line(0, 3.0, 100.0).line(1, 5.0, 100.0);
        bench.impose_flow(0, 0.01).impose_flow(1, -0.02).step();
        let waves = [bench.state.bonds[0].wave, bench.state.bonds[1].wave];
        assert!((waves[0] - 1.0).abs() < 1e-12 && (waves[1] - 5.0).abs() < 1e-12);
    }
}
