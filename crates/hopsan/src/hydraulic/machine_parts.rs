//! Parts of an axial piston machine: a piston, the valve plate, the swash plate and the cylinder
//! block that turns on it.

use super::chamber::{Chamber, Floor, Piston};
use crate::blocks::{End, FirstOrder, Integrator, SecondOrder, turbulent};
use fluxline_core::component::{
    BalanceRole, ComponentType, Environment, NoConstants, Physics, Refusal, Step,
};
use fluxline_core::number::{Mask, Num};
use fluxline_core::state::Bond;
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::{PI, TAU};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<PumpPiston>(),
    ComponentType::of::<ValvePlate>(),
    ComponentType::of::<SwashPlate>(),
    ComponentType::of::<CylinderBlock>(),
];

/// One piston of a machine, with leakage to a housing without pressure and a spring that holds it
/// against the swash plate.
///
/// V = V₀ + A·(s/2 − x);  Z = 3·β·T/(2·V·(1−α)), α = 0.1;  the chamber is a volume with the port, the
/// piston (q = A·v) and the leakage q_l = c_l·p;  c₃ = A·c_p + F₀,  Z₃ = A²·Z + B
///
/// The waves of piston and leakage do not become negative. At the start V = V₀ − A·x.
#[component("hopsan.HydraulicPumpPiston", c)]
pub struct PumpPiston {
    /// chamber
    #[port(name = "P1")]
    p1: Hydraulic,
    /// piston
    #[port(name = "P3")]
    rod: Translational,
    /// A — area of the piston [m^2]
    #[input(name = "A_1", default = "0.001 m^2")]
    pub area: f64,
    /// s — stroke [m]
    #[input(name = "s_l", default = "1 m")]
    pub stroke: f64,
    /// V₀ — dead volume [m^3]
    #[input(name = "V_1", default = "0.0003 m^3")]
    pub volume: f64,
    /// B — viscous friction [N*s/m]
    #[input(name = "B_p", default = "1000 N*s/m")]
    pub friction: f64,
    /// β — bulk modulus [Pa]
    #[input(name = "Beta_e", default = "1e9 Pa")]
    pub bulk_modulus: f64,
    /// c_l — leakage coefficient [m^3/(s*Pa)]
    #[input(name = "c_leak", default = "1e-11 m^3/(s*Pa)")]
    pub leakage: f64,
    /// F₀ — force of the spring [N]
    #[input(name = "F_0", default = "1000 N")]
    pub spring_force: f64,
    /// – — wave at the piston [Pa]
    #[memory]
    piston_wave: Memory,
    /// – — wave of the leakage [Pa]
    #[memory]
    leak_wave: Memory,
}

/// Valve plate that joins the pistons of a machine to two kidneys, one half a turn after the other.
///
/// a = ∫ω dt;  for each piston the area A(a) that its port opens to either kidney, and
/// q = 0.67·A·√(2·Δp/ρ), solved for its two ends alone. There is no rule for cavitation.
///
/// The area is that of two holes with rounded ends that slide over each other, with a groove in front
/// of and behind the kidney, in the arc length from where the groove begins.
#[component("hopsan.HydraulicValvePlate", q, constants = Plate)]
pub struct ValvePlate {
    /// pistons
    #[port(name = "P1", many)]
    p1: Hydraulic,
    /// first kidney
    #[port(name = "PA")]
    a: Hydraulic,
    /// second kidney
    #[port(name = "PB")]
    b: Hydraulic,
    /// a — angle of the block [rad]
    #[output(name = "DEBUG1")]
    angle: Signal,
    /// – — area of the first piston to the second kidney [m^2]
    #[output(name = "DEBUG2")]
    area_b: Signal,
    /// – — area of the third piston to the first kidney [m^2]
    #[output(name = "DEBUG3")]
    area_a: Signal,
    /// φ — length of the kidneys, in degrees [–]
    #[input(name = "phi_P", default = 160)]
    pub kidney: f64,
    /// φ₁ — length of the groove in front, in degrees [–]
    #[input(name = "phi_1", default = 6)]
    pub groove_1: f64,
    /// φ₂ — length of the groove behind, in degrees [–]
    #[input(name = "phi_2", default = 6)]
    pub groove_2: f64,
    /// Δα — radius of the rounded ends, in degrees [–]
    #[input(name = "Delta_alpha", default = 5)]
    pub rounding: f64,
    /// α_f — length of each piston's port, in degrees [–]
    #[input(name = "alpha_f", default = 30)]
    pub port: f64,
    /// R — radius of the circle that the kidneys lie on [m]
    #[input(name = "R_f", default = "0.03 m")]
    pub radius: f64,
    /// θ₁ — angle that the grooves rise with, in degrees [–]
    #[input(name = "theta_1", default = 6)]
    pub rise: f64,
    /// θ₂ — angle between the sides of the grooves, in degrees [–]
    #[input(name = "theta_2", default = 90)]
    pub opening: f64,
    /// ρ — density of the oil [kg/m^3]
    #[input(name = "rho", default = "870 kg/m^3")]
    pub density: f64,
    /// ω — speed of the block [rad/s]
    #[input(name = "movement", default = "160 rad/s")]
    pub speed: f64,
    /// – — speed one step ago [rad/s]
    #[memory]
    speed_1: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
}

