//! Validation files, their data, and files of parameters.

mod common;

use common::{Run, codes, file};
use fluxline_diagnostics::{Code, Diagnostics, SourceMap};
use fluxline_hmf::hvc::{self, Table, interpolate};
use fluxline_hmf::{Override, hpf};
use std::path::Path;

#[test]
fn a_validation_names_model_data_columns_and_tolerances() {
    let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
    let read = hvc::load_file(&file("good.hvc"), &mut sources, &mut found).unwrap();
    assert!(found.is_empty());
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].model, file("whole.hmf"));
    let [first, second] = read[0].variables.as_slice() else { panic!() };
    assert_eq!((first.time_column, first.column, first.tolerance), (0, 2, 0.05));
    assert_eq!((second.time_column, second.column, second.tolerance), (0, 1, 0.01));
    assert_eq!(first.data, file("good.hvd"));
    let model = fluxline_hmf::load_file(&read[0].model).model.unwrap();
    assert_eq!(model.without_root(&second.name), "Asleep$Gain#out#Value");
    assert_eq!(model.without_root(&first.name), "Gain#out#Value");
    let table = Table::load_file(&first.data, &mut sources, &mut found).unwrap();
    let (times, values) = table.series(first).unwrap();
    assert_eq!(times, [0.0, 0.5, 1.0]);
    assert_eq!(values, [2.0, 2.0, f64::NEG_INFINITY]);
}

#[test]
fn the_old_form_names_component_port_and_variable_and_has_its_defaults() {
    let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
    let read = hvc::load_file(&file("old.hvc"), &mut sources, &mut found).unwrap();
    let [first, second] = read[0].variables.as_slice() else { panic!() };
    assert_eq!((first.name.as_str(), first.column, first.tolerance), ("Gain#out#Value", 2, 0.1));
    assert_eq!(
        (second.name.as_str(), second.column, second.tolerance),
        ("Gain#out#Other", 1, 0.01)
    );
    assert_eq!(second.data, file("old.csv"));
    assert!(read[0].model.exists());
}

#[test]
fn validations_with_mistakes_say_where() {
    let read = |text: &str| {
        let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
        let path = Path::new("folder/a.hvc");
        let read = hvc::load_bytes(path, text.as_bytes().to_vec(), &mut sources, &mut found);
        (read, codes(&found), found.render(&sources, false, 100))
    };
    let whole = |inside: &str| {
        format!(
            "<hopsanvalidationconfiguration hvcversion='0.2'>{inside}</hopsanvalidationconfiguration>"
        )
    };
    let (none, codes, _) = read("<other/>");
    assert!(none.is_none() && codes == [Code::NotAnImport]);
    for (text, expected) in [
        ("<hopsanvalidationconfiguration hvcversion='0.9'/>".to_owned(), "version \"0.9\""),
        (whole(""), "holds no validation"),
        (whole("<validation/>"), "names no model file"),
        (whole("<validation><modelfile>m</modelfile><variable/></validation>"), "lacks the name"),
        (
            whole(
                "<validation><modelfile>m</modelfile><variable name='a'><column>-1</column></variable></validation>",
            ),
            "no column",
        ),
        (
            whole(
                "<validation><modelfile>m</modelfile><variable name='a'><tolerance>x</tolerance></variable></validation>",
            ),
            "tolerance of `a`",
        ),
    ] {
        let (_, codes, shown) = read(&text);
        assert_eq!(codes, [Code::BadValidation], "{shown}");
        assert!(shown.contains(expected), "{shown}");
    }
    let (read, _, _) = read(&whole(
        "<validation><modelfile>m.hmf</modelfile><variable name='a#b#c'/></validation>",
    ));
    assert_eq!(read.unwrap()[0].variables[0].data, Path::new("folder/a.hvd"));
}

