//! Spool valves with two, three and four ports: one kernel.
//!
//! opening_e = max(a_e·x + b_e − lap_e, 0);   K_e = K·gain_e·opening_e
//!
//! with x the normalised spool position. a·x + b runs to 1 at the end of the stroke that opens the
//! edge: (±1, 0) about a centre position, (±2, ∓1) for spools with two positions. Where capacity is
//! given as nominal flow, K is that of the fully open edge, whatever its lap. Flow forces are not
//! modelled. Pollmeier (thesis, University of Bath), section 2.4.1 and appendix D1; unlike there,
//! edges that share a port are solved together, see [`super::edges`].

use super::edges::{EdgeLaw, MAX_PORTS, Network};
use super::spool::{Spool, SpoolData, SpoolDynamics};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, choice, component};

choice! {
    /// What a four-port valve connects in its centre position.
    pub enum Centre {
        /// As the laps say: nothing with zero or positive laps.
        Closed = "closed",
        /// All ports together.
        Open = "open",
        /// p with t; a and b closed.
        Tandem = "tandem",
        /// a and b with t; p closed.
        Float = "float",
    }
}

choice! {
    /// How the flow area of an edge grows with its opening.
    pub enum Metering {
        /// A slot of constant width: in proportion.
        Linear = "linear",
        /// Triangular grooves: with the square.
        Triangular = "triangular",
    }
}

/// p–a, p–b, a–t, b–t and p–t of ports p, t, a, b.
const FOUR_PORTS: [(usize, usize); 5] = [(0, 2), (0, 3), (2, 1), (3, 1), (0, 1)];
/// p–a and a–t of ports p, a, t.
const THREE_PORTS: [(usize, usize); 2] = [(0, 1), (1, 2)];
/// p–a.
const TWO_PORTS: [(usize, usize); 1] = [(0, 1)];
/// The edge p–t, open around the centre.
const BYPASS: usize = 4;

/// One edge as users give it.
#[derive(Clone, Copy)]
struct EdgeData {
    /// a and b of the opening.
    travel: (f64, f64),
    lap: f64,
    gain: f64,
    /// Leakage of its own, and the travel over which it fades.
    leakage: Option<f64>,
    leakage_travel: Option<f64>,
}

impl EdgeData {
    fn new(travel: (f64, f64), lap: f64, gain: f64) -> Self {
        Self { travel, lap, gain, leakage: None, leakage_travel: None }
    }

    fn leaking(self, leakage: Option<f64>, leakage_travel: Option<f64>) -> Self {
        Self { leakage, leakage_travel, ..self }
    }
}

/// K = slope·x + offset, never below 0, or its square where grooves are triangular; laminar leakage
/// beside it, which fades with the distance s = |fade·x + fade_offset| from the point of opening:
///
/// G·(1 − 3·s² + 2·s³) for s < 1, 0 beyond
#[derive(Clone, Copy, Debug, Constants)]
pub struct Edge<T> {
    slope: T,
    offset: T,
    leakage: T,
    fade: T,
    fade_offset: T,
}

/// Constants of directional valves.
#[derive(Clone, Copy, Debug, Constants)]
pub struct ValveConstants<T> {
    spool: Spool<T>,
    law: EdgeLaw<T>,
    metering: Metering,
    edges: [Edge<T>; 5],
    /// Sum over the edges: 0 where nothing leaks.
    leakage: T,
}

/// What the valves have in common, as users give it.
struct ValveData {
    spool: SpoolData,
    nominal_flow: Option<f64>,
    nominal_pressure_drop: f64,
    spool_diameter: Option<f64>,
    port_fraction: f64,
    stroke: Option<f64>,
    discharge: f64,
    transition_pressure: f64,
    leakage: f64,
    metering: Metering,
}

impl ValveData {
    /// K of an edge with this lap where its opening is 1.
    fn conductance(&self, lap: f64, density: f64) -> Result<f64, Refusal> {
        match (self.nominal_flow, self.spool_diameter, self.stroke) {
            (Some(flow), None, None) => {
                if self.nominal_pressure_drop < self.transition_pressure {
                    return Err(Refusal::new(
                        "transition_pressure",
                        format!(
                            "the transition pressure ({} bar) is above the nominal pressure drop ({} bar)",
                            self.transition_pressure / 1e5,
                            self.nominal_pressure_drop / 1e5
                        ),
                        "give a transition pressure well below the nominal pressure drop",
                    ));
                }
                let opening = match self.metering {
                    Metering::Linear => 1.0 - lap,
                    Metering::Triangular => (1.0 - lap) * (1.0 - lap),
                };
                Ok(flow / self.nominal_pressure_drop.sqrt() / opening)
            }
            (None, Some(diameter), Some(stroke)) => Ok(self.discharge
                * self.port_fraction
                * std::f64::consts::PI
                * diameter
                * stroke
                * (2.0 / density).sqrt()),
            (None, None, None) => Err(Refusal::new(
                "nominal_flow",
                "the capacity of the valve is not given",
                "give nominal_flow at nominal_pressure_drop per edge, or spool_diameter and stroke",
            )),
            (None, diameter, _) => {
                let (given, missing) = match diameter {
                    Some(d) => (format!("spool_diameter ({} mm)", d * 1e3), "stroke"),
                    None => (
                        format!("stroke ({} mm)", self.stroke.unwrap_or(0.0) * 1e3),
                        "spool_diameter",
                    ),
                };
                Err(Refusal::new(
                    missing,
                    format!("{given} is given without {missing}"),
                    "the geometry of the spool is its diameter and its stroke: give both",
                ))
            }
            (Some(flow), diameter, stroke) => {
                let other = match (diameter, stroke) {
                    (Some(d), _) => format!("spool_diameter ({} mm)", d * 1e3),
                    (_, s) => format!("stroke ({} mm)", s.unwrap_or(0.0) * 1e3),
                };
                Err(Refusal::new(
                    "nominal_flow",
                    format!(
                        "capacity is given twice: by nominal_flow ({} l/min) and by {other}",
                        flow * 6e4
                    ),
                    "keep either the nominal flow or the geometry of the spool",
                ))
            }
        }
    }

    /// What the opening is multiplied by: K, or its root where the product is squared.
    fn scale(&self, gain: f64, lap: f64, density: f64) -> Result<f64, Refusal> {
        let k = gain * self.conductance(lap, density)?;
        Ok(match self.metering {
            Metering::Linear => k,
            Metering::Triangular => k.sqrt(),
        })
    }

    fn prepare(
        &self,
        edges: &[EdgeData],
        environment: &Environment,
    ) -> Result<ValveConstants<f64>, Refusal> {
        let none = Edge { slope: 0.0, offset: 0.0, leakage: 0.0, fade: 0.0, fade_offset: 0.0 };
        let mut constants = ValveConstants {
            spool: self.spool.prepare(environment.step)?,
            law: EdgeLaw::new(self.transition_pressure),
            metering: self.metering,
            edges: [none; 5],
            leakage: 0.0,
        };
        for (edge, data) in constants.edges.iter_mut().zip(edges) {
            let k = self.scale(data.gain, data.lap, environment.fluid.density)?;
            let leakage = data.leakage.unwrap_or(self.leakage);
            // without a travel s stays 0 and the leakage whole
            let fade = data.leakage_travel.map_or(0.0, f64::recip);
            *edge = Edge {
                slope: k * data.travel.0,
                offset: k * (data.travel.1 - data.lap),
                leakage,
                fade: fade * data.travel.0,
                fade_offset: fade * (data.travel.1 - data.lap),
            };
            constants.leakage += leakage;
        }
        Ok(constants)
    }
}