/// Swash plate that moves the pistons of a machine at a given speed.
///
/// a = ∫ω dt;  with a_i = a − θ₀ − 2π·i/N:  x_i = r·tan(β)·sin(a_i),
/// v_i = r·tan(β)·cos(a_i)·ω;  T = Σ F_i·r·tan(β)·cos(a_i)
///
/// Start values of the pistons' ends do not count: all start at 0.
#[component("hopsan.MechanicSwashPlate", q)]
pub struct SwashPlate {
    /// pistons
    #[port(name = "P1", many)]
    p1: Translational,
    /// T — torque that the pistons give [N*m]
    #[output(name = "torque")]
    torque: Signal,
    /// r — radius of the circle that the pistons lie on [m]
    #[input(name = "r", default = "0.05 m")]
    pub radius: f64,
    /// θ₀ — angle at which it starts [any]
    #[input(name = "theta_offset", default = 0)]
    pub offset: f64,
    /// β — angle of the plate [rad]
    #[input(name = "angle", default = "0 rad")]
    pub tilt: f64,
    /// ω — speed [rad/s]
    #[input(name = "movement", default = "0 rad/s")]
    pub speed: f64,
    /// – — speed one step ago [rad/s]
    #[memory]
    speed_1: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
}

/// Cylinder block with its pistons on a swash plate, and its shaft.
///
/// With a_i = −a₂ − θ₀ − 2π·i/N of the last step and l_i = r·tan(β)·cos(a_i):
/// (J·s² + (B + Σ Z_i·l_i² + Z₂)·s)·a₂ = Σ c_i·l_i − c₂, the speed likewise;
/// x_i = r·tan(β)·sin(a_i),  v_i = −l_i·ω₂
///
/// The masses of the pistons have no effect, nor have start values of their ends: all start at 0.
#[component("hopsan.MechanicCylinderBlockWithSwashPlate", q, constants = Block)]
pub struct CylinderBlock {
    /// pistons
    #[port(name = "P1", many)]
    p1: Translational,
    /// shaft
    #[port(name = "P2")]
    shaft: Rotational,
    /// T — torque of the shaft on the block [N*m]
    #[output(name = "torque")]
    torque: Signal,
    /// ω — speed of the block [rad/s]
    #[output(name = "movement")]
    movement: Signal,
    /// B — viscous friction [N*m*s/rad]
    #[input(name = "B", default = "10 N*m*s/rad")]
    pub friction: f64,
    /// r — radius of the circle that the pistons lie on [m]
    #[input(name = "r", default = "0.05 m")]
    pub radius: f64,
    /// θ₀ — angle at which it starts [any]
    #[input(name = "theta_offset", default = 0)]
    pub offset: f64,
    /// β — angle of the plate [rad]
    #[input(name = "angle", default = "0 rad")]
    pub tilt: f64,
    /// J — inertia of the block [kg*m^2]
    #[parameter(name = "J", default = "0.1 kg*m^2")]
    pub inertia: f64,
    /// m_p — mass of each piston [kg]
    #[parameter(name = "m_p", default = "0.001 kg")]
    pub piston_mass: f64,
    /// r_p — radius of each piston [m]
    #[parameter(name = "r_p", default = "0.01 m")]
    pub piston_radius: f64,
    /// – — torque one step ago, for the angle [N*m]
    #[memory]
    torque_1: Memory,
    /// – — torque two steps ago [N*m]
    #[memory]
    torque_2: Memory,
    /// – — angle one step ago [rad]
    #[memory]
    angle_1: Memory,
    /// – — angle two steps ago [rad]
    #[memory]
    angle_2: Memory,
    /// – — torque one step ago, for the speed [N*m]
    #[memory]
    speed_torque_1: Memory,
    /// – — speed one step ago [rad/s]
    #[memory]
    speed_1: Memory,
}

