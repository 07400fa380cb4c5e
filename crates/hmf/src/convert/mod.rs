//! From a model to a circuit file in this program's own format.
//!
//! Running a model is running its circuit file: there is one way from a text to a result, so that a
//! converted file cannot behave in another way than the model it came from. Every component keeps
//! its name, its type (`hopsan.` and Hopsan's name) and the names of its ports and parameters; values
//! stand in usual units and read back as the same bits. What this program has no use for is kept
//! under `[data]`.

mod component;
mod data;
mod nets;
mod noise;
mod text;
mod types;

pub use types::RegistryTypes;

use crate::Loaded;
use crate::evaluate::{Evaluated, ObjectValues, Override, SystemValues};
use crate::model::{Model, Object, Pose, System, SystemKind, join};
use fluxline_core::circuit::Registry;
use fluxline_core::declare::{ANY_UNIT, Causality, Declaration, Parameter};
use fluxline_core::domain::Domain;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Place, SourceMap, Span};
use nets::{Kind as End, Offer, declaration};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;
use text::{Values, key, plain, quoted};

/// A converted model.
#[derive(Debug)]
pub struct Converted {
    /// The circuit file, as far as it is run.
    pub text: String,
    /// The end of the circuit file: what is kept under `[data]`.
    pub data: String,
    /// What has no counterpart, in words: kept under `[data]`, with counts.
    pub kept: Vec<String>,
}

/// A model file on its way to a circuit.
#[derive(Debug)]
pub struct Import {
    /// The circuit file; `None` when there are errors.
    pub converted: Option<Converted>,
    /// All files that were read.
    pub sources: SourceMap,
    /// What was found wrong or odd.
    pub diagnostics: Diagnostics,
}

/// Reads a model file and writes it as a circuit file.
pub fn import(path: &Path, registry: &Registry, overrides: &[Override]) -> Import {
    let Loaded { model, sources, mut diagnostics } = crate::load_file(path);
    let converted = model.map(|model| {
        let types = RegistryTypes(registry);
        let values = crate::evaluate::evaluate(&model, &types, overrides, &mut diagnostics);
        convert(&model, &values, registry, &sources, &mut diagnostics)
    });
    let converted = converted.filter(|_| !diagnostics.has_errors());
    Import { converted, sources, diagnostics }
}

/// Writes a model as a circuit file. Everything that cannot be converted is reported at once.
pub fn convert(
    model: &Model,
    values: &crate::evaluate::Values,
    registry: &Registry,
    sources: &SourceMap,
    problems: &mut Diagnostics,
) -> Converted {
    let mut writer = Writer {
        registry,
        problems,
        out: String::new(),
        texts: Values::default(),
        draws: noise::count(&model.root, &values.root, registry),
        step: model.root.times.step,
        unsupported: BTreeMap::new(),
        skipped: Vec::new(),
        scopes: Vec::new(),
    };
    writer.root(model, &values.root);
    writer.report_unsupported();
    let mut kept = Vec::new();
    let skipped = std::mem::take(&mut writer.skipped);
    let text = std::mem::take(&mut writer.out);
    let mut data = String::new();
    data::write(&mut data, model, sources, &skipped, &mut kept);
    Converted { text, data, kept }
}

struct Writer<'a> {
    registry: &'a Registry,
    problems: &'a mut Diagnostics,
    out: String,
    texts: Values,
    /// Random numbers that others draw, by component.
    draws: noise::Draws,
    /// Time step of the model, s.
    step: f64,
    /// Types that there are none of here: how many components, and where the first.
    unsupported: BTreeMap<String, (usize, Span, String)>,
    /// Components left out because nothing is connected to them: name, type, whole element.
    skipped: Vec<(String, String, Span)>,
    /// What the model's scopes show, by the place of the scope: its name, and the variables.
    scopes: Vec<(String, Vec<String>)>,
}

/// Where a system stands.
struct Around<'a> {
    /// Its path: `Sub$Inner`.
    path: &'a str,
    /// What stands before its keys.
    prefix: &'a str,
    /// Its time step, s.
    step: f64,
}

/// Where a component stands, and what is connected to it.
struct Spot<'a> {
    /// Path of its system: `Sub$Inner`.
    path: &'a str,
    /// What stands before the keys of its system.
    prefix: &'a str,
    /// Inputs that a signal drives.
    driven: &'a HashSet<&'a str>,
    is_connected: bool,
    shared: &'a Shared<'a>,
    /// Folder that files are looked for in.
    folder: &'a Path,
    /// Ports at the border of its system.
    borders: &'a Borders,
    /// Its place among the objects.
    index: usize,
}

