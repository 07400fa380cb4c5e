//! How stiff a circuit is at an operating point: its modes, the steps that explicit solvers can take,
//! and what small volumes cost.

use crate::display::time as in_words;
use crate::session::{Engine, Session};
use fluxline_core::settings::SolverKind;
use fluxline_core::state::State;
use fluxline_diagnostics::{Code, Diagnostic, Place};
use fluxline_lumped::setup::{MOST_MODES, SMALL, dense_jacobian, modes_at};
use fluxline_lumped::view::{StateInfo, View};
use fluxline_ode::modes::{ExplicitMethod, Kind, Mode, Modes, NoModes, StableStep};
use fluxline_ode::small::{Reference, SmallState, small_states};
use fluxline_ode::{System, Trouble};

/// A volume is small when it settles in this part of the time of the fastest mode that is left
/// without it: one order of magnitude (Åman, thesis, Lappeenranta University of Technology, 2011, section 2.3).
const SMALL_AGAINST_THE_REST: f64 = 0.1;
/// So many sets of volumes are looked at.
const MOST_SETS: usize = 20;
/// The limit of modified Heun takes some hundred eigenvalue problems; beyond so many states it is
/// left out.
const MOST_FOR_COUPLINGS: usize = 120;
/// Modes that are so many times as fast right next to the point are told.
const ANOTHER_WORLD: f64 = 10.0;
/// An explicit step within this part of the limit leaves room for modes that become faster.
const COMFORTABLE: f64 = 0.5;

/// A state to look at.
#[derive(Clone, Debug)]
pub struct Point {
    /// Time, s.
    pub time: f64,
    /// The state of the plan.
    pub state: State<f64>,
}

/// The longest stable step of an explicit solver.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The solver.
    pub method: ExplicitMethod,
    /// The limit; none where it was not looked for.
    pub stable: Option<StableStep>,
}

/// The pressure of a volume of oil as a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// Which state.
    pub state: usize,
    /// Its name.
    pub name: String,
    /// Volume at the start, m³.
    pub volume: f64,
    /// −1/J_ii, s: in this time the pressure follows its neighbours.
    pub time_constant: f64,
    /// At least ten times as fast as what is left without the small ones.
    pub is_small: bool,
    /// Taken for small by solvers when no volume is named: fast against the step of the file.
    pub is_small_at_step: bool,
    /// For a small one, the limit of RK4 when it and the faster ones are in their steady state, s.
    pub limit_without: Option<f64>,
}

/// What was found at a point.
#[derive(Clone, Debug)]
pub struct Stiffness {
    /// Time, s.
    pub time: f64,
    /// The states, in the order in which modes count them.
    pub states: Vec<StateInfo>,
    /// Their values.
    pub values: Vec<f64>,
    /// The modes, the fastest first.
    pub modes: Modes,
    /// Of each explicit solver.
    pub limits: Vec<Limit>,
    /// Volumes, the fastest first.
    pub volumes: Vec<Volume>,
    /// 1/|λ| of the fastest mode right next to the point, s, where that is a different world: slopes of
    /// square roots at zero pressure drop are infinite, and laws that jump have two.
    pub beside: Option<f64>,
    /// Lines keep their delay, or blocks advance in main steps: not part of the modes.
    pub has_discrete_parts: bool,
    /// Step of the file, s.
    pub step: f64,
}

/// The name of an explicit solver as a user writes it.
pub fn solver_name(method: ExplicitMethod) -> &'static str {
    match method {
        ExplicitMethod::Euler => SolverKind::Euler,
        ExplicitMethod::Heun => SolverKind::Heun,
        ExplicitMethod::ModifiedHeun => SolverKind::ModifiedHeun,
        ExplicitMethod::RungeKutta4 => SolverKind::Rk4,
    }
    .word()
}

/// The start of the circuit, at rest where the file or the caller asks for it.
pub fn beginning(session: &Session, at_rest: bool) -> Result<Point, Diagnostic> {
    let (state, _) = session.beginning(at_rest)?;
    Ok(Point { time: session.plan().start, state })
}

/// The state at a time, or at the first step after it; the end of the run moves there.
pub fn advance(session: &mut Session, from: Point, until: f64) -> Result<Point, Diagnostic> {
    let state = session.advance(from.state, until)?;
    let plan = session.plan();
    let steps = match session.engine {
        Engine::Variable(_) => session.steps(),
        Engine::Fixed(_) | Engine::Lumped(..) => state.step,
    };
    Ok(Point { time: plan.start + steps as f64 * plan.step, state })
}

