//! Results on disk as they come, so that an interrupted study goes on where it was.
//!
//! Until a study is finished its rows lie in `FILE.partial`, under a line that says whose they are.
//! Rows come in the order of the runs, so their number says where to go on; the last one may be
//! torn. When the last run is in, the file gets its name, as CSV or as Parquet. A study that was
//! interrupted and resumed leaves the same bytes as one that was not.

use crate::ensemble::{Outcome, ReasonKind};
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::results::{OutputFile, write_problem};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Columns of a result file, with their units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What is varied.
    pub parameters: Vec<(String, String)>,
    /// What is computed.
    pub metrics: Vec<(String, String)>,
    /// What is recorded, in a file of its own.
    pub recorded: Vec<String>,
}

/// Rows are written at least this often: what a crash can cost.
const FLUSH: Duration = Duration::from_millis(500);

/// The results of a study in the making.
pub struct Journal {
    target: PathBuf,
    part: PathBuf,
    table: Table,
    rows: BufWriter<File>,
    signals: Option<(PathBuf, BufWriter<File>)>,
    runs: u64,
    flushed: Instant,
}

/// What is told of a run that was finished before: its metrics, or why it failed.
pub type Known<'a> = Result<&'a [f64], (ReasonKind, &'a str)>;

impl Journal {
    /// Opens the results of a study, new or unfinished. `identity` differs between studies; what
    /// lies there of another one is refused, unless `restart` asks for a new beginning. Runs that
    /// are finished are told to `known`.
    pub fn open(
        target: &Path,
        table: &Table,
        identity: u64,
        restart: bool,
        known: &mut dyn FnMut(u64, Known),
    ) -> Result<Self, Diagnostic> {
        let ending = target.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match ending.as_str() {
            "csv" => {}
            "parquet" if cfg!(feature = "parquet") => {}
            "parquet" => {
                let message = "this build of Fluxline does not write Parquet files";
                return Err(Diagnostic::error(Code::UnknownFormat, message).help(
                    "write a CSV file, or build with `cargo install fluxline --features parquet`",
                ));
            }
            _ => {
                let message = format!("`{}` is neither a CSV nor a Parquet file", target.display());
                return Err(Diagnostic::error(Code::UnknownFormat, message)
                    .help("let the name end in .csv or .parquet"));
            }
        }
        let part = with_ending(target, ".partial");
        let cannot = |error: io::Error| write_problem(&part, &error);
        let head = format!("# fluxline study {identity:016x}\n{}", table.header());
        let mut found = None;
        if !restart && let Ok(file) = File::open(&part) {
            let mut reader = BufReader::new(file);
            let mut first = vec![0; head.len()];
            match io::Read::read_exact(&mut reader, &mut first) {
                Ok(()) if first == head.as_bytes() => {
                    let whole = table.read(&mut reader, known).map_err(cannot)?;
                    found = Some((whole.0, head.len() as u64 + whole.1));
                }
                // Interrupted before it began.
                Err(_) if head.as_bytes().starts_with(&first_bytes(&part).map_err(cannot)?) => {}
                _ => {
                    let message =
                        format!("`{}` holds unfinished results of another study", part.display());
                    return Err(Diagnostic::error(Code::OtherStudy, message)
                        .help("finish it with its own command, choose another name, or begin again with `--restart`"));
                }
            }
        }
        let mut rows =
            File::options().create(true).truncate(false).write(true).open(&part).map_err(cannot)?;
        let (runs, length) = match found {
            Some((runs, length)) => (runs, length),
            None => {
                rows.set_len(0).and_then(|()| rows.write_all(head.as_bytes())).map_err(cannot)?;
                (0, head.len() as u64)
            }
        };
        rows.set_len(length).and_then(|()| rows.seek(SeekFrom::End(0))).map_err(cannot)?;
        let signals = match table.recorded.is_empty() {
            true => None,
            false => {
                let path = with_ending(&signals_path(target), ".partial");
                let file =
                    open_signals(&path, table, runs).map_err(|e| write_problem(&path, &e))?;
                Some((path, BufWriter::new(file)))
            }
        };
        Ok(Self {
            target: target.to_owned(),
            part,
            table: table.clone(),
            rows: BufWriter::new(rows),
            signals,
            runs,
            flushed: Instant::now(),
        })
    }

    /// Runs that are finished.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Adds the next run.
    pub fn add(&mut self, values: &[f64], outcome: &Outcome) -> io::Result<()> {
        let mut digits = ryu::Buffer::new();
        if let (Some((_, signals)), Ok(evaluation)) = (&mut self.signals, outcome) {
            for row in evaluation.rows.chunks_exact(self.table.recorded.len() + 1) {
                write!(signals, "{}", self.runs)?;
                for &x in row {
                    write!(signals, ",{}", digits.format(x))?;
                }
                signals.write_all(b"\n")?;
            }
        }
        write!(self.rows, "{}", self.runs)?;
        for &x in values {
            write!(self.rows, ",{}", digits.format(x))?;
        }
        match outcome {
            Ok(evaluation) => {
                for &x in &evaluation.metrics {
                    // What is no number in a run that went well is left open.
                    match x.is_finite() {
                        true => write!(self.rows, ",{}", digits.format(x))?,
                        false => self.rows.write_all(b",")?,
                    }
                }
                self.rows.write_all(b",\n")?;
            }
            Err(reason) => {
                self.table.metrics.iter().try_for_each(|_| self.rows.write_all(b","))?;
                let told = format!("{}: {}", reason.kind.word(), reason.message);
                writeln!(self.rows, ",{}", cell(&told))?;
            }
        }
        self.runs += 1;
        if self.flushed.elapsed() > FLUSH {
            self.flush()?;
        }
        Ok(())
    }

    /// Signals first: a run counts as finished when its row is there.
    fn flush(&mut self) -> io::Result<()> {
        if let Some((_, signals)) = &mut self.signals {
            signals.flush()?;
        }
        self.flushed = Instant::now();
        self.rows.flush()
    }

    /// Leaves the results to be gone on with.
    pub fn keep(mut self) -> io::Result<()> {
        self.flush()
    }

    /// Gives the results their names; tells the files.
    pub fn finish(mut self) -> Result<Vec<PathBuf>, Diagnostic> {
        let flushed = self.flush();
        let cannot = |error: io::Error| write_problem(&self.target, &error);
        flushed.map_err(cannot)?;
        let mut files = vec![self.target.clone()];
        let written = match self.target.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv")) {
            true => self.copy(),
            false => self.to_parquet(),
        };
        written.map_err(cannot)?;
        if let Some((path, _)) = &self.signals {
            let target = signals_path(&self.target);
            std::fs::rename(path, &target).map_err(|error| write_problem(&target, &error))?;
            files.push(target);
        }
        std::fs::remove_file(&self.part).map_err(|error| write_problem(&self.part, &error))?;
        Ok(files)
    }

    /// Everything but the line that says whose it is.
    fn copy(&self) -> io::Result<()> {
        let mut reader = BufReader::new(File::open(&self.part)?);
        reader.skip_until(b'\n')?;
        let mut output = OutputFile::create(&self.target)?;
        io::copy(&mut reader, &mut output)?;
        output.finish()
    }

    #[cfg(not(feature = "parquet"))]
    fn to_parquet(&self) -> io::Result<()> {
        Err(io::Error::other("this build does not write Parquet files"))
    }

    /// Failures as numbers: 0 for none, otherwise their place among [`ReasonKind::ALL`], from 1.
    #[cfg(feature = "parquet")]
    fn to_parquet(&self) -> io::Result<()> {
        use fluxline_core::recorder::Sink;
        let mut reader = BufReader::new(File::open(&self.part)?);
        reader.skip_until(b'\n')?;
        reader.skip_until(b'\n')?;
        let output = OutputFile::create(&self.target)?;
        let named = self.table.parameters.iter().chain(&self.table.metrics);
        let columns = [("run", "1")]
            .into_iter()
            .chain(named.map(|(name, unit)| (name.as_str(), unit.as_str())))
            .chain([("failure", "1")]);
        let mut writer = fluxline_formats::results::ParquetWriter::with_columns(output, columns)?;
        let mut row = Vec::new();
        for line in reader.lines() {
            let line = line?;
            let Some(read) = self.table.row(&line) else { continue };
            row.clear();
            row.push(read.run as f64);
            row.extend(read.parameters.iter().chain(&read.metrics));
            let kind = read.failure.map(|(kind, _)| kind);
            let code = ReasonKind::ALL.iter().position(|one| Some(*one) == kind);
            row.push(code.map_or(0.0, |at| (at + 1) as f64));
            writer.row(&row)?;
        }
        writer.finish()
    }
}

