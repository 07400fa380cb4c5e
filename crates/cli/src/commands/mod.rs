//! What each sub-command does.

mod bench;
mod bode;
mod check;
mod compare;
mod compare_solvers;
mod convert;
mod describe;
mod explain;
mod export;
mod generate;
mod identify;
mod list;
mod new;
mod optimise;
mod partition;
mod plot;
mod reproduce;
mod run;
mod sensitivity;
mod spectrum;
mod stiffness;
mod study;
mod sweep;
mod validate;

pub(crate) use run::{INTERRUPTED, listen};

use crate::args::{Cli, Color, Command};
use crate::session::Failure;
use clap::Parser;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use fluxline_formats::results::{OutputFile, write_problem};
use fluxline_plot::Figure;
use fluxline_units::{Dimension, Quantity};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// The whole command: reads the arguments of the process, does what they say.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let console = Console::new(cli.color);
    let code = match cli.command {
        Command::New(args) => new::run(&console, &args),
        Command::Check(args) => check::run(&console, &args),
        Command::Run(args) => run::run(&console, &args),
        Command::Plot(args) => plot::run(&console, &args),
        Command::Convert(args) => convert::run(&console, &args),
        Command::Compare(args) => compare::run(&console, &args),
        Command::Validate(args) => validate::run(&console, &args),
        Command::List(args) => list::run(&console, &args),
        Command::Describe(args) => describe::run(&console, &args),
        Command::Explain(args) => explain::run(&console, &args),
        Command::Stiffness(args) => stiffness::run(&console, &args),
        Command::CompareSolvers(args) => compare_solvers::run(&console, &args),
        Command::Bench(args) => bench::run(&console, &args),
        Command::Sweep(args) => sweep::run(&console, &args),
        Command::Export(args) => export::run(&console, &args),
        Command::Partition(args) => partition::run(&console, &args),
        Command::Generate(args) => generate::run(&console, &args),
        Command::Optimise(args) => optimise::run(&console, &args),
        Command::Identify(args) => identify::run(&console, &args),
        Command::Sensitivity(args) => sensitivity::run(&console, &args),
        Command::Bode(args) => bode::run(&console, &args),
        Command::Spectrum(args) => spectrum::run(&console, &args),
        Command::Reproduce(args) => reproduce::run(&console, &args),
    };
    ExitCode::from(code)
}

/// Where text goes, and how it may look there.
pub(crate) struct Console {
    /// Colours on standard output.
    pub color: bool,
    /// Colours on standard error.
    pub error_color: bool,
    /// Width of the terminal, in characters.
    pub width: usize,
    /// Says nothing, where another process speaks.
    pub is_silent: bool,
}

impl Console {
    fn new(color: Color) -> Self {
        let wanted = |is_terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let is_off = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
                is_terminal
                    && !is_off("NO_COLOR")
                    && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
            }
        };
        let columns = console::Term::stdout().size_checked().map(|(_, columns)| columns.into());
        Self {
            color: wanted(io::stdout().is_terminal()),
            error_color: wanted(io::stderr().is_terminal()),
            width: columns.filter(|&width: &usize| width >= 40).unwrap_or(100).min(200),
            is_silent: false,
        }
    }

    /// The same, without a word.
    #[cfg(feature = "mpi")]
    pub fn silent(&self) -> Self {
        Self { is_silent: true, ..*self }
    }

    /// Writes to standard output. A reader that has gone away is no error.
    pub fn print(&self, text: &str) {
        if self.is_silent {
            return;
        }
        let mut out = io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Writes to standard error.
    pub fn tell(&self, text: &str) {
        if self.is_silent {
            return;
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Shows problems and gives the exit code.
    pub fn report(&self, problems: &Diagnostics, sources: &SourceMap) -> u8 {
        if !problems.is_empty() {
            self.tell(&problems.render(sources, self.error_color, self.width));
        }
        problems.exit_code()
    }

    /// Shows one problem without a place in a file.
    pub fn fail(&self, problem: Diagnostic) -> u8 {
        self.report(&problem.into(), &SourceMap::new())
    }

    /// Shows why a circuit cannot be run.
    pub fn refuse(&self, failure: &Failure) -> u8 {
        self.reject(&failure.problems, &failure.sources)
    }

    /// Shows problems, how many they are, and gives the exit code.
    pub fn reject(&self, problems: &Diagnostics, sources: &SourceMap) -> u8 {
        let code = self.report(problems, sources);
        self.tell(&format!("\n{}\n", problems.summary()));
        code
    }

    /// Bold.
    pub fn strong(&self, text: &str) -> String {
        if self.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// JSON, readable.
    pub fn json(&self, value: &serde_json::Value) {
        self.print(&format!("{value:#}\n"));
    }
}

/// A time that an option gives, such as "3 ms", in s.
pub(crate) fn parse_time(option: &str, text: &str) -> Result<f64, Diagnostic> {
    let example = "give a number with a unit of time, such as \"3 ms\"";
    let quantity = Quantity::parse(text).map_err(|error| {
        let message = format!("`{option} {text}`: {error}");
        Diagnostic::error(Code::UnparsableQuantity, message).help(example)
    })?;
    if quantity.dimension != Dimension::TIME {
        let message = format!("`{option}` is a time, but \"{text}\" is none");
        return Err(Diagnostic::error(Code::WrongDimension, message).help(example));
    }
    Ok(quantity.value)
}

/// Draws a figure into an SVG or PNG file.
pub(crate) fn draw(figure: &Figure, path: &Path) -> Result<(), Diagnostic> {
    let is_png = run::image_format(path)?;
    let (width, height) = figure.natural_size();
    // One diagram alone may be higher than one of many.
    let height = height.max(420);
    let image = match is_png {
        true => figure.to_png(width, height, 2.0).map_err(io::Error::other),
        false => Ok(figure.to_svg(width, height).into_bytes()),
    };
    let write = |image: Vec<u8>| {
        let mut file = OutputFile::create(path)?;
        file.write_all(&image)?;
        file.finish()
    };
    image.and_then(write).map_err(|error| write_problem(path, &error))
}
