//! Oil: volumes and sources, restrictors and valves, machines and actuators.

pub mod directional;
pub mod volume;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[directional::TYPES, volume::TYPES];