/// A row that has been read back.
struct Row {
    run: u64,
    #[cfg_attr(
        not(feature = "parquet"),
        allow(dead_code, reason = "only Parquet files need them")
    )]
    parameters: Vec<f64>,
    metrics: Vec<f64>,
    failure: Option<(ReasonKind, String)>,
}

impl Table {
    fn header(&self) -> String {
        let names = self.parameters.iter().chain(&self.metrics).map(|(name, _)| cell(name));
        let all: Vec<String> =
            ["run".to_owned()].into_iter().chain(names).chain(["failure".to_owned()]).collect();
        all.join(",") + "\n"
    }

    /// Reads whole rows in order; their number and length.
    fn read(
        &self,
        reader: &mut impl BufRead,
        known: &mut dyn FnMut(u64, Known),
    ) -> io::Result<(u64, u64)> {
        let (mut runs, mut length) = (0, 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            if line.pop() != Some(b'\n') {
                return Ok((runs, length));
            }
            let row = std::str::from_utf8(&line).ok().and_then(|line| self.row(line));
            let Some(row) = row.filter(|row| row.run == runs) else {
                return Ok((runs, length));
            };
            match &row.failure {
                None => known(runs, Ok(&row.metrics)),
                Some((kind, message)) => known(runs, Err((*kind, message))),
            }
            runs += 1;
            length += line.len() as u64 + 1;
        }
    }

