//! Vehicles that are steered by their thrust, and their engine.

use super::body::{Body, Flow, Inertia, Loads, Motion, Shown, Vector, nozzle, vehicle};
use crate::blocks::{limit, solve};
use crate::held::Held;
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::{Dual, Num};
use fluxline_core::wide;

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<VehicleTvc>(),
    ComponentType::of::<VehicleTvc2>(),
    ComponentType::of::<CombustionChamber>(),
];

/// Declares one of two vehicles that differ in their pitch at the start.
macro_rules! rocket {
    ($(#[$($about:tt)*])* $name:ident, $pitch:literal) => {
        vehicle! {
            $(#[$($about)*])*
            pub struct $name, pitch = $pitch, {
                /// left nozzle, about y
                #[port(name = "Ptvcly")]
                left_y: Rotational,
                /// left nozzle, about z
                #[port(name = "Ptvclz")]
                left_z: Rotational,
                /// right nozzle, about y
                #[port(name = "Ptvcry")]
                right_y: Rotational,
                /// right nozzle, about z
                #[port(name = "Ptvcrz")]
                right_z: Rotational,
                /// – — thrust of the left engine [N]
                #[input(name = "thrustl", default = "0 N")]
                pub left_thrust: f64,
                /// – — thrust of the right engine [N]
                #[input(name = "thrustr", default = "0 N")]
                pub right_thrust: f64,
                /// g — gravity [m/s^2]
                #[input(name = "g0", default = "9.81 m/s^2")]
                pub gravity: f64,
                /// – — mass of fuel [kg]
                #[input(name = "Mfuel", default = "0 kg")]
                pub fuel_mass: f64,
                /// – — mass of cargo [kg]
                #[input(name = "Mcargo", default = "0 kg")]
                pub cargo_mass: f64,
                /// ρ — density of the air [kg/m^3]
                #[input(name = "rho", default = "1.25 kg/m^3")]
                pub density: f64,
                /// – — head wind [m/s]
                #[input(name = "vturbx", default = "0 m/s")]
                pub gust_x: f64,
                /// – — wind from the right [m/s]
                #[input(name = "vturby", default = "0 m/s")]
                pub gust_y: f64,
                /// – — wind from below [m/s]
                #[input(name = "vturbz", default = "0 m/s")]
                pub gust_z: f64,
                /// – — without effect [rad/s]
                #[input(name = "wturbx", default = "0 rad/s")]
                pub swirl_x: f64,
                /// – — pitch rate of the air [rad/s]
                #[input(name = "wturby", default = "0 rad/s")]
                pub swirl_y: f64,
                /// – — yaw rate of the air [rad/s]
                #[input(name = "wturbz", default = "0 rad/s")]
                pub swirl_z: f64,
                /// C_D — drag coefficient [–]
                #[input(name = "Cd0b", default = 0.004)]
                pub drag_body: f64,
                /// – — without effect [m]
                #[input(name = "Ctvc", default = "0.1 m")]
                pub nozzle_stiffness: f64,
                /// C_Lα — lift coefficient per angle of attack [–]
                #[input(name = "CLalphabh", default = 2)]
                pub lift_slope: f64,
                /// C_Yβ — side force coefficient per slip [–]
                #[input(name = "CLalphabv", default = 2)]
                pub side_slope: f64,
                /// – — without effect [–]
                #[input(name = "hthrust0", default = 0)]
                pub thrust_height: f64,
                /// I_x — moment of inertia about x [kg*m^2]
                #[input(name = "Ix", default = "1000 kg*m^2")]
                pub roll_inertia: f64,
                /// I_xz — product of inertia [kg*m^2]
                #[input(name = "Ixz", default = "500 kg*m^2")]
                pub cross_inertia: f64,
                /// I_y — moment of inertia about y [kg*m^2]
                #[input(name = "Iy", default = "3000 kg*m^2")]
                pub pitch_inertia: f64,
                /// I_z — moment of inertia about z [kg*m^2]
                #[input(name = "Iz", default = "3000 kg*m^2")]
                pub yaw_inertia: f64,
                /// M — mass without fuel and cargo [kg]
                #[input(name = "Me", default = "5000 kg")]
                pub empty_mass: f64,
                /// S_h — area from above [m^2]
                #[input(name = "Sbh", default = "5 m^2")]
                pub area: f64,
                /// S_v — area from the side [m^2]
                #[input(name = "Sbv", default = "5 m^2")]
                pub side_area: f64,
                /// x_h — place of the lift [m]
                #[input(name = "xbach", default = "8.5 m")]
                pub lift_place: f64,
                /// x_v — place of the side force [m]
                #[input(name = "xbacv", default = "8.5 m")]
                pub side_place: f64,
                /// – — place of the empty vehicle's centre of mass [m]
                #[input(name = "xbcge", default = "6 m")]
                pub empty_place: f64,
                /// – — place of the cargo [m]
                #[input(name = "xcargo", default = "6 m")]
                pub cargo_place: f64,
                /// – — place of the fuel [m]
                #[input(name = "xfuel", default = "6 m")]
                pub fuel_place: f64,
                /// x_e — place of the engines [m]
                #[input(name = "xeng", default = "0 m")]
                pub engine_place: f64,
                /// y_e — place of the engines to the side [m]
                #[input(name = "yeng", default = "0 m")]
                pub engine_offset: f64,
                /// – — stiffness of the ground [N/m]
                #[input(name = "kground", default = "10000 N/m")]
                pub ground_stiffness: f64,
                /// – — without effect [N*s/m]
                #[input(name = "cground", default = "1000 N*s/m")]
                pub ground_damping: f64,
                /// – — keeps its start value [–]
                #[output(name = "CL1")]
                lift_coefficient: Signal,
                /// – — keeps its start value [–]
                #[output(name = "Cd1")]
                drag_coefficient: Signal,
                /// – — −1 after the start [N]
                #[output(name = "Fax")]
                drag_force: Signal,
                /// – — −1 after the start [N]
                #[output(name = "Faz")]
                lift_force: Signal,
            }
        }

        impl $name {
            const HELD: Held = Held::inputs(Self::DRAG_BODY, Self::GROUND_DAMPING);
            const BODY: Body = Body(Self::HELD.count());

            #[wide]
            fn state<T: Num>(io: &Step<'_, T>, motion: &Motion<T>) -> State<T> {
                let held = |input| Self::HELD.get(io, input);
                let (fuel, cargo) = (io.input(Self::FUEL_MASS), io.input(Self::CARGO_MASS));
                let empty = held(Self::EMPTY_MASS);
                let mass = empty + cargo + fuel;
                let inertia = Inertia {
                    mass,
                    moments: [Self::ROLL_INERTIA, Self::PITCH_INERTIA, Self::YAW_INERTIA].map(held),
                    cross: held(Self::CROSS_INERTIA),
                    gravity: io.input(Self::GRAVITY),
                    ground: held(Self::GROUND_STIFFNESS),
                };
                let centre = (empty * held(Self::EMPTY_PLACE)
                    + cargo * held(Self::CARGO_PLACE)
                    + fuel * held(Self::FUEL_PLACE))
                    / mass;
                let relative =
                    std::array::from_fn(|i| motion.velocity[i] + io.input(Self::GUST_X + i));
                let flow = Flow::new(relative, io.input(Self::DENSITY));
                let q = flow.pressure;
                let engine = |thrust, y, z| {
                    nozzle(io.displacement(y), io.displacement(z)).map(|x| x * io.input(thrust))
                };
                let left: Vector<T> = engine(Self::LEFT_THRUST, Self::LEFT_Y, Self::LEFT_Z);
                let right: Vector<T> = engine(Self::RIGHT_THRUST, Self::RIGHT_Y, Self::RIGHT_Z);
                let lift = held(Self::LIFT_SLOPE) * held(Self::AREA) * q;
                let side = held(Self::SIDE_SLOPE) * held(Self::SIDE_AREA) * q;
                let drag = held(Self::DRAG_BODY) * held(Self::AREA) * q;
                let (up, along) = (lift * flow.attack.sin(), side * flow.slip.sin());
                let back = drag * flow.attack.cos() * flow.slip.cos();
                let force = [
                    left[0] + right[0] - back,
                    left[1] + right[1] + along,
                    left[2] + right[2] - up,
                ];
                let (lift_arm, side_arm) =
                    (held(Self::LIFT_PLACE) - centre, held(Self::SIDE_PLACE) - centre);
                let brake = |force: T, arm: T| force * arm.squared() / (flow.speed + 0.1);
                let pitch_rate = motion.spin[1] + io.input(Self::SWIRL_Y);
                let yaw_rate = motion.spin[2] + io.input(Self::SWIRL_Z);
                let engine_arm = centre - held(Self::ENGINE_PLACE);
                let moment = [
                    held(Self::ENGINE_OFFSET) * (right[2] - left[2]),
                    -(brake(lift, lift_arm) * pitch_rate)
                        - up * lift_arm
                        - engine_arm * (left[2] + right[2]),
                    along * side_arm
                        - brake(side, side_arm) * yaw_rate
                        - engine_arm * (left[1] + right[1]),
                ];
                State { flow, inertia, loads: Loads { force, moment } }
            }
        }

        impl Physics for $name {
            const HAS_LAW: bool = false;

            fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
                Ok(NoConstants::new())
            }

            fn history(_: &NoConstants<f64>) -> usize {
                Self::HELD.count() + Body::HISTORY
            }

            fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                Self::HELD.start(io);
                let motion = Shown::motion(io);
                let state = Self::state(io, &motion);
                Self::BODY.start(io, motion, &state.inertia, &state.loads);
            }

            #[wide]
            #[inline(always)]
            fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
                let State { flow, inertia, loads } = Self::state(io, &Self::BODY.motion(io));
                let motion = Self::BODY.step(io, &inertia, &loads);
                let specific = loads.force.map(|x| x / inertia.mass);
                Shown::show(io, &motion, [flow.attack, flow.slip], specific);
                io.set_output(Self::DRAG_FORCE, T::of(-1.0));
                io.set_output(Self::LIFT_FORCE, T::of(-1.0));
            }
        }
    };
}

