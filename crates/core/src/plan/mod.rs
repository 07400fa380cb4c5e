//! From a circuit to a plan: checked, flat, indexed; constant during a run and shared by all runs.

pub mod junctions;
pub mod order;
mod revalue;

use crate::circuit::{Circuit, Instance, Registry, Source, StartValue};
use crate::component::{
    BalanceRole, Environment, Filter, Gated, Group, Phase, Prepared, Refusal, Wiring,
};
use crate::declare::{Causality, Counts, Side, Value};
use crate::domain::{Domain, Role};
use crate::engine::{Junction, RateGroup};
use crate::fluid::ATMOSPHERE;
use crate::settings::Convention;
use crate::state::{Bond, State};
use crate::thermal::{Passage, Pool, Thermal};
use crate::variables::{Entry, Location, Slot, Variables};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Place};
use fluxline_units::{Dimension, Quantity};
use junctions::{End, Layout};
use order::{Edge, Order};
use std::collections::{BTreeMap, HashMap};

/// A checked circuit, ready to be stepped.
pub struct Plan {
    /// Title of the circuit.
    pub title: String,
    /// Time at the start, s.
    pub start: f64,
    /// Main step, s.
    pub step: f64,
    /// Whose order of execution, clock, start and names.
    pub convention: Convention,
    /// What runs at each rate; the first is the main step.
    pub rates: Vec<RateGroup>,
    /// Temperature, when it is carried.
    pub thermal: Option<Thermal>,
    /// What can be recorded.
    pub variables: Variables,
    /// What the verdict watches.
    pub watch: Watch,
    /// The state before anything is started.
    pub blank: State<f64>,
    /// The state at the start.
    pub initial: State<f64>,
    /// Fingerprint of the layout: a saved state fits a plan with the same.
    pub fingerprint: u64,
}

/// What is watched during a run for the verdict.
#[derive(Debug, Default)]
pub struct Watch {
    /// Lumped lines: component and its bonds.
    pub lumped: Vec<(u32, Box<[u32]>)>,
    /// Chambers inside components: component, bond at the port, state of the mean pressure.
    pub chambers: Vec<(u32, u32, u32)>,
    /// Stores: component, rate, phase (C or Q), group, member.
    pub stores: Vec<Member>,
    /// Per rate: C-stores (position in `stores`) and their bonds, for the energy balance.
    pub store_bonds: Vec<Vec<(u32, Box<[u32]>)>>,
    /// Per rate: bonds at the edge of the circuit and the sign that makes inflow positive.
    pub boundary: Vec<Vec<(u32, f64)>>,
    /// Counters: component, state index, what it counts.
    pub counters: Vec<(u32, u32, Counts)>,
}

/// Where a component is found in the groups.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Component index.
    pub component: u32,
    /// Rate.
    pub rate: u32,
    /// In the C-groups; otherwise in the Q-groups.
    pub is_c: bool,
    /// Group index.
    pub group: u32,
    /// Position in the group.
    pub member: u32,
    /// Holds oil.
    pub holds_oil: bool,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("title", &self.title)
            .field("components", &self.variables.entries.len())
            .field("bonds", &self.blank.bonds.len())
            .finish_non_exhaustive()
    }
}

/// What becomes of a circuit: a plan when nothing is wrong, and all problems found.
#[derive(Debug)]
pub struct Planned {
    /// The plan, unless there are errors.
    pub plan: Option<Plan>,
    /// Errors and warnings.
    pub problems: Diagnostics,
}

impl Plan {
    /// Checks a circuit and lays it out.
    pub fn of(circuit: &Circuit, registry: &Registry) -> Planned {
        Self::with_step(circuit, registry, circuit.run.step)
    }

    /// The same with another main step.
    pub fn with_step(circuit: &Circuit, registry: &Registry, step: f64) -> Planned {
        let mut problems = Diagnostics::new();
        let plan = build(circuit, registry, step, &mut problems);
        let plan = if problems.has_errors() { None } else { plan };
        Planned { plan, problems }
    }

    /// What is wrong with how the components of a circuit are joined, whatever their values are.
    /// Of a circuit that lacks some, because they have errors of their own, loose ends say nothing.
    pub fn check_structure(circuit: &Circuit, registry: &Registry, is_whole: bool) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let layout = join(circuit, registry, is_whole, &mut problems);
        check_parts(circuit, &layout, circuit.run.step, false, &mut problems);
        problems
    }

    /// Begin and end of the step that follows a state. Time is start + n·step; where the convention
    /// asks for it, it is added up step by step, with the rounding that brings.
    #[inline]
    pub fn times<T>(&self, state: &State<T>) -> (f64, f64) {
        match self.convention {
            Convention::Fluxline => (
                self.start + state.step as f64 * self.step,
                self.start + (state.step + 1) as f64 * self.step,
            ),
            Convention::Hopsan => (state.time, state.time + self.step),
        }
    }

    /// Name of a component.
    pub fn name(&self, component: u32) -> &str {
        &self.variables.entries[component as usize].name
    }

    /// Number of components, inserted lines included.
    pub fn component_count(&self) -> usize {
        self.variables.entries.len()
    }
}

struct Draft<'a> {
    instances: Vec<&'a Instance>,
    places: Vec<Box<[usize]>>,
    bonds: Vec<Vec<u32>>,
    domains: Vec<Domain>,
    rates: Vec<usize>,
}

