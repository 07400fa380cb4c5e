//! Which solver, which small volumes, and what speaks against the choice.

use crate::machine::Machine;
use crate::view::View;
use fluxline_core::settings::{InnerKind, SmallVolumeKind, SolverKind, SolverSettings};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Place, list_names, nearest};
use fluxline_ode::modes::{ExplicitMethod, Modes};
use fluxline_ode::small::{
    Fast, InnerMethod, Reduced, Reference, Settings, SmallState, SmallVolumes, small_states,
};
use fluxline_ode::{Method, Options, System, Trouble};
use fluxline_units::{Dimension, Quantity};

/// Volumes are small when they settle in this part of a step.
pub const SMALL: f64 = 0.2;
/// A named volume that takes longer than this part of the fastest other motion is not small.
const NOT_SMALL: f64 = 0.3;
/// Circuits with more states are not looked at by their eigenvalues.
pub const MOST_MODES: usize = 400;

/// A circuit with the solver that was chosen for it.
pub struct Setup<'p> {
    /// The system.
    pub machine: Machine<'p>,
    /// The method.
    pub method: Method,
    /// Its settings.
    pub options: Options,
    /// Volumes that are replaced by their steady state: name, time constant (s), volume (m³).
    pub small: Vec<(String, f64, f64)>,
    /// Why this solver, where it was left open.
    pub why: Option<String>,
    /// What speaks against the choice.
    pub warnings: Diagnostics,
}

/// What `auto` comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The solver.
    pub method: SolverKind,
    /// Why.
    pub why: String,
}

fn seconds(time: f64) -> String {
    format!("{:.4}", Quantity::new(time, Dimension::TIME))
}

/// The method of a setting; none for the wave method and for an open choice.
pub fn method_of(kind: SolverKind) -> Option<Method> {
    match kind {
        SolverKind::Tlm | SolverKind::Auto => None,
        SolverKind::Euler => Some(Method::Euler),
        SolverKind::Heun => Some(Method::Heun),
        SolverKind::ModifiedHeun => Some(Method::ModifiedHeun),
        SolverKind::Rk4 => Some(Method::Rk4),
        SolverKind::Sdirk2 => Some(Method::Sdirk2),
        SolverKind::Rosenbrock => Some(Method::Rosenbrock),
        SolverKind::Bdf => Some(Method::Bdf),
        SolverKind::AdaptiveExplicit => Some(Method::AdaptiveExplicit),
    }
}

/// The explicit methods and how far they can step.
pub fn explicit(method: Method) -> Option<ExplicitMethod> {
    match method {
        Method::Euler => Some(ExplicitMethod::Euler),
        Method::Heun => Some(ExplicitMethod::Heun),
        Method::ModifiedHeun => Some(ExplicitMethod::ModifiedHeun),
        Method::Rk4 => Some(ExplicitMethod::RungeKutta4),
        _ => None,
    }
}

/// ∂f/∂x of a system at a point, row by row.
pub fn dense_jacobian(system: &mut dyn System, time: f64, x: &[f64]) -> Result<Vec<f64>, Trouble> {
    let size = system.size();
    let mut values = vec![0.0; system.pattern().len()];
    system.jacobian(time, x, &mut values)?;
    let mut dense = vec![0.0; size * size];
    let pattern = system.pattern();
    for column in 0..size {
        for place in pattern.column(column) {
            dense[pattern.rows()[place] * size + column] = values[place];
        }
    }
    Ok(dense)
}

/// The modes of a system at a point; none when it is too large or they cannot be found.
pub fn modes_at(system: &mut dyn System, time: f64, x: &[f64]) -> Option<Modes> {
    let size = system.size();
    if size == 0 || size > MOST_MODES {
        return None;
    }
    let dense = dense_jacobian(system, time, x).ok()?;
    let nominal: Vec<f64> = (0..size).map(|i| system.nominal(i)).collect();
    Modes::new(&dense, &nominal).ok()
}

