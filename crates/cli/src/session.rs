//! A circuit that has been read, checked and planned, and its runs.

use crate::commands::INTERRUPTED;
use crate::display::{quantity, time};
use crate::import;
use fluxline_core::circuit::{Circuit, Instance, Pattern, Registry, Source};
use fluxline_core::declare::{ANY_UNIT, Causality};
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling, Sink, choose};
use fluxline_core::run::{self, Ended, Outcome, Progress};
use fluxline_core::settings::{Begin, Fused as FusedChoice, SolverKind, StepControl};
use fluxline_core::start::{Rest, come_to_rest};
use fluxline_core::state::State;
use fluxline_core::variable::{Ladder, StepUse};
use fluxline_core::variables::{Entry, Variable, Variables};
use fluxline_diagnostics::{
    Code, Diagnostic, Diagnostics, Place, SourceMap, Span, list_names, nearest,
};
use fluxline_formats::{Draft, Loaded, Override};
use fluxline_fused::choice::{self, OwnCode, WhyNot};
use fluxline_fused::compiler::{Made, NotCompiled};
use fluxline_lumped::run::Effort;
use fluxline_lumped::setup::{self, Setup};
use fluxline_lumped::view::View;
use fluxline_parallel::cut::Cut;
use fluxline_parallel::rare::RareCut;
use fluxline_parallel::threads::{self, Manner, SplitError};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A circuit that is ready to run.
pub struct Session {
    /// The component types.
    pub registry: Registry,
    /// The file as its user named it.
    pub name: String,
    /// What the file describes.
    pub circuit: Circuit,
    /// What steps it.
    pub engine: Engine,
    /// All files that were read.
    pub sources: SourceMap,
    /// Warnings found on the way.
    pub warnings: Diagnostics,
    /// Why the wave method, where the choice was left open.
    pub choice: Option<String>,
    /// How it is run in parts, or why it is not, where that was asked for.
    pub parallel: Option<Parallel>,
}

/// A run in parts, side by side on threads.
pub enum Parallel {
    /// In one piece after all, and why.
    No(String),
    /// In parts.
    Parts(Box<Parts>),
}

/// A circuit in parts.
pub struct Parts {
    /// The plan in parts.
    pub pieces: Pieces,
    /// What they run on.
    pub on: On,
    /// Why so many, where the choice was left open.
    pub why: Option<String>,
}

/// Waves in fixed or variable steps, or a solver of the lumped view.
pub enum Engine {
    /// One plan.
    Fixed(Box<Plan>),
    /// One plan per size of step.
    Variable(Box<Ladder>),
    /// One plan, seen without waves.
    Lumped(Box<Plan>, Solver),
}

/// A solver of the lumped view.
#[derive(Clone, Debug, PartialEq)]
pub struct Solver {
    /// Which.
    pub method: SolverKind,
    /// Why, where the choice was left open.
    pub why: Option<String>,
    /// Volumes that are replaced by their steady state: name, time constant (s), volume (m³).
    pub small: Vec<(String, f64, f64)>,
}

impl Parts {
    /// The parts.
    pub fn cut(&self) -> &Cut {
        match &self.pieces {
            Pieces::Exact(cut) => cut,
            Pieces::Rare(rare) => &rare.split,
        }
    }
}

/// A plan in parts.
pub enum Pieces {
    /// That exchange every step: the same bits as in one piece.
    Exact(Cut),
    /// That exchange rarely.
    Rare(RareCut),
}

/// What parts run on.
pub enum On {
    /// Threads of this process.
    Threads(Manner),
    /// Ranks of an MPI job.
    #[cfg(feature = "mpi")]
    Ranks(Rc<fluxline_parallel::mpi::Ranks>),
}

/// Why a circuit cannot be run, with the files that the problems point at.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Errors and warnings.
    pub problems: Diagnostics,
    /// The files.
    pub sources: SourceMap,
}

impl From<Diagnostic> for Failure {
    /// A problem without a place in a file.
    fn from(problem: Diagnostic) -> Self {
        Self { problems: problem.into(), sources: SourceMap::new() }
    }
}

/// What to record, where it differs from the circuit file.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Patterns of names in place of those in the file; empty keeps them.
    pub record: Vec<String>,
    /// So many samples.
    pub samples: Option<usize>,
    /// Every so many steps instead.
    pub every: Option<u64>,
}

/// What will be recorded.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The variables, in the order of the columns of result files.
    pub variables: Vec<Variable>,
    /// Which steps.
    pub sampling: Sampling,
}

/// Follows a run.
pub trait Watcher {
    /// Called now and then; false stops the run.
    fn go_on(&mut self, progress: Progress) -> bool;
}

/// Follows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Watcher for Quiet {
    fn go_on(&mut self, _: Progress) -> bool {
        true
    }
}

/// First, smallest, largest and last recorded value of a variable, in SI units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremes {
    /// First.
    pub start: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Last.
    pub end: f64,
}

/// Code of its own that a circuit was run with.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// Who made it, and what it took.
    pub made: Made,
    /// Components that the engine has stepped all the same.
    pub by_engine: Vec<String>,
}

