//! Valves whose poppet or ball the oil itself moves.

use crate::blocks::{End, Integrator, limit, sign, turbulent, with_cavitation};
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::PI;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<ShuttleValve>(),
    ComponentType::of::<ShuttleSpool>(),
    ComponentType::of::<PoppetValve>(),
];

/// Shuttle valve that joins the port with the higher pressure of the last step to the third, without
/// loss.
///
/// q₃ = (c_i − c₃)/(Z_i + Z₃) for the joined port, 0 at the other; pressures below 0 become 0.
#[component("hopsan.HydraulicShuttleValve", q)]
pub struct ShuttleValve {
    /// first inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// second inlet
    #[port(name = "P2")]
    p2: Hydraulic,
    /// outlet
    #[port(name = "P3")]
    p3: Hydraulic,
    /// – — −1 when the first inlet is joined to the outlet, 1 when the second is [–]
    #[output(name = "out")]
    joined: Signal,
}

/// Spool that the pressures of supply and tank move through damping orifices, and that opens one of
/// them to the work port.
///
/// With K_i = C_q·π/4·d_i²·√(2/ρ): p = (K₁²·p_p + K₂²·p_t)/(K₁² + K₂²),
/// x' = K₁·√|p_p − p|·sign(p_p − p)/A, by the trapezoidal rule within ±x_vmax. Edge p–a opens with
/// −x − x_pa, a–t with x − x_at.
#[component("hopsan.Hydraulic33ShuttleValve", q, constants = Orifices)]
pub struct ShuttleSpool {
    /// supply
    #[port(name = "PP")]
    p: Hydraulic,
    /// tank
    #[port(name = "PT")]
    t: Hydraulic,
    /// work port
    #[port(name = "PA")]
    a: Hydraulic,
    /// x — position of the spool [m]
    #[output(name = "xv_out")]
    position: Signal,
    /// C_q — flow coefficient [–]
    #[input(name = "C_q", default = 0.67)]
    pub flow_coefficient: f64,
    /// ρ — density of the oil [kg/m^3]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// d — diameter of the spool [m]
    #[input(name = "d", default = "0.01 m")]
    pub diameter: f64,
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
    /// x_vmax — largest displacement of the spool [m]
    #[parameter(name = "x_vmax", default = "0.01 m")]
    pub stroke: f64,
    /// d₁ — diameter of the damping orifice at the supply's side [m]
    #[parameter(name = "d_1", default = "1e-3 m")]
    pub orifice_1: f64,
    /// d₂ — diameter of the damping orifice at the tank's side [m]
    #[parameter(name = "d_2", default = "1e-3 m")]
    pub orifice_2: f64,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// – — C_q·π/4·√(2/ρ) as it was at the start [m^(3/2)/kg^(1/2)]
    #[memory]
    jet: Memory,
    /// A — area of the spool as it was at the start [m^2]
    #[memory]
    area: Memory,
}

