//! Aircraft with two wings, tail, fin and two engines.
//!
//! Lengths along the body are in chords c = √(S₁/A₁), those across in spans b = √(A₁·S₁), areas in
//! areas of the main wing. The moving surfaces are rotational ports: the aircraft reads their angles
//! and answers with the moments of their hinges.

use super::body::{Body, Flow, Inertia, Loads, Motion, Shown, Vector, nozzle, vehicle};
use crate::held::Held;
use fluxline_core::component::{ComponentType, Environment, NoConstants, Physics, Refusal, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;
use fluxline_core::{Constants, component};
use std::f64::consts::{FRAC_1_PI, FRAC_1_SQRT_2};

/// The types of this file.
pub const TYPES: &[ComponentType] = &[
    ComponentType::of::<Aircraft6Dof>(),
    ComponentType::of::<Aircraft6Dofs>(),
    ComponentType::of::<Aircraft6Dofss>(),
];

/// 1/(1 + e^(−2·x)), a soft step.
#[inline(always)]
fn soft_step<T: Num>(x: T) -> T {
    (x.tanh() + 1.0) * 0.5
}

/// Coefficients of a wing over the angle of attack, up to and beyond stall.
///
/// Of the flow a share s = σ((−α − a_n)/w_n) + σ((α − a_p)/w_p) has parted, σ a soft step:
/// C_L = (1 − s)·C_Lα·α + s·sin(2·α)/√2;  C_Di = (1 − s)·(C_Lα·α)²/(π·A·e) + s·sin²α;
/// C_m = (1 − s)·C_m0 + s·C_ms·sign(α)
#[derive(Clone, Copy, Debug)]
struct Polar<T> {
    slope: T,
    stall_up: T,
    stall_down: T,
    width_up: T,
    width_down: T,
}

impl<T: Num> Polar<T> {
    #[inline(always)]
    fn parted(&self, attack: T) -> T {
        soft_step((-attack - self.stall_down) / self.width_down)
            + soft_step((attack - self.stall_up) / self.width_up)
    }
    #[inline(always)]
    fn lift(&self, attack: T) -> T {
        let parted = self.parted(attack);
        (T::one() - parted) * attack * self.slope + parted * (attack * 2.0).sin() * FRAC_1_SQRT_2
    }
    #[inline(always)]
    fn induced_drag(&self, attack: T, aspect: T, efficiency: T) -> T {
        let parted = self.parted(attack);
        (T::one() - parted) * (attack * self.slope).squared() * FRAC_1_PI / (aspect * efficiency)
            + parted * attack.sin().squared()
    }
    #[inline(always)]
    fn moment(&self, attack: T, attached: T, stalled: T) -> T {
        let parted = self.parted(attack);
        (T::one() - parted) * attached + parted * stalled * attack.sign()
    }
}

/// What the forces of an aircraft depend on; the names are those of its inputs.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Airframe<T> {
    stall_fin: T,
    stall_down_1: T,
    stall_down_2: T,
    stall_up_1: T,
    stall_up_2: T,
    aspect_1: T,
    aspect_2: T,
    drag_1: T,
    drag_2: T,
    drag_body: T,
    drag_fin: T,
    lift_slope_1: T,
    lift_slope_2: T,
    lift_slope_body: T,
    side_slope_body: T,
    lift_slope_fin: T,
    lift_flap_1: T,
    lift_flap_12: T,
    drag_flap_1: T,
    drag_flap_12: T,
    drag_flaps: T,
    flap_rest_1: T,
    flap_rest_12: T,
    moment_1: T,
    stalled_moment_1: T,
    moment_flap_1: T,
    moment_flap_12: T,
    lift_flap_fin: T,
    attack_share_1: T,
    attack_share_2: T,
    efficiency_1: T,
    efficiency_2: T,
    stall_width_fin: T,
    stall_down_width_1: T,
    stall_down_width_2: T,
    stall_up_width_1: T,
    stall_up_width_2: T,
    incidence_1: T,
    incidence_2: T,
    roll_inertia: T,
    cross_inertia: T,
    pitch_inertia: T,
    yaw_inertia: T,
    hinge_arm_1: T,
    hinge_arm_2: T,
    hinge_arm_12: T,
    hinge_arm_fin: T,
    empty_mass: T,
    roll_arm_1: T,
    roll_arm_2: T,
    area_1: T,
    area_share_2: T,
    area_share_body: T,
    area_share_side: T,
    area_share_fin: T,
    empty_place: T,
    cargo_place: T,
    fuel_place: T,
    place_1: T,
    place_2: T,
    place_fin: T,
    engine_place: T,
    engine_offset: T,
    gravity: T,
    ground_stiffness: T,
}

/// Fills an [`Airframe`] by a macro that reads `field CONSTANT`.
macro_rules! airframe {
    ($read:ident) => {
        Airframe {
            stall_fin: $read!(stall_fin STALL_FIN),
            stall_down_1: $read!(stall_down_1 STALL_DOWN_1),
            stall_down_2: $read!(stall_down_2 STALL_DOWN_2),
            stall_up_1: $read!(stall_up_1 STALL_UP_1),
            stall_up_2: $read!(stall_up_2 STALL_UP_2),
            aspect_1: $read!(aspect_1 ASPECT_1),
            aspect_2: $read!(aspect_2 ASPECT_2),
            drag_1: $read!(drag_1 DRAG_1),
            drag_2: $read!(drag_2 DRAG_2),
            drag_body: $read!(drag_body DRAG_BODY),
            drag_fin: $read!(drag_fin DRAG_FIN),
            lift_slope_1: $read!(lift_slope_1 LIFT_SLOPE_1),
            lift_slope_2: $read!(lift_slope_2 LIFT_SLOPE_2),
            lift_slope_body: $read!(lift_slope_body LIFT_SLOPE_BODY),
            side_slope_body: $read!(side_slope_body SIDE_SLOPE_BODY),
            lift_slope_fin: $read!(lift_slope_fin LIFT_SLOPE_FIN),
            lift_flap_1: $read!(lift_flap_1 LIFT_FLAP_1),
            lift_flap_12: $read!(lift_flap_12 LIFT_FLAP_12),
            drag_flap_1: $read!(drag_flap_1 DRAG_FLAP_1),
            drag_flap_12: $read!(drag_flap_12 DRAG_FLAP_12),
            drag_flaps: $read!(drag_flaps DRAG_FLAPS),
            flap_rest_1: $read!(flap_rest_1 FLAP_REST_1),
            flap_rest_12: $read!(flap_rest_12 FLAP_REST_12),
            moment_1: $read!(moment_1 MOMENT_1),
            stalled_moment_1: $read!(stalled_moment_1 STALLED_MOMENT_1),
            moment_flap_1: $read!(moment_flap_1 MOMENT_FLAP_1),
            moment_flap_12: $read!(moment_flap_12 MOMENT_FLAP_12),
            lift_flap_fin: $read!(lift_flap_fin LIFT_FLAP_FIN),
            attack_share_1: $read!(attack_share_1 ATTACK_SHARE_1),
            attack_share_2: $read!(attack_share_2 ATTACK_SHARE_2),
            efficiency_1: $read!(efficiency_1 EFFICIENCY_1),
            efficiency_2: $read!(efficiency_2 EFFICIENCY_2),
            stall_width_fin: $read!(stall_width_fin STALL_WIDTH_FIN),
            stall_down_width_1: $read!(stall_down_width_1 STALL_DOWN_WIDTH_1),
            stall_down_width_2: $read!(stall_down_width_2 STALL_DOWN_WIDTH_2),
            stall_up_width_1: $read!(stall_up_width_1 STALL_UP_WIDTH_1),
            stall_up_width_2: $read!(stall_up_width_2 STALL_UP_WIDTH_2),
            incidence_1: $read!(incidence_1 INCIDENCE_1),
            incidence_2: $read!(incidence_2 INCIDENCE_2),
            roll_inertia: $read!(roll_inertia ROLL_INERTIA),
            cross_inertia: $read!(cross_inertia CROSS_INERTIA),
            pitch_inertia: $read!(pitch_inertia PITCH_INERTIA),
            yaw_inertia: $read!(yaw_inertia YAW_INERTIA),
            hinge_arm_1: $read!(hinge_arm_1 HINGE_ARM_1),
            hinge_arm_2: $read!(hinge_arm_2 HINGE_ARM_2),
            hinge_arm_12: $read!(hinge_arm_12 HINGE_ARM_12),
            hinge_arm_fin: $read!(hinge_arm_fin HINGE_ARM_FIN),
            empty_mass: $read!(empty_mass EMPTY_MASS),
            roll_arm_1: $read!(roll_arm_1 ROLL_ARM_1),
            roll_arm_2: $read!(roll_arm_2 ROLL_ARM_2),
            area_1: $read!(area_1 AREA_1),
            area_share_2: $read!(area_share_2 AREA_SHARE_2),
            area_share_body: $read!(area_share_body AREA_SHARE_BODY),
            area_share_side: $read!(area_share_side AREA_SHARE_SIDE),
            area_share_fin: $read!(area_share_fin AREA_SHARE_FIN),
            empty_place: $read!(empty_place EMPTY_PLACE),
            cargo_place: $read!(cargo_place CARGO_PLACE),
            fuel_place: $read!(fuel_place FUEL_PLACE),
            place_1: $read!(place_1 PLACE_1),
            place_2: $read!(place_2 PLACE_2),
            place_fin: $read!(place_fin PLACE_FIN),
            engine_place: $read!(engine_place ENGINE_PLACE),
            engine_offset: $read!(engine_offset ENGINE_OFFSET),
            gravity: $read!(gravity GRAVITY),
            ground_stiffness: $read!(ground_stiffness GROUND_STIFFNESS),
        }
    };
}

