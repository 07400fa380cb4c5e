//! Fluxline macros.
