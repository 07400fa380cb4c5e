//! Oil under pressure: plain volumes and accumulators.

pub mod accumulator;
pub mod volume;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<volume::Volume>(), ComponentType::of::<accumulator::Accumulator>()];
