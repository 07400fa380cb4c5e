//! States that stop at limits: spools, integrators, bodies.
//!
//! In the wave method a step ends at the stop. A solver of the lumped view goes by rates alone: at a
//! stop or past it nothing moves further out, and after a step that ran past it the state is put
//! back; until then a position past the stop counts as one at the stop. The rates of what leaves the
//! stop are those of free motion, so nothing sticks to it.

use fluxline_core::number::Num;

/// The rate of a state that stops at both ends of a range: none outwards.
#[inline(always)]
pub(crate) fn hold_rate<T: Num>(value: T, rate: T, (low, high): (T, T)) -> T {
    let outwards = (value.ge(high) & rate.gt(T::zero())) | (value.le(low) & rate.lt(T::zero()));
    T::select(outwards, T::zero(), rate)
}

/// Velocity and acceleration of a position that stops at both ends of a range.
///
/// Nothing moves outwards there. While a force presses outwards, what velocity is left fades with the
/// rate `fade`, 1/s.
#[inline(always)]
pub(crate) fn hold_motion<T: Num>(x: T, v: T, a: T, (low, high): (T, T), fade: T) -> (T, T) {
    let zero = T::zero();
    let (rear, front) = (x.le(low), x.ge(high));
    let stopped = (rear & v.lt(zero)) | (front & v.gt(zero));
    let pressed = (rear & v.le(zero) & a.lt(zero)) | (front & v.ge(zero) & a.gt(zero));
    (T::select(stopped, zero, v), T::select(pressed, -(v * fade), a))
}

/// Puts a state that ran out of a range back onto its end.
pub(crate) fn settle_rate(value: &mut f64, (low, high): (f64, f64)) {
    *value = Num::clamp(*value, low, high);
}

/// Puts a position that ran out of a range back onto its end, and stops what moves outwards there.
/// Position and velocity are states by index.
pub(crate) fn settle_motion(state: &mut [f64], [x, v]: [usize; 2], range: (f64, f64)) {
    settle_rate(&mut state[x], range);
    let (rear, front) = (state[x] <= range.0, state[x] >= range.1);
    if (rear && state[v] < 0.0) || (front && state[v] > 0.0) {
        state[v] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_out_of_a_range_and_all_moves_in() {
        let range = (-1.0, 2.0);
        for (value, rate, expected) in [
            (0.0, 5.0, 5.0),
            (2.0, 5.0, 0.0),
            (2.5, 5.0, 0.0),
            (2.5, -5.0, -5.0),
            (-1.0, -5.0, 0.0),
            (-3.0, 5.0, 5.0),
        ] {
            assert_eq!(hold_rate(value, rate, range), expected);
            let (velocity, _) = hold_motion(value, rate, 0.0, range, 0.0);
            assert_eq!(velocity, expected);
        }
    }

    #[test]
    fn a_force_outwards_is_taken_by_the_stop_and_a_force_inwards_is_not() {
        let range = (0.0, 1.0);
        assert_eq!(hold_motion(1.0, 0.0, 3.0, range, 10.0), (0.0, 0.0));
        assert_eq!(hold_motion(1.0, 0.0, -3.0, range, 10.0), (0.0, -3.0));
        // what velocity is left fades, whether or not a force presses
        assert_eq!(hold_motion(1.0, 0.5, 3.0, range, 10.0), (0.0, -5.0));
        assert_eq!(hold_motion(1.0, 0.5, -3.0, range, 10.0), (0.0, -3.0));
        assert_eq!(hold_motion(0.0, 0.5, -3.0, range, 10.0), (0.5, -3.0));
    }

    #[test]
    fn settling_is_done_after_once() {
        for (x0, v0) in [(1.5, 2.0), (1.5, -2.0), (-0.5, -2.0), (0.5, 2.0), (1.0, 1.0), (0.0, 0.0)]
        {
            let mut state = [x0, v0];
            settle_motion(&mut state, [0, 1], (0.0, 1.0));
            let [x, v] = state;
            assert!((0.0..=1.0).contains(&x));
            assert!(v == v0 || v == 0.0);
            settle_motion(&mut state, [0, 1], (0.0, 1.0));
            assert_eq!(state, [x, v]);
        }
    }
}
