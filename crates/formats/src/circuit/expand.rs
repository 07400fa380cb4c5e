//! Expansion: settings, fluids, components and sub-circuits become one flat circuit.

use super::connect::{Local, Locals, Meaning};
use super::definition::{Definition, DefinitionId, End, Part, Reader, Section, What, wrong_type};
use super::scope::{Given, Scope};
use super::types::TypeInfo;
use super::value::Owner;
use super::{Loader, MAX_NESTING, MAX_PARTS, Use, identity, read};
use crate::tree::{Item, Key, Val};
use fluxline_core::circuit::{Instance, Offer, Pattern, Plot};
use fluxline_core::component::{ComponentType, Declared};
use fluxline_core::fluid::Fluid;
use fluxline_core::settings::{
    FluidSettings, LineDefaults, RecordSettings, RunSettings, SolverSettings, StepControl,
};
use fluxline_diagnostics::{Code, Diagnostic, Span};
use fluxline_units::{Dimension, Quantity};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// No machine needs more; each is a group of its own in every step.
const MAX_RATES: usize = 64;
/// At a million steps per second this is thirty years.
const MOST_STEPS: f64 = 1e15;

/// What a circuit file says beside components and connections.
pub(super) struct Settings {
    pub title: Option<String>,
    pub run: RunSettings,
    pub solver: SolverSettings,
    pub lines: LineDefaults,
    pub recording: RecordSettings,
    pub record: Vec<Pattern>,
    pub plots: Vec<Plot>,
}

/// The fluids that components of one circuit may name.
#[derive(Debug)]
pub(super) struct Fluids {
    names: HashMap<String, usize>,
    default: usize,
    parent: Option<Rc<Fluids>>,
}

impl Fluids {
    fn find(&self, name: &str) -> Option<usize> {
        let parent = || self.parent.as_ref()?.find(name);
        self.names.get(name).copied().or_else(parent)
    }

    fn all_names(&self) -> Vec<&str> {
        let mut names = self.parent.as_ref().map_or_else(Vec::new, |parent| parent.all_names());
        names.extend(self.names.keys().map(String::as_str));
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Where in the circuit a definition is expanded.
pub(super) struct Frame {
    pub id: DefinitionId,
    /// Full name of the sub-circuit; empty for the circuit itself.
    pub prefix: String,
    pub fluids: Rc<Fluids>,
    pub rate: usize,
    /// Left out of the run.
    pub disabled: bool,
}

impl Frame {
    /// Full name of a part.
    pub fn full(&self, name: &str) -> String {
        match self.prefix.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.prefix),
        }
    }
}

/// Keys of a component besides its parameters. The place in a drawing is kept for programs that
/// draw.
const PART_KEYS: &[&str] = &["fluid", "description", "start_values", "disabled", "drawing"];

