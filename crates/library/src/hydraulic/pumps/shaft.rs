//! Pumps with a shaft to connect.

use super::machine::{Duty, Rotor, SPEED, ShaftMachine, count_limited_setting, with_losses};
use fluxline_core::component;
use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;

/// Physics of a machine with a shaft: which side, which duty, and its displacement.
macro_rules! shaft_machine {
    (
        $name:ident, way = $way:literal, duty = $duty:ident, low = |$machine:ident| $low:expr,
        setting = $($setting:ident)?
    ) => {
        impl Physics for $name {
            fn prepare(&self, environment: &Environment) -> Result<ShaftMachine<f64>, Refusal> {
                let $machine = self;
                Ok(ShaftMachine {
                    displacement: self.displacement,
                    low: $low,
                    losses: self.loss_data().prepare(Duty::$duty)?,
                    rotor: Rotor::new(self.inertia, environment.step),
                    vapour: environment.fluid.vapour_pressure,
                    start_speed: self.start_speed,
                    start_angle: self.start_angle,
                })
            }
            fn law<T: Num>(k: &ShaftMachine<T>, law: &mut Law<'_, T>) {
                #[allow(unused_mut, reason = "fixed machines have no setting")]
                let mut displacement = k.displacement;
                $(displacement = displacement * law.input[Self::$setting].clamp(k.low, T::one());)?
                k.law(law, displacement, $way);
            }
            $(fn show(k: &ShaftMachine<f64>, settle: &mut Settle<'_>) {
                count_limited_setting(settle, Self::$setting, k.low);
            })?
            fn start<T: Num>(k: &ShaftMachine<T>, io: &mut Step<'_, T>) {
                k.start(io, $way);
            }
            #[inline]
            fn step<T: Num>(k: &ShaftMachine<T>, io: &mut Step<'_, T>) {
                #[allow(unused_mut, reason = "fixed machines have no setting")]
                let mut displacement = k.displacement;
                $({
                    let setting = io.input(Self::$setting);
                    displacement = displacement * k.limited_setting(io, setting);
                })?
                k.step(io, displacement, $way);
            }
            const ROLE: BalanceRole = BalanceRole::Storage;
            fn energy<T: Num>(k: &ShaftMachine<T>, io: &Step<'_, T>) -> T {
                io.state(SPEED).squared() * k.rotor.inertia * 0.5
            }
        }
    };
}
pub(crate) use shaft_machine;

