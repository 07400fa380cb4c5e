//! The pattern search of Hooke and Jeeves (Direct search solution of numerical and statistical
//! problems; 1961), with bounds, as Pollmeier (thesis, University of Bath, section 7.3.1) uses it.
//!
//! Each coordinate is varied by a step, and each improvement is kept. When a round has brought one, a
//! pattern move goes on in its direction, x_p = x_s + k·(x_n − x_s), and explores from there. When
//! nothing helps, the steps shrink. Both directions of a coordinate are asked for at once, and those of
//! some coordinates ahead where that fills a machine: they hold as long as nothing before them helps.

use crate::space::Space;
use crate::{Optimiser, Point, Value, clamp};

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The start has to be computed.
    Start,
    /// A coordinate is varied, around the best point or around the end of a pattern move.
    Explore(usize),
    /// The end of a pattern move has to be computed.
    Pattern,
    Ended,
}

/// The search.
#[derive(Clone, Debug)]
pub struct HookeJeeves {
    /// The best point before the last round.
    before: Point,
    /// The best point.
    best: (Point, Value),
    /// Where the exploration is.
    now: (Point, Value),
    is_pattern: bool,
    phase: Phase,
    asked: Vec<Point>,
    /// The coordinate that each of them varies.
    varied: Vec<usize>,
    /// Coordinates asked for at once.
    ahead: usize,
    steps: Vec<f64>,
    ends: Vec<f64>,
    reduction: f64,
    pattern: f64,
}

impl HookeJeeves {
    /// From a point, with a first and a last step as shares of the range, a factor by which steps
    /// shrink, and one by which pattern moves go on.
    pub fn new(
        space: &Space,
        start: Point,
        first: f64,
        last: f64,
        reduction: f64,
        pattern: f64,
    ) -> Self {
        // A smaller step would change nothing where there are levels.
        let at_least = |share: f64| -> Vec<f64> {
            (0..space.dimensions()).map(|i| share.max(space.resolution(i))).collect()
        };
        let known = (start.clone(), Value::failed());
        Self {
            before: start,
            best: known.clone(),
            now: known,
            is_pattern: false,
            phase: Phase::Start,
            asked: Vec::new(),
            varied: Vec::new(),
            ahead: 1,
            steps: at_least(first),
            ends: at_least(last),
            reduction,
            pattern,
        }
    }

    /// The best point and its value.
    pub fn best(&self) -> &(Point, Value) {
        &self.best
    }

    /// Whether it has come to its end.
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Asks for so many coordinates at once from now on; the way of the search stays the same.
    pub fn look_ahead(&mut self, coordinates: usize) {
        self.ahead = coordinates.max(1);
        if let Phase::Explore(from) = self.phase {
            self.explore(from);
        }
    }

    /// The next coordinates from this one on in which a step leads anywhere.
    fn explore(&mut self, from: usize) {
        self.asked.clear();
        self.varied.clear();
        let mut coordinates = 0;
        for i in from..self.steps.len() {
            let before = self.asked.len();
            for sign in [1.0, -1.0] {
                let mut point = self.now.0.clone();
                point[i] = clamp(point[i] + sign * self.steps[i]);
                if point[i] != self.now.0[i] {
                    self.asked.push(point);
                    self.varied.push(i);
                }
            }
            coordinates += usize::from(self.asked.len() > before);
            if coordinates == self.ahead {
                break;
            }
        }
        match self.varied.first() {
            Some(&first) => self.phase = Phase::Explore(first),
            None => self.finish_round(),
        }
    }

    fn finish_round(&mut self) {
        // A pattern move of a rounding error may help for ever, and leads nowhere.
        let moves = self.now.0.iter().zip(&self.best.0).zip(&self.steps);
        let has_moved = moves.into_iter().any(|((to, from), step)| (to - from).abs() > 0.5 * step);
        if has_moved && self.now.1.beats(&self.best.1) {
            self.before = std::mem::replace(&mut self.best, self.now.clone()).0;
            let moved = self.before.iter().zip(&self.best.0);
            let point: Point =
                moved.map(|(from, to)| clamp(from + self.pattern * (to - from))).collect();
            if point == self.best.0 {
                return self.explore_best();
            }
            self.asked = vec![point];
            self.phase = Phase::Pattern;
            return;
        }
        if !self.is_pattern {
            let is_over = self.steps.iter().zip(&self.ends).all(|(step, end)| step <= end);
            if is_over {
                self.phase = Phase::Ended;
                self.asked.clear();
                return;
            }
            for (step, end) in self.steps.iter_mut().zip(&self.ends) {
                *step = (*step * self.reduction).max(*end);
            }
        }
        self.explore_best();
    }

    fn explore_best(&mut self) {
        self.now = self.best.clone();
        self.is_pattern = false;
        self.explore(0);
    }
}

impl Optimiser for HookeJeeves {
    fn ask(&mut self) -> Vec<Point> {
        if self.phase == Phase::Start {
            self.asked = vec![self.best.0.clone()];
        }
        self.asked.clone()
    }

    fn tell(&mut self, values: &[Value]) {
        match self.phase {
            Phase::Start => {
                self.best.1 = values[0].clone();
                self.explore_best();
            }
            Phase::Explore(first) => {
                let mut last = first;
                let mut has_moved = false;
                for ((point, &i), value) in self.asked.iter().zip(&self.varied).zip(values) {
                    // What was asked for further on stands around a point that is left.
                    if has_moved && i != last {
                        break;
                    }
                    last = i;
                    if value.beats(&self.now.1) {
                        self.now = (point.clone(), value.clone());
                        has_moved = true;
                    }
                }
                self.explore(last + 1);
            }
            Phase::Pattern => {
                self.now = (self.asked[0].clone(), values[0].clone());
                self.is_pattern = true;
                self.explore(0);
            }
            Phase::Ended => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Scale, Variable};

    /// A bent valley: coordinates depend on each other, so that what was asked for ahead is often void.
    fn valley(x: &Point) -> f64 {
        let bent = |w: &[f64]| (w[1] - w[0] * w[0]).powi(2) * 50.0 + (0.6 - w[0]).powi(2);
        x.windows(2).map(bent).sum()
    }

    #[test]
    fn looking_ahead_does_not_change_the_way() {
        let variable = Variable::Continuous { low: 0.0, high: 1.0, scale: Scale::Linear };
        let space = Space { variables: vec![variable; 5] };
        let search = |ahead: usize| {
            let start = vec![0.1, 0.9, 0.3, 1.0, 0.0];
            let mut search = HookeJeeves::new(&space, start, 0.2, 1e-5, 0.5, 2.0);
            let (mut rounds, mut bests) = (0, Vec::new());
            loop {
                search.look_ahead(ahead);
                let points = search.ask();
                if points.is_empty() {
                    return (rounds, bests);
                }
                let value = |x: &Point| Value::new(vec![valley(x)], 0.0);
                search.tell(&points.iter().map(value).collect::<Vec<_>>());
                rounds += 1;
                assert!(rounds < 20_000, "it ends");
                if bests.last() != Some(search.best()) {
                    bests.push(search.best().clone());
                }
            }
        };
        let (rounds, way) = search(1);
        assert!(way.len() > 20, "{}", way.len());
        for ahead in [2, 5] {
            let (fewer, same) = search(ahead);
            assert_eq!(same, way);
            assert!(fewer < rounds * 4 / 5, "{fewer} of {rounds}");
        }
    }
}
