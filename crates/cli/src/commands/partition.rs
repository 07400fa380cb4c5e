//! `fluxline partition`: splits a circuit into parts that run side by side, and tells what to expect
//! of it.

use super::{Console, parse_time};
use crate::args::{Partition as Arguments, SplitMethod};
use crate::display::{columns, count, counted, rounded, time};
use crate::session::{Engine, Failure, Session};
use fluxline_core::circuit::Pattern;
use fluxline_core::plan::Plan;
use fluxline_diagnostics::{Code, Diagnostic, SourceMap};
use fluxline_formats::Override;
use fluxline_formats::results::{OutputFile, read_problem, write_problem};
use fluxline_parallel::cost::{self, Costs, Sitting};
use fluxline_parallel::cut::Cut;
use fluxline_parallel::graph::Tasks;
use fluxline_parallel::load::{Links, Price, Reach};
use fluxline_parallel::mapping::{Mapping, Method, Share, map};
use fluxline_parallel::predict::{self, Point};
use fluxline_parallel::threads::Manner;
use fluxline_parallel::{Partition, picture};
use fluxline_plot::{Figure, Panel, Report, Series, SeriesStyle, Table};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Numbers of processors that are predicted.
const PROCESSORS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// And of ranks on several hosts.
const RANKS: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000];
/// Groups, or parts, that are listed.
const SHOWN: usize = 64;

/// What was found out.
struct Found {
    components: usize,
    tasks: usize,
    costs: Costs,
    origin: String,
    /// Time of a step as the engine takes it now, ns.
    measured: f64,
    split: Mapping,
    /// Times of a step on threads and in one part, measured side by side.
    on_threads: Option<Sitting>,
    /// Time spent on splitting, s.
    spent: f64,
    curve: Vec<Point>,
    links: Links,
}

pub(super) fn run(console: &Console, args: &Arguments) -> u8 {
    let overrides: Vec<Override> = args.set.iter().map(|text| Override::parse(text)).collect();
    let session = match Session::open(&args.file, &overrides) {
        Ok(session) => session,
        Err(failure) => return console.refuse(&failure),
    };
    if !args.json {
        console.report(&session.warnings, &session.sources);
    }
    let plan = session.plan();
    if !matches!(session.engine, Engine::Fixed(_)) {
        let message = format!("`{}` is not solved by waves in fixed steps", args.file.display());
        let problem = Diagnostic::error(Code::UnknownSetting, message);
        let cure = "split it with `--set run.step_control=fixed --set solver.method=tlm`";
        return console.fail(problem.help(cure));
    }
    match find(args, plan).and_then(|found| {
        write_files(args, &session, &found)?;
        Ok(found)
    }) {
        Err(Failure { problems, sources }) => console.report(&problems, &sources),
        Ok(found) => {
            match args.json {
                true => console.json(&in_json(args, plan, &found)),
                false => console.print(&in_words(args, &found)),
            }
            0
        }
    }
}

fn fail(problem: Diagnostic) -> Failure {
    Failure { problems: problem.into(), sources: SourceMap::new() }
}

fn find(args: &Arguments, plan: &Plan) -> Result<Found, Failure> {
    let groups = groups(args, plan).map_err(fail)?;
    let (costs, origin) = costs(args, plan)?;
    let links = links(args, &costs).map_err(fail)?;
    let tasks = Tasks::of(plan, &costs).with_groups(&groups);
    let parts = match args.parts {
        Some(parts) => parts as usize,
        None => std::thread::available_parallelism().map_or(2, |n| n.get().max(2)),
    };
    let method = match args.method {
        SplitMethod::Multilevel => Method::Multilevel,
        SplitMethod::Genetic => Method::Genetic,
        SplitMethod::Both => Method::Both,
    };
    let begin = Instant::now();
    let split = map(&tasks, &links, parts, method, args.seed);
    let spent = begin.elapsed().as_secs_f64();
    let on_threads = match args.measure {
        true => Some(on_threads(plan, &split.partition).map_err(fail)?),
        false => None,
    };
    let counts: &[usize] = if args.latency.is_some() { &RANKS } else { &PROCESSORS };
    let counts: Vec<usize> =
        counts.iter().copied().filter(|&n| n == 1 || n <= 2 * tasks.graph.len()).collect();
    Ok(Found {
        components: tasks.components.len(),
        tasks: tasks.graph.len(),
        measured: cost::measure_step(plan),
        curve: predict::curve(&tasks, &links, &counts, args.seed),
        costs,
        origin,
        split,
        on_threads,
        spent,
        links,
    })
}

