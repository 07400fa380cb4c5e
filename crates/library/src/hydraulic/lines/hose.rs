//! Hose.

use super::friction::{Bore, PipeFrictionModel};
use super::line::pipe_physics;
use super::pipe::{Pipe, PipeParameters};
use fluxline_core::component;
use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;

/// A hose with two or more ends: a pipe whose wall yields.
///
/// 1/β_e = 1/β + C'/A,  a = √(β_e/ρ)
///
/// The wall's compliance per length C' is given as such, as the expansion of the volume at a
/// pressure (C' = A·ΔV/V/Δp, as makers state it), or as the effective bulk modulus of oil and hose;
/// with none of them the effective bulk modulus is 1 GPa. A part of the compliance may follow with
/// the relaxation time of the rubber (standard linear solid, standing in the middle of the hose);
/// it damps waves that are not much slower. All else is as in `hydraulic.line`.
#[component("hydraulic.hose", c, constants = Pipe, also = "hopsan:HydraulicHose")]
pub struct Hose {
    /// ends, two or more
    #[port(many)]
    port: Hydraulic,
    /// L — length [m]
    #[parameter(default = "1 m", min = ">0 m", also = "l")]
    pub length: f64,
    /// d — inner diameter [m]
    #[parameter(default = "12 mm", min = ">0 mm", also = "d")]
    pub bore: f64,
    /// C' — compliance of the wall per length, dA/dp [m²/Pa]
    #[parameter(min = "0 m^2/Pa")]
    pub compliance: Option<f64>,
    /// ΔV/V — expansion of the volume at `expansion_pressure` [–]
    #[parameter(min = 0, max = 1)]
    pub expansion: Option<f64>,
    /// Δp — pressure at which `expansion` is stated [Pa]
    #[parameter(default = "350 bar", min = ">0 bar")]
    pub expansion_pressure: f64,
    /// β_e — effective bulk modulus of oil and hose [Pa]
    #[parameter(min = ">0 Pa", also = "beta_e")]
    pub bulk_modulus: Option<f64>,
    /// – — part of the wall's compliance that follows with delay [–]
    #[parameter(default = 0, min = 0, max = "<1")]
    pub slow_part: f64,
    /// T_r — relaxation time of that part [s]
    #[parameter(default = "10 ms", min = ">0 s")]
    pub relaxation_time: f64,
    /// – — friction of the oil [–]
    #[parameter(default = "none")]
    pub friction: PipeFrictionModel,
    /// ε — roughness of the wall, for turbulent friction [m]
    #[parameter(default = "0.005 mm", min = "0 mm")]
    pub roughness: f64,
    /// p₀ — pressure at the start, absolute; the circuit's start pressure when not given [Pa]
    #[parameter(min = "0 bar")]
    pub start_pressure: Option<f64>,
    /// p — mean pressure [Pa]
    #[state(start = "start_pressure")]
    pressure: State,
    /// V_c — volume of vapour [m³]
    #[memory]
    cavity: Memory,
    /// – — steps with vapour [–]
    #[memory(counts = "cavitation")]
    cavitated: Memory,
}

/// Effective bulk modulus of a hose of which nothing is known, Pa.
const TYPICAL_BULK_MODULUS: f64 = 1e9;

impl Hose {
    /// 1/β of the wall.
    fn wall_compliance(&self, bore: &Bore, oil: f64) -> Result<f64, Refusal> {
        let given = [
            ("compliance", self.compliance),
            ("expansion", self.expansion),
            ("bulk_modulus", self.bulk_modulus),
        ];
        let names: Vec<_> =
            given.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name).collect();
        if names.len() > 1 {
            return Err(Refusal::new(
                names[1],
                format!("the hose's softness is given by {}", names.join(" and by ")),
                "give only one of compliance, expansion and bulk_modulus",
            ));
        }
        if let Some(compliance) = self.compliance {
            return Ok(compliance / bore.area());
        }
        if let Some(expansion) = self.expansion {
            return Ok(expansion / self.expansion_pressure);
        }
        let effective = self.bulk_modulus.unwrap_or(TYPICAL_BULK_MODULUS.min(oil));
        if effective > oil {
            return Err(Refusal::new(
                "bulk_modulus",
                format!(
                    "the hose with its oil ({effective:e} Pa) is stiffer than the oil alone ({oil:e} Pa)"
                ),
                "give a value below the bulk modulus of the oil, or use hydraulic.line",
            ));
        }
        Ok(1.0 / effective - 1.0 / oil)
    }
}

impl Physics for Hose {
    fn prepare(&self, environment: &Environment) -> Result<Pipe<f64>, Refusal> {
        let bore = Bore { length: self.length, diameter: self.bore, roughness: self.roughness };
        let start = self.start_pressure.unwrap_or(environment.start_pressure);
        let oil = environment.fluid.stiffness().at(start);
        let wall = self.wall_compliance(&bore, oil)?;
        Ok(Pipe::new(
            &PipeParameters {
                bore,
                wall_compliance: wall * (1.0 - self.slow_part),
                slow_compliance: wall * self.slow_part,
                relaxation_time: self.relaxation_time,
                friction: self.friction,
                start_pressure: self.start_pressure,
            },
            environment,
        ))
    }
    pipe_physics!();
}
