//! `fluxline stiffness`.

use super::{Console, draw, parse_time};
use crate::args::Stiffness as Arguments;
use crate::display::{columns, counted, number, quantity, rounded, time};
use crate::session::{Engine, Failure, Session};
use crate::stiffness::{Stiffness, advance, beginning, look, solver_name};
use fluxline_core::settings::StepControl;
use fluxline_diagnostics::{Code, Diagnostic, Place};
use fluxline_formats::Override;
use fluxline_ode::modes::{ExplicitMethod, Kind, Mode};
use fluxline_plot::{Figure, Panel, Series, SeriesStyle};
use serde_json::{Value, json};
use std::f64::consts::TAU;

/// Modes that are listed unless all are asked for.
const SHOWN_MODES: usize = 20;
/// States whose values are listed.
const SHOWN_STATES: usize = 12;
/// States on one line.
const STATES_PER_LINE: usize = 3;
/// Volumes that are listed; small ones come first.
const SHOWN_VOLUMES: usize = 20;
/// States of a mode that are named.
const SHOWN_SHARES: usize = 3;
/// A share below this is not worth a name.
const LEAST_SHARE: f64 = 0.005;

pub(super) fn run(console: &Console, args: &Arguments) -> u8 {
    let overrides: Vec<Override> = args.set.iter().map(|text| Override::parse(text)).collect();
    let mut session = match Session::open(&args.file, &overrides) {
        Ok(session) => session,
        Err(failure) => return console.refuse(&failure),
    };
    if !args.json {
        console.report(&session.warnings, &session.sources);
    }
    let result = match args.over {
        Some(count) => over(console, args, &mut session, count),
        None => at_one_point(console, args, &mut session),
    };
    match result {
        Ok(code) => code,
        Err(problem) => {
            let sources = std::mem::take(&mut session.sources);
            console.refuse(&Failure { problems: problem.into(), sources })
        }
    }
}

fn at_one_point(
    console: &Console,
    args: &Arguments,
    session: &mut Session,
) -> Result<u8, Diagnostic> {
    let until = args.at.as_deref().map(|text| parse_time("--at", text)).transpose()?;
    let start = session.plan().start;
    if let Some(until) = until.filter(|&until| until < start) {
        let message = format!("{} is before the start of the run, {}", time(until), time(start));
        return Err(Diagnostic::error(Code::BadRunTimes, message)
            .on(Place::setting("run.start"))
            .help("give a later time: --at TIME"));
    }
    let mut point = beginning(session, args.steady)?;
    if let Some(until) = until {
        point = advance(session, point, until)?;
    }
    let found = look(session, &point)?;
    if let Some(path) = &args.plot {
        draw(&figure(&session.circuit.title, &found), path)?;
    }
    let how = match (until, args.steady, session.circuit.run.begin) {
        (Some(_), ..) => format!("at t = {}", time(found.time)),
        (None, true, _) | (None, _, fluxline_core::settings::Begin::Rest) => "at rest".to_owned(),
        _ => "at the start".to_owned(),
    };
    if args.json {
        let mut value = in_json(&found);
        value["file"] = json!(args.file.display().to_string());
        value["point"] = json!(how);
        console.json(&value);
    } else {
        let mut text = console.strong(&format!("{}: {how}", session.circuit.title));
        text.push('\n');
        text.push_str(&in_words(&found, args.all));
        if let Some(path) = &args.plot {
            text.push_str(&format!("\nwrote {}\n", path.display()));
        }
        console.print(&text);
    }
    Ok(0)
}

// ---- One point --------------------------------------------------------------------------------

fn in_words(found: &Stiffness, all: bool) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:<17} {value}\n"));
    for (i, part) in states(found).iter().enumerate() {
        line(if i == 0 { "states" } else { "" }, part);
    }
    let modes = &found.modes;
    let condition = modes.condition_number().map_or("–".to_owned(), |x| rounded(x, 4));
    line("condition number", &format!("{condition} (largest over smallest |λ|)"));
    for (kind, what) in [
        (Kind::Growing, "with a positive real part: the point is not stable"),
        (Kind::Undamped, "on the imaginary axis, without any damping"),
        (Kind::Constant, "of zero: nothing pulls those states back"),
    ] {
        let count = modes.count(kind) as u64;
        if count > 0 {
            line("", &format!("{} {what}", counted(count, "eigenvalue")));
        }
    }
    if let Some(beside) = found.beside {
        let what = "a square root at zero pressure drop has an infinite slope, a jump none";
        line("beware", &format!("right next to it the fastest 1/|λ| is {}: {what}", time(beside)));
    }
    if found.has_discrete_parts {
        line("not part of it", "lines with delay and blocks that advance in steps");
    }
    line("advice", &found.advice());
    text.push_str(&modes_table(found, all));
    text.push_str(&limits_table(found));
    text.push_str(&volumes_table(found));
    text
}

