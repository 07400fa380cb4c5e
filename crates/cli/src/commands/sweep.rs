//! `fluxline sweep`: a circuit run many times with other values of its parameters.

use super::Console;
use super::bench::peak_memory;
use super::run::{listen, watched};
use crate::args::{DesignName, Sweep};
use crate::display::{Shown, count, counted, rounded};
use crate::import;
use crate::session::{Failure, Session};
use fluxline_core::circuit::{Circuit, Pattern, Registry};
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::Override;
use fluxline_formats::results::write_problem;
use fluxline_study::design::{Design, Scheme};
use fluxline_study::ensemble::{
    Effort, Ensemble, Model, Outcome, Parameter, ReasonKind, Refused, Wanted,
};
use fluxline_study::journal::{Column, Journal, Table};
use fluxline_study::team::{self, Helpers, Shared};
use fluxline_study::vary::{Vary, plain_name, shown};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The file, read once, with the values that all runs share.
pub(super) struct File {
    registry: Registry,
    path: PathBuf,
    /// The text of a circuit file; a model of another program is converted each time.
    pub text: Option<String>,
    /// Values that all runs share.
    pub set: Vec<Override>,
}

impl File {
    pub fn open(path: &Path, set: Vec<Override>) -> Result<Self, Diagnostic> {
        let text = match import::is_model(path) {
            true => None,
            false => {
                let text = std::fs::read_to_string(path);
                Some(text.map_err(|error| fluxline_formats::results::read_problem(path, &error))?)
            }
        };
        Ok(Self { registry: crate::registry(), path: path.to_owned(), text, set })
    }
}

impl Model for File {
    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn load(&self, overrides: &[Override]) -> Result<Circuit, Refused> {
        let all: Vec<Override> = self.set.iter().chain(overrides).cloned().collect();
        let loaded = match &self.text {
            Some(text) => {
                let folder = self.path.parent().unwrap_or(Path::new(""));
                let name = self.path.display().to_string();
                fluxline_formats::load_text(&name, text, folder, &self.registry, &all)
            }
            None => import::load(&self.path, &self.registry, &all).map_err(refused)?,
        };
        match loaded.circuit {
            Some(circuit) => Ok(circuit),
            None => Err(Refused { problems: loaded.diagnostics, sources: loaded.sources }),
        }
    }
}

fn refused(failure: Failure) -> Refused {
    Refused { problems: failure.problems, sources: failure.sources }
}

/// What the runs of a study gave.
struct Tally {
    done: u64,
    failed: Vec<(ReasonKind, u64)>,
    /// The first failure of each kind: run and words.
    examples: Vec<(u64, String)>,
    /// Least, sum and largest of each metric, over runs in which it is a number.
    metrics: Vec<(f64, f64, f64, u64)>,
}

impl Tally {
    fn new(metrics: usize) -> Self {
        let empty = (f64::INFINITY, 0.0, f64::NEG_INFINITY, 0);
        Self { done: 0, failed: Vec::new(), examples: Vec::new(), metrics: vec![empty; metrics] }
    }

    fn add(&mut self, run: u64, outcome: Result<&[f64], (ReasonKind, &str)>) {
        match outcome {
            Ok(metrics) => {
                self.done += 1;
                for (seen, &x) in self.metrics.iter_mut().zip(metrics) {
                    if x.is_finite() {
                        *seen = (seen.0.min(x), seen.1 + x, seen.2.max(x), seen.3 + 1);
                    }
                }
            }
            Err((kind, message)) => match self.failed.iter_mut().find(|(one, _)| *one == kind) {
                Some((_, number)) => *number += 1,
                None => {
                    self.failed.push((kind, 1));
                    self.examples.push((run, message.to_owned()));
                }
            },
        }
    }

    fn failures(&self) -> u64 {
        self.failed.iter().map(|(_, number)| number).sum()
    }
}

/// What is to be run, as far as it can be known before any circuit is built.
struct Opened {
    design: Design,
    session: Session,
    file: File,
    wanted: Wanted,
}

