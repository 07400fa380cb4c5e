//! `fluxline bode`: frequency response, linearised and measured.

use super::{Console, draw, parse_time};
use crate::args::{Bode, Measure};
use crate::display::{columns, count, counted, quantity, rounded, time};
use crate::session::{Failure, Session};
use fluxline_core::probe::Touch;
use fluxline_core::variables::Variable;
use fluxline_diagnostics::{Code, Diagnostic, Place, list_names};
use fluxline_formats::Override;
use fluxline_formats::results::{OutputFile, write_problem};
use fluxline_plot::{Figure, Panel, Series, SeriesStyle};
use fluxline_response::Complex;
use fluxline_response::linear::{Point, Side, linearise, signal_at};
use fluxline_response::loops::{self, Margins, decibel, unwrapped};
use fluxline_response::measure::{Excitation, Measurement, by_multisine, by_sines};
use fluxline_response::place::{Input, Output, find_input};
use fluxline_response::system::{MOST_STATES, Root, System};
use fluxline_units::{Dimension, Quantity};
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::io::Write;
use std::path::Path;

/// Poles and zeros that are listed unless all are asked for.
const SHOWN_ROOTS: usize = 12;
/// Rows of the table of the response.
const SHOWN_ROWS: usize = 9;
/// Poles and zeros with a smaller |z| die away within a step, and are not listed.
const WITHIN_A_STEP: f64 = 0.01;
/// Responses on both sides of a point that differ by more than this are told.
const TWO_SLOPES: f64 = 1e-3;
/// A pole this far inside of the unit circle, or less, neither decays nor grows.
const ON_THE_CIRCLE: f64 = 1e-9;

pub(super) fn run(console: &Console, args: &Bode) -> u8 {
    let overrides: Vec<Override> = args.set.iter().map(|text| Override::parse(text)).collect();
    let mut session = match Session::open(&args.file, &overrides) {
        Ok(session) => session,
        Err(failure) => return console.refuse(&failure),
    };
    if !args.json {
        console.report(&session.warnings, &session.sources);
    }
    match respond(console, args, &mut session) {
        Ok(()) => 0,
        Err(problem) => {
            let sources = std::mem::take(&mut session.sources);
            console.refuse(&Failure { problems: problem.into(), sources })
        }
    }
}

/// A frequency that an option gives, Hz.
fn parse_frequency(option: &str, text: &str) -> Result<f64, Diagnostic> {
    let example = "give a number with its unit, such as \"20 Hz\"";
    let quantity = Quantity::parse(text).map_err(|error| {
        let message = format!("`{option} {text}`: {error}");
        Diagnostic::error(Code::UnparsableQuantity, message).help(example)
    })?;
    if quantity.dimension != Dimension::FREQUENCY {
        let message = format!("`{option}` is a frequency, but \"{text}\" is none");
        return Err(Diagnostic::error(Code::WrongDimension, message).help(example));
    }
    // An angular frequency is meant as one.
    let is_angular = ["rad", "rpm", "rev"].iter().any(|unit| text.contains(unit));
    Ok(if is_angular { quantity.value / TAU } else { quantity.value })
}

/// All that was found.
struct Answer<'a> {
    args: &'a Bode,
    title: String,
    input: Input,
    outputs: Vec<Output>,
    /// How the operating point was reached.
    point: String,
    /// Input and outputs there.
    values: (f64, Vec<f64>),
    system: System,
    frequencies: Vec<f64>,
    /// Of each output.
    responses: Vec<Vec<Complex<f64>>>,
    poles: Option<Vec<Root>>,
    /// Of the first output.
    zeros: Option<Vec<Root>>,
    /// Of the loop when it is closed, where it was cut.
    closed_poles: Option<Vec<Root>>,
    margins: Option<Margins>,
    measured: Option<Measurement>,
    holds_temperature: bool,
    /// By how much the responses on both sides of the point differ.
    two_slopes: f64,
}

