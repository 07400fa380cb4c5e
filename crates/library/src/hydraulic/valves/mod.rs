//! Valves for pressure, flow and direction of flow.

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] = &[];
