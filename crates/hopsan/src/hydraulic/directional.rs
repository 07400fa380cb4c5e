//! Valves whose spool follows a signal.

use super::check::gated;
use super::spool::{
    Edge, Edges, Ports, Spool, SpoolValve, Travel, conductance_per_opening, pass, spool_valve,
};
use crate::blocks::{End, turbulent, with_cavitation, with_cavitation_in_two_ways};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Valve22>(),
    ComponentType::of::<Valve33>(),
    ComponentType::of::<Valve42>(),
    ComponentType::of::<Valve42Both>(),
    ComponentType::of::<Valve43>(),
    ComponentType::of::<LoadSensingValve43>(),
    ComponentType::of::<OpenCenterValve>(),
    ComponentType::of::<Valve43NeutralSupplyToTank>(),
    ComponentType::of::<Valve43NeutralToTank>(),
    ComponentType::of::<DirectionalValve22>(),
    ComponentType::of::<DirectionalCheckValve22>(),
    ComponentType::of::<DirectionalValve32>(),
    ComponentType::of::<DirectionalValve42>(),
];

/// The spool is sent where the signal says, and starts at the value of its output.
macro_rules! proportional {
    ($travel:ident) => {
        const TRAVEL: Travel = Travel::$travel;

        #[inline(always)]
        fn command<T: Num>(io: &Step<'_, T>) -> T {
            Self::TRAVEL.limit(io.input(Self::COMMAND), io.input(Self::STROKE))
        }
        fn start_position<T: Num>(io: &Step<'_, T>) -> T {
            io.output(Self::POSITION)
        }
    };
}

/// The spool is sent to the end of its stroke by a signal above 0.5, else to 0.
macro_rules! switched {
    () => {
        const TRAVEL: Travel = Travel::OneWay;

        #[inline(always)]
        fn command<T: Num>(io: &Step<'_, T>) -> T {
            is_on(io.input(Self::COMMAND), io.input(Self::STROKE))
        }
    };
}

#[inline(always)]
fn is_on<T: Num>(signal: T, on: T) -> T {
    T::select(signal.gt(T::of(0.5)), on, T::zero())
}

spool_valve! {
    /// 2/2 valve that opens with its spool.
    ///
    /// Edge p–a opens with x, 0 ≤ x ≤ x_vmax: q = C_q·f·π·d·x·√(2·Δp/ρ).
    "hopsan.Hydraulic22Valve", position = "xv", damping = 1,
    Valve22 {
        /// supply
        #[port(name = "PP")]
        p: Hydraulic,
        /// work port
        #[port(name = "PA", side = "b")]
        a: Hydraulic,
        /// x_ref — wanted position of the spool [m]
        #[input(name = "in", default = "0 m")]
        pub command: f64,
        /// f — share of the circumference that the edge opens [–]
        #[input(name = "f", default = 1)]
        pub share: f64,
    }
}

impl Ports for Valve22 {
    proportional!(OneWay);
    const STEPS_AT_START: bool = true;

    #[inline(always)]
    fn flow<T: Num>(_: &SpoolValve<T>, io: &mut Step<'_, T>, x: T, gain: T) {
        let opening = gain * io.input(Self::SHARE);
        pass::<T, 2, 1>(io, [(opening * x, Self::P, Self::A)]);
    }
}

spool_valve! {
    /// 2/2 valve that is switched.
    ///
    /// Edge 1–2 opens with x, which goes to x_vmax when in > 0.5, else to 0.
    "hopsan.Hydraulic22DirectionalValve", position = "xv", damping = 1,
    DirectionalValve22 {
        /// one side
        #[port(name = "P1")]
        p: Hydraulic,
        /// other side
        #[port(name = "P2", side = "b")]
        a: Hydraulic,
        /// – — open above 0.5 [any]
        #[input(name = "in", default = 0)]
        pub command: f64,
        /// f — share of the circumference that the edge opens [–]
        #[input(name = "f", default = 1)]
        pub share: f64,
    }
}

