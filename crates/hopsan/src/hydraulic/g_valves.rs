//! Pressure valves that are described by the geometry of their spool.
//!
//! All of them are one spool between a spring and pressures, B·ẋ + (k + k_f·δ)·x = A·Σ(acting
//! pressures), whose edge lets q = C_q·w·x·√(2/ρ)·s(p₁ − p₂) through, with the smooth root
//! s(Δp) = Δp/(p₀² + Δp²)^¼, A = π·D²/4, w = π·D·f·sin φ and the flow force k_f = 2·C_q·w·cos φ.
//! They differ in the pressures that act and in the pressure drop δ that the flow force follows.

use crate::blocks::{
    End, Iterations, limit, limit_slope, on_positive, root, signed_root, solve_in,
};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;
use std::f64::consts::PI;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Relief>(),
    ComponentType::of::<Reducing>(),
    ComponentType::of::<CounterBalance>(),
    ComponentType::of::<Compensating>(),
    ComponentType::of::<Control>(),
    ComponentType::of::<InertRelief>(),
];

/// Flow that counts as small in the search for it, m³/s.
pub(crate) const SMALL_FLOW: f64 = 1e-4;

/// The pressure drop that the flow force follows.
#[derive(Clone, Copy)]
enum FlowForce {
    /// The drop of the step before.
    Lagged,
    /// The drop with its sign.
    Signed,
    /// The size of the drop.
    Absolute,
}

/// What distinguishes one valve from the next: Σ = g₁·p₁ + g₂·p₂ + g_r·p_ref + Σ g_i·p_i.
struct Balance<T, const P: usize> {
    /// Gains of the pressures at both ends.
    ends: [f64; 2],
    /// Gain of the reference pressure.
    reference: f64,
    /// Pilot ports and their gains; nothing flows there.
    pilots: [(usize, T); P],
    /// Pilot pressures below 0 count as 0.
    clips_pilots: bool,
    flow_force: FlowForce,
    /// An end that has run dry stays so until its line pushes again.
    stays_dry: bool,
}

/// Numbers of a spool that are read at the start and kept.
#[derive(Clone, Copy)]
struct Geometry<T> {
    area: T,
    conductance: T,
    flow_force: T,
    damping: T,
    stroke: T,
    stiffness: T,
    laminar: T,
}

/// Place of the delayed part behind the geometry.
const DELAYED: usize = 7;

impl<T: Num> Geometry<T> {
    #[wide]
    #[inline(always)]
    fn load(io: &Step<'_, T>, at: usize) -> Self {
        let m = |i| io.memory(at + i);
        Self {
            area: m(0),
            conductance: m(1),
            flow_force: m(2),
            damping: m(3),
            stroke: m(4),
            stiffness: m(5),
            laminar: m(6),
        }
    }

    #[inline(always)]
    fn store(self, io: &mut Step<'_, T>, at: usize) {
        let all = [
            self.area,
            self.conductance,
            self.flow_force,
            self.damping,
            self.stroke,
            self.stiffness,
            self.laminar,
        ];
        io.set_memories(at, all);
    }

    /// From diameter, share of the circumference, flow coefficient, jet angle and density.
    fn new(
        diameter: T,
        share: T,
        coefficient: T,
        angle: T,
        density: T,
        [damping, stroke, stiffness, laminar]: [T; 4],
    ) -> Self {
        let gradient = diameter * share * angle.sin() * PI;
        Self {
            area: diameter * diameter * (0.25 * PI),
            conductance: coefficient * gradient * (T::of(2.0) / density).sqrt(),
            flow_force: coefficient * gradient * angle.cos() * 2.0,
            damping,
            stroke,
            stiffness,
            laminar,
        }
    }
}

/// Ends as this step sees them: one that was dry and is not pushed has no wave and no impedance.
#[wide]
pub(crate) fn ends<T: Num, const N: usize>(
    io: &Step<'_, T>,
    ports: [usize; N],
    stays_dry: bool,
) -> [End<T>; N] {
    ports.map(|port| {
        let end = End::at(io, port);
        let zero = T::zero();
        let dry = io.effort(port).le(zero) & end.wave.le(zero);
        if stays_dry { end.dry_where(dry) } else { end }
    })
}

