//! Code of a circuit's own: what a run does when its compiler or its cache fails.
#![cfg(unix)]

use crate::bench::{Bench, PUMP, Said};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn has_compiler() -> bool {
    let is_there = Command::new("cc").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: no C compiler is installed");
    }
    is_there
}

fn run(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = bench.command(&["run", "pump.toml", "--quiet"]);
    command.args(arguments).env("FLUXLINE_CACHE", bench.path("cache")).env_remove("CC");
    command
}

fn said(command: &mut Command) -> Said {
    Said::from(command.output().unwrap())
}

fn kept(bench: &Bench) -> Vec<PathBuf> {
    let Ok(all) = std::fs::read_dir(bench.path("cache").join("fused")) else { return Vec::new() };
    all.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_run_survives_a_damaged_cache_with_the_same_rows() {
    if !has_compiler() {
        return;
    }
    let bench = Bench::with("pump.toml", PUMP);
    let rows = |arguments: &[&str]| {
        let said = said(run(&bench, arguments).args(["--csv", "-"]));
        assert_eq!(said.code, 0, "{}", said.err);
        said.out
    };
    let engine = rows(&["--fused", "off"]);
    assert_eq!(rows(&["--fused", "compiled"]), engine);
    let library = kept(&bench)[0].join("code.so");
    let good = std::fs::read(&library).unwrap();
    let middle = good.len() / 2;
    let with_noise: Vec<u8> =
        good.iter().enumerate().map(|(i, b)| if i / 64 == middle / 64 { !b } else { *b }).collect();
    for damaged in [&good[..middle], &good[..100], &[], &with_noise] {
        std::fs::write(&library, damaged).unwrap();
        assert_eq!(rows(&["--fused", "compiled"]), engine);
        assert_eq!(std::fs::read(&library).unwrap().len(), good.len(), "it is compiled anew");
    }
}

#[test]
fn own_code_that_is_asked_for_and_cannot_be_had_is_told() {
    let bench = Bench::with("pump.toml", PUMP);
    let with = |fused: &str| said(run(&bench, &["--fused", fused]).env("CC", "no-such-compiler"));
    let compiled = with("compiled");
    assert_eq!(compiled.code, 0, "{}", compiled.err);
    let is_told = compiled.err.contains("W0112") && compiled.err.contains("no C compiler");
    assert!(is_told, "{}", compiled.err);
    for silent in ["auto", "off"] {
        assert_eq!(with(silent).err, "");
    }
    let mut command = run(&bench, &["--fused", "compiled", "--json"]);
    let said = said(command.env("CC", "no-such-compiler"));
    let value: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(value["warnings"][0]["code"], "W0112", "{}", said.out);
}

#[test]
fn own_code_needs_no_compiler_and_gives_the_rows_of_the_engine() {
    let bench = Bench::with("pump.toml", PUMP);
    let without = |arguments: &[&str]| {
        let said = said(run(&bench, arguments).env("CC", "no-such-compiler"));
        assert_eq!(said.code, 0, "{}", said.err);
        said
    };
    let value: serde_json::Value =
        serde_json::from_str(&without(&["--fused", "on", "--json"]).out).unwrap();
    if value["fused"].is_null() {
        eprintln!("skipped: the processor has no instructions for own code");
        return;
    }
    assert_eq!(value["fused"]["by"], "fluxline", "{value}");
    assert_eq!(value["warnings"].as_array().map(Vec::len), Some(0), "{value}");
    let rows = |fused: &str| without(&["--fused", fused, "--csv", "-"]).out;
    assert_eq!(rows("on"), rows("off"));
    assert_eq!(kept(&bench), Vec::<PathBuf>::new(), "nothing is kept");
}

#[test]
fn a_study_without_the_code_that_it_asks_for_says_why() {
    let bench = Bench::with("pump.toml", PUMP);
    let study = |fused: &str| {
        let set = format!("run.fused={fused}");
        let vary = "orifice.area=4 mm^2..9 mm^2";
        let metric = "max(pump.outlet.pressure)";
        let arguments = ["sweep", "pump.toml", "--vary", vary, "--metric", metric, "--runs", "24"];
        let mut command = bench.command(&arguments);
        command.args(["--set", &set, "--lanes", "4", "--json"]);
        command.env("CC", "no-such-compiler").env("FLUXLINE_CACHE", bench.path("cache"));
        let said = said(&mut command);
        assert_eq!(said.code, 0, "{}", said.err);
        serde_json::from_str::<serde_json::Value>(&said.out).unwrap()
    };
    let compiled = study("compiled");
    let why = compiled["no_fused_because"].as_str().unwrap_or_default();
    assert!(compiled["fused"] == false && why.contains("no C compiler"), "{compiled}");
    let on = study("on");
    // By processor.
    assert_eq!(on["fused"] == true, on["no_fused_because"].is_null(), "{on}");
    assert_eq!(on["metrics"], compiled["metrics"]);
    assert!(study("off")["no_fused_because"].is_null());
}

/// A compiler that does not come to an end.
fn hanging(bench: &Bench) -> PathBuf {
    let script = bench.path("hangs");
    // By another process: no child of this one then holds the file open while it is run.
    let text = "printf '#!/bin/sh\\necho $$ > begun\\nsleep 600\\n' > hangs && chmod 755 hangs";
    let folder = script.parent().unwrap();
    let written = Command::new("sh").args(["-c", text]).current_dir(folder).status().unwrap();
    assert!(written.success());
    script
}

fn wait_for(file: &Path) {
    let begin = Instant::now();
    while !file.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} is not there", file.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_interruption_ends_a_compiler_that_hangs_at_once() {
    let run = ["run", "pump.toml", "--fused=compiled"];
    for arguments in [run, ["bench", "pump.toml", "--fused=on"]] {
        let bench = Bench::with("pump.toml", PUMP);
        let mut command = bench.command(&arguments);
        command.env("CC", hanging(&bench)).env("FLUXLINE_CACHE", bench.path("cache"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(&bench.path("begun"));
        let begin = Instant::now();
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let said = Said::from(child.wait_with_output().unwrap());
        assert!(begin.elapsed() < Duration::from_secs(30));
        assert!(said.code == 1 && said.err.contains("interrupted"), "{}", said.err);
        assert_eq!(kept(&bench), Vec::<PathBuf>::new(), "nothing is left");
    }
}

#[test]
fn without_a_home_nothing_is_kept_where_others_could_put_it() {
    if !has_compiler() {
        return;
    }
    let bench = Bench::with("pump.toml", PUMP);
    let temporary = bench.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let mut command = run(&bench, &["--fused", "compiled", "--json"]);
    for name in ["FLUXLINE_CACHE", "XDG_CACHE_HOME", "HOME"] {
        command.env_remove(name);
    }
    for _ in 0..2 {
        let said = said(command.env("TMPDIR", &temporary));
        let value: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        let took = value["fused"]["compile_seconds"].as_f64();
        assert!(took.is_some_and(|seconds| seconds > 0.0), "{}", said.out);
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    }
}
