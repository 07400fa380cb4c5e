//! First-order blocks: lag, high-pass filter, filtered derivative, lead and lag.

use super::block::{Limits, given};
use crate::stops::settle_rate;
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// A first-order lag (low-pass filter).
///
/// τ·dy/dt = K·u − y,  y_min ≤ y ≤ y_max
///
/// Trapezoidal rule; starts at rest with its first input unless a start value is given. A time
/// constant shorter than half a step makes the discrete response alternate. Where a signal loop is
/// opened here, the input is that of the step before.
#[component("signal.first_order", s, constants = FirstOrderConstants, also = "hopsan:SignalLP1Filter")]
pub struct FirstOrder {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// K — gain [any]
    #[parameter(default = 1)]
    pub gain: f64,
    /// τ — time constant; or give the corner frequency [s]
    #[parameter(min = ">0 s")]
    pub time_constant: Option<f64>,
    /// 1/τ — corner frequency; or give the time constant [rad/s]
    #[parameter(min = ">0 rad/s", also = "omega")]
    pub corner_frequency: Option<f64>,
    /// y₀ — start value; at rest with the first input when absent [any]
    #[parameter(also = "out#Value")]
    pub start_value: Option<f64>,
    /// y_min — lower limit [any]
    #[parameter(default = -1e300, also = "y_min")]
    pub minimum: f64,
    /// y_max — upper limit [any]
    #[parameter(default = 1e300, also = "y_max")]
    pub maximum: f64,
    /// y — filtered signal [any]
    #[output]
    out: Output,
    /// y — filtered signal [any]
    #[state]
    filtered: State,
    /// – — steps at a limit [any]
    #[memory(counts = "limit")]
    limited: Memory,
}

/// Constants of [`FirstOrder`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct FirstOrderConstants<T> {
    gain: T,
    lag: Lag<T>,
    limits: Limits<T>,
    start: T,
    start_is_given: bool,
}

/// A signal's slope, smoothed.
///
/// y = K·s/(1 + τ·s)·u
///
/// Trapezoidal rule; starts at 0. A time constant shorter than half a step makes the discrete
/// response alternate.
#[component("signal.derivative", s, constants = LagConstants)]
pub struct Derivative {
    /// u — signal [any]
    #[input(default = 0)]
    pub input: f64,
    /// K — gain [s]
    #[parameter(default = "1 s")]
    pub gain: f64,
    /// τ — time constant of the filter [s]
    #[parameter(default = "1 ms", min = ">0 s")]
    pub time_constant: f64,
    /// y — smoothed slope [any]
    #[output]
    out: Output,
    /// z — smoothed signal [any]
    #[state]
    smoothed: State,
}

/// A first-order high-pass filter: what changes passes, what stays does not.
///
/// y = (s/ω)/(1 + s/ω)·u
///
/// Trapezoidal rule; starts at 0.
#[component("signal.high_pass", s, constants = LagConstants, also = "hopsan:SignalHP1Filter")]
pub struct HighPass {
    /// u — signal [any]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// ω — corner frequency [rad/s]
    #[parameter(default = "1000 rad/s", min = ">0 rad/s", also = "omega")]
    pub corner_frequency: f64,
    /// y — filtered signal [any]
    #[output]
    out: Output,
    /// z — slow part of the signal [any]
    #[state]
    smoothed: State,
}

/// A lead-lag compensator: lead where T₁ > T₂, lag where T₁ < T₂.
///
/// y = K·(1 + T₁·s)/(1 + T₂·s)·u
///
/// Trapezoidal rule; starts at rest with its first input.
#[component("signal.lead_lag", s, constants = LagConstants)]
pub struct LeadLag {
    /// u — signal [any]
    #[input(default = 0)]
    pub input: f64,
    /// K — steady gain [any]
    #[parameter(default = 1)]
    pub gain: f64,
    /// T₁ — time constant of the numerator [s]
    #[parameter(default = "10 ms", min = "0 s")]
    pub lead_time: f64,
    /// T₂ — time constant of the denominator [s]
    #[parameter(default = "1 ms", min = ">0 s")]
    pub lag_time: f64,
    /// y — compensated signal [any]
    #[output]
    out: Output,
    /// z — smoothed signal [any]
    #[state]
    smoothed: State,
}

/// Constants of [`Derivative`], [`HighPass`] and [`LeadLag`]: y = a·z + b·(u − z),
/// τ·dz/dt = u − z.
#[derive(Clone, Copy, Debug, Constants)]
pub struct LagConstants<T> {
    lag: Lag<T>,
    slow: T,
    fast: T,
}

/// τ·dz/dt = u − z by the trapezoidal rule.
#[derive(Clone, Copy, Debug, Constants)]
pub(super) struct Lag<T> {
    /// 1/τ.
    frequency: T,
    /// T/(2τ).
    ratio: T,
    /// 1/(1 + T/(2τ)).
    inverse: T,
    half_step: f64,
}

impl Lag<f64> {
    /// A lag with a time constant.
    pub fn new(time_constant: f64, environment: &Environment) -> Self {
        let ratio = 0.5 * environment.step / time_constant;
        Self {
            frequency: 1.0 / time_constant,
            ratio,
            inverse: 1.0 / (1.0 + ratio),
            half_step: 0.5 * environment.step,
        }
    }
}

