//! Numbers on their way from one thread to another.
//!
//! A mailbox carries one message per step from one sender to one receiver, in two buffers that take
//! turns. The sender fills a buffer and then says which message is there; the receiver waits for
//! that number and reads. Nobody asks whether a buffer may be filled again, because two neighbours
//! hear from each other at least once in every step: who posts message n + 2 has taken a message of
//! step n + 1, which the other posted after it had taken message n. Hence nothing is overwritten
//! before it is read, no part is ever more than a step ahead of a neighbour, and a part waits only
//! for messages that the other posts before it waits itself for anything later: there is always one
//! that can go on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A number that threads share; the one of the standard library, or that of a model checker.
pub trait Word: Send + Sync {
    /// A number.
    fn new(value: u64) -> Self;
    /// Reads it.
    fn get(&self, order: Ordering) -> u64;
    /// Writes it.
    fn set(&self, value: u64, order: Ordering);
}

impl Word for AtomicU64 {
    fn new(value: u64) -> Self {
        AtomicU64::new(value)
    }
    #[inline(always)]
    fn get(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    #[inline(always)]
    fn set(&self, value: u64, order: Ordering) {
        self.store(value, order);
    }
}

/// On a cache line of its own (two, because they are fetched in pairs).
#[repr(align(128))]
struct Apart<W>(W);

/// Numbers on their way from one thread to another.
pub struct Mailbox<W> {
    /// Number of the last message, from 1.
    posted: Apart<W>,
    buffers: [Box<[W]>; 2],
}

impl<W: Word> Mailbox<W> {
    /// A mailbox for messages of so many numbers.
    pub fn new(numbers: usize) -> Self {
        let buffer = || (0..numbers).map(|_| W::new(0)).collect();
        Self { posted: Apart(W::new(0)), buffers: [buffer(), buffer()] }
    }

    /// Posts message `n`, filled by `fill`.
    #[inline]
    pub fn post(&self, n: u64, fill: impl FnOnce(&mut Places<'_, W>)) {
        fill(&mut Places(self.buffers[(n & 1) as usize].iter()));
        self.posted.0.set(n, Ordering::Release);
    }

    /// Takes message `n`; `wait` is called until it is there, and gives up by returning false.
    #[inline]
    pub fn take(
        &self,
        n: u64,
        mut wait: impl FnMut() -> bool,
        read: impl FnOnce(&mut Places<'_, W>),
    ) -> bool {
        while self.posted.0.get(Ordering::Acquire) < n {
            if !wait() {
                return false;
            }
        }
        read(&mut Places(self.buffers[(n & 1) as usize].iter()));
        true
    }
}

/// The numbers of a message, one after the other.
pub struct Places<'a, W>(std::slice::Iter<'a, W>);

impl<W: Word> Places<'_, W> {
    /// Writes numbers.
    #[inline(always)]
    pub fn put_all(&mut self, numbers: &[f64]) {
        for (place, x) in self.0.by_ref().zip(numbers) {
            place.set(x.to_bits(), Ordering::Relaxed);
        }
    }
    /// Reads numbers.
    #[inline(always)]
    pub fn get_all(&mut self, numbers: &mut [f64]) {
        for (x, place) in numbers.iter_mut().zip(self.0.by_ref()) {
            *x = f64::from_bits(place.get(Ordering::Relaxed));
        }
    }
}

/// How a thread waits: it spins while the answer is a matter of nanoseconds, lets others run when
/// it takes longer, and sleeps when the other thread does not seem to have a core.
pub(crate) struct Patience<'a> {
    spins: u32,
    stop: &'a AtomicBool,
    tried: u32,
    /// Others had the core for long.
    was_away: bool,
}

/// Rounds of waiting in which the core is handed to whoever wants it, before sleeping.
const YIELDS: u32 = 500;
/// Who has it for longer than this is another program.
const AWAY: Duration = Duration::from_millis(1);

impl<'a> Patience<'a> {
    /// Spins so often first; gives up when `stop` is set.
    pub fn new(spins: u32, stop: &'a AtomicBool) -> Self {
        Self { spins, stop, tried: 0, was_away: false }
    }

