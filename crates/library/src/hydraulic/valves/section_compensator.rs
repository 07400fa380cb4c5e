//! Semi-empirical pressure compensator of a valve section.

use crate::hydraulic::flow::{Control, Ends, FlowLaw, Size, bar};
use crate::stops::{hold_rate, settle_rate};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// Pressure compensator before a directional valve, with a built-in shuttle for the load pressure:
/// semi-empirical, from measured constants.
///
/// q = K·√|p_in − p_out|·sign(p_in − p_out)
///
/// C₃·dK/dt = C₅ − (p_out − max(p_a, p_b)) − (C₁ + C₂·(p_in − p_out))·K,  0 ≤ K ≤ K_max
///
/// The flow coefficient K itself is the state, so no geometry is needed (Handroos and Vilenius);
/// Malysheva (thesis, LUT University, 2021), 2.44–2.45 and Table 2.5, which gives the defaults.
/// Flow is signed and by default laminar at small drops as `hydraulic.orifice`. The load pressures
/// are signals: connect states or ports (`cylinder.pressure_a`), which the wave method reads one step
/// late. K by the trapezoidal rule, solved together with the line ends.
#[component("hydraulic.section_compensator", q, constants = SectionConstants)]
pub struct SectionCompensator {
    /// supply
    #[port(also = "P1")]
    inlet: Hydraulic,
    /// towards the directional valve
    #[port(also = "P2")]
    outlet: Hydraulic,
    /// p_a — load pressure, such as that of a cylinder's chamber [Pa]
    #[input(default = "0 bar")]
    pub load_a: f64,
    /// p_b — the other load pressure; the higher one counts [Pa]
    #[input(default = "0 bar")]
    pub load_b: f64,
    /// C₅ — pressure difference between outlet and load that the spring holds [Pa]
    #[parameter(default = "8 bar", min = ">0 bar")]
    pub pressure_difference: f64,
    /// C₁ — spring rate per flow coefficient [Pa/(m^3/(s*sqrt(Pa)))]
    #[parameter(default = "4.65e7 Pa/(m^3/(s*sqrt(Pa)))")]
    pub spring_rate: f64,
    /// C₂ — flow force per flow coefficient and pressure drop [1/(m^3/(s*sqrt(Pa)))]
    #[parameter(default = "-1.79e4 1/(m^3/(s*sqrt(Pa)))")]
    pub flow_force: f64,
    /// C₃ — damping per rate of the flow coefficient [Pa*s/(m^3/(s*sqrt(Pa)))]
    #[parameter(default = "4e11 Pa*s/(m^3/(s*sqrt(Pa)))", min = ">0 Pa*s/(m^3/(s*sqrt(Pa)))")]
    pub damping: f64,
    /// K_max — flow coefficient when fully open; unlimited when not given [m^3/(s*sqrt(Pa))]
    #[parameter(min = ">0 m^3/(s*sqrt(Pa))")]
    pub max_coefficient: Option<f64>,
    /// K₀ — flow coefficient at the start [m^3/(s*sqrt(Pa))]
    #[parameter(default = "5e-11 m^3/(s*sqrt(Pa))", min = "0 m^3/(s*sqrt(Pa))")]
    pub start_coefficient: f64,
    /// C_d — discharge coefficient when turbulent [–]
    #[parameter(default = 0.6, min = ">0", max = 1)]
    pub discharge: f64,
    /// Re_tr — Reynolds number of the transition to turbulence [–]
    #[parameter(default = 1000, min = ">0")]
    pub transition_reynolds: f64,
    /// – — flow below the transition to turbulence [–]
    #[parameter(default = "two_regime")]
    pub law: FlowLaw,
    /// K — flow coefficient [m^3/(s*sqrt(Pa))]
    #[state(start = "start_coefficient")]
    coefficient: State,
    /// q — flow [m^3/s]
    #[output]
    flow: Output,
}

/// Constants of [`SectionCompensator`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct SectionConstants<T> {
    law: FlowLaw,
    /// K·Δp₀/ν².
    transition: T,
    /// C₅, C₁, C₂ over C₃, and its inverse.
    setting: T,
    spring: T,
    flow_force: T,
    per_damping: T,
    max_coefficient: T,
    half_step: f64,
}

