//! Logic with memory: latch, timer, one-shot, counter, edges. A signal above one half is true.

use super::block::{Now, differ, is_true, sequential, truth};
use super::time::reached;
use fluxline_core::component::{NoConstants, Refusal};
use fluxline_core::number::{Mask, Num};
use fluxline_core::{Constants, component};

fluxline_core::choice! {
    /// Which input of a latch wins.
    pub enum Dominant {
        /// Reset.
        Reset = "reset",
        /// Set.
        Set = "set",
    }
}

/// Remembers that a condition was true until it is told to forget.
///
/// y = 1 from set on, 0 from reset on; when both are true the dominant one wins
#[component("signal.latch", s, constants = LatchConstants, also = "hopsan:SignalSRlatch")]
pub struct Latch {
    /// S — sets the latch [–]
    #[input(default = 0, also = "setCond")]
    pub set: f64,
    /// R — resets the latch [–]
    #[input(default = 0, also = "resetCond")]
    pub reset: f64,
    /// – — which wins: reset or set [–]
    #[parameter(default = "reset")]
    pub dominant: Dominant,
    /// – — set at the start [–]
    #[parameter(default = "false")]
    pub start_set: bool,
    /// y — 1 when set [–]
    #[output(also = "Qstate")]
    out: Output,
    /// – — 1 when set [–]
    #[memory]
    latched: Memory,
}

/// Constants of [`Latch`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct LatchConstants<T> {
    dominant: Dominant,
    start: T,
}

/// A timer with delays for switching on and off.
///
/// y becomes 1 when u has been true for t_on, and 0 when u has been false for t_off
///
/// It starts at 0; a condition that is true at the start counts from there.
#[component("signal.timer", s, constants = TimerConstants)]
pub struct Timer {
    /// u — condition [–]
    #[input(default = 0)]
    pub input: f64,
    /// t_on — delay of switching on [s]
    #[parameter(default = "1 s", min = "0 s")]
    pub on_delay: f64,
    /// t_off — delay of switching off [s]
    #[parameter(default = "0 s", min = "0 s")]
    pub off_delay: f64,
    /// y — 1 when on [–]
    #[output]
    out: Output,
    /// – — output of the last step [–]
    #[memory]
    on: Memory,
    /// – — condition of the last step [–]
    #[memory]
    was: Memory,
    /// – — time of its last change [s]
    #[memory]
    since: Memory,
}

/// Constants of [`Timer`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct TimerConstants<T> {
    on_delay: T,
    off_delay: T,
}

/// A pulse of fixed width each time a condition becomes true.
///
/// y = 1 for t₁ ≤ t < t₁ + w after an edge at t₁; an edge within a pulse prolongs it, or is ignored
#[component("signal.one_shot", s, constants = OneShotConstants)]
pub struct OneShot {
    /// u — condition [–]
    #[input(default = 0)]
    pub input: f64,
    /// w — width of the pulse [s]
    #[parameter(default = "1 s", min = ">0 s")]
    pub width: f64,
    /// – — an edge within a pulse begins it anew [–]
    #[parameter(default = "false")]
    pub retrigger: bool,
    /// y — 1 during the pulse [–]
    #[output]
    out: Output,
    /// – — condition of the last step [–]
    #[memory]
    was: Memory,
    /// – — end of the pulse [s]
    #[memory]
    until: Memory,
}

/// Constants of [`OneShot`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct OneShotConstants<T> {
    width: T,
    retrigger: bool,
}

/// Counts how often a condition becomes true (or false, or both).
///
/// y = number of edges since the start or the last reset
#[component("signal.counter", s, constants = CounterConstants, also = "hopsan:SignalCounter")]
pub struct Counter {
    /// u — condition [–]
    #[input(default = 0, also = "in")]
    pub input: f64,
    /// – — holds the count at 0 while true [–]
    #[input(default = 0)]
    pub reset: f64,
    /// – — count when the condition becomes true [–]
    #[parameter(default = "true", also = "r")]
    pub rising: bool,
    /// – — count when the condition becomes false [–]
    #[parameter(default = "false", also = "f")]
    pub falling: bool,
    /// y — count [–]
    #[output]
    out: Output,
    /// – — condition of the last step [–]
    #[memory]
    was: Memory,
    /// – — count [–]
    #[memory]
    count: Memory,
}

/// Constants of [`Counter`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct CounterConstants<T> {
    rising: bool,
    falling: bool,
    none: NoConstants<T>,
}

fluxline_core::choice! {
    /// Which edges are seen.
    pub enum Edges {
        /// False to true.
        Rising = "rising",
        /// True to false.
        Falling = "falling",
        /// Both.
        Both = "both",
    }
}

