//! Metering edges: the flow law of one edge, and the exact solution of edges that share ports.
//!
//! Every port is a line end p = c + Z·q, so edges at one port throttle each other. With the drops
//! D_e and flows y_e(D_e) of the edges,
//!
//! D_e + Σ_j M_ej·y_j = Δc_e,   M_ej = Σ over shared ports of ±Z
//!
//! M is positive semidefinite and y_e increases with D_e: the solution is unique. An edge that shares
//! no port with another open edge has a closed form; the rest is solved by Newton to rounding.

use fluxline_core::Constants;
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;

/// Flow of an edge: turbulent from the transition pressure up, a cubic in the drop below.
///
/// q = K·√|Δp|·sign(Δp)                                    for |Δp| ≥ p₀
/// q = K·√p₀·(5/4·s − s³/4),  s = Δp/p₀                    for |Δp| < p₀
///
/// Value and slope meet at p₀ (Åman, thesis, Lappeenranta 2011, eq. 2.10–2.16). With p₀ = 0 the edge
/// is turbulent throughout.
#[derive(Clone, Copy, Debug, Constants)]
pub struct EdgeLaw<T> {
    /// p₀.
    transition: T,
    /// 1/p₀, 0 without a laminar regime.
    inverse: T,
    /// √p₀.
    root: T,
    /// 1/√p₀, 0 without a laminar regime.
    inverse_root: T,
}

impl EdgeLaw<f64> {
    /// The law with a transition pressure, Pa.
    pub fn new(transition: f64) -> Self {
        let root = transition.sqrt();
        let inverse = |x: f64| if x > 0.0 { 1.0 / x } else { 0.0 };
        Self { transition, inverse: inverse(transition), root, inverse_root: inverse(root) }
    }
}

/// The cubic 5/4·s − s³/4.
#[inline(always)]
fn cubic<T: Num>(s: T) -> T {
    s * (T::of(1.25) - s * s * 0.25)
}

impl<T: Num> EdgeLaw<T> {
    /// Flow over conductance at a pressure drop.
    #[inline(always)]
    pub fn flow(&self, drop: T) -> T {
        let laminar = drop.abs().lt(self.transition);
        let s = T::select(laminar, drop * self.inverse, T::zero());
        T::select(laminar, cubic(s) * self.root, drop.signed_sqrt())
    }

    /// Flow through an edge that is alone at its two line ends.
    ///
    /// Turbulent: √Δp = |Δc|/(√(|Δc| + (K·Z/2)²) + K·Z/2), without cancellation.
    #[inline(always)]
    pub fn flow_between(&self, conductance: T, wave_difference: T, impedance_sum: T) -> T {
        let half = conductance * impedance_sum * 0.5;
        let drop = wave_difference.abs();
        let speed = drop / ((drop + half * half).sqrt() + half + f64::MIN_POSITIVE);
        let mut flow = conductance * speed;
        let laminar = speed.squared().lt(self.transition) & conductance.gt(T::zero());
        if laminar.any() {
            let slow = self.laminar_between(conductance, drop, impedance_sum);
            flow = T::select(laminar, slow, flow);
        }
        flow.with_sign_of(wave_difference)
    }

    /// Root of s + κ·(5/4·s − s³/4) = d with κ = K·Z/√p₀, d = |Δc|/p₀. The left side is concave and
    /// the start lies below the root, so Newton rises to it; six steps reach rounding for any κ.
    #[wide]
    #[cold]
    fn laminar_between(&self, conductance: T, drop: T, impedance: T) -> T {
        let kappa = conductance * impedance * self.inverse_root;
        let d = drop * self.inverse;
        let mut s = d / (kappa * 1.25 + 1.0);
        for _ in 0..6 {
            let slope = kappa * (T::of(1.25) - s * s * 0.75) + 1.0;
            s += (d - s - kappa * cubic(s)) / slope;
        }
        conductance * self.root * cubic(s)
    }

    /// Drop, and its slope, that drives a flow through conductance and leakage side by side.
    ///
    /// Turbulent: √Δp = 2·q/(K + √(K² + 4·G·q)), slope 2·√Δp/(K + 2·G·√Δp). The slope vanishes with
    /// the flow; `least` is added to 2·√Δp to keep it above zero.
    ///
    /// Only where it is `wanted`: the slow regime is dear, and no flow at all looks like it.
    #[inline(always)]
    fn drop(&self, conductance: T, leakage: T, flow: T, least: T, wanted: T::Mask) -> (T, T) {
        let size = flow.abs();
        let root = (conductance * conductance + leakage * size * 4.0).sqrt();
        let speed = size * 2.0 / (conductance + root + f64::MIN_POSITIVE);
        let twice = speed * 2.0 + least;
        let mut slope = twice / (conductance + leakage * twice + f64::MIN_POSITIVE);
        let mut drop = speed * speed;
        let laminar = drop.lt(self.transition) & wanted;
        if laminar.any() {
            let (slow, slow_slope) = self.laminar_drop(conductance, leakage, size);
            drop = T::select(laminar, slow, drop);
            slope = T::select(laminar, slow_slope, slope);
        }
        (drop.with_sign_of(flow), slope)
    }

