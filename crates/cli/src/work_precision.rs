//! Work and precision: the same circuit by several solvers at several steps and tolerances, each
//! against a converged reference.

use crate::display::{rounded, time as in_words};
use crate::session::{Chosen, Engine, Failure, Session, Watcher};
use fluxline_core::circuit::Pattern;
use fluxline_core::recorder::Sampling;
use fluxline_core::run::{Ended, Progress};
use fluxline_core::settings::{SmallVolumeKind, SolverKind};
use fluxline_core::variables::Variable;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, list_names, nearest};
use fluxline_formats::Override;
use fluxline_lumped::run::Effort;
use fluxline_lumped::view::View;
use std::path::Path;
use std::time::{Duration, Instant};

/// All solvers that can be asked for.
const SOLVERS: [SolverKind; 9] = [
    SolverKind::Tlm,
    SolverKind::Euler,
    SolverKind::Heun,
    SolverKind::ModifiedHeun,
    SolverKind::Rk4,
    SolverKind::Sdirk2,
    SolverKind::Rosenbrock,
    SolverKind::Bdf,
    SolverKind::AdaptiveExplicit,
];
const SMALL_VOLUMES: [SmallVolumeKind; 5] = [
    SmallVolumeKind::Integrate,
    SmallVolumeKind::Pds,
    SmallVolumeKind::AdvPds,
    SmallVolumeKind::Algebraic,
    SmallVolumeKind::SingularPerturbation,
];
/// Tolerance of references: near what double precision gives for pressures of 1e7 Pa.
const TIGHT: f64 = 1e-10;
/// Time for the check of a reference, s, and as many times that of the reference.
const CHECK_SECONDS: f64 = 5.0;
const CHECK_FACTOR: f64 = 20.0;
/// More samples than this say nothing new about an error.
const MOST_SAMPLES: f64 = 20_000.0;
/// Fewer make no mean.
const FEWEST_SAMPLES: f64 = 10.0;
/// A run shorter than this is repeated, and the shortest time counts.
const LONG_ENOUGH: Duration = Duration::from_millis(200);
/// At most so often.
const REPEATS: usize = 10;
/// Multiples of steps that differ by no more than this part are the same time: rounding.
const SAME: f64 = 1e-9;

/// How finely a solver works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fineness {
    /// A fixed step, s.
    Step(f64),
    /// The error allowed per step, relative.
    Tolerance(f64),
}

/// A solver with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The solver.
    pub solver: SolverKind,
    /// What it does with small volumes.
    pub small_volumes: SmallVolumeKind,
    /// Its step or tolerance.
    pub fineness: Fineness,
}

/// Whether a solver chooses its steps by a tolerance.
pub fn is_adaptive(solver: SolverKind) -> bool {
    matches!(solver, SolverKind::Rosenbrock | SolverKind::Bdf | SolverKind::AdaptiveExplicit)
}

impl Candidate {
    /// A solver that integrates all volumes.
    pub fn plain(solver: SolverKind, fineness: Fineness) -> Self {
        Self { solver, small_volumes: SmallVolumeKind::Integrate, fineness }
    }

    /// `rk4`, `rk4 + advpds`.
    pub fn name(&self) -> String {
        match self.small_volumes {
            SmallVolumeKind::Integrate => self.solver.word().to_owned(),
            small => format!("{} + {}", self.solver.word(), small.word()),
        }
    }

    /// `10 µs`, `1e-6`.
    pub fn fineness(&self) -> String {
        match self.fineness {
            Fineness::Step(step) => in_words(step),
            Fineness::Tolerance(tolerance) => format!("{tolerance:e}"),
        }
    }

    /// `rk4 at 10 µs`.
    pub fn in_words(&self) -> String {
        format!("{} at {}", self.name(), self.fineness())
    }
}

/// A solver by its name.
pub fn parse_solver(name: &str) -> Result<SolverKind, Diagnostic> {
    by_word(name, "solver", SOLVERS.iter().map(|&one| (one.word(), one)).collect())
}

/// What to do with small volumes, by its name.
pub fn parse_small_volumes(name: &str) -> Result<SmallVolumeKind, Diagnostic> {
    let all = SMALL_VOLUMES.iter().map(|&one| (one.word(), one)).collect();
    by_word(name, "treatment of small volumes", all)
}