/// Pressures at both ends for a flow from the first to the second, not below 0.
#[inline(always)]
pub(crate) fn pressures<T: Num>([first, second]: [End<T>; 2], q: Dual<T>) -> [Dual<T>; 2] {
    let (c, zero) = (Dual::constant, Dual::zero());
    [
        (c(first.wave) - c(first.impedance) * q).max(zero),
        (c(second.wave) + c(second.impedance) * q).max(zero),
    ]
}

/// Bounds of the flow: none, and the flow that makes both pressures equal.
#[inline(always)]
pub(crate) fn flow_bounds<T: Num>([first, second]: [End<T>; 2]) -> (T, T) {
    let (push, resistance) = (first.wave - second.wave, first.impedance + second.impedance);
    let zero = T::zero();
    let even = T::select(resistance.gt(zero), push / resistance, push.signed_sqrt() * 1e9);
    (even.min(zero), even.max(zero))
}

/// Writes flow and pressures of a flow from port 0 to port 1.
#[wide]
#[inline(always)]
pub(crate) fn write_flow<T: Num>(io: &mut Step<'_, T>, ends: [End<T>; 2], q: T) -> [T; 2] {
    let p = pressures(ends, Dual::constant(q)).map(|p| p.value);
    write_both(io, q, p);
    p
}

fn write_both<T: Num>(io: &mut Step<'_, T>, q: T, p: [T; 2]) {
    for (port, flow) in [(0, -q), (1, q)] {
        let bond = io.bond_mut(port);
        bond.flow = flow;
        bond.effort = p[port];
    }
}

impl<T: Num, const P: usize> Balance<T, P> {
    #[inline(always)]
    fn pilot_pressure(&self, io: &Step<'_, T>, port: usize) -> T {
        let c = io.wave(port);
        if self.clips_pilots { c.max(T::zero()) } else { c }
    }

    #[wide]
    #[inline(always)]
    fn bias(&self, io: &Step<'_, T>, reference: T) -> T {
        self.pilots.iter().fold(reference * self.reference, |sum, &(port, gain)| {
            sum + gain * self.pilot_pressure(io, port)
        })
    }

    fn start(&self, io: &mut Step<'_, T>, at: usize, k: Geometry<T>, reference: T, x: T) {
        let (p1, p2, dt) = (io.effort(0), io.effort(1), io.dt);
        let drop = match self.flow_force {
            FlowForce::Absolute => (p1 - p2).abs(),
            _ => p1 - p2,
        };
        let act = p1 * self.ends[0] + p2 * self.ends[1] + self.bias(io, reference);
        let spring = (k.stiffness + k.flow_force * drop) * dt;
        let delayed =
            ((spring - k.damping * 2.0) * x - act * k.area * dt) / (spring + k.damping * 2.0);
        k.store(io, at);
        io.set_memory(at + DELAYED, delayed);
    }

