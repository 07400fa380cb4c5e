//! Results on disk as they come, so that an interrupted study goes on where it was.
//!
//! Until a study is finished its rows lie in `FILE.partial`, under a line that says whose they are.
//! Rows come in the order of the runs, so their number says where to go on; the last one may be
//! torn. Where variables are recorded, each row ends with the length and a print of what its run left
//! in the file of signals: a run counts when it is whole in both. When the last run is in, the files
//! get their names, as CSV or as Parquet. A study that was interrupted and resumed leaves the same
//! bytes as one that was not.

use crate::ensemble::{Outcome, ReasonKind};
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::results::{OutputFile, read_problem, write_problem};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Columns of a result file, with their units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What is varied.
    pub parameters: Vec<Column>,
    /// What is computed.
    pub metrics: Vec<(String, String)>,
    /// What is recorded, in a file of its own.
    pub recorded: Vec<String>,
}

/// What is varied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// What is written for the places 0, 1 … where it takes words.
    pub words: Vec<String>,
}

impl Column {
    /// Reads its cell at the beginning of a row; what comes behind it.
    fn read<'t>(&self, row: &'t str) -> Option<(f64, &'t str)> {
        if !self.words.is_empty() {
            let is_here = |word: &String| row.strip_prefix(&cell(word))?.strip_prefix(',');
            let place = self.words.iter().position(|word| is_here(word).is_some())?;
            return Some((place as f64, is_here(&self.words[place])?));
        }
        let (text, rest) = row.split_once(',')?;
        let value = if text.is_empty() { f64::NAN } else { text.parse().ok()? };
        Some((value, rest))
    }
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
    line: Vec<u8>,
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
        // Found now and not after all runs.
        let mut targets = vec![target.to_owned()];
        targets.extend((!table.recorded.is_empty()).then(|| signals_path(target)));
        if let Some(folder) = targets.iter().find(|path| path.is_dir()) {
            let error = io::Error::new(io::ErrorKind::IsADirectory, "it is a folder");
            return Err(write_problem(folder, &error));
        }
        let part = with_ending(target, ".partial");
        let cannot = |error: io::Error| write_problem(&part, &error);
        let mut signals = match table.recorded.is_empty() {
            true => None,
            false => Some(Signals::new(with_ending(&signals_path(target), ".partial"), table)),
        };
        let head = format!("# fluxline study {identity:016x}\n{}", table.header());
        let (mut runs, mut length) = (0, 0);
        if !restart && let Ok(file) = File::open(&part) {
            let mut reader = BufReader::new(file);
            match begins_with(&mut reader, &head).map_err(cannot)? {
                Beginning::Whole => {
                    if let Some(signals) = &mut signals {
                        signals.read_head(&part)?;
                    }
                    length = head.len() as u64;
                    let read = table.read(&mut reader, signals.as_mut(), known).map_err(cannot)?;
                    runs = read.0;
                    length += read.1;
                }
                // Interrupted before it began.
                Beginning::Torn => {}
                Beginning::Other => {
                    let message =
                        format!("`{}` holds unfinished results of another study", part.display());
                    return Err(Diagnostic::error(Code::OtherStudy, message)
                        .help("finish it with its own command, choose another name, or begin again with `--restart`"));
                }
            }
        }
        // Signals first: rows without them would be refused.
        let signals = match signals {
            None => None,
            Some(Signals { path, head, length, .. }) => {
                let file = cut(&path, length, &head).map_err(|e| write_problem(&path, &e))?;
                Some((path, BufWriter::new(file)))
            }
        };
        let rows = cut(&part, length, &head).map_err(cannot)?;
        Ok(Self {
            target: target.to_owned(),
            part,
            table: table.clone(),
            rows: BufWriter::new(rows),
            signals,
            line: Vec::new(),
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
        let mut seal = Seal::default();
        if let (Some((_, signals)), Ok(evaluation)) = (&mut self.signals, outcome) {
            for row in evaluation.rows.chunks_exact(self.table.recorded.len() + 1) {
                self.line.clear();
                write!(self.line, "{}", self.runs)?;
                for &x in row {
                    write!(self.line, ",{}", digits.format(x))?;
                }
                self.line.push(b'\n');
                seal.add(&self.line);
                signals.write_all(&self.line)?;
            }
        }
        write!(self.rows, "{}", self.runs)?;
        for (column, &x) in self.table.parameters.iter().zip(values) {
            match column.words.get(x as usize) {
                Some(word) => write!(self.rows, ",{}", cell(word))?,
                None => write!(self.rows, ",{}", digits.format(x))?,
            }
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
                self.rows.write_all(b",")?;
            }
            Err(reason) => {
                self.table.metrics.iter().try_for_each(|_| self.rows.write_all(b","))?;
                let told = format!("{}: {}", reason.kind.word(), reason.message);
                write!(self.rows, ",{}", cell(&told))?;
            }
        }
        match self.signals {
            Some(_) => writeln!(self.rows, ",{seal}")?,
            None => self.rows.write_all(b"\n")?,
        }
        self.runs += 1;
        if self.flushed.elapsed() > FLUSH {
            self.flush()?;
        }
        Ok(())
    }

    /// Signals first: a run counts as finished when its row is there and its signals are.
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

    /// Everything but the line that says whose it is, and the seals of signals.
    fn copy(&self) -> io::Result<()> {
        let mut reader = BufReader::new(File::open(&self.part)?);
        reader.skip_until(b'\n')?;
        let mut output = OutputFile::create(&self.target)?;
        if self.signals.is_none() {
            io::copy(&mut reader, &mut output)?;
            return output.finish();
        }
        output.write_all(self.table.header().as_bytes())?;
        reader.skip_until(b'\n')?;
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            let end = line.iter().rposition(|&byte| byte == b',').unwrap_or(line.len());
            output.write_all(&line[..end])?;
            output.write_all(b"\n")?;
            line.clear();
        }
        output.finish()
    }

    #[cfg(not(feature = "parquet"))]
    fn to_parquet(&self) -> io::Result<()> {
        Err(io::Error::other("this build does not write Parquet files"))
    }

    /// Words by their places, from 0. Failures as numbers: 0 for none, otherwise their place among
    /// [`ReasonKind::ALL`], from 1.
    #[cfg(feature = "parquet")]
    fn to_parquet(&self) -> io::Result<()> {
        use fluxline_core::recorder::Sink;
        let mut reader = BufReader::new(File::open(&self.part)?);
        reader.skip_until(b'\n')?;
        reader.skip_until(b'\n')?;
        let output = OutputFile::create(&self.target)?;
        let varied = self.table.parameters.iter().map(|one| (one.name.as_str(), one.unit.as_str()));
        let metrics = self.table.metrics.iter().map(|(name, unit)| (name.as_str(), unit.as_str()));
        let columns =
            [("run", "1")].into_iter().chain(varied.chain(metrics)).chain([("failure", "1")]);
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
    seal: Seal,
}

