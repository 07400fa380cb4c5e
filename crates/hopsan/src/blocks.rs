//! Building blocks of Hopsan's components: discretised dynamics, orifices with its rule for
//! cavitation, smooth functions, and a Newton iteration for the implicit ones.
//!
//! Conventions of every type here:
//!
//! - A bond is a node of Hopsan: `flow` counts out of the Q-component, `effort = wave +
//!   impedance·flow`. Mechanical bonds carry the equivalent mass in `dry`; oil carries temperature
//!   in `displacement` and heat flow in `dry`; gas carries mass flow in `displacement` and
//!   temperature in `dry`.
//! - [`start`](fluxline_core::component::Physics::start) is Hopsan's initialisation: bonds and
//!   outputs hold the start values of the model, signals start first, then C-, then Q-components.
//! - What must be remembered from step to step is declared memory; blocks are told where theirs
//!   begins.

use fluxline_core::Constants;
use fluxline_core::component::{NoConstants, Step};
use fluxline_core::number::{Dual, Mask, Num};
use fluxline_core::wide;

/// Value beyond which Hopsan's blocks are limited when no limit is given.
pub const UNLIMITED: f64 = 1.5e300;

/// A limit, or none where it is that of [`UNLIMITED`]: then nothing need be compared.
pub fn bound(limit: f64) -> f64 {
    if limit.abs() >= UNLIMITED { limit * f64::INFINITY } else { limit }
}

/// (b₁·s + b₀)/(a₁·s + a₀) by the bilinear rule, limited; remembers u and y.
///
/// y = [(b₀T + 2b₁)·u + (b₀T − 2b₁)·u₋ − (a₀T − 2a₁)·y₋] / (a₀T + 2a₁)
#[derive(Clone, Copy, Debug)]
pub struct FirstOrder(
    /// Index of the first of its two remembered values.
    pub usize,
);

impl FirstOrder {
    /// Remembered values it needs.
    pub const MEMORY: usize = 2;

    /// Starts with input and output.
    #[inline(always)]
    pub fn start<T: Num>(self, io: &mut Step<'_, T>, u: T, y: T) {
        io.set_memory(self.0, u);
        io.set_memory(self.0 + 1, y);
    }

    /// Output for a new input; coefficients from s⁰ upwards.
    #[inline(always)]
    pub fn step<T: Num>(
        self,
        io: &mut Step<'_, T>,
        b: [T; 2],
        a: [T; 2],
        u: T,
        (low, high): (T, T),
    ) -> T {
        let y = limit(self.next(io, b, a, u), low, high);
        self.start(io, u, y);
        y
    }

    /// The same without limits.
    #[inline(always)]
    pub fn free<T: Num>(self, io: &mut Step<'_, T>, b: [T; 2], a: [T; 2], u: T) -> T {
        let y = self.next(io, b, a, u);
        self.start(io, u, y);
        y
    }

    #[inline(always)]
    fn next<T: Num>(self, io: &Step<'_, T>, b: [T; 2], a: [T; 2], u: T) -> T {
        let dt = io.dt;
        let (old_u, old_y) = (io.memory(self.0), io.memory(self.0 + 1));
        (a[0] * dt + a[1] * 2.0).recip()
            * ((b[0] * dt + b[1] * 2.0) * u + (b[0] * dt - b[1] * 2.0) * old_u
                - (a[0] * dt - a[1] * 2.0) * old_y)
    }
}

/// (b₂·s² + b₁·s + b₀)/(a₂·s² + a₁·s + a₀) by the bilinear rule, limited; remembers two u and two y.
///
/// With B₀ = b₀T² + 2b₁T + 4b₂, B₁ = 2b₀T² − 8b₂, B₂ = b₀T² − 2b₁T + 4b₂ and A likewise:
/// y = (B₀·u + B₁·u₋ + B₂·u₋₋ − A₁·y₋ − A₂·y₋₋)/A₀
#[derive(Clone, Copy, Debug)]
pub struct SecondOrder(
    /// Index of the first of its four remembered values.
    pub usize,
);

impl SecondOrder {
    /// Remembered values it needs.
    pub const MEMORY: usize = 4;

    /// Starts with an input that was constant, an output and its slope.
    #[inline(always)]
    pub fn start<T: Num>(self, io: &mut Step<'_, T>, u: T, y: T, slope: T) {
        let before = y - slope * io.dt;
        io.set_memories(self.0, [u, u, y, before]);
    }

