//! Åman's two-way flow control valve: full dynamics, singular perturbation, pseudo-dynamic solver.
//!
//! Without its chamber the valve has p₁ = (K²·p_s + k_t²·p₂)/(K² + k_t²) (3.20) and does not swing. It is
//! stiffer than with it: K then acts on itself through p₁ at once, which bounds the explicit step.

use super::{
    RUNGE_KUTTA_REAL, Way, bar, beside, closed_form, exact, largest, largest_step, metered, modes,
    open, rmse, solve_timed, watch, way,
};
use crate::reproduce::{Band, Case, Extent, Figure, Origin};
use fluxline_core::plan::Plan;
use fluxline_core::settings::{InnerKind, SmallVolumeKind, SolverKind};
use fluxline_diagnostics::Diagnostics;
use std::f64::consts::PI;

/// The case.
pub(in crate::reproduce) const CASE: Case = Case {
    name: "lumped/flow-control-valve",
    title: "Two-way flow control valve: full, singularly perturbed, pseudo-dynamic",
    source: "M. Åman, thesis, Lappeenranta University of Technology, 2011, sections 3.1.3 and 3.4, \
             Table 3.4, equations 3.12, 3.13 and 3.20",
    run: figures,
};

const TEXT: &str = include_str!("../../../../../examples/lumped/flow_control_valve.toml");
const NO_CHAMBER: [(&str, &str); 1] = [("valve.chamber_volume", "0 m^3")];
const VARIABLES: [&str; 5] = [
    "valve.chamber_pressure",
    "valve.compensator",
    "volume.pressure",
    "valve.inlet.flow",
    "valve.outlet.flow",
];
const UNTIL: f64 = 0.1;
const INTERVAL: f64 = 1e-4;
/// Supply steps, directional valve shuts, opens: samples.
const EVENTS: [usize; 3] = [200, 400, 700];
const TANK: f64 = 1e5;
const CHAMBER: f64 = 1e-5;
const BULK_MODULUS: f64 = 1e9;
const C1: f64 = 4.65e7;
const C2: f64 = -1.79e4;
const C3: f64 = 4e11;

fn throttle() -> f64 {
    0.6 * PI / 4.0 * 1e-8 * (2.0f64 / 900.0).sqrt()
}

fn is_event(sample: usize) -> bool {
    sample == 0 || EVENTS.contains(&sample)
}

/// The last 5 ms before an event or the end.
fn is_quiet(sample: usize) -> bool {
    let end = (UNTIL / INTERVAL).round() as usize + 1;
    EVENTS.iter().chain([&end]).any(|&event| sample < event && sample + 50 >= event)
}

/// As published: ten times the chamber, pseudo-time in steps of ten main steps.
fn pseudo(step: f64) -> Way {
    way(SolverKind::Rk4, step, |settings| {
        settings.small_volumes = SmallVolumeKind::Pds;
        settings.small = "valve.chamber".to_owned();
        settings.inner_method = InnerKind::Euler;
        settings.inner_step = 10.0 * step;
        settings.pseudo_volume = 10.0 * CHAMBER;
        settings.tolerance_high = 10.0;
        settings.tolerance_low = 10.0;
    })
}

fn perturbed(step: f64) -> Way {
    way(SolverKind::Rk4, step, |settings| {
        settings.small_volumes = SmallVolumeKind::SingularPerturbation;
        settings.small = "valve.chamber".to_owned();
    })
}

fn rk4(step: f64) -> Way {
    way(SolverKind::Rk4, step, |_| {})
}

/// p₁ of equal flows.
fn balance(k: f64, supply: f64, p2: f64) -> f64 {
    let (a, b) = (k * k, throttle().powi(2));
    (a * supply + b * p2) / (a + b)
}

