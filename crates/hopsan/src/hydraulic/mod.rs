//! Oil: volumes and sources, restrictors and valves, machines and actuators.

mod chamber;
pub mod check;
pub mod cylinder;
pub mod directional;
pub mod pilot_operated;
pub mod pump;
pub mod relief;
pub mod restrictor;
pub mod sensor;
pub mod source;
pub mod spool;
pub mod volume;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    check::TYPES,
    cylinder::TYPES,
    directional::TYPES,
    pilot_operated::TYPES,
    pump::TYPES,
    relief::TYPES,
    restrictor::TYPES,
    sensor::TYPES,
    source::TYPES,
    volume::TYPES,
];
