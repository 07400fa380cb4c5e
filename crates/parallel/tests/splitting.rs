//! Circuits as graphs, and their splits.

use fluxline_core::builder::Builder;
use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{Ended, run};
use fluxline_library::registry;
use fluxline_parallel::cost::Costs;
use fluxline_parallel::cut::Cut;
use fluxline_parallel::generate::{Blueprint, Family};
use fluxline_parallel::graph::Tasks;
use fluxline_parallel::load::Price;
use fluxline_parallel::mapping::{Method, evenly, map};
use fluxline_parallel::picture;
use fluxline_parallel::predict;
use fluxline_parallel::threads::{self, Manner};

/// Every type at 10 ns, lines at 2 ns, synchronisations at 50 ns.
fn costs(plan: &Plan) -> Costs {
    let entries = plan.variables.entries.iter();
    Costs {
        machine: String::new(),
        types: entries.map(|entry| (entry.declaration.name.to_owned(), 10.0)).collect(),
        exchange: Price { line: 2.0, edge: 0.0, neighbour: 50.0 },
        crowding: 1.0,
    }
}

fn index(plan: &Plan, name: &str) -> usize {
    plan.variables.entries.iter().position(|entry| entry.name == name).unwrap()
}

/// Two oil circuits: a signal drives the valve of the first, its sensor is read by the second.
fn two_circuits(registry: &Registry) -> Plan {
    let mut circuit = Builder::new(registry);
    circuit.add("wave", "signal.sine", &[("amplitude", "1e-4"), ("frequency", "5 Hz")]);
    circuit.add("scaled", "signal.gain", &[("gain", "1000")]);
    circuit.add("pump", "hydraulic.flow_source", &[]);
    circuit.add("orifice", "hydraulic.variable_orifice", &[("diameter", "2 mm")]);
    circuit.add("tank", "hydraulic.tank", &[]);
    circuit.add("sensor", "hydraulic.pressure_sensor", &[]);
    circuit.add("scale", "signal.gain", &[("gain", "1e-12")]);
    circuit.add("slave", "hydraulic.flow_source", &[]);
    circuit.add("outlet", "hydraulic.orifice", &[("diameter", "2 mm")]);
    circuit.add("sump", "hydraulic.tank", &[]);
    circuit.add("follower", "hydraulic.variable_orifice", &[("diameter", "1 mm")]);
    circuit.connect(&["pump.outlet", "orifice.inlet", "sensor.port"]);
    circuit.line("hydraulic.volume", &[("volume", "1 l")]);
    circuit.connect(&["orifice.outlet", "tank.port"]);
    circuit.connect(&["slave.outlet", "outlet.inlet", "follower.inlet"]);
    circuit.line("hydraulic.volume", &[("volume", "1 l")]);
    circuit.connect(&["outlet.outlet", "sump.port"]);
    circuit.connect(&["follower.outlet", "sump.port"]);
    circuit.drive("wave.out", "pump.flow").drive("wave.out", "scaled.input");
    circuit.drive("scaled.out", "orifice.signal");
    circuit.drive("sensor.out", "scale.input").drive("scale.out", "slave.flow");
    circuit.drive("orifice.opening", "follower.signal");
    circuit.plan().unwrap()
}

#[test]
fn what_is_read_in_the_step_it_is_written_stays_together_and_what_is_read_later_may_part() {
    let registry = registry();
    let plan = two_circuits(&registry);
    let tasks = Tasks::of(&plan, &costs(&plan));
    let task = |name: &str| tasks.task_of[index(&plan, name)];
    // Signals run in one step through to what they drive.
    for name in ["scaled", "orifice", "pump"] {
        assert_eq!(task(name), task("wave"), "{name}");
    }
    // A sensor is a signal too.
    assert_eq!(task("sensor"), task("scale"));
    assert_eq!(task("scale"), task("slave"));
    // Lines part; so do outputs of a Q-component, which are read a step later.
    assert_ne!(task("tank"), task("orifice"));
    assert_ne!(task("outlet"), task("slave"));
    assert_ne!(task("follower"), task("orifice"));
    let to_follower = tasks.components.neighbours(index(&plan, "follower"));
    let signal = to_follower.iter().find(|&&(c, _)| c as usize == index(&plan, "orifice"));
    assert_eq!(signal.map(|&(_, lines)| lines), Some(1.0 / 6.0));
}

