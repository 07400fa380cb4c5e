//! Pump that holds a pressure.

use super::driven::driving_torque;
use super::machine::{CAVITATED, Duty, LIMITED, Losses, Oil, SECOND, with_losses};
use crate::stops::{hold_rate, settle_rate};
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::{Constants, component};

with_losses! {
    /// Pump with a pressure compensator, and load sensing where a margin is given.
    ///
    /// τ_v·dy/dt = u − y,   τ_r·dε/dt = y + (dy/dt)/ω_l − ε,   u = (p_ref − p_out)/Δp_d
    /// q = ε·D·ω − G·(p_out − p_in),   p_ref = p_set, or min(p_set, p_ls + margin)
    ///
    /// At rest ε = (p_ref − p_out)/Δp_d: the pump is at full displacement up to p_ref − Δp_d and at
    /// none from p_ref on. The setting ε is limited to its range and to the stroking times. Regulator,
    /// oil and line ends are solved together by the trapezoidal rule. Losses and cavitation are those
    /// of `hydraulic.fixed_pump`. Hopsan's pump has the same regulator with its coefficients named by
    /// flow: droop r_p·q_max, regulator time l_p/r_p.
    #[component("hydraulic.pressure_compensated_pump", q, constants = CompensatorConstants)]
    pub struct PressureCompensatedPump {
        /// suction side
        #[port(also = "P1")]
        inlet: Hydraulic,
        /// pressure side
        #[port(also = "P2")]
        outlet: Hydraulic,
        /// case drain
        #[port(optional)]
        drain: Hydraulic,
        /// load pressure, takes no flow
        #[port(optional, also = "PREF")]
        ls: Hydraulic,
        /// D — full displacement [m³/rad]
        #[parameter(default = "50 cm^3/rev", min = ">0 cm^3/rev")]
        pub displacement: f64,
        /// ω — shaft speed [rad/s]
        #[input(default = "1500 rpm", also = "omega_p")]
        pub speed: f64,
        /// p_set — outlet pressure at which the pump stops delivering, absolute [Pa]
        #[input(default = "200 bar", min = "0 bar", also = "p_dif")]
        pub set_pressure: f64,
        /// Δp_ls — outlet pressure over load pressure; no load sensing when not given [Pa]
        #[parameter(min = ">0 bar")]
        pub margin: Option<f64>,
        /// Δp_d — rise of outlet pressure from full to no displacement [Pa]
        #[parameter(default = "10 bar", min = ">0 bar")]
        pub droop: f64,
        /// ε_min — least setting [–]
        #[parameter(default = 0, min = 0, max = 1)]
        pub min_setting: f64,
        /// ε_max — largest setting [–]
        #[parameter(default = 1, min = ">0", max = 1)]
        pub max_setting: f64,
        /// ε₀ — setting at the start [–]
        #[parameter(default = 1, min = 0, max = 1)]
        pub start_setting: f64,
        /// τ_r — time constant of the stroking piston [s]
        #[parameter(default = "50 ms", min = ">0 s")]
        pub regulator_time: f64,
        /// τ_v — time constant of the control valve [s]
        #[parameter(default = "1 ms", min = ">0 s", also = "tao_v")]
        pub valve_time: f64,
        /// ω_l — frequency above which the regulator leads, which keeps it stable on small volumes [rad/s]
        #[parameter(default = "100 rad/s", min = ">0 rad/s", also = "omega_p1")]
        pub lead_frequency: f64,
        /// t_up — shortest time from no to full displacement [s]
        #[parameter(default = "0.15 s", min = ">0 s", also = "t_p")]
        pub upstroke_time: f64,
        /// t_down — shortest time from full to no displacement [s]
        #[parameter(default = "0.1 s", min = ">0 s", also = "t_m")]
        pub downstroke_time: f64,
        /// ε — setting [–]
        #[state(start = "start_setting", also = "eps")]
        setting: State,
        /// y — control valve, part of the droop [–]
        #[state(start = "start_setting")]
        valve: State,
        /// M — torque that the shaft needs [N*m]
        #[output]
        shaft_torque: Output,
        /// P — power that the shaft needs [W]
        #[output]
        shaft_power: Output,
        /// – — steps with cavitation [–]
        #[memory(counts = "cavitation")]
        cavitated: Memory,
        /// – — steps at full displacement, below the set pressure [–]
        #[memory(counts = "limit")]
        limited: Memory,
    }
}

