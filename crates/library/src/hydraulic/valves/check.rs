//! Check valves, plain and pilot operated.

use crate::hydraulic::flow::{
    Control, Ends, Follower, Lag, Size, bar, open_or_shut, opening, sized,
};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

sized! {
    /// Spring-loaded check valve: flow from inlet to outlet only.
    ///
    /// q = K·x·√Δp,  x = (Δp − p_c)/Δp_r held between 0 and 1
    ///
    /// Opens in proportion from the cracking pressure p_c, fully over the range Δp_r, without delay;
    /// solved together with the line ends, not switched. Laminar at very small openings as
    /// `hydraulic.orifice`. A catalogue point may lie where the valve is still partly open.
    #[component("hydraulic.check_valve", q, constants = CheckConstants)]
    pub struct CheckValve {
        /// side that flow comes from
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// side that flow goes to
        #[port(also = "P2")]
        outlet: Hydraulic,
        /// p_c — pressure drop at which it begins to open [Pa]
        #[parameter(default = "0.5 bar", min = "0 bar", also = "F_s")]
        pub cracking_pressure: f64,
        /// Δp_r — rise of the pressure drop over which it opens fully [Pa]
        #[parameter(default = "0.5 bar", min = ">0 bar")]
        pub opening_range: f64,
        /// x — opening [–]
        #[output(also = "x")]
        opening: Output,
    }
}

sized! {
    /// Pilot-operated check valve: free flow from inlet to outlet, and back when piloted open.
    ///
    /// x = (p_in − p_out − p_c + φ·max(p_pilot − p_in, 0))/Δp_r held between 0 and 1
    ///
    /// The pilot piston, φ times the area of the seat and with the inlet behind it, pushes the poppet
    /// but does not hold it back. Without delay; solved together with the line ends. Where a piloted
    /// valve could be open or shut at the same waves (back flow relieves the outlet and lets it open
    /// further) it stays near the last flow.
    #[component("hydraulic.pilot_check_valve", q, constants = PilotCheckConstants)]
    pub struct PilotCheckValve {
        /// side that free flow comes from
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// side that free flow goes to, where the load is held
        #[port(also = "P2")]
        outlet: Hydraulic,
        /// opens against the load; takes no flow
        #[port(also = "P_PILOT")]
        pilot: Hydraulic,
        /// p_c — pressure drop at which it begins to open without pilot [Pa]
        #[parameter(default = "0.5 bar", min = "0 bar", also = "p_f")]
        pub cracking_pressure: f64,
        /// Δp_r — rise of the pressure over which it opens fully [Pa]
        #[parameter(default = "0.5 bar", min = ">0 bar")]
        pub opening_range: f64,
        /// φ — area of the pilot piston over that of the seat [–]
        #[parameter(default = 3, min = ">0", also = "phi")]
        pub pilot_ratio: f64,
        /// x — opening [–]
        #[output(also = "x")]
        opening: Output,
    }
}

/// Constants of [`CheckValve`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct CheckConstants<T> {
    valve: Follower<T>,
    per_range: T,
    cracking_pressure: T,
}

/// Constants of [`PilotCheckValve`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct PilotCheckConstants<T> {
    check: CheckConstants<T>,
    pilot_ratio: T,
}

impl CheckConstants<f64> {
    /// A poppet that opens from its cracking pressure over a range.
    pub fn new(
        size: &Size,
        (cracking, range): (f64, f64),
        one_way: bool,
        environment: &Environment,
    ) -> Result<Self, Refusal> {
        let restriction = size.restriction(environment.fluid, |drop| {
            if drop <= cracking {
                return Err(Refusal::new(
                    "nominal_pressure_drop",
                    format!(
                        "the valve is shut at its nominal pressure drop of {}: it cracks at {}",
                        bar(drop),
                        bar(cracking)
                    ),
                    "give the catalogue point of the open valve, or a lower cracking_pressure",
                ));
            }
            Ok(((drop - cracking) / range).min(1.0))
        })?;
        Ok(Self {
            valve: Follower { restriction, lag: Lag::new(None, environment.step), one_way },
            per_range: 1.0 / range,
            cracking_pressure: cracking,
        })
    }
}

impl<T: Num> CheckConstants<T> {
    /// The spring against the pressure drop.
    #[inline(always)]
    fn control(&self) -> Control<T> {
        Control {
            inlet: self.per_range,
            outlet: -self.per_range,
            offset: -(self.cracking_pressure * self.per_range),
        }
    }

    /// Flow and opening for a drop: for a check valve that is part of another valve.
    #[inline(always)]
    pub fn flow(&self, drop: T, viscosity: T) -> (T, T) {
        let position = (drop - self.cracking_pressure) * self.per_range;
        (self.valve.flow(position, drop, viscosity), opening(position))
    }

