//! Directional valves whose edges are solved together.
//!
//! Each edge lets q = K·s(Δp) through, with the smooth root s(Δp) = Δp/(p₀² + Δp²)^¼ and
//! K = C_q·√(2/ρ)·f·π·d·opening; the pressures at all ports follow from all flows at once. An end
//! that has run dry has pressure 0 until its line pushes again.

use super::g_valves::ends;
use crate::blocks::{End, limit, root, signed_root, signed_root_inverse, solve};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;
use std::f64::consts::PI;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Valve33>(),
    ComponentType::of::<Valve43>(),
    ComponentType::of::<LoadSensing>(),
    ComponentType::of::<OpenCentre>(),
];

/// Flows through edges between ports, each given as conductance, port it comes from and port it
/// goes to. Writes flows and pressures of all ports; gives the pressures.
///
/// The unknowns are the roots s(Δp) of the edges: closed edges then disturb nothing.
#[wide]
#[inline(always)]
pub(super) fn network<T: Num, const E: usize, const P: usize>(
    io: &mut Step<'_, T>,
    ports: [usize; P],
    edges: [(T, usize, usize); E],
    p0: T,
) -> [T; P] {
    let ends: [End<T>; P] = ends(io, ports, true);
    let c = Dual::constant;
    let state = |y: &[Dual<T>; E]| {
        let mut q = [Dual::zero(); P];
        for (edge, &(k, from, to)) in edges.iter().enumerate() {
            let flow = c(k) * y[edge];
            q[from] -= flow;
            q[to] += flow;
        }
        let p: [Dual<T>; P] = std::array::from_fn(|i| {
            (c(ends[i].wave) + c(ends[i].impedance) * q[i]).max(Dual::zero())
        });
        (q, p)
    };
    let old = ports.map(|port| io.effort(port));
    let guess = edges.map(|(_, from, to)| signed_root(old[from] - old[to], p0));
    let y = solve(io, guess, [1.0; E], |y| {
        let (_, p) = state(y);
        std::array::from_fn(|edge| {
            let (_, from, to) = edges[edge];
            signed_root_inverse(y[edge], c(p0)) - (p[from] - p[to])
        })
    });
    let (q, p) = state(&y.map(c));
    for (i, &port) in ports.iter().enumerate() {
        let bond = io.bond_mut(port);
        bond.flow = q[i].value;
        bond.effort = p[i].value;
    }
    p.map(|p| p.value)
}

/// Remembered values of a spool's edges: lap, laminar pressure, then gain and largest opening of
/// each edge. Edges open with the position (p–a, t–b) or against it (t–a, p–b).
#[derive(Clone, Copy)]
struct Edges(usize);

impl Edges {
    #[wide]
    fn start<T: Num, const E: usize>(
        self,
        io: &mut Step<'_, T>,
        [lap, laminar]: [T; 2],
        edges: [(T, T); E],
    ) {
        let pairs = edges.into_iter().flat_map(|(gain, largest)| [gain, largest]);
        for (i, value) in [lap, laminar].into_iter().chain(pairs).enumerate() {
            io.set_memory(self.0 + i, value);
        }
    }

    /// Opening of an edge at a position.
    #[inline(always)]
    fn opening<T: Num>(self, io: &Step<'_, T>, edge: usize, x: T) -> T {
        limit(io.memory(self.0) + x, T::zero(), io.memory(self.0 + 3 + 2 * edge))
    }

    /// Conductance of an edge at a position.
    #[inline(always)]
    fn conductance<T: Num>(self, io: &Step<'_, T>, edge: usize, x: T) -> T {
        io.memory(self.0 + 2 + 2 * edge) * self.opening(io, edge, x)
    }

    #[inline(always)]
    fn laminar<T: Num>(self, io: &Step<'_, T>) -> T {
        io.memory(self.0 + 1)
    }

