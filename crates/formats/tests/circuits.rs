//! What a circuit file means.

mod common;

use common::*;
use fluxline_core::circuit::Source;
use fluxline_core::declare::Value;
use fluxline_core::domain::Role;
use fluxline_core::settings::FilterKind;
use fluxline_diagnostics::Code;

const SERVO: &str = include_str!("files/servo.toml");

#[test]
fn a_circuit_is_flat_and_in_si_units() {
    let circuit = circuit(SERVO);
    assert_eq!(circuit.title, "Position servo");
    assert_eq!((circuit.run.stop, circuit.run.step), (3.0, 1e-4));
    assert_eq!(circuit.run.filter, FilterKind::Wave);
    assert_eq!(circuit.lines.volume, 2e-4);
    assert_eq!(circuit.fluids.len(), 2);
    assert_eq!((circuit.fluids[0].density, circuit.fluids[1].density), (850.0, 1050.0));
    assert_eq!(circuit.rates, [1]);
    let names: Vec<&str> = circuit.components.iter().map(|c| c.name.as_str()).collect();
    let order =
        ["pump", "relief", "tank", "valve", "orifice", "cylinder", "mass", "reference", "feedback"];
    assert_eq!(names, order);

    assert_eq!(number(&circuit, "pump", "displacement"), 50e-6 / std::f64::consts::TAU);
    assert_eq!(number(&circuit, "relief", "cracking_pressure"), 130e5);
    assert_eq!(number(&circuit, "relief", "nominal_flow"), 1e-3);
    let area = std::f64::consts::PI / 4.0 * 0.032f64.powi(2);
    assert!((number(&circuit, "orifice", "area") - area).abs() < 1e-18);
    assert_eq!(number(&circuit, "orifice", "discharge"), 0.6);
    assert_eq!(number(&circuit, "mass", "mass"), 100.0);
    assert_eq!(number(&circuit, "mass", "force"), 0.0);
    assert_eq!(number(&circuit, "reference", "height"), 2.0);
}

#[test]
fn ports_meet_and_lines_are_components() {
    let circuit = circuit(SERVO);
    assert_eq!(circuit.connections.len(), 7);
    let shown: Vec<String> = circuit
        .connections
        .iter()
        .map(|connection| {
            let ends = connection.ends.iter().map(|end| {
                let instance = &circuit.components[end.component];
                let port = instance.declaration().ports[end.port].name;
                let place = end.place.map_or(String::new(), |place| place.to_string());
                format!("{}.{port}{place}", instance.name)
            });
            let line = connection.line.as_ref().map_or("-", |line| &line.name);
            format!("{} | {line}", ends.collect::<Vec<_>>().join(" "))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "pump.outlet relief.inlet valve.p | line.pump.outlet",
            "pump.inlet tank.port relief.outlet | -",
            "valve.t tank.port7 | -",
            "valve.a cylinder.a | chamber",
            "valve.b orifice.a | -",
            "orifice.b cylinder.b | line.orifice.b",
            "cylinder.rod mass.a | line.cylinder.rod",
        ]
    );
    let line = circuit.connections[0].line.as_ref().unwrap();
    assert_eq!(line.kind.declaration.name, "hydraulic.line");
    assert_eq!(line.values, [Value::Number(2.0), Value::Number(0.019)]);
    let spring = circuit.connections[6].line.as_ref().unwrap();
    assert_eq!(spring.kind.declaration.name, "translational.spring");
    let chamber = circuit.connections[3].line.as_ref().unwrap();
    assert_eq!(chamber.kind.declaration.name, "hydraulic.volume");
}

#[test]
fn signals_come_from_outputs_and_port_variables() {
    let circuit = circuit(SERVO);
    let drives: Vec<_> =
        circuit.drives.iter().map(|drive| (drive.from, drive.component, drive.input)).collect();
    let (reference, valve) = (find(&circuit, "reference"), find(&circuit, "valve"));
    assert_eq!(drives[0], (Source::Output { component: reference, output: 0 }, valve, 0));
    let Source::Port { component, port, place, variable } = drives[1].0 else { panic!() };
    assert_eq!(
        (component, port, place, variable.role),
        (find(&circuit, "pump"), 1, 1, Role::Effort)
    );
    assert_eq!(drives[2].1, find(&circuit, "mass"));
}

