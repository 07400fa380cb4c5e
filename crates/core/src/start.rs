//! Where a run begins: start values, or a state of rest.

use crate::component::{Clock, Group};
use crate::engine;
use crate::monitor::Tally;
use crate::plan::Plan;
use crate::settings::Convention;
use crate::state::State;

/// The state at the start: declared start values, waves that agree with them, outputs and rates
/// that follow from the laws.
pub fn start(plan: &Plan) -> State<f64> {
    if plan.convention == Convention::Hopsan {
        return start_as_hopsan(plan);
    }
    let mut state = plan.blank.clone();
    // Twice, because components start from signals and signals from components.
    for _ in 0..2 {
        state.bonds.copy_from_slice(&plan.blank.bonds);
        state.states.copy_from_slice(&plan.blank.states);
        for rate in &plan.rates {
            let clock =
                Clock { time: plan.start, dt: plan.step / f64::from(rate.divisor), tick: 0 };
            each(&rate.q, |group, i| group.start_one(i, &mut state, clock));
        }
        for rate in &plan.rates {
            // Motion that bodies start with reaches everything attached to them.
            for junction in &rate.junctions {
                if let Some(q) = junction.q {
                    let body = state.bonds[q as usize];
                    for &c in &junction.c {
                        let bond = &mut state.bonds[c as usize];
                        bond.displacement = body.displacement;
                        if junction.domain.is_mechanical() {
                            bond.flow = body.flow;
                        }
                    }
                }
            }
        }
        for rate in &plan.rates {
            let clock =
                Clock { time: plan.start, dt: plan.step / f64::from(rate.divisor), tick: 0 };
            each(&rate.c, |group, i| group.start_one(i, &mut state, clock));
            for junction in rate.junctions.iter().filter(|j| j.q.is_some()) {
                junction.gather(&mut state.bonds, 0.0);
            }
        }
        for bond in &mut state.bonds {
            bond.effort = bond.wave + bond.impedance * bond.flow;
        }
        for rate in &plan.rates {
            let clock =
                Clock { time: plan.start, dt: plan.step / f64::from(rate.divisor), tick: 0 };
            each(&rate.c, |group, i| group.start_law(i, &mut state, clock));
            each(&rate.q, |group, i| group.start_law(i, &mut state, clock));
            rate.publish(&mut state);
            each(&rate.s, |group, i| {
                group.start_one(i, &mut state, clock);
                group.start_law(i, &mut state, clock);
            });
        }
    }
    state.faults = Default::default();
    state
}

/// Start values stand in the bonds and outputs; signals start first, then C-, then Q-components, each
/// once and in the order of a step.
fn start_as_hopsan(plan: &Plan) -> State<f64> {
    let mut state = plan.blank.clone();
    for rate in &plan.rates {
        let clock = Clock { time: plan.start, dt: plan.step / f64::from(rate.divisor), tick: 0 };
        for groups in [&rate.s, &rate.c, &rate.q] {
            each(groups, |group, i| {
                group.start_one(i, &mut state, clock);
                group.start_law(i, &mut state, clock);
            });
        }
    }
    state.faults = Default::default();
    state
}

fn each(groups: &[Box<dyn Group<f64>>], mut f: impl FnMut(&dyn Group<f64>, usize)) {
    for group in groups {
        for i in 0..group.len() {
            f(group.as_ref(), i);
        }
    }
}

/// How a circuit came to rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rest {
    /// Simulated time it took, s.
    pub time: f64,
    /// Largest change per second that was left, relative to the size of the variable, 1/s.
    pub residual: f64,
    /// Component with the largest change left.
    pub component: u32,
    /// True when the residual is below the tolerance.
    pub reached: bool,
}