/// What moves the compensator in a step, as functions of the pressure drop.
#[derive(Clone, Copy, Constants)]
struct Motion<T> {
    /// K₀ + T/2·dK₀/dt.
    kept: T,
    /// T/2·(C₅ − p_out + p_load)/C₃ at no drop, and its slope.
    push: T,
    push_slope: T,
    critical: T,
}

impl<T: Num> SectionConstants<T> {
    #[inline(always)]
    fn rate(&self, coefficient: T, drop: T, outlet: T, load: T) -> T {
        self.setting
            - (outlet - load) * self.per_damping
            - (self.spring + self.flow_force * drop) * coefficient
    }

    /// K at the end of the step, before and after it is held between its limits.
    #[inline(always)]
    fn moved(&self, motion: &Motion<T>, drop: T) -> (T, T) {
        let held = (self.spring + self.flow_force * drop) * self.half_step + 1.0;
        let free = (motion.kept + motion.push + motion.push_slope * drop) / held;
        (free, free.clamp(T::zero(), self.max_coefficient))
    }
}

impl Physics for SectionCompensator {
    fn prepare(&self, environment: &Environment) -> Result<SectionConstants<f64>, Refusal> {
        let size = Size {
            flow_coefficient: Some(1.0),
            discharge: self.discharge,
            transition_reynolds: self.transition_reynolds,
            ..Size::default()
        };
        let half_step = 0.5 * environment.step;
        let per_damping = 1.0 / self.damping;
        let (spring, flow_force) = (self.spring_rate * per_damping, self.flow_force * per_damping);
        // At 1000 bar across it the equation of K must still have an answer in a step.
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
        Ok(SectionConstants {
            law: self.law,
            transition: size.restriction(environment.fluid, |_| Ok(1.0))?.transition,
            setting: self.pressure_difference * per_damping,
            spring,
            flow_force,
            per_damping,
            max_coefficient: self.max_coefficient.unwrap_or(1e300),
            half_step,
        })
    }

    fn law<T: Num>(k: &SectionConstants<T>, law: &mut Law<'_, T>) {
        let zero = T::zero();
        let (inlet, outlet) = (law.effort[Self::INLET], law.effort[Self::OUTLET]);
        let load = law.input[Self::LOAD_A].max(law.input[Self::LOAD_B]);
        let viscosity = (law.viscosity[Self::INLET] + law.viscosity[Self::OUTLET]) * 0.5;
        let state = law.state[Self::COEFFICIENT];
        let coefficient = state.clamp(zero, k.max_coefficient);
        let rate = k.rate(coefficient, inlet - outlet, outlet, load);
        law.rate[Self::COEFFICIENT] = hold_rate(state, rate, (zero, k.max_coefficient));
        let critical = k.transition * viscosity * viscosity;
        let through = k.law.flow(coefficient, critical, inlet - outlet);
        law.flow[Self::INLET] = -through;
        law.flow[Self::OUTLET] = through;
        law.output[Self::FLOW] = through;
    }

    fn settles(_: &SectionConstants<f64>) -> bool {
        true
    }

