//! Published circuits with lumped solvers: errors against a converged reference, work, and speed as
//! a ratio within one run.

pub(super) mod circuit1;
pub(super) mod circuit2;
pub(super) mod circuit3;
pub(super) mod circuit4;
pub(super) mod cylinder_drive;
pub(super) mod flow_control_valve;
pub(super) mod run_off;
pub(super) mod stiffness;

use super::{Band, Figure, Origin};
use crate::session::Session;
use fluxline_core::plan::Plan;
use fluxline_core::settings::{SolverKind, SolverSettings};
use fluxline_core::values::default_settings;
use fluxline_core::variables::Variable;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics};
use fluxline_formats::Override;
use fluxline_lumped::machine::Machine;
use fluxline_lumped::setup::{Setup, modes_at, set_up};
use fluxline_lumped::view::View;
use fluxline_ode::build;
use fluxline_ode::drive::{Driver, Observer, Samples};
use fluxline_ode::modes::{ExplicitMethod, Modes};
use std::time::Instant;

/// A circuit of the examples, changed here and there.
pub(super) fn open(
    name: &str,
    text: &str,
    changes: &[(&str, &str)],
) -> Result<Session, Diagnostics> {
    let overrides: Vec<Override> = changes.iter().map(|(n, v)| Override::new(n, v)).collect();
    Session::from_text(name, text, &overrides).map_err(|failure| failure.problems)
}

/// How a circuit is solved.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub kind: SolverKind,
    /// Step of methods that keep to a grid, s.
    pub step: f64,
    pub settings: SolverSettings,
}

/// A way with the declared settings, changed here and there.
pub(super) fn way(kind: SolverKind, step: f64, change: impl Fn(&mut SolverSettings)) -> Way {
    let mut settings = default_settings().unwrap_or_else(|| unreachable!("settings have defaults"));
    change(&mut settings);
    Way { kind, step, settings }
}

/// By an adaptive solver at a tolerance far below every error that is asked for.
pub(super) fn exact(kind: SolverKind, tolerance: f64) -> Way {
    way(kind, 1e-4, |settings| {
        settings.relative_tolerance = tolerance;
        settings.absolute_tolerance = tolerance;
    })
}

/// What came out.
pub(super) struct Solved {
    /// Per state that was asked for: its samples.
    pub samples: Vec<Vec<f64>>,
    /// Time spent, s.
    pub seconds: f64,
    /// Whole states at the end.
    pub last: Vec<f64>,
}

struct Keeper {
    states: Vec<usize>,
    samples: Vec<Vec<f64>>,
    whole: Vec<f64>,
}

impl Observer<Machine<'_>> for Keeper {
    fn sample(&mut self, machine: &mut Machine<'_>, time: f64, x: &[f64]) {
        let whole: &[f64] = match machine {
            Machine::Whole(_) => x,
            Machine::Reduced(reduced, _) => match reduced.expand(time, x, &mut self.whole) {
                Ok(()) => &self.whole,
                Err(_) => return,
            },
        };
        for (samples, &state) in self.samples.iter_mut().zip(&self.states) {
            samples.push(whole[state]);
        }
    }
}

/// Integrates from the start of a plan and keeps samples of some states at even times.
pub(super) fn solve(
    plan: &Plan,
    way: &Way,
    states: &[&str],
    until: f64,
    interval: f64,
) -> Result<Solved, Diagnostics> {
    let view = View::of(plan)?;
    let index = |name: &str| {
        view.states.iter().position(|state| state.name == name).ok_or_else(|| {
            let message = format!("the circuit of this case has no state `{name}`");
            Diagnostics::from(Diagnostic::error(Code::UnknownVariable, message))
        })
    };
    let chosen: Vec<usize> = states.iter().map(|name| index(name)).collect::<Result<_, _>>()?;
    let size = view.states.len();
    let mut setup = set_up(view, way.kind, &way.settings, way.step)?;
    let count = (until / interval) as usize + 2;
    let mut keeper = Keeper {
        samples: chosen.iter().map(|_| Vec::with_capacity(count)).collect(),
        states: chosen,
        whole: vec![0.0; size],
    };
    let (driver, seconds) = integrate(plan, &mut setup, until, interval, &mut keeper)?;
    let mut last = keeper.whole;
    match &mut setup.machine {
        Machine::Whole(_) => last.copy_from_slice(driver.state()),
        Machine::Reduced(reduced, _) => {
            let _ = reduced.expand(driver.time(), driver.state(), &mut last);
        }
    }
    Ok(Solved { samples: keeper.samples, seconds, last })
}

