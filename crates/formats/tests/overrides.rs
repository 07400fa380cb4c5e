//! Values set from outside, as by `--set`.

mod common;

use common::*;
use fluxline_core::declare::Value;
use fluxline_diagnostics::Code;
use fluxline_formats::{Override, load_text};

const TEXT: &str = r#"
[parameters]
supply = "120 bar"
half = "supply/2"
[fluids.main]
density = 850
[fluids.brake]
density = 1050
[components.relief]
type = "hydraulic.relief_valve"
cracking_pressure = "half"
[components.kinds]
type = "signal.kinds"
curve = [[0, 0], [1, 1]]
[components.a]
type = "hydraulic.cylinder"
bore = "10 mm"
[components.b]
use = "part"
[subcircuits.part.parameters]
bore = "32 mm"
[subcircuits.part.components.cylinder]
type = "hydraulic.cylinder"
bore = "bore"
[subcircuits.part.ports]
rod = "cylinder.rod"
[[connect]]
ends = ["a.rod", "b.rod"]
line = { stiffness = "1e8 N/m" }
"#;

#[test]
fn parameters_settings_and_parts_can_be_set() {
    let circuit = circuit_with(
        TEXT,
        &[
            "supply=100 bar",
            "relief.nominal_flow = 1 l/min ",
            "run.stop=2 s",
            "fluid.density=900 kg/m^3",
            "fluids.brake.density=1000",
            "lines.volume=1 l",
            "record.samples=50",
            "title=A new title",
            "b.bore=40 mm",
            "b.cylinder.stroke=7 mm",
            "line.a.rod.stiffness=2e8 N/m",
        ],
    );
    assert_eq!(number(&circuit, "relief", "cracking_pressure"), 50e5);
    assert_eq!(number(&circuit, "relief", "nominal_flow"), 1e-3 / 60.0);
    assert_eq!(circuit.run.stop, 2.0);
    assert_eq!((circuit.fluids[0].density, circuit.fluids[1].density), (900.0, 1000.0));
    assert_eq!(circuit.lines.volume, 1e-3);
    assert_eq!(circuit.recording.samples, 50);
    assert_eq!(circuit.title, "A new title");
    assert_eq!(number(&circuit, "b.cylinder", "bore"), 0.04);
    assert_eq!(number(&circuit, "b.cylinder", "stroke"), 0.007);
    let line = circuit.connections[0].line.as_ref().unwrap();
    assert_eq!(line.values, [Value::Number(2e8)]);
}

#[test]
fn values_are_read_as_in_a_file() {
    let circuit = circuit_with(
        TEXT,
        &[
            "kinds.enabled=false",
            "kinds.label=42",
            "kinds.pistons=5",
            "kinds.lengths=[\"1 mm\", 0.5]",
            "kinds.curve={ x = [0, 1], y = [5, 6] }",
            "relief.cracking_pressure=supply - 20 bar",
            "parameters.supply=110 bar",
            "a.fluid=brake",
        ],
    );
    let kinds = &circuit.components[find(&circuit, "kinds")].values;
    assert_eq!(kinds[4], Value::Switch(false));
    assert_eq!(kinds[5], Value::Text("42".into()));
    assert_eq!(kinds[3], Value::Number(5.0));
    assert_eq!(kinds[2], Value::List(vec![0.001, 0.5]));
    assert!(matches!(&kinds[0], Value::Table(curve) if curve.values == [5.0, 6.0]));
    assert_eq!(number(&circuit, "relief", "cracking_pressure"), 90e5);
    assert_eq!(circuit.components[find(&circuit, "a")].fluid, 1);
}

#[test]
fn the_last_of_two_counts() {
    assert_eq!(circuit_with(TEXT, &["a.bore=1 mm", "a.bore=2 mm"]).components.len(), 4);
    assert_eq!(number(&circuit_with(TEXT, &["a.bore=1 mm", "a.bore=2 mm"]), "a", "bore"), 0.002);
}

#[test]
fn a_value_that_replaces_a_wrong_one_cures_it() {
    let text = TEXT.replace("bore = \"10 mm\"", "bore = \"10 bar\"");
    assert_eq!(number(&circuit_with(&text, &["a.bore=1 mm"]), "a", "bore"), 0.001);
}

#[test]
fn mistakes_point_into_the_argument() {
    let cases: &[(&str, Code, &str, &str, &str)] = &[
        ("a.bore", Code::BadOverride, "--set:1:1", "has no value", "quote the whole"),
        ("=5", Code::BadOverride, "--set:1:1", "does not name anything", "component.parameter"),
        ("a..b=5", Code::BadOverride, "--set:1:1", "does not name anything", "component.parameter"),
        ("a.boer=1 mm", Code::UnknownParameter, "--set:1:1", "has no parameter `boer`", "`bore`"),
        ("b.boer=1 mm", Code::UnknownParameter, "--set:1:1", "has no parameter `boer`", "`bore`"),
        ("suply=1 bar", Code::UnknownParameter, "--set:1:1", "no parameter `suply`", "`supply`"),
        (
            "parameters.suply=1 bar",
            Code::UnknownParameter,
            "--set:1:1",
            "no parameter `suply`",
            "`supply`",
        ),
        (
            "releif.nominal_flow=1 l/min",
            Code::UnknownComponent,
            "--set:1:1",
            "no component `releif`",
            "`relief`",
        ),
        (
            "b.cylindr.bore=1 mm",
            Code::UnknownComponent,
            "--set:1:1",
            "no component `b.cylindr`",
            "`b.cylinder`",
        ),
        ("run.stpo=1 s", Code::UnknownKey, "--set:1:1", "no key `stpo`", "`stop`"),
        ("fluids.x.density=1", Code::UnknownParameter, "--set:1:1", "no fluid", "unknown fluid"),
        (
            "a.bore=1 bar",
            Code::WrongDimension,
            "--set:1:8",
            "is a length, but \"1 bar\" is a pressure",
            "expected",
        ),
        (
            "supply=1 mm",
            Code::WrongDimension,
            "--set:1:8",
            "`supply` is a pressure, but `1 mm` is a length",
            "replaces",
        ),
        ("a.bore = 1 mmm", Code::UnknownUnit, "--set:1:12", "unknown unit `mmm`", "mm"),
        (
            "a.bore=-1 mm",
            Code::OutOfRange,
            "--set:1:8",
            "is -1 mm, but must be greater than 0 mm",
            "greater",
        ),
        ("kinds.lengths=[1,", Code::InvalidToml, "--set:1:18", "not valid TOML", "expected"),
    ];
    for (argument, code, at, message, help) in cases {
        let loaded = load_with(TEXT, &[argument]);
        let report = loaded.diagnostics.render(&loaded.sources, false, 100);
        let error = first(&loaded, *code);
        let place = loaded.sources.describe(error.primary().unwrap().span);
        assert_eq!(place.as_deref(), Some(*at), "{argument}\n{report}");
        assert!(error.message().contains(message), "{argument}\n{report}");
        assert!(report.contains(help), "{argument}\n{report}");
        assert_eq!(loaded.diagnostics.errors(), 1, "{argument}\n{report}");
        assert!(loaded.circuit.is_none());
    }
}

#[test]
fn names_and_values_may_come_apart() {
    let set = [Override::new("a.bore", "3 mm")];
    let loaded = load_text("test.toml", TEXT, ".", &registry(), &set);
    assert_eq!(number(&loaded.circuit.unwrap(), "a", "bore"), 0.003);
}
