//! From a text to the steps of a program, by the interpreter's own order of splitting.

use super::{
    MAX_NESTING, MAX_SCRIPT, MAX_STATEMENT, ONE, Program, Statement, Step, SyntaxError, TWO,
};
use crate::number;
use std::collections::HashMap;
use std::ops::Range;

const OPERATORS: &[u8] = b"=+-*/^<>&|";

/// An operand with the operator in front of it.
type Part = (u8, Range<usize>);

pub(super) fn parse(text: &str) -> Result<Program, SyntaxError> {
    if text.len() > MAX_SCRIPT {
        let message = format!("the script has more than {} MiB", MAX_SCRIPT >> 20);
        return Err(SyntaxError { message, range: 0..0 });
    }
    let mut program =
        Program { steps: Vec::new(), variables: Vec::new(), statements: Vec::new(), stack: 0 };
    let mut slots = HashMap::new();
    for range in rows(text) {
        Reader::read(text, range, &mut program, &mut slots)?;
    }
    if program.statements.is_empty() {
        return Err(SyntaxError {
            message: "there is nothing to evaluate".into(),
            range: 0..text.len(),
        });
    }
    Ok(program)
}

/// The statements: what stands between line ends and `;`, up to a `#`.
fn rows(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    let lines = text.split_inclusive(['\n', '\r']).map(move |line| {
        let begin = start;
        start += line.len();
        (begin, line.trim_end_matches(['\n', '\r']))
    });
    lines.flat_map(|(begin, line)| {
        let code = &line[..line.find('#').unwrap_or(line.len())];
        let mut start = begin;
        code.split(';').filter_map(move |row| {
            let range = start..start + row.len();
            start += row.len() + 1;
            (!row.trim_matches([' ', '\t']).is_empty()).then_some(range)
        })
    })
}

/// Reads one statement.
struct Reader<'a> {
    /// The statement without white space.
    code: String,
    /// Where each byte of it stands in the text, and where the statement ends.
    places: Vec<u32>,
    /// For each opening parenthesis, where it is closed.
    closing: Vec<u32>,
    program: &'a mut Program,
    slots: &'a mut HashMap<String, usize>,
    reads: Vec<usize>,
    writes: Vec<usize>,
    on_stack: usize,
}

impl<'a> Reader<'a> {
    fn read(
        text: &str,
        range: Range<usize>,
        program: &'a mut Program,
        slots: &'a mut HashMap<String, usize>,
    ) -> Result<(), SyntaxError> {
        if range.len() > MAX_STATEMENT {
            let message = format!("the statement is longer than {MAX_STATEMENT} characters");
            return Err(SyntaxError { message, range });
        }
        let mut code = String::with_capacity(range.len());
        let mut places = Vec::with_capacity(range.len() + 1);
        for (at, character) in text[range.clone()].char_indices() {
            if !matches!(character, ' ' | '\t') {
                places
                    .extend((0..character.len_utf8()).map(|byte| (range.start + at + byte) as u32));
                code.push(character);
            }
        }
        places.push(range.end as u32);
        let first = program.steps.len();
        let end = code.len();
        let (reads, writes) = (Vec::new(), Vec::new());
        let closing = vec![0; end];
        let mut reader =
            Reader { code, places, closing, program, slots, reads, writes, on_stack: 0 };
        reader.pair_parentheses()?;
        reader.expression(0..end)?;
        let Reader { reads, writes, program, .. } = reader;
        let steps = first..program.steps.len();
        program.statements.push(Statement { steps, range, reads, writes });
        Ok(())
    }

    fn error<T>(&self, range: Range<usize>, message: impl Into<String>) -> Result<T, SyntaxError> {
        let place =
            |at: usize| self.places.get(at).or(self.places.last()).map_or(0, |&at| at as usize);
        let start = place(range.start);
        let end = if range.end > range.start { place(range.end - 1) + 1 } else { start };
        Err(SyntaxError { message: message.into(), range: start..end.max(start) })
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.code.as_bytes().get(at).copied()
    }

