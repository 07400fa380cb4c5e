//! The ranks of an MPI job: what they say to each other, and how all of them end when one is lost.
//!
//! Nobody waits for a message without an eye on whoever is to send it. The launcher ends a job in
//! which a process dies, but it gives the others a second only, and their messages may be lost with
//! them. So a rank that waits looks from time to time whether the processes of its host are still
//! there, and whether the job is being ended; then it leaves what it is doing, by unwinding, so that
//! files that are not finished go with it.

mod run;

pub use run::{run, run_rarely};

use mpi::Threading;
use mpi::datatype::{BufferMut, Equivalence};
use mpi::environment::Universe;
use mpi::topology::{Process, SimpleCommunicator};
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, MatchedReceiveVec, Source};
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Tags of messages; those of a step are 0 and 1.
mod tag {
    pub const ROWS: i32 = 2;
    pub const STATE: i32 = 3;
    pub const FIGURES: i32 = 4;
    pub const ERRORS: i32 = 5;
    pub const DECISION: i32 = 6;
    pub const WORD: i32 = 7;
    pub const WORDS: i32 = 8;
    pub const POST: i32 = 9;
}

/// Room for messages that are on their way, bytes.
const BUFFER: usize = 64 << 20;

/// How long a rank that leaves waits for others to do so.
const LONGEST_FAREWELL: Duration = Duration::from_secs(3);

/// The right to say what became of a job.
pub struct Word {
    #[cfg(target_os = "linux")]
    _name: Option<std::os::unix::net::UnixListener>,
}

/// This process as one of the ranks of a job.
pub struct Ranks {
    world: SimpleCommunicator,
    /// Of each rank: its process, where it runs on this host and can be looked at.
    processes: Vec<Option<u32>>,
    /// The job is being ended from outside.
    stop: &'static AtomicBool,
    /// When this one last found that others keep its core busy.
    crowded: Cell<Option<Instant>>,
    // Ends MPI when it goes: after everything else.
    _universe: Universe,
}

/// Why a rank cannot go on; what unwinds from wherever it waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The process of this rank is no more.
    Rank(usize),
    /// The job is being ended, and the others do not answer any more.
    Ended,
}

impl Ranks {
    /// Joins the job; `None` when MPI cannot be started, or has been before. `stop` tells that
    /// somebody wants to end it.
    pub fn join(stop: &'static AtomicBool) -> Option<Self> {
        // Other threads may be at work, but only this one calls MPI.
        let (mut universe, _) = mpi::initialize_with_threading(Threading::Funneled)?;
        universe.set_buffer_size(BUFFER);
        let world = universe.world();
        let name = mpi::environment::processor_name().unwrap_or_default();
        let host = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let own = [host, u64::from(std::process::id())];
        let mut all = vec![0u64; 2 * world.size() as usize];
        world.all_gather_into(&own[..], &mut all[..]);
        let process = |two: &[u64]| {
            let process = u32::try_from(two[1]).ok()?;
            // Containers of one host need not see each other's processes.
            (two[0] == host && is_there(process)).then_some(process)
        };
        let processes = all.chunks_exact(2).map(process).collect();
        Some(Self { world, processes, stop, crowded: Cell::new(None), _universe: universe })
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    /// How many ranks there are.
    pub fn count(&self) -> usize {
        self.world.size() as usize
    }

    /// How many of them run on this host, itself included.
    pub fn on_this_host(&self) -> usize {
        self.processes.iter().flatten().count().max(1)
    }

    fn at(&self, rank: usize) -> Process<'_> {
        self.world.process_at_rank(rank as i32)
    }

    /// What every rank says.
    pub fn ask_all(&self, word: u64) -> Vec<u64> {
        if self.rank() > 0 {
            self.send(0, tag::WORD, &[word]);
            return self.receive(0, tag::WORDS);
        }
        let others = (1..self.count()).map(|rank| self.receive::<u64>(rank, tag::WORD));
        let words: Vec<u64> = [word].into_iter().chain(others.flatten()).collect();
        (1..self.count()).for_each(|rank| self.send(rank, tag::WORDS, &words));
        words
    }

    /// What the first rank says, on all ranks.
    pub fn hear_first(&self, word: u64) -> u64 {
        if self.rank() > 0 {
            // Others may be gone by now.
            return self.receive_of(0, tag::WORDS, 0..1).first().copied().unwrap_or(word);
        }
        (1..self.count()).for_each(|rank| self.send(rank, tag::WORDS, &[word]));
        word
    }

