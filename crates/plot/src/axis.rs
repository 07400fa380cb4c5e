//! Axes: the range that holds the data, round ticks within it, and their labels.

use crate::text::superscript;

/// Beyond this a value is taken for a diverged run: differences of such values may overflow.
const ABSURD: f64 = 1e300;
/// A range narrower than this, relative to its values, counts as one value: what is left is
/// rounding noise, and ticks would need more digits than are worth reading.
const NARROWEST: f64 = 1e-9;

/// Whether a value can be drawn on a linear axis.
pub(crate) fn is_drawable(value: f64) -> bool {
    value.abs() <= ABSURD
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

/// A range `low < high` in display units, both drawable on `scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
}

/// Ticks of an axis, ascending and inside its range.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ticks {
    /// Position in display units, and label.
    pub major: Vec<(f64, String)>,
    /// Unlabelled lines between the decades of a logarithmic axis.
    pub minor: Vec<f64>,
    /// Labels are to be multiplied by 10 to this power; 0 if they mean what they say.
    pub exponent: i32,
}

impl Scale {
    pub fn of(is_log: bool) -> Self {
        if is_log { Self::Log } else { Self::Linear }
    }

    /// Position along the axis before scaling to its length; `None` is a gap.
    fn position(self, value: f64) -> Option<f64> {
        match self {
            Self::Linear => is_drawable(value).then_some(value),
            // Below 1e-300 lie denormal numbers and the debris of underflow.
            Self::Log => (1.0 / ABSURD..=ABSURD).contains(&value).then(|| value.log10()),
        }
    }

    fn value(self, position: f64) -> f64 {
        match self {
            Self::Linear => position,
            // A margin beyond the drawable range must not end in zero or infinity.
            Self::Log => 10f64.powf(position.clamp(-305.0, 305.0)),
        }
    }
}

impl Axis {
    /// The axis that holds all `values`, widened on both sides by `margin` times its span.
    /// `limits`, where usable, win over the values.
    pub fn fit(
        scale: Scale,
        values: impl Iterator<Item = f64>,
        limits: Option<(f64, f64)>,
        margin: f64,
    ) -> Self {
        let limits = limits.and_then(|(a, b)| Some((scale.position(a)?, scale.position(b)?)));
        let fixed = limits.is_some();
        let (mut low, mut high) = limits.map_or_else(
            || {
                values
                    .filter_map(|value| scale.position(value))
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
                        (low.min(p), high.max(p))
                    })
            },
            |(a, b)| (a.min(b), a.max(b)),
        );
        if low > high {
            (low, high) = (0.0, 1.0); // no data: an empty diagram from 0 to 1, or 1 to 10
        }
        let magnitude = low.abs().max(high.abs());
        if high - low <= magnitude * NARROWEST || high == low {
            let half = match scale {
                Scale::Linear if magnitude < 1.0 / ABSURD => 1.0,
                Scale::Linear => 0.1 * magnitude,
                Scale::Log => 0.5,
            };
            let middle = low + 0.5 * (high - low);
            (low, high) = (middle - half, middle + half);
        } else if !fixed {
            let room = margin * (high - low);
            (low, high) = (low - room, high + room);
        }
        Self { scale, low: scale.value(low), high: scale.value(high) }
    }

    /// Lifts the high end by `share` of the span as drawn.
    pub fn raise(&mut self, share: f64) {
        if let (Some(low), Some(high)) =
            (self.scale.position(self.low), self.scale.position(self.high))
        {
            self.high = self.scale.value(high + share.min(0.5) * (high - low));
        }
    }

    /// Where `value` lies: 0 at the low end, 1 at the high end; `None` is a gap.
    pub fn fraction(&self, value: f64) -> Option<f64> {
        let position = self.scale.position(value)?;
        let (low, high) = match self.scale {
            Scale::Linear => (self.low, self.high),
            Scale::Log => (self.low.log10(), self.high.log10()),
        };
        Some((position - low) / (high - low))
    }

    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// At least two round ticks, and about `wanted` of them.
    pub fn ticks(&self, wanted: usize) -> Ticks {
        let wanted = wanted.clamp(1, 50);
        if self.scale == Scale::Log
            && let Some(ticks) = self.decades(wanted)
        {
            return ticks;
        }
        let (values, step) = round_values(self.low, self.high, wanted);
        let (labels, exponent) = labels(&values, step);
        Ticks { major: values.into_iter().zip(labels).collect(), minor: Vec::new(), exponent }
    }

    /// Powers of ten, if at least two lie in the range; else the range is better served by round
    /// values, as on a linear axis.
    fn decades(&self, wanted: usize) -> Option<Ticks> {
        // The slack keeps a decade whose logarithm was rounded to just outside.
        let first = (self.low.log10() - 1e-9).ceil() as i32;
        let last = (self.high.log10() + 1e-9).floor() as i32;
        if last <= first {
            return None;
        }
        let count = (last - first + 1) as usize;
        let stride = count.div_ceil(wanted.max(2)).max(1) as i32;
        let inside = |value: f64| value.clamp(self.low, self.high);
        let plain = first >= -3 && last <= 4;
        let major: Vec<(f64, String)> = (first..=last)
            .filter(|decade| decade.rem_euclid(stride) == 0)
            .map(|decade| {
                let label = if plain {
                    format!("{:.*}", (-decade).max(0) as usize, 10f64.powi(decade))
                } else {
                    format!("10{}", superscript(decade))
                };
                (inside(10f64.powi(decade)), label)
            })
            .collect();
        if major.len() < 2 {
            return None;
        }
        let minor = if stride > 1 {
            Vec::new()
        } else {
            (first - 1..=last)
                .flat_map(|decade| (2..10).map(move |m| f64::from(m) * 10f64.powi(decade)))
                .filter(|&value| self.contains(value))
                .collect()
        };
        Some(Ticks { major, minor, exponent: 0 })
    }
}

