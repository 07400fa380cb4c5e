//! Gear flow divider.

use crate::hydraulic::pumps::machine::{ANGLE, CAVITATED, Rotor, SPEED, Torques, solve_ends};
use fluxline_core::component::{BalanceRole, Environment, Law, Physics, Refusal, Step};
use fluxline_core::number::{Mask, Num};
use fluxline_core::wide;
use fluxline_core::{Constants, component};

/// Gear flow divider: two gear motors on one shaft, which share a flow or join two.
///
/// q_i = D_i·ω + G_i·(p_in − p_i),   i = a, b
/// J·dω/dt = D_a·(p_in − p_a) + D_b·(p_in − p_b) − B·ω − M_c·sign(ω)
///
/// Flows divide as the displacements do, apart from leakage; a section whose outlet is below the
/// other's drives it and raises its pressure. Oil, shaft and line ends are solved together by the
/// trapezoidal rule; sticking is exact. A section takes no more oil than its line yields at the
/// vapour pressure (counted as cavitation), and delivers no more than it takes. Sections of the
/// two-actuator circuit in Pollmeier (thesis, University of Bath), section 3.3.1.
#[component("hydraulic.flow_divider", q, constants = DividerConstants)]
pub struct FlowDivider {
    /// common side
    #[port]
    inlet: Hydraulic,
    /// first section
    #[port]
    a: Hydraulic,
    /// second section
    #[port]
    b: Hydraulic,
    /// D_a — displacement of the first section [m³/rad]
    #[parameter(default = "10 cm^3/rev", min = ">0 cm^3/rev")]
    pub displacement_a: f64,
    /// D_b — displacement of the second section [m³/rad]
    #[parameter(default = "10 cm^3/rev", min = ">0 cm^3/rev")]
    pub displacement_b: f64,
    /// G_a — leakage of the first section [m³/(s*Pa)]
    #[parameter(default = "0 m^3/(s*Pa)", min = "0 m^3/(s*Pa)")]
    pub leakage_a: f64,
    /// G_b — leakage of the second section [m³/(s*Pa)]
    #[parameter(default = "0 m^3/(s*Pa)", min = "0 m^3/(s*Pa)")]
    pub leakage_b: f64,
    /// J — moment of inertia of both sections [kg*m²]
    #[parameter(default = "0.001 kg*m^2", min = ">0 kg*m^2")]
    pub inertia: f64,
    /// B — viscous friction [N*m*s/rad]
    #[parameter(default = "0 N*m*s/rad", min = "0 N*m*s/rad")]
    pub viscous_friction: f64,
    /// M_c — dry friction [N*m]
    #[parameter(default = "0 N*m", min = "0 N*m")]
    pub dry_friction: f64,
    /// ω₀ — speed at the start [rad/s]
    #[parameter(default = "0 rad/s")]
    pub start_speed: f64,
    /// ω — speed [rad/s]
    #[state(start = "start_speed")]
    speed: State,
    /// θ — angle [rad]
    #[state]
    angle: State,
    /// – — steps with cavitation [–]
    #[memory(counts = "cavitation")]
    cavitated: Memory,
}

/// Constants of [`FlowDivider`].
#[derive(Clone, Copy, Debug, Constants)]
pub struct DividerConstants<T> {
    displacement: [T; 2],
    leakage: [T; 2],
    viscous: T,
    dry: T,
    rotor: Rotor<T>,
    vapour: T,
}

/// Flow that a section moves: fixed + per_speed·ω.
#[derive(Clone, Copy, Debug)]
struct Moved<T> {
    fixed: [T; 2],
    per_speed: [T; 2],
}

/// Pressures of inlet, a and b: rest + Σ per_flow_i·F_i.
struct Oil<T> {
    rest: [T; 3],
    per_flow: [[T; 3]; 2],
}

impl<T: Num> Oil<T> {
    #[inline(always)]
    fn pressure(&self, port: usize, moved: [T; 2]) -> T {
        self.rest[port] + self.per_flow[0][port] * moved[0] + self.per_flow[1][port] * moved[1]
    }
}