/// Inputs that are read in every step, the first ones of every aircraft in this order.
#[derive(Clone, Copy, Debug)]
struct Setting<T> {
    thrust: [T; 2],
    nozzle_z: [T; 2],
    nozzle_y: [T; 2],
    fuel: T,
    cargo: T,
    density: T,
    gust: Vector<T>,
    swirl: Vector<T>,
    /// Angles of the surfaces: outer and inner flaps of the wing, tail, each left and right.
    outer: [T; 2],
    inner: [T; 2],
    tail: [T; 2],
    fin: T,
}

impl<T: Num> Setting<T> {
    #[wide]
    fn read(io: &Step<'_, T>) -> Self {
        let pair = |i: usize| [io.input(i), io.input(i + 1)];
        let vector = |i: usize| [io.input(i), io.input(i + 1), io.input(i + 2)];
        let angles = |port: usize| [io.displacement(port), io.displacement(port + 1)];
        Self {
            thrust: pair(0),
            nozzle_z: pair(2),
            nozzle_y: pair(4),
            fuel: io.input(6),
            cargo: io.input(7),
            density: io.input(8),
            gust: vector(9),
            swirl: vector(12),
            outer: angles(0),
            inner: angles(2),
            tail: angles(4),
            fin: io.displacement(6),
        }
    }
}

/// Sizes that follow from the wing.
#[derive(Clone, Copy, Debug)]
struct Sizes<T> {
    /// Unit of length along the body.
    chord: T,
    span: T,
    engine_place: T,
    inertia: Inertia<T>,
    /// Place of the centre of mass.
    centre: T,
}

/// Lift and drag over dynamic pressure.
#[derive(Clone, Copy, Debug)]
struct Panel<T> {
    lift: T,
    drag: T,
}

/// All surfaces in a flow; panels left and right.
#[derive(Clone, Copy, Debug)]
struct Surfaces<T> {
    wing: [Panel<T>; 2],
    tail: [Panel<T>; 2],
    body: Panel<T>,
    /// The fin's lift is to the left.
    fin: Panel<T>,
}

impl<T: Num> Surfaces<T> {
    fn lift(&self) -> T {
        both(self.wing).lift + both(self.tail).lift + self.body.lift
    }
    fn drag(&self) -> T {
        both(self.wing).drag + both(self.tail).drag + self.body.drag + self.fin.drag
    }
}

fn both<T: Num>([left, right]: [Panel<T>; 2]) -> Panel<T> {
    Panel { lift: left.lift + right.lift, drag: left.drag + right.drag }
}

/// Left less right.
fn uneven<T: Num>([left, right]: [Panel<T>; 2]) -> Panel<T> {
    Panel { lift: left.lift - right.lift, drag: left.drag - right.drag }
}

impl<T: Num> Airframe<T> {
    fn wing_polar(&self) -> Polar<T> {
        Polar {
            slope: self.lift_slope_1,
            stall_up: self.stall_up_1,
            stall_down: self.stall_down_1,
            width_up: self.stall_up_width_1,
            width_down: self.stall_down_width_1,
        }
    }

    fn tail_polar(&self) -> Polar<T> {
        Polar {
            slope: self.lift_slope_2,
            stall_up: self.stall_up_2,
            stall_down: self.stall_down_2,
            width_up: self.stall_up_width_2,
            width_down: self.stall_down_width_2,
        }
    }

    fn wing_attack(&self, flow: &Flow<T>) -> T {
        flow.attack * self.attack_share_1 - self.incidence_1
    }

    fn tail_attack(&self, flow: &Flow<T>) -> T {
        flow.attack * self.attack_share_2 - self.incidence_2
    }

    fn tail_area(&self) -> T {
        self.area_1 * self.area_share_2
    }

    /// Masses and sizes; `chord` is the unit along the body, `shape` scales the moments of inertia
    /// about x, y, z and their product.
    #[wide]
    fn sizes(&self, setting: &Setting<T>, chord: T, shape: [T; 4], engine_unit: T) -> Sizes<T> {
        let mass = self.empty_mass + setting.cargo + setting.fuel;
        let unit = self.empty_mass * self.area_1;
        let inertia = Inertia {
            mass,
            moments: [
                self.roll_inertia * unit * shape[0],
                self.pitch_inertia * unit * shape[1],
                self.yaw_inertia * unit * shape[2],
            ],
            cross: self.cross_inertia * unit * shape[3],
            gravity: self.gravity,
            ground: self.ground_stiffness,
        };
        let centre = (self.empty_mass * self.empty_place
            + setting.cargo * self.cargo_place
            + setting.fuel * self.fuel_place)
            * chord
            / mass;
        Sizes {
            chord,
            span: (self.aspect_1 * self.area_1).sqrt(),
            engine_place: self.engine_place * engine_unit,
            inertia,
            centre,
        }
    }

    /// Surfaces but for the tail, which has a law of its own in each aircraft.
    #[wide]
    fn surfaces(
        &self,
        setting: &Setting<T>,
        flow: &Flow<T>,
        tail: impl Fn(T) -> Panel<T>,
    ) -> Surfaces<T> {
        let (polar, attack) = (self.wing_polar(), self.wing_attack(flow));
        let lift = polar.lift(attack) * 0.5;
        let drag =
            (self.drag_1 + polar.induced_drag(attack, self.aspect_1, self.efficiency_1)) * 0.5;
        let wing = |side: usize| {
            let (outer, inner) = (setting.outer[side], setting.inner[side]);
            let (a, b) = (outer - self.flap_rest_1, inner - self.flap_rest_12);
            Panel {
                lift: self.area_1 * (lift + self.lift_flap_1 * outer + self.lift_flap_12 * inner),
                drag: self.area_1
                    * (drag + self.drag_flap_1 * a * a - self.drag_flaps * a * b
                        + self.drag_flap_12 * b * b),
            }
        };
        let body_area = self.area_1 * self.area_share_body;
        let fin_area = self.area_1 * self.area_share_fin;
        let fin = Polar {
            slope: self.lift_slope_fin,
            stall_up: self.stall_fin,
            stall_down: self.stall_fin,
            width_up: self.stall_width_fin,
            width_down: self.stall_width_fin,
        };
        let rudder = self.lift_flap_fin * setting.fin / self.lift_slope_fin;
        Surfaces {
            wing: [wing(0), wing(1)],
            tail: setting.tail.map(tail),
            body: Panel {
                lift: self.lift_slope_body * body_area * flow.attack.sin(),
                drag: self.drag_body * body_area,
            },
            fin: Panel {
                lift: fin_area * fin.lift(-flow.slip - rudder),
                drag: self.drag_fin * fin_area,
            },
        }
    }

    /// Side force over dynamic pressure, of fin and body.
    #[wide]
    fn side(&self, surfaces: &Surfaces<T>, flow: &Flow<T>) -> T {
        self.side_slope_body * self.area_1 * self.area_share_side * flow.slip.sin()
            - surfaces.fin.lift
    }

    /// Moment over dynamic pressure that raises the nose, without damping.
    #[wide]
    fn pitching(
        &self,
        setting: &Setting<T>,
        flow: &Flow<T>,
        sizes: &Sizes<T>,
        surfaces: &Surfaces<T>,
    ) -> T {
        let (cos, sin) = (flow.attack.cos(), flow.attack.sin());
        let (wing, tail) = (both(surfaces.wing), both(surfaces.tail));
        let flaps = self.moment_flap_1 * (setting.outer[0] + setting.outer[1])
            + self.moment_flap_12 * (setting.inner[0] + setting.inner[1]);
        let own =
            self.wing_polar().moment(self.wing_attack(flow), self.moment_1, self.stalled_moment_1);
        self.area_1 * (own - flaps)
            + (sizes.centre - self.place_1 * sizes.chord) * (wing.lift * cos + wing.drag * sin)
            + (sizes.centre - self.place_2 * sizes.chord) * (tail.lift * cos - tail.drag * sin)
    }

    /// Moment over dynamic pressure that turns the nose to the right, without damping.
    #[wide]
    fn yawing(&self, flow: &Flow<T>, sizes: &Sizes<T>, surfaces: &Surfaces<T>) -> T {
        let (cos, sin) = (flow.attack.cos(), flow.attack.sin());
        let arm = |unit: T, panels: [Panel<T>; 2]| {
            let left = uneven(panels);
            -(unit * sizes.span * (left.drag * cos + left.lift * sin))
        };
        arm(self.roll_arm_1, surfaces.wing) + arm(self.roll_arm_2, surfaces.tail)
            - self.fin_arm(sizes) * surfaces.fin.lift
    }

    fn fin_arm(&self, sizes: &Sizes<T>) -> T {
        self.place_fin * sizes.chord - sizes.centre
    }

    /// Moment that brakes a roll, per roll rate and dynamic pressure.
    #[wide]
    fn roll_damping(&self, flow: &Flow<T>) -> T {
        let area = self.tail_area();
        (self.aspect_1 * self.lift_slope_1 * self.area_1.squared()
            + self.aspect_2 * self.lift_slope_2 * area.squared())
            * 0.1225
            / (flow.speed + 0.1)
    }

    /// Moments that brake pitch and yaw, per rate and dynamic pressure.
    #[wide]
    fn damping(&self, flow: &Flow<T>, sizes: &Sizes<T>) -> [T; 2] {
        let tail = self.place_2 * sizes.chord - sizes.centre;
        let area = self.area_1 * self.area_share_fin;
        [
            self.lift_slope_2 * self.tail_area() * tail.squared() / (flow.speed + 0.1),
            self.lift_slope_fin * area * self.fin_arm(sizes).squared() / (flow.speed + 0.1),
        ]
    }

