//! Sources of force and motion, and fixed ends.

use super::body::move_port;
use crate::blocks::{FirstOrder, Integrator};
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::{Mask, Num};
use fluxline_core::{Constants, component};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<ForceTransformer>(),
    ComponentType::of::<TorqueTransformer>(),
    ComponentType::of::<TranslationalCSource>(),
    ComponentType::of::<Motor>(),
    ComponentType::of::<VelocityTransformer>(),
    ComponentType::of::<ThetaSource>(),
    ComponentType::of::<AngularVelocityTransformer>(),
    ComponentType::of::<TranslationalQSource>(),
    ComponentType::of::<FixedPosition>(),
    ComponentType::of::<FixedPositionMultiPort>(),
    ComponentType::of::<FreeLengthWall>(),
];

/// Force given by a signal: c = F, without impedance.
#[component("hopsan.MechanicForceTransformer", c)]
pub struct ForceTransformer {
    /// what it pushes
    #[port(name = "P1")]
    p1: Translational,
    /// F — force [N]
    #[input(name = "F", default = "0 N")]
    pub force: f64,
}

impl Physics for ForceTransformer {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let force = io.input(Self::FORCE);
        let bond = io.bond_mut(Self::P1);
        bond.effort = force;
        let unset = bond.wave.abs().le(T::zero());
        bond.wave = T::select(unset, force, bond.wave);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        io.bond_mut(Self::P1).wave = io.input(Self::FORCE);
    }
}

/// Torque given by a signal: c = T, without impedance.
#[component("hopsan.MechanicTorqueTransformer", c)]
pub struct TorqueTransformer {
    /// what it drives
    #[port(name = "P1")]
    p1: Rotational,
    /// T — torque [N*m]
    #[input(name = "T", default = "0 N*m")]
    pub torque: f64,
}

impl Physics for TorqueTransformer {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(constants: &NoConstants<T>, io: &mut Step<'_, T>) {
        io.bond_mut(Self::P1).effort = io.input(Self::TORQUE);
        Self::step(constants, io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let torque = io.input(Self::TORQUE);
        io.set_wave(Self::P1, torque, T::zero());
    }
}

/// Wave and impedance given by signals.
#[component("hopsan.MechanicTranslationalCSource", c)]
pub struct TranslationalCSource {
    /// what it pushes
    #[port(name = "P1")]
    p1: Translational,
    /// c — wave [N]
    #[input(name = "in_c", default = "0 N")]
    pub wave: f64,
    /// Z — impedance [N*s/m]
    #[input(name = "in_z", default = "0 N*s/m")]
    pub impedance: f64,
}

impl Physics for TranslationalCSource {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(constants: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(constants, io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (wave, impedance) = (io.input(Self::WAVE), io.input(Self::IMPEDANCE));
        io.set_wave(Self::P1, wave, impedance);
    }
}

/// Motor that keeps a speed: its torque is that of a PID controller.
///
/// e = ω_ref + ω;  c = K_p·e + K_i·∫e + K_d·de/dt, the derivative by the bilinear rule without
/// damping; no impedance
#[component("hopsan.MechanicMotor", c)]
pub struct Motor {
    /// shaft
    #[port(name = "P1")]
    p1: Rotational,
    /// ω_ref — wanted angular velocity [rad/s]
    #[input(name = "omega_ref", default = "0 rad/s")]
    pub wanted_speed: f64,
    /// K_p — proportional gain [N*m*s]
    #[input(name = "K_p", default = "10 N*m*s")]
    pub proportional: f64,
    /// K_i — integral gain [N*m]
    #[input(name = "K_i", default = "100 N*m")]
    pub integral: f64,
    /// K_d — derivative gain [N*m*s^2]
    #[input(name = "K_d", default = "100 N*m*s^2")]
    pub derivative: f64,
    /// – — error one step ago, for the integral [rad/s]
    #[memory]
    error_1: Memory,
    /// – — integral of the error [rad]
    #[memory]
    error_integral: Memory,
    /// – — error one step ago, for the derivative [rad/s]
    #[memory]
    slope_error_1: Memory,
    /// – — derivative of the error one step ago [rad/s²]
    #[memory]
    slope_1: Memory,
}

impl Motor {
    const SUM: Integrator = Integrator(Self::ERROR_1);
    const SLOPE: FirstOrder = FirstOrder(Self::SLOPE_ERROR_1);
}

impl Physics for Motor {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::SUM.start(io, T::zero(), T::zero());
        Self::SLOPE.start(io, T::zero(), T::zero());
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (zero, one) = (T::zero(), T::one());
        let error = io.input(Self::WANTED_SPEED) + io.flow(Self::P1);
        let sum = Self::SUM.step(io, error);
        let slope = Self::SLOPE.free(io, [zero, one], [one, zero], error);
        let torque = error * io.input(Self::PROPORTIONAL)
            + io.input(Self::INTEGRAL) * sum
            + io.input(Self::DERIVATIVE) * slope;
        io.set_wave(Self::P1, torque, zero);
    }
}

/// Where a source of motion takes its position from, and the mass it pretends to have.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Motion<T> {
    position_is_driven: bool,
    mass: T,
}