/// Constants of [`PressureCompensatedPump`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct CompensatorConstants<T> {
    displacement: T,
    losses: Losses<T>,
    vapour: T,
    margin: T,
    senses_load: bool,
    per_droop: T,
    min_setting: T,
    max_setting: T,
    /// 1/τ_r.
    regulator: T,
    /// 1/τ_v.
    valve: T,
    /// 1/(τ_v·ω_l).
    lead: T,
    upstroke: T,
    downstroke: T,
    half_step: f64,
}

impl<T: Num> CompensatorConstants<T> {
    #[inline(always)]
    fn reference(&self, set_pressure: T, load: T) -> T {
        if self.senses_load { set_pressure.min(load + self.margin) } else { set_pressure }
    }

    /// Rates of valve and setting, before the setting is limited.
    #[inline(always)]
    fn rates(&self, error: T, valve: T, setting: T) -> (T, T) {
        let lag = error * self.per_droop - valve;
        let stroke = (valve + lag * self.lead - setting) * self.regulator;
        (lag * self.valve, stroke.clamp(-self.downstroke, self.upstroke))
    }

    /// New setting where the error is `error` − `per_setting`·ε: the trapezoidal rule for both
    /// states, with the stroking speed and the setting limited. Gives setting, its rate, and where it
    /// is at a limit.
    #[inline(always)]
    fn regulate(&self, coast: T, valve_coast: T, error: T, per_setting: T) -> Regulated<T> {
        let h = self.half_step;
        let (kappa, rho) = (self.valve * h, self.regulator * h);
        // y = base + gain·error;  target = y + lead·(error/droop − y)
        let share = (kappa + 1.0).recip();
        let (base, gain) = (valve_coast * share, kappa * share * self.per_droop);
        let keep = T::one() - self.lead;
        let (target, target_gain) = (base * keep, gain * keep + self.lead * self.per_droop);
        let free = (coast + rho * (target + target_gain * error))
            / (rho + rho * target_gain * per_setting + 1.0);
        // The true rate is the one that makes this step; where it is too fast, the limit holds.
        let wanted = (target + target_gain * (error - per_setting * free) - free) * self.regulator;
        let rate = wanted.clamp(-self.downstroke, self.upstroke);
        let too_fast = wanted.lt(-self.downstroke) | wanted.gt(self.upstroke);
        let stroked = T::select(too_fast, coast + rate * h, free);
        let (low, high) = (stroked.lt(self.min_setting), stroked.gt(self.max_setting));
        let setting = stroked.clamp(self.min_setting, self.max_setting);
        Regulated {
            setting,
            rate: T::select(low | high, T::zero(), rate),
            valve: base + gain * (error - per_setting * setting),
            full: high,
        }
    }
}

struct Regulated<T: Num> {
    setting: T,
    rate: T,
    valve: T,
    full: T::Mask,
}

impl Physics for PressureCompensatedPump {
    fn prepare(&self, environment: &Environment) -> Result<CompensatorConstants<f64>, Refusal> {
        if self.min_setting >= self.max_setting {
            return Err(Refusal::new(
                "min_setting",
                format!(
                    "the least setting ({}) is not below the largest ({})",
                    self.min_setting, self.max_setting
                ),
                "give min_setting a smaller value than max_setting",
            ));
        }
        Ok(CompensatorConstants {
            displacement: self.displacement,
            losses: self.loss_data().prepare(Duty::Pump)?,
            vapour: environment.fluid.vapour_pressure,
            margin: self.margin.unwrap_or(0.0),
            senses_load: self.margin.is_some(),
            per_droop: 1.0 / self.droop,
            min_setting: self.min_setting,
            max_setting: self.max_setting,
            regulator: 1.0 / self.regulator_time,
            valve: 1.0 / self.valve_time,
            lead: 1.0 / (self.valve_time * self.lead_frequency),
            upstroke: 1.0 / self.upstroke_time,
            downstroke: 1.0 / self.downstroke_time,
            half_step: 0.5 * environment.step,
        })
    }