fn build(
    circuit: &Circuit,
    registry: &Registry,
    step: f64,
    problems: &mut Diagnostics,
) -> Option<Plan> {
    check_times(circuit, step, problems);
    if circuit.components.is_empty() {
        problems.push(
            Diagnostic::error(Code::EmptyCircuit, "the circuit has no components")
                .help("add at least one: `[components.tank]` with `type = \"hydraulic.tank\"`"),
        );
        return None;
    }
    let layout = join(circuit, registry, true, problems);
    if problems.has_errors() {
        check_parts(circuit, &layout, step, true, problems);
        return None;
    }
    let instances: Vec<&Instance> = circuit.components.iter().chain(&layout.lines).collect();

    // Bonds: one per C-end; a Q-end shares the bond of its only C-end.
    let places: Vec<Box<[usize]>> = instances
        .iter()
        .enumerate()
        .map(|(index, instance)| places(instance, index, &layout))
        .collect();
    let mut draft = Draft {
        bonds: places.iter().map(|places| vec![u32::MAX; places.iter().sum()]).collect(),
        places,
        rates: instances.iter().map(|i| i.rate).collect(),
        instances,
        domains: Vec::new(),
    };
    line_rates(circuit, &layout, &mut draft);
    let rates_of_meetings = settle_rates(circuit, &layout, &mut draft);
    let mut junction_drafts: Vec<(usize, Junction)> = Vec::new();
    for (meeting, rate) in layout.meetings.iter().zip(rates_of_meetings) {
        let mut c_bonds = Vec::new();
        for end in &meeting.c {
            c_bonds.push(draft.attach(end, None));
        }
        let shared = match (meeting.q, &c_bonds[..]) {
            (Some(end), &[only]) => draft.attach(&end, Some(only)),
            (Some(end), _) => {
                let q = draft.attach(&end, None);
                let domain = draft.domains[q as usize];
                junction_drafts.push((
                    rate,
                    Junction { domain, q: Some(q), c: c_bonds.into(), directions: Box::default() },
                ));
                q
            }
            (None, &[only]) => only,
            (None, _) => {
                let domain = draft.domains[c_bonds[0] as usize];
                let directions = directions(&draft, &meeting.c);
                let first = c_bonds[0];
                junction_drafts
                    .push((rate, Junction { domain, q: None, c: c_bonds.into(), directions }));
                first
            }
        };
        for end in &meeting.observers {
            draft.attach(end, Some(shared));
        }
    }
    // Ports that nothing is connected to.
    for index in 0..draft.instances.len() {
        let mut bond = 0;
        for (port, &count) in draft.places[index].iter().enumerate() {
            for _ in 0..count {
                if draft.bonds[index][bond] == u32::MAX {
                    draft.bonds[index][bond] = draft.domains.len() as u32;
                    draft.domains.push(draft.instances[index].declaration().ports[port].domain);
                }
                bond += 1;
            }
        }
    }
    assemble(circuit, step, &layout, draft, junction_drafts, problems)
}

/// Joins the ports and checks what meets.
fn join(
    circuit: &Circuit,
    registry: &Registry,
    is_whole: bool,
    problems: &mut Diagnostics,
) -> Layout {
    let layout = junctions::lay_out(circuit, registry, problems);
    if is_whole {
        junctions::find_loose_ends(circuit, &layout, problems);
    }
    for meeting in layout.meetings.iter().filter(|meeting| meeting.c.len() > 1) {
        check_stiff(circuit, &layout, meeting, problems);
    }
    layout
}

/// Checks what does not depend on how the circuit is laid out, so that one look shows all mistakes:
/// values that contradict each other, and loops of signals.
fn check_parts(
    circuit: &Circuit,
    layout: &Layout,
    step: f64,
    with_values: bool,
    problems: &mut Diagnostics,
) {
    let instances = || circuit.components.iter().chain(&layout.lines);
    let mut no_feedthrough: Vec<Option<&'static [usize]>> = Vec::new();
    for (index, instance) in instances().enumerate() {
        let places = places(instance, index, layout);
        let is_joined =
            places.iter().any(|&count| count > 0) || instance.declaration().ports.is_empty();
        let ready = prepare(circuit, instance, step, instance.rate, &places, &[]);
        no_feedthrough.push(ready.as_ref().ok().map(|ready| ready.no_feedthrough()));
        if let Err(problem) = ready
            && with_values
            && is_joined
        {
            problems.push(problem);
        }
    }
    let signals = |i: usize| circuit.components[i].declaration().causality == Causality::S;
    let rate = |i: usize| circuit.components[i].rate;
    let mut edges = Vec::new();
    let mut edge_drives = Vec::new();
    for (number, drive) in circuit.drives.iter().enumerate() {
        let (to, Source::Output { component: from, .. }) = (drive.component, drive.from) else {
            continue;
        };
        if signals(from) && signals(to) && rate(from) == rate(to) {
            // One that cannot be prepared may be the one that opens the loop.
            let may_break = no_feedthrough[to].is_none_or(|free| free.contains(&drive.input));
            edges.push(Edge { from, to, may_break });
            edge_drives.push(number);
        }
    }
    if let Order::Loop(walk) = order::sort(circuit.components.len(), &edges) {
        let name = |i: usize| circuit.components[i].name.as_str();
        problems.push(loop_error(circuit, name, &walk, &edges, &edge_drives));
    }
}

