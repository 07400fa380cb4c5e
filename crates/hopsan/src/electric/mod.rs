//! Electricity: elements, sources, converters and machines.
//!
//! Voltage is the effort and current the flow: u = c + Z·i, with i out of the Q-component.

pub mod converters;
pub mod elements;
pub mod machines;
pub mod sensors;
pub mod sources;

use fluxline_core::component::{ComponentType, Step};
use fluxline_core::number::Num;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] =
    &[converters::TYPES, elements::TYPES, machines::TYPES, sensors::TYPES, sources::TYPES];

/// Sends a current from one port to another and sets both voltages.
#[inline(always)]
fn pass_current<T: Num>(io: &mut Step<'_, T>, from: usize, to: usize, current: T) {
    io.set_flow(from, -current);
    io.set_flow(to, current);
}
