//! Cylinders.

use super::chamber::{self, Chamber, LEAK, PISTON, PORT};
use crate::friction::{Friction, FrictionModel, FrictionParameters, hold};
use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::{Constants, component};
use std::f64::consts::FRAC_PI_4;

/// Adds what all cylinders have in common to a declaration: ports, pressures and what is special
/// come first, so that states, memory and outputs have the order that the shared step expects.
macro_rules! cylinder {
    ($(#[$($meta:tt)*])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$($meta)*])*
        pub struct $name {
            $($own)*
            /// s — stroke; the piston runs from 0 (in) to s (out) [m]
            #[parameter(default = "500 mm", min = ">0 mm", also = "s_l")]
            pub stroke: f64,
            /// p_amb — pressure on the outside of the rod, absolute [Pa]
            #[parameter(default = "1.01325 bar", min = "0 bar")]
            pub ambient_pressure: f64,
            /// B — viscous friction [N*s/m]
            #[parameter(default = "0 N*s/m", min = "0 N*s/m", also = "B_p")]
            pub viscous_friction: f64,
            /// – — dry friction of the seals [–]
            #[parameter(default = "none")]
            pub friction: FrictionModel,
            /// F_c — dry friction in motion [N]
            #[parameter(default = "100 N", min = "0 N")]
            pub coulomb_friction: f64,
            /// F_s — dry friction at rest; F_c when not given [N]
            #[parameter(min = "0 N")]
            pub static_friction: Option<f64>,
            /// v_s — Stribeck velocity [m/s]
            #[parameter(default = "10 mm/s", min = ">0 m/s")]
            pub stribeck_velocity: f64,
            /// σ₀ — stiffness of the bristles, for LuGre [N/m]
            #[parameter(default = "1e7 N/m", min = ">0 N/m")]
            pub bristle_stiffness: f64,
            /// σ₁ — damping of the bristles, for LuGre [N*s/m]
            #[parameter(default = "1e3 N*s/m", min = "0 N*s/m")]
            pub bristle_damping: f64,
            /// k_e — stiffness of the end stops [N/m]
            #[parameter(default = "1e9 N/m", min = ">0 N/m")]
            pub stop_stiffness: f64,
            /// b_e — damping of the end stops [N*s/m]
            #[parameter(default = "1e5 N*s/m", min = "0 N*s/m")]
            pub stop_damping: f64,
            /// L_c — length of the end cushions, 0 for none [m]
            #[parameter(default = "0 mm", min = "0 mm")]
            pub cushion_length: f64,
            /// d_c — diameter of the cushion orifices [m]
            #[parameter(default = "2 mm", min = ">0 mm")]
            pub cushion_diameter: f64,
            /// z — deflection of the bristles, for LuGre [m]
            #[state]
            z: State,
            /// x — piston position, carried on by the last velocity [m]
            #[output]
            x: Output,
            /// v — piston velocity, positive out, of the last step [m/s]
            #[output]
            v: Output,
            /// – — steps with vapour [–]
            #[memory(counts = "cavitation")]
            cavitated: Memory,
            /// – — steps at an end stop [–]
            #[memory(counts = "limit")]
            stopped: Memory,
            /// – — share of dry friction that holds the piston (lumped solvers) [–]
            #[memory]
            held: Memory,
        }

        impl $name {
            fn common(&self) -> Common {
                Common {
                    stroke: self.stroke,
                    ambient_pressure: self.ambient_pressure,
                    viscous_friction: self.viscous_friction,
                    friction: FrictionParameters {
                        model: self.friction,
                        coulomb: self.coulomb_friction,
                        at_rest: self.static_friction,
                        stribeck_velocity: self.stribeck_velocity,
                        bristle_stiffness: self.bristle_stiffness,
                        bristle_damping: self.bristle_damping,
                    },
                    stop_stiffness: self.stop_stiffness,
                    stop_damping: self.stop_damping,
                    cushion_length: self.cushion_length,
                    cushion_diameter: self.cushion_diameter,
                }
            }
        }
    };
}

cylinder! {
    /// Differential cylinder: cap side a, rod side b.
    ///
    /// F = A_a·(p_a − p_amb) − A_b·(p_b − p_amb) − B·v − F_friction − F_stop
    /// dp_a/dt = β/V_a·(q_a − A_a·v − q_l),  V_a = V_0a + A_a·x
    /// dp_b/dt = β/V_b·(q_b + A_b·v + q_l),  V_b = V_0b + A_b·(s − x),  q_l = G·(p_a − p_b)
    ///
    /// Each chamber is a delay line of one step with ends at the port, at the piston and at the
    /// leakage; its impedance follows volume and stiffness and the waves are corrected. Below the
    /// vapour pressure a cavity opens; no oil is lost. In the lumped view a state below the vapour
    /// pressure p_v stands for a cavity of (p_v − p)·V/β, and all show p_v. The rod carries no mass: connect one. Dry
    /// friction is solved by the body at the rod, so sticking is exact; LuGre has its own state.
    /// The end stops are one-sided springs with dampers, by the trapezoidal rule. In the last L_c
    /// before an end oil leaves through the cushion orifice alone, whose effect sets in gradually:
    /// Δp = (q/K)²·(1 − d/L_c)², K = 0.67·A·√(2/ρ), at a distance d from the end; inflow is free.
    /// With absolute pressures the rod needs p_amb; other tools leave it out (0 bar).
    #[component("hydraulic.cylinder", c, constants = CylinderConstants, also = "hopsan:HydraulicCylinderC")]
    pub struct Cylinder {
        /// cap side
        #[port(side = "a", also = "P1")]
        a: Hydraulic,
        /// rod side
        #[port(also = "P2")]
        b: Hydraulic,
        /// the rod
        #[port(side = "b", also = "P3")]
        rod: Translational,
        /// D — bore [m]
        #[parameter(default = "50 mm", min = ">0 mm")]
        pub bore: f64,
        /// d — rod diameter [m]
        #[parameter(default = "28 mm", min = "0 mm")]
        pub rod_diameter: f64,
        /// A_a — piston area on the cap side; from the bore when not given [m²]
        #[parameter(min = ">0 mm^2", also = "A_1")]
        pub area_a: Option<f64>,
        /// A_b — piston area on the rod side; from bore and rod when not given [m²]
        #[parameter(min = ">0 mm^2", also = "A_2")]
        pub area_b: Option<f64>,
        /// V_0a — volume of the cap side at x = 0, with its share of the piping [m³]
        #[parameter(default = "50 cm^3", min = ">0 cm^3", also = "V_1")]
        pub dead_volume_a: f64,
        /// V_0b — volume of the rod side at x = s, with its share of the piping [m³]
        #[parameter(default = "50 cm^3", min = ">0 cm^3", also = "V_2")]
        pub dead_volume_b: f64,
        /// G — leakage across the piston [m³/(s*Pa)]
        #[parameter(default = "0 m^3/(s*Pa)", min = "0 m^3/(s*Pa)", also = "c_leak")]
        pub leakage: f64,
        /// p_a0 — pressure on the cap side at the start, absolute; the circuit's when not given [Pa]
        #[parameter(min = "0 bar")]
        pub start_pressure_a: Option<f64>,
        /// p_b0 — pressure on the rod side at the start, absolute; the circuit's when not given [Pa]
        #[parameter(min = "0 bar")]
        pub start_pressure_b: Option<f64>,
        /// p_a — pressure on the cap side [Pa]
        #[state(start = "start_pressure_a")]
        pressure_a: State,
        /// p_b — pressure on the rod side [Pa]
        #[state(start = "start_pressure_b")]
        pressure_b: State,
    }
}

cylinder! {
    /// Cylinder with equal rods on both sides.
    ///
    /// F = A·(p_a − p_b) − B·v − F_friction − F_stop,  A = π/4·(D² − d²)
    ///
    /// The rod on side b carries the load. All else is as in `hydraulic.cylinder`.
    #[component("hydraulic.double_rod_cylinder", c, constants = CylinderConstants, also = "hopsan:HydraulicSymmetricCylinderC")]
    pub struct DoubleRodCylinder {
        /// side that grows as the rod moves out
        #[port(side = "a", also = "P1")]
        a: Hydraulic,
        /// side that shrinks as the rod moves out
        #[port(also = "P2")]
        b: Hydraulic,
        /// the rod
        #[port(side = "b", also = "P3")]
        rod: Translational,
        /// D — bore [m]
        #[parameter(default = "50 mm", min = ">0 mm")]
        pub bore: f64,
        /// d — rod diameter [m]
        #[parameter(default = "28 mm", min = "0 mm")]
        pub rod_diameter: f64,
        /// A — piston area; from bore and rod when not given [m²]
        #[parameter(min = ">0 mm^2", also = "A")]
        pub area: Option<f64>,
        /// V_0a — volume of side a at x = 0, with its share of the piping [m³]
        #[parameter(default = "50 cm^3", min = ">0 cm^3", also = "V_1")]
        pub dead_volume_a: f64,
        /// V_0b — volume of side b at x = s, with its share of the piping [m³]
        #[parameter(default = "50 cm^3", min = ">0 cm^3", also = "V_2")]
        pub dead_volume_b: f64,
        /// G — leakage across the piston [m³/(s*Pa)]
        #[parameter(default = "0 m^3/(s*Pa)", min = "0 m^3/(s*Pa)", also = "c_leak")]
        pub leakage: f64,
        /// p_a0 — pressure on side a at the start, absolute; the circuit's when not given [Pa]
        #[parameter(min = "0 bar")]
        pub start_pressure_a: Option<f64>,
        /// p_b0 — pressure on side b at the start, absolute; the circuit's when not given [Pa]
        #[parameter(min = "0 bar")]
        pub start_pressure_b: Option<f64>,
        /// p_a — pressure on side a [Pa]
        #[state(start = "start_pressure_a")]
        pressure_a: State,
        /// p_b — pressure on side b [Pa]
        #[state(start = "start_pressure_b")]
        pressure_b: State,
    }
}

cylinder! {
    /// Single-acting cylinder with spring return; the rod side is vented.
    ///
    /// F = A·(p_a − p_amb) − F₀ − k_s·x − B·v − F_friction − F_stop,  A = π/4·D²
    ///
    /// The spring follows the trapezoidal rule. All else is as in `hydraulic.cylinder`; the cushion
    /// works at the rear end only.
    #[component("hydraulic.single_acting_cylinder", c, constants = CylinderConstants)]
    pub struct SingleActingCylinder {
        /// the pressure side
        #[port(side = "a", also = "P1")]
        a: Hydraulic,
        /// the rod
        #[port(side = "b", also = "P2")]
        rod: Translational,
        /// D — bore [m]
        #[parameter(default = "50 mm", min = ">0 mm")]
        pub bore: f64,
        /// V_0 — volume at x = 0, with its share of the piping [m³]
        #[parameter(default = "50 cm^3", min = ">0 cm^3", also = "V_1")]
        pub dead_volume: f64,
        /// k_s — stiffness of the return spring [N/m]
        #[parameter(default = "1e4 N/m", min = "0 N/m")]
        pub spring_stiffness: f64,
        /// F₀ — force of the return spring at x = 0 [N]
        #[parameter(default = "100 N", min = "0 N")]
        pub spring_preload: f64,
        /// p_a0 — pressure at the start, absolute; the circuit's when not given [Pa]
        #[parameter(min = "0 bar")]
        pub start_pressure: Option<f64>,
        /// p_a — pressure [Pa]
        #[state(start = "start_pressure")]
        pressure_a: State,
    }
}

/// Parameters that all cylinders have.
struct Common {
    stroke: f64,
    ambient_pressure: f64,
    viscous_friction: f64,
    friction: FrictionParameters,
    stop_stiffness: f64,
    stop_damping: f64,
    cushion_length: f64,
    cushion_diameter: f64,
}

/// What distinguishes one cylinder from another.
struct Special {
    chambers: usize,
    area: [f64; 2],
    dead_volume: [f64; 2],
    start_pressure: [Option<f64>; 2],
    leakage: f64,
    spring_stiffness: f64,
    spring_preload: f64,
}

/// Constants of all cylinders.
#[derive(Clone, Copy, Debug, Constants)]
pub struct CylinderConstants<T> {
    chamber: Chamber<T>,
    area: [T; 2],
    dead_volume: [T; 2],
    start_pressure: [T; 2],
    stroke: T,
    /// What the surroundings push back with: (A_a − A_b)·p_amb and the spring at x = 0.
    back_force: T,
    spring_stiffness: T,
    viscous_friction: T,
    friction: Friction<T>,
    stop_stiffness: T,
    stop_damping: T,
    leakage: T,
    /// 1/K² of the cushion orifice.
    cushion: T,
    inverse_cushion_length: T,
    chambers: usize,
    leaks: bool,
    has_cushion: bool,
    dt: f64,
}

/// Discharge coefficient of the cushion orifice.
const CUSHION_DISCHARGE: f64 = 0.67;

// History: a block per chamber, then these.
const LEAK_FLOW: usize = 0;
const LAST_VELOCITY: usize = 1;
const OUTFLOW: usize = 2;
const EXTRA: usize = 4;

// Order of memory and outputs in all cylinders; the state z follows the pressures.
const CAVITATED: usize = 0;
const STOPPED: usize = 1;
const HELD: usize = 2;
const X: usize = 0;
const V: usize = 1;

impl CylinderConstants<f64> {
    fn new(common: &Common, special: &Special, environment: &Environment) -> Result<Self, Refusal> {
        let fluid = environment.fluid;
        let leaks = special.leakage > 0.0 && special.chambers == 2;
        let orifice = CUSHION_DISCHARGE * FRAC_PI_4 * common.cushion_diameter.powi(2);
        let has_cushion = common.cushion_length > 0.0;
        let bare_area =
            if special.chambers == 2 { special.area[0] - special.area[1] } else { special.area[0] };
        Ok(Self {
            chamber: Chamber::new(if leaks { 3 } else { 2 }, environment),
            area: special.area,
            dead_volume: special.dead_volume,
            start_pressure: special.start_pressure.map(|p| p.unwrap_or(environment.start_pressure)),
            stroke: common.stroke,
            back_force: bare_area * common.ambient_pressure + special.spring_preload,
            spring_stiffness: special.spring_stiffness,
            viscous_friction: common.viscous_friction,
            friction: Friction::new(&common.friction)?,
            stop_stiffness: common.stop_stiffness,
            stop_damping: common.stop_damping,
            leakage: special.leakage,
            cushion: fluid.density / (2.0 * orifice * orifice),
            inverse_cushion_length: if has_cushion { 1.0 / common.cushion_length } else { 0.0 },
            chambers: special.chambers,
            leaks,
            has_cushion,
            dt: environment.step,
        })
    }

    fn history(&self) -> usize {
        self.chambers * chamber::SIZE + EXTRA
    }

    // What holds now is what the force at the rod lacks, also where the wave method has left it.
    fn settle(&self, settle: &mut Settle<'_>) {
        let rod = self.rod();
        let (x, v) = (-settle.displacement[rod], -settle.flow[rod]);
        let lacks = self.force(settle.state, x, v) - settle.effort[rod];
        settle.memory[HELD] = hold(lacks / self.friction.amplitude(v), v);
    }

    fn show(&self, settle: &mut Settle<'_>) {
        let vapour = self.chamber.vapour_pressure();
        let cavitated = settle.state[..self.chambers].iter().any(|&pressure| pressure < vapour);
        settle.count(CAVITATED, cavitated);
        let x = -settle.displacement[self.rod()];
        settle.count(STOPPED, x < 0.0 || x > self.stroke);
    }

    /// Where the piston stands at the start is up to the body at the rod: most are drawn in.
    fn volumes(&self) -> Vec<(usize, f64)> {
        (0..self.chambers).map(|side| (side, self.volume(side, 0.0))).collect()
    }
}

fn rod_not_thinner(bore: f64, rod: f64) -> Refusal {
    Refusal::new(
        "rod_diameter",
        format!("the rod ({rod} m) is not thinner than the bore ({bore} m)"),
        "give rod_diameter a smaller value than bore",
    )
}

impl<T: Num> CylinderConstants<T> {
    #[inline(always)]
    fn rod(&self) -> usize {
        self.chambers
    }
    #[inline(always)]
    fn z(&self) -> usize {
        self.chambers
    }
    #[inline(always)]
    fn extra(&self) -> usize {
        self.chambers * chamber::SIZE
    }

    /// Volume of a chamber at a position.
    #[inline(always)]
    fn volume(&self, side: usize, x: T) -> T {
        let length = if side == 0 { x } else { self.stroke - x };
        self.dead_volume[side] + self.area[side] * length
    }

    /// A with the sign of the force that pressure on this side exerts outwards.
    #[inline(always)]
    fn push(&self, side: usize) -> T {
        if side == 0 { self.area[0] } else { -self.area[1] }
    }

    /// Resistance of the cushion to outflow of a given size.
    #[inline(always)]
    fn cushioning(&self, side: usize, x: T, outflow: T) -> T {
        let distance = if side == 0 { x } else { self.stroke - x };
        let depth = (T::one() - distance * self.inverse_cushion_length).clamp_to(0.0, 1.0);
        self.cushion * outflow * depth * depth
    }

    /// Force of the end stops on the piston, outwards, as wave and impedance, and whether they touch.
    ///
    /// F = −k_e·d − b_e·dd/dt with the depth d at the end of the step. The stop takes part in every
    /// step that begins inside it or, as the last velocity foresees, ends there; so a contact never
    /// gives more energy than it took, however coarse the step.
    #[inline(always)]
    fn stops(&self, x: T, v: T, dt: f64) -> Option<(T, T, T::Mask)> {
        let front = (x + x).gt(self.stroke);
        let depth = T::select(front, x - self.stroke, -x);
        let closing = T::select(front, v, -v);
        let foreseen = depth + closing * dt;
        let zero = T::zero();
        let touching = depth.gt(zero) | foreseen.gt(zero);
        if !touching.any() {
            return None;
        }
        // The damper holds nothing back: it works while the sum still pushes.
        let pushes = (self.stop_stiffness * foreseen + self.stop_damping * closing).gt(zero);
        let damping = T::select(pushes, self.stop_damping, zero);
        let push = self.stop_stiffness * (depth + closing * (0.5 * dt));
        let push = T::select(touching, push, zero);
        let resistance = self.stop_stiffness * (0.5 * dt) + damping;
        Some((T::select(front, -push, push), T::select(touching, resistance, zero), touching))
    }

    /// What a chamber's pressure state shows: not less than the vapour pressure.
    #[inline(always)]
    fn shown(&self, state: T) -> T {
        state.max(self.chamber.vapour_pressure())
    }

    /// Force at the rod but for the friction of seals.
    fn force(&self, state: &[T], x: T, v: T) -> T {
        let mut force = -self.back_force - self.spring_stiffness * x - self.viscous_friction * v;
        for side in 0..self.chambers {
            force += self.push(side) * self.shown(state[side]);
        }
        if let Some((wave, damping, _)) = self.stops(x, v, 0.0) {
            force += wave - damping * v;
        }
        force
    }

    fn law(&self, law: &mut Law<'_, T>) {
        let rod = self.rod();
        let (x, v) = (-law.displacement[rod], -law.flow[rod]);
        let mut leak = T::zero();
        if self.leaks {
            leak = self.leakage * (self.shown(law.state[0]) - self.shown(law.state[1]));
        }
        for side in 0..self.chambers {
            let (pressure, flow) = (self.shown(law.state[side]), law.flow[side]);
            law.effort[side] = pressure;
            if self.has_cushion {
                let resistance = self.cushioning(side, x, flow.min(T::zero()).abs());
                law.effort[side] += resistance * flow;
            }
            let leaking = if side == 0 { -leak } else { leak };
            let volume = self.volume(side, x.clamp(T::zero(), self.stroke));
            let inflow = flow - self.push(side) * v + leaking;
            law.rate[side] = self.chamber.stiffness(pressure) / volume * inflow;
        }
        let (friction, z_rate) = self.friction.law(v, law.state[self.z()], law.memory[HELD]);
        law.rate[self.z()] = z_rate;
        law.effort[rod] = self.force(law.state, x, v) - friction;
        law.output[X] = x;
        law.output[V] = v;
    }

    fn start(&self, io: &mut Step<'_, T>) {
        let rod = self.rod();
        let (x, v) = (-io.displacement(rod), -io.flow(rod));
        let extra = self.extra();
        io.history()[extra..extra + EXTRA].fill(T::zero());
        io.history()[extra + LAST_VELOCITY] = v;
        for side in 0..self.chambers {
            let pressure = self.start_pressure[side];
            let volume = self.volume(side, x.clamp(T::zero(), self.stroke));
            self.chamber.start(io, side * chamber::SIZE, pressure, volume);
            io.set_state(side, pressure);
            let outflow = (-io.flow(side)).max(T::zero());
            io.history()[extra + OUTFLOW + side] = outflow;
        }
        let ends =
            [self.chamber.ends(io, 0), self.chamber.ends(io, (self.chambers - 1) * chamber::SIZE)];
        self.present(io, &ends, x, v);
        for port in 0..=rod {
            let bond = io.bond_mut(port);
            bond.effort = bond.wave + bond.impedance * bond.flow;
        }
    }

    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let (rod, extra) = (self.rod(), self.extra());
        let (x, v) = (-io.displacement(rod), -io.flow(rod));
        // The volume at the end of the step that begins.
        let ahead = (x + v * self.dt).clamp(T::zero(), self.stroke);
        let leak = io.history_at(extra + LEAK_FLOW);
        let mut open = T::zero().lt(T::zero());
        let mut both = [None; 2];
        for (side, shown) in both.iter_mut().enumerate().take(self.chambers) {
            let at = side * chamber::SIZE;
            let mut flow = [T::zero(); 3];
            flow[PORT] = io.flow(side);
            flow[PISTON] = -(self.push(side) * v);
            flow[LEAK] = if side == 0 { -leak } else { leak };
            let outflow =
                (io.history_at(extra + OUTFLOW + side) + (-flow[PORT]).max(T::zero())) * 0.5;
            io.history()[extra + OUTFLOW + side] = outflow;
            let ends = self.chamber.step(io, at, &flow, self.volume(side, ahead));
            io.set_state(side, ends.pressure);
            open = open | self.chamber.is_open(io, at);
            *shown = Some(ends);
        }
        let Some(first) = both[0] else { return };
        let ends = [first, both[1].unwrap_or(first)];
        if self.friction.has_bristles() {
            let last = io.history_at(extra + LAST_VELOCITY);
            let z = io.state(self.z());
            let z = self.friction.bristles(z, last, self.dt).deflection_at(v);
            io.set_state(self.z(), z);
            io.history()[extra + LAST_VELOCITY] = v;
        }
        if open.any() {
            io.count(CAVITATED, open);
        }
        if let Some(touching) = self.present(io, &ends, x, v) {
            io.count(STOPPED, touching);
        }
    }

    /// Waves and impedances at the ports for the coming step.
    #[inline(always)]
    fn present(
        &self,
        io: &mut Step<'_, T>,
        ends: &[chamber::Ends<T>; 2],
        x: T,
        v: T,
    ) -> Option<T::Mask> {
        let (rod, extra) = (self.rod(), self.extra());
        let half_step = 0.5 * self.dt;
        if self.leaks {
            let flow = fluxline_core::wave::laminar_flow(
                self.leakage,
                ends[0].wave[LEAK] - ends[1].wave[LEAK],
                ends[0].impedance[LEAK] + ends[1].impedance[LEAK],
            );
            io.history()[extra + LEAK_FLOW] = flow;
        }
        let halfway = x + v * half_step;
        let mut force = -self.back_force - self.spring_stiffness * halfway;
        let mut impedance = self.viscous_friction + self.spring_stiffness * half_step;
        for (side, ends) in ends.iter().enumerate().take(self.chambers) {
            let push = self.push(side);
            force += push * ends.wave[PISTON];
            impedance += push * push * ends.impedance[PISTON];
            let mut at_port = ends.impedance[PORT];
            if self.has_cushion {
                let outflow = io.history_at(extra + OUTFLOW + side);
                let leaving = io.flow(side).lt(T::zero());
                let resistance = self.cushioning(side, x, outflow);
                at_port += T::select(leaving, resistance, T::zero());
            }
            io.set_wave(side, ends.wave[PORT], at_port);
            io.bond_mut(side).dry = self.chamber.impedance(io, side * chamber::SIZE);
        }
        let mut touching = None;
        if let Some((wave, resistance, mask)) = self.stops(x, v, self.dt) {
            force += wave;
            impedance += resistance;
            touching = Some(mask);
        }
        if self.friction.has_bristles() {
            let bristles = self.friction.bristles(io.state(self.z()), v, self.dt);
            force -= bristles.wave;
            impedance += bristles.impedance;
        }
        io.set_wave(rod, force, impedance);
        io.bond_mut(rod).dry = self.friction.dry(v);
        // A chamber acts before the body that moves the piston: the position at the end of this step
        // is foreseen, not known.
        io.set_output(X, x + v * self.dt);
        io.set_output(V, v);
        touching
    }

    fn change_step(old: &Self, new: &Self, io: &mut Step<'_, T>) {
        let v = -io.flow(new.rod());
        for side in 0..new.chambers {
            let inflow = io.flow(side) - new.push(side) * v;
            Chamber::change_step(&old.chamber, &new.chamber, io, side * chamber::SIZE, inflow);
        }
    }

    /// Work of compression, against the surroundings, in spring, stops and bristles.
    fn energy(&self, io: &Step<'_, T>) -> T {
        let x = -io.displacement(self.rod());
        let mut energy = self.friction.energy(io.state(self.z()));
        energy += (self.back_force + self.spring_stiffness * x * 0.5) * x;
        let depth = (x - self.stroke).max(T::zero()) + (-x).max(T::zero());
        energy += self.stop_stiffness * depth * depth * 0.5;
        for side in 0..self.chambers {
            energy += self.chamber.work(io, side * chamber::SIZE);
        }
        energy
    }

    /// Swept volume and compressed oil; exact when the body at the rod moves by the trapezoidal rule.
    fn content(&self, io: &Step<'_, T>) -> T {
        let (x, v) = (-io.displacement(self.rod()), -io.flow(self.rod()));
        // Piston flow counts T·v per step, the position T/2·(v₋ + v): half a step apart.
        let behind = x - v * (0.5 * self.dt);
        let mut content = T::zero();
        for side in 0..self.chambers {
            content += self.volume(side, behind)
                + self.chamber.packed(io, side * chamber::SIZE)
                + io.flow(side) * self.dt;
        }
        content
    }
}

