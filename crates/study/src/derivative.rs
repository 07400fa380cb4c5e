//! Derivatives through a run, by numbers that carry them.
//!
//! What a run begins with (constants of components, start values) is differentiated by differences of
//! fourth order between plans: they cost no run, and are smooth. The run itself carries the derivatives
//! on exactly, eight parameters at a time.

use crate::ensemble::{Ensemble, Refused};
use crate::metric::{Meters, Metrics};
use fluxline_core::circuit::Registry;
use fluxline_core::lanes::are_alike;
use fluxline_core::plan::Plan;
use fluxline_core::probe::{Probed, Touch, When, constants, lifted};
use fluxline_core::settings::{Begin, RunSettings};
use fluxline_core::start::come_to_rest;
use fluxline_core::state::State;
use fluxline_core::tangent::{DIRECTIONS, Tangent};
use fluxline_core::variables::Slot;
use fluxline_diagnostics::{Code, Diagnostic};
use fluxline_optimise::space::Space;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Weights of differences of fourth order, by how many steps from the middle: in the middle of a range,
/// and where only one side is left.
pub(crate) const CENTRAL: [(f64, f64); 4] =
    [(-2.0, 1.0 / 12.0), (-1.0, -8.0 / 12.0), (1.0, 8.0 / 12.0), (2.0, -1.0 / 12.0)];
const FORWARD: [(f64, f64); 4] = [(1.0, 4.0), (2.0, -3.0), (3.0, 4.0 / 3.0), (4.0, -0.25)];

/// A step of differences in a coordinate of the unit cube.
const NEARBY: f64 = 1e-4;

pub(crate) fn not_exact(what: &str, why: &str) -> Refused {
    Diagnostic::error(Code::NoDerivative, format!("{what} {why}"))
        .help("take differences of runs: --method differences")
        .into()
}

/// All numbers that a run begins with: constants, then the state.
fn numbers(plan: &Plan, registry: &Registry) -> Result<Vec<f64>, Refused> {
    let mut all = constants(plan, registry).map_err(|component| without(plan, component))?;
    lifted(&plan.initial, |x| {
        all.push(x);
        x
    });
    Ok(all)
}

fn without(plan: &Plan, component: u32) -> Refused {
    not_exact(&format!("`{}`", plan.name(component)), "is of a type without derivatives")
}

/// A run before its first step, with the derivatives of all that it begins with.
pub(crate) struct Beginning<'r> {
    registry: &'r Registry,
    /// Its plan.
    pub plan: Plan,
    run: RunSettings,
    numbers: Vec<f64>,
    slopes: Vec<Vec<f64>>,
}

impl<'r> Beginning<'r> {
    /// A run that does not depend on anything yet.
    pub fn of(plan: Plan, run: RunSettings, registry: &'r Registry) -> Result<Self, Refused> {
        if plan.thermal.is_some() {
            let why = "is carried by the oil, and has no derivatives here";
            return Err(not_exact("temperature", why));
        }
        let numbers = numbers(&plan, registry)?;
        Ok(Self { registry, plan, run, numbers, slopes: Vec::new() })
    }

    /// How it changes with a parameter: from plans at some steps beside its value, and the weights of
    /// their differences.
    pub fn slope(
        &self,
        name: &str,
        step: f64,
        weights: &[(f64, f64)],
        mut plan_at: impl FnMut(f64) -> Result<Plan, Refused>,
    ) -> Result<Vec<f64>, Refused> {
        let mut slope = vec![0.0; self.numbers.len()];
        for &(places, weight) in weights {
            let other = plan_at(places * step)?;
            let all = numbers(&other, self.registry)?;
            if other.fingerprint != self.plan.fingerprint
                || other.step != self.plan.step
                || all.len() != self.numbers.len()
            {
                let why = "changes steps or delays, which come in whole numbers";
                return Err(not_exact(&format!("`{name}`"), why));
            }
            // Tables are no numbers that derivatives go through.
            if !are_alike(&self.plan, &other, self.registry) {
                let why = "changes more than numbers of components, such as the points of a table";
                return Err(not_exact(&format!("`{name}`"), why));
            }
            for (slope, (x, at)) in slope.iter_mut().zip(all.iter().zip(&self.numbers)) {
                // Off what it is in the middle, so that what does not change gives exactly zero.
                *slope += weight * (x - at) / step;
            }
        }
        Ok(slope)
    }

    /// Adds a direction.
    pub fn push(&mut self, slope: Vec<f64>) {
        self.slopes.push(slope);
    }

