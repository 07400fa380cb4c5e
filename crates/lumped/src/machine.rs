//! A circuit as a solver sees it: whole, or without its small volumes.

use crate::view::View;
use fluxline_ode::small::Reduced;
use fluxline_ode::{Pattern, System, Trouble};

/// The view of a circuit, possibly reduced.
pub enum Machine<'p> {
    /// All states are integrated.
    Whole(Box<View<'p>>),
    /// Small volumes are replaced by their steady state.
    Reduced(Box<Reduced<View<'p>>>, Vec<f64>),
}

impl<'p> Machine<'p> {
    /// The view.
    pub fn view(&self) -> &View<'p> {
        match self {
            Self::Whole(view) => view,
            Self::Reduced(reduced, _) => reduced.base(),
        }
    }

    /// The view, to read or restart it.
    pub fn view_mut(&mut self) -> &mut View<'p> {
        match self {
            Self::Whole(view) => view,
            Self::Reduced(reduced, _) => reduced.base_mut(),
        }
    }

    /// The states to begin with: those of the view as it stands.
    pub fn start(&mut self) -> Vec<f64> {
        let whole = self.view().x();
        match self {
            Self::Whole(_) => whole,
            Self::Reduced(reduced, _) => {
                reduced.start_from(&whole);
                let mut slow = vec![0.0; reduced.size()];
                reduced.gather(&whole, &mut slow);
                slow
            }
        }
    }

    /// Which state of the view one of the machine's is.
    pub fn whole_state(&self, state: usize) -> usize {
        match self {
            Self::Whole(_) => state,
            Self::Reduced(reduced, _) => reduced.slow_states()[state],
        }
    }

    /// Brings the view's state of the plan to a time, for recording.
    pub fn write(&mut self, time: f64, x: &[f64]) -> Result<(), Trouble> {
        match self {
            Self::Whole(view) => view.write(time, x),
            Self::Reduced(reduced, whole) => {
                reduced.expand(time, x, whole)?;
                reduced.base_mut().write(time, whole)
            }
        }
    }

    /// After a step that is kept: counts limits and vapour, and evaluates the flows over the edge.
    pub fn count(&mut self, time: f64, x: &[f64]) -> Result<(), Trouble> {
        match self {
            Self::Whole(view) => view.count(time, x),
            Self::Reduced(reduced, whole) => {
                reduced.expand(time, x, whole)?;
                reduced.base_mut().count(time, whole)
            }
        }
    }

    fn system(&self) -> &dyn System {
        match self {
            Self::Whole(view) => view.as_ref(),
            Self::Reduced(reduced, _) => reduced.as_ref(),
        }
    }

    fn system_mut(&mut self) -> &mut dyn System {
        match self {
            Self::Whole(view) => view.as_mut(),
            Self::Reduced(reduced, _) => reduced.as_mut(),
        }
    }
}

impl System for Machine<'_> {
    fn size(&self) -> usize {
        self.system().size()
    }
    fn rates(&mut self, time: f64, x: &[f64], rates: &mut [f64]) -> Result<(), Trouble> {
        match self {
            Self::Whole(view) => view.rates(time, x, rates),
            Self::Reduced(reduced, _) => reduced.rates(time, x, rates),
        }
    }
    fn some_rates(
        &mut self,
        time: f64,
        x: &[f64],
        which: &[usize],
        rates: &mut [f64],
    ) -> Result<(), Trouble> {
        self.system_mut().some_rates(time, x, which, rates)
    }
    fn pattern(&self) -> &Pattern {
        self.system().pattern()
    }
    fn jacobian(&mut self, time: f64, x: &[f64], values: &mut [f64]) -> Result<(), Trouble> {
        self.system_mut().jacobian(time, x, values)
    }
    fn some_jacobian(
        &mut self,
        time: f64,
        x: &[f64],
        which: &[usize],
        block: &mut [f64],
    ) -> Result<(), Trouble> {
        self.system_mut().some_jacobian(time, x, which, block)
    }
    fn nominal(&self, state: usize) -> f64 {
        self.system().nominal(state)
    }
    fn bounds(&mut self, time: f64, x: &[f64], state: usize) -> (f64, f64) {
        self.system_mut().bounds(time, x, state)
    }
    fn next_event(&self, time: f64) -> f64 {
        self.system().next_event(time)
    }
    fn is_autonomous(&self, time: f64) -> bool {
        self.system().is_autonomous(time)
    }
    fn settle(&mut self, time: f64, x: &mut [f64]) -> bool {
        self.system_mut().settle(time, x)
    }
    fn overrun(&mut self, time: f64, x: &[f64]) -> f64 {
        self.system_mut().overrun(time, x)
    }
}
