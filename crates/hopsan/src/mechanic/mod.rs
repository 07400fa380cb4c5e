//! Motion: masses and inertias, springs and shafts, sources.

#[allow(dead_code, reason = "some recursions wait for their components")]
mod body;
pub mod friction;
pub mod inertia;
pub mod mass;
pub mod sensor;
pub mod source;
pub mod spring;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] =
    &[friction::TYPES, inertia::TYPES, mass::TYPES, sensor::TYPES, source::TYPES, spring::TYPES];
