//! Valves that pressures at pilot ports open or close.
//!
//! All share one spool. With b = √p_n/k_cs + (p₁ − p₂)/(k_cf·√p_n), its stiffness from spring and
//! flow forces, and e the excess of pressure of the last step, the wanted opening is e/b; a hysteresis
//! of width p_h/b and a lag of τ follow. Flow is x·√Δp. Pilot ports let nothing through.

use super::relief::{NOMINAL_PRESSURE, PressureSpool, hysteresis, set_turbulent};
use crate::blocks::FirstOrder;
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::Num;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<OverCentreValve>(),
    ComponentType::of::<PressureCompensatingValve>(),
    ComponentType::of::<PressureControlledValve>(),
];

/// Valve that its inlet and, over an area ratio, a pilot open: it holds a load until it is driven.
///
/// Excess e = p₁ + a·p_c − p_ref; the spool is that of all valves here.
#[component("hopsan.HydraulicOverCenterValve", q, constants = PressureSpool)]
pub struct OverCentreValve {
    /// load
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// pilot that opens
    #[port(name = "P_CONTROL")]
    pilot: Hydraulic,
    /// x — opening, as flow over root of pressure [m^3/(s*sqrt(Pa))]
    #[output(name = "xv")]
    opening: Signal,
    /// p_ref — pressure at which it opens [Pa]
    #[input(name = "p_ref", default = "2e6 Pa")]
    pub pressure: f64,
    /// p_h — width of the hysteresis [Pa]
    #[input(name = "p_h", default = "5e5 Pa")]
    pub hysteresis: f64,
    /// a — area of the pilot over that of the inlet [–]
    #[input(name = "a_ratio", default = 5)]
    pub ratio: f64,
    /// τ — time constant of the spool [s]
    #[parameter(name = "tao", default = "0.01 s")]
    pub lag: f64,
    /// k_cs — static characteristic due to the spring [m^3/(s*Pa)]
    #[parameter(name = "k_cs", default = "1e-8 m^3/(s*Pa)")]
    pub spring: f64,
    /// k_cf — static characteristic due to flow forces [m^3/(s*Pa)]
    #[parameter(name = "k_cf", default = "1e-8 m^3/(s*Pa)")]
    pub flow_force: f64,
    /// q_nom — flow of the open valve at the nominal pressure drop [m^3/s]
    #[parameter(name = "q_nom", default = "0.001 m^3/s")]
    pub nominal_flow: f64,
    /// p_nom — nominal pressure drop [Pa]
    #[parameter(name = "p_nom", default = "7e6 Pa")]
    pub nominal_pressure: f64,
    /// – — wanted opening one step ago [m^3/(s*sqrt(Pa))]
    #[memory]
    wanted_1: Memory,
    /// – — opening one step ago [m^3/(s*sqrt(Pa))]
    #[memory]
    opening_1: Memory,
}

/// Valve that is open and closes as one pilot passes another by more than a set pressure.
///
/// The wanted opening is the largest less e/b with e = p_open − p_close − p_ref; the spool is that
/// of all valves here.
#[component("hopsan.HydraulicPressureCompensatingValve", q, constants = PressureSpool)]
pub struct PressureCompensatingValve {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// pilot that closes as it rises
    #[port(name = "P_OPEN")]
    rising: Hydraulic,
    /// pilot that closes as it falls
    #[port(name = "P_CLOSE")]
    falling: Hydraulic,
    /// x — opening, as flow over root of pressure [m^3/(s*sqrt(Pa))]
    #[output(name = "xv")]
    opening: Signal,
    /// p_ref — difference of the pilots at which it begins to close [Pa]
    #[input(name = "p_ref", default = "2e6 Pa")]
    pub pressure: f64,
    /// p_h — width of the hysteresis [Pa]
    #[input(name = "p_h", default = "5e5 Pa")]
    pub hysteresis: f64,
    /// τ — time constant of the spool [s]
    #[parameter(name = "tao", default = "0.01 s")]
    pub lag: f64,
    /// k_cs — static characteristic due to the spring [m^3/(s*Pa)]
    #[parameter(name = "k_cs", default = "1e-8 m^3/(s*Pa)")]
    pub spring: f64,
    /// k_cf — static characteristic due to flow forces [m^3/(s*Pa)]
    #[parameter(name = "k_cf", default = "1e-8 m^3/(s*Pa)")]
    pub flow_force: f64,
    /// q_nom — flow of the open valve at 7 MPa [m^3/s]
    #[parameter(name = "q_nom", default = "0.001 m^3/s")]
    pub nominal_flow: f64,
    /// – — wanted opening one step ago [m^3/(s*sqrt(Pa))]
    #[memory]
    wanted_1: Memory,
    /// – — opening one step ago [m^3/(s*sqrt(Pa))]
    #[memory]
    opening_1: Memory,
}

