//! Eigenvalues of matrices whose entries span many orders of size.

use nalgebra::linalg::balancing::balance_parlett_reinsch;
use nalgebra::{Complex, DMatrix, Schur};

/// A full matrix.
pub type Dense = DMatrix<f64>;

/// All eigenvalues; `None` where the iteration does not end.
///
/// What does not act on each other mutually is separated first, which is exact: delays outside of
/// loops then are eigenvalues of exactly 0, where an iteration would scatter them around it. Each
/// block is balanced (Parlett and Reinsch, Numerische Mathematik 13, 1969).
pub fn eigenvalues(matrix: &Dense) -> Option<Vec<Complex<f64>>> {
    let mut all = Vec::with_capacity(matrix.nrows());
    for block in blocks(matrix) {
        if let [only] = block[..] {
            all.push(Complex::new(matrix[(only, only)], 0.0));
            continue;
        }
        let size = block.len();
        let mut part = Dense::from_fn(size, size, |i, j| matrix[(block[i], block[j])]);
        balance_parlett_reinsch(&mut part);
        let schur = Schur::try_new(part, f64::EPSILON, 100 * size)?;
        all.extend(schur.complex_eigenvalues().iter());
    }
    Some(all)
}

/// Strongly connected parts (Tarjan, SIAM Journal on Computing 1, 1972), without recursion.
fn blocks(matrix: &Dense) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let size = matrix.nrows();
    let acts_on: Vec<Vec<usize>> =
        (0..size).map(|j| (0..size).filter(|&i| matrix[(i, j)] != 0.0).collect()).collect();
    let (mut order, mut low) = (vec![UNSEEN; size], vec![0; size]);
    let mut is_open = vec![false; size];
    let (mut open, mut found) = (Vec::new(), Vec::new());
    let mut count = 0;
    for first in 0..size {
        if order[first] != UNSEEN {
            continue;
        }
        let mut walk = vec![(first, 0)];
        while let Some(&mut (at, ref mut next)) = walk.last_mut() {
            if *next == 0 {
                (order[at], low[at]) = (count, count);
                count += 1;
                open.push(at);
                is_open[at] = true;
            }
            if let Some(&to) = acts_on[at].get(*next) {
                *next += 1;
                if order[to] == UNSEEN {
                    walk.push((to, 0));
                } else if is_open[to] {
                    low[at] = low[at].min(order[to]);
                }
                continue;
            }
            walk.pop();
            if let Some(&(before, _)) = walk.last() {
                low[before] = low[before].min(low[at]);
            }
            if low[at] == order[at] {
                let mut block = Vec::new();
                while let Some(member) = open.pop() {
                    is_open[member] = false;
                    block.push(member);
                    if member == at {
                        break;
                    }
                }
                block.sort_unstable();
                found.push(block);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_delays_has_eigenvalues_of_exactly_zero_beside_those_of_a_loop() {
        // A rotation by 0.3 rad that drives twenty delays.
        let mut matrix = Dense::zeros(22, 22);
        let (sin, cos) = 0.3f64.sin_cos();
        for (i, j, x) in [(0, 0, cos), (0, 1, -sin), (1, 0, sin), (1, 1, cos), (2, 1, 1e9)] {
            matrix[(i, j)] = x;
        }
        for i in 3..22 {
            matrix[(i, i - 1)] = 1.0;
        }
        let all = eigenvalues(&matrix).unwrap();
        let (zero, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|z| z.norm() == 0.0);
        assert_eq!((zero.len(), rest.len()), (20, 2));
        assert!(rest.iter().all(|z| (z.arg().abs() - 0.3).abs() < 1e-14));
    }
}
