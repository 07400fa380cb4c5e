//! Moving mass.

use crate::friction::{FrictionModel, FrictionParameters};
use crate::mechanics::body::{Body, BodyParameters};
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// A mass that moves along its axis, with viscous and dry friction, weight, end stops and a load.
///
/// m·dv/dt = F_a − F_b − B·v − F_friction − m·g·sin(θ) − F_load,  dx/dt = v
///
/// Trapezoidal rule, solved with the line ends in closed form; sticking is exact. Dry friction is
/// Coulomb's, Stribeck's (both with the amplitude of the last step's velocity) or LuGre. At a stop
/// the mass keeps the share e of its speed and turns. Krus, lecture slides (Linköping University);
/// Canudas de Wit et al., IEEE Transactions on Automatic Control 40 (1995).
#[component("translational.mass", q, constants = Body, also = "hopsan:MechanicTranslationalMass")]
pub struct Mass {
    /// rear end
    #[port(optional, also = "P1")]
    a: Translational,
    /// front end
    #[port(optional, also = "P2")]
    b: Translational,
    /// m — mass [kg]
    #[parameter(default = "100 kg", min = ">0 kg", also = "m")]
    pub mass: f64,
    /// B — viscous friction [N*s/m]
    #[parameter(default = "0 N*s/m", min = "0 N*s/m", also = "B")]
    pub damping: f64,
    /// – — law of dry friction: none, coulomb, stribeck or lugre [–]
    #[parameter(default = "none")]
    pub friction: FrictionModel,
    /// F_c — dry friction in motion [N]
    #[parameter(default = "0 N", min = "0 N")]
    pub coulomb_friction: f64,
    /// F_s — friction at rest; that in motion when not given [N]
    #[parameter(min = "0 N")]
    pub static_friction: Option<f64>,
    /// v_s — speed at which the excess at rest has fallen to 1/e [m/s]
    #[parameter(default = "0.01 m/s", min = ">0 m/s")]
    pub stribeck_velocity: f64,
    /// σ₀ — stiffness of the bristles (lugre) [N/m]
    #[parameter(default = "1e7 N/m", min = ">0 N/m")]
    pub bristle_stiffness: f64,
    /// σ₁ — damping of the bristles (lugre) [N*s/m]
    #[parameter(default = "1000 N*s/m", min = ">0 N*s/m")]
    pub bristle_damping: f64,
    /// θ — inclination: angle of the axis above the horizontal [rad]
    #[parameter(default = "0 rad")]
    pub inclination: f64,
    /// x_min — rear stop [m]
    #[parameter(default = "-1e300 m", also = "x_min")]
    pub min_position: f64,
    /// x_max — front stop [m]
    #[parameter(default = "1e300 m", also = "x_max")]
    pub max_position: f64,
    /// e — coefficient of restitution at the stops [–]
    #[parameter(default = 0, min = 0, max = 1)]
    pub restitution: f64,
    /// x₀ — position at the start [m]
    #[parameter(default = "0 m")]
    pub start_position: f64,
    /// v₀ — velocity at the start [m/s]
    #[parameter(default = "0 m/s")]
    pub start_velocity: f64,
    /// F_load — force against positive motion [N]
    #[input(default = "0 N")]
    pub load: f64,
    /// x — position [m]
    #[state(start = "start_position")]
    x: State,
    /// v — velocity [m/s]
    #[state(start = "start_velocity")]
    v: State,
    /// z — mean deflection of the bristles (lugre) [m]
    #[state]
    bristle_deflection: State,
    /// – — steps at a stop [–]
    #[memory(counts = "limit")]
    stopped: Memory,
    /// – — share of dry friction that holds it (lumped solvers) [–]
    #[memory]
    held: Memory,
}

/// Standard gravity, m/s².
const GRAVITY: f64 = 9.806_65;

