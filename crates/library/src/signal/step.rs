//! Step in time.

use super::block::memoryless;
use super::time::{first_ahead, reached};
use fluxline_core::component::Refusal;
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// A step in time.
///
/// y = y₀ for t < t₀, y₀ + A from then on
#[component("signal.step", s, constants = StepConstants, also = "hopsan:SignalStep")]
pub struct Step {
    /// y₀ — value before the step [any]
    #[input(default = 0, also = "y_0")]
    pub base: f64,
    /// A — height of the step [any]
    #[input(default = 1, also = "y_A")]
    pub amplitude: f64,
    /// t₀ — time of the step [s]
    #[input(default = "1 s", also = "t_step")]
    pub time: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// Constants of [`Step`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct StepConstants<T> {
    /// t₀ where no signal drives it: integration stops there.
    time: T,
}

memoryless!(Step: StepConstants, events);

impl Step {
    fn constants(&self) -> Result<StepConstants<f64>, Refusal> {
        Ok(StepConstants { time: self.time })
    }
    fn event_after(k: &StepConstants<f64>, time: f64) -> f64 {
        first_ahead(time, [k.time])
    }
    #[inline(always)]
    fn value<T: Num>(_: &StepConstants<T>, time: f64, u: impl Fn(usize) -> T) -> T {
        let height = T::select(reached(time, u(Self::TIME)), u(Self::AMPLITUDE), T::zero());
        u(Self::BASE) + height
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::Source;

    #[test]
    fn step_is_seen_at_its_own_time_and_not_before() {
        let step = Step { base: 2.0, amplitude: 3.0, time: 0.3 };
        // 3·0.1 is above 0.3, 0.3·3 below 0.9: neither may shift the step.
        let values = Source::with(&step, &[2.0, 3.0, 0.3], 0.1).values(4);
        assert_eq!(values, [2.0, 2.0, 2.0, 5.0, 5.0]);
        let values = Source::with(&step, &[2.0, 3.0, 0.9], 0.3).values(4);
        assert_eq!(values, [2.0, 2.0, 2.0, 5.0, 5.0]);
        let values = Source::with(&step, &[2.0, 3.0, 0.0], 0.1).values(1);
        assert_eq!(values, [5.0, 5.0], "a step at the start is seen at the start");
    }
}