    fn law<T: Num>(k: &CompensatorConstants<T>, law: &mut Law<'_, T>) {
        let (setting, valve) = (law.state[Self::SETTING], law.state[Self::VALVE]);
        let held = setting.clamp(k.min_setting, k.max_setting);
        let speed = law.input[Self::SPEED];
        let losses = k.losses.at(law.viscosity[SECOND]);
        let drop = losses.flows(law, k.displacement * held * speed);
        law.flow[Self::LS] = T::zero();
        let reference = k.reference(law.input[Self::SET_PRESSURE], law.effort[Self::LS]);
        let (valve_rate, rate) = k.rates(reference - law.effort[SECOND], valve, held);
        let range = (k.min_setting, k.max_setting);
        law.rate[Self::SETTING] = hold_rate(setting, rate, range);
        law.rate[Self::VALVE] = valve_rate;
        let torque = losses.friction(speed, drop) - k.displacement * held * drop;
        law.output[Self::SHAFT_TORQUE] = torque;
        law.output[Self::SHAFT_POWER] = torque * speed;
    }

    fn settles(_: &CompensatorConstants<f64>) -> bool {
        true
    }

    fn settle(k: &CompensatorConstants<f64>, settle: &mut Settle<'_>) {
        settle_rate(&mut settle.state[Self::SETTING], (k.min_setting, k.max_setting));
    }

    fn show(k: &CompensatorConstants<f64>, settle: &mut Settle<'_>) {
        settle.count(LIMITED, settle.state[Self::SETTING] >= k.max_setting);
    }

