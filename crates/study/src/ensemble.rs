//! Variants of a circuit, evaluated many at a time.

use crate::metric::{Meters, Metrics};
use crate::vary::Vary;
use fluxline_core::circuit::{Circuit, Registry};
use fluxline_core::declare::{Kind, Value};
use fluxline_core::engine;
use fluxline_core::instructions::{Eight, Four, Instructions};
use fluxline_core::lanes::{self, LanePlan, Width, Widths, pack_states, replace_lane, unsound};
use fluxline_core::monitor::Tally;
use fluxline_core::number::{Lanes, Num};
use fluxline_core::plan::{Plan, Planned};
use fluxline_core::recorder::{Recorder, Sampling};
use fluxline_core::run::{self, Ended};
use fluxline_core::settings::{Begin, Convention, Fused, RunSettings, SolverKind, StepControl};
use fluxline_core::start::{Rest, come_to_rest};
use fluxline_core::state::State;
use fluxline_core::values::Rules;
use fluxline_core::variables::{Slot, Variable};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use fluxline_formats::Override;
use fluxline_fused::choice;
use fluxline_fused::lanes::{LaneCode, LaneSource};
use fluxline_units::{Dimension, Quantity};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};

/// Where circuits come from.
pub trait Model: Sync {
    /// The component types.
    fn registry(&self) -> &Registry;
    /// The circuit with some of its values replaced.
    fn load(&self, overrides: &[Override]) -> Result<Circuit, Refused>;
}

/// Why there is no circuit, with the files that the problems point at.
#[derive(Debug, Default)]
pub struct Refused {
    /// Errors and warnings.
    pub problems: Diagnostics,
    /// The files.
    pub sources: SourceMap,
}

impl Refused {
    /// The message of the first error.
    pub fn first_error(&self) -> String {
        let first = self.problems.iter().find(|problem| problem.is_error());
        first.map_or(String::new(), |problem| problem.message().to_owned())
    }
}

impl From<Diagnostic> for Refused {
    fn from(problem: Diagnostic) -> Self {
        Self { problems: problem.into(), sources: SourceMap::new() }
    }
}

/// A parameter that differs between variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Any name that `--set` takes.
    pub name: String,
    /// What its values are.
    pub dimension: Dimension,
    /// Switches, choices or texts in place of numbers, as `--set` takes them: a value is the place of
    /// one.
    pub words: Vec<String>,
}

impl Parameter {
    /// One that takes numbers.
    pub fn number(name: &str, dimension: Dimension) -> Self {
        Self { name: name.to_owned(), dimension, words: Vec::new() }
    }

    /// One that takes words, too.
    pub fn of(vary: &Vary) -> Self {
        Self { words: vary.words().to_vec(), ..Self::number(&vary.name, vary.dimension) }
    }
}

/// The values of a variant, in the order of the parameters, in SI units.
pub type Variant = Vec<f64>;

/// What is kept of a variant that ran to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The metrics, in SI units.
    pub metrics: Vec<f64>,
    /// Recorded rows, time first; empty when nothing is recorded.
    pub rows: Vec<f64>,
}

/// Why a variant gave nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// In a word.
    pub kind: ReasonKind,
    /// In words: which component, when.
    pub message: String,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasonKind {
    /// Its values are out of range or contradict each other.
    Refused,
    /// It did not come to rest before the start.
    NotAtRest,
    /// Something became infinite or not a number.
    Diverged,
    /// Equations of a component found no solution.
    NotConverged,
    /// A component asked to stop.
    Stopped,
    /// The study was interrupted.
    Interrupted,
}

impl ReasonKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Refused,
        Self::NotAtRest,
        Self::Diverged,
        Self::NotConverged,
        Self::Stopped,
        Self::Interrupted,
    ];

    /// A word that scripts can rely on.
    pub fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::NotAtRest => "not_at_rest",
            Self::Diverged => "diverged",
            Self::NotConverged => "not_converged",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What came of a variant.
pub type Outcome = Result<Evaluation, Reason>;

/// How an ensemble is run. Nothing of it changes any result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Effort {
    /// Threads; 0 for as many as there are cores.
    pub threads: usize,
    /// Variants side by side: 1, 4 or 8; 0 for what the machine does best. Fewer where it
    /// has no instructions for as many.
    pub lanes: usize,
}

impl Effort {
    /// As asked for on a command line, by one of so many processes that share the cores of a host.
    pub fn shared(threads: Option<u32>, sharing: usize, lanes: &str) -> Self {
        let threads = match (threads, sharing) {
            (Some(threads), _) => threads as usize,
            (None, 1) => 0,
            (None, sharing) => (Self::default().threads() / sharing).max(1),
        };
        Self { threads, lanes: lanes.parse().unwrap_or(0) }
    }

    /// Threads that are used.
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        if self.threads == 0 { cores() } else { self.threads }
    }

    /// Lanes that are used.
    pub fn lanes(&self) -> usize {
        match self.lanes {
            0 | 8 if !Eight::all().is_empty() => 8,
            0 | 4 | 8 if !Four::all().is_empty() => 4,
            _ => 1,
        }
    }

    /// What they are computed with.
    pub fn instructions(&self) -> &'static str {
        match self.lanes() {
            1 => "scalar",
            4 => Four::all().last().map_or("", |one| one.name()),
            _ => Eight::all().last().map_or("", |one| one.name()),
        }
    }
}