impl Ports for DirectionalValve22 {
    switched!();
    const STEPS_AT_START: bool = true;

    fn start_position<T: Num>(io: &Step<'_, T>) -> T {
        io.output(Self::POSITION)
    }
    #[inline(always)]
    fn flow<T: Num>(_: &SpoolValve<T>, io: &mut Step<'_, T>, x: T, gain: T) {
        let opening = gain * io.input(Self::SHARE);
        pass::<T, 2, 1>(io, [(opening * x, Self::P, Self::A)]);
    }
}

spool_valve! {
    /// 3/2 valve that is switched.
    ///
    /// Edge p–a opens with x, a–t with x_vmax − x; x goes to x_vmax when in > 0.5, else to 0.
    "hopsan.Hydraulic32DirectionalValve", position = "xv", damping = 1,
    DirectionalValve32 {
        /// supply
        #[port(name = "PP")]
        p: Hydraulic,
        /// tank
        #[port(name = "PT")]
        t: Hydraulic,
        /// work port
        #[port(name = "PA")]
        a: Hydraulic,
        /// – — joins p and a above 0.5 [any]
        #[input(name = "in", default = 0)]
        pub command: f64,
        /// f — share of the circumference that the edges open [–]
        #[input(name = "f", default = 1)]
        pub share: f64,
    }
}

impl Ports for DirectionalValve32 {
    switched!();

    fn start_position<T: Num>(io: &Step<'_, T>) -> T {
        io.output(Self::POSITION)
    }
    #[inline(always)]
    fn flow<T: Num>(_: &SpoolValve<T>, io: &mut Step<'_, T>, x: T, gain: T) {
        let opening = gain * io.input(Self::SHARE);
        let rest = (io.input(Self::STROKE) - x).max(T::zero());
        pass::<T, 3, 2>(io, [(opening * x, Self::P, Self::A), (opening * rest, Self::A, Self::T)]);
    }
}

spool_valve! {
    /// 3/3 valve.
    ///
    /// Edge p–a opens with x − x_pa, a–t with −x − x_at. Once a port has run dry only the side that
    /// the spool is at lets oil through.
    "hopsan.Hydraulic33Valve", position = "xv", damping = 1,
    Valve33 {
        /// supply
        #[port(name = "PP")]
        p: Hydraulic,
        /// tank
        #[port(name = "PT")]
        t: Hydraulic,
        /// work port
        #[port(name = "PA")]
        a: Hydraulic,
        /// x_ref — wanted position of the spool [m]
        #[input(name = "in", default = "0 m")]
        pub command: f64,
        /// f_pa — share of the circumference that edge p–a opens [–]
        #[input(name = "f_pa", default = 1)]
        pub share_pa: f64,
        /// f_at — share of the circumference that edge a–t opens [–]
        #[input(name = "f_at", default = 1)]
        pub share_at: f64,
        /// x_pa — overlap of edge p–a [m]
        #[input(name = "x_pa", default = "-1e-6 m")]
        pub lap_pa: f64,
        /// x_at — overlap of edge a–t [m]
        #[input(name = "x_at", default = "-1e-6 m")]
        pub lap_at: f64,
    }
}

impl Ports for Valve33 {
    proportional!(BothWays);

    #[wide]
    #[inline(always)]
    fn flow<T: Num>(_: &SpoolValve<T>, io: &mut Step<'_, T>, x: T, gain: T) {
        let edge = |share, lap, x: T| gain * io.input(share) * (x - io.input(lap)).max(T::zero());
        let pa = edge(Self::SHARE_PA, Self::LAP_PA, x);
        let at = edge(Self::SHARE_AT, Self::LAP_AT, -x);
        let flows = |pa: T, at: T| {
            move |[p, t, a]: [End<T>; 3]| {
                let (pa, at) = (turbulent(pa, p, a), turbulent(at, a, t));
                [-pa, at, pa - at]
            }
        };
        let to_work = x.ge(T::zero());
        with_cavitation_in_two_ways(
            io,
            [Self::P, Self::T, Self::A],
            false,
            flows(pa, at),
            flows(T::select(to_work, pa, T::zero()), T::select(to_work, T::zero(), at)),
        );
    }
}

