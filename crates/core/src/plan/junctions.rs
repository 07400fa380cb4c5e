//! From connections to junctions: which ports meet, and what stands between them.
//!
//! A junction has at most one Q-port. Where several meet, the connection itself becomes a line
//! between them; where C-ports meet a Q-port, or each other, the junction is solved by
//! [`crate::engine::Junction`].

use crate::circuit::{Circuit, Connection, Instance, PortEnd, Registry, default_line};
use crate::declare::{Causality, Port, Value};
use crate::domain::Domain;
use crate::values;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Place, Span};
use std::collections::HashMap;

/// One port in a junction: a component, its declared port, and which bond of the component it is.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Component index, counting inserted lines after the circuit's own components.
    pub component: usize,
    /// Declared port.
    pub port: usize,
    /// Connection of a port that takes many, from 1.
    pub place: u32,
    /// Where it was written.
    pub span: Option<Span>,
}

/// Ports that meet: at most one Q-port.
#[derive(Clone, Debug, Default)]
pub struct Meeting {
    /// The Q-port.
    pub q: Option<End>,
    /// The C-ports.
    pub c: Vec<End>,
    /// Sensors.
    pub observers: Vec<End>,
}

/// The circuit's components and inserted lines, and how they meet.
#[derive(Debug, Default)]
pub struct Layout {
    /// Lines that stand for connections.
    pub lines: Vec<Instance>,
    /// Who meets whom.
    pub meetings: Vec<Meeting>,
    /// The number of connections of each port that takes many, by component and port.
    pub places: HashMap<(usize, usize), u32>,
}

struct Draft {
    ends: Vec<End>,
    span: Option<Span>,
    /// One of the ends is that of a line which the file gives.
    has_line: bool,
}

/// Works out the junctions of a circuit; problems go to `problems`.
pub fn lay_out(circuit: &Circuit, registry: &Registry, problems: &mut Diagnostics) -> Layout {
    let mut layout = Layout::default();
    let mut drafts: Vec<Draft> = Vec::new();
    let mut taken = Taken::new();
    number_places(circuit, &mut layout, &mut taken, problems);

    let mut next_place: HashMap<(usize, usize), u32> = HashMap::new();
    let mut resolve = |end: &PortEnd| {
        let port = &circuit.components[end.component].declaration().ports[end.port];
        let place = match (port.many, end.place) {
            (false, _) => 1,
            (true, Some(place)) => place,
            (true, None) => {
                let next = next_place.entry((end.component, end.port)).or_insert(1);
                while taken.contains_key(&(end.component, end.port, *next)) {
                    *next += 1;
                }
                *next += 1;
                *next - 1
            }
        };
        End { component: end.component, port: end.port, place, span: end.span }
    };

    for connection in &circuit.connections {
        let ends: Vec<End> = connection.ends.iter().map(&mut resolve).collect();
        if !agrees(circuit, connection, problems) {
            continue;
        }
        match &connection.line {
            None => drafts.push(Draft { ends, span: connection.span, has_line: false }),
            Some(line) => {
                let index = circuit.components.len() + layout.lines.len();
                let parts = line_ends(line, index, ends.len());
                let Some(parts) = parts else {
                    problems.push(
                        Diagnostic::error(
                            Code::LineDimensions,
                            format!(
                                "a line of type `{}` cannot join {} ports",
                                line.declaration().name,
                                ends.len()
                            ),
                        )
                        .at_if(connection.span, "this connection")
                        .help(match line.declaration().ports.first().map(|port| port.domain) {
                            Some(Domain::Hydraulic) => "connect two ports with it, or use `hydraulic.line` or `hydraulic.volume`, which take any number",
                            _ => "connect the ports two by two, each pair with a line of its own",
                        }),
                    );
                    continue;
                };
                layout.lines.push(line.clone());
                layout.places.insert((index, 0), ends.len() as u32);
                for (end, part) in ends.into_iter().zip(parts) {
                    drafts.push(Draft {
                        ends: vec![end, part],
                        span: connection.span,
                        has_line: true,
                    });
                }
            }
        }
    }

    for draft in merge(circuit, drafts) {
        settle(circuit, registry, draft, &mut layout, problems);
    }
    layout
}

/// Places of ports that connections ask for by number: component, port, place.
type Taken = HashMap<(usize, usize, u32), Option<Span>>;

