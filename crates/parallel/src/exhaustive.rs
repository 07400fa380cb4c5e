//! The best split there is, by trying all: branch and bound.
//!
//! Tasks are placed one after the other. The time of a part only grows as more tasks are placed, so
//! that a branch ends where a part is already as slow as the best split known, or where the work
//! that is left cannot be spread any better.

use crate::graph::Graph;
use crate::load::{Links, slowest};

/// The split with the least time of its slowest part; `None` when there are more than `most`
/// branches.
pub fn best(graph: &Graph, links: &Links, parts: usize, most: u64) -> Option<Vec<u32>> {
    let n = graph.len();
    // Most connected first, then its neighbours: what is placed early decides most.
    let order = order(graph);
    let mut place = vec![0; n];
    for (at, &task) in order.iter().enumerate() {
        place[task] = at;
    }
    let before: Vec<Vec<(usize, f64)>> = order
        .iter()
        .enumerate()
        .map(|(at, &task)| {
            let placed = graph.neighbours(task).iter().map(|&(j, n)| (place[j as usize], n));
            placed.filter(|&(other, _)| other < at).collect()
        })
        .collect();
    let mut search = Search {
        work: order.iter().map(|&task| graph.work(task)).collect(),
        before,
        links,
        parts,
        total: graph.total_work(),
        best: vec![0; n],
        best_time: f64::INFINITY,
        part: vec![0; n],
        left: most,
    };
    search.best_time = slowest(graph, links, parts, &vec![0; n]);
    let is_done = search.place(0, 0, &mut State::new(parts));
    is_done.then(|| {
        let mut part_of = vec![0; n];
        for (at, &task) in order.iter().enumerate() {
            part_of[task] = search.best[at];
        }
        part_of
    })
}

fn order(graph: &Graph) -> Vec<usize> {
    let mut order = Vec::with_capacity(graph.len());
    let mut is_in = vec![false; graph.len()];
    let mut pull = vec![0.0f64; graph.len()];
    for _ in 0..graph.len() {
        let weight = |i: &usize| (pull[*i], graph.neighbours(*i).len(), graph.work(*i));
        let next = (0..graph.len()).filter(|&i| !is_in[i]).max_by(|a, b| {
            let (a, b) = (weight(a), weight(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2))
        });
        let Some(next) = next else { break };
        is_in[next] = true;
        order.push(next);
        for &(j, lines) in graph.neighbours(next) {
            pull[j as usize] += lines;
        }
    }
    order
}

/// Times of parts, and edges between them, of the tasks placed so far.
#[derive(Clone)]
struct State {
    time: Vec<f64>,
    edges: Vec<u32>,
    work: f64,
}

impl State {
    fn new(parts: usize) -> Self {
        Self { time: vec![0.0; parts], edges: vec![0; parts * parts], work: 0.0 }
    }
}

struct Search<'a> {
    work: Vec<f64>,
    /// Neighbours that are placed earlier, by place.
    before: Vec<Vec<(usize, f64)>>,
    links: &'a Links,
    parts: usize,
    total: f64,
    best: Vec<u32>,
    best_time: f64,
    part: Vec<u32>,
    left: u64,
}

impl Search<'_> {
    /// Places the task at a place and all that follow; false when the search was given up.
    fn place(&mut self, at: usize, used: usize, state: &mut State) -> bool {
        if at == self.part.len() {
            let time = state.time.iter().copied().fold(0.0, f64::max);
            if time < self.best_time {
                self.best_time = time;
                self.best.clone_from(&self.part);
            }
            return true;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        // Parts that nothing is in are alike where all links are.
        let choices = match self.links.is_symmetric() {
            true => (used + 1).min(self.parts),
            false => self.parts,
        };
        for p in 0..choices as u32 {
            let mut next = state.clone();
            self.put(at, p, &mut next);
            let slowest = next.time.iter().copied().fold(0.0, f64::max);
            // What is left at best fills all parts evenly.
            let even = (next.time.iter().sum::<f64>() + self.total - next.work) / self.parts as f64;
            if slowest.max(even) >= self.best_time * (1.0 - 1e-12) {
                continue;
            }
            self.part[at] = p;
            if !self.place(at + 1, used.max(p as usize + 1), &mut next) {
                return false;
            }
        }
        true
    }

    fn put(&self, at: usize, p: u32, state: &mut State) {
        state.time[p as usize] += self.work[at];
        state.work += self.work[at];
        for &(other, lines) in &self.before[at] {
            let q = self.part[other];
            if q == p {
                continue;
            }
            for (a, b) in [(p, q), (q, p)] {
                let price = self.links.price(a, b);
                let edges = &mut state.edges[a as usize * self.parts + b as usize];
                if *edges == 0 {
                    state.time[a as usize] += price.neighbour;
                }
                *edges += 1;
                state.time[a as usize] += lines * price.line + price.edge;
            }
        }
    }
}
