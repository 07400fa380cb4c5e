//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  done; there may be warnings
  1  the run failed: diverged, not converged, stopped, interrupted, not at rest
  2  the input is wrong
  3  a file cannot be read or written

`fluxline explain CODE` tells more about an error or warning.";

/// A simulator for fluid-power and mechatronic machines.
#[derive(Debug, Parser)]
#[command(name = "fluxline", version, about, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a starter circuit
    New(New),
    /// Check a circuit and tell everything that is wrong with it
    Check(Check),
    /// Simulate a circuit
    Run(Box<Run>),
    /// Draw results as SVG or PNG
    Plot(Plot),
    /// Write a model of Hopsan (.hmf) as a circuit file
    Convert(Convert),
    /// Simulate, and compare with a table of results or measurements
    Compare(Compare),
    /// Run a validation file of Hopsan (.hvc)
    Validate(Validate),
    /// List component types
    List(List),
    /// Describe a component type or the settings `run`, `solver`, `fluid`, `lines`, `record`
    Describe(Describe),
    /// Explain an error code
    Explain(Explain),
    /// Tell how stiff a circuit is: eigenvalues, stable steps, small volumes
    Stiffness(Stiffness),
    /// Compare solvers: error against a converged reference, time, steps
    CompareSolvers(Box<CompareSolvers>),
    /// Measure how fast a circuit runs
    Bench(Bench),
    /// Run a circuit many times with other values of its parameters
    Sweep(Box<Sweep>),
    /// Write a circuit as source code, to be embedded elsewhere
    Export(Export),
    /// Split a circuit into parts that run side by side, and tell what to expect of it
    Partition(Box<Partition>),
    /// Write a large circuit, to measure with
    Generate(Generate),
    /// Find the best values of parameters, as a study file asks
    Optimise(Box<Study>),
    /// Find the values of parameters with which a circuit follows measured data
    Identify(Box<Identify>),
    /// Tell which parameters matter to which metrics of a run
    Sensitivity(Box<Sensitivity>),
    /// Find the frequency response of a circuit, by exact linearisation and by measurement
    Bode(Box<Bode>),
    /// Find the spectrum of a recorded variable, or how one follows from another
    Spectrum(Spectrum),
    /// Repeat a published case and compare
    Reproduce(Reproduce),
}

#[derive(Debug, Args)]
pub struct New {
    /// Name of the circuit; NAME.toml is written
    #[arg(value_name = "NAME")]
    pub name: PathBuf,
    /// What to start from
    #[arg(long, default_value = "servo")]
    pub template: String,
    /// Overwrite a file of that name
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct Check {
    /// The circuit file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Set a parameter: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print problems as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct Run {
    /// The circuit file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Time at the end, such as "3 s"
    #[arg(long, value_name = "TIME")]
    pub stop: Option<String>,
    /// Time step, such as "0.1 ms"
    #[arg(long, value_name = "TIME")]
    pub step: Option<String>,
    /// What integrates: tlm, euler, heun, modified-heun, rk4, sdirk2, rosenbrock, bdf,
    /// adaptive-explicit or auto
    #[arg(long, value_name = "SOLVER")]
    pub solver: Option<String>,
    /// Error allowed per step, relative, of solvers that choose their steps
    #[arg(long, value_name = "X")]
    pub tolerance: Option<String>,
    /// Small volumes of lumped solvers: integrate, pds, advpds, algebraic or singular-perturbation
    #[arg(long, value_name = "HOW")]
    pub small_volumes: Option<String>,
    /// Compile the circuit into code of its own: auto (when it pays), on or off
    #[arg(long, value_name = "WHEN")]
    pub fused: Option<String>,
    /// Set a parameter: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Write recorded variables to a CSV file, in SI units; `-` is standard output
    ///
    /// The file appears under its name when it is whole. A run that fails or is interrupted keeps
    /// what it has computed; when the disk is full nothing is left of it.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write recorded variables to a Parquet file, in SI units
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    /// Record so many samples, spread evenly
    #[arg(long, value_name = "N", conflicts_with = "every", value_parser = clap::value_parser!(u32).range(2..))]
    pub samples: Option<u32>,
    /// Record every N-th step
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Record these variables, and what the file plots, in place of its list; `*` stands for any characters
    #[arg(long, value_name = "PATTERN")]
    pub record: Vec<String>,
    /// Refuse to write more numbers than this to a result file
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    pub max_values: u64,
    /// Save the state at the end, to go on from there later
    #[arg(long, value_name = "FILE")]
    pub save_state: Option<PathBuf>,
    /// Go on from a saved state
    #[arg(long, value_name = "FILE")]
    pub from_state: Option<PathBuf>,
    /// Write a report with interactive plots
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Draw the plots of the file, or all recorded variables
    #[arg(long, value_name = "FILE.svg|png")]
    pub plot: Option<PathBuf>,
    /// Run the circuit in so many parts on as many threads, or `auto`: as many as pay
    ///
    /// The results have the same bits whatever the number.
    #[arg(long, value_name = "N|auto", value_parser = threads)]
    pub threads: Option<Threads>,
    /// The parts of the circuit, as `fluxline partition` writes them
    #[arg(long, value_name = "FILE.toml")]
    pub partition: Option<PathBuf>,
    /// Let parts exchange every N-th step where that is good enough; the verdict tells the error
    ///
    /// Lines between parts become up to N steps long, and are interpolated in between: for slow
    /// connections. While the pressures at the ends of a line differ by more than 0.01 % of the
    /// largest one, its ends exchange more often.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub exchange_every: Option<u32>,
    /// Exchange every N-th step and never more often, whatever the error
    #[arg(long, requires = "exchange_every")]
    pub exchange_strictly: bool,
    /// Run on the ranks of an MPI job, one part each: mpirun -n 4 fluxline run FILE --mpi
    #[arg(long, conflicts_with = "threads")]
    pub mpi: bool,
    /// Print the verdict as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
    /// No progress, no plots in the terminal, no table
    #[arg(long, short)]
    pub quiet: bool,
}

/// How many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// As many as pay.
    Auto,
    /// So many.
    Of(usize),
}