    fn settle(k: &SectionConstants<f64>, settle: &mut Settle<'_>) {
        settle_rate(&mut settle.state[Self::COEFFICIENT], (0.0, k.max_coefficient));
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &SectionConstants<T>, io: &mut Step<'_, T>) {
        let zero = T::zero();
        let ends = Ends::of(io, Self::INLET, Self::OUTLET);
        let load = io.input(Self::LOAD_A).max(io.input(Self::LOAD_B));
        // p_out is linear in the drop, so K is a known function of it
        let outlet = ends.along(Control { inlet: T::zero(), outlet: T::one(), offset: T::zero() });
        let motion = Motion {
            kept: io.state(Self::COEFFICIENT) + io.rate(Self::COEFFICIENT) * k.half_step,
            push: (k.setting - (outlet.at_rest - load) * k.per_damping) * k.half_step,
            push_slope: -(outlet.slope * k.per_damping * k.half_step),
            critical: k.transition * ends.viscosity * ends.viscosity,
        };
        let lift = &mut Dual::constant;
        let (valve, lifted) = (k.map(lift), motion.map(lift));
        let drop = ends.drop(io.flow(Self::OUTLET), |drop| {
            valve.law.flow(valve.moved(&lifted, drop).1, lifted.critical, drop)
        });
        let (free, coefficient) = k.moved(&motion, drop);
        let through = k.law.flow(coefficient, motion.critical, drop);
        let limited = free.lt(zero) | free.gt(k.max_coefficient);
        let rate = k.rate(coefficient, drop, outlet.at(drop), load);
        io.set_flow(Self::INLET, -through);
        io.set_flow(Self::OUTLET, through);
        io.set_state(Self::COEFFICIENT, coefficient);
        io.set_rate(Self::COEFFICIENT, T::select(limited, zero, rate));
        io.set_output(Self::FLOW, through);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::flow::testing::*;
    use fluxline_core::testing::{Bench, Surroundings};
    use proptest::prelude::*;

    type Valve = SectionCompensator;

    fn compensator(law: FlowLaw) -> Valve {
        Valve { law, ..declared() }
    }

    /// Malysheva 2.45 by the matrix exponential of one unknown: with pressures held the equation of
    /// K is linear, K = K∞ + (K₀ − K∞)·e^(−at), a = (C₁ + C₂·Δp)/C₃, K∞ = (C₅ − p_out + p_load)/(a·C₃).
    /// The trapezoidal rule errs by (a·T)²/12 of the exponent: below 1e-9 here.
    #[test]
    fn coefficient_follows_the_published_equation_with_the_higher_load() {
        let (supply, outlet) = (140e5, 60e5);
        for (load_a, load_b) in [(55e5, 20e5), (20e5, 55e5)] {
            let mut bench = Bench::new(&compensator(FlowLaw::Turbulent), 1e-4);
            bench.line(0, supply, 0.0).line(1, outlet, 0.0);
            bench.input(0, load_a).input(1, load_b).set_state(0, 2e-7).settle();
            for _ in 0..1000 {
                bench.step();
            }
            let a = (4.65e7 - 1.79e4 * (supply - outlet)) / 4e11;
            let end = (8e5 - outlet + 55e5) / 4e11 / a;
            let exact = end + (2e-7 - end) * (-a * 0.1).exp();
            let k = bench.get_state(0);
            assert!((k / exact - 1.0).abs() < 1e-9, "{k} {exact}");
            assert!((bench.flow(1) / (k * (supply - outlet).sqrt()) - 1.0).abs() < 1e-14);
            assert_eq!(bench.flow(0), -bench.flow(1));
        }
    }

    #[test]
    fn compensator_shuts_where_the_outlet_is_far_above_the_load_and_opens_to_its_limit() {
        let limited = Valve { max_coefficient: Some(1e-6), ..compensator(FlowLaw::TwoRegime) };
        let mut bench = Bench::new(&limited, 1e-3);
        bench.line(0, 140e5, 0.0).line(1, 60e5, 1e9).input(0, 10e5).input(1, 5e5);
        for _ in 0..5000 {
            bench.step();
        }
        assert_eq!((bench.get_state(0), bench.flow(1)), (0.0, 0.0));
        bench.input(0, 60e5).line(1, 60e5, 0.0);
        for _ in 0..5000 {
            bench.step();
        }
        assert_eq!(bench.get_state(0), 1e-6);
        bench.line(0, 50e5, 0.0).step();
        assert!(bench.flow(1) < 0.0, "flow reverses with the pressures");
    }

    #[test]
    fn a_flow_force_that_outruns_the_step_is_refused() {
        let wild = Valve { flow_force: -1e9, ..declared() };
        let around = Surroundings::of::<Valve>(1e-3);
        assert_eq!(Bench::within(&wild, &around).err().unwrap().parameter, "flow_force");
    }

    #[test]
    fn lanes_are_scalars() {
        let one = compensator(FlowLaw::TwoRegime);
        lanes_give_the_bits_of_scalars([&one; 4], &[(0.0, 200e5); 2], (0.0, 200e5));
    }

    proptest! {
        #[test]
        fn own_step_equals_the_generic_step(
            c1 in 100e5..200e5f64, c2 in 1e5..80e5f64, z1 in 0.0..1e9f64, z2 in 0.0..1e9f64,
            a in 1e5..80e5f64, b in 1e5..80e5f64, k in 1e-7..9e-7f64,
        ) {
            agrees_with_the_generic_step(|| {
                let mut bench = Bench::new(&compensator(FlowLaw::TwoRegime), 1e-4);
                bench.set_state(Valve::COEFFICIENT, k);
                bench.line(0, c1, z1).line(1, c2, z2).input(0, a).input(1, b);
                bench
            }, 1e-7)?;
        }
    }
}
