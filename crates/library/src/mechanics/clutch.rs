//! A spring whose force is limited: clutches.

use super::contact::reflect;
use super::resistance::{remember, velocity_of_the_other_end};
use super::{Kernel, Settles};
use crate::stops::settle_rate;
use fluxline_core::Constants;
use fluxline_core::component::{BalanceRole, Environment, Law, Settle, Step};
use fluxline_core::number::Num;

/// An elastic friction joint.
///
/// dF/dt = k·(v_a − v_b),  |F + B·(v_a − v_b)| ≤ F_max·u
///
/// Where the force of the next step would exceed the capacity the joint slips: the force is the
/// capacity, and no more is stored. Sticking, it is a delay line of one step, Z = k·T + B, whose
/// reflections fade, with the parasitic mass 4/3·k·T². Slipping, F = F_max·sign(v) + Z_s·(v_i − v_i₋) at end i, with
/// Z_s = Z·F_max/(F_max + Z·|v|): light bodies come to rest instead of chattering.
///
/// Order: ports a, b; input u; state: elastic force; memory: last rate, 1 where stuck, difference of
/// the elastic waves, last velocities at a, b.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Slip<T> {
    stiffness: T,
    damping: T,
    capacity: T,
    /// k·T.
    impedance: T,
}

const FORCE: usize = 0;
const RATE: usize = 0;
const STUCK: usize = 1;
const DIFFERENCE: usize = 2;
const VELOCITIES: usize = 3;

impl Slip<f64> {
    /// A joint of stiffness k and damping B that holds F_max at full signal.
    pub fn new(stiffness: f64, damping: f64, capacity: f64, environment: &Environment) -> Self {
        Self { stiffness, damping, capacity, impedance: stiffness * environment.step }
    }
}

impl<T: Num> Slip<T> {
    #[inline(always)]
    fn engaged(&self, signal: T) -> T {
        self.capacity * signal.clamp_to(0.0, 1.0)
    }
}

impl Settles for Slip<f64> {
    // Wind-up beyond the capacity is not stored, also where the signal takes the capacity away.
    fn settle(&self, settle: &mut Settle<'_>) {
        let capacity = self.engaged(settle.input[0]);
        settle_rate(&mut settle.state[FORCE], (-capacity, capacity));
    }

    fn settles(&self) -> bool {
        true
    }

    fn show(&self, settle: &mut Settle<'_>) {
        let capacity = self.engaged(settle.input[0]);
        let rate = settle.flow[0] + settle.flow[1];
        let force = settle.state[FORCE];
        settle.memory[RATE] = rate;
        let held = (force + self.damping * rate).abs() < capacity;
        settle.memory[STUCK] = f64::from(u8::from(held));
    }
}

impl<T: Num> Kernel<T> for Slip<T> {
    const ROLE: BalanceRole = BalanceRole::Storage;
    fn is_lossless(&self) -> bool {
        false
    }

    const LUMPED: bool = true;

    fn law(&self, law: &mut Law<'_, T>) {
        let capacity = self.engaged(law.input[0]);
        let rate = law.flow[0] + law.flow[1];
        let force = law.state[FORCE];
        law.effort.fill((force + self.damping * rate).clamp(-capacity, capacity));
        let slips = force.abs().ge(capacity) & (force * rate).ge(T::zero());
        law.rate[FORCE] = T::select(slips, T::zero(), self.stiffness * rate);
    }

    fn start(&self, io: &mut Step<'_, T>) {
        let capacity = self.engaged(io.input(0));
        let rate = io.flow(0) + io.flow(1);
        let compression = io.displacement(0) + io.displacement(1);
        let force = (self.stiffness * compression).clamp(-capacity, capacity);
        io.set_memory(RATE, rate);
        remember(io, VELOCITIES);
        // The first step adds the strain of the step before it.
        io.set_state(FORCE, force - self.impedance * rate);
        for port in 0..2 {
            io.start_effort(port, force, T::zero());
        }
    }

    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let zero = T::zero();
        let capacity = self.engaged(io.input(0));
        let (va, vb) = (io.flow(0), io.flow(1));
        let (rate, spread) = (va + vb, va - vb);
        let strained = io.state(FORCE) + self.impedance * (io.memory(RATE) + rate) * 0.5;
        let force = strained.clamp(-capacity, capacity);
        let predicted = force + (self.impedance + self.damping) * rate;
        let sticks = predicted.abs().lt(capacity);
        let mean = force + self.impedance * rate * 0.5;
        let bounced = reflect(io.memory(DIFFERENCE), self.impedance, spread);
        let was_stuck = io.memory(STUCK).gt(zero);
        let difference = T::select(was_stuck, bounced, -(self.impedance * spread));
        let slipping = self.impedance * capacity
            / (capacity + self.impedance * rate.abs() + f64::MIN_POSITIVE);
        let limit = capacity.with_sign_of(predicted);
        let others = velocity_of_the_other_end(io, VELOCITIES);
        for (port, half, own, other) in [(0, 0.5, va, others[0]), (1, -0.5, vb, others[1])] {
            let elastic = mean + difference * half + self.damping * other;
            io.set_wave(
                port,
                T::select(sticks, elastic, limit - slipping * own),
                T::select(sticks, self.impedance + self.damping, slipping),
            );
        }
        io.set_state(FORCE, force);
        io.set_memory(RATE, rate);
        io.set_memory(STUCK, T::select(sticks, T::one(), zero));
        io.set_memory(DIFFERENCE, T::select(sticks, difference, zero));
    }

    fn change_step(&self, old: &Self, io: &mut Step<'_, T>) {
        let difference = io.memory(DIFFERENCE) * (self.impedance / old.impedance);
        io.set_memory(DIFFERENCE, difference);
        // The next step adds the strain of the last one, which was of the old length.
        let rate = io.memory(RATE) + io.flow(0) + io.flow(1);
        let force = io.state(FORCE) + (old.impedance - self.impedance) * rate * 0.5;
        io.set_state(FORCE, force);
    }

    fn energy(&self, io: &Step<'_, T>) -> T {
        io.state(FORCE).squared() / self.stiffness * 0.5
    }
}
