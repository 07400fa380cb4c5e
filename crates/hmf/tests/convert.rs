//! From a model to a circuit file: what is written, and that it does what the model does.
//!
//! Behaviour is looked at by running the circuit file step by step; the numbers are worked out by
//! hand from the rules of the program of origin.

mod common;

use common::file;
use fluxline_core::circuit::Registry;
use fluxline_core::plan::Plan;
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{self, Ended};
use fluxline_core::state::State;
use fluxline_diagnostics::{Code, Diagnostics, SourceMap};
use fluxline_hmf::convert::{Converted, RegistryTypes, convert};
use fluxline_hmf::{Override, evaluate, load_bytes};

// ---- Models in short ------------------------------------------------------------------------

/// Elements `<parameter …/>` from names and values.
fn parameters(all: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| {
        format!("<parameter name=\"{name}\" value=\"{value}\" type=\"double\"/>")
    };
    format!("<parameters>{}</parameters>", all.iter().map(one).collect::<String>())
}

fn part(typename: &str, name: &str, values: &[(&str, &str)]) -> String {
    format!("<component typename=\"{typename}\" name=\"{name}\">{}</component>", parameters(values))
}

fn port(name: &str) -> String {
    format!("<systemport name=\"{name}\"/>")
}

/// What is in a system: objects, and connections such as `Gain.out > Sum.in`; `port > Gain.in`
/// leads to a port of the system itself.
fn content(objects: &[String], connections: &[&str]) -> String {
    let end = |text: &str| match text.trim().split_once('.') {
        Some((component, port)) => (component.to_owned(), port.to_owned()),
        None => (text.trim().to_owned(), text.trim().to_owned()),
    };
    let one = |text: &&str| {
        let (start, finish) = text.split_once('>').unwrap();
        let ((a, p), (b, q)) = (end(start), end(finish));
        format!(
            "<connect startcomponent=\"{a}\" startport=\"{p}\" endcomponent=\"{b}\" endport=\"{q}\"/>\n"
        )
    };
    format!(
        "<objects>{}</objects>\n<connections>{}</connections>",
        objects.concat(),
        connections.iter().map(one).collect::<String>()
    )
}

/// A nested system; `head` is what stands before its objects.
fn nested(typename: &str, name: &str, head: &str, inside: &str) -> String {
    format!("<system typename=\"{typename}\" name=\"{name}\">{head}{inside}</system>")
}

/// A model with a step of 1 ms.
fn model(objects: &[String], connections: &[&str]) -> String {
    model_with("<simulationtime start='0' stop='1' timestep='0.001'/>", objects, connections)
}

fn model_with(head: &str, objects: &[String], connections: &[&str]) -> String {
    format!(
        "<hopsanmodelfile hmfversion=\"0.4\" hopsancoreversion=\"2.20.0\">{}</hopsanmodelfile>",
        nested("Subsystem", "Model", head, &content(objects, connections))
    )
}

// ---- On the way to a run --------------------------------------------------------------------

struct Trial {
    text: String,
    kept: Vec<String>,
    problems: Diagnostics,
    sources: SourceMap,
    registry: Registry,
}

/// Converts a model; files that it names are those of the tests.
fn converted(model: &str) -> Trial {
    converted_with(model, &[])
}

fn converted_with(model: &str, settings: &[&str]) -> Trial {
    let registry = Registry::new(fluxline_hopsan::types());
    let mut loaded = load_bytes("model.hmf", model.as_bytes().to_vec(), &file(""));
    let settings: Vec<Override> =
        settings.iter().map(|text| Override::parse(text).unwrap()).collect();
    let Converted { text, data, kept } = {
        let problems = &mut loaded.diagnostics;
        let model = loaded.model.as_ref().unwrap();
        let values = evaluate(model, &RegistryTypes(&registry), &settings, problems);
        convert(model, &values, &registry, &loaded.sources, problems)
    };
    let (problems, sources) = (loaded.diagnostics, loaded.sources);
    Trial { text: text + &data, kept, problems, sources, registry }
}

impl Trial {
    fn shown(&self) -> String {
        self.problems.render(&self.sources, false, 100)
    }

    fn codes(&self) -> Vec<Code> {
        common::codes(&self.problems)
    }

    /// Whether all these lines stand in the file, in this order.
    #[track_caller]
    fn says(&self, lines: &[&str]) {
        let mut all = self.text.lines();
        for wanted in lines {
            assert!(
                all.any(|line| line == *wanted),
                "no `{wanted}` in, or not there:\n{}",
                self.text
            );
        }
    }

    #[track_caller]
    fn plan(&self) -> Plan {
        assert!(!self.problems.has_errors(), "{}", self.shown());
        let read = fluxline_formats::load_text("c.toml", &self.text, file(""), &self.registry, &[]);
        let circuit = read.circuit.unwrap_or_else(|| {
            panic!("{}\n{}", read.diagnostics.render(&read.sources, false, 100), self.text)
        });
        let planned = Plan::of(&circuit, &self.registry);
        planned.plan.unwrap_or_else(|| {
            panic!("{}\n{}", planned.problems.render(&read.sources, false, 100), self.text)
        })
    }
}

