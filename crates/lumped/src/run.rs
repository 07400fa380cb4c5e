//! A run of the lumped view: solver, samples, checks, and an end that is told.

use crate::machine::Machine;
use crate::setup::Setup;
use fluxline_core::monitor::{Sum, Verdict};
use fluxline_core::plan::Plan;
use fluxline_core::recorder::Recorder;
use fluxline_core::run::{Divergence, Ended, Outcome, Progress, SolverFailure};
use fluxline_core::state::State;
use fluxline_ode::drive::{Driver, Ending, Observer, Samples};
use fluxline_ode::small::Work as InnerWork;
use fluxline_ode::{Failure, FailureKind, System, Trouble, Work, build};

/// What a solver did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effort {
    /// Steps, evaluations, Newton iterations.
    pub work: Work,
    /// What small volumes cost.
    pub inner: InnerWork,
    /// Shortest and longest step, s.
    pub steps: (f64, f64),
    /// Oil that entered and left over the edge of the circuit, m³, by the trapezoidal rule.
    pub oil_in: f64,
    /// See `oil_in`.
    pub oil_out: f64,
}

/// Kept steps between looks at the clock of the caller.
const LOOK_EVERY: u64 = 64;

struct Watch<'a, 'r, 'p> {
    recorder: &'a mut Recorder<'r>,
    go_on: &'a mut dyn FnMut(Progress) -> bool,
    plan: &'p Plan,
    steps: u64,
    kept: u64,
    last_time: f64,
    shortest: f64,
    longest: f64,
    metering: Metering,
    last_flow: (f64, f64),
    trouble: Option<Trouble>,
    is_interrupted: bool,
}

/// Oil over the edge of the circuit.
#[derive(Default)]
struct Metering {
    oil_in: Sum,
    oil_out: Sum,
}

