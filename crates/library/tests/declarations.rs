//! Every component of the library: its declaration is sound, and no values make it panic.

use fluxline_core::component::{Clock, ComponentType, Environment, Filter, Group, Refusal, Wiring};
use fluxline_core::declare::{ANY_UNIT, Causality, Declaration, Kind, Value};
use fluxline_core::domain::Domain;
use fluxline_core::fluid::Fluid;
use fluxline_core::settings::FluidSettings;
use fluxline_core::state::{Bond, State};
use fluxline_core::table::Table;
use fluxline_core::values::{Rule, Rules, default_settings};
use fluxline_library::registry;
use fluxline_units::{Quantity, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

fn types() -> Vec<ComponentType> {
    let types = registry().types().to_vec();
    assert!(types.len() > 100, "{} types", types.len());
    types
}

/// Gathers what is wrong, so that one run shows all of it.
#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    fn check(&mut self, is_good: bool, what: impl FnOnce() -> String) {
        if !is_good {
            self.0.push(what());
        }
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.0.is_empty(), "{} found\n{}", self.0.len(), self.0.join("\n"));
        }
    }
}

fn is_snake_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[test]
fn units_ranges_and_defaults_are_read() {
    let mut found = Found::default();
    for kind in types() {
        let declaration = kind.declaration;
        let name = declaration.name;
        let rules = match Rules::of(declaration) {
            Ok(rules) => rules,
            Err(error) => {
                found.check(false, || error.to_string());
                continue;
            }
        };
        for (parameter, rule) in declaration.parameters.iter().zip(&rules.parameters) {
            let full = format!("{name}.{}", parameter.name);
            let defaults: Vec<f64> = match &rule.default {
                Value::Number(x) => vec![*x],
                Value::List(list) => list.clone(),
                _ => Vec::new(),
            };
            for x in defaults {
                found.check(rule.beyond(x).is_none(), || {
                    format!("{full}: default {x} out of range")
                });
            }
            if let (Some(min), Some(max)) = (rule.min, rule.max) {
                found.check(min.value < max.value, || format!("{full}: the range is empty"));
            }
        }
    }
}

#[test]
fn units_of_states_outputs_and_ports_are_units() {
    let mut found = Found::default();
    let is_unit = |unit: &str| unit == ANY_UNIT || Unit::parse(unit).is_ok();
    for kind in types() {
        let declaration = kind.declaration;
        let variables = [declaration.states, declaration.outputs, declaration.memory];
        for variable in variables.into_iter().flatten() {
            let full = format!("{}.{}", declaration.name, variable.name);
            found.check(is_unit(variable.unit), || format!("{full}: unit {:?}", variable.unit));
            found.check(
                variable.unit != ANY_UNIT
                    || declaration.causality == Causality::S
                    || is_delay(declaration),
                || format!("{full}: only signals carry any unit"),
            );
            found.check(!variable.meaning.is_empty(), || format!("{full}: no meaning"));
        }
        for port in declaration.ports {
            for variable in port.domain.variables() {
                found.check(is_unit(variable.unit), || {
                    format!("{}.{}: unit {:?}", declaration.name, port.name, variable.unit)
                });
            }
            found.check(!port.meaning.is_empty(), || {
                format!("{}.{}: no meaning", declaration.name, port.name)
            });
        }
    }
}

/// Delays of signals run with the Q-components.
fn is_delay(declaration: &Declaration) -> bool {
    declaration.name.starts_with("signal.")
}