/// Runs a circuit that is set up from the start of its plan; the time that took, s.
fn integrate<'p>(
    plan: &Plan,
    setup: &mut Setup<'p>,
    until: f64,
    interval: f64,
    observer: &mut dyn Observer<Machine<'p>>,
) -> Result<(Driver, f64), Diagnostics> {
    let x = setup.machine.start();
    let solver = build(setup.method, &setup.machine, &setup.options);
    let mut samples = Samples::every(plan.start, interval);
    let begun = Instant::now();
    let mut driver = Driver::new(solver, plan.start, &x);
    let ended = driver.advance(&mut setup.machine, plan.start + until, &mut samples, observer);
    let seconds = begun.elapsed().as_secs_f64();
    if let Err(failure) = ended {
        let message = format!("{} did not reach the end: {failure}", setup.method);
        return Err(Diagnostic::error(Code::SolverFailed, message).into());
    }
    Ok((driver, seconds))
}

/// As [`solve`], several times: the shortest of the times counts, the others were disturbed.
pub(super) fn solve_timed(
    plan: &Plan,
    way: &Way,
    states: &[&str],
    until: f64,
    interval: f64,
    times: usize,
) -> Result<Solved, Diagnostics> {
    let mut solved = solve(plan, way, states, until, interval)?;
    for _ in 1..times {
        let again = solve(plan, way, states, until, interval)?;
        solved.seconds = solved.seconds.min(again.seconds);
    }
    Ok(solved)
}

struct Reader {
    variables: Vec<Variable>,
    samples: Vec<Vec<f64>>,
}

impl Observer<Machine<'_>> for Reader {
    fn sample(&mut self, machine: &mut Machine<'_>, time: f64, x: &[f64]) {
        if machine.write(time, x).is_ok() {
            let state = &machine.view().state;
            for (samples, variable) in self.samples.iter_mut().zip(&self.variables) {
                samples.push(variable.slot.read(state));
            }
        }
    }
}

/// Samples of any variables, flows too, at even times: slower than [`solve`].
pub(super) fn watch(
    plan: &Plan,
    way: &Way,
    variables: &[&str],
    until: f64,
    interval: f64,
) -> Result<Vec<Vec<f64>>, Diagnostics> {
    let find = |name: &&str| {
        plan.variables.find(name).ok_or_else(|| {
            let message = format!("the circuit of this case has no variable `{name}`");
            Diagnostics::from(Diagnostic::error(Code::UnknownVariable, message))
        })
    };
    let found: Vec<Variable> = variables.iter().map(find).collect::<Result<_, _>>()?;
    let mut setup = set_up(View::of(plan)?, way.kind, &way.settings, way.step)?;
    let mut reader = Reader { samples: vec![Vec::new(); found.len()], variables: found };
    integrate(plan, &mut setup, until, interval, &mut reader)?;
    Ok(reader.samples)
}

/// The modes of a circuit at a time, with some of its states as given and the others as they start.
pub(super) fn modes(plan: &Plan, time: f64, at: &[(&str, f64)]) -> Result<Modes, Diagnostics> {
    let mut view = View::of(plan)?;
    let mut x = view.x();
    for (x, state) in x.iter_mut().zip(&view.states) {
        if let Some((_, value)) = at.iter().find(|(name, _)| *name == state.name) {
            *x = *value;
        }
    }
    modes_at(&mut view, time, &x).ok_or_else(no_modes)
}

/// The largest step that Runge–Kutta's method bears there, s.
pub(super) fn largest_step(modes: &Modes) -> Result<f64, Diagnostics> {
    let stable = modes.largest_stable_step(ExplicitMethod::RungeKutta4).map_err(|_| no_modes())?;
    Ok(stable.step)
}

pub(super) fn no_modes() -> Diagnostics {
    Diagnostic::error(Code::NotLumped, "the modes of this circuit were not found").into()
}

