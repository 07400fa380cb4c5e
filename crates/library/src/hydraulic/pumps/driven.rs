//! Pumps whose speed is given.

use super::machine::{
    Duty, Losses, LossesNow, Oil, SECOND, count_limited_setting, direction, limited_setting,
    with_losses,
};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;
use fluxline_core::{Constants, component};

with_losses! {
    /// Pump with fixed displacement and a given speed.
    ///
    /// q = D·ω − G·(p_out − p_in),   M = D·(p_out − p_in) + B·ω + C·|p_out − p_in|·sign(ω)
    ///
    /// G, B and C follow from the efficiencies at the nominal point: G = D·ω_n·(1 − η_v)/Δp_n, friction
    /// torque D·Δp_n·(1/η_hm − 1), split between B and C. The pump takes no more oil than its inlet
    /// yields at the vapour pressure (counted as cavitation); what it does not take it does not
    /// deliver. With a shaft to connect: `hydraulic.fixed_pump_shaft`.
    #[component("hydraulic.fixed_pump", q, constants = PumpConstants, also = "hopsan:HydraulicFixedDisplacementPump")]
    pub struct FixedPump {
        /// suction side
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// pressure side
        #[port(also = "P2")]
        outlet: Hydraulic,
        /// case drain
        #[port(optional)]
        drain: Hydraulic,
        /// D — displacement [m³/rad]
        #[parameter(default = "50 cm^3/rev", min = ">0 cm^3/rev", also = "D_p")]
        pub displacement: f64,
        /// ω — shaft speed [rad/s]
        #[input(default = "1500 rpm", also = "n_p")]
        pub speed: f64,
        /// M — torque that the shaft needs [N*m]
        #[output]
        shaft_torque: Output,
        /// P — power that the shaft needs [W]
        #[output]
        shaft_power: Output,
        /// – — steps with cavitation [–]
        #[memory(counts = "cavitation")]
        cavitated: Memory,
    }
}

with_losses! {
    /// Pump with variable displacement and a given speed.
    ///
    /// q = ε·D·ω − G·(p_out − p_in),   M = ε·D·(p_out − p_in) + B·ω + C·|p_out − p_in|·sign(ω)
    ///
    /// The setting ε is limited to 0…1, over centre to −1…1. Leakage and friction do not depend on it;
    /// they and cavitation are those of `hydraulic.fixed_pump`.
    #[component("hydraulic.variable_pump", q, constants = PumpConstants, also = "hopsan:HydraulicVariableDisplacementPump")]
    pub struct VariablePump {
        /// suction side
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// pressure side
        #[port(also = "P2")]
        outlet: Hydraulic,
        /// case drain
        #[port(optional)]
        drain: Hydraulic,
        /// D — displacement at setting 1 [m³/rad]
        #[parameter(default = "50 cm^3/rev", min = ">0 cm^3/rev", also = "D_p")]
        pub displacement: f64,
        /// – — settings below 0 reverse the flow [–]
        #[parameter(default = "false")]
        pub over_centre: bool,
        /// ω — shaft speed [rad/s]
        #[input(default = "1500 rpm", also = "omega_p")]
        pub speed: f64,
        /// ε — setting, part of full displacement [–]
        #[input(default = 1, also = "eps")]
        pub setting: f64,
        /// M — torque that the shaft needs [N*m]
        #[output]
        shaft_torque: Output,
        /// P — power that the shaft needs [W]
        #[output]
        shaft_power: Output,
        /// – — steps with cavitation [–]
        #[memory(counts = "cavitation")]
        cavitated: Memory,
        /// – — steps with the setting beyond its limits [–]
        #[memory(counts = "limit")]
        limited: Memory,
    }
}

/// Constants of pumps with a given speed.
#[derive(Clone, Copy, Debug, Constants)]
pub struct PumpConstants<T> {
    displacement: T,
    /// Least setting.
    low: T,
    losses: Losses<T>,
    vapour: T,
}