/// Poppet valve whose control chamber is filled through a damping orifice.
///
/// p_c = (A_n·p_n + A_s·p_s − F₀ − k·x)/A_c;  q_c = C_q·π/4·d_d²·√(2·(p_c − p)/ρ) through the damping
/// orifice;  x' = q_c/A_c by the trapezoidal rule within [0, x_vmax];
/// q = C_q·π·d₁·f·x·√(2·Δp/ρ) from the side to the nose
///
/// Where a pressure would be negative that end has run dry (c = Z = 0), and flows are computed once
/// more; the control port keeps its first flow and pressure.
#[component("hopsan.Hydraulic22PoppetValve", q, constants = Poppet)]
pub struct PoppetValve {
    /// nose of the poppet
    #[port(name = "PN")]
    nose: Hydraulic,
    /// side of the poppet
    #[port(name = "PS")]
    side: Hydraulic,
    /// control chamber, behind the damping orifice
    #[port(name = "PC")]
    control: Hydraulic,
    /// x — position of the poppet [m]
    #[output(name = "xv_out")]
    position: Signal,
    /// C_q — flow coefficient [–]
    #[input(name = "C_q", default = 0.67)]
    pub flow_coefficient: f64,
    /// ρ — density of the oil [kg/m^3]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// d₁ — small diameter [m]
    #[input(name = "d_1", default = "0.01 m")]
    pub small_diameter: f64,
    /// d₂ — large diameter [m]
    #[input(name = "d_2", default = "0.01 m")]
    pub large_diameter: f64,
    /// k — stiffness of the spring [N/m]
    #[input(name = "k", default = "1e4 N/m")]
    pub stiffness: f64,
    /// F₀ — preload of the spring [N]
    #[input(name = "F_0", default = "100 N")]
    pub preload: f64,
    /// f — share of the circumference that opens [–]
    #[input(name = "f", default = 1)]
    pub share: f64,
    /// x_vmax — largest displacement [m]
    #[parameter(name = "x_vmax", default = "0.01 m")]
    pub stroke: f64,
    /// d_d — diameter of the damping orifice [m]
    #[parameter(name = "d_d", default = "1e-4 m")]
    pub orifice: f64,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// A_n — area of the nose as it was at the start [m^2]
    #[memory]
    nose_area: Memory,
    /// A_c — area at the control chamber as it was at the start [m^2]
    #[memory]
    control_area: Memory,
    /// K — conductance of the damping orifice as it was at the start [m^3/(s*sqrt(Pa))]
    #[memory]
    damping: Memory,
}

impl Physics for ShuttleValve {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let ends = [Self::P1, Self::P2, Self::P3].map(|port| End::at(io, port));
        let first = io.effort(Self::P1).gt(io.effort(Self::P2));
        let through =
            |from: End<T>| (from.wave - ends[2].wave) / (from.impedance + ends[2].impedance);
        let (zero, one) = (T::zero(), T::one());
        let flow = T::select(first, through(ends[0]), through(ends[1]));
        let flows = [T::select(first, -flow, zero), T::select(first, zero, -flow), flow];
        for (port, (end, flow)) in ends.into_iter().zip(flows).enumerate() {
            let bond = io.bond_mut(port);
            bond.flow = flow;
            bond.effort = end.effort(flow).max(zero);
        }
        io.set_output(Self::JOINED, T::select(first, -one, one));
    }
}

/// Constants of [`ShuttleSpool`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Orifices<T> {
    stroke: T,
    /// Squares of the diameters.
    squares: [T; 2],
}

impl Physics for ShuttleSpool {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Orifices<f64>, Refusal> {
        let squares = [self.orifice_1, self.orifice_2].map(|d| d * d);
        Ok(Orifices { stroke: self.stroke, squares })
    }

    fn start<T: Num>(k: &Orifices<T>, io: &mut Step<'_, T>) {
        let x = limit(io.output(Self::POSITION), -k.stroke, k.stroke);
        // The speed starts with the number of the position.
        Integrator(Self::SPEED_1).start(io, x, x);
        let jet = io.input(Self::FLOW_COEFFICIENT) * jet(io.input(Self::DENSITY)) * (0.25 * PI);
        io.set_memory(Self::JET, jet);
        let area = io.input(Self::DIAMETER).squared() * (0.25 * PI);
        io.set_memory(Self::AREA, area);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Orifices<T>, io: &mut Step<'_, T>) {
        let [k1, k2] = k.squares.map(|square| io.memory(Self::JET) * square);
        let (supply, tank) = (io.effort(Self::P), io.effort(Self::T));
        let middle = (k1 * k1 * supply + k2 * k2 * tank) / (k1 * k1 + k2 * k2);
        let drop = supply - middle;
        let speed = sign(drop) * k1 * drop.abs().sqrt() / io.memory(Self::AREA);
        let x = Integrator(Self::SPEED_1).limited(io, speed, (-k.stroke, k.stroke));
        let gain = io.input(Self::FLOW_COEFFICIENT)
            * io.input(Self::DIAMETER)
            * jet(io.input(Self::DENSITY))
            * PI;
        let edge = |share: usize, lap: usize, x: T| {
            gain * io.input(share) * (x - io.input(lap)).max(T::zero())
        };
        let pa = edge(Self::SHARE_PA, Self::LAP_PA, -x);
        let at = edge(Self::SHARE_AT, Self::LAP_AT, x);
        with_cavitation(io, [Self::P, Self::T, Self::A], false, move |[p, t, a]: [End<T>; 3]| {
            let (pa, at) = (turbulent(pa, p, a), turbulent(at, a, t));
            [-pa, at, pa - at]
        });
        io.set_output(Self::POSITION, x);
    }
}