/// A run that can be looked at after any step.
struct Walk<'p> {
    plan: &'p Plan,
    state: State<f64>,
}

impl<'p> Walk<'p> {
    fn of(plan: &'p Plan) -> Self {
        Self { plan, state: plan.initial.clone() }
    }

    /// Goes on to the end of a step.
    #[track_caller]
    fn to(&mut self, step: u64) -> &mut Self {
        let mut recorder = Recorder::new(Vec::new(), Sampling::Every(u64::MAX), 0);
        let outcome = run::run(self.plan, &mut self.state, step, &mut recorder, false, |_| true);
        assert_eq!(outcome.ended, Ended::Done);
        self
    }

    #[track_caller]
    fn value(&self, name: &str) -> f64 {
        let variable = self.plan.variables.find(name);
        variable.unwrap_or_else(|| panic!("no variable {name}")).slot.read(&self.state)
    }
}

/// The value of a variable after some steps.
#[track_caller]
fn after(model: &str, steps: u64, variable: &str) -> f64 {
    let plan = converted(model).plan();
    let mut walk = Walk::of(&plan);
    walk.to(steps).value(variable)
}

// ---- What is written ------------------------------------------------------------------------

#[test]
fn names_of_components_types_ports_and_parameters_are_kept() {
    let trial = converted(&model(
        &[part("SignalConstant", "Five", &[("y", "5")]), part("SignalGain", "_2nd", &[("k", "3")])],
        &["Five.y > _2nd.in"],
    ));
    trial.says(&[
        "title = \"model\"",
        "convention = \"hopsan\"",
        "stop = \"1 s\"",
        "step = \"1 ms\"",
        "[components.Five]",
        "type = \"hopsan.SignalConstant\"",
        "start_values = { y = 5 }",
        "[components._2nd]",
        "type = \"hopsan.SignalGain\"",
        "k = 3",
        "[[connect]]",
        "from = \"Five.y\"",
        "to = \"_2nd.in\"",
    ]);
    let plan = trial.plan();
    assert_eq!(Walk::of(&plan).to(1).value("_2nd#out#Value"), 15.0);
}

#[test]
fn a_name_may_begin_with_a_digit() {
    let trial = converted(&model(&[part("SignalConstant", "4way", &[("y", "2")])], &[]));
    trial.says(&["[components.4way]"]);
    assert_eq!(Walk::of(&trial.plan()).value("4way#y#Value"), 2.0);
}

#[test]
fn values_stand_in_units_of_the_trade_and_read_back_as_the_same_bits() {
    let (area, pressure): (f64, f64) = (1e-5 / 3.0, 0.1 + 0.2);
    let trial = converted(&model(
        &[
            part("HydraulicPressureSourceC", "Source", &[("p", "1.5e7")]),
            part("HydraulicTurbulentOrifice", "Round", &[("A", "2.5e-5")]),
            part("HydraulicTankC", "Tank", &[]),
            part("HydraulicPressureSourceC", "Tiny", &[("p", &format!("{pressure:?}"))]),
            part("HydraulicTurbulentOrifice", "Odd", &[("A", &format!("{area:?}"))]),
            part("HydraulicTankC", "Other", &[]),
        ],
        &["Source.P1 > Round.P1", "Round.P2 > Tank.P1", "Tiny.P1 > Odd.P1", "Odd.P2 > Other.P1"],
    ));
    trial.says(&["p = \"150 bar\"", "A = \"25 mm^2\""]);
    let plan = trial.plan();
    let walk = Walk::of(&plan);
    assert_eq!(walk.value("Odd#A#Value").to_bits(), area.to_bits());
    assert_eq!(walk.value("Tiny#p#Value").to_bits(), pressure.to_bits());
}

#[test]
fn default_values_are_left_out() {
    let trial = converted(&model(
        &[
            part("HydraulicPressureSourceC", "Source", &[("p", "100000")]),
            part("HydraulicTurbulentOrifice", "Orifice", &[("A", "1e-05"), ("C_q#Value", "0.67")]),
            part("HydraulicTankC", "Tank", &[("P1#Flow", "0"), ("P1#Temperature", "293")]),
        ],
        &["Source.P1 > Orifice.P1", "Orifice.P2 > Tank.P1"],
    ));
    assert_eq!(trial.codes(), [], "{}", trial.shown());
    for absent in ["\np = ", "\nA = ", "C_q", "start_values", "\nstart = "] {
        assert!(!trial.text.contains(absent), "{absent} in:\n{}", trial.text);
    }
}