/// Multiples of a step of 1, 2 or 5 times a power of ten that lie in the range, and the step.
fn round_values(low: f64, high: f64, wanted: usize) -> (Vec<f64>, f64) {
    let mut parts = wanted as f64;
    loop {
        let step = round_step((high - low) / parts);
        // The slack keeps an end of the range that is itself a multiple, up to rounding.
        let first = (low / step - 1e-9).ceil();
        let last = (high / step + 1e-9).floor();
        if last > first {
            let count = (last - first) as usize + 1;
            // `+ 0.0` turns a negative zero into zero.
            let values =
                (0..count).map(|i| ((first + i as f64) * step).clamp(low, high) + 0.0).collect();
            return (values, step);
        }
        parts *= 1.5;
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `raw`, or below it by a fifth at
/// most: a few ticks more than wanted read better than half of them.
fn round_step(raw: f64) -> f64 {
    let magnitude = 10f64.powf(raw.log10().floor());
    let factor = raw / magnitude;
    let round = [1.0, 2.0, 5.0].into_iter().find(|&r| factor <= 1.25 * r).unwrap_or(10.0);
    round * magnitude
}

/// Labels with as many digits as the step needs, and the power of ten taken out of them.
fn labels(values: &[f64], step: f64) -> (Vec<String>, i32) {
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let exponent = if (1e-2..1e5).contains(&largest) {
        0
    } else {
        // Powers of 1000, as in engineering notation.
        ((largest.log10() + 1e-9) / 3.0).floor() as i32 * 3
    };
    // Two factors: 10^exponent alone may be denormal.
    let scale = |v: f64| v / 10f64.powi(exponent / 2) / 10f64.powi(exponent - exponent / 2);
    let decimals = (-(scale(step).log10() + 1e-6).floor()).clamp(0.0, 15.0) as usize;
    let labels = values
        .iter()
        .map(|&v| {
            let label = format!("{:.*}", decimals, scale(v) + 0.0);
            // A true minus sign is as wide as the digits' plus, a hyphen is not.
            match label.strip_prefix('-') {
                Some(digits) if digits.bytes().all(|b| matches!(b, b'0' | b'.')) => digits.into(),
                Some(digits) => format!("−{digits}"),
                None => label,
            }
        })
        .collect();
    (labels, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn linear(low: f64, high: f64) -> Axis {
        Axis { scale: Scale::Linear, low, high }
    }

    fn texts(ticks: &Ticks) -> Vec<&str> {
        ticks.major.iter().map(|(_, label)| &**label).collect()
    }

    #[test]
    fn ticks_read_as_an_engineer_would_write_them() {
        assert_eq!(texts(&linear(0.0, 1.0).ticks(5)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&linear(-30.0, 12.0).ticks(3)), ["−20", "0"]);
        let small = linear(0.0, 4e-6).ticks(4);
        assert_eq!((texts(&small), small.exponent), (vec!["0", "1", "2", "3", "4"], -6));
        let large = linear(0.0, 1.6e9).ticks(4);
        assert_eq!((texts(&large), large.exponent), (vec!["0.0", "0.5", "1.0", "1.5"], 9));
    }

    #[test]
    fn a_logarithmic_axis_shows_decades() {
        let axis = Axis::fit(Scale::Log, [0.05, 2000.0].into_iter(), None, 0.0);
        let ticks = axis.ticks(8);
        assert_eq!(texts(&ticks), ["0.1", "1", "10", "100", "1000"]);
        assert!(ticks.minor.contains(&0.06) && ticks.minor.contains(&2.0));
        let wide = Axis::fit(Scale::Log, [1e-12, 1e12].into_iter(), None, 0.0).ticks(6);
        assert!(wide.major.len() <= 7, "{wide:?}");
        assert_eq!(wide.major[0].1, "10⁻¹⁰");
    }

    #[test]
    fn less_than_a_decade_falls_back_to_round_values() {
        let axis = Axis::fit(Scale::Log, [2.0, 8.0].into_iter(), None, 0.0);
        assert!(axis.ticks(5).major.len() >= 3);
    }

    #[test]
    fn one_value_gets_room_on_both_sides() {
        for value in [0.0, 160.0, -3e-9, 1e299] {
            let axis = Axis::fit(Scale::Linear, [value, value].into_iter(), None, 0.05);
            assert!(axis.low < value && value < axis.high, "{axis:?}");
        }
    }

    #[test]
    fn unusable_values_and_limits_do_not_matter() {
        let values = [f64::NAN, f64::INFINITY, -1e301, 3.0, 5.0];
        let axis = Axis::fit(Scale::Linear, values.into_iter(), Some((f64::NAN, 1.0)), 0.0);
        assert_eq!((axis.low, axis.high), (3.0, 5.0));
        let axis = Axis::fit(Scale::Log, [-1.0, 0.0, 1.0, 100.0].into_iter(), None, 0.0);
        assert!((axis.low - 1.0).abs() < 1e-12 && (axis.high - 100.0).abs() < 1e-10);
        assert_eq!(axis.fraction(-1.0), None);
    }

    fn any_value() -> impl Strategy<Value = f64> {
        prop_oneof![
            -1e3..1e3f64,
            any::<f64>(),
            (-300..300i32, 1.0..10.0f64).prop_map(|(e, m)| m * 10f64.powi(e)),
        ]
    }

    proptest! {
        #[test]
        fn ticks_are_round_ascending_and_inside_the_range(
            a in any_value(), b in any_value(), wanted in 1usize..20, is_log: bool,
        ) {
            let axis = Axis::fit(Scale::of(is_log), [a, b].into_iter(), None, 0.05);
            prop_assert!(axis.low < axis.high, "{axis:?}");
            let ticks = axis.ticks(wanted);
            let values: Vec<f64> = ticks.major.iter().map(|t| t.0).collect();
            prop_assert!(values.len() >= 2 && values.len() <= wanted.max(4) * 5 / 4 + 2, "{values:?}");
            for pair in values.windows(2) {
                prop_assert!(pair[0] < pair[1], "{values:?}");
            }
            for &value in values.iter().chain(&ticks.minor) {
                prop_assert!(axis.contains(value), "{value} outside {axis:?}");
            }
            if !is_log {
                let step = (values[values.len() - 1] - values[0]) / (values.len() - 1) as f64;
                let mantissa = step / 10f64.powf((step.log10() + 1e-9).floor());
                prop_assert!(
                    [1.0, 2.0, 5.0, 10.0].iter().any(|r| (mantissa / r - 1.0).abs() < 1e-4),
                    "step {step} of {values:?}"
                );
            }
            let mut labels: Vec<_> = ticks.major.iter().map(|t| t.1.clone()).collect();
            labels.dedup();
            prop_assert_eq!(labels.len(), values.len(), "labels repeat: {:?}", labels);
        }

        #[test]
        fn the_fitted_axis_holds_its_data(a in any_value(), b in any_value()) {
            let axis = Axis::fit(Scale::Linear, [a, b].into_iter(), None, 0.0);
            for value in [a, b] {
                if let Some(fraction) = axis.fraction(value) {
                    prop_assert!((-1e-6..=1.0 + 1e-6).contains(&fraction));
                }
            }
        }
    }
}
