//! Guidance and attitude control of aircraft.
//!
//! Places on the earth are in degrees, east and north.

use crate::aero::body::atan2;
use crate::blocks::{FirstOrder, limit, on_positive};
use fluxline_core::component;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use std::f64::consts::{PI, TAU};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<AttitudeControl>(),
    ComponentType::of::<ThrustAttitudeControl>(),
    ComponentType::of::<Waypoint>(),
    ComponentType::of::<EarthCoordinates>(),
    ComponentType::of::<TimeAccelerator>(),
    ComponentType::of::<StateMonitor>(),
];

const DEGREE: f64 = PI / 180.0;

/// The shortest way from one angle to another, which are less than two turns apart.
#[inline(always)]
fn turn<T: Num>(from: T, to: T) -> T {
    let straight = to - from;
    let (up, down) = (straight + TAU, straight - TAU);
    let way = T::select(straight.abs().ge(up.abs()), up, straight);
    T::select(straight.abs().ge(down.abs()), down, way)
}

/// Autopilot that sets ailerons, elevator and rudder.
///
/// K_v = U₀²/(U₀² + U²). With Δ the shortest way between two angles:
/// roll = K_φ·K_v·(Δφ + clip(K_φψ·Δψ, ±φ_max));  u_L = clip(roll), u_R = clip(−roll), both within
/// K_v·(u1min, u1max);  u_e = clip(−K_v·(K_e·Δθ − K_de·Q)) within K_v·(u2min, u2max);
/// u_r = clip(−K_v·(K_r·β + K_dr·R)) within (u3min, u3max)
#[component("hopsan.SignalAttitudeControl", s)]
pub struct AttitudeControl {
    /// φ_ref — wanted roll angle [rad]
    #[input(name = "phiref", default = "0 rad")]
    pub wanted_roll: f64,
    /// θ_ref — wanted pitch angle [rad]
    #[input(name = "thetaref", default = "0 rad")]
    pub wanted_pitch: f64,
    /// ψ_ref — wanted heading [rad]
    #[input(name = "psiref", default = "0 rad")]
    pub wanted_heading: f64,
    /// φ_max — largest roll angle to change the heading [rad]
    #[input(name = "phimax", default = "1 rad")]
    pub largest_roll: f64,
    /// φ — roll angle [rad]
    #[input(name = "phi", default = "0 rad")]
    pub roll: f64,
    /// θ — pitch angle [rad]
    #[input(name = "theta", default = "0 rad")]
    pub pitch: f64,
    /// ψ — heading [rad]
    #[input(name = "psi", default = "0 rad")]
    pub heading: f64,
    /// β — angle of side slip [rad]
    #[input(name = "beta", default = "0 rad")]
    pub slip: f64,
    /// Q — pitch rate [rad/s]
    #[input(name = "Qb", default = "0 rad/s")]
    pub pitch_rate: f64,
    /// R — yaw rate [rad/s]
    #[input(name = "Rb", default = "0 rad/s")]
    pub yaw_rate: f64,
    /// U — speed of flight [m/s]
    #[input(name = "Ub", default = "0 m/s")]
    pub speed: f64,
    /// K_φ — aileron per roll angle [any]
    #[input(name = "Kphi", default = 3)]
    pub roll_gain: f64,
    /// K_φψ — roll angle per heading [any]
    #[input(name = "Kphipsi", default = 2)]
    pub heading_gain: f64,
    /// K_e — elevator per pitch angle [any]
    #[input(name = "Kelev", default = 4)]
    pub pitch_gain: f64,
    /// K_de — elevator per pitch rate [any]
    #[input(name = "Kdelev", default = 1)]
    pub pitch_damping: f64,
    /// K_r — rudder per side slip [any]
    #[input(name = "Krud", default = 1)]
    pub slip_gain: f64,
    /// K_dr — rudder per yaw rate [any]
    #[input(name = "Kdrud", default = 1)]
    pub yaw_damping: f64,
    /// u1min — least aileron angle [rad]
    #[input(name = "u1min", default = "-0.9 rad")]
    pub least_aileron: f64,
    /// u1max — largest aileron angle [rad]
    #[input(name = "u1max", default = "0.9 rad")]
    pub largest_aileron: f64,
    /// u2min — least elevator angle [rad]
    #[input(name = "u2min", default = "-0.7 rad")]
    pub least_elevator: f64,
    /// u2max — largest elevator angle [rad]
    #[input(name = "u2max", default = "0.7 rad")]
    pub largest_elevator: f64,
    /// u3min — least rudder angle [rad]
    #[input(name = "u3min", default = "-0.7 rad")]
    pub least_rudder: f64,
    /// u3max — largest rudder angle [rad]
    #[input(name = "u3max", default = "0.7 rad")]
    pub largest_rudder: f64,
    /// U₀ — speed at which the gains are halved [m/s]
    #[input(name = "U0", default = "100 m/s")]
    pub nominal_speed: f64,
    /// u_L — angle of the left aileron [rad]
    #[output(name = "uaerL")]
    left_aileron: Signal,
    /// u_R — angle of the right aileron [rad]
    #[output(name = "uaerR")]
    right_aileron: Signal,
    /// u_e — angle of the elevator [rad]
    #[output(name = "uelev")]
    elevator: Signal,
    /// u_r — angle of the rudder [rad]
    #[output(name = "urud")]
    rudder: Signal,
}