#[test]
fn start_values_are_parameters_or_quantities_of_the_right_kind() {
    let mut found = Found::default();
    for kind in types() {
        let declaration = kind.declaration;
        for state in declaration.states.iter().chain(declaration.memory) {
            let full = format!("{}.{}", declaration.name, state.name);
            let dimension = |unit: &str| {
                let unit = if unit == ANY_UNIT { "1" } else { unit };
                Unit::parse(unit).map(|unit| unit.dimension()).ok()
            };
            let is_any = state.unit == ANY_UNIT;
            match declaration.parameter(state.start) {
                Some(index) => {
                    let parameter = &declaration.parameters[index];
                    let fits = is_any
                        || parameter.unit == ANY_UNIT
                        || dimension(parameter.unit) == dimension(state.unit);
                    found.check(fits, || {
                        format!("{full}: starts from `{}` [{}]", parameter.name, parameter.unit)
                    });
                }
                None => match Quantity::parse(state.start) {
                    Ok(start) => {
                        let fits = is_any
                            || start.value == 0.0
                            || dimension(state.unit) == Some(start.dimension);
                        found.check(fits, || format!("{full}: starts from {:?}", state.start));
                    }
                    Err(error) => {
                        found.check(false, || format!("{full}: {:?}: {error}", state.start));
                    }
                },
            }
        }
    }
}

#[test]
fn names_are_clear() {
    let mut found = Found::default();
    let mut type_names = BTreeSet::new();
    let mut hopsan: BTreeMap<&str, &str> = BTreeMap::new();
    for kind in types() {
        let declaration = kind.declaration;
        let name = declaration.name;
        found.check(type_names.insert(name), || format!("{name} is registered twice"));
        found.check(name.matches('.').count() == 1 && name.split('.').all(is_snake_case), || {
            format!("{name}: not `domain.name` in snake_case")
        });
        // Results, inputs and ports of a component share one space of names.
        let mut names = BTreeSet::new();
        let own = declaration.ports.iter().map(|p| p.name);
        let own = own.chain(declaration.parameters.iter().map(|p| p.name));
        let own = own.chain(declaration.states.iter().map(|v| v.name));
        let own = own.chain(declaration.outputs.iter().map(|v| v.name));
        for one in own {
            found.check(is_snake_case(one), || format!("{name}.{one}: not snake_case"));
            found.check(names.insert(one), || format!("{name}.{one}: two things of one name"));
        }
        let mut aliases: BTreeMap<&str, &str> = BTreeMap::new();
        for parameter in declaration.parameters {
            for alias in parameter.aliases {
                let before = aliases.insert(alias, parameter.name);
                found.check(before.is_none(), || {
                    format!("{name}: `{alias}` is both {before:?} and {:?}", parameter.name)
                });
                let other = declaration.parameters.iter().any(|p| p.name == *alias);
                found.check(!other, || format!("{name}: the alias `{alias}` is a parameter"));
            }
            let meaning = parameter.meaning.trim();
            found.check(meaning.len() > 2, || format!("{name}.{}: no meaning", parameter.name));
        }
        for alias in declaration.aliases {
            let is_good = alias.split_once(':').is_some_and(|(tool, other)| {
                is_snake_case(tool)
                    && !other.is_empty()
                    && other.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.".contains(&b))
            });
            found.check(is_good, || format!("{name}: the alias `{alias}` is not tool:Name"));
            if alias.starts_with("hopsan:") {
                let before = hopsan.insert(alias, name);
                found.check(before.is_none(), || format!("{alias}: {before:?} and {name}"));
            }
        }
        let many = declaration.ports.iter().position(|port| port.many);
        found.check(many.is_none_or(|at| at + 1 == declaration.ports.len()), || {
            format!("{name}: the port for many is not the last")
        });
    }
}

#[test]
fn every_type_says_what_it_does() {
    let mut found = Found::default();
    for kind in types() {
        let (name, doc) = (kind.declaration.name, kind.declaration.doc.trim());
        let first = doc.split("\n\n").next().unwrap_or("").replace('\n', " ");
        found.check(first.trim_end().ends_with(['.', ':']) || first.contains(". "), || {
            format!("{name}: the first sentence has no end: {first:?}")
        });
        let has_law = doc.contains(['=', '≈', '≥', '≤', '→', '√', '∫']);
        found.check(has_law || doc.split_whitespace().count() >= 8, || {
            format!("{name}: neither equations nor what it does: {doc:?}")
        });
    }
}

