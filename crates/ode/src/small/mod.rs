//! Small volumes: fast states replaced by the value at which their rate is zero.
//!
//! A small volume between two throttles has a time constant far below anything that matters, and
//! forces an explicit solver to steps of microseconds. Its pressure hardly differs from the one at
//! which inflow and outflow balance, so that balance can be solved instead of integrated. What is
//! lost is the pressure's own lag, of the order of its time constant: see [`small_states`] for when
//! that is little.
//!
//! [`Reduced`] wraps a system and leaves the fast states out of what a solver sees; how they get
//! their values is a [`SmallVolumes`].

mod balance;
mod choice;
mod dense;
mod pseudo;
mod reduced;

pub use choice::{Reference, SmallState, small_states};
pub use reduced::{Fast, Reduced, Unsuitable, Work};

/// Where the pressures of small volumes come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SmallVolumes {
    /// Integrated like any other state: nothing is left out.
    #[default]
    Integrate,
    /// The pseudo-dynamic solver (Åman, thesis, Lappeenranta University of Technology, 2011, section
    /// 2.3): once before each main step the fast pressures are integrated in a time of their own, with
    /// a larger artificial volume, until they change by less than [`Settings::tolerance_high`] per
    /// inner step.
    ///
    /// The published procedure starts each inner run from zero pressure and keeps the volume's outlet
    /// flow fixed in it. Here it starts from the last value, which only saves steps. And in a circuit
    /// of any shape no port is *the* outlet: every flow that the fast pressure itself drives is
    /// recalculated, and what depends on slow states alone (pistons, pumps, the neighbours' pressures)
    /// stays fixed by itself, as it does for the cylinder of the published example. Malysheva (thesis,
    /// LUT University, 2021, section 4.2) found a fixed orifice flow at the outlet to be unstable.
    /// Over the main step the pressure and the flows to the neighbours are held, as in
    /// [`SmallVolumes::AdvPds`].
    Pds,
    /// The advanced pseudo-dynamic solver (Malysheva, thesis, LUT University, 2021, Algorithm 4.1, with
    /// the modulus of the pressure change in its test): as [`SmallVolumes::Pds`], with the sharper
    /// [`Settings::tolerance_low`] below [`Settings::low_pressure_limit`].
    ///
    /// Over the main step that follows, the fast pressure is held for laws that read it, and the flows
    /// between it and neighbouring volumes are held too: so what leaves one volume enters the other,
    /// and a stiff throttle between a held and a moving pressure does not limit the main step.
    AdvPds,
    /// At every evaluation the balance of flows is solved by Newton's method inside a bracket that
    /// never crosses a neighbour's pressure; fast states that influence each other are solved together.
    /// The size of the volume drops out.
    Algebraic,
    /// The reduced model of singular perturbation theory (Åman, thesis, Lappeenranta University of
    /// Technology, 2011, sections 2.1 and 3.4.1): the limit ε → 0 of the volume's equation, in which
    /// the compressibility term vanishes and the flows balance. The published reduction stops at this
    /// leading order and has no boundary-layer correction, so it is the same equation as
    /// [`SmallVolumes::Algebraic`] solves and gives the same numbers.
    SingularPerturbation,
}

impl SmallVolumes {
    /// Fast values are set once before each main step and held over it.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Pds | Self::AdvPds)
    }

    /// Fast values are solved at every evaluation.
    pub fn is_solved(self) -> bool {
        matches!(self, Self::Algebraic | Self::SingularPerturbation)
    }
}

/// How pseudo-time is integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InnerMethod {
    /// Euler: one evaluation per inner step.
    #[default]
    Euler,
    /// Runge and Kutta's fourth-order method: four evaluations.
    RungeKutta4,
    /// Heun with one Newton iteration in predictor and corrector (Malysheva, thesis, LUT University,
    /// 2021, eq. 4.13–4.14, with the unhatted pressure in the predictor's numerator): two evaluations
    /// and two Jacobians, stable at any inner step. Fast states next to each other take the block of
    /// the Jacobian in place of the derivative.
    ModifiedHeun,
}

/// Settings of all strategies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Where fast values come from.
    pub strategy: SmallVolumes,
    /// The artificial volume of pseudo-time, m³; the published one is 1e-3. None: chosen anew for
    /// every inner step so that the step goes about as far as the method can towards balance.
    pub pseudo_volume: Option<f64>,
    /// The step of pseudo-time, s.
    pub inner_step: f64,
    /// How pseudo-time is integrated.
    pub inner_method: InnerMethod,
    /// Change of pressure per inner step below which it counts as steady, Pa.
    pub tolerance_high: f64,
    /// The same for pressures below [`Settings::low_pressure_limit`], Pa.
    pub tolerance_low: f64,
    /// What a low pressure is, Pa.
    pub low_pressure_limit: f64,
    /// The most pseudo-time that is spent before one main step, s; what is reached by then is used,
    /// and counted in [`Work::unfinished`].
    pub longest_inner_time: f64,
    /// Newton's correction below which a balance counts as solved, Pa: far below any pressure that
    /// matters, and since convergence is quadratic, the error left is far below this.
    pub balance_tolerance: f64,
    /// The most iterations for one balance.
    pub most_iterations: usize,
}

impl Default for Settings {
    /// The published values: V_pseudo = 1e-3 m³, 1e-5 s, 300 Pa and 20 Pa, 22 bar.
    fn default() -> Self {
        Self {
            strategy: SmallVolumes::Integrate,
            pseudo_volume: Some(1e-3),
            inner_step: 1e-5,
            inner_method: InnerMethod::Euler,
            tolerance_high: 300.0,
            tolerance_low: 20.0,
            low_pressure_limit: 22e5,
            longest_inner_time: 0.1,
            balance_tolerance: 1e-3,
            most_iterations: 100,
        }
    }
}

impl Settings {
    /// The published settings with a strategy.
    pub fn with(strategy: SmallVolumes) -> Self {
        Self { strategy, ..Self::default() }
    }
}
