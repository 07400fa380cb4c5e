//! Fluxline plot.
