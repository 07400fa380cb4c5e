//! What a split costs: the time of a step in each part, and how a move changes it.
//!
//! The time of part p is the work of its tasks and what it spends on handing over lines
//! (Pollmeier, equation 5.1); a step takes as long as its slowest part (5.2):
//!
//! `t_p = Σ work + Σ_{q≠p} (n_pq·line + m_pq·edge + [m_pq > 0]·neighbour),  t = max_p t_p`
//!
//! with n_pq lines and m_pq pairs of joined tasks between the parts p and q.

use crate::graph::Graph;

/// What one part pays to exchange with another one, ns per step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// For each line.
    pub line: f64,
    /// For each pair of joined tasks: where each has a message of its own.
    pub edge: f64,
    /// For each part that it exchanges with: a synchronisation, a message.
    pub neighbour: f64,
}

/// Which parts are near each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All of them: threads of one machine.
    All,
    /// Those whose numbers follow each other: processors in a pipeline.
    Chain,
    /// So many in a row: ranks on one host.
    Hosts(u32),
}

/// What exchange between parts costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// Between parts that are near.
    pub near: Price,
    /// Between all others.
    pub far: Price,
    /// Which are near.
    pub reach: Reach,
    /// How parts that work at the same time hold each other up.
    pub crowd: Crowd,
}

/// Cores share caches, memory and turbo clocks, and some of them a core of the machine: work takes
/// longer when all of them are busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crowd {
    /// So many cores ...
    pub cores: usize,
    /// ... take so many times as long when all of them work as one does alone.
    pub slower: f64,
}

impl Default for Crowd {
    /// None.
    fn default() -> Self {
        Self { cores: 1, slower: 1.0 }
    }
}

impl Crowd {
    /// How many times as long work takes with so many parts at once: 1 for one, and linearly from
    /// there.
    pub fn factor(&self, parts: usize) -> f64 {
        let busy = parts.min(self.cores).max(1) - 1;
        match self.cores {
            0 | 1 => 1.0,
            cores => 1.0 + (self.slower - 1.0) * busy as f64 / (cores - 1) as f64,
        }
    }
}

impl Links {
    /// The same price between all parts.
    pub fn uniform(price: Price) -> Self {
        Self { near: price, far: price, reach: Reach::All, crowd: Crowd::default() }
    }

    /// What part `p` pays for its exchange with `q`.
    #[inline]
    pub fn price(&self, p: u32, q: u32) -> &Price {
        let is_near = match self.reach {
            Reach::All => true,
            Reach::Chain => p.abs_diff(q) == 1,
            Reach::Hosts(size) => p / size.max(1) == q / size.max(1),
        };
        if is_near { &self.near } else { &self.far }
    }

    /// Whether any two parts may change names.
    pub fn is_symmetric(&self) -> bool {
        self.near == self.far || self.reach == Reach::All
    }
}

/// What lies between two parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Between {
    lines: f64,
    edges: u32,
}

/// Time of a part in a step, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Time {
    /// Its own tasks.
    pub work: f64,
    /// Exchange with others.
    pub exchange: f64,
}

impl Time {
    /// Both.
    pub fn total(self) -> f64 {
        self.work + self.exchange
    }
}

/// A split with its times, kept up to date as tasks move.
#[derive(Clone, Debug)]
pub struct Load<'g> {
    graph: &'g Graph,
    links: &'g Links,
    parts: usize,
    part_of: Vec<u32>,
    work: Vec<f64>,
    exchange: Vec<f64>,
    between: Vec<Between>,
    /// Parts that the last look at a move found, with their changes; kept to be reused.
    touched: Vec<(u32, f64, u32)>,
}

impl<'g> Load<'g> {
    /// The times of a split.
    pub fn new(graph: &'g Graph, links: &'g Links, parts: usize, part_of: Vec<u32>) -> Self {
        let mut load = Self {
            graph,
            links,
            parts,
            part_of,
            work: vec![0.0; parts],
            exchange: vec![0.0; parts],
            between: vec![Between::default(); parts * parts],
            touched: Vec::new(),
        };
        load.sum_up();
        load
    }

