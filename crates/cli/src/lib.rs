//! Fluxline as a library: open a circuit, run it, judge it.