/// A finished run.
pub struct Completed<'a> {
    /// What was recorded.
    pub recorder: Recorder<'a>,
    /// Of each recorded variable; empty when nothing was recorded.
    pub extremes: Vec<Extremes>,
    /// The last state; of a run that diverged, that of the last good step.
    pub state: State<f64>,
    /// How it ended, and its judgement.
    pub outcome: Outcome,
    /// How it came to rest before it began, if asked to.
    pub rest: Option<Rest>,
    /// What a variable step did.
    pub step_use: Option<StepUse>,
    /// What a solver of the lumped view did.
    pub effort: Option<Effort>,
    /// The circuit's own code, where it was used.
    pub fused: Option<Compiled>,
    /// A warning where it was wanted and could not be had.
    pub no_own_code: Option<Diagnostic>,
    /// The error of lines between parts that exchange rarely.
    pub split_error: Option<SplitError>,
    /// Time spent on the steps.
    pub wall: Duration,
    /// The error, unless it ran to its end.
    pub failure: Option<Diagnostic>,
    /// Why a sink did not take all rows.
    pub sink_failure: Option<io::Error>,
    /// Rows of the recorder that are good: those before a divergence.
    pub rows: usize,
}

impl Completed<'_> {
    /// Recorded times, s; empty when rows are not kept in memory.
    pub fn times(&self) -> Vec<f64> {
        let mut times = self.recorder.times();
        times.truncate(self.rows);
        times
    }

    /// A recorded variable, in SI units.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let mut values = self.recorder.column(name)?;
        values.truncate(self.rows);
        Some(values)
    }

    /// Simulated time over time spent.
    pub fn real_time_factor(&self) -> f64 {
        self.outcome.verdict.simulated / self.wall.as_secs_f64().max(1e-9)
    }

    /// How it ended, in a word that scripts can rely on.
    pub fn ended(&self) -> &'static str {
        if self.rest.as_ref().is_some_and(|rest| !rest.reached) {
            return "not_at_rest";
        }
        match self.outcome.ended {
            Ended::Done => "done",
            Ended::Diverged(_) => "diverged",
            Ended::Unconverged { .. } => "not_converged",
            Ended::Failed(_) => "solver_failed",
            Ended::Stopped { .. } => "stopped",
            Ended::Interrupted { .. } => "interrupted",
            Ended::SinkFailed => "not_written",
        }
    }
}

impl Session {
    /// Reads and plans a circuit file, or a model of Hopsan.
    pub fn open(path: impl AsRef<Path>, overrides: &[Override]) -> Result<Self, Failure> {
        let path = path.as_ref();
        let registry = crate::registry();
        let name = path.display().to_string();
        let loaded = match import::is_model(path) {
            true => import::load(path, &registry, overrides)?,
            false => fluxline_formats::load_file(path, &registry, overrides),
        };
        Self::plan_it(registry, name, loaded)
    }

    /// Reads and plans a circuit given as text; files that it names are looked for in the current
    /// folder.
    pub fn from_text(name: &str, text: &str, overrides: &[Override]) -> Result<Self, Failure> {
        let registry = crate::registry();
        let loaded = fluxline_formats::load_text(name, text, "", &registry, overrides);
        Self::plan_it(registry, name.to_owned(), loaded)
    }

    fn plan_it(registry: Registry, name: String, loaded: Loaded) -> Result<Self, Failure> {
        let Loaded { circuit, draft, places, diagnostics: mut problems, sources } = loaded;
        let fail = |problems: Diagnostics, sources: SourceMap| {
            Err(Failure { problems: at_settings(problems, &places), sources })
        };
        let Some(circuit) = circuit else {
            // What else is wrong is told in the same breath.
            if let Some(draft) = draft {
                let Draft { circuit, is_whole } = draft;
                let found = Plan::check_structure(&circuit, &registry, is_whole);
                problems.extend(found.iter().filter(|problem| problem.is_error()).cloned());
                let known = match is_whole {
                    true => Known::Components,
                    false => Known::Some,
                };
                check_names(&circuit, &declared_variables(&circuit), known, &mut problems);
            }
            return fail(problems, sources);
        };
        let planned = Plan::of(&circuit, &registry);
        problems.absorb(planned.problems);
        let Some(plan) = planned.plan else {
            check_names(&circuit, &declared_variables(&circuit), Known::Components, &mut problems);
            return fail(problems, sources);
        };
        check_names(&circuit, &plan.variables, Known::All, &mut problems);
        warn_unused_signals(&circuit, &plan, &mut problems);
        let mut choice = None;
        let engine = match circuit.run.step_control {
            _ if circuit.solver.method != SolverKind::Tlm => {
                let engine =
                    lumped(&circuit, plan).map_err(|problem| at_its_component(&circuit, problem));
                problems.take(engine).map(|(engine, why, warnings)| {
                    problems.absorb(warnings);
                    choice = why;
                    engine
                })
            }
            StepControl::Fixed => Some(Engine::Fixed(Box::new(plan))),
            StepControl::Variable => match Ladder::new(&circuit, &registry) {
                Ok(ladder) => Some(Engine::Variable(Box::new(ladder))),
                Err(found) => {
                    problems.absorb(found);
                    None
                }
            },
        };
        match engine {
            Some(engine) if !problems.has_errors() => {
                let parallel = None;
                let warnings = problems;
                Ok(Self { registry, name, circuit, engine, sources, warnings, choice, parallel })
            }
            _ => fail(problems, sources),
        }
    }

