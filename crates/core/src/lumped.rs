//! A component's law, of any type, as solvers of lumped circuits call it.

use crate::component::{Declared, Law, Physics, Settle};
use crate::dependence::Dependence;
use crate::gradient::Gradient;
use crate::number::Num;

/// The continuous law of one component, with its constants.
pub trait Lumped: Send + Sync {
    /// Evaluates it.
    fn law(&self, law: &mut Law<'_, f64>);
    /// Evaluates it with derivatives.
    fn gradient(&self, law: &mut Law<'_, Gradient>);
    /// Finds what depends on what.
    fn dependence(&self, law: &mut Law<'_, Dependence>);
    /// See [`Physics::settles`].
    fn settles(&self) -> bool;
    /// See [`Physics::settle`].
    fn settle(&self, settle: &mut Settle<'_>);
    /// See [`Physics::show`].
    fn show(&self, settle: &mut Settle<'_>);
    /// See [`Physics::next_event`].
    fn next_event(&self, time: f64) -> f64;
    /// See [`Physics::is_discrete`].
    fn is_discrete(&self) -> bool;
    /// See [`Physics::volumes`].
    fn volumes(&self) -> Vec<(usize, f64)>;
    /// See [`Physics::HAS_LAW`].
    fn has_law(&self) -> bool;
}

/// A number type that laws are evaluated in.
pub trait Evaluate: Num {
    /// Evaluates a law.
    fn evaluate(lumped: &dyn Lumped, law: &mut Law<'_, Self>);
}

impl Evaluate for f64 {
    #[inline(always)]
    fn evaluate(lumped: &dyn Lumped, law: &mut Law<'_, Self>) {
        lumped.law(law);
    }
}

impl Evaluate for Gradient {
    #[inline(always)]
    fn evaluate(lumped: &dyn Lumped, law: &mut Law<'_, Self>) {
        lumped.gradient(law);
    }
}

impl Evaluate for Dependence {
    fn evaluate(lumped: &dyn Lumped, law: &mut Law<'_, Self>) {
        lumped.dependence(law);
    }
}

/// The law of component type `M`.
pub(crate) struct LawOf<M: Declared> {
    constants: M::Constants<f64>,
    gradient: M::Constants<Gradient>,
}

impl<M: Physics> LawOf<M> {
    pub(crate) fn new(constants: &M::Constants<f64>) -> Self {
        Self {
            constants: M::lift(constants, &mut |x| x),
            gradient: M::lift(constants, &mut Gradient::constant),
        }
    }
}

impl<M: Physics> Lumped for LawOf<M> {
    fn law(&self, law: &mut Law<'_, f64>) {
        M::law(&self.constants, law);
    }
    fn gradient(&self, law: &mut Law<'_, Gradient>) {
        M::law(&self.gradient, law);
    }
    fn dependence(&self, law: &mut Law<'_, Dependence>) {
        M::law(&M::lift(&self.constants, &mut Dependence::of), law);
    }
    fn settles(&self) -> bool {
        M::settles(&self.constants)
    }
    fn settle(&self, settle: &mut Settle<'_>) {
        M::settle(&self.constants, settle);
    }
    fn show(&self, settle: &mut Settle<'_>) {
        M::show(&self.constants, settle);
    }
    fn next_event(&self, time: f64) -> f64 {
        M::next_event(&self.constants, time)
    }
    fn is_discrete(&self) -> bool {
        M::is_discrete(&self.constants)
    }
    fn volumes(&self) -> Vec<(usize, f64)> {
        M::volumes(&self.constants)
    }
    fn has_law(&self) -> bool {
        M::HAS_LAW
    }
}
