//! Ground, sources of voltage and current, and a battery.

use crate::blocks::{limit, solve};
use crate::held::Held;
use fluxline_core::component;
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Ground>(),
    ComponentType::of::<VoltageSource>(),
    ComponentType::of::<VoltageSourceMultiPortC>(),
    ComponentType::of::<VoltageSourceQ>(),
    ComponentType::of::<CurrentSource>(),
    ComponentType::of::<WaveSource>(),
    ComponentType::of::<NodeSource>(),
    ComponentType::of::<Battery>(),
];

/// Ground.
///
/// c = 0, Z = 0
#[component("hopsan.ElectricGround", c)]
pub struct Ground {
    /// what is grounded
    #[port(name = "Pel1")]
    p1: Electrical,
}

impl Physics for Ground {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        io.set_wave(Self::P1, T::zero(), T::zero());
    }
}

/// Voltage source.
///
/// c = u, Z = 0, from the first step on
#[component("hopsan.ElectricUsource", c)]
pub struct VoltageSource {
    /// terminal
    #[port(name = "Pel1")]
    p1: Electrical,
    /// u — voltage [V]
    #[input(name = "uin", default = "12 V")]
    pub voltage: f64,
}

impl Physics for VoltageSource {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let voltage = io.input(Self::VOLTAGE);
        io.set_wave(Self::P1, voltage, T::zero());
    }
}

/// Voltage source with any number of connections.
///
/// c = U, Z = 0, at the start already
#[component("hopsan.ElectricVoltageSourceMultiPortC", c)]
pub struct VoltageSourceMultiPortC {
    /// the connections
    #[port(name = "P1", many)]
    p1: Electrical,
    /// U — voltage [V]
    #[input(name = "U", default = "12 V")]
    pub voltage: f64,
}

impl Physics for VoltageSourceMultiPortC {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
        for i in 0..io.port_count() {
            io.bond_mut(i).effort = io.input(Self::VOLTAGE);
        }
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let voltage = io.input(Self::VOLTAGE);
        for i in 0..io.port_count() {
            io.set_wave(i, voltage, T::zero());
        }
    }
}

/// Voltage source at a line that has an impedance.
///
/// u = U, i = (U − c)/Z
#[component("hopsan.ElectricVoltageSourceQ", q)]
pub struct VoltageSourceQ {
    /// terminal
    #[port(name = "Pel1")]
    p1: Electrical,
    /// U — voltage [V]
    #[input(name = "U", default = "12 V")]
    pub voltage: f64,
}

impl Physics for VoltageSourceQ {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let voltage = io.input(Self::VOLTAGE);
        let bond = io.bond_mut(Self::P1);
        bond.flow = (voltage - bond.wave) / bond.impedance;
        bond.effort = voltage;
    }
}

/// Current source.
///
/// i = i_in, u = c + Z·i
#[component("hopsan.ElectricIsource", q)]
pub struct CurrentSource {
    /// terminal
    #[port(name = "Pel1")]
    p1: Electrical,
    /// i — current out of the source [A]
    #[input(name = "iin", default = "10 A")]
    pub current: f64,
}

impl Physics for CurrentSource {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let current = io.input(Self::CURRENT);
        io.set_flow(Self::P1, current);
    }
}

/// Line end whose wave and impedance are signals.
///
/// c = in_c, Z = in_z
#[component("hopsan.ElectricCSource", c)]
pub struct WaveSource {
    /// line end
    #[port(name = "P1")]
    p1: Electrical,
    /// c — wave [V]
    #[input(name = "in_c", default = "0 V")]
    pub wave: f64,
    /// Z — impedance [V/A]
    #[input(name = "in_z", default = "0 V/A")]
    pub impedance: f64,
}

impl Physics for WaveSource {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (wave, impedance) = (io.input(Self::WAVE), io.input(Self::IMPEDANCE));
        io.set_wave(Self::P1, wave, impedance);
    }
}

/// Line end whose voltage and current are signals.
///
/// u = in_u, i = in_i, whatever the line answers
#[component("hopsan.ElectricQSource", q)]
pub struct NodeSource {
    /// line end
    #[port(name = "P1")]
    p1: Electrical,
    /// u — voltage [V]
    #[input(name = "in_u", default = "0 V")]
    pub voltage: f64,
    /// i — current into the line [A]
    #[input(name = "in_i", default = "0 A")]
    pub current: f64,
}

impl Physics for NodeSource {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (voltage, current) = (io.input(Self::VOLTAGE), io.input(Self::CURRENT));
        let bond = io.bond_mut(Self::P1);
        bond.effort = voltage;
        bond.flow = current;
    }
}

/// Battery with a state of charge.
///
/// s = clip(s₋ − T·(i + i₋)/(7200·capacity), 0.001, 0.999);  i = G·(u_b − u);
/// u_b = u_nom·(2·asin(clip(s, 10⁻⁹, 0.9999)))^κ·(E − 1)/(E + 1),  E = e^(10·s/κ)
///
/// The capacity counts in ampere hours. All inputs are read at the start.
#[component("hopsan.ElectricBattery", q)]
pub struct Battery {
    /// terminal
    #[port(name = "Pel1")]
    p1: Electrical,
    /// G — inner conductance [A/V]
    #[input(name = "cond", default = "1000 A/V")]
    pub conductance: f64,
    /// u_nom — nominal voltage [V]
    #[input(name = "unom", default = "12 V")]
    pub nominal_voltage: f64,
    /// – — capacity, in ampere hours [any]
    #[input(name = "capacity", default = 41)]
    pub capacity: f64,
    /// κ — shape of the voltage over the charge [–]
    #[input(name = "kappa", default = 0.1)]
    pub exponent: f64,
    /// e — base of the exponential [–]
    #[input(name = "e", default = 2.71828)]
    pub base: f64,
    /// s — state of charge [–]
    #[output(name = "soc", start = "1")]
    charge: Signal,
    /// u_b — voltage without load [V]
    #[output(name = "ubatt")]
    inner_voltage: Signal,
}

