//! Editing a circuit file keeps what a person wrote.

mod common;

use fluxline_formats::Document;
use proptest::prelude::*;

const SERVO: &str = include_str!("files/everything.toml");

#[test]
fn reading_and_printing_is_the_identity() {
    assert_eq!(Document::parse(SERVO).unwrap().to_string(), SERVO);
}

#[test]
fn a_value_changes_and_nothing_else() {
    let mut file = Document::parse(SERVO).unwrap();
    file.set("bore", "40 mm").unwrap();
    file.set("parameters.supply", "100 bar").unwrap();
    file.set("pump.speed", "1450 rpm").unwrap();
    file.set("run.stop", "2 s").unwrap();
    file.set("mass.mass", "120.5").unwrap();
    file.set("curve.enabled", "true").unwrap();
    let changed = file.to_string();
    let differing: Vec<(&str, &str)> =
        SERVO.lines().zip(changed.lines()).filter(|(a, b)| a != b).collect();
    assert_eq!(
        differing,
        [
            ("stop = \"3 s\"", "stop = \"2 s\""),
            ("bore = \"32 mm\"", "bore = \"40 mm\""),
            ("supply = \"120 bar\"", "supply = \"100 bar\""),
            ("speed = \"1500 rpm\"", "speed = \"1450 rpm\""),
            ("mass = 100", "mass = 120.5"),
            ("enabled = false", "enabled = true"),
        ]
    );
    assert_eq!(SERVO.lines().count(), changed.lines().count());
}

#[test]
fn comments_stay() {
    let text = "# on top\n[parameters] # here\na = 1   # one\n# end\n";
    let mut file = Document::parse(text).unwrap();
    file.set("a", "2 mm").unwrap();
    assert_eq!(file.to_string(), text.replace("= 1 ", "= \"2 mm\" "));
}

#[test]
fn values_are_found_by_the_names_of_overrides() {
    let file = Document::parse(SERVO).unwrap();
    let get = |name: &str| file.get(name);
    assert_eq!(get("area").as_deref(), Some("pi/4 * bore^2"));
    assert_eq!(get("relief.cracking_pressure").as_deref(), Some("supply + 10 bar"));
    assert_eq!(get("gain").as_deref(), Some("2"));
    assert_eq!(get("curve.lengths").as_deref(), Some("[\"1 mm\", 0.004]"));
    assert_eq!(get("title").as_deref(), Some("Position servo"));
    assert_eq!(get("fluids.brake.density").as_deref(), Some("1050"));
    assert_eq!(get("subcircuits.block.parameters.limit").as_deref(), Some("100 bar"));
    assert_eq!(get("nothing.here"), None);
    assert_eq!(get("pump"), None);
    assert_eq!(get(""), None);
}

#[test]
fn a_new_value_is_added_where_its_table_is() {
    let mut file = Document::parse("[components.a]\ntype = \"hydraulic.tank\"\n").unwrap();
    file.set("a.pressure", "2 bar").unwrap();
    file.set("run.stop", "2 s").unwrap();
    let text = "[components.a]\ntype = \"hydraulic.tank\"\npressure = \"2 bar\"\n\n[run]\nstop = \"2 s\"\n";
    assert_eq!(file.to_string(), text);
    let error = file.set("b.pressure", "2 bar").unwrap_err();
    assert!(error.message().contains("no `b`"), "{error}");
    assert!(file.set("a.type.x", "1").is_err());
}

#[test]
fn ends_of_lines_stay_as_they_are() {
    let windows = SERVO.replace('\n', "\r\n");
    let mut file = Document::parse(&windows).unwrap();
    assert_eq!(file.to_string(), windows);
    file.set("run.stop", "4 s").unwrap();
    assert_eq!(file.to_string(), windows.replace("\"3 s\"", "\"4 s\""));
    // A mixture is kept while nothing changes.
    let mixed = SERVO.replacen("gain = 2\n", "gain = 2\r\n", 1);
    assert_ne!(mixed, SERVO);
    assert_eq!(Document::parse(&mixed).unwrap().to_string(), mixed);
}

#[test]
fn a_broken_file_cannot_be_edited() {
    let error = Document::parse("[run\n").unwrap_err();
    assert_eq!(error.message(), "a header is not closed (at 1:5)");
    let deep = format!("x = {}1{}", "{ a.a.a.a.a.a = ".repeat(60), "}".repeat(60));
    assert!(Document::parse(&deep).unwrap_err().message().contains("levels deep"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printing_and_reading_is_the_identity(at in 0..SERVO.len(), byte in any::<u8>()) {
        let mut bytes = SERVO.as_bytes().to_vec();
        bytes[at] = byte;
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(file) = Document::parse(&text) {
            prop_assert_eq!(file.to_string(), text);
        }
    }

    #[test]
    fn any_value_reads_back(value in "[ -~]{0,30}") {
        let mut file = Document::parse("[parameters]\na = 1\n").unwrap();
        file.set("a", &value).unwrap();
        let again = Document::parse(&file.to_string()).unwrap();
        prop_assert_eq!(again.get("a"), file.get("a"));
    }
}