    #[wide]
    #[inline(always)]
    fn step(
        &self,
        io: &mut Step<'_, T>,
        at: usize,
        iterations: usize,
        reference: T,
        old_x: T,
    ) -> T {
        let (k, delayed, dt) = (Geometry::load(io, at), io.memory(at + DELAYED), io.dt);
        let bias = self.bias(io, reference);
        let old_drop = io.effort(0) - io.effort(1);
        let c = Dual::constant;
        // Spool position, what acts on it and the divisor of its recursion.
        let spool = |p: [Dual<T>; 2]| {
            let drop = match self.flow_force {
                FlowForce::Lagged => c(old_drop),
                FlowForce::Signed => p[0] - p[1],
                FlowForce::Absolute => (p[0] - p[1]).abs(),
            };
            let act = (p[0] * self.ends[0] + p[1] * self.ends[1] + c(bias)) * c(k.area * dt);
            let divisor = c(k.damping * 2.0 + k.stiffness * dt) + c(k.flow_force * dt) * drop;
            let x = limit(act / divisor - c(delayed), Dual::zero(), c(k.stroke));
            (x, act, divisor)
        };
        let edge = |x: Dual<T>, p: [Dual<T>; 2]| {
            c(k.conductance) * x * signed_root(p[0] - p[1], c(k.laminar))
        };
        let old_q = io.flow(1);
        let (x, q, p) = if iterations == 0 {
            let ends = ends(io, [0, 1], self.stays_dry);
            let q = root(io, flow_bounds(ends), old_q, SMALL_FLOW, |q| {
                let p = pressures(ends, q);
                q - edge(spool(p).0, p)
            });
            let p = pressures(ends, c(q));
            (spool(p).0.value, q, p.map(|p| p.value))
        } else {
            let ends = [End::at(io, 0), End::at(io, 1)];
            let guess = [old_x, old_q, io.effort(0), io.effort(1)];
            let [x, q, p1, p2] = solve_in(io, iterations, guess, [1.0; 4], |&[x, q, p1, p2]| {
                let line = |end: End<T>, p: Dual<T>, q: Dual<T>| {
                    let wet = if self.stays_dry { on_positive(p) } else { Dual::one() };
                    (c(end.wave) + c(end.impedance) * wet * q).max(Dual::zero())
                };
                let p = [p1, p2];
                let (x_of_p, q_of_x) = (spool(p).0, edge(x, p));
                let [p1_of_q, p2_of_q] = [line(ends[0], p1, -q), line(ends[1], p2, q)];
                [x - x_of_p, q - q_of_x, p1 - p1_of_q, p2 - p2_of_q]
            });
            (x, q, [p1, p2])
        };
        write_both(io, q, p);
        let (_, act, divisor) = spool(p.map(c));
        let (act, divisor) = (act.value, divisor.value);
        io.set_memory(at + DELAYED, ((divisor - k.damping * 4.0) * x - act) / divisor);
        for &(port, _) in &self.pilots {
            let p = self.pilot_pressure(io, port);
            let bond = io.bond_mut(port);
            bond.flow = T::zero();
            bond.effort = p;
        }
        x
    }
}

