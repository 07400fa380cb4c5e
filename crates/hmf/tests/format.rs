//! Model files: what is read from them, rule by rule.

mod common;

use common::{Run, file};
use fluxline_diagnostics::Code;
use fluxline_hmf::model::{Log, Times};
use fluxline_hmf::{Object, Pose, System, SystemKind, load_file, load_text};
use std::path::Path;
use std::time::{Duration, Instant};

fn component<'s>(system: &'s System, name: &str) -> &'s fluxline_hmf::Component {
    match system.object(name) {
        Some(Object::Component(component)) => component,
        other => panic!("{name} is {other:?}"),
    }
}

fn nested<'s>(system: &'s System, name: &str) -> &'s System {
    match system.object(name) {
        Some(Object::System(system)) => system,
        other => panic!("{name} is {other:?}"),
    }
}

/// The ends of all connections, by names in the model.
fn ends(system: &System) -> Vec<String> {
    let end =
        |end: &fluxline_hmf::End| format!("{}.{}", system.objects[end.object].name(), end.port);
    system
        .connections
        .iter()
        .map(|joint| format!("{} - {}", end(&joint.start), end(&joint.end)))
        .collect()
}

#[test]
fn all_that_a_file_can_hold_is_read() {
    let run = Run::of_file("whole.hmf", &[]);
    // Only the alias of a kind that nothing acts on is worth a word.
    assert_eq!(run.codes(), [Code::IgnoredPart], "{}", run.shown());
    let model = run.loaded.model.as_ref().unwrap();
    assert_eq!((model.format_version.as_str(), model.gui_version.as_str()), ("0.4", "2.20.1"));
    assert_eq!(model.core_version, "2.20.0.20200515.1608");
    assert_eq!(model.info.author, "A. Engineer");
    assert_eq!(model.info.affiliation, "Hydraulics & Sons");
    assert_eq!(model.libraries, ["Default library", "Extra"]);
    let root = &model.root;
    assert_eq!(root.times, Times { start: 0.5, stop: 3.0, step: 0.002, inherit: true });
    assert_eq!(root.log, Log { samples: 100, start: 1.0 });
    assert_eq!(root.pose, Some(Pose { x: 10.0, y: 20.0, angle: 90.0, flipped: true }));
    assert_eq!(root.parameters[0].quantity, "Pressure");
    assert_eq!(root.parameters[0].description, "Supply pressure");
    let alias = &root.aliases[0];
    assert_eq!(
        (alias.name.as_str(), alias.component.as_str(), alias.port.as_str()),
        ("boom", "Gain", "out")
    );
    let gain = component(root, "Gain");
    assert_eq!((gain.typename.as_str(), gain.subtypename.as_str()), ("SignalGain", "Special"));
    assert_eq!(gain.quantities, [("in".to_owned(), "Pressure".to_owned())]);
    assert_eq!(gain.pose, Some(Pose { x: 2105.5, y: -2444.0, angle: 270.0, flipped: false }));
    assert_eq!(gain.parameters[0].text, "supply/1e5");
    assert!(component(root, "Scope").disabled && !gain.disabled);
    let asleep = nested(root, "Asleep");
    assert_eq!(asleep.kind, SystemKind::Conditional);
    assert_eq!(asleep.times, Times { start: 0.0, stop: 2.0, step: 1e-4, inherit: false });
    assert_eq!(
        ends(root),
        [
            "command.command - Gain.in",
            "Gain.out - Scope.in",
            "Asleep.result - Scope.in",
            "Gain.out - Asleep.on"
        ]
    );
    assert_eq!(ends(asleep), ["Gain.out - result.result"]);
    assert_eq!(root.count_components(), 3);
    assert_eq!(root.ports().count(), 1);
    assert_eq!(run.number("Gain#k#Value"), 210.0);
    assert_eq!(run.get("self#count").unwrap().value, fluxline_hmf::Value::Integer(4));
}

