//! Sums, products and the like.

use crate::same::same_as;
use fluxline_core::component::ComponentType;
use fluxline_library::signal::gain::Gain;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[same_as!(
    "SignalGain",
    Gain,
    "Multiplies a signal by a constant.\n\nout = k·in",
    ["in" = "input", "k" = "gain"]
)];
