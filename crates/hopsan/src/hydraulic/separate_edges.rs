//! Valves with edges that move by themselves, and one whose spool a pilot moves, whose edges are
//! solved together.

use super::g_spools::{jet, network};
use super::g_valves::ends;
use crate::blocks::{limit, on_positive, signed_root, signed_root_inverse, solve};
use crate::held::Held;
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;
use std::f64::consts::PI;

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<Valve416>(), ComponentType::of::<PressureControlValve33>()];

/// Four-way valve whose four edges have spools of their own.
///
/// Each edge opens with x + x₀ of its own, at most x₀ + x_max, and lets q = K·s(Δp) through,
/// K = C_q·√(2/ρ)·f·π·d·opening, with the smooth root s(Δp) = Δp/(p₀² + Δp²)^¼.
#[component("hopsan.HydraulicValve416", q)]
pub struct Valve416 {
    /// supply
    #[port(name = "Pp")]
    p: Hydraulic,
    /// tank
    #[port(name = "Pt")]
    t: Hydraulic,
    /// work port a
    #[port(name = "Pa")]
    a: Hydraulic,
    /// work port b
    #[port(name = "Pb")]
    b: Hydraulic,
    /// x_pa — position at edge p–a [m]
    #[input(name = "xvpa", default = "0 m")]
    pub position_pa: f64,
    /// x_ta — position at edge t–a [m]
    #[input(name = "xvta", default = "0 m")]
    pub position_ta: f64,
    /// x_pb — position at edge p–b [m]
    #[input(name = "xvpb", default = "0 m")]
    pub position_pb: f64,
    /// x_tb — position at edge t–b [m]
    #[input(name = "xvtb", default = "0 m")]
    pub position_tb: f64,
    /// ρ — density of the oil, read at the start [kg/m^3]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// C_q — flow coefficient, read at the start [–]
    #[input(name = "Cq", default = 0.67)]
    pub flow_coefficient: f64,
    /// d — diameter of the spools, read at the start [m]
    #[input(name = "Sd", default = "0.001 m")]
    pub diameter: f64,
    /// f_pa — share of the circumference that edge p–a opens, read at the start [–]
    #[input(name = "Frpa", default = 1)]
    pub share_pa: f64,
    /// f_ta — share of the circumference that edge t–a opens, read at the start [–]
    #[input(name = "Frta", default = 1)]
    pub share_ta: f64,
    /// f_pb — share of the circumference that edge p–b opens, read at the start [–]
    #[input(name = "Frpb", default = 1)]
    pub share_pb: f64,
    /// f_tb — share of the circumference that edge t–b opens, read at the start [–]
    #[input(name = "Frtb", default = 1)]
    pub share_tb: f64,
    /// x₀ — opening of edge p–a in the centre, read at the start [m]
    #[input(name = "Xpa0", default = "0 m")]
    pub lap_pa: f64,
    /// x₀ — opening of edge t–a in the centre, read at the start [m]
    #[input(name = "Xta0", default = "0 m")]
    pub lap_ta: f64,
    /// x₀ — opening of edge p–b in the centre, read at the start [m]
    #[input(name = "Xpb0", default = "0 m")]
    pub lap_pb: f64,
    /// x₀ — opening of edge t–b in the centre, read at the start [m]
    #[input(name = "Xtb0", default = "0 m")]
    pub lap_tb: f64,
    /// x_max — largest displacement, read at the start [m]
    #[input(name = "Xvmax", default = "0.01 m")]
    pub stroke: f64,
    /// p₀ — pressure drop at which the flow turns turbulent, read at the start [Pa]
    #[input(name = "plam", default = "1e4 Pa")]
    pub laminar: f64,
}

