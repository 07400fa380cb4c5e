//! One circuit in one piece and on threads, turn by turn: `cargo bench -p fluxline-parallel`.
//!
//! Prints ratios of times measured in one go. Other work on the machine disturbs both sides; the best
//! of several turns counts.

use fluxline_core::builder::Builder;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run;
use fluxline_core::state::State;
use fluxline_parallel::Partition;
use fluxline_parallel::advice::{Advice, advise};
use fluxline_parallel::cut::Cut;
use fluxline_parallel::rare::RareCut;
use fluxline_parallel::threads::{self, Manner};
use std::time::Instant;

/// A row of machines on a common supply line: each with its volume, relief valve, orifices and tank.
fn row(machines: usize) -> Plan {
    let registry = fluxline_library::registry();
    let mut circuit = Builder::new(&registry);
    circuit.circuit.run.step = 1e-5;
    for i in 0..machines {
        let name = |part: &str| format!("{part}{i}");
        circuit.add(&name("pump"), "hydraulic.flow_source", &[("flow", "20 l/min")]);
        circuit.add(&name("supply"), "hydraulic.volume", &[("volume", "0.5 l")]);
        circuit.add(&name("relief"), "hydraulic.relief_valve", &[("cracking_pressure", "150 bar")]);
        circuit.add(&name("valve"), "hydraulic.turbulent_orifice", &[("area", "8 mm^2")]);
        circuit.add(&name("load"), "hydraulic.volume", &[("volume", "0.2 l")]);
        circuit.add(&name("leak"), "hydraulic.laminar_orifice", &[]);
        circuit.add(&name("out"), "hydraulic.turbulent_orifice", &[("area", "6 mm^2")]);
        circuit.add(&name("tank"), "hydraulic.tank", &[]);
        let port = |part: &str, port: &str| format!("{part}{i}.{port}");
        for [from, to] in [
            [port("pump", "outlet"), port("supply", "port")],
            [port("supply", "port"), port("relief", "inlet")],
            [port("relief", "outlet"), port("tank", "port")],
            [port("supply", "port"), port("valve", "inlet")],
            [port("valve", "outlet"), port("load", "port")],
            [port("load", "port"), port("leak", "inlet")],
            [port("leak", "outlet"), port("tank", "port")],
            [port("load", "port"), port("out", "inlet")],
            [port("out", "outlet"), port("tank", "port")],
        ] {
            circuit.connect(&[&from, &to]);
        }
        if i > 0 {
            circuit.add(&name("joint"), "hydraulic.turbulent_orifice", &[("area", "20 mm^2")]);
            circuit.connect(&[&format!("supply{}.port", i - 1), &port("joint", "inlet")]);
            circuit.connect(&[&port("joint", "outlet"), &port("supply", "port")]);
        }
    }
    circuit.plan().expect("the bench's own circuit")
}

fn timed(plan: &Plan, steps: u64, how: impl Fn(&mut State<f64>, &mut Recorder)) -> f64 {
    let mut state = plan.initial.clone();
    let mut recorder = Recorder::new(Vec::new(), Sampling::Even(2), steps);
    let begun = Instant::now();
    how(&mut state, &mut recorder);
    begun.elapsed().as_secs_f64() / steps as f64 * 1e9
}

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let most: usize = std::env::args().filter_map(|arg| arg.parse().ok()).next().unwrap_or(cores);
    println!("{cores} cores; times per step in ns, best of 7 turns");
    println!("components  threads  one piece  in parts  speed-up  every 10th  speed-up  auto");
    for machines in [2, 8, 22, 111, 1111] {
        let plan = row(machines);
        let components = plan.component_count();
        let steps = (20_000_000 / components as u64).clamp(2_000, 200_000);
        for parts in [2, 4, 8, 16].into_iter().filter(|&parts| parts <= most.max(2)) {
            let cut = Cut::new(&plan, &Partition::in_order(&plan, parts)).expect("a cut");
            let rare = Partition::for_rare_exchange(&plan, parts);
            let rare = RareCut::new(&plan, &rare, 10, 0.0).expect("a cut at volumes");
            let manner = Manner::of(parts);
            let mut best = [f64::INFINITY; 3];
            for _ in 0..7 {
                let whole = timed(&plan, steps, |state, recorder| {
                    run::run(&plan, state, steps, recorder, true, |_| true);
                });
                let split = timed(&plan, steps, |state, recorder| {
                    threads::run(&plan, &cut, manner, state, steps, recorder, true, |_| true);
                });
                let rarely = timed(&plan, steps, |state, recorder| {
                    threads::run_rarely(&plan, &rare, manner, state, steps, recorder, true, |_| {
                        true
                    });
                });
                for (best, time) in best.iter_mut().zip([whole, split, rarely]) {
                    *best = best.min(time);
                }
            }
            let [whole, split, rarely] = best;
            let auto = match advise(&plan, steps) {
                Advice::Serial(why) => format!("one piece: {why}"),
                Advice::Parts(partition, why) => format!("{} parts: {why}", partition.parts),
            };
            println!(
                "{components:>10}  {parts:>7}  {whole:>9.0}  {split:>8.0}  {:>8.2}  {rarely:>10.0}  {:>8.2}  {auto}",
                whole / split,
                whole / rarely
            );
        }
    }
}