    /// The plan; with a variable step that of the smallest.
    pub fn plan(&self) -> &Plan {
        match &self.engine {
            Engine::Fixed(plan) | Engine::Lumped(plan, _) => plan,
            Engine::Variable(ladder) => ladder.finest(),
        }
    }

    /// Steps of the whole run; with a variable step as many as of the smallest.
    pub fn steps(&self) -> u64 {
        self.circuit.run.steps(self.plan().step)
    }

    /// Chooses what to record: what the file or the caller asks for, and what the file plots.
    pub fn recording(&self, wanted: &Recording) -> Result<Chosen, Diagnostics> {
        let plan = self.plan();
        let given: Vec<Pattern> = wanted.record.iter().map(Pattern::new).collect();
        let mut patterns = if given.is_empty() { self.circuit.record.clone() } else { given };
        if !patterns.is_empty() {
            let plotted = self.circuit.plots.iter().flat_map(|plot| &plot.variables);
            patterns.extend(plotted.cloned());
        }
        let (variables, unused) = choose(plan, &patterns);
        let problems: Diagnostics = unused
            .into_iter()
            .map(|pattern| unmatched(Code::RecordMatchesNothing, pattern, &plan.variables))
            .collect();
        let settings = &self.circuit.recording;
        let sampling = match (wanted.every, wanted.samples, settings.every) {
            (Some(every), ..) => Sampling::Every(every.max(1)),
            (None, Some(samples), _) => Sampling::Even(samples.max(2)),
            (None, None, every) if every > 0 => Sampling::Every(every as u64),
            _ => match settings.start {
                None => Sampling::Even(settings.samples),
                Some(start) => {
                    let first = ((start - plan.start) / plan.step).round().max(0.0) as u64;
                    Sampling::EvenFrom { samples: settings.samples, first }
                }
            },
        };
        problems.into_result(Chosen { variables, sampling })
    }

    /// The variables that patterns ask for; without any, those that are recorded by default.
    pub fn variables(&self, patterns: &[Pattern]) -> Result<Vec<Variable>, Diagnostics> {
        let plan = self.plan();
        let (variables, unused) = choose(plan, patterns);
        let problems: Diagnostics = unused
            .into_iter()
            .map(|pattern| unmatched(Code::UnknownVariable, pattern, &plan.variables))
            .collect();
        problems.into_result(variables)
    }

    /// Whether a variable is a signal, whose unit is that of whatever it stands for.
    pub fn is_signal(&self, variable: &str) -> bool {
        let variables = &self.plan().variables;
        let Some((component, name)) = variable.rsplit_once('.') else { return false };
        let Some(&index) = variables.by_name.get(component) else { return false };
        let declaration = variables.entries[index].declaration;
        let named = declaration.outputs.iter().chain(declaration.states);
        let mut units = named
            .map(|v| (v.name, v.unit))
            .chain(declaration.inputs().map(|(_, p)| (p.name, p.unit)));
        units.any(|(one, unit)| one == name && unit == ANY_UNIT)
    }

