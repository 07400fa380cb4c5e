//! `fluxline run`.

use super::Console;
use crate::args::Run;
use crate::display::{counted, rounded};
use crate::figures::{figures, merged};
use crate::parallel;
use crate::report;
use crate::session::{Completed, Engine, Failure, Recording, Session, Watcher};
use crate::terminal_plot;
use crate::verdict::{self, Report};
use fluxline_core::recorder::Sink;
use fluxline_core::run::Progress;
use fluxline_core::state::State;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Place};
use fluxline_formats::Override;
use fluxline_formats::results::{CsvWriter, OutputFile, read_problem, write_problem};
use fluxline_formats::state_file::{read_state, write_state};
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// So many plots are drawn in the terminal.
const MOST_PLOTS: usize = 2;

pub(super) fn run(console: &Console, args: &Run) -> u8 {
    if args.mpi {
        return on_ranks(console, args);
    }
    match opened(args, |session| parallel::set_up(session, args)) {
        Ok((session, prepared)) => simulate(console, args, &session, prepared),
        Err(failure) => refuse(console, args, &failure),
    }
}

/// Opens the circuit, cuts it into parts and prepares the run.
fn opened(
    args: &Run,
    cut: impl FnOnce(&mut Session) -> Result<(), Diagnostics>,
) -> Result<(Session, Prepared), Failure> {
    let mut session = open(args)?;
    match cut(&mut session).and_then(|()| prepare(&session, args)) {
        Ok(prepared) => Ok((session, prepared)),
        Err(problems) => {
            let mut all = session.warnings.clone();
            all.absorb(problems);
            Err(Failure { problems: all, sources: session.sources })
        }
    }
}

fn refuse(console: &Console, args: &Run, failure: &Failure) -> u8 {
    if args.json {
        let name = args.file.display().to_string();
        console.json(&verdict::refused(&name, &failure.problems, &failure.sources));
    }
    console.refuse(failure)
}

#[cfg(not(feature = "mpi"))]
fn on_ranks(console: &Console, args: &Run) -> u8 {
    let problem = without_mpi().help("run on threads: --threads auto");
    let failure = Failure { problems: problem.into(), sources: Default::default() };
    refuse(console, args, &failure)
}

/// What a build says that cannot do what `--mpi` asks for.
#[cfg(not(feature = "mpi"))]
pub(super) fn without_mpi() -> Diagnostic {
    let message = "this build of Fluxline does not know MPI";
    Diagnostic::error(Code::UnknownFormat, message)
        .help("build with `cargo install fluxline --features mpi`, which needs an MPI library")
}

/// Runs on the ranks of an MPI job: only the first writes files and says anything; of those that
/// cannot begin, the first says why.
#[cfg(feature = "mpi")]
fn on_ranks(console: &Console, args: &Run) -> u8 {
    let files = [&args.csv, &args.parquet, &args.save_state, &args.report, &args.plot];
    crate::ranks::on_all(console, &files, |ranks| {
        let is_first = ranks.rank() == 0;
        let mut own = args.clone();
        if !is_first {
            (own.csv, own.parquet, own.save_state) = (None, None, None);
            (own.report, own.plot, own.quiet) = (None, None, true);
        }
        let opened = opened(&own, |session| parallel::set_up_ranks(session, &own, ranks));
        let print = |(session, _): &(Session, _)| parallel::print_of(session);
        let alike = crate::ranks::agree(console, ranks, opened, print, |failure| {
            refuse(console, args, failure)
        });
        let code = match alike {
            Ok((session, prepared)) if is_first => simulate(console, args, &session, prepared),
            Ok((session, prepared)) => {
                session.run(prepared.chosen, prepared.from, Vec::new(), &mut crate::session::Quiet);
                0
            }
            Err(code) => code,
        };
        code.into()
    })
}

fn open(args: &Run) -> Result<Session, Failure> {
    let given = [
        ("run.stop", &args.stop),
        ("run.step", &args.step),
        ("solver.method", &args.solver),
        ("solver.relative_tolerance", &args.tolerance),
        ("solver.small_volumes", &args.small_volumes),
        ("run.fused", &args.fused),
    ];
    let mut overrides: Vec<Override> =
        given.iter().filter_map(|(name, text)| Some(Override::new(name, text.as_ref()?))).collect();
    // Near zero errors are measured in changes that matter; the default is ten times the relative one.
    if let Some(Ok(tolerance)) = args.tolerance.as_ref().map(|text| text.trim().parse::<f64>()) {
        let absolute = format!("{:e}", 10.0 * tolerance);
        overrides.push(Override::new("solver.absolute_tolerance", &absolute));
    }
    overrides.extend(args.set.iter().map(|text| Override::parse(text)));
    Session::open(&args.file, &overrides)
}

