//! What pumps and motors share: losses, the oil between two line ends, the shaft.
//!
//! A machine moves F = D·ω from its first port to its second and is pushed by D·(p₁ − p₂):
//!
//! q₁ = −F − G_i·(p₁ − p₂) − G_e·(p₁ − p_d),   q₂ = F + G_i·(p₁ − p₂) − G_e·(p₂ − p_d)
//! J·dω/dt = D·(p₁ − p₂) − B·ω − C·|p₁ − p₂|·sign(ω) ± T_shaft
//!
//! with laminar leakage inside (G_i) and to the drain (G_e), viscous friction (B) and friction by
//! pressure (C). Loss coefficients after McCandlish and Dorey; external leakage as in Pollmeier
//! (thesis, University of Bath), section 2.4.5, here solved together with the line ends.

use fluxline_core::Constants;
use fluxline_core::component::{Law, Refusal, Settle, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;

/// Port that oil enters when the shaft turns forward.
pub const FIRST: usize = 0;
/// Port that oil leaves when the shaft turns forward.
pub const SECOND: usize = 1;
/// Case drain.
pub const DRAIN: usize = 2;
/// The shaft of machines that have one.
pub const SHAFT: usize = 3;
/// Speed among the states of machines with a shaft.
pub const SPEED: usize = 0;
/// Angle among the states of machines with a shaft.
pub const ANGLE: usize = 1;
/// Count of cavitated steps in memory.
pub const CAVITATED: usize = 0;
/// Count of steps with the setting at a limit in memory.
pub const LIMITED: usize = 1;
/// Speed below which friction is taken as proportional to speed in the continuous view, rad/s.
pub const STICK_SPEED: f64 = 1e-3;

/// −1, 0 or 1.
#[inline(always)]
pub fn direction<T: Num>(x: T) -> T {
    let zero = T::zero();
    T::select(x.lt(zero), T::of(-1.0), T::select(x.gt(zero), T::one(), zero))
}

/// Adds the loss parameters that all displacement machines share to a declaration.
macro_rules! with_losses {
    (
        $(#[$($attribute:tt)*])*
        pub struct $name:ident { $($fields:tt)* }
    ) => {
        $(#[$($attribute)*])*
        pub struct $name {
            $($fields)*
            /// η_v — volumetric efficiency at the nominal point, at full displacement [–]
            #[parameter(min = ">0", max = 1)]
            pub volumetric_efficiency: Option<f64>,
            /// G — leakage, in place of the volumetric efficiency; none when neither is given [m³/(s*Pa)]
            #[parameter(min = "0 m^3/(s*Pa)", also = "C_lp", also = "K_cp", also = "C_im", also = "C_lm")]
            pub leakage: Option<f64>,
            /// σ — part of the leakage that leaves through the drain [–]
            #[parameter(default = 0, min = 0, max = 1)]
            pub drain_share: f64,
            /// η_hm — hydromechanical efficiency at the nominal point, at full displacement [–]
            #[parameter(min = ">0", max = 1)]
            pub hydromechanical_efficiency: Option<f64>,
            /// B — viscous friction, in place of the hydromechanical efficiency; none when neither is given [N*m*s/rad]
            #[parameter(min = "0 N*m*s/rad", also = "B_m")]
            pub viscous_friction: Option<f64>,
            /// φ — part of the friction at the nominal point that grows with speed; the rest grows with pressure [–]
            #[parameter(default = 0.5, min = 0, max = 1)]
            pub viscous_share: f64,
            /// Δp_n — pressure difference of the nominal point [Pa]
            #[parameter(default = "200 bar", min = ">0 bar")]
            pub nominal_pressure: f64,
            /// ω_n — speed of the nominal point [rad/s]
            #[parameter(default = "1500 rpm", min = ">0 rpm")]
            pub nominal_speed: f64,
            /// ν_n — viscosity of the nominal point; losses do not follow viscosity when not given [m²/s]
            #[parameter(min = ">0 mm^2/s")]
            pub nominal_viscosity: Option<f64>,
        }

        impl $name {
            fn loss_data(&self) -> $crate::hydraulic::pumps::machine::LossData {
                $crate::hydraulic::pumps::machine::LossData {
                    displacement: self.displacement,
                    volumetric_efficiency: self.volumetric_efficiency,
                    leakage: self.leakage,
                    drain_share: self.drain_share,
                    hydromechanical_efficiency: self.hydromechanical_efficiency,
                    viscous_friction: self.viscous_friction,
                    viscous_share: self.viscous_share,
                    nominal_pressure: self.nominal_pressure,
                    nominal_speed: self.nominal_speed,
                    nominal_viscosity: self.nominal_viscosity,
                }
            }
        }
    };
}
pub(crate) use with_losses;

/// Losses as users give them.
#[derive(Clone, Copy, Debug)]
pub struct LossData {
    /// D, m³/rad.
    pub displacement: f64,
    /// η_v.
    pub volumetric_efficiency: Option<f64>,
    /// G, m³/(s·Pa).
    pub leakage: Option<f64>,
    /// Part of the leakage to the drain.
    pub drain_share: f64,
    /// η_hm.
    pub hydromechanical_efficiency: Option<f64>,
    /// B, N·m·s.
    pub viscous_friction: Option<f64>,
    /// Part of the friction that grows with speed.
    pub viscous_share: f64,
    /// Δp_n, Pa.
    pub nominal_pressure: f64,
    /// ω_n, rad/s.
    pub nominal_speed: f64,
    /// ν_n, m²/s.
    pub nominal_viscosity: Option<f64>,
}

/// Which way power flows at the nominal point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Shaft to oil: η_v = q/(D·ω), η_hm = D·Δp/M.
    Pump,
    /// Oil to shaft: η_v = D·ω/q, η_hm = M/(D·Δp).
    Motor,
}

/// Loss coefficients of a machine.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Losses<T> {
    internal: T,
    external: T,
    viscous: T,
    /// C — friction torque per pressure difference.
    by_pressure: T,
    nominal_viscosity: T,
    follows_viscosity: bool,
}

/// Losses at the present viscosity.
#[derive(Clone, Copy, Debug)]
pub struct LossesNow<T> {
    /// G_i.
    pub internal: T,
    /// G_e.
    pub external: T,
    /// B.
    pub viscous: T,
    /// C.
    pub by_pressure: T,
}

impl LossData {
    /// Coefficients from efficiencies at the nominal point, or as given.
    pub fn prepare(&self, duty: Duty) -> Result<Losses<f64>, Refusal> {
        let ideal_flow = self.displacement * self.nominal_speed;
        let ideal_torque = self.displacement * self.nominal_pressure;
        let lost = |efficiency: f64, grows: bool| {
            if grows { 1.0 / efficiency - 1.0 } else { 1.0 - efficiency }
        };
        let leakage = match (self.volumetric_efficiency, self.leakage) {
            (Some(efficiency), Some(leakage)) => {
                return Err(Refusal::new(
                    "leakage",
                    format!(
                        "leakage is given twice: as {leakage} m³/(s·Pa) and by a volumetric efficiency of {efficiency}"
                    ),
                    "keep either leakage or volumetric_efficiency",
                ));
            }
            (Some(efficiency), None) => {
                ideal_flow * lost(efficiency, duty == Duty::Motor) / self.nominal_pressure
            }
            (None, given) => given.unwrap_or(0.0),
        };
        let (viscous, by_pressure) = match (self.hydromechanical_efficiency, self.viscous_friction)
        {
            (Some(efficiency), Some(friction)) => {
                return Err(Refusal::new(
                    "viscous_friction",
                    format!(
                        "friction is given twice: as {friction} N·m·s/rad and by a hydromechanical efficiency of {efficiency}"
                    ),
                    "keep either viscous_friction or hydromechanical_efficiency",
                ));
            }
            (Some(efficiency), None) => {
                let torque = ideal_torque * lost(efficiency, duty == Duty::Pump);
                (
                    torque * self.viscous_share / self.nominal_speed,
                    torque * (1.0 - self.viscous_share) / self.nominal_pressure,
                )
            }
            (None, given) => (given.unwrap_or(0.0), 0.0),
        };
        Ok(Losses {
            internal: leakage * (1.0 - self.drain_share),
            external: leakage * self.drain_share,
            viscous,
            by_pressure,
            nominal_viscosity: self.nominal_viscosity.unwrap_or(1.0),
            follows_viscosity: self.nominal_viscosity.is_some(),
        })
    }
}

impl<T: Num> Losses<T> {
    /// Leakage falls and viscous friction rises with viscosity.
    #[inline(always)]
    pub fn at(&self, viscosity: T) -> LossesNow<T> {
        let now = LossesNow {
            internal: self.internal,
            external: self.external,
            viscous: self.viscous,
            by_pressure: self.by_pressure,
        };
        if !self.follows_viscosity {
            return now;
        }
        let thicker = viscosity / self.nominal_viscosity;
        LossesNow {
            internal: self.internal / thicker,
            external: self.external / thicker,
            viscous: self.viscous * thicker,
            ..now
        }
    }
}

impl<T: Num> LossesNow<T> {
    /// Writes the flows of the continuous law and gives p₁ − p₂.
    #[wide]
    #[inline(always)]
    pub fn flows(&self, law: &mut Law<'_, T>, moved: T) -> T {
        let [first, second, drain] = [FIRST, SECOND, DRAIN].map(|port| law.effort[port]);
        let flows = self.flows_at([first, second, drain], moved);
        law.flow[..3].copy_from_slice(&flows);
        first - second
    }

    #[inline(always)]
    fn flows_at(&self, [first, second, drain]: [T; 3], moved: T) -> [T; 3] {
        let through = moved + self.internal * (first - second);
        let from_first = self.external * (first - drain);
        let from_second = self.external * (second - drain);
        [-through - from_first, through - from_second, from_first + from_second]
    }

    /// Friction torque against the motion in the continuous view.
    #[inline(always)]
    pub fn friction(&self, speed: T, drop: T) -> T {
        let way = (speed / STICK_SPEED).clamp_to(-1.0, 1.0);
        self.viscous * speed + self.by_pressure * drop.abs() * way
    }
}

/// Solves (I + Z·L)·x = b for three line ends joined by conductances 0–1, 0–2 and 1–2; L is their
/// Laplacian. Rows are diagonally dominant, so no pivoting is needed.
#[inline(always)]
pub fn solve_ends<T: Num, const R: usize>(
    impedance: [T; 3],
    conductance: [T; 3],
    mut b: [[T; 3]; R],
) -> [[T; 3]; R] {
    let [g01, g02, g12] = conductance;
    let [z0, z1, z2] = impedance;
    let a00 = z0 * (g01 + g02) + 1.0;
    let f1 = z1 * g01 / a00;
    let f2 = z2 * g02 / a00;
    let a11 = z1 * (g01 + g12) + 1.0 - f1 * z0 * g01;
    let a12 = -(z1 * g12) - f1 * z0 * g02;
    let f3 = (z2 * g12 + f2 * z0 * g01) / a11;
    let a22 = z2 * (g02 + g12) + 1.0 - f2 * z0 * g02 + f3 * a12;
    for b in &mut b {
        let b1 = b[1] + f1 * b[0];
        let b2 = b[2] + f2 * b[0] + f3 * b1;
        b[2] = b2 / a22;
        b[1] = (b1 - a12 * b[2]) / a11;
        b[0] = (b[0] + z0 * (g01 * b[1] + g02 * b[2])) / a00;
    }
    b
}

/// The oil of a machine between its line ends: pressures p = rest + per_flow·F.
#[derive(Clone, Copy, Debug)]
pub struct Oil<T> {
    losses: LossesNow<T>,
    rest: [T; 3],
    per_flow: [T; 3],
}

impl<T: Num> Oil<T> {
    /// Reads the line ends.
    #[wide]
    #[inline(always)]
    pub fn of(io: &Step<'_, T>, losses: LossesNow<T>) -> Self {
        let c = [FIRST, SECOND, DRAIN].map(|port| io.wave(port));
        let z = [FIRST, SECOND, DRAIN].map(|port| io.impedance(port));
        let share = (losses.internal * (z[0] + z[1]) + 1.0).recip();
        let leak = losses.internal * share * (c[0] - c[1]);
        let mut oil = Self {
            losses,
            rest: [c[0] - z[0] * leak, c[1] + z[1] * leak, c[2]],
            per_flow: [-(z[0] * share), z[1] * share, T::zero()],
        };
        let drained = losses.external.gt(T::zero());
        if drained.any() {
            let g = [losses.internal, losses.external, losses.external];
            let [rest, per_flow] = solve_ends(z, g, [c, [-z[0], z[1], T::zero()]]);
            for i in 0..3 {
                oil.rest[i] = T::select(drained, rest[i], oil.rest[i]);
                oil.per_flow[i] = T::select(drained, per_flow[i], oil.per_flow[i]);
            }
        }
        oil
    }

    /// p₁ − p₂ when nothing is moved.
    #[inline(always)]
    pub fn drop_at_rest(&self) -> T {
        self.rest[FIRST] - self.rest[SECOND]
    }

    /// Change of p₁ − p₂ per flow moved, never positive.
    #[inline(always)]
    pub fn drop_per_flow(&self) -> T {
        self.per_flow[FIRST] - self.per_flow[SECOND]
    }

    /// Pressure at a port with a flow moved.
    #[inline(always)]
    pub fn pressure(&self, port: usize, moved: T) -> T {
        self.rest[port] + self.per_flow[port] * moved
    }

    /// Where the port that is drawn from would fall below the vapour pressure.
    #[inline(always)]
    pub fn starved(&self, moved: T, vapour: T) -> T::Mask {
        let zero = T::zero();
        (moved.gt(zero) & self.pressure(FIRST, moved).lt(vapour))
            | (moved.lt(zero) & self.pressure(SECOND, moved).lt(vapour))
    }

    /// The flow that keeps the port drawn from at the vapour pressure. What is not taken from one
    /// line is not delivered to the other: the chambers run partly filled and no oil is lost.
    #[wide]
    #[cold]
    pub fn limited(&self, moved: T, vapour: T) -> T {
        let forward = moved.gt(T::zero());
        let rest = T::select(forward, self.rest[FIRST], self.rest[SECOND]);
        let per_flow = T::select(forward, -self.per_flow[FIRST], self.per_flow[SECOND]);
        let most = ((rest - vapour) / (per_flow + f64::MIN_POSITIVE)).max(T::zero());
        let limited = moved.abs().min(most).with_sign_of(moved);
        T::select(self.starved(moved, vapour), limited, moved)
    }

    /// Writes the flows at the ports; gives p₁ − p₂.
    #[wide]
    #[inline(always)]
    pub fn settle(&self, io: &mut Step<'_, T>, moved: T) -> T {
        let p = [FIRST, SECOND, DRAIN].map(|port| self.pressure(port, moved));
        let flows = self.losses.flows_at(p, moved);
        for (port, flow) in flows.into_iter().enumerate() {
            io.set_flow(port, flow);
        }
        p[FIRST] - p[SECOND]
    }

    /// Moves a flow, limited by cavitation, which is counted; gives p₁ − p₂.
    #[inline(always)]
    pub fn move_flow(&self, io: &mut Step<'_, T>, mut moved: T, vapour: T) -> T {
        let starved = self.starved(moved, vapour);
        if starved.any() {
            moved = self.limited(moved, vapour);
            io.count(CAVITATED, starved);
        }
        self.settle(io, moved)
    }
}

/// A rotor by the trapezoidal rule.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Rotor<T> {
    /// J.
    pub inertia: T,
    /// 1/J.
    pub inverse_inertia: T,
    /// T/(2·J).
    pub half_step_per_inertia: T,
    /// T/2.
    pub half_step: f64,
}