    /// Root s of K·√p₀·(5/4·s − s³/4) + G·p₀·s = q, by the same rise of Newton steps.
    #[wide]
    #[cold]
    fn laminar_drop(&self, conductance: T, leakage: T, flow: T) -> (T, T) {
        let (a, b) = (conductance * self.root, leakage * self.transition);
        let slope = |s: T| a * (T::of(1.25) - s * s * 0.75) + b + f64::MIN_POSITIVE;
        let mut s = flow / slope(T::zero());
        for _ in 0..6 {
            s += (flow - a * cubic(s) - b * s) / slope(s);
        }
        (s * self.transition, self.transition / slope(s))
    }
}

/// The most ports of a network of edges.
pub const MAX_PORTS: usize = 4;

/// Edges between line ends, each with turbulent conductance and laminar leakage side by side.
pub struct Network<'a, T, const E: usize> {
    /// Port that each edge leaves and port that it enters.
    pub ends: &'a [(usize, usize); E],
    /// Flow law of the edges.
    pub law: &'a EdgeLaw<T>,
    /// K of each edge, 0 when closed.
    pub conductance: [T; E],
    /// Laminar leakage of each edge.
    pub leakage: [T; E],
    /// Waves at the ports.
    pub wave: [T; MAX_PORTS],
    /// Impedances at the ports.
    pub impedance: [T; MAX_PORTS],
}

/// Rounds of solving edge after edge before Newton takes over.
const SWEEPS: usize = 2;
const MAX_ITERATIONS: usize = 40;
const MAX_HALVINGS: usize = 30;
/// Part of the largest wave difference that counts as solved.
const TOLERANCE: f64 = 1e-13;
/// Part of it that counts as failed.
const FAILURE: f64 = 1e-9;
/// Least slope of turbulent edges, part of the root of the largest wave difference.
const LEAST: f64 = 1e-8;
struct Point<T, const E: usize> {
    slope: [T; E],
    residual: [T; E],
    size: T,
}

