//! Broken files: each one names its mistake, its place and a cure.

mod common;

use common::*;
use fluxline_diagnostics::Diagnostic;

/// A mistake: name, text, and what the message must hold.
struct Broken {
    name: &'static str,
    text: &'static str,
    code: &'static str,
    /// Line and column.
    at: &'static str,
    message: &'static str,
    /// Part of a help, a note or a label.
    help: &'static str,
}

fn all_texts(error: &Diagnostic) -> String {
    let mut texts: Vec<&str> = error.helps().iter().map(String::as_str).collect();
    texts.extend(error.notes().iter().map(String::as_str));
    texts.extend(error.primary().map(|label| label.text.as_str()));
    texts.extend(error.secondary().iter().map(|label| label.text.as_str()));
    texts.join("\n")
}

/// A small circuit to break; its last header is `[components.relief]`.
macro_rules! relief {
    ($rest:literal) => {
        concat!("[components.relief]\ntype = \"hydraulic.relief_valve\"\n", $rest)
    };
}
macro_rules! two {
    ($rest:literal) => {
        concat!(
            "components.pump = { type = \"hydraulic.fixed_pump\", displacement = \"50 cm^3/rev\" }\n",
            "components.valve = { type = \"hydraulic.servo_valve\" }\n",
            "components.mass = { type = \"translational.mass\", mass = 1, force = 0 }\n",
            "components.step = { type = \"signal.step\" }\n",
            "components.gain = { type = \"signal.gain\" }\n",
            "components.place = { type = \"signal.position\" }\n",
            "[[connect]]\n",
            $rest
        )
    };
}
macro_rules! kinds {
    ($rest:literal) => {
        concat!("[components.k]\ntype = \"signal.kinds\"\n", $rest)
    };
}

