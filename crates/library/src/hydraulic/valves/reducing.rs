//! Pressure reducing valve.

use crate::hydraulic::flow::{Control, Ends, Follower, Lag, Line, sized};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

sized! {
    /// Pressure reducing valve: throttles the inlet to keep the outlet at the set pressure.
    ///
    /// τ·ds/dt = u − s,  u = (p_s − (p_out − p_drain))/Δp_r
    ///
    /// One spool: s = 1 fully open, s = 0 shut, and in a relieving (three-way) valve below −Δp_o/Δp_r
    /// open from outlet to drain, fully after another Δp_r. So the outlet is shut off at the set
    /// pressure and lies at most Δp_r below it while the valve can regulate. Both edges have the same
    /// size; flow as in `hydraulic.orifice`, in either direction. The spring chamber drains to
    /// `drain`, which takes flow only from a relieving valve.
    #[component("hydraulic.pressure_reducing_valve", q, constants = ReducingConstants)]
    pub struct PressureReducingValve {
        /// supply
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// reduced pressure
        #[port(also = "P2")]
        outlet: Hydraulic,
        /// spring chamber and relieved flow
        #[port(optional)]
        drain: Hydraulic,
        /// p_s — outlet pressure above drain at which it is shut [Pa]
        #[input(default = "50 bar", min = "0 bar", also = "p_ref")]
        pub set_pressure: f64,
        /// Δp_r — fall of the outlet pressure over which it opens fully [Pa]
        #[parameter(default = "5 bar", min = ">0 bar")]
        pub opening_range: f64,
        /// – — whether it relieves the outlet to the drain: a three-way valve [–]
        #[parameter(default = "false")]
        pub relieving: bool,
        /// Δp_o — outlet pressure above the set pressure at which relieving begins [Pa]
        #[parameter(default = "2 bar", min = "0 bar")]
        pub overlap_pressure: f64,
        /// τ — time constant of the spool [s]
        #[parameter(default = "5 ms", min = ">0 s", also = "tao")]
        pub time_constant: f64,
        /// s — position of the spool, 1 open, 0 shut, negative relieving [–]
        #[state(start = "1")]
        position: State,
        /// s — position of the spool, 1 open, 0 shut, negative relieving [–]
        #[output(also = "xv")]
        opening: Output,
    }
}

/// Constants of [`PressureReducingValve`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct ReducingConstants<T> {
    edge: Follower<T>,
    per_range: T,
    /// Overlap as a fraction of the opening range.
    overlap: T,
    relieving: bool,
}

impl<T: Num> ReducingConstants<T> {
    /// Where the spool may stand.
    #[inline(always)]
    fn range(&self) -> (T, T) {
        if self.relieving { (-(self.overlap + 1.0), T::one()) } else { (T::zero(), T::one()) }
    }

    #[inline(always)]
    fn target(&self, setting: T, outlet: T, drain: T) -> T {
        let (low, high) = self.range();
        ((setting - (outlet - drain)) * self.per_range).clamp(low, high)
    }
}

impl Physics for PressureReducingValve {
    fn prepare(&self, environment: &Environment) -> Result<ReducingConstants<f64>, Refusal> {
        Ok(ReducingConstants {
            edge: Follower {
                restriction: self.size().restriction(environment.fluid, |_| Ok(1.0))?,
                lag: Lag::new(Some(self.time_constant), environment.step),
                one_way: false,
            },
            per_range: 1.0 / self.opening_range,
            overlap: self.overlap_pressure / self.opening_range,
            relieving: self.relieving,
        })
    }

    #[wide]
    fn law<T: Num>(k: &ReducingConstants<T>, law: &mut Law<'_, T>) {
        let [p_in, p_out, p_drain] =
            [Self::INLET, Self::OUTLET, Self::DRAIN].map(|port| law.effort[port]);
        let viscosity = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let s = law.state[Self::POSITION];
        let target = k.target(law.input[Self::SET_PRESSURE], p_out, p_drain);
        law.rate[Self::POSITION] = k.edge.lag.rate(s, target);
        let feed = k.edge.flow(s, p_in - p_out, viscosity);
        let relieved = if k.relieving {
            k.edge.flow(-s - k.overlap, p_out - p_drain, viscosity)
        } else {
            T::zero()
        };
        law.flow[Self::INLET] = -feed;
        law.flow[Self::OUTLET] = feed - relieved;
        law.flow[Self::DRAIN] = relieved;
        law.output[Self::OPENING] = s;
    }

