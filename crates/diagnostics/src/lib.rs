//! Fluxline diagnostics.
