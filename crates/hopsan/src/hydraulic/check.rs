//! Check valves.
//!
//! All of them are open or closed: no spring moves. Which of the two is decided on the waves, before
//! anything flows.

use crate::blocks::{End, turbulent, with_cavitation_in_two_ways};
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<CheckValve>(),
    ComponentType::of::<CheckValvePreLoaded>(),
    ComponentType::of::<CheckValveWithOrifice>(),
    ComponentType::of::<PilotControlledCheckValve>(),
    ComponentType::of::<PilotClosableCheckValve>(),
];

/// Turbulent flow from one end to another where a mask holds, none elsewhere.
#[inline(always)]
pub(super) fn gated<T: Num>(open: T::Mask, conductance: T, from: End<T>, to: End<T>) -> [T; 2] {
    let q = match open.any() {
        true => T::select(open, turbulent(conductance, from, to), T::zero()),
        false => T::zero(),
    };
    [-q, q]
}

#[inline(always)]
fn one_or_zero<T: Num>(mask: T::Mask) -> T {
    T::select(mask, T::one(), T::zero())
}

/// Check valve.
///
/// q₂ = K_s·√(p₁ − p₂) when c₁ > c₂, else 0
#[component("hopsan.HydraulicCheckValve", q)]
pub struct CheckValve {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// K_s — flow at 1 Pa [m^3/(s*sqrt(Pa))]
    #[input(name = "K_s", default = "5e-7 m^3/(s*sqrt(Pa))")]
    pub conductance: f64,
    /// x — 1 when open, else 0 [–]
    #[output(name = "x")]
    opening: Output,
}

/// Check valve with a spring that closes it.
///
/// q₂ = K_s·√(p₁ − p₂) when c₁ > c₂ + F_s, else 0
#[component("hopsan.HydraulicCheckValvePreLoaded", q)]
pub struct CheckValvePreLoaded {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// K_s — flow at 1 Pa [m^3/(s*sqrt(Pa))]
    #[input(name = "K_s", default = "5e-7 m^3/(s*sqrt(Pa))")]
    pub conductance: f64,
    /// F_s — pressure of the spring [Pa]
    #[input(name = "F_s", default = "0 Pa")]
    pub spring: f64,
    /// x — 1 when open, else 0 [–]
    #[output(name = "x")]
    opening: Output,
}

/// What valves between two ports that a difference of waves opens have in common.
macro_rules! check_valves {
    ($($type:ident $(spring $spring:ident)?;)*) => {$(
        impl Physics for $type {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }

            #[wide]
            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                let (a, b) = (End::at(io, Self::P1), End::at(io, Self::P2));
                let conductance = io.input(Self::CONDUCTANCE);
                let spring = T::zero() $(+ io.input(Self::$spring))?;
                let is_open = move |a: End<T>, b: End<T>| a.wave.gt(b.wave + spring);
                let flows = move |[a, b]: [End<T>; 2]| gated(is_open(a, b), conductance, a, b);
                with_cavitation_in_two_ways(io, [Self::P1, Self::P2], true, flows, flows);
                io.set_output(Self::OPENING, one_or_zero(is_open(a, b)));
            }
        }
    )*};
}
check_valves! {
    CheckValve;
    CheckValvePreLoaded spring SPRING;
}

/// Check valve with an orifice for flow in the other direction.
///
/// q₂ = K·√|p₁ − p₂|·sign(p₁ − p₂),  K = K_s when c₁ > c₂, else K_r
///
/// Once an end has run dry nothing flows backwards.
#[component("hopsan.HydraulicCheckValveWithOrifice", q)]
pub struct CheckValveWithOrifice {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// K_s — flow at 1 Pa when open [m^3/(s*sqrt(Pa))]
    #[input(name = "K_s", default = "5e-7 m^3/(s*sqrt(Pa))")]
    pub conductance: f64,
    /// K_r — flow at 1 Pa through the orifice when closed [m^3/(s*sqrt(Pa))]
    #[input(name = "K_r", default = "5e-9 m^3/(s*sqrt(Pa))")]
    pub leakage: f64,
}

impl Physics for CheckValveWithOrifice {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let is_open = io.wave(Self::P1).gt(io.wave(Self::P2));
        // The conductance stays what it was before an end ran dry.
        let conductance = T::select(is_open, io.input(Self::CONDUCTANCE), io.input(Self::LEAKAGE));
        with_cavitation_in_two_ways(
            io,
            [Self::P1, Self::P2],
            true,
            move |[a, b]: [End<T>; 2]| {
                let q = turbulent(conductance, a, b);
                [-q, q]
            },
            move |[a, b]| gated(a.wave.gt(b.wave), conductance, a, b),
        );
    }
}

