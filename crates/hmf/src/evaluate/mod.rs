//! The values of all parameters of a model.
//!
//! Order, as in the program of origin: settings from outside replace texts of the file; then the scripts run, that of
//! the outermost system first, and their assignments replace texts as well; then every parameter is evaluated. A
//! name in an expression is looked for in the nearest system around, then the next, and `self.` means the component
//! (or system) itself. Each parameter is evaluated once, whoever refers to it.

mod overrides;
mod resolve;
mod script;
mod value;

pub use overrides::Override;

use crate::model::{Model, Object, System, join};
use crate::numhop::Program;
use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, Span};
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

/// What a parameter can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number; may be an expression.
    Double,
    /// A whole number, or the name of one, perhaps with a sign.
    Integer,
    /// True or false, or the name of such a parameter.
    Bool,
    /// A text, or the name of one.
    Text,
    /// The name of a file, or the name of such a parameter.
    FilePath,
    /// One of so many choices, counted from 0.
    Conditional(usize),
}

/// What is known about the types of components. Names of parameters are full: `m`, `P1#Pressure`, `k#Value`.
pub trait Types {
    /// Whether there is such a type. Parameters of unknown types are passed on as they stand.
    fn knows(&self, typename: &str) -> bool;

    /// What the parameter of this full name is, or `None` if the type has no such parameter.
    fn kind(&self, typename: &str, parameter: &str) -> Option<Kind>;

    /// The value of a parameter that the file does not give, for expressions that refer to it.
    fn default(&self, typename: &str, parameter: &str) -> Option<String> {
        let _ = (typename, parameter);
        None
    }

    /// The names of all parameters, for suggestions.
    fn names(&self, typename: &str) -> Vec<String> {
        let _ = typename;
        Vec::new()
    }
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// In SI units.
    Number(f64),
    /// A whole number.
    Integer(i64),
    /// True or false.
    Bool(bool),
    /// A text, or the name of a file.
    Text(String),
    /// A choice, counted from 0.
    Choice(usize),
}

impl Value {
    /// As a number: booleans as 0 and 1, texts not at all.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Value::Number(value) => Some(value),
            Value::Integer(value) => Some(value as f64),
            Value::Bool(value) => Some(f64::from(u8::from(value))),
            Value::Choice(value) => Some(value as f64),
            Value::Text(_) => None,
        }
    }
}

/// Who gave a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The model file.
    File,
    /// A script in the model file.
    Script,
    /// A setting from outside.
    Override,
}

/// A parameter with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// Its full name: `m`, `P1#Pressure`, `k#Value`.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// The text, where it is not the value itself but an expression or the name of another parameter.
    pub expression: Option<String>,
    /// Who gave it.
    pub origin: Origin,
    /// Where it stands.
    pub span: Option<Span>,
}

/// The values of a system, arranged as the [`System`] itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemValues {
    /// Its parameters.
    pub parameters: Vec<Evaluated>,
    /// Start values of its ports, as `Port#Variable`; they count only where the system is of type C.
    pub start_values: Vec<Evaluated>,
    /// One entry per object.
    pub objects: Vec<ObjectValues>,
}

/// The values of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectValues {
    /// The parameters of a component: those that its type has, in the order of the file, each once.
    Component(Vec<Evaluated>),
    /// A nested system.
    System(SystemValues),
    /// A port has no parameters.
    Port,
}

/// A parameter in the file that its type does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The type.
    pub typename: String,
    /// The parameter, as the file names it.
    pub name: String,
    /// In how many components.
    pub count: usize,
    /// The first of them.
    pub span: Span,
}

/// The values of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// Those of the outermost system.
    pub root: SystemValues,
    /// Parameters that were ignored, each told in one warning.
    pub unknown: Vec<Unknown>,
}

/// Evaluates all parameters of a model. Parameters with errors are left out of the values; the errors are pushed.
pub fn evaluate(
    model: &Model,
    types: &dyn Types,
    overrides: &[Override],
    found: &mut Diagnostics,
) -> Values {
    let mut evaluator = Evaluator {
        types,
        found,
        systems: Vec::new(),
        components: Vec::new(),
        cells: Vec::new(),
        unknown: Vec::new(),
        unknown_index: HashMap::new(),
        epoch: 1,
        work: 0,
        stack: Vec::new(),
        numbers: Vec::new(),
        suggestions: 0,
    };
    evaluator.add_system(&model.root, None, String::new());
    for setting in overrides {
        evaluator.set_from_outside(model, setting);
    }
    evaluator.run_scripts();
    evaluator.epoch += 1;
    for cell in 0..evaluator.cells.len() {
        evaluator.evaluate(cell);
    }
    evaluator.tell_unknown();
    let root = evaluator.values_of(0);
    Values { root, unknown: evaluator.unknown }
}