    /// Adds everything up again: the same bits whatever moves led here.
    fn sum_up(&mut self) {
        self.work.fill(0.0);
        self.exchange.fill(0.0);
        self.between.fill(Between::default());
        for task in 0..self.graph.len() {
            let p = self.part_of[task];
            self.work[p as usize] += self.graph.work(task);
            for &(other, lines) in self.graph.neighbours(task) {
                let q = self.part_of[other as usize];
                if q != p {
                    let between = &mut self.between[p as usize * self.parts + q as usize];
                    between.lines += lines;
                    between.edges += 1;
                }
            }
        }
        for p in 0..self.parts as u32 {
            self.exchange[p as usize] = (0..self.parts as u32).map(|q| self.paid(p, q)).sum();
        }
    }

    /// What part `p` pays for its exchange with `q`.
    fn paid(&self, p: u32, q: u32) -> f64 {
        let between = &self.between[p as usize * self.parts + q as usize];
        cost(self.links, p, q, between.lines, between.edges)
    }

    /// The part of each task.
    pub fn part_of(&self) -> &[u32] {
        &self.part_of
    }

    /// The part of each task, for good.
    pub fn into_parts(self) -> Vec<u32> {
        self.part_of
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// The graph that is split.
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Time of a part, ns.
    #[inline]
    pub fn time(&self, part: usize) -> f64 {
        self.work[part] + self.exchange[part]
    }

    /// Time of a part, by what it is spent on.
    pub fn times(&self, part: usize) -> Time {
        Time { work: self.work[part], exchange: self.exchange[part] }
    }

    /// Time of the slowest part: of a step.
    pub fn slowest(&self) -> f64 {
        (0..self.parts).map(|p| self.time(p)).fold(0.0, f64::max)
    }

    /// Time of all parts together.
    pub fn sum(&self) -> f64 {
        (0..self.parts).map(|p| self.time(p)).sum()
    }

    /// Lines between different parts, each counted once.
    pub fn cut_lines(&self) -> f64 {
        0.5 * self.between.iter().map(|between| between.lines).sum::<f64>()
    }

    /// Lines of a part that others hold the other end of.
    pub fn lines_of(&self, part: usize) -> f64 {
        self.between[part * self.parts..][..self.parts].iter().map(|b| b.lines).sum()
    }

    /// Parts that a part exchanges with.
    pub fn neighbours_of(&self, part: usize) -> usize {
        self.between[part * self.parts..][..self.parts].iter().filter(|b| b.edges > 0).count()
    }

    /// Lines and edges of a task to each part next to it.
    fn look_around(&mut self, task: usize) {
        self.touched.clear();
        for &(other, lines) in self.graph.neighbours(task) {
            let q = self.part_of[other as usize];
            match self.touched.iter_mut().find(|t| t.0 == q) {
                Some(t) => {
                    t.1 += lines;
                    t.2 += 1;
                }
                None => self.touched.push((q, lines, 1)),
            }
        }
    }

    /// Parts next to a task, other than its own.
    pub fn parts_next_to(&self, task: usize, found: &mut Vec<u32>) {
        found.clear();
        let own = self.part_of[task];
        for &(other, _) in self.graph.neighbours(task) {
            let q = self.part_of[other as usize];
            if q != own && !found.contains(&q) {
                found.push(q);
            }
        }
    }

    /// What a move of a task to another part would do to the parts it touches: the greatest of
    /// their times, and their sum, now and then.
    pub fn look(&mut self, task: usize, to: u32) -> Change {
        let from = self.part_of[task];
        self.look_around(task);
        let work = self.graph.work(task);
        let (mut exchange_from, mut exchange_to) =
            (self.exchange[from as usize], self.exchange[to as usize]);
        let mut change = Change::default();
        let (mut lines_from, mut edges_from) = (0.0, 0);
        let (mut lines_to, mut edges_to) = (0.0, 0);
        for at in 0..self.touched.len() {
            let (q, lines, edges) = self.touched[at];
            if q == from {
                (lines_from, edges_from) = (lines, edges);
                continue;
            }
            if q == to {
                (lines_to, edges_to) = (lines, edges);
                continue;
            }
            // A third part keeps its lines, which now lead elsewhere.
            let old_f = self.between[from as usize * self.parts + q as usize];
            let old_t = self.between[to as usize * self.parts + q as usize];
            let new_f = (less(old_f.lines, lines, old_f.edges == edges), old_f.edges - edges);
            let new_t = (old_t.lines + lines, old_t.edges + edges);
            exchange_from += cost(self.links, from, q, new_f.0, new_f.1)
                - cost(self.links, from, q, old_f.lines, old_f.edges);
            exchange_to += cost(self.links, to, q, new_t.0, new_t.1)
                - cost(self.links, to, q, old_t.lines, old_t.edges);
            let now = self.time(q as usize);
            let then = now + cost(self.links, q, from, new_f.0, new_f.1)
                - cost(self.links, q, from, old_f.lines, old_f.edges)
                + cost(self.links, q, to, new_t.0, new_t.1)
                - cost(self.links, q, to, old_t.lines, old_t.edges);
            change.add(now, then);
        }
        // Between the two: lines to the task's old part appear, those to its new one vanish.
        let old = self.between[from as usize * self.parts + to as usize];
        let edges = old.edges - edges_to + edges_from;
        let lines = less(old.lines, lines_to, edges == 0) + lines_from;
        exchange_from += cost(self.links, from, to, lines, edges)
            - cost(self.links, from, to, old.lines, old.edges);
        exchange_to += cost(self.links, to, from, lines, edges)
            - cost(self.links, to, from, old.lines, old.edges);
        change.add(self.time(from as usize), self.work[from as usize] - work + exchange_from);
        change.add(self.time(to as usize), self.work[to as usize] + work + exchange_to);
        change
    }

    /// Lets two parts change names: it matters where not all are equally near.
    pub fn rename(&mut self, p: u32, q: u32) {
        for part in &mut self.part_of {
            *part = match *part {
                part if part == p => q,
                part if part == q => p,
                part => part,
            };
        }
        self.sum_up();
    }

    /// What exchange costs.
    pub fn links(&self) -> &'g Links {
        self.links
    }

