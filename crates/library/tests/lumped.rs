//! Every component of the library as solvers of the lumped view see it: laws that write all they
//! should, exact slopes, events where signals bend, stops that settle, and the same physics as the
//! wave method has where steps are short and line ends hard.

use fluxline_core::component::{
    Clock, ComponentType, Environment, Filter, Group, Law, Refusal, Settle, Wiring,
};
use fluxline_core::declare::{Causality, Counts, Declaration, Kind, Parameter, Value};
use fluxline_core::dependence::Dependence;
use fluxline_core::domain::Domain;
use fluxline_core::fluid::Fluid;
use fluxline_core::gradient::Gradient;
use fluxline_core::lumped::{Evaluate, Lumped};
use fluxline_core::state::{Bond, State};
use fluxline_core::table::Table;
use fluxline_core::testing::Noise;
use fluxline_core::values::{Rule, Rules};
use fluxline_library::registry;
use fluxline_units::Quantity;
use std::collections::BTreeSet;
use std::sync::Arc;

const STEP: f64 = 1e-4;

/// What a type needs beside its defaults.
fn needed(declaration: &Declaration, parameter: &str) -> Option<Value> {
    let curve = |knots: &[f64], rows: &[f64], values: &[f64]| {
        let (knots, rows, values) = (knots.to_vec(), rows.to_vec(), values.to_vec());
        Value::Table(Arc::new(Table { knots, rows, values }))
    };
    Some(match (declaration.name, parameter) {
        ("signal.delay", "delay") => Value::Number(1e-4),
        ("signal.first_order", "time_constant") => Value::Number(0.01),
        ("signal.random_levels", "levels") => Value::Number(1000.0),
        ("signal.table", "table") => curve(&[0.1, 0.4, 0.4, 1.0], &[], &[1.0, -2.0, 3.0, 0.5]),
        ("signal.lookup", "table") => curve(&[-2.0, 0.3, 2.0], &[], &[1.0, -2.0, 3.0]),
        ("signal.lookup_2d", "table") => curve(&[-2.0, 2.0], &[-2.0, 2.0], &[1.0, -2.0, 3.0, 0.5]),
        ("signal.transfer_function", "numerator") => Value::List(vec![2.0, 1.0]),
        ("signal.transfer_function", "denominator") => Value::List(vec![1e-2, 0.1, 1.0]),
        ("hydraulic.relief_valve_spool", "mass") => Value::Number(0.05),
        (name, "nominal_flow") if name.starts_with("hydraulic.valve_") => Value::Number(1e-3),
        (_, "flow_coefficient") => Value::Number(4e-7),
        (_, "coulomb_friction") => Value::Number(100.0),
        _ => return None,
    })
}

/// A component alone.
struct Alone {
    declaration: &'static Declaration,
    what: String,
    group: Box<dyn Group<f64>>,
    lumped: Box<dyn Lumped>,
    domains: Vec<Domain>,
    state: State<f64>,
    step: f64,
}

impl Alone {
    fn new(kind: ComponentType, values: &[Value], step: f64) -> Result<Self, Refusal> {
        let declaration = kind.declaration;
        let mut domains: Vec<Domain> = declaration.ports.iter().map(|p| p.domain).collect();
        let mut places = vec![1; domains.len()];
        if declaration.ports.last().is_some_and(|port| port.many) {
            domains.push(domains[domains.len() - 1]);
            if let Some(last) = places.last_mut() {
                *last += 1;
            }
        }
        let fluid = Fluid::default();
        let mut ready = (kind.build)(values)
            .unwrap_or_else(|| panic!("{}: not its values", declaration.name))
            .prepare(&Environment {
                step,
                fluid: &fluid,
                start_pressure: 5e6,
                bonds: domains.len(),
                places: &places,
                filter: Filter::None,
                driven: &[],
            })?;
        let start = |start: &str| match declaration.parameter(start).map(|index| &values[index]) {
            Some(Value::Number(x)) => *x,
            Some(_) => 0.0,
            None => Quantity::parse(start).map_or(0.0, |q| q.value),
        };
        let mut states: Vec<f64> = declaration.states.iter().map(|s| start(s.start)).collect();
        states.extend(declaration.states.iter().map(|_| 0.0));
        states.extend(declaration.memory.iter().map(|m| start(m.start)));
        states.resize(states.len() + ready.history(), 0.0);
        let inputs = declaration.input_count();
        let mut signals: Vec<f64> = declaration
            .inputs()
            .map(|(index, _)| if let Value::Number(x) = values[index] { x } else { 0.0 })
            .collect();
        signals.resize(inputs + declaration.outputs.len(), 0.0);
        let [ports, places]: [Vec<u32>; 2] =
            [domains.len(), inputs].map(|n| (0..n as u32).collect());
        let wiring = Wiring::new(0, &ports, &places, inputs..signals.len(), 0..states.len());
        let mut group = ready.new_group();
        assert!(ready.join(group.as_mut(), wiring));
        let state = State {
            bonds: vec![Bond::at_rest(0.0); domains.len()],
            signals,
            states,
            viscosity: vec![fluid.viscosity; domains.len()],
            line_temperature: Vec::new(),
            delivered_temperature: Vec::new(),
            time: 0.0,
            step: 0,
            rest_steps: 0,
            faults: Default::default(),
        };
        let lumped = group.lumped(0);
        let what = declaration.name.to_owned();
        Ok(Self { declaration, what, group, lumped, domains, state, step })
    }

