//! Clutch and brake.

use crate::friction::{grip, hold};
use crate::mechanics::clutch::Slip;
use crate::mechanics::physics_of_kernel;
use fluxline_core::component;
use fluxline_core::component::{Environment, Law, Physics, Refusal, Settle, Step};
use fluxline_core::number::Num;

/// A friction clutch: an elastic coupling that slips at the engaged capacity.
///
/// dM/dt = k·(ω_a − ω_b),  |M + B·(ω_a − ω_b)| ≤ M_max·u
///
/// It sticks and slips by itself; wind-up beyond the capacity is not stored. Sticking, it is a delay
/// line of one step, Z = k·T + B, with the parasitic inertia 4/3·k·T².
#[component("rotational.clutch", c, constants = Slip)]
pub struct Clutch {
    /// rear shaft
    #[port]
    a: Rotational,
    /// front shaft
    #[port]
    b: Rotational,
    /// M_max — torque that it holds when fully engaged [N*m]
    #[parameter(default = "100 N*m", min = "0 N*m")]
    pub capacity: f64,
    /// k — torsional stiffness while it holds [N*m/rad]
    #[parameter(default = "1e4 N*m/rad", min = ">0 N*m/rad")]
    pub stiffness: f64,
    /// B — torsional damping while it holds [N*m*s/rad]
    #[parameter(default = "10 N*m*s/rad", min = "0 N*m*s/rad")]
    pub damping: f64,
    /// u — engagement, from 0 (open) to 1 [–]
    #[input(default = 1)]
    pub signal: f64,
    /// M_k — elastic torque [N*m]
    #[state]
    torque: State,
    /// ω_a − ω_b — slip speed [rad/s]
    #[memory]
    slip_speed: Memory,
    /// – — 1 while it holds [–]
    #[memory]
    locked: Memory,
    /// c_a − c_b — difference of the elastic waves [N*m]
    #[memory]
    difference: Memory,
    /// ω_a₋ — last speed at the rear end [rad/s]
    #[memory]
    last_speed_a: Memory,
    /// ω_b₋ — last speed at the front end [rad/s]
    #[memory]
    last_speed_b: Memory,
}

impl Clutch {
    fn kernel(&self, environment: &Environment) -> Result<Slip<f64>, Refusal> {
        Ok(Slip::new(self.stiffness, self.damping, self.capacity, environment))
    }
}

physics_of_kernel!(Clutch, Slip);

/// A friction brake between a shaft and the ground.
///
/// M = M_max·u against the motion; at rest it holds whatever is less
///
/// The inertia it is attached to solves for sticking exactly.
#[component("rotational.brake", c, constants = BrakeConstants)]
pub struct Brake {
    /// braked shaft
    #[port]
    a: Rotational,
    /// M_max — torque of the brake when fully applied [N*m]
    #[parameter(default = "100 N*m", min = "0 N*m")]
    pub capacity: f64,
    /// u — application, from 0 (released) to 1 [–]
    #[input(default = 1)]
    pub signal: f64,
    /// – — share of the torque that holds the shaft (lumped solvers) [–]
    #[memory]
    held: Memory,
}

/// Constants of [`Brake`].
#[derive(Clone, Copy, Debug, fluxline_core::Constants)]
pub struct BrakeConstants<T> {
    capacity: T,
}

