//! A rigid body in flight.
//!
//! Axes of the body: x forward, y to the right, z down. With velocity v and spin ω in these axes, the
//! attitude as a quaternion q and R(q) the rotation from the body to the earth:
//!
//! v̇ = F/m + (g − k·max(z, 0)/m)·Rᵀe_z − ω×v;  I·ω̇ = M − ω×(I·ω);  q̇ = ½·q⊗ω;  ẋ = R·v
//!
//! Forces and moments are those of the state before the step. The rest is solved by the trapezoidal
//! rule, with one peculiarity: both halves of the rules for roll and yaw are divided by weights
//! 2 ∓ T·λ·Q of their own time, λ = I_xz·(I_x − I_y + I_z)/(I_x·I_z − I_xz²).

use crate::blocks::solve;
use fluxline_core::component::Step;
use fluxline_core::function::Pair;
use fluxline_core::number::{Dual, Mask, Num};
use fluxline_core::wide;

/// A vector in space.
pub type Vector<T> = [T; 3];

/// atan2(y, x).
#[inline(always)]
pub fn atan2<T: Num>(y: T, x: T) -> T {
    y.call2(x, Pair::Atan2)
}

/// a·b.
#[inline(always)]
pub fn dot<T: Num>(a: Vector<T>, b: Vector<T>) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// a×b.
#[inline(always)]
fn cross<T: Num>(a: Vector<T>, b: Vector<T>) -> Vector<T> {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// a + k·b.
#[wide]
#[inline(always)]
fn plus<T: Num, const N: usize>(a: [T; N], k: T, b: [T; N]) -> [T; N] {
    std::array::from_fn(|i| a[i] + k * b[i])
}

/// Attitude as a quaternion, which need not be of unit length.
#[derive(Clone, Copy, Debug)]
pub struct Attitude<T>(pub [T; 4]);

impl<T: Num> Attitude<T> {
    /// From heading, pitch and roll.
    #[wide]
    pub fn from_angles([heading, pitch, roll]: [T; 3]) -> Self {
        let half = |angle: T| ((angle * 0.5).cos(), (angle * 0.5).sin());
        let ((ch, sh), (cp, sp), (cr, sr)) = (half(heading), half(pitch), half(roll));
        Self([
            ch * cp * cr + sh * sp * sr,
            ch * cp * sr - sh * sp * cr,
            sh * cp * sr + ch * sp * cr,
            sh * cp * cr - ch * sp * sr,
        ])
    }

    /// Heading, pitch and roll.
    fn angles(self) -> [T; 3] {
        let [a, b, c, d] = self.0;
        let forward = self.turn([T::one(), T::zero(), T::zero()]);
        let down = self.down();
        let pitch = (a * c - b * d) * 2.0;
        let pitch = pitch.clamp_to(-0.9999999999, 0.9999999999);
        let pitch = pitch.asin();
        [atan2(forward[1], forward[0]), pitch, atan2(down[1], down[2])]
    }

    /// A vector of the body, as the earth sees it.
    #[wide]
    #[inline(always)]
    pub fn turn(self, v: Vector<T>) -> Vector<T> {
        let [a, b, c, d] = self.0;
        let axis = [b, c, d];
        let turned = plus(cross(axis, v).map(|x| x * a * 2.0), dot(axis, v) * 2.0, axis);
        plus(turned, a * a - dot(axis, axis), v)
    }

    /// Where the earth's down is in the axes of the body.
    #[inline(always)]
    fn down(self) -> Vector<T> {
        let [a, b, c, d] = self.0;
        [(b * d - a * c) * 2.0, (a * b + c * d) * 2.0, a * a - b * b - c * c + d * d]
    }

    /// ½·q⊗ω.
    #[wide]
    #[inline(always)]
    fn rate(self, spin: Vector<T>) -> [T; 4] {
        let [a, b, c, d] = self.0;
        let axis = [b, c, d];
        let vector = plus(cross(axis, spin), a, spin);
        [-dot(axis, spin), vector[0], vector[1], vector[2]].map(|x| x * 0.5)
    }
}

/// How a body moves.
#[derive(Clone, Copy, Debug)]
pub struct Motion<T> {
    /// Velocity in the axes of the body.
    pub velocity: Vector<T>,
    /// Roll, pitch and yaw rate.
    pub spin: Vector<T>,
    /// Attitude.
    pub attitude: Attitude<T>,
    /// Place, with z down.
    pub position: Vector<T>,
}

/// How a body resists motion.
#[derive(Clone, Copy, Debug)]
pub struct Inertia<T> {
    /// Mass.
    pub mass: T,
    /// Moments of inertia about x, y and z.
    pub moments: Vector<T>,
    /// Product of inertia I_xz.
    pub cross: T,
    /// Gravity.
    pub gravity: T,
    /// Stiffness of the ground.
    pub ground: T,
}

impl<T: Num> Inertia<T> {
    fn determinant(&self) -> T {
        self.moments[0] * self.moments[2] - self.cross * self.cross
    }

    /// λ.
    #[wide]
    fn coupling(&self) -> T {
        let [x, y, z] = self.moments;
        self.cross * (x - y + z) / self.determinant()
    }

    /// ω̇ under a moment.
    #[inline(always)]
    fn spin_rate<U: Num>(
        &self,
        of: impl Fn(T) -> U,
        spin: Vector<U>,
        moment: Vector<T>,
    ) -> Vector<U> {
        let ([x, y, z], xz) = (self.moments.map(&of), of(self.cross));
        let momentum = [x * spin[0] - xz * spin[2], y * spin[1], z * spin[2] - xz * spin[0]];
        let left = plus(moment.map(&of), U::of(-1.0), cross(spin, momentum));
        let determinant = of(self.determinant());
        [
            (z * left[0] + xz * left[2]) / determinant,
            left[1] / y,
            (xz * left[0] + x * left[2]) / determinant,
        ]
    }
}

/// Force and moment on a body, in its axes, but for gravity and the ground.
#[derive(Clone, Copy, Debug)]
pub struct Loads<T> {
    /// Force.
    pub force: Vector<T>,
    /// Moment about the centre of mass.
    pub moment: Vector<T>,
}

/// A body that keeps its motion in the component's history, from a place on.
#[derive(Clone, Copy, Debug)]
pub struct Body(pub usize);

/// Numbers of a motion.
const SIZE: usize = 13;

impl Body {
    /// Numbers of history it needs: the motion, and what the trapezoidal rule remembers of it.
    pub const HISTORY: usize = 2 * SIZE;

    #[wide]
    fn read<T: Num, const N: usize>(io: &Step<'_, T>, at: usize) -> [T; N] {
        std::array::from_fn(|i| io.history_at(at + i))
    }

    fn load<T: Num>(io: &Step<'_, T>, at: usize) -> Motion<T> {
        Motion {
            velocity: Self::read(io, at),
            spin: Self::read(io, at + 3),
            attitude: Attitude(Self::read(io, at + 6)),
            position: Self::read(io, at + 10),
        }
    }

    fn save<T: Num>(io: &mut Step<'_, T>, at: usize, motion: &Motion<T>) {
        let place = &mut io.history()[at..at + SIZE];
        place[..3].copy_from_slice(&motion.velocity);
        place[3..6].copy_from_slice(&motion.spin);
        place[6..10].copy_from_slice(&motion.attitude.0);
        place[10..].copy_from_slice(&motion.position);
    }

    /// The motion after the last step.
    pub fn motion<T: Num>(self, io: &Step<'_, T>) -> Motion<T> {
        Self::load(io, self.0)
    }

    /// Starts with a motion.
    #[wide]
    pub fn start<T: Num>(
        self,
        io: &mut Step<'_, T>,
        motion: Motion<T>,
        inertia: &Inertia<T>,
        loads: &Loads<T>,
    ) {
        let half = T::of(0.5 * io.dt);
        let Motion { velocity, spin, attitude, position } = motion;
        let (down, depth) = (attitude.down(), position[2].max(T::zero()));
        let weight = inertia.gravity - inertia.ground * depth / inertia.mass;
        let pull = plus(cross(velocity, spin), weight, down);
        let acceleration = plus(pull, inertia.mass.recip(), loads.force);
        let spin_rate = inertia.spin_rate(|x| x, spin, loads.moment);
        let lean = inertia.coupling() * spin[1] * half;
        let turned = plus(spin, half, spin_rate);
        let old = Motion {
            velocity: plus(velocity, half, acceleration),
            spin: [turned[0] / (T::one() - lean), turned[1], turned[2] / (T::one() + lean)],
            attitude: Attitude(plus(attitude.0, half, attitude.rate(spin))),
            position: plus(position, half, attitude.turn(velocity)),
        };
        Self::save(io, self.0, &motion);
        Self::save(io, self.0 + SIZE, &old);
    }

    /// The motion after this step.
    #[wide]
    pub fn step<T: Num>(
        self,
        io: &mut Step<'_, T>,
        inertia: &Inertia<T>,
        loads: &Loads<T>,
    ) -> Motion<T> {
        let half = T::of(0.5 * io.dt);
        let old = Self::load(io, self.0 + SIZE);
        let guess = self.motion(io).spin;
        let of = Dual::constant;
        let (coupling, step) = (of(inertia.coupling() * half), of(half));
        let spin = solve(io, guess, [1e-6; 3], |&spin| {
            let rate = inertia.spin_rate(of, spin, loads.moment);
            let (lean, left) = (coupling * spin[1], plus(spin, -step, rate));
            let weight = [Dual::one() - lean, Dual::one(), Dual::one() + lean];
            std::array::from_fn(|i| left[i] - of(old.spin[i]) * weight[i])
        });
        // The remaining rules are linear, and I − (T/2)·½·⊗ω and I + (T/2)·ω× have inverses that
        // can be written down.
        let stretch = dot(spin, spin) * half * half;
        let turned = plus(old.attitude.0, half, old.attitude.rate(spin));
        let attitude = Attitude(turned.map(|x| x / (stretch * 0.25 + 1.0)));
        let straight = |v: Vector<T>| {
            let bent = plus(plus(v, -half, cross(spin, v)), half * half * dot(spin, v), spin);
            bent.map(|x| x / (stretch + 1.0))
        };
        let down = attitude.down();
        let push = plus(old.velocity, half / inertia.mass, loads.force);
        let free = straight(plus(push, half * inertia.gravity, down));
        let depth = old.position[2] + half * dot(down, free);
        let mut velocity = free;
        let below = depth.gt(T::zero());
        if below.any() {
            let stop = straight(down.map(|x| x * half * inertia.ground / inertia.mass));
            let depth = depth / (half * dot(down, stop) + 1.0);
            let held = plus(free, -depth, stop);
            velocity = std::array::from_fn(|i| T::select(below, held[i], free[i]));
        }
        let position = plus(old.position, half, attitude.turn(velocity));
        let motion = Motion { velocity, spin, attitude, position };
        self.start(io, motion, inertia, loads);
        motion
    }
}

/// Outputs of every vehicle, the first ones in this order.
pub struct Shown;

impl Shown {
    const POSITION: usize = 0;
    const GROUND_SPEED: usize = 3;
    const ANGLES: usize = 6;
    const VELOCITY: usize = 9;
    const SPIN: usize = 12;
    const ATTITUDE: usize = 15;
    const ATTACK: usize = 19;
    const SLIP: usize = 20;
    const ALTITUDE: usize = 21;
    const FORCE: usize = 22;

    /// The motion that the start values describe.
    #[wide]
    pub fn motion<T: Num>(io: &Step<'_, T>) -> Motion<T> {
        let three = |at: usize| std::array::from_fn(|i| io.output(at + i));
        Motion {
            velocity: three(Self::VELOCITY),
            spin: three(Self::SPIN),
            attitude: Attitude::from_angles(three(Self::ANGLES)),
            position: three(Self::POSITION),
        }
    }

    /// Writes the motion, the angles of the flow and the specific force.
    #[wide]
    pub fn show<T: Num>(
        io: &mut Step<'_, T>,
        motion: &Motion<T>,
        [attack, slip]: [T; 2],
        specific_force: Vector<T>,
    ) {
        let mut write = |at: usize, values: &[T]| {
            for (i, &value) in values.iter().enumerate() {
                io.set_output(at + i, value);
            }
        };
        write(Self::POSITION, &motion.position);
        write(Self::GROUND_SPEED, &motion.attitude.turn(motion.velocity));
        write(Self::ANGLES, &motion.attitude.angles());
        write(Self::VELOCITY, &motion.velocity);
        write(Self::SPIN, &motion.spin);
        write(Self::ATTITUDE, &motion.attitude.0);
        write(Self::ATTACK, &[attack]);
        write(Self::SLIP, &[slip]);
        write(Self::ALTITUDE, &[-motion.position[2]]);
        write(Self::FORCE, &specific_force);
    }
}

/// Declares a vehicle: a component whose first outputs are those of [`Shown`].
macro_rules! vehicle {
    ($(#[$($about:tt)*])* pub struct $name:ident, pitch = $pitch:literal, { $($fields:tt)* }) => {
        $(#[$($about)*])*
        pub struct $name {
            /// x — place to the north [m]
            #[output(name = "xcg")]
            north: Signal,
            /// y — place to the east [m]
            #[output(name = "ycg")]
            east: Signal,
            /// z — depth [m]
            #[output(name = "zcg")]
            depth: Signal,
            /// v_x — speed to the north [m/s]
            #[output(name = "vx")]
            north_speed: Signal,
            /// v_y — speed to the east [m/s]
            #[output(name = "vy")]
            east_speed: Signal,
            /// v_z — speed downwards [m/s]
            #[output(name = "vz")]
            sink_speed: Signal,
            /// ψ — heading [rad]
            #[output(name = "Psi")]
            heading: Signal,
            /// θ — pitch angle [rad]
            #[output(name = "Thetao", start = $pitch)]
            pitch: Signal,
            /// φ — roll angle [rad]
            #[output(name = "Phi")]
            roll: Signal,
            /// U — speed forwards [m/s]
            #[output(name = "Ub", start = "100 m/s")]
            forward_speed: Signal,
            /// V — speed to the right [m/s]
            #[output(name = "Vb")]
            side_speed: Signal,
            /// W — speed to the belly [m/s]
            #[output(name = "Wb")]
            down_speed: Signal,
            /// P — roll rate [rad/s]
            #[output(name = "Pb")]
            roll_rate: Signal,
            /// Q — pitch rate [rad/s]
            #[output(name = "Qb")]
            pitch_rate: Signal,
            /// R — yaw rate [rad/s]
            #[output(name = "Rb")]
            yaw_rate: Signal,
            /// q₀ — scalar part of the attitude [–]
            #[output(name = "q0")]
            attitude_0: Signal,
            /// q₁ — first part of the attitude [–]
            #[output(name = "q1")]
            attitude_1: Signal,
            /// q₂ — second part of the attitude [–]
            #[output(name = "q2")]
            attitude_2: Signal,
            /// q₃ — third part of the attitude [–]
            #[output(name = "q3")]
            attitude_3: Signal,
            /// α — angle of attack [rad]
            #[output(name = "AlphaAttack")]
            attack: Signal,
            /// β — angle of side slip [rad]
            #[output(name = "BetaSlip")]
            slip: Signal,
            /// h — altitude [m]
            #[output(name = "altitude")]
            altitude: Signal,
            /// – — force per mass, forwards [m/s^2]
            #[output(name = "gfx")]
            forward_force: Signal,
            /// – — force per mass, to the right [m/s^2]
            #[output(name = "gfy")]
            side_force: Signal,
            /// – — force per mass, to the belly [m/s^2]
            #[output(name = "gfz")]
            down_force: Signal,
            $($fields)*
        }
    };
}
pub(crate) use vehicle;

/// Flow of air past a body.
#[derive(Clone, Copy, Debug)]
pub struct Flow<T> {
    /// Speed.
    pub speed: T,
    /// α.
    pub attack: T,
    /// β.
    pub slip: T,
    /// ½·ρ·v².
    pub pressure: T,
}

impl<T: Num> Flow<T> {
    /// From the velocity through the air, in the axes of the body, and the density.
    #[wide]
    pub fn new(velocity: Vector<T>, density: T) -> Self {
        let [x, y, z] = velocity;
        let squared = dot(velocity, velocity) + 1e-4;
        Self {
            speed: squared.sqrt(),
            attack: atan2(z, x + 1e-4),
            slip: atan2(y, (x * x + z * z + 1e-4).sqrt()),
            pressure: density * squared * 0.5,
        }
    }

    /// Force in the axes of the body from drag, lift and side force in those of the flow.
    #[wide]
    pub fn to_body(&self, drag: T, lift: T, side: T) -> Vector<T> {
        let (ca, sa, cb, sb) =
            (self.attack.cos(), self.attack.sin(), self.slip.cos(), self.slip.sin());
        let back = drag * cb + side * sb;
        [lift * sa - back * ca, side * cb - drag * sb, -(back * sa) - lift * ca]
    }
}

/// Direction of the thrust of a nozzle that is turned about its axes y and z.
#[wide]
pub fn nozzle<T: Num>(y: T, z: T) -> Vector<T> {
    [y.cos() * z.cos(), -(y.sin() * z.cos()), -(y.cos() * z.sin())]
}
