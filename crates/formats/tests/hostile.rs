//! Broken, hostile and huge files: never a panic, never a hang.

mod common;

use common::*;
use fluxline_diagnostics::Code;
use fluxline_formats::load_file;
use proptest::prelude::*;
use std::fmt::Write;

const VALID: &str = include_str!("files/everything.toml");

#[test]
fn the_file_to_mutate_is_valid() {
    let circuit = circuit(VALID);
    assert_eq!(circuit.components.len(), 11);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_text_never_panics(text in ".{0,200}") {
        let loaded = load(&text);
        prop_assert!(loaded.circuit.is_some() != loaded.diagnostics.has_errors());
        loaded.diagnostics.render(&loaded.sources, false, 80);
    }

    #[test]
    fn random_toml_like_text_never_panics(
        lines in prop::collection::vec(
            "(\\[{1,2}(run|fluid|components|subcircuits|connect|parameters|record|ports|plot)(\\.[abx]){0,3}\\]{1,2}|(type|use|from|to|ends|line|stop|a|b|x) ?= ?(\"[a-z0-9 .*/()+^-]{0,12}\"|[0-9.e-]{1,5}|\\[\"?[a-z.]{0,5}\"?\\]|\\{ ?[a-z]{1,4} ?= ?[0-9]{1,3} ?\\}|true|nan))",
            0..30,
        )
    ) {
        let loaded = load(&lines.join("\n"));
        loaded.diagnostics.render(&loaded.sources, false, 80);
    }

    #[test]
    fn a_changed_byte_never_panics(at in 0..VALID.len(), byte in any::<u8>()) {
        let mut bytes = VALID.as_bytes().to_vec();
        bytes[at] = byte;
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_missing_piece_never_panics(at in 0..VALID.len(), length in 1..200usize) {
        let mut bytes = VALID.as_bytes().to_vec();
        let end = (at + length).min(bytes.len());
        bytes.drain(at..end);
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn swapped_lines_never_panic(a in 0..150usize, b in 0..150usize) {
        let mut lines: Vec<&str> = VALID.lines().collect();
        let (a, b) = (a % lines.len(), b % lines.len());
        lines.swap(a, b);
        check(&lines.join("\n"));
    }

    #[test]
    fn any_override_is_answered(argument in "[a-z.=\\[{\" 0-9]{0,20}") {
        let loaded = load_with(VALID, &[&argument]);
        prop_assert!(loaded.circuit.is_some() != loaded.diagnostics.has_errors());
    }
}

fn check(text: &str) {
    let loaded = load(text);
    assert!(loaded.circuit.is_some() != loaded.diagnostics.has_errors());
    loaded.diagnostics.render(&loaded.sources, false, 80);
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let path = std::env::temp_dir().join(format!("fluxline-latin-{}.toml", std::process::id()));
    std::fs::write(&path, b"title = \"Zylinder f\xFCr\"").unwrap();
    let loaded = load_file(&path, &registry(), &[]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(first(&loaded, Code::NotUtf8).primary().unwrap().span.start, 19);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let loaded = load_file("tests/files/nowhere.toml", &registry(), &[]);
    let error = first(&loaded, Code::CannotRead);
    assert!(error.message().contains("nowhere.toml` cannot be read: there is no such file"));
    assert_eq!(loaded.diagnostics.exit_code(), 3);
    let folder = load_file("tests/files", &registry(), &[]);
    first(&folder, Code::CannotRead);
}

#[test]
fn runaway_nesting_is_refused() {
    let nested =
        |open: &str, close: &str, n: usize| format!("x = {}{}", open.repeat(n), close.repeat(n));
    let mut texts =
        vec![nested("[", "]", 100_000), nested("{a=", "}", 100_000), nested("[", "", 100_000)];
    texts.push(format!("{} = 1", vec!["a"; 100_000].join(".")));
    texts.push(format!("[{}]", vec!["a"; 100_000].join(".")));
    // Within the limits of the parser, but thousands of levels deep.
    let key = vec!["a"; 79].join(".");
    texts.push(format!("x = {}1{}", format!("{{ {key} = ").repeat(79), "}".repeat(79)));
    for text in texts {
        let loaded = load(&text);
        assert!(loaded.diagnostics.has_errors());
        loaded.diagnostics.render(&loaded.sources, false, 80);
    }
}

#[test]
fn a_long_expression_and_a_long_name_are_refused() {
    let long = "1+".repeat(1_000_000);
    let loaded = load(&format!("[parameters]\na = \"{long}1\"\nb = \"{}\"\n", "(".repeat(5000)));
    assert_eq!(loaded.diagnostics.errors(), 2);
    let name = "x".repeat(1_000_000);
    let loaded = load(&format!("{name} = 1\n[components.{name}]\n{name} = 2\n"));
    assert!(loaded.diagnostics.errors() >= 2);
}

#[test]
fn long_chains_of_parameters_are_evaluated() {
    let n = 100_000;
    let mut text = String::from("[parameters]\n");
    for i in 0..n {
        writeln!(text, "p{i} = \"p{}\"", i + 1).unwrap();
    }
    writeln!(
        text,
        "p{n} = \"7 bar\"\n[components.t]\ntype = \"hydraulic.tank\"\npressure = \"p0\""
    )
    .unwrap();
    assert_eq!(number(&circuit(&text), "t", "pressure"), 7e5);
    let circle = text.replace("\"7 bar\"", "\"p0\"");
    let loaded = load(&circle);
    assert_eq!(loaded.diagnostics.errors(), 1);
    assert!(first(&loaded, Code::CircularParameters).message().len() < 1000);
}

#[test]
fn subcircuits_that_multiply_are_refused() {
    let mut text = String::new();
    for level in 0..30 {
        let header = if level == 0 { String::new() } else { format!("subcircuits.s{level}.") };
        for copy in 0..10 {
            write!(text, "[{header}components.c{copy}]\nuse = \"s{}\"\n", level + 1).unwrap();
        }
    }
    text += "[subcircuits.s30]\n";
    let loaded = load(&text);
    first(&loaded, Code::FileTooLarge);
}

#[test]
fn twenty_thousand_lines_may_meet_in_a_tank() {
    let n = 20_000;
    let mut text = String::from("[components.t]\ntype = \"hydraulic.tank\"\n");
    for i in 0..n {
        writeln!(text, "[components.o{i}]\ntype = \"hydraulic.orifice\"").unwrap();
    }
    text += "[[connect]]\nends = [\"t.port\"";
    for i in 0..n {
        write!(text, ", \"o{i}.a\"").unwrap();
    }
    text += "]\n";
    for i in 0..n {
        writeln!(
            text,
            "[[connect]]\nfrom = \"t.port\"\nto = \"o{i}.b\"\nline = {{ volume = \"1 l\" }}"
        )
        .unwrap();
    }
    let circuit = circuit(&text);
    assert_eq!(circuit.connections.len(), n + 1);
    let last = circuit.connections[n].line.as_ref().unwrap();
    assert_eq!(last.name, format!("line.t.port_{n}"));
}

#[test]
fn garbage_of_many_megabytes_is_refused() {
    for garbage in ["=", "[", "\"", "a=\n", "#"] {
        let loaded = load(&garbage.repeat((8 << 20) / garbage.len()));
        assert!(loaded.diagnostics.has_errors());
    }
}

#[test]
fn thousands_of_mistakes_are_counted() {
    let mut text = String::new();
    for i in 0..10_000 {
        writeln!(text, "[components.tank{i}]\ntype = \"hydraulic.tnk{i}\"").unwrap();
        writeln!(text, "[[connect]]\nfrom = \"tonk{i}.port\"\nto = \"tank{i}.port\"").unwrap();
    }
    let loaded = load(&text);
    assert_eq!(loaded.diagnostics.errors(), 20_000);
    assert!(loaded.diagnostics.iter().count() <= 100);
}

#[test]
fn ten_thousand_components_are_loaded() {
    let circuit = circuit(&large(10_000));
    assert_eq!(circuit.components.len(), 10_000);
    assert_eq!(circuit.connections.len(), 9_999);
    assert_eq!(circuit.drives.len(), 0);
    assert_eq!(number(&circuit, "o9999", "area"), 9999e-6 * 2.0);
}

#[test]
fn ten_thousand_parts_of_subcircuits_are_loaded() {
    let mut text = String::from(
        "[subcircuits.cell.parameters]\na = \"1 mm^2\"\n[subcircuits.cell.components.o]\ntype = \"hydraulic.orifice\"\n\
         area = \"2*a\"\n[subcircuits.cell.components.v]\ntype = \"hydraulic.volume\"\nvolume = \"1 l\"\n\
         [[subcircuits.cell.connect]]\nends = [\"o.b\", \"v.port\"]\n[subcircuits.cell.ports]\nin = \"o.a\"\nout = \"v.port\"\n",
    );
    for i in 0..5000 {
        writeln!(text, "[components.c{i}]\nuse = \"cell\"\na = \"{i} mm^2\"").unwrap();
    }
    for i in 1..5000 {
        writeln!(text, "[[connect]]\nfrom = \"c{}.out\"\nto = \"c{i}.in\"", i - 1).unwrap();
    }
    let circuit = circuit(&text);
    assert_eq!((circuit.components.len(), circuit.connections.len()), (10_000, 9_999));
    assert_eq!(number(&circuit, "c4999.o", "area"), 2.0 * 4999e-6);
}

#[test]
fn a_long_table_is_read() {
    let mut text = String::from("[components.k]\ntype = \"signal.kinds\"\ncurve = [");
    for i in 0..200_000 {
        write!(text, "[{i}, 0.5],").unwrap();
    }
    text.push_str("]\n");
    assert_eq!(circuit(&text).components.len(), 1);
}

/// A chain of orifices.
fn large(count: usize) -> String {
    let mut text = String::from("[parameters]\nscale = 2\n");
    for i in 0..count {
        writeln!(text, "[components.o{i}]\ntype = \"hydraulic.orifice\"\narea = \"scale * {i} mm^2\"\ndischarge = 0.6").unwrap();
    }
    for i in 1..count {
        writeln!(text, "[[connect]]\nfrom = \"o{}.b\"\nto = \"o{i}.a\"", i - 1).unwrap();
        writeln!(text, "line = {{ length = \"1.5 m\", bore = \"12 mm\" }}").unwrap();
    }
    text
}
