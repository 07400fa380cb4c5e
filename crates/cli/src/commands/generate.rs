//! `fluxline generate`: a large circuit to measure with, written to a file or measured at once.

use super::bench::peak_memory;
use super::{Console, parse_time};
use crate::args::{FamilyName, Generate};
use crate::display::{columns, count, rounded, time};
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::results::{OutputFile, write_problem};
use fluxline_parallel::cost::{self, Costs, Sitting};
use fluxline_parallel::cut::Cut;
use fluxline_parallel::generate::{Blueprint, Family};
use fluxline_parallel::graph::Tasks;
use fluxline_parallel::load::{Links, Price, Reach};
use fluxline_parallel::mapping::{Mapping, Method, map};
use fluxline_parallel::predict::{self, Point};
use fluxline_parallel::threads::Manner;
use fluxline_plot::{Figure, Panel, Series, SeriesStyle};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Files of more components would be larger than what is read.
const MOST_IN_A_FILE: u32 = 400_000;

/// Numbers of ranks that are predicted.
const RANKS: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000];

pub(super) fn run(console: &Console, args: &Generate) -> u8 {
    let family = match args.family {
        FamilyName::Fleet => Family::Fleet,
        FamilyName::Network => Family::Network,
    };
    if let Some(path) = &args.out
        && let Err(problem) = write(console, args, path, family)
    {
        return console.fail(problem);
    }
    if args.measure
        && let Err(problem) = measure_all(console, args, family)
    {
        return console.fail(problem);
    }
    0
}

fn write(
    console: &Console,
    args: &Generate,
    path: &Path,
    family: Family,
) -> Result<(), Diagnostic> {
    let &[components] = args.components.as_slice() else {
        let message =
            format!("`{}` cannot hold {} circuits", path.display(), args.components.len());
        return Err(Diagnostic::error(Code::CannotWrite, message)
            .help("ask for one number of components, or measure them without a file: --measure"));
    };
    if components > MOST_IN_A_FILE {
        let message = format!(
            "a file of {} components would be larger than the 64 MiB that circuit files may have",
            count(u64::from(components))
        );
        return Err(Diagnostic::error(Code::CannotWrite, message)
            .help(format!("ask for {MOST_IN_A_FILE} components at most"))
            .help("or measure it in memory, without a file: --measure, and no --out"));
    }
    if path.exists() && !args.force && path.as_os_str() != "-" {
        let message = format!("`{}` is already there", path.display());
        let problem = Diagnostic::error(Code::CannotWrite, message);
        return Err(problem.help("choose another name, or overwrite it with --force"));
    }
    let blueprint = Blueprint::new(family, components as usize);
    let written = OutputFile::create(path).and_then(|mut file| {
        file.write_all(blueprint.to_toml().as_bytes())?;
        file.finish()
    });
    written.map_err(|error| write_problem(path, &error))?;
    if path.as_os_str() != "-" {
        console.print(&format!(
            "{} written: {}, {} components with lines\n",
            path.display(),
            blueprint.title,
            count(blueprint.size as u64)
        ));
    }
    Ok(())
}

/// What a size was found to take, s.
struct Size {
    components: usize,
    built: f64,
    planned: f64,
    split: f64,
    step: f64,
    threads: usize,
    on_threads: f64,
    gain: f64,
    curve: Vec<Point>,
}

