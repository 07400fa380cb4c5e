//! What `fluxline optimise` and `fluxline identify` share: opening a study, running it with
//! interruption and progress, telling what came of it.

use super::Console;
use super::run::{listen, watched};
use super::sweep::File;
use crate::args::Study as Args;
use crate::display::{Shown, count, counted, number, rounded};
use crate::figures::figures;
use crate::session::{Failure, Quiet, Recording, Session};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use fluxline_formats::Override;
use fluxline_formats::results::{OutputFile, write_problem};
use fluxline_optimise::space::Space;
use fluxline_plot::{Figure, Panel, Report, Series, SeriesStyle};
use fluxline_study::ensemble::{
    Effort, Ensemble, Model, Parameter, Reason, Refused, Variant, Wanted, overrides, value_in,
};
use fluxline_study::file::{self, Kind, StudyFile, Varied};
use fluxline_study::journal::{Column, Journal, Table};
use fluxline_study::search::{Ended, Kept, Runs, Slopes, Tried, failures};
use fluxline_study::team::Helpers;
use fluxline_study::vary;
use fluxline_units::{Quantity, Unit, format_in};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A study that can be begun.
pub(super) struct Opened {
    pub study: StudyFile,
    /// The text of the study file, which its problems point into.
    pub sources: SourceMap,
    /// The circuit, with what the study sets.
    pub session: Session,
    pub file: File,
    pub parameters: Vec<Parameter>,
    pub space: Space,
    /// Where the search begins, in SI units.
    pub start: Variant,
}

/// Opens a study and its circuit. `more` gives values to set that depend on the study and on the step
/// of its circuit. Problems are shown; the error is the exit code.
pub(super) fn open(
    console: &Console,
    args: &Args,
    kind: Kind,
    more: impl FnOnce(&StudyFile, f64) -> Result<Vec<Override>, Diagnostics>,
) -> Result<Opened, u8> {
    let (study, problems, sources) = file::read(&args.file, kind);
    console.report(&problems, &sources);
    let Some(mut study) = study else {
        console.tell(&format!("\n{}\n", problems.summary()));
        return Err(problems.exit_code());
    };
    study.seed = args.seed.unwrap_or(study.seed);
    study.evaluations = args.evaluations.unwrap_or(study.evaluations);
    let mut set: Vec<Override> = study.set.iter().map(|(one, _)| one.clone()).collect();
    set.extend(args.set.iter().map(|text| Override::parse(text)));
    let open = |set: &[Override]| match Session::open(&study.circuit, set) {
        Ok(session) => Ok(session),
        Err(failure) if failure.problems.iter().any(|one| one.code() == Code::CannotRead) => {
            let message = format!("the circuit `{}` cannot be read", study.circuit.display());
            let problem = Diagnostic::error(Code::CannotRead, message);
            Err(console.report(&problem.at(study.circuit_at, "named here").into(), &sources))
        }
        Err(failure) => Err(console.refuse(&failure)),
    };
    let mut session = open(&set)?;
    match more(&study, session.plan().step) {
        Ok(more) if more.is_empty() => {}
        Ok(more) => {
            set.extend(more);
            session = open(&set)?;
        }
        Err(problems) => return Err(console.report(&problems, &sources)),
    }
    console.report(&session.warnings, &session.sources);
    let file = File::open(&study.circuit, set).map_err(|problem| console.fail(problem))?;
    let parameter = |one: &Varied| Parameter::number(&one.name, one.dimension);
    let parameters: Vec<Parameter> = study.variables.iter().map(parameter).collect();
    let space = study.space();
    let start = start(&study, &session, &file);
    let problems = check_variables(&study, &file, &parameters, &start);
    if problems.has_errors() {
        return Err(console.reject(&problems, &sources));
    }
    Ok(Opened { study, sources, session, file, parameters, space, start })
}

/// Where the study begins: as it says, or as the circuit has it, or in the middle.
fn start(study: &StudyFile, session: &Session, file: &File) -> Variant {
    let document = file.text.as_ref().and_then(|text| fluxline_formats::Document::parse(text).ok());
    let of = |one: &Varied| {
        let written = || {
            let text = document.as_ref()?.get(&one.name)?;
            let found = vary::quantity(&text).ok()?;
            (found.dimension == one.dimension).then_some(found.value)
        };
        let own = one.start.or_else(|| value_in(&session.circuit, &one.name)).or_else(written);
        let (low, high) = (one.values.decode(0.0), one.values.decode(1.0));
        own.filter(|x| (low..=high).contains(x)).unwrap_or_else(|| one.values.decode(0.5))
    };
    study.variables.iter().map(of).collect()
}

