//! A viscous damper.

use super::{Kernel, Settles};
use fluxline_core::Constants;
use fluxline_core::component::{BalanceRole, Environment, Law, Step};
use fluxline_core::number::Num;
use fluxline_core::wide;

/// F = B·(v_a − v_b), compression positive.
///
/// Z = B, and the wave is B times the other end's velocity, as the mean of the last two steps: with
/// the last step alone, stiff damping would let two light bodies swap velocities for ever. A mean
/// cannot be larger than what it is the mean of, so over a run the power
/// B·Σ(v_a² + v_b² + v_a·v̄_b + v_b·v̄_a) is never negative, for every B. With one end at rest the
/// damper is exact; otherwise the delay is an error of first order in the step, 3/2·B·T·dv/dt.
///
/// Order: ports a, b; memory: last velocities at a, b.
#[derive(Clone, Copy, Debug, Constants)]
pub struct Resistance<T> {
    damping: T,
}

impl Resistance<f64> {
    /// A damper with B.
    pub fn new(damping: f64, _: &Environment) -> Self {
        Self { damping }
    }
}

impl Settles for Resistance<f64> {}

impl<T: Num> Kernel<T> for Resistance<T> {
    const ROLE: BalanceRole = BalanceRole::Through;
    const LUMPED: bool = true;

    fn law(&self, law: &mut Law<'_, T>) {
        law.effort.fill(self.damping * (law.flow[0] + law.flow[1]));
    }

    fn start(&self, io: &mut Step<'_, T>) {
        let force = self.damping * (io.flow(0) + io.flow(1));
        remember(io, 0);
        for port in 0..2 {
            io.start_effort(port, force, self.damping);
        }
    }

    #[inline(always)]
    fn step(&self, io: &mut Step<'_, T>) {
        let others = velocity_of_the_other_end(io, 0);
        for (port, other) in others.into_iter().enumerate() {
            io.set_wave(port, self.damping * other, self.damping);
        }
    }
}

/// The velocity of the end opposite to a and to b, as the mean of the last two steps; `memory` is the
/// first of two places.
#[wide]
#[inline(always)]
pub(super) fn velocity_of_the_other_end<T: Num>(io: &mut Step<'_, T>, memory: usize) -> [T; 2] {
    let mean = |port: usize| (io.flow(port) + io.memory(memory + port)) * 0.5;
    let others = [mean(1), mean(0)];
    remember(io, memory);
    others
}

/// Remembers the velocities for the next step.
#[inline(always)]
pub(super) fn remember<T: Num>(io: &mut Step<'_, T>, memory: usize) {
    for port in 0..2 {
        let velocity = io.flow(port);
        io.set_memory(memory + port, velocity);
    }
}
