//! Rotating inertia.

use crate::friction::{FrictionModel, FrictionParameters};
use crate::mechanics::body::{Body, BodyParameters};
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Refusal};

/// An inertia that rotates about its axis, with viscous and dry friction, end stops and a load.
///
/// J·dω/dt = M_a − M_b − B·ω − M_friction − M_load,  dφ/dt = ω
///
/// Trapezoidal rule, solved with the line ends in closed form; sticking is exact. Dry friction is
/// Coulomb's, Stribeck's (both with the amplitude of the last step's speed) or LuGre. At a stop the
/// inertia keeps the share e of its speed and turns. The rotational twin of `translational.mass`.
#[component("rotational.inertia", q, constants = Body, also = "hopsan:MechanicRotationalInertia")]
pub struct Inertia {
    /// rear end
    #[port(optional, also = "P1")]
    a: Rotational,
    /// front end
    #[port(optional, also = "P2")]
    b: Rotational,
    /// J — moment of inertia [kg*m^2]
    #[parameter(default = "0.1 kg*m^2", min = ">0 kg*m^2", also = "J")]
    pub inertia: f64,
    /// B — viscous friction [N*m*s/rad]
    #[parameter(default = "0 N*m*s/rad", min = "0 N*m*s/rad", also = "B")]
    pub damping: f64,
    /// – — law of dry friction: none, coulomb, stribeck or lugre [–]
    #[parameter(default = "none")]
    pub friction: FrictionModel,
    /// M_c — dry friction in motion [N*m]
    #[parameter(default = "0 N*m", min = "0 N*m")]
    pub coulomb_friction: f64,
    /// M_s — friction at rest; that in motion when not given [N*m]
    #[parameter(min = "0 N*m")]
    pub static_friction: Option<f64>,
    /// ω_s — speed at which the excess at rest has fallen to 1/e [rad/s]
    #[parameter(default = "0.1 rad/s", min = ">0 rad/s")]
    pub stribeck_velocity: f64,
    /// σ₀ — stiffness of the bristles (lugre) [N*m/rad]
    #[parameter(default = "1e4 N*m/rad", min = ">0 N*m/rad")]
    pub bristle_stiffness: f64,
    /// σ₁ — damping of the bristles (lugre) [N*m*s/rad]
    #[parameter(default = "10 N*m*s/rad", min = ">0 N*m*s/rad")]
    pub bristle_damping: f64,
    /// φ_min — rear stop [rad]
    #[parameter(default = "-1e300 rad", also = "a_min")]
    pub min_angle: f64,
    /// φ_max — front stop [rad]
    #[parameter(default = "1e300 rad", also = "a_max")]
    pub max_angle: f64,
    /// e — coefficient of restitution at the stops [–]
    #[parameter(default = 0, min = 0, max = 1)]
    pub restitution: f64,
    /// φ₀ — angle at the start [rad]
    #[parameter(default = "0 rad")]
    pub start_angle: f64,
    /// ω₀ — speed at the start [rad/s]
    #[parameter(default = "0 rad/s")]
    pub start_speed: f64,
    /// M_load — torque against positive motion [N*m]
    #[input(default = "0 N*m")]
    pub load: f64,
    /// φ — angle [rad]
    #[state(start = "start_angle")]
    angle: State,
    /// ω — speed [rad/s]
    #[state(start = "start_speed")]
    speed: State,
    /// z — mean deflection of the bristles (lugre) [rad]
    #[state]
    bristle_deflection: State,
    /// – — steps at a stop [–]
    #[memory(counts = "limit")]
    stopped: Memory,
    /// – — share of dry friction that holds it (lumped solvers) [–]
    #[memory]
    held: Memory,
}

impl Inertia {
    fn kernel(&self, environment: &Environment) -> Result<Body<f64>, Refusal> {
        if self.min_angle >= self.max_angle {
            return Err(Refusal::new(
                "max_angle",
                format!(
                    "the front stop ({} rad) is not in front of the rear stop ({} rad)",
                    self.max_angle, self.min_angle
                ),
                "give max_angle a larger value than min_angle",
            ));
        }
        Body::new(
            &BodyParameters {
                mass: self.inertia,
                damping: self.damping,
                friction: Some(FrictionParameters {
                    model: self.friction,
                    coulomb: self.coulomb_friction,
                    at_rest: self.static_friction,
                    stribeck_velocity: self.stribeck_velocity,
                    bristle_stiffness: self.bristle_stiffness,
                    bristle_damping: self.bristle_damping,
                }),
                stops: Some((self.min_angle, self.max_angle, self.restitution)),
                has_load: true,
                ..Default::default()
            },
            environment,
        )
    }
}

