//! Sub-circuits: tables and files, parameters, ports, steps and fluids of their own.

mod common;

use common::*;
use fluxline_core::circuit::Circuit;
use fluxline_diagnostics::Code;
use fluxline_formats::load_file;

const BOOM: &str = r#"
[run]
step = "0.1 ms"

[parameters]
wide = "63 mm"

[components.pump]
type = "hydraulic.fixed_pump"
displacement = "50 cm^3/rev"

[components.tank]
type = "hydraulic.tank"

[components.lever]
type = "signal.step"

[components.boom]
use = "axis"
bore = "wide"
step = "0.02 ms"

[components.arm]
use = "axis"

[[connect]]
ends = ["pump.outlet", "boom.p", "arm.p"]

[[connect]]
ends = ["pump.inlet", "tank.port", "boom.t", "arm.t"]

[[connect]]
from = "lever.out"
to = ["boom.signal", "arm.signal"]

[[connect]]
from = "boom.x"
to = "watch.input"

[[connect]]
from = "boom.p.pressure"
to = "watch2.input"

[components.watch]
type = "signal.gain"
[components.watch2]
type = "signal.gain"

[subcircuits.axis.parameters]
bore = "32 mm"
stroke = "10*bore"

[subcircuits.axis.components.valve]
type = "hydraulic.servo_valve"
[subcircuits.axis.components.load]
use = "load"
bore = "bore"
stroke = "stroke"

[subcircuits.axis.ports]
p = "valve.p"
t = "valve.t"
signal = "valve.signal"
x = "load.x"

[[subcircuits.axis.connect]]
from = "valve.a"
to = "load.a"
line = { volume = "0.1 l" }
[[subcircuits.axis.connect]]
from = "valve.b"
to = "load.b"

[subcircuits.load.parameters]
bore = "1 mm"
stroke = "1 mm"
[subcircuits.load.components.cylinder]
type = "hydraulic.cylinder"
bore = "bore"
stroke = "stroke"
[subcircuits.load.components.mass]
type = "translational.mass"
mass = "100 kg"
force = 0
[subcircuits.load.ports]
a = "cylinder.a"
b = "cylinder.b"
x = "mass.x"
[[subcircuits.load.connect]]
from = "cylinder.rod"
to = "mass.a"
"#;

fn names(circuit: &Circuit) -> Vec<&str> {
    circuit.components.iter().map(|c| c.name.as_str()).collect()
}

#[test]
fn a_subcircuit_becomes_flat_components() {
    let circuit = circuit(BOOM);
    assert_eq!(
        names(&circuit),
        [
            "pump",
            "tank",
            "lever",
            "boom.valve",
            "boom.load.cylinder",
            "boom.load.mass",
            "arm.valve",
            "arm.load.cylinder",
            "arm.load.mass",
            "watch",
            "watch2"
        ]
    );
    assert_eq!(number(&circuit, "boom.load.cylinder", "bore"), 0.063);
    assert!((number(&circuit, "boom.load.cylinder", "stroke") - 0.63).abs() < 1e-15);
    assert_eq!(number(&circuit, "arm.load.cylinder", "bore"), 0.032);
    assert!((number(&circuit, "arm.load.cylinder", "stroke") - 0.32).abs() < 1e-15);
}

#[test]
fn exposed_ports_lead_to_the_parts_within() {
    let circuit = circuit(BOOM);
    let supply = circuit.connections.iter().find(|c| c.ends.len() == 3).unwrap();
    let ends: Vec<usize> = supply.ends.iter().map(|end| end.component).collect();
    assert_eq!(
        ends,
        [find(&circuit, "pump"), find(&circuit, "boom.valve"), find(&circuit, "arm.valve")]
    );
    let driven: Vec<usize> = circuit.drives.iter().map(|drive| drive.component).collect();
    assert_eq!(driven[..2], [find(&circuit, "boom.valve"), find(&circuit, "arm.valve")]);
    let lines: Vec<&str> = circuit
        .connections
        .iter()
        .filter_map(|c| c.line.as_ref())
        .map(|line| line.name.as_str())
        .collect();
    assert_eq!(lines, ["boom.line.valve.a", "arm.line.valve.a"]);
}

#[test]
fn a_step_of_its_own_gives_a_rate() {
    let circuit = circuit(BOOM);
    assert_eq!(circuit.rates, [1, 5]);
    assert_eq!(circuit.components[find(&circuit, "boom.load.mass")].rate, 1);
    assert_eq!(circuit.components[find(&circuit, "arm.load.mass")].rate, 0);
    let line = circuit.connections.iter().find_map(|c| c.line.as_ref()).unwrap();
    assert_eq!(line.rate, 1);
}