/// Three-way valve that a pilot pressure moves against a spring: it holds the pilot at a reference.
///
/// B·x' + (k + k_f)·x = A·(p₄ − p_ref) by the bilinear rule within [x_min, x_max], A = π/4·d²;
/// flow forces stiffen it by k_f = 2π·C_q·d·cos(φ)·(f_ap·|p₁ − p₃| + f_at·|p₂ − p₃|), each while its
/// edge is open. Edge 1–3 opens with x_ap + x, at most x_ap + x_max; edge 2–3 with x_ap − x, at most
/// x_at + x_max; flows are q = K·s(Δp), solved together with the position.
#[component("hopsan.HydraulicPressureControlValve33", q)]
pub struct PressureControlValve33 {
    /// supply
    #[port(name = "P1")]
    p1: Hydraulic,
    /// tank
    #[port(name = "P2")]
    p2: Hydraulic,
    /// work port
    #[port(name = "P3")]
    p3: Hydraulic,
    /// pilot
    #[port(name = "P4")]
    pilot: Hydraulic,
    /// x — position of the spool [m]
    #[output(name = "xv")]
    position: Signal,
    /// p_ref — reference of the pilot [Pa]
    #[input(name = "pref", default = "1e6 Pa")]
    pub reference: f64,
    /// ρ — density of the oil, read at the start [kg/m^3]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// C_q — flow coefficient, read at the start [–]
    #[input(name = "Cq", default = 0.67)]
    pub flow_coefficient: f64,
    /// d — diameter of the spool, read at the start [m]
    #[input(name = "Sd", default = "0.01 m")]
    pub diameter: f64,
    /// f_ap — share of the circumference that edge 1–3 opens, read at the start [–]
    #[input(name = "Frap", default = 1)]
    pub share_ap: f64,
    /// f_at — share of the circumference that edge 2–3 opens, read at the start [–]
    #[input(name = "Frat", default = 1)]
    pub share_at: f64,
    /// x_ap — opening of both edges in the centre, read at the start [m]
    #[input(name = "Xap0", default = "0 m")]
    pub lap_ap: f64,
    /// x_at — part of the largest opening of edge 2–3, read at the start [m]
    #[input(name = "Xat0", default = "0 m")]
    pub lap_at: f64,
    /// p₀ — pressure drop at which the flow turns turbulent, read at the start [Pa]
    #[input(name = "plam", default = "1e4 Pa")]
    pub laminar: f64,
    /// B — viscous friction, read at the start [N*s/m]
    #[input(name = "Bv", default = "100 N*s/m")]
    pub friction: f64,
    /// x_min — smallest displacement, read at the start [m]
    #[input(name = "Xvmin", default = "-0.01 m")]
    pub rear_stop: f64,
    /// x_max — largest displacement, read at the start [m]
    #[input(name = "Xvmax", default = "0.01 m")]
    pub front_stop: f64,
    /// φ — angle of the jets, read at the start [rad]
    #[input(name = "phi", default = "0.03 rad")]
    pub jet_angle: f64,
    /// k — stiffness of the spring, read at the start [N/m]
    #[input(name = "ks", default = "100 N/m")]
    pub stiffness: f64,
    /// – — what the last step adds to the position [m]
    #[memory]
    kept: Memory,
}

impl Physics for Valve416 {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let held = |i: usize| Self::HELD.get(io, i);
        let gain =
            jet(held(Self::FLOW_COEFFICIENT), held(Self::DENSITY)) * held(Self::DIAMETER) * PI;
        let edge = |i: usize, from: usize, to: usize| {
            let lap = held(Self::LAP_PA + i);
            let x = lap + io.input(Self::POSITION_PA + i);
            let opening = limit(x, T::zero(), lap + held(Self::STROKE));
            (gain * held(Self::SHARE_PA + i) * opening, from, to)
        };
        let edges = [
            edge(0, Self::P, Self::A),
            edge(1, Self::T, Self::A),
            edge(2, Self::P, Self::B),
            edge(3, Self::T, Self::B),
        ];
        let laminar = held(Self::LAMINAR);
        network(io, [Self::P, Self::T, Self::A, Self::B], edges, laminar);
    }
}

impl Valve416 {
    const HELD: Held = Held::inputs(Self::DENSITY, Self::LAMINAR);
}

/// What [`PressureControlValve33`] needs in a step.
struct PilotedSpool<T> {
    /// A·T·(p₄ − p_ref).
    push: T,
    /// 2·B.
    damping: T,
    /// k·T.
    spring: T,
    /// 2π·C_q·d·cos(φ)·T times the share of each edge.
    jets: [T; 2],
    /// What opens edge 1–3 and, for the flow force, edge 2–3, in the centre.
    laps: [T; 2],
    /// Stops.
    stops: (T, T),
}

impl<T: Num> PilotedSpool<T> {
    #[wide]
    #[inline(always)]
    fn read(io: &Step<'_, T>) -> Self {
        type Valve = PressureControlValve33;
        let (held, dt) = (|i: usize| Valve::HELD.get(io, i), io.dt);
        let diameter = held(Valve::DIAMETER);
        let push = io.wave(Valve::PILOT) - io.input(Valve::REFERENCE);
        let jet = held(Valve::FLOW_COEFFICIENT) * diameter * held(Valve::JET_ANGLE).cos();
        Self {
            push: diameter * diameter * push * (0.25 * PI * dt),
            damping: held(Valve::FRICTION) * 2.0,
            spring: held(Valve::STIFFNESS) * dt,
            jets: [Valve::SHARE_AP, Valve::SHARE_AT].map(|i| jet * held(i) * (2.0 * PI * dt)),
            laps: [held(Valve::LAP_AP), -held(Valve::LAP_AT)],
            stops: (held(Valve::REAR_STOP), held(Valve::FRONT_STOP)),
        }
    }