macro_rules! cylinder_physics {
    ($($name:ident $special:ident;)*) => {$(
        impl Physics for $name {
            fn prepare(&self, environment: &Environment) -> Result<CylinderConstants<f64>, Refusal> {
                CylinderConstants::new(&self.common(), &self.$special()?, environment)
            }
            fn law<T: Num>(k: &CylinderConstants<T>, law: &mut Law<'_, T>) {
                k.law(law);
            }
            fn settles(k: &CylinderConstants<f64>) -> bool {
                k.friction.sticks()
            }
            fn settle(k: &CylinderConstants<f64>, settle: &mut Settle<'_>) {
                k.settle(settle);
            }
            fn show(k: &CylinderConstants<f64>, settle: &mut Settle<'_>) {
                k.show(settle);
            }
            fn volumes(k: &CylinderConstants<f64>) -> Vec<(usize, f64)> {
                k.volumes()
            }
            fn start<T: Num>(k: &CylinderConstants<T>, io: &mut Step<'_, T>) {
                k.start(io);
            }
            #[inline(always)]
            fn step<T: Num>(k: &CylinderConstants<T>, io: &mut Step<'_, T>) {
                k.step(io);
            }
            fn change_step<T: Num>(
                old: &CylinderConstants<T>,
                new: &CylinderConstants<T>,
                io: &mut Step<'_, T>,
            ) {
                CylinderConstants::change_step(old, new, io);
            }
            fn history(k: &CylinderConstants<f64>) -> usize {
                k.history()
            }
            fn chambers(k: &CylinderConstants<f64>) -> &'static [(usize, usize)] {
                // The drop over a cushion would count as error.
                match (k.has_cushion, k.chambers) {
                    (true, _) => &[],
                    (false, 1) => &[(0, 0)],
                    (false, _) => &[(0, 0), (1, 1)],
                }
            }
            // Seals, leakage, cushions and stops take energy.
            fn is_lossless(_: &CylinderConstants<f64>) -> bool {
                false
            }
            const ROLE: BalanceRole = BalanceRole::Storage;
            fn energy<T: Num>(k: &CylinderConstants<T>, io: &Step<'_, T>) -> T {
                k.energy(io)
            }
            fn content<T: Num>(k: &CylinderConstants<T>, io: &Step<'_, T>) -> T {
                k.content(io)
            }
        }
    )*};
}
cylinder_physics! {
    Cylinder special;
    DoubleRodCylinder special;
    SingleActingCylinder special;
}

