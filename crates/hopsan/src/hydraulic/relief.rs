//! Valves that a pressure at their own ports opens or closes: relief, pressure drop, reducing.
//!
//! All share one spool. With Δ = p₁ − p₂ of the last step and x the opening (flow over √pressure):
//! b₁ = √p_n/k_cs + max(Δ, 0)/(k_cf·√p_n) is its stiffness from spring and flow forces, and
//! γ = 2·√|Δ|/(2·√|Δ| + (Z₁ + Z₂)·x),  b₂ = γ·(Z₁ + Z₂)·√|Δ| that of the line ends, which answer to
//! the opening. The opening wanted is (e + b₂·x/2)/(b₁ + b₂), where e is the excess of pressure; a
//! hysteresis of width p_h/(b₁ + b₂) and a lag of τ/(1 + b₂/b₁) follow.

use crate::blocks::{End, FirstOrder, limit, turbulent, with_cavitation};
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<PressureReliefValve>(),
    ComponentType::of::<PressureDropValve>(),
    ComponentType::of::<PressureReducingValve>(),
];

/// Valve that opens when the pressure at its inlet passes a limit.
///
/// Excess e = γ·c₁ − p_max; the spool is that of all valves here.
/// q = x·√Δp between [0, q_nom/√(7 MPa)].
#[component("hopsan.HydraulicPressureReliefValve", q, constants = PressureSpool)]
pub struct PressureReliefValve {
    /// high pressure side
    #[port(name = "P1")]
    p1: Hydraulic,
    /// low pressure side
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// x — opening, as flow over root of pressure [m^3/(s*sqrt(Pa))]
    #[output(name = "xv")]
    opening: Signal,
    /// p_max — pressure at which it opens [Pa]
    #[input(name = "p_max", default = "2e7 Pa")]
    pub pressure: f64,
    /// τ — time constant of the spool [s]
    #[input(name = "tao", default = "0.01 s")]
    pub lag: f64,
    /// p_h — width of the hysteresis [Pa]
    #[input(name = "p_h", default = "5e5 Pa")]
    pub hysteresis: f64,
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

/// Valve that opens when the pressure drop over it passes a limit.
///
/// Excess e = γ·(c₁ − c₂) − p_ref; the spool is that of all valves here.
#[component("hopsan.HydraulicPressureDropValve", q, constants = PressureSpool)]
pub struct PressureDropValve {
    /// high pressure side
    #[port(name = "P1")]
    p1: Hydraulic,
    /// low pressure side
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// x — opening, as flow over root of pressure [m^3/(s*sqrt(Pa))]
    #[output(name = "xv")]
    opening: Signal,
    /// p_ref — pressure drop at which it opens [Pa]
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

/// Valve that closes when the pressure at its outlet passes a limit.
///
/// Excess e = p_ref − γ·c₂; the spool is that of all valves here.
#[component("hopsan.HydraulicPressureReducingValve", q, constants = PressureSpool)]
pub struct PressureReducingValve {
    /// high pressure side
    #[port(name = "P1")]
    p1: Hydraulic,
    /// side whose pressure is reduced
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// x — opening, as flow over root of pressure [m^3/(s*sqrt(Pa))]
    #[output(name = "xv")]
    opening: Signal,
    /// p_ref — pressure at which it closes [Pa]
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

/// Nominal pressure drop, Pa.
pub const NOMINAL_PRESSURE: f64 = 7e6;

/// Characteristics of a spool that pressures move.
#[derive(Clone, Copy, Debug, Constants)]
pub struct PressureSpool<T> {
    /// √p_n/k_cs.
    pub spring: T,
    /// 1/(k_cf·√p_n).
    pub flow_force: T,
    /// q_n/√p_n — largest opening.
    pub most: T,
    /// τ — time constant.
    pub lag: T,
}

impl PressureSpool<f64> {
    /// From the characteristics at a nominal flow and pressure drop.
    pub fn new(spring: f64, flow_force: f64, (flow, pressure): (f64, f64), lag: f64) -> Self {
        let root = pressure.sqrt();
        Self {
            spring: root / spring,
            flow_force: (flow_force * root).recip(),
            most: flow / root,
            lag,
        }
    }
}

/// Holds a value within half a width around a target.
#[inline(always)]
pub fn hysteresis<T: Num>(target: T, width: T, before: T) -> T {
    let (low, high) = (target - width * 0.5, target + width * 0.5);
    T::select(before.lt(low), low, T::select(before.gt(high), high, before))
}

impl<T: Num> PressureSpool<T> {
    /// Opening after this step. `excess` gives the pressure that opens: it is told γ·s and s, and both
    /// waves.
    ///
    /// Everything is multiplied by s = 2·√|Δ| + (Z₁ + Z₂)·x and by the stiffness, so that no division
    /// waits for another.
    #[inline(always)]
    fn step(
        &self,
        io: &mut Step<'_, T>,
        filter: FirstOrder,
        [p1, p2]: [usize; 2],
        (lag, width): (T, T),
        excess: impl Fn([T; 2], T, T) -> T,
    ) -> T {
        let [wanted_1, before] = [io.memory(filter.0), io.memory(filter.0 + 1)];
        let (zero, one) = (T::zero(), T::one());
        let drop = io.effort(p1) - io.effort(p2);
        let size = drop.abs();
        let root = size.sqrt() * 2.0;
        let z = io.impedance(p1) + io.impedance(p2);
        let own = self.spring + (drop * self.flow_force).max(zero);
        let sum = root + z * before;
        // Without a drop and without lines to answer, γ = 1.
        let nothing = sum.le(zero) & sum.ge(zero);
        let sum = T::select(nothing, one, sum);
        let share = T::select(nothing, one, root);
        // s·b₂ = 2·|Δ|·(Z₁ + Z₂), s·(b₁ + b₂), and s·(e + b₂·x/2).
        let lines = (size * z * 2.0).max(zero);
        let firm = own * sum;
        let stiffness = firm + lines;
        let pushed = excess([share, sum], io.wave(p1), io.wave(p2)) + lines * before * 0.5;
        let wanted = hysteresis(pushed, width * sum, stiffness * before);
        // A lag of τ·b₁/(b₁ + b₂) by the bilinear rule.
        let (step, slow) = (stiffness * io.dt, lag * firm * 2.0);
        let driven = (wanted + stiffness * wanted_1) * io.dt - (step - slow) * before;
        let opening = limit(driven / (step + slow), zero, self.most);
        filter.start(io, wanted / stiffness, opening);
        opening
    }
}

/// Flow through an opening between two ports, with cavitation; pressures are not negative.
#[wide]
#[inline(always)]
pub fn set_turbulent<T: Num>(io: &mut Step<'_, T>, ports: [usize; 2], opening: T) {
    with_cavitation(io, ports, true, move |[one, two]: [End<T>; 2]| {
        let flow = turbulent(opening, one, two);
        [-flow, flow]
    });
}

/// The physics of a valve: how it reads its time constant, and what opens it, from γ·s and s, both
/// waves and the pressure it is set to.
macro_rules! opened_by {
    ($valve:ident, $lag:expr, $excess:expr) => {
        impl Physics for $valve {
            const HAS_LAW: bool = false;
            const BEGINS_EARLY: bool = true;

            fn prepare(&self, _: &Environment) -> Result<PressureSpool<f64>, Refusal> {
                let nominal = (self.nominal_flow, NOMINAL_PRESSURE);
                Ok(PressureSpool::new(self.spring, self.flow_force, nominal, self.lag))
            }

            fn start<T: Num>(_: &PressureSpool<T>, io: &mut Step<'_, T>) {
                FirstOrder(Self::WANTED_1).start(io, T::zero(), T::zero());
            }

            #[inline(always)]
            fn step<T: Num>(k: &PressureSpool<T>, io: &mut Step<'_, T>) {
                let (ports, set) = ([Self::P1, Self::P2], io.input(Self::PRESSURE));
                let shape = ($lag(k, &*io), io.input(Self::HYSTERESIS));
                let filter = FirstOrder(Self::WANTED_1);
                let x =
                    k.step(io, filter, ports, shape, |shares, c1, c2| $excess(shares, c1, c2, set));
                set_turbulent(io, ports, x);
                io.set_output(Self::OPENING, x);
            }
        }
    };
}

opened_by!(
    PressureReliefValve,
    |_, io: &Step<'_, T>| io.input(Self::LAG),
    |[share, one]: [T; 2], c1: T, _, set: T| share * c1 - set * one
);
opened_by!(
    PressureDropValve,
    |k: &PressureSpool<T>, _| k.lag,
    |[share, one]: [T; 2], c1: T, c2: T, set: T| share * (c1 - c2) - set * one
);
opened_by!(
    PressureReducingValve,
    |k: &PressureSpool<T>, _| k.lag,
    |[share, one]: [T; 2], _, c2: T, set: T| set * one - share * c2
);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const SPRING: f64 = 1e-8;
    const FLOW_FORCE: f64 = 2e-8;

