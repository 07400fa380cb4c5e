//! What a circuit file sets besides components, declared like component parameters: the run, the
//! oil, the defaults of lines, the recording.

use crate::component::Filter;
use crate::fluid::{BulkModel, Fluid};
use fluxline_macros::component;

crate::choice! {
    /// How lumped lines are damped.
    pub enum FilterKind {
        /// Undamped.
        None = "none",
        /// Waves are filtered.
        Wave = "wave",
        /// Only the pressure part of the waves is filtered.
        Pressure = "pressure",
    }
}

crate::choice! {
    /// Where a run begins.
    pub enum Begin {
        /// With the start values of the file.
        Values = "values",
        /// In balance: the circuit is first run with its signals held until nothing moves.
        Rest = "rest",
    }
}

crate::choice! {
    /// How the step is chosen.
    pub enum StepControl {
        /// Always the same.
        Fixed = "fixed",
        /// Halved and doubled by the parasitic pressure.
        Variable = "variable",
    }
}

crate::choice! {
    /// Whose conventions a circuit keeps to.
    pub enum Convention {
        /// Those of this program.
        Fluxline = "fluxline",
        /// Those of Hopsan, for models that come from it: order of execution and age of signals,
        /// start values, time that is added up step by step, names and signs of results.
        Hopsan = "hopsan",
    }
}

crate::choice! {
    /// Whether the step of a circuit becomes code of its own.
    pub enum Fused {
        /// When the number of steps makes it pay.
        Auto = "auto",
        /// Always, where it can be.
        On = "on",
        /// Always, where it can be, and made by the C compiler of the machine.
        Compiled = "compiled",
        /// Never.
        Off = "off",
    }
}

/// How a circuit is run.
#[component("run", s)]
#[derive(Clone, Debug, PartialEq)]
pub struct RunSettings {
    /// t₀ — time at the start [s]
    #[parameter(default = "0 s")]
    pub start: f64,
    /// t₁ — time at the end [s]
    #[parameter(default = "1 s")]
    pub stop: f64,
    /// T — time step [s]
    #[parameter(default = "0.1 ms", min = ">0 s")]
    pub step: f64,
    /// – — filter of lumped oil lines, which damps their parasitic resonance: none, wave or pressure [–]
    #[parameter(default = "wave")]
    pub filter: FilterKind,
    /// α — filter factor [–]
    #[parameter(default = 0.1, min = 0, max = "<1")]
    pub filter_factor: f64,
    /// – — begin with the given values, or at rest [–]
    #[parameter(default = "values")]
    pub begin: Begin,
    /// – — longest time to come to rest [s]
    #[parameter(default = "60 s", min = ">0 s")]
    pub rest_limit: f64,
    /// – — largest change of any variable per second, relative to its size, that counts as rest [1/s]
    #[parameter(default = "1e-6 1/s", min = ">0 1/s")]
    pub rest_tolerance: f64,
    /// – — fixed or variable step [–]
    #[parameter(default = "fixed")]
    pub step_control: StepControl,
    /// p_ref — parasitic pressure that a variable step keeps to [Pa]
    #[parameter(default = "0.1 bar", min = ">0 bar")]
    pub parasitic_limit: f64,
    /// – — smallest variable step [s]
    #[parameter(default = "1 us", min = ">0 s")]
    pub min_step: f64,
    /// – — largest variable step [s]
    #[parameter(default = "1 ms", min = ">0 s")]
    pub max_step: f64,
    /// p₀ — pressure that oil starts at where a component does not say, absolute [Pa]
    #[parameter(default = "1.01325 bar", min = "0 bar")]
    pub start_pressure: f64,
    /// – — whose order of execution, start values and result names: fluxline, or hopsan for models that come from it [–]
    #[parameter(default = "fluxline")]
    pub convention: Convention,
    /// – — write the circuit as code of its own, which gives the same results faster: auto, on, compiled (by the C compiler) or off [–]
    #[parameter(default = "auto")]
    pub fused: Fused,
}

impl RunSettings {
    /// Number of steps of the whole run, for a step that may differ from that of the file.
    pub fn steps(&self, step: f64) -> u64 {
        let exact = (self.stop - self.start) / step;
        let whole = exact.round();
        let is_whole = (exact - whole).abs() <= 1e-6 * exact.max(1.0);
        // A stop that is no whole number of steps is reached with the step that covers it.
        if is_whole || self.convention == Convention::Hopsan {
            whole as u64
        } else {
            exact.ceil() as u64
        }
    }

    /// The filter of lumped lines.
    pub fn line_filter(&self) -> Filter {
        match self.filter {
            FilterKind::None => Filter::None,
            FilterKind::Wave => Filter::Wave(self.filter_factor),
            FilterKind::Pressure => Filter::Pressure(self.filter_factor),
        }
    }
}

