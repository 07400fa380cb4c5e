//! Limits, delays and other blocks without a transfer function.

use super::block::memoryless;
use crate::same::same_as;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use fluxline_library::signal::hysteresis::Hysteresis;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Saturation>(),
    ComponentType::of::<DeadZone>(),
    ComponentType::of::<RateLimiter>(),
    ComponentType::of::<Segment>(),
    ComponentType::of::<SegmentWidth>(),
    ComponentType::of::<UnitDelay>(),
    ComponentType::of::<TimeDelay>(),
    ComponentType::of::<VariableTimeDelay>(),
    ComponentType::of::<SampleAndHold>(),
    same_as!(
        "SignalHysteresis",
        Hysteresis,
        "Play: the output stays until the signal has moved by half the width.\n\nout is held between in − y_h/2 and in + y_h/2; it starts at in",
        ["in" = "input", "y_h" = "width"("1")]
    ),
];

memoryless! { Saturation DeadZone Segment SegmentWidth }

/// Holds a signal between two limits.
///
/// out = in, at most y_upper, at least y_lower; where the limits cross, the upper one is looked at
/// first
#[component("hopsan.SignalSaturation", s)]
pub struct Saturation {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// y_upper — upper limit [any]
    #[input(name = "y_upper", default = 1)]
    pub maximum: f64,
    /// y_lower — lower limit [any]
    #[input(name = "y_lower", default = -1)]
    pub minimum: f64,
    /// y — limited signal [any]
    #[output]
    out: Output,
}

impl Saturation {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let (u, low, high) =
            (io.input(Self::INPUT), io.input(Self::MINIMUM), io.input(Self::MAXIMUM));
        T::select(u.gt(high), high, T::select(u.lt(low), low, u))
    }
}

/// A band in which nothing passes.
///
/// out = in − u_dstart below the band, 0 within, in − u_dend above
///
/// A signal exactly at the lower end counts as above, as it does in Hopsan.
#[component("hopsan.SignalDeadZone", s)]
pub struct DeadZone {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// u_dstart — lower end of the band [any]
    #[input(name = "u_dstart", default = -1)]
    pub lower: f64,
    /// u_dend — upper end of the band [any]
    #[input(name = "u_dend", default = 1)]
    pub upper: f64,
    /// y — what passes [any]
    #[output]
    out: Output,
}

impl DeadZone {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        let (u, lower, upper) =
            (io.input(Self::INPUT), io.input(Self::LOWER), io.input(Self::UPPER));
        let within = u.gt(lower) & u.lt(upper);
        let above = T::select(within, T::zero(), u - upper);
        T::select(u.lt(lower), u - lower, above)
    }
}

/// Height of a circle's segment, held between 0 and the diameter.
#[inline(always)]
fn height<T: Num>(x: T, diameter: T) -> T {
    T::select(x.lt(T::zero()), T::zero(), T::select(x.gt(diameter), diameter, x))
}

/// Area of a segment of that height.
#[wide]
#[inline(always)]
fn area<T: Num>(x: T, diameter: T) -> T {
    height(x, diameter).apply2(diameter, |x, d| {
        if d == 0.0 {
            return (0.0, 0.0, 0.0);
        }
        let half_chord = ((d - x) * x).max(0.0).sqrt();
        let area = 0.25 * d * d * (1.0 - 2.0 * x / d).acos() - (0.5 * d - x) * half_chord;
        // An area is of second degree: x·∂A/∂x + d·∂A/∂d = 2·A.
        (area, 2.0 * half_chord, 2.0 * (area - x * half_chord) / d)
    })
}

/// Width of its chord.
#[inline(always)]
fn width<T: Num>(x: T, diameter: T) -> T {
    let height = height(x, diameter);
    ((diameter - height) * height).sqrt() * 2.0
}

/// Area of the segment of a circle: the opening of a round hole.
///
/// area = d²/4·acos(1 − 2·x/d) − (d/2 − x)·√(x·(d − x)), 0 ≤ x ≤ d
#[component("hopsan.SignalSegare", s)]
pub struct Segment {
    /// x — height of the segment [any]
    #[input(name = "x", default = 0)]
    pub height: f64,
    /// d — diameter of the circle [any]
    #[input(name = "diameter", default = 0)]
    pub diameter: f64,
    /// A — area of the segment [any]
    #[output(name = "area")]
    out: Output,
}

