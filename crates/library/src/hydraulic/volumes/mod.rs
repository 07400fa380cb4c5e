//! Oil under pressure: plain volumes and accumulators.

pub mod volume;
