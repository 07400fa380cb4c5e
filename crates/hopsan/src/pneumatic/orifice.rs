//! Orifices for gas.

use super::set_gas;
use crate::blocks::{End, Iterations, root, signed_root, weights};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;

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
#[component("hopsan.PneumaticOrifice", q, constants = Iterations)]
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
    /// – — Newton iterations per step as Hopsan does them; 0 solves to convergence [–]
    #[parameter(default = 0)]
    pub iterations: usize,
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

    fn prepare(&self, _: &Environment) -> Result<Iterations<f64>, Refusal> {
        Ok(Iterations::new(self.iterations))
    }

    fn start<T: Num>(_: &Iterations<T>, io: &mut Step<'_, T>) {
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

    #[inline(always)]
    fn step<T: Num>(k: &Iterations<T>, io: &mut Step<'_, T>) {
        let nozzle = Nozzle::at(io);
        let flow = if k.count == 0 { nozzle.solve(io) } else { nozzle.iterate(io, k.count) };
        for (port, mass) in [(Self::P1, -flow.mass), (Self::P2, flow.mass)] {
            set_gas(io, port, flow.energies[port], mass, flow.pressures[port]);
        }
        io.set_output(Self::FLOW_A, flow.from[0]);
        io.set_output(Self::FLOW_B, flow.from[1]);
    }
}

/// The orifice's numbers in a step.
struct Nozzle<T> {
    ends: [End<T>; 2],
    temperatures: [T; 2],
    /// Choked flow per pressure upstream, from either side.
    gains: [T; 2],
    /// Exponents of the ratio of pressures.
    exponents: [T; 2],
    critical: T,
    peak: T,
    laminar: T,
    capacity: T,
}

/// Flow through the orifice, and what it brings with it.
struct Flow<T> {
    /// Mass flow into the second port.
    mass: T,
    /// Energy flows into both ports.
    energies: [T; 2],
    pressures: [T; 2],
    /// Mass flow as either side were upstream.
    from: [T; 2],
}

impl<T: Num> Nozzle<T> {
    #[wide]
    fn at(io: &Step<'_, T>) -> Self {
        type K = Orifice;
        let kappa = io.memory(K::KEPT_RATIO);
        let temperatures = [io.dry(K::P1), io.dry(K::P2)];
        let gain = io.input(K::AREA) * io.memory(K::KEPT_GAIN);
        Self {
            ends: [End::at(io, K::P1), End::at(io, K::P2)],
            temperatures,
            gains: temperatures.map(|t| gain / t.sqrt()),
            exponents: [T::of(2.0) / kappa, kappa.recip() + 1.0],
            critical: io.memory(K::KEPT_CRITICAL),
            peak: io.memory(K::KEPT_PEAK),
            laminar: io.memory(K::KEPT_LAMINAR),
            capacity: io.memory(K::KEPT_CAPACITY),
        }
    }

    /// What pressures give as flow, from either side.
    #[wide]
    #[inline(always)]
    fn flows(&self, p: [Dual<T>; 2]) -> [Dual<T>; 2] {
        let (c, zero) = (Dual::constant, Dual::zero());
        let ratio = Dual::select(p[0].gt(p[1]), p[1] / p[0], p[0] / p[1]).max(zero);
        let choked = ratio.le(c(self.critical));
        let open = Dual::select(choked, c(self.critical), ratio);
        let [first, second] = self.exponents.map(|exponent| open.powf(c(exponent)));
        let psi = (first - second) / c(self.peak);
        let psi = Dual::select(choked, Dual::one(), signed_root(psi, c(self.laminar)));
        [c(self.gains[0]) * p[0] * psi, c(self.gains[1]) * p[1] * psi]
    }

    /// Energy that goes with a mass flow.
    #[inline(always)]
    fn energy(&self, q: Dual<T>) -> Dual<T> {
        let [t1, t2] = self.temperatures.map(Dual::constant);
        Dual::constant(self.capacity) * q * Dual::select(q.gt(Dual::zero()), t1, t2)
    }

    /// Pressures that a mass flow leaves.
    #[inline(always)]
    fn pressures(&self, q: Dual<T>) -> [Dual<T>; 2] {
        let (c, energy) = (Dual::constant, self.energy(q));
        let [first, second] = self.ends;
        [c(first.wave) - c(first.impedance) * energy, c(second.wave) + c(second.impedance) * energy]
    }