/// √(2/ρ).
#[inline(always)]
fn jet<T: Num>(density: T) -> T {
    (T::of(2.0) / density).sqrt()
}

/// Constants of [`PoppetValve`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Poppet<T> {
    stroke: T,
    orifice: T,
}

impl PoppetValve {
    const TRAVEL: Integrator = Integrator(Self::SPEED_1);
}

impl Physics for PoppetValve {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Poppet<f64>, Refusal> {
        Ok(Poppet { stroke: self.stroke, orifice: self.orifice })
    }

    #[wide]
    fn start<T: Num>(k: &Poppet<T>, io: &mut Step<'_, T>) {
        let x = limit(io.output(Self::POSITION), T::zero(), k.stroke);
        Self::TRAVEL.start(io, T::zero(), x);
        let circle = |d: T| d.squared() * (0.25 * PI);
        let damping =
            io.input(Self::FLOW_COEFFICIENT) * jet(io.input(Self::DENSITY)) * circle(k.orifice);
        for (at, value) in [
            (Self::NOSE_AREA, circle(io.input(Self::SMALL_DIAMETER))),
            (Self::CONTROL_AREA, circle(io.input(Self::LARGE_DIAMETER))),
            (Self::DAMPING, damping),
        ] {
            io.set_memory(at, value);
        }
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Poppet<T>, io: &mut Step<'_, T>) {
        let x = io.memory(Self::POSITION_1);
        let conductance = io.input(Self::FLOW_COEFFICIENT)
            * io.input(Self::SMALL_DIAMETER)
            * io.input(Self::SHARE)
            * jet(io.input(Self::DENSITY))
            * x
            * PI;
        let spring = io.input(Self::PRELOAD) + io.input(Self::STIFFNESS) * x;
        let (nose_area, area) = (io.memory(Self::NOSE_AREA), io.memory(Self::CONTROL_AREA));
        let damping = io.memory(Self::DAMPING);
        // Flow and pressures at nose and side, then flow into the control port.
        let flows = |[nose, side, control]: [End<T>; 3]| {
            let flow = turbulent(conductance, side, nose);
            let (p_nose, p_side) = (nose.effort(flow), side.effort(-flow));
            let inside = (nose_area * p_nose + (area - nose_area) * p_side - spring) / area;
            let chamber = End { wave: inside, impedance: T::zero() };
            (flow, [p_nose, p_side], turbulent(damping, chamber, control))
        };
        let zero = T::zero();
        let mut ends = [Self::NOSE, Self::SIDE, Self::CONTROL].map(|port| End::at(io, port));
        let (mut flow, mut pressures, pushed) = flows(ends);
        let control = (pushed, ends[2].effort(pushed));
        let mut moved = pushed;
        let dry = [pressures[0], pressures[1], control.1].map(|p| p.lt(zero));
        if (dry[0] | dry[1] | dry[2]).any() {
            ends = std::array::from_fn(|i| ends[i].dry_where(dry[i]));
            (flow, pressures, moved) = flows(ends);
        }
        let x = Self::TRAVEL.limited(io, moved / area, (zero, k.stroke));
        for (port, flow, pressure) in [
            (Self::NOSE, flow, pressures[0]),
            (Self::SIDE, -flow, pressures[1]),
            (Self::CONTROL, control.0, control.1),
        ] {
            let bond = io.bond_mut(port);
            bond.flow = flow;
            bond.effort = pressure;
        }
        io.set_output(Self::POSITION, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    #[test]
    fn a_shuttle_valve_joins_the_higher_pressure() {
        let mut bench = Bench::new(&ShuttleValve {}, 1e-3);
        for (p1, p2) in [(5e6, 2e6), (2e6, 5e6)] {
            let (high, low) = if p1 > p2 { (0, 1) } else { (1, 0) };
            bench.state.bonds[0].effort = p1;
            bench.state.bonds[1].effort = p2;
            bench.line(0, p1, 1e9).line(1, p2, 1e9).line(2, 1e6, 2e9).step();
            assert!((bench.effort(high) - bench.effort(2)).abs() < 1e-6);
            assert_eq!(bench.flow(low), 0.0);
            assert_eq!(bench.flow(high), -bench.flow(2));
            assert_eq!(bench.output(0), if high == 0 { -1.0 } else { 1.0 });
        }
    }

    #[test]
    fn the_lower_pressure_is_joined_by_a_shuttle_spool() {
        let spool = ShuttleSpool {
            flow_coefficient: 0.0,
            density: 0.0,
            diameter: 0.0,
            share_pa: 0.0,
            share_at: 0.0,
            lap_pa: 0.0,
            lap_at: 0.0,
            stroke: 0.01,
            orifice_1: 1e-3,
            orifice_2: 1e-3,
        };
        let mut bench = Bench::new(&spool, 1e-3);
        for (input, value) in [
            (ShuttleSpool::FLOW_COEFFICIENT, 0.67),
            (ShuttleSpool::DENSITY, 870.0),
            (ShuttleSpool::DIAMETER, 0.01),
            (ShuttleSpool::SHARE_PA, 1.0),
            (ShuttleSpool::SHARE_AT, 1.0),
        ] {
            bench.input(input, value);
        }
        bench.start();
        bench.state.bonds[0].effort = 5e6;
        bench.state.bonds[1].effort = 1e6;
        bench.line(0, 5e6, 1e9).line(1, 1e6, 1e9).line(2, 1e6, 1e9).step();
        // Half of the drop falls over each orifice; trapezoidal rule from speed 0.
        let flow = 0.67 * 1e-6 * PI / 4.0 * (2.0 * 2e6 / 870.0f64).sqrt();
        let x = 0.5e-3 * flow / (PI / 4.0 * 1e-4);
        assert!((bench.output(0) / x - 1.0).abs() < 1e-12);
        for _ in 0..1000 {
            bench.line(2, 3e6, 1e9).step();
        }
        assert_eq!(bench.output(0), 0.01);
        assert!(bench.flow(0).abs() < 1e-15 && bench.flow(1) > 0.0);
        assert_eq!(bench.flow(1), -bench.flow(2));
    }

    #[test]
    fn a_poppet_rests_where_spring_and_pressures_balance() {
        let poppet = PoppetValve {
            flow_coefficient: 0.0,
            density: 0.0,
            small_diameter: 0.0,
            large_diameter: 0.0,
            stiffness: 0.0,
            preload: 0.0,
            share: 0.0,
            stroke: 0.01,
            orifice: 2e-4,
        };
        let mut bench = Bench::new(&poppet, 1e-3);
        for (input, value) in [
            (PoppetValve::FLOW_COEFFICIENT, 0.67),
            (PoppetValve::DENSITY, 870.0),
            (PoppetValve::SMALL_DIAMETER, 0.01),
            (PoppetValve::LARGE_DIAMETER, 0.014),
            (PoppetValve::STIFFNESS, 1e5),
            (PoppetValve::PRELOAD, 50.0),
            (PoppetValve::SHARE, 1.0),
        ] {
            bench.input(input, value);
        }
        bench.start();
        for _ in 0..20_000 {
            bench.line(0, 2e6, 0.0).line(1, 4e6, 0.0).line(2, 1e6, 0.0).step();
        }
        let area = |d: f64| PI / 4.0 * d * d;
        let (nose, whole) = (area(0.01), area(0.014));
        let x = (nose * 2e6 + (whole - nose) * 4e6 - whole * 1e6 - 50.0) / 1e5;
        assert!(x > 0.0 && x < 0.01);
        assert!((bench.output(0) / x - 1.0).abs() < 1e-3, "{} {x}", bench.output(0));
        let flow = 0.67 * PI * 0.01 * bench.output(0) * (2.0 * 2e6 / 870.0f64).sqrt();
        assert!((bench.flow(0) / flow - 1.0).abs() < 1e-3);
    }
}