impl PumpPiston {
    const CHAMBER: Chamber =
        Chamber { first: Self::P1, count: 1, waves: Self::PISTON_WAVE, floor: Floor::Inside };

    /// The piston, with what the volume has more than A·(−x).
    #[inline(always)]
    fn piston<T: Num>(io: &Step<'_, T>, volume: T) -> Piston<T, 1> {
        Piston {
            areas: [io.input(Self::AREA)],
            dead_volumes: [volume],
            stroke: io.input(Self::STROKE),
            friction: io.input(Self::FRICTION),
            bulk_modulus: io.input(Self::BULK_MODULUS),
        }
    }
}

impl Physics for PumpPiston {
    const HAS_LAW: bool = false;
    const ROLE: BalanceRole = BalanceRole::Storage;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let piston = Self::piston(io, io.input(Self::VOLUME));
        let (x, v) = (io.displacement(Self::ROD), io.flow(Self::ROD));
        let z = piston.impedances(&[Self::CHAMBER], x, T::one(), io.dt);
        let leak = io.input(Self::LEAKAGE) * io.effort(Self::P1);
        Self::CHAMBER.start(io, z[0], piston.displaced(v)[0], -z[0] * leak);
        let wave = piston.force([io.memory(Self::PISTON_WAVE)]) + io.input(Self::SPRING_FORCE);
        io.set_wave(Self::ROD, wave, piston.resistance(z));
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let half = io.input(Self::AREA) * io.input(Self::STROKE) * 0.5;
        let piston = Self::piston(io, io.input(Self::VOLUME) + half);
        let (x, v) = (io.displacement(Self::ROD), io.flow(Self::ROD));
        let leakage = io.input(Self::LEAKAGE);
        let leak = leakage * Self::CHAMBER.leakage_wave(io);
        let volume = piston.volumes(x, io.dry(Self::ROD), io.dt)[0];
        // Leakage and impedance are divided by one number each: one division gives both.
        let (leak, per_volume) = match (leakage.gt(T::zero()) | leakage.lt(T::zero())).any() {
            true => {
                let opposed = leakage * Self::CHAMBER.impedance(io) + 1.0;
                let both = (opposed * volume).recip();
                (leak * (both * volume), both * opposed)
            }
            false => (leak, volume.recip()),
        };
        let z = [Self::CHAMBER.impedance_of(piston.bulk_modulus * per_volume, io.dt)];
        let wave = Self::CHAMBER.step(io, z[0], piston.displaced(v)[0], -leak);
        let wave = piston.force([wave]) + io.input(Self::SPRING_FORCE);
        io.set_wave(Self::ROD, wave, piston.resistance(z));
    }
}

/// Constants of [`ValvePlate`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Plate<T> {
    /// How many pistons there are.
    pistons: usize,
    /// No signal drives the shape of the grooves.
    has_constant_grooves: bool,
    /// tan θ₁ and tan(θ₂/2), where they are constant.
    grooves: [T; 2],
    /// No signal drives the density.
    has_constant_gain: bool,
    /// C_q·√(2/ρ), where it is constant.
    gain: T,
}

/// The opening between a piston's port and a kidney, all lengths along the arc.
struct Kidney<T> {
    /// Length of the kidney.
    length: T,
    /// Lengths of the grooves in front and behind.
    grooves: [T; 2],
    /// Radius of the rounded ends, and what makes a length one of their diameters.
    r: T,
    per_diameter: T,
    /// Length of the port.
    port: T,
    /// tan of the angle that the grooves rise with.
    rise: T,
    /// tan of half the angle between their sides.
    opening: T,
}

impl<T: Num> Kidney<T> {
    /// Area that two circles of the rounded ends' radius share, their centres `d` apart.
    #[inline(always)]
    fn lens(&self, d: T) -> T {
        segment(d * self.per_diameter) * (self.r * self.r * 2.0)
    }

    /// Area of a groove after a length, of which `share` is the ratio of the grooves' lengths.
    #[inline(always)]
    fn groove(&self, length: T, share: T) -> T {
        let square = length * length * self.rise * self.opening;
        (square * self.rise).min(square * share)
    }