    #[inline]
    fn step<T: Num>(k: &CompensatorConstants<T>, io: &mut Step<'_, T>) {
        let speed = io.input(Self::SPEED);
        let losses = k.losses.at(io.viscosity(SECOND));
        let oil = Oil::of(io, losses);
        let reference = k.reference(io.input(Self::SET_PRESSURE), io.wave(Self::LS));
        let coast = io.state(Self::SETTING) + io.rate(Self::SETTING) * k.half_step;
        let valve_coast = io.state(Self::VALVE) + io.rate(Self::VALVE) * k.half_step;
        let full_flow = k.displacement * speed;
        let at_rest = oil.pressure(SECOND, T::zero());
        let per_setting = oil.pressure(SECOND, full_flow) - at_rest;
        let mut now = k.regulate(coast, valve_coast, reference - at_rest, per_setting);
        let mut moved = full_flow * now.setting;
        let starved = oil.starved(moved, k.vapour);
        if starved.any() {
            // The flow is what the suction line yields, and so is the pressure to regulate.
            let limited = oil.limited(moved, k.vapour);
            let error = reference - oil.pressure(SECOND, limited);
            let held = k.regulate(coast, valve_coast, error, T::zero());
            moved = T::select(starved, limited, moved);
            now.setting = T::select(starved, held.setting, now.setting);
            now.rate = T::select(starved, held.rate, now.rate);
            now.valve = T::select(starved, held.valve, now.valve);
            io.count(CAVITATED, starved);
        }
        let drop = oil.settle(io, moved);
        io.set_flow(Self::LS, T::zero());
        if now.full.any() {
            io.count(LIMITED, now.full);
        }
        let error = reference - oil.pressure(SECOND, moved);
        let (valve_rate, _) = k.rates(error, now.valve, now.setting);
        io.set_state(Self::SETTING, now.setting);
        io.set_rate(Self::SETTING, now.rate);
        io.set_state(Self::VALVE, now.valve);
        io.set_rate(Self::VALVE, valve_rate);
        let torque = driving_torque(&losses, k.displacement * now.setting, speed, drop);
        io.set_output(Self::SHAFT_TORQUE, torque);
        io.set_output(Self::SHAFT_POWER, torque * speed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::checks::{
        Around, lanes_give_the_bits_of_scalars, own_step_equals_the_generic_step,
    };
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    type Pump = PressureCompensatedPump;
    const D: f64 = 50e-6 / std::f64::consts::TAU;
    const SPEED: f64 = 1500.0 / 60.0 * std::f64::consts::TAU;

    fn pump() -> Pump {
        Pump {
            displacement: D,
            speed: SPEED,
            set_pressure: 200e5,
            margin: None,
            droop: 5e5,
            min_setting: 0.0,
            max_setting: 1.0,
            start_setting: 1.0,
            regulator_time: 0.05,
            valve_time: 2e-3,
            lead_frequency: 100.0,
            upstroke_time: 0.15,
            downstroke_time: 0.1,
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

    fn mounted(pump: &Pump, step: f64) -> Bench<Pump> {
        let mut bench = Bench::new(pump, step);
        bench.input(Pump::SPEED, SPEED).input(Pump::SET_PRESSURE, 200e5);
        bench.line(Pump::INLET, 1e5, 0.0).line(Pump::LS, 1e5, 0.0);
        bench
    }

    /// A volume of 1 l (β = 1.6 GPa) at the outlet, emptied by a steady flow.
    fn feed(bench: &mut Bench<Pump>, load: f64, steps: usize, step: f64) {
        let impedance = 0.5 * step * 1.6e9 / 1e-3;
        let mut wave = bench.state.bonds[Pump::OUTLET].wave;
        for _ in 0..steps {
            bench.line(Pump::OUTLET, wave, impedance).step();
            wave += 2.0 * impedance * (bench.flow(Pump::OUTLET) - load);
        }
    }

    #[test]
    fn pump_holds_its_set_pressure_within_the_droop() {
        for lead_frequency in [100.0, 200.0] {
            let pump = Pump { lead_frequency, ..pump() };
            let mut bench = mounted(&pump, 1e-4);
            bench.line(Pump::OUTLET, 190e5, 0.0).set_state(Pump::SETTING, 1.0);
            let load = 0.4 * D * SPEED;
            feed(&mut bench, load, 60_000, 1e-4);
            // ε·D·ω = load + leakage at p_set − ε·droop
            let g = 0.05 * D * SPEED / 200e5;
            let setting = (load + g * (200e5 - 1e5)) / (D * SPEED + g * 5e5);
            assert!((bench.get_state(Pump::SETTING) / setting - 1.0).abs() < 1e-9);
            let pressure = bench.effort(Pump::OUTLET);
            assert!((pressure / (200e5 - setting * 5e5) - 1.0).abs() < 1e-9, "{pressure}");
        }
    }

    #[test]
    fn load_sensing_keeps_the_margin_up_to_the_set_pressure() {
        for (load_pressure, reference) in [(80e5, 100e5), (150e5, 170e5), (190e5, 200e5)] {
            let pump = Pump { margin: Some(20e5), ..pump() };
            let mut bench = mounted(&pump, 1e-4);
            bench.line(Pump::LS, load_pressure, 1e9).line(Pump::OUTLET, reference - 2e5, 0.0);
            bench.set_state(Pump::SETTING, 0.5);
            for _ in 0..30_000 {
                bench.step();
            }
            assert!((bench.get_state(Pump::SETTING) - 0.4).abs() < 1e-9);
            assert_eq!(bench.flow(Pump::LS), 0.0);
            assert_eq!(bench.effort(Pump::LS), load_pressure);
        }
    }

    /// Without lead, two lags in series; the trapezoidal rule errs with the square of the step.
    #[test]
    fn regulator_follows_the_closed_form_with_order_two() {
        let plain =
            Pump { lead_frequency: 1e300, upstroke_time: 1e-3, downstroke_time: 1e-3, ..pump() };
        let error = |step: f64| {
            let mut bench = mounted(&plain, step);
            bench.line(Pump::OUTLET, 200e5 - 0.8 * 5e5, 0.0);
            // the rate of the valve at t = 0+, as the start of a run leaves it
            bench.set_state(2 + Pump::VALVE, 0.8 / 2e-3);
            let mut worst = 0.0f64;
            for n in 1..=(0.1 / step).round() as usize {
                bench.step();
                let t = n as f64 * step;
                let (r, v) = (0.05, 2e-3);
                let exact = 0.8 * (1.0 - (r * (-t / r).exp() - v * (-t / v).exp()) / (r - v));
                worst = worst.max((bench.get_state(Pump::SETTING) - exact).abs());
            }
            worst
        };
        let (coarse, fine) = (error(4e-4), error(2e-4));
        assert!((coarse / fine).log2() > 1.9 && fine < 1e-4, "{coarse} {fine}");
    }

    #[test]
    fn stroking_takes_its_time_and_stops_at_the_ends() {
        let mut bench = mounted(&pump(), 1e-4);
        bench.line(Pump::OUTLET, 50e5, 0.0);
        let count = |bench: &Bench<Pump>| bench.state.states[4 + LIMITED];
        let until = |bench: &mut Bench<Pump>, done: fn(f64) -> bool| {
            (1..100_000)
                .find(|_| done(bench.step().get_state(Pump::SETTING)))
                .expect("it gets there")
        };
        // 0.15 s up, and a few milliseconds of the valve
        let steps = until(&mut bench, |setting| setting >= 1.0);
        assert!((1500..1560).contains(&steps), "{steps}");
        assert!(count(&bench) > 0.0);
        bench.line(Pump::OUTLET, 300e5, 0.0);
        let steps = until(&mut bench, |setting| setting <= 0.0);
        assert!((1000..1200).contains(&steps), "{steps}");
        assert!((bench.flow(Pump::OUTLET) + 0.05 * D * SPEED * 299.0 / 200.0).abs() < 1e-15);
    }

    #[test]
    fn starved_pump_delivers_what_it_takes() {
        let mut bench = mounted(&Pump { volumetric_efficiency: None, ..pump() }, 1e-4);
        bench.set_state(Pump::SETTING, 1.0);
        bench.line(Pump::INLET, 1e5, 1e9).line(Pump::OUTLET, 50e5, 1e9).step();
        assert!((bench.effort(Pump::INLET) - 300.0).abs() < 1e-6);
        assert_eq!(bench.flow(Pump::INLET), -bench.flow(Pump::OUTLET));
        assert_eq!(bench.state.states[4 + CAVITATED], 1.0);
    }

    #[test]
    fn range_of_the_setting_must_not_be_empty() {
        let none = Pump { min_setting: 0.5, max_setting: 0.4, ..pump() };
        let refusal = Bench::within(&none, &Surroundings::of::<Pump>(1e-4)).err().expect("refused");
        assert!(refusal.message.contains("0.5") && refusal.message.contains("0.4"));
    }

    #[test]
    fn own_step_is_generic_and_the_same_in_lanes() {
        let line = (10e5..300e5, 1e8..1e10);
        let lines = [line.clone(), line.clone(), line.clone(), line];
        let around = Around { inputs: &[-SPEED..SPEED, 100e5..250e5], lines: &lines };
        let leading =
            Pump { lead_frequency: 300.0, margin: Some(20e5), drain_share: 0.3, ..pump() };
        let states = [(0.2..0.8, -5.0..5.0), (-1.0..1.0, -100.0..100.0)];
        assert!(own_step_equals_the_generic_step(&leading, &around, &states, 1e-8) > 100);
        let lines = [(-1e5..10e5, 1e8..1e10), lines[0].clone(), lines[0].clone(), lines[0].clone()];
        lanes_give_the_bits_of_scalars(
            [0.0, 0.2, 0.0, 1.0].map(|drain_share| Pump { drain_share, ..pump() }),
            &Around { lines: &lines, ..around },
        );
    }
}
