//! Displacement pumps without a shaft: their speed is a signal.

use crate::blocks::End;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::TAU;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<FixedDisplacementPump>(),
    ComponentType::of::<VariableDisplacementPump>(),
    ComponentType::of::<PressureControlledPump>(),
];

/// Pump with a fixed displacement and leakage between its ports.
///
/// q₂ = D·n/2π + C_l·(p₁ − p₂), kept to −c₂/Z₂ ≤ q₂ ≤ c₁/Z₁;  q₁ = −q₂
///
/// Should a pressure still come out negative, that end has run dry: the flow is computed once more
/// with c = Z = 0 there and does not draw from it.
#[component("hopsan.HydraulicFixedDisplacementPump", q)]
pub struct FixedDisplacementPump {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// a — angle of the shaft [rad]
    #[output(name = "a")]
    angle: Signal,
    /// n — speed [rad/s]
    #[input(name = "n_p", default = "250 rad/s")]
    pub speed: f64,
    /// D — displacement per revolution [m^3]
    #[input(name = "D_p", default = "5e-5 m^3")]
    pub displacement: f64,
    /// C_l — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "C_lp", default = "1e-12 m^3/(s*Pa)")]
    pub leakage: f64,
}

/// Pump with a displacement that is set by a signal, and leakage between its ports.
///
/// q₂ = ε·D·n/2π + C_l·(p₁ − p₂), kept to −c₂/Z₂ ≤ q₂ ≤ c₁/Z₁;  q₁ = −q₂
#[component("hopsan.HydraulicVariableDisplacementPump", q)]
pub struct VariableDisplacementPump {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// a — angle of the shaft [rad]
    #[output(name = "a")]
    angle: Signal,
    /// ε — setting of the displacement [–]
    #[input(name = "eps", default = 1)]
    pub setting: f64,
    /// n — speed [rad/s]
    #[input(name = "omega_p", default = "50 rad/s")]
    pub speed: f64,
    /// D — displacement per revolution [m^3]
    #[input(name = "D_p", default = "5e-5 m^3")]
    pub displacement: f64,
    /// C_l — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "K_cp", default = "1e-12 m^3/(s*Pa)")]
    pub leakage: f64,
}

/// Pump whose displacement is controlled to hold a pressure above that of a reference port.
///
/// With Z_e = Z₂/(1 + C_l·(Z₁ + Z₂)), L = l_p·√(7 MPa/p₂)·(125 rad/s)/n and N = L + r_p·τ_v + Z_e/ω₁
/// the regulator gives q_p = y/N from
///
/// (L·τ_v/N·s² + s + (r_p + Z_e)/N)·y = (1 + s/ω₁)·(p_dif + p_ref − p₂)
///
/// by the bilinear rule, limited first in slope by the times t_p and t_m, which grow as p₂ falls,
/// then between q_min and q_max. q_p is kept to −c₂/Z₂ ≤ q_p ≤ c₁/Z₁.
#[component("hopsan.HydraulicPressureControlledPump", q, constants = Least)]
pub struct PressureControlledPump {
    /// inlet
    #[port(name = "P1")]
    p1: Hydraulic,
    /// outlet
    #[port(name = "P2", side = "b")]
    p2: Hydraulic,
    /// reference of the pressure
    #[port(name = "PREF", optional)]
    reference: Hydraulic,
    /// ε — share of the largest flow that is delivered [–]
    #[output(name = "eps", start = "1")]
    setting: Signal,
    /// a — angle of the shaft [rad]
    #[output(name = "a")]
    angle: Signal,
    /// p_dif — wanted pressure above the reference [Pa]
    #[input(name = "p_dif", default = "1e6 Pa")]
    pub margin: f64,
    /// n — speed [rad/s]
    #[input(name = "omega_p", default = "125 rad/s")]
    pub speed: f64,
    /// q_max — largest flow at 125 rad/s [m^3/s]
    #[input(name = "q_max", default = "0.00125 m^3/s")]
    pub most: f64,
    /// l_p — inductance of the regulator at 7 MPa [Pa*s^2/m^3]
    #[input(name = "l_p", default = "7e7 Pa*s^2/m^3")]
    pub inductance: f64,
    /// r_p — static characteristic of the regulator at 7 MPa [Pa*s/m^3]
    #[input(name = "r_p", default = "1e9 Pa*s/m^3")]
    pub droop: f64,
    /// ω₁ — lead frequency of the regulator [rad/s]
    #[input(name = "omega_p1", default = "200 rad/s")]
    pub lead: f64,
    /// C_l — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "C_lp", default = "1e-12 m^3/(s*Pa)")]
    pub leakage: f64,
    /// τ_v — time constant of the control valve [s]
    #[input(name = "tao_v", default = "0.001 s")]
    pub valve_time: f64,
    /// t_p — time from no to full displacement [s]
    #[input(name = "t_p", default = "0.15 s")]
    pub rise_time: f64,
    /// t_m — time from full to no displacement [s]
    #[input(name = "t_m", default = "0.12 s")]
    pub fall_time: f64,
    /// q_min — smallest flow at 125 rad/s [m^3/s]
    #[parameter(name = "q_min", default = "0 m^3/s")]
    pub least: f64,
    /// – — regulator's output one step ago [Pa*s]
    #[memory]
    output_1: Memory,
    /// – — regulator's output two steps ago [Pa*s]
    #[memory]
    output_2: Memory,
    /// – — regulator's input one step ago [Pa]
    #[memory]
    error_1: Memory,
    /// – — regulator's input two steps ago [Pa]
    #[memory]
    error_2: Memory,
}

