//! Temperature carried by the oil, against the energy equation.

use fluxline_core::builder::Builder;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::run;
use fluxline_library::registry;

#[test]
fn throttling_warms_oil_by_the_pressure_drop_over_its_heat_capacity() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    let fluid = &mut circuit.circuit.fluids[0];
    fluid.carries_temperature = true;
    fluid.viscosity_point = Some((373.15, 8e-6));
    let (start, per_kelvin) = (fluid.temperature, fluid.density * fluid.heat_capacity);
    circuit.add("source", "hydraulic.pressure_source", &[("pressure", "200 bar")]);
    circuit.add("first", "hydraulic.turbulent_orifice", &[("area", "5 mm^2")]);
    circuit.add("vessel", "hydraulic.volume", &[("volume", "0.2 l")]);
    circuit.add("second", "hydraulic.turbulent_orifice", &[("area", "5 mm^2")]);
    circuit.add("tank", "hydraulic.tank", &[("pressure", "0 bar")]);
    circuit.connect(&["source.port", "first.inlet"]).connect(&["first.outlet", "vessel.port"]);
    circuit.connect(&["vessel.port", "second.inlet"]).connect(&["second.outlet", "tank.port"]);
    let plan = circuit.plan().unwrap();
    let temperature = plan.variables.find("vessel.port1.temperature").unwrap();
    let mut recorder = Recorder::new(vec![temperature], Sampling::Even(1000), 50_000);
    let mut state = plan.initial.clone();
    run(&plan, &mut state, 50_000, &mut recorder, true, |_| true);
    let warm = recorder.column("vessel.port1.temperature").unwrap();
    assert_eq!(warm[0], start);
    // Half of the drop is over the first orifice: ρ·c_p·ΔT = Δp.
    let expected = start + 100e5 / per_kelvin;
    assert!((warm[999] - expected).abs() < 1e-3 * (expected - start), "{} {expected}", warm[999]);
    // Mixing: after one exchange of its content a vessel has taken 1 − 1/e of the rise.
    let flow = 0.67 * 5e-6 * (2.0 * 100e5 / 870.0f64).sqrt();
    let at = (0.2e-3 / flow / 5.0 * 999.0).round() as usize;
    let part = (warm[at] - start) / (expected - start);
    assert!((part - (1.0 - (-1.0f64).exp())).abs() < 0.02, "{part}");
    let bond = plan.variables.entries[2].bonds[0] as usize;
    assert!(state.viscosity[bond] < 30e-6, "warm oil is thin");
}
