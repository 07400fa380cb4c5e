//! Directional valves with a spool.

use crate::blocks::{End, SecondOrder, turbulent, with_cavitation};
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};
use std::f64::consts::PI;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[ComponentType::of::<Valve43>()];

/// 4/3 directional valve with a second-order spool.
///
/// x follows clip(in, ±x_vmax) as 1/(s²/ω² + 2·δ·s/ω + 1), limited to ±x_vmax. Edges: p–a opens
/// with x − x_pa, b–t with x − x_bt, p–b with −x − x_pb, a–t with −x − x_at, each
/// q = C_q·f·π·d·opening·√(2·Δp/ρ), solved for its two ends alone; flows of a port then add up.
#[component("hopsan.Hydraulic43Valve", q, constants = Spool)]
pub struct Valve43 {
    /// supply
    #[port(name = "PP")]
    p: Hydraulic,
    /// tank
    #[port(name = "PT")]
    t: Hydraulic,
    /// work port a
    #[port(name = "PA")]
    a: Hydraulic,
    /// work port b
    #[port(name = "PB")]
    b: Hydraulic,
    /// x — spool position [m]
    #[output(name = "xv")]
    position: Signal,
    /// x_ref — wanted spool position [m]
    #[input(name = "in", default = "0 m")]
    pub command: f64,
    /// C_q — flow coefficient [–]
    #[input(name = "C_q", default = 0.67)]
    pub flow_coefficient: f64,
    /// ρ — density of the oil [kg/m³]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// d — diameter of the spool [m]
    #[input(name = "d", default = "0.01 m")]
    pub diameter: f64,
    /// f_pa — share of the circumference that edge p–a opens [–]
    #[input(name = "f_pa", default = 1)]
    pub share_pa: f64,
    /// f_pb — share of the circumference that edge p–b opens [–]
    #[input(name = "f_pb", default = 1)]
    pub share_pb: f64,
    /// f_at — share of the circumference that edge a–t opens [–]
    #[input(name = "f_at", default = 1)]
    pub share_at: f64,
    /// f_bt — share of the circumference that edge b–t opens [–]
    #[input(name = "f_bt", default = 1)]
    pub share_bt: f64,
    /// x_pa — overlap of edge p–a [m]
    #[input(name = "x_pa", default = "-1e-6 m")]
    pub lap_pa: f64,
    /// x_pb — overlap of edge p–b [m]
    #[input(name = "x_pb", default = "-1e-6 m")]
    pub lap_pb: f64,
    /// x_at — overlap of edge a–t [m]
    #[input(name = "x_at", default = "-1e-6 m")]
    pub lap_at: f64,
    /// x_bt — overlap of edge b–t [m]
    #[input(name = "x_bt", default = "-1e-6 m")]
    pub lap_bt: f64,
    /// x_vmax — largest displacement of the spool [m]
    #[input(name = "x_vmax", default = "0.01 m")]
    pub stroke: f64,
    /// ω — natural frequency of the spool [rad/s]
    #[parameter(name = "omega_h", default = "100 rad/s")]
    pub frequency: f64,
    /// δ — damping of the spool [–]
    #[parameter(name = "delta_h", default = 1)]
    pub damping: f64,
    /// – — wanted position one step ago [m]
    #[memory]
    command_1: Memory,
    /// – — wanted position two steps ago [m]
    #[memory]
    command_2: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// – — position two steps ago [m]
    #[memory]
    position_2: Memory,
}

/// Denominator of a spool's transfer function.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Spool<T> {
    denominator: [T; 3],
}

impl Spool<f64> {
    /// s²/ω² + 2·δ·s/ω + 1.
    pub fn new(frequency: f64, damping: f64) -> Self {
        Self { denominator: [1.0, 2.0 * damping / frequency, 1.0 / (frequency * frequency)] }
    }
}

impl<T: Num> Spool<T> {
    /// Position after this step.
    #[inline(always)]
    pub fn step(&self, io: &mut Step<'_, T>, at: SecondOrder, command: T, limits: (T, T)) -> T {
        let numerator = [T::one(), T::zero(), T::zero()];
        at.step(io, numerator, self.denominator, command, limits)
    }
}

impl Valve43 {
    const SPOOL: SecondOrder = SecondOrder(Self::COMMAND_1);

    #[inline(always)]
    fn command<T: Num>(io: &Step<'_, T>) -> T {
        let stroke = io.input(Self::STROKE);
        crate::blocks::limit(io.input(Self::COMMAND), -stroke, stroke)
    }
}

impl Physics for Valve43 {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Spool<f64>, Refusal> {
        Ok(Spool::new(self.frequency, self.damping))
    }

    fn start<T: Num>(_: &Spool<T>, io: &mut Step<'_, T>) {
        let (command, position) = (Self::command(io), io.output(Self::POSITION));
        Self::SPOOL.start(io, command, position, T::zero());
    }

    #[inline]
    fn step<T: Num>(k: &Spool<T>, io: &mut Step<'_, T>) {
        let stroke = io.input(Self::STROKE);
        let command = Self::command(io);
        let x = k.step(io, Self::SPOOL, command, (-stroke, stroke));
        let gain = io.input(Self::FLOW_COEFFICIENT)
            * io.input(Self::DIAMETER)
            * PI
            * (T::of(2.0) / io.input(Self::DENSITY)).sqrt();
        let edge = |share: usize, lap: usize, x: T| {
            gain * io.input(share) * (x - io.input(lap)).max(T::zero())
        };
        let pa = edge(Self::SHARE_PA, Self::LAP_PA, x);
        let pb = edge(Self::SHARE_PB, Self::LAP_PB, -x);
        let at = edge(Self::SHARE_AT, Self::LAP_AT, -x);
        let bt = edge(Self::SHARE_BT, Self::LAP_BT, x);
        with_cavitation(
            io,
            [Self::P, Self::T, Self::A, Self::B],
            false,
            |[p, t, a, b]: [End<T>; 4]| {
                let (pa, pb) = (turbulent(pa, p, a), turbulent(pb, p, b));
                let (at, bt) = (turbulent(at, a, t), turbulent(bt, b, t));
                [-pa - pb, at + bt, pa - at, pb - bt]
            },
        );
        io.set_output(Self::POSITION, x);
    }
}