    fn is_c(&self) -> bool {
        self.declaration.causality == Causality::C
    }

    /// Inputs as the parameters say, scattered.
    fn point(&self, noise: &mut Noise) -> Point {
        let of_domain = |noise: &mut Noise, domain: &Domain| match domain {
            Domain::Hydraulic => [noise.between(1e6, 3e7), noise.between(-1e-3, 1e-3), 0.0],
            Domain::Translational => {
                let name = self.declaration.name;
                let way = if name.contains("cylinder") { -1.0 } else { 1.0 };
                [noise.between(-1e4, 1e4), noise.between(-1.0, 1.0), way * noise.between(0.01, 0.4)]
            }
            _ => {
                [noise.between(-100.0, 100.0), noise.between(-50.0, 50.0), noise.between(0.0, 2.0)]
            }
        };
        let bonds: Vec<[f64; 3]> = self.domains.iter().map(|d| of_domain(noise, d)).collect();
        let state = self.declaration.states.iter().map(|s| match (s.unit, s.name) {
            (_, "z" | "bristle_deflection") => noise.between(-1e-5, 1e-5),
            (_, "oil_volume") => noise.between(1e-5, 1e-4),
            (_, "angle") => noise.between(-2.0, 2.0),
            ("Pa", _) => noise.between(1e6, 3e7),
            ("m", "lift") => noise.between(1e-5, 1e-3),
            // within its stroke
            ("m", "x") if self.declaration.name == "hydraulic.piston" => noise.between(0.01, 0.2),
            ("m", _) => noise.between(-0.2, 0.2),
            ("m^3/(s*sqrt(Pa))", _) => noise.between(1e-7, 9e-7),
            ("m^3/(s^2*sqrt(Pa))", _) => noise.between(-1e-6, 1e-6),
            ("N" | "N*m", _) => noise.between(-80.0, 80.0),
            _ => noise.between(0.05, 0.95),
        });
        Point {
            state: state.collect(),
            effort: bonds.iter().map(|b| b[0]).collect(),
            flow: bonds.iter().map(|b| b[1]).collect(),
            displacement: bonds.iter().map(|b| b[2]).collect(),
            input: self.state.signals[..self.declaration.input_count()]
                .iter()
                .map(|&x| if x == 0.0 { 1.0 } else { x } * noise.between(0.3, 0.9))
                .collect(),
            memory: self.state.states[2 * self.declaration.states.len()..]
                [..self.declaration.memory.len()]
                .to_vec(),
            time: noise.between(0.0, 1.0),
        }
    }

    /// The law at a point; what it does not write is not a number.
    fn law<T: Evaluate>(&self, point: &Point, lift: impl Fn(Source, f64) -> T) -> Written<T> {
        let all = |source: fn(usize) -> Source, x: &[f64]| -> Vec<T> {
            x.iter().enumerate().map(|(i, &x)| lift(source(i), x)).collect()
        };
        let unwritten = |n: usize| vec![T::of(f64::NAN); n];
        let (bonds, is_c) = (self.domains.len(), self.is_c());
        let reads_all = self.declaration.causality == Causality::S;
        let reads_flow = is_c || reads_all;
        let mut w = Written {
            effort: if is_c { unwritten(bonds) } else { all(Source::Effort, &point.effort) },
            flow: if reads_flow { all(Source::Flow, &point.flow) } else { unwritten(bonds) },
            displacement: if reads_flow {
                all(Source::Displacement, &point.displacement)
            } else {
                unwritten(bonds)
            },
            rate: unwritten(point.state.len()),
            output: unwritten(self.declaration.outputs.len()),
        };
        T::evaluate(
            self.lumped.as_ref(),
            &mut Law {
                effort: &mut w.effort,
                flow: &mut w.flow,
                displacement: &mut w.displacement,
                state: &all(Source::State, &point.state),
                rate: &mut w.rate,
                memory: &all(Source::Memory, &point.memory),
                input: &all(Source::Input, &point.input),
                output: &mut w.output,
                viscosity: &vec![
                    T::of(self.state.viscosity.first().copied().unwrap_or(0.0));
                    bonds
                ],
                time: point.time.into(),
            },
        );
        w
    }

    fn values(&self, point: &Point) -> Written<f64> {
        self.law(point, |_, x| x)
    }

    /// What the law gives, with names.
    fn results<T: Copy>(&self, w: &Written<T>) -> Vec<(String, T)> {
        let d = self.declaration;
        let mut all = Vec::new();
        all.extend(d.states.iter().zip(&w.rate).map(|(s, &r)| (format!("rate of {}", s.name), r)));
        all.extend(d.outputs.iter().zip(&w.output).map(|(o, &x)| (o.name.to_owned(), x)));
        for i in 0..self.domains.len() {
            match d.causality {
                Causality::C => all.push((format!("effort {i}"), w.effort[i])),
                Causality::Q => {
                    all.push((format!("flow {i}"), w.flow[i]));
                    if self.domains[i].is_mechanical() {
                        all.push((format!("displacement {i}"), w.displacement[i]));
                    }
                }
                Causality::S => {}
            }
        }
        all
    }

