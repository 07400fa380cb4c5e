//! Valves for pressure, flow and direction of flow.

pub mod check;
pub mod compensator;
pub mod counterbalance;
pub mod flow_control;
pub mod reducing;
pub mod relief;
pub mod relief_spool;
pub mod section_compensator;
pub mod shuttle;
pub mod unloading;

use fluxline_core::component::ComponentType;

/// The component types of this folder.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<check::CheckValve>(),
    ComponentType::of::<check::PilotCheckValve>(),
    ComponentType::of::<relief::ReliefValve>(),
    ComponentType::of::<relief_spool::ReliefValveSpool>(),
    ComponentType::of::<unloading::UnloadingValve>(),
    ComponentType::of::<compensator::PressureCompensator>(),
    ComponentType::of::<section_compensator::SectionCompensator>(),
    ComponentType::of::<counterbalance::CounterbalanceValve>(),
    ComponentType::of::<flow_control::FlowControlValve>(),
    ComponentType::of::<reducing::PressureReducingValve>(),
    ComponentType::of::<shuttle::ShuttleValve>(),
];

#[cfg(test)]
mod tests {
    use crate::hydraulic::{orifices, valves};
    use fluxline_core::declare::Value;
    use fluxline_core::values::Rules;

    #[test]
    fn every_restriction_has_readable_units_and_defaults_within_its_ranges() {
        for component in orifices::TYPES.iter().chain(valves::TYPES) {
            let declaration = component.declaration;
            let rules = Rules::of(declaration).unwrap();
            for (rule, parameter) in rules.parameters.iter().zip(declaration.parameters) {
                if let Value::Number(x) = rule.default {
                    assert_eq!(rule.beyond(x), None, "{}.{}", declaration.name, parameter.name);
                }
            }
        }
    }
}
