//! Signals: sources, arithmetic, filters, control, logic.

pub mod arithmetic;
mod block;
pub mod control;
pub mod display;
pub mod ffb;
pub mod filter;
pub mod function;
pub mod logic;
pub mod lookup;
pub mod navigation;
pub mod noise;
pub mod nonlinear;
pub mod numhop;
pub mod optimization;
pub mod routing;
pub mod source;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] = &[
    arithmetic::TYPES,
    control::TYPES,
    display::TYPES,
    ffb::TYPES,
    filter::TYPES,
    function::TYPES,
    logic::TYPES,
    lookup::TYPES,
    navigation::TYPES,
    nonlinear::TYPES,
    numhop::TYPES,
    optimization::TYPES,
    routing::TYPES,
    source::TYPES,
];