    fn with_settle(&self, point: &mut Point, f: impl FnOnce(&dyn Lumped, &mut Settle<'_>)) {
        let w = self.values(point);
        let settle = &mut Settle {
            state: &mut point.state,
            memory: &mut point.memory,
            effort: &w.effort,
            flow: &w.flow,
            displacement: &w.displacement,
            input: &point.input,
            output: &w.output,
            time: point.time,
        };
        f(self.lumped.as_ref(), settle);
    }

    /// Settles a point, if there is anything to settle.
    fn settle(&self, point: &mut Point) {
        self.with_settle(point, |law, settle| {
            if law.settles() {
                law.settle(settle);
            }
        });
    }

    /// Renews what results show.
    fn show(&self, point: &mut Point) {
        self.with_settle(point, |law, settle| law.show(settle));
    }
}

#[derive(Clone, Debug)]
struct Point {
    state: Vec<f64>,
    effort: Vec<f64>,
    flow: Vec<f64>,
    displacement: Vec<f64>,
    input: Vec<f64>,
    memory: Vec<f64>,
    time: f64,
}

impl Point {
    fn at(&mut self, source: Source) -> &mut f64 {
        match source {
            Source::State(i) => &mut self.state[i],
            Source::Effort(i) => &mut self.effort[i],
            Source::Flow(i) => &mut self.flow[i],
            Source::Displacement(i) => &mut self.displacement[i],
            Source::Input(i) => &mut self.input[i],
            Source::Memory(i) => &mut self.memory[i],
        }
    }

