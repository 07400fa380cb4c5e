//! Variants side by side give the bits of runs by themselves: every example and every model of the
//! compatibility set, with all their numbers scattered so that edges, stops and cavitation fall at
//! different times in each lane.

use fluxline_core::circuit::{Circuit, Registry};
use fluxline_core::declare::{Kind, Value};
use fluxline_core::engine;
use fluxline_core::instructions::Instructions;
use fluxline_core::lanes::{LanePlan, Width, Widths, are_alike, extract, pack_states};
use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
use fluxline_core::state::State;
use fluxline_hmf::convert::import;
use fluxline_study::random::uniform;
use std::path::{Path, PathBuf};

fn registry() -> Registry {
    let library = fluxline_library::registry();
    Registry::new(library.types().iter().copied().chain(fluxline_hopsan::types()))
}

fn load(path: &Path, registry: &Registry) -> Option<Circuit> {
    if path.extension().is_some_and(|e| e == "hmf") {
        let mut found = import(path, registry, &[]);
        let converted = found.converted.take()?;
        let folder = path.parent()?;
        let sources = found.sources;
        return fluxline_formats::load_converted(
            sources,
            "",
            &converted.text,
            folder,
            registry,
            &[],
        )
        .circuit;
    }
    fluxline_formats::load_file(path, registry, &[]).circuit
}