fn threads(text: &str) -> Result<Threads, String> {
    match text.parse() {
        _ if text == "auto" => Ok(Threads::Auto),
        Ok(count @ 1..=1024) => Ok(Threads::Of(count)),
        _ => Err("give a whole number from 1 to 1024, or `auto`".to_owned()),
    }
}

#[derive(Debug, Args)]
pub struct Convert {
    /// The model
    #[arg(value_name = "MODEL.hmf")]
    pub model: PathBuf,
    /// The circuit file to write; `-` is standard output
    #[arg(value_name = "CIRCUIT.toml")]
    pub circuit: PathBuf,
    /// Set a parameter by its name in the model: --set "Valve#in#Value=0.01"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Overwrite a file of that name
    #[arg(long)]
    pub force: bool,
}

const COMPARE_CODES: &str = "\
Exit codes:
  0  all compared variables are within the tolerance
  1  one is not, or the run failed
  2  the input is wrong, or no variable of the reference is in the model
  3  a file cannot be read";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_CODES)]
pub struct Compare {
    /// The circuit file, or a model of Hopsan
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// A CSV file with a column of time and columns named like variables of the model
    ///
    /// A unit in brackets behind a name is converted; without it numbers are SI.
    #[arg(value_name = "REFERENCE.csv")]
    pub reference: PathBuf,
    /// Largest deviation of a variable, relative to its largest magnitude in the reference
    #[arg(long, value_name = "X", default_value_t = 0.01)]
    pub tolerance: f64,
    /// Set a parameter: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = COMPARE_CODES)]
pub struct Validate {
    /// The validation file
    #[arg(value_name = "FILE.hvc")]
    pub file: PathBuf,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct Stiffness {
    /// The circuit file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Simulate to this time first, such as "0.2 s"
    #[arg(long, value_name = "TIME", conflicts_with_all = ["steady", "over"])]
    pub at: Option<String>,
    /// Let the circuit come to rest first
    #[arg(long, conflicts_with = "over")]
    pub steady: bool,
    /// Look at so many points of time, spread evenly over the run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub over: Option<u32>,
    /// List all modes, also slow ones
    #[arg(long)]
    pub all: bool,
    /// Draw the eigenvalues; with --over, how the limits move
    #[arg(long, value_name = "FILE.svg|png")]
    pub plot: Option<PathBuf>,
    /// Set a parameter: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct CompareSolvers {
    /// The circuit file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The solvers: tlm, euler, heun, modified-heun, rk4, sdirk2, rosenbrock, bdf, adaptive-explicit
    #[arg(long, value_name = "LIST", default_value = "tlm,rk4,sdirk2,rosenbrock")]
    pub solvers: String,
    /// Steps of solvers with a fixed one: "1 us, 10 us"; ten times, one and a tenth of the file's
    /// unless given
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true)]
    pub steps: String,
    /// Tolerances of solvers that choose their steps
    #[arg(long, value_name = "LIST", default_value = "1e-3,1e-4,1e-5,1e-6")]
    pub tolerances: String,
    /// What lumped solvers do with small volumes, each in turn: integrate, pds, advpds, algebraic,
    /// singular-perturbation
    #[arg(long, value_name = "LIST", default_value = "integrate")]
    pub small_volumes: String,
    /// What is taken for the truth, as "rk4@1 us" or rosenbrock@1e-9; the tightest of two independent
    /// solvers unless given
    #[arg(long, value_name = "SOLVER@STEP")]
    pub reference: Option<String>,
    /// What speed-ups are relative to, as "rk4@1 us", "rk4+advpds@0.1 ms"; the slowest unless given
    #[arg(long, value_name = "SOLVER@STEP")]
    pub baseline: Option<String>,
    /// Compare these variables in place of those that the file plots; `*` stands for any characters
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    pub variables: Vec<String>,
    /// Time at the end, such as "3 s"
    #[arg(long, value_name = "TIME")]
    pub stop: Option<String>,
    /// Give up a run that takes longer
    #[arg(long, value_name = "TIME", default_value = "60 s")]
    pub patience: String,
    /// Set a parameter: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Draw errors over times
    #[arg(long, value_name = "FILE.svg|png")]
    pub plot: Option<PathBuf>,
    /// Write all figures to a CSV file
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("language").required(true).args(["c", "rust"]))]
pub struct Export {
    /// Write C: a source, a header and a program that runs it
    #[arg(long)]
    pub c: bool,
    /// Write Rust: a module and a program that runs it
    #[arg(long)]
    pub rust: bool,
    /// The circuit file, or a model of Hopsan
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The folder to write to; without, one named after the circuit
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Set a parameter: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Overwrite files that are there
    #[arg(long)]
    pub force: bool,
}

