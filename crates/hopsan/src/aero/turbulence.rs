//! Turbulence of the air, made from noise by Dryden's filters.

use crate::blocks::{FirstOrder, limit};
use crate::held::Held;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::FRAC_1_PI;

/// The types of this file.
pub const TYPES: &[ComponentType] =
    &[ComponentType::of::<TurbulenceFilter>(), ComponentType::of::<Wind>()];

/// One of Dryden's filters at an instant.
#[derive(Clone, Copy)]
struct Gust<T> {
    /// Strength of the turbulence.
    strength: T,
    /// τ = length of the turbulence over speed.
    time: T,
}

impl<T: Num> Gust<T> {
    fn gain(self) -> T {
        self.strength * (self.time * (2.0 * FRAC_1_PI)).sqrt()
    }
}

/// Along the flow: σ·√(2·τ/π)/(τ·s + 1) by the bilinear rule, each half divided by the denominator of
/// its own time. Remembers the old half; the output is at `output`.
#[derive(Clone, Copy)]
struct Along {
    output: usize,
    memory: usize,
}

impl Along {
    #[wide]
    fn start<T: Num>(self, io: &mut Step<'_, T>, gust: Gust<T>, noise: T) {
        let y = io.output(self.output);
        let (dt, double) = (io.dt, gust.time * 2.0);
        let old = (gust.gain() * noise * dt - (T::of(dt) - double) * y) / (double + dt);
        io.set_memory(self.memory, old);
    }

    #[inline(always)]
    fn step<T: Num>(self, io: &mut Step<'_, T>, gust: Gust<T>, noise: T) -> T {
        let new = gust.gain() * noise * io.dt / (gust.time * 2.0 + io.dt);
        let y = new + io.memory(self.memory);
        io.set_output(self.output, y);
        self.start(io, gust, noise);
        y
    }
}

/// Across the flow: σ·√(2·τ/π)·(2·√3·τ·s + 1)/(2·τ·s + 1)² by the bilinear rule, each part divided
/// by the denominator of its own time. Remembers three numbers; the output is at `output`.
#[derive(Clone, Copy)]
struct Across {
    output: usize,
    memory: usize,
}

impl Across {
    /// The part for the next step, and the one for the step after it.
    #[wide]
    fn parts<T: Num>(io: &Step<'_, T>, gust: Gust<T>, noise: T, y: T) -> [T; 3] {
        let (dt, four) = (io.dt, gust.time * 4.0);
        let (square, lead) = (dt * dt, four * (3f64.sqrt() * dt));
        let denominator = (four + dt).squared();
        let driven = gust.gain() * noise;
        [
            driven * (lead + square) / denominator,
            (driven * (2.0 * square) + (four * four - square) * 2.0 * y) / denominator,
            (driven * (-lead + square) - (four - dt).squared() * y) / denominator,
        ]
    }

    fn start<T: Num>(self, io: &mut Step<'_, T>, gust: Gust<T>, noise: T) {
        let [_, next, after] = Self::parts(io, gust, noise, io.output(self.output));
        io.set_memory(self.memory, next);
        io.set_memory(self.memory + 1, after);
        io.set_memory(self.memory + 2, after);
    }

    #[inline(always)]
    fn step<T: Num>(self, io: &mut Step<'_, T>, gust: Gust<T>, noise: T) -> T {
        let [new, ..] = Self::parts(io, gust, noise, T::zero());
        let y = new + io.memory(self.memory) + io.memory(self.memory + 1);
        let [_, next, after] = Self::parts(io, gust, noise, y);
        let waiting = io.memory(self.memory + 2);
        io.set_memory(self.memory, next);
        io.set_memory(self.memory + 1, waiting);
        io.set_memory(self.memory + 2, after);
        io.set_output(self.output, y);
        y
    }
}

