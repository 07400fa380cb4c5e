//! Oil: density, viscosity, stiffness, vapour.

use crate::number::Num;

/// A hydraulic fluid. All values in SI units.
#[derive(Clone, Debug, PartialEq)]
pub struct Fluid {
    /// ρ — density at the reference temperature, kg/m³.
    pub density: f64,
    /// ν — kinematic viscosity at the reference temperature and atmospheric pressure, m²/s.
    pub viscosity: f64,
    /// β — bulk modulus of the liquid, Pa.
    pub bulk_modulus: f64,
    /// How the effective bulk modulus depends on pressure.
    pub bulk_model: BulkModel,
    /// Pressure at which the oil boils, absolute, Pa.
    pub vapour_pressure: f64,
    /// T — temperature of the oil where nothing else says, K.
    pub temperature: f64,
    /// Temperature at which density and viscosity are given, K.
    pub reference_temperature: f64,
    /// Second point of the viscosity curve (temperature in K, viscosity in m²/s): gives the slope
    /// of Walther's equation (ASTM D341). Without it viscosity does not depend on temperature.
    pub viscosity_point: Option<(f64, f64)>,
    /// Barus coefficient: ν(p) = ν₀·exp(κ·p), 1/Pa.
    pub pressure_viscosity: f64,
    /// c_p — specific heat capacity, J/(kg·K).
    pub heat_capacity: f64,
    /// Oil warms by throttling and carries its temperature along.
    pub carries_temperature: bool,
}

/// How stiffness depends on pressure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BulkModel {
    /// The same at all pressures.
    Constant,
    /// β_e = a₁·β·log₁₀(a₂·p/p_max + a₃), after Jelali and Kroll (Malysheva 2.42).
    Empirical {
        /// a₁.
        a1: f64,
        /// a₂.
        a2: f64,
        /// a₃.
        a3: f64,
        /// p_max, Pa.
        max_pressure: f64,
    },
    /// Liquid with a fraction of free air, which follows a polytropic law.
    EntrainedAir {
        /// Volume fraction of air at atmospheric pressure.
        fraction: f64,
        /// Polytropic exponent: 1.4 adiabatic, 1 isothermal.
        exponent: f64,
    },
}

/// Atmospheric pressure, Pa.
pub const ATMOSPHERE: f64 = 101_325.0;

impl Default for Fluid {
    /// Mineral oil ISO VG 46 near 50 °C.
    fn default() -> Self {
        Self {
            density: 870.0,
            viscosity: 30e-6,
            bulk_modulus: 1.6e9,
            bulk_model: BulkModel::Constant,
            vapour_pressure: 300.0,
            temperature: 323.15,
            reference_temperature: 323.15,
            viscosity_point: None,
            pressure_viscosity: 0.0,
            heat_capacity: 1900.0,
            carries_temperature: false,
        }
    }
}

impl Fluid {
    /// Speed of sound √(β/ρ), m/s.
    pub fn sound_speed(&self) -> f64 {
        (self.bulk_modulus / self.density).sqrt()
    }

    /// Kinematic viscosity at a temperature (K) and pressure (Pa).
    ///
    /// Walther: log₁₀ log₁₀(ν + 0.7) = A − B·log₁₀ T with ν in cSt, through the two given points.
    pub fn viscosity_at(&self, temperature: f64, pressure: f64) -> f64 {
        let at_atmosphere = match self.viscosity_point {
            None => self.viscosity,
            Some((t2, nu2)) => {
                let w = |nu: f64| (nu * 1e6 + 0.7).log10().log10();
                let (w1, w2) = (w(self.viscosity), w(nu2));
                let (x1, x2) = (self.reference_temperature.log10(), t2.log10());
                let at = w1 + (w2 - w1) * (temperature.log10() - x1) / (x2 - x1);
                (10f64.powf(10f64.powf(at)) - 0.7) * 1e-6
            }
        };
        at_atmosphere * (self.pressure_viscosity * (pressure - ATMOSPHERE).max(0.0)).exp()
    }

    /// The law of stiffness as constants for components.
    pub fn stiffness(&self) -> Stiffness<f64> {
        let (model, [a, b, c]) = match self.bulk_model {
            BulkModel::Constant => (StiffnessModel::Constant, [0.0; 3]),
            BulkModel::Empirical { a1, a2, a3, max_pressure } => {
                (StiffnessModel::Empirical, [a1 / std::f64::consts::LN_10, a2 / max_pressure, a3])
            }
            BulkModel::EntrainedAir { fraction, exponent } => {
                (StiffnessModel::EntrainedAir, [fraction, exponent, 0.0])
            }
        };
        Stiffness { model, liquid: self.bulk_modulus, a, b, c }
    }
}