/// Counts the connections of many-ports and finds places given twice.
fn number_places(
    circuit: &Circuit,
    layout: &mut Layout,
    taken: &mut Taken,
    problems: &mut Diagnostics,
) {
    let many = |end: &PortEnd| circuit.components[end.component].declaration().ports[end.port].many;
    for end in circuit.connections.iter().flat_map(|c| &c.ends).filter(|e| many(e)) {
        let count = layout.places.entry((end.component, end.port)).or_insert(0);
        *count += 1;
        if let Some(place) = end.place
            && let Some(first) = taken.insert((end.component, end.port, place), end.span)
        {
            let instance = &circuit.components[end.component];
            let name =
                format!("{}.{}{place}", instance.name, instance.declaration().ports[end.port].name);
            let mut problem =
                Diagnostic::error(Code::PortConnectedTwice, format!("`{name}` is connected twice"))
                    .at_if(end.span, "connected again here")
                    .help("leave the number away: each connection then gets a place of its own");
            if let Some(first) = first {
                problem = problem.also(first, "first connected here");
            }
            problems.push(problem);
        }
    }
    // A place beyond the number of connections would leave gaps: close them upwards.
    for (&(component, port, place), _) in taken.iter() {
        let count = layout.places.entry((component, port)).or_insert(0);
        *count = (*count).max(place);
    }
}

fn describe(circuit: &Circuit, end: &PortEnd) -> String {
    let instance = &circuit.components[end.component];
    format!("{}.{}", instance.name, instance.declaration().ports[end.port].name)
}

/// All ends of one domain and one oil; a port does not meet itself.
fn agrees(circuit: &Circuit, connection: &Connection, problems: &mut Diagnostics) -> bool {
    let Some(first) = connection.ends.first() else {
        return false;
    };
    let port_of = |e: &PortEnd| -> &'static Port {
        &circuit.components[e.component].declaration().ports[e.port]
    };
    let mut good = true;
    for (i, end) in connection.ends.iter().enumerate() {
        let (a, b) = (port_of(first), port_of(end));
        if a.domain != b.domain {
            problems.push(
                Diagnostic::error(
                    Code::DomainsDiffer,
                    format!(
                        "`{}` is {}, but `{}` is {}",
                        describe(circuit, first),
                        a.domain.name(),
                        describe(circuit, end),
                        b.domain.name()
                    ),
                )
                .at_if(end.span, format!("{} port", b.domain.name()))
                .help("connect ports of one domain; cylinders, pumps and motors change one into the other"),
            );
            good = false;
        } else if a.domain == Domain::Hydraulic {
            let (f, g) = (
                circuit.components[first.component].fluid,
                circuit.components[end.component].fluid,
            );
            if f != g {
                problems.push(
                    Diagnostic::error(
                        Code::FluidsDiffer,
                        format!(
                            "`{}` and `{}` hold different fluids",
                            describe(circuit, first),
                            describe(circuit, end)
                        ),
                    )
                    .at_if(end.span, "this port holds another fluid")
                    .help("give both components the same `fluid`, or separate the circuits"),
                );
                good = false;
            }
        }
        let again = connection.ends[..i].iter().find(|e| {
            e.component == end.component
                && e.port == end.port
                && (!b.many || e.place.is_some() && e.place == end.place)
        });
        if again.is_some() {
            problems.push(
                Diagnostic::error(
                    Code::ConnectedToItself,
                    format!("`{}` is connected to itself", describe(circuit, end)),
                )
                .at_if(end.span, "the same port again")
                .help("name another port, or leave it away"),
            );
            good = false;
        }
    }
    good
}

/// The ports of a line component, when it can take that many ends.
fn line_ends(line: &Instance, index: usize, count: usize) -> Option<Vec<End>> {
    let declaration = line.declaration();
    if declaration.causality != Causality::C {
        return None;
    }
    let end = |port, place| End { component: index, port, place, span: line.span };
    match declaration.ports {
        [port] if port.many && count >= 1 => {
            Some((1..=count as u32).map(|place| end(0, place)).collect())
        }
        ports if ports.len() == count && ports.iter().all(|p| p.domain == ports[0].domain) => {
            Some((0..count).map(|port| end(port, 1)).collect())
        }
        _ => None,
    }
}

