//! Circuit 1 of Malysheva: a small volume between two orifices, and a large one that drains.
//!
//! No numbers are published for it. Everything here has a closed form: pressures at rest, both time
//! constants, the largest stable step, and the pressure of a volume that is small enough,
//! p₁ = (k₁²·p_s + k₂²·p₂)/(k₁² + k₂²), which it follows with a lag of its time constant.

use super::{
    RUNGE_KUTTA_REAL, bar, closed_form, exact, largest, largest_step, modes, open, rmse, solve, way,
};
use crate::reproduce::{Band, Case, Extent, Figure};
use fluxline_core::settings::{SmallVolumeKind, SolverKind};
use fluxline_diagnostics::Diagnostics;

/// The case.
pub(in crate::reproduce) const CASE: Case = Case {
    name: "lumped/circuit1",
    title: "Small volume between two orifices, down to a cubic millimetre",
    source: "J. Malysheva, thesis, LUT University, 2021, section 2.2.1, equations 2.18–2.21",
    run: figures,
};

const TEXT: &str = include_str!("../../../../../examples/lumped/circuit1.toml");
const SMALL: &str = "small.pressure";
const LARGE: &str = "large.pressure";
const K: [f64; 3] = [5.62e-7, 5.73e-7, 5.62e-7];
const BULK_MODULUS: f64 = 1.5e9;
const LARGE_VOLUME: f64 = 1e-3;
/// End of the run, and samples, s; the supply jumps at samples 0, 150 and 300.
const UNTIL: f64 = 0.5;
const INTERVAL: f64 = 1e-3;
/// From the last jump on.
const SUPPLY: f64 = 16e6;
const HIGHEST_SUPPLY: f64 = 20e6;

fn is_jump(sample: usize) -> bool {
    matches!(sample, 0 | 150 | 300)
}

/// Three orifices carry one flow: Q² = p_s/Σ 1/k².
fn rest(supply: f64) -> (f64, f64) {
    let squared = supply / K.iter().map(|k| k.powi(-2)).sum::<f64>();
    (supply - squared / K[0].powi(2), squared / K[2].powi(2))
}

/// ∂Q/∂Δp of each orifice at rest.
fn slopes(supply: f64) -> [f64; 3] {
    let (p1, p2) = rest(supply);
    let drops = [supply - p1, p1 - p2, p2];
    std::array::from_fn(|i| 0.5 * K[i] / drops[i].sqrt())
}

/// The eigenvalues of the two pressures, the fast one first.
fn eigenvalues(volume: f64) -> [f64; 2] {
    let g = slopes(SUPPLY);
    let (c1, c2) = (BULK_MODULUS / volume, BULK_MODULUS / LARGE_VOLUME);
    let (a, d) = (-c1 * (g[0] + g[1]), -c2 * (g[1] + g[2]));
    let (half, determinant) = (0.5 * (a + d), a * d - c1 * g[1] * c2 * g[1]);
    let fast = half - (half * half - determinant).sqrt();
    // The other root by the product: the difference would cancel.
    [fast, determinant / fast]
}