/// Smallest flow of [`PressureControlledPump`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Least<T> {
    least: T,
}

/// A flow from one end to another, kept to what leaves both pressures positive.
///
/// An end without impedance bounds nothing, or gives 0/0, which must not spread: the bound is asked
/// for the larger of two, not the flow.
#[wide]
#[inline(always)]
pub fn kept_to_waves<T: Num>(flow: T, from: End<T>, to: End<T>) -> T {
    let zero = T::zero();
    let is_tight = to.effort(flow).lt(zero) | from.effort(-flow).lt(zero);
    let kept = || {
        let least = -to.wave / to.impedance;
        let most = from.wave / from.impedance;
        T::select(is_tight, most.min(least.max(flow)), flow)
    };
    // The usual flow leaves them positive: both divisions are spared.
    T::where_any(is_tight, kept, || flow)
}

/// Flow from one end to another for an ideal flow and a leakage between them.
#[inline(always)]
fn delivered<T: Num>(ideal: T, leakage: T, from: End<T>, to: End<T>) -> T {
    (ideal + leakage * (from.wave - to.wave)) / ((from.impedance + to.impedance) * leakage + 1.0)
}

#[inline(always)]
fn set_through<T: Num>(io: &mut Step<'_, T>, ports: [usize; 2], flow: T, pressures: [T; 2]) {
    for (i, flow) in [-flow, flow].into_iter().enumerate() {
        let bond = io.bond_mut(ports[i]);
        bond.flow = flow;
        bond.effort = pressures[i];
    }
}

impl Physics for FixedDisplacementPump {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        io.set_output(Self::ANGLE, T::zero());
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (from, to) = (End::at(io, Self::P1), End::at(io, Self::P2));
        let (speed, leakage) = (io.input(Self::SPEED), io.input(Self::LEAKAGE));
        let ideal = io.input(Self::DISPLACEMENT) * speed * (1.0 / TAU);
        let mut flow = kept_to_waves(delivered(ideal, leakage, from, to), from, to);
        let mut pressures = [from.effort(-flow), to.effort(flow)];
        let zero = T::zero();
        let dry = pressures.map(|p| p.lt(zero));
        let any = dry[0] | dry[1];
        if any.any() {
            let (from, to) = (from.dry_where(dry[0]), to.dry_where(dry[1]));
            let mut again = delivered(ideal, leakage, from, to);
            // The inlet's pressure keeps to the first flow.
            let found = [from.effort(-flow), to.effort(again)];
            again = T::select(found[0].le(zero), again.min(zero), again);
            again = T::select(found[1].le(zero), again.max(zero), again);
            flow = T::select(any, again, flow);
            for i in 0..2 {
                pressures[i] = T::select(any, found[i].max(zero), pressures[i]);
            }
        }
        set_through(io, [Self::P1, Self::P2], flow, pressures);
        let angle = io.output(Self::ANGLE) + speed * io.dt;
        io.set_output(Self::ANGLE, angle);
    }
}

