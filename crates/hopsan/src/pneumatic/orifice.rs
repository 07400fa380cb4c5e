//! Orifices for gas.

use super::set_gas;
use crate::blocks::{End, root, signed_root};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[ComponentType::of::<Orifice>()];

/// Mass flow that counts as small in the search for it, kg/s.
const SMALL_FLOW: f64 = 1e-4;

/// Orifice with choked flow of gas.
///
/// q_m = A·C_d·K·p_u/√T_u·ψ(p_d/p_u) from upstream u to downstream d, ψ = 1 below the critical ratio
/// and s((r^(2/κ) − r^(1+1/κ))/N) above it, with the smooth root s(x) = x/(ε² + x²)^¼;
/// Ė = c_p·q_m·T_u
///
/// κ = 1 + R/c_v, K = √(κ/R·(2/(κ+1))^((κ+1)/(κ−1))), critical ratio (2/(κ+1))^(κ/(κ−1)),
/// N = (κ−1)/2·(2/(κ+1))^((κ+1)/(κ−1)). The outputs are the flow as either side were upstream.
#[component("hopsan.PneumaticOrifice", q)]
pub struct Orifice {
    /// first port
    #[port(name = "Pp1")]
    p1: Pneumatic,
    /// second port
    #[port(name = "Pp2")]
    p2: Pneumatic,
    /// – — mass flow with the state of the first port upstream [kg/s]
    #[output(name = "qma")]
    flow_a: Signal,
    /// – — mass flow with the state of the second port upstream [kg/s]
    #[output(name = "qmb")]
    flow_b: Signal,
    /// A — area [m²]
    #[input(name = "A0", default = "1e-6 m^2")]
    pub area: f64,
    /// C_d — flow coefficient, read at the start [–]
    #[input(name = "Cd", default = 0.65)]
    pub flow_coefficient: f64,
    /// R — gas constant, read at the start [J/(kg*K)]
    #[input(name = "R", default = "287 J/(kg*K)")]
    pub gas_constant: f64,
    /// c_v — heat capacity at constant volume, read at the start [J/(kg*K)]
    #[input(name = "cv", default = "718 J/(kg*K)")]
    pub heat_capacity: f64,
    /// ε — width of the laminar range, read at the start [–]
    #[input(name = "eps", default = 0.02)]
    pub laminar: f64,
    /// – — C_d·K [s*K^(1/2)/m]
    #[memory]
    kept_gain: Memory,
    /// κ — ratio of heat capacities [–]
    #[memory]
    kept_ratio: Memory,
    /// – — critical ratio of pressures [–]
    #[memory]
    kept_critical: Memory,
    /// N — value at the critical ratio [–]
    #[memory]
    kept_peak: Memory,
    /// c_p — heat capacity at constant pressure [J/(kg*K)]
    #[memory]
    kept_capacity: Memory,
    /// ε — width of the laminar range [–]
    #[memory]
    kept_laminar: Memory,
}

