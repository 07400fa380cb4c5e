//! Values of parameters: scopes, kinds, scripts, settings from outside.

mod common;

use common::{Run, kinds};
use fluxline_diagnostics::Code;
use fluxline_hmf::{Origin, Override, Value};
use std::time::{Duration, Instant};

const NEW: &str = "2.20.0";
const OLD: &str = "2.8.0";

fn set(name: &str, value: &str) -> Override {
    Override::new(name, value)
}

#[test]
fn a_number_is_what_c_reads_as_one_and_all_else_is_an_expression() {
    for (text, value, is_expression) in [
        ("5", 5.0, false),
        ("2e+007", 2e7, false),
        ("0x10", 16.0, false),
        ("-inf", f64::NEG_INFINITY, false),
        (" 5", 5.0, true),
        ("5 ", 5.0, true),
        ("2*3", 6.0, true),
        ("x=4;x*2", 8.0, true),
        ("pi", std::f64::consts::PI, true),
    ] {
        let run = Run::of_text(&kinds(NEW, &[], &[("d", text)]), &[]);
        let found = run.get("C#d").unwrap_or_else(|| panic!("{text}\n{}", run.shown()));
        assert_eq!(found.value, Value::Number(value), "{text}");
        assert_eq!(found.expression.as_deref(), is_expression.then_some(text));
        assert_eq!(found.origin, Origin::File);
        assert_eq!(run.loaded.sources.slice(found.span.unwrap()), text);
    }
}

#[test]
fn the_nearest_parameter_around_counts_and_only_one_of_type_double() {
    let text = "<hopsanmodelfile hopsancoreversion='2.20.0'><system typename='Subsystem' name='M'>
        <parameters><parameter name='a' value='1' type='double'/><parameter name='b' value='2' type='double'/>
        <parameter name='n' value='3' type='double'/></parameters>
        <objects><system typename='Subsystem' name='S'>
        <parameters><parameter name='a' value='a+10' type='double'/><parameter name='n' value='4' type='integer'/></parameters>
        <objects><component typename='Kinds' name='C'><parameters>
        <parameter name='d' value='a*100+b'/><parameter name='e' value='n'/><parameter name='i' value='-n'/>
        </parameters></component></objects></system></objects></system></hopsanmodelfile>";
    let run = Run::of_text(text, &[]);
    assert!(run.loaded.diagnostics.is_empty(), "{}", run.shown());
    assert_eq!(run.number("S$self#a"), 11.0);
    assert_eq!(run.number("S$C#d"), 1102.0);
    assert_eq!(run.number("S$C#e"), 3.0, "the integer is passed over");
    assert_eq!(run.get("S$C#i").unwrap().value, Value::Integer(-4));
}

#[test]
fn self_means_the_component_also_where_the_file_gives_no_value() {
    let parameters = [("d", "self.e*2"), ("P1#Pressure", "3e5"), ("e", "self.P1.Pressure+self.i")];
    let run = Run::of_text(&kinds(NEW, &[], &parameters), &[]);
    run.tells(Code::UnknownNameInExpression, &["`C#e`", "uses `self.i`"]);
    let parameters = [("d", "self.e*2"), ("P1#Pressure", "self.d+1")];
    let run = Run::of_text(&kinds(NEW, &[], &parameters), &[]);
    assert_eq!((run.number("C#d"), run.number("C#P1#Pressure")), (5.0, 6.0));
    assert!(run.get("C#e").is_none(), "a default is not a value of the file");
    // The short name of an input.
    let text = "<hopsanmodelfile hopsancoreversion='2.20.0'><system typename='Subsystem' name='M'><objects>
        <component typename='SignalGain' name='G'><parameters><parameter name='k' value='self.in+1'/>
        <parameter name='in#Value' value='4'/></parameters></component></objects></system></hopsanmodelfile>";
    assert_eq!(Run::of_text(text, &[]).number("G#k#Value"), 5.0);
}

#[test]
fn in_files_before_2_14_self_may_be_left_out() {
    let system = [
        ("a", "double", "3"),
        ("b", "double", "a*2"),
        ("d", "double", "7"),
        ("c", "double", "b+a"),
    ];
    let component = [("d", "d"), ("e", "d+P1.Pressure+b"), ("P1#Pressure", "1e5")];
    let run = Run::of_text(&kinds(OLD, &system, &component), &[]);
    assert!(run.loaded.diagnostics.is_empty(), "{}", run.shown());
    assert_eq!(run.number("self#c"), 9.0);
    assert_eq!(run.number("C#d"), 7.0, "its own name means the parameter around it");
    assert_eq!(run.number("C#e"), 100_013.0);
    // Later files mean the systems around.
    let run = Run::of_text(&kinds(NEW, &system, &component), &[]);
    run.tells(Code::UnknownNameInExpression, &["`self#b` = \"a*2\" uses `a`", "`self.a`"]);
}