    /// Opening after a long time between line ends.
    fn settled<M: Physics>(
        valve: &M,
        inputs: &[(usize, f64)],
        ends: [(f64, f64); 2],
    ) -> (f64, [f64; 2]) {
        let mut bench = Bench::new(valve, 1e-3);
        for &(input, value) in inputs {
            bench.input(input, value);
        }
        bench.start();
        for _ in 0..3000 {
            for (port, (wave, z)) in ends.into_iter().enumerate() {
                bench.line(port, wave, z);
            }
            bench.step();
        }
        (bench.output(0), [bench.effort(0), bench.effort(1)])
    }

    /// b₁ for a pressure drop.
    fn stiffness(drop: f64) -> f64 {
        let root = NOMINAL_PRESSURE.sqrt();
        root / SPRING + drop / (FLOW_FORCE * root)
    }

    #[test]
    fn a_relief_valve_opens_with_the_pressure_above_its_limit() {
        let valve = PressureReliefValve {
            pressure: 0.0,
            lag: 0.0,
            hysteresis: 0.0,
            spring: SPRING,
            flow_force: FLOW_FORCE,
            nominal_flow: 0.1,
        };
        let inputs = [
            (PressureReliefValve::PRESSURE, 1e7),
            (PressureReliefValve::LAG, 0.01),
            (PressureReliefValve::HYSTERESIS, 0.0),
        ];
        let (x, [p1, p2]) = settled(&valve, &inputs, [(1.2e7, 1e10), (0.0, 0.0)]);
        assert!(x > 0.0 && p1 > 1e7 && p2 == 0.0);
        assert!((x * stiffness(p1) / (p1 - 1e7) - 1.0).abs() < 1e-9);
        assert_eq!(settled(&valve, &inputs, [(0.99e7, 1e10), (0.0, 0.0)]).0, 0.0);
    }

