//! From texts to values, those first that others refer to.

use super::*;
use crate::number;
use crate::numhop::SyntaxError;

/// So many evaluations are made in all; only scripts that assign and read in turn need more than one per parameter.
const MAX_WORK: u64 = 100_000_000;
/// So many errors are told in full. Each unknown name is compared with all valid ones, which in a large broken file
/// would take longer than reading it.
pub(super) const MAX_SUGGESTIONS: usize = 100;

/// A text that needs no other parameter, or the plan for one that does.
enum Reading {
    Value(Value),
    Plan(Plan),
    Wrong,
}

impl Evaluator<'_, '_> {
    /// The value of a parameter, evaluated together with all it refers to. Errors are told once.
    pub(super) fn evaluate(&mut self, wanted: CellId) -> Option<Value> {
        let mut waiting = vec![wanted];
        while let Some(&top) = waiting.last() {
            if self.cells[top].epoch != self.epoch {
                self.cells[top].epoch = self.epoch;
                self.cells[top].state = State::Untouched;
            }
            match self.cells[top].state {
                State::Done(_) | State::Failed => {
                    waiting.pop();
                }
                State::Waiting => {
                    self.cells[top].state = self.finish(top).map_or(State::Failed, State::Done);
                    waiting.pop();
                }
                State::Untouched => {
                    self.work += 1;
                    if self.work > MAX_WORK {
                        self.cells[top].state = State::Failed;
                        if self.work == MAX_WORK + 1 {
                            let message = "the scripts of the model take too long: each assignment changes parameters that many others depend on";
                            self.found.push(Diagnostic::error(Code::ImportedCircle, message));
                        }
                        continue;
                    }
                    let inputs = match self.begin(top) {
                        Some(plan) => plan,
                        None => continue,
                    };
                    self.cells[top].state = State::Waiting;
                    let circle = inputs.iter().copied().find(|&input| {
                        self.cells[input].epoch == self.epoch
                            && matches!(self.cells[input].state, State::Waiting)
                    });
                    if let Some(input) = circle {
                        self.tell_circle(input, top, &waiting);
                        self.cells[top].state = State::Failed;
                        continue;
                    }
                    waiting.extend(inputs);
                }
            }
        }
        match &self.cells[wanted].state {
            State::Done(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// Evaluates a text that needs no other parameter; else the parameters that it needs.
    fn begin(&mut self, id: CellId) -> Option<Vec<CellId>> {
        let plan = match &self.cells[id].plan {
            Some(plan) => Rc::clone(plan),
            None => {
                let plan = match self.read(id) {
                    Reading::Value(value) => {
                        self.cells[id].state = State::Done(value);
                        return None;
                    }
                    Reading::Wrong => Plan::Broken,
                    Reading::Plan(plan) => plan,
                };
                let plan = Rc::new(plan);
                self.cells[id].plan = Some(Rc::clone(&plan));
                plan
            }
        };
        match plan.as_ref() {
            Plan::Broken => {
                self.cells[id].state = State::Failed;
                None
            }
            Plan::Copy { cell, .. } => Some(vec![*cell]),
            Plan::Program { inputs, .. } => Some(inputs.iter().map(|input| input.1).collect()),
        }
    }

    /// Evaluates a text all whose inputs have been evaluated. If one of them failed, this has been told.
    fn finish(&mut self, id: CellId) -> Option<Value> {
        let plan = Rc::clone(self.cells[id].plan.as_ref()?);
        let value = |cell: CellId| match &self.cells[cell].state {
            State::Done(value) => Some(value),
            _ => None,
        };
        match plan.as_ref() {
            Plan::Broken => None,
            Plan::Copy { cell, is_negative } => Some(match value(*cell)? {
                Value::Integer(value) if *is_negative => Value::Integer(-value),
                value => value.clone(),
            }),
            Plan::Program { program, inputs } => {
                let mut numbers = std::mem::take(&mut self.numbers);
                numbers.clear();
                numbers.resize(program.variables().len(), 0.0);
                let mut is_whole = true;
                for &(slot, cell) in inputs {
                    match &self.cells[cell].state {
                        State::Done(value) => numbers[slot] = value.number().unwrap_or(f64::NAN),
                        _ => is_whole = false,
                    }
                }
                let result = program.evaluate(&mut numbers, &mut self.stack);
                self.numbers = numbers;
                is_whole.then_some(Value::Number(result))
            }
        }
    }

    fn read(&mut self, id: CellId) -> Reading {
        let cell = &self.cells[id];
        let (owner, kind) = (cell.owner, cell.kind);
        let text = cell.text.clone();
        let text = text.as_ref();
        match kind {
            None => Reading::Value(match number::whole(text) {
                Some(value) => Value::Number(value),
                None => Value::Text(text.to_owned()),
            }),
            Some(Kind::Double) => match number::whole(text) {
                Some(value) => Reading::Value(Value::Number(value)),
                None => self.read_expression(id),
            },
            Some(Kind::Integer) => self.read_integer(id, owner, text),
            Some(Kind::Bool) => self.read_bool(id, owner, text),
            Some(Kind::Text | Kind::FilePath) => {
                let is_text = |kind| matches!(kind, Kind::Text | Kind::FilePath);
                match self.by_name(id, owner, text, is_text) {
                    Some(cell) => Reading::Plan(Plan::Copy { cell, is_negative: false }),
                    None => Reading::Value(Value::Text(text.to_owned())),
                }
            }
            Some(Kind::Conditional(choices)) => {
                let (value, length) = number::integer_prefix(text).unwrap_or((-1, 0));
                match usize::try_from(value).ok().filter(|&value| value < choices) {
                    Some(choice) => {
                        if length != text.trim_ascii_end().len() {
                            self.warn_odd(id, &format!("read as {choice}"));
                        }
                        Reading::Value(Value::Choice(choice))
                    }
                    None => {
                        let last = choices.saturating_sub(1);
                        self.wrong_value(
                            id,
                            &format!("a choice, which is a number from 0 to {last}"),
                        )
                    }
                }
            }
        }
    }

    /// The parameter that a text names as a whole, if it is not itself.
    fn by_name(
        &mut self,
        id: CellId,
        owner: Owner,
        name: &str,
        fits: impl Fn(Kind) -> bool,
    ) -> Option<CellId> {
        if let Some(rest) = name.strip_prefix("self.") {
            let full = rest.replacen('.', "#", 1);
            let own = self.of_owner(owner, &full);
            let own = own.filter(|&cell| cell != id && self.cells[cell].kind.is_some_and(&fits));
            if own.is_some() {
                return own;
            }
        }
        self.outwards(self.around(owner), name, fits)
    }

    fn read_integer(&mut self, id: CellId, owner: Owner, text: &str) -> Reading {
        if number::whole(text).is_none() {
            let name = text.trim_start_matches(['+', '-']);
            let signs = &text[..text.len() - name.len()];
            let is_negative = signs.matches('-').count() % 2 == 1;
            if let Some(cell) = self.by_name(id, owner, name, |kind| kind == Kind::Integer) {
                return Reading::Plan(Plan::Copy { cell, is_negative });
            }
        }
        match number::integer_prefix(text) {
            Some((value, length)) if i32::try_from(value).is_ok() => {
                if length != text.trim_ascii_end().len() {
                    self.warn_odd(id, &format!("read as {value}"));
                }
                Reading::Value(Value::Integer(value))
            }
            _ => self.wrong_value(id, "a whole number or the name of one"),
        }
    }

    fn read_bool(&mut self, id: CellId, owner: Owner, text: &str) -> Reading {
        match text {
            "true" | "1" => return Reading::Value(Value::Bool(true)),
            "false" | "0" => return Reading::Value(Value::Bool(false)),
            _ => {}
        }
        if let Some(cell) = self.by_name(id, owner, text, |kind| kind == Kind::Bool) {
            return Reading::Plan(Plan::Copy { cell, is_negative: false });
        }
        let value = match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return self.wrong_value(id, "true or false, or the name of such a parameter"),
        };
        self.warn_odd(id, &format!("read as {value}"));
        Reading::Value(Value::Bool(value))
    }

    fn read_expression(&mut self, id: CellId) -> Reading {
        let cell = &self.cells[id];
        let (owner, name) = (cell.owner, cell.name.clone());
        let text = cell.text.to_string();
        // A text that is the parameter's own name means the parameter of that name around it.
        let bare_self = cell.bare_self && text != name;
        if let Some(value) = number::decimal_comma(&text) {
            self.warn_odd(id, &format!("it has a decimal comma; read as {value}"));
            return Reading::Value(Value::Number(value));
        }
        let program = match Program::parse(&text) {
            Ok(program) => program,
            Err(error) => {
                self.bad_expression(id, &text, error);
                return Reading::Wrong;
            }
        };
        let dotted = program.statements().iter().flat_map(|statement| &statement.writes);
        let dotted = dotted.map(|&slot| &program.variables()[slot]).find(|name| name.contains('.'));
        if let Some(target) = dotted {
            let message = format!("`{target}` cannot be assigned in the value of a parameter");
            self.bad_expression(id, &text, SyntaxError { message, range: 0..text.len() });
            return Reading::Wrong;
        }
        let mut inputs = Vec::new();
        let mut is_whole = true;
        for slot in program.inputs() {
            let name = &program.variables()[slot];
            match self.in_expression(owner, name, bare_self) {
                Some(input) => inputs.push((slot, input)),
                None => {
                    self.unknown_name(id, &text, name);
                    is_whole = false;
                }
            }
        }
        match is_whole {
            true => Reading::Plan(Plan::Program { program, inputs }),
            false => Reading::Wrong,
        }
    }

    /// The place of a part of a text; all of it where the file holds it with entities in it.
    fn part(&self, id: CellId, range: std::ops::Range<usize>) -> Option<Span> {
        let cell = &self.cells[id];
        let span = cell.span?;
        match (span.end - span.start) as usize == cell.text.len() && cell.origin == Origin::File {
            true => Some(Span {
                start: span.start + range.start as u32,
                end: span.start + range.end.max(range.start) as u32,
                ..span
            }),
            false => Some(span),
        }
    }

    fn bad_expression(&mut self, id: CellId, text: &str, error: SyntaxError) {
        let message = format!(
            "`{}` = \"{}\" cannot be read: {}",
            self.describe(id),
            shortened(text),
            error.message
        );
        let span = self.part(id, error.range);
        self.found.push(Diagnostic::error(Code::BadExpression, message).at_if(span, ""));
    }

    fn unknown_name(&mut self, id: CellId, text: &str, name: &str) {
        let owner = self.cells[id].owner;
        let message = format!(
            "`{}` = \"{}\" uses `{name}`, which is not known there",
            self.describe(id),
            shortened(text)
        );
        let range = text.find(name).map_or(0..text.len(), |at| at..at + name.len());
        let mut error = Diagnostic::error(Code::UnknownNameInExpression, message)
            .at_if(self.part(id, range), "");
        if let Some(other) = self.outwards(self.around(owner), name, |_| true) {
            let kind = self.cells[other].kind;
            error = error.note(format!(
                "there is a parameter `{name}`, but it is {}; an expression can only use those of type double",
                kind_in_words(kind)
            ));
        }
        self.suggestions += 1;
        if self.suggestions <= MAX_SUGGESTIONS {
            let candidates = self.candidates(owner);
            error = error.suggest(name, candidates.iter().map(String::as_str));
        }
        self.found.push(error);
    }

    fn wrong_value(&mut self, id: CellId, expected: &str) -> Reading {
        let cell = &self.cells[id];
        let message = format!(
            "`{}` is \"{}\", but must be {expected}",
            self.describe(id),
            shortened(&cell.text)
        );
        let mut error = Diagnostic::error(Code::BadImportedValue, message).at_if(cell.span, "");
        if Program::parse(&cell.text).is_ok() && cell.kind != Some(Kind::Double) {
            error = error.note("only parameters of type double can have expressions");
        }
        self.found.push(error);
        Reading::Wrong
    }

    fn warn_odd(&mut self, id: CellId, read_as: &str) {
        let cell = &self.cells[id];
        let message =
            format!("`{}` is \"{}\"; {read_as}", self.describe(id), shortened(&cell.text));
        self.found.push(Diagnostic::warning(Code::OddAttribute, message).at_if(cell.span, ""));
    }

    fn tell_circle(&mut self, first: CellId, last: CellId, waiting: &[CellId]) {
        const SHOWN: usize = 8;
        self.suggestions += 1;
        if self.suggestions > MAX_SUGGESTIONS {
            let message = format!("`{}` depends on itself, over others", self.describe(last));
            let error = Diagnostic::error(Code::ImportedCircle, message);
            self.found.push(error.at_if(self.cells[last].span, "this closes the circle"));
            return;
        }
        let from = waiting.iter().position(|&id| id == first).unwrap_or(0);
        let mut circle: Vec<CellId> = waiting[from..]
            .iter()
            .copied()
            .filter(|&id| {
                self.cells[id].epoch == self.epoch && matches!(self.cells[id].state, State::Waiting)
            })
            .collect();
        circle.dedup();
        let mut names: Vec<String> =
            circle.iter().take(SHOWN).map(|&id| format!("`{}`", self.describe(id))).collect();
        if circle.len() > SHOWN {
            names.push(format!("{} more", circle.len() - SHOWN));
        }
        names.push(format!("`{}`", self.describe(first)));
        let cell = &self.cells[last];
        let message = format!("parameters depend on each other in a circle: {}", names.join(" → "));
        self.found.push(
            Diagnostic::error(Code::ImportedCircle, message)
                .at_if(cell.span, "this closes the circle")
                .help("give one of them a number"),
        );
    }
}

fn kind_in_words(kind: Option<Kind>) -> &'static str {
    match kind {
        Some(Kind::Integer) => "an integer",
        Some(Kind::Bool) => "true or false",
        Some(Kind::Text | Kind::FilePath) => "a text",
        _ => "of another kind",
    }
}

/// Texts in messages: one line, not too long.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let line: String =
        text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > MOST { format!("{line}…") } else { line }
}
