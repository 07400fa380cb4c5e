//! Published circuits with lumped solvers: errors against a converged reference, work, and speed as
//! a ratio within one run.

pub(super) mod circuit2;
pub(super) mod stiffness;

use super::{Band, Figure, Origin};
use crate::session::Session;
use fluxline_core::plan::Plan;
use fluxline_core::settings::{SolverKind, SolverSettings};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics};
use fluxline_formats::Override;
use fluxline_lumped::machine::Machine;
use fluxline_lumped::setup::set_up;
use fluxline_lumped::view::View;
use fluxline_ode::build;
use fluxline_ode::drive::{Driver, Observer, Samples};
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
    let x = setup.machine.start();
    let solver = build(setup.method, &setup.machine, &setup.options);
    let count = (until / interval) as usize + 2;
    let mut keeper = Keeper {
        samples: chosen.iter().map(|_| Vec::with_capacity(count)).collect(),
        states: chosen,
        whole: vec![0.0; size],
    };
    let mut samples = Samples::every(plan.start, interval);
    let begun = Instant::now();
    let mut driver = Driver::new(solver, plan.start, &x);
    let ended = driver.advance(&mut setup.machine, plan.start + until, &mut samples, &mut keeper);
    let seconds = begun.elapsed().as_secs_f64();
    if let Err(failure) = ended {
        let message = format!("{} did not reach the end: {failure}", setup.method);
        return Err(Diagnostic::error(Code::SolverFailed, message).into());
    }
    let mut last = keeper.whole;
    match &mut setup.machine {
        Machine::Whole(_) => last.copy_from_slice(driver.state()),
        Machine::Reduced(reduced, _) => {
            let _ = reduced.expand(driver.time(), driver.state(), &mut last);
        }
    }
    Ok(Solved { samples: keeper.samples, seconds, last })
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