    /// Thrust. The nozzle angle z of the right engine directs both forces, while each moment follows
    /// its own engine; `second` is the thrust that counts for the right engine's force.
    #[wide]
    fn thrust(&self, setting: &Setting<T>, sizes: &Sizes<T>, second: T) -> Loads<T> {
        let direction = |side: usize| nozzle(setting.nozzle_y[side], setting.nozzle_z[1]);
        let (left, right) = (direction(0), direction(1));
        let force = std::array::from_fn(|i| setting.thrust[0] * left[i] + second * right[i]);
        let lifts: [Vector<T>; 2] = std::array::from_fn(|side| {
            let along = nozzle(setting.nozzle_y[side], setting.nozzle_z[side]);
            along.map(|x| x * setting.thrust[side])
        });
        let arm = sizes.centre - sizes.engine_place;
        let moment = [
            -(self.engine_offset * sizes.span * (lifts[0][2] - lifts[1][2])),
            -(arm * (lifts[0][2] + lifts[1][2])),
            -(arm * (lifts[0][1] + lifts[1][1])),
        ];
        Loads { force, moment }
    }

    /// Hinge moment per angle and dynamic pressure: outer and inner flaps, tail, fin.
    #[wide]
    fn hinges(&self, tail_slope: T, arm: impl Fn(T) -> T) -> [T; 4] {
        [
            self.lift_flap_1 * self.area_1 * arm(self.hinge_arm_1),
            self.lift_flap_12 * self.area_1 * arm(self.hinge_arm_12),
            tail_slope * self.tail_area() * arm(self.hinge_arm_2),
            self.lift_flap_fin * self.area_1 * self.area_share_fin * arm(self.hinge_arm_fin),
        ]
    }
}

/// Sets the waves of the hinges: c = k·(angle + flow angle), Z = k·T.
#[wide]
fn set_hinges<T: Num>(
    io: &mut Step<'_, T>,
    setting: &Setting<T>,
    stiffness: [T; 4],
    [wing, tail, fin]: [T; 3],
) {
    let [outer, inner, back, rudder] = stiffness;
    let all = [
        (outer, setting.outer[0] + wing),
        (outer, setting.outer[1] + wing),
        (inner, setting.inner[0] + wing),
        (inner, setting.inner[1] + wing),
        (back, setting.tail[0] + tail),
        (back, setting.tail[1] + tail),
        (rudder, setting.fin + fin),
    ];
    for (port, (stiffness, angle)) in all.into_iter().enumerate() {
        io.set_wave(port, stiffness * angle, stiffness * io.dt);
    }
}

/// What a step of an aircraft needs besides its motion.
struct State<T> {
    setting: Setting<T>,
    flow: Flow<T>,
    sizes: Sizes<T>,
    surfaces: Surfaces<T>,
    loads: Loads<T>,
}