/// Everything that can be found wrong before the first step.
struct Prepared {
    chosen: crate::session::Chosen,
    from: Option<State<f64>>,
    outputs: Outputs,
}

/// The files to write.
#[derive(Default)]
struct Outputs {
    csv: Option<Shared<CsvWriter>>,
    #[cfg(feature = "parquet")]
    parquet: Option<Shared<fluxline_formats::results::ParquetWriter>>,
    state: Option<OutputFile>,
    report: Option<OutputFile>,
    plot: Option<OutputFile>,
}

/// A writer that the recorder fills and that is finished afterwards.
struct Shared<W>(Rc<RefCell<Option<W>>>);

impl<W> Shared<W> {
    fn new(writer: W) -> Self {
        Self(Rc::new(RefCell::new(Some(writer))))
    }
    fn share(&self) -> Self {
        Self(self.0.clone())
    }
    fn take(&self) -> Option<W> {
        self.0.borrow_mut().take()
    }
}

impl<W: Sink> Sink for Shared<W> {
    fn row(&mut self, row: &[f64]) -> io::Result<()> {
        match self.0.borrow_mut().as_mut() {
            Some(writer) => writer.row(row),
            None => Ok(()),
        }
    }
}

fn prepare(session: &Session, args: &Run) -> Result<Prepared, Diagnostics> {
    let chosen = session.recording(&Recording {
        record: args.record.clone(),
        samples: args.samples.map(|n| n as usize),
        every: args.every,
    })?;
    let mut problems = Diagnostics::new();
    if matches!(session.engine, Engine::Variable(_))
        && (args.save_state.is_some() || args.from_state.is_some())
    {
        problems.push(
            Diagnostic::error(
                Code::UnknownSetting,
                "states are saved and restored with a fixed step only",
            )
            .on(Place::setting("run.step_control"))
            .help("use step_control = \"fixed\""),
        );
    }
    if let Some(path) = &args.plot {
        problems.extend(image_format(path).err());
    }
    if args.json && args.csv.as_deref() == Some(Path::new("-")) {
        let message = "`--csv -` and `--json` both want standard output";
        problems
            .push(Diagnostic::error(Code::UnknownFormat, message).help("give the CSV file a name"));
    }
    if args.parquet.is_some() && cfg!(not(feature = "parquet")) {
        let message = "this build of Fluxline does not write Parquet files";
        problems.push(
            Diagnostic::error(Code::UnknownFormat, message).help(
                "write a CSV file, or build with `cargo install fluxline --features parquet`",
            ),
        );
    }
    let rows = chosen.sampling.rows(session.steps());
    let values = rows.saturating_mul(chosen.variables.len() as u64 + 1);
    if values > args.max_values && (args.csv.is_some() || args.parquet.is_some()) {
        let message = format!(
            "{} of {} would be written, {} numbers in all",
            counted(rows, "row"),
            counted(chosen.variables.len() as u64, "variable"),
            rounded(values as f64, 3)
        );
        problems.push(
            Diagnostic::error(Code::TooManySteps, message)
                .help("record fewer variables (--record) or less often (--samples, --every)")
                .help(format!("if it is really meant: --max-values {values}")),
        );
    }
    let from = args.from_state.as_ref().and_then(|path| problems.take(restore(path, session)));
    if problems.has_errors() {
        return Err(problems);
    }

    let create = |path: &PathBuf| OutputFile::create(path).map_err(|e| write_problem(path, &e));
    let mut open = |path: &Option<PathBuf>| path.as_ref().and_then(|p| problems.take(create(p)));
    let (csv, _parquet) = (open(&args.csv), open(&args.parquet));
    let mut outputs = Outputs {
        state: open(&args.save_state),
        report: open(&args.report),
        plot: open(&args.plot),
        ..Outputs::default()
    };
    let names = || chosen.variables.iter().map(|variable| variable.name.as_str());
    if let Some(file) = csv {
        let path = file.path().to_owned();
        let writer = CsvWriter::new(file, names()).map_err(|e| write_problem(&path, &e));
        outputs.csv = problems.take(writer).map(Shared::new);
    }
    #[cfg(feature = "parquet")]
    if let Some(file) = _parquet {
        let path = file.path().to_owned();
        let units = chosen.variables.iter().map(|variable| (variable.name.as_str(), variable.unit));
        let writer = fluxline_formats::results::ParquetWriter::new(file, units);
        outputs.parquet =
            problems.take(writer.map_err(|e| write_problem(&path, &e))).map(Shared::new);
    }
    problems.into_result(Prepared { chosen, from, outputs })
}

