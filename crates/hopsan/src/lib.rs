//! Component types that behave as those of the simulator Hopsan, step by step.
//!
//! An imported model must give the results its owner knows. Where a component of Fluxline's own
//! library computes the same, the importer uses it; where Hopsan discretises, starts or cavitates in
//! another way, the type is here, under Hopsan's own name with its names of ports and parameters
//! (`hopsan.HydraulicCylinderC`, `A_1`, `P3`), so that its users recognise it. These types are
//! defined by their step and have no continuous law: the wave method runs them.
//!
//! What all of them share, and the building blocks they are made of, is in [`blocks`].

pub mod aero;
pub mod blocks;
pub mod connectivity;
pub mod electric;
pub mod held;
pub mod hydraulic;
pub mod mechanic;
pub mod pneumatic;
mod same;
pub mod signal;
pub mod special;
#[cfg(test)]
mod testing;

use fluxline_core::component::ComponentType;

/// All types, for a registry.
pub fn types() -> impl Iterator<Item = ComponentType> {
    let all: &[&[&[ComponentType]]] = &[
        aero::TYPES,
        connectivity::TYPES,
        electric::TYPES,
        hydraulic::TYPES,
        mechanic::TYPES,
        pneumatic::TYPES,
        signal::TYPES,
        special::TYPES,
    ];
    all.iter().copied().flatten().copied().flatten().copied()
}

#[cfg(test)]
mod tests {
    #[test]
    fn units_and_defaults_of_every_type_can_be_read() {
        for kind in super::types() {
            let rules = fluxline_core::values::Rules::of(kind.declaration);
            assert!(rules.is_ok(), "{}: {:?}", kind.declaration.name, rules.err());
        }
    }

    /// Who is not called in a step would not have done anything.
    #[test]
    fn idle_types_leave_the_state_as_it_is() {
        fn check<M: fluxline_core::component::Physics>() {
            assert!(M::IS_IDLE, "{}", M::DECLARATION.name);
            let mut bench = super::testing::bench::<M>(1e-3, &[]);
            bench.start();
            let before = bench.state.clone();
            bench.step();
            assert_eq!(bench.state.bonds, before.bonds, "{}", M::DECLARATION.name);
            assert_eq!(bench.state.signals, before.signals, "{}", M::DECLARATION.name);
            assert_eq!(bench.state.states, before.states, "{}", M::DECLARATION.name);
        }
        check::<super::hydraulic::source::TankC>();
        check::<super::hydraulic::source::MultiTankC>();
        check::<super::signal::source::Constant>();
        check::<super::signal::source::Sink>();
        check::<super::signal::source::Logger>();
        check::<super::signal::display::Gauge>();
        check::<super::signal::display::Lamp>();
        check::<super::signal::display::Switch>();
        check::<super::signal::display::Display>();
        check::<super::signal::display::NumericalInput>();
        check::<super::aero::recorder::FlightRecorder>();
    }

    #[test]
    fn a_library_type_under_another_name_has_its_names_and_values() {
        let gain = super::types().find(|t| t.declaration.name == "hopsan.SignalGain").unwrap();
        let names: Vec<_> = gain.declaration.parameters.iter().map(|p| p.name).collect();
        assert_eq!(names, ["in", "k"]);
        assert_eq!(gain.declaration.outputs[0].name, "out");
        assert!(
            (gain.build)(&[
                fluxline_core::declare::Value::Number(1.0),
                fluxline_core::declare::Value::Number(2.0)
            ])
            .is_some()
        );
    }
}
