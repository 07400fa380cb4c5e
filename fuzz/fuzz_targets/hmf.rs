//! Imported model files: any bytes become a model whose parameters are evaluated, or are refused with
//! a message that can be shown.
#![no_main]

use fluxline_hmf::{Kind, Types, evaluate, load_bytes};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

/// Every type has every parameter; its name says what it is.
struct Any;

impl Types for Any {
    fn knows(&self, typename: &str) -> bool {
        !typename.starts_with('X')
    }
    fn kind(&self, _typename: &str, parameter: &str) -> Option<Kind> {
        Some(match parameter.as_bytes().first()? {
            b'i' => Kind::Integer,
            b'b' => Kind::Bool,
            b's' => Kind::Text,
            b'f' => Kind::FilePath,
            b'c' => Kind::Conditional(3),
            b'u' => return None,
            _ => Kind::Double,
        })
    }
}

fuzz_target!(|bytes: &[u8]| {
    // Files that a model names are not to be looked for outside.
    if bytes.len() > 50_000 || bytes.windows(13).any(|part| part == b"external_path") {
        return;
    }
    let mut loaded = load_bytes("fuzz.hmf", bytes.to_vec(), Path::new("no/such/folder"));
    match &loaded.model {
        Some(model) => {
            let values = evaluate(model, &Any, &[], &mut loaded.diagnostics);
            assert_eq!(values.root.objects.len(), model.root.objects.len());
        }
        None => assert!(loaded.diagnostics.has_errors()),
    }
    let _ = loaded.diagnostics.render(&loaded.sources, false, 100);
});
