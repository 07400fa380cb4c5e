//! Shuttle valve.

use crate::hydraulic::flow::{Ends, Restriction, increasing_root, opening, sized};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Dual, Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};

sized! {
    /// Shuttle valve: connects the outlet to the inlet with the higher pressure.
    ///
    /// x = ½ + (p_a − p_b)/Δp_r held between 0 and 1;  q_a = K·x·√(p_a − p_o),  q_b = K·(1−x)·√(p_b − p_o)
    ///
    /// A ball between two seats; flow in either direction, laminar at small drops as
    /// `hydraulic.orifice`. Ball and flows are solved together with the three line ends. Flow back
    /// from the outlet presses the ball onto the other seat, so it can stay there although the
    /// pressures have changed sides; then the last position counts.
    #[component("hydraulic.shuttle_valve", q, constants = ShuttleConstants)]
    pub struct ShuttleValve {
        /// first inlet
        #[port(also = "P1")]
        a: Hydraulic,
        /// second inlet
        #[port(also = "P2", side = "a")]
        b: Hydraulic,
        /// the higher of the two
        #[port(also = "P3")]
        outlet: Hydraulic,
        /// Δp_r — pressure difference that moves the ball from seat to seat [Pa]
        #[parameter(default = "0.2 bar", min = ">0 bar")]
        pub switching_range: f64,
        /// x — position of the ball, 1 when a is open, 0 when b is open [–]
        #[output]
        position: Output,
        /// x — last position of the ball [–]
        #[memory]
        ball: Memory,
    }
}

/// Constants of [`ShuttleValve`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct ShuttleConstants<T> {
    restriction: Restriction<T>,
    per_range: T,
}

/// The line ends of a shuttle valve: waves and impedances of a, b and outlet.
#[derive(Clone, Copy)]
struct Three<T> {
    ends: [(T, T); 3],
    viscosity: T,
}

impl<T: Num> Three<T> {
    fn lift(&self) -> Three<Dual<T>> {
        Three {
            ends: self.ends.map(|(c, z)| (Dual::constant(c), Dual::constant(z))),
            viscosity: Dual::constant(self.viscosity),
        }
    }
}

impl<T: Num> ShuttleConstants<T> {
    /// Flows from a and b against a pressure in the valve.
    #[wide]
    fn flows(&self, three: &Three<T>, x: T, pressure: T) -> [T; 2] {
        [(0, x), (1, T::one() - x)].map(|(port, share)| {
            let ends = Ends::new(three.ends[port], (pressure, T::zero()), three.viscosity);
            self.restriction.flow_between(share, &ends)
        })
    }

    /// Where the flows push the ball, not held between the seats.
    #[wide]
    fn pushed(&self, three: &Three<T>, flows: [T; 2]) -> T {
        let [(ca, za), (cb, zb), _] = three.ends;
        let [qa, qb] = flows;
        ((ca - za * qa) - (cb - zb * qb)) * self.per_range + 0.5
    }

    /// p − c_o − Z_o·(q_a + q_b): zero at the pressure of the outlet.
    #[inline(always)]
    fn excess(&self, three: &Three<T>, x: T, pressure: T) -> T {
        let [qa, qb] = self.flows(three, x, pressure);
        let (c, z) = three.ends[2];
        pressure - c - z * (qa + qb)
    }

    /// Ball between the seats.
    #[wide]
    #[cold]
    fn floating(&self, three: &Three<T>) -> (T, [T; 2]) {
        let lifted = three.lift();
        let valve = self.map(&mut Dual::constant);
        let waves = three.ends.map(|(c, _)| c);
        let low = waves[0].min(waves[1]).min(waves[2]);
        let high = waves[0].max(waves[1]).max(waves[2]);
        let noise = low.abs().max(high.abs());
        let pressure_at = |x: T| {
            let x = Dual::constant(x);
            increasing_root(low, high, waves[2], noise, |p| valve.excess(&lifted, x, p))
        };
        let position = |x: Dual<T>| {
            let p = pressure_at(x.value);
            let by_p = valve.excess(&lifted, Dual::constant(x.value), Dual::variable(p)).slope;
            // the pressure with its slope over x, by one Newton step
            let p = Dual::constant(p);
            let p = p - valve.excess(&lifted, x, p) / Dual::constant(by_p);
            x - valve.pushed(&lifted, valve.flows(&lifted, x, p))
        };
        let noise = noise * self.per_range;
        let x = increasing_root(T::zero(), T::one(), T::of(0.5), noise, position);
        (x, self.flows(three, x, pressure_at(x)))
    }
}

impl Physics for ShuttleValve {
    fn prepare(&self, environment: &Environment) -> Result<ShuttleConstants<f64>, Refusal> {
        Ok(ShuttleConstants {
            restriction: self.size().restriction(environment.fluid, |_| Ok(1.0))?,
            per_range: 1.0 / self.switching_range,
        })
    }

    #[wide]
    fn law<T: Num>(k: &ShuttleConstants<T>, law: &mut Law<'_, T>) {
        let viscosity = law.viscosity[Self::OUTLET];
        let [pa, pb, po] = [Self::A, Self::B, Self::OUTLET].map(|port| law.effort[port]);
        let x = opening((pa - pb) * k.per_range + 0.5);
        let qa = k.restriction.flow(x, pa - po, viscosity);
        let qb = k.restriction.flow(T::one() - x, pb - po, viscosity);
        law.flow[Self::A] = -qa;
        law.flow[Self::B] = -qb;
        law.flow[Self::OUTLET] = qa + qb;
        law.output[Self::POSITION] = x;
    }

