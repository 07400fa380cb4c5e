//! Linear motion: masses, springs, dampers, levers, sources.

pub mod mass;
pub mod spring;

use fluxline_core::component::ComponentType;

/// The translational components.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<mass::Mass>(), ComponentType::of::<spring::Spring>()];