/// A seeded generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// The size of a quantity in a machine, in SI units.
fn usual_size(rule: &Rule) -> f64 {
    const SIZES: &[(&str, f64)] = &[
        ("m", 0.1),
        ("m^2", 1e-4),
        ("m^3", 1e-3),
        ("Pa", 1e7),
        ("m^3/s", 1e-3),
        ("m^3/(s*Pa)", 1e-12),
        ("m^3/(s*sqrt(Pa))", 1e-7),
        ("1/Pa", 1e-9),
        ("s", 0.01),
        ("kg", 100.0),
        ("N", 1e3),
        ("N/m", 1e6),
        ("N*s/m", 1e3),
        ("N*m", 100.0),
        ("kg*m^2", 0.1),
        ("N*m*s/rad", 1.0),
        ("m^2/s", 1e-5),
    ];
    let dimension = rule.unit.dimension();
    let size = SIZES.iter().find(|(unit, _)| Unit::parse(unit).unwrap().dimension() == dimension);
    size.map_or(1.0, |(_, size)| *size)
}

/// A number in the range of a rule: around the default, or of any size.
fn number(random: &mut Random, rule: &Rule, default: Option<f64>) -> f64 {
    let sign = |random: &mut Random| if random.below(2) == 0 { 1.0 } else { -1.0 };
    let wanted = match default {
        Some(x) if x != 0.0 && x.abs() < 1e200 => x * 10f64.powf(random.between(-2.0, 2.0)),
        _ => sign(random) * usual_size(rule) * 10f64.powf(random.between(-2.0, 2.0)),
    };
    let wanted = if random.below(20) == 0 { 0.0 } else { wanted };
    let size = default.filter(|x| *x != 0.0).map_or_else(|| usual_size(rule), f64::abs);
    match (rule.beyond(wanted), rule.min, rule.max) {
        (None, ..) => wanted,
        (_, Some(min), Some(max)) => {
            let inner = random.between(min.value, max.value);
            if rule.beyond(inner).is_none() { inner } else { 0.5 * (min.value + max.value) }
        }
        (_, Some(min), None) => min.value + wanted.abs().max(1e-3 * size),
        (_, None, Some(max)) => max.value - wanted.abs().max(1e-3 * size),
        (Some(_), None, None) => wanted,
    }
}

fn curve(random: &mut Random) -> Value {
    let points = 2 + random.below(5);
    let mut x = random.between(-2.0, 0.0);
    let knots: Vec<f64> = (0..points)
        .map(|_| {
            x += random.between(0.01, 1.0);
            x
        })
        .collect();
    let rows: Vec<f64> =
        if random.below(3) == 0 { (0..3).map(f64::from).collect() } else { Vec::new() };
    let values = (0..points * rows.len().max(1)).map(|_| random.between(-3.0, 3.0)).collect();
    Value::Table(Arc::new(Table { knots, rows, values }))
}