/// Looks at a circuit at a point.
pub fn look(session: &Session, point: &Point) -> Result<Stiffness, Diagnostic> {
    let plan = session.plan();
    let mut view = View::of(plan)?;
    view.restart_from(&point.state);
    let mut x = view.x();
    let has_discrete_parts = view.has_discrete_parts();
    if !has_discrete_parts {
        // Onto stops, and stuck where friction holds; what advances in steps stays where it is.
        view.settle(point.time, &mut x);
    }
    let size = view.size();
    if size > MOST_MODES {
        let message =
            format!("the circuit has {size} states; eigenvalues are looked for up to {MOST_MODES}");
        return Err(Diagnostic::error(Code::SolverFailed, message)
            .help("look at a part of the circuit, or run it with the wave method"));
    }
    let jacobian = dense_jacobian(&mut view, point.time, &x)
        .map_err(|trouble| no_derivative(&view, point.time, trouble))?;
    let nominal: Vec<f64> = (0..size).map(|state| view.nominal(state)).collect();
    let modes = Modes::new(&jacobian, &nominal).map_err(|cause| match cause {
        NoModes::NotFinite(state, _) => no_derivative(&view, point.time, Trouble::NotFinite(state)),
        _ => Diagnostic::error(
            Code::SolverFailed,
            format!("the eigenvalues at t = {} were not found", in_words(point.time)),
        )
        .help("look at another point: --at TIME, --steady"),
    })?;
    let limits = ExplicitMethod::ALL
        .into_iter()
        .map(|method| Limit {
            method,
            stable: match method {
                ExplicitMethod::ModifiedHeun if size > MOST_FOR_COUPLINGS => None,
                _ => modes.largest_stable_step(method).ok(),
            },
        })
        .collect();
    let beside = beside(&mut view, point.time, &x, &modes);
    let diagonal: Vec<f64> = (0..size).map(|i| jacobian[i * size + i]).collect();
    let volumes = volumes(&view, &modes, &diagonal, plan.step);
    let states = view.states.clone();
    Ok(Stiffness {
        time: point.time,
        states,
        values: x,
        modes,
        limits,
        volumes,
        beside,
        has_discrete_parts,
        step: plan.step,
    })
}

/// Looks a millionth of what matters beside the point, to both sides, and by a different amount for
/// each state so that no difference of two of them stays zero.
fn beside(view: &mut View, time: f64, x: &[f64], modes: &Modes) -> Option<f64> {
    let rate = |modes: &Modes| modes.modes().first().map_or(0.0, Mode::natural_frequency);
    let fastest = [1e-6, -1e-6].into_iter().filter_map(|shift| {
        let shifted = x.iter().enumerate().map(|(i, value)| {
            let part = 1.0 + (i as f64 + 1.0).sin() / 2.0;
            value + shift * part * view.nominal(i)
        });
        let shifted: Vec<f64> = shifted.collect();
        modes_at(view, time, &shifted).as_ref().map(rate)
    });
    let fastest = fastest.fold(0.0, f64::max);
    (fastest > ANOTHER_WORLD * rate(modes)).then(|| 1.0 / fastest)
}

/// A law without a finite slope at the point, such as a turbulent orifice without pressure drop.
fn no_derivative(view: &View, time: f64, trouble: Trouble) -> Diagnostic {
    let at = in_words(time);
    let (message, component) = match trouble {
        Trouble::NotFinite(state) => {
            let info = &view.states[state];
            let message =
                format!("`{}` has no finite rate of change or slope at t = {at}", info.name);
            (message, Some(view.plan().name(info.component)))
        }
        Trouble::NoSolution { equation, residual } => {
            let names = match equation < view.cluster_count() {
                true => format!(" between {}", view.cluster_name(equation)),
                false => String::new(),
            };
            (
                format!("the equations{names} have no solution at t = {at}: {residual:e} is left"),
                None,
            )
        }
    };
    let problem = Diagnostic::error(Code::SolverFailed, message);
    let problem = match component {
        Some(name) => problem
            .on(Place::component(name))
            .note("likely cause: a square root at zero pressure drop, whose slope is infinite")
            .help("give orifices a laminar range"),
        None => problem,
    };
    problem.help("look at another point: --at TIME or --steady")
}

