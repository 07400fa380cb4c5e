//! Mutated circuits: whatever becomes of a file, it is read or refused with a place, and nothing
//! panics or hangs.
//!
//! Examples and broken circuits are changed by seeded mutations: bytes flipped, tokens exchanged,
//! lines removed or repeated, files cut off or spliced. `FLUXLINE_MUTANTS=200000` tries more, and
//! `FLUXLINE_MUTATION_SEED=7` others; a mutant that fails is printed with its number.

use fluxline::{Failure, Recording, Session};
use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use fluxline_core::run;
use fluxline_core::settings::{Begin, StepControl};
use fluxline_diagnostics::Diagnostics;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Marsaglia's xorshift: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Circuit files of the repository: sound ones and broken ones.
fn seeds() -> [Vec<String>; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    ["examples", "crates/cli/tests/broken"].map(|folder| {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
        paths.sort();
        let read = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        paths.into_iter().map(read).collect()
    })
}

/// What engineers and editors put in the wrong place, and what breaks parsers.
const SCRAPS: &[&str] = &[
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "#",
    "\n",
    "\r\n",
    "\t",
    "\u{feff}",
    "\0",
    "0",
    "-1",
    "1e999",
    "-0.0",
    "nan",
    "inf",
    "1e-320",
    "1e300",
    "0,5",
    "1_000",
    "0x10",
    "9223372036854775808",
    "true",
    "\"\"",
    "[]",
    "{}",
    "1979-05-27",
    "\"\"\"",
    "\\u0000",
    "é",
    "µ",
    "√",
    "Ω",
    "日本",
    "bar",
    "mm",
    "l/min",
    "rev",
    "%",
    "degC",
    "* 2",
    "/ 0",
    "^ 999",
    "((((",
    "sqrt(-1)",
    "pi",
    "supply",
    "type",
    "use",
    "[components.x]\n",
    "[[connect]]\n",
    "from = \"x.y\"\n",
    "[run]\nstep = \"1 us\"\n",
    "[fluid]\n",
    "[record]\nvariables = [\"*\"]\n",
    "line = { volume = \"1 l\" }\n",
    "hydraulic.tank",
    "signal.gain",
    "hydraulic.volume",
    "translational.mass",
    "port1",
    "port9999",
    "port0",
    "\"1 s\"",
    "\"1e9 s\"",
    "\"1 ns\"",
    "step_control = \"variable\"\n",
    "begin = \"rest\"\n",
];