/// Looks at a circuit and chooses.
pub fn choose(view: &mut View, step: f64) -> Choice {
    let x = view.x();
    let start = view.plan().start;
    let count = view.size();
    let choice = |method, why: String| Choice { method, why };
    if view.has_discrete_parts() {
        return choice(
            SolverKind::Tlm,
            "lines keep their delay or blocks advance in steps, and the wave method is exact there"
                .to_owned(),
        );
    }
    let Some(modes) = modes_at(view, start, &x) else {
        return choice(
            SolverKind::Tlm,
            format!("with {count} states, components that solve themselves in steps are fastest"),
        );
    };
    let limit =
        modes.largest_stable_step(ExplicitMethod::RungeKutta4).map_or(0.0, |stable| stable.step);
    let fastest = modes.modes().first().map_or(0.0, |mode| mode.natural_frequency());
    if step <= 0.5 * limit {
        choice(
            SolverKind::Rk4,
            format!(
                "the step of {} is well below the stability limit of {} at the start",
                seconds(step),
                if limit.is_finite() { seconds(limit) } else { "no mode at all".to_owned() }
            ),
        )
    } else {
        choice(
            SolverKind::Rosenbrock,
            format!(
                "the fastest mode has a time constant of {}: an explicit solver would need steps \
                 below {}",
                seconds(1.0 / fastest),
                seconds(limit)
            ),
        )
    }
}

/// Chooses small volumes and builds what the solver sees.
pub fn set_up<'p>(
    mut view: View<'p>,
    kind: SolverKind,
    settings: &SolverSettings,
    step: f64,
) -> Result<Setup<'p>, Diagnostic> {
    let (kind, why) = match kind {
        SolverKind::Auto => {
            let choice = choose(&mut view, step);
            // The caller asks `choose` first where the wave method is an option.
            let kind = match choice.method {
                SolverKind::Tlm => SolverKind::Sdirk2,
                other => other,
            };
            (kind, Some(choice.why))
        }
        kind => (kind, None),
    };
    let Some(method) = method_of(kind) else {
        let message = "the wave method does not see the lumped view";
        return Err(Diagnostic::error(Code::UnknownSetting, message)
            .on(Place::setting("solver.method"))
            .help("take a solver of lumped circuits, such as `sdirk2`"));
    };
    let mut warnings = Diagnostics::new();
    let options = Options {
        step,
        relative_tolerance: settings.relative_tolerance,
        absolute_tolerance: settings.absolute_tolerance,
        max_step: settings.max_step.unwrap_or(f64::INFINITY),
        min_step: settings.min_step,
        ..Options::default()
    };
    let strategy = strategy(settings.small_volumes);
    let mut small = Vec::new();
    let machine = if strategy == SmallVolumes::Integrate {
        Machine::Whole(Box::new(view))
    } else {
        if strategy.is_held() && method.is_adaptive() {
            let message = format!(
                "pseudo-dynamic volumes are held over a step, and `{method}` chooses its steps by \
                 an error that they would spoil"
            );
            return Err(Diagnostic::error(Code::UnknownSetting, message)
                .on(Place::setting("solver.small_volumes"))
                .help("take small_volumes = \"algebraic\", or a solver with a fixed step: rk4"));
        }
        let found = small_volumes(&mut view, settings, step, &mut warnings)?;
        let fast: Vec<Fast> = found
            .iter()
            .map(|one| {
                let volume = view.volumes.iter().find(|v| v.state == one.state);
                Fast { state: one.state, volume: volume.map_or(1e-6, |v| v.volume) }
            })
            .collect();
        for (one, fast) in found.iter().zip(&fast) {
            let name = view.states[one.state].name.clone();
            small.push((name, one.time_constant, fast.volume));
        }
        let pressures: Vec<usize> = view.volumes.iter().map(|v| v.state).collect();
        let x = view.x();
        let inner = Settings {
            strategy,
            pseudo_volume: (settings.pseudo_volume > 0.0).then_some(settings.pseudo_volume),
            inner_step: settings.inner_step,
            inner_method: match settings.inner_method {
                InnerKind::Euler => InnerMethod::Euler,
                InnerKind::Rk4 => InnerMethod::RungeKutta4,
                InnerKind::ModifiedHeun => InnerMethod::ModifiedHeun,
            },
            tolerance_high: settings.tolerance_high,
            tolerance_low: settings.tolerance_low,
            low_pressure_limit: settings.low_pressure_limit,
            longest_inner_time: settings.max_inner_time,
            ..Settings::default()
        };
        let reduced = Reduced::new(view, inner, &fast, &pressures, &x).map_err(|unsuitable| {
            Diagnostic::error(
                Code::UnknownSetting,
                format!("small volumes cannot be replaced so: {unsuitable:?}"),
            )
            .on(Place::setting("solver.small_volumes"))
        })?;
        Machine::Reduced(Box::new(reduced), x)
    };
    let mut setup = Setup { machine, method, options, small, why, warnings };
    setup.warn_of_instability(step);
    Ok(setup)
}