fn restore(path: &Path, session: &Session) -> Result<State<f64>, Diagnostic> {
    let bytes = std::fs::read(path).map_err(|error| read_problem(path, &error))?;
    let state = read_state(&bytes, &path.display().to_string(), session.plan())?;
    if state.step > session.steps() {
        let plan = session.plan();
        let time = crate::display::time(plan.start + state.step as f64 * plan.step);
        let message = format!("the saved state is at {time}, after the end of the run");
        return Err(Diagnostic::error(Code::BadRunTimes, message)
            .on(Place::setting("run.stop"))
            .help("give a later end: --stop TIME"));
    }
    Ok(state)
}

/// Whether an image is a PNG; an error when it is neither that nor an SVG.
pub(super) fn image_format(path: &Path) -> Result<bool, Diagnostic> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match ending.as_str() {
        "svg" => Ok(false),
        "png" => Ok(true),
        _ => {
            let message = format!("`{}` is neither an SVG nor a PNG file", path.display());
            let problem = Diagnostic::error(Code::UnknownFormat, message);
            Err(problem.help("let the name end in .svg or .png"))
        }
    }
}

fn simulate(console: &Console, args: &Run, session: &Session, prepared: Prepared) -> u8 {
    let Prepared { chosen, from, outputs } = prepared;
    console.report(&session.warnings, &session.sources);
    if !session.warnings.is_empty() {
        console.tell("\n");
    }
    let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
    if let Some(csv) = &outputs.csv {
        sinks.push(Box::new(csv.share()));
    }
    #[cfg(feature = "parquet")]
    if let Some(parquet) = &outputs.parquet {
        sinks.push(Box::new(parquet.share()));
    }
    listen();
    let mut follower = Follower::new(session, args);
    let mut completed = session.run(chosen, from, sinks, &mut follower);
    follower.finish();
    if let Some(warning) = &completed.no_own_code {
        console.report(&warning.clone().into(), &session.sources);
        console.tell("\n");
    }

    let mut problems = Diagnostics::new();
    let files = write_all(session, &mut completed, args, outputs, &mut problems);
    let report = Report { session, completed: &completed, files: &files, problems: &problems };
    if let Some(failure) = &completed.failure {
        let failure = kept(failure.clone(), &files);
        console.report(&failure.into(), &session.sources);
        console.tell("\n");
    }
    console.report(&problems, &session.sources);
    if args.json {
        console.json(&report.to_json());
        return report.exit_code();
    }
    let mut text = report.to_text(console.color);
    if args.quiet {
        text =
            text.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n") + "\n";
    } else {
        text.push_str(&plots(console, session, &completed));
    }
    // Standard output may be the CSV file.
    if args.csv.as_deref() == Some(Path::new("-")) {
        console.tell(&text);
    } else {
        console.print(&text);
    }
    report.exit_code()
}

