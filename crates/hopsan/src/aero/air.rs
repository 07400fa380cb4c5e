//! The atmosphere.

use crate::held::Held;
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[ComponentType::of::<Atmosphere>()];

/// Standard atmosphere: linear in temperature up to the tropopause, isothermal above.
///
/// T = T_s + a·min(h, h_tp). Below the tropopause ρ = ρ_s·(T/T_s)^(−1−g/(a·R)) and
/// p = p_s·(T/T_s)^(−g/(a·R)); above, both decay from their values there as e^(−g·(h−h_tp)/(R·T_tp)).
/// Speed of sound √(γ·R·T).
///
/// All inputs but the altitude are read at the start.
#[component("hopsan.AeroAtmosphere", s)]
pub struct Atmosphere {
    /// h — altitude [m]
    #[input(name = "ha", default = "0 m")]
    pub altitude: f64,
    /// g — gravity [m/s^2]
    #[input(name = "g0", default = "9.81 m/s^2")]
    pub gravity: f64,
    /// ρ_s — density at sea level [kg/m^3]
    #[input(name = "rhos", default = "1.225 kg/m^3")]
    pub ground_density: f64,
    /// a — rise of temperature with altitude [K/m]
    #[input(name = "a", default = "-0.0065 K/m")]
    pub lapse: f64,
    /// R — gas constant of air [J/(kg*K)]
    #[input(name = "R", default = "287 J/(kg*K)")]
    pub gas_constant: f64,
    /// γ — ratio of specific heats [–]
    #[input(name = "gamma", default = 1.4)]
    pub heat_ratio: f64,
    /// T_s — temperature at sea level [K]
    #[input(name = "Ts", default = "288.16 K")]
    pub ground_temperature: f64,
    /// p_s — pressure at sea level [Pa]
    #[input(name = "p0s", default = "101300 Pa")]
    pub ground_pressure: f64,
    /// h_tp — altitude of the tropopause [m]
    #[input(name = "htp", default = "11000 m")]
    pub tropopause: f64,
    /// T_tp — temperature that the decay above the tropopause reckons with [K]
    #[input(name = "Ttp", default = "216.66 K")]
    pub tropopause_temperature: f64,
    /// p_tp — pressure at the tropopause [Pa]
    #[input(name = "ptp", default = "22610 Pa")]
    pub tropopause_pressure: f64,
    /// ρ_tp — density at the tropopause [kg/m^3]
    #[input(name = "rhotp", default = "0.363649 kg/m^3")]
    pub tropopause_density: f64,
    /// e — base of the decay [–]
    #[input(name = "e", default = 2.71828)]
    pub base: f64,
    /// ρ — density [kg/m^3]
    #[output(name = "rhoa", start = "1.25 kg/m^3")]
    density: Signal,
    /// T — temperature [K]
    #[output(name = "Ta", start = "273 K")]
    temperature: Signal,
    /// p — pressure [Pa]
    #[output(name = "p0", start = "100000 Pa")]
    pressure: Signal,
    /// c — speed of sound [m/s]
    #[output(name = "Vsound", start = "340 m/s")]
    sound_speed: Signal,
}

impl Atmosphere {
    const HELD: Held = Held::inputs(Self::GRAVITY, Self::BASE);
}

impl Physics for Atmosphere {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let held = |input| Self::HELD.get(io, input);
        let (altitude, tropopause) = (io.input(Self::ALTITUDE), held(Self::TROPOPAUSE));
        let above = altitude.gt(tropopause);
        let ground = held(Self::GROUND_TEMPERATURE);
        let temperature = ground + held(Self::LAPSE) * altitude.min(tropopause);
        let (gravity, gas) = (held(Self::GRAVITY), held(Self::GAS_CONSTANT));
        let exponent = gravity / (held(Self::LAPSE) * gas);
        let thinning = (temperature / ground).powf(-exponent);
        let fall = gravity * (altitude - tropopause) / (gas * held(Self::TROPOPAUSE_TEMPERATURE));
        let decay = (-(fall * held(Self::BASE).ln())).exp();
        let density = T::select(
            above,
            held(Self::TROPOPAUSE_DENSITY) * decay,
            held(Self::GROUND_DENSITY) * thinning * ground / temperature,
        );
        let pressure = T::select(
            above,
            held(Self::TROPOPAUSE_PRESSURE) * decay,
            held(Self::GROUND_PRESSURE) * thinning,
        );
        let sound = (held(Self::HEAT_RATIO) * gas * temperature).sqrt();
        io.set_output(Self::DENSITY, density);
        io.set_output(Self::TEMPERATURE, temperature);
        io.set_output(Self::PRESSURE, pressure);
        io.set_output(Self::SOUND_SPEED, sound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    fn standard() -> Bench<Atmosphere> {
        let values = [
            0.0, 9.81, 1.225, -0.0065, 287.0, 1.4, 288.16, 101300.0, 11000.0, 216.66, 22610.0,
            0.363649, 2.5,
        ];
        let [h, g, rho, a, r, gamma, t, p, htp, ttp, ptp, rhotp, e] = values;
        let component = Atmosphere {
            altitude: h,
            gravity: g,
            ground_density: rho,
            lapse: a,
            gas_constant: r,
            heat_ratio: gamma,
            ground_temperature: t,
            ground_pressure: p,
            tropopause: htp,
            tropopause_temperature: ttp,
            tropopause_pressure: ptp,
            tropopause_density: rhotp,
            base: e,
        };
        let mut bench = Bench::new(&component, 0.1);
        for (i, value) in values.into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.start();
        bench
    }

    #[test]
    fn below_the_tropopause_the_air_is_a_gas_at_rest() {
        let mut bench = standard();
        let mut at = |h: f64| {
            bench.input(0, h).step();
            [0, 1, 2].map(|i| bench.output(i))
        };
        let [rho, t, p] = at(5000.0);
        assert!((t - (288.16 - 32.5)).abs() < 1e-9);
        // p/(ρ·T) is the same as at sea level, and dp/dh = −ρ·g but for the rounding of p_s.
        assert!((p / (rho * t) - 101300.0 / (1.225 * 288.16)).abs() < 1e-9);
        let slope = (at(5001.0)[2] - at(4999.0)[2]) / 2.0;
        assert!((slope + rho * 9.81).abs() < 1e-3 * rho * 9.81);
    }

    #[test]
    fn above_the_tropopause_the_air_thins_exponentially() {
        let mut bench = standard();
        bench.input(0, 12000.0).step();
        let fall: f64 = 9.81 * 1000.0 / (287.0 * 216.66);
        assert!((bench.output(0) - 0.363649 * 2.5f64.powf(-fall)).abs() < 1e-12);
        assert!((bench.output(2) - 22610.0 * 2.5f64.powf(-fall)).abs() < 1e-7);
        assert!((bench.output(1) - 216.66).abs() < 1e-9);
        assert!((bench.output(3) - (1.4f64 * 287.0 * 216.66).sqrt()).abs() < 1e-9);
    }
}
