//! What all valves with a spool share: its motion, and the edges it opens.

use crate::blocks::{End, limit, turbulent};
use fluxline_core::Constants;
use fluxline_core::component::{Environment, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use std::f64::consts::PI;

/// Motion of a spool: x follows its command as 1/(s²/ω² + 2·δ·s/ω + 1) by the bilinear rule,
/// between limits.
///
/// x = drive·(u + 2·u₋ + u₋₋) − keep₁·x₋ − keep₂·x₋₋
///
/// It is [`SecondOrder`](crate::blocks::SecondOrder) with coefficients that stay.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Spool<T> {
    drive: T,
    keep: [T; 2],
}

/// Constants of a valve with a spool.
#[derive(Clone, Copy, Debug, Constants)]
pub struct SpoolValve<T> {
    /// The spool's motion.
    pub(super) spool: Spool<T>,
    /// No signal drives what the conductance of an opening follows from.
    pub(super) has_constant_gain: bool,
    /// Conductance per opening of an edge all around the spool, where it is constant.
    pub(super) gain: T,
    /// What is known of its edges beforehand.
    pub(super) edges: Edges<T>,
}

/// Edges of a valve whose shapes are inputs.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Edges<T> {
    /// No signal drives them, nor what their conductances follow from.
    pub(super) are_constant: bool,
    /// Conductance per opening of each, where it is constant.
    pub(super) gains: [T; 4],
    /// Overlap of each, where it is constant.
    pub(super) laps: [T; 4],
}

impl Edges<f64> {
    /// Nothing is known.
    pub(super) const UNKNOWN: Self = Self { are_constant: false, gains: [0.0; 4], laps: [0.0; 4] };
}

/// Which way a spool can move from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Travel {
    /// 0 ≤ x ≤ x_vmax.
    OneWay,
    /// −x_vmax ≤ x ≤ x_vmax.
    BothWays,
}

impl Travel {
    /// Holds a position within the stroke.
    #[inline(always)]
    pub(super) fn limit<T: Num>(self, x: T, stroke: T) -> T {
        let low = if self == Travel::BothWays { -stroke } else { T::zero() };
        limit(x, low, stroke)
    }
}

impl Spool<f64> {
    /// A spool of natural frequency ω and damping δ.
    pub fn new(frequency: f64, damping: f64, step: f64) -> Self {
        let (inertia, friction) = (4.0 / (frequency * frequency), 4.0 * damping / frequency * step);
        let drive = step * step;
        let now = drive + friction + inertia;
        Self {
            drive: drive / now,
            keep: [2.0 * (drive - inertia) / now, (drive - friction + inertia) / now],
        }
    }
}

impl<T: Num> Spool<T> {
    /// Starts at rest. Remembers five numbers from `memory` on: two commands, two positions, and
    /// the stroke, whose value at the start limits the motion from then on.
    pub(super) fn start(io: &mut Step<'_, T>, memory: usize, travel: Travel, x: T, stroke: T) {
        let x = travel.limit(x, stroke);
        io.set_memories(memory, [x, x, x, x, stroke]);
    }

    /// Position after this step.
    #[inline(always)]
    pub(super) fn step(
        &self,
        io: &mut Step<'_, T>,
        memory: usize,
        travel: Travel,
        command: T,
    ) -> T {
        let [u1, u2, x1, x2, stroke] = io.memories(memory);
        // What is known before the command is computed before it comes.
        let known = self.drive * (u1 * 2.0 + u2) - self.keep[0] * x1 - self.keep[1] * x2;
        let x = self.drive * command + known;
        let x = travel.limit(x, stroke);
        io.set_memories(memory, [command, u1, x, x1]);
        x
    }
}

/// Conductance per opening of an edge all around a spool: C_q·π·d·√(2/ρ).
#[inline(always)]
pub(super) fn conductance_per_opening<T: Num>(flow_coefficient: T, diameter: T, density: T) -> T {
    flow_coefficient * diameter * PI * (T::of(2.0) / density).sqrt()
}

/// An edge between two ports: conductance, and the ports it joins.
pub(super) type Edge<T> = (T, usize, usize);

