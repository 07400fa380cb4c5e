//! Runs of one circuit in parts: which parts, and whether it pays.

use crate::args::Threads;
use crate::session::{Engine, Parallel, Parts, Session};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics};
use fluxline_formats::results::read_problem;
use fluxline_parallel::Partition;
use fluxline_parallel::advice::{Advice, advise};
use fluxline_parallel::split::Split;
use fluxline_parallel::threads::Manner;
use std::path::Path;

/// Prepares a session to run in parts, where that is asked for.
pub fn set_up(
    session: &mut Session,
    threads: Option<Threads>,
    file: Option<&Path>,
) -> Result<(), Diagnostics> {
    if threads.is_none() && file.is_none() {
        return Ok(());
    }
    let Engine::Fixed(plan) = &session.engine else {
        let why = match session.engine {
            Engine::Variable(_) => "the step varies",
            _ => "a lumped solver takes all components together",
        };
        if threads == Some(Threads::Auto) && file.is_none() {
            session.parallel = Some(Parallel::No(why.to_owned()));
            return Ok(());
        }
        return Err(Diagnostic::error(
            Code::UnknownSetting,
            format!("the circuit cannot run in parts: {why}"),
        )
        .help("run it in one piece, or with waves and a fixed step: --solver tlm")
        .into());
    };
    let given = file.map(|path| read(path, session.plan(), &mut session.sources)).transpose()?;
    let (partition, why) = match (given, threads) {
        (Some(partition), _) => (partition, None),
        (None, Some(Threads::Of(parts))) => (Partition::in_order(plan, parts), None),
        (None, _) => match advise(plan, session.steps()) {
            Advice::Serial(why) => {
                session.parallel = Some(Parallel::No(why));
                return Ok(());
            }
            Advice::Parts(partition, why) => (partition, Some(why)),
        },
    };
    if partition.parts == 1 {
        return Ok(());
    }
    let split = Split::new(plan, &partition)?;
    let mut manner = Manner::of(partition.parts);
    if let Some(Threads::Of(threads)) = threads {
        manner.threads = threads.min(manner.threads);
    }
    session.parallel = Some(Parallel::Parts(Box::new(Parts { split, manner, why })));
    Ok(())
}

fn read(
    path: &Path,
    plan: &fluxline_core::plan::Plan,
    sources: &mut fluxline_diagnostics::SourceMap,
) -> Result<Partition, Diagnostics> {
    let text = std::fs::read_to_string(path).map_err(|error| read_problem(path, &error))?;
    let source = sources.add(path.display().to_string(), text.clone());
    let names: Vec<&str> = plan.variables.entries.iter().map(|e| e.name.as_str()).collect();
    Partition::parse(&text, source, &names)
}
