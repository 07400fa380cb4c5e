//! Motion: masses and inertias, springs and shafts, sources.

mod body;
pub mod friction;
pub mod gear;
pub mod inertia;
pub mod link;
pub mod load;
pub mod mass;
pub mod sensor;
pub mod source;
pub mod spring;
pub mod vehicle;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    friction::TYPES,
    gear::TYPES,
    inertia::TYPES,
    link::TYPES,
    load::TYPES,
    mass::TYPES,
    sensor::TYPES,
    source::TYPES,
    spring::TYPES,
    vehicle::TYPES,
];

#[cfg(test)]
mod tests {
    use fluxline_core::component::Physics;
    use fluxline_core::declare::{Kind, Value};
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Noise, assert_lanes_give_the_bits_of_scalars};

    /// Solved to convergence, and where it is implicit in Hopsan's iterations.
    fn lanes_agree<M: Physics>() {
        lanes_agree_in::<M>(0);
        if M::DECLARATION.parameter("iterations").is_some() {
            lanes_agree_in::<M>(2);
        }
    }

    /// Four components with parameters of their own, under waves that stop, free and turn them.
    fn lanes_agree_in<M: Physics>(iterations: usize) {
        let component = |lane: usize| {
            let value = |(i, parameter): (usize, &fluxline_core::declare::Parameter)| {
                match parameter.kind {
                    Kind::Quantity => Value::Number(0.5 + 0.1 * (lane + i) as f64),
                    Kind::Integer => Value::Number(iterations as f64),
                    _ => Value::Switch(lane.is_multiple_of(2)),
                }
            };
            M::from_values(
                &M::DECLARATION.parameters.iter().enumerate().map(value).collect::<Vec<_>>(),
            )
            .unwrap()
        };
        let [a, b, c, d] = [0, 1, 2, 3].map(component);
        let line_end = |noise: &mut Noise| Bond {
            flow: noise.between(-1.0, 1.0),
            effort: 0.0,
            wave: noise.between(-40.0, 40.0),
            impedance: noise.between(1.0, 9.0),
            displacement: noise.between(-0.1, 0.1),
            dry: 1.0,
        };
        let input = |noise: &mut Noise| noise.between(0.4, 1.5);
        assert_lanes_give_the_bits_of_scalars([&a, &b, &c, &d], 1e-2, line_end, input);
    }

    #[test]
    fn lanes_of_moving_parts_give_the_bits_of_scalars() {
        lanes_agree::<super::mass::TranslationalMass>();
        lanes_agree::<super::inertia::RotationalInertia>();
        lanes_agree::<super::inertia::WormDrive>();
        lanes_agree::<super::friction::MassWithCoulombFriction>();
        lanes_agree::<super::friction::InertiaWithCoulombFriction>();
        lanes_agree::<super::load::MassSpringLoad>();
        lanes_agree::<super::load::TwoMassLoad>();
        lanes_agree::<super::gear::Gear>();
        lanes_agree::<super::gear::GearClutch>();
        lanes_agree::<super::gear::BallScrew>();
        lanes_agree::<super::source::FreeLengthWall>();
        lanes_agree::<super::spring::SpringWithSlack>();
        lanes_agree::<super::spring::GearShaft>();
        lanes_agree::<super::vehicle::Vehicle>();
    }
}