/// Flows through the edges between the first `PORTS` ports, each solved for its two ends alone;
/// then those of a port add up.
#[wide]
#[inline(always)]
pub(super) fn pass<T: Num, const PORTS: usize, const EDGES: usize>(
    io: &mut Step<'_, T>,
    edges: [Edge<T>; EDGES],
) {
    let ends: [End<T>; PORTS] = std::array::from_fn(|port| End::at(io, port));
    let mut through = [T::zero(); EDGES];
    for (i, &(conductance, from, to)) in edges.iter().enumerate() {
        through[i] = turbulent(conductance, ends[from], ends[to]);
    }
    let mut flows: [T; PORTS] = out_of_ports(edges, through);
    let mut efforts: [T; PORTS] = std::array::from_fn(|i| ends[i].effort(flows[i]));
    let dry: [T::Mask; PORTS] = std::array::from_fn(|i| efforts[i].lt(T::zero()));
    let mut any = dry[0];
    for port_is in &dry[1..] {
        any = any | *port_is;
    }
    if any.any() {
        let drier: [End<T>; PORTS] = std::array::from_fn(|i| ends[i].dry_where(dry[i]));
        // An edge between ends that have not run dry keeps its flow.
        for (i, &(conductance, from, to)) in edges.iter().enumerate() {
            let changed = dry[from] | dry[to];
            if changed.any() {
                let again = turbulent(conductance, drier[from], drier[to]);
                through[i] = T::select(changed, again, through[i]);
            }
        }
        let again: [T; PORTS] = out_of_ports(edges, through);
        for i in 0..PORTS {
            flows[i] = T::select(any, again[i], flows[i]);
            efforts[i] = T::select(any, drier[i].effort(again[i]), efforts[i]);
        }
    }
    for i in 0..PORTS {
        let bond = io.bond_mut(i);
        bond.flow = flows[i];
        bond.effort = efforts[i];
    }
}

/// Flow out of each port, from the flows through the edges.
#[inline(always)]
fn out_of_ports<T: Num, const PORTS: usize, const EDGES: usize>(
    edges: [Edge<T>; EDGES],
    through: [T; EDGES],
) -> [T; PORTS] {
    let mut flows = [T::zero(); PORTS];
    let mut is_first = [true; PORTS];
    for (&(_, from, to), &flow) in edges.iter().zip(&through) {
        flows[from] = if is_first[from] { -flow } else { flows[from] - flow };
        is_first[from] = false;
        flows[to] = if is_first[to] { flow } else { flows[to] + flow };
        is_first[to] = false;
    }
    flows
}

