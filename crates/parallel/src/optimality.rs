//! Splits against the best there is.

use crate::exhaustive;
use crate::genetic::{self, Evolution};
use crate::graph::Graph;
use crate::load::{Crowd, Links, Load, Price, Reach, slowest};
use crate::multilevel;
use crate::published;
use fastrand::Rng;

/// A connected graph by chance: a tree and some edges more.
fn random(rng: &mut Rng, tasks: usize) -> Graph {
    let work = (0..tasks).map(|_| 10.0 + 200.0 * rng.f64()).collect();
    let mut edges = Vec::new();
    for task in 1..tasks as u32 {
        edges.push((task, rng.u32(..task), f64::from(rng.u32(1..3))));
    }
    for _ in 0..tasks / 2 {
        edges.push((rng.u32(..tasks as u32), rng.u32(..tasks as u32), 1.0));
    }
    Graph::new(work, edges)
}

fn random_links(rng: &mut Rng) -> Links {
    let price = |rng: &mut Rng| Price {
        line: 30.0 * rng.f64(),
        edge: 10.0 * rng.f64(),
        neighbour: 60.0 * rng.f64(),
    };
    let near = price(rng);
    match rng.u32(..3) {
        0 => Links::uniform(near),
        1 => Links { near, far: price(rng), reach: Reach::Chain, crowd: Crowd::default() },
        _ => Links { near, far: price(rng), reach: Reach::Hosts(2), crowd: Crowd::default() },
    }
}

/// All splits, one after the other.
fn brute_force(graph: &Graph, links: &Links, parts: usize) -> f64 {
    let mut part_of = vec![0u32; graph.len()];
    let mut best = f64::INFINITY;
    loop {
        best = best.min(slowest(graph, links, parts, &part_of));
        let Some(at) = part_of.iter().position(|&part| part as usize + 1 < parts) else {
            return best;
        };
        part_of[at] += 1;
        part_of[..at].fill(0);
    }
}

#[test]
fn branch_and_bound_finds_what_trying_all_finds() {
    let mut rng = Rng::with_seed(3);
    for _ in 0..12 {
        let graph = random(&mut rng, 6);
        let links = random_links(&mut rng);
        let parts = rng.usize(2..4);
        let best = exhaustive::best(&graph, &links, parts, u64::MAX).unwrap();
        let time = slowest(&graph, &links, parts, &best);
        let all = brute_force(&graph, &links, parts);
        assert!((time - all).abs() < 1e-9 * all, "{time} {all}");
    }
}

#[test]
fn both_methods_are_within_two_per_cent_of_the_optimum_of_small_graphs() {
    let mut rng = Rng::with_seed(11);
    let mut exact = [0; 2];
    for number in 0..30 {
        let tasks = rng.usize(4..13);
        let graph = random(&mut rng, tasks);
        let links = random_links(&mut rng);
        let parts = rng.usize(2..5);
        let best = exhaustive::best(&graph, &links, parts, u64::MAX).unwrap();
        let optimum = slowest(&graph, &links, parts, &best);
        let splits = [
            multilevel::split(&graph, &links, parts, 1),
            genetic::split(&graph, &links, parts, 1, &Evolution::default()).part_of,
        ];
        for (method, split) in splits.iter().enumerate() {
            let time = slowest(&graph, &links, parts, split);
            assert!(time >= optimum * (1.0 - 1e-9), "below the optimum: {time} {optimum}");
            assert!(
                time <= 1.02 * optimum,
                "graph {number}, method {method}, {links:?}: {time} {optimum}"
            );
            exact[method] += i32::from(time <= optimum * (1.0 + 1e-9));
        }
    }
    assert!(exact.iter().all(|&n| n >= 26), "optimal in {exact:?} of 30");
}

#[test]
fn the_published_transmission_is_split_at_the_optimum_on_four_processors() {
    let (graph, links) = (published::transmission(1), published::transputers());
    let best = exhaustive::best(&graph, &links, 4, 50_000_000).unwrap();
    let optimum = slowest(&graph, &links, 4, &best);
    let levels = slowest(&graph, &links, 4, &multilevel::split(&graph, &links, 4, 1));
    let evolved = genetic::split(&graph, &links, 4, 1, &Evolution::default()).part_of;
    let evolved = slowest(&graph, &links, 4, &evolved);
    assert!(levels <= 1.02 * optimum && evolved <= 1.02 * optimum, "{optimum} {levels} {evolved}");
}

