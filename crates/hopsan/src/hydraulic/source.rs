//! The edges of a circuit: tanks, pressures, flows, and ends that are driven directly.

use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<TankC>(),
    ComponentType::of::<MultiTankC>(),
    ComponentType::of::<PressureSourceC>(),
    ComponentType::of::<MultiPressureSourceC>(),
    ComponentType::of::<WaveSource>(),
    ComponentType::of::<FlowSourceQ>(),
    ComponentType::of::<PressureSourceQ>(),
    ComponentType::of::<PlugQ>(),
    ComponentType::of::<QSource>(),
];

/// Tank: a constant pressure.
///
/// c = p,  Z = 0
#[component("hopsan.HydraulicTankC", c, constants = Level)]
pub struct TankC {
    /// the tank
    #[port(name = "P1")]
    p1: Hydraulic,
    /// p — pressure, absolute [Pa]
    #[parameter(name = "p", default = "1e5 Pa")]
    pub pressure: f64,
}

/// Tank with any number of ports.
///
/// c = p,  Z = 0
#[component("hopsan.HydraulicMultiTankC", c, constants = Level)]
pub struct MultiTankC {
    /// the tank
    #[port(name = "MP", many)]
    ports: Hydraulic,
    /// p — pressure, absolute [Pa]
    #[parameter(name = "p", default = "1e5 Pa")]
    pub pressure: f64,
}

/// Pressure source of type C.
///
/// c = p,  Z = 0
#[component("hopsan.HydraulicPressureSourceC", c)]
pub struct PressureSourceC {
    /// outlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// p — pressure, absolute [Pa]
    #[input(name = "p", default = "1e5 Pa")]
    pub pressure: f64,
}

/// Pressure source of type C with any number of ports.
///
/// c = p,  Z = 0
#[component("hopsan.HydraulicMultiPressureSourceC", c)]
pub struct MultiPressureSourceC {
    /// outlets
    #[port(name = "MP", many)]
    ports: Hydraulic,
    /// p — pressure, absolute [Pa]
    #[input(name = "p", default = "1e5 Pa")]
    pub pressure: f64,
}

/// Constants of a tank.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Level<T> {
    pressure: T,
}

/// One pressure at all ports, at the start also as the pressure there.
fn start_pressure<T: Num>(io: &mut Step<'_, T>, pressure: T) {
    for port in 0..io.port_count() {
        io.bond_mut(port).effort = pressure;
    }
    impose_pressure(io, pressure);
}

#[inline(always)]
fn impose_pressure<T: Num>(io: &mut Step<'_, T>, pressure: T) {
    for port in 0..io.port_count() {
        io.set_wave(port, pressure, T::zero());
    }
}

macro_rules! tanks {
    ($($type:ident)*) => {$(
        impl Physics for $type {
            const HAS_LAW: bool = false;
            const IS_IDLE: bool = true;
            const ROLE: BalanceRole = BalanceRole::Boundary;

            fn prepare(&self, _: &Environment) -> Result<Level<f64>, Refusal> {
                Ok(Level { pressure: self.pressure })
            }
            fn start<T: Num>(k: &Level<T>, io: &mut Step<'_, T>) {
                start_pressure(io, k.pressure);
            }
            #[inline(always)]
            fn step<T: Num>(_: &Level<T>, _: &mut Step<'_, T>) {}
        }
    )*};
}
tanks!(TankC MultiTankC);

macro_rules! pressure_sources {
    ($($type:ident)*) => {$(
        impl Physics for $type {
            const HAS_LAW: bool = false;
            const ROLE: BalanceRole = BalanceRole::Boundary;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }
            fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                let pressure = io.input(Self::PRESSURE);
                start_pressure(io, pressure);
            }
            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                let pressure = io.input(Self::PRESSURE);
                impose_pressure(io, pressure);
            }
        }
    )*};
}
pressure_sources!(PressureSourceC MultiPressureSourceC);

/// End of a line whose wave and impedance are driven.
///
/// c = in_c,  Z = in_z
#[component("hopsan.HydraulicCSource", c)]
pub struct WaveSource {
    /// the end
    #[port(name = "P1")]
    p1: Hydraulic,
    /// c — wave [Pa]
    #[input(name = "in_c", default = "0 Pa")]
    pub wave: f64,
    /// Z — impedance [Pa*s/m^3]
    #[input(name = "in_z", default = "0 Pa*s/m^3")]
    pub impedance: f64,
}

/// Flow source of type Q.
///
/// q₁ = q,  p₁ = max(c₁ + Z₁·q, 0)
#[component("hopsan.HydraulicFlowSourceQ", q)]
pub struct FlowSourceQ {
    /// outlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// q — flow [m^3/s]
    #[input(name = "q", default = "1e-3 m^3/s")]
    pub flow: f64,
}

/// Pressure source of type Q, for the end of a line.
///
/// p₁ = p,  q₁ = (p − c₁)/Z₁
///
/// Needs an end with impedance.
#[component("hopsan.HydraulicPressureSourceQ", q)]
pub struct PressureSourceQ {
    /// outlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// p — pressure, absolute [Pa]
    #[input(name = "p", default = "1e5 Pa")]
    pub pressure: f64,
}

/// Plug: a closed end.
///
/// q₁ = 0,  p₁ = max(c₁, 0)
#[component("hopsan.HydraulicPlugQ", q)]
pub struct PlugQ {
    /// the end it closes
    #[port(name = "P1")]
    p1: Hydraulic,
}

