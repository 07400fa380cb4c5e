//! Rotation: inertias, shafts, gears, clutches, sources, sensors.

pub mod backlash;
pub mod clutch;
pub mod damper;
pub mod gear;
pub mod inertia;
pub mod rack_pinion;
pub mod sensors;
pub mod shaft;
pub mod sources;

use fluxline_core::component::ComponentType;

/// The rotational components.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<inertia::Inertia>(),
    ComponentType::of::<shaft::Shaft>(),
    ComponentType::of::<damper::Damper>(),
    ComponentType::of::<gear::Gear>(),
    ComponentType::of::<rack_pinion::RackPinion>(),
    ComponentType::of::<backlash::Backlash>(),
    ComponentType::of::<clutch::Clutch>(),
    ComponentType::of::<clutch::Brake>(),
    ComponentType::of::<sources::TorqueSource>(),
    ComponentType::of::<sources::SpeedSource>(),
    ComponentType::of::<sources::Fixed>(),
    ComponentType::of::<sensors::AngleSensor>(),
    ComponentType::of::<sensors::SpeedSensor>(),
    ComponentType::of::<sensors::TorqueSensor>(),
];