    /// Output for a new input; coefficients from s⁰ upwards.
    #[wide]
    #[inline(always)]
    pub fn step<T: Num>(
        self,
        io: &mut Step<'_, T>,
        b: [T; 3],
        a: [T; 3],
        u: T,
        (low, high): (T, T),
    ) -> T {
        let [b, a] = [b, a].map(|k| Self::bilinear(k, io.dt));
        self.advance(io, b, a, u, |y| limit(y, low, high))
    }

    /// A₀, A₁, A₂, in Hopsan's order of operations: a body's path over millions of steps is a double sum
    /// of rounding errors, and those of coefficients are the same in every step.
    #[inline(always)]
    fn bilinear<T: Num>(k: [T; 3], t: f64) -> [T; 3] {
        let (constant, linear, square) = (k[0] * t * t, k[1] * 2.0 * t, k[2] * 4.0);
        [constant + linear + square, k[0] * 2.0 * t * t - k[2] * 8.0, constant - linear + square]
    }

    /// 1/(a₂·s² + a₁·s + a₀) without limits.
    #[wide]
    #[inline(always)]
    pub fn under<T: Num>(self, io: &mut Step<'_, T>, a: [T; 3], u: T) -> T {
        let t = io.dt;
        let b = [T::of(t * t), T::of(2.0 * t * t), T::of(t * t)];
        self.advance(io, b, Self::bilinear(a, t), u, |y| y)
    }

    #[inline(always)]
    fn advance<T: Num>(
        self,
        io: &mut Step<'_, T>,
        b: [T; 3],
        a: [T; 3],
        u: T,
        hold: impl FnOnce(T) -> T,
    ) -> T {
        let [u1, u2, y1, y2] = io.memories(self.0);
        // What is known before the input is computed before it comes. Hopsan begins its sum with the
        // input: bodies of both drift apart by rounding, the pistons of its in-line machine by 2·10⁻⁵
        // in 200,000 steps.
        let known = b[1] * u1 + b[2] * u2 - a[1] * y1 - a[2] * y2;
        let y = a[0].recip() * (b[0] * u + known);
        let y = hold(y);
        io.set_memories(self.0, [u, u1, y, y1]);
        y
    }

    /// The same without limits.
    #[wide]
    #[inline(always)]
    pub fn free<T: Num>(self, io: &mut Step<'_, T>, b: [T; 3], a: [T; 3], u: T) -> T {
        let [b, a] = [b, a].map(|k| Self::bilinear(k, io.dt));
        self.advance(io, b, a, u, |y| y)
    }
}

/// Trapezoidal integration y += T/2·(u + u₋); remembers u and y.
#[derive(Clone, Copy, Debug)]
pub struct Integrator(
    /// Index of the first of its two remembered values.
    pub usize,
);

impl Integrator {
    /// Remembered values it needs.
    pub const MEMORY: usize = 2;

    /// Starts with input and output.
    #[inline(always)]
    pub fn start<T: Num>(self, io: &mut Step<'_, T>, u: T, y: T) {
        io.set_memory(self.0, u);
        io.set_memory(self.0 + 1, y);
    }

    /// Integral after this step.
    #[inline(always)]
    pub fn step<T: Num>(self, io: &mut Step<'_, T>, u: T) -> T {
        let y = io.memory(self.0 + 1) + (u + io.memory(self.0)) * (0.5 * io.dt);
        self.start(io, u, y);
        y
    }

    /// The same between limits: at a limit the remembered input becomes 0.
    #[inline(always)]
    pub fn limited<T: Num>(self, io: &mut Step<'_, T>, u: T, (low, high): (T, T)) -> T {
        let y = io.memory(self.0 + 1) + (u + io.memory(self.0)) * (0.5 * io.dt);
        let (over, under) = (y.gt(high), y.lt(low));
        let y = T::select(over, high, T::select(under, low, y));
        self.start(io, T::select(over | under, T::zero(), u), y);
        y
    }
}

/// A line end as a Q-component sees it: wave and impedance.
#[derive(Clone, Copy, Debug)]
pub struct End<T> {
    /// c — wave.
    pub wave: T,
    /// Z — impedance.
    pub impedance: T,
}

