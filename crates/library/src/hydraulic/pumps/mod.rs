//! Pumps.

#[cfg(test)]
pub(crate) mod checks;
pub mod compensated;
pub mod driven;
pub mod machine;
pub mod shaft;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<driven::FixedPump>(),
    ComponentType::of::<driven::VariablePump>(),
    ComponentType::of::<compensated::PressureCompensatedPump>(),
    ComponentType::of::<shaft::FixedPumpShaft>(),
    ComponentType::of::<shaft::VariablePumpShaft>(),
];
