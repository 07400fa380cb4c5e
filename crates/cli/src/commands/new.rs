//! `fluxline new`.

use super::Console;
use crate::args::New;
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::results::{OutputFile, write_problem};
use std::io::Write;

/// Name, what it is, and the circuit.
const TEMPLATES: &[(&str, &str)] = &[("servo", include_str!("../../templates/servo.toml"))];

pub(super) fn run(console: &Console, args: &New) -> u8 {
    let Some((_, text)) = TEMPLATES.iter().find(|(name, _)| *name == args.template) else {
        let names = TEMPLATES.iter().map(|(name, _)| *name);
        let problem = Diagnostic::error(
            Code::UnknownFormat,
            format!("there is no template `{}`", args.template),
        );
        return console.fail(problem.suggest(&args.template, names));
    };
    let path = match args.name.extension() {
        Some(ending) if ending == "toml" => args.name.clone(),
        _ => {
            let mut name = args.name.as_os_str().to_owned();
            name.push(".toml");
            name.into()
        }
    };
    if path.exists() && !args.force {
        let message = format!("`{}` is already there", path.display());
        let problem = Diagnostic::error(Code::CannotWrite, message);
        return console.fail(problem.help("choose another name, or overwrite it with --force"));
    }
    let written = OutputFile::create(&path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.finish()
    });
    if let Err(error) = written {
        return console.fail(write_problem(&path, &error));
    }
    let name = path.display();
    console
        .print(&format!("wrote {name}\n\nNext:\n  fluxline check {name}\n  fluxline run {name}\n"));
    0
}
