//! Orifice that a signal opens.

use crate::hydraulic::flow::{Ends, Restriction, opening, sized};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::table::Table;
use fluxline_core::{Constants, component};
use std::sync::Arc;

sized! {
    /// An orifice that a signal opens: throttle valve, proportional or switching 2/2 valve.
    ///
    /// q as in `hydraulic.orifice` with K·f(s),  0 ≤ s ≤ 1
    ///
    /// f is the share of the full flow area over the signal, linear unless a table is given. The
    /// signal is held between 0 and 1; steps beyond are counted. Opens without delay: put a filter
    /// before the signal where the valve's dynamics matter.
    #[component("hydraulic.variable_orifice", q, constants = VariableConstants)]
    pub struct VariableOrifice {
        /// upstream side when flow is positive
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// downstream side
        #[port(also = "P2")]
        outlet: Hydraulic,
        /// s — opening asked for, 0 closed, 1 fully open [–]
        #[input(default = 1)]
        pub signal: f64,
        /// f — share of the full flow area over the signal [–]
        #[parameter(default = "[[0, 0], [1, 1]]")]
        pub characteristic: Arc<Table>,
        /// f(s) — share of the full flow area [–]
        #[output]
        opening: Output,
        /// – — steps with the signal outside 0…1 [–]
        #[memory(counts = "limit")]
        saturated: Memory,
    }
}

/// Constants of [`VariableOrifice`].
#[derive(Clone, Debug, Constants)]
pub struct VariableConstants<T> {
    restriction: Restriction<T>,
    characteristic: Arc<Table>,
    is_linear: bool,
}

impl<T: Num> VariableConstants<T> {
    #[inline(always)]
    fn share(&self, signal: T) -> T {
        let signal = opening(signal);
        if self.is_linear { signal } else { self.characteristic.along(signal) }
    }
}

impl Physics for VariableOrifice {
    fn prepare(&self, environment: &Environment) -> Result<VariableConstants<f64>, Refusal> {
        let table = &self.characteristic;
        if let Some(&bad) = table.values.iter().find(|&&f| !(0.0..=1.0).contains(&f)) {
            return Err(Refusal::new(
                "characteristic",
                format!("the characteristic holds {bad}, but a share of the full area is 0…1"),
                "divide its second column by the full flow area",
            ));
        }
        Ok(VariableConstants {
            restriction: self.size().restriction(environment.fluid, |_| Ok(1.0))?,
            is_linear: table.knots == [0.0, 1.0] && table.values == [0.0, 1.0],
            characteristic: table.clone(),
        })
    }

    fn law<T: Num>(k: &VariableConstants<T>, law: &mut Law<'_, T>) {
        let share = k.share(law.input[Self::SIGNAL]);
        let viscosity = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let drop = law.effort[Self::INLET] - law.effort[Self::OUTLET];
        let through = k.restriction.flow(share, drop, viscosity);
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
        law.output[Self::OPENING] = share;
    }

    fn show(_: &VariableConstants<f64>, settle: &mut Settle<'_>) {
        let signal = settle.input[Self::SIGNAL];
        settle.count(Self::SATURATED, !(0.0..=1.0).contains(&signal));
    }

    #[inline(always)]
    fn step<T: Num>(k: &VariableConstants<T>, io: &mut Step<'_, T>) {
        let signal = io.input(Self::SIGNAL);
        let share = k.share(signal);
        let through = k.restriction.flow_between(share, &Ends::of(io, Self::INLET, Self::OUTLET));
        io.set_flow(Self::INLET, -through);
        io.set_flow(Self::OUTLET, through);
        io.set_output(Self::OPENING, share);
        let beyond = signal.lt(T::zero()) | signal.gt(T::one());
        if beyond.any() {
            io.count(Self::SATURATED, beyond);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    fn throttle(curve: &[(f64, f64)]) -> VariableOrifice {
        let (knots, values) = curve.iter().copied().unzip();
        VariableOrifice {
            nominal_flow: Some(FLOW_40),
            nominal_pressure_drop: Some(5e5),
            characteristic: Arc::new(Table::curve(knots, values)),
            ..declared()
        }
    }
    const LINEAR: &[(f64, f64)] = &[(0.0, 0.0), (1.0, 1.0)];
    const NOTCHED: &[(f64, f64)] = &[(0.0, 0.0), (0.2, 0.0), (0.5, 0.1), (1.0, 1.0)];

    fn flow(throttle: &VariableOrifice, signal: f64) -> (f64, f64) {
        let mut bench = Bench::new(throttle, 1e-4);
        bench.input(VariableOrifice::SIGNAL, signal);
        bench.line(0, 25e5, 0.0).line(1, 20e5, 0.0).step();
        (bench.flow(1), bench.state.states[VariableOrifice::SATURATED])
    }

    #[test]
    fn flow_follows_the_characteristic_and_holds_beyond_its_ends() {
        for (signal, share) in [(1.0, 1.0), (0.5, 0.5), (0.0, 0.0)] {
            let (q, count) = flow(&throttle(LINEAR), signal);
            assert!((q - share * FLOW_40).abs() < 1e-12 * FLOW_40);
            assert_eq!(count, 0.0);
        }
        assert!((flow(&throttle(NOTCHED), 0.75).0 / (0.55 * FLOW_40) - 1.0).abs() < 1e-12);
        assert_eq!(flow(&throttle(NOTCHED), 0.1).0, 0.0);
        assert_eq!(flow(&throttle(LINEAR), 1.7), (flow(&throttle(LINEAR), 1.0).0, 1.0));
        assert_eq!(flow(&throttle(LINEAR), -0.1), (0.0, 1.0));
    }

    #[test]
    fn a_characteristic_beyond_fully_open_is_refused() {
        let around = Surroundings::of::<VariableOrifice>(1e-4);
        let refusal = Bench::within(&throttle(&[(0.0, 0.0), (1.0, 12.0)]), &around).err().unwrap();
        assert!(refusal.message.contains("12"));
    }

    #[test]
    fn lanes_are_scalars() {
        let one = throttle(NOTCHED);
        lanes_give_the_bits_of_scalars([&one; 4], &[(-0.2, 1.2)], (0.0, 1e6));
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_generic_step(
            c1 in 0.0..2e6f64, c2 in 0.0..2e6f64, z1 in 0.0..1e10f64, z2 in 0.0..1e10f64, s in -0.1..1.1f64,
        ) {
            let throttle = throttle(NOTCHED);
            agrees_with_the_generic_step(|| {
                let mut bench = Bench::new(&throttle, 1e-4);
                bench.input(VariableOrifice::SIGNAL, s).line(0, c1, z1).line(1, c2, z2);
                bench
            }, 1e-9)?;
        }
    }
}