    #[test]
    fn hysteresis_holds_a_relief_valve_half_its_width_below() {
        let valve = PressureReliefValve {
            pressure: 0.0,
            lag: 0.0,
            hysteresis: 0.0,
            spring: SPRING,
            flow_force: FLOW_FORCE,
            nominal_flow: 0.1,
        };
        let inputs = [
            (PressureReliefValve::PRESSURE, 1e7),
            (PressureReliefValve::LAG, 0.01),
            (PressureReliefValve::HYSTERESIS, 5e5),
        ];
        let (x, [p1, _]) = settled(&valve, &inputs, [(1.1e7, 0.0), (0.0, 0.0)]);
        assert!((x * stiffness(p1) / (p1 - 2.5e5 - 1e7) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_pressure_drop_valve_looks_at_the_drop_alone() {
        let valve = PressureDropValve {
            pressure: 0.0,
            hysteresis: 0.0,
            lag: 0.01,
            spring: SPRING,
            flow_force: FLOW_FORCE,
            nominal_flow: 0.1,
        };
        let inputs = [(PressureDropValve::PRESSURE, 2e6), (PressureDropValve::HYSTERESIS, 0.0)];
        let (x, [p1, p2]) = settled(&valve, &inputs, [(9e6, 1e9), (5e6, 1e9)]);
        assert!((x * stiffness(p1 - p2) / (p1 - p2 - 2e6) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_reducing_valve_opens_as_its_outlet_falls_below_its_setting() {
        let valve = PressureReducingValve {
            pressure: 0.0,
            hysteresis: 0.0,
            lag: 0.01,
            spring: SPRING,
            flow_force: FLOW_FORCE,
            nominal_flow: 0.1,
        };
        let inputs =
            [(PressureReducingValve::PRESSURE, 2e6), (PressureReducingValve::HYSTERESIS, 0.0)];
        let (x, _) = settled(&valve, &inputs, [(9e6, 0.0), (1.5e6, 0.0)]);
        assert!((x * stiffness(7.5e6) / 0.5e6 - 1.0).abs() < 1e-9);
        assert_eq!(settled(&valve, &inputs, [(9e6, 0.0), (2.1e6, 0.0)]).0, 0.0);
    }
}
