//! Controllers.

use crate::blocks::{limit, limit_slope};
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<Pid>(), ComponentType::of::<Pid2>(), ComponentType::of::<PiLead>()];

/// Weight of Hopsan's second pass.
const SECOND_PASS: f64 = 0.67;

/// The error that an integral part takes in, and the integral: it stands still while the controller
/// is at a limit.
///
/// e_I = e·[u inside its limits], u_I = known + k·e_I, where u depends on u_I. With a limit between
/// "integrating" and "standing still" this has no solution, or two; so the two passes of Hopsan
/// decide: the first looks at u with the old values, the second at u with the new ones, and moves
/// 0.67 of the way.
#[wide]
#[inline(always)]
fn integrate<T: Num>(
    error: T,
    (known, gain): (T, T),
    before: T,
    control: impl Fn(T) -> T,
    (low, high): (T, T),
) -> (T, T) {
    let passes = |u: T| limit_slope(limit(u, low, high), low, high);
    let first = error * passes(before);
    let second = error * passes(control(known + gain * first));
    let taken = first + (second - first) * SECOND_PASS;
    (taken, known + gain * taken)
}

/// PID controller whose rate is measured, and whose integral does not wind up.
///
/// e = y_ref − y;  u = K_p·e − K_d·ẏ + u_I, u_min ≤ u ≤ u_max;  du_I/dt = K_I·e inside the limits
///
/// The integral is trapezoidal and stands still (10⁻⁹·e) at a limit.
#[component("hopsan.SignalPID", s)]
pub struct Pid {
    /// y_ref — wanted value [any]
    #[input(name = "yref", default = 0)]
    pub reference: f64,
    /// y — measured value [any]
    #[input(name = "y", default = 0)]
    pub measured: f64,
    /// ẏ — rate of the measured value [any]
    #[input(name = "dy", default = 0)]
    pub rate: f64,
    /// K_p — proportional gain [any]
    #[input(name = "Kp", default = 1)]
    pub proportional: f64,
    /// K_I — integral gain [any]
    #[input(name = "KI", default = 1)]
    pub integral: f64,
    /// K_d — gain of the rate [any]
    #[input(name = "Kd", default = 1)]
    pub derivative: f64,
    /// u_min — lower limit [any]
    #[input(name = "umin", default = -1)]
    pub minimum: f64,
    /// u_max — upper limit [any]
    #[input(name = "umax", default = 1)]
    pub maximum: f64,
    /// u — control signal [any]
    #[output(name = "u")]
    control: Output,
    /// e_I — error that the integral takes in [any]
    #[output(name = "Ierr")]
    taken: Output,
    /// u_I — integral part [any]
    #[output(name = "uI")]
    integral_part: Output,
    /// – — what the last step adds to the integral [any]
    #[memory]
    known: Memory,
}

impl Pid {
    #[inline(always)]
    fn remember<T: Num>(io: &mut Step<'_, T>) {
        let half = io.input(Self::INTEGRAL) * (0.5 * io.dt);
        let known = half * io.output(Self::TAKEN) + io.output(Self::INTEGRAL_PART);
        io.set_memory(Self::KNOWN, known);
    }
}

impl Physics for Pid {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::remember(io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let error = io.input(Self::REFERENCE) - io.input(Self::MEASURED);
        let direct = io.input(Self::PROPORTIONAL) * error
            - io.input(Self::DERIVATIVE) * io.input(Self::RATE);
        let limits = (io.input(Self::MINIMUM), io.input(Self::MAXIMUM));
        let before = direct + io.output(Self::INTEGRAL_PART);
        let half = io.input(Self::INTEGRAL) * (0.5 * io.dt);
        let known = io.memory(Self::KNOWN);
        let (taken, part) = integrate(error, (known, half), before, |part| direct + part, limits);
        io.set_output(Self::CONTROL, limit(direct + part, limits.0, limits.1));
        io.set_output(Self::TAKEN, taken);
        io.set_output(Self::INTEGRAL_PART, part);
        Self::remember(io);
    }
}

