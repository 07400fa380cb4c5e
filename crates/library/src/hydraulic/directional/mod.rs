//! Directional valves: spools that connect ports.

pub mod edges;
pub mod spool;
pub mod valves;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<valves::Valve22>(),
    ComponentType::of::<valves::Valve32>(),
    ComponentType::of::<valves::Valve33>(),
    ComponentType::of::<valves::Valve42>(),
    ComponentType::of::<valves::Valve43>(),
];