    /// Runs from the start, or from a saved state, to the end. Rows also go to the sinks.
    pub fn run<'a>(
        &self,
        chosen: Chosen,
        from: Option<State<f64>>,
        sinks: Vec<Box<dyn Sink + 'a>>,
        watcher: &mut dyn Watcher,
    ) -> Completed<'a> {
        let plan = self.plan();
        let steps = self.steps();
        let width = chosen.variables.len() + 1;
        let held = Rc::new(RefCell::new(Held { width, sinks, ..Held::default() }));
        let mut recorder = Recorder::new(chosen.variables, chosen.sampling, steps)
            .with_sink(Box::new(Shared(held.clone())));
        let is_fresh = from.is_none();
        let mut state = from.unwrap_or_else(|| plan.initial.clone());
        let run = &self.circuit.run;
        let rest = (run.begin == Begin::Rest && is_fresh).then(|| {
            let steps = self.steps();
            let at_start = Progress { step: 0, steps, time: plan.start };
            come_to_rest(plan, &mut state, run.rest_limit, run.rest_tolerance, || {
                watcher.go_on(at_start)
            })
        });
        if let Some(rest) = rest.as_ref().filter(|rest| !rest.reached) {
            let failure = self.not_at_rest(rest);
            return Completed {
                recorder,
                extremes: Vec::new(),
                state,
                outcome: Outcome { ended: Ended::Done, verdict: Default::default() },
                rest: Some(rest.clone()),
                step_use: None,
                effort: None,
                fused: None,
                no_own_code: None,
                split_error: None,
                wall: Duration::ZERO,
                failure: Some(failure),
                sink_failure: None,
                rows: 0,
            };
        }
        let own_code = match &self.engine {
            Engine::Fixed(plan) if !matches!(self.parallel, Some(Parallel::Parts(_))) => {
                let at_start = Progress { step: state.step, steps, time: state.time };
                let mut go_on = || watcher.go_on(at_start);
                self.fused(plan, &state, &recorder.variables, steps, &mut go_on)
            }
            _ => None,
        };
        let (mut fused, no_own_code) = match own_code {
            Some(Ok(code)) => (Some(code), None),
            Some(Err(why)) => (None, self.missed(&why)),
            None => (None, None),
        };
        let begun = Instant::now();
        // The engine calls after it has looked at the state and found it sound.
        let mut go_on = |progress: Progress| {
            held.borrow_mut().release(f64::INFINITY) && watcher.go_on(progress)
        };
        let mut split_error = None;
        let (mut outcome, step_use, effort) = match &self.engine {
            Engine::Fixed(plan) => {
                let recorder = &mut recorder;
                let outcome = match (&self.parallel, &mut fused) {
                    (Some(Parallel::Parts(parts)), _) => {
                        let (outcome, error) =
                            in_parts(plan, parts, &mut state, steps, recorder, go_on);
                        split_error = error;
                        outcome
                    }
                    (_, Some(code)) => {
                        run::run_by(code, plan, &mut state, steps, recorder, true, go_on)
                    }
                    _ => run::run(plan, &mut state, steps, recorder, true, go_on),
                };
                (outcome, None, None)
            }
            Engine::Variable(ladder) => {
                let (outcome, step_use) = ladder.run(&mut state, run.stop, &mut recorder, go_on);
                (outcome, Some(step_use), None)
            }
            Engine::Lumped(plan, solver) => match self.set_up(plan, solver.method) {
                Ok(mut setup) => {
                    let (outcome, effort) = fluxline_lumped::run::run(
                        &mut setup,
                        &mut state,
                        steps,
                        &mut recorder,
                        &mut go_on,
                    );
                    (outcome, None, Some(effort))
                }
                // Planning has set it up before.
                Err(_) => {
                    let ended = Ended::Interrupted { time: plan.start };
                    (Outcome { ended, verdict: Default::default() }, None, None)
                }
            },
        };
        let wall = begun.elapsed();
        let mut held = held.borrow_mut();
        held.release(match (&outcome.ended, &self.engine) {
            (Ended::Diverged(found), Engine::Fixed(_) | Engine::Lumped(..)) => found.last_good_time,
            (Ended::Diverged(_), Engine::Variable(_)) => f64::NEG_INFINITY,
            _ => f64::INFINITY,
        });
        if held.failure.is_some() {
            outcome.ended = Ended::SinkFailed;
        }
        Completed {
            failure: self.failure(&outcome.ended),
            recorder,
            extremes: std::mem::take(&mut held.ranges),
            state,
            outcome,
            rest,
            step_use,
            effort,
            fused: fused.map(|code| Compiled {
                made: *code.made(),
                by_engine: code.engine_steps(plan).into_iter().map(str::to_owned).collect(),
            }),
            no_own_code,
            split_error,
            wall,
            sink_failure: held.failure.take(),
            rows: held.released,
        }
    }

    /// How own code is wanted; none where it is not.
    fn wants_own_code(&self) -> Option<FusedChoice> {
        Some(self.circuit.run.fused).filter(|&fused| fused != FusedChoice::Off)
    }

    /// Whether the run from the start is stepped by own code for components that are alike.
    pub(crate) fn is_fused_alike(&self) -> bool {
        let (plan, steps) = (self.plan(), self.steps());
        self.wants_own_code().is_some_and(|wanted| {
            let start = &plan.initial;
            let go_on = &mut || !INTERRUPTED.load(Ordering::Relaxed);
            let code = choice::alike_for_run(plan, &self.registry, start, steps, wanted, go_on);
            matches!(code, Ok(Some(_)))
        })
    }

    /// Code of its own for the steps from a state to the end, where it is wanted and can be had.
    pub(crate) fn fused(
        &self,
        plan: &Plan,
        state: &State<f64>,
        variables: &[Variable],
        steps: u64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Option<Result<OwnCode, WhyNot>> {
        let wanted = self.wants_own_code()?;
        let steps = steps.saturating_sub(state.step);
        Some(choice::for_run(plan, &self.registry, state, variables, steps, wanted, go_on))
    }

    /// What is said about own code that was asked for, or waited for, and is not there.
    fn missed(&self, why: &WhyNot) -> Option<Diagnostic> {
        let hangs = matches!(why, WhyNot::NotCompiled(NotCompiled::Hangs(..)));
        let is_asked_for = self.wants_own_code().is_some_and(|wanted| wanted != FusedChoice::Auto);
        let is_told = !matches!(why, WhyNot::NotCompiled(NotCompiled::Interrupted));
        (is_told && (hangs || is_asked_for)).then(|| {
            let message = format!("the circuit has no code of its own: {why}");
            Diagnostic::warning(Code::NotCompiled, message)
                .on(Place::setting("run.fused"))
                .note("the engine takes all steps, with the same results")
                .help("let CC name a C compiler, or do without: fused = \"off\"")
        })
    }

    /// The state to begin with: the start values, or the state of rest where the file or the caller
    /// asks for it.
    pub fn beginning(&self, at_rest: bool) -> Result<(State<f64>, Option<Rest>), Diagnostic> {
        let (plan, run) = (self.plan(), &self.circuit.run);
        let mut state = plan.initial.clone();
        if !at_rest && run.begin != Begin::Rest {
            return Ok((state, None));
        }
        let rest = come_to_rest(plan, &mut state, run.rest_limit, run.rest_tolerance, || true);
        match rest.reached {
            true => Ok((state, Some(rest))),
            false => Err(self.not_at_rest(&rest)),
        }
    }

    /// Runs on from a state to a time, or to the first step after it, without recording. A run that
    /// fails gives its error.
    pub fn advance(&mut self, state: State<f64>, until: f64) -> Result<State<f64>, Diagnostic> {
        self.circuit.run.stop = until;
        let nothing = Chosen { variables: Vec::new(), sampling: Sampling::Even(2) };
        let completed = self.run(nothing, Some(state), Vec::new(), &mut Quiet);
        match completed.failure {
            None => Ok(completed.state),
            Some(failure) => Err(failure),
        }
    }

    /// The lumped view of a plan with a solver.
    pub fn set_up<'p>(&self, plan: &'p Plan, method: SolverKind) -> Result<Setup<'p>, Diagnostic> {
        setup::set_up(View::of(plan)?, method, &self.circuit.solver, plan.step)
    }

    fn not_at_rest(&self, rest: &Rest) -> Diagnostic {
        let name = self.plan().name(rest.component);
        let change = if rest.residual.is_finite() {
            format!(
                "`{name}` still changes by {} of its size per second",
                crate::display::number(rest.residual)
            )
        } else {
            format!("`{name}` diverges")
        };
        let problem = Diagnostic::error(
            Code::NotAtRest,
            format!("the circuit did not come to rest within {}: {change}", time(rest.time)),
        );
        self.at_component(problem, name, "changes most")
            .note(format!(
                "at rest nothing changes by more than {} of its size per second",
                crate::display::number(self.circuit.run.rest_tolerance)
            ))
            .help("hold what should stand still, add the missing leakage or damping, or begin with given values: begin = \"values\"")
            .help("a longer time or a looser tolerance may do: `rest_limit`, `rest_tolerance`")
    }

    /// Points at a component in the file, or names it.
    fn at_component(&self, problem: Diagnostic, name: &str, label: &str) -> Diagnostic {
        let found = self.circuit.components.iter().find(|one| one.name == name);
        let line = || {
            let lines = self.circuit.connections.iter().filter_map(|one| one.line.as_ref());
            lines.into_iter().find(|line| line.name == name)
        };
        let problem = problem.on(Place::component(name));
        problem.at_if(found.or_else(line).and_then(|one| one.span), label)
    }

    /// The error that an end stands for.
    fn failure(&self, ended: &Ended) -> Option<Diagnostic> {
        let plan = self.plan();
        Some(match ended {
            Ended::Done | Ended::SinkFailed => return None,
            Ended::Diverged(found) => {
                let became = if found.value.is_nan() {
                    "is no longer a number".to_owned()
                } else if found.value.is_infinite() {
                    "became infinite".to_owned()
                } else {
                    format!("grew to {}", quantity(found.value, found.unit))
                };
                let problem = Diagnostic::error(
                    Code::Diverged,
                    format!("`{}` {became} at t = {}", found.variable, time(found.time)),
                );
                let (cause, cure) = self.likely_cause(&found.component, found.unit);
                let mut problem = self
                    .at_component(problem, &found.component, "the first to go wrong")
                    .note(format!(
                        "the last good step is {} at t = {}, with {} = {}",
                        found.last_good_step,
                        time(found.last_good_time),
                        found.variable,
                        quantity(found.last_value, found.unit)
                    ))
                    .note(format!("likely cause: {cause}"))
                    .help(cure);
                if matches!(self.engine, Engine::Fixed(_)) {
                    let half = time(plan.step / 2.0);
                    problem = problem
                        .help(format!("see whether a smaller step helps: --step \"{half}\""));
                }
                problem
            }
            Ended::Unconverged { component, time: t } => {
                let problem = Diagnostic::error(
                    Code::NotConverged,
                    format!(
                        "the equations of `{component}` have no solution near the last one at t = {}",
                        time(*t)
                    ),
                );
                self.at_component(problem, component, "not converged")
                    .note(format!("likely cause: {}", lower(Code::NotConverged.info().cause)))
                    .help(format!("reduce the step: --step \"{}\"", time(plan.step / 2.0)))
            }
            Ended::Failed(found) => {
                let mut message = format!(
                    "`{}` gave up at t = {}: {}",
                    found.solver,
                    time(found.time),
                    found.what
                );
                if let Some((_, name, unit)) = &found.state {
                    message.push_str(&format!("; worst is `{name}`"));
                    if let Some((residual, allowed)) = found.residual {
                        message.push_str(&format!(
                            ", off by {} where {} is allowed",
                            quantity(residual, unit),
                            quantity(allowed, unit)
                        ));
                    }
                }
                let problem = Diagnostic::error(Code::SolverFailed, message);
                let problem = match &found.state {
                    Some((component, ..)) => self.at_component(problem, component, "here"),
                    None => problem,
                };
                problem
                    .note(format!("the step that failed was {}", time(found.step)))
                    .help("see what limits the step: fluxline stiffness FILE")
                    .help("try `--solver sdirk2` or `--solver tlm`, a smaller step, or `--small-volumes algebraic`")
            }
            Ended::Stopped { component, time: t } => {
                let problem = Diagnostic::error(
                    Code::StoppedByComponent,
                    format!("`{component}` stopped the run at t = {}", time(*t)),
                );
                self.at_component(problem, component, "asked to stop")
            }
            Ended::Interrupted { time: t } => {
                Diagnostic::error(Code::Interrupted, format!("interrupted at t = {}", time(*t)))
            }
        })
    }

    fn likely_cause(&self, component: &str, unit: &str) -> (&'static str, &'static str) {
        let plan = self.plan();
        let declaration =
            plan.variables.by_name.get(component).map(|&i| plan.variables.entries[i].declaration);
        let is_signal = declaration.is_some_and(|d| d.causality == Causality::S);
        match unit {
            _ if is_signal => (
                "a controller whose gain is too high for the delay in its loop",
                "lower the gain, or limit the signal",
            ),
            "Pa" | "m^3/s" | "m³/s" => (
                "a small volume next to a large flow, an oil without a way out, or an unstable control loop",
                "look at the volumes around the component: enlarge the smallest, or reduce the step",
            ),
            "N" | "m/s" | "m" | "N*m" | "rad/s" | "rad" => (
                "a very small mass on a stiff spring, a missing stop or friction, or an unstable control loop",
                "raise the mass, soften the spring, or reduce the step",
            ),
            _ => (
                "values far outside the range for which the component is made",
                "look at what drives the component, or reduce the step",
            ),
        }
    }
}