/// Runs with time held at the start until pressures, forces and flows stand still.
///
/// `go_on` is asked now and then and ends the attempt when it returns false.
pub fn come_to_rest(
    plan: &Plan,
    state: &mut State<f64>,
    limit: f64,
    tolerance: f64,
    mut go_on: impl FnMut() -> bool,
) -> Rest {
    let mut tally = Tally::new(plan, state, false);
    let mut before = state.clone();
    let mut settling = Settling::new(plan, limit, tolerance);
    loop {
        before.copy_from(state);
        for _ in 0..settling.interval() {
            engine::step(plan, state, &mut tally, true);
            // Time stands still; only delay buffers move on.
            state.step -= 1;
            state.rest_steps += 1;
        }
        if !settling.look(plan, &before, state, &mut go_on) {
            break;
        }
    }
    settling.finish(plan, state);
    settling.rest()
}

/// On the way to rest.
pub(crate) struct Settling {
    interval: u64,
    quiet_time: u64,
    most: u64,
    tolerance: f64,
    quiet: u64,
    taken: u64,
    rest: Rest,
}

impl Settling {
    pub(crate) fn new(plan: &Plan, limit: f64, tolerance: f64) -> Self {
        // Compare over a hundredth of a second or ten steps: long enough to see slow drifts. Between
        // reflections a long line looks at rest, so nothing may move for several times the longest
        // history that any component keeps.
        let most = (limit / plan.step).ceil() as u64;
        let interval = ((0.01 / plan.step).ceil() as u64).max(10).min(most.max(1));
        let quiet_time = (4 * longest_history(plan)).max(3 * interval);
        let rest = Rest { time: 0.0, residual: f64::INFINITY, component: 0, reached: false };
        Self { interval, quiet_time, most, tolerance, quiet: 0, taken: 0, rest }
    }

    /// Steps between looks.
    pub(crate) fn interval(&self) -> u64 {
        self.interval
    }

    /// Compares the states before and after an interval; false when the attempt has ended.
    pub(crate) fn look(
        &mut self,
        plan: &Plan,
        before: &State<f64>,
        after: &State<f64>,
        go_on: impl FnOnce() -> bool,
    ) -> bool {
        let rest = &mut self.rest;
        self.taken += self.interval;
        rest.time = self.taken as f64 * plan.step;
        (rest.residual, rest.component) =
            drift(plan, before, after, self.interval as f64 * plan.step);
        if !rest.residual.is_finite() || !go_on() {
            return false;
        }
        self.quiet = if rest.residual < self.tolerance { self.quiet + self.interval } else { 0 };
        rest.reached = self.quiet >= self.quiet_time;
        !rest.reached && self.taken < self.most
    }

    /// What was counted on the way does not count.
    pub(crate) fn finish(&self, plan: &Plan, state: &mut State<f64>) {
        for &(_, at, _) in &plan.watch.counters {
            state.states[at as usize] = 0.0;
        }
        state.faults = Default::default();
    }

    pub(crate) fn rest(&self) -> Rest {
        self.rest.clone()
    }
}

/// The largest block of memory beside declared states, in steps at most.
pub fn longest_history(plan: &Plan) -> u64 {
    let history = |e: &crate::variables::Entry| {
        let declared = 2 * e.declaration.states.len() + e.declaration.memory.len();
        e.block.saturating_sub(declared as u32)
    };
    plan.variables.entries.iter().map(history).max().unwrap_or(0).into()
}

/// Largest relative change per second of any effort or flow, and whose it is.
fn drift(plan: &Plan, before: &State<f64>, after: &State<f64>, time: f64) -> (f64, u32) {
    let mut worst = (0.0, 0);
    for (index, entry) in plan.variables.entries.iter().enumerate() {
        for (i, &bond) in entry.bonds.iter().enumerate() {
            let (old, new) = (&before.bonds[bond as usize], &after.bonds[bond as usize]);
            let domain = entry.declaration.ports[entry.port_of(i).0].domain;
            let effort =
                (new.effort - old.effort).abs() / (old.effort.abs() + domain.small_effort());
            let flow = (new.flow - old.flow).abs() / (old.flow.abs() + domain.small_flow());
            let change = effort.max(flow) / time;
            if change > worst.0 || change.is_nan() {
                worst = (change, index as u32);
            }
        }
    }
    worst
}
