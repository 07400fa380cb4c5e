//! Fluxline's component library, by domain.
//!
//! One component, or one tight family, per file. Each file holds the equations, the declaration and
//! the tests that show the physics to be right.

pub mod friction;
pub mod hydraulic;
pub mod mechanics;
pub mod rotational;
pub mod signal;
mod stops;
pub mod translational;

use fluxline_core::circuit::Registry;

/// All component types of the library.
pub fn registry() -> Registry {
    let others = [translational::TYPES, rotational::TYPES, signal::TYPES];
    Registry::new(hydraulic::TYPES.iter().copied().chain(others).flatten().copied())
}