fn by_word<T: Copy>(name: &str, what: &str, all: Vec<(&str, T)>) -> Result<T, Diagnostic> {
    let name = name.trim();
    if let Some(found) = all.iter().find(|(word, _)| *word == name) {
        return Ok(found.1);
    }
    let words: Vec<&str> = all.iter().map(|(word, _)| *word).collect();
    let near = nearest(name, words.iter().copied());
    let listed = if near.is_empty() { words } else { near };
    Err(Diagnostic::error(Code::NotAChoice, format!("`{name}` is no {what} to compare"))
        .help(format!("there are {}", list_names(listed))))
}

/// What to compare.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The solvers.
    pub solvers: Vec<SolverKind>,
    /// What lumped solvers with a fixed step do with small volumes, each in turn.
    pub small_volumes: Vec<SmallVolumeKind>,
    /// Steps of solvers with a fixed one, s; without any, ten times, one and a tenth of the file's.
    pub steps: Vec<f64>,
    /// Tolerances of the others.
    pub tolerances: Vec<f64>,
    /// The reference, in place of the tightest of two.
    pub reference: Option<Candidate>,
    /// What speed-ups are relative to, in place of the slowest.
    pub baseline: Option<Candidate>,
    /// Names of variables; without any those that the file plots, or else records.
    pub variables: Vec<String>,
    /// A run that takes longer is given up.
    pub patience: Option<Duration>,
}

/// The error of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// √(mean of e²), SI.
    pub rmse: f64,
    /// Largest |e|, SI.
    pub largest: f64,
    /// ∫ t·|e| dt from the start, SI·s².
    pub itae: f64,
}

/// A compared variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// Its SI unit.
    pub unit: &'static str,
    /// What errors are relative to: its range in the reference, or its size where it is constant.
    pub scale: f64,
    /// Largest difference between the two references, SI; none where there is one only.
    pub known_to: Option<f64>,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was run.
    pub candidate: Candidate,
    /// Errors of the variables, in their order; empty for a run that failed.
    pub deviations: Vec<Deviation>,
    /// Shortest time, s.
    pub seconds: f64,
    /// Steps.
    pub steps: u64,
    /// What a lumped solver did.
    pub effort: Option<Effort>,
    /// Volumes that were replaced by their steady state; empty where none is small against the step.
    pub small: Vec<String>,
    /// Why it failed.
    pub failure: Option<String>,
    /// Time of the baseline over its time.
    pub speed_up: Option<f64>,
    /// √(mean of (e/scale)²) of the variable that is worst off.
    pub relative_rmse: Option<f64>,
    /// Which variable that is.
    pub worst: Option<usize>,
    /// Largest |e|/scale of all.
    pub relative_largest: Option<f64>,
}

/// Everything.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Title of the circuit.
    pub title: String,
    /// The variables.
    pub variables: Vec<Compared>,
    /// Time between samples, s.
    pub interval: f64,
    /// Number of samples.
    pub samples: usize,
    /// What is taken for the truth.
    pub reference: Candidate,
    /// What it was checked against.
    pub check: Option<Candidate>,
    /// Why a reference that was tried first was not taken.
    pub notes: Vec<String>,
    /// What speed-ups are relative to.
    pub baseline: Option<Candidate>,
    /// The runs.
    pub rows: Vec<Row>,
}

impl Comparison {
    /// How far the truth is known, relative to the range, for the variable that is worst off.
    pub fn uncertainty(&self) -> Option<f64> {
        let known = self.variables.iter().filter_map(|one| Some(one.known_to? / one.scale));
        known.reduce(f64::max)
    }
}

/// Opens a circuit with more settings changed.
pub type Open<'a> = dyn Fn(&[Override]) -> Result<Session, Failure> + 'a;

/// A function that opens a file.
pub fn opener<'a>(
    path: &'a Path,
    overrides: &'a [Override],
) -> impl Fn(&[Override]) -> Result<Session, Failure> + 'a {
    move |more| Session::open(path, &[overrides, more].concat())
}

struct Bench<'a> {
    open: &'a Open<'a>,
    patterns: Vec<Pattern>,
    /// Step of the file, s.
    step: f64,
    /// Absolute over relative tolerance in the file.
    tolerance_ratio: f64,
    interval: f64,
    samples: usize,
    patience: Option<Duration>,
}

