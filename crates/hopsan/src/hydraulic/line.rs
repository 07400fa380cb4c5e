//! Lines with a delay.

use crate::blocks::FirstOrder;
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::PI;

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<LosslessLine>(), ComponentType::of::<Hose>()];

/// The most steps that a line may be long: 160 MB of history.
const MOST_STEPS: f64 = 1e7;

fn check_length(parameter: &'static str, steps: f64, step: f64) -> Result<(), Refusal> {
    if steps <= MOST_STEPS {
        return Ok(());
    }
    Err(Refusal::new(
        parameter,
        format!("the line is {steps:.3e} steps of {step} s long; at most {MOST_STEPS} are kept"),
        "shorten the line or take a larger step",
    ))
}

/// Waves on their way to the two ends: exchanges those of this step for those of `cells` steps ago.
#[inline(always)]
fn exchange<T: Num>(io: &mut Step<'_, T>, cells: usize, waves: [T; 2]) -> [T; 2] {
    let place = 2 * (io.tick() as usize % cells);
    let slot = &mut io.history()[place..place + 2];
    let old = [slot[0], slot[1]];
    slot.copy_from_slice(&waves);
    old
}

/// Line without losses, of given impedance and delay.
///
/// c₁(t) = (p₂ + Z·q₂)(t − τ),  c₂(t) = (p₁ + Z·q₁)(t − τ), each filtered with α before it is sent:
/// α·c + (1 − α)·(…)
///
/// The delay is a whole number of steps, two at least.
#[component("hopsan.HydraulicTLMlossless", c, constants = Delay)]
pub struct LosslessLine {
    /// one end
    #[port(name = "P1")]
    p1: Hydraulic,
    /// other end
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0)]
    pub filter: f64,
    /// Z — impedance [Pa*s/m^3]
    #[input(name = "Z_c", default = "1e9 Pa*s/m^3")]
    pub impedance: f64,
    /// τ — delay [s]
    #[parameter(name = "deltat", default = "0.1 s")]
    pub delay: f64,
}

/// Constants of [`LosslessLine`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Delay<T> {
    /// Steps that a wave is kept.
    cells: usize,
    numbers: NoConstants<T>,
}

impl Physics for LosslessLine {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, environment: &Environment) -> Result<Delay<f64>, Refusal> {
        let steps = (self.delay - environment.step) / environment.step + 0.5;
        check_length("deltat", steps, environment.step)?;
        Ok(Delay { cells: (steps as usize).max(1), numbers: NoConstants::new() })
    }

    fn history(k: &Delay<f64>) -> usize {
        2 * k.cells
    }

    #[wide]
    fn start<T: Num>(_: &Delay<T>, io: &mut Step<'_, T>) {
        let z = io.input(Self::IMPEDANCE);
        let [from_1, from_2] = [Self::P1, Self::P2].map(|port| io.effort(port) + z * io.flow(port));
        io.set_wave(Self::P1, from_2, z);
        io.set_wave(Self::P2, from_1, z);
        for slot in io.history().chunks_exact_mut(2) {
            slot.copy_from_slice(&[from_2, from_1]);
        }
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Delay<T>, io: &mut Step<'_, T>) {
        let (z, keep) = (io.input(Self::IMPEDANCE), io.input(Self::FILTER));
        let sent = [(Self::P1, Self::P2), (Self::P2, Self::P1)].map(|(to, from)| {
            keep * io.wave(to) + (T::one() - keep) * (io.effort(from) + z * io.flow(from))
        });
        let [c1, c2] = exchange(io, k.cells, sent);
        io.set_wave(Self::P1, c1, z);
        io.set_wave(Self::P2, c2, z);
    }
}