/// Starts a source of motion with speed and position, which the integrator remembers.
#[inline(always)]
fn start_motion<T: Num>(io: &mut Step<'_, T>, position: Integrator, v: T, x: T) {
    position.start(io, v, x);
    move_port(io, 0, v, x);
}

/// Moves on: the position is the signal's if that is driven, else follows from the speed.
#[inline(always)]
fn step_motion<T: Num>(k: &Motion<T>, io: &mut Step<'_, T>, position: Integrator, v: T, driven: T) {
    let x = if k.position_is_driven { driven } else { position.step(io, v) };
    move_port(io, 0, v, x);
}

/// Speed given by a signal; the position follows by the trapezoidal rule, or is given too.
#[component("hopsan.MechanicVelocityTransformer", q, constants = Motion)]
pub struct VelocityTransformer {
    /// what it moves
    #[port(name = "Pm1")]
    p1: Translational,
    /// v — speed [m/s]
    #[input(name = "v", default = "0 m/s")]
    pub speed: f64,
    /// x — position; only its start when no signal drives it [m]
    #[input(name = "x", default = "0 m")]
    pub position: f64,
    /// – — whether a signal drives the position [–]
    #[parameter(name = "x_connected", default = "false")]
    pub position_is_driven: bool,
    /// m_e — equivalent mass [kg]
    #[parameter(name = "m_e", default = "10 kg")]
    pub mass: f64,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
}

impl Physics for VelocityTransformer {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<Motion<f64>, Refusal> {
        Ok(Motion { position_is_driven: self.position_is_driven, mass: self.mass })
    }

    fn start<T: Num>(k: &Motion<T>, io: &mut Step<'_, T>) {
        let (v, x) = (io.input(Self::SPEED), io.input(Self::POSITION));
        start_motion(io, Integrator(Self::SPEED_1), v, x);
        io.bond_mut(Self::P1).dry = k.mass;
    }

    #[inline(always)]
    fn step<T: Num>(k: &Motion<T>, io: &mut Step<'_, T>) {
        let (v, x) = (io.input(Self::SPEED), io.input(Self::POSITION));
        step_motion(k, io, Integrator(Self::SPEED_1), v, x);
    }
}

/// Angular velocity given by a signal; the angle follows by the trapezoidal rule, or is given too.
#[component("hopsan.MechanicThetaSource", q, constants = Motion)]
pub struct ThetaSource {
    /// what it turns
    #[port(name = "Pmr1")]
    p1: Rotational,
    /// θ — angle; only its start when no signal drives it [rad]
    #[input(name = "thetain", default = "0 rad")]
    pub angle: f64,
    /// ω — angular velocity [rad/s]
    #[input(name = "omega", default = "0 rad/s")]
    pub speed: f64,
    /// – — whether a signal drives the angle [–]
    #[parameter(name = "thetain_connected", default = "false")]
    pub angle_is_driven: bool,
    /// – — angular velocity one step ago [rad/s]
    #[memory]
    speed_1: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
}

impl Physics for ThetaSource {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<Motion<f64>, Refusal> {
        Ok(Motion { position_is_driven: self.angle_is_driven, mass: 0.0 })
    }

    fn start<T: Num>(_: &Motion<T>, io: &mut Step<'_, T>) {
        let (w, angle) = (io.input(Self::SPEED), io.input(Self::ANGLE));
        start_motion(io, Integrator(Self::SPEED_1), w, angle);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Motion<T>, io: &mut Step<'_, T>) {
        let (w, angle) = (io.input(Self::SPEED), io.input(Self::ANGLE));
        step_motion(k, io, Integrator(Self::SPEED_1), w, angle);
    }
}

