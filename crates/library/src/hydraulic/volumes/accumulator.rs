//! Gas accumulator.

use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::{Constants, component};

/// Gas accumulator: oil against a precharged gas, with an optional throttle in its neck.
///
/// p_g·V_gⁿ = p₀·V₀ⁿ,  V_g = V₀ − V,  dV/dt = q,  p = p_g + q/G + q·|q|/K²
///
/// Empty (V = 0) the gas rests on its stop: a small residual volume of oil, p = p₀ + β/V_r·V, down to
/// the vapour pressure. Full, the same stiffness stands behind the end of the stroke. Pressure is a
/// function of the oil volume alone, so oil and energy are kept in all of these. Having one port it
/// needs no delay: the trapezoidal rule with the secant of the pressure over the coming step.
/// The gas exchanges no heat that the exponent does not stand for.
#[component("hydraulic.accumulator", c, constants = AccumulatorConstants, also = "hopsan:HydraulicAckumulator")]
pub struct Accumulator {
    /// neck
    #[port(also = "P1")]
    port: Hydraulic,
    /// V₀ — gas volume at precharge, without oil [m³]
    #[parameter(default = "1 l", min = ">0 l", also = "V0")]
    pub gas_volume: f64,
    /// p₀ — precharge pressure, absolute [Pa]
    #[parameter(default = "50 bar", min = ">0 bar", also = "p0")]
    pub precharge: f64,
    /// n — polytropic exponent: 1 isothermal, 1.4 adiabatic [–]
    #[parameter(default = 1.4, min = 1, max = 3, also = "kappa")]
    pub exponent: f64,
    /// V_f — oil volume when full; nine tenths of the gas volume when not given [m³]
    #[parameter(min = ">0 l")]
    pub full_volume: Option<f64>,
    /// V_r — oil that stays in the neck when empty; sets the stiffness at both stops [m³]
    #[parameter(default = "10 cm^3", min = ">0 cm^3")]
    pub residual_volume: f64,
    /// d — diameter of an orifice in the neck; none when not given [m]
    #[parameter(min = ">0 mm")]
    pub inlet_diameter: Option<f64>,
    /// C_q — discharge coefficient of that orifice [–]
    #[parameter(default = 0.67, min = ">0", max = 1)]
    pub discharge: f64,
    /// G — laminar conductance of the neck; no laminar loss when not given [m³/(s*Pa)]
    #[parameter(min = ">0 m^3/(s*Pa)", also = "Kca")]
    pub inlet_conductance: Option<f64>,
    /// p — pressure at the start, absolute; the circuit's start pressure when not given [Pa]
    #[parameter(min = "0 bar")]
    pub start_pressure: Option<f64>,
    /// V — oil volume [m³]
    #[state]
    oil_volume: State,
    /// p_g — gas pressure [Pa]
    #[output(also = "pa")]
    gas_pressure: Output,
    /// q̄ — mean size of the last flows, for the loss in the neck [m³/s]
    #[memory]
    mean_flow: Memory,
    /// – — steps empty or full [–]
    #[memory(counts = "limit")]
    stopped: Memory,
    /// – — steps with vapour in the neck [–]
    #[memory(counts = "cavitation")]
    cavitated: Memory,
}

/// Constants of [`Accumulator`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct AccumulatorConstants<T> {
    gas_volume: T,
    precharge: T,
    exponent: T,
    full_volume: T,
    full_pressure: T,
    /// β/V_r.
    stop_stiffness: T,
    /// Oil volume (negative) at which vapour forms.
    vapour_volume: T,
    vapour_pressure: T,
    /// 1/G.
    laminar: T,
    /// 1/K².
    turbulent: T,
    start_volume: T,
    /// Change of volume below which the slope is the tangent.
    small_volume: T,
    half_step: f64,
}

impl<T: Num> AccumulatorConstants<T> {
    /// Gas pressure and its slope at an oil volume within the stroke.
    #[inline(always)]
    fn gas(&self, volume: T) -> (T, T) {
        let gas = self.gas_volume - volume.clamp(T::zero(), self.full_volume);
        let pressure = self.precharge * (self.gas_volume / gas).powf(self.exponent);
        (pressure, self.exponent * pressure / gas)
    }

    /// Pressure and slope at any oil volume.
    #[inline]
    fn pressure(&self, volume: T) -> (T, T) {
        let (mut pressure, mut slope) = self.gas(volume);
        let (empty, full) = (volume.lt(T::zero()), volume.gt(self.full_volume));
        if (empty | full).any() {
            let k = self.stop_stiffness;
            let beyond = T::select(empty, volume, volume - self.full_volume);
            pressure = T::select(empty | full, pressure + k * beyond, pressure);
            slope = T::select(empty | full, k, slope);
            let vapour = volume.lt(self.vapour_volume);
            pressure = T::select(vapour, self.vapour_pressure, pressure);
            slope = T::select(vapour, T::zero(), slope);
        }
        (pressure, slope)
    }

