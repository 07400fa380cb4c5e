//! Files as the user named them, and places in them.
//!
//! A place is a byte range, because that is what parsers give; lines and columns are computed only when a person asks.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::{Code, Diagnostic};

/// Names a file of a [`SourceMap`]. Ids count up in the order in which files were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(u32);

/// A byte range in a file: from `start` up to, but without, `end`.
///
/// A span is plain data and may be wrong (beyond the end, within a character): whoever shows it clamps it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte; equal to `start` for a place between two characters.
    pub end: u32,
}

impl Span {
    /// The bytes `range` of `source`. Offsets beyond 4 GiB are clamped.
    pub fn new(source: SourceId, range: Range<usize>) -> Self {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { source, start: offset(range.start), end: offset(range.end) }
    }

    /// The smallest span that holds both; `self` if the other lies in another file.
    pub fn to(self, other: Span) -> Span {
        if self.source != other.source {
            return self;
        }
        Span {
            source: self.source,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A place as editors show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1; a tab is one character, a byte order mark none.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// One file: its name as the user typed it, and its text.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: Arc<str>,
    /// Offset of the first byte of each line; never empty.
    line_starts: Vec<u32>,
}

impl Source {
    fn new(name: String, text: Arc<str>) -> Self {
        // Offsets are 32 bit. Readers refuse far smaller files (F0103); here it only must not go wrong.
        let text = match text.len() > u32::MAX as usize {
            true => Arc::from(&text[..text.floor_char_boundary(u32::MAX as usize)]),
            false => text,
        };
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let line_starts = std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1)).collect();
        Source { name, text, line_starts }
    }

    /// The name, as the user typed it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// How many lines there are; text after the last line end counts, also when empty.
    pub fn line_count(&self) -> u32 {
        self.line_starts.len() as u32
    }

    /// Text of a line (from 1) without its line end; empty for a line that does not exist.
    pub fn line(&self, line: u32) -> &str {
        &self.text[self.line_range(line)]
    }

    /// Byte range of a line (from 1) without its line end.
    pub(crate) fn line_range(&self, line: u32) -> Range<usize> {
        let index = line.saturating_sub(1) as usize;
        let Some(&start) = self.line_starts.get(index) else {
            return self.text.len()..self.text.len();
        };
        let start = start as usize;
        let Some(&next) = self.line_starts.get(index + 1) else {
            return start..self.text.len();
        };
        let line = &self.text[start..next as usize - 1];
        start..start + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// Line and column of a byte offset. An offset within a line end belongs to the end of its line; one within a
    /// character to that character; one beyond the text to its end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = self.text.floor_char_boundary(offset as usize);
        let line = self.line_of(offset);
        let range = self.line_range(line);
        let before = &self.text[range.start..offset.min(range.end)];
        let before = if range.start == 0 {
            before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(before)
        } else {
            before
        };
        Position { line, column: before.chars().count() as u32 + 1 }
    }

    /// Number (from 1) of the line that holds a byte.
    pub(crate) fn line_of(&self, offset: usize) -> u32 {
        self.line_starts.partition_point(|&start| start as usize <= offset) as u32
    }

    /// The span as a byte range that is safe to slice with: ordered, inside the text, on character boundaries.
    pub(crate) fn clamp(&self, span: Span) -> Range<usize> {
        let start = self.text.floor_char_boundary(span.start as usize);
        let end = self.text.ceil_char_boundary((span.end as usize).min(self.text.len()));
        start..end.max(start)
    }
}

/// All files that a run has read.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