/// Angular velocity given by a signal; the angle starts where the model says and follows by the
/// trapezoidal rule.
#[component("hopsan.MechanicAngularVelocityTransformer", q)]
pub struct AngularVelocityTransformer {
    /// what it turns
    #[port(name = "out")]
    p1: Rotational,
    /// ω — angular velocity [rad/s]
    #[input(name = "omega", default = "0 rad/s")]
    pub speed: f64,
    /// – — angular velocity one step ago [rad/s]
    #[memory]
    speed_1: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
}

impl Physics for AngularVelocityTransformer {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (w, angle) = (io.input(Self::SPEED), io.displacement(Self::P1));
        Integrator(Self::SPEED_1).start(io, w, angle);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let w = io.input(Self::SPEED);
        let angle = Integrator(Self::SPEED_1).step(io, w);
        move_port(io, Self::P1, w, angle);
    }
}

/// Force, speed, position and equivalent mass given by signals.
#[component("hopsan.MechanicTranslationalQSource", q)]
pub struct TranslationalQSource {
    /// what it moves
    #[port(name = "P1")]
    p1: Translational,
    /// F — force [N]
    #[input(name = "in_f", default = "0 N")]
    pub force: f64,
    /// v — speed [m/s]
    #[input(name = "in_v", default = "0 m/s")]
    pub speed: f64,
    /// x — position [m]
    #[input(name = "in_x", default = "0 m")]
    pub position: f64,
    /// m_e — equivalent mass [kg]
    #[input(name = "in_em", default = "1 kg")]
    pub mass: f64,
}

impl Physics for TranslationalQSource {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(constants: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(constants, io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (v, x) = (io.input(Self::SPEED), io.input(Self::POSITION));
        let force = io.input(Self::FORCE);
        io.set_motion(Self::P1, v, x, force);
        io.bond_mut(Self::P1).dry = io.input(Self::MASS);
    }
}

/// Mass that a fixed end pretends to have.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Fixed<T> {
    mass: T,
}

impl<T: Num> Fixed<T> {
    fn start(&self, io: &mut Step<'_, T>) {
        for port in 0..io.port_count() {
            let bond = io.bond_mut(port);
            (bond.flow, bond.dry) = (T::zero(), self.mass);
        }
    }

    #[inline(always)]
    fn hold(&self, io: &mut Step<'_, T>) {
        for port in 0..io.port_count() {
            let bond = io.bond_mut(port);
            bond.effort = bond.wave;
        }
    }
}

/// Fixed end: v = 0, F = c.
#[component("hopsan.MechanicFixedPosition", q, constants = Fixed)]
pub struct FixedPosition {
    /// what it holds
    #[port(name = "Pm1")]
    p1: Translational,
    /// m_e — equivalent mass [kg]
    #[parameter(name = "m_e", default = "1 kg")]
    pub mass: f64,
}

impl Physics for FixedPosition {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<Fixed<f64>, Refusal> {
        Ok(Fixed { mass: self.mass })
    }

    fn start<T: Num>(k: &Fixed<T>, io: &mut Step<'_, T>) {
        k.start(io);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Fixed<T>, io: &mut Step<'_, T>) {
        k.hold(io);
    }
}

/// Fixed end for any number of connections: v = 0, F = c at each.
#[component("hopsan.MechanicFixedPositionMultiPort", q, constants = Fixed)]
pub struct FixedPositionMultiPort {
    /// what it holds
    #[port(name = "Pm1", many)]
    p1: Translational,
    /// m_e — equivalent mass [kg]
    #[parameter(name = "m_e", default = "1 kg")]
    pub mass: f64,
}

impl Physics for FixedPositionMultiPort {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<Fixed<f64>, Refusal> {
        Ok(Fixed { mass: self.mass })
    }

    fn start<T: Num>(k: &Fixed<T>, io: &mut Step<'_, T>) {
        k.start(io);
    }

    #[inline(always)]
    fn step<T: Num>(k: &Fixed<T>, io: &mut Step<'_, T>) {
        k.hold(io);
    }
}

