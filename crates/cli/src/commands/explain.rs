//! `fluxline explain`.

use super::Console;
use crate::args::Explain;
use fluxline_diagnostics::{Code, nearest};

pub(super) fn run(console: &Console, args: &Explain) -> u8 {
    match args.code.parse::<Code>() {
        Ok(code) => {
            console.print(&code.explain());
            0
        }
        Err(unknown) => {
            let near = nearest(&args.code, Code::ALL.iter().map(|code| code.as_str()));
            let mut text = format!("{unknown}\n");
            for code in near {
                let title = code.parse::<Code>().map_or("", Code::title);
                text.push_str(&format!("  {code}  {title}\n"));
            }
            console.tell(&text);
            2
        }
    }
}
