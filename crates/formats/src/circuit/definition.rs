//! The structure of a circuit or sub-circuit as written: which parts, connections and settings
//! there are. Values stay as they stand in the file until the circuit is expanded.

use crate::tree::{Item, Key, Table, Val};
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Span};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

/// Position of a definition in the loader's list.
pub(super) type DefinitionId = usize;

/// A circuit or sub-circuit as written.
#[derive(Debug)]
pub(super) struct Definition {
    /// For messages: the file or the name of the table.
    pub name: String,
    /// Folder of the file it stands in.
    pub folder: Rc<Path>,
    /// The definition around it, whose sub-circuits it may use too.
    pub parent: Option<DefinitionId>,
    pub title: Option<String>,
    pub run: Option<Section>,
    pub solver: Option<Section>,
    pub lines: Option<Section>,
    pub record: Option<Section>,
    pub fluids: Vec<Section>,
    pub parameters: Vec<(Key, Item)>,
    pub parts: Vec<Part>,
    pub connects: Vec<Connect>,
    pub ports: Vec<(Key, End)>,
    pub plots: Vec<Plot>,
    pub subcircuits: HashMap<String, DefinitionId>,
}

/// A table of settings.
#[derive(Debug)]
pub(super) struct Section {
    pub key: Key,
    pub table: Table,
}

/// A component or the use of a sub-circuit.
#[derive(Debug)]
pub(super) struct Part {
    pub key: Key,
    pub what: What,
    pub entries: Vec<(Key, Item)>,
}

#[derive(Debug)]
pub(super) enum What {
    Type(End),
    Use(End),
    /// Neither was given; reported already.
    Unknown,
}

/// A text and its place.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub text: String,
    pub at: Span,
}

#[derive(Debug)]
pub(super) struct Connect {
    pub at: Span,
    pub ends: Vec<End>,
    /// How many of them, from the first on, stand in `from`; 0 when written with `ends`.
    pub from: usize,
    pub line: Option<Section>,
}

#[derive(Debug)]
pub(super) struct Plot {
    pub title: Option<String>,
    pub variables: Vec<End>,
}

const SUBCIRCUIT_KEYS: &[&str] = &[
    "title",
    "description",
    "fluid",
    "fluids",
    "parameters",
    "components",
    "connect",
    "ports",
    "subcircuits",
    "data",
];
const FILE_KEYS: &[&str] = &["run", "solver", "lines", "record", "plot"];

/// Reads definitions and gathers what is wrong with their structure.
pub(super) struct Reader<'d> {
    pub definitions: &'d mut Vec<Rc<Definition>>,
    pub found: &'d mut Diagnostics,
    pub folder: Rc<Path>,
}