/// Says where the results up to a failure are.
fn kept(failure: Diagnostic, files: &[(&'static str, String)]) -> Diagnostic {
    let names: Vec<&str> = files.iter().map(|(_, path)| path.as_str()).collect();
    match names.is_empty() {
        true => failure.note("nothing was written: there is no --csv, --report or --save-state"),
        false => failure.note(format!("results up to there are kept in {}", names.join(", "))),
    }
}

/// Writes and names all files; what cannot be written becomes a problem.
fn write_all(
    session: &Session,
    completed: &mut Completed,
    args: &Run,
    outputs: Outputs,
    problems: &mut Diagnostics,
) -> Vec<(&'static str, String)> {
    let mut files = Vec::new();
    let mut note =
        |kind, path: &Path, result: io::Result<()>, problems: &mut Diagnostics| match result {
            Ok(()) => files.push((kind, path.display().to_string())),
            Err(error) => problems.push(write_problem(path, &error)),
        };
    let failed = completed.sink_failure.take();
    if let (Some(csv), Some(path)) = (&outputs.csv, &args.csv) {
        match &failed {
            // An incomplete file must not be taken for a whole one; the part is removed.
            Some(error) => problems.push(write_problem(path, error)),
            None => {
                if let Some(writer) = csv.take() {
                    note("csv", path, writer.finish(), problems);
                }
            }
        }
        csv.take();
    }
    #[cfg(feature = "parquet")]
    if let (Some(parquet), Some(path)) = (&outputs.parquet, &args.parquet) {
        match (&failed, parquet.take()) {
            (Some(error), _) => problems.push(write_problem(path, error)),
            (None, Some(writer)) => note("parquet", path, writer.finish(), problems),
            (None, None) => {}
        }
    }
    if let Some(mut file) = outputs.state {
        let path = file.path().to_owned();
        let result = write_state(&mut file, session.plan(), &completed.state);
        note("state", &path, result.and_then(|()| file.finish()), problems);
    }
    if let Some(mut file) = outputs.plot {
        let path = file.path().to_owned();
        let drawn = figures(session, completed);
        let figure = merged(&session.circuit.title, drawn);
        let (width, height) = figure.natural_size();
        let image = match image_format(&path) {
            Ok(true) => figure.to_png(width, height, 2.0).map_err(io::Error::other),
            _ => Ok(figure.to_svg(width, height).into_bytes()),
        };
        let result = image.and_then(|image| file.write_all(&image));
        note("plot", &path, result.and_then(|()| file.finish()), problems);
    }
    if let Some(mut file) = outputs.report {
        let path = file.path().to_owned();
        let whole = Report { session, completed, files: &[], problems };
        let html = report::html(&whole);
        let result = file.write_all(html.as_bytes());
        note("report", &path, result.and_then(|()| file.finish()), problems);
    }
    files
}

/// The first plots that the file asks for, as characters.
fn plots(console: &Console, session: &Session, completed: &Completed) -> String {
    if session.circuit.plots.is_empty() {
        return String::new();
    }
    let drawn = figures(session, completed);
    let panels = drawn.iter().flat_map(|figure| figure.panels.iter().map(|p| (&figure.title, p)));
    let width = console.width.min(100);
    let texts = panels.take(MOST_PLOTS).map(|(title, panel)| {
        format!("\n{}", terminal_plot::draw(title, panel, width, console.color))
    });
    texts.collect()
}

pub(crate) static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Does something that Ctrl-C stops: whoever waits for results does not see it, somebody else has to.
pub(crate) fn watched<T>(stop: &AtomicBool, work: impl FnOnce() -> T) -> T {
    struct Over<'a>(&'a AtomicBool, std::thread::Thread);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
            // Nobody waits until it looks by itself.
            self.1.unpark();
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_over = &is_over;
        let watcher = scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                if INTERRUPTED.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                }
                std::thread::park_timeout(Duration::from_millis(50));
            }
        });
        // Also when the work unwinds.
        let _over = Over(is_over, watcher.thread().clone());
        work()
    })
}

/// The first Ctrl-C ends the run at the next step and keeps what there is; the second ends the
/// process.
pub(crate) fn listen() {
    // Fails only where a handler is already installed.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// Shows progress and listens to Ctrl-C.
struct Follower {
    bar: Option<ProgressBar>,
    begun: Instant,
    start: f64,
    first: Option<f64>,
    shown: Instant,
}

const REFRESH: Duration = Duration::from_millis(100);

impl Follower {
    fn new(session: &Session, args: &Run) -> Self {
        let is_shown = io::stderr().is_terminal() && !args.quiet;
        let bar = is_shown.then(|| {
            let bar = ProgressBar::new(session.steps());
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let now = Instant::now();
        Self { bar, begun: now, start: session.plan().start, first: None, shown: now }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watcher for Follower {
    fn go_on(&mut self, progress: Progress) -> bool {
        if let Some(bar) = &self.bar
            && self.shown.elapsed() >= REFRESH
        {
            self.shown = Instant::now();
            let first = *self.first.get_or_insert(self.start);
            let factor = (progress.time - first) / self.begun.elapsed().as_secs_f64();
            bar.set_message(format!(
                "t = {} s  {} × real time",
                rounded(progress.time, 4),
                rounded(factor, 3)
            ));
            bar.set_position(progress.step);
        }
        !INTERRUPTED.load(Ordering::Relaxed)
    }
}
