//! Relief valve with a straight characteristic.

use crate::hydraulic::flow::{Ends, Lag, bar, litres, point};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wave::laminar_flow;
use fluxline_core::wide;
use fluxline_core::{Constants, choice, component};

choice! {
    /// How a relief valve follows the pressure.
    pub enum ReliefDynamics {
        /// At once.
        Static = "static",
        /// As a first-order lag.
        FirstOrder = "first_order",
    }
}

/// Relief valve: holds the pressure drop at its cracking pressure, with a straight override.
///
/// q = G·(Δp − p_c) for Δp > p_c, otherwise 0
///
/// (Pollmeier, thesis, University of Bath, 2.11–2.15.) With first-order dynamics the lift y follows
/// the excess pressure, τ·dy/dt = max(Δp − p_c, 0) − y, and the valve is an orifice of that lift,
/// q = G·y·√(Δp/(p_c + y)): in the steady state the same straight line. No reverse flow. The gradient
/// may be given by the flow at an override pressure.
#[component("hydraulic.relief_valve", q, constants = ReliefConstants)]
pub struct ReliefValve {
    /// side that is protected
    #[port(also = "P1")]
    inlet: Hydraulic,
    /// side that is relieved to
    #[port(also = "P2")]
    outlet: Hydraulic,
    /// p_c — pressure drop at which it begins to open [Pa]
    #[input(default = "200 bar", min = "0 bar", also = "p_max")]
    pub cracking_pressure: f64,
    /// G — flow per pressure above cracking; 600 l/min/bar when no override is given either [m^3/(s*Pa)]
    #[parameter(min = ">0 l/min/bar")]
    pub gradient: Option<f64>,
    /// q_n — flow at the override pressure [m^3/s]
    #[parameter(min = ">0 l/min")]
    pub nominal_flow: Option<f64>,
    /// Δp_n — rise above the cracking pressure at the nominal flow [Pa]
    #[parameter(min = ">0 bar")]
    pub override_pressure: Option<f64>,
    /// – — how the lift follows the pressure [–]
    #[parameter(default = "static")]
    pub dynamics: ReliefDynamics,
    /// τ — time constant of the lift, for first-order dynamics [s]
    #[parameter(default = "5 ms", min = ">0 s", also = "tao")]
    pub time_constant: f64,
    /// y — lift, as the pressure above cracking that holds it; for first-order dynamics [Pa]
    #[state]
    lift: State,
    /// y — opening, as the pressure above cracking that holds it [Pa]
    #[output(also = "xv")]
    opening: Output,
}

/// 600 l/min/bar, the gradient of Pollmeier's Table 2.1.
const USUAL_GRADIENT: f64 = 600e-3 / 60.0 / 1e5;

/// Constants of [`ReliefValve`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct ReliefConstants<T> {
    gradient: T,
    lag: Lag<T>,
    is_static: bool,
}

impl<T: Num> ReliefConstants<T> {
    /// Flow at a lift, as through an orifice.
    #[inline(always)]
    fn flow(&self, lift: T, cracking: T, drop: T) -> T {
        let lift = lift.max(T::zero());
        // A millionth of a pascal keeps a shut valve without spring finite.
        let through = self.gradient * lift * (drop / (cracking + lift + 1e-6)).abs().sqrt();
        T::select(drop.gt(T::zero()), through, T::zero())
    }
}

impl Physics for ReliefValve {
    fn prepare(&self, environment: &Environment) -> Result<ReliefConstants<f64>, Refusal> {
        let point = point(
            ("nominal_flow", self.nominal_flow),
            ("override_pressure", self.override_pressure),
        )?;
        let gradient = match (self.gradient, point) {
            (None, None) => USUAL_GRADIENT,
            (Some(gradient), None) => gradient,
            (None, Some((flow, rise))) => flow / rise,
            (Some(gradient), Some((flow, rise))) => {
                return Err(Refusal::new(
                    "gradient",
                    format!(
                        "the gradient is given twice: {} per bar and {} at {} above cracking",
                        litres(gradient * 1e5),
                        litres(flow),
                        bar(rise)
                    ),
                    "keep gradient, or nominal_flow with override_pressure",
                ));
            }
        };
        let is_static = self.dynamics == ReliefDynamics::Static;
        Ok(ReliefConstants {
            gradient,
            lag: Lag::new((!is_static).then_some(self.time_constant), environment.step),
            is_static,
        })
    }

