//! Friction of oil in pipes, as resistances between wave ends.
//!
//! Steady (Darcy–Weisbach): Δp = λ·(L/d)·ρ·v·|v|/2. Laminar λ = 64/Re up to Re = 2300; turbulent from
//! Re = 4000 by Haaland, 1/√λ = −1.8·log₁₀((ε/3.7d)^1.11 + 6.9/Re) (Journal of Fluids Engineering 105,
//! 1983); linear in Re between the two.
//!
//! Unsteady laminar (Zielke, Journal of Basic Engineering 90, 1968): Δp = R·(q + ½·Σ y_j),
//! dy_j/dt = m_j·dq/dt − n_j·(ν/r²)·y_j, with the ten weights of Kagawa, Lee, Kitagawa and Takenaka
//! (Transactions of JSME B 49, 1983), which follow Zielke's weighting function within 0.3 % for
//! ν·t/r² > 1e-5. In turbulent flow the unsteady part stays the laminar one.
//!
//! A resistance never depends on the flow of its own step: it is the secant λ(m)·m at a mean m of the
//! flows before, m ← (m + |q|)/2. That mean makes the steady state of a quadratic law a point of
//! fast convergence where the plain last flow would swing between two values, and since the secant
//! is never negative no resistance can feed energy into the waves.

use fluxline_core::Constants;
use fluxline_core::number::{Mask, Num};

fluxline_core::choice! {
    /// How oil rubs in a pipe.
    pub enum PipeFrictionModel {
        /// Not at all.
        None = "none",
        /// Hagen–Poiseuille at all flows.
        Laminar = "laminar",
        /// Laminar or turbulent by Reynolds number.
        Turbulent = "turbulent",
        /// As turbulent, and larger for fast changes of flow.
        FrequencyDependent = "frequency_dependent",
    }
}

/// Kagawa et al. (1983): m_j.
const WEIGHT: [f64; 10] =
    [1.0, 1.167_25, 2.200_64, 3.928_61, 6.787_88, 11.676_1, 20.061_2, 34.454_1, 59.164_2, 101.590];
/// Kagawa et al. (1983): n_j.
const DECAY: [f64; 10] = [
    26.374_4, 72.803_3, 187.424, 536.626, 1570.60, 4618.13, 13_601.1, 40_082.5, 118_153.0,
    348_316.0,
];

const LAMINAR_UP_TO: f64 = 2300.0;
const TURBULENT_FROM: f64 = 4000.0;

/// Shape of a round pipe.
#[derive(Clone, Copy, Debug)]
pub struct Bore {
    /// L — length, m.
    pub length: f64,
    /// d — inner diameter, m.
    pub diameter: f64,
    /// ε — roughness of the wall, m.
    pub roughness: f64,
}

impl Bore {
    /// A — flow area, m².
    pub fn area(&self) -> f64 {
        std::f64::consts::FRAC_PI_4 * self.diameter * self.diameter
    }
    /// V — volume, m³.
    pub fn volume(&self) -> f64 {
        self.area() * self.length
    }
}

/// One resistance that stands for a share of the pipe's friction.
#[derive(Clone, Copy, Debug, Constants)]
pub struct PipeFriction<T> {
    model: PipeFrictionModel,
    /// R/ν of laminar flow, for this share.
    laminar: T,
    /// ρ·L/(2·d·A²), for this share.
    turbulent: T,
    /// d/A: Re = q·d/(A·ν).
    reynolds: T,
    /// (ε/3.7d)^1.11.
    roughness: T,
    /// T/r²: decay of the unsteady part per step is n_j·ν·T/r².
    step_per_square_radius: T,
    /// Terms of the unsteady part.
    terms: usize,
}

impl PipeFriction<f64> {
    /// Friction of a share of a pipe.
    pub fn new(
        model: PipeFrictionModel,
        bore: &Bore,
        share: f64,
        density: f64,
        viscosity: f64,
        dt: f64,
    ) -> Self {
        let (length, d, area) = (bore.length * share, bore.diameter, bore.area());
        let step_per_square_radius = dt / (0.25 * d * d);
        // Terms that die within a hundredth of a step carry nothing; viscosity may fall tenfold.
        let alive = |n: &&f64| **n * 0.1 * viscosity * step_per_square_radius < 100.0;
        let terms = match model {
            PipeFrictionModel::FrequencyDependent => DECAY.iter().filter(alive).count().max(1),
            _ => 0,
        };
        Self {
            model,
            laminar: 32.0 * density * length / (d * d * area),
            turbulent: density * length / (2.0 * d * area * area),
            reynolds: d / area,
            roughness: (bore.roughness / (3.7 * d)).powf(1.11),
            step_per_square_radius,
            terms,
        }
    }
}

impl<T: Num> PipeFriction<T> {
    /// Numbers that one resistance remembers: mean flow, last flow, y_j; the same at any step.
    #[inline(always)]
    pub fn size(&self) -> usize {
        match self.model {
            PipeFrictionModel::None | PipeFrictionModel::Laminar => 0,
            PipeFrictionModel::Turbulent => 1,
            PipeFrictionModel::FrequencyDependent => 2 + WEIGHT.len(),
        }
    }

    /// True when there is none.
    #[inline(always)]
    pub fn is_none(&self) -> bool {
        self.model == PipeFrictionModel::None
    }

