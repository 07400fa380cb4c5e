//! Gas: sources, volumes, orifices, machines and sensors.
//!
//! A bond carries pressure as effort and energy flow as flow, p = c + Z·Ė; beside them mass flow in
//! `displacement` and temperature in `dry`. C-components set the temperature, Q-components the mass
//! flow.

pub mod machine;
pub mod orifice;
pub mod sensors;
pub mod sources;
pub mod volume;

use fluxline_core::component::{ComponentType, Step};
use fluxline_core::number::Num;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] =
    &[machine::TYPES, orifice::TYPES, sensors::TYPES, sources::TYPES, volume::TYPES];

/// Writes energy flow, mass flow and pressure at a port.
#[inline(always)]
fn set_gas<T: Num>(io: &mut Step<'_, T>, port: usize, energy: T, mass: T, pressure: T) {
    let bond = io.bond_mut(port);
    bond.flow = energy;
    bond.displacement = mass;
    bond.effort = pressure;
}
