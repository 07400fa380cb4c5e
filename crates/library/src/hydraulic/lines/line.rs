//! Pipe.

use super::friction::{Bore, PipeFrictionModel};
use super::pipe::{Pipe, PipeParameters};
use fluxline_core::component;
use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;

/// A pipe with two or more ends: waves, friction, column separation.
///
/// a = √(β_e/ρ),  τ = L/a,  Z = ρ·a/A (two ends),  1/β_e = 1/β + d/(E·e)
///
/// Shorter than a time step it is a lumped volume, else a line with its true delay, fractions of a
/// step included; N ends are N equal arms that meet in a point. Friction: steady laminar or turbulent
/// (Darcy with Haaland), or frequency-dependent (Zielke with the weights of Kagawa). Ends part from
/// the oil at the vapour pressure and keep the cavity's volume. With a stiffness that depends on
/// pressure a line with true delay keeps that of its start pressure. A line with true delay wants a
/// constant step: when the step changes its oil is kept but the waves in flight are spread evenly.
/// Wylie and Streeter, Fluid Transients in Systems (1993); Krus, lecture slides (Linköping
/// University).
#[component("hydraulic.line", c, constants = Pipe)]
pub struct Line {
    /// ends, two or more
    #[port(many)]
    port: Hydraulic,
    /// L — length [m]
    #[parameter(default = "1 m", min = ">0 m")]
    pub length: f64,
    /// d — inner diameter [m]
    #[parameter(default = "12 mm", min = ">0 mm")]
    pub bore: f64,
    /// – — friction of the oil [–]
    #[parameter(default = "none")]
    pub friction: PipeFrictionModel,
    /// ε — roughness of the wall, for turbulent friction [m]
    #[parameter(default = "0.0015 mm", min = "0 mm")]
    pub roughness: f64,
    /// e — thickness of an elastic wall; rigid when not given [m]
    #[parameter(min = ">0 mm")]
    pub wall_thickness: Option<f64>,
    /// E — Young's modulus of the wall [Pa]
    #[parameter(default = "210 GPa", min = ">0 Pa")]
    pub youngs_modulus: f64,
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

/// What lines and hoses share.
macro_rules! pipe_physics {
    () => {
        fn law<T: Num>(k: &Pipe<T>, law: &mut Law<'_, T>) {
            k.law(law);
        }
        fn show(k: &Pipe<f64>, settle: &mut Settle<'_>) {
            k.show(settle);
        }
        fn is_discrete(k: &Pipe<f64>) -> bool {
            k.is_discrete()
        }
        fn volumes(k: &Pipe<f64>) -> Vec<(usize, f64)> {
            k.volumes()
        }
        fn start<T: Num>(k: &Pipe<T>, io: &mut Step<'_, T>) {
            k.start(io);
        }
        #[inline]
        fn step<T: Num>(k: &Pipe<T>, io: &mut Step<'_, T>) {
            k.step(io);
        }
        fn change_step<T: Num>(old: &Pipe<T>, new: &Pipe<T>, io: &mut Step<'_, T>) {
            Pipe::change_step(old, new, io);
        }
        fn history(k: &Pipe<f64>) -> usize {
            k.history()
        }
        fn is_lumped(k: &Pipe<f64>) -> bool {
            k.is_lumped()
        }
        fn is_lossless(k: &Pipe<f64>) -> bool {
            k.is_lossless()
        }
        const ROLE: BalanceRole = BalanceRole::Storage;
        fn energy<T: Num>(k: &Pipe<T>, io: &Step<'_, T>) -> T {
            k.energy(io)
        }
        fn content<T: Num>(k: &Pipe<T>, io: &Step<'_, T>) -> T {
            k.volume() + k.packed(io)
        }
    };
}
pub(super) use pipe_physics;

impl Physics for Line {
    fn prepare(&self, environment: &Environment) -> Result<Pipe<f64>, Refusal> {
        let wall = self
            .wall_thickness
            .map_or(0.0, |thickness| self.bore / (self.youngs_modulus * thickness));
        Ok(Pipe::new(
            &PipeParameters {
                bore: Bore { length: self.length, diameter: self.bore, roughness: self.roughness },
                wall_compliance: wall,
                slow_compliance: 0.0,
                relaxation_time: 0.0,
                friction: self.friction,
                start_pressure: self.start_pressure,
            },
            environment,
        ))
    }
    pipe_physics!();
}