    #[inline(always)]
    fn step<const N: usize>(
        &self,
        io: &mut Step<'_, T>,
        [inlet, outlet]: [usize; 2],
        controls: [Control<T>; N],
    ) -> T {
        let ends = Ends::of(io, inlet, outlet);
        let follow = self.valve.lag.advance(T::zero(), T::zero());
        let last = io.flow(outlet);
        let new = self.valve.solve(&ends, controls, open_or_shut(), follow, last);
        io.set_flow(inlet, -new.flow);
        io.set_flow(outlet, new.flow);
        new.position
    }
}

impl<T: Num> PilotCheckConstants<T> {
    /// Without and with the pilot's push.
    #[inline(always)]
    fn controls(&self, pilot: T) -> [Control<T>; 2] {
        let free = self.check.control();
        let push = self.pilot_ratio * self.check.per_range;
        let piloted = Control {
            inlet: free.inlet - push,
            outlet: free.outlet,
            offset: free.offset + push * pilot,
        };
        [free, piloted]
    }
}

impl Physics for CheckValve {
    fn prepare(&self, environment: &Environment) -> Result<CheckConstants<f64>, Refusal> {
        let spring = (self.cracking_pressure, self.opening_range);
        CheckConstants::new(&self.size(), spring, true, environment)
    }

    fn law<T: Num>(k: &CheckConstants<T>, law: &mut Law<'_, T>) {
        let viscosity = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let drop = law.effort[Self::INLET] - law.effort[Self::OUTLET];
        let (through, opening) = k.flow(drop, viscosity);
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
        law.output[Self::OPENING] = opening;
    }

    #[inline(always)]
    fn step<T: Num>(k: &CheckConstants<T>, io: &mut Step<'_, T>) {
        let opening = k.step(io, [Self::INLET, Self::OUTLET], [k.control()]);
        io.set_output(Self::OPENING, opening);
    }
}

impl Physics for PilotCheckValve {
    fn prepare(&self, environment: &Environment) -> Result<PilotCheckConstants<f64>, Refusal> {
        let spring = (self.cracking_pressure, self.opening_range);
        Ok(PilotCheckConstants {
            check: CheckConstants::new(&self.size(), spring, false, environment)?,
            pilot_ratio: self.pilot_ratio,
        })
    }

    fn law<T: Num>(k: &PilotCheckConstants<T>, law: &mut Law<'_, T>) {
        let viscosity = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let (p_in, p_out) = (law.effort[Self::INLET], law.effort[Self::OUTLET]);
        let [free, piloted] = k.controls(law.effort[Self::PILOT]);
        let position = free.at(p_in, p_out).max(piloted.at(p_in, p_out));
        let through = k.check.valve.flow(position, p_in - p_out, viscosity);
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
        law.flow[Self::PILOT] = T::zero();
        law.output[Self::OPENING] = opening(position);
    }