    fn sources(&self) -> Vec<Source> {
        let states = (0..self.state.len()).map(Source::State);
        let inputs = (0..self.input.len()).map(Source::Input);
        let ports = (0..self.effort.len())
            .flat_map(|i| [Source::Effort(i), Source::Flow(i), Source::Displacement(i)]);
        states.chain(inputs).chain(ports).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    State(usize),
    Effort(usize),
    Flow(usize),
    Displacement(usize),
    Input(usize),
    Memory(usize),
}

struct Written<T> {
    effort: Vec<T>,
    flow: Vec<T>,
    displacement: Vec<T>,
    rate: Vec<T>,
    output: Vec<T>,
}

/// The least values of a type.
fn minimal(kind: ComponentType) -> Vec<Value> {
    let rules = Rules::of(kind.declaration).unwrap();
    let parameters = kind.declaration.parameters.iter().zip(rules.parameters);
    let value = |(p, rule): (&Parameter, Rule)| match needed(kind.declaration, p.name) {
        Some(value) => value,
        None if p.required() && matches!(p.kind, Kind::Choice(_)) => Value::Choice(0),
        None if p.required() => Value::Number(0.5),
        None => rule.default,
    };
    parameters.map(value).collect()
}

fn build(name: &str, given: &[(&str, Value)], step: f64) -> Alone {
    let kind = registry().get(name).unwrap();
    let mut values = minimal(kind);
    for (parameter, value) in given {
        values[kind.declaration.parameter(parameter).unwrap()] = value.clone();
    }
    Alone::new(kind, &values, step).unwrap()
}

/// Every type with its least values, and with each of its words and switches turned in turn; lines
/// also short.
fn every_variant(step: f64) -> Vec<Alone> {
    let mut all = Vec::new();
    for &kind in registry().types() {
        let d = kind.declaration;
        let values = minimal(kind);
        all.push(Alone::new(kind, &values, step).unwrap_or_else(|e| panic!("{}: {e:?}", d.name)));
        for (i, p) in d.parameters.iter().enumerate() {
            let others: Vec<Value> = match (p.kind, p.name) {
                (Kind::Choice(words), _) => (0..words.len()).map(Value::Choice).collect(),
                (Kind::Switch, _) => vec![Value::Switch(true), Value::Switch(false)],
                (_, "cushion_length") => vec![Value::Number(0.1)],
                (_, "leakage" | "leakage_a") => vec![Value::Number(1e-12)],
                (_, "differential") => vec![Value::Number(2e6)],
                (_, "chamber_volume") => vec![Value::Number(1e-6)],
                (_, "max_rate") => vec![Value::Number(3.0)],
                (_, "inlet_diameter") => vec![Value::Number(5e-3)],
                (_, "length") => vec![Value::Number(1e-3)],
                (_, "margin" | "bypass_pressure") => vec![Value::Number(2e6)],
                (_, "hydromechanical_efficiency" | "volumetric_efficiency") => {
                    vec![Value::Number(0.9)]
                }
                (_, "time_constant") => vec![Value::Number(0.02)],
                _ => Vec::new(),
            };
            for other in others {
                let mut values = values.clone();
                let text = format!("{} with {} = {other:?}", d.name, p.name);
                values[i] = other;
                // Some words need numbers of their own.
                if let Ok(mut alone) = Alone::new(kind, &values, step) {
                    alone.what = text;
                    all.push(alone);
                }
            }
        }
    }
    assert!(all.len() > 250, "{}", all.len());
    all
}

#[test]
fn a_law_writes_all_rates_outputs_and_port_variables_and_they_are_finite() {
    let mut noise = Noise::new(3);
    for alone in every_variant(STEP) {
        assert!(alone.lumped.has_law());
        for _ in 0..20 {
            let point = alone.point(&mut noise);
            for (name, x) in alone.results(&alone.values(&point)) {
                assert!(x.is_finite(), "{}: {name} is {x} at {point:?}", alone.what);
            }
        }
    }
}

/// The error of a central difference is told by that of twice the distance: it falls with the square,
/// so it is a third of what they differ by. Rounding adds ε·|f| over the distance.
#[test]
fn slopes_of_laws_are_those_of_central_differences() {
    let mut noise = Noise::new(5);
    let mut compared = 0;
    for alone in every_variant(STEP) {
        for _ in 0..4 {
            let point = alone.point(&mut noise);
            let values = alone.results(&alone.values(&point));
            for source in point.sources() {
                let exact = alone.results(&alone.law(&point, |which, x| {
                    let mut g = Gradient::constant(x);
                    g.slope[1] = f64::from(u8::from(which == source));
                    g
                }));
                let x = *point.clone().at(source);
                let distance = if x == 0.0 { 1e-8 } else { 1e-5 * x.abs() };
                let at = |shift: f64| {
                    let mut moved = point.clone();
                    *moved.at(source) = x + shift;
                    alone.results(&alone.values(&moved))
                };
                let [far_below, below, above, far_above] =
                    [-2.0, -1.0, 1.0, 2.0].map(|n| at(n * distance));
                for (i, (name, exact)) in exact.iter().enumerate() {
                    assert_eq!(exact.value, values[i].1, "{}: {name}", alone.what);
                    let near = (above[i].1 - below[i].1) / (2.0 * distance);
                    let far = (far_above[i].1 - far_below[i].1) / (4.0 * distance);
                    // Terms that cancel in a result may be a hundred times as large as it is.
                    let size = above[i].1.abs() + below[i].1.abs();
                    let rounding = 100.0 * f64::EPSILON * size / distance;
                    let tolerance = (near - far).abs() + rounding + 1e-9 * near.abs();
                    let difference = (exact.slope[1] - near).abs();
                    assert!(
                        difference <= tolerance,
                        "{}: {name} by {source:?}: {} and {near} ± {tolerance} at {point:?}",
                        alone.what,
                        exact.slope[1]
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn settling_twice_is_settling_once() {
    let mut noise = Noise::new(7);
    for alone in every_variant(STEP) {
        let d = alone.declaration;
        for _ in 0..20 {
            let mut point = alone.point(&mut noise);
            for state in &mut point.state {
                *state *= noise.between(-3.0, 3.0);
            }
            for input in &mut point.input {
                *input *= noise.between(-3.0, 3.0);
            }
            alone.settle(&mut point);
            let once = point.clone();
            alone.settle(&mut point);
            assert_eq!(once.state, point.state, "{}", alone.what);
            for (i, m) in d.memory.iter().enumerate() {
                let counts = m.counts != Counts::Nothing;
                assert!(
                    counts || once.memory[i] == point.memory[i],
                    "{}: {} is {} and then {}",
                    alone.what,
                    m.name,
                    once.memory[i],
                    point.memory[i]
                );
            }
        }
    }
}

/// Small steps out of a settled point and back: what is held does not creep, whatever pushes.
#[test]
fn states_at_a_stop_stay_there_while_pushed() {
    // name, parameter, state, its stop and the way out, input and what it pushes with
    let held = [
        ("signal.integrator", Some(("maximum", 2.0)), 0, 2.0, 1.0, (0, 1.0)),
        ("signal.first_order", Some(("maximum", 2.0)), 0, 2.0, 1.0, (0, 9.0)),
        ("signal.second_order", Some(("minimum", -2.0)), 0, -2.0, -1.0, (0, -9.0)),
        ("translational.mass", Some(("max_position", 0.5)), 0, 0.5, 1.0, (0, -1e6)),
        ("rotational.inertia", Some(("min_angle", -0.5)), 0, -0.5, -1.0, (0, 1e6)),
        ("hydraulic.valve_4_3", Some(("damping", 0.7)), 0, 1.0, 1.0, (0, 5.0)),
        ("hydraulic.valve_2_2", Some(("hysteresis", 0.1)), 0, 0.0, -1.0, (0, -5.0)),
        ("hydraulic.relief_valve_spool", None, 0, 0.0, -1.0, (0, 1e9)),
        ("hydraulic.flow_control_valve", None, 2, 1e-7, -1.0, (0, -5.0)),
        ("hydraulic.piston", None, 0, 0.0, -1.0, (0, 1e9)),
        ("hydraulic.section_compensator", None, 0, 0.0, -1.0, (0, 0.0)),
        ("hydraulic.pressure_compensated_pump", None, 0, 0.0, -1.0, (1, 0.0)),
        ("rotational.clutch", None, 0, 100.0, 1.0, (0, 1.0)),
    ];
    for (name, parameter, state, stop, way, (input, push)) in held {
        let given: Vec<_> =
            parameter.map(|(name, x)| (name, Value::Number(x))).into_iter().collect();
        let alone = build(name, &given, STEP);
        let mut point = alone.point(&mut Noise::new(1));
        point.state.fill(0.0);
        point.flow.fill(1.0);
        if name != "hydraulic.pressure_compensated_pump" {
            point.input.fill(0.0);
        }
        point.input[input] = push;
        for past in [0.0, 1e-3 * f64::abs(stop).max(1e-8)] {
            point.state[state] = stop + way * past;
            for n in 0..3 {
                let rate = alone.values(&point).rate;
                assert_eq!(rate[state], 0.0, "{name}, {past}, {n}");
                for (x, rate) in point.state.iter_mut().zip(rate) {
                    *x += rate * 1e-5;
                }
                alone.settle(&mut point);
                assert_eq!(point.state[state], stop, "{name}, {past}, {n}");
            }
        }
    }
}

/// Results may show more than the law reads, but showing it changes nothing.
#[test]
fn what_is_shown_changes_no_law() {
    let mut noise = Noise::new(9);
    for alone in every_variant(STEP) {
        for _ in 0..10 {
            let mut point = alone.point(&mut noise);
            for input in &mut point.input {
                *input *= noise.between(-3.0, 3.0);
            }
            let before = alone.results(&alone.values(&point));
            alone.show(&mut point);
            let after = alone.results(&alone.values(&point));
            assert_eq!(before, after, "{}", alone.what);
            let once = point.clone();
            alone.show(&mut point);
            assert_eq!(once.state, point.state, "{}", alone.what);
        }
    }
}

const PIECEWISE_LINEAR: &[&str] = &[
    "signal.step",
    "signal.ramp",
    "signal.pulse",
    "signal.pulse_train",
    "signal.square",
    "signal.triangle",
    "signal.random_levels",
    "signal.noise",
    "signal.table",
];
const CURVED: &[&str] = &["signal.soft_step", "signal.sine", "signal.chirp"];

/// The output of a source at a time, with its inputs as the parameters say.
fn output_at(alone: &Alone, time: f64) -> f64 {
    let input = alone.state.signals[..alone.declaration.input_count()].to_vec();
    let memory = vec![0.0; alone.declaration.memory.len()];
    let state = vec![0.0; alone.declaration.states.len()];
    let none = Vec::new;
    let point =
        Point { state, effort: none(), flow: none(), displacement: none(), input, memory, time };
    alone.values(&point).output[0]
}

/// Value, slope and curvature at `time` from one side: `way` is −1 or 1, points are `d` apart.
fn jet(alone: &Alone, time: f64, way: f64, d: f64) -> [f64; 3] {
    // A hair inside: within 10⁻¹² of an event it counts as reached.
    let from = time + way * (1e-11 * time.abs() + 1e-300);
    let [a, b, c] = [0.0, 1.0, 2.0].map(|n| output_at(alone, from + way * n * d));
    [a, way * (4.0 * b - 3.0 * a - c) / (2.0 * d), (a - 2.0 * b + c) / (d * d)]
}

#[test]
fn sources_jump_or_bend_at_their_events_and_nowhere_else() {
    let mut with_events = BTreeSet::new();
    let early = |name: &str, given: &[(&str, Value)]| build(name, given, STEP);
    let mut sources: Vec<Alone> = registry()
        .types()
        .iter()
        .map(|kind| Alone::new(*kind, &minimal(*kind), STEP).unwrap())
        .collect();
    let (yes, hold) = (Value::Switch(true), Value::Choice(1));
    sources.push(early("signal.table", &[("repeat", yes.clone())]));
    sources
        .push(early("signal.table", &[("between", hold.clone()), ("start", Value::Number(0.3))]));
    sources.push(early("signal.table", &[("between", hold), ("repeat", yes)]));
    sources.push(early(
        "signal.square",
        &[("start", Value::Number(0.7)), ("frequency", Value::Number(3.0))],
    ));
    sources.push(early(
        "signal.triangle",
        &[("start", Value::Number(0.1)), ("frequency", Value::Number(7.0))],
    ));
    sources.push(early(
        "signal.pulse_train",
        &[
            ("start", Value::Number(0.1)),
            ("period", Value::Number(0.3)),
            ("duty", Value::Number(0.2)),
        ],
    ));
    sources.push(early(
        "signal.random_levels",
        &[("period", Value::Number(0.3)), ("levels", Value::Number(1000.0))],
    ));
    for alone in &sources {
        let name = alone.declaration.name;
        let mut time = -0.05;
        for _ in 0..40 {
            let event = alone.lumped.next_event(time);
            let until = if event.is_finite() { event } else { time + 3.0 };
            assert!(event > time, "{name}: {event} after {time}");
            if PIECEWISE_LINEAR.contains(&name) {
                // Straight from event to event: nothing was left out.
                let at = |share: f64| output_at(alone, time + (until - time) * share);
                for share in [0.001, 0.1, 0.3, 0.5, 0.7, 0.9] {
                    let (a, b, c) = (at(share), at(share + 0.045), at(share + 0.09));
                    let rounding = 1e-10 * (1.0 + a.abs() + c.abs());
                    assert!((a - 2.0 * b + c).abs() < rounding, "{name} after {time}");
                }
            }
            if !event.is_finite() {
                break;
            }
            with_events.insert(name);
            let gap = (alone.lumped.next_event(event) - event).min(event - time).min(1.0);
            let d = gap * 1e-3;
            let (before, after) = (jet(alone, event, -1.0, d), jet(alone, event, 1.0, d));
            let change: [f64; 3] = std::array::from_fn(|i| (after[i] - before[i]).abs());
            // Errors of the one-sided formulas: of second order in d for the slope, of first for
            // the curvature, both by the third derivative, which is below (2π·0.2 Hz)³ for the
            // curves here (the chirp starts slowly and is left aside at its end).
            assert!(
                change[0] > 1e-6 || change[1] > 1e-3 || change[2] > 0.05,
                "{name} at {event}: {before:?} and {after:?}"
            );
            time = event;
        }
    }
    let expected: BTreeSet<&str> = PIECEWISE_LINEAR.iter().chain(CURVED).copied().collect();
    assert_eq!(with_events, expected);
}

#[test]
fn an_event_is_not_met_again_a_rounding_later() {
    for name in PIECEWISE_LINEAR.iter().chain(CURVED) {
        let start = [("start", Value::Number(0.4))];
        let has_start = registry().get(name).unwrap().declaration.parameter("start").is_some();
        let alone = build(name, if has_start { &start } else { &[] }, STEP);
        let event = alone.lumped.next_event(0.0);
        for near in [event.next_down(), event, event.next_up()] {
            assert!(alone.lumped.next_event(near) > event.next_up(), "{name}");
            // The value is that of the other side already.
            let change = output_at(&alone, near) - output_at(&alone, event);
            assert!(change.abs() < 1e-12, "{name}");
        }
    }
}

#[test]
fn only_what_remembers_or_delays_advances_in_main_steps() {
    let discrete: BTreeSet<&str> = registry()
        .types()
        .iter()
        .map(|kind| Alone::new(*kind, &minimal(*kind), STEP).unwrap())
        .filter(|alone| alone.lumped.is_discrete())
        .map(|alone| alone.declaration.name)
        .collect();
    let expected = [
        "hydraulic.hose",
        "hydraulic.line",
        "signal.counter",
        "signal.delay",
        "signal.edge",
        "signal.hysteresis",
        "signal.latch",
        "signal.one_shot",
        "signal.rate_limit",
        "signal.relay",
        "signal.sample_hold",
        "signal.timer",
        "signal.unit_delay",
    ];
    assert_eq!(discrete, expected.into());
    // A wave takes 0.07 µs through 0.1 mm.
    let short = [("length", Value::Number(1e-4))];
    assert!(!build("hydraulic.line", &short, STEP).lumped.is_discrete());
    assert!(!build("hydraulic.hose", &short, STEP).lumped.is_discrete());
    let slow = [("length", Value::Number(1e-4)), ("slow_part", Value::Number(0.3))];
    assert!(build("hydraulic.hose", &slow, STEP).lumped.is_discrete());
}

#[test]
fn laws_read_only_memory_that_settling_renews() {
    let mut reading = BTreeSet::new();
    let mut noise = Noise::new(2);
    for alone in every_variant(STEP).into_iter().filter(|alone| !alone.lumped.is_discrete()) {
        let point = alone.point(&mut noise);
        let written = alone.law(&point, |source, x| match source {
            Source::Memory(i) => Dependence::source(x, i),
            _ => Dependence::source(x, 100),
        });
        for (i, memory) in alone.declaration.memory.iter().enumerate() {
            if alone.results(&written).iter().any(|(_, x)| x.on(i)) {
                reading.insert(memory.name);
            }
        }
    }
    assert_eq!(reading, BTreeSet::from(["command", "held", "latched"]));
}

/// dp/dt = β/V·q: the volume told is the one that the law has. β of the standard oil is constant.
#[test]
fn volumes_are_those_of_the_laws() {
    let mut names = BTreeSet::new();
    let mut noise = Noise::new(4);
    for alone in every_variant(STEP).into_iter().filter(|alone| !alone.lumped.is_discrete()) {
        for (state, volume) in alone.lumped.volumes() {
            assert!(alone.is_c() || alone.declaration.name == "hydraulic.flow_control_valve");
            names.insert(alone.declaration.name);
            if alone.declaration.name.ends_with("hose") || !alone.is_c() {
                continue;
            }
            let mut point = alone.point(&mut noise);
            if let Some(rod) = point.displacement.get_mut(2) {
                *rod = 0.0;
            }
            point.displacement[1] = 0.0;
            let written = alone.law(&point, |source, x| {
                let mut g = Gradient::constant(x);
                g.slope[0] = f64::from(u8::from(source == Source::Flow(state)));
                g
            });
            let expected = Fluid::default().bulk_modulus / volume;
            assert!(
                (written.rate[state].slope[0] / expected - 1.0).abs() < 1e-12,
                "{}",
                alone.what
            );
        }
    }
    let expected = [
        "hydraulic.cylinder",
        "hydraulic.double_rod_cylinder",
        "hydraulic.flow_control_valve",
        "hydraulic.hose",
        "hydraulic.line",
        "hydraulic.single_acting_cylinder",
        "hydraulic.volume",
    ];
    assert_eq!(names, expected.into());
    let valve =
        build("hydraulic.flow_control_valve", &[("chamber_volume", Value::Number(3e-6))], STEP);
    assert_eq!(valve.lumped.volumes(), [(0, 3e-6)]);
    assert!(build("hydraulic.flow_control_valve", &[], STEP).lumped.volumes().is_empty());
}

/// Oil drawn out of a volume at the vapour pressure leaves a cavity of its size, and the same oil
/// fills it: pressure is where it was. The rate is constant, so steps of any length are exact.
#[test]
fn a_cavity_is_as_large_as_what_was_drawn_and_no_oil_is_lost() {
    let oil = Fluid::default();
    let short = [("length", Value::Number(1e-4))];
    for (name, given) in
        [("hydraulic.volume", &[][..]), ("hydraulic.line", &short), ("hydraulic.cylinder", &[])]
    {
        let alone = build(name, given, STEP);
        let mut point = alone.point(&mut Noise::new(1));
        let is_cylinder = name == "hydraulic.cylinder";
        point.flow.fill(0.0);
        point.displacement.fill(0.0);
        let volume = alone.lumped.volumes()[0].1;
        point.state[0] = oil.vapour_pressure;
        let drawn = 1e-4 * volume;
        let run = |point: &mut Point, flow: f64| {
            point.flow[0] = flow;
            for _ in 0..10 {
                let written = alone.values(point);
                assert_eq!(written.effort[0], oil.vapour_pressure, "{name}");
                point.state[0] += written.rate[0] * 0.1;
            }
        };
        run(&mut point, -drawn);
        let missing = (oil.vapour_pressure - point.state[0]) * volume / oil.bulk_modulus;
        assert!((missing / drawn - 1.0).abs() < 1e-12, "{name}");
        alone.show(&mut point);
        let (cavity, count) = if is_cylinder { (None, 0) } else { (Some(0), 1) };
        assert_eq!(point.memory[count], 1.0, "{name}");
        if let Some(cavity) = cavity {
            assert!((point.memory[cavity] / drawn - 1.0).abs() < 1e-12, "{name}");
        }
        run(&mut point, drawn);
        // ten roundings of the pressure that stands for the cavity
        let rounding = 20.0 * f64::EPSILON * 1e-4 * oil.bulk_modulus;
        assert!((point.state[0] - oil.vapour_pressure).abs() < rounding, "{name}");
        point.state[0] = 2e5;
        assert_eq!(alone.values(&point).effort[0], 2e5, "{name}");
    }
}

/// g·clamp(v/v₀): the acceleration changes by no more than g·δ/(v₀·m) between v = 0 and v = δ, and a
/// force below g leaves a creep of v₀·F/g.
#[test]
fn dry_friction_is_continuous_in_velocity_and_holds_a_body() {
    let alone = build("translational.mass", &[("friction", Value::Choice(1))], STEP);
    let (mass, friction, force, stick) = (100.0, 100.0, 60.0, 1e-5);
    let mut point = alone.point(&mut Noise::new(1));
    (point.state, point.effort, point.input) = (vec![0.0; 3], vec![force, 0.0], vec![0.0]);
    let mut acceleration = |v: f64| {
        point.state[1] = v;
        alone.values(&point).rate[1]
    };
    for delta in [1e-12, 1e-9, -1e-12] {
        let change = acceleration(delta) - acceleration(0.0);
        let expected = -friction * delta / (stick * mass);
        assert!((change - expected).abs() <= 1e-12 * force / mass);
    }
    let creep = stick * force / friction;
    assert!(acceleration(creep).abs() < 1e-12);
    assert!(acceleration(creep * 1.01) < 0.0 && acceleration(creep * 0.99) > 0.0);
    assert_eq!(acceleration(1.0), (force - friction) / mass);
    // After the step the friction that held it holds it at rest: F = g·share.
    point.state[1] = creep;
    alone.settle(&mut point);
    let share = point.memory[1];
    assert!((share - force / friction).abs() < 1e-12, "{share}");
    let mut acceleration = |v: f64, force: f64| {
        (point.state[1], point.effort[0]) = (v, force);
        alone.values(&point).rate[1]
    };
    assert!(acceleration(0.0, force).abs() < 1e-12);
    // What changes of the load creeps, and no more than the amplitude ever holds.
    assert!((acceleration(0.0, 70.0) - 10.0 / mass).abs() < 1e-12);
    assert!(acceleration(1e-6, 70.0).abs() < 1e-12);
    assert!((acceleration(1e-4, 130.0) - 30.0 / mass).abs() < 1e-12);
    // In motion nothing is held over.
    point.state[1] = 0.1;
    alone.settle(&mut point);
    assert_eq!(point.memory[1], 0.0);
}

#[test]
fn a_body_leaves_a_stop_with_its_share_of_the_speed() {
    let given = [("max_position", Value::Number(0.5)), ("restitution", Value::Number(0.3))];
    let alone = build("translational.mass", &given, STEP);
    let mut point = alone.point(&mut Noise::new(1));
    (point.effort, point.input) = (vec![0.0; 2], vec![0.0]);
    point.state = vec![0.502, 2.0, 0.0];
    alone.settle(&mut point);
    assert_eq!(point.state, [0.5, -0.6, 0.0]);
    // pressed by 1 MN: what it gives within two main steps, 2 m/s, is no impact
    point.effort[0] = 1e6;
    point.state = vec![0.502, 1.9, 0.0];
    alone.settle(&mut point);
    assert_eq!(point.state, [0.5, 0.0, 0.0]);
    alone.show(&mut point);
    assert_eq!(point.memory[0], 1.0);
    let written = alone.values(&point);
    assert_eq!((written.rate[0], written.rate[1], written.flow[1]), (0.0, 0.0, 0.0));
}

#[test]
fn an_unloading_valve_remembers_that_it_opened() {
    let given = [("differential", Value::Number(2e6))];
    let alone = build("hydraulic.unloading_valve", &given, STEP);
    let mut point = alone.point(&mut Noise::new(1));
    // 90 bar at the pilot: below 100 bar, above 80 bar
    (point.effort, point.input) = (vec![9e6, 0.0, 9e6], vec![1e7]);
    let target = |point: &Point| alone.values(point).rate[0] * 5e-3 + point.state[0];
    for (position, expected) in [(0.5, 0.0), (1.0, 1.0), (0.5, 1.0), (0.0, 0.0), (0.5, 0.0)] {
        point.state[0] = position;
        alone.settle(&mut point);
        assert!((target(&point) - expected).abs() < 1e-12);
    }
}

#[test]
fn a_spool_without_dynamics_stands_where_its_law_has_it() {
    let given = [("dynamics", Value::Choice(0)), ("hysteresis", Value::Number(0.2))];
    let alone = build("hydraulic.valve_4_3", &given, STEP);
    let mut point = alone.point(&mut Noise::new(1));
    for (signal, expected) in [(0.5, 0.4), (0.35, 0.4), (0.2, 0.3), (3.0, 1.0), (0.5, 0.6)] {
        point.input[0] = signal;
        alone.settle(&mut point);
        alone.show(&mut point);
        assert!((point.state[0] - expected).abs() < 1e-15, "{}", point.state[0]);
    }
    // only 3.0 is beyond the stroke
    assert_eq!(point.memory[1], 1.0);
}

#[test]
fn a_reset_integrator_stands_at_its_start_value() {
    let alone = build("signal.integrator", &[("start_value", Value::Number(0.25))], STEP);
    let mut point = alone.point(&mut Noise::new(1));
    (point.state, point.input) = (vec![7.0], vec![3.0, 1.0]);
    let written = alone.values(&point);
    assert_eq!((written.rate[0], written.output[0]), (0.0, 0.25));
    alone.settle(&mut point);
    assert_eq!(point.state[0], 0.25);
    point.input[1] = 0.0;
    assert_eq!(alone.values(&point).rate[0], 3.0);
}

/// What the law and one short step between hard line ends give, for every variant.
fn steps_and_laws(short: f64) -> Vec<(String, f64, f64)> {
    let mut noise = Noise::new(11);
    let mut found = Vec::new();
    for mut alone in every_variant(short) {
        if alone.lumped.is_discrete() {
            continue;
        }
        for _ in 0..5 {
            let mut point = alone.point(&mut noise);
            point.time = short;
            let d = alone.declaration;
            let (is_c, inputs) = (alone.is_c(), point.input.len());
            alone.state.signals[..inputs].copy_from_slice(&point.input);
            for (i, bond) in alone.state.bonds.iter_mut().enumerate() {
                let effort = point.effort[i];
                *bond = Bond {
                    flow: point.flow[i],
                    displacement: point.displacement[i],
                    ..Bond::at_rest(effort)
                };
            }
            let clock = Clock { time: 0.0, dt: alone.step, tick: 0 };
            alone.group.start_one(0, &mut alone.state, clock);
            if is_c {
                // The start is what the waves know.
                point.state.copy_from_slice(&alone.state.states[..d.states.len()]);
                if d.name == "rotational.clutch" {
                    point.state[0] += 1e4 * short * (point.flow[0] + point.flow[1]);
                }
            } else {
                for (i, bond) in alone.state.bonds.iter_mut().enumerate() {
                    (bond.wave, bond.effort) = (point.effort[i], point.effort[i]);
                    (bond.flow, bond.displacement) = (point.flow[i], point.displacement[i]);
                }
                alone.state.states[..d.states.len()].copy_from_slice(&point.state);
                if d.name == "hydraulic.flow_control_valve" {
                    // Its chamber follows a rule of two steps.
                    alone.state.states[2 * d.states.len()] = point.state[0];
                }
                alone.group.start_law(0, &mut alone.state, clock);
            }
            let memory = 2 * d.states.len();
            point.memory.copy_from_slice(&alone.state.states[memory..memory + d.memory.len()]);
            let clock = Clock { time: short, dt: alone.step, tick: 1 };
            alone.group.step(&mut alone.state, &clock);
            let bonds = &alone.state.bonds;
            // Dry friction is for the body to solve; at oil the number means something else.
            let dry = |i: usize, b: &Bond<f64>| {
                let grip = (b.flow / 1e-5).clamp(-1.0, 1.0);
                if alone.domains[i].is_mechanical() { b.dry * grip } else { 0.0 }
            };
            let effort = |(i, b): (usize, &Bond<f64>)| b.wave + b.impedance * b.flow + dry(i, b);
            let stepped = Written {
                effort: bonds.iter().enumerate().map(effort).collect(),
                flow: bonds.iter().map(|b| b.flow).collect(),
                displacement: bonds.iter().map(|b| b.displacement).collect(),
                rate: alone.state.states[d.states.len()..2 * d.states.len()].to_vec(),
                output: alone.state.signals[inputs..].to_vec(),
            };
            let by_law = alone.results(&alone.values(&point));
            let by_step = alone.results(&stepped);
            for ((name, law), (_, step)) in by_law.into_iter().zip(by_step) {
                // Stores keep no rates.
                if !name.starts_with("rate") {
                    found.push((format!("{}: {name}", alone.what), law, step));
                }
            }
        }
    }
    found
}

/// Halfway terms, waves and moving states are all off in proportion to the step, so the difference falls
/// to a tenth with it; a fifth leaves room for what is of higher order. Rounding: 10⁻⁹ of the number, or
/// of the 20 kN whose difference the force of a cylinder is.
#[test]
fn the_step_tends_to_the_law_where_line_ends_are_hard() {
    let (coarse, fine) = (steps_and_laws(1e-9), steps_and_laws(1e-10));
    assert_eq!(coarse.len(), fine.len());
    assert!(fine.len() > 2000, "{}", fine.len());
    for ((what, coarse_law, coarse_step), (_, law, step)) in coarse.iter().zip(&fine) {
        let (coarse, fine) = ((coarse_step - coarse_law).abs(), (step - law).abs());
        let size = if what.contains("cylinder") { law.abs() + 2e4 } else { law.abs() + 1e-6 };
        let tolerance = 0.2 * coarse + 1e-9 * size;
        assert!(fine <= tolerance, "{what}: {law} by the law, {step} by the step; {coarse} {fine}");
    }
}
