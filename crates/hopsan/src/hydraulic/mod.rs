//! Oil: volumes and sources, restrictors and valves, machines and actuators.

pub mod accumulator;
pub mod centrifugal;
mod chamber;
pub mod check;
pub mod cylinder;
pub mod directional;
pub mod g_orifices;
pub mod g_pump;
pub mod g_spools;
pub mod g_valves;
pub mod line;
pub mod machine_parts;
pub mod motor;
pub mod pilot_operated;
pub mod piston_load;
pub mod pressure_valves;
pub mod pump;
pub mod relief;
pub mod restrictor;
pub mod sensor;
pub mod separate_edges;
pub mod shuttle;
pub mod source;
pub mod spool;
pub mod volume;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    accumulator::TYPES,
    centrifugal::TYPES,
    check::TYPES,
    cylinder::TYPES,
    directional::TYPES,
    g_orifices::TYPES,
    g_pump::TYPES,
    g_spools::TYPES,
    g_valves::TYPES,
    line::TYPES,
    machine_parts::TYPES,
    motor::TYPES,
    pilot_operated::TYPES,
    piston_load::TYPES,
    pressure_valves::TYPES,
    pump::TYPES,
    relief::TYPES,
    restrictor::TYPES,
    sensor::TYPES,
    separate_edges::TYPES,
    shuttle::TYPES,
    source::TYPES,
    volume::TYPES,
];
