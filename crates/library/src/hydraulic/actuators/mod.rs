//! Cylinders and pistons.

pub mod chamber;
pub mod cylinder;
pub mod piston;
#[cfg(test)]
mod tests;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<cylinder::Cylinder>(),
    ComponentType::of::<cylinder::DoubleRodCylinder>(),
    ComponentType::of::<cylinder::SingleActingCylinder>(),
    ComponentType::of::<piston::Piston>(),
];
