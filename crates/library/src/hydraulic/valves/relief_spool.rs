//! Relief valve with the motion of its spool.

use crate::hydraulic::flow::{Ends, Restriction, Size, opening};
use crate::stops::{hold_motion, settle_motion};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Dual, Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::PI;

/// Relief valve with a spool on a spring: for cases where its motion matters.
///
/// M·d²x/dt² = A·(Δp − p_c) − C·dx/dt − k·x,  0 ≤ x ≤ x_max,  q = C_d·w·x·√(2Δp/ρ)
///
/// A = π·d²/4; the flow area grows with the lift at the width w, π·d unless given. At a stop the
/// spool loses its velocity. No flow force. Pollmeier (thesis, University of Bath), 2.37–2.38 and
/// appendix D2; here the flow is not linearised: motion (trapezoidal rule), flow and line ends are
/// solved to convergence. Laminar at very small openings as `hydraulic.orifice`.
#[component("hydraulic.relief_valve_spool", q, constants = SpoolConstants)]
pub struct ReliefValveSpool {
    /// side that is protected
    #[port(also = "P1")]
    inlet: Hydraulic,
    /// side that is relieved to
    #[port(also = "P2")]
    outlet: Hydraulic,
    /// p_c — pressure drop at which it begins to open [Pa]
    #[input(default = "200 bar", min = "0 bar", also = "pref")]
    pub cracking_pressure: f64,
    /// d — diameter of the spool [m]
    #[parameter(default = "10 mm", min = ">0 mm", also = "Dv")]
    pub diameter: f64,
    /// k — stiffness of the spring [N/m]
    #[parameter(default = "50 kN/m", min = ">0 N/m", also = "ks")]
    pub stiffness: f64,
    /// M — moving mass [kg]
    #[parameter(min = ">0 kg", also = "Mv")]
    pub mass: Option<f64>,
    /// ω — natural frequency √(k/M), in place of the mass [rad/s]
    #[parameter(min = ">0 rad/s")]
    pub natural_frequency: Option<f64>,
    /// ζ — damping ratio C/(2·√(k·M)) [–]
    #[parameter(default = 0.7, min = 0)]
    pub damping_ratio: f64,
    /// x_max — stroke [m]
    #[parameter(default = "1 mm", min = ">0 mm", also = "Xvmax")]
    pub stroke: f64,
    /// w — flow area per lift; π·d when not given [m]
    #[parameter(min = ">0 mm")]
    pub width: Option<f64>,
    /// C_d — discharge coefficient when turbulent [–]
    #[parameter(default = 0.67, min = ">0", max = 1, also = "Cq")]
    pub discharge: f64,
    /// Re_tr — Reynolds number of the transition to turbulence [–]
    #[parameter(default = 1000, min = ">0")]
    pub transition_reynolds: f64,
    /// x — lift [m]
    #[state]
    lift: State,
    /// v — velocity of the spool [m/s]
    #[state]
    velocity: State,
    /// x/x_max — opening [–]
    #[output(also = "xv")]
    opening: Output,
    /// – — steps at full stroke [–]
    #[memory(counts = "limit")]
    stopped: Memory,
}

/// Constants of [`ReliefValveSpool`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct SpoolConstants<T> {
    restriction: Restriction<T>,
    stroke: T,
    per_stroke: T,
    /// A/M, k/M, C/M.
    area: T,
    stiffness: T,
    damping: T,
    /// 1/(1 + T/2·C/M + T²/4·k/M).
    inertia: T,
    half_step: f64,
}

impl<T: Num> SpoolConstants<T> {
    #[inline(always)]
    fn acceleration(&self, drop: T, cracking: T, lift: T, velocity: T) -> T {
        self.area * (drop - cracking) - self.damping * velocity - self.stiffness * lift
    }
}

impl Physics for ReliefValveSpool {
    fn prepare(&self, environment: &Environment) -> Result<SpoolConstants<f64>, Refusal> {
        let k = self.stiffness;
        let mass = match (self.mass, self.natural_frequency) {
            (Some(mass), None) => mass,
            (None, Some(omega)) => k / (omega * omega),
            (None, None) => {
                return Err(Refusal::new(
                    "mass",
                    "the spool has neither a mass nor a natural frequency",
                    "give mass, or natural_frequency = √(stiffness/mass)",
                ));
            }
            (Some(mass), Some(omega)) => {
                return Err(Refusal::new(
                    "natural_frequency",
                    format!("the inertia is given twice: {mass} kg and {omega} rad/s"),
                    "keep mass or natural_frequency",
                ));
            }
        };
        let size = Size {
            area: Some(self.width.unwrap_or(PI * self.diameter) * self.stroke),
            discharge: self.discharge,
            transition_reynolds: self.transition_reynolds,
            ..Size::default()
        };
        let half_step = 0.5 * environment.step;
        let (stiffness, damping) = (k / mass, 2.0 * self.damping_ratio * (k / mass).sqrt());
        Ok(SpoolConstants {
            restriction: size.restriction(environment.fluid, |_| Ok(1.0))?,
            stroke: self.stroke,
            per_stroke: 1.0 / self.stroke,
            area: 0.25 * PI * self.diameter * self.diameter / mass,
            stiffness,
            damping,
            inertia: 1.0 / (1.0 + half_step * damping + half_step * half_step * stiffness),
            half_step,
        })
    }

