//! Rotation: inertias, shafts, gears, clutches, sources.

use fluxline_core::component::ComponentType;

/// The rotational components.
pub const TYPES: &[ComponentType] = &[];
