//! Gear.

use crate::mechanics::body::{Body, BodyParameters};
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// A gear: two shafts that turn at a fixed ratio.
///
/// i = ω_a/ω_b;  J·dω_a/dt = M_a − M_b/i − B·ω_a − M_loss
///
/// M_loss = (1−η) times the torque of each side that drives, referred to side a, against the motion:
/// η of the power arrives in either direction, and a gear at rest holds. It is taken at last step's
/// speed: exact in steady running, dissipative always. A negative ratio reverses the direction. A
/// gear without inertia has at least 1e-6 N·m·s/rad of viscous friction.
#[component("rotational.gear", q, constants = Body)]
pub struct Gear {
    /// fast side of a reduction
    #[port]
    a: Rotational,
    /// slow side of a reduction
    #[port]
    b: Rotational,
    /// i — ratio: speed at a over speed at b [–]
    #[parameter(default = 1)]
    pub ratio: f64,
    /// η — efficiency [–]
    #[parameter(default = 1, min = ">0", max = 1)]
    pub efficiency: f64,
    /// J — moment of inertia, referred to side a [kg*m^2]
    #[parameter(default = "0 kg*m^2", min = "0 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction, referred to side a [N*m*s/rad]
    #[parameter(default = "0 N*m*s/rad", min = "0 N*m*s/rad")]
    pub damping: f64,
    /// φ₀ — angle of side a at the start [rad]
    #[parameter(default = "0 rad")]
    pub start_angle: f64,
    /// ω₀ — speed of side a at the start [rad/s]
    #[parameter(default = "0 rad/s")]
    pub start_speed: f64,
    /// φ — angle of side a [rad]
    #[state(start = "start_angle")]
    angle: State,
    /// ω — speed of side a [rad/s]
    #[state(start = "start_speed")]
    speed: State,
    /// – — share of the losses that holds it (lumped solvers) [–]
    #[memory]
    held: Memory,
}

impl Gear {
    fn kernel(&self, environment: &Environment) -> Result<Body<f64>, Refusal> {
        if self.ratio == 0.0 {
            return Err(Refusal::new(
                "ratio",
                "a ratio of 0 would let side b turn infinitely fast",
                "give the speed at a over the speed at b, negative when the direction reverses",
            ));
        }
        Body::new(
            &BodyParameters {
                mass: self.inertia,
                damping: self.damping,
                arms: [-1.0, 1.0 / self.ratio],
                efficiency: Some(self.efficiency),
                ..Default::default()
            },
            environment,
        )
    }
}