fn strategy(kind: SmallVolumeKind) -> SmallVolumes {
    match kind {
        SmallVolumeKind::Integrate => SmallVolumes::Integrate,
        SmallVolumeKind::Pds => SmallVolumes::Pds,
        SmallVolumeKind::AdvPds => SmallVolumes::AdvPds,
        SmallVolumeKind::Algebraic => SmallVolumes::Algebraic,
        SmallVolumeKind::SingularPerturbation => SmallVolumes::SingularPerturbation,
    }
}

/// ∂f_i/∂x_i of all states at the start.
pub fn diagonal(view: &mut View) -> Option<Vec<f64>> {
    let (x, start) = (view.x(), view.plan().start);
    let mut values = vec![0.0; view.pattern().len()];
    view.jacobian(start, &x, &mut values).ok()?;
    let pattern = view.pattern();
    Some((0..view.size()).map(|i| pattern.find(i, i).map_or(0.0, |at| values[at])).collect())
}

/// The volumes to replace: those that are named, or those that are fast against the step.
fn small_volumes(
    view: &mut View,
    settings: &SolverSettings,
    step: f64,
    warnings: &mut Diagnostics,
) -> Result<Vec<SmallState>, Diagnostic> {
    let diagonal = diagonal(view).unwrap_or_else(|| vec![0.0; view.size()]);
    let candidates: Vec<usize> = view.volumes.iter().map(|v| v.state).collect();
    let names = settings.small.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut named = Vec::new();
    for name in names {
        // A component stands for all its volumes.
        let before = named.len();
        named.extend(candidates.iter().copied().filter(|&state| {
            let full = &view.states[state].name;
            full == name || full.rsplit_once('.').is_some_and(|(component, _)| component == name)
        }));
        if named.len() == before {
            let all: Vec<&str> = candidates.iter().map(|&s| view.states[s].name.as_str()).collect();
            let near = nearest(name, all.iter().copied());
            let listed = if near.is_empty() { all } else { near };
            return Err(Diagnostic::error(
                Code::UnknownVariable,
                format!("there is no volume `{name}` to treat as small"),
            )
            .on(Place::setting("solver.small"))
            .help(format!("volumes of this circuit: {}", list_names(listed))));
        }
    }
    if named.is_empty() {
        let judged = small_states(&diagonal, &candidates, Reference::Step(step), SMALL);
        return Ok(judged.into_iter().filter(|one| one.is_small).collect());
    }
    let judged = small_states(&diagonal, &named, Reference::Remaining, NOT_SMALL);
    for one in judged.iter().filter(|one| !one.is_small) {
        let name = &view.states[one.state].name;
        warnings.push(
            Diagnostic::warning(
                Code::VolumeNotSmall,
                format!(
                    "`{name}` settles in {}, the fastest of what remains in {}",
                    seconds(one.time_constant),
                    seconds(one.reference)
                ),
            )
            .on(Place::component(
                name.rsplit_once('.').map_or(name.as_str(), |(component, _)| component),
            ))
            .help("integrate it, or check the result against `small_volumes = \"integrate\"`"),
        );
    }
    Ok(judged)
}

impl Setup<'_> {
    /// Warns of an explicit step that cannot be stable.
    fn warn_of_instability(&mut self, step: f64) {
        let Some(explicit) = explicit(self.method) else { return };
        let start = self.machine.view().plan().start;
        let x = self.machine.start();
        let Some(modes) = modes_at(&mut self.machine, start, &x) else { return };
        let Ok(stable) = modes.largest_stable_step(explicit) else { return };
        if step <= stable.step {
            return;
        }
        let culprit = stable.mode.and_then(|mode| {
            let (state, _) = *modes.modes()[mode].participation.first()?;
            let whole = self.machine.whole_state(state);
            Some(self.machine.view().states[whole].name.clone())
        });
        let by = culprit.map_or(String::new(), |name| format!(" by `{name}`"));
        self.warnings.push(
            Diagnostic::warning(
                Code::UnstableStep,
                format!(
                    "`{}` is stable up to steps of {} at the start{by}, but the step is {}",
                    self.method,
                    seconds(stable.step),
                    seconds(step)
                ),
            )
            .on(Place::setting("run.step"))
            .help(
                "take a smaller step, `sdirk2` or `rosenbrock`, or small_volumes = \"algebraic\"",
            ),
        );
    }
}