fn figures(extent: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let full = open("flow_control_valve.toml", TEXT, &[])?;
    let bare = open("flow_control_valve.toml", TEXT, &NO_CHAMBER)?;
    let read = |plan: &Plan, way: &Way, until| watch(plan, way, &VARIABLES, until, INTERVAL);
    let tight = exact(SolverKind::Rosenbrock, 1e-9);
    let truth = read(full.plan(), &tight, UNTIL)?;
    let second = read(full.plan(), &exact(SolverKind::Bdf, 1e-9), UNTIL)?;
    let reduced = read(bare.plan(), &tight, UNTIL)?;
    let mut all = Vec::new();
    let p1 = rmse(&second[0], &truth[0], is_event);
    all.push(bar("truth: Rosenbrock and BDF at 1e-9, p₁ apart", p1, "Pa", 1.0, Band::AtMost));

    // Full and reduced model rest at the same point once the swing of the full one has died away,
    // with a time constant of 0.19 s.
    let long = 4.0;
    let end = |curves: &[Vec<f64>]| curves[0].last().copied().unwrap_or(f64::NAN);
    all.push(Figure {
        quantity: "p₁ long after, full beside reduced".to_owned(),
        reference: Some(end(&read(bare.plan(), &tight, long)?)),
        origin: Origin::Compared,
        ours: end(&read(full.plan(), &tight, long)?),
        unit: "Pa",
        band: Band::Relative(1e-6),
    });
    let supply = |sample: usize| TANK + if sample < EVENTS[0] { 1e7 } else { 2e7 };
    let flows: Vec<f64> =
        (0..reduced[0].len()).map(|i| balance(reduced[1][i], supply(i), reduced[2][i])).collect();
    all.push(closed_form(
        "reduced: p₁ away from that of equal flows",
        largest(&reduced[0], &flows, |sample| !is_event(sample)),
        "Pa",
        0.0,
        Band::Absolute(0.1),
    ));
    all.push(stable_step(bare.plan(), &reduced)?);

    let step = 1e-5;
    for (name, found) in [
        ("reduced, exact", reduced.clone()),
        ("singular perturbation, 10 µs", read(full.plan(), &perturbed(step), UNTIL)?),
        ("PDS, 10 µs", read(full.plan(), &pseudo(step), UNTIL)?),
        ("full, Runge–Kutta 10 µs", read(full.plan(), &rk4(step), UNTIL)?),
    ] {
        let quiet = largest(&found[0], &truth[0], is_quiet);
        let what = |what: &str| format!("{name}: {what}");
        all.push(beside(what("p₁ away from the full model, late"), quiet, "Pa", None));
        let rms = rmse(&found[0], &reduced[0], is_event);
        all.push(match name {
            "singular perturbation, 10 µs" => {
                bar(what("p₁ away from the reduced model"), rms, "Pa", 10.0, Band::AtMost)
            }
            _ => beside(what("p₁ away from the reduced model"), rms, "Pa", None),
        });
        all.push(meter(&found, &what("chamber metered in and out"), &truth));
    }
    if extent.is_whole {
        let run = |way: &Way| solve_timed(full.plan(), way, &["volume.pressure"], UNTIL, 1e-3, 5);
        let reference = run(&rk4(5e-6))?.seconds;
        for (name, way) in [
            ("full, Runge–Kutta 10 µs", rk4(1e-5)),
            ("PDS, 10 µs", pseudo(1e-5)),
            ("singular perturbation, 10 µs", perturbed(1e-5)),
            ("Rosenbrock, tolerance 1e-5", way(SolverKind::Rosenbrock, 1e-5, |_| {})),
        ] {
            let ratio = reference / run(&way)?.seconds;
            all.push(beside(format!("{name}: speed over Runge–Kutta at 5 µs"), ratio, "×", None));
        }
    }
    Ok(all)
}

/// ∫ (Q − Q_t) dt of the chamber, beside V₁/β·Δp₁ of the full model.
fn meter(found: &[Vec<f64>], quantity: &str, truth: &[Vec<f64>]) -> Figure {
    // A flow counts into the valve: what leaves it is negative.
    let outflow: Vec<f64> = found[4].iter().map(|flow| -flow).collect();
    let ends = [truth[0].last(), truth[0].first()].map(|p| p.copied().unwrap_or(f64::NAN));
    let cubic = 1e9;
    Figure {
        quantity: quantity.to_owned(),
        reference: Some(CHAMBER / BULK_MODULUS * (ends[0] - ends[1]) * cubic),
        origin: Origin::Compared,
        ours: metered(&found[3], &outflow, INTERVAL) * cubic,
        unit: "mm³",
        band: Band::Any,
    }
}

/// Of the reduced model at the end: K acts on itself by
/// λ = −(p₁'·(1 − C₂·K) + C₁ + C₂·(p_s − p₁))/C₃, p₁' = 2·K·k_t²·(p_s − p₂)/(K² + k_t²)².
fn stable_step(plan: &Plan, reduced: &[Vec<f64>]) -> Result<Figure, Diagnostics> {
    let last = |i: usize| reduced[i].last().copied().unwrap_or(f64::NAN);
    let (p1, k, p2, supply) = (last(0), last(1), last(2), TANK + 2e7);
    let kt = throttle().powi(2);
    let slope = 2.0 * k * kt * (supply - p2) / (k * k + kt).powi(2);
    let fastest = (slope * (1.0 - C2 * k) + C1 + C2 * (supply - p1)) / C3;
    let found = modes(plan, UNTIL, &[("valve.compensator", k), ("volume.pressure", p2)])?;
    let step = largest_step(&found)?;
    Ok(closed_form(
        "reduced: Runge–Kutta's largest stable step at the end",
        step * 1e6,
        "µs",
        RUNGE_KUTTA_REAL / fastest * 1e6,
        Band::Relative(0.01),
    ))
}