/// Whether code of a circuit's own is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhenFused {
    /// Where it can be made
    Auto,
    /// Always: it is an error where it cannot
    On,
    /// Never
    Off,
}

#[derive(Debug, Args)]
pub struct Bench {
    /// The circuit file, or a model of Hopsan
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Run so many times
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Measure code of its own, too: as Fluxline writes it, and as the C compiler of the machine makes it
    #[arg(
        long,
        value_name = "WHEN",
        require_equals = true,
        num_args = 0..=1,
        default_value = "auto",
        default_missing_value = "on"
    )]
    pub fused: WhenFused,
    /// Set a parameter: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

/// The formats of tables that this build writes.
const TABLE: &str = if cfg!(feature = "parquet") { "FILE.csv|parquet" } else { "FILE.csv" };

const VALUES: &str = "\
Values of a parameter:
  \"5 mm..15 mm:11\"          11 levels, evenly spaced, both ends included
  \"[1 bar, 2 bar, 5 bar]\"   these levels; also \"[true, false]\" and \"[stribeck, none]\"
  \"5 mm..15 mm\"             anything in between (as uniform(5 mm, 15 mm))
  \"normal(100 kg, 5 kg)\"    mean and standard deviation
  \"lognormal(100 kg, 0.2)\"  median and standard deviation of the logarithm

Metrics are expressions with units over functions of signals:
  max, min, initial, final, mean, rms, peak_to_peak, integral, rise_time,
  overshoot(x[, target]), settling_time(x[, band]), iae, ise, itae(x[, reference]), energy(port)
  \"overshoot(load.x)\", \"max(load.x) - 0.2 m\", \"rms(load.x - reference.out)\"

Exit codes:
  0  done; runs that failed are told with their reasons
  1  interrupted (the same command goes on from there), or every run failed
  2  the input is wrong
  3  a file cannot be read or written";

/// How runs are spread over what is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DesignName {
    /// Every combination of levels
    Grid,
    /// Latin hypercube
    Lhs,
    /// Sobol sequence
    Sobol,
    /// By chance (Monte Carlo)
    Random,
}