/// Declares one of the two aircraft that differ in how they are set and in few of their laws.
macro_rules! aircraft {
    ($(#[$($about:tt)*])* $name:ident, $kind:ident, $empty_mass:tt) => {
        vehicle! {
            $(#[$($about)*])*
            pub struct $name, pitch = "0", {
                /// left outer flap
                #[port(name = "Pal1")]
                left_outer: Rotational,
                /// right outer flap
                #[port(name = "Par1")]
                right_outer: Rotational,
                /// left inner flap
                #[port(name = "Pal12")]
                left_inner: Rotational,
                /// right inner flap
                #[port(name = "Par12")]
                right_inner: Rotational,
                /// left half of the tail
                #[port(name = "Pal2")]
                left_tail: Rotational,
                /// right half of the tail
                #[port(name = "Par2")]
                right_tail: Rotational,
                /// rudder
                #[port(name = "Pfin")]
                rudder: Rotational,
                /// – — thrust of the left engine [N]
                #[input(name = "thrustl", default = "0 N")]
                pub left_thrust: f64,
                /// – — thrust of the right engine [N]
                #[input(name = "thrustr", default = "0 N")]
                pub right_thrust: f64,
                /// – — angle of the left nozzle, upwards [rad]
                #[input(name = "dezthrustl", default = "0 rad")]
                pub left_nozzle_z: f64,
                /// – — angle of the right nozzle, upwards [rad]
                #[input(name = "dezthrustr", default = "0 rad")]
                pub right_nozzle_z: f64,
                /// – — angle of the left nozzle, to the side [rad]
                #[input(name = "deythrustl", default = "0 rad")]
                pub left_nozzle_y: f64,
                /// – — angle of the right nozzle, to the side [rad]
                #[input(name = "deythrustr", default = "0 rad")]
                pub right_nozzle_y: f64,
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
                /// – — roll rate of the air [rad/s]
                #[input(name = "wturbx", default = "0 rad/s")]
                pub swirl_x: f64,
                /// – — pitch rate of the air [rad/s]
                #[input(name = "wturby", default = "0 rad/s")]
                pub swirl_y: f64,
                /// – — yaw rate of the air [rad/s]
                #[input(name = "wturbz", default = "0 rad/s")]
                pub swirl_z: f64,
                /// – — angle at which the fin stalls [rad]
                #[$kind(name = "afin", default = "0.3 rad")]
                pub stall_fin: f64,
                /// a_n1 — angle downwards at which the wing stalls [rad]
                #[$kind(name = "an1", default = "0.6 rad")]
                pub stall_down_1: f64,
                /// a_n2 — angle downwards at which the tail stalls [rad]
                #[$kind(name = "an2", default = "0.6 rad")]
                pub stall_down_2: f64,
                /// a_p1 — angle upwards at which the wing stalls [rad]
                #[$kind(name = "ap1", default = "0.9 rad")]
                pub stall_up_1: f64,
                /// a_p2 — angle upwards at which the tail stalls [rad]
                #[$kind(name = "ap2", default = "0.7 rad")]
                pub stall_up_2: f64,
                /// A₁ — aspect ratio of the wing [–]
                #[$kind(name = "AR1", default = 2.24)]
                pub aspect_1: f64,
                /// A₂ — aspect ratio of the tail [–]
                #[$kind(name = "AR2", default = 2.2)]
                pub aspect_2: f64,
                /// – — without effect [–]
                #[$kind(name = "ARfin", default = 0.58)]
                pub aspect_fin: f64,
                /// – — drag coefficient of the wing without lift [–]
                #[$kind(name = "Cd01", default = 0.0045)]
                pub drag_1: f64,
                /// – — drag coefficient of the tail without lift [–]
                #[$kind(name = "Cd02", default = 0.0045)]
                pub drag_2: f64,
                /// – — drag coefficient of the body [–]
                #[$kind(name = "Cd0b", default = 0.004)]
                pub drag_body: f64,
                /// – — drag coefficient of the fin [–]
                #[$kind(name = "Cd0fin", default = 0.0045)]
                pub drag_fin: f64,
                /// C_Lα1 — lift coefficient of the wing per angle of attack [–]
                #[$kind(name = "CLalpha1", default = 2.1)]
                pub lift_slope_1: f64,
                /// C_Lα2 — lift coefficient of the tail per angle of attack [–]
                #[$kind(name = "CLalpha2", default = 2.2)]
                pub lift_slope_2: f64,
                /// – — lift coefficient of the body per angle of attack [–]
                #[$kind(name = "CLalphabh", default = 2)]
                pub lift_slope_body: f64,
                /// – — side force coefficient of the body per slip [–]
                #[$kind(name = "CLalphabv", default = 2)]
                pub side_slope_body: f64,
                /// – — side force coefficient of the fin per angle [–]
                #[$kind(name = "CLalphafin", default = 0.8)]
                pub lift_slope_fin: f64,
                /// – — lift coefficient per angle of an outer flap [–]
                #[$kind(name = "CLde1", default = 0.1)]
                pub lift_flap_1: f64,
                /// – — lift coefficient per angle of half the tail [–]
                #[$kind(name = "CLde2", default = 0.515)]
                pub lift_flap_2: f64,
                /// – — lift coefficient per angle of an inner flap [–]
                #[$kind(name = "CLde12", default = 0.2)]
                pub lift_flap_12: f64,
                /// – — drag coefficient per squared angle of an outer flap [–]
                #[$kind(name = "Cdide1", default = 0)]
                pub drag_flap_1: f64,
                /// – — drag coefficient per squared angle of an inner flap [–]
                #[$kind(name = "Cdide12", default = 0)]
                pub drag_flap_12: f64,
                /// – — drag coefficient saved per product of both flap angles [–]
                #[$kind(name = "Cdide112", default = 0)]
                pub drag_flaps: f64,
                /// – — angle of an outer flap with least drag [rad]
                #[$kind(name = "de10", default = "0.01 rad")]
                pub flap_rest_1: f64,
                /// – — angle of an inner flap with least drag [rad]
                #[$kind(name = "de120", default = "0.01 rad")]
                pub flap_rest_12: f64,
                /// C_m0 — moment coefficient of the wing [m]
                #[$kind(name = "Cm01", default = "-0.1 m")]
                pub moment_1: f64,
                /// C_ms — moment coefficient of the stalled wing [m]
                #[$kind(name = "Cmfs1", default = "-0.5 m")]
                pub stalled_moment_1: f64,
                /// – — moment coefficient per angle of an outer flap [m]
                #[$kind(name = "Cmde1", default = "0.02 m")]
                pub moment_flap_1: f64,
                /// – — moment coefficient per angle of an inner flap [m]
                #[$kind(name = "Cmde12", default = "0.1 m")]
                pub moment_flap_12: f64,
                /// – — side force coefficient per rudder angle [–]
                #[$kind(name = "CLdefin", default = 0.0827084)]
                pub lift_flap_fin: f64,
                /// – — share of the angle of attack that meets the wing [–]
                #[$kind(name = "dah1", default = 1)]
                pub attack_share_1: f64,
                /// – — share of the angle of attack that meets the tail [–]
                #[$kind(name = "dah2", default = 0.6)]
                pub attack_share_2: f64,
                /// e₁ — span efficiency of the wing [–]
                #[$kind(name = "e1", default = 0.95)]
                pub efficiency_1: f64,
                /// e₂ — span efficiency of the tail [–]
                #[$kind(name = "e2", default = 0.95)]
                pub efficiency_2: f64,
                /// – — without effect [–]
                #[$kind(name = "efin", default = 0.95)]
                pub efficiency_fin: f64,
                /// – — width of the fin's stall [rad]
                #[$kind(name = "awfin", default = "0.2 rad")]
                pub stall_width_fin: f64,
                /// w_n1 — width of the wing's stall downwards [rad]
                #[$kind(name = "awn1", default = "0.2 rad")]
                pub stall_down_width_1: f64,
                /// w_n2 — width of the tail's stall downwards [rad]
                #[$kind(name = "awn2", default = "0.2 rad")]
                pub stall_down_width_2: f64,
                /// w_p1 — width of the wing's stall upwards [rad]
                #[$kind(name = "awp1", default = "0.2 rad")]
                pub stall_up_width_1: f64,
                /// w_p2 — width of the tail's stall upwards [rad]
                #[$kind(name = "awp2", default = "0.2 rad")]
                pub stall_up_width_2: f64,
                /// – — without effect [rad]
                #[$kind(name = "gamma1", default = "-0.0872665 rad")]
                pub dihedral_1: f64,
                /// – — without effect [rad]
                #[$kind(name = "gamma2", default = "-0.0872665 rad")]
                pub dihedral_2: f64,
                /// – — without effect [–]
                #[$kind(name = "hthrust0", default = 0)]
                pub thrust_height: f64,
                /// – — angle by which the wing is set down [rad]
                #[$kind(name = "ia1", default = "0 rad")]
                pub incidence_1: f64,
                /// – — angle by which the tail is set down [rad]
                #[$kind(name = "ia2", default = "0.02 rad")]
                pub incidence_2: f64,
                /// – — moment of inertia about x, over A₁·M·S₁ [–]
                #[$kind(name = "Ix0", default = 0.0022)]
                pub roll_inertia: f64,
                /// – — product of inertia, over A₁·M·S₁ [–]
                #[$kind(name = "Ixz0", default = 0.001)]
                pub cross_inertia: f64,
                /// – — moment of inertia about y, over M·S₁ [–]
                #[$kind(name = "Iy0", default = 0.06)]
                pub pitch_inertia: f64,
                /// – — moment of inertia about z, over M·S₁/A₁ [–]
                #[$kind(name = "Iz0", default = 0.08)]
                pub yaw_inertia: f64,
                /// – — without effect [rad]
                #[$kind(name = "lambda1", default = "0.436332 rad")]
                pub sweep_1: f64,
                /// – — without effect [rad]
                #[$kind(name = "lambda2", default = "0.436332 rad")]
                pub sweep_2: f64,
                /// – — without effect [rad]
                #[$kind(name = "lambdafin", default = "0.785398 rad")]
                pub sweep_fin: f64,
                /// – — arm of an outer flap about its hinge, in chords [–]
                #[$kind(name = "lc10", default = 0.005)]
                pub hinge_arm_1: f64,
                /// – — arm of the tail about its hinge, in chords [–]
                #[$kind(name = "lc20", default = 0.005)]
                pub hinge_arm_2: f64,
                /// – — arm of an inner flap about its hinge, in chords [–]
                #[$kind(name = "lc120", default = 0.005)]
                pub hinge_arm_12: f64,
                /// – — arm of the rudder about its hinge, in chords [–]
                #[$kind(name = "lcfin0", default = 0.005)]
                pub hinge_arm_fin: f64,
                /// M — mass without fuel and cargo [kg]
                #[$kind(name = $empty_mass, default = "5000 kg")]
                pub empty_mass: f64,
                /// – — place of half the wing's lift, in spans [–]
                #[$kind(name = "rc10", default = 0.25)]
                pub roll_arm_1: f64,
                /// – — place of half the tail's lift, in spans [–]
                #[$kind(name = "rc20", default = 0.15)]
                pub roll_arm_2: f64,
                /// – — without effect [–]
                #[$kind(name = "rcfin0", default = 0.1)]
                pub roll_arm_fin: f64,
                /// S₁ — area of the wing [m^2]
                #[$kind(name = "S1", default = "40 m^2")]
                pub area_1: f64,
                /// – — area of the tail, over S₁ [–]
                #[$kind(name = "S20", default = 0.5)]
                pub area_share_2: f64,
                /// – — area of the body from above, over S₁ [–]
                #[$kind(name = "Sbh0", default = 0.2)]
                pub area_share_body: f64,
                /// – — area of the body from the side, over S₁ [–]
                #[$kind(name = "Sbv0", default = 0.2)]
                pub area_share_side: f64,
                /// – — area of the fin, over S₁ [–]
                #[$kind(name = "Sfin0", default = 0.17)]
                pub area_share_fin: f64,
                /// – — without effect [–]
                #[$kind(name = "xbach0", default = 2)]
                pub body_place: f64,
                /// – — without effect [–]
                #[$kind(name = "xbacv0", default = 2)]
                pub side_place: f64,
                /// – — place of the empty aircraft's centre of mass, in chords [–]
                #[$kind(name = "xbcge0", default = 1.4)]
                pub empty_place: f64,
                /// – — place of the cargo, in chords [–]
                #[$kind(name = "xcargo0", default = 1.4)]
                pub cargo_place: f64,
                /// – — place of the fuel, in chords [–]
                #[$kind(name = "xfuel0", default = 1.4)]
                pub fuel_place: f64,
                /// – — place of the wing, in chords [–]
                #[$kind(name = "xw10", default = 1.55)]
                pub place_1: f64,
                /// – — place of the tail, in chords [–]
                #[$kind(name = "xw20", default = 2.6)]
                pub place_2: f64,
                /// – — place of the fin, in chords [–]
                #[$kind(name = "xwfin0", default = 2.6)]
                pub place_fin: f64,
                /// – — place of the engines, in spans [–]
                #[$kind(name = "xeng0", default = 2.6)]
                pub engine_place: f64,
                /// – — place of the engines to the side, in spans [–]
                #[$kind(name = "yeng0", default = 0)]
                pub engine_offset: f64,
                /// g — gravity [m/s^2]
                #[$kind(name = "g0", default = "9.81 m/s^2")]
                pub gravity: f64,
                /// – — stiffness of the ground [N/m]
                #[$kind(name = "kground", default = "10000 N/m")]
                pub ground_stiffness: f64,
                /// – — without effect [N*s/m]
                #[$kind(name = "cground", default = "1000 N*s/m")]
                pub ground_damping: f64,
                /// C_L — lift coefficient [–]
                #[output(name = "CL1")]
                lift_coefficient: Signal,
                /// C_D — drag coefficient [–]
                #[output(name = "Cd1")]
                drag_coefficient: Signal,
                /// – — drag, forwards [N]
                #[output(name = "Fax")]
                drag_force: Signal,
                /// – — lift, downwards [N]
                #[output(name = "Faz")]
                lift_force: Signal,
            }
        }
    };
}

aircraft! {
    /// Aircraft whose surfaces turn in the flow, set by parameters.
    ///
    /// Equations of motion as in the module [`body`](super::body). Wing halves with two flaps each,
    /// tail halves, body and fin have lift and drag in the flow of the state before the step; hinges
    /// answer with c = k·(angle − α), k = slope·area·arm²·q̄. The moments of the surfaces count in
    /// the axes of the flow. Both engines push with the thrust of the left one.
    #[component("hopsan.AeroAircraft6DOF", c, constants = Prepared)]
    Aircraft6Dof, parameter, "Me"
}

aircraft! {
    /// Aircraft whose surfaces turn in the flow, set by inputs that are read at the start.
    ///
    /// Equations of motion as in the module [`body`](super::body). Wing halves with two flaps each,
    /// tail halves, body and fin have lift and drag in the flow of the state before the step; hinges
    /// answer with c = k·(angle + α), k = slope·area·arm·q̄. Both engines push with the thrust of the
    /// left one; the wing's lift rolls the aircraft with the product of both roll arms.
    #[component("hopsan.AeroAircraft6DOFS", c)]
    Aircraft6Dofs, input, "Med"
}

/// Airframe of an aircraft that is set by parameters.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Prepared<T> {
    frame: Airframe<T>,
    lift_flap_2: T,
}

/// What the two aircraft share: sizes, flow, and surfaces with a tail whose lift follows its angle
/// linearly and whose drag follows it where `drags` says so.
#[wide]
fn sized<T: Num>(
    frame: &Airframe<T>,
    lift_flap_2: T,
    setting: &Setting<T>,
    motion: &Motion<T>,
    drags: bool,
) -> (Flow<T>, Sizes<T>, Surfaces<T>, Loads<T>) {
    let relative = std::array::from_fn(|i| motion.velocity[i] + setting.gust[i]);
    let flow = Flow::new(relative, setting.density);
    let aspect = frame.aspect_1;
    let span = (aspect * frame.area_1).sqrt();
    let shape = [aspect, T::one(), aspect.recip(), aspect];
    let sizes = frame.sizes(setting, (frame.area_1 / aspect).sqrt(), shape, span);
    let (polar, attack) = (frame.tail_polar(), frame.tail_attack(&flow));
    let lift = polar.lift(attack) * 0.5;
    let surfaces = frame.surfaces(setting, &flow, |angle| {
        let met = if drags { attack + angle } else { attack };
        let induced = polar.induced_drag(met, frame.aspect_2, frame.efficiency_2);
        Panel {
            lift: frame.tail_area() * (lift_flap_2 * angle + lift),
            drag: frame.tail_area() * (frame.drag_2 + induced) * 0.5,
        }
    });
    let mut loads = frame.thrust(setting, &sizes, setting.thrust[0]);
    let q = flow.pressure;
    let side = frame.side(&surfaces, &flow);
    let air = flow.to_body(surfaces.drag() * q, surfaces.lift() * q, side * q);
    for (sum, force) in loads.force.iter_mut().zip(air) {
        *sum += force;
    }
    loads.force[2] -= frame.ground_stiffness * motion.position[2].max(T::zero());
    (flow, sizes, surfaces, loads)
}

impl Aircraft6Dof {
    const BODY: Body = Body(0);

    #[wide]
    fn state<T: Num>(k: &Prepared<T>, io: &Step<'_, T>, motion: &Motion<T>) -> State<T> {
        let setting = Setting::read(io);
        let frame = &k.frame;
        let (flow, sizes, surfaces, mut loads) =
            sized(frame, k.lift_flap_2, &setting, motion, false);
        let [pitch_brake, yaw_brake] = frame.damping(&flow, &sizes);
        let roll = uneven(surfaces.wing).lift * frame.roll_arm_1 * sizes.span
            + uneven(surfaces.tail).lift * frame.roll_arm_2 * sizes.span
            - frame.roll_damping(&flow) * (motion.spin[0] + setting.swirl[0]);
        let pitch = frame.pitching(&setting, &flow, &sizes, &surfaces)
            - pitch_brake * (motion.spin[1] + setting.swirl[1]);
        let yaw = frame.yawing(&flow, &sizes, &surfaces)
            - yaw_brake * (motion.spin[2] + setting.swirl[2]);
        let (ca, sa) = (flow.attack.cos(), flow.attack.sin());
        let (cb, sb) = (flow.slip.cos(), flow.slip.sin());
        let ahead = roll * cb - pitch * sb;
        let air = [ahead * ca - yaw * sa, pitch * cb + roll * sb, ahead * sa + yaw * ca];
        for (sum, moment) in loads.moment.iter_mut().zip(air) {
            *sum += moment * flow.pressure;
        }
        State { setting, flow, sizes, surfaces, loads }
    }
}

impl Physics for Aircraft6Dof {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<Prepared<f64>, Refusal> {
        macro_rules! own {
            ($field:ident $constant:ident) => {
                self.$field
            };
        }
        Ok(Prepared { frame: airframe!(own), lift_flap_2: self.lift_flap_2 })
    }

    fn history(_: &Prepared<f64>) -> usize {
        Body::HISTORY
    }

    fn start<T: Num>(k: &Prepared<T>, io: &mut Step<'_, T>) {
        let motion = Shown::motion(io);
        let state = Self::state(k, io, &motion);
        Self::BODY.start(io, motion, &state.sizes.inertia, &state.loads);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &Prepared<T>, io: &mut Step<'_, T>) {
        let state = Self::state(k, io, &Self::BODY.motion(io));
        let motion = Self::BODY.step(io, &state.sizes.inertia, &state.loads);
        let State { setting, flow, sizes, surfaces, loads } = state;
        let hinges = k.frame.hinges(k.lift_flap_2, |arm| (arm * sizes.chord).squared());
        let wing = both(surfaces.wing);
        let angles = [-flow.attack, -flow.attack, -flow.slip];
        set_hinges(io, &setting, hinges.map(|x| x * flow.pressure), angles);
        Shown::show(
            io,
            &motion,
            [flow.attack, flow.slip],
            loads.force.map(|x| x / sizes.inertia.mass),
        );
        io.set_output(Self::LIFT_COEFFICIENT, wing.lift / k.frame.area_1);
        io.set_output(Self::DRAG_COEFFICIENT, wing.drag / k.frame.area_1);
        io.set_output(Self::DRAG_FORCE, -(surfaces.drag() * flow.pressure));
        io.set_output(Self::LIFT_FORCE, -(surfaces.lift() * flow.pressure));
    }
}

impl Aircraft6Dofs {
    const HELD: Held = Held::inputs(Self::STALL_FIN, Self::GROUND_DAMPING);
    const BODY: Body = Body(Self::HELD.count());

    fn frame<T: Num>(io: &Step<'_, T>) -> Airframe<T> {
        macro_rules! held {
            ($field:ident $constant:ident) => {
                Self::HELD.get(io, Self::$constant)
            };
        }
        airframe!(held)
    }

    #[wide]
    fn state<T: Num>(frame: &Airframe<T>, io: &Step<'_, T>, motion: &Motion<T>) -> State<T> {
        let setting = Setting::read(io);
        let lift_flap_2 = Self::HELD.get(io, Self::LIFT_FLAP_2);
        let (flow, sizes, surfaces, mut loads) = sized(frame, lift_flap_2, &setting, motion, true);
        let [pitch_brake, yaw_brake] = frame.damping(&flow, &sizes);
        let (cos, sin) = (flow.attack.cos(), flow.attack.sin());
        let across = |panels: [Panel<T>; 2]| {
            let left = uneven(panels);
            left.lift * cos - left.drag * sin
        };
        let arms = [frame.roll_arm_1 * sizes.span, frame.roll_arm_2 * sizes.span];
        let roll = (arms[0] * across(surfaces.wing) + across(surfaces.tail)) * arms[1]
            - frame.roll_damping(&flow) * (motion.spin[0] + setting.swirl[0]);
        let pitch = frame.pitching(&setting, &flow, &sizes, &surfaces)
            - pitch_brake * (motion.spin[1] + setting.swirl[1]);
        let yaw = frame.yawing(&flow, &sizes, &surfaces)
            - yaw_brake * (motion.spin[2] + setting.swirl[2]);
        for (sum, moment) in loads.moment.iter_mut().zip([roll, pitch, yaw]) {
            *sum += moment * flow.pressure;
        }
        State { setting, flow, sizes, surfaces, loads }
    }
}

impl Physics for Aircraft6Dofs {
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
        let state = Self::state(&Self::frame(io), io, &motion);
        Self::BODY.start(io, motion, &state.sizes.inertia, &state.loads);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let frame = Self::frame(io);
        let state = Self::state(&frame, io, &Self::BODY.motion(io));
        let motion = Self::BODY.step(io, &state.sizes.inertia, &state.loads);
        let State { setting, flow, sizes, surfaces, loads } = state;
        let slope = Self::HELD.get(io, Self::LIFT_FLAP_2);
        let hinges = frame.hinges(slope, |arm| arm * sizes.chord);
        let angles = [flow.attack, flow.attack, flow.slip];
        set_hinges(io, &setting, hinges.map(|x| x * flow.pressure), angles);
        Shown::show(
            io,
            &motion,
            [flow.attack, flow.slip],
            loads.force.map(|x| x / sizes.inertia.mass),
        );
        io.set_output(Self::LIFT_COEFFICIENT, surfaces.lift() / frame.area_1);
        let drag = surfaces.drag() - surfaces.fin.drag;
        io.set_output(Self::DRAG_COEFFICIENT, drag / frame.area_1);
        io.set_output(Self::DRAG_FORCE, -(surfaces.drag() * flow.pressure));
        io.set_output(Self::LIFT_FORCE, -(surfaces.lift() * flow.pressure));
    }
}