/// Connections that share a port are one.
fn merge(circuit: &Circuit, drafts: Vec<Draft>) -> Vec<Draft> {
    let mut merged: Vec<Draft> = Vec::with_capacity(drafts.len());
    let mut root: Vec<usize> = Vec::new();
    let mut home: HashMap<(usize, usize), usize> = HashMap::new();
    fn find(root: &mut [usize], mut i: usize) -> usize {
        while root[i] != i {
            root[i] = root[root[i]];
            i = root[i];
        }
        i
    }
    for draft in drafts {
        let new = merged.len();
        root.push(new);
        for end in &draft.ends {
            let many = circuit
                .components
                .get(end.component)
                .is_some_and(|c| c.declaration().ports[end.port].many);
            if many || end.component >= circuit.components.len() {
                continue;
            }
            let before = *home.entry((end.component, end.port)).or_insert(new);
            let (a, b) = (find(&mut root, before), find(&mut root, new));
            // The later joins the earlier, so that order follows the file.
            root[a.max(b)] = a.min(b);
        }
        merged.push(draft);
    }
    let mut ends: Vec<Vec<End>> = merged.iter().map(|_| Vec::new()).collect();
    for i in 0..merged.len() {
        let home = find(&mut root, i);
        // Messages are about a connection that leaves its line to the defaults, if there is one.
        if merged[home].has_line && !merged[i].has_line {
            merged[home].span = merged[i].span;
        }
        let has_line = merged[home].has_line || merged[i].has_line;
        merged[home].has_line = has_line;
        for end in std::mem::take(&mut merged[i].ends) {
            let known = ends[home]
                .iter()
                .any(|e| (e.component, e.port, e.place) == (end.component, end.port, end.place));
            if !known {
                ends[home].push(end);
            }
        }
    }
    merged
        .into_iter()
        .zip(ends)
        .filter(|(_, ends)| !ends.is_empty())
        .map(|(draft, ends)| Draft { ends, ..draft })
        .collect()
}

/// Turns merged ends into meetings with at most one Q-port, inserting a line where needed.
fn settle(
    circuit: &Circuit,
    registry: &Registry,
    draft: Draft,
    layout: &mut Layout,
    problems: &mut Diagnostics,
) {
    let count = circuit.components.len();
    let mut meeting = Meeting::default();
    let mut qs = Vec::new();
    for end in &draft.ends {
        let instance = instance_of(circuit, &layout.lines, end);
        let port = &instance.declaration().ports[end.port];
        if port.observes {
            meeting.observers.push(*end);
        } else if instance.declaration().causality == Causality::C {
            meeting.c.push(*end);
        } else {
            qs.push(*end);
        }
    }
    if qs.len() + meeting.c.len() < 2
        && !(qs.len() + meeting.c.len() == 1
            && !meeting.observers.is_empty()
            && !meeting.c.is_empty())
    {
        let Some(end) = draft.ends.first() else {
            return;
        };
        let name = |end: &End| line_place(instance_of(circuit, &layout.lines, end), end);
        let problem = match qs.first().or(meeting.c.first()) {
            Some(only) => Diagnostic::error(
                Code::SinglePortConnection,
                format!("`{}` is joined to sensors only", name(only)),
            ),
            None => Diagnostic::error(
                Code::SinglePortConnection,
                format!("`{}` is a sensor, and there is nothing to look at", name(end)),
            ),
        };
        problems.push(
            problem.at_if(draft.span.or(end.span), "sensors take no part in a connection").help(
                "name the ports between which power flows; a sensor joins one of their connections",
            ),
        );
        return;
    }
    if qs.len() < 2 {
        meeting.q = qs.pop();
        layout.meetings.push(meeting);
        return;
    }

    // Several Q-ports: the connection is a line between them, joined to the C-ports if any.
    let first = instance_of(circuit, &layout.lines, &qs[0]);
    let domain = first.declaration().ports[qs[0].port].domain;
    let ends = qs.len() + usize::from(!meeting.c.is_empty());
    let Some(line) = make_default_line(circuit, registry, domain, first, &qs[0], ends) else {
        problems.push(
            Diagnostic::error(
                Code::LineDimensions,
                format!(
                    "{} {} ports meet at `{}`, which needs a line between them",
                    qs.len(),
                    domain.name(),
                    first.name
                ),
            )
            .at_if(draft.span, "this connection")
            .help("connect moving parts two by two, with a spring, a shaft or a line between them"),
        );
        return;
    };
    let index = count + layout.lines.len();
    let Some(parts) = line_ends(&line, index, ends) else {
        problems.push(
            Diagnostic::error(
                Code::LineDimensions,
                format!("{} moving parts meet at `{}`", qs.len(), first.name),
            )
            .at_if(draft.span, "this connection")
            .help("connect moving parts two by two, each pair with a stiffness of its own"),
        );
        return;
    };
    let value =
        line.values.iter().find_map(|v| if let Value::Number(x) = v { Some(*x) } else { None });
    let unit = line.declaration().parameters.first().map_or("", |p| p.unit);
    let shown = value.map_or(String::new(), |x| {
        fluxline_units::Quantity::parse(&format!("{x:e} {unit}"))
            .map_or(format!("{x} {unit}"), |q| q.to_string())
    });
    let warning = Diagnostic::warning(
        Code::DefaultLineVolume,
        format!(
            "the connection at `{}` uses the default line, {} {shown}",
            line_place(first, &qs[0]),
            line.declaration().name
        ),
    )
    .at_if(draft.span, "no line is given here");
    problems.push(match draft.has_line {
        true => warning
            .note("it joins a port that has a line already; the default stands between the two")
            .help("to branch off that line, name all ports in its connection: `to = [\"relief.inlet\", \"valve.p\"]`"),
        false => warning
            .help("give it one: `line = { length = \"1 m\", bore = \"12 mm\" }`, or set the default under [lines]"),
    });
    layout.lines.push(line);
    layout.places.insert((index, 0), ends as u32);
    for (i, (q, part)) in qs.iter().zip(&parts).enumerate() {
        let observers = if i == 0 { std::mem::take(&mut meeting.observers) } else { Vec::new() };
        layout.meetings.push(Meeting { q: Some(*q), c: vec![*part], observers });
    }
    if !meeting.c.is_empty() {
        meeting.c.push(parts[qs.len()]);
        layout.meetings.push(Meeting { q: None, ..meeting });
    }
}