#[test]
fn integers_switches_texts_and_choices_are_literals_or_one_name() {
    let system = [
        ("n", "integer", "5"),
        ("yes", "bool", "true"),
        ("title", "string", "Hello"),
        ("table", "filepath", "a.csv"),
        ("x", "double", "1"),
    ];
    let value = |name: &str, text: &str| {
        let run = Run::of_text(&kinds(NEW, &system, &[(name, text)]), &[]);
        (run.get(&format!("C#{name}")).map(|found| found.value.clone()), run)
    };
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    for (name, given, expected) in [
        ("i", "12", Some(Value::Integer(12))),
        ("i", "n", Some(Value::Integer(5))),
        ("i", "-n", Some(Value::Integer(-5))),
        ("i", "--n", Some(Value::Integer(5))),
        ("i", "2.7", Some(Value::Integer(2))),
        ("i", "12abc", Some(Value::Integer(12))),
        ("i", "n+1", None),
        ("i", "x", None),
        ("i", "99999999999", None),
        ("i", "inf", None),
        ("b", "true", Some(Value::Bool(true))),
        ("b", "0", Some(Value::Bool(false))),
        ("b", "yes", Some(Value::Bool(true))),
        ("b", "True", Some(Value::Bool(true))),
        ("b", "n", None),
        ("b", "2", None),
        ("s", "title", text("Hello")),
        ("s", "title ", text("title ")),
        ("s", "", text("")),
        ("f", "table", text("a.csv")),
        ("f", "b.csv", text("b.csv")),
        ("c", "2", Some(Value::Choice(2))),
        ("c", "3", None),
        ("c", "-1", None),
        ("c", "n", None),
    ] {
        let (found, run) = value(name, given);
        assert_eq!(found, expected, "{name} = {given:?}\n{}", run.shown());
        if expected.is_none() {
            run.tells(Code::BadImportedValue, &[&format!("`C#{name}` is \"{given}\"")]);
        }
    }
    value("i", "2.7").1.tells(Code::OddAttribute, &["read as 2"]);
    value("b", "True").1.tells(Code::OddAttribute, &["read as true"]);
    value("i", "n+1")
        .1
        .tells(Code::BadImportedValue, &["only parameters of type double can have expressions"]);
    value("c", "3").1.tells(Code::BadImportedValue, &["a number from 0 to 2"]);
    assert_eq!(value("s", "title").1.get("C#s").unwrap().expression.as_deref(), Some("title"));
}

#[test]
fn errors_in_expressions_name_the_parameter_the_text_and_the_cause() {
    let tell = |text: &str| {
        Run::of_text(
            &kinds(NEW, &[("supply", "double", "1"), ("n", "integer", "1")], &[("d", text)]),
            &[],
        )
    };
    tell("2*-3").tells(
        Code::BadExpression,
        &["`C#d` = \"2*-3\" cannot be read: two operators in a row", "test.hmf:4:"],
    );
    tell("suply/2")
        .tells(Code::UnknownNameInExpression, &["uses `suply`", "did you mean `supply`?"]);
    tell("n*2").tells(
        Code::UnknownNameInExpression,
        &["it is an integer; an expression can only use those of type double"],
    );
    tell("other.x").tells(Code::UnknownNameInExpression, &["`other.x`"]);
    tell("self.e=3;1")
        .tells(Code::BadExpression, &["`self.e` cannot be assigned in the value of a parameter"]);
    tell("").tells(Code::BadExpression, &["nothing to evaluate"]);
    tell("1,5").tells(Code::OddAttribute, &["decimal comma; read as 1.5"]);
    assert!(tell("1,500").loaded.diagnostics.has_errors(), "it may mean thousands");
    // One mistake is told once, not again by those that depend on it.
    let system = [("a", "double", "1+"), ("b", "double", "self.a"), ("c", "double", "self.b")];
    let run = Run::of_text(&kinds(NEW, &system, &[("d", "c*2")]), &[]);
    assert_eq!(run.codes(), [Code::BadExpression], "{}", run.shown());
    assert!(run.get("C#d").is_none() && run.get("self#c").is_none());
}