#[test]
fn what_has_no_place_in_the_model_is_listed() {
    let loaded = load_file(&file("whole.hmf"));
    let leftovers = loaded.model.unwrap().leftovers;
    let list: Vec<(&str, &str, usize)> = leftovers
        .iter()
        .map(|left| (left.system.as_str(), left.element.as_str(), left.spans.len()))
        .collect();
    assert_eq!(
        list,
        [
            ("", "hopsangui/viewport", 1),
            ("", "hopsangui/optimization", 1),
            ("", "component/startvalues", 1),
            ("", "objects/textboxwidget", 2),
        ]
    );
    assert!(loaded.sources.slice(leftovers[3].spans[1]).contains("Another"));
}

#[test]
fn defaults_are_those_of_the_program_of_origin() {
    let text = "<hopsanmodelfile><system typename='Subsystem'/></hopsanmodelfile>";
    let loaded = load_text("a.hmf", text);
    let model = loaded.model.unwrap();
    assert_eq!(model.core_version, "0");
    assert_eq!(model.root.name, "Subsystem");
    assert_eq!(model.root.times, Times { start: 0.0, stop: 2.0, step: 0.001, inherit: true });
    assert_eq!(model.root.log, Log { samples: 0, start: 0.0 });
    assert!(!model.root.disabled && loaded.diagnostics.is_empty());
}

#[test]
fn names_are_made_plain_and_unique_and_connections_follow() {
    let run = Run::of_file("names.hmf", &[]);
    let root = &run.loaded.model.as_ref().unwrap().root;
    let names: Vec<&str> = root.objects.iter().map(Object::name).collect();
    assert_eq!(
        names,
        [
            "L__ge_1_2",
            "G",
            "G_1",
            "G_2",
            "taken_1",
            "Time",
            "self",
            "SignalGain",
            "SignalGain_1",
            "port_one"
        ]
    );
    assert_eq!(root.name, "My_model_1");
    assert_eq!(root.objects[0].original_name(), "Läge 1/2");
    assert_eq!(
        ends(root),
        [
            "L__ge_1_2.out - G.in",
            // `G_1` in the file is the third G, which had to give way.
            "Time.out - G_2.in",
            "L__ge_1_2.out - taken_1.in",
            "port_one.port_one - self.in",
            "port_one.port_one - SignalGain.in",
        ]
    );
    run.tells(
        Code::ImportRenamed,
        &["a second `G` is now called `G_1`", "`Läge 1/2` is now `L__ge_1_2`"],
    );
    assert!(!run.loaded.diagnostics.has_errors());
}

#[test]
fn an_old_file_is_read_with_the_names_of_today() {
    let run = Run::of_file("old.hmf", &[]);
    assert!(!run.loaded.diagnostics.has_errors(), "{}", run.shown());
    run.tells(Code::OldImport, &["saved by version 0", "`SignalSource` is now `SignalConstant`"]);
    let root = &run.loaded.model.as_ref().unwrap().root;
    assert_eq!(component(root, "Source").typename, "SignalConstant");
    assert_eq!(component(root, "Inertia").typename, "MechanicRotationalInertiaWithCoulombFriction");
    assert_eq!(ends(root), ["Source.y - Force.F"]);
    assert_eq!(root.log.samples, 50, "the attribute of the system comes first");
    // `b = a*2` at the root: the program of origin reports an error here.
    assert_eq!(run.number("self#b"), 6.0);
    assert_eq!(run.number("Source#y#Value"), 6.0);
    assert_eq!(run.number("Force#F#Value"), 1.0);
    assert_eq!(run.number("Force#P1#CharImpedance"), 2.0);
    assert_eq!(run.number("Orifice#Kc#Value"), 1e-11);
}

#[test]
fn a_system_from_another_file_takes_name_and_parameters_from_where_it_is_used() {
    let run = Run::of_file("outer.hmf", &[]);
    assert!(run.loaded.diagnostics.is_empty(), "{}", run.shown());
    let root = &run.loaded.model.as_ref().unwrap().root;
    let left = nested(root, "Left");
    assert_eq!(left.external.as_deref(), Some("parts\\inner.hmf"));
    assert!(left.folder.ends_with("parts"));
    assert_eq!(ends(root), ["Left.result - Right.result"]);
    assert_eq!(run.number("Left$self#factor"), 10.0);
    assert_eq!(run.number("Left$Gain#k#Value"), 21.0);
    assert_eq!(run.number("Right$Gain#k#Value"), 3.0);
}