    /// Finds the partner of each parenthesis, so that what is between two is skipped and not read again and again.
    fn pair_parentheses(&mut self) -> Result<(), SyntaxError> {
        let mut open = Vec::new();
        for at in 0..self.code.len() {
            match self.code.as_bytes()[at] {
                b'(' if open.len() >= MAX_NESTING => {
                    let message = format!("parentheses are nested more than {MAX_NESTING} deep");
                    return self.error(at..at + 1, message);
                }
                b'(' => open.push(at),
                b')' => match open.pop() {
                    Some(opening) => self.closing[opening] = at as u32,
                    None => return self.error(at..at + 1, "this parenthesis closes nothing"),
                },
                _ => {}
            }
        }
        match open.pop() {
            Some(at) => self.error(at..at + 1, "this parenthesis is never closed"),
            None => Ok(()),
        }
    }

    /// Positions outside of parentheses, in order.
    fn outside(&self, range: Range<usize>) -> impl Iterator<Item = (usize, u8)> {
        let mut next = range.start;
        std::iter::from_fn(move || {
            while next < range.end {
                let at = next;
                let byte = self.byte(at)?;
                if byte != b'(' {
                    next += 1;
                    return Some((at, byte));
                }
                next = self.closing[at] as usize + 1;
            }
            None
        })
    }

    /// The range without the parentheses around it. The interpreter itself takes two pairs off and no more, so that
    /// `(((1)))` is an error there; it is obvious what it means.
    fn stripped(&self, mut range: Range<usize>) -> Range<usize> {
        while range.len() >= 2
            && self.byte(range.start) == Some(b'(')
            && self.closing[range.start] as usize + 1 == range.end
        {
            range = range.start + 1..range.end - 1;
        }
        range
    }

    fn push(&mut self, step: Step) {
        match step {
            Step::Constant(_) | Step::Load(_) => self.on_stack += 1,
            Step::Store(_) | Step::Negate | Step::One(_) => {}
            _ => self.on_stack = self.on_stack.saturating_sub(1),
        }
        self.program.stack = self.program.stack.max(self.on_stack);
        self.program.steps.push(step);
    }

    /// Recursion goes at most three levels for each pair of parentheses.
    fn expression(&mut self, range: Range<usize>) -> Result<(), SyntaxError> {
        let range = self.stripped(range);
        if range.is_empty() {
            return self.error(range, "an operand is missing here");
        }
        let assignments: Vec<usize> = self
            .outside(range.clone())
            .filter(|&(_, byte)| byte == b'=')
            .map(|(at, _)| at)
            .collect();
        if let Some(&at) = assignments.first() {
            return self.assignment(range, at, assignments.get(1).copied());
        }
        if let Some(sums) = self.split(range.clone(), b"+-|")? {
            return self.chain(&sums);
        }
        if let Some(products) = self.split(range.clone(), b"*/&")? {
            return self.chain(&products);
        }
        if let Some(powers) = self.split(range.clone(), b"^<>")? {
            return self.chain(&powers);
        }
        match self.function(range.clone()) {
            Some(open) => self.call(range, open),
            None => self.value(range),
        }
    }

    fn assignment(
        &mut self,
        range: Range<usize>,
        at: usize,
        second: Option<usize>,
    ) -> Result<(), SyntaxError> {
        if let Some(second) = second {
            return self.error(second..second + 1, "only one `=` may stand in a statement");
        }
        let left = self.stripped(range.start..at);
        if left.is_empty() {
            return self.error(at..at + 1, "there is no name in front of `=`");
        }
        let before = self.byte(at - 1).unwrap_or(0);
        let after = self.byte(at + 1).unwrap_or(0);
        if OPERATORS.contains(&before) {
            return self.error(at - 1..at + 1, "an operator may not stand in front of `=`");
        }
        if at + 1 < range.end && b"=*/^<>&|".contains(&after) {
            return self.error(at..at + 2, "this operator may not stand after `=`");
        }
        let name = &self.code[left.clone()];
        let is_name = !name.bytes().any(|byte| OPERATORS.contains(&byte) || b"(),".contains(&byte))
            && number::whole(name).is_none();
        if !is_name {
            let message = format!("`{name}` is not a name, so nothing can be assigned to it");
            return self.error(left, message);
        }
        if name == "pi" {
            return self.error(left, "`pi` is a constant, so nothing can be assigned to it");
        }
        let name = name.to_owned();
        self.expression(at + 1..range.end)?;
        let slot = self.slot(name);
        if !self.writes.contains(&slot) {
            self.writes.push(slot);
        }
        self.push(Step::Store(slot as u32));
        Ok(())
    }

