//! The filters of lumped lines: as integrators, and by the parasitic pressure they leave.

use super::relief_line::simulate;
use super::{Band, Case, Extent, Figure, Origin, broken};
use fluxline_core::builder::Builder;
use fluxline_core::circuit::Registry;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::run;
use fluxline_core::settings::FilterKind;
use fluxline_diagnostics::Diagnostics;

/// Sections 2.3.3 and 6.2.1 and Appendix B.
pub const CASE: Case = Case {
    name: "tlm/filters",
    title: "Wave filter and pressure filter: parasitic pressure, and as integrators",
    source: "Pollmeier, thesis, University of Bath, equations 2.25–2.27, 6.1–6.5, Appendix B (B7 \
             corrected)",
    run: figures,
};

const ALPHA: f64 = 0.2;

/// Largest parasitic pressure after opening, bar, for the relief valve on a line: step, then without
/// filter, wave filter, pressure filter.
const PARASITIC: [(f64, [f64; 3]); 3] =
    [(1e-5, [0.0029, 0.0026, 0.0023]), (1e-4, [0.037, 0.050, 0.048]), (1e-3, [0.43, 0.59, 0.56])];

const FILTERS: [(FilterKind, &str); 3] = [
    (FilterKind::None, "without filter"),
    (FilterKind::Wave, "wave filter"),
    (FilterKind::Pressure, "pressure filter"),
];

fn figures(extent: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let registry = extent.registry;
    let mut all = Vec::new();
    for (step, published) in PARASITIC {
        for ((filter, name), reference) in FILTERS.into_iter().zip(published) {
            let trace = simulate(registry, step, filter)?;
            all.push(Figure {
                quantity: format!("parasitic pressure, {name}, at {} ms", step * 1e3),
                reference: Some(reference),
                origin: Origin::Published,
                ours: trace.parasitic() / 1e5,
                unit: "bar",
                // Two digits are published: half of the last one, or 5 % where that is more.
                band: Band::Absolute((0.05 * reference).max(0.00005)),
            });
        }
    }
    // As difference equations in powers of e^(−sT), multiplied through by (1 − α·e^(−sT))².
    let (a, g) = (ALPHA, 1.0 - ALPHA);
    let denominator = [1.0, -2.0 * a, a * a - g * g, 0.0];
    let wave = [1.0, -2.0 * a, a * a + g * g, 0.0];
    let pressure = [1.0, -2.0 * a, a * a + g, -a * g];
    for (filter, numerator, name) in
        [(FilterKind::Wave, wave, "(B6)"), (FilterKind::Pressure, pressure, "(B7), corrected")]
    {
        all.push(Figure {
            quantity: format!("largest deviation from {name}, relative"),
            reference: Some(0.0),
            origin: Origin::ClosedForm,
            ours: deviation(registry, filter, &numerator, &denominator)?,
            unit: "–",
            band: Band::Absolute(1e-10),
        });
    }
    Ok(all)
}

/// A line with a pulsating flow into one end and the other blocked, against Z'·numerator/denominator.
fn deviation(
    registry: &Registry,
    filter: FilterKind,
    numerator: &[f64],
    denominator: &[f64],
) -> Result<f64, Diagnostics> {
    const STEP: f64 = 1e-3;
    const STEPS: usize = 500;
    // High enough that the store never empties.
    const BASE: f64 = 1e8;
    let mut circuit = Builder::new(registry);
    let settings = &mut circuit.circuit;
    (settings.run.step, settings.run.filter, settings.run.start_pressure) = (STEP, filter, BASE);
    settings.run.filter_factor = ALPHA;
    circuit.add("pulse", "signal.sine", &[("amplitude", "1e-4"), ("frequency", "111 Hz")]);
    circuit.add("pump", "hydraulic.flow_source", &[]);
    circuit.add("plug", "hydraulic.flow_source", &[("flow", "0 l/min")]);
    circuit.drive("pulse.out", "pump.flow").connect(&["pump.outlet", "plug.outlet"]);
    circuit.line("hydraulic.volume", &[("volume", "1 l")]);
    let plan = circuit.plan().map_err(broken)?;
    let names = ["pump.outlet.pressure", "pump.outlet.flow"];
    let variables = names.iter().filter_map(|n| plan.variables.find(n)).collect();
    let mut recorder = Recorder::new(variables, Sampling::Every(1), STEPS as u64);
    let mut state = plan.initial.clone();
    run(&plan, &mut state, STEPS as u64, &mut recorder, false, |_| true);
    let pressure = recorder.column(names[0]).unwrap_or_default();
    let flow = recorder.column(names[1]).unwrap_or_default();
    let impedance = 1.6e9 * STEP / (1e-3 * (1.0 - ALPHA));
    let mut predicted: Vec<f64> = Vec::with_capacity(pressure.len());
    let (mut worst, mut largest) = (0.0f64, 0.0f64);
    for n in 0..pressure.len() {
        // The flow of a source is recorded as into it.
        let fed = |k: usize| if k <= n { -flow[n - k] } else { 0.0 };
        let past = |k: usize| if k <= n { predicted[n - k] } else { 0.0 };
        let mut p = 0.0;
        for (k, c) in numerator.iter().enumerate() {
            p += impedance * c * fed(k);
        }
        for (k, c) in denominator.iter().enumerate().skip(1) {
            p -= c * past(k);
        }
        predicted.push(p);
        worst = worst.max((pressure[n] - BASE - p).abs());
        largest = largest.max(p.abs());
    }
    Ok(worst / largest)
}