#[test]
fn recording_and_plots_keep_their_patterns() {
    let circuit = circuit(SERVO);
    assert_eq!(circuit.recording.samples, 1000);
    let record: Vec<&str> = circuit.record.iter().map(|p| p.text.as_str()).collect();
    assert_eq!(record, ["cylinder.*", "mass.x"]);
    assert_eq!(circuit.plots[0].title, "Position");
    assert_eq!(circuit.plots[0].variables.len(), 2);
    assert_eq!(circuit.plots[1].title, "pump.*");
}

#[test]
fn places_are_kept_for_later_messages() {
    let loaded = load(SERVO);
    let circuit = loaded.circuit.unwrap();
    let relief = &circuit.components[find(&circuit, "relief")];
    assert_eq!(loaded.sources.slice(relief.span.unwrap()), "relief");
    assert_eq!(loaded.sources.slice(relief.value_spans[0].unwrap()), "\"supply + 10 bar\"");
    assert_eq!(relief.value_spans[1], None);
    assert_eq!(loaded.sources.slice(circuit.connections[0].ends[2].span.unwrap()), "\"valve.p\"");
    assert_eq!(loaded.sources.slice(circuit.record[0].span.unwrap()), "\"cylinder.*\"");
}

#[test]
fn without_settings_the_defaults_hold() {
    let circuit = circuit("[components.tank]\ntype = \"hydraulic.tank\"\n");
    assert_eq!(circuit.title, "test");
    assert_eq!((circuit.run.stop, circuit.run.step), (1.0, 1e-4));
    assert_eq!(circuit.fluids.len(), 1);
    assert_eq!(circuit.fluids[0].density, 870.0);
    assert_eq!(circuit.recording.samples, 2000);
    assert!(circuit.record.is_empty());
}

#[test]
fn settings_may_use_parameters() {
    let circuit = circuit(
        "[run]\nstop = \"100*period\"\n[fluid]\ndensity = \"rho\"\n[parameters]\nperiod = \"20 ms\"\nrho = \"900 kg/m^3\"\n\
         [components.tank]\ntype = \"hydraulic.tank\"\n",
    );
    assert_eq!((circuit.run.stop, circuit.fluids[0].density), (2.0, 900.0));
}