    /// Resistance of the neck at a flow.
    #[inline(always)]
    fn resistance(&self, flow: T) -> T {
        self.laminar + self.turbulent * flow.abs()
    }

    /// Wave and impedance for the coming step: the secant of p(V) from the present volume to the one
    /// that the last flow leads to.
    #[inline]
    fn wave(&self, volume: T, flow: T) -> (T, T) {
        let (pressure, tangent) = self.pressure(volume);
        let change = flow * self.half_step;
        let (next, _) = self.pressure(volume + change);
        let large = change.abs().gt(self.small_volume);
        let slope = T::select(large, (next - pressure) / change, tangent);
        (pressure, slope * self.half_step)
    }
}

impl Physics for Accumulator {
    fn prepare(&self, environment: &Environment) -> Result<AccumulatorConstants<f64>, Refusal> {
        let fluid = environment.fluid;
        let full_volume = self.full_volume.unwrap_or(0.9 * self.gas_volume);
        if full_volume >= self.gas_volume {
            return Err(Refusal::new(
                "full_volume",
                format!(
                    "oil when full ({full_volume} m³) would leave no room for the gas ({} m³)",
                    self.gas_volume
                ),
                "give full_volume a smaller value than gas_volume",
            ));
        }
        if self.precharge <= fluid.vapour_pressure {
            return Err(Refusal::new(
                "precharge",
                format!(
                    "the precharge ({} Pa) is below the oil's vapour pressure ({} Pa)",
                    self.precharge, fluid.vapour_pressure
                ),
                "pressures are absolute: give at least 1 bar",
            ));
        }
        let orifice = self.inlet_diameter.map_or(0.0, |d| {
            let area = std::f64::consts::FRAC_PI_4 * d * d;
            fluid.density / (2.0 * (self.discharge * area).powi(2))
        });
        let stop_stiffness = fluid.bulk_modulus / self.residual_volume;
        let full_pressure = self.precharge
            * (self.gas_volume / (self.gas_volume - full_volume)).powf(self.exponent);
        let start =
            self.start_pressure.unwrap_or(environment.start_pressure).max(fluid.vapour_pressure);
        let start_volume = if start < self.precharge {
            (start - self.precharge) / stop_stiffness
        } else if start > full_pressure {
            full_volume + (start - full_pressure) / stop_stiffness
        } else {
            self.gas_volume * (1.0 - (self.precharge / start).powf(1.0 / self.exponent))
        };
        Ok(AccumulatorConstants {
            gas_volume: self.gas_volume,
            precharge: self.precharge,
            exponent: self.exponent,
            full_volume,
            full_pressure,
            stop_stiffness,
            vapour_volume: (fluid.vapour_pressure - self.precharge) / stop_stiffness,
            vapour_pressure: fluid.vapour_pressure,
            laminar: self.inlet_conductance.map_or(0.0, |g| 1.0 / g),
            turbulent: orifice,
            start_volume,
            small_volume: 1e-9 * self.gas_volume,
            half_step: 0.5 * environment.step,
        })
    }

    fn law<T: Num>(k: &AccumulatorConstants<T>, law: &mut Law<'_, T>) {
        let flow = law.flow[Self::PORT];
        let (pressure, _) = k.pressure(law.state[Self::OIL_VOLUME]);
        law.effort[Self::PORT] = pressure + k.resistance(flow) * flow;
        law.rate[Self::OIL_VOLUME] = flow;
        law.output[Self::GAS_PRESSURE] = k.gas(law.state[Self::OIL_VOLUME]).0;
    }

    fn show(k: &AccumulatorConstants<f64>, settle: &mut Settle<'_>) {
        let volume = settle.state[Self::OIL_VOLUME];
        settle.count(Self::STOPPED, volume < 0.0 || volume > k.full_volume);
        settle.count(Self::CAVITATED, volume < k.vapour_volume);
    }

    fn start<T: Num>(k: &AccumulatorConstants<T>, io: &mut Step<'_, T>) {
        io.set_state(Self::OIL_VOLUME, k.start_volume);
        let flow = io.flow(Self::PORT);
        let (pressure, impedance) = k.wave(k.start_volume, flow);
        io.set_memory(Self::MEAN_FLOW, flow.abs());
        io.start_effort(Self::PORT, pressure, impedance + k.resistance(flow));
        io.set_output(Self::GAS_PRESSURE, k.gas(k.start_volume).0);
    }