/// What a run left in the file of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seal {
    bytes: u64,
    /// FNV-1a of them.
    print: u64,
}

impl Default for Seal {
    fn default() -> Self {
        Self { bytes: 0, print: 0xcbf2_9ce4_8422_2325 }
    }
}

impl std::fmt::Display for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{:016x}", self.bytes, self.print)
    }
}

impl Seal {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        for &byte in bytes {
            self.print = (self.print ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (bytes, print) = text.split_once(':')?;
        // A row that is torn here would read as another print.
        let print = (print.len() == 16).then(|| u64::from_str_radix(print, 16).ok())??;
        Some(Self { bytes: bytes.parse().ok()?, print })
    }
}

/// The file of signals of an unfinished study, read up to where it is gone on with.
struct Signals {
    path: PathBuf,
    head: String,
    reader: Option<BufReader<File>>,
    /// Of what belongs to whole runs.
    length: u64,
}

impl Signals {
    fn new(path: PathBuf, table: &Table) -> Self {
        let names = table.recorded.iter().map(|name| cell(name)).collect::<Vec<_>>().join(",");
        Self { path, head: format!("run,time,{names}\n"), reader: None, length: 0 }
    }

    /// Opens the file, which belongs to the rows in `part`.
    fn read_head(&mut self, part: &Path) -> Result<(), Diagnostic> {
        let refused = |what: &str| {
            let message = format!("`{}` {what}", self.path.display());
            Diagnostic::error(Code::OtherStudy, message)
                .note(format!("it belongs to `{}`, with which a study goes on", part.display()))
                .help("put the file back that was there, or begin again with `--restart`")
        };
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(refused("is missing"));
            }
            Err(error) => return Err(read_problem(&self.path, &error)),
            Ok(file) => file,
        };
        let mut reader = BufReader::new(file);
        let found = begins_with(&mut reader, &self.head);
        match found.map_err(|error| read_problem(&self.path, &error))? {
            Beginning::Whole => {
                self.length = self.head.len() as u64;
                self.reader = Some(reader);
            }
            Beginning::Torn => {}
            Beginning::Other => {
                return Err(refused("holds other signals than those that are recorded"));
            }
        }
        Ok(())
    }

    /// Reads what the next run left; false where it is not what the seal says.
    fn take(&mut self, seal: Seal) -> io::Result<bool> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        let mut found = Seal::default();
        while found.bytes < seal.bytes {
            let buffer = reader.fill_buf()?;
            let wanted = usize::try_from(seal.bytes - found.bytes).unwrap_or(usize::MAX);
            let some = buffer.len().min(wanted);
            if some == 0 {
                return Ok(false);
            }
            found.add(&buffer[..some]);
            reader.consume(some);
        }
        let is_whole = found == seal;
        self.length += if is_whole { seal.bytes } else { 0 };
        Ok(is_whole)
    }
}

