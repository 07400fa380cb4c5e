//! Circuit 4 of Malysheva: a pressure-compensated proportional valve with a small volume.
//!
//! With the published data it is not stiff: Runge–Kutta is exact enough at 0.1 ms, and the steady
//! state that pseudo-dynamic solvers look for is far from p₃ wherever compensator and valve are both
//! shut. How far depends on the input, of which only range and period are published: with a square
//! wave the errors are larger than the published ones, with a sine they are smaller.

use super::{Solved, Way, bar, beside, exact, open, rmse, solve, solve_timed, way};
use crate::reproduce::{Band, Case, Extent, Figure, Origin};
use fluxline_core::settings::{InnerKind, SmallVolumeKind, SolverKind};
use fluxline_diagnostics::Diagnostics;

/// The case.
pub(in crate::reproduce) const CASE: Case = Case {
    name: "lumped/circuit4",
    title: "Pressure-compensated valve: Runge–Kutta and the advanced pseudo-dynamic solver",
    source: "J. Malysheva, thesis, LUT University, 2021, sections 2.2.5 and 4.4.2, Tables 4.1 and 4.2",
    run: figures,
};

const TEXT: &str = include_str!("../../../../../examples/lumped/circuit4.toml");
const STATES: [&str; 2] = ["small.pressure", "load.x"];
/// Samples, s.
const INTERVAL: f64 = 1e-3;
/// The square wave jumps every half second: samples apart.
const JUMPS: usize = 500;

/// Table 4.1: criterion (Pa), time (s), error of the position (1e-4 m).
const TABLE: [(f64, f64, f64); 14] = [
    (10.0, 115.593, 4.2950),
    (20.0, 101.847, 4.3251),
    (50.0, 63.766, 4.3554),
    (70.0, 46.558, 4.3720),
    (100.0, 27.546, 4.3939),
    (200.0, 25.222, 4.4529),
    (300.0, 24.307, 4.5051),
    (400.0, 23.609, 4.5480),
    (500.0, 22.815, 4.5897),
    (600.0, 22.638, 4.6339),
    (700.0, 21.829, 4.6704),
    (800.0, 22.084, 4.7151),
    (900.0, 22.400, 4.7496),
    (1000.0, 21.043, 4.7881),
];

/// Main and inner step of 0.1 ms.
fn pseudo(high: f64, low: f64) -> Way {
    way(SolverKind::Rk4, 1e-4, |settings| {
        settings.small_volumes = SmallVolumeKind::AdvPds;
        settings.small = STATES[0].to_owned();
        settings.inner_method = InnerKind::Rk4;
        settings.inner_step = 1e-4;
        settings.tolerance_high = high;
        settings.tolerance_low = low;
    })
}

fn rk4(step: f64) -> Way {
    way(SolverKind::Rk4, step, |_| {})
}

fn is_jump(sample: usize) -> bool {
    sample.is_multiple_of(JUMPS)
}

/// Errors of p₃ and x_p.
fn errors(solved: &Solved, truth: &Solved) -> [f64; 2] {
    std::array::from_fn(|i| rmse(&solved.samples[i], &truth.samples[i], is_jump))
}