/// Runs a plan in parts, on threads or ranks.
fn in_parts(
    plan: &Plan,
    parts: &Parts,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    go_on: impl FnMut(Progress) -> bool,
) -> (Outcome, Option<SplitError>) {
    match (&parts.pieces, &parts.on) {
        (Pieces::Exact(cut), On::Threads(manner)) => {
            (threads::run(plan, cut, *manner, state, steps, recorder, true, go_on), None)
        }
        (Pieces::Rare(rare), On::Threads(manner)) => {
            let (outcome, error) =
                threads::run_rarely(plan, rare, *manner, state, steps, recorder, true, go_on);
            (outcome, Some(error))
        }
        #[cfg(feature = "mpi")]
        (Pieces::Exact(cut), On::Ranks(ranks)) => {
            (fluxline_parallel::mpi::run(ranks, plan, cut, state, steps, recorder, go_on), None)
        }
        #[cfg(feature = "mpi")]
        (Pieces::Rare(rare), On::Ranks(ranks)) => {
            let (outcome, error) = fluxline_parallel::mpi::run_rarely(
                ranks, plan, rare, state, steps, recorder, go_on,
            );
            (outcome, Some(error))
        }
    }
}

/// Points at the component that a problem names.
fn at_its_component(circuit: &Circuit, problem: Diagnostic) -> Diagnostic {
    let name = problem.place().and_then(|place| place.component.clone());
    let own = circuit.components.iter().find(|one| Some(&one.name) == name.as_ref());
    match problem.primary() {
        None => problem.at_if(own.and_then(|one| one.span), "here"),
        Some(_) => problem,
    }
}

