//! A command on the ranks of an MPI job: all do the same, the first one speaks, and all end together.

use crate::commands::{Console, INTERRUPTED, listen};
use crate::session::Failure;
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::results::remove_unfinished;
use fluxline_parallel::mpi::{Lost, Ranks};
use fluxline_study::team::{Helpers, Leader};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;

/// How work ended.
pub(crate) struct Done {
    /// The exit code.
    pub code: u8,
    /// Whether all others that are still there will end, too.
    pub in_order: bool,
}

impl From<u8> for Done {
    fn from(code: u8) -> Self {
        Self { code, in_order: true }
    }
}

/// Does some work on all ranks. It ends with the exit code of the first, on all of them, or at once
/// when one is lost: with one message, and without the files that are not finished.
pub(crate) fn on_all(
    console: &Console,
    files: &[&Option<PathBuf>],
    work: impl FnOnce(&Rc<Ranks>) -> Done,
) -> u8 {
    // Before MPI starts: whoever ends the job then finds all ranks listening.
    listen();
    let Some(ranks) = Ranks::join(&INTERRUPTED).map(Rc::new) else {
        let problem = Diagnostic::error(Code::UnknownFormat, "MPI cannot be started")
            .help("start it with mpirun: mpirun -n 4 fluxline run FILE --mpi");
        return console.fail(problem);
    };
    let done = catch_unwind(AssertUnwindSafe(|| {
        let Done { code, in_order } = work(&ranks);
        // MPI ends when all ranks end it, which those who are gone or still at work never do.
        let in_order = in_order && !(0..ranks.count()).any(|rank| ranks.is_gone(rank));
        ranks.hear_first(u64::from(code) << 1 | u64::from(in_order))
    }));
    let lost = match done {
        Ok(word) if word & 1 == 1 => return (word >> 1) as u8,
        Ok(word) => ranks.leave((word >> 1) as u8),
        Err(reason) => match reason.downcast::<Lost>() {
            Ok(lost) => *lost,
            // A panic would let the others wait for ever.
            Err(_) => ranks.abort(1),
        },
    };
    let mut code = 1;
    let word = ranks.take_word();
    if word.is_some() {
        code = console.fail(told(&ranks, lost));
        if ranks.is_gone(0) {
            files.iter().filter_map(|file| file.as_deref()).for_each(remove_unfinished);
        }
    }
    ranks.leave_lost(code, word)
}

/// Goes on where all ranks have opened the same thing; otherwise the first that has not says why,
/// and the exit code is the same on all.
pub(crate) fn agree<T>(
    console: &Console,
    ranks: &Ranks,
    opened: Result<T, Failure>,
    print: impl FnOnce(&T) -> u64,
    refuse: impl FnOnce(&Failure) -> u8,
) -> Result<T, u8> {
    let code = opened.as_ref().map_or_else(|failure| failure.problems.exit_code(), |_| 0);
    let codes = ranks.ask_all(u64::from(code));
    if let Some(first) = codes.iter().position(|&code| code != 0) {
        if let (Err(failure), true) = (&opened, ranks.rank() == first) {
            if first > 0 {
                console.tell(&format!("on MPI rank {first}:\n"));
            }
            refuse(failure);
        }
        return Err(codes[first] as u8);
    }
    let Ok(opened) = opened else { return Err(2) };
    let known = ranks.ask_all(print(&opened));
    match known.iter().position(|print| *print != known[0]) {
        None => Ok(opened),
        Some(other) => {
            if ranks.rank() == 0 {
                let message = format!("MPI rank {other} has read another circuit than rank 0");
                let problem = Diagnostic::error(Code::BadPartition, message)
                    .help("give all hosts the same files and the same build");
                refuse(&Failure { problems: problem.into(), sources: Default::default() });
            }
            Err(2)
        }
    }
}

fn told(ranks: &Ranks, lost: Lost) -> Diagnostic {
    let own = ranks.rank();
    match lost {
        Lost::Rank(rank) => {
            let message = format!("MPI rank {rank} of {} is lost", ranks.count());
            Diagnostic::error(Code::RankLost, message)
                .note(format!("its process is no more, as rank {own} on the same host found"))
                .note("all ranks end; files that were not finished are removed")
                .help(Code::RankLost.info().cure)
        }
        Lost::Ended => {
            let message = "the MPI job is being ended, and other ranks do not answer any more";
            Diagnostic::error(Code::Interrupted, message)
                .note("files that were not finished are removed")
                .help("mpirun tells which process was lost, if it was not ended by hand")
        }
    }
}

/// The ranks after the first, as helpers of a study.
pub(crate) struct Others<'a> {
    ranks: &'a Ranks,
    /// Of each: letters without answer.
    open: Vec<Cell<u32>>,
}

impl<'a> Others<'a> {
    /// Those of a job.
    pub fn of(ranks: &'a Ranks) -> Self {
        Self { ranks, open: (1..ranks.count()).map(|_| Cell::new(0)).collect() }
    }

    /// Whether none of them is at work any more.
    pub fn all_answered(&self) -> bool {
        self.open.iter().all(|open| open.get() == 0)
    }
}

impl Helpers for Others<'_> {
    fn count(&self) -> usize {
        self.open.len()
    }
    fn send(&self, helper: usize, words: &[u64]) {
        if !words.is_empty() {
            self.open[helper].update(|open| open + 1);
        }
        self.ranks.send_letter(helper + 1, words);
    }
    fn receive(&self, helper: usize) -> Option<Vec<u64>> {
        let words = self.ranks.next_letter(helper + 1)?;
        self.open[helper].update(|open| open.saturating_sub(1));
        Some(words)
    }
    fn is_lost(&self, helper: usize) -> bool {
        self.ranks.is_gone(helper + 1)
    }
}

/// The first rank, for which the others evaluate.
pub(crate) struct First<'a>(pub &'a Ranks);

impl Leader for First<'_> {
    fn receive(&self) -> Vec<u64> {
        self.0.await_letter(0)
    }
    fn send(&self, words: &[u64]) {
        self.0.send_letter(0, words);
    }
}