impl<T: Num> DividerConstants<T> {
    /// Speed, acceleration and flows moved, where the flows follow the speed as `moved` says.
    #[wide]
    #[inline(always)]
    fn turn(&self, oil: &Oil<T>, moved: &Moved<T>, coasting: T) -> (T, T, [T; 2]) {
        let (mut push, mut resistance) = (T::zero(), self.viscous);
        for (i, &d) in self.displacement.iter().enumerate() {
            let fixed = oil.pressure(0, moved.fixed) - oil.pressure(1 + i, moved.fixed);
            push += d * fixed;
            for (j, per_flow) in oil.per_flow.iter().enumerate() {
                resistance -= d * (per_flow[0] - per_flow[1 + i]) * moved.per_speed[j];
            }
        }
        let zero = T::zero();
        let torques = Torques {
            push,
            resistance,
            dry: self.dry,
            by_pressure: zero,
            drop: zero,
            drop_per_speed: zero,
        };
        let (speed, acceleration) = self.rotor.turn(coasting, &torques);
        let flows = std::array::from_fn(|i| moved.fixed[i] + moved.per_speed[i] * speed);
        (speed, acceleration, flows)
    }

    /// With ports that are drawn from at the vapour pressure. Masks say where: inlet, a, b.
    #[wide]
    fn starved_flows(&self, oil: &Oil<T>, starved: [T::Mask; 3]) -> Moved<T> {
        let (zero, one) = (T::zero(), T::one());
        let missing = |port: usize| self.vapour - oil.rest[port];
        // An outlet: the flows that hold it at the vapour pressure; else its share of the speed.
        let rows: [[T; 2]; 2] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let alone = if i == j { one } else { zero };
                T::select(starved[1 + i], oil.per_flow[j][1 + i], alone)
            })
        });
        let fixed = [0, 1].map(|i| T::select(starved[1 + i], missing(1 + i), zero));
        let per_speed = [0, 1].map(|i| T::select(starved[1 + i], zero, self.displacement[i]));
        let determinant = rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0];
        let solvable = determinant.abs().gt(zero);
        let solve = |r: [T; 2]| {
            let first = (r[0] * rows[1][1] - rows[0][1] * r[1]) / determinant;
            let second = (rows[0][0] * r[1] - rows[1][0] * r[0]) / determinant;
            [first, second].map(|x| T::select(solvable, x, zero))
        };
        let (fixed, per_speed) = (solve(fixed), solve(per_speed));
        // The inlet: both sections take less in proportion to their displacements.
        let [d_a, d_b] = self.displacement;
        let per_speed_inlet = oil.per_flow[0][0] * d_a + oil.per_flow[1][0] * d_b;
        let slow = (missing(0) / (per_speed_inlet - f64::MIN_POSITIVE)).max(zero);
        Moved {
            fixed: std::array::from_fn(|i| {
                T::select(starved[0], self.displacement[i] * slow, fixed[i])
            }),
            per_speed: per_speed.map(|x| T::select(starved[0], zero, x)),
        }
    }
}

impl Physics for FlowDivider {
    fn prepare(&self, environment: &Environment) -> Result<DividerConstants<f64>, Refusal> {
        Ok(DividerConstants {
            displacement: [self.displacement_a, self.displacement_b],
            leakage: [self.leakage_a, self.leakage_b],
            viscous: self.viscous_friction,
            dry: self.dry_friction,
            rotor: Rotor::new(self.inertia, environment.step),
            vapour: environment.fluid.vapour_pressure,
        })
    }

    fn law<T: Num>(k: &DividerConstants<T>, law: &mut Law<'_, T>) {
        use crate::hydraulic::pumps::machine::STICK_SPEED;
        let speed = law.state[SPEED];
        let way = (speed / STICK_SPEED).clamp_to(-1.0, 1.0);
        let mut torque = -(k.viscous * speed + k.dry * way);
        law.flow[Self::INLET] = T::zero();
        for (i, port) in [Self::A, Self::B].into_iter().enumerate() {
            let drop = law.effort[Self::INLET] - law.effort[port];
            let flow = k.displacement[i] * speed + k.leakage[i] * drop;
            law.flow[port] = flow;
            law.flow[Self::INLET] -= flow;
            torque += k.displacement[i] * drop;
        }
        law.rate[SPEED] = torque * k.rotor.inverse_inertia;
        law.rate[ANGLE] = speed;
    }