/// The engine of a circuit that is to be seen without waves, and what speaks against the choice.
fn lumped(
    circuit: &Circuit,
    plan: Plan,
) -> Result<(Engine, Option<String>, Diagnostics), Diagnostic> {
    let settings = &circuit.solver;
    if circuit.run.step_control == StepControl::Variable {
        let message = "a variable step belongs to the wave method";
        return Err(Diagnostic::error(Code::UnknownSetting, message)
            .on(Place::setting("run.step_control"))
            .help("use step_control = \"fixed\"; `rosenbrock` and `bdf` choose their steps themselves"));
    }
    let (mut method, mut why) = (settings.method, None);
    if method == SolverKind::Auto {
        let choice = match View::of(&plan) {
            Ok(mut view) => setup::choose(&mut view, plan.step),
            Err(problem) => {
                setup::Choice { method: SolverKind::Tlm, why: problem.message().to_owned() }
            }
        };
        (method, why) = (choice.method, Some(choice.why));
    }
    if method == SolverKind::Tlm {
        return Ok((Engine::Fixed(Box::new(plan)), why, Diagnostics::new()));
    }
    let setup = setup::set_up(View::of(&plan)?, method, settings, plan.step)?;
    let Setup { small, warnings, .. } = setup;
    Ok((Engine::Lumped(Box::new(plan), Solver { method, why, small }), None, warnings))
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |c| c.to_lowercase().chain(letters).collect())
}

