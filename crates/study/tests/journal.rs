//! Results on disk: whatever a crash leaves of them, a study goes on to the same bytes.

use fluxline_study::ensemble::{Evaluation, Outcome, Reason, ReasonKind};
use fluxline_study::journal::{Column, Journal, Table};
use std::path::{Path, PathBuf};

const RUNS: u64 = 40;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn table() -> Table {
    let column = |name: &str, unit: &str| (name.to_owned(), unit.to_owned());
    let number =
        |name: &str, unit: &str| Column { name: name.into(), unit: unit.into(), words: vec![] };
    let words = ["none", "none, but", "\"so\""].map(str::to_owned).to_vec();
    Table {
        parameters: vec![number("load.mass", "kg"), Column { words, ..number("friction", "1") }],
        metrics: vec![column("max(load.x)", "m"), column("rise_time(load.x, 1)", "s")],
        recorded: vec!["load.x".to_owned(), "load.v".to_owned()],
    }
}

/// What a run gives: rows of different number, a metric that is none, failures with any signs.
fn outcome(run: u64) -> Outcome {
    if run % 7 == 3 {
        let message = format!("`load.x, \"far\"` diverges at t = {run} s");
        return Err(Reason { kind: ReasonKind::Diverged, message });
    }
    let x = run as f64;
    let last = if run.is_multiple_of(5) { f64::NAN } else { x.sqrt() };
    let rows = (0..3 * (1 + run % 4)).map(|i| x + i as f64 / 3.0).collect();
    Ok(Evaluation { metrics: vec![x / 3.0, last], rows })
}

/// Opens what is there and adds runs up to `end`.
fn go_on(target: &Path, end: u64) -> (Journal, u64) {
    let mut told = 0;
    let mut journal = Journal::open(target, &table(), 7, false, &mut |run, known| {
        assert_eq!(run, told);
        assert_eq!(known.is_ok(), outcome(run).is_ok());
        told += 1;
    })
    .unwrap();
    let begin = journal.runs();
    assert_eq!(told, begin);
    for run in begin..end {
        journal.add(&[run as f64 / 10.0, (run % 3) as f64], &outcome(run)).unwrap();
    }
    (journal, begin)
}

/// The bytes of a study that nothing happened to.
fn whole(folder: &Path, ending: &str) -> [Vec<u8>; 2] {
    let target = folder.join(format!("whole.{ending}"));
    let files = go_on(&target, RUNS).0.finish().unwrap();
    assert_eq!(files, [target, folder.join("whole.signals.csv")]);
    [0, 1].map(|i: usize| std::fs::read(&files[i]).unwrap())
}

#[test]
fn results_that_are_cut_anywhere_go_on_to_the_same_bytes() {
    cut_anywhere("csv");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_results_that_are_cut_anywhere_go_on_to_the_same_bytes() {
    cut_anywhere("parquet");
}

fn cut_anywhere(ending: &str) {
    let folder = folder(&format!("cut_anywhere_{ending}"));
    let expected = whole(&folder, ending);
    let name = format!("a.{ending}");
    let target = folder.join(&name);
    let parts = [format!("{name}.partial"), "a.signals.csv.partial".to_owned()]
        .map(|name| folder.join(name));
    go_on(&target, RUNS - 1).0.keep().unwrap();
    let kept = [0, 1].map(|i: usize| std::fs::read(&parts[i]).unwrap());
    let mut seen = [false; RUNS as usize];
    let most = kept[0].len().max(kept[1].len());
    for cut in (0..most).step_by(41) {
        // One of them, the other, and both, at different places.
        for cuts in [[cut, most], [most, cut], [cut, most - cut], [cut, cut]] {
            for ((part, kept), cut) in parts.iter().zip(&kept).zip(cuts) {
                std::fs::write(part, &kept[..cut.min(kept.len())]).unwrap();
            }
            let (journal, begin) = go_on(&target, RUNS);
            seen[begin as usize] = true;
            journal.finish().unwrap();
            for (name, expected) in [name.as_str(), "a.signals.csv"].iter().zip(&expected) {
                let found = std::fs::read(folder.join(name)).unwrap();
                assert!(found == *expected, "{name} after cuts at {cuts:?}, from run {begin}");
            }
        }
    }
    assert!(seen.iter().filter(|seen| **seen).count() > 30, "{seen:?}");
}

#[test]
fn signals_that_changed_are_computed_again_and_others_are_refused() {
    let folder = folder("changed_signals");
    let expected = whole(&folder, "csv");
    let target = folder.join("a.csv");
    let signals = folder.join("a.signals.csv.partial");
    go_on(&target, RUNS - 1).0.keep().unwrap();
    let kept = std::fs::read(&signals).unwrap();
    let refused = || {
        let opened = Journal::open(&target, &table(), 7, false, &mut |_, _| {});
        opened.err().map(|problem| format!("{problem:?}")).unwrap_or_default()
    };
    std::fs::write(&signals, "rubbish\n".repeat(100)).unwrap();
    let said = refused();
    assert!(said.contains("other signals") && said.contains("--restart"), "{said}");
    std::fs::remove_file(&signals).unwrap();
    let said = refused();
    assert!(said.contains("is missing") && said.contains("--restart"), "{said}");

    let mut changed = kept.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    std::fs::write(&signals, changed).unwrap();
    let (journal, begin) = go_on(&target, RUNS);
    assert!((1..RUNS - 1).contains(&begin), "{begin}");
    journal.finish().unwrap();
    assert!(std::fs::read(&target).unwrap() == expected[0]);
    assert!(std::fs::read(folder.join("a.signals.csv")).unwrap() == expected[1]);
}