/// The component of an end: one of the circuit's own, or an inserted line.
pub fn instance_of<'a>(circuit: &'a Circuit, lines: &'a [Instance], end: &End) -> &'a Instance {
    match circuit.components.get(end.component) {
        Some(instance) => instance,
        None => &lines[end.component - circuit.components.len()],
    }
}

fn line_place(instance: &Instance, end: &End) -> String {
    format!("{}.{}", instance.name, instance.declaration().ports[end.port].name)
}

fn make_default_line(
    circuit: &Circuit,
    registry: &Registry,
    domain: Domain,
    first: &Instance,
    end: &End,
    ends: usize,
) -> Option<Instance> {
    let (type_name, parameter, value) = default_line(domain, &circuit.lines)?;
    if domain.is_mechanical() && ends > 2 {
        return None;
    }
    let kind = registry.get(type_name)?;
    let mut all = values::defaults(kind.declaration).ok()?;
    all[kind.declaration.parameter(parameter)?] = Value::Number(value);
    Some(Instance {
        name: format!("line.{}", line_place(first, end)),
        kind,
        value_spans: vec![None; all.len()],
        starts: Vec::new(),
        disabled: false,
        gates: Vec::new(),
        values: all,
        fluid: first.fluid,
        rate: 0,
        span: None,
    })
}

/// Ports that must be connected and are not.
pub fn find_loose_ends(circuit: &Circuit, layout: &Layout, problems: &mut Diagnostics) {
    let mut connected: HashMap<(usize, usize), ()> = HashMap::new();
    // A connection that was refused has an error of its own.
    for end in circuit.connections.iter().flat_map(|connection| &connection.ends) {
        connected.insert((end.component, end.port), ());
    }
    for meeting in &layout.meetings {
        for end in meeting.q.iter().chain(&meeting.c).chain(&meeting.observers) {
            connected.insert((end.component, end.port), ());
        }
    }
    for (index, instance) in circuit.components.iter().enumerate() {
        for (port, declared) in instance.declaration().ports.iter().enumerate() {
            if !declared.optional && !connected.contains_key(&(index, port)) {
                let mut problem = Diagnostic::error(
                    Code::PortNotConnected,
                    format!(
                        "`{}.{}` ({}) is not connected",
                        instance.name, declared.name, declared.meaning
                    ),
                )
                .at_if(instance.span, format!("`{}` is declared here", instance.name));
                if instance.span.is_none() {
                    problem = problem.on(Place::component(&instance.name).port(declared.name));
                }
                let may_lead_out = declared.domain == Domain::Hydraulic
                    && instance.declaration().causality == Causality::Q;
                let outside = match may_lead_out {
                    true => ", to a `hydraulic.tank` if it leads outside",
                    false => "",
                };
                let end = format!("{}.{}", instance.name, declared.name);
                let inner = instance.name.rsplit_once('.').map(|(_, name)| name);
                problems.push(match inner {
                    None => problem
                        .help(format!("connect it: add a `[[connect]]` with \"{end}\"{outside}")),
                    Some(inner) => problem.help(format!(
                        "connect \"{inner}.{0}\" within the sub-circuit, or expose it under `[ports]` and connect it where the sub-circuit is used",
                        declared.name
                    )),
                });
            }
        }
    }
}
