//! Circuits in parts have the bits of circuits in one piece.

use fluxline_core::builder::Builder;
use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{self, Ended, Outcome};
use fluxline_core::state::State;
use fluxline_parallel::Partition;
use fluxline_parallel::split::Split;
use fluxline_parallel::threads::{self, Manner};
use fluxline_parallel::ties::clusters;
use std::path::{Path, PathBuf};

/// What a run leaves: how it ended, its rows and its last state.
struct Left {
    outcome: Outcome,
    rows: Vec<u64>,
    state: State<f64>,
}

fn bits(rows: &Recorder) -> Vec<u64> {
    rows.rows().flatten().map(|x| x.to_bits()).collect()
}

fn recorder(plan: &Plan, steps: u64) -> Recorder<'static> {
    let variables = plan.variables.iter().filter(|v| v.by_default).collect();
    Recorder::new(variables, Sampling::Every(7), steps)
}

fn in_one_piece(plan: &Plan, steps: u64) -> Left {
    let mut recorder = recorder(plan, steps);
    let mut state = plan.initial.clone();
    let outcome = run::run(plan, &mut state, steps, &mut recorder, true, |_| true);
    Left { outcome, rows: bits(&recorder), state }
}

fn in_parts(plan: &Plan, partition: &Partition, steps: u64, threads: usize) -> Left {
    let split = Split::new(plan, partition).unwrap_or_else(|problem| panic!("{problem}"));
    let manner = Manner { threads, pin: false, spins: 20 };
    let mut recorder = recorder(plan, steps);
    let mut state = plan.initial.clone();
    let outcome =
        threads::run(plan, &split, manner, &mut state, steps, &mut recorder, true, |_| true);
    Left { outcome, rows: bits(&recorder), state }
}

fn same(name: &str, one: &Left, other: &Left) {
    let words = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(one.outcome.ended, other.outcome.ended, "{name}");
    assert_eq!(one.rows.len(), other.rows.len(), "{name}");
    assert!(one.rows == other.rows, "{name}: other rows");
    let (a, b) = (&one.state, &other.state);
    assert_eq!((a.step, a.time, a.faults), (b.step, b.time, b.faults), "{name}");
    for (i, (x, y)) in a.bonds.iter().zip(&b.bonds).enumerate() {
        assert_eq!(format!("{x:?}"), format!("{y:?}"), "{name}: line end {i}");
    }
    assert_eq!(words(&a.signals), words(&b.signals), "{name}");
    assert_eq!(words(&a.states), words(&b.states), "{name}");
    assert_eq!(words(&a.viscosity), words(&b.viscosity), "{name}");
    assert_eq!(words(&a.line_temperature), words(&b.line_temperature), "{name}");
    assert_eq!(words(&a.delivered_temperature), words(&b.delivered_temperature), "{name}");
    assert_eq!(one.outcome.verdict, other.outcome.verdict, "{name}");
}

/// Clusters dealt out at random: as many cuts as can be.
fn at_random(plan: &Plan, parts: usize, seed: u64) -> Partition {
    let mut chance = seed;
    let mut next = || {
        chance = chance.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((chance >> 33) % parts as u64) as u32
    };
    let cluster = clusters(plan);
    let part: Vec<u32> = (0..=*cluster.iter().max().unwrap()).map(|_| next()).collect();
    Partition { part_of: cluster.iter().map(|&c| part[c as usize]).collect(), parts }
}

/// Tries many partitions; returns how many lines were cut. Parts are stepped in turn: threads that
/// wait for each other in every step would take their time on a busy machine.
fn holds(name: &str, plan: &Plan, steps: u64) -> usize {
    let whole = in_one_piece(plan, steps);
    let mut cuts = 0;
    let in_order = [2, 3, 4, 8].map(|parts| Partition::in_order(plan, parts));
    let at_random = [1, 2, 3].map(|seed| at_random(plan, 3, seed));
    for (i, partition) in in_order.iter().chain(&at_random).enumerate() {
        cuts += Split::new(plan, partition).unwrap().lines_cut();
        let name = format!("{name}, partition {i}");
        same(&name, &whole, &in_parts(plan, partition, steps, 1));
    }
    cuts
}

fn examples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    files
}

fn plan_of(path: &Path, registry: &Registry) -> Plan {
    let loaded = fluxline_formats::load_file(path, registry, &[]);
    let circuit = loaded.circuit.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    Plan::of(&circuit, registry).plan.unwrap()
}

#[test]
fn every_example_has_the_same_bits_in_2_3_4_and_8_parts() {
    let registry = fluxline_library::registry();
    let mut cuts = 0;
    for path in examples("").iter().chain(&examples("lumped")) {
        let plan = plan_of(path, &registry);
        cuts += holds(&path.display().to_string(), &plan, 600);
    }
    assert!(cuts > 50, "only {cuts} lines were cut");
}