impl Physics for Orifice {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (r, cv, one) = (io.input(Self::GAS_CONSTANT), io.input(Self::HEAT_CAPACITY), T::one());
        let kappa = one + r / cv;
        let throat = (kappa + 1.0).recip() * 2.0;
        let power = throat.powf((kappa + 1.0) / (kappa - 1.0));
        let gain = io.input(Self::FLOW_COEFFICIENT) * (kappa * power / r).sqrt();
        for (kept, value) in [
            (Self::KEPT_GAIN, gain),
            (Self::KEPT_RATIO, kappa),
            (Self::KEPT_CRITICAL, throat.powf(kappa / (kappa - 1.0))),
            (Self::KEPT_PEAK, (kappa - 1.0) * 0.5 * power),
            (Self::KEPT_CAPACITY, cv + r),
            (Self::KEPT_LAMINAR, io.input(Self::LAMINAR)),
        ] {
            io.set_memory(kept, value);
        }
    }

    #[inline]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let c = Dual::constant;
        let ends = [End::at(io, Self::P1), End::at(io, Self::P2)];
        let temperatures = [io.dry(Self::P1), io.dry(Self::P2)];
        let gain = io.input(Self::AREA) * io.memory(Self::KEPT_GAIN);
        let gains = temperatures.map(|t| gain / t.sqrt());
        let (kappa, critical) = (io.memory(Self::KEPT_RATIO), io.memory(Self::KEPT_CRITICAL));
        let (peak, laminar) = (io.memory(Self::KEPT_PEAK), io.memory(Self::KEPT_LAMINAR));
        let capacity = io.memory(Self::KEPT_CAPACITY);
        let zero = Dual::<T>::zero();
        // Energy flow, pressures and what the pressures give as flow from either side.
        let energy = |q: Dual<T>| {
            c(capacity) * q * Dual::select(q.gt(zero), c(temperatures[0]), c(temperatures[1]))
        };
        let pressures = |q: Dual<T>| {
            let energy = energy(q);
            [
                c(ends[0].wave) - c(ends[0].impedance) * energy,
                c(ends[1].wave) + c(ends[1].impedance) * energy,
            ]
        };
        let exponents = [T::of(2.0) / kappa, kappa.recip() + 1.0];
        let flows = |p: [Dual<T>; 2]| {
            let ratio = Dual::select(p[0].gt(p[1]), p[1] / p[0], p[0] / p[1]).max(zero);
            let choked = ratio.le(c(critical));
            let open = Dual::select(choked, c(critical), ratio);
            let psi = (open.powf(c(exponents[0])) - open.powf(c(exponents[1]))) / c(peak);
            let psi = Dual::select(choked, Dual::one(), signed_root(psi, c(laminar)));
            [c(gains[0]) * p[0] * psi, c(gains[1]) * p[1] * psi]
        };
        let push = ends[0].wave - ends[1].wave;
        let upstream = T::select(push.gt(T::zero()), temperatures[0], temperatures[1]);
        let resistance = (ends[0].impedance + ends[1].impedance) * capacity * upstream;
        let even = T::select(resistance.gt(T::zero()), push / resistance, push.signed_sqrt() * 1e9);
        let bounds = (even.min(T::zero()), even.max(T::zero()));
        let guess = io.displacement(Self::P2);
        let q = root(io, bounds, guess, SMALL_FLOW, |q| {
            let p = pressures(q);
            let [a, b] = flows(p);
            q - Dual::select(p[0].gt(p[1]), a, -b)
        });
        let p = pressures(c(q));
        let [a, b] = flows(p);
        let energy = energy(c(q)).value;
        set_gas(io, Self::P1, -energy, -q, p[0].value);
        set_gas(io, Self::P2, energy, q, p[1].value);
        io.set_output(Self::FLOW_A, a.value);
        io.set_output(Self::FLOW_B, b.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, bench};

    /// Flow by the law of an ideal nozzle.
    fn nozzle(p: [f64; 2], t: f64) -> f64 {
        let kappa: f64 = 1.0 + 287.0 / 718.0;
        let throat = 2.0 / (kappa + 1.0);
        let choked = (kappa / 287.0 * throat.powf((kappa + 1.0) / (kappa - 1.0))).sqrt();
        let flow = |r: f64| r.powf(2.0 / kappa) - r.powf(1.0 + 1.0 / kappa);
        let critical = throat.powf(kappa / (kappa - 1.0));
        let r = p[1] / p[0];
        let x = flow(r) / flow(critical);
        let psi = if r <= critical { 1.0 } else { x / (4e-4 + x * x).powf(0.25) };
        1e-6 * 0.65 * choked * p[0] / t.sqrt() * psi
    }

    #[test]
    fn flow_is_that_of_a_nozzle_choked_or_not_in_both_directions() {
        for (c, flip) in [(1e5, false), (4e5, false), (1e5, true), (4.9e5, true)] {
            let mut orifice = bench::<Orifice>(1e-3, &[]);
            let (up, down) = if flip { (1, 0) } else { (0, 1) };
            orifice.start();
            orifice.line(up, 5e5, 3.0).line(down, c, 20.0);
            orifice.state.bonds[up].dry = 400.0;
            orifice.state.bonds[down].dry = 300.0;
            orifice.step();
            assert_eq!(orifice.state.faults.unconverged, 0);
            let q = nozzle([orifice.effort(up), orifice.effort(down)], 400.0);
            let bonds = &orifice.state.bonds;
            assert_near(bonds[down].displacement, q, 1e-9);
            assert_near(bonds[up].displacement, -q, 1e-9);
            assert_near(bonds[down].flow, 1005.0 * q * 400.0, 1e-9);
            assert_near(bonds[up].flow, -bonds[down].flow, 1e-12);
            assert_near(orifice.effort(down), c + 20.0 * bonds[down].flow, 1e-12);
            assert_near(orifice.output(if flip { 1 } else { 0 }), q, 1e-9);
        }
    }
}
