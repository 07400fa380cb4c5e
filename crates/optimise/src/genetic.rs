//! A genetic algorithm with sub-populations that exchange their best members, followed, if wanted, by
//! a pattern search from the best member of each (Pollmeier, thesis, University of Bath, sections 5.3
//! and 7.3; after Donne et al. 1995).
//!
//! Members are real numbers, not strings of bits: crossover and mutation have the distributions that
//! Deb and Agrawal (1995) made after those of strings, without their fixed resolution.

use crate::hooke_jeeves::HookeJeeves;
use crate::random::Random;
use crate::space::Space;
use crate::{Optimiser, Point, Value, ranked};

/// How it goes about.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Sub-populations.
    pub populations: usize,
    /// Members of each.
    pub members: usize,
    /// Generations.
    pub generations: u64,
    /// The probability that a pair mixes its values.
    pub crossover: f64,
    /// The probability that a coordinate changes.
    pub mutation: f64,
    /// Members that move on to the next sub-population.
    pub migrants: usize,
    /// … every so many generations.
    pub interval: u64,
    /// The search at the end.
    pub search: Option<Search>,
}

/// The pattern search at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The first step, as a share of the range.
    pub first: f64,
    /// The last one.
    pub last: f64,
    /// By which it shrinks.
    pub reduction: f64,
    /// By which pattern moves go on.
    pub pattern: f64,
}

/// The search.
pub struct Genetic {
    random: Random,
    space: Space,
    settings: Settings,
    /// All sub-populations, one after the other; best members first in each.
    members: Vec<(Point, Value)>,
    asked: Vec<Point>,
    generation: u64,
    /// The searches at the end, with how many points each asked for.
    searches: Vec<(HookeJeeves, usize)>,
}

impl Genetic {
    /// Spread over the whole space, one member at the start.
    pub fn new(space: &Space, start: &[f64], settings: Settings, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut asked = Vec::new();
        for _ in 0..settings.populations {
            asked.extend(random.latin_hypercube(settings.members, start.len()));
        }
        asked[0] = start.to_vec();
        Self {
            random,
            space: space.clone(),
            settings,
            members: Vec::new(),
            asked,
            generation: 0,
            searches: Vec::new(),
        }
    }

    /// The better of two members of a sub-population, chosen by chance.
    fn parent(&mut self, population: usize) -> usize {
        let count = self.settings.members;
        // They are in order: the lower number is the better one.
        let best = self.random.below(count).min(self.random.below(count));
        population * count + best
    }

    fn breed(&mut self) {
        self.asked.clear();
        let count = self.settings.members;
        for population in 0..self.settings.populations {
            let mut children = Vec::with_capacity(count);
            while children.len() < count {
                let (a, b) = (self.parent(population), self.parent(population));
                let (a, b) = (self.members[a].0.clone(), self.members[b].0.clone());
                let (a, b) = match self.random.chance(self.settings.crossover) {
                    true => crossed(&a, &b, 5.0, &mut self.random),
                    false => (a, b),
                };
                for mut child in [a, b] {
                    mutate(&mut child, self.settings.mutation, 20.0, &mut self.random);
                    children.push(child);
                }
            }
            children.truncate(count);
            self.asked.extend(children);
        }
    }

    /// The best of each sub-population take the places of the worst of the next.
    fn migrate(&mut self) {
        let (count, number) = (self.settings.members, self.settings.populations);
        let migrants = self.settings.migrants.min(count / 2);
        let leaving: Vec<Vec<(Point, Value)>> =
            (0..number).map(|p| self.members[p * count..p * count + migrants].to_vec()).collect();
        for (p, leaving) in leaving.into_iter().enumerate() {
            let to = (p + 1) % number;
            let end = (to + 1) * count;
            self.members.splice(end - migrants..end, leaving);
        }
        self.order();
    }

    fn order(&mut self) {
        for chunk in self.members.chunks_mut(self.settings.members) {
            chunk.sort_by(|a, b| a.1.compare(&b.1));
        }
    }

    fn gather(&mut self) {
        self.asked.clear();
        // The fewer searches are left, the further each looks ahead.
        let at_work = self.searches.iter().filter(|(search, _)| !search.has_ended()).count();
        for (search, asked) in &mut self.searches {
            search.look_ahead(AT_ONCE / (2 * at_work.max(1)));
            let points = search.ask();
            *asked = points.len();
            self.asked.extend(points);
        }
    }
}