    /// Area at an arc length from where the groove in front begins.
    #[wide]
    #[inline(always)]
    fn area(&self, x: T) -> T {
        let end = self.grooves[0] + self.length + self.port + self.grooves[1];
        let is_open = x.ge(T::zero()) & x.le(end);
        T::where_any(is_open, || self.open_area(x, is_open), T::zero)
    }

    /// The same where the port is open in some lane.
    #[wide]
    fn open_area(&self, x: T, is_open: T::Mask) -> T {
        let [g1, g2] = self.grooves;
        let (one, r, port) = (T::one(), self.r, self.port);
        let diameter = r * 2.0;
        let circle = r * r * PI;
        let kidney_end = g1 + self.length;
        let whole = |g: T| g * g * self.rise * self.rise * self.opening;
        let leaving = circle + (port - diameter + kidney_end - x) * diameter;
        // Each stretch begins where the one before it ends, and the first that holds x counts: the
        // first that ends at x or beyond.
        Stretches { x, area: T::zero(), open: is_open }
            .up_to(g1, || self.groove(x, one))
            .up_to(g1 + diameter, || whole(g1) + self.lens(diameter - x + g1))
            .up_to(port, || whole(g1) + circle + (x - g1 - diameter) * diameter)
            .up_to(port + g1, || {
                self.groove(g1 + port - x, one) + circle + (x - g1 - diameter) * diameter
            })
            .up_to(kidney_end, || circle + (port - diameter) * diameter)
            .up_to(kidney_end + g2, || leaving + self.groove(x - kidney_end, g2 / g1))
            .up_to(kidney_end + port - diameter, || leaving + whole(g2))
            .up_to(kidney_end + port, || self.lens(x - kidney_end - port + diameter) + whole(g2))
            .up_to(kidney_end + port + g2, || self.groove(port - x + kidney_end + g2, g2 / g1))
            .area
    }
}

/// An area that is given piece by piece along an arc.
struct Stretches<T: Num> {
    x: T,
    area: T,
    /// Where no stretch before has held x.
    open: T::Mask,
}

impl<T: Num> Stretches<T> {
    #[wide]
    #[inline(always)]
    fn up_to(self, end: T, value: impl FnOnce() -> T) -> Self {
        let Self { x, area, open } = self;
        let here = open & x.le(end);
        let area = T::where_any(here, || T::select(here, value(), area), || area);
        Self { x, area, open: open & !here }
    }
}

/// acos u − u·√(1 − u²): area that a chord at u radii from the centre cuts off a circle, in squares of the
/// radius.
///
/// With w = 1 − |u| it is w·√w·P(w), where P is smooth up to w = 2: a polynomial through Chebyshev's points
/// of 0 … 1, within 5·10⁻¹⁶ of it. The difference of arc and root would lose digits for small w, and take
/// two roots and a division.
#[wide]
#[inline(always)]
fn segment<T: Num>(u: T) -> T {
    const P: [f64; 16] = [
        1.885_618_083_164_127_2,
        -0.282_842_712_474_815_5,
        -0.025_253_813_597_175_91,
        -0.004_910_464_312_509_822_5,
        -0.001_255_506_639_381_521_9,
        -0.000_371_927_373_724_999_3,
        -0.000_120_148_764_846_991_61,
        -4.515_667_683_028_001e-5,
        -4.341_213_154_222_549_5e-6,
        -3.186_213_738_549_924e-5,
        4.318_605_240_548_964_6e-5,
        -5.770_839_026_047_147e-5,
        4.970_976_574_930_569e-5,
        -2.980_537_006_704_828_4e-5,
        1.065_294_136_777_974_9e-5,
        -1.858_178_600_101_190_3e-6,
    ];
    let w = (T::one() - u.abs()).max(T::zero());
    // By halves, so that few products wait for each other.
    let (w2, pair) = (w * w, |i: usize| w * P[i + 1] + P[i]);
    let four = |i: usize| pair(i) + pair(i + 2) * w2;
    let w4 = w2 * w2;
    let eight = |i: usize| four(i) + four(i + 4) * w4;
    let near = w * w.sqrt() * (eight(0) + eight(8) * (w4 * w4));
    T::select(u.lt(T::zero()), T::of(PI) - near, near)
}

