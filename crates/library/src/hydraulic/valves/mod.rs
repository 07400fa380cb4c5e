//! Valves for pressure, flow and direction of flow.

pub mod check;
pub mod compensator;
pub mod counterbalance;
pub mod reducing;
pub mod relief;
pub mod relief_spool;
pub mod shuttle;
pub mod unloading;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<check::CheckValve>(),
    ComponentType::of::<check::PilotCheckValve>(),
    ComponentType::of::<relief::ReliefValve>(),
    ComponentType::of::<relief_spool::ReliefValveSpool>(),
    ComponentType::of::<unloading::UnloadingValve>(),
    ComponentType::of::<compensator::PressureCompensator>(),
    ComponentType::of::<counterbalance::CounterbalanceValve>(),
    ComponentType::of::<reducing::PressureReducingValve>(),
    ComponentType::of::<shuttle::ShuttleValve>(),
];