/// What is wanted of each variant.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Metrics, as text.
    pub metrics: Vec<String>,
    /// Names of variables to record.
    pub record: Vec<String>,
    /// So many samples of them.
    pub samples: usize,
    /// Or at these steps, in rising order.
    pub steps: Arc<[u64]>,
}

impl Wanted {
    /// How many of the steps of a run have to be taken: none after the last that is looked at.
    pub(crate) fn steps_of(&self, all: u64) -> u64 {
        match self.steps.last() {
            Some(&last) if self.metrics.is_empty() => last.min(all),
            _ => all,
        }
    }
}

/// Variants of a circuit.
pub struct Ensemble<'m> {
    model: &'m dyn Model,
    parameters: Vec<Parameter>,
    places: Vec<Place>,
    /// Components that parameters go to.
    varied: Vec<usize>,
    circuit: Circuit,
    wanted: Wanted,
    shared: Arc<Look>,
    fingerprint: u64,
    /// Plans of variants that have run, for others to come: as many as were in hand at a time.
    spare: Mutex<Vec<Plan>>,
    /// Code of its own, once it has paid to make some; none where that is not possible.
    code: OnceLock<Option<LaneCode>>,
    /// Why there is none, where it was wanted.
    no_code: OnceLock<String>,
    /// Variants that were asked for, and from how many on code pays, once that is known. Who has asked
    /// for many will ask for more.
    asked: AtomicUsize,
    pays_from: OnceLock<usize>,
    /// How it is run.
    pub effort: Effort,
    /// Interrupts it.
    pub stop: AtomicBool,
}

/// Where a value of a parameter goes.
#[derive(Clone, Debug)]
enum Place {
    /// To a parameter of a component and nowhere else.
    Component { component: usize, parameter: usize, rules: Arc<Rules> },
    /// To wherever the circuit file takes it.
    Anywhere,
}

impl Place {
    fn component(&self) -> Option<usize> {
        match self {
            Self::Component { component, .. } => Some(*component),
            Self::Anywhere => None,
        }
    }
}

/// Where the wanted variables of a plan are.
struct Look {
    metrics: Metrics,
    record: Vec<Variable>,
}

/// A variant that is ready to run.
struct Built {
    number: usize,
    plan: Plan,
    run: RunSettings,
    steps: u64,
    look: Arc<Look>,
    /// Where it begins.
    state: Option<State<f64>>,
}

impl<'m> Ensemble<'m> {
    /// Variants of the model in some parameters. `examples` are variants that will be asked for: the
    /// first that makes a sound circuit shows where the values go. Problems that all of them would
    /// have, such as a wrong name, are told at once.
    pub fn new(
        model: &'m dyn Model,
        parameters: Vec<Parameter>,
        wanted: Wanted,
        examples: impl IntoIterator<Item = Variant>,
    ) -> Result<Self, Refused> {
        let mut first_problems = None;
        let mut found = None;
        for example in examples {
            let loaded = load(model, &parameters, &example).and_then(|circuit| {
                let planned = Plan::of(&circuit, model.registry());
                match planned.plan {
                    Some(plan) => Ok((circuit, plan, example)),
                    None => Err(Refused { problems: planned.problems, ..Refused::default() }),
                }
            });
            match loaded {
                Ok(all) => {
                    found = Some(all);
                    break;
                }
                Err(refused) => {
                    let is_by_value = is_by_value(&refused);
                    first_problems.get_or_insert(refused);
                    if !is_by_value {
                        break;
                    }
                }
            }
        }
        let Some((circuit, plan, example)) = found else {
            return Err(first_problems.unwrap_or_default());
        };
        can_run(&circuit)?;
        check_words(model, &parameters, &example)?;
        let places: Vec<Place> = parameters
            .iter()
            .zip(&example)
            .map(|(parameter, &value)| match parameter.words.is_empty() {
                true => find_place(&circuit, &parameter.name, value).unwrap_or(Place::Anywhere),
                false => Place::Anywhere,
            })
            .collect();
        let varied: BTreeSet<usize> = places.iter().filter_map(Place::component).collect();
        let shared = Look::new(&plan, &wanted)?;
        let ensemble = Self {
            model,
            parameters,
            places,
            varied: varied.into_iter().collect(),
            circuit,
            wanted,
            shared: Arc::new(shared),
            fingerprint: plan.fingerprint,
            spare: Mutex::new(Vec::new()),
            code: OnceLock::new(),
            no_code: OnceLock::new(),
            asked: AtomicUsize::new(0),
            pays_from: OnceLock::new(),
            effort: Effort::default(),
            stop: AtomicBool::new(false),
        };
        Ok(ensemble)
    }

    /// Metrics with their dimensions.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Recorded variables.
    pub fn recorded(&self) -> &[Variable] {
        &self.shared.record
    }

