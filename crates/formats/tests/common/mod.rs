//! A small library of components without physics: the loader reads declarations only.
#![allow(dead_code, missing_docs, reason = "each test uses a part of it")]

use fluxline_core::circuit::{Circuit, Registry};
use fluxline_core::component;
use fluxline_core::component::{
    ComponentType, Declared, Environment, Law, NoConstants, Physics, Refusal,
};
use fluxline_core::number::Num;
use fluxline_core::table::Table;
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_formats::{Loaded, Override, load_text};
use std::sync::Arc;

fluxline_core::choice! {
    /// How flow depends on pressure drop.
    pub enum FlowLaw {
        /// q ~ √Δp
        Turbulent = "turbulent",
        /// q ~ Δp
        Laminar = "laminar",
    }
}

/// A pump of constant displacement.
#[component("hydraulic.fixed_pump", q, also = "hopsan:HydraulicFixedDisplacementPump")]
pub struct FixedPump {
    /// suction side
    #[port(also = "P1")]
    inlet: Hydraulic,
    /// pressure side
    #[port(also = "P2")]
    outlet: Hydraulic,
    /// D — displacement [m³/rad]
    #[parameter(min = ">0 cm^3/rev", also = "D_p")]
    displacement: f64,
    /// ω — speed of the shaft [rad/s]
    #[input(default = "1500 rpm")]
    speed: f64,
}

/// A relief valve.
#[component("hydraulic.relief_valve", q)]
pub struct ReliefValve {
    /// pressure side
    #[port]
    inlet: Hydraulic,
    /// tank side
    #[port]
    outlet: Hydraulic,
    /// p_c — pressure at which it opens [Pa]
    #[parameter(min = ">0 bar", max = "500 bar")]
    cracking_pressure: f64,
    /// q_n — flow at the nominal rise of pressure [m³/s]
    #[parameter(default = "60 l/min", min = ">0 l/min")]
    nominal_flow: f64,
}

/// An orifice.
#[component("hydraulic.orifice", q)]
pub struct Orifice {
    /// one side
    #[port]
    a: Hydraulic,
    /// the other side
    #[port]
    b: Hydraulic,
    /// A — flow area [m²]
    #[input(default = "10 mm^2", min = "0 mm^2", also = "A")]
    area: f64,
    /// C_q — discharge coefficient [–]
    #[parameter(default = 0.67, min = ">0", max = 1, also = "C_q")]
    discharge: f64,
    /// – — dependence of flow on pressure drop [–]
    #[parameter(default = "turbulent")]
    law: FlowLaw,
}

/// A servo valve with four ports.
#[component("hydraulic.servo_valve", q)]
pub struct ServoValve {
    /// supply
    #[port]
    p: Hydraulic,
    /// tank
    #[port]
    t: Hydraulic,
    /// working port a
    #[port]
    a: Hydraulic,
    /// working port b
    #[port]
    b: Hydraulic,
    /// u — opening [–]
    #[input(default = 0, min = -1, max = 1)]
    signal: f64,
    /// q_n — nominal flow [m³/s]
    #[parameter(default = "40 l/min", min = ">0 l/min")]
    nominal_flow: f64,
}

/// A tank.
#[component("hydraulic.tank", c)]
pub struct Tank {
    /// its port
    #[port(many)]
    port: Hydraulic,
    /// p — pressure, absolute [Pa]
    #[parameter(default = "1.01325 bar", min = "0 bar")]
    pressure: f64,
}

/// A volume of oil.
#[component("hydraulic.volume", c)]
pub struct Volume {
    /// all that meets in it
    #[port(many)]
    port: Hydraulic,
    /// V — its size [m³]
    #[parameter(min = ">0 l")]
    volume: f64,
}

/// A line with delay.
#[component("hydraulic.line", c)]
pub struct Line {
    /// its ends
    #[port(many)]
    port: Hydraulic,
    /// l — length [m]
    #[parameter(min = ">0 m")]
    length: f64,
    /// d — inner diameter [m]
    #[parameter(min = ">0 mm")]
    bore: f64,
}

/// A cylinder with one rod.
#[component("hydraulic.cylinder", q)]
pub struct Cylinder {
    /// piston side
    #[port]
    a: Hydraulic,
    /// rod side
    #[port]
    b: Hydraulic,
    /// piston rod
    #[port]
    rod: Translational,
    /// d — bore [m]
    #[parameter(min = ">0 mm")]
    bore: f64,
    /// h — stroke [m]
    #[parameter(default = "500 mm", min = ">0 mm")]
    stroke: f64,
}

/// A mass.
#[component("translational.mass", q)]
pub struct Mass {
    /// rear end
    #[port]
    a: Translational,
    /// front end
    #[port(optional)]
    b: Translational,
    /// m — mass [kg]
    #[parameter(min = ">0 kg")]
    mass: f64,
    /// F — force from outside [N]
    #[input]
    force: f64,
    /// x — position [m]
    #[state]
    x: f64,
    /// v — velocity [m/s]
    #[state]
    v: f64,
}

