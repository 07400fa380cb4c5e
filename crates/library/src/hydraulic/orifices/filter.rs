//! Filter with bypass.

use crate::hydraulic::flow::{Ends, FlowLaw, Restriction, opening};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::fluid::ATMOSPHERE;
use fluxline_core::number::{Dual, Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// Filter: a laminar and a turbulent pressure drop, dirt, and a bypass valve.
///
/// Δp = R·q + B·q·|q|,  R = λ·Δp_n/q_n·ν/ν_n/(1−κ),  B = (1−λ)·Δp_n/q_n²/(1−κ)²
///
/// The laminar share λ of the clean drop is the element, the rest the housing. Dirt κ closes a part
/// of the element's area. With a bypass pressure given, a spring-loaded valve opens beside the
/// element, fully over its opening range, and passes the bypass flow when just fully open.
#[component("hydraulic.filter", q, constants = FilterConstants)]
pub struct Filter {
    /// dirty side
    #[port(also = "P1")]
    inlet: Hydraulic,
    /// clean side
    #[port(also = "P2")]
    outlet: Hydraulic,
    /// κ — share of the element's area that dirt has closed [–]
    #[input(default = 0, min = 0, max = 1)]
    pub clogging: f64,
    /// q_n — nominal flow [m^3/s]
    #[parameter(default = "100 l/min", min = ">0 l/min")]
    pub nominal_flow: f64,
    /// Δp_n — pressure drop of the clean filter at nominal flow [Pa]
    #[parameter(default = "0.5 bar", min = ">0 bar")]
    pub nominal_pressure_drop: f64,
    /// λ — laminar share of the nominal pressure drop [–]
    #[parameter(default = 0.7, min = ">0", max = 1)]
    pub laminar_share: f64,
    /// ν_n — viscosity at which the nominal pressure drop holds; that of the oil when not given [m^2/s]
    #[parameter(min = ">0 mm^2/s")]
    pub nominal_viscosity: Option<f64>,
    /// p_b — pressure drop at which the bypass begins to open; no bypass when not given [Pa]
    #[parameter(min = ">0 bar")]
    pub bypass_pressure: Option<f64>,
    /// Δp_r — rise of the pressure drop over which the bypass opens fully [Pa]
    #[parameter(default = "0.5 bar", min = ">0 bar")]
    pub bypass_range: f64,
    /// q_b — flow through the bypass when just fully open; the nominal flow when not given [m^3/s]
    #[parameter(min = ">0 l/min")]
    pub bypass_flow: Option<f64>,
    /// x — opening of the bypass [–]
    #[output]
    bypass_opening: Output,
    /// – — steps with dirt outside 0…0.999 [–]
    #[memory(counts = "limit")]
    saturated: Memory,
}

/// Dirt beyond which the element counts as closed to 1/1000 of its area.
const MAX_CLOGGING: f64 = 0.999;

/// Constants of [`Filter`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct FilterConstants<T> {
    /// R/ν of the clean element.
    laminar: T,
    /// B of the clean element.
    turbulent: T,
    bypass: Restriction<T>,
    bypass_pressure: T,
    per_range: T,
    has_bypass: bool,
}

impl<T: Num> FilterConstants<T> {
    /// R and B.
    #[inline(always)]
    fn element(&self, clogging: T, viscosity: T) -> (T, T) {
        let free = (T::one() - clogging.clamp_to(0.0, MAX_CLOGGING)).recip();
        (self.laminar * viscosity * free, self.turbulent * free * free)
    }

    /// q with R·q + B·q² = |Δp|.
    #[inline(always)]
    fn through((r, b): (T, T), drop: T) -> T {
        let root = (r * r + b * drop.abs() * 4.0).sqrt();
        drop * 2.0 / (r + root)
    }

    #[inline(always)]
    fn bypass_opening(&self, drop: T) -> T {
        if self.has_bypass {
            opening((drop - self.bypass_pressure) * self.per_range)
        } else {
            T::zero()
        }
    }

    #[inline(always)]
    fn flow(&self, element: (T, T), drop: T, viscosity: T) -> T {
        let share = self.bypass_opening(drop);
        Self::through(element, drop) + self.bypass.flow(share, drop, viscosity)
    }
}

impl Physics for Filter {
    fn prepare(&self, environment: &Environment) -> Result<FilterConstants<f64>, Refusal> {
        let fluid = environment.fluid;
        let (q, drop, share) = (self.nominal_flow, self.nominal_pressure_drop, self.laminar_share);
        let viscosity = self
            .nominal_viscosity
            .unwrap_or_else(|| fluid.viscosity_at(fluid.temperature, ATMOSPHERE));
        let bypass_pressure = self.bypass_pressure.unwrap_or(0.0);
        let bypass_flow = self.bypass_flow.unwrap_or(q);
        Ok(FilterConstants {
            laminar: share * drop / q / viscosity,
            turbulent: (1.0 - share) * drop / (q * q),
            // A valve that opens above a pressure is never near zero drop: turbulent throughout.
            bypass: Restriction {
                conductance: bypass_flow / (bypass_pressure + self.bypass_range).sqrt(),
                transition: 0.0,
                law: FlowLaw::Turbulent,
            },
            bypass_pressure,
            per_range: 1.0 / self.bypass_range,
            has_bypass: self.bypass_pressure.is_some(),
        })
    }

