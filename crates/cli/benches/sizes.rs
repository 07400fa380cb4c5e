//! How start-up and steps grow with the size of a circuit: chains of orifices and volumes up to 10⁵
//! components, written as a circuit file, read, checked, laid out and stepped. Each number is the
//! least of several repeats; what it is per component must stay about constant.
//!
//! `cargo bench -p fluxline --bench sizes`

use fluxline_core::engine;
use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
use fluxline_formats::load_text;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// A chain of about so many components, between a source and a tank.
fn chain(components: usize) -> String {
    let mut text = "[run]\nstop = \"1 s\"\nstep = \"0.1 ms\"\n\
        [components.source]\ntype = \"hydraulic.pressure_source\"\npressure = \"100 bar\"\n\
        [components.tank]\ntype = \"hydraulic.tank\"\n"
        .to_owned();
    let mut join = String::new();
    let mut upstream = "source.port".to_owned();
    let length = (components / 2).saturating_sub(1).max(1);
    for i in 0..length {
        let _ = writeln!(
            text,
            "[components.orifice{i}]\ntype = \"hydraulic.turbulent_orifice\"\narea = \"5 mm^2\"\n\
             [components.volume{i}]\ntype = \"hydraulic.volume\"\nvolume = \"0.2 l\""
        );
        let _ = writeln!(
            join,
            "[[connect]]\nfrom = \"{upstream}\"\nto = \"orifice{i}.inlet\"\n\
             [[connect]]\nfrom = \"orifice{i}.outlet\"\nto = \"volume{i}.port\""
        );
        upstream = format!("volume{i}.port");
    }
    let _ = writeln!(
        text,
        "[components.last]\ntype = \"hydraulic.turbulent_orifice\"\narea = \"5 mm^2\""
    );
    let _ = writeln!(
        join,
        "[[connect]]\nfrom = \"{upstream}\"\nto = \"last.inlet\"\n\
         [[connect]]\nfrom = \"last.outlet\"\nto = \"tank.port\""
    );
    text + &join
}

/// The least time of several repeats, s, and the last result.
fn least<R>(repeats: usize, mut work: impl FnMut() -> R) -> (f64, Option<R>) {
    let mut best = (f64::INFINITY, None);
    for _ in 0..repeats {
        let begin = Instant::now();
        let result = work();
        best = (best.0.min(begin.elapsed().as_secs_f64()), Some(result));
    }
    best
}

fn main() {
    let registry = fluxline::registry();
    println!(
        "{:>10} {:>11} {:>11} {:>11} {:>13} {:>20}",
        "components", "read, check", "lay out", "start-up", "µs/component", "ns/component-step"
    );
    for size in [10, 100, 1_000, 10_000, 100_000] {
        let text = chain(size);
        let repeats = (200_000 / size).clamp(3, 20);
        let (read, loaded) =
            least(repeats, || load_text("chain.toml", &text, Path::new(""), &registry, &[]));
        let Some(circuit) = loaded.and_then(|loaded| loaded.circuit) else {
            println!("{size:>10}  does not load");
            continue;
        };
        let (plan_time, planned) = least(repeats, || Plan::of(&circuit, &registry).plan);
        let Some(plan) = planned.flatten() else {
            println!("{size:>10}  has no plan");
            continue;
        };
        let count = plan.component_count();
        let steps = (2_000_000 / count).clamp(10, 10_000);
        let mut state = plan.initial.clone();
        let mut tally = Tally::new(&plan, &mut state, true);
        let (step, _) = least(5, || {
            for _ in 0..steps {
                engine::step(&plan, &mut state, &mut tally, false);
            }
        });
        let all = read + plan_time;
        println!(
            "{count:>10} {:>8.2} ms {:>8.2} ms {:>8.2} ms {:>13.2} {:>20.2}",
            1e3 * read,
            1e3 * plan_time,
            1e3 * all,
            1e6 * all / count as f64,
            1e9 * step / (steps * count) as f64
        );
    }
}