/// Ports of components at the border of a system that stores, by object and port: the start values
/// that the system gives them.
type Borders = HashMap<(usize, String), Vec<Evaluated>>;

/// Types that start from their own values even where a system around them has others.
const START_FROM_THEIR_OWN: &[&str] = &[
    "ElectricCapacitanceMultiPort",
    "HydraulicCylinderC",
    "HydraulicFourChamberPiston",
    "HydraulicMachineC",
    "HydraulicSpringLoadedPistonC",
    "HydraulicTLMlossless",
    "HydraulicVolume",
    "HydraulicVolumeMultiPort",
];

/// A parameter of a system as the circuit file has it: its unit, when all who use it agree.
type Shared<'m> = HashMap<&'m str, Option<&'static str>>;

impl Writer<'_> {
    fn root(&mut self, model: &Model, values: &SystemValues) {
        let system = &model.root;
        let title = model.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let _ = writeln!(self.out, "title = {}", quoted(&title.unwrap_or_default()));
        if !model.info.description.trim().is_empty() {
            let _ = writeln!(self.out, "description = {}", quoted(model.info.description.trim()));
        }
        let times = &system.times;
        let _ = writeln!(self.out, "\n[run]\nconvention = \"hopsan\"");
        for (name, value) in [("start", times.start), ("stop", times.stop), ("step", times.step)] {
            if name == "start" && value == 0.0 {
                continue;
            }
            let _ = writeln!(self.out, "{name} = {}", self.texts.number(value, "s"));
        }
        if system.log.samples >= 2 {
            let _ = writeln!(self.out, "\n[record]\nsamples = {}", system.log.samples);
            if system.log.start > times.start {
                let text = self.texts.number(system.log.start, "s");
                let _ = writeln!(self.out, "start = {text}");
            }
        }
        self.system(system, values, &Around { path: "", prefix: "", step: times.step });
        for (name, variables) in std::mem::take(&mut self.scopes) {
            let variables: Vec<String> = variables.iter().map(|name| quoted(name)).collect();
            let (title, list) = (quoted(&name), variables.join(", "));
            let _ = writeln!(self.out, "\n[[plot]]\ntitle = {title}\nvariables = [{list}]");
        }
    }

    /// Notes what the scopes of a system show: they become plots.
    fn scopes(&mut self, system: &System, path: &str, nets: &nets::Nets) {
        let mut shown: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for node in &nets.nodes {
            for member in node.iter().filter(|member| member.kind == End::Input) {
                let is_scope = matches!(&system.objects[member.object],
                    Object::Component(component) if component.typename == "SignalSink");
                if !is_scope {
                    continue;
                }
                // The name of what is shown tells more than that of the scope.
                let source = node.iter().find(|m| m.kind == End::Output).unwrap_or(member);
                let name = join(path, system.objects[source.object].name());
                let variable = format!("{name}#{}#Value", source.port);
                let all = shown.entry(member.object).or_default();
                if !all.contains(&variable) {
                    all.push(variable);
                }
            }
        }
        for (object, variables) in shown {
            self.scopes.push((join(path, system.objects[object].name()), variables));
        }
    }

    /// Writes a system and all within it; gives what it offers to the outside.
    fn system(
        &mut self,
        system: &System,
        values: &SystemValues,
        around: &Around,
    ) -> Vec<(String, Offer)> {
        let &Around { path, prefix, step } = around;
        // Nested systems first: what they offer tells what their ports are.
        let outer = std::mem::take(&mut self.out);
        let mut inner = HashMap::new();
        for (index, object) in system.objects.iter().enumerate() {
            if let (Object::System(nested), Some(ObjectValues::System(values))) =
                (object, values.objects.get(index))
            {
                let path = join(path, &nested.name);
                let prefix = format!("{prefix}subcircuits.{}.", key(&nested.name));
                let step = step_of(nested, step, self.step);
                let inside = Around { path: &path, prefix: &prefix, step };
                inner.insert(index, self.system(nested, values, &inside));
            }
        }
        let nested = std::mem::replace(&mut self.out, outer);

        let nets = nets::gather(system, self.registry, &inner);
        for (object, port, span) in &nets.unknown {
            self.unknown_port(&system.objects[*object], port, *span);
        }
        let mut driven: HashMap<usize, HashSet<&str>> = HashMap::new();
        let mut connected: HashSet<usize> = HashSet::new();
        let offered: HashSet<&str> =
            nets.offers.iter().flat_map(|(_, o)| &o.targets).map(String::as_str).collect();
        for node in &nets.nodes {
            let is_source =
                |m: &nets::Member| m.kind == End::Output || offered.contains(m.text.as_str());
            let has_source = node.iter().any(is_source);
            for member in node {
                connected.insert(member.object);
                if member.kind == End::Input && has_source {
                    driven.entry(member.object).or_default().insert(&member.port);
                }
            }
        }
        for connection in &system.connections {
            connected.extend([connection.start.object, connection.end.object]);
        }

        self.scopes(system, path, &nets);

        // What switches each conditional sub-system.
        let mut gates: HashMap<usize, &str> = HashMap::new();
        for node in &nets.nodes {
            let Some(source) = node.iter().find(|m| m.kind == End::Output) else { continue };
            let gated = node.iter().filter(|m| m.kind == End::Gate);
            gates.extend(gated.map(|gate| (gate.object, source.text.as_str())));
        }

        let borders = self.borders(system, values, &nets);
        let shared = self.shared_parameters(system, values);
        self.parameters(system, values, prefix, &shared);
        let mut order: Vec<usize> = (0..system.objects.len()).collect();
        order.sort_by_key(|&index| self.place(&system.objects[index]));
        let mut heading = "";
        let nothing = HashSet::new();
        for index in order {
            let object = &system.objects[index];
            let group = self.place(object).1;
            if group != heading && !group.is_empty() {
                heading = group;
                let _ = writeln!(self.out, "\n# {group}");
            }
            match object {
                Object::Component(component) => {
                    let driven = driven.get(&index).unwrap_or(&nothing);
                    let is_connected = connected.contains(&index);
                    let folder = &system.folder;
                    let place = Spot {
                        path,
                        prefix,
                        driven,
                        is_connected,
                        shared: &shared,
                        folder,
                        borders: &borders,
                        index,
                    };
                    let given = match values.objects.get(index) {
                        Some(ObjectValues::Component(given)) => &given[..],
                        _ => &[],
                    };
                    self.component(component, given, &place);
                }
                Object::System(nested) => {
                    let none = SystemValues::default();
                    let values = match values.objects.get(index) {
                        Some(ObjectValues::System(values)) => values,
                        _ => &none,
                    };
                    self.use_of(nested, values, around, gates.get(&index).copied());
                }
                Object::Port(_) => {}
            }
        }
        for node in &nets.nodes {
            self.connect(node, prefix);
        }
        if !nets.offers.is_empty() && !prefix.is_empty() {
            let _ = writeln!(self.out, "\n[{prefix}ports]");
            for (_, offer) in &nets.offers {
                for ((name, _), target) in offer.names.iter().zip(&offer.targets) {
                    let _ = writeln!(self.out, "{} = {}", key(name), quoted(target));
                }
            }
        }
        self.out.push_str(&nested);
        nets.offers
    }

    /// Where an object stands in the file: first what carries power, by domain, then signals in the
    /// order of the model, which decides the order in which they are computed.
    fn place(&self, object: &Object) -> (usize, &'static str) {
        let component = match object {
            Object::Component(component) => component,
            Object::System(_) => return (0, "sub-systems"),
            Object::Port(_) => return (8, ""),
        };
        let Some(declaration) = declaration(self.registry, &component.typename) else {
            return (8, "");
        };
        let domain = |d: Domain| declaration.ports.iter().any(|port| port.domain == d);
        match declaration.causality {
            Causality::S => (7, "signals and sensors"),
            _ if domain(Domain::Hydraulic) => (1, "hydraulics"),
            _ if domain(Domain::Pneumatic) => (2, "pneumatics"),
            _ if domain(Domain::Electrical) => (3, "electricity"),
            _ if domain(Domain::Translational) || domain(Domain::Rotational) => (4, "mechanics"),
            _ => (6, "others"),
        }
    }

    /// Start values that a nested system gives to ports at its border: those of its own ports, where
    /// all that it shows to the outside are ports of components that store.
    fn borders(&self, system: &System, values: &SystemValues, nets: &nets::Nets) -> Borders {
        let mut borders = Borders::new();
        for (name, offer) in &nets.offers {
            let Some((End::Power, target)) =
                offer.names.first().map(|(_, kind)| *kind).zip(offer.targets.first())
            else {
                continue;
            };
            let member = nets.nodes.iter().flatten().find(|member| member.text == *target);
            let Some(member) = member else { continue };
            let typename = match &system.objects[member.object] {
                Object::Component(component) => &component.typename,
                _ => return Borders::new(),
            };
            let declaration = declaration(self.registry, typename);
            if declaration.is_none_or(|found| found.causality != Causality::C) {
                return Borders::new();
            }
            if START_FROM_THEIR_OWN.contains(&typename.as_str()) {
                continue;
            }
            let starts = values.start_values.iter().filter_map(|start| {
                let (port, variable) = start.name.split_once('#')?;
                let inside = format!("{}#{variable}", member.port);
                (port == name).then(|| Evaluated { name: inside, ..start.clone() })
            });
            borders.insert((member.object, member.port.clone()), starts.collect());
        }
        borders
    }

    /// Parameters of a system that components use by name, with the unit they take it in.
    fn shared_parameters<'m>(&self, system: &'m System, values: &SystemValues) -> Shared<'m> {
        let mut shared: Shared = HashMap::new();
        let own: HashMap<&str, &str> = system
            .parameters
            .iter()
            .filter(|p| p.kind == "double" && is_name(&p.name))
            .map(|p| (p.name.as_str(), p.name.as_str()))
            .collect();
        if own.is_empty() {
            return shared;
        }
        for (object, values) in system.objects.iter().zip(&values.objects) {
            let (Object::Component(component), ObjectValues::Component(all)) = (object, values)
            else {
                continue;
            };
            let Some(declaration) = declaration(self.registry, &component.typename) else {
                continue;
            };
            for given in all {
                let Some(&name) = given.expression.as_deref().and_then(|e| own.get(e.trim()))
                else {
                    continue;
                };
                let Some(parameter) = parameter(declaration, &given.name) else { continue };
                let unit = if parameter.unit == ANY_UNIT { "1" } else { parameter.unit };
                let entry = shared.entry(name).or_insert(Some(unit));
                if *entry != Some(unit) {
                    *entry = None;
                }
            }
        }
        shared.retain(|_, unit| unit.is_some());
        shared
    }

    fn parameters(
        &mut self,
        system: &System,
        values: &SystemValues,
        prefix: &str,
        shared: &Shared,
    ) {
        let all: Vec<_> =
            system.parameters.iter().filter(|p| shared.contains_key(p.name.as_str())).collect();
        if all.is_empty() {
            return;
        }
        let _ = writeln!(self.out, "\n[{prefix}parameters]");
        for parameter in all {
            let unit = shared[parameter.name.as_str()].unwrap_or("1");
            let value = values.parameters.iter().find(|value| value.name == parameter.name);
            let Some((given, value)) = value.and_then(|v| Some((v, v.value.number()?))) else {
                continue;
            };
            let text = self.texts.number(value, unit);
            let expression = given.expression.as_deref().unwrap_or("");
            let comment = comment(&parameter.description, expression, value);
            let _ = writeln!(self.out, "{} = {text}{comment}", key(&parameter.name));
        }
    }

    fn drawing(&mut self, pose: Option<Pose>) {
        let Some(pose) = pose else { return };
        let _ = write!(self.out, "drawing = {{ x = {}, y = {}", plain(pose.x), plain(pose.y));
        if pose.angle != 0.0 {
            let _ = write!(self.out, ", angle = {}", plain(pose.angle));
        }
        if pose.flipped {
            self.out.push_str(", flipped = true");
        }
        self.out.push_str(" }\n");
    }

    /// The use of a nested system.
    fn use_of(
        &mut self,
        nested: &System,
        values: &SystemValues,
        around: &Around,
        gate: Option<&str>,
    ) {
        let &Around { prefix, step: outer, .. } = around;
        let name = key(&nested.name);
        let _ = writeln!(self.out, "\n[{prefix}components.{name}]\nuse = {}", quoted(&nested.name));
        if nested.disabled {
            let _ = writeln!(self.out, "disabled = true");
        }
        let step = step_of(nested, outer, self.step);
        if step != outer {
            let _ = writeln!(self.out, "step = {}", self.texts.number(step, "s"));
        }
        let own = nested.times.step;
        if !nested.times.inherit && own > 0.0 && step != own {
            let message = format!(
                "the step of `{}`, {own} s, does not divide that of the model, {} s, by a whole number",
                nested.name, self.step
            );
            let warning = Diagnostic::warning(Code::OddAttribute, message);
            self.problems.push(warning.at(nested.span, format!("{step} s is taken")));
        }
        if nested.kind == SystemKind::Conditional {
            let on = values.start_values.iter().find(|value| value.name == "on#Value");
            let is_on = on.and_then(|on| on.value.number()).is_some_and(|on| on > 0.0);
            match gate {
                Some(source) => {
                    let _ = writeln!(self.out, "active = {}", quoted(source));
                }
                // Never switched on, it stands still.
                None if !is_on && !nested.disabled => {
                    let _ = writeln!(self.out, "disabled = true");
                }
                None => {}
            }
        }
        self.drawing(nested.pose);
    }

    fn connect(&mut self, node: &[nets::Member], prefix: &str) {
        let source = node.iter().find(|member| member.kind == End::Output);
        let list = |members: Vec<&nets::Member>| {
            let texts: Vec<String> = members.iter().map(|m| quoted(&m.text)).collect();
            match &texts[..] {
                [one] => one.clone(),
                many => format!("[{}]", many.join(", ")),
            }
        };
        let (from, to): (Vec<_>, Vec<_>) = match source {
            Some(source) => {
                let others = node.iter().filter(|member| member.kind == End::Input).collect();
                (vec![source], others)
            }
            None => {
                let is_power = |m: &&nets::Member| matches!(m.kind, End::Power | End::Observer);
                let mut all: Vec<_> = node.iter().filter(is_power).collect();
                let rest = all.split_off(1.min(all.len()));
                (all, rest)
            }
        };
        if from.is_empty() || to.is_empty() {
            return;
        }
        let _ =
            writeln!(self.out, "\n[[{prefix}connect]]\nfrom = {}\nto = {}", list(from), list(to));
    }

    fn unknown_port(&mut self, object: &Object, port: &str, span: Span) {
        let Object::Component(component) = object else { return };
        let Some(declaration) = declaration(self.registry, &component.typename) else { return };
        let names = declaration.ports.iter().map(|p| p.name);
        let names = names.chain(declaration.outputs.iter().map(|o| o.name));
        let names = names
            .chain(declaration.parameters.iter().filter(|p| p.input.is_some()).map(|p| p.name));
        self.problems.push(
            Diagnostic::error(
                Code::UnknownPort,
                format!("`{}` ({}) has no port `{port}`", component.name, component.typename),
            )
            .at(span, "this connection")
            .on(Place::component(&component.name).port(port))
            .suggest(port, names),
        );
    }

    fn report_unsupported(&mut self) {
        for (typename, (count, span, name)) in std::mem::take(&mut self.unsupported) {
            let components = if count == 1 { "component is" } else { "components are" };
            let message =
                format!("{count} {components} of the type `{typename}`, which is not supported");
            self.problems.push(
                Diagnostic::error(Code::UnsupportedImport, message)
                    .at(span, format!("`{name}`{}", if count > 1 { " is the first" } else { "" }))
                    .help("replace it with another type in Hopsan, or leave it out"),
            );
        }
        for (name, typename, span) in &self.skipped {
            self.problems.push(
                Diagnostic::warning(
                    Code::IgnoredPart,
                    format!("`{name}` is left out: its type `{typename}` is not supported, and nothing is connected to it"),
                )
                .at(*span, "left out"),
            );
        }
    }
}

