//! Oil: sources, volumes, lines, orifices, valves, pumps, motors, actuators, sensors.

pub mod actuators;
pub mod directional;
pub mod flow;
pub mod lines;
pub mod motors;
pub mod orifices;
pub mod pumps;
pub mod sensors;
pub mod sources;
pub mod valves;
pub mod volumes;

use fluxline_core::component::ComponentType;

/// The hydraulic components, folder by folder.
pub const TYPES: &[&[ComponentType]] = &[
    sources::TYPES,
    volumes::TYPES,
    lines::TYPES,
    orifices::TYPES,
    valves::TYPES,
    directional::TYPES,
    pumps::TYPES,
    motors::TYPES,
    actuators::TYPES,
    sensors::TYPES,
];