/// Check valve that a pilot pressure opens.
///
/// q₂ = K_s·√|p₁ − p₂|·sign(p₁ − p₂) when c₁ + φ·c_pilot − c₂ > p_f, else 0
///
/// Once an end has run dry the pilot does not count. Nothing flows at the pilot port.
#[component("hopsan.HydraulicPilotControlledCheckValve", q, constants = Seat)]
pub struct PilotControlledCheckValve {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// pilot
    #[port(name = "P_PILOT")]
    pilot: Hydraulic,
    /// φ — area of the pilot over that of the seat [–]
    #[input(name = "phi", default = 3.5)]
    pub area_ratio: f64,
    /// p_f — opening pressure [Pa]
    #[input(name = "p_f", default = "1e5 Pa")]
    pub cracking: f64,
    /// K_s — flow at 1 Pa [m^3/(s*sqrt(Pa))]
    #[parameter(name = "K_s", default = "5e-7 m^3/(s*sqrt(Pa))")]
    pub conductance: f64,
    /// x — 1 when open, else 0 [–]
    #[output(name = "x")]
    opening: Output,
}

/// Check valve that a pilot pressure keeps closed.
///
/// q₂ = K_s·√(p₁ − p₂) when c₁ > c₂ + c_pilot, else 0
///
/// Once an end has run dry the pilot does not count. Nothing flows at the pilot port.
#[component("hopsan.HydraulicPilotClosableCheckValve", q, constants = Seat)]
pub struct PilotClosableCheckValve {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// pilot
    #[port(name = "P_PILOT")]
    pilot: Hydraulic,
    /// K_s — flow at 1 Pa [m^3/(s*sqrt(Pa))]
    #[parameter(name = "K_s", default = "5e-7 m^3/(s*sqrt(Pa))")]
    pub conductance: f64,
    /// x — 1 when open, else 0 [–]
    #[output(name = "x")]
    opening: Output,
}

/// Constants of a piloted check valve.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Seat<T> {
    conductance: T,
}

