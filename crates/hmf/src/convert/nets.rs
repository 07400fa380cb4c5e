//! Which ports meet: connections of a system gathered into nodes.
//!
//! A node joins all ends that connections lead together. A port that takes many connections is a new
//! end with each of them. What lies behind a port of a nested system is looked up, so that a node
//! consists of ports of components and of ports that nested systems offer.

use crate::model::{Object, System, SystemKind};
use fluxline_core::circuit::Registry;
use fluxline_core::declare::Declaration;
use std::collections::HashMap;

/// What a port of a component is to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A power port that takes part.
    Power,
    /// A power port that only looks.
    Observer,
    /// An output.
    Output,
    /// An input.
    Input,
    /// The input of a conditional sub-system that lets it run.
    Gate,
}

/// One thing that a node joins.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// `component.port`, as a circuit file writes it.
    pub text: String,
    pub kind: Kind,
    /// The object in its system.
    pub object: usize,
    /// The port of a component, with the number of an input that takes many.
    pub port: String,
}

/// A port that a system offers, by what stands behind it.
#[derive(Clone, Debug, Default)]
pub(super) struct Offer {
    /// Names under which the system offers it, and what each is. Several where a signal from outside
    /// drives several inputs.
    pub names: Vec<(String, Kind)>,
    /// What each stands for inside: `component.port`.
    pub targets: Vec<String>,
}

/// The nodes of a system.
#[derive(Debug, Default)]
pub(super) struct Nets {
    /// Members of each node, in the order of the file.
    pub nodes: Vec<Vec<Member>>,
    /// What the system offers, by the name of the port, in the order of the file.
    pub offers: Vec<(String, Offer)>,
    /// Ports that are named in connections but that a component does not have.
    pub unknown: Vec<(usize, String, fluxline_diagnostics::Span)>,
}

/// The name that a type has for a port of an old file: signals of generated types once began with a
/// `P` (`Pxv` for `xv`).
fn present_name<'p>(declaration: &Declaration, port: &'p str) -> Option<&'p str> {
    let is_known = |name: &str| kind_of(declaration, name).is_some();
    if is_known(port) {
        return Some(port);
    }
    let bare = port.strip_prefix('P')?;
    matches!(kind_of(declaration, bare), Some((Kind::Input | Kind::Output, _))).then_some(bare)
}

/// What a port of a type is.
pub(super) fn kind_of(declaration: &Declaration, port: &str) -> Option<(Kind, bool)> {
    if let Some(found) = declaration.ports.iter().find(|p| p.name == port) {
        let kind = if found.observes { Kind::Observer } else { Kind::Power };
        return Some((kind, found.many));
    }
    if declaration.outputs.iter().any(|o| o.name == port) {
        return Some((Kind::Output, false));
    }
    let input = declaration.parameters.iter().find(|p| p.name == port && p.input.is_some())?;
    // An input that takes many connections is declared as `in`, `in_2`, `in_3` …
    let second = format!("{}_2", input.name);
    Some((Kind::Input, declaration.parameters.iter().any(|p| p.name == second)))
}

/// Declaration of a component's type.
pub(super) fn declaration(registry: &Registry, typename: &str) -> Option<&'static Declaration> {
    registry.get(&format!("hopsan.{typename}")).map(|kind| kind.declaration)
}

/// An end of a connection, before members are known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    object: usize,
    port: String,
    /// Number of the connection, for a port that takes many.
    place: usize,
}