struct Measured {
    columns: Vec<Vec<f64>>,
    variables: Vec<Variable>,
    seconds: f64,
    steps: u64,
    effort: Option<Effort>,
    small: Vec<String>,
}

/// Gives up when it takes too long.
struct Patience(Option<Instant>);

impl Watcher for Patience {
    fn go_on(&mut self, _: Progress) -> bool {
        self.0.is_none_or(|end| Instant::now() < end)
    }
}

impl Bench<'_> {
    /// Runs a candidate. Solvers that choose their steps see the given one, in which lines with delay
    /// and blocks advance.
    fn run(
        &self,
        candidate: &Candidate,
        step: f64,
        repeats: usize,
        patience: Option<Duration>,
    ) -> Result<Measured, String> {
        let mut overrides = vec![
            Override::new("solver.method", candidate.solver.word()),
            Override::new("solver.small_volumes", candidate.small_volumes.word()),
            Override::new("run.step_control", "fixed"),
        ];
        let step = match candidate.fineness {
            Fineness::Step(step) => step,
            Fineness::Tolerance(tolerance) => {
                let absolute = tolerance * self.tolerance_ratio;
                let given = format!("{tolerance:e}");
                overrides.push(Override::new("solver.relative_tolerance", &given));
                let given = format!("{absolute:e}");
                overrides.push(Override::new("solver.absolute_tolerance", &given));
                step
            }
        };
        overrides.push(Override::new("run.step", &format!("{step:e} s")));
        let session = (self.open)(&overrides).map_err(|failure| {
            let first = failure.problems.iter().find(|problem| problem.is_error());
            first.map_or("cannot be opened".to_owned(), |problem| problem.message().to_owned())
        })?;
        let variables = session.variables(&self.patterns).map_err(|problems| {
            problems.iter().next().map_or_else(String::new, |problem| problem.message().to_owned())
        })?;
        let every = (self.interval / session.plan().step).round().max(1.0) as u64;
        let mut shortest: Option<Measured> = None;
        let mut spent = Duration::ZERO;
        for _ in 0..repeats.max(1) {
            let chosen = Chosen { variables: variables.clone(), sampling: Sampling::Every(every) };
            let end = patience.map(|patience| Instant::now() + patience);
            let completed = session.run(chosen, None, Vec::new(), &mut Patience(end));
            spent += completed.wall;
            if let Ended::Interrupted { time } = completed.outcome.ended {
                let patience = patience.unwrap_or_default();
                return Err(format!(
                    "given up after {}, at t = {}",
                    in_words(patience.as_secs_f64()),
                    in_words(time)
                ));
            }
            if let Some(failure) = &completed.failure {
                return Err(failure.message().to_owned());
            }
            let seconds = completed.wall.as_secs_f64();
            if shortest.as_ref().is_none_or(|one| seconds < one.seconds) {
                let names = variables.iter().map(|variable| variable.name.as_str());
                let columns: Vec<Vec<f64>> = names
                    .map(|name| {
                        let mut column = completed.column(name).unwrap_or_default();
                        // Behind the last common sample may be one for the end of the run.
                        column.truncate(self.samples);
                        column
                    })
                    .collect();
                if columns.iter().any(|column| column.len() < self.samples) {
                    return Err("its samples are not those of the reference".to_owned());
                }
                shortest = Some(Measured {
                    columns,
                    variables: variables.clone(),
                    seconds,
                    steps: completed.outcome.verdict.steps,
                    effort: completed.effort.clone(),
                    small: match &session.engine {
                        Engine::Lumped(_, solver) => {
                            solver.small.iter().map(|(name, ..)| name.clone()).collect()
                        }
                        Engine::Fixed(_) | Engine::Variable(_) => Vec::new(),
                    },
                });
            }
            if spent >= LONG_ENOUGH {
                break;
            }
        }
        shortest.ok_or_else(|| "was not run".to_owned())
    }
}

/// The shortest time that all steps divide, if it is at most a thousand times the longest of them.
fn common_multiple(steps: &[f64]) -> Option<f64> {
    let longest = steps.iter().copied().fold(0.0, f64::max);
    (1..=1000).map(|k| f64::from(k) * longest).find(|multiple| {
        steps.iter().all(|step| {
            let ratio = multiple / step;
            (ratio - ratio.round()).abs() <= SAME * ratio
        })
    })
}

