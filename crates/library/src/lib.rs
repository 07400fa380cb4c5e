//! Fluxline library.
