//! Pressure sensors.

use fluxline_core::component::{Environment, Law, NoConstants, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

/// Pressure sensor: looks at a connection without taking part in it.
///
/// T_s·dy/dt = p − y,  y = p without lag
#[component("hydraulic.pressure_sensor", s, constants = SensorConstants, also = "hopsan:HydraulicPressureSensor")]
pub struct PressureSensor {
    /// the connection to look at
    #[port(observes, also = "P1")]
    port: Hydraulic,
    /// T_s — time constant, 0 for none [s]
    #[parameter(default = "0 s", min = "0 s")]
    pub time_constant: f64,
    /// y — filtered pressure [Pa]
    #[state]
    filtered: State,
    /// y — measured pressure, absolute [Pa]
    #[output]
    out: Output,
}

/// Constants of [`PressureSensor`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct SensorConstants<T> {
    /// 1/T_s, 0 without lag.
    rate: T,
    half_step: f64,
    has_lag: bool,
}

impl Physics for PressureSensor {
    fn prepare(&self, environment: &Environment) -> Result<SensorConstants<f64>, Refusal> {
        let has_lag = self.time_constant > 0.0;
        Ok(SensorConstants {
            rate: if has_lag { 1.0 / self.time_constant } else { 0.0 },
            half_step: 0.5 * environment.step,
            has_lag,
        })
    }

    fn law<T: Num>(k: &SensorConstants<T>, law: &mut Law<'_, T>) {
        let (pressure, filtered) = (law.effort[Self::PORT], law.state[Self::FILTERED]);
        law.rate[Self::FILTERED] = (pressure - filtered) * k.rate;
        law.output[Self::OUT] = if k.has_lag { filtered } else { pressure };
    }

    fn show(k: &SensorConstants<f64>, settle: &mut Settle<'_>) {
        if !k.has_lag {
            settle.state[Self::FILTERED] = settle.effort[Self::PORT];
        }
    }

    fn start<T: Num>(_: &SensorConstants<T>, io: &mut Step<'_, T>) {
        let pressure = io.effort(Self::PORT);
        io.set_state(Self::FILTERED, pressure);
        io.set_output(Self::OUT, pressure);
    }

    #[inline]
    fn step<T: Num>(k: &SensorConstants<T>, io: &mut Step<'_, T>) {
        let pressure = io.effort(Self::PORT);
        if !k.has_lag {
            io.set_state(Self::FILTERED, pressure);
            io.set_output(Self::OUT, pressure);
            return;
        }
        let x = k.rate * k.half_step;
        let old = io.state(Self::FILTERED) + io.rate(Self::FILTERED) * k.half_step;
        let filtered = (old + x * pressure) / (x + 1.0);
        io.set_state(Self::FILTERED, filtered);
        io.set_rate(Self::FILTERED, (pressure - filtered) * k.rate);
        io.set_output(Self::OUT, filtered);
    }
}

/// Difference of the pressures at two connections.
///
/// y = p_a − p_b
#[component(
    "hydraulic.differential_pressure_sensor",
    s,
    also = "hopsan:HydraulicDifferentialPressureSensor"
)]
pub struct DifferentialPressureSensor {
    /// the connection whose pressure counts
    #[port(observes, also = "P1")]
    a: Hydraulic,
    /// the connection whose pressure is taken off
    #[port(observes, also = "P2")]
    b: Hydraulic,
    /// y — pressure difference [Pa]
    #[output]
    out: Output,
}

impl Physics for DifferentialPressureSensor {
    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }
    fn law<T: Num>(_: &NoConstants<T>, law: &mut Law<'_, T>) {
        law.output[Self::OUT] = law.effort[Self::A] - law.effort[Self::B];
    }
    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }
    #[inline]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let difference = io.effort(Self::A) - io.effort(Self::B);
        io.set_output(Self::OUT, difference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::number::Lanes;
    use fluxline_core::testing::{Bench, Surroundings};

    #[test]
    fn sensor_without_lag_shows_the_pressure_and_leaves_the_line_alone() {
        let mut bench = Bench::new(&PressureSensor { time_constant: 0.0 }, 1e-3);
        bench.line(0, 100e5, 1e9).impose_flow(0, 1e-4);
        let before = bench.state.bonds[0];
        bench.step();
        assert_eq!(bench.output(0), 100e5 + 1e9 * 1e-4);
        assert_eq!(bench.state.bonds[0], before);
    }

    #[test]
    fn lag_is_of_first_order() {
        let mut bench = Bench::new(&PressureSensor { time_constant: 0.05 }, 1e-4);
        bench.start();
        bench.line(0, 100e5, 0.0).impose_flow(0, 0.0);
        // from the instant of the step on
        bench.set_state(1, 100e5 / 0.05);
        for _ in 0..1000 {
            bench.step();
        }
        // trapezoidal rule: (T/T_s)²/12 of the time in time constants
        let expected = 100e5 * (1.0 - (-2.0f64).exp());
        assert!((bench.output(0) / expected - 1.0).abs() < 1e-6);
    }

    #[test]
    fn difference_counts_from_a_to_b() {
        let mut bench = Bench::new(&DifferentialPressureSensor {}, 1e-3);
        bench.line(0, 30e5, 0.0).impose_flow(0, 0.0);
        bench.line(1, 10e5, 0.0).impose_flow(1, 0.0).step();
        assert_eq!(bench.output(0), 20e5);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let place = Surroundings::of::<PressureSensor>(1e-4);
        let all: [PressureSensor; 4] = std::array::from_fn(|lane| PressureSensor {
            time_constant: 0.01 + 0.003 * lane as f64,
        });
        let mut lanes = Bench::lanes([&all[0], &all[1], &all[2], &all[3]], &place).unwrap();
        let mut scalars: Vec<_> = all.iter().map(|s| Bench::within(s, &place).unwrap()).collect();
        for n in 0..100 {
            let pressure: [f64; 4] =
                std::array::from_fn(|lane| 1e6 * (n as f64 + lane as f64).sin());
            lanes.line(0, Lanes(pressure), Lanes([0.0; 4]));
            lanes.impose_flow(0, Lanes([0.0; 4])).step();
            for (lane, scalar) in scalars.iter_mut().enumerate() {
                scalar.line(0, pressure[lane], 0.0).impose_flow(0, 0.0).step();
                assert_eq!(lanes.output(0).0[lane], scalar.output(0));
            }
        }
    }
}
