//! Two-way flow control valve.

use crate::hydraulic::flow::{FlowLaw, Size, bar, increasing_root};
use crate::stops::{hold_motion, hold_rate, settle_motion, settle_rate};
use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// Two-way flow control valve: a pressure compensator and an electrically set throttle in series.
///
/// Q₁ = K·√(p_in − p₁),  Q_t = k_t·√(p₁ − p_out),  V/β·dp₁/dt = Q₁ − Q_t
///
/// C₃·dK/dt = C₅ − (p₁ − p_out) − (C₁ + C₂·(p_in − p₁))·K,  0 ≤ K ≤ K_max
///
/// d²k_t/dt² = C₇²·(C₆·(U − C₉) − k_t) − 2·C₈·C₇·dk_t/dt,  k_t ≥ k_min
///
/// Semi-empirical (Handroos and Vilenius): Malysheva (thesis, LUT University, 2021), 2.22–2.27 and
/// Tables 2.2, 2.3, which give the defaults; Åman (thesis, Lappeenranta University of Technology,
/// 2011), 3.13 and 3.20. Flow is signed and by default laminar at small drops as
/// `hydraulic.orifice`. Without a chamber volume V the pressure p₁ between the two is that of equal
/// flows (Åman's reduced model). All is solved together with the line ends in one unknown, p₁: the
/// throttle and the compensator by the trapezoidal rule, the chamber, which may be as small and
/// stiff as one likes, by the backward difference of second order, which does not ring.
#[component("hydraulic.flow_control_valve", q, constants = FlowControlConstants)]
pub struct FlowControlValve {
    /// supply
    #[port(also = "P1")]
    inlet: Hydraulic,
    /// controlled flow
    #[port(also = "P2")]
    outlet: Hydraulic,
    /// U — signal that sets the throttle, volts in the published data [–]
    #[input(default = 5)]
    pub signal: f64,
    /// C₆ — flow coefficient of the throttle per signal [m^3/(s*sqrt(Pa))]
    #[parameter(default = "5.26e-7 m^3/(s*sqrt(Pa))", min = ">0 m^3/(s*sqrt(Pa))")]
    pub throttle_gain: f64,
    /// C₉ — signal at which the throttle begins to open [–]
    #[parameter(default = 1.2)]
    pub dead_band: f64,
    /// k_min — smallest flow coefficient of the throttle [m^3/(s*sqrt(Pa))]
    #[parameter(default = "1e-7 m^3/(s*sqrt(Pa))", min = ">0 m^3/(s*sqrt(Pa))")]
    pub min_throttle: f64,
    /// C₇ — natural frequency of the throttle [rad/s]
    #[parameter(default = "200 rad/s", min = ">0 rad/s")]
    pub natural_frequency: f64,
    /// C₈ — damping ratio of the throttle [–]
    #[parameter(default = 0.45, min = 0)]
    pub damping_ratio: f64,
    /// C₅ — pressure difference over the throttle that the spring holds [Pa]
    #[parameter(default = "10.2 bar", min = ">0 bar")]
    pub pressure_difference: f64,
    /// C₁ — spring rate of the compensator per flow coefficient [Pa/(m^3/(s*sqrt(Pa)))]
    #[parameter(default = "4.65e7 Pa/(m^3/(s*sqrt(Pa)))")]
    pub spring_rate: f64,
    /// C₂ — flow force of the compensator per flow coefficient and pressure drop [1/(m^3/(s*sqrt(Pa)))]
    #[parameter(default = "-1.79e4 1/(m^3/(s*sqrt(Pa)))")]
    pub flow_force: f64,
    /// C₃ — damping of the compensator per rate of its flow coefficient [Pa*s/(m^3/(s*sqrt(Pa)))]
    #[parameter(default = "4e11 Pa*s/(m^3/(s*sqrt(Pa)))", min = ">0 Pa*s/(m^3/(s*sqrt(Pa)))")]
    pub compensator_damping: f64,
    /// K_max — flow coefficient of the fully open compensator [m^3/(s*sqrt(Pa))]
    #[parameter(default = "1e-6 m^3/(s*sqrt(Pa))", min = ">0 m^3/(s*sqrt(Pa))")]
    pub max_compensator: f64,
    /// V — oil between compensator and throttle; none solves for equal flows [m^3]
    #[parameter(default = "0 cm^3", min = "0 cm^3")]
    pub chamber_volume: f64,
    /// p₁₀ — pressure between compensator and throttle at the start [Pa]
    #[parameter(default = "10.2 bar", min = "0 bar")]
    pub start_chamber_pressure: f64,
    /// K₀ — flow coefficient of the compensator at the start [m^3/(s*sqrt(Pa))]
    #[parameter(default = "5e-11 m^3/(s*sqrt(Pa))", min = "0 m^3/(s*sqrt(Pa))")]
    pub start_compensator: f64,
    /// C_d — discharge coefficient when turbulent [–]
    #[parameter(default = 0.6, min = ">0", max = 1)]
    pub discharge: f64,
    /// Re_tr — Reynolds number of the transition to turbulence [–]
    #[parameter(default = 1000, min = ">0")]
    pub transition_reynolds: f64,
    /// – — flow below the transition to turbulence [–]
    #[parameter(default = "two_regime")]
    pub law: FlowLaw,
    /// p₁ — pressure between compensator and throttle, with a chamber volume [Pa]
    #[state(start = "start_chamber_pressure")]
    chamber: State,
    /// K — flow coefficient of the compensator [m^3/(s*sqrt(Pa))]
    #[state(start = "start_compensator")]
    compensator: State,
    /// k_t — flow coefficient of the throttle [m^3/(s*sqrt(Pa))]
    #[state(start = "min_throttle")]
    throttle: State,
    /// dk_t/dt — rate of the flow coefficient of the throttle [m^3/(s^2*sqrt(Pa))]
    #[state]
    throttle_rate: State,
    /// p₁ — pressure between compensator and throttle [Pa]
    #[output]
    chamber_pressure: Output,
    /// q — flow out of the valve [m^3/s]
    #[output]
    flow: Output,
    /// p₁ — pressure of the chamber one step before [Pa]
    #[memory(start = "start_chamber_pressure")]
    previous: Memory,
}

