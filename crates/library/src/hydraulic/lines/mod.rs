//! Pipes and hoses.

pub mod friction;
pub mod hose;
pub mod line;
pub mod pipe;
#[cfg(test)]
mod tests;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<line::Line>(), ComponentType::of::<hose::Hose>()];
