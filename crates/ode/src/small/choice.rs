//! Which volumes are small.

/// What a time constant is short against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reference {
    /// A step, s: a state that settles many times within one step cannot be followed by it anyway.
    Step(f64),
    /// The fastest of the states that would remain.
    Remaining,
}

/// What was found about a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmallState {
    /// The state.
    pub state: usize,
    /// −1/J_ii, s; infinite where the state does not pull itself back.
    pub time_constant: f64,
    /// What it was compared with, s.
    pub reference: f64,
    /// time_constant/reference: what is lost by replacing it is of this order, per step or against the
    /// fastest motion that remains.
    pub ratio: f64,
    /// Small enough by the rule.
    pub is_small: bool,
}

/// Judges candidates by the diagonal of the Jacobian.
///
/// A state with the time constant τ_i = −1/J_ii lags τ_i behind its steady value. It is small when
/// τ_i ≤ `threshold`·reference. With [`Reference::Remaining`] the reference is the shortest time
/// constant among all states that are not themselves found small; the largest set of candidates for
/// which this holds is taken, so that volumes of one size are small together or not at all. (Åman,
/// thesis, Lappeenranta University of Technology, 2011, section 2.3, asks for capacitances "orders of
/// magnitude" apart, which for throttles of one size is the same; a threshold of 0.1 is one order,
/// 0.01 two.)
///
/// Every candidate is answered, the fastest first, so that a warning can say by how much one misses.
pub fn small_states(
    diagonal: &[f64],
    candidates: &[usize],
    reference: Reference,
    threshold: f64,
) -> Vec<SmallState> {
    let time_constant = |state: usize| {
        let rate = diagonal.get(state).copied().unwrap_or(0.0);
        if rate < 0.0 { -1.0 / rate } else { f64::INFINITY }
    };
    let mut order: Vec<usize> = Vec::with_capacity(candidates.len());
    for &state in candidates {
        if !order.contains(&state) {
            order.push(state);
        }
    }
    order.sort_by(|&a, &b| time_constant(a).total_cmp(&time_constant(b)));
    let others = (0..diagonal.len())
        .filter(|state| !order.contains(state))
        .map(time_constant)
        .fold(f64::INFINITY, f64::min);
    // With the first `taken` candidates gone, the fastest that remains.
    let remaining =
        |taken: usize| order.get(taken).map_or(others, |&state| time_constant(state).min(others));
    let compared = |taken: usize| match reference {
        Reference::Step(step) => step,
        Reference::Remaining => remaining(taken),
    };
    let taken = (0..=order.len())
        .rev()
        .find(|&taken| {
            taken == 0 || {
                let slowest = time_constant(order[taken - 1]);
                slowest.is_finite() && slowest <= threshold * compared(taken)
            }
        })
        .unwrap_or(0);
    order
        .iter()
        .enumerate()
        .map(|(place, &state)| {
            // One that is not small is compared with what would remain if it were taken as well.
            let reference = compared(taken.max(place + 1));
            let time_constant = time_constant(state);
            let ratio =
                if time_constant.is_infinite() { f64::INFINITY } else { time_constant / reference };
            SmallState { state, time_constant, reference, ratio, is_small: place < taken }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Reference, small_states};

    #[test]
    fn volumes_of_one_size_are_small_together() {
        // Two at 10 µs, one at 5 ms, a spool at 2 ms, an integrator.
        let diagonal = [-1e5, -0.9e5, -200.0, -500.0, 0.0];
        let found = small_states(&diagonal, &[2, 1, 0, 4], Reference::Remaining, 0.1);
        let states: Vec<(usize, bool)> = found.iter().map(|s| (s.state, s.is_small)).collect();
        assert_eq!(states, [(0, true), (1, true), (2, false), (4, false)]);
        assert!((found[1].ratio - 500.0 / 0.9e5).abs() < 1e-15);
        // The third is slower than the spool that remains: 2.5 times.
        assert!((found[2].ratio - 2.5).abs() < 1e-12);
        assert_eq!(found[3].ratio, f64::INFINITY);
    }

    #[test]
    fn against_a_step_each_stands_for_itself() {
        let found = small_states(&[-1e5, -1e4], &[0, 1], Reference::Step(1e-3), 0.05);
        assert!(found[0].is_small && !found[1].is_small);
        assert!((found[1].ratio - 0.1).abs() < 1e-15);
    }

    #[test]
    fn without_slow_states_all_are_small() {
        let found = small_states(&[-1.0], &[0], Reference::Remaining, 0.1);
        assert!(found[0].is_small);
        assert!(small_states(&[], &[3], Reference::Remaining, 0.1)[0].ratio.is_infinite());
    }
}
