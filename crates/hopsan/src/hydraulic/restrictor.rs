//! Orifices and connectors.

use crate::blocks::{End, solve, turbulent, with_cavitation};
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Mask, Num};
use fluxline_core::wave::laminar_flow;
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<LaminarOrifice>(),
    ComponentType::of::<TurbulentOrifice>(),
    ComponentType::of::<OrificeG>(),
    ComponentType::of::<LosslessConnector>(),
    ComponentType::of::<LosslessTConnector>(),
];

/// Laminar orifice.
///
/// q₂ = |K_c|·(p₁ − p₂)
#[component("hopsan.HydraulicLaminarOrifice", q)]
pub struct LaminarOrifice {
    /// one side
    #[port(name = "P1")]
    p1: Hydraulic,
    /// other side
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// K_c — flow per pressure difference [m^3/(s*Pa)]
    #[input(name = "Kc", default = "1e-11 m^3/(s*Pa)")]
    pub conductance: f64,
}

impl Physics for LaminarOrifice {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let conductance = io.input(Self::CONDUCTANCE).abs();
        with_cavitation(io, [Self::P1, Self::P2], true, move |[a, b]: [End<T>; 2]| {
            let q = laminar_flow(conductance, a.wave - b.wave, a.impedance + b.impedance);
            [-q, q]
        });
    }
}

/// Turbulent orifice.
///
/// q₂ = C_q·|A|·√(2·|Δp|/ρ)·sign(Δp),  Δp = p₁ − p₂
#[component("hopsan.HydraulicTurbulentOrifice", q, constants = Conductance)]
pub struct TurbulentOrifice {
    /// one side
    #[port(name = "P1")]
    p1: Hydraulic,
    /// other side
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// A — area [m^2]
    #[input(name = "A", default = "1e-5 m^2")]
    pub area: f64,
    /// C_q — flow coefficient [–]
    #[input(name = "C_q", default = 0.67)]
    pub flow_coefficient: f64,
    /// ρ — density of the oil [kg/m^3]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
}

/// Conductance of [`TurbulentOrifice`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Conductance<T> {
    /// No signal drives what it follows from.
    is_constant: bool,
    /// C_q·|A|·√(2/ρ), where it is constant.
    conductance: T,
}

impl TurbulentOrifice {
    #[inline(always)]
    fn conductance<T: Num>(flow_coefficient: T, area: T, density: T) -> T {
        flow_coefficient * area.abs() * (T::of(2.0) / density).sqrt()
    }
}

impl Physics for TurbulentOrifice {
    const HAS_LAW: bool = false;

    fn prepare(&self, environment: &Environment) -> Result<Conductance<f64>, Refusal> {
        Ok(Conductance {
            is_constant: environment.holds(&[Self::FLOW_COEFFICIENT, Self::AREA, Self::DENSITY]),
            conductance: Self::conductance(self.flow_coefficient, self.area, self.density),
        })
    }

    fn start<T: Num>(k: &Conductance<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Conductance<T>, io: &mut Step<'_, T>) {
        let conductance = match k.is_constant {
            true => k.conductance,
            false => Self::conductance(
                io.input(Self::FLOW_COEFFICIENT),
                io.input(Self::AREA),
                io.input(Self::DENSITY),
            ),
        };
        with_cavitation(io, [Self::P1, Self::P2], true, move |[a, b]: [End<T>; 2]| {
            let q = turbulent(conductance, a, b);
            [-q, q]
        });
    }
}

