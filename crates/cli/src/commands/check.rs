//! `fluxline check`.

use super::Console;
use crate::args::Check;
use crate::display::counted;
use crate::session::Session;
use fluxline_formats::Override;
use serde_json::json;

pub(super) fn run(console: &Console, args: &Check) -> u8 {
    let overrides: Vec<Override> = args.set.iter().map(|text| Override::parse(text)).collect();
    match Session::open(&args.file, &overrides) {
        Err(failure) if args.json => {
            console.print(&failure.problems.to_json(&failure.sources));
            failure.problems.exit_code()
        }
        Err(failure) => console.refuse(&failure),
        Ok(session) if args.json => {
            console.print(&session.warnings.to_json(&session.sources));
            0
        }
        Ok(session) => {
            console.report(&session.warnings, &session.sources);
            console.print(&summary(&session));
            0
        }
    }
}

/// `servo.toml: 12 components, 14 connections, 30 000 steps, no warnings`.
fn summary(session: &Session) -> String {
    let circuit = &session.circuit;
    let connections = circuit.connections.len() + circuit.drives.len();
    let warnings = match session.warnings.warnings() as u64 {
        0 => "no warnings".to_owned(),
        n => counted(n, "warning"),
    };
    let title = json!(circuit.title);
    format!(
        "{}: {title}, {}, {}, {}, {warnings}\n",
        session.name,
        counted(circuit.components.len() as u64, "component"),
        counted(connections as u64, "connection"),
        counted(session.steps(), "step"),
    )
}
