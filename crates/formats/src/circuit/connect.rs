//! Connections: which ports meet, which signals drive which inputs.

use super::Loader;
use super::definition::{Connect, Definition, DefinitionId, End, Section, is_name, name_help};
use super::expand::Frame;
use super::scope::Scope;
use crate::tree::{Key, Val};
use fluxline_core::circuit::{Connection, Drive, Gate, Instance, PortEnd, Source, default_line};
use fluxline_core::declare::Causality;
use fluxline_core::domain::Domain;
use fluxline_core::settings::Convention;
use fluxline_diagnostics::{Code, Diagnostic};
use std::collections::HashMap;
use std::rc::Rc;

/// Ports that take many connections have at most so many: a slip of the finger must not ask for a
/// billion.
const MAX_PLACE: u32 = 10_000;

/// What a name of one circuit stands for.
pub(super) enum Local {
    Component(usize),
    /// The ports that a sub-circuit exposes.
    Subcircuit(DefinitionId, Rc<HashMap<String, Meaning>>),
    /// Has an error of its own; connections to it are not checked.
    Broken,
}

pub(super) type Locals<'d> = HashMap<&'d str, Local>;

/// What `component.name` can be. A name may have several meanings; the connection decides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meaning {
    port: Option<Port>,
    /// Component and parameter.
    input: Option<(usize, usize)>,
    source: Option<Source>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Port {
    component: usize,
    port: usize,
    place: Option<u32>,
}