/// What a valve adds to its spool.
pub(super) trait Ports {
    /// Which way its spool moves.
    const TRAVEL: Travel;
    /// Takes a step at the start.
    const STEPS_AT_START: bool = false;
    /// Where the spool is sent.
    fn command<T: Num>(io: &Step<'_, T>) -> T;
    /// Where the spool starts.
    fn start_position<T: Num>(io: &Step<'_, T>) -> T;
    /// What is known of its edges beforehand, for a conductance per opening of one all around.
    fn edges(&self, environment: &Environment, gain: f64) -> Edges<f64> {
        let _ = (environment, gain);
        Edges::UNKNOWN
    }
    /// Flows with the spool at x, for a conductance per opening of an edge all around it.
    fn flow<T: Num>(k: &SpoolValve<T>, io: &mut Step<'_, T>, x: T, gain: T);
}

/// Declares a valve with a spool: its own ports and inputs (`fields`), besides those that all have.
///
/// `position` is the name of the output with the spool's position, `damping` the default of
/// `delta_h`. The valve itself is written as [`Ports`].
macro_rules! spool_valve {
    (
        $(#[$doc:meta])*
        $name:literal, position = $position:literal, damping = $damping:literal,
        $type:ident { $($fields:tt)* }
    ) => {
        $(#[$doc])*
        #[component($name, q, constants = SpoolValve)]
        pub struct $type {
            $($fields)*
            /// C_q — flow coefficient [–]
            #[input(name = "C_q", default = 0.67)]
            pub flow_coefficient: f64,
            /// ρ — density of the oil [kg/m^3]
            #[input(name = "rho", default = "870 kg/m^3")]
            pub density: f64,
            /// d — diameter of the spool [m]
            #[input(name = "d", default = "0.01 m")]
            pub diameter: f64,
            /// x_vmax — largest displacement of the spool [m]
            #[input(name = "x_vmax", default = "0.01 m")]
            pub stroke: f64,
            /// ω — natural frequency of the spool [rad/s]
            #[parameter(name = "omega_h", default = "100 rad/s")]
            pub frequency: f64,
            /// δ — damping of the spool [–]
            #[parameter(name = "delta_h", default = $damping)]
            pub damping: f64,
            /// x — position of the spool [m]
            #[output(name = $position)]
            position: Output,
            /// – — command one step ago [m]
            #[memory]
            command_1: Memory,
            /// – — command two steps ago [m]
            #[memory]
            command_2: Memory,
            /// – — position one step ago [m]
            #[memory]
            position_1: Memory,
            /// – — position two steps ago [m]
            #[memory]
            position_2: Memory,
            /// – — largest displacement at the start, which limits the motion [m]
            #[memory]
            first_stroke: Memory,
        }

        impl Physics for $type {
            const HAS_LAW: bool = false;

            fn prepare(&self, environment: &Environment) -> Result<SpoolValve<f64>, Refusal> {
                let inputs = [Self::FLOW_COEFFICIENT, Self::DIAMETER, Self::DENSITY];
                let has_constant_gain = environment.holds(&inputs);
                let gain =
                    conductance_per_opening(self.flow_coefficient, self.diameter, self.density);
                let mut edges = self.edges(environment, gain);
                edges.are_constant &= has_constant_gain;
                let spool = Spool::new(self.frequency, self.damping, environment.step);
                Ok(SpoolValve { spool, has_constant_gain, gain, edges })
            }

            fn start<T: Num>(k: &SpoolValve<T>, io: &mut Step<'_, T>) {
                let (x, stroke) = (Self::start_position(io), io.input(Self::STROKE));
                Spool::start(io, Self::COMMAND_1, Self::TRAVEL, x, stroke);
                if Self::STEPS_AT_START {
                    Self::step(k, io);
                }
            }

            #[inline(always)]
            fn step<T: Num>(k: &SpoolValve<T>, io: &mut Step<'_, T>) {
                let command = Self::command(io);
                let x = k.spool.step(io, Self::COMMAND_1, Self::TRAVEL, command);
                let gain = match k.has_constant_gain {
                    true => k.gain,
                    false => conductance_per_opening(
                        io.input(Self::FLOW_COEFFICIENT),
                        io.input(Self::DIAMETER),
                        io.input(Self::DENSITY),
                    ),
                };
                Self::flow(k, io, x, gain);
                io.set_output(Self::POSITION, x);
            }
        }
    };
}
pub(super) use spool_valve;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use fluxline_core::component::Physics;
    use fluxline_core::declare::Value;
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{Bench, assert_lanes_give_the_bits_of_scalars};
    use fluxline_core::values::{default_settings, defaults};

    /// Step of the tests, s.
    pub const STEP: f64 = 1e-3;

    /// A component with the defaults of all its parameters and inputs.
    pub fn bench<M: Physics>() -> Bench<M> {
        let mut bench = Bench::new(&default_settings::<M>().unwrap(), STEP);
        let values = defaults(M::DECLARATION).unwrap();
        for (parameter, value) in M::DECLARATION.parameters.iter().zip(values) {
            if let (Some(input), Value::Number(value)) = (parameter.input, value) {
                bench.input(input, value);
            }
        }
        bench
    }

    /// Asserts that edges of these openings (from, to, opening), and no others, join ports at
    /// constant pressures.
    pub fn assert_edges<M: Physics>(bench: &mut Bench<M>, edges: &[(usize, usize, f64)]) {
        let ports = bench.state.bonds.len();
        let pressure = |port: usize| [2e7, 1e5, 8e6, 5e6, 1.2e7, 1.1e7][port];
        (0..ports).for_each(|i| _ = bench.line(i, pressure(i), 0.0));
        bench.step();
        let mut expected = vec![0.0; ports];
        for &(from, to, opening) in edges {
            let drop = pressure(from) - pressure(to);
            let area = PI * 0.01 * opening;
            let q = 0.67 * area * (2.0 * drop.abs() / 870.0).sqrt() * drop.signum();
            expected[from] -= q;
            expected[to] += q;
        }
        for (port, expected) in expected.into_iter().enumerate() {
            let q = bench.flow(port);
            assert!(
                (q - expected).abs() < 1e-9 * (expected.abs() + 1e-4),
                "{port}: {q} {expected}"
            );
        }
    }

    /// Asserts that a component gives the same in lanes, with line ends that may run dry and inputs
    /// between two bounds.
    pub fn assert_lanes<M: Physics>(low: f64, high: f64) {
        let component = default_settings::<M>().unwrap();
        assert_lanes_give_the_bits_of_scalars(
            [&component; 4],
            STEP,
            |noise| Bond {
                flow: noise.between(-1e-3, 1e-3),
                wave: noise.between(-2e6, 1e7),
                impedance: noise.between(1e8, 1e10),
                ..Bond::at_rest(0.0)
            },
            |noise| noise.between(low, high),
        );
    }

    #[test]
    fn a_spool_moves_as_the_block_of_second_order_does() {
        use crate::blocks::SecondOrder;
        let (omega, delta) = (300.0, 0.4);
        let spool = Spool::new(omega, delta, STEP);
        let mut one = bench::<super::super::directional::Valve43>();
        let mut other = bench::<super::super::directional::Valve43>();
        one.with(|io| Spool::start(io, 0, Travel::BothWays, 0.0, 0.01));
        other.with(|io| SecondOrder(0).start(io, 0.0, 0.0, 0.0));
        let denominator = [1.0, 2.0 * delta / omega, 1.0 / (omega * omega)];
        for n in 0..200 {
            let command = if n % 70 < 35 { 0.009 } else { -0.004 };
            let (mut a, mut b) = (0.0, 0.0);
            one.with(|io| a = spool.step(io, 0, Travel::BothWays, command));
            other.with(|io| {
                b = SecondOrder(0).step(io, [1.0, 0.0, 0.0], denominator, command, (-0.01, 0.01));
            });
            assert!((a - b).abs() < 1e-14, "step {n}: {a} {b}");
        }
    }
}
