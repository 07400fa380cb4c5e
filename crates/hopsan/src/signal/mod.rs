//! Signals: sources, arithmetic, filters, control, logic.

pub mod arithmetic;
pub mod control;
pub mod ffb;
pub mod filter;
pub mod nonlinear;
pub mod numhop;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    arithmetic::TYPES,
    control::TYPES,
    ffb::TYPES,
    filter::TYPES,
    nonlinear::TYPES,
    numhop::TYPES,
];
