//! Circuits in parts have the bits of circuits in one piece.

use fluxline_core::builder::Builder;
use fluxline_core::circuit::Registry;
use fluxline_core::component::Filter;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{self, Ended, Outcome};
use fluxline_core::settings::FilterKind;
use fluxline_core::start::come_to_rest;
use fluxline_core::state::State;
use fluxline_parallel::Partition;
use fluxline_parallel::cut::Cut;
use fluxline_parallel::generate::{Blueprint, Family};
use fluxline_parallel::mapping::evenly;
use fluxline_parallel::rare::RareCut;
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
    let split = Cut::new(plan, partition).unwrap_or_else(|problem| panic!("{problem}"));
    let manner = Manner { threads, pin: false, spins: 20, gives_way: false };
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
        cuts += Cut::new(plan, partition).unwrap().lines_cut();
        let name = format!("{name}, partition {i}");
        same(&name, &whole, &in_parts(plan, partition, steps, 1));
    }
    cuts
}

/// All circuit files of the examples; those that ask for something of a circuit are none.
fn examples() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "toml")
                && std::fs::read_to_string(&path).unwrap().contains("[components.")
            {
                files.push(path);
            }
        }
    }
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
    for path in examples() {
        let plan = plan_of(&path, &registry);
        cuts += holds(&path.display().to_string(), &plan, 600);
    }
    assert!(cuts > 50, "only {cuts} lines were cut");
}

#[test]
fn every_example_and_generated_circuits_have_the_same_bits_on_1_2_3_4_and_8_threads() {
    let registry = fluxline_library::registry();
    let files = examples();
    assert!(files.len() > 15, "{files:?}");
    let named = |path: &PathBuf| (path.display().to_string(), plan_of(path, &registry));
    let mut plans: Vec<(String, Plan)> = files.iter().map(named).collect();
    for (family, size) in
        [(Family::Fleet, 60), (Family::Fleet, 250), (Family::Network, 60), (Family::Network, 250)]
    {
        let plan = Blueprint::new(family, size).build(&registry).plan().unwrap();
        plans.push((format!("{family:?} of {size}"), plan));
    }
    // Past one look at all parts, and not much more: threads that outnumber cores take their time.
    let steps = 270;
    for (name, plan) in &plans {
        let whole = in_one_piece(plan, steps);
        for threads in [1, 2, 3, 4, 8] {
            let parts = in_parts(plan, &evenly(plan, threads), steps, threads);
            same(&format!("{name} on {threads} threads"), &whole, &parts);
        }
    }
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

/// Eight threads on fewer cores are slower than one, and give way to it again and again.
#[test]
fn parts_that_change_hands_have_the_bits_of_one_thread() {
    let registry = fluxline_library::registry();
    let plan = mixed(&registry, true);
    let whole = in_one_piece(&plan, 5000);
    let split = Cut::new(&plan, &at_random(&plan, 8, 8)).unwrap();
    let manner = Manner { threads: 8, pin: false, spins: 0, gives_way: true };
    let mut recorder = recorder(&plan, 5000);
    let mut state = plan.initial.clone();
    let outcome =
        threads::run(&plan, &split, manner, &mut state, 5000, &mut recorder, true, |_| true);
    same("changing hands", &whole, &Left { outcome, rows: bits(&recorder), state });
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
    let split = Cut::new(&plan, &Partition::in_order(&plan, 3)).unwrap();
    let mut looks = 0;
    let mut recorder = recorder(&plan, 5000);
    let mut state = plan.initial.clone();
    let manner = Manner { threads: 3, pin: false, spins: 0, gives_way: false };
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
    let problem = Cut::new(&plan, &partition).err().unwrap();
    let said = problem.message().to_owned();
    assert!(said.contains("`gain`") && said.contains("part 1"), "{said}");
}

/// α of the filter.
const FILTER: f64 = 0.2;

/// Two subsystems at a split volume: a pump with its relief valve, and a load whose valve moves at
/// 20 Hz.
fn two_subsystems(
    registry: &Registry,
    step: f64,
    filter: FilterKind,
    volume: &str,
) -> (Plan, Partition) {
    let mut circuit = Builder::new(registry);
    (circuit.circuit.run.step, circuit.circuit.run.filter) = (step, filter);
    circuit.circuit.run.filter_factor = FILTER;
    circuit.add("pump", "hydraulic.flow_source", &[("flow", "40 l/min")]);
    circuit.add("relief", "hydraulic.relief_valve", &[("cracking_pressure", "120 bar")]);
    circuit.add("tank", "hydraulic.tank", &[]);
    circuit.add("near", "hydraulic.volume", &[("volume", "0.5 l"), ("start_pressure", "100 bar")]);
    circuit.add("feed", "hydraulic.turbulent_orifice", &[("area", "20 mm^2")]);
    circuit.add("split", "hydraulic.volume", &[("volume", volume), ("start_pressure", "100 bar")]);
    circuit.add("valve", "hydraulic.turbulent_orifice", &[]);
    circuit.add("far", "hydraulic.volume", &[("volume", "0.2 l"), ("start_pressure", "50 bar")]);
    circuit.add("load", "hydraulic.turbulent_orifice", &[("area", "6 mm^2")]);
    circuit.add("return", "hydraulic.tank", &[]);
    let opening = [("offset", "6e-6"), ("amplitude", "4e-6"), ("frequency", "20 Hz")];
    circuit.add("opening", "signal.sine", &opening);
    circuit.drive("opening.out", "valve.area");
    circuit.connect(&["pump.outlet", "near.port"]).connect(&["relief.inlet", "near.port"]);
    circuit.connect(&["relief.outlet", "tank.port"]).connect(&["near.port", "feed.inlet"]);
    circuit.connect(&["feed.outlet", "split.port"]).connect(&["split.port", "valve.inlet"]);
    circuit.connect(&["valve.outlet", "far.port"]).connect(&["far.port", "load.inlet"]);
    circuit.connect(&["load.outlet", "return.port"]);
    let plan = circuit.plan().unwrap();
    let names = plan.variables.entries.iter().map(|entry| entry.name.as_str());
    let first = ["pump", "relief", "tank", "near", "feed", "split"];
    let part_of = names.map(|name| u32::from(!first.contains(&name))).collect();
    (plan, Partition { part_of, parts: 2 })
}

/// Pressures of the two subsystems, at a hundred times, from rest on.
fn pressures(plan: &Plan, how: impl FnOnce(&mut State<f64>, u64, &mut Recorder)) -> Vec<f64> {
    let mut state = plan.initial.clone();
    let rest = come_to_rest(plan, &mut state, 1.0, 1e-6, || true);
    assert!(rest.reached, "{rest:?}");
    let steps = (0.1 / plan.step).round() as u64;
    recorded(plan, &["near.pressure", "far.pressure"], steps / 100, steps, |recorder| {
        how(&mut state, steps, recorder);
    })
}

/// Values of some variables in all rows of a run.
fn recorded(
    plan: &Plan,
    names: &[&str],
    sample: u64,
    steps: u64,
    how: impl FnOnce(&mut Recorder),
) -> Vec<f64> {
    let variables = names.iter().map(|name| plan.variables.find(name).unwrap()).collect();
    let mut recorder = Recorder::new(variables, Sampling::Every(sample), steps);
    how(&mut recorder);
    recorder.rows().flat_map(|row| row[1..].to_vec()).collect()
}

fn largest_error(values: &[f64], reference: &[f64]) -> f64 {
    assert_eq!(values.len(), reference.len());
    let apart = values.iter().zip(reference).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    apart / reference.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()))
}

