//! What a name in an expression means.

use super::*;

impl<'m> Evaluator<'m, '_> {
    /// `Sub$Component#parameter`, for messages.
    pub(super) fn describe(&self, cell: CellId) -> String {
        let cell = &self.cells[cell];
        match cell.owner {
            Owner::Component(id) => {
                let scope = &self.components[id];
                let component = join(&self.systems[scope.system].path, &scope.component.name);
                format!("{component}#{}", cell.name)
            }
            Owner::System(id) => match self.systems[id].path.as_str() {
                "" => format!("self#{}", cell.name),
                path => format!("{path}$self#{}", cell.name),
            },
        }
    }

    /// The parameter of a component by its full or short name. One that the file does not give is made from its
    /// default.
    pub(super) fn of_component(&mut self, id: usize, name: &str) -> Option<CellId> {
        let scope = &self.components[id];
        if let Some(&cell) = scope.parameters.get(name) {
            return Some(cell);
        }
        let typename = scope.component.typename.as_str();
        let is_known = scope.is_known;
        let (full, kind) = match self.full_name(typename, name, is_known) {
            Some((full, kind)) => (full.into_owned(), kind),
            None if !name.contains('#') => {
                return self.components[id]
                    .parameters
                    .get(format!("{name}#Value").as_str())
                    .copied();
            }
            None => return None,
        };
        if let Some(&cell) = self.components[id].parameters.get(full.as_str()) {
            return Some(cell);
        }
        let text = self.types.default(typename, &full)?;
        Some(self.give_parameter(id, full, kind, text, true))
    }

    /// Adds a parameter that the file does not give.
    pub(super) fn give_parameter(
        &mut self,
        component: usize,
        name: String,
        kind: Kind,
        text: String,
        is_default: bool,
    ) -> CellId {
        let cell = self.add_cell(Cell {
            owner: Owner::Component(component),
            name: Cow::Owned(name.clone()),
            kind: Some(kind),
            text: Cow::Owned(text),
            span: None,
            origin: Origin::File,
            bare_self: false,
            is_default,
            plan: None,
            state: State::Untouched,
            epoch: 0,
        });
        let scope = &mut self.components[component];
        scope.parameters.insert(Cow::Owned(name), cell);
        scope.order.push(cell);
        cell
    }

    /// The parameter of an owner: a component's by its full or short name, a system's by its name.
    pub(super) fn of_owner(&mut self, owner: Owner, name: &str) -> Option<CellId> {
        match owner {
            Owner::Component(id) => self.of_component(id, name),
            Owner::System(id) => self.systems[id].parameters.get(name).copied(),
        }
    }

    /// Whether a parameter of exactly this name belongs to the owner.
    fn has_exactly(&self, owner: Owner, name: &str) -> bool {
        match owner {
            Owner::System(id) => self.systems[id].parameters.contains_key(name),
            Owner::Component(id) => {
                let scope = &self.components[id];
                scope.parameters.contains_key(name)
                    || (scope.is_known
                        && self.types.kind(&scope.component.typename, name).is_some())
            }
        }
    }

    /// The system around an owner.
    pub(super) fn around(&self, owner: Owner) -> Option<usize> {
        match owner {
            Owner::Component(id) => Some(self.components[id].system),
            Owner::System(id) => self.systems[id].parent,
        }
    }

    /// The nearest parameter of a fitting kind in this system and those around it.
    pub(super) fn outwards(
        &self,
        from: Option<usize>,
        name: &str,
        fits: impl Fn(Kind) -> bool,
    ) -> Option<CellId> {
        let mut next = from;
        while let Some(id) = next {
            let scope = &self.systems[id];
            if let Some(&cell) = scope.parameters.get(name)
                && self.cells[cell].kind.is_some_and(&fits)
            {
                return Some(cell);
            }
            next = scope.parent;
        }
        None
    }

    /// What a name in the expression of a parameter refers to.
    pub(super) fn in_expression(
        &mut self,
        owner: Owner,
        name: &str,
        bare_self: bool,
    ) -> Option<CellId> {
        let is_double = |kind| kind == Kind::Double;
        let own = |this: &mut Self, name: &str| {
            let cell = this.of_owner(owner, name)?;
            this.cells[cell].kind.is_none_or(is_double).then_some(cell)
        };
        if let Some(rest) = name.strip_prefix("self.") {
            return match rest.split_once('.') {
                None => own(self, rest),
                Some((port, variable)) if !variable.contains('.') => {
                    own(self, &format!("{port}#{variable}"))
                }
                Some(_) => None,
            };
        }
        if bare_self {
            let full = name.replace('.', "#");
            // One of another kind cannot be meant.
            if self.has_exactly(owner, &full)
                && let Some(cell) = own(self, &full)
            {
                return Some(cell);
            }
        }
        match name.contains('.') {
            true => None,
            false => self.outwards(self.around(owner), name, is_double),
        }
    }

    /// Names that could have been meant in an expression, for suggestions.
    pub(super) fn candidates(&self, owner: Owner) -> Vec<String> {
        let mut names = Vec::new();
        let own = match owner {
            Owner::System(id) => &self.systems[id].parameters,
            Owner::Component(id) => &self.components[id].parameters,
        };
        let mut own: Vec<String> =
            own.keys().map(|name| format!("self.{}", name.replace('#', "."))).collect();
        own.sort();
        let mut next = self.around(owner);
        while let Some(id) = next {
            let scope = &self.systems[id];
            let doubles = scope
                .parameters
                .iter()
                .filter(|(_, cell)| self.cells[**cell].kind == Some(Kind::Double));
            names.extend(doubles.map(|(name, _)| name.to_string()));
            next = scope.parent;
        }
        names.sort();
        names.extend(own);
        names
    }
}