#[test]
fn a_circle_is_told_in_its_order() {
    let system = [
        ("a", "double", "self.b+1"),
        ("b", "double", "self.c"),
        ("c", "double", "self.a*2"),
        ("ok", "double", "1"),
    ];
    let run = Run::of_text(&kinds(NEW, &system, &[("d", "self.d"), ("e", "ok")]), &[]);
    run.tells(
        Code::ImportedCircle,
        &["`self#a` → `self#b` → `self#c` → `self#a`", "`C#d` → `C#d`"],
    );
    assert_eq!(run.loaded.diagnostics.errors(), 2, "{}", run.shown());
    assert_eq!(run.number("C#e"), 1.0);
}

#[test]
fn chains_and_doublings_take_no_time_and_no_stack() {
    let chain: Vec<(String, String)> = (0..50_000)
        .map(|index| match index {
            0 => ("a0".to_owned(), "1".to_owned()),
            _ => (format!("a{index}"), format!("self.a{}+self.a{0}-self.a0", index - 1)),
        })
        .rev()
        .collect();
    let system: Vec<(&str, &str, &str)> =
        chain.iter().map(|(name, text)| (name.as_str(), "double", text.as_str())).collect();
    let start = Instant::now();
    let run = Run::of_text(&kinds(NEW, &system, &[]), &[]);
    // aₙ = 2 aₙ₋₁ − 1 stays at 1.
    assert_eq!(run.number("self#a49999"), 1.0);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn parameters_that_a_type_lacks_are_counted_and_told_once() {
    let text = "<hopsanmodelfile hopsancoreversion='2.20.0'><system typename='Subsystem' name='M'><objects>
        <component typename='SignalGain' name='A'><parameters><parameter name='kk' value='2'/></parameters></component>
        <component typename='SignalGain' name='B'><parameters><parameter name='kk' value='2'/><parameter name='k' value='1'/>
        <parameter name='k#Value' value='3'/></parameters></component>
        <component typename='Unheard' name='U'><parameters><parameter name='x' value='2'/><parameter name='y' value='q*2'/></parameters></component>
        </objects></system></hopsanmodelfile>";
    let run = Run::of_text(text, &[]);
    assert_eq!(run.codes(), [Code::IgnoredParameter], "{}", run.shown());
    run.tells(
        Code::IgnoredParameter,
        &["`SignalGain` has no parameter `kk`; it is ignored (2 components)"],
    );
    assert_eq!(run.values.unknown[0].count, 2);
    assert_eq!(run.number("B#k#Value"), 3.0, "of two the later counts");
    // Parameters of an unknown type are passed on.
    assert_eq!(run.number("U#x"), 2.0);
    assert_eq!(run.get("U#y").unwrap().value, Value::Text("q*2".into()));
}

#[test]
fn start_values_of_the_ports_of_a_system_are_kept_apart() {
    let text = "<hopsanmodelfile hopsancoreversion='2.20.0'><system typename='Subsystem' name='M'>
        <parameters><parameter name='p0' value='2e5' type='double'/></parameters>
        <objects><system typename='Subsystem' name='S'><parameters>
        <parameter name='P1#Pressure' value='p0*2' type='double'/><parameter name='P9#Pressure' value='1' type='double'/></parameters>
        <objects><systemport name='P1'/></objects></system></objects></system></hopsanmodelfile>";
    let run = Run::of_text(text, &[]);
    assert_eq!(run.number("S$self#P1#Pressure"), 4e5);
    run.tells(Code::IgnoredParameter, &["`P9#Pressure` is no start value of a port"]);
}

#[test]
fn scripts_run_from_the_outside_in_and_set_parameters() {
    let run = Run::of_file("script.hmf", &[]);
    assert!(run.loaded.diagnostics.is_empty(), "{}", run.shown());
    let area = std::f64::consts::FRAC_PI_4 * 0.1_f64.powf(2.0);
    assert_eq!(run.number("self#area"), area);
    assert_eq!(run.number("G#k#Value"), 2.0 * area);
    assert_eq!(run.number("G#in#Value"), 2.0 * area + 1.0);
    assert_eq!(run.number("Inner$H#k#Value"), 8.0);
    assert_eq!(run.get("G#k#Value").unwrap().origin, Origin::Script);
    assert_eq!(run.get("self#double_area").unwrap().origin, Origin::File);
}

#[test]
fn mistakes_in_scripts_are_told_with_their_line() {
    let script = |script: &str, version: &str| {
        let text = format!(
            "<hopsanmodelfile hopsancoreversion='{version}'><system typename='Subsystem' name='M'>
             <parameters><parameter name='a' value='1' type='double'/></parameters>
             <numhopscript>{script}</numhopscript>
             <objects><component typename='Kinds' name='C'/></objects></system></hopsanmodelfile>"
        );
        Run::of_text(&text, &[])
    };
    script("x = 1\ny = 2*-x", NEW).tells(
        Code::BadExpression,
        &["line 2 of the script of the model", "the line is: y = 2*-x"],
    );
    script("C.d = self.b", NEW)
        .tells(Code::UnknownNameInExpression, &["line 1", "`self.b`", "`self.a`"]);
    script("C.dd = 1", NEW).tells(Code::UnknownNameInExpression, &["`C.dd`"]);
    script("K.d = 1", NEW).tells(Code::UnknownNameInExpression, &["`K.d`"]);
    script("self.new = 1", NEW).tells(Code::UnknownNameInExpression, &["`self.new`"]);
    script("C.d = a", NEW).tells(Code::UnknownNameInExpression, &["`a`", "`self.a`"]);
    assert!(script("# only a comment\n", NEW).loaded.diagnostics.is_empty());
    // A good statement after a bad one still counts.
    assert_eq!(script("C.e = q\nC.d = 5", NEW).number("C#d"), 5.0);
    // Before 2.14 a plain name is the system's own.
    let run = script("a = 4\nC.d = a + 1", OLD);
    assert_eq!((run.number("self#a"), run.number("C#d")), (4.0, 5.0));
    let run = script("a = 4\nC.d = a + 1", NEW);
    assert_eq!((run.number("self#a"), run.number("C#d")), (1.0, 5.0), "a variable of the script");
}

#[test]
fn settings_from_outside_come_before_scripts_and_may_be_expressions() {
    let overrides =
        [set("self#bore", "0.2"), set("Inner$H#in", "bore*3"), set("Script$Inner$self#x", "1")];
    let run = Run::of_file("script.hmf", &overrides);
    let area = std::f64::consts::FRAC_PI_4 * 0.2_f64.powf(2.0);
    assert_eq!(run.number("self#area"), area);
    assert!((run.number("Inner$H#in#Value") - 0.6).abs() < 1e-15);
    assert_eq!(run.get("Inner$H#in#Value").unwrap().origin, Origin::Override);
    run.tells(
        Code::IgnoredParameter,
        &["`Inner$self#x` was set from outside, but a script of the model sets it again"],
    );
    assert_eq!(run.number("Inner$self#x"), 7.0);
}

#[test]
fn unknown_settings_are_refused_with_the_nearest_names() {
    for (name, parts) in [
        ("C#dd", ["there is no parameter `dd`", "`d`"]),
        ("D#d", ["there is no component `D`", "`C`"]),
        ("self#suply", ["no parameter `suply`", "did you mean `supply`?"]),
        ("C$X#d", ["a component has nothing named `X`", "F1309"]),
        ("C", ["there is no `#`", "F1309"]),
        ("C#", ["there is no `#`", "F1309"]),
    ] {
        let text = kinds(NEW, &[("supply", "double", "1")], &[("d", "1")]);
        Run::of_text(&text, &[set(name, "1")]).tells(Code::UnknownImportedName, &parts);
    }
    // One that the file does not give but the type has.
    let run = Run::of_text(&kinds(NEW, &[], &[]), &[set("C#P1#Pressure", "7"), set("M$C#i", "3")]);
    assert_eq!(run.number("C#P1#Pressure"), 7.0);
    assert_eq!(run.get("C#i").unwrap().value, Value::Integer(3));
    assert!(run.loaded.diagnostics.is_empty());
}

#[test]
fn a_setting_is_name_equals_value() {
    let setting = Override::parse(" Sub$C#P1#Pressure = 2*x ").unwrap();
    assert_eq!((setting.name.as_str(), setting.value.as_str()), ("Sub$C#P1#Pressure", "2*x"));
    for text in ["C#d", "C#d=", "supply=3", "=3", ""] {
        let error = Override::parse(text).unwrap_err();
        assert_eq!(error.code(), Code::BadImportedSetting, "{text}");
        assert!(!error.helps().is_empty());
    }
}