    fn law<T: Num>(k: &SpoolConstants<T>, law: &mut Law<'_, T>) {
        let viscosity = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let drop = law.effort[Self::INLET] - law.effort[Self::OUTLET];
        let cracking = law.input[Self::CRACKING_PRESSURE].max(T::zero());
        let (x, v) = (law.state[Self::LIFT], law.state[Self::VELOCITY]);
        let a = k.acceleration(drop, cracking, x.clamp(T::zero(), k.stroke), v);
        // Pressed against a stop: what velocity is left dies out ten times faster than the spring
        // could turn it.
        let fade = k.stiffness.sqrt() * 10.0;
        (law.rate[Self::LIFT], law.rate[Self::VELOCITY]) =
            hold_motion(x, v, a, (T::zero(), k.stroke), fade);
        let share = opening(x * k.per_stroke);
        let through = k.restriction.flow(share, drop, viscosity);
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
        law.output[Self::OPENING] = share;
    }

    fn settles(_: &SpoolConstants<f64>) -> bool {
        true
    }

    fn settle(k: &SpoolConstants<f64>, settle: &mut Settle<'_>) {
        settle_motion(settle.state, [Self::LIFT, Self::VELOCITY], (0.0, k.stroke));
    }

    fn show(k: &SpoolConstants<f64>, settle: &mut Settle<'_>) {
        settle.count(Self::STOPPED, settle.state[Self::LIFT] >= k.stroke);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &SpoolConstants<T>, io: &mut Step<'_, T>) {
        let ends = Ends::of(io, Self::INLET, Self::OUTLET);
        let cracking = io.input(Self::CRACKING_PRESSURE).max(T::zero());
        let (old_x, old_v, old_a) =
            (io.state(Self::LIFT), io.state(Self::VELOCITY), io.rate(Self::VELOCITY));
        // v = v_rest + v_gain·Δp and x = x₀ + T/2·(v₀ + v), from the trapezoidal rule
        let coast = old_x + old_v * k.half_step;
        let push = -(k.area * cracking) - k.stiffness * coast;
        let v_rest = (old_v + (old_a + push) * k.half_step) * k.inertia;
        let v_gain = k.area * k.inertia * k.half_step;
        let (rest, gain) = (coast + v_rest * k.half_step, v_gain * k.half_step);
        let lift = &mut Dual::constant;
        let edge = k.restriction.map(lift);
        let (share_rest, share_gain) = (lift(rest * k.per_stroke), lift(gain * k.per_stroke));
        let viscosity = Dual::constant(ends.viscosity);
        let drop = ends.drop(io.flow(Self::OUTLET), |drop| {
            edge.flow(opening(share_gain * drop + share_rest), drop, viscosity)
        });
        let mut x = rest + gain * drop;
        let mut v = v_rest + v_gain * drop;
        let mut a = k.acceleration(drop, cracking, x, v);
        let (low, high) = (x.lt(T::zero()), x.gt(k.stroke));
        if (low | high).any() {
            let held = low | high;
            x = x.clamp(T::zero(), k.stroke);
            v = T::select(held, T::zero(), v);
            a = T::select(held, T::zero(), a);
            io.count(Self::STOPPED, high);
        }
        let share = opening(x * k.per_stroke);
        let through = k.restriction.flow(share, drop, ends.viscosity);
        io.set_flow(Self::INLET, -through);
        io.set_flow(Self::OUTLET, through);
        io.set_state(Self::LIFT, x);
        io.set_state(Self::VELOCITY, v);
        io.set_rate(Self::LIFT, v);
        io.set_rate(Self::VELOCITY, a);
        io.set_output(Self::OPENING, share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    type Spool = ReliefValveSpool;

    fn spool() -> Spool {
        Spool { mass: Some(0.05), ..declared() }
    }

    fn bench(spool: &Spool, step: f64, cracking: f64) -> Bench<Spool> {
        let mut bench = Bench::new(spool, step);
        bench.input(Spool::CRACKING_PRESSURE, cracking);
        bench
    }

    #[test]
    fn steady_lift_balances_the_spring_and_flow_is_the_formula() {
        let mut bench = bench(&spool(), 1e-4, 120e5);
        // a soft line end: the valve pulls its own inlet down
        bench.line(0, 140e5, 1e9).line(1, 2e5, 1e7);
        for _ in 0..2000 {
            bench.step();
        }
        let drop = bench.effort(0) - bench.effort(1);
        let area = PI * 25e-6;
        let lift = area * (drop - 120e5) / 50e3;
        assert!((bench.get_state(Spool::LIFT) / lift - 1.0).abs() < 1e-9);
        let flow = 0.67 * PI * 0.01 * lift * (2.0 * drop / 870.0).sqrt();
        assert!((bench.flow(1) / flow - 1.0).abs() < 1e-9);
    }

    /// x(t) of a damped mass on a spring after a step of pressure; second order in the step.
    #[test]
    fn lift_answers_a_pressure_step_as_a_damped_spring() {
        let error = |step: f64| {
            let valve = Spool { damping_ratio: 0.5, stroke: 5e-3, ..spool() };
            let mut bench = bench(&valve, step, 120e5);
            bench.line(0, 123e5, 0.0).line(1, 0.0, 0.0);
            let area = PI * 25e-6;
            bench.set_state(2 + Spool::VELOCITY, area * 3e5 / 0.05);
            let t: f64 = 2e-3;
            for _ in 0..(t / step).round() as usize {
                bench.step();
            }
            let (omega, zeta) = (1e3, 0.5f64);
            let damped = omega * (1.0 - zeta * zeta).sqrt();
            let swing = (damped * t).cos() + zeta * omega / damped * (damped * t).sin();
            let exact = area * 3e5 / 50e3 * (1.0 - (-zeta * omega * t).exp() * swing);
            (bench.get_state(Spool::LIFT) - exact) / exact
        };
        let (coarse, fine) = (error(1e-4), error(5e-5));
        assert!(coarse.abs() < 1e-3, "{coarse}");
        assert!((coarse / fine - 4.0).abs() < 0.1, "{coarse} {fine}");
    }

    #[test]
    fn natural_frequency_stands_for_the_mass() {
        let by_frequency = Spool { mass: None, natural_frequency: Some(1000.0), ..spool() };
        let (mut a, mut b) = (bench(&spool(), 1e-4, 1e7), bench(&by_frequency, 1e-4, 1e7));
        for bench in [&mut a, &mut b] {
            bench.line(0, 120e5, 1e8).step().step();
        }
        assert!((a.flow(1) / b.flow(1) - 1.0).abs() < 1e-12);
        let around = Surroundings::of::<Spool>(1e-4);
        let both = Spool { natural_frequency: Some(10.0), ..spool() };
        assert!(Bench::within(&both, &around).is_err());
        assert!(Bench::within(&declared::<Spool>(), &around).is_err());
    }

    #[test]
    fn spool_rests_on_its_seat_below_cracking_and_on_its_stop_far_above() {
        let mut bench = bench(&spool(), 1e-4, 120e5);
        bench.line(0, 119e5, 1e8).line(1, 0.0, 0.0);
        for _ in 0..10 {
            bench.step();
        }
        assert_eq!((bench.flow(1), bench.get_state(Spool::LIFT)), (0.0, 0.0));
        bench.line(0, 400e5, 0.0);
        for _ in 0..100 {
            bench.step();
        }
        assert_eq!(bench.output(Spool::OPENING), 1.0);
        assert!(bench.state.states[4 + Spool::STOPPED] > 0.0);
    }

    #[test]
    fn lanes_are_scalars() {
        let one = spool();
        lanes_give_the_bits_of_scalars([&one; 4], &[(50e5, 150e5)], (0.0, 200e5));
    }

    proptest! {
        #[test]
        fn own_step_equals_the_generic_step(
            c1 in 125e5..200e5f64, z1 in 0.0..1e9f64, z2 in 0.0..1e9f64, x in 0.2e-3..0.6e-3f64, v in -0.5..0.5f64,
        ) {
            agrees_with_the_generic_step(|| {
                let mut bench = bench(&spool(), 1e-4, 120e5);
                bench.line(0, c1, z1).line(1, 2e5, z2);
                bench.set_state(Spool::LIFT, x).set_state(Spool::VELOCITY, v).set_state(2 + Spool::LIFT, v);
                bench
            }, 1e-8)?;
        }
    }
}