/// Orifice of any length, from laminar to turbulent flow.
///
/// q₂ = 2·A·Δp/√(λ² + 2·ρ·|Δp|/C_dt²),  λ = η·(d_h + 32·δ²·l·(3 − s_f))/(δ²·d_h²),
/// Δp = p₁ − p₂,  p ≥ 0
///
/// Outputs: Re = ρ·d_h·|q|/(η·A), Re·d_h/(l + 0.1·d_h), C_d = |q|/(A·√(2·(|Δp| + 0.1 Pa)/ρ)).
#[component("hopsan.HydraulicOrificeG", q)]
pub struct OrificeG {
    /// one side
    #[port(name = "P1")]
    p1: Hydraulic,
    /// other side
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// ρ — density of the oil [kg/m^3]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// η — dynamic viscosity of the oil [Pa*s]
    #[input(name = "visc", default = "0.12 Pa*s")]
    pub viscosity: f64,
    /// A — area [m^2]
    #[input(name = "Ao", default = "1e-7 m^2")]
    pub area: f64,
    /// d_h — hydraulic diameter [m]
    #[input(name = "dh", default = "0.0025 m")]
    pub diameter: f64,
    /// l — length [m]
    #[input(name = "lo", default = "0.001 m")]
    pub length: f64,
    /// C_dt — discharge coefficient of turbulent flow [–]
    #[input(name = "Cdt", default = 0.611)]
    pub turbulent_coefficient: f64,
    /// δ — C_d/√Re of laminar flow through a sharp edge [–]
    #[input(name = "del", default = 0.157)]
    pub laminar_coefficient: f64,
    /// s_f — shape of the cross-section, 0 round to 1 flat [–]
    #[input(name = "sf", default = 0)]
    pub shape: f64,
    /// Re — Reynolds number [–]
    #[output(name = "Ro")]
    reynolds: Output,
    /// – — Reynolds number times diameter over length [–]
    #[output(name = "DRL")]
    relative_reynolds: Output,
    /// C_d — discharge coefficient [–]
    #[output(name = "Cd", start = "0.611")]
    discharge: Output,
}

impl Physics for OrificeG {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (rho, viscosity) = (io.input(Self::DENSITY), io.input(Self::VISCOSITY));
        let (area, d, l) = (io.input(Self::AREA), io.input(Self::DIAMETER), io.input(Self::LENGTH));
        let delta_2 = io.input(Self::LAMINAR_COEFFICIENT).squared();
        let entry = delta_2 * l * (T::of(3.0) - io.input(Self::SHAPE)) * 32.0;
        let friction = (viscosity * (d + entry) / (delta_2 * d * d)).squared();
        let inertia = rho * 2.0 / io.input(Self::TURBULENT_COEFFICIENT).squared();
        let law = Passage { area, friction, inertia };
        let (a, b) = (End::at(io, Self::P1), End::at(io, Self::P2));
        let guess = law.least_drop([a, b]);
        let k = law.map(&mut Dual::constant);
        let ends = [a, b].map(|end| End {
            wave: Dual::constant(end.wave),
            impedance: Dual::constant(end.impedance),
        });
        let [drop] = solve(io, [guess], [1e5], |&[drop]| {
            let (_, p1, p2) = k.solution(drop, ends);
            [drop - (p1 - p2)]
        });
        let (q, p1, p2) = law.solution(drop, [a, b]);
        for (port, flow, effort) in [(Self::P1, -q, p1), (Self::P2, q, p2)] {
            let bond = io.bond_mut(port);
            (bond.flow, bond.effort) = (flow, effort);
        }
        let reynolds = d * rho * q.abs() / (area * viscosity);
        let head = ((p1 - p2).abs() + 0.1) / rho;
        io.set_output(Self::REYNOLDS, reynolds);
        io.set_output(Self::RELATIVE_REYNOLDS, d * reynolds / (d * 0.1 + l));
        io.set_output(Self::DISCHARGE, q.abs() / (area * (head * 2.0).sqrt()));
    }
}

/// q = 2·A·Δp/√(friction + inertia·|Δp|).
#[derive(Clone, Copy, Debug, Constants)]
struct Passage<T> {
    area: T,
    friction: T,
    inertia: T,
}

impl<T: Num> Passage<T> {
    /// What is left of the pressure difference without friction, or without inertia: never more
    /// than the solution, from where Newton's method reaches it without overshoot.
    #[wide]
    fn least_drop(&self, [a, b]: [End<T>; 2]) -> T {
        let (waves, z) = (a.wave - b.wave, a.impedance + b.impedance);
        let without_friction = waves - z * turbulent(self.area * 2.0 / self.inertia.sqrt(), a, b);
        let without_inertia = waves / (self.area * z * 2.0 / self.friction.sqrt() + 1.0);
        without_friction.abs().max(without_inertia.abs()).with_sign_of(waves)
    }

    /// Flow at a pressure difference, and the pressures that it leaves at both ends.
    #[wide]
    fn solution(&self, drop: T, [a, b]: [End<T>; 2]) -> (T, T, T) {
        let root = (self.friction + self.inertia * drop.abs()).sqrt();
        // No flow, and not 0/0, where neither friction nor pressure is left.
        let q = self.area * drop * 2.0 / (root + f64::MIN_POSITIVE);
        (q, a.effort(-q).max(T::zero()), b.effort(q).max(T::zero()))
    }
}