macro_rules! piloted_valves {
    ($($type:ident |$io:ident, $a:ident, $b:ident, $pilot:ident| $is_open:expr;)*) => {$(
        impl Physics for $type {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<Seat<f64>, Refusal> {
                Ok(Seat { conductance: self.conductance })
            }

            #[wide]
            #[inline(always)]
            fn step<T: Num>(k: &Seat<T>, $io: &mut Step<'_, T>) {
                let ($a, $b) = ($io.wave(Self::P1), $io.wave(Self::P2));
                let $pilot = $io.wave(Self::PILOT);
                let is_open = $is_open;
                // A dry pilot also makes the valve compute its flow anew: it takes part as an end,
                // and keeps the flow it had.
                let held = $io.flow(Self::PILOT);
                let impedance = $io.impedance(Self::PILOT);
                $io.bond_mut(Self::PILOT).impedance = T::zero();
                let both = move |[p1, p2]: [T; 2]| [p1, p2, held];
                with_cavitation_in_two_ways(
                    $io,
                    [Self::P1, Self::P2, Self::PILOT],
                    true,
                    move |[a, b, _]: [End<T>; 3]| both(gated(is_open, k.conductance, a, b)),
                    move |[a, b, _]| both(gated(a.wave.gt(b.wave), k.conductance, a, b)),
                );
                $io.bond_mut(Self::PILOT).impedance = impedance;
                $io.set_output(Self::OPENING, one_or_zero(is_open));
            }
        }
    )*};
}
piloted_valves! {
    PilotControlledCheckValve |io, c1, c2, pilot| {
        (c1 + pilot * io.input(Self::AREA_RATIO) - c2).gt(io.input(Self::CRACKING))
    };
    PilotClosableCheckValve |io, c1, c2, pilot| c1.gt(c2 + pilot);
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const K: f64 = 5e-7;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-10 * b.abs(), "{a} {b}");
    }

    /// Asserts that the valve lets oil through with conductance `k`.
    fn assert_open<M: Physics>(bench: &Bench<M>, k: f64) {
        let drop = bench.effort(0) - bench.effort(1);
        close(bench.flow(1), k * drop.abs().sqrt() * drop.signum());
        assert_eq!(bench.flow(0), -bench.flow(1));
    }

    #[test]
    fn a_check_valve_lets_oil_through_one_way_only() {
        let mut bench = Bench::new(&CheckValve { conductance: K }, 1e-3);
        bench.input(0, K).line(0, 3e6, 1e9).line(1, 1e6, 2e9).step();
        assert_open(&bench, K);
        assert_eq!(bench.output(0), 1.0);
        bench.line(0, 1e6, 1e9).line(1, 3e6, 2e9).step();
        assert_eq!((bench.flow(1), bench.output(0)), (0.0, 0.0));
        assert_eq!((bench.effort(0), bench.effort(1)), (1e6, 3e6));
    }

    #[test]
    fn a_spring_keeps_a_check_valve_closed_up_to_its_pressure() {
        let mut bench = Bench::new(&CheckValvePreLoaded { conductance: K, spring: 0.0 }, 1e-3);
        bench.input(CheckValvePreLoaded::CONDUCTANCE, K).input(CheckValvePreLoaded::SPRING, 1e6);
        bench.line(0, 1.9e6, 1e9).line(1, 1e6, 2e9).step();
        assert_eq!((bench.flow(1), bench.output(0)), (0.0, 0.0));
        bench.line(0, 2.1e6, 1e9).step();
        assert_eq!(bench.output(0), 1.0);
        assert_open(&bench, K);
    }

    #[test]
    fn an_orifice_in_a_check_valve_leaks_backwards_but_not_into_a_dry_end() {
        let valve = CheckValveWithOrifice { conductance: K, leakage: 0.0 };
        let mut bench = Bench::new(&valve, 1e-3);
        bench.input(CheckValveWithOrifice::CONDUCTANCE, K);
        bench.input(CheckValveWithOrifice::LEAKAGE, 1e-8);
        bench.line(0, 3e6, 1e9).line(1, 1e6, 2e9).step();
        assert_open(&bench, K);
        bench.line(0, 1e6, 1e9).line(1, 3e6, 2e9).step();
        assert_open(&bench, 1e-8);
        bench.line(0, -3e7, 1e9).line(1, 3e6, 2e9).step();
        assert_eq!((bench.flow(1), bench.effort(0), bench.effort(1)), (0.0, 0.0, 3e6));
    }

    #[test]
    fn a_pilot_pressure_opens_a_check_valve_to_flow_backwards() {
        let valve = PilotControlledCheckValve { area_ratio: 0.0, cracking: 0.0, conductance: K };
        let mut bench = Bench::new(&valve, 1e-3);
        bench.input(PilotControlledCheckValve::AREA_RATIO, 3.5);
        bench.input(PilotControlledCheckValve::CRACKING, 1e5);
        bench.line(0, 1e5, 1e9).line(1, 7e6, 2e9).line(2, 1.9e6, 1e10).step();
        assert_eq!((bench.flow(1), bench.output(0)), (0.0, 0.0));
        bench.line(2, 2.1e6, 1e10).step();
        assert_eq!(bench.output(0), 1.0);
        assert!(bench.flow(1) < 0.0);
        assert_open(&bench, K);
        assert_eq!((bench.flow(2), bench.effort(2)), (0.0, 2.1e6));
    }

    #[test]
    fn a_pilot_pressure_keeps_a_check_valve_closed_unless_it_is_dry() {
        let mut bench = Bench::new(&PilotClosableCheckValve { conductance: K }, 1e-3);
        bench.line(0, 3e6, 1e9).line(1, 1e6, 2e9).line(2, 2.1e6, 1e10).step();
        assert_eq!((bench.flow(1), bench.output(0)), (0.0, 0.0));
        bench.line(2, 1.9e6, 1e10).step();
        assert_open(&bench, K);
        bench.line(0, 1e6, 1e9).line(1, 1.5e6, 2e9).line(2, -1e6, 1e10).step();
        assert_eq!((bench.flow(1), bench.output(0), bench.effort(2)), (0.0, 1.0, 0.0));
    }

    /// Lanes of which some run dry give the bits that each gives alone.
    #[test]
    fn lanes_give_the_bits_of_scalars() {
        use super::super::spool::tests::assert_lanes;
        assert_lanes::<CheckValve>(0.0, 1e-6);
        assert_lanes::<CheckValvePreLoaded>(0.0, 1e-6);
        assert_lanes::<CheckValveWithOrifice>(0.0, 1e-6);
        assert_lanes::<PilotControlledCheckValve>(0.0, 5.0);
        assert_lanes::<PilotClosableCheckValve>(0.0, 1.0);
    }
}