impl<T: Num> Lag<T> {
    /// dz/dt.
    #[inline(always)]
    pub fn rate(&self, u: T, z: T) -> T {
        (u - z) * self.frequency
    }
    /// z after a step, from z and its rate before; exactly z at rest.
    #[inline(always)]
    pub fn next(&self, u: T, z: T, rate: T) -> T {
        z + (rate * self.half_step + (u - z) * self.ratio) * self.inverse
    }
}

impl Physics for FirstOrder {
    fn prepare(&self, environment: &Environment) -> Result<FirstOrderConstants<f64>, Refusal> {
        let time_constant = match (self.time_constant, self.corner_frequency) {
            (Some(time), None) => time,
            (None, Some(frequency)) => 1.0 / frequency,
            (Some(time), Some(frequency)) => {
                return Err(Refusal::new(
                    "corner_frequency",
                    format!(
                        "both a time constant ({time} s) and a corner frequency ({frequency} rad/s) are given"
                    ),
                    "give one of the two",
                ));
            }
            (None, None) => {
                return Err(Refusal::new(
                    "time_constant",
                    "neither a time constant nor a corner frequency is given",
                    "give one of the two, such as time_constant = \"10 ms\"",
                ));
            }
        };
        let (start_is_given, start) = given(self.start_value);
        Ok(FirstOrderConstants {
            gain: self.gain,
            lag: Lag::new(time_constant, environment),
            limits: Limits::new(self.minimum, self.maximum)?,
            start,
            start_is_given,
        })
    }

    fn law<T: Num>(k: &FirstOrderConstants<T>, law: &mut Law<'_, T>) {
        let y = law.state[Self::FILTERED];
        let rate = k.lag.rate(k.gain * law.input[Self::INPUT], y);
        law.rate[Self::FILTERED] = k.limits.hold_rate(y, rate);
        law.output[Self::OUT] = k.limits.hold(y);
    }

    fn settles(k: &FirstOrderConstants<f64>) -> bool {
        k.limits.limit()
    }

    fn settle(k: &FirstOrderConstants<f64>, settle: &mut Settle<'_>) {
        settle_rate(&mut settle.state[Self::FILTERED], k.limits.pair());
    }

    fn show(k: &FirstOrderConstants<f64>, settle: &mut Settle<'_>) {
        let y = settle.state[Self::FILTERED];
        let rate = k.lag.rate(k.gain * settle.input[Self::INPUT], y);
        settle.count(Self::LIMITED, k.limits.hold_rate(y, rate) != rate);
    }

    fn start<T: Num>(k: &FirstOrderConstants<T>, io: &mut Step<'_, T>) {
        let rest = k.gain * io.input(Self::INPUT);
        let y = if k.start_is_given { k.start } else { rest };
        io.set_state(Self::FILTERED, k.limits.hold(y));
    }

    #[inline]
    fn step<T: Num>(k: &FirstOrderConstants<T>, io: &mut Step<'_, T>) {
        let u = k.gain * io.input(Self::INPUT);
        let free = k.lag.next(u, io.state(Self::FILTERED), io.rate(Self::FILTERED));
        let y = k.limits.hold(free);
        io.count(Self::LIMITED, k.limits.beyond(free));
        io.set_state(Self::FILTERED, y);
        io.set_rate(Self::FILTERED, k.limits.hold_rate(y, k.lag.rate(u, y)));
        io.set_output(Self::OUT, y);
    }

    const NO_FEEDTHROUGH: &'static [usize] = &[Self::INPUT];
}

macro_rules! lag_block {
    ($($type:ident: |$self:ident| $time:expr, $slow:expr, $fast:expr;)*) => {$(
        impl Physics for $type {
            fn prepare(&self, environment: &Environment) -> Result<LagConstants<f64>, Refusal> {
                let $self = self;
                Ok(LagConstants { lag: Lag::new($time, environment), slow: $slow, fast: $fast })
            }
            fn law<T: Num>(k: &LagConstants<T>, law: &mut Law<'_, T>) {
                let (u, z) = (law.input[Self::INPUT], law.state[Self::SMOOTHED]);
                law.rate[Self::SMOOTHED] = k.lag.rate(u, z);
                law.output[Self::OUT] = k.output(u, z);
            }
            fn start<T: Num>(_: &LagConstants<T>, io: &mut Step<'_, T>) {
                let u = io.input(Self::INPUT);
                io.set_state(Self::SMOOTHED, u);
            }
            #[inline]
            fn step<T: Num>(k: &LagConstants<T>, io: &mut Step<'_, T>) {
                let u = io.input(Self::INPUT);
                let z = k.lag.next(u, io.state(Self::SMOOTHED), io.rate(Self::SMOOTHED));
                io.set_state(Self::SMOOTHED, z);
                io.set_rate(Self::SMOOTHED, k.lag.rate(u, z));
                io.set_output(Self::OUT, k.output(u, z));
            }
        }
    )*};
}
lag_block! {
    Derivative: |d| d.time_constant, 0.0, d.gain / d.time_constant;
    HighPass: |h| 1.0 / h.corner_frequency, 0.0, 1.0;
    LeadLag: |l| l.lag_time, l.gain, l.gain * l.lead_time / l.lag_time;
}

