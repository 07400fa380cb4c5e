//! Engines, propellers and fuel tanks of aircraft.

use crate::blocks::{FirstOrder, limit, sign};
use crate::held::Held;
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use std::f64::consts::TAU;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<JetEngine>(),
    ComponentType::of::<FuelTank>(),
    ComponentType::of::<Propeller>(),
];

/// Power of a number that is not negative, with 0 to any power as 0.
#[inline(always)]
fn power<T: Num>(x: T, exponent: f64) -> T {
    T::select(x.gt(T::zero()), x.powf(T::of(exponent)), T::zero())
}

/// Jet engine with a shaft that follows the throttle.
///
/// n follows clip(u, 0, 1)^0.323 as 1/(τ·s + 1). With M = v/c and n of the step before:
/// thrust F = 0.8207·e^(0.1304·M)·ρ^0.8853·n^3.104·F_max;
/// fuel ṁ = F·1.7638·10⁻⁵·e^(0.4453·M)·n^0.00459·ρ^(−0.126478)
///
/// The inputs for the engine itself are read at the start; temperature, pressure and the fuel
/// coefficients have no effect.
#[component("hopsan.AeroJetEngine", q)]
pub struct JetEngine {
    /// u — throttle [–]
    #[input(name = "uin", default = 1)]
    pub throttle: f64,
    /// ρ — density of the air in kg/m³, as a plain number [any]
    #[input(name = "rho", default = 1.25)]
    pub density: f64,
    /// T — without effect [K]
    #[input(name = "T", default = "273 K")]
    pub temperature: f64,
    /// p — without effect [Pa]
    #[input(name = "p0", default = "100000 Pa")]
    pub pressure: f64,
    /// c — speed of sound [m/s]
    #[input(name = "Vsound", default = "340 m/s")]
    pub sound_speed: f64,
    /// v — speed of flight [m/s]
    #[input(name = "speed", default = "100 m/s")]
    pub speed: f64,
    /// F_max — thrust at full speed, in air of 1 kg/m³, over 0.8207 [N]
    #[input(name = "thrustmax", default = "77000 N")]
    pub full_thrust: f64,
    /// – — without effect [s/m]
    #[input(name = "SFC0", default = "2.66e-05 s/m")]
    pub fuel_coefficient: f64,
    /// τ — time constant of the shaft [s]
    #[input(name = "thau", default = "5 s")]
    pub lag: f64,
    /// – — without effect [–]
    #[input(name = "Ctm", default = 0.1304)]
    pub thrust_mach: f64,
    /// – — without effect [–]
    #[input(name = "Csfct", default = 0.1304)]
    pub fuel_thrust: f64,
    /// – — without effect [–]
    #[input(name = "Csfcm", default = 0.13045134663401256)]
    pub fuel_mach: f64,
    /// e — base of the exponentials [–]
    #[input(name = "e", default = 2.71828)]
    pub base: f64,
    /// F — thrust [N]
    #[output(name = "thrust", start = "5000 N")]
    thrust: Signal,
    /// n — speed of the shaft, as a share of full speed [–]
    #[output(name = "Shspeed", start = "1")]
    shaft_speed: Signal,
    /// ṁ — fuel burnt [kg/s]
    #[output(name = "qmfuel", start = "1 kg/s")]
    fuel_flow: Signal,
    /// – — wanted speed one step ago [–]
    #[memory]
    wanted_1: Memory,
    /// – — speed one step ago [–]
    #[memory]
    speed_1: Memory,
}

impl JetEngine {
    const HELD: Held = Held::inputs(Self::FULL_THRUST, Self::BASE);
    const SHAFT: FirstOrder = FirstOrder(Self::WANTED_1);

    #[wide]
    fn wanted<T: Num>(io: &Step<'_, T>) -> T {
        power(limit(io.input(Self::THROTTLE), T::zero(), T::one()), 0.323)
    }
}

impl Physics for JetEngine {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
        let (wanted, speed) = (Self::wanted(io), io.output(Self::SHAFT_SPEED));
        Self::SHAFT.start(io, wanted, speed);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let held = |input| Self::HELD.get(io, input);
        let shaft = io.memory(Self::SPEED_1);
        let growth = held(Self::BASE).ln() * io.input(Self::SPEED) / io.input(Self::SOUND_SPEED);
        let density = io.input(Self::DENSITY);
        let thrust = (growth * 0.1304).exp()
            * 0.8207
            * power(density, 0.8853)
            * power(shaft, 3.104)
            * held(Self::FULL_THRUST);
        let consumption =
            (growth * 0.4453).exp() * 1.7638e-5 * power(shaft, 0.00459) / power(density, 0.126478);
        let (wanted, lag) = (Self::wanted(io), held(Self::LAG));
        let (zero, one) = (T::zero(), T::one());
        let shaft = Self::SHAFT.free(io, [one, zero], [one, lag], wanted);
        io.set_output(Self::THRUST, thrust);
        io.set_output(Self::SHAFT_SPEED, shaft);
        io.set_output(Self::FUEL_FLOW, consumption * thrust);
    }
}

