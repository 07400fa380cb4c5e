//! Splitting by evolution (Pollmeier, sections 5.3 and 5.6).
//!
//! An individual is a split: the part of each task. Its cost is the time of the slowest part,
//! exchange included. Twelve populations evolve side by side, each with its own probabilities of
//! crossover and mutation (Table 5.1); every third generation some of the best of each replace some
//! of the worst of the next one. Parts stand as whole numbers, not as bits, so that any number of
//! parts is possible. Large graphs are first grouped, as section 5.6 does by hand.

use crate::graph::Graph;
use crate::load::{Links, Load, slowest};
use crate::multilevel::{coarsen_to, refine, settle};
use fastrand::Rng;

/// How evolution runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Evolution {
    /// Individuals in each population.
    pub individuals: usize,
    /// Probabilities of crossover and mutation of each population.
    pub populations: Vec<(f64, f64)>,
    /// Generations.
    pub generations: usize,
    /// Ends earlier when the best has not changed for so many.
    pub patience: usize,
    /// Generations between migrations.
    pub migrate_every: usize,
    /// Individuals that migrate from each population.
    pub migrants: usize,
    /// Graphs with more tasks are grouped first.
    pub most_tasks: usize,
    /// Whether some individuals move to where no single move helps, now and then and in the end.
    pub polish: bool,
}

impl Default for Evolution {
    /// The settings of the thesis: Table 5.1 and section 5.3.
    fn default() -> Self {
        Self {
            individuals: 60,
            populations: vec![
                (0.6, 0.05),
                (0.5, 0.005),
                (0.7, 0.02),
                (0.8, 0.001),
                (0.6, 0.05),
                (0.7, 0.01),
                (0.9, 0.005),
                (0.8, 0.008),
                (0.5, 0.05),
                (0.6, 0.02),
                (0.7, 0.008),
                (0.8, 0.01),
            ],
            generations: 300,
            patience: 80,
            migrate_every: 3,
            migrants: 4,
            most_tasks: 64,
            polish: true,
        }
    }
}

/// A split, and the cost of the best individual after each generation.
#[derive(Clone, Debug, PartialEq)]
pub struct Evolved {
    /// The part of each task.
    pub part_of: Vec<u32>,
    /// Time of the slowest part, ns, after each generation.
    pub history: Vec<f64>,
}

/// Splits a graph. The same seed gives the same split.
pub fn split(graph: &Graph, links: &Links, parts: usize, seed: u64, how: &Evolution) -> Evolved {
    let mut rng = Rng::with_seed(seed);
    if parts <= 1 || graph.is_empty() {
        return Evolved { part_of: vec![0; graph.len()], history: Vec::new() };
    }
    let wanted = how.most_tasks.max(6 * parts);
    let levels = coarsen_to(graph, wanted, &mut rng);
    let coarsest = levels.last().map_or(graph, |level| &level.graph);
    let (mut part_of, history) = evolve(coarsest, links, parts, how, &mut rng);
    for at in (0..levels.len()).rev() {
        let finer = if at == 0 { graph } else { &levels[at - 1].graph };
        let carried = levels[at].group_of.iter().map(|&group| part_of[group as usize]).collect();
        let mut load = Load::new(finer, links, parts, carried);
        refine(&mut load, &mut rng, 8);
        part_of = load.into_parts();
    }
    Evolved { part_of, history }
}

struct Individual {
    part_of: Vec<u32>,
    cost: f64,
}

/// Room for the times of parts while splits are judged.
struct Judge<'a> {
    graph: &'a Graph,
    links: &'a Links,
    parts: usize,
    time: Vec<f64>,
    /// Whether two parts exchange, as marks that need not be wiped.
    seen: Vec<u32>,
    mark: u32,
}

impl<'a> Judge<'a> {
    fn new(graph: &'a Graph, links: &'a Links, parts: usize) -> Self {
        Self { graph, links, parts, time: vec![0.0; parts], seen: vec![0; parts * parts], mark: 0 }
    }

    /// Time of the slowest part.
    fn cost(&mut self, part_of: &[u32]) -> f64 {
        self.time.fill(0.0);
        self.mark += 1;
        for (task, &p) in part_of.iter().enumerate() {
            let mut time = self.graph.work(task);
            for &(other, lines) in self.graph.neighbours(task) {
                let q = part_of[other as usize];
                if q == p {
                    continue;
                }
                let price = self.links.price(p, q);
                time += lines * price.line + price.edge;
                let seen = &mut self.seen[p as usize * self.parts + q as usize];
                if *seen != self.mark {
                    *seen = self.mark;
                    time += price.neighbour;
                }
            }
            self.time[p as usize] += time;
        }
        self.time.iter().copied().fold(0.0, f64::max)
    }
}