/// One size after the other, and how times grow from the first to the last.
fn measure_all(console: &Console, args: &Generate, family: Family) -> Result<(), Diagnostic> {
    let mut sizes = Vec::new();
    for &components in &args.components {
        sizes.push(measure(console, args, family, components)?);
    }
    if sizes.len() > 1 {
        console.print("\nMeasured, for each size:\n");
        let head =
            ["components", "built", "planned", "split", "step", "each", "on threads", "gain"];
        let row = |size: &Size| {
            let each = size.step * 1e9 / size.components as f64;
            vec![
                count(size.components as u64),
                time(size.built),
                time(size.planned),
                time(size.split),
                time(size.step),
                format!("{} ns", rounded(each, 3)),
                time(size.on_threads),
                rounded(size.gain, 3),
            ]
        };
        let head = head.map(str::to_owned).to_vec();
        let rows: Vec<_> = std::iter::once(head).chain(sizes.iter().map(row)).collect();
        console.print(&columns(&rows, &[false; 8]));
        console.print("\nPredicted speed-up, for each size:\n");
        let names = sizes.iter().map(|size| count(size.components as u64));
        let head: Vec<String> = std::iter::once("ranks".to_owned()).chain(names).collect();
        let row = |i: usize| {
            let gains = sizes.iter().map(|size| rounded(size.curve[i].speed_up, 4));
            std::iter::once(RANKS[i].to_string()).chain(gains).collect::<Vec<_>>()
        };
        let rows: Vec<_> = std::iter::once(head).chain((0..RANKS.len()).map(row)).collect();
        console.print(&columns(&rows, &vec![false; 1 + sizes.len()]));
    }
    match &args.plot {
        Some(path) => draw(console, args, path, &sizes),
        None => Ok(()),
    }
}

/// Draws the predicted speed-up of all sizes as curves, and what was measured here as dots.
fn draw(console: &Console, args: &Generate, path: &Path, sizes: &[Size]) -> Result<(), Diagnostic> {
    let ranks: Vec<f64> = RANKS.iter().map(|&ranks| ranks as f64).collect();
    let mut panel = Panel::new("times one rank").log_y();
    for size in sizes {
        let gains: Vec<f64> = size.curve.iter().map(|point| point.speed_up).collect();
        let name = format!("{} components", count(size.components as u64));
        panel = panel.series(Series::new(name, ranks.clone(), gains));
    }
    for size in sizes {
        let name = format!("measured, {}", count(size.components as u64));
        let dot = Series::new(name, vec![size.threads as f64], vec![size.gain]);
        panel = panel.series(dot.style(SeriesStyle::Points));
    }
    let panel = panel.series(Series::new("as many as ranks", ranks.clone(), ranks));
    let title = format!(
        "Speed-up: curves predicted for {} ranks on a host and {} between hosts, dots measured on threads",
        args.cores_per_host, args.latency
    );
    let figure = Figure::new(title, "ranks").log_x().panel(panel);
    let (width, height) = figure.natural_size();
    let written = OutputFile::create(path).and_then(|mut file| {
        file.write_all(figure.to_svg(width, height).as_bytes())?;
        file.finish()
    });
    written.map_err(|error| write_problem(path, &error))?;
    console.print(&format!("\nDrawn in {}\n", path.display()));
    Ok(())
}