#[test]
fn external_systems_that_are_missing_or_go_in_a_circle_are_told_once() {
    let run = Run::of_file("missing.hmf", &[]);
    run.tells(Code::ExternalSystem, &["parts/nowhere.hmf", "missing.hmf:4:"]);
    assert_eq!(run.loaded.diagnostics.errors(), 1, "{}", run.shown());
    let run = Run::of_file("circle.hmf", &[]);
    run.tells(Code::ExternalSystem, &["includes itself", "half.hmf:3:"]);
    assert_eq!(run.loaded.diagnostics.errors(), 1, "{}", run.shown());
}

#[test]
fn odd_values_are_read_as_meant_with_a_warning() {
    let run = Run::of_file("odd.hmf", &[]);
    let root = &run.loaded.model.as_ref().unwrap().root;
    assert_eq!(root.times, Times { start: 0.5, stop: 3.0, step: 0.0, inherit: false });
    assert_eq!(root.log.samples, 12);
    assert_eq!(root.kind, SystemKind::Subsystem);
    assert_eq!(root.objects.len(), 1);
    assert_eq!(root.objects[0].original_name(), "A &B; &copy; & C AB");
    assert_eq!(run.number("A__B___copy____C_AB#k#Value"), 0.25);
    run.tells(
        Code::OddAttribute,
        &[
            "\"0,5\"; it has a decimal comma",
            "\"quick\"; it is not a number",
            "\"maybe\", not true or false",
            "\"12.5\", not a whole number",
            "`untyped` has no type",
            "`&copy; &amp",
        ],
    );
    run.tells(
        Code::IgnoredPart,
        &[
            "`Strange` is no type of a system",
            "a component has no type",
            "a port of a system has no name",
            "only the first system",
            "`nothing` has no value",
        ],
    );
    run.tells(Code::ImportedEnd, &["leads to `nobody`", "lacks its `endcomponent`"]);
    // The component without a type is told once, not again for its connections.
    assert_eq!(run.loaded.diagnostics.errors(), 3, "{}", run.shown());
    let leftovers = &run.loaded.model.as_ref().unwrap().leftovers;
    for element in ["objects/gadget", "connections/note", "appendix", "system"] {
        assert!(leftovers.iter().any(|left| left.element == element), "{element}");
    }
}

#[test]
fn the_encoding_is_the_declared_one_or_guessed() {
    let loaded = load_file(&file("latin1.hmf"));
    assert_eq!(loaded.model.unwrap().info.author, "Åsa Öberg");
    assert!(loaded.diagnostics.is_empty());
    let bytes = b"<hopsanmodelfile><info><author>\xC5sa</author></info><system typename='Subsystem'/></hopsanmodelfile>";
    let run = Run::of_bytes(bytes);
    run.tells(Code::EncodingGuessed, &["0xC5"]);
    assert_eq!(run.loaded.model.unwrap().info.author, "Åsa");
}

#[test]
fn broken_xml_is_refused_with_its_line() {
    for (text, expected) in [
        ("<hopsanmodelfile>\n<system>\n", "the file ends inside `system`"),
        ("<hopsanmodelfile>\n<system>\n</sistem></hopsanmodelfile>", "test.hmf:3:"),
        ("<hopsanmodelfile>\n<system name=\"a></system></hopsanmodelfile>", "test.hmf:2:"),
        ("<hopsanmodelfile>\n<system name=a/></hopsanmodelfile>", "test.hmf:2:"),
        ("<hopsanmodelfile/>\n<another/>", "second root element"),
        ("", "no XML element"),
        ("   \n", "no XML element"),
        ("{\"json\": true}", "text outside of the root"),
        ("\0\0\0\0", "test.hmf:1:"),
        ("<!DOCTYPE a [<!ENTITY b \"c\">]>\n<hopsanmodelfile/>", "declares entities"),
        ("<hopsanmodelfile><!-- never ended", "XML is broken"),
        ("<hopsanmodelfile><![CDATA[ never ended", "XML is broken"),
        ("<", "XML is broken"),
    ] {
        let run = Run::of_text(text, &[]);
        assert!(run.loaded.model.is_none(), "{text}");
        run.tells(Code::InvalidXml, &[expected]);
    }
}

