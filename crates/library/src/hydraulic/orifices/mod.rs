//! Restrictions without moving parts, and those that a signal sets.

pub mod filter;
pub mod laminar;
pub mod orifice;
pub mod turbulent;
pub mod variable;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<turbulent::TurbulentOrifice>(),
    ComponentType::of::<laminar::LaminarOrifice>(),
    ComponentType::of::<orifice::Orifice>(),
    ComponentType::of::<variable::VariableOrifice>(),
    ComponentType::of::<filter::Filter>(),
];