/// What a step of a vehicle needs besides its motion.
struct State<T> {
    flow: Flow<T>,
    inertia: Inertia<T>,
    loads: Loads<T>,
}

rocket! {
    /// Vehicle with two nozzles that turn, upright at the start.
    ///
    /// Equations of motion as in the module [`body`](super::body), with drag
    /// C_D·S_h·q̄·cos α·cos β, lift C_Lα·S_h·q̄·sin α and side force C_Yβ·S_v·q̄·sin β of the state
    /// before the step, and their moments and dampings about the centre of mass. The nozzles feel
    /// nothing: their waves keep the start values.
    #[component("hopsan.AeroVehicleTVC", c)]
    VehicleTvc, "1.4 rad"
}

rocket! {
    /// Vehicle with two nozzles that turn, level at the start.
    ///
    /// Otherwise `hopsan.AeroVehicleTVC`.
    #[component("hopsan.AeroVehicleTVC2", c)]
    VehicleTvc2, "0"
}

/// Combustion chamber of a rocket on a single propellant, with its nozzle.
///
/// With γ = (c_v + R)/c_v:  V·dρ/dt = ρ_f·q − ṁ by the trapezoidal rule;  T = p/(R·ρ);
/// ṁ = A_s·p·(2/(γ+1))^((γ+1)/(2γ−2))·√(γ/(R·(1 + |T|))).
/// The chamber is a line between the fuel port and the nozzle: Z = η·T·ρ_f·v_f²/(2γV),
/// c₁ ← a·c₁ + (1−a)·(c₂ − 2·ṁ·T·h), c₂ ← a·c₂ + (1−a)·(c₁ + 2·Z·q), p = c₂ − ṁ·h·T with
/// h = T·(c_v + R)/(γ·V), and a = α², as the filter runs twice in a step.
/// Thrust = max(A_e·(p_e − p_a) + ṁ·v_e, 0) for the exit at the Mach number M_e.
///
/// All inputs but the outer pressure are read at the start.
#[component("hopsan.AeroCombustionChamberMono", c)]
pub struct CombustionChamber {
    /// fuel
    #[port(name = "P1")]
    fuel: Hydraulic,
    /// p_a — pressure of the air outside [Pa]
    #[input(name = "pa", default = "100000 Pa")]
    pub outer_pressure: f64,
    /// V — volume of the chamber [m^3]
    #[input(name = "Vc", default = "0.02 m^3")]
    pub volume: f64,
    /// R — gas constant of the burnt gas [J/(kg*K)]
    #[input(name = "R", default = "396 J/(kg*K)")]
    pub gas_constant: f64,
    /// c_v — heat capacity of the burnt gas at constant volume [J/(kg*K)]
    #[input(name = "cv", default = "1800 J/(kg*K)")]
    pub heat_capacity: f64,
    /// v_f — root of twice the fuel's energy per mass [m/s]
    #[input(name = "vfuel", default = "1571 m/s")]
    pub fuel_speed: f64,
    /// η — efficiency of the combustion [–]
    #[input(name = "ethap", default = 0.9)]
    pub efficiency: f64,
    /// ρ_f — density of the fuel [kg/m^3]
    #[input(name = "rhofuel", default = "1200 kg/m^3")]
    pub fuel_density: f64,
    /// A_s — area of the throat [m^2]
    #[input(name = "As", default = "0.00196 m^2")]
    pub throat_area: f64,
    /// M_e — Mach number at the exit [–]
    #[input(name = "Med", default = 2.5)]
    pub exit_mach: f64,
    /// α — filter factor [–]
    #[input(name = "alpha", default = 0.3)]
    pub filter: f64,
    /// F — thrust [N]
    #[output(name = "thrust")]
    thrust: Signal,
    /// T — temperature in the chamber [K]
    #[output(name = "Tc", start = "273 K")]
    temperature: Signal,
    /// ρ — density in the chamber [kg/m^3]
    #[output(name = "rhogas")]
    density: Signal,
    /// ṁ — mass flow through the nozzle [kg/s]
    #[output(name = "mdot")]
    mass_flow: Signal,
    /// A_e — area of the exit [m^2]
    #[output(name = "Ae")]
    exit_area: Signal,
    /// p_e — pressure at the exit [Pa]
    #[output(name = "pe")]
    exit_pressure: Signal,
    /// p — pressure in the chamber [Pa]
    #[output(name = "pc")]
    pressure: Signal,
    /// T_e — temperature at the exit [K]
    #[output(name = "Te", start = "273 K")]
    exit_temperature: Signal,
    /// v_e — speed at the exit [m/s]
    #[output(name = "ve")]
    exit_speed: Signal,
    /// P_in — power of the burnt fuel [W]
    #[output(name = "Pin")]
    fuel_power: Signal,
    /// P_out — power of the jet [W]
    #[output(name = "Pout")]
    jet_power: Signal,
    /// c₂ — wave at the nozzle [Pa]
    #[memory]
    nozzle_wave: Memory,
    /// – — temperature one step ago [K]
    #[memory]
    old_temperature: Memory,
    /// – — mass flow one step ago [kg/s]
    #[memory]
    old_flow: Memory,
    /// – — density and half a step of its old rate [kg/m^3]
    #[memory]
    delayed: Memory,
}