/// Gathers the nodes of a system; `inner` has the offers of each nested system by object.
pub(super) fn gather(
    system: &System,
    registry: &Registry,
    inner: &HashMap<usize, Vec<(String, Offer)>>,
) -> Nets {
    let mut nets = Nets::default();
    let mut places: HashMap<(usize, String), usize> = HashMap::new();
    let mut ends: Vec<Key> = Vec::new();
    let mut by_key: HashMap<Key, usize> = HashMap::new();
    let mut root: Vec<usize> = Vec::new();
    for connection in &system.connections {
        let mut pair = Vec::with_capacity(2);
        for end in [&connection.start, &connection.end] {
            let mut port = end.port.as_str();
            let many = match &system.objects[end.object] {
                Object::Component(component) => match declaration(registry, &component.typename) {
                    None => None,
                    Some(declaration) => {
                        match present_name(declaration, port) {
                            Some(name) => port = name,
                            None => {
                                nets.unknown.push((end.object, port.to_owned(), connection.span))
                            }
                        }
                        kind_of(declaration, port).map(|(_, many)| many)
                    }
                },
                _ => Some(false),
            };
            let Some(many) = many else { continue };
            let place = if many {
                let count = places.entry((end.object, port.to_owned())).or_insert(0);
                *count += 1;
                *count
            } else {
                0
            };
            let key = Key { object: end.object, port: port.to_owned(), place };
            pair.push(*by_key.entry(key.clone()).or_insert_with(|| {
                ends.push(key);
                root.push(ends.len() - 1);
                ends.len() - 1
            }));
        }
        if let [a, b] = pair[..] {
            let (a, b) = (find(&mut root, a), find(&mut root, b));
            root[a.max(b)] = a.min(b);
        }
    }
    let mut node_of: HashMap<usize, usize> = HashMap::new();
    let mut offered: Vec<Vec<String>> = Vec::new();
    for index in 0..ends.len() {
        let home = find(&mut root, index);
        let node = *node_of.entry(home).or_insert_with(|| {
            nets.nodes.push(Vec::new());
            offered.push(Vec::new());
            nets.nodes.len() - 1
        });
        let Key { object, port, place } = &ends[index];
        match &system.objects[*object] {
            Object::Port(own) => offered[node].push(own.name.clone()),
            Object::System(nested) => {
                if nested.kind == SystemKind::Conditional && port == "on" {
                    let text = format!("{}.on", nested.name);
                    let member =
                        Member { text, kind: Kind::Gate, object: *object, port: port.clone() };
                    nets.nodes[node].push(member);
                }
                let offers = inner.get(object).map_or(&[][..], |offers| offers);
                for (name, kind) in offers
                    .iter()
                    .filter(|(name, _)| name == port)
                    .flat_map(|(_, offer)| &offer.names)
                {
                    let text = format!("{}.{name}", nested.name);
                    let member = Member { text, kind: *kind, object: *object, port: name.clone() };
                    nets.nodes[node].push(member);
                }
            }
            Object::Component(component) => {
                let known = declaration(registry, &component.typename)
                    .and_then(|declaration| kind_of(declaration, port));
                let Some((kind, _)) = known else { continue };
                let port = match (kind, *place) {
                    (Kind::Input, 2..) => format!("{port}_{place}"),
                    _ => port.clone(),
                };
                let text = format!("{}.{port}", component.name);
                nets.nodes[node].push(Member { text, kind, object: *object, port });
            }
        }
    }
    for (node, names) in offered.into_iter().enumerate() {
        for name in names {
            let offer = offer(&name, &nets.nodes[node]);
            nets.offers.push((name, offer));
        }
    }
    nets
}

fn find(root: &mut [usize], mut i: usize) -> usize {
    while root[i] != i {
        root[i] = root[root[i]];
        i = root[i];
    }
    i
}

/// What a system's port stands for: one of the power ports that meet there, the output, or all
/// inputs.
fn offer(name: &str, members: &[Member]) -> Offer {
    let first = |kind: Kind| members.iter().find(|member| member.kind == kind);
    let chosen: Vec<&Member> = match first(Kind::Power).or(first(Kind::Output)) {
        Some(one) => vec![one],
        None => match first(Kind::Observer) {
            Some(one) => vec![one],
            None => members.iter().filter(|member| member.kind == Kind::Input).collect(),
        },
    };
    let mut offer = Offer::default();
    for (number, member) in chosen.into_iter().enumerate() {
        let name = if number == 0 { name.to_owned() } else { format!("{name}_{}", number + 1) };
        offer.names.push((name, member.kind));
        offer.targets.push(member.text.clone());
    }
    offer
}