/// Gusts that an aircraft meets, from three noises.
///
/// With speed v = |1 + V| and τ = L/v:  forwards σ·√(2·τ/π)/(τ·s + 1), to the side and downwards
/// σ·√(2·τ/π)·(2·√3·τ·s + 1)/(2·τ·s + 1)²
#[component("hopsan.AeroTurbFilter", s, constants = Gusts)]
pub struct TurbulenceFilter {
    /// V — speed of flight [m/s]
    #[input(name = "V", default = "100 m/s")]
    pub speed: f64,
    /// – — noise for the gusts forwards [any]
    #[input(name = "noiseu", default = 0)]
    pub noise_x: f64,
    /// – — noise for the gusts to the side [any]
    #[input(name = "noisev", default = 0)]
    pub noise_y: f64,
    /// – — noise for the gusts downwards [any]
    #[input(name = "noisew", default = 0)]
    pub noise_z: f64,
    /// σ_u — strength of the gusts forwards [m/s]
    #[parameter(name = "su", default = "1 m/s")]
    pub strength_x: f64,
    /// σ_v — strength of the gusts to the side [m/s]
    #[parameter(name = "sv", default = "1 m/s")]
    pub strength_y: f64,
    /// σ_w — strength of the gusts downwards [m/s]
    #[parameter(name = "sw", default = "1 m/s")]
    pub strength_z: f64,
    /// L_u — length of the gusts forwards [m]
    #[parameter(name = "Lu", default = "525 m")]
    pub length_x: f64,
    /// L_v — length of the gusts to the side [m]
    #[parameter(name = "Lv", default = "525 m")]
    pub length_y: f64,
    /// L_w — length of the gusts downwards [m]
    #[parameter(name = "Lw", default = "525 m")]
    pub length_z: f64,
    /// u — gust forwards [m/s]
    #[output(name = "du")]
    gust_x: Signal,
    /// v — gust to the side [m/s]
    #[output(name = "dv")]
    gust_y: Signal,
    /// w — gust downwards [m/s]
    #[output(name = "dw")]
    gust_z: Signal,
    /// – — part of the gust forwards that is one step old [m/s]
    #[memory]
    old_x: Memory,
    /// – — part of the gust to the side that is one step old [m/s]
    #[memory]
    old_y_1: Memory,
    /// – — part of the gust to the side that is two steps old [m/s]
    #[memory]
    old_y_2: Memory,
    /// – — part of the gust to the side that will be two steps old [m/s]
    #[memory]
    old_y_3: Memory,
    /// – — part of the gust downwards that is one step old [m/s]
    #[memory]
    old_z_1: Memory,
    /// – — part of the gust downwards that is two steps old [m/s]
    #[memory]
    old_z_2: Memory,
    /// – — part of the gust downwards that will be two steps old [m/s]
    #[memory]
    old_z_3: Memory,
}

/// Strengths and lengths of gusts.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Gusts<T> {
    strength: [T; 3],
    length: [T; 3],
}

impl TurbulenceFilter {
    const X: Along = Along { output: Self::GUST_X, memory: Self::OLD_X };
    const Y: Across = Across { output: Self::GUST_Y, memory: Self::OLD_Y_1 };
    const Z: Across = Across { output: Self::GUST_Z, memory: Self::OLD_Z_1 };

    #[wide]
    fn gusts<T: Num>(k: &Gusts<T>, io: &Step<'_, T>) -> [Gust<T>; 3] {
        let speed = (io.input(Self::SPEED) + 1.0).abs();
        std::array::from_fn(|i| Gust { strength: k.strength[i], time: k.length[i] / speed })
    }
}

impl Physics for TurbulenceFilter {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Gusts<f64>, Refusal> {
        Ok(Gusts {
            strength: [self.strength_x, self.strength_y, self.strength_z],
            length: [self.length_x, self.length_y, self.length_z],
        })
    }

    #[wide]
    fn start<T: Num>(k: &Gusts<T>, io: &mut Step<'_, T>) {
        let [x, y, z] = Self::gusts(k, io);
        let [u, v, w] = [Self::NOISE_X, Self::NOISE_Y, Self::NOISE_Z].map(|i| io.input(i));
        Self::X.start(io, x, u);
        Self::Y.start(io, y, v);
        Self::Z.start(io, z, w);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Gusts<T>, io: &mut Step<'_, T>) {
        let [x, y, z] = Self::gusts(k, io);
        let [u, v, w] = [Self::NOISE_X, Self::NOISE_Y, Self::NOISE_Z].map(|i| io.input(i));
        Self::X.step(io, x, u);
        Self::Y.step(io, y, v);
        Self::Z.step(io, z, w);
    }
}