    fn law<T: Num>(k: &ReliefConstants<T>, law: &mut Law<'_, T>) {
        let cracking = law.input[Self::CRACKING_PRESSURE].max(T::zero());
        let drop = law.effort[Self::INLET] - law.effort[Self::OUTLET];
        let excess = (drop - cracking).max(T::zero());
        let lift = law.state[Self::LIFT];
        let (through, opening) = if k.is_static {
            (k.gradient * excess, excess)
        } else {
            (k.flow(lift, cracking, drop), lift.max(T::zero()))
        };
        law.rate[Self::LIFT] = k.lag.rate(lift, excess);
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
        law.output[Self::OPENING] = opening;
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &ReliefConstants<T>, io: &mut Step<'_, T>) {
        let cracking = io.input(Self::CRACKING_PRESSURE).max(T::zero());
        let ends = Ends::of(io, Self::INLET, Self::OUTLET);
        let (through, opening) = if k.is_static {
            let excess = (ends.difference() - cracking).max(T::zero());
            let through = laminar_flow(k.gradient, excess, ends.impedance());
            (through, excess / (k.gradient * ends.impedance() + 1.0))
        } else {
            let moved = k.lag.advance(io.state(Self::LIFT), io.rate(Self::LIFT));
            let lift = &mut Dual::constant;
            let (valve, motion, spring) = (k.map(lift), moved.map(lift), Dual::constant(cracking));
            let drop = ends.drop(io.flow(Self::OUTLET), |drop| {
                let excess = (drop - spring).max(Dual::zero());
                valve.flow(motion.at(excess), spring, drop)
            });
            let excess = (drop - cracking).max(T::zero());
            let lift = moved.at(excess);
            io.set_state(Self::LIFT, lift);
            io.set_rate(Self::LIFT, k.lag.rate(lift, excess));
            (k.flow(lift, cracking, drop), lift.max(T::zero()))
        };
        io.set_flow(Self::INLET, -through);
        io.set_flow(Self::OUTLET, through);
        io.set_output(Self::OPENING, opening);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use crate::hydraulic::volumes::volume::Volume;
    use fluxline_core::component::Filter;
    use fluxline_core::fluid::Fluid;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    fn valve(dynamics: ReliefDynamics) -> ReliefValve {
        ReliefValve { dynamics, ..declared() }
    }

    /// Pollmeier, section 2.3.2, Table 2.1: a source fills a line, the valve opens and holds.
    /// Returns the time of opening and the largest and last inlet pressure, bar.
    fn filled_line(dynamics: ReliefDynamics, step: f64, filter: Filter) -> (f64, f64, f64) {
        let fluid = Fluid {
            density: 890.0,
            bulk_modulus: 8900e5,
            vapour_pressure: 0.0,
            ..Fluid::default()
        };
        let around = |places| Surroundings { step, fluid: fluid.clone(), filter, places };
        let line = Volume {
            volume: std::f64::consts::PI / 4.0 * 0.025 * 0.025 * 3.0,
            start_pressure: Some(0.0),
        };
        let mut line = Bench::within(&line, &around(vec![2])).unwrap();
        let mut relief = Bench::within(&valve(dynamics), &around(vec![1, 1])).unwrap();
        relief.input(ReliefValve::CRACKING_PRESSURE, 120e5);
        line.start();
        let (mut opened, mut largest, mut last) = (0.0, 0.0f64, 0.0);
        for n in 1..=(0.5 / step) as usize {
            line.step();
            let end = line.state.bonds[1];
            relief.line(0, end.wave, end.impedance).line(1, 0.0, 0.0).step();
            line.impose_flow(0, 10e-3 / 60.0).impose_flow(1, relief.flow(0));
            if opened == 0.0 && relief.flow(1) > 0.0 {
                opened = n as f64 * step;
            }
            last = relief.effort(0) / 1e5;
            largest = largest.max(last);
        }
        (opened, largest, last)
    }

    #[test]
    fn relief_valve_holds_its_cracking_pressure_at_the_end_of_a_line() {
        for filter in [Filter::None, Filter::Wave(0.2), Filter::Pressure(0.2)] {
            let (opened, largest, last) = filled_line(ReliefDynamics::Static, 1e-4, filter);
            // p_c·V/(β·q) = 0.11913 s, to the step and the parasitic delay of two steps
            assert!((opened - 0.11913).abs() < 3e-4, "{opened}");
            // 120 bar + 10 l/min over 600 l/min/bar
            assert!((last - (120.0 + 10.0 / 600.0)).abs() < 1e-7, "{last}");
            assert!(largest - last < 0.013, "{largest}");
        }
    }

    #[test]
    fn first_order_relief_valve_settles_on_the_same_line() {
        let (_, largest, last) = filled_line(ReliefDynamics::FirstOrder, 1e-5, Filter::Wave(0.2));
        assert!((last - (120.0 + 10.0 / 600.0)).abs() < 1e-6, "{last}");
        assert!(largest > last + 0.1, "a slow valve lets the pressure overshoot");
    }

    #[test]
    fn relief_valve_is_shut_below_cracking_and_backwards() {
        for dynamics in [ReliefDynamics::Static, ReliefDynamics::FirstOrder] {
            let mut bench = Bench::new(&valve(dynamics), 1e-4);
            bench.input(ReliefValve::CRACKING_PRESSURE, 120e5);
            for (c1, c2) in [(120e5, 0.0), (130e5, 10e5), (0.0, 300e5), (-5e5, 1e5)] {
                for z in [0.0, 1e12] {
                    bench.line(0, c1, z).line(1, c2, z).step();
                    assert_eq!(bench.flow(1), 0.0);
                }
            }
        }
    }

    /// The lift answers a step of pressure as 1 − e^(−t/τ); the trapezoidal rule is of second order.
    #[test]
    fn lift_follows_a_pressure_step_with_second_order() {
        let error = |step: f64| {
            let mut bench = Bench::new(&valve(ReliefDynamics::FirstOrder), step);
            bench.input(ReliefValve::CRACKING_PRESSURE, 120e5);
            bench.line(0, 122e5, 0.0).line(1, 0.0, 0.0);
            // at t = 0 the rate is that of the step: 2 bar/τ
            bench.set_state(1 + ReliefValve::LIFT, 2e5 / 5e-3);
            for _ in 0..(10e-3 / step).round() as usize {
                bench.step();
            }
            bench.get_state(ReliefValve::LIFT) - 2e5 * (1.0 - (-2.0f64).exp())
        };
        let (coarse, fine) = (error(1e-3), error(5e-4));
        assert!((coarse / fine - 4.0).abs() < 0.1, "{coarse} {fine}");
    }

    #[test]
    fn override_gives_the_gradient_and_excludes_it() {
        let catalogue = ReliefValve {
            nominal_flow: Some(FLOW_40),
            override_pressure: Some(10e5),
            ..declared()
        };
        let mut bench = Bench::new(&catalogue, 1e-4);
        bench.input(ReliefValve::CRACKING_PRESSURE, 120e5);
        bench.line(0, 130e5, 0.0).line(1, 0.0, 0.0).step();
        assert!((bench.flow(1) / FLOW_40 - 1.0).abs() < 1e-12);
        let both = ReliefValve { gradient: Some(1e-7), ..catalogue };
        let refusal = Bench::within(&both, &Surroundings::of::<ReliefValve>(1e-4)).err().unwrap();
        assert!(refusal.message.contains("600 l/min") && refusal.message.contains("40 l/min"));
    }

    #[test]
    fn lanes_are_scalars() {
        for dynamics in [ReliefDynamics::Static, ReliefDynamics::FirstOrder] {
            let one = valve(dynamics);
            lanes_give_the_bits_of_scalars([&one; 4], &[(0.0, 150e5)], (0.0, 200e5));
        }
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_generic_step(
            c1 in 0.0..300e5f64, z1 in 0.0..1e9f64, z2 in 0.0..1e9f64, lift in 0.0..10e5f64, first_order in prop::bool::ANY,
        ) {
            let dynamics = [ReliefDynamics::Static, ReliefDynamics::FirstOrder][usize::from(first_order)];
            agrees_with_the_generic_step(|| {
                let mut bench = Bench::new(&valve(dynamics), 1e-3);
                bench.line(0, c1, z1).line(1, 5e5, z2).input(ReliefValve::CRACKING_PRESSURE, 120e5);
                bench.set_state(ReliefValve::LIFT, if first_order { lift } else { 0.0 });
                bench
            }, 1e-7)?;
        }
    }
}