/// Hose with friction of the oil and damping by the wall.
///
/// a = √(β/ρ), τ = l/a, N = τ/T + ½, Z = ρ·a/A·N·T/τ. A wave c + 2·Z·q arrives at the other end
/// after N steps, less the fraction, through (s/w₂ + 1)/(s/w₁ + 1) and (s/w₄ + 1)/(s/w₃ + 1):
/// w₁ = 1/(κ·N·T), w₂ = w₁·e^(R/2Z), w₃ = R_w/(2·Z·N·T), w₄ = w₃·e^(R_w/2Z), κ = 1.25.
/// R·q, laminar below Re = 2300, turbulent by Blasius above, acts at both ends, filtered with
/// (z + 1)/((2·κ·N + 1)·z − (2·κ·N − 1)); each end has the impedance Z + R/(2·κ·N + 1).
///
/// R is averaged with that of the last step. Length, bore, density and viscosity may be driven, but
/// only R follows; all else keeps the values given.
#[component("hopsan.HydraulicHose", c, constants = HoseConstants)]
pub struct Hose {
    /// one end
    #[port(name = "P1")]
    p1: Hydraulic,
    /// other end
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// ρ — density of the oil [kg/m^3]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// η — dynamic viscosity of the oil [Pa*s]
    #[input(name = "eta", default = "0.03 Pa*s")]
    pub viscosity: f64,
    /// d — inner diameter [m]
    #[input(name = "d", default = "0.03 m")]
    pub bore: f64,
    /// l — length [m]
    #[input(name = "l", default = "1 m")]
    pub length: f64,
    /// β — effective bulk modulus [Pa]
    #[parameter(name = "beta_e", default = "1e9 Pa")]
    pub bulk_modulus: f64,
    /// η_w — viscosity of the wall [Pa*s]
    #[parameter(name = "eta_w", default = "0.03 Pa*s")]
    pub wall_viscosity: f64,
    /// R₁ — resistance at end 1 [Pa*s/m^3]
    #[memory]
    resistance_1: Memory,
    /// – — filtered laminar drop at end 1 [Pa]
    #[memory]
    drop_1: Memory,
    /// – — filtered rest of the drop at end 1 [Pa]
    #[memory]
    excess_1: Memory,
    /// – — wave from end 1 before the oil's filter [Pa]
    #[memory]
    sent_1: Memory,
    /// – — wave from end 1 after the oil's filter [Pa]
    #[memory]
    passed_1: Memory,
    /// – — wave from end 1 before the wall's filter [Pa]
    #[memory]
    before_wall_1: Memory,
    /// – — wave from end 1 after the wall's filter [Pa]
    #[memory]
    after_wall_1: Memory,
    /// R₂ — resistance at end 2 [Pa*s/m^3]
    #[memory]
    resistance_2: Memory,
    /// – — filtered laminar drop at end 2 [Pa]
    #[memory]
    drop_2: Memory,
    /// – — filtered rest of the drop at end 2 [Pa]
    #[memory]
    excess_2: Memory,
    /// – — wave from end 2 before the oil's filter [Pa]
    #[memory]
    sent_2: Memory,
    /// – — wave from end 2 after the oil's filter [Pa]
    #[memory]
    passed_2: Memory,
    /// – — wave from end 2 before the wall's filter [Pa]
    #[memory]
    before_wall_2: Memory,
    /// – — wave from end 2 after the wall's filter [Pa]
    #[memory]
    after_wall_2: Memory,
}

/// Constants of [`Hose`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct HoseConstants<T> {
    /// Steps that a wave is kept.
    cells: usize,
    /// Z without friction.
    impedance: T,
    /// R of laminar flow.
    resistance: T,
    /// w₁.
    slow: T,
    /// w₃.
    wall: T,
    /// w₃/w₄.
    wall_damping: T,
    /// 1/(2·κ·N + 1).
    share: T,
    /// (2·κ·N − 1)/(2·κ·N + 1).
    keep: T,
}

/// κ of a hose's filters.
const KAPPA: f64 = 1.25;
/// Reynolds number at which flow becomes turbulent.
const CRITICAL_REYNOLDS: f64 = 2300.0;

impl Hose {
    /// Memory of both ends; that of one is as the other's, further on.
    const ENDS: [usize; 2] = [Self::RESISTANCE_1, Self::RESISTANCE_2];

    /// Resistance and pressure drop of the whole hose.
    #[inline(always)]
    fn friction<T: Num>(io: &Step<'_, T>, q: T) -> (T, T) {
        let (rho, eta) = (io.input(Self::DENSITY), io.input(Self::VISCOSITY));
        let (d, l) = (io.input(Self::BORE), io.input(Self::LENGTH));
        let reynolds = (rho * q * 4.0 / (d * eta * PI)).abs();
        let d4 = d.squared().squared();
        let laminar = eta * l * 128.0 / (d4 * PI);
        let is_turbulent = reynolds.ge(T::of(CRITICAL_REYNOLDS));
        let factor = reynolds.max(T::one()).powf(T::of(-0.25)) * 0.079;
        let turbulent = rho * factor * l * q.abs() * 32.0 / (d4 * d * (PI * PI));
        (
            T::select(is_turbulent, turbulent * 1.75, laminar),
            T::select(is_turbulent, turbulent, laminar) * q,
        )
    }
}