impl<T: Num> End<T> {
    /// The end at a port.
    #[inline(always)]
    pub fn at(io: &Step<'_, T>, port: usize) -> Self {
        Self { wave: io.wave(port), impedance: io.impedance(port) }
    }
    /// p = c + Z·q.
    #[inline(always)]
    pub fn effort(self, flow: T) -> T {
        self.wave + self.impedance * flow
    }
    /// An end that has run dry: no wave, no impedance.
    #[inline(always)]
    pub fn dry_where(self, mask: T::Mask) -> Self {
        Self {
            wave: T::select(mask, T::zero(), self.wave),
            impedance: T::select(mask, T::zero(), self.impedance),
        }
    }
}

/// Turbulent flow q = K·√|Δp|·sign(Δp) from one end to another, as Hopsan computes it: with
/// h = K·(Z₁ + Z₂)/2, q = K·(√(|Δc| + h²) − h), which does not divide.
#[wide]
#[inline(always)]
pub fn turbulent<T: Num>(conductance: T, from: End<T>, to: End<T>) -> T {
    // Many edges and valves are closed most of the time: the root is spared. What is no number counts
    // as open, for it must be seen.
    let difference = from.wave - to.wave;
    let is_open = !(conductance.le(T::zero()) & conductance.ge(T::zero()));
    let closed = T::zero().with_sign_of(difference);
    T::where_any(
        is_open,
        || {
            let half = conductance * ((from.impedance + to.impedance) * 0.5);
            let root = (difference.abs() + half * half).sqrt();
            let flow = (conductance * (root - half)).with_sign_of(difference);
            T::select(is_open, flow, closed)
        },
        || closed,
    )
}

/// Flows of a component with Hopsan's rule for cavitation: all flows are computed; where a pressure
/// would be negative the end has run dry (c = Z = 0), and all flows are computed once more.
///
/// `flows` gives the flow out of the component at each port; it owns what it needs (`move`), which
/// then need not be kept in memory for the rare case. Writes flows and pressures; with `clip`,
/// pressures below 0 become 0.
#[inline(always)]
pub fn with_cavitation<T: Num, const N: usize>(
    io: &mut Step<'_, T>,
    ports: [usize; N],
    clip: bool,
    flows: impl Fn([End<T>; N]) -> [T; N] + Copy,
) {
    with_cavitation_in_two_ways(io, ports, clip, flows, flows);
}

/// The same for a component that computes its flows in another way once an end has run dry.
#[wide]
#[inline(always)]
pub fn with_cavitation_in_two_ways<T: Num, const N: usize>(
    io: &mut Step<'_, T>,
    ports: [usize; N],
    clip: bool,
    flows: impl Fn([End<T>; N]) -> [T; N],
    flows_when_dry: impl Fn([End<T>; N]) -> [T; N],
) {
    let ends: [End<T>; N] = std::array::from_fn(|i| End::at(io, ports[i]));
    let mut q = flows(ends);
    let mut p: [T; N] = std::array::from_fn(|i| ends[i].effort(q[i]));
    let dry: [T::Mask; N] = std::array::from_fn(|i| p[i].lt(T::zero()));
    let mut any = dry[0];
    for port_is in &dry[1..] {
        any = any | *port_is;
    }
    if any.any() {
        (q, p) = once_dry(ends, (q, p), dry, any, flows_when_dry);
    }
    for i in 0..N {
        let bond = io.bond_mut(ports[i]);
        bond.flow = q[i];
        bond.effort = if clip { p[i].max(T::zero()) } else { p[i] };
    }
}

/// Flows and pressures once ends have run dry; rare, and kept out of the way of the usual case.
#[wide]
#[cold]
#[inline(never)]
fn once_dry<T: Num, const N: usize>(
    ends: [End<T>; N],
    (q, p): ([T; N], [T; N]),
    dry: [T::Mask; N],
    any: T::Mask,
    flows: impl FnOnce([End<T>; N]) -> [T; N],
) -> ([T; N], [T; N]) {
    let drier: [End<T>; N] = std::array::from_fn(|i| ends[i].dry_where(dry[i]));
    let again = flows(drier);
    (
        std::array::from_fn(|i| T::select(any, again[i], q[i])),
        std::array::from_fn(|i| T::select(any, drier[i].effort(again[i]), p[i])),
    )
}

