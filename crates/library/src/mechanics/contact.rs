//! Springs that act only beyond a clearance: backlash and end stops.
//!
//! With δ the compression and T the step, the mean wave of a lumped spring is k·(δ + T/2·dδ/dt) of
//! the last step, which makes its mean force k·δ of the present one exactly. A contact takes its
//! waves from δ in this way, so nothing drifts however often it opens. Whether it is closed in a step
//! is decided by δ + T·dδ/dt; where the acceleration d²δ/dt² proves that wrong, the force has the wrong
//! sign for one step, by at most (k·T + B)·T·d²δ/dt².

use super::resistance::{remember, velocity_of_the_other_end};
use super::{Kernel, Settles};
use fluxline_core::Constants;
use fluxline_core::component::{BalanceRole, Environment, Law, Step};
use fluxline_core::number::Num;

/// A spring and a damper that act in either direction beyond half the gap.
///
/// F = k·(δ ∓ g/2) + B·dδ/dt beyond ±g/2, never pulling back into the gap; 0 within
///
/// While closed it is a delay line of one step, Z = k·T + B, whose reflections fade, with the parasitic
/// mass 4/3·k·T².
///
/// Order: ports a, b; memory: 1 where closed, difference of the elastic waves, last velocities at a, b.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Contact<T> {
    stiffness: T,
    damping: T,
    /// Half the gap.
    clearance: T,
    /// k·T.
    impedance: T,
    step: f64,
}

const CLOSED: usize = 0;
const DIFFERENCE: usize = 1;
const VELOCITIES: usize = 2;

/// Share of the difference between the waves of the two ends that is reflected. At 1 it would bounce
/// undamped; any value from 0 to 1 is passive, and the parasitic mass is 2·k·T²/(1 + share).
pub(super) const REFLECTION: f64 = 0.5;

/// Difference of the elastic waves, from that of the last step and from v_a − v_b there.
#[inline(always)]
pub(super) fn reflect<T: Num>(difference: T, impedance: T, spread: T) -> T {
    -(difference * REFLECTION) - impedance * spread * (1.0 + REFLECTION)
}

impl Contact<f64> {
    /// A contact of stiffness k and damping B with a gap g in all.
    pub fn new(stiffness: f64, damping: f64, gap: f64, environment: &Environment) -> Self {
        Self {
            stiffness,
            damping,
            clearance: 0.5 * gap,
            impedance: stiffness * environment.step,
            step: environment.step,
        }
    }
}

impl<T: Num> Contact<T> {
    /// How far the ends have closed beyond the gap.
    #[inline(always)]
    fn beyond_gap(&self, compression: T) -> T {
        compression - compression.clamp(-self.clearance, self.clearance)
    }
    fn force(&self, compression: T, rate: T) -> T {
        let zero = T::zero();
        let deformation = self.beyond_gap(compression);
        let force = self.stiffness * deformation + self.damping * rate;
        T::select((force * deformation).gt(zero), force, zero)
    }
}

impl Settles for Contact<f64> {}

impl<T: Num> Kernel<T> for Contact<T> {
    const ROLE: BalanceRole = BalanceRole::Storage;
    fn is_lossless(&self) -> bool {
        false
    }

    const LUMPED: bool = true;

    fn law(&self, law: &mut Law<'_, T>) {
        let compression = law.displacement[0] + law.displacement[1];
        let rate = law.flow[0] + law.flow[1];
        law.effort.fill(self.force(compression, rate));
    }

    fn start(&self, io: &mut Step<'_, T>) {
        let force = self.force(io.displacement(0) + io.displacement(1), io.flow(0) + io.flow(1));
        remember(io, VELOCITIES);
        for port in 0..2 {
            io.start_effort(port, force, T::zero());
        }
    }

    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let zero = T::zero();
        let (va, vb) = (io.flow(0), io.flow(1));
        let (rate, spread) = (va + vb, va - vb);
        let compression = io.displacement(0) + io.displacement(1);
        let ahead = self.beyond_gap(compression + rate * self.step);
        let predicted = self.stiffness * ahead + self.damping * rate;
        let closed = (predicted * ahead).gt(zero);
        // the side of the gap that is `ahead`, at half a step
        let deformation = ahead - rate * (0.5 * self.step);
        let mean = self.stiffness * deformation;
        let bounced = reflect(io.memory(DIFFERENCE), self.impedance, spread);
        let fresh = -(self.impedance * spread);
        let was_closed = io.memory(CLOSED).gt(zero);
        let difference = T::select(was_closed, bounced, fresh);
        let impedance = T::select(closed, self.impedance + self.damping, zero);
        let others = velocity_of_the_other_end(io, VELOCITIES);
        for (port, half, other) in [(0, 0.5, others[0]), (1, -0.5, others[1])] {
            let wave = mean + difference * half + self.damping * other;
            io.set_wave(port, T::select(closed, wave, zero), impedance);
        }
        io.set_memory(CLOSED, T::select(closed, T::one(), zero));
        io.set_memory(DIFFERENCE, T::select(closed, difference, zero));
    }

    fn change_step(&self, old: &Self, io: &mut Step<'_, T>) {
        let difference = io.memory(DIFFERENCE) * (self.impedance / old.impedance);
        io.set_memory(DIFFERENCE, difference);
    }

    fn energy(&self, io: &Step<'_, T>) -> T {
        let deformation = self.beyond_gap(io.displacement(0) + io.displacement(1));
        self.stiffness * deformation.squared() * 0.5
    }
}

/// A spring and a damper between a body and the ground that act once the body has come far enough.
///
/// F = k·(x − x₀) + B·v for x > x₀, never pulling; 0 before
///
/// One end stands still, so the line is a stub of half the impedance, Z = k·T/2 + B, which is the
/// trapezoidal rule.
///
/// Order: port a.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Stop<T> {
    stiffness: T,
    damping: T,
    position: T,
    step: f64,
}

impl Stop<f64> {
    /// A stop that is met at `position`.
    pub fn new(stiffness: f64, damping: f64, position: f64, environment: &Environment) -> Self {
        Self { stiffness, damping, position, step: environment.step }
    }
}

impl<T: Num> Stop<T> {
    fn force(&self, x: T, v: T) -> T {
        let zero = T::zero();
        let deformation = x - self.position;
        let force = self.stiffness * deformation + self.damping * v;
        T::select(force.gt(zero) & deformation.gt(zero), force, zero)
    }
}

impl Settles for Stop<f64> {}

impl<T: Num> Kernel<T> for Stop<T> {
    const ROLE: BalanceRole = BalanceRole::Storage;
    fn is_lossless(&self) -> bool {
        false
    }

    fn law(&self, law: &mut Law<'_, T>) {
        law.effort[0] = self.force(law.displacement[0], law.flow[0]);
    }

    fn start(&self, io: &mut Step<'_, T>) {
        let force = self.force(io.displacement(0), io.flow(0));
        io.start_effort(0, force, T::zero());
    }

    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let (zero, v) = (T::zero(), io.flow(0));
        let ahead = io.displacement(0) + v * self.step - self.position;
        let predicted = self.stiffness * ahead + self.damping * v;
        let closed = ahead.gt(zero) & predicted.gt(zero);
        let wave = self.stiffness * (ahead - v * (0.5 * self.step));
        let impedance = self.stiffness * (0.5 * self.step) + self.damping;
        io.set_wave(0, T::select(closed, wave, zero), T::select(closed, impedance, zero));
    }

    fn energy(&self, io: &Step<'_, T>) -> T {
        let deformation = T::zero().max(io.displacement(0) - self.position);
        self.stiffness * deformation.squared() * 0.5
    }
}