/// The circuit with every quantity off by up to half a spread, as long as that makes a sound one.
fn scattered(circuit: &Circuit, spread: f64, variant: u64) -> Option<Circuit> {
    let mut circuit = circuit.clone();
    for (number, instance) in circuit.components.iter_mut().enumerate() {
        let declaration = instance.declaration();
        let before = instance.values.clone();
        for (index, parameter) in declaration.parameters.iter().enumerate() {
            if let (Kind::Quantity, Value::Number(x)) =
                (&parameter.kind, &mut instance.values[index])
            {
                *x *= 1.0 + spread * (uniform(variant, index, number as u64) - 0.5);
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
    Some(circuit)
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

/// Steps plans side by side and each by itself, and tells the first difference.
fn compare<const N: usize>(plans: &[Plan], steps: u64, registry: &Registry) -> Result<(), String>
where
    Widths: Width<N>,
{
    let plans: [&Plan; N] = std::array::from_fn(|lane| &plans[lane % plans.len()]);
    for instructions in <Widths as Width<N>>::Instructions::all() {
        let Some(mut lanes) = LanePlan::of(&plans, registry, instructions) else {
            return Err(format!("{N} variants do not fit side by side"));
        };
        let mut state = pack_states(plans.map(|plan| &plan.initial));
        let mut alone = plans.map(|plan| plan.initial.clone());
        let mut tallies: Vec<Tally> = std::iter::zip(plans, &mut alone)
            .map(|(plan, state)| Tally::new(plan, state, false))
            .collect();
        let mut one = plans[0].initial.clone();
        for step in 1..=steps {
            lanes.step(&mut state, false);
            for lane in 0..N {
                engine::step(plans[lane], &mut alone[lane], &mut tallies[lane], false);
                // A difference does not go away; looking at every step would take long.
                if step % 50 != 0 && step != steps && step > 20 {
                    continue;
                }
                extract(&state, lane, &mut one);
                if bits(&one) != bits(&alone[lane]) {
                    let differs = |v: &fluxline_core::variables::Variable| {
                        let (a, b) = (v.slot.read(&one), v.slot.read(&alone[lane]));
                        a.to_bits() != b.to_bits()
                    };
                    let names: Vec<String> =
                        plans[0].variables.iter().filter(differs).map(|v| v.name).take(6).collect();
                    return Err(format!(
                        "lane {lane} of {N} with {} differs at step {step}: {}",
                        instructions.name(),
                        names.join(", ")
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Gives a plan the values of variants, one after the other, and compares it with plans that were made
/// of them; tells how many it could become.
fn revalue(circuit: &Circuit, steps: u64, registry: &Registry) -> Result<usize, String> {
    let Some(mut plan) = Plan::of(circuit, registry).plan else { return Ok(0) };
    let all: Vec<usize> = (0..circuit.components.len()).collect();
    let components: Vec<usize> =
        all.into_iter().filter(|&i| !circuit.components[i].disabled).collect();
    let mut revalued = 0;
    for variant in 0..6 {
        let spread = if variant < 3 { 0.04 } else { 4e-4 };
        let Some(other) = scattered(circuit, spread, variant) else { continue };
        let Some(fresh) = Plan::of(&other, registry).plan else { continue };
        if !plan.revalue(&other, &components) {
            continue;
        }
        revalued += 1;
        if bits(&plan.blank) != bits(&fresh.blank) {
            return Err(format!("variant {variant} is laid out otherwise"));
        }
        if plan.fingerprint != fresh.fingerprint {
            return Err(format!("variant {variant} has another fingerprint"));
        }
        let mut states = [plan.initial.clone(), fresh.initial.clone()];
        for step in 0..steps {
            if bits(&states[0]) != bits(&states[1]) {
                return Err(format!("variant {variant} differs after {step} steps"));
            }
            for (plan, state) in [&plan, &fresh].into_iter().zip(&mut states) {
                let mut tally = Tally::new(plan, state, false);
                engine::step(plan, state, &mut tally, false);
            }
        }
    }
    Ok(revalued)
}

/// Compares variants of a circuit; tells why not, where it makes no sense.
fn check(path: &Path, steps: u64, registry: &Registry) -> Result<Option<&'static str>, String> {
    let Some(circuit) = load(path, registry) else { return Ok(Some("cannot be read")) };
    let mut plans: Vec<Plan> = Vec::new();
    // Where a circuit has many lines, some of them change their number of steps with little.
    for spread in [0.04, 4e-4] {
        plans.clear();
        for variant in 0..12 {
            if let Some(circuit) = scattered(&circuit, spread, variant)
                && let Some(plan) = Plan::of(&circuit, registry).plan
                && plans.first().is_none_or(|first| are_alike(first, &plan, registry))
            {
                plans.push(plan);
            }
        }
        if plans.len() > 1 {
            break;
        }
    }
    if plans.is_empty() {
        return Ok(Some("no variant is sound"));
    }
    if plans[0].thermal.is_some() {
        return Ok(Some("carries temperature"));
    }
    let steps = steps.min(circuit.run.steps(circuit.run.step)).max(1);
    compare::<4>(&plans, steps, registry)?;
    compare::<8>(&plans, steps, registry)?;
    Ok((plans.len() == 1).then_some("variants differ in more than numbers"))
}

fn files(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, ending, into);
        } else if path.extension().is_some_and(|e| e == ending) {
            into.push(path);
        }
    }
}

fn examples() -> Vec<PathBuf> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut paths = Vec::new();
    files(&examples, "toml", &mut paths);
    files(&examples, "hmf", &mut paths);
    assert!(paths.len() >= 8);
    // Study files name the circuit that they are about.
    let is_study = |path: &PathBuf| {
        std::fs::read_to_string(path).is_ok_and(|text| text.contains("\ncircuit = "))
    };
    paths.retain(|path| !is_study(path));
    paths
}

#[test]
fn every_example_gives_the_bits_of_single_runs() {
    let registry = registry();
    for path in examples() {
        let result = check(&path, 6000, &registry);
        assert!(
            matches!(result, Ok(None | Some("carries temperature"))),
            "{}: {result:?}",
            path.display()
        );
    }
}

/// Models of the compatibility set: data beside the repository. Where it is not there, nothing is
/// compared.
fn models() -> Vec<PathBuf> {
    let given = std::env::var_os("FLUXLINE_SHARED").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = given.unwrap_or_else(beside).join("hopsan/models");
    let mut paths = Vec::new();
    files(&folder, "hmf", &mut paths);
    if paths.is_empty() {
        eprintln!("no models beside the repository: nothing is compared");
    }
    paths
}

#[test]
fn a_plan_with_other_values_is_the_plan_of_the_other_circuit() {
    let registry = registry();
    let mut revalued = 0;
    for path in examples().iter().chain(&models()) {
        let Some(circuit) = load(path, &registry) else { continue };
        match revalue(&circuit, 25, &registry) {
            Ok(count) => revalued += count,
            Err(reason) => panic!("{}: {reason}", path.display()),
        }
    }
    assert!(revalued >= 60, "{revalued}");
}

#[test]
fn imported_models_give_the_bits_of_single_runs() {
    let paths = models();
    if paths.is_empty() {
        return;
    }
    let registry = registry();
    let (mut compared, mut others, mut different) = (0, Vec::new(), Vec::new());
    for path in &paths {
        match check(path, 400, &registry) {
            Ok(None) => compared += 1,
            Ok(Some(reason)) => others.push(format!("{}: {reason}", path.display())),
            Err(reason) => different.push(format!("{}: {reason}", path.display())),
        }
    }
    eprintln!("{compared} of {} models compared; others:\n{}", paths.len(), others.join("\n"));
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared * 10 >= paths.len() * 8, "{}", others.join("\n"));
}