    /// The operands between operators of one level, each with the operator in front of it (`+` before the first);
    /// `None` if there is none of these operators.
    fn split(
        &self,
        range: Range<usize>,
        operators: &[u8],
    ) -> Result<Option<Vec<Part>>, SyntaxError> {
        let is_sum = operators.contains(&b'+');
        let is_single = operators.contains(&b'^');
        let mut parts: Vec<Part> = Vec::new();
        let mut operator = b'+';
        let mut start = range.start;
        let mut found = 0;
        let mut skip = range.start;
        for (at, byte) in self.outside(range.clone()) {
            if at < skip
                || !operators.contains(&byte)
                || (is_sum && self.is_exponent(range.start, at))
            {
                continue;
            }
            if is_sum && at > range.start && b"*/^<>&".contains(&self.code.as_bytes()[at - 1]) {
                let message =
                    "two operators in a row; put the second with its operand into parentheses";
                return self.error(at - 1..at + 1, message);
            }
            found += 1;
            if is_single && found > 1 {
                let message = "two of `^`, `<` and `>` in a row; put one of them into parentheses";
                return self.error(at..at + 1, message);
            }
            // A sign or `|` at the very start works on zero.
            if !(is_sum && at == range.start) {
                if at == start {
                    return self
                        .error(at..at + 1, "an operand is missing in front of this operator");
                }
                parts.push((operator, start..at));
            }
            operator = byte;
            let mut end = at + 1;
            if matches!(byte, b'+' | b'-') {
                let mut is_negative = byte == b'-';
                while let Some(sign @ (b'+' | b'-')) = self.byte(end).filter(|_| end < range.end) {
                    is_negative ^= sign == b'-';
                    end += 1;
                }
                operator = if is_negative { b'-' } else { b'+' };
            } else if end < range.end
                && self.byte(end).is_some_and(|next| OPERATORS.contains(&next))
            {
                let message =
                    "two operators in a row; put the second with its operand into parentheses";
                return self.error(at..end + 1, message);
            }
            if end == range.end {
                return self.error(at..end, "an operand is missing after this operator");
            }
            (start, skip) = (end, end);
        }
        if found == 0 {
            return Ok(None);
        }
        parts.push((operator, start..range.end));
        Ok(Some(parts))
    }

    /// Whether a sign belongs to a number such as `1e-3`: an `e` in front of it, and a digit in front of that.
    fn is_exponent(&self, start: usize, at: usize) -> bool {
        at >= start + 2
            && matches!(self.byte(at - 1), Some(b'e' | b'E'))
            && self.byte(at - 2).is_some_and(|byte| byte.is_ascii_digit())
    }

    fn chain(&mut self, parts: &[Part]) -> Result<(), SyntaxError> {
        for (index, (operator, range)) in parts.iter().enumerate() {
            if index == 0 && *operator == b'|' {
                self.push(Step::Constant(0.0));
            }
            self.expression(range.clone())?;
            let step = match operator {
                b'+' if index == 0 => continue,
                b'-' if index == 0 => Step::Negate,
                b'+' => Step::Add,
                b'-' => Step::Subtract,
                b'|' => Step::Or,
                b'*' => Step::Multiply,
                b'/' => Step::Divide,
                b'&' => Step::And,
                b'^' => Step::Power,
                b'<' => Step::Less,
                _ => Step::Greater,
            };
            self.push(step);
        }
        Ok(())
    }