/// Values of all parameters: `None` keeps the defaults, and fills in what has none.
fn values(declaration: &'static Declaration, mut random: Option<&mut Random>) -> Vec<Value> {
    let rules = Rules::of(declaration).unwrap();
    let mut fallback = Random(7);
    declaration
        .parameters
        .iter()
        .zip(rules.parameters)
        .map(|(parameter, rule)| {
            let default = match rule.default {
                Value::Number(x) => Some(x),
                _ => None,
            };
            let is_given = rule.default != Value::Absent;
            let random = match &mut random {
                // Half of them stay as they are: what is random all over is mostly refused.
                Some(random) if is_given => match random.below(2) {
                    0 => random,
                    _ => return rule.default,
                },
                Some(random) => random,
                None if !is_given && parameter.kind != Kind::OptionalQuantity => &mut fallback,
                None => return rule.default,
            };
            match parameter.kind {
                Kind::Quantity => Value::Number(number(random, &rule, default)),
                Kind::OptionalQuantity if random.below(2) == 0 => Value::Absent,
                Kind::OptionalQuantity => Value::Number(number(random, &rule, default)),
                Kind::Integer => {
                    let least = rule.min.map_or(0.0, |min| min.value);
                    let most = rule.max.map_or(least + 20.0, |max| max.value).min(least + 20.0);
                    Value::Number(random.between(least, most).round())
                }
                Kind::Switch => Value::Switch(random.below(2) == 0),
                Kind::Choice(words) => Value::Choice(random.below(words.len())),
                Kind::Text => Value::Text("x".to_owned()),
                Kind::List => {
                    let count = 1 + random.below(4);
                    Value::List((0..count).map(|_| number(random, &rule, None)).collect())
                }
                Kind::Table => curve(random),
            }
        })
        .collect()
}

/// A component alone, with a line end at each of its ports.
struct Alone {
    group: Box<dyn Group<f64>>,
    state: State<f64>,
    domains: Vec<Domain>,
    step: f64,
}