/// Wall and stop of a free end.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Wall<T> {
    stop: T,
    mass: T,
}

/// Free end that meets a wall: it follows the wave against a small friction until it is at the stop.
///
/// x = −c/((B + Z)·s) by the bilinear rule, v = −(c + c₋)/(B + Z) − v₋; F = 0. For x ≤ stop:
/// x = stop, v = 0, F = c.
#[component("hopsan.MechanicFreeLengthWall", q, constants = Wall)]
pub struct FreeLengthWall {
    /// the end
    #[port(name = "Pm1")]
    p1: Translational,
    /// B — friction of the free end [N*s/m]
    #[input(name = "B", default = "0.001 N*s/m")]
    pub friction: f64,
    /// m_e — equivalent mass [kg]
    #[parameter(name = "m_e", default = "1 kg")]
    pub mass: f64,
    /// x_s — position of the wall [m]
    #[parameter(name = "stop_pos", default = "0 m")]
    pub stop: f64,
    /// – — force one step ago, for the position [N]
    #[memory]
    force_1: Memory,
    /// – — position one step ago [m]
    #[memory]
    position_1: Memory,
    /// – — force one step ago, for the speed [N]
    #[memory]
    speed_force_1: Memory,
    /// – — speed one step ago [m/s]
    #[memory]
    speed_1: Memory,
}

impl FreeLengthWall {
    const TRAVEL: FirstOrder = FirstOrder(Self::FORCE_1);
    const SPEED: FirstOrder = FirstOrder(Self::SPEED_FORCE_1);
}

impl Physics for FreeLengthWall {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Boundary;

    fn prepare(&self, _: &Environment) -> Result<Wall<f64>, Refusal> {
        Ok(Wall { stop: self.stop, mass: self.mass })
    }

    fn start<T: Num>(k: &Wall<T>, io: &mut Step<'_, T>) {
        let force = -io.wave(Self::P1);
        let (x, v) = (io.displacement(Self::P1), io.flow(Self::P1));
        Self::TRAVEL.start(io, force, x);
        Self::SPEED.start(io, force, v);
        io.bond_mut(Self::P1).dry = k.mass;
    }

