//! From the elements of a file to a model.

use super::*;
use crate::names::{Names, sanitised};
use crate::number;
use crate::xml::{self, Document, Element};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceMap};
use std::collections::HashSet;
use std::path::Path;
use std::rc::Rc;

/// Systems within systems, over all files.
const MAX_NESTING: usize = 64;
/// Objects in all: external files that are used often multiply.
const MAX_OBJECTS: usize = 4_000_000;
/// Many unknown ends would each be compared with all names.
const MAX_SUGGESTIONS: usize = 100;

/// Reads models; holds what is common to all files of one.
pub(crate) struct Reader<'a> {
    pub sources: &'a mut SourceMap,
    pub found: &'a mut Diagnostics,
    leftovers: Vec<Leftover>,
    leftover_index: HashMap<(String, String), usize>,
    /// Files being read, outermost first: each includes the next.
    open: Vec<PathBuf>,
    documents: HashMap<PathBuf, Option<Rc<Document>>>,
    objects: usize,
    suggestions: usize,
    too_many_told: bool,
    /// Names that had to be sanitised: in the file, here, where.
    sanitised: Vec<(String, String, Span)>,
    /// What old names have become.
    converted: Vec<(String, String, Span)>,
}

/// What the ends of connections are looked for in.
#[derive(Clone, Copy)]
struct Ends<'s> {
    system: &'s System,
    /// Objects by their names in the file, of equal ones the first.
    in_file: &'s HashMap<&'s str, usize>,
    /// Names of objects that could not be read.
    lost: &'s HashSet<String>,
}

/// What the systems of one file have in common.
struct File<'a> {
    folder: &'a Path,
    conversions: Conversions,
}

impl<'a> Reader<'a> {
    pub fn new(sources: &'a mut SourceMap, found: &'a mut Diagnostics) -> Self {
        Reader {
            sources,
            found,
            leftovers: Vec::new(),
            leftover_index: HashMap::new(),
            open: Vec::new(),
            documents: HashMap::new(),
            objects: 0,
            suggestions: 0,
            too_many_told: false,
            sanitised: Vec::new(),
            converted: Vec::new(),
        }
    }

    /// The model of a file that has been read as bytes; `None` comes with an error.
    pub fn model(mut self, file: &Path, bytes: Vec<u8>, folder: &Path) -> Option<Model> {
        let name = file.display().to_string();
        let document = xml::parse(&name, bytes, self.sources, self.found)?;
        let root = document.root();
        let system = self.checked_root(root, &name)?;
        let text = |name: &str| root.attribute(name).unwrap_or_default().to_owned();
        let core_version = root.attribute("hopsancoreversion").unwrap_or("0").to_owned();
        let conversions = Conversions::of(&core_version);
        let mut info = Info::default();
        let mut libraries = Vec::new();
        for child in root.children() {
            match child.name() {
                "info" => {
                    let part = |name| child.child(name).map(|part| part.text().trim().to_owned());
                    info.author = part("author").unwrap_or_default();
                    info.email = part("email").unwrap_or_default();
                    info.affiliation = part("affiliation").unwrap_or_default();
                    info.description = part("description").unwrap_or_default();
                }
                "requirements" => {
                    for library in child.children_named("componentlibrary") {
                        let named = library.child("name").map_or(library.text(), Element::text);
                        libraries.push(named.trim().to_owned());
                    }
                }
                "system" if child.span() == system.span() => {}
                "system" => {
                    self.ignored(child.span(), "only the first system of a file is read".into());
                    self.left_over("", "system", child);
                }
                other => self.left_over("", other, child),
            }
        }
        self.open.push(identity(file));
        let root = self.system(system, &File { folder, conversions }, "", 0);
        self.tell_renamed(&core_version);
        Some(Model {
            root: root?,
            file: file.to_owned(),
            format_version: text("hmfversion"),
            core_version,
            gui_version: text("hopsanguiversion"),
            info,
            libraries,
            leftovers: self.leftovers,
        })
    }

