//! Signals: sources, arithmetic, filters, control, logic.

pub mod arithmetic;
pub mod navigation;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[arithmetic::TYPES, navigation::TYPES];