impl Physics for AttitudeControl {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let input = |i| io.input(i);
        let nominal = input(Self::NOMINAL_SPEED).squared();
        let gain = nominal / (nominal + input(Self::SPEED).squared());
        let most = input(Self::LARGEST_ROLL);
        let heading = turn(input(Self::HEADING), input(Self::WANTED_HEADING));
        let lean = limit(input(Self::HEADING_GAIN) * heading, -most, most);
        let roll = input(Self::ROLL_GAIN)
            * gain
            * (turn(input(Self::ROLL), input(Self::WANTED_ROLL)) + lean);
        let climb = input(Self::PITCH_GAIN) * turn(input(Self::PITCH), input(Self::WANTED_PITCH))
            - input(Self::PITCH_DAMPING) * input(Self::PITCH_RATE);
        let yaw = input(Self::SLIP_GAIN) * input(Self::SLIP)
            + input(Self::YAW_DAMPING) * input(Self::YAW_RATE);
        let (low, high) = (gain * input(Self::LEAST_AILERON), gain * input(Self::LARGEST_AILERON));
        let (left, right) = (limit(roll, low, high), limit(-roll, low, high));
        let (low, high) =
            (gain * input(Self::LEAST_ELEVATOR), gain * input(Self::LARGEST_ELEVATOR));
        let elevator = limit(-(gain * climb), low, high);
        let rudder = limit(-(gain * yaw), input(Self::LEAST_RUDDER), input(Self::LARGEST_RUDDER));
        io.set_output(Self::LEFT_AILERON, left);
        io.set_output(Self::RIGHT_AILERON, right);
        io.set_output(Self::ELEVATOR, elevator);
        io.set_output(Self::RUDDER, rudder);
    }
}

/// Autopilot of a vehicle that is steered by its thrust.
///
/// u_e = clip(K_e·(Δθ − K_Q·Q), u_min, u_max);  u_r = clip(K_r·(Δψ − K_R·R), u_min, u_max)
#[component("hopsan.SignalAttitudeTVCcontrol", s)]
pub struct ThrustAttitudeControl {
    /// θ_ref — wanted pitch angle [rad]
    #[input(name = "thetaref", default = "0 rad")]
    pub wanted_pitch: f64,
    /// ψ_ref — wanted heading [rad]
    #[input(name = "psiref", default = "0 rad")]
    pub wanted_heading: f64,
    /// φ — without effect [rad]
    #[input(name = "phi", default = "0 rad")]
    pub roll: f64,
    /// θ — pitch angle [rad]
    #[input(name = "theta", default = "0 rad")]
    pub pitch: f64,
    /// ψ — heading [rad]
    #[input(name = "psi", default = "0 rad")]
    pub heading: f64,
    /// Q — pitch rate [rad/s]
    #[input(name = "Qb", default = "0 rad/s")]
    pub pitch_rate: f64,
    /// R — yaw rate [rad/s]
    #[input(name = "Rb", default = "0 rad/s")]
    pub yaw_rate: f64,
    /// K_e — nozzle angle per pitch angle [any]
    #[input(name = "Kelev", default = 4)]
    pub pitch_gain: f64,
    /// K_r — nozzle angle per heading [any]
    #[input(name = "Krud", default = 1)]
    pub heading_gain: f64,
    /// K_Q — pitch angle per pitch rate [any]
    #[input(name = "KQrud", default = 1)]
    pub pitch_damping: f64,
    /// K_R — heading per yaw rate [any]
    #[input(name = "KRrud", default = 1)]
    pub yaw_damping: f64,
    /// u_min — least nozzle angle [rad]
    #[input(name = "umin", default = "-0.9 rad")]
    pub least_angle: f64,
    /// u_max — largest nozzle angle [rad]
    #[input(name = "umax", default = "0.9 rad")]
    pub largest_angle: f64,
    /// u_e — nozzle angle in pitch [rad]
    #[output(name = "uelev")]
    elevator: Signal,
    /// u_r — nozzle angle in yaw [rad]
    #[output(name = "urud")]
    rudder: Signal,
}