impl Battery {
    const HELD: Held = Held::inputs(Self::CONDUCTANCE, Self::BASE);
}

impl Physics for Battery {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let [conductance, nominal, capacity, exponent, base] =
            [Self::CONDUCTANCE, Self::NOMINAL_VOLTAGE, Self::CAPACITY, Self::EXPONENT, Self::BASE]
                .map(|input| Self::HELD.get(io, input));
        let (wave, impedance) = (io.wave(Self::P1), io.impedance(Self::P1));
        let admittance = conductance / (T::one() + conductance * impedance);
        let drain = T::of(io.dt) / (capacity * 7200.0);
        let before = io.output(Self::CHARGE) - io.flow(Self::P1) * drain;
        let steepness = base.ln() * 5.0 / exponent;
        let of = Dual::constant;
        let voltage = |charge: Dual<T>| {
            let inside = limit(charge, Dual::of(1e-9), Dual::of(0.9999));
            let angle = inside.asin();
            of(nominal) * (angle * 2.0).powf(of(exponent)) * (charge * of(steepness)).tanh()
        };
        let guess = [io.output(Self::CHARGE)];
        let [charge] = solve(io, guess, [1e-3], |[charge]| {
            let current = (voltage(*charge) - of(wave)) * of(admittance);
            let left = of(before) - current * of(drain);
            [*charge - limit(left, Dual::of(0.001), Dual::of(0.999))]
        });
        let inner = voltage(of(charge)).value;
        io.set_flow(Self::P1, (inner - wave) * admittance);
        io.set_output(Self::CHARGE, charge);
        io.set_output(Self::INNER_VOLTAGE, inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    #[test]
    fn sources_impose_what_they_are_named_after() {
        let mut ground = Bench::new(&Ground {}, 1e-3);
        ground.line(0, 7.0, 3.0).start();
        assert_eq!(ground.state.bonds[0].wave, 7.0, "a ground grounds from the first step on");
        assert_eq!(ground.step().state.bonds[0].wave, 0.0);

        let mut u = Bench::new(&VoltageSource { voltage: 12.0 }, 1e-3);
        u.input(0, 12.0).line(0, 7.0, 3.0).step();
        assert_eq!((u.state.bonds[0].wave, u.state.bonds[0].impedance), (12.0, 0.0));

        let mut around = Surroundings::of::<VoltageSourceMultiPortC>(1e-3);
        around.places = vec![2];
        let many = VoltageSourceMultiPortC { voltage: 12.0 };
        let mut many = Bench::within(&many, &around).unwrap();
        many.input(0, 12.0).start();
        assert_eq!((many.effort(1), many.state.bonds[1].wave), (12.0, 12.0));

        let mut stiff = Bench::new(&VoltageSourceQ { voltage: 12.0 }, 1e-3);
        stiff.input(0, 12.0).line(0, 8.0, 2.0).step();
        assert_eq!((stiff.flow(0), stiff.effort(0)), (2.0, 12.0));

        let mut i = Bench::new(&CurrentSource { current: 10.0 }, 1e-3);
        i.input(0, 10.0).line(0, 8.0, 2.0).step();
        assert_eq!((i.flow(0), i.effort(0)), (10.0, 28.0));

        let mut c = Bench::new(&WaveSource { wave: 0.0, impedance: 0.0 }, 1e-3);
        c.input(0, 5.0).input(1, 2.0).start();
        assert_eq!((c.state.bonds[0].wave, c.state.bonds[0].impedance), (5.0, 2.0));

        let mut q = Bench::new(&NodeSource { voltage: 0.0, current: 0.0 }, 1e-3);
        q.input(0, 5.0).input(1, 2.0).line(0, 100.0, 100.0).start();
        assert_eq!((q.effort(0), q.flow(0)), (5.0, 2.0));
    }

    #[test]
    fn a_battery_loses_the_charge_that_it_gives() {
        let component = Battery {
            conductance: 1000.0,
            nominal_voltage: 12.0,
            capacity: 0.01,
            exponent: 0.1,
            base: 2.5,
        };
        let mut bench = Bench::new(&component, 1e-3);
        for (i, value) in [1000.0, 12.0, 0.01, 0.1, 2.5].into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.with(|io| io.set_output(Battery::CHARGE, 0.9)).start();
        let mut given = 0.0;
        let mut last = 0.0;
        for _ in 0..1000 {
            bench.line(0, 0.0, 2.0).step();
            given += 0.5e-3 * (bench.flow(0) + last);
            last = bench.flow(0);
        }
        let charge = bench.output(Battery::CHARGE);
        assert!((0.9 - charge - given / 36.0).abs() < 1e-12);
        // Ohm's law inside, and the voltage that belongs to the charge.
        let inner = bench.output(Battery::INNER_VOLTAGE);
        assert!((bench.flow(0) - 1000.0 * (inner - bench.effort(0))).abs() < 1e-9);
        let e = 2.5f64.powf(100.0 * charge);
        let expected = 12.0 * (2.0 * charge.asin()).powf(0.1) * (e - 1.0) / (e + 1.0);
        assert!((inner - expected).abs() < 1e-12);
    }
}
