//! The `fluxline` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    fluxline::main()
}
