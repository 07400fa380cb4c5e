//! Hydraulic motors.

use crate::hydraulic::pumps::machine::{
    Duty, Rotor, SPEED, ShaftMachine, count_limited_setting, with_losses,
};
use crate::hydraulic::pumps::shaft::shaft_machine;
use fluxline_core::component;
use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;

with_losses! {
    /// Motor with fixed displacement.
    ///
    /// J·dω/dt = D·(p_a − p_b) − B·ω − C·|p_a − p_b|·sign(ω) − T_shaft,   q = D·ω + G·(p_a − p_b)
    ///
    /// G, B and C follow from the efficiencies at the nominal point: G = D·ω_n·(1/η_v − 1)/Δp_n,
    /// friction torque D·Δp_n·(1 − η_hm), split between B and C. Oil, shaft and line ends are solved
    /// together by the trapezoidal rule; sticking is exact. A motor that is driven faster than its
    /// supply follows takes no more oil than the line yields at the vapour pressure (counted as
    /// cavitation), and delivers no more than it takes. The shaft sits at side b.
    #[component("hydraulic.fixed_motor", q, constants = ShaftMachine, also = "hopsan:HydraulicFixedDisplacementMotorQ")]
    pub struct FixedMotor {
        /// oil enters here when the shaft turns forward
        #[port(also = "P1")]
        a: Hydraulic,
        /// oil leaves here when the shaft turns forward
        #[port(also = "P2")]
        b: Hydraulic,
        /// case drain
        #[port(optional)]
        drain: Hydraulic,
        /// load
        #[port(side = "b", also = "P3")]
        shaft: Rotational,
        /// D — displacement [m³/rad]
        #[parameter(default = "50 cm^3/rev", min = ">0 cm^3/rev", also = "D_m")]
        pub displacement: f64,
        /// J — moment of inertia [kg*m²]
        #[parameter(default = "0.01 kg*m^2", min = ">0 kg*m^2", also = "J_m")]
        pub inertia: f64,
        /// ω₀ — speed at the start [rad/s]
        #[parameter(default = "0 rad/s")]
        pub start_speed: f64,
        /// θ₀ — angle at the start [rad]
        #[parameter(default = "0 rad")]
        pub start_angle: f64,
        /// ω — speed [rad/s]
        #[state(start = "start_speed")]
        speed: State,
        /// θ — angle [rad]
        #[state(start = "start_angle")]
        angle: State,
        /// – — steps with cavitation [–]
        #[memory(counts = "cavitation")]
        cavitated: Memory,
    }
}
shaft_machine! { FixedMotor, way = 1.0, duty = Motor, low = |_machine| 0.0, setting = }

