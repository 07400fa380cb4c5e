//! Compiled code gives the bits of the engine.

use fluxline_core::circuit::{Circuit, Registry};
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling, choose};
use fluxline_core::run::{ByEngine, Stepper, run_by};
use fluxline_core::state::State;
use fluxline_fused::compiler;
use fluxline_fused::run::Source;
use fluxline_hmf::convert::import;
use std::path::{Path, PathBuf};
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

/// Compares a circuit's runs: what was seen, or why it has no code.
fn compare(path: &Path, registry: &Registry, most: u64) -> Result<String, String> {
    let Some(circuit) = load(path, registry) else { return Ok("cannot be read".into()) };
    let Some(plan) = Plan::of(&circuit, registry).plan else { return Ok("not sound".into()) };
    let begin = Instant::now();
    let source = match Source::of(&plan, registry, &plan.initial, true) {
        Ok(source) => source,
        Err(why) => return Ok(format!("no code: {}", why[0].why)),
    };
    let traced = begin.elapsed().as_secs_f64();
    let (statements, followed) = (source.statements, source.followed());
    let by_engine: Vec<String> = source
        .left_to_engine()
        .iter()
        .map(|o| {
            let name = o.component.map_or("a junction", |c| {
                plan.variables.entries[c as usize].declaration.name
            });
            format!("{name} ({})", o.why)
        })
        .collect();
    if statements > 60_000 {
        return Err(format!("{statements} statements"));
    }
    let mut fused = source.compile().map_err(|e| e.to_string())?;
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

fn compare_all(paths: &[PathBuf], most: u64) {
    if compiler::find().is_none() {
        eprintln!("skipped: no C compiler is installed");
        return;
    }
    let registry = registry();
    let mut wrong = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match compare(path, &registry, most) {
            Ok(seen) => eprintln!("{name}: {seen}"),
            Err(why) => wrong.push(format!("{name}: {why}")),
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
