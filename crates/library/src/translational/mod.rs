//! Linear motion: masses, springs, dampers, levers, sources, sensors.

pub mod backlash;
pub mod damper;
pub mod end_stop;
pub mod lever;
pub mod mass;
pub mod sensors;
pub mod sources;
pub mod spring;
pub mod spring_damper;

use fluxline_core::component::ComponentType;

/// The translational components.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<mass::Mass>(),
    ComponentType::of::<spring::Spring>(),
    ComponentType::of::<spring_damper::SpringDamper>(),
    ComponentType::of::<damper::Damper>(),
    ComponentType::of::<backlash::Backlash>(),
    ComponentType::of::<end_stop::EndStop>(),
    ComponentType::of::<lever::Lever>(),
    ComponentType::of::<sources::ForceSource>(),
    ComponentType::of::<sources::VelocitySource>(),
    ComponentType::of::<sources::PositionSource>(),
    ComponentType::of::<sources::Fixed>(),
    ComponentType::of::<sensors::PositionSensor>(),
    ComponentType::of::<sensors::VelocitySensor>(),
    ComponentType::of::<sensors::ForceSensor>(),
];
