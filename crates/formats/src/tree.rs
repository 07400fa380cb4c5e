//! A TOML text as a tree in which every key and value knows its place.
//!
//! The parser goes on after a syntax error, so that one look at the file shows all of them.

use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceId, Span};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Deeper nesting is refused: no circuit needs it, and walking it would exhaust the stack.
const MAX_DEPTH: usize = 64;
/// The parser accepts some thousand levels (dotted keys within inline tables within each other),
/// and releasing them recurses once per level.
const PARSER_STACK: usize = 64 << 20;
/// More syntax errors than this are not looked into: the file is something else altogether.
const MAX_SYNTAX_ERRORS: usize = 50;
/// In a larger file only the first syntax error is looked for: the parser keeps all of them, and
/// something that is no TOML at all has one in each byte.
const MAX_RECOVERED: usize = 4 << 20;

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its place.
    pub at: Span,
    /// What it is.
    pub value: Val,
}

/// What stands at a key.
#[derive(Clone, Debug)]
pub enum Val {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// `true` or `false`.
    Switch(bool),
    /// A date, which nothing takes.
    Date,
    /// A list.
    List(Vec<Item>),
    /// A table.
    Table(Table),
}

/// A key and its place.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Its place.
    pub at: Span,
}

/// Entries in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Keys and values.
    pub entries: Vec<(Key, Item)>,
}

impl Table {
    /// An entry; for tables with few keys.
    pub fn get(&self, name: &str) -> Option<&(Key, Item)> {
        self.entries.iter().find(|(key, _)| key.name == name)
    }
}

impl Item {
    /// Its type in words, with article.
    pub fn type_name(&self) -> &'static str {
        match self.value {
            Val::Text(_) => "a text",
            Val::Integer(_) | Val::Float(_) => "a number",
            Val::Switch(_) => "a switch (true or false)",
            Val::Date => "a date",
            Val::List(_) => "a list",
            Val::Table(_) => "a table",
        }
    }

    /// The place of a part of a text. Without escapes that is exact, otherwise the whole text.
    pub fn part(&self, range: Range<usize>) -> Span {
        let Val::Text(text) = &self.value else {
            return self.at;
        };
        // Escapes and triple quotes make the source longer than the text by another number.
        let offset =
            match (self.at.end - self.at.start) as usize - text.len().min(u32::MAX as usize) {
                0 => 0,
                2 => 1,
                _ => return self.at,
            };
        let start = self.at.start as usize + offset;
        let end = start + range.end.min(text.len());
        Span::new(self.at.source, (start + range.start.min(text.len()))..end)
    }
}

/// Reads a file. `None` when the syntax is wrong; all syntax errors are then reported.
pub fn parse_document(text: &str, source: SourceId, found: &mut Diagnostics) -> Option<Table> {
    on_a_large_stack(|| {
        let (table, errors) = match text.len() <= MAX_RECOVERED {
            true => DeTable::parse_recoverable(text),
            false => match DeTable::parse(text) {
                Ok(table) => (table, Vec::new()),
                Err(error) => (Spanned::new(0..0, DeTable::new()), vec![error]),
            },
        };
        let mut reader = Reader::new(text, source, 0);
        reader.syntax_errors(&errors);
        let table = reader.table(table.get_ref(), 0);
        (table, reader.found)
    })
    .map(|(table, errors)| finish(table, errors, found))?
}

/// Reads a single value, such as `[1, 2]`, that stands at `range` of a text.
pub(crate) fn parse_value(
    text: &str,
    range: Range<usize>,
    source: SourceId,
    found: &mut Diagnostics,
) -> Option<Item> {
    let part = text.get(range.clone())?;
    on_a_large_stack(|| {
        let (value, errors) = DeValue::parse_recoverable(part);
        let mut reader = Reader::new(text, source, range.start);
        reader.syntax_errors(&errors);
        let item = reader.item(value.get_ref(), value.span(), 0);
        (item, reader.found)
    })
    .map(|(item, errors)| finish(item, errors, found))?
}