vehicle! {
    /// Aircraft that may fly faster than sound, with corrections to its coefficients as inputs.
    ///
    /// Equations of motion as in the module [`body`](super::body); all inputs are read in every step.
    /// Near the speed of sound, β_M = ((1 − M²)² + (ε·M)²)^¼ divides the lift slopes of wing and tail
    /// and σ = 1/(1 + e_n^(−2·(v − (1 − d_M)·v_M)/(d_M·v_M))) brings wave drag and takes the span
    /// efficiency to that of supersonic flow; both lag a step in slopes and efficiencies. Lengths
    /// along the body are in mean aerodynamic chords. Hinges answer with c = k·(angle + flow angle).
    /// Pitch and yaw have no damping of their own, and the wind from the right is the head wind.
    #[component("hopsan.AeroAircraft6DOFSS", c)]
    pub struct Aircraft6Dofss, pitch = "0", {
        /// left outer flap
        #[port(name = "Pal1")]
        left_outer: Rotational,
        /// right outer flap
        #[port(name = "Par1")]
        right_outer: Rotational,
        /// left inner flap
        #[port(name = "Pal12")]
        left_inner: Rotational,
        /// right inner flap
        #[port(name = "Par12")]
        right_inner: Rotational,
        /// left half of the tail
        #[port(name = "Pal2")]
        left_tail: Rotational,
        /// right half of the tail
        #[port(name = "Par2")]
        right_tail: Rotational,
        /// rudder
        #[port(name = "Pfin")]
        rudder: Rotational,
        /// – — thrust of the left engine [N]
        #[input(name = "thrustl", default = "0 N")]
        pub left_thrust: f64,
        /// – — thrust of the right engine [N]
        #[input(name = "thrustr", default = "0 N")]
        pub right_thrust: f64,
        /// – — angle of the left nozzle, upwards [rad]
        #[input(name = "dezthrustl", default = "0 rad")]
        pub left_nozzle_z: f64,
        /// – — angle of the right nozzle, upwards [rad]
        #[input(name = "dezthrustr", default = "0 rad")]
        pub right_nozzle_z: f64,
        /// – — angle of the left nozzle, to the side [rad]
        #[input(name = "deythrustl", default = "0 rad")]
        pub left_nozzle_y: f64,
        /// – — angle of the right nozzle, to the side [rad]
        #[input(name = "deythrustr", default = "0 rad")]
        pub right_nozzle_y: f64,
        /// – — mass of fuel [kg]
        #[input(name = "Mfuel", default = "0 kg")]
        pub fuel_mass: f64,
        /// – — mass of cargo [kg]
        #[input(name = "Mcargo", default = "0 kg")]
        pub cargo_mass: f64,
        /// ρ — density of the air [kg/m^3]
        #[input(name = "rho", default = "1.25 kg/m^3")]
        pub density: f64,
        /// – — wind from the north [m/s]
        #[input(name = "vturbx", default = "0 m/s")]
        pub gust_x: f64,
        /// – — wind from the east [m/s]
        #[input(name = "vturby", default = "0 m/s")]
        pub gust_y: f64,
        /// – — wind from below [m/s]
        #[input(name = "vturbz", default = "0 m/s")]
        pub gust_z: f64,
        /// – — rotation of the air about north [rad/s]
        #[input(name = "wturbx", default = "0 rad/s")]
        pub swirl_x: f64,
        /// – — rotation of the air about east [rad/s]
        #[input(name = "wturby", default = "0 rad/s")]
        pub swirl_y: f64,
        /// – — rotation of the air about down [rad/s]
        #[input(name = "wturbz", default = "0 rad/s")]
        pub swirl_z: f64,
        /// v_M — speed of sound [m/s]
        #[input(name = "vM", default = "340 m/s")]
        pub sound_speed: f64,
        /// ΔC_D — addition to the drag coefficient [–]
        #[input(name = "deCD", default = 0)]
        pub more_drag: f64,
        /// ΔC_Y — addition to the side force coefficient, half [–]
        #[input(name = "deCY", default = 0)]
        pub more_side: f64,
        /// ΔC_L — addition to the lift coefficient, half [–]
        #[input(name = "deCL", default = 0)]
        pub more_lift: f64,
        /// ΔC_l — addition to the roll moment coefficient, half [m]
        #[input(name = "deCl", default = "0 m")]
        pub more_roll: f64,
        /// ΔC_m — addition to the pitch moment coefficient [m]
        #[input(name = "deCm", default = "0 m")]
        pub more_pitch: f64,
        /// ΔC_n — factor on the yaw moment per slip [m]
        #[input(name = "deCn", default = "0 m")]
        pub more_yaw: f64,
        /// – — angle at which the fin stalls [rad]
        #[input(name = "afin", default = "0.3 rad")]
        pub stall_fin: f64,
        /// a_n1 — angle downwards at which the wing stalls [rad]
        #[input(name = "an1", default = "0.6 rad")]
        pub stall_down_1: f64,
        /// a_n2 — angle downwards at which the tail stalls [rad]
        #[input(name = "an2", default = "0.6 rad")]
        pub stall_down_2: f64,
        /// a_p1 — angle upwards at which the wing stalls [rad]
        #[input(name = "ap1", default = "0.9 rad")]
        pub stall_up_1: f64,
        /// a_p2 — angle upwards at which the tail stalls [rad]
        #[input(name = "ap2", default = "0.7 rad")]
        pub stall_up_2: f64,
        /// A₁ — aspect ratio of the wing [–]
        #[input(name = "AR1", default = 3.62)]
        pub aspect_1: f64,
        /// A₂ — aspect ratio of the tail [–]
        #[input(name = "AR2", default = 3.62)]
        pub aspect_2: f64,
        /// – — without effect [–]
        #[input(name = "ARfin", default = 1.5)]
        pub aspect_fin: f64,
        /// – — drag coefficient of the wing without lift [–]
        #[input(name = "Cd01", default = 0.0045)]
        pub drag_1: f64,
        /// – — drag coefficient of the tail without lift [–]
        #[input(name = "Cd02", default = 0.0045)]
        pub drag_2: f64,
        /// – — drag coefficient of the body [–]
        #[input(name = "Cd0b", default = 0.03)]
        pub drag_body: f64,
        /// – — drag coefficient of the fin [–]
        #[input(name = "Cd0fin", default = 0.0045)]
        pub drag_fin: f64,
        /// – — wave drag coefficient beyond the speed of sound [–]
        #[input(name = "CdW0", default = 0.048)]
        pub wave_drag: f64,
        /// C_Lα1 — lift coefficient of the wing per angle of attack [–]
        #[input(name = "CLalpha1", default = 2.1)]
        pub lift_slope_1: f64,
        /// C_Lα2 — lift coefficient of the tail per angle of attack [–]
        #[input(name = "CLalpha2", default = 2.2)]
        pub lift_slope_2: f64,
        /// – — lift coefficient of the body per angle of attack [–]
        #[input(name = "CLalphabh", default = 2)]
        pub lift_slope_body: f64,
        /// – — side force coefficient of the body per slip [–]
        #[input(name = "CLalphabv", default = 2)]
        pub side_slope_body: f64,
        /// – — side force coefficient of the fin per angle [–]
        #[input(name = "CLalphafin", default = 0.8)]
        pub lift_slope_fin: f64,
        /// – — lift coefficient per angle of an outer flap [–]
        #[input(name = "CLde1", default = 0.1)]
        pub lift_flap_1: f64,
        /// – — lift coefficient per angle of an inner flap [–]
        #[input(name = "CLde12", default = 0.2)]
        pub lift_flap_12: f64,
        /// – — drag coefficient per squared angle of an outer flap [–]
        #[input(name = "Cdide1", default = 0)]
        pub drag_flap_1: f64,
        /// – — drag coefficient per squared angle of an inner flap [–]
        #[input(name = "Cdide12", default = 0)]
        pub drag_flap_12: f64,
        /// – — drag coefficient saved per product of both flap angles [–]
        #[input(name = "Cdide112", default = 0)]
        pub drag_flaps: f64,
        /// – — angle of an outer flap with least drag [rad]
        #[input(name = "de10", default = "0.01 rad")]
        pub flap_rest_1: f64,
        /// – — angle of an inner flap with least drag [rad]
        #[input(name = "de120", default = "0.01 rad")]
        pub flap_rest_12: f64,
        /// d_M — width of the passage through the speed of sound, over it [–]
        #[input(name = "dM", default = 0.1)]
        pub sound_width: f64,
        /// C_m0 — moment coefficient of the wing [m]
        #[input(name = "Cm01", default = "-0.1 m")]
        pub moment_1: f64,
        /// C_ms — moment coefficient of the stalled wing [m]
        #[input(name = "Cmfs1", default = "-0.5 m")]
        pub stalled_moment_1: f64,
        /// – — moment coefficient per angle of an outer flap [m]
        #[input(name = "Cmde1", default = "0.02 m")]
        pub moment_flap_1: f64,
        /// – — moment coefficient per angle of an inner flap [m]
        #[input(name = "Cmde12", default = "0.1 m")]
        pub moment_flap_12: f64,
        /// – — side force coefficient per rudder angle [–]
        #[input(name = "CLdefin", default = 0.0827084)]
        pub lift_flap_fin: f64,
        /// – — side force coefficient per difference of the tail's angles [–]
        #[input(name = "Cydeelev", default = 0.1)]
        pub side_tail: f64,
        /// – — yaw moment per slip, times the factor on it [–]
        #[input(name = "Cnbeta", default = 0)]
        pub yaw_slip: f64,
        /// – — share of the angle of attack that meets the wing [–]
        #[input(name = "dah1", default = 1)]
        pub attack_share_1: f64,
        /// – — share of the angle of attack that meets the tail [–]
        #[input(name = "dah2", default = 1)]
        pub attack_share_2: f64,
        /// e_n — base of the passage through the speed of sound [–]
        #[input(name = "en", default = 2.71828)]
        pub sound_base: f64,
        /// e₁ — span efficiency of the wing [–]
        #[input(name = "e1", default = 0.95)]
        pub efficiency_1: f64,
        /// e₂ — span efficiency of the tail [–]
        #[input(name = "e2", default = 0.95)]
        pub efficiency_2: f64,
        /// – — without effect [–]
        #[input(name = "efin", default = 0.95)]
        pub efficiency_fin: f64,
        /// ε — keeps the lift slopes finite at the speed of sound [–]
        #[input(name = "epsM", default = 0.1)]
        pub sound_floor: f64,
        /// – — width of the fin's stall [rad]
        #[input(name = "awfin", default = "0.2 rad")]
        pub stall_width_fin: f64,
        /// w_n1 — width of the wing's stall downwards [rad]
        #[input(name = "awn1", default = "0.2 rad")]
        pub stall_down_width_1: f64,
        /// w_n2 — width of the tail's stall downwards [rad]
        #[input(name = "awn2", default = "0.2 rad")]
        pub stall_down_width_2: f64,
        /// w_p1 — width of the wing's stall upwards [rad]
        #[input(name = "awp1", default = "0.2 rad")]
        pub stall_up_width_1: f64,
        /// w_p2 — width of the tail's stall upwards [rad]
        #[input(name = "awp2", default = "0.2 rad")]
        pub stall_up_width_2: f64,
        /// – — without effect [rad]
        #[input(name = "gamma1", default = "-0.0872665 rad")]
        pub dihedral_1: f64,
        /// – — without effect [rad]
        #[input(name = "gamma2", default = "-0.0872665 rad")]
        pub dihedral_2: f64,
        /// – — without effect [–]
        #[input(name = "hthrust0", default = 0)]
        pub thrust_height: f64,
        /// – — angle by which the wing is set down [rad]
        #[input(name = "ia1", default = "0 rad")]
        pub incidence_1: f64,
        /// – — angle by which the tail is set down [rad]
        #[input(name = "ia2", default = "0.02 rad")]
        pub incidence_2: f64,
        /// – — moment of inertia about x, over A₁·M·S₁ [–]
        #[input(name = "Ix0", default = 0.0147)]
        pub roll_inertia: f64,
        /// – — product of inertia, over M·S₁ [–]
        #[input(name = "Ixz0", default = 0.0055)]
        pub cross_inertia: f64,
        /// – — moment of inertia about y, over M·S₁/A₁ [–]
        #[input(name = "Iy0", default = 1.131)]
        pub pitch_inertia: f64,
        /// – — moment of inertia about z, over M·S₁/A₁ [–]
        #[input(name = "Iz0", default = 1.279)]
        pub yaw_inertia: f64,
        /// λ₁ — sweep of the wing [rad]
        #[input(name = "lambda1", default = "0.436332 rad")]
        pub sweep_1: f64,
        /// λ₂ — sweep of the tail [rad]
        #[input(name = "lambda2", default = "0.436332 rad")]
        pub sweep_2: f64,
        /// – — without effect [rad]
        #[input(name = "lambdafin", default = "0.785398 rad")]
        pub sweep_fin: f64,
        /// – — arm of an outer flap about its hinge, in chords [–]
        #[input(name = "lc10", default = 0.01)]
        pub hinge_arm_1: f64,
        /// – — arm of the tail about its hinge, in chords [–]
        #[input(name = "lc20", default = 0.05)]
        pub hinge_arm_2: f64,
        /// – — arm of an inner flap about its hinge, in chords [–]
        #[input(name = "lc120", default = 0.01)]
        pub hinge_arm_12: f64,
        /// – — arm of the rudder about its hinge, in chords [–]
        #[input(name = "lcfin0", default = 0.01)]
        pub hinge_arm_fin: f64,
        /// M — mass without fuel and cargo [kg]
        #[input(name = "Me", default = "8700 kg")]
        pub empty_mass: f64,
        /// – — mean aerodynamic chord, over √(S₁/A₁) [–]
        #[input(name = "mac0", default = 1)]
        pub mean_chord: f64,
        /// – — place of half the wing's lift, in spans [–]
        #[input(name = "rc10", default = 0.25)]
        pub roll_arm_1: f64,
        /// – — without effect [–]
        #[input(name = "rc120", default = 0.25)]
        pub roll_arm_12: f64,
        /// – — place of half the tail's lift, in spans [–]
        #[input(name = "rc20", default = 0.15)]
        pub roll_arm_2: f64,
        /// – — without effect [–]
        #[input(name = "rcfin0", default = 0.1)]
        pub roll_arm_fin: f64,
        /// S₁ — area of the wing [m^2]
        #[input(name = "S1", default = "27 m^2")]
        pub area_1: f64,
        /// – — area of the tail, over S₁ [–]
        #[input(name = "S20", default = 0.36)]
        pub area_share_2: f64,
        /// – — area of the body from above, over S₁ [–]
        #[input(name = "Sbh0", default = 0.2)]
        pub area_share_body: f64,
        /// – — area of the body from the side, over S₁ [–]
        #[input(name = "Sbv0", default = 0.1)]
        pub area_share_side: f64,
        /// – — area of the fin, over S₁ [–]
        #[input(name = "Sfin0", default = 0.17)]
        pub area_share_fin: f64,
        /// – — without effect [–]
        #[input(name = "xbach0", default = 3)]
        pub body_place: f64,
        /// – — without effect [–]
        #[input(name = "xbacv0", default = 3)]
        pub side_place: f64,
        /// – — place of the empty aircraft's centre of mass, in chords [–]
        #[input(name = "xbcge0", default = 3)]
        pub empty_place: f64,
        /// – — place of the cargo, in chords [–]
        #[input(name = "xcargo0", default = 3)]
        pub cargo_place: f64,
        /// – — place of the fuel, in chords [–]
        #[input(name = "xfuel0", default = 3)]
        pub fuel_place: f64,
        /// – — place of the wing, in chords [–]
        #[input(name = "xw10", default = 3)]
        pub place_1: f64,
        /// – — place of the tail, in chords [–]
        #[input(name = "xw20", default = 4.8)]
        pub place_2: f64,
        /// – — place of the fin, in chords [–]
        #[input(name = "xwfin0", default = 4.8)]
        pub place_fin: f64,
        /// – — place of the engines, in chords [–]
        #[input(name = "xeng0", default = 4.8)]
        pub engine_place: f64,
        /// – — place of the engines to the side, in spans [–]
        #[input(name = "yeng0", default = 0)]
        pub engine_offset: f64,
        /// g — gravity [m/s^2]
        #[input(name = "g0", default = "9.81 m/s^2")]
        pub gravity: f64,
        /// – — stiffness of the ground [N/m]
        #[input(name = "kground", default = "10000 N/m")]
        pub ground_stiffness: f64,
        /// – — without effect [N*s/m]
        #[input(name = "cground", default = "1000 N*s/m")]
        pub ground_damping: f64,
        /// v — speed through the air [m/s]
        #[output(name = "v")]
        speed: Signal,
        /// – — lift coefficient of the wing [–]
        #[output(name = "CL1")]
        wing_lift: Signal,
        /// – — drag coefficient of the wing [–]
        #[output(name = "Cd1")]
        wing_drag: Signal,
        /// – — lift coefficient of the tail [–]
        #[output(name = "CL2")]
        tail_lift: Signal,
        /// – — drag coefficient of the tail [–]
        #[output(name = "Cd2")]
        tail_drag: Signal,
        /// C_L — lift coefficient [–]
        #[output(name = "CLtot")]
        lift_coefficient: Signal,
        /// C_D — drag coefficient [–]
        #[output(name = "Cdtot")]
        drag_coefficient: Signal,
        /// – — lift of the wing [N]
        #[output(name = "Lift1")]
        wing_force: Signal,
        /// – — lift of the tail [N]
        #[output(name = "Lift2")]
        tail_force: Signal,
        /// – — drag, forwards [N]
        #[output(name = "Fax")]
        drag_force: Signal,
        /// – — lift, downwards [N]
        #[output(name = "Faz")]
        lift_force: Signal,
    }
}

