//! Components that draw random numbers share one sequence: each must know how many numbers the
//! others draw before and after it in a step.

use super::nets::{self, Kind, Offer, declaration};
use crate::evaluate::{Evaluated, ObjectValues, SystemValues};
use crate::model::{Object, System, join};
use fluxline_core::circuit::Registry;
use fluxline_core::declare::Causality;
use fluxline_core::plan::order::{Edge, sequence};
use fluxline_hopsan::signal::noise::draws;
use std::collections::HashMap;

/// Numbers drawn by others before and after a component, by its full name.
pub(super) type Draws = HashMap<String, (usize, usize)>;

fn draws_at_all(typename: &str) -> bool {
    draws(typename, 1, 1.0, 1.0) > 0
}

fn has_noise(system: &System) -> bool {
    system.components().any(|c| draws_at_all(&c.typename)) || system.systems().any(has_noise)
}

/// Counts for all components that draw; empty for a model without any.
pub(super) fn count(root: &System, values: &SystemValues, registry: &Registry) -> Draws {
    let mut drawing: Vec<(String, usize)> = Vec::new();
    if has_noise(root) {
        let step = root.times.step;
        let model = Modelled { registry, step };
        walk(root, values, "", step, &model, &mut drawing);
    }
    let total: usize = drawing.iter().map(|(_, count)| count).sum();
    let mut before = 0;
    drawing
        .into_iter()
        .map(|(name, count)| {
            let counts = (before, total - before - count);
            before += count;
            (name, counts)
        })
        .collect()
}

/// What holds for the whole model.
struct Modelled<'a> {
    registry: &'a Registry,
    /// Its time step, s.
    step: f64,
}

/// Lists what draws, in the order in which signals are computed.
fn walk(
    system: &System,
    values: &SystemValues,
    path: &str,
    step: f64,
    model: &Modelled,
    drawing: &mut Vec<(String, usize)>,
) -> Vec<(String, Offer)> {
    let registry = model.registry;
    let mut inner = HashMap::new();
    let mut nested_drawing: HashMap<usize, Vec<(String, usize)>> = HashMap::new();
    for (index, object) in system.objects.iter().enumerate() {
        if let (Object::System(nested), Some(ObjectValues::System(values))) =
            (object, values.objects.get(index))
        {
            let mut found = Vec::new();
            let path = join(path, &nested.name);
            let step = super::step_of(nested, step, model.step);
            inner.insert(index, walk(nested, values, &path, step, model, &mut found));
            nested_drawing.insert(index, found);
        }
    }
    let nets = nets::gather(system, registry, &inner);
    let is_signal = |index: usize| match &system.objects[index] {
        Object::Component(component) => declaration(registry, &component.typename)
            .is_some_and(|declaration| declaration.causality == Causality::S),
        Object::System(_) => true,
        Object::Port(_) => false,
    };
    let mut edges = Vec::new();
    for node in &nets.nodes {
        let Some(source) = node.iter().find(|m| m.kind == Kind::Output && is_signal(m.object))
        else {
            continue;
        };
        for reader in node.iter().filter(|m| m.kind == Kind::Input && is_signal(m.object)) {
            let is_free = matches!(&system.objects[reader.object],
                Object::Component(component) if component.typename == "SignalUnitDelay");
            edges.push(Edge { from: source.object, to: reader.object, may_break: is_free });
        }
    }
    for index in sequence(system.objects.len(), &edges) {
        match (&system.objects[index], values.objects.get(index)) {
            (Object::System(_), _) => {
                drawing.extend(nested_drawing.remove(&index).unwrap_or_default());
            }
            (Object::Component(component), Some(ObjectValues::Component(given)))
                if draws_at_all(&component.typename) && !component.disabled =>
            {
                let value = |name: &str| number(given, name);
                let method = value("method").unwrap_or(0.0) as usize;
                let window = value("wl").unwrap_or(1.0);
                let count = draws(&component.typename, method, window, step);
                drawing.push((join(path, &component.name), count));
            }
            _ => {}
        }
    }
    nets.offers
}

fn number(given: &[Evaluated], name: &str) -> Option<f64> {
    let found = given.iter().find(|g| g.name.strip_suffix("#Value").unwrap_or(&g.name) == name);
    found.and_then(|found| found.value.number())
}
