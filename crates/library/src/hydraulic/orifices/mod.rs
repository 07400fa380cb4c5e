//! Restrictions without moving parts.

pub mod turbulent;
