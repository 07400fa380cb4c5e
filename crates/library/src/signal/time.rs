//! When things happen: decisions on time that rounding does not upset.
//!
//! Time is start + n·step, so an event meant for a step may lie an ulp beside it. All sources decide
//! on a time that is ahead by a relative 10⁻¹². An event is past where it counts as reached, so that a
//! solver that stops at each next event meets none of them twice.

use fluxline_core::number::Num;

/// Some thousand ulps; 4 ns after an hour.
const SLACK: f64 = 1e-12;

/// Time with the slack.
#[inline(always)]
pub(super) fn ahead(time: f64) -> f64 {
    time + time.abs() * SLACK
}

/// The same as a number of any kind, computed in it.
#[inline(always)]
fn just_ahead<T: Num>(time: f64) -> T {
    let time = T::of(time);
    time + time.abs() * SLACK
}

/// True from the time of an event on.
#[inline(always)]
pub(super) fn reached<T: Num>(time: f64, event: T) -> T::Mask {
    event.le(just_ahead(time))
}

/// Whole periods that have begun since `start`, less one: 0 in the first, negative before.
#[inline(always)]
pub(super) fn interval<T: Num>(time: f64, start: T, frequency: T) -> T {
    ((just_ahead::<T>(time) - start) * frequency).floor()
}

/// Position within the present period, 0 (included) to 1.
#[inline(always)]
pub(super) fn phase<T: Num>(time: f64, start: T, frequency: T) -> T {
    let cycles = (T::of(time) - start) * frequency;
    (cycles - interval(time, start, frequency)).max(T::zero())
}

/// The first of some times that is not reached yet; never when there is none.
pub(super) fn first_ahead(time: f64, events: impl IntoIterator<Item = f64>) -> f64 {
    let now = ahead(time);
    events.into_iter().filter(|&event| event > now).fold(f64::INFINITY, f64::min)
}

/// The first time start + (n + share)·period that is not reached yet, for n from `first` on and any
/// of the shares, 0 (included) to 1.
pub(super) fn next_in_period(
    time: f64,
    (start, period): (f64, f64),
    first: f64,
    shares: &[f64],
) -> f64 {
    // One period more than needed, should rounding have taken one too few for begun.
    let begun = ((ahead(time) - start) / period).floor().max(first);
    let in_period = |n: f64| shares.iter().map(move |share| start + (n + share) * period);
    first_ahead(time, [0.0, 1.0, 2.0].into_iter().flat_map(|more| in_period(begun + more)))
}

/// Time since `start`, 0 before.
#[inline(always)]
pub(super) fn elapsed<T: Num>(time: f64, start: T) -> T {
    (T::of(time) - start).max(T::zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// An event written as a decimal number is seen in the step it belongs to, not one later.
        #[test]
        fn events_on_the_grid_are_not_missed(n in 0u32..10_000_000, decimals in 1i32..6) {
            let step = 10f64.powi(-decimals);
            let event: f64 = format!("{n}e-{decimals}").parse().expect("a number");
            prop_assert!(reached(f64::from(n) * step, event));
            prop_assert!(!reached((f64::from(n) - 1.0) * step, event));
        }

        #[test]
        fn periods_on_the_grid_are_counted(n in 0u32..1_000_000, every in 1u32..50) {
            let step = 1e-4;
            let index = interval(f64::from(n) * step, 0.0, 1.0 / (f64::from(every) * step));
            prop_assert_eq!(index, f64::from(n / every));
        }
    }
}
