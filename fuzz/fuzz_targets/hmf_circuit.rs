//! Imported model files all the way: any bytes become a circuit that can be planned and stepped, or
//! are refused with a message that can be shown.
#![no_main]

use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run;
use fluxline_hmf::convert::{RegistryTypes, convert};
use fluxline_hmf::{evaluate, load_bytes};
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::LazyLock;

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::new(fluxline_hopsan::types()));

/// Steps that are taken.
const STEPS: u64 = 20;

fuzz_target!(|bytes: &[u8]| {
    // Files that a model names are not to be looked for outside.
    let names_file = |word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
    let words: [&[u8]; 3] = [b"external_path", b"filename", b"scriptfile"];
    if bytes.len() > 60_000 || words.into_iter().any(names_file) {
        return;
    }
    let mut loaded = load_bytes("fuzz.hmf", bytes.to_vec(), Path::new("no/such/folder"));
    let Some(model) = &loaded.model else {
        assert!(loaded.diagnostics.has_errors());
        return;
    };
    let registry = &*REGISTRY;
    let values = evaluate(model, &RegistryTypes(registry), &[], &mut loaded.diagnostics);
    let converted = convert(model, &values, registry, &loaded.sources, &mut loaded.diagnostics);
    let _ = loaded.diagnostics.render(&loaded.sources, false, 100);
    if loaded.diagnostics.has_errors() {
        return;
    }
    let read = fluxline_formats::load_text("fuzz.toml", &converted.text, "", registry, &[]);
    let _ = read.diagnostics.render(&read.sources, false, 100);
    if let Some(circuit) = &read.circuit {
        let planned = Plan::of(circuit, registry);
        let _ = planned.problems.render(&read.sources, false, 100);
        if let Some(plan) = planned.plan {
            let mut state = plan.initial.clone();
            let mut recorder = Recorder::new(Vec::new(), Sampling::Every(1), STEPS);
            run::run(&plan, &mut state, STEPS, &mut recorder, true, |_| true);
        }
    }
});
