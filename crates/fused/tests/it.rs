//! Compiled code gives the bits of the engine.

use fluxline_core::circuit::{Circuit, Instance, Registry, Source as Signal};
use fluxline_core::declare::{Kind, Value};
use fluxline_core::engine;
use fluxline_core::lanes::{Width, Widths, are_alike, extract, pack_states};
use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
use fluxline_core::program::{Leave, Wanted, get, program_from};
use fluxline_core::recorder::{Recorder, Sampling, Sink, choose};
use fluxline_core::run::{ByEngine, Stepper, run_by};
use fluxline_core::state::State;
use fluxline_core::trace;
use fluxline_formats::results::{CsvWriter, OutputFile};
use fluxline_fused::alike::AlikeSource;
use fluxline_fused::compiler::{self, By};
use fluxline_fused::export::{Export, identifier};
use fluxline_fused::lanes::LaneSource;
use fluxline_fused::machine;
use fluxline_fused::run::Source;
use fluxline_hmf::convert::import;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::Instant;

fn registry() -> Registry {
    let library = fluxline_library::registry();
    Registry::new(library.types().iter().copied().chain(fluxline_hopsan::types()))
}

fn load(path: &Path, registry: &Registry) -> Option<Circuit> {
    if path.extension().is_some_and(|e| e == "hmf") {
        let mut found = import(path, registry, &[]);
        let converted = found.converted.take()?;
        let (folder, sources) = (path.parent()?, found.sources);
        let text = &converted.text;
        return fluxline_formats::load_converted(sources, "", text, folder, registry, &[]).circuit;
    }
    fluxline_formats::load_file(path, registry, &[]).circuit
}

/// Everything that changes, as bits.
fn bits(state: &State<f64>) -> Vec<u64> {
    let bonds = state
        .bonds
        .iter()
        .flat_map(|b| [b.flow, b.effort, b.wave, b.impedance, b.displacement, b.dry]);
    let all = bonds.chain(state.signals.iter().copied()).chain(state.states.iter().copied());
    // What is no number has many faces.
    all.map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }).collect()
}

/// Runs a circuit for so many steps: its last state, its rows, how it ended and its verdict.
fn run(stepper: &mut impl Stepper, plan: &Plan, steps: u64) -> (Vec<u64>, Vec<u64>, String, f64) {
    let mut state = plan.initial.clone();
    let (variables, _) = choose(plan, &[]);
    let mut recorder = Recorder::new(variables, Sampling::Even(300), steps);
    let begin = Instant::now();
    let outcome = run_by(stepper, plan, &mut state, steps, &mut recorder, true, |_| true);
    let took = begin.elapsed().as_secs_f64();
    let rows = recorder.rows().flatten().map(|x| x.to_bits()).collect();
    (bits(&state), rows, format!("{outcome:?}"), took)
}

/// Statements of code that is compiled in tests.
const LONGEST: usize = 7_000;

/// Compares a circuit's runs: what was seen, or why it has no code.
fn compare(path: &Path, registry: &Registry, by: By, most: u64) -> Result<String, String> {
    let Some(circuit) = load(path, registry) else { return Ok("cannot be read".into()) };
    let Some(plan) = Plan::of(&circuit, registry).plan else { return Ok("not sound".into()) };
    let begin = Instant::now();
    let source = match Source::of(&plan, registry, &plan.initial, &choose(&plan, &[]).0, true) {
        Ok(source) => source,
        Err(why) => return Ok(format!("no code: {}", why[0].why)),
    };
    let traced = begin.elapsed().as_secs_f64();
    let (statements, followed) = (source.statements(), source.followed());
    let by_engine: Vec<String> = source
        .left_to_engine()
        .iter()
        .map(|o| {
            let name = o
                .component
                .map_or("a junction", |c| plan.variables.entries[c as usize].declaration.name);
            format!("{name} ({})", o.why)
        })
        .collect();
    if by == By::Compiler && statements > LONGEST {
        return Ok(format!("{statements} statements take too long to compile here"));
    }
    let text = source.text(&plan);
    let mut fused = match by {
        By::Compiler => source.compile(&text, &mut || true),
        By::Fluxline => source.assemble(&plan),
    }
    .map_err(|e| e.to_string())?;
    let steps = circuit.run.steps(circuit.run.step).min(most).max(1);
    let (state, rows, ended, engine_took) = run(&mut ByEngine, &plan, steps);
    let (fused_state, fused_rows, fused_ended, fused_took) = run(&mut fused, &plan, steps);
    if ended != fused_ended {
        return Err(format!("ends otherwise:\n{ended}\n{fused_ended}"));
    }
    if state != fused_state || rows != fused_rows {
        let count = std::iter::zip(&state, &fused_state).filter(|(a, b)| a != b).count();
        return Err(format!("{count} numbers of {} differ", state.len()));
    }
    let per_step = 1e9 / steps as f64;
    Ok(format!(
        "{steps} steps, engine {:.0} ns, code {:.0} ns; {} components, {statements} statements, \
         {} whole and {} in part, traced in {:.0} ms, compiled in {:.2} s; left: {by_engine:?}",
        engine_took * per_step,
        fused_took * per_step,
        plan.component_count(),
        followed.0,
        followed.1,
        traced * 1e3,
        fused.made().took.map_or(0.0, |t| t.as_secs_f64()),
    ))
}