/// Constants of [`FlowControlValve`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct FlowControlConstants<T> {
    law: FlowLaw,
    /// K·Δp₀/ν².
    transition: T,
    throttle_gain: T,
    dead_band: T,
    min_throttle: T,
    /// C₇², 2·C₈·C₇ and 1/(1 + T/2·2·C₈·C₇ + T²/4·C₇²).
    stiffness: T,
    damping: T,
    inertia: T,
    /// C₅, C₁, C₂ over C₃.
    setting: T,
    spring: T,
    flow_force: T,
    per_damping: T,
    max_compensator: T,
    /// V.
    volume: T,
    /// V/β, its inverse (0 without volume), and 3/(2T) of it.
    capacitance: T,
    per_capacitance: T,
    storing: T,
    half_step: f64,
    has_volume: bool,
}

/// What follows from a chamber pressure.
struct Flows<T> {
    inlet: T,
    outlet: T,
    compensator: T,
    /// Not held between its limits.
    free_compensator: T,
    /// Inlet flow that the chamber needs less what the compensator passes.
    surplus: T,
    inlet_drop: T,
    outlet_drop: T,
}

/// Line ends, the throttle, and what the last step left behind.
#[derive(Clone, Copy, Constants)]
struct Known<T> {
    inlet: [T; 2],
    outlet: [T; 2],
    critical: T,
    throttle: T,
    /// K₀ + T/2·dK₀/dt.
    compensator: T,
    /// (4·p₁₀ − p₁₀₀)/3: where the chamber would stand if nothing flowed.
    chamber: T,
}

impl<T: Num> FlowControlConstants<T> {
    /// All flows for a chamber pressure: outflow by the throttle, inflow by the balance of the
    /// chamber, K by its own equation, and what the compensator then passes.
    #[inline(always)]
    fn flows(&self, known: &Known<T>, pressure: T) -> Flows<T> {
        let ([c_in, z_in], [c_out, z_out]) = (known.inlet, known.outlet);
        let critical = known.critical;
        let outlet = self.law.flow_through(known.throttle, critical, pressure - c_out, z_out);
        let outlet_drop = pressure - c_out - z_out * outlet;
        let inlet = outlet + (pressure - known.chamber) * self.storing;
        let inlet_drop = c_in - z_in * inlet - pressure;
        let pushed = self.setting - outlet_drop * self.per_damping;
        let held = self.spring + self.flow_force * inlet_drop;
        let free_compensator =
            (known.compensator + pushed * self.half_step) / (held * self.half_step + 1.0);
        let compensator = free_compensator.clamp(T::zero(), self.max_compensator);
        Flows {
            inlet,
            outlet,
            compensator,
            free_compensator,
            surplus: inlet - self.law.flow(compensator, critical, inlet_drop),
            inlet_drop,
            outlet_drop,
        }
    }