/// Shows problems with a setting where the file gives it.
fn at_settings(problems: Diagnostics, places: &HashMap<String, Span>) -> Diagnostics {
    problems.map(|problem| {
        let setting = problem.place().filter(|place| place.component.is_none());
        let given = setting.and_then(|place| places.get(place.parameter.as_deref()?)).copied();
        match problem.primary() {
            None => problem.at_if(given, "set here"),
            Some(_) => problem,
        }
    })
}

/// What can be recorded of a circuit that could not be planned; lines between ports are not known.
fn declared_variables(circuit: &Circuit) -> Variables {
    let mut places: HashMap<(usize, usize), u32> = HashMap::new();
    for end in circuit.connections.iter().flat_map(|connection| &connection.ends) {
        let count = places.entry((end.component, end.port)).or_insert(0);
        *count = (*count + 1).max(end.place.unwrap_or(0));
    }
    let entry = |(index, instance): (usize, &Instance)| {
        let declaration = instance.declaration();
        let places: Box<[usize]> = declaration
            .ports
            .iter()
            .enumerate()
            .map(|(port, declared)| {
                let joined = || places.get(&(index, port)).copied().unwrap_or(1) as usize;
                if declared.many { joined() } else { 1 }
            })
            .collect();
        Entry {
            name: instance.name.clone(),
            declaration,
            bonds: vec![0; places.iter().sum()].into(),
            places,
            inputs: vec![0; declaration.input_count()].into(),
            outputs: 0,
            written: 0,
            states: 0,
            block: 0,
            inserted: false,
        }
    };
    let lines = circuit.connections.iter().filter_map(|one| one.line.as_ref());
    let lines = lines.map(|line| (usize::MAX, line));
    let entries: Vec<Entry> =
        circuit.components.iter().enumerate().chain(lines).map(entry).collect();
    let by_name = entries.iter().enumerate().map(|(i, e)| (e.name.clone(), i)).collect();
    let carries_temperature = circuit.fluids.iter().any(|fluid| fluid.carries_temperature);
    Variables {
        entries,
        by_name,
        carries_temperature,
        convention: circuit.run.convention,
        offers: fluxline_core::plan::offers(circuit),
    }
}

/// Warns of signals that lead nowhere. Where all is recorded, all is used.
fn warn_unused_signals(circuit: &Circuit, plan: &Plan, problems: &mut Diagnostics) {
    if circuit.record.is_empty() || problems.has_errors() {
        return;
    }
    let mut used = vec![false; circuit.components.len()];
    for drive in &circuit.drives {
        let (Source::Output { component, .. }
        | Source::State { component, .. }
        | Source::Port { component, .. }) = drive.from;
        used[component] = true;
    }
    let patterns = circuit.plots.iter().flat_map(|plot| &plot.variables).chain(&circuit.record);
    let patterns: Vec<Pattern> = patterns.cloned().collect();
    for variable in choose(plan, &patterns).0 {
        let owner = variable.name.rsplit_once('.').and_then(|(name, _)| {
            // Of a port, or of the component itself.
            let by_name = &plan.variables.by_name;
            by_name.get(name).or_else(|| by_name.get(name.rsplit_once('.')?.0))
        });
        if let Some(&component) = owner
            && component < used.len()
        {
            used[component] = true;
        }
    }
    for (instance, used) in circuit.components.iter().zip(used) {
        let declaration = instance.declaration();
        if used || declaration.causality != Causality::S || declaration.outputs.is_empty() {
            continue;
        }
        let message =
            format!("the signal of `{}` leads nowhere and is not recorded", instance.name);
        problems.push(
            Diagnostic::warning(Code::UnusedSignal, message)
                .at_if(instance.span, "not used")
                .on(Place::component(&instance.name))
                .help("connect or record its output, or remove the component"),
        );
    }
}

/// How much is known of a circuit.
#[derive(Clone, Copy)]
enum Known {
    /// Everything.
    All,
    /// All components, but not the lines between them.
    Components,
    /// Some components.
    Some,
}

/// Records and plots of the file must name something: after a long run it would be missing.
fn check_names(circuit: &Circuit, variables: &Variables, known: Known, problems: &mut Diagnostics) {
    let is_known = |pattern: &&Pattern| {
        let text = &pattern.text;
        let names_component =
            || text.match_indices('.').any(|(dot, _)| variables.by_name.contains_key(&text[..dot]));
        match known {
            Known::All => {}
            Known::Components if text.contains("line") => return true,
            Known::Some if !names_component() => return true,
            _ => {}
        }
        match pattern.text.contains('*') {
            // Waves, impedances and inputs only for a pattern that begins with a name or asks for
            // them, as in [`choose`].
            true => variables.iter().any(|variable| {
                let asks = pattern.text.contains("wave") || pattern.text.contains("impedance");
                let is_shown = variable.by_default || asks || !pattern.text.starts_with('*');
                is_shown && pattern.matches(&variable.name)
            }),
            false => variables.find(&pattern.text).is_some(),
        }
    };
    let unknown = |patterns: &[Pattern], code: Code| -> Vec<Diagnostic> {
        let unknown = patterns.iter().filter(|pattern| !is_known(pattern));
        unknown.map(|pattern| unmatched(code, pattern, variables)).collect()
    };
    problems.extend(unknown(&circuit.record, Code::RecordMatchesNothing));
    for plot in &circuit.plots {
        problems.extend(unknown(&plot.variables, Code::UnknownPlotVariable));
    }
}