fn finish<T>(value: T, errors: Diagnostics, found: &mut Diagnostics) -> Option<T> {
    let good = !errors.has_errors();
    found.absorb(errors);
    good.then_some(value)
}

/// Runs `work` on a thread of its own; in place where threads are not to be had.
fn on_a_large_stack<T: Send>(work: impl Fn() -> T + Sync) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(PARSER_STACK);
        match thread.spawn_scoped(scope, &work) {
            Ok(handle) => handle.join().ok(),
            Err(_) => Some(work()),
        }
    })
}

struct Reader<'t> {
    text: &'t str,
    source: SourceId,
    /// Where the parsed part begins in the text.
    offset: usize,
    /// Where a table ends whose header is given twice.
    repeated_until: usize,
    found: Diagnostics,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, source: SourceId, offset: usize) -> Self {
        Self { text, source, offset, repeated_until: 0, found: Diagnostics::new() }
    }

    fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.source, range.start + self.offset..range.end + self.offset)
    }

    fn table(&mut self, table: &DeTable, depth: usize) -> Table {
        let mut entries: Vec<(Key, Item)> = Vec::with_capacity(table.len());
        for (key, value) in table {
            let at = self.span(key.span());
            let item = self.item(value.get_ref(), value.span(), depth + 1);
            let name = key.get_ref().to_string();
            entries.push((Key { name, at }, item));
        }
        entries.sort_by_key(|(key, _)| key.at.start);
        Table { entries }
    }

    fn item(&mut self, value: &DeValue, range: Range<usize>, depth: usize) -> Item {
        let at = self.span(range);
        if depth > MAX_DEPTH {
            let message = format!("tables and lists are nested more than {MAX_DEPTH} levels deep");
            let error = Diagnostic::error(Code::FileTooLarge, message).at(at, "too deep");
            self.found.push(error.help("a curve is a list of pairs; long data fit in a CSV file"));
            return Item { at, value: Val::Date };
        }
        let value = match value {
            DeValue::String(text) => Val::Text(text.to_string()),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(whole) => Val::Integer(whole),
                    // Too long for an integer, but a fine number.
                    Err(_) => match number.as_str().parse() {
                        Ok(value) if number.radix() == 10 => Val::Float(value),
                        _ => self.too_large(at),
                    },
                }
            }
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(value) if value.is_finite() || number.as_str().contains(['i', 'n']) => {
                    Val::Float(value)
                }
                _ => self.too_large(at),
            },
            DeValue::Boolean(state) => Val::Switch(*state),
            DeValue::Datetime(_) => Val::Date,
            DeValue::Array(list) => {
                let items = list.iter();
                let items = items.map(|one| self.item(one.get_ref(), one.span(), depth + 1));
                Val::List(items.collect())
            }
            DeValue::Table(table) => Val::Table(self.table(table, depth)),
        };
        Item { at, value }
    }

    fn too_large(&mut self, at: Span) -> Val {
        let message = "the number is larger than any the simulator can hold";
        let error = Diagnostic::error(Code::NotFinite, message).at(at, "too large");
        self.found.push(error.help("the largest is about 1.8e308"));
        Val::Float(f64::NAN)
    }

    /// Reports syntax errors, each mistake once: after one, the parser stumbles over the rest of
    /// the line, and after a list that is never closed over the rest of the file.
    fn syntax_errors(&mut self, errors: &[toml::de::Error]) {
        let place = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        let unclosed = errors.iter().find(|error| {
            let message = error.message();
            message.starts_with("unclosed array") && !message.contains("table")
        });
        let opened = unclosed.and_then(|error| self.unclosed_list(place(error) + self.offset));
        let mut last_line = None;
        for error in errors.iter().take(MAX_SYNTAX_ERRORS) {
            let start = place(error) + self.offset;
            if opened.is_some_and(|opened| start > opened) {
                continue;
            }
            let line = self.line_start(start);
            if error.message() != "duplicate key" && last_line.replace(line) == Some(line) {
                continue;
            }
            self.syntax(error);
        }
        if let Some(opened) = opened {
            self.found.push(
                Diagnostic::error(Code::InvalidToml, "a list is not closed")
                    .at(self.span(opened - self.offset..opened - self.offset + 1), "begins here")
                    .help("add the missing `]` behind its last entry"),
            );
        }
    }

    /// Where the list begins that is still open when the next key or header comes.
    fn unclosed_list(&self, until: usize) -> Option<usize> {
        let text = &self.text[..self.text.floor_char_boundary(until.min(self.text.len()))];
        let mut open: Vec<usize> = Vec::new();
        let mut at = self.offset.min(text.len());
        for line in text[at..].split_inclusive('\n') {
            let begins = line.trim_start();
            let is_key = || {
                let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
                let after = begins.trim_start_matches(|c: char| c.is_ascii() && word(c as u8));
                after.len() < begins.len() && after.trim_start().starts_with('=')
            };
            if let Some(&first) = open.first()
                && (begins.starts_with("[[") || is_key())
            {
                return Some(first);
            }
            if open.is_empty() && begins.starts_with('[') {
                at += line.len();
                continue;
            }
            let mut quote = None;
            for (index, byte) in line.bytes().enumerate() {
                match (quote, byte) {
                    (Some(mark), _) if mark == byte => quote = None,
                    (Some(_), _) => {}
                    (None, b'"' | b'\'') => quote = Some(byte),
                    (None, b'#') => break,
                    (None, b'[') => open.push(at + index),
                    (None, b']') => drop(open.pop()),
                    _ => {}
                }
            }
            at += line.len();
        }
        open.first().copied()
    }

    fn line_start(&self, at: usize) -> usize {
        let at = self.text.floor_char_boundary(at.min(self.text.len()));
        self.text[..at].rfind('\n').map_or(0, |n| n + 1)
    }

    fn syntax(&mut self, error: &toml::de::Error) {
        let range = error.span().unwrap_or(0..0);
        let at = self.span(range.clone());
        let (start, end) = (at.start as usize, at.end as usize);
        let message = error.message();
        let (what, expected) = match message.split_once(", expected ") {
            Some((what, expected)) => (what, format!("expected {expected}")),
            None => (message, String::new()),
        };
        if message.contains("recursion") || message.contains("recurse") {
            let error = Diagnostic::error(
                Code::FileTooLarge,
                "tables, lists or dotted keys are nested too deeply",
            );
            self.found.push(error.at(at, "too deep").help("use fewer levels"));
            return;
        }
        if message == "duplicate key" {
            // Under a header that is given twice, the keys are so too.
            if start < self.repeated_until {
                return;
            }
            if self.line_around(start).trim_start().starts_with('[') {
                let rest = self.text.get(start..).unwrap_or("");
                let next = rest.find("\n[").map_or(rest.len(), |n| n + 1);
                self.repeated_until = start + next;
            }
            self.found.push(self.duplicate(at));
            return;
        }
        let line = self.line_around(start);
        let error = if what == "string values must be quoted" {
            let value = self.text.get(start..end).unwrap_or("").trim();
            if value.is_empty() {
                Diagnostic::error(Code::InvalidToml, "a value is missing")
                    .at(at, "expected a value after `=`")
            } else {
                Diagnostic::error(Code::InvalidToml, "a text or a quantity needs quotes")
                    .at(at, "missing quotes")
                    .help(format!("write \"{value}\""))
            }
        } else if let Some((comma, corrected)) = decimal_comma(self.text, start) {
            let written = &self.text[comma.clone()];
            Diagnostic::error(Code::DecimalComma, format!("`{written}` has a decimal comma"))
                .at(Span::new(self.source, comma), "use a point")
                .help(format!("write {corrected}"))
        } else if what.starts_with("unclosed") && what.ends_with("table") {
            let header = line.split('#').next().unwrap_or("").trim();
            let close = if header.starts_with("[[") { "]]" } else { "]" };
            let header = header.trim_end_matches(']');
            Diagnostic::error(Code::InvalidToml, "a header is not closed")
                .at(at, expected)
                .help(format!("write `{header}{close}`"))
        } else if what.starts_with("invalid basic") && expected == "expected `\"`" {
            Diagnostic::error(Code::InvalidToml, "a text has no closing quote")
                .at(at, expected)
                .help("close the quotes on the same line; a text of several lines stands in three quotes")
        } else if self.text[..self.text.floor_char_boundary(start)].trim_end().ends_with(':')
            || self.text[self.text.floor_char_boundary(start)..].starts_with(':')
        {
            Diagnostic::error(Code::InvalidToml, "a key is followed by `=`, not by `:`")
                .at(at, "expected `=`")
                .help("write `key = value`")
        } else {
            let error = Diagnostic::error(Code::InvalidToml, format!("not valid TOML: {what}"));
            let error = error.at(at, expected);
            match what {
                _ if what.starts_with("unclosed") || what.starts_with("invalid multi") => {
                    error.note("the opening bracket or quote may stand on an earlier line")
                }
                _ if what.starts_with("key with no value") && !line.contains('=') => {
                    error.help("write `key = value`, or `[header]` for a table")
                }
                _ => error.help("quantities with a unit and names stand in quotes: \"120 bar\""),
            }
        };
        self.found.push(error);
    }

    fn line_around(&self, at: usize) -> &'t str {
        let text = self.text;
        let at = text.floor_char_boundary(at);
        let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
        let end = text[at..].find('\n').map_or(text.len(), |n| at + n);
        &text[start..end]
    }

    /// Two keys or headers of one name; looks for the first one in the lines before.
    fn duplicate(&self, at: Span) -> Diagnostic {
        let (start, end) = (at.start as usize, at.end as usize);
        let name = self.text.get(start..end).unwrap_or("").trim_matches(['"', '\'']);
        let error = Diagnostic::error(Code::DuplicateKey, format!("`{name}` is given twice"))
            .at(at, "given again here")
            .help("rename or remove one of the two");
        let line = self.line_around(start).trim();
        let before = &self.text[..self.text.floor_char_boundary(start)];
        let before = &before[..before.rfind('\n').map_or(0, |n| n + 1)];
        let is_header = line.starts_with('[');
        let mut end_of_line = before.len();
        for earlier in before.split_inclusive('\n').rev() {
            let begin = end_of_line - earlier.len();
            end_of_line = begin;
            let trimmed = earlier.trim();
            let same = if is_header {
                trimmed.split(']').next() == line.split(']').next()
            } else {
                trimmed.split('=').next().map(str::trim) == line.split('=').next().map(str::trim)
            };
            if same && !trimmed.is_empty() {
                let indent = earlier.len() - earlier.trim_start().len();
                let first = begin + indent..begin + indent + trimmed.len();
                return error.also(self.span(first), "first given here");
            }
            if !is_header && trimmed.starts_with('[') {
                break;
            }
        }
        error
    }
}

/// Where `0,5` stands and what it should be, if a number surrounds the comma at this place.
fn decimal_comma(text: &str, at: usize) -> Option<(Range<usize>, String)> {
    let at = text.floor_char_boundary(at);
    let comma = if text[at..].starts_with(',') {
        at
    } else {
        at.checked_sub(1).filter(|&before| text.as_bytes()[before] == b',')?
    };
    let digits_before = text[..comma].bytes().rev().take_while(u8::is_ascii_digit).count();
    let digits_after = text[comma + 1..].bytes().take_while(u8::is_ascii_digit).count();
    (digits_before > 0 && digits_after > 0).then(|| {
        let (from, to) = (comma - digits_before, comma + 1 + digits_after);
        (from..to, format!("{}.{}", &text[from..comma], &text[comma + 1..to]))
    })
}
