//! Unloading valve.

use crate::hydraulic::flow::{Control, Follower, Lag, bar, sized};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::{Constants, component};

sized! {
    /// Unloading valve: lets a pump flow to tank while a pilot pressure is high.
    ///
    /// τ·dx/dt = u − x,  u = (p_pilot − p_out − p_s)/Δp_r held between 0 and 1,  q = K·x·√Δp
    ///
    /// The spring chamber drains to the outlet. With a differential the valve, once fully open, stays
    /// so until the pilot has fallen by it: accumulator charging. No reverse flow. It unloads the
    /// large pump of the two-actuator circuit of Pollmeier (thesis, University of Bath, Fig. 3.1).
    #[component("hydraulic.unloading_valve", q, constants = UnloadingConstants)]
    pub struct UnloadingValve {
        /// pump side
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// tank side
        #[port(also = "P2")]
        outlet: Hydraulic,
        /// pressure that opens it; takes no flow
        #[port(also = "P_OPEN")]
        pilot: Hydraulic,
        /// p_s — pilot pressure above outlet at which it begins to open [Pa]
        #[input(default = "100 bar", min = "0 bar", also = "p_ref")]
        pub unloading_pressure: f64,
        /// Δp_r — rise of the pilot pressure over which it opens fully [Pa]
        #[parameter(default = "2 bar", min = ">0 bar")]
        pub opening_range: f64,
        /// Δp_d — how far the pilot must fall below the unloading pressure to shut it again [Pa]
        #[parameter(default = "0 bar", min = "0 bar", also = "p_h")]
        pub differential: f64,
        /// τ — time constant [s]
        #[parameter(default = "5 ms", min = ">0 s", also = "tao")]
        pub time_constant: f64,
        /// x — position of the spool [–]
        #[state]
        position: State,
        /// x — opening [–]
        #[output(also = "x0")]
        opening: Output,
        /// – — 1 after it has opened fully, 0 after it has shut [–]
        #[memory]
        latched: Memory,
    }
}

// A lag never quite arrives: 1 % counts as open or shut.
const OPEN: f64 = 0.99;
const SHUT: f64 = 0.01;

/// Constants of [`UnloadingValve`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct UnloadingConstants<T> {
    valve: Follower<T>,
    per_range: T,
    differential: T,
}

impl<T: Num> UnloadingConstants<T> {
    #[inline(always)]
    fn control(&self, pilot: T, setting: T, latched: T) -> Control<T> {
        let spring = setting - self.differential * latched;
        Control {
            inlet: T::zero(),
            outlet: -self.per_range,
            offset: (pilot - spring) * self.per_range,
        }
    }
}

impl Physics for UnloadingValve {
    fn prepare(&self, environment: &Environment) -> Result<UnloadingConstants<f64>, Refusal> {
        if self.differential >= self.unloading_pressure && self.differential > 0.0 {
            return Err(Refusal::new(
                "differential",
                format!(
                    "a valve that unloads at {} can never shut with a differential of {}",
                    bar(self.unloading_pressure),
                    bar(self.differential)
                ),
                "give a differential below the unloading pressure",
            ));
        }
        Ok(UnloadingConstants {
            valve: Follower {
                restriction: self.size().restriction(environment.fluid, |_| Ok(1.0))?,
                lag: Lag::new(Some(self.time_constant), environment.step),
                one_way: true,
            },
            per_range: 1.0 / self.opening_range,
            differential: self.differential,
        })
    }

    fn law<T: Num>(k: &UnloadingConstants<T>, law: &mut Law<'_, T>) {
        let control = k.control(
            law.effort[Self::PILOT],
            law.input[Self::UNLOADING_PRESSURE],
            law.memory[Self::LATCHED],
        );
        let ports = [Self::INLET, Self::OUTLET];
        law.output[Self::OPENING] = k.valve.law(law, ports, control, Self::POSITION);
        law.flow[Self::PILOT] = T::zero();
    }

    fn settles(_: &UnloadingConstants<f64>) -> bool {
        true
    }