/// Fuel tank that tells how much is left.
///
/// consumed = clip(trapezoid of ṁ, 0, m₀);  m = m₀ − consumed
///
/// m₀ is read at the start.
#[component("hopsan.AeroFuelTank", q)]
pub struct FuelTank {
    /// ṁ — fuel taken [kg/s]
    #[input(name = "massflow", default = "0 kg/s")]
    pub fuel_flow: f64,
    /// m₀ — fuel in the full tank [kg]
    #[input(name = "massfuel0", default = "0 kg")]
    pub full_mass: f64,
    /// m — fuel left [kg]
    #[output(name = "massfuel")]
    mass: Signal,
    /// – — fuel taken so far [kg]
    #[output(name = "consfuel")]
    consumed: Signal,
    /// – — fuel flow one step ago [kg/s]
    #[memory]
    fuel_flow_1: Memory,
}

impl FuelTank {
    const HELD: Held = Held::inputs(Self::FULL_MASS, Self::FULL_MASS);
}

impl Physics for FuelTank {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
        let flow = io.input(Self::FUEL_FLOW);
        io.set_memory(Self::FUEL_FLOW_1, flow);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (flow, full) = (io.input(Self::FUEL_FLOW), Self::HELD.get(io, Self::FULL_MASS));
        let taken = (flow + io.memory(Self::FUEL_FLOW_1)) * (0.5 * io.dt);
        let consumed = limit(io.output(Self::CONSUMED) + taken, T::zero(), full);
        io.set_memory(Self::FUEL_FLOW_1, flow);
        io.set_output(Self::MASS, limit(full - consumed, T::zero(), full));
        io.set_output(Self::CONSUMED, consumed);
    }
}

/// Propeller, a load of the shaft that drives it.
///
/// With n = ω/2π, advance ratio J = U/(d·(n + 10⁻⁵)) and coefficients limited softly,
/// S(x, x₀) = sign(x)·(|x|^(−k) + x₀^(−k))^(−1/k):
/// thrust F = ρ·n²·d⁴·S(b₁ − b₂·J, c_t0);  torque c = ρ·n²·d⁵·S(g₁ − g₂·J, c_p0)/2π;
/// Z = T·∂c/∂ω at constant J
#[component("hopsan.AeroPropeller", c)]
pub struct Propeller {
    /// shaft
    #[port(name = "Pmr1")]
    shaft: Rotational,
    /// U — speed of flight [m/s]
    #[input(name = "Up", default = "1.25 m/s")]
    pub speed: f64,
    /// ρ — density of the air [kg/m^3]
    #[input(name = "rho", default = "1.25 kg/m^3")]
    pub density: f64,
    /// d — diameter [m]
    #[input(name = "dp", default = "1 m")]
    pub diameter: f64,
    /// b₁ — thrust coefficient at rest [–]
    #[input(name = "b1", default = 0.2)]
    pub thrust_rest: f64,
    /// b₂ — fall of the thrust coefficient with the advance ratio [–]
    #[input(name = "b2", default = 0.2)]
    pub thrust_slope: f64,
    /// g₁ — power coefficient at rest [–]
    #[input(name = "g1", default = 0.205)]
    pub power_rest: f64,
    /// g₂ — fall of the power coefficient with the advance ratio [–]
    #[input(name = "g2", default = 0.2)]
    pub power_slope: f64,
    /// c_t0 — limit of the thrust coefficient [–]
    #[input(name = "ct0", default = 0.12)]
    pub thrust_limit: f64,
    /// c_p0 — limit of the power coefficient [–]
    #[input(name = "cp0", default = 0.08)]
    pub power_limit: f64,
    /// k — sharpness of the limits [–]
    #[input(name = "k", default = 4)]
    pub sharpness: f64,
    /// F — thrust [N]
    #[output(name = "thrust", start = "500 N")]
    thrust: Signal,
    /// M — torque taken from the shaft [N*m]
    #[output(name = "torque")]
    torque: Signal,
    /// P_in — power taken from the shaft [W]
    #[output(name = "Pin")]
    shaft_power: Signal,
    /// P_out — power of the thrust [W]
    #[output(name = "Pout")]
    thrust_power: Signal,
    /// J — advance ratio [–]
    #[output(name = "Jp")]
    advance_ratio: Signal,
}