/// Every variable must be something that the circuit can be given, by itself.
fn check_variables(
    study: &StudyFile,
    file: &File,
    parameters: &[Parameter],
    start: &[f64],
) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for ((varied, parameter), value) in study.variables.iter().zip(parameters).zip(start) {
        let alone = overrides(std::slice::from_ref(parameter), &[*value]);
        let Err(Refused { problems: found, .. }) = file.load(&alone) else { continue };
        let Some(first) = found.iter().find(|problem| problem.is_error()) else { continue };
        let mut told =
            Diagnostic::error(first.code(), first.message()).at(varied.at, "varied here");
        for help in first.helps() {
            told = told.help(help.as_str());
        }
        problems.push(told);
    }
    problems
}

/// A study as a command understands it.
pub(super) trait Study {
    /// The study file and its circuit.
    fn opened(&self) -> &Opened;
    /// What the search wants of each run.
    fn wanted(&self) -> Wanted;
    /// Does it, perhaps with helpers; gives the exit code.
    fn perform(&self, console: &Console, ensemble: &Ensemble, helpers: Option<&dyn Helpers>) -> u8;
}

/// Opens a study and does it, by itself or on the ranks of an MPI job.
pub(super) fn perform<S: Study>(
    console: &Console,
    args: &Args,
    open: impl Fn(&Console) -> Result<S, u8>,
) -> u8 {
    if args.mpi {
        return on_ranks(console, args, open);
    }
    let study = match open(console) {
        Ok(study) => study,
        Err(code) => return code,
    };
    match ensemble(study.opened(), args, study.wanted(), 1) {
        Ok(ensemble) => study.perform(console, &ensemble, None),
        Err(failure) => console.refuse(&failure),
    }
}

#[cfg(not(feature = "mpi"))]
fn on_ranks<S: Study>(console: &Console, _: &Args, _: impl Fn(&Console) -> Result<S, u8>) -> u8 {
    console.fail(super::run::without_mpi().help("or leave it to all cores of this machine"))
}

/// Shares the runs among the ranks of an MPI job: the first searches, the others run what it asks for.
#[cfg(feature = "mpi")]
fn on_ranks<S: Study>(
    console: &Console,
    args: &Args,
    open: impl Fn(&Console) -> Result<S, u8>,
) -> u8 {
    use crate::ranks::{Done, First, Others, agree, on_all};
    use fluxline_study::team;
    on_all(console, &[&args.out, &args.circuit, &args.report], |ranks| {
        let is_first = ranks.rank() == 0;
        let opened = open(&console.silent());
        let codes = ranks.ask_all(u64::from(*opened.as_ref().err().unwrap_or(&0)));
        if let Some(rank) = codes.iter().position(|&code| code != 0) {
            if ranks.rank() == rank {
                if rank > 0 {
                    console.tell(&format!("on MPI rank {rank}:\n"));
                }
                // Once more, aloud.
                let _ = open(console);
            }
            return Done::from(codes[rank] as u8);
        }
        let Ok(study) = opened else { return Done::from(2) };
        let made = ensemble(study.opened(), args, study.wanted(), ranks.on_this_host());
        let print = |_: &Ensemble| identity(study.opened(), "");
        let ensemble = match agree(console, ranks, made, print, |failure| console.refuse(failure)) {
            Ok(ensemble) => ensemble,
            Err(code) => return code.into(),
        };
        if !is_first {
            let runs = study.opened().study.evaluations as usize / ranks.count();
            watched(&ensemble.stop, || team::serve(&ensemble, &First(ranks), runs));
            return Done::from(0);
        }
        let session = &study.opened().session;
        console.report(&session.warnings, &session.sources);
        let others = Others::of(ranks);
        let code = study.perform(console, &ensemble, Some(&others));
        team::dismiss(&others);
        Done { code, in_order: others.all_answered() }
    })
}

