//! Step in time.

use fluxline_core::component;
use fluxline_core::component::{Environment, Law, NoConstants, Physics, Refusal};
use fluxline_core::number::Num;

/// A step in time.
///
/// y = y₀ for t < t₀, y₀ + A from then on
#[component("signal.step", s, also = "hopsan:SignalStep")]
pub struct Step {
    /// y₀ — value before the step [–]
    #[input(default = 0, also = "y_0")]
    pub base: f64,
    /// A — height of the step [–]
    #[input(default = 1, also = "y_A")]
    pub amplitude: f64,
    /// t₀ — time of the step [s]
    #[input(default = "1 s", also = "t_step")]
    pub time: f64,
    /// y — signal [–]
    #[output]
    out: Output,
}

/// Half an hour's worth of rounding: a step that falls on a time step is not missed by one ulp.
const TIME_SLACK: f64 = 1e-12;

impl Physics for Step {
    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }
    fn law<T: Num>(_: &NoConstants<T>, law: &mut Law<'_, T>) {
        let early = T::of(law.time * (1.0 + TIME_SLACK)).lt(law.input[Self::TIME]);
        let height = T::select(early, T::zero(), law.input[Self::AMPLITUDE]);
        law.output[Self::OUT] = law.input[Self::BASE] + height;
    }
}