#[test]
fn what_a_user_groups_stays_in_one_part() {
    let registry = registry();
    let plan = Blueprint::new(Family::Fleet, 200).build(&registry).plan().unwrap();
    let costs = costs(&plan);
    let all = Tasks::of(&plan, &costs);
    let pumps: Vec<usize> =
        (0..plan.component_count()).filter(|&c| plan.name(c as u32).ends_with("_pump")).collect();
    assert!(pumps.len() > 5);
    let tied = all.with_groups(std::slice::from_ref(&pumps));
    for method in [Method::Multilevel, Method::Genetic] {
        let found = map(&tied, &costs.links(), 4, method, 1);
        let part = found.partition.part_of[pumps[0]];
        assert!(pumps.iter().all(|&pump| found.partition.part_of[pump] == part));
        let free = map(&all, &costs.links(), 4, method, 1);
        assert!(free.step <= found.step * 1.02, "{} {}", free.step, found.step);
    }
}

#[test]
fn a_fleet_is_cut_between_its_machines() {
    let registry = registry();
    let blueprint = Blueprint::new(Family::Fleet, 1000);
    let plan = blueprint.build(&registry).plan().unwrap();
    assert_eq!(plan.component_count(), blueprint.size);
    let costs = costs(&plan);
    let tasks = Tasks::of(&plan, &costs);
    let found = map(&tasks, &costs.links(), 8, Method::Multilevel, 1);
    // Stretches of a row have two ends: one line and one neighbour each. What is cut within a
    // machine to even out the work costs a few lines more.
    let even = found.serial / 8.0 + 2.0 * (50.0 + 2.0);
    assert!(found.step <= 1.03 * even, "{} {even}", found.step);
    assert!(found.slowest().unwrap().neighbours <= 2, "{:?}", found.shares);
    // Everything is counted once.
    let components: usize = found.shares.iter().map(|share| share.components).sum();
    let work: f64 = found.shares.iter().map(|share| share.time.work).sum();
    assert_eq!(components, plan.component_count());
    assert!((work - found.serial).abs() < 1e-9 * work);
}

#[test]
fn generated_circuits_run_move_and_are_the_same_as_files() {
    let registry = registry();
    for family in [Family::Fleet, Family::Network] {
        let blueprint = Blueprint::new(family, 150);
        let built = blueprint.build(&registry).plan().unwrap();
        assert!(built.component_count() >= 150);
        assert_eq!(built.component_count(), blueprint.size);
        let loaded =
            fluxline_formats::load_text("big.toml", &blueprint.to_toml(), "", &registry, &[]);
        let circuit = loaded.circuit.unwrap_or_else(|| {
            panic!("{}", loaded.diagnostics.render(&loaded.sources, false, 100));
        });
        let read = Plan::of(&circuit, &registry).plan.unwrap();
        let finish = |plan: &Plan| {
            let mut state = plan.initial.clone();
            let mut recorder = Recorder::new(Vec::new(), Sampling::Every(1), 500);
            let outcome = run(plan, &mut state, 500, &mut recorder, true, |_| true);
            assert_eq!(outcome.ended, Ended::Done);
            state
        };
        let (one, other) = (finish(&built), finish(&read));
        assert_eq!(one.bonds, other.bonds);
        let moving = one.bonds.iter().filter(|bond| bond.flow != 0.0).count();
        assert!(2 * moving > one.bonds.len(), "{moving} of {}", one.bonds.len());
    }
}

#[test]
fn more_processors_are_never_predicted_slower_than_one_and_gain_what_the_work_allows() {
    let registry = registry();
    let plan = Blueprint::new(Family::Network, 2000).build(&registry).plan().unwrap();
    let costs = costs(&plan);
    let tasks = Tasks::of(&plan, &costs);
    let points = predict::curve(&tasks, &costs.links(), &[1, 2, 4, 16, 64], 1);
    for point in &points {
        assert!(point.speed_up >= 1.0 - 1e-12 && point.speed_up <= point.parts as f64, "{point:?}");
    }
    // 2 000 · 10 ns against some lines at 2 ns and 50 ns for each neighbour: two parts gain almost
    // twice, four parts with up to three neighbours still more than three times.
    assert!(points[1].speed_up > 1.9 && points[2].speed_up > 3.4, "{points:?}");
    let best = predict::choose(&tasks, &costs.links(), 4, 0.05, 1);
    assert_eq!(best.partition.parts, 4);
    // Where exchange costs more than the whole circuit, one part is best.
    let mut dear = costs.clone();
    dear.exchange.neighbour = 1e6;
    assert_eq!(predict::choose(&tasks, &dear.links(), 4, 0.05, 1).partition.parts, 1);
}