#[test]
fn exchange_every_step_over_a_split_line_is_the_delay_line_itself() {
    let registry = fluxline_library::registry();
    for (filter, of_lines) in [
        (FilterKind::None, Filter::None),
        (FilterKind::Wave, Filter::Wave(FILTER)),
        (FilterKind::Pressure, Filter::Pressure(FILTER)),
    ] {
        let (plan, partition) = two_subsystems(&registry, 1e-5, filter, "1 l");
        let whole = pressures(&plan, |state, steps, recorder| {
            run::run(&plan, state, steps, recorder, true, |_| true);
        });
        let rare = RareCut::new(&plan, &partition, 1, of_lines).unwrap();
        assert_eq!(rare.lines.len(), 1);
        let split = pressures(&plan, |state, steps, recorder| {
            let manner = Manner { threads: 1, pin: false, spins: 0, gives_way: false };
            threads::run_rarely(&plan, &rare, manner, state, steps, recorder, true, |_| true);
        });
        let error = largest_error(&split, &whole);
        assert!(error < 1e-9, "{filter:?}: {error}");
    }
}

/// Pollmeier, section 6.2: exchanging every 10th step is more accurate than steps ten times as long,
/// because only one line of the circuit becomes longer.
#[test]
fn exchanging_rarely_costs_less_accuracy_than_longer_steps() {
    let registry = fluxline_library::registry();
    let whole = |plan: &Plan| {
        pressures(plan, |state, steps, recorder| {
            run::run(plan, state, steps, recorder, true, |_| true);
        })
    };
    let mut before = (0.0, 0.0);
    for (every, volume, bound) in [(10u32, "1 l", 1e-3), (100, "1 l", 0.05), (100, "0.1 l", 0.1)] {
        let (plan, partition) = two_subsystems(&registry, 1e-5, FilterKind::Pressure, volume);
        let reference = whole(&plan);
        let rarely = |threads: usize| {
            let rare = RareCut::new(&plan, &partition, every, Filter::Pressure(FILTER))
                .unwrap()
                .strictly();
            let mut split_error = 0.0;
            let values = pressures(&plan, |state, steps, recorder| {
                let manner = Manner { threads, pin: false, spins: 20, gives_way: false };
                let (outcome, error) =
                    threads::run_rarely(&plan, &rare, manner, state, steps, recorder, true, |_| {
                        true
                    });
                assert_eq!(outcome.ended, Ended::Done);
                let (worst, _) = error.worst.unwrap();
                assert_eq!(worst.component, "split");
                split_error = worst.value;
            });
            (values, split_error)
        };
        let (values, split_error) = rarely(1);
        let error = largest_error(&values, &reference);
        let step = 1e-5 * f64::from(every);
        let (coarse, _) = two_subsystems(&registry, step, FilterKind::Pressure, volume);
        let coarse = largest_error(&whole(&coarse), &reference);
        println!(
            "every {every}, {volume}: {error:.2e}, coarse {coarse:.2e}, split {split_error} Pa"
        );
        assert!(error < bound && error < coarse, "{error} {coarse}");
        // The split error warns before the results are wrong.
        assert!(error > before.0 && split_error > before.1);
        before = (error, split_error);
        // The number of threads makes no difference.
        if every == 100 {
            assert_eq!(values, rarely(2).0);
        }
    }
}

