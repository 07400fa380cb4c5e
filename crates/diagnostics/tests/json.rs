//! What scripts see.

use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Place, SourceMap};
use serde_json::{Value, json};

#[test]
fn a_diagnostic_holds_place_code_message_and_help() {
    let mut sources = SourceMap::new();
    let id = sources.add("servo \"1\".toml", "x = 1\r\ny = \"µ\tm\"\r\n");
    let diagnostic = Diagnostic::error(Code::UnknownUnit, "unknown unit \"µ\tm\"\u{1b}")
        .at(sources.span(id, 11..17), "here")
        .also(sources.span(id, 0..1), "there")
        .on(Place::component("pump").parameter("speed"))
        .note("why")
        .help("try");
    let text = diagnostic.to_json(&sources);
    assert!(!text.contains('\n'));
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap(),
        json!({
            "code": "F0303",
            "severity": "error",
            "message": "unknown unit \"µ\tm\"\u{1b}",
            "file": "servo \"1\".toml",
            "line": 2, "column": 5, "end_line": 2, "end_column": 10,
            "label": "here",
            "component": "pump", "port": null, "parameter": "speed",
            "related": [{
                "file": "servo \"1\".toml",
                "line": 1, "column": 1, "end_line": 1, "end_column": 2,
                "label": "there",
            }],
            "notes": ["why"],
            "help": ["try"],
        })
    );
}

#[test]
fn a_diagnostic_without_a_place_has_nulls() {
    let text = Diagnostic::new(Code::Interrupted, "m").to_json(&SourceMap::new());
    assert_eq!(
        text,
        "{\"code\":\"F0904\",\"severity\":\"error\",\"message\":\"m\",\"file\":null,\"line\":null,\"column\":null,\
         \"end_line\":null,\"end_column\":null,\"label\":null,\"component\":null,\"port\":null,\"parameter\":null,\
         \"related\":[],\"notes\":[],\"help\":[]}"
    );
}

#[test]
fn a_collection_holds_counts_and_exit_code() {
    let sources = SourceMap::new();
    let mut found = Diagnostics::with_cap(1);
    assert_eq!(
        found.to_json(&sources),
        "{\"exit_code\":0,\"errors\":0,\"warnings\":0,\"diagnostics\":[],\"more\":[]}\n"
    );
    found.extend((0..3).map(|i| Diagnostic::new(Code::UnknownKey, format!("{i}"))));
    found.push(Diagnostic::new(Code::Cavitation, "c"));
    let value: Value = serde_json::from_str(&found.to_json(&sources)).unwrap();
    assert_eq!(
        (&value["exit_code"], &value["errors"], &value["warnings"]),
        (&json!(2), &json!(3), &json!(1))
    );
    assert_eq!(value["diagnostics"].as_array().unwrap().len(), 2);
    assert_eq!(value["more"], json!([{ "code": "F0104", "severity": "error", "count": 2 }]));
}
