//! One circuit in one piece and on threads, turn by turn: `cargo bench -p fluxline-parallel`.
//!
//! Prints ratios of times measured in one go, and what was predicted for them. Other work on the
//! machine disturbs both sides; the best of several turns counts. A number as argument: so many
//! threads at most; a word: only circuits of that name. `--costs` prints what types of components
//! cost, over all examples.

use fluxline_core::component::Filter;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run;
use fluxline_core::state::State;
use fluxline_formats::Override;
use fluxline_parallel::Partition;
use fluxline_parallel::advice::{Advice, advise};
use fluxline_parallel::cost::Costs;
use fluxline_parallel::cut::Cut;
use fluxline_parallel::generate::{Blueprint, Family};
use fluxline_parallel::graph::Tasks;
use fluxline_parallel::mapping::{Mapping, Method, evenly, map};
use fluxline_parallel::rare::RareCut;
use fluxline_parallel::threads::{self, Manner};
use std::path::{Path, PathBuf};
use std::time::Instant;

const TURNS: usize = 5;

/// Time of a step, ns.
fn timed(plan: &Plan, steps: u64, how: impl FnOnce(&mut State<f64>, &mut Recorder)) -> f64 {
    let mut state = plan.initial.clone();
    let mut recorder = Recorder::new(Vec::new(), Sampling::Even(2), steps);
    let begun = Instant::now();
    how(&mut state, &mut recorder);
    begun.elapsed().as_secs_f64() / steps as f64 * 1e9
}

fn alone(plan: &Plan, steps: u64) -> f64 {
    timed(plan, steps, |state, recorder| {
        run::run(plan, state, steps, recorder, true, |_| true);
    })
}

fn in_parts(plan: &Plan, cut: &Cut, parts: usize, steps: u64) -> f64 {
    timed(plan, steps, |state, recorder| {
        threads::run(plan, cut, Manner::of(parts), state, steps, recorder, true, |_| true);
    })
}

/// A circuit in parts that exchange every step: cut by costs that are measured, and by those of the
/// types as they come with the program.
fn every_step(name: &str, plan: &Plan, parts: usize) {
    let components = plan.component_count();
    let costs = Costs::measure(plan);
    let tasks = Tasks::of(plan, &costs);
    let found = map(&tasks, &costs.links(), parts, Method::Multilevel, 1);
    let given = Mapping::of(&tasks, &costs.links(), evenly(plan, parts), Method::Multilevel);
    let cut = Cut::new(plan, &found.partition).expect("a cut");
    let given_cut = Cut::new(plan, &given.partition).expect("a cut");
    // Half a second or more each.
    let steps = (24_000_000 / components as u64).clamp(1000, 200_000);
    let mut best = [f64::INFINITY; 3];
    for _ in 0..TURNS {
        let times = [
            alone(plan, steps),
            in_parts(plan, &cut, parts, steps),
            in_parts(plan, &given_cut, parts, steps),
        ];
        best = std::array::from_fn(|i| best[i].min(times[i]));
    }
    let [whole, split, split_given] = best;
    let auto = match advise(plan, steps) {
        Advice::Serial(why) => format!("one piece: {why}"),
        Advice::Parts(partition, _) => format!("{} parts", partition.parts),
    };
    println!(
        "{name:<22} {components:>7} {parts:>5} {:>9.2} {:>9.2} {:>6.2} {:>9.2} {:>6.1} {:>6.1} {:>8.2} {:>9.2}   {auto}",
        whole / 1e3,
        split / 1e3,
        whole / split,
        found.step / 1e3,
        100.0 * (found.serial / whole - 1.0),
        100.0 * (found.step / split - 1.0),
        whole / split_given,
        given.speed_up(),
    );
}

/// The plan of an example, and the filter of its lines.
fn example(name: &str, set: &[Override]) -> (Plan, Filter) {
    let registry = fluxline_library::registry();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let circuit = fluxline_formats::load_file(&path, &registry, set).circuit.expect("an example");
    let filter = circuit.run.line_filter();
    (Plan::of(&circuit, &registry).plan.expect("a plan"), filter)
}