impl Physics for Hose {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, environment: &Environment) -> Result<HoseConstants<f64>, Refusal> {
        let step = environment.step;
        let speed = (self.bulk_modulus / self.density).sqrt();
        let travel = self.length / speed;
        let steps = travel / step + 0.5;
        check_length("l", steps, step)?;
        let area = PI * self.bore * self.bore / 4.0;
        // The area is adjusted so that the steps, which need not be whole, hold the same oil.
        let impedance = self.density * speed / (area * travel / (steps * step));
        let steps = steps.max(1.0);
        let resistance = |eta: f64| 128.0 * eta * self.length / (PI * self.bore.powi(4));
        let wall = resistance(self.wall_viscosity) / (2.0 * impedance);
        let share = 1.0 / (2.0 * KAPPA * steps + 1.0);
        Ok(HoseConstants {
            cells: (steps as usize).max(1),
            impedance,
            resistance: resistance(self.viscosity),
            slow: 1.0 / (KAPPA * steps * step),
            wall: wall / (steps * step),
            wall_damping: (-wall).exp(),
            share,
            keep: (2.0 * KAPPA * steps - 1.0) * share,
        })
    }

    fn history(k: &HoseConstants<f64>) -> usize {
        2 * k.cells
    }

    fn start<T: Num>(k: &HoseConstants<T>, io: &mut Step<'_, T>) {
        let mut sent = [T::zero(); 2];
        for (port, memory) in Self::ENDS.into_iter().enumerate() {
            let (p, q) = (io.effort(port), io.flow(port));
            sent[port] = p + k.impedance * q;
            let drop = k.resistance * q * (T::one() - k.share);
            let wave = sent[port];
            let start = [k.resistance, drop, T::zero(), wave, wave, wave, wave];
            io.set_memories(memory, start);
            let z = k.impedance + k.share * k.resistance;
            io.set_wave(port, p - z * q, z);
        }
        for slot in io.history().chunks_exact_mut(2) {
            slot.copy_from_slice(&sent);
        }
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &HoseConstants<T>, io: &mut Step<'_, T>) {
        let one = T::one();
        let flows = [io.flow(Self::P1), io.flow(Self::P2)];
        let mut resistances = [T::zero(); 2];
        let mut near = [T::zero(); 2];
        for (port, memory) in Self::ENDS.into_iter().enumerate() {
            let q = flows[port];
            let (resistance, drop) = Self::friction(io, q);
            let resistance = (resistance + io.memory(memory)) * 0.5;
            let laminar = resistance * q;
            let filtered = k.keep * (io.memory(memory + 1) + k.share * laminar) + k.share * laminar;
            let excess = k.keep * io.memory(memory + 2) + k.share * (drop - laminar) * 2.0;
            io.set_memories(memory, [resistance, filtered, excess]);
            resistances[port] = resistance;
            near[port] = filtered - k.share * laminar + excess;
        }
        // The wave of this step is written before one is read: a hose of one step reads it at once.
        let place = 2 * (io.tick() as usize % k.cells);
        for port in [Self::P1, Self::P2] {
            let wave = io.wave(port) + k.impedance * flows[port] * 2.0;
            io.history()[place + port] = wave;
        }
        let oldest = 2 * ((io.tick() as usize + 1) % k.cells);
        let damping = (-(resistances[0] + resistances[1]) * 0.25 / k.impedance).exp();
        let arrived = [Self::P1, Self::P2].map(|port| {
            let memory = Self::ENDS[port];
            let wave = io.history_at(oldest + port);
            let wave = FirstOrder(memory + 3).free(io, [k.slow, damping], [k.slow, one], wave);
            FirstOrder(memory + 5).free(io, [k.wall, k.wall_damping], [k.wall, one], wave)
        });
        for (port, other) in [(Self::P1, Self::P2), (Self::P2, Self::P1)] {
            let z = k.impedance + k.share * resistances[port];
            io.set_wave(port, arrived[other] + near[port], z);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::spool::tests::{STEP, bench};
    use super::*;
    use fluxline_core::testing::Bench;

    #[test]
    fn a_wave_arrives_at_the_other_end_after_the_delay_of_the_line() {
        let line = LosslessLine { filter: 0.0, impedance: 0.0, delay: 5.0 * STEP };
        let mut bench = Bench::new(&line, STEP);
        bench.input(LosslessLine::IMPEDANCE, 1e9).start();
        let mut seen = Vec::new();
        for n in 0..12 {
            bench.impose_flow(0, if n == 0 { 1e-3 } else { 0.0 }).impose_flow(1, 0.0).step();
            seen.push(bench.state.bonds[1].wave);
        }
        // 2·Z·q/2: the pressure that the flow made, once more reflected by closed ends.
        let first = seen.iter().position(|&c| c > 0.0).unwrap();
        assert_eq!((first, seen[first]), (4, 2e6), "the flow of step 0 is seen in step 5");
        assert!(seen[first + 1..first + 5].iter().all(|&c| c == 0.0));
    }

    /// In steady flow the pressure falls along a hose by R·q, laminar or turbulent.
    #[test]
    fn steady_flow_through_a_hose_loses_the_pressure_of_its_friction() {
        for (q, bore) in [(1e-4, 0.03), (5e-3, 0.02)] {
            let hose = Hose {
                density: 870.0,
                viscosity: 0.03,
                bore,
                length: 2.0,
                bulk_modulus: 1e9,
                wall_viscosity: 0.03,
            };
            let mut bench = Bench::new(&hose, 1e-4);
            for (i, value) in [870.0, 0.03, bore, 2.0].into_iter().enumerate() {
                bench.input(i, value);
            }
            bench.start();
            let reynolds = 4.0 * 870.0 * q / (PI * bore * 0.03);
            let drop = if reynolds < 2300.0 {
                128.0 * 0.03 * 2.0 * q / (PI * bore.powi(4))
            } else {
                32.0 * 870.0 * 0.079 * reynolds.powf(-0.25) * 2.0 * q * q / (PI * PI * bore.powi(5))
            };
            // Inflow at end 1; at end 2 a matched resistance to a constant pressure.
            for _ in 0..200_000 {
                let end = bench.state.bonds[1];
                let out = (end.wave - 1e6) / (end.impedance + 1e9);
                bench.impose_flow(0, q).impose_flow(1, -out).step();
            }
            let end = bench.state.bonds[1];
            let out = (end.wave - 1e6) / (end.impedance + 1e9);
            bench.impose_flow(0, q).impose_flow(1, -out);
            assert!((out - q).abs() < 1e-6 * q, "{out} {q}");
            let found = bench.effort(0) - bench.effort(1);
            assert!((found - drop).abs() < 1e-5 * drop, "{found} {drop}");
        }
    }

    #[test]
    fn a_hose_that_is_closed_holds_the_oil_pushed_into_it() {
        let mut bench = bench::<Hose>();
        bench.start();
        for n in 0..20_000 {
            let q = if n < 100 { 1e-4 } else { 0.0 };
            bench.impose_flow(0, q).impose_flow(1, 0.0).step();
        }
        bench.impose_flow(0, 0.0).impose_flow(1, 0.0);
        // Oil that is under way: the delays of the line and of its two filters, over Z.
        let (bonds, k) = (&bench.state.bonds, bench.constants());
        let damping = (-k.resistance * 0.5 / k.impedance).exp();
        let under_way =
            k.cells as f64 * STEP + (1.0 - damping) / k.slow + (1.0 - k.wall_damping) / k.wall;
        let expected = 1e-4 * 100.0 * STEP * k.impedance / under_way;
        // Friction is sent along with the waves: the pressure is as uncertain as R is against Z.
        let friction = k.resistance / k.impedance;
        assert!((bonds[0].effort - expected).abs() < friction * expected);
        assert!((bonds[0].effort - bonds[1].effort).abs() < 1.0);
    }

    /// Lanes, some laminar and some turbulent, give the bits that each gives alone.
    #[test]
    fn lanes_give_the_bits_of_scalars() {
        use super::super::spool::tests::assert_lanes;
        assert_lanes::<LosslessLine>(0.0, 1.0);
        assert_lanes::<Hose>(0.01, 1.0);
    }
}
