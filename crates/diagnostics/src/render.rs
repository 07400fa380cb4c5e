//! Diagnostics as text for people.
//!
//! What is quoted from a file may be anything: a megabyte without a line end, tabs, wide or combining characters,
//! escape sequences. A quoted line is therefore cut to a window around the marked place and each character is shown
//! as one of known width, so that the marks stand where they should and nothing reaches the terminal unseen.

use std::fmt::Write;
use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::{Diagnostic, Diagnostics, Label, Severity, Source, SourceId, SourceMap};

const TAB: &str = "    ";
const CUT: &str = "...";
/// Narrower terminals would show the line numbers and little else.
const NARROWEST: usize = 40;
/// A message may quote a value from a file; more than this of it helps nobody.
const LONGEST_TEXT: usize = 2000;
const MOST_LABELS: usize = 20;

impl Diagnostic {
    /// The diagnostic as text, with the lines of the file that it points at.
    ///
    /// `width` is that of the terminal, in characters; quoted lines are cut to it.
    pub fn render(&self, sources: &SourceMap, color: bool, width: usize) -> String {
        let mut page = Page {
            out: String::new(),
            paint: Paint::new(color, self.severity()),
            width: width.max(NARROWEST),
        };
        page.diagnostic(self, sources);
        page.out
    }
}

impl Diagnostics {
    /// All diagnostics as text, by file and position, with a blank line between, and the number of those beyond the
    /// cap at the end.
    pub fn render(&self, sources: &SourceMap, color: bool, width: usize) -> String {
        let sorted = self.sorted();
        let mut parts: Vec<String> =
            sorted.into_iter().map(|diagnostic| diagnostic.render(sources, color, width)).collect();
        for (code, severity, more) in self.more() {
            let paint = Paint::new(color, severity);
            let head = paint.severity(&format!("{severity}[{code}]"));
            parts.push(format!("{head}: and {more} more: {}\n", code.title()));
        }
        parts.join("\n")
    }
}

struct Paint {
    color: bool,
    severity: &'static str,
}

impl Paint {
    fn new(color: bool, severity: Severity) -> Self {
        let severity = match severity {
            Severity::Error => "1;31",
            Severity::Warning => "1;33",
            Severity::Note => "1;32",
        };
        Paint { color, severity }
    }

