//! What is looked at and touched while a model runs.

use super::block::{inert, memoryless};
use fluxline_core::component::{ComponentType, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Gauge>(),
    ComponentType::of::<Lamp>(),
    ComponentType::of::<Slider>(),
    ComponentType::of::<Switch>(),
    ComponentType::of::<Display>(),
    ComponentType::of::<NumericalInput>(),
];

/// A gauge that shows a signal.
#[component("hopsan.SignalAnimationGauge", s)]
pub struct Gauge {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// – — end of the scale [any]
    #[parameter(name = "max", default = 1)]
    pub maximum: f64,
}

/// A lamp that shows whether a signal is true.
#[component("hopsan.SignalAnimationLamp", s)]
pub struct Lamp {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
}

/// A slider, whose input is its position from 0 to 1.
///
/// out = min + (max − min)·in
#[component("hopsan.SignalAnimationSlider", s, constants = Range)]
pub struct Slider {
    /// u — position of the slider [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// y_min — output at position 0 [any]
    #[parameter(name = "min", default = 0)]
    pub minimum: f64,
    /// y_max — output at position 1 [any]
    #[parameter(name = "max", default = 1)]
    pub maximum: f64,
    /// y — signal [any]
    #[output]
    out: Output,
}

/// Constants of [`Slider`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Range<T> {
    minimum: T,
    width: T,
}

/// A switch: the output keeps its start value.
#[component("hopsan.SignalAnimationSwitch", s)]
pub struct Switch {
    /// y — signal [any]
    #[output]
    out: Output,
}

/// Shows a number.
#[component("hopsan.SignalDisplay", c)]
pub struct Display {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// – — text beside the number [–]
    #[parameter(default = "")]
    pub description: String,
    /// – — unit that is shown [–]
    #[parameter(default = "")]
    pub unit: String,
    /// – — factor to the unit that is shown [–]
    #[parameter(name = "unitscaling", default = 1)]
    pub scale: f64,
    /// – — digits that are shown at most [–]
    #[parameter(name = "precision", default = 8)]
    pub digits: usize,
    /// – — colour behind the number: red, green, blue [–]
    #[parameter(name = "backgroundcolor", default = "255,255,255")]
    pub background: String,
    /// – — colour of the number: red, green, blue [–]
    #[parameter(name = "textcolor", default = "0,50,80")]
    pub foreground: String,
}

/// A number that is typed in: the output keeps its start value.
#[component("hopsan.SignalNumericalInput", c)]
pub struct NumericalInput {
    /// y — signal [any]
    #[output]
    out: Output,
}

inert! { Gauge Lamp Switch Display NumericalInput }
memoryless!(Slider: Range);

impl Slider {
    fn constants(&self) -> Result<Range<f64>, Refusal> {
        Ok(Range { minimum: self.minimum, width: self.maximum - self.minimum })
    }
    #[inline(always)]
    fn value<T: Num>(k: &Range<T>, io: &Step<'_, T>) -> T {
        k.minimum + k.width * io.input(Self::INPUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::block::sequence;
    use fluxline_core::testing::Bench;

    #[test]
    fn a_slider_spans_its_range() {
        let slider = Slider { input: 0.0, minimum: -2.0, maximum: 6.0 };
        assert_eq!(sequence(&slider, 0.1, &[[0.0], [1.0], [0.25]]), [-2.0, 6.0, 0.0]);
    }

    #[test]
    fn what_is_set_by_hand_keeps_its_start_value() {
        let mut switch = Bench::new(&Switch {}, 0.1);
        switch.state.signals[0] = 1.0;
        assert_eq!(switch.start().step().output(0), 1.0);
        let mut number = Bench::new(&NumericalInput {}, 0.1);
        number.state.signals[0] = 5.0;
        assert_eq!(number.start().step().output(0), 5.0);
    }
}
