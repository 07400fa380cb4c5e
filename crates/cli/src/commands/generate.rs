//! `fluxline generate`: writes a large circuit, to measure with.

use super::Console;
use crate::args::{FamilyName, Generate};
use crate::display::count;
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::results::{OutputFile, write_problem};
use fluxline_parallel::generate::{Blueprint, Family};
use std::io::Write;

pub(super) fn run(console: &Console, args: &Generate) -> u8 {
    let path = &args.out;
    if path.exists() && !args.force && path.as_os_str() != "-" {
        let message = format!("`{}` is already there", path.display());
        let problem = Diagnostic::error(Code::CannotWrite, message);
        return console.fail(problem.help("choose another name, or overwrite it with --force"));
    }
    let family = match args.family {
        FamilyName::Fleet => Family::Fleet,
        FamilyName::Network => Family::Network,
    };
    let blueprint = Blueprint::new(family, args.components as usize);
    let written = OutputFile::create(path).and_then(|mut file| {
        file.write_all(blueprint.to_toml().as_bytes())?;
        file.finish()
    });
    if let Err(error) = written {
        return console.fail(write_problem(path, &error));
    }
    if path.as_os_str() != "-" {
        console.print(&format!(
            "{} written: {}, {} components with lines\n",
            path.display(),
            blueprint.title,
            count(blueprint.size as u64)
        ));
    }
    0
}
