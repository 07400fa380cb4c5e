//! Signals: sources, arithmetic, filters, control, logic.

pub mod arithmetic;
mod block;
pub mod display;
pub mod function;
pub mod logic;
pub mod lookup;
pub mod noise;
pub mod optimization;
pub mod routing;
pub mod source;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    arithmetic::TYPES,
    display::TYPES,
    function::TYPES,
    logic::TYPES,
    lookup::TYPES,
    optimization::TYPES,
    routing::TYPES,
    source::TYPES,
];
