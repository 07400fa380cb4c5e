//! The order in which signals are computed, and loops that have none.

/// The result of sorting.
#[derive(Debug, PartialEq)]
pub enum Order {
    /// Each node's level: what it needs has a lower one. `broken` lists the edges (by index) that
    /// had to be opened.
    Levels {
        /// Level per node.
        levels: Vec<u32>,
        /// Opened edges.
        broken: Vec<usize>,
    },
    /// A loop without a place to open it: nodes in the order of the walk.
    Loop(Vec<usize>),
}

/// A dependency: `to` reads what `from` writes.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Writer.
    pub from: usize,
    /// Reader.
    pub to: usize,
    /// The reader can do with the value of the last step.
    pub may_break: bool,
}

/// Sorts nodes by their dependencies; opens loops only where an edge allows it.
pub fn sort(nodes: usize, edges: &[Edge]) -> Order {
    match levels(nodes, edges, |_| true) {
        Ok(levels) => Order::Levels { levels, broken: Vec::new() },
        Err(stuck) => {
            // Open only edges inside the loops, so that everything else keeps its order.
            let opened = |i: usize| {
                let e = edges[i];
                e.may_break && stuck[e.from] && stuck[e.to]
            };
            match levels(nodes, edges, |i| !opened(i)) {
                Ok(levels) => {
                    // An opened edge whose order happens to hold costs nothing.
                    let broken = (0..edges.len())
                        .filter(|&i| opened(i) && levels[edges[i].from] >= levels[edges[i].to])
                        .collect();
                    Order::Levels { levels, broken }
                }
                Err(stuck) => Order::Loop(walk(edges, &stuck)),
            }
        }
    }
}

/// Levels that keep the order Hopsan executes in: sweeps over the nodes as they stand in the file
/// take each one whose sources have been taken, until all are. An edge that may break asks for no
/// order and gets the one that results. `must` says which nodes cannot do without an order; a loop of
/// others leaves them as they stand in the file.
pub fn sweep(
    nodes: usize,
    edges: &[Edge],
    must: impl Fn(usize) -> bool,
) -> Result<Vec<u32>, Vec<usize>> {
    let (place, stuck) = places(nodes, edges);
    if let Some(stuck) = &stuck
        && (0..nodes).any(|n| stuck[n] && must(n))
    {
        let firm: Vec<Edge> = edges.iter().copied().filter(|e| !e.may_break).collect();
        // Those that only wait for the loop are no part of it.
        let in_loop = levels(nodes, &firm, |_| true).err().unwrap_or_else(|| stuck.clone());
        return Err(walk(&firm, &in_loop));
    }
    // What was written before it is read, and what is read before it is written anew.
    let kept: Vec<Edge> = edges
        .iter()
        .filter(|e| e.from != e.to)
        .map(
            |&e| if place[e.from] < place[e.to] { e } else { Edge { from: e.to, to: e.from, ..e } },
        )
        .collect();
    levels(nodes, &kept, |_| true).map_err(|stuck| walk(&kept, &stuck))
}

/// All nodes in the order of the sweeps of [`sweep`].
pub fn sequence(nodes: usize, edges: &[Edge]) -> Vec<usize> {
    let (place, _) = places(nodes, edges);
    let mut all: Vec<usize> = (0..nodes).collect();
    all.sort_by_key(|&node| place[node]);
    all
}

/// The place of each node in the sweeps, and which nodes they could not take: those follow in the
/// order of the file.
fn places(nodes: usize, edges: &[Edge]) -> (Vec<usize>, Option<Vec<bool>>) {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    let mut waiting = vec![0u32; nodes];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for edge in edges.iter().filter(|e| !e.may_break) {
        waiting[edge.to] += 1;
        readers[edge.from].push(edge.to);
    }
    let mut place = vec![usize::MAX; nodes];
    let mut next = 0;
    let mut now: BinaryHeap<Reverse<usize>> =
        (0..nodes).filter(|&n| waiting[n] == 0).map(Reverse).collect();
    let mut later: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    while !now.is_empty() {
        while let Some(Reverse(node)) = now.pop() {
            place[node] = next;
            next += 1;
            for &reader in &readers[node] {
                waiting[reader] -= 1;
                if waiting[reader] == 0 {
                    // Behind the sweep's place it is met in this sweep, otherwise in the next.
                    if reader > node {
                        now.push(Reverse(reader))
                    } else {
                        later.push(Reverse(reader))
                    }
                }
            }
        }
        std::mem::swap(&mut now, &mut later);
    }
    if next == nodes {
        return (place, None);
    }
    let stuck: Vec<bool> = place.iter().map(|&p| p == usize::MAX).collect();
    for p in place.iter_mut().filter(|p| **p == usize::MAX) {
        *p = next;
        next += 1;
    }
    (place, Some(stuck))
}