impl Alone {
    fn new(kind: ComponentType, values: &[Value], step: f64) -> Result<Self, Refusal> {
        let declaration = kind.declaration;
        let mut domains: Vec<Domain> = declaration.ports.iter().map(|p| p.domain).collect();
        if declaration.ports.last().is_some_and(|port| port.many) {
            domains.push(domains[domains.len() - 1]);
        }
        let mut places = vec![1; declaration.ports.len()];
        if let Some(last) = places.last_mut() {
            *last += domains.len() - declaration.ports.len();
        }
        let fluid = Fluid::from(&default_settings::<FluidSettings>().unwrap());
        let environment = Environment {
            step,
            fluid: &fluid,
            start_pressure: 1e5,
            bonds: domains.len(),
            places: &places,
            filter: Filter::Pressure(0.2),
            driven: &[],
        };
        let built = (kind.build)(values)
            .unwrap_or_else(|| panic!("{} takes not its own values", declaration.name));
        let mut ready = built.prepare(&environment)?;
        let (inputs, outputs) = (declaration.input_count(), declaration.outputs.len());
        let start = |start: &str| match declaration.parameter(start).map(|index| &values[index]) {
            Some(Value::Number(x)) => *x,
            Some(_) => 0.0,
            None => Quantity::parse(start).map_or(0.0, |q| q.value),
        };
        let mut states: Vec<f64> = declaration.states.iter().map(|s| start(s.start)).collect();
        states.extend(declaration.states.iter().map(|_| 0.0));
        states.extend(declaration.memory.iter().map(|m| start(m.start)));
        if ready.history() > 10_000_000 {
            // The plan refuses it.
            let (parameter, help) = (declaration.parameters[0].name, "shorten it");
            return Err(Refusal::new(parameter, "too long a history", help));
        }
        states.resize(states.len() + ready.history(), 0.0);
        let mut signals: Vec<f64> = declaration
            .inputs()
            .map(|(index, _)| if let Value::Number(x) = values[index] { x } else { 0.0 })
            .collect();
        signals.resize(inputs + outputs, 0.0);
        let [ports, places]: [Vec<u32>; 2] =
            [domains.len(), inputs].map(|n| (0..n as u32).collect());
        let wiring = Wiring::new(0, &ports, &places, inputs..inputs + outputs, 0..states.len());
        let effort = |domain: &Domain| if *domain == Domain::Hydraulic { 1e5 } else { 0.0 };
        let state = State {
            bonds: domains.iter().map(|domain| Bond::at_rest(effort(domain))).collect(),
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
        let mut group = ready.new_group();
        assert!(ready.join(group.as_mut(), wiring));
        let mut alone = Self { group, state, domains, step };
        let clock = Clock { time: 0.0, dt: step, tick: 0 };
        alone.group.start_one(0, &mut alone.state, clock);
        alone.group.start_law(0, &mut alone.state, clock);
        Ok(alone)
    }

    /// Steps against line ends (or flows) and inputs of likely sizes.
    fn step(&mut self, random: &mut Random, tick: u64, is_c: bool, inputs: usize) {
        for (bond, domain) in self.state.bonds.iter_mut().zip(&self.domains) {
            let (effort, flow, impedance) = match domain {
                Domain::Hydraulic => (3e7, 2e-3, 1e9),
                Domain::Translational => (1e5, 1.0, 1e4),
                Domain::Rotational => (1e3, 200.0, 10.0),
                _ => (100.0, 10.0, 10.0),
            };
            if is_c {
                bond.flow = flow * random.between(-1.0, 1.0);
                bond.displacement += bond.flow * self.step;
                bond.effort = bond.wave + bond.impedance * bond.flow;
            } else {
                let least = if *domain == Domain::Hydraulic { 0.0 } else { -effort };
                bond.wave = random.between(least, effort);
                bond.impedance = impedance * 10f64.powf(random.between(-3.0, 3.0));
            }
        }
        for signal in &mut self.state.signals[..inputs] {
            *signal = match random.below(4) {
                0 => 0.0,
                1 => random.between(-1.0, 1.0),
                2 => *signal,
                _ => random.between(-1.0, 1.0) * 10f64.powf(random.between(-3.0, 3.0)),
            };
        }
        let clock = Clock { time: tick as f64 * self.step, dt: self.step, tick };
        self.group.step(&mut self.state, &clock);
        let _ = (self.group.energy(0, &mut self.state), self.group.content(0, &mut self.state));
    }

    /// The first number that is not finite.
    fn broken(&self) -> Option<String> {
        for (i, bond) in self.state.bonds.iter().enumerate() {
            let numbers = [bond.flow, bond.effort, bond.wave, bond.impedance, bond.displacement];
            if numbers.iter().any(|x| !x.is_finite()) {
                return Some(format!("port {i}: {bond:?}"));
            }
        }
        let signals = self.state.signals.iter().position(|x| !x.is_finite());
        let states = self.state.states.iter().position(|x| !x.is_finite());
        signals.map(|i| format!("signal {i}")).or_else(|| states.map(|i| format!("state {i}")))
    }
}

/// Functions that are infinite somewhere: 0 to the power of -1. The engine stops there.
const MAY_BE_INFINITE: &[&str] = &["signal.power", "signal.function"];

/// A refusal names one of the component's parameters and gives a cure.
fn check_refusal(found: &mut Found, declaration: &Declaration, refusal: &Refusal) {
    let name = declaration.name;
    let Refusal { parameter, message, help } = refusal;
    found.check(declaration.parameter(parameter).is_some(), || {
        format!("{name}: refuses for `{parameter}`, which it does not have: {message}")
    });
    found.check(!message.is_empty() && !help.is_empty(), || {
        format!("{name}: refuses without reason or cure: {refusal:?}")
    });
}

/// Builds and steps a component; what it panics with, if it does.
fn attempt(
    found: &mut Found,
    kind: ComponentType,
    values: &[Value],
    random: &mut Random,
    must_be_finite: bool,
) -> bool {
    let declaration = kind.declaration;
    let is_c = declaration.causality == Causality::C;
    let step = *[1e-5, 1e-4, 1e-3].get(random.below(3)).unwrap_or(&1e-4);
    let said = || {
        let given = declaration.parameters.iter().zip(values);
        let given = given.map(|(p, value)| format!("{} = {value:?}", p.name));
        given.collect::<Vec<_>>().join(", ")
    };
    let tried = catch_unwind(AssertUnwindSafe(|| {
        let mut alone = Alone::new(kind, values, step)?;
        for tick in 1..=20 {
            alone.step(random, tick, is_c, declaration.input_count());
            let is_told = alone.state.faults.unconverged > 0;
            if let Some(broken) = alone.broken().filter(|_| must_be_finite && !is_told) {
                return Ok(Some(format!("step {tick}: {broken}")));
            }
        }
        Ok(None)
    }));
    match tried {
        Ok(Ok(None)) => return true,
        Ok(Ok(Some(broken))) => {
            found.check(false, || format!("{}: {broken} with {}", declaration.name, said()));
        }
        Ok(Err(refusal)) => check_refusal(found, declaration, &refusal),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            let text = text.unwrap_or_default();
            found.check(false, || format!("{}: panic: {text} with {}", declaration.name, said()));
        }
    }
    false
}