/// PI controller with a lead on the measured value, whose integral does not wind up.
///
/// (1 + s/ω_a)·e = (1 + s/ω_a)·y_ref − (1 + 2·δ_a·s/ω_a)·y;  k₁ = ω_a/k_x;
/// u = k₁·e + u_I, u_min ≤ u ≤ u_max;  du_I/dt = k₁·ω_a·e inside the limits
///
/// By the bilinear rule; the integral stands still (10⁻⁹·e) at a limit.
#[component("hopsan.SignalPIlead", s)]
pub struct PiLead {
    /// y_ref — wanted value [any]
    #[input(name = "yref", default = 0)]
    pub reference: f64,
    /// k_x — speed gain of what is controlled [rad/s]
    #[input(name = "kx", default = "1 rad/s")]
    pub speed_gain: f64,
    /// y — measured value [any]
    #[input(name = "y", default = 0)]
    pub measured: f64,
    /// ω_a — break frequency [rad/s]
    #[input(name = "wa", default = "1 rad/s")]
    pub frequency: f64,
    /// δ_a — damping [–]
    #[input(name = "da", default = 1)]
    pub damping: f64,
    /// u_min — lower limit [any]
    #[input(name = "umin", default = -1)]
    pub minimum: f64,
    /// u_max — upper limit [any]
    #[input(name = "umax", default = 1)]
    pub maximum: f64,
    /// u — control signal [any]
    #[output(name = "u")]
    control: Output,
    /// e — error with the lead [any]
    #[output(name = "err")]
    error: Output,
    /// e_I — error that the integral takes in [any]
    #[output(name = "Ierr")]
    taken: Output,
    /// u_I — integral part [any]
    #[output(name = "uI")]
    integral_part: Output,
    /// – — what the last step adds to the error [any]
    #[memory]
    known_error: Memory,
    /// – — what the last step adds to the integral [any]
    #[memory]
    known: Memory,
}

impl PiLead {
    /// k₁ and k₁·ω_a·T/2.
    #[inline(always)]
    fn gains<T: Num>(io: &Step<'_, T>) -> (T, T) {
        let frequency = io.input(Self::FREQUENCY);
        let gain = frequency / io.input(Self::SPEED_GAIN);
        (gain, gain * frequency * (0.5 * io.dt))
    }

    #[inline(always)]
    fn remember<T: Num>(io: &mut Step<'_, T>) {
        let frequency = io.input(Self::FREQUENCY);
        let (lag, lead) = (T::of(2.0), io.input(Self::DAMPING) * 4.0);
        let step = frequency * io.dt;
        let past = (io.output(Self::ERROR) - io.input(Self::REFERENCE)) * (lag - step)
            + io.input(Self::MEASURED) * (lead - step);
        io.set_memory(Self::KNOWN_ERROR, past / (lag + step));
        let (_, half) = Self::gains(io);
        let known = half * io.output(Self::TAKEN) + io.output(Self::INTEGRAL_PART);
        io.set_memory(Self::KNOWN, known);
    }
}

impl Physics for PiLead {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::remember(io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (gain, half) = Self::gains(io);
        let (lead, step) = (io.input(Self::DAMPING) * 4.0, io.input(Self::FREQUENCY) * io.dt);
        let error = io.memory(Self::KNOWN_ERROR) + io.input(Self::REFERENCE)
            - io.input(Self::MEASURED) * (lead + step) / (step + 2.0);
        let limits = (io.input(Self::MINIMUM), io.input(Self::MAXIMUM));
        let before = gain * io.output(Self::ERROR) + io.output(Self::INTEGRAL_PART);
        let known = io.memory(Self::KNOWN);
        let control = |part: T| gain * error + part;
        let (taken, part) = integrate(error, (known, half), before, control, limits);
        io.set_output(Self::CONTROL, limit(control(part), limits.0, limits.1));
        io.set_output(Self::ERROR, error);
        io.set_output(Self::TAKEN, taken);
        io.set_output(Self::INTEGRAL_PART, part);
        Self::remember(io);
    }
}