impl Mass {
    fn kernel(&self, environment: &Environment) -> Result<Body<f64>, Refusal> {
        if self.min_position >= self.max_position {
            return Err(Refusal::new(
                "max_position",
                format!(
                    "the front stop ({} m) is not in front of the rear stop ({} m)",
                    self.max_position, self.min_position
                ),
                "give max_position a larger value than min_position",
            ));
        }
        Body::new(
            &BodyParameters {
                mass: self.mass,
                damping: self.damping,
                friction: Some(FrictionParameters {
                    model: self.friction,
                    coulomb: self.coulomb_friction,
                    at_rest: self.static_friction,
                    stribeck_velocity: self.stribeck_velocity,
                    bristle_stiffness: self.bristle_stiffness,
                    bristle_damping: self.bristle_damping,
                }),
                weight: self.mass * GRAVITY * self.inclination.sin(),
                stops: Some((self.min_position, self.max_position, self.restitution)),
                has_load: true,
                ..Default::default()
            },
            environment,
        )
    }
}

physics_of_kernel!(Mass, Body);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::translational::spring::Spring;
    use fluxline_core::component::Physics;
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{
        Bench, assert_lanes_give_the_bits_of_scalars, start_joined, step_joined,
    };
    use proptest::prelude::*;

    /// A mass of 50 kg without friction or stops.
    pub(crate) fn mass() -> Mass {
        Mass {
            mass: 50.0,
            damping: 0.0,
            friction: FrictionModel::None,
            coulomb_friction: 0.0,
            static_friction: None,
            stribeck_velocity: 0.01,
            bristle_stiffness: 1e6,
            bristle_damping: 1e4,
            inclination: 0.0,
            min_position: -1e300,
            max_position: 1e300,
            restitution: 0.0,
            start_position: 0.0,
            start_velocity: 0.0,
            load: 0.0,
        }
    }

    const RATE: usize = 3;

    #[test]
    fn constant_force_accelerates_as_newton_says() {
        let mut bench = Bench::new(&mass(), 1e-3);
        bench.line(Mass::A, 100.0, 0.0).line(Mass::B, 0.0, 0.0).settle();
        for _ in 0..1000 {
            bench.step();
        }
        assert!((bench.get_state(Mass::V) - 2.0).abs() < 1e-12);
        assert!((bench.get_state(Mass::X) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_mass_rolls_down_its_incline() {
        // a = −g·sin θ; 30° gives half of 9.80665 m/s²
        let incline = Mass { inclination: std::f64::consts::FRAC_PI_6, ..mass() };
        let mut bench = Bench::new(&incline, 1e-3);
        bench.settle();
        let energy = bench.energy();
        for _ in 0..1000 {
            bench.step();
        }
        assert!((bench.get_state(Mass::V) + 4.903_325).abs() < 1e-10);
        assert!((bench.energy() - energy).abs() < 1e-9, "weight and motion exchange energy");
    }

    #[test]
    fn dry_friction_holds_until_it_is_overcome() {
        let mut bench = Bench::new(
            &Mass { friction: FrictionModel::Coulomb, coulomb_friction: 20.0, ..mass() },
            1e-3,
        );
        bench.line(Mass::A, 19.9, 1e3).line(Mass::B, 0.0, 1e3).settle();
        for _ in 0..100 {
            bench.step();
        }
        assert_eq!(bench.get_state(Mass::V), 0.0);
        bench.line(Mass::A, 20.1, 1e3).step();
        assert!(bench.get_state(Mass::V) > 0.0);
    }

    #[test]
    fn friction_of_a_line_holds_with_the_force_that_is_missing() {
        let mut bench = Bench::new(&mass(), 1e-3);
        bench.line(Mass::A, 30.0, 0.0).line(Mass::B, 0.0, 0.0);
        bench.state.bonds[Mass::B].dry = 40.0;
        bench.step().step();
        assert_eq!(bench.get_state(Mass::V), 0.0);
        assert!((bench.effort(Mass::B) - 30.0).abs() < 1e-12);
        bench.line(Mass::A, 50.0, 0.0).step();
        assert!(bench.get_state(Mass::V) > 0.0);
        assert_eq!(bench.effort(Mass::B), 40.0);
    }

    /// Mass on a spring to a wall, drawn out by `start`; amplitudes of successive turning points.
    fn turning_points(friction: Mass, start: f64, step: f64, count: usize) -> Vec<f64> {
        let spring = Spring { stiffness: 1000.0, preload: 0.0 };
        let mut q = Bench::new(&friction, step);
        let mut c = Bench::new(&spring, step);
        q.set_state(Mass::X, start);
        start_joined((&mut c, Spring::A), (&mut q, Mass::B));
        let mut found = Vec::new();
        let mut before = 0.0;
        while found.len() < count && q.state.step < 10_000_000 {
            step_joined((&mut c, Spring::A), (&mut q, Mass::B));
            let v = q.get_state(Mass::V);
            if before != 0.0 && v * before <= 0.0 {
                found.push(q.get_state(Mass::X));
            }
            before = v;
        }
        found
    }

    #[test]
    fn coulomb_friction_takes_the_same_from_every_swing() {
        // 2·F_c/k per half swing: 1, 0.9, 0.8 … m for F_c = 50 N, k = 1000 N/m; the mass rests where
        // the spring pulls with less than F_c, |x| ≤ 0.05 m
        let rubbing = Mass {
            mass: 100.0,
            friction: FrictionModel::Coulomb,
            coulomb_friction: 50.0,
            ..mass()
        };
        let step = 1e-4;
        let found = turning_points(rubbing, 0.96, step, 9);
        assert_eq!(found.len(), 9);
        for (i, x) in found.iter().enumerate() {
            let expected = (0.96 - 0.1 * (i + 1) as f64) * if i % 2 == 0 { -1.0 } else { 1.0 };
            // turning points are seen at steps: a·T² = 10 m/s²·1e-8 s² and less
            assert!((x - expected).abs() < 2e-6, "{i}: {x} {expected}");
        }
        // the ninth leaves 0.06 m, beyond the band: one more half swing, and then rest
        let all = turning_points(
            Mass {
                mass: 100.0,
                friction: FrictionModel::Coulomb,
                coulomb_friction: 50.0,
                ..mass()
            },
            0.96,
            1e-3,
            11,
        );
        assert_eq!(all.len(), 10, "it rests at {:?}", all.last());
        assert!((all[9].abs() - 0.04).abs() < 1e-4);
    }

    #[test]
    fn lugre_friction_in_steady_sliding_is_the_stribeck_curve() {
        // pulled through a stiff viscous line: F_line = 1e4 N·s/m·(v_target − v)
        for target in [-0.2, 0.002, 0.01, 0.03, 1.0] {
            let mut forces = Vec::new();
            for friction in [FrictionModel::Lugre, FrictionModel::Stribeck] {
                let sliding = Mass {
                    friction,
                    coulomb_friction: 200.0,
                    static_friction: Some(300.0),
                    ..mass()
                };
                let mut bench = Bench::new(&sliding, 1e-4);
                bench.set_state(Mass::V, target);
                let z = 1e6;
                for _ in 0..200_000 {
                    bench.line(Mass::A, z * target, z).step();
                }
                let v = bench.get_state(Mass::V);
                let amplitude = 200.0 + 100.0 * (-(v / 0.01f64).powi(2)).exp();
                let expected = amplitude * v.signum();
                assert!((bench.effort(Mass::A) / expected - 1.0).abs() < 1e-9, "{target}");
                forces.push(bench.effort(Mass::A));
            }
            assert!((forces[0] / forces[1] - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn mass_stops_at_its_stop_and_stays() {
        let mut bench = Bench::new(&Mass { max_position: 0.1, restitution: 0.5, ..mass() }, 1e-3);
        bench.line(Mass::A, 1000.0, 0.0);
        for _ in 0..3000 {
            bench.step();
        }
        assert_eq!(bench.get_state(Mass::X), 0.1);
        assert_eq!(bench.get_state(Mass::V), 0.0);
        assert!(bench.state.states[6] > 0.0, "stops are counted");
    }

    #[test]
    fn a_rebound_keeps_the_coefficient_of_restitution() {
        let mut bench = Bench::new(&Mass { max_position: 0.1, restitution: 0.6, ..mass() }, 1e-3);
        bench.set_state(Mass::V, 2.0);
        for _ in 0..100 {
            bench.step();
        }
        assert!((bench.get_state(Mass::V) + 1.2).abs() < 1e-12);
        assert!(bench.get_state(Mass::X) < 0.1);
    }

    #[test]
    fn stops_in_the_wrong_order_are_refused() {
        let wrong = Mass { min_position: 0.2, max_position: 0.1, ..mass() };
        let around = fluxline_core::testing::Surroundings::of::<Mass>(1e-3);
        let refusal = Bench::within(&wrong, &around).map(|_| ()).unwrap_err();
        assert_eq!(refusal.parameter, "max_position");
        assert!(refusal.message.contains("0.1 m") && refusal.message.contains("0.2 m"));
        let weak = Mass {
            friction: FrictionModel::Stribeck,
            coulomb_friction: 10.0,
            static_friction: Some(5.0),
            ..mass()
        };
        let refusal = Bench::within(&weak, &around).map(|_| ()).unwrap_err();
        assert_eq!(refusal.parameter, "static_friction");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        for friction in [
            FrictionModel::None,
            FrictionModel::Coulomb,
            FrictionModel::Stribeck,
            FrictionModel::Lugre,
        ] {
            let [a, b, c, d] = [0.5, 1.0, 2.0, 4.0].map(|f| Mass {
                mass: 20.0 * f,
                damping: 10.0 * f,
                friction,
                coulomb_friction: 50.0 * f,
                static_friction: Some(70.0 * f),
                min_position: -0.02,
                max_position: 0.01 * f,
                restitution: 0.1 * f,
                ..mass()
            });
            assert_lanes_give_the_bits_of_scalars(
                [&a, &b, &c, &d],
                1e-3,
                |noise| Bond {
                    wave: noise.between(-500.0, 500.0),
                    impedance: noise.between(0.0, 1000.0),
                    dry: noise.between(-20.0, 20.0).max(0.0),
                    ..Bond::at_rest(0.0)
                },
                |noise| noise.between(-50.0, 50.0),
            );
        }
    }

    #[test]
    fn a_mass_carries_kinetic_energy() {
        assert_eq!(Mass::ROLE, fluxline_core::component::BalanceRole::Storage);
        let mut bench = Bench::new(&mass(), 1e-3);
        bench.set_state(Mass::V, 3.0);
        assert_eq!(bench.energy(), 225.0);
    }

    proptest! {
        /// The closed form is the generic implicit step, where nothing sticks or stops.
        #[test]
        fn closed_form_equals_the_generic_step(
            ca in -1e4..1e4f64, cb in -1e4..1e4f64, za in 0.0..1e5f64, zb in 0.0..1e5f64,
            v in -2.0..2.0f64, a in -10.0..10.0f64, damping in 0.0..1e3f64, load in -1e3..1e3f64,
            inclination in -1.5..1.5f64,
        ) {
            let component = Mass { damping, inclination, ..mass() };
            let mount = || {
                let mut bench = Bench::new(&component, 1e-3);
                bench.line(Mass::A, ca, za).line(Mass::B, cb, zb).input(Mass::LOAD, load);
                bench.set_state(Mass::V, v).set_state(Mass::X, 0.3);
                bench.set_state(RATE + Mass::V, a).set_state(RATE + Mass::X, v);
                bench
            };
            let (mut closed, mut generic) = (mount(), mount());
            closed.step();
            generic.step_generic();
            for i in 0..6 {
                let (c, g) = (closed.get_state(i), generic.get_state(i));
                prop_assert!((c - g).abs() <= 1e-10 * (1.0 + g.abs()), "state {i}: {c} {g}");
            }
            for port in 0..2 {
                let (c, g) = (closed.effort(port), generic.effort(port));
                prop_assert!((c - g).abs() <= 1e-9 * (1.0 + g.abs()));
            }
        }
    }
}