fn files(folder: &Path, extension: &str, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match path.is_dir() {
            true => files(&path, extension, into),
            false if path.extension().is_some_and(|e| e == extension) => into.push(path),
            false => {}
        }
    }
}

/// Who can make code for so many lanes here.
fn makers(lanes: usize) -> Vec<By> {
    let mut makers = Vec::new();
    match machine::is_there(lanes) {
        true => makers.push(By::Fluxline),
        false => eprintln!("skipped: the processor has no instructions for {lanes} lanes"),
    }
    match compiler::find() {
        Some(_) => makers.push(By::Compiler),
        None => eprintln!("skipped: no C compiler is installed"),
    }
    makers
}

fn compare_all(paths: &[PathBuf], most: u64) {
    let registry = registry();
    let mut wrong = Vec::new();
    for by in makers(1) {
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            match compare(path, &registry, by, most) {
                Ok(seen) => eprintln!("{name}, by {by:?}: {seen}"),
                Err(why) => wrong.push(format!("{name}, by {by:?}: {why}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn examples_give_the_bits_of_the_engine() {
    let mut paths = Vec::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    files(&examples, "toml", &mut paths);
    files(&examples, "hmf", &mut paths);
    assert!(paths.len() > 8);
    compare_all(&paths, 30_000);
}

/// What code takes for constant is tried for a moment only, and proved by following one step: here the
/// whole run is looked at.
#[test]
fn numbers_that_code_takes_for_constant_stay_so_through_the_whole_run() {
    let (registry, mut paths) = (registry(), Vec::new());
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    files(&examples, "toml", &mut paths);
    files(&examples, "hmf", &mut paths);
    if let Some(models) = std::env::var_os("FLUXLINE_MODELS") {
        files(Path::new(&models), "hmf", &mut paths);
    }
    let mut most = 0;
    for path in &paths {
        let Some(circuit) = load(path, &registry) else { continue };
        let Some(plan) = Plan::of(&circuit, &registry).plan else { continue };
        let wanted =
            Wanted { watch: false, width: trace::Width::One, leave: Leave::Paths, paths: 4 };
        let start = &plan.initial;
        let followed = program_from(&plan, &registry, start, wanted, &|_| false, &|_| true);
        let Ok((program, known)) = followed else { continue };
        most = most.max(known.len());
        let mut state = start.clone();
        let mut tally = Tally::new(&plan, &mut state, false);
        let steps = circuit.run.steps(circuit.run.step).min(40_000);
        while state.step < steps {
            // Not in time with anything periodic.
            engine::steps(&plan, &mut state, &mut tally, 97);
            for &(slot, bits) in &known {
                let now = get(&state, program.layout, slot).to_bits();
                assert_eq!(now, bits, "number {slot} of {} in step {}", path.display(), state.step);
            }
        }
    }
    assert!(most > 60, "{most} numbers at most");
}

#[test]
fn models_of_hopsan_give_the_bits_of_the_engine() {
    let Some(folder) = std::env::var_os("FLUXLINE_MODELS") else {
        eprintln!("skipped: FLUXLINE_MODELS names no folder with models");
        return;
    };
    let mut paths = Vec::new();
    files(Path::new(&folder), "hmf", &mut paths);
    compare_all(&paths, 20_000);
}

/// The circuit with the quantities of one component in so many off by up to some per cent, as long as
/// that makes a sound one.
fn scattered(circuit: &Circuit, variant: usize, every: usize, registry: &Registry) -> Option<Plan> {
    let mut circuit = circuit.clone();
    for (number, instance) in circuit.components.iter_mut().enumerate().step_by(every) {
        let declaration = instance.declaration();
        let before = instance.values.clone();
        for (index, parameter) in declaration.parameters.iter().enumerate() {
            if let (Kind::Quantity, Value::Number(x)) =
                (&parameter.kind, &mut instance.values[index])
            {
                let chance = ((variant * 7919 + number * 104_729 + index * 1299) % 1000) as f64;
                *x *= 1.0 + 0.04 * (chance / 1000.0 - 0.5);
            }
        }
        let rules = fluxline_core::values::Rules::of(declaration).ok()?;
        let is_outside =
            rules.parameters.iter().zip(&instance.values).any(
                |(rule, value)| matches!(value, Value::Number(x) if rule.beyond(*x).is_some()),
            );
        if is_outside {
            instance.values = before;
        }
    }
    Plan::of(&circuit, registry).plan
}

/// Compares variants in lanes of code with runs of the engine by themselves.
fn compare_lanes<const N: usize>(
    path: &Path,
    registry: &Registry,
    by: By,
    every: usize,
    most: u64,
) -> Result<String, String>
where
    Widths: Width<N>,
{
    let Some(circuit) = load(path, registry) else { return Ok("cannot be read".into()) };
    let Some(first) = Plan::of(&circuit, registry).plan else { return Ok("not sound".into()) };
    let variants: Vec<Plan> = (0..12)
        .filter_map(|variant| scattered(&circuit, variant, every, registry))
        .filter(|plan| are_alike(&first, plan, registry))
        .collect();
    if variants.is_empty() {
        return Ok("no variant is sound".into());
    }
    let source = match LaneSource::of(first, &variants, registry, N, &[]) {
        Ok(source) => source,
        Err(why) => return Ok(format!("no code: {}", why[0].why)),
    };
    let statements = source.nodes();
    if statements > 60_000 {
        return Ok(format!("{statements} statements"));
    }
    let left = source.left_to_engine().len();
    let text = source.text();
    let code = match by {
        By::Compiler => source.compile(&text, &mut || true),
        By::Fluxline => source.assemble(),
    }
    .map_err(|e| e.to_string())?;
    let plans: [&Plan; N] = std::array::from_fn(|lane| &variants[lane % variants.len()]);
    let starts = plans.map(|plan| &plan.initial);
    let mut run = code.run(&plans, &starts, registry).ok_or("variants do not fit the code")?;
    let steps = circuit.run.steps(circuit.run.step).min(most).max(1);
    let mut state = pack_states(plans.map(|plan| &plan.initial));
    run.begin(&mut state);
    let begin = Instant::now();
    run.advance(&mut state, steps, &mut []);
    let took = begin.elapsed().as_secs_f64();
    let mut one = plans[0].initial.clone();
    for (lane, plan) in plans.iter().enumerate() {
        let mut alone = plan.initial.clone();
        let mut tally = Tally::new(plan, &mut alone, false);
        for _ in 0..steps {
            engine::step(plan, &mut alone, &mut tally, false);
        }
        extract(&state, lane, &mut one);
        if bits(&one) != bits(&alone) {
            return Err(format!("lane {lane} of {N} differs after {steps} steps"));
        }
    }
    let per_step = took * 1e9 / (steps * N as u64) as f64;
    let compiled = code.made().took.map_or(0.0, |t| t.as_secs_f64());
    Ok(format!(
        "{N} lanes: {per_step:.1} ns each, {statements} statements in {compiled:.2} s, {left} of {} \
         components left",
        plans[0].component_count()
    ))
}

#[test]
fn variants_in_lanes_give_the_bits_of_single_runs() {
    let registry = registry();
    let mut paths = Vec::new();
    match std::env::var_os("FLUXLINE_MODELS") {
        Some(folder) => {
            files(Path::new(&folder), "hmf", &mut paths);
            files(Path::new(&folder), "toml", &mut paths);
        }
        None => {
            let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
            paths.push(examples.join("hopsan/position_servo.hmf"));
            paths.push(examples.join("relief_line.toml"));
            // Valves that are solved by iteration, and a pipe with a delay.
            paths.push(examples.join("position_servo.toml"));
            paths.push(examples.join("water_hammer.toml"));
        }
    }
    let mut wrong = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Where all components differ, and where some do and the others are the same in all lanes until
        // what differs reaches them.
        let mut found: Vec<(By, Result<String, String>)> = Vec::new();
        for by in makers(4) {
            found.push((by, compare_lanes::<4>(&path, &registry, by, 1, 3000)));
        }
        for by in makers(8) {
            found.push((by, compare_lanes::<8>(&path, &registry, by, 1, 3000)));
            found.push((by, compare_lanes::<8>(&path, &registry, by, 4, 3000)));
        }
        for (by, found) in found {
            match found {
                Ok(seen) => {
                    let is_left = seen.contains("1 of 5 components left");
                    assert!(name != "water_hammer.toml" || is_left, "{seen}");
                    eprintln!("{name}, by {by:?}: {seen}");
                }
                Err(why) => wrong.push(format!("{name}, by {by:?}: {why}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// So many copies of a circuit, each by itself.
fn fleet(one: &Circuit, count: usize) -> Circuit {
    let mut all = one.clone();
    for copy in 1..count {
        let first = copy * one.components.len();
        let named = |instance: &Instance| {
            let name = format!("{}_{copy}", instance.name);
            Instance { name, ..instance.clone() }
        };
        all.components.extend(one.components.iter().map(named));
        for connection in &one.connections {
            let mut connection = connection.clone();
            connection.line = connection.line.as_ref().map(named);
            connection.ends.iter_mut().for_each(|end| end.component += first);
            all.connections.push(connection);
        }
        for drive in &one.drives {
            let mut drive = *drive;
            drive.component += first;
            match &mut drive.from {
                Signal::Output { component, .. }
                | Signal::State { component, .. }
                | Signal::Port { component, .. } => *component += first,
            }
            all.drives.push(drive);
        }
    }
    all
}

/// Runs a circuit by the engine and by code for units that are alike: how many at a time.
fn compare_alike(plan: &Plan, registry: &Registry, steps: u64) -> Result<f64, String> {
    let source = AlikeSource::of(plan, registry, &plan.initial, 0.0)
        .map_err(|why| format!("no code: {}", why[0].why))?;
    let at_a_time = source.at_a_time();
    let mut code = source.compile(&mut || true).map_err(|e| e.to_string())?;
    let (state, rows, ended, _) = run(&mut ByEngine, plan, steps);
    // Twice: what the first run leaves behind does not matter.
    for _ in 0..2 {
        let (own_state, own_rows, own_ended, _) = run(&mut code, plan, steps);
        if ended != own_ended {
            return Err(format!("ends otherwise:\n{ended}\n{own_ended}"));
        }
        if state != own_state || rows != own_rows {
            let count = std::iter::zip(&state, &own_state).filter(|(a, b)| a != b).count();
            return Err(format!("{count} numbers of {} differ", state.len()));
        }
    }
    Ok(at_a_time)
}

#[test]
fn fleets_side_by_side_give_the_bits_of_the_engine() {
    if compiler::find().is_none() {
        eprintln!("skipped: no C compiler is installed");
        return;
    }
    let registry = registry();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    // Full bundles and ones with a rest; constants that agree and constants that differ.
    for (name, count, is_scattered) in [
        ("hopsan/position_servo.hmf", 11, false),
        ("hopsan/position_servo.hmf", 16, true),
        ("relief_line.toml", 13, true),
        ("mass_spring.toml", 9, false),
    ] {
        let one = load(&examples.join(name), &registry).expect("an example");
        let circuit = fleet(&one, count);
        let plan = match is_scattered {
            true => scattered(&circuit, 3, 1, &registry),
            false => Plan::of(&circuit, &registry).plan,
        };
        let steps = circuit.run.steps(circuit.run.step).min(2500);
        let seen = compare_alike(&plan.expect("sound"), &registry, steps);
        let at_a_time = seen.unwrap_or_else(|why| panic!("{name}: {why}"));
        eprintln!("{count} × {name}: {at_a_time:.1} at a time");
        assert!(at_a_time > 3.0);
    }
}

#[test]
fn neighbours_in_a_chain_side_by_side_give_the_bits_of_the_engine() {
    if compiler::find().is_none() {
        eprintln!("skipped: no C compiler is installed");
        return;
    }
    let mut text = "[run]\nstop = \"0.2 s\"\nstep = \"0.1 ms\"\n\
        [components.source]\ntype = \"hydraulic.pressure_source\"\npressure = \"100 bar\"\n\
        [components.tank]\ntype = \"hydraulic.tank\"\n"
        .to_owned();
    let mut upstream = "source.port".to_owned();
    let mut join = String::new();
    let length = 43;
    for i in 0..=length {
        text += &format!(
            "[components.orifice{i}]\ntype = \"hydraulic.turbulent_orifice\"\narea = \"{} mm^2\"\n",
            3 + i % 3
        );
        join += &format!("[[connect]]\nfrom = \"{upstream}\"\nto = \"orifice{i}.inlet\"\n");
        let downstream = match i == length {
            true => "tank.port".to_owned(),
            false => {
                text += &format!(
                    "[components.volume{i}]\ntype = \"hydraulic.volume\"\nvolume = \"0.2 l\"\n"
                );
                format!("volume{i}.port")
            }
        };
        join += &format!("[[connect]]\nfrom = \"orifice{i}.outlet\"\nto = \"{downstream}\"\n");
        upstream = downstream;
    }
    let registry = registry();
    let read =
        fluxline_formats::load_text("chain.toml", &(text + &join), Path::new(""), &registry, &[]);
    let plan = Plan::of(&read.circuit.expect("read"), &registry).plan.expect("sound");
    let at_a_time = compare_alike(&plan, &registry, 2000).unwrap_or_else(|why| panic!("{why}"));
    assert!(at_a_time > 5.0, "{at_a_time}");
}

#[test]
fn models_of_hopsan_unit_by_unit_give_the_bits_of_the_engine() {
    let Some(folder) = std::env::var_os("FLUXLINE_MODELS") else {
        eprintln!("skipped: FLUXLINE_MODELS names no folder with models");
        return;
    };
    let registry = registry();
    let mut paths = Vec::new();
    files(Path::new(&folder), "hmf", &mut paths);
    let mut wrong = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(circuit) = load(path, &registry) else { continue };
        let Some(plan) = Plan::of(&circuit, &registry).plan else { continue };
        let steps = circuit.run.steps(circuit.run.step).clamp(1, 3000);
        match compare_alike(&plan, &registry, steps) {
            Ok(at_a_time) => eprintln!("{name}: the same, {at_a_time:.1} at a time"),
            Err(why) if why.starts_with("no code") => eprintln!("{name}: {why}"),
            Err(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Writes an export to a folder.
fn write(files: &[(String, String)], folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder for tests");
    for (name, text) in files {
        std::fs::write(folder.join(name), text).expect("a file for tests");
    }
}

fn build(mut compiler: Command, folder: &Path) {
    let built = compiler.current_dir(folder).output().expect("the compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// Builds an export in C; `None` where there is no compiler.
fn in_c(export: &Export, folder: &Path) -> Option<PathBuf> {
    let Some(compiler) = compiler::find() else {
        eprintln!("skipped: no C compiler is installed");
        return None;
    };
    write(&export.c().expect("code"), folder);
    let mut command = compiler.command();
    command.args(["-std=c99", "-O1", "-ffp-contract=off", "-o", "program"]);
    command.args([format!("{}.c", export.name), format!("{}_main.c", export.name)]).arg("-lm");
    build(command, folder);
    Some(folder.join("program"))
}

/// The compiler that has built this test.
fn rustc() -> Command {
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    rustc.args(["--edition", "2021", "main.rs"]);
    rustc
}

fn in_rust(export: &Export, folder: &Path) -> PathBuf {
    write(&export.rust().expect("code"), folder);
    let mut command = rustc();
    command.args(["-Copt-level=1", "-o", "program"]);
    build(command, folder);
    folder.join("program")
}

/// What a program prints.
fn printed(program: &Path) -> String {
    let ran = Command::new(program).output().expect("the program");
    assert!(ran.status.success());
    String::from_utf8(ran.stdout).expect("text")
}

/// What a run of the engine writes to a CSV file.
fn csv_of(plan: &Plan, sampling: Sampling, steps: u64, folder: &Path) -> String {
    let (variables, _) = choose(plan, &[]);
    std::fs::create_dir_all(folder).expect("a folder for tests");
    let path = folder.join("run.csv");
    let file = OutputFile::create(&path).expect("a file for tests");
    let names = variables.iter().map(|variable| variable.name.as_str());
    let writer = CsvWriter::new(file, names).expect("a header");
    let held = Rc::new(RefCell::new(writer));
    struct Held(Rc<RefCell<CsvWriter>>);
    impl Sink for Held {
        fn row(&mut self, row: &[f64]) -> std::io::Result<()> {
            self.0.borrow_mut().row(row)
        }
    }
    let mut recorder =
        Recorder::new(variables.clone(), sampling, steps).with_sink(Box::new(Held(held.clone())));
    let mut state = plan.initial.clone();
    run_by(&mut ByEngine, plan, &mut state, steps, &mut recorder, true, |_| true);
    drop(recorder);
    let writer = Rc::into_inner(held).expect("the recorder is gone").into_inner();
    writer.finish().expect("rows");
    std::fs::read_to_string(path).expect("rows")
}

/// The first line in which texts differ.
fn same_lines(one: &str, other: &str) {
    for (at, (one, other)) in one.lines().zip(other.lines()).enumerate() {
        assert_eq!(one, other, "line {}", at + 1);
    }
    assert_eq!(one.lines().count(), other.lines().count());
}

#[test]
fn exported_programs_print_the_file_of_a_run() {
    let registry = registry();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let even = Sampling::Even(100);
    // As models that log from a later time on than they begin with.
    let later = Sampling::EvenFrom { samples: 37, first: 500 };
    for (name, most, sampling) in [
        ("hopsan/position_servo.hmf", 6000, even),
        ("relief_line.toml", 2000, even),
        ("relief_line.toml", 2000, later),
        ("mass_spring.toml", 2000, later),
        ("mass_spring.toml", 2000, Sampling::Every(7)),
        ("mass_spring.toml", 10, Sampling::EvenFrom { samples: 5, first: 20 }),
    ] {
        let mut circuit = load(&examples.join(name), &registry).expect("an example");
        if sampling == later {
            let before = 500.0 * circuit.run.step;
            (circuit.run.start, circuit.run.stop) =
                (circuit.run.start - before, circuit.run.stop - before);
        }
        let plan = Plan::of(&circuit, &registry).plan.expect("sound");
        let steps = circuit.run.steps(circuit.run.step).min(most);
        let export = Export {
            name: "circuit",
            origin: name,
            plan: &plan,
            registry: &registry,
            start: &plan.initial,
            outputs: &choose(&plan, &[]).0,
            sampling,
            steps,
        };
        let kind = format!("{name}-{sampling:?}").replace(|c: char| !c.is_alphanumeric(), "_");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(kind);
        let rows = csv_of(&plan, sampling, steps, &folder);
        assert_eq!(rows.lines().count() as u64, sampling.rows(steps) + 1);
        if let Some(program) = in_c(&export, &folder.join("c")) {
            same_lines(&printed(&program), &rows);
        }
        same_lines(&printed(&in_rust(&export, &folder.join("rust"))), &rows);
    }
}

#[test]
fn exported_code_compiles_whatever_the_circuit_is_called() {
    let registry = registry();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mass_spring.toml");
    let circuit = load(&example, &registry).expect("an example");
    let plan = Plan::of(&circuit, &registry).plan.expect("sound");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("names");
    for name in [
        "main",
        "model",
        "Model",
        "steps",
        "int",
        "for",
        "struct",
        "static",
        "double",
        "sqrt",
        "exp",
        "self",
        "crate",
        "std",
        "f64",
        "u64",
        "str",
        "math",
        "stdio",
        "print",
        "samples",
        "template",
        "3 valves (new)",
        "",
    ] {
        let name = identifier(name);
        let export = Export {
            name: &name,
            origin: "mass_spring.toml",
            plan: &plan,
            registry: &registry,
            start: &plan.initial,
            outputs: &choose(&plan, &[]).0,
            sampling: Sampling::Even(3),
            steps: 10,
        };
        let (c, rust) = (folder.join(format!("{name}_c")), folder.join(format!("{name}_rust")));
        eprintln!("{name}");
        if in_c(&export, &c).is_some() {
            // The header is for C++ as well, where there is a compiler for it.
            let header = format!("{name}.h");
            let built = Command::new("c++")
                .args(["-fsyntax-only", "-Wall", "-Werror", "-x", "c++", "-include", &header])
                .arg("/dev/null")
                .current_dir(&c)
                .output();
            match built {
                Ok(built) => {
                    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
                }
                Err(_) => eprintln!("skipped: no C++ compiler is installed"),
            }
        }
        let files = export.rust().expect("code");
        assert_eq!(files.len(), 2);
        assert_ne!(files[0].0, files[1].0);
        write(&files, &rust);
        let mut command = rustc();
        command.args(["--emit=metadata", "-o", "program.rmeta"]);
        build(command, &rust);
    }
}