impl<T: Num> PumpConstants<T> {
    fn law(&self, law: &mut Law<'_, T>, displacement: T, speed: T) {
        let losses = self.losses.at(law.viscosity[SECOND]);
        let drop = losses.flows(law, displacement * speed);
        let torque = losses.friction(speed, drop) - displacement * drop;
        law.output[FixedPump::SHAFT_TORQUE] = torque;
        law.output[FixedPump::SHAFT_POWER] = torque * speed;
    }

    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>, displacement: T, speed: T) {
        let losses = self.losses.at(io.viscosity(SECOND));
        let drop = Oil::of(io, losses).move_flow(io, displacement * speed, self.vapour);
        let torque = driving_torque(&losses, displacement, speed, drop);
        io.set_output(FixedPump::SHAFT_TORQUE, torque);
        io.set_output(FixedPump::SHAFT_POWER, torque * speed);
    }
}

/// Torque that turns a pump with p_in − p_out = `drop`.
#[inline(always)]
pub fn driving_torque<T: Num>(losses: &LossesNow<T>, displacement: T, speed: T, drop: T) -> T {
    let friction = losses.by_pressure * drop.abs() * direction(speed);
    losses.viscous * speed + friction - displacement * drop
}

impl Physics for FixedPump {
    fn prepare(&self, environment: &Environment) -> Result<PumpConstants<f64>, Refusal> {
        Ok(PumpConstants {
            displacement: self.displacement,
            low: 0.0,
            losses: self.loss_data().prepare(Duty::Pump)?,
            vapour: environment.fluid.vapour_pressure,
        })
    }
    fn law<T: Num>(k: &PumpConstants<T>, law: &mut Law<'_, T>) {
        let speed = law.input[Self::SPEED];
        k.law(law, k.displacement, speed);
    }
    #[inline]
    fn step<T: Num>(k: &PumpConstants<T>, io: &mut Step<'_, T>) {
        let speed = io.input(Self::SPEED);
        k.step(io, k.displacement, speed);
    }
}