impl Loader<'_> {
    /// Expands the circuit itself.
    pub(super) fn expand_root(&mut self, root: DefinitionId) -> Option<Settings> {
        let definition = self.definitions[root].clone();
        let scope = self.scope(&definition, HashMap::new(), true);

        let (run, spans) =
            self.settings::<RunSettings>("run", definition.run.as_ref(), &[], &definition, &scope);
        if let Some(run) = &run {
            self.convention = run.convention;
            let times_are_good = {
                let before = self.found.errors();
                self.check_times(
                    run,
                    &spans,
                    definition.run.as_ref().map(|section| section.key.at),
                );
                self.found.errors() == before
            };
            // Against a wrong step nothing can be held.
            self.main_step = times_are_good.then_some(run.step);
        }
        let (solver, _) = self.settings::<SolverSettings>(
            "solver",
            definition.solver.as_ref(),
            &[],
            &definition,
            &scope,
        );
        let (lines, _) = self.settings::<LineDefaults>(
            "lines",
            definition.lines.as_ref(),
            &[],
            &definition,
            &scope,
        );
        let (recording, _) = self.settings::<RecordSettings>(
            "record",
            definition.record.as_ref(),
            &["variables"],
            &definition,
            &scope,
        );
        let record = self.record_patterns(&definition);
        let mut title = definition.title.clone();
        for index in self.overrides.of("[title]") {
            let setting = &self.overrides.settings[index];
            setting.used.set(true);
            title = Some(self.sources.slice(setting.item.at).to_owned());
        }
        let plots = definition.plots.iter().map(|plot| {
            let joined =
                || plot.variables.iter().map(|v| v.text.as_str()).collect::<Vec<_>>().join(", ");
            Plot {
                title: plot.title.clone().unwrap_or_else(joined),
                variables: plot.variables.iter().map(pattern).collect(),
            }
        });
        let plots = plots.collect();

        let fluids = self.fluids(&definition, &scope, None);
        let frame = Frame { id: root, prefix: String::new(), fluids, rate: 0, disabled: false };
        self.expand(&definition, &scope, &frame);
        Some(Settings {
            title,
            run: run?,
            solver: solver?,
            lines: lines?,
            recording: recording?,
            record,
            plots,
        })
    }

    /// A table of settings; its values where it has an error are the defaults.
    fn settings<M: Declared>(
        &mut self,
        name: &str,
        section: Option<&Section>,
        extra: &[&str],
        definition: &Definition,
        scope: &Scope,
    ) -> (Option<M>, Vec<Option<Span>>) {
        let full = format!("[{name}]");
        let Some(info) = self.info(M::DECLARATION) else {
            return (None, Vec::new());
        };
        let owner = Owner {
            name,
            full: &full,
            at: section.map_or_else(|| self.start_of_file(), |section| section.key.at),
            is_component: false,
            extra,
            folder: &definition.folder,
        };
        let entries = section.map_or(&[][..], |section| &section.table.entries);
        let read = self.values(&owner, &info, entries.iter().map(|(key, item)| (key, item)), scope);
        for (parameter, span) in info.declaration.parameters.iter().zip(&read.spans) {
            self.places.extend(span.map(|span| (format!("{name}.{}", parameter.name), span)));
        }
        (M::from_values(&read.values), read.spans)
    }

    fn check_times(&mut self, run: &RunSettings, spans: &[Option<Span>], section: Option<Span>) {
        let at = |index: usize| spans.get(index).copied().flatten();
        let seconds = |value: f64| Quantity::new(value, Dimension::TIME);
        let length = run.stop - run.start;
        let is_variable = run.step_control == StepControl::Variable;
        let smallest = if is_variable { run.step.min(run.min_step) } else { run.step };
        let (code, message, place, help) = if length <= 0.0 {
            (
                Code::BadRunTimes,
                format!(
                    "the run stops at {} but starts at {}",
                    seconds(run.stop),
                    seconds(run.start)
                ),
                at(RunSettings::STOP).or(at(RunSettings::START)),
                "give a stop time after the start".to_owned(),
            )
        } else if is_variable && run.max_step < run.min_step {
            (
                Code::BadRunTimes,
                format!(
                    "the largest step, {}, is smaller than the smallest, {}",
                    seconds(run.max_step),
                    seconds(run.min_step)
                ),
                at(RunSettings::MAX_STEP).or(at(RunSettings::MIN_STEP)),
                "give `max_step` a larger value than `min_step`".to_owned(),
            )
        } else if length / smallest > MOST_STEPS {
            (
                Code::TooManySteps,
                format!(
                    "a run of {} in steps of {} takes {:.1e} steps, more than any computer will",
                    seconds(length),
                    seconds(smallest),
                    length / smallest
                ),
                at(RunSettings::STEP).or(at(RunSettings::STOP)),
                "choose a larger step or an earlier stop".to_owned(),
            )
        } else if !is_variable && run.step > length {
            (
                Code::BadRunTimes,
                format!(
                    "the step of {} is longer than the whole run of {}",
                    seconds(run.step),
                    seconds(length)
                ),
                at(RunSettings::STEP).or(at(RunSettings::STOP)),
                format!("a thousandth of the run would be \"{}\"", seconds(length / 1000.0)),
            )
        } else {
            return;
        };
        let error = Diagnostic::error(code, message)
            .at_if(place.or(section), "this cannot be run")
            .help(help);
        self.report(error);
    }

    fn record_patterns(&mut self, definition: &Definition) -> Vec<Pattern> {
        let Some((_, item)) =
            definition.record.as_ref().and_then(|section| section.table.get("variables"))
        else {
            return Vec::new();
        };
        let mut reader = Reader {
            definitions: &mut self.definitions,
            found: &mut self.found,
            folder: definition.folder.clone(),
        };
        reader.patterns("record.variables", item.clone()).iter().map(pattern).collect()
    }

    /// The fluids of a circuit, added to those around it.
    fn fluids(
        &mut self,
        definition: &Definition,
        scope: &Scope,
        parent: Option<Rc<Fluids>>,
    ) -> Rc<Fluids> {
        let is_root = parent.is_none();
        let mut names: HashMap<String, usize> = HashMap::new();
        let mut first = None;
        let mut places: HashMap<&str, Span> = HashMap::new();
        for section in &definition.fluids {
            // `[fluid]` is short for `[fluids.main]`.
            let is_short = section.key.name == "fluid";
            let name = if is_short { "main" } else { &section.key.name };
            if let Some(before) = places.insert(name, section.key.at) {
                let error =
                    Diagnostic::error(Code::DuplicateKey, "the fluid `main` is given twice")
                        .at(section.key.at, "given again here")
                        .also(before, "first given here")
                        .help("`[fluid]` is short for `[fluids.main]`: remove one of them");
                self.report(error);
            }
            let shown = if is_short { "fluid".to_owned() } else { format!("fluids.{name}") };
            if is_root {
                // Both spellings on the command line.
                let alias = if is_short { "fluids.main" } else { "fluid" };
                if is_short || name == "main" {
                    self.overrides.join(&format!("[{alias}]"), &format!("[{shown}]"));
                }
            }
            let (settings, _) = self.settings_at::<FluidSettings>(
                &shown,
                Some(section),
                definition,
                scope,
                is_root,
            );
            let index = self.add_fluid(settings.as_ref());
            first.get_or_insert(index);
            names.insert(name.to_owned(), index);
        }
        let inherited = parent.as_ref().map(|parent| parent.default);
        let default = match names.get("main").copied().or(first).or(inherited) {
            Some(index) => index,
            None => {
                let (settings, _) =
                    self.settings_at::<FluidSettings>("fluid", None, definition, scope, is_root);
                let index = self.add_fluid(settings.as_ref());
                names.insert("main".to_owned(), index);
                index
            }
        };
        Rc::new(Fluids { names, default, parent })
    }

    /// Settings that the command line may change only in the circuit itself.
    fn settings_at<M: Declared>(
        &mut self,
        name: &str,
        section: Option<&Section>,
        definition: &Definition,
        scope: &Scope,
        is_root: bool,
    ) -> (Option<M>, Vec<Option<Span>>) {
        if is_root {
            return self.settings(name, section, &[], definition, scope);
        }
        let hidden = std::mem::take(&mut self.overrides);
        let read = self.settings(name, section, &[], definition, scope);
        self.overrides = hidden;
        read
    }

    /// The index of a fluid; equal fluids are one.
    fn add_fluid(&mut self, settings: Option<&FluidSettings>) -> usize {
        let Some(settings) = settings else { return 0 };
        let fluid = Fluid::from(settings);
        let next = self.fluids.len();
        let index = *self.fluid_index.entry(format!("{fluid:?}")).or_insert(next);
        if index == next {
            self.fluids.push(fluid);
        }
        index
    }

    /// Expands one definition and gives the ports that it exposes.
    fn expand(
        &mut self,
        definition: &Rc<Definition>,
        scope: &Scope,
        frame: &Frame,
    ) -> HashMap<String, Meaning> {
        let mut locals: Locals = HashMap::with_capacity(definition.parts.len());
        // Sub-circuits that run only while a signal is positive.
        let mut gated = Vec::new();
        for part in &definition.parts {
            if self.parts >= MAX_PARTS {
                self.is_whole = false;
                break;
            }
            self.parts += 1;
            if self.parts == MAX_PARTS {
                let message =
                    format!("the circuit has more than {MAX_PARTS} components and sub-circuits");
                let error = Diagnostic::error(Code::FileTooLarge, message)
                    .at(part.key.at, "too many from here on")
                    .note("sub-circuits within sub-circuits multiply");
                self.report(error);
            }
            let first = self.components.len();
            let local = match &part.what {
                What::Type(kind) => self.component(part, kind, definition, scope, frame),
                What::Use(name) => self.subcircuit(part, name, definition, scope, frame),
                What::Unknown => Local::Broken,
            };
            if matches!(local, Local::Broken) {
                self.is_whole = false;
                self.silence_overrides(&frame.full(&part.key.name));
            }
            if matches!(local, Local::Subcircuit(..))
                && let Some(end) = self.gate(&frame.full(&part.key.name), part)
            {
                gated.push((first..self.components.len(), end));
            }
            locals.insert(&part.key.name, local);
        }
        for (inside, end) in gated {
            if let Some(gate) = self.gate_signal(&end, &locals) {
                self.components[inside].iter_mut().for_each(|one| one.gates.push(gate));
            }
        }
        let mut ports = HashMap::with_capacity(definition.ports.len());
        for (key, end) in &definition.ports {
            match self.exposed(key, end, &locals) {
                Some(meaning) => {
                    if !frame.prefix.is_empty()
                        && let Some((component, part)) = self.offered(&meaning)
                    {
                        let name = frame.full(&key.name);
                        self.offers.push(Offer { name, component, part });
                    }
                    ports.insert(key.name.clone(), meaning);
                }
                None => self.is_whole = false,
            }
        }
        for connect in &definition.connects {
            self.connect(connect, &locals, definition, scope, frame);
        }
        if !self.found.has_errors() && self.overrides.is_empty() {
            self.warn_unused(definition, scope);
        }
        ports
    }

    /// What a part has given for a key that is no parameter; the command line comes first.
    fn special<'p>(
        &self,
        full: &str,
        key: &str,
        entries: &'p [(Key, Item)],
    ) -> Option<std::borrow::Cow<'p, Item>> {
        for index in self.overrides.of(full) {
            let setting = &self.overrides.settings[index];
            if setting.key == key {
                setting.used.set(true);
                return Some(std::borrow::Cow::Owned(setting.item.clone()));
            }
        }
        let entry = entries.iter().find(|(entry, _)| entry.name == key);
        entry.map(|(_, item)| std::borrow::Cow::Borrowed(item))
    }

    fn component(
        &mut self,
        part: &Part,
        kind: &End,
        definition: &Definition,
        scope: &Scope,
        frame: &Frame,
    ) -> Local {
        let Some((kind, info)) = self.component_type(kind) else {
            return Local::Broken;
        };
        let full = frame.full(&part.key.name);
        let index = self.components.len();
        let instance = self.instance(
            &part.key.name,
            full,
            part.key.at,
            (kind, &info),
            &part.entries,
            definition,
            scope,
            frame,
        );
        let (instance, open) = instance;
        for (parameter, missing) in open {
            let missing = match self.chain.last() {
                Some(inner) => missing
                    .also(inner.at, format!("in the sub-circuit used here as `{}`", inner.name)),
                None => missing,
            };
            self.open_inputs.push((index, parameter, missing));
        }
        self.components.push(instance);
        self.infos.push(info);
        Local::Component(index)
    }

    /// A component with its values.
    #[allow(clippy::too_many_arguments, reason = "all that a component depends on")]
    pub(super) fn instance(
        &mut self,
        name: &str,
        full: String,
        at: Span,
        (kind, info): (ComponentType, &Rc<TypeInfo>),
        entries: &[(Key, Item)],
        definition: &Definition,
        scope: &Scope,
        frame: &Frame,
    ) -> (Instance, Vec<(usize, Diagnostic)>) {
        let owner = Owner {
            name,
            full: &full,
            at,
            is_component: true,
            extra: PART_KEYS,
            folder: &definition.folder,
        };
        let read = self.values(&owner, info, entries.iter().map(|(key, item)| (key, item)), scope);
        let starts = match entries.iter().find(|(key, _)| key.name == "start_values") {
            Some((_, item)) => self.start_values(name, info.declaration, item, scope),
            None => Vec::new(),
        };
        let disabled = frame.disabled || self.is_disabled(name, &full, entries);
        let fluid = match info.parameter("fluid") {
            None => self.fluid_of(name, &full, entries, frame).unwrap_or(frame.fluids.default),
            Some(_) => frame.fluids.default,
        };
        let instance = Instance {
            name: full,
            kind,
            values: read.values,
            fluid,
            rate: frame.rate,
            span: Some(at),
            value_spans: read.spans,
            starts,
            disabled,
            gates: Vec::new(),
        };
        (instance, read.open_inputs)
    }

    /// The signal that a sub-circuit runs with.
    fn gate(&mut self, full: &str, part: &Part) -> Option<End> {
        let item = self.special(full, "active", &part.entries)?.into_owned();
        match item.value {
            Val::Text(text) => Some(End { text, at: item.at }),
            _ => {
                let error = wrong_type(
                    &format!("{}.active", part.key.name),
                    &item,
                    "the name of an output",
                )
                .help("write `active = \"controller.out\"`");
                self.report(error);
                None
            }
        }
    }

    /// Whether a part is left out of the run.
    fn is_disabled(&mut self, name: &str, full: &str, entries: &[(Key, Item)]) -> bool {
        let Some(item) = self.special(full, "disabled", entries) else { return false };
        match item.value {
            Val::Switch(disabled) => disabled,
            _ => {
                let error = wrong_type(&format!("{name}.disabled"), &item, "true or false")
                    .help("write `disabled = true`");
                self.report(error);
                false
            }
        }
    }

    /// The fluid that a part names.
    fn fluid_of(
        &mut self,
        name: &str,
        full: &str,
        entries: &[(Key, Item)],
        frame: &Frame,
    ) -> Option<usize> {
        let item = self.special(full, "fluid", entries)?;
        let Val::Text(text) = &item.value else {
            let error = wrong_type(&format!("{name}.fluid"), &item, "the name of a fluid")
                .help("write `fluid = \"main\"`");
            self.report(error);
            return None;
        };
        let found = frame.fluids.find(text);
        if found.is_none() {
            let error = Diagnostic::error(Code::UnknownName, format!("there is no fluid `{text}`"))
                .at(item.at, "unknown fluid");
            let names = match self.suggestions {
                0 => Vec::new(),
                _ => frame.fluids.all_names(),
            };
            let error = self.suggest(error, text, names);
            self.report(match error.helps().is_empty() {
                true => error.help(format!("declare it: `[fluids.{text}]`")),
                false => error,
            });
        }
        found
    }

    /// Values for what is broken anyway are not unknown as well.
    fn silence_overrides(&mut self, full: &str) {
        if self.overrides.is_empty() {
            return;
        }
        let inner = format!("{full}.");
        for setting in &self.overrides.settings {
            let path = setting.path.strip_prefix("components.").unwrap_or(&setting.path);
            if path.starts_with(&inner) {
                setting.used.set(true);
            }
        }
    }

    fn subcircuit(
        &mut self,
        part: &Part,
        name: &End,
        definition: &Rc<Definition>,
        scope: &Scope,
        frame: &Frame,
    ) -> Local {
        let Some(id) = self.find_subcircuit(name, definition) else {
            return Local::Broken;
        };
        let full = frame.full(&part.key.name);
        let used = self.definitions[id].clone();
        let ids = || self.chain.iter().map(|one| one.definition);
        if id == frame.id || id == self.root || ids().any(|one| one == id) {
            let mut names = vec![self.definitions[self.root].name.clone()];
            names.extend(ids().map(|id| self.definitions[id].name.clone()));
            names.push(used.name.clone());
            let walk = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" → ");
            let message = format!("the sub-circuit `{}` contains itself: {walk}", used.name);
            let error = Diagnostic::error(Code::SubcircuitIncludesItself, message)
                .at(name.at, "used here again")
                .help("break the chain at one of these places");
            self.report(error);
            return Local::Broken;
        }
        if self.chain.len() >= MAX_NESTING {
            let message = format!("sub-circuits are nested more than {MAX_NESTING} levels deep");
            let error = Diagnostic::error(Code::NestingTooDeep, message)
                .at(name.at, "too deep")
                .help("flatten some of the levels");
            self.report(error);
            return Local::Broken;
        }

        let given = self.given(part, &full, &used, scope);
        let rate = match self.special(&full, "step", &part.entries) {
            Some(item) => self.rate(&part.key.name, &item, scope).unwrap_or(frame.rate),
            None => frame.rate,
        };
        let chosen = self.fluid_of(&part.key.name, &full, &part.entries, frame);

        self.chain.push(Use { name: full.clone(), at: part.key.at, definition: id });
        let inner = self.scope(&used, given, false);
        let mut fluids = self.fluids(&used, &inner, Some(frame.fluids.clone()));
        if let Some(chosen) = chosen {
            fluids =
                Rc::new(Fluids { names: HashMap::new(), default: chosen, parent: Some(fluids) });
        }
        let disabled = frame.disabled || self.is_disabled(&part.key.name, &full, &part.entries);
        let frame = Frame { id, prefix: full, fluids, rate, disabled };
        let ports = self.expand(&used, &inner, &frame);
        self.chain.pop();
        Local::Subcircuit(id, Rc::new(ports))
    }

    /// The parameters that the use of a sub-circuit gives it.
    fn given(
        &mut self,
        part: &Part,
        full: &str,
        used: &Definition,
        scope: &Scope,
    ) -> HashMap<String, Given> {
        const EXTRA: [&str; 6] = ["step", "fluid", "description", "active", "disabled", "drawing"];
        let known: HashSet<&str> =
            used.parameters.iter().map(|(key, _)| key.name.as_str()).collect();
        let mut given = HashMap::new();
        let overrides: Vec<(Key, Item)> = self
            .overrides
            .of(full)
            .into_iter()
            .map(|index| &self.overrides.settings[index])
            .filter(|setting| !EXTRA.contains(&setting.key.as_str()))
            .map(|setting| {
                setting.used.set(true);
                (Key { name: setting.key.clone(), at: setting.at }, setting.item.clone())
            })
            .collect();
        for (key, item) in overrides.iter().chain(&part.entries) {
            let name = &key.name;
            if EXTRA.contains(&name.as_str()) || given.contains_key(name) {
                continue;
            }
            if !known.contains(name.as_str()) {
                let message = format!("the sub-circuit `{}` has no parameter `{name}`", used.name);
                let error = Diagnostic::error(Code::UnknownParameter, message)
                    .at(key.at, "unknown parameter");
                let error = if used.ports.iter().any(|(port, _)| port.name == *name) {
                    error.help(format!(
                        "`{name}` is a port: connect it under `[[connect]]` as \"{}.{name}\"",
                        part.key.name
                    ))
                } else {
                    let names = used.parameters.iter().map(|(key, _)| key.name.as_str());
                    self.suggest(error, name, names.chain(EXTRA))
                };
                self.report(error);
                continue;
            }
            let shown = format!("{}.{name}", part.key.name);
            let value = match &item.value {
                Val::Text(text) => self.evaluate(&shown, item, text, scope),
                Val::Integer(_) | Val::Float(_) => self.plain_number(item, &shown),
                _ => {
                    let error = wrong_type(&shown, item, "a quantity")
                        .help("write \"63 mm\", an expression or a number");
                    self.report(error);
                    None
                }
            };
            let text = match &item.value {
                Val::Text(text) => text.clone(),
                _ => self.sources.slice(item.at).to_owned(),
            };
            given.insert(name.clone(), Given { value, text, at: item.at });
        }
        given
    }

    /// The rate of a sub-circuit with a step of its own.
    fn rate(&mut self, name: &str, item: &Item, scope: &Scope) -> Option<usize> {
        let shown = format!("{name}.step");
        let step = match &item.value {
            Val::Text(text) => self.evaluate(&shown, item, text, scope)?,
            Val::Integer(_) | Val::Float(_) => {
                Quantity::new(self.plain_number(item, &shown)?.value, Dimension::TIME)
            }
            _ => {
                let error = wrong_type(&shown, item, "a time").help("write `step = \"0.02 ms\"`");
                self.report(error);
                return None;
            }
        };
        if step.dimension != Dimension::TIME {
            let written = self.sources.slice(item.at).trim_matches('"').to_owned();
            let message = format!(
                "`{shown}` is a time, but \"{written}\" is {}",
                step.dimension.with_article()
            );
            let error = Diagnostic::error(Code::WrongDimension, message);
            self.report(error.at(item.at, "expected a time such as \"0.02 ms\""));
            return None;
        }
        let main = self.main_step?;
        let time = |value: f64| format!("{:.9}", Quantity::new(value, Dimension::TIME));
        const MOST: f64 = 1e6;
        let ratio = main / step.value;
        let whole = ratio.round();
        let fits = ratio > 0.0 && whole >= 1.0 && (ratio - whole).abs() <= 1e-9 * whole;
        if !fits || whole > MOST {
            let nearest = if ratio > 0.0 { whole.clamp(1.0, MOST) } else { 1.0 };
            let message = format!(
                "the step of `{name}`, {}, does not divide the main step of {} by a whole number",
                time(step.value),
                time(main)
            );
            let error =
                Diagnostic::error(Code::SubcircuitStep, message).at(item.at, "does not fit");
            // As an expression: a third has no exact decimal number.
            self.report(match nearest > 1.0 {
                true => error.help(format!("write `step = \"{}/{nearest}\"`", time(main))),
                false => error.help(format!(
                    "a sub-circuit may step faster than the circuit around it, such as `step = \"{}/2\"`; leave it out to step with it",
                    time(main)
                )),
            });
            return None;
        }
        let rate = whole as u32;
        match self.rates.iter().position(|known| *known == rate) {
            Some(index) => Some(index),
            None if self.rates.len() >= MAX_RATES => {
                let message = format!("sub-circuits have more than {MAX_RATES} different steps");
                let error = Diagnostic::error(Code::SubcircuitStep, message)
                    .at(item.at, "one too many")
                    .help("let several of them share a step");
                self.report(error);
                None
            }
            None => {
                self.rates.push(rate);
                Some(self.rates.len() - 1)
            }
        }
    }

    /// The definition that `use` names: a table of this circuit or one around it, or a file.
    fn find_subcircuit(&mut self, name: &End, definition: &Rc<Definition>) -> Option<DefinitionId> {
        if name.text.ends_with(".toml") || name.text.contains(['/', '\\']) {
            return self.subcircuit_file(name, definition);
        }
        let mut around = Some(definition.clone());
        let mut visible = Vec::new();
        while let Some(one) = around {
            if let Some(&id) = one.subcircuits.get(&name.text) {
                return Some(id);
            }
            if self.suggestions > 0 {
                visible.extend(one.subcircuits.keys().cloned());
            }
            around = one.parent.map(|id| self.definitions[id].clone());
        }
        let text = &name.text;
        let error = Diagnostic::error(
            Code::SubcircuitNotFound,
            format!("there is no sub-circuit `{text}`"),
        )
        .at(name.at, "unknown sub-circuit");
        visible.sort_unstable();
        let file = format!("{text}.toml");
        let error = if definition.folder.join(&file).is_file() {
            error.help(format!("for the file write `use = \"{file}\"`"))
        } else if self.registry.get(text).is_some() {
            error.help(format!("for a component of the library write `type = \"{text}\"`"))
        } else if visible.is_empty() {
            error.help(format!(
                "define it as `[subcircuits.{text}]`, or name a file: `use = \"{file}\"`"
            ))
        } else {
            self.suggest(error, text, visible.iter().map(String::as_str))
        };
        self.report(error);
        None
    }

    fn subcircuit_file(&mut self, name: &End, definition: &Definition) -> Option<DefinitionId> {
        let path = definition.folder.join(&name.text);
        let id = identity(&path);
        if let Some(known) = self.files.get(&id) {
            return *known;
        }
        let shown = path.display().to_string();
        let loaded = match read(&path) {
            Ok(bytes) => match self.sources.add_bytes(&shown, bytes) {
                Ok(source) => {
                    let folder = path.parent().unwrap_or(std::path::Path::new("")).to_owned();
                    self.define(source, &shown, &folder)
                }
                Err(error) => {
                    self.report(error.also(name.at, "used here"));
                    None
                }
            },
            Err(error) => {
                let message =
                    format!("the sub-circuit `{shown}` cannot be read: {}", error.reason());
                let problem = Diagnostic::error(error.code(Code::SubcircuitNotFound), message)
                    .at(name.at, "used here")
                    .help("a path is relative to the file that names it");
                self.report(problem);
                None
            }
        };
        self.files.insert(id, loaded);
        loaded
    }
}

fn pattern(end: &End) -> Pattern {
    Pattern { text: end.text.clone(), span: Some(end.at) }
}
