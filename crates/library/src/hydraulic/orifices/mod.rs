//! Restrictions without moving parts.

pub mod turbulent;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] = &[ComponentType::of::<turbulent::TurbulentOrifice>()];
