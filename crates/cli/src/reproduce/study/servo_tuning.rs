//! The position servo, tuned for a small error and little energy within limits of overshoot and
//! pressure, as the review of HOPSAN describes such a study.
//!
//! Its optimum is not published. What is asked for: a design that keeps all constraints and is at least
//! as good as the best of a fine grid.

use super::super::{Band, Case, Extent, Figure, Origin, broken};
use super::{Text, parameters, study};
use fluxline_core::plan::Plan;
use fluxline_diagnostics::Diagnostics;
use fluxline_study::ensemble::{Ensemble, Model, Variant, Wanted};
use fluxline_study::file::Kind;
use fluxline_study::search::{Goals, Judge, Runs, Slopes, optimise};

/// The case.
pub(in crate::reproduce) const CASE: Case = Case {
    name: "study/servo-tuning",
    title: "Tuning the position servo: error and energy within limits",
    source: "after the HOPSAN review (Larsson, Krus, Palmberg); the grid is ours",
    run: figures,
};

const CIRCUIT: &str = include_str!("../../../../../examples/position_servo.toml");
const STUDY: &str = include_str!("../../../../../examples/studies/servo_tuning.toml");

fn figures(extent: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let study = study(STUDY, Kind::Optimise)?;
    let set = study.set.iter().map(|(one, _)| one.clone()).collect();
    let model = Text { registry: extent.registry, name: "servo", text: CIRCUIT, set };
    let circuit = model.load(&[]).map_err(|refused| refused.problems)?;
    let plan = Plan::of(&circuit, extent.registry).plan;
    let plan = plan.ok_or_else(|| broken("the servo cannot be planned".to_owned()))?;
    let goals = Goals::of(&study, &plan.variables)?;
    let space = study.space();
    let middle = vec![0.5; space.dimensions()];
    let wanted = Wanted { metrics: goals.metrics.clone(), ..Wanted::default() };
    let ensemble = Ensemble::new(&model, parameters(&study), wanted, [space.decode(&middle)])
        .map_err(|refused| refused.problems)?;
    // A test has time for a few.
    let (budget, levels) = if extent.is_whole { (study.evaluations, 33) } else { (160, 9) };
    let mut runs = Runs::new(&ensemble, &goals, budget, Vec::new(), None);
    let optimiser = study.method.optimiser(&space, &middle, study.seed);
    let mut optimiser =
        optimiser.ok_or_else(|| broken("the study has no method of optimisation".to_owned()))?;
    optimise(&mut runs, optimiser.as_mut(), &space, &mut Slopes::default(), &mut |_| {});
    let best = runs.best().ok_or_else(|| broken("no run gave a value".to_owned()))?;

    let at = |i: usize| i as f64 / (levels - 1) as f64;
    let grid: Vec<Variant> =
        (0..levels * levels).map(|i| space.decode(&[at(i / levels), at(i % levels)])).collect();
    let least = ensemble
        .evaluate(&grid)
        .iter()
        .flatten()
        .map(|one| goals.value(&goals.metrics(one)))
        .filter(|value| value.is_feasible())
        .map(|value| value.objective())
        .fold(f64::INFINITY, f64::min);
    let figure = |quantity: String, reference, ours, band| Figure {
        quantity,
        reference: Some(reference),
        origin: Origin::Compared,
        ours,
        unit: "",
        band,
    };
    Ok(vec![
        figure(
            format!("objective, against the best of a grid of {levels} × {levels}"),
            least,
            best.value.objective(),
            Band::AtMost,
        ),
        figure("violation of constraints".to_owned(), 0.0, best.value.violation, Band::AtMost),
        figure(
            "runs, against those of the grid".to_owned(),
            (levels * levels) as f64,
            runs.log.len() as f64,
            if extent.is_whole { Band::AtMost } else { Band::Any },
        ),
    ])
}