impl SourceMap {
    /// No files yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file under the name that the user gave it. Only the first 4 GiB are kept.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceId {
        let id = SourceId(u32::try_from(self.sources.len()).expect("fewer than 2³² files"));
        self.sources.push(Source::new(name.into(), text.into()));
        id
    }

    /// Adds a file that has been read as bytes. If they are not UTF-8, the file is kept with its bad bytes replaced,
    /// and the error points at the first of them.
    pub fn add_bytes(
        &mut self,
        name: impl Into<String>,
        bytes: Vec<u8>,
    ) -> Result<SourceId, Diagnostic> {
        let name = name.into();
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Ok(self.add(name, text)),
            Err(error) => error,
        };
        let at = bytes.utf8_error().valid_up_to();
        let bytes = bytes.as_bytes();
        let message = format!("`{name}` is not UTF-8 text: byte {at} is 0x{:02X}", bytes[at]);
        let help = match bytes {
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => "it looks like UTF-16; save it as UTF-8",
            _ if bytes[..bytes.len().min(1024)].contains(&0) => {
                "it looks like a binary file; is it the right file?"
            }
            _ => "save it as UTF-8; it may have been written as Latin-1 or Windows-1252",
        };
        let id = self.add(name, String::from_utf8_lossy(bytes).into_owned());
        // The text up to the first bad byte is unchanged, so its offset holds in the repaired text too.
        let span = Span::new(id, at..at + char::REPLACEMENT_CHARACTER.len_utf8());
        Err(Diagnostic::error(Code::NotUtf8, message).at(span, "not a character").help(help))
    }

    /// The file, or `None` if the id comes from another map.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0 as usize)
    }

    /// All files, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.sources.iter().enumerate().map(|(index, source)| (SourceId(index as u32), source))
    }

    /// Shorthand for [`Span::new`].
    pub fn span(&self, source: SourceId, range: Range<usize>) -> Span {
        Span::new(source, range)
    }

    /// The text under a span, clamped to the file; empty for a file of another map.
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.source).map_or("", |source| &source.text[source.clamp(span)])
    }

    /// File name and position of the start of a span, as `servo.toml:41:22`.
    pub fn describe(&self, span: Span) -> Option<String> {
        let source = self.get(span.source)?;
        Some(format!("{}:{}", source.name, source.position(span.start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(text: &str) -> Vec<(u32, u32)> {
        let source = Source::new("t".into(), text.into());
        (0..=text.len() as u32 + 1)
            .map(|at| source.position(at))
            .map(|position| (position.line, position.column))
            .collect()
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        assert_eq!(positions("ab\nc"), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 2)]);
        assert_eq!(positions(""), [(1, 1), (1, 1)]);
        assert_eq!(positions("\n"), [(1, 1), (2, 1), (2, 1)]);
    }

    #[test]
    fn both_bytes_of_a_crlf_are_the_end_of_their_line() {
        assert_eq!(positions("a\r\nb"), [(1, 1), (1, 2), (1, 2), (2, 1), (2, 2), (2, 2)]);
        let source = Source::new("t".into(), "a\r\nb\r\n".into());
        assert_eq!(
            (source.line(1), source.line(2), source.line(3), source.line(9)),
            ("a", "b", "", "")
        );
        assert_eq!(source.line_count(), 3);
    }

    #[test]
    fn columns_are_characters_not_bytes() {
        assert_eq!(positions("µ\tx"), [(1, 1), (1, 1), (1, 2), (1, 3), (1, 4), (1, 4)]);
    }

    #[test]
    fn a_byte_order_mark_has_no_column() {
        let source = Source::new("t".into(), "\u{feff}ab".into());
        assert_eq!(source.position(3), Position { line: 1, column: 1 });
        assert_eq!(source.position(4), Position { line: 1, column: 2 });
    }

    #[test]
    fn a_file_that_is_not_utf8_is_refused_at_its_first_bad_byte() {
        let mut sources = SourceMap::new();
        let error =
            sources.add_bytes("old.toml", b"title = \"Zylinder f\xFCr\"".to_vec()).unwrap_err();
        assert_eq!(error.code(), Code::NotUtf8);
        let span = error.primary().unwrap().span;
        assert_eq!(sources.describe(span).unwrap(), "old.toml:1:20");
        assert_eq!(sources.slice(span), "\u{fffd}");

        let error = sources.add_bytes("wide.toml", b"\xFF\xFEt\0".to_vec()).unwrap_err();
        assert!(error.helps()[0].contains("UTF-16"));
        assert!(sources.add_bytes("good.toml", "µ".into()).is_ok());
        assert_eq!(sources.iter().count(), 3);
    }

    #[test]
    fn spans_join_within_one_file_only() {
        let mut sources = SourceMap::new();
        let (a, b) = (sources.add("a", "0123456789"), sources.add("b", ""));
        let joined = sources.span(a, 2..3).to(sources.span(a, 6..8));
        assert_eq!(sources.slice(joined), "234567");
        assert_eq!(sources.span(a, 2..3).to(sources.span(b, 0..0)), sources.span(a, 2..3));
    }
}
