//! Oil: volumes and sources, restrictors and valves, machines and actuators.

mod chamber;
pub mod cylinder;
pub mod directional;
pub mod pump;
pub mod relief;
pub mod volume;

use fluxline_core::component::ComponentType;

/// All types of this domain.
pub const TYPES: &[&[ComponentType]] =
    &[cylinder::TYPES, directional::TYPES, pump::TYPES, relief::TYPES, volume::TYPES];