    fn settle(_: &UnloadingConstants<f64>, settle: &mut Settle<'_>) {
        let position = settle.state[Self::POSITION];
        if position > OPEN {
            settle.memory[Self::LATCHED] = 1.0;
        } else if position < SHUT {
            settle.memory[Self::LATCHED] = 0.0;
        }
    }

    #[inline]
    fn step<T: Num>(k: &UnloadingConstants<T>, io: &mut Step<'_, T>) {
        let control = k.control(
            io.wave(Self::PILOT),
            io.input(Self::UNLOADING_PRESSURE),
            io.memory(Self::LATCHED),
        );
        let ports = [Self::INLET, Self::OUTLET];
        let opening = k.valve.step(io, ports, control, Self::POSITION);
        io.set_flow(Self::PILOT, T::zero());
        io.set_output(Self::OPENING, opening);
        let (open, shut) = (opening.gt(T::of(OPEN)), opening.lt(T::of(SHUT)));
        if (open | shut).any() {
            let latched = T::select(shut, T::zero(), io.memory(Self::LATCHED));
            io.set_memory(Self::LATCHED, T::select(open, T::one(), latched));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    fn valve(differential: f64) -> UnloadingValve {
        UnloadingValve {
            nominal_flow: Some(FLOW_40),
            nominal_pressure_drop: Some(5e5),
            differential,
            ..declared()
        }
    }

    fn settle(bench: &mut Bench<UnloadingValve>, pilot: f64) -> f64 {
        bench.line(2, pilot, 1e8);
        for _ in 0..1000 {
            bench.step();
        }
        assert_eq!(bench.flow(2), 0.0);
        bench.flow(1)
    }

    fn mounted(differential: f64) -> Bench<UnloadingValve> {
        let mut bench = Bench::new(&valve(differential), 1e-4);
        bench.input(UnloadingValve::UNLOADING_PRESSURE, 100e5);
        bench.line(0, 8e5, 0.0).line(1, 3e5, 0.0);
        bench
    }

    #[test]
    fn pump_is_unloaded_while_the_pilot_is_high() {
        let mut bench = mounted(0.0);
        assert_eq!(settle(&mut bench, 102e5), 0.0);
        // 1 bar above 100 + 3 bar: half open
        assert!((settle(&mut bench, 104e5) / (0.5 * FLOW_40) - 1.0).abs() < 1e-8);
        assert!((settle(&mut bench, 110e5) / FLOW_40 - 1.0).abs() < 1e-8);
        assert!(settle(&mut bench, 100e5).abs() < 1e-9 * FLOW_40);
        bench.line(0, 0.0, 0.0);
        assert_eq!(settle(&mut bench, 200e5), 0.0, "no reverse flow");
    }

    #[test]
    fn differential_keeps_it_open_until_the_pilot_has_fallen() {
        let mut bench = mounted(15e5);
        settle(&mut bench, 110e5);
        assert!((settle(&mut bench, 95e5) / FLOW_40 - 1.0).abs() < 1e-6);
        assert!(settle(&mut bench, 87e5) < 1e-9);
        assert!(settle(&mut bench, 100e5) < 1e-9, "shut until 103 bar");
    }

    #[test]
    fn a_differential_as_large_as_the_setting_is_refused() {
        let around = Surroundings::of::<UnloadingValve>(1e-4);
        let refusal = Bench::within(&valve(120e5), &around).err().unwrap();
        assert!(refusal.message.contains("100 bar") && refusal.message.contains("120 bar"));
    }

    #[test]
    fn lanes_are_scalars() {
        let one = valve(3e5);
        lanes_give_the_bits_of_scalars([&one; 4], &[(5e5, 10e5)], (0.0, 20e5));
    }

    proptest! {
        #[test]
        fn own_step_equals_the_generic_step(
            c1 in 10e5..50e5f64, c2 in 0.0..9e5f64, z1 in 0.0..1e9f64, z2 in 0.0..1e9f64, pilot in 90e5..110e5f64, x in 0.0..1f64,
        ) {
            agrees_with_the_generic_step(|| {
                let mut bench = mounted(0.0);
                bench.line(0, c1, z1).line(1, c2, z2).line(2, pilot, 0.0).set_state(0, x);
                bench
            }, 1e-8)?;
        }
    }
}