impl<'p> Observer<Machine<'p>> for Watch<'_, '_, 'p> {
    fn sample(&mut self, machine: &mut Machine<'p>, time: f64, x: &[f64]) {
        match machine.write(time, x) {
            Ok(()) => drop(self.recorder.record(time, &machine.view().state)),
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    fn kept(&mut self, machine: &mut Machine<'p>, time: f64, x: &[f64]) -> bool {
        let step = time - self.last_time;
        self.shortest = self.shortest.min(step);
        self.longest = self.longest.max(step);
        self.last_time = time;
        self.kept += 1;
        if let Err(trouble) = machine.count(time, x) {
            self.trouble = Some(trouble);
        }
        let flow = machine.view().edge_flows();
        self.metering.oil_in.add(0.5 * step * (flow.0 + self.last_flow.0));
        self.metering.oil_out.add(0.5 * step * (flow.1 + self.last_flow.1));
        self.last_flow = flow;
        if self.trouble.is_some() || self.recorder.has_failed() {
            return false;
        }
        if self.kept.is_multiple_of(LOOK_EVERY) {
            let done = (time - self.plan.start) / self.plan.step;
            let progress = Progress { step: done.round() as u64, steps: self.steps, time };
            if !(self.go_on)(progress) {
                self.is_interrupted = true;
                return false;
            }
        }
        true
    }
}

/// Runs from a state of the plan until step `steps` of its grid, which is also the grid of samples.
pub fn run(
    setup: &mut Setup<'_>,
    state: &mut State<f64>,
    steps: u64,
    recorder: &mut Recorder,
    go_on: &mut dyn FnMut(Progress) -> bool,
) -> (Outcome, Effort) {
    let plan = setup.machine.view().plan();
    setup.machine.view_mut().restart_from(state);
    let x = setup.machine.start();
    let time_of = |step: u64| plan.start + step as f64 * plan.step;
    let (begin, end) = (time_of(state.step), time_of(steps));
    let sampling = recorder.sampling;
    let mut next = match recorder.is_empty() {
        true => Some(sampling.next(state.step, steps)),
        false => Some(sampling.next(state.step + 1, steps)).filter(|_| state.step < steps),
    };
    let times = std::iter::from_fn(move || {
        let sample = next?;
        next = (sample < steps).then(|| sampling.next(sample + 1, steps));
        Some(plan.start + sample as f64 * plan.step)
    });
    let solver = build(setup.method, &setup.machine, &setup.options);
    let mut driver = Driver::new(solver, begin, &x);
    let last_flow = match setup.machine.write(begin, &x) {
        Ok(()) => setup.machine.view().edge_flows(),
        Err(_) => (0.0, 0.0),
    };
    let mut watch = Watch {
        recorder,
        go_on,
        plan,
        steps,
        kept: 0,
        last_time: begin,
        shortest: f64::INFINITY,
        longest: 0.0,
        metering: Metering::default(),
        last_flow,
        trouble: None,
        is_interrupted: false,
    };
    let mut samples = Samples::at(times);
    let ending = driver.advance(&mut setup.machine, end, &mut samples, &mut watch);
    let (trouble, is_interrupted) = (watch.trouble, watch.is_interrupted);
    let sink_failed = watch.recorder.has_failed();
    let mut effort = Effort {
        work: driver.work(),
        steps: (watch.shortest.min(watch.longest), watch.longest),
        oil_in: watch.metering.oil_in.value(),
        oil_out: watch.metering.oil_out.value(),
        ..Effort::default()
    };
    if let Machine::Reduced(reduced, _) = &setup.machine {
        effort.inner = reduced.work();
    }
    let time = driver.time();
    let reached = driver.state().to_vec();
    if setup.machine.write(time, &reached).is_ok() {
        state.copy_from(&setup.machine.view().state);
    }
    state.step = ((time - plan.start) / plan.step).round() as u64;
    state.time = time;
    let ended = match (ending, trouble) {
        (Err(failure), _) => failed(setup, &failure, &reached),
        (Ok(_), Some(trouble)) => {
            let failure = Failure {
                kind: FailureKind::Trouble(trouble),
                time,
                step: 0.0,
                state: None,
                residual: f64::NAN,
                allowed: f64::NAN,
            };
            failed(setup, &failure, &reached)
        }
        (Ok(Ending::Stopped), None) if is_interrupted => Ended::Interrupted { time },
        (Ok(Ending::Stopped), None) if sink_failed => Ended::SinkFailed,
        (Ok(_), None) => Ended::Done,
    };
    let mut verdict = Verdict::counted(plan, state);
    verdict.steps = effort.work.steps;
    verdict.simulated = time - begin;
    (Outcome { ended, verdict }, effort)
}

/// Names what a solver stumbled over.
fn failed(setup: &Setup, failure: &Failure, reached: &[f64]) -> Ended {
    let view = setup.machine.view();
    // The system names states by their numbers in the view where it speaks itself.
    let state = match failure.kind {
        FailureKind::Trouble(Trouble::NotFinite(state)) => Some(state),
        FailureKind::Trouble(Trouble::NoSolution { .. }) => None,
        _ => failure.state.map(|state| setup.machine.whole_state(state)),
    };
    let info = state.and_then(|state| view.states.get(state));
    let blown_up = matches!(
        failure.kind,
        FailureKind::NotFinite | FailureKind::Trouble(Trouble::NotFinite(_))
    );
    if blown_up && let (Some(info), Some(state)) = (info, state) {
        let last = (0..setup.machine.size()).find(|&i| setup.machine.whole_state(i) == state);
        return Ended::Diverged(Divergence {
            component: view.plan().name(info.component).to_owned(),
            variable: info.name.clone(),
            unit: info.unit,
            value: f64::NAN,
            last_value: last.map_or(f64::NAN, |i| reached[i]),
            time: failure.time + failure.step,
            last_good_step: ((failure.time - view.plan().start) / view.plan().step) as u64,
            last_good_time: failure.time,
        });
    }
    let what = match failure.kind {
        FailureKind::StepTooSmall => "its error stays too large however short the step".to_owned(),
        FailureKind::NewtonFailed => "its implicit step has no solution near the last".to_owned(),
        FailureKind::NotFinite => "it gave a number that is not finite".to_owned(),
        FailureKind::Singular => "the matrix of its step is singular".to_owned(),
        FailureKind::Trouble(Trouble::NotFinite(_)) => "a rate of change is not finite".to_owned(),
        FailureKind::Trouble(Trouble::NoSolution { equation, residual }) => {
            let names = match setup.machine {
                // Balances of small volumes are numbered by their states.
                Machine::Reduced(ref reduced, _)
                    if reduced.fast_states().iter().any(|fast| fast.state == equation) =>
                {
                    format!("the balance of flows of `{}`", view.states[equation].name)
                }
                _ if equation < view.cluster_count() => {
                    format!("the equations between {}", view.cluster_name(equation))
                }
                _ => "equations inside the circuit".to_owned(),
            };
            format!("{names} have no solution ({residual:e} is left)")
        }
    };
    Ended::Failed(SolverFailure {
        solver: setup.method.name(),
        what,
        state: info.map(|info| {
            (view.plan().name(info.component).to_owned(), info.name.clone(), info.unit)
        }),
        residual: failure.residual.is_finite().then_some((failure.residual, failure.allowed)),
        time: failure.time,
        step: failure.step,
    })
}