    /// Sends a letter, for [`Self::next_letter`] over there.
    pub fn send_letter(&self, to: usize, words: &[u64]) {
        self.send(to, tag::POST, words);
    }

    /// A letter of a rank, if there is one.
    pub fn next_letter(&self, from: usize) -> Option<Vec<u64>> {
        let message = self.at(from).immediate_matched_probe_with_tag(tag::POST)?;
        Some(message.matched_receive_vec().0)
    }

    /// Waits for a letter of a rank, whatever becomes of the others.
    pub fn await_letter(&self, from: usize) -> Vec<u64> {
        self.receive_of(from, tag::POST, from..from + 1)
    }

    /// Whether the process of a rank is known to be no more.
    pub fn is_gone(&self, rank: usize) -> bool {
        self.processes[rank].is_some_and(|process| !is_there(process))
    }

    /// Sends without waiting, unless that would take more room than there is.
    fn send<T: Equivalence>(&self, to: usize, tag: i32, numbers: &[T]) {
        match std::mem::size_of_val(numbers) < BUFFER / 4 {
            true => self.at(to).buffered_send_with_tag(numbers, tag),
            false => self.at(to).send_with_tag(numbers, tag),
        }
    }

    /// Waits for a message of any length.
    fn receive<T: Equivalence>(&self, from: usize, tag: i32) -> Vec<T> {
        self.receive_of(from, tag, 0..self.count())
    }

    /// The same as long as some ranks are there.
    fn receive_of<T: Equivalence>(&self, from: usize, tag: i32, needed: Range<usize>) -> Vec<T> {
        let from = self.at(from);
        let mut vigil = Vigil::new(needed);
        loop {
            match from.immediate_matched_probe_with_tag(tag) {
                Some(message) => return message.matched_receive_vec().0,
                None => vigil.wait(self),
            }
        }
    }

    /// Waits for a message of known length. Those of a rank with one tag come in the order in which
    /// they were sent.
    fn receive_into<B: BufferMut + ?Sized>(&self, from: usize, tag: i32, numbers: &mut B) {
        let from = self.at(from);
        let mut vigil = Vigil::new(0..self.count());
        while from.immediate_probe_with_tag(tag).is_none() {
            vigil.wait(self);
        }
        from.receive_into_with_tag(numbers, tag);
    }

    /// Messages of all ranks on the first; nothing on the others.
    fn gather<T: Equivalence + Clone>(&self, own: &[T], tag: i32) -> Vec<Vec<T>> {
        if self.rank() > 0 {
            self.send(0, tag, own);
            return Vec::new();
        }
        let others = (1..self.count()).map(|rank| self.receive(rank, tag));
        std::iter::once(own.to_vec()).chain(others).collect()
    }

    /// Whether ranks before this one on this host are gone.
    fn is_first_left(&self) -> bool {
        !(0..self.rank()).any(|rank| self.processes[rank].is_some_and(is_there))
    }

    /// Takes the word: whether it is up to this rank to say what happened. The first on a host that
    /// asks has it, however late the others find out. It is a name that the system gives to one
    /// process at a time, and takes back when that ends.
    pub fn take_word(&self) -> Option<Word> {
        #[cfg(target_os = "linux")]
        if let Some(first) = self.processes.iter().flatten().next() {
            use std::os::linux::net::SocketAddrExt;
            use std::os::unix::net::{SocketAddr, UnixListener};
            let name = format!("fluxline-job-{first}");
            let taken = SocketAddr::from_abstract_name(name)
                .and_then(|address| UnixListener::bind_addr(&address));
            return match taken {
                Ok(name) => Some(Word { _name: Some(name) }),
                Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => None,
                // Rather twice than not at all.
                Err(_) => Some(Word { _name: None }),
            };
        }
        #[cfg(target_os = "linux")]
        return Some(Word { _name: None });
        #[cfg(not(target_os = "linux"))]
        self.is_first_left().then_some(Word {})
    }