impl Physics for ThrustAttitudeControl {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let input = |i| io.input(i);
        let (low, high) = (input(Self::LEAST_ANGLE), input(Self::LARGEST_ANGLE));
        let pitch = turn(input(Self::PITCH), input(Self::WANTED_PITCH))
            - input(Self::PITCH_DAMPING) * input(Self::PITCH_RATE);
        let heading = turn(input(Self::HEADING), input(Self::WANTED_HEADING))
            - input(Self::YAW_DAMPING) * input(Self::YAW_RATE);
        let elevator = limit(input(Self::PITCH_GAIN) * pitch, low, high);
        let rudder = limit(input(Self::HEADING_GAIN) * heading, low, high);
        io.set_output(Self::ELEVATOR, elevator);
        io.set_output(Self::RUDDER, rudder);
    }
}

/// Leads to a place on the earth while it is switched on.
///
/// With east e = R·Δlon·cos(lat) and north n = R·Δlat:  distance √(e² + n²), heading atan2(e, n);
/// reached = s where distance < tolerance, else 0; all references are multiplied by s.
#[component("hopsan.SignalWaypoint", s)]
pub struct Waypoint {
    /// s — 1 while it leads [–]
    #[input(name = "s1", default = 0)]
    pub active: f64,
    /// – — present longitude, in degrees [any]
    #[input(name = "xc", default = 0)]
    pub longitude: f64,
    /// – — present latitude, in degrees [any]
    #[input(name = "yc", default = 0)]
    pub latitude: f64,
    /// R — radius of the earth [m]
    #[input(name = "R", default = "6367500 m")]
    pub earth_radius: f64,
    /// h — altitude to fly at [m]
    #[input(name = "alt1", default = "0 m")]
    pub altitude: f64,
    /// v — speed to fly at [m/s]
    #[input(name = "v1", default = "200 m/s")]
    pub speed: f64,
    /// – — distance at which the place counts as reached [m]
    #[input(name = "wptol", default = "500 m")]
    pub tolerance: f64,
    /// – — longitude of the place, in degrees [any]
    #[input(name = "xcWp1", default = 15.1669)]
    pub wanted_longitude: f64,
    /// – — latitude of the place, in degrees [any]
    #[input(name = "ycWp1", default = 58.3812)]
    pub wanted_latitude: f64,
    /// – — 1 when the place is reached [–]
    #[output(name = "set1", start = "1")]
    reached: Signal,
    /// h_ref — wanted altitude [m]
    #[output(name = "altitudeRef")]
    wanted_altitude: Signal,
    /// ψ_ref — wanted heading [rad]
    #[output(name = "headingRef")]
    wanted_heading: Signal,
    /// v_ref — wanted speed [m/s]
    #[output(name = "velocityRef")]
    wanted_speed: Signal,
    /// – — distance to the place [m]
    #[output(name = "distanceWp")]
    distance: Signal,
}

