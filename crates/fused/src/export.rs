//! Sources for those who embed a circuit elsewhere.