/// What acts on a rotor in a step: torque₀ + torque per speed, and friction.
#[derive(Clone, Copy, Debug)]
pub struct Torques<T> {
    /// Torque at standstill.
    pub push: T,
    /// Torque against motion per speed.
    pub resistance: T,
    /// Dry friction.
    pub dry: T,
    /// Friction per |p₁ − p₂|.
    pub by_pressure: T,
    /// p₁ − p₂ at standstill.
    pub drop: T,
    /// Change of p₁ − p₂ per speed.
    pub drop_per_speed: T,
}

impl Rotor<f64> {
    /// A rotor for a time step.
    pub fn new(inertia: f64, step: f64) -> Self {
        Self {
            inertia,
            inverse_inertia: 1.0 / inertia,
            half_step_per_inertia: 0.5 * step / inertia,
            half_step: 0.5 * step,
        }
    }
}

impl<T: Num> Rotor<T> {
    /// New speed and acceleration from the speed that the old acceleration alone would give; sticking
    /// is exact.
    ///
    /// Friction by pressure is linear in speed as long as the pressure difference keeps its sign. Net
    /// torque falls with speed, so where the sign changes on the way, the other branch holds.
    #[wide]
    #[inline(always)]
    pub fn turn(&self, coasting: T, torques: &Torques<T>) -> (T, T) {
        let m = self.half_step_per_inertia;
        let pull = coasting + torques.push * m;
        let way = pull.sign();
        let stiff = torques.resistance * m + 1.0;
        let branch = |by_pressure: T| {
            let hold = (torques.dry + by_pressure * torques.drop) * m;
            let free = (pull.abs() - hold).max(T::zero());
            free * way / (stiff + way * by_pressure * torques.drop_per_speed * m)
        };
        let by_pressure = torques.by_pressure.with_sign_of(torques.drop);
        let mut speed = branch(by_pressure);
        let mut drop = torques.drop + torques.drop_per_speed * speed;
        let changed = (drop * torques.drop * torques.by_pressure).lt(T::zero());
        if changed.any() {
            speed = T::select(changed, branch(-by_pressure), speed);
            drop = torques.drop + torques.drop_per_speed * speed;
        }
        let friction = torques.dry + torques.by_pressure * drop.abs();
        let moving = speed.abs().gt(T::zero());
        let torque = torques.push - torques.resistance * speed - friction * way;
        let acceleration = T::select(moving, torque * self.inverse_inertia, T::zero());
        (speed, acceleration)
    }

