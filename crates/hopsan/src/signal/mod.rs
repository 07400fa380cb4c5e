//! Signals: sources, arithmetic, filters, control, logic.

pub mod arithmetic;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[arithmetic::TYPES];