    /// Directions in groups that one run carries.
    pub fn groups(&self) -> usize {
        self.slopes.len().div_ceil(DIRECTIONS)
    }

    /// Steps of the run.
    pub fn steps(&self) -> u64 {
        self.run.steps(self.plan.step)
    }

    /// Runs so many steps with the directions of a group; `look` sees the start and every step.
    pub fn follow(
        &self,
        group: usize,
        steps: u64,
        stop: &AtomicBool,
        mut look: impl FnMut(&State<Tangent>),
    ) -> Result<(), Refused> {
        let (plan, run) = (&self.plan, &self.run);
        let slopes = &self.slopes[group * DIRECTIONS..];
        let slopes = &slopes[..slopes.len().min(DIRECTIONS)];
        let mut at = 0;
        let mut lift = |value: f64| {
            let mut number = Tangent::constant(value);
            debug_assert_eq!(value.to_bits(), self.numbers[at].to_bits());
            for (direction, slope) in slopes.iter().enumerate() {
                number.slope[direction] = slope[at];
            }
            at += 1;
            number
        };
        let mut probed = Probed::following(plan, self.registry, &[], Touch::Add, &mut lift)
            .map_err(|component| without(plan, component))?;
        let mut state: State<Tangent> = lifted(&plan.initial, &mut lift);
        let interrupted = || Refused::from(Diagnostic::error(Code::Interrupted, "interrupted"));
        let is_stopped = || stop.load(Ordering::Relaxed);
        if run.begin == Begin::Rest {
            let mut plain = plan.initial.clone();
            let (limit, tolerance) = (run.rest_limit, run.rest_tolerance);
            let rest = come_to_rest(plan, &mut plain, limit, tolerance, || !is_stopped());
            if !rest.reached {
                let message = format!("`{}` does not come to rest", plan.name(rest.component));
                return Err(Diagnostic::error(Code::NotAtRest, message)
                    .help(
                        "`fluxline run` tells more; or begin with start values: --set run.begin=start",
                    )
                    .into());
            }
            for tick in 1..=plain.rest_steps {
                if tick % 1024 == 0 && is_stopped() {
                    return Err(interrupted());
                }
                probed.step(&mut state, When::held(plan.start, tick), Tangent::constant(0.0));
            }
            state.rest_steps = plain.rest_steps;
            for &(_, counter, _) in &plan.watch.counters {
                state.states[counter as usize] = Tangent::constant(0.0);
            }
        }
        look(&state);
        while state.step < steps {
            if state.step.is_multiple_of(1024) && is_stopped() {
                return Err(interrupted());
            }
            let (begin, end) = plan.times(&state);
            let tick = state.step + state.rest_steps + 1;
            probed.step(&mut state, When { begin, end, tick }, Tangent::constant(0.0));
            state.step += 1;
            state.time = end;
            look(&state);
        }
        Ok(())
    }
}

/// Metrics of a run, and how they change in each direction of a group; none where a metric jumps, as
/// times of settling do.
pub(crate) type Changes = (Vec<f64>, Vec<Vec<Option<f64>>>);

impl Beginning<'_> {
    /// Runs with the directions of a group, whose steps of differences are given, and looks at metrics.
    pub fn metrics(
        &self,
        group: usize,
        steps: &[f64],
        metrics: &Metrics,
        stop: &AtomicBool,
    ) -> Result<Changes, Refused> {
        let dt = self.plan.step;
        let mut meters = Meters::new(metrics, self.steps());
        self.follow(group, self.steps(), stop, |state| {
            meters.look(metrics, state, state.step as f64 * dt);
        })?;
        let found = meters.results(metrics, dt, |x: Tangent| x.value);
        let along = |(direction, step): (usize, &f64)| {
            // From what the run has summed up to the metrics: a formula of a few numbers.
            let mut slope = vec![0.0; found.len()];
            for (places, weight) in CENTRAL {
                let moved = |x: Tangent| x.value + places * step * x.slope[direction];
                let results = meters.results(metrics, dt, moved);
                for (slope, (x, at)) in slope.iter_mut().zip(results.iter().zip(&found)) {
                    *slope += weight * (x - at) / step;
                }
            }
            let kept = metrics.all.iter().zip(slope);
            kept.map(|(m, slope)| m.is_smooth().then_some(slope)).collect()
        };
        let slopes = steps.iter().enumerate().map(along).collect();
        Ok((found, slopes))
    }
}

