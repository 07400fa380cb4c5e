//! A volume that runs off through an orifice, with four laws of flow near zero drop.
//!
//! With x = Δp, c = β/V and y = x/Δp₀ all four have closed forms. Turbulent: √x falls at the constant
//! rate c·K/2 and is zero in finite time. Below the transition: two-regime (Åman 2.16), x' = −a·x + b·x³,
//! a Bernoulli equation; Merritt, linear, an exponential; Ellman, y' = −r·y·(3 − y)/2 from 9/4 of the
//! transition drop on, a logistic curve. Volume and start pressure are not published.

use super::{
    RUNGE_KUTTA_REAL, bar, beside, closed_form, exact, integrated_error, largest, largest_step,
    modes, open, rmse, solve, way,
};
use crate::reproduce::{Band, Case, Extent, Figure};
use fluxline_core::settings::SolverKind;
use fluxline_diagnostics::Diagnostics;
use std::f64::consts::PI;

/// The case.
pub(in crate::reproduce) const CASE: Case = Case {
    name: "lumped/run-off",
    title: "Volume that runs off: orifice laws near zero drop",
    source: "M. Åman, thesis, Lappeenranta University of Technology, 2011, sections 3.1.1 and 3.2, \
             equation 3.1",
    run: figures,
};

const TEXT: &str = include_str!("../../../../../examples/lumped/run_off.toml");
const STATE: &str = "volume.pressure";
const TANK: f64 = 101_325.0;
const START: f64 = 1e7;
const UNTIL: f64 = 4e-3;
/// β/V.
const STIFFNESS: f64 = 1.5e12;
const LAWS: [&str; 4] = ["turbulent", "two_regime", "merritt", "ellman"];

/// K of 9 mm at a discharge coefficient of 0.6 and 900 kg/m³.
fn coefficient() -> f64 {
    0.6 * PI / 4.0 * 81e-6 * (2.0f64 / 900.0).sqrt()
}

/// Δp₀ = Re²·ν²·π·√ρ/(√32·C_d·K) (Åman 2.21).
fn transition() -> f64 {
    1e6 * 9e-10 * PI * 900f64.sqrt() / (32f64.sqrt() * 0.6 * coefficient())
}

/// ∂Q/∂Δp at zero drop, over K/√Δp₀; none for the turbulent law.
fn slope_at_zero(law: &str) -> Option<f64> {
    match law {
        "two_regime" => Some(1.25),
        "merritt" => Some(1.0),
        // 3/2 at a transition 9/4 as high, of which the root is 3/2.
        "ellman" => Some(1.0),
        _ => None,
    }
}

/// Δp at a time.
fn drop_at(law: &str, time: f64) -> f64 {
    let (k, low) = (coefficient(), transition());
    let fall = 0.5 * STIFFNESS * k;
    let changes_at = match law {
        "turbulent" => 0.0,
        "ellman" => 2.25 * low,
        _ => low,
    };
    let changes = (START.sqrt() - changes_at.sqrt()) / fall;
    if time <= changes {
        return (START.sqrt() - fall * time).powi(2);
    }
    let late = time - changes;
    let rate = STIFFNESS * k / changes_at.sqrt();
    match law {
        "two_regime" => {
            // 1/x² = b/a + (1/Δp₀² − b/a)·e^(2at), b/a = 1/(5·Δp₀²)
            let grown = 0.2 + 0.8 * (2.5 * rate * late).exp();
            low / grown.sqrt()
        }
        "merritt" => low * (-rate * late).exp(),
        "ellman" => {
            // y/(3 − y) = ½·e^(−3rt/2)
            let part = 0.5 * (-1.5 * rate * late).exp();
            changes_at * 3.0 * part / (1.0 + part)
        }
        _ => 0.0,
    }
}

fn curve(law: &str, interval: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| TANK + drop_at(law, i as f64 * interval)).collect()
}

fn figures(_: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let mut all = Vec::new();
    let fine = 1e-5;
    for law in LAWS {
        let session = open("run_off.toml", TEXT, &[("orifice.law", law)])?;
        let plan = session.plan();
        let rk4 = |step: f64, interval: f64| {
            let solved =
                solve(plan, &way(SolverKind::Rk4, step, |_| {}), &[STATE], UNTIL, interval)?;
            Ok::<_, Diagnostics>(solved.samples.into_iter().next().unwrap_or_default())
        };
        let truth = solve(plan, &exact(SolverKind::Rosenbrock, 1e-9), &[STATE], UNTIL, fine)?;
        let exact = curve(law, fine, truth.samples[0].len());
        all.push(closed_form(
            format!("{law}: Rosenbrock at 1e-9, away from the closed form"),
            largest(&truth.samples[0], &exact, |_| true),
            "Pa",
            0.0,
            Band::Absolute(1.0),
        ));
        let coarse = 6e-5;
        let found = rk4(coarse, coarse)?;
        let error = rmse(&found, &curve(law, coarse, found.len()), |_| false);
        all.push(beside(format!("{law}: Runge–Kutta at 60 µs, error"), error, "Pa", None));
        let turbulent = curve("turbulent", coarse, found.len());
        let itae = integrated_error(&found, &turbulent, coarse);
        let what =
            format!("{law}: Runge–Kutta at 60 µs, integrated distance from the turbulent law");
        all.push(beside(what, itae, "Pa*s", None));
        let Some(slope) = slope_at_zero(law) else {
            // Near zero only c·K and the step are left, so what rings is proportional to (c·K·h)².
            let rings = |step: f64| Ok::<_, Diagnostics>(rk4(step, UNTIL)?[1] - TANK);
            all.push(closed_form(
                "turbulent: what Runge–Kutta leaves, 10 µs over 1 µs",
                rings(1e-5)? / rings(1e-6)?,
                "×",
                100.0,
                Band::Relative(0.01),
            ));
            continue;
        };
        let limit = RUNGE_KUTTA_REAL / (slope * STIFFNESS * coefficient() / transition().sqrt());
        let empty = largest_step(&modes(plan, plan.start, &[(STATE, TANK)])?)?;
        all.push(closed_form(
            format!("{law}: Runge–Kutta's largest stable step at zero drop"),
            empty * 1e6,
            "µs",
            limit * 1e6,
            Band::Relative(1e-3),
        ));
        let left = |part: f64| Ok::<_, Diagnostics>((rk4(part * limit, UNTIL)?[1] - TANK).abs());
        let what = |part: f64| format!("{law}: left by Runge–Kutta at {part} of that step");
        all.push(bar(what(0.5), left(0.5)?, "Pa", 1.0, Band::AtMost));
        all.push(beside(what(1.1), left(1.1)?, "Pa", None));
    }
    Ok(all)
}
