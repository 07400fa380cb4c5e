//! Differential evolution (Storn, Price 1997), rand/1/bin, whose members carry their own factors and
//! hand them on when they do well (Brest et al.: Self-adapting control parameters in differential
//! evolution; 2006).

use crate::random::Random;
use crate::{Optimiser, Point, Value, ranked};

#[derive(Clone, Debug)]
struct Member {
    point: Point,
    value: Value,
    /// F, the length of differences.
    length: f64,
    /// CR, the share of coordinates that change.
    share: f64,
}

/// The search.
#[derive(Clone, Debug)]
pub struct DifferentialEvolution {
    random: Random,
    members: Vec<Member>,
    asked: Vec<Member>,
    tolerance: f64,
}

impl DifferentialEvolution {
    /// So many members, one of them at the start; it ends when all are as close as the tolerance.
    pub fn new(start: &[f64], population: usize, tolerance: f64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut points = random.latin_hypercube(population.max(4), start.len());
        points[0] = start.to_vec();
        let member = |point| Member { point, value: Value::failed(), length: 0.5, share: 0.9 };
        let asked = points.into_iter().map(member).collect();
        Self { random, members: Vec::new(), asked, tolerance }
    }

    fn trial(&mut self, i: usize) -> Member {
        let (count, n) = (self.members.len(), self.members[i].point.len());
        let random = &mut self.random;
        let mut other = |taken: &[usize]| loop {
            let k = random.below(count);
            if !taken.contains(&k) {
                return k;
            }
        };
        let a = other(&[i]);
        let b = other(&[i, a]);
        let c = other(&[i, a, b]);
        let own = &self.members[i];
        // Each with a probability of a tenth, as Brest gives it.
        let length = if random.chance(0.1) { 0.1 + 0.9 * random.uniform() } else { own.length };
        let share = if random.chance(0.1) { random.uniform() } else { own.share };
        let forced = random.below(n);
        let point = (0..n)
            .map(|k| {
                if k != forced && !random.chance(share) {
                    return own.point[k];
                }
                let [a, b, c] = [a, b, c].map(|m| self.members[m].point[k]);
                let x = a + length * (b - c);
                // Half-way between where it came from and the bound it crossed.
                match x {
                    _ if x < 0.0 => 0.5 * a,
                    _ if x > 1.0 => 0.5 * (a + 1.0),
                    _ => x,
                }
            })
            .collect();
        Member { point, value: Value::failed(), length, share }
    }
}

/// The largest distance of any point from the first, in any coordinate.
pub(crate) fn extent<'p>(mut points: impl Iterator<Item = &'p Point>) -> f64 {
    let Some(first) = points.next() else { return 0.0 };
    let far =
        |point: &Point| point.iter().zip(first).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    points.map(far).fold(0.0, f64::max)
}

impl Optimiser for DifferentialEvolution {
    fn ask(&mut self) -> Vec<Point> {
        self.asked.iter().map(|member| member.point.clone()).collect()
    }

    fn tell(&mut self, values: &[Value]) {
        let mut told = std::mem::take(&mut self.asked);
        for (member, value) in told.iter_mut().zip(values) {
            member.value = value.clone();
        }
        if self.members.is_empty() {
            self.members = told;
        } else {
            for (own, trial) in self.members.iter_mut().zip(told) {
                if !own.value.beats(&trial.value) {
                    *own = trial;
                }
            }
        }
        // The better half tells: one straggler need not hold up the end.
        let values: Vec<Value> = self.members.iter().map(|m| m.value.clone()).collect();
        let best = ranked(&values).into_iter().take(values.len() / 2 + 1);
        if extent(best.map(|i| &self.members[i].point)) < self.tolerance {
            return;
        }
        self.asked = (0..self.members.len()).map(|i| self.trial(i)).collect();
    }
}