    /// Where the parenthesis of a function call opens, if the range is one: letters and digits, then parentheses up
    /// to the end.
    fn function(&self, range: Range<usize>) -> Option<usize> {
        let code = &self.code.as_bytes()[range.clone()];
        let name = code.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
        let open = range.start + name;
        let is_call = code[0].is_ascii_alphabetic()
            && code[name] == b'('
            && self.closing[open] as usize + 1 == range.end;
        is_call.then_some(open)
    }

    fn call(&mut self, range: Range<usize>, open: usize) -> Result<(), SyntaxError> {
        let name = self.code[range.start..open].to_owned();
        let close = range.end - 1;
        // Cut at every comma, whatever parentheses it is in; nothing after the last comma is no argument.
        let mut arguments = Vec::new();
        let mut start = open + 1;
        while start < close {
            let comma = self.code[start..close].find(',').map_or(close, |at| start + at);
            arguments.push(start..comma);
            start = comma + 1;
        }
        let depth = |range: &Range<usize>| {
            let count =
                |wanted| self.code[range.clone()].bytes().filter(|&byte| byte == wanted).count();
            (count(b'('), count(b')'))
        };
        if let Some(cut) = arguments.iter().find(|range| depth(range).0 != depth(range).1) {
            let message = format!(
                "the arguments of `{name}` are cut at the first comma, so a function with a comma cannot stand in them; \
                 compute it in a statement of its own"
            );
            return self.error(cut.clone(), message);
        }
        let one = ONE.iter().position(|function| function.0 == name);
        let two = TWO.iter().position(|function| function.0 == name);
        let step = match (one, two, arguments.len()) {
            (Some(index), _, 1) => Step::One(index as u8),
            (_, Some(index), 2) => Step::Two(index as u8),
            (Some(_), _, count) => {
                let message = format!("`{name}` takes one argument, not {count}");
                return self.error(range, message);
            }
            (_, Some(_), count) => {
                let message = format!("`{name}` takes two arguments, not {count}");
                return self.error(range, message);
            }
            (None, None, _) => {
                let near = fluxline_diagnostics::nearest(&name, super::functions());
                let near = match near.is_empty() {
                    true => String::new(),
                    false => format!("; did you mean {}?", fluxline_diagnostics::list_names(near)),
                };
                let message = format!("there is no function `{name}`{near}");
                return self.error(range.start..open, message);
            }
        };
        for argument in arguments {
            self.expression(argument)?;
        }
        self.push(step);
        Ok(())
    }

    fn value(&mut self, range: Range<usize>) -> Result<(), SyntaxError> {
        let text = &self.code[range.clone()];
        if let Some(value) = number::whole(text) {
            self.push(Step::Constant(value));
            return Ok(());
        }
        if text == "pi" {
            self.push(Step::Constant(std::f64::consts::PI));
            return Ok(());
        }
        if let Some(at) = text.find(['(', ')']) {
            let at = range.start + at;
            return self.error(at..at + 1, "an operator is missing at this parenthesis");
        }
        if text.contains(',') {
            let message = format!("`{text}` is not a number; the decimal sign is a point");
            return self.error(range, message);
        }
        if text.starts_with(|first: char| first.is_ascii_digit() || first == '.')
            && !text.contains('_')
        {
            let is_number_like = number::prefix(text).is_some();
            if is_number_like && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
                return self.error(range, format!("`{text}` is not a number"));
            }
        }
        let slot = self.slot(text.to_owned());
        if !self.reads.contains(&slot) && !self.writes.contains(&slot) {
            self.reads.push(slot);
        }
        self.push(Step::Load(slot as u32));
        Ok(())
    }

    fn slot(&mut self, name: String) -> usize {
        if let Some(&slot) = self.slots.get(&name) {
            return slot;
        }
        let slot = self.program.variables.len();
        self.program.variables.push(name.clone());
        self.slots.insert(name, slot);
        slot
    }
}