impl CombustionChamber {
    const HELD: Held = Held::inputs(Self::VOLUME, Self::FILTER);

    #[wide]
    fn remember<T: Num>(io: &mut Step<'_, T>, density: T, temperature: T, flow: T) {
        let held = |input| Self::HELD.get(io, input);
        let inflow = io.flow(Self::FUEL) * held(Self::FUEL_DENSITY);
        let delayed = density + (inflow - flow) * (0.5 * io.dt) / held(Self::VOLUME);
        io.set_memory(Self::DELAYED, delayed);
        io.set_memory(Self::OLD_TEMPERATURE, temperature);
        io.set_memory(Self::OLD_FLOW, flow);
    }
}

impl Physics for CombustionChamber {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Self::HELD.count()
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::HELD.start(io);
        let (pressure, temperature) = (io.effort(Self::FUEL), io.displacement(Self::FUEL));
        let density = pressure / (Self::HELD.get(io, Self::GAS_CONSTANT) * (temperature + 1.0));
        let flow = io.output(Self::MASS_FLOW);
        io.set_memory(Self::NOZZLE_WAVE, pressure);
        io.bond_mut(Self::FUEL).wave = pressure;
        Self::remember(io, density, temperature, flow);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let held = |input| Self::HELD.get(io, input);
        let (volume, gas) = (held(Self::VOLUME), held(Self::GAS_CONSTANT));
        let pressure_heat = held(Self::HEAT_CAPACITY) + gas;
        let ratio = pressure_heat / held(Self::HEAT_CAPACITY);
        let fuel_heat = held(Self::EFFICIENCY)
            * held(Self::FUEL_DENSITY)
            * held(Self::FUEL_SPEED).squared()
            * 0.5;
        let (inflow, dt) = (io.flow(Self::FUEL), io.dt);
        let heat = pressure_heat * dt / (ratio * volume);
        let impedance = fuel_heat * dt / (ratio * volume);
        let keep = held(Self::FILTER).squared();
        let (c1, c2) = (io.wave(Self::FUEL), io.memory(Self::NOZZLE_WAVE));
        let drained = io.memory(Self::OLD_FLOW) * io.memory(Self::OLD_TEMPERATURE) * heat * 2.0;
        let fuel_wave = keep * c1 + (T::one() - keep) * (c2 - drained);
        let nozzle_wave = keep * c2 + (T::one() - keep) * (c1 + impedance * inflow * 2.0);