    /// The system of a model file, if it is one.
    fn checked_root<'e>(&mut self, root: Element<'e>, name: &str) -> Option<Element<'e>> {
        if root.name() != "hopsanmodelfile" {
            let message = format!("`{name}` is not a model: its root element is `{}`", root.name());
            self.found.push(
                Diagnostic::error(Code::NotAnImport, message)
                    .at(root.span(), "expected `<hopsanmodelfile>`"),
            );
            return None;
        }
        let system = root.child("system");
        if system.is_none() {
            let message = format!("`{name}` holds no system, so there is no model in it");
            let error = Diagnostic::error(Code::NotAnImport, message);
            self.found.push(error.at(root.span(), "expected a `<system>` in here"));
        }
        system
    }

    fn ignored(&mut self, span: Span, message: String) {
        self.found.push(Diagnostic::warning(Code::IgnoredPart, message).at(span, ""));
    }

    fn left_over(&mut self, system: &str, element: &str, what: Element<'_>) {
        let key = (system.to_owned(), element.to_owned());
        let next = self.leftovers.len();
        let index = *self.leftover_index.entry(key).or_insert(next);
        if index == next {
            let (system, element) = (system.to_owned(), element.to_owned());
            self.leftovers.push(Leftover { system, element, spans: Vec::new() });
        }
        self.leftovers[index].spans.push(what.whole_span());
    }

    /// One warning for all names, not one for each.
    fn tell_renamed(&mut self, version: &str) {
        let list = |names: &[(String, String, Span)]| {
            let shown: Vec<String> = names
                .iter()
                .take(5)
                .map(|(old, new, _)| format!("`{old}` is now `{new}`"))
                .collect();
            let more = names.len().saturating_sub(5);
            match more {
                0 => shown.join(", "),
                more => format!("{}, and {more} more", shown.join(", ")),
            }
        };
        if let Some(first) = self.sanitised.first() {
            let message =
                format!("names hold characters that they cannot have: {}", list(&self.sanitised));
            let warning = Diagnostic::warning(Code::ImportRenamed, message).at(first.2, "");
            self.found.push(
                warning.help("connections were renamed along; use the new names from now on"),
            );
        }
        if let Some(first) = self.converted.first() {
            let message = format!(
                "the file was saved by version {version}, and names have changed since: {}",
                list(&self.converted)
            );
            self.found.push(Diagnostic::warning(Code::OldImport, message).at(first.2, ""));
        }
    }

    fn number(&mut self, element: Option<Element<'_>>, name: &str, default: f64) -> f64 {
        let Some(element) = element else { return default };
        let Some(text) = element.attribute(name) else { return default };
        let trimmed = text.trim_ascii();
        if let Some(value) = number::whole(trimmed) {
            return value;
        }
        let (value, reason) = match number::decimal_comma(trimmed) {
            Some(value) => (value, "it has a decimal comma"),
            None => (number::prefix(trimmed).map_or(0.0, |found| found.0), "it is not a number"),
        };
        let message = format!("`{name}` of `{}` is \"{text}\"; {reason}", element.name());
        self.odd(element.attribute_span(name), message, &format!("read as {value}"));
        value
    }

    fn integer(&mut self, element: Option<Element<'_>>, name: &str) -> Option<i64> {
        let element = element?;
        let text = element.attribute(name)?;
        let (value, length) = number::integer_prefix(text).unwrap_or((0, 0));
        if length != text.trim_ascii_end().len() {
            let message =
                format!("`{name}` of `{}` is \"{text}\", not a whole number", element.name());
            self.odd(element.attribute_span(name), message, &format!("read as {value}"));
        }
        Some(value)
    }

    fn switch(&mut self, element: Option<Element<'_>>, name: &str, default: bool) -> bool {
        let Some(element) = element else { return default };
        match element.attribute(name) {
            None => default,
            Some("true" | "True" | "1") => true,
            Some("false" | "False" | "0") => false,
            Some(text) => {
                let message =
                    format!("`{name}` of `{}` is \"{text}\", not true or false", element.name());
                self.odd(element.attribute_span(name), message, "read as false");
                false
            }
        }
    }

    fn odd(&mut self, span: Span, message: String, read_as: &str) {
        self.found.push(Diagnostic::warning(Code::OddAttribute, message).at(span, read_as));
    }

    fn pose(&mut self, element: Element<'_>) -> Option<Pose> {
        let pose = element.child("hopsangui")?.child("pose")?;
        // Only a drawing: what is odd in it is not worth a message.
        let number = |name| {
            let text = pose.attribute(name).unwrap_or("").trim_ascii();
            number::prefix(text).map_or(0.0, |found| found.0)
        };
        let flipped = matches!(pose.attribute("flipped"), Some("true" | "True" | "1"));
        Some(Pose { x: number("x"), y: number("y"), angle: number("a"), flipped })
    }

    /// Whether one more object is too many.
    fn is_full(&mut self, span: Span) -> bool {
        self.objects += 1;
        let is_full = self.objects > MAX_OBJECTS;
        if is_full && !std::mem::replace(&mut self.too_many_told, true) {
            let message = format!("the model has more than {MAX_OBJECTS} components");
            self.found.push(
                Diagnostic::error(Code::FileTooLarge, message)
                    .at(span, "here the limit is passed")
                    .help("external sub-systems that include each other multiply"),
            );
        }
        is_full
    }

    /// Gives a name within a system and tells if it had to be changed.
    fn name(&mut self, names: &mut Names, element: Element<'_>, wanted: &str) -> String {
        let given = names.give(wanted);
        let plain = sanitised(wanted);
        let span = element.attribute_span("name");
        if given != plain {
            let message = format!("a second `{wanted}` is now called `{given}`");
            self.found.push(
                Diagnostic::warning(Code::ImportRenamed, message)
                    .at(span, "this name is taken")
                    .note("connections that say this name mean the first"),
            );
        } else if plain != wanted {
            self.sanitised.push((wanted.to_owned(), given.clone(), span));
        }
        given
    }

    /// A system; `path` is where it stands, and gets `name` when it is nested.
    fn system(
        &mut self,
        element: Element<'_>,
        file: &File<'_>,
        path: &str,
        depth: usize,
    ) -> Option<System> {
        if depth >= MAX_NESTING {
            let message = format!("systems are nested more than {MAX_NESTING} deep");
            let error = Diagnostic::error(Code::FileTooLarge, message);
            self.found.push(error.at(element.span(), "here the limit is passed"));
            return None;
        }
        let typename = element.attribute("typename").unwrap_or("Subsystem");
        let kind = match typename {
            "ConditionalSubsystem" => SystemKind::Conditional,
            "Subsystem" => SystemKind::Subsystem,
            other => {
                let message = format!("`{other}` is no type of a system; read as `Subsystem`");
                self.ignored(element.attribute_span("typename"), message);
                SystemKind::Subsystem
            }
        };
        let original_name = element.attribute("name").unwrap_or(typename).to_owned();
        let time = element.child("simulationtime");
        let times = Times {
            start: self.number(time, "start", 0.0),
            stop: self.number(time, "stop", 2.0),
            step: self.number(time, "timestep", 0.001),
            inherit: self.switch(time, "inherit_timestep", true),
        };
        let settings = element.child("simulationlogsettings");
        let samples = self.integer(settings, "numsamples").unwrap_or(0);
        let log = Log {
            samples: self.integer(Some(element), "logsamples").unwrap_or(samples),
            start: self.number(settings, "starttime", 0.0),
        };
        let mut system = System {
            name: sanitised(&original_name).into_owned(),
            original_name,
            kind,
            subtypename: element.attribute("subtypename").unwrap_or_default().to_owned(),
            disabled: self.switch(Some(element), "disabled", false),
            external: None,
            folder: file.folder.to_owned(),
            times,
            log,
            parameters: Vec::new(),
            aliases: Vec::new(),
            script: None,
            objects: Vec::new(),
            connections: Vec::new(),
            pose: self.pose(element),
            conversions: file.conversions,
            span: element.span(),
            by_name: HashMap::new(),
        };
        let mut names = Names::default();
        let mut lost = HashSet::new();
        self.system_parameters(element, file, &mut system);
        for parameter in &system.parameters {
            if !names.has(&parameter.name) {
                names.give(&parameter.name);
            }
        }
        for child in element.children() {
            match child.name() {
                "simulationtime"
                | "simulationlogsettings"
                | "parameters"
                | "aliases"
                | "connections" => {}
                "numhopscript" => {
                    if system.script.is_none() && !child.text().trim().is_empty() {
                        let text = child.text().to_owned();
                        system.script = Some(Script { text, span: child.span() });
                    }
                }
                "hopsangui" => {
                    for part in child.children().filter(|part| part.name() != "pose") {
                        self.left_over(path, &format!("hopsangui/{}", part.name()), part);
                    }
                }
                "objects" => {
                    let read = self.objects(child, file, path, depth, &mut names, &mut system);
                    lost.extend(read);
                }

                other => self.left_over(path, other, child),
            }
        }
        // Names in the model come before names in the file, and of equal names in the file the first is meant.
        for (index, object) in system.objects.iter().enumerate() {
            system.by_name.insert(object.name().to_owned(), index);
        }
        let mut in_file: HashMap<&str, usize> = HashMap::new();
        for (index, object) in system.objects.iter().enumerate() {
            in_file.entry(object.original_name()).or_insert(index);
        }
        let ends = Ends { system: &system, in_file: &in_file, lost: &lost };
        let mut connections = Vec::new();
        for child in element.children_named("connections").flat_map(Element::children) {
            match child.name() {
                "connect" => {
                    let start = self.end(child, "startcomponent", "startport", &ends);
                    let end = self.end(child, "endcomponent", "endport", &ends);
                    if let (Some(start), Some(end)) = (start, end) {
                        connections.push(Connection { start, end, span: child.span() });
                    }
                }
                other => self.left_over(path, &format!("connections/{other}"), child),
            }
        }
        let aliases = self.aliases(element, &mut names, &system, &in_file);
        for (name, index) in in_file {
            if !system.by_name.contains_key(name) {
                system.by_name.insert(name.to_owned(), index);
            }
        }
        system.connections = connections;
        system.aliases = aliases;
        Some(system)
    }

    fn system_parameters(&mut self, element: Element<'_>, file: &File<'_>, system: &mut System) {
        let mut index: HashMap<String, usize> = HashMap::new();
        for (at, parameter) in system.parameters.iter().enumerate() {
            index.insert(parameter.name.clone(), at);
        }
        let list =
            element.children_named("parameters").flat_map(|list| list.children_named("parameter"));
        for parameter in list {
            let Some(name) = parameter.attribute("name").filter(|name| !name.is_empty()) else {
                self.ignored(parameter.span(), "a parameter has no name and is ignored".into());
                continue;
            };
            let Some(text) = parameter.attribute("value") else {
                self.ignored(
                    parameter.span(),
                    format!("parameter `{name}` has no value and is ignored"),
                );
                continue;
            };
            let kind = match parameter.attribute("type") {
                Some(
                    kind @ ("double" | "integer" | "bool" | "string" | "textblock" | "filepath"),
                ) => kind,
                other => {
                    let given = other.map_or("no type".to_owned(), |other| {
                        format!("the unknown type `{other}`")
                    });
                    let message = format!("parameter `{name}` has {given}");
                    self.odd(parameter.attribute_span("type"), message, "taken as double");
                    "double"
                }
            };
            let converted = file.conversions.parameter("Subsystem", name);
            let name = match converted.split_once('#') {
                Some((port, variable)) => format!("{}#{variable}", sanitised(port)),
                None => sanitised(&converted).into_owned(),
            };
            let attribute = |name| parameter.attribute(name).unwrap_or_default();
            let quantity = parameter.attribute("quantity").unwrap_or_else(|| attribute("unit"));
            let new = SystemParameter {
                name: name.clone(),
                text: text.to_owned(),
                kind: kind.to_owned(),
                quantity: quantity.to_owned(),
                description: attribute("description").to_owned(),
                bare_self: file.conversions.bare_self,
                span: parameter.attribute_span("value"),
            };
            match index.get(&name) {
                Some(&at) => system.parameters[at] = new,
                None => {
                    index.insert(name, system.parameters.len());
                    system.parameters.push(new);
                }
            }
        }
    }

    fn objects(
        &mut self,
        list: Element<'_>,
        file: &File<'_>,
        path: &str,
        depth: usize,
        names: &mut Names,
        system: &mut System,
    ) -> Vec<String> {
        let mut lost = Vec::new();
        for element in list.children() {
            let object = match element.name() {
                "component" if self.is_full(element.span()) => break,
                "system" | "systemport" if self.is_full(element.span()) => break,
                "component" => self.component(element, file, path, names).map(Object::Component),
                "system" => {
                    let typename = element.attribute("typename").unwrap_or("Subsystem");
                    let wanted = element.attribute("name").unwrap_or(typename).to_owned();
                    let name = self.name(names, element, &wanted);
                    let inner = join(path, &name);
                    let nested = match element.attribute("external_path") {
                        Some(other) => self.external(element, other, file, &inner, depth + 1),
                        None => self.system(element, file, &inner, depth + 1),
                    };
                    nested.map(|mut nested| {
                        nested.name = name;
                        nested.original_name = wanted;
                        Object::System(Box::new(nested))
                    })
                }
                "systemport" => {
                    let Some(wanted) = element.attribute("name").filter(|name| !name.is_empty())
                    else {
                        self.ignored(
                            element.span(),
                            "a port of a system has no name and is ignored".into(),
                        );
                        continue;
                    };
                    let name = self.name(names, element, wanted);
                    let pose = self.pose(element);
                    let original_name = wanted.to_owned();
                    Some(Object::Port(SystemPort {
                        name,
                        original_name,
                        pose,
                        span: element.span(),
                    }))
                }
                other => {
                    self.left_over(path, &format!("objects/{other}"), element);
                    None
                }
            };
            if object.is_none() && matches!(element.name(), "component" | "system") {
                lost.extend(element.attribute("name").map(str::to_owned));
            }
            system.objects.extend(object);
        }
        lost
    }

    fn component(
        &mut self,
        element: Element<'_>,
        file: &File<'_>,
        path: &str,
        names: &mut Names,
    ) -> Option<Component> {
        let Some(in_file) = element.attribute("typename").filter(|name| !name.is_empty()) else {
            self.ignored(element.span(), "a component has no type and is ignored".into());
            return None;
        };
        let typename = file.conversions.type_name(in_file);
        if typename != in_file {
            let span = element.attribute_span("typename");
            self.converted.push((in_file.to_owned(), typename.to_owned(), span));
        }
        let original_name = element.attribute("name").unwrap_or(in_file).to_owned();
        let name = self.name(names, element, &original_name);
        let mut parameters = Vec::new();
        let mut quantities = Vec::new();
        for child in element.children() {
            match child.name() {
                "parameters" => {
                    for parameter in child.children_named("parameter") {
                        parameters.extend(self.parameter(parameter, file, typename, &name));
                    }
                }
                "ports" => {
                    for port in child.children_named("port") {
                        let quantity =
                            port.attribute("signalquantity").filter(|text| !text.is_empty());
                        if let (Some(port), Some(quantity)) = (port.attribute("name"), quantity) {
                            let port = file.conversions.port(typename, port);
                            quantities.push((port.to_owned(), quantity.to_owned()));
                        }
                    }
                }
                "hopsangui" => {}
                _ if child.is_empty() => {}
                other => self.left_over(path, &format!("component/{other}"), child),
            }
        }
        Some(Component {
            name,
            original_name,
            typename: typename.to_owned(),
            subtypename: element.attribute("subtypename").unwrap_or_default().to_owned(),
            disabled: self.switch(Some(element), "disabled", false),
            parameters,
            quantities,
            pose: self.pose(element),
            span: element.span(),
        })
    }

    fn parameter(
        &mut self,
        element: Element<'_>,
        file: &File<'_>,
        typename: &str,
        component: &str,
    ) -> Option<Parameter> {
        let name = element.attribute("name").filter(|name| !name.is_empty());
        let (Some(name), Some(text)) = (name, element.attribute("value")) else {
            let message =
                format!("a parameter of `{component}` lacks its name or value and is ignored");
            self.ignored(element.span(), message);
            return None;
        };
        let present = file.conversions.parameter(typename, name);
        if present != name {
            let span = element.attribute_span("name");
            self.converted.push((name.to_owned(), present.clone().into_owned(), span));
        }
        Some(Parameter {
            name: present.into_owned(),
            text: text.to_owned(),
            span: element.attribute_span("value"),
            name_span: element.attribute_span("name"),
        })
    }

    /// One end of a connection, which may be named as in the file or as in the model.
    fn end(
        &mut self,
        element: Element<'_>,
        component: &str,
        port: &str,
        ends: &Ends<'_>,
    ) -> Option<End> {
        let Ends { system, in_file, lost } = *ends;
        let (Some(name), Some(port_name)) = (element.attribute(component), element.attribute(port))
        else {
            let message = format!("a connection lacks its `{component}` or `{port}`");
            self.found.push(
                Diagnostic::error(Code::ImportedEnd, message)
                    .at(element.span(), "")
                    .help("repair it in the program that wrote the file"),
            );
            return None;
        };
        let find = |name: &str| {
            let known = in_file.get(name).or_else(|| system.by_name.get(name));
            known.or_else(|| system.by_name.get(sanitised(name).as_ref())).copied()
        };
        let is_own = |&index: &usize| matches!(system.objects[index], Object::Port(_));
        // Some files name the system itself and then its port.
        let through_own_name = || {
            let is_self = name == system.original_name || sanitised(name) == system.name;
            find(port_name).filter(is_own).filter(|_| is_self)
        };
        let Some(object) = find(name).or_else(through_own_name) else {
            // That it could not be read has been told.
            if lost.contains(name) {
                return None;
            }
            let message = format!(
                "a connection leads to `{name}`, which is not in `{}`",
                system.original_name
            );
            let mut error = Diagnostic::error(Code::ImportedEnd, message)
                .at(element.attribute_span(component), "no component or port has this name");
            self.suggestions += 1;
            if self.suggestions <= MAX_SUGGESTIONS {
                error = error.suggest(name, system.objects.iter().map(Object::original_name));
            }
            self.found.push(error);
            return None;
        };
        let port = match &system.objects[object] {
            Object::Component(part) => {
                let present = system.conversions.port(&part.typename, port_name);
                if present != port_name {
                    let span = element.attribute_span(port);
                    self.converted.push((port_name.to_owned(), present.to_owned(), span));
                }
                present.to_owned()
            }
            Object::Port(own) => own.name.clone(),
            Object::System(nested) => {
                let port = nested.by_name.get(port_name).map(|&index| &nested.objects[index]);
                match port {
                    Some(Object::Port(port)) => port.name.clone(),
                    _ if nested.kind == SystemKind::Conditional && port_name == "on" => {
                        "on".to_owned()
                    }
                    _ => {
                        let message = format!("system `{name}` has no port `{port_name}`");
                        let error = Diagnostic::error(Code::ImportedEnd, message).at(
                            element.attribute_span(port_of(component)),
                            "there is no such port",
                        );
                        let ports = nested.ports().map(|port| port.original_name.as_str());
                        self.suggestions += 1;
                        self.found.push(match self.suggestions <= MAX_SUGGESTIONS {
                            true => error.suggest(port_name, ports),
                            false => error,
                        });
                        return None;
                    }
                }
            }
        };
        Some(End { object, port })
    }

    fn aliases(
        &mut self,
        element: Element<'_>,
        names: &mut Names,
        system: &System,
        in_file: &HashMap<&str, usize>,
    ) -> Vec<Alias> {
        let mut aliases = Vec::new();
        let list = element.children_named("aliases").flat_map(|list| list.children_named("alias"));
        for alias in list {
            if !matches!(alias.attribute("type"), Some("variable" | "Variable")) {
                self.ignored(
                    alias.span(),
                    "an alias that is not of type `variable` is ignored".into(),
                );
                continue;
            }
            let full = alias.child("fullname").map_or("", Element::text).trim();
            let parts: Vec<&str> = full.split('#').collect();
            let (Some(name), [component, port, variable]) =
                (alias.attribute("name"), parts.as_slice())
            else {
                let message = format!(
                    "an alias for `{full}` is ignored: it is not `component#port#variable`"
                );
                self.ignored(alias.span(), message);
                continue;
            };
            let Some(&index) = in_file.get(component).or_else(|| system.by_name.get(*component))
            else {
                let message =
                    format!("the alias `{name}` is ignored: there is no component `{component}`");
                self.ignored(alias.span(), message);
                continue;
            };
            if names.has(&sanitised(name)) {
                let message = format!("the alias `{name}` is ignored: the name is taken");
                self.ignored(alias.span(), message);
                continue;
            }
            let object = &system.objects[index];
            let port = match object {
                Object::Component(part) => system.conversions.port(&part.typename, port),
                _ => port,
            };
            aliases.push(Alias {
                name: names.give(name),
                component: object.name().to_owned(),
                port: port.to_owned(),
                variable: (*variable).to_owned(),
                span: alias.span(),
            });
        }
        aliases
    }

    /// A system that stands in another file.
    fn external(
        &mut self,
        element: Element<'_>,
        other: &str,
        file: &File<'_>,
        path: &str,
        depth: usize,
    ) -> Option<System> {
        // Saved under Windows, read elsewhere.
        let relative = if cfg!(windows) { other.to_owned() } else { other.replace('\\', "/") };
        let full = file.folder.join(&relative);
        let span = element.attribute_span("external_path");
        let shown = full.display().to_string();
        let key = identity(&full);
        if self.open.contains(&key) {
            let message = format!("the external sub-system `{other}` includes itself");
            self.found.push(
                Diagnostic::error(Code::ExternalSystem, message)
                    .at(span, "this file is being read already")
                    .note(format!("the file is `{shown}`")),
            );
            return None;
        }
        if depth >= MAX_NESTING {
            let message = format!("systems are nested more than {MAX_NESTING} deep");
            let error = Diagnostic::error(Code::FileTooLarge, message);
            self.found.push(error.at(span, "here the limit is passed"));
            return None;
        }
        let document = match self.documents.get(&key) {
            Some(document) => document.clone(),
            None => {
                let document = match xml::read_bytes(&full) {
                    Ok(bytes) => xml::parse(&shown, bytes, self.sources, self.found).map(Rc::new),
                    Err(error) => {
                        let message = format!("the external sub-system `{other}` cannot be read");
                        self.found.push(
                            Diagnostic::error(Code::ExternalSystem, message)
                                .at(span, format!("looked for as `{shown}`"))
                                .note(error.message().to_owned())
                                .help("copy the file along with the model"),
                        );
                        None
                    }
                };
                self.documents.insert(key.clone(), document.clone());
                document
            }
        }?;
        let root = document.root();
        let outer = self.checked_root(root, &shown)?;
        let version = root.attribute("hopsancoreversion").unwrap_or("0");
        let folder = full.parent().unwrap_or(Path::new("")).to_owned();
        let inner = File { folder: &folder, conversions: Conversions::of(version) };
        self.open.push(key);
        let system = self.system(outer, &inner, path, depth);
        self.open.pop();
        let mut system = system?;
        self.system_parameters(element, file, &mut system);
        system.external = Some(other.to_owned());
        system.span = element.span();
        system.pose = self.pose(element).or(system.pose);
        system.disabled |= self.switch(Some(element), "disabled", false);
        Some(system)
    }
}

fn port_of(component: &str) -> &'static str {
    if component == "startcomponent" { "startport" } else { "endport" }
}

/// The same for the same file, however it is named.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