type CellId = usize;

/// To whom a parameter belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    System(usize),
    Component(usize),
}

/// A parameter on its way to a value.
struct Cell<'m> {
    owner: Owner,
    name: Cow<'m, str>,
    /// `None` for components of unknown types.
    kind: Option<Kind>,
    text: Cow<'m, str>,
    span: Option<Span>,
    origin: Origin,
    /// Whether other parameters of the owner may be named without `self.`.
    bare_self: bool,
    /// Only there for others to refer to: the default of a parameter that the file does not give.
    is_default: bool,
    plan: Option<Rc<Plan>>,
    state: State,
    epoch: u32,
}

#[derive(Clone, Debug)]
enum State {
    Untouched,
    /// Waits for those that it refers to.
    Waiting,
    Done(Value),
    Failed,
}

/// How a text becomes a value.
enum Plan {
    /// A program, and the cell of each of its inputs.
    Program { program: Program, inputs: Vec<(usize, CellId)> },
    /// The value of another parameter, perhaps with its sign changed.
    Copy { cell: CellId, is_negative: bool },
    /// Has been told already.
    Broken,
}

struct SystemScope<'m> {
    system: &'m System,
    parent: Option<usize>,
    path: String,
    parameters: HashMap<Cow<'m, str>, CellId>,
    /// What each object is here, by its index in the system.
    objects: Vec<Option<Owner>>,
    aliases: HashMap<&'m str, usize>,
}

struct ComponentScope<'m> {
    component: &'m crate::model::Component,
    system: usize,
    is_known: bool,
    parameters: HashMap<Cow<'m, str>, CellId>,
    /// The cells in the order of the file.
    order: Vec<CellId>,
}

struct Evaluator<'m, 'd> {
    types: &'d dyn Types,
    found: &'d mut Diagnostics,
    systems: Vec<SystemScope<'m>>,
    components: Vec<ComponentScope<'m>>,
    cells: Vec<Cell<'m>>,
    unknown: Vec<Unknown>,
    unknown_index: HashMap<(&'m str, &'m str), usize>,
    /// Grows when a text changes; values of earlier epochs are not valid any more.
    epoch: u32,
    /// Evaluations so far, to end scripts that would take for ever.
    work: u64,
    stack: Vec<f64>,
    numbers: Vec<f64>,
    suggestions: usize,
}

