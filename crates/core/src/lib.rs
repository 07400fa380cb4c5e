//! Fluxline core.