/// Runs everything, one after the other. `progress` is told what runs next.
pub fn compare(
    open: &Open<'_>,
    request: &Request,
    progress: &mut dyn FnMut(&Candidate),
) -> Result<Comparison, Failure> {
    let session = open(&[])?;
    let fail = |problem: Diagnostic, session: Session| Failure {
        problems: Diagnostics::from(problem),
        sources: session.sources,
    };
    let file_step = session.circuit.run.step;
    let mut steps = request.steps.clone();
    if steps.is_empty() {
        steps = [10.0, 1.0, 0.1].map(|factor| factor * file_step).to_vec();
    }
    steps.sort_by(|a, b| b.total_cmp(a));
    let span = session.circuit.run.stop - session.circuit.run.start;
    // References work in parts of these, which have the same multiples.
    let with_file: Vec<f64> = steps.iter().copied().chain([file_step]).collect();
    let Some(mut interval) = common_multiple(&with_file) else {
        let message = "the steps, that of the file among them, have no common multiple at which \
                       results could be compared";
        let listed: Vec<String> = with_file.iter().map(|&step| in_words(step)).collect();
        return Err(fail(
            Diagnostic::error(Code::BadRunTimes, message)
                .note(format!("the steps are {}", listed.join(", ")))
                .help("give steps that are whole multiples of each other: --steps"),
            session,
        ));
    };
    interval *= (span / interval / MOST_SAMPLES).ceil().max(1.0);
    let count = (span / interval * (1.0 + SAME)).floor();
    if count < FEWEST_SAMPLES {
        let message = format!(
            "the run of {} has only {} common samples of {}",
            in_words(span),
            rounded(count, 3),
            in_words(interval)
        );
        return Err(fail(
            Diagnostic::error(Code::BadRunTimes, message)
                .help("give shorter steps, --steps, or a later end, --stop"),
            session,
        ));
    }
    let patterns = match request.variables.is_empty() {
        false => request.variables.iter().map(Pattern::new).collect(),
        true if session.circuit.plots.is_empty() => session.circuit.record.clone(),
        true => session.circuit.plots.iter().flat_map(|plot| plot.variables.clone()).collect(),
    };
    let chosen = match session.variables(&patterns) {
        Ok(chosen) => chosen,
        Err(problems) => return Err(Failure { problems, sources: session.sources }),
    };
    let solver = &session.circuit.solver;
    let bench = Bench {
        open,
        patterns,
        step: file_step,
        tolerance_ratio: solver.absolute_tolerance / solver.relative_tolerance,
        interval,
        samples: count as usize + 1,
        patience: request.patience,
    };
    let finest = steps.last().copied().unwrap_or(file_step);
    let (first, mut notes) = reference(&bench, &session, request, finest, progress);
    let Some(Found { candidate, measured, check }) = first else {
        let message = format!("there is no reference: {}", notes.join("; "));
        return Err(fail(
            Diagnostic::error(Code::SolverFailed, message).help(
                "name one that gets through: --reference sdirk2@\"1 us\", --reference tlm@\"1 us\"",
            ),
            session,
        ));
    };
    if check.is_none() {
        notes.push("the reference was not checked by another solver".to_owned());
    }
    let variables: Vec<Compared> = chosen
        .iter()
        .enumerate()
        .map(|(index, variable)| {
            let truth = &measured.columns[index];
            let low = truth.iter().copied().fold(f64::INFINITY, f64::min);
            let high = truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let size = low.abs().max(high.abs());
            // What moves by rounding only is measured by its size.
            let scale = match high - low {
                range if range > 1e-9 * size => range,
                _ if size > 0.0 => size,
                _ => 1.0,
            };
            let known_to = check.as_ref().map(|(_, other)| {
                let pairs = truth.iter().zip(&other.columns[index]);
                pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
            });
            Compared { name: variable.name.clone(), unit: variable.unit, scale, known_to }
        })
        .collect();
    let mut rows = Vec::new();
    for candidate in candidates(request, &steps) {
        progress(&candidate);
        rows.push(row(&bench, candidate, &measured, &variables));
    }
    let baseline = speed_ups(&mut rows, request.baseline);
    Ok(Comparison {
        title: session.circuit.title.clone(),
        variables,
        interval,
        samples: bench.samples,
        reference: candidate,
        check: check.map(|(candidate, _)| candidate),
        notes,
        baseline,
        rows,
    })
}