        let exponent = (ratio + 1.0) / ((ratio - 1.0) * 2.0);
        let contraction = (T::of(2.0) / (ratio + 1.0)).powf(exponent);
        let throat = held(Self::THROAT_AREA);
        let choked = throat * contraction * (ratio / gas).sqrt();
        let half = T::of(0.5 * dt) / volume;
        let charged = io.memory(Self::DELAYED) + half * inflow * held(Self::FUEL_DENSITY);
        let of = Dual::constant;
        let pressure =
            |temperature: Dual<T>, flow: Dual<T>| of(nozzle_wave) - temperature * flow * of(heat);
        let guess = [io.memory(Self::OLD_TEMPERATURE), io.memory(Self::OLD_FLOW)];
        let [temperature, flow] = solve(io, guess, [1.0, 1e-3], |&[temperature, flow]| {
            let density = of(charged) - of(half) * flow;
            let pressure = pressure(temperature, flow);
            let out = of(choked) * pressure / (temperature.abs() + 1.0).sqrt();
            [
                temperature * of(gas) * density - pressure,
                flow - limit(out, Dual::zero(), Dual::of(1e9)),
            ]
        });
        let density = charged - half * flow;
        let pressure = pressure(of(temperature), of(flow)).value;
        io.set_wave(Self::FUEL, fuel_wave, impedance);
        io.set_memory(Self::NOZZLE_WAVE, nozzle_wave);
        Self::remember(io, density, temperature, flow);