fn respond(console: &Console, args: &Bode, session: &mut Session) -> Result<(), Diagnostic> {
    let at = args.at.as_deref().map(|text| parse_time("--at", text)).transpose()?;
    let start = session.plan().start;
    if let Some(at) = at.filter(|&at| at < start) {
        let message = format!("{} is before the start of the run, {}", time(at), time(start));
        return Err(Diagnostic::error(Code::BadRunTimes, message)
            .on(Place::setting("run.start"))
            .help("give a later time: --at TIME"));
    }
    let cut = args.open_loop_at.as_deref();
    let input = find_input(session.plan(), cut.or(args.input.as_deref()).unwrap_or_default())?;
    if cut.is_some() && !input.is_driven {
        let message = format!("no signal drives `{}`: there is no loop to cut", input.name);
        return Err(Diagnostic::error(Code::NoSuchInput, message).help(
            "name an input that a signal is connected to; for a response from here use --input",
        ));
    }
    let mut outputs = args
        .output
        .iter()
        .map(|name| find_output(session, name).map(Output::from))
        .collect::<Result<Vec<_>, _>>()?;
    if cut.is_some() {
        outputs.insert(0, Output::returned(&input));
    } else if outputs.is_empty() {
        return Err(Diagnostic::error(Code::UnknownVariable, "no output is named")
            .help("say what to look at: --output load.x"));
    }
    let (state, point) = match at {
        None => {
            let (state, rest) = session
                .beginning(true)
                .map_err(|problem| problem.help("or look at it on the way: --at TIME"))?;
            let after = rest.map_or(0.0, |rest| rest.time);
            (state, format!("at rest, after {}", time(after)))
        }
        Some(at) => {
            let (state, _) = session.beginning(false)?;
            (session.advance(state, at)?, format!("at t = {}, held there", time(at)))
        }
    };
    let session = &*session;
    let plan = session.plan();
    let registry = crate::registry();
    let place = Point { plan, registry: &registry, state: &state, time: at.unwrap_or(start) };
    let held = signal_at(place, &input);
    let touch = if cut.is_some() { Touch::Cut(held) } else { Touch::Add };
    let mut system = linearise(place, Side::Above, &input, touch, &outputs)?;
    let mut other_side = linearise(place, Side::Below, &input, touch, &outputs)?;
    // Where a valve is as far open as it goes, only the other side answers.
    let is_silent = |system: &System| system.size() == 0 && system.direct.iter().all(|&d| d == 0.0);
    let mut side = Side::Above;
    if is_silent(&system) && !is_silent(&other_side) {
        std::mem::swap(&mut system, &mut other_side);
        side = Side::Below;
    }
    let closed_poles = match cut {
        Some(_) => linearise(place, side, &input, Touch::Add, &outputs[..1])?.poles(),
        None => None,
    };
    if cut.is_some() {
        // Loops are judged by L with negative feedback: what comes back is −L.
        for system in [&mut system, &mut other_side] {
            system.direct[0] = -system.direct[0];
            system.outputs[0].iter_mut().for_each(|(_, slope)| *slope = -*slope);
        }
    }
    let poles = system.poles();
    let zeros = system.zeros(0);
    let (from, to) = range(args, &system, poles.as_deref())?;
    let natural = poles.iter().flatten().chain(zeros.iter().flatten());
    let natural = natural.map(|root| root.natural_frequency() / TAU);
    let frequencies = loops::grid(from, to, args.points as usize, natural);
    let mut resolvent = system.resolvent();
    let mut responses = vec![Vec::with_capacity(frequencies.len()); outputs.len()];
    for &frequency in &frequencies {
        for (all, one) in responses.iter_mut().zip(resolvent.at(frequency)) {
            all.push(one);
        }
    }
    let grid: Vec<(f64, Complex<f64>)> =
        frequencies.iter().copied().zip(responses[0].iter().copied()).collect();
    let mut other_side = other_side.resolvent();
    let mut two_slopes = 0.0f64;
    for i in (0..frequencies.len()).step_by(10) {
        for (all, other) in responses.iter().zip(other_side.at(frequencies[i])) {
            let largest = all[i].norm().max(other.norm());
            if largest > 0.0 {
                two_slopes = two_slopes.max((all[i] - other).norm() / largest);
            }
        }
    }
    let margins = cut.map(|_| loops::margins(&grid, &mut |f| resolvent.at(f)[0]));
    let measured = match args.measure {
        None => None,
        Some(how) => {
            let mut found = measure(args, how, place, &input, touch, &outputs, (from, to))?;
            if cut.is_some() {
                found.points.iter_mut().for_each(|point| point.response[0] = -point.response[0]);
            }
            Some(found)
        }
    };
    let answer = Answer {
        args,
        title: session.circuit.title.clone(),
        values: (
            held,
            outputs.iter().map(|o| o.slot.map_or(held, |slot| slot.read(&state))).collect(),
        ),
        holds_temperature: plan.thermal.is_some(),
        input,
        outputs,
        point,
        system,
        frequencies,
        responses,
        poles,
        zeros,
        closed_poles,
        margins,
        measured,
        two_slopes,
    };
    answer.write()?;
    match args.json {
        true => console.json(&answer.to_json()),
        false => console.print(&answer.to_text(console)),
    }
    Ok(())
}

