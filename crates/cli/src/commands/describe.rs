//! `fluxline describe`.

use super::Console;
use crate::args::Describe;

pub(super) fn run(_console: &Console, _args: &Describe) -> u8 {
    0
}
