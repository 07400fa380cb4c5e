//! Instructions per step of example circuits, counted by valgrind: a machine that is busy with other
//! things gives the same count, so that a step loop that became slower shows.
//!
//! Stored counts are those of the profile that tests are built with. After a change that is meant to
//! cost, or to save, `FLUXLINE_COUNTS=write cargo test -p fluxline --test instructions` stores new
//! ones.

use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Circuits that are counted.
const CIRCUITS: [&str; 4] = [
    "position_servo.toml",
    "hydrostatic_transmission.toml",
    "load_sensing.toml",
    "hopsan/position_servo.hmf",
];
/// A count that is larger by more than this share fails.
const ALLOWED: f64 = 0.10;
/// Two runs, s: what they differ by is the step loop, without the start.
const STOPS: [f64; 2] = [0.05, 0.35];
/// The step of all these circuits, s.
const STEP: f64 = 1e-4;

fn stored_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/instructions.json")
}

fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// Instructions of a whole run.
fn instructions(circuit: &Path, stop: f64) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_fluxline"))
        .args(["run", "--quiet", "--stop", &format!("{stop} s")])
        .arg(circuit)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find_map(|line| line.split_once("Collected : "))?;
    line.1.trim().parse().ok()
}

#[test]
fn steps_take_no_more_instructions_than_they_did() {
    if version_of("valgrind").is_none() || !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        eprintln!("skipped: instructions are counted by valgrind, on x86-64 Linux");
        return;
    }
    let compiler = version_of("rustc").unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut counts = Map::new();
    for name in CIRCUITS {
        let of = |stop: f64| instructions(&folder.join(name), stop);
        let (Some(short), Some(long)) = (of(STOPS[0]), of(STOPS[1])) else {
            panic!("{name} cannot be counted");
        };
        let per_step = (long - short) / ((STOPS[1] - STOPS[0]) / STEP);
        counts.insert(name.to_owned(), json!(per_step.round()));
    }
    if std::env::var("FLUXLINE_COUNTS").is_ok_and(|what| what == "write") {
        let text = json!({ "compiler": compiler, "instructions_per_step": counts });
        let text = serde_json::to_string_pretty(&text).unwrap() + "\n";
        std::fs::write(stored_path(), text).unwrap();
        return;
    }
    let text = std::fs::read_to_string(stored_path()).expect("counts are stored");
    let stored: Value = serde_json::from_str(&text).expect("stored counts are JSON");
    let is_same_compiler = stored["compiler"] == json!(compiler);
    if !is_same_compiler {
        eprintln!("not judged: stored with {}, counted with {compiler}", stored["compiler"]);
    }
    let mut slower = Vec::new();
    for (name, count) in &counts {
        let (now, before) = (count.as_f64(), stored["instructions_per_step"][name].as_f64());
        let (Some(now), Some(before)) = (now, before) else {
            panic!("no count is stored for {name}");
        };
        let change = now / before - 1.0;
        eprintln!("{name}: {now} instructions per step, {:+.1} %", 100.0 * change);
        if change > ALLOWED && is_same_compiler {
            slower.push(format!("{name}: {now} instructions per step, {before} before"));
        }
    }
    assert!(slower.is_empty(), "{}", slower.join("\n"));
}