impl Table {
    fn header(&self) -> String {
        let varied = self.parameters.iter().map(|column| &column.name);
        let names = varied.chain(self.metrics.iter().map(|(name, _)| name)).map(|name| cell(name));
        let all: Vec<String> =
            ["run".to_owned()].into_iter().chain(names).chain(["failure".to_owned()]).collect();
        all.join(",") + "\n"
    }

    /// Reads rows in order, up to the last whose run is whole, also in the signals; their number and
    /// length.
    fn read(
        &self,
        reader: &mut impl BufRead,
        mut signals: Option<&mut Signals>,
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
            if let Some(signals) = &mut signals
                && !signals.take(row.seal)?
            {
                return Ok((runs, length));
            }
            match &row.failure {
                None => known(runs, Ok(&row.metrics)),
                Some((kind, message)) => known(runs, Err((*kind, message))),
            }
            runs += 1;
            length += line.len() as u64 + 1;
        }
    }

    fn row(&self, line: &str) -> Option<Row> {
        let (line, seal) = match self.recorded.is_empty() {
            true => (line, Seal::default()),
            false => {
                line.rsplit_once(',').and_then(|(row, seal)| Some((row, Seal::parse(seal)?)))?
            }
        };
        let (run, mut rest) = line.split_once(',')?;
        let run = run.parse().ok()?;
        let mut parameters = Vec::with_capacity(self.parameters.len());
        for column in &self.parameters {
            let (value, after) = column.read(rest)?;
            parameters.push(value);
            rest = after;
        }
        let mut metrics = Vec::with_capacity(self.metrics.len());
        for _ in &self.metrics {
            let (value, after) = Column::default().read(rest)?;
            metrics.push(value);
            rest = after;
        }
        let told = rest.trim_matches('"').replace("\"\"", "\"");
        let failure = match told.is_empty() {
            true => None,
            false => {
                let (word, message) = told.split_once(": ")?;
                let kind = ReasonKind::ALL.into_iter().find(|kind| kind.word() == word)?;
                Some((kind, message.to_owned()))
            }
        };
        Some(Row { run, parameters, metrics, failure, seal })
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

/// How a file begins.
enum Beginning {
    Whole,
    /// It ends before its head does.
    Torn,
    Other,
}

/// Reads a head.
fn begins_with(reader: &mut impl BufRead, head: &str) -> io::Result<Beginning> {
    let mut found = Vec::with_capacity(head.len());
    io::Read::read_to_end(&mut io::Read::take(reader, head.len() as u64), &mut found)?;
    Ok(match head.as_bytes().strip_prefix(&found[..]) {
        Some([]) => Beginning::Whole,
        Some(_) => Beginning::Torn,
        None => Beginning::Other,
    })
}

/// Opens a file behind as much of it as is gone on with, or behind a new head.
fn cut(path: &Path, length: u64, head: &str) -> io::Result<File> {
    let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
    file.set_len(length)?;
    file.seek(SeekFrom::End(0))?;
    if length == 0 {
        file.write_all(head.as_bytes())?;
    }
    Ok(file)
}