/// Tells what a large circuit takes: what is measured first, what is predicted apart from it.
fn measure(
    console: &Console,
    args: &Generate,
    family: Family,
    components: u32,
) -> Result<Size, Diagnostic> {
    let nanoseconds = |option: &str, text: &str| Ok(parse_time(option, text)?.max(0.0) * 1e9);
    let far = Price {
        line: nanoseconds("--line-time", &args.line_time)?,
        edge: 0.0,
        neighbour: nanoseconds("--latency", &args.latency)?,
    };
    let registry = fluxline_library::registry();
    let blueprint = Blueprint::new(family, components as usize);
    let count_of = blueprint.size;
    let size = blueprint.size as f64;
    let title = format!("{}, {} components", blueprint.title, count(blueprint.size as u64));
    let line = |name: &str, seconds: f64, more: &str| {
        let each = cost_each(seconds, size);
        console.print(&format!("  {name:<17} {:>10}  {each}{more}\n", time(seconds)));
    };
    console.print(&format!("{title}\nMeasured:\n"));
    let begun = Instant::now();
    let circuit = blueprint.build(&registry);
    drop(blueprint);
    let built = begun.elapsed().as_secs_f64();
    line("built", built, "");
    let begun = Instant::now();
    // What is wrong with a circuit of our own is our own fault, and told as it is.
    let plan = circuit.plan().map_err(|told| {
        Diagnostic::error(
            Code::InconsistentParameters,
            format!("the circuit cannot be planned: {told}"),
        )
    })?;
    drop(circuit);
    let planned = begun.elapsed().as_secs_f64();
    line("planned", planned, "");
    let begun = Instant::now();
    let costs = Costs::measure(&plan);
    line("costs measured", begun.elapsed().as_secs_f64(), "");
    let step = cost::measure_step(&plan) * 1e-9;
    line("a step, one piece", step, "");
    let tasks = Tasks::of(&plan, &costs);
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
    let mut splits: Vec<(usize, Mapping, f64)> = Vec::new();
    for parts in [cores, 64] {
        let begun = Instant::now();
        let split = map(&tasks, &costs.links(), parts, Method::Multilevel, 1);
        let cut = format!(", {} lines cut", rounded(split.cut_lines, 6));
        let spent = begun.elapsed().as_secs_f64();
        line(&format!("split into {parts}"), spent, &cut);
        splits.push((parts, split, spent));
    }
    let (parts, split, spent) = &splits[0];
    let begun = Instant::now();
    let cut = Cut::new(&plan, &split.partition)?;
    line(&format!("cut into {parts}"), begun.elapsed().as_secs_f64(), "");
    let Sitting { apart, whole, spread, set_up } =
        cost::measure_parts(&plan, &cut, Manner::of(*parts));
    line("threads begin", set_up * 1e-9, "");
    let gain = format!(
        ", {} × one piece in turns with it, rounds within {} %",
        rounded(whole / apart, 3),
        rounded(100.0 * spread, 2)
    );
    line(&format!("a step, {parts} threads"), apart * 1e-9, &gain);
    if let Some(bytes) = peak_memory() {
        let each = rounded(bytes as f64 / size, 3);
        let all = rounded(bytes as f64 / (1u64 << 20) as f64, 3);
        console.print(&format!("  {:<17} {all:>6} MiB  {each} bytes each\n", "memory at most"));
    }
    let reach = Reach::Hosts(args.cores_per_host);
    let links = Links { near: costs.exchange, far, reach, crowd: costs.crowd() };
    console.print(&format!(
        "Predicted: a step on {parts} threads {} ({} × one piece), {} % from what was measured; {} in one, {} %\n\
         Predicted for ranks, {} on a host, {} between hosts and {} for each line:\n",
        time(split.step * 1e-9),
        rounded(split.speed_up(), 3),
        rounded(100.0 * (split.step / apart - 1.0), 2),
        time(split.serial * 1e-9),
        rounded(100.0 * (split.serial / whole - 1.0), 2),
        args.cores_per_host,
        args.latency,
        args.line_time
    ));
    let lines = split.shares.iter().map(|share| share.lines).fold(1.0, f64::max);
    let work = split.serial / size;
    let curve = predict::curve(&tasks, &links, &RANKS, 1);
    let break_even = predict::break_even(work, 2, lines, 1, &far);
    let row = |point: &Point| {
        let times = [point.step, point.work, point.exchange].map(|ns| time(ns * 1e-9));
        let [step, work, exchange] = times;
        vec![point.parts.to_string(), step, work, exchange, rounded(point.speed_up, 4)]
    };
    let head = ["ranks", "step", "work", "exchange", "speed-up"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(curve.iter().map(row)).collect();
    console.print(&columns(&rows, &[false; 5]));
    console.print(&format!(
        "Predicted break-even: two hosts are faster than one from {} such components on\n",
        count(break_even.ceil() as u64)
    ));
    Ok(Size {
        components: count_of,
        built,
        planned,
        split: *spent,
        step,
        threads: *parts,
        on_threads: apart * 1e-9,
        gain: whole / apart,
        curve,
    })
}

fn cost_each(seconds: f64, size: f64) -> String {
    format!("{} ns each", rounded(seconds * 1e9 / size, 3))
}