fn opened(args: &Sweep) -> Result<Opened, Failure> {
    let design = design(args)?;
    let set: Vec<Override> = args.set.iter().map(|text| Override::parse(text)).collect();
    for (one, text) in set.iter().zip(&args.set) {
        let name = plain_name(one.text().split('=').next().unwrap_or_default());
        if design.vary.iter().any(|vary| plain_name(&vary.name) == name) {
            let message = format!("`{name}` is both set and varied");
            let problem = Diagnostic::error(Code::BadDesign, message)
                .note(format!("by `--set \"{text}\"` all runs would have the same value"))
                .help("leave `--set` or `--vary` of it away");
            return Err(problem.into());
        }
    }
    // As it is without variation: what is wrong with the file is told as `run` tells it.
    let session = Session::open(&args.file, &set)?;
    // Without what the file plots: here nothing is drawn.
    let record = match args.record.is_empty() {
        true => Vec::new(),
        false => {
            let patterns: Vec<Pattern> = args.record.iter().map(Pattern::new).collect();
            match session.variables(&patterns) {
                Ok(chosen) => chosen.into_iter().map(|variable| variable.name).collect(),
                Err(problems) => return Err(Failure { problems, sources: session.sources }),
            }
        }
    };
    let file = File::open(&args.file, set)?;
    let wanted = Wanted {
        metrics: args.metric.clone(),
        record,
        samples: args.samples as usize,
        ..Wanted::default()
    };
    Ok(Opened { design, session, file, wanted })
}

impl Opened {
    fn ensemble(&self, args: &Sweep, sharing: usize) -> Result<Ensemble<'_>, Failure> {
        let parameters = self.design.vary.iter().map(Parameter::of).collect();
        let examples = (0..self.design.runs.min(64)).map(|run| self.design.values(run));
        let mut ensemble = Ensemble::new(&self.file, parameters, self.wanted.clone(), examples)
            .map_err(|Refused { problems, sources }| Failure { problems, sources })?;
        ensemble.effort = Effort::shared(args.threads, sharing, &args.lanes);
        Ok(ensemble)
    }
}

pub(super) fn run(console: &Console, args: &Sweep) -> u8 {
    if args.mpi {
        return on_ranks(console, args);
    }
    let opened = match opened(args) {
        Ok(opened) => opened,
        Err(failure) => return console.refuse(&failure),
    };
    console.report(&opened.session.warnings, &opened.session.sources);
    let swept = opened.ensemble(args, 1).map(|ensemble| {
        sweep(console, args, &opened.design, &ensemble, None)
            .unwrap_or_else(|problem| console.fail(problem))
    });
    swept.unwrap_or_else(|failure| console.refuse(&failure))
}

#[cfg(not(feature = "mpi"))]
fn on_ranks(console: &Console, _: &Sweep) -> u8 {
    console.fail(super::run::without_mpi().help("or leave it to all cores of this machine"))
}

/// Shares the runs among the ranks of an MPI job: the first deals them out, and writes.
#[cfg(feature = "mpi")]
fn on_ranks(console: &Console, args: &Sweep) -> u8 {
    use crate::ranks::{Done, First, Others, agree, on_all};
    on_all(console, &[&args.out], |ranks| {
        let opened = opened(args);
        let made = match &opened {
            Ok(opened) => opened.ensemble(args, ranks.on_this_host()),
            Err(failure) => Err(failure.clone()),
        };
        // The design is a part of the identity; where circuits differ, so do variants.
        let print = |ensemble: &Ensemble| match &opened {
            Ok(opened) => identity(args, &opened.design, ensemble),
            Err(_) => 0,
        };
        let ensemble = match agree(console, ranks, made, print, |failure| console.refuse(failure)) {
            Ok(ensemble) => ensemble,
            Err(code) => return code.into(),
        };
        let Ok(Opened { design, session, .. }) = &opened else { return Done::from(2) };
        if ranks.rank() > 0 {
            let runs = design.runs.div_ceil(ranks.count() as u64) as usize;
            watched(&ensemble.stop, || team::serve(&ensemble, &First(ranks), runs));
            return Done::from(0);
        }
        console.report(&session.warnings, &session.sources);
        let others = Others::of(ranks);
        let swept = sweep(console, args, design, &ensemble, Some(&others));
        let code = swept.unwrap_or_else(|problem| console.fail(problem));
        team::dismiss(&others);
        Done { code, in_order: others.all_answered() }
    })
}