#[test]
fn a_component_of_defaults_runs_or_says_what_it_needs() {
    let mut found = Found::default();
    let mut ran = 0;
    for kind in types() {
        let values = values(kind.declaration, None);
        let must_be_finite = !MAY_BE_INFINITE.contains(&kind.declaration.name);
        ran += usize::from(attempt(&mut found, kind, &values, &mut Random(42), must_be_finite));
    }
    found.check(ran > 100, || format!("only {ran} types run with their defaults"));
}

#[test]
fn no_value_at_an_end_of_its_range_makes_a_component_panic() {
    let mut found = Found::default();
    for kind in types() {
        let rules = Rules::of(kind.declaration).unwrap();
        for (index, rule) in rules.parameters.iter().enumerate() {
            if !matches!(
                kind.declaration.parameters[index].kind,
                Kind::Quantity | Kind::OptionalQuantity | Kind::Integer
            ) {
                continue;
            }
            let is_whole = kind.declaration.parameters[index].kind == Kind::Integer;
            let mut ends = Vec::new();
            for (bound, inwards) in [(rule.min, 1.0), (rule.max, -1.0)] {
                let Some(bound) = bound else {
                    ends.push(if is_whole { 1000.0 } else { -inwards * 1e12 });
                    continue;
                };
                let full = format!(
                    "{}.{}",
                    kind.declaration.name, kind.declaration.parameters[index].name
                );
                let is_refused = rule.beyond(bound.value).is_some();
                found.check(is_refused != bound.included, || format!("{full}: its bound"));
                // Just within an excluded bound.
                let size = bound.value.abs().max(1e-3);
                ends.push(match (bound.included, is_whole) {
                    (true, _) => bound.value,
                    (false, true) => bound.value + inwards,
                    (false, false) => bound.value + inwards * 1e-9 * size,
                });
            }
            for end in ends {
                // A count may have no upper bound that could be built.
                let end = if is_whole { end.min(1000.0) } else { end };
                if rule.beyond(end).is_some() {
                    continue;
                }
                let mut values = values(kind.declaration, None);
                values[index] = Value::Number(end);
                attempt(&mut found, kind, &values, &mut Random(42), false);
            }
        }
    }
}

#[test]
fn random_values_give_finite_numbers_or_a_flag() {
    let trials: u64 = if cfg!(debug_assertions) { 60 } else { 400 };
    let mut found = Found::default();
    let mut never = Vec::new();
    for (number, kind) in types().into_iter().enumerate() {
        let (mut ran, before) = (0, found.0.len());
        for trial in 0..trials {
            let mut random = Random((number as u64 + 1) * 1_000_003 + trial * 7919 + 1);
            let values = values(kind.declaration, Some(&mut random));
            let must_be_finite = !MAY_BE_INFINITE.contains(&kind.declaration.name);
            ran += usize::from(attempt(&mut found, kind, &values, &mut random, must_be_finite));
            if found.0.len() > before + 2 {
                break;
            }
        }
        if ran == 0 {
            never.push(kind.declaration.name);
        }
    }
    found.check(never.is_empty(), || format!("never ran: {never:?}"));
}