spool_valve! {
    /// 4/2 valve that opens both ways with its spool.
    ///
    /// Edges p–a and b–t open with x, 0 ≤ x ≤ x_vmax.
    "hopsan.Hydraulic42Valve", position = "xv", damping = 1,
    Valve42 {
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
        /// x_ref — wanted position of the spool [m]
        #[input(name = "in", default = "0 m")]
        pub command: f64,
        /// f_pa — share of the circumference that edge p–a opens [–]
        #[input(name = "f_pa", default = 1)]
        pub share_pa: f64,
        /// f_bt — share of the circumference that edge b–t opens [–]
        #[input(name = "f_bt", default = 1)]
        pub share_bt: f64,
    }
}

impl Ports for Valve42 {
    proportional!(OneWay);

    #[inline(always)]
    fn flow<T: Num>(_: &SpoolValve<T>, io: &mut Step<'_, T>, x: T, gain: T) {
        let open = gain * x;
        pass::<T, 4, 2>(
            io,
            [
                (open * io.input(Self::SHARE_PA), Self::P, Self::A),
                (open * io.input(Self::SHARE_BT), Self::B, Self::T),
            ],
        );
    }
}

/// 4/2 valves that join p–a and b–t at one end of the stroke, p–b and a–t at the other.
macro_rules! crossing_valve {
    ($(#[$doc:meta])* $name:literal, $type:ident { $($command:tt)* } $($ports:tt)*) => {
        spool_valve! {
            $(#[$doc])*
            $name, position = "xv", damping = 1,
            $type {
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
                $($command)*
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
            }
        }

        impl Ports for $type {
            $($ports)*

            #[inline(always)]
            fn flow<T: Num>(_: &SpoolValve<T>, io: &mut Step<'_, T>, x: T, gain: T) {
                let (straight, crossed) = (gain * x, gain * (io.input(Self::STROKE) - x));
                pass::<T, 4, 4>(
                    io,
                    [
                        (straight * io.input(Self::SHARE_PA), Self::P, Self::A),
                        (crossed * io.input(Self::SHARE_PB), Self::P, Self::B),
                        (crossed * io.input(Self::SHARE_AT), Self::A, Self::T),
                        (straight * io.input(Self::SHARE_BT), Self::B, Self::T),
                    ],
                );
            }
        }
    };
}

crossing_valve! {
    /// 4/2 valve that crosses its ports over with its spool.
    ///
    /// Edges p–a and b–t open with x, p–b and a–t with x_vmax − x.
    "hopsan.Hydraulic42Valve2",
    Valve42Both {
        /// x_ref — wanted position of the spool [m]
        #[input(name = "in", default = "0 m")]
        pub command: f64,
    }
    // The spool may swing below 0, though it is never sent there.
    const TRAVEL: Travel = Travel::BothWays;

    #[inline(always)]
    fn command<T: Num>(io: &Step<'_, T>) -> T {
        Travel::OneWay.limit(io.input(Self::COMMAND), io.input(Self::STROKE))
    }
    fn start_position<T: Num>(io: &Step<'_, T>) -> T {
        io.output(Self::POSITION)
    }
}

crossing_valve! {
    /// 4/2 valve that is switched.
    ///
    /// Edges p–a and b–t open with x, p–b and a–t with x_vmax − x; x goes to x_vmax when in > 0.5,
    /// else to 0. It starts where the signal in metres would be.
    "hopsan.Hydraulic42DirectionalValve",
    DirectionalValve42 {
        /// – — joins p and a, b and t above 0.5 [any]
        #[input(name = "in", default = 0)]
        pub command: f64,
    }
    switched!();

    fn start_position<T: Num>(io: &Step<'_, T>) -> T {
        io.input(Self::COMMAND)
    }
}

/// 4/3 valves: four edges, each with a share of the circumference and an overlap.
macro_rules! valve_43 {
    (
        $(#[$doc:meta])*
        $name:literal, damping = $damping:literal, $type:ident { $($more:tt)* }
        |$io:ident, $x:ident, $gain:ident, [$pa:ident, $pb:ident, $at:ident, $bt:ident]| $flow:expr
    ) => {
        spool_valve! {
            $(#[$doc])*
            $name, position = "xv", damping = $damping,
            $type {
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
                $($more)*
                /// x_ref — wanted position of the spool [m]
                #[input(name = "in", default = "0 m")]
                pub command: f64,
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
            }
        }

        impl Ports for $type {
            proportional!(BothWays);

            fn edges(&self, environment: &Environment, gain: f64) -> Edges<f64> {
                let shares = [self.share_pa, self.share_pb, self.share_at, self.share_bt];
                let read = [
                    [Self::SHARE_PA, Self::SHARE_PB, Self::SHARE_AT, Self::SHARE_BT],
                    [Self::LAP_PA, Self::LAP_PB, Self::LAP_AT, Self::LAP_BT],
                ];
                Edges {
                    are_constant: environment.holds(read.as_flattened()),
                    gains: shares.map(|share| gain * share),
                    laps: [self.lap_pa, self.lap_pb, self.lap_at, self.lap_bt],
                }
            }

            #[wide]
            #[inline(always)]
            fn flow<T: Num>(k: &SpoolValve<T>, $io: &mut Step<'_, T>, $x: T, $gain: T) {
                let edge = |i: usize, share, lap, x: T, from, to| -> Edge<T> {
                    let (gain, lap) = match k.edges.are_constant {
                        true => (k.edges.gains[i], k.edges.laps[i]),
                        false => ($gain * $io.input(share), $io.input(lap)),
                    };
                    (gain * (x - lap).max(T::zero()), from, to)
                };
                let $pa = edge(0, Self::SHARE_PA, Self::LAP_PA, $x, Self::P, Self::A);
                let $pb = edge(1, Self::SHARE_PB, Self::LAP_PB, -$x, Self::P, Self::B);
                let $at = edge(2, Self::SHARE_AT, Self::LAP_AT, -$x, Self::A, Self::T);
                let $bt = edge(3, Self::SHARE_BT, Self::LAP_BT, $x, Self::B, Self::T);
                $flow
            }
        }
    };
}

valve_43! {
    /// 4/3 directional valve with a second-order spool.
    ///
    /// x follows clip(in, ±x_vmax) as 1/(s²/ω² + 2·δ·s/ω + 1), limited to ±x_vmax. Edges: p–a opens
    /// with x − x_pa, b–t with x − x_bt, p–b with −x − x_pb, a–t with −x − x_at, each
    /// q = C_q·f·π·d·opening·√(2·Δp/ρ), solved for its two ends alone; flows of a port then add up.
    "hopsan.Hydraulic43Valve", damping = 1,
    Valve43 {}
    |io, x, gain, [pa, pb, at, bt]| pass::<T, 4, 4>(io, [pa, pb, at, bt])
}

valve_43! {
    /// 4/3 directional valve that passes on the pressure of the work port in use.
    ///
    /// As the plain 4/3 valve; p_L = p_a when x ≥ 0, else p_b; q_L = (p_L − c_L)/Z_L, or 0 at an end
    /// without impedance. What flows at the load port is taken from nowhere.
    "hopsan.Hydraulic43LoadSensingValve", damping = 1,
    LoadSensingValve43 {
        /// load pressure
        #[port(name = "PL")]
        load: Hydraulic,
    }
    |io, x, gain, [pa, pb, at, bt]| {
        pass::<T, 4, 4>(io, [pa, pb, at, bt]);
        let load = T::select(x.ge(T::zero()), io.effort(Self::A), io.effort(Self::B));
        let end = End::at(io, Self::LOAD);
        let is_soft = end.impedance.gt(T::zero()) | end.impedance.lt(T::zero());
        let flow = T::select(is_soft, (load - end.wave) / end.impedance, T::zero());
        let bond = io.bond_mut(Self::LOAD);
        (bond.effort, bond.flow) = (load, flow);
    }
}

valve_43! {
    /// 4/3 directional valve with an open centre.
    ///
    /// As the plain 4/3 valve; besides, edge c1–c2 is open in the middle and closes towards both
    /// ends: x_vmax − clip(|x| − x_cc, 0, x_vmax).
    "hopsan.HydraulicOpenCenterValve", damping = 1,
    OpenCenterValve {
        /// inlet of the centre
        #[port(name = "PC1")]
        inlet: Hydraulic,
        /// outlet of the centre
        #[port(name = "PC2", side = "b")]
        outlet: Hydraulic,
        /// f_cc — share of the circumference that the centre opens [–]
        #[input(name = "f_cc", default = 1)]
        pub share_center: f64,
        /// x_cc — overlap of the centre [m]
        #[input(name = "x_cc", default = "-1e-6 m")]
        pub lap_center: f64,
    }
    |io, x, gain, [pa, pb, at, bt]| {
        let stroke = io.input(Self::STROKE);
        let closed = stroke.min(x.abs() - io.input(Self::LAP_CENTER)).max(T::zero());
        let center = gain * io.input(Self::SHARE_CENTER) * (stroke - closed);
        pass::<T, 6, 5>(io, [pa, pb, at, bt, (center, Self::INLET, Self::OUTLET)]);
    }
}

valve_43! {
    /// 4/3 directional valve that joins supply and tank in the middle.
    ///
    /// As the plain 4/3 valve; besides, edge p–t opens with x_vmax − |x|/p_c.
    "hopsan.Hydraulic43ValveNeutralSupplyToTank", damping = 1,
    Valve43NeutralSupplyToTank {
        /// p_c — share of the stroke over which the middle is open [–]
        #[input(name = "p_c", default = 0.02)]
        pub width_center: f64,
        /// f_c — share of the circumference that the middle opens [–]
        #[input(name = "f_c", default = 0.1)]
        pub share_center: f64,
    }
    |io, x, gain, [pa, pb, at, bt]| {
        let center = gain
            * io.input(Self::SHARE_CENTER)
            * (io.input(Self::STROKE) - x.abs() / io.input(Self::WIDTH_CENTER)).max(T::zero());
        pass::<T, 4, 5>(io, [pa, pb, at, bt, (center, Self::P, Self::T)]);
    }
}

valve_43! {
    /// 4/3 directional valve that joins both work ports with the tank in the middle.
    ///
    /// As the plain 4/3 valve; edges a–t and b–t also open with x_vmax − |x|/p_c.
    "hopsan.Hydraulic43ValveNeutralToTank", damping = 10,
    Valve43NeutralToTank {
        /// p_c — share of the stroke over which the middle is open [–]
        #[input(name = "p_c", default = 0.02)]
        pub width_center: f64,
        /// f_c — share of the circumference that the middle opens [–]
        #[input(name = "f_c", default = 0.1)]
        pub share_center: f64,
    }
    |io, x, gain, [pa, pb, at, bt]| {
        let center = gain
            * io.input(Self::SHARE_CENTER)
            * (io.input(Self::STROKE) - x.abs() / io.input(Self::WIDTH_CENTER)).max(T::zero());
        let wider = |edge: Edge<T>| (edge.0 + center, edge.1, edge.2);
        pass::<T, 4, 4>(io, [pa, pb, wider(at), wider(bt)]);
    }
}

/// 2/2 valve that is switched between an orifice and a check valve with a spring.
///
/// Above x = 0.5: q₂ = K_open·√|Δp|·sign(Δp); else q₂ = K_check·√Δp when c₁ > c₂ + F_s, or 0.
/// x follows 1 when in > 0.5, else 0, as 1/(s²/ω² + 2·δ·s/ω + 1).
#[component("hopsan.Hydraulic22DirectionalCheckValve", q, constants = Spool)]
pub struct DirectionalCheckValve22 {
    /// inlet of the check valve
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet of the check valve
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// – — orifice above 0.5 [any]
    #[input(name = "in", default = 0)]
    pub command: f64,
    /// K_open — flow at 1 Pa of the orifice [m^3/(s*sqrt(Pa))]
    #[input(name = "Kv_open", default = "5e-7 m^3/(s*sqrt(Pa))")]
    pub orifice: f64,
    /// K_check — flow at 1 Pa of the open check valve [m^3/(s*sqrt(Pa))]
    #[input(name = "Kv_check", default = "5e-7 m^3/(s*sqrt(Pa))")]
    pub check: f64,
    /// F_s — pressure of the spring [Pa]
    #[input(name = "F_s", default = "0 Pa")]
    pub spring: f64,
    /// ω — natural frequency of the spool [rad/s]
    #[parameter(name = "omega_h", default = "100 rad/s")]
    pub frequency: f64,
    /// δ — damping of the spool [–]
    #[parameter(name = "delta_h", default = 1)]
    pub damping: f64,
    /// x — position of the spool, 0 to 1 [–]
    #[output(name = "out")]
    position: Output,
    /// – — command one step ago [–]
    #[memory]
    command_1: Memory,
    /// – — command two steps ago [–]
    #[memory]
    command_2: Memory,
    /// – — position one step ago [–]
    #[memory]
    position_1: Memory,
    /// – — position two steps ago [–]
    #[memory]
    position_2: Memory,
    /// – — largest displacement [–]
    #[memory]
    first_stroke: Memory,
}

impl Physics for DirectionalCheckValve22 {
    const HAS_LAW: bool = false;

    fn prepare(&self, environment: &Environment) -> Result<Spool<f64>, Refusal> {
        Ok(Spool::new(self.frequency, self.damping, environment.step))
    }

    fn start<T: Num>(k: &Spool<T>, io: &mut Step<'_, T>) {
        let x = io.output(Self::POSITION);
        Spool::start(io, Self::COMMAND_1, Travel::OneWay, x, T::one());
        Self::step(k, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Spool<T>, io: &mut Step<'_, T>) {
        let command = is_on(io.input(Self::COMMAND), T::one());
        let x = k.step(io, Self::COMMAND_1, Travel::OneWay, command);
        let is_orifice = x.gt(T::of(0.5));
        let conductance = T::select(is_orifice, io.input(Self::ORIFICE), io.input(Self::CHECK));
        let spring = io.input(Self::SPRING);
        with_cavitation(io, [Self::P1, Self::P2], false, move |[a, b]: [End<T>; 2]| {
            gated(is_orifice | a.wave.gt(b.wave + spring), conductance, a, b)
        });
        io.set_output(Self::POSITION, x);
    }
}

#[cfg(test)]
mod tests {
    use super::super::spool::tests::{STEP, assert_edges, bench};
    use super::*;
    use fluxline_core::component::Declared;
    use fluxline_core::testing::Bench;

    const STROKE: f64 = 0.01;

    fn index<M: Declared>(name: &str) -> usize {
        let parameters = M::DECLARATION.parameters;
        parameters.iter().find(|p| p.name == name).and_then(|p| p.input).unwrap()
    }

    /// A valve at rest with a command, and its spool at the start.
    fn at<M: Physics>(command: f64, x: f64) -> Bench<M> {
        let mut bench = bench::<M>();
        bench.input(index::<M>("in"), command);
        let output = M::DECLARATION.input_count();
        bench.state.signals[output] = x;
        bench.start();
        bench
    }

    const P: usize = Valve43::P;
    const T: usize = Valve43::T;
    const A: usize = Valve43::A;
    const B: usize = Valve43::B;
    /// Underlap of the edges by default.
    const LAP: f64 = 1e-6;

    #[test]
    fn the_spool_opens_the_edges_on_its_side_and_the_underlap_of_the_others() {
        let x = 0.004;
        let near = |from, to| (from, to, x + LAP);
        for (x, edges) in [(x, [near(P, A), near(B, T)]), (-x, [near(P, B), near(A, T)])] {
            assert_edges(&mut at::<Valve43>(x, x), &edges);
            assert_edges(&mut at::<Valve43NeutralToTank>(x, x), &edges);
            assert_edges(&mut at::<Valve43NeutralSupplyToTank>(x, x), &edges);
            let center = (OpenCenterValve::INLET, OpenCenterValve::OUTLET, STROKE - x.abs() - LAP);
            assert_edges(&mut at::<OpenCenterValve>(x, x), &[edges[0], edges[1], center]);
        }
        let edges = [(P, A, LAP), (P, B, LAP), (A, T, LAP), (B, T, LAP)];
        assert_edges(&mut at::<Valve43>(0.0, 0.0), &edges);
        assert_edges(&mut at::<Valve33>(x, x), &[(0, 2, x + LAP)]);
        assert_edges(&mut at::<Valve33>(-x, -x), &[(2, 1, x + LAP)]);
    }

    #[test]
    fn in_the_middle_an_open_centre_joins_what_its_name_says() {
        let laps = [(P, A, LAP), (P, B, LAP), (A, T, LAP), (B, T, LAP)];
        // A tenth of the circumference.
        let open = 0.1 * STROKE;
        let mut edges = laps.to_vec();
        edges.push((P, T, open));
        assert_edges(&mut at::<Valve43NeutralSupplyToTank>(0.0, 0.0), &edges);
        let mut edges = laps.to_vec();
        edges.extend([(A, T, open), (B, T, open)]);
        assert_edges(&mut at::<Valve43NeutralToTank>(0.0, 0.0), &edges);
        let mut edges = laps.to_vec();
        edges.push((4, 5, STROKE - LAP));
        assert_edges(&mut at::<OpenCenterValve>(0.0, 0.0), &edges);
        // The middle is open over 2 % of the stroke.
        let x = 0.5 * 0.02 * STROKE;
        let edges = [(P, A, x + LAP), (B, T, x + LAP), (P, T, 0.5 * open)];
        assert_edges(&mut at::<Valve43NeutralSupplyToTank>(x, x), &edges);
    }

    #[test]
    fn valves_that_open_one_way_do_not_open_the_other() {
        for (command, x) in [(0.004, 0.004), (-0.004, 0.0), (0.02, STROKE)] {
            assert_edges(&mut at::<Valve22>(command, x), &[(0, 1, x)]);
            assert_edges(&mut at::<Valve42>(command, x), &[(P, A, x), (B, T, x)]);
            let crossed = STROKE - x;
            let edges = [(P, A, x), (B, T, x), (P, B, crossed), (A, T, crossed)];
            assert_edges(&mut at::<Valve42Both>(command, x), &edges);
        }
    }

    #[test]
    fn a_switched_valve_goes_from_one_end_to_the_other() {
        fn switched<M: Physics>(command: f64) -> Bench<M> {
            let mut bench = at::<M>(command, STROKE);
            // The spool is critically damped: 2 s are 200 of its time constants.
            (0..2000).for_each(|_| _ = bench.step());
            bench
        }
        for (command, x) in [(0.6, STROKE), (0.4, 0.0)] {
            let rest = STROKE - x;
            assert_edges(&mut switched::<DirectionalValve22>(command), &[(0, 1, x)]);
            assert_edges(&mut switched::<DirectionalValve32>(command), &[(0, 2, x), (2, 1, rest)]);
            let edges = [(P, A, x), (B, T, x), (P, B, rest), (A, T, rest)];
            assert_edges(&mut switched::<DirectionalValve42>(command), &edges);
        }
    }

    /// By hand: u = u₋ = u₋₋ = x₋ = x₋₋ = 0 at the start, then u = 1 mm.
    #[test]
    fn the_spool_starts_at_its_output_whatever_the_command() {
        let mut valve = at::<Valve43>(1e-3, 0.0);
        valve.step();
        let t2 = STEP * STEP;
        let x = 1e-3 * t2 / (t2 + 4.0 * STEP / 100.0 + 4.0 / 1e4);
        assert!((valve.output(0) - x).abs() < 1e-15);
        // Some valves take this step when they start.
        assert!((at::<Valve22>(1e-3, 0.0).output(0) - x).abs() < 1e-15);
    }

    #[test]
    fn a_load_sensing_valve_reports_the_pressure_of_the_port_it_feeds() {
        for (x, port) in [(0.004, A), (0.0, A), (-0.004, B)] {
            let mut valve = at::<LoadSensingValve43>(x, x);
            for (i, c) in [2e7, 1e5, 8e6, 5e6].into_iter().enumerate() {
                valve.line(i, c, 1e9);
            }
            let load = LoadSensingValve43::LOAD;
            valve.line(load, 1e6, 2e9).step();
            assert_eq!(valve.effort(load), valve.effort(port));
            assert!((valve.flow(load) - (valve.effort(port) - 1e6) / 2e9).abs() < 1e-15);
            let sum: f64 = [P, T, A, B].map(|i| valve.flow(i)).iter().sum();
            assert!(sum.abs() < 1e-15);
            assert_eq!(valve.line(load, 1e6, 0.0).step().flow(load), 0.0);
        }
    }

    #[test]
    fn a_dry_port_of_a_three_way_valve_shuts_the_side_that_is_not_in_use() {
        let mut valve = at::<Valve33>(0.0, 0.0);
        // Both edges are open by their underlap; the tank has run dry.
        valve.line(0, 2e7, 0.0).line(1, -1e7, 1e12).line(2, 1e6, 0.0).step();
        assert_eq!((valve.flow(1), valve.effort(1)), (0.0, 0.0));
        assert_eq!(valve.flow(2), -valve.flow(0));
        assert!(valve.flow(2) > 0.0);
    }

    #[test]
    fn a_directional_check_valve_lets_oil_back_only_when_switched() {
        for (x, flows_back) in [(0.0, false), (1.0, true)] {
            let mut valve = at::<DirectionalCheckValve22>(x, x);
            valve.line(0, 1e6, 0.0).line(1, 5e6, 0.0).step();
            let back = if flows_back { 5e-7 * 4e6_f64.sqrt() } else { 0.0 };
            assert!((valve.flow(0) - back).abs() < 1e-15);
            valve.line(0, 5e6, 0.0).line(1, 1e6, 0.0).step();
            assert!((valve.flow(1) - 5e-7 * 4e6_f64.sqrt()).abs() < 1e-15);
        }
        let mut valve = at::<DirectionalCheckValve22>(0.0, 0.0);
        valve.input(DirectionalCheckValve22::SPRING, 4.1e6);
        assert_eq!(valve.line(0, 5e6, 0.0).line(1, 1e6, 0.0).step().flow(1), 0.0);
    }

    /// Lanes of which some run dry give the bits that each gives alone.
    #[test]
    fn lanes_give_the_bits_of_scalars() {
        use super::super::spool::tests::assert_lanes;
        assert_lanes::<Valve22>(0.001, 1.0);
        assert_lanes::<Valve33>(0.001, 1.0);
        assert_lanes::<LoadSensingValve43>(0.001, 1.0);
        assert_lanes::<DirectionalValve42>(0.001, 1.0);
        assert_lanes::<DirectionalCheckValve22>(0.0, 1.0);
    }
}