#[derive(Debug, Args)]
#[command(after_help = VALUES)]
pub struct Sweep {
    /// The circuit file, or a model of Hopsan
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Vary a parameter, by any name that `--set` takes
    #[arg(long, value_name = "NAME=VALUES", required = true)]
    pub vary: Vec<String>,
    /// Compute a metric of each run
    #[arg(long, value_name = "METRIC")]
    pub metric: Vec<String>,
    /// Keep these variables of each run, in a file beside the results; `*` stands for any characters
    #[arg(long, value_name = "PATTERN", requires = "out")]
    pub record: Vec<String>,
    /// Keep so many samples of them, spread evenly
    #[arg(long, value_name = "N", default_value_t = 201, value_parser = clap::value_parser!(u32).range(2..))]
    pub samples: u32,
    /// Number of runs; a grid has its own
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,
    /// How runs are spread: grid where only levels are given and no number of runs, lhs otherwise
    #[arg(long, value_enum, value_name = "DESIGN")]
    pub design: Option<DesignName>,
    /// Where chance begins: the same seed gives the same runs
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Write a row for each run, in SI units
    #[arg(long, value_name = TABLE)]
    pub out: Option<PathBuf>,
    /// Begin again, also where an interrupted study could go on
    #[arg(long)]
    pub restart: bool,
    /// Set a parameter of all runs: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Threads; all cores unless given. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Runs side by side in vector registers: auto, 1, 4 or 8. Results do not depend on it
    #[arg(long, value_name = "N", default_value = "auto", value_parser = ["auto", "1", "4", "8"])]
    pub lanes: String,
    /// Share the runs among the ranks of an MPI job: mpirun -n 4 fluxline sweep FILE … --mpi
    #[arg(long)]
    pub mpi: bool,
    /// Print the summary as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// How sensitivity is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SensitivityMethod {
    /// Derivatives at the values of the file, by dual numbers through the run
    Exact,
    /// The same by differences of runs
    Differences,
    /// Screening over ranges by elementary effects: cheap, for many parameters
    Morris,
    /// Shares of the variance over ranges (Sobol indices) with their confidence
    Sobol,
}

#[derive(Debug, Args)]
#[command(after_help = VALUES)]
pub struct Sensitivity {
    /// The circuit file, or a model of Hopsan
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Parameters, by any name that `--set` takes; with values such as "load.mass=90 kg..110 kg", or
    /// alone: 10 % around the value of the file
    #[arg(long, value_name = "NAME[=VALUES]", required = true, num_args = 1..)]
    pub parameters: Vec<String>,
    /// Metrics of a run
    #[arg(long, value_name = "METRIC", required = true, num_args = 1..)]
    pub metrics: Vec<String>,
    /// How it is found
    #[arg(long, value_enum, default_value_t = SensitivityMethod::Exact, value_name = "METHOD")]
    pub method: SensitivityMethod,
    /// Number of runs of morris (20 walks unless given) and sobol (512 points unless given), at least
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub runs: Option<u32>,
    /// Relative change of parameters for differences
    #[arg(long, value_name = "X", default_value_t = 1e-3)]
    pub step: f64,
    /// Where chance begins: the same seed gives the same runs
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Write all figures to a CSV file
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Draw bars by importance
    #[arg(long, value_name = "FILE.svg|png")]
    pub plot: Option<PathBuf>,
    /// Set a parameter of all runs: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Threads; all cores unless given. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Runs side by side in vector registers: auto, 1, 4 or 8. Results do not depend on it
    #[arg(long, value_name = "N", default_value = "auto", value_parser = ["auto", "1", "4", "8"])]
    pub lanes: String,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

/// How a response is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Measure {
    /// One sine at a time
    Sine,
    /// All frequencies in one run
    Multisine,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
#[command(group = clap::ArgGroup::new("where").required(true))]
pub struct Bode {
    /// The circuit file, or a model of Hopsan
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Where the signal is added: an input of a component, or an output that inputs read
    #[arg(long, value_name = "NAME", group = "where")]
    pub input: Option<String>,
    /// Cut the loop in front of this input and show the gain around it, with its margins
    #[arg(long, value_name = "NAME", group = "where")]
    pub open_loop_at: Option<String>,
    /// What is looked at; may be repeated
    #[arg(long, value_name = "VARIABLE")]
    pub output: Vec<String>,
    /// Lowest frequency, such as "0.1 Hz"
    #[arg(long, value_name = "FREQUENCY")]
    pub from: Option<String>,
    /// Highest frequency, below half the sampling rate
    #[arg(long, value_name = "FREQUENCY")]
    pub to: Option<String>,
    /// Number of frequencies
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub points: u32,
    /// Simulate to this time and look there; at rest unless given
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// Also measure it in simulation
    #[arg(long, value_enum, value_name = "HOW")]
    pub measure: Option<Measure>,
    /// Size of the signal that is added to measure, in the unit of the input
    #[arg(long, value_name = "QUANTITY")]
    pub amplitude: Option<String>,
    /// Number of frequencies that are measured
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub measured_points: u32,
    /// Change from period to period below which the circuit has settled
    #[arg(long, value_name = "X", default_value_t = 1e-5)]
    pub settled: f64,
    /// Periods after which it is taken as it is
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(2..))]
    pub periods: u32,
    /// Draw gain and phase
    #[arg(long, value_name = "FILE.svg|png")]
    pub plot: Option<PathBuf>,
    /// Draw the response in the complex plane
    #[arg(long, value_name = "FILE.svg|png")]
    pub nyquist: Option<PathBuf>,
    /// Draw the step response of the linearised circuit
    #[arg(long, value_name = "FILE.svg|png")]
    pub step_response: Option<PathBuf>,
    /// Write the response to a CSV file
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// List all poles and zeros
    #[arg(long)]
    pub all: bool,
    /// Set a parameter: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