fn find_output(session: &Session, name: &str) -> Result<Variable, Diagnostic> {
    let variables = &session.plan().variables;
    variables.find(name).ok_or_else(|| {
        let problem =
            Diagnostic::error(Code::UnknownVariable, format!("there is no variable `{name}`"));
        let near = variables.suggestions(name);
        match near.is_empty() {
            true => problem.help("`fluxline run` lists the variables"),
            false => {
                problem.help(format!("near it: {}", list_names(near.iter().map(String::as_str))))
            }
        }
    })
}

/// From and to, Hz: as asked for, or around the poles.
fn range(args: &Bode, system: &System, poles: Option<&[Root]>) -> Result<(f64, f64), Diagnostic> {
    let read = |option: &str, text: &Option<String>| {
        text.as_deref().map(|text| parse_frequency(option, text)).transpose()
    };
    let nyquist = system.nyquist();
    let slowest = poles
        .unwrap_or_default()
        .iter()
        .map(|pole| pole.natural_frequency() / TAU)
        .filter(|f| *f > 1e-6 * nyquist)
        .fold(f64::INFINITY, f64::min);
    let usual = (slowest / 10.0).clamp(1e-5 * nyquist, 1e-2 * nyquist);
    let from = read("--from", &args.from)?.unwrap_or(usual);
    let to = read("--to", &args.to)?.unwrap_or(0.5 * nyquist);
    if to >= nyquist {
        let message = format!(
            "{to} Hz is not below half the sampling rate, {} Hz, of a step of {}",
            rounded(nyquist, 6),
            time(system.step)
        );
        return Err(Diagnostic::error(Code::NoSpectrum, message)
            .help("take lower frequencies, or a smaller step: --set \"run.step=10 us\""));
    }
    if !(from > 0.0 && from < to) {
        let message = format!("from {from} Hz to {to} Hz is no range of frequencies");
        return Err(Diagnostic::error(Code::NoSpectrum, message).help(
            "both are positive, and the second is larger: --from \"0.1 Hz\" --to \"500 Hz\"",
        ));
    }
    Ok((from, to))
}

fn measure(
    args: &Bode,
    how: Measure,
    point: Point,
    input: &Input,
    touch: Touch,
    outputs: &[Output],
    (from, to): (f64, f64),
) -> Result<Measurement, Diagnostic> {
    let missing = || {
        let message = "a measured response needs the size of the signal that is added".to_owned();
        let help = format!("give it in the unit of the input: --amplitude \"0.01 {}\"", input.unit);
        Diagnostic::error(Code::UnparsableQuantity, message).help(help.replace(" 1\"", "\""))
    };
    let text = args.amplitude.as_deref().ok_or_else(missing)?;
    let wrong = |message: String| {
        let example = format!("--amplitude \"0.01 {}\"", input.unit).replace(" 1\"", "\"");
        Diagnostic::error(Code::WrongDimension, message).help(example)
    };
    let amplitude =
        Quantity::parse(text).map_err(|error| wrong(format!("`--amplitude {text}`: {error}")))?;
    let unit = Quantity::parse(&format!("1 {}", input.unit).replace("1 1", "1"))
        .map_or(Dimension::DIMENSIONLESS, |unit| unit.dimension);
    if amplitude.dimension != unit {
        return Err(wrong(format!(
            "`{}` is {}, but \"{text}\" is {}",
            input.name,
            unit.with_article(),
            amplitude.dimension.with_article()
        )));
    }
    if amplitude.value <= 0.0 {
        return Err(wrong(format!("an amplitude of {text} adds nothing")));
    }
    let excitation = Excitation {
        amplitude: amplitude.value,
        tolerance: args.settled,
        most_periods: args.periods as usize,
    };
    let frequencies = loops::grid(from, to, args.measured_points as usize, []);
    match how {
        Measure::Sine => by_sines(point, input, touch, outputs, &frequencies, &excitation),
        Measure::Multisine => by_multisine(point, input, touch, outputs, &frequencies, &excitation),
    }
}