/// Where the stability region of Runge–Kutta's method ends on the negative real axis: the root of
/// 1 + z/2 + z²/6 + z³/24 (Hairer & Wanner, Solving ODEs II, IV.2).
pub(super) const RUNGE_KUTTA_REAL: f64 = 2.785_293_563_405_282;

/// Metering in and out (Åman 3.12): what a volume has taken in, ΔV = ∫ (q_in − q_out) dt, by the
/// trapezoidal rule from even samples.
pub(super) fn metered(inflow: &[f64], outflow: &[f64], interval: f64) -> f64 {
    let net: Vec<f64> = inflow.iter().zip(outflow).map(|(i, o)| i - o).collect();
    net.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]) * interval).sum()
}

/// The integrated absolute error ∫ |a − b| dt by the midpoint rule; Åman (3.2.4) calls it ITAE.
pub(super) fn integrated_error(a: &[f64], b: &[f64], interval: f64) -> f64 {
    let apart: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    apart.windows(2).map(|pair| (0.5 * (pair[0] + pair[1])).abs() * interval).sum()
}

/// The largest difference of two curves, where it counts.
pub(super) fn largest(a: &[f64], b: &[f64], counts: impl Fn(usize) -> bool) -> f64 {
    let pairs = a.iter().zip(b).enumerate().filter(|(i, _)| counts(*i));
    // `f64::max` would pass over what is not a number.
    pairs.fold(0.0f64, |worst, (_, (a, b))| {
        let apart = (a - b).abs();
        if worst.is_nan() || apart <= worst { worst } else { apart }
    })
}

/// Root of the mean square difference, leaving out samples at which inputs jump: there a curve has
/// two values.
pub(super) fn rmse(a: &[f64], b: &[f64], is_jump: impl Fn(usize) -> bool) -> f64 {
    let pairs = a.iter().zip(b).enumerate().filter(|(i, _)| !is_jump(*i));
    let (mut sum, mut count) = (0.0, 0usize);
    for (_, (x, y)) in pairs {
        sum += (x - y).powi(2);
        count += 1;
    }
    (sum / count.max(1) as f64).sqrt()
}

/// The middle of some numbers.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}

/// A figure with a bar.
pub(super) fn bar(
    quantity: impl Into<String>,
    ours: f64,
    unit: &'static str,
    bar: f64,
    band: Band,
) -> Figure {
    Figure {
        quantity: quantity.into(),
        reference: Some(bar),
        origin: Origin::Bar,
        ours,
        unit,
        band,
    }
}

/// A figure with a closed form.
pub(super) fn closed_form(
    quantity: impl Into<String>,
    ours: f64,
    unit: &'static str,
    exact: f64,
    band: Band,
) -> Figure {
    Figure {
        quantity: quantity.into(),
        reference: Some(exact),
        origin: Origin::ClosedForm,
        ours,
        unit,
        band,
    }
}

/// A figure next to a published one that cannot be asked to agree: other inputs, another machine.
pub(super) fn beside(
    quantity: impl Into<String>,
    ours: f64,
    unit: &'static str,
    published: Option<f64>,
) -> Figure {
    Figure {
        quantity: quantity.into(),
        reference: published,
        origin: Origin::Published,
        ours,
        unit,
        band: Band::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_falls_evenly_is_metered_by_its_triangle() {
        let inflow: Vec<f64> = (0..=10).map(|i| 1.0 - 0.1 * f64::from(i)).collect();
        let outflow = vec![0.0; 11];
        assert!((metered(&inflow, &outflow, 0.2) - 1.0).abs() < 1e-15);
        assert!((metered(&outflow, &inflow, 0.2) + 1.0).abs() < 1e-15);
    }

    #[test]
    fn errors_of_either_sign_add_up() {
        let a = [1.0, 1.0, -1.0, -1.0];
        assert_eq!(integrated_error(&a, &[0.0; 4], 0.5), 1.0);
        assert_eq!(largest(&a, &[0.5, 3.0, -1.0, -1.0], |_| true), 2.0);
        assert!(largest(&[f64::NAN, 1.0], &[0.0, 0.0], |_| true).is_nan());
    }
}