    /// The same where others are known to want the core: it sleeps right after it has spun.
    pub fn among_others(spins: u32, stop: &'a AtomicBool) -> Self {
        Self { spins, stop, tried: 0, was_away: true }
    }

    /// Whether others had the core for long while it waited.
    pub fn was_away(&self) -> bool {
        self.was_away && self.tried > self.spins
    }

    /// Waits a little; false to give up.
    #[inline]
    pub fn wait(&mut self) -> bool {
        self.tried += 1;
        if self.tried <= self.spins {
            std::hint::spin_loop();
            return true;
        }
        self.wait_longer()
    }

    #[cold]
    fn wait_longer(&mut self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return false;
        }
        match self.tried - self.spins {
            0..=YIELDS if !self.was_away => {
                let begun = Instant::now();
                std::thread::yield_now();
                // Who hands its core over again and again is put behind all others each time, and
                // in the end does not run for seconds: where others keep it for long, it sleeps.
                self.was_away = begun.elapsed() > AWAY;
            }
            more => {
                let pause = 20u64 << (more.saturating_sub(YIELDS) / 50).min(5);
                std::thread::sleep(Duration::from_micros(pause));
                self.tried = self.tried.min(u32::MAX - 1);
            }
        }
        true
    }
}

/// All orders in which two threads can run are tried, by a model checker.
#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as Checked;

    impl Word for Checked {
        fn new(value: u64) -> Self {
            Checked::new(value)
        }
        fn get(&self, order: Ordering) -> u64 {
            self.load(order)
        }
        fn set(&self, value: u64, order: Ordering) {
            self.store(value, order);
        }
    }

    type Checkbox = Arc<Mailbox<Checked>>;

    fn post(mailbox: &Checkbox, n: u64) {
        mailbox.post(n, |places| places.put_all(&[n as f64]));
    }

    fn take(mailbox: &Checkbox, n: u64) {
        let wait = || {
            loom::thread::yield_now();
            true
        };
        let mut found = [0.0];
        assert!(mailbox.take(n, wait, |places| places.get_all(&mut found)));
        assert_eq!(found, [n as f64], "a message was overwritten before it was read");
    }

    fn in_all_orders(test: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(test);
    }

    #[test]
    fn waves_there_and_flows_back_arrive_in_any_order_of_execution() {
        in_all_orders(|| {
            let boxes: [Checkbox; 2] = [0, 1].map(|_| Arc::new(Mailbox::new(1)));
            let theirs = boxes.clone();
            // The Q-side of a line: takes waves, posts flows.
            let other = loom::thread::spawn(move || {
                for step in 1..=3 {
                    take(&theirs[0], step);
                    post(&theirs[1], step);
                }
            });
            for step in 1..=3 {
                post(&boxes[0], step);
                take(&boxes[1], step);
            }
            other.join().unwrap();
        });
    }

    #[test]
    fn parts_that_both_send_first_neither_block_nor_lose_a_message() {
        in_all_orders(|| {
            let boxes: [Checkbox; 2] = [0, 1].map(|_| Arc::new(Mailbox::new(1)));
            let theirs = boxes.clone();
            let other = loom::thread::spawn(move || {
                for step in 1..=3 {
                    post(&theirs[0], step);
                    take(&theirs[1], step);
                }
            });
            for step in 1..=3 {
                post(&boxes[1], step);
                take(&boxes[0], step);
            }
            other.join().unwrap();
        });
    }

    #[test]
    #[should_panic(expected = "overwritten before it was read")]
    fn who_never_hears_from_the_receiver_overwrites_messages() {
        in_all_orders(|| {
            let mailbox: Checkbox = Arc::new(Mailbox::new(1));
            let theirs = mailbox.clone();
            let other = loom::thread::spawn(move || (1..=3).for_each(|step| post(&theirs, step)));
            (1..=3).for_each(|step| take(&mailbox, step));
            other.join().unwrap();
        });
    }
}