/// `p = 120 bar, x = 50 mm`, some to a line.
fn states(found: &Stiffness) -> Vec<String> {
    let all = found.states.iter().zip(&found.values);
    let shown: Vec<String> = all
        .take(SHOWN_STATES)
        .map(|(state, &value)| format!("{} = {}", state.name, quantity(value, state.unit)))
        .collect();
    let mut lines: Vec<String> =
        shown.chunks(STATES_PER_LINE).map(|some| some.join(", ")).collect();
    match found.states.len() - shown.len() {
        0 if lines.is_empty() => lines.push("none".to_owned()),
        0 => {}
        more => lines.push(format!("and {more} more")),
    }
    lines
}

/// Real and imaginary part, without what is only rounding.
fn parts(mode: &Mode) -> (f64, f64) {
    match mode.kind {
        Kind::Constant => (0.0, 0.0),
        Kind::Undamped => (0.0, mode.imaginary),
        Kind::Decaying | Kind::Growing => (mode.real, mode.imaginary),
    }
}

fn eigenvalue(mode: &Mode) -> String {
    let (real, imaginary) = parts(mode);
    match imaginary > 0.0 {
        true => format!("{} ± {}i", rounded(real, 4), rounded(imaginary, 4)),
        false => rounded(real, 4),
    }
}