crate::choice! {
    /// What integrates a circuit.
    pub enum SolverKind {
        /// Bilateral delay lines, in fixed steps.
        Tlm = "tlm",
        /// Explicit Euler, fixed step.
        Euler = "euler",
        /// Heun, fixed step.
        Heun = "heun",
        /// Heun with one Newton iteration per state, fixed step.
        ModifiedHeun = "modified-heun",
        /// Classical Runge–Kutta, fixed step.
        Rk4 = "rk4",
        /// Implicit, L-stable, fixed step.
        Sdirk2 = "sdirk2",
        /// Linearly implicit, L-stable, step by tolerance.
        Rosenbrock = "rosenbrock",
        /// Backward differentiation, step by tolerance.
        Bdf = "bdf",
        /// Explicit Runge–Kutta, step by tolerance.
        AdaptiveExplicit = "adaptive-explicit",
        /// One of these, chosen by a look at the circuit.
        Auto = "auto",
    }
}

crate::choice! {
    /// Where the pressures of small volumes come from.
    pub enum SmallVolumeKind {
        /// Integrated like any other state.
        Integrate = "integrate",
        /// Pseudo-dynamic solver.
        Pds = "pds",
        /// Advanced pseudo-dynamic solver.
        AdvPds = "advpds",
        /// Balance of flows, solved at every evaluation.
        Algebraic = "algebraic",
        /// Singular perturbation: the same balance.
        SingularPerturbation = "singular-perturbation",
    }
}

crate::choice! {
    /// How pseudo-time of small volumes is integrated.
    pub enum InnerKind {
        /// Euler.
        Euler = "euler",
        /// Classical Runge–Kutta.
        Rk4 = "rk4",
        /// Heun with one Newton iteration.
        ModifiedHeun = "modified-heun",
    }
}

/// What integrates a circuit, and how finely. Solvers other than `tlm` see the lumped view of the
/// circuit: the same laws without line delays, except in lines longer than a step, which keep them.
#[component("solver", s)]
#[derive(Clone, Debug, PartialEq)]
pub struct SolverSettings {
    /// – — tlm, euler, heun, modified-heun, rk4, sdirk2, rosenbrock, bdf, adaptive-explicit or auto [–]
    #[parameter(default = "tlm")]
    pub method: SolverKind,
    /// – — error allowed per step relative to the state, where the step follows tolerances [–]
    #[parameter(default = 1e-5, min = ">0", max = "0.1")]
    pub relative_tolerance: f64,
    /// – — error allowed per step near zero, in units of the size of change that matters (1 bar, 1 mm, 10 mm/s …) [–]
    #[parameter(default = 1e-4, min = ">0")]
    pub absolute_tolerance: f64,
    /// – — longest step, where the step follows tolerances; unlimited when not given [s]
    #[parameter(min = ">0 s")]
    pub max_step: Option<f64>,
    /// – — shortest step, where the step follows tolerances [s]
    #[parameter(default = "1e-15 s", min = ">0 s")]
    pub min_step: f64,
    /// – — small volumes: integrate, pds, advpds, algebraic or singular-perturbation [–]
    #[parameter(default = "integrate")]
    pub small_volumes: SmallVolumeKind,
    /// – — names of the small volumes, with commas between; found by their time constants when empty [–]
    #[parameter(default = "")]
    pub small: String,
    /// V_p — artificial volume of pseudo-dynamic solvers; chosen by the solver when 0 [m^3]
    #[parameter(default = "1e-3 m^3", min = "0 m^3")]
    pub pseudo_volume: f64,
    /// – — step of pseudo-time [s]
    #[parameter(default = "10 us", min = ">0 s")]
    pub inner_step: f64,
    /// – — integration of pseudo-time: euler, rk4 or modified-heun [–]
    #[parameter(default = "euler")]
    pub inner_method: InnerKind,
    /// – — change of pressure per step of pseudo-time that counts as steady [Pa]
    #[parameter(default = "300 Pa", min = ">0 Pa")]
    pub tolerance_high: f64,
    /// – — the same at low pressure, for advpds [Pa]
    #[parameter(default = "20 Pa", min = ">0 Pa")]
    pub tolerance_low: f64,
    /// – — what low pressure is, for advpds [Pa]
    #[parameter(default = "22 bar", min = "0 bar")]
    pub low_pressure_limit: f64,
    /// – — the most pseudo-time before one step [s]
    #[parameter(default = "10 s", min = ">0 s")]
    pub max_inner_time: f64,
}

/// What a connection between two Q-ports is when the file does not say.
#[component("lines", s)]
#[derive(Clone, Debug, PartialEq)]
pub struct LineDefaults {
    /// V — volume of a hydraulic connection [m³]
    #[parameter(default = "0.1 l", min = ">0 l")]
    pub volume: f64,
    /// k — stiffness of a connection between two moving parts [N/m]
    #[parameter(default = "1e8 N/m", min = ">0 N/m")]
    pub stiffness: f64,
    /// k — stiffness of a connection between two turning parts [N*m/rad]
    #[parameter(default = "1e5 N*m/rad", min = ">0 N*m/rad")]
    pub torsional_stiffness: f64,
}

crate::choice! {
    /// How stiffness of oil depends on pressure.
    pub enum BulkKind {
        /// Not at all.
        Constant = "constant",
        /// By the empirical formula.
        Empirical = "empirical",
        /// By free air.
        EntrainedAir = "entrained_air",
    }
}