    /// T·(k + k_f) at a position and drops of pressure.
    #[inline(always)]
    fn stiffness<N: Num>(&self, x: N, drops: [N; 2], c: impl Fn(T) -> N) -> N {
        let (low, high) = self.stops;
        let zero = N::zero();
        let open = [
            limit(c(self.laps[0]) + x, zero, c(self.laps[0] + high)),
            limit(c(self.laps[1]) - x, zero, c(self.laps[1] - low)),
        ];
        let mut sum = c(self.spring);
        for i in 0..2 {
            sum += c(self.jets[i]) * drops[i].abs() * on_positive(open[i]);
        }
        sum
    }

    /// What a step leaves for the next.
    #[wide]
    fn kept(&self, x: T, drops: [T; 2]) -> T {
        let stiffness = self.stiffness(x, drops, |t| t);
        (self.push + (self.damping - stiffness) * x) / (self.damping + stiffness)
    }
}

impl PressureControlValve33 {
    const HELD: Held = Held::inputs(Self::DENSITY, Self::STIFFNESS);

    fn drops<N: Num>([p1, p2, p3]: [N; 3]) -> [N; 2] {
        [p1 - p3, p2 - p3]
    }
}

impl Physics for PressureControlValve33 {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    #[wide]
    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
        let pressures = [Self::P1, Self::P2, Self::P3].map(|port| io.effort(port));
        let kept = PilotedSpool::read(io).kept(io.output(Self::POSITION), Self::drops(pressures));
        io.set_memory(Self::KEPT, kept);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let held = |i: usize| Self::HELD.get(io, i);
        let spool = PilotedSpool::read(io);
        let gain =
            jet(held(Self::FLOW_COEFFICIENT), held(Self::DENSITY)) * held(Self::DIAMETER) * PI;
        let gains = [gain * held(Self::SHARE_AP), gain * held(Self::SHARE_AT)];
        let (lap, laminar) = (held(Self::LAP_AP), held(Self::LAMINAR));
        let (low, high) = spool.stops;
        let most = [lap + high, held(Self::LAP_AT) + high];
        let ports = [Self::P1, Self::P2, Self::P3];
        let ends = ends(io, ports, true);
        let (c, kept) = (Dual::constant, io.memory(Self::KEPT));
        let state = |&[x, y1, y2]: &[Dual<T>; 3]| {
            let opening = [c(lap) + x, c(lap) - x];
            let k: [Dual<T>; 2] =
                std::array::from_fn(|i| c(gains[i]) * limit(opening[i], Dual::zero(), c(most[i])));
            let (q1, q2) = (-(k[0] * y1), -(k[1] * y2));
            let q = [q1, q2, -q1 - q2];
            let p: [Dual<T>; 3] = std::array::from_fn(|i| {
                (c(ends[i].wave) + c(ends[i].impedance) * q[i]).max(Dual::zero())
            });
            (q, p)
        };
        let old = Self::drops(ports.map(|port| io.effort(port)));
        let root = old.map(|drop| signed_root(drop, laminar));
        let guess = [io.output(Self::POSITION), root[0], root[1]];
        let found = solve(io, guess, [1e-3, 100.0, 100.0], |u| {
            let (_, p) = state(u);
            let drops = Self::drops(p);
            let stiffness = spool.stiffness(u[0], drops, c);
            let x = c(spool.push) / (c(spool.damping) + stiffness) + c(kept);
            [
                u[0] - limit(x, c(low), c(high)),
                signed_root_inverse(u[1], c(laminar)) - drops[0],
                signed_root_inverse(u[2], c(laminar)) - drops[1],
            ]
        });
        let (q, p) = state(&found.map(c));
        let p = p.map(|p| p.value);
        for (i, &port) in ports.iter().enumerate() {
            let bond = io.bond_mut(port);
            bond.flow = q[i].value;
            bond.effort = p[i];
        }
        let bond = io.bond_mut(Self::PILOT);
        bond.effort = bond.wave;
        io.set_memory(Self::KEPT, spool.kept(found[0], Self::drops(p)));
        io.set_output(Self::POSITION, found[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    #[test]
    fn each_edge_of_the_four_way_valve_opens_by_itself() {
        let valve = Valve416 {
            position_pa: 0.0,
            position_ta: 0.0,
            position_pb: 0.0,
            position_tb: 0.0,
            density: 0.0,
            flow_coefficient: 0.0,
            diameter: 0.0,
            share_pa: 0.0,
            share_ta: 0.0,
            share_pb: 0.0,
            share_tb: 0.0,
            lap_pa: 0.0,
            lap_ta: 0.0,
            lap_pb: 0.0,
            lap_tb: 0.0,
            stroke: 0.0,
            laminar: 0.0,
        };
        let mut bench = Bench::new(&valve, 1e-3);
        for (input, value) in [
            (Valve416::DENSITY, 870.0),
            (Valve416::FLOW_COEFFICIENT, 0.67),
            (Valve416::DIAMETER, 0.01),
            (Valve416::SHARE_PA, 1.0),
            (Valve416::SHARE_TA, 1.0),
            (Valve416::SHARE_PB, 0.5),
            (Valve416::SHARE_TB, 1.0),
            (Valve416::STROKE, 0.01),
            (Valve416::LAMINAR, 1e4),
        ] {
            bench.input(input, value);
        }
        bench.start();
        bench.input(Valve416::POSITION_PA, 1e-3).input(Valve416::POSITION_PB, 1e-3);
        bench.line(0, 1e7, 0.0).line(1, 1e5, 0.0).line(2, 2e6, 1e9).line(3, 2e6, 0.0);
        bench.step();
        let flow = |share: f64, p: f64| {
            let drop: f64 = 1e7 - p;
            let root = drop / (1e8 + drop * drop).powf(0.25);
            0.67 * (2.0f64 / 870.0).sqrt() * PI * 0.01 * 1e-3 * share * root
        };
        assert!((bench.flow(2) / flow(1.0, bench.effort(2)) - 1.0).abs() < 1e-9);
        assert!((bench.flow(3) / flow(0.5, 2e6) - 1.0).abs() < 1e-9);
        assert!((bench.flow(0) + bench.flow(2) + bench.flow(3)).abs() < 1e-15);
        assert_eq!(bench.flow(1), 0.0);
    }

    #[test]
    fn a_piloted_spool_rests_where_spring_and_jets_balance_the_pilot() {
        type Valve = PressureControlValve33;
        let valve = Valve {
            reference: 0.0,
            density: 0.0,
            flow_coefficient: 0.0,
            diameter: 0.0,
            share_ap: 0.0,
            share_at: 0.0,
            lap_ap: 0.0,
            lap_at: 0.0,
            laminar: 0.0,
            friction: 0.0,
            rear_stop: 0.0,
            front_stop: 0.0,
            jet_angle: 0.0,
            stiffness: 0.0,
        };
        let mut bench = Bench::new(&valve, 1e-3);
        for (input, value) in [
            (Valve::REFERENCE, 1e6),
            (Valve::DENSITY, 870.0),
            (Valve::FLOW_COEFFICIENT, 0.67),
            (Valve::DIAMETER, 0.01),
            (Valve::SHARE_AP, 1.0),
            (Valve::SHARE_AT, 1.0),
            (Valve::LAMINAR, 1e4),
            (Valve::FRICTION, 100.0),
            (Valve::REAR_STOP, -0.01),
            (Valve::FRONT_STOP, 0.01),
            (Valve::JET_ANGLE, 1.2),
            (Valve::STIFFNESS, 1e4),
        ] {
            bench.input(input, value);
        }
        bench.start();
        for _ in 0..5000 {
            bench.line(0, 1e7, 1e9).line(1, 1e5, 0.0).line(2, 2e6, 1e9).line(3, 1.2e6, 0.0);
            bench.step();
        }
        assert_eq!(bench.state.faults.unconverged, 0);
        let (x, drop) = (bench.output(0), bench.effort(0) - bench.effort(2));
        let jets = 2.0 * PI * 0.67 * 0.01 * 1.2f64.cos() * drop;
        assert!((x * (1e4 + jets) / (PI / 4.0 * 1e-4 * 2e5) - 1.0).abs() < 1e-9);
        let root = drop / (1e8 + drop * drop).powf(0.25);
        let flow = 0.67 * (2.0f64 / 870.0).sqrt() * PI * 0.01 * x * root;
        assert!((bench.flow(2) / flow - 1.0).abs() < 1e-9);
        assert_eq!(bench.flow(1), 0.0);
    }
}
