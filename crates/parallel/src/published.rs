//! The published example: a hydrostatic transmission on transputers (Pollmeier, chapter 5).
//!
//! The connection matrix (Figure 5.5) and the times of communication (Figure 5.6) are legible; the
//! calculation times of the components (Figure 5.7) are not. They are taken as equal, and together
//! as the 1.1 ms that one processor of 20 MHz needs for a step (section 5.5.3): 22 000 clock cycles.

use crate::graph::Graph;
use crate::load::{Crowd, Links, Price, Reach};

/// Clock cycles of a step on one processor.
pub const SERIAL_CYCLES: f64 = 22_000.0;

/// Joined components, from 1, as in the lower triangle of Figure 5.5.
const JOINED: [(u32, u32); 21] = [
    (3, 2),
    (4, 1),
    (5, 4),
    (6, 3),
    (6, 5),
    (7, 6),
    (8, 1),
    (8, 7),
    (9, 6),
    (10, 9),
    (11, 10),
    (12, 9),
    (13, 4),
    (14, 13),
    (15, 12),
    (15, 14),
    (16, 15),
    (17, 8),
    (17, 16),
    (18, 13),
    (18, 17),
];

/// The transmission of Figure 5.2, so many times side by side: 18 tasks each, of which the first and
/// the last are two components that a signal joins. Work is in clock cycles.
pub fn transmission(copies: u32) -> Graph {
    let each = SERIAL_CYCLES / 20.0;
    let mut work = Vec::new();
    let mut edges = Vec::new();
    for copy in 0..copies {
        work.extend((1..=18).map(|task| if task == 1 || task == 18 { 2.0 * each } else { each }));
        let at = |task: u32| 18 * copy + task - 1;
        edges.extend(JOINED.iter().map(|&(a, b)| (at(a), at(b), 1.0)));
    }
    Graph::new(work, edges)
}

/// The platform of Figure 5.4: processors in a pipeline exchange directly, all others through a
/// switch. Each pair of joined components has a message of its own.
pub fn transputers() -> Links {
    Links {
        near: Price { line: 277.0, edge: 432.0, neighbour: 0.0 },
        far: Price { line: 287.0, edge: 532.0, neighbour: 0.0 },
        reach: Reach::Chain,
        crowd: Crowd::default(),
    }
}