    fn row(&self, line: &str) -> Option<Row> {
        let mut cells = line.splitn(2 + self.parameters.len() + self.metrics.len(), ',');
        let run = cells.next()?.parse().ok()?;
        let mut numbers = |count: usize| -> Option<Vec<f64>> {
            (0..count)
                .map(|_| match cells.next()? {
                    "" => Some(f64::NAN),
                    text => text.parse().ok(),
                })
                .collect()
        };
        let (parameters, metrics) = (numbers(self.parameters.len())?, numbers(self.metrics.len())?);
        let told = cells.next()?.trim_matches('"').replace("\"\"", "\"");
        let failure = match told.is_empty() {
            true => None,
            false => {
                let (word, message) = told.split_once(": ")?;
                let kind = ReasonKind::ALL.into_iter().find(|kind| kind.word() == word)?;
                Some((kind, message.to_owned()))
            }
        };
        Some(Row { run, parameters, metrics, failure })
    }
}

/// A text as a cell of a CSV file.
fn cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"").replace(['\n', '\r'], " ")),
        false => text.to_owned(),
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Where recorded variables go: `results.signals.csv` beside `results.csv`.
fn signals_path(target: &Path) -> PathBuf {
    target.with_extension("signals.csv")
}

/// All that a short file holds.
fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(File::open(path)?, 1 << 16), &mut bytes)?;
    Ok(bytes)
}

/// Opens the file of recorded variables behind the rows of finished runs.
fn open_signals(path: &Path, table: &Table, runs: u64) -> io::Result<File> {
    let names = table.recorded.iter().map(|name| cell(name)).collect::<Vec<_>>().join(",");
    let head = format!("run,time,{names}\n");
    let mut length = 0;
    if runs > 0 {
        let mut reader = BufReader::new(File::open(path)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            let run = std::str::from_utf8(&line)
                .ok()
                .and_then(|line| line.split(',').next().and_then(|run| run.parse::<u64>().ok()));
            let is_head = length == 0 && line == head.as_bytes();
            if !(is_head || run.is_some_and(|run| run < runs)) || line.last() != Some(&b'\n') {
                break;
            }
            length += line.len() as u64;
        }
    }
    let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
    file.set_len(length)?;
    file.seek(SeekFrom::End(0))?;
    if length == 0 {
        file.write_all(head.as_bytes())?;
    }
    Ok(file)
}
