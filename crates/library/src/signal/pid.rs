//! PID controller.

use super::block::Limits;
use super::first_order::Lag;
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

fluxline_core::choice! {
    /// What keeps the integral from winding up while the output is limited.
    pub enum AntiWindup {
        /// It stands still while it would push the output further out.
        Clamping = "clamping",
        /// It follows the limit with the tracking time.
        BackCalculation = "back_calculation",
        /// Nothing.
        None = "none",
    }
}

fluxline_core::choice! {
    /// What the derivative is taken of.
    pub enum DerivativeOf {
        /// The error: a step of the reference gives a kick.
        Error = "error",
        /// The measured value alone.
        Measured = "measured",
    }
}

/// A PID controller with filtered derivative, limited output and anti-windup.
///
/// v = K_p·e + I + K_d·s/(1 + T_f·s)·d + u_ff,  dI/dt = K_i·e,  e = r − m,  d = e or −m,
/// u = v held between u_min and u_max
///
/// Anti-windup by clamping: dI/dt = 0 while v is limited and the integral would push it further; by
/// back-calculation: dI/dt = K_i·e + (u − v)/T_t. Both are solved exactly in the step: clamping holds
/// v at the limit itself where the integral would carry it across.
///
/// Give K_i or the integral time (K_i = K_p/T_i), K_d or the derivative time (K_d = K_p·T_d). Without
/// further word T_f = T_d/10 and T_t = √(T_i·T_d), or T_i without derivative action. Trapezoidal rule;
/// starts with the derivative at rest. Åström and Hägglund, PID Controllers (1995), ch. 3.
#[component("signal.pid", s, constants = PidConstants)]
pub struct Pid {
    /// r — reference, or the error when nothing is measured [any]
    #[input(default = 0)]
    pub reference: f64,
    /// m — measured value [any]
    #[input(default = 0)]
    pub measured: f64,
    /// u_ff — feed-forward, added to the output [any]
    #[input(default = 0)]
    pub feedforward: f64,
    /// K_p — proportional gain [any]
    #[parameter(default = 1)]
    pub proportional_gain: f64,
    /// K_i — integral gain [1/s]
    #[parameter]
    pub integral_gain: Option<f64>,
    /// T_i — integral time [s]
    #[parameter(min = ">0 s")]
    pub integral_time: Option<f64>,
    /// K_d — derivative gain [s]
    #[parameter]
    pub derivative_gain: Option<f64>,
    /// T_d — derivative time [s]
    #[parameter(min = "0 s")]
    pub derivative_time: Option<f64>,
    /// T_f — time constant of the derivative's filter [s]
    #[parameter(min = ">0 s")]
    pub filter_time: Option<f64>,
    /// – — derivative of the error or of the measured value [any]
    #[parameter(default = "measured")]
    pub derivative_of: DerivativeOf,
    /// u_min — lower limit of the output [any]
    #[parameter(default = -1e300)]
    pub minimum: f64,
    /// u_max — upper limit of the output [any]
    #[parameter(default = 1e300)]
    pub maximum: f64,
    /// – — clamping, back_calculation or none [any]
    #[parameter(default = "clamping")]
    pub anti_windup: AntiWindup,
    /// T_t — tracking time of back-calculation [s]
    #[parameter(min = ">0 s")]
    pub tracking_time: Option<f64>,
    /// I₀ — integral part at the start [any]
    #[parameter(default = 0)]
    pub start_integral: f64,
    /// u — output [any]
    #[output]
    out: Output,
    /// I — integral part of the output [any]
    #[state(start = "start_integral")]
    integral: State,
    /// z — smoothed signal that the derivative is taken of [any]
    #[state]
    smoothed: State,
    /// – — steps at a limit [any]
    #[memory(counts = "limit")]
    limited: Memory,
}

/// Constants of [`Pid`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct PidConstants<T> {
    proportional: T,
    integral: T,
    /// K_d/T_f.
    derivative: T,
    filter: Lag<T>,
    limits: Limits<T>,
    /// 1/T_t.
    tracking: T,
    /// (T/2T_t)/(1 + T/2T_t).
    tracked: T,
    start: T,
    anti_windup: AntiWindup,
    derivative_of: DerivativeOf,
    half_step: f64,
}

