//! Runs circuits and compares what comes out.

#![allow(dead_code, reason = "each test program uses a part of it")]

use fluxline::{Quiet, Recording, Session};
use fluxline_core::monitor::Verdict;
use fluxline_core::state::State;
use fluxline_core::variable::StepUse;
use fluxline_formats::Override;
use std::path::PathBuf;

/// A finished run.
pub struct Trial {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    /// Recorded times, s.
    pub times: Vec<f64>,
    /// Its judgement.
    pub verdict: Verdict,
    /// What a variable step did.
    pub step_use: Option<StepUse>,
    /// The last state.
    pub state: State<f64>,
}

impl Trial {
    /// A recorded variable, in SI units.
    pub fn column(&self, name: &str) -> &[f64] {
        let at = self.names.iter().position(|one| one == name);
        &self.columns[at.unwrap_or_else(|| panic!("no variable {name} in {:?}", self.names))]
    }

    /// The last value of a variable.
    pub fn last(&self, name: &str) -> f64 {
        self.column(name)[self.times.len() - 1]
    }
}

/// The path of a file next to the tests.
pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The text of a file next to the tests.
pub fn text(name: &str) -> String {
    std::fs::read_to_string(data(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Reads, plans and runs a circuit with some settings changed, and records every so many steps.
pub fn run(circuit: &str, settings: &[(&str, &str)], every: u64, record: &[&str]) -> Trial {
    let changed: Vec<Override> = settings.iter().map(|(k, v)| Override::new(k, v)).collect();
    let session = Session::from_text("circuit.toml", circuit, &changed)
        .unwrap_or_else(|f| panic!("{:?}", f.problems));
    let wanted = Recording {
        record: record.iter().map(|&name| name.to_owned()).collect(),
        every: Some(every),
        ..Default::default()
    };
    let chosen = session.recording(&wanted).unwrap_or_else(|f| panic!("{f:?}"));
    let completed = session.run(chosen, None, Vec::new(), &mut Quiet);
    assert!(completed.failure.is_none(), "{:?}", completed.failure);
    let names: Vec<String> = completed.recorder.variables.iter().map(|v| v.name.clone()).collect();
    let columns = names.iter().map(|name| completed.column(name).unwrap_or_default()).collect();
    Trial {
        names,
        columns,
        times: completed.times(),
        verdict: completed.outcome.verdict.clone(),
        step_use: completed.step_use.clone(),
        state: completed.state,
    }
}

/// Runs with a step and records at multiples of a time.
pub fn run_at(
    circuit: &str,
    settings: &[(&str, &str)],
    step: f64,
    interval: f64,
    record: &[&str],
) -> Trial {
    let every = interval / step;
    assert!((every - every.round()).abs() < 1e-6, "{interval} s is no multiple of {step} s");
    let given = format!("{step:e} s");
    let all: Vec<(&str, &str)> =
        settings.iter().copied().chain([("run.step", given.as_str())]).collect();
    run(circuit, &all, every.round() as u64, record)
}

/// Largest difference.
pub fn deviation(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Largest less smallest.
pub fn range(values: &[f64]) -> f64 {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    high - low
}