impl Segment {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        area(io.input(Self::HEIGHT), io.input(Self::DIAMETER))
    }
}

/// Width of the segment of a circle: how fast the opening of a round hole grows.
///
/// width = 2·√(x·(d − x)), 0 ≤ x ≤ d
#[component("hopsan.SignalDxSegare", s)]
pub struct SegmentWidth {
    /// x — height of the segment [any]
    #[input(name = "x", default = 0)]
    pub height: f64,
    /// d — diameter of the circle [any]
    #[input(name = "diameter", default = 0)]
    pub diameter: f64,
    /// w — width of the segment [any]
    #[output(name = "width")]
    out: Output,
}

impl SegmentWidth {
    #[inline(always)]
    fn value<T: Num>(io: &Step<'_, T>) -> T {
        width(io.input(Self::HEIGHT), io.input(Self::DIAMETER))
    }
}

/// Limits how fast a signal may change.
///
/// d = in − out₋;  out = in, or out₋ + c·T where |d|/T > |c|, with c = c_up for d ≥ 0, else c_down
///
/// Starts at its input.
#[component("hopsan.SignalRateLimiter", s)]
pub struct RateLimiter {
    /// c_up — fastest rise per second [any]
    #[input(name = "c_up", default = 1)]
    pub rising: f64,
    /// c_down — fastest fall per second, negative [any]
    #[input(name = "c_down", default = -1)]
    pub falling: f64,
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// y — signal that changes slowly enough [any]
    #[output]
    out: Output,
}

impl Physics for RateLimiter {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        io.set_output(Self::OUT, io.input(Self::INPUT));
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (input, out) = (io.input(Self::INPUT), io.output(Self::OUT));
        let difference = input - out;
        let rises = difference.ge(T::zero());
        let rate = T::select(rises, io.input(Self::RISING), io.input(Self::FALLING));
        let too_fast = (difference.abs() / io.dt).gt(rate.abs());
        io.set_output(Self::OUT, T::select(too_fast, out + rate * io.dt, input));
    }
}

/// Copies a signal, and imposes no order on its source.
///
/// out = in
///
/// It delays by one step where it runs before its source, as it does in a signal loop, and not at
/// all behind it.
#[component("hopsan.SignalUnitDelay", s)]
pub struct UnitDelay {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// y — signal of this step or of the last [any]
    #[output]
    out: Output,
}

impl Physics for UnitDelay {
    const HAS_LAW: bool = false;
    const NO_FEEDTHROUGH: &'static [usize] = &[Self::INPUT];

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        io.set_output(Self::OUT, io.input(Self::INPUT));
    }
}

/// The most steps a delay may span: 80 MB of history.
const MOST_STEPS: f64 = 1e7;

/// Whole steps nearest to a time.
fn whole_steps(time: f64, step: f64) -> f64 {
    (time / step + 0.5).floor()
}

/// Dead time of a whole number of steps, at least one.
///
/// outₙ = inₙ₋ₖ, k = ⌊Δt/T + ½⌋; the first input until then
#[component("hopsan.SignalTimeDelay", s, constants = TimeDelayConstants)]
pub struct TimeDelay {
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// Δt — dead time [s]
    #[parameter(name = "deltat", default = "1 s")]
    pub delay: f64,
    /// y — delayed signal [any]
    #[output]
    out: Output,
}

/// Constants of [`TimeDelay`] in steps.
#[derive(Clone, Copy, Debug, Constants)]
pub struct TimeDelayConstants<T> {
    steps: usize,
    number: NoConstants<T>,
}

impl Physics for TimeDelay {
    const HAS_LAW: bool = false;

    fn prepare(&self, environment: &Environment) -> Result<TimeDelayConstants<f64>, Refusal> {
        let steps = whole_steps(self.delay, environment.step);
        if steps > MOST_STEPS {
            return Err(Refusal::new(
                "deltat",
                format!(
                    "a dead time of {} s is {steps:.0} steps of {} s; at most {MOST_STEPS} are kept",
                    self.delay, environment.step
                ),
                "shorten the dead time or take a larger step",
            ));
        }
        let steps = steps.max(1.0) as usize;
        Ok(TimeDelayConstants { steps, number: NoConstants::new() })
    }