impl<T: Num, const E: usize> Network<'_, T, E> {
    /// The network of the first `F` edges.
    #[wide]
    pub fn first<const F: usize>(&self) -> Network<'_, T, F> {
        Network {
            ends: self.ends.first_chunk().unwrap_or(&[(0, 0); F]),
            law: self.law,
            conductance: std::array::from_fn(|e| self.conductance[e]),
            leakage: std::array::from_fn(|e| self.leakage[e]),
            wave: self.wave,
            impedance: self.impedance,
        }
    }

    /// Writes the flow of each edge except where it is `known`; says where the equations were not
    /// solved.
    #[wide]
    pub fn solve_into(&self, flow: &mut [T], known: T::Mask) -> T::Mask {
        let (solution, failed) = self.solve(known);
        for (flow, solution) in flow.iter_mut().zip(solution) {
            *flow = T::select(known, *flow, solution);
        }
        failed & !known
    }

    /// The flow of each edge, and where the equations were not solved. Where flows are `known` nothing
    /// is waited for, and what is returned means nothing.
    #[wide]
    #[cold]
    pub fn solve(&self, known: T::Mask) -> ([T; E], T::Mask) {
        let scale = self.scale();
        let coupling = std::array::from_fn(|e| {
            let open = self.is_open(e);
            std::array::from_fn(|j| T::select(open, self.coupling(e, j), T::zero()))
        });
        let least = scale.sqrt() * LEAST;
        let mut flow = self.start();
        let mut point = self.at(&flow, least, known);
        let mut solved = known | self.is_solved(&flow, &point, scale);
        for _ in 0..MAX_ITERATIONS {
            if solved.all() {
                break;
            }
            // A lane that is solved stays as it is, so that lanes give the bits of scalars.
            let step = newton_step(coupling, &point).map(|d| T::select(solved, T::zero(), d));
            let mut fraction = T::one();
            for halvings in 0.. {
                let trial = std::array::from_fn(|e| flow[e] + step[e] * fraction);
                let next = self.at(&trial, least, solved);
                let worse = !(next.size.le(point.size) | solved);
                if !worse.any() || halvings == MAX_HALVINGS {
                    (flow, point) = (trial, next);
                    break;
                }
                fraction = T::select(worse, fraction * 0.5, fraction);
            }
            solved = solved | self.is_solved(&flow, &point, scale);
        }
        let failed = !(solved | point.size.le((scale * FAILURE).squared()));
        (flow, failed)
    }

    /// The largest wave difference over an open edge.
    fn scale(&self) -> T {
        let mut scale = T::of(f64::MIN_POSITIVE);
        for (e, &(from, to)) in self.ends.iter().enumerate() {
            let size = (self.wave[from] - self.wave[to]).abs();
            scale = T::select(self.is_open(e), scale.max(size), scale);
        }
        scale
    }

    /// Edge after edge, each solved alone with the flows found so far, as if turbulent.
    fn start(&self) -> [T; E] {
        let mut flow = [T::zero(); E];
        let mut pressure = self.wave;
        for _ in 0..SWEEPS {
            for (e, &(from, to)) in self.ends.iter().enumerate() {
                let impedance = self.impedance[from] + self.impedance[to];
                let drive = pressure[from] - pressure[to] + impedance * flow[e];
                // (1 + G·Z)·w² + K·Z·w = |drive|,  w = √Δp
                let half = self.conductance[e] * impedance * 0.5;
                let size = drive.abs();
                let share = self.leakage[e] * impedance + 1.0;
                let root = (half * half + share * size).sqrt() + half + f64::MIN_POSITIVE;
                let w = size / root;
                let new = (w * (self.conductance[e] + self.leakage[e] * w)).with_sign_of(drive);
                let more = new - flow[e];
                flow[e] = new;
                pressure[from] -= self.impedance[from] * more;
                pressure[to] += self.impedance[to] * more;
            }
        }
        flow
    }

    #[inline(always)]
    fn is_open(&self, e: usize) -> T::Mask {
        (self.conductance[e] + self.leakage[e]).gt(T::zero())
    }

    /// Residuals and slopes at given flows, except where it does not matter any more.
    #[inline(always)]
    fn at(&self, flow: &[T; E], least: T, done: T::Mask) -> Point<T, E> {
        let mut pressure = self.wave;
        for (e, &(from, to)) in self.ends.iter().enumerate() {
            pressure[from] -= self.impedance[from] * flow[e];
            pressure[to] += self.impedance[to] * flow[e];
        }
        let mut point = Point { slope: [T::one(); E], residual: [T::zero(); E], size: T::zero() };
        for (e, &(from, to)) in self.ends.iter().enumerate() {
            let open = self.is_open(e);
            let (conductance, leakage) = (self.conductance[e], self.leakage[e]);
            let (drop, slope) = self.law.drop(conductance, leakage, flow[e], least, open & !done);
            let residual = drop - (pressure[from] - pressure[to]);
            point.slope[e] = T::select(open, slope, T::one());
            point.residual[e] = T::select(open, residual, T::zero());
            point.size += point.residual[e].squared();
        }
        point
    }

    /// Each residual is within rounding of the terms it is made of.
    #[wide]
    #[inline(always)]
    fn is_solved(&self, flow: &[T; E], point: &Point<T, E>, scale: T) -> T::Mask {
        let flow = flow.iter().fold(T::zero(), |sum, q| sum + q.abs());
        let mut terms = T::zero();
        for port in 0..MAX_PORTS {
            terms += self.wave[port].abs() + self.impedance[port] * flow;
        }
        let tolerance = scale * TOLERANCE + terms * f64::EPSILON;
        point.size.le(tolerance.squared())
    }

    /// M_ej: pressure by which flow of edge j reduces the drop over edge e.
    #[inline(always)]
    fn coupling(&self, e: usize, j: usize) -> T {
        let ((from, to), (other_from, other_to)) = (self.ends[e], self.ends[j]);
        let mut sum = T::zero();
        if from == other_from {
            sum += self.impedance[from];
        }
        if to == other_to {
            sum += self.impedance[to];
        }
        if from == other_to {
            sum -= self.impedance[from];
        }
        if to == other_from {
            sum -= self.impedance[to];
        }
        sum
    }
}