fn modes_table(found: &Stiffness, all: bool) -> String {
    let modes = found.modes.modes();
    if modes.is_empty() {
        return String::new();
    }
    let shown = if all { modes.len() } else { modes.len().min(SHOWN_MODES) };
    let header = ["eigenvalue [1/s]", "time constant", "frequency", "damping", "states"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for mode in &modes[..shown] {
        let none = || "–".to_owned();
        let shares: Vec<String> = mode
            .participation
            .iter()
            .take(SHOWN_SHARES)
            .filter(|(_, share)| *share >= LEAST_SHARE)
            .map(|&(state, share)| format!("{} {:.0} %", found.states[state].name, 100.0 * share))
            .collect();
        let (constant, damping) = match mode.kind {
            Kind::Decaying => (time(mode.time_constant()), rounded(mode.damping_ratio(), 3)),
            Kind::Growing => ("grows".to_owned(), rounded(mode.damping_ratio(), 3)),
            Kind::Undamped => (none(), "0".to_owned()),
            Kind::Constant => (none(), none()),
        };
        let frequency = match parts(mode).1 > 0.0 {
            true => format!("{} Hz", rounded(mode.natural_frequency() / TAU, 4)),
            false => none(),
        };
        rows.push(vec![eigenvalue(mode), constant, frequency, damping, shares.join(", ")]);
    }
    let mut text = format!("\n{}", columns(&rows, &[false, false, false, false, true]));
    if shown < modes.len() {
        text.push_str(&format!("  … and {} slower ones: --all\n", modes.len() - shown));
    }
    text
}

fn limits_table(found: &Stiffness) -> String {
    let step = format!("the step of {}", time(found.step));
    let header = ["explicit solver", "stable up to", "set by", &step];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for limit in &found.limits {
        let name = solver_name(limit.method).to_owned();
        let Some(stable) = limit.stable else {
            rows.push(vec![name, "not found".to_owned(), "–".to_owned(), "–".to_owned()]);
            continue;
        };
        let set_by = found.culprit(&stable).map_or("–", |state| state.name.as_str()).to_owned();
        let (up_to, verdict) = match stable.step {
            step if step.is_infinite() => ("any step".to_owned(), "is stable".to_owned()),
            step if found.step <= step => {
                let share = rounded(100.0 * found.step / step, 2);
                (time(step), format!("is stable, {share} % of the limit"))
            }
            step => (time(step), format!("is {} times too long", rounded(found.step / step, 3))),
        };
        rows.push(vec![name, up_to, set_by, verdict]);
    }
    let mut text = format!("\n{}", columns(&rows, &[true, false, true, true]));
    let ignored = |limit: &crate::stiffness::Limit| limit.stable.map_or(0, |stable| stable.ignored);
    let undamped = found.modes.count(Kind::Undamped);
    let euler = found.limits.iter().find(|limit| limit.method == ExplicitMethod::Euler);
    if undamped > 0 && euler.is_some_and(|limit| ignored(limit) >= undamped) {
        text.push_str("  euler and heun let undamped oscillations grow at any step\n");
    }
    text
}

fn volumes_table(found: &Stiffness) -> String {
    if found.volumes.is_empty() {
        return String::new();
    }
    let header =
        ["volume", "holds", "time constant", "small", "rk4 without it and the faster ones"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let whole = found.limit(ExplicitMethod::RungeKutta4).unwrap_or(f64::NAN);
    for volume in found.volumes.iter().take(SHOWN_VOLUMES) {
        let none = || "–".to_owned();
        let is_small = match (volume.is_small, volume.is_small_at_step) {
            (true, true) => "yes",
            (true, false) => "yes, but not against the step",
            (false, true) => "against the step",
            (false, false) => "no",
        };
        let without = match volume.limit_without {
            None => none(),
            Some(limit) if limit.is_infinite() => "any step".to_owned(),
            Some(limit) => {
                format!("up to {}, {} times as far", time(limit), rounded(limit / whole, 3))
            }
        };
        let constant = match volume.time_constant.is_finite() {
            true => time(volume.time_constant),
            false => none(),
        };
        let holds = quantity(volume.volume, "m^3");
        rows.push(vec![volume.name.clone(), holds, constant, is_small.to_owned(), without]);
    }
    let mut text = format!("\n{}", columns(&rows, &[true, false, false, true, true]));
    let more = found.volumes.len().saturating_sub(SHOWN_VOLUMES);
    if more > 0 {
        text.push_str(&format!("  … and {more} slower ones\n"));
    }
    text
}

fn finite(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { Value::Null }
}

fn in_json(found: &Stiffness) -> Value {
    let name = |state: usize| found.states[state].name.as_str();
    let states: Vec<Value> = found
        .states
        .iter()
        .zip(&found.values)
        .map(|(state, value)| json!({"name": state.name, "unit": state.unit, "value": value}))
        .collect();
    let modes: Vec<Value> = found
        .modes
        .modes()
        .iter()
        .map(|mode| {
            let shares: Vec<Value> = mode
                .participation
                .iter()
                .filter(|(_, share)| *share >= LEAST_SHARE)
                .map(|&(state, share)| json!({"state": name(state), "share": share}))
                .collect();
            let (real, imaginary) = parts(mode);
            json!({
                "real": real,
                "imaginary": imaginary,
                "eigenvalues": mode.multiplicity(),
                "kind": match mode.kind {
                    Kind::Decaying => "decaying",
                    Kind::Undamped => "undamped",
                    Kind::Growing => "growing",
                    Kind::Constant => "constant",
                },
                "time_constant": finite(mode.time_constant()),
                "natural_frequency_hz": real.hypot(imaginary) / TAU,
                "damped_frequency_hz": imaginary / TAU,
                "damping_ratio": mode.damping_ratio(),
                "states": shares,
            })
        })
        .collect();
    let limits: Vec<Value> = found
        .limits
        .iter()
        .map(|limit| {
            let stable = limit.stable;
            json!({
                "solver": solver_name(limit.method),
                "is_known": stable.is_some(),
                // Without limit: null.
                "stable_step": stable.map_or(Value::Null, |stable| finite(stable.step)),
                "step_is_stable": stable.map(|stable| found.step <= stable.step),
                "set_by": stable.and_then(|s| found.culprit(&s)).map(|state| &state.name),
                "eigenvalues_left_out": stable.map(|stable| stable.ignored),
            })
        })
        .collect();
    let whole = found.limit(ExplicitMethod::RungeKutta4).unwrap_or(f64::NAN);
    let volumes: Vec<Value> = found
        .volumes
        .iter()
        .map(|volume| {
            let without = volume.limit_without;
            json!({
                "name": volume.name,
                "volume": volume.volume,
                "time_constant": finite(volume.time_constant),
                "is_small": volume.is_small,
                "is_small_against_step": volume.is_small_at_step,
                "rk4_stable_step_without": without.map_or(Value::Null, finite),
                "factor": without.map_or(Value::Null, |limit| finite(limit / whole)),
            })
        })
        .collect();
    json!({
        "time": found.time,
        "step": found.step,
        "states": states,
        "modes": modes,
        "condition_number": found.modes.condition_number(),
        "limits": limits,
        "volumes": volumes,
        "fastest_time_constant_beside": found.beside,
        "has_discrete_parts": found.has_discrete_parts,
        "advice": found.advice(),
    })
}

// ---- Pictures ---------------------------------------------------------------------------------

/// Eigenvalues by natural frequency and damping: the upper half of the complex plane in polar form,
/// where all scales of a stiff circuit are seen at once. A solver is stable for the modes to the left
/// of its line, |λ| = r(ζ)/h, with r the reach of its stability region in that direction.
fn figure(title: &str, found: &Stiffness) -> Figure {
    let moving: Vec<&Mode> =
        found.modes.modes().iter().filter(|mode| mode.kind != Kind::Constant).collect();
    let sizes = || moving.iter().map(|mode| mode.natural_frequency());
    let slowest = sizes().fold(f64::INFINITY, f64::min);
    let fastest = sizes().fold(0.0, f64::max);
    let limits = match fastest > 0.0 {
        // The lines of solvers belong to the picture.
        true => (0.3 * slowest, 3.0 * fastest.max(3.0 / found.step)),
        false => (1.0, 10.0),
    };
    let points = |kinds: &[Kind]| {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for mode in moving.iter().filter(|mode| kinds.contains(&mode.kind)) {
            x.push(mode.natural_frequency());
            y.push(mode.damping_ratio());
        }
        (x, y)
    };
    let lowest = if found.modes.count(Kind::Growing) > 0 { -1.1 } else { -0.1 };
    let mut panel = Panel::new("damping ratio −Re λ/|λ|").limits_y(lowest, 1.1);
    for (name, kinds) in [
        ("modes", &[Kind::Decaying, Kind::Undamped][..]),
        ("modes that grow", &[Kind::Growing][..]),
    ] {
        let (x, y) = points(kinds);
        if !x.is_empty() {
            panel = panel.series(Series::new(name, x, y).style(SeriesStyle::Points));
        }
    }
    let methods = [ExplicitMethod::Euler, ExplicitMethod::Heun, ExplicitMethod::RungeKutta4];
    for method in methods {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for i in 0..=200 {
            let damping = f64::from(i) / 200.0;
            let reach = method.stability_limit(-damping, (1.0 - damping * damping).sqrt());
            x.push(reach / found.step);
            y.push(damping);
        }
        let name = format!("limit of {} at {}", solver_name(method), time(found.step));
        panel = panel.series(Series::new(name, x, y));
    }
    Figure::new(format!("{title}: eigenvalues at t = {}", time(found.time)), "|λ| [rad/s]")
        .log_x()
        .limits_x(limits.0, limits.1)
        .panel(panel)
}

// ---- Over a run -------------------------------------------------------------------------------

fn over(
    console: &Console,
    args: &Arguments,
    session: &mut Session,
    count: u32,
) -> Result<u8, Diagnostic> {
    if matches!(session.engine, Engine::Variable(_))
        || session.circuit.run.step_control == StepControl::Variable
    {
        let message = "a run with a variable step cannot be stopped and taken up again";
        return Err(Diagnostic::error(Code::UnknownSetting, message)
            .on(Place::setting("run.step_control"))
            .help("look at it with `--set run.step_control=fixed`"));
    }
    let (start, stop) = (session.plan().start, session.circuit.run.stop);
    let mut all: Vec<Stiffness> = Vec::new();
    let mut left_out: Vec<(f64, String)> = Vec::new();
    let mut failure = None;
    let mut point = beginning(session, false)?;
    for i in 0..count {
        let until = start + (stop - start) * f64::from(i) / f64::from(count - 1);
        match advance(session, point, until) {
            Ok(next) => point = next,
            Err(problem) => {
                failure = Some(problem);
                break;
            }
        }
        match look(session, &point) {
            Ok(found) => all.push(found),
            // A circuit without a lumped view has none at any time.
            Err(problem) if problem.code() == Code::NotLumped => return Err(problem),
            Err(problem) => left_out.push((point.time, problem.message().to_owned())),
        }
    }
    if let Some(path) = args.plot.as_ref().filter(|_| !all.is_empty()) {
        draw(&figure_over(&session.circuit.title, &all), path)?;
    }
    if args.json {
        console.json(&json_over(args, &all, &left_out));
    } else {
        let mut text = console.strong(&format!("{}: over the run", session.circuit.title));
        text.push('\n');
        text.push_str(&words_over(&all, &left_out));
        if let Some(path) = args.plot.as_ref().filter(|_| !all.is_empty()) {
            text.push_str(&format!("\nwrote {}\n", path.display()));
        }
        console.print(&text);
    }
    match failure {
        None => Ok(0),
        Some(problem) => Err(problem.note("what is shown ends there")),
    }
}

fn rk4(found: &Stiffness) -> f64 {
    found.limit(ExplicitMethod::RungeKutta4).unwrap_or(f64::NAN)
}

fn rk4_culprit(found: &Stiffness) -> Option<&str> {
    let limit = found.limits.iter().find(|one| one.method == ExplicitMethod::RungeKutta4)?;
    Some(found.culprit(limit.stable.as_ref()?)?.name.as_str())
}

/// The point at which RK4 must take its shortest step.
fn stiffest(all: &[Stiffness]) -> Option<&Stiffness> {
    all.iter().min_by(|a, b| rk4(a).total_cmp(&rk4(b)))
}

fn words_over(all: &[Stiffness], left_out: &[(f64, String)]) -> String {
    let mut text = String::new();
    let seconds = |x: f64| if x.is_finite() { time(x) } else { "–".to_owned() };
    if let Some(worst) = stiffest(all) {
        let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:<17} {value}\n"));
        let limit = rk4(worst);
        let verdict = match worst.step <= limit {
            true => "the step of the file is stable throughout",
            false => "the step of the file is too long there",
        };
        line(
            "stiffest",
            &format!(
                "at t = {}: rk4 is stable up to {}; {verdict} ({})",
                time(worst.time),
                if limit.is_finite() { time(limit) } else { "any step".to_owned() },
                time(worst.step)
            ),
        );
        let mildest = all.iter().map(rk4).fold(0.0, f64::max);
        line("mildest", &format!("rk4 is stable up to {}", seconds(mildest)));
        line("advice", &worst.advice());
        if worst.has_discrete_parts {
            line("not part of it", "lines with delay and blocks that advance in steps");
        }
    }
    let header = ["time [s]", "fastest 1/|λ|", "condition number", "rk4 up to", "set by"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for found in all {
        rows.push(vec![
            number(found.time),
            seconds(found.fastest_time()),
            found.modes.condition_number().map_or("–".to_owned(), |x| rounded(x, 4)),
            seconds(rk4(found)),
            rk4_culprit(found).unwrap_or("–").to_owned(),
        ]);
    }
    text.push_str(&format!("\n{}", columns(&rows, &[false, false, false, false, true])));
    for (at, why) in left_out {
        text.push_str(&format!("  t = {} is left out: {why}\n", time(*at)));
    }
    text
}

fn json_over(args: &Arguments, all: &[Stiffness], left_out: &[(f64, String)]) -> Value {
    let points: Vec<Value> = all
        .iter()
        .map(|found| {
            let limits: serde_json::Map<String, Value> = found
                .limits
                .iter()
                .map(|limit| {
                    let step = limit.stable.map_or(Value::Null, |stable| finite(stable.step));
                    (solver_name(limit.method).to_owned(), step)
                })
                .collect();
            json!({
                "time": found.time,
                "fastest_time_constant": finite(found.fastest_time()),
                "condition_number": found.modes.condition_number(),
                "stable_steps": limits,
                "rk4_set_by": rk4_culprit(found),
                "rk4_stable_step_without_small_volumes":
                    found.limit_without_small().map_or(Value::Null, finite),
            })
        })
        .collect();
    let omitted: Vec<Value> =
        left_out.iter().map(|(time, why)| json!({"time": time, "why": why})).collect();
    json!({
        "file": args.file.display().to_string(),
        "step": all.first().map(|found| found.step),
        "stiffest_time": stiffest(all).map(|found| found.time),
        "advice": stiffest(all).map(Stiffness::advice),
        "points": points,
        "left_out": omitted,
    })
}

fn figure_over(title: &str, all: &[Stiffness]) -> Figure {
    let times: std::sync::Arc<[f64]> = all.iter().map(|found| found.time).collect();
    let curve = |name: &str, value: &dyn Fn(&Stiffness) -> f64| {
        let values: Vec<f64> = all.iter().map(value).collect();
        Series::new(name, times.clone(), values)
    };
    let mut steps = Panel::new("step [s]").log_y();
    if let Some(first) = all.first() {
        steps = steps.reference("the file's step", first.step);
    }
    steps = steps
        .series(curve("rk4 is stable up to", &rk4))
        .series(curve("fastest 1/|λ|", &Stiffness::fastest_time));
    if all.iter().any(|found| found.limit_without_small().is_some()) {
        let without = |found: &Stiffness| found.limit_without_small().unwrap_or(f64::NAN);
        steps = steps.series(curve("rk4 without small volumes", &without));
    }
    let condition = |found: &Stiffness| found.modes.condition_number().unwrap_or(f64::NAN);
    let panel = Panel::new("condition number").log_y().series(curve("|λ|max/|λ|min", &condition));
    Figure::new(format!("{title}: stiffness over the run"), "time [s]").panel(steps).panel(panel)
}