    #[inline(always)]
    fn compensator_rate(&self, compensator: T, inlet_drop: T, outlet_drop: T) -> T {
        self.setting
            - outlet_drop * self.per_damping
            - (self.spring + self.flow_force * inlet_drop) * compensator
    }
}

impl Physics for FlowControlValve {
    fn prepare(&self, environment: &Environment) -> Result<FlowControlConstants<f64>, Refusal> {
        let size = Size {
            flow_coefficient: Some(self.max_compensator),
            discharge: self.discharge,
            transition_reynolds: self.transition_reynolds,
            ..Size::default()
        };
        let half_step = 0.5 * environment.step;
        let omega = self.natural_frequency;
        let (stiffness, damping) = (omega * omega, 2.0 * self.damping_ratio * omega);
        let per_damping = 1.0 / self.compensator_damping;
        let (spring, flow_force) = (self.spring_rate * per_damping, self.flow_force * per_damping);
        // At 1000 bar across the compensator its equation must still have an answer in a step.
        if 1.0 + half_step * (spring + flow_force * 1e8) <= 0.0 {
            return Err(Refusal::new(
                "flow_force",
                format!(
                    "the flow force opens the compensator faster than a step of {} s can follow at {}",
                    environment.step,
                    bar(1e8)
                ),
                "take a smaller step, or a flow_force nearer to zero",
            ));
        }
        let capacitance = self.chamber_volume / environment.fluid.bulk_modulus;
        Ok(FlowControlConstants {
            law: self.law,
            transition: size.restriction(environment.fluid, |_| Ok(1.0))?.transition,
            throttle_gain: self.throttle_gain,
            dead_band: self.dead_band,
            min_throttle: self.min_throttle,
            stiffness,
            damping,
            inertia: 1.0 / (1.0 + half_step * damping + half_step * half_step * stiffness),
            setting: self.pressure_difference * per_damping,
            spring,
            flow_force,
            per_damping,
            max_compensator: self.max_compensator,
            volume: self.chamber_volume,
            capacitance,
            per_capacitance: if capacitance > 0.0 { capacitance.recip() } else { 0.0 },
            storing: 0.75 * capacitance / half_step,
            half_step,
            has_volume: self.chamber_volume > 0.0,
        })
    }

    #[wide]
    fn law<T: Num>(k: &FlowControlConstants<T>, law: &mut Law<'_, T>) {
        let (p_in, p_out) = (law.effort[Self::INLET], law.effort[Self::OUTLET]);
        let nu = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let critical = k.transition * nu * nu;
        let zero = T::zero();
        let compensator = law.state[Self::COMPENSATOR].clamp(zero, k.max_compensator);
        let (kt, v) = (law.state[Self::THROTTLE], law.state[Self::THROTTLE_RATE]);
        let throttle = kt.max(k.min_throttle);
        let chamber = if k.has_volume {
            law.state[Self::CHAMBER]
        } else {
            let lift = &mut Dual::constant;
            let (k_in, k_out, bend) = (lift(compensator), lift(throttle), lift(critical));
            let (from, to) = (lift(p_in), lift(p_out));
            let noise = k.max_compensator * (p_in - p_out).abs().sqrt();
            let start = (compensator * compensator * p_in + throttle * throttle * p_out)
                / (compensator * compensator + throttle * throttle);
            increasing_root(p_in.min(p_out), p_in.max(p_out), start, noise, |p| {
                k.law.flow(k_out, bend, p - to) - k.law.flow(k_in, bend, from - p)
            })
        };
        let outflow = k.law.flow(throttle, critical, chamber - p_out);
        let inflow =
            if k.has_volume { k.law.flow(compensator, critical, p_in - chamber) } else { outflow };
        law.flow[Self::INLET] = -inflow;
        law.flow[Self::OUTLET] = outflow;
        law.rate[Self::CHAMBER] = (inflow - outflow) * k.per_capacitance;
        let rate = k.compensator_rate(compensator, p_in - chamber, chamber - p_out);
        let state = law.state[Self::COMPENSATOR];
        law.rate[Self::COMPENSATOR] = hold_rate(state, rate, (zero, k.max_compensator));
        let asked = (law.input[Self::SIGNAL] - k.dead_band) * k.throttle_gain;
        let acceleration = k.stiffness * (asked - throttle) - k.damping * v;
        let (range, fade) = ((k.min_throttle, T::of(f64::MAX)), k.stiffness.sqrt() * 10.0);
        (law.rate[Self::THROTTLE], law.rate[Self::THROTTLE_RATE]) =
            hold_motion(kt, v, acceleration, range, fade);
        law.output[Self::CHAMBER_PRESSURE] = chamber;
        law.output[Self::FLOW] = outflow;
    }