impl Physics for Brake {
    fn prepare(&self, _: &Environment) -> Result<BrakeConstants<f64>, Refusal> {
        Ok(BrakeConstants { capacity: self.capacity })
    }
    fn law<T: Num>(k: &BrakeConstants<T>, law: &mut Law<'_, T>) {
        let hold = k.capacity * law.input[Self::SIGNAL].clamp_to(0.0, 1.0);
        law.effort[Self::A] = hold * grip(law.flow[Self::A], law.memory[Self::HELD]);
    }
    fn settles(_: &BrakeConstants<f64>) -> bool {
        true
    }
    fn settle(k: &BrakeConstants<f64>, settle: &mut Settle<'_>) {
        let most = k.capacity * settle.input[Self::SIGNAL].clamp(0.0, 1.0);
        settle.memory[Self::HELD] = hold(settle.effort[Self::A] / most, settle.flow[Self::A]);
    }
    fn start<T: Num>(k: &BrakeConstants<T>, io: &mut Step<'_, T>) {
        Self::step(k, io);
    }
    #[inline(always)]
    fn step<T: Num>(k: &BrakeConstants<T>, io: &mut Step<'_, T>) {
        let hold = k.capacity * io.input(Self::SIGNAL).clamp_to(0.0, 1.0);
        io.set_wave(Self::A, T::zero(), T::zero());
        io.bond_mut(Self::A).dry = hold;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotational::inertia::{Inertia, tests::inertia};
    use fluxline_core::state::Bond;
    use fluxline_core::testing::{
        Bench, Noise, assert_lanes_give_the_bits_of_scalars, start_joined, step_joined,
    };
    use proptest::prelude::*;

    fn clutch() -> Clutch {
        Clutch { capacity: 100.0, stiffness: 1e4, damping: 10.0, signal: 0.0 }
    }

    struct Drive {
        clutch: Bench<Clutch>,
        motor: Bench<Inertia>,
        load: Bench<Inertia>,
    }

    impl Drive {
        /// A motor of 2 kg·m² at 100 rad/s in front of a load of `load` kg·m² at rest.
        fn new(load: f64, step: f64) -> Self {
            let load = Inertia { inertia: load, ..inertia() };
            let mut drive = Self {
                clutch: Bench::new(&clutch(), step),
                motor: Bench::new(&inertia(), step),
                load: Bench::new(&load, step),
            };
            drive.motor.set_state(Inertia::SPEED, 100.0).start();
            drive.load.start();
            drive.clutch.take_bond(0, &drive.motor, Inertia::B).start();
            drive
        }
        fn step(&mut self, signal: f64) {
            self.clutch.input(0, signal);
            self.clutch
                .take_bond(0, &self.motor, Inertia::B)
                .take_bond(1, &self.load, Inertia::A)
                .step();
            self.motor.take_bond(Inertia::B, &self.clutch, 0).step();
            self.load.take_bond(Inertia::A, &self.clutch, 1).step();
        }
        fn speeds(&self) -> [f64; 2] {
            [&self.motor, &self.load].map(|b| b.get_state(Inertia::SPEED))
        }
    }

    #[test]
    fn an_open_clutch_transmits_nothing() {
        let mut drive = Drive::new(1.0, 1e-3);
        for _ in 0..1000 {
            drive.step(0.0);
        }
        assert_eq!(drive.speeds(), [100.0, 0.0]);
    }

    #[test]
    fn a_slipping_clutch_transmits_its_engaged_capacity() {
        let mut drive = Drive::new(1.0, 1e-4);
        for _ in 0..1000 {
            drive.step(0.6);
        }
        // 60 N·m for 0.1 s on 2 and 1 kg·m²; the torque starts half a step late
        let [motor, load] = drive.speeds();
        assert!((motor - 97.0).abs() < 5e-3, "{motor}");
        assert!((load - 6.0).abs() < 1e-2, "{load}");
        // within k·T²·dω/dt = 1e-4·60
        assert!((drive.load.effort(Inertia::A) - 60.0).abs() < 6e-3);
    }

    #[test]
    fn a_clutch_locks_at_the_common_speed_and_carries_less_than_its_capacity() {
        let step = 1e-4;
        let mut drive = Drive::new(1.0, step);
        for _ in 0..40_000 {
            drive.step(1.0);
        }
        // momentum: 2·100/3; lock-up after 100/(100/2 + 100/1) = 0.667 s
        let [motor, load] = drive.speeds();
        assert!((motor - load).abs() < 1e-6, "{motor} {load}");
        assert!((motor - 200.0 / 3.0).abs() < 0.05, "{motor}");
        // locked under a load of 30 N·m it passes on 2/3 of it, both slow down together
        drive.load.input(Inertia::LOAD, 30.0);
        for _ in 0..30_000 {
            drive.step(1.0);
        }
        let torque = drive.load.effort(Inertia::A);
        // within 3/2·B·T·dω/dt = 1.5e-2 of the damper's delay
        assert!((torque - 20.0).abs() < 1.5e-2, "{torque}");
        // a load beyond the capacity makes it slip at 100 N·m again, and nothing is wound up
        drive.load.input(Inertia::LOAD, 400.0);
        for _ in 0..1000 {
            drive.step(1.0);
        }
        // within k·T²·dω/dt = 1e-4·300
        assert!((drive.load.effort(Inertia::A) - 100.0).abs() < 3e-2);
        assert_eq!(drive.clutch.get_state(Clutch::TORQUE), 100.0);
        drive.step(0.2);
        assert_eq!(drive.clutch.get_state(Clutch::TORQUE), 20.0);
    }

    #[test]
    fn light_bodies_lock_without_chatter() {
        // 1e-5 kg·m² is far below the parasitic inertia 4/3·k·T² = 1.3e-2 kg·m²
        let mut drive = Drive::new(1e-5, 1e-3);
        for _ in 0..3000 {
            drive.step(1.0);
        }
        let [motor, load] = drive.speeds();
        assert!((motor - load).abs() < 1e-2, "{motor} {load}");
        let torque = drive.load.effort(Inertia::A);
        assert!(torque.abs() < 1.0, "{torque}");
    }

    fn brake() -> Bench<Brake> {
        let brake = Brake { capacity: 50.0, signal: 0.0 };
        Bench::new(&brake, 1e-3)
    }

    #[test]
    fn a_brake_stops_the_shaft_and_holds_it() {
        // 2 kg·m² at 10 rad/s under 25 N·m: 0.8 s
        let (mut brake, mut shaft) = (brake(), Bench::new(&inertia(), 1e-3));
        brake.input(0, 0.5);
        shaft.set_state(Inertia::SPEED, 10.0);
        start_joined((&mut brake, 0), (&mut shaft, Inertia::B));
        for _ in 0..790 {
            step_joined((&mut brake, 0), (&mut shaft, Inertia::B));
        }
        assert!((shaft.get_state(Inertia::SPEED) - 0.125).abs() < 1e-2);
        shaft.line(Inertia::A, 24.0, 0.0);
        for _ in 0..1000 {
            step_joined((&mut brake, 0), (&mut shaft, Inertia::B));
        }
        assert_eq!(shaft.get_state(Inertia::SPEED), 0.0);
        assert!((shaft.effort(Inertia::B) - 24.0).abs() < 1e-9);
        shaft.line(Inertia::A, 26.0, 0.0);
        step_joined((&mut brake, 0), (&mut shaft, Inertia::B));
        assert!(shaft.get_state(Inertia::SPEED) > 0.0);
    }

    #[test]
    fn lanes_give_the_bits_of_scalars() {
        let line_end = |noise: &mut fluxline_core::testing::Noise| Bond {
            flow: noise.between(-1.0, 1.0),
            displacement: noise.between(-0.02, 0.02),
            ..Bond::at_rest(0.0)
        };
        let [a, b, c, d] = [0.0, 1.0, 10.0, 1e3].map(|damping| Clutch { damping, ..clutch() });
        assert_lanes_give_the_bits_of_scalars([&a, &b, &c, &d], 1e-3, line_end, |noise| {
            noise.between(-0.2, 1.2)
        });
        let [a, b, c, d] = [0.0, 1.0, 10.0, 1e3].map(|capacity| Brake { capacity, signal: 0.0 });
        assert_lanes_give_the_bits_of_scalars([&a, &b, &c, &d], 1e-3, line_end, |noise| {
            noise.between(-0.2, 1.2)
        });
    }

    proptest! {
        /// Whatever the motion and the signal, it gives back what it has taken and at most one step of
        /// its capacity and its impedance k·T + B beside: it hears of a reversal one step late.
        #[test]
        fn a_clutch_is_passive(seed in 0u64..1000, damping in 0.0..100.0f64, size in 1e-3..10f64) {
            let mut bench = Bench::new(&Clutch { damping, ..clutch() }, 1e-3);
            let mut noise = Noise::new(seed);
            bench.start();
            let mut taken = 0.0;
            let one_step = (2.0 * 100.0 + (10.0 + damping) * size) * size;
            for _ in 0..1000 {
                bench.input(0, noise.between(0.0, 1.0)).step();
                for port in 0..2 {
                    bench.impose_flow(port, size * noise.between(-1.0, 1.0));
                    taken += bench.effort(port) * bench.flow(port);
                }
                prop_assert!(taken >= -one_step, "{taken} {one_step}");
            }
        }
    }
}
