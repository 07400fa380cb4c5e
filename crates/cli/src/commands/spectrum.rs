//! `fluxline spectrum`: lines and densities of recorded variables.

use super::plot::{choose, unit_of};
use super::{Console, draw, parse_time};
use crate::args::{Spectrum as Arguments, WindowName};
use crate::display::{columns, count, quantity, rounded, time};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use fluxline_formats::results::{OutputFile, ResultTable, read_csv, write_problem};
use fluxline_plot::{Figure, Panel, Series};
use fluxline_response::loops::{decibel, unwrapped};
use fluxline_response::spectrum::{Cut, Spectrum, Transfer, Window, resample, spectrum, transfer};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;

/// Lines that are listed.
const SHOWN_LINES: usize = 10;
/// Samples of a segment without which there is nothing to see.
const LEAST_SAMPLES: usize = 8;
/// Intervals that differ by more than this from their mean are uneven.
const EVEN: f64 = 1e-6;
/// Coherence above which a response is believed in the summary.
const COHERENT: f64 = 0.9;

pub(super) fn run(console: &Console, args: &Arguments) -> u8 {
    match look(args) {
        Ok(found) => {
            match args.json {
                true => console.json(&found.to_json(args)),
                false => console.print(&found.to_text(args)),
            }
            0
        }
        Err(problems) => console.report(&problems, &SourceMap::new()),
    }
}

enum Kind {
    One(Spectrum),
    Two(Transfer),
}

struct Found {
    name: String,
    unit: String,
    input: Option<(String, String)>,
    kind: Kind,
    interval: f64,
    samples: usize,
    length: usize,
    was_uneven: bool,
}

fn column(table: &ResultTable, name: &str) -> Result<usize, Diagnostics> {
    let found = choose(table, std::slice::from_ref(&name.to_owned()))?;
    match found[..] {
        [one] => Ok(one),
        _ => {
            let message = format!("`{name}` fits {} variables", found.len());
            let names: Vec<&str> = found.iter().take(8).map(|&i| table.names[i].as_str()).collect();
            Err(Diagnostic::error(Code::UnknownVariable, message)
                .help(format!("name one of {}", fluxline_diagnostics::list_names(names)))
                .into())
        }
    }
}

fn look(args: &Arguments) -> Result<Found, Diagnostics> {
    let read = |option: &str, text: &Option<String>| {
        text.as_deref().map(|text| parse_time(option, text)).transpose()
    };
    let (from, to) = (read("--from", &args.from)?, read("--to", &args.to)?);
    let table = read_csv(&args.result)?;
    let variable = column(&table, &args.variable)?;
    let input = args.input.as_deref().map(|name| column(&table, name)).transpose()?;
    let times = &table.columns[table.time];
    let begin = times.partition_point(|&t| from.is_some_and(|from| t < from));
    let end = times.partition_point(|&t| to.is_none_or(|to| t <= to));
    let count = end.saturating_sub(begin);
    let too_few = |what: String| {
        Diagnostic::error(Code::NoSpectrum, what).help(
            "record more samples (`fluxline run --every 1`), or take fewer segments: --segments 1",
        )
    };
    if count < LEAST_SAMPLES {
        let range = match (times.first(), times.last()) {
            (Some(&first), Some(&last)) => {
                format!(" (recorded from {} to {})", time(first), time(last))
            }
            _ => String::new(),
        };
        let message = format!(
            "{count} samples in this range{range}: {LEAST_SAMPLES} or more make a spectrum"
        );
        return Err(too_few(message).into());
    }
    let times = &times[begin..end];
    let interval = (times[count - 1] - times[0]) / (count - 1) as f64;
    let is_even = times
        .iter()
        .enumerate()
        .all(|(i, t)| (t - times[0] - i as f64 * interval).abs() <= EVEN * interval * count as f64);
    let values = |index: usize| {
        let values = &table.columns[index][begin..end];
        match is_even {
            true => values.to_vec(),
            false => resample(times, values, times[0], interval, count),
        }
    };
    let window = match args.window {
        WindowName::Rectangular => Window::Rectangular,
        WindowName::Hann => Window::Hann,
        WindowName::BlackmanHarris => Window::BlackmanHarris,
        WindowName::FlatTop => Window::FlatTop,
    };
    // Segments that overlap by half: N of them span (N + 1)/2 lengths.
    let segments = args.segments as usize;
    let length = match window {
        Window::Rectangular => count / segments,
        _ => 2 * count / (segments + 1),
    };
    if length < LEAST_SAMPLES {
        let message = format!("{count} samples make {segments} segments of {length} samples each");
        return Err(too_few(message).into());
    }
    let y = values(variable);
    if let Some(at) = y.iter().position(|x| !x.is_finite()) {
        let message =
            format!("`{}` is not a number at t = {}", table.names[variable], time(times[at]));
        return Err(Diagnostic::error(Code::NoSpectrum, message)
            .help("leave that part out: --from TIME --to TIME")
            .into());
    }
    let cut = Cut { length, window };
    if input.is_some() && segments == 1 {
        return Err(Diagnostic::error(
            Code::NoSpectrum,
            "a coherence needs several segments: of a single one it is 1 whatever the signals are",
        )
        .help("average some: --segments 16")
        .into());
    }
    let registry = crate::registry();
    let unit = |index: usize| unit_of(&table.names[index], &registry).unwrap_or("").to_owned();
    let kind = match input {
        None => Kind::One(spectrum(&y, interval, &cut)),
        Some(input) => Kind::Two(transfer(&values(input), &y, interval, &cut)),
    };
    let found = Found {
        name: table.names[variable].clone(),
        unit: unit(variable),
        input: input.map(|input| (table.names[input].clone(), unit(input))),
        kind,
        interval,
        samples: count,
        length,
        was_uneven: !is_even,
    };
    if let Some(path) = &args.csv {
        let write = || {
            let mut file = OutputFile::create(path)?;
            file.write_all(found.to_csv().as_bytes())?;
            file.finish()
        };
        write().map_err(|error| write_problem(path, &error))?;
    }
    if let Some(path) = &args.plot {
        draw(&found.figure(), path)?;
    }
    Ok(found)
}