/// PID controller of an error, with tracking against windup.
///
/// I += K·T/T_i·e;  v = K·e + I + K·T_d·ė;  beyond U_min or U_max I += T/T_t·(U − v);
/// u = v, at least U_outmin, at most U_outmax
///
/// ė is the input `de` if a signal drives it, else the difference quotient of e, whose first old value
/// is 0.
#[component("hopsan.SignalPID2", s, constants = Pid2Constants)]
pub struct Pid2 {
    /// e — error [any]
    #[input(name = "e", default = 0)]
    pub error: f64,
    /// ė — rate of the error [any]
    #[input(name = "de", default = 0)]
    pub rate: f64,
    /// – — whether a signal drives the rate [–]
    #[parameter(name = "de_connected", default = "false")]
    pub rate_is_driven: bool,
    /// K — gain [any]
    #[parameter(name = "K", default = 1)]
    pub gain: f64,
    /// T_i — integral time [s]
    #[parameter(name = "Ti", default = "1 s")]
    pub integral_time: f64,
    /// T_t — time constant of tracking [s]
    #[parameter(name = "Tt", default = "1 s")]
    pub tracking_time: f64,
    /// T_d — derivative time [s]
    #[parameter(name = "Td", default = "0 s")]
    pub derivative_time: f64,
    /// U_min — tracking begins below this [any]
    #[parameter(name = "Umin", default = -1e100)]
    pub tracking_minimum: f64,
    /// U_max — tracking begins above this [any]
    #[parameter(name = "Umax", default = 1e100)]
    pub tracking_maximum: f64,
    /// U_outmin — lower limit [any]
    #[parameter(name = "Uoutmin", default = -1e100)]
    pub minimum: f64,
    /// U_outmax — upper limit [any]
    #[parameter(name = "Uoutmax", default = 1e100)]
    pub maximum: f64,
    /// u — control signal [any]
    #[output(name = "u")]
    control: Output,
    /// I — integral part [any]
    #[memory]
    integral: Memory,
    /// e₋ — error one step ago [any]
    #[memory]
    error_1: Memory,
}

/// Constants of [`Pid2`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Pid2Constants<T> {
    gain: T,
    /// K·T/T_i.
    integral: T,
    /// T/T_t.
    tracking: T,
    /// K·T_d.
    derivative: T,
    tracking_range: [T; 2],
    range: [T; 2],
    rate_is_driven: bool,
}

impl Physics for Pid2 {
    const HAS_LAW: bool = false;

    fn prepare(&self, environment: &Environment) -> Result<Pid2Constants<f64>, Refusal> {
        for (name, low, high) in [
            ("Umin", self.tracking_minimum, self.tracking_maximum),
            ("Uoutmin", self.minimum, self.maximum),
        ] {
            if low > high {
                return Err(Refusal::new(
                    name,
                    format!("the lower limit ({low}) is above the upper limit ({high})"),
                    "give the lower limit the smaller value",
                ));
            }
        }
        Ok(Pid2Constants {
            gain: self.gain,
            integral: self.gain * environment.step / self.integral_time,
            tracking: environment.step / self.tracking_time,
            derivative: self.gain * self.derivative_time,
            tracking_range: [self.tracking_minimum, self.tracking_maximum],
            range: [self.minimum, self.maximum],
            rate_is_driven: self.rate_is_driven,
        })
    }

    fn start<T: Num>(_: &Pid2Constants<T>, io: &mut Step<'_, T>) {
        io.set_memory(Self::INTEGRAL, T::zero());
        io.set_memory(Self::ERROR_1, T::zero());
    }