/// True for the one step in which a condition changes.
///
/// y = 1 in the step of an edge, else 0
#[component("signal.edge", s, constants = EdgeConstants)]
pub struct Edge {
    /// u — condition [–]
    #[input(default = 0)]
    pub input: f64,
    /// – — rising, falling or both [–]
    #[parameter(default = "rising")]
    pub edges: Edges,
    /// y — 1 in the step of an edge [–]
    #[output]
    out: Output,
    /// – — condition of the last step [–]
    #[memory]
    was: Memory,
}

/// Constants of [`Edge`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct EdgeConstants<T> {
    edges: Edges,
    none: NoConstants<T>,
}

sequential!(Latch: LatchConstants, memory 1);
sequential!(Timer: TimerConstants, memory 3);
sequential!(OneShot: OneShotConstants, memory 2);
sequential!(Counter: CounterConstants, memory 2);
sequential!(Edge: EdgeConstants, memory 1);

impl Latch {
    fn constants(&self) -> Result<LatchConstants<f64>, Refusal> {
        Ok(LatchConstants { dominant: self.dominant, start: f64::from(u8::from(self.start_set)) })
    }
    fn begin<T: Num>(k: &LatchConstants<T>, now: Now, u: impl Fn(usize) -> T) -> [T; 1] {
        Self::advance(k, now, u, [k.start]).1
    }
    #[inline(always)]
    fn advance<T: Num>(
        k: &LatchConstants<T>,
        _: Now,
        u: impl Fn(usize) -> T,
        [latched]: [T; 1],
    ) -> (T, [T; 1]) {
        let (set, reset) = (is_true(u(Self::SET)), is_true(u(Self::RESET)));
        let on = match k.dominant {
            Dominant::Reset => (is_true(latched) | set) & !reset,
            Dominant::Set => (is_true(latched) & !reset) | set,
        };
        (truth(on), [truth(on)])
    }
}

impl Timer {
    fn constants(&self) -> Result<TimerConstants<f64>, Refusal> {
        Ok(TimerConstants { on_delay: self.on_delay, off_delay: self.off_delay })
    }
    fn begin<T: Num>(k: &TimerConstants<T>, now: Now, u: impl Fn(usize) -> T) -> [T; 3] {
        let was = truth(is_true(u(Self::INPUT)));
        Self::advance(k, now, u, [T::zero(), was, T::of(now.time)]).1
    }
    #[inline(always)]
    fn advance<T: Num>(
        k: &TimerConstants<T>,
        now: Now,
        u: impl Fn(usize) -> T,
        [on, was, since]: [T; 3],
    ) -> (T, [T; 3]) {
        let input = is_true(u(Self::INPUT));
        let since = T::select(differ(input, is_true(was)), T::of(now.time), since);
        let delay = T::select(input, k.on_delay, k.off_delay);
        let on = T::select(reached(now.time, since + delay), truth(input), on);
        (on, [on, truth(input), since])
    }
}

impl OneShot {
    fn constants(&self) -> Result<OneShotConstants<f64>, Refusal> {
        Ok(OneShotConstants { width: self.width, retrigger: self.retrigger })
    }
    fn begin<T: Num>(_: &OneShotConstants<T>, _: Now, u: impl Fn(usize) -> T) -> [T; 2] {
        [truth(is_true(u(Self::INPUT))), T::of(f64::MIN)]
    }
    #[inline(always)]
    fn advance<T: Num>(
        k: &OneShotConstants<T>,
        now: Now,
        u: impl Fn(usize) -> T,
        [was, until]: [T; 2],
    ) -> (T, [T; 2]) {
        let input = is_true(u(Self::INPUT));
        let edge = input & !is_true(was);
        let begins = if k.retrigger { edge } else { edge & reached(now.time, until) };
        let until = T::select(begins, k.width + now.time, until);
        (truth(!reached(now.time, until)), [truth(input), until])
    }
}

/// Where a condition has changed in the ways asked for.
#[inline(always)]
fn changed<M: Mask>(now: M, was: M, rising: bool, falling: bool) -> M {
    match (rising, falling) {
        (true, true) => differ(now, was),
        (true, false) => now & !was,
        (false, true) => !now & was,
        (false, false) => now & !now,
    }
}

impl Counter {
    fn constants(&self) -> Result<CounterConstants<f64>, Refusal> {
        Ok(CounterConstants {
            rising: self.rising,
            falling: self.falling,
            none: NoConstants::new(),
        })
    }
    fn begin<T: Num>(_: &CounterConstants<T>, _: Now, u: impl Fn(usize) -> T) -> [T; 2] {
        [truth(is_true(u(Self::INPUT))), T::zero()]
    }
    #[inline(always)]
    fn advance<T: Num>(
        k: &CounterConstants<T>,
        _: Now,
        u: impl Fn(usize) -> T,
        [was, count]: [T; 2],
    ) -> (T, [T; 2]) {
        let input = is_true(u(Self::INPUT));
        let edge = changed(input, is_true(was), k.rising, k.falling);
        let counted = count + truth::<T>(edge);
        let count = T::select(is_true(u(Self::RESET)), T::zero(), counted);
        (count, [truth(input), count])
    }
}