/// A component in its surroundings, or why it cannot be.
fn prepare(
    circuit: &Circuit,
    instance: &Instance,
    step: f64,
    rate: usize,
    places: &[usize],
    driven: &[bool],
) -> Result<Box<dyn Prepared>, Diagnostic> {
    let environment = Environment {
        step: step / f64::from(circuit.rates[rate]),
        fluid: &circuit.fluids[instance.fluid],
        start_pressure: circuit.run.start_pressure,
        bonds: places.iter().sum(),
        places,
        // Motion must not be damped by numerics: springs and shafts stay undamped.
        filter: if holds_oil(instance) { circuit.run.line_filter() } else { Filter::None },
        driven,
    };
    let Some(built) = (instance.kind.build)(&instance.values) else {
        return Err(Diagnostic::error(
            Code::WrongType,
            format!("`{}` was given values that do not fit its declaration", instance.name),
        )
        .at_if(instance.span, "this component"));
    };
    let ready = built.prepare(&environment).map_err(|refusal| refused(instance, &refusal))?;
    match ready.history() {
        0..=MOST_HISTORY => Ok(ready),
        history => Err(too_much_history(instance, history as f64, environment.step)),
    }
}

/// The most numbers that a component, or all of them, may keep of the past: 512 MB.
const MOST_HISTORY: usize = 1 << 26;

fn too_much_history(instance: &Instance, history: f64, step: f64) -> Diagnostic {
    let step = Quantity::new(step, Dimension::TIME);
    let message = format!(
        "`{}` would have to remember {history:.0e} numbers of the past, in steps of {step}",
        instance.name
    );
    Diagnostic::error(Code::TooManySteps, message)
        .at_if(instance.span, "too long a line or delay")
        .on(Place::component(&instance.name))
        .help("check its length; if it is right, take a larger step")
}

/// The error for values that contradict each other.
fn refused(instance: &Instance, refusal: &Refusal) -> Diagnostic {
    let declaration = instance.declaration();
    let culprit = declaration.parameter(refusal.parameter);
    let given = culprit.and_then(|p| instance.value_spans[p]);
    let message = format!("`{}`: {}", instance.name, in_usual_units(&refusal.message));
    let mut problem = Diagnostic::error(Code::InconsistentParameters, message)
        .on(Place::component(&instance.name).parameter(refusal.parameter));
    problem = match given {
        Some(span) => problem.at(span, "inconsistent with the other parameters"),
        None => problem.at_if(instance.span, format!("see `{}`", refusal.parameter)),
    };
    // The other values that the message speaks of.
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mentioned = |name: &str| {
        let texts = [&refusal.message, &refusal.help];
        let in_words = name.replace('_', " ");
        texts.into_iter().any(|text| {
            text.split(|c| !is_word(c)).any(|word| word == name)
                || name.contains('_') && text.contains(&in_words)
        })
    };
    for (p, parameter) in declaration.parameters.iter().enumerate() {
        if Some(p) != culprit
            && let Some(span) = instance.value_spans[p]
            && mentioned(parameter.name)
        {
            problem = problem.also(span, format!("`{}` is given here", parameter.name));
        }
    }
    problem.help(in_usual_units(&refusal.help))
}

/// A text in which quantities in SI units (0.056 m) stand in those of the trade (56 mm).
fn in_usual_units(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let begins = shown.chars().next_back().is_none_or(|before| " (=-−".contains(before));
        if begins
            && c.is_ascii_digit()
            && let Some((quantity, length)) = leading_quantity(rest)
        {
            shown.push_str(&format!("{quantity:.6}"));
            rest = &rest[length..];
            continue;
        }
        shown.push(c);
        rest = &rest[c.len_utf8()..];
    }
    shown
}

/// A number and a unit at the beginning of a text, and their length.
fn leading_quantity(text: &str) -> Option<(Quantity, usize)> {
    let number = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-' | '+')))
        .filter(|&at| text[at..].starts_with(' '))?;
    let mut depth = 0;
    let unit = text[number + 1..]
        .find(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c.is_whitespace() || matches!(c, ',' | ';' | ':') || depth < 0
        })
        .map_or(text.len(), |at| number + 1 + at);
    let length = text[..unit].trim_end_matches('.').len();
    let quantity = Quantity::parse(&text[..length]).ok()?;
    // Whether 1/s is a speed in rad/s, the unit tells.
    let is_clear =
        !quantity.dimension.is_dimensionless() && quantity.dimension != Dimension::FREQUENCY;
    is_clear.then_some((quantity, length))
}

fn check_times(circuit: &Circuit, step: f64, problems: &mut Diagnostics) {
    let run = &circuit.run;
    let show =
        |t: f64| Quantity::parse(&format!("{t:e} s")).map_or(format!("{t} s"), |q| q.to_string());
    if run.stop < run.start {
        problems.push(
            Diagnostic::error(
                Code::BadRunTimes,
                format!(
                    "the run would stop at {} before it starts at {}",
                    show(run.stop),
                    show(run.start)
                ),
            )
            .on(Place::setting("run.stop"))
            .help("give `stop` a later time than `start`"),
        );
    } else if step.is_nan() || step <= 0.0 || step.is_infinite() {
        problems.push(
            Diagnostic::error(Code::BadRunTimes, format!("the time step is {}", show(step)))
                .on(Place::setting("run.step"))
                .help("give a positive step such as \"0.1 ms\""),
        );
    } else if (run.stop - run.start) / step > 1e15 {
        problems.push(
            Diagnostic::error(
                Code::TooManySteps,
                format!(
                    "{} in steps of {} are more than 10¹⁵ steps",
                    show(run.stop - run.start),
                    show(step)
                ),
            )
            .on(Place::setting("run.step"))
            .help("choose a larger step or an earlier stop"),
        );
    }
}