/// The ensemble of a study, for one of so many processes on a host.
pub(super) fn ensemble<'o>(
    opened: &'o Opened,
    args: &Args,
    wanted: Wanted,
    sharing: usize,
) -> Result<Ensemble<'o>, Failure> {
    let others = fluxline_optimise::random::Random::new(opened.study.seed)
        .latin_hypercube(63, opened.parameters.len());
    let examples = std::iter::once(opened.start.clone())
        .chain(others.iter().map(|point| opened.space.decode(point)));
    let made = Ensemble::new(&opened.file, opened.parameters.clone(), wanted, examples);
    let mut ensemble =
        made.map_err(|Refused { problems, sources }| Failure { problems, sources })?;
    ensemble.effort = Effort::shared(args.threads, sharing, &args.lanes);
    Ok(ensemble)
}

/// A number that changes when anything does that results depend on: everything but the budget.
fn identity(opened: &Opened, told: &str) -> u64 {
    let study = StudyFile { evaluations: 0, ..opened.study.clone() };
    let told = format!(
        "{} {study:?} {:?} {told} {:?}",
        env!("CARGO_PKG_VERSION"),
        opened.start,
        opened.session.circuit
    );
    // FNV-1a.
    told.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The log file of a study, with what an earlier attempt has left in it.
pub(super) fn journal(
    opened: &Opened,
    args: &Args,
    metrics: Vec<(String, String)>,
    told: &str,
) -> Result<(Option<Journal>, Vec<Kept>), Diagnostic> {
    let Some(path) = &args.out else { return Ok((None, Vec::new())) };
    let column = |one: &Varied| Column {
        name: one.name.clone(),
        unit: one.dimension.si_symbol().into_owned(),
        words: Vec::new(),
    };
    let table = Table {
        parameters: opened.study.variables.iter().map(column).collect(),
        metrics,
        recorded: Vec::new(),
    };
    let identity = identity(opened, told);
    let mut known = Vec::new();
    let journal = Journal::open(path, &table, identity, args.restart, &mut |_, outcome| {
        known.push(match outcome {
            Ok(metrics) => Ok(metrics.to_vec()),
            Err((kind, message)) => Err(Reason { kind, message: message.to_owned() }),
        });
    })?;
    Ok((Some(journal), known))
}

/// Runs a search, with progress, that Ctrl-C ends.
pub(super) fn follow(
    args: &Args,
    ensemble: &Ensemble,
    runs: &mut Runs,
    search: impl FnOnce(&mut Runs, &mut dyn FnMut(&Runs)) -> Ended,
) -> (Ended, f64) {
    listen();
    let begun = Instant::now();
    let is_shown = io::stderr().is_terminal() && !args.quiet;
    let bar = is_shown.then(|| {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar
    });
    let mut shown = Instant::now();
    let mut watch = |runs: &Runs| {
        let Some(bar) = &bar else { return };
        if shown.elapsed() < Duration::from_millis(100) {
            return;
        }
        shown = Instant::now();
        let rate = runs.simulated as f64 / begun.elapsed().as_secs_f64();
        let best = runs.best().map_or(String::new(), |best| {
            let infeasible = if best.value.is_feasible() { "" } else { ", constraints violated" };
            format!("  best {}{infeasible}", number(best.value.objective()))
        });
        bar.set_message(format!(
            "{} runs  {} runs/s{best}",
            count(runs.log.len() as u64),
            rounded(rate, 3)
        ));
        bar.tick();
    };
    let ended = watched(&ensemble.stop, || search(runs, &mut watch));
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    (ended, begun.elapsed().as_secs_f64())
}

/// A finished search.
pub(super) struct Found {
    pub log: Vec<Tried>,
    pub best: Option<usize>,
    pub ended: &'static str,
    pub seconds: f64,
    pub simulated: u64,
    pub effort: Effort,
    pub files: Vec<PathBuf>,
    /// How derivatives were taken, by methods that want them.
    pub slopes: Slopes,
    /// Processes that shared the runs.
    pub ranks: Option<usize>,
}

/// Puts the log in its place, or keeps it for later when the search was interrupted.
pub(super) fn close(
    args: &Args,
    effort: Effort,
    runs: Runs,
    (ended, seconds): (Ended, f64),
) -> Result<Found, Diagnostic> {
    let (best, simulated) = (runs.best_number(), runs.simulated);
    let (log, journal) = runs.into_journal();
    let path = || args.out.clone().unwrap_or_default();
    let ended = match ended {
        Ended::Converged => "converged",
        Ended::Budget => "all runs used",
        Ended::Interrupted => {
            if let Some(journal) = journal {
                journal.keep().map_err(|error| write_problem(&path(), &error))?;
            }
            let message = format!("interrupted after {}", counted(log.len() as u64, "run"));
            let problem = Diagnostic::error(Code::Interrupted, message);
            return Err(match &args.out {
                Some(_) => problem.help("the same command goes on from there"),
                None => problem.help("with `--out FILE` the same command could go on from there"),
            });
        }
        Ended::Unwritten(error) => return Err(write_problem(&path(), &error)),
    };
    let files = match journal {
        Some(journal) => journal.finish()?,
        None => Vec::new(),
    };
    Ok(Found {
        log,
        best,
        ended,
        seconds,
        simulated,
        effort,
        files,
        slopes: Slopes::default(),
        ranks: None,
    })
}

impl Found {
    /// Method, number of runs, failures.
    pub fn head(&self, console: &Console, opened: &Opened, args: &Args) -> String {
        let study = &opened.study;
        let title = match study.title.is_empty() {
            true => args.file.display().to_string(),
            false => format!("{}: {}", args.file.display(), study.title),
        };
        let mut text = format!("{}\n", console.strong(&title));
        let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<9} {value}\n"));
        line("method", format!("{}, seed {}", study.method.method.name, study.seed));
        let lanes = match self.effort.lanes() {
            1 => String::new(),
            lanes => format!(", {lanes} side by side ({})", self.effort.instructions()),
        };
        let before = match self.log.len() as u64 - self.simulated.min(self.log.len() as u64) {
            0 => String::new(),
            known => format!(" and {} before", count(known)),
        };
        line(
            "ran",
            format!(
                "{}{before} in {:.3} s, {} runs/s; {}{lanes}",
                count(self.simulated),
                self.seconds,
                rounded(self.simulated as f64 / self.seconds.max(1e-9), 3),
                counted(self.effort.threads() as u64, "thread")
            ),
        );
        if let Some(ranks) = self.ranks {
            line("shared", format!("among {}", counted(ranks as u64, "MPI rank")));
        }
        line("ended", self.ended.to_owned());
        for (kind, number, first) in failures(&self.log) {
            let word = kind.word().replace('_', " ");
            let why = first.outcome.as_ref().err().map_or("", |reason| &reason.message);
            line("failed", format!("{} {word}; the first: {why}", count(number)));
        }
        text
    }

    /// The best variant.
    pub fn best(&self) -> Option<&Tried> {
        self.best.map(|index| &self.log[index])
    }

    /// The best value after each run.
    pub fn convergence(&self) -> Figure {
        let mut best: Option<&Tried> = None;
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (number, tried) in self.log.iter().enumerate() {
            if !tried.value.is_failed() && best.is_none_or(|best| tried.value.beats(&best.value)) {
                best = Some(tried);
            }
            if let Some(best) = best.filter(|best| best.value.is_feasible()) {
                x.push(number as f64);
                y.push(best.value.objective());
            }
        }
        let is_positive = y.iter().all(|y| *y > 0.0);
        let mut panel = Panel::new("best objective")
            .series(Series::new("best so far", x, y).style(SeriesStyle::Steps));
        if is_positive {
            panel = panel.log_y();
        }
        Figure::new("Convergence", "run").panel(panel)
    }

    /// The values of each variable over the runs.
    pub fn variables(&self, study: &StudyFile) -> Figure {
        let mut figure = Figure::new("Values tried", "run");
        let x: std::sync::Arc<[f64]> = (0..self.log.len()).map(|i| i as f64).collect();
        for (i, varied) in study.variables.iter().enumerate().take(12) {
            let y: Vec<f64> = self.log.iter().map(|one| in_unit(varied, one.variant[i])).collect();
            let label = match varied.unit.is_empty() {
                true => varied.name.clone(),
                false => format!("{} [{}]", varied.name, varied.unit),
            };
            let series = Series::new(varied.name.clone(), x.clone(), y).style(SeriesStyle::Points);
            figure = figure.panel(Panel::new(label).series(series));
        }
        figure
    }
}