/// One of a gain and a time, as a gain; 0 when neither is given.
fn one_of(
    name: &'static str,
    gain: Option<f64>,
    time: Option<f64>,
    of_time: impl Fn(f64) -> f64,
) -> Result<f64, Refusal> {
    match (gain, time) {
        (Some(gain), Some(time)) => Err(Refusal::new(
            name,
            format!("both a gain ({gain}) and a time ({time} s) are given"),
            "give one of the two",
        )),
        (Some(gain), None) => Ok(gain),
        (None, Some(time)) => Ok(of_time(time)),
        (None, None) => Ok(0.0),
    }
}

impl Physics for Pid {
    fn prepare(&self, environment: &Environment) -> Result<PidConstants<f64>, Refusal> {
        let kp = self.proportional_gain;
        let ki = one_of("integral_time", self.integral_gain, self.integral_time, |t| kp / t)?;
        let kd = one_of("derivative_time", self.derivative_gain, self.derivative_time, |t| kp * t)?;
        let derivative_time = if kp == 0.0 { 0.0 } else { (kd / kp).abs() };
        let integral_time = if ki == 0.0 { f64::INFINITY } else { (kp / ki).abs() };
        let filter_time = match self.filter_time {
            Some(time) => time,
            None if kd == 0.0 => 1.0,
            None if kp == 0.0 => {
                return Err(Refusal::new(
                    "filter_time",
                    format!("the derivative gain is {kd} s but its filter has no time constant"),
                    "give filter_time, such as a tenth of the time constant to be controlled",
                ));
            }
            None => 0.1 * derivative_time,
        };
        let tracking_time = match (self.anti_windup, self.tracking_time) {
            (AntiWindup::BackCalculation, Some(time)) => time,
            (AntiWindup::BackCalculation, None) => {
                let time = if kd == 0.0 {
                    integral_time
                } else {
                    (integral_time * derivative_time).sqrt()
                };
                if ki != 0.0 && time == 0.0 {
                    return Err(Refusal::new(
                        "tracking_time",
                        "without proportional gain there is no natural tracking time",
                        "give tracking_time, or use clamping",
                    ));
                }
                time
            }
            _ => f64::INFINITY,
        };
        let half_step = 0.5 * environment.step;
        let ratio = half_step / tracking_time;
        Ok(PidConstants {
            proportional: kp,
            integral: ki,
            derivative: kd / filter_time,
            filter: Lag::new(filter_time, environment),
            limits: Limits::new(self.minimum, self.maximum)?,
            tracking: 1.0 / tracking_time,
            tracked: ratio / (1.0 + ratio),
            start: self.start_integral,
            anti_windup: self.anti_windup,
            derivative_of: self.derivative_of,
            half_step,
        })
    }

    fn law<T: Num>(k: &PidConstants<T>, law: &mut Law<'_, T>) {
        let (integral, z) = (law.state[Self::INTEGRAL], law.state[Self::SMOOTHED]);
        let (error, d) = k.signals(law.input[Self::REFERENCE], law.input[Self::MEASURED]);
        let v = k.rest(error, d, z) + law.input[Self::FEEDFORWARD] + integral;
        let out = k.limits.hold(v);
        let free = k.integral * error;
        law.rate[Self::INTEGRAL] = match k.anti_windup {
            AntiWindup::Clamping => k.limits.hold_rate(v, free),
            AntiWindup::BackCalculation => free + (out - v) * k.tracking,
            AntiWindup::None => free,
        };
        law.rate[Self::SMOOTHED] = k.filter.rate(d, z);
        law.output[Self::OUT] = out;
    }

    fn show(k: &PidConstants<f64>, settle: &mut Settle<'_>) {
        let (reference, measured) = (settle.input[Self::REFERENCE], settle.input[Self::MEASURED]);
        let (error, d) = k.signals(reference, measured);
        let rest = k.rest(error, d, settle.state[Self::SMOOTHED]);
        let v = rest + settle.input[Self::FEEDFORWARD] + settle.state[Self::INTEGRAL];
        settle.count(Self::LIMITED, k.limits.beyond(v));
    }

    fn start<T: Num>(k: &PidConstants<T>, io: &mut Step<'_, T>) {
        let (_, d) = k.signals(io.input(Self::REFERENCE), io.input(Self::MEASURED));
        io.set_state(Self::SMOOTHED, d);
        io.set_state(Self::INTEGRAL, k.start);
    }