impl Physics for VariableDisplacementPump {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (from, to) = (End::at(io, Self::P1), End::at(io, Self::P2));
        let speed = io.input(Self::SPEED);
        let ideal = io.input(Self::DISPLACEMENT) * speed * io.input(Self::SETTING) * (1.0 / TAU);
        let flow = delivered(ideal, io.input(Self::LEAKAGE), from, to);
        let flow = kept_to_waves(flow, from, to);
        let pressures = [from.effort(-flow), to.effort(flow)];
        set_through(io, [Self::P1, Self::P2], flow, pressures);
        let angle = io.output(Self::ANGLE) + speed * io.dt;
        io.set_output(Self::ANGLE, angle);
    }
}

/// Pressure that the regulator's characteristics are given for, Pa.
const NOMINAL_PRESSURE: f64 = 7e6;
/// Speed that the flows are given for, rad/s.
const NOMINAL_SPEED: f64 = 125.0;

/// Waves behind the leakage of a machine, and what is left of the impedances.
#[derive(Clone, Copy, Debug)]
pub struct BehindLeakage<T> {
    /// γ = 1/(1 + C_l·(Z₁ + Z₂)).
    pub share: T,
    /// Waves at the inside of the leakage.
    pub waves: [T; 2],
}

impl<T: Num> BehindLeakage<T> {
    /// Looks through a leakage at both ends.
    #[wide]
    #[inline(always)]
    pub fn new(leakage: T, one: End<T>, two: End<T>) -> Self {
        let share = (leakage * (one.impedance + two.impedance) + 1.0).recip();
        let seen = |near: End<T>, far: End<T>| {
            (leakage * far.impedance + 1.0) * share * near.wave
                + leakage * near.impedance * share * far.wave
        };
        Self { share, waves: [seen(one, two), seen(two, one)] }
    }
}

/// The regulator's numbers at a pressure and speed.
struct Regulator<T> {
    inductance: T,
    /// N — what turns its output into flow.
    denominator: T,
    /// Z₂ behind the leakage.
    impedance: T,
}

impl PressureControlledPump {
    #[inline(always)]
    fn regulator<T: Num>(io: &Step<'_, T>, pressure: T, share: T) -> Regulator<T> {
        let impedance = io.impedance(Self::P2) * share;
        let inductance = io.input(Self::INDUCTANCE)
            * (T::of(NOMINAL_PRESSURE) / pressure).sqrt()
            * (T::of(NOMINAL_SPEED) / (io.input(Self::SPEED) + 0.001));
        let denominator = inductance
            + io.input(Self::DROOP) * io.input(Self::VALVE_TIME)
            + impedance / io.input(Self::LEAD);
        Regulator { inductance, denominator, impedance }
    }
}

impl Physics for PressureControlledPump {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Least<f64>, Refusal> {
        Ok(Least { least: self.least })
    }