/// Connector of two line ends: one pressure.
///
/// q₂ = (c₁ − c₂)/(Z₁ + Z₂)
///
/// At least one end must have impedance.
#[component("hopsan.HydraulicLosslessConnector", q)]
pub struct LosslessConnector {
    /// one side
    #[port(name = "P1")]
    p1: Hydraulic,
    /// other side
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
}

/// Connector of three line ends: one pressure.
///
/// p = Σ(c_i/Z_i)/Σ(1/Z_i),  q_i = (p − c_i)/Z_i
///
/// Each end must have impedance.
#[component("hopsan.HydraulicLosslessTConnector", q)]
pub struct LosslessTConnector {
    /// one side
    #[port(name = "P1")]
    p1: Hydraulic,
    /// other side
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// branch
    #[port(name = "P3", side = "b")]
    p3: Hydraulic,
}

impl Physics for LosslessConnector {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let sum = io.impedance(Self::P1) + io.impedance(Self::P2);
        let missing = sum.le(T::zero()) & sum.ge(T::zero());
        if missing.any() {
            io.request_stop(missing);
        }
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (a, b) = (End::at(io, Self::P1), End::at(io, Self::P2));
        let q = (a.wave - b.wave) / (a.impedance + b.impedance);
        for (port, end, q) in [(Self::P1, a, -q), (Self::P2, b, q)] {
            let bond = io.bond_mut(port);
            (bond.flow, bond.effort) = (q, end.effort(q).max(T::zero()));
        }
    }
}

