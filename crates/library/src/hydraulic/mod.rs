//! Oil: sources, volumes, lines, orifices, valves, pumps, motors, actuators, sensors.

pub mod orifices;
pub mod sources;
pub mod volumes;

use fluxline_core::component::ComponentType;

/// The hydraulic components.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<sources::Tank>(),
    ComponentType::of::<sources::PressureSource>(),
    ComponentType::of::<sources::FlowSource>(),
    ComponentType::of::<volumes::volume::Volume>(),
    ComponentType::of::<orifices::turbulent::TurbulentOrifice>(),
];