impl Physics for Waypoint {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let input = |i| io.input(i);
        let (active, degree) = (input(Self::ACTIVE), input(Self::EARTH_RADIUS) * DEGREE);
        let latitude = input(Self::LATITUDE);
        let north = degree * (input(Self::WANTED_LATITUDE) - latitude);
        let east = degree
            * (input(Self::WANTED_LONGITUDE) - input(Self::LONGITUDE))
            * (latitude * DEGREE).cos();
        let distance = (north.squared() + east.squared()).sqrt();
        let heading = atan2(east, north);
        let near = on_positive(input(Self::TOLERANCE) - distance);
        let (altitude, speed) = (input(Self::ALTITUDE), input(Self::SPEED));
        io.set_output(Self::REACHED, active * near);
        io.set_output(Self::WANTED_ALTITUDE, altitude * active);
        io.set_output(Self::WANTED_HEADING, active * heading);
        io.set_output(Self::WANTED_SPEED, active * speed);
        io.set_output(Self::DISTANCE, distance);
    }
}

/// Adds a rate by the trapezoidal rule to an output; remembers the rate.
#[inline(always)]
fn integrate<T: Num>(io: &mut Step<'_, T>, output: usize, memory: usize, rate: T) -> T {
    let y = io.output(output) + (rate + io.memory(memory)) * (0.5 * io.dt);
    io.set_memory(memory, rate);
    io.set_output(output, y);
    y
}

/// Place on the earth by integration of the speed over ground, in compressed time.
///
/// dlat/dt = k·v_x/R, dlon/dt = k·v_y/(R·cos lat), dt_E/dt = k; places in degrees
#[component("hopsan.SignalEarthCoordinates", s)]
pub struct EarthCoordinates {
    /// k — time that passes on the earth per time [–]
    #[input(name = "timecomp", default = 1)]
    pub compression: f64,
    /// v_x — speed to the north [m/s]
    #[input(name = "vxcg", default = "0 m/s")]
    pub north_speed: f64,
    /// v_y — speed to the east [m/s]
    #[input(name = "vycg", default = "0 m/s")]
    pub east_speed: f64,
    /// R — radius of the earth [m]
    #[input(name = "R", default = "6367500 m")]
    pub earth_radius: f64,
    /// t_E — time on the earth [s]
    #[output(name = "timeE")]
    earth_time: Signal,
    /// – — longitude, in degrees [any]
    #[output(name = "longitude")]
    longitude: Signal,
    /// – — latitude, in degrees [any]
    #[output(name = "lattitude")]
    latitude: Signal,
    /// – — rate of time one step ago [–]
    #[memory]
    time_rate: Memory,
    /// – — rate of the longitude one step ago [any]
    #[memory]
    longitude_rate: Memory,
    /// – — rate of the latitude one step ago [any]
    #[memory]
    latitude_rate: Memory,
}

impl EarthCoordinates {
    #[wide]
    fn rates<T: Num>(io: &Step<'_, T>) -> (T, T, T) {
        let compression = io.input(Self::COMPRESSION);
        let per_speed = compression / (io.input(Self::EARTH_RADIUS) * DEGREE);
        let (north, east) = (io.input(Self::NORTH_SPEED), io.input(Self::EAST_SPEED));
        (compression, per_speed * north, per_speed * east)
    }
}

impl Physics for EarthCoordinates {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (time, north, east) = Self::rates(io);
        let latitude = io.output(Self::LATITUDE);
        io.set_memory(Self::TIME_RATE, time);
        io.set_memory(Self::LATITUDE_RATE, north);
        io.set_memory(Self::LONGITUDE_RATE, east / (latitude * DEGREE).cos());
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (time, north, east) = Self::rates(io);
        integrate(io, Self::EARTH_TIME, Self::TIME_RATE, time);
        let latitude = integrate(io, Self::LATITUDE, Self::LATITUDE_RATE, north);
        let east = east / (latitude * DEGREE).cos();
        integrate(io, Self::LONGITUDE, Self::LONGITUDE_RATE, east);
    }
}