impl Loader<'_> {
    /// What an exposed port stands for.
    pub(super) fn exposed(&mut self, key: &Key, end: &End, locals: &Locals) -> Option<Meaning> {
        match self.resolve(end, locals) {
            Ok(meaning) => Some(meaning),
            Err(None) => None,
            Err(Some(problem)) => {
                let message = format!("the exposed port `{}`: {}", key.name, problem.message());
                let mut error =
                    Diagnostic::error(Code::UnknownExposedPort, message).at(end.at, "not found");
                for help in problem.helps() {
                    error = error.help(help);
                }
                for note in problem.notes() {
                    error = error.note(note);
                }
                self.report(error);
                None
            }
        }
    }

    /// The component behind an exposed port, and what it is there.
    pub(super) fn offered(&self, meaning: &Meaning) -> Option<(usize, &'static str)> {
        let declaration = |component: usize| self.components[component].declaration();
        match (meaning.port, meaning.source, meaning.input) {
            (Some(port), ..) => {
                Some((port.component, declaration(port.component).ports[port.port].name))
            }
            (None, Some(Source::Output { component, output }), _) => {
                Some((component, declaration(component).outputs[output].name))
            }
            (None, _, Some((component, parameter))) => {
                Some((component, declaration(component).parameters[parameter].name))
            }
            _ => None,
        }
    }

    /// The output that lets a sub-circuit run.
    pub(super) fn gate_signal(&mut self, end: &End, locals: &Locals) -> Option<Gate> {
        match self.resolve(end, locals) {
            Ok(Meaning { source: Some(Source::Output { component, output }), .. }) => {
                Some(Gate { component, output })
            }
            Ok(_) => {
                let message = format!("`{}` is no output of a component", end.text);
                let error = Diagnostic::error(Code::UnknownPort, message)
                    .at(end.at, "expected an output")
                    .help("a sub-circuit runs while the output that `active` names is positive");
                self.report(error);
                None
            }
            Err(problem) => {
                if let Some(problem) = problem {
                    self.report(problem);
                }
                None
            }
        }
    }

    /// Makes a connection or drives inputs.
    pub(super) fn connect(
        &mut self,
        connect: &Connect,
        locals: &Locals,
        definition: &Definition,
        scope: &Scope,
        frame: &Frame,
    ) {
        let mut meanings = Vec::with_capacity(connect.ends.len());
        for end in &connect.ends {
            match self.resolve(end, locals) {
                Ok(meaning) => meanings.push(meaning),
                Err(Some(problem)) => self.report(problem),
                Err(None) => {}
            }
        }
        if meanings.len() < connect.ends.len() {
            self.is_whole = false;
            return;
        }
        if meanings.iter().all(|meaning| meaning.port.is_some()) {
            let ports: Vec<Port> = meanings.iter().filter_map(|meaning| meaning.port).collect();
            self.join(connect, &ports, locals, definition, scope, frame);
        } else if connect.from == 0 {
            let wrong = meanings.iter().position(|meaning| meaning.port.is_none()).unwrap_or(0);
            let end = &connect.ends[wrong];
            let message =
                format!("`{}` is not a power port, so it cannot stand in `ends`", end.text);
            let error = Diagnostic::error(Code::WrongPortKind, message)
                .at(end.at, meanings[wrong].describe())
                .help("lead a signal with `from` (an output) and `to` (inputs)");
            self.is_whole = false;
            self.report(error);
        } else {
            self.drive(connect, &meanings);
        }
    }

    fn drive(&mut self, connect: &Connect, meanings: &[Meaning]) {
        let from = &connect.ends[0];
        if let Some(line) = &connect.line {
            let error = Diagnostic::error(Code::UnknownKey, "a signal has no line")
                .at(line.key.at, "only power ports are joined by a line")
                .help("remove `line`");
            self.report(error);
        }
        let Some(source) = meanings[0].source else {
            self.is_whole = false;
            self.report(wrong_source(connect, meanings));
            return;
        };
        if connect.from > 1 {
            let error =
                Diagnostic::error(Code::WrongPortKind, "a signal comes from one output only")
                    .at(connect.ends[1].at, "a second source")
                    .also(from.at, "the first one")
                    .help("combine both with a sum, or write two connections");
            self.report(error);
            return;
        }
        for (end, meaning) in connect.ends.iter().zip(meanings).skip(1) {
            let Some((component, parameter)) = meaning.input else {
                self.is_whole = false;
                let message = format!(
                    "`{}` is {}, so the signal `{}` cannot drive it",
                    end.text,
                    meaning.describe(),
                    from.text
                );
                let error = Diagnostic::error(Code::WrongPortKind, message)
                    .at(end.at, "expected an input")
                    .also(from.at, meanings[0].describe());
                let error = match meaning.port {
                    Some(port) => {
                        let domain = self.infos[port.component].declaration.ports[port.port].domain;
                        error.help(format!(
                            "drive a {} source that has an input, and connect that source to `{}`",
                            domain.name(),
                            end.text
                        ))
                    }
                    None => error.help("a signal leads from an output to an input"),
                };
                self.report(error);
                continue;
            };
            self.drive_input(source, from, end, component, parameter);
        }
    }

    fn drive_input(
        &mut self,
        source: Source,
        from: &End,
        end: &End,
        component: usize,
        parameter: usize,
    ) {
        if let Some(&first) = self.driven.get(&(component, parameter)) {
            let error = Diagnostic::error(
                Code::InputDrivenTwice,
                format!("`{}` is driven twice", end.text),
            )
            .at(end.at, "driven again here")
            .also(first, "first driven here")
            .help("remove one connection, or add the signals with a sum");
            self.report(error);
            return;
        }
        self.driven.insert((component, parameter), end.at);
        let info = self.infos[component].clone();
        let unit = self.source_unit(source);
        let expected = info.rules.parameters[parameter].unit.dimension();
        // Models that come from Hopsan pass numbers without units.
        if self.convention == Convention::Fluxline
            && let Some(found) = self.dimension(unit)
            && found != expected
            && !found.is_dimensionless()
            && !expected.is_dimensionless()
        {
            let message = format!(
                "`{}` is {}, but `{}` takes {}",
                from.text,
                found.with_article(),
                end.text,
                expected.with_article()
            );
            let error = Diagnostic::error(Code::SignalUnitDiffers, message)
                .at(from.at, format!("in {unit}"))
                .also(end.at, format!("in {}", info.declaration.parameters[parameter].unit))
                .help("connect a signal of the expected kind, or put a gain between");
            self.report(error);
            return;
        }
        if let Some(given) = self.components[component].value_spans[parameter] {
            let warning = Diagnostic::warning(
                Code::ParameterOverridden,
                format!(
                    "the value of `{}` has no effect: the signal `{}` drives it",
                    end.text, from.text
                ),
            )
            .at(given, "overridden")
            .also(end.at, "driven here")
            .help("remove the value or the connection");
            self.report(warning);
        }
        let Some(input) = info.declaration.parameters[parameter].input else {
            return;
        };
        self.drives.push(Drive { from: source, component, input, span: Some(end.at) });
    }

    fn source_unit(&self, source: Source) -> &'static str {
        match source {
            Source::Output { component, output } => {
                self.infos[component].declaration.outputs[output].unit
            }
            Source::State { component, state } => {
                self.infos[component].declaration.states[state].unit
            }
            Source::Port { variable, .. } => variable.unit,
        }
    }

    fn domain(&self, port: Port) -> Domain {
        self.infos[port.component].declaration.ports[port.port].domain
    }

    fn join(
        &mut self,
        connect: &Connect,
        ports: &[Port],
        locals: &Locals,
        definition: &Definition,
        scope: &Scope,
        frame: &Frame,
    ) {
        let domain = self.domain(ports[0]);
        let mut good = true;
        let mut seen = HashMap::from([(ports[0], 0)]);
        for (index, (port, end)) in ports.iter().zip(&connect.ends).enumerate().skip(1) {
            let other = self.domain(*port);
            if other != domain {
                let first = &connect.ends[0];
                let message = format!(
                    "`{}` is {} and `{}` is {}",
                    first.text,
                    domain.name(),
                    end.text,
                    other.name()
                );
                let error = Diagnostic::error(Code::DomainsDiffer, message)
                    .at(end.at, format!("a {} port", other.name()))
                    .also(first.at, format!("a {} port", domain.name()));
                let fitting = |end: &End, port: &Port, domain: Domain| {
                    let ports = self.infos[port.component].declaration.ports;
                    let names = ports.iter().filter(|port| port.domain == domain);
                    let names: Vec<&str> = names.map(|port| port.name).collect();
                    let owner = end.text.rsplit_once('.').map_or("", |(owner, _)| owner);
                    (!names.is_empty()).then(|| {
                        format!(
                            "{} ports of `{owner}`: {}",
                            domain.name(),
                            fluxline_diagnostics::list_names(names)
                        )
                    })
                };
                let help = fitting(end, port, domain).or_else(|| fitting(first, &ports[0], other));
                self.report(error.help(help.unwrap_or_else(|| {
                    "connect ports of one domain; cylinders, pumps and motors change one into the other"
                        .to_owned()
                })));
                good = false;
            }
            let many = self.infos[port.component].declaration.ports[port.port].many;
            let next_free = many && port.place.is_none();
            let before = seen.insert(*port, index);
            if let Some(same) = before.filter(|_| !next_free) {
                let message = format!("`{}` is connected to itself", end.text);
                let error = Diagnostic::error(Code::ConnectedToItself, message)
                    .at(end.at, "the same port")
                    .also(connect.ends[same].at, "as this one")
                    .help("correct one end, or remove the connection");
                self.report(error);
                good = false;
            }
        }
        if !good {
            self.is_whole = false;
            return;
        }
        let line = match &connect.line {
            None => None,
            Some(section) => {
                let line = self.line(section, connect, ports, locals, definition, scope, frame);
                if line.is_none() {
                    self.is_whole = false;
                    return;
                }
                line
            }
        };
        let ends = ports.iter().zip(&connect.ends).map(|(port, end)| PortEnd {
            component: port.component,
            port: port.port,
            place: port.place,
            span: Some(end.at),
        });
        let ends = ends.collect();
        self.connections.push(Connection { ends, line, span: Some(connect.at) });
    }

    /// The line that a connection describes.
    #[allow(clippy::too_many_arguments, reason = "all that a line depends on")]
    fn line(
        &mut self,
        section: &Section,
        connect: &Connect,
        ports: &[Port],
        locals: &Locals,
        definition: &Definition,
        scope: &Scope,
        frame: &Frame,
    ) -> Option<Instance> {
        let (mut entries, mut kind, mut given) = (Vec::new(), None, None);
        for (key, item) in &section.table.entries {
            match (key.name.as_str(), &item.value) {
                ("type", Val::Text(text)) => kind = Some(End { text: text.clone(), at: item.at }),
                ("name", Val::Text(text)) => given = Some(End { text: text.clone(), at: item.at }),
                ("type" | "name", _) => {
                    let name = format!("line.{}", key.name);
                    let error = super::definition::wrong_type(&name, item, "a text");
                    self.report(error.help("put it in quotes"));
                }
                _ => entries.push((key.clone(), item.clone())),
            }
        }
        let domain = self.domain(ports[0]);
        let kind = match kind {
            Some(kind) => kind,
            None => self.line_type(section, domain)?,
        };
        let (kind, info) = self.component_type(&kind)?;
        if info.declaration.causality != Causality::C {
            let message =
                format!("`{}` cannot be a line: it stores nothing", info.declaration.name);
            let error = Diagnostic::error(Code::LineDimensions, message)
                .at(section.key.at, "this line")
                .help("make it a component of its own, and connect it on both sides");
            self.report(error);
            return None;
        }
        let name = self.line_name(given, connect, locals, frame)?;
        let shown = name.strip_prefix(&format!("{}.", frame.prefix)).unwrap_or(&name).to_owned();
        let (mut instance, open) = self.instance(
            &shown,
            name,
            section.key.at,
            (kind, &info),
            &entries,
            definition,
            scope,
            frame,
        );
        for (_, missing) in open {
            self.report(missing);
        }
        if section.table.get("fluid").is_none() {
            instance.fluid = self.components[ports[0].component].fluid;
        }
        Some(instance)
    }

    /// The type of a line that does not name one: by what is given.
    fn line_type(&mut self, section: &Section, domain: Domain) -> Option<End> {
        let has = |name: &str| section.table.get(name).is_some();
        let at = section.key.at;
        const KEYS: [&str; 3] = ["length", "bore", "volume"];
        let wrong = |message: &str| {
            let mut error = Diagnostic::error(Code::LineDimensions, message).at(at, "this line");
            for (key, _) in &section.table.entries {
                let name = key.name.as_str();
                if KEYS.contains(&name) {
                    continue;
                }
                if name.contains("diameter") || matches!(name, "d" | "dn" | "DN") {
                    error = error.also(key.at, "the inner diameter of a line is its `bore`");
                } else if let Some(near) = fluxline_diagnostics::nearest(name, KEYS).first() {
                    error = error.also(key.at, format!("did you mean `{near}`?"));
                }
            }
            error.help(
                "write `line = { length = \"2 m\", bore = \"19 mm\" }` or `line = { volume = \"0.5 l\" }`",
            )
        };
        let text = match domain {
            Domain::Hydraulic => match (has("length"), has("bore"), has("volume")) {
                (false, false, true) => "hydraulic.volume",
                (true, true, false) => "hydraulic.line",
                (_, _, true) => {
                    self.report(wrong("a line has a volume, or a length and a bore, not both"));
                    return None;
                }
                (true, false, false) => {
                    self.report(wrong("a line with a `length` needs a `bore`"));
                    return None;
                }
                (false, true, false) => {
                    self.report(wrong("a line with a `bore` needs a `length`"));
                    return None;
                }
                (false, false, false) => {
                    self.report(wrong("a line needs a length and a bore, or a volume"));
                    return None;
                }
            },
            Domain::Translational => "translational.spring",
            Domain::Rotational => "rotational.shaft",
            _ => {
                let message = format!("a {} line needs a `type`", domain.name());
                let error = Diagnostic::error(Code::MissingKey, message)
                    .at(at, "needs `type`")
                    .help(format!("write `line = {{ type = \"{}.…\" }}`", domain.name()));
                self.report(error);
                return None;
            }
        };
        debug_assert!(default_line_agrees(domain, text));
        Some(End { text: text.to_owned(), at })
    }

    /// The name that is given, or one made from the first port.
    fn line_name(
        &mut self,
        given: Option<End>,
        connect: &Connect,
        locals: &Locals,
        frame: &Frame,
    ) -> Option<String> {
        if let Some(given) = given {
            if !is_name(&given.text) {
                let message = format!("`{}` cannot be the name of a line", given.text);
                let error = Diagnostic::error(Code::BadName, message)
                    .at(given.at, "not a name")
                    .help(name_help(&given.text));
                self.report(error);
                return None;
            }
            let full = frame.full(&given.text);
            if locals.contains_key(given.text.as_str()) || !self.line_names.insert(full.clone()) {
                let message = format!("there is another component or line `{}`", given.text);
                let error = Diagnostic::error(Code::DuplicateKey, message)
                    .at(given.at, "given again here")
                    .help("choose another name");
                self.report(error);
                return None;
            }
            return Some(full);
        }
        let base = frame.full(&format!("line.{}", connect.ends[0].text));
        let mut name = base.clone();
        while !self.line_names.insert(name.clone()) {
            let number = self.line_numbers.entry(base.clone()).or_insert(1);
            *number += 1;
            name = format!("{base}_{number}");
        }
        Some(name)
    }

    /// What a name such as `pump.outlet` stands for. `Err(None)` when that has an error of its own.
    fn resolve(&mut self, end: &End, locals: &Locals) -> Result<Meaning, Option<Diagnostic>> {
        let text = end.text.as_str();
        let mut parts = text.split('.');
        let first = parts.next().unwrap_or("");
        let rest: Vec<&str> = parts.take(4).collect();
        match locals.get(first) {
            None => {
                let message = match text.is_empty() {
                    true => "an empty name in a connection".to_owned(),
                    false => format!("there is no component `{first}`"),
                };
                let error = Diagnostic::error(Code::UnknownComponent, message)
                    .at(end.at, "unknown component");
                let error = self.suggest(error, first, locals.keys().copied());
                Err(Some(match error.helps().is_empty() {
                    true => error.help("write \"component.port\""),
                    false => error,
                }))
            }
            Some(Local::Broken) => Err(None),
            Some(Local::Component(component)) => {
                self.of_component(*component, first, &rest, end).map_err(Some)
            }
            Some(Local::Subcircuit(id, ports)) => self.of_subcircuit(*id, ports, first, &rest, end),
        }
    }

    fn of_component(
        &mut self,
        component: usize,
        name: &str,
        rest: &[&str],
        end: &End,
    ) -> Result<Meaning, Diagnostic> {
        let info = self.infos[component].clone();
        let declaration = info.declaration;
        match rest {
            [one] => {
                let port =
                    find_port(&info, one).map(|(port, place)| Port { component, port, place });
                let parameter = info.parameter(one);
                let input = parameter.filter(|&p| declaration.parameters[p].input.is_some());
                let state = declaration
                    .states
                    .iter()
                    .position(|state| state.name == *one || state.aliases.contains(one));
                let source = declaration
                    .output(one)
                    .map(|output| Source::Output { component, output })
                    .or_else(|| state.map(|state| Source::State { component, state }));
                let input = input.map(|parameter| (component, parameter));
                let meaning = Meaning { port, input, source };
                if port.is_some() || input.is_some() || source.is_some() {
                    return Ok(meaning);
                }
                let message = format!("`{name}` ({}) has no port `{one}`", declaration.name);
                let error =
                    Diagnostic::error(Code::UnknownPort, message).at(end.at, "unknown port");
                if parameter.is_some() {
                    return Err(error
                        .note(format!("`{one}` is a parameter that no signal can drive"))
                        .help(format!("give it a value under `[components.{name}]`")));
                }
                Err(self.suggest(error, one, connectable(declaration)))
            }
            [port, variable] => {
                let Some((index, place)) = find_port(&info, port) else {
                    let message = format!("`{name}` ({}) has no port `{port}`", declaration.name);
                    let error =
                        Diagnostic::error(Code::UnknownPort, message).at(end.at, "unknown port");
                    let names = declaration.ports.iter().map(|port| port.name);
                    return Err(self.suggest(error, port, names.collect::<Vec<_>>()));
                };
                self.port_variable(Port { component, port: index, place }, variable, end)
            }
            [] => {
                let message =
                    format!("`{name}` is a component; a connection needs one of its ports");
                let names: Vec<&str> = connectable(declaration).collect();
                let error = Diagnostic::error(Code::UnknownPort, message).at(end.at, "which port?");
                Err(match names.is_empty() {
                    true => error,
                    false => error.help(format!(
                        "name one: {}",
                        names
                            .iter()
                            .take(8)
                            .map(|port| format!("`{name}.{port}`"))
                            .collect::<Vec<_>>()
                            .join(", ")
                    )),
                })
            }
            _ => Err(too_many_parts(end)),
        }
    }

    fn of_subcircuit(
        &mut self,
        id: DefinitionId,
        ports: &HashMap<String, Meaning>,
        name: &str,
        rest: &[&str],
        end: &End,
    ) -> Result<Meaning, Option<Diagnostic>> {
        let definition = self.definitions[id].clone();
        let declared = |wanted: &str| definition.ports.iter().any(|(key, _)| key.name == wanted);
        let names = || definition.ports.iter().map(|(key, _)| key.name.as_str());
        let Some(&first) = rest.first() else {
            let message = format!("`{name}` is a sub-circuit; a connection needs one of its ports");
            let error = Diagnostic::error(Code::UnknownPort, message).at(end.at, "which port?");
            return Err(Some(error.suggest(name, names())));
        };
        let Some(meaning) = ports.get(first) else {
            if declared(first) {
                return Err(None);
            }
            let message = format!("the sub-circuit `{name}` exposes no port `{first}`");
            let error = Diagnostic::error(Code::UnknownPort, message).at(end.at, "unknown port");
            let inner = definition.parts.iter().any(|part| part.key.name == first);
            return Err(Some(match (inner, &rest[1..]) {
                (true, [port, ..]) => error.help(format!(
                    "expose it in the sub-circuit: `[ports]` with `{port} = \"{first}.{port}\"`, then write \"{name}.{port}\""
                )),
                _ => self.suggest(error, first, names()),
            }));
        };
        match (&rest[1..], meaning.port) {
            ([], _) => Ok(*meaning),
            ([variable], Some(port)) => self.port_variable(port, variable, end).map_err(Some),
            _ => Err(Some(too_many_parts(end))),
        }
    }

    fn port_variable(
        &mut self,
        port: Port,
        variable: &str,
        end: &End,
    ) -> Result<Meaning, Diagnostic> {
        let domain = self.domain(port);
        let Some(found) = domain.variables().iter().find(|known| known.name == variable) else {
            let message = format!("a {} port has no variable `{variable}`", domain.name());
            let error =
                Diagnostic::error(Code::UnknownPort, message).at(end.at, "unknown variable");
            return Err(self.suggest(
                error,
                variable,
                domain.variables().iter().map(|known| known.name),
            ));
        };
        let source = Source::Port {
            component: port.component,
            port: port.port,
            place: port.place.unwrap_or(1),
            variable: *found,
        };
        Ok(Meaning { source: Some(source), ..Meaning::default() })
    }
}

