//! The report of a run: one HTML file with verdict, tables and interactive plots.

use crate::display::{Shown, counted, number, quantity, time};
use crate::figures::figures;
use crate::verdict;
use fluxline_core::monitor::Named;
use fluxline_core::run::Ended;
use fluxline_plot::{Report, Status, Table};

/// Parts of a whole beyond which a balance is worth a look.
const BALANCE: f64 = 1e-6;

/// The report as HTML.
pub fn html(run: &verdict::Report) -> String {
    let (session, completed) = (run.session, run.completed);
    let judged = &completed.outcome.verdict;
    let plan = session.plan();
    let mut report = Report::new(&session.circuit.title)
        .fact("circuit", &session.name)
        .fact("simulated", format!("{} to {}", time(plan.start), time(session.circuit.run.stop)))
        .fact("step", time(plan.step))
        .fact("Fluxline", env!("CARGO_PKG_VERSION"));
    for warning in run.warnings().iter() {
        report = report.warning(warning.to_string());
    }
    let end = match &completed.failure {
        None => ("done".to_owned(), Status::Ok),
        Some(failure) => (failure.message().to_owned(), Status::Fail),
    };
    report = report.verdict("Run", end.0, end.1);
    if let Some(rest) = &completed.rest {
        let status = if rest.reached { Status::Ok } else { Status::Fail };
        let text = format!(
            "after {}, largest change left {} /s at {}",
            time(rest.time),
            number(rest.residual),
            plan.name(rest.component)
        );
        report = report.verdict("Start at rest", text, status);
    }
    let speed = format!(
        "{} in {}, {} × real time",
        counted(judged.steps, "step"),
        time(completed.wall.as_secs_f64()),
        crate::display::rounded(completed.real_time_factor(), 3)
    );
    report = report.verdict("Steps", speed, Status::Info);
    for (name, found, unit) in [
        ("Parasitic pressure", &judged.parasitic_pressure, "Pa"),
        ("Parasitic force", &judged.parasitic_force, "N"),
    ] {
        if let Some((worst, at)) = found {
            let text =
                format!("{} in {} at {}", quantity(worst.value, unit), worst.component, time(*at));
            report = report.verdict(name, text, Status::Info);
        }
    }
    let balance = |relative: f64| if relative <= BALANCE { Status::Ok } else { Status::Warn };
    let is_sound = !matches!(completed.outcome.ended, Ended::Diverged(_));
    if is_sound && judged.oil_throughput.max(judged.oil_held) > 0.0 {
        let relative = judged.relative_oil_error();
        report = report.verdict("Oil balance", format!("off by {relative:.1e}"), balance(relative));
    }
    if is_sound && judged.judges_energy() {
        let relative = judged.relative_energy_error();
        report = report.verdict("Energy balance", format!("off by {relative:.1e}"), Status::Info);
    }
    let listed = |all: &[Named]| match all {
        [] => ("none".to_owned(), Status::Ok),
        _ => {
            let names: Vec<String> = all
                .iter()
                .map(|n| format!("{} ({})", n.component, counted(n.value as u64, "step")))
                .collect();
            (names.join(", "), Status::Warn)
        }
    };
    for (name, all) in [("Limits hit", &judged.limits), ("Cavitation", &judged.cavitation)] {
        let (text, status) = listed(all);
        report = report.verdict(name, text, status);
    }
    if let Some(failure) = &completed.failure {
        report = report.section("What went wrong").preformatted(failure.render(
            &session.sources,
            false,
            100,
        ));
    }
    let drawn = figures(session, completed);
    if !drawn.is_empty() {
        report = report.section("Results");
    }
    for figure in drawn {
        report = report.figure(figure);
    }
    let mut table = Table::new(["variable", "unit", "start", "min", "max", "end"]);
    for (variable, range) in completed.recorder.variables.iter().zip(&completed.extremes) {
        let shown = Shown::new(variable.unit);
        let text = |x: f64| number(shown.of(x));
        table = table.row([
            variable.name.clone(),
            shown.symbol().to_owned(),
            text(range.start),
            text(range.min),
            text(range.max),
            text(range.end),
        ]);
    }
    report = report.table(table.caption("Recorded variables"));
    let file = session.sources.iter().find(|(_, source)| source.name() == session.name);
    if let Some((_, source)) = file {
        report = report.section("Circuit").preformatted(source.text().to_string());
    }
    report.to_html()
}
