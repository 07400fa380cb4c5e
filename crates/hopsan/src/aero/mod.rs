//! Flight: aircraft and their engines, the air around them.

pub mod air;
pub mod aircraft;
pub mod body;
pub mod engines;
pub mod recorder;
pub mod rocket;
pub mod turbulence;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    air::TYPES,
    aircraft::TYPES,
    engines::TYPES,
    recorder::TYPES,
    rocket::TYPES,
    turbulence::TYPES,
];