#[test]
fn an_expression_is_a_comment_behind_its_value() {
    let head = parameters(&[("stiffness", "2e5"), ("twice", "2*self.stiffness")]);
    let trial = converted(&model_with(
        &head,
        &[
            part("SignalGain", "A", &[("k", "twice/1000")]),
            part("SignalGain", "B", &[("k", "3-1")]),
        ],
        &[],
    ));
    trial.says(&["k = 400  # twice/1000", "k = 2  # 3-1"]);
    assert!(!trial.text.contains("[parameters]"), "{}", trial.text);
}

#[test]
fn a_plain_reference_keeps_the_parameter_of_the_system() {
    let head = "<parameters>\
        <parameter name='supply' value='2*80e5' type='double' description='supply pressure'/>\
        <parameter name='k' value='4' type='double'/>\
        <parameter name='mixed' value='0.001' type='double'/>\
        <parameter name='unused' value='7' type='double'/></parameters>";
    let trial = converted(&model_with(
        head,
        &[
            part("HydraulicPressureSourceC", "Source", &[("p", "supply")]),
            part("HydraulicTurbulentOrifice", "Orifice", &[("A", "mixed")]),
            part("HydraulicTankC", "Tank", &[]),
            part("SignalGain", "Gain", &[("k", " k ")]),
            part("SignalStep", "Step", &[("t_step", "mixed")]),
        ],
        &["Source.P1 > Orifice.P1", "Orifice.P2 > Tank.P1"],
    ));
    trial.says(&[
        "[parameters]",
        "supply = \"160 bar\"  # supply pressure: 2*80e5",
        "k = 4",
        "p = \"supply\"",
        // An area and a time cannot share a parameter with a unit.
        "A = \"1000 mm^2\"  # mixed",
        "k = \"k\"",
        "t_step = \"1 ms\"  # mixed",
    ]);
    assert!(!trial.text.contains("unused") && !trial.text.contains("mixed = "), "{}", trial.text);
    let plan = trial.plan();
    assert_eq!(Walk::of(&plan).value("Source#p#Value"), 1.6e7);
}

#[test]
fn settings_from_outside_change_what_is_written() {
    let head = parameters(&[("k", "4")]);
    let text = model_with(&head, &[part("SignalGain", "Gain", &[("k", "k"), ("in", "1")])], &[]);
    converted(&text).says(&["k = 4", "in = 1"]);
    converted_with(&text, &["self#k=6"]).says(&["[parameters]", "k = 6", "k = \"k\""]);
    converted_with(&text, &["Gain#k#Value=0.5"]).says(&["k = 0.5"]);
}