    #[inline(always)]
    fn step<T: Num>(k: &PilotCheckConstants<T>, io: &mut Step<'_, T>) {
        let controls = k.controls(io.wave(Self::PILOT));
        let opening = k.check.step(io, [Self::INLET, Self::OUTLET], controls);
        io.set_flow(Self::PILOT, T::zero());
        io.set_output(Self::OPENING, opening);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::number::Dual;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    fn check() -> CheckValve {
        CheckValve { nominal_flow: Some(FLOW_40), nominal_pressure_drop: Some(5e5), ..declared() }
    }

    fn piloted() -> PilotCheckValve {
        PilotCheckValve {
            nominal_flow: Some(FLOW_40),
            nominal_pressure_drop: Some(5e5),
            ..declared()
        }
    }

    fn flow(valve: &CheckValve, p_in: f64, p_out: f64, z: f64) -> f64 {
        let mut bench = Bench::new(valve, 1e-4);
        bench.line(0, p_in, z).line(1, p_out, z).step();
        assert_eq!(bench.flow(0), -bench.flow(1));
        bench.flow(1)
    }

    #[test]
    fn check_valve_meets_its_catalogue_point() {
        assert!((flow(&check(), 15e5, 10e5, 0.0) / FLOW_40 - 1.0).abs() < 1e-12);
        // 40 l/min at 0.8 bar, where it is 60 % open
        let partly = CheckValve { nominal_pressure_drop: Some(0.8e5), ..check() };
        assert!((flow(&partly, 10.8e5, 10e5, 0.0) / FLOW_40 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_flows_below_cracking_or_backwards() {
        for (p_in, p_out) in [(10e5, 10e5), (10.5e5, 10e5), (0.0, 400e5), (10e5, 10.1e5)] {
            for z in [0.0, 1e8, 1e12] {
                assert_eq!(flow(&check(), p_in, p_out, z), 0.0);
            }
        }
        assert!(flow(&check(), 10.6e5, 10e5, 1e12) > 0.0);
    }

    #[test]
    fn a_catalogue_point_below_cracking_is_refused() {
        let valve = CheckValve { nominal_pressure_drop: Some(0.3e5), ..check() };
        let around = Surroundings::of::<CheckValve>(1e-4);
        let refusal = Bench::within(&valve, &around).err().unwrap();
        assert!(refusal.message.contains("0.3 bar") && refusal.message.contains("0.5 bar"));
    }

    #[test]
    fn pilot_opens_against_the_load_above_its_ratio() {
        let at = |pilot: f64, p_in: f64, p_out: f64| {
            let mut bench = Bench::new(&piloted(), 1e-4);
            bench.line(0, p_in, 0.0).line(1, p_out, 0.0);
            bench.line(2, pilot, 1e9).step();
            assert_eq!(bench.flow(2), 0.0);
            bench.flow(1)
        };
        // load 150 bar, empty inlet: φ·p_pilot must exceed 150 + 0.5 bar
        assert_eq!(at(50.0e5, 0.0, 150e5), 0.0);
        assert!(at(50.4e5, 0.0, 150e5) < 0.0);
        let open = FLOW_40 * (150.0f64 / 5.0).sqrt();
        assert!((at(60e5, 0.0, 150e5) / -open - 1.0).abs() < 1e-9);
        // free flow does not need the pilot, and a low pilot does not hinder it
        assert!((at(0.0, 155e5, 150e5) / FLOW_40 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn lanes_are_scalars() {
        let (one, two) = (check(), CheckValve { cracking_pressure: 0.0, ..check() });
        lanes_give_the_bits_of_scalars([&one, &two, &one, &two], &[], (0.0, 1e6));
        let one = piloted();
        lanes_give_the_bits_of_scalars([&one; 4], &[], (0.0, 1e6));
    }

    proptest! {
        /// p = c + Z·q at both ends and the law of the valve, at every opening.
        #[test]
        fn flow_through_lines_satisfies_the_law(
            c1 in 0.0..40e5f64, c2 in 0.0..40e5f64, z1 in 0.0..1e11f64, z2 in 0.0..1e11f64, p_c in 0.0..5e5f64,
        ) {
            let valve = CheckValve { cracking_pressure: p_c.min(4.9e5), ..check() };
            let mut bench = Bench::new(&valve, 1e-4);
            bench.line(0, c1, z1).line(1, c2, z2).step();
            let drop = bench.effort(0) - bench.effort(1);
            let (expected, x) = bench.constants().flow(drop, 30e-6);
            let lifted = bench.constants().map(&mut Dual::constant);
            let slope = lifted.flow(Dual::variable(drop), Dual::of(30e-6)).0.slope;
            // The drop is known to rounding of the waves; an error of flow comes back times Z.
            let rounding = 4e-15 * (c1 + c2) * slope * (1.0 + (z1 + z2) * slope);
            let error = (bench.flow(1) - expected).abs();
            prop_assert!(error <= 1e-12 * expected + rounding, "{} {expected}", bench.flow(1));
            prop_assert!((bench.output(0) - x).abs() < 1e-9);
        }

        /// Also where back flow through soft ends allows more than one opening.
        #[test]
        fn piloted_flow_satisfies_the_law(
            c1 in 0.0..20e5f64, c2 in 0.0..20e5f64, pilot in 0.0..20e5f64, z1 in 0.0..1e10f64, z2 in 0.0..1e10f64,
        ) {
            let mut bench = Bench::new(&piloted(), 1e-4);
            bench.line(0, c1, z1).line(1, c2, z2).line(2, pilot, 0.0).step();
            let (p1, p2, q) = (bench.effort(0), bench.effort(1), bench.flow(1));
            let k = bench.constants();
            let [free, piloted] = k.controls(pilot);
            // The pressures are known to rounding of the waves.
            let at = |shift: f64| {
                let position = free.at(p1 + shift, p2).max(piloted.at(p1 + shift, p2));
                k.check.valve.flow(position, p1 + shift - p2, 30e-6)
            };
            let (one, other) = (at(-1e-6), at(1e-6));
            let slack = 1e-9 * FLOW_40;
            prop_assert!(one.min(other) - slack <= q && q <= one.max(other) + slack, "{one} {q} {other}");
        }

        /// There is one solution where only the end that takes the oil is soft: its back pressure
        /// shuts the valve. At a soft end that gives it, the falling pressure opens the valve further,
        /// and several openings may satisfy the law.
        #[test]
        fn piloted_valve_equals_the_generic_step(
            c1 in 0.0..20e5f64, c2 in 0.0..20e5f64, pilot in 0.0..20e5f64, z in 0.0..1e9f64,
        ) {
            let (z1, z2) = if c1 > c2 { (0.0, z) } else { (z, 0.0) };
            agrees_with_the_generic_step(|| {
                let mut bench = Bench::new(&piloted(), 1e-4);
                bench.line(0, c1, z1).line(1, c2, z2).line(2, pilot, 0.0);
                bench
            }, 1e-8)?;
        }
    }
}