/// Lets a flight pass in compressed time.
///
/// dx_E/dt = k·v_x, dy_E/dt = k·v_y, dt_E/dt = k;  ṁ_E = k·ṁ
#[component("hopsan.SignalTimeAccelerator", s)]
pub struct TimeAccelerator {
    /// k — time that passes in the flight per time [–]
    #[input(name = "timecomp", default = 1)]
    pub compression: f64,
    /// ṁ — fuel flow [kg/s]
    #[input(name = "massflow", default = "0 kg/s")]
    pub fuel_flow: f64,
    /// v_x — speed along x [m/s]
    #[input(name = "vxcg", default = "0 m/s")]
    pub north_speed: f64,
    /// v_y — speed along y [m/s]
    #[input(name = "vycg", default = "0 m/s")]
    pub east_speed: f64,
    /// t_E — time of the flight [s]
    #[output(name = "timeE")]
    flight_time: Signal,
    /// ṁ_E — fuel flow in compressed time [kg/s]
    #[output(name = "massflowE")]
    flight_fuel_flow: Signal,
    /// x_E — way along x [m]
    #[output(name = "xcgE")]
    north: Signal,
    /// y_E — way along y [m]
    #[output(name = "ycgE")]
    east: Signal,
    /// – — rate of time one step ago [–]
    #[memory]
    time_rate: Memory,
    /// – — rate of x one step ago [m/s]
    #[memory]
    north_rate: Memory,
    /// – — rate of y one step ago [m/s]
    #[memory]
    east_rate: Memory,
}

impl TimeAccelerator {
    #[wide]
    fn rates<T: Num>(io: &Step<'_, T>) -> (T, T, T) {
        let compression = io.input(Self::COMPRESSION);
        let (north, east) = (io.input(Self::NORTH_SPEED), io.input(Self::EAST_SPEED));
        (compression, compression * north, compression * east)
    }
}

impl Physics for TimeAccelerator {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (time, north, east) = Self::rates(io);
        io.set_memory(Self::TIME_RATE, time);
        io.set_memory(Self::NORTH_RATE, north);
        io.set_memory(Self::EAST_RATE, east);
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (time, north, east) = Self::rates(io);
        integrate(io, Self::FLIGHT_TIME, Self::TIME_RATE, time);
        integrate(io, Self::NORTH, Self::NORTH_RATE, north);
        integrate(io, Self::EAST, Self::EAST_RATE, east);
        let flow = time * io.input(Self::FUEL_FLOW);
        io.set_output(Self::FLIGHT_FUEL_FLOW, flow);
    }
}

/// Tells whether any of three signals is away from zero.
///
/// y_if follows |y_i| as 1/(τ·s + 1);  s = 1 when it is forced on or any |y_if| > |y_i0|, else 0
#[component("hopsan.SignalStateMonitor", s)]
pub struct StateMonitor {
    /// y₁ — first signal [any]
    #[input(name = "y1", default = 0)]
    pub signal_1: f64,
    /// y₂ — second signal [any]
    #[input(name = "y2", default = 0)]
    pub signal_2: f64,
    /// y₃ — third signal [any]
    #[input(name = "y3", default = 0)]
    pub signal_3: f64,
    /// – — forces the state on [–]
    #[input(name = "sOn", default = 0)]
    pub forced: f64,
    /// y₁₀ — threshold of the first signal [any]
    #[input(name = "y10", default = 0.02)]
    pub threshold_1: f64,
    /// y₂₀ — threshold of the second signal [any]
    #[input(name = "y20", default = 0.02)]
    pub threshold_2: f64,
    /// y₃₀ — threshold of the third signal [any]
    #[input(name = "y30", default = 0.02)]
    pub threshold_3: f64,
    /// τ — time constant of the filters [s]
    #[input(name = "thau", default = "1 s")]
    pub lag: f64,
    /// s — 1 when active [–]
    #[output(name = "s1")]
    state: Signal,
    /// y₁f — first signal, filtered [any]
    #[output(name = "y1f")]
    filtered_1: Signal,
    /// y₂f — second signal, filtered [any]
    #[output(name = "y2f")]
    filtered_2: Signal,
    /// y₃f — third signal, filtered [any]
    #[output(name = "y3f")]
    filtered_3: Signal,
    /// – — size of the first signal one step ago [any]
    #[memory]
    size_1: Memory,
    /// – — first signal, filtered, one step ago [any]
    #[memory]
    old_filtered_1: Memory,
    /// – — size of the second signal one step ago [any]
    #[memory]
    size_2: Memory,
    /// – — second signal, filtered, one step ago [any]
    #[memory]
    old_filtered_2: Memory,
    /// – — size of the third signal one step ago [any]
    #[memory]
    size_3: Memory,
    /// – — third signal, filtered, one step ago [any]
    #[memory]
    old_filtered_3: Memory,
}

