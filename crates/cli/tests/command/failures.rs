//! Runs that fail: what is told, and what is kept.

use crate::bench::{Bench, PUMP, RUNAWAY};

#[test]
fn divergence_names_physics_and_keeps_the_results() {
    let bench = Bench::with("runaway.toml", RUNAWAY);
    let arguments = [
        "run",
        "runaway.toml",
        "--every",
        "1",
        "--csv",
        "a.csv",
        "--report",
        "r.html",
        "--save-state",
        "s",
    ];
    let said = bench.fluxline(&arguments);
    assert_eq!(said.code, 1);
    for part in
        ["error[F0901]", "at t = ", "last good step", "likely cause", "help:", "kept in a.csv"]
    {
        assert!(said.err.contains(part), "{part} in {}", said.err);
    }
    let csv = bench.read("a.csv");
    assert!(csv.lines().count() > 10);
    assert!(!csv.contains("NaN") && !csv.contains("inf"));
    // No row after the last good step.
    let last: f64 = csv.lines().last().unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(bench.read("r.html").contains("What went wrong"));
    assert_eq!(bench.files(), ["a.csv", "r.html", "runaway.toml", "s"]);

    let (code, verdict) = bench.json(&["run", "runaway.toml"]);
    assert_eq!((code, &verdict["ended"]), (1, &"diverged".into()));
    let failure = &verdict["failure"];
    assert_eq!(failure["code"], "F0901");
    assert!(failure["component"].is_string() && failure["variable"].is_string(), "{failure}");
    let (good, bad) =
        (failure["last_good_time"].as_f64().unwrap(), failure["time"].as_f64().unwrap());
    assert!(good < bad && bad < 1.0 && last <= good, "{last} {good} {bad}");
    assert_eq!(failure["last_good_step"].as_f64().unwrap() * 1e-4, good);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_computed() {
    use std::process::{Command, Stdio};
    use std::time::Duration;
    let bench = Bench::with("pump.toml", PUMP);
    let arguments =
        ["run", "pump.toml", "--stop", "100000 s", "--csv", "a.csv", "--every", "1000", "--json"];
    let child =
        bench.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Until rows are there: a busy machine takes its time to begin, and to compile what runs long.
    let begun = std::time::Instant::now();
    let length = || bench.length("a.csv.part").unwrap_or(0);
    while length() < 1000 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["ended"], "interrupted");
    assert_eq!(verdict["failure"]["code"], "F0904");
    assert_eq!(verdict["files"]["csv"], "a.csv");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("F0904") && told.contains("kept in a.csv"), "{told}");
    assert!(bench.read("a.csv").lines().count() > 2);
    assert_eq!(bench.files(), ["a.csv", "pump.toml"]);
}