/// Runs parts on threads, and in one piece.
fn on_threads(plan: &Plan, partition: &Partition) -> Result<Sitting, Diagnostic> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    if partition.parts > cores {
        let message = format!(
            "{} parts cannot be measured with {cores} cores: they would take turns",
            partition.parts
        );
        return Err(Diagnostic::error(Code::BadPartition, message)
            .help("measure fewer parts, or predict only: leave --measure out"));
    }
    let cut = Cut::new(plan, partition)?;
    Ok(cost::measure_parts(plan, &cut, Manner::of(partition.parts)))
}

/// Components that the user wants to keep together.
fn groups(args: &Arguments, plan: &Plan) -> Result<Vec<Vec<usize>>, Diagnostic> {
    let names: Vec<&str> = plan.variables.entries.iter().map(|entry| entry.name.as_str()).collect();
    let mut groups = Vec::new();
    for text in &args.groups {
        let mut group: Vec<usize> = Vec::new();
        for pattern in text.split(',').map(str::trim).filter(|pattern| !pattern.is_empty()) {
            let matching = Pattern::new(pattern);
            let before = group.len();
            group.extend((0..names.len()).filter(|&i| matching.matches(names[i])));
            if group.len() == before {
                let message = format!("the circuit has no component `{pattern}` to keep together");
                return Err(Diagnostic::error(Code::BadGroup, message)
                    .suggest(pattern, names.iter().copied())
                    .help("`*` stands for any characters"));
            }
        }
        group.sort_unstable();
        group.dedup();
        if group.len() < 2 {
            let message = format!("`--groups \"{text}\"` holds one component alone");
            return Err(Diagnostic::error(Code::BadGroup, message)
                .help("name at least two components, separated by commas, or use a `*`"));
        }
        groups.push(group);
    }
    Ok(groups)
}

fn costs(args: &Arguments, plan: &Plan) -> Result<(Costs, String), Failure> {
    let Some(path) = &args.costs else {
        let kept = cost::cache_path();
        let (costs, is_new) = cost::known(plan, kept.as_deref(), args.recalibrate);
        let (costs, origin) = match is_new {
            true => (costs, "measured on this machine now"),
            false => (costs.fitted(plan), "measured on this machine earlier, fitted to it now"),
        };
        return Ok((costs, origin.to_owned()));
    };
    let text = std::fs::read_to_string(path).map_err(|error| fail(read_problem(path, &error)))?;
    let mut sources = SourceMap::new();
    let source = sources.add(path.display().to_string(), text.as_str());
    let costs = match Costs::parse(&text, source) {
        Ok(costs) => costs,
        Err(problems) => return Err(Failure { problems, sources }),
    };
    let missing = costs.missing(plan);
    if let Some(first) = missing.first() {
        let others = match missing.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} more types of the circuit"),
        };
        let message = format!("`{}` has no cost of `{first}`{others}", path.display());
        let problem = Diagnostic::error(Code::BadCosts, message);
        let cure = format!("add `\"{first}\" = \"10 ns\"` to its `[types]`");
        return Err(fail(problem.help(cure)));
    }
    Ok((costs, format!("from {}", path.display())))
}

/// Threads of one machine; with a latency, ranks on hosts.
fn links(args: &Arguments, costs: &Costs) -> Result<Links, Diagnostic> {
    let Some(latency) = &args.latency else { return Ok(costs.links()) };
    let nanoseconds = |option: &str, text: &str| Ok(parse_time(option, text)?.max(0.0) * 1e9);
    let far = Price {
        line: nanoseconds("--line-time", &args.line_time)?,
        edge: 0.0,
        neighbour: nanoseconds("--latency", latency)?,
    };
    let reach = Reach::Hosts(args.cores_per_host);
    Ok(Links { near: costs.exchange, far, reach, crowd: costs.crowd() })
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.variables.entries.iter().map(|entry| entry.name.as_str()).collect()
}

fn write_files(args: &Arguments, session: &Session, found: &Found) -> Result<(), Failure> {
    let plan = session.plan();
    if let Some(path) = &args.out {
        let partition: &Partition = &found.split.partition;
        write(path, &partition.render(names(plan)))?;
    }
    if args.plot.is_none() && args.report.is_none() {
        return Ok(());
    }
    let tasks = Tasks::of(plan, &found.costs);
    let svg = picture::draw(&tasks.components, &found.split.partition, &names(plan));
    if let Some(path) = &args.plot {
        write(path, &svg)?;
    }
    if let Some(path) = &args.report {
        write(path, &report(args, session, found, svg).to_html())?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = OutputFile::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.finish()
    });
    written.map_err(|error| fail(write_problem(path, &error)))
}

/// A time given in ns.
fn ns(nanoseconds: f64) -> String {
    match nanoseconds {
        x if x < 1e3 => format!("{} ns", rounded(x, 3)),
        x => time(x * 1e-9),
    }
}