    fn with(&self, style: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn severity(&self, text: &str) -> String {
        self.with(self.severity, text)
    }

    fn strong(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn frame(&self, text: &str) -> String {
        self.with("1;34", text)
    }

    fn help(&self, text: &str) -> String {
        self.with("1;36", text)
    }
}

/// A part of one line to mark: a label, or the first or last line of one that spans several.
struct Mark<'a> {
    line: u32,
    /// Bytes within the text of the line.
    range: Range<usize>,
    /// The byte that must be seen if the line has to be cut.
    anchor: usize,
    primary: bool,
    text: &'a str,
}

struct Page {
    out: String,
    paint: Paint,
    width: usize,
}

impl Page {
    fn diagnostic(&mut self, diagnostic: &Diagnostic, sources: &SourceMap) {
        let head = format!("{}[{}]", diagnostic.severity(), diagnostic.code());
        let message = indented(diagnostic.message(), head.len() + 2);
        let (head, message) =
            (self.paint.severity(&head), self.paint.strong(&format!(": {message}")));
        self.line(&format!("{head}{message}"));

        self.snippets(diagnostic, sources);
        for note in diagnostic.notes() {
            let line = format!("{} {}", self.paint.strong("note:"), indented(note, 6));
            self.line(&line);
        }
        for help in diagnostic.helps() {
            let line = format!("{} {}", self.paint.help("help:"), indented(help, 6));
            self.line(&line);
        }
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn snippets(&mut self, diagnostic: &Diagnostic, sources: &SourceMap) {
        let labels: Vec<(&Label, bool)> = diagnostic
            .primary()
            .map(|label| (label, true))
            .into_iter()
            .chain(diagnostic.secondary().iter().take(MOST_LABELS).map(|label| (label, false)))
            .filter(|(label, _)| sources.get(label.span.source).is_some())
            .collect();

        // The file of the primary label comes first, the others in the order of their first label.
        let mut files: Vec<SourceId> = Vec::new();
        for (label, _) in &labels {
            if !files.contains(&label.span.source) {
                files.push(label.span.source);
            }
        }

        let mut sections = Vec::new();
        for id in files {
            let source = sources.get(id).expect("filtered above");
            let own: Vec<_> =
                labels.iter().copied().filter(|(label, _)| label.span.source == id).collect();
            let mut marks: Vec<Mark> =
                own.iter().flat_map(|&(label, primary)| marks(source, label, primary)).collect();
            marks.sort_by_key(|mark| (mark.line, !mark.primary, mark.range.start));
            let position = source.position(source.clamp(own[0].0.span).start as u32);
            sections.push((source, format!("{}:{position}", one_line(source.name())), marks));
        }
        let last_line =
            sections.iter().flat_map(|section| section.2.last()).map(|mark| mark.line).max();
        let gutter = last_line.map_or(2, |line| line.to_string().len());

        let place = diagnostic.place().map(|place| one_line(&place.to_string()));
        if let (true, Some(place)) = (sections.is_empty(), &place) {
            self.arrow(gutter, "-->", place);
        }
        for (index, (source, name, marks)) in sections.iter().enumerate() {
            if index > 0 {
                self.framed(gutter, "", "");
            }
            self.arrow(gutter, if index == 0 { "-->" } else { ":::" }, name);
            self.framed(gutter, "", "");
            self.marked_lines(source, marks, gutter);
        }
        let hidden = diagnostic.secondary().len().saturating_sub(MOST_LABELS);
        if hidden > 0 {
            let line = format!("{} and {hidden} more places", self.paint.strong("note:"));
            self.line(&line);
        }
    }

    fn arrow(&mut self, gutter: usize, arrow: &str, place: &str) {
        let line = format!("{:gutter$}{} {place}", "", self.paint.frame(arrow));
        self.line(&line);
    }

    /// A line behind the frame: `41 | text`.
    fn framed(&mut self, gutter: usize, number: &str, text: &str) {
        let line = format!("{} {text}", self.paint.frame(&format!("{number:>gutter$} |")));
        self.line(&line);
    }

    fn marked_lines(&mut self, source: &Source, marks: &[Mark], gutter: usize) {
        let budget = self.width.saturating_sub(gutter + 3);
        let mut shown: Option<u32> = None;
        for group in marks.chunk_by(|a, b| a.line == b.line) {
            let number = group[0].line;
            let text = source.line(number);
            match shown.map(|last| number - last) {
                Some(2) => {
                    let between = Window::new(source.line(number - 1), 0, budget);
                    self.framed(gutter, &(number - 1).to_string(), &between.shown());
                }
                Some(3..) => {
                    let gap = self.paint.frame(CUT);
                    self.line(&gap);
                }
                _ => {}
            }
            shown = Some(number);

            // Usually one window shows all marks of a line; those far away on a long line get their own.
            let mut window: Option<Window> = None;
            for mark in group {
                if !window.as_ref().is_some_and(|window| window.shows(mark.anchor)) {
                    let fresh = Window::new(text, mark.anchor, budget);
                    self.framed(gutter, &number.to_string(), &fresh.shown());
                    window = Some(fresh);
                }
                let (column, length) = window.as_ref().expect("set above").columns(&mark.range);
                self.mark(gutter, column, length, mark);
            }
        }
    }

    fn mark(&mut self, gutter: usize, column: usize, length: usize, mark: &Mark) {
        let sign = if mark.primary { "^" } else { "-" }.repeat(length);
        let text = if mark.text.is_empty() {
            sign
        } else {
            // Later lines of the text stand below the first, behind the frame.
            let mut text = String::new();
            for (index, line) in clipped(mark.text).split('\n').enumerate() {
                let margin = if index == 0 { 1 } else { column + length + 1 };
                let _ =
                    write!(text, "{}{:margin$}{line}", if index == 0 { &sign } else { "\n" }, "");
            }
            text
        };
        for (index, line) in text.split('\n').enumerate() {
            let line =
                if mark.primary { self.paint.severity(line) } else { self.paint.frame(line) };
            let column = if index == 0 { column } else { 0 };
            self.framed(gutter, "", &format!("{:column$}{line}", ""));
        }
    }
}

/// The marks of a label: one, or one for its first and one for its last line.
fn marks<'a>(source: &Source, label: &'a Label, primary: bool) -> Vec<Mark<'a>> {
    let range = source.clamp(label.span);
    let first = source.line_of(range.start);
    let first_line = source.line_range(first);
    // Of a text over several lines, white space at its end is not worth a mark on a further line.
    let end = match range.end <= first_line.end {
        true => range.end,
        false => range.start + source.text()[range.clone()].trim_end().len(),
    };
    let last = source.line_of(end);
    let last_line = source.line_range(last);
    let start = range.start.min(first_line.end) - first_line.start;
    let stop = |end: usize, line: &Range<usize>| end.min(line.end).saturating_sub(line.start);
    let mark =
        |line, range: Range<usize>, anchor, text| Mark { line, range, anchor, primary, text };
    if first == last {
        let end = stop(end.max(range.start), &first_line).max(start);
        return vec![mark(first, start..end, start, label.text.as_str())];
    }
    let last_text = &source.text()[last_line.clone()];
    let indent = last_text.len() - last_text.trim_start().len();
    let end = stop(end, &last_line);
    vec![
        mark(first, start..first_line.len(), start, ""),
        mark(last, indent.min(end)..end, end, label.text.as_str()),
    ]
}