    /// At most one edge is open: where the spool would stand without flow decides which one, since
    /// flow through it pushes the spool back towards that edge's shutting point but never past it.
    #[inline(always)]
    fn step<T: Num>(k: &ReducingConstants<T>, io: &mut Step<'_, T>) {
        let setting = io.input(Self::SET_PRESSURE);
        let moved = k.edge.lag.advance(io.state(Self::POSITION), io.rate(Self::POSITION));
        let ends = Ends::of(io, Self::INLET, Self::OUTLET);
        let control = Control {
            inlet: T::zero(),
            outlet: -k.per_range,
            offset: (setting + io.wave(Self::DRAIN)) * k.per_range,
        };
        let last_feed = -io.flow(Self::INLET);
        let feed = k.edge.solve(&ends, [control], k.range(), moved, last_feed).flow;
        let relieved = if k.relieving {
            // the same spool seen from the other edge: position −s − overlap
            let ends = Ends::of(io, Self::OUTLET, Self::DRAIN);
            let control = Control {
                inlet: k.per_range,
                outlet: -k.per_range,
                offset: -(setting * k.per_range),
            };
            let mirrored = Line { at_rest: -moved.at_rest - k.overlap, slope: moved.slope };
            let last = io.flow(Self::DRAIN);
            let (low, high) = k.range();
            k.edge.solve(&ends, [control], (-high, -low), mirrored, last).flow
        } else {
            T::zero()
        };
        io.set_flow(Self::INLET, -feed);
        io.set_flow(Self::OUTLET, feed - relieved);
        io.set_flow(Self::DRAIN, relieved);
        let target = k.target(setting, io.effort(Self::OUTLET), io.effort(Self::DRAIN));
        let s = moved.at(target);
        io.set_state(Self::POSITION, s);
        io.set_rate(Self::POSITION, k.edge.lag.rate(s, target));
        io.set_output(Self::OPENING, s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::Bench;
    use proptest::prelude::*;

    type Valve = PressureReducingValve;

    fn valve(relieving: bool) -> Valve {
        Valve {
            nominal_flow: Some(FLOW_40),
            nominal_pressure_drop: Some(5e5),
            relieving,
            ..declared()
        }
    }

    fn settled(relieving: bool, waves: [f64; 3], z_out: f64) -> Bench<Valve> {
        let mut bench = Bench::new(&valve(relieving), 1e-4);
        bench.input(Valve::SET_PRESSURE, 50e5).set_state(Valve::POSITION, 1.0);
        bench.line(0, waves[0], 0.0).line(1, waves[1], z_out).line(2, waves[2], 0.0);
        for _ in 0..5000 {
            bench.step();
        }
        bench
    }

    #[test]
    fn outlet_is_held_just_below_the_set_pressure() {
        // The outlet line draws 20 bar/Z as long as it is fed: the spool throttles 200 bar.
        let bench = settled(false, [200e5, 30e5, 2e5], 1e11);
        let p_out = bench.effort(1);
        assert!(p_out < 52e5 && p_out > 47e5, "{p_out}");
        // (p_s + p_drain − p_out)/Δp_r, and the orifice with that opening
        let open = (52e5 - p_out) / 5e5;
        assert!((bench.get_state(Valve::POSITION) / open - 1.0).abs() < 1e-9);
        let k = *bench.constants();
        let flow = k.edge.flow(open, 200e5 - p_out, 30e-6);
        assert!((bench.flow(1) / flow - 1.0).abs() < 1e-6, "{} {flow}", bench.flow(1));
        assert_eq!(bench.flow(2), 0.0);
    }

    #[test]
    fn a_low_supply_passes_freely() {
        let bench = settled(false, [40e5, 35e5, 0.0], 0.0);
        assert!((bench.flow(1) / FLOW_40 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn only_a_relieving_valve_lets_an_overloaded_outlet_go() {
        assert!(settled(false, [200e5, 80e5, 0.0], 1e8).flow(1).abs() < 1e-15);
        let relieving = settled(true, [200e5, 80e5, 0.0], 1e10);
        let p_out = relieving.effort(1);
        assert!(p_out > 52e5 && p_out < 57e5, "{p_out}");
        assert_eq!(relieving.flow(0), 0.0);
        assert_eq!(relieving.flow(1), -relieving.flow(2));
        // between set pressure and overlap both edges are shut
        let shut = settled(true, [200e5, 51e5, 0.0], 1e8);
        assert!(shut.flow(0).abs() < 1e-15 && shut.flow(2).abs() < 1e-15);
    }

    #[test]
    fn lanes_are_scalars() {
        for relieving in [false, true] {
            let one = valve(relieving);
            lanes_give_the_bits_of_scalars([&one; 4], &[(10e5, 20e5)], (0.0, 40e5));
        }
    }

    proptest! {
        #[test]
        fn own_step_equals_the_generic_step(
            p_in in 60e5..200e5f64, c2 in 20e5..59e5f64, c3 in 0.0..3e5f64,
            z1 in 0.0..1e9f64, z2 in 0.0..1e9f64, z3 in 0.0..1e8f64, s in -0.5..1f64, relieving in prop::bool::ANY,
        ) {
            agrees_with_the_generic_step(|| {
                let mut bench = Bench::new(&valve(relieving), 1e-4);
                bench.line(0, p_in, z1).line(1, c2, z2).line(2, c3, z3);
                bench.input(Valve::SET_PRESSURE, 50e5).set_state(Valve::POSITION, s);
                bench
            }, 1e-8)?;
        }
    }
}