impl Meaning {
    /// In words, with article.
    fn describe(&self) -> &'static str {
        match (self.port, self.input, self.source) {
            (Some(_), _, _) => "a power port",
            (_, Some(_), _) => "an input",
            (_, _, Some(Source::Output { .. })) => "an output",
            (_, _, Some(_)) => "a variable",
            _ => "nothing",
        }
    }
}

/// The error for a signal that does not come from an output.
fn wrong_source(connect: &Connect, meanings: &[Meaning]) -> Diagnostic {
    let from = &connect.ends[0];
    let other = (1..meanings.len()).find(|&index| meanings[index].port.is_none());
    let other = other.unwrap_or(1);
    let (end, meaning) = (&connect.ends[other], &meanings[other]);
    let message = format!(
        "`{}` is {} and `{}` is {}; they cannot be joined",
        from.text,
        meanings[0].describe(),
        end.text,
        meaning.describe()
    );
    let error = Diagnostic::error(Code::WrongPortKind, message)
        .at(from.at, meanings[0].describe())
        .also(end.at, meaning.describe());
    match (meanings[0].port, meaning.input, meaning.source) {
        (Some(_), Some(_), _) => error.help(format!(
            "name the variable to measure, such as \"{0}.pressure\" or \"{0}.flow\"",
            from.text
        )),
        (None, _, Some(_)) => error.help("exchange `from` and `to`"),
        (Some(_), None, Some(_)) => {
            error.help("a signal leads to an input; use a source that has one")
        }
        _ => error.help("a signal leads from an output to an input"),
    }
}

