//! Lanes against single runs.
use fluxline_core::circuit::Registry;
use fluxline_core::engine;
use fluxline_core::instructions::Instructions as _;
use fluxline_core::lanes::{LanePlan, Width, Widths, extract, pack_states};
use fluxline_core::monitor::Tally;
use fluxline_core::plan::Plan;
use fluxline_formats::Override;
use std::time::Instant;

fn registry() -> Registry {
    let library = fluxline_library::registry();
    Registry::new(library.types().iter().copied().chain(fluxline_hopsan::types()))
}

fn plan(file: &str, registry: &Registry, set: &[Override]) -> Plan {
    let loaded = if file.ends_with(".hmf") {
        let mut import = fluxline_hmf::convert::import(
            file.as_ref(),
            registry,
            &set.iter()
                .map(|o| fluxline_hmf::Override::parse(o.text()).unwrap())
                .collect::<Vec<_>>(),
        );
        let c = import.converted.take().unwrap();
        fluxline_formats::load_converted(import.sources, file, &c.text, "", registry, &[])
    } else {
        fluxline_formats::load_file(file, registry, set)
    };
    let circuit = loaded.circuit.expect("a sound circuit");
    Plan::of(&circuit, registry).plan.unwrap()
}

fn lanes<const N: usize>(file: &str, name: &str, registry: &Registry, steps: u64, single: &mut f64)
where
    Widths: Width<N>,
{
    let begin = Instant::now();
    let plans: Vec<Plan> = (0..N)
        .map(|i| {
            let set = Override::parse(&name.replace('@', &format!("{}", 1.0 + 0.01 * i as f64)));
            plan(file, registry, &[set])
        })
        .collect();
    println!("build {:.1} us each", begin.elapsed().as_secs_f64() * 1e6 / N as f64);
    let mut finals = Vec::new();
    for p in &plans {
        let mut state = p.initial.clone();
        let mut tally = Tally::new(p, &mut state, false);
        let begin = Instant::now();
        for _ in 0..steps {
            engine::step(p, &mut state, &mut tally, false);
        }
        *single = single.min(begin.elapsed().as_secs_f64());
        finals.push(state);
    }
    for instructions in <Widths as Width<N>>::Instructions::all() {
        let refs: [&Plan; N] = std::array::from_fn(|i| &plans[i]);
        let begin = Instant::now();
        let mut lane_plan = LanePlan::of(&refs, registry, instructions).expect("packs");
        let mut state = pack_states(refs.map(|p| &p.initial));
        let packing = begin.elapsed().as_secs_f64();
        let mut best = f64::MAX;
        for _ in 0..3 {
            state = pack_states(refs.map(|p| &p.initial));
            let begin = Instant::now();
            for _ in 0..steps {
                lane_plan.step(&mut state, false);
            }
            best = best.min(begin.elapsed().as_secs_f64());
        }
        let mut same = true;
        let mut one = plans[0].initial.clone();
        for (lane, expected) in finals.iter().enumerate() {
            extract(&state, lane, &mut one);
            same &= one.bonds.iter().zip(&expected.bonds).all(|(a, b)| {
                a.effort.to_bits() == b.effort.to_bits() && a.flow.to_bits() == b.flow.to_bits()
            });
        }
        println!(
            "{N} lanes {:8} {:7.1} ns/step/variant, single {:7.1} ns/step, ratio {:.2}, pack {:.0} us, same bits {same}",
            instructions.name(),
            best * 1e9 / steps as f64 / N as f64,
            *single * 1e9 / steps as f64,
            *single * N as f64 / best,
            packing * 1e6,
        );
    }
}

fn main() {
    let file = std::env::args().nth(1).unwrap();
    let name = std::env::args().nth(2).unwrap();
    let steps: u64 = std::env::args().nth(3).map_or(30000, |s| s.parse().unwrap());
    let registry = registry();
    let mut single = f64::MAX;
    lanes::<4>(&file, &name, &registry, steps, &mut single);
    lanes::<8>(&file, &name, &registry, steps, &mut single);
}