/// Bonds of each port of a component: one, or as many as connected to a port that takes many.
fn places(instance: &Instance, index: usize, layout: &Layout) -> Box<[usize]> {
    let count = |port: usize| layout.places.get(&(index, port)).copied().unwrap_or(0) as usize;
    let declared = instance.declaration().ports.iter().enumerate();
    declared.map(|(port, declared)| if declared.many { count(port) } else { 1 }).collect()
}

impl Draft<'_> {
    /// Gives an end its bond: a new one, or one that it shares.
    fn attach(&mut self, end: &End, shared: Option<u32>) -> u32 {
        let port = &self.instances[end.component].declaration().ports[end.port];
        let before: usize = self.places[end.component][..end.port].iter().sum();
        let place = before + end.place as usize - 1;
        let bond = shared.unwrap_or_else(|| {
            self.domains.push(port.domain);
            self.domains.len() as u32 - 1
        });
        self.bonds[end.component][place] = bond;
        bond
    }
}

/// An inserted line runs at the slowest rate of its ends.
fn line_rates(circuit: &Circuit, layout: &Layout, draft: &mut Draft) {
    let own = circuit.components.len();
    let mut slowest: HashMap<usize, usize> = HashMap::new();
    let mut note = |line: usize, rate: usize| {
        let entry = slowest.entry(line).or_insert(rate);
        if circuit.rates[rate] < circuit.rates[*entry] {
            *entry = rate;
        }
    };
    for meeting in &layout.meetings {
        let others: Vec<usize> = meeting
            .q
            .iter()
            .chain(&meeting.c)
            .filter(|e| e.component < own)
            .map(|e| draft.rates[e.component])
            .collect();
        for line in meeting.c.iter().filter(|e| e.component >= own) {
            for &rate in &others {
                note(line.component, rate);
            }
        }
    }
    for (line, rate) in slowest {
        draft.rates[line] = rate;
    }
}

