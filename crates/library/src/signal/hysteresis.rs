//! Nonlinearities that remember: play, relay, rate limit.

use super::block::{Now, is_true, sequential, truth};
use fluxline_core::component::{NoConstants, Refusal};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// Play: the output follows only when pushed from one side or the other.
///
/// y stays where it is while |u − y| ≤ h/2, else y = u ∓ h/2
#[component("signal.hysteresis", s, also = "hopsan:SignalHysteresis")]
pub struct Hysteresis {
    /// u — signal [–]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// h — width of the play [–]
    #[input(default = 1, min = 0, also = "y_h")]
    pub width: f64,
    /// y — signal after the play [–]
    #[output]
    out: Output,
    /// y₋ — output of the last step [–]
    #[memory]
    held: Memory,
}

/// A relay with two thresholds.
///
/// On from u ≥ u_on, off from u ≤ u_off, as before in between
#[component("signal.relay", s, constants = RelayConstants)]
pub struct Relay {
    /// u — signal [–]
    #[input(default = 0)]
    pub input: f64,
    /// u_on — switches on from here up [–]
    #[parameter(default = 1)]
    pub on_threshold: f64,
    /// u_off — switches off from here down [–]
    #[parameter(default = 0)]
    pub off_threshold: f64,
    /// y_on — output when on [–]
    #[input(default = 1)]
    pub on_value: f64,
    /// y_off — output when off [–]
    #[input(default = 0)]
    pub off_value: f64,
    /// – — on at the start, if the signal leaves it open [–]
    #[parameter(default = "false")]
    pub start_on: bool,
    /// y — output [–]
    #[output]
    out: Output,
    /// – — 1 when on [–]
    #[memory]
    on: Memory,
}

/// Constants of [`Relay`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct RelayConstants<T> {
    on_threshold: T,
    off_threshold: T,
    start: T,
}

/// Limits how fast a signal may change.
///
/// y follows u with c_down ≤ dy/dt ≤ c_up; it starts at u
#[component("signal.rate_limit", s, also = "hopsan:SignalRateLimiter")]
pub struct RateLimit {
    /// u — signal [–]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// c_up — fastest rise [1/s]
    #[input(default = "1 1/s", min = "0 1/s", also = "c_up")]
    pub rising: f64,
    /// c_down — fastest fall, negative [1/s]
    #[input(default = "-1 1/s", max = "0 1/s", also = "c_down")]
    pub falling: f64,
    /// y — signal that changes slowly enough [–]
    #[output]
    out: Output,
    /// y₋ — output of the last step [–]
    #[memory]
    held: Memory,
}

sequential!(Hysteresis, memory 1);
sequential!(Relay: RelayConstants, memory 1);
sequential!(RateLimit, memory 1);

impl Hysteresis {
    fn begin<T: Num>(_: &NoConstants<T>, _: Now, u: impl Fn(usize) -> T) -> [T; 1] {
        [u(Self::INPUT)]
    }
    #[inline(always)]
    fn advance<T: Num>(
        _: &NoConstants<T>,
        _: Now,
        u: impl Fn(usize) -> T,
        [held]: [T; 1],
    ) -> (T, [T; 1]) {
        let (input, half) = (u(Self::INPUT), u(Self::WIDTH) * 0.5);
        let out = held.clamp(input - half, input + half);
        (out, [out])
    }
}

