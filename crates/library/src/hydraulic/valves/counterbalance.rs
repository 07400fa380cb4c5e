//! Counterbalance valve.

use super::check::CheckConstants;
use crate::hydraulic::flow::{Control, Ends, Follower, Lag, Line, Size, opening, sized};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::fluid::ATMOSPHERE;
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};

sized! {
    /// Counterbalance (over-centre) valve: holds a load, lowers it under pilot control, lifts freely.
    ///
    /// τ·dx/dt = u − x,  u = ((p_in − p_r) + φ·(p_pilot − p_r) − p_s)/Δp_r held between 0 and 1
    ///
    /// From inlet (load) to outlet q = K·x·√Δp; from outlet to inlet a check valve of the same size.
    /// p_r is the pressure behind the spring: that of the outlet, or atmosphere in a vented valve,
    /// which back pressure does not shut. Laminar at small drops as `hydraulic.orifice`.
    #[component("hydraulic.counterbalance_valve", q, constants = CounterbalanceConstants)]
    pub struct CounterbalanceValve {
        /// load side
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// directional valve side
        #[port(also = "P2")]
        outlet: Hydraulic,
        /// pressure that helps to open it; takes no flow
        #[port(also = "P_CONTROL", also = "P3")]
        pilot: Hydraulic,
        /// p_s — inlet pressure at which it begins to open without pilot [Pa]
        #[input(default = "250 bar", min = "0 bar", also = "p_ref")]
        pub set_pressure: f64,
        /// φ — pilot area over relief area [–]
        #[parameter(default = 4, min = 0, also = "a_ratio")]
        pub pilot_ratio: f64,
        /// Δp_r — rise above the set pressure over which it opens fully [Pa]
        #[parameter(default = "30 bar", min = ">0 bar")]
        pub opening_range: f64,
        /// – — whether the spring chamber is vented to atmosphere [–]
        #[parameter(default = "false")]
        pub vented: bool,
        /// τ — time constant of the poppet [s]
        #[parameter(default = "10 ms", min = ">0 s", also = "tao")]
        pub time_constant: f64,
        /// p_c — pressure drop at which the check valve begins to open [Pa]
        #[parameter(default = "0.5 bar", min = "0 bar")]
        pub check_cracking_pressure: f64,
        /// Δp_c — rise over which the check valve opens fully [Pa]
        #[parameter(default = "1 bar", min = ">0 bar")]
        pub check_opening_range: f64,
        /// x — position of the poppet [–]
        #[state]
        position: State,
        /// x — opening from load to valve [–]
        #[output(also = "xv")]
        opening: Output,
        /// – — opening of the check valve [–]
        #[output]
        check_opening: Output,
    }
}

/// Constants of [`CounterbalanceValve`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct CounterbalanceConstants<T> {
    valve: Follower<T>,
    check: CheckConstants<T>,
    per_range: T,
    pilot_ratio: T,
    vented: bool,
}

impl<T: Num> CounterbalanceConstants<T> {
    #[inline(always)]
    fn control(&self, pilot: T, setting: T) -> Control<T> {
        let behind = self.pilot_ratio + 1.0;
        let opened = self.pilot_ratio * pilot - setting;
        if self.vented {
            Control {
                inlet: self.per_range,
                outlet: T::zero(),
                offset: (opened - behind * ATMOSPHERE) * self.per_range,
            }
        } else {
            Control {
                inlet: self.per_range,
                outlet: -(behind * self.per_range),
                offset: opened * self.per_range,
            }
        }
    }

    #[inline(always)]
    fn flow(&self, position: T, drop: T, viscosity: T) -> T {
        self.valve.flow(position, drop, viscosity) - self.check.flow(-drop, viscosity).0
    }

    /// Drop over valve and check together, between line ends.
    #[wide]
    #[inline(always)]
    fn drop(&self, ends: &Ends<T>, target: Line<T>, moved: Line<T>, last_flow: T) -> T {
        let lift = &mut Dual::constant;
        let (valve, along, motion) = (self.map(lift), target.map(lift), moved.map(lift));
        let viscosity = lift(ends.viscosity);
        ends.drop(last_flow, |drop| valve.flow(motion.at(opening(along.at(drop))), drop, viscosity))
    }
}

impl Physics for CounterbalanceValve {
    fn prepare(&self, environment: &Environment) -> Result<CounterbalanceConstants<f64>, Refusal> {
        let restriction = self.size().restriction(environment.fluid, |_| Ok(1.0))?;
        let same = Size {
            flow_coefficient: Some(restriction.conductance),
            discharge: self.discharge,
            transition_reynolds: self.transition_reynolds,
            ..Size::default()
        };
        let spring = (self.check_cracking_pressure, self.check_opening_range);
        Ok(CounterbalanceConstants {
            valve: Follower {
                restriction,
                lag: Lag::new(Some(self.time_constant), environment.step),
                one_way: true,
            },
            check: CheckConstants::new(&same, spring, true, environment)?,
            per_range: 1.0 / self.opening_range,
            pilot_ratio: self.pilot_ratio,
            vented: self.vented,
        })
    }

