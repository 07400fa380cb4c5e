//! The command with MPI, beside the one without it: what the tests of ranks start.

use std::process::ExitCode;

fn main() -> ExitCode {
    fluxline::main()
}