    #[inline(always)]
    fn step<T: Num>(k: &Pid2Constants<T>, io: &mut Step<'_, T>) {
        let error = io.input(Self::ERROR);
        let rate = match k.rate_is_driven {
            true => io.input(Self::RATE),
            false => (error - io.memory(Self::ERROR_1)) / io.dt,
        };
        io.set_memory(Self::ERROR_1, error);
        let integral = io.memory(Self::INTEGRAL) + k.integral * error;
        let wanted = k.gain * error + integral + k.derivative * rate;
        // The part of the wanted signal that lies beyond the range is taken back.
        let tracked = limit(wanted, k.tracking_range[0], k.tracking_range[1]);
        let beyond = wanted.gt(k.tracking_range[1]) | wanted.lt(k.tracking_range[0]);
        let back = T::select(beyond, k.tracking * (tracked - wanted), T::zero());
        io.set_memory(Self::INTEGRAL, integral + back);
        io.set_output(Self::CONTROL, limit(wanted, k.range[0], k.range[1]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    fn set<M: Physics>(bench: &mut Bench<M>, inputs: &[f64]) {
        for (i, &value) in inputs.iter().enumerate() {
            bench.input(i, value);
        }
    }

    #[test]
    fn pid_within_its_limits_is_the_sum_of_its_three_parts() {
        let pid = Pid {
            reference: 0.0,
            measured: 0.0,
            rate: 0.0,
            proportional: 0.0,
            integral: 0.0,
            derivative: 0.0,
            minimum: 0.0,
            maximum: 0.0,
        };
        let mut bench = Bench::new(&pid, 0.1);
        // e = 2 from the first step on, ẏ = 0.25: u_I is trapezoidal from Ierr = 0.
        set(&mut bench, &[3.0, 1.0, 0.25, 2.0, 0.5, 4.0, -10.0, 10.0]);
        bench.start();
        for n in 1..=3 {
            bench.step();
            let integral = 0.5 * 2.0 * 0.1 * (n as f64 - 0.5);
            assert!((bench.output(Pid::INTEGRAL_PART) - integral).abs() < 1e-14);
            assert!((bench.output(Pid::CONTROL) - (4.0 - 1.0 + integral)).abs() < 1e-14);
            assert_eq!(bench.output(Pid::TAKEN), 2.0);
        }
        // At the limit the integral stands still. The step that gets there has a pass on each side
        // when only the old integral is inside: here both are outside already.
        let before = bench.output(Pid::INTEGRAL_PART);
        set(&mut bench, &[3.0, 1.0, 0.25, 2.0, 0.5, 4.0, -10.0, 3.0]);
        bench.step();
        assert_eq!(bench.output(Pid::CONTROL), 3.0);
        // Half of the trapezoid is the error of the step before.
        assert!((bench.output(Pid::INTEGRAL_PART) - before - 0.05).abs() < 1e-9);
        let before = bench.output(Pid::INTEGRAL_PART);
        bench.step();
        assert!((bench.output(Pid::INTEGRAL_PART) - before).abs() < 1e-9);
    }

    #[test]
    fn pi_lead_holds_the_bilinear_law_and_rests_where_the_values_agree() {
        let lead = PiLead {
            reference: 0.0,
            speed_gain: 0.0,
            measured: 0.0,
            frequency: 0.0,
            damping: 0.0,
            minimum: 0.0,
            maximum: 0.0,
        };
        let (dt, w, d, kx) = (0.01, 8.0, 0.7, 2.0);
        let mut bench = Bench::new(&lead, dt);
        let row = |r: f64, y: f64| [r, kx, y, w, d, -100.0, 100.0];
        set(&mut bench, &row(0.0, 0.0));
        bench.start();
        let (mut old, mut integral, mut taken) = ([0.0; 3], 0.0, 0.0);
        for n in 1..40 {
            let (r, y) = ((0.3 * n as f64).sin(), 0.2 * n as f64 * dt);
            set(&mut bench, &row(r, y));
            bench.step();
            // e + ė/w = r + ṙ/w − y − 2·d·ẏ/w with s = 2/T·(1 − z)/(1 + z).
            let e = bench.output(PiLead::ERROR);
            let side =
                |x: f64, before: f64, time: f64| 0.5 * (x + before) * dt + (x - before) * time;
            let left = side(e, old[0], 1.0 / w);
            let right = side(r, old[1], 1.0 / w) - side(y, old[2], 2.0 * d / w);
            assert!((left - right).abs() < 1e-15);
            integral += 0.5 * dt * w * w / kx * (e + taken);
            (old, taken) = ([e, r, y], e);
            assert!((bench.output(PiLead::CONTROL) - (w / kx * e + integral)).abs() < 1e-12);
        }
    }

    #[test]
    fn pid2_takes_back_what_lies_beyond_its_range() {
        let pid = Pid2 {
            error: 0.0,
            rate: 0.0,
            rate_is_driven: false,
            gain: 2.0,
            integral_time: 0.5,
            tracking_time: 0.25,
            derivative_time: 0.1,
            tracking_minimum: -1e100,
            tracking_maximum: 5.0,
            minimum: -1e100,
            maximum: 4.0,
        };
        let mut bench = Bench::new(&pid, 0.1);
        bench.input(0, 1.0).start().step();
        // I = 0.4, v = 2 + 0.4 + 0.2·10 = 4.4: inside of the range, beyond the limit.
        assert_eq!(bench.output(0), 4.0);
        // I = 0.4 + 1.2, v = 6 + 1.6 + 0.2·20 = 11.6; I += 0.4·(5 − 11.6).
        bench.input(0, 3.0).step();
        // I = −1.04 + 1.2, v = 6 + 0.16.
        bench.step();
        assert_eq!(bench.output(0), 4.0);
        // I = 0.16 + 0.4·(5 − 6.16), v = 0 + I − 0.2·30.
        bench.input(0, 0.0).step();
        assert!((bench.output(0) - (0.16 - 0.464 - 6.0)).abs() < 1e-14);
        let given = Pid2 { rate_is_driven: true, maximum: 1e100, ..pid };
        let mut bench = Bench::new(&given, 0.1);
        bench.input(0, 1.0).input(1, -3.0).start().step();
        assert!((bench.output(0) - (2.0 + 0.4 - 0.6)).abs() < 1e-15);
    }
}