/// Wind with gusts, both growing with altitude.
///
/// h_f follows max(h, 0) as 1/(s/ω_h + 1). With h_f of the step before: wind U = U₀·(h_f/h₀)^α,
/// σ_w = a_w·U, σ_u = σ_v = σ_w/κ^0.4, L_u = L_v = 0.3·h_f/κ^1.2, κ = 0.177 + 0.0002469·h_f,
/// L_w = clip(h_f, 0, 525), speed through the air max(|U + V|, 10). Gusts are those of
/// `hopsan.AeroTurbFilter`.
///
/// The inputs for the wind itself are read at the start; a_u has no effect.
#[component("hopsan.AeroWind", s)]
pub struct Wind {
    /// V — speed of flight [m/s]
    #[input(name = "V", default = "100 m/s")]
    pub speed: f64,
    /// h — altitude [m]
    #[input(name = "h", default = "100 m")]
    pub altitude: f64,
    /// – — noise for the gusts along x [any]
    #[input(name = "noiseu", default = 0)]
    pub noise_x: f64,
    /// – — noise for the gusts along y [any]
    #[input(name = "noisev", default = 0)]
    pub noise_y: f64,
    /// – — noise for the gusts along z [any]
    #[input(name = "noisew", default = 0)]
    pub noise_z: f64,
    /// U₀ — wind speed at the reference altitude [m/s]
    #[input(name = "U0", default = "10 m/s")]
    pub wind_speed: f64,
    /// – — direction of the wind [rad]
    #[input(name = "heading", default = "0 rad")]
    pub heading: f64,
    /// h₀ — reference altitude [m]
    #[input(name = "h0", default = "6 m")]
    pub reference_altitude: f64,
    /// α — growth of the wind with altitude [–]
    #[input(name = "alpha", default = 1)]
    pub exponent: f64,
    /// – — without effect [–]
    #[input(name = "au", default = 0.2)]
    pub strength_x: f64,
    /// a_w — strength of the gusts, over the wind speed [–]
    #[input(name = "aw", default = 0.2)]
    pub strength_z: f64,
    /// ω_h — break frequency of the filter of the altitude [rad/s]
    #[input(name = "wh", default = "0.1 rad/s")]
    pub bandwidth: f64,
    /// – — gust along x [m/s]
    #[output(name = "du")]
    gust_x: Signal,
    /// – — gust along y [m/s]
    #[output(name = "dv")]
    gust_y: Signal,
    /// – — wind along x [m/s]
    #[output(name = "uw")]
    wind_x: Signal,
    /// – — wind along y [m/s]
    #[output(name = "vw")]
    wind_y: Signal,
    /// – — wind along z [m/s]
    #[output(name = "ww")]
    wind_z: Signal,
    /// h_f — filtered altitude [m]
    #[output(name = "hf")]
    filtered_altitude: Signal,
    /// – — altitude one step ago [m]
    #[memory]
    altitude_1: Memory,
    /// – — filtered altitude one step ago [m]
    #[memory]
    filtered_1: Memory,
    /// – — part of the gust along x that is one step old [m/s]
    #[memory]
    old_x: Memory,
    /// – — part of the gust along y that is one step old [m/s]
    #[memory]
    old_y_1: Memory,
    /// – — part of the gust along y that is two steps old [m/s]
    #[memory]
    old_y_2: Memory,
    /// – — part of the gust along y that will be two steps old [m/s]
    #[memory]
    old_y_3: Memory,
    /// – — part of the gust along z that is one step old [m/s]
    #[memory]
    old_z_1: Memory,
    /// – — part of the gust along z that is two steps old [m/s]
    #[memory]
    old_z_2: Memory,
    /// – — part of the gust along z that will be two steps old [m/s]
    #[memory]
    old_z_3: Memory,
}

impl Wind {
    const HELD: Held = Held::inputs(Self::WIND_SPEED, Self::BANDWIDTH);
    const ALTITUDES: FirstOrder = FirstOrder(Self::ALTITUDE_1);
    const X: Along = Along { output: Self::GUST_X, memory: Self::OLD_X };
    const Y: Across = Across { output: Self::GUST_Y, memory: Self::OLD_Y_1 };
    const Z: Across = Across { output: Self::WIND_Z, memory: Self::OLD_Z_1 };

    /// Mean wind and the gusts across and down.
    #[wide]
    fn wind<T: Num>(io: &Step<'_, T>) -> (T, [Gust<T>; 2]) {
        let held = |input| Self::HELD.get(io, input);
        let altitude = io.memory(Self::FILTERED_1);
        let growth = altitude / held(Self::REFERENCE_ALTITUDE);
        let wind = growth.powf(held(Self::EXPONENT)) * held(Self::WIND_SPEED);
        let speed = (wind + io.input(Self::SPEED)).abs().max(T::of(10.0));
        let strength = held(Self::STRENGTH_Z) * wind;
        let layer = altitude * 0.0002469 + 0.177;
        let length = altitude * 0.3 / layer.powf(T::of(1.2));
        let deep = limit(altitude, T::zero(), T::of(525.0));
        let gusts = [
            Gust { strength: strength / layer.powf(T::of(0.4)), time: length / speed },
            Gust { strength, time: deep / speed },
        ];
        (wind, gusts)
    }