impl Physics for VariablePump {
    fn prepare(&self, environment: &Environment) -> Result<PumpConstants<f64>, Refusal> {
        Ok(PumpConstants {
            displacement: self.displacement,
            low: if self.over_centre { -1.0 } else { 0.0 },
            losses: self.loss_data().prepare(Duty::Pump)?,
            vapour: environment.fluid.vapour_pressure,
        })
    }
    fn law<T: Num>(k: &PumpConstants<T>, law: &mut Law<'_, T>) {
        let setting = law.input[Self::SETTING].clamp(k.low, T::one());
        let speed = law.input[Self::SPEED];
        k.law(law, k.displacement * setting, speed);
    }
    fn show(k: &PumpConstants<f64>, settle: &mut Settle<'_>) {
        count_limited_setting(settle, Self::SETTING, k.low);
    }
    #[inline]
    fn step<T: Num>(k: &PumpConstants<T>, io: &mut Step<'_, T>) {
        let setting = io.input(Self::SETTING);
        let setting = limited_setting(io, setting, k.low);
        let speed = io.input(Self::SPEED);
        k.step(io, k.displacement * setting, speed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::{
        Around, lanes_give_the_bits_of_scalars, own_step_equals_the_generic_step,
    };
    use super::super::machine::{CAVITATED, LIMITED};
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    const D: f64 = 50e-6 / std::f64::consts::TAU;
    const SPEED: f64 = 1500.0 / 60.0 * std::f64::consts::TAU;

    fn pump() -> FixedPump {
        FixedPump {
            displacement: D,
            speed: SPEED,
            volumetric_efficiency: Some(0.95),
            leakage: None,
            drain_share: 0.0,
            hydromechanical_efficiency: Some(0.92),
            viscous_friction: None,
            viscous_share: 0.3,
            nominal_pressure: 200e5,
            nominal_speed: SPEED,
            nominal_viscosity: None,
        }
    }

    fn variable() -> VariablePump {
        let pump = pump();
        VariablePump {
            displacement: D,
            over_centre: true,
            speed: SPEED,
            setting: 1.0,
            volumetric_efficiency: pump.volumetric_efficiency,
            leakage: None,
            drain_share: 0.0,
            hydromechanical_efficiency: pump.hydromechanical_efficiency,
            viscous_friction: None,
            viscous_share: pump.viscous_share,
            nominal_pressure: pump.nominal_pressure,
            nominal_speed: SPEED,
            nominal_viscosity: None,
        }
    }

    fn mounted(pump: &FixedPump, speed: f64) -> Bench<FixedPump> {
        let mut bench = Bench::new(pump, 1e-4);
        bench.input(FixedPump::SPEED, speed);
        bench
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    #[test]
    fn efficiencies_hold_at_the_nominal_point() {
        let mut bench = mounted(&pump(), SPEED);
        bench.line(FixedPump::INLET, 1e5, 0.0).line(FixedPump::OUTLET, 201e5, 0.0).step();
        assert!(near(bench.flow(FixedPump::OUTLET), 0.95 * D * SPEED));
        assert!(near(bench.output(FixedPump::SHAFT_TORQUE), D * 200e5 / 0.92));
        let hydraulic = bench.flow(FixedPump::OUTLET) * 200e5;
        assert!(near(hydraulic / bench.output(FixedPump::SHAFT_POWER), 0.95 * 0.92));
    }

    /// (D·ω + G·(c₁ − c₂))/(1 + G·(Z₁ + Z₂)) with p = c + Z·q at both ends.
    #[test]
    fn flow_through_lines_is_the_closed_form() {
        let lossy = FixedPump { volumetric_efficiency: None, leakage: Some(4e-12), ..pump() };
        for speed in [SPEED, 0.3 * SPEED, 0.0, -SPEED] {
            let mut bench = mounted(&lossy, speed);
            bench.line(FixedPump::INLET, 30e5, 1e9).line(FixedPump::OUTLET, 100e5, 5e9).step();
            let expected = (D * speed - 4e-12 * 70e5) / (1.0 + 4e-12 * 6e9);
            assert!(near(bench.flow(FixedPump::OUTLET), expected), "{speed}");
            assert!(near(bench.effort(FixedPump::OUTLET), 100e5 + 5e9 * expected));
            assert_eq!(bench.flow(FixedPump::INLET), -bench.flow(FixedPump::OUTLET));
        }
    }

    #[test]
    fn shaft_power_is_hydraulic_power_and_losses() {
        let pump = FixedPump { drain_share: 0.4, ..pump() };
        for (speed, outlet) in [(SPEED, 250e5), (40.0, 80e5), (-SPEED, 60e5), (SPEED, 5e5)] {
            let mut bench = mounted(&pump, speed);
            bench.line(FixedPump::INLET, 20e5, 1e8).line(FixedPump::OUTLET, outlet, 1e9);
            bench.line(FixedPump::DRAIN, 1e5, 1e8).step();
            let [inlet, outlet, drain] = [0, 1, 2].map(|port| bench.effort(port));
            let hydraulic: f64 = (0..3).map(|port| bench.flow(port) * bench.effort(port)).sum();
            let g = 0.05 * D * SPEED / 200e5;
            let leaked = 0.6 * g * (outlet - inlet).powi(2)
                + 0.4 * g * ((inlet - drain).powi(2) + (outlet - drain).powi(2));
            let friction = D * 200e5 * (1.0 / 0.92 - 1.0);
            let rubbed = 0.3 * friction / SPEED * speed * speed
                + 0.7 * friction / 200e5 * (outlet - inlet).abs() * speed.abs();
            let power = bench.output(FixedPump::SHAFT_POWER);
            assert!((power - hydraulic - leaked - rubbed).abs() <= 1e-9 * power.abs(), "{speed}");
        }
    }

    #[test]
    fn pump_at_rest_only_leaks() {
        let mut bench = mounted(&pump(), 0.0);
        bench.line(FixedPump::INLET, 1e5, 0.0).line(FixedPump::OUTLET, 201e5, 0.0).step();
        assert!(near(bench.flow(FixedPump::INLET), 0.05 * D * SPEED));
        assert_eq!(bench.output(FixedPump::SHAFT_POWER), 0.0);
    }

    #[test]
    fn thin_oil_leaks_more() {
        let thin = FixedPump { nominal_viscosity: Some(60e-6), ..pump() };
        let mut bench = mounted(&thin, 0.0);
        bench.line(FixedPump::INLET, 1e5, 0.0).line(FixedPump::OUTLET, 201e5, 0.0).step();
        // the bench's oil has 30 mm²/s, half of the nominal viscosity
        assert!(near(bench.flow(FixedPump::INLET), 2.0 * 0.05 * D * SPEED));
    }

    /// No more than (c₁ − p_v)/Z₁ can be drawn; the outlet gets just that.
    #[test]
    fn starved_pump_delivers_what_it_takes() {
        let ideal = FixedPump { volumetric_efficiency: None, drain_share: 0.5, ..pump() };
        for speed in [SPEED, -SPEED] {
            let (suction, delivery) = if speed > 0.0 { (0, 1) } else { (1, 0) };
            let mut bench = mounted(&ideal, speed);
            bench.line(suction, 1e5, 1e9).line(delivery, 50e5, 1e9).step();
            assert!(near(bench.flow(delivery), (1e5 - 300.0) / 1e9));
            assert!(near(bench.effort(suction), 300.0));
            assert_eq!(bench.flow(suction), -bench.flow(delivery));
            assert_eq!(bench.state.states[CAVITATED], 1.0);
            // a line below the vapour pressure yields nothing, a stiff one everything
            bench.line(suction, -1e5, 1e9).step();
            assert_eq!(bench.flow(delivery), 0.0);
            bench.line(suction, 300.0, 0.0).step();
            assert!(near(bench.flow(delivery), D * SPEED));
        }
        let leaky = FixedPump { drain_share: 0.5, ..pump() };
        let mut bench = mounted(&leaky, SPEED);
        bench.line(0, 1e5, 1e9).line(1, 50e5, 1e9).line(2, 1e5, 0.0).step();
        assert!(near(bench.effort(0), 300.0));
        let sum: f64 = (0..3).map(|port| bench.flow(port)).sum();
        assert!(sum.abs() < 1e-18);
    }

    #[test]
    fn setting_scales_the_flow_and_is_limited() {
        let flow = |over_centre, setting: f64| {
            let pump = VariablePump { over_centre, ..variable() };
            let mut bench = Bench::new(&pump, 1e-4);
            bench.input(VariablePump::SPEED, SPEED).input(VariablePump::SETTING, setting);
            bench.line(0, 10e5, 0.0).line(1, 10e5, 0.0).step();
            (bench.flow(1) / (D * SPEED), bench.state.states[LIMITED])
        };
        assert_eq!(flow(false, 0.25).1, 0.0);
        assert!(near(flow(false, 0.25).0, 0.25));
        assert_eq!(flow(false, -0.5), (0.0, 1.0));
        assert!(near(flow(true, -0.5).0, -0.5));
        assert!(near(flow(true, 1.5).0, 1.0) && flow(true, 1.5).1 == 1.0);
    }

    #[test]
    fn losses_are_given_once() {
        let refused = |pump: FixedPump| {
            Bench::within(&pump, &Surroundings::of::<FixedPump>(1e-4)).err().expect("refused")
        };
        let leakage = refused(FixedPump { leakage: Some(1e-12), ..pump() });
        assert_eq!(leakage.parameter, "leakage");
        assert!(leakage.message.contains("0.95"));
        let friction = refused(FixedPump { viscous_friction: Some(0.1), ..pump() });
        assert_eq!(friction.parameter, "viscous_friction");
        assert!(friction.message.contains("0.92"));
    }

    #[test]
    fn own_step_is_generic_and_the_same_in_lanes() {
        let line = (-1e5..300e5, 1e8..1e11);
        let around =
            Around { inputs: &[-SPEED..SPEED], lines: &[line.clone(), line.clone(), line.clone()] };
        let drained = FixedPump { drain_share: 0.3, ..pump() };
        assert!(own_step_equals_the_generic_step(&drained, &around, &[], 1e-9) > 100);
        lanes_give_the_bits_of_scalars(
            [0.0, 0.2, 0.0, 1.0].map(|drain_share| FixedPump { drain_share, ..pump() }),
            &around,
        );
        let around = Around { inputs: &[-SPEED..SPEED, -1.2..1.2], ..around };
        assert!(own_step_equals_the_generic_step(&variable(), &around, &[], 1e-9) > 100);
        lanes_give_the_bits_of_scalars(
            [0.0, 0.2, 0.0, 1.0].map(|drain_share| VariablePump { drain_share, ..variable() }),
            &around,
        );
    }
}