impl Relay {
    fn constants(&self) -> Result<RelayConstants<f64>, Refusal> {
        let (on, off) = (self.on_threshold, self.off_threshold);
        if on < off {
            return Err(Refusal::new(
                "on_threshold",
                format!("the relay switches on at {on}, below {off} where it switches off"),
                "give on_threshold a value of at least off_threshold",
            ));
        }
        Ok(RelayConstants {
            on_threshold: on,
            off_threshold: off,
            start: f64::from(u8::from(self.start_on)),
        })
    }
    fn begin<T: Num>(k: &RelayConstants<T>, now: Now, u: impl Fn(usize) -> T) -> [T; 1] {
        Self::advance(k, now, u, [k.start]).1
    }
    #[inline(always)]
    fn advance<T: Num>(
        k: &RelayConstants<T>,
        _: Now,
        u: impl Fn(usize) -> T,
        [on]: [T; 1],
    ) -> (T, [T; 1]) {
        let input = u(Self::INPUT);
        let on = input.ge(k.on_threshold) | (is_true(on) & input.gt(k.off_threshold));
        let out = T::select(on, u(Self::ON_VALUE), u(Self::OFF_VALUE));
        (out, [truth(on)])
    }
}

impl RateLimit {
    fn begin<T: Num>(_: &NoConstants<T>, _: Now, u: impl Fn(usize) -> T) -> [T; 1] {
        [u(Self::INPUT)]
    }
    #[inline(always)]
    fn advance<T: Num>(
        _: &NoConstants<T>,
        now: Now,
        u: impl Fn(usize) -> T,
        [held]: [T; 1],
    ) -> (T, [T; 1]) {
        let (down, up) = (u(Self::FALLING) * now.dt, u(Self::RISING) * now.dt);
        let input = u(Self::INPUT);
        // Written so that a signal that is followed is met without rounding.
        let out = input.clamp(held + down, held + up);
        (out, [out])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{lanes_match, refusal, sequence};

    const PLAY: Hysteresis = Hysteresis { input: 0.0, width: 0.0 };
    const RATE: RateLimit = RateLimit { input: 0.0, rising: 0.0, falling: 0.0 };
    const RELAY: Relay = Relay {
        input: 0.0,
        on_threshold: 2.0,
        off_threshold: 1.0,
        on_value: 0.0,
        off_value: 0.0,
        start_on: false,
    };

    #[test]
    fn play_holds_until_it_is_used_up() {
        let rows = [0.0, 0.5, 2.0, 1.5, 1.0, 0.0, 0.5].map(|u| [u, 1.0]);
        let values = sequence(&PLAY, 0.1, &rows);
        assert_eq!(values, [0.0, 0.0, 1.5, 1.5, 1.5, 0.5, 0.5]);
    }

    #[test]
    fn relay_switches_at_its_own_threshold_each_way() {
        let rows = [1.5, 1.9, 2.0, 1.1, 1.0, 1.5].map(|u| [u, 7.0, -7.0]);
        let values = sequence(&RELAY, 0.1, &rows);
        assert_eq!(values, [-7.0, -7.0, 7.0, 7.0, -7.0, -7.0]);
        let on = Relay { start_on: true, ..RELAY };
        assert_eq!(sequence(&on, 0.1, &rows)[..2], [7.0, 7.0]);
        let above = [2.5, 1.5].map(|u| [u, 7.0, -7.0]);
        assert_eq!(sequence(&RELAY, 0.1, &above), [7.0, 7.0], "the start counts as a step");
    }

    #[test]
    fn rate_is_limited_each_way_and_a_slow_signal_passes() {
        let rows = [1.0, 5.0, 5.0, 2.5, -9.0, -9.0].map(|u| [u, 10.0, -20.0]);
        let values = sequence(&RATE, 0.1, &rows);
        assert_eq!(values, [1.0, 2.0, 3.0, 2.5, 0.5, -1.5]);
    }

    #[test]
    fn relay_with_crossed_thresholds_is_refused() {
        let crossed = Relay { on_threshold: 0.0, ..RELAY };
        assert_eq!(refusal(&crossed).parameter, "on_threshold");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        lanes_match([PLAY; 4]);
        lanes_match([RATE; 4]);
        lanes_match([0.2, 0.3, 0.4, 0.5].map(|on_threshold| Relay {
            on_threshold,
            off_threshold: 0.0,
            ..RELAY
        }));
    }
}