/// Pressures in all rows of a run from volumes as filled, in one piece and with exchange every n-th
/// step on so many threads; and the share of exchanges that were made.
fn far_from_rest(
    plan: &Plan,
    names: &[&str],
    steps: u64,
    rare: Option<(&RareCut, usize)>,
) -> (Vec<f64>, f64) {
    let mut made = 1.0;
    let values = recorded(plan, names, 10, steps, |recorder| {
        let state = &mut plan.initial.clone();
        match rare {
            None => {
                run::run(plan, state, steps, recorder, true, |_| true);
            }
            Some((rare, threads)) => {
                let manner = Manner { threads, pin: false, spins: 20, gives_way: false };
                let (outcome, error) =
                    threads::run_rarely(plan, rare, manner, state, steps, recorder, true, |_| true);
                assert_eq!(outcome.ended, Ended::Done);
                made = error.exchanges as f64 / error.every_step as f64;
            }
        }
    });
    (values, made)
}

/// Flows jump where volumes are filled to other pressures than those of rest, and a line of ten
/// steps answers with ten times the pressure. Bounded, the split error keeps lines short until that
/// is over.
#[test]
fn a_start_far_from_rest_is_followed_where_the_split_error_is_bounded() {
    let registry = fluxline_library::registry();
    let names = ["near.pressure", "split.pressure", "far.pressure"];
    for every in [10, 100] {
        let (plan, partition) = two_subsystems(&registry, 1e-5, FilterKind::Pressure, "1 l");
        let rare = RareCut::new(&plan, &partition, every, Filter::Pressure(FILTER)).unwrap();
        let (reference, _) = far_from_rest(&plan, &names, 3000, None);
        let (bounded, made) = far_from_rest(&plan, &names, 3000, Some((&rare, 1)));
        let error = largest_error(&bounded, &reference);
        let (on_threads, _) = far_from_rest(&plan, &names, 3000, Some((&rare, 2)));
        assert_eq!(bounded, on_threads, "other bits on two threads");
        let rare = rare.strictly();
        let (strictly, made_strictly) = far_from_rest(&plan, &names, 3000, Some((&rare, 1)));
        let strict_error = largest_error(&strictly, &reference);
        println!("every {every}: {error:.2e} with {made:.3}, strictly {strict_error:.2e}");
        assert_eq!(made_strictly, 1.0 / f64::from(every));
        assert!(strict_error > 1e-3, "{strict_error}: the start is not hard");
        assert!(error < 5e-4 && error < 0.3 * strict_error, "{error} {strict_error}");
        assert!(made < 0.5, "{made} of all exchanges were made");
    }
}