/// Rates agree wherever components do not meet through a line of the main step: the border between
/// rates is always a fast Q-component at a C-component of the main step.
fn settle_rates(circuit: &Circuit, layout: &Layout, draft: &mut Draft) -> Vec<usize> {
    let faster = |a: usize, b: usize| {
        if circuit.rates[b] > circuit.rates[a] { b } else { a }
    };
    loop {
        let mut changed = false;
        for meeting in &layout.meetings {
            let is_plain = meeting.q.is_some() && meeting.c.len() == 1;
            let ends = meeting.q.iter().chain(&meeting.c);
            let fastest = ends.clone().map(|e| draft.rates[e.component]).fold(0, faster);
            for end in ends {
                let rate = &mut draft.rates[end.component];
                let may_stay = is_plain
                    && *rate == 0
                    && meeting.q.is_some_and(|q| q.component != end.component);
                if *rate != fastest && !may_stay {
                    *rate = fastest;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    layout
        .meetings
        .iter()
        .map(|m| m.c.iter().chain(&m.q).map(|e| draft.rates[e.component]).fold(0, faster))
        .collect()
}

/// Direction along the axis of each C-end of a meeting without a body.
fn directions(draft: &Draft, ends: &[End]) -> Box<[f64]> {
    if ends.len() == 2 {
        return [1.0, -1.0].into();
    }
    ends.iter()
        .map(|e| match draft.instances[e.component].declaration().ports[e.port].side {
            Side::A => 1.0,
            Side::B => -1.0,
        })
        .collect()
}

/// Ideal sources cannot meet each other: nothing would decide the flow between them.
fn check_stiff(
    circuit: &Circuit,
    layout: &Layout,
    meeting: &junctions::Meeting,
    problems: &mut Diagnostics,
) {
    let instance = |e: &End| junctions::instance_of(circuit, &layout.lines, e);
    let ideal: Vec<&End> = meeting
        .c
        .iter()
        .filter(|e| {
            (instance(e).kind.build)(&instance(e).values).is_some_and(|c| c.is_ideal_source())
        })
        .collect();
    let hydraulic = meeting
        .c
        .first()
        .is_some_and(|e| instance(e).declaration().ports[e.port].domain == Domain::Hydraulic);
    let too_many = if hydraulic {
        ideal.len() > 1
    } else {
        meeting.q.is_none() && ideal.len() == meeting.c.len()
    };
    if too_many {
        let name = |e: &End| {
            let instance = instance(e);
            format!("`{}` ({})", instance.name, instance.declaration().name)
        };
        let mut problem = Diagnostic::error(
            Code::CPortsCannotJoin,
            format!(
                "{} and {} are both ideal sources and meet directly",
                name(ideal[0]),
                name(ideal[1])
            ),
        );
        problem = match (ideal[0].span, ideal[1].span) {
            (Some(first), Some(second)) => problem
                .at(first, "nothing decides the flow between this one")
                .also(second, "and this one"),
            (first, second) => {
                problem.at_if(second.or(first), "nothing decides the flow between them")
            }
        };
        let cure = match hydraulic {
            true => "put an orifice or another restriction between them",
            false => "put a body between them",
        };
        problems.push(problem.help(cure));
    }
}

/// What components of one group share: rate, phase, type, level, gates.
type GroupKey = (usize, Causality, &'static str, u32, Box<[u32]>);

/// Arranges everything in flat arrays and groups.
fn assemble(
    circuit: &Circuit,
    step: f64,
    layout: &Layout,
    draft: Draft,
    junction_drafts: Vec<(usize, Junction)>,
    problems: &mut Diagnostics,
) -> Option<Plan> {
    let convention = circuit.run.convention;
    let Draft { instances, places, bonds, domains, rates } = draft;
    let own = circuit.components.len();

    // Signals: inputs that nothing drives, outputs, probes; outputs of C and Q as they are written.
    let mut signals: Vec<f64> = Vec::new();
    let mut inputs: Vec<Box<[u32]>> = Vec::with_capacity(instances.len());
    let mut outputs: Vec<u32> = Vec::with_capacity(instances.len());
    for instance in &instances {
        let own_inputs: Vec<u32> = instance
            .declaration()
            .inputs()
            .map(|(parameter, _)| {
                let value = match instance.values[parameter] {
                    Value::Number(x) => x,
                    _ => 0.0,
                };
                signals.push(value);
                signals.len() as u32 - 1
            })
            .collect();
        inputs.push(own_inputs.into());
        outputs.push(signals.len() as u32);
        let outputs = instance.declaration().outputs.iter();
        signals.extend(outputs.map(|output| start_value(instance, output.start)));
    }

    let mut driven: Vec<Box<[bool]>> =
        inputs.iter().map(|own| vec![false; own.len()].into()).collect();
    for drive in &circuit.drives {
        driven[drive.component][drive.input] = true;
    }

    // Components in their new surroundings.
    let mut prepared: Vec<Box<dyn Prepared>> = Vec::with_capacity(instances.len());
    for (index, instance) in instances.iter().enumerate() {
        let around = (&places[index][..], &driven[index][..]);
        let ready = prepare(circuit, instance, step, rates[index], around.0, around.1);
        prepared.extend(problems.take(ready));
    }
    if prepared.len() < instances.len() {
        check_parts(circuit, layout, step, false, problems);
        return None;
    }

    // States.
    let mut states: Vec<f64> = Vec::new();
    let mut blocks = Vec::with_capacity(instances.len());
    for (instance, ready) in instances.iter().zip(&prepared) {
        let declaration = instance.declaration();
        let begin = states.len();
        states.extend(declaration.states.iter().map(|s| start_value(instance, s.start)));
        states.extend(declaration.states.iter().map(|_| 0.0));
        states.extend(declaration.memory.iter().map(|m| start_value(instance, m.start)));
        if states.len().saturating_add(ready.history()) > MOST_HISTORY {
            problems.push(too_much_history(instance, ready.history() as f64, step));
            return None;
        }
        states.resize(states.len() + ready.history(), 0.0);
        blocks.push(begin..states.len());
    }

    let mut groups: Vec<RateGroup> = circuit
        .rates
        .iter()
        .map(|&divisor| RateGroup { divisor, ..RateGroup::default() })
        .collect();
    let entries: Vec<Entry> = instances
        .iter()
        .enumerate()
        .map(|(i, instance)| Entry {
            name: instance.name.clone(),
            declaration: instance.declaration(),
            bonds: bonds[i].clone().into(),
            places: places[i].clone(),
            inputs: inputs[i].clone(),
            outputs: outputs[i],
            written: outputs[i],
            states: blocks[i].start as u32,
            block: blocks[i].len() as u32,
            inserted: i >= own,
        })
        .collect();

    let order = connect_signals(
        circuit,
        &entries,
        &rates,
        &prepared,
        &mut inputs,
        &mut signals,
        &mut groups,
        problems,
    )?;
    let mut entries = entries;
    for (entry, inputs) in entries.iter_mut().zip(&inputs) {
        entry.inputs = inputs.clone();
    }

    // Outputs of C and Q are written aside and published with the next step.
    let mut written: Vec<usize> = outputs.iter().map(|&o| o as usize).collect();
    for (i, instance) in instances.iter().enumerate() {
        let declaration = instance.declaration();
        if convention == Convention::Fluxline
            && declaration.causality != Causality::S
            && !declaration.outputs.is_empty()
        {
            written[i] = signals.len();
            // A component without ports is a delay: what it hands on is what it shows.
            if !declaration.ports.is_empty() {
                entries[i].written = signals.len() as u32;
            }
            for o in 0..declaration.outputs.len() as u32 {
                groups[rates[i]].published.push((signals.len() as u32, outputs[i] + o));
                signals.push(0.0);
            }
        }
    }

    for (rate, junction) in junction_drafts {
        groups[rate].junctions.push(junction);
    }
    let mut is_slow_line = vec![false; domains.len()];
    for (i, instance) in instances.iter().enumerate() {
        if instance.declaration().causality == Causality::C && rates[i] == 0 {
            bonds[i].iter().for_each(|&b| is_slow_line[b as usize] = true);
        }
    }
    for (i, instance) in instances.iter().enumerate() {
        // Hopsan hands on what flowed last.
        let is_averaged = convention == Convention::Fluxline;
        if is_averaged && instance.declaration().causality == Causality::Q && rates[i] != 0 {
            let at_border = bonds[i].iter().filter(|&&b| is_slow_line[b as usize]);
            groups[rates[i]].borders.extend(at_border);
        }
    }

    let mut watch = Watch {
        store_bonds: circuit.rates.iter().map(|_| Vec::new()).collect(),
        boundary: circuit.rates.iter().map(|_| Vec::new()).collect(),
        ..Watch::default()
    };
    let mut thermal = circuit.fluids.iter().any(|f| f.carries_temperature).then(|| Thermal {
        passages: Vec::new(),
        pools: Vec::new(),
        fluids: circuit.fluids.clone(),
        volumes: Vec::new(),
    });
    let mut homes: HashMap<GroupKey, usize> = HashMap::new();
    let mut phases: Vec<[Vec<Box<dyn Group<f64>>>; 3]> =
        groups.iter().map(|_| Default::default()).collect();
    let mut sequence: Vec<usize> = (0..instances.len()).collect();
    sequence.sort_by_key(|&i| {
        (order[i], !prepared[i].begins_early(), instances[i].declaration().name, i)
    });
    let mut prepared: Vec<Option<Box<dyn Prepared>>> = prepared.into_iter().map(Some).collect();
    for i in sequence {
        let Some(mut ready) = prepared[i].take() else {
            continue;
        };
        let instance = instances[i];
        if instance.disabled {
            continue;
        }
        let declaration = instance.declaration();
        let (causality, rate) = (declaration.causality, rates[i]);
        let list = match causality {
            Causality::S => &mut phases[rate][0],
            Causality::C => &mut phases[rate][1],
            Causality::Q => &mut phases[rate][2],
        };
        let gates: Box<[u32]> = instance
            .gates
            .iter()
            .map(|gate| entries[gate.component].outputs + gate.output as u32)
            .collect();
        let key = (rate, causality, declaration.name, order[i], gates.clone());
        let home = *homes.entry(key).or_insert_with(|| {
            list.push(match gates.is_empty() {
                true => ready.new_group(),
                false => Box::new(Gated { group: ready.new_group(), gates }),
            });
            list.len() - 1
        });
        let outputs = written[i]..written[i] + declaration.outputs.len();
        let wiring = Wiring::new(i as u32, &bonds[i], &inputs[i], outputs, blocks[i].clone());
        let member = list[home].len();
        let (is_lumped, is_lossless) = (ready.is_lumped(), ready.is_lossless());
        let chambers = ready.chambers();
        if !ready.join(list[home].as_mut(), wiring) {
            let message =
                format!("`{}` is not wired as `{}` declares", instance.name, declaration.name);
            problems.push(
                Diagnostic::error(Code::WrongType, message).at_if(instance.span, "this component"),
            );
            return None;
        }

        let component = i as u32;
        let hydraulic: Box<[u32]> = bonds[i]
            .iter()
            .copied()
            .filter(|&b| domains[b as usize] == Domain::Hydraulic)
            .collect();
        if is_lumped && bonds[i].len() > 1 {
            watch.lumped.push((component, bonds[i].clone().into()));
        }
        for &(port, state) in chambers {
            let at = (blocks[i].start + state) as u32;
            watch.chambers.push((component, bonds[i][port], at));
        }
        // Types that keep to Hopsan's rules do not say what they hold, and lose oil where it
        // cavitates: there are no balances to judge.
        let role = match convention {
            Convention::Fluxline => ready.role(),
            Convention::Hopsan => BalanceRole::Through,
        };
        match role {
            BalanceRole::Storage => {
                watch.stores.push(Member {
                    component,
                    rate: rate as u32,
                    is_c: causality == Causality::C,
                    group: home as u32,
                    member: member as u32,
                    holds_oil: !hydraulic.is_empty(),
                });
                if causality == Causality::C && is_lossless {
                    let store = watch.stores.len() as u32 - 1;
                    watch.store_bonds[rate].push((store, bonds[i].clone().into()));
                }
            }
            BalanceRole::Boundary => {
                let sign = if causality == Causality::C { -1.0 } else { 1.0 };
                watch.boundary[rate].extend(hydraulic.iter().map(|&b| (b, sign)));
            }
            BalanceRole::Through => {}
        }
        let counters = blocks[i].start + 2 * declaration.states.len();
        for (m, memory) in declaration.memory.iter().enumerate() {
            if memory.counts != Counts::Nothing {
                watch.counters.push((component, (counters + m) as u32, memory.counts));
            }
        }
        if let Some(thermal) = &mut thermal
            && !hydraulic.is_empty()
        {
            let fluid = instance.fluid as u32;
            match causality {
                Causality::Q => thermal.passages.push(Passage {
                    shafts: bonds[i].iter().copied().filter(|b| !hydraulic.contains(b)).collect(),
                    bonds: hydraulic,
                    dissipates: declaration.states.is_empty()
                        && ready.role() == BalanceRole::Through,
                    fluid,
                }),
                Causality::C => {
                    let stores = ready.role() == BalanceRole::Storage && rate == 0;
                    let one =
                        declaration.ports.iter().filter(|p| p.domain == Domain::Hydraulic).count()
                            == 1;
                    let pools: Vec<Box<[u32]>> = if one {
                        vec![hydraulic]
                    } else {
                        hydraulic.iter().map(|&b| [b].into()).collect()
                    };
                    let share = pools.len() as f64;
                    for bonds in pools {
                        let store = stores.then_some((home as u32, member as u32, share));
                        thermal.pools.push(Pool { bonds, store, fluid });
                        thermal.volumes.push(0.0);
                    }
                }
                Causality::S => {}
            }
        }
    }

    for (rate, phases) in groups.iter_mut().zip(phases) {
        [rate.s, rate.c, rate.q] = phases.map(Phase::from);
    }

    // Open ends of Q-components: a vent for oil, free for everything else.
    let mut fluid_of_bond = vec![0usize; domains.len()];
    for (i, instance) in instances.iter().enumerate() {
        for &b in &bonds[i] {
            fluid_of_bond[b as usize] = instance.fluid;
        }
    }
    let carries = thermal.is_some();
    let temperature = |b: usize| circuit.fluids[fluid_of_bond[b]].temperature;
    let per_bond = |f: &dyn Fn(usize) -> f64| (0..domains.len()).map(f).collect::<Vec<f64>>();
    let mut blank = State {
        bonds: domains
            .iter()
            .map(|&domain| match convention {
                Convention::Fluxline if domain == Domain::Hydraulic => Bond::at_rest(ATMOSPHERE),
                Convention::Fluxline => Bond::at_rest(0.0),
                Convention::Hopsan => hopsan_node(domain),
            })
            .collect(),
        signals,
        states,
        viscosity: per_bond(&|b| {
            let fluid = &circuit.fluids[fluid_of_bond[b]];
            fluid.viscosity_at(fluid.temperature, ATMOSPHERE)
        }),
        line_temperature: if carries { per_bond(&temperature) } else { Vec::new() },
        delivered_temperature: if carries { per_bond(&temperature) } else { Vec::new() },
        time: circuit.run.start,
        step: 0,
        rest_steps: 0,
        faults: Default::default(),
    };
    for (i, instance) in instances.iter().enumerate() {
        for start in &instance.starts {
            match *start {
                StartValue::Output { output, value } => {
                    blank.signals[entries[i].outputs as usize + output] = value;
                    blank.signals[entries[i].written as usize + output] = value;
                }
                StartValue::Port { port, role, value } => {
                    let first = entries[i].first_bond(port);
                    for &bond in &bonds[i][first..first + places[i][port]] {
                        blank.bonds[bond as usize].start(role, value);
                    }
                }
            }
        }
    }
    let by_name = entries.iter().enumerate().map(|(i, e)| (e.name.clone(), i)).collect();
    let fingerprint = fingerprint(&entries, &blank);
    let mut plan = Plan {
        title: circuit.title.clone(),
        start: circuit.run.start,
        step,
        convention,
        rates: groups,
        thermal,
        variables: Variables {
            entries,
            by_name,
            carries_temperature: carries,
            convention,
            offers: offers(circuit),
        },
        watch,
        initial: blank.clone(),
        blank,
        fingerprint,
    };
    plan.initial = crate::start::start(&plan);
    if let Some(thermal) = &mut plan.thermal {
        thermal.measure(&plan.rates[0].c, &mut plan.initial);
    }
    Some(plan)
}

/// What sub-circuits offer, by name.
pub fn offers(circuit: &Circuit) -> HashMap<String, (usize, &'static str)> {
    circuit.offers.iter().map(|o| (o.name.clone(), (o.component, o.part))).collect()
}

/// What a node of Hopsan's holds when nothing says otherwise.
fn hopsan_node(domain: Domain) -> Bond<f64> {
    match domain {
        Domain::Hydraulic => Bond { displacement: 293.0, ..Bond::at_rest(1e5) },
        Domain::Pneumatic => Bond { dry: 293.0, ..Bond::at_rest(1e5) },
        Domain::Translational => Bond { dry: 1.0, ..Bond::at_rest(0.0) },
        _ => Bond::at_rest(0.0),
    }
}

/// Has a port for oil.
fn holds_oil(instance: &Instance) -> bool {
    instance.declaration().ports.iter().any(|p| p.domain == Domain::Hydraulic)
}

/// Start value of a state: a parameter's value or a quantity.
fn start_value(instance: &Instance, start: &str) -> f64 {
    if let Some(index) = instance.declaration().parameter(start) {
        return match instance.values[index] {
            Value::Number(x) => x,
            _ => 0.0,
        };
    }
    Quantity::parse(start).map_or(0.0, |q| q.value)
}

/// Wires inputs to what drives them, and sorts signal components. Returns each component's level.
#[allow(clippy::too_many_arguments, reason = "one pass over arrays that the plan owns separately")]
fn connect_signals(
    circuit: &Circuit,
    entries: &[Entry],
    rates: &[usize],
    prepared: &[Box<dyn Prepared>],
    inputs: &mut [Box<[u32]>],
    signals: &mut Vec<f64>,
    groups: &mut [RateGroup],
    problems: &mut Diagnostics,
) -> Option<Vec<u32>> {
    let mut edges = Vec::new();
    let mut edge_drives = Vec::new();
    let mut probes: BTreeMap<(usize, usize, usize, usize), u32> = BTreeMap::new();
    for (number, drive) in circuit.drives.iter().enumerate() {
        let (source, key, slot) = match drive.from {
            Source::Output { component, output } => {
                inputs[drive.component][drive.input] = entries[component].outputs + output as u32;
                let causality = |c: usize| entries[c].declaration.causality;
                let is_ordered = match circuit.run.convention {
                    Convention::Fluxline => {
                        causality(component) == Causality::S
                            && causality(drive.component) == Causality::S
                    }
                    // Outputs are read where they are written: order matters within each phase.
                    Convention::Hopsan => causality(component) == causality(drive.component),
                };
                if is_ordered && rates[component] == rates[drive.component] {
                    let may_break =
                        prepared[drive.component].no_feedthrough().contains(&drive.input);
                    edges.push(Edge { from: component, to: drive.component, may_break });
                    edge_drives.push(number);
                }
                continue;
            }
            Source::State { component, state } => {
                let at = Location::State(entries[component].states + state as u32);
                (component, (component, usize::MAX, state, 0), Slot { at, sign: 1.0 })
            }
            Source::Port { component, port, place, variable } => {
                let entry = &entries[component];
                let bond = entry.bonds[entry.first_bond(port) + place as usize - 1];
                let sign = match variable.role {
                    Role::Flow | Role::Displacement => entry.flow_sign(port),
                    _ => 1.0,
                };
                let key = (component, port, place as usize, variable.role as usize);
                (component, key, Slot { at: Location::Bond(bond, variable.role), sign })
            }
        };
        let rate = rates[drive.component].max(rates[source]);
        let signal = *probes.entry(key).or_insert_with(|| {
            signals.push(0.0);
            let signal = signals.len() as u32 - 1;
            groups[rate].probes.push((slot, signal));
            signal
        });
        inputs[drive.component][drive.input] = signal;
    }
    if circuit.run.convention == Convention::Hopsan {
        let phase = |n: usize| entries[n].declaration.causality;
        return match order::sweep(entries.len(), &edges, |n| phase(n) == Causality::S) {
            Ok(levels) => Some(levels),
            Err(walk) => {
                let name = |n: usize| entries[n].name.as_str();
                problems.push(loop_error(circuit, name, &walk, &edges, &edge_drives));
                None
            }
        };
    }
    match order::sort(entries.len(), &edges) {
        Order::Levels { mut levels, broken } => {
            for edge in broken {
                let drive = &circuit.drives[edge_drives[edge]];
                problems.push(
                    Diagnostic::warning(
                        Code::LoopBroken,
                        format!(
                            "a signal loop is opened at `{}`, which takes its input one step late",
                            entries[drive.component].name
                        ),
                    )
                    .at_if(drive.span, "opened here")
                    .help("none needed if a smaller step gives the same result"),
                );
            }
            // Levels order signals only; C and Q are grouped by type whatever drives them.
            for (level, entry) in levels.iter_mut().zip(entries) {
                if entry.declaration.causality != Causality::S {
                    *level = 0;
                }
            }
            Some(levels)
        }
        Order::Loop(walk) => {
            let name = |n: usize| entries[n].name.as_str();
            problems.push(loop_error(circuit, name, &walk, &edges, &edge_drives));
            None
        }
    }
}

/// The error for a loop of signals, with each step of the walk.
fn loop_error<'n>(
    circuit: &Circuit,
    name: impl Fn(usize) -> &'n str,
    walk: &[usize],
    edges: &[Edge],
    edge_drives: &[usize],
) -> Diagnostic {
    const SHOWN: usize = 12;
    let mut text: Vec<String> =
        walk.iter().take(SHOWN).map(|&n| format!("`{}`", name(n))).collect();
    if walk.len() > SHOWN {
        text.push(format!("… ({} more)", walk.len() - SHOWN));
    }
    text.extend(walk.first().map(|&n| format!("`{}`", name(n))));
    let mut problem = Diagnostic::error(
        Code::AlgebraicLoop,
        format!("signals depend on themselves: {}", text.join(" → ")),
    );
    let mut is_first = true;
    for (i, &from) in walk.iter().enumerate().take(SHOWN) {
        let to = walk[(i + 1) % walk.len()];
        let Some(edge) = edges.iter().position(|e| e.from == from && e.to == to) else {
            continue;
        };
        if let Some(span) = circuit.drives[edge_drives[edge]].span {
            let label = format!("`{}` needs `{}`", name(to), name(from));
            problem = if is_first { problem.at(span, label) } else { problem.also(span, label) };
            is_first = false;
        }
    }
    problem.help("open the loop with a `signal.unit_delay`, a lag or an integrator")
}

/// A number that changes when the layout does.
fn fingerprint(entries: &[Entry], blank: &State<f64>) -> u64 {
    // FNV-1a: small, stable over versions of the standard library.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for entry in entries {
        add(entry.name.as_bytes());
        add(entry.declaration.name.as_bytes());
        add(&entry.states.to_le_bytes());
        for bond in &entry.bonds {
            add(&bond.to_le_bytes());
        }
    }
    for size in
        [blank.bonds.len(), blank.signals.len(), blank.states.len(), blank.line_temperature.len()]
    {
        add(&(size as u64).to_le_bytes());
    }
    hash
}
