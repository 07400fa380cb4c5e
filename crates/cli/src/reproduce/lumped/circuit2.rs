//! Circuit 2 of Malysheva: a flow control valve with a small volume, under random inputs.
//!
//! Truth is what two independent solvers agree on, the explicit method of Dormand and Prince and the
//! Rosenbrock method, both at a relative tolerance of 1e-9. (Runge–Kutta at 0.25 µs is still 2 Pa
//! away, and 2 kPa at the published 1 µs.) Errors are root mean squares of p₁ over samples every 0.1 ms, in
//! which those at the jumps of the inputs are left out; a solver with steps of 1 ms is compared at its
//! own points. Speed is time of Runge–Kutta at 1 µs over
//! time, in one run on one machine. The published inputs are not known, so published errors are
//! comparable in size only.

use super::{Solved, Way, bar, beside, median, open, rmse, solve, way};
use crate::reproduce::{Band, Case, Extent, Figure, Origin};
use fluxline_core::plan::Plan;
use fluxline_core::settings::{InnerKind, SmallVolumeKind, SolverKind, SolverSettings};
use fluxline_diagnostics::Diagnostics;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The case.
pub(in crate::reproduce) const CASE: Case = Case {
    name: "lumped/circuit2",
    title: "Small volume in a flow control valve: pseudo-dynamic, implicit, adaptive",
    source: "J. Malysheva, thesis, LUT University, 2021, sections 2.2.2 and 4.5, Table 4.3",
    run: figures,
};

const TEXT: &str = include_str!("../../../../../examples/lumped/circuit2.toml");
const P1: &str = "valve.chamber";
/// Samples, s.
const INTERVAL: f64 = 1e-4;
/// Inputs jump every half second: samples apart.
const JUMPS: usize = 5000;

/// A row of the table.
struct Row {
    name: &'static str,
    way: Way,
    /// Published error (Pa) and speed-up.
    published: Option<(f64, f64)>,
    error: Band,
    error_bar: f64,
    /// Least speed-up.
    speed: Option<f64>,
}

fn pseudo(inner: InnerKind, inner_step: f64) -> Way {
    way(SolverKind::Rk4, 1e-4, |settings| {
        settings.small_volumes = SmallVolumeKind::AdvPds;
        settings.small = P1.to_owned();
        settings.inner_method = inner;
        settings.inner_step = inner_step;
    })
}

fn rows() -> Vec<Row> {
    let row = |name, way, published, error, error_bar, speed| Row {
        name,
        way,
        published,
        error,
        error_bar,
        speed,
    };
    let plain = |_: &mut SolverSettings| {};
    vec![
        row(
            "AdvPDS, Runge–Kutta inside, 0.1 ms/10 µs",
            pseudo(InnerKind::Rk4, 1e-5),
            Some((1.0774e4, 49.4)),
            Band::Within(1.5e4, 3.5e4),
            f64::NAN,
            None,
        ),
        row(
            "AdvPDS, Euler inside, 0.1 ms/10 µs",
            pseudo(InnerKind::Euler, 1e-5),
            Some((1.0616e4, 105.3)),
            Band::Within(1.5e4, 3.5e4),
            f64::NAN,
            None,
        ),
        row(
            "AdvPDS, modified Heun inside, 0.1 ms/0.1 ms",
            pseudo(InnerKind::ModifiedHeun, 1e-4),
            Some((0.6816e4, 57.4)),
            Band::Within(3e3, 8e3),
            f64::NAN,
            None,
        ),
        row(
            "algebraic p₁, Runge–Kutta 0.1 ms",
            way(SolverKind::Rk4, 1e-4, |settings| {
                settings.small_volumes = SmallVolumeKind::Algebraic;
                settings.small = P1.to_owned();
            }),
            None,
            Band::Any,
            f64::NAN,
            None,
        ),
        row(
            "SDIRK2, 0.1 ms",
            way(SolverKind::Sdirk2, 1e-4, plain),
            None,
            Band::AtMost,
            500.0,
            None,
        ),
        row(
            "SDIRK2, 1 ms",
            way(SolverKind::Sdirk2, 1e-3, plain),
            None,
            Band::AtMost,
            3e3,
            Some(300.0),
        ),
        row(
            "Rosenbrock, tolerance 1e-5",
            way(SolverKind::Rosenbrock, 1e-4, plain),
            None,
            Band::AtMost,
            300.0,
            Some(500.0),
        ),
    ]
}

/// Whether inputs jump at a sample.
fn is_jump(sample: usize) -> bool {
    sample.is_multiple_of(JUMPS)
}

/// Whether a sample does not count: at jumps, and where a solver with a larger step has none of its
/// own points.
fn is_left_out(way: &Way) -> impl Fn(usize) -> bool + use<> {
    let apart = match way.kind {
        SolverKind::Sdirk2 => (way.step / INTERVAL).round().max(1.0) as usize,
        _ => 1,
    };
    move |sample| is_jump(sample) || !sample.is_multiple_of(apart)
}