fn figures(_: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let mut all = Vec::new();
    let (p1, p2) = rest(SUPPLY);
    for (name, volume) in [("10 cm³", 1e-5), ("0.1 cm³", 1e-7), ("1 mm³", 1e-9)] {
        let text = format!("{volume} m^3");
        let session = open("circuit1.toml", TEXT, &[("small.volume", &text)])?;
        let plan = session.plan();
        let states = [SMALL, LARGE];
        let truth = solve(plan, &exact(SolverKind::Rosenbrock, 1e-9), &states, UNTIL, INTERVAL)?;
        let second = solve(plan, &exact(SolverKind::Bdf, 1e-9), &states, UNTIL, INTERVAL)?;
        let apart = |a: &[f64]| rmse(a, &truth.samples[0], is_jump);
        all.push(bar(
            format!("V₁ = {name}: Rosenbrock and BDF at 1e-9, p₁ apart"),
            apart(&second.samples[0]),
            "Pa",
            1.0,
            Band::AtMost,
        ));
        let ends = |solved: &[Vec<f64>], i: usize| solved[i].last().copied().unwrap_or(f64::NAN);
        let at_rest = |what: &str, ours, exact| {
            closed_form(
                format!("V₁ = {name}: {what} at rest"),
                ours,
                "Pa",
                exact,
                Band::Relative(1e-6),
            )
        };
        all.push(at_rest("p₁", ends(&truth.samples, 0), p1));
        all.push(at_rest("p₂", ends(&truth.samples, 1), p2));
        let found = modes(plan, 0.4, &[(SMALL, p1), (LARGE, p2)])?;
        let fastest = eigenvalues(volume);
        for (mode, (exact, which)) in
            found.modes().iter().zip(fastest.iter().zip(["small", "large"]))
        {
            all.push(closed_form(
                format!("V₁ = {name}: time constant of the {which} volume at rest"),
                mode.time_constant() * 1e6,
                "µs",
                -1e6 / exact,
                Band::Relative(1e-6),
            ));
        }
        let step = RUNGE_KUTTA_REAL / -fastest[0];
        all.push(closed_form(
            format!("V₁ = {name}: Runge–Kutta's largest stable step at rest"),
            largest_step(&found)? * 1e6,
            "µs",
            step * 1e6,
            Band::Relative(1e-3),
        ));
        if volume >= 1e-5 {
            // Below the limit rest is reached, above it the method rings for ever.
            for (part, band, size) in [(0.9, Band::AtMost, 1.0), (1.1, Band::AtLeast, 1e3)] {
                let way = way(SolverKind::Rk4, part * step, |_| {});
                let end = solve(plan, &way, &[], UNTIL, UNTIL)?.last;
                let off = (end[0] - p1).abs().max((end[1] - p2).abs());
                let what =
                    format!("V₁ = {name}: Runge–Kutta at {part} of that step, away from rest");
                all.push(bar(what, off, "Pa", size, band));
            }
        }
        for (what, way, most) in [
            ("SDIRK2, 0.1 ms", way(SolverKind::Sdirk2, 1e-4, |_| {}), 500.0),
            ("Rosenbrock, tolerance 1e-5", way(SolverKind::Rosenbrock, 1e-4, |_| {}), 300.0),
        ] {
            let solved = solve(plan, &way, &states, UNTIL, INTERVAL)?;
            let error = apart(&solved.samples[0]);
            all.push(bar(
                format!("V₁ = {name}: {what}, error of p₁"),
                error,
                "Pa",
                most,
                Band::AtMost,
            ));
        }
        all.extend(without_its_volume(plan, name, volume, &truth.samples)?);
    }
    Ok(all)
}

/// p₁ from the balance of flows: how far the true one lags behind.
fn without_its_volume(
    plan: &fluxline_core::plan::Plan,
    name: &str,
    volume: f64,
    truth: &[Vec<f64>],
) -> Result<Vec<Figure>, Diagnostics> {
    let algebraic = way(SolverKind::Rk4, 1e-4, |settings| {
        settings.small_volumes = SmallVolumeKind::Algebraic;
        settings.small = SMALL.to_owned();
    });
    let solved = solve(plan, &algebraic, &[SMALL, LARGE], UNTIL, INTERVAL)?;
    let (a, b) = (K[0] * K[0], K[1] * K[1]);
    let supply = |sample: usize| match sample {
        0..150 => 14e6,
        150..300 => HIGHEST_SUPPLY,
        _ => SUPPLY,
    };
    let balance = |p2: &[f64]| -> Vec<f64> {
        p2.iter().enumerate().map(|(i, p2)| (a * supply(i) + b * p2) / (a + b)).collect()
    };
    // The lag is τ₁·ṗ₁: the largest of each. p₂ rises fastest when it is empty, and orifices are
    // least open, in slope, to the largest drop.
    let series = (a * b / (a + b)).sqrt();
    let rise = b / (a + b) * BULK_MODULUS / LARGE_VOLUME * series * HIGHEST_SUPPLY.sqrt();
    let slope = 0.5 * (K[0] + K[1]) / HIGHEST_SUPPLY.sqrt();
    let lag = volume / (BULK_MODULUS * slope) * rise;
    let counts = |sample: usize| !is_jump(sample);
    Ok(vec![
        closed_form(
            format!("V₁ = {name}: p₁ away from its balance of flows"),
            largest(&truth[0], &balance(&truth[1]), counts),
            "Pa",
            lag,
            Band::AtMost,
        ),
        closed_form(
            format!("V₁ = {name}: algebraic p₁ away from the closed form of its p₂"),
            largest(&solved.samples[0], &balance(&solved.samples[1]), counts),
            "Pa",
            0.0,
            Band::Absolute(1e-2),
        ),
        bar(
            format!("V₁ = {name}: algebraic p₁, Runge–Kutta 0.1 ms, error"),
            rmse(&solved.samples[0], &truth[0], is_jump),
            "Pa",
            // The published step's own error where the lag is below it.
            lag.max(500.0),
            Band::AtMost,
        ),
    ])
}
