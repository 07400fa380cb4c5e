//! Runs of one circuit in parts: which parts, and whether it pays.

use crate::args::{Run, Threads};
use crate::commands::listen;
use crate::session::{Engine, On, Parallel, Parts, Pieces, Session};
use fluxline_core::plan::Plan;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use fluxline_formats::results::read_problem;
use fluxline_parallel::Partition;
use fluxline_parallel::advice::{Advice, advise};
use fluxline_parallel::cost::{self, Costs};
use fluxline_parallel::cut::Cut;
use fluxline_parallel::graph::Tasks;
use fluxline_parallel::mapping::{self, Method, map};
use fluxline_parallel::rare::RareCut;
use fluxline_parallel::threads::Manner;
use std::path::Path;

/// Prepares a session to run in parts, where that is asked for.
pub(crate) fn set_up(session: &mut Session, args: &Run) -> Result<(), Diagnostics> {
    let (threads, file) = (args.threads, args.partition.as_deref());
    if threads.is_none() && file.is_none() {
        return match args.exchange_every {
            None | Some(1) => Ok(()),
            Some(every) => Err(Diagnostic::error(
                Code::UnknownSetting,
                format!("there are no parts that could exchange every {every} steps"),
            )
            .help("say into how many parts the circuit is cut: --threads N, or --partition FILE")
            .into()),
        };
    }
    if let Some(why) = not_in_parts(session) {
        if threads == Some(Threads::Auto) && file.is_none() {
            session.parallel = Some(Parallel::No(why.to_owned()));
            return Ok(());
        }
        return Err(refused(why));
    }
    let every = args.exchange_every.unwrap_or(1);
    let given = file.map(|path| read(path, session)).transpose()?;
    let (partition, why) = match (given, threads) {
        (Some(partition), _) => (partition, None),
        (None, Some(Threads::Of(parts))) => (choose(session.plan(), parts, every), None),
        (None, _) if every == 1 && is_faster_alike(session) => {
            let why = "own code steps components that are alike side by side in one thread, which is faster \
                       than parts on so few cores";
            session.parallel = Some(Parallel::No(why.to_owned()));
            return Ok(());
        }
        (None, _) => match advise(session.plan(), session.steps()) {
            Advice::Serial(why) => {
                session.parallel = Some(Parallel::No(why));
                return Ok(());
            }
            Advice::Parts(partition, why) if every == 1 => (partition, Some(why)),
            Advice::Parts(partition, why) => {
                (choose(session.plan(), partition.parts, every), Some(why))
            }
        },
    };
    if partition.parts == 1 {
        return Ok(());
    }
    let mut manner = Manner::of(partition.parts);
    if let Some(Threads::Of(threads)) = threads {
        manner.threads = threads.min(manner.threads);
    }
    let pieces = pieces(session, &partition, args)?;
    let parts = Parts { pieces, on: On::Threads(manner), why };
    session.parallel = Some(Parallel::Parts(Box::new(parts)));
    Ok(())
}

/// Cores up to which own code for components that are alike, some three to five times as fast as the
/// engine, is faster than the engine on all of them.
const FEW_CORES: usize = 4;

/// Whether own code in one thread is faster than parts on threads.
fn is_faster_alike(session: &Session) -> bool {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // A compiler is waited for only as long as the user does.
    listen();
    cores <= FEW_CORES && session.is_fused_alike()
}

/// The same on the ranks of an MPI job.
#[cfg(feature = "mpi")]
pub(crate) fn set_up_ranks(
    session: &mut Session,
    args: &Run,
    ranks: &std::rc::Rc<fluxline_parallel::mpi::Ranks>,
) -> Result<(), Diagnostics> {
    if let Some(why) = not_in_parts(session) {
        return Err(refused(why));
    }
    let every = args.exchange_every.unwrap_or(1);
    let count = ranks.count();
    let partition = match args.partition.as_deref() {
        Some(path) => read(path, session)?,
        // All ranks come to the same parts.
        None if every == 1 => mapping::evenly(session.plan(), count),
        None => choose(session.plan(), count, every),
    };
    if partition.parts != count {
        let message = format!("the partition has {} parts, the job {count} ranks", partition.parts);
        return Err(Diagnostic::error(Code::BadPartition, message)
            .help(format!("start as many: mpirun -n {}", partition.parts))
            .into());
    }
    if count > 1 {
        let pieces = pieces(session, &partition, args)?;
        let parts = Parts { pieces, on: On::Ranks(ranks.clone()), why: None };
        session.parallel = Some(Parallel::Parts(Box::new(parts)));
    }
    Ok(())
}

/// A number that differs when circuits do, in structure or in values.
#[cfg(feature = "mpi")]
pub(crate) fn print_of(session: &Session) -> u64 {
    use std::fmt::Write as _;
    /// FNV-1a over a text that is never held as a whole: it is as long as the circuit is large.
    struct Print(u64);
    impl std::fmt::Write for Print {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            self.0 = text.bytes().fold(self.0, add);
            Ok(())
        }
    }
    let mut print = Print(session.plan().fingerprint);
    // Writing to it does not fail.
    let _ = write!(print, "{:?}", session.circuit);
    print.0
}

fn not_in_parts(session: &Session) -> Option<&'static str> {
    match session.engine {
        Engine::Fixed(_) => None,
        Engine::Variable(_) => Some("the step varies"),
        Engine::Lumped(..) => Some("a lumped solver takes all components together"),
    }
}

fn refused(why: &str) -> Diagnostics {
    Diagnostic::error(Code::UnknownSetting, format!("the circuit cannot run in parts: {why}"))
        .help("run it in one piece, or with waves and a fixed step: --solver tlm")
        .into()
}

/// By what is known of this machine, where that does not change results; it takes too long to measure
/// it for one run.
fn choose(plan: &Plan, parts: usize, every: u32) -> Partition {
    match every {
        1 => match cost::kept(plan) {
            Some(mut costs) => {
                // So many parts are wanted whatever they cost.
                costs.exchange = Costs::typical().exchange;
                let tasks = Tasks::of(plan, &costs);
                map(&tasks, &costs.links(), parts, Method::Multilevel, 1).partition
            }
            None => mapping::evenly(plan, parts),
        },
        _ => Partition::for_rare_exchange(plan, parts),
    }
}

fn pieces(session: &Session, partition: &Partition, args: &Run) -> Result<Pieces, Diagnostics> {
    let plan = session.plan();
    let every = args.exchange_every.unwrap_or(1);
    if every == 1 {
        return Ok(Pieces::Exact(Cut::new(plan, partition)?));
    }
    if plan.thermal.is_some()
        || !session.circuit.fluids.iter().all(|fluid| fluid.stiffness().is_constant())
    {
        let message = "parts that exchange rarely need oil of constant stiffness and temperature";
        return Err(Diagnostic::error(Code::UnknownSetting, message)
            .help("exchange every step, or leave out air and temperature from `[fluid]`")
            .into());
    }
    let filter = session.circuit.run.line_filter();
    let rare = RareCut::new(plan, partition, every, filter)?;
    Ok(Pieces::Rare(if args.exchange_strictly { rare.strictly() } else { rare }))
}

fn read(path: &Path, session: &mut Session) -> Result<Partition, Diagnostics> {
    let text = std::fs::read_to_string(path).map_err(|error| read_problem(path, &error))?;
    let sources: &mut SourceMap = &mut session.sources;
    let source = sources.add(path.display().to_string(), text.clone());
    let entries = &session.plan().variables.entries;
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    Partition::parse(&text, source, &names)
}
