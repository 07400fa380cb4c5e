//! Cost of a step: a chain of volumes and orifices, watched and unwatched, printed as ratios.
//!
//! `cargo bench -p fluxline-library --bench step_loop`

use fluxline_core::builder::Builder;
use fluxline_core::engine;
use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
use fluxline_library::registry;
use std::time::Instant;

fn chain(length: usize) -> Plan {
    let registry = registry();
    let mut circuit = Builder::new(&registry);
    circuit.add("source", "hydraulic.pressure_source", &[]);
    circuit.add("tank", "hydraulic.tank", &[]);
    let mut upstream = "source.port".to_owned();
    for i in 0..length {
        circuit.add(&format!("orifice{i}"), "hydraulic.turbulent_orifice", &[]);
        circuit.connect(&[&upstream, &format!("orifice{i}.inlet")]);
        if i + 1 < length {
            circuit.add(&format!("volume{i}"), "hydraulic.volume", &[]);
            circuit.connect(&[&format!("orifice{i}.outlet"), &format!("volume{i}.port")]);
            upstream = format!("volume{i}.port");
        } else {
            circuit.connect(&[&format!("orifice{i}.outlet"), "tank.port"]);
        }
    }
    circuit.plan().expect("a sound circuit")
}

/// Least time of several repeats, in nanoseconds per component-step.
fn cost(plan: &Plan, watched: bool) -> f64 {
    let steps = (20_000_000 / plan.component_count()).max(1000);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let mut state = plan.initial.clone();
        let mut tally = Tally::new(plan, &mut state, watched);
        let begin = Instant::now();
        for _ in 0..steps {
            engine::step(plan, &mut state, &mut tally, false);
        }
        best = best.min(begin.elapsed().as_secs_f64());
    }
    best * 1e9 / (steps * plan.component_count()) as f64
}

fn main() {
    println!("components   ns/component-step   with balances   ratio");
    for length in [10, 100, 1000, 10_000] {
        let plan = chain(length);
        let (bare, watched) = (cost(&plan, false), cost(&plan, true));
        println!(
            "{:10}   {bare:17.2}   {watched:13.2}   {:5.2}",
            plan.component_count(),
            watched / bare
        );
    }
}