/// A hydraulic fluid. Pressures are absolute.
///
/// Viscosity follows Walther's equation (ASTM D341) through two points, when the second is given,
/// and Barus' law with pressure. The bulk modulus is constant, or follows
/// β_e = a₁·β·log₁₀(a₂·p/p_max + a₃), or that of oil with free air.
#[component("fluid", s)]
#[derive(Clone, Debug, PartialEq)]
pub struct FluidSettings {
    /// ρ — density [kg/m³]
    #[parameter(default = "870 kg/m^3", min = ">0 kg/m^3")]
    pub density: f64,
    /// ν — kinematic viscosity at the reference temperature [m²/s]
    #[parameter(default = "30 mm^2/s", min = ">0 mm^2/s")]
    pub viscosity: f64,
    /// β — bulk modulus [Pa]
    #[parameter(default = "1.6 GPa", min = ">0 Pa")]
    pub bulk_modulus: f64,
    /// – — how the bulk modulus depends on pressure: constant, empirical or entrained_air [–]
    #[parameter(default = "constant")]
    pub bulk_model: BulkKind,
    /// a₁ — factor of the empirical bulk modulus [–]
    #[parameter(default = 0.5, min = ">0")]
    pub bulk_a1: f64,
    /// a₂ — pressure factor of the empirical bulk modulus [–]
    #[parameter(default = 90, min = 0)]
    pub bulk_a2: f64,
    /// a₃ — offset of the empirical bulk modulus [–]
    #[parameter(default = 3, min = "1.0001")]
    pub bulk_a3: f64,
    /// p_max — scale pressure of the empirical bulk modulus [Pa]
    #[parameter(default = "280 bar", min = ">0 bar")]
    pub bulk_max_pressure: f64,
    /// – — free air at atmospheric pressure, as part of the volume [–]
    #[parameter(default = "0.5 %", min = 0, max = "50 %")]
    pub air_fraction: f64,
    /// n — polytropic exponent of free air [–]
    #[parameter(default = 1.4, min = 1, max = 1.7)]
    pub air_exponent: f64,
    /// p_v — vapour pressure, absolute [Pa]
    #[parameter(default = "0.003 bar", min = "0 bar")]
    pub vapour_pressure: f64,
    /// T — temperature of the oil [K]
    #[parameter(default = "50 degC", min = "200 K", max = "600 K")]
    pub temperature: f64,
    /// – — temperature at which density and viscosity are given [K]
    #[parameter(default = "50 degC", min = "200 K", max = "600 K")]
    pub reference_temperature: f64,
    /// – — viscosity at a second temperature, which gives its dependence on temperature [m²/s]
    #[parameter(min = ">0 mm^2/s")]
    pub second_viscosity: Option<f64>,
    /// – — the second temperature [K]
    #[parameter(default = "100 degC", min = "200 K", max = "600 K")]
    pub second_temperature: f64,
    /// κ — growth of viscosity with pressure (Barus) [1/Pa]
    #[parameter(default = "0 1/Pa", min = 0)]
    pub pressure_viscosity: f64,
    /// c_p — specific heat capacity [J/(kg*K)]
    #[parameter(default = "1900 J/(kg*K)", min = ">0 J/(kg*K)")]
    pub heat_capacity: f64,
    /// – — oil warms by throttling and carries its temperature along [–]
    #[parameter(default = "false")]
    pub carries_temperature: bool,
}

impl From<&FluidSettings> for Fluid {
    fn from(s: &FluidSettings) -> Self {
        Fluid {
            density: s.density,
            viscosity: s.viscosity,
            bulk_modulus: s.bulk_modulus,
            bulk_model: match s.bulk_model {
                BulkKind::Constant => BulkModel::Constant,
                BulkKind::Empirical => BulkModel::Empirical {
                    a1: s.bulk_a1,
                    a2: s.bulk_a2,
                    a3: s.bulk_a3,
                    max_pressure: s.bulk_max_pressure,
                },
                BulkKind::EntrainedAir => {
                    BulkModel::EntrainedAir { fraction: s.air_fraction, exponent: s.air_exponent }
                }
            },
            vapour_pressure: s.vapour_pressure,
            temperature: s.temperature,
            reference_temperature: s.reference_temperature,
            viscosity_point: s.second_viscosity.map(|nu| (s.second_temperature, nu)),
            pressure_viscosity: s.pressure_viscosity,
            heat_capacity: s.heat_capacity,
            carries_temperature: s.carries_temperature,
        }
    }
}

/// What is recorded.
#[component("record", s)]
#[derive(Clone, Debug, PartialEq)]
pub struct RecordSettings {
    /// – — number of samples, spread evenly over the run [–]
    #[parameter(default = 2000, min = 2, max = 100000000)]
    pub samples: usize,
    /// – — record every so many steps instead; 0 means evenly spread samples [–]
    #[parameter(default = 0, min = 0)]
    pub every: usize,
    /// – — time of the first sample, where it is not the start of the run [s]
    #[parameter]
    pub start: Option<f64>,
}