#[test]
fn at_the_break_even_size_two_parts_take_as_long_as_one() {
    let price = Price { line: 3.0, edge: 0.0, neighbour: 120.0 };
    let (work, lines) = (7.0, 4.0);
    let n = predict::break_even(work, 2, lines, 1, &price);
    assert!((n * work - (n * work / 2.0 + lines * 3.0 + 120.0)).abs() < 1e-9);
}

#[test]
fn every_type_of_a_circuit_gets_a_cost() {
    let registry = registry();
    let plan = Blueprint::new(Family::Fleet, 300).build(&registry).plan().unwrap();
    let costs = Costs::measure(&plan);
    assert!(costs.missing(&plan).is_empty());
    assert!(costs.types.values().all(|&cost| cost > 0.0 && cost < 1e6), "{costs:?}");
    assert!(costs.exchange.neighbour.is_finite() && costs.exchange.line.is_finite());
}

#[test]
fn a_picture_shows_every_component_and_every_cut() {
    let registry = registry();
    let plan = two_circuits(&registry);
    let costs = costs(&plan);
    let tasks = Tasks::of(&plan, &costs);
    let found = map(&tasks, &costs.links(), 2, Method::Both, 1);
    let names: Vec<&str> = plan.variables.entries.iter().map(|e| e.name.as_str()).collect();
    let svg = picture::draw(&tasks.components, &found.partition, &names);
    assert_eq!(svg.matches("<circle").count(), plan.component_count());
    assert_eq!(svg.matches("<line").count(), tasks.components.edges().count());
    let cut = |a: u32, b: u32| {
        let part_of = &found.partition.part_of;
        part_of[a as usize] != part_of[b as usize]
    };
    let cuts = tasks.components.edges().filter(|&(a, b, _)| cut(a, b)).count();
    assert_eq!(svg.matches("#c00").count(), cuts);
}

/// The state in the end, in one piece and in parts of one thread each turn.
fn ends_alike(name: &str, plan: &Plan, parts: usize, steps: u64) {
    let recorder = || Recorder::new(Vec::new(), Sampling::Every(1), steps);
    let mut whole = plan.initial.clone();
    run(plan, &mut whole, steps, &mut recorder(), true, |_| true);
    let partition = evenly(plan, parts);
    let cut = Cut::new(plan, &partition).unwrap();
    assert!(cut.lines_cut() > 0, "{name} in {parts}");
    let mut state = plan.initial.clone();
    let manner = Manner { threads: 1, pin: false, spins: 300, gives_way: false };
    threads::run(plan, &cut, manner, &mut state, steps, &mut recorder(), true, |_| true);
    let bits = |all: &[f64]| all.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
    assert!(whole.bonds == state.bonds, "{name} in {parts}: line ends");
    assert_eq!(bits(&whole.states), bits(&state.states), "{name} in {parts}: states");
    assert_eq!(bits(&whole.signals), bits(&state.signals), "{name} in {parts}: signals");
}

#[test]
fn generated_circuits_and_the_dual_transmission_have_the_same_bits_in_mapped_parts() {
    let registry = registry();
    for family in [Family::Fleet, Family::Network] {
        let plan = Blueprint::new(family, 200).build(&registry).plan().unwrap();
        for parts in [2, 3, 8] {
            ends_alike(&format!("{family:?}"), &plan, parts, 300);
        }
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/parallel/dual_transmission.toml");
    let circuit = fluxline_formats::load_file(&path, &registry, &[]).circuit.unwrap();
    let plan = Plan::of(&circuit, &registry).plan.unwrap();
    for parts in [2, 4] {
        ends_alike("dual transmission", &plan, parts, 1000);
    }
}