/// Lines that stand above their neighbours, the largest first.
fn peaks(spectrum: &Spectrum) -> Vec<usize> {
    let a = &spectrum.amplitude;
    let mut peaks: Vec<usize> =
        (1..a.len().saturating_sub(1)).filter(|&i| a[i] > a[i - 1] && a[i] >= a[i + 1]).collect();
    peaks.sort_by(|&i, &j| a[j].total_cmp(&a[i]));
    peaks
}

impl Found {
    fn segments(&self) -> usize {
        match &self.kind {
            Kind::One(one) => one.segments,
            Kind::Two(two) => two.segments,
        }
    }

    fn to_text(&self, args: &Arguments) -> String {
        let mut text = match &self.input {
            None => format!("{}: spectrum\n", self.name),
            Some((input, _)) => format!("{}: response to {input}\n", self.name),
        };
        let mut line =
            |name: &str, value: String| text.push_str(&format!("  {name:<17} {value}\n"));
        line(
            "samples",
            format!(
                "{} every {}, {} of {}",
                count(self.samples as u64),
                time(self.interval),
                crate::display::counted(self.segments() as u64, "segment"),
                count(self.length as u64)
            ),
        );
        if self.was_uneven {
            line(
                "",
                "their times are uneven: values are taken from straight lines between them"
                    .to_owned(),
            );
        }
        let resolution = 1.0 / (self.length as f64 * self.interval);
        line(
            "frequencies",
            format!(
                "to {} Hz, {} Hz apart",
                rounded(0.5 / self.interval, 5),
                rounded(resolution, 4)
            ),
        );
        match &self.kind {
            Kind::One(one) => {
                let power: f64 = one.density[1..].iter().sum::<f64>() * resolution;
                line("effective value", quantity(power.sqrt(), &self.unit));
                let header = ["line", "amplitude", "density"];
                let mut rows = vec![header.map(str::to_owned).to_vec()];
                for &i in peaks(one).iter().take(SHOWN_LINES) {
                    let density = rounded(one.density[i], 4);
                    rows.push(vec![
                        format!("{} Hz", rounded(one.frequency[i], 5)),
                        quantity(one.amplitude[i], &self.unit),
                        format!(
                            "{density} ({})²/Hz",
                            if self.unit.is_empty() { "–" } else { &self.unit }
                        ),
                    ]);
                }
                text.push_str(&format!("\n{}", columns(&rows, &[false, false, false])));
            }
            Kind::Two(two) => {
                let believed = two.coherence[1..].iter().filter(|&&c| c > COHERENT).count();
                let share = 100.0 * believed as f64 / (two.coherence.len() - 1).max(1) as f64;
                line(
                    "coherent",
                    format!("{} % of the frequencies (above {COHERENT})", rounded(share, 3)),
                );
                let header = ["frequency", "gain [dB]", "phase [°]", "coherence"];
                let mut rows = vec![header.map(str::to_owned).to_vec()];
                let last = two.frequency.len() - 1;
                // Evenly on a logarithmic axis.
                let mut shown: Vec<usize> = (0..=SHOWN_LINES)
                    .map(|i| (last as f64).powf(i as f64 / SHOWN_LINES as f64).round() as usize)
                    .collect();
                shown.dedup();
                for i in shown {
                    let h = two.response[i];
                    rows.push(vec![
                        format!("{} Hz", rounded(two.frequency[i], 5)),
                        format!("{:.3}", decibel(h.norm())),
                        format!("{:.2}", h.arg().to_degrees()),
                        format!("{:.4}", two.coherence[i]),
                    ]);
                }
                text.push_str(&format!("\n{}", columns(&rows, &[false; 4])));
            }
        }
        for path in [&args.csv, &args.plot].into_iter().flatten() {
            text.push_str(&format!("wrote {}\n", path.display()));
        }
        text
    }