    #[wide]
    fn solve(&self, io: &mut Step<'_, T>) -> Flow<T> {
        let c = Dual::constant;
        let [first, second] = self.ends;
        let push = first.wave - second.wave;
        let upstream = T::select(push.gt(T::zero()), self.temperatures[0], self.temperatures[1]);
        let resistance = (first.impedance + second.impedance) * self.capacity * upstream;
        let even = T::select(resistance.gt(T::zero()), push / resistance, push.signed_sqrt() * 1e9);
        let bounds = (even.min(T::zero()), even.max(T::zero()));
        let guess = io.displacement(Orifice::P2);
        let q = root(io, bounds, guess, SMALL_FLOW, |q| {
            let p = self.pressures(q);
            let [a, b] = self.flows(p);
            q - Dual::select(p[0].gt(p[1]), a, -b)
        });
        let p = self.pressures(c(q));
        let energy = self.energy(c(q)).value;
        Flow {
            mass: q,
            energies: [-energy, energy],
            pressures: p.map(|p| p.value),
            from: self.flows(p).map(|q| q.value),
        }
    }

    /// Hopsan's iterations: flows, energies and pressures are unknowns of their own. Which side is
    /// upstream, the pressures say for the flow and the flow for the energy.
    #[wide]
    fn iterate(&self, io: &Step<'_, T>, iterations: usize) -> Flow<T> {
        type K = Orifice;
        let (c, zero) = (Dual::constant, T::zero());
        let mut now = Flow {
            mass: io.displacement(K::P2),
            energies: [io.flow(K::P1), io.flow(K::P2)],
            pressures: [io.effort(K::P1), io.effort(K::P2)],
            from: [io.output(K::FLOW_A), io.output(K::FLOW_B)],
        };
        for weight in weights(iterations) {
            let p = now.pressures;
            let over = [
                self.flows([Dual::variable(p[0]), c(p[1])]),
                self.flows([c(p[0]), Dual::variable(p[1])]),
            ];
            let pick = |a: T, b: T| T::select(p[0].gt(p[1]), a, -b);
            let flow = pick(over[0][0].value, over[0][1].value);
            let slopes = over.map(|[a, b]| pick(a.slope, b.slope));
            // Energy per mass; without flow, each side has its own.
            let warmth = |is_first: T::Mask| {
                self.capacity * T::select(is_first, self.temperatures[0], self.temperatures[1])
            };
            let heats = [-warmth(now.mass.ge(zero)), warmth(now.mass.gt(zero))];
            let (mut above, mut below) = (flow, T::one());
            for i in [0, 1] {
                above += slopes[i] * (self.ends[i].wave - p[i]);
                below -= slopes[i] * self.ends[i].impedance * heats[i];
            }
            let mass = above / below;
            let energies = heats.map(|heat| heat * mass);
            let pressures = [0, 1].map(|i| self.ends[i].effort(energies[i]));
            let from = [0, 1].map(|side| {
                [0, 1].into_iter().fold(over[0][side].value, |flow, i| {
                    flow + over[i][side].slope * (pressures[i] - p[i])
                })
            });
            now = now.towards(&Flow { mass, energies, pressures, from }, weight);
        }
        now
    }
}

impl<T: Num> Flow<T> {
    /// Part of the way from here to there.
    #[wide]
    fn towards(&self, there: &Self, weight: f64) -> Self {
        let between = |here: T, there: T| here + (there - here) * weight;
        let both = |here: [T; 2], there: [T; 2]| [0, 1].map(|i| between(here[i], there[i]));
        Self {
            mass: between(self.mass, there.mass),
            energies: both(self.energies, there.energies),
            pressures: both(self.pressures, there.pressures),
            from: both(self.from, there.from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_iterations_lead_to_the_solution, assert_near, bench};

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

    #[test]
    fn iterations_lead_to_the_flow() {
        assert_iterations_lead_to_the_solution::<Orifice>(1e-3, |orifice| {
            for (port, p) in [(0, 5e5), (1, 4e5)] {
                orifice.line(port, p, 200.0).impose_flow(port, 0.0);
                orifice.state.bonds[port].dry = 300.0;
            }
            orifice.start();
            orifice.line(1, 4.2e5, 200.0);
        });
    }
}