    /// The circuit of the first sound variant.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The component types.
    pub(crate) fn registry(&self) -> &'m Registry {
        self.model.registry()
    }

    /// What varies.
    pub(crate) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// What is wanted.
    pub(crate) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// The plan of a variant, and how it is run.
    pub(crate) fn plan(&self, variant: &[f64]) -> Result<(Plan, RunSettings), Refused> {
        let built = self.build(&mut self.circuit.clone(), 0, variant);
        built.map(|one| (one.plan, one.run)).map_err(|reason| {
            Diagnostic::error(Code::InconsistentParameters, reason.message).into()
        })
    }

    /// Steps of the first sound variant.
    pub fn steps(&self) -> u64 {
        self.wanted.steps_of(self.circuit.run.steps(self.circuit.run.step))
    }

    /// Evaluates variants; the results are in their order.
    pub fn evaluate(&self, variants: &[Variant]) -> Vec<Outcome> {
        let mut results = Vec::with_capacity(variants.len());
        self.evaluate_each(variants.len(), &|i| variants[i].clone(), &mut |_, outcome| {
            results.push(outcome);
        });
        let interrupted =
            || Err(Reason { kind: ReasonKind::Interrupted, message: "interrupted".to_owned() });
        results.resize_with(variants.len(), interrupted);
        results
    }

    /// Evaluates so many variants and hands their results on in their order, as they come: memory
    /// does not grow with their number. When interrupted, what is left is not handed on.
    pub fn evaluate_each(
        &self,
        count: usize,
        variant: &(dyn Fn(usize) -> Variant + Sync),
        hand_on: &mut dyn FnMut(usize, Outcome),
    ) {
        let threads = self.effort.threads().clamp(1, count.max(1));
        self.prepare(count, variant);
        let batch = self.batch(count, threads);
        let batches = count.div_ceil(batch);
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        // How far ahead of the slowest batch the others may run: results wait for their turn.
        let ahead = 16 * threads;
        let (send, receive) = mpsc::channel::<(usize, Vec<Option<Outcome>>)>();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let send = send.clone();
                let (next, done) = (&next, &done);
                scope.spawn(move || {
                    let mut circuit = self.circuit.clone();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= batches || self.is_stopped() {
                            break;
                        }
                        while index >= done.load(Ordering::Acquire) + ahead && !self.is_stopped() {
                            std::thread::sleep(std::time::Duration::from_millis(1));
                        }
                        let numbers = index * batch..((index + 1) * batch).min(count);
                        let variants: Vec<Variant> = numbers.map(variant).collect();
                        let results = self.run_batch(&mut circuit, &variants);
                        if send.send((index, results)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            let mut waiting: BTreeMap<usize, Vec<Option<Outcome>>> = BTreeMap::new();
            let mut turn = 0;
            let mut is_whole = true;
            for (index, results) in receive {
                waiting.insert(index, results);
                while let Some(results) = waiting.remove(&turn) {
                    for (i, outcome) in results.into_iter().enumerate() {
                        match outcome {
                            Some(outcome) if is_whole => hand_on(turn * batch + i, outcome),
                            _ => is_whole = false,
                        }
                    }
                    turn += 1;
                    done.store(turn, Ordering::Release);
                }
            }
        });
    }

    /// Compiles the circuit, when so many runs make it pay. Evaluation does it by itself; those who
    /// hand it few variants at a time tell it how many there will be.
    pub fn prepare(&self, count: usize, variant: &(dyn Fn(usize) -> Variant + Sync)) {
        let (run, registry) = (&self.circuit.run, self.model.registry());
        let (lanes, steps) = (self.effort.lanes(), self.steps());
        let components = self.circuit.components.len();
        let anyway = matches!(run.fused, Fused::On | Fused::Compiled);
        let asked = self.asked.fetch_add(count, Ordering::Relaxed) + count;
        let may_pay = anyway
            || match self.pays_from.get() {
                Some(&least) => asked >= least,
                None => choice::may_pay_for_variants(asked, steps, components, lanes),
            };
        if run.fused == Fused::Off || lanes == 1 || !may_pay || self.code.get().is_some() {
            return;
        }
        // Constants in which some variants differ are loaded; those of a few tell which.
        let mut circuit = self.circuit.clone();
        let some = (0..EXAMPLES.min(count)).map(|i| i * count / EXAMPLES.min(count));
        let mut plans: Vec<Plan> = some
            .filter_map(|i| self.build(&mut circuit, i, &variant(i)).ok())
            .map(|built| built.plan)
            .collect();
        if plans.is_empty() {
            return;
        }
        let first = plans.swap_remove(0);
        let Ok(look) = Look::new(&first, &self.wanted) else { return };
        let code = match LaneSource::of(first, &plans, registry, lanes, look.metrics.slots()) {
            Ok(source) => match choice::pays_from(&source, steps) {
                Some(least) if anyway || asked >= least => {
                    let work = (asked, steps, self.effort.threads());
                    let go_on = &mut || !self.is_stopped();
                    choice::for_variants(source, work, run.fused, go_on).map_err(|e| e.to_string())
                }
                // More runs will make it pay later.
                Some(least) => {
                    let _ = self.pays_from.set(least);
                    return;
                }
                None => Err("it is too long, or most components cannot be followed".to_owned()),
            },
            Err(why) => Err(why.first().map_or("", |first| first.why).to_owned()),
        };
        if let Err(why) = &code {
            let _ = self.no_code.set(why.clone());
        }
        let code = code.ok();
        let _ = self.code.set(code);
    }

    /// Whether runs are stepped by code of their own.
    pub fn has_own_code(&self) -> bool {
        matches!(self.code.get(), Some(Some(code)) if code.lanes() == self.effort.lanes())
    }

    /// Why they are not, although the file or the caller asks for it.
    pub fn missed_own_code(&self) -> Option<&str> {
        let is_asked_for = matches!(self.circuit.run.fused, Fused::On | Fused::Compiled);
        self.no_code.get().map(String::as_str).filter(|_| is_asked_for && !self.is_stopped())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Variants that a thread takes at a time.
    fn batch(&self, count: usize, threads: usize) -> usize {
        let lanes = self.effort.lanes();
        // Where variants may differ in more than numbers, or come to rest at different times with
        // delays in between, more of them make fuller lanes.
        let groups = count.div_ceil(lanes * threads).clamp(1, 4);
        lanes * groups
    }

    /// Runs some variants; `None` for those that an interruption left out.
    fn run_batch(&self, circuit: &mut Circuit, variants: &[Variant]) -> Vec<Option<Outcome>> {
        let mut results: Vec<Option<Outcome>> = variants.iter().map(|_| None).collect();
        let mut built: Vec<Built> = Vec::with_capacity(variants.len());
        for (number, variant) in variants.iter().enumerate() {
            match self.build(circuit, number, variant) {
                Ok(one) => built.push(one),
                Err(reason) => results[number] = Some(Err(reason)),
            }
        }
        match self.effort.lanes() {
            8 => self.run_in_lanes::<8>(&mut built, &mut results),
            4 => self.run_in_lanes::<4>(&mut built, &mut results),
            _ => {
                for one in &mut built {
                    results[one.number] = self.run_alone(one);
                }
            }
        }
        if self.is_direct() {
            let used = built.into_iter().map(|one| one.plan);
            let spare = &mut *self.spare.lock().unwrap_or_else(PoisonError::into_inner);
            spare.extend(used.filter(|plan| plan.fingerprint == self.fingerprint));
        }
        results
    }

    /// Whether all parameters go to components and nowhere else.
    fn is_direct(&self) -> bool {
        self.places.iter().all(|place| place.component().is_some())
    }

    /// The plan of a circuit that differs from others in the values of parameters alone. Most of a
    /// plan is layout: one that has run is given other values, if there is one.
    fn plan_of(&self, circuit: &Circuit) -> Planned {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let spare = if self.is_direct() { spare() } else { None };
        if let Some(mut plan) = spare
            && plan.revalue(circuit, &self.varied)
        {
            return Planned { plan: Some(plan), problems: Diagnostics::new() };
        }
        Plan::of(circuit, self.model.registry())
    }

    fn build(
        &self,
        circuit: &mut Circuit,
        number: usize,
        variant: &[f64],
    ) -> Result<Built, Reason> {
        let refused = |problems: &Diagnostics| {
            let first = problems.iter().find(|problem| problem.is_error());
            Reason {
                kind: ReasonKind::Refused,
                message: first.map_or(String::new(), |problem| problem.message().to_owned()),
            }
        };
        let loaded;
        let circuit: &Circuit = if self.is_direct() {
            for (place, &value) in self.places.iter().zip(variant) {
                let Place::Component { component, parameter, rules } = place else { continue };
                if rules.parameters[*parameter].beyond(value).is_some() || !value.is_finite() {
                    // The file's own words, which are worth their time for a failure.
                    let found = load(self.model, &self.parameters, variant).err();
                    return Err(refused(&found.unwrap_or_default().problems));
                }
                circuit.components[*component].values[*parameter] = Value::Number(value);
            }
            circuit
        } else {
            loaded = load(self.model, &self.parameters, variant)
                .map_err(|found| refused(&found.problems))?;
            &loaded
        };
        let planned = self.plan_of(circuit);
        let Some(plan) = planned.plan else {
            return Err(refused(&planned.problems));
        };
        let look = match plan.fingerprint == self.fingerprint {
            true => self.shared.clone(),
            // Other delays have other places.
            false => Arc::new(Look::new(&plan, &self.wanted).map_err(|problem| Reason {
                kind: ReasonKind::Refused,
                message: problem.message().to_owned(),
            })?),
        };
        let run = circuit.run.clone();
        let steps = self.wanted.steps_of(run.steps(plan.step));
        Ok(Built { number, run, steps, look, plan, state: None })
    }

    fn run_in_lanes<const N: usize>(&self, built: &mut [Built], results: &mut [Option<Outcome>])
    where
        Widths: Width<N>,
    {
        // Coming to rest first: it takes each variant its own time.
        let mut classes = classes(built.iter(), self.model.registry());
        let is_to_rest = |one: &Built| one.run.begin == Begin::Rest;
        if built.iter().any(is_to_rest) {
            for class in std::mem::take(&mut classes) {
                // All of a class begin alike.
                if built.iter().any(|one| one.number == class[0] && !is_to_rest(one)) {
                    continue;
                }
                for chunk in class.chunks(N) {
                    self.bring_to_rest::<N>(built, chunk, results);
                }
            }
            if self.is_stopped() {
                return;
            }
            let at_rest = built.iter().filter(|one| results[one.number].is_none());
            classes = self::classes(at_rest, self.model.registry());
        }
        let position: BTreeMap<usize, usize> =
            built.iter().enumerate().map(|(at, one)| (one.number, at)).collect();
        for class in classes {
            for chunk in class.chunks(N) {
                let members: Vec<usize> = chunk.iter().map(|number| position[number]).collect();
                let packed = (chunk.len() >= least_for_lanes(N))
                    .then(|| self.run_together::<N>(built, &members, results));
                if packed != Some(true) {
                    for at in members {
                        let number = built[at].number;
                        results[number] = self.run_alone(&mut built[at]);
                    }
                }
            }
        }
    }

    /// Variants of one class, one in each lane; the last stands in lanes that are left.
    fn pack<'b, const N: usize>(
        &self,
        built: &'b [Built],
        members: &[usize],
    ) -> Option<LanePlan<'b, N>>
    where
        Widths: Width<N>,
    {
        let plans: [&Plan; N] =
            std::array::from_fn(|lane| &built[members[lane.min(members.len() - 1)]].plan);
        let instructions = <Widths as Width<N>>::Instructions::all().pop()?;
        LanePlan::of(&plans, self.model.registry(), instructions)
    }

    fn bring_to_rest<const N: usize>(
        &self,
        built: &mut [Built],
        numbers: &[usize],
        results: &mut [Option<Outcome>],
    ) where
        Widths: Width<N>,
    {
        let members: Vec<usize> = numbers
            .iter()
            .filter_map(|number| built.iter().position(|one| one.number == *number))
            .collect();
        let run = built[members[0]].run.clone();
        let lanes = (members.len() >= least_for_lanes(N)).then(|| self.pack::<N>(built, &members));
        let rested: Vec<(Rest, State<f64>)> = match lanes.flatten() {
            Some(mut lanes) => {
                let starts: [&State<f64>; N] = std::array::from_fn(|lane| {
                    &built[members[lane.min(members.len() - 1)]].plan.initial
                });
                let (limit, tolerance) = (run.rest_limit, run.rest_tolerance);
                let all = lanes.come_to_rest(starts, limit, tolerance, || !self.is_stopped());
                all.into_iter().take(members.len()).collect()
            }
            None => members.iter().map(|&at| self.rest_alone(&built[at])).collect(),
        };
        if self.is_stopped() {
            return;
        }
        for (&at, (rest, state)) in members.iter().zip(rested) {
            let one = &mut built[at];
            if let Some(reason) = not_at_rest(&one.plan, &rest) {
                results[one.number] = Some(Err(reason));
            }
            one.state = Some(state);
        }
    }

    fn rest_alone(&self, one: &Built) -> (Rest, State<f64>) {
        let mut state = one.plan.initial.clone();
        let (limit, tolerance) = (one.run.rest_limit, one.run.rest_tolerance);
        let rest = come_to_rest(&one.plan, &mut state, limit, tolerance, || !self.is_stopped());
        (rest, state)
    }

    /// Runs variants side by side; false when they cannot be.
    fn run_together<const N: usize>(
        &self,
        built: &[Built],
        members: &[usize],
        results: &mut [Option<Outcome>],
    ) -> bool
    where
        Widths: Width<N>,
    {
        let first = &built[members[0]];
        let member = |lane: usize| &built[members[lane.min(members.len() - 1)]];
        let plans: [&Plan; N] = std::array::from_fn(|lane| &member(lane).plan);
        let starts: [&State<f64>; N] = std::array::from_fn(|lane| {
            member(lane).state.as_ref().unwrap_or(&member(lane).plan.initial)
        });
        let code = self.code.get().and_then(Option::as_ref);
        let mut own = code.and_then(|code| code.run(&plans, &starts, self.model.registry()));
        let mut lanes = match own {
            Some(_) => None,
            None => match self.pack::<N>(built, members) {
                Some(lanes) => Some(lanes),
                None => return false,
            },
        };
        let mut state = pack_states(starts);
        if let Some(own) = &mut own {
            own.begin(&mut state);
        }
        let mut observer = Observer::<Lanes<N>>::new(&first.look, &self.wanted, first.steps);
        let slots = first.look.metrics.slots();
        let mut failed = 0u64;
        let all = u64::MAX >> (64 - N);
        let is_whole = march(
            &first.plan,
            &mut state,
            first.steps,
            &first.look,
            &mut observer,
            |state, steps, seen| match (&mut own, &mut lanes) {
                (Some(own), _) => own.advance(state, steps, seen),
                (_, Some(lanes)) => {
                    each_step(state, steps, slots, seen, |state| lanes.step(state, false));
                }
                _ => {}
            },
            |state| {
                let mut wrong = unsound(state) | state.faults.stopped_lanes;
                if first.plan.convention == Convention::Fluxline {
                    wrong |= state.faults.unconverged_lanes;
                }
                failed |= wrong;
                if failed == all || self.is_stopped() {
                    return false;
                }
                // Lanes that went wrong follow one that did not.
                let good = (0..N).find(|lane| failed >> lane & 1 == 0).unwrap_or(0);
                for lane in (0..N).filter(|lane| failed >> lane & 1 == 1) {
                    replace_lane(state, lane, good);
                }
                true
            },
        );
        if !is_whole && failed != all {
            return true;
        }
        for (lane, &at) in members.iter().enumerate() {
            let one = &built[at];
            results[one.number] = if failed >> lane & 1 == 1 {
                self.judge(one)
            } else {
                Some(
                    Ok(observer.results(&one.look.metrics, one.plan.step, |x: Lanes<N>| x.0[lane])),
                )
            };
        }
        true
    }

    /// Runs a variant by itself; `None` when interrupted.
    fn run_alone(&self, one: &mut Built) -> Option<Outcome> {
        if one.run.begin == Begin::Rest && one.state.is_none() {
            let (rest, state) = self.rest_alone(one);
            if self.is_stopped() {
                return None;
            }
            if let Some(reason) = not_at_rest(&one.plan, &rest) {
                return Some(Err(reason));
            }
            one.state = Some(state);
        }
        let is_wrong = |state: &State<f64>| {
            unsound(state) != 0
                || state.faults.stop_requested > 0
                || (state.faults.unconverged > 0 && one.plan.convention == Convention::Fluxline)
        };
        let mut has_failed = false;
        let found = self.observe(one, |state| {
            has_failed = is_wrong(state);
            !has_failed
        });
        if has_failed { self.judge(one) } else { found.map(Ok) }
    }

    /// Runs a variant by itself to the end, or as long as `go_on` says; `None` when it was ended before.
    fn observe(
        &self,
        one: &Built,
        mut go_on: impl FnMut(&State<f64>) -> bool,
    ) -> Option<Evaluation> {
        let mut state = one.state.as_ref().unwrap_or(&one.plan.initial).clone();
        let mut observer = Observer::<f64>::new(&one.look, &self.wanted, one.steps);
        let mut tally = Tally::new(&one.plan, &mut state, false);
        let is_whole = march(
            &one.plan,
            &mut state,
            one.steps,
            &one.look,
            &mut observer,
            |state, steps, seen| {
                each_step(state, steps, one.look.metrics.slots(), seen, |state| {
                    engine::step(&one.plan, state, &mut tally, false);
                });
            },
            |state| go_on(state) && !self.is_stopped(),
        );
        is_whole.then(|| observer.results(&one.look.metrics, one.plan.step, |x| x))
    }

    /// Runs a variant that went wrong once more, as any single run, to tell what happened; `None`
    /// when interrupted. What a single run makes nothing of is no failure, and its results count.
    fn judge(&self, one: &Built) -> Option<Outcome> {
        let mut state = one.state.as_ref().unwrap_or(&one.plan.initial).clone();
        let mut recorder = Recorder::new(Vec::new(), Sampling::Even(2), one.steps);
        let outcome = run::run(&one.plan, &mut state, one.steps, &mut recorder, false, |_| {
            !self.is_stopped()
        });
        let time = |seconds: f64| Quantity::new(seconds, Dimension::TIME);
        let (kind, message) = match outcome.ended {
            Ended::Diverged(found) => (
                ReasonKind::Diverged,
                format!("`{}` diverges at t = {:.6}", found.variable, time(found.time)),
            ),
            Ended::Unconverged { component, time: at } => (
                ReasonKind::NotConverged,
                format!("the equations of `{component}` have no solution at t = {:.6}", time(at)),
            ),
            Ended::Failed(failure) => (
                ReasonKind::NotConverged,
                format!("{}: {} at t = {:.6}", failure.solver, failure.what, time(failure.time)),
            ),
            Ended::Stopped { component, time: at } => (
                ReasonKind::Stopped,
                format!("`{component}` stopped the run at t = {:.6}", time(at)),
            ),
            Ended::Interrupted { .. } => return None,
            Ended::Done | Ended::SinkFailed => return self.observe(one, |_| true).map(Ok),
        };
        Some(Err(Reason { kind, message }))
    }
}