impl Physics for Propeller {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let speed = io.flow(Self::SHAFT);
        let turns = speed / TAU;
        let [flight, density, diameter, sharpness] =
            [Self::SPEED, Self::DENSITY, Self::DIAMETER, Self::SHARPNESS].map(|i| io.input(i));
        let advance = flight / (diameter * (turns + 1e-5));
        let coefficient = |rest, slope, most| {
            let x = io.input(rest) - io.input(slope) * advance;
            let inverse = io.input(most).powf(-sharpness) + x.abs().powf(-sharpness);
            sign(x) * inverse.powf(-sharpness.recip())
        };
        let fourth = diameter.squared().squared() * density;
        let thrust = fourth
            * turns.squared()
            * coefficient(Self::THRUST_REST, Self::THRUST_SLOPE, Self::THRUST_LIMIT);
        let per_speed = fourth
            * diameter
            * turns
            * coefficient(Self::POWER_REST, Self::POWER_SLOPE, Self::POWER_LIMIT)
            / TAU;
        let torque = per_speed * turns;
        io.set_wave(Self::SHAFT, torque, per_speed * (2.0 * io.dt / TAU));
        io.set_output(Self::THRUST, thrust);
        io.set_output(Self::TORQUE, torque);
        io.set_output(Self::SHAFT_POWER, torque * speed);
        io.set_output(Self::THRUST_POWER, thrust * flight);
        io.set_output(Self::ADVANCE_RATIO, advance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    fn inputs<M: Physics>(bench: &mut Bench<M>, values: &[f64]) {
        for (i, &value) in values.iter().enumerate() {
            bench.input(i, value);
        }
    }

    #[test]
    fn a_jet_engine_gives_the_thrust_of_its_shaft_a_step_later() {
        let component = JetEngine {
            throttle: 0.5,
            density: 1.25,
            temperature: 273.0,
            pressure: 1e5,
            sound_speed: 340.0,
            speed: 100.0,
            full_thrust: 77000.0,
            fuel_coefficient: 2.66e-5,
            lag: 5.0,
            thrust_mach: 0.1,
            fuel_thrust: 0.1,
            fuel_mach: 0.1,
            base: 2.5,
        };
        let mut bench = Bench::new(&component, 0.01);
        let values =
            [0.5, 1.25, 273.0, 1e5, 340.0, 100.0, 77000.0, 2.66e-5, 5.0, 0.1, 0.1, 0.1, 2.5];
        inputs(&mut bench, &values);
        bench.with(|io| io.set_output(JetEngine::SHAFT_SPEED, 1.0)).start().step();
        let mach = 100.0 / 340.0;
        let thrust = 0.8207 * 2.5f64.powf(0.1304 * mach) * 1.25f64.powf(0.8853) * 77000.0;
        assert!((bench.output(0) - thrust).abs() < 1e-8, "the shaft still turns in full");
        let fuel = thrust * 1.7638e-5 * 2.5f64.powf(0.4453 * mach) * 1.25f64.powf(-0.126478);
        assert!((bench.output(2) - fuel).abs() < 1e-12);
        for _ in 1..500 {
            bench.step();
        }
        let end = 0.5f64.powf(0.323);
        let expected = end + (1.0 - end) * (-1.0f64).exp();
        assert!((bench.output(1) - expected).abs() < 1e-6, "one time constant");
    }

    #[test]
    fn a_tank_gives_no_more_than_it_holds() {
        let mut bench = Bench::new(&FuelTank { fuel_flow: 0.0, full_mass: 10.0 }, 0.1);
        inputs(&mut bench, &[2.0, 10.0]);
        bench.start().step();
        assert!((bench.output(0) - 9.8).abs() < 1e-12);
        for _ in 0..100 {
            bench.step();
        }
        assert_eq!((bench.output(0), bench.output(1)), (0.0, 10.0));
    }

    #[test]
    fn a_propeller_at_rest_in_the_air_has_its_coefficients_at_rest() {
        let component = Propeller {
            speed: 0.0,
            density: 1.25,
            diameter: 2.0,
            thrust_rest: 0.1,
            thrust_slope: 0.2,
            power_rest: 0.05,
            power_slope: 0.2,
            thrust_limit: 1e6,
            power_limit: 1e6,
            sharpness: 4.0,
        };
        let mut bench = Bench::new(&component, 1e-3);
        inputs(&mut bench, &[0.0, 1.25, 2.0, 0.1, 0.2, 0.05, 0.2, 1e6, 1e6, 4.0]);
        bench.impose_flow(0, 50.0 * TAU).step();
        assert!((bench.output(0) - 0.1 * 1.25 * 2500.0 * 16.0).abs() < 1e-8);
        let torque = 0.05 * 1.25 * 2500.0 * 32.0 / TAU;
        assert!((bench.output(1) - torque).abs() < 1e-9);
        // The impedance carries the torque on along its slope for one step.
        let slope = 2.0 * torque / (50.0 * TAU);
        assert!((bench.state.bonds[0].impedance - slope * 1e-3).abs() < 1e-12);
        // Power in is P = 2π·n·M, and the advance ratio counts revolutions.
        assert!((bench.output(2) - torque * 50.0 * TAU).abs() < 1e-6);
        bench.input(0, 10.0).step();
        assert!((bench.output(4) - 10.0 / (2.0 * 50.00001)).abs() < 1e-12);
    }
}