impl<T: Num> ValveConstants<T> {
    #[inline(always)]
    fn conductances<const E: usize>(&self, x: T) -> [T; E] {
        let mut conductance = [T::zero(); E];
        for (e, (k, edge)) in conductance.iter_mut().zip(&self.edges).enumerate() {
            let along = if e == BYPASS { x.abs() } else { x };
            *k = (edge.slope * along + edge.offset).max(T::zero());
            if self.metering == Metering::Triangular {
                *k = k.squared();
            }
        }
        conductance
    }

    #[wide]
    #[inline(always)]
    fn leakages<const E: usize>(&self, x: T) -> [T; E] {
        std::array::from_fn(|e| {
            let edge = &self.edges[e];
            let s = (edge.fade * x + edge.fade_offset).abs().min(T::one());
            edge.leakage * (s * s * (s * 2.0 - 3.0) + 1.0)
        })
    }

    fn law<const E: usize>(&self, ends: &[(usize, usize); E], law: &mut Law<'_, T>) {
        let x = self.spool.law(law);
        let (conductance, leakage) = (self.conductances::<E>(x), self.leakages::<E>(x));
        law.flow.fill(T::zero());
        for (e, &(from, to)) in ends.iter().enumerate() {
            let drop = law.effort[from] - law.effort[to];
            let through = conductance[e] * self.law.flow(drop) + leakage[e] * drop;
            law.flow[from] -= through;
            law.flow[to] += through;
        }
    }

    /// Writes the flows of a valve with `P` ports and `E` edges: `flow` where edges are `apart`, so that
    /// no open edge shares a port with another; the coupled solution elsewhere.
    #[inline(always)]
    fn settle<const P: usize, const E: usize>(
        &self,
        io: &mut Step<'_, T>,
        ends: &[(usize, usize); E],
        x: T,
        conductance: [T; E],
        mut flow: [T; E],
        apart: T::Mask,
    ) {
        let exact = apart & self.leakage.le(T::zero());
        if !exact.all()
            && let failed = self.couple::<P, E>(io, ends, x, conductance, &mut flow, exact)
            && failed.any()
        {
            io.unconverged(failed);
        }
        let mut out = [T::zero(); MAX_PORTS];
        for (e, &(from, to)) in ends.iter().enumerate() {
            out[from] -= flow[e];
            out[to] += flow[e];
        }
        for (port, &out) in out.iter().enumerate().take(P) {
            io.set_flow(port, out);
        }
    }

    /// Solves the edges together, except where flows are `known`. Tells where that failed.
    #[wide]
    #[cold]
    fn couple<const P: usize, const E: usize>(
        &self,
        io: &Step<'_, T>,
        ends: &[(usize, usize); E],
        x: T,
        conductance: [T; E],
        flow: &mut [T; E],
        known: T::Mask,
    ) -> T::Mask {
        let (mut wave, mut impedance) = ([T::zero(); MAX_PORTS], [T::zero(); MAX_PORTS]);
        for port in 0..P {
            (wave[port], impedance[port]) = (io.wave(port), io.impedance(port));
        }
        let leakage = self.leakages::<E>(x);
        let network = Network { ends, law: &self.law, conductance, leakage, wave, impedance };
        // most four-port valves have no edge p–t
        let last = conductance[E - 1] + leakage[E - 1];
        if E == BYPASS + 1 && !last.gt(T::zero()).any() {
            network.first::<BYPASS>().solve_into(flow, known)
        } else {
            network.solve_into(flow, known)
        }
    }

    #[inline(always)]
    fn step_two_ports(&self, io: &mut Step<'_, T>) {
        let x = self.spool.step(io);
        let conductance = self.conductances::<1>(x);
        let difference = io.wave(0) - io.wave(1);
        let impedance = io.impedance(0) + io.impedance(1);
        let flow = self.law.flow_between(conductance[0], difference, impedance);
        let always = T::zero().le(T::zero());
        self.settle::<2, 1>(io, &TWO_PORTS, x, conductance, [flow], always);
    }

    /// Apart: one of p–a and a–t is closed.
    #[inline(always)]
    fn step_three_ports(&self, io: &mut Step<'_, T>) {
        let x = self.spool.step(io);
        let conductance @ [pa, at] = self.conductances::<2>(x);
        let from_p = at.le(T::zero());
        let (from_wave, to_wave) = (io.wave(0) - io.wave(1), io.wave(1) - io.wave(2));
        let difference = T::select(from_p, from_wave, to_wave);
        let other = T::select(from_p, io.impedance(0), io.impedance(2));
        let through = self.law.flow_between(pa + at, difference, io.impedance(1) + other);
        let zero = T::zero();
        let flow = [T::select(from_p, through, zero), T::select(from_p, zero, through)];
        self.settle::<3, 2>(io, &THREE_PORTS, x, conductance, flow, (pa * at).le(zero));
    }

    /// Apart: only p–a and b–t are open, or only p–b and a–t.
    #[inline(always)]
    fn step_four_ports(&self, io: &mut Step<'_, T>) {
        let x = self.spool.step(io);
        let conductance @ [pa, pb, at, bt, pt] = self.conductances::<5>(x);
        let zero = T::zero();
        let crossed = pb + at;
        let straight = crossed.le(zero);
        let (fed_wave, drained_wave) = either(straight, io.wave(2), io.wave(3));
        let (fed, drained) = either(straight, io.impedance(2), io.impedance(3));
        let supply = self.law.flow_between(pa + pb, io.wave(0) - fed_wave, io.impedance(0) + fed);
        let back =
            self.law.flow_between(at + bt, drained_wave - io.wave(1), drained + io.impedance(1));
        let (supply_a, supply_b) = either(straight, supply, zero);
        let (back_b, back_a) = either(straight, back, zero);
        let flow = [supply_a, supply_b, back_a, back_b, zero];
        let apart = ((pa + bt) * crossed + pt).le(zero);
        self.settle::<4, 5>(io, &FOUR_PORTS, x, conductance, flow, apart);
    }
}

/// Both, in order where the mask holds, swapped elsewhere.
#[inline(always)]
fn either<T: Num>(mask: T::Mask, a: T, b: T) -> (T, T) {
    (T::select(mask, a, b), T::select(mask, b, a))
}