physics_of_kernel!(Gear, Body);

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Bench, Surroundings, assert_lanes_give_the_bits_of_scalars};
    use proptest::prelude::*;

    fn gear(ratio: f64, efficiency: f64, inertia: f64) -> Gear {
        Gear { ratio, efficiency, inertia, damping: 0.0, start_angle: 0.0, start_speed: 0.0 }
    }

    /// Runs to the steady state between a torque with slip at a and a load at b.
    fn steady(gear: &Gear, driving: f64, load: f64) -> Bench<Gear> {
        let mut bench = Bench::new(gear, 1e-3);
        bench.line(Gear::A, driving, 0.5).line(Gear::B, load, 2.0).settle();
        for _ in 0..100_000 {
            bench.step();
        }
        bench
    }

    /// The least viscous friction of a gear without inertia, 1e-6 N·m·s/rad, takes up to 7e-6 of the
    /// torque here.
    #[test]
    fn an_ideal_gear_conserves_power() {
        for ratio in [4.0, 0.25, -3.0] {
            for inertia in [0.0, 0.3] {
                let bench = steady(&gear(ratio, 1.0, inertia), 120.0, 10.0);
                let (ma, mb) = (bench.effort(Gear::A), bench.effort(Gear::B));
                let (wa, wb) = (-bench.flow(Gear::A), bench.flow(Gear::B));
                assert!((wa / wb / ratio - 1.0).abs() < 1e-12);
                assert!((mb / (ma * ratio) - 1.0).abs() < 1e-5, "{ratio}: {ma} {mb}");
                assert!((ma * wa / (mb * wb) - 1.0).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn the_efficiency_holds_in_both_directions_of_power() {
        for inertia in [0.0, 0.3] {
            let forward = steady(&gear(4.0, 0.9, inertia), 120.0, 10.0);
            let (ma, mb) = (forward.effort(Gear::A), forward.effort(Gear::B));
            assert!((mb / (ma * 4.0 * 0.9) - 1.0).abs() < 1e-5, "{ma} {mb}");
            let backward = steady(&gear(4.0, 0.9, inertia), 1.0, 400.0);
            assert!(backward.flow(Gear::B) < 0.0);
            let (ma, mb) = (backward.effort(Gear::A), backward.effort(Gear::B));
            assert!((ma / (mb / 4.0 * 0.9) - 1.0).abs() < 1e-5, "{ma} {mb}");
        }
    }

    #[test]
    fn a_lossy_gear_at_rest_holds_between_its_limits() {
        // a holds 100 N·m at b with 25·0.8 = 20 to 25/0.8 = 31.25 N·m
        for (driving, moves) in [(19.9, true), (20.1, false), (31.2, false), (31.3, true)] {
            let mut bench = Bench::new(&gear(4.0, 0.8, 0.1), 1e-3);
            bench.line(Gear::A, driving, 0.0).line(Gear::B, 100.0, 0.0).settle();
            bench.step().step();
            assert_eq!(bench.flow(Gear::B) != 0.0, moves, "{driving}");
        }
    }

    #[test]
    fn a_ratio_of_zero_is_refused() {
        let around = Surroundings::of::<Gear>(1e-3);
        let refusal = Bench::within(&gear(0.0, 1.0, 0.0), &around).map(|_| ()).unwrap_err();
        assert_eq!(refusal.parameter, "ratio");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] = [(0.0, 1.0), (0.1, 0.9), (1.0, 0.5), (0.0, 0.7)]
            .map(|(inertia, efficiency)| gear(3.0, efficiency, inertia));
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond {
                wave: noise.between(-500.0, 500.0),
                impedance: noise.between(0.0, 10.0),
                dry: noise.between(-2.0, 2.0).max(0.0),
                ..Bond::at_rest(0.0)
            },
            |_| 0.0,
        );
    }

    proptest! {
        #[test]
        fn closed_form_of_an_ideal_gear_equals_the_generic_step(
            ca in -1e3..1e3f64, cb in -1e3..1e3f64, za in 0.1..1e3f64, zb in 0.0..1e3f64,
            ratio in 0.1..10.0f64, inertia in prop_oneof![Just(0.0), 0.1..10.0f64], speed in -100.0..100.0f64,
        ) {
            let component = gear(ratio, 1.0, inertia);
            let mount = || {
                let mut bench = Bench::new(&component, 1e-3);
                bench.line(Gear::A, ca, za).line(Gear::B, cb, zb).set_state(Gear::SPEED, speed);
                bench
            };
            let (mut closed, mut generic) = (mount(), mount());
            closed.step();
            generic.step_generic();
            for port in 0..2 {
                let (c, g) = (closed.flow(port), generic.flow(port));
                prop_assert!((c - g).abs() <= 1e-8 * (1.0 + g.abs()), "{c} {g}");
            }
        }

        /// Whatever drives it, a lossy gear takes power in and never gives any.
        #[test]
        fn a_lossy_gear_never_gives_power(
            ca in -1e3..1e3f64, cb in -1e3..1e3f64, za in 0.1..1e2f64, zb in 0.1..1e2f64, efficiency in 0.1..1.0f64,
        ) {
            let mut bench = Bench::new(&gear(2.0, efficiency, 0.0), 1e-3);
            for _ in 0..5 {
                bench.line(Gear::A, ca, za).line(Gear::B, cb, zb).step();
                let given = bench.effort(0) * bench.flow(0) + bench.effort(1) * bench.flow(1);
                prop_assert!(given <= 1e-9 * (ca * ca + cb * cb), "{given} W");
            }
        }
    }
}