    #[wide]
    #[inline(always)]
    fn step<T: Num>(k: &DividerConstants<T>, io: &mut Step<'_, T>) {
        let ports = [Self::INLET, Self::A, Self::B];
        let (c, z) = (ports.map(|p| io.wave(p)), ports.map(|p| io.impedance(p)));
        let zero = T::zero();
        let conductance = [k.leakage[0], k.leakage[1], zero];
        let sources = [c, [-z[0], z[1], zero], [-z[0], zero, z[2]]];
        let [rest, per_a, per_b] = solve_ends(z, conductance, sources);
        let oil = Oil { rest, per_flow: [per_a, per_b] };
        let coasting = io.state(SPEED) + io.rate(SPEED) * k.rotor.half_step;
        let free = Moved { fixed: [zero; 2], per_speed: k.displacement };
        let (mut speed, mut acceleration, mut moved) = k.turn(&oil, &free, coasting);
        let never = zero.lt(zero);
        let mut starved = [never; 3];
        // Twice: a section held at the vapour pressure may leave the other without oil.
        for _ in 0..2 {
            let drawn = [speed.gt(zero), speed.lt(zero), speed.lt(zero)];
            let more: [T::Mask; 3] = std::array::from_fn(|port| {
                drawn[port] & oil.pressure(port, moved).lt(k.vapour) & !starved[port]
            });
            let changed = more[0] | more[1] | more[2];
            if !changed.any() {
                break;
            }
            starved = std::array::from_fn(|port| starved[port] | more[port]);
            let flows = k.starved_flows(&oil, starved);
            let (new_speed, new_acceleration, new_moved) = k.turn(&oil, &flows, coasting);
            speed = T::select(changed, new_speed, speed);
            acceleration = T::select(changed, new_acceleration, acceleration);
            moved = std::array::from_fn(|i| {
                // a line below the vapour pressure yields nothing
                let pulled = T::select(starved[1 + i], new_moved[i].min(zero), new_moved[i]);
                T::select(changed, pulled, moved[i])
            });
        }
        let any = starved[0] | starved[1] | starved[2];
        if any.any() {
            io.count(CAVITATED, any);
        }
        let inlet = oil.pressure(Self::INLET, moved);
        let through: [T; 2] =
            std::array::from_fn(|i| moved[i] + k.leakage[i] * (inlet - oil.pressure(1 + i, moved)));
        io.set_flow(Self::INLET, -(through[0] + through[1]));
        io.set_flow(Self::A, through[0]);
        io.set_flow(Self::B, through[1]);
        k.rotor.settle(io, speed, acceleration);
    }

    const ROLE: BalanceRole = BalanceRole::Storage;