/// How derivatives were taken, in words.
pub(super) fn derivatives(slopes: &Slopes) -> String {
    let exact = match slopes.exact {
        0 => String::new(),
        n => format!("exact, through {}", counted(n, "run")),
    };
    match &slopes.refusal {
        None => exact,
        Some(why) if exact.is_empty() => format!("by differences: {why}"),
        Some(why) => format!("{exact}, then by differences: {why}"),
    }
}

/// How derivatives were taken, for programs.
pub(super) fn derivatives_json(one: &Slopes) -> serde_json::Value {
    serde_json::json!({
        "exact_runs": one.exact,
        "differences_because": one.refusal,
    })
}

fn in_unit(varied: &Varied, si: f64) -> f64 {
    Unit::parse(&varied.unit).map_or(si, |unit| unit.from_si(si))
}

/// A value of a variable in the unit that its bounds are written in.
pub(super) fn shown(varied: &Varied, si: f64) -> String {
    let number = rounded(in_unit(varied, si), 6);
    match varied.unit.is_empty() {
        true => Shown::new(&varied.dimension.si_symbol()).text(si),
        false => format!("{number} {}", varied.unit),
    }
}

/// What stands beside a variable that ended where it could not go further.
pub(super) fn at_bound(varied: &Varied, value: f64) -> &'static str {
    let u = varied.values.encode(value);
    match varied.values.levels() {
        None if u < 1e-6 => "at its lower bound",
        None if u > 1.0 - 1e-6 => "at its upper bound",
        _ => "",
    }
}

