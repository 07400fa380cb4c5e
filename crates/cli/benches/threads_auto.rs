//! What `--threads auto` costs and gains: every example with `--threads 1` and with `--threads auto`, in
//! turns, as whole commands. Prints the ratio of the least times, and what was decided.
//!
//! `cargo bench -p fluxline --bench threads_auto [FILE…] [WORD…]`: these files, and only examples whose
//! name has one of the words.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const TURNS: usize = 7;

/// Seconds of a whole command, and what it says about parts.
fn timed(file: &Path, threads: &str) -> Option<(f64, String)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fluxline"));
    command.arg("run").arg(file).args(["--quiet", "--threads", threads]);
    let begun = Instant::now();
    let output = command.output().ok()?;
    let seconds = begun.elapsed().as_secs_f64();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let decided = told.lines().find_map(|line| line.trim().strip_prefix("parallel"));
    output.status.success().then(|| (seconds, decided.unwrap_or_default().trim().to_owned()))
}

fn main() {
    let given: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let (mut files, words): (Vec<PathBuf>, Vec<String>) = (
        given.iter().filter(|word| Path::new(word).is_file()).map(PathBuf::from).collect(),
        given.iter().filter(|word| !Path::new(word).is_file()).cloned().collect(),
    );
    let all = given.is_empty();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for folder in ["", "parallel", "hopsan"] {
        let entries = std::fs::read_dir(examples.join(folder)).into_iter().flatten().flatten();
        files.extend(entries.map(|entry| entry.path()).filter(|path| {
            let is_model =
                path.extension().is_some_and(|ending| ending == "toml" || ending == "hmf");
            let name = path.to_string_lossy();
            is_model && (all || words.iter().any(|word| name.contains(word.as_str())))
        }));
    }
    files.sort();
    println!("{:40} {:>9} {:>9} {:>6}   --threads auto", "whole commands", "1", "auto", "ratio");
    let mut worst: f64 = 0.0;
    for file in files {
        let name = file.strip_prefix(&examples).unwrap_or(&file).display().to_string();
        // Costs are measured once, and kept.
        let Some((_, decided)) = timed(&file, "auto") else {
            println!("{name:40} does not run");
            continue;
        };
        let mut least = [f64::INFINITY; 2];
        for _ in 0..TURNS {
            for (least, threads) in least.iter_mut().zip(["1", "auto"]) {
                if let Some((seconds, _)) = timed(&file, threads) {
                    *least = least.min(seconds);
                }
            }
        }
        let [one, auto] = least;
        worst = worst.max(auto / one);
        println!(
            "{name:40} {:>6.1} ms {:>6.1} ms {:>6.3}   {decided}",
            one * 1e3,
            auto * 1e3,
            auto / one
        );
    }
    println!("worst ratio {worst:.3}");
}
