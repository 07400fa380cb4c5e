//! NSGA-II for several objectives (Deb, Pratap, Agarwal, Meyarivan 2002): what no other member beats in
//! all objectives comes first, and among those what has the most room around it.

use crate::genetic::{crossed, mutate};
use crate::random::Random;
use crate::{Optimiser, Point, Value};

#[derive(Clone, Debug)]
struct Member {
    point: Point,
    value: Value,
    /// How many fronts are before its own.
    front: usize,
    /// Room around it.
    room: f64,
}

/// The search.
#[derive(Clone, Debug)]
pub struct Nsga2 {
    random: Random,
    members: Vec<Member>,
    asked: Vec<Point>,
    count: usize,
    generations: u64,
    crossover: f64,
    mutation: f64,
}

impl Nsga2 {
    /// So many members for so many generations.
    pub fn new(
        start: &[f64],
        count: usize,
        generations: u64,
        crossover: f64,
        mutation: f64,
        seed: u64,
    ) -> Self {
        let mut random = Random::new(seed);
        let count = count.max(4).next_multiple_of(2);
        let mut asked = random.latin_hypercube(count, start.len());
        asked[0] = start.to_vec();
        Self { random, members: Vec::new(), asked, count, generations, crossover, mutation }
    }

    fn parent(&mut self) -> Point {
        let (a, b) = (self.random.below(self.count), self.random.below(self.count));
        let is_better = |a: &Member, b: &Member| (a.front, -a.room) < (b.front, -b.room);
        let best = if is_better(&self.members[b], &self.members[a]) { b } else { a };
        self.members[best].point.clone()
    }
}

/// Numbers of the values in fronts: those that nothing dominates, those that only these dominate, …
pub fn fronts(values: &[Value]) -> Vec<Vec<usize>> {
    let mut dominated_by = vec![0usize; values.len()];
    let mut dominates: Vec<Vec<usize>> = vec![Vec::new(); values.len()];
    for i in 0..values.len() {
        for j in 0..values.len() {
            if values[i].dominates(&values[j]) {
                dominates[i].push(j);
                dominated_by[j] += 1;
            }
        }
    }
    let mut fronts = Vec::new();
    let mut front: Vec<usize> = (0..values.len()).filter(|&i| dominated_by[i] == 0).collect();
    while !front.is_empty() {
        let mut next = Vec::new();
        for &i in &front {
            for &j in &dominates[i] {
                dominated_by[j] -= 1;
                if dominated_by[j] == 0 {
                    next.push(j);
                }
            }
        }
        next.sort_unstable();
        fronts.push(std::mem::replace(&mut front, next));
    }
    fronts
}

/// The room around each value of a front: the sides of the box between its neighbours; infinite at
/// the ends.
fn rooms(values: &[Value], front: &[usize]) -> Vec<f64> {
    let mut rooms = vec![0.0; front.len()];
    let objectives = values[front[0]].objectives.len();
    for k in 0..objectives {
        let of = |at: usize| values[front[at]].objectives[k];
        let mut order: Vec<usize> = (0..front.len()).collect();
        order.sort_by(|&a, &b| of(a).total_cmp(&of(b)));
        let (first, last) = (order[0], order[order.len() - 1]);
        let range = of(last) - of(first);
        rooms[first] = f64::INFINITY;
        rooms[last] = f64::INFINITY;
        if range > 0.0 {
            for window in order.windows(3) {
                rooms[window[1]] += (of(window[2]) - of(window[0])) / range;
            }
        }
    }
    rooms
}

/// The area that values of two objectives dominate below a reference.
pub fn hypervolume(values: &[Value], reference: [f64; 2]) -> f64 {
    let mut front: Vec<[f64; 2]> = values
        .iter()
        .filter(|value| value.is_feasible())
        .filter_map(|value| value.objectives.as_slice().try_into().ok())
        .filter(|point: &[f64; 2]| point[0] < reference[0] && point[1] < reference[1])
        .collect();
    front.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let (mut area, mut below) = (0.0, reference[1]);
    for [x, y] in front {
        if y < below {
            area += (reference[0] - x) * (below - y);
            below = y;
        }
    }
    area
}

impl Optimiser for Nsga2 {
    fn ask(&mut self) -> Vec<Point> {
        self.asked.clone()
    }

    fn tell(&mut self, values: &[Value]) {
        let new = std::mem::take(&mut self.asked).into_iter().zip(values.iter().cloned());
        let new = new.map(|(point, value)| Member { point, value, front: 0, room: 0.0 });
        self.members.extend(new);
        let values: Vec<Value> = self.members.iter().map(|m| m.value.clone()).collect();
        let mut next: Vec<Member> = Vec::with_capacity(self.count);
        for (number, front) in fronts(&values).into_iter().enumerate() {
            let mut chosen: Vec<(usize, f64)> =
                front.iter().copied().zip(rooms(&values, &front)).collect();
            if next.len() + chosen.len() > self.count {
                chosen.sort_by(|a, b| b.1.total_cmp(&a.1));
                chosen.truncate(self.count - next.len());
            }
            next.extend(chosen.into_iter().map(|(i, room)| Member {
                front: number,
                room,
                ..self.members[i].clone()
            }));
            if next.len() == self.count {
                break;
            }
        }
        self.members = next;
        self.generations = self.generations.saturating_sub(1);
        if self.generations == 0 {
            return;
        }
        while self.asked.len() < self.count {
            let (a, b) = (self.parent(), self.parent());
            let (a, b) = match self.random.chance(self.crossover) {
                true => crossed(&a, &b, 15.0, &mut self.random),
                false => (a, b),
            };
            for mut child in [a, b] {
                mutate(&mut child, self.mutation, 20.0, &mut self.random);
                self.asked.push(child);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fronts_hold_what_nothing_dominates() {
        let all = [[1.0, 4.0], [2.0, 2.0], [4.0, 1.0], [3.0, 3.0], [5.0, 5.0]];
        let values: Vec<Value> = all.map(|f| Value::new(f.to_vec(), 0.0)).to_vec();
        assert_eq!(fronts(&values), [vec![0, 1, 2], vec![3], vec![4]]);
        // 1×(5−4) + … by hand: strips between the steps of the front.
        assert_eq!(hypervolume(&values, [5.0, 5.0]), 4.0 * 1.0 + 3.0 * 2.0 + 1.0 * 1.0);
    }
}