    /// Writes speed and angle; gives the angle.
    #[inline(always)]
    pub fn settle(&self, io: &mut Step<'_, T>, speed: T, acceleration: T) -> T {
        let angle = io.state(ANGLE) + (io.rate(ANGLE) + speed) * self.half_step;
        io.set_state(SPEED, speed);
        io.set_rate(SPEED, acceleration);
        io.set_state(ANGLE, angle);
        io.set_rate(ANGLE, speed);
        angle
    }
}

/// Constants of a machine with a shaft.
#[derive(Clone, Copy, Debug, Constants)]
pub struct ShaftMachine<T> {
    /// D.
    pub displacement: T,
    /// Least setting; the largest is 1.
    pub low: T,
    /// Losses.
    pub losses: Losses<T>,
    /// Rotor.
    pub rotor: Rotor<T>,
    /// Vapour pressure.
    pub vapour: T,
    /// ω₀.
    pub start_speed: T,
    /// θ₀.
    pub start_angle: T,
}

impl<T: Num> ShaftMachine<T> {
    /// The continuous law with a displacement; `way` is −1 for a shaft at side a and 1 at side b.
    pub fn law(&self, law: &mut Law<'_, T>, displacement: T, way: f64) {
        let (speed, angle) = (law.state[SPEED], law.state[ANGLE]);
        let losses = self.losses.at(law.viscosity[SECOND]);
        let drop = losses.flows(law, displacement * speed);
        let friction = losses.friction(speed, drop);
        let torque = displacement * drop - friction - law.effort[SHAFT] * way;
        law.rate[SPEED] = torque * self.rotor.inverse_inertia;
        law.rate[ANGLE] = speed;
        law.flow[SHAFT] = speed * way;
        law.displacement[SHAFT] = angle * way;
    }