fn mutate(random: &mut Random, seeds: &[Vec<String>; 2]) -> String {
    let kind = random.pick(seeds);
    let mut bytes = random.pick(kind).clone().into_bytes();
    for _ in 0..1 + random.below(4) {
        let length = bytes.len();
        match random.below(11) {
            // A byte flipped, removed, repeated.
            0 if length > 0 => bytes[random.below(length)] ^= 1 << random.below(8),
            1 if length > 0 => drop(bytes.remove(random.below(length))),
            // Something inserted.
            2 => {
                let at = random.below(length + 1);
                bytes.splice(at..at, random.pick(SCRAPS).bytes());
            }
            // A word replaced by another word of the same file, or by a scrap.
            3 | 4 => {
                let words = words(&bytes);
                if words.len() > 1 {
                    let target = random.pick(&words).clone();
                    let with = match random.below(2) {
                        0 => bytes[random.pick(&words).clone()].to_vec(),
                        _ => random.pick(SCRAPS).as_bytes().to_vec(),
                    };
                    bytes.splice(target, with);
                }
            }
            // Lines removed, repeated, exchanged.
            5..=7 => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
                if lines.len() > 1 {
                    let (a, b) = (random.below(lines.len()), random.below(lines.len()));
                    match random.below(3) {
                        0 => drop(lines.remove(a)),
                        1 => lines.insert(b, lines[a]),
                        _ => lines.swap(a, b),
                    }
                }
                bytes = lines.concat().into_bytes();
            }
            // Cut off.
            8 => bytes.truncate(random.below(length + 1)),
            // Spliced with another file.
            9 => {
                let other = random.pick(seeds);
                let other = random.pick(other).as_bytes();
                bytes.truncate(random.below(length + 1));
                bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
            }
            // A number changed by powers of ten.
            _ => {
                let digits: Vec<usize> =
                    (0..length).filter(|&at| bytes[at].is_ascii_digit()).collect();
                if !digits.is_empty() {
                    let at = *random.pick(&digits);
                    let with = *random.pick(&["0", "1e9", "1e-9", "-1", "00000", "9999"]);
                    bytes.splice(at..at + 1, with.bytes());
                }
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn words(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b"_.^/%".contains(&b);
    let mut words = Vec::new();
    let mut start = None;
    for (at, &byte) in bytes.iter().chain(b" ").enumerate() {
        match (is_word(byte), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// Errors of a file, as the command reports them, are at places in a file.
fn check_places(problems: &Diagnostics) -> Result<(), String> {
    if !problems.has_errors() {
        return Err("refused without an error".to_owned());
    }
    let placed = problems.iter().any(|problem| problem.is_error() && problem.primary().is_some());
    if !placed {
        return Err("no error has a place in a file".to_owned());
    }
    match problems.iter().find(|problem| problem.message().is_empty()) {
        Some(problem) => Err(format!("an error without a message: {problem}")),
        None => Ok(()),
    }
}

enum Came {
    Refused,
    Run,
}

fn try_mutant(text: &str, folder: &Path, registry: &Registry) -> Result<Came, String> {
    let loaded = fluxline_formats::load_text("mutant.toml", text, folder, registry, &[]);
    let _ = loaded.diagnostics.render(&loaded.sources, false, 100);
    let _ = loaded.diagnostics.to_json(&loaded.sources);
    let Some(circuit) = loaded.circuit else {
        check_places(&loaded.diagnostics)?;
        if let Some(draft) = loaded.draft {
            let found = Plan::check_structure(&draft.circuit, registry, draft.is_whole);
            let _ = found.render(&loaded.sources, false, 100);
        }
        return Ok(Came::Refused);
    };
    // A delay of many steps asks for as much memory; that is refused or granted, but slow here.
    let is_long = (circuit.run.stop - circuit.run.start) / circuit.run.step > 1e6;
    let planned = Plan::of(&circuit, registry);
    let _ = planned.problems.render(&loaded.sources, false, 100);
    let Some(plan) = planned.plan else {
        check_places(&planned.problems)?;
        return Ok(Came::Refused);
    };
    let is_plain =
        circuit.run.begin == Begin::Values && circuit.run.step_control == StepControl::Fixed;
    if is_plain && !is_long {
        let mut state = plan.initial.clone();
        let (variables, _) = fluxline_core::recorder::choose(&plan, &circuit.record);
        let sampling = fluxline_core::recorder::Sampling::Even(5);
        let mut recorder = fluxline_core::recorder::Recorder::new(variables, sampling, 20);
        let _ = run::run(&plan, &mut state, 20, &mut recorder, true, |_| true);
    }
    Ok(Came::Run)
}

/// The same through the door that users take, with all that is checked before a run.
fn try_session(text: &str) -> Result<Came, String> {
    match Session::from_text("mutant.toml", text, &[]) {
        Ok(session) => {
            let _ = session.recording(&Recording::default());
            Ok(Came::Run)
        }
        Err(Failure { problems, sources }) => {
            let _ = problems.render(&sources, false, 100);
            check_places(&problems).map(|()| Came::Refused)
        }
    }
}

#[test]
fn no_mutant_of_a_circuit_panics_or_hangs() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let few = if cfg!(debug_assertions) { 3_000 } else { 20_000 };
    let mutants = number("FLUXLINE_MUTANTS").unwrap_or(few);
    let seed = number("FLUXLINE_MUTATION_SEED").unwrap_or(1);
    let seeds = seeds();
    assert!(seeds[1].len() > 60);
    let registry = fluxline_library::registry();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let (mut refused, mut ran, mut slowest) = (0, 0, Duration::ZERO);
    // A panic is told with its mutant; the default message alone would not say which.
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut failures = Vec::new();
    for mutant in 0..mutants {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (mutant + 1));
        for _ in 0..4 {
            random.next();
        }
        let text = mutate(&mut random, &seeds);
        let begun = Instant::now();
        let came = catch_unwind(AssertUnwindSafe(|| match mutant % 8 {
            0 => try_session(&text),
            _ => try_mutant(&text, &folder, &registry),
        }));
        let took = begun.elapsed();
        slowest = slowest.max(took);
        let problem = match came {
            Ok(Ok(Came::Refused)) => {
                refused += 1;
                None
            }
            Ok(Ok(Came::Run)) => {
                ran += 1;
                None
            }
            Ok(Err(problem)) => Some(problem),
            Err(panic) => {
                let said = panic.downcast_ref::<String>().cloned();
                let said = said.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                Some(format!("panic: {}", said.unwrap_or_default()))
            }
        };
        let problem = problem.or_else(|| {
            (took > Duration::from_secs(10)).then(|| format!("took {} s", took.as_secs()))
        });
        if let Some(problem) = problem {
            failures.push(format!("mutant {mutant} of seed {seed}: {problem}\n{text}\n"));
            if failures.len() >= 5 {
                break;
            }
        }
    }
    std::panic::set_hook(quiet);
    println!("{refused} refused, {ran} accepted, slowest {slowest:?}");
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n---\n"));
    // Both ways are taken.
    assert!(refused > mutants / 10 && ran > mutants / 50, "{refused} refused, {ran} accepted");
}