fn design(args: &Sweep) -> Result<Design, Diagnostic> {
    let vary = args.vary.iter().map(|text| Vary::parse(text)).collect::<Result<_, _>>()?;
    let scheme = args.design.map(|design| match design {
        DesignName::Grid => Scheme::Grid,
        DesignName::Lhs => Scheme::LatinHypercube,
        DesignName::Sobol => Scheme::Sobol,
        DesignName::Random => Scheme::Random,
    });
    Design::new(vary, scheme, args.runs, args.seed)
}

fn sweep(
    console: &Console,
    args: &Sweep,
    design: &Design,
    ensemble: &Ensemble,
    helpers: Option<&dyn Helpers>,
) -> Result<u8, Diagnostic> {
    let table = Table {
        parameters: design
            .vary
            .iter()
            .map(|vary| Column {
                name: vary.name.clone(),
                unit: unit(vary.dimension),
                words: vary.words().iter().map(|word| shown(word).to_owned()).collect(),
            })
            .collect(),
        metrics: ensemble
            .metrics()
            .all
            .iter()
            .map(|metric| (metric.text.clone(), unit(metric.dimension)))
            .collect(),
        recorded: ensemble.recorded().iter().map(|variable| variable.name.clone()).collect(),
    };
    let mut tally = Tally::new(table.metrics.len());
    let identity = identity(args, design, ensemble);
    let mut journal = match &args.out {
        None => None,
        Some(path) => {
            Some(Journal::open(path, &table, identity, args.restart, &mut |run, outcome| {
                tally.add(run, outcome);
            })?)
        }
    };
    let finished = journal.as_ref().map_or(0, Journal::runs);
    let left = design.runs - finished;
    listen();
    let begun = Instant::now();
    let progress = Progress::new(args, design.runs, finished);
    let mut failure: Option<io::Error> = None;
    let shared = watched(&ensemble.stop, || {
        let variant = |i: usize| design.values(finished + i as u64);
        let mut hand_on = |i: usize, outcome: Outcome| {
            let run = finished + i as u64;
            match &outcome {
                Ok(evaluation) => tally.add(run, Ok(&evaluation.metrics)),
                Err(reason) => tally.add(run, Err((reason.kind, &reason.message))),
            }
            if let Some(journal) = &mut journal
                && failure.is_none()
                && let Err(error) = journal.add(&design.values(run), &outcome)
            {
                failure = Some(error);
                ensemble.stop.store(true, Ordering::Relaxed);
            }
            progress.show(&tally, begun);
        };
        match helpers {
            None => {
                ensemble.evaluate_each(left as usize, &variant, &mut hand_on);
                None
            }
            Some(helpers) => {
                let left = left as usize;
                Some(team::evaluate_each(ensemble, helpers, left, &variant, &mut hand_on))
            }
        }
    });
    progress.finish();
    let seconds = begun.elapsed().as_secs_f64();
    let ran = tally.done + tally.failures();
    let is_whole = ran == design.runs;
    let mut files = Vec::new();
    if let (Some(journal), Some(path)) = (journal, &args.out) {
        if let Some(error) = failure {
            return Err(write_problem(path, &error));
        }
        match is_whole {
            true => files = journal.finish()?,
            false => journal.keep().map_err(|error| write_problem(path, &error))?,
        }
    }
    let summary = Summary {
        args,
        design,
        table: &table,
        tally: &tally,
        effort: ensemble.effort,
        own_code: ensemble.has_own_code(),
        no_own_code: ensemble.missed_own_code(),
        shared: shared.as_ref().zip(helpers.map(|helpers| helpers.count() + 1)),
        seconds,
        ran: ran - finished,
        resumed: finished,
        files,
    };
    match args.json {
        true => console.json(&summary.to_json()),
        false => console.print(&summary.to_text(console)),
    }
    if !is_whole {
        let message = format!("interrupted after {} of {} runs", count(ran), count(design.runs));
        let lost = shared.map(|shared| shared.lost).unwrap_or_default();
        let problem = match lost.first() {
            None => Diagnostic::error(Code::Interrupted, message),
            Some(helper) => {
                let rank = format!("MPI rank {} is lost; {message}", helper + 1);
                Diagnostic::error(Code::RankLost, rank)
                    .note("the launcher ends a job when one of its processes is lost, unless it is told to go on: mpirun --enable-recovery")
            }
        };
        return Err(match &args.out {
            Some(_) => problem.help("the same command goes on from there"),
            None => problem.help("with `--out FILE` the same command could go on from there"),
        });
    }
    Ok(u8::from(tally.done == 0))
}