impl<T: Num> LagConstants<T> {
    #[inline(always)]
    fn output(&self, u: T, z: T) -> T {
        self.slow * z + self.fast * (u - z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{closed_form_is_generic, lanes_match, order, refusal, respond};
    use fluxline_core::testing::Bench;

    fn lag(time_constant: f64) -> FirstOrder {
        FirstOrder {
            input: 0.0,
            gain: 2.0,
            time_constant: Some(time_constant),
            corner_frequency: None,
            start_value: None,
            minimum: -1e300,
            maximum: 1e300,
        }
    }
    fn derivative(time_constant: f64) -> Derivative {
        Derivative { input: 0.0, gain: 3.0, time_constant }
    }
    fn compensator(lead_time: f64, lag_time: f64) -> LeadLag {
        LeadLag { input: 0.0, gain: 2.0, lead_time, lag_time }
    }
    const HIGH_PASS: HighPass = HighPass { input: 0.0, corner_frequency: 5.0 };

    /// The response to a ramp from rest, u = t: y = t − τ·(1 − e^(−t/τ)), for each block.
    #[test]
    fn blocks_answer_a_ramp_as_their_transfer_functions_say_to_second_order() {
        let (tau, t) = (0.2, 1.0);
        let lagged = t - tau * (1.0 - (-t / tau).exp());
        let slope = (t - lagged) / tau;
        let orders = [
            order(&lag(tau), t, |t| t, 2.0 * lagged),
            order(&derivative(tau), t, |t| t, 3.0 * slope),
            order(&HIGH_PASS, t, |t| t, t - lagged),
            order(&compensator(0.5, tau), t, |t| t, 2.0 * (lagged + 0.5 * slope)),
        ];
        for order in orders {
            assert!((order - 2.0).abs() < 0.01, "{orders:?}");
        }
    }

    #[test]
    fn blocks_start_at_rest_with_their_first_input() {
        for (values, rest) in [
            (respond(&lag(0.2), 0.01, 100, |_| 3.0), 6.0),
            (respond(&derivative(0.2), 0.01, 100, |_| 3.0), 0.0),
            (respond(&HIGH_PASS, 0.01, 100, |_| 3.0), 0.0),
            (respond(&compensator(0.5, 0.2), 0.01, 100, |_| 3.0), 6.0),
        ] {
            assert!(values.iter().all(|v| *v == rest), "{values:?}");
        }
    }

    #[test]
    fn given_start_value_decays_with_the_time_constant() {
        let filter = FirstOrder {
            time_constant: None,
            corner_frequency: Some(5.0),
            start_value: Some(1.0),
            ..lag(0.2)
        };
        let values = respond(&filter, 1e-3, 1000, |_| 0.0);
        // Error of the trapezoidal rule: e^(−t/τ)·t/τ·(T/τ)²/12 = 7e-8.
        assert!((values[1000] - (-5f64).exp()).abs() < 1e-7);
        assert_eq!(values[0], 1.0);
    }

    #[test]
    fn limited_filter_turns_at_once() {
        let limited = FirstOrder { maximum: 1.0, ..lag(0.2) };
        let mut bench = Bench::new(&limited, 0.01);
        bench.start().settle().input(0, 5.0);
        for _ in 0..100 {
            bench.step();
        }
        assert_eq!(bench.output(0), 1.0);
        assert!(bench.state.states[2 + FirstOrder::LIMITED] > 90.0);
        bench.input(0, 0.0).step();
        // One end of the step only: 1/(1 + T/2τ).
        assert!((bench.output(0) - 1.0 / 1.025).abs() < 1e-15);
    }

    #[test]
    fn filter_needs_one_of_time_constant_and_corner_frequency() {
        let both = FirstOrder { corner_frequency: Some(5.0), ..lag(0.2) };
        assert!(refusal(&both).message.contains("0.2 s"));
        let neither = FirstOrder { time_constant: None, ..lag(0.2) };
        assert_eq!(refusal(&neither).parameter, "time_constant");
    }

    #[test]
    fn steps_are_the_generic_step() {
        for tau in [1e-3, 0.1, 10.0] {
            closed_form_is_generic(&lag(tau), 0.01, 1.0 / tau);
            closed_form_is_generic(&derivative(tau), 0.01, 1.0 / tau / tau);
            closed_form_is_generic(&compensator(0.3, tau), 0.01, 1.0 / tau / tau);
        }
        closed_form_is_generic(&HIGH_PASS, 0.01, 5.0);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let times = [0.01, 0.1, 0.2, 1.0];
        lanes_match(times.map(|tau| FirstOrder { maximum: 0.5, ..lag(tau) }));
        lanes_match(times.map(derivative));
        lanes_match(times.map(|tau| compensator(0.3, tau)));
        lanes_match(times.map(|tau| HighPass { corner_frequency: 1.0 / tau, ..HIGH_PASS }));
    }
}
