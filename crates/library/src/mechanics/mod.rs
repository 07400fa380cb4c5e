//! Mechanics of one degree of freedom: the kernels that translation and rotation share.
//!
//! A mechanical component is a declaration in its own words and units, with one of these kernels as
//! its constants. Kernels find ports, inputs, states and memory by position; the order is written on
//! each. Inside a kernel `x`, `v`, `F`, `m` stand for angle, speed, torque and inertia as well.

pub mod body;
pub mod clutch;
pub mod contact;
pub mod elastic;
pub mod resistance;
pub mod source;

use fluxline_core::component::{BalanceRole, Law, Settle, Step};
use fluxline_core::number::Num;

/// Physics whose constants are all it needs.
pub trait Kernel<T: Num>: Sized {
    /// See [`fluxline_core::component::Physics::ROLE`].
    const ROLE: BalanceRole;
    /// See [`fluxline_core::component::Physics::is_lumped`].
    const LUMPED: bool = false;
    /// See [`fluxline_core::component::Physics::is_lossless`].
    fn is_lossless(&self) -> bool {
        true
    }
    /// See [`fluxline_core::component::Physics::law`].
    fn law(&self, law: &mut Law<'_, T>);
    /// See [`fluxline_core::component::Physics::start_law`].
    fn start_law(&self, law: &mut Law<'_, T>) {
        self.law(law);
    }
    /// See [`fluxline_core::component::Physics::start`].
    fn start(&self, io: &mut Step<'_, T>);
    /// See [`fluxline_core::component::Physics::step`].
    fn step(&self, io: &mut Step<'_, T>);
    /// See [`fluxline_core::component::Physics::change_step`]; `self` holds the new step.
    fn change_step(&self, old: &Self, io: &mut Step<'_, T>) {
        let _ = (old, io);
    }
    /// See [`fluxline_core::component::Physics::energy`].
    fn energy(&self, io: &Step<'_, T>) -> T {
        let _ = io;
        T::zero()
    }
    /// See [`fluxline_core::component::Physics::history`].
    fn history(&self) -> usize {
        0
    }
}

/// What a kernel does after a step of a solver of the lumped view.
pub trait Settles {
    /// See [`fluxline_core::component::Physics::settles`].
    fn settles(&self) -> bool {
        false
    }
    /// See [`fluxline_core::component::Physics::settle`].
    fn settle(&self, settle: &mut Settle<'_>) {
        let _ = settle;
    }
    /// See [`fluxline_core::component::Physics::show`].
    fn show(&self, settle: &mut Settle<'_>) {
        let _ = settle;
    }
}

/// Gives a component the physics of a kernel, which its method `kernel` builds.
macro_rules! physics_of_kernel {
    ($component:ident, $kernel:ident) => {
        impl ::fluxline_core::component::Physics for $component {
            fn prepare(
                &self,
                environment: &::fluxline_core::component::Environment,
            ) -> Result<$kernel<f64>, ::fluxline_core::component::Refusal> {
                self.kernel(environment)
            }
            fn law<T: ::fluxline_core::number::Num>(
                k: &$kernel<T>,
                law: &mut ::fluxline_core::component::Law<'_, T>,
            ) {
                $crate::mechanics::Kernel::law(k, law);
            }
            fn start_law<T: ::fluxline_core::number::Num>(
                k: &$kernel<T>,
                law: &mut ::fluxline_core::component::Law<'_, T>,
            ) {
                $crate::mechanics::Kernel::start_law(k, law);
            }
            fn settles(k: &$kernel<f64>) -> bool {
                $crate::mechanics::Settles::settles(k)
            }
            fn show(k: &$kernel<f64>, settle: &mut ::fluxline_core::component::Settle<'_>) {
                $crate::mechanics::Settles::show(k, settle);
            }
            fn settle(k: &$kernel<f64>, settle: &mut ::fluxline_core::component::Settle<'_>) {
                $crate::mechanics::Settles::settle(k, settle);
            }
            fn start<T: ::fluxline_core::number::Num>(
                k: &$kernel<T>,
                io: &mut ::fluxline_core::component::Step<'_, T>,
            ) {
                $crate::mechanics::Kernel::start(k, io);
            }
            #[inline]
            fn step<T: ::fluxline_core::number::Num>(
                k: &$kernel<T>,
                io: &mut ::fluxline_core::component::Step<'_, T>,
            ) {
                $crate::mechanics::Kernel::step(k, io);
            }
            fn change_step<T: ::fluxline_core::number::Num>(
                old: &$kernel<T>,
                new: &$kernel<T>,
                io: &mut ::fluxline_core::component::Step<'_, T>,
            ) {
                $crate::mechanics::Kernel::change_step(new, old, io);
            }
            fn history(k: &$kernel<f64>) -> usize {
                $crate::mechanics::Kernel::history(k)
            }
            fn is_lumped(_: &$kernel<f64>) -> bool {
                <$kernel<f64> as $crate::mechanics::Kernel<f64>>::LUMPED
            }
            fn is_lossless(k: &$kernel<f64>) -> bool {
                $crate::mechanics::Kernel::is_lossless(k)
            }
            const ROLE: ::fluxline_core::component::BalanceRole =
                <$kernel<f64> as $crate::mechanics::Kernel<f64>>::ROLE;
            fn energy<T: ::fluxline_core::number::Num>(
                k: &$kernel<T>,
                io: &::fluxline_core::component::Step<'_, T>,
            ) -> T {
                $crate::mechanics::Kernel::energy(k, io)
            }
        }
    };
}
pub(crate) use physics_of_kernel;

/// What lies beyond a dead band from −`down` to `up`: dry friction leaves this of a force. Written
/// so that a force that is not a number stays one.
#[inline(always)]
pub(crate) fn beyond<T: Num>(force: T, up: T, down: T) -> T {
    T::zero().max(force - up) + T::zero().min(force + down)
}