/// What a pattern that fits nothing may have been meant to be.
fn likely_names(text: &str, variables: &Variables) -> Option<String> {
    let asked = |names: Vec<String>| {
        let names = list_names(names.iter().map(String::as_str));
        (!names.is_empty()).then(|| format!("did you mean {names}?"))
    };
    if variables.by_name.contains_key(text) {
        return Some(format!("`{text}` is a component: all its variables are `{text}.*`"));
    }
    let dots = || text.match_indices('.').map(|(dot, _)| dot);
    let known = dots().filter_map(|dot| variables.by_name.get(&text[..dot])).next_back();
    if let Some(&index) = known {
        let all = variables.entries[index].variables(variables);
        let names: Vec<&str> = all.iter().map(|variable| variable.name.as_str()).collect();
        let mut near: Vec<String> = nearest(text, names).into_iter().map(str::to_owned).collect();
        if near.is_empty() {
            near = all.into_iter().filter(|v| v.by_default).map(|v| v.name).take(8).collect();
        }
        return asked(near);
    }
    // Another component with the rest of the name.
    let components: Vec<&str> = variables.by_name.keys().map(String::as_str).collect();
    let first = dots().next().unwrap_or(text.len());
    let near = nearest(&text[..first], components);
    asked(near.iter().map(|component| format!("{component}{}", &text[first..])).collect())
}

fn unmatched(code: Code, pattern: &Pattern, variables: &Variables) -> Diagnostic {
    let what = match code {
        Code::UnknownPlotVariable => "to plot",
        Code::UnknownVariable => "to compare",
        _ => "to record",
    };
    let problem =
        Diagnostic::error(code, format!("there is no variable `{}` {what}", pattern.text))
            .at_if(pattern.span, "matches nothing");
    problem.help(likely_names(&pattern.text, variables).unwrap_or_else(|| {
        "names are `component.port.variable` or `component.variable`; `*` stands for any characters"
            .to_owned()
    }))
}

/// Rows on their way to the sinks. They are held until the state that they belong to has been
/// looked at: of a run that diverges, no row after the last good step is handed on.
#[derive(Default)]
struct Held<'a> {
    width: usize,
    rows: Vec<f64>,
    sinks: Vec<Box<dyn Sink + 'a>>,
    ranges: Vec<Extremes>,
    released: usize,
    failure: Option<io::Error>,
}

impl Held<'_> {
    /// Hands on the rows up to a time and drops the others; false when a sink fails.
    fn release(&mut self, until: f64) -> bool {
        let good = self.rows.chunks_exact(self.width).take_while(|row| row[0] <= until);
        for row in good {
            if self.failure.is_some() {
                break;
            }
            let values = &row[1..];
            if self.released == 0 {
                let first = |&x: &f64| Extremes { start: x, min: x, max: x, end: x };
                self.ranges.extend(values.iter().map(first));
            }
            for (range, &x) in self.ranges.iter_mut().zip(values) {
                range.min = range.min.min(x);
                range.max = range.max.max(x);
                range.end = x;
            }
            self.released += 1;
            self.failure = self.sinks.iter_mut().find_map(|sink| sink.row(row).err());
        }
        self.rows.clear();
        self.failure.is_none()
    }
}

struct Shared<'a>(Rc<RefCell<Held<'a>>>);

impl Sink for Shared<'_> {
    fn row(&mut self, row: &[f64]) -> io::Result<()> {
        self.0.borrow_mut().rows.extend_from_slice(row);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No component of the library asks for a stop or gives up on its equations in a sound
    /// circuit; what would be said is tested here.
    #[test]
    fn ends_that_the_library_does_not_provoke_are_told_in_full() {
        let text = "[components.mass]\ntype = \"translational.mass\"\nmass = \"1 kg\"\n\
                    [components.wall]\ntype = \"translational.position_source\"\n\
                    [[connect]]\nfrom = \"mass.a\"\nto = \"wall.b\"\n";
        let session = Session::from_text("test.toml", text, &[])
            .unwrap_or_else(|failure| panic!("{:?}", failure.problems));
        let component = || "mass".to_owned();
        for (ended, code, part) in [
            (
                Ended::Unconverged { component: component(), time: 0.5 },
                Code::NotConverged,
                "`mass` have no solution",
            ),
            (
                Ended::Stopped { component: component(), time: 0.5 },
                Code::StoppedByComponent,
                "`mass` stopped the run at t = ",
            ),
        ] {
            let problem = session.failure(&ended).unwrap();
            assert_eq!(problem.code(), code);
            assert!(problem.message().contains(part), "{problem}");
            assert!(problem.primary().is_some(), "{problem}");
        }
    }
}