fn figures(extent: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let until = if extent.is_whole { 40.5 } else { 1.2 };
    let rows = rows();
    let mut errors = vec![Vec::new(); rows.len()];
    let mut speeds = vec![Vec::new(); rows.len()];
    let (mut truths, mut references) = (Vec::new(), Vec::new());
    let mut seconds_of_rk4 = f64::NAN;
    let mut cvode = Vec::new();
    let mut adaptive = Vec::new();
    for seed in 1..=extent.seeds {
        let seed = seed.to_string();
        let session = open("circuit2.toml", TEXT, &[("seed", &seed)])?;
        let plan = session.plan();
        let run = |way: &Way| solve(plan, way, &[P1], until, INTERVAL);
        let exact = run(&way(SolverKind::Rosenbrock, 1e-4, |settings| {
            settings.relative_tolerance = 1e-9;
            settings.absolute_tolerance = 1e-9;
        }))?;
        let truth = &exact.samples[0];
        let apart = |solved: &Solved, way: &Way| rmse(&solved.samples[0], truth, is_left_out(way));
        // The explicit one follows every microsecond: once is enough to know how far the truth is
        // known.
        if truths.is_empty() {
            let way = way(SolverKind::AdaptiveExplicit, 1e-4, |settings| {
                settings.relative_tolerance = 1e-9;
                settings.absolute_tolerance = 1e-9;
            });
            truths.push(apart(&run(&way)?, &way));
        }
        if extent.is_whole {
            let way = way(SolverKind::Rk4, 1e-6, |_| {});
            let reference = run(&way)?;
            references.push(apart(&reference, &way));
            seconds_of_rk4 = reference.seconds;
        }
        for (i, row) in rows.iter().enumerate() {
            let mut solved = run(&row.way)?;
            errors[i].push(apart(&solved, &row.way));
            if extent.is_whole {
                for _ in 0..2 {
                    solved.seconds = solved.seconds.min(run(&row.way)?.seconds);
                }
                speeds[i].push(seconds_of_rk4 / solved.seconds);
                if row.way.kind == SolverKind::Rosenbrock {
                    adaptive.push((apart(&solved, &row.way), solved.seconds));
                }
            }
        }
        if extent.is_whole {
            cvode.extend(with_cvode(plan, truth, until));
        }
    }
    let mut all = Vec::new();
    all.push(bar(
        "truth: Dormand–Prince and Rosenbrock at a tolerance of 1e-9",
        median(truths),
        "Pa",
        1.0,
        Band::AtMost,
    ));
    if extent.is_whole {
        all.push(beside("Runge–Kutta, 1 µs: error of p₁", median(references), "Pa", None));
        all.push(beside("Runge–Kutta, 1 µs: time", seconds_of_rk4, "s", Some(5.687)));
    }
    for ((row, errors), speeds) in rows.iter().zip(errors).zip(speeds) {
        let error = median(errors);
        all.push(Figure {
            quantity: format!("{}: error of p₁", row.name),
            reference: match row.error {
                Band::Within(..) | Band::Any => row.published.map(|(error, _)| error),
                _ => Some(row.error_bar),
            },
            origin: if row.published.is_some() { Origin::Published } else { Origin::Bar },
            ours: error,
            unit: "Pa",
            band: if extent.is_whole { row.error } else { Band::Any },
        });
        if !speeds.is_empty() {
            let speed = median(speeds);
            let name = format!("{}: speed-up", row.name);
            all.push(match row.speed {
                Some(least) => bar(name, speed, "×", least, Band::AtLeast),
                None => beside(name, speed, "×", row.published.map(|(_, speed)| speed)),
            });
        }
    }
    all.extend(compare_with_cvode(&adaptive, &cvode));
    all.extend(tiny_volume(until)?);
    Ok(all)
}

/// V₁ = 1e-9 m³: explicit solvers are hopeless, the others must not notice.
fn tiny_volume(until: f64) -> Result<Vec<Figure>, Diagnostics> {
    let until = until.min(4.5);
    let session = open("circuit2.toml", TEXT, &[("valve.chamber_volume", "1e-9 m^3")])?;
    let run = |way: &Way| solve(session.plan(), way, &[P1], until, INTERVAL);
    let adaptive = run(&way(SolverKind::Rosenbrock, 1e-4, |_| {}))?;
    let mut all = Vec::new();
    for (name, step) in [("0.1 ms", 1e-4), ("1 ms", 1e-3)] {
        let way = way(SolverKind::Sdirk2, step, |_| {});
        let fixed = run(&way)?;
        all.push(bar(
            format!("V₁ = 1e-9 m³: SDIRK2 at {name} beside Rosenbrock"),
            rmse(&fixed.samples[0], &adaptive.samples[0], is_left_out(&way)),
            "Pa",
            3e3,
            Band::AtMost,
        ));
    }
    Ok(all)
}

/// What CVODE did: tolerance, error (Pa), time (s).
struct Rival {
    tolerance: &'static str,
    error: f64,
    seconds: f64,
}

