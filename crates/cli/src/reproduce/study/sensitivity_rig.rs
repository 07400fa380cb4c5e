//! Which parameters matter to the simulation of the actuator rig of Pollmeier's thesis (table 7.4).
//!
//! There the objective is the mean absolute difference between the simulated and the measured pressure
//! difference, 2.987 bar with all parameters as identified, and the table tells by how much it grows when
//! one of them changes by 10 or 20 %. The measurements are not published, and neither are areas, volumes
//! and the duty cycle: data are generated here that are off by 2.987 bar on average, as those were, and
//! the figures are comparable in their order, not digit by digit. The thesis draws these conclusions,
//! which must hold: the valve's coefficients and the viscous load matter most; leakage and bulk modulus
//! less; underlap, the leakage of the first stage and dry friction least.

use super::super::{Band, Case, Extent, Figure, Origin, broken};
use super::identification_rig::{RIG, duty_cycle};
use super::{Text, parameters, study};
use fluxline_diagnostics::Diagnostics;
use fluxline_optimise::random::Random;
use fluxline_study::ensemble::{Ensemble, Model, Variant, Wanted, value_in};
use fluxline_study::file::Kind;

/// The case.
pub(in crate::reproduce) const CASE: Case = Case {
    name: "study/sensitivity-rig",
    title: "Sensitivity of the actuator rig to its eleven parameters",
    source: "Pollmeier (thesis, University of Bath), section 7.4.3, table 7.4",
    run: figures,
};

/// The objective of the thesis with all parameters as identified, bar.
const OBJECTIVE: f64 = 2.987;

/// Changes of a parameter.
const CHANGES: [f64; 4] = [-0.2, -0.1, 0.1, 0.2];

/// How the objective grows with these changes, %: the order of parameters is that of the study.
const PUBLISHED: [[f64; 4]; 11] = [
    [49.98, 19.18, 16.17, 37.26],
    [53.33, 16.84, 14.49, 35.25],
    [37.59, 10.14, 5.12, 12.82],
    [33.91, 10.14, 10.81, 30.23],
    [4.78, 0.77, 0.43, 0.43],
    [3.11, 0.10, 1.10, 1.44],
    [3.44, 1.44, 1.44, 1.44],
    [3.11, 1.10, 1.10, 1.10],
    [49.98, 15.50, 13.82, 39.27],
    [6.12, 2.11, 3.44, 6.12],
    [2.11, 0.10, 3.44, 6.46],
];

/// Those that matter most, those in between, and those that matter least, by the thesis.
const MOST: [usize; 5] = [0, 1, 2, 3, 8];
const LEAST: [usize; 4] = [4, 5, 6, 7];