/// A valve of the family: its ports besides P1 and P2, further inputs, defaults, and its balance.
macro_rules! spool_valve {
    (
        $(#[$doc:meta])*
        $name:literal $type:ident
        ports { $($ports:tt)* }
        defaults { pref $pref:tt, Dv $diameter:tt, Bv $damping:tt, Xvmax $stroke:tt,
            phi $angle:tt, ks $stiffness:tt }
        more { $($more:tt)* }
        remembers { $($remembered:tt)* }
        start $start:expr;
        balance $balance:expr;
    ) => {
        $(#[$doc])*
        #[component($name, q, constants = Iterations)]
        pub struct $type {
            /// inlet
            #[port(name = "P1")]
            p1: Hydraulic,
            /// outlet
            #[port(name = "P2")]
            p2: Hydraulic,
            $($ports)*
            /// x — position of the spool [m]
            #[output(name = "xv")]
            position: Signal,
            /// p_ref — reference pressure [Pa]
            #[input(name = "pref", default = $pref)]
            pub reference: f64,
            /// ρ — density of the oil, read at the start [kg/m³]
            #[input(name = "rho", default = "870 kg/m^3")]
            pub density: f64,
            /// η — viscosity of the oil, without effect [Pa*s]
            #[input(name = "visc", default = "0.03 Pa*s")]
            pub viscosity: f64,
            /// D — diameter of the spool, read at the start [m]
            #[input(name = "Dv", default = $diameter)]
            pub diameter: f64,
            /// f — share of the circumference that opens, read at the start [–]
            #[input(name = "frac", default = 0.1)]
            pub share: f64,
            $($more)*
            /// B — damping of the spool, read at the start [N*s/m]
            #[input(name = "Bv", default = $damping)]
            pub damping: f64,
            /// x_max — largest opening, read at the start [m]
            #[input(name = "Xvmax", default = $stroke)]
            pub stroke: f64,
            /// C_q — flow coefficient, read at the start [–]
            #[input(name = "Cq", default = 0.67)]
            pub flow_coefficient: f64,
            /// φ — angle of the jet, read at the start [rad]
            #[input(name = "phi", default = $angle)]
            pub angle: f64,
            /// k — stiffness of the spring, read at the start [N/m]
            #[input(name = "ks", default = $stiffness)]
            pub stiffness: f64,
            /// p₀ — pressure drop at which the flow turns turbulent, read at the start [Pa]
            #[input(name = "p0", default = "1e5 Pa")]
            pub laminar: f64,
            /// – — Newton iterations per step as Hopsan does them; 0 solves to convergence [–]
            #[parameter(default = 0)]
            pub iterations: usize,
            /// A — area of the spool [m²]
            #[memory]
            kept_area: Memory,
            /// – — conductance per opening [m^(5/2)/kg^(1/2)]
            #[memory]
            kept_conductance: Memory,
            /// k_f — flow force per opening and pressure drop [m]
            #[memory]
            kept_flow_force: Memory,
            /// B — damping [N*s/m]
            #[memory]
            kept_damping: Memory,
            /// x_max — largest opening [m]
            #[memory]
            kept_stroke: Memory,
            /// k — stiffness [N/m]
            #[memory]
            kept_stiffness: Memory,
            /// p₀ — pressure drop at which the flow turns turbulent [Pa]
            #[memory]
            kept_laminar: Memory,
            /// – — part of the position that the past decides, negated [m]
            #[memory]
            delayed: Memory,
            $($remembered)*
        }

        impl Physics for $type {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<Iterations<f64>, Refusal> {
                Ok(Iterations::new(self.iterations))
            }

            #[wide]
            fn start<T: Num>(_: &Iterations<T>, io: &mut Step<'_, T>) {
                let start: fn(&mut Step<'_, T>) = $start;
                start(io);
                let balance: fn(&Step<'_, T>) -> Balance<T, _> = $balance;
                let balance = balance(io);
                let k = Geometry::new(
                    io.input(Self::DIAMETER),
                    io.input(Self::SHARE),
                    io.input(Self::FLOW_COEFFICIENT),
                    io.input(Self::ANGLE),
                    io.input(Self::DENSITY),
                    [Self::DAMPING, Self::STROKE, Self::STIFFNESS, Self::LAMINAR]
                        .map(|i| io.input(i)),
                );
                let (reference, x) = (io.input(Self::REFERENCE), io.output(Self::POSITION));
                balance.start(io, Self::KEPT_AREA, k, reference, x);
            }

            #[inline(always)]
            fn step<T: Num>(k: &Iterations<T>, io: &mut Step<'_, T>) {
                let balance: fn(&Step<'_, T>) -> Balance<T, _> = $balance;
                let balance = balance(io);
                let (reference, x) = (io.input(Self::REFERENCE), io.output(Self::POSITION));
                let x = balance.step(io, Self::KEPT_AREA, k.count, reference, x);
                io.set_output(Self::POSITION, x);
            }
        }
    };
}

spool_valve! {
    /// Relief valve: opens when the pressure drop exceeds its reference.
    ///
    /// B·ẋ + (k + k_f·Δp₋)·x = A·(p₁ − p₂ − p_ref), 0 ≤ x ≤ x_max;  q = C_q·w·x·√(2/ρ)·s(p₁ − p₂)
    ///
    /// The flow force follows the pressure drop of the step before; pressures are not below 0.
    "hopsan.HydraulicPressureReliefValveG" Relief
    ports {}
    defaults { pref "1e7 Pa", Dv "0.01 m", Bv "1000 N*s/m", Xvmax "0.002 m", phi "1.17 rad",
        ks "1e4 N/m" }
    more {}
    remembers {}
    start |_| {};
    balance |_| Balance {
        ends: [1.0, -1.0],
        reference: -1.0,
        pilots: [],
        clips_pilots: false,
        flow_force: FlowForce::Lagged,
        stays_dry: false,
    };
}

spool_valve! {
    /// Reducing valve: closes when the pressure behind it exceeds its reference.
    ///
    /// B·ẋ + (k + k_f·(p₁ − p₂))·x = A·(p_ref − p₂), 0 ≤ x ≤ x_max;
    /// q = C_q·w·x·√(2/ρ)·s(p₁ − p₂)
    "hopsan.HydraulicPressureReducingValveG" Reducing
    ports {}
    defaults { pref "1e7 Pa", Dv "0.01 m", Bv "1000 N*s/m", Xvmax "0.002 m", phi "1.17 rad",
        ks "1e4 N/m" }
    more {}
    remembers {}
    start |_| {};
    balance |_| Balance {
        ends: [0.0, -1.0],
        reference: 1.0,
        pilots: [],
        clips_pilots: false,
        flow_force: FlowForce::Signed,
        stays_dry: true,
    };
}

spool_valve! {
    /// Counterbalance valve: a relief valve that a pilot pressure helps to open.
    ///
    /// B·ẋ + (k + k_f·(p₁ − p₂))·x = A·(p₁ − p₂ + κ·p₃ − p_ref), 0 ≤ x ≤ x_max;
    /// q = C_q·w·x·√(2/ρ)·s(p₁ − p₂)
    "hopsan.HydraulicCounterBalanceValveG" CounterBalance
    ports {
        /// pilot
        #[port(name = "P3")]
        p3: Hydraulic,
    }
    defaults { pref "1e6 Pa", Dv "0.03 m", Bv "100 N*s/m", Xvmax "0.03 m", phi "0.03 rad",
        ks "100 N/m" }
    more {
        /// κ — ratio of the pilot's area to the spool's, read at the start [–]
        #[input(name = "kappa", default = 0.1)]
        pub pilot_ratio: f64,
    }
    remembers {
        /// κ — ratio of the pilot's area to the spool's [–]
        #[memory]
        kept_ratio: Memory,
    }
    start |io| io.set_memory(Self::KEPT_RATIO, io.input(Self::PILOT_RATIO));
    balance |io| Balance {
        ends: [1.0, -1.0],
        reference: -1.0,
        pilots: [(Self::P3, io.memory(Self::KEPT_RATIO))],
        clips_pilots: true,
        flow_force: FlowForce::Signed,
        stays_dry: true,
    };
}

spool_valve! {
    /// Compensator: keeps the pressure behind it a reference above that of a pilot.
    ///
    /// B·ẋ + (k + k_f·|p₁ − p₂|)·x = A·(p₃ + p_ref − p₂), 0 ≤ x ≤ x_max;
    /// q = C_q·w·x·√(2/ρ)·s(p₁ − p₂)
    "hopsan.HydraulicPressureCompensatingValveG" Compensating
    ports {
        /// pilot
        #[port(name = "P3")]
        p3: Hydraulic,
    }
    defaults { pref "1e6 Pa", Dv "0.03 m", Bv "1000 N*s/m", Xvmax "0.01 m", phi "1.17 rad",
        ks "1e4 N/m" }
    more {}
    remembers {}
    start |_| {};
    balance |_| Balance {
        ends: [0.0, -1.0],
        reference: 1.0,
        pilots: [(Self::P3, T::one())],
        clips_pilots: false,
        flow_force: FlowForce::Absolute,
        stays_dry: true,
    };
}

spool_valve! {
    /// Piloted valve: opens when one pilot pressure exceeds another by its reference.
    ///
    /// B·ẋ + (k + k_f·|p₁ − p₂|)·x = A·(p₃ − p₄ − p_ref), 0 ≤ x ≤ x_max;
    /// q = C_q·w·x·√(2/ρ)·s(p₁ − p₂)
    "hopsan.HydraulicPressureControlValveG" Control
    ports {
        /// pilot that opens
        #[port(name = "P3")]
        p3: Hydraulic,
        /// pilot that closes
        #[port(name = "P4")]
        p4: Hydraulic,
    }
    defaults { pref "1e6 Pa", Dv "0.01 m", Bv "1000 N*s/m", Xvmax "0.002 m", phi "1.17 rad",
        ks "1e4 N/m" }
    more {}
    remembers {}
    start |_| {};
    balance |_| Balance {
        ends: [0.0, 0.0],
        reference: -1.0,
        pilots: [(Self::P3, T::one()), (Self::P4, T::of(-1.0))],
        clips_pilots: false,
        flow_force: FlowForce::Absolute,
        stays_dry: true,
    };
}

/// Relief valve whose spool has mass.
///
/// M·ẍ + B·ẋ + (k + k_f·Δp₋)·x = A·(p₁ − p₂ − p_ref), 0 ≤ x ≤ x_max;
/// q = C_q·w·x·√(2/ρ)·s(p₁ − p₂)
///
/// Position and speed are two recursions of their own; at a stop the speed all but vanishes.
#[component("hopsan.HydraulicPressureRelief2ValveG", q)]
pub struct InertRelief {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2")]
    p2: Hydraulic,
    /// x — position of the spool [m]
    #[output(name = "xv")]
    position: Signal,
    /// ẋ — speed of the spool [m/s]
    #[output(name = "dxv")]
    speed: Signal,
    /// p_ref — reference pressure [Pa]
    #[input(name = "pref", default = "1e7 Pa")]
    pub reference: f64,
    /// ρ — density of the oil, read at the start [kg/m³]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// η — viscosity of the oil, without effect [Pa*s]
    #[input(name = "visc", default = "0.03 Pa*s")]
    pub viscosity: f64,
    /// D — diameter of the spool, read at the start [m]
    #[input(name = "Dv", default = "0.01 m")]
    pub diameter: f64,
    /// B — damping of the spool, read at the start [N*s/m]
    #[input(name = "Bv", default = "1000 N*s/m")]
    pub damping: f64,
    /// M — mass of the spool, read at the start [kg]
    #[input(name = "Mv", default = "0.03 kg")]
    pub mass: f64,
    /// x_max — largest opening, read at the start [m]
    #[input(name = "Xvmax", default = "0.03 m")]
    pub stroke: f64,
    /// C_q — flow coefficient, read at the start [–]
    #[input(name = "Cq", default = 0.67)]
    pub flow_coefficient: f64,
    /// φ — angle of the jet, read at the start [rad]
    #[input(name = "phi", default = "1.17 rad")]
    pub angle: f64,
    /// k — stiffness of the spring, read at the start [N/m]
    #[input(name = "ks", default = "1e4 N/m")]
    pub stiffness: f64,
    /// p₀ — pressure drop at which the flow turns turbulent, read at the start [Pa]
    #[input(name = "p0", default = "1e5 Pa")]
    pub laminar: f64,
    /// A — area of the spool [m²]
    #[memory]
    kept_area: Memory,
    /// – — conductance per opening [m^(5/2)/kg^(1/2)]
    #[memory]
    kept_conductance: Memory,
    /// k_f — flow force per opening and pressure drop [m]
    #[memory]
    kept_flow_force: Memory,
    /// B — damping [N*s/m]
    #[memory]
    kept_damping: Memory,
    /// x_max — largest opening [m]
    #[memory]
    kept_stroke: Memory,
    /// k — stiffness [N/m]
    #[memory]
    kept_stiffness: Memory,
    /// p₀ — pressure drop at which the flow turns turbulent [Pa]
    #[memory]
    kept_laminar: Memory,
    /// M — mass [kg]
    #[memory]
    kept_mass: Memory,
    /// – — part of the position that the last step decides, negated [m]
    #[memory]
    delayed_1: Memory,
    /// – — part of the position that the step before it decides, negated [m]
    #[memory]
    delayed_2: Memory,
    /// – — what `delayed_2` becomes after the next step [m]
    #[memory]
    waiting: Memory,
    /// – — part of the speed that the last step decides, negated [m/s]
    #[memory]
    delayed_speed: Memory,
}

impl InertRelief {
    /// Remembers what later steps need of position, speed and acting force.
    #[inline(always)]
    fn remember<T: Num>(io: &mut Step<'_, T>, k: &Geometry<T>, spring: T, act: T, x: T, v: T) {
        let (dt, m) = (io.dt, io.memory(Self::KEPT_MASS));
        let t2 = dt * dt;
        let divisor = k.damping * (2.0 * dt) + spring * t2 + m * 4.0;
        let pull = (spring * x - act) * t2;
        io.set_memory(Self::DELAYED_1, (pull * 2.0 - m * x * 8.0) / divisor);
        io.set_memory(Self::DELAYED_2, io.memory(Self::WAITING));
        io.set_memory(Self::WAITING, (pull - k.damping * x * (2.0 * dt) + m * x * 4.0) / divisor);
        let speed = (k.damping * v - act + spring * x) * dt - m * v * 2.0;
        io.set_memory(Self::DELAYED_SPEED, speed / (k.damping * dt + m * 2.0));
    }
}

impl Physics for InertRelief {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let k = Geometry::new(
            io.input(Self::DIAMETER),
            T::one(),
            io.input(Self::FLOW_COEFFICIENT),
            io.input(Self::ANGLE),
            io.input(Self::DENSITY),
            [Self::DAMPING, Self::STROKE, Self::STIFFNESS, Self::LAMINAR].map(|i| io.input(i)),
        );
        k.store(io, Self::KEPT_AREA);
        io.set_memory(Self::KEPT_MASS, io.input(Self::MASS));
        let drop = io.effort(Self::P1) - io.effort(Self::P2);
        let spring = k.stiffness + k.flow_force * drop;
        let act = k.area * (drop - io.input(Self::REFERENCE));
        let (x, v) = (io.output(Self::POSITION), io.output(Self::SPEED));
        Self::remember(io, &k, spring, act, x, v);
        io.set_memory(Self::DELAYED_2, io.memory(Self::WAITING));
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (k, dt) = (Geometry::load(io, Self::KEPT_AREA), io.dt);
        let (m, reference) = (io.memory(Self::KEPT_MASS), io.input(Self::REFERENCE));
        let spring = k.stiffness + k.flow_force * (io.effort(Self::P1) - io.effort(Self::P2));
        let divisor = k.damping * (2.0 * dt) + spring * (dt * dt) + m * 4.0;
        let delayed = io.memory(Self::DELAYED_1) + io.memory(Self::DELAYED_2);
        let c = Dual::constant;
        let travel = |drop: Dual<T>| {
            let x = (drop - c(reference)) * c(k.area * (dt * dt) / divisor) - c(delayed);
            limit(x, Dual::zero(), c(k.stroke))
        };
        let ends = ends(io, [Self::P1, Self::P2], false);
        let (bounds, guess) = (flow_bounds(ends), io.flow(Self::P2));
        let q = root(io, bounds, guess, SMALL_FLOW, |q| {
            let p = pressures(ends, q);
            let drop = p[0] - p[1];
            q - c(k.conductance) * travel(drop) * signed_root(drop, c(k.laminar))
        });
        let p = write_flow(io, ends, q);
        let drop = p[0] - p[1];
        let (x, act) = (travel(c(drop)).value, k.area * (drop - reference));
        let free =
            (act - spring * x) * dt / (k.damping * dt + m * 2.0) - io.memory(Self::DELAYED_SPEED);
        let v = limit_slope(x, T::zero(), k.stroke) * free;
        Self::remember(io, &k, spring, act, x, v);
        io.set_output(Self::POSITION, x);
        io.set_output(Self::SPEED, v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_iterations_lead_to_the_solution, assert_near, bench};
    use fluxline_core::testing::Bench;

    const DT: f64 = 1e-3;

    /// A valve that has come to rest between line ends.
    fn settled<M: Physics>(set: &[(usize, f64)], ends: &[(f64, f64)]) -> Bench<M> {
        let mut valve = bench::<M>(DT, set);
        valve.start();
        for _ in 0..20_000 {
            for (port, &(wave, impedance)) in ends.iter().enumerate() {
                valve.line(port, wave, impedance);
            }
            valve.step();
        }
        assert_eq!(valve.state.faults.unconverged, 0);
        valve
    }

    /// The balance of forces and the law of the edge, from the geometry.
    fn assert_balanced<M: Physics>(
        valve: &Bench<M>,
        (diameter, share, angle, stiffness): (f64, f64, f64, f64),
        act: f64,
    ) {
        let (p1, p2, x) = (valve.effort(0), valve.effort(1), valve.output(0));
        assert!(x > 0.0 && x < 2e-3, "{x}");
        let gradient = PI * diameter * share * f64::sin(angle);
        let force = 2.0 * 0.67 * gradient * f64::cos(angle) * (p1 - p2);
        assert_near((stiffness + force) * x, PI / 4.0 * diameter * diameter * act, 1e-8);
        let drop = p1 - p2;
        let root = drop / (1e10 + drop * drop).powf(0.25);
        let flow = 0.67 * gradient * x * (2.0 / 870.0f64).sqrt() * root;
        assert_near(valve.flow(1), flow, 1e-9);
        assert_near(valve.flow(0), -flow, 1e-9);
    }

    #[test]
    fn at_rest_spring_and_flow_force_balance_the_pressures() {
        let small = (0.01, 0.1, 1.17, 1e4);
        let relief = settled::<Relief>(&[], &[(1.2e7, 1e10), (1e5, 1e8)]);
        assert_balanced(&relief, small, relief.effort(0) - relief.effort(1) - 1e7);
        let reducing = settled::<Reducing>(&[], &[(2e7, 1e9), (9.5e6, 1e10)]);
        assert_balanced(&reducing, small, 1e7 - reducing.effort(1));
        let set = [(CounterBalance::ANGLE, 1.0), (CounterBalance::STIFFNESS, 1e5)];
        let ends = [(3e6, 1e10), (1e5, 1e8), (2e6, 1e9)];
        let counter = settled::<CounterBalance>(&set, &ends);
        let act = counter.effort(0) - counter.effort(1) + 0.1 * 2e6 - 1e6;
        assert_balanced(&counter, (0.03, 0.1, 1.0, 1e5), act);
        let ends = [(1e7, 1e9), (2.5e6, 1e10), (2e6, 1e9)];
        let compensating = settled::<Compensating>(&[], &ends);
        let act = 2e6 + 1e6 - compensating.effort(1);
        assert_balanced(&compensating, (0.03, 0.1, 1.17, 1e4), act);
        assert_eq!((compensating.flow(2), compensating.effort(2)), (0.0, 2e6));
        let ends = [(1e7, 1e9), (2.5e6, 1e10), (3.2e6, 1e9), (2e6, 1e9)];
        assert_balanced(&settled::<Control>(&[], &ends), small, 2e5);
    }

    #[test]
    fn iterations_lead_to_the_flow_of_an_opening_valve() {
        assert_iterations_lead_to_the_solution::<Relief>(DT, |valve| {
            valve.state.bonds[0].effort = 1.2e7;
            valve.start();
            valve.line(0, 1.3e7, 1e10).line(1, 1e5, 1e8);
        });
    }

    #[test]
    fn a_spool_follows_by_the_trapezoidal_rule() {
        let mut valve = bench::<Control>(DT, &[(Control::ANGLE, PI / 2.0)]);
        valve.start();
        // At the start nothing but the reference acts; then 2 and 3 bar more.
        let mut x = [0.0; 2];
        for (step, pilot) in [1.2e6, 1.3e6].into_iter().enumerate() {
            for port in 0..2 {
                valve.line(port, 1e6, 1e9);
            }
            valve.line(2, pilot, 0.0).line(3, 0.0, 0.0).step();
            x[step] = valve.output(0);
        }
        let (area, b, k) = (PI / 4.0 * 1e-4, 1000.0, 1e4);
        // The first step has nothing but the closed stop behind it.
        let first = area * DT * (2e5 - 1e6) / (2.0 * b + k * DT);
        assert_eq!((first < 0.0, x[0]), (true, 0.0));
        let second = (area * DT * (2e5 + 3e5) + (2.0 * b - k * DT) * x[0]) / (2.0 * b + k * DT);
        assert_near(x[1], second, 1e-12);
    }

    #[test]
    fn without_mass_and_flow_force_the_inert_valve_moves_as_the_light_one() {
        let angle = PI / 2.0;
        let mut inert =
            bench::<InertRelief>(DT, &[(InertRelief::ANGLE, angle), (InertRelief::MASS, 0.0)]);
        let mut light = bench::<Relief>(
            DT,
            &[(Relief::ANGLE, angle), (Relief::SHARE, 1.0), (Relief::STROKE, 0.03)],
        );
        for port in 0..2 {
            let p = [1e7, 0.0][port];
            inert.state.bonds[port].effort = p;
            light.state.bonds[port].effort = p;
        }
        inert.start();
        light.start();
        for step in 0..200 {
            let wave = 1.1e7 + 2e6 * (step as f64 * 0.1).sin();
            inert.line(0, wave, 1e8).line(1, 0.0, 0.0).step();
            light.line(0, wave, 1e8).line(1, 0.0, 0.0).step();
            let (x, y) = (inert.output(InertRelief::POSITION), light.output(0));
            assert!((x - y).abs() < 1e-9, "step {step}: {x} for {y}");
        }
        assert!(light.output(0) > 1e-5);
    }

    #[test]
    fn a_dry_end_stays_at_zero_until_its_line_pushes() {
        let mut valve = bench::<Compensating>(DT, &[(Compensating::REFERENCE, 1e6)]);
        valve.start();
        let mut at = |wave: f64| {
            valve.line(0, 1e6, 1e8).line(1, wave, 1e8).line(2, 1e6, 0.0).step();
            valve.effort(1)
        };
        assert_eq!(at(-1e6), 0.0);
        assert!(at(1e3) > 0.0);
    }
}
