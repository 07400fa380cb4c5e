//! Sharp-edged orifice, laminar and turbulent.

use crate::hydraulic::flow::{Ends, Restriction, sized};
use fluxline_core::component;
use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::Num;

sized! {
    /// Sharp-edged orifice, laminar at small and turbulent at large pressure drops.
    ///
    /// q = K·√|Δp|·sign(Δp) for |Δp| ≥ Δp₀,  q = a₁·Δp + a₃·Δp³ below
    ///
    /// K = C_d·A·√(2/ρ),  a₁ = 5K/(4√Δp₀),  a₃ = −K/(4Δp₀^{5/2}),  Δp₀ = Re_tr²·ν²·π·√ρ/(√32·C_d·K)
    ///
    /// Value and slope are continuous and the slope at zero drop is finite. Δp₀ is the drop at which
    /// Re = C_d·d·√(2Δp/ρ)/ν of a round orifice reaches Re_tr; it follows the viscosity of the oil
    /// at the ports. Åman (thesis, Lappeenranta University of Technology, 2011), equations 2.10–2.21.
    /// For comparison the law may be turbulent throughout, Merritt's (linear below the transition) or
    /// Ellman's (quadratic). Where a signal drives the area, use `hydraulic.variable_orifice`.
    #[component("hydraulic.orifice", q, constants = Restriction)]
    pub struct Orifice {
        /// upstream side when flow is positive
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// downstream side
        #[port(also = "P2")]
        outlet: Hydraulic,
    }
}

impl Physics for Orifice {
    fn prepare(&self, environment: &Environment) -> Result<Restriction<f64>, Refusal> {
        self.size().restriction(environment.fluid, |_| Ok(1.0))
    }

    fn law<T: Num>(k: &Restriction<T>, law: &mut Law<'_, T>) {
        let viscosity = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let drop = law.effort[Self::INLET] - law.effort[Self::OUTLET];
        let through = k.flow(T::one(), drop, viscosity);
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
    }

    #[inline]
    fn step<T: Num>(k: &Restriction<T>, io: &mut Step<'_, T>) {
        let ends = Ends::of(io, Self::INLET, Self::OUTLET);
        let through = k.flow_between(T::one(), &ends);
        io.set_flow(Self::INLET, -through);
        io.set_flow(Self::OUTLET, through);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::FlowLaw;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    fn bore(diameter: f64, law: FlowLaw) -> Orifice {
        Orifice { diameter: Some(diameter), law, ..declared() }
    }

    #[test]
    fn flow_between_stiff_sources_is_the_formula() {
        let mut bench = Bench::new(&bore(3e-3, FlowLaw::TwoRegime), 1e-4);
        bench.line(0, 100e5, 0.0).line(1, 20e5, 0.0).step();
        let area = std::f64::consts::PI * 3e-3 * 3e-3 / 4.0;
        let expected = 0.67 * area * (2.0 * 80e5 / 870.0f64).sqrt();
        assert!((bench.flow(1) / expected - 1.0).abs() < 1e-12);
        // below the transition: Åman 2.15 and 2.20 as printed in the header
        let k = 0.67 * area * (2.0 / 870.0f64).sqrt();
        let p0 = 1e6 * 30e-6f64.powi(2) * std::f64::consts::PI * 870f64.sqrt()
            / (32f64.sqrt() * 0.67 * k);
        let drop = 0.4 * p0;
        bench.line(0, drop, 0.0).line(1, 0.0, 0.0).step();
        let cubic = 1.25 * k / p0.sqrt() * drop - 0.25 * k / p0.powf(2.5) * drop.powi(3);
        assert!((bench.flow(1) / cubic - 1.0).abs() < 1e-12);
    }

    #[test]
    fn cold_oil_flows_slower_through_a_small_drop_only() {
        let flow = |viscosity: f64, drop: f64| {
            let mut bench = Bench::new(&bore(3e-3, FlowLaw::TwoRegime), 1e-4);
            bench.state.viscosity.fill(viscosity);
            bench.line(0, drop, 0.0).line(1, 0.0, 0.0).step();
            bench.flow(1)
        };
        assert!(flow(300e-6, 1e4) < 0.5 * flow(30e-6, 1e4));
        assert_eq!(flow(100e-6, 100e5), flow(30e-6, 100e5));
    }

    #[test]
    fn size_must_be_given_once() {
        let around = Surroundings::of::<Orifice>(1e-4);
        assert!(Bench::within(&declared::<Orifice>(), &around).is_err());
        let twice = Orifice { area: Some(1e-5), ..bore(1e-3, FlowLaw::TwoRegime) };
        assert!(Bench::within(&twice, &around).is_err());
    }

    #[test]
    fn lanes_are_scalars() {
        for law in [FlowLaw::TwoRegime, FlowLaw::Merritt, FlowLaw::Ellman] {
            let sizes = [1e-3, 2e-3, 5e-3, 0.2e-3].map(|d| bore(d, law));
            let [a, b, c, d] = &sizes;
            lanes_give_the_bits_of_scalars([a, b, c, d], &[], (0.0, 2e5));
        }
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_generic_step(
            c1 in 0.0..2e6f64, c2 in 0.0..2e6f64, z1 in 0.0..1e10f64, z2 in 0.0..1e10f64,
            d in 0.2e-3..5e-3f64, law in 0..3usize,
        ) {
            let orifice = bore(d, [FlowLaw::TwoRegime, FlowLaw::Merritt, FlowLaw::Ellman][law]);
            agrees_with_the_generic_step(|| {
                let mut bench = Bench::new(&orifice, 1e-4);
                bench.line(0, c1, z1).line(1, c2, z2);
                bench
            }, 1e-9)?;
        }
    }
}
