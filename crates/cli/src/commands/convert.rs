//! `fluxline convert`.

use super::Console;
use crate::args::Convert;
use crate::import;
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::Override;
use fluxline_formats::results::{OutputFile, write_problem};
use std::io::Write;

pub(super) fn run(console: &Console, args: &Convert) -> u8 {
    if !import::is_model(&args.model) {
        let message = format!("`{}` is not a model of Hopsan", args.model.display());
        return console.fail(
            Diagnostic::error(Code::UnknownFormat, message).help("name a file that ends in `.hmf`"),
        );
    }
    let to_screen = args.circuit.as_os_str() == "-";
    if !to_screen && !args.force && args.circuit.exists() {
        let message = format!("`{}` exists already", args.circuit.display());
        return console.fail(
            Diagnostic::error(Code::CannotWrite, message)
                .help("choose another name, or overwrite it with `--force`"),
        );
    }
    let overrides: Vec<Override> = args.set.iter().map(|text| Override::parse(text)).collect();
    let registry = crate::registry();
    let (converted, import) = match import::convert(&args.model, &registry, &overrides) {
        Ok(converted) => converted,
        Err(failure) => return console.refuse(&failure),
    };
    console.report(&import.diagnostics, &import.sources);
    if to_screen {
        console.print(&converted.text);
        console.print(&converted.data);
        return 0;
    }
    let written = OutputFile::create(&args.circuit).and_then(|mut file| {
        file.write_all(converted.text.as_bytes())?;
        file.write_all(converted.data.as_bytes())?;
        file.finish()
    });
    if let Err(error) = written {
        return console.fail(write_problem(&args.circuit, &error));
    }
    let mut text = format!("{} written\n", args.circuit.display());
    if !converted.kept.is_empty() {
        text.push_str("without a counterpart here, kept under `[data]`:\n");
        for line in &converted.kept {
            text.push_str(&format!("  {line}\n"));
        }
    }
    console.tell(&text);
    0
}