fn unit(dimension: fluxline_units::Dimension) -> String {
    dimension.si_symbol().into_owned()
}

/// A number that changes when anything does that results depend on.
fn identity(args: &Sweep, design: &Design, ensemble: &Ensemble) -> u64 {
    let told = format!(
        "{} {:?} {:?} {} {} {:?} {:?} {} {:?}",
        env!("CARGO_PKG_VERSION"),
        design.vary,
        design.scheme,
        design.runs,
        design.seed,
        args.metric,
        ensemble.recorded().iter().map(|variable| &variable.name).collect::<Vec<_>>(),
        args.samples,
        ensemble.circuit(),
    );
    // FNV-1a.
    told.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Shows how far it is.
struct Progress {
    bar: Option<ProgressBar>,
    finished: u64,
    shown: std::cell::Cell<Instant>,
}

impl Progress {
    fn new(args: &Sweep, runs: u64, finished: u64) -> Self {
        let is_shown = io::stderr().is_terminal() && !args.quiet;
        let bar = is_shown.then(|| {
            let bar = ProgressBar::new(runs).with_position(finished);
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, finished, shown: std::cell::Cell::new(Instant::now()) }
    }

    fn show(&self, tally: &Tally, begun: Instant) {
        let Some(bar) = &self.bar else { return };
        if self.shown.get().elapsed() < Duration::from_millis(100) {
            return;
        }
        self.shown.set(Instant::now());
        let ran = tally.done + tally.failures();
        let rate = (ran - self.finished) as f64 / begun.elapsed().as_secs_f64();
        let left = (bar.length().unwrap_or(ran) - ran) as f64 / rate;
        let failed = match tally.failures() {
            0 => String::new(),
            failed => format!("  {} failed", count(failed)),
        };
        let rate = rounded(rate, 3);
        bar.set_position(ran);
        bar.set_message(format!("{} runs{failed}  {rate} runs/s  {left:.0} s left", count(ran)));
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

struct Summary<'a> {
    args: &'a Sweep,
    design: &'a Design,
    table: &'a Table,
    tally: &'a Tally,
    effort: Effort,
    own_code: bool,
    /// Why there is none, where it was asked for.
    no_own_code: Option<&'a str>,
    /// What came of sharing runs among so many processes.
    shared: Option<(&'a Shared, usize)>,
    seconds: f64,
    /// Runs of this time, without those of an earlier attempt.
    ran: u64,
    resumed: u64,
    files: Vec<PathBuf>,
}

impl Summary<'_> {
    fn design_name(&self) -> &'static str {
        match self.design.scheme {
            Scheme::Grid => "grid",
            Scheme::LatinHypercube => "lhs",
            Scheme::Sobol => "sobol",
            Scheme::Random => "random",
        }
    }

    fn to_json(&self) -> serde_json::Value {
        let metrics: Vec<_> = self
            .table
            .metrics
            .iter()
            .zip(&self.tally.metrics)
            .map(|((name, unit), &(min, sum, max, number))| {
                let of = |x: f64| (number > 0).then_some(x);
                json!({
                    "metric": name,
                    "unit": unit,
                    "min": of(min),
                    "mean": of(sum / number.max(1) as f64),
                    "max": of(max),
                    "runs": number,
                })
            })
            .collect();
        let failures: serde_json::Map<_, _> = self
            .tally
            .failed
            .iter()
            .map(|(kind, number)| (kind.word().to_owned(), json!(number)))
            .collect();
        json!({
            "file": self.args.file.display().to_string(),
            "design": self.design_name(),
            "seed": self.design.seed,
            "runs": self.design.runs,
            "done": self.tally.done,
            "failed": self.tally.failures(),
            "failures": failures,
            "resumed": self.resumed,
            "seconds": self.seconds,
            "runs_per_second": self.ran as f64 / self.seconds.max(1e-9),
            "threads": self.effort.threads(),
            "lanes": self.effort.lanes(),
            "fused": self.own_code,
            "no_fused_because": self.no_own_code,
            "instructions": self.effort.instructions(),
            "ranks": self.shared.map_or(1, |(_, ranks)| ranks),
            "lost_ranks": self.shared.map_or(Vec::new(), |(shared, _)| {
                shared.lost.iter().map(|helper| helper + 1).collect::<Vec<usize>>()
            }),
            "peak_memory_bytes": peak_memory(),
            "metrics": metrics,
            "files": self.files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        })
    }

    fn to_text(&self, console: &Console) -> String {
        let design = match self.design.scheme {
            Scheme::Grid => "grid".to_owned(),
            Scheme::LatinHypercube => format!("Latin hypercube, seed {}", self.design.seed),
            Scheme::Sobol => format!("Sobol sequence, seed {}", self.design.seed),
            Scheme::Random => format!("by chance, seed {}", self.design.seed),
        };
        let title =
            format!("{}: {}, {design}", self.args.file.display(), counted(self.design.runs, "run"));
        let mut text = format!("{}\n", console.strong(&title));
        let rate = rounded(self.ran as f64 / self.seconds.max(1e-9), 3);
        let lanes = match self.effort.lanes() {
            1 => String::new(),
            lanes => {
                let own = if self.own_code { ", own code" } else { "" };
                format!(", {lanes} side by side ({}{own})", self.effort.instructions())
            }
        };
        let before = match self.resumed {
            0 => String::new(),
            resumed => format!(" and {} before", count(resumed)),
        };
        let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<9} {value}\n"));
        line(
            "ran",
            format!(
                "{}{before} in {:.3} s, {rate} runs/s; {}{lanes}",
                count(self.ran),
                self.seconds,
                counted(self.effort.threads() as u64, "thread")
            ),
        );
        if let Some(why) = self.no_own_code {
            line("own code", format!("none: {why}; the engine has taken all steps"));
        }
        if let Some((shared, ranks)) = self.shared {
            let elsewhere = count(shared.elsewhere as u64);
            line("shared", format!("{ranks} MPI ranks, {elsewhere} runs by others than the first"));
            if !shared.lost.is_empty() {
                let lost: Vec<String> =
                    shared.lost.iter().map(|helper| (helper + 1).to_string()).collect();
                let again = counted(shared.again as u64, "run");
                line("lost", format!("rank {}; {again} done again by others", lost.join(", ")));
            }
        }
        for ((kind, number), (run, message)) in self.tally.failed.iter().zip(&self.tally.examples) {
            let word = kind.word().replace('_', " ");
            line("failed", format!("{} {word}; run {run}: {message}", count(*number)));
        }
        for path in &self.files {
            line("written", path.display().to_string());
        }
        if self.table.metrics.is_empty() || self.tally.done == 0 {
            return text;
        }
        let widest = self.table.metrics.iter().map(|(name, _)| name.chars().count());
        let width = widest.max().unwrap_or(0).max(6);
        text.push_str(&format!(
            "\n  {:<width$} {:>14} {:>14} {:>14}\n",
            "metric", "min", "mean", "max"
        ));
        for ((name, unit), &(min, sum, max, number)) in
            self.table.metrics.iter().zip(&self.tally.metrics)
        {
            let shown = Shown::new(if unit.is_empty() { "1" } else { unit });
            let of = |x: f64| match number {
                0 => "–".to_owned(),
                _ => shown.text(x),
            };
            let mean = of(sum / number.max(1) as f64);
            text.push_str(&format!(
                "  {name:<width$} {:>14} {mean:>14} {:>14}\n",
                of(min),
                of(max)
            ));
        }
        text
    }
}