    /// Flows of a four-way valve at ports supply, tank, a, b: 0 to 3. Gives the pressures.
    #[wide]
    #[inline(always)]
    fn four_way<T: Num>(self, io: &mut Step<'_, T>, x: T) -> [T; 4] {
        let k = |edge, x| self.conductance(io, edge, x);
        let edges = [(k(0, x), 0, 2), (k(1, -x), 1, 2), (k(2, -x), 0, 3), (k(3, x), 1, 3)];
        let laminar = self.laminar(io);
        network(io, [0, 1, 2, 3], edges, laminar)
    }
}

/// 3/3 directional valve without dynamics of its spool.
///
/// Edge p–a opens with x + x_ap, at most x_ap + x_max; edge t–a with x_ap − x, at most
/// x_at + x_max.
#[component("hopsan.HydraulicValve33", q)]
pub struct Valve33 {
    /// supply
    #[port(name = "Pp")]
    p: Hydraulic,
    /// tank
    #[port(name = "Pt")]
    t: Hydraulic,
    /// work port
    #[port(name = "Pa")]
    a: Hydraulic,
    /// x — position of the spool [m]
    #[input(name = "xv", default = "0 m")]
    pub position: f64,
    /// ρ — density of the oil, read at the start [kg/m³]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// C_q — flow coefficient, read at the start [–]
    #[input(name = "Cq", default = 0.67)]
    pub flow_coefficient: f64,
    /// d — diameter of the spool, read at the start [m]
    #[input(name = "Sd", default = "0.01 m")]
    pub diameter: f64,
    /// f_ap — share of the circumference that edge p–a opens, read at the start [–]
    #[input(name = "Frap", default = 1)]
    pub share_ap: f64,
    /// f_at — share of the circumference that edge t–a opens, read at the start [–]
    #[input(name = "Frat", default = 1)]
    pub share_at: f64,
    /// x_ap — opening of both edges in the centre, read at the start [m]
    #[input(name = "Xap0", default = "0 m")]
    pub lap_ap: f64,
    /// x_at — part of the largest opening of edge t–a, read at the start [m]
    #[input(name = "Xat0", default = "0 m")]
    pub lap_at: f64,
    /// x_max — largest displacement of the spool, read at the start [m]
    #[input(name = "Xvmax", default = "0.01 m")]
    pub stroke: f64,
    /// p₀ — pressure drop at which the flow turns turbulent, read at the start [Pa]
    #[input(name = "plam", default = "1e4 Pa")]
    pub laminar: f64,
    /// – — opening in the centre [m]
    #[memory]
    kept_lap: Memory,
    /// p₀ — pressure drop at which the flow turns turbulent [Pa]
    #[memory]
    kept_laminar: Memory,
    /// – — conductance of edge p–a per opening [m^(5/2)/kg^(1/2)]
    #[memory]
    gain_pa: Memory,
    /// – — largest opening of edge p–a [m]
    #[memory]
    largest_pa: Memory,
    /// – — conductance of edge t–a per opening [m^(5/2)/kg^(1/2)]
    #[memory]
    gain_ta: Memory,
    /// – — largest opening of edge t–a [m]
    #[memory]
    largest_ta: Memory,
}

impl Physics for Valve33 {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let u = |i| io.input(i);
        let gain = jet(u(Self::FLOW_COEFFICIENT), u(Self::DENSITY)) * u(Self::DIAMETER) * PI;
        let (lap, stroke) = (u(Self::LAP_AP), u(Self::STROKE));
        let edges = [
            (gain * u(Self::SHARE_AP), lap + stroke),
            (gain * u(Self::SHARE_AT), u(Self::LAP_AT) + stroke),
        ];
        let laminar = u(Self::LAMINAR);
        Edges(Self::KEPT_LAP).start(io, [lap, laminar], edges);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (spool, x) = (Edges(Self::KEPT_LAP), io.input(Self::POSITION));
        let edges = [
            (spool.conductance(io, 0, x), Self::P, Self::A),
            (spool.conductance(io, 1, -x), Self::T, Self::A),
        ];
        let laminar = spool.laminar(io);
        network(io, [Self::P, Self::T, Self::A], edges, laminar);
    }
}

/// C_q·√(2/ρ).
#[inline(always)]
pub(super) fn jet<T: Num>(coefficient: T, density: T) -> T {
    coefficient * (T::of(2.0) / density).sqrt()
}