/// Change of the flows that a linear system would need: (dD/dy + M)·δ = −residual.
///
/// The matrix is positive definite, so its pivots stay positive in the given order. Closed edges
/// stand alone in their rows.
#[wide]
#[inline(always)]
fn newton_step<T: Num, const E: usize>(mut a: [[T; E]; E], point: &Point<T, E>) -> [T; E] {
    let mut x = point.residual.map(|r| -r);
    for (e, row) in a.iter_mut().enumerate() {
        row[e] += point.slope[e];
    }
    for column in 0..E {
        let pivot = a[column][column].recip();
        for row in column + 1..E {
            let (above, below) = a.split_at_mut(row);
            let factor = below[0][column] * pivot;
            for (entry, &top) in below[0].iter_mut().zip(&above[column]).skip(column + 1) {
                *entry -= factor * top;
            }
            let above = x[column];
            x[row] -= factor * above;
        }
    }
    for row in (0..E).rev() {
        for j in row + 1..E {
            let known = x[j];
            x[row] -= a[row][j] * known;
        }
        x[row] = x[row] / a[row][row];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// p–a, p–b, a–t, b–t, p–t with ports p, t, a, b.
    const ENDS: [(usize, usize); 5] = [(0, 2), (0, 3), (2, 1), (3, 1), (0, 1)];

    #[test]
    fn edge_law_is_smooth_at_the_transition_and_turbulent_above() {
        let law = EdgeLaw::new(0.5e5);
        let h = 1e-3;
        let slope = |p: f64| (law.flow(p + h) - law.flow(p - h)) / (2.0 * h);
        // turbulent slope 1/(2·√p₀); central differences over the seam err by a fraction of h/p₀
        assert!((slope(0.5e5) * 2.0 * 0.5e5f64.sqrt() - 1.0).abs() < 1e-6);
        assert_eq!(law.flow(4e5), 4e5f64.sqrt());
        assert_eq!(law.flow(-4e5), -(4e5f64.sqrt()));
        // laminar conductance 5/4·K/√p₀ (Åman 2.15)
        assert!((law.flow(1.0) * 0.5e5f64.sqrt() - 1.25).abs() < 1e-9);
    }

    fn wave() -> impl Strategy<Value = f64> {
        prop_oneof![-1e5..350e5f64, Just(1e5), Just(100e5)]
    }
    fn impedance() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), 1e6..1e9f64, 1e9..1e12f64]
    }
    fn conductance() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), (-12.0..-5.0f64).prop_map(|e| 10f64.powf(e))]
    }
    fn leakage() -> impl Strategy<Value = f64> {
        prop_oneof![3 => Just(0.0), 1 => (-15.0..-10.0f64).prop_map(|e| 10f64.powf(e))]
    }
    fn transition() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(0.5e5), 1e2..5e5f64]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// Every open edge satisfies its law between ports that satisfy p = c + Z·q, to 1e-9 of the
        /// largest wave difference.
        #[test]
        fn network_satisfies_every_edge_and_every_line_end(
            wave in prop::array::uniform4(wave()),
            impedance in prop::array::uniform4(impedance()),
            conductance in prop::array::uniform5(conductance()),
            leakage in prop::array::uniform5(leakage()),
            transition in transition(),
        ) {
            let law = EdgeLaw::new(transition);
            let network = Network { ends: &ENDS, law: &law, conductance, leakage, wave, impedance };
            let (flow, failed) = network.solve(false);
            prop_assert!(!failed);
            let mut p = wave;
            for (e, &(from, to)) in ENDS.iter().enumerate() {
                p[from] -= impedance[from] * flow[e];
                p[to] += impedance[to] * flow[e];
            }
            let scale = wave.iter().flat_map(|a| wave.iter().map(move |b| (a - b).abs())).fold(1.0, f64::max);
            for (e, &(from, to)) in ENDS.iter().enumerate() {
                let (k, g, q, dp) = (conductance[e], leakage[e], flow[e], p[from] - p[to]);
                if k + g == 0.0 {
                    prop_assert_eq!(q, 0.0);
                    continue;
                }
                // the drop that the law needs for this flow, by bisection
                let (mut low, mut high) = (-2.0 * scale - 10.0, 2.0 * scale + 10.0);
                for _ in 0..200 {
                    let middle = 0.5 * (low + high);
                    if k * law.flow(middle) + g * middle < q { low = middle } else { high = middle }
                }
                let error = 0.5 * (low + high) - dp;
                prop_assert!(error.abs() <= 1e-9 * scale, "edge {e}: drop {dp}, error {error}");
            }
        }

        /// Alone between two line ends, the closed form is the network of one edge.
        #[test]
        fn closed_form_is_the_network_of_one_edge(
            c in prop::array::uniform2(wave()), z in prop::array::uniform2(impedance()),
            k in conductance(), transition in transition(),
        ) {
            let law = EdgeLaw::new(transition);
            let network = Network {
                ends: &[(0, 1)], law: &law, conductance: [k], leakage: [0.0],
                wave: [c[0], c[1], 0.0, 0.0], impedance: [z[0], z[1], 0.0, 0.0],
            };
            let ([expected], _) = network.solve(false);
            let flow = law.flow_between(k, c[0] - c[1], z[0] + z[1]);
            prop_assert!((flow - expected).abs() <= 1e-9 * k * (c[0] - c[1]).abs().sqrt());
        }
    }
}