/// The dual transmission with an exchange every 10th step, where the split error allows it and
/// whatever it is: speed, and the error in the maximum norm: the largest difference to the run in one
/// piece of any recorded pressure in any recorded row of the whole run, in per cent of the largest
/// pressure of the run.
fn every_tenth_step() {
    let step = [Override::new("run.step", "0.01 ms")];
    let (plan, filter) = example("parallel/dual_transmission.toml", &step);
    let partition = Partition::for_rare_exchange(&plan, 2);
    let rare = || RareCut::new(&plan, &partition, 10, filter).expect("a cut at volumes");
    let sizes: Vec<usize> = rare().split.parts.iter().map(|part| part.components).collect();
    let costs = Costs::measure(&plan);
    let tasks = Tasks::of(&plan, &costs);
    let shares = Mapping::of(&tasks, &costs.links(), partition.clone(), Method::Multilevel).shares;
    let work: Vec<f64> = shares.iter().map(|share| share.time.work.round()).collect();
    println!(
        "\ndual transmission, step 10 µs, exchange every 10th step, parts of {sizes:?} with {work:?} ns to\n\
         compute, {} lines split:",
        rare().lines.len()
    );
    let steps = 200_000;
    let pressures: Vec<_> =
        plan.variables.iter().filter(|v| v.by_default && v.unit == "Pa").collect();
    let curves = |how: &mut dyn FnMut(&mut State<f64>, &mut Recorder)| {
        let mut recorder = Recorder::new(pressures.clone(), Sampling::Every(10), steps);
        how(&mut plan.initial.clone(), &mut recorder);
        recorder.rows().collect::<Vec<_>>()
    };
    let reference = curves(&mut |state, recorder| {
        run::run(&plan, state, steps, recorder, true, |_| true);
    });
    let largest = reference.iter().flat_map(|row| &row[1..]).fold(0.0, |m: f64, x| m.max(x.abs()));
    for (name, rare) in [("where the error allows it", rare()), ("strictly", rare().strictly())] {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..TURNS {
            let times = [
                alone(&plan, steps),
                timed(&plan, steps, |state, recorder| {
                    let manner = Manner::of(2);
                    threads::run_rarely(&plan, &rare, manner, state, steps, recorder, true, |_| {
                        true
                    });
                }),
            ];
            best = std::array::from_fn(|i| best[i].min(times[i]));
        }
        let mut split = None;
        let rarely = curves(&mut |state, recorder| {
            let manner = Manner::of(2);
            let (_, error) =
                threads::run_rarely(&plan, &rare, manner, state, steps, recorder, true, |_| true);
            split = Some(error);
        });
        let mut errors: Vec<(f64, f64, &str)> = (pressures.iter().enumerate())
            .map(|(i, variable)| {
                let apart = |(x, y): (&Vec<f64>, &Vec<f64>)| ((x[i + 1] - y[i + 1]).abs(), x[0]);
                let all = reference.iter().zip(&rarely).map(apart);
                let (worst, at) = all.fold((0.0, 0.0), |m, e| if e.0 > m.0 { e } else { m });
                (100.0 * worst / largest, at, variable.name.as_str())
            })
            .collect();
        errors.sort_by(|a, b| b.0.total_cmp(&a.0));
        let middle = errors.get(errors.len() / 2).map_or(0.0, |error| error.0);
        let (made, of) = split.map_or((0, 0), |split| (split.exchanges, split.every_step));
        println!(
            "  {name}: {:.0} ns -> {:.0} ns, speed-up {:.2}; {made} of {of} exchanges\n    \
             largest errors of {} pressures in {} rows over 2 s, in % of {:.0} bar; middle one {middle:.4}",
            best[0],
            best[1],
            best[0] / best[1],
            pressures.len(),
            reference.len(),
            largest * 1e-5
        );
        for (error, at, name) in errors.iter().take(5) {
            println!("      {error:.4} in {name} at {at:.4} s");
        }
    }
}

fn print_costs() {
    let registry = fluxline_library::registry();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut folders = vec![examples];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the examples").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => files.push(path),
            }
        }
    }
    files.sort();
    let mut plans: Vec<Plan> = (files.iter())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .filter_map(|path| fluxline_formats::load_file(path, &registry, &[]).circuit)
        .filter_map(|circuit| Plan::of(&circuit, &registry).plan)
        .collect();
    for family in [Family::Fleet, Family::Network] {
        plans.extend(Blueprint::new(family, 1000).build(&registry).plan().ok());
    }
    // Later ones, which have many of a type, count.
    let mut all: Option<Costs> = None;
    for plan in &plans {
        let costs = Costs::measure(plan);
        match &mut all {
            Some(all) => all.add_types(&costs),
            None => all = Some(costs),
        }
    }
    if let Some(all) = all {
        print!("{}", all.render());
    }
}

fn main() {
    if std::env::args().any(|arg| arg == "--costs") {
        return print_costs();
    }
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let most: usize = std::env::args().filter_map(|arg| arg.parse().ok()).next().unwrap_or(cores);
    println!(
        "{cores} cores; times of a step in µs, best of {TURNS} turns; cut by measured costs, and (given) by\n\
         those that come with the program\n"
    );
    println!(
        "{:<22} {:>7} {:>5} {:>9} {:>9} {:>6} {:>9} {:>6} {:>6} {:>8} {:>9}   --threads auto",
        "circuit",
        "comp.",
        "parts",
        "one piece",
        "in parts",
        "gain",
        "predicted",
        "1: %",
        "off %",
        "given",
        "predicted"
    );
    let registry = fluxline_library::registry();
    let words: Vec<String> =
        std::env::args().skip(1).filter(|arg| arg.parse::<u32>().is_err()).collect();
    let is_wanted = |name: &str| {
        let mut words = words.iter().filter(|word| !word.starts_with("--")).peekable();
        words.peek().is_none() || words.any(|word| name.contains(word.as_str()))
    };
    let sizes = [(100, 2), (300, 2), (1000, 16), (10_000, 16)];
    for (family, name) in [(Family::Fleet, "fleet"), (Family::Network, "network")] {
        for (size, parts_at_most) in sizes.into_iter().filter(|_| is_wanted(name)) {
            let plan = Blueprint::new(family, size).build(&registry).plan().expect("a plan");
            for parts in [2, 4, 8, 16] {
                if parts <= most.max(2) && parts <= parts_at_most {
                    every_step(name, &plan, parts);
                }
            }
        }
    }
    if is_wanted("transmission") {
        every_step("dual transmission", &example("parallel/dual_transmission.toml", &[]).0, 2);
        every_step("two actuators", &example("two_actuators.toml", &[]).0, 2);
        every_tenth_step();
    }
}