/// How the ends of a segment are faded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WindowName {
    /// Not at all: for whole periods
    Rectangular,
    /// Raised cosine: good for most
    Hann,
    /// For small lines beside large ones
    BlackmanHarris,
    /// For amplitudes
    FlatTop,
}

#[derive(Debug, Args)]
pub struct Spectrum {
    /// A CSV file: Fluxline's own, or any with a column of time
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// Name of a variable
    #[arg(value_name = "VARIABLE")]
    pub variable: String,
    /// Show how the variable follows from this one: response and coherence
    #[arg(long, value_name = "VARIABLE")]
    pub input: Option<String>,
    /// How the ends of segments are faded
    #[arg(long, value_enum, default_value_t = WindowName::Hann, value_name = "WINDOW")]
    pub window: WindowName,
    /// Average so many segments that overlap by half
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub segments: u32,
    /// Leave out what comes before this time
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Leave out what comes after this time
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
    /// Write it to a CSV file
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Draw it
    #[arg(long, value_name = "FILE.svg|png")]
    pub plot: Option<PathBuf>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Study {
    /// The study file
    #[arg(value_name = "STUDY")]
    pub file: PathBuf,
    /// Write a row for each run, in SI units; an interrupted study goes on from it
    #[arg(long, value_name = TABLE)]
    pub out: Option<PathBuf>,
    /// Write the circuit file with the values that were found
    #[arg(long, value_name = "FILE.toml")]
    pub circuit: Option<PathBuf>,
    /// Write a report with tables and plots
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Begin again, also where an interrupted study could go on
    #[arg(long)]
    pub restart: bool,
    /// Where chance begins, in place of the seed in the file
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Runs at most, in place of the number in the file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub evaluations: Option<u64>,
    /// Set a parameter of all runs: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Threads; all cores unless given. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Runs side by side in vector registers: auto, 1, 4 or 8. Results do not depend on it
    #[arg(long, value_name = "N", default_value = "auto", value_parser = ["auto", "1", "4", "8"])]
    pub lanes: String,
    /// Share the runs among the ranks of an MPI job: mpirun -n 4 fluxline … STUDY --mpi
    #[arg(long)]
    pub mpi: bool,
    /// Print the summary as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct Identify {
    /// Measured data, in place of those that the file names: CSV with units in the header
    #[arg(long, value_name = "FILE.csv")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub study: Study,
}

#[derive(Debug, Args)]
pub struct Plot {
    /// A CSV file: Fluxline's own, or any with a column of time
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,
    /// Names of variables; `*` stands for any characters
    #[arg(value_name = "VARIABLE", required = true)]
    pub variables: Vec<String>,
    /// File to draw into; RESULT.svg unless given
    #[arg(long, short, value_name = "FILE.svg|png")]
    pub output: Option<PathBuf>,
    /// Headline
    #[arg(long)]
    pub title: Option<String>,
    /// Width in pixels
    #[arg(long, value_parser = clap::value_parser!(u32).range(200..=20_000))]
    pub width: Option<u32>,
    /// Height in pixels
    #[arg(long, value_parser = clap::value_parser!(u32).range(120..=20_000))]
    pub height: Option<u32>,
}

#[derive(Debug, Args)]
pub struct List {
    /// Only those with this word in their name, description or aliases
    #[arg(value_name = "WORD")]
    pub word: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Describe {
    /// A component type, or `run`, `solver`, `fluid`, `lines`, `record`
    #[arg(value_name = "TYPE", required_unless_present = "all")]
    pub name: Option<String>,
    /// All component types and settings
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
    /// Print as JSON
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print as Markdown
    #[arg(long)]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct Explain {
    /// A code, such as F0302
    #[arg(value_name = "CODE")]
    pub code: String,
}

/// How a split is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitMethod {
    /// Join tasks level by level, split, improve on the way back
    Multilevel,
    /// Evolution in twelve populations
    Genetic,
    /// Both, of which the better one counts
    Both,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct Partition {
    /// The circuit file, or a model of Hopsan
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Number of parts; as many as there are cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub parts: Option<u32>,
    /// How the split is found
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = SplitMethod::Both)]
    pub method: SplitMethod,
    /// Keep these components in one part: names separated by commas; `*` stands for any characters
    #[arg(long, value_name = "NAMES")]
    pub groups: Vec<String>,
    /// Write which component runs in which part
    #[arg(long, value_name = "FILE.toml")]
    pub out: Option<PathBuf>,
    /// Write a report: the split, a picture of it, costs, predictions
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Draw the split
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Take costs from a file instead of measuring this machine
    #[arg(long, value_name = "FILE.toml", conflicts_with = "recalibrate")]
    pub costs: Option<PathBuf>,
    /// Measure again, also where costs of this machine are kept
    #[arg(long)]
    pub recalibrate: bool,
    /// Run the parts on threads, and tell their time beside the predicted one
    #[arg(long, conflicts_with = "latency")]
    pub measure: bool,
    /// Predict for ranks on several hosts: what a message from one to another costs each, such as
    /// "2 us"
    #[arg(long, value_name = "TIME")]
    pub latency: Option<String>,
    /// What each line of such a message costs
    #[arg(long, value_name = "TIME", default_value = "10 ns", requires = "latency")]
    pub line_time: String,
    /// Ranks on each host
    #[arg(long, value_name = "N", default_value_t = 16, requires = "latency", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cores_per_host: u32,
    /// Where chance begins: the same seed and costs give the same split
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Set a parameter: --set "relief.cracking_pressure=140 bar"
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print the result as JSON, and nothing else, on standard output
    #[arg(long)]
    pub json: bool,
}