    #[inline]
    fn step<T: Num>(k: &PidConstants<T>, io: &mut Step<'_, T>) {
        let (error, d) = k.signals(io.input(Self::REFERENCE), io.input(Self::MEASURED));
        let z = k.filter.next(d, io.state(Self::SMOOTHED), io.rate(Self::SMOOTHED));
        let rest = k.rest(error, d, z) + io.input(Self::FEEDFORWARD);
        let free_rate = k.integral * error;
        let still = io.state(Self::INTEGRAL) + io.rate(Self::INTEGRAL) * k.half_step;
        let free = still + free_rate * k.half_step;
        let beyond = k.limits.beyond(rest + free);
        let (integral, rate) = match k.anti_windup {
            AntiWindup::None => (free, free_rate),
            AntiWindup::Clamping => {
                // The integral may go from `still` towards `free` until the output meets the limit.
                let up = free.min(still.max(k.limits.maximum - rest));
                let down = free.max(still.min(k.limits.minimum - rest));
                let rising = free_rate.gt(T::zero());
                let integral = T::select(beyond, T::select(rising, up, down), free);
                let rate = (integral - still) / k.half_step;
                (integral, T::select(beyond, rate, free_rate))
            }
            AntiWindup::BackCalculation => {
                let excess = rest + free - k.limits.hold(rest + free);
                let integral = free - excess * k.tracked;
                let v = rest + integral;
                (integral, free_rate + (k.limits.hold(v) - v) * k.tracking)
            }
        };
        io.count(Self::LIMITED, beyond);
        io.set_state(Self::INTEGRAL, integral);
        io.set_rate(Self::INTEGRAL, rate);
        io.set_state(Self::SMOOTHED, z);
        io.set_rate(Self::SMOOTHED, k.filter.rate(d, z));
        io.set_output(Self::OUT, k.limits.hold(rest + integral));
    }
}