    // The state is the sum of T·q: half a step behind the trapezoidal volume that p belongs to, and
    // exactly the oil that has entered.
    #[inline]
    fn step<T: Num>(k: &AccumulatorConstants<T>, io: &mut Step<'_, T>) {
        let flow = io.flow(Self::PORT);
        let volume = io.state(Self::OIL_VOLUME) + flow * (2.0 * k.half_step);
        io.set_state(Self::OIL_VOLUME, volume);
        io.set_rate(Self::OIL_VOLUME, flow);
        // The mean of sizes, not the last flow: see the friction of lines.
        let mean = (io.memory(Self::MEAN_FLOW) + flow.abs()) * 0.5;
        io.set_memory(Self::MEAN_FLOW, mean);
        let (pressure, impedance) = k.wave(volume, flow);
        io.set_wave(Self::PORT, pressure, impedance + k.resistance(mean));
        io.set_output(Self::GAS_PRESSURE, k.gas(volume).0);
        let stopped = volume.lt(T::zero()) | volume.gt(k.full_volume);
        if stopped.any() {
            io.count(Self::STOPPED, stopped);
            io.count(Self::CAVITATED, volume.lt(k.vapour_volume));
        }
    }

    fn change_step<T: Num>(
        old: &AccumulatorConstants<T>,
        new: &AccumulatorConstants<T>,
        io: &mut Step<'_, T>,
    ) {
        let flow = io.flow(Self::PORT);
        let volume = io.state(Self::OIL_VOLUME) + flow * (old.half_step - new.half_step);
        io.set_state(Self::OIL_VOLUME, volume);
    }

    const ROLE: BalanceRole = BalanceRole::Storage;

    fn is_lossless(k: &AccumulatorConstants<f64>) -> bool {
        k.laminar == 0.0 && k.turbulent == 0.0
    }

    /// ∫ p dV from empty.
    fn energy<T: Num>(k: &AccumulatorConstants<T>, io: &Step<'_, T>) -> T {
        let volume = io.state(Self::OIL_VOLUME) + io.flow(Self::PORT) * k.half_step;
        let inside = volume.clamp(T::zero(), k.full_volume);
        let ratio = k.gas_volume / (k.gas_volume - inside);
        let excess = k.exponent - 1.0;
        let isothermal = excess.abs().lt(T::of(1e-9));
        let safe = T::select(isothermal, T::one(), excess);
        let work = T::select(isothermal, ratio.ln(), (ratio.powf(safe) - 1.0) / safe);
        let beyond = volume.max(k.vapour_volume) - inside;
        let stop = k.gas(volume).0 * beyond + k.stop_stiffness * beyond.squared() * 0.5;
        let void = (volume - k.vapour_volume).min(T::zero()) * k.vapour_pressure;
        k.precharge * k.gas_volume * work + stop + void
    }