    #[inline(always)]
    fn step<T: Num>(k: &Wall<T>, io: &mut Step<'_, T>) {
        let (zero, one) = (T::zero(), T::one());
        let wave = io.wave(Self::P1);
        let resistance = io.input(Self::FRICTION) + io.impedance(Self::P1);
        let x = Self::TRAVEL.free(io, [one, zero], [zero, resistance], -wave);
        let v = Self::SPEED.free(io, [one, zero], [resistance, zero], -wave);
        let touches = x.le(k.stop);
        let (x, v) = (T::select(touches, k.stop, x), T::select(touches, zero, v));
        if touches.any() {
            Self::TRAVEL.start(io, -wave, x);
            Self::SPEED.start(io, -wave, v);
        }
        io.set_motion(Self::P1, v, x, T::select(touches, wave, zero));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    const DT: f64 = 1e-3;

    #[test]
    fn a_force_source_pushes_with_its_signal_and_does_not_resist() {
        let mut bench = Bench::new(&ForceTransformer { force: 0.0 }, DT);
        bench.input(0, 8.0).start();
        assert_eq!((bench.effort(0), bench.state.bonds[0].wave), (8.0, 8.0));
        bench.input(0, 9.0).step().impose_flow(0, 3.0);
        assert_eq!(bench.effort(0), 9.0);
        let mut bench = Bench::new(&TorqueTransformer { torque: 0.0 }, DT);
        bench.line(0, 1.0, 5.0).input(0, 8.0).start();
        assert_eq!((bench.effort(0), bench.state.bonds[0].impedance), (8.0, 0.0));
    }

    #[test]
    fn wave_and_impedance_of_a_wave_source_are_its_signals() {
        let mut bench = Bench::new(&TranslationalCSource { wave: 0.0, impedance: 0.0 }, DT);
        bench.input(0, 8.0).input(1, 2.0).step().impose_flow(0, 3.0);
        assert_eq!(bench.effort(0), 14.0);
    }

    #[test]
    fn a_source_of_motion_integrates_its_speed_unless_its_position_is_driven() {
        for driven in [false, true] {
            let source = VelocityTransformer {
                speed: 0.0,
                position: 0.0,
                position_is_driven: driven,
                mass: 3.0,
            };
            let mut bench = Bench::new(&source, DT);
            bench.line(0, 10.0, 2.0).input(0, 1.0).input(1, 0.5).start();
            assert_eq!((bench.effort(0), bench.state.bonds[0].dry), (12.0, 3.0));
            bench.input(0, 3.0).input(1, 0.7).step();
            assert_eq!(bench.effort(0), 16.0);
            let expected = if driven { 0.7 } else { 0.5 + 2.0 * DT };
            assert_eq!(bench.state.bonds[0].displacement, expected);
            let source = ThetaSource { angle: 0.0, speed: 0.0, angle_is_driven: driven };
            let mut bench = Bench::new(&source, DT);
            bench.input(0, 0.5).input(1, 1.0).start().input(0, 0.7).input(1, 3.0).step();
            assert_eq!(bench.state.bonds[0].displacement, expected);
        }
        let mut bench = Bench::new(&AngularVelocityTransformer { speed: 0.0 }, DT);
        bench.state.bonds[0].displacement = 0.5;
        bench.input(0, 1.0).start().input(0, 3.0).step();
        assert_eq!(bench.state.bonds[0].displacement, 0.5 + 2.0 * DT);
    }

    #[test]
    fn a_source_of_everything_writes_its_signals() {
        let source = TranslationalQSource { force: 0.0, speed: 0.0, position: 0.0, mass: 0.0 };
        let mut bench = Bench::new(&source, DT);
        for i in 0..4 {
            bench.input(i, i as f64 + 1.0);
        }
        bench.step();
        let bond = bench.state.bonds[0];
        assert_eq!([bond.effort, bond.flow, bond.displacement, bond.dry], [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn a_fixed_end_takes_the_wave_as_force_and_stays() {
        let around =
            Surroundings { places: vec![3], ..Surroundings::of::<FixedPositionMultiPort>(DT) };
        let mut bench = Bench::within(&FixedPositionMultiPort { mass: 4.0 }, &around).unwrap();
        bench.state.bonds[2].flow = 1.0;
        bench.start().line(2, 5.0, 9.0).step();
        assert_eq!((bench.flow(2), bench.effort(2), bench.state.bonds[1].dry), (0.0, 5.0, 4.0));
        let mut bench = Bench::new(&FixedPosition { mass: 4.0 }, DT);
        bench.start().line(0, 5.0, 9.0).step();
        assert_eq!((bench.flow(0), bench.effort(0)), (0.0, 5.0));
    }

    #[test]
    fn a_free_end_is_without_force_until_it_meets_the_wall() {
        let mut bench = Bench::new(&FreeLengthWall { friction: 0.0, mass: 1.0, stop: -0.1 }, DT);
        bench.input(0, 1.0).start();
        bench.line(0, 20.0, 1.0).step();
        // first step from rest: x = −T/2·20/2
        assert!((bench.state.bonds[0].displacement + 0.5 * DT * 10.0).abs() < 1e-15);
        assert_eq!(bench.effort(0), 0.0);
        for _ in 0..11 {
            bench.step();
        }
        let bond = bench.state.bonds[0];
        assert_eq!((bond.displacement, bond.flow, bond.effort), (-0.1, 0.0, 20.0));
    }

    #[test]
    fn a_motor_drives_with_all_three_parts_of_its_controller() {
        let motor = Motor { wanted_speed: 0.0, proportional: 0.0, integral: 0.0, derivative: 0.0 };
        let mut bench = Bench::new(&motor, DT);
        for (i, value) in [10.0, 2.0, 30.0, 4.0].into_iter().enumerate() {
            bench.input(i, value);
        }
        bench.start().impose_flow(0, -4.0).step();
        // e = 6 after 0: ∫e = 6·T/2, de/dt = 2·6/T
        let torque = 2.0 * 6.0 + 30.0 * 3.0 * DT + 4.0 * 12.0 / DT;
        assert!((bench.state.bonds[0].wave / torque - 1.0).abs() < 1e-12);
        bench.step();
        let torque = 2.0 * 6.0 + 30.0 * 9.0 * DT - 4.0 * 12.0 / DT;
        assert!((bench.state.bonds[0].wave / torque - 1.0).abs() < 1e-12, "it rings undamped");
    }
}