/// Pollmeier, Figure 5.17: exchange every 10th step, less than 0.1 % in the maximum norm over all
/// recorded pressures and rows of the whole run, its start included, in terms of its largest pressure.
#[test]
fn the_dual_transmission_keeps_within_a_thousandth_with_exchange_every_10th_step() {
    let registry = fluxline_library::registry();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/parallel/dual_transmission.toml");
    let step = [fluxline_formats::Override::new("run.step", "0.01 ms")];
    let circuit = fluxline_formats::load_file(&path, &registry, &step).circuit.unwrap();
    let plan = Plan::of(&circuit, &registry).plan.unwrap();
    let partition = Partition::for_rare_exchange(&plan, 2);
    let filter = circuit.run.line_filter();
    let rare = RareCut::new(&plan, &partition, 10, filter).unwrap();
    let pressures = plan.variables.iter().filter(|v| v.by_default && v.unit == "Pa");
    let names: Vec<String> = pressures.map(|variable| variable.name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (reference, _) = far_from_rest(&plan, &names, 200_000, None);
    let (bounded, made) = far_from_rest(&plan, &names, 200_000, Some((&rare, 1)));
    let error = largest_error(&bounded, &reference);
    println!("{error:.2e}, {made:.3} of exchanges");
    assert!(error < 1e-3, "{error}");
    assert!(made < 0.15, "{made} of all exchanges were made");
}

/// Three parts at one volume, and two volumes between two of them: each line has a length of its
/// own, and still everybody sends what the others wait for.
#[test]
fn lines_of_different_lengths_between_several_parts_neither_block_nor_change_bits() {
    let registry = fluxline_library::registry();
    let mut circuit = Builder::new(&registry);
    (circuit.circuit.run.step, circuit.circuit.run.filter) = (1e-5, FilterKind::Pressure);
    circuit.circuit.run.filter_factor = FILTER;
    circuit.add("hub", "hydraulic.volume", &[("volume", "1 l"), ("start_pressure", "80 bar")]);
    let second = [("volume", "0.3 l"), ("start_pressure", "20 bar")];
    circuit.add("second", "hydraulic.volume", &second);
    let pulse = [("offset", "6e-6"), ("amplitude", "4e-6"), ("frequency", "70 Hz")];
    circuit.add("pulse", "signal.sine", &pulse);
    for (i, pressure) in ["150 bar", "60 bar", "10 bar"].into_iter().enumerate() {
        let [source, orifice, out] = ["source", "orifice", "out"].map(|name| format!("{name}{i}"));
        circuit.add(&source, "hydraulic.pressure_source", &[("pressure", pressure)]);
        circuit.add(&orifice, "hydraulic.turbulent_orifice", &[("area", "10 mm^2")]);
        circuit.connect(&[&format!("{source}.port"), &format!("{orifice}.inlet")]);
        circuit.connect(&[&format!("{orifice}.outlet"), "hub.port"]);
        if i < 2 {
            circuit.add(&out, "hydraulic.turbulent_orifice", &[("area", "5 mm^2")]);
            circuit.connect(&[&format!("{source}.port"), &format!("{out}.inlet")]);
            circuit.connect(&[&format!("{out}.outlet"), "second.port"]);
        }
    }
    circuit.drive("pulse.out", "out1.area");
    let plan = circuit.plan().unwrap();
    let part = |name: &str| name.bytes().last().filter(u8::is_ascii_digit).map_or(0, |b| b - b'0');
    let part_of = plan.variables.entries.iter().map(|entry| match entry.name.as_str() {
        "pulse" => 1,
        name => u32::from(part(name)),
    });
    let partition = Partition { part_of: part_of.collect(), parts: 3 };
    let rare = RareCut::new(&plan, &partition, 25, Filter::Pressure(FILTER)).unwrap();
    assert_eq!(rare.lines.len(), 2);
    let names = ["hub.pressure", "second.pressure"];
    let (reference, _) = far_from_rest(&plan, &names, 4000, None);
    let (in_turn, made) = far_from_rest(&plan, &names, 4000, Some((&rare, 1)));
    let error = largest_error(&in_turn, &reference);
    assert!(error < 1e-3 && made < 0.5, "{error}, {made}");
    for threads in [2, 3] {
        let (on_threads, _) = far_from_rest(&plan, &names, 4000, Some((&rare, threads)));
        assert_eq!(in_turn, on_threads, "other bits on {threads} threads");
    }
}

#[test]
fn parts_that_exchange_rarely_meet_at_volumes_only() {
    let registry = fluxline_library::registry();
    let plan = mixed(&registry, false);
    let rare = Partition::for_rare_exchange(&plan, 3);
    assert!(RareCut::new(&plan, &rare, 10, Filter::None).is_ok());
    let problem = RareCut::new(&plan, &at_random(&plan, 3, 1), 10, Filter::None).err().unwrap();
    assert!(problem.message().contains("every 10 steps"), "{problem}");
}