/// Variants that are looked at to learn in what they differ.
const EXAMPLES: usize = 24;

/// Fewer variants than this are faster one after the other than in lanes that are mostly empty.
fn least_for_lanes(lanes: usize) -> usize {
    1 + lanes / 4
}

fn not_at_rest(plan: &Plan, rest: &Rest) -> Option<Reason> {
    let name = plan.name(rest.component);
    (!rest.reached).then(|| Reason {
        kind: ReasonKind::NotAtRest,
        message: match rest.residual.is_finite() {
            true => format!("`{name}` does not come to rest"),
            false => format!("`{name}` diverges on the way to rest"),
        },
    })
}

/// The circuit of a variant, through the file.
fn load(model: &dyn Model, parameters: &[Parameter], variant: &[f64]) -> Result<Circuit, Refused> {
    model.load(&overrides(parameters, variant))
}

/// Whether other values could be better: nothing is wrong with names and kinds.
fn is_by_value(refused: &Refused) -> bool {
    let mut errors = refused.problems.iter().filter(|problem| problem.is_error());
    errors.all(|p| matches!(p.code(), Code::OutOfRange | Code::InconsistentParameters))
}

/// Whether ensembles can run a circuit.
fn can_run(circuit: &Circuit) -> Result<(), Diagnostic> {
    if circuit.run.step_control == StepControl::Variable {
        return Err(Diagnostic::error(
            Code::UnknownSetting,
            "an ensemble runs with a fixed step, and the circuit has a variable one",
        )
        .help("fix it: --set run.step_control=fixed --set \"run.step=0.1 ms\""));
    }
    if circuit.solver.method != SolverKind::Tlm {
        return Err(Diagnostic::error(
            Code::UnknownSetting,
            "an ensemble runs with the wave method, and the circuit asks for another solver",
        )
        .help("choose it: --set solver.method=tlm"));
    }
    Ok(())
}

