//! The parasitic mass of a spring solved as a delay line of one step.
//!
//! A spring of stiffness k and a delay of one step h has the impedance Z = k·h and, as any line,
//! an inertia Z·h = k·h². The lecture states it for m = 100 kg and k = 1000 N/m.
//!
//! 1. Two masses joined by the spring and pushed together show the whole of it: after the first
//!    steps both gain a = 2·F/(2·m + k·h²) per second.
//! 2. A mass on a spring whose other end is held shows a part of it. Seen from the mass the held
//!    line is Z·coth(s·h), which is trapezoidal integration with the step 2·h; the mass itself is
//!    integrated by the trapezoidal rule with the step h. With θ = ω·h the two balance where
//!    tan(θ/2)·tan θ = ε/2, ε = k·h²/m, or
//!
//!    θ = 2·atan √(ε/(4 + ε))
//!
//!    The mass that a period of 2π/ω would belong to is k/ω²; what it exceeds m by tends to
//!    5/12·k·h² as ε becomes small: a third of the line's inertia, since its far end is held, and
//!    a twelfth from the trapezoidal rule.

use super::{Band, Case, Extent, Figure, Origin, broken};
use fluxline_core::builder::Builder;
use fluxline_core::circuit::{Pattern, Registry};
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling, choose};
use fluxline_core::run::run;
use fluxline_diagnostics::Diagnostics;

/// The case.
pub(super) const CASE: Case = Case {
    name: "tlm/mass-spring",
    title: "Parasitic mass of a spring as a delay line",
    source: "P. Krus, lecture slides on transmission line modelling, Linköping University",
    run: figures,
};

const MASS: f64 = 100.0;
const STIFFNESS: f64 = 1000.0;
/// Step and the parasitic mass that the slides state for it, kg.
const PUBLISHED: [(f64, f64); 3] = [(0.001, 0.001), (0.1, 10.0), (1.0, 1000.0)];

fn figures(extent: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let registry = extent.registry;
    let mut all = Vec::new();
    for (step, published) in PUBLISHED {
        all.push(Figure {
            quantity: format!("inertia of the spring, h = {step} s"),
            reference: Some(published),
            origin: Origin::Published,
            ours: pushed(registry, step)?,
            unit: "kg",
            // Rounding: 200 kg are known to 1e-13 of the momentum after 1000 steps.
            band: Band::Relative(1e-4),
        });
    }
    for (step, _) in PUBLISHED {
        let ratio = STIFFNESS * step * step / MASS;
        let omega = 2.0 * (ratio / (4.0 + ratio)).sqrt().atan() / step;
        let period = oscillating(registry, step)?;
        all.push(Figure {
            quantity: format!("period with one end held, h = {step} s"),
            reference: Some(std::f64::consts::TAU / omega),
            origin: Origin::ClosedForm,
            ours: period,
            unit: "s",
            band: Band::Relative(1e-6),
        });
        let felt = |omega: f64| STIFFNESS / (omega * omega) - MASS;
        all.push(Figure {
            quantity: format!("mass added by it, h = {step} s"),
            reference: Some(felt(omega)),
            origin: Origin::ClosedForm,
            ours: felt(std::f64::consts::TAU / period),
            unit: "kg",
            band: Band::Relative(1e-3),
        });
    }
    Ok(all)
}

fn simulate(plan: &Plan, variable: &str, steps: u64) -> Vec<f64> {
    let (variables, _) = choose(plan, &[Pattern::new(variable)]);
    let mut recorder = Recorder::new(variables, Sampling::Every(1), steps);
    let mut state = plan.initial.clone();
    run(plan, &mut state, steps, &mut recorder, false, |_| true);
    recorder.column(variable).unwrap_or_default()
}

/// Parasitic mass from the common acceleration of two masses joined by the spring.
fn pushed(registry: &Registry, step: f64) -> Result<f64, Diagnostics> {
    const FORCE: f64 = 100.0;
    let mut circuit = Builder::new(registry);
    circuit.circuit.run.step = step;
    let (mass, push) = (format!("{MASS} kg"), format!("{} N", -FORCE));
    circuit.add("rear", "translational.mass", &[("mass", &mass), ("load", &push)]);
    circuit.add("front", "translational.mass", &[("mass", &mass), ("load", &push)]);
    circuit.add("spring", "translational.spring", &[("stiffness", &format!("{STIFFNESS} N/m"))]);
    circuit.connect(&["rear.b", "spring.a"]).connect(&["spring.b", "front.a"]);
    let plan = circuit.plan().map_err(broken)?;
    let v = simulate(&plan, "rear.v", 1000);
    // Both ends of the interval are even steps: what alternates from step to step cancels.
    let acceleration = (v[1000] - v[500]) / (500.0 * step);
    Ok(2.0 * FORCE / acceleration - 2.0 * MASS)
}

/// Period of a mass on the spring, the other end of which is held.
fn oscillating(registry: &Registry, step: f64) -> Result<f64, Diagnostics> {
    let mut circuit = Builder::new(registry);
    circuit.circuit.run.step = step;
    let mass = format!("{MASS} kg");
    let parameters = [("mass", mass.as_str()), ("start_position", "0.1 m")];
    circuit.add("mass", "translational.mass", &parameters);
    // As good as a wall: it shifts the period by less than 1e-10.
    circuit.add("wall", "translational.mass", &[("mass", "1e14 kg")]);
    circuit.add("spring", "translational.spring", &[("stiffness", &format!("{STIFFNESS} N/m"))]);
    circuit.connect(&["mass.b", "spring.a"]).connect(&["spring.b", "wall.a"]);
    let plan = circuit.plan().map_err(broken)?;
    let x = simulate(&plan, "mass.x", 1_000_000);
    // Times at which x rises through zero, between samples by a straight line: the error of one
    // is spread over all periods.
    let rising = |i: &usize| x[*i] < 0.0 && x[*i + 1] >= 0.0;
    let mut crossings = (0..x.len().saturating_sub(1)).filter(rising);
    let at = |i: usize| (i as f64 + x[i] / (x[i] - x[i + 1])) * step;
    match (crossings.next(), crossings.next_back()) {
        (Some(first), Some(last)) => {
            let periods = (first + 1..=last).filter(rising).count();
            Ok((at(last) - at(first)) / periods as f64)
        }
        _ => Ok(f64::NAN),
    }
}
