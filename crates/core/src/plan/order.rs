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

/// Longest-path levels, or which nodes wait for a loop.
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
    if done == nodes { Ok(levels) } else { Err(waiting.iter().map(|&w| w > 0).collect()) }
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