fn compare_with_cvode(adaptive: &[(f64, f64)], cvode: &[Rival]) -> Vec<Figure> {
    let mut all = Vec::new();
    let (Some(&(error, seconds)), false) = (adaptive.first(), cvode.is_empty()) else {
        return all;
    };
    for rival in cvode {
        all.push(beside(
            format!("CVODE, tolerance {}: error of p₁", rival.tolerance),
            rival.error,
            "Pa",
            None,
        ));
        all.push(beside(
            format!("CVODE, tolerance {}: time over ours", rival.tolerance),
            rival.seconds / seconds,
            "×",
            None,
        ));
    }
    // At equal error: the fastest of CVODE's runs that is as exact as ours.
    let exact = cvode.iter().filter(|rival| rival.error <= error).map(|rival| rival.seconds);
    let best = exact.fold(f64::INFINITY, f64::min);
    if best.is_finite() {
        all.push(bar(
            "CVODE at no larger error: time over ours",
            best / seconds,
            "×",
            1.0,
            Band::AtLeast,
        ));
    }
    all
}

/// Builds and runs the program in `validation/cvode`, where a compiler and SUNDIALS are found.
fn with_cvode(plan: &Plan, truth: &[f64], until: f64) -> Vec<Rival> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/cvode");
    let missing = |what: &str| {
        eprintln!("CVODE is left out: {what} (Debian: gcc, make, libsundials-dev)");
        Vec::new()
    };
    if !folder.is_dir() {
        return missing("validation/cvode is not there");
    }
    let work = std::env::temp_dir().join(format!("fluxline-cvode-{}", std::process::id()));
    if std::fs::create_dir_all(&work).is_err() {
        return missing("no folder to work in");
    }
    let program = work.join("circuit2");
    let built = Command::new("cc")
        .args(["-O3", "-o"])
        .arg(&program)
        .arg(folder.join("circuit2.c"))
        .args(["-lsundials_cvode", "-lsundials_nvecserial", "-lm"])
        .output();
    let is_built = built.as_ref().is_ok_and(|output| output.status.success());
    let found = if is_built { race(plan, &program, &work, truth, until) } else { None };
    let _ = std::fs::remove_dir_all(&work);
    found.unwrap_or_else(|| missing("it was not built or did not run"))
}

fn race(
    plan: &Plan,
    program: &PathBuf,
    work: &Path,
    truth: &[f64],
    until: f64,
) -> Option<Vec<Rival>> {
    // The inputs as the circuit has them, level by level.
    let inputs = work.join("inputs.txt");
    std::fs::write(&inputs, levels(plan, until)?).ok()?;
    let samples = work.join("samples.bin");
    let mut rivals = Vec::new();
    for tolerance in ["1e-4", "1e-5", "1e-6"] {
        let mut seconds = f64::INFINITY;
        for _ in 0..3 {
            let output = Command::new(program)
                .arg("--inputs")
                .arg(&inputs)
                .arg("--output")
                .arg(&samples)
                .args(["--rtol", tolerance, "--stop", &until.to_string()])
                .output()
                .ok()?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let value = said.lines().find_map(|line| line.strip_prefix("seconds="))?;
            seconds = seconds.min(value.trim().parse().ok()?);
        }
        let bytes = std::fs::read(&samples).ok()?;
        let numbers: Vec<f64> = bytes
            .chunks_exact(8)
            .filter_map(|bytes| Some(f64::from_le_bytes(bytes.try_into().ok()?)))
            .collect();
        rivals.push(Rival { tolerance, error: rmse(&numbers, truth, is_jump), seconds });
    }
    Some(rivals)
}

/// The piecewise constant inputs of a plan as lines of time, supply, voltage and directional valve.
fn levels(plan: &Plan, until: f64) -> Option<String> {
    use fluxline_core::circuit::Pattern;
    use fluxline_core::recorder::{Recorder, Sampling, choose};
    let names = ["supply.out", "opening.out", "switching.out"];
    let (variables, _) = choose(plan, &names.map(Pattern::new));
    let order: Vec<usize> = names
        .iter()
        .map(|name| variables.iter().position(|v| v.name == *name))
        .collect::<Option<_>>()?;
    // By the wave method: one sample in the middle of every half second.
    let steps = (until / plan.step).round() as u64;
    let mut recorder = Recorder::new(variables, Sampling::Every(JUMPS as u64 / 2), steps);
    let mut state = plan.initial.clone();
    fluxline_core::run::run(plan, &mut state, steps, &mut recorder, false, |_| true);
    let mut text = String::new();
    let half = 0.5 * JUMPS as f64 * INTERVAL;
    for row in recorder.rows() {
        let interval = (row[0] / (2.0 * half)).floor();
        let is_middle = (row[0] - (2.0 * interval + 1.0) * half).abs() < 0.1 * half;
        if is_middle {
            let value = |i: usize| row[order[i] + 1];
            let begin = 2.0 * interval * half;
            text.push_str(&format!("{begin} {:?} {:?} {:?}\n", value(0), value(1), value(2)));
        }
    }
    Some(text)
}
