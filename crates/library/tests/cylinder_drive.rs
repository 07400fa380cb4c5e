//! Hoses, accumulator, cylinder and sensors through plan and engine.

use fluxline_core::builder::Builder;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{Ended, run};
use fluxline_core::values::Rules;
use fluxline_library::{hydraulic, registry};

#[test]
fn declared_units_ranges_and_defaults_are_sound() {
    for entry in hydraulic::TYPES.iter().copied().flatten() {
        if let Err(problem) = Rules::of(entry.declaration) {
            panic!("{}: {problem}", entry.declaration.name);
        }
    }
}

/// A flow source feeds a cylinder through a hose with an accumulator; a mass hangs on the rod.
#[test]
fn fed_cylinder_moves_with_the_flow_and_keeps_the_oil() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    let step = 1e-4;
    circuit.circuit.run.step = step;
    circuit.circuit.run.start_pressure = 20e5;
    circuit.add("source", "hydraulic.flow_source", &[("flow", "20 l/min")]);
    circuit.add("feed", "hydraulic.flow_sensor", &[]);
    circuit.add("neck", "hydraulic.turbulent_orifice", &[("area", "20 mm^2")]);
    let gas = &[("gas_volume", "0.1 l"), ("precharge", "10 bar"), ("start_pressure", "20 bar")];
    circuit.add("bottle", "hydraulic.accumulator", gas);
    circuit.add("cylinder", "hydraulic.cylinder", &[("viscous_friction", "2000 N*s/m")]);
    circuit.add("load", "translational.mass", &[("mass", "200 kg"), ("start_position", "20 mm")]);
    circuit.add("back", "hydraulic.turbulent_orifice", &[("area", "4 mm^2")]);
    circuit.add("tank", "hydraulic.tank", &[]);
    circuit.add("gauge", "hydraulic.pressure_sensor", &[("time_constant", "5 ms")]);
    circuit.connect(&["source.outlet", "feed.a", "neck.inlet"]);
    circuit.line("hydraulic.hose", &[("length", "1.5 m"), ("friction", "frequency_dependent")]);
    circuit.connect(&["neck.outlet", "bottle.port"]);
    circuit.connect(&["feed.b", "cylinder.a"]);
    circuit.connect(&["cylinder.rod", "load.a"]);
    circuit.connect(&["cylinder.b", "back.inlet"]);
    circuit.connect(&["back.outlet", "tank.port"]);
    circuit.connect(&["gauge.port", "feed.b"]);
    let plan = circuit.plan().unwrap_or_else(|e| panic!("{e}"));
    let steps = 24_000;
    let mut recorder = Recorder::new(plan.variables.iter().collect(), Sampling::Every(1), steps);
    let mut state = plan.initial.clone();
    let outcome = run(&plan, &mut state, steps, &mut recorder, true, |_| true);
    assert_eq!(outcome.ended, Ended::Done);
    let column = |name: &str| recorder.column(name).unwrap_or_else(|| panic!("no variable {name}"));
    let last = |name: &str| column(name)[steps as usize];
    // Without losses in the sensor small waves stay: means over the last 0.2 s.
    let mean = |name: &str| column(name)[steps as usize - 1999..].iter().sum::<f64>() / 2000.0;
    let flow = 20e-3 / 60.0;
    let area = std::f64::consts::FRAC_PI_4 * 0.05 * 0.05;
    assert!((mean("load.v") / (flow / area) - 1.0).abs() < 1e-3, "{}", mean("load.v"));
    assert!((mean("feed.out") / flow - 1.0).abs() < 1e-3, "{}", mean("feed.out"));
    assert!((mean("gauge.out") / mean("cylinder.pressure_a") - 1.0).abs() < 1e-3);
    // the cylinder acts before the body: its position output is foreseen from the last velocity
    let (own, body) = (last("cylinder.x"), last("load.x"));
    assert!((own - body).abs() < 1e-7, "{own} {body}");
    assert!(outcome.verdict.relative_oil_error() < 1e-12, "{:?}", outcome.verdict);
    let verdict = &outcome.verdict;
    assert!(verdict.limits.is_empty() && verdict.unconverged.is_none(), "{verdict:?}");
}