    /// Steady Δp/q at a flow.
    #[inline(always)]
    pub fn resistance(&self, flow: T, viscosity: T) -> T {
        let laminar = self.laminar * viscosity;
        match self.model {
            PipeFrictionModel::None => return T::zero(),
            PipeFrictionModel::Laminar => return laminar,
            _ => {}
        }
        let speed = flow.abs();
        let re = speed * self.reynolds / viscosity;
        let not_laminar = re.gt(T::of(LAMINAR_UP_TO));
        if !not_laminar.any() {
            return laminar;
        }
        let inner = self.roughness + T::of(6.9) / re.max(T::of(TURBULENT_FROM));
        let root = inner.ln() * (-1.8 / std::f64::consts::LN_10);
        let developed = (root * root).recip();
        let entry = 64.0 / LAMINAR_UP_TO;
        let blend = ((re - LAMINAR_UP_TO) / (TURBULENT_FROM - LAMINAR_UP_TO)).min(T::one());
        let factor = (developed - entry) * blend + entry;
        T::select(not_laminar, self.turbulent * factor * speed, laminar)
    }

    /// Δp = wave + resistance·q for the coming step.
    #[inline(always)]
    pub fn drop(&self, memory: &[T], viscosity: T) -> (T, T) {
        match self.model {
            PipeFrictionModel::None => (T::zero(), T::zero()),
            PipeFrictionModel::Laminar => (T::zero(), self.laminar * viscosity),
            PipeFrictionModel::Turbulent => (T::zero(), self.resistance(memory[0], viscosity)),
            PipeFrictionModel::FrequencyDependent => {
                let (mut wave, mut slope) = (T::zero(), T::zero());
                for j in 0..self.terms {
                    let (keep, gain) = self.term(j, viscosity);
                    wave += keep * memory[2 + j] - gain * memory[1];
                    slope += gain;
                }
                let half = self.laminar * viscosity * 0.5;
                let steady = self.resistance(memory[0], viscosity);
                (half * wave, steady + half * slope)
            }
        }
    }

    /// Takes in the flow of the step that [`Self::drop`] was given for.
    #[inline(always)]
    pub fn settle(&self, memory: &mut [T], flow: T, viscosity: T) {
        if memory.is_empty() {
            return;
        }
        memory[0] = (memory[0] + flow.abs()) * 0.5;
        if self.terms > 0 {
            let change = flow - memory[1];
            for j in 0..self.terms {
                let (keep, gain) = self.term(j, viscosity);
                memory[2 + j] = keep * memory[2 + j] + gain * change;
            }
            memory[1] = flow;
        }
    }

    /// y ← keep·y + gain·Δq, with an L-stable rational approximation of the exponential.
    #[inline(always)]
    fn term(&self, j: usize, viscosity: T) -> (T, T) {
        let x = viscosity * self.step_per_square_radius * DECAY[j];
        let keep = (x + x * x * 0.5 + 1.0).recip();
        (keep, (x * 0.5 + 1.0) * keep * WEIGHT[j])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BORE: Bore = Bore { length: 3.0, diameter: 0.01, roughness: 15e-6 };

    fn friction(model: PipeFrictionModel) -> PipeFriction<f64> {
        PipeFriction::new(model, &BORE, 1.0, 870.0, 30e-6, 1e-4)
    }

    #[test]
    fn laminar_resistance_is_hagen_poiseuille() {
        let r = friction(PipeFrictionModel::Turbulent).resistance(1e-5, 30e-6);
        let expected = 128.0 * 870.0 * 30e-6 * 3.0 / (std::f64::consts::PI * 1e-8);
        assert!((r / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn turbulent_resistance_is_darcy_with_haaland() {
        let (q, nu) = (2e-3, 10e-6);
        let v = q / BORE.area();
        let re: f64 = v * 0.01 / nu;
        let root = -1.8 * ((15e-6 / 0.037f64).powf(1.11) + 6.9 / re).log10();
        let expected = 3.0 / 0.01 * 870.0 * v * v / 2.0 / (root * root);
        let drop = friction(PipeFrictionModel::Turbulent).resistance(q, nu) * q;
        assert!((drop / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn friction_factor_is_continuous_in_reynolds_number() {
        let f = friction(PipeFrictionModel::Turbulent);
        for re in [LAMINAR_UP_TO, TURBULENT_FROM] {
            let q = re * 30e-6 * BORE.area() / 0.01;
            let (below, above) =
                (f.resistance(q * (1.0 - 1e-9), 30e-6), f.resistance(q * (1.0 + 1e-9), 30e-6));
            assert!((below / above - 1.0).abs() < 1e-7);
        }
    }

    /// Zielke (1968): W(τ) by its five slowest exponentials for τ > 0.02, by powers of √τ below.
    fn zielke(t: f64) -> f64 {
        if t > 0.02 {
            return [26.3744, 70.8493, 135.0198, 218.9216, 322.5544]
                .iter()
                .map(|n: &f64| (-n * t).exp())
                .sum();
        }
        let r = t.sqrt();
        0.282095 / r - 1.25 + 1.057855 * r + 0.9375 * t + 0.396696 * t * r - 0.351563 * t * t
    }

    #[test]
    fn weights_follow_zielkes_function() {
        for exponent in -10..=-2 {
            let t = 10f64.powf(0.5 * exponent as f64);
            let sum: f64 = (0..10).map(|j| WEIGHT[j] * (-DECAY[j] * t).exp()).sum();
            assert!((sum / zielke(t) - 1.0).abs() < 3e-3, "{t}: {sum}");
        }
    }

    #[test]
    fn unsteady_part_dies_in_steady_flow() {
        let f = friction(PipeFrictionModel::FrequencyDependent);
        let mut memory = vec![0.0; f.size()];
        let q = 1e-5;
        let first = f.drop(&memory, 30e-6).1;
        for _ in 0..200_000 {
            f.settle(&mut memory, q, 30e-6);
        }
        let (wave, slope) = f.drop(&memory, 30e-6);
        let steady = f.resistance(q, 30e-6);
        assert!(first > 3.0 * steady, "fast changes meet more resistance");
        assert!(((wave + slope * q) / (steady * q) - 1.0).abs() < 1e-9);
    }
}