impl Reader<'_> {
    /// Reads a circuit file or the table of a sub-circuit.
    pub fn definition(
        &mut self,
        name: &str,
        table: Table,
        parent: Option<DefinitionId>,
        is_file: bool,
    ) -> DefinitionId {
        // Takes its place first, so that sub-circuits can name it as their parent.
        let id = self.definitions.len();
        self.definitions.push(Rc::new(empty(&self.folder)));
        let mut new = Definition { name: name.to_owned(), parent, ..empty(&self.folder) };
        for (key, item) in table.entries {
            match key.name.as_str() {
                "title" => new.title = self.text("title", item).map(|end| end.text),
                "description" => drop(self.text("description", item)),
                "fluid" => new.fluids.extend(self.section(key, item)),
                "fluids" => {
                    for (key, item) in self.table("fluids", item).entries {
                        new.fluids.extend(self.section(key, item));
                    }
                }
                "parameters" => {
                    new.parameters = self.table("parameters", item).entries;
                    for (key, _) in &new.parameters {
                        self.check_parameter_name(key);
                    }
                }
                "components" => {
                    let table = self.table("components", item);
                    new.parts.reserve(table.entries.len());
                    for (key, item) in table.entries {
                        new.parts.extend(self.part(key, item));
                    }
                }
                // What other programs know and this one does not: kept, not looked at.
                "data" => drop(self.table("data", item)),
                "connect" => new.connects = self.connects(item),
                "ports" => {
                    for (key, item) in self.table("ports", item).entries {
                        self.check_name("port", &key);
                        let name = format!("ports.{}", key.name);
                        if let Some(end) = self.text(&name, item) {
                            new.ports.push((key, end));
                        }
                    }
                }
                "subcircuits" => {
                    for (key, item) in self.table("subcircuits", item).entries {
                        self.check_name("sub-circuit", &key);
                        let table = self.table(&format!("subcircuits.{}", key.name), item);
                        let child = self.definition(&key.name, table, Some(id), false);
                        new.subcircuits.insert(key.name, child);
                    }
                }
                "run" if is_file => new.run = self.section(key, item),
                "solver" if is_file => new.solver = self.section(key, item),
                "lines" if is_file => new.lines = self.section(key, item),
                "record" if is_file => new.record = self.section(key, item),
                "plot" if is_file => new.plots = self.plots(item),
                _ => self.unknown_key(&key, is_file),
            }
        }
        self.definitions[id] = Rc::new(new);
        id
    }

    fn unknown_key(&mut self, key: &Key, is_file: bool) {
        let name = &key.name;
        let mut error = if is_file {
            Diagnostic::error(Code::UnknownKey, format!("a circuit has no key `{name}`"))
        } else {
            Diagnostic::error(Code::UnknownKey, format!("a sub-circuit has no key `{name}`"))
        };
        error = error.at(key.at, "unknown");
        if !is_file && FILE_KEYS.contains(&name.as_str()) {
            error = error.help(format!(
                "`{name}` belongs to the circuit as a whole: move it to the top of the file"
            ));
        } else {
            let own = if is_file { FILE_KEYS } else { &[] };
            error = error.suggest(name, SUBCIRCUIT_KEYS.iter().chain(own).copied());
        }
        self.found.push(error);
    }

    fn wrong_type(&mut self, name: &str, item: &Item, expected: &str, help: &str) {
        self.found.push(wrong_type(name, item, expected).help(help));
    }

    fn text(&mut self, name: &str, item: Item) -> Option<End> {
        match item.value {
            Val::Text(text) => Some(End { text, at: item.at }),
            _ => {
                self.wrong_type(name, &item, "a text", "put it in quotes");
                None
            }
        }
    }

    fn table(&mut self, name: &str, item: Item) -> Table {
        match item.value {
            Val::Table(table) => table,
            _ => {
                self.wrong_type(name, &item, "a table", &format!("write it as `[{name}]`"));
                Table::default()
            }
        }
    }

    fn section(&mut self, key: Key, item: Item) -> Option<Section> {
        let Val::Table(table) = item.value else {
            let help = format!("write it as `[{}]`", key.name);
            self.wrong_type(&key.name, &item, "a table", &help);
            return None;
        };
        Some(Section { key, table })
    }

    fn check_name(&mut self, what: &str, key: &Key) -> bool {
        let good = is_name(&key.name);
        if !good {
            let message = format!("`{}` cannot be the name of a {what}", key.name);
            self.found.push(
                Diagnostic::error(Code::BadName, message)
                    .at(key.at, "not a name")
                    .help(name_help(&key.name)),
            );
        }
        good
    }

    fn check_parameter_name(&mut self, key: &Key) {
        let name = &key.name;
        let begins_with_digit = name.starts_with(|c: char| c.is_ascii_digit());
        if !is_name(name) || name.contains('-') || begins_with_digit {
            let message = format!("`{name}` cannot be the name of a parameter");
            self.found.push(
                Diagnostic::error(Code::BadName, message)
                    .at(key.at, "not a name")
                    .note("expressions could not tell it from an operation")
                    .help(name_help(&name.replace('-', "_"))),
            );
        } else if fluxline_units::is_reserved(name) {
            let message =
                format!("`{name}` cannot be the name of a parameter: it is a word of expressions");
            self.found.push(
                Diagnostic::error(Code::BadName, message)
                    .at(key.at, "reserved")
                    .help(format!("name it `{name}_value`, for example")),
            );
        }
    }

    fn part(&mut self, key: Key, item: Item) -> Option<Part> {
        self.check_name("component", &key);
        let Val::Table(table) = item.value else {
            let name = format!("components.{}", key.name);
            let help = format!("write it as `[{name}]` with a `type`");
            self.wrong_type(&name, &item, "a table", &help);
            return None;
        };
        let mut entries = table.entries;
        let mut take = |wanted: &str| {
            let at = entries.iter().position(|(key, _)| key.name == wanted)?;
            Some(entries.remove(at))
        };
        let (kind, used) = (take("type"), take("use"));
        let what = match (kind, used) {
            (Some((first, _)), Some((second, _))) => {
                let message = format!("`{}` has both a `type` and a `use`", key.name);
                self.found.push(
                    Diagnostic::error(Code::DuplicateKey, message)
                        .at(second.at, "`use` takes a sub-circuit")
                        .also(first.at, "`type` takes a component of the library")
                        .help("remove one of them"),
                );
                What::Unknown
            }
            (Some((_, item)), None) => {
                self.text(&format!("{}.type", key.name), item).map_or(What::Unknown, What::Type)
            }
            (None, Some((_, item))) => {
                self.text(&format!("{}.use", key.name), item).map_or(What::Unknown, What::Use)
            }
            (None, None) => {
                self.found.push(no_type(&key, &entries));
                What::Unknown
            }
        };
        Some(Part { key, what, entries })
    }

    fn connects(&mut self, item: Item) -> Vec<Connect> {
        let items = match item.value {
            Val::List(items) => items,
            Val::Table(_) => {
                let help = "write `[[connect]]`, with two brackets, for each connection";
                self.wrong_type("connect", &item, "a list of tables", help);
                return Vec::new();
            }
            _ => {
                let help = "write `[[connect]]` for each connection";
                self.wrong_type("connect", &item, "a list of tables", help);
                return Vec::new();
            }
        };
        items.into_iter().filter_map(|item| self.connect(item)).collect()
    }

    fn connect(&mut self, item: Item) -> Option<Connect> {
        let at = item.at;
        let Val::Table(table) = item.value else {
            let help = "write `[[connect]]` with `from` and `to`";
            self.wrong_type("connect", &item, "a table", help);
            return None;
        };
        let (mut from, mut to, mut ends, mut line) = (None, None, None, None);
        let mut good = true;
        let mut unknown: Vec<String> = Vec::new();
        let mut read = |this: &mut Self, key: &Key, item: Item| {
            let ends = this.ends(&key.name, item);
            good &= ends.is_some();
            Some((key.at, ends.unwrap_or_default()))
        };
        for (key, item) in table.entries {
            match key.name.as_str() {
                "from" => from = read(self, &key, item),
                "to" => to = read(self, &key, item),
                "ends" => ends = read(self, &key, item),
                "line" => {
                    let Val::Table(table) = item.value else {
                        let help = "write `line = { length = \"2 m\", bore = \"19 mm\" }`";
                        self.wrong_type("line", &item, "a table", help);
                        continue;
                    };
                    line = Some(Section { key, table });
                }
                name => {
                    self.found.push(
                        Diagnostic::error(
                            Code::UnknownKey,
                            format!("a connection has no key `{name}`"),
                        )
                        .at(key.at, "unknown")
                        .suggest(name, ["from", "to", "ends", "line"]),
                    );
                    unknown.push(key.name);
                }
            }
        }
        if !good {
            return None;
        }
        let (ends, from) = match (from, to, ends) {
            (Some((at, _)), _, Some((second, _))) | (None, Some((at, _)), Some((second, _))) => {
                let message = "a connection is written with `from` and `to`, or with `ends`";
                self.found.push(
                    Diagnostic::error(Code::DuplicateKey, message)
                        .at(second, "given as well")
                        .also(at, "given here")
                        .help("put all ports into `ends`, or into `to`"),
                );
                return None;
            }
            (None, None, Some((_, ends))) => (ends, 0),
            (Some((_, mut from)), Some((_, to)), None) => {
                // A junction may as well be written with several ports before as behind.
                let sources = from.len();
                from.extend(to);
                (from, sources)
            }
            (from, to, None) => {
                let missing = if from.is_none() { "from" } else { "to" };
                let other = if from.is_none() { &to } else { &from };
                // A misspelled key is one mistake, not two.
                let near = |one: &String| {
                    !fluxline_diagnostics::nearest(one, [missing, "ends"]).is_empty()
                };
                if unknown.iter().any(near) {
                    return None;
                }
                let message = match other {
                    None => "a connection without ports".to_owned(),
                    Some(_) => format!("`{missing}` is missing"),
                };
                self.found.push(
                    Diagnostic::error(Code::MissingKey, message)
                        .at(at, "this connection")
                        .help("write `from = \"pump.outlet\"` and `to = \"valve.p\"`"),
                );
                return None;
            }
        };
        if ends.len() < 2 {
            let message = match ends.first() {
                Some(end) => format!("`{}` is connected to nothing", end.text),
                None => "a connection without ports".to_owned(),
            };
            self.found.push(
                Diagnostic::error(Code::SinglePortConnection, message)
                    .at(ends.first().map_or(at, |end| end.at), "the only port")
                    .help("name the other port, or remove the connection"),
            );
            return None;
        }
        Some(Connect { at, ends, from, line })
    }

    /// One text or a list of texts.
    fn ends(&mut self, name: &str, item: Item) -> Option<Vec<End>> {
        let help = "write \"component.port\", or a list of these";
        match item.value {
            Val::Text(text) => Some(vec![End { text, at: item.at }]),
            Val::List(items) => {
                let mut ends = Vec::with_capacity(items.len());
                let mut good = true;
                for item in items {
                    match item.value {
                        Val::Text(text) => ends.push(End { text, at: item.at }),
                        _ => {
                            self.wrong_type(name, &item, "a port", help);
                            good = false;
                        }
                    }
                }
                good.then_some(ends)
            }
            _ => {
                self.wrong_type(name, &item, "a port or a list of ports", help);
                None
            }
        }
    }

    fn plots(&mut self, item: Item) -> Vec<Plot> {
        let Val::List(items) = item.value else {
            let help = "write `[[plot]]`, with two brackets, for each plot";
            self.wrong_type("plot", &item, "a list of tables", help);
            return Vec::new();
        };
        items.into_iter().filter_map(|item| self.plot(item)).collect()
    }

    fn plot(&mut self, item: Item) -> Option<Plot> {
        let at = item.at;
        let Val::Table(table) = item.value else {
            let help = "write `[[plot]]` with `variables`";
            self.wrong_type("plot", &item, "a table", help);
            return None;
        };
        let (mut title, mut variables) = (None, None);
        for (key, item) in table.entries {
            match key.name.as_str() {
                "title" => title = self.text("title", item).map(|end| end.text),
                "variables" => variables = Some(self.patterns("plot.variables", item)),
                name => self.found.push(
                    Diagnostic::error(Code::UnknownKey, format!("a plot has no key `{name}`"))
                        .at(key.at, "unknown")
                        .suggest(name, ["title", "variables"]),
                ),
            }
        }
        let Some(variables) = variables else {
            self.found.push(
                Diagnostic::error(Code::MissingKey, "a plot without variables")
                    .at(at, "needs `variables`")
                    .help("write `variables = [\"mass.x\"]`"),
            );
            return None;
        };
        Some(Plot { title, variables })
    }

    /// One pattern or a list of patterns.
    pub fn patterns(&mut self, name: &str, item: Item) -> Vec<End> {
        self.ends(name, item).unwrap_or_default()
    }
}