/// Writes the circuit with the values that were found; what cannot be set in the file is told.
pub(super) fn write_circuit(
    opened: &Opened,
    best: &[f64],
    path: &Path,
    comment: &str,
) -> Result<(), Diagnostic> {
    let Some(text) = &opened.file.text else {
        let message = "the circuit is a model of another program, which is not written";
        return Err(Diagnostic::error(Code::UnknownFormat, message)
            .help("convert it first: fluxline convert MODEL.hmf circuit.toml"));
    };
    let mut document = fluxline_formats::Document::parse(text)?;
    for (one, _) in &opened.study.set {
        if let Some((name, value)) = one.text().split_once('=') {
            document.set(name, value)?;
        }
    }
    for (varied, &value) in opened.study.variables.iter().zip(best) {
        document.set(&varied.name, &exact(varied, value))?;
    }
    let cannot = |error: io::Error| write_problem(path, &error);
    let mut output = OutputFile::create(path).map_err(cannot)?;
    write!(output, "{comment}{document}").map_err(cannot)?;
    output.finish().map_err(cannot)
}

/// A value as text that reads back as the same bits, in the unit of the study where that can be.
fn exact(varied: &Varied, si: f64) -> String {
    let unit = Unit::parse(&varied.unit).ok();
    let nice = unit.map(|unit| format_in(si, &unit));
    let is_same = |text: &String| {
        Quantity::parse(text).is_ok_and(|read| {
            read.dimension == varied.dimension && read.value.to_bits() == si.to_bits()
        })
    };
    nice.filter(is_same).unwrap_or_else(|| Quantity::new(si, varied.dimension).to_exact_string())
}

/// Runs the circuit with the values that were found, and hands its run on.
pub(super) fn run_best<T>(
    opened: &Opened,
    best: &[f64],
    look: impl FnOnce(&Session, &crate::session::Completed) -> T,
) -> Option<T> {
    let mut set = opened.file.set.clone();
    set.extend(overrides(&opened.parameters, best));
    let session = Session::open(&opened.study.circuit, &set).ok()?;
    let chosen = session.recording(&Recording::default()).ok()?;
    let completed = session.run(chosen, None, Vec::new(), &mut Quiet);
    Some(look(&session, &completed))
}

/// The figures of the circuit itself, with the values that were found.
pub(super) fn add_best_figures(mut report: Report, opened: &Opened, best: &[f64]) -> Report {
    let drawn = run_best(opened, best, figures).unwrap_or_default();
    for figure in drawn {
        report = report.figure(figure);
    }
    report
}

/// Writes a report.
pub(super) fn write_report(report: &Report, path: &Path) -> Result<(), Diagnostic> {
    let cannot = |error: io::Error| write_problem(path, &error);
    let mut output = OutputFile::create(path).map_err(cannot)?;
    output.write_all(report.to_html().as_bytes()).map_err(cannot)?;
    output.finish().map_err(cannot)
}