/// What is left of x after whole turns of 360 towards zero.
#[wide]
#[inline(always)]
fn within_turn<T: Num>(x: T) -> T {
    /// So near to a whole turn, a product may count another number of turns than a division.
    const NEAR: f64 = 1e-6;
    let size = x.abs();
    let mut turns = (size * (1.0 / 360.0)).floor();
    let rest = size - turns * 360.0;
    let far = rest.gt(T::of(NEAR)) & rest.lt(T::of(360.0 - NEAR)) & size.lt(T::of(1e9));
    turns = T::where_any(!far, || T::select(far, turns, (size / 360.0).floor()), || turns);
    x - turns.with_sign_of(x) * 360.0
}

impl ValvePlate {
    const ANGLE_OF_BLOCK: Integrator = Integrator(Self::SPEED_1);
    /// C_q of the openings.
    const FLOW_COEFFICIENT: f64 = 0.67;
    const DEGREE: f64 = PI / 180.0;

    /// C_q·√(2/ρ).
    #[inline(always)]
    fn gain<T: Num>(density: T) -> T {
        (T::of(2.0) / density).sqrt() * Self::FLOW_COEFFICIENT
    }

    /// tan θ₁ and tan(θ₂/2).
    #[wide]
    fn grooves<T: Num>(rise: T, opening: T) -> [T; 2] {
        [(rise * Self::DEGREE).tan(), (opening * (0.5 * Self::DEGREE)).tan()]
    }
}

impl Physics for ValvePlate {
    const HAS_LAW: bool = false;

    fn prepare(&self, environment: &Environment) -> Result<Plate<f64>, Refusal> {
        Ok(Plate {
            pistons: environment.places.first().copied().unwrap_or(0),
            has_constant_grooves: environment.holds(&[Self::RISE, Self::OPENING]),
            grooves: Self::grooves(self.rise, self.opening),
            has_constant_gain: environment.holds(&[Self::DENSITY]),
            gain: Self::gain(self.density),
        })
    }

    fn start<T: Num>(_: &Plate<T>, io: &mut Step<'_, T>) {
        Self::ANGLE_OF_BLOCK.start(io, T::zero(), T::zero());
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Plate<T>, io: &mut Step<'_, T>) {
        let degree = Self::DEGREE;
        let arc = io.input(Self::RADIUS) * degree;
        let [length, g1, g2, r, port] =
            [Self::KIDNEY, Self::GROOVE_1, Self::GROOVE_2, Self::ROUNDING, Self::PORT]
                .map(|i| io.input(i));
        let begin = -(length * 0.5) - g1 - r + 90.0;
        let [rise, opening] = match k.has_constant_grooves {
            true => k.grooves,
            false => Self::grooves(io.input(Self::RISE), io.input(Self::OPENING)),
        };
        let kidney = Kidney {
            length: length * arc,
            grooves: [g1 * arc, g2 * arc],
            r: r * arc,
            per_diameter: (r * arc * 2.0).recip(),
            port: port * arc,
            rise,
            opening,
        };
        let speed = io.input(Self::SPEED);
        let angle = Self::ANGLE_OF_BLOCK.step(io, speed);
        let degrees = angle / degree;
        let back = degrees.lt(T::zero());
        let turned = degrees.abs() - begin;
        let of_turn = within_turn(turned);
        // Where each port's turn begins, counted from the first one's; the last of them.
        let start = |piston: usize, behind: f64| piston as f64 * 360.0 / k.pistons as f64 + behind;
        let has_begun = turned.ge(T::of(start(k.pistons.max(1) - 1, 180.0)));
        let area = |piston: usize, behind: f64| {
            // What is left of turned − start after whole turns, towards zero.
            let start = start(piston, behind);
            let rest = of_turn - start % 360.0;
            let rest = T::select(rest.lt(T::zero()), rest + 360.0, rest);
            let early = || T::select(turned.lt(T::of(start)), turned - start, rest);
            let x = T::where_any(!has_begun, early, || rest);
            let x = T::where_any(back, || T::select(back, -x + 360.0, x), || x);
            kidney.area(x * arc)
        };
        let gain = match k.has_constant_gain {
            true => k.gain,
            false => Self::gain(io.input(Self::DENSITY)),
        };
        let (a, b) = (k.pistons, k.pistons + 1);
        let ends = [End::at(io, a), End::at(io, b)];
        let mut sums = [T::zero(); 2];
        for i in 0..k.pistons {
            let end = End::at(io, i);
            let areas = [area(i, 0.0), area(i, 180.0)];
            let to_a = turbulent(gain * areas[0], end, ends[0]);
            let to_b = turbulent(gain * areas[1], end, ends[1]);
            sums[0] += to_a;
            sums[1] += to_b;
            io.set_flow(i, -to_a - to_b);
            if i == 0 {
                io.set_output(Self::AREA_B, areas[1]);
            }
            if i == 2 {
                io.set_output(Self::AREA_A, areas[0]);
            }
        }
        io.set_flow(a, sums[0]);
        io.set_flow(b, sums[1]);
        io.set_output(Self::ANGLE, angle);
    }
}

