//! `fluxline export`: a circuit as source code.

use super::Console;
use crate::args::Export as Args;
use crate::session::{Engine, Failure, Recording, Session};
use fluxline_core::program::Obstacle;
use fluxline_diagnostics::{Code, Diagnostic, Place};
use fluxline_formats::Override;
use fluxline_formats::results::{OutputFile, write_problem};
use fluxline_fused::export::{Export, File, identifier};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// Obstacles that are named.
const SHOWN: usize = 5;

pub(super) fn run(console: &Console, args: &Args) -> u8 {
    let overrides: Vec<Override> = args.set.iter().map(|text| Override::parse(text)).collect();
    let session = match Session::open(&args.file, &overrides) {
        Ok(session) => session,
        Err(failure) => return console.refuse(&failure),
    };
    let name = identifier(&args.file.file_stem().unwrap_or_default().to_string_lossy());
    let files = match write(&session, args, &name) {
        Ok(files) => files,
        Err(problem) => {
            let mut problems = session.warnings.clone();
            problems.push(problem);
            return console.refuse(&Failure { problems, sources: session.sources });
        }
    };
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(&name));
    if let Some((there, _)) = files.iter().find(|(file, _)| folder.join(file).exists())
        && !args.force
    {
        let message = format!("`{}` is already there", folder.join(there).display());
        let problem = Diagnostic::error(Code::CannotWrite, message);
        return console.fail(problem.help("choose another folder with --out, or use --force"));
    }
    if let Err(error) = fs::create_dir_all(&folder) {
        return console.fail(write_problem(&folder, &error));
    }
    for (file, text) in &files {
        let path = folder.join(file);
        let written = OutputFile::create(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.finish()
        });
        if let Err(error) = written {
            return console.fail(write_problem(&path, &error));
        }
    }
    let listed: Vec<String> =
        files.iter().map(|(file, _)| folder.join(file).display().to_string()).collect();
    let build = match args.c {
        true => {
            format!("cc -O2 -ffp-contract=off -fno-builtin {name}.c {name}_main.c -lm -o {name}")
        }
        false => format!("rustc --edition 2021 -O main.rs -o {name}"),
    };
    console.print(&format!(
        "wrote {}\n\nNext:\n  cd {}\n  {build}\n  ./{name}\n",
        listed.join(", "),
        folder.display()
    ));
    0
}

fn write(session: &Session, args: &Args, name: &str) -> Result<Vec<File>, Diagnostic> {
    let Engine::Fixed(plan) = &session.engine else {
        let message = "only the wave method with a fixed step is written as code";
        return Err(Diagnostic::error(Code::NoOwnCode, message)
            .on(Place::setting("run.step_control"))
            .help("use step_control = \"fixed\" and solver = \"tlm\""));
    };
    let chosen = session.recording(&Recording::default()).map_err(|found| {
        let first = found.iter().next().map_or("nothing to record", |d| d.message()).to_owned();
        Diagnostic::error(Code::RecordMatchesNothing, first)
    })?;
    let (start, _) = session.beginning(false)?;
    let export = Export {
        name,
        origin: &session.name,
        plan,
        registry: &session.registry,
        start: &start,
        outputs: &chosen.variables,
        sampling: chosen.sampling,
        steps: session.steps(),
    };
    let files = if args.c { export.c() } else { export.rust() };
    files.map_err(|obstacles| refusal(session, &obstacles))
}

fn refusal(session: &Session, obstacles: &[Obstacle]) -> Diagnostic {
    let plan = session.plan();
    let tell = |obstacle: &Obstacle| match obstacle.component {
        Some(component) => {
            let entry = &plan.variables.entries[component as usize];
            format!("`{}` ({}): {}", entry.name, entry.declaration.name, obstacle.why)
        }
        None => obstacle.why.to_owned(),
    };
    let first = obstacles.first().map_or(String::new(), tell);
    let mut problem = Diagnostic::error(
        Code::NoOwnCode,
        format!("the circuit cannot be written as code: {first}"),
    );
    for other in obstacles.iter().skip(1).take(SHOWN - 1) {
        problem = problem.note(format!("also {}", tell(other)));
    }
    if obstacles.len() > SHOWN {
        problem = problem.note(format!("and {} more", obstacles.len() - SHOWN));
    }
    problem.help("`fluxline run` steps such components by the engine; a volume in place of a pipe, or a short curve in place of a long table, can be written")
}