fn figures(extent: &Extent) -> Result<Vec<Figure>, Diagnostics> {
    let until = if extent.is_whole { 10.0 } else { 1.1 };
    let session = open("circuit4.toml", TEXT, &[])?;
    let plan = session.plan();
    let run = |way: &Way| solve(plan, way, &STATES, until, INTERVAL);
    let truth = run(&exact(SolverKind::Rosenbrock, 1e-10))?;
    let second = run(&exact(SolverKind::Bdf, 1e-9))?;
    let mut all = Vec::new();
    let [p3, x] = errors(&second, &truth);
    all.push(bar("truth: Rosenbrock and BDF, p₃ apart", p3, "Pa", 1.0, Band::AtMost));
    all.push(bar("truth: x_p apart", x, "m", 5e-8, Band::AtMost));
    let [p3, x] = errors(&run(&rk4(1e-4))?, &truth);
    all.push(bar("Runge–Kutta, 0.1 ms: error of p₃", p3, "Pa", 1.5e3, Band::AtMost));
    all.push(bar("Runge–Kutta, 0.1 ms: error of x_p", x, "m", 5e-6, Band::AtMost));

    let whole = |band| if extent.is_whole { band } else { Band::Any };
    let published = |quantity: &str, published, ours, unit, band| Figure {
        quantity: quantity.to_owned(),
        reference: Some(published),
        origin: Origin::Published,
        ours,
        unit,
        band,
    };
    let [p3, x] = errors(&run(&pseudo(300.0, 20.0))?, &truth);
    // Of p₃ the range is bounded from two sides: by a square wave and, below, by a sine.
    let low = whole(Band::Within(0.9e5, f64::INFINITY));
    let range = whole(Band::Within(1.2e-4, 9.6e-4));
    all.push(published("AdvPDS, 300/20 Pa: error of p₃", 1.89e5, p3, "Pa", low));
    all.push(published("AdvPDS, 300/20 Pa: error of x_p", 4.24e-4, x, "m", range));
    let [p3, x] = with_a_sine(until)?;
    let high = whole(Band::Within(0.0, 2.8e5));
    all.push(published("AdvPDS, input a sine: error of p₃", 1.89e5, p3, "Pa", high));
    all.push(published("AdvPDS, input a sine: error of x_p", 4.24e-4, x, "m", Band::Any));
    if extent.is_whole {
        all.extend(speed(plan, &truth)?);
    }
    Ok(all)
}

/// Errors of p₃ and x_p when the voltage varies smoothly in the same range and period.
fn with_a_sine(until: f64) -> Result<[f64; 2], Diagnostics> {
    let text = TEXT.replace("\"signal.square\"\nbase", "\"signal.sine\"\noffset");
    let session = open("circuit4.toml", &text, &[])?;
    let run = |way: &Way| solve(session.plan(), way, &STATES, until, INTERVAL);
    let truth = run(&exact(SolverKind::Rosenbrock, 1e-9))?;
    Ok(errors(&run(&pseudo(300.0, 20.0))?, &truth))
}

/// Table 4.2 and Table 4.1.
fn speed(plan: &fluxline_core::plan::Plan, truth: &Solved) -> Result<Vec<Figure>, Diagnostics> {
    let mut all = Vec::new();
    let run = |way: &Way| solve_timed(plan, way, &STATES, 10.0, INTERVAL, 3);
    let reference = run(&rk4(1e-5))?.seconds;
    let time = "Runge–Kutta, 10 µs: time";
    all.push(beside(time, reference * 1e3, "ms", Some(219.0)));
    for (name, way, published) in [
        ("AdvPDS, 300/20 Pa", pseudo(300.0, 20.0), Some(219.0 / 47.0)),
        ("Runge–Kutta, 0.1 ms", rk4(1e-4), None),
        ("SDIRK2, 1 ms", way(SolverKind::Sdirk2, 1e-3, |_| {}), None),
        ("Rosenbrock, tolerance 1e-5", way(SolverKind::Rosenbrock, 1e-4, |_| {}), None),
    ] {
        let solved = run(&way)?;
        let [p3, x] = errors(&solved, truth);
        all.push(beside(
            format!("{name}: speed over Runge–Kutta at 10 µs"),
            reference / solved.seconds,
            "×",
            published,
        ));
        all.push(beside(format!("{name}: its error of p₃"), p3, "Pa", None));
        all.push(beside(format!("{name}: its error of x_p"), x, "m", None));
    }
    let rows: Vec<Solved> =
        TABLE.iter().map(|(one, _, _)| run(&pseudo(*one, *one))).collect::<Result<_, _>>()?;
    let last = rows.last().map_or(f64::NAN, |row| row.seconds);
    for ((criterion, time, error), ours) in TABLE.iter().zip(&rows) {
        let name = format!("AdvPDS, {criterion} Pa");
        let [_, x] = errors(ours, truth);
        all.push(beside(format!("{name}: error of x_p"), x, "m", Some(error * 1e-4)));
        let ratio = time / TABLE[TABLE.len() - 1].1;
        let quantity = format!("{name}: time over that with 1000 Pa");
        all.push(beside(quantity, ours.seconds / last, "×", Some(ratio)));
    }
    Ok(all)
}