/// `m/V`, or nothing where both are plain numbers.
fn ratio_unit(output: &str, input: &str) -> String {
    match (output, input) {
        (a, b) if a == b => String::new(),
        (a, "1" | "") => format!(" {a}"),
        ("1" | "", b) => format!(" 1/({b})"),
        (a, b) => format!(" ({a})/({b})"),
    }
}

fn is_unstable(poles: &[Root]) -> bool {
    poles.iter().any(|pole| pole.z.norm() > 1.0 + ON_THE_CIRCLE)
}

fn hertz(frequency: f64) -> String {
    format!("{} Hz", rounded(frequency, 5))
}

impl Answer<'_> {
    /// The response of an output between grid points.
    fn at(&self, output: usize) -> impl FnMut(f64) -> Complex<f64> + '_ {
        let mut resolvent = self.system.resolvent();
        move |frequency| resolvent.at(frequency)[output]
    }

    fn grid(&self, output: usize) -> Vec<(f64, Complex<f64>)> {
        self.frequencies.iter().copied().zip(self.responses[output].iter().copied()).collect()
    }

    /// The largest differences of measured and linearised responses, dB and degrees, of an output.
    fn differences(&self, output: usize) -> Option<(f64, f64)> {
        let mut resolvent = self.system.resolvent();
        let points = &self.measured.as_ref()?.points;
        Some(points.iter().fold((0.0f64, 0.0f64), |(size, angle), point| {
            let ratio = point.response[output] / resolvent.at(point.frequency)[output];
            (size.max(decibel(ratio.norm()).abs()), angle.max(ratio.arg().to_degrees().abs()))
        }))
    }

    fn to_text(&self, console: &Console) -> String {
        let what = match self.margins {
            Some(_) => format!("loop gain, cut at {}", self.input.name),
            None => {
                let outputs: Vec<&str> = self.outputs.iter().map(|o| o.name.as_str()).collect();
                format!("response of {} to {}", outputs.join(", "), self.input.name)
            }
        };
        let mut text = console.strong(&format!("{}: {what}", self.title));
        text.push('\n');
        let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:<17} {value}\n"));
        let mut values =
            vec![format!("{} = {}", self.input.name, quantity(self.values.0, self.input.unit))];
        for (output, &value) in self.outputs.iter().zip(&self.values.1) {
            if output.slot.is_some() {
                values.push(format!("{} = {}", output.name, quantity(value, output.unit)));
            }
        }
        line("operating point", &format!("{}: {}", self.point, values.join(", ")));
        let size = counted(self.system.size() as u64, "old value");
        let order = count(self.system.order() as u64);
        line(
            "linearised",
            &format!(
                "{size}, {order} states with delays written out, step {}",
                time(self.system.step)
            ),
        );
        if self.two_slopes > TWO_SLOPES {
            let differ = rounded(100.0 * self.two_slopes, 2);
            line(
                "beware",
                &format!(
                    "a law bends right at this point: its two sides differ by up to {differ} %; --measure tells what a signal of some size meets"
                ),
            );
        }
        if self.holds_temperature {
            line("not part of it", "temperature: it is held");
        }
        if let Some(poles) = &self.poles
            && self.margins.is_none()
        {
            let verdict =
                if is_unstable(poles) { "no: a pole is outside the unit circle" } else { "yes" };
            line("stable", verdict);
        }
        if let Some(margins) = &self.margins {
            match margins.gain() {
                Some(one) => line(
                    "gain margin",
                    &format!(
                        "{} dB (a factor of {}) at {}",
                        rounded(decibel(one.gain_margin), 5),
                        rounded(one.gain_margin, 5),
                        hertz(one.frequency)
                    ),
                ),
                None => {
                    line("gain margin", "unlimited in this range: the phase does not reach −180°")
                }
            }
            match margins.phase() {
                Some(one) => {
                    let degrees = rounded(one.phase_margin, 5);
                    line("phase margin", &format!("{degrees}° at {}", hertz(one.frequency)));
                    line("delay margin", &time(one.delay_margin));
                }
                None => line("phase margin", "unlimited in this range: the gain does not cross 1"),
            }
            if let Some((frequency, distance)) = margins.modulus_margin {
                let distance = rounded(distance, 4);
                line("distance from −1", &format!("{distance} at {}", hertz(frequency)));
            }
            let more = margins.gain_crossovers.len().max(margins.phase_crossovers.len());
            if more > 1 {
                let all =
                    |f: &mut dyn Iterator<Item = f64>| f.map(hertz).collect::<Vec<_>>().join(", ");
                line("gain 1", &all(&mut margins.gain_crossovers.iter().map(|one| one.frequency)));
                line(
                    "phase −180°",
                    &all(&mut margins.phase_crossovers.iter().map(|one| one.frequency)),
                );
            }
            if let Some(poles) = &self.closed_poles {
                let verdict = match is_unstable(poles) {
                    true => "no: the closed loop has a pole outside the unit circle",
                    false => "yes",
                };
                line("stable closed", verdict);
            }
        }
        for (i, output) in self.outputs.iter().enumerate() {
            let grid = self.grid(i);
            let name = |what: &str| match self.outputs.len() {
                1 => what.to_owned(),
                _ => format!("{what}, {}", output.name),
            };
            let (first, h) = grid[0];
            if self.responses[i].iter().all(|h| h.norm() == 0.0) {
                let why = "nothing at this point: dry friction, a stop or a limit holds it; look at another (--at), or measure (--measure)";
                line(&name("answers"), why);
                continue;
            }
            let unit = ratio_unit(output.unit, self.input.unit);
            line(
                &name("gain"),
                &format!(
                    "{}{unit} at {}, {}°",
                    rounded(h.norm(), 5),
                    hertz(first),
                    rounded(h.arg().to_degrees(), 4)
                ),
            );
            if output.slot.is_some() {
                if let Some(bandwidth) = loops::bandwidth(&grid, &mut self.at(i)) {
                    line(&name("bandwidth"), &format!("{} (−3 dB)", hertz(bandwidth)));
                }
                if let Some((frequency, size)) = loops::resonance(&grid, &mut self.at(i)) {
                    let above = rounded(decibel(size / h.norm()), 4);
                    line(
                        &name("resonance"),
                        &format!("{above} dB above that at {}", hertz(frequency)),
                    );
                }
            }
        }
        if let Some(measured) = &self.measured {
            let how = match self.args.measure {
                Some(Measure::Sine) => "by sines",
                _ => "by a multi-sine",
            };
            line(
                "measured",
                &format!(
                    "{how}, {} frequencies, {} steps; last change {}",
                    measured.points.len(),
                    count(measured.steps),
                    rounded(measured.unsettled, 2)
                ),
            );
            for (i, output) in self.outputs.iter().enumerate() {
                if let Some((size, angle)) = self.differences(i) {
                    line(
                        "",
                        &format!(
                            "{}: differs by at most {} dB and {}°; {} % is not at the frequencies of the input",
                            output.name,
                            rounded(size, 2),
                            rounded(angle, 2),
                            rounded(100.0 * measured.distortion[i], 2)
                        ),
                    );
                }
            }
        }
        text.push_str(&self.table());
        text.push_str(&self.roots("pole", self.poles.as_deref()));
        text.push_str(&self.roots("zero", self.zeros.as_deref()));
        for path in self.files() {
            text.push_str(&format!("wrote {}\n", path.display()));
        }
        text
    }

    fn files(&self) -> impl Iterator<Item = &std::path::PathBuf> {
        let args = self.args;
        [&args.plot, &args.nyquist, &args.step_response, &args.csv].into_iter().flatten()
    }

    fn table(&self) -> String {
        let mut header = vec!["frequency".to_owned()];
        for output in &self.outputs {
            header.extend([format!("{} [dB]", output.name), "phase [°]".to_owned()]);
        }
        let mut rows = vec![header];
        let phases: Vec<Vec<f64>> = self.responses.iter().map(|all| unwrapped(all)).collect();
        let last = self.frequencies.len() - 1;
        let shown = SHOWN_ROWS.min(last + 1);
        for row in 0..shown {
            let i = row * last / (shown - 1).max(1);
            let mut cells = vec![hertz(self.frequencies[i])];
            for (responses, phases) in self.responses.iter().zip(&phases) {
                cells.push(format!("{:.3}", decibel(responses[i].norm())));
                cells.push(format!("{:.2}", phases[i]));
            }
            rows.push(cells);
        }
        let left = vec![false; 1 + 2 * self.outputs.len()];
        format!("\n{}", columns(&rows, &left))
    }

    fn roots(&self, what: &str, roots: Option<&[Root]>) -> String {
        let Some(roots) = roots else {
            return format!("\n  {what}s are looked for up to {MOST_STATES} states\n");
        };
        // One of each pair. What is over within a step is of the arithmetic.
        let is_shown =
            |root: &&Root| root.z.im >= 0.0 && (self.args.all || root.z.norm() > WITHIN_A_STEP);
        let upper: Vec<&Root> = roots.iter().filter(is_shown).collect();
        if upper.is_empty() {
            return format!("\n  no {what}s but those of delays\n");
        }
        let header = [what, "frequency", "damping", "in z"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        let shown = if self.args.all { upper.len() } else { upper.len().min(SHOWN_ROOTS) };
        for root in &upper[..shown] {
            let pair = |x: Complex<f64>| match x.im > 0.0 {
                true => format!("{} ± {}i", rounded(x.re, 5), rounded(x.im, 5)),
                false => rounded(x.re, 5),
            };
            rows.push(vec![
                format!("{} 1/s", pair(root.s)),
                hertz(root.natural_frequency() / TAU),
                match root.damping_ratio() {
                    damping if damping.is_finite() => rounded(damping, 4),
                    _ => "–".to_owned(),
                },
                pair(root.z),
            ]);
        }
        let mut text = format!("\n{}", columns(&rows, &[false, false, false, false]));
        if shown < upper.len() {
            text.push_str(&format!("  … and {} faster ones: --all\n", upper.len() - shown));
        }
        text
    }

    fn to_json(&self) -> Value {
        let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
        let roots = |roots: &Option<Vec<Root>>| {
            roots.as_ref().map(|roots| {
                let one = |root: &Root| {
                    json!({
                        "real": root.s.re, "imaginary": root.s.im,
                        "z_real": root.z.re, "z_imaginary": root.z.im,
                        "natural_frequency_hz": root.natural_frequency() / TAU,
                        "damping_ratio": finite(root.damping_ratio()),
                    })
                };
                roots.iter().map(one).collect::<Vec<_>>()
            })
        };
        let outputs: Vec<Value> = self
            .outputs
            .iter()
            .enumerate()
            .map(|(i, output)| {
                let grid = self.grid(i);
                json!({
                    "name": output.name,
                    "unit": output.unit,
                    "real": self.responses[i].iter().map(|h| finite(h.re)).collect::<Vec<_>>(),
                    "imaginary": self.responses[i].iter().map(|h| finite(h.im)).collect::<Vec<_>>(),
                    "bandwidth_hz": loops::bandwidth(&grid, &mut self.at(i)),
                    "resonance": loops::resonance(&grid, &mut self.at(i))
                        .map(|(frequency, size)| json!({"frequency_hz": frequency, "gain": size})),
                    "measured_differs_by": self.differences(i)
                        .map(|(size, angle)| json!({"decibel": size, "degrees": angle})),
                })
            })
            .collect();
        let margins = self.margins.as_ref().map(|margins| {
            let gain = |one: &loops::GainCrossover| {
                json!({"frequency_hz": one.frequency, "phase_margin_degrees": one.phase_margin,
                    "delay_margin_s": one.delay_margin})
            };
            let phase = |one: &loops::PhaseCrossover| {
                json!({"frequency_hz": one.frequency, "gain_margin": one.gain_margin,
                    "gain_margin_decibel": decibel(one.gain_margin)})
            };
            json!({
                "gain_crossovers": margins.gain_crossovers.iter().map(gain).collect::<Vec<_>>(),
                "phase_crossovers": margins.phase_crossovers.iter().map(phase).collect::<Vec<_>>(),
                "distance_from_minus_one": margins.modulus_margin.map(|(_, distance)| distance),
                "is_stable_closed": self.closed_poles.as_ref().map(|poles| !is_unstable(poles)),
            })
        });
        let measured = self.measured.as_ref().map(|measured| {
            let points = measured.points.iter().map(|point| {
                let each = |of: fn(&Complex<f64>) -> f64| {
                    point.response.iter().map(|h| finite(of(h))).collect::<Vec<_>>()
                };
                json!({"frequency_hz": point.frequency, "real": each(|h| h.re),
                    "imaginary": each(|h| h.im)})
            });
            json!({
                "points": points.collect::<Vec<_>>(),
                "last_change": finite(measured.unsettled),
                "distortion": measured.distortion,
                "steps": measured.steps,
            })
        });
        json!({
            "file": self.args.file.display().to_string(),
            "input": {"name": self.input.name, "unit": self.input.unit, "value": self.values.0},
            "operating_point": self.point,
            "step": self.system.step,
            "states": self.system.order(),
            "sides_differ_by": self.two_slopes,
            "is_stable": self.poles.as_ref().map(|poles| !is_unstable(poles)),
            "frequency_hz": self.frequencies,
            "outputs": outputs,
            "poles": roots(&self.poles),
            "zeros": roots(&self.zeros),
            "margins": margins,
            "measured": measured,
            "files": self.files().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        })
    }

    fn write(&self) -> Result<(), Diagnostic> {
        let args = self.args;
        if let Some(path) = &args.csv {
            self.csv(path)?;
        }
        if let Some(path) = &args.plot {
            draw(&self.bode_figure(), path)?;
        }
        if let Some(path) = &args.nyquist {
            draw(&self.nyquist_figure(), path)?;
        }
        if let Some(path) = &args.step_response {
            draw(&self.step_figure(), path)?;
        }
        Ok(())
    }

    fn csv(&self, path: &Path) -> Result<(), Diagnostic> {
        let mut text =
            "frequency [Hz],output,how,real,imaginary,gain [dB],phase [deg]\n".to_owned();
        let mut add =
            |how: &str, output: usize, frequencies: &[f64], responses: &[Complex<f64>]| {
                let phases = unwrapped(responses);
                for ((f, h), phase) in frequencies.iter().zip(responses).zip(phases) {
                    let name = &self.outputs[output].name;
                    let gain = decibel(h.norm());
                    text.push_str(&format!("{f},{name},{how},{},{},{gain},{phase}\n", h.re, h.im));
                }
            };
        for (output, responses) in self.responses.iter().enumerate() {
            add("linearised", output, &self.frequencies, responses);
        }
        if let Some(measured) = &self.measured {
            let frequencies: Vec<f64> = measured.points.iter().map(|p| p.frequency).collect();
            for output in 0..self.outputs.len() {
                let all: Vec<_> = measured.points.iter().map(|p| p.response[output]).collect();
                add("measured", output, &frequencies, &all);
            }
        }
        let write = || {
            let mut file = OutputFile::create(path)?;
            file.write_all(text.as_bytes())?;
            file.finish()
        };
        write().map_err(|error| write_problem(path, &error))
    }

    fn heading(&self) -> String {
        match self.margins {
            Some(_) => format!("{}: loop cut at {}", self.title, self.input.name),
            None => format!("{}: response to {}", self.title, self.input.name),
        }
    }

    fn bode_figure(&self) -> Figure {
        let frequencies: std::sync::Arc<[f64]> = self.frequencies.clone().into();
        let mut gain = Panel::new("gain [dB]");
        let mut phase = Panel::new("phase [°]");
        if self.margins.is_some() {
            gain = gain.reference("", 0.0);
            phase = phase.reference("", -180.0);
        }
        let name = |output: &Output| match (self.margins.is_some(), output.slot) {
            (true, None) => "L".to_owned(),
            _ => output.name.clone(),
        };
        for (output, responses) in self.outputs.iter().zip(&self.responses) {
            let size: Vec<f64> = responses.iter().map(|h| decibel(h.norm())).collect();
            gain = gain.series(Series::new(name(output), frequencies.clone(), size));
            phase =
                phase.series(Series::new(name(output), frequencies.clone(), unwrapped(responses)));
        }
        if let Some(measured) = &self.measured {
            let at: std::sync::Arc<[f64]> = measured.points.iter().map(|p| p.frequency).collect();
            for (i, output) in self.outputs.iter().enumerate() {
                let all: Vec<_> = measured.points.iter().map(|p| p.response[i]).collect();
                let size: Vec<f64> = all.iter().map(|h| decibel(h.norm())).collect();
                let name = format!("{}, measured", name(output));
                gain = gain
                    .series(Series::new(name.clone(), at.clone(), size).style(SeriesStyle::Points));
                phase = phase.series(
                    Series::new(name, at.clone(), unwrapped(&all)).style(SeriesStyle::Points),
                );
            }
        }
        let mut figure = Figure::new(self.heading(), "frequency [Hz]").log_x();
        if let Some(margins) = &self.margins {
            if let Some(one) = margins.phase() {
                let text = format!("phase margin {}°", rounded(one.phase_margin, 3));
                figure = figure.marker(text, one.frequency);
            }
            if let Some(one) = margins.gain() {
                let text = format!("gain margin {} dB", rounded(decibel(one.gain_margin), 3));
                figure = figure.marker(text, one.frequency);
            }
        }
        figure.panel(gain).panel(phase)
    }

    fn nyquist_figure(&self) -> Figure {
        // Beyond this, an integrator would leave nothing to see near −1.
        let most = if self.margins.is_some() { 3.0 } else { f64::INFINITY };
        let mut panel = Panel::new("imaginary part");
        let mut add = |name: String, points: &[Complex<f64>], style: SeriesStyle| {
            let near: Vec<_> = points.iter().filter(|h| h.norm() <= most).collect();
            let x: Vec<f64> = near.iter().map(|h| h.re).collect();
            let y: Vec<f64> = near.iter().map(|h| h.im).collect();
            let series = Series::new(name, x, y).style(style);
            panel = std::mem::take(&mut panel).series(series);
        };
        for (output, responses) in self.outputs.iter().zip(&self.responses) {
            add(output.name.clone(), responses, SeriesStyle::Line);
        }
        if let Some(measured) = &self.measured {
            for (i, output) in self.outputs.iter().enumerate() {
                let all: Vec<_> = measured.points.iter().map(|p| p.response[i]).collect();
                add(format!("{}, measured", output.name), &all, SeriesStyle::Points);
            }
        }
        if self.margins.is_some() {
            let circle: Vec<_> =
                (0..=200).map(|i| Complex::new(0.0, TAU * f64::from(i) / 200.0).exp()).collect();
            add("|L| = 1".to_owned(), &circle, SeriesStyle::Line);
            add("−1".to_owned(), &[Complex::new(-1.0, 0.0)], SeriesStyle::Points);
        }
        Figure::new(self.heading(), "real part").panel(panel)
    }

    fn step_figure(&self) -> Figure {
        // Ten times the slowest decay, or a thousand steps where none is known.
        let slowest = self
            .poles
            .iter()
            .flatten()
            .filter(|pole| pole.s.re < -1e-9 / self.system.step)
            .map(|pole| -1.0 / pole.s.re)
            .fold(0.0f64, f64::max);
        let steps = ((6.0 * slowest / self.system.step) as usize).clamp(1000, 1_000_000);
        let times: std::sync::Arc<[f64]> =
            (0..steps).map(|k| (k + 1) as f64 * self.system.step).collect();
        let mut figure = Figure::new(self.heading(), "time [s]");
        for (output, response) in self.outputs.iter().zip(self.system.step_response(steps)) {
            let unit = ratio_unit(output.unit, self.input.unit);
            let panel = Panel::new(format!(
                "step response [{}]",
                match unit.trim() {
                    "" => "–",
                    unit => unit,
                }
            ));
            figure = figure.panel(panel.series(Series::new(
                output.name.clone(),
                times.clone(),
                response,
            )));
        }
        figure
    }
}