/// Finds words that the file does not take, before anything runs: unlike a number that is out of range,
/// such a word is a slip.
fn check_words(
    model: &dyn Model,
    parameters: &[Parameter],
    example: &[f64],
) -> Result<(), Refused> {
    for (at, parameter) in parameters.iter().enumerate() {
        for word in 0..parameter.words.len() {
            let mut variant = example.to_vec();
            variant[at] = word as f64;
            match load(model, parameters, &variant) {
                Ok(circuit) => can_run(&circuit)?,
                Err(refused) if !is_by_value(&refused) => return Err(refused),
                Err(_) => {}
            }
        }
    }
    Ok(())
}

/// A variant as values for `--set`, which read back as the same bits.
pub fn overrides(parameters: &[Parameter], variant: &[f64]) -> Vec<Override> {
    let text = |(parameter, &value): (&Parameter, &f64)| match parameter.words.get(value as usize) {
        Some(word) => Override::of_variant(&parameter.name, word),
        None => {
            let value = Quantity::new(value, parameter.dimension).to_exact_string();
            Override::of_variant(&parameter.name, &value)
        }
    };
    parameters.iter().zip(variant).map(text).collect()
}

/// The value that a circuit gives to a parameter of a component, by the name that `--set` takes.
pub fn value_in(circuit: &Circuit, name: &str) -> Option<f64> {
    let name = name.strip_prefix("components.").unwrap_or(name);
    let (owner, key) = name.rsplit_once('.')?;
    let instance = circuit.components.iter().find(|one| one.name == owner)?;
    match instance.values[instance.declaration().parameter(key)?] {
        Value::Number(x) => Some(x),
        _ => None,
    }
}