fn empty(folder: &Rc<Path>) -> Definition {
    Definition {
        name: String::new(),
        folder: folder.clone(),
        parent: None,
        title: None,
        run: None,
        solver: None,
        lines: None,
        record: None,
        fluids: Vec::new(),
        parameters: Vec::new(),
        parts: Vec::new(),
        connects: Vec::new(),
        ports: Vec::new(),
        plots: Vec::new(),
        subcircuits: HashMap::new(),
    }
}

/// The error for a value of another type than expected.
pub(super) fn wrong_type(name: &str, item: &Item, expected: &str) -> Diagnostic {
    let message = format!("`{name}` takes {expected}, but this is {}", item.type_name());
    Diagnostic::error(Code::WrongType, message).at(item.at, format!("expected {expected}"))
}

/// A component without type; the cause may be a dot in its name or a misspelled key.
fn no_type(key: &Key, entries: &[(Key, Item)]) -> Diagnostic {
    let typed = |item: &Item| matches!(&item.value, Val::Table(t) if t.get("type").is_some() || t.get("use").is_some());
    if let Some((inner, _)) = entries.iter().find(|(_, item)| typed(item)) {
        let (outer, inner_name) = (&key.name, &inner.name);
        return Diagnostic::error(
            Code::BadName,
            format!("`{outer}.{inner_name}` cannot be the name of a component: it has a dot"),
        )
        .at(inner.at, "")
        .help(format!("name it `{outer}_{inner_name}`, or make `{outer}` a sub-circuit"));
    }
    let error = Diagnostic::error(Code::MissingKey, format!("`{}` has no type", key.name))
        .at(key.at, "needs `type` or `use`");
    let similar = |wanted: &str| {
        let names = entries.iter().map(|(key, _)| key.name.as_str());
        names.into_iter().find(|name| !fluxline_diagnostics::nearest(name, [wanted]).is_empty())
    };
    match similar("type").or_else(|| similar("use")) {
        Some(name) => error.help(format!("is `{name}` meant to be `type` or `use`?")),
        None => {
            error.help("write `type = \"hydraulic.orifice\"`, or `use = \"…\"` for a sub-circuit")
        }
    }
}

/// Letters, digits, `_` and `-`, not beginning with a digit or `-`.
pub(super) fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
        && letters.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// What to do about a name that is not one, with a corrected name where there is one.
pub(super) fn name_help(name: &str) -> String {
    let rule = "use letters, digits and `_`, beginning with a letter";
    let mut better: String = name
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    if better.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        better.insert(0, '_');
    }
    match is_name(&better) && better.bytes().any(|b| b.is_ascii_alphanumeric()) {
        true => format!("{rule}: `{better}`"),
        false => rule.to_owned(),
    }
}