with_losses! {
    /// Pump with fixed displacement, driven through its shaft.
    ///
    /// J·dω/dt = T_shaft − D·(p_out − p_in) − B·ω − C·|p_out − p_in|·sign(ω),   q = D·ω − G·(p_out − p_in)
    ///
    /// Oil, shaft and line ends are solved together by the trapezoidal rule; sticking is exact. The
    /// shaft sits at side a. Losses and cavitation are those of `hydraulic.fixed_pump`.
    #[component("hydraulic.fixed_pump_shaft", q, constants = ShaftMachine)]
    pub struct FixedPumpShaft {
        /// suction side
        #[port]
        inlet: Hydraulic,
        /// pressure side
        #[port]
        outlet: Hydraulic,
        /// case drain
        #[port(optional)]
        drain: Hydraulic,
        /// drive
        #[port(side = "a")]
        shaft: Rotational,
        /// D — displacement [m³/rad]
        #[parameter(default = "50 cm^3/rev", min = ">0 cm^3/rev")]
        pub displacement: f64,
        /// J — moment of inertia [kg*m²]
        #[parameter(default = "0.01 kg*m^2", min = ">0 kg*m^2")]
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
shaft_machine! { FixedPumpShaft, way = -1.0, duty = Pump, low = |_machine| 0.0, setting = }

with_losses! {
    /// Pump with variable displacement, driven through its shaft.
    ///
    /// J·dω/dt = T_shaft − ε·D·(p_out − p_in) − B·ω − C·|p_out − p_in|·sign(ω),
    /// q = ε·D·ω − G·(p_out − p_in)
    ///
    /// The setting ε is limited to 0…1, over centre to −1…1. Otherwise as `hydraulic.fixed_pump_shaft`.
    #[component("hydraulic.variable_pump_shaft", q, constants = ShaftMachine)]
    pub struct VariablePumpShaft {
        /// suction side
        #[port]
        inlet: Hydraulic,
        /// pressure side
        #[port]
        outlet: Hydraulic,
        /// case drain
        #[port(optional)]
        drain: Hydraulic,
        /// drive
        #[port(side = "a")]
        shaft: Rotational,
        /// D — displacement at setting 1 [m³/rad]
        #[parameter(default = "50 cm^3/rev", min = ">0 cm^3/rev")]
        pub displacement: f64,
        /// – — settings below 0 reverse the flow [–]
        #[parameter(default = "false")]
        pub over_centre: bool,
        /// ε — setting, part of full displacement [–]
        #[input(default = 1)]
        pub setting: f64,
        /// J — moment of inertia [kg*m²]
        #[parameter(default = "0.01 kg*m^2", min = ">0 kg*m^2")]
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
    VariablePumpShaft, way = -1.0, duty = Pump,
    low = |machine| if machine.over_centre { -1.0 } else { 0.0 }, setting = SETTING
}

#[cfg(test)]
mod tests {
    use super::super::checks::{
        Around, lanes_give_the_bits_of_scalars, own_step_equals_the_generic_step,
    };
    use super::super::machine::{FIRST, SECOND, SHAFT};
    use super::*;
    use fluxline_core::testing::Bench;

    const D: f64 = 50e-6 / std::f64::consts::TAU;
    const NOMINAL_SPEED: f64 = 157.0;

    fn pump() -> FixedPumpShaft {
        FixedPumpShaft {
            displacement: D,
            inertia: 0.01,
            start_speed: 0.0,
            start_angle: 0.0,
            volumetric_efficiency: Some(0.95),
            leakage: None,
            drain_share: 0.2,
            hydromechanical_efficiency: Some(0.9),
            viscous_friction: None,
            viscous_share: 0.4,
            nominal_pressure: 200e5,
            nominal_speed: NOMINAL_SPEED,
            nominal_viscosity: None,
        }
    }

    fn variable(drain_share: f64) -> VariablePumpShaft {
        let pump = pump();
        VariablePumpShaft {
            displacement: D,
            over_centre: true,
            setting: 1.0,
            inertia: pump.inertia,
            start_speed: 0.0,
            start_angle: 0.0,
            volumetric_efficiency: pump.volumetric_efficiency,
            leakage: None,
            drain_share,
            hydromechanical_efficiency: pump.hydromechanical_efficiency,
            viscous_friction: None,
            viscous_share: pump.viscous_share,
            nominal_pressure: pump.nominal_pressure,
            nominal_speed: NOMINAL_SPEED,
            nominal_viscosity: None,
        }
    }

    /// Driven with the torque that its efficiency asks for, the pump settles at its nominal speed.
    #[test]
    fn pump_settles_where_the_drive_balances_load_and_friction() {
        let mut bench = Bench::new(&FixedPumpShaft { drain_share: 0.0, ..pump() }, 1e-3);
        let torque = D * 200e5 / 0.9;
        bench.line(FIRST, 1e5, 0.0).line(SECOND, 201e5, 0.0).line(SHAFT, torque, 0.0);
        // B = 0.4·(friction torque)/ω_n: J/B is 17 s
        for _ in 0..400_000 {
            bench.step();
        }
        let speed = bench.get_state(FixedPumpShaft::SPEED);
        assert!((speed / NOMINAL_SPEED - 1.0).abs() < 1e-9, "{speed}");
        assert!((bench.flow(SECOND) / (0.95 * D * NOMINAL_SPEED) - 1.0).abs() < 1e-9);
        assert_eq!(bench.flow(SHAFT), -speed, "the shaft sits at side a");
    }

    /// At rest the load would drive the pump backwards; friction by pressure holds a part of it.
    #[test]
    fn friction_by_pressure_holds_the_pump_within_its_band() {
        // friction torque at rest 0.6·(1/0.9 − 1)·D·Δp
        let band = 0.6 * (1.0 / 0.9 - 1.0) * D * 200e5;
        for (torque, moves) in [(0.99, false), (-0.99, false), (1.01, true), (-1.01, true)] {
            let mut bench = Bench::new(&pump(), 1e-4);
            bench.line(FIRST, 1e5, 0.0).line(SECOND, 201e5, 0.0);
            bench.line(SHAFT, D * 200e5 + torque * band, 0.0).step();
            let speed = bench.get_state(FixedPumpShaft::SPEED);
            assert_eq!(speed != 0.0, moves, "{torque} {speed}");
            assert!(speed * torque >= 0.0);
        }
    }

    #[test]
    fn own_step_is_generic_and_the_same_in_lanes() {
        let line = (-1e5..300e5, 1e8..1e11);
        let lines = [line.clone(), line.clone(), line, (-200.0..200.0, 0.01..10.0)];
        let states = [(-200.0..200.0, -1e3..1e3), (0.0..100.0, -200.0..200.0)];
        let around = Around { inputs: &[], lines: &lines };
        assert!(own_step_equals_the_generic_step(&pump(), &around, &states, 1e-8) > 100);
        lanes_give_the_bits_of_scalars(
            [0.0, 0.2, 0.0, 1.0].map(|drain_share| FixedPumpShaft { drain_share, ..pump() }),
            &around,
        );
        let around = Around { inputs: &[-1.2..1.2], lines: &lines };
        assert!(own_step_equals_the_generic_step(&variable(0.1), &around, &states, 1e-8) > 100);
        lanes_give_the_bits_of_scalars([0.0, 0.2, 0.0, 1.0].map(variable), &around);
    }
}