impl<T: Num> PidConstants<T> {
    /// The error, and what the derivative is taken of.
    #[inline(always)]
    fn signals(&self, reference: T, measured: T) -> (T, T) {
        let error = reference - measured;
        match self.derivative_of {
            DerivativeOf::Error => (error, error),
            DerivativeOf::Measured => (error, -measured),
        }
    }
    /// Proportional and derivative parts.
    #[inline(always)]
    fn rest(&self, error: T, d: T, z: T) -> T {
        self.proportional * error + self.derivative * (d - z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{closed_form_is_generic, lanes_match, order, refusal, respond};
    use fluxline_core::testing::Bench;

    fn pid() -> Pid {
        Pid {
            reference: 0.0,
            measured: 0.0,
            feedforward: 0.0,
            proportional_gain: 2.0,
            integral_gain: None,
            integral_time: Some(0.5),
            derivative_gain: None,
            derivative_time: Some(0.1),
            filter_time: None,
            derivative_of: DerivativeOf::Error,
            minimum: -1e300,
            maximum: 1e300,
            anti_windup: AntiWindup::Clamping,
            tracking_time: None,
            start_integral: 0.0,
        }
    }
    const KINDS: [AntiWindup; 3] =
        [AntiWindup::Clamping, AntiWindup::BackCalculation, AntiWindup::None];

    /// The error is a ramp e = t: P = K_p·t, I = K_i·t²/2, D = K_d·(1 − e^(−t/T_f)).
    #[test]
    fn three_actions_add_up_to_second_order() {
        let t: f64 = 0.02;
        let exact = 2.0 * t + 4.0 * t * t / 2.0 + 0.2 * (1.0 - (-t / 0.01).exp());
        let order = order(&pid(), t, |t| t, exact);
        assert!((order - 2.0).abs() < 0.01, "{order}");
    }

    #[test]
    fn gains_and_times_describe_the_same_controller() {
        let gains = Pid {
            integral_gain: Some(4.0),
            integral_time: None,
            derivative_gain: Some(0.2),
            derivative_time: None,
            filter_time: Some(0.01),
            ..pid()
        };
        let wave = |t: f64| (5.0 * t).sin();
        let (a, b) = (respond(&gains, 1e-3, 500, wave), respond(&pid(), 1e-3, 500, wave));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn derivative_of_the_measured_value_spares_the_kick() {
        let kick = |derivative_of| {
            let mut bench = Bench::new(&Pid { derivative_of, ..pid() }, 1e-3);
            bench.start().settle().input(Pid::REFERENCE, 1.0).step().output(0)
        };
        assert!(kick(DerivativeOf::Error) > 20.0);
        assert!(kick(DerivativeOf::Measured) < 2.01);
    }

    /// A controller pushed into its limit for 10 s and then asked to come back: with anti-windup it
    /// leaves the limit at once, without it only after the integral has run back.
    #[test]
    fn anti_windup_lets_the_output_leave_its_limit() {
        let steps_at_limit = |anti_windup| {
            let controller =
                Pid { derivative_time: None, maximum: 1.0, minimum: -1.0, anti_windup, ..pid() };
            let mut bench = Bench::new(&controller, 0.01);
            bench.start().settle().input(Pid::REFERENCE, 2.0);
            for _ in 0..1000 {
                assert!(bench.step().output(0) <= 1.0);
            }
            assert_eq!(bench.output(0), 1.0);
            assert_eq!(bench.state.states[4 + Pid::LIMITED], 1000.0);
            // Small enough not to leave the limit by the proportional part alone.
            bench.input(Pid::REFERENCE, -0.1);
            (0..).find(|_| bench.step().output(0) < 1.0).expect("it comes back")
        };
        assert_eq!(steps_at_limit(AntiWindup::Clamping), 0);
        assert_eq!(steps_at_limit(AntiWindup::BackCalculation), 0);
        assert!(steps_at_limit(AntiWindup::None) > 1000);
    }

    /// A closed loop round an integrating plant, dx/dt = u: with clamping a large step overshoots
    /// far less than without anti-windup, and both end without error.
    #[test]
    fn large_step_round_an_integrating_plant_overshoots_less_with_anti_windup() {
        let run = |anti_windup| {
            let controller = Pid {
                proportional_gain: 4.0,
                integral_time: Some(1.0),
                derivative_time: None,
                maximum: 1.0,
                minimum: -1.0,
                anti_windup,
                ..pid()
            };
            let mut bench = Bench::new(&controller, 1e-3);
            bench.input(Pid::REFERENCE, 5.0).start().settle();
            let (mut x, mut highest) = (0.0f64, 0.0f64);
            for _ in 0..40_000 {
                x += 1e-3 * bench.input(Pid::MEASURED, x).step().output(0);
                highest = highest.max(x);
            }
            assert!((x - 5.0).abs() < 1e-3, "{anti_windup:?}: {x}");
            highest - 5.0
        };
        let [clamping, back, none] = KINDS.map(run);
        assert!(clamping < 0.5 && back < 0.5 && none > 2.0, "{clamping} {back} {none}");
    }

    #[test]
    fn inconsistent_settings_are_refused() {
        let both = Pid { integral_gain: Some(1.0), ..pid() };
        assert_eq!(refusal(&both).parameter, "integral_time");
        let unfiltered = Pid {
            proportional_gain: 0.0,
            integral_time: None,
            derivative_time: None,
            derivative_gain: Some(1.0),
            ..pid()
        };
        assert_eq!(refusal(&unfiltered).parameter, "filter_time");
        let untracked = Pid {
            proportional_gain: 0.0,
            integral_time: None,
            integral_gain: Some(1.0),
            derivative_time: None,
            anti_windup: AntiWindup::BackCalculation,
            ..pid()
        };
        assert_eq!(refusal(&untracked).parameter, "tracking_time");
        let crossed = Pid { minimum: 1.0, maximum: -1.0, ..pid() };
        assert_eq!(refusal(&crossed).parameter, "maximum");
    }

    #[test]
    fn step_is_the_generic_step_where_nothing_slides_along_a_limit() {
        for anti_windup in KINDS {
            closed_form_is_generic(&Pid { anti_windup, ..pid() }, 1e-3, 1e3);
        }
        // Back-calculation has no corner to slide along: it is met at the limit as well.
        let limited =
            Pid { anti_windup: AntiWindup::BackCalculation, maximum: 0.2, minimum: -0.1, ..pid() };
        closed_form_is_generic(&limited, 1e-3, 1e3);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        for anti_windup in KINDS {
            lanes_match([0.5, 1.0, 2.0, 4.0].map(|proportional_gain| Pid {
                proportional_gain,
                anti_windup,
                maximum: 0.7,
                minimum: -0.4,
                ..pid()
            }));
        }
    }
}
