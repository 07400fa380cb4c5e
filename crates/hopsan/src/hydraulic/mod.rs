//! Oil: volumes and sources, restrictors and valves, machines and actuators.

mod chamber;
pub mod check;
pub mod cylinder;
pub mod directional;
pub mod machine_parts;
pub mod motor;
pub mod pump;
pub mod relief;
pub mod restrictor;
pub mod source;
pub mod volume;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    check::TYPES,
    cylinder::TYPES,
    directional::TYPES,
    machine_parts::TYPES,
    motor::TYPES,
    pump::TYPES,
    relief::TYPES,
    restrictor::TYPES,
    source::TYPES,
    volume::TYPES,
];