    fn content<T: Num>(k: &AccumulatorConstants<T>, io: &Step<'_, T>) -> T {
        io.state(Self::OIL_VOLUME) + io.flow(Self::PORT) * (2.0 * k.half_step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::number::Lanes;
    use fluxline_core::testing::{Bench, Surroundings};

    fn accumulator() -> Accumulator {
        Accumulator {
            gas_volume: 1e-3,
            precharge: 50e5,
            exponent: 1.4,
            full_volume: None,
            residual_volume: 1e-5,
            inlet_diameter: None,
            discharge: 0.67,
            inlet_conductance: None,
            start_pressure: Some(80e5),
        }
    }

    fn bench(component: &Accumulator) -> Bench<Accumulator> {
        let mut bench = Bench::new(component, 1e-4);
        bench.start();
        bench
    }

    #[test]
    fn start_pressure_sets_the_fill() {
        // V = V₀·(1 − (p₀/p)^(1/n))
        let filled = 1e-3 * (1.0 - (50.0f64 / 80.0).powf(1.0 / 1.4));
        let bench_filled = bench(&accumulator());
        assert!((bench_filled.get_state(0) / filled - 1.0).abs() < 1e-12);
        assert!((bench_filled.effort(0) / 80e5 - 1.0).abs() < 1e-12);
        for start in [1e5, 30e5, 2000e5] {
            let other = bench(&Accumulator { start_pressure: Some(start), ..accumulator() });
            assert!((other.effort(0) / start - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn charging_follows_the_polytropic_law() {
        for exponent in [1.0, 1.4] {
            let mut bench = bench(&Accumulator { exponent, ..accumulator() });
            for n in 0..4000 {
                let flow = 1e-3 * (n as f64 * 2e-3).sin();
                bench.impose_flow(0, flow).step();
                bench.impose_flow(0, 1e-3 * ((n + 1) as f64 * 2e-3).sin());
                let oil = bench.get_state(0) + 0.5e-4 * bench.flow(0);
                let expected = 50e5 * (1e-3 / (1e-3 - oil)).powf(exponent);
                let pressure = bench.effort(0);
                assert!((pressure / expected - 1.0).abs() < 1e-6, "{n}: {pressure}");
            }
        }
    }

    #[test]
    fn oil_is_conserved_when_it_runs_empty_and_full() {
        let mut bench = bench(&accumulator());
        let start = bench.content();
        let mut entered = 0.0;
        let (mut lowest, mut highest) = (f64::INFINITY, 0f64);
        for n in 0..40_000 {
            // an orifice to a pressure that swings from vacuum to far beyond full
            let outside = 900e5 * (1.0 - (n as f64 * 2e-4).cos()) + 100.0;
            let bond = bench.state.bonds[0];
            let conductance = 0.67 * 50e-6 * (2.0 / 870.0f64).sqrt();
            let flow = fluxline_core::wave::turbulent_flow(
                conductance,
                outside - bond.wave,
                bond.impedance,
            );
            bench.impose_flow(0, flow);
            entered += flow * 1e-4;
            let error = bench.content() - start - entered;
            assert!(error.abs() < 1e-15, "{n}: {error}");
            lowest = lowest.min(bench.effort(0));
            highest = highest.max(bench.effort(0));
            bench.step();
        }
        assert!(lowest < 1e5 && highest > 1250e5, "{lowest} {highest}");
        assert!(bench.state.states[2 + Accumulator::STOPPED] > 0.0);
        assert!(bench.state.states[2 + Accumulator::CAVITATED] > 0.0);
    }

    #[test]
    fn work_done_on_the_oil_is_the_energy_stored() {
        for exponent in [1.0, 1.4] {
            let component = Accumulator { exponent, ..accumulator() };
            let mut bench = bench(&component);
            let start = bench.energy();
            let mut work = 0.0;
            let mut power = 0.0;
            for n in 1..=6000 {
                bench.step();
                bench.impose_flow(0, -1e-3 * (n as f64 * 1e-3).sin());
                let now = bench.effort(0) * bench.flow(0);
                work += 0.5e-4 * (power + now);
                power = now;
                let error = bench.energy() - start - work;
                // trapezoidal rule: (T·q)²·dp/dV per step
                assert!(error.abs() < 1e-5 * start, "{n}: {error}");
            }
        }
    }

    #[test]
    fn neck_takes_its_drop() {
        let mut bench = bench(&Accumulator {
            inlet_diameter: Some(4e-3),
            inlet_conductance: Some(1e-9),
            ..accumulator()
        });
        for _ in 0..200 {
            bench.impose_flow(0, 1e-4).step();
        }
        bench.impose_flow(0, 1e-4);
        let area = std::f64::consts::FRAC_PI_4 * 16e-6;
        let turbulent = 870.0 / 2.0 * (1e-4f64 / (0.67 * area)).powi(2);
        let oil = bench.get_state(0) + 0.5e-4 * 1e-4;
        let gas = 50e5 * (1e-3 / (1e-3 - oil)).powf(1.4);
        let drop = bench.effort(0) - gas;
        assert!((drop / (turbulent + 1e5) - 1.0).abs() < 1e-6, "{drop}");
    }

    #[test]
    fn impossible_accumulators_are_refused() {
        let place = Surroundings::of::<Accumulator>(1e-4);
        let full = Accumulator { full_volume: Some(2e-3), ..accumulator() };
        assert_eq!(Bench::within(&full, &place).err().unwrap().parameter, "full_volume");
        let vacuum = Accumulator { precharge: 100.0, ..accumulator() };
        assert_eq!(Bench::within(&vacuum, &place).err().unwrap().parameter, "precharge");
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let place = Surroundings::of::<Accumulator>(1e-4);
        let all: [Accumulator; 4] = std::array::from_fn(|lane| Accumulator {
            precharge: 30e5 + 10e5 * lane as f64,
            inlet_diameter: Some(5e-3),
            ..accumulator()
        });
        let mut lanes = Bench::lanes([&all[0], &all[1], &all[2], &all[3]], &place).unwrap();
        lanes.start();
        let mut scalars: Vec<_> = all.iter().map(bench).collect();
        for n in 0..2000 {
            let flow: [f64; 4] =
                std::array::from_fn(|lane| 2e-2 * (n as f64 * 0.01 + lane as f64).sin());
            lanes.impose_flow(0, Lanes(flow)).step();
            for (lane, scalar) in scalars.iter_mut().enumerate() {
                scalar.impose_flow(0, flow[lane]).step();
                assert_eq!(lanes.state.bonds[0].wave.0[lane], scalar.state.bonds[0].wave);
                assert_eq!(lanes.state.bonds[0].impedance.0[lane], scalar.state.bonds[0].impedance);
            }
        }
    }
}