/// Mass that the pistons are said to have, for the stability of the lines at them, kg.
const EQUIVALENT_MASS: f64 = 0.02;

/// Starts the ends of the pistons, the first of the bonds, from nothing.
fn start_pistons<T: Num>(io: &mut Step<'_, T>, count: usize) {
    for i in 0..count {
        *io.bond_mut(i) = Bond { dry: T::of(EQUIVALENT_MASS), ..Bond::at_rest(T::zero()) };
    }
}

/// Where a piston is on a circle: its angle from the first one's.
fn place(piston: usize, count: usize) -> f64 {
    TAU / count as f64 * piston as f64
}

impl Physics for SwashPlate {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn start<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        Integrator(Self::SPEED_1).start(io, T::zero(), T::zero());
        start_pistons(io, io.port_count());
    }

    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let lever = io.input(Self::RADIUS) * io.input(Self::TILT).tan();
        let speed = io.input(Self::SPEED);
        let angle = Integrator(Self::SPEED_1).step(io, speed) - io.input(Self::OFFSET);
        let mut torque = T::zero();
        for i in 0..io.port_count() {
            let at = angle - place(i, io.port_count());
            let arm = lever * at.cos();
            let force = End::at(io, i).effort(arm * speed);
            torque += force * arm;
            let x = lever * at.sin();
            io.set_motion(i, arm * speed, x, force);
        }
        io.set_output(Self::TORQUE, torque);
    }
}

/// Constants of [`CylinderBlock`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct Block<T> {
    pistons: usize,
    /// Cosine and sine of the angle between two pistons.
    turn: [f64; 2],
    inertia: T,
}

impl CylinderBlock {
    const TURN: SecondOrder = SecondOrder(Self::TORQUE_1);
    const SPEED: FirstOrder = FirstOrder(Self::SPEED_TORQUE_1);
}

impl Physics for CylinderBlock {
    const HAS_LAW: bool = false;

    fn prepare(&self, environment: &Environment) -> Result<Block<f64>, Refusal> {
        let pistons = environment.places.first().copied().unwrap_or(0);
        let turn = place(1, pistons.max(1));
        Ok(Block { pistons, turn: [turn.cos(), turn.sin()], inertia: self.inertia })
    }