    #[wide]
    fn noises<T: Num>(io: &Step<'_, T>) -> [T; 3] {
        [Self::NOISE_X, Self::NOISE_Y, Self::NOISE_Z].map(|i| io.input(i))
    }
}

impl Physics for Wind {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
        let altitude = io.input(Self::ALTITUDE).max(T::zero());
        let filtered = io.output(Self::FILTERED_ALTITUDE);
        Self::ALTITUDES.start(io, altitude, filtered);
        let (_, [flat, down]) = Self::wind(io);
        let [u, v, w] = Self::noises(io);
        Self::X.start(io, flat, u);
        Self::Y.start(io, flat, v);
        Self::Z.start(io, down, w);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (wind, [flat, down]) = Self::wind(io);
        let [u, v, w] = Self::noises(io);
        let altitude = io.input(Self::ALTITUDE).max(T::zero());
        let lag = Self::HELD.get(io, Self::BANDWIDTH).recip();
        let (zero, one) = (T::zero(), T::one());
        let filtered = Self::ALTITUDES.free(io, [one, zero], [one, lag], altitude);
        let x = Self::X.step(io, flat, u);
        let y = Self::Y.step(io, flat, v);
        Self::Z.step(io, down, w);
        let heading = Self::HELD.get(io, Self::HEADING);
        io.set_output(Self::WIND_X, x + wind * heading.cos());
        io.set_output(Self::WIND_Y, y + wind * heading.sin());
        io.set_output(Self::FILTERED_ALTITUDE, filtered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    #[test]
    fn constant_noise_settles_at_the_gain_of_the_filters() {
        let component = TurbulenceFilter {
            speed: 99.0,
            noise_x: 0.0,
            noise_y: 0.0,
            noise_z: 0.0,
            strength_x: 1.0,
            strength_y: 2.0,
            strength_z: 3.0,
            length_x: 500.0,
            length_y: 400.0,
            length_z: 300.0,
        };
        let mut bench = Bench::new(&component, 0.01);
        bench.input(0, 99.0).start();
        bench.input(1, 1.0).input(2, 1.0).input(3, 1.0);
        for _ in 0..20000 {
            bench.step();
        }
        for (i, (strength, length)) in [(1.0, 500.0), (2.0, 400.0), (3.0, 300.0)].iter().enumerate()
        {
            let gain = strength * f64::sqrt(2.0 * length / (100.0 * std::f64::consts::PI));
            assert!((bench.output(i) - gain).abs() < 1e-6 * gain, "{i}");
        }
    }

    #[test]
    fn the_side_gust_rises_at_the_slope_of_its_numerator() {
        let component = TurbulenceFilter {
            speed: 99.0,
            noise_x: 0.0,
            noise_y: 0.0,
            noise_z: 0.0,
            strength_x: 1.0,
            strength_y: 1.0,
            strength_z: 1.0,
            length_x: 100.0,
            length_y: 100.0,
            length_z: 100.0,
        };
        let mut bench = Bench::new(&component, 1e-4);
        bench.input(0, 99.0).start();
        bench.input(2, 1.0);
        for _ in 0..100 {
            bench.step();
        }
        // y(t) → σ·√(2τ/π)·(2√3·τ)/(2τ)²·t for small t, τ = 1 s.
        let slope = f64::sqrt(2.0 * FRAC_1_PI) * 3f64.sqrt() / 2.0;
        assert!((bench.output(1) - slope * (0.01 - 0.5e-4)).abs() < 1e-2 * slope * 0.01);
    }

    #[test]
    fn without_noise_the_wind_grows_with_altitude() {
        let component = Wind {
            speed: 100.0,
            altitude: 100.0,
            noise_x: 0.0,
            noise_y: 0.0,
            noise_z: 0.0,
            wind_speed: 10.0,
            heading: 0.5,
            reference_altitude: 6.0,
            exponent: 0.3,
            strength_x: 0.2,
            strength_z: 0.2,
            bandwidth: 1.0,
        };
        let mut bench = Bench::new(&component, 0.01);
        let values = [100.0, 100.0, 0.0, 0.0, 0.0, 10.0, 0.5, 6.0, 0.3, 0.2, 0.2, 1.0];
        for (i, value) in values.into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.with(|io| io.set_output(Wind::FILTERED_ALTITUDE, 50.0)).start();
        for _ in 0..5000 {
            bench.step();
        }
        let wind = 10.0 * (100.0f64 / 6.0).powf(0.3);
        assert!((bench.output(Wind::WIND_X) - wind * 0.5f64.cos()).abs() < 1e-9);
        assert!((bench.output(Wind::WIND_Y) - wind * 0.5f64.sin()).abs() < 1e-9);
    }
}