/// A four-way valve: further ports, outputs, inputs and remembered values. Laps count as openings
/// in the centre (`sign` 1) or as overlap (−1); all edges have the lap of edge p–a, the others only
/// enter the largest openings.
macro_rules! four_way {
    (
        $(#[$doc:meta])*
        $name:literal $type:ident
        sign $sign:literal lap $lap:tt diameter $diameter:tt
        ports { $($ports:tt)* }
        outputs { $($outputs:tt)* }
        shares { $($shares:tt)* }
        laps { $($laps:tt)* }
        strokes { $($strokes:tt)* }
        remembers { $($remembered:tt)* }
    ) => {
        $(#[$doc])*
        #[component($name, q)]
        pub struct $type {
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
            $($ports)*
            $($outputs)*
            /// x — position of the spool [m]
            #[input(name = "xv", default = "0 m")]
            pub position: f64,
            /// ρ — density of the oil, read at the start [kg/m³]
            #[input(name = "rho", default = "870 kg/m^3")]
            pub density: f64,
            /// C_q — flow coefficient, read at the start [–]
            #[input(name = "Cq", default = 0.67)]
            pub flow_coefficient: f64,
            /// d — diameter of the spool, read at the start [m]
            #[input(name = "Sd", default = $diameter)]
            pub diameter: f64,
            /// f_ap — share of the circumference that edge p–a opens, read at the start [–]
            #[input(name = "Frap", default = 1)]
            pub share_ap: f64,
            /// f_at — share of the circumference that edge t–a opens, read at the start [–]
            #[input(name = "Frat", default = 1)]
            pub share_at: f64,
            /// f_bp — share of the circumference that edge p–b opens, read at the start [–]
            #[input(name = "Frbp", default = 1)]
            pub share_bp: f64,
            /// f_bt — share of the circumference that edge t–b opens, read at the start [–]
            #[input(name = "Frbt", default = 1)]
            pub share_bt: f64,
            $($shares)*
            /// x_ap — lap of all edges, read at the start [m]
            #[input(name = "Xap0", default = $lap)]
            pub lap_ap: f64,
            /// x_at — lap in the largest opening of edge t–a, read at the start [m]
            #[input(name = "Xat0", default = $lap)]
            pub lap_at: f64,
            /// x_bp — lap in the largest opening of edge p–b, read at the start [m]
            #[input(name = "Xbp0", default = $lap)]
            pub lap_bp: f64,
            /// x_bt — lap in the largest opening of edge t–b, read at the start [m]
            #[input(name = "Xbt0", default = $lap)]
            pub lap_bt: f64,
            $($laps)*
            /// x_max — largest displacement of the spool, read at the start [m]
            #[input(name = "Xvmax", default = "0.01 m")]
            pub stroke: f64,
            $($strokes)*
            /// p₀ — pressure drop at which the flow turns turbulent, read at the start [Pa]
            #[input(name = "plam", default = "1e4 Pa")]
            pub laminar: f64,
            /// – — opening in the centre [m]
            #[memory]
            kept_lap: Memory,
            /// p₀ — pressure drop at which the flow turns turbulent [Pa]
            #[memory]
            kept_laminar: Memory,
            /// – — conductance of edge p–a per opening [m^(5/2)/kg^(1/2)]
            #[memory]
            gain_pa: Memory,
            /// – — largest opening of edge p–a [m]
            #[memory]
            largest_pa: Memory,
            /// – — conductance of edge t–a per opening [m^(5/2)/kg^(1/2)]
            #[memory]
            gain_ta: Memory,
            /// – — largest opening of edge t–a [m]
            #[memory]
            largest_ta: Memory,
            /// – — conductance of edge p–b per opening [m^(5/2)/kg^(1/2)]
            #[memory]
            gain_pb: Memory,
            /// – — largest opening of edge p–b [m]
            #[memory]
            largest_pb: Memory,
            /// – — conductance of edge t–b per opening [m^(5/2)/kg^(1/2)]
            #[memory]
            gain_tb: Memory,
            /// – — largest opening of edge t–b [m]
            #[memory]
            largest_tb: Memory,
            $($remembered)*
        }

        impl $type {
            const EDGES: Edges = Edges(Self::KEPT_LAP);

            /// Keeps what the four edges need.
            #[wide]
            #[inline(always)]
            fn keep_edges<T: Num>(io: &mut Step<'_, T>) {
                let u = |i| io.input(i);
                let gain =
                    jet(u(Self::FLOW_COEFFICIENT), u(Self::DENSITY)) * u(Self::DIAMETER) * PI;
                let edge = |share, lap| (gain * u(share), u(lap) * $sign + u(Self::STROKE));
                let edges = [
                    edge(Self::SHARE_AP, Self::LAP_AP),
                    edge(Self::SHARE_AT, Self::LAP_AT),
                    edge(Self::SHARE_BP, Self::LAP_BP),
                    edge(Self::SHARE_BT, Self::LAP_BT),
                ];
                let common = [u(Self::LAP_AP) * $sign, u(Self::LAMINAR)];
                Self::EDGES.start(io, common, edges);
            }
        }
    };
}

four_way! {
    /// 4/3 directional valve without dynamics of its spool, with flow forces.
    ///
    /// Edges p–a and t–b open with x_ap + x, t–a and p–b with x_ap − x, each at most its own lap more
    /// than x_max. Flow forces F = ∓2·π·C_q·f·d·Δp·cos(θ·(1 − e^(−opening/x_f)))·opening.
    "hopsan.HydraulicValve43" Valve43
    sign 1.0 lap "0 m" diameter "0.01 m"
    ports {}
    outputs {
        /// F_pa — flow force of edge p–a [N]
        #[output(name = "ffpa")]
        force_pa: Signal,
        /// F_ta — flow force of edge t–a [N]
        #[output(name = "ffta")]
        force_ta: Signal,
        /// F_pb — flow force of edge p–b [N]
        #[output(name = "ffpb")]
        force_pb: Signal,
        /// F_tb — flow force of edge t–b [N]
        #[output(name = "fftb")]
        force_tb: Signal,
        /// F — sum of the flow forces [N]
        #[output(name = "ff")]
        force: Signal,
    }
    shares {}
    laps {
        /// θ_pa — jet angle of edge p–a, read at the start [rad]
        #[input(name = "thetapa1", default = "1.17 rad")]
        pub angle_pa: f64,
        /// θ_ta — jet angle of edge t–a, read at the start [rad]
        #[input(name = "thetata1", default = "1.17 rad")]
        pub angle_ta: f64,
        /// θ_pb — jet angle of edge p–b, read at the start [rad]
        #[input(name = "thetapb1", default = "1.17 rad")]
        pub angle_pb: f64,
        /// θ_tb — jet angle of edge t–b, read at the start [rad]
        #[input(name = "thetatb1", default = "1.17 rad")]
        pub angle_tb: f64,
        /// x_f — opening over which the jet turns, read at the start [m]
        #[input(name = "X0f", default = "1e-4 m")]
        pub turning: f64,
    }
    strokes {}
    remembers {
        /// θ_pa — jet angle of edge p–a [rad]
        #[memory]
        kept_angle_pa: Memory,
        /// θ_ta — jet angle of edge t–a [rad]
        #[memory]
        kept_angle_ta: Memory,
        /// θ_pb — jet angle of edge p–b [rad]
        #[memory]
        kept_angle_pb: Memory,
        /// θ_tb — jet angle of edge t–b [rad]
        #[memory]
        kept_angle_tb: Memory,
        /// x_f — opening over which the jet turns [m]
        #[memory]
        kept_turning: Memory,
        /// – — force of a jet by the conductance of its edge [kg^(1/2)/m^(1/2)]
        #[memory]
        kept_force: Memory,
    }
}

impl Physics for Valve43 {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::keep_edges(io);
        for (kept, input) in [
            (Self::KEPT_ANGLE_PA, Self::ANGLE_PA),
            (Self::KEPT_ANGLE_TA, Self::ANGLE_TA),
            (Self::KEPT_ANGLE_PB, Self::ANGLE_PB),
            (Self::KEPT_ANGLE_TB, Self::ANGLE_TB),
            (Self::KEPT_TURNING, Self::TURNING),
        ] {
            io.set_memory(kept, io.input(input));
        }
        // 2·C_q over C_q·√(2/ρ).
        io.set_memory(Self::KEPT_FORCE, (io.input(Self::DENSITY) * 2.0).sqrt());
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let x = io.input(Self::POSITION);
        let [p, t, a, b] = Self::EDGES.four_way(io, x);
        let (turning, factor) = (io.memory(Self::KEPT_TURNING), io.memory(Self::KEPT_FORCE));
        let mut sum = T::zero();
        for (edge, x, drop) in [(0, x, a - p), (1, -x, a - t), (2, -x, p - b), (3, x, t - b)] {
            let opening = Self::EDGES.opening(io, edge, x);
            let angle = io.memory(Self::KEPT_ANGLE_PA + edge);
            let turned = angle * (T::one() - (-(opening / turning)).exp());
            let force = Self::EDGES.conductance(io, edge, x) * factor * drop * turned.cos();
            io.set_output(Self::FORCE_PA + edge, force);
            sum += force;
        }
        io.set_output(Self::FORCE, sum);
    }
}

four_way! {
    /// 4/3 directional valve with load sensing, without dynamics of its spool.
    ///
    /// Edges p–a and t–b open with x − x_ap, t–a and p–b with −x − x_ap. The sensing port takes the
    /// pressure of the work ports over edges of width w that open with x − x_lsa and −x − x_lsb, and
    /// of the tank over one that opens with x_ls − |x|; the oil it takes is not missed elsewhere.
    "hopsan.HydraulicValve43LS" LoadSensing
    sign -1.0 lap "3e-4 m" diameter "0.01 m"
    ports {
        /// load sensing
        #[port(name = "Pls")]
        sense: Hydraulic,
    }
    outputs {}
    shares {
        /// w — width of the sensing edges, read at the start [m]
        #[input(name = "wls", default = "0.01 m")]
        pub sense_width: f64,
    }
    laps {
        /// x_lsa — overlap of the sensing edge to a, read at the start [m]
        #[input(name = "Xlsa0", default = "3e-4 m")]
        pub sense_lap_a: f64,
        /// x_lsb — overlap of the sensing edge to b, read at the start [m]
        #[input(name = "Xlsb0", default = "3e-4 m")]
        pub sense_lap_b: f64,
        /// x_ls — opening of the sensing edge to tank in the centre, read at the start [m]
        #[input(name = "Xls0", default = "3e-4 m")]
        pub sense_lap_t: f64,
    }
    strokes {
        /// x_lsmax — largest displacement that opens the sensing edges, read at the start [m]
        #[input(name = "Xvlsmax", default = "1e-3 m")]
        pub sense_stroke: f64,
    }
    remembers {
        /// – — conductance of a sensing edge per opening [m^(5/2)/kg^(1/2)]
        #[memory]
        kept_sense_gain: Memory,
        /// x_lsa — overlap of the sensing edge to a [m]
        #[memory]
        kept_sense_a: Memory,
        /// x_lsb — overlap of the sensing edge to b [m]
        #[memory]
        kept_sense_b: Memory,
        /// x_ls — opening of the sensing edge to tank in the centre [m]
        #[memory]
        kept_sense_t: Memory,
        /// x_lsmax — largest displacement that opens the sensing edges [m]
        #[memory]
        kept_sense_stroke: Memory,
    }
}

impl Physics for LoadSensing {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::keep_edges(io);
        for (kept, input) in [
            (Self::KEPT_SENSE_A, Self::SENSE_LAP_A),
            (Self::KEPT_SENSE_B, Self::SENSE_LAP_B),
            (Self::KEPT_SENSE_T, Self::SENSE_LAP_T),
            (Self::KEPT_SENSE_STROKE, Self::SENSE_STROKE),
        ] {
            io.set_memory(kept, io.input(input));
        }
        let jet = jet(io.input(Self::FLOW_COEFFICIENT), io.input(Self::DENSITY));
        io.set_memory(Self::KEPT_SENSE_GAIN, jet * io.input(Self::SENSE_WIDTH));
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let x = io.input(Self::POSITION);
        let [_, t, a, b] = Self::EDGES.four_way(io, x);
        let (stroke, largest) = (io.memory(Self::KEPT_SENSE_STROKE), io.memory(Self::KEPT_SENSE_T));
        let lap = [io.memory(Self::KEPT_SENSE_A), io.memory(Self::KEPT_SENSE_B)];
        let gain = io.memory(Self::KEPT_SENSE_GAIN);
        let edges = [
            (gain * limit(x - lap[0], T::zero(), stroke - lap[0]), a),
            (gain * limit(-x - lap[1], T::zero(), stroke - lap[1]), b),
            (gain * limit(largest - x.abs(), T::zero(), largest), t),
        ];
        let [end] = ends(io, [Self::SENSE], true);
        let (c, laminar) = (Dual::constant, Self::EDGES.laminar(io));
        let flow = |p: Dual<T>| {
            edges.iter().fold(Dual::zero(), |sum, &(k, other)| {
                sum + c(k) * signed_root(c(other) - p, c(laminar))
            })
        };
        let pressure = |q: Dual<T>| (c(end.wave) + c(end.impedance) * q).max(Dual::zero());
        let around = edges
            .iter()
            .fold((end.wave, end.wave), |(low, high), &(_, p)| (low.min(p), high.max(p)));
        let (bounds, guess) =
            ((around.0.max(T::zero()), around.1.max(T::zero())), io.effort(Self::SENSE));
        let p = root(io, bounds, guess, 1e3, |p| p - pressure(flow(p)));
        let bond = io.bond_mut(Self::SENSE);
        bond.flow = flow(c(p)).value;
        bond.effort = p;
    }
}