impl StateMonitor {
    const FILTERS: [FirstOrder; 3] =
        [FirstOrder(Self::SIZE_1), FirstOrder(Self::SIZE_2), FirstOrder(Self::SIZE_3)];
}

impl Physics for StateMonitor {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        for (i, filter) in Self::FILTERS.into_iter().enumerate() {
            let (size, y) = (io.input(Self::SIGNAL_1 + i).abs(), io.output(Self::FILTERED_1 + i));
            filter.start(io, size, y);
        }
        Self::step(k, io);
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let (zero, one) = (T::zero(), T::one());
        let lag = io.input(Self::LAG);
        let mut active = io.input(Self::FORCED);
        for (i, filter) in Self::FILTERS.into_iter().enumerate() {
            let size = io.input(Self::SIGNAL_1 + i).abs();
            let y = filter.free(io, [one, zero], [one, lag], size);
            io.set_output(Self::FILTERED_1 + i, y);
            active += on_positive(y.abs() - io.input(Self::THRESHOLD_1 + i).abs());
        }
        io.set_output(Self::STATE, on_positive(active - 0.5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::Bench;

    fn inputs<M: Physics>(bench: &mut Bench<M>, values: &[f64]) {
        for (i, &value) in values.iter().enumerate() {
            bench.input(i, value);
        }
    }

    #[test]
    fn the_shortest_way_between_angles_is_at_most_half_a_turn() {
        assert!((turn(-3.0, 3.0) - (6.0 - TAU)).abs() < 1e-15);
        assert!((turn(3.0, -3.0) - (TAU - 6.0)).abs() < 1e-15);
        assert_eq!(turn(1.0, 2.0), 1.0);
    }

    #[test]
    fn an_autopilot_banks_towards_the_wanted_heading_and_halves_its_gains_at_nominal_speed() {
        let component = AttitudeControl {
            wanted_roll: 0.0,
            wanted_pitch: 0.0,
            wanted_heading: 0.0,
            largest_roll: 1.0,
            roll: 0.0,
            pitch: 0.0,
            heading: 0.0,
            slip: 0.0,
            pitch_rate: 0.0,
            yaw_rate: 0.0,
            speed: 0.0,
            roll_gain: 3.0,
            heading_gain: 2.0,
            pitch_gain: 4.0,
            pitch_damping: 1.0,
            slip_gain: 1.0,
            yaw_damping: 1.0,
            least_aileron: -0.9,
            largest_aileron: 0.9,
            least_elevator: -0.7,
            largest_elevator: 0.7,
            least_rudder: -0.7,
            largest_rudder: 0.7,
            nominal_speed: 100.0,
        };
        let mut bench = Bench::new(&component, 0.1);
        let gains = [3.0, 2.0, 4.0, 1.0, 1.0, 1.0, -0.9, 0.9, -0.7, 0.7, -0.7, 0.7, 100.0];
        let flight = [0.0, 0.0, 3.1, 1.0, 0.9, 0.05, -3.1, 0.2, 0.1, 0.3, 100.0];
        inputs(&mut bench, &[flight.as_slice(), &gains].concat());
        bench.start();
        let roll = 3.0 * 0.5 * (-0.9 + 2.0 * (6.2 - TAU));
        assert!((bench.output(0) - roll.max(-0.45)).abs() < 1e-12);
        assert_eq!(bench.output(1), -bench.output(0));
        assert!((bench.output(2) - 0.5 * (4.0 * 0.05 + 0.1)).abs() < 1e-12);
        assert!((bench.output(3) + 0.5 * 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_steered_thrust_turns_back_and_brakes_its_turning() {
        let component = ThrustAttitudeControl {
            wanted_pitch: 0.0,
            wanted_heading: 0.0,
            roll: 0.0,
            pitch: 0.0,
            heading: 0.0,
            pitch_rate: 0.0,
            yaw_rate: 0.0,
            pitch_gain: 4.0,
            heading_gain: 1.0,
            pitch_damping: 1.0,
            yaw_damping: 1.0,
            least_angle: -0.9,
            largest_angle: 0.9,
        };
        let mut bench = Bench::new(&component, 0.1);
        inputs(&mut bench, &[0.1, 0.0, 0.0, 0.0, 2.0, 0.05, 0.5, 4.0, 1.0, 1.0, 1.0, -0.9, 0.9]);
        bench.start();
        assert!((bench.output(0) - 0.2).abs() < 1e-12);
        assert_eq!(bench.output(1), -0.9);
    }

    #[test]
    fn a_way_point_one_degree_to_the_north_east_is_seen_at_its_distance_and_bearing() {
        let component = Waypoint {
            active: 1.0,
            longitude: 0.0,
            latitude: 60.0,
            earth_radius: 6367500.0,
            altitude: 1000.0,
            speed: 200.0,
            tolerance: 500.0,
            wanted_longitude: 2.0,
            wanted_latitude: 61.0,
        };
        let mut bench = Bench::new(&component, 0.1);
        inputs(&mut bench, &[1.0, 0.0, 60.0, 6367500.0, 1000.0, 200.0, 500.0, 2.0, 61.0]);
        bench.start();
        let degree = 6367500.0 * PI / 180.0;
        assert!((bench.output(4) - 2f64.sqrt() * degree).abs() < 1e-6);
        assert!((bench.output(2) - PI / 4.0).abs() < 1e-12);
        assert_eq!([0, 1, 3].map(|i| bench.output(i)), [0.0, 1000.0, 200.0]);
        bench.input(1, 2.0).input(2, 60.999).step();
        assert_eq!(bench.output(0), 1.0);
    }

    #[test]
    fn flight_around_the_equator_takes_its_time_compressed() {
        let component = EarthCoordinates {
            compression: 100.0,
            north_speed: 0.0,
            east_speed: 200.0,
            earth_radius: 6367500.0,
        };
        let mut bench = Bench::new(&component, 1.0);
        inputs(&mut bench, &[100.0, 0.0, 200.0, 6367500.0]);
        bench.start();
        for _ in 0..9 {
            bench.step();
        }
        assert!((bench.output(0) - 1000.0).abs() < 1e-9, "the start counts as a step");
        assert!((bench.output(1) - 200.0 * 1000.0 / 6367500.0 / DEGREE).abs() < 1e-9);
        assert_eq!(bench.output(2), 0.0);

        let component = TimeAccelerator {
            compression: 100.0,
            fuel_flow: 2.0,
            north_speed: 3.0,
            east_speed: 4.0,
        };
        let mut bench = Bench::new(&component, 1.0);
        inputs(&mut bench, &[100.0, 2.0, 3.0, 4.0]);
        bench.start().step();
        assert_eq!([0, 1, 2, 3].map(|i| bench.output(i)), [200.0, 200.0, 600.0, 800.0]);
    }

    #[test]
    fn a_monitor_reports_a_signal_that_stays_away_from_zero() {
        let component = StateMonitor {
            signal_1: 0.0,
            signal_2: 0.0,
            signal_3: 0.0,
            forced: 0.0,
            threshold_1: 0.02,
            threshold_2: 0.02,
            threshold_3: 0.5,
            lag: 1.0,
        };
        let mut bench = Bench::new(&component, 1e-3);
        inputs(&mut bench, &[0.0, 0.0, 0.0, 0.0, 0.02, 0.02, 0.5, 1.0]);
        bench.start().input(2, -1.0);
        let mut on_after = None;
        for n in 0..1000 {
            bench.step();
            if bench.output(0) == 1.0 && on_after.is_none() {
                on_after = Some(n);
            }
        }
        // 1 − e^(−t) = ½ at t = ln 2, half a step late.
        assert!((on_after.unwrap() as f64 * 1e-3 - 2f64.ln()).abs() < 2e-3);
    }
}