/// Volumes with the time constants −1/J_ii, and which of them are small: those that settle at least
/// ten times as fast as the fastest mode that is left when all of them are in their steady state.
/// The diagonal alone would not see that pressures and masses swing together.
fn volumes(view: &View, modes: &Modes, diagonal: &[f64], step: f64) -> Vec<Volume> {
    let all: Vec<usize> = view.volumes.iter().map(|volume| volume.state).collect();
    let found: Vec<SmallState> = small_states(diagonal, &all, Reference::Step(step), SMALL);
    let fast: Vec<&SmallState> = found.iter().filter(|one| one.time_constant.is_finite()).collect();
    let without = |count: usize| {
        let gone: Vec<usize> = fast[..count].iter().map(|one| one.state).collect();
        modes.without(&gone).ok()
    };
    // A set of small volumes ends at a gap in time constants: the widest gaps are looked at.
    let gap = |count: usize| match fast.get(count) {
        Some(next) => next.time_constant / fast[count - 1].time_constant,
        None => f64::INFINITY,
    };
    let mut counts: Vec<usize> = (1..=fast.len()).collect();
    counts.sort_by(|&a, &b| gap(b).total_cmp(&gap(a)));
    counts.truncate(MOST_SETS);
    counts.sort_unstable();
    let is_small = |count: &usize| {
        let Some(left) = without(*count) else { return false };
        let fastest = left.modes().iter().find(|mode| mode.kind != Kind::Constant);
        fastest.is_some_and(|mode| {
            let remaining = 1.0 / mode.natural_frequency();
            fast[*count - 1].time_constant <= SMALL_AGAINST_THE_REST * remaining
        })
    };
    let small = counts.into_iter().rev().find(is_small).unwrap_or(0);
    let limit_without = |count: usize| {
        Some(without(count)?.largest_stable_step(ExplicitMethod::RungeKutta4).ok()?.step)
    };
    found
        .iter()
        .enumerate()
        .map(|(place, one)| {
            let volume = view.volumes.iter().find(|volume| volume.state == one.state);
            let is_small = place < small;
            // Those in the middle of many are not worth an eigenvalue problem each.
            let is_looked_at = is_small && (place < MOST_SETS || place + 1 == small);
            Volume {
                state: one.state,
                name: view.states[one.state].name.clone(),
                volume: volume.map_or(f64::NAN, |volume| volume.volume),
                time_constant: one.time_constant,
                is_small,
                is_small_at_step: one.is_small,
                limit_without: if is_looked_at { limit_without(place + 1) } else { None },
            }
        })
        .collect()
}

impl Stiffness {
    /// The fastest mode.
    pub fn fastest(&self) -> Option<&Mode> {
        self.modes.modes().first().filter(|mode| mode.kind != Kind::Constant)
    }

    /// 1/|λ| of the fastest mode, s; infinite where nothing moves.
    pub fn fastest_time(&self) -> f64 {
        self.fastest().map_or(f64::INFINITY, |mode| 1.0 / mode.natural_frequency())
    }

    /// The longest stable step of a solver, s; infinite without limit.
    pub fn limit(&self, method: ExplicitMethod) -> Option<f64> {
        let limit = self.limits.iter().find(|limit| limit.method == method)?;
        Some(limit.stable?.step)
    }

    /// The state that takes most part in the mode that sets a limit.
    pub fn culprit(&self, stable: &StableStep) -> Option<&StateInfo> {
        let mode = self.modes.modes().get(stable.mode?)?;
        self.states.get(mode.participation.first()?.0)
    }

    /// The limit of RK4 with all small volumes in their steady state, s; none without small volumes.
    pub fn limit_without_small(&self) -> Option<f64> {
        self.volumes.iter().rev().find_map(|volume| volume.limit_without)
    }

    /// Names of the small volumes.
    pub fn small(&self) -> Vec<&str> {
        let small = self.volumes.iter().filter(|volume| volume.is_small);
        small.map(|volume| volume.name.as_str()).collect()
    }

    /// Which solver suits, and why.
    pub fn advice(&self) -> String {
        let step = in_words(self.step);
        if self.has_discrete_parts {
            return "lines keep their delay or blocks advance in steps, where the wave method is \
                    exact: `--solver tlm`"
                .to_owned();
        }
        if let Some(beside) = self.beside {
            return format!(
                "right next to this point the fastest 1/|λ| is {}: look at another one, --at TIME \
                 or --steady, and take `--solver rosenbrock` or `--solver sdirk2` until then",
                in_words(beside)
            );
        }
        let limit = self.limit(ExplicitMethod::RungeKutta4).unwrap_or(0.0);
        if limit.is_infinite() {
            return format!("no mode limits the step: `--solver rk4` at the step of {step}");
        }
        if self.step <= COMFORTABLE * limit {
            return format!(
                "`--solver rk4` suits: the step of {step} is {} of its limit",
                percent(self.step / limit)
            );
        }
        let implicit = "`--solver rosenbrock`, or `--solver sdirk2` where the step must be fixed";
        match self.limit_without_small() {
            Some(without) if self.step <= COMFORTABLE * without => {
                let by_itself =
                    self.volumes.iter().all(|volume| volume.is_small_at_step || !volume.is_small);
                let named = match by_itself {
                    true => String::new(),
                    false => format!(" --set \"solver.small={}\"", self.small().join(", ")),
                };
                format!(
                    "small volumes make it stiff: `--solver rk4 --small-volumes algebraic{named}` \
                     goes up to {}; otherwise {implicit}",
                    in_words(without)
                )
            }
            _ => {
                format!("an explicit solver needs steps below {}: take {implicit}", in_words(limit))
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{} %", crate::display::rounded(100.0 * share, 2))
}