physics_of_kernel!(Inertia, Body);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Bench, Surroundings, assert_lanes_give_the_bits_of_scalars};
    use proptest::prelude::*;

    /// An inertia of 2 kg·m² without friction or stops.
    pub(crate) fn inertia() -> Inertia {
        Inertia {
            inertia: 2.0,
            damping: 0.0,
            friction: FrictionModel::None,
            coulomb_friction: 0.0,
            static_friction: None,
            stribeck_velocity: 0.1,
            bristle_stiffness: 1e4,
            bristle_damping: 10.0,
            min_angle: -1e300,
            max_angle: 1e300,
            restitution: 0.0,
            start_angle: 0.0,
            start_speed: 0.0,
            load: 0.0,
        }
    }

    #[test]
    fn viscous_friction_sets_the_speed() {
        // (M − M_load)/B = (30 − 10)/4
        let mut bench = Bench::new(&Inertia { damping: 4.0, ..inertia() }, 1e-3);
        bench.line(Inertia::A, 30.0, 0.0).input(Inertia::LOAD, 10.0).settle();
        for _ in 0..20_000 {
            bench.step();
        }
        assert!((bench.get_state(Inertia::SPEED) - 5.0).abs() < 1e-12);
        assert_eq!(bench.flow(Inertia::A), -bench.flow(Inertia::B));
    }

    #[test]
    fn a_stop_ends_the_travel() {
        let mut bench = Bench::new(&Inertia { max_angle: 1.0, ..inertia() }, 1e-3);
        bench.set_state(Inertia::SPEED, 10.0);
        for _ in 0..200 {
            bench.step();
        }
        assert_eq!(bench.get_state(Inertia::ANGLE), 1.0);
        assert_eq!(bench.get_state(Inertia::SPEED), 0.0);
        let wrong = Inertia { max_angle: -1e300, ..inertia() };
        let around = Surroundings::of::<Inertia>(1e-3);
        let refusal = Bench::within(&wrong, &around).map(|_| ()).unwrap_err();
        assert_eq!(refusal.parameter, "max_angle");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let [a, b, c, d] = [0.5, 1.0, 2.0, 4.0].map(|f| Inertia {
            inertia: f,
            friction: FrictionModel::Stribeck,
            coulomb_friction: f,
            static_friction: Some(2.0 * f),
            max_angle: 0.1 * f,
            restitution: 0.1 * f,
            ..inertia()
        });
        assert_lanes_give_the_bits_of_scalars(
            [&a, &b, &c, &d],
            1e-3,
            |noise| Bond {
                wave: noise.between(-500.0, 500.0),
                impedance: noise.between(0.0, 10.0),
                dry: noise.between(-2.0, 2.0).max(0.0),
                ..Bond::at_rest(0.0)
            },
            |noise| noise.between(-5.0, 5.0),
        );
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_generic_step(
            ca in -1e3..1e3f64, cb in -1e3..1e3f64, za in 0.0..1e3f64, zb in 0.0..1e3f64,
            speed in -100.0..100.0f64, damping in 0.0..10f64, load in -1e2..1e2f64,
        ) {
            let component = Inertia { damping, ..inertia() };
            let mount = || {
                let mut bench = Bench::new(&component, 1e-3);
                bench.line(Inertia::A, ca, za).line(Inertia::B, cb, zb).input(Inertia::LOAD, load);
                bench.set_state(Inertia::SPEED, speed).settle();
                bench
            };
            let (mut closed, mut generic) = (mount(), mount());
            closed.step();
            generic.step_generic();
            for i in 0..6 {
                let (c, g) = (closed.get_state(i), generic.get_state(i));
                prop_assert!((c - g).abs() <= 1e-9 * (1.0 + g.abs()), "state {i}: {c} {g}");
            }
        }
    }
}