const CASES: &[Broken] = &[
    // Files and syntax
    Broken {
        name: "missing quotes around a quantity",
        text: "[run]\nstop = 3 s\n",
        code: "F0101",
        at: "2:8",
        message: "needs quotes",
        help: "write \"3 s\"",
    },
    Broken {
        name: "missing closing bracket",
        text: "[run\nstop = \"3 s\"\n",
        code: "F0101",
        at: "1:5",
        message: "a header is not closed",
        help: "write `[run]`",
    },
    Broken {
        name: "decimal comma in a plain number",
        text: "[fluid]\ndensity = 0,87\n",
        code: "F0308",
        at: "2:11",
        message: "`0,87` has a decimal comma",
        help: "write 0.87",
    },
    Broken {
        name: "no value",
        text: "title =\n",
        code: "F0101",
        at: "1:8",
        message: "a value is missing",
        help: "expected a value after `=`",
    },
    Broken {
        name: "unknown key of a circuit",
        text: "titel = \"x\"\n",
        code: "F0104",
        at: "1:1",
        message: "a circuit has no key `titel`",
        help: "did you mean `title`?",
    },
    Broken {
        name: "unknown key of the run",
        text: "[run]\nstpo = \"3 s\"\n",
        code: "F0104",
        at: "2:1",
        message: "`[run]` has no key `stpo`",
        help: "did you mean `stop`",
    },
    Broken {
        name: "unknown key of a connection",
        text: two!("from = \"pump.outlet\"\nto = \"valve.p\"\nlien = {}\n"),
        code: "F0104",
        at: "10:1",
        message: "a connection has no key `lien`",
        help: "did you mean `line`?",
    },
    Broken {
        name: "run inside a sub-circuit",
        text: "[subcircuits.axis.run]\nstop = \"1 s\"\n",
        code: "F0104",
        at: "1:19",
        message: "a sub-circuit has no key `run`",
        help: "move it to the top of the file",
    },
    Broken {
        name: "a list in place of a quantity",
        text: "[run]\nstop = [3]\n",
        code: "F0105",
        at: "2:8",
        message: "`run.stop` takes a quantity, but this is a list",
        help: "write `stop = \"1 s\"`",
    },
    Broken {
        name: "a number in place of a title",
        text: "title = 5\n",
        code: "F0105",
        at: "1:9",
        message: "`title` takes a text, but this is a number",
        help: "put it in quotes",
    },
    Broken {
        name: "a single connect table",
        text: "[connect]\nfrom = \"a.b\"\nto = \"c.d\"\n",
        code: "F0105",
        at: "1:1",
        message: "`connect` takes a list of tables, but this is a table",
        help: "[[connect]]",
    },
    Broken {
        name: "a switch in quotes",
        text: kinds!("curve = [[0,0],[1,1]]\nenabled = \"yes\"\n"),
        code: "F0105",
        at: "4:11",
        message: "`k.enabled` takes a switch (true or false), but this is a text",
        help: "without quotes",
    },
    Broken {
        name: "a component that is no table",
        text: "[components]\ntank = \"hydraulic.tank\"\n",
        code: "F0105",
        at: "2:8",
        message: "`components.tank` takes a table, but this is a text",
        help: "[components.tank]",
    },
    Broken {
        name: "a component without type",
        text: "[components.tank]\npressure = \"1 bar\"\n",
        code: "F0106",
        at: "1:13",
        message: "`tank` has no type",
        help: "needs `type` or `use`",
    },
    Broken {
        name: "a component with a misspelled type key",
        text: "[components.tank]\ntyp = \"hydraulic.tank\"\n",
        code: "F0106",
        at: "1:13",
        message: "`tank` has no type",
        help: "is `typ` meant to be `type`",
    },
    Broken {
        name: "a required parameter is missing",
        text: relief!(""),
        code: "F0106",
        at: "1:13",
        message: "`relief` (hydraulic.relief_valve) needs a value for `cracking_pressure`",
        help: "add `cracking_pressure = \"1 bar\"`",
    },
    Broken {
        name: "a connection without `to`",
        text: two!("from = \"pump.outlet\"\n"),
        code: "F0106",
        at: "7:1",
        message: "`to` is missing",
        help: "`to = \"valve.p\"`",
    },
    Broken {
        name: "a plot without variables",
        text: "[[plot]]\ntitle = \"x\"\n",
        code: "F0106",
        at: "1:1",
        message: "a plot without variables",
        help: "variables = [",
    },
    Broken {
        name: "a component given twice",
        text: "[components.a]\ntype = \"hydraulic.tank\"\n[components.a]\ntype = \"hydraulic.tank\"\n",
        code: "F0107",
        at: "3:13",
        message: "`a` is given twice",
        help: "first given here",
    },
    Broken {
        name: "a parameter given twice",
        text: "[parameters]\na = 1\nb = 2\na = 3\n",
        code: "F0107",
        at: "4:1",
        message: "`a` is given twice",
        help: "first given here",
    },
    Broken {
        name: "a parameter given by two names",
        text: "[components.o]\ntype = \"hydraulic.orifice\"\narea = \"1 mm^2\"\nA = \"2 mm^2\"\n",
        code: "F0107",
        at: "4:1",
        message: "`o.area` is given twice",
        help: "`A` is another name of `area`",
    },
    Broken {
        name: "type and use",
        text: "[components.o]\ntype = \"hydraulic.orifice\"\nuse = \"axis\"\n",
        code: "F0107",
        at: "3:1",
        message: "both a `type` and a `use`",
        help: "remove one of them",
    },
    Broken {
        name: "from, to and ends",
        text: two!("from = \"pump.outlet\"\nends = [\"valve.p\"]\n"),
        code: "F0107",
        at: "9:1",
        message: "`from` and `to`, or with `ends`",
        help: "put all ports into `ends`",
    },
    Broken {
        name: "the main fluid twice",
        text: "[fluid]\n[fluids.main]\n[components.t]\ntype = \"hydraulic.tank\"\n",
        code: "F0107",
        at: "2:9",
        message: "the fluid `main` is given twice",
        help: "`[fluid]` is short for `[fluids.main]`",
    },
    // Names and structure
    Broken {
        name: "an unknown type",
        text: "[components.a]\ntype = \"hydraulic.releif_valve\"\n",
        code: "F0201",
        at: "2:8",
        message: "no component type `hydraulic.releif_valve`",
        help: "did you mean `hydraulic.relief_valve`",
    },
    Broken {
        name: "a type of another tool",
        text: "[components.a]\ntype = \"HydraulicFixedDisplacementPump\"\n",
        code: "F0201",
        at: "2:8",
        message: "no component type",
        help: "it is called `hydraulic.fixed_pump`",
    },
    Broken {
        name: "a type without its domain",
        text: "[components.a]\ntype = \"tank\"\n",
        code: "F0201",
        at: "2:8",
        message: "no component type `tank`",
        help: "it is called `hydraulic.tank`",
    },
    Broken {
        name: "an unknown component in a connection",
        text: two!("from = \"pumpe.outlet\"\nto = \"valve.p\"\n"),
        code: "F0202",
        at: "8:8",
        message: "there is no component `pumpe`",
        help: "did you mean `pump`?",
    },
    Broken {
        name: "an unknown port",
        text: two!("from = \"pump.outlet\"\nto = [\"valve.x\"]\n"),
        code: "F0203",
        at: "9:7",
        message: "`valve` (hydraulic.servo_valve) has no port `x`",
        help: "valid here: `p`, `t`, `a`, `b` or `signal`",
    },
    Broken {
        name: "a component in place of a port",
        text: two!("from = \"pump\"\nto = \"valve.p\"\n"),
        code: "F0203",
        at: "8:8",
        message: "`pump` is a component; a connection needs one of its ports",
        help: "`pump.outlet`",
    },
    Broken {
        name: "a parameter in place of a port",
        text: two!("from = \"step.out\"\nto = \"pump.displacement\"\n"),
        code: "F0203",
        at: "9:6",
        message: "has no port `displacement`",
        help: "a parameter that no signal can drive",
    },
    Broken {
        name: "an unknown port variable",
        text: two!("from = \"pump.outlet.presure\"\nto = \"gain.input\"\n"),
        code: "F0203",
        at: "8:8",
        message: "a hydraulic port has no variable `presure`",
        help: "did you mean `pressure`?",
    },
    Broken {
        name: "place zero of a port for many",
        text: "components.t = { type = \"hydraulic.tank\" }\n[[connect]]\nfrom = \"t.port0\"\nto = \"t.port1\"\n",
        code: "F0203",
        at: "3:8",
        message: "has no port `port0`",
        help: "did you mean `port`?",
    },
    Broken {
        name: "an unknown parameter",
        text: relief!("craking_pressure = \"1 bar\"\n"),
        code: "F0204",
        at: "3:1",
        message: "`relief` (hydraulic.relief_valve) has no parameter `craking_pressure`",
        help: "did you mean `cracking_pressure`?",
    },
    Broken {
        name: "a port as a parameter",
        text: relief!("cracking_pressure = \"1 bar\"\ninlet = \"pump.outlet\"\n"),
        code: "F0204",
        at: "4:1",
        message: "has no parameter `inlet`",
        help: "`inlet` is a port",
    },
    Broken {
        name: "an unknown name in an expression",
        text: concat!(
            "[parameters]\nsupply = \"1 bar\"\n",
            relief!("cracking_pressure = \"2*suply\"\n")
        ),
        code: "F0205",
        at: "5:24",
        message: "unknown name `suply`",
        help: "did you mean `supply`?",
    },
    Broken {
        name: "an unknown fluid",
        text: "[fluids.main]\n[fluids.brake]\n[components.t]\ntype = \"hydraulic.tank\"\nfluid = \"brak\"\n",
        code: "F0205",
        at: "5:9",
        message: "there is no fluid `brak`",
        help: "did you mean `brake`?",
    },
    Broken {
        name: "a blank in a name",
        text: "[components.\"main pump\"]\ntype = \"hydraulic.tank\"\n",
        code: "F0206",
        at: "1:13",
        message: "`main pump` cannot be the name of a component",
        help: "`main_pump`",
    },
    Broken {
        name: "a dot in a name",
        text: "[components.boom.valve]\ntype = \"hydraulic.tank\"\n",
        code: "F0206",
        at: "1:18",
        message: "`boom.valve` cannot be the name of a component",
        help: "name it `boom_valve`",
    },
    Broken {
        name: "a reserved parameter name",
        text: "[parameters]\nmin = 1\n",
        code: "F0206",
        at: "2:1",
        message: "`min` cannot be the name of a parameter",
        help: "`min_value`",
    },
    Broken {
        name: "a hyphen in a parameter name",
        text: "[parameters]\na-b = 1\n",
        code: "F0206",
        at: "2:1",
        message: "`a-b` cannot be the name of a parameter",
        help: "`a_b`",
    },
    Broken {
        name: "parameters in a circle",
        text: "[parameters]\na = \"2*b\"\nb = \"c + 1\"\nc = \"a\"\n",
        code: "F0207",
        at: "2:8",
        message: "`a` → `b` → `c` → `a`",
        help: "`b` needs `c`",
    },
    Broken {
        name: "a parameter that needs itself",
        text: "[parameters]\na = \"2*a\"\n",
        code: "F0207",
        at: "2:8",
        message: "`a` depends on itself",
        help: "give one of them a value",
    },
    Broken {
        name: "nothing at all",
        text: "",
        code: "F0208",
        at: "1:1",
        message: "no components",
        help: "[components.tank]",
    },
    // Units and values
    Broken {
        name: "an empty quantity",
        text: relief!("cracking_pressure = \"\"\n"),
        code: "F0301",
        at: "3:21",
        message: "`relief.cracking_pressure` is an empty text",
        help: "\"120 bar\"",
    },
    Broken {
        name: "a flow in place of a pressure",
        text: relief!("cracking_pressure = \"120 l/min\"\n"),
        code: "F0302",
        at: "3:21",
        message: "`relief.cracking_pressure` is a pressure, but \"120 l/min\" is a volume flow",
        help: "did you mean `nominal_flow`?",
    },
    Broken {
        name: "a text without a unit",
        text: relief!("cracking_pressure = \"120\"\n"),
        code: "F0302",
        at: "3:21",
        message: "\"120\" is a dimensionless number",
        help: "give it a unit: \"120 bar\"",
    },
    Broken {
        name: "a sum of a pressure and a length",
        text: relief!("cracking_pressure = \"1 bar + 2 mm\"\n"),
        code: "F0302",
        at: "3:22",
        message: "cannot add a pressure (1 bar) and a length (2 mm)",
        help: "here",
    },
    Broken {
        name: "an unknown unit",
        text: relief!("cracking_pressure = \"120 baar\"\n"),
        code: "F0303",
        at: "3:26",
        message: "unknown unit `baar`",
        help: "did you mean `bar`",
    },
    Broken {
        name: "an unknown unit in a quotient",
        text: relief!("cracking_pressure = \"1 bar\"\nnominal_flow = \"10 l/mn\"\n"),
        code: "F0303",
        at: "4:22",
        message: "unknown unit `mn`",
        help: "`min`",
    },
    Broken {
        name: "too large a value",
        text: relief!("cracking_pressure = \"60 MPa\"\n"),
        code: "F0304",
        at: "3:21",
        message: "`relief.cracking_pressure` is 60 MPa, but must be at most 50 MPa",
        help: "greater than 0 MPa and at most 50 MPa",
    },
    Broken {
        name: "a bound that is excluded",
        text: "[run]\nstep = 0\n",
        code: "F0304",
        at: "2:8",
        message: "`run.step` is 0 s, but must be greater than 0 s",
        help: "must be greater than 0 s",
    },
    Broken {
        name: "an expression out of range",
        text: concat!("[parameters]\np = \"400 bar\"\n", relief!("cracking_pressure = \"2*p\"\n")),
        code: "F0304",
        at: "5:21",
        message: "is 800 bar, but must be at most 500 bar",
        help: "at most 500 bar",
    },
    Broken {
        name: "a division by zero",
        text: relief!("cracking_pressure = \"1 bar/0\"\n"),
        code: "F0305",
        at: "3:28",
        message: "division by zero",
        help: "here",
    },
    Broken {
        name: "an infinite number",
        text: relief!("cracking_pressure = inf\n"),
        code: "F0305",
        at: "3:21",
        message: "`relief.cracking_pressure` is not finite",
        help: "expected a number",
    },
    Broken {
        name: "half a piston",
        text: kinds!("curve = [[0,0],[1,1]]\npistons = 2.5\n"),
        code: "F0306",
        at: "4:11",
        message: "`k.pistons` needs a whole number, not 2.5",
        help: "write 3",
    },
    Broken {
        name: "not a choice",
        text: "[components.o]\ntype = \"hydraulic.orifice\"\nlaw = \"turbulant\"\n",
        code: "F0307",
        at: "3:7",
        message: "`o.law` cannot be \"turbulant\"",
        help: "did you mean \"turbulent\"?",
    },
    Broken {
        name: "a decimal comma",
        text: relief!("cracking_pressure = \"1,5 bar\"\n"),
        code: "F0308",
        at: "3:22",
        message: "comma",
        help: "`1.5 bar`",
    },
    Broken {
        name: "an incomplete expression",
        text: relief!("cracking_pressure = \"2 * (3 bar\"\n"),
        code: "F0309",
        at: "3:32",
        message: "expected",
        help: "here",
    },
    // Connections
    Broken {
        name: "ports of two domains",
        text: two!("from = \"mass.a\"\nto = \"pump.outlet\"\n"),
        code: "F0403",
        at: "9:6",
        message: "`mass.a` is translational and `pump.outlet` is hydraulic",
        help: "connect ports of one domain",
    },
    Broken {
        name: "a port connected to itself",
        text: two!("from = \"pump.outlet\"\nto = \"pump.outlet\"\n"),
        code: "F0405",
        at: "9:6",
        message: "`pump.outlet` is connected to itself",
        help: "as this one",
    },
    Broken {
        name: "a line with a length only",
        text: two!("from = \"pump.outlet\"\nto = \"valve.p\"\nline = { length = \"1 m\" }\n"),
        code: "F0406",
        at: "10:1",
        message: "needs a `bore`",
        help: "line = { length = \"2 m\", bore = \"19 mm\" }",
    },
    Broken {
        name: "a line with too much",
        text: two!(
            "from = \"pump.outlet\"\nto = \"valve.p\"\nline = { length = \"1 m\", volume = \"1 l\" }\n"
        ),
        code: "F0406",
        at: "10:1",
        message: "not both",
        help: "line = { volume",
    },
    Broken {
        name: "a line that stores nothing",
        text: two!(
            "from = \"pump.outlet\"\nto = \"valve.p\"\nline = { type = \"hydraulic.orifice\" }\n"
        ),
        code: "F0406",
        at: "10:1",
        message: "`hydraulic.orifice` cannot be a line",
        help: "a component of its own",
    },
    Broken {
        name: "a wrong value in a line",
        text: two!("from = \"pump.outlet\"\nto = \"valve.p\"\nline = { volume = \"1 m\" }\n"),
        code: "F0302",
        at: "10:19",
        message: "`line.pump.outlet.volume` is a volume",
        help: "expected a volume",
    },
    Broken {
        name: "a connection with one port",
        text: two!("from = \"pump.outlet\"\nto = []\n"),
        code: "F0408",
        at: "8:8",
        message: "`pump.outlet` is connected to nothing",
        help: "name the other port",
    },
    // Signals
    Broken {
        name: "an input driven twice",
        text: two!(
            "from = \"step.out\"\nto = \"valve.signal\"\n[[connect]]\nfrom = \"gain.out\"\nto = \"valve.signal\"\n"
        ),
        code: "F0502",
        at: "12:6",
        message: "`valve.signal` is driven twice",
        help: "first driven here",
    },
    Broken {
        name: "a signal to a power port",
        text: two!("from = \"step.out\"\nto = \"valve.p\"\n"),
        code: "F0503",
        at: "9:6",
        message: "`valve.p` is a power port, so the signal `step.out` cannot drive it",
        help: "hydraulic source",
    },
    Broken {
        name: "a power port to an input",
        text: two!("from = \"pump.outlet\"\nto = \"valve.signal\"\n"),
        code: "F0503",
        at: "8:8",
        message: "`pump.outlet` is a power port and `valve.signal` is an input",
        help: "\"pump.outlet.pressure\"",
    },
    Broken {
        name: "from an input to an output",
        text: two!("from = \"valve.signal\"\nto = \"step.out\"\n"),
        code: "F0503",
        at: "8:8",
        message: "`valve.signal` is an input and `step.out` is an output",
        help: "exchange `from` and `to`",
    },
    Broken {
        name: "two outputs",
        text: two!("from = \"step.out\"\nto = \"gain.out\"\n"),
        code: "F0503",
        at: "9:6",
        message: "`gain.out` is an output",
        help: "from an output to an input",
    },
    Broken {
        name: "a signal among ends",
        text: two!("ends = [\"step.out\", \"valve.signal\"]\n"),
        code: "F0503",
        at: "8:9",
        message: "`step.out` is not a power port",
        help: "`from` (an output) and `to` (inputs)",
    },
    Broken {
        name: "a line for a signal",
        text: two!("from = \"step.out\"\nto = \"valve.signal\"\nline = { volume = \"1 l\" }\n"),
        code: "F0104",
        at: "10:1",
        message: "a signal has no line",
        help: "remove `line`",
    },
    Broken {
        name: "a position to a force",
        text: two!("from = \"place.out\"\nto = \"mass.force\"\n"),
        code: "F0504",
        at: "8:8",
        message: "`place.out` is a length, but `mass.force` takes a force",
        help: "put a gain between",
    },
    // Sub-circuits
    Broken {
        name: "an unknown sub-circuit",
        text: "[subcircuits.axis]\n[components.boom]\nuse = \"axsi\"\n",
        code: "F0601",
        at: "3:7",
        message: "there is no sub-circuit `axsi`",
        help: "did you mean `axis`?",
    },
    Broken {
        name: "a missing sub-circuit file",
        text: "[components.boom]\nuse = \"nowhere.toml\"\n",
        code: "F0601",
        at: "2:7",
        message: "nowhere.toml` cannot be read: there is no such file",
        help: "relative to the file that names it",
    },
    Broken {
        name: "a component type as a sub-circuit",
        text: "[components.boom]\nuse = \"hydraulic.tank\"\n",
        code: "F0601",
        at: "2:7",
        message: "there is no sub-circuit `hydraulic.tank`",
        help: "type = \"hydraulic.tank\"",
    },
    Broken {
        name: "a sub-circuit that contains itself",
        text: "[components.a]\nuse = \"x\"\n[subcircuits.x.components.b]\nuse = \"y\"\n[subcircuits.y.components.c]\nuse = \"x\"\n",
        code: "F0602",
        at: "6:7",
        message: "`test.toml` → `x` → `y` → `x`",
        help: "break the chain",
    },
    Broken {
        name: "a step that does not divide",
        text: "[components.a]\nuse = \"x\"\nstep = \"0.03 ms\"\n[subcircuits.x]\n",
        code: "F0603",
        at: "3:8",
        message: "the step of `a`, 30 µs, does not divide the main step of 100 µs",
        help: "write `step = \"100 µs/3\"`",
    },
    Broken {
        name: "an exposed port that is not there",
        text: "[components.a]\nuse = \"x\"\n[subcircuits.x.components.t]\ntype = \"hydraulic.tank\"\n[subcircuits.x.ports]\np = \"t.prot\"\n",
        code: "F0604",
        at: "6:5",
        message: "the exposed port `p`: `t` (hydraulic.tank) has no port `prot`",
        help: "did you mean `port`?",
    },
    Broken {
        name: "an unknown parameter of a sub-circuit",
        text: "[components.a]\nuse = \"x\"\nboer = \"1 mm\"\n[subcircuits.x.parameters]\nbore = \"2 mm\"\n",
        code: "F0204",
        at: "3:1",
        message: "the sub-circuit `x` has no parameter `boer`",
        help: "did you mean `bore`?",
    },
    Broken {
        name: "a parameter of another kind for a sub-circuit",
        text: "[components.a]\nuse = \"x\"\nbore = \"1 bar\"\n[subcircuits.x.parameters]\nbore = \"2 mm\"\n",
        code: "F0302",
        at: "3:8",
        message: "`bore` is a length, but `1 bar` is a pressure",
        help: "the value that it replaces",
    },
    Broken {
        name: "a port that a sub-circuit does not expose",
        text: "[components.a]\nuse = \"x\"\n[subcircuits.x.components.t]\ntype = \"hydraulic.tank\"\n[[connect]]\nfrom = \"a.t.port\"\nto = \"a.t.port\"\n",
        code: "F0203",
        at: "6:8",
        message: "the sub-circuit `a` exposes no port `t`",
        help: "`port = \"t.port\"`",
    },
    // Run settings
    Broken {
        name: "a run that stops before it starts",
        text: "[run]\nstart = \"2 s\"\nstop = \"1 s\"\n",
        code: "F0701",
        at: "3:8",
        message: "stops at 1 s but starts at 2 s",
        help: "after the start",
    },
    Broken {
        name: "a step longer than the run",
        text: "[run]\nstop = \"1 ms\"\nstep = \"1 s\"\n",
        code: "F0701",
        at: "3:8",
        message: "longer than the whole run",
        help: "a thousandth",
    },
    Broken {
        name: "an unknown filter",
        text: "[run]\nfilter = \"waves\"\n",
        code: "F0706",
        at: "2:10",
        message: "`run.filter` cannot be \"waves\"",
        help: "expected `none`, `wave` or `pressure`",
    },
    // Tables
    Broken {
        name: "a missing data file",
        text: kinds!("curve = \"nowhere.csv\"\n"),
        code: "F0801",
        at: "3:9",
        message: "nowhere.csv` of `k.curve` cannot be read: there is no such file",
        help: "relative to the file that names it",
    },
    Broken {
        name: "three numbers in place of a pair",
        text: kinds!("curve = [[0, 1], [1, 2, 3]]\n"),
        code: "F0802",
        at: "3:18",
        message: "takes pairs, but this list has 3 entries",
        help: "`[x, y]`",
    },
    Broken {
        name: "columns of different length",
        text: kinds!("curve = { x = [0, 1, 2], y = [1, 2] }\n"),
        code: "F0802",
        at: "3:9",
        message: "x has 3 entries, but y has 2",
        help: "same length",
    },
    Broken {
        name: "an unknown column",
        text: kinds!("curve = { file = \"flow.csv\", y = \"flwo\" }\n"),
        code: "F0802",
        at: "3:34",
        message: "no column `flwo`",
        help: "did you mean `flow`",
    },
    Broken {
        name: "points that do not increase",
        text: kinds!("curve = [[0, 1], [2, 3], [1, 4]]\n"),
        code: "F0803",
        at: "3:27",
        message: "`k.curve` does not increase: 1 follows 2",
        help: "sort the points",
    },
    Broken {
        name: "a single point",
        text: kinds!("curve = [[0, 1]]\n"),
        code: "F0804",
        at: "3:9",
        message: "1 of the at least 2 points",
        help: "add points",
    },
    Broken {
        name: "a table in the wrong unit",
        text: kinds!("curve = { x = [0, 1], y = [1, 2], y_unit = \"bar\" }\n"),
        code: "F0302",
        at: "3:44",
        message: "`k.curve` is a volume flow, but bar is the unit of a pressure",
        help: "wrong unit",
    },
    Broken {
        name: "a list element out of range",
        text: kinds!("curve = [[0,0],[1,1]]\nlengths = [\"1 mm\", \"2000 mm\"]\n"),
        code: "F0304",
        at: "4:20",
        message: "`k.lengths` is 2000 mm, but must be at most 1000 mm",
        help: "at least 0 mm",
    },
];