fn share_rows(split: &Mapping) -> Vec<Vec<String>> {
    let row = |(part, share): (usize, &Share)| {
        vec![
            part.to_string(),
            count(share.components as u64),
            ns(share.time.work),
            ns(share.time.exchange),
            ns(share.time.total()),
            rounded(share.lines, 4),
            share.neighbours.to_string(),
        ]
    };
    split.shares.iter().enumerate().take(SHOWN).map(row).collect()
}

const SHARE_HEAD: [&str; 7] =
    ["part", "components", "work", "exchange", "together", "lines shared", "neighbours"];

fn point_rows(curve: &[Point]) -> Vec<Vec<String>> {
    let row = |point: &Point| {
        vec![
            point.parts.to_string(),
            ns(point.step),
            ns(point.work),
            ns(point.exchange),
            rounded(point.speed_up, 3),
        ]
    };
    curve.iter().map(row).collect()
}

const POINT_HEAD: [&str; 5] = ["processors", "step", "work", "exchange", "speed-up"];

/// How many such components two parts need to be faster than one.
fn break_even(found: &Found) -> Option<f64> {
    let work = found.split.serial / found.components.max(1) as f64;
    let lines = found.split.shares.iter().map(|share| share.lines).fold(0.0, f64::max);
    let price = found.links.price(0, 1);
    (work > 0.0).then(|| predict::break_even(work, 2, lines.max(1.0), 1, price))
}

fn in_words(args: &Arguments, found: &Found) -> String {
    let split = &found.split;
    let mut text = format!(
        "{}: {} in {}\n",
        args.file.display(),
        counted(found.components as u64, "component"),
        counted(found.tasks as u64, "task")
    );
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<17} {value}\n"));
    line("costs", found.origin.clone());
    line(
        "one part",
        format!(
            "{} per step by these costs, {} measured now",
            ns(split.serial),
            ns(found.measured)
        ),
    );
    line(
        "split",
        format!(
            "{} by the {} method in {}, {} cut",
            counted(split.partition.parts as u64, "part"),
            split.method.name(),
            time(found.spent),
            lines(split.cut_lines)
        ),
    );
    if let Some(slowest) = split.slowest() {
        line(
            "predicted step",
            format!(
                "{}: {} of work and {} of exchange in the slowest part",
                ns(split.step),
                ns(slowest.time.work),
                ns(slowest.time.exchange)
            ),
        );
    }
    line("predicted gain", format!("{} × one part", rounded(split.speed_up(), 3)));
    if let Some(Sitting { apart, whole, spread, set_up }) = found.on_threads {
        let gain = rounded(whole / apart, 3);
        line(
            "measured gain",
            format!(
                "{gain} × one part: {} per step instead of {}, after {} to begin; rounds within {} %",
                ns(apart),
                ns(whole),
                ns(set_up),
                rounded(100.0 * spread, 2)
            ),
        );
        line(
            "prediction",
            format!(
                "{} for one part, {} for {}",
                off(split.serial, whole),
                off(split.step, apart),
                counted(split.partition.parts as u64, "part")
            ),
        );
    }
    if let Some(size) = break_even(found) {
        let size = count(size.ceil() as u64);
        line("break-even", format!("from {size} such components, two parts are faster than one"));
    }
    if found.tasks == 1 && found.components > 1 {
        line("not to be split", "signals tie all components together".to_owned());
    }
    if let Some(path) = &args.out {
        line("written to", path.display().to_string());
    }
    for path in args.plot.iter().chain(&args.report) {
        line("drawn in", path.display().to_string());
    }
    let table = |head: &[&str], rows: Vec<Vec<String>>| {
        let mut all = vec![head.iter().map(|&name| name.to_owned()).collect()];
        all.extend(rows);
        columns(&all, &vec![false; head.len()])
    };
    text.push('\n');
    text.push_str(&table(&SHARE_HEAD, share_rows(split)));
    if split.shares.len() > SHOWN {
        text.push_str(&format!("  … and {} more\n", split.shares.len() - SHOWN));
    }
    text.push_str(match args.latency {
        Some(_) => "\nPredicted for ranks on hosts, splits of their own:\n",
        None => "\nPredicted, splits of their own:\n",
    });
    text.push_str(&table(&POINT_HEAD, point_rows(&found.curve)));
    text
}

/// How far a predicted time is from a measured one.
fn off(predicted: f64, measured: f64) -> String {
    let percent = 100.0 * (predicted / measured - 1.0);
    let way = if percent < 0.0 { "short" } else { "long" };
    format!("{} % too {way}", rounded(percent.abs(), 2))
}

/// Lines, of which signals are a part.
fn lines(lines: f64) -> String {
    match lines == 1.0 {
        true => "1 line".to_owned(),
        false => format!("{} lines", rounded(lines, 4)),
    }
}