    fn history(k: &TimeDelayConstants<f64>) -> usize {
        k.steps
    }

    fn start<T: Num>(_: &TimeDelayConstants<T>, io: &mut Step<'_, T>) {
        let input = io.input(Self::INPUT);
        io.history().fill(input);
        io.set_output(Self::OUT, input);
    }

    #[inline(always)]
    fn step<T: Num>(k: &TimeDelayConstants<T>, io: &mut Step<'_, T>) {
        let place = io.tick() as usize % k.steps;
        let oldest = io.history_at(place);
        io.history()[place] = io.input(Self::INPUT);
        io.set_output(Self::OUT, oldest);
    }
}

/// Steps that are kept for a delay that a signal drives, when its own value does not ask for more.
const KEPT_STEPS: f64 = 1e5;

/// Dead time that may change.
///
/// A queue of k = ⌊dT/T + ½⌋ values: in enters, the oldest becomes out; without a queue out = in.
/// When k falls, the newest values are dropped; when it grows, the newest is repeated. Starts full of
/// the first input.
///
/// A dead time that does not fit into the memory stops the run.
#[component("hopsan.SignalVariableTimeDelay", s, constants = VariableTimeDelayConstants)]
pub struct VariableTimeDelay {
    /// ΔT — dead time [s]
    #[input(name = "dT", default = "1 s")]
    pub delay: f64,
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// – — most memory that may be used, in megabytes [–]
    #[parameter(name = "maxMem", default = 50)]
    pub memory: f64,
    /// y — delayed signal [any]
    #[output]
    out: Output,
    /// k — length of the queue [–]
    #[memory]
    length: Memory,
}

/// Constants of [`VariableTimeDelay`] in steps.
#[derive(Clone, Copy, Debug, Constants)]
pub struct VariableTimeDelayConstants<T> {
    /// Most values that the queue may hold.
    most: usize,
    number: NoConstants<T>,
}

/// The whole number that all lanes hold, if they agree.
fn agreed<T: Num>(x: T) -> Option<usize> {
    let first = T::of(x.first());
    (x.le(first) & x.ge(first)).all().then_some(x.first() as usize)
}

impl VariableTimeDelay {
    /// Writes the places `from ≤ i < to` of a queue whose oldest value is at `oldest`.
    #[wide]
    fn write<T: Num>(io: &mut Step<'_, T>, oldest: usize, (from, to): (T, T), value: T) {
        let most = io.history_len();
        if let (Some(from), Some(to)) = (agreed(from), agreed(to)) {
            for i in from..to {
                io.history()[(oldest + i) % most] = value;
            }
            return;
        }
        for i in 0..most {
            let place = T::of(i as f64);
            let slot = &mut io.history()[(oldest + i) % most];
            *slot = T::select(place.ge(from) & place.lt(to), value, *slot);
        }
    }
}

impl Physics for VariableTimeDelay {
    const HAS_LAW: bool = false;

    fn prepare(&self, around: &Environment) -> Result<VariableTimeDelayConstants<f64>, Refusal> {
        let asked = whole_steps(self.delay, around.step).max(KEPT_STEPS);
        // Eight bytes to a value. The queue takes in a value before it gives one away.
        let allowed = (self.memory * 1e6 / 8.0).clamp(0.0, MOST_STEPS);
        let most = asked.min(allowed) as usize + 1;
        Ok(VariableTimeDelayConstants { most, number: NoConstants::new() })
    }

    fn history(k: &VariableTimeDelayConstants<f64>) -> usize {
        k.most
    }

