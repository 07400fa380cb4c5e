//! Motion: masses and inertias, springs and shafts, sources.

mod body;
pub mod friction;
pub mod gear;
pub mod inertia;
pub mod link;
pub mod load;
pub mod mass;
pub mod sensor;
pub mod source;
pub mod spring;
pub mod vehicle;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    friction::TYPES,
    gear::TYPES,
    inertia::TYPES,
    link::TYPES,
    load::TYPES,
    mass::TYPES,
    sensor::TYPES,
    source::TYPES,
    spring::TYPES,
    vehicle::TYPES,
];