fn evolve(
    graph: &Graph,
    links: &Links,
    parts: usize,
    how: &Evolution,
    rng: &mut Rng,
) -> (Vec<u32>, Vec<f64>) {
    let n = graph.len();
    let mut judge = Judge::new(graph, links, parts);
    // One crossover point for every 20 to 30 bits, as the thesis found.
    let bits = n as f64 * (parts as f64).log2().max(1.0);
    let points = ((bits / 25.0).round() as usize).clamp(1, 16).min(n.saturating_sub(1).max(1));
    let mut populations: Vec<Vec<Individual>> = (0..how.populations.len())
        .map(|_| {
            let mut population: Vec<Individual> = (0..how.individuals.max(2))
                .map(|_| {
                    let part_of: Vec<u32> = (0..n).map(|_| rng.u32(..parts as u32)).collect();
                    Individual { cost: judge.cost(&part_of), part_of }
                })
                .collect();
            sort(&mut population);
            population
        })
        .collect();
    let mut history: Vec<f64> = Vec::new();
    let mut same = 0;
    for generation in 1..=how.generations {
        for (population, &(crossover, mutation)) in populations.iter_mut().zip(&how.populations) {
            breed(population, crossover, mutation, points, parts, &mut judge, rng);
        }
        if how.migrate_every > 0 && generation % how.migrate_every == 0 {
            migrate(&mut populations, how.migrants);
            if how.polish {
                for population in &mut populations {
                    learn(population, graph, links, parts, rng);
                }
            }
        }
        let best = populations.iter().map(|p| p[0].cost).fold(f64::INFINITY, f64::min);
        same = match history.last() {
            Some(&last) if best >= last => same + 1,
            _ => 0,
        };
        history.push(best);
        if same >= how.patience {
            break;
        }
    }
    let mut best: Vec<&Individual> = populations.iter().map(|population| &population[0]).collect();
    best.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let mut part_of = best[0].part_of.clone();
    if how.polish {
        // The best of each population gets its chance.
        let mut cost = best[0].cost;
        for individual in best {
            let mut load = Load::new(graph, links, parts, individual.part_of.clone());
            settle(&mut load, rng);
            let polished = load.into_parts();
            let time = slowest(graph, links, parts, &polished);
            if time < cost {
                (cost, part_of) = (time, polished);
            }
        }
        if let Some(last) = history.last_mut() {
            *last = cost;
        }
    }
    (part_of, history)
}

/// One of the better half looks around and moves to where no single move helps: neighbourhood
/// search helps evolution much (section 5.3).
fn learn(population: &mut [Individual], graph: &Graph, links: &Links, parts: usize, rng: &mut Rng) {
    let one = rng.usize(..population.len() / 2);
    let mut load = Load::new(graph, links, parts, population[one].part_of.clone());
    refine(&mut load, rng, 4);
    let part_of = load.into_parts();
    let cost = slowest(graph, links, parts, &part_of);
    if cost < population[one].cost {
        population[one] = Individual { part_of, cost };
        sort(population);
    }
}

fn sort(population: &mut [Individual]) {
    population.sort_by(|a, b| a.cost.total_cmp(&b.cost));
}

/// The next generation: the best two live on, the others are children of parents chosen by rank.
fn breed(
    population: &mut Vec<Individual>,
    crossover: f64,
    mutation: f64,
    points: usize,
    parts: usize,
    judge: &mut Judge,
    rng: &mut Rng,
) {
    let size = population.len();
    let n = population[0].part_of.len();
    // The better of two drawn by chance.
    let choose = |rng: &mut Rng| rng.usize(..size).min(rng.usize(..size));
    let mut cuts: Vec<usize> = Vec::with_capacity(points);
    let mut children: Vec<Individual> = Vec::with_capacity(size);
    while children.len() + 2 < size {
        let (mother, father) = (choose(rng), choose(rng));
        let mut pair = [population[mother].part_of.clone(), population[father].part_of.clone()];
        if n > 1 && rng.f64() < crossover {
            cuts.clear();
            cuts.extend((0..points).map(|_| rng.usize(1..n)));
            cuts.sort_unstable();
            cuts.push(n);
            let mut begin = 0;
            for (at, &end) in cuts.iter().enumerate() {
                if at % 2 == 1 {
                    let [a, b] = &mut pair;
                    a[begin..end].swap_with_slice(&mut b[begin..end]);
                }
                begin = end;
            }
        }
        for mut part_of in pair {
            if children.len() + 2 >= size {
                break;
            }
            for part in &mut part_of {
                if rng.f64() < mutation {
                    *part = rng.u32(..parts as u32);
                }
            }
            children.push(Individual { cost: judge.cost(&part_of), part_of });
        }
    }
    population.truncate(2);
    population.append(&mut children);
    sort(population);
    // Splits of the same cost are mostly the same split, under other names: one of them is enough,
    // and newcomers keep a population from standing still.
    let mut last = f64::NAN;
    for individual in population.iter_mut() {
        if individual.cost == last {
            individual.part_of.fill_with(|| rng.u32(..parts as u32));
            individual.cost = judge.cost(&individual.part_of);
        } else {
            last = individual.cost;
        }
    }
    sort(population);
}

/// The best of each population replace the worst of the next one.
fn migrate(populations: &mut [Vec<Individual>], migrants: usize) {
    let count = populations.len();
    if count < 2 {
        return;
    }
    let leaving: Vec<Vec<(Vec<u32>, f64)>> = populations
        .iter()
        .map(|p| p.iter().take(migrants).map(|i| (i.part_of.clone(), i.cost)).collect())
        .collect();
    for (from, group) in leaving.into_iter().enumerate() {
        let to = &mut populations[(from + 1) % count];
        let keep = to.len().saturating_sub(group.len()).max(1);
        to.truncate(keep);
        to.extend(group.into_iter().map(|(part_of, cost)| Individual { part_of, cost }));
        sort(to);
    }
}