    /// Leaves a job in which a rank was lost. Who has the word keeps it until the others on this host
    /// are gone, or have had the time to find out.
    pub fn leave_lost(&self, code: u8, word: Option<Word>) -> ! {
        let begun = Instant::now();
        let others = || (0..self.count()).filter(|&rank| rank != self.rank());
        let is_alone = || !others().any(|rank| self.processes[rank].is_some_and(is_there));
        while word.is_some() && !is_alone() && begun.elapsed() < LONGEST_FAREWELL {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::process::exit(i32::from(code))
    }

    /// Leaves a job that cannot be left in order, because that would wait for those who are gone.
    pub fn leave(&self, code: u8) -> ! {
        // Who goes before the others know would be taken for one that is lost.
        let begun = Instant::now();
        while !self.is_first_left() && begun.elapsed() < LONGEST_FAREWELL {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::process::exit(i32::from(code))
    }

    /// Ends all ranks at once, as nothing else will.
    pub fn abort(&self, code: u8) -> ! {
        self.world.abort(i32::from(code))
    }
}

/// Whether a process of this host runs. Where nothing can be known, it does.
fn is_there(process: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        // After the name, in brackets that it may contain itself: Z and X are dead.
        Ok(told) => !told.rsplit_once(')').is_some_and(|(_, rest)| {
            matches!(rest.trim_start().as_bytes().first(), Some(b'Z' | b'X'))
        }),
        Err(_) => !std::path::Path::new("/proc/self/stat").exists(),
    }
}

/// Waiting for a message: eagerly at first, then without taking the core from others, and with a
/// look around.
///
/// Where other programs want the core, too, who hands it over is put behind all of them, and again
/// when it does so again, until it does not run for seconds; and MPI hands it over by itself in each
/// look for a message, where it knows of more ranks than cores. So a rank that finds itself away for
/// long sleeps instead, for which nobody is put back.
struct Vigil {
    /// Ranks without which it is in vain.
    needed: Range<usize>,
    tried: u32,
    /// When it last looked at the clock, unless it slept since.
    clock: Option<Instant>,
    /// Sleeps between looks.
    naps: bool,
    /// Since when it lets others run, and when it last looked around.
    since: Option<(Instant, Instant)>,
}

/// Looks for a message before others get the core, and after that before it sleeps.
const EAGER: u32 = 1000;
const YIELDS: u32 = 500;
/// Eager looks between two at the clock; they take some microseconds.
const GLANCE: u32 = 8;
/// Who was away for longer than this had to wait for its core.
const AWAY: Duration = Duration::from_millis(1);
/// For so long it then does not hand it over.
const CROWDED: Duration = Duration::from_secs(1);
/// And sleeps so long between looks.
const NAP: Duration = Duration::from_micros(50);
/// Between looks around.
const LOOK: Duration = Duration::from_millis(100);
/// Who is silent for so long while the job is being ended does not answer any more: the launcher
/// gives processes a second, and files have to be cleared away.
const SILENCE: Duration = Duration::from_millis(400);

impl Vigil {
    fn new(needed: Range<usize>) -> Self {
        Self { needed, tried: 0, clock: None, naps: false, since: None }
    }

    #[inline]
    fn wait(&mut self, ranks: &Ranks) {
        self.tried = self.tried.saturating_add(1);
        match self.tried {
            tried if tried <= EAGER && tried % GLANCE != 1 && !self.naps => std::hint::spin_loop(),
            tried => self.wait_longer(ranks, tried),
        }
    }

    #[cold]
    fn wait_longer(&mut self, ranks: &Ranks, tried: u32) {
        let now = Instant::now();
        if self.clock.replace(now).is_some_and(|before| now - before > AWAY) {
            ranks.crowded.set(Some(now));
        }
        let is_crowded = ranks.crowded.get().is_some_and(|at| now - at < CROWDED);
        let nap = match tried.saturating_sub(EAGER + YIELDS) {
            0 if is_crowded => Some(NAP),
            0 => None,
            more => Some(Duration::from_micros(20 << (more / 50).min(6))),
        };
        match nap {
            Some(nap) => {
                std::thread::sleep(nap);
                (self.clock, self.naps) = (None, true);
            }
            None if tried <= EAGER => return std::hint::spin_loop(),
            None => std::thread::yield_now(),
        }
        let now = Instant::now();
        let (since, looked) = self.since.get_or_insert((now, now));
        if now - *looked < LOOK {
            return;
        }
        *looked = now;
        let lost = match self.needed.clone().find(|&rank| ranks.is_gone(rank)) {
            Some(rank) => Lost::Rank(rank),
            None if ranks.stop.load(Ordering::Relaxed) && now - *since > SILENCE => Lost::Ended,
            None => return,
        };
        // Not a panic: nothing is printed.
        std::panic::resume_unwind(Box::new(lost));
    }
}