    fn start<T: Num>(k: &VariableTimeDelayConstants<T>, io: &mut Step<'_, T>) {
        io.set_memory(Self::LENGTH, T::zero());
        Self::step(k, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &VariableTimeDelayConstants<T>, io: &mut Step<'_, T>) {
        // The oldest value moves on with every step, whatever the length.
        let oldest = io.tick() as usize % k.most;
        let input = io.input(Self::INPUT);
        let wanted = (io.input(Self::DELAY).max(T::zero()) / io.dt + 0.5).floor();
        let most = T::of((k.most - 1) as f64);
        let too_long = wanted.gt(most);
        if too_long.any() {
            io.request_stop(too_long);
        }
        let wanted = wanted.min(most);
        let kept = io.memory(Self::LENGTH).min(wanted);
        if kept.lt(wanted).any() {
            let newest = match agreed(kept) {
                Some(0) => input,
                Some(kept) => io.history_at((oldest + kept - 1) % k.most),
                None => (0..k.most).fold(input, |found, i| {
                    let is_newest = kept.le(T::of((i + 1) as f64)) & kept.gt(T::of(i as f64));
                    T::select(is_newest, io.history_at((oldest + i) % k.most), found)
                }),
            };
            Self::write(io, oldest, (kept, wanted), newest);
        }
        let out = T::select(wanted.gt(T::zero()), io.history_at(oldest), input);
        Self::write(io, oldest, (wanted, wanted + 1.0), input);
        io.set_memory(Self::LENGTH, wanted);
        io.set_output(Self::OUT, out);
    }
}

/// Samples a signal and holds it until the next sample.
///
/// At t ≥ t_next: out = in, t_next += 1/f_s; starts with its input, and with t_next at the start
///
/// The sampling frequency is that of the start.
#[component("hopsan.SignalSampleAndHold", s)]
pub struct SampleAndHold {
    /// f_s — samples per second [Hz]
    #[input(name = "f_s", default = "100 Hz")]
    pub frequency: f64,
    /// u — signal [any]
    #[input(name = "in", default = 0)]
    pub input: f64,
    /// y — held signal [any]
    #[output]
    out: Output,
    /// t_next — time of the next sample [s]
    #[memory]
    next: Memory,
    /// 1/f_s — time from sample to sample [s]
    #[memory]
    period: Memory,
}

impl Physics for SampleAndHold {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        io.set_output(Self::OUT, io.input(Self::INPUT));
        io.set_memory(Self::NEXT, T::of(io.time()));
        io.set_memory(Self::PERIOD, io.input(Self::FREQUENCY).recip());
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let next = io.memory(Self::NEXT);
        let due = T::of(io.time()).ge(next);
        io.set_output(Self::OUT, T::select(due, io.input(Self::INPUT), io.output(Self::OUT)));
        io.set_memory(Self::NEXT, T::select(due, next + io.memory(Self::PERIOD), next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::block::sequence;
    use fluxline_core::number::{Dual, Lanes};
    use fluxline_core::testing::{Bench, Surroundings};
    use std::f64::consts::PI;

    #[test]
    fn saturation_looks_at_its_upper_limit_first() {
        let limit = Saturation { input: 0.0, maximum: 0.0, minimum: 0.0 };
        let rows = [[2.0, 1.0, -1.0], [-2.0, 1.0, -1.0], [0.5, 1.0, -1.0]];
        assert_eq!(sequence(&limit, 0.1, &rows), [1.0, -1.0, 0.5]);
        let crossed = [[2.0, -1.0, 1.0], [-2.0, -1.0, 1.0]];
        assert_eq!(sequence(&limit, 0.1, &crossed), [-1.0, 1.0]);
    }

    #[test]
    fn dead_zone_passes_only_what_is_outside() {
        let zone = DeadZone { input: 0.0, lower: 0.0, upper: 0.0 };
        let rows = [-3.0, -1.0, -0.5, 0.0, 2.0, 5.0].map(|u| [u, -1.0, 2.0]);
        assert_eq!(sequence(&zone, 0.1, &rows), [-2.0, -3.0, 0.0, 0.0, 0.0, 3.0]);
    }

    #[test]
    fn rate_limiter_climbs_at_its_rate_and_lands_on_the_signal() {
        let limiter = RateLimiter { rising: 0.0, falling: 0.0, input: 0.0 };
        let rows = [0.0, 1.0, 1.0, 1.0, 0.0, 0.0].map(|u| [4.0, -8.0, u]);
        assert_eq!(sequence(&limiter, 0.125, &rows), [0.0, 0.5, 1.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn segment_of_a_circle_has_the_area_that_its_width_sweeps() {
        let d = 0.3;
        assert!((area(0.5 * d, d) - PI * d * d / 8.0).abs() < 1e-16);
        assert!((area(2.0 * d, d) - PI * d * d / 4.0).abs() < 1e-16);
        assert_eq!((area(-1.0, d), area(0.1, 0.0), width(0.5 * d, d)), (0.0, 0.0, d));
        for x in [0.01, 0.1, 0.2] {
            let sweep = (area(x + 1e-5, d) - area(x - 1e-5, d)) / 2e-5;
            assert!((sweep - width(x, d)).abs() < 1e-7);
            let slope = area(Dual::constant(x), Dual::variable(d)).slope;
            assert!((slope - (area(x, d + 1e-5) - area(x, d - 1e-5)) / 2e-5).abs() < 1e-7);
        }
        let rows = [[0.5 * d, d], [0.1, d]];
        let segment = Segment { height: 0.0, diameter: 0.0 };
        assert_eq!(sequence(&segment, 0.1, &rows), [area(0.5 * d, d), area(0.1, d)]);
        let chord = SegmentWidth { height: 0.0, diameter: 0.0 };
        assert_eq!(sequence(&chord, 0.1, &rows), [d, width(0.1, d)]);
    }

    #[test]
    fn time_delay_rounds_to_whole_steps_and_is_one_at_least() {
        let rows = [1.0, 2.0, 3.0, 4.0, 5.0].map(|u| [u]);
        let delayed = |delay| sequence(&TimeDelay { input: 0.0, delay }, 0.1, &rows);
        assert_eq!(delayed(0.26), [1.0, 1.0, 1.0, 1.0, 2.0]);
        assert_eq!(delayed(0.0), [1.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(sequence(&UnitDelay { input: 0.0 }, 0.1, &rows), [1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn queue_that_shrinks_drops_its_newest_and_repeats_it_when_it_grows() {
        let delay = VariableTimeDelay { delay: 0.0, input: 0.0, memory: 1e-4 };
        // Worked out by hand: the queue after each step is in brackets.
        let rows = [
            ([0.3, 1.0], 1.0), // [1 1 1]
            ([0.3, 2.0], 1.0), // [1 1 2]
            ([0.3, 3.0], 1.0), // [1 2 3]
            ([0.2, 4.0], 1.0), // [1 2] → [2 4]
            ([0.4, 5.0], 2.0), // [2 4 4 4] → [4 4 4 5]
            ([0.0, 6.0], 6.0), // []
            ([0.2, 7.0], 7.0), // [7 7]
            ([0.2, 8.0], 7.0), // [7 8]
            ([0.1, 9.0], 7.0), // [7] → [9]
            ([0.1, 0.0], 9.0), // [0]
        ];
        let inputs: Vec<[f64; 2]> = rows.iter().map(|row| row.0).collect();
        let expected: Vec<f64> = rows.iter().map(|row| row.1).collect();
        assert_eq!(sequence(&delay, 0.1, &inputs), expected);
        // Lanes whose queues differ in length give the same.
        let around = Surroundings::of::<VariableTimeDelay>(0.1);
        let mut lanes = Bench::lanes([&delay; 2], &around).unwrap();
        let mut alone = Bench::new(&delay, 0.1);
        for (n, (row, expected)) in rows.iter().enumerate() {
            let other = [0.5, 10.0 * row[1]];
            for i in 0..2 {
                lanes.input(i, Lanes([row[i], other[i]]));
                alone.input(i, other[i]);
            }
            if n == 0 {
                lanes.start()
            } else {
                lanes.step()
            };
            if n == 0 {
                alone.start()
            } else {
                alone.step()
            };
            assert_eq!(lanes.output(0).0, [*expected, alone.output(0)], "step {n}");
        }
        // More than fits asks for a stop.
        alone.input(0, 2.0).step();
        assert_ne!(alone.state.faults.stop_requested, 0);
    }

    #[test]
    fn sample_is_held_for_its_period() {
        let hold = SampleAndHold { frequency: 0.0, input: 0.0 };
        let rows = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(|u| [2.0, u]);
        // T = 0.25 s, period 0.5 s, first due at the start: samples at 0.25, 0.5, 1.0, 1.5 s.
        assert_eq!(sequence(&hold, 0.25, &rows), [0.0, 1.0, 2.0, 2.0, 4.0, 4.0, 6.0]);
    }
}