impl Aircraft6Dofss {
    const BODY: Body = Body(0);

    /// The airframe, with lift slopes and efficiencies for a speed.
    #[wide]
    fn frame<T: Num>(io: &Step<'_, T>, speed: T) -> Airframe<T> {
        macro_rules! now {
            ($field:ident $constant:ident) => {
                io.input(Self::$constant)
            };
        }
        let mut frame: Airframe<T> = airframe!(now);
        let mach = (speed / io.input(Self::SOUND_SPEED)).squared();
        let floor = io.input(Self::SOUND_FLOOR).squared();
        let squared = ((T::one() - mach).squared() + floor * mach).sqrt();
        let beta = squared.sqrt();
        let beyond = Self::beyond(io, speed);
        let efficiency = |own: T, aspect: T, sweep: T| {
            let supersonic = (aspect * beta * 4.0 - 2.0) * FRAC_1_PI
                / (aspect.squared() * squared * sweep.cos());
            own - own * (T::one() - supersonic) * beyond
        };
        frame.efficiency_1 =
            efficiency(frame.efficiency_1, frame.aspect_1, io.input(Self::SWEEP_1));
        frame.efficiency_2 =
            efficiency(frame.efficiency_2, frame.aspect_2, io.input(Self::SWEEP_2));
        frame.lift_slope_1 = frame.lift_slope_1 / beta;
        frame.lift_slope_2 = frame.lift_slope_2 / beta;
        frame
    }