        let mach = Self::HELD.get(io, Self::EXIT_MACH);
        let expansion = (ratio - 1.0) * mach.squared() * 0.5 + 1.0;
        let exit_area = throat * contraction * expansion.powf(exponent) / mach;
        let exit_pressure = pressure / expansion.powf(ratio / (ratio - 1.0));
        let exit_temperature = temperature / expansion;
        let exit_speed = mach * (ratio * gas * exit_temperature).sqrt();
        let push = exit_area * (exit_pressure - io.input(Self::OUTER_PRESSURE)) + flow * exit_speed;
        for (output, value) in [
            (Self::THRUST, push.max(T::zero())),
            (Self::TEMPERATURE, temperature),
            (Self::DENSITY, density),
            (Self::MASS_FLOW, flow),
            (Self::EXIT_AREA, exit_area),
            (Self::EXIT_PRESSURE, exit_pressure),
            (Self::PRESSURE, pressure),
            (Self::EXIT_TEMPERATURE, exit_temperature),
            (Self::EXIT_SPEED, exit_speed),
            (Self::FUEL_POWER, fuel_heat * inflow),
            (Self::JET_POWER, flow * exit_speed.squared() * 0.5),
        ] {
            io.set_output(output, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::component::Declared;
    use fluxline_core::testing::Bench;

    fn set_inputs<M: Physics>(bench: &mut Bench<M>) {
        let inputs = M::DECLARATION.parameters.iter().filter_map(|p| Some((p.input?, p.default?)));
        for (i, default) in inputs {
            let number = default.split(' ').next().unwrap().parse().unwrap();
            bench.input(i, number);
        }
    }

    fn rocket() -> Bench<VehicleTvc> {
        let values: Vec<_> = VehicleTvc::DECLARATION
            .parameters
            .iter()
            .map(|_| fluxline_core::declare::Value::Number(0.0))
            .collect();
        let component = VehicleTvc::from_values(&values).unwrap();
        let mut bench = Bench::new(&component, 1e-3);
        set_inputs(&mut bench);
        bench
    }

    #[test]
    fn without_air_and_thrust_a_vehicle_falls_freely() {
        let mut bench = rocket();
        bench.input(VehicleTvc::DENSITY, 0.0);
        bench.with(|io| {
            io.set_output(VehicleTvc::PITCH, 1.4);
            io.set_output(VehicleTvc::FORWARD_SPEED, 100.0);
            io.set_output(VehicleTvc::DEPTH, -1000.0);
        });
        bench.start();
        for _ in 0..1000 {
            bench.step();
        }
        let height = 1000.0 + 100.0 * 1.4f64.sin() - 0.5 * 9.81;
        assert!((bench.output(VehicleTvc::ALTITUDE) - height).abs() < 1e-6);
        assert!((bench.output(VehicleTvc::NORTH) - 100.0 * 1.4f64.cos()).abs() < 1e-6);
        assert!((bench.output(VehicleTvc::PITCH) - 1.4).abs() < 1e-12);
    }

    #[test]
    fn a_turned_nozzle_turns_the_vehicle() {
        let mut bench = rocket();
        bench.input(VehicleTvc::DENSITY, 0.0);
        bench.input(VehicleTvc::GRAVITY, 0.0);
        bench.input(VehicleTvc::LEFT_THRUST, 1000.0);
        bench.with(|io| io.set_output(VehicleTvc::FORWARD_SPEED, 0.0));
        bench.state.bonds[VehicleTvc::LEFT_Z].displacement = 0.1;
        bench.start();
        for _ in 0..1000 {
            bench.step();
        }
        // M = 6 m·1000 N·sin(0.1) about I_y = 3000 kg·m²
        let rate = 6.0 * 1000.0 * 0.1f64.sin() / 3000.0;
        assert!((bench.output(VehicleTvc::PITCH_RATE) - rate).abs() < 1e-9);
    }

    #[test]
    fn a_burning_chamber_passes_on_the_mass_and_the_energy_of_its_fuel() {
        let component = CombustionChamber {
            outer_pressure: 1e5,
            volume: 0.02,
            gas_constant: 396.0,
            heat_capacity: 1800.0,
            fuel_speed: 1571.0,
            efficiency: 0.9,
            fuel_density: 1200.0,
            throat_area: 0.00196,
            exit_mach: 2.5,
            filter: 0.3,
        };
        let mut bench = Bench::new(&component, 1e-4);
        set_inputs(&mut bench);
        bench.state.bonds[0].effort = 1e5;
        bench.state.bonds[0].displacement = 293.0;
        bench.start();
        for _ in 0..200_000 {
            bench.impose_flow(0, 1e-3).step();
        }
        let at = |i| bench.output(i);
        assert!((at(CombustionChamber::MASS_FLOW) - 1.2).abs() < 1e-6, "mass");
        let heat = 1.2 * 2196.0 * at(CombustionChamber::TEMPERATURE);
        assert!((heat - at(CombustionChamber::FUEL_POWER)).abs() < 1e-4 * heat, "energy");
    }
}