/// All solvers with all steps or tolerances, in the order in which they were asked for. What does not
/// go together is left out: waves without a lumped view, held volumes and chosen steps.
fn candidates(request: &Request, steps: &[f64]) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    let integrate = [SmallVolumeKind::Integrate];
    let treatments =
        if request.small_volumes.is_empty() { &integrate[..] } else { &request.small_volumes };
    for &solver in &request.solvers {
        for &small_volumes in treatments {
            let is_held = matches!(small_volumes, SmallVolumeKind::Pds | SmallVolumeKind::AdvPds);
            let is_whole = small_volumes == SmallVolumeKind::Integrate;
            if (solver == SolverKind::Tlm && !is_whole) || (is_adaptive(solver) && is_held) {
                continue;
            }
            let mut add = |fineness| all.push(Candidate { solver, small_volumes, fineness });
            if is_adaptive(solver) {
                request.tolerances.iter().for_each(|&one| add(Fineness::Tolerance(one)));
            } else {
                steps.iter().for_each(|&one| add(Fineness::Step(one)));
            }
        }
    }
    all
}

struct Found {
    candidate: Candidate,
    measured: Measured,
    check: Option<(Candidate, Measured)>,
}

/// The reference and what it is checked against: two solvers that share no formula. With lines that
/// keep their delay they take a half and a quarter of the finest step, in which these advance: with
/// one step they would agree on what is wrong with it. Without a lumped view there are only waves.
fn reference(
    bench: &Bench<'_>,
    session: &Session,
    request: &Request,
    finest: f64,
    progress: &mut dyn FnMut(&Candidate),
) -> (Option<Found>, Vec<String>) {
    let mut notes = Vec::new();
    let tight = |solver| Candidate::plain(solver, Fineness::Tolerance(TIGHT));
    let fixed = |solver, step| Candidate::plain(solver, Fineness::Step(step));
    let waves = [fixed(SolverKind::Tlm, finest / 4.0), fixed(SolverKind::Tlm, finest / 2.0)];
    let plan = match &session.engine {
        Engine::Fixed(plan) | Engine::Lumped(plan, _) => plan,
        Engine::Variable(ladder) => ladder.finest(),
    };
    let (mut order, step) = match View::of(plan) {
        Err(_) => (waves.to_vec(), bench.step),
        Ok(view) if view.has_discrete_parts() => {
            notes.push(format!(
                "lines with delay and blocks advance in main steps, for adaptive solvers in those of \
                 the file, {}",
                in_words(bench.step)
            ));
            (vec![tight(SolverKind::Rosenbrock), waves[0], waves[1]], finest / 2.0)
        }
        Ok(_) => {
            let sdirk2 = fixed(SolverKind::Sdirk2, finest / 4.0);
            (
                vec![tight(SolverKind::Rosenbrock), tight(SolverKind::Bdf), sdirk2, waves[0]],
                bench.step,
            )
        }
    };
    if let Some(given) = request.reference {
        order.retain(|one| one.solver != given.solver);
        order.insert(0, given);
        // The same solver, half as fine, where no other gets through.
        let fineness = match given.fineness {
            Fineness::Step(step) => Fineness::Step(2.0 * step),
            Fineness::Tolerance(tolerance) => Fineness::Tolerance(10.0 * tolerance),
        };
        order.push(Candidate { fineness, ..given });
    }
    let mut first: Option<(Candidate, Measured)> = None;
    for candidate in order {
        progress(&candidate);
        // A check that takes far longer than what it checks has lost its way.
        let patience = match &first {
            Some((_, measured)) => {
                let enough =
                    Duration::from_secs_f64(CHECK_SECONDS + CHECK_FACTOR * measured.seconds);
                Some(bench.patience.map_or(enough, |patience| patience.min(enough)))
            }
            None => bench.patience,
        };
        match (bench.run(&candidate, step, 1, patience), first.take()) {
            (Ok(measured), None) => first = Some((candidate, measured)),
            (Ok(other), Some((truth, measured))) => {
                let check = Some((candidate, other));
                return (Some(Found { candidate: truth, measured, check }), notes);
            }
            (Err(why), kept) => {
                notes.push(format!("{} is no reference: {why}", candidate.in_words()));
                first = kept;
                // What the user names and cannot be had is not replaced in silence.
                if first.is_none() && request.reference == Some(candidate) {
                    return (None, notes);
                }
            }
        }
    }
    let found = first.map(|(candidate, measured)| Found { candidate, measured, check: None });
    (found, notes)
}

