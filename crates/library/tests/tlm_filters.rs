//! The filters of lumped lines are the integrators that theory says they are.
//!
//! A volume with two ends, flow into one, the other blocked. With E = e^(−2sT) and the filter
//! F = (1−α)/(1−α·e^(−sT)) the pressure at the fed end is (Pollmeier, Appendix B)
//! Z'·(1 + F²E)/(1 − F²E)·q with the wave filter (B6) and, corrected, Z'·(1 + F·E)/(1 − F²E)·q with
//! the pressure filter (B7). Both are compared as difference equations, sample by sample.

use fluxline_core::component::Filter;
use fluxline_core::testing::{Bench, Surroundings};
use fluxline_library::hydraulic::volumes::volume::Volume;

const ALPHA: f64 = 0.2;
const STEP: f64 = 1e-3;

/// Pressure at the fed end for a given inflow, by the component.
fn simulated(filter: Filter, inflow: &[f64]) -> Vec<f64> {
    let around = Surroundings { places: vec![2], filter, ..Surroundings::of::<Volume>(STEP) };
    // far above vapour pressure, so that the store stays linear
    let volume = Volume { volume: 1e-3, start_pressure: Some(1e9) };
    let mut bench = Bench::within(&volume, &around).unwrap();
    bench.start();
    let mut pressures = Vec::new();
    for &q in inflow {
        bench.step();
        bench.impose_flow(0, q).impose_flow(1, 0.0);
        pressures.push(bench.effort(0) - 1e9);
    }
    pressures
}

/// The same by the transfer function: denominator·p = Z'·numerator·q, in powers of e^(−sT).
fn predicted(numerator: &[f64], denominator: &[f64], inflow: &[f64]) -> Vec<f64> {
    let z = 1.6e9 * STEP / (1e-3 * (1.0 - ALPHA));
    let mut pressures: Vec<f64> = Vec::new();
    for n in 0..inflow.len() {
        let mut sum = 0.0;
        for (k, c) in numerator.iter().enumerate().filter(|(k, _)| *k <= n) {
            sum += z * c * inflow[n - k];
        }
        for (k, c) in denominator.iter().enumerate().skip(1).filter(|(k, _)| *k <= n) {
            sum -= c * pressures[n - k];
        }
        pressures.push(sum / denominator[0]);
    }
    pressures
}

fn compare(filter: Filter, numerator: &[f64], denominator: &[f64]) {
    let inflow: Vec<f64> =
        (0..400).map(|n| 1e-3 * ((n as f64 * 0.7).sin() + (n as f64 * 2.9).cos())).collect();
    let (ours, theirs) = (simulated(filter, &inflow), predicted(numerator, denominator, &inflow));
    let largest = theirs.iter().fold(0.0f64, |m, p| m.max(p.abs()));
    for (n, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        assert!((a - b).abs() < 1e-10 * largest + 1e-6, "sample {n}: {a} {b}");
    }
}

#[test]
fn wave_filter_is_the_integrator_of_b6() {
    let (a, g) = (ALPHA, 1.0 - ALPHA);
    // multiplied through by (1 − α/z)²
    compare(Filter::Wave(a), &[1.0, -2.0 * a, a * a + g * g], &[1.0, -2.0 * a, a * a - g * g]);
}

#[test]
fn pressure_filter_is_the_corrected_integrator_of_b7() {
    let (a, g) = (ALPHA, 1.0 - ALPHA);
    // (1 + F·E) multiplied by (1 − α/z)² is (1 − α/z)² + g·(1 − α/z)/z²
    compare(
        Filter::Pressure(a),
        &[1.0, -2.0 * a, a * a + g, -a * g],
        &[1.0, -2.0 * a, a * a - g * g],
    );
}

#[test]
fn without_filter_a_line_is_the_trapezoidal_rule_of_twice_the_step() {
    // p(n) = p(n−2) + T/C·(q(n) + q(n−2))
    let inflow: Vec<f64> = (0..400).map(|n| 1e-3 * (n as f64 * 0.7).sin()).collect();
    let ours = simulated(Filter::None, &inflow);
    let z = 1.6e9 * STEP / 1e-3;
    for n in 2..400 {
        let expected = ours[n - 2] + z * (inflow[n] + inflow[n - 2]);
        assert!((ours[n] - expected).abs() < 1e-6, "sample {n}");
    }
}