#[test]
fn data_that_are_no_table_are_refused_with_their_line() {
    let read = |text: &str| {
        let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
        let table = Table::load_bytes("a.hvd", text.as_bytes().to_vec(), &mut sources, &mut found);
        (table, found.render(&sources, false, 100))
    };
    assert_eq!(read("1,2\n3,4").0.unwrap().columns, [[1.0, 3.0], [2.0, 4.0]]);
    for (text, expected) in [
        ("time,value\n0,1\n", "\"time\" where a number should be"),
        ("0,1\n0.5,x\n", "a.hvd:2:5"),
        ("0,1\n0.5\n", "has 1 values, but those before have 2"),
        ("0,1\n0.5,1,2\n", "has 3 values"),
        ("\n\n", "holds no data"),
    ] {
        let (table, shown) = read(text);
        assert!(
            table.is_none() && shown.contains(expected) && shown.contains("F1311"),
            "{text}: {shown}"
        );
    }
    let table = read("1,2\n").0.unwrap();
    let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
    let variable = hvc::load_file(&file("good.hvc"), &mut sources, &mut found).unwrap()[0]
        .variables[0]
        .clone();
    assert_eq!(table.series(&variable).unwrap_err().code(), Code::BadValidation);
}

#[test]
fn results_are_interpolated_between_and_held_beyond_their_samples() {
    let (times, values) = ([0.0, 1.0, 3.0], [10.0, 20.0, 0.0]);
    for (time, expected) in
        [(-1.0, 10.0), (0.0, 10.0), (0.5, 15.0), (1.0, 20.0), (2.0, 10.0), (3.0, 0.0), (9.0, 0.0)]
    {
        assert_eq!(interpolate(&times, &values, time), expected, "{time}");
    }
    assert!(interpolate(&[], &[], 0.0).is_nan());
}

#[test]
fn a_parameter_file_sets_what_has_the_right_name_and_type() {
    let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
    let overrides = hpf::load_file(&file("set.hpf"), &mut sources, &mut found).unwrap();
    let names: Vec<&str> = overrides.iter().map(|setting| setting.name.as_str()).collect();
    assert_eq!(names, ["self#bore", "G#in", "Inner$self#x", "Inner$H#k#Value"]);
    let run = Run::of_file("script.hmf", &overrides);
    assert_eq!(run.number("self#bore"), 0.2);
    let mut wrong: Vec<Override> = overrides;
    wrong[1].expected = Some(("SignalSink".into(), "".into()));
    Run::of_file("script.hmf", &wrong).tells(
        Code::UnknownImportedName,
        &["it is for a `SignalSink`, but the component is a `SignalGain`"],
    );

    let mut read = |text: &str| {
        let read = hpf::load_bytes("a.hpf", text.as_bytes().to_vec(), &mut sources, &mut found);
        (read, found.render(&sources, false, 100))
    };
    assert!(read("<other/>").1.contains("not a parameter file"));
    assert!(read("<hopsanparameterfile/>").1.contains("neither a system nor a component"));
    let one = "<hopsanparameterfile><component typename='Kinds' name='C'><parameters><parameter name='d' value='1'/><parameter/></parameters></component></hopsanparameterfile>";
    assert_eq!(read(one).0.unwrap()[0].name, "C#d");
}

#[test]
fn a_list_of_parameters_has_a_line_for_each() {
    let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
    let overrides = hpf::load_list(&file("set.csv"), &mut sources, &mut found).unwrap();
    let list: Vec<(&str, &str)> =
        overrides.iter().map(|setting| (setting.name.as_str(), setting.value.as_str())).collect();
    assert_eq!(list, [("G#k", "5"), ("Inner$H#in#Value", "2*bore"), ("self#bore", "0.3")]);
    assert_eq!(sources.slice(overrides[1].span.unwrap()), "Inner$H#in#Value,2*bore");
    hpf::load_list(&file("good.hvd"), &mut sources, &mut found);
    assert!(codes(&found).contains(&Code::BadImportedSetting));
}