    fn settles(_: &FlowControlConstants<f64>) -> bool {
        true
    }

    fn settle(k: &FlowControlConstants<f64>, settle: &mut Settle<'_>) {
        settle_rate(&mut settle.state[Self::COMPENSATOR], (0.0, k.max_compensator));
        let range = (k.min_throttle, f64::MAX);
        settle_motion(settle.state, [Self::THROTTLE, Self::THROTTLE_RATE], range);
    }

    fn volumes(k: &FlowControlConstants<f64>) -> Vec<(usize, f64)> {
        if k.has_volume { vec![(Self::CHAMBER, k.volume)] } else { Vec::new() }
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &FlowControlConstants<T>, io: &mut Step<'_, T>) {
        let zero = T::zero();
        // throttle: a second-order lag with a stop at its smallest opening
        let (old, old_v) = (io.state(Self::THROTTLE), io.state(Self::THROTTLE_RATE));
        let asked = (io.input(Self::SIGNAL) - k.dead_band) * k.throttle_gain;
        let coast = old + old_v * k.half_step;
        let push = io.rate(Self::THROTTLE_RATE) + k.stiffness * (asked - coast);
        let v = (old_v + push * k.half_step) * k.inertia;
        let free = coast + v * k.half_step;
        let seated = free.lt(k.min_throttle);
        let throttle = free.max(k.min_throttle);
        let v = T::select(seated, zero, v);
        let acceleration = k.stiffness * (asked - throttle) - k.damping * v;
        io.set_state(Self::THROTTLE, throttle);
        io.set_state(Self::THROTTLE_RATE, v);
        io.set_rate(Self::THROTTLE, v);
        io.set_rate(Self::THROTTLE_RATE, T::select(seated, zero, acceleration));

        let nu = (io.viscosity(Self::INLET) + io.viscosity(Self::OUTLET)) * 0.5;
        let known = Known {
            inlet: [io.wave(Self::INLET), io.impedance(Self::INLET)],
            outlet: [io.wave(Self::OUTLET), io.impedance(Self::OUTLET)],
            critical: k.transition * nu * nu,
            throttle,
            compensator: io.state(Self::COMPENSATOR) + io.rate(Self::COMPENSATOR) * k.half_step,
            chamber: (io.state(Self::CHAMBER) * 4.0 - io.memory(Self::PREVIOUS)) * (1.0 / 3.0),
        };
        let (c_in, c_out) = (known.inlet[0], known.outlet[0]);
        let (mut low, mut high) = (c_in.min(c_out), c_in.max(c_out));
        if k.has_volume {
            (low, high) = (low.min(known.chamber), high.max(known.chamber));
        }
        let lift = &mut Dual::constant;
        let (valve, lifted) = (k.map(lift), known.map(lift));
        let noise = k.max_compensator * (high - low).sqrt();
        // Åman 3.20 with the last K: exact when turbulent and stiff at both ends
        let (square, open) = (io.state(Self::COMPENSATOR).squared(), throttle.squared());
        let start = if k.has_volume {
            io.state(Self::CHAMBER)
        } else {
            (square * c_in + open * c_out) / (square + open)
        };
        let pressure =
            increasing_root(low, high, start, noise, |p| valve.flows(&lifted, p).surplus);
        let new = k.flows(&known, pressure);
        io.set_flow(Self::INLET, -new.inlet);
        io.set_flow(Self::OUTLET, new.outlet);
        if k.has_volume {
            io.set_memory(Self::PREVIOUS, io.state(Self::CHAMBER));
            io.set_state(Self::CHAMBER, pressure);
            io.set_rate(Self::CHAMBER, (new.inlet - new.outlet) * k.per_capacitance);
        }
        let limited = new.free_compensator.lt(zero) | new.free_compensator.gt(k.max_compensator);
        let rate = k.compensator_rate(new.compensator, new.inlet_drop, new.outlet_drop);
        io.set_state(Self::COMPENSATOR, new.compensator);
        io.set_rate(Self::COMPENSATOR, T::select(limited, zero, rate));
        io.set_output(Self::CHAMBER_PRESSURE, pressure);
        io.set_output(Self::FLOW, new.outlet);
    }