/// Valve that opens as one pilot passes another by more than a set pressure.
///
/// Excess e = p_open − p_close − p_ref; the spool is that of all valves here.
#[component("hopsan.HydraulicPressureControlledValve", q, constants = PressureSpool)]
pub struct PressureControlledValve {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// pilot that opens as it rises
    #[port(name = "P_OPEN")]
    rising: Hydraulic,
    /// pilot that opens as it falls
    #[port(name = "P_CLOSE")]
    falling: Hydraulic,
    /// x — opening, as flow over root of pressure [m^3/(s*sqrt(Pa))]
    #[output(name = "x0")]
    opening: Signal,
    /// p_ref — difference of the pilots at which it opens [Pa]
    #[input(name = "p_ref", default = "2e6 Pa")]
    pub pressure: f64,
    /// p_h — width of the hysteresis [Pa]
    #[input(name = "p_h", default = "5e5 Pa")]
    pub hysteresis: f64,
    /// τ — time constant of the spool [s]
    #[parameter(name = "tao", default = "0.01 s")]
    pub lag: f64,
    /// k_cs — static characteristic due to the spring [m^3/(s*Pa)]
    #[parameter(name = "k_cs", default = "1e-8 m^3/(s*Pa)")]
    pub spring: f64,
    /// k_cf — static characteristic due to flow forces [m^3/(s*Pa)]
    #[parameter(name = "k_cf", default = "1e-8 m^3/(s*Pa)")]
    pub flow_force: f64,
    /// q_nom — flow of the open valve at the nominal pressure drop [m^3/s]
    #[parameter(name = "q_nom", default = "0.001 m^3/s")]
    pub nominal_flow: f64,
    /// p_nom — nominal pressure drop [Pa]
    #[parameter(name = "p_nom", default = "7e6 Pa")]
    pub nominal_pressure: f64,
    /// – — wanted opening one step ago [m^3/(s*sqrt(Pa))]
    #[memory]
    wanted_1: Memory,
    /// – — opening one step ago [m^3/(s*sqrt(Pa))]
    #[memory]
    opening_1: Memory,
}

/// The physics of a valve: its nominal pressure drop, its pilots, where its spool starts, and the
/// wanted opening times the stiffness b.
macro_rules! piloted {
    ($valve:ident, $nominal:expr, [$($pilot:expr),+], $rest:expr, $wanted:expr) => {
        impl Physics for $valve {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<PressureSpool<f64>, Refusal> {
                let nominal = (self.nominal_flow, $nominal(self));
                Ok(PressureSpool::new(self.spring, self.flow_force, nominal, self.lag))
            }

            fn start<T: Num>(k: &PressureSpool<T>, io: &mut Step<'_, T>) {
                let rest = $rest(k);
                FirstOrder(Self::WANTED_1).start(io, rest, rest);
            }

            #[inline(always)]
            fn step<T: Num>(k: &PressureSpool<T>, io: &mut Step<'_, T>) {
                let (zero, one) = (T::zero(), T::one());
                let stiffness =
                    k.spring + k.flow_force * (io.effort(Self::P1) - io.effort(Self::P2));
                let wanted = $wanted(k, &*io, stiffness);
                let width = io.input(Self::HYSTERESIS) / stiffness;
                let wanted = hysteresis(wanted, width, io.memory(Self::OPENING_1));
                let filter = FirstOrder(Self::WANTED_1);
                let x = filter.step(io, [one, zero], [one, k.lag], wanted, (zero, k.most));
                set_turbulent(io, [Self::P1, Self::P2], x);
                for pilot in [$($pilot),+] {
                    let wave = io.wave(pilot);
                    io.bond_mut(pilot).effort = wave.max(zero);
                }
                io.set_output(Self::OPENING, x);
            }
        }
    };
}