impl Edge {
    fn constants(&self) -> Result<EdgeConstants<f64>, Refusal> {
        Ok(EdgeConstants { edges: self.edges, none: NoConstants::new() })
    }
    fn begin<T: Num>(_: &EdgeConstants<T>, _: Now, u: impl Fn(usize) -> T) -> [T; 1] {
        [truth(is_true(u(Self::INPUT)))]
    }
    #[inline(always)]
    fn advance<T: Num>(
        k: &EdgeConstants<T>,
        _: Now,
        u: impl Fn(usize) -> T,
        [was]: [T; 1],
    ) -> (T, [T; 1]) {
        let input = is_true(u(Self::INPUT));
        let (rising, falling) = (k.edges != Edges::Falling, k.edges != Edges::Rising);
        let edge = changed(input, is_true(was), rising, falling);
        (truth(edge), [truth(input)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::testing::{lanes_match, sequence};

    fn latch(dominant: Dominant) -> Latch {
        Latch { set: 0.0, reset: 0.0, dominant, start_set: false }
    }
    fn timer(on_delay: f64, off_delay: f64) -> Timer {
        Timer { input: 0.0, on_delay, off_delay }
    }
    fn one_shot(width: f64, retrigger: bool) -> OneShot {
        OneShot { input: 0.0, width, retrigger }
    }
    fn counter(rising: bool, falling: bool) -> Counter {
        Counter { input: 0.0, reset: 0.0, rising, falling }
    }
    fn edge(edges: Edges) -> Edge {
        Edge { input: 0.0, edges }
    }
    /// Inputs written as a row of digits.
    fn digits(text: &str) -> Vec<[f64; 1]> {
        text.bytes().map(|b| [f64::from(b - b'0')]).collect()
    }
    fn text(values: &[f64]) -> String {
        values.iter().map(|v| char::from(b'0' + *v as u8)).collect()
    }

    #[test]
    fn latch_remembers_and_its_dominant_side_wins() {
        let rows = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]];
        assert_eq!(text(&sequence(&latch(Dominant::Reset), 1.0, &rows)), "011000");
        assert_eq!(text(&sequence(&latch(Dominant::Set), 1.0, &rows)), "011100");
        let set = Latch { start_set: true, ..latch(Dominant::Reset) };
        assert_eq!(text(&sequence(&set, 1.0, &rows[4..])), "00");
        assert_eq!(text(&sequence(&set, 1.0, &rows[5..])), "1");
    }

    #[test]
    fn timer_waits_on_both_sides() {
        let inputs = digits("0110111111010000");
        let (on, off) = (timer(0.3, 0.0), timer(0.0, 0.3));
        assert_eq!(text(&sequence(&on, 0.1, &inputs)), "0000000111000000");
        assert_eq!(text(&sequence(&off, 0.1, &inputs)), "0111111111111110");
        assert_eq!(text(&sequence(&timer(0.2, 0.0), 0.1, &digits("1111"))), "0011");
    }

    #[test]
    fn one_shot_gives_its_width_whatever_follows() {
        let inputs = digits("0101000011111000");
        let (single, again) = (one_shot(0.3, false), one_shot(0.3, true));
        assert_eq!(text(&sequence(&single, 0.1, &inputs)), "0111000011100000");
        assert_eq!(text(&sequence(&again, 0.1, &inputs)), "0111110011100000");
    }

    #[test]
    fn counter_and_edges_see_what_they_are_asked_for() {
        let inputs = digits("1101100111");
        let pairs: Vec<[f64; 2]> = inputs.iter().map(|[u]| [*u, 0.0]).collect();
        let count = |rising, falling| text(&sequence(&counter(rising, falling), 1.0, &pairs));
        assert_eq!(count(true, false), "0001111222");
        assert_eq!(count(false, true), "0011122222");
        assert_eq!(count(true, true), "0012233444");
        assert_eq!(count(false, false), "0000000000");
        let seen = |edges| text(&sequence(&edge(edges), 1.0, &inputs));
        assert_eq!(seen(Edges::Rising), "0001000100");
        assert_eq!(seen(Edges::Falling), "0010010000");
        assert_eq!(seen(Edges::Both), "0011010100");
        let rows = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]];
        assert_eq!(text(&sequence(&counter(true, false), 1.0, &rows)), "010001");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        for dominant in [Dominant::Reset, Dominant::Set] {
            lanes_match([dominant; 4].map(latch));
        }
        let times = [0.01, 0.02, 0.03, 0.05];
        lanes_match(times.map(|t| timer(t, 0.06 - t)));
        lanes_match(times.map(|t| one_shot(t, true)));
        lanes_match(times.map(|t| one_shot(t, false)));
        lanes_match([true; 4].map(|rising| counter(rising, true)));
        lanes_match([Edges::Both; 4].map(edge));
    }
}
