//! Fluxline units.