    /// Starts the shaft in motion.
    pub fn start(&self, io: &mut Step<'_, T>, way: f64) {
        let effort = io.effort(SHAFT);
        io.set_motion(SHAFT, self.start_speed * way, self.start_angle * way, effort);
    }

    /// One step: oil, shaft and line ends together.
    #[inline(always)]
    pub fn step(&self, io: &mut Step<'_, T>, displacement: T, way: f64) {
        let losses = self.losses.at(io.viscosity(SECOND));
        let oil = Oil::of(io, losses);
        let (wave, impedance, dry) = (io.wave(SHAFT), io.impedance(SHAFT), io.dry(SHAFT));
        let coasting = io.state(SPEED) + io.rate(SPEED) * self.rotor.half_step;
        let drop = oil.drop_at_rest();
        let drop_per_speed = oil.drop_per_flow() * displacement;
        let torques = Torques {
            push: displacement * drop - wave * way,
            resistance: losses.viscous + impedance - displacement * drop_per_speed,
            dry,
            by_pressure: losses.by_pressure,
            drop,
            drop_per_speed,
        };
        let (mut speed, mut acceleration) = self.rotor.turn(coasting, &torques);
        let mut moved = displacement * speed;
        let starved = oil.starved(moved, self.vapour);
        if starved.any() {
            // The flow that the line yields sets both pressures, whatever the speed.
            let limited = oil.limited(moved, self.vapour);
            let drop = drop + oil.drop_per_flow() * limited;
            let held = Torques {
                push: displacement * drop - wave * way,
                resistance: losses.viscous + impedance,
                drop,
                drop_per_speed: T::zero(),
                ..torques
            };
            let (faster, gaining) = self.rotor.turn(coasting, &held);
            moved = T::select(starved, limited, moved);
            speed = T::select(starved, faster, speed);
            acceleration = T::select(starved, gaining, acceleration);
            io.count(CAVITATED, starved);
        }
        oil.settle(io, moved);
        let angle = self.rotor.settle(io, speed, acceleration);
        let torque = wave + (impedance * speed + dry * direction(speed)) * way;
        io.set_motion(SHAFT, speed * way, angle * way, torque);
    }

    /// The setting within its limits; steps at a limit are counted.
    #[inline(always)]
    pub fn limited_setting(&self, io: &mut Step<'_, T>, setting: T) -> T {
        limited_setting(io, setting, self.low)
    }
}

/// A setting held between `low` and 1; steps beyond are counted.
#[inline(always)]
pub fn limited_setting<T: Num>(io: &mut Step<'_, T>, setting: T, low: T) -> T {
    let beyond = setting.lt(low) | setting.gt(T::one());
    if beyond.any() {
        io.count(LIMITED, beyond);
    }
    setting.clamp(low, T::one())
}

/// Counts a setting beyond its limits after a step of the lumped view.
pub fn count_limited_setting(settle: &mut Settle<'_>, input: usize, low: f64) {
    let setting = settle.input[input];
    settle.count(LIMITED, setting < low || setting > 1.0);
}