    /// Moves a task.
    pub fn shift(&mut self, task: usize, to: u32) {
        let from = self.part_of[task];
        if from == to {
            return;
        }
        self.look_around(task);
        let work = self.graph.work(task);
        self.work[from as usize] -= work;
        self.work[to as usize] += work;
        let parts = self.parts;
        let at = |p: u32, q: u32| p as usize * parts + q as usize;
        for k in 0..self.touched.len() {
            let (q, lines, edges) = self.touched[k];
            let mut change = |p: u32, q: u32, lines: f64, edges: i64| {
                for (a, b) in [(p, q), (q, p)] {
                    let old = self.between[at(a, b)];
                    let count = (i64::from(old.edges) + edges) as u32;
                    // Rounding must not leave lines where there are no edges.
                    let new = Between {
                        lines: if count == 0 { 0.0 } else { old.lines + lines },
                        edges: count,
                    };
                    self.exchange[a as usize] += cost(self.links, a, b, new.lines, new.edges)
                        - cost(self.links, a, b, old.lines, old.edges);
                    self.between[at(a, b)] = new;
                }
            };
            let edges = i64::from(edges);
            if q == from {
                change(from, to, lines, edges);
            } else if q == to {
                change(from, to, -lines, -edges);
            } else {
                change(from, q, -lines, -edges);
                change(to, q, lines, edges);
            }
        }
        self.part_of[task] = to;
    }
}

/// a − b, exactly nothing where nothing is left.
#[inline]
fn less(a: f64, b: f64, is_all: bool) -> f64 {
    if is_all { 0.0 } else { a - b }
}

#[inline]
fn cost(links: &Links, p: u32, q: u32, lines: f64, edges: u32) -> f64 {
    if edges == 0 || p == q {
        return 0.0;
    }
    let price = links.price(p, q);
    lines * price.line + f64::from(edges) * price.edge + price.neighbour
}

/// What a move would do to the parts it touches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// The greatest of their times now.
    pub slowest_now: f64,
    /// And after the move.
    pub slowest_then: f64,
    /// The sum of their times now.
    pub sum_now: f64,
    /// And after the move.
    pub sum_then: f64,
}

impl Change {
    fn add(&mut self, now: f64, then: f64) {
        self.slowest_now = self.slowest_now.max(now);
        self.slowest_then = self.slowest_then.max(then);
        self.sum_now += now;
        self.sum_then += then;
    }

    /// Whether the move is worth it: the slowest of the touched parts gets faster, or all of them
    /// together while the slowest stays. The slowest of all parts never gets slower by it.
    pub fn is_gain(&self) -> bool {
        let fine = 1e-9 * self.slowest_now;
        self.slowest_then < self.slowest_now - fine
            || self.slowest_then <= self.slowest_now && self.sum_then < self.sum_now - fine
    }
}

/// Time of the slowest part of a split, ns per step.
pub fn slowest(graph: &Graph, links: &Links, parts: usize, part_of: &[u32]) -> f64 {
    Load::new(graph, links, parts, part_of.to_vec()).slowest()
}
