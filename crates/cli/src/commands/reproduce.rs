//! `fluxline reproduce`.

use super::Console;
use crate::args::Reproduce;

pub(super) fn run(_console: &Console, _args: &Reproduce) -> u8 {
    0
}