four_way! {
    /// 6/3 directional valve with open centre, without dynamics of its spool.
    ///
    /// Edges p–a and t–b open with x − x_ap, t–a and p–b with −x − x_ap, the centre with x_oc − |x|.
    "hopsan.HydraulicValve63OC" OpenCentre
    sign -1.0 lap "0 m" diameter "0.015 m"
    ports {
        /// inlet of the centre
        #[port(name = "Pocp")]
        centre_in: Hydraulic,
        /// outlet of the centre
        #[port(name = "Poct")]
        centre_out: Hydraulic,
    }
    outputs {}
    shares {
        /// f_oc — share of the circumference that the centre opens, read at the start [–]
        #[input(name = "Froc", default = 1)]
        pub share_centre: f64,
    }
    laps {
        /// x_oc — opening of the centre at rest, read at the start [m]
        #[input(name = "Xoc0", default = "0 m")]
        pub lap_centre: f64,
    }
    strokes {}
    remembers {
        /// – — conductance of the centre per opening [m^(5/2)/kg^(1/2)]
        #[memory]
        gain_centre: Memory,
        /// x_oc — opening of the centre at rest [m]
        #[memory]
        largest_centre: Memory,
    }
}

impl Physics for OpenCentre {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::keep_edges(io);
        let u = |i| io.input(i);
        let gain = jet(u(Self::FLOW_COEFFICIENT), u(Self::DENSITY)) * u(Self::DIAMETER) * PI;
        let (gain, largest) = (gain * u(Self::SHARE_CENTRE), u(Self::LAP_CENTRE));
        io.set_memory(Self::GAIN_CENTRE, gain);
        io.set_memory(Self::LARGEST_CENTRE, largest);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let x = io.input(Self::POSITION);
        Self::EDGES.four_way(io, x);
        let largest = io.memory(Self::LARGEST_CENTRE);
        let k = io.memory(Self::GAIN_CENTRE) * limit(largest - x.abs(), T::zero(), largest);
        let laminar = Self::EDGES.laminar(io);
        network(io, [Self::CENTRE_IN, Self::CENTRE_OUT], [(k, 0, 1)], laminar);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, bench};
    use fluxline_core::testing::Bench;

    const ENDS: [(f64, f64); 6] =
        [(2e7, 2e9), (1e5, 1e8), (1.2e7, 5e9), (5e6, 8e9), (8e6, 1e9), (1e6, 1e9)];

    fn stepped<M: Physics>(set: &[(usize, f64)]) -> Bench<M> {
        let mut valve = bench::<M>(1e-3, set);
        valve.start();
        for _ in 0..3 {
            for port in 0..M::DECLARATION.ports.len() {
                valve.line(port, ENDS[port].0, ENDS[port].1);
            }
            valve.step();
        }
        assert_eq!(valve.state.faults.unconverged, 0);
        for port in 0..M::DECLARATION.ports.len() {
            let p = ENDS[port].0 + ENDS[port].1 * valve.flow(port);
            assert_near(valve.effort(port), p, 1e-9);
        }
        valve
    }

    /// Flow of an edge of a given width and opening between two ports.
    fn edge<M: Physics>(valve: &Bench<M>, gap: f64, from: usize, to: usize) -> f64 {
        let drop = valve.effort(from) - valve.effort(to);
        let root = drop / (1e8 + drop * drop).powf(0.25);
        0.67 * (2.0 / 870.0f64).sqrt() * gap * root
    }

    #[test]
    fn every_edge_meets_its_law_and_nothing_is_lost() {
        let around = PI * 0.01;
        let valve = stepped::<Valve33>(&[(Valve33::POSITION, 1e-4), (Valve33::LAP_AP, 3e-4)]);
        let (pa, ta) = (edge(&valve, around * 4e-4, 0, 2), edge(&valve, around * 2e-4, 1, 2));
        assert_near(valve.flow(0), -pa, 1e-8);
        assert_near(valve.flow(1), -ta, 1e-8);
        assert_near(valve.flow(2), pa + ta, 1e-8);

        let valve = stepped::<Valve43>(&[(Valve43::POSITION, -1e-4), (Valve43::LAP_AP, 3e-4)]);
        let (with, against) = (around * 2e-4, around * 4e-4);
        let (pa, tb) = (edge(&valve, with, 0, 2), edge(&valve, with, 1, 3));
        let (ta, pb) = (edge(&valve, against, 1, 2), edge(&valve, against, 0, 3));
        for (port, flow) in [-pa - pb, -ta - tb, pa + ta, pb + tb].into_iter().enumerate() {
            assert_near(valve.flow(port), flow, 1e-8);
        }
        let angle = 1.17 * (1.0 - (-2.0f64).exp());
        let drop = valve.effort(0) - valve.effort(2);
        let force = -2.0 * 0.67 * with * drop * angle.cos();
        assert_near(valve.output(Valve43::FORCE_PA), force, 1e-9);
        let sum: f64 = (0..4).map(|i| valve.output(i)).sum();
        assert_near(valve.output(Valve43::FORCE), sum, 1e-12);
    }

    #[test]
    fn the_centre_closes_with_the_spool_and_the_overlap_comes_first() {
        let around = PI * 0.015;
        let set = [(OpenCentre::LAP_CENTRE, 1e-3), (OpenCentre::LAP_AP, 3e-4)];
        let valve = stepped::<OpenCentre>(&[&set[..], &[(OpenCentre::POSITION, 2e-4)]].concat());
        assert_near(valve.flow(5), edge(&valve, around * 8e-4, 4, 5), 1e-8);
        assert_near(valve.flow(4), -valve.flow(5), 1e-12);
        assert!((0..4).all(|port| valve.flow(port) == 0.0));
        let valve = stepped::<OpenCentre>(&[&set[..], &[(OpenCentre::POSITION, 2e-3)]].concat());
        assert_eq!(valve.flow(5), 0.0);
        assert_near(valve.flow(2), edge(&valve, around * 1.7e-3, 0, 2), 1e-8);
    }

    #[test]
    fn the_sensing_port_takes_the_pressure_of_the_port_that_is_driven() {
        let valve = stepped::<LoadSensing>(&[(LoadSensing::POSITION, 5e-4)]);
        assert_near(valve.flow(4), edge(&valve, 0.01 * 2e-4, 2, 4), 1e-8);
        let valve = stepped::<LoadSensing>(&[]);
        assert_near(valve.flow(4), edge(&valve, 0.01 * 3e-4, 1, 4), 1e-8);
    }
}