/// Which law a [`Stiffness`] follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StiffnessModel {
    /// See [`BulkModel::Constant`].
    Constant,
    /// See [`BulkModel::Empirical`].
    Empirical,
    /// See [`BulkModel::EntrainedAir`].
    EntrainedAir,
}

/// Effective bulk modulus as a function of pressure, for any number type.
#[derive(Clone, Copy, Debug)]
pub struct Stiffness<T> {
    /// The law.
    pub model: StiffnessModel,
    /// Bulk modulus of the liquid.
    pub liquid: T,
    a: T,
    b: T,
    c: T,
}

impl<T: Num> Stiffness<T> {
    /// The same in another number type.
    pub fn map<U: Num>(&self, f: &mut dyn FnMut(T) -> U) -> Stiffness<U> {
        Stiffness {
            model: self.model,
            liquid: f(self.liquid),
            a: f(self.a),
            b: f(self.b),
            c: f(self.c),
        }
    }

    /// Whether they follow the same law.
    pub fn agrees(&self, other: &Self) -> bool {
        self.model == other.model
    }

    /// True when it is the same at all pressures.
    #[inline(always)]
    pub fn is_constant(&self) -> bool {
        self.model == StiffnessModel::Constant
    }

    /// β at a pressure. Pressures below a tenth of an atmosphere are taken as that, so that free
    /// air keeps a finite stiffness; below the vapour pressure the cavity takes over.
    #[inline(always)]
    pub fn at(&self, pressure: T) -> T {
        let p = pressure.max(T::of(0.1 * ATMOSPHERE));
        match self.model {
            StiffnessModel::Constant => self.liquid,
            StiffnessModel::Empirical => self.a * self.liquid * (self.b * p + self.c).ln(),
            StiffnessModel::EntrainedAir => {
                // V(p) = α(p₀/p)^(1/n) + (1 − α)(1 − (p − p₀)/β);  β_e = −V/(dV/dp)
                let air = self.a * (T::of(ATMOSPHERE) / p).powf(self.b.recip());
                let liquid = T::one() - self.a;
                (air + liquid) / (air / (self.b * p) + liquid / self.liquid)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viscosity_passes_through_both_given_points() {
        let oil = Fluid {
            viscosity: 46e-6,
            reference_temperature: 313.15,
            viscosity_point: Some((373.15, 6.8e-6)),
            ..Fluid::default()
        };
        assert!((oil.viscosity_at(313.15, ATMOSPHERE) / 46e-6 - 1.0).abs() < 1e-12);
        assert!((oil.viscosity_at(373.15, ATMOSPHERE) / 6.8e-6 - 1.0).abs() < 1e-12);
        assert!(oil.viscosity_at(293.15, ATMOSPHERE) > 100e-6);
    }

    #[test]
    fn viscosity_grows_with_pressure_as_barus_says() {
        let oil = Fluid { pressure_viscosity: 2e-8, ..Fluid::default() };
        let ratio =
            oil.viscosity_at(323.15, ATMOSPHERE + 1e7) / oil.viscosity_at(323.15, ATMOSPHERE);
        assert!((ratio - (0.2f64).exp()).abs() < 1e-12);
    }

    #[test]
    fn entrained_air_softens_oil_at_low_pressure_only() {
        let model = BulkModel::EntrainedAir { fraction: 0.01, exponent: 1.4 };
        let oil = Fluid { bulk_model: model, ..Fluid::default() };
        let beta = oil.stiffness();
        // 1/β_e = (1−α)/β + α/(n·p) at p₀, where the mixture has volume 1
        let expected = 1.0 / (0.99 / 1.6e9 + 0.01 / (1.4 * ATMOSPHERE));
        assert!((beta.at(ATMOSPHERE) / expected - 1.0).abs() < 1e-12);
        assert!(beta.at(30e6) > 0.95 * 1.6e9);
    }

    #[test]
    fn empirical_stiffness_is_the_formula() {
        let model = BulkModel::Empirical { a1: 0.5, a2: 90.0, a3: 3.0, max_pressure: 28e6 };
        let oil = Fluid { bulk_model: model, bulk_modulus: 1.8e9, ..Fluid::default() };
        let expected = 0.5 * 1.8e9 * (90.0 * 10e6 / 28e6 + 3.0f64).log10();
        assert!((oil.stiffness().at(10e6) / expected - 1.0).abs() < 1e-12);
    }
}
