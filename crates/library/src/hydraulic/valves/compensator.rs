//! Pressure compensator.

use crate::hydraulic::flow::{Ends, Lag, Restriction, opening, sized};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

sized! {
    /// Pressure compensator: throttles to keep the difference of two pilot pressures.
    ///
    /// τ·dx/dt = u − x,  u = (Δp_s − (p_close − p_open))/Δp_r held between 0 and 1,  q = K·x·√Δp
    ///
    /// Before a metering orifice with `pilot_close` upstream and `pilot_open` downstream of it (or at
    /// the load-sensing line) the flow does not depend on supply or load. Shut where the difference
    /// reaches the spring's setting Δp_s, fully open where it is lower by Δp_r. Flow in either
    /// direction, laminar at small drops as `hydraulic.orifice`. The pilots are line ends of their
    /// own, so the spool sees them as they were one step before.
    #[component("hydraulic.pressure_compensator", q, constants = CompensatorConstants)]
    pub struct PressureCompensator {
        /// upstream side when flow is positive
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// downstream side
        #[port(also = "P2")]
        outlet: Hydraulic,
        /// pressure that opens it; takes no flow
        #[port(also = "P_OPEN")]
        pilot_open: Hydraulic,
        /// pressure that shuts it; takes no flow
        #[port(also = "P_CLOSE")]
        pilot_close: Hydraulic,
        /// Δp_s — spring setting: difference of the pilots at which it is shut [Pa]
        #[input(default = "10 bar", min = "0 bar", also = "p_ref")]
        pub pressure_difference: f64,
        /// Δp_r — fall of the difference over which it opens fully [Pa]
        #[parameter(default = "2 bar", min = ">0 bar")]
        pub opening_range: f64,
        /// τ — time constant of the spool [s]
        #[parameter(default = "5 ms", min = ">0 s", also = "tao")]
        pub time_constant: f64,
        /// x — position of the spool [–]
        #[state(start = "1")]
        position: State,
        /// x — opening [–]
        #[output(also = "xv")]
        opening: Output,
    }
}

/// Constants of [`PressureCompensator`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct CompensatorConstants<T> {
    restriction: Restriction<T>,
    lag: Lag<T>,
    per_range: T,
}

impl Physics for PressureCompensator {
    fn prepare(&self, environment: &Environment) -> Result<CompensatorConstants<f64>, Refusal> {
        Ok(CompensatorConstants {
            restriction: self.size().restriction(environment.fluid, |_| Ok(1.0))?,
            lag: Lag::new(Some(self.time_constant), environment.step),
            per_range: 1.0 / self.opening_range,
        })
    }

    fn law<T: Num>(k: &CompensatorConstants<T>, law: &mut Law<'_, T>) {
        let viscosity = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let difference = law.effort[Self::PILOT_CLOSE] - law.effort[Self::PILOT_OPEN];
        let target = opening((law.input[Self::PRESSURE_DIFFERENCE] - difference) * k.per_range);
        let x = law.state[Self::POSITION];
        law.rate[Self::POSITION] = k.lag.rate(x, target);
        let drop = law.effort[Self::INLET] - law.effort[Self::OUTLET];
        let through = k.restriction.flow(opening(x), drop, viscosity);
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
        law.flow[Self::PILOT_OPEN] = T::zero();
        law.flow[Self::PILOT_CLOSE] = T::zero();
        law.output[Self::OPENING] = opening(x);
    }