with_losses! {
    /// Motor with variable displacement.
    ///
    /// J·dω/dt = ε·D·(p_a − p_b) − B·ω − C·|p_a − p_b|·sign(ω) − T_shaft,
    /// q = ε·D·ω + G·(p_a − p_b)
    ///
    /// The setting ε is limited to −1…1, without over_centre to 0…1. Leakage and friction do not depend
    /// on it. Otherwise as `hydraulic.fixed_motor`.
    #[component("hydraulic.variable_motor", q, constants = ShaftMachine, also = "hopsan:HydraulicVariableDisplacementMotorQ")]
    pub struct VariableMotor {
        /// oil enters here when the shaft turns forward
        #[port(also = "P1")]
        a: Hydraulic,
        /// oil leaves here when the shaft turns forward
        #[port(also = "P2")]
        b: Hydraulic,
        /// case drain
        #[port(optional)]
        drain: Hydraulic,
        /// load
        #[port(side = "b", also = "P3")]
        shaft: Rotational,
        /// D — displacement at setting 1 [m³/rad]
        #[parameter(default = "50 cm^3/rev", min = ">0 cm^3/rev", also = "D_m")]
        pub displacement: f64,
        /// – — settings below 0 reverse the motor [–]
        #[parameter(default = "true")]
        pub over_centre: bool,
        /// ε — setting, part of full displacement [–]
        #[input(default = 1, also = "eps")]
        pub setting: f64,
        /// J — moment of inertia [kg*m²]
        #[parameter(default = "0.01 kg*m^2", min = ">0 kg*m^2", also = "J_m")]
        pub inertia: f64,
        /// ω₀ — speed at the start [rad/s]
        #[parameter(default = "0 rad/s")]
        pub start_speed: f64,
        /// θ₀ — angle at the start [rad]
        #[parameter(default = "0 rad")]
        pub start_angle: f64,
        /// ω — speed [rad/s]
        #[state(start = "start_speed")]
        speed: State,
        /// θ — angle [rad]
        #[state(start = "start_angle")]
        angle: State,
        /// – — steps with cavitation [–]
        #[memory(counts = "cavitation")]
        cavitated: Memory,
        /// – — steps with the setting beyond its limits [–]
        #[memory(counts = "limit")]
        limited: Memory,
    }
}
shaft_machine! {
    VariableMotor, way = 1.0, duty = Motor,
    low = |machine| if machine.over_centre { -1.0 } else { 0.0 }, setting = SETTING
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::pumps::checks::{
        Around, lanes_give_the_bits_of_scalars, own_step_equals_the_generic_step,
    };
    use crate::hydraulic::pumps::machine::{CAVITATED, LIMITED, SHAFT};
    use fluxline_core::testing::Bench;

    const D: f64 = 50e-6 / std::f64::consts::TAU;
    const NOMINAL_SPEED: f64 = 157.0;
    const STEP: f64 = 1e-4;

    fn motor() -> FixedMotor {
        FixedMotor {
            displacement: D,
            inertia: 0.01,
            start_speed: 0.0,
            start_angle: 0.0,
            volumetric_efficiency: Some(0.95),
            leakage: None,
            drain_share: 0.0,
            hydromechanical_efficiency: Some(0.9),
            viscous_friction: None,
            viscous_share: 0.4,
            nominal_pressure: 200e5,
            nominal_speed: NOMINAL_SPEED,
            nominal_viscosity: None,
        }
    }

    fn ideal() -> FixedMotor {
        FixedMotor { volumetric_efficiency: None, hydromechanical_efficiency: None, ..motor() }
    }

    fn variable(drain_share: f64) -> VariableMotor {
        let motor = motor();
        VariableMotor {
            displacement: D,
            over_centre: true,
            setting: 1.0,
            inertia: motor.inertia,
            start_speed: 0.0,
            start_angle: 0.0,
            volumetric_efficiency: motor.volumetric_efficiency,
            leakage: None,
            drain_share,
            hydromechanical_efficiency: motor.hydromechanical_efficiency,
            viscous_friction: None,
            viscous_share: motor.viscous_share,
            nominal_pressure: motor.nominal_pressure,
            nominal_speed: NOMINAL_SPEED,
            nominal_viscosity: None,
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    /// Loaded with the torque that its efficiency leaves, the motor keeps its nominal speed.
    #[test]
    fn efficiencies_hold_at_the_nominal_point() {
        let mut bench = Bench::new(&motor(), STEP);
        bench.line(FixedMotor::A, 201e5, 0.0).line(FixedMotor::B, 1e5, 0.0);
        let torque = 0.9 * D * 200e5;
        bench.line(SHAFT, torque, 0.0).set_state(FixedMotor::SPEED, NOMINAL_SPEED).step();
        assert!(near(bench.get_state(FixedMotor::SPEED), NOMINAL_SPEED));
        assert!(near(bench.flow(FixedMotor::A), -D * NOMINAL_SPEED / 0.95));
        let shaft = bench.flow(SHAFT) * bench.effort(SHAFT);
        let oil = -bench.flow(FixedMotor::A) * 200e5;
        assert!(near(shaft / oil, 0.95 * 0.9));
    }

    /// Without losses: J·dω/dt = D·(Δc − Z·D·ω), so ω = Δc/(Z·D)·(1 − e^(−D²·Z·t/J)); order 2.
    #[test]
    fn motor_spins_up_as_the_closed_form_with_order_two() {
        let error = |step: f64| {
            let mut bench = Bench::new(&ideal(), step);
            bench.line(FixedMotor::A, 100e5, 6e9).line(FixedMotor::B, 20e5, 2e9);
            bench.set_state(2 + FixedMotor::SPEED, D * 80e5 / 0.01);
            let mut worst = 0.0f64;
            for n in 1..=(0.05 / step).round() as usize {
                bench.step();
                let t = n as f64 * step;
                let exact = 80e5 / (8e9 * D) * (1.0 - (-D * D * 8e9 * t / 0.01).exp());
                worst = worst.max((bench.get_state(FixedMotor::SPEED) - exact).abs());
            }
            worst
        };
        let (coarse, fine) = (error(2e-3), error(1e-3));
        assert!((coarse / fine).log2() > 1.9, "{coarse} {fine}");
    }

    #[test]
    fn oil_power_is_shaft_power_inertia_and_losses() {
        let motor = FixedMotor { drain_share: 0.3, ..motor() };
        for (a, b, speed) in [(200e5, 10e5, 100.0), (20e5, 150e5, 80.0), (90e5, 40e5, -120.0)] {
            let mut bench = Bench::new(&motor, STEP);
            bench.line(0, a, 1e9).line(1, b, 1e9).line(2, 1e5, 1e8).line(SHAFT, 40.0, 0.5);
            bench.set_state(FixedMotor::SPEED, speed).step();
            let [pa, pb, pd] = [0, 1, 2].map(|port| bench.effort(port));
            let speed = bench.get_state(FixedMotor::SPEED);
            let oil: f64 = (0..3).map(|port| -bench.flow(port) * bench.effort(port)).sum();
            let g = D * NOMINAL_SPEED * (1.0 / 0.95 - 1.0) / 200e5;
            let leaked =
                0.7 * g * (pa - pb).powi(2) + 0.3 * g * ((pa - pd).powi(2) + (pb - pd).powi(2));
            let friction = D * 200e5 * 0.1;
            let rubbed = 0.4 * friction / NOMINAL_SPEED * speed * speed
                + 0.6 * friction / 200e5 * (pa - pb).abs() * speed.abs();
            let kept = 0.01 * bench.get_state(2 + FixedMotor::SPEED) * speed;
            let shaft = bench.flow(SHAFT) * bench.effort(SHAFT);
            assert!((oil - leaked - rubbed - kept - shaft).abs() <= 1e-9 * oil.abs());
            assert_eq!(bench.state.states[4 + CAVITATED], 0.0);
        }
    }

    /// Against a load that does not yield, the shaft gets D·Δp less friction by pressure, and the
    /// oil only leaks.
    #[test]
    fn stalled_motor_pushes_and_leaks() {
        let mut bench = Bench::new(&motor(), STEP);
        bench.line(FixedMotor::A, 201e5, 0.0).line(FixedMotor::B, 1e5, 0.0).line(SHAFT, 0.0, 1e12);
        for _ in 0..100 {
            bench.step();
        }
        assert!(near(bench.effort(SHAFT), D * 200e5 * (1.0 - 0.6 * 0.1)));
        let leakage = D * NOMINAL_SPEED * (1.0 / 0.95 - 1.0);
        assert!(near(bench.flow(FixedMotor::B), leakage));
        // a load within the band of friction does not move at all
        let mut bench = Bench::new(&motor(), STEP);
        bench.line(FixedMotor::A, 201e5, 0.0).line(FixedMotor::B, 1e5, 0.0);
        bench.line(SHAFT, D * 200e5 * 0.95, 0.0).step();
        assert_eq!(bench.get_state(FixedMotor::SPEED), 0.0);
    }

    #[test]
    fn dry_friction_of_the_load_holds_the_motor() {
        for (dry, moves) in [(1.01, false), (0.99, true)] {
            let mut bench = Bench::new(&ideal(), STEP);
            bench
                .line(FixedMotor::A, 101e5, 1e9)
                .line(FixedMotor::B, 1e5, 1e9)
                .line(SHAFT, 0.0, 1.0);
            bench.state.bonds[SHAFT].dry = dry * D * 100e5;
            bench.step();
            assert_eq!(bench.get_state(FixedMotor::SPEED) > 0.0, moves);
        }
    }

    #[test]
    fn swapping_the_lines_reverses_the_motor() {
        let (mut forward, mut reverse) = (Bench::new(&motor(), STEP), Bench::new(&motor(), STEP));
        forward.line(0, 200e5, 1e9).line(1, 30e5, 1e9).line(SHAFT, 5.0, 0.1);
        reverse.line(0, 30e5, 1e9).line(1, 200e5, 1e9).line(SHAFT, -5.0, 0.1);
        for _ in 0..50 {
            forward.step();
            reverse.step();
        }
        assert!(forward.get_state(FixedMotor::SPEED) > 1.0);
        assert_eq!(forward.get_state(FixedMotor::SPEED), -reverse.get_state(FixedMotor::SPEED));
        assert_eq!(forward.flow(0), reverse.flow(1));
    }

    /// An overrunning load: the motor takes what the line yields and gives just that.
    #[test]
    fn overrun_motor_cavitates_without_losing_oil() {
        for way in [1.0, -1.0] {
            let (suction, delivery) = if way > 0.0 { (0, 1) } else { (1, 0) };
            let mut bench = Bench::new(&ideal(), STEP);
            bench.line(suction, 2e5, 1e9).line(delivery, 50e5, 1e8);
            bench.set_state(FixedMotor::SPEED, way * 200.0).step();
            assert!((bench.effort(suction) - 300.0).abs() < 1e-6);
            assert!(near(bench.flow(delivery), (2e5 - 300.0) / 1e9));
            assert_eq!(bench.flow(suction), -bench.flow(delivery));
            assert_eq!(bench.state.states[4 + CAVITATED], 1.0);
            // the load is braked by the pressure that is there
            let drop = bench.effort(delivery) - 300.0;
            let slowed = 200.0 - D * drop / 0.01 * 0.5 * STEP;
            assert!(near(way * bench.get_state(FixedMotor::SPEED), slowed));
        }
    }

    #[test]
    fn setting_scales_and_reverses_the_motor() {
        let speed = |over_centre, setting: f64| {
            let motor = VariableMotor { over_centre, ..variable(0.0) };
            let mut bench = Bench::new(&motor, STEP);
            bench.input(VariableMotor::SETTING, setting);
            bench.line(0, 201e5, 0.0).line(1, 1e5, 0.0).step();
            (bench.get_state(VariableMotor::SPEED), bench.state.states[4 + LIMITED])
        };
        let (full, half) = (speed(true, 1.0).0, speed(true, 0.5).0);
        // friction by pressure, 6 % of full torque, stays
        assert!((half / full - (0.5 - 0.06) / (1.0 - 0.06)).abs() < 1e-3);
        assert_eq!(speed(true, -1.0), (-full, 0.0));
        assert_eq!(speed(false, -1.0), (0.0, 1.0));
        assert_eq!(speed(true, 0.0).0, 0.0);
    }

    #[test]
    fn own_step_is_generic_and_the_same_in_lanes() {
        let line = (-1e5..300e5, 1e8..1e11);
        let lines = [line.clone(), line.clone(), line, (-200.0..200.0, 0.01..10.0)];
        let states = [(-200.0..200.0, -1e3..1e3), (0.0..100.0, -200.0..200.0)];
        let around = Around { inputs: &[], lines: &lines };
        for drain_share in [0.0, 0.4] {
            let motor = FixedMotor { drain_share, nominal_viscosity: Some(40e-6), ..motor() };
            assert!(own_step_equals_the_generic_step(&motor, &around, &states, 1e-8) > 100);
        }
        lanes_give_the_bits_of_scalars(
            [0.0, 0.2, 0.0, 1.0].map(|drain_share| FixedMotor { drain_share, ..motor() }),
            &around,
        );
        let around = Around { inputs: &[-1.2..1.2], lines: &lines };
        assert!(own_step_equals_the_generic_step(&variable(0.1), &around, &states, 1e-8) > 100);
        lanes_give_the_bits_of_scalars([0.0, 0.2, 0.0, 1.0].map(variable), &around);
    }
}