/// End of type Q whose pressure and flow are both driven.
///
/// p₁ = in_p,  q₁ = in_q
#[component("hopsan.HydraulicQSource", q)]
pub struct QSource {
    /// the end
    #[port(name = "P1")]
    p1: Hydraulic,
    /// p — pressure [Pa]
    #[input(name = "in_p", default = "0 Pa")]
    pub pressure: f64,
    /// q — flow [m^3/s]
    #[input(name = "in_q", default = "0 m^3/s")]
    pub flow: f64,
}

#[inline(always)]
fn push_flow<T: Num>(io: &mut Step<'_, T>, port: usize, flow: T) {
    io.set_flow(port, flow);
    let bond = io.bond_mut(port);
    bond.effort = bond.effort.max(T::zero());
}

/// The physics of a source whose step needs no constants; with `start`, it takes one step at the
/// start.
macro_rules! sources {
    ($($type:ident $role:ident $($start:ident)? |$io:ident| $step:expr;)*) => {$(
        impl Physics for $type {
            const HAS_LAW: bool = false;
            const ROLE: BalanceRole = BalanceRole::$role;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }
            $(fn $start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
                Self::step(k, io);
            })?
            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, $io: &mut Step<'_, T>) {
                $step
            }
        }
    )*};
}
sources! {
    // Its pressure depends on flow: it is no ideal source.
    WaveSource Storage start |io| {
        let (wave, impedance) = (io.input(Self::WAVE), io.input(Self::IMPEDANCE));
        io.set_wave(Self::P1, wave, impedance);
    };
    FlowSourceQ Boundary start |io| {
        let flow = io.input(Self::FLOW);
        push_flow(io, Self::P1, flow);
    };
    PressureSourceQ Boundary |io| {
        let pressure = io.input(Self::PRESSURE);
        let bond = io.bond_mut(Self::P1);
        bond.flow = (pressure - bond.wave) / bond.impedance;
        bond.effort = pressure;
    };
    PlugQ Boundary start |io| push_flow(io, Self::P1, T::zero());
    QSource Boundary start |io| {
        let (pressure, flow) = (io.input(Self::PRESSURE), io.input(Self::FLOW));
        let bond = io.bond_mut(Self::P1);
        bond.effort = pressure;
        bond.flow = flow;
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    #[test]
    fn a_tank_starts_its_ports_at_its_pressure_and_takes_any_flow() {
        let around = Surroundings { places: vec![2], ..Surroundings::of::<MultiTankC>(1e-3) };
        let mut bench = Bench::within(&MultiTankC { pressure: 2e5 }, &around).unwrap();
        bench.start();
        assert_eq!((bench.effort(0), bench.effort(1)), (2e5, 2e5));
        for q in [1e-3, -2.0] {
            let tank = &mut Bench::new(&TankC { pressure: 2e5 }, 1e-3);
            tank.start().impose_flow(0, q).step().impose_flow(0, q);
            assert_eq!((tank.effort(0), tank.flow(0)), (2e5, q));
        }
    }

    #[test]
    fn the_pressure_of_a_source_follows_its_signal_within_the_step() {
        let mut bench = Bench::new(&PressureSourceC { pressure: 1e5 }, 1e-3);
        bench.input(PressureSourceC::PRESSURE, 3e5).start();
        assert_eq!(bench.effort(0), 3e5);
        bench.input(PressureSourceC::PRESSURE, 4e5).step().impose_flow(0, 1e-3);
        assert_eq!(bench.effort(0), 4e5);
        let around = Surroundings { places: vec![3], ..Surroundings::of::<MultiTankC>(1e-3) };
        let many = MultiPressureSourceC { pressure: 0.0 };
        let mut many = Bench::within(&many, &around).unwrap();
        many.input(0, 7e5).start().step().impose_flow(2, 1.0);
        assert_eq!([many.effort(0), many.effort(1), many.effort(2)], [7e5; 3]);
        let mut wave = Bench::new(&WaveSource { wave: 0.0, impedance: 0.0 }, 1e-3);
        wave.input(WaveSource::WAVE, 5e5).input(WaveSource::IMPEDANCE, 1e9).start();
        assert_eq!(wave.impose_flow(0, 1e-4).effort(0), 6e5);
    }

    #[test]
    fn sources_of_type_q_solve_their_line_end() {
        let (c, z) = (2e5, 1e9);
        let mut flow = Bench::new(&FlowSourceQ { flow: 0.0 }, 1e-3);
        flow.line(0, c, z).input(0, 1e-3).start();
        assert_eq!((flow.flow(0), flow.effort(0)), (1e-3, 12e5));
        flow.input(0, -1e-3).step();
        assert_eq!((flow.flow(0), flow.effort(0)), (-1e-3, 0.0), "no negative pressure");
        let mut pressure = Bench::new(&PressureSourceQ { pressure: 0.0 }, 1e-3);
        pressure.line(0, c, z).input(0, 12e5).step();
        assert_eq!((pressure.flow(0), pressure.effort(0)), (1e-3, 12e5));
        let mut plug = Bench::new(&PlugQ {}, 1e-3);
        assert_eq!(plug.line(0, c, z).start().effort(0), c);
        assert_eq!(plug.line(0, -c, z).step().effort(0), 0.0);
        let mut end = Bench::new(&QSource { pressure: 0.0, flow: 0.0 }, 1e-3);
        end.line(0, c, z).input(QSource::PRESSURE, 4e5).input(QSource::FLOW, 2e-3).start();
        assert_eq!((end.flow(0), end.effort(0)), (2e-3, 4e5));
    }
}