    fn show(_: &ShuttleConstants<f64>, settle: &mut Settle<'_>) {
        settle.memory[Self::BALL] = settle.output[Self::POSITION];
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &ShuttleConstants<T>, io: &mut Step<'_, T>) {
        let viscosity = io.viscosity(Self::OUTLET);
        let ends = [Self::A, Self::B, Self::OUTLET].map(|port| (io.wave(port), io.impedance(port)));
        let three = Three { ends, viscosity };
        let (zero, one) = (T::zero(), T::one());
        let from = |port: usize| {
            let ends = Ends::new(ends[port], ends[2], viscosity);
            k.restriction.flow_between(one, &ends)
        };
        let (only_a, only_b) = ([from(0), zero], [zero, from(1)]);
        let a_holds = k.pushed(&three, only_a).ge(one);
        let b_holds = k.pushed(&three, only_b).le(zero);
        let choose_a = a_holds & (!b_holds | io.memory(Self::BALL).ge(T::of(0.5)));
        let mut x = T::select(choose_a, one, zero);
        let mut flows = [0, 1].map(|i| T::select(choose_a, only_a[i], only_b[i]));
        let between = !(a_holds | b_holds);
        if between.any() {
            let (middle, floating) = k.floating(&three);
            x = T::select(between, middle, x);
            flows = [0, 1].map(|i| T::select(between, floating[i], flows[i]));
        }
        io.set_flow(Self::A, -flows[0]);
        io.set_flow(Self::B, -flows[1]);
        io.set_flow(Self::OUTLET, flows[0] + flows[1]);
        io.set_output(Self::POSITION, x);
        io.set_memory(Self::BALL, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::Bench;
    use proptest::prelude::*;

    fn valve() -> ShuttleValve {
        ShuttleValve { nominal_flow: Some(FLOW_40), nominal_pressure_drop: Some(5e5), ..declared() }
    }

    fn stepped(waves: [f64; 3], impedance: [f64; 3], ball: f64) -> Bench<ShuttleValve> {
        let mut bench = Bench::new(&valve(), 1e-4);
        for port in 0..3 {
            bench.line(port, waves[port], impedance[port]);
        }
        bench.state.states[ShuttleValve::BALL] = ball;
        bench.step();
        bench
    }

    #[test]
    fn the_higher_inlet_feeds_the_outlet() {
        let a = stepped([25e5, 10e5, 20e5], [0.0; 3], 0.0);
        assert!((a.flow(2) / FLOW_40 - 1.0).abs() < 1e-12);
        assert_eq!((a.flow(0), a.flow(1)), (-a.flow(2), 0.0));
        let b = stepped([10e5, 25e5, 20e5], [0.0; 3], 1.0);
        assert_eq!((b.flow(1), b.flow(0)), (a.flow(0), 0.0));
        assert_eq!((a.output(0), b.output(0)), (1.0, 0.0));
    }

    #[test]
    fn outlet_is_relieved_through_the_open_seat() {
        let back = stepped([10e5, 5e5, 15e5], [0.0; 3], 1.0);
        assert!((back.flow(2) / -FLOW_40 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_inlets_share_the_flow() {
        let both = stepped([25e5, 25e5, 20e5], [1e8, 1e8, 0.0], 0.0);
        assert!((both.output(0) - 0.5).abs() < 1e-9);
        assert!((both.flow(0) / both.flow(1) - 1.0).abs() < 1e-9);
        let rest = stepped([20e5; 3], [1e8; 3], 0.0);
        assert_eq!((rest.flow(0), rest.flow(2)), (0.0, 0.0));
    }

    #[test]
    fn back_flow_holds_the_ball_where_it_was() {
        for ball in [0.0, 1.0] {
            let back = stepped([10e5, 10e5, 60e5], [1e9; 3], ball);
            assert_eq!(back.output(0), ball);
            assert!(back.flow(2) < 0.0);
        }
    }

    #[test]
    fn lanes_are_scalars() {
        let one = valve();
        lanes_give_the_bits_of_scalars([&one; 4], &[], (10e5, 11e5));
    }

    proptest! {
        /// Ball, flows and line ends agree, wherever the ball is.
        #[test]
        fn step_satisfies_the_law(
            ca in 9.5e5..10.5e5f64, cb in 9.5e5..10.5e5f64, co in 0.0..20e5f64,
            za in 0.0..1e9f64, zb in 0.0..1e9f64, zo in 0.0..1e9f64, ball in 0..2usize,
        ) {
            let bench = stepped([ca, cb, co], [za, zb, zo], ball as f64);
            let (pa, pb, po) = (bench.effort(0), bench.effort(1), bench.effort(2));
            let x = bench.output(0);
            prop_assert!((opening((pa - pb) / 0.2e5 + 0.5) - x).abs() < 1e-8);
            let k = bench.constants();
            for (port, p, share) in [(0, pa, x), (1, pb, 1.0 - x)] {
                // The drop is known to rounding of the waves.
                let least = k.restriction.flow(share, p - po - 1e-8, 30e-6);
                let most = k.restriction.flow(share, p - po + 1e-8, 30e-6);
                let (q, slack) = (-bench.flow(port), 1e-8 * FLOW_40);
                prop_assert!(least - slack <= q && q <= most + slack, "{least} {q} {most}");
            }
            prop_assert!((bench.flow(0) + bench.flow(1) + bench.flow(2)).abs() <= 1e-18);
        }
    }
}