impl Cylinder {
    fn special(&self) -> Result<Special, Refusal> {
        if self.rod_diameter >= self.bore {
            return Err(rod_not_thinner(self.bore, self.rod_diameter));
        }
        let full = FRAC_PI_4 * self.bore.powi(2);
        let ring = full - FRAC_PI_4 * self.rod_diameter.powi(2);
        Ok(Special {
            chambers: 2,
            area: [self.area_a.unwrap_or(full), self.area_b.unwrap_or(ring)],
            dead_volume: [self.dead_volume_a, self.dead_volume_b],
            start_pressure: [self.start_pressure_a, self.start_pressure_b],
            leakage: self.leakage,
            spring_stiffness: 0.0,
            spring_preload: 0.0,
        })
    }
}

impl DoubleRodCylinder {
    fn special(&self) -> Result<Special, Refusal> {
        if self.rod_diameter >= self.bore {
            return Err(rod_not_thinner(self.bore, self.rod_diameter));
        }
        let ring = FRAC_PI_4 * (self.bore.powi(2) - self.rod_diameter.powi(2));
        Ok(Special {
            chambers: 2,
            area: [self.area.unwrap_or(ring); 2],
            dead_volume: [self.dead_volume_a, self.dead_volume_b],
            start_pressure: [self.start_pressure_a, self.start_pressure_b],
            leakage: self.leakage,
            spring_stiffness: 0.0,
            spring_preload: 0.0,
        })
    }
}

impl SingleActingCylinder {
    fn special(&self) -> Result<Special, Refusal> {
        Ok(Special {
            chambers: 1,
            area: [FRAC_PI_4 * self.bore.powi(2), 0.0],
            dead_volume: [self.dead_volume, 1.0],
            start_pressure: [self.start_pressure, None],
            leakage: 0.0,
            spring_stiffness: self.spring_stiffness,
            spring_preload: self.spring_preload,
        })
    }
}