/// The time step of a nested system: its own where it has one, or the next smaller one that divides
/// the model's by a whole number. One that is larger than the model's is not taken: there is nothing
/// to be gained by being less exact.
fn step_of(nested: &System, around: f64, model: f64) -> f64 {
    let own = nested.times.step;
    if nested.times.inherit || own <= 0.0 || model <= 0.0 || own.is_nan() {
        return around;
    }
    let ratio = model / own;
    let whole = ratio.round();
    if whole >= 1.0 && (ratio - whole).abs() <= 1e-9 * whole {
        return own;
    }
    model / ratio.ceil().max(1.0)
}

/// A parameter by its name in a model: `k`, `k#Value`.
fn parameter(declaration: &'static Declaration, name: &str) -> Option<&'static Parameter> {
    let name = name.strip_suffix("#Value").unwrap_or(name);
    declaration.parameters.iter().find(|p| p.name == name)
}

/// Whether expressions of circuit files can use a name.
fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(good)
        && !fluxline_units::is_reserved(name)
        // A parameter `m` would change the meaning of every "N/m".
        && fluxline_units::Unit::parse(name).is_err()
}

/// Where a value came from, as a comment behind it; nothing for one that was a plain number.
fn comment(description: &str, text: &str, value: f64) -> String {
    let is_plain = text.trim().parse::<f64>().is_ok_and(|x| x == value);
    let mut parts = Vec::new();
    if !description.trim().is_empty() {
        parts.push(description.trim().to_owned());
    }
    if !is_plain && !text.trim().is_empty() {
        parts.push(text.trim().to_owned());
    }
    let comment = parts.join(": ").replace(|c: char| c.is_control(), " ");
    if comment.is_empty() { comment } else { format!("  # {comment}") }
}
