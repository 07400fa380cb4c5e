//! Piston with its load.

use crate::stops::{hold_motion, settle_motion};
use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::{Constants, component};
use std::f64::consts::PI;

/// Single-acting piston with mass, spring and viscous friction, on a volume that does not grow with
/// its stroke: plungers, pilot spools, drives with short strokes.
///
/// m·dv/dt = A·(p − p_amb) − b·v − k·x − F_load,  dx/dt = v,  q = A·v,  0 ≤ x ≤ s
///
/// The oil it sweeps comes from the volume it is connected to. Where the stroke matters for the
/// stiffness of the oil use `hydraulic.single_acting_cylinder`. At a stop the piston loses its
/// velocity. Trapezoidal rule, solved with the line end in closed form. Åman (thesis, Lappeenranta
/// University of Technology, 2011), 3.6–3.9.
#[component("hydraulic.piston", q, constants = PistonConstants)]
pub struct Piston {
    /// oil that pushes it
    #[port]
    port: Hydraulic,
    /// F_load — force against positive motion [N]
    #[input(default = "0 N")]
    pub load: f64,
    /// D — diameter [m]
    #[parameter(default = "50 mm", min = ">0 mm")]
    pub diameter: f64,
    /// m — moving mass [kg]
    #[parameter(default = "10 kg", min = ">0 kg")]
    pub mass: f64,
    /// b — viscous friction [N*s/m]
    #[parameter(default = "0 N*s/m", min = "0 N*s/m")]
    pub viscous_friction: f64,
    /// k — stiffness of the spring, relaxed at x = 0 [N/m]
    #[parameter(default = "0 N/m", min = "0 N/m")]
    pub spring_stiffness: f64,
    /// p_amb — pressure on the other side, absolute [Pa]
    #[parameter(default = "1.01325 bar", min = "0 bar")]
    pub ambient_pressure: f64,
    /// s — stroke; unlimited when not given [m]
    #[parameter(min = ">0 mm")]
    pub stroke: Option<f64>,
    /// x₀ — position at the start [m]
    #[parameter(default = "0 m", min = "0 m")]
    pub start_position: f64,
    /// x — position [m]
    #[state(start = "start_position")]
    x: State,
    /// v — velocity [m/s]
    #[state]
    v: State,
    /// – — steps at a stop [–]
    #[memory(counts = "limit")]
    stopped: Memory,
}

/// Rate at which velocity against a stop dies out, 1/s.
const FADE: f64 = 1e3;

/// Constants of [`Piston`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct PistonConstants<T> {
    area: T,
    inverse_mass: T,
    friction: T,
    stiffness: T,
    ambient: T,
    stroke: T,
    half_step: f64,
}

impl<T: Num> PistonConstants<T> {
    #[inline(always)]
    fn acceleration(&self, pressure: T, load: T, x: T, v: T) -> T {
        let force = self.area * (pressure - self.ambient) - load;
        (force - self.friction * v - self.stiffness * x) * self.inverse_mass
    }
}

impl Physics for Piston {
    fn prepare(&self, environment: &Environment) -> Result<PistonConstants<f64>, Refusal> {
        let stroke = self.stroke.unwrap_or(1e300);
        if self.start_position > stroke {
            return Err(Refusal::new(
                "start_position",
                format!(
                    "the piston starts at {} m, beyond its stroke of {stroke} m",
                    self.start_position
                ),
                "give a start_position between 0 and stroke",
            ));
        }
        Ok(PistonConstants {
            area: 0.25 * PI * self.diameter * self.diameter,
            inverse_mass: 1.0 / self.mass,
            friction: self.viscous_friction,
            stiffness: self.spring_stiffness,
            ambient: self.ambient_pressure,
            stroke,
            half_step: 0.5 * environment.step,
        })
    }

    fn law<T: Num>(k: &PistonConstants<T>, law: &mut Law<'_, T>) {
        let zero = T::zero();
        let (x, v) = (law.state[Self::X], law.state[Self::V]);
        let a = k.acceleration(law.effort[Self::PORT], law.input[Self::LOAD], x, v);
        // what velocity is left at a stop fades faster than anything else moves here
        let fade = k.friction * k.inverse_mass + FADE;
        let (v, a) = hold_motion(x, v, a, (zero, k.stroke), fade);
        law.rate[Self::X] = v;
        law.rate[Self::V] = a;
        law.flow[Self::PORT] = -(k.area * v);
    }

    fn settles(_: &PistonConstants<f64>) -> bool {
        true
    }

    fn settle(k: &PistonConstants<f64>, settle: &mut Settle<'_>) {
        settle_motion(settle.state, [Self::X, Self::V], (0.0, k.stroke));
    }