impl Physics for LosslessTConnector {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        for port in [Self::P1, Self::P2, Self::P3] {
            let z = io.impedance(port);
            let missing = z.le(T::zero()) & z.ge(T::zero());
            if missing.any() {
                io.request_stop(missing);
            }
        }
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let ports = [Self::P1, Self::P2, Self::P3];
        let (mut driven, mut admittance) = (T::zero(), T::zero());
        for end in ports.map(|port| End::at(io, port)) {
            driven += end.wave / end.impedance;
            admittance += end.impedance.recip();
        }
        let p = driven / admittance;
        for port in ports {
            let bond = io.bond_mut(port);
            bond.flow = (p - bond.wave) / bond.impedance;
            bond.effort = p.max(T::zero());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-10 * b.abs(), "{a} {b}");
    }

    #[test]
    fn flow_through_a_laminar_orifice_is_its_conductance_times_the_pressure_difference() {
        let mut bench = Bench::new(&LaminarOrifice { conductance: 0.0 }, 1e-3);
        // The sign of the conductance does not count.
        bench.input(0, -2e-11).line(0, 5e6, 3e9).line(1, 1e6, 1e9).step();
        close(bench.flow(1), 2e-11 * (bench.effort(0) - bench.effort(1)));
        assert_eq!(bench.flow(0), -bench.flow(1));
        assert!(bench.flow(1) > 0.0);
    }

    #[test]
    fn a_closed_edge_gives_the_same_alone_and_beside_one_that_is_open() {
        use fluxline_core::number::Lanes;
        for closed in [0.0, -0.0, f64::NAN] {
            for waves in [[5e6, 1e6], [1e6, 5e6], [1e6, 1e6]] {
                let [from, to] = waves.map(|wave| End { wave, impedance: 1e9 });
                let alone = turbulent(closed, from, to);
                let [from, to] = [from, to].map(|end| End {
                    wave: Lanes([end.wave; 2]),
                    impedance: Lanes([end.impedance; 2]),
                });
                let beside = turbulent(Lanes([closed, 1e-7]), from, to).0[0];
                assert_eq!(alone.to_bits(), beside.to_bits(), "{closed} between {waves:?}");
            }
        }
    }

    #[test]
    fn an_orifice_sucks_no_more_than_vacuum_gives() {
        let mut bench = Bench::new(&LaminarOrifice { conductance: 0.0 }, 1e-3);
        bench.input(0, 2e-11).line(0, -5e6, 3e9).line(1, 1e6, 1e9).step();
        // The dry end has neither wave nor impedance: q₁ = K·p₂, p₂ = c₂ − Z₂·q₁.
        assert_eq!(bench.effort(0), 0.0);
        close(bench.flow(0), 2e-11 * 1e6 / (1.0 + 2e-11 * 1e9));
        close(bench.effort(1), 1e6 - 1e9 * bench.flow(0));
    }

    #[test]
    fn flow_through_a_turbulent_orifice_obeys_bernoulli_in_both_directions() {
        let orifice = TurbulentOrifice { area: 0.0, flow_coefficient: 0.0, density: 0.0 };
        for c in [5e6, 1e5] {
            let mut bench = Bench::new(&orifice, 1e-3);
            bench.input(TurbulentOrifice::AREA, -1e-5);
            bench.input(TurbulentOrifice::FLOW_COEFFICIENT, 0.67);
            bench.input(TurbulentOrifice::DENSITY, 870.0);
            bench.line(0, c, 3e9).line(1, 1e6, 1e9).start();
            let drop = bench.effort(0) - bench.effort(1);
            close(bench.flow(1), 0.67 * 1e-5 * (2.0 * drop.abs() / 870.0).sqrt() * drop.signum());
        }
    }

    fn long_orifice(viscosity: f64) -> Bench<OrificeG> {
        let zero = OrificeG {
            density: 0.0,
            viscosity: 0.0,
            area: 0.0,
            diameter: 0.0,
            length: 0.0,
            turbulent_coefficient: 0.0,
            laminar_coefficient: 0.0,
            shape: 0.0,
        };
        let mut bench = Bench::new(&zero, 1e-3);
        for (input, value) in
            [870.0, viscosity, 1e-5, 2.5e-3, 1e-3, 0.611, 0.157, 0.0].into_iter().enumerate()
        {
            bench.input(input, value);
        }
        bench
    }

    #[test]
    fn a_long_orifice_is_turbulent_without_viscosity_and_laminar_with_much() {
        let mut thin = long_orifice(0.0);
        thin.line(0, 5e6, 3e9).line(1, 1e6, 1e9).start();
        let drop = thin.effort(0) - thin.effort(1);
        close(thin.flow(1), 0.611 * 1e-5 * (2.0 * drop / 870.0).sqrt());
        let mut thick = long_orifice(1e6);
        thick.line(0, 5e6, 3e9).line(1, 1e6, 1e9).step();
        let drop = thick.effort(0) - thick.effort(1);
        let delta_2 = 0.157 * 0.157;
        let lambda = 1e6 * (2.5e-3 + 32.0 * delta_2 * 1e-3 * 3.0) / (delta_2 * 2.5e-3 * 2.5e-3);
        close(thick.flow(1), 2.0 * 1e-5 * drop / lambda);
    }

    #[test]
    fn a_long_orifice_at_a_dry_end_solves_the_pressures_left() {
        let mut bench = long_orifice(0.12);
        bench.line(0, -2e6, 3e9).line(1, 1e6, 1e9).step();
        assert_eq!(bench.effort(0), 0.0);
        let (q, p) = (bench.flow(0), bench.effort(1));
        close(p, 1e6 - 1e9 * q);
        let delta_2 = 0.157 * 0.157;
        let lambda = 0.12 * (2.5e-3 + 32.0 * delta_2 * 1e-3 * 3.0) / (delta_2 * 2.5e-3 * 2.5e-3);
        let root = (lambda * lambda + 2.0 * 870.0 * p / (0.611 * 0.611)).sqrt();
        close(q, 2.0 * 1e-5 * p / root);
        assert_eq!(bench.state.faults.unconverged, 0);
    }

    #[test]
    fn connectors_give_one_pressure_and_lose_no_oil() {
        let mut two = Bench::new(&LosslessConnector {}, 1e-3);
        two.line(0, 5e6, 3e9).line(1, 1e6, 1e9).start().step();
        close(two.effort(0), two.effort(1));
        assert_eq!(two.flow(0), -two.flow(1));
        close(two.flow(1), 4e6 / 4e9);
        let mut three = Bench::new(&LosslessTConnector {}, 1e-3);
        three.line(0, 5e6, 3e9).line(1, 1e6, 1e9).line(2, 2e6, 2e9).start().step();
        let sum: f64 = (0..3).map(|i| three.flow(i)).sum();
        assert!(sum.abs() < 1e-12 * three.flow(0).abs());
        for i in 0..3 {
            let bond = three.state.bonds[i];
            close(bond.effort, three.effort(0));
            close(bond.effort, bond.wave + bond.impedance * bond.flow);
        }
        assert_eq!(three.state.faults.stop_requested, 0);
        three.line(2, 2e6, 0.0).start();
        assert_ne!(three.state.faults.stop_requested, 0, "an end without impedance");
    }
}
