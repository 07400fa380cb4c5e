//! Large circuits of any size: fleets of machines and pipe networks of plants.
//!
//! They are for measuring: what a large model costs, how it splits, how far threads and ranks carry.
//! All of them move, so that no component rests in a branch that costs nothing: commands are waves of
//! different periods.

use fluxline_core::builder::Builder;
use fluxline_core::circuit::Registry;
use std::fmt::Write as _;

/// What kind of circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Machines in a row, each with pump, valve and cylinder; the supplies of neighbours are joined
    /// by a balancing line.
    Fleet,
    /// A net of pipes between tees, with pumps here and consumers there.
    Network,
}

/// A circuit in the making: what a file says, without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Blueprint {
    /// Title.
    pub title: String,
    /// Number of components, inserted lines included.
    pub size: usize,
    components: Vec<Component>,
    connections: Vec<Connection>,
    drives: Vec<(String, String)>,
    record: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Component {
    name: String,
    kind: &'static str,
    parameters: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Connection {
    ends: Vec<String>,
    /// Volume and start pressure of a line between them, where there is one.
    line: Option<(&'static str, &'static str)>,
}

/// The run of every generated circuit.
const STEP: &str = "0.1 ms";
const STOP: &str = "0.2 s";
const START_PRESSURE: &str = "20 bar";

impl Blueprint {
    /// A circuit of a family with at least so many components.
    pub fn new(family: Family, components: usize) -> Self {
        let mut blueprint = Self {
            title: String::new(),
            size: 0,
            components: Vec::new(),
            connections: Vec::new(),
            drives: Vec::new(),
            record: Vec::new(),
        };
        match family {
            Family::Fleet => blueprint.fleet(components),
            Family::Network => blueprint.network(components),
        }
        blueprint
    }

    fn add(&mut self, name: String, kind: &'static str, parameters: &[(&'static str, &str)]) {
        let parameters = parameters.iter().map(|&(key, value)| (key, value.to_owned())).collect();
        self.components.push(Component { name, kind, parameters });
        self.size += 1;
    }

    fn connect(&mut self, ends: &[String]) {
        self.connections.push(Connection { ends: ends.to_vec(), line: None });
    }

    fn line(&mut self, ends: &[String], volume: &'static str, pressure: &'static str) {
        let line = Some((volume, pressure));
        self.connections.push(Connection { ends: ends.to_vec(), line });
        self.size += 1;
    }

    fn fleet(&mut self, components: usize) {
        let mut machines = 0;
        let mut before = None;
        while self.size < components || machines < 2 {
            before = Some(self.machine(machines, before));
            machines += 1;
        }
        self.title = format!("Fleet of {machines} machines");
    }

    /// A pump with relief valve and check valve feeds a valve that moves a cylinder with a mass.
    /// Takes and gives the connection that is the supply, of the machine before and of this one.
    fn machine(&mut self, number: usize, before: Option<usize>) -> usize {
        let name = |part: &str| format!("m{number}_{part}");
        let port = |part: &str, port: &str| format!("m{number}_{part}.{port}");
        // Golden ratio: no two machines move alike.
        let spread = (number as f64 * 0.618_033_988_749_895).fract();
        let frequency = format!("{:.4} Hz", 2.0 + 6.0 * spread);
        let mass = format!("{:.1} kg", 100.0 + 200.0 * spread);
        self.add(name("tank"), "hydraulic.tank", &[]);
        self.add(
            name("pump"),
            "hydraulic.fixed_pump",
            &[
                ("displacement", "20 cm^3/rev"),
                ("speed", "1500 rpm"),
                ("volumetric_efficiency", "0.95"),
                ("nominal_pressure", "200 bar"),
            ],
        );
        self.add(
            name("relief"),
            "hydraulic.relief_valve",
            &[("cracking_pressure", "120 bar"), ("gradient", "5 l/min/bar")],
        );
        let passage = [("nominal_flow", "40 l/min"), ("nominal_pressure_drop", "5 bar")];
        self.add(name("check"), "hydraulic.check_valve", &passage);
        self.add(
            name("valve"),
            "hydraulic.valve_4_3",
            &[
                ("nominal_flow", "20 l/min"),
                ("nominal_pressure_drop", "35 bar"),
                ("natural_frequency", "300 rad/s"),
                ("damping", "0.8"),
            ],
        );
        self.add(
            name("cylinder"),
            "hydraulic.cylinder",
            &[("bore", "40 mm"), ("rod_diameter", "22 mm"), ("viscous_friction", "500 N*s/m")],
        );
        self.add(
            name("load"),
            "translational.mass",
            &[("mass", &mass), ("start_position", "250 mm"), ("damping", "50 N*s/m")],
        );
        self.add(
            name("command"),
            "signal.sine",
            &[("amplitude", "0.8"), ("frequency", &frequency)],
        );
        self.add(name("filter"), "hydraulic.filter", &[("nominal_flow", "60 l/min")]);
        self.connect(&[port("pump", "inlet"), port("tank", "port")]);
        self.line(
            &[port("pump", "outlet"), port("relief", "inlet"), port("check", "inlet")],
            "0.5 l",
            START_PRESSURE,
        );
        self.connect(&[port("relief", "outlet"), port("tank", "port")]);
        self.connect(&[port("valve", "a"), port("cylinder", "a")]);
        self.connect(&[port("valve", "b"), port("cylinder", "b")]);
        self.line(&[port("valve", "t"), port("filter", "inlet")], "1 l", "1.1 bar");
        self.connect(&[port("filter", "outlet"), port("tank", "port")]);
        self.connect(&[port("cylinder", "rod"), port("load", "a")]);
        self.drives.push((port("command", "out"), port("valve", "signal")));
        let mut supply = vec![port("check", "outlet"), port("valve", "p")];
        if let Some(before) = before {
            self.add(name("balance"), "hydraulic.orifice", &[("diameter", "1.5 mm")]);
            self.connections[before].ends.push(port("balance", "inlet"));
            supply.push(port("balance", "outlet"));
        }
        self.line(&supply, "1 l", START_PRESSURE);
        self.record.push(port("load", "x"));
        self.connections.len() - 1
    }

    fn network(&mut self, components: usize) {
        // Per tee: itself, two pipes of three components, and a consumer of three at every third.
        let tees = (components as f64 / 8.0).max(4.0);
        let width = (tees.sqrt().floor() as usize).max(2);
        let mut rows = 0;
        while self.size < components || rows < 2 {
            self.row(rows, width);
            rows += 1;
        }
        self.title = format!("Plant with {rows} × {width} tees");
    }

    /// A row of tees, with pipes to the tee on the left and to the one above.
    fn row(&mut self, row: usize, width: usize) {
        for column in 0..width {
            let tee = format!("t{row}_{column}");
            let number = row * width + column;
            let spread = (number as f64 * 0.618_033_988_749_895).fract();
            self.add(tee.clone(), "hydraulic.volume", &[("volume", "0.5 l")]);
            let mut before = Vec::new();
            if column > 0 {
                before.push((format!("t{row}_{}", column - 1), format!("h{row}_{column}")));
            }
            if row > 0 {
                before.push((format!("t{}_{column}", row - 1), format!("v{row}_{column}")));
            }
            for (other, pipe) in before {
                let fitting = [("diameter", "8 mm")];
                let length = format!("{:.2} m", 2.0 + 4.0 * spread);
                self.add(format!("{pipe}_in"), "hydraulic.orifice", &fitting);
                self.add(
                    format!("{pipe}_pipe"),
                    "hydraulic.line",
                    &[("length", &length), ("bore", "20 mm")],
                );
                self.add(format!("{pipe}_out"), "hydraulic.orifice", &fitting);
                self.connect(&[format!("{other}.port"), format!("{pipe}_in.inlet")]);
                self.connect(&[format!("{pipe}_in.outlet"), format!("{pipe}_pipe.port")]);
                self.connect(&[format!("{pipe}_pipe.port"), format!("{pipe}_out.inlet")]);
                self.connect(&[format!("{pipe}_out.outlet"), format!("{tee}.port")]);
            }
            if number.is_multiple_of(7) {
                let pump = format!("p{row}_{column}");
                self.add(pump.clone(), "hydraulic.flow_source", &[("flow", "60 l/min")]);
                self.connect(&[format!("{pump}.outlet"), format!("{tee}.port")]);
            }
            if number.is_multiple_of(3) {
                let user = format!("u{row}_{column}");
                let frequency = format!("{:.4} Hz", 2.0 + 8.0 * spread);
                self.add(
                    format!("{user}_demand"),
                    "signal.sine",
                    &[("amplitude", "0.4"), ("offset", "0.5"), ("frequency", &frequency)],
                );
                self.add(
                    format!("{user}_valve"),
                    "hydraulic.variable_orifice",
                    &[("diameter", "4 mm")],
                );
                self.add(format!("{user}_tank"), "hydraulic.tank", &[]);
                self.connect(&[format!("{tee}.port"), format!("{user}_valve.inlet")]);
                self.connect(&[format!("{user}_valve.outlet"), format!("{user}_tank.port")]);
                self.drives.push((format!("{user}_demand.out"), format!("{user}_valve.signal")));
            }
        }
        self.record.push(format!("t{row}_0.pressure"));
    }

    /// The circuit itself, for those who plan it at once.
    pub fn build<'r>(&self, registry: &'r Registry) -> Builder<'r> {
        let mut builder = Builder::new(registry);
        builder.circuit.title.clone_from(&self.title);
        let run = &mut builder.circuit.run;
        (run.step, run.stop, run.start_pressure) = (1e-4, 0.2, 20e5);
        for component in &self.components {
            let parameters: Vec<(&str, &str)> =
                component.parameters.iter().map(|(key, value)| (*key, value.as_str())).collect();
            builder.add(&component.name, component.kind, &parameters);
        }
        for connection in &self.connections {
            let ends: Vec<&str> = connection.ends.iter().map(String::as_str).collect();
            builder.connect(&ends);
            if let Some((volume, pressure)) = connection.line {
                let values = [("volume", volume), ("start_pressure", pressure)];
                builder.line("hydraulic.volume", &values);
            }
        }
        for (from, to) in &self.drives {
            builder.drive(from, to);
        }
        builder
    }

    /// The circuit file.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "# Generated, for measuring: {} components, lines included.\n\n\
             title = \"{}\"\n\n\
             [run]\nstop = \"{STOP}\"\nstep = \"{STEP}\"\nstart_pressure = \"{START_PRESSURE}\"\n\n\
             [record]\nvariables = [",
            self.size, self.title
        );
        // Enough to look at; of a million nobody wants all.
        for (number, name) in self.record.iter().take(8).enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            let _ = write!(text, "{comma}\"{name}\"");
        }
        text.push_str("]\n");
        for component in &self.components {
            let _ =
                writeln!(text, "\n[components.{}]\ntype = \"{}\"", component.name, component.kind);
            for (key, value) in &component.parameters {
                let _ = match value.parse::<f64>() {
                    Ok(_) => writeln!(text, "{key} = {value}"),
                    Err(_) => writeln!(text, "{key} = \"{value}\""),
                };
            }
        }
        for connection in &self.connections {
            let ends: Vec<String> =
                connection.ends.iter().map(|end| format!("\"{end}\"")).collect();
            let _ = writeln!(text, "\n[[connect]]");
            let _ = match &ends[..] {
                [a, b] => writeln!(text, "ends = [{a}, {b}]"),
                [a, rest @ ..] => writeln!(text, "from = {a}\nto = [{}]", rest.join(", ")),
                [] => Ok(()),
            };
            if let Some((volume, pressure)) = connection.line {
                let _ = match pressure == START_PRESSURE {
                    true => writeln!(text, "line = {{ volume = \"{volume}\" }}"),
                    false => writeln!(
                        text,
                        "line = {{ volume = \"{volume}\", start_pressure = \"{pressure}\" }}"
                    ),
                };
            }
        }
        for (from, to) in &self.drives {
            let _ = writeln!(text, "\n[[connect]]\nfrom = \"{from}\"\nto = \"{to}\"");
        }
        text
    }
}
