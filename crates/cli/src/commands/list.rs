//! `fluxline list`.

use super::Console;
use crate::args::List;

pub(super) fn run(_console: &Console, _args: &List) -> u8 {
    0
}
