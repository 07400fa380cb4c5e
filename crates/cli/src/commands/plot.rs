//! `fluxline plot`.

use super::Console;
use crate::args::Plot;

pub(super) fn run(_console: &Console, _args: &Plot) -> u8 {
    0
}