#[test]
fn what_has_no_counterpart_is_kept_as_data() {
    let objects = content(
        &[
            part("SignalGain", "Gain", &[]),
            "<textboxwidget><textobject text=\"Say &quot;when&quot;\"/></textboxwidget>".to_owned(),
            "<textboxwidget><textobject text=\"Again\"/></textboxwidget>".to_owned(),
        ],
        &[],
    );
    let head = "<aliases><alias type='variable' name='boom'><fullname>Gain#out#Value</fullname>\
        </alias></aliases><hopsangui><plots><plot name='Pressure'/></plots></hopsangui>";
    let trial = converted(&format!(
        "<hopsanmodelfile hmfversion='0.4' hopsancoreversion='2.20.0'><info><author>A. Engineer\
         </author><description>Two gains</description></info>{}</hopsanmodelfile>",
        nested("Subsystem", "Model", head, &objects)
    ));
    trial.says(&[
        "description = \"Two gains\"",
        "[data.hopsan]",
        "format = \"0.4\"",
        "core = \"2.20.0\"",
        "author = \"A. Engineer\"",
        "[[data.hopsan.alias]]",
        "name = \"boom\"",
        "variable = \"Gain#out#Value\"",
        "[[data.hopsan.element]]",
        "element = \"hopsangui/plots\"",
    ]);
    assert!(trial.text.contains(r#"text=\"Say &quot;when&quot;\""#), "{}", trial.text);
    assert_eq!(trial.kept, ["1 × hopsangui/plots", "2 × objects/textboxwidget"]);
    trial.plan();
}

#[test]
fn what_a_scope_shows_becomes_a_plot() {
    let objects = [
        part("SignalSineWave", "Wave", &[]),
        part("SignalGain", "Gain", &[("k", "2")]),
        part("SignalSink", "Scope", &[]),
    ];
    let connections = ["Wave.out > Gain.in", "Scope.in > Gain.out", "Wave.out > Scope.in"];
    let text = converted(&model(&objects, &connections)).text;
    let plot =
        "[[plot]]\ntitle = \"Scope\"\nvariables = [\"Wave#out#Value\", \"Gain#out#Value\"]\n";
    assert!(text.contains(plot), "{text}");
}

#[test]
fn the_place_in_a_drawing_is_kept() {
    let pose = "<hopsangui><pose x='12.5' y='-3' a='90' flipped='true'/></hopsangui>";
    let gain = format!("<component typename='SignalGain' name='Gain'>{pose}</component>");
    let trial = converted(&model(&[gain], &[]));
    trial.says(&["drawing = { x = 12.5, y = -3, angle = 90, flipped = true }"]);
    trial.plan();
}

#[test]
fn what_is_recorded_is_kept() {
    let head = "<simulationtime start='0.5' stop='3' timestep='1e-4'/>\
        <simulationlogsettings numsamples='100' starttime='1'/>";
    let trial = converted(&model_with(head, &[part("SignalTime", "Clock", &[])], &[]));
    trial.says(&[
        "[run]",
        "start = \"500 ms\"",
        "stop = \"3 s\"",
        "step = \"0.1 ms\"",
        "[record]",
        "samples = 100",
        "start = \"1 s\"",
    ]);
    // The clock begins at the start.
    let plan = trial.plan();
    assert_eq!(Walk::of(&plan).to(1).value("Clock#out#Value"), 0.5 + 1e-4);
}

// ---- Types that are not there ---------------------------------------------------------------

#[test]
fn all_types_that_are_not_there_are_told_at_once_with_counts() {
    let trial = converted(&model(
        &[
            part("SignalConstant", "One", &[]),
            part("Crane", "Left", &[]),
            part("Crane", "Right", &[]),
            part("TeaKettle", "Kettle", &[]),
        ],
        &["One.y > Left.in", "One.y > Right.in", "One.y > Kettle.in"],
    ));
    assert_eq!(trial.codes(), [Code::UnsupportedImport; 2], "{}", trial.shown());
    let shown = trial.shown();
    for part in [
        "2 components are of the type `Crane`",
        "`Left` is the first",
        "1 component is of the type `TeaKettle`",
    ] {
        assert!(shown.contains(part), "no {part} in:\n{shown}");
    }
}

#[test]
fn an_unknown_type_that_nothing_is_connected_to_is_left_out_with_a_warning() {
    let trial = converted(&model(
        &[part("SignalConstant", "One", &[]), part("Crane", "Left", &[("reach", "3")])],
        &[],
    ));
    assert_eq!(trial.codes(), [Code::IgnoredPart], "{}", trial.shown());
    assert!(trial.shown().contains("`Left` is left out"), "{}", trial.shown());
    trial.says(&["[[data.hopsan.component]]", "name = \"Left\"", "type = \"Crane\""]);
    assert_eq!(trial.kept, ["`Left` (Crane)"]);
    trial.plan();
}

#[test]
fn a_port_that_a_type_lacks_is_an_error_with_the_nearest() {
    let trial = converted(&model(
        &[part("SignalConstant", "One", &[]), part("SignalGain", "Gain", &[])],
        &["One.y > Gain.inn"],
    ));
    assert_eq!(trial.codes(), [Code::UnknownPort]);
    assert!(trial.shown().contains("did you mean `in`?"), "{}", trial.shown());
}

// ---- Start values ---------------------------------------------------------------------------

#[test]
fn the_start_values_of_the_side_that_stores_win() {
    let trial = converted(&model(
        &[
            part("HydraulicVolume", "Volume", &[("P1#Pressure", "2e6"), ("P2#Pressure", "2e6")]),
            part(
                "HydraulicLaminarOrifice",
                "Left",
                &[("P1#Pressure", "7e6"), ("P2#Pressure", "7e6")],
            ),
            part("HydraulicLaminarOrifice", "Right", &[]),
            part("HydraulicTankC", "Tank", &[]),
            part("HydraulicTankC", "Other", &[]),
        ],
        &[
            "Tank.P1 > Left.P1",
            "Left.P2 > Volume.P1",
            "Volume.P2 > Right.P1",
            "Right.P2 > Other.P1",
        ],
    ));
    trial.says(&[
        "start_values = { P1 = { Pressure = \"20 bar\" }, P2 = { Pressure = \"20 bar\" } }",
    ]);
    let plan = trial.plan();
    let walk = Walk::of(&plan);
    for port in ["Volume#P1", "Left#P2", "Volume#P2", "Right#P1"] {
        assert_eq!(walk.value(&format!("{port}#Pressure")), 2e6, "{port}");
    }
    assert_eq!(walk.value("Left#P1#Pressure"), 1e5);
}

#[test]
fn at_the_border_of_a_system_that_stores_the_start_values_are_those_of_the_system() {
    let spring = |force: &str| {
        part("MechanicTranslationalSpring", "Spring", &[("P1#Force", force), ("P2#Force", force)])
    };
    let inside = |head: &str| {
        let objects = [port("left"), port("right"), spring("5")];
        let connections = ["left > Spring.P1", "right > Spring.P2"];
        nested("Subsystem", "Store", head, &content(&objects, &connections))
    };
    let whole = |head: &str| {
        let walls = ["A", "B"].map(|name| part("MechanicFixedPosition", name, &[]));
        model(&[inside(head), walls.concat()], &["A.Pm1 > Store.left", "B.Pm1 > Store.right"])
    };
    // By default a system's ports start without force, whatever the spring says.
    assert_eq!(after(&whole(""), 1, "Store$Spring#P1#Force"), 0.0);
    let given = parameters(&[("left#Force", "7"), ("right#Force", "7")]);
    assert_eq!(after(&whole(&given), 1, "Store$Spring#P1#Force"), 7.0);
}

#[test]
fn an_output_starts_at_its_start_value() {
    let text = model(
        &[
            part("SignalConstant", "Rate", &[("y", "2")]),
            part("SignalIntegrator2", "Sum", &[("out#Value", "5")]),
        ],
        &["Rate.y > Sum.in"],
    );
    converted(&text).says(&["start_values = { out = 5 }"]);
    let plan = converted(&text).plan();
    let mut walk = Walk::of(&plan);
    assert_eq!(walk.value("Sum#out#Value"), 5.0);
    // From one step to the next it gains the rate times the step.
    let first = walk.to(1).value("Sum#out#Value");
    let last = walk.to(101).value("Sum#out#Value");
    assert!((last - first - 100.0 * 2.0 * 1e-3).abs() < 1e-12, "{first} {last}");
}

#[test]
fn a_disabled_component_keeps_its_start_values() {
    let off = |text: String| text.replacen("<component", "<component disabled='true'", 1);
    let trial = converted(&model(
        &[
            part("SignalConstant", "Rate", &[("y", "2")]),
            off(part("SignalIntegrator2", "Sum", &[("out#Value", "5")])),
            part("SignalGain", "Gain", &[("k", "10")]),
        ],
        &["Rate.y > Sum.in", "Sum.out > Gain.in"],
    ));
    trial.says(&["[components.Sum]", "type = \"hopsan.SignalIntegrator2\"", "disabled = true"]);
    let plan = trial.plan();
    let mut walk = Walk::of(&plan);
    walk.to(100);
    assert_eq!((walk.value("Sum#out#Value"), walk.value("Gain#out#Value")), (5.0, 50.0));
}

// ---- Systems within systems -----------------------------------------------------------------

/// y = 2u + 3u.
fn five_fold(head: &str) -> String {
    let inside = content(
        &[
            port("u"),
            port("y"),
            part("SignalGain", "Two", &[("k", "2")]),
            part("SignalGain", "Three", &[("k", "3")]),
            part("SignalAdd", "Sum", &[]),
        ],
        &["u > Two.in", "u > Three.in", "Two.out > Sum.in1", "Three.out > Sum.in2", "Sum.out > y"],
    );
    nested("Subsystem", "Five", head, &inside)
}

#[test]
fn a_nested_system_is_a_sub_circuit_and_its_port_drives_two_inputs() {
    let trial = converted(&model(
        &[
            part("SignalConstant", "Source", &[("y", "7")]),
            five_fold(""),
            part("SignalGain", "After", &[("k", "10")]),
        ],
        &["Source.y > Five.u", "Five.y > After.in"],
    ));
    trial.says(&[
        "[components.Five]",
        "use = \"Five\"",
        "from = \"Source.y\"",
        "to = [\"Five.u\", \"Five.u_2\"]",
        "from = \"Five.y\"",
        "to = \"After.in\"",
        "[subcircuits.Five.components.Two]",
        "[[subcircuits.Five.connect]]",
        "from = \"Two.out\"",
        "to = \"Sum.in1\"",
        "[subcircuits.Five.ports]",
        "u = \"Two.in\"",
        "u_2 = \"Three.in\"",
        "y = \"Sum.out\"",
    ]);
    let plan = trial.plan();
    let mut walk = Walk::of(&plan);
    walk.to(1);
    assert_eq!(walk.value("After#out#Value"), 350.0);
    assert_eq!(walk.value("Five$Sum#out#Value"), 35.0);
    // The port of the system is a name for what is behind it.
    assert_eq!(walk.value("Five#y#Value"), 35.0);
}

#[test]
fn systems_nest_and_use_the_parameters_around_them() {
    let gain = content(
        &[port("u"), port("y"), part("SignalGain", "Gain", &[("k", "factor")])],
        &["u > Gain.in", "Gain.out > y"],
    );
    let inner = nested("Subsystem", "Inner", "", &gain);
    let middle = content(&[port("u"), port("y"), inner], &["u > Inner.u", "Inner.y > y"]);
    let text = model_with(
        &parameters(&[("factor", "6")]),
        &[
            part("SignalConstant", "Source", &[("y", "7")]),
            nested("Subsystem", "Middle", "", &middle),
        ],
        &["Source.y > Middle.u"],
    );
    let trial = converted(&text);
    trial.says(&[
        "[subcircuits.Middle.components.Inner]",
        "[subcircuits.Middle.subcircuits.Inner.components.Gain]",
        "k = 6  # factor",
    ]);
    assert_eq!(after(&text, 1, "Middle$Inner$Gain#out#Value"), 42.0);
}

#[test]
fn a_power_port_of_a_system_joins_a_sensor_inside_with_what_is_outside() {
    let inside = content(
        &[
            port("A"),
            part("HydraulicLaminarOrifice", "Leak", &[("Kc", "1e-11")]),
            part("HydraulicTankC", "Tank", &[]),
            part("HydraulicPressureSensor", "Gauge", &[]),
        ],
        &["A > Leak.P1", "Gauge.P1 > A", "Leak.P2 > Tank.P1"],
    );
    let text = model(
        &[
            part("HydraulicPressureSourceC", "Source", &[("p", "20e5")]),
            nested("Subsystem", "Drain", "", &inside),
            part("HydraulicPressureSensor", "Outside", &[]),
        ],
        &["Source.P1 > Drain.A", "Outside.P1 > Drain.A"],
    );
    let trial = converted(&text);
    trial.says(&["[subcircuits.Drain.ports]", "A = \"Leak.P1\""]);
    let plan = trial.plan();
    let mut walk = Walk::of(&plan);
    walk.to(3);
    // q = K_c·(20 bar − 1 bar), into the tank.
    assert!((walk.value("Drain$Leak#P2#Flow") / 1.9e-5 - 1.0).abs() < 1e-12);
    assert_eq!(walk.value("Drain$Gauge#out#Value"), 20e5);
    assert_eq!(walk.value("Outside#out#Value"), 20e5);
    assert_eq!(walk.value("Drain#A#Pressure"), 20e5);
}

/// Counts its steps: n = n₋₁ + 1.
fn counter(typename: &str, head: &str) -> String {
    let inside = content(
        &[
            part("SignalConstant", "One", &[]),
            part("SignalAdd", "Count", &[]),
            part("SignalUnitDelay", "Last", &[]),
            port("n"),
        ],
        &["One.y > Count.in1", "Last.out > Count.in2", "Count.out > Last.in", "Count.out > n"],
    );
    nested(typename, "Counter", head, &inside)
}

#[test]
fn a_conditional_system_runs_only_while_it_is_on() {
    let text = model(
        &[
            part("SignalPulse", "Switch", &[("t_start", "0.0208"), ("t_end", "0.0508")]),
            counter("ConditionalSubsystem", ""),
            part("SignalGain", "After", &[]),
        ],
        &["Switch.out > Counter.on", "Counter.n > After.in"],
    );
    let trial = converted(&text);
    trial.says(&["[components.Counter]", "use = \"Counter\"", "active = \"Switch.out\""]);
    let plan = trial.plan();
    let mut walk = Walk::of(&plan);
    let begun = walk.value("After#out#Value");
    assert_eq!(walk.to(20).value("After#out#Value"), begun);
    let first = walk.to(21).value("After#out#Value");
    // Steps 21 to 50 lie between 20.8 ms and 50.8 ms.
    assert_eq!(walk.to(50).value("After#out#Value"), first + 29.0);
    assert_eq!(walk.to(200).value("After#out#Value"), first + 29.0);
}

#[test]
fn a_conditional_system_that_nothing_switches_stands_still_or_runs_for_ever() {
    let off = model(&[counter("ConditionalSubsystem", "")], &[]);
    converted(&off).says(&["use = \"Counter\"", "disabled = true"]);
    let count = |steps: u64| after(&off, steps, "Counter$Count#out#Value");
    assert_eq!(count(100), count(0));
    let head = "<parameters><parameter name='on#Value' value='1' type='double'/></parameters>";
    let on = model(&[counter("ConditionalSubsystem", head)], &[]);
    let trial = converted(&on);
    assert!(!trial.text.contains("disabled") && !trial.text.contains("active"), "{}", trial.text);
    let plan = trial.plan();
    let mut walk = Walk::of(&plan);
    let first = walk.to(1).value("Counter$Count#out#Value");
    assert_eq!(walk.to(100).value("Counter$Count#out#Value"), first + 99.0);
}

#[test]
fn a_system_with_a_smaller_step_takes_several_in_one() {
    let head = "<simulationtime timestep='0.00025' inherit_timestep='false'/>";
    let text = model(&[counter("Subsystem", head)], &[]);
    let trial = converted(&text);
    trial.says(&["use = \"Counter\"", "step = \"0.25 ms\""]);
    let plan = trial.plan();
    let mut walk = Walk::of(&plan);
    let first = walk.to(1).value("Counter$Count#out#Value");
    assert_eq!(walk.to(11).value("Counter$Count#out#Value"), first + 40.0);
    // One that inherits has no step of its own, whatever the file says.
    let inherited = head.replace("false", "true");
    let text = converted(&model(&[counter("Subsystem", &inherited)], &[])).text;
    assert!(!text.contains("0.25 ms"), "{text}");
}

#[test]
fn the_step_that_counts_is_that_of_the_system_around_not_what_its_file_says() {
    // The system in the middle inherits 1 ms, whatever its own attribute; the one inside does not.
    let inner =
        counter("Subsystem", "<simulationtime timestep='0.0005' inherit_timestep='false'/>");
    let head = "<simulationtime timestep='0.0005' inherit_timestep='true'/>";
    let text = model(&[nested("Subsystem", "Middle", head, &content(&[inner], &[]))], &[]);
    converted(&text).says(&["[subcircuits.Middle.components.Counter]", "step = \"0.5 ms\""]);
    let count = |steps: u64| after(&text, steps, "Middle$Counter$Count#out#Value");
    assert_eq!(count(11), count(1) + 20.0);
}

#[test]
fn a_step_that_does_not_divide_that_of_the_model_is_taken_smaller_with_a_warning() {
    for (own, in_one) in [("0.0004", 3.0), ("0.003", 1.0), ("0.0007", 2.0)] {
        let head = format!("<simulationtime timestep='{own}' inherit_timestep='false'/>");
        let trial = converted(&model(&[counter("Subsystem", &head)], &[]));
        assert_eq!(trial.codes(), [Code::OddAttribute], "{}", trial.shown());
        assert!(trial.shown().contains(own), "{}", trial.shown());
        let plan = trial.plan();
        let mut walk = Walk::of(&plan);
        let first = walk.to(1).value("Counter$Count#out#Value");
        assert_eq!(walk.to(11).value("Counter$Count#out#Value"), first + 10.0 * in_one, "{own}");
    }
}

#[test]
fn a_disabled_system_stands_still() {
    let off = counter("Subsystem", "").replacen("<system", "<system disabled='true'", 1);
    let text = model(&[off], &[]);
    converted(&text).says(&["use = \"Counter\"", "disabled = true"]);
    let count = |steps: u64| after(&text, steps, "Counter$Count#out#Value");
    assert_eq!(count(100), count(0));
}

#[test]
fn a_system_from_another_file_becomes_a_sub_circuit_with_its_files() {
    let outer = "<system typename='Subsystem' name='Twice' external_path='parts/doubler.hmf'>\
        <parameters><parameter name='factor' value='3' type='double'/></parameters></system>";
    let text = model(
        &[part("SignalConstant", "Source", &[("y", "0.5")]), outer.to_owned()],
        &["Source.y > Twice.u"],
    );
    let trial = converted(&text);
    trial.says(&["[components.Twice]", "use = \"Twice\"", "factor = 3", "k = \"factor\""]);
    let plan = trial.plan();
    let mut walk = Walk::of(&plan);
    walk.to(1);
    assert_eq!(walk.value("Twice$Gain#out#Value"), 1.5);
    // Its table stands beside it: 20 at 1, 0 at 3.
    assert_eq!(walk.value("Twice$Curve#out#Value"), 15.0);
}

// ---- Ports that take many -------------------------------------------------------------------

#[test]
fn a_volume_takes_three_connections() {
    let source = |name: &str, p: &str| part("HydraulicPressureSourceC", name, &[("p", p)]);
    let orifice = |name: &str| part("HydraulicLaminarOrifice", name, &[("Kc", "1e-9")]);
    let text = model_with(
        "<simulationtime start='0' stop='1' timestep='1e-4'/>",
        &[
            source("A", "10e5"),
            source("B", "20e5"),
            source("C", "60e5"),
            orifice("a"),
            orifice("b"),
            orifice("c"),
            part("HydraulicVolumeMultiPort", "Volume", &[]),
        ],
        &[
            "A.P1 > a.P1",
            "B.P1 > b.P1",
            "C.P1 > c.P1",
            "a.P2 > Volume.P1",
            "Volume.P1 > b.P2",
            "c.P2 > Volume.P1",
        ],
    );
    let plan = converted(&text).plan();
    let mut walk = Walk::of(&plan);
    walk.to(2000);
    // Three equal orifices: the mean of the three pressures.
    for place in ["P1_1", "P1_2", "P1_3"] {
        let pressure = walk.value(&format!("Volume#{place}#Pressure"));
        assert!((pressure / 30e5 - 1.0).abs() < 1e-9, "{place}: {pressure}");
    }
    // Places are taken in the order of the connections: q = K_c·Δp.
    let flow = walk.value("Volume#P1_3#Flow");
    assert!((flow / (1e-9 * 30e5) - 1.0).abs() < 1e-9, "{flow}");
}

#[test]
fn a_sum_takes_three_inputs() {
    let constant = |name: &str, y: &str| part("SignalConstant", name, &[("y", y)]);
    let text = model(
        &[
            constant("A", "1"),
            constant("B", "2"),
            constant("C", "4"),
            part("SignalSum", "Sum", &[]),
        ],
        &["A.y > Sum.in", "Sum.in > B.y", "C.y > Sum.in"],
    );
    converted(&text).says(&[
        "from = \"A.y\"",
        "to = \"Sum.in\"",
        "from = \"B.y\"",
        "to = \"Sum.in_2\"",
        "from = \"C.y\"",
        "to = \"Sum.in_3\"",
    ]);
    assert_eq!(after(&text, 1, "Sum#out#Value"), 7.0);
}

// ---- Order and time -------------------------------------------------------------------------

#[test]
fn a_unit_delay_delays_in_a_loop() {
    let text = model(
        &[
            part("SignalConstant", "One", &[]),
            part("SignalAdd", "Count", &[]),
            part("SignalUnitDelay", "Last", &[]),
        ],
        &["One.y > Count.in1", "Last.out > Count.in2", "Count.out > Last.in"],
    );
    let plan = converted(&text).plan();
    let mut walk = Walk::of(&plan);
    let first = walk.to(1).value("Count#out#Value");
    assert_eq!(walk.to(51).value("Count#out#Value"), first + 50.0);
}

#[test]
fn a_unit_delay_delays_when_it_stands_before_its_source_and_not_behind() {
    let (clock, delay) = (part("SignalTime", "Clock", &[]), part("SignalUnitDelay", "Delay", &[]));
    let lag = |objects: &[String]| {
        let plan = converted(&model(objects, &["Clock.out > Delay.in"])).plan();
        let mut walk = Walk::of(&plan);
        walk.to(10);
        walk.value("Clock#out#Value") - walk.value("Delay#out#Value")
    };
    assert!((lag(&[delay.clone(), clock.clone()]) - 1e-3).abs() < 1e-15);
    assert_eq!(lag(&[clock, delay]), 0.0);
}

#[test]
fn a_step_at_one_second_switches_where_repeated_addition_says() {
    // Ten thousand times 0.1 ms, added up, are a little less than 1 s.
    let sum = (0..10_000).fold(0.0, |t, _| t + 1e-4);
    assert!(sum < 1.0 && sum + 1e-4 > 1.0);
    let text = model_with(
        "<simulationtime start='0' stop='2' timestep='1e-4'/>",
        &[part("SignalStep", "Step", &[("t_step", "1")])],
        &[],
    );
    let plan = converted(&text).plan();
    let mut walk = Walk::of(&plan);
    assert_eq!(walk.to(10_000).value("Step#out#Value"), 0.0);
    assert_eq!(walk.to(10_001).value("Step#out#Value"), 1.0);
}

// ---- Files and names ------------------------------------------------------------------------

#[test]
fn tables_and_scripts_stand_in_the_circuit_file_itself() {
    let text = model(
        &[
            part("SignalConstant", "Source", &[("y", "1.5")]),
            part("Signal1DLookupTable", "Curve", &[("filename", "curve.csv")]),
            part("SignalNumHopSISO", "Script", &[("scriptfile", "parabola.txt")]),
        ],
        &["Source.y > Curve.in", "Source.y > Script.in"],
    );
    let trial = converted(&text);
    trial.says(&["text = \"0,10\\n1,20\\n3,0\\n\""]);
    assert!(trial.text.contains("program = \""), "{}", trial.text);
    let plan = trial.plan();
    let mut walk = Walk::of(&plan);
    walk.to(1);
    assert_eq!(walk.value("Curve#out#Value"), 15.0);
    assert_eq!(walk.value("Script#out#Value"), 2.0 * 1.5 * 1.5 + 1.0);
}

#[test]
fn a_table_that_cannot_be_read_is_an_error_where_it_is_named() {
    let trial = converted(&model(
        &[part("Signal1DLookupTable", "Curve", &[("filename", "no_such.csv")])],
        &[],
    ));
    assert_eq!(trial.codes(), [Code::CannotRead], "{}", trial.shown());
    assert!(trial.shown().contains("model.hmf:"), "{}", trial.shown());
}

#[test]
fn what_the_program_of_origin_refuses_for_its_name_or_version_runs() {
    let text = model(
        &[
            part("SignalConstant", "Time", &[("y", "3")]),
            part("SignalGain", "My gain/2", &[("k", "2")]),
        ],
        &["Time.y > My gain/2.in"],
    );
    let trial = converted(&text.replace(" hopsancoreversion=\"2.20.0\"", ""));
    trial.says(&["[components.Time]", "[components.My_gain_2]", "from = \"Time.y\""]);
    assert_eq!(trial.codes(), [Code::ImportRenamed], "{}", trial.shown());
    let plan = trial.plan();
    assert_eq!(Walk::of(&plan).to(1).value("My_gain_2#out#Value"), 6.0);
}

#[test]
fn a_circuit_file_is_the_same_whenever_it_is_written() {
    let text = std::fs::read_to_string(file("../../../../examples/hopsan/position_servo.hmf"));
    let text = text.unwrap();
    let first = converted(&text).text;
    for _ in 0..5 {
        assert_eq!(converted(&text).text, first);
    }
}
