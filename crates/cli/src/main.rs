//! The `fluxline` command.
fn main() {}