    fn energy<T: Num>(k: &DividerConstants<T>, io: &Step<'_, T>) -> T {
        io.state(SPEED).squared() * k.rotor.inertia * 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hydraulic::pumps::checks::{
        Around, lanes_give_the_bits_of_scalars, own_step_equals_the_generic_step,
    };
    use fluxline_core::testing::Bench;

    const D: f64 = 10e-6 / std::f64::consts::TAU;
    const STEP: f64 = 1e-4;

    fn divider() -> FlowDivider {
        FlowDivider {
            displacement_a: D,
            displacement_b: D,
            leakage_a: 0.0,
            leakage_b: 0.0,
            inertia: 1e-4,
            viscous_friction: 0.0,
            dry_friction: 0.0,
            start_speed: 0.0,
        }
    }

    /// Steady state with a supply of nearly 6 l/min and the given outlet pressures.
    fn settled(divider: &FlowDivider, a: f64, b: f64) -> Bench<FlowDivider> {
        let mut bench = Bench::new(divider, STEP);
        bench.line(0, 2000e5, 2e12).line(1, a, 0.0).line(2, b, 0.0);
        for _ in 0..2000 {
            bench.step();
        }
        bench
    }

    fn near(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * b.abs()
    }

    #[test]
    fn flow_divides_as_the_displacements_whatever_the_loads() {
        for (ratio, a, b) in [(1.0, 50e5, 120e5), (2.0, 90e5, 10e5)] {
            let unequal = FlowDivider { displacement_b: ratio * D, ..divider() };
            let bench = settled(&unequal, a, b);
            assert!(near(bench.flow(2), ratio * bench.flow(1), 1e-12));
            assert!(near(bench.flow(1) + bench.flow(2), -bench.flow(0), 1e-12));
            // no torque left: D_a·(p_in − p_a) + D_b·(p_in − p_b) = 0
            assert!(near(bench.effort(0), (a + ratio * b) / (1.0 + ratio), 1e-9));
        }
    }

    #[test]
    fn a_blocked_outlet_gets_twice_the_pressure() {
        let leaky = FlowDivider { leakage_a: 1e-13, leakage_b: 1e-13, ..divider() };
        let mut bench = Bench::new(&leaky, STEP);
        // a ends in a line that gives way to nothing, b goes to tank
        bench.line(0, 100e5, 0.0).line(1, 0.0, 1e19).line(2, 0.0, 0.0);
        for _ in 0..2000 {
            bench.step();
        }
        assert!(near(bench.effort(1), 200e5, 1e-3));
    }

    #[test]
    fn leakage_unbalances_the_outlets() {
        let leaky = FlowDivider { leakage_a: 1e-12, leakage_b: 3e-12, ..divider() };
        let bench = settled(&leaky, 50e5, 120e5);
        let inlet = bench.effort(0);
        let difference = 1e-12 * (inlet - 50e5) - 3e-12 * (inlet - 120e5);
        assert!(near(bench.flow(1) - bench.flow(2), difference, 1e-9));
    }

    #[test]
    fn oil_power_is_inertia_and_losses() {
        let lossy = FlowDivider {
            leakage_a: 2e-12,
            leakage_b: 1e-12,
            viscous_friction: 1e-3,
            dry_friction: 0.05,
            ..divider()
        };
        for speed in [150.0, -150.0] {
            let mut bench = Bench::new(&lossy, STEP);
            bench.line(0, 80e5, 1e10).line(1, 60e5, 1e10).line(2, 90e5, 2e10);
            bench.set_state(SPEED, speed).step();
            let [inlet, a, b] = [0, 1, 2].map(|port| bench.effort(port));
            let oil: f64 = (0..3).map(|port| -bench.flow(port) * bench.effort(port)).sum();
            let speed = bench.get_state(SPEED);
            let leaked = 2e-12 * (inlet - a).powi(2) + 1e-12 * (inlet - b).powi(2);
            let rubbed = 1e-3 * speed * speed + 0.05 * speed.abs();
            let kept = 1e-4 * bench.get_state(2 + SPEED) * speed;
            assert!((oil - leaked - rubbed - kept).abs() <= 1e-9 * oil.abs().max(kept.abs()));
        }
    }

    #[test]
    fn dry_friction_holds_the_divider() {
        for (friction, moves) in [(1.01, false), (0.99, true)] {
            let sticky = FlowDivider { dry_friction: friction * 2.0 * D * 10e5, ..divider() };
            let mut bench = Bench::new(&sticky, STEP);
            bench.line(0, 60e5, 1e9).line(1, 50e5, 1e9).line(2, 50e5, 1e9).step();
            assert_eq!(bench.get_state(SPEED) > 0.0, moves);
        }
    }

    /// Joining two flows, or driven by one: a line that has no more to give is held at the vapour
    /// pressure, and no oil is lost.
    #[test]
    fn starved_sections_conserve_oil() {
        for (lines, speed, empty) in [
            ([(20e5, 1e9), (1e5, 1e11), (60e5, 1e9)], -200.0, 1),
            ([(20e5, 1e9), (60e5, 1e9), (1e5, 1e11)], -200.0, 2),
            ([(1e5, 1e11), (20e5, 1e9), (10e5, 1e9)], 200.0, 0),
        ] {
            let leaky = FlowDivider { leakage_a: 1e-13, leakage_b: 1e-13, ..divider() };
            let mut bench = Bench::new(&leaky, STEP);
            for (port, (c, z)) in lines.into_iter().enumerate() {
                bench.line(port, c, z);
            }
            bench.set_state(SPEED, speed).step();
            assert!((bench.effort(empty) - 300.0).abs() < 1e-5, "{}", bench.effort(empty));
            let sum: f64 = (0..3).map(|port| bench.flow(port)).sum();
            assert!(sum.abs() <= 1e-15 * bench.flow(0).abs().max(1e-3));
            assert_eq!(bench.state.states[4 + CAVITATED], 1.0);
            assert!(bench.get_state(SPEED) * speed > 0.0);
        }
    }

    #[test]
    fn own_step_is_generic_and_the_same_in_lanes() {
        let line = (-1e5..300e5, 1e8..1e11);
        let lines = [line.clone(), line.clone(), line];
        let states = [(-200.0..200.0, -1e3..1e3), (0.0..100.0, -200.0..200.0)];
        let around = Around { inputs: &[], lines: &lines };
        let lossy = |leakage_a| FlowDivider {
            leakage_a,
            leakage_b: 1e-12,
            viscous_friction: 1e-3,
            dry_friction: 0.1,
            ..divider()
        };
        assert!(own_step_equals_the_generic_step(&lossy(2e-12), &around, &states, 1e-8) > 100);
        lanes_give_the_bits_of_scalars([0.0, 1e-12, 1e-13, 1e-11].map(lossy), &around);
    }
}