/// Computes something for each number below `count`, on several threads.
fn side_by_side<T: Send>(
    count: usize,
    threads: usize,
    compute: impl Fn(usize) -> Result<T, Refused> + Sync,
) -> Result<Vec<T>, Refused> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Result<T, Refused>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let one = compute(index);
                    if let Ok(mut found) = found.lock() {
                        found.push((index, one));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, one)| one).collect()
}

/// What a study records, differentiated.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// By coordinate of the unit cube: the derivatives of recorded rows, laid out as they are, with a
    /// zero for time.
    pub slopes: Vec<Vec<f64>>,
    /// How many runs with derivatives it took.
    pub runs: usize,
}

/// A variant of an ensemble before its first step, with derivatives by the coordinates of its point of
/// the unit cube.
fn beginning<'m>(
    ensemble: &Ensemble<'m>,
    space: &Space,
    point: &[f64],
) -> Result<Beginning<'m>, Refused> {
    let threads = ensemble.effort.threads();
    let (plan, run) = ensemble.plan(&space.decode(point))?;
    let mut beginning = Beginning::of(plan, run, ensemble.registry())?;
    let slopes = side_by_side(point.len(), threads, |i| {
        // Towards the side where there is room.
        let room = 4.0 * NEARBY;
        let (weights, step) = match point[i] {
            u if u < room => (FORWARD, NEARBY),
            u if u > 1.0 - room => (FORWARD, -NEARBY),
            _ => (CENTRAL, NEARBY),
        };
        beginning.slope(&ensemble.parameters()[i].name, step, &weights, |by| {
            let mut moved = point.to_vec();
            moved[i] += by;
            ensemble.plan(&space.decode(&moved)).map(|(plan, _)| plan)
        })
    })?;
    slopes.into_iter().for_each(|slope| beginning.push(slope));
    Ok(beginning)
}

/// Derivatives of what an ensemble records at its steps, by the coordinates of a point of the unit
/// cube.
pub fn rows(ensemble: &Ensemble, space: &Space, point: &[f64]) -> Result<Rows, Refused> {
    let threads = ensemble.effort.threads();
    let wanted = ensemble.wanted();
    let slots: Vec<Slot> = ensemble.recorded().iter().map(|variable| variable.slot).collect();
    let beginning = beginning(ensemble, space, point)?;
    let steps = wanted.steps_of(beginning.steps());
    let groups = side_by_side(beginning.groups(), threads, |group| {
        let mut recorded: Vec<Tangent> = Vec::new();
        let mut next = wanted.steps.iter().peekable();
        beginning.follow(group, steps, &ensemble.stop, |state| {
            if next.next_if(|step| **step == state.step).is_some() {
                recorded.push(Tangent::constant(0.0));
                recorded.extend(slots.iter().map(|slot| slot.read(state)));
            }
        })?;
        Ok(recorded)
    })?;
    let column = |i: usize| {
        let recorded = &groups[i / DIRECTIONS];
        recorded.iter().map(|number| number.slope[i % DIRECTIONS]).collect()
    };
    Ok(Rows { slopes: (0..point.len()).map(column).collect(), runs: groups.len() })
}

/// Metrics of an ensemble, differentiated.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// By coordinate of the unit cube, then by metric.
    pub slopes: Vec<Vec<f64>>,
    /// How many runs with derivatives it took.
    pub runs: usize,
}

/// Derivatives of the metrics of an ensemble, by the coordinates of a point of the unit cube.
pub fn gradient(ensemble: &Ensemble, space: &Space, point: &[f64]) -> Result<Gradient, Refused> {
    let metrics = ensemble.metrics();
    if metrics.all.is_empty() {
        return Err(not_exact("the objective", "is not made of metrics"));
    }
    if let Some(jumps) = metrics.all.iter().find(|metric| !metric.is_smooth()) {
        return Err(not_exact(&format!("`{}`", jumps.text), "jumps, and has no derivative"));
    }
    let beginning = beginning(ensemble, space, point)?;
    let groups = side_by_side(beginning.groups(), ensemble.effort.threads(), |group| {
        let directions = (point.len() - group * DIRECTIONS).min(DIRECTIONS);
        beginning.metrics(group, &vec![NEARBY; directions], metrics, &ensemble.stop)
    })?;
    let runs = groups.len();
    let slopes = groups.into_iter().flat_map(|(_, slopes)| slopes);
    let slopes = slopes.map(|all| all.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect());
    Ok(Gradient { slopes: slopes.collect(), runs })
}
