//! Motors.

pub mod divider;
pub mod motor;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<motor::FixedMotor>(),
    ComponentType::of::<motor::VariableMotor>(),
    ComponentType::of::<divider::FlowDivider>(),
];