#[test]
fn a_mistake_within_is_shown_once_with_the_use() {
    let text = BOOM.replace(
        "type = \"hydraulic.cylinder\"\nbore = \"bore\"",
        "type = \"hydraulic.cylinder\"\nbore = \"2 bar\"",
    );
    let loaded = load(&text);
    assert_eq!(loaded.diagnostics.errors(), 1);
    let error = first(&loaded, Code::WrongDimension);
    assert_eq!(loaded.sources.slice(error.primary().unwrap().span), "\"2 bar\"");
    let used = error.secondary()[0].clone();
    assert_eq!(loaded.sources.slice(used.span), "load");
    assert_eq!(used.text, "in the sub-circuit used here as `boom.load`");
}

#[test]
fn a_value_given_at_the_use_is_blamed_there() {
    let loaded = load(&BOOM.replace("bore = \"wide\"", "bore = \"-3 mm\""));
    let error = first(&loaded, Code::OutOfRange);
    assert!(
        error.message().contains("`cylinder.bore` is -3 mm, but must be greater than 0 mm"),
        "{}",
        error.message()
    );
}

#[test]
fn a_file_is_a_subcircuit() {
    let loaded = load_file("tests/files/machine.toml", &registry(), &[]);
    let report = loaded.diagnostics.render(&loaded.sources, false, 100);
    let circuit = loaded.circuit.unwrap_or_else(|| panic!("{report}"));
    assert_eq!(circuit.title, "machine");
    assert_eq!(
        names(&circuit),
        ["tank", "left.valve", "left.relief.relief", "right.valve", "right.relief.relief"]
    );
    assert_eq!(number(&circuit, "left.relief.relief", "cracking_pressure"), 200e5);
    assert_eq!(number(&circuit, "right.relief.relief", "cracking_pressure"), 180e5);
    // The run, record and plots of a file used as a part do not count.
    assert_eq!(circuit.run.stop, 1.0);
    assert!(circuit.plots.is_empty() && circuit.record.is_empty());
    // Its fluid does, for its own parts.
    assert_eq!(circuit.fluids.len(), 2);
    let density =
        |name: &str| circuit.fluids[circuit.components[find(&circuit, name)].fluid].density;
    assert_eq!(
        (density("tank"), density("left.valve"), density("left.relief.relief")),
        (870.0, 900.0, 900.0)
    );
    // Unless the use says otherwise.
    assert_eq!(density("right.valve"), 870.0);
    let files: Vec<String> =
        loaded.sources.iter().map(|(_, source)| source.name().to_owned()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
}

#[test]
fn a_file_that_uses_itself_is_refused() {
    let loaded = load_file("tests/files/circle.toml", &registry(), &[]);
    let error = first(&loaded, Code::SubcircuitIncludesItself);
    assert!(error.message().contains("circle.toml"), "{}", error.message());
}

#[test]
fn a_mistake_in_a_used_file_names_that_file() {
    let loaded = load_file("tests/files/uses_broken.toml", &registry(), &[]);
    let error = first(&loaded, Code::UnknownUnit);
    let place = loaded.sources.describe(error.primary().unwrap().span).unwrap();
    assert!(place.replace('\\', "/").ends_with("tests/files/parts/broken.toml:3:15"), "{place}");
    let used = loaded.sources.describe(error.secondary()[0].span).unwrap();
    assert!(used.replace('\\', "/").ends_with("tests/files/uses_broken.toml:1:13"), "{used}");
}

#[test]
fn deep_nesting_is_refused() {
    let mut text = String::from("[components.a]\nuse = \"s0\"\n");
    for level in 0..40 {
        text += &format!("[subcircuits.s{level}.components.a]\nuse = \"s{}\"\n", level + 1);
    }
    text += "[subcircuits.s40.components.t]\ntype = \"hydraulic.tank\"\n";
    let loaded = load(&text);
    assert!(first(&loaded, Code::NestingTooDeep).message().contains("32"));
}

#[test]
fn a_subcircuit_sees_its_own_parameters_only() {
    let loaded = load(
        "[parameters]\nsupply = \"1 bar\"\n[components.a]\nuse = \"x\"\n[components.o]\ntype = \"hydraulic.orifice\"\n\
         [subcircuits.x.components.t]\ntype = \"hydraulic.tank\"\npressure = \"supply\"\n",
    );
    assert!(first(&loaded, Code::UnknownName).message().contains("`supply`"));
}