/// Longest-path levels, or which nodes are part of loops.
fn levels(
    nodes: usize,
    edges: &[Edge],
    keep: impl Fn(usize) -> bool,
) -> Result<Vec<u32>, Vec<bool>> {
    let mut waiting = vec![0u32; nodes];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (i, edge) in edges.iter().enumerate() {
        if keep(i) {
            waiting[edge.to] += 1;
            readers[edge.from].push(edge.to);
        }
    }
    let mut levels = vec![0u32; nodes];
    let mut ready: Vec<usize> = (0..nodes).filter(|&n| waiting[n] == 0).collect();
    let mut done = 0;
    while let Some(node) = ready.pop() {
        done += 1;
        for &reader in &readers[node] {
            levels[reader] = levels[reader].max(levels[node] + 1);
            waiting[reader] -= 1;
            if waiting[reader] == 0 {
                ready.push(reader);
            }
        }
    }
    if done == nodes {
        return Ok(levels);
    }
    // Nodes that only read from a loop wait too, but are no part of it: take them away from the end.
    let mut stuck: Vec<bool> = waiting.iter().map(|&w| w > 0).collect();
    let mut read = vec![0u32; nodes];
    let mut writers: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (i, edge) in edges.iter().enumerate() {
        if keep(i) && stuck[edge.from] && stuck[edge.to] {
            read[edge.from] += 1;
            writers[edge.to].push(edge.from);
        }
    }
    let mut ends: Vec<usize> = (0..nodes).filter(|&n| stuck[n] && read[n] == 0).collect();
    while let Some(node) = ends.pop() {
        stuck[node] = false;
        for &writer in &writers[node] {
            read[writer] -= 1;
            if read[writer] == 0 {
                ends.push(writer);
            }
        }
    }
    Err(stuck)
}

/// Walks backwards from a stuck node until it meets itself.
fn walk(edges: &[Edge], stuck: &[bool]) -> Vec<usize> {
    let Some(mut node) = stuck.iter().position(|&s| s) else {
        return Vec::new();
    };
    let mut seen = vec![usize::MAX; stuck.len()];
    let mut path = Vec::new();
    while seen[node] == usize::MAX {
        seen[node] = path.len();
        path.push(node);
        match edges.iter().find(|e| e.to == node && stuck[e.from]) {
            Some(edge) => node = edge.from,
            None => return path,
        }
    }
    let mut cycle = path[seen[node]..].to_vec();
    cycle.reverse();
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize) -> Edge {
        Edge { from, to, may_break: false }
    }

    #[test]
    fn a_chain_is_ordered_whatever_the_file_order() {
        let order = sort(3, &[edge(2, 1), edge(1, 0)]);
        assert_eq!(order, Order::Levels { levels: vec![2, 1, 0], broken: vec![] });
    }

    #[test]
    fn a_loop_is_named_node_by_node() {
        assert_eq!(
            sort(4, &[edge(0, 1), edge(1, 2), edge(2, 0), edge(2, 3)]),
            Order::Loop(vec![1, 2, 0])
        );
    }

    #[test]
    fn a_sweep_takes_nodes_as_they_stand_and_a_reader_that_asks_for_no_order_as_it_comes() {
        // 1 reads 2 without asking for order and stands before it: it reads the last step's value.
        let free = Edge { from: 2, to: 1, may_break: true };
        assert_eq!(sweep(3, &[edge(1, 0), free], |_| true), Ok(vec![1, 0, 1]));
        // Behind its source it reads the present one.
        let free = Edge { from: 0, to: 1, may_break: true };
        assert_eq!(sweep(2, &[free], |_| true), Ok(vec![0, 1]));
        assert_eq!(sweep(2, &[edge(0, 1), edge(1, 0)], |_| true), Err(vec![1, 0]));
        // Where order is no must, a loop is left as it stands.
        assert_eq!(sweep(2, &[edge(0, 1), edge(1, 0)], |_| false), Ok(vec![0, 1]));
    }

    #[test]
    fn a_loop_is_opened_only_where_an_edge_allows_it() {
        let edges = [
            edge(0, 1),
            edge(1, 2),
            Edge { from: 2, to: 0, may_break: true },
            Edge { from: 2, to: 3, may_break: true },
        ];
        let Order::Levels { levels, broken } = sort(4, &edges) else { panic!("sortable") };
        assert_eq!(broken, [2]);
        assert_eq!(levels, [0, 1, 2, 3]);
    }
}