    #[inline(always)]
    fn step<T: Num>(k: &CompensatorConstants<T>, io: &mut Step<'_, T>) {
        let difference = io.wave(Self::PILOT_CLOSE) - io.wave(Self::PILOT_OPEN);
        let target = opening((io.input(Self::PRESSURE_DIFFERENCE) - difference) * k.per_range);
        let x = k.lag.advance(io.state(Self::POSITION), io.rate(Self::POSITION)).at(target);
        let ends = Ends::of(io, Self::INLET, Self::OUTLET);
        let through = k.restriction.flow_between(opening(x), &ends);
        io.set_flow(Self::INLET, -through);
        io.set_flow(Self::OUTLET, through);
        io.set_flow(Self::PILOT_OPEN, T::zero());
        io.set_flow(Self::PILOT_CLOSE, T::zero());
        io.set_state(Self::POSITION, x);
        io.set_rate(Self::POSITION, k.lag.rate(x, target));
        io.set_output(Self::OPENING, opening(x));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use crate::hydraulic::orifices::orifice::Orifice;
    use crate::hydraulic::volumes::volume::Volume;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    fn compensator() -> PressureCompensator {
        PressureCompensator {
            nominal_flow: Some(2.0 * FLOW_40),
            nominal_pressure_drop: Some(5e5),
            ..declared()
        }
    }

    /// Steady flow through a compensator, a small volume and a throttle (40 l/min at 10 bar).
    fn compensated(supply: f64, load: f64) -> f64 {
        let mut spool = Bench::new(&compensator(), 1e-4);
        spool.input(0, 10e5).set_state(0, 1.0);
        let throttle = Orifice {
            nominal_flow: Some(FLOW_40),
            nominal_pressure_drop: Some(10e5),
            ..declared()
        };
        let mut throttle = Bench::new(&throttle, 1e-4);
        let between = Volume { volume: 1e-4, start_pressure: Some(load) };
        let around = Surroundings { places: vec![3], ..Surroundings::of::<Volume>(1e-4) };
        let mut between = Bench::within(&between, &around).unwrap();
        between.start();
        for _ in 0..20_000 {
            between.step();
            let ends = between.state.bonds.clone();
            spool.line(0, supply, 0.0).line(1, ends[0].wave, ends[0].impedance);
            spool.line(2, load, 0.0).line(3, ends[2].wave, ends[2].impedance).step();
            throttle.line(0, ends[1].wave, ends[1].impedance).line(1, load, 0.0).step();
            between.impose_flow(0, spool.flow(1)).impose_flow(1, throttle.flow(0));
            between.impose_flow(2, spool.flow(3));
        }
        throttle.flow(1)
    }

    #[test]
    fn flow_does_not_depend_on_supply_or_load() {
        // Between 8 and 10 bar over the throttle, whatever the pressures: the opening differs.
        let flows = [(60e5, 5e5), (250e5, 5e5), (250e5, 200e5), (250e5, 230e5)]
            .map(|(supply, load)| compensated(supply, load));
        for flow in flows {
            assert!(flow < FLOW_40 && flow > 0.8f64.sqrt() * FLOW_40, "{flow}");
        }
        // In the steady state the spool equation and both orifices balance:
        // K·x·√(p_s − p₁) = k_t·√(p₁ − p_L), x = (10 bar − (p₁ − p_L))/2 bar
        let (supply, load) = (250e5, 200e5);
        let (k, kt) = (2.0 * FLOW_40 / 5e5f64.sqrt(), FLOW_40 / 10e5f64.sqrt());
        let (mut low, mut high) = (8e5, 10e5);
        for _ in 0..60 {
            let d: f64 = 0.5 * (low + high);
            let open = (10e5 - d) / 2e5;
            if k * open * (supply - load - d).sqrt() > kt * d.sqrt() {
                low = d;
            } else {
                high = d;
            }
        }
        assert!((flows[2] / (kt * low.sqrt()) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn compensator_shuts_above_its_setting_and_passes_reverse_flow_when_open() {
        let mut bench = Bench::new(&compensator(), 1e-4);
        bench.input(0, 10e5).line(0, 50e5, 0.0).line(1, 20e5, 0.0);
        bench.line(2, 0.0, 0.0).line(3, 11e5, 0.0);
        for _ in 0..10_000 {
            bench.step();
        }
        assert_eq!(bench.flow(1), 0.0);
        bench.line(3, 0.0, 0.0).line(0, 15e5, 0.0);
        for _ in 0..10_000 {
            bench.step();
        }
        assert!((bench.flow(1) / (-2.0 * FLOW_40) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn lanes_are_scalars() {
        let one = compensator();
        lanes_give_the_bits_of_scalars([&one; 4], &[(0.0, 10e5)], (0.0, 20e5));
    }

    proptest! {
        #[test]
        fn own_step_equals_the_generic_step(
            c1 in 0.0..50e5f64, c2 in 0.0..50e5f64, z1 in 0.0..1e9f64, z2 in 0.0..1e9f64,
            open in 0.0..20e5f64, close in 0.0..30e5f64, x in 0.0..1f64,
        ) {
            agrees_with_the_generic_step(|| {
                let mut bench = Bench::new(&compensator(), 1e-3);
                bench.line(0, c1, z1).line(1, c2, z2).line(2, open, 0.0).line(3, close, 0.0);
                bench.input(0, 10e5).set_state(0, x);
                bench
            }, 1e-8)?;
        }
    }
}