/// The part of a line that is shown.
struct Window<'a> {
    line: &'a str,
    range: Range<usize>,
}

impl<'a> Window<'a> {
    /// A part at most `budget` columns wide that holds the byte `anchor`, with the cut signs.
    fn new(line: &'a str, anchor: usize, budget: usize) -> Self {
        if fit(line.chars(), budget) == line.len() {
            return Window { line, range: 0..line.len() };
        }
        let inner = budget - 2 * CUT.len();
        // More of what follows than of what precedes: the marked text runs to the right.
        let mut start = anchor - fit(line[..anchor].chars().rev(), inner / 3);
        let end = start + fit(line[start..].chars(), inner);
        if end == line.len() {
            start = end - fit(line.chars().rev(), inner);
        }
        Window { line, range: start..end }
    }

    fn shows(&self, offset: usize) -> bool {
        let at_end = offset == self.line.len() && self.range.end == self.line.len();
        self.range.contains(&offset) || at_end
    }

    fn lead(&self) -> &'static str {
        if self.range.start > 0 { CUT } else { "" }
    }

    fn shown(&self) -> String {
        let mut text = String::from(self.lead());
        self.line[self.range.clone()].chars().for_each(|c| push_visible(&mut text, c));
        if self.range.end < self.line.len() {
            text.push_str(CUT);
        }
        text
    }

    /// Column (from 0) and length of a mark for these bytes; at least one column long.
    fn columns(&self, range: &Range<usize>) -> (usize, usize) {
        let inside = |offset: usize| offset.clamp(self.range.start, self.range.end);
        let (start, end) = (inside(range.start), inside(range.end));
        let width = |range: Range<usize>| self.line[range].chars().map(columns_of).sum::<usize>();
        (self.lead().len() + width(self.range.start..start), width(start..end).max(1))
    }
}

/// How many bytes of these characters fit into `budget` columns. Characters without width count as one column, so
/// that a flood of them is cut too.
fn fit(chars: impl Iterator<Item = char>, budget: usize) -> usize {
    let (mut columns, mut bytes) = (0, 0);
    for c in chars {
        columns += columns_of(c).max(1);
        if columns > budget {
            break;
        }
        bytes += c.len_utf8();
    }
    bytes
}

/// What stands for a character that would move the cursor, reverse the text or vanish.
fn stand_in(c: char) -> Option<char> {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32),
        '\u{7f}' => Some('\u{2421}'),
        '\u{80}'..='\u{9f}' => Some(char::REPLACEMENT_CHARACTER),
        // Direction marks, line separators, and spaces and hyphens that cannot be seen.
        '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' => {
            Some(char::REPLACEMENT_CHARACTER)
        }
        '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => Some(char::REPLACEMENT_CHARACTER),
        _ => None,
    }
}

fn columns_of(c: char) -> usize {
    match (c, stand_in(c)) {
        ('\t', _) => TAB.len(),
        (_, Some(_)) => 1,
        _ => c.width().unwrap_or(0),
    }
}

fn push_visible(text: &mut String, c: char) {
    match c {
        '\t' => text.push_str(TAB),
        '\u{feff}' => {}
        _ => text.push(stand_in(c).unwrap_or(c)),
    }
}

/// A text that may hold anything, made fit to print: long ones cut, only line feeds left of the control characters.
fn clipped(text: &str) -> String {
    let mut shown = String::new();
    for (count, c) in text.trim_end().replace("\r\n", "\n").chars().enumerate() {
        if count == LONGEST_TEXT {
            shown.push_str(CUT);
            break;
        }
        if c == '\n' { shown.push(c) } else { push_visible(&mut shown, c) }
    }
    shown
}

/// A text whose later lines are indented to stand below the first.
fn indented(text: &str, indent: usize) -> String {
    clipped(text).replace('\n', &format!("\n{:indent$}", ""))
}

fn one_line(text: &str) -> String {
    clipped(text).replace('\n', " ")
}