/// A parameter of a component that a name stands for, when the value has arrived there as it is.
fn find_place(circuit: &Circuit, name: &str, value: f64) -> Option<Place> {
    let name = name.strip_prefix("components.").unwrap_or(name);
    // As Hopsan writes it.
    let name = name.strip_suffix("#Value").unwrap_or(name);
    let at = name.rfind(['.', '#'])?;
    let (owner, key) = (&name[..at], &name[at + 1..]);
    let owner = owner.replace('$', ".");
    let component = circuit.components.iter().position(|one| one.name == owner)?;
    let instance = &circuit.components[component];
    let declaration = instance.declaration();
    let parameter = declaration.parameter(key)?;
    let is_number =
        matches!(declaration.parameters[parameter].kind, Kind::Quantity | Kind::OptionalQuantity);
    let has_arrived =
        matches!(instance.values[parameter], Value::Number(x) if x.to_bits() == value.to_bits());
    if !(is_number && has_arrived) {
        return None;
    }
    let rules = Arc::new(Rules::of(declaration).ok()?);
    Some(Place::Component { component, parameter, rules })
}

/// Whether a component keeps a history whose places are counted by steps, as delays do: variants that
/// came to rest after other numbers of steps then cannot run side by side. A history of fixed places,
/// such as that of a cylinder, is no hindrance.
fn counts_steps(plan: &Plan) -> bool {
    let groups = plan.rates.iter().flat_map(|rate| [&rate.s, &rate.c, &rate.q]).flatten();
    groups.into_iter().any(|group| {
        (0..group.len()).any(|member| {
            let entry = &plan.variables.entries[group.wiring(member).component() as usize];
            let declared = 2 * entry.declaration.states.len() + entry.declaration.memory.len();
            let law = group.lumped(member);
            entry.block as usize > declared && (law.is_discrete() || !law.has_law())
        })
    })
}