    fn law<T: Num>(k: &FilterConstants<T>, law: &mut Law<'_, T>) {
        let viscosity = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let drop = law.effort[Self::INLET] - law.effort[Self::OUTLET];
        let element = k.element(law.input[Self::CLOGGING], viscosity);
        let through = k.flow(element, drop, viscosity);
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
        law.output[Self::BYPASS_OPENING] = k.bypass_opening(drop);
    }

    fn show(_: &FilterConstants<f64>, settle: &mut Settle<'_>) {
        let clogging = settle.input[Self::CLOGGING];
        settle.count(Self::SATURATED, !(0.0..=MAX_CLOGGING).contains(&clogging));
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &FilterConstants<T>, io: &mut Step<'_, T>) {
        let ends = Ends::of(io, Self::INLET, Self::OUTLET);
        let clogging = io.input(Self::CLOGGING);
        let (r, b) = k.element(clogging, ends.viscosity);
        let mut through = FilterConstants::through((r + ends.impedance(), b), ends.difference());
        let mut drop = ends.difference() - ends.impedance() * through;
        if k.has_bypass && drop.gt(k.bypass_pressure).any() {
            let open = drop.gt(k.bypass_pressure);
            let (valve, nu) = (k.map(&mut Dual::constant), Dual::constant(ends.viscosity));
            let element = (Dual::constant(r), Dual::constant(b));
            let root = ends.drop(io.flow(Self::OUTLET), |drop| valve.flow(element, drop, nu));
            through = T::select(open, k.flow((r, b), root, ends.viscosity), through);
            drop = T::select(open, root, drop);
        }
        io.set_flow(Self::INLET, -through);
        io.set_flow(Self::OUTLET, through);
        io.set_output(Self::BYPASS_OPENING, k.bypass_opening(drop));
        let beyond = clogging.lt(T::zero()) | clogging.gt(T::of(MAX_CLOGGING));
        if beyond.any() {
            io.count(Self::SATURATED, beyond);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::Bench;
    use proptest::prelude::*;

    const NOMINAL: f64 = 0.1 / 60.0;

    fn filter(bypass: Option<f64>) -> Filter {
        Filter { bypass_pressure: bypass, ..declared() }
    }

    fn bench(filter: &Filter, clogging: f64, c: [f64; 2], z: f64) -> Bench<Filter> {
        let mut bench = Bench::new(filter, 1e-4);
        bench.input(Filter::CLOGGING, clogging);
        bench.line(0, c[0], z).line(1, c[1], z);
        bench
    }

    #[test]
    fn clean_filter_meets_its_nominal_point_in_both_directions() {
        let mut forward = bench(&filter(None), 0.0, [5.5e5, 5e5], 0.0);
        assert!((forward.step().flow(1) / NOMINAL - 1.0).abs() < 1e-12);
        let mut reverse = bench(&filter(None), 0.0, [5e5, 5.5e5], 0.0);
        assert!((reverse.step().flow(1) / NOMINAL + 1.0).abs() < 1e-12);
        let mut level = bench(&filter(None), 0.0, [5e5, 5e5], 1e8);
        assert_eq!(level.step().flow(1), 0.0);
    }

    #[test]
    fn dirt_raises_the_drop_as_the_free_area_falls() {
        // half the area: R doubles, B is four times: Δp = (0.7·2 + 0.3·4)·0.5 bar at nominal flow
        let drop = (0.7 * 2.0 + 0.3 * 4.0) * 0.5e5;
        let mut dirty = bench(&filter(None), 0.5, [5e5 + drop, 5e5], 0.0);
        assert!((dirty.step().flow(1) / NOMINAL - 1.0).abs() < 1e-12);
    }

    #[test]
    fn bypass_carries_the_flow_past_a_closed_element() {
        let mut closed = bench(&filter(Some(2e5)), 1.0, [7.5e5, 5e5], 0.0);
        closed.step();
        let element = closed.flow(1) - NOMINAL;
        assert!(element > 0.0 && element < 0.01 * NOMINAL);
        assert_eq!(closed.output(Filter::BYPASS_OPENING), 1.0);
        assert_eq!(closed.state.states[Filter::SATURATED], 1.0);
        let mut below = bench(&filter(Some(2e5)), 1.0, [6.9e5, 5e5], 1e9);
        assert_eq!(below.step().output(Filter::BYPASS_OPENING), 0.0);
    }

    #[test]
    fn lanes_are_scalars() {
        let one = filter(Some(2e5));
        lanes_give_the_bits_of_scalars([&one; 4], &[(-0.1, 1.1)], (0.0, 1e7));
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_generic_step(
            c1 in 0.0..1e6f64, c2 in 0.0..1e6f64, z1 in 0.0..1e10f64, z2 in 0.0..1e10f64, dirt in 0.0..1f64,
            has_bypass in prop::bool::ANY,
        ) {
            let filter = filter(has_bypass.then_some(2e5));
            agrees_with_the_generic_step(|| {
                let mut bench = bench(&filter, dirt, [c1, c2], z1);
                bench.line(1, c2, z2);
                bench
            }, 1e-9)?;
        }
    }
}