impl<'m> Evaluator<'m, '_> {
    fn add_system(&mut self, system: &'m System, parent: Option<usize>, path: String) -> usize {
        let id = self.systems.len();
        self.systems.push(SystemScope {
            system,
            parent,
            path,
            parameters: HashMap::with_capacity(system.parameters.len()),
            objects: Vec::with_capacity(system.objects.len()),
            aliases: system
                .aliases
                .iter()
                .enumerate()
                .map(|(at, alias)| (alias.name.as_str(), at))
                .collect(),
        });
        for parameter in &system.parameters {
            let kind = match parameter.kind.as_str() {
                "integer" => Kind::Integer,
                "bool" => Kind::Bool,
                "string" | "textblock" => Kind::Text,
                "filepath" => Kind::FilePath,
                _ => Kind::Double,
            };
            let is_switch = system.kind == crate::model::SystemKind::Conditional
                && parameter.name == "on#Value";
            if let Some((port, _)) = parameter.name.split_once('#')
                && !is_switch
                && !matches!(system.object(port), Some(Object::Port(_)))
            {
                let message =
                    format!("`{}` is no start value of a port, and is ignored", parameter.name);
                let warning = Diagnostic::warning(Code::IgnoredParameter, message);
                self.found.push(warning.at(parameter.span, format!("there is no port `{port}`")));
                continue;
            }
            let cell = self.add_cell(Cell {
                owner: Owner::System(id),
                name: Cow::Borrowed(&parameter.name),
                kind: Some(kind),
                text: Cow::Borrowed(&parameter.text),
                span: Some(parameter.span),
                origin: Origin::File,
                bare_self: parameter.bare_self,
                is_default: false,
                plan: None,
                state: State::Untouched,
                epoch: 0,
            });
            self.systems[id].parameters.insert(Cow::Borrowed(&parameter.name), cell);
        }
        for object in &system.objects {
            let owner = match object {
                Object::Component(component) => {
                    Some(Owner::Component(self.add_component(component, id)))
                }
                Object::System(nested) => {
                    let path = join(&self.systems[id].path, &nested.name);
                    Some(Owner::System(self.add_system(nested, Some(id), path)))
                }
                Object::Port(_) => None,
            };
            self.systems[id].objects.push(owner);
        }
        id
    }

    fn add_cell(&mut self, cell: Cell<'m>) -> CellId {
        self.cells.push(cell);
        self.cells.len() - 1
    }

    fn add_component(&mut self, component: &'m crate::model::Component, system: usize) -> usize {
        let id = self.components.len();
        let typename = component.typename.as_str();
        let is_known = self.types.knows(typename);
        let bare_self = self.systems[system].system.conversions.bare_self;
        let mut parameters: HashMap<Cow<'m, str>, CellId> =
            HashMap::with_capacity(component.parameters.len());
        let mut order = Vec::with_capacity(component.parameters.len());
        for parameter in &component.parameters {
            let (name, kind) = match self.full_name(typename, &parameter.name, is_known) {
                Some((name, kind)) => (name, Some(kind)),
                None if is_known => {
                    let key = (typename, parameter.name.as_str());
                    let next = self.unknown.len();
                    let index = *self.unknown_index.entry(key).or_insert(next);
                    if index == next {
                        self.unknown.push(Unknown {
                            typename: typename.to_owned(),
                            name: parameter.name.clone(),
                            count: 0,
                            span: parameter.name_span,
                        });
                    }
                    self.unknown[index].count += 1;
                    continue;
                }
                None => (Cow::Borrowed(parameter.name.as_str()), None),
            };
            // Of two the later counts.
            if let Some(&earlier) = parameters.get(&name) {
                let cell = &mut self.cells[earlier];
                cell.text = Cow::Borrowed(&parameter.text);
                cell.span = Some(parameter.span);
                continue;
            }
            let cell = self.add_cell(Cell {
                owner: Owner::Component(id),
                name: name.clone(),
                kind,
                text: Cow::Borrowed(&parameter.text),
                span: Some(parameter.span),
                origin: Origin::File,
                bare_self,
                is_default: false,
                plan: None,
                state: State::Untouched,
                epoch: 0,
            });
            parameters.insert(name, cell);
            order.push(cell);
        }
        self.components.push(ComponentScope { component, system, is_known, parameters, order });
        id
    }

    /// The full name of a parameter and what it is: `k` may be short for `k#Value`.
    fn full_name<'n>(
        &self,
        typename: &str,
        name: &'n str,
        is_known: bool,
    ) -> Option<(Cow<'n, str>, Kind)> {
        if !is_known {
            return None;
        }
        if let Some(kind) = self.types.kind(typename, name) {
            return Some((Cow::Borrowed(name), kind));
        }
        if name.contains('#') {
            return None;
        }
        let long = format!("{name}#Value");
        let kind = self.types.kind(typename, &long)?;
        Some((Cow::Owned(long), kind))
    }

    fn tell_unknown(&mut self) {
        for unknown in &self.unknown {
            let Unknown { typename, name, count, span } = unknown;
            let often = match count {
                1 => String::new(),
                count => format!(" ({count} components)"),
            };
            let message = format!("`{typename}` has no parameter `{name}`; it is ignored{often}");
            let warning = Diagnostic::warning(Code::IgnoredParameter, message).at(*span, "");
            let names = self.types.names(typename);
            let near = fluxline_diagnostics::nearest(name, names.iter().map(String::as_str));
            self.found.push(match near.is_empty() {
                true => warning,
                false => warning
                    .help(format!("the nearest is {}", fluxline_diagnostics::list_names(near))),
            });
        }
    }

    fn values_of(&self, system: usize) -> SystemValues {
        let scope = &self.systems[system];
        let mut values = SystemValues::default();
        for parameter in &scope.system.parameters {
            let cell = scope.parameters.get(parameter.name.as_str());
            let evaluated = cell.and_then(|&cell| self.evaluated(cell));
            match parameter.name.contains('#') {
                true => values.start_values.extend(evaluated),
                false => values.parameters.extend(evaluated),
            }
        }
        for owner in &scope.objects {
            values.objects.push(match *owner {
                Some(Owner::System(nested)) => ObjectValues::System(self.values_of(nested)),
                Some(Owner::Component(component)) => {
                    let cells = self.components[component].order.iter();
                    ObjectValues::Component(
                        cells.filter_map(|&cell| self.evaluated(cell)).collect(),
                    )
                }
                None => ObjectValues::Port,
            });
        }
        values
    }

    fn evaluated(&self, cell: CellId) -> Option<Evaluated> {
        let cell = &self.cells[cell];
        let State::Done(value) = &cell.state else { return None };
        if cell.is_default {
            return None;
        }
        let is_expression = cell.plan.is_some();
        Some(Evaluated {
            name: cell.name.to_string(),
            value: value.clone(),
            expression: is_expression.then(|| cell.text.to_string()),
            origin: cell.origin,
            span: cell.span,
        })
    }
}