#[test]
fn every_mistake_is_named_with_its_place_and_a_cure() {
    let mut failures = Vec::new();
    for case in CASES {
        let loaded = load(case.text);
        let report = loaded.diagnostics.render(&loaded.sources, false, 120);
        if std::env::var_os("SHOW").is_some() {
            println!("--- {}\n{report}", case.name);
        }
        let fits = loaded.diagnostics.iter().any(|error| {
            let at = error.primary().and_then(|label| loaded.sources.describe(label.span));
            error.code().as_str() == case.code
                && at.as_deref() == Some(&format!("test.toml:{}", case.at))
                && error.message().contains(case.message)
                && all_texts(error).contains(case.help)
        });
        if !fits || loaded.circuit.is_some() {
            failures.push(format!(
                "{}: expected {} at {}: {:?}, {:?}; got\n{report}",
                case.name, case.code, case.at, case.message, case.help
            ));
        }
    }
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn one_mistake_gives_one_error() {
    let several = ["a port that a sub-circuit does not expose"];
    for case in CASES.iter().filter(|case| !several.contains(&case.name)) {
        let loaded = load(case.text);
        let report = loaded.diagnostics.render(&loaded.sources, false, 120);
        // Small texts break without components as well, which is reported only by itself.
        assert_eq!(loaded.diagnostics.errors(), 1, "{}:\n{report}", case.name);
    }
}

#[test]
fn all_mistakes_are_found_in_one_pass() {
    let loaded = load(
        "titel = \"x\"\n[run]\nstop = \"3 bar\"\n[parameters]\na = \"1 baar\"\n[components.r]\n\
         type = \"hydraulic.relief_valve\"\ncracking_pressure = \"a\"\nnominal_flow = \"-1 l/min\"\n\
         [[connect]]\nfrom = \"r.inlet\"\nto = \"s.outlet\"\n[[connect]]\nfrom = \"r.outled\"\nto = \"r.inlet\"\n",
    );
    let mut codes: Vec<&str> = loaded.diagnostics.iter().map(|one| one.code().as_str()).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["F0104", "F0202", "F0203", "F0302", "F0303", "F0304"]);
}