#[test]
fn a_file_of_another_kind_is_refused() {
    Run::of_text("<svg/>", &[]).tells(Code::NotAnImport, &["its root element is `svg`"]);
    Run::of_text("<hopsanmodelfile/>", &[]).tells(Code::NotAnImport, &["holds no system"]);
    let loaded = load_file(Path::new("nowhere.hmf"));
    assert_eq!(common::codes(&loaded.diagnostics), [Code::CannotRead]);
    let loaded = load_file(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert_eq!(common::codes(&loaded.diagnostics), [Code::CannotRead]);
}

#[test]
fn hostile_nesting_is_refused_and_a_plain_document_type_ignored() {
    let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    Run::of_text(&deep, &[]).tells(Code::FileTooLarge, &["nested more than 256 deep"]);
    let open = "<system typename='Subsystem'><objects>".repeat(100);
    let close = "</objects></system>".repeat(100);
    let text = format!("<hopsanmodelfile>{open}{close}</hopsanmodelfile>");
    Run::of_text(&text, &[]).tells(Code::FileTooLarge, &["systems are nested more than 64 deep"]);
    let text = "<!DOCTYPE hopsan><hopsanmodelfile><system typename='Subsystem'/></hopsanmodelfile>";
    assert!(load_text("a.hmf", text).model.is_some());
    // Text may be wrapped, and entities in it are decoded.
    let text = "<hopsanmodelfile><info><author><![CDATA[A & ]]>B &lt; &#67;</author></info><system/></hopsanmodelfile>";
    assert_eq!(load_text("a.hmf", text).model.unwrap().info.author, "A & B < C");
}

#[test]
fn a_nested_system_has_only_the_ports_that_it_declares() {
    let text = "<hopsanmodelfile hopsancoreversion='2.20.0'><system typename='Subsystem' name='M'><objects>
        <system typename='Subsystem' name='S'><objects><systemport name='inlet'/></objects></system>
        <component typename='SignalSink' name='K'/></objects><connections>
        <connect startcomponent='S' startport='outlet' endcomponent='K' endport='in'/>
        </connections></system></hopsanmodelfile>";
    Run::of_text(text, &[])
        .tells(Code::ImportedEnd, &["system `S` has no port `outlet`", "valid here: `inlet`"]);
}

#[test]
fn a_hundred_thousand_components_are_read_in_no_time() {
    let mut text = String::from(
        "<hopsanmodelfile hopsancoreversion='2.20.0'><system typename='Subsystem' name='M'><objects>",
    );
    for index in 0..100_000 {
        // Every tenth name occurs twice.
        let name = if index % 10 == 9 { index - 1 } else { index };
        text.push_str(&format!(
            "<component typename='SignalGain' name='G {name}'><parameters><parameter name='k' value='{index}'/>\
             <parameter name='in#Value' value='0'/></parameters></component>\n"
        ));
    }
    text.push_str("</objects><connections>");
    for index in 1..99_999 {
        let (a, b) = ((index - 1) / 10 * 10, index / 10 * 10);
        text.push_str(&format!(
            "<connect startcomponent='G {a}' startport='out' endcomponent='G {b}' endport='in'/>\n"
        ));
    }
    text.push_str("</connections></system></hopsanmodelfile>");
    let start = Instant::now();
    let run = Run::of_text(&text, &[]);
    let elapsed = start.elapsed();
    assert_eq!(run.loaded.model.as_ref().unwrap().root.connections.len(), 99_998);
    assert_eq!(run.number("G_99990#k#Value"), 99_990.0);
    eprintln!("100 000 components read and evaluated in {elapsed:?}");
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
}