/// Holds a value between limits; swaps limits that are the wrong way round.
#[inline(always)]
pub fn limit<T: Num>(x: T, low: T, high: T) -> T {
    let swapped = high.lt(low);
    let (low, high) = (T::select(swapped, high, low), T::select(swapped, low, high));
    let x = T::select(x.lt(low), low, x);
    T::select(x.gt(high), high, x)
}

/// Slope of [`limit`]: 1 inside, 10⁻⁹ at and beyond the limits.
#[inline(always)]
pub fn limit_slope<T: Num>(x: T, low: T, high: T) -> T {
    T::select(x.gt(low) & x.lt(high), T::one(), T::of(1e-9))
}

/// x/(x₀² + x²)^¼: a root with the sign of x that is smooth around 0.
#[inline(always)]
pub fn signed_root<T: Num>(x: T, x0: T) -> T {
    x / (x0 * x0 + x * x).sqrt().sqrt()
}

/// The x whose [`signed_root`] is y: y·√((y² + √(y⁴ + 4·x₀²))/2).
#[inline(always)]
pub fn signed_root_inverse<T: Num>(y: T, x0: T) -> T {
    let y2 = y * y;
    y * ((y2 + (y2 * y2 + x0 * x0 * 4.0).sqrt()) * 0.5).sqrt()
}

/// 1 for x > 0, else 0.
#[inline(always)]
pub fn on_positive<T: Num>(x: T) -> T {
    T::select(x.gt(T::zero()), T::one(), T::zero())
}

/// Sign with sign(0) = +1.
#[inline(always)]
pub fn sign<T: Num>(x: T) -> T {
    T::select(x.lt(T::zero()), T::of(-1.0), T::one())
}

/// Most iterations of [`solve`].
const MOST_ITERATIONS: usize = 40;
/// Most iterations of [`root`]: as many as halve an interval down to rounding.
const MOST_HALVINGS: usize = 100;
/// Change of an unknown, relative to its scale, at which [`solve`] is content.
const TOLERANCE: f64 = 1e-12;

/// Solves f(x) = 0 for N unknowns by Newton's method with exact derivatives, to convergence.
///
/// `scale` says what size of each unknown counts as small. A lane that has settled stays as it is, so
/// that lanes give the bits of scalars. Where there is no solution near the last one, Hopsan's
/// iterations count, and the step is reported.
#[wide]
pub fn solve<T: Num, const N: usize>(
    io: &mut Step<'_, T>,
    guess: [T; N],
    scale: [f64; N],
    f: impl Fn(&[Dual<T>; N]) -> [Dual<T>; N],
) -> [T; N] {
    let mut x = guess;
    // No lane has settled.
    let mut settled = T::one().lt(T::zero());
    for _ in 0..MOST_ITERATIONS {
        let change = newton_change(&x, &f);
        let mut small = T::zero().lt(T::one());
        for i in 0..N {
            let new = x[i] - change[i];
            small = small & change[i].abs().le((new.abs() + scale[i]) * TOLERANCE);
            x[i] = T::select(settled, x[i], new);
        }
        settled = settled | small;
        if settled.all() {
            return x;
        }
    }
    io.unconverged(!settled);
    let fallback = iterated(HOPSANS_ITERATIONS, guess, &f);
    std::array::from_fn(|i| T::select(settled, x[i], fallback[i]))
}

/// Constants of an implicit type: how it is solved.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Iterations<T> {
    /// Newton iterations per step as Hopsan does them; 0 solves to convergence.
    pub count: usize,
    others: NoConstants<T>,
}

impl Iterations<f64> {
    /// So many iterations.
    pub fn new(count: usize) -> Self {
        Self { count, others: NoConstants::new() }
    }
}

/// What part of its change each of Hopsan's iterations makes: the first all of it, others 0.67.
pub fn weights(iterations: usize) -> impl Iterator<Item = f64> {
    (0..iterations).map(|iteration| if iteration == 0 { 1.0 } else { 0.67 })
}

/// Slope of a lower limit 0: 1 above it, 10⁻⁹ at and below it.
#[inline(always)]
pub fn positive_slope<T: Num>(x: T) -> T {
    T::select(x.gt(T::zero()), T::one(), T::of(1e-9))
}