#[test]
fn all_syntax_errors_are_found_in_one_pass() {
    let loaded = load("[run]\nstop = 3 s\nstep = 1 ms\n[fluid\n");
    assert_eq!(loaded.diagnostics.errors(), 3);
}

#[test]
fn data_files_are_blamed_by_line_and_column() {
    let check = |file: &str, code: &str, at: &str, message: &str, help: &str| {
        let folder = std::env::temp_dir().join(format!("fluxline-formats-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("data.csv"), file).unwrap();
        let text = "[components.k]\ntype = \"signal.kinds\"\ncurve = \"data.csv\"\n";
        let loaded = fluxline_formats::load_text("test.toml", text, &folder, &registry(), &[]);
        let report = loaded.diagnostics.render(&loaded.sources, false, 120);
        let error =
            loaded.diagnostics.iter().next().unwrap_or_else(|| panic!("no error for {file:?}"));
        let place = loaded.sources.describe(error.primary().unwrap().span).unwrap();
        assert_eq!(error.code().as_str(), code, "{report}");
        assert!(place.ends_with(&format!("data.csv:{at}")), "{report}");
        assert!(error.message().contains(message), "{report}");
        assert!(all_texts(error).contains(help), "{report}");
        std::fs::remove_dir_all(&folder).unwrap();
    };
    check("t;q\n0;1,5\n1;2\n", "F0308", "2:3", "`1,5` has a decimal comma", "write 1.5");
    check("0,5,1,5\n1,5,2,5\n", "F0802", "1:5", "4 columns where 2 are expected", "decimal commas");
    check("t,q\n0,1\n1,2,3\n", "F0802", "3:5", "3 columns where 2", "decimal commas");
    check("t,q\n0,1\n1,abc\n", "F0802", "3:3", "`abc` is not a number", "expected a number");
    check("t,q\n0,1\n1,,\n", "F0802", "3:4", "column 2 is missing", "the line ends here");
    check("t,q\n0,1\n1,nan\n", "F0802", "3:3", "`nan` is not a number", "");
    check("t,q\n0,1\n1\n", "F0802", "3:2", "column 2 is missing", "");
    check("t,q\n0,1\n2,1\n1,2\n", "F0803", "4:1", "1 follows 2", "");
    check("t [s],q [l/mni]\n0,1\n1,2\n", "F0303", "1:7", "names no unit", "did you mean");
    check("t [s],q [bar]\n0,1\n1,2\n", "F0302", "1:7", "bar is the unit of a pressure", "");
    check("# nothing\n", "F0804", "1:1", "empty", "right file");
}