/// Points that searches ask for at once: lanes of several cores. Whatever the machine has, so that all
/// run the same points.
const AT_ONCE: usize = 48;

/// Two children around two parents (simulated binary crossover): far apart when the parents are, close
/// to them the more, the larger the index.
pub(crate) fn crossed(a: &Point, b: &Point, index: f64, random: &mut Random) -> (Point, Point) {
    let (mut left, mut right) = (a.clone(), b.clone());
    for i in 0..a.len() {
        if random.chance(0.5) || (a[i] - b[i]).abs() < 1e-14 {
            continue;
        }
        let (low, high) = (a[i].min(b[i]), a[i].max(b[i]));
        let u = random.uniform();
        let spread = |room: f64| {
            // As much as the bounds leave room for.
            let beta = 1.0 + 2.0 * room / (high - low);
            let alpha = 2.0 - libm::pow(beta, -(index + 1.0));
            match u <= 1.0 / alpha {
                true => libm::pow(u * alpha, 1.0 / (index + 1.0)),
                false => libm::pow(1.0 / (2.0 - u * alpha), 1.0 / (index + 1.0)),
            }
        };
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        let (x, y) = (middle - spread(low) * half, middle + spread(1.0 - high) * half);
        let (x, y) = if random.chance(0.5) { (x, y) } else { (y, x) };
        (left[i], right[i]) = (crate::clamp(x), crate::clamp(y));
    }
    (left, right)
}

/// Changes some coordinates a little (polynomial mutation).
pub(crate) fn mutate(point: &mut Point, probability: f64, index: f64, random: &mut Random) {
    for x in point {
        if !random.chance(probability) {
            continue;
        }
        let u = random.uniform();
        let power = 1.0 / (index + 1.0);
        let change = match u < 0.5 {
            true => {
                libm::pow(2.0 * u + (1.0 - 2.0 * u) * libm::pow(1.0 - *x, index + 1.0), power) - 1.0
            }
            false => {
                1.0 - libm::pow(
                    2.0 * (1.0 - u) + (2.0 * u - 1.0) * libm::pow(*x, index + 1.0),
                    power,
                )
            }
        };
        *x = crate::clamp(*x + change);
    }
}

impl Optimiser for Genetic {
    fn ask(&mut self) -> Vec<Point> {
        self.asked.clone()
    }

    fn tell(&mut self, values: &[Value]) {
        if !self.searches.is_empty() {
            let mut rest = values;
            for (search, asked) in &mut self.searches {
                let (own, others) = rest.split_at(*asked);
                rest = others;
                if !own.is_empty() {
                    search.tell(own);
                }
            }
            return self.gather();
        }
        let told: Vec<(Point, Value)> =
            std::mem::take(&mut self.asked).into_iter().zip(values.iter().cloned()).collect();
        let count = self.settings.members;
        if self.members.is_empty() {
            self.members = told;
        } else {
            for (p, children) in told.chunks(count).enumerate() {
                // Children take the places of their parents, all but the best few of them.
                let keep = (count / 10).max(1);
                let elite = self.members[p * count..p * count + keep].to_vec();
                let values: Vec<Value> = children.iter().map(|(_, value)| value.clone()).collect();
                let best = ranked(&values).into_iter().take(count - keep);
                let next: Vec<_> =
                    elite.into_iter().chain(best.map(|i| children[i].clone())).collect();
                self.members.splice(p * count..(p + 1) * count, next);
            }
        }
        self.order();
        self.generation += 1;
        if self.generation < self.settings.generations {
            if self.generation.is_multiple_of(self.settings.interval.max(1)) {
                self.migrate();
            }
            return self.breed();
        }
        if let Some(search) = self.settings.search {
            let best = self.members.chunks(count).map(|chunk| chunk[0].0.clone());
            let mut starts: Vec<Point> = Vec::new();
            for start in best {
                // After a migration two may be the same.
                if !starts.contains(&start) {
                    starts.push(start);
                }
            }
            let Search { first, last, reduction, pattern } = search;
            self.searches = starts
                .into_iter()
                .map(|s| (HookeJeeves::new(&self.space, s, first, last, reduction, pattern), 0))
                .collect();
            self.gather();
        }
    }
}
