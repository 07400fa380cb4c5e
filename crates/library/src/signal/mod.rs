//! Signals: sources, arithmetic, dynamics, controllers, logic.

pub mod gain;
pub mod step;

use fluxline_core::component::ComponentType;

/// The signal components.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<gain::Gain>(), ComponentType::of::<step::Step>()];