    fn start<T: Num>(k: &Block<T>, io: &mut Step<'_, T>) {
        start_pistons(io, k.pistons);
        let shaft = k.pistons;
        let (torque, angle, speed) = (io.effort(shaft), io.displacement(shaft), io.flow(shaft));
        Self::TURN.start(io, -torque, angle, T::zero());
        Self::SPEED.start(io, -torque, speed);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Block<T>, io: &mut Step<'_, T>) {
        let shaft = End::at(io, k.pistons);
        let lever = io.input(Self::RADIUS) * io.input(Self::TILT).tan();
        let angle = -io.memory(Self::ANGLE_1) - io.input(Self::OFFSET);
        let (mut torque, mut resistance) =
            (-shaft.wave, io.input(Self::FRICTION) + shaft.impedance);
        // One sine and one cosine for all pistons: from each to the next it is a turn by 2π/N.
        let first = [angle.cos() * lever, angle.sin() * lever];
        let next = |[c, s]: [T; 2]| {
            let [cos, sin] = k.turn;
            [c * cos + s * sin, s * cos - c * sin]
        };
        let mut at = first;
        for i in 0..k.pistons {
            let arm = at[0];
            torque += io.wave(i) * arm;
            resistance += io.impedance(i) * arm * arm;
            at = next(at);
        }
        let (zero, one) = (T::zero(), T::one());
        let turned = Self::TURN.free(io, [one, zero, zero], [zero, resistance, k.inertia], torque);
        let speed = Self::SPEED.free(io, [one, zero], [resistance, k.inertia], torque);
        at = first;
        for i in 0..k.pistons {
            let [arm, x] = at;
            let v = -(arm * speed);
            let force = End::at(io, i).effort(v);
            io.set_motion(i, v, x, force);
            at = next(at);
        }
        let force = shaft.effort(speed);
        io.set_motion(k.pistons, speed, turned, force);
        io.set_output(Self::TORQUE, -force);
        io.set_output(Self::MOVEMENT, -speed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fluxline_core::testing::{Bench, Surroundings};

    fn mount<M: Physics>(part: &M, inputs: &[(usize, f64)], places: &[usize]) -> Bench<M> {
        let mut around = Surroundings::of::<M>(1e-5);
        around.places = places.to_vec();
        let mut bench = Bench::within(part, &around).unwrap();
        for &(input, value) in inputs {
            bench.input(input, value);
        }
        bench
    }

    #[test]
    fn a_pump_piston_keeps_its_oil_but_for_the_leakage() {
        let piston = PumpPiston {
            area: 0.0,
            stroke: 0.0,
            volume: 0.0,
            friction: 0.0,
            bulk_modulus: 0.0,
            leakage: 0.0,
            spring_force: 0.0,
        };
        let inputs = [
            (PumpPiston::AREA, 1e-4),
            (PumpPiston::STROKE, 0.04),
            (PumpPiston::VOLUME, 1e-5),
            (PumpPiston::FRICTION, 10.0),
            (PumpPiston::BULK_MODULUS, 1e9),
            (PumpPiston::LEAKAGE, 1e-11),
            (PumpPiston::SPRING_FORCE, 50.0),
        ];
        let mut bench = mount(&piston, &inputs, &[1, 1]);
        bench.state.bonds[0].effort = 5e6;
        bench.state.bonds[1].dry = EQUIVALENT_MASS;
        bench.start();
        assert!((bench.state.bonds[1].wave - (5e6 * 1e-4 + 50.0)).abs() < 1e-9);
        let mean = |bench: &Bench<PumpPiston>| {
            (bench.state.bonds[0].wave + bench.state.states[0] + bench.state.states[1]) / 3.0
        };
        bench.state.bonds[1].displacement = -0.01;
        let volume = 1e-5 + 1e-4 * 0.03;
        let (before, old_wave, old_z) =
            (mean(&bench), bench.state.states[1], bench.state.bonds[0].impedance);
        bench.impose_flow(0, 2e-6).impose_flow(1, 0.03).step();
        let leak = 1e-11 * old_wave / (1.0 + 1e-11 * old_z);
        let rise = 1e9 * 1e-5 / volume * (2e-6 + 1e-4 * 0.03 - leak);
        assert!((mean(&bench) - before - rise).abs() < 1e-6 * rise.abs());
    }

    fn plate(speed: f64) -> Bench<ValvePlate> {
        let plate = ValvePlate {
            kidney: 0.0,
            groove_1: 0.0,
            groove_2: 0.0,
            rounding: 0.0,
            port: 0.0,
            radius: 0.0,
            rise: 0.0,
            opening: 0.0,
            density: 0.0,
            speed: 0.0,
        };
        let inputs = [
            (ValvePlate::KIDNEY, 120.0),
            (ValvePlate::GROOVE_1, 6.0),
            (ValvePlate::GROOVE_2, 6.0),
            (ValvePlate::ROUNDING, 5.0),
            (ValvePlate::PORT, 30.0),
            (ValvePlate::RADIUS, 0.03),
            (ValvePlate::RISE, 6.0),
            (ValvePlate::OPENING, 90.0),
            (ValvePlate::DENSITY, 870.0),
            (ValvePlate::SPEED, speed),
        ];
        let mut bench = mount(&plate, &inputs, &[9, 1, 1]);
        bench.start();
        bench
    }

    /// Against ∫ 2·√(1 − t²) dt from u to 1 by Gauss and Legendre's rule in the angle, which is exact to
    /// rounding for so smooth a function.
    #[test]
    fn a_chord_cuts_off_the_area_between_it_and_the_circle() {
        let nodes = [0.906_179_845_938_664, 0.538_469_310_105_683_1, 0.0];
        let weights = [0.236_926_885_056_189_1, 0.478_628_670_499_366_47, 0.568_888_888_888_888_9];
        let integral = |u: f64| {
            // With t = cos θ: ∫ 2·sin²θ dθ from 0 to acos u, in a hundred pieces.
            let (end, pieces) = (u.acos(), 100);
            let width = end / f64::from(pieces);
            let piece = |i: i32| {
                let middle = (f64::from(i) + 0.5) * width;
                let at = |x: f64| 2.0 * (middle + 0.5 * width * x).sin().powi(2);
                let pairs = nodes.iter().zip(weights).take(2);
                let sum: f64 = pairs.map(|(&x, w)| w * (at(x) + at(-x))).sum();
                0.5 * width * (sum + weights[2] * at(0.0))
            };
            (0..pieces).map(piece).sum::<f64>()
        };
        for i in -100..=100 {
            let u = f64::from(i) / 100.0;
            let (ours, exact) = (segment(u), integral(u));
            // Two units of rounding for the polynomial, the others for sums of either side.
            assert!((ours - exact).abs() <= 4e-15 * exact.max(1e-12), "{u}: {ours} for {exact}");
        }
        assert_eq!(segment(1.0), 0.0);
        assert!((segment(-1.0_f64) - PI).abs() < 1e-15);
    }

    #[test]
    fn an_open_kidney_has_the_area_of_the_port_and_no_oil_is_lost() {
        let mut bench = plate(1000.0);
        // Full area of a port with rounded ends: π·r² + 2·r·(L − 2·r).
        let arc = 0.03 * PI / 180.0;
        let (r, length) = (5.0 * arc, 30.0 * arc);
        let full = PI * r * r + 2.0 * r * (length - 2.0 * r);
        let (mut most, mut last) = (0.0f64, 0.0);
        for _ in 0..700 {
            for i in 0..9 {
                bench.line(i, 1e6 + 1e5 * i as f64, 1e10);
            }
            bench.line(9, 2e7, 1e8).line(10, 1e5, 1e8).step();
            let sum: f64 = (0..11).map(|i| bench.flow(i)).sum();
            assert!(sum.abs() < 1e-15);
            let area = bench.output(ValvePlate::AREA_A);
            // 0.01 rad per step: 0.3 mm of arc times the width of 2·r, and a little in the grooves.
            assert!((area - last).abs() < 1.5 * 2.0 * r * 0.03 * 0.01, "{area} {last}");
            most = most.max(area);
            last = area;
        }
        assert!((most / full - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_swash_plate_takes_the_power_that_the_pistons_give() {
        let plate = SwashPlate { radius: 0.0, offset: 0.0, tilt: 0.0, speed: 0.0 };
        let inputs =
            [(SwashPlate::RADIUS, 0.04), (SwashPlate::TILT, 0.2), (SwashPlate::SPEED, 90.0)];
        let mut bench = mount(&plate, &inputs, &[7]);
        bench.start();
        for _ in 0..20 {
            for i in 0..7 {
                bench.line(i, 100.0 * i as f64, 30.0);
            }
            bench.step();
            let power: f64 = (0..7).map(|i| bench.effort(i) * bench.flow(i)).sum();
            assert!((bench.output(SwashPlate::TORQUE) * 90.0 - power).abs() < 1e-9);
        }
        assert_eq!(bench.state.bonds[3].dry, EQUIVALENT_MASS);
    }

    #[test]
    fn a_block_turns_its_pistons_forces_into_torque() {
        let block = CylinderBlock {
            friction: 0.0,
            radius: 0.0,
            offset: 0.0,
            tilt: 0.0,
            inertia: 0.1,
            piston_mass: 1.0,
            piston_radius: 1.0,
        };
        let inputs = [
            (CylinderBlock::FRICTION, 2.0),
            (CylinderBlock::RADIUS, 0.04),
            (CylinderBlock::TILT, 0.2),
        ];
        let mut bench = mount(&block, &inputs, &[3, 1]);
        bench.start();
        let forces = [900.0, 100.0, 400.0];
        for (i, force) in forces.into_iter().enumerate() {
            bench.line(i, force, 0.0);
        }
        bench.line(3, 1.0, 0.0).step();
        let lever = 0.04 * 0.2f64.tan();
        let torque: f64 =
            (0..3).map(|i| forces[i] * lever * (TAU / 3.0 * i as f64).cos()).sum::<f64>() - 1.0;
        // J·ω' + B·ω = T from rest, by the bilinear rule.
        let expected = 1e-5 * torque / (2.0 * 0.1 + 2.0 * 1e-5);
        assert!((bench.flow(3) / expected - 1.0).abs() < 1e-9);
        assert!((bench.flow(1) + lever * (TAU / 3.0).cos() * bench.flow(3)).abs() < 1e-15);
        assert_eq!(bench.output(CylinderBlock::TORQUE), -1.0);
    }
}