/// Kinds of large circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FamilyName {
    /// Machines with pump, valve and cylinder, in a row
    Fleet,
    /// A net of pipes with pumps and consumers
    Network,
}

#[derive(Debug, Args)]
pub struct Generate {
    /// What kind of circuit
    #[arg(value_enum, value_name = "FAMILY")]
    pub family: FamilyName,
    /// At least so many components, lines included; files end at 400 000. Several sizes are compared
    /// with --measure
    #[arg(long, value_name = "N[,N…]", default_value = "1000", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_500_000))]
    pub components: Vec<u32>,
    /// The circuit file to write; `-` is standard output
    #[arg(long, value_name = "FILE.toml", required_unless_present = "measure")]
    pub out: Option<PathBuf>,
    /// Plan, split and step it in memory, without a file, and tell what that takes
    #[arg(long)]
    pub measure: bool,
    /// Predict for ranks on hosts with such a latency
    #[arg(long, value_name = "TIME", default_value = "2 us", requires = "measure")]
    pub latency: String,
    /// What a line between hosts costs
    #[arg(long, value_name = "TIME", default_value = "10 ns", requires = "measure")]
    pub line_time: String,
    /// Ranks on one host
    #[arg(long, value_name = "N", default_value_t = 16, requires = "measure")]
    pub cores_per_host: u32,
    /// Draw the predicted speed-up, as SVG
    #[arg(long, value_name = "FILE.svg", requires = "measure")]
    pub plot: Option<PathBuf>,
    /// Overwrite a file of that name
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct Reproduce {
    /// A case, such as tlm/mass-spring
    #[arg(value_name = "CASE", required_unless_present = "list")]
    pub case: Option<String>,
    /// List the cases
    #[arg(long)]
    pub list: bool,
    /// Only what takes a second or two: shorter runs, no speed
    #[arg(long)]
    pub brief: bool,
    /// Random sequences to run, where a case has them; medians are shown
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub seeds: u32,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