    /// σ: how far beyond the speed of sound.
    #[wide]
    fn beyond<T: Num>(io: &Step<'_, T>, speed: T) -> T {
        let (sound, width) = (io.input(Self::SOUND_SPEED), io.input(Self::SOUND_WIDTH));
        let over = (speed - (T::one() - width) * sound) / (width * sound);
        soft_step(over * io.input(Self::SOUND_BASE).ln())
    }

    #[wide]
    fn state<T: Num>(frame: &Airframe<T>, io: &Step<'_, T>, motion: &Motion<T>) -> State<T> {
        let setting = Setting::read(io);
        let gust = motion.attitude.turn(setting.gust);
        let [x, y, z] = motion.velocity;
        let flow = Flow::new([x + gust[0], y + gust[0], z + gust[2]], setting.density);
        let aspect = frame.aspect_1;
        let standard_chord = (frame.area_1 / aspect).sqrt();
        let chord = standard_chord * io.input(Self::MEAN_CHORD);
        let shape = [aspect, aspect.recip(), aspect.recip(), T::one()];
        let sizes = frame.sizes(&setting, chord, shape, chord);
        let (polar, attack) = (frame.tail_polar(), frame.tail_attack(&flow));
        let mut surfaces = frame.surfaces(&setting, &flow, |angle| {
            let met = attack + angle;
            let induced = polar.induced_drag(met, frame.aspect_2, frame.efficiency_2);
            Panel {
                lift: frame.tail_area() * polar.lift(met) * 0.5,
                drag: frame.tail_area() * (frame.drag_2 + induced) * 0.5,
            }
        });
        let beyond = Self::beyond(io, flow.speed);
        surfaces.body.drag += io.input(Self::WAVE_DRAG) * frame.area_1 * beyond;

        let area = frame.area_1;
        let side = frame.side(&surfaces, &flow)
            - io.input(Self::MORE_SIDE) * area * 2.0
            - io.input(Self::SIDE_TAIL) * frame.tail_area() * (setting.tail[0] - setting.tail[1]);
        let (drag, lift) = Self::drag_and_lift(io, &surfaces, area);
        let q = flow.pressure;
        let mut loads = frame.thrust(&setting, &sizes, setting.thrust[1]);
        let air = flow.to_body(drag * q, lift * q, side * q);
        for (sum, force) in loads.force.iter_mut().zip(air) {
            *sum += force;
        }
        loads.force[2] -= frame.ground_stiffness * motion.position[2].max(T::zero());

        let (wing, tail) = (uneven(surfaces.wing), uneven(surfaces.tail));
        let arms = [frame.roll_arm_1 * sizes.span, frame.roll_arm_2 * sizes.span];
        let swirl = motion.attitude.turn(setting.swirl);
        let roll =
            wing.lift * arms[0] + tail.lift * arms[1] + io.input(Self::MORE_ROLL) * area * 2.0
                - frame.roll_damping(&flow) * (motion.spin[0] + swirl[0]);
        // Beyond the speed of sound the wing's lift moves back by a quarter of its chord.
        let pitch = frame.pitching(&setting, &flow, &sizes, &surfaces)
            + io.input(Self::MORE_PITCH) * area
            - standard_chord * 0.25 * beyond * both(surfaces.wing).lift;
        let yaw = io.input(Self::YAW_SLIP) * io.input(Self::MORE_YAW) * flow.slip * area
            - wing.drag * arms[0]
            - tail.drag * arms[1]
            - frame.fin_arm(&sizes) * surfaces.fin.lift;
        for (sum, moment) in loads.moment.iter_mut().zip([roll, pitch, yaw]) {
            *sum += moment * q;
        }
        State { setting, flow, sizes, surfaces, loads }
    }