fn too_many_parts(end: &End) -> Diagnostic {
    let message = format!("`{}` has too many parts", end.text);
    Diagnostic::error(Code::UnknownPort, message)
        .at(end.at, "expected \"component.port\" or \"component.port.variable\"")
        .help("parts of a sub-circuit are reached through its exposed ports")
}

/// A port by name; with a number for a port that takes many connections.
fn find_port(info: &super::types::TypeInfo, name: &str) -> Option<(usize, Option<u32>)> {
    if let Some(port) = info.port(name) {
        return Some((port, None));
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let place: u32 = name[stem.len()..].parse().ok()?;
    let port = info.port(stem)?;
    let many = info.declaration.ports[port].many;
    (many && (1..=MAX_PLACE).contains(&place)).then_some((port, Some(place)))
}

/// All names of a component that a connection can use.
fn connectable(
    declaration: &'static fluxline_core::declare::Declaration,
) -> impl Iterator<Item = &'static str> {
    let ports = declaration.ports.iter().map(|port| port.name);
    let inputs = declaration.inputs().map(|(_, parameter)| parameter.name);
    let outputs = declaration.outputs.iter().map(|output| output.name);
    let states = declaration.states.iter().map(|state| state.name);
    ports.chain(inputs).chain(outputs).chain(states)
}

/// The types used here are those that the core uses for connections without a line.
fn default_line_agrees(domain: Domain, text: &str) -> bool {
    let lines = fluxline_core::values::default_settings();
    let default = lines.and_then(|lines| default_line(domain, &lines));
    text == "hydraulic.line" || default.is_some_and(|(name, _, _)| name == text)
}