/// Adds the parameters that all directional valves share to a declaration.
macro_rules! directional_valve {
    (
        $(#[$($attribute:tt)*])*
        pub struct $name:ident { $($fields:tt)* }
        low = $low:literal, frequency = $frequency:literal,
        ends = $ends:ident, step = $step:ident, edges = |$self:ident| $edges:expr,
        $(adjust = |$data:ident, $constants:ident| $adjust:expr,)?
    ) => {
        $(#[$($attribute)*])*
        pub struct $name {
            $($fields)*
            /// u — signal [–]
            #[input(default = 0, also = "in")]
            pub signal: f64,
            /// u_r — signal at full stroke [–]
            #[parameter(default = 1)]
            pub rated_signal: f64,
            /// u_d — part of the rated signal without effect; beyond it, full signal still gives full stroke [–]
            #[parameter(default = 0, min = 0, max = "<1")]
            pub dead_band: f64,
            /// h — width of the hysteresis between signal and command, part of the stroke [–]
            #[parameter(default = 0, min = 0, max = "<2")]
            pub hysteresis: f64,
            /// – — how the spool follows its command [–]
            #[parameter(default = "second_order")]
            pub dynamics: SpoolDynamics,
            /// ω — natural frequency; corner frequency of a first-order spool [rad/s]
            #[parameter(default = $frequency, min = ">0 rad/s", also = "omega_h")]
            pub natural_frequency: f64,
            /// δ — damping of a second-order spool [–]
            #[parameter(default = 1, min = 0, also = "delta_h")]
            pub damping: f64,
            /// v_max — fastest motion, strokes per time; unlimited when not given [1/s]
            #[parameter(min = ">0 1/s")]
            pub max_rate: Option<f64>,
            /// x₀ — spool position at the start [–]
            #[parameter(default = 0, min = -1, max = 1)]
            pub start_position: f64,
            /// q_n — flow through a fully open edge at the nominal pressure drop [m³/s]
            #[parameter(min = ">0 l/min")]
            pub nominal_flow: Option<f64>,
            /// Δp_n — nominal pressure drop over one edge [Pa]
            #[parameter(default = "5 bar", min = ">0 bar")]
            pub nominal_pressure_drop: f64,
            /// d — spool diameter, with stroke in place of nominal flow [m]
            #[parameter(min = ">0 mm", also = "d")]
            pub spool_diameter: Option<f64>,
            /// f — part of the spool's circumference that opens [–]
            #[parameter(default = 1, min = ">0", max = 1, also = "f")]
            pub port_fraction: f64,
            /// s — travel for an opening of 1 [m]
            #[parameter(min = ">0 mm", also = "x_vmax")]
            pub stroke: Option<f64>,
            /// C_q — discharge coefficient, with the geometry of the spool [–]
            #[parameter(default = 0.67, min = ">0", max = 1, also = "C_q")]
            pub discharge: f64,
            /// p₀ — pressure drop below which an edge turns laminar; 0 for turbulent throughout [Pa]
            #[parameter(default = "0.5 bar", min = "0 bar")]
            pub transition_pressure: f64,
            /// – — how the flow area grows with the opening: linear, or triangular grooves [–]
            #[parameter(default = "linear")]
            pub metering: Metering,
            /// G — laminar leakage beside each edge [m³/(s*Pa)]
            #[parameter(default = "0 m^3/(s*Pa)", min = "0 m^3/(s*Pa)")]
            pub leakage: f64,
            /// x — spool position, part of the stroke [–]
            #[state(start = "start_position", also = "xv")]
            x: State,
            /// v — spool velocity, of a second-order spool [1/s]
            #[state]
            v: State,
            /// u_h — command behind the hysteresis [–]
            #[memory(start = "start_position")]
            command: Memory,
            /// – — steps with the command beyond the stroke or the spool at a stop [–]
            #[memory(counts = "limit")]
            limited: Memory,
        }

        impl Physics for $name {
            fn prepare(&self, environment: &Environment) -> Result<ValveConstants<f64>, Refusal> {
                let $self = self;
                let data = ValveData {
                    spool: SpoolData {
                        rated_signal: self.rated_signal,
                        dead_band: self.dead_band,
                        hysteresis: self.hysteresis,
                        dynamics: self.dynamics,
                        natural_frequency: self.natural_frequency,
                        damping: self.damping,
                        max_rate: self.max_rate,
                        low: $low,
                    },
                    nominal_flow: self.nominal_flow,
                    nominal_pressure_drop: self.nominal_pressure_drop,
                    spool_diameter: self.spool_diameter,
                    port_fraction: self.port_fraction,
                    stroke: self.stroke,
                    discharge: self.discharge,
                    transition_pressure: self.transition_pressure,
                    leakage: self.leakage,
                    metering: self.metering,
                };
                #[allow(unused_mut, reason = "only some valves have a bypass")]
                let mut constants = data.prepare(&$edges, environment)?;
                $({
                    let ($data, $constants) = ((&data, environment), &mut constants);
                    $adjust
                })?
                Ok(constants)
            }
            fn law<T: Num>(k: &ValveConstants<T>, law: &mut Law<'_, T>) {
                k.law(&$ends, law);
            }
            fn settles(k: &ValveConstants<f64>) -> bool {
                k.spool.settles()
            }
            fn show(k: &ValveConstants<f64>, settle: &mut Settle<'_>) {
                k.spool.show(settle);
            }
            fn settle(k: &ValveConstants<f64>, settle: &mut Settle<'_>) {
                k.spool.settle(settle);
            }
            #[inline(always)]
            fn step<T: Num>(k: &ValveConstants<T>, io: &mut Step<'_, T>) {
                k.$step(io);
            }
        }
    };
}

directional_valve! {
    /// 2/2-way valve: one edge between two ports, signal 0…1.
    ///
    /// opening = max(x − lap_pa, 0), of a normally open valve max(1 − x − lap_pa, 0)
    ///
    /// The lap is a part of the stroke, positive for overlap. Edge law, capacity and spool as for
    /// `hydraulic.valve_4_3`.
    #[component("hydraulic.valve_2_2", q, constants = ValveConstants, also = "hopsan:Hydraulic22Valve")]
    pub struct Valve22 {
        /// supply
        #[port(also = "PP")]
        p: Hydraulic,
        /// consumer
        #[port(also = "PA")]
        a: Hydraulic,
        /// – — open at rest, closed by the signal [–]
        #[parameter(default = "false")]
        pub normally_open: bool,
        /// λ_pa — lap of the edge p–a, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_pa: f64,
        /// γ_pa — relative size of the edge p–a [–]
        #[parameter(default = 1, min = 0)]
        pub gain_pa: f64,
    }
    low = 0.0, frequency = "100 rad/s",
    ends = TWO_PORTS, step = step_two_ports,
    edges = |valve| {
        let travel = if valve.normally_open { (-1.0, 1.0) } else { (1.0, 0.0) };
        [EdgeData::new(travel, valve.lap_pa, valve.gain_pa)]
    },
}

directional_valve! {
    /// 3/2-way valve with spring offset: a with t at rest, p with a at signal 1.
    ///
    /// opening_pa = max(2x − 1 − lap_pa, 0),  opening_at = max(1 − 2x − lap_at, 0)
    ///
    /// A normally open valve has p with a at rest. Positive laps close all ports in mid-travel,
    /// negative ones join them there. Edge law, capacity and spool as for `hydraulic.valve_4_3`.
    #[component("hydraulic.valve_3_2", q, constants = ValveConstants)]
    pub struct Valve32 {
        /// supply
        #[port(also = "PP")]
        p: Hydraulic,
        /// consumer
        #[port(also = "PA")]
        a: Hydraulic,
        /// tank
        #[port(also = "PT")]
        t: Hydraulic,
        /// – — p with a at rest, a with t at signal 1 [–]
        #[parameter(default = "false")]
        pub normally_open: bool,
        /// λ_pa — lap of the edge p–a, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_pa: f64,
        /// λ_at — lap of the edge a–t, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_at: f64,
        /// γ_pa — relative size of the edge p–a [–]
        #[parameter(default = 1, min = 0)]
        pub gain_pa: f64,
        /// γ_at — relative size of the edge a–t [–]
        #[parameter(default = 1, min = 0)]
        pub gain_at: f64,
    }
    low = 0.0, frequency = "100 rad/s",
    ends = THREE_PORTS, step = step_three_ports,
    edges = |valve| {
        let (with, against) = ((2.0, -1.0), (-2.0, 1.0));
        let (pa, at) = if valve.normally_open { (against, with) } else { (with, against) };
        [
            EdgeData::new(pa, valve.lap_pa, valve.gain_pa),
            EdgeData::new(at, valve.lap_at, valve.gain_at),
        ]
    },
}

directional_valve! {
    /// 3/3-way proportional valve: p with a for positive signals, a with t for negative ones.
    ///
    /// opening_pa = max(x − lap_pa, 0),  opening_at = max(−x − lap_at, 0)
    ///
    /// Signal −1…1. Edge law, capacity and spool as for `hydraulic.valve_4_3`.
    #[component("hydraulic.valve_3_3", q, constants = ValveConstants, also = "hopsan:Hydraulic33Valve")]
    pub struct Valve33 {
        /// supply
        #[port(also = "PP")]
        p: Hydraulic,
        /// consumer
        #[port(also = "PA")]
        a: Hydraulic,
        /// tank
        #[port(also = "PT")]
        t: Hydraulic,
        /// λ_pa — lap of the edge p–a, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_pa: f64,
        /// λ_at — lap of the edge a–t, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_at: f64,
        /// γ_pa — relative size of the edge p–a [–]
        #[parameter(default = 1, min = 0, also = "f_pa")]
        pub gain_pa: f64,
        /// γ_at — relative size of the edge a–t [–]
        #[parameter(default = 1, min = 0, also = "f_at")]
        pub gain_at: f64,
    }
    low = -1.0, frequency = "500 rad/s",
    ends = THREE_PORTS, step = step_three_ports,
    edges = |valve| [
        EdgeData::new((1.0, 0.0), valve.lap_pa, valve.gain_pa),
        EdgeData::new((-1.0, 0.0), valve.lap_at, valve.gain_at),
    ],
}

directional_valve! {
    /// 4/2-way valve with spring offset: p–b and a–t at rest, p–a and b–t at signal 1.
    ///
    /// opening_pa, opening_bt = max(2x − 1 − lap, 0);  opening_pb, opening_at = max(1 − 2x − lap, 0)
    ///
    /// Positive laps close all ports in mid-travel, negative ones join them there. Edge law, capacity
    /// and spool as for `hydraulic.valve_4_3`.
    #[component("hydraulic.valve_4_2", q, constants = ValveConstants)]
    pub struct Valve42 {
        /// supply
        #[port(also = "PP")]
        p: Hydraulic,
        /// tank
        #[port(also = "PT")]
        t: Hydraulic,
        /// consumer fed at signal 1
        #[port(also = "PA")]
        a: Hydraulic,
        /// consumer fed at rest
        #[port(also = "PB")]
        b: Hydraulic,
        /// λ_pa — lap of the edge p–a, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_pa: f64,
        /// λ_pb — lap of the edge p–b, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_pb: f64,
        /// λ_at — lap of the edge a–t, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_at: f64,
        /// λ_bt — lap of the edge b–t, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_bt: f64,
        /// γ_pa — relative size of the edge p–a [–]
        #[parameter(default = 1, min = 0)]
        pub gain_pa: f64,
        /// γ_pb — relative size of the edge p–b [–]
        #[parameter(default = 1, min = 0)]
        pub gain_pb: f64,
        /// γ_at — relative size of the edge a–t [–]
        #[parameter(default = 1, min = 0)]
        pub gain_at: f64,
        /// γ_bt — relative size of the edge b–t [–]
        #[parameter(default = 1, min = 0)]
        pub gain_bt: f64,
    }
    low = 0.0, frequency = "100 rad/s",
    ends = FOUR_PORTS, step = step_four_ports,
    edges = |valve| {
        let (with, against) = ((2.0, -1.0), (-2.0, 1.0));
        [
            EdgeData::new(with, valve.lap_pa, valve.gain_pa),
            EdgeData::new(against, valve.lap_pb, valve.gain_pb),
            EdgeData::new(against, valve.lap_at, valve.gain_at),
            EdgeData::new(with, valve.lap_bt, valve.gain_bt),
        ]
    },
}

directional_valve! {
    /// 4/3-way valve, proportional or servo: p–a and b–t for positive signals, p–b and a–t for
    /// negative ones.
    ///
    /// opening_pa = max(x − lap_pa, 0),  opening_bt = max(x − lap_bt, 0),
    /// opening_pb = max(−x − lap_pb, 0),  opening_at = max(−x − lap_at, 0)
    /// q = K·√|Δp|·sign(Δp) + G·Δp over each edge, K = q_n/√Δp_n · gain·opening/(1 − lap),
    /// or K = C_q·f·π·d·s·√(2/ρ) · gain·opening from the geometry of the spool; with triangular
    /// grooves opening² and (1 − lap)² stand there
    /// d²x/dt² = ω²·(u − x) − 2·δ·ω·dx/dt
    ///
    /// Laps are parts of the stroke, positive for overlap. Below the transition pressure the edges
    /// turn laminar (a cubic in Δp). Edges that share a port are solved together with the line ends.
    /// The centre `open`, `float` or `tandem` gives the edges that it joins an underlap of
    /// centre_underlap in place of their laps; tandem opens a passage p–t around the centre. Leakage
    /// of worn edges fades with the distance from the point of opening, G·(1 − 3·s² + 2·s³)
    /// (Malysheva 2.36–2.37, there on the closed side only and with a jump at the opening point).
    /// Flow forces are not modelled. Pollmeier (thesis, University of Bath), section 2.4.1;
    /// Malysheva (thesis, LUT University, 2021), 2.34–2.37 and 2.43.
    #[component("hydraulic.valve_4_3", q, constants = ValveConstants, also = "hopsan:Hydraulic43Valve")]
    pub struct Valve43 {
        /// supply
        #[port(also = "PP")]
        p: Hydraulic,
        /// tank
        #[port(also = "PT")]
        t: Hydraulic,
        /// consumer fed by positive signals
        #[port(also = "PA")]
        a: Hydraulic,
        /// consumer fed by negative signals
        #[port(also = "PB")]
        b: Hydraulic,
        /// – — what the centre position connects [–]
        #[parameter(default = "closed")]
        pub centre: Centre,
        /// λ_c — underlap of the edges that the centre position opens [–]
        #[parameter(default = 0.5, min = ">0", max = 1)]
        pub centre_underlap: f64,
        /// λ_pa — lap of the edge p–a, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_pa: f64,
        /// λ_pb — lap of the edge p–b, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_pb: f64,
        /// λ_at — lap of the edge a–t, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_at: f64,
        /// λ_bt — lap of the edge b–t, overlap positive [–]
        #[parameter(default = 0, min = -1, max = "<1")]
        pub lap_bt: f64,
        /// γ_pa — relative size of the edge p–a [–]
        #[parameter(default = 1, min = 0, also = "f_pa")]
        pub gain_pa: f64,
        /// γ_pb — relative size of the edge p–b [–]
        #[parameter(default = 1, min = 0, also = "f_pb")]
        pub gain_pb: f64,
        /// γ_at — relative size of the edge a–t [–]
        #[parameter(default = 1, min = 0, also = "f_at")]
        pub gain_at: f64,
        /// γ_bt — relative size of the edge b–t [–]
        #[parameter(default = 1, min = 0, also = "f_bt")]
        pub gain_bt: f64,
        /// γ_pt — relative size of the passage p–t of a tandem centre [–]
        #[parameter(default = 1, min = 0)]
        pub gain_pt: f64,
        /// G_p — laminar leakage from p to t, such as that of a pilot stage [m³/(s*Pa)]
        #[parameter(default = "0 m^3/(s*Pa)", min = "0 m^3/(s*Pa)")]
        pub pilot_leakage: f64,
        /// G_pa — leakage beside the edge p–a; as of each edge when not given [m³/(s*Pa)]
        #[parameter(min = "0 m^3/(s*Pa)")]
        pub leakage_pa: Option<f64>,
        /// G_pb — leakage beside the edge p–b [m³/(s*Pa)]
        #[parameter(min = "0 m^3/(s*Pa)")]
        pub leakage_pb: Option<f64>,
        /// G_at — leakage beside the edge a–t [m³/(s*Pa)]
        #[parameter(min = "0 m^3/(s*Pa)")]
        pub leakage_at: Option<f64>,
        /// G_bt — leakage beside the edge b–t [m³/(s*Pa)]
        #[parameter(min = "0 m^3/(s*Pa)")]
        pub leakage_bt: Option<f64>,
        /// s_pa — travel to either side of its opening point over which it fades; it does not when not given [–]
        #[parameter(min = ">0")]
        pub leakage_travel_pa: Option<f64>,
        /// s_pb — the same of the edge p–b [–]
        #[parameter(min = ">0")]
        pub leakage_travel_pb: Option<f64>,
        /// s_at — the same of the edge a–t [–]
        #[parameter(min = ">0")]
        pub leakage_travel_at: Option<f64>,
        /// s_bt — the same of the edge b–t [–]
        #[parameter(min = ">0")]
        pub leakage_travel_bt: Option<f64>,
    }
    low = -1.0, frequency = "500 rad/s",
    ends = FOUR_PORTS, step = step_four_ports,
    edges = |valve| {
        let centre = -valve.centre_underlap;
        let supply = |lap| if valve.centre == Centre::Open { centre } else { lap };
        let back = |lap| match valve.centre {
            Centre::Open | Centre::Float => centre,
            _ => lap,
        };
        [
            EdgeData::new((1.0, 0.0), supply(valve.lap_pa), valve.gain_pa)
                .leaking(valve.leakage_pa, valve.leakage_travel_pa),
            EdgeData::new((-1.0, 0.0), supply(valve.lap_pb), valve.gain_pb)
                .leaking(valve.leakage_pb, valve.leakage_travel_pb),
            EdgeData::new((-1.0, 0.0), back(valve.lap_at), valve.gain_at)
                .leaking(valve.leakage_at, valve.leakage_travel_at),
            EdgeData::new((1.0, 0.0), back(valve.lap_bt), valve.gain_bt)
                .leaking(valve.leakage_bt, valve.leakage_travel_bt),
        ]
    },
    adjust = |data, constants| {
        let (data, environment) = data;
        let bypass = &mut constants.edges[BYPASS];
        bypass.leakage = valve.pilot_leakage;
        constants.leakage += valve.pilot_leakage;
        if valve.centre == Centre::Tandem {
            // full opening is that of the other edges without lap
            bypass.offset = data.scale(valve.gain_pt, 0.0, environment.fluid.density)?;
            bypass.slope = -bypass.offset / valve.centre_underlap;
        }
    },
}

#[cfg(test)]
mod tests {
    use super::super::spool::{COMMAND, LIMITED, SIGNAL, V, X};
    use super::*;
    use crate::hydraulic::pumps::checks::{
        Around, lanes_give_the_bits_of_scalars, own_step_equals_the_generic_step,
    };
    use fluxline_core::component::Declared;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    const STEP: f64 = 1e-4;
    /// 40 l/min at 5 bar per edge.
    const NOMINAL: f64 = 40.0 / 6e4;
    const DROP: f64 = 5e5;

    fn servo() -> Valve43 {
        Valve43 {
            centre: Centre::Closed,
            centre_underlap: 0.5,
            lap_pa: 0.0,
            lap_pb: 0.0,
            lap_at: 0.0,
            lap_bt: 0.0,
            gain_pa: 1.0,
            gain_pb: 1.0,
            gain_at: 1.0,
            gain_bt: 1.0,
            gain_pt: 1.0,
            pilot_leakage: 0.0,
            leakage_pa: None,
            leakage_pb: None,
            leakage_at: None,
            leakage_bt: None,
            leakage_travel_pa: None,
            leakage_travel_pb: None,
            leakage_travel_at: None,
            leakage_travel_bt: None,
            signal: 0.0,
            rated_signal: 1.0,
            dead_band: 0.0,
            hysteresis: 0.0,
            dynamics: SpoolDynamics::None,
            natural_frequency: 500.0,
            damping: 1.0,
            max_rate: None,
            start_position: 0.0,
            nominal_flow: Some(NOMINAL),
            nominal_pressure_drop: DROP,
            spool_diameter: None,
            port_fraction: 1.0,
            stroke: None,
            discharge: 0.67,
            transition_pressure: 0.5e5,
            metering: Metering::Linear,
            leakage: 0.0,
        }
    }

    /// The shared parameters of another type, taken from the servo valve.
    macro_rules! like_servo {
        ($name:ident { $($field:ident: $value:expr),* $(,)? }) => {{
            let servo = servo();
            $name {
                $($field: $value,)*
                signal: 0.0,
                rated_signal: 1.0,
                dead_band: 0.0,
                hysteresis: 0.0,
                dynamics: SpoolDynamics::None,
                natural_frequency: servo.natural_frequency,
                damping: servo.damping,
                max_rate: None,
                start_position: 0.0,
                nominal_flow: servo.nominal_flow,
                nominal_pressure_drop: servo.nominal_pressure_drop,
                spool_diameter: None,
                port_fraction: 1.0,
                stroke: None,
                discharge: 0.67,
                transition_pressure: servo.transition_pressure,
                metering: Metering::Linear,
                leakage: 0.0,
            }
        }};
    }

    fn mounted(valve: &Valve43, signal: f64) -> Bench<Valve43> {
        let mut bench = Bench::new(valve, STEP);
        bench.input(SIGNAL, signal);
        bench
    }

    fn near(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * b.abs().max(f64::MIN_POSITIVE)
    }

    #[test]
    fn each_edge_passes_its_nominal_flow_at_its_nominal_drop() {
        for lap in [0.0, 0.1, -0.2] {
            let valve = Valve43 { lap_pa: lap, lap_pb: lap, lap_at: lap, lap_bt: lap, ..servo() };
            let (p, t, high, low) = (Valve43::P, Valve43::T, 105e5, 100e5);
            for (signal, fed, drained) in
                [(1.0, Valve43::A, Valve43::B), (-1.0, Valve43::B, Valve43::A)]
            {
                let mut bench = mounted(&valve, signal);
                bench.line(p, high, 0.0).line(fed, low, 0.0);
                bench.line(drained, high, 0.0).line(t, low, 0.0).step();
                assert!(near(bench.flow(fed), NOMINAL, 1e-12), "{lap}");
                assert!(near(bench.flow(p), -NOMINAL, 1e-12));
                assert!(near(bench.flow(t), NOMINAL, 1e-12));
            }
        }
    }

    #[test]
    fn geometry_gives_the_flow_of_an_annular_slot() {
        let valve = Valve43 {
            nominal_flow: None,
            spool_diameter: Some(0.01),
            stroke: Some(1e-3),
            port_fraction: 0.5,
            gain_bt: 0.5,
            lap_pa: 0.1,
            ..servo()
        };
        let mut bench = mounted(&valve, 0.6);
        bench.line(Valve43::P, 200e5, 0.0).line(Valve43::B, 50e5, 0.0).step();
        // C_q·(fraction·π·d)·(travel beyond the lap)·√(2·Δp/ρ), oil of 870 kg/m³
        let slot = 0.67 * 0.5 * std::f64::consts::PI * 0.01 * 1e-3;
        let pa = slot * (0.6 - 0.1) * (2.0 * 200e5 / 870.0f64).sqrt();
        let bt = slot * 0.6 * 0.5 * (2.0 * 50e5 / 870.0f64).sqrt();
        assert!(near(bench.flow(Valve43::A), pa, 1e-12));
        assert!(near(bench.flow(Valve43::T), bt, 1e-12));
    }

    #[test]
    fn capacity_is_given_exactly_once() {
        let refused = |valve: Valve43| {
            Bench::within(&valve, &Surroundings::of::<Valve43>(STEP)).err().expect("refused")
        };
        let neither = refused(Valve43 { nominal_flow: None, ..servo() });
        assert_eq!(neither.parameter, "nominal_flow");
        let both = refused(Valve43 { spool_diameter: Some(0.01), stroke: Some(1e-3), ..servo() });
        assert!(both.message.contains("40 l/min") && both.message.contains("10 mm"), "{both:?}");
        let half = refused(Valve43 { nominal_flow: None, spool_diameter: Some(0.01), ..servo() });
        assert_eq!(half.parameter, "stroke");
        let laminar = refused(Valve43 { transition_pressure: 8e5, ..servo() });
        assert!(laminar.message.contains("8 bar") && laminar.message.contains("5 bar"));
        let mute = refused(Valve43 { rated_signal: 0.0, ..servo() });
        assert_eq!(mute.parameter, "rated_signal");
    }

    #[test]
    fn overlap_blocks_until_the_land_is_passed() {
        let valve = Valve43 { lap_pa: 0.1, ..servo() };
        for (signal, open) in [(0.05, false), (0.1, false), (0.11, true)] {
            let mut bench = mounted(&valve, signal);
            bench.line(Valve43::P, 100e5, 1e9).step();
            assert_eq!(bench.flow(Valve43::A) > 0.0, open, "{signal}");
        }
    }

    /// Four equal underlapped edges are a Wheatstone bridge: consumers at half the supply pressure,
    /// and K·√(Δp/2) through each side.
    #[test]
    fn underlapped_centre_holds_consumers_at_half_the_supply_pressure() {
        let u = -0.1;
        let valve = Valve43 { lap_pa: u, lap_pb: u, lap_at: u, lap_bt: u, ..servo() };
        let mut bench = mounted(&valve, 0.0);
        bench.line(Valve43::P, 200e5, 0.0);
        // consumers that take no flow: their waves are what they would be at rest
        bench.line(Valve43::A, 100e5, 1e10).line(Valve43::B, 100e5, 1e10).step();
        let side = NOMINAL / DROP.sqrt() * (0.1 / 1.1) * 100e5f64.sqrt();
        assert!(near(bench.flow(Valve43::P), -2.0 * side, 1e-9));
        assert!(bench.flow(Valve43::A).abs() < 1e-12 * side);
        assert!(near(bench.effort(Valve43::B), 100e5, 1e-12));
    }

    #[test]
    fn centre_positions_connect_what_they_are_named_for() {
        let flows = |centre| {
            let mut bench = mounted(&Valve43 { centre, ..servo() }, 0.0);
            bench.line(Valve43::P, 100e5, 0.0);
            bench.line(Valve43::A, 50e5, 0.0).line(Valve43::B, 50e5, 0.0).step();
            [Valve43::P, Valve43::T, Valve43::A, Valve43::B].map(|port| bench.flow(port))
        };
        assert_eq!(flows(Centre::Closed), [0.0; 4]);
        let [p, t, a, b] = flows(Centre::Tandem);
        // the passage p–t is fully open: K·√Δp
        assert!(near(t, NOMINAL / DROP.sqrt() * 100e5f64.sqrt(), 1e-12) && p == -t);
        assert_eq!((a, b), (0.0, 0.0));
        let [p, t, a, b] = flows(Centre::Float);
        assert!(p == 0.0 && t > 0.0 && a < 0.0 && b == a);
        let [p, t, a, b] = flows(Centre::Open);
        assert!(near(t, -p, 1e-12) && p < 0.0 && a.abs() < 1e-15 && b.abs() < 1e-15);
        // away from the centre the passage closes
        let tandem = Valve43 { centre: Centre::Tandem, ..servo() };
        let mut bench = mounted(&tandem, 0.6);
        bench.line(Valve43::P, 100e5, 0.0).line(Valve43::A, 100e5, 0.0).step();
        assert_eq!(bench.flow(Valve43::P), 0.0);
    }

    #[test]
    fn leakage_is_laminar_over_every_edge_and_from_the_pilot() {
        let valve = Valve43 { leakage: 1e-12, pilot_leakage: 3e-12, lap_pa: 0.1, ..servo() };
        let mut bench = mounted(&valve, 0.0);
        bench
            .line(Valve43::P, 200e5, 0.0)
            .line(Valve43::A, 80e5, 0.0)
            .line(Valve43::B, 50e5, 0.0)
            .step();
        let g = 1e-12;
        assert!(near(bench.flow(Valve43::P), -g * (120e5 + 150e5) - 3.0 * g * 200e5, 1e-12));
        assert!(near(bench.flow(Valve43::A), g * (120e5 - 80e5), 1e-12));
        // through line ends: Q = k·Δc/(1 + k·(Z₁ + Z₂)) (Pollmeier D13)
        let alone = Valve43 { pilot_leakage: 3e-12, ..servo() };
        let mut bench = mounted(&alone, 0.0);
        bench.line(Valve43::P, 200e5, 1e10).line(Valve43::T, 1e5, 2e10).step();
        let expected = 3e-12 * 199e5 / (1.0 + 3e-12 * 3e10);
        assert!(near(bench.flow(Valve43::T), expected, 1e-12));
    }

    /// Nominal flow at full stroke, and a quarter of it half way between lap and full stroke.
    #[test]
    fn triangular_grooves_open_with_the_square() {
        for lap in [0.0, 0.1, -0.2] {
            let valve = Valve43 {
                metering: Metering::Triangular,
                lap_pa: lap,
                lap_bt: lap,
                gain_bt: 0.5,
                ..servo()
            };
            for (signal, share) in [(1.0, 1.0), (0.5 * (1.0 + lap), 0.25), (lap, 0.0)] {
                let mut bench = mounted(&valve, signal);
                bench.line(Valve43::P, 105e5, 0.0).line(Valve43::A, 100e5, 0.0);
                bench.line(Valve43::B, 105e5, 0.0).line(Valve43::T, 100e5, 0.0).step();
                assert!((bench.flow(Valve43::A) / NOMINAL - share).abs() < 1e-12, "{signal} {lap}");
                assert!((bench.flow(Valve43::T) / NOMINAL - 0.5 * share).abs() < 1e-12);
            }
        }
    }

    /// Malysheva 2.36–2.37: G·(1 − 3·s² + 2·s³)·Δp, a half at s = ½ and nothing from s = 1 on.
    #[test]
    fn leakage_of_a_worn_edge_fades_with_the_overlap() {
        let valve = Valve43 {
            lap_pa: 0.4,
            lap_pb: 0.4,
            lap_at: 0.4,
            lap_bt: 0.4,
            leakage_pb: Some(4e-12),
            leakage_travel_pb: Some(0.2),
            ..servo()
        };
        // p–b opens at −0.4; no other edge leaks
        for (signal, share) in [(-0.4, 1.0), (-0.3, 0.5), (-0.2, 0.0), (0.0, 0.0), (0.3, 0.0)] {
            let mut bench = mounted(&valve, signal);
            bench.line(Valve43::P, 200e5, 0.0).line(Valve43::B, 50e5, 0.0).step();
            let expected = 4e-12 * share * 150e5;
            assert!((bench.flow(Valve43::B) - expected).abs() < 1e-17, "{signal}");
            assert_eq!(bench.flow(Valve43::P), -bench.flow(Valve43::B));
        }
    }

    #[test]
    fn two_position_valves_change_over_in_mid_travel() {
        let valve = like_servo!(Valve42 {
            lap_pa: 0.0,
            lap_pb: 0.0,
            lap_at: 0.0,
            lap_bt: 0.0,
            gain_pa: 1.0,
            gain_pb: 1.0,
            gain_at: 1.0,
            gain_bt: 1.0,
        });
        for (signal, a, b) in
            [(0.0, -1.0, 1.0), (0.5, 0.0, 0.0), (0.75, 0.5, -0.5), (1.0, 1.0, -1.0)]
        {
            let mut bench = Bench::new(&valve, STEP);
            bench.input(SIGNAL, signal).line(Valve42::P, 2.0 * DROP, 0.0);
            bench.line(Valve42::A, DROP, 0.0).line(Valve42::B, DROP, 0.0).step();
            assert!((bench.flow(Valve42::A) - a * NOMINAL).abs() < 1e-12 * NOMINAL, "{signal}");
            assert!((bench.flow(Valve42::B) - b * NOMINAL).abs() < 1e-12 * NOMINAL, "{signal}");
        }
        for normally_open in [false, true] {
            let three = like_servo!(Valve32 {
                normally_open: normally_open,
                lap_pa: 0.0,
                lap_at: 0.0,
                gain_pa: 1.0,
                gain_at: 1.0,
            });
            let two =
                like_servo!(Valve22 { normally_open: normally_open, lap_pa: 0.0, gain_pa: 1.0 });
            for signal in [0.0, 1.0] {
                let fed = (signal == 1.0) != normally_open;
                let mut bench = Bench::new(&three, STEP);
                bench
                    .input(SIGNAL, signal)
                    .line(Valve32::P, 2.0 * DROP, 0.0)
                    .line(Valve32::A, DROP, 0.0)
                    .step();
                let expected = if fed { NOMINAL } else { -NOMINAL };
                assert!(near(bench.flow(Valve32::A), expected, 1e-12));
                let mut bench = Bench::new(&two, STEP);
                bench
                    .input(SIGNAL, signal)
                    .line(Valve22::P, 2.0 * DROP, 0.0)
                    .line(Valve22::A, DROP, 0.0)
                    .step();
                let expected = if fed { NOMINAL } else { 0.0 };
                assert!((bench.flow(Valve22::A) - expected).abs() < 1e-12 * NOMINAL);
            }
        }
        let proportional =
            like_servo!(Valve33 { lap_pa: 0.0, lap_at: 0.0, gain_pa: 1.0, gain_at: 1.0 });
        let mut bench = Bench::new(&proportional, STEP);
        bench
            .input(SIGNAL, -0.5)
            .line(Valve33::P, 2.0 * DROP, 0.0)
            .line(Valve33::A, DROP, 0.0)
            .step();
        assert!(near(bench.flow(Valve33::A), -0.5 * NOMINAL, 1e-12));
    }

    /// A closed position leaves a consumer without flow through any impedance, a zero drop likewise.
    #[test]
    fn closed_edges_and_zero_drops_pass_nothing() {
        let mut bench = mounted(&servo(), 0.0);
        bench.line(Valve43::P, 200e5, 1e12).line(Valve43::A, 10e5, 0.0).step();
        assert_eq!(bench.flow(Valve43::A), 0.0);
        assert_eq!(bench.effort(Valve43::P), 200e5);
        for port in 0..4 {
            bench.line(port, 50e5, 0.0);
        }
        bench.input(SIGNAL, 1.0).step();
        assert_eq!(bench.flow(Valve43::A), 0.0);
    }

    /// Critically damped: x = 1 − (1 + ωt)·e^(−ωt) (Pollmeier 2.35); the trapezoidal rule errs with
    /// the square of the step.
    #[test]
    fn second_order_spool_follows_the_closed_form_with_order_two() {
        let error = |step: f64| {
            let valve = Valve43 { dynamics: SpoolDynamics::SecondOrder, ..servo() };
            let mut bench = Bench::new(&valve, step);
            bench.input(SIGNAL, 0.8);
            // the acceleration at t = 0+, as the start of a run leaves it
            bench.set_state(2 + V, 0.8 * 500.0 * 500.0);
            let mut worst = 0.0f64;
            for n in 1..=(0.02 / step).round() as usize {
                bench.step();
                let wt = 500.0 * n as f64 * step;
                let exact = 0.8 * (1.0 - (1.0 + wt) * (-wt).exp());
                worst = worst.max((bench.get_state(X) - exact).abs());
            }
            worst
        };
        let (coarse, fine) = (error(2e-4), error(1e-4));
        assert!((coarse / fine).log2() > 1.9, "{coarse} {fine}");
        assert!(fine < 1e-3);
    }

    #[test]
    fn rate_limit_makes_a_ramp_for_every_kind_of_spool() {
        for dynamics in [SpoolDynamics::None, SpoolDynamics::FirstOrder, SpoolDynamics::SecondOrder]
        {
            let valve =
                Valve43 { dynamics, natural_frequency: 2000.0, max_rate: Some(20.0), ..servo() };
            let mut bench = mounted(&valve, 1.0);
            for _ in 0..250 {
                bench.step();
            }
            // 20 strokes/s for 25 ms, less the time to reach that speed (a few 1/ω)
            let x = bench.get_state(X);
            assert!(x <= 0.5 + 1e-12 && x > 0.5 - 20.0 * 3.0 / 2000.0, "{dynamics:?} {x}");
            for _ in 0..1000 {
                bench.step();
            }
            assert!((bench.get_state(X) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn spool_stops_at_the_end_of_its_stroke_and_is_counted() {
        for dynamics in [SpoolDynamics::None, SpoolDynamics::FirstOrder, SpoolDynamics::SecondOrder]
        {
            let valve = Valve43 { dynamics, damping: 0.2, ..servo() };
            let mut bench = mounted(&valve, 1.0);
            let counted = |bench: &Bench<Valve43>| bench.state.states[4 + LIMITED];
            for _ in 0..2000 {
                bench.step();
                assert!(bench.get_state(X) <= 1.0);
            }
            // full signal alone is no limit; an underdamped spool meets the stop
            assert_eq!(counted(&bench) > 0.0, dynamics == SpoolDynamics::SecondOrder);
            assert!((bench.get_state(X) - 1.0).abs() < 1e-6);
            let before = counted(&bench);
            bench.input(SIGNAL, 1.5).step();
            assert_eq!(counted(&bench), before + 1.0);
        }
    }

    #[test]
    fn dead_band_and_hysteresis_act_on_the_command() {
        let mut bench = mounted(&Valve43 { dead_band: 0.2, rated_signal: 10.0, ..servo() }, 1.9);
        bench.step();
        assert_eq!(bench.get_state(X), 0.0);
        bench.input(SIGNAL, -6.0).step();
        assert!((bench.get_state(X) + 0.5).abs() < 1e-12);
        bench.input(SIGNAL, 10.0).step();
        assert!((bench.get_state(X) - 1.0).abs() < 1e-12);
        let mut bench = mounted(&Valve43 { hysteresis: 0.1, ..servo() }, 0.5);
        bench.step();
        assert!((bench.get_state(X) - 0.45).abs() < 1e-12);
        bench.input(SIGNAL, 0.42).step();
        assert!((bench.get_state(X) - 0.45).abs() < 1e-12, "within the width nothing moves");
        bench.input(SIGNAL, 0.2).step();
        assert!((bench.get_state(X) - 0.25).abs() < 1e-12);
        assert_eq!(bench.state.states[4 + COMMAND], bench.get_state(X));
    }

    fn dynamics() -> impl Strategy<Value = SpoolDynamics> {
        prop_oneof![Just(SpoolDynamics::FirstOrder), Just(SpoolDynamics::SecondOrder)]
    }
    fn lap() -> impl Strategy<Value = f64> {
        prop_oneof![-0.3..0.0f64, Just(0.0), 0.0..0.1f64]
    }
    fn line() -> impl Strategy<Value = (f64, f64)> {
        (0.0..350e5f64, prop_oneof![Just(0.0), 1e8..1e11f64])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Spool and flows by the valve's own step are those of the generic implicit step.
        #[test]
        fn spool_and_edges_equal_the_generic_step(
            lines in prop::array::uniform4(line()),
            laps in prop::array::uniform4(lap()),
            dynamics in dynamics(),
            signal in -0.9..0.9f64, x in -0.9..0.9f64, v in -20.0..20.0f64, a in -1e4..1e4f64,
            leakage in prop_oneof![Just(0.0), 1e-13..1e-11f64],
            travel in prop_oneof![Just(None), (0.05..1.5f64).prop_map(Some)],
            metering in prop_oneof![Just(Metering::Linear), Just(Metering::Triangular)],
            centre in prop_oneof![Just(Centre::Closed), Just(Centre::Tandem), Just(Centre::Open)],
        ) {
            let valve = Valve43 {
                lap_pa: laps[0], lap_pb: laps[1], lap_at: laps[2], lap_bt: laps[3],
                dynamics, leakage, pilot_leakage: leakage, centre, gain_bt: 0.6, metering,
                leakage_travel_pa: travel, leakage_travel_bt: travel, ..servo()
            };
            let mount = || {
                let mut bench = mounted(&valve, signal);
                for (port, &(c, z)) in lines.iter().enumerate() {
                    bench.line(port, c, z);
                }
                bench.set_state(X, x);
                let v = if dynamics == SpoolDynamics::SecondOrder { v } else { 0.0 };
                bench.set_state(V, v).set_state(2 + X, v).set_state(2 + V, if v == 0.0 { 0.0 } else { a });
                bench
            };
            let (mut own, mut generic) = (mount(), mount());
            own.step();
            generic.step_generic();
            prop_assume!(generic.state.faults.unconverged == 0);
            prop_assert_eq!(own.state.faults.unconverged, 0);
            for i in 0..4 {
                let (o, g) = (own.get_state(i), generic.get_state(i));
                // accelerations are ω² larger than positions
                prop_assert!((o - g).abs() <= 1e-10 * (1.0 + g.abs()) * if i == 3 { 1e5 } else { 1.0 }, "state {i}: {o} {g}");
            }
            let total: f64 = (0..4).map(|port| own.flow(port).abs()).sum();
            for port in 0..4 {
                let (o, g) = (own.flow(port), generic.flow(port));
                prop_assert!((o - g).abs() <= 1e-9 * total + 1e-15, "port {port}: {o} {g}");
            }
        }

        /// What enters leaves, and flow runs down the pressure: a valve never adds power.
        #[test]
        fn valve_conserves_oil_and_only_takes_power(
            lines in prop::array::uniform4(line()), signal in -1.5..1.5f64, lap in lap(),
        ) {
            let valve = Valve43 { lap_pa: lap, lap_bt: -lap, centre: Centre::Float, ..servo() };
            let mut bench = mounted(&valve, signal);
            for (port, &(c, z)) in lines.iter().enumerate() {
                bench.line(port, c, z);
            }
            bench.step();
            let sum: f64 = (0..4).map(|port| bench.flow(port)).sum();
            let power: f64 = (0..4).map(|port| bench.flow(port) * bench.effort(port)).sum();
            let size: f64 = (0..4).map(|port| bench.flow(port).abs()).sum();
            prop_assert!(sum.abs() <= 1e-14 * size);
            prop_assert!(power <= 1e-9 * size * 350e5);
        }
    }

    /// Valves of one type with different laps, and leakage in some.
    macro_rules! check {
        ($name:ident, $valve:expr, $signal:expr) => {{
            let valve = $valve;
            let lines = vec![(0.0..300e5, 1e8..1e11); $name::DECLARATION.ports.len()];
            let around = Around { inputs: &[$signal], lines: &lines };
            let states = [(0.1..0.9, -20.0..20.0), (0.0..0.0, 0.0..0.0)];
            assert!(
                own_step_equals_the_generic_step(&valve(-0.2, 1e-12), &around, &states, 1e-7) > 100
            );
            lanes_give_the_bits_of_scalars(
                [valve(0.1, 0.0), valve(-0.3, 0.0), valve(0.0, 1e-12), valve(-0.1, 1e-13)],
                &around,
            );
        }};
    }

    #[test]
    fn own_step_is_generic_and_the_same_in_lanes() {
        let dynamics = SpoolDynamics::FirstOrder;
        check!(
            Valve22,
            |lap, leakage| Valve22 {
                dynamics,
                leakage,
                ..like_servo!(Valve22 { normally_open: true, lap_pa: lap, gain_pa: 0.5 })
            },
            -0.1..1.1
        );
        check!(
            Valve32,
            |lap, leakage| Valve32 {
                dynamics,
                leakage,
                ..like_servo!(Valve32 {
                    normally_open: false,
                    lap_pa: lap,
                    lap_at: lap,
                    gain_pa: 0.5,
                    gain_at: 1.0
                })
            },
            -0.1..1.1
        );
        check!(
            Valve33,
            |lap, leakage| Valve33 {
                dynamics,
                leakage,
                ..like_servo!(Valve33 { lap_pa: lap, lap_at: lap, gain_pa: 0.5, gain_at: 1.0 })
            },
            -1.1..1.1
        );
        check!(
            Valve42,
            |lap, leakage| Valve42 {
                dynamics,
                leakage,
                ..like_servo!(Valve42 {
                    lap_pa: lap,
                    lap_pb: -lap,
                    lap_at: lap,
                    lap_bt: 0.0,
                    gain_pa: 0.5,
                    gain_pb: 1.0,
                    gain_at: 1.0,
                    gain_bt: 0.7,
                })
            },
            -0.1..1.1
        );
        check!(
            Valve43,
            |lap, leakage| Valve43 {
                dynamics,
                leakage,
                pilot_leakage: leakage,
                lap_pa: lap,
                lap_bt: -lap,
                ..servo()
            },
            -1.1..1.1
        );
    }
}