fn figures(extent: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let study = study(super::identification_rig::STUDY, Kind::Identify)?;
    let set = duty_cycle(study.fit.to);
    let model = Text { registry: extent.registry, name: "rig", text: RIG, set };
    let circuit = model.load(&[]).map_err(|refused| refused.problems)?;
    let nominal: Option<Variant> = study
        .variables
        .iter()
        .map(|one| match one.name.as_str() {
            "underlap" => value_in(&circuit, "valve.lap_pa").map(|lap| -lap),
            "fluid.bulk_modulus" => circuit.fluids.first().map(|fluid| fluid.bulk_modulus),
            name => value_in(&circuit, name),
        })
        .collect();
    let nominal = nominal.ok_or_else(|| broken("the rig has lost a parameter".to_owned()))?;
    let wanted = Wanted {
        record: vec!["pressure_difference.out".to_owned()],
        samples: 1721,
        ..Wanted::default()
    };
    let ensemble = Ensemble::new(&model, parameters(&study), wanted, [nominal.clone()])
        .map_err(|refused| refused.problems)?;
    let mut variants = vec![nominal.clone()];
    for i in 0..nominal.len() {
        for change in CHANGES {
            let mut one = nominal.clone();
            one[i] *= 1.0 + change;
            variants.push(one);
        }
    }
    let runs: Vec<Vec<f64>> = ensemble
        .evaluate(&variants)
        .into_iter()
        .flatten()
        .map(|one| one.rows.chunks(2).map(|row| row[1] / 1e5).collect())
        .collect();
    if runs.len() != variants.len() {
        return Err(broken("a run of the rig failed".to_owned()));
    }
    // Normal noise of this deviation has a mean size of 2.987 bar.
    let deviation = OBJECTIVE * (std::f64::consts::PI / 2.0).sqrt();
    let mut random = Random::new(1);
    let measured: Vec<f64> = runs[0].iter().map(|p| p + deviation * random.normal()).collect();
    let objective = |run: &Vec<f64>| {
        let sizes = run.iter().zip(&measured).map(|(a, b)| (a - b).abs());
        sizes.sum::<f64>() / measured.len() as f64
    };
    let base = objective(&runs[0]);
    let changes: Vec<[f64; 4]> = (0..nominal.len())
        .map(|i| {
            std::array::from_fn(|k| {
                100.0 * (objective(&runs[1 + CHANGES.len() * i + k]) / base - 1.0)
            })
        })
        .collect();
    let figure = |quantity: String, origin, reference: f64, ours, unit, band| Figure {
        quantity,
        reference: Some(reference),
        origin,
        ours,
        unit,
        band,
    };
    // The mean size of so many normal numbers varies by √(π/2 − 1)/√n of itself.
    let by_chance = 3.0 * 0.756 / (measured.len() as f64).sqrt();
    let mut all = vec![figure(
        "objective, parameters as identified".to_owned(),
        Origin::Published,
        OBJECTIVE,
        base,
        "bar",
        Band::Relative(by_chance),
    )];
    for (i, varied) in study.variables.iter().enumerate() {
        for (k, change) in CHANGES.into_iter().enumerate() {
            all.push(figure(
                format!("objective, {} {:+.0} %", varied.name, 100.0 * change),
                Origin::Published,
                PUBLISHED[i][k],
                changes[i][k],
                "%",
                Band::Any,
            ));
        }
    }
    let mean = |table: &[[f64; 4]]| -> Vec<f64> {
        table.iter().map(|row| row.iter().sum::<f64>() / 4.0).collect()
    };
    let (theirs, ours) = (mean(&PUBLISHED), mean(&changes));
    let least_of =
        |which: &[usize], of: &[f64]| which.iter().map(|&i| of[i]).fold(f64::INFINITY, f64::min);
    let most_of = |which: &mut dyn Iterator<Item = usize>, of: &[f64]| {
        which.map(|i| of[i]).fold(f64::NEG_INFINITY, f64::max)
    };
    let others = || (0..nominal.len()).filter(|i| !MOST.contains(i));
    all.push(figure(
        "the least of valve coefficients and viscous load, against the most of all others"
            .to_owned(),
        Origin::Published,
        most_of(&mut others(), &ours),
        least_of(&MOST, &ours),
        "%",
        Band::AtLeast,
    ));
    all.push(figure(
        "underlap, first stage, dry friction: the most of them".to_owned(),
        Origin::Published,
        most_of(&mut LEAST.into_iter(), &theirs),
        most_of(&mut LEAST.into_iter(), &ours),
        "%",
        Band::AtMost,
    ));
    all.push(figure(
        "correlation of ranks with those published".to_owned(),
        Origin::Bar,
        0.7,
        correlation(&ranks(&theirs), &ranks(&ours)),
        "",
        Band::AtLeast,
    ));
    Ok(all)
}

/// The place of each number in order, the mean of places where some are equal.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |x: &f64| {
        let below = values.iter().filter(|y| *y < x).count();
        let equal = values.iter().filter(|y| *y == x).count();
        below as f64 + 0.5 * (equal as f64 + 1.0)
    };
    values.iter().map(rank).collect()
}

/// Pearson's, which of ranks is Spearman's.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(x, y)| f(x - ma, y - mb)).sum()
    };
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spearman's coefficient is 1 − 6·Σd²/(n·(n² − 1)) where no two are equal.
    #[test]
    fn rank_correlation_is_that_of_the_closed_form() {
        let (a, b) = ([10.0, 30.0, 20.0, 50.0, 40.0], [1.0, 2.0, 3.0, 4.0, 5.0]);
        let squares: f64 = ranks(&a).iter().zip(ranks(&b)).map(|(x, y)| (x - y).powi(2)).sum();
        let expected = 1.0 - 6.0 * squares / (5.0 * 24.0);
        assert!((correlation(&ranks(&a), &ranks(&b)) - expected).abs() < 1e-12);
        assert_eq!(ranks(&[2.0, 1.0, 2.0]), [2.5, 1.0, 2.5]);
    }
}
