//! Oil: volumes and sources, restrictors and valves, machines and actuators.

pub mod check;
pub mod directional;
pub mod restrictor;
pub mod sensor;
pub mod source;
pub mod volume;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    check::TYPES,
    directional::TYPES,
    restrictor::TYPES,
    sensor::TYPES,
    source::TYPES,
    volume::TYPES,
];