fn row(bench: &Bench<'_>, candidate: Candidate, truth: &Measured, variables: &[Compared]) -> Row {
    let mut row = Row {
        candidate,
        deviations: Vec::new(),
        seconds: f64::NAN,
        steps: 0,
        effort: None,
        small: Vec::new(),
        failure: None,
        speed_up: None,
        relative_rmse: None,
        worst: None,
        relative_largest: None,
    };
    let measured = match bench.run(&candidate, bench.step, REPEATS, bench.patience) {
        Ok(measured) => measured,
        Err(why) => {
            row.failure = Some(why);
            return row;
        }
    };
    if measured.variables.len() != variables.len() {
        row.failure = Some("its variables are not those of the reference".to_owned());
        return row;
    }
    row.seconds = measured.seconds;
    row.steps = measured.steps;
    row.effort = measured.effort;
    row.small = measured.small;
    row.deviations = measured
        .columns
        .iter()
        .zip(&truth.columns)
        .map(|(values, truth)| deviation(values, truth, bench.interval))
        .collect();
    let worst = |size: &dyn Fn(&Deviation) -> f64| {
        let relative = row.deviations.iter().zip(variables).map(|(d, v)| size(d) / v.scale);
        relative.reduce(f64::max)
    };
    let rmse = worst(&|d| d.rmse);
    let largest = worst(&|d| d.largest);
    let is_worst = |(d, v): (&Deviation, &Compared)| Some(d.rmse / v.scale) == rmse;
    row.worst = row.deviations.iter().zip(variables).position(is_worst);
    (row.relative_rmse, row.relative_largest) = (rmse, largest);
    row
}

/// Errors of samples at equal times. ITAE = ∫ t·|e| dt, by the trapezoidal rule.
pub fn deviation(values: &[f64], truth: &[f64], interval: f64) -> Deviation {
    let count = values.len().min(truth.len());
    let (mut squares, mut largest, mut itae) = (0.0, 0.0_f64, 0.0);
    for (i, (value, truth)) in values.iter().zip(truth).enumerate() {
        let error = (value - truth).abs();
        squares += error * error;
        largest = largest.max(error);
        let weight = if i == 0 || i + 1 == count { 0.5 } else { 1.0 };
        itae += weight * interval * (i as f64 * interval) * error;
    }
    Deviation { rmse: (squares / count.max(1) as f64).sqrt(), largest, itae }
}

/// Fills in speed-ups, relative to the baseline or to the slowest.
fn speed_ups(rows: &mut [Row], baseline: Option<Candidate>) -> Option<Candidate> {
    let done = || rows.iter().filter(|row| row.failure.is_none());
    let given = baseline.and_then(|wanted| done().find(|row| row.candidate == wanted));
    let slowest = || done().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let (candidate, seconds) = given.or_else(slowest).map(|row| (row.candidate, row.seconds))?;
    for row in rows.iter_mut().filter(|row| row.failure.is_none()) {
        row.speed_up = Some(seconds / row.seconds);
    }
    Some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// e = 1 for 0 ≤ t ≤ 2: RMSE and largest 1, ∫ t dt = 2; the trapezoidal rule is exact there.
    #[test]
    fn a_constant_error_has_itself_as_rmse_and_half_the_square_of_time_as_itae() {
        let truth: Vec<f64> = (0..=200).map(|i| f64::from(i).sin()).collect();
        let values: Vec<f64> = truth.iter().map(|x| x - 1.0).collect();
        let found = deviation(&values, &truth, 0.01);
        assert!((found.rmse - 1.0).abs() < 1e-12 && (found.largest - 1.0).abs() < 1e-12);
        assert!((found.itae - 2.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn steps_meet_at_their_least_common_multiple() {
        let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a / b - 1.0).abs() < 1e-9);
        assert!(near(common_multiple(&[1e-6, 1e-5, 1e-3]), 1e-3));
        assert!(near(common_multiple(&[2e-4, 3e-4]), 6e-4));
        assert_eq!(common_multiple(&[1e-3, std::f64::consts::SQRT_2 * 1e-3]), None);
    }
}