    #[inline]
    fn step<T: Num>(k: &PistonConstants<T>, io: &mut Step<'_, T>) {
        let (old_x, old_v, h) = (io.state(Self::X), io.state(Self::V), k.half_step);
        let (wave, impedance) = (io.wave(Self::PORT), io.impedance(Self::PORT));
        let load = io.input(Self::LOAD);
        // p = c − Z·A·v and x = x₀ + T/2·(v₀ + v): all forces are linear in v
        let coast = old_x + old_v * h;
        let push = io.rate(Self::V) + k.acceleration(wave, load, coast, T::zero());
        let drag = k.friction + k.area * k.area * impedance + k.stiffness * h;
        let mut v = (old_v + push * h) / (drag * k.inverse_mass * h + 1.0);
        let mut x = coast + v * h;
        let mut a = k.acceleration(wave - impedance * k.area * v, load, x, v);
        let stopped = x.lt(T::zero()) | x.gt(k.stroke);
        if stopped.any() {
            x = x.clamp(T::zero(), k.stroke);
            v = T::select(stopped, T::zero(), v);
            a = T::select(stopped, T::zero(), a);
            io.count(Self::STOPPED, stopped);
        }
        io.set_flow(Self::PORT, -(k.area * v));
        io.set_state(Self::X, x);
        io.set_state(Self::V, v);
        io.set_rate(Self::X, v);
        io.set_rate(Self::V, a);
    }

    /// What it sweeps leaves the volume it is connected to.
    const ROLE: BalanceRole = BalanceRole::Boundary;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    fn piston() -> Piston {
        Piston {
            diameter: 0.06,
            mass: 50.0,
            viscous_friction: 300.0,
            spring_stiffness: 2e5,
            ambient_pressure: 0.0,
            ..declared()
        }
    }

    /// Constant pressure: x = F/k·(1 − e^(−δt)·(cos ωt + δ/ω·sin ωt)), δ = b/2m, ω² = k/m − δ². The
    /// trapezoidal rule errs with the square of the step.
    #[test]
    fn step_response_is_that_of_a_damped_oscillator_with_order_two() {
        let (pressure, area) = (20e5, 0.25 * PI * 0.06f64.powi(2));
        let delta: f64 = 300.0 / 100.0;
        let omega = (2e5 / 50.0 - delta * delta).sqrt();
        let error = |step: f64| {
            let mut bench = Bench::new(&piston(), step);
            bench.line(0, pressure, 0.0).settle();
            let mut worst = 0.0f64;
            for n in 1..=(0.1 / step).round() as usize {
                bench.step();
                let t = n as f64 * step;
                let swing = (omega * t).cos() + delta / omega * (omega * t).sin();
                let exact = pressure * area / 2e5 * (1.0 - (-delta * t).exp() * swing);
                worst = worst.max((bench.get_state(Piston::X) - exact).abs());
                assert_eq!(bench.flow(0), -area * bench.get_state(Piston::V));
            }
            worst
        };
        let (coarse, fine) = (error(1e-4), error(5e-5));
        assert!(((coarse / fine).log2() - 2.0).abs() < 0.02, "{coarse} {fine}");
        // (ω·T)²/12 of the phase, of an amplitude of 28 mm, over ω·t = 6.3
        assert!(fine < 0.03 * 6.3 * (omega * 5e-5).powi(2) / 12.0);
    }

    #[test]
    fn piston_stops_at_both_ends_and_takes_no_oil_there() {
        let mut bench = Bench::new(&Piston { stroke: Some(0.01), ..piston() }, 1e-4);
        bench.line(0, 100e5, 0.0);
        for _ in 0..2000 {
            bench.step();
        }
        assert_eq!((bench.get_state(Piston::X), bench.flow(0)), (0.01, 0.0));
        bench.line(0, 0.0, 0.0).input(0, 100.0);
        for _ in 0..20_000 {
            bench.step();
        }
        assert_eq!((bench.get_state(Piston::X), bench.flow(0)), (0.0, 0.0));
    }

    #[test]
    fn a_start_beyond_the_stroke_is_refused() {
        let far = Piston { stroke: Some(0.01), start_position: 0.02, ..piston() };
        let around = Surroundings::of::<Piston>(1e-4);
        assert_eq!(Bench::within(&far, &around).err().unwrap().parameter, "start_position");
    }

    #[test]
    fn lanes_are_scalars() {
        let one = Piston { stroke: Some(1e-3), ..piston() };
        lanes_give_the_bits_of_scalars([&one; 4], &[(-1e3, 1e3)], (0.0, 50e5));
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_generic_step(
            c in 0.0..100e5f64, z in 0.0..1e10f64, x in 0.001..0.1f64, v in -0.5..0.5f64,
            a in -10.0..10.0f64, load in -1e3..1e3f64,
        ) {
            agrees_with_the_generic_step(|| {
                let mut bench = Bench::new(&piston(), 1e-4);
                bench.line(0, c, z).input(0, load);
                bench.set_state(0, x).set_state(1, v).set_state(2, v).set_state(3, a);
                bench
            }, 1e-9)?;
        }
    }
}