piloted!(
    OverCentreValve,
    |valve: &Self| valve.nominal_pressure,
    [Self::PILOT],
    |_| T::zero(),
    |_, io: &Step<'_, T>, stiffness: T| {
        (io.effort(Self::P1) - io.input(Self::PRESSURE)
            + io.input(Self::RATIO) * io.effort(Self::PILOT))
            / stiffness
    }
);
piloted!(
    PressureCompensatingValve,
    |_| NOMINAL_PRESSURE,
    [Self::RISING, Self::FALLING],
    |k: &PressureSpool<T>| k.most,
    |k: &PressureSpool<T>, io: &Step<'_, T>, stiffness: T| {
        let difference = io.effort(Self::RISING) - io.effort(Self::FALLING);
        k.most - (difference - io.input(Self::PRESSURE)) / stiffness
    }
);
piloted!(
    PressureControlledValve,
    |valve: &Self| valve.nominal_pressure,
    [Self::RISING, Self::FALLING],
    |_| T::zero(),
    |_, io: &Step<'_, T>, stiffness: T| {
        let difference = io.effort(Self::RISING) - io.effort(Self::FALLING);
        (difference - io.input(Self::PRESSURE)) / stiffness
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    /// Opening times stiffness after a long time between ends without impedance, and the flow.
    fn settled<M: Physics>(valve: &M, inputs: &[(usize, f64)], waves: &[f64]) -> (f64, f64) {
        let mut bench = Bench::new(valve, 1e-3);
        for &(input, value) in inputs {
            bench.input(input, value);
        }
        bench.start();
        for _ in 0..1000 {
            for (port, &wave) in waves.iter().enumerate() {
                bench.line(port, wave, 0.0);
            }
            bench.step();
        }
        let stiffness = 7e6f64.sqrt() / 1e-8 + (waves[0] - waves[1]) / (1e-8 * 7e6f64.sqrt());
        let (x, drop) = (bench.output(0), waves[0] - waves[1]);
        assert!((bench.flow(1) - x * drop.sqrt()).abs() < 1e-12);
        for (port, &wave) in waves.iter().enumerate().skip(2) {
            assert_eq!((bench.flow(port), bench.effort(port)), (0.0, wave));
        }
        (x * stiffness, x)
    }

    #[test]
    fn an_over_centre_valve_opens_for_the_load_or_its_pilot() {
        let valve = OverCentreValve {
            pressure: 0.0,
            hysteresis: 0.0,
            ratio: 0.0,
            lag: 0.01,
            spring: 1e-8,
            flow_force: 1e-8,
            nominal_flow: 1.0,
            nominal_pressure: 7e6,
        };
        let inputs = [(OverCentreValve::PRESSURE, 2e7), (OverCentreValve::RATIO, 5.0)];
        assert_eq!(settled(&valve, &inputs, &[1e7, 1e5, 1e6]).0, 0.0);
        assert!((settled(&valve, &inputs, &[1e7, 1e5, 2.5e6]).0 - 2.5e6).abs() < 1e-3);
        assert!((settled(&valve, &inputs, &[2.1e7, 1e5, 0.0]).0 - 1e6).abs() < 1e-3);
    }

    #[test]
    fn a_controlled_valve_opens_and_a_compensator_closes_with_the_pilots() {
        let controlled = PressureControlledValve {
            pressure: 0.0,
            hysteresis: 0.0,
            lag: 0.01,
            spring: 1e-8,
            flow_force: 1e-8,
            nominal_flow: 1.0,
            nominal_pressure: 7e6,
        };
        let inputs =
            [(PressureControlledValve::PRESSURE, 1e6), (PressureControlledValve::HYSTERESIS, 2e5)];
        // It comes from below: half the hysteresis is missing.
        let (force, _) = settled(&controlled, &inputs, &[1e7, 1e5, 4e6, 2e6]);
        assert!((force - 9e5).abs() < 1e-3);
        let compensator = PressureCompensatingValve {
            pressure: 0.0,
            hysteresis: 0.0,
            lag: 0.01,
            spring: 1e-8,
            flow_force: 1e-8,
            nominal_flow: 1e-2,
        };
        let inputs = [(PressureCompensatingValve::PRESSURE, 1e6)];
        let most = 1e-2 / 7e6f64.sqrt();
        let open = settled(&compensator, &inputs, &[1e7, 1e5, 2e6, 2e6]).1;
        assert!((open / most - 1.0).abs() < 1e-9);
        let (force, x) = settled(&compensator, &inputs, &[1e7, 1e5, 3.5e6, 2e6]);
        assert!((force - (most * force / x - 5e5)).abs() < 1e-3);
    }
}