fn in_json(args: &Arguments, plan: &Plan, found: &Found) -> Value {
    let split = &found.split;
    let shares: Vec<Value> = split
        .shares
        .iter()
        .map(|share| {
            json!({
                "components": share.components,
                "work_ns": share.time.work,
                "exchange_ns": share.time.exchange,
                "lines": share.lines,
                "neighbours": share.neighbours,
            })
        })
        .collect();
    let curve: Vec<Value> = found
        .curve
        .iter()
        .map(|point| {
            json!({
                "parts": point.parts,
                "step_ns": point.step,
                "work_ns": point.work,
                "exchange_ns": point.exchange,
                "speed_up": point.speed_up,
            })
        })
        .collect();
    let part_of: serde_json::Map<String, Value> = names(plan)
        .into_iter()
        .zip(&split.partition.part_of)
        .map(|(name, part)| (name.to_owned(), json!(part)))
        .collect();
    json!({
        "file": args.file.display().to_string(),
        "components": found.components,
        "tasks": found.tasks,
        "machine": found.costs.machine,
        "costs": found.origin,
        "measured_step_ns": found.measured,
        "line_ns": found.costs.exchange.line,
        "synchronisation_ns": found.costs.exchange.neighbour,
        "method": split.method.name(),
        "seconds": found.spent,
        "parts": split.partition.parts,
        "cut_lines": split.cut_lines,
        "predicted_serial_ns": split.serial,
        "predicted_step_ns": split.step,
        "predicted_speed_up": split.speed_up(),
        "measured_on_threads_ns": found.on_threads.map(|sitting| sitting.apart),
        "measured_beside_ns": found.on_threads.map(|sitting| sitting.whole),
        "measured_spread": found.on_threads.map(|sitting| sitting.spread),
        "crowding": found.costs.crowding,
        "break_even_components": break_even(found),
        "shares": shares,
        "predicted": curve,
        "part_of": part_of,
    })
}

fn report(args: &Arguments, session: &Session, found: &Found, svg: String) -> Report {
    let split = &found.split;
    let title = match session.circuit.title.is_empty() {
        true => args.file.display().to_string(),
        false => session.circuit.title.clone(),
    };
    let mut shares = Table::new(SHARE_HEAD).caption("What each part does in a step, by costs");
    for row in share_rows(split) {
        shares = shares.row(row);
    }
    let mut points = Table::new(POINT_HEAD).caption("Predicted from costs, not measured");
    for row in point_rows(&found.curve) {
        points = points.row(row);
    }
    let mut types = Table::new(["type", "ns per component and step"]).caption("Costs");
    let mut used: Vec<&str> =
        session.plan().variables.entries.iter().map(|entry| entry.declaration.name).collect();
    used.sort_unstable();
    used.dedup();
    for name in used {
        types = types.row([name.to_owned(), rounded(found.costs.of_type(name), 4)]);
    }
    let processors: Vec<f64> = found.curve.iter().map(|point| point.parts as f64).collect();
    let gains: Vec<f64> = found.curve.iter().map(|point| point.speed_up).collect();
    let figure = Figure::new("Predicted speed-up", "processors").log_x().panel(
        Panel::new("times one processor")
            .log_y()
            .series(Series::new("predicted", processors.clone(), gains).style(SeriesStyle::Points))
            .series(Series::new("as many as processors", processors.clone(), processors)),
    );
    let measured = format!(
        "One part: {} per step by these costs, {} measured now ({} %). A line costs {} and a \
         synchronisation {} per step.",
        ns(split.serial),
        ns(found.measured),
        rounded(100.0 * (split.serial / found.measured - 1.0), 2),
        ns(found.links.near.line),
        ns(found.links.near.neighbour)
    );
    let beside = found.on_threads.map_or(String::new(), |Sitting { apart, whole, .. }| {
        format!(
            " Measured on threads: {} per step, {} in one part beside it; predictions were {} and {}.",
            ns(apart),
            ns(whole),
            off(split.step, apart),
            off(split.serial, whole)
        )
    });
    Report::new(format!("{title} in {}", counted(split.partition.parts as u64, "part")))
        .fact("file", args.file.display().to_string())
        .fact("machine", found.costs.machine.clone())
        .fact("costs", found.origin.clone())
        .fact("method", split.method.name())
        .fact("mapped in", time(found.spent))
        .section("Split")
        .text(format!(
            "{} in {}; {} cut. A step takes {} in the slowest part, {} times faster than in one.",
            counted(found.components as u64, "component"),
            counted(split.partition.parts as u64, "part"),
            lines(split.cut_lines),
            ns(split.step),
            rounded(split.speed_up(), 3)
        ))
        .table(shares)
        .picture(svg)
        .section("Prediction and measurement")
        .text(measured + &beside)
        .table(points)
        .figure(figure)
        .section("Costs")
        .table(types)
}
