//! Fluxline formats.
