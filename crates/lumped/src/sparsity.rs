//! Which rates depend on which states, and how few sweeps give all derivatives.

use crate::frame::Op;
use crate::layout::{Layout, Place};
use crate::schedule::{Graph, Schedule};
use fluxline_core::gradient::DIRECTIONS;
use fluxline_ode::Pattern;
use std::rc::Rc;

/// One sweep of gradients: the states it follows and the entries it gives.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// State and direction.
    pub seeds: Vec<(u32, u8)>,
    /// Entry of the pattern, row (state whose rate it is), direction.
    pub entries: Vec<(u32, u32, u8)>,
}

/// The structure of ∂f/∂x.
pub fn pattern(graph: &Graph, schedule: &Schedule, layout: &Layout) -> Pattern {
    // States that each place depends on.
    let size = graph.producers.len();
    let empty: Rc<[u32]> = Rc::from([]);
    let mut sets: Vec<Rc<[u32]>> = vec![empty; size];
    for (index, &(component, state)) in layout.states.iter().enumerate() {
        let place = layout.blocks[component as usize].state(state as usize);
        sets[place as usize] = Rc::from([index as u32]);
    }
    let union = |sets: &[Rc<[u32]>], places: &[Place]| -> Rc<[u32]> {
        let mut used = places.iter().map(|&p| &sets[p as usize]).filter(|set| !set.is_empty());
        let Some(first) = used.next() else { return Rc::from([]) };
        let rest: Vec<_> = used.filter(|set| !Rc::ptr_eq(set, first)).collect();
        if rest.is_empty() {
            return first.clone();
        }
        let mut all = first.to_vec();
        rest.into_iter().for_each(|set| all.extend_from_slice(set));
        all.sort_unstable();
        all.dedup();
        all.into()
    };
    for item in &schedule.items {
        match item.op {
            Op::Solve(cluster) => {
                let set = union(&sets, &schedule.clusters[cluster as usize].needs);
                for &place in &item.provides {
                    sets[place as usize] = set.clone();
                }
            }
            _ => {
                for &place in &item.provides {
                    sets[place as usize] = union(&sets, &graph.needs[place as usize]);
                }
            }
        }
    }
    let rates = layout
        .states
        .iter()
        .map(|&(component, state)| layout.blocks[component as usize].rate(state as usize));
    let entries = rates.enumerate().flat_map(|(row, rate)| {
        let set = sets[rate as usize].clone();
        (0..set.len()).map(move |i| (row, set[i] as usize))
    });
    // The diagonal is always there: solvers add to it.
    let diagonal = (0..layout.states.len()).map(|i| (i, i));
    Pattern::new(layout.states.len(), entries.chain(diagonal))
}

/// Columns without common rows share a direction (Curtis, Powell and Reid, 1974).
pub fn sweeps(pattern: &Pattern) -> Vec<Sweep> {
    let size = pattern.size();
    let mut by_row: Vec<Vec<u32>> = vec![Vec::new(); size];
    for column in 0..size {
        for &row in &pattern.rows()[pattern.column(column)] {
            by_row[row].push(column as u32);
        }
    }
    let mut colour = vec![u32::MAX; size];
    let mut used_by: Vec<u32> = Vec::new();
    let mut colours = 0;
    for column in 0..size {
        for &row in &pattern.rows()[pattern.column(column)] {
            for &other in &by_row[row] {
                let c = colour[other as usize];
                if c != u32::MAX {
                    used_by[c as usize] = column as u32;
                }
            }
        }
        let free = used_by.iter().position(|&by| by != column as u32);
        let c = free.unwrap_or_else(|| {
            used_by.push(u32::MAX);
            colours += 1;
            colours - 1
        });
        colour[column] = c as u32;
    }
    let mut sweeps = vec![Sweep::default(); colours.div_ceil(DIRECTIONS)];
    for column in 0..size {
        let (sweep, direction) =
            (colour[column] as usize / DIRECTIONS, (colour[column] as usize % DIRECTIONS) as u8);
        let sweep = &mut sweeps[sweep];
        sweep.seeds.push((column as u32, direction));
        for place in pattern.column(column) {
            sweep.entries.push((place as u32, pattern.rows()[place] as u32, direction));
        }
    }
    sweeps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_any_length_takes_one_sweep() {
        let n = 1000;
        let neighbours = (0..n).flat_map(|i| [i.max(1) - 1, i, (i + 1).min(n - 1)].map(|j| (i, j)));
        let pattern = Pattern::new(n, neighbours);
        let sweeps = sweeps(&pattern);
        assert_eq!(sweeps.len(), 1);
        assert_eq!(sweeps[0].entries.len(), pattern.len());
    }
}