/// Variants, by number, in groups that can run side by side.
fn classes<'b>(built: impl Iterator<Item = &'b Built>, registry: &Registry) -> Vec<Vec<usize>> {
    let mut classes: Vec<(&Built, Vec<usize>)> = Vec::new();
    for one in built {
        let is_alike = |other: &Built| {
            let ticks = |one: &Built| one.state.as_ref().map_or(0, |state| state.rest_steps);
            one.run == other.run
                && (ticks(one) == ticks(other) || !counts_steps(&one.plan))
                && lanes::are_alike(&one.plan, &other.plan, registry)
        };
        match classes.iter_mut().find(|(first, _)| is_alike(first)) {
            Some((_, members)) => members.push(one.number),
            None => classes.push((one, vec![one.number])),
        }
    }
    classes.into_iter().map(|(_, members)| members).collect()
}

impl Look {
    fn new(plan: &Plan, wanted: &Wanted) -> Result<Self, Diagnostic> {
        let metrics = Metrics::parse(wanted.metrics.iter().map(String::as_str), &plan.variables)?;
        let record = wanted
            .record
            .iter()
            .map(|name| {
                plan.variables.find(name).ok_or_else(|| {
                    let message = format!("there is no variable `{name}` to record");
                    Diagnostic::error(Code::RecordMatchesNothing, message)
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { metrics, record })
    }
}

/// Steps between looks for trouble; as often as single runs do.
const LOOK_EVERY: u64 = 256;

/// Watches runs.
struct Observer<T> {
    meters: Meters<T>,
    slots: Vec<Slot>,
    sampling: Sampling,
    /// Steps that were asked for, and how many of them are recorded.
    at: Arc<[u64]>,
    recorded: usize,
    steps: u64,
    next: u64,
    rows: Vec<(f64, Vec<T>)>,
}

impl<T: Num> Observer<T> {
    fn new(look: &Look, wanted: &Wanted, steps: u64) -> Self {
        let first = wanted.steps.first().copied().unwrap_or(0);
        Self {
            meters: Meters::new(&look.metrics, steps),
            slots: look.record.iter().map(|variable| variable.slot).collect(),
            sampling: Sampling::Even(wanted.samples.max(2)),
            at: wanted.steps.clone(),
            recorded: 0,
            steps,
            next: if look.record.is_empty() { u64::MAX } else { first },
            rows: Vec::new(),
        }
    }

    /// Looks at a run's start.
    fn begin(&mut self, look: &Look, plan: &Plan, state: &State<T>) {
        self.meters.look(&look.metrics, state, state.step as f64 * plan.step);
        self.record_if_due(plan, state);
    }

    /// Looks at the steps after `from`: at what was seen after each, and at the state after the last.
    #[inline(always)]
    fn go_on(&mut self, look: &Look, plan: &Plan, from: u64, seen: &[T], state: &State<T>) {
        self.meters.look_at(&look.metrics, seen, from + 1..state.step + 1, plan.step);
        self.record_if_due(plan, state);
    }

    fn record_if_due(&mut self, plan: &Plan, state: &State<T>) {
        if state.step == self.next {
            self.record(plan, state);
        }
    }

    #[cold]
    fn record(&mut self, plan: &Plan, state: &State<T>) {
        let time = plan.start + state.step as f64 * plan.step;
        self.rows.push((time, self.slots.iter().map(|slot| slot.read(state)).collect()));
        self.recorded += 1;
        self.next = match state.step < self.steps {
            _ if !self.at.is_empty() => self.at.get(self.recorded).copied().unwrap_or(u64::MAX),
            true => self.sampling.next(state.step + 1, self.steps),
            false => u64::MAX,
        };
    }

    fn results(&self, metrics: &Metrics, dt: f64, lane: impl Fn(T) -> f64 + Copy) -> Evaluation {
        let row = |(time, values): &(f64, Vec<T>)| {
            std::iter::once(*time).chain(values.iter().map(|&x| lane(x))).collect::<Vec<f64>>()
        };
        Evaluation {
            metrics: self.meters.results(metrics, dt, lane),
            rows: self.rows.iter().flat_map(row).collect(),
        }
    }
}

/// Takes single steps, and notes the numbers of variables after each, as they are in the state.
#[inline(always)]
fn each_step<T: Num>(
    state: &mut State<T>,
    steps: u64,
    slots: &[Slot],
    seen: &mut [T],
    mut step: impl FnMut(&mut State<T>),
) {
    let mut places = seen.iter_mut();
    for _ in 0..steps {
        step(state);
        for (slot, place) in slots.iter().zip(&mut places) {
            *place = slot.read_plain(state);
        }
    }
}

/// Steps to the end, watched; false when `go_on` said no before. `advance` takes some steps and tells
/// what is looked at after each.
fn march<T: Num>(
    plan: &Plan,
    state: &mut State<T>,
    steps: u64,
    look: &Look,
    observer: &mut Observer<T>,
    mut advance: impl FnMut(&mut State<T>, u64, &mut [T]),
    mut go_on: impl FnMut(&mut State<T>) -> bool,
) -> bool {
    let width = look.metrics.slots().len();
    let mut seen = lanes::on_cache_lines(vec![T::zero(); width * LOOK_EVERY as usize]);
    observer.begin(look, plan, state);
    while state.step < steps {
        let end = (state.step + LOOK_EVERY).min(steps);
        while state.step < end {
            let from = state.step;
            let count = end.min(observer.next.max(from + 1)) - from;
            let seen = &mut seen[..width * count as usize];
            advance(state, count, seen);
            observer.go_on(look, plan, from, seen, state);
        }
        if !go_on(state) {
            return false;
        }
    }
    true
}
