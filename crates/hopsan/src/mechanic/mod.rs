//! Motion: masses and inertias, springs and shafts, sources.

pub mod mass;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[mass::TYPES];