/// A spring.
#[component("translational.spring", c)]
pub struct Spring {
    /// rear end
    #[port]
    a: Translational,
    /// front end
    #[port]
    b: Translational,
    /// k — stiffness [N/m]
    #[parameter(min = ">0 N/m")]
    stiffness: f64,
}

/// A shaft.
#[component("rotational.shaft", c)]
pub struct Shaft {
    /// rear end
    #[port]
    a: Rotational,
    /// front end
    #[port]
    b: Rotational,
    /// k — stiffness [N*m/rad]
    #[parameter(min = ">0 N*m/rad")]
    stiffness: f64,
}

/// A signal that jumps.
#[component("signal.step", s)]
pub struct StepSignal {
    /// t₁ — time of the jump [s]
    #[parameter(default = "1 s")]
    time: f64,
    /// – — height of the jump [–]
    #[parameter(default = 1)]
    height: f64,
    /// y — the signal [–]
    #[output]
    out: f64,
}

/// A position over time.
#[component("signal.position", s)]
pub struct PositionSignal {
    /// x — the position [m]
    #[output]
    out: f64,
}

/// A gain.
#[component("signal.gain", s)]
pub struct Gain {
    /// u — what is multiplied [–]
    #[input(default = 0)]
    input: f64,
    /// K — factor [–]
    #[parameter(default = 1)]
    gain: f64,
    /// y — the product [–]
    #[output]
    out: f64,
}

/// One of each kind of parameter.
#[component("signal.kinds", s)]
pub struct Kinds {
    /// – — a curve of flow over time [m³/s]
    #[parameter]
    curve: Arc<Table>,
    /// – — a map of anything [–]
    #[parameter(default = "[[0, 0], [1, 1]]")]
    map: Arc<Table>,
    /// – — some lengths [m]
    #[parameter(default = "[1 mm, 2 mm]", min = "0 mm", max = "1 m")]
    lengths: Vec<f64>,
    /// – — how many [–]
    #[parameter(default = 3, min = 1, max = 9)]
    pistons: usize,
    /// – — whether it is on [–]
    #[parameter(default = "true")]
    enabled: bool,
    /// – — what it is called [–]
    #[parameter(default = "none")]
    label: String,
    /// – — a limit, if any [Pa]
    #[parameter(min = "0 bar")]
    limit: Option<f64>,
    /// y — the signal [–]
    #[output]
    out: f64,
}

macro_rules! without_physics {
    ($($name:ident)*) => {
        $(impl Physics for $name {
            fn prepare(&self, _: &Environment) -> Result<Self::Constants<f64>, Refusal> {
                Ok(NoConstants::new())
            }
            fn law<T: Num>(_: &Self::Constants<T>, _: &mut Law<'_, T>) {}
        })*

        pub fn registry() -> Registry {
            let _ = Mass::DECLARATION;
            Registry::new([$(ComponentType::of::<$name>()),*])
        }
    };
}
without_physics! {
    FixedPump ReliefValve Orifice ServoValve Tank Volume Line Cylinder Mass Spring Shaft
    StepSignal PositionSignal Gain Kinds
}

/// Loads a text named `test.toml`.
pub fn load(text: &str) -> Loaded {
    load_with(text, &[])
}

/// Loads a text with values set from outside.
pub fn load_with(text: &str, set: &[&str]) -> Loaded {
    let set: Vec<Override> = set.iter().map(|one| Override::parse(one)).collect();
    load_text("test.toml", text, "tests/files", &registry(), &set)
}

/// The circuit of a text without errors.
pub fn circuit(text: &str) -> Circuit {
    circuit_with(text, &[])
}

/// The circuit of a text with values set from outside.
pub fn circuit_with(text: &str, set: &[&str]) -> Circuit {
    let loaded = load_with(text, set);
    let report = loaded.diagnostics.render(&loaded.sources, false, 100);
    loaded.circuit.unwrap_or_else(|| panic!("{report}"))
}

/// Index of a component.
pub fn find(circuit: &Circuit, name: &str) -> usize {
    let found = circuit.components.iter().position(|c| c.name == name);
    found.unwrap_or_else(|| panic!("no component {name}"))
}

/// A number of a component.
pub fn number(circuit: &Circuit, component: &str, parameter: &str) -> f64 {
    let instance = &circuit.components[find(circuit, component)];
    let index = instance.declaration().parameter(parameter).unwrap();
    match instance.values[index] {
        fluxline_core::declare::Value::Number(x) => x,
        ref other => panic!("{other:?}"),
    }
}

/// The first diagnostic of a code.
pub fn first(loaded: &Loaded, code: Code) -> &Diagnostic {
    let report = || loaded.diagnostics.render(&loaded.sources, false, 100);
    let found = loaded.diagnostics.iter().find(|one| one.code() == code);
    found.unwrap_or_else(|| panic!("no {code} in\n{}", report()))
}