#[test]
fn evolution_never_loses_its_best() {
    let (graph, links) = (published::transmission(1), published::transputers());
    let evolved = genetic::split(&graph, &links, 8, 5, &Evolution::default());
    assert!(evolved.history.windows(2).all(|pair| pair[1] <= pair[0]), "{:?}", evolved.history);
    let time = slowest(&graph, &links, 8, &evolved.part_of);
    assert!((time - evolved.history.last().unwrap()).abs() < 1e-6);
}

#[test]
fn times_kept_up_to_date_are_those_added_up_anew() {
    let mut rng = Rng::with_seed(8);
    for _ in 0..20 {
        let graph = random(&mut rng, 30);
        let links = random_links(&mut rng);
        let begin: Vec<u32> = (0..30).map(|_| rng.u32(..5)).collect();
        let mut load = Load::new(&graph, &links, 5, begin);
        for _ in 0..100 {
            let (task, to) = (rng.usize(..30), rng.u32(..5));
            let from = load.part_of()[task];
            if from == to {
                continue;
            }
            let told = load.look(task, to);
            let before: Vec<f64> = (0..5).map(|part| load.time(part)).collect();
            load.shift(task, to);
            let anew = Load::new(&graph, &links, 5, load.part_of().to_vec());
            for part in 0..5 {
                assert!((load.time(part) - anew.time(part)).abs() < 1e-8);
                assert!((load.lines_of(part) - anew.lines_of(part)).abs() < 1e-9);
            }
            // What a look tells of the parts it touches is what happens.
            let gain = before.iter().sum::<f64>() - anew.sum();
            assert!((told.sum_now - told.sum_then - gain).abs() < 1e-8);
            let slower = anew.time(from as usize).max(anew.time(to as usize));
            assert!(told.slowest_then >= slower - 1e-8);
        }
    }
}

#[test]
fn a_chain_is_cut_into_equal_stretches() {
    // Inner stretches pay for two lines and two neighbours: 125·4 + 2·(1 + 20).
    let tasks = 1000u32;
    let edges = (1..tasks).map(|task| (task - 1, task, 1.0));
    let graph = Graph::new(vec![4.0; tasks as usize], edges);
    let links = Links::uniform(Price { line: 1.0, edge: 0.0, neighbour: 20.0 });
    let split = multilevel::split(&graph, &links, 8, 1);
    let time = slowest(&graph, &links, 8, &split);
    let even = 500.0 + 42.0;
    assert!(time <= 1.03 * even, "{time} against {even}");
}

#[test]
fn what_nothing_joins_is_not_cut() {
    let graph = published::transmission(2);
    let links = published::transputers();
    let split = multilevel::split(&graph, &links, 2, 1);
    let load = Load::new(&graph, &links, 2, split);
    assert_eq!(load.cut_lines(), 0.0);
    assert_eq!(load.slowest(), published::SERIAL_CYCLES);
}

#[test]
fn dear_exchange_keeps_everything_in_one_part() {
    let graph = published::transmission(1);
    let links = Links::uniform(Price { line: 1e6, edge: 0.0, neighbour: 1e6 });
    for split in [
        multilevel::split(&graph, &links, 4, 1),
        genetic::split(&graph, &links, 4, 1, &Evolution::default()).part_of,
    ] {
        assert_eq!(slowest(&graph, &links, 4, &split), published::SERIAL_CYCLES);
    }
}

#[test]
fn the_same_seed_gives_the_same_split() {
    let mut rng = Rng::with_seed(21);
    let graph = random(&mut rng, 300);
    let links = random_links(&mut rng);
    let brief = Evolution { generations: 20, ..Evolution::default() };
    for seed in 0..3 {
        let levels = || multilevel::split(&graph, &links, 6, seed);
        assert_eq!(levels(), levels());
        let evolved = || genetic::split(&graph, &links, 6, seed, &brief).part_of;
        assert_eq!(evolved(), evolved());
    }
}

#[test]
fn leaves_go_with_their_stem_and_chains_with_them() {
    // 0–1–2 is a chain that ends in a ring 2–3–4; 5 hangs on 3.
    let edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0), (4, 2, 1.0), (5, 3, 1.0)];
    let graph = Graph::new(vec![1.0; 6], edges);
    let (group_of, groups) = graph.group_leaves(f64::INFINITY);
    assert_eq!((group_of, groups), (vec![0, 0, 0, 1, 2, 1], 3));
    // Not beyond what balance allows.
    let (_, groups) = graph.group_leaves(2.0);
    assert_eq!(groups, 4);
}