/// A machine with everything that can go from one part to another: temperature, a sub-circuit with
/// smaller steps, meetings, ports and outputs that drive signals.
fn mixed(registry: &Registry, warm: bool) -> Plan {
    let mut circuit = Builder::new(registry);
    circuit.circuit.fluids[0].carries_temperature = warm;
    circuit.circuit.fluids[0].viscosity_point = warm.then_some((373.15, 8e-6));
    circuit.add("source", "hydraulic.pressure_source", &[("pressure", "200 bar")]);
    circuit.add("tank", "hydraulic.tank", &[("pressure", "0 bar")]);
    for i in 0..6 {
        circuit.add(&format!("in{i}"), "hydraulic.laminar_orifice", &[]);
        circuit.add(&format!("vessel{i}"), "hydraulic.volume", &[("volume", "0.1 l")]);
        circuit.add(&format!("out{i}"), "hydraulic.turbulent_orifice", &[("area", "5 mm^2")]);
        circuit.connect(&["source.port", &format!("in{i}.inlet")]);
        circuit.connect(&[&format!("in{i}.outlet"), &format!("vessel{i}.port")]);
        circuit.connect(&[&format!("vessel{i}.port"), &format!("out{i}.inlet")]);
        circuit.connect(&[&format!("out{i}.outlet"), "tank.port"]);
        if i > 0 {
            circuit.add(&format!("across{i}"), "hydraulic.laminar_orifice", &[]);
            circuit.connect(&[&format!("vessel{}.port", i - 1), &format!("across{i}.inlet")]);
            circuit.connect(&[&format!("across{i}.outlet"), &format!("vessel{i}.port")]);
        }
    }
    // Smaller steps, between two vessels of the main step.
    for (name, kind) in [("to", "laminar_orifice"), ("fast", "volume"), ("from", "laminar_orifice")]
    {
        circuit.add(name, &format!("hydraulic.{kind}"), &[]);
        circuit.sub_steps(4);
    }
    circuit.connect(&["vessel5.port", "to.inlet"]).connect(&["to.outlet", "fast.port"]);
    circuit.connect(&["fast.port", "from.inlet"]).connect(&["from.outlet", "vessel0.port"]);
    // A pressure that drives an opening two vessels on, a step later.
    circuit.add("gain", "signal.gain", &[("gain", "1e-13")]);
    circuit.add("gauge", "hydraulic.pressure_sensor", &[]);
    circuit.connect(&["vessel1.port", "gauge.port"]);
    circuit.drive("gauge.out", "gain.input");
    circuit.drive("gain.out", "out3.area");
    // Driven by a port itself.
    circuit.add("gain2", "signal.gain", &[("gain", "1e-13")]);
    circuit.drive("in4.outlet.pressure", "gain2.input");
    circuit.drive("gain2.out", "out5.area");
    circuit.plan().unwrap()
}

#[test]
fn temperature_meetings_and_signals_cross_between_parts_without_a_trace() {
    let registry = fluxline_library::registry();
    for warm in [false, true] {
        let cuts = holds(&format!("mixed, warm: {warm}"), &mixed(&registry, warm), 700);
        assert!(cuts > 5, "{cuts}");
    }
}

#[test]
fn threads_have_the_bits_of_one_thread() {
    let registry = fluxline_library::registry();
    let plan = mixed(&registry, true);
    let whole = in_one_piece(&plan, 400);
    for parts in [2, 3, 4, 8] {
        let partition = at_random(&plan, parts, parts as u64);
        let name = format!("{parts} threads");
        same(&name, &whole, &in_parts(&plan, &partition, 400, parts));
    }
}

#[test]
fn a_part_that_diverges_ends_all_as_the_whole_would() {
    let registry = fluxline_library::registry();
    let mut circuit = Builder::new(&registry);
    circuit.add("source", "hydraulic.pressure_source", &[("pressure", "200 bar")]);
    circuit.add("first", "hydraulic.laminar_orifice", &[]);
    circuit.add("vessel", "hydraulic.volume", &[]);
    circuit.add("second", "hydraulic.laminar_orifice", &[]);
    circuit.add("tank", "hydraulic.tank", &[]);
    circuit.connect(&["source.port", "first.inlet"]).connect(&["first.outlet", "vessel.port"]);
    circuit.connect(&["vessel.port", "second.inlet"]).connect(&["second.outlet", "tank.port"]);
    circuit.add("integrator", "signal.integrator", &[]);
    circuit.add("growth", "signal.gain", &[("gain", "1e5")]);
    circuit.add("start", "signal.constant", &[("value", "1")]);
    circuit.add("sum", "signal.sum", &[]);
    circuit.drive("integrator.out", "growth.input");
    circuit.drive("growth.out", "sum.input1");
    circuit.drive("start.out", "sum.input2");
    circuit.drive("sum.out", "integrator.input");
    let plan = circuit.plan().unwrap();
    let whole = in_one_piece(&plan, 2000);
    assert!(matches!(whole.outcome.ended, Ended::Diverged(_)), "{:?}", whole.outcome.ended);
    for parts in [2, 3, 8] {
        let partition = Partition::in_order(&plan, parts);
        same("diverging", &whole, &in_parts(&plan, &partition, 2000, 1));
    }
}

#[test]
fn an_interrupted_run_is_at_a_step_that_all_parts_have_reached() {
    let registry = fluxline_library::registry();
    let plan = mixed(&registry, false);
    let split = Split::new(&plan, &Partition::in_order(&plan, 3)).unwrap();
    let mut looks = 0;
    let mut recorder = recorder(&plan, 5000);
    let mut state = plan.initial.clone();
    let manner = Manner { threads: 3, pin: false, spins: 0 };
    let outcome =
        threads::run(&plan, &split, manner, &mut state, 5000, &mut recorder, true, |_| {
            looks += 1;
            looks < 3
        });
    assert!(matches!(outcome.ended, Ended::Interrupted { .. }));
    let whole = in_one_piece(&plan, state.step);
    assert_eq!(format!("{:?}", whole.state.bonds), format!("{:?}", state.bonds));
}

#[test]
fn a_partition_that_tears_a_signal_apart_is_refused_with_both_names() {
    let registry = fluxline_library::registry();
    let plan = mixed(&registry, false);
    let mut partition = Partition::whole(plan.component_count());
    partition.parts = 2;
    let gain = plan.variables.by_name["gain"];
    partition.part_of[gain] = 1;
    let problem = Split::new(&plan, &partition).err().unwrap();
    let said = problem.message().to_owned();
    assert!(said.contains("`gain`") && said.contains("part 1"), "{said}");
}
