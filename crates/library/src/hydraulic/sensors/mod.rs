//! Hydraulic sensors.

pub mod flow;
pub mod pressure;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<pressure::PressureSensor>(),
    ComponentType::of::<pressure::DifferentialPressureSensor>(),
    ComponentType::of::<flow::FlowSensor>(),
    ComponentType::of::<flow::FlowProbe>(),
];