    fn to_json(&self, args: &Arguments) -> Value {
        let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
        let all = |x: &[f64]| x.iter().map(|&x| finite(x)).collect::<Vec<_>>();
        let mut value = json!({
            "file": args.result.display().to_string(),
            "variable": self.name,
            "unit": self.unit,
            "samples": self.samples,
            "interval_s": self.interval,
            "segment_samples": self.length,
            "segments": self.segments(),
            "resampled": self.was_uneven,
        });
        match &self.kind {
            Kind::One(one) => {
                value["frequency_hz"] = json!(one.frequency);
                value["amplitude"] = json!(all(&one.amplitude));
                value["density"] = json!(all(&one.density));
            }
            Kind::Two(two) => {
                value["input"] = json!(self.input.as_ref().map(|(name, _)| name));
                value["frequency_hz"] = json!(two.frequency);
                value["real"] =
                    json!(two.response.iter().map(|h| finite(h.re)).collect::<Vec<_>>());
                value["imaginary"] =
                    json!(two.response.iter().map(|h| finite(h.im)).collect::<Vec<_>>());
                value["coherence"] = json!(all(&two.coherence));
            }
        }
        value
    }

    fn to_csv(&self) -> String {
        let unit = if self.unit.is_empty() { "1" } else { &self.unit };
        match &self.kind {
            Kind::One(one) => {
                let mut text =
                    format!("frequency [Hz],amplitude [{unit}],density [({unit})^2/Hz]\n");
                for i in 0..one.frequency.len() {
                    let row = (one.frequency[i], one.amplitude[i], one.density[i]);
                    text.push_str(&format!("{},{},{}\n", row.0, row.1, row.2));
                }
                text
            }
            Kind::Two(two) => {
                let mut text =
                    "frequency [Hz],real,imaginary,gain [dB],phase [deg],coherence\n".to_owned();
                for (i, h) in two.response.iter().enumerate() {
                    let (gain, phase) = (decibel(h.norm()), h.arg().to_degrees());
                    let (f, coherence) = (two.frequency[i], two.coherence[i]);
                    text.push_str(&format!("{f},{},{},{gain},{phase},{coherence}\n", h.re, h.im));
                }
                text
            }
        }
    }

    fn figure(&self) -> Figure {
        let unit = if self.unit.is_empty() { "–" } else { &self.unit };
        match &self.kind {
            Kind::One(one) => {
                let at: Arc<[f64]> = one.frequency[1..].into();
                let curve =
                    |values: &[f64]| Series::new(&self.name, at.clone(), values[1..].to_vec());
                Figure::new(format!("{}: spectrum", self.name), "frequency [Hz]")
                    .log_x()
                    .panel(
                        Panel::new(format!("amplitude [{unit}]"))
                            .log_y()
                            .series(curve(&one.amplitude)),
                    )
                    .panel(
                        Panel::new(format!("density [({unit})²/Hz]"))
                            .log_y()
                            .series(curve(&one.density)),
                    )
            }
            Kind::Two(two) => {
                let at: Arc<[f64]> = two.frequency[1..].into();
                let curve = |values: Vec<f64>| Series::new(&self.name, at.clone(), values);
                let gain = two.response[1..].iter().map(|h| decibel(h.norm())).collect();
                let input = self.input.as_ref().map_or("", |(name, _)| name);
                Figure::new(format!("{}: response to {input}", self.name), "frequency [Hz]")
                    .log_x()
                    .panel(Panel::new("gain [dB]").series(curve(gain)))
                    .panel(Panel::new("phase [°]").series(curve(unwrapped(&two.response[1..]))))
                    .panel(
                        Panel::new("coherence")
                            .series(curve(two.coherence[1..].to_vec()))
                            .limits_y(0.0, 1.05),
                    )
            }
        }
    }
}