    fn law<T: Num>(k: &CounterbalanceConstants<T>, law: &mut Law<'_, T>) {
        let viscosity = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let (p_in, p_out) = (law.effort[Self::INLET], law.effort[Self::OUTLET]);
        let control = k.control(law.effort[Self::PILOT], law.input[Self::SET_PRESSURE]);
        let x = law.state[Self::POSITION];
        law.rate[Self::POSITION] = k.valve.lag.rate(x, opening(control.at(p_in, p_out)));
        let through = k.flow(x, p_in - p_out, viscosity);
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
        law.flow[Self::PILOT] = T::zero();
        law.output[Self::OPENING] = opening(x);
        law.output[Self::CHECK_OPENING] = k.check.flow(p_out - p_in, viscosity).1;
    }

    #[inline(always)]
    fn step<T: Num>(k: &CounterbalanceConstants<T>, io: &mut Step<'_, T>) {
        let ends = Ends::of(io, Self::INLET, Self::OUTLET);
        let target = ends.along(k.control(io.wave(Self::PILOT), io.input(Self::SET_PRESSURE)));
        let lag = &k.valve.lag;
        let moved = lag.advance(io.state(Self::POSITION), io.rate(Self::POSITION));
        let drop = k.drop(&ends, target, moved, io.flow(Self::OUTLET));
        let target = opening(target.at(drop));
        let x = moved.at(target);
        let through = k.flow(x, drop, ends.viscosity);
        io.set_flow(Self::INLET, -through);
        io.set_flow(Self::OUTLET, through);
        io.set_flow(Self::PILOT, T::zero());
        io.set_state(Self::POSITION, x);
        io.set_rate(Self::POSITION, lag.rate(x, target));
        io.set_output(Self::OPENING, opening(x));
        io.set_output(Self::CHECK_OPENING, k.check.flow(-drop, ends.viscosity).1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::Bench;
    use proptest::prelude::*;

    type Valve = CounterbalanceValve;

    fn valve(vented: bool) -> Valve {
        Valve {
            nominal_flow: Some(FLOW_40),
            nominal_pressure_drop: Some(5e5),
            vented,
            ..declared()
        }
    }

    fn settled(vented: bool, load: f64, back: f64, pilot: f64) -> Bench<Valve> {
        let mut bench = Bench::new(&valve(vented), 1e-4);
        bench.input(Valve::SET_PRESSURE, 250e5);
        bench.line(0, load, 0.0).line(1, back, 0.0).line(2, pilot, 1e9);
        for _ in 0..4000 {
            bench.step();
        }
        assert_eq!(bench.flow(2), 0.0);
        bench
    }

    #[test]
    fn load_is_held_until_the_pilot_helps() {
        assert_eq!(settled(false, 150e5, 0.0, 0.0).flow(1), 0.0);
        assert_eq!(settled(false, 150e5, 0.0, 25e5).flow(1), 0.0);
        // 150 + 4·28.75 − 250 = 15 bar of 30: half open
        let half = settled(false, 150e5, 0.0, 28.75e5);
        let flow = 0.5 * FLOW_40 * (150.0f64 / 5.0).sqrt();
        assert!((half.flow(1) / flow - 1.0).abs() < 1e-9);
        // relief function: 265 bar without pilot
        let relief = settled(false, 265e5, 0.0, 0.0);
        assert!((relief.output(Valve::OPENING) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn back_pressure_shuts_a_plain_valve_only() {
        // at atmosphere both stand the same: 150 + 4·30 − 250 = 20 bar of 30
        let gauge = |p: f64| p + ATMOSPHERE;
        for (vented, back, open) in [
            (false, 0.0, 2.0 / 3.0),
            (true, 0.0, 2.0 / 3.0),
            (false, 3e5, 1.0 / 6.0),
            (true, 3e5, 2.0 / 3.0),
        ] {
            let bench = settled(vented, gauge(150e5), gauge(back), gauge(30e5));
            assert!((bench.output(Valve::OPENING) - open).abs() < 1e-9, "{vented} {back}");
        }
    }

    #[test]
    fn load_is_lifted_through_the_check_valve() {
        let lifting = settled(false, 150e5, 155e5, 0.0);
        assert!((lifting.flow(1) / -FLOW_40 - 1.0).abs() < 1e-9);
        assert_eq!(lifting.output(Valve::CHECK_OPENING), 1.0);
    }

    #[test]
    fn lanes_are_scalars() {
        for vented in [false, true] {
            let one = valve(vented);
            lanes_give_the_bits_of_scalars([&one; 4], &[(10e5, 250e5)], (0.0, 300e5));
        }
    }

    proptest! {
        #[test]
        fn own_step_equals_the_generic_step(
            c1 in 50e5..300e5f64, c2 in 0.0..40e5f64, pilot in 0.0..60e5f64, z1 in 0.0..1e9f64, z2 in 0.0..1e8f64,
            x in 0.0..1f64, vented in prop::bool::ANY,
        ) {
            agrees_with_the_generic_step(|| {
                let mut bench = Bench::new(&valve(vented), 1e-4);
                bench.line(0, c1, z1).line(1, c2, z2).line(2, pilot, 0.0);
                bench.input(Valve::SET_PRESSURE, 250e5).set_state(Valve::POSITION, x);
                bench
            }, 1e-8)?;
        }
    }
}