    /// Drag and lift over dynamic pressure, with the additions from outside.
    #[wide]
    fn drag_and_lift<T: Num>(io: &Step<'_, T>, surfaces: &Surfaces<T>, area: T) -> (T, T) {
        (
            surfaces.drag() + io.input(Self::MORE_DRAG) * area,
            surfaces.lift() + io.input(Self::MORE_LIFT) * area * 2.0,
        )
    }
}

impl Physics for Aircraft6Dofss {
    const HAS_LAW: bool = false;

    fn prepare(&self, _: &Environment) -> Result<NoConstants<f64>, Refusal> {
        Ok(NoConstants::new())
    }

    fn history(_: &NoConstants<f64>) -> usize {
        Body::HISTORY
    }

    fn start<T: Num>(k: &NoConstants<T>, io: &mut Step<'_, T>) {
        let motion = Shown::motion(io);
        let frame = Self::frame(io, io.output(Self::SPEED));
        let state = Self::state(&frame, io, &motion);
        io.set_output(Self::SPEED, state.flow.speed);
        Self::BODY.start(io, motion, &state.sizes.inertia, &state.loads);
        Self::step(k, io);
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(_: &NoConstants<T>, io: &mut Step<'_, T>) {
        let frame = Self::frame(io, io.output(Self::SPEED));
        let state = Self::state(&frame, io, &Self::BODY.motion(io));
        let motion = Self::BODY.step(io, &state.sizes.inertia, &state.loads);
        let State { setting, flow, sizes, surfaces, loads } = state;
        let hinges = frame.hinges(frame.lift_slope_2, |arm| arm * sizes.chord);
        let angles = [frame.wing_attack(&flow), frame.tail_attack(&flow), flow.slip];
        let q = flow.pressure;
        set_hinges(io, &setting, hinges.map(|x| x * q), angles);
        Shown::show(
            io,
            &motion,
            [flow.attack, flow.slip],
            loads.force.map(|x| x / sizes.inertia.mass),
        );
        let area = frame.area_1;
        let (wing, tail) = (both(surfaces.wing), both(surfaces.tail));
        let (drag, lift) = Self::drag_and_lift(io, &surfaces, area);
        io.set_output(Self::SPEED, flow.speed);
        io.set_output(Self::WING_LIFT, wing.lift / area);
        io.set_output(Self::WING_DRAG, wing.drag / area);
        io.set_output(Self::TAIL_LIFT, tail.lift / frame.tail_area());
        io.set_output(Self::TAIL_DRAG, tail.drag / frame.tail_area());
        io.set_output(Self::LIFT_COEFFICIENT, surfaces.lift() / area);
        io.set_output(Self::DRAG_COEFFICIENT, surfaces.drag() / area);
        io.set_output(Self::WING_FORCE, wing.lift * q);
        io.set_output(Self::TAIL_FORCE, tail.lift * q);
        io.set_output(Self::DRAG_FORCE, -(drag * q));
        io.set_output(Self::LIFT_FORCE, -(lift * q));
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::{atan2, dot};
    use super::*;
    use fluxline_core::component::Declared;
    use fluxline_core::declare::Value;
    use fluxline_core::testing::Bench;

    /// An aircraft with its default settings.
    fn mounted<M: Physics + Declared>(step: f64) -> Bench<M> {
        let defaults: Vec<f64> = M::DECLARATION
            .parameters
            .iter()
            .map(|p| p.default.unwrap().split(' ').next().unwrap().parse().unwrap())
            .collect();
        let values: Vec<_> = defaults.iter().map(|&x| Value::Number(x)).collect();
        let mut bench = Bench::new(&M::from_values(&values).unwrap(), step);
        for (parameter, value) in M::DECLARATION.parameters.iter().zip(defaults) {
            if let Some(i) = parameter.input {
                bench.input(i, value);
            }
        }
        bench
    }

    fn angular_momentum(moments: [f64; 3], cross: f64, spin: [f64; 3]) -> [f64; 3] {
        let ([x, y, z], [p, q, r]) = (moments, spin);
        [x * p - cross * r, y * q, z * r - cross * p]
    }

    #[test]
    fn without_air_an_aircraft_falls_freely_and_keeps_its_angular_momentum() {
        let mut bench = mounted::<Aircraft6Dofs>(1e-3);
        bench.input(Aircraft6Dofs::DENSITY, 0.0);
        bench.with(|io| {
            for (i, rate) in [0.3, 0.2, -0.1].into_iter().enumerate() {
                io.set_output(Aircraft6Dofs::ROLL_RATE + i, rate);
            }
            io.set_output(Aircraft6Dofs::FORWARD_SPEED, 100.0);
            io.set_output(Aircraft6Dofs::DEPTH, -1000.0);
        });
        bench.start();
        for _ in 0..2000 {
            bench.step();
        }
        let at = |i: usize| bench.output(i);
        assert!((at(Aircraft6Dofs::ALTITUDE) - (1000.0 - 0.5 * 9.81 * 4.0)).abs() < 1e-3);
        assert!((at(Aircraft6Dofs::NORTH) - 200.0).abs() < 1e-3);
        // I_x = A₁·I_x0·M·S₁ and so on.
        let unit = 5000.0 * 40.0;
        let moments = [2.24 * 0.0022 * unit, 0.06 * unit, 0.08 * unit / 2.24];
        let cross = 2.24 * 0.001 * unit;
        let spin = [0, 1, 2].map(|i| at(Aircraft6Dofs::ROLL_RATE + i));
        let before = angular_momentum(moments, cross, [0.3, 0.2, -0.1]);
        let after = angular_momentum(moments, cross, spin);
        let length = |v: [f64; 3]| dot(v, v).sqrt();
        assert!((length(after) / length(before) - 1.0).abs() < 1e-4);
        let energy = |spin: [f64; 3]| dot(spin, angular_momentum(moments, cross, spin));
        assert!((energy(spin) / energy([0.3, 0.2, -0.1]) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn the_ground_carries_an_aircraft_that_comes_down_on_it() {
        let mut bench = mounted::<Aircraft6Dofss>(1e-3);
        bench.input(Aircraft6Dofss::DENSITY, 0.0);
        bench.with(|io| io.set_output(Aircraft6Dofss::FORWARD_SPEED, 0.0)).start();
        let (mut deepest, mut surfaced) = (0.0f64, false);
        for _ in 0..20_000 {
            bench.step();
            let depth = bench.output(Aircraft6Dofss::DEPTH);
            deepest = deepest.max(depth);
            surfaced |= deepest > 1.0 && depth < 0.1;
        }
        // The ground is counted twice, once with the weight and once with the forces:
        // m·g·z = ½·2·k·z² at the deepest point.
        let expected = 8700.0 * 9.81 / 1e4;
        assert!((deepest - expected).abs() < 0.02 * expected, "{deepest} {expected}");
        assert!(surfaced, "without damping it comes up again");
    }

    #[test]
    fn a_wing_below_stall_lifts_with_its_slope_and_beyond_as_a_plate() {
        let polar =
            Polar { slope: 2.0, stall_up: 0.5, stall_down: 0.5, width_up: 0.01, width_down: 0.01 };
        assert!((polar.lift(0.1) - 0.2).abs() < 1e-12);
        assert!((polar.lift(1.0) - 2f64.sin() / 2f64.sqrt()).abs() < 1e-12);
        let induced = 0.2f64.powi(2) / (std::f64::consts::PI * 5.0 * 0.9);
        assert!((polar.induced_drag(0.1, 5.0, 0.9) - induced).abs() < 1e-12);
        assert!((polar.moment(-1.0, 0.1, 0.3) + 0.3).abs() < 1e-12);
    }

    #[test]
    fn a_symmetric_flight_stays_in_its_plane_and_hinges_feel_the_flow() {
        let mut bench = mounted::<Aircraft6Dofs>(1e-2);
        bench.with(|io| io.set_output(Aircraft6Dofs::FORWARD_SPEED, 100.0)).start();
        for _ in 0..100 {
            bench.step();
        }
        assert_eq!(bench.output(Aircraft6Dofs::EAST), 0.0);
        assert_eq!(bench.output(Aircraft6Dofs::ROLL), 0.0);
        let hinge = bench.state.bonds[Aircraft6Dofs::LEFT_OUTER];
        assert!(
            (hinge.impedance * bench.output(Aircraft6Dofs::ATTACK) / 1e-2 - hinge.wave).abs()
                < 1e-9 * hinge.wave.abs()
        );
    }

    #[test]
    fn the_aircraft_of_parameters_and_of_inputs_agree_where_their_laws_do() {
        let mut one = mounted::<Aircraft6Dof>(1e-2);
        let mut other = mounted::<Aircraft6Dofs>(1e-2);
        one.with(|io| io.set_output(Aircraft6Dof::FORWARD_SPEED, 100.0)).start();
        other.with(|io| io.set_output(Aircraft6Dofs::FORWARD_SPEED, 100.0)).start();
        // In symmetric flight with surfaces at rest only the hinges differ.
        for _ in 0..100 {
            one.step();
            other.step();
        }
        for i in 0..25 {
            assert!((one.output(i) - other.output(i)).abs() < 1e-12, "output {i}");
        }
        let hinges = [one.state.bonds[0], other.state.bonds[0]];
        assert!(hinges[0].wave * hinges[1].wave < 0.0, "they push in opposite ways");
    }

    #[test]
    fn an_attitude_points_where_its_heading_and_pitch_say() {
        let attitude = super::super::body::Attitude::from_angles([0.3, -0.2, 0.1]);
        let forward: [f64; 3] = attitude.turn([1.0, 0.0, 0.0]);
        assert!((atan2(forward[1], forward[0]) - 0.3).abs() < 1e-15);
        assert!(((-forward[2]).asin() + 0.2).abs() < 1e-15);
    }
}
