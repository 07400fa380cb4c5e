//! Oil: volumes and sources, restrictors and valves, machines and actuators.

pub mod accumulator;
mod chamber;
pub mod check;
pub mod cylinder;
pub mod directional;
pub mod line;
pub mod pilot_operated;
pub mod pump;
pub mod relief;
pub mod restrictor;
pub mod source;
pub mod spool;
pub mod volume;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    accumulator::TYPES,
    check::TYPES,
    cylinder::TYPES,
    directional::TYPES,
    line::TYPES,
    pilot_operated::TYPES,
    pump::TYPES,
    relief::TYPES,
    restrictor::TYPES,
    source::TYPES,
    volume::TYPES,
];