#[test]
fn every_kind_of_parameter_is_read() {
    let circuit = circuit(
        r#"
[parameters]
width = "3 mm"
[components.k]
type = "signal.kinds"
curve = { x = [0, "10 ms"], y = [60, 120], y_unit = "l/min" }
map = { x = [0, 1], y = [0, 10, 20], z = [[1, 2], [3, 4], [5, 6]] }
lengths = ["width", 0.004, "2*width"]
pistons = "2 + 5"
enabled = false
label = "rear axle"
limit = "2 bar"
"#,
    );
    let values = &circuit.components[0].values;
    let Value::Table(curve) = &values[0] else { panic!() };
    assert_eq!((&curve.knots[..], &curve.values[..]), (&[0.0, 0.01][..], &[1e-3, 2e-3][..]));
    let Value::Table(map) = &values[1] else { panic!() };
    assert_eq!((&map.knots[..], &map.rows[..]), (&[0.0, 1.0][..], &[0.0, 10.0, 20.0][..]));
    assert_eq!(map.values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(values[2], Value::List(vec![0.003, 0.004, 0.006]));
    assert_eq!(values[3], Value::Number(7.0));
    assert_eq!(values[4], Value::Switch(false));
    assert_eq!(values[5], Value::Text("rear axle".into()));
    assert_eq!(values[6], Value::Number(2e5));
}

#[test]
fn kinds_not_given_have_their_defaults() {
    let circuit = circuit("[components.k]\ntype = \"signal.kinds\"\ncurve = [[0, 1], [2, 3]]\n");
    let values = &circuit.components[0].values;
    assert!(matches!(&values[1], Value::Table(map) if map.knots == [0.0, 1.0]));
    assert_eq!(values[2], Value::List(vec![0.001, 0.002]));
    assert_eq!(values[3..5], [Value::Number(3.0), Value::Switch(true)]);
    assert_eq!(values[5..], [Value::Text("none".into()), Value::Absent]);
}

#[test]
fn a_choice_is_one_of_the_words() {
    let circuit = circuit("[components.o]\ntype = \"hydraulic.orifice\"\nlaw = \"laminar\"\n");
    assert_eq!(circuit.components[0].values[2], Value::Choice(1));
}

#[test]
fn curves_come_from_csv_files() {
    let curve = |value: &str| {
        let text = format!("[components.k]\ntype = \"signal.kinds\"\ncurve = {value}\n");
        let circuit = circuit(&text);
        let Value::Table(curve) = &circuit.components[0].values[0] else { panic!() };
        (curve.knots.clone(), curve.values.clone())
    };
    let expected = (vec![0.0, 1.0, 2.0], vec![0.0, 1e-3, 2e-3]);
    assert_eq!(curve("\"flow.csv\""), expected);
    assert_eq!(curve("{ file = \"flow.csv\" }"), expected);
    assert_eq!(curve("{ file = \"flow.csv\", x = \"time\", y = \"flow\" }"), expected);
    assert_eq!(curve("{ file = \"flow.csv\", x = 1, y = 2 }"), expected);
    assert_eq!(
        curve("{ file = \"flow.csv\", y = \"back flow\", y_unit = \"m^3/s\" }").1,
        [3.0, 2.0, 1.0]
    );
    assert_eq!(curve("{ file = \"flow.csv\", x_unit = \"ms\" }").0, [0.0, 1e-3, 2e-3]);
    assert_eq!(curve("\"bare.tsv\""), (vec![0.0, 0.5], vec![1.0, 2.0]));
    assert_eq!(curve("\"semicolons.csv\""), (vec![0.0, 0.5], vec![1.0, 2.0]));
}

#[test]
fn an_input_without_default_may_be_driven_instead() {
    let open = "[components.m]\ntype = \"translational.mass\"\nmass = \"1 kg\"\n";
    let loaded = load(open);
    let missing = first(&loaded, Code::MissingKey);
    assert!(missing.message().contains("`force`"), "{}", missing.message());
    let driven = format!(
        "{open}[components.s]\ntype = \"signal.step\"\n[[connect]]\nfrom = \"s.out\"\nto = \"m.force\"\n"
    );
    assert_eq!(number(&circuit(&driven), "m", "force"), 0.0);
}

#[test]
fn states_are_signals() {
    let circuit = circuit(
        "[components.m]\ntype = \"translational.mass\"\nmass = \"1 kg\"\nforce = \"1 N\"\n\
         [components.g]\ntype = \"signal.gain\"\n[[connect]]\nfrom = \"m.x\"\nto = \"g.input\"\n",
    );
    assert_eq!(circuit.drives[0].from, Source::State { component: 0, state: 0 });
}

#[test]
fn a_driven_value_is_a_warning_and_an_unused_parameter_too() {
    let loaded = load(
        "[parameters]\nspare = 1\n[components.s]\ntype = \"signal.step\"\n[components.g]\ntype = \"signal.gain\"\n\
         input = 3\n[[connect]]\nfrom = \"s.out\"\nto = \"g.input\"\n",
    );
    let warning = first(&loaded, Code::ParameterOverridden);
    assert_eq!(loaded.sources.describe(warning.primary().unwrap().span).unwrap(), "test.toml:7:9");
    let unused = first(&loaded, Code::UnusedParameter);
    assert!(unused.message().contains("`spare`"));
    assert_eq!(loaded.diagnostics.warnings(), 2);
    assert!(loaded.circuit.is_some());
}

#[test]
fn other_tools_names_work_for_ports_and_parameters() {
    let circuit = circuit(
        "[components.p]\ntype = \"hydraulic.fixed_pump\"\nD_p = \"10 cm^3/rev\"\n[components.t]\ntype = \"hydraulic.tank\"\n\
         [[connect]]\nfrom = \"p.P1\"\nto = \"t.port\"\n[[connect]]\nfrom = \"p.P2\"\nto = \"t.port\"\n",
    );
    assert_eq!(circuit.connections[0].ends[0].port, 0);
    assert_eq!(circuit.connections[1].ends[0].port, 1);
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_do_not_matter() {
    let text = format!("\u{feff}{}", SERVO.replace('\n', "\r\n"));
    assert_eq!(circuit(&text).components.len(), 9);
}
