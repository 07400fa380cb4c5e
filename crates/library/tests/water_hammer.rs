//! Waves in lines through the whole engine: Joukowsky's pressure rise, the period of a line, and the
//! Helmholtz resonance of a line that ends in a volume.

use fluxline_core::builder::Builder;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{Ended, run};
use fluxline_library::registry;

/// A line from a reservoir to a flow source that begins to push at the first step.
/// Returns times and the pressure rise at the far end.
fn hammer(length: &str, step: f64, stop: f64) -> (Vec<f64>, Vec<f64>) {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.circuit.run.step = step;
    circuit.circuit.run.start_pressure = 100e5;
    circuit.add("reservoir", "hydraulic.pressure_source", &[("pressure", "100 bar")]);
    circuit.add("gate", "hydraulic.flow_source", &[("flow", "10 l/min")]);
    circuit.connect(&["reservoir.port", "gate.outlet"]);
    circuit.line(
        "hydraulic.line",
        &[("length", length), ("bore", "20 mm"), ("start_pressure", "100 bar")],
    );
    let plan = circuit.plan().unwrap();
    let steps = (stop / step).round() as u64;
    let chosen = plan.variables.find("gate.outlet.pressure").unwrap();
    let mut recorder = Recorder::new(vec![chosen], Sampling::Every(1), steps);
    let mut state = plan.initial.clone();
    let outcome = run(&plan, &mut state, steps, &mut recorder, true, |_| true);
    assert_eq!(outcome.ended, Ended::Done);
    let rise = recorder.column("gate.outlet.pressure").unwrap().iter().map(|p| p - 100e5).collect();
    (recorder.times(), rise)
}

const DENSITY: f64 = 870.0;
const BULK_MODULUS: f64 = 1.6e9;

fn sound() -> f64 {
    (BULK_MODULUS / DENSITY).sqrt()
}

#[test]
fn sudden_change_of_flow_raises_pressure_as_joukowsky_says() {
    let (_, rise) = hammer("20 m", 1e-4, 0.01);
    let velocity = 10e-3 / 60.0 / (std::f64::consts::PI / 4.0 * 0.02f64.powi(2));
    let expected = DENSITY * sound() * velocity;
    assert!((rise[1] / expected - 1.0).abs() < 1e-3, "{} {expected}", rise[1]);
    assert!((rise[100] / expected - 1.0).abs() < 1e-3, "holds until the wave returns");
}

#[test]
fn line_rings_with_the_period_of_four_lengths_over_the_speed_of_sound() {
    // 20 m are 147.5 steps of 0.1 ms: the fraction of a step matters
    for length in [20.0, 13.37, 29.9] {
        let step = 1e-4;
        let (times, rise) = hammer(&format!("{length} m"), step, 0.5);
        // times at which the pressure crosses zero upwards, by interpolation
        let crossings: Vec<f64> = (2..rise.len())
            .filter(|&i| rise[i - 1] < 0.0 && rise[i] >= 0.0)
            .map(|i| times[i - 1] + step * rise[i - 1] / (rise[i - 1] - rise[i]))
            .collect();
        let periods = (crossings.len() - 1) as f64;
        let period = (crossings[crossings.len() - 1] - crossings[0]) / periods;
        let expected = 4.0 * length / sound();
        assert!((period - expected).abs() < step, "{length} m: {period} {expected}");
    }
}

/// A volume on a short line: f = a/(2π)·√(A/(V·L)), with the line's own compressibility as V + AL/3.
#[test]
fn line_into_a_volume_is_a_helmholtz_resonator() {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    let step = 2e-5;
    circuit.circuit.run.step = step;
    circuit.circuit.run.start_pressure = 100e5;
    circuit.add("reservoir", "hydraulic.pressure_source", &[("pressure", "100 bar")]);
    circuit.add("vessel", "hydraulic.volume", &[("volume", "2 l"), ("start_pressure", "101 bar")]);
    circuit.connect(&["reservoir.port", "vessel.port"]);
    circuit.line(
        "hydraulic.line",
        &[("length", "1 m"), ("bore", "10 mm"), ("start_pressure", "100 bar")],
    );
    let plan = circuit.plan().unwrap();
    let steps = 100_000;
    let chosen = plan.variables.find("vessel.pressure").unwrap();
    let mut recorder = Recorder::new(vec![chosen], Sampling::Every(1), steps);
    let mut state = plan.initial.clone();
    run(&plan, &mut state, steps, &mut recorder, true, |_| true);
    let rise: Vec<f64> =
        recorder.column("vessel.pressure").unwrap().iter().map(|p| p - 100e5).collect();
    let crossings: Vec<f64> = (2..rise.len())
        .filter(|&i| rise[i - 1] < 0.0 && rise[i] >= 0.0)
        .map(|i| step * (i as f64 - 1.0 + rise[i - 1] / (rise[i - 1] - rise[i])))
        .collect();
    let frequency = (crossings.len() - 1) as f64 / (crossings[crossings.len() - 1] - crossings[0]);
    let area = std::f64::consts::PI / 4.0 * 0.01f64.powi(2);
    let expected =
        sound() / (2.0 * std::f64::consts::PI) * (area / ((2e-3 + area / 3.0) * 1.0)).sqrt();
    assert!((frequency / expected - 1.0).abs() < 5e-3, "{frequency} {expected}");
}
