//! Laminar orifice.

use crate::hydraulic::flow::{litres, point};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wave::laminar_flow;
use fluxline_core::{Constants, component};

/// Laminar restriction: leakage gap, capillary, damping nozzle.
///
/// q = G·Δp,  G given, or G = q_n/Δp_n
///
/// Merritt, Hydraulic Control Systems (1967), section 3.3; between line ends Pollmeier (D13).
#[component("hydraulic.laminar_orifice", q, constants = LaminarConstants, also = "hopsan:HydraulicLaminarOrifice")]
pub struct LaminarOrifice {
    /// upstream side when flow is positive
    #[port(also = "P1")]
    inlet: Hydraulic,
    /// downstream side
    #[port(also = "P2")]
    outlet: Hydraulic,
    /// G — flow per pressure drop [m^3/(s*Pa)]
    #[input(default = "1e-11 m^3/(s*Pa)", min = "0 m^3/(s*Pa)", also = "Kc")]
    pub conductance: f64,
    /// q_n — flow at the nominal pressure drop; replaces the conductance [m^3/s]
    #[parameter(min = ">0 l/min")]
    pub nominal_flow: Option<f64>,
    /// Δp_n — pressure drop at the nominal flow [Pa]
    #[parameter(min = ">0 bar")]
    pub nominal_pressure_drop: Option<f64>,
}

/// As declared, to see whether a file gives another one.
const DECLARED_CONDUCTANCE: f64 = 1e-11;

/// Constants of [`LaminarOrifice`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct LaminarConstants<T> {
    nominal: T,
    by_nominal: bool,
}

impl<T: Num> LaminarConstants<T> {
    #[inline(always)]
    fn conductance(&self, input: T) -> T {
        if self.by_nominal { self.nominal } else { input.max(T::zero()) }
    }
}

impl Physics for LaminarOrifice {
    fn prepare(&self, _: &Environment) -> Result<LaminarConstants<f64>, Refusal> {
        let point = point(
            ("nominal_flow", self.nominal_flow),
            ("nominal_pressure_drop", self.nominal_pressure_drop),
        )?;
        if let Some((flow, _)) = point
            && self.conductance != DECLARED_CONDUCTANCE
        {
            return Err(Refusal::new(
                "nominal_flow",
                format!(
                    "the size is given twice: conductance = {} m³/(s·Pa) and nominal_flow = {}",
                    self.conductance,
                    litres(flow)
                ),
                "keep one of them, conductance or nominal_flow",
            ));
        }
        Ok(LaminarConstants {
            nominal: point.map_or(0.0, |(flow, drop)| flow / drop),
            by_nominal: point.is_some(),
        })
    }

    fn law<T: Num>(k: &LaminarConstants<T>, law: &mut Law<'_, T>) {
        let drop = law.effort[Self::INLET] - law.effort[Self::OUTLET];
        let through = k.conductance(law.input[Self::CONDUCTANCE]) * drop;
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
    }

    #[inline(always)]
    fn step<T: Num>(k: &LaminarConstants<T>, io: &mut Step<'_, T>) {
        let through = laminar_flow(
            k.conductance(io.input(Self::CONDUCTANCE)),
            io.wave(Self::INLET) - io.wave(Self::OUTLET),
            io.impedance(Self::INLET) + io.impedance(Self::OUTLET),
        );
        io.set_flow(Self::INLET, -through);
        io.set_flow(Self::OUTLET, through);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    #[test]
    fn nominal_point_is_met_and_flow_is_proportional() {
        let orifice = LaminarOrifice {
            nominal_flow: Some(FLOW_40),
            nominal_pressure_drop: Some(5e5),
            ..declared()
        };
        let mut bench = Bench::new(&orifice, 1e-4);
        bench.line(0, 8e5, 0.0).line(1, 3e5, 0.0).step();
        assert!((bench.flow(1) / FLOW_40 - 1.0).abs() < 1e-12);
        bench.line(0, 3e5, 0.0).line(1, 4e5, 0.0).step();
        assert!((bench.flow(1) / (-FLOW_40 / 5.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn conductance_and_nominal_point_exclude_each_other() {
        let both = LaminarOrifice {
            conductance: 1e-9,
            nominal_flow: Some(FLOW_40),
            nominal_pressure_drop: Some(5e5),
        };
        let around = Surroundings::of::<LaminarOrifice>(1e-4);
        let refusal = Bench::within(&both, &around).err().unwrap();
        assert!(refusal.message.contains("40 l/min"));
    }

    #[test]
    fn lanes_are_scalars() {
        let one: LaminarOrifice = declared();
        lanes_give_the_bits_of_scalars([&one; 4], &[(0.0, 1e-8)], (-1e5, 4e7));
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_generic_step(
            c1 in -1e5..4e7f64, c2 in -1e5..4e7f64, z1 in 0.0..1e11f64, z2 in 0.0..1e11f64, g in 0.0..1e-9f64,
        ) {
            agrees_with_the_generic_step(|| {
                let mut bench = Bench::new(&declared::<LaminarOrifice>(), 1e-4);
                bench.input(LaminarOrifice::CONDUCTANCE, g).line(0, c1, z1).line(1, c2, z2);
                bench
            }, 1e-10)?;
        }
    }
}
