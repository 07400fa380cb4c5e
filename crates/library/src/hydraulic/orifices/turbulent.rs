//! Turbulent orifice.

use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wave::turbulent_flow;
use fluxline_core::{Constants, component};

/// Sharp-edged orifice, fully turbulent.
///
/// q = K·√|Δp|·sign(Δp),  K = C_q·A·√(2/ρ)
///
/// The slope at Δp = 0 is infinite: prefer `hydraulic.orifice` where flow reverses.
/// Merritt, Hydraulic Control Systems (1967), section 3.4.
#[component("hydraulic.turbulent_orifice", q, constants = OrificeConstants, also = "hopsan:HydraulicTurbulentOrifice")]
pub struct TurbulentOrifice {
    /// upstream side when flow is positive
    #[port(also = "P1")]
    inlet: Hydraulic,
    /// downstream side
    #[port(also = "P2")]
    outlet: Hydraulic,
    /// A — flow area [m²]
    #[input(default = "10 mm^2", min = "0 mm^2", also = "A")]
    pub area: f64,
    /// C_q — discharge coefficient [–]
    #[parameter(default = 0.67, min = 0, max = 1, also = "C_q")]
    pub discharge: f64,
}

/// Constants of [`TurbulentOrifice`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct OrificeConstants<T> {
    /// K/A = C_q·√(2/ρ).
    conductance_per_area: T,
}

impl Physics for TurbulentOrifice {
    fn prepare(&self, environment: &Environment) -> Result<OrificeConstants<f64>, Refusal> {
        let conductance_per_area = self.discharge * (2.0 / environment.fluid.density).sqrt();
        Ok(OrificeConstants { conductance_per_area })
    }

    fn law<T: Num>(k: &OrificeConstants<T>, law: &mut Law<'_, T>) {
        let conductance = k.conductance_per_area * law.input[Self::AREA].max(T::zero());
        let through =
            conductance * (law.effort[Self::INLET] - law.effort[Self::OUTLET]).signed_sqrt();
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
    }

    #[inline(always)]
    fn step<T: Num>(k: &OrificeConstants<T>, io: &mut Step<'_, T>) {
        let conductance = k.conductance_per_area * io.input(Self::AREA).max(T::zero());
        let through = turbulent_flow(
            conductance,
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
    use fluxline_core::testing::Bench;
    use proptest::prelude::*;

    fn bench(area: f64) -> Bench<TurbulentOrifice> {
        let mut bench = Bench::new(&TurbulentOrifice { area, discharge: 0.67 }, 1e-4);
        bench.input(TurbulentOrifice::AREA, area);
        bench
    }

    #[test]
    fn flow_between_stiff_sources_is_the_formula() {
        let mut bench = bench(10e-6);
        bench.line(0, 100e5, 0.0).line(1, 20e5, 0.0).step();
        let expected = 0.67 * 10e-6 * (2.0 * 80e5 / 870.0f64).sqrt();
        assert!((bench.flow(1) / expected - 1.0).abs() < 1e-12);
        assert_eq!(bench.flow(0), -bench.flow(1));
    }

    #[test]
    fn closed_orifice_passes_nothing() {
        let mut bench = bench(0.0);
        bench.line(0, 100e5, 0.0).line(1, 100e5, 0.0).step();
        assert_eq!(bench.flow(1), 0.0);
    }

    proptest! {
        /// The closed form satisfies q = K·√|Δp|·sign(Δp) with p = c + Z·q at both ends.
        #[test]
        fn flow_through_lines_satisfies_the_orifice_law(
            c1 in -1e5..400e5f64, c2 in -1e5..400e5f64, z1 in 0.0..1e11f64, z2 in 0.0..1e11f64, area in 0.0..1e-4f64,
        ) {
            let mut bench = bench(area);
            bench.line(0, c1, z1).line(1, c2, z2).step();
            let (p1, p2) = (c1 + z1 * bench.flow(0), c2 + z2 * bench.flow(1));
            let k = 0.67 * area * (2.0 / 870.0f64).sqrt();
            // in squares, which stay well conditioned at small Δp
            let error = bench.flow(1) * bench.flow(1).abs() - k * k * (p1 - p2);
            prop_assert!(error.abs() <= 1e-9 * k * k * (c1 - c2).abs() + 1e-30);
        }

        #[test]
        fn flow_reverses_with_the_pressure_drop(c1 in 0.0..400e5f64, c2 in 0.0..400e5f64, z in 0.0..1e11f64) {
            let (mut forward, mut reverse) = (bench(1e-5), bench(1e-5));
            forward.line(0, c1, z).line(1, c2, z).step();
            reverse.line(0, c2, z).line(1, c1, z).step();
            prop_assert_eq!(forward.flow(1), -reverse.flow(1));
        }
    }
}