/// Newton's method as Hopsan's generated components do it: so many iterations whatever is left, each
/// by its [weight](weights). With 0 iterations, to convergence as [`solve`].
#[wide]
pub fn solve_in<T: Num, const N: usize>(
    io: &mut Step<'_, T>,
    iterations: usize,
    guess: [T; N],
    scale: [f64; N],
    f: impl Fn(&[Dual<T>; N]) -> [Dual<T>; N],
) -> [T; N] {
    if iterations == 0 {
        return solve(io, guess, scale, f);
    }
    iterated(iterations, guess, &f)
}

/// Iterations that Hopsan's generated components do.
const HOPSANS_ITERATIONS: usize = 2;

/// So many iterations of Newton's method, each by its weight.
fn iterated<T: Num, const N: usize>(
    iterations: usize,
    guess: [T; N],
    f: &impl Fn(&[Dual<T>; N]) -> [Dual<T>; N],
) -> [T; N] {
    let mut x = guess;
    for weight in weights(iterations) {
        let change = newton_change(&x, f);
        for i in 0..N {
            x[i] -= change[i] * weight;
        }
    }
    x
}

/// What Newton's method takes away from x.
#[wide]
fn newton_change<T: Num, const N: usize>(
    x: &[T; N],
    f: &impl Fn(&[Dual<T>; N]) -> [Dual<T>; N],
) -> [T; N] {
    let mut jacobian = [[T::zero(); N]; N];
    let mut residual = [T::zero(); N];
    for column in 0..N {
        let point: [Dual<T>; N] = std::array::from_fn(|i| {
            if i == column { Dual::variable(x[i]) } else { Dual::constant(x[i]) }
        });
        for (row, value) in f(&point).iter().enumerate() {
            residual[row] = value.value;
            jacobian[row][column] = value.slope;
        }
    }
    eliminate(jacobian, residual)
}

/// Solves A·x = b by elimination with partial pivoting, in every lane for itself.
#[wide]
fn eliminate<T: Num, const N: usize>(mut a: [[T; N]; N], mut b: [T; N]) -> [T; N] {
    for column in 0..N {
        for row in column + 1..N {
            let better = a[column][column].abs().lt(a[row][column].abs());
            if better.any() {
                for k in 0..N {
                    let (upper, lower) = (a[column][k], a[row][k]);
                    a[column][k] = T::select(better, lower, upper);
                    a[row][k] = T::select(better, upper, lower);
                }
                let (upper, lower) = (b[column], b[row]);
                b[column] = T::select(better, lower, upper);
                b[row] = T::select(better, upper, lower);
            }
        }
        for row in column + 1..N {
            let factor = a[row][column] / a[column][column];
            for k in column..N {
                let above = a[column][k];
                a[row][k] -= factor * above;
            }
            let above = b[column];
            b[row] -= factor * above;
        }
    }
    for row in (0..N).rev() {
        for k in row + 1..N {
            let known = b[k];
            b[row] -= a[row][k] * known;
        }
        b[row] = b[row] / a[row][row];
    }
    b
}

/// Finds where a rising function of one unknown is 0: Newton's steps with exact derivatives, and
/// halving of the interval between `low` and `high` wherever they leave it or hardly get on.
///
/// Limits and edges make kinks and jumps in such functions; at a jump through 0 the answer is the
/// place of the jump. `scale` says what size of the unknown counts as small.
#[inline(always)]
pub fn root<T: Num>(
    io: &mut Step<'_, T>,
    (mut low, mut high): (T, T),
    guess: T,
    scale: f64,
    f: impl Fn(Dual<T>) -> Dual<T>,
) -> T {
    let (zero, mut x) = (T::zero(), guess.clamp(low, high));
    let mut last = T::of(f64::INFINITY);
    let mut settled = zero.lt(zero);
    for _ in 0..MOST_HALVINGS {
        let r = f(Dual::variable(x));
        high = T::select(r.value.gt(zero), x, high);
        low = T::select(r.value.lt(zero), x, low);
        let newton = x - r.value / r.slope;
        let inside = newton.ge(low) & newton.le(high);
        let quick = (newton - x).abs().le(last * 0.5);
        let bounded = (high - low).lt(T::of(f64::INFINITY));
        let halve = bounded & !(inside & quick);
        let next = T::select(halve, (low + high) * 0.5, newton);
        let next = T::select(settled, x, next);
        last = (next - x).abs();
        settled = settled | last.le((next.abs() + scale) * TOLERANCE);
        x = next;
        if settled.all() {
            return x;
        }
    }
    io.unconverged(!settled);
    x
}
