//! Mutated files: whatever becomes of a file, it is read or refused with a message, and nothing panics or hangs.
//!
//! `FLUXLINE_MUTANTS=200000` tries more, and `FLUXLINE_MUTATION_SEED=7` others; a mutant that fails is printed.

mod common;

use common::{Few, file};
use fluxline_diagnostics::{Diagnostics, SourceMap};
use fluxline_hmf::{Override, evaluate, hpf, hvc, load_bytes};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Marsaglia's xorshift: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

const SCRAPS: &[&str] = &[
    "<",
    ">",
    "</",
    "/>",
    "\"",
    "'",
    "&",
    "&amp;",
    "&#0;",
    "&#xFFFFFF;",
    "&x;",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?",
    "?>",
    "<!DOCTYPE a [",
    "]>",
    "=",
    "\0",
    "\u{feff}",
    "é",
    "\n",
    "#",
    "$",
    "::",
    ".",
    "self.",
    "self.k",
    "2*-3",
    "((((",
    "))",
    "1e999",
    "-",
    "0,5",
    "nan",
    "max(1,2)",
    "a=b",
    "<system>",
    "</system>",
    "<objects>",
    "<component typename=\"SignalGain\" name=\"G\"/>",
    "<systemport name=\"G\"/>",
    "<parameters>",
    "external_path=\"x\"",
    "name=\"\"",
    "value=\"self.k\"",
    "typename=\"Kinds\"",
    "hopsancoreversion=\"0.5\"",
    "<numhopscript>G.k=1;",
    "<connect startcomponent=\"G\" startport=\"G\" endcomponent=\"G\" endport=\"G\"/>",
    "99999999999999999999",
];

fn mutate(seed: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(40)).min(bytes.len());
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 if !bytes.is_empty() => {
                let at = at.min(bytes.len() - 1);
                bytes[at] ^= 1 << random.below(8);
            }
            3 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            4 => {
                let from = random.below(other.len());
                let to = (from + random.below(400)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            5 => {
                // Exchange a whole attribute value for a scrap.
                let quotes: Vec<usize> =
                    (at..bytes.len()).filter(|&at| bytes[at] == b'"').take(2).collect();
                if let [first, second] = quotes[..] {
                    let scrap = SCRAPS[random.below(SCRAPS.len())];
                    bytes.splice(first + 1..second, scrap.bytes());
                }
            }
            _ => {
                let scrap = SCRAPS[random.below(SCRAPS.len())];
                bytes.splice(at..at, scrap.bytes());
            }
        }
    }
    bytes
}

fn seeds() -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(file(""))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn try_all(bytes: &[u8]) {
    let overrides = [Override::new("G#k", "self.in"), Override::new("self#bore", "1")];
    let mut loaded = load_bytes("mutant.hmf", bytes.to_vec(), Path::new("no/such/folder"));
    if let Some(model) = &loaded.model {
        let values = evaluate(model, &Few, &overrides, &mut loaded.diagnostics);
        assert_eq!(values.root.objects.len(), model.root.objects.len());
        for joint in &model.root.connections {
            assert!(joint.start.object.max(joint.end.object) < model.root.objects.len());
        }
    } else {
        assert!(loaded.diagnostics.has_errors());
    }
    loaded.diagnostics.render(&loaded.sources, false, 100);
    let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
    hvc::load_bytes(Path::new("mutant.hvc"), bytes.to_vec(), &mut sources, &mut found);
    hpf::load_bytes("mutant.hpf", bytes.to_vec(), &mut sources, &mut found);
    hvc::Table::load_bytes("mutant.hvd", bytes.to_vec(), &mut sources, &mut found);
    found.render(&sources, false, 100);
}

#[test]
fn no_mutant_panics_or_hangs() {
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let mutants: usize = number("FLUXLINE_MUTANTS", 6000);
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ number("FLUXLINE_MUTATION_SEED", 1) as u64);
    let seeds = seeds();
    for index in 0..mutants {
        let seed = &seeds[random.below(seeds.len())];
        let other = &seeds[random.below(seeds.len())];
        let bytes = mutate(seed, other, &mut random);
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| try_all(&bytes)));
        let is_slow = start.elapsed() > Duration::from_secs(10);
        assert!(
            outcome.is_ok() && !is_slow,
            "mutant {index}:\n{}",
            String::from_utf8_lossy(&bytes)
        );
    }
}
