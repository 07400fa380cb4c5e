//! Circuit files: any text becomes a plan that steps without panic, or is refused with a message
//! that can be shown.
#![no_main]

use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static REGISTRY: LazyLock<Registry> = LazyLock::new(fluxline_library::registry);

fuzz_target!(|text: &str| {
    // Files that a circuit names are not to be looked for outside.
    if text.len() > 20_000 || text.contains("..") || text.contains("/") {
        return;
    }
    let loaded = fluxline_formats::load_text("fuzz.toml", text, "", &REGISTRY, &[]);
    let shown = loaded.diagnostics.render(&loaded.sources, false, 100);
    let Some(circuit) = loaded.circuit else {
        assert!(loaded.diagnostics.has_errors() && !shown.is_empty());
        if let Some(draft) = loaded.draft {
            let _ = Plan::check_structure(&draft.circuit, &REGISTRY, draft.is_whole);
        }
        return;
    };
    let planned = Plan::of(&circuit, &REGISTRY);
    let _ = planned.problems.render(&loaded.sources, false, 100);
    assert_eq!(planned.plan.is_none(), planned.problems.has_errors());
});