    const ROLE: BalanceRole = BalanceRole::Storage;

    /// The past pressure that keeps the rate.
    fn change_step<T: Num>(
        old: &FlowControlConstants<T>,
        new: &FlowControlConstants<T>,
        io: &mut Step<'_, T>,
    ) {
        let pressure = io.state(Self::CHAMBER);
        let moved = (pressure - io.memory(Self::PREVIOUS)) * (new.half_step / old.half_step);
        io.set_memory(Self::PREVIOUS, pressure - moved);
    }

    /// What the backward difference balances: V/β·(3·p₁ − p₁₀)/2 grows by T·(Q₁ − Q_t) per step.
    fn content<T: Num>(k: &FlowControlConstants<T>, io: &Step<'_, T>) -> T {
        k.capacitance * (io.state(Self::CHAMBER) * 1.5 - io.memory(Self::PREVIOUS) * 0.5)
    }

    fn energy<T: Num>(k: &FlowControlConstants<T>, io: &Step<'_, T>) -> T {
        io.state(Self::CHAMBER).squared() * k.capacitance * 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::Bench;
    use proptest::prelude::*;

    type Valve = FlowControlValve;

    fn valve(volume: f64, law: FlowLaw) -> Valve {
        Valve { chamber_volume: volume, law, ..declared() }
    }

    fn mounted(valve: &Valve, step: f64) -> Bench<Valve> {
        let mut bench = Bench::new(valve, step);
        bench.input(Valve::SIGNAL, 5.0);
        bench.set_state(Valve::CHAMBER, 10.2e5).set_state(8 + Valve::PREVIOUS, 10.2e5);
        bench.set_state(Valve::COMPENSATOR, 5e-11);
        bench.set_state(Valve::THROTTLE, 1e-7);
        bench
    }

    /// Steady state of the published equations with p_s = 16 MPa and the outlet at p₂: the
    /// throttle stands at C₆·(U − C₉) and the compensator's push is nil.
    #[test]
    fn steady_flow_does_not_depend_on_the_load() {
        for volume in [0.0, 1e-9, 1e-5] {
            for load in [2e5, 50e5, 100e5] {
                let mut bench = mounted(&valve(volume, FlowLaw::Turbulent), 1e-3);
                bench.line(0, 160e5, 0.0).line(1, load, 0.0);
                for _ in 0..20_000 {
                    bench.step();
                }
                let kt = 5.26e-7 * (5.0 - 1.2);
                let p1 = bench.output(Valve::CHAMBER_PRESSURE);
                let flow = kt * (p1 - load).sqrt();
                assert!((bench.flow(1) / flow - 1.0).abs() < 1e-9);
                let k = bench.get_state(Valve::COMPENSATOR);
                assert!((k * (160e5 - p1).sqrt() / flow - 1.0).abs() < 1e-9);
                let push = 1.02e6 - (p1 - load) - (4.65e7 - 1.79e4 * (160e5 - p1)) * k;
                assert!(push.abs() < 1e-3, "{push}");
                assert_eq!(bench.state.faults.unconverged, 0);
            }
        }
    }

    /// The same run with RK4 at a step that is fine for the chamber: the valve converges to it with
    /// the square of the step.
    #[test]
    fn transient_converges_to_the_published_equations_with_second_order() {
        let (supply, load, beta, volume) = (160e5f64, 20e5f64, 1.6e9, 1e-5);
        let rates = |s: [f64; 4], u: f64| {
            let [p1, k, kt, v] = s;
            let root = |d: f64| d.abs().sqrt().copysign(d);
            let (q1, qt) = (k * root(supply - p1), kt * root(p1 - load));
            [
                beta / volume * (q1 - qt),
                (1.02e6 - p1 + load - (4.65e7 - 1.79e4 * (supply - p1)) * k) / 4e11,
                v,
                (u - 1.2) * 5.26e-7 * 4e4 - 2.0 * v * 0.45 * 200.0 - kt * 4e4,
            ]
        };
        // from a steady state at 4 V, driven by a smooth signal
        let kt: f64 = 5.26e-7 * 2.8;
        let (p1, k) = (30.5e5, kt * (30.5e5 - load).sqrt() / (supply - 30.5e5f64).sqrt());
        let begin = [p1, k, kt, 0.0];
        let signal = |t: f64| 4.0 + 0.5 * (1.0 - (30.0 * t).cos());
        let end = 0.05;
        let exact = {
            let (mut s, n) = (begin, 50_000);
            let h = end / n as f64;
            let add = |a: [f64; 4], b: [f64; 4], f: f64| -> [f64; 4] {
                std::array::from_fn(|i| a[i] + f * b[i])
            };
            for i in 0..n {
                let t = i as f64 * h;
                let k1 = rates(s, signal(t));
                let k2 = rates(add(s, k1, h / 2.0), signal(t + h / 2.0));
                let k3 = rates(add(s, k2, h / 2.0), signal(t + h / 2.0));
                let k4 = rates(add(s, k3, h), signal(t + h));
                s = std::array::from_fn(|i| {
                    s[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
                });
            }
            s
        };
        let error = |step: f64| {
            let mut bench = mounted(&valve(volume, FlowLaw::Turbulent), step);
            for (i, (s, r)) in begin.into_iter().zip(rates(begin, signal(0.0))).enumerate() {
                bench.set_state(i, s).set_state(4 + i, r);
            }
            bench.set_state(8 + Valve::PREVIOUS, p1);
            bench.line(0, supply, 0.0).line(1, load, 0.0);
            for n in 1..=(end / step).round() as usize {
                bench.input(Valve::SIGNAL, signal(n as f64 * step)).step();
            }
            bench.get_state(Valve::CHAMBER) - exact[0]
        };
        let (coarse, fine) = (error(1e-4), error(5e-5));
        assert!(coarse.abs() < 500.0, "{coarse} Pa");
        assert!((coarse / fine - 4.0).abs() < 0.4, "{coarse} {fine}");
    }

    #[test]
    fn throttle_stops_at_its_smallest_opening_and_compensator_at_its_largest() {
        let mut bench = mounted(&valve(0.0, FlowLaw::TwoRegime), 1e-3);
        bench.input(Valve::SIGNAL, 0.0).line(0, 8e5, 0.0).line(1, 2e5, 0.0);
        for _ in 0..5000 {
            bench.step();
        }
        assert_eq!(bench.get_state(Valve::THROTTLE), 1e-7);
        assert_eq!(bench.get_state(Valve::COMPENSATOR), 1e-6);
        bench.line(0, 1e5, 1e9).line(1, 5e5, 1e9).step();
        assert!(bench.flow(1) < 0.0, "flow reverses with the pressures");
    }

    #[test]
    fn oil_in_the_chamber_is_conserved_to_rounding() {
        let mut bench = mounted(&valve(1e-5, FlowLaw::TwoRegime), 1e-4);
        bench.line(0, 100e5, 1e8).line(1, 10e5, 1e8).step();
        let (start, mut entered) = (bench.content(), 0.0);
        for n in 0..2000 {
            let t = n as f64 * 1e-4;
            bench.line(0, 100e5 + 80e5 * (300.0 * t).sin(), 1e8);
            bench.input(Valve::SIGNAL, 5.0 + 5.0 * (90.0 * t).cos()).step();
            entered -= (bench.flow(0) + bench.flow(1)) * 1e-4;
            let error = bench.content() - start - entered;
            assert!(error.abs() < 1e-18 + 1e-12 * entered.abs(), "{error}");
        }
    }

    #[test]
    fn a_flow_force_that_outruns_the_step_is_refused() {
        let wild = Valve { flow_force: -1e9, ..declared() };
        let around = fluxline_core::testing::Surroundings::of::<Valve>(1e-3);
        assert_eq!(Bench::within(&wild, &around).err().unwrap().parameter, "flow_force");
    }

    #[test]
    fn lanes_are_scalars() {
        for volume in [0.0, 1e-5] {
            let one = valve(volume, FlowLaw::TwoRegime);
            lanes_give_the_bits_of_scalars([&one; 4], &[(0.0, 10.0)], (0.0, 200e5));
        }
    }

    proptest! {
        /// Without chamber: equal flows in the continuous law and in the step, on stiff and soft ends.
        #[test]
        fn own_step_equals_the_generic_step(
            c1 in 100e5..200e5f64, c2 in 1e5..80e5f64, z1 in 0.0..1e9f64, z2 in 0.0..1e9f64,
            k in 1e-7..9e-7f64, kt in 2e-7..3e-6f64,
        ) {
            agrees_with_the_generic_step(|| {
                let mut bench = mounted(&valve(0.0, FlowLaw::TwoRegime), 1e-4);
                bench.set_state(Valve::COMPENSATOR, k).set_state(Valve::THROTTLE, kt);
                bench.line(0, c1, z1).line(1, c2, z2);
                bench
            }, 1e-7)?;
        }
    }
}