    fn start<T: Num>(_: &Least<T>, io: &mut Step<'_, T>) {
        let (one, two) = (End::at(io, Self::P1), End::at(io, Self::P2));
        let behind = BehindLeakage::new(io.input(Self::LEAKAGE), one, two);
        let flow =
            io.input(Self::MOST) * io.output(Self::SETTING) * io.input(Self::SPEED) / NOMINAL_SPEED;
        let pressure = io.effort(Self::P2).max(T::one());
        let y = flow * Self::regulator(io, pressure, behind.share).denominator;
        let error = io.input(Self::MARGIN) - behind.waves[1] + io.wave(Self::REFERENCE);
        for (at, value) in [
            (Self::OUTPUT_1, y),
            (Self::OUTPUT_2, y),
            (Self::ERROR_1, error),
            (Self::ERROR_2, error),
        ] {
            io.set_memory(at, value);
        }
        let bond = io.bond_mut(Self::P2);
        bond.flow = flow;
        bond.effort = pressure;
        io.set_output(Self::ANGLE, T::zero());
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Least<T>, io: &mut Step<'_, T>) {
        let (one, two) = (End::at(io, Self::P1), End::at(io, Self::P2));
        let (dt, speed) = (io.dt, io.input(Self::SPEED));
        let leakage = io.input(Self::LEAKAGE);
        let behind = BehindLeakage::new(leakage, one, two);
        let pressure = io.effort(Self::P2).max(T::one());
        let reference = io.wave(Self::REFERENCE).max(T::zero());
        let regulator = Self::regulator(io, pressure, behind.share);
        let unit = regulator.denominator;
        let most = io.input(Self::MOST) * (speed / NOMINAL_SPEED);
        let least = k.least * (speed / NOMINAL_SPEED);
        let error = io.input(Self::MARGIN) - behind.waves[1] + reference;
        // Bilinear: s becomes 2/T·(1 − z)/(1 + z).
        let [y1, y2, u1, u2] =
            [Self::OUTPUT_1, Self::OUTPUT_2, Self::ERROR_1, Self::ERROR_2].map(|i| io.memory(i));
        let square = regulator.inductance * io.input(Self::VALVE_TIME) / unit * (4.0 / (dt * dt));
        let constant = (io.input(Self::DROOP) + regulator.impedance) / unit;
        let lead = T::of(2.0 / dt) / io.input(Self::LEAD);
        let y = ((lead + 1.0) * error + u1 * 2.0 + (T::one() - lead) * u2
            - (constant - square) * 2.0 * y1
            - (constant + square - 2.0 / dt) * y2)
            / (constant + square + 2.0 / dt);
        let drive = (pressure - 1e5).abs() / NOMINAL_PRESSURE;
        let fastest = most * unit * (drive / io.input(Self::RISE_TIME)).sqrt();
        let slowest = -(most * unit * (drive / io.input(Self::FALL_TIME)).sqrt());
        let slope = (y - y1) / dt;
        let y = T::select(
            slope.gt(fastest),
            y1 + fastest * dt,
            T::select(slope.le(slowest), y1 + slowest * dt, y),
        );
        let (low, high) = (least * unit, most * unit);
        let y = T::select(y.gt(high), high, T::select(y.lt(low), low, y));
        for (at, value) in
            [(Self::OUTPUT_1, y), (Self::OUTPUT_2, y1), (Self::ERROR_1, error), (Self::ERROR_2, u1)]
        {
            io.set_memory(at, value);
        }
        let pumped = kept_to_waves(y / unit, one, two);
        let p1 = behind.waves[0] - one.impedance * behind.share * pumped;
        let p2 = behind.waves[1] + two.impedance * behind.share * pumped;
        let flow = pumped - leakage * (p2 - p1);
        set_through(io, [Self::P1, Self::P2], flow, [p1, p2]);
        let bond = io.bond_mut(Self::REFERENCE);
        bond.flow = T::zero();
        bond.effort = reference;
        io.set_output(Self::SETTING, flow / most);
        let angle = io.output(Self::ANGLE) + speed * dt;
        io.set_output(Self::ANGLE, angle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    const SPEED: f64 = 100.0;
    const DISPLACEMENT: f64 = 5e-5;

    fn fixed() -> Bench<FixedDisplacementPump> {
        let pump = FixedDisplacementPump { speed: 0.0, displacement: 0.0, leakage: 0.0 };
        let mut bench = Bench::new(&pump, 1e-3);
        bench
            .input(FixedDisplacementPump::SPEED, SPEED)
            .input(FixedDisplacementPump::DISPLACEMENT, DISPLACEMENT)
            .input(FixedDisplacementPump::LEAKAGE, 1e-11)
            .start();
        bench
    }

    #[test]
    fn a_fixed_pump_delivers_its_displacement_less_its_leakage() {
        let mut pump = fixed();
        pump.line(0, 1e5, 0.0).line(1, 8e6, 1e9).step();
        let (q, p1, p2) = (pump.flow(1), pump.effort(0), pump.effort(1));
        assert!((q - (DISPLACEMENT * SPEED / TAU + 1e-11 * (p1 - p2))).abs() < 1e-15);
        assert_eq!(pump.flow(0), -q);
        assert!((pump.step().output(0) - 2.0 * SPEED * 1e-3).abs() < 1e-12);
    }

    #[test]
    fn a_pump_draws_no_more_than_its_inlet_gives() {
        let mut pump = fixed();
        pump.line(0, 3e5, 1e10).line(1, 0.0, 1e9).step();
        assert!(pump.effort(0) >= 0.0);
        assert!(pump.flow(1) == 3e5 / 1e10 || pump.flow(1) == 0.0);
        // A tank at no pressure bounds nothing: 0/0 must not reach the flow.
        pump.line(0, 0.0, 0.0).line(1, 0.0, 0.0).step();
        assert!((pump.flow(1) - DISPLACEMENT * SPEED / TAU).abs() < 1e-15);
    }

    #[test]
    fn a_variable_pump_follows_its_setting_to_both_sides() {
        let pump =
            VariableDisplacementPump { setting: 0.0, speed: 0.0, displacement: 0.0, leakage: 0.0 };
        let mut bench = Bench::new(&pump, 1e-3);
        bench
            .input(VariableDisplacementPump::SPEED, SPEED)
            .input(VariableDisplacementPump::DISPLACEMENT, DISPLACEMENT)
            .start();
        for setting in [1.0, 0.3, -0.7] {
            bench.input(VariableDisplacementPump::SETTING, setting);
            bench.line(0, 1e6, 0.0).line(1, 1e6, 0.0).step();
            assert!((bench.flow(1) - setting * DISPLACEMENT * SPEED / TAU).abs() < 1e-15);
        }
    }

    #[test]
    fn a_controlled_pump_holds_its_pressure_less_the_droop() {
        type Pump = PressureControlledPump;
        let pump = Pump {
            margin: 0.0,
            speed: 0.0,
            most: 0.0,
            inductance: 0.0,
            droop: 0.0,
            lead: 0.0,
            leakage: 0.0,
            valve_time: 0.0,
            rise_time: 0.0,
            fall_time: 0.0,
            least: 0.0,
        };
        let (droop, margin, reference) = (1e9, 5e6, 1e6);
        let mut bench = Bench::new(&pump, 1e-3);
        for (input, value) in [
            (Pump::MARGIN, margin),
            (Pump::SPEED, 150.0),
            (Pump::MOST, 1.25e-3),
            (Pump::INDUCTANCE, 7e7),
            (Pump::DROOP, droop),
            (Pump::LEAD, 200.0),
            (Pump::VALVE_TIME, 1e-3),
            (Pump::RISE_TIME, 0.15),
            (Pump::FALL_TIME, 0.12),
        ] {
            bench.input(input, value);
        }
        bench.start();
        for _ in 0..5000 {
            bench.line(Pump::P1, 1e5, 0.0).line(Pump::P2, 4e6, 2e9);
            bench.line(Pump::REFERENCE, reference, 0.0).step();
        }
        let (q, p) = (bench.flow(Pump::P2), bench.effort(Pump::P2));
        assert!(q > 0.0 && q < 1.25e-3 * 150.0 / 125.0);
        assert!((p - (margin + reference - droop * q)).abs() < 1.0, "{p}");
        assert!((bench.output(Pump::SETTING) - q / 1.5e-3).abs() < 1e-12);
        // At its largest flow it can do no more.
        for _ in 0..5000 {
            bench.line(Pump::P2, 1e6, 1e8).step();
        }
        assert!((bench.flow(Pump::P2) - 1.5e-3).abs() < 1e-12);
    }
}
